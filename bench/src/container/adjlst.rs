//! Sorted vectors: the baseline without versions.
//!
//! Layout: a `Vec<u32>` per vertex and direction, ascending.
//! Invariants: no list holds a number twice; `v` is in `u`'s out-list iff `u` is in `v`'s in-list.
//! Concurrency: none; see [`Locked`](super::Locked).
//! Cost: 24 bytes per vertex and direction, 4 per entry and the slack of doubling; an insert moves
//! half the list, which is what a hub pays for. The allocator's own overhead is not counted.

use super::{Footprint, Snapshot, Writer};
use std::ops::Range;
use telar_generate::Edge;
use telar_generate::mem::{self, PREFETCH_AHEAD};
use telar_graph::topology::Topology;

/// Edges of a batch whose lists are prefetched before any is changed.
const STAGE_EDGES: usize = 64;

/// Sorted neighbour vectors in both directions.
#[derive(Default)]
pub struct AdjLst {
    out: SortedLists,
    incoming: SortedLists,
}

/// One direction.
#[derive(Default)]
pub struct SortedLists(Vec<Vec<u32>>);

impl SortedLists {
    fn insert(&mut self, u: u32, v: u32) -> bool {
        let list = &mut self.0[u as usize];
        match list.binary_search(&v) {
            Ok(_) => false,
            Err(position) => {
                list.insert(position, v);
                true
            }
        }
    }

    fn remove(&mut self, u: u32, v: u32) -> bool {
        let list = &mut self.0[u as usize];
        list.binary_search(&v).map(|position| list.remove(position)).is_ok()
    }

    #[inline(always)]
    fn hint(&self, v: u32) {
        if let Some(list) = self.0.get(v as usize) {
            mem::prefetch(list.as_ptr());
        }
    }

    fn hint_head(&self, v: u32) {
        mem::prefetch(self.0.as_ptr().wrapping_add(v as usize));
    }

    fn hint_middle(&self, v: u32) {
        let list = &self.0[v as usize];
        mem::prefetch(list.as_ptr().wrapping_add(list.len() / 2));
    }

    fn memory_bytes(&self) -> u64 {
        let heads = self.0.capacity() * size_of::<Vec<u32>>();
        let entries: usize = self.0.iter().map(|list| list.capacity() * size_of::<u32>()).sum();
        (heads + entries) as u64
    }
}

impl Writer for AdjLst {
    fn insert_vertex(&mut self) -> u32 {
        self.out.0.push(Vec::new());
        self.incoming.0.push(Vec::new());
        self.out.0.len() as u32 - 1
    }

    fn insert_vertices(&mut self, count: u32) {
        let n = self.out.0.len() + count as usize;
        for side in [&mut self.out, &mut self.incoming] {
            let mut wider = mem::huge_vec(n);
            wider.append(&mut side.0);
            wider.resize_with(n, Vec::new);
            side.0 = wider;
        }
    }

    fn insert_edge(&mut self, u: u32, v: u32) -> bool {
        // PERF: the other end's list comes while this end is searched (bench kernel/insert).
        self.incoming.hint_middle(v);
        self.out.insert(u, v) && self.incoming.insert(v, u)
    }

    fn insert_batch(&mut self, edges: &[Edge]) -> u64 {
        let mut added = 0;
        for stage in edges.chunks(STAGE_EDGES) {
            for &(u, v) in stage {
                self.out.hint_head(u);
                self.incoming.hint_head(v);
            }
            for &(u, v) in stage {
                self.out.hint_middle(u);
                self.incoming.hint_middle(v);
            }
            for &(u, v) in stage {
                added += u64::from(self.insert_edge(u, v));
            }
        }
        added
    }

    /// There is nothing in an edge that a new version could change.
    fn upsert_edge(&mut self, u: u32, v: u32) -> bool {
        self.insert_edge(u, v)
    }

    fn delete_edge(&mut self, u: u32, v: u32) -> bool {
        self.out.remove(u, v) && self.incoming.remove(v, u)
    }
}

impl Snapshot for AdjLst {
    type Topo<'a> = &'a SortedLists;

    fn out(&self) -> &SortedLists {
        &self.out
    }

    fn in_(&self) -> &SortedLists {
        &self.incoming
    }
}

impl Footprint for AdjLst {
    const NAME: &'static str = "AdjLst";

    fn memory_bytes(&self) -> u64 {
        self.out.memory_bytes() + self.incoming.memory_bytes()
    }
}

impl Topology for &SortedLists {
    fn vertex_bound(&self) -> u32 {
        self.0.len() as u32
    }

    #[inline]
    fn degree(&self, v: u32) -> u32 {
        self.0[v as usize].len() as u32
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, mut f: F) {
        f(&self.0[v as usize]);
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, mut f: F) {
        for v in vertices {
            self.hint(v.wrapping_add(PREFETCH_AHEAD as u32));
            f(v, &self.0[v as usize]);
        }
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], mut f: F) {
        for (i, &v) in vertices.iter().enumerate() {
            if let Some(&ahead) = vertices.get(i + PREFETCH_AHEAD) {
                self.hint(ahead);
            }
            f(v, &self.0[v as usize]);
        }
    }

    #[inline]
    fn sorted<'a>(&'a self, v: u32, _scratch: &'a mut Vec<u32>) -> &'a [u32] {
        &self.0[v as usize]
    }

    #[inline]
    fn contains(&self, u: u32, v: u32) -> bool {
        self.0[u as usize].binary_search(&v).is_ok()
    }

    #[inline]
    fn prefetch(&self, v: u32) {
        self.hint(v);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Locked, model};
    use super::AdjLst;

    #[test]
    fn adjlst_equals_the_model() {
        model::check(Locked::<AdjLst>::new);
    }
}
