//! The gate between writers and the moment in which a bulk load is installed.
//!
//! Protocol: the loader shuts the gate, then takes and gives back every latch there is. A commit
//! takes its latches first and looks at the gate second, so it has either seen the gate shut or has
//! applied by the time its latches were had. One that slips through with a segment made meanwhile
//! is noticed by its commit timestamp, which the loader would have had (`bulk/install.rs`).
//!
//! Cost: a commit reads one word that hardly ever changes.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::{Condvar, Mutex, MutexGuard};

/// Shut while a bulk load is being installed.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    shut: AtomicBool,
    /// Held by the load whose turn it is.
    turn: Mutex<()>,
    waiting: Mutex<()>,
    opened: Condvar,
}

/// The gate is shut until this is dropped.
#[derive(Debug)]
pub(super) struct Shut<'g> {
    gate: &'g Gate,
    _turn: MutexGuard<'g, ()>,
}

impl Gate {
    /// Whether commits are refused.
    #[inline]
    pub(crate) fn is_shut(&self) -> bool {
        self.shut.load(Ordering::SeqCst)
    }

    /// Waits until the gate is open.
    #[inline]
    pub(crate) fn wait_open(&self) {
        if self.is_shut() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let mut waiting = self.waiting.lock();
        while self.is_shut() {
            self.opened.wait(&mut waiting);
        }
    }

    /// Shuts the gate; a second load waits for the first.
    pub(super) fn shut(&self) -> Shut<'_> {
        let turn = self.turn.lock();
        self.shut.store(true, Ordering::SeqCst);
        Shut { gate: self, _turn: turn }
    }
}

impl Drop for Shut<'_> {
    fn drop(&mut self) {
        let _waiting = self.gate.waiting.lock();
        self.gate.shut.store(false, Ordering::SeqCst);
        self.gate.opened.notify_all();
    }
}
