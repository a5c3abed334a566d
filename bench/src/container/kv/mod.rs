//! The graph over an ordered key-value store, as TuGraph keeps it.
//!
//! ```text
//!  KvGraph<S, P>          S: Store      Lmdb, RocksDb (feature `rocksdb`)
//!      │ Container        P: Packing    Compact, EdgeKeys
//!      ▼
//!  pairs of keys and values in a folder on disk, not synced
//! ```
//!
//! [`Compact`] packs the adjacency of a vertex in one value and splits it when it grows;
//! [`EdgeKeys`] has a key per edge. Both keep either direction. The number of vertices is a pair of
//! its own, with a key behind all others.
//!
//! Concurrency: writers one at a time, readers beside them, each at its own snapshot. A snapshot
//! may be shared by threads, whose reads take turns.

mod compact;
mod edge_keys;
mod lmdb;
mod packing;
#[cfg(feature = "rocksdb")]
mod rocks;
mod store;
#[cfg(test)]
mod tests;

pub use compact::Compact;
pub use edge_keys::EdgeKeys;
pub use lmdb::{Lmdb, LmdbOptions};
pub use packing::{Packing, Side};
#[cfg(feature = "rocksdb")]
pub use rocks::RocksDb;
pub use store::{Reach, Read, Store, Transaction};

use super::{Container, Snapshot, Writer};
use parking_lot::ReentrantMutex;
use std::io;
use std::ops::Range;
use std::path::Path;
use telar_generate::Edge;
use telar_generate::csr::Csr;
use telar_graph::topology::Topology;

/// Key of the number of vertices: greater than all others, and like them a multiple of four bytes.
const COUNT_KEY: [u8; 8] = [u8::MAX; 8];
/// Vertices made per transaction when many are wanted.
const VERTICES_PER_TRANSACTION: u32 = 4096;

/// A graph over a key-value store.
pub struct KvGraph<S, P> {
    store: S,
    packing: P,
    /// Removed with everything in it, once the store is closed.
    _folder: Option<tempfile::TempDir>,
}

impl<S: Store, P: Packing> KvGraph<S, P> {
    /// Returns an empty graph in a new folder inside `parent`, by default the system's for
    /// temporary files. The folder is removed in the end.
    ///
    /// # Errors
    /// The system's or the store's.
    pub fn temporary(parent: Option<&Path>) -> io::Result<Self> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let folder = tempfile::Builder::new().prefix("telar-kv-").tempdir_in(parent)?;
        let store = S::open(folder.path(), P::PREFIX_BYTES)?;
        Ok(Self { store, packing: P::default(), _folder: Some(folder) })
    }

    /// Returns the graph in a store that was opened elsewhere, or made empty.
    pub fn new(store: S, packing: P) -> Self {
        Self { store, packing, _folder: None }
    }

    /// Fills an empty graph from both directions, each pair appended once: what an import that has
    /// sorted its edges does.
    ///
    /// # Panics
    /// If the graph has vertices already, or the store fails.
    pub fn append(&self, out: &Csr, incoming: &Csr) {
        let n = out.vertex_bound();
        assert_eq!(count(&self.store.reader()), 0, "only an empty graph can be filled");
        self.store.append(|put| {
            self.packing.pairs(out, incoming, put);
            put(&COUNT_KEY, &n.to_le_bytes());
        });
    }
}

/// Returns the number of vertices.
fn count(reader: &impl Read) -> u32 {
    reader.get(&COUNT_KEY, |value| count_in(value.unwrap_or_default()))
}

fn count_in(value: &[u8]) -> u32 {
    value.first_chunk().map_or(0, |n| u32::from_le_bytes(*n))
}

impl<S: Store, P: Packing> Container for KvGraph<S, P> {
    const CONCURRENT: bool = true;
    type Writer<'a>
        = KvWriter<'a, S, P>
    where
        Self: 'a;
    type Snapshot<'a>
        = KvSnapshot<'a, S, P>
    where
        Self: 'a;

    fn name(&self) -> String {
        format!("{} {}", S::NAME, P::NAME)
    }

    fn writer(&self) -> KvWriter<'_, S, P> {
        KvWriter(self)
    }

    fn snapshot(&self) -> KvSnapshot<'_, S, P> {
        let reader = self.store.reader();
        let n = count(&reader);
        KvSnapshot { reader: ReentrantMutex::new(reader), packing: &self.packing, n }
    }

    fn memory_bytes(&self) -> u64 {
        self.store.live_bytes()
    }

    fn reserved_bytes(&self) -> u64 {
        self.store.reserved_bytes().max(self.store.live_bytes())
    }

    fn settle(&self) {
        self.store.settle();
    }
}

