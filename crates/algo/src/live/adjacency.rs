//! The lists of a changing undirected graph, without loops and parallel edges, edge by edge.
//!
//! Kernels that need the graph as it is between two changes of a batch keep this copy, and learn
//! what changed by comparing it with the lists after the batch.
//!
//! *Memory*: 24 bytes per vertex, 8 per edge.

use std::collections::HashMap;

use super::{BLOCK, Lists, Side, Touched, distinct};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Lists of different neighbours, ascending; every edge stands at both ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Adjacency {
    lists: Vec<Vec<u32>>,
}

/// An edge, from its smaller end, and true if it came.
pub(super) type Change = ((u32, u32), bool);

impl Adjacency {
    /// A copy of an undirected graph.
    pub(super) fn new(graph: &Csr) -> Self {
        let list = |v: u32| {
            let mut list = graph.of(v).to_vec();
            tidy(&mut list, v);
            list
        };
        Self { lists: (0..graph.vertices()).map(list).collect() }
    }

    /// Lists that [`lists`](Self::lists) gave.
    pub(super) fn of_lists(lists: Vec<Vec<u32>>) -> Self {
        Self { lists }
    }

    /// The lists, vertex by vertex.
    pub(super) fn lists(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.lists.iter().map(Vec::as_slice)
    }

    pub(super) fn of(&self, v: u32) -> &[u32] {
        &self.lists[v as usize]
    }

    pub(super) fn bytes(&self) -> u64 {
        let bytes = |list: &Vec<u32>| size_of::<Vec<u32>>() + 4 * list.capacity();
        self.lists.iter().map(bytes).sum::<usize>() as u64
    }

    pub(super) fn grow(&mut self, n: u32) {
        self.lists.resize(n as usize, Vec::new());
    }

    /// Changes one edge.
    pub(super) fn apply(&mut self, ((u, v), came): Change) {
        for (from, to) in [(u, v), (v, u)] {
            let list = &mut self.lists[from as usize];
            match (list.binary_search(&to), came) {
                (Err(at), true) => list.insert(at, to),
                (Ok(at), false) => drop(list.remove(at)),
                _ => {}
            }
        }
    }

    /// Edges in which the lists of touched vertices differ from this copy.
    pub(super) fn changes(
        &self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<Vec<Change>> {
        let mut partners: HashMap<u32, Vec<u32>> = HashMap::new();
        for (u, v) in touched.pairs.iter().filter(|(u, v)| u != v) {
            partners.entry(*u.min(v)).or_default().push(*u.max(v));
        }
        let sources = distinct(partners.keys().copied());
        let mut changes = Vec::new();
        let mut found: Vec<Vec<u32>> = Vec::new();
        for block in sources.chunks(BLOCK) {
            control.check()?;
            found.clear();
            found.resize(block.len(), Vec::new());
            lists.visit(block, Side::Out, &mut |place, run| {
                found[place].extend_from_slice(run);
            })?;
            for (u, list) in block.iter().zip(&mut found) {
                tidy(list, *u);
                for v in distinct(partners[u].iter().copied()) {
                    let is_there = list.binary_search(&v).is_ok();
                    if is_there != self.of(*u).binary_search(&v).is_ok() {
                        changes.push(((*u, v), is_there));
                    }
                }
            }
        }
        Ok(changes)
    }
}

/// Sorts a list, and takes repetitions and the vertex itself out of it.
fn tidy(list: &mut Vec<u32>, v: u32) {
    list.sort_unstable();
    list.dedup();
    list.retain(|u| *u != v);
}
