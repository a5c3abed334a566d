//! Files and sockets that a child of this process has copies of.
//!
//! A child that lives longer than its parent would keep the database locked and its connections
//! open: nobody would learn that the parent has ended. So each is listed here while it is open, and
//! the child closes its copies ([`fork_in_child`]).

use std::os::fd::RawFd;

use parking_lot::Mutex;

static OPEN: Mutex<Vec<RawFd>> = Mutex::new(Vec::new());

/// A file that is listed until this is dropped, which must be before it is closed.
#[derive(Debug)]
pub(crate) struct Inherited(RawFd);

impl Inherited {
    pub(crate) fn new(file: RawFd) -> Self {
        OPEN.lock().push(file);
        Self(file)
    }
}

impl Drop for Inherited {
    fn drop(&mut self) {
        let mut open = OPEN.lock();
        if let Some(at) = open.iter().position(|file| *file == self.0) {
            open.swap_remove(at);
        }
    }
}

/// To be called before a fork: nobody opens or closes anything until [`fork_in_parent`] and
/// [`fork_in_child`].
pub fn fork_begins() {
    std::mem::forget(OPEN.lock());
}

/// To be called in the parent after a fork.
///
/// # Safety
/// [`fork_begins`] was called by this thread before, and nothing since.
#[expect(unsafe_code, reason = "a lock is held over a fork")]
pub unsafe fn fork_in_parent() {
    // SAFETY: the caller's: the lock is held, and its guard was forgotten.
    unsafe { OPEN.force_unlock() };
}

/// To be called in the child after a fork: closes the copies of its parent's files, so that its
/// databases are not held by it. What was opened before must not be used in the child, nor dropped.
///
/// # Safety
/// [`fork_begins`] was called in the parent before the fork, and nothing since; the child has made
/// no thread and opened nothing.
#[expect(unsafe_code, reason = "files are closed that others own, a lock is held over a fork")]
pub unsafe fn fork_in_child() {
    // SAFETY: the caller's: the lock is held by the thread that forked, which is this one.
    let files = unsafe { &mut *OPEN.data_ptr() };
    for file in files.drain(..) {
        // SAFETY: it is a copy of an open file, and whoever owns it is in the parent.
        unsafe { rustix::io::close(file) };
    }
    // SAFETY: as in the parent.
    unsafe { OPEN.force_unlock() };
}
