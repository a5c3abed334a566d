//! Power failures of our own: every change a program makes to files is recorded, and disks are made
//! that a power failure at any moment could have left.
//!
//! ```text
//!  program, under strace ──► trace.rs: calls ──► disk.rs: what is synced, what is only written
//!                                                   │ crash, at any call
//!                                                   ▼
//!                                                folders, for whoever checks them
//! ```
//!
//! The program is the real one, LMDB included: what it does to its files is what the kernel is
//! asked for. `strace` has to be installed; tools/test.sh does that.
//!
//! What a crash leaves is what POSIX allows (docs/format.md, "What is assumed of the disk"): synced
//! bytes stay, others are there in pieces of 512 bytes, in any order, or not; a name counts once
//! its folder is synced, and before that each creation, renaming and removal happens or not by
//! itself.
//!
//! The tests of `telar-server` include this folder, too.

mod disk;
mod trace;

use std::path::Path;
use std::process::Command;

pub use disk::{Disk, Fate};
pub use trace::{Recording, Synced, record};

/// What can be observed of a program: it said something, or it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// A line on standard output.
    Line(String),
    /// The end of the program, with success.
    Ended,
}

/// Where files that need not last are made fastest.
#[must_use]
pub fn scratch() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.or_else(|_| tempfile::tempdir()).expect("a folder for temporary files")
}

/// Fails with what to do where programs cannot be recorded.
///
/// # Panics
/// If there is no `strace`, or it may not trace.
pub fn expect_strace() {
    let tried = Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).output();
    let fine = tried.as_ref().is_ok_and(|output| output.status.success());
    assert!(fine, "strace is needed to record programs (apt-get install strace): {tried:?}");
}
