//! A child process that does not outlive the test that started it. The tests of `telar-server`
//! include this file, too.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// A process; killed, and waited for, when it is dropped, by a test that fails as well.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts it.
    ///
    /// # Errors
    /// If there is no such program, or no process to be had.
    pub fn start(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
