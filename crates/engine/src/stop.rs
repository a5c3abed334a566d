//! Whether a commit is to be given up.
//!
//! Asked now and then until the commit is stamped; from then on it is decided. Cost: a counter per
//! item, a call per [`STEPS`] of them.

use std::cell::Cell;

use crate::error::Error;

/// Items between two questions: well below a millisecond of work.
const STEPS: u32 = 1024;

/// Somebody who can end a commit before it is decided.
pub trait Interrupt {
    /// Whether to give up. Asked every few hundred microseconds.
    fn is_asked(&self) -> bool;

    /// The same, for the last time: if it says no, the commit is decided.
    fn is_asked_last(&self) -> bool {
        self.is_asked()
    }
}

impl<F: Fn() -> bool> Interrupt for F {
    fn is_asked(&self) -> bool {
        self()
    }
}

/// Somebody who can end a commit, or nobody.
pub(crate) struct Stop<'a> {
    asked: Option<&'a dyn Interrupt>,
    steps: Cell<u32>,
}

impl<'a> Stop<'a> {
    /// Whoever this is.
    pub(crate) fn when(asked: &'a dyn Interrupt) -> Self {
        Self { asked: Some(asked), steps: Cell::new(0) }
    }

    /// Nobody.
    pub(crate) fn never() -> Self {
        Self { asked: None, steps: Cell::new(0) }
    }

    /// Whether to give up.
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.is_some_and(|asked| asked.is_asked())
    }

    /// Asks for the last time.
    pub(crate) fn check_last(&self) -> Result<(), Error> {
        match self.asked.is_some_and(|asked| asked.is_asked_last()) {
            true => Err(Error::Interrupted),
            false => Ok(()),
        }
    }

    /// Fails if the commit is to be given up.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.is_asked() { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// The same, now and then.
    #[inline]
    pub(crate) fn step(&self) -> Result<(), Error> {
        let steps = self.steps.get().wrapping_add(1);
        self.steps.set(steps);
        if steps.is_multiple_of(STEPS) { self.check() } else { Ok(()) }
    }
}
