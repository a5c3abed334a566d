//! Scratch memory that tasks lend each other.

use std::sync::{Mutex, PoisonError};

/// Scratch memory of threads: at most as many pieces exist as tasks run at once.
#[derive(Debug)]
pub(crate) struct Pool<T>(Mutex<Vec<T>>);

impl<T: Send> Pool<T> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Takes a piece that no task uses.
    pub(crate) fn take(&self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Gives a piece back.
    pub(crate) fn put(&self, piece: T) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(piece);
    }

    /// Runs `work` with a piece that no other task uses, which `make` makes if there is none.
    pub(crate) fn with<R>(&self, make: impl FnOnce() -> T, work: impl FnOnce(&mut T) -> R) -> R {
        let mut piece = self.take().unwrap_or_else(make);
        let result = work(&mut piece);
        self.put(piece);
        result
    }
}
