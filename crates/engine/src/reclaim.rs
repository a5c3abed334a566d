//! Memory reclamation: epochs.
//!
//! Replaced versions are retired through `crossbeam-epoch` and freed once every thread that was
//! pinned when they were replaced has unpinned. A pin is separate from a snapshot's read timestamp:
//! a long snapshot that takes a new [`Reader`](crate::Reader) now and then holds back settling, not
//! freeing.
#![expect(unsafe_code, reason = "reads on other threads under the pin of the reader's thread")]

use crossbeam_epoch::{self as epoch, Guard};

use crate::snapshot::Adjacency;

/// A guard for reads under a pin that another value holds.
///
/// An [`Adjacency`] borrows the [`Reader`](crate::Reader) it was made from, whose thread stays
/// pinned for that long. While any thread is pinned the epoch advances at most once, so nothing
/// that was reachable after the pin is freed, whichever thread reads it.
#[inline(always)]
pub(crate) fn pinned_elsewhere<'r>(_borrows_a_reader: &Adjacency<'r>) -> &'r Guard {
    // SAFETY: only used to load pointers, never to retire anything; the pin that protects them is
    // held by the reader borrowed for `'r`.
    unsafe { epoch::unprotected() }
}
