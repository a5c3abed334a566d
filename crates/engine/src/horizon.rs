//! How far settling may go (`history/mod.rs`).

/// A floor that nothing is above: no history.
pub(crate) const NONE: u64 = u64::MAX;
/// What settling may fold, and what of it has to be written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Horizon {
    /// The oldest timestamp a live or future reader of the present can read at.
    pub(crate) watermark: u64,
    /// The oldest retained timestamp; [`NONE`] without history.
    pub(crate) floor: u64,
}
