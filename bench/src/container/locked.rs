//! A structure for one thread as a container: one lock around all of it.
//!
//! Concurrency: every call of a writer takes the lock exclusively and gives it back, which costs
//! some 20 ns alone; a snapshot holds it shared. A thread that keeps a snapshot and then writes
//! waits for itself.

use super::{Container, Footprint, Snapshot, Writer};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use telar_generate::Edge;

/// A single-threaded structure behind one lock.
#[derive(Default)]
pub struct Locked<S> {
    inner: RwLock<S>,
}

impl<S: Default> Locked<S> {
    /// Returns an empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S> Locked<S> {
    fn read(&self) -> RwLockReadGuard<'_, S> {
        // A panic under the lock has already failed the measurement or test that caused it.
        self.inner.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, S> {
        self.inner.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Writer + Snapshot + Footprint + Send + Sync> Container for Locked<S> {
    const CONCURRENT: bool = false;
    type Writer<'a>
        = LockedWriter<'a, S>
    where
        Self: 'a;
    type Snapshot<'a>
        = LockedSnapshot<'a, S>
    where
        Self: 'a;

    fn name(&self) -> String {
        S::NAME.to_owned()
    }

    fn writer(&self) -> LockedWriter<'_, S> {
        LockedWriter(self)
    }

    fn snapshot(&self) -> LockedSnapshot<'_, S> {
        LockedSnapshot(self.read())
    }

    fn memory_bytes(&self) -> u64 {
        self.read().memory_bytes()
    }

    fn reserved_bytes(&self) -> u64 {
        self.read().reserved_bytes()
    }
}

/// A writer that takes the lock for each call.
pub struct LockedWriter<'a, S>(&'a Locked<S>);

impl<S: Writer> Writer for LockedWriter<'_, S> {
    fn insert_vertex(&mut self) -> u32 {
        self.0.write().insert_vertex()
    }

    fn insert_vertices(&mut self, count: u32) {
        self.0.write().insert_vertices(count);
    }

    fn insert_edge(&mut self, u: u32, v: u32) -> bool {
        self.0.write().insert_edge(u, v)
    }

    fn insert_batch(&mut self, edges: &[Edge]) -> u64 {
        self.0.write().insert_batch(edges)
    }

    fn upsert_edge(&mut self, u: u32, v: u32) -> bool {
        self.0.write().upsert_edge(u, v)
    }

    fn delete_edge(&mut self, u: u32, v: u32) -> bool {
        self.0.write().delete_edge(u, v)
    }
}

/// A reader that holds the lock, shared with other readers.
pub struct LockedSnapshot<'a, S>(RwLockReadGuard<'a, S>);

impl<S: Snapshot> Snapshot for LockedSnapshot<'_, S> {
    type Topo<'a>
        = S::Topo<'a>
    where
        Self: 'a;

    fn out(&self) -> S::Topo<'_> {
        self.0.out()
    }

    fn in_(&self) -> S::Topo<'_> {
        self.0.in_()
    }
}
