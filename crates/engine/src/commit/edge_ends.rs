//! The edge writes of a transaction by the vertices at their ends.
//!
//! ```text
//!  writes    0: a->b   1: c->a   2: a->c
//!  (a, Out)  first 0, last 2          next of 0, Out: 2
//!  (a, In)   first 1, last 1
//! ```
//!
//! Chains through the writes, in the order they were made. Transactions that only write never pay:
//! chains are made when edges are read, for the writes that came since the last time.
//!
//! Invariant: the ends of a write never change, and writes are only added.

use std::collections::{BTreeSet, HashMap};

use foldhash::fast::RandomState;
use telar_graph::{Direction, EdgeTypeId};

use super::write_set::EdgeWrite;

/// So few writes are searched one by one.
const LINEAR_MAX: usize = 16;
const NONE: u32 = u32::MAX;

/// Chains of edge writes.
#[derive(Debug, Default)]
pub(crate) struct EdgeEnds {
    /// First and last write of each chain.
    chains: HashMap<(EdgeTypeId, u32, Direction), (u32, u32), RandomState>,
    /// For each write the one after it in the chain of its source, and in that of its target.
    next: Vec<[u32; 2]>,
    /// The types of the writes.
    types: BTreeSet<EdgeTypeId>,
}

/// The end of a write that a list in this direction begins at.
fn start(write: &EdgeWrite, direction: Direction) -> u32 {
    match direction {
        Direction::Out => write.src,
        Direction::In => write.dst,
    }
}

impl EdgeEnds {
    /// Appends to `out` the places in `writes` of those in a list of `vertex`, in order.
    pub(crate) fn of(
        &mut self,
        writes: &[EdgeWrite],
        ty: EdgeTypeId,
        vertex: u32,
        direction: Direction,
        out: &mut Vec<u32>,
    ) {
        if writes.len() <= LINEAR_MAX {
            let matches = |w: &EdgeWrite| w.ty == ty && start(w, direction) == vertex;
            out.extend((0..).zip(writes).filter(|(_, w)| matches(w)).map(|(at, _)| at));
            return;
        }
        self.catch_up(writes);
        let mut at = self.chains.get(&(ty, vertex, direction)).map_or(NONE, |(first, _)| *first);
        while at != NONE {
            out.push(at);
            at = self.next[at as usize][direction as usize];
        }
    }

    /// The types of `writes`.
    pub(crate) fn types(&mut self, writes: &[EdgeWrite]) -> &BTreeSet<EdgeTypeId> {
        self.catch_up(writes);
        &self.types
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let chain = size_of::<((EdgeTypeId, u32, Direction), (u32, u32))>() + 1;
        self.chains.capacity() * chain + self.next.capacity() * size_of::<[u32; 2]>()
    }

    fn catch_up(&mut self, writes: &[EdgeWrite]) {
        for (at, write) in writes.iter().enumerate().skip(self.next.len()) {
            let at = at as u32;
            self.types.insert(write.ty);
            self.next.push([NONE; 2]);
            for direction in Direction::ALL {
                let key = (write.ty, start(write, direction), direction);
                let chain = self.chains.entry(key).or_insert((at, at));
                if chain.1 != at {
                    self.next[chain.1 as usize][direction as usize] = at;
                    chain.1 = at;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::write_set::EdgeOp;
    use super::*;

    #[test]
    fn chains_are_what_a_search_finds_however_writes_and_reads_alternate() {
        let mut seed = 7_u32;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) % below
        };
        let (mut writes, mut ends) = (Vec::new(), EdgeEnds::default());
        for step in 0..400 {
            for _ in 0..random(4) {
                let ty = EdgeTypeId::from_raw(random(2) as u16);
                let (src, dst, ordinal) = (random(9), random(9), writes.len() as u32);
                writes.push(EdgeWrite { ty, src, dst, ordinal, sort_key: 0, op: EdgeOp::Create });
            }
            let (ty, vertex) = (EdgeTypeId::from_raw(random(2) as u16), random(10));
            for direction in Direction::ALL {
                let mut found = Vec::new();
                ends.of(&writes, ty, vertex, direction, &mut found);
                let here = |w: &&EdgeWrite| w.ty == ty && start(w, direction) == vertex;
                let want: Vec<u32> = writes.iter().filter(here).map(|w| w.ordinal).collect();
                assert_eq!(found, want, "step {step}");
            }
        }
    }
}