/// One thread's handle for changes.
pub struct KvWriter<'a, S, P>(&'a KvGraph<S, P>);

impl<S: Store, P: Packing> KvWriter<'_, S, P> {
    fn add_vertices(&mut self, vertices: u32) -> u32 {
        let KvGraph { store, packing, .. } = self.0;
        store.write(|txn| {
            let mut value = Vec::new();
            txn.get(&COUNT_KEY, &mut value);
            let first = count_in(&value);
            let end = first.checked_add(vertices).expect("fewer than 2^32 vertices");
            (first..end).for_each(|v| packing.add_vertex(txn, v));
            txn.put(&COUNT_KEY, &end.to_le_bytes());
            first
        })
    }
}

impl<S: Store, P: Packing> Writer for KvWriter<'_, S, P> {
    fn insert_vertex(&mut self) -> u32 {
        self.add_vertices(1)
    }

    fn insert_vertices(&mut self, count: u32) {
        let mut left = count;
        while left > 0 {
            let now = left.min(VERTICES_PER_TRANSACTION);
            self.add_vertices(now);
            left -= now;
        }
    }

    fn insert_edge(&mut self, u: u32, v: u32) -> bool {
        self.insert_batch(&[(u, v)]) > 0
    }

    fn insert_batch(&mut self, edges: &[Edge]) -> u64 {
        let KvGraph { store, packing, .. } = self.0;
        store.write(|txn| {
            let mut added = 0;
            for &(u, v) in edges {
                if packing.add(txn, Side::Out, u, v) {
                    assert!(packing.add(txn, Side::In, v, u), "{u} -> {v} at one end only");
                    added += 1;
                }
            }
            added
        })
    }

    /// There is nothing in an edge that a new version could change.
    fn upsert_edge(&mut self, u: u32, v: u32) -> bool {
        self.insert_edge(u, v)
    }

    fn delete_edge(&mut self, u: u32, v: u32) -> bool {
        let KvGraph { store, packing, .. } = self.0;
        store.write(|txn| {
            let removed = packing.remove(txn, Side::Out, u, v);
            if removed {
                assert!(packing.remove(txn, Side::In, v, u), "{u} -> {v} at one end only");
            }
            removed
        })
    }
}

/// The graph at one moment.
pub struct KvSnapshot<'a, S: Store + 'a, P> {
    /// Stores let one thread at a time read with a transaction; one that reads within a read's
    /// callback may go on.
    reader: ReentrantMutex<S::Reader<'a>>,
    packing: &'a P,
    n: u32,
}

impl<'a, S: Store, P: Packing> Snapshot for KvSnapshot<'a, S, P> {
    type Topo<'b>
        = KvLists<'b, S::Reader<'a>, P>
    where
        Self: 'b;

    fn out(&self) -> Self::Topo<'_> {
        KvLists { reader: &self.reader, packing: self.packing, side: Side::Out, n: self.n }
    }

    fn in_(&self) -> Self::Topo<'_> {
        KvLists { reader: &self.reader, packing: self.packing, side: Side::In, n: self.n }
    }
}

/// One direction.
pub struct KvLists<'a, R, P> {
    reader: &'a ReentrantMutex<R>,
    packing: &'a P,
    side: Side,
    n: u32,
}

impl<R: Read + Send, P: Packing> Topology for KvLists<'_, R, P> {
    fn vertex_bound(&self) -> u32 {
        self.n
    }

    fn degree(&self, v: u32) -> u32 {
        self.packing.degree(&*self.reader.lock(), self.side, v)
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, f: F) {
        self.packing.list(&*self.reader.lock(), self.side, v, f);
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, f: F) {
        self.packing.scan(&*self.reader.lock(), self.side, vertices, f);
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        let reader = self.reader.lock();
        for &v in vertices {
            self.packing.list(&*reader, self.side, v, |run| f(v, run));
        }
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch
    }

    fn contains(&self, u: u32, v: u32) -> bool {
        self.packing.contains(&*self.reader.lock(), self.side, u, v)
    }

    /// A tree says nothing about where a list is before it has been searched.
    fn prefetch(&self, _: u32) {}
}
