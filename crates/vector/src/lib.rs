//! Nearest neighbours of vectors, approximately and quickly.
//!
//! ```text
//!  Neighbours ─► slots, one for each vector, in slabs         blocks.rs memory.rs
//!                  record   a byte a number · scale f32 · square f32 · key: what the caller
//!                           knows the vector by                        record.rs
//!                  links    slots of vectors that are near, and of some that lie in other
//!                           directions
//!  image       slots as bytes of a file                                image.rs
//!  search      from landmarks, always on from the nearest vector whose links were not looked at
//!                                                                     search.rs
//!  adding      search for the new vector, choose links among what was met, link back
//!                                                                     link.rs
//!  sums        products of bytes, with the widest instructions there are
//!                                                                     sums.rs
//! ```
//!
//! The graph is that of Vamana (Subramanya et al., "DiskANN", NeurIPS 2019, algorithms 1 to 3), to
//! which vectors are added one by one, as in FreshDiskANN (Singh et al., 2021, section 4), with two
//! changes. There is no single vector that every search begins at: a search looks at a sample of
//! all vectors, its *landmarks*, and begins at the nearest, so that vectors that arrive cluster by
//! cluster are found, too. And distances are computed on vectors of one byte a number, so that a
//! vector of 128 numbers is two cache lines: whoever asks ranks what is found anew, by the vectors
//! themselves.
//!
//! Nothing is removed, and a vector never changes: its owner leaves out what is gone, and builds
//! anew when that is much.
//!
//! Searches take no lock and may run beside each other and beside additions; a search that runs
//! beside an addition finds the new vector, or does not.

mod blocks;
mod image;
mod link;
mod memory;
mod record;
mod search;
mod sums;

pub use blocks::{BLOCK_SLOTS, Neighbours};
pub use image::ImageError;
pub use record::Metric;
pub use search::{Found, Scratch};

/// Numbers that a graph is built by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Links of a vector when they are chosen. It may get half as many again before they are
    /// chosen anew.
    pub degree: u32,
    /// Vectors that are kept in sight while a vector is added.
    pub effort: u32,
}

impl Default for Shape {
    fn default() -> Self {
        Self { degree: 32, effort: 100 }
    }
}

#[cfg(test)]
mod tests;
