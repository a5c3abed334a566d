//! Files and sockets that a child of this process has copies of.
//!
//! A child that lives longer than its parent would keep the database locked and its connections
//! open: nobody would learn that the parent has ended. So each is listed here while it is open, and
//! the child closes its copies ([`close_in_child`]).

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

/// Closes the copies of a child process that has just been forked, so that its parent's databases
/// are not held by it. What was opened before the fork must not be used in the child, nor dropped.
///
/// # Safety
/// To be called in the child, before it makes threads or opens anything, and once.
#[expect(unsafe_code, reason = "files are closed that others own")]
pub unsafe fn close_in_child() {
    // A thread of the parent may have held the lock at the fork: then nothing can be known.
    let Some(mut open) = OPEN.try_lock() else { return };
    for file in open.drain(..) {
        // SAFETY: the caller's; it is a copy of an open file, and whoever owns it is in the parent.
        unsafe { rustix::io::close(file) };
    }
}
