//! How much memory a query keeps, counted by one thread or by several together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that are kept.
#[derive(Debug)]
pub(super) enum Held {
    /// One thread is at work: most queries never need an atomic.
    Alone(usize),
    /// Several are, or were.
    Together(Arc<AtomicUsize>),
}

impl Held {
    /// Adds; how many there are now.
    pub(super) fn add(&mut self, bytes: usize) -> usize {
        match self {
            Self::Alone(held) => {
                *held += bytes;
                *held
            }
            // ORDERING: relaxed, as it counts and orders nothing; so does what follows.
            Self::Together(held) => held.fetch_add(bytes, Ordering::Relaxed) + bytes,
        }
    }

    pub(super) fn subtract(&mut self, bytes: usize) {
        match self {
            Self::Alone(held) => *held = held.saturating_sub(bytes),
            Self::Together(held) => {
                let less = |held: usize| Some(held.saturating_sub(bytes));
                _ = held.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            }
        }
    }

    /// The same count for another thread.
    pub(super) fn share(&mut self) -> Self {
        if let Self::Alone(held) = self {
            *self = Self::Together(Arc::new(AtomicUsize::new(*held)));
        }
        match self {
            Self::Together(held) => Self::Together(Arc::clone(held)),
            Self::Alone(_) => unreachable!("INVARIANT: it was just made to be shared"),
        }
    }
}

#[test]
fn threads_count_together() {
    let mut one = Held::Alone(0);
    assert_eq!(one.add(5), 5);
    let mut other = one.share();
    assert_eq!((other.add(3), one.add(2)), (8, 10));
    one.subtract(4);
    assert_eq!(other.add(0), 6);
    other.subtract(100);
    assert_eq!(one.add(0), 0);
}
