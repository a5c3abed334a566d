//! The classic transactional edge log: two timestamps beside every edge.
//!
//! Layout: per direction an array of 16-byte slots and an arena of [`block`]s; a vertex has one
//! block, to which entries `{neighbour, property, creation, invalidation}` are appended. A full
//! block moves to one of twice the size, without what was invalidated; half-empty of live entries,
//! to one of the same size.
//! Invariants: at most one entry per neighbour is live; `degree` counts live entries; `v` is live
//! in `u`'s out-log iff `u` is live in `v`'s in-log.
//! Concurrency: as measured here, one lock around all of it ([`Locked`](super::Locked)); a snapshot
//! still compares both timestamps of every entry with its read timestamp, which is the cost of the
//! layout.
//! Cost: 24 bytes per entry and up to as much slack; an append is cheap unless the Bloom filter
//! says "perhaps", after which the whole log is searched.
//!
//! Source: Zhu et al., "LiveGraph: a transactional graph storage system with purely sequential
//! adjacency list scans", VLDB 2020.

mod block;
mod log;

use super::{Footprint, Snapshot, Writer};
use block::for_each_visible;
use log::EdgeLog;
use std::ops::Range;
use telar_generate::Edge;
use telar_generate::mem::PREFETCH_AHEAD;
use telar_graph::topology::Topology;

/// Edges of a batch whose slots, blocks and filters are prefetched before any is changed.
const STAGE_EDGES: usize = 64;

/// Transactional edge logs in both directions.
pub struct Tel {
    out: EdgeLog,
    incoming: EdgeLog,
    /// Timestamp of the latest commit.
    clock: u64,
}

impl Default for Tel {
    /// # Panics
    /// If the system refuses address space for the arenas.
    fn default() -> Self {
        Self { out: EdgeLog::new(), incoming: EdgeLog::new(), clock: 0 }
    }
}

impl Tel {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn insert_at(&mut self, u: u32, v: u32, now: u64) -> bool {
        // PERF: the other end's lines come while this end is checked (bench kernel/insert).
        self.incoming.hint_append(v, u);
        if self.out.find(u, v).is_some() {
            return false;
        }
        self.out.append(u, v, now);
        self.incoming.append(v, u, now);
        true
    }

    /// Invalidates both entries of an edge; returns whether there were any.
    fn invalidate(&mut self, u: u32, v: u32, now: u64) -> bool {
        self.out.invalidate(u, v, now) && self.incoming.invalidate(v, u, now)
    }
}

impl Writer for Tel {
    fn insert_vertex(&mut self) -> u32 {
        self.insert_vertices(1);
        self.out.vertices() - 1
    }

    fn insert_vertices(&mut self, count: u32) {
        self.out.add_vertices(count);
        self.incoming.add_vertices(count);
    }

    fn insert_edge(&mut self, u: u32, v: u32) -> bool {
        let now = self.tick();
        self.insert_at(u, v, now)
    }

    fn insert_batch(&mut self, edges: &[Edge]) -> u64 {
        let now = self.tick();
        let mut added = 0;
        for stage in edges.chunks(STAGE_EDGES) {
            for &(u, v) in stage {
                self.out.hint_slot(u);
                self.incoming.hint_slot(v);
            }
            for &(u, v) in stage {
                self.out.hint_append(u, v);
                self.incoming.hint_append(v, u);
            }
            for &(u, v) in stage {
                added += u64::from(self.insert_at(u, v, now));
            }
        }
        added
    }

    fn upsert_edge(&mut self, u: u32, v: u32) -> bool {
        let now = self.tick();
        let existed = self.invalidate(u, v, now);
        self.out.append(u, v, now);
        self.incoming.append(v, u, now);
        !existed
    }

    fn delete_edge(&mut self, u: u32, v: u32) -> bool {
        let now = self.tick();
        self.invalidate(u, v, now)
    }
}

impl Snapshot for Tel {
    type Topo<'a> = TelView<'a>;

    fn out(&self) -> TelView<'_> {
        TelView { log: &self.out, at: self.clock }
    }

    fn in_(&self) -> TelView<'_> {
        TelView { log: &self.incoming, at: self.clock }
    }
}

impl Footprint for Tel {
    const NAME: &'static str = "TEL";

    fn memory_bytes(&self) -> u64 {
        self.out.memory_bytes() + self.incoming.memory_bytes()
    }

    fn reserved_bytes(&self) -> u64 {
        self.out.reserved_bytes() + self.incoming.reserved_bytes()
    }
}

/// One direction at one timestamp. The lock is held, so nothing newer is there: `degree` may come
/// from the slot.
pub struct TelView<'a> {
    log: &'a EdgeLog,
    at: u64,
}

impl Topology for TelView<'_> {
    fn vertex_bound(&self) -> u32 {
        self.log.vertices()
    }

    #[inline]
    fn degree(&self, v: u32) -> u32 {
        self.log.degree(v)
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, f: F) {
        for_each_visible(self.log.entries(v), self.at, f);
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            self.log.hint_newest(v.wrapping_add(PREFETCH_AHEAD as u32));
            for_each_visible(self.log.entries(v), self.at, |run| f(v, run));
        }
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for (i, &v) in vertices.iter().enumerate() {
            if let Some(&ahead) = vertices.get(i + PREFETCH_AHEAD) {
                self.log.hint_newest(ahead);
            }
            for_each_visible(self.log.entries(v), self.at, |run| f(v, run));
        }
    }

    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        scratch.clear();
        self.for_each_run(v, |run| scratch.extend_from_slice(run));
        scratch.sort_unstable();
        scratch
    }

    #[inline]
    fn contains(&self, u: u32, v: u32) -> bool {
        self.log.contains(u, v, self.at)
    }

    #[inline]
    fn prefetch(&self, v: u32) {
        self.log.hint_newest(v);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Locked, model};
    use super::*;

    #[test]
    fn tel_equals_the_model() {
        model::check(Locked::<Tel>::new);
    }

    #[test]
    fn older_timestamp_sees_the_older_graph() {
        let mut tel = Tel::default();
        tel.insert_vertices(3);
        tel.insert_edge(0, 1);
        let before = tel.clock;
        tel.insert_edge(0, 2);
        tel.delete_edge(0, 1);
        let mut scratch = Vec::new();
        let old = TelView { log: &tel.out, at: before };
        assert_eq!(old.sorted(0, &mut scratch), [1]);
        assert!(old.contains(0, 1) && !old.contains(0, 2));
        assert_eq!(tel.out().sorted(0, &mut scratch), [2]);
    }
}
