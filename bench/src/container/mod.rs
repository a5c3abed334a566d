//! What a graph store must do to be measured, and the baselines.
//!
//! The operations are those of the SIGMOD 2025 study (insert vertex, insert, update, delete and
//! search edge, scan) on a directed graph that is stored at both ends: an edge `u -> v` is an
//! out-entry at `u` and an in-entry at `v`, so a store holds two entries per edge.
//!
//! ```text
//!  Container ──writer()──▶ Writer     one per thread; each call is one transaction
//!       └─────snapshot()─▶ Snapshot ──out(), in_()──▶ Topology   reads at one moment
//! ```
//!
//! A transactional engine implements the three traits itself and says [`Container::CONCURRENT`]. A
//! structure for one thread implements [`Writer`], [`Snapshot`] and [`Footprint`] on its plain
//! self; [`Locked`] makes it a container that admits either one operation or many readers at a
//! time.
//!
//! [`kv`] holds containers over key-value stores, which are transactional and on disk.
//!
//! Source: Pan et al., "Revisiting the design of in-memory dynamic graph storage", SIGMOD 2025.

mod adjlst;
pub mod kv;
mod locked;
#[cfg(test)]
mod model;
mod tel;
mod telar;

pub use adjlst::{AdjLst, SortedLists};
pub use locked::{Locked, LockedSnapshot, LockedWriter};
pub use tel::{Tel, TelView};
pub use telar::{Telar, TelarSnapshot, TelarWriter};

use telar_generate::Edge;
use telar_graph::topology::Topology;

/// A graph store under measurement.
pub trait Container: Sync {
    /// Whether several writers, or a writer and readers, make progress at once.
    const CONCURRENT: bool;

    /// One thread's handle for changes.
    type Writer<'a>: Writer
    where
        Self: 'a;

    /// The graph at one moment.
    type Snapshot<'a>: Snapshot
    where
        Self: 'a;

    /// Returns the name that tables and charts print.
    fn name(&self) -> String;

    /// Returns a handle for changes, to be used by one thread.
    fn writer(&self) -> Self::Writer<'_>;

    /// Returns the graph as of now. Unless [`CONCURRENT`](Self::CONCURRENT), writers wait until it
    /// is dropped.
    fn snapshot(&self) -> Self::Snapshot<'_>;

    /// Returns whether `u -> v` exists now.
    fn search_edge(&self, u: u32, v: u32) -> bool {
        self.snapshot().out().contains(u, v)
    }

    /// Returns the bytes that hold the graph, both directions, indexes and versions included;
    /// memory kept for reuse counts only in [`reserved_bytes`](Self::reserved_bytes).
    fn memory_bytes(&self) -> u64;

    /// Returns [`memory_bytes`](Self::memory_bytes) plus what is allocated but holds nothing now.
    fn reserved_bytes(&self) -> u64 {
        self.memory_bytes()
    }

    /// Finishes whatever the store does in the background, so that reads meet a settled graph.
    fn settle(&self) {}
}

/// Changes. Each call is one transaction, committed when it returns; conflicts are retried inside.
///
/// Ends of edges must be vertices that were inserted; an implementation may panic otherwise.
pub trait Writer {
    /// Adds a vertex and returns its number: 0 for the first, then one more each time.
    fn insert_vertex(&mut self) -> u32;

    /// Adds `count` vertices, in any number of transactions.
    fn insert_vertices(&mut self, count: u32) {
        for _ in 0..count {
            self.insert_vertex();
        }
    }

    /// Adds `u -> v` unless it exists; returns whether it was added.
    fn insert_edge(&mut self, u: u32, v: u32) -> bool;

    /// Adds each edge that does not exist, all in one transaction; returns how many were added. An
    /// edge that occurs twice in `edges` is added once.
    fn insert_batch(&mut self, edges: &[Edge]) -> u64;

    /// Adds `u -> v`, or writes a new version of it; returns whether it was added.
    fn upsert_edge(&mut self, u: u32, v: u32) -> bool;

    /// Removes `u -> v`; returns whether it existed.
    fn delete_edge(&mut self, u: u32, v: u32) -> bool;
}

/// Both directions of the graph at one moment.
pub trait Snapshot {
    /// Adjacency in one direction.
    type Topo<'a>: Topology
    where
        Self: 'a;

    /// Returns the neighbours along the edges.
    fn out(&self) -> Self::Topo<'_>;

    /// Returns the neighbours against the edges.
    fn in_(&self) -> Self::Topo<'_>;
}

/// Name and size of a structure behind a [`Locked`].
pub trait Footprint {
    /// The name that tables and charts print.
    const NAME: &'static str;

    /// As [`Container::memory_bytes`].
    fn memory_bytes(&self) -> u64;

    /// As [`Container::reserved_bytes`].
    fn reserved_bytes(&self) -> u64 {
        self.memory_bytes()
    }
}
