//! Weakly connected components that follow a changing graph.
//!
//! Result: a label per vertex, the same for vertices that are joined by a path. The lists are those
//! of an undirected graph: every edge stands at both ends.
//!
//! ```text
//!   vertex ─► label ─► parent label ─► .. ─► root       labels are joined, vertices are moved
//! ```
//!
//! Method: edges that are there join the roots of their ends' labels, the smaller under the larger
//! number of vertices. Where an edge or a vertex is gone, its component may have come apart: a
//! search begins at every end of what is gone in that component, and all of them take turns. Two
//! that meet become one. One that has nowhere to go has found a whole component, whose vertices get
//! a label of their own. When one is left, it need not go on: what it would find keeps its label.
//! So a split costs what the smaller sides have, and a removal that splits nothing a search from
//! both ends until they meet. An update that would look at more edges than from scratch gives up
//! and says so.
//!
//! Cost: a list lookup per touched pair; for removals the searches, at most `edges_max`. *Memory*:
//! 12 bytes per vertex, and during a search some 40 per vertex found.
//!
//! Source: joining as in Tarjan, "Efficiency of a good but not linear set union algorithm", 1975;
//! searches in turns as in Even and Shiloach, "An on-line edge-deletion problem", 1981.

use std::collections::{HashMap, HashSet};

use super::{BLOCK, Lists, Side, Touched, distinct};
use crate::control::{Control, Result};

/// Label of numbers that are not in use.
pub const NONE: u32 = u32::MAX;

/// Vertices that a search goes on from at a turn.
const TURN: usize = 64;

/// Components of a changing graph.
#[derive(Debug, Clone, Default)]
pub struct LiveComponents {
    /// Label of each vertex.
    labels: Vec<u32>,
    /// Label under which a label was joined; itself of a root.
    parents: Vec<u32>,
    /// Number of vertices under a root.
    sizes: Vec<u32>,
}

/// Upper estimate of the bytes held for `n` vertices.
#[must_use]
pub fn bytes(n: u64) -> u64 {
    20 * n
}

/// Outcome of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The components are those after the changes.
    Updated,
    /// It would cost as much as from scratch: the components are of no use any more.
    GaveUp,
}

impl LiveComponents {
    /// Components in which each vertex has the label of its component, a number below that of
    /// vertices, or [`NONE`].
    #[must_use]
    pub fn new(labels: Vec<u32>) -> Self {
        let n = labels.len() as u32;
        let mut sizes = vec![0; labels.len()];
        labels.iter().filter(|l| **l != NONE).for_each(|l| sizes[*l as usize] += 1);
        Self { labels, parents: (0..n).collect(), sizes }
    }

    /// Label of each vertex, equal within a component; [`NONE`] for numbers that are not in use.
    /// All labels are below the number of vertices.
    pub fn labels(&mut self) -> &[u32] {
        self.renumber();
        &self.labels
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let words = self.labels.capacity() + self.parents.capacity() + self.sizes.capacity();
        4 * words as u64
    }

    fn root(&mut self, mut label: u32) -> u32 {
        loop {
            let parent = self.parents[label as usize];
            if parent == label {
                return label;
            }
            let above = self.parents[parent as usize];
            self.parents[label as usize] = above;
            label = above;
        }
    }

    /// Gives every vertex the smallest vertex of its component as its label.
    fn renumber(&mut self) {
        let mut first = vec![NONE; self.parents.len()];
        for v in 0..self.labels.len() {
            if self.labels[v] != NONE {
                let root = self.root(self.labels[v]) as usize;
                first[root] = first[root].min(v as u32);
                self.labels[v] = root as u32;
            }
        }
        for label in self.labels.iter_mut().filter(|label| **label != NONE) {
            *label = first[*label as usize];
        }
        *self = Self::new(std::mem::take(&mut self.labels));
    }

    fn fresh(&mut self, size: u32) -> u32 {
        let label = self.parents.len() as u32;
        self.parents.push(label);
        self.sizes.push(size);
        label
    }

    fn join(&mut self, u: u32, v: u32) {
        let (u, v) = (self.labels[u as usize], self.labels[v as usize]);
        let (u, v) = (self.root(u), self.root(v));
        if u != v {
            let swapped = self.sizes[u as usize] < self.sizes[v as usize];
            let (to, from) = if swapped { (v, u) } else { (u, v) };
            self.parents[from as usize] = to;
            self.sizes[to as usize] += self.sizes[from as usize];
        }
    }

    /// Brings the components to the state after the changes, looking at no more than about
    /// `edges_max` edges.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped): the components are between two states.
    pub fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        edges_max: u64,
        control: &Control<'_>,
    ) -> Result<Outcome> {
        // Labels of which most are in use by nobody.
        if self.parents.len() > 2 * self.labels.len() + BLOCK {
            self.renumber();
        }
        self.labels.resize(touched.n as usize, NONE);
        for v in touched.came {
            self.labels[*v as usize] = self.fresh(1);
        }
        for v in touched.went {
            let label = std::mem::replace(&mut self.labels[*v as usize], NONE);
            if label != NONE {
                let root = self.root(label);
                self.sizes[root as usize] -= 1;
            }
        }
        let mut left = edges_max;
        let Some(gone) = self.join_touched(touched, lists, &mut left, control)? else {
            return Ok(Outcome::GaveUp);
        };
        let mut ends: HashMap<u32, Vec<u32>> = HashMap::new();
        for v in gone {
            let root = self.root(self.labels[v as usize]);
            ends.entry(root).or_default().push(v);
        }
        for (root, ends) in ends {
            if ends.len() > 1 && !self.split(root, &ends, lists, &mut left, control)? {
                return Ok(Outcome::GaveUp);
            }
        }
        Ok(Outcome::Updated)
    }

    /// Joins the ends of the touched pairs that are edges; returns the ends of the others, each
    /// once, or nothing if it takes too long.
    fn join_touched(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        left: &mut u64,
        control: &Control<'_>,
    ) -> Result<Option<Vec<u32>>> {
        let is_used = |v: u32| self.labels[v as usize] != NONE;
        let mut gone = Vec::new();
        let mut wanted: HashMap<u32, HashSet<u32>> = HashMap::new();
        for (u, v) in touched.pairs {
            match (is_used(*u), is_used(*v)) {
                (true, true) if u != v => {
                    wanted.entry(*u).or_default().insert(*v);
                }
                (true, false) => gone.push(*u),
                (false, true) => gone.push(*v),
                _ => {}
            }
        }
        let sources = distinct(wanted.keys().copied());
        for block in sources.chunks(BLOCK) {
            control.check()?;
            let mut found = Vec::new();
            let mut seen = 0;
            lists.visit(block, Side::Out, &mut |place, run| {
                seen += run.len() as u64;
                let wanted = &wanted[&block[place]];
                found.extend(run.iter().filter(|v| wanted.contains(v)).map(|v| (block[place], *v)));
            })?;
            for (u, v) in found {
                self.join(u, v);
                if let Some(wanted) = wanted.get_mut(&u) {
                    wanted.remove(&v);
                }
            }
            if seen > *left {
                return Ok(None);
            }
            *left -= seen;
        }
        gone.extend(
            wanted.into_iter().flat_map(|(u, others)| others.into_iter().flat_map(move |v| [u, v])),
        );
        Ok(Some(distinct(gone.into_iter())))
    }

    /// Searches from the ends of what is gone in the component `root`, and gives those parts their
    /// own labels that are found to be whole. False if that takes too long.
    fn split(
        &mut self,
        root: u32,
        ends: &[u32],
        lists: &dyn Lists,
        left: &mut u64,
        control: &Control<'_>,
    ) -> Result<bool> {
        let mut searches = Searches::new(ends);
        while searches.active.len() > 1 {
            control.check()?;
            let Some(ended) = searches.turn(lists, left)? else { return Ok(false) };
            for part in ended {
                let label = self.fresh(part.len() as u32);
                self.sizes[root as usize] -= part.len() as u32;
                part.into_iter().for_each(|v| self.labels[v as usize] = label);
            }
        }
        Ok(true)
    }
}

/// One search, or several that have met.
#[derive(Default)]
struct Search {
    found: Vec<u32>,
    /// Those found from which it has yet to go on.
    open: Vec<u32>,
}

/// Searches that take turns.
struct Searches {
    searches: Vec<Search>,
    /// The search that a search has become part of; itself, if none.
    parents: Vec<u32>,
    /// Searches that still go on.
    active: Vec<u32>,
    /// Search that found a vertex.
    of: HashMap<u32, u32>,
}

impl Searches {
    fn new(ends: &[u32]) -> Self {
        let count = ends.len() as u32;
        let search = |v: &u32| Search { found: vec![*v], open: vec![*v] };
        Self {
            searches: ends.iter().map(search).collect(),
            parents: (0..count).collect(),
            active: (0..count).collect(),
            of: ends.iter().copied().zip(0..).collect(),
        }
    }

    fn root(&mut self, mut search: u32) -> u32 {
        while self.parents[search as usize] != search {
            let parent = self.parents[search as usize];
            self.parents[search as usize] = self.parents[parent as usize];
            search = parent;
        }
        search
    }

    fn join(&mut self, a: u32, b: u32) -> u32 {
        let size = |search: u32| self.searches[search as usize].found.len();
        let (to, from) = if size(a) < size(b) { (b, a) } else { (a, b) };
        self.parents[from as usize] = to;
        let gone = std::mem::take(&mut self.searches[from as usize]);
        self.searches[to as usize].found.extend(gone.found);
        self.searches[to as usize].open.extend(gone.open);
        to
    }

    /// Lets each search go a step on, as long as there are several. Returns the vertices of those
    /// that have ended; nothing if `left` edges do not suffice.
    fn turn(&mut self, lists: &dyn Lists, left: &mut u64) -> Result<Option<Vec<Vec<u32>>>> {
        let mut ended = Vec::new();
        for search in std::mem::take(&mut self.active) {
            if self.root(search) == search {
                self.active.push(search);
            }
        }
        let turn = self.active.clone();
        for search in turn {
            let is_root = self.root(search) == search;
            if !is_root || self.active.len() < 2 {
                continue;
            }
            let open = &mut self.searches[search as usize].open;
            let block = open.split_off(open.len().saturating_sub(TURN));
            let mut met = Vec::new();
            let mut seen = 0;
            lists.visit(&block, Side::Out, &mut |_, run| {
                seen += run.len() as u64;
                for v in run {
                    match self.of.get(v) {
                        Some(other) if *other == search => {}
                        Some(other) => met.push(*other),
                        None => {
                            self.of.insert(*v, search);
                            let found = &mut self.searches[search as usize];
                            found.found.push(*v);
                            found.open.push(*v);
                        }
                    }
                }
            })?;
            if seen > *left {
                return Ok(None);
            }
            *left -= seen;
            let mut own = search;
            met.sort_unstable();
            met.dedup();
            for other in met {
                let other = self.root(other);
                if other != own {
                    let joined = self.join(own, other);
                    let gone = if joined == own { other } else { own };
                    self.active.retain(|search| *search != gone);
                    own = joined;
                }
            }
            if self.searches[own as usize].open.is_empty() && self.active.len() > 1 {
                self.active.retain(|search| *search != own);
                ended.push(std::mem::take(&mut self.searches[own as usize].found));
            }
        }
        Ok(Some(ended))
    }
}

#[cfg(test)]
mod tests {
    use super::super::changing::Changing;
    use super::*;
    use crate::community::wcc;
    use crate::csr::Csr;
    use crate::testing::random_edges;

    /// Smallest vertex of each component, with [`NONE`] where a number is not in use.
    fn expected(csr: &Csr, used: &[bool]) -> Vec<u32> {
        let found = wcc::wcc(csr, csr, csr.vertices(), &Control::default()).unwrap().components;
        let label = |(label, used): (u32, &bool)| if *used { label } else { NONE };
        found.into_iter().zip(used).map(label).collect()
    }

    #[test]
    fn components_after_random_changes_equal_those_from_scratch() {
        for seed in 0..60 {
            let mut graph = Changing::new(seed, 15);
            let mut live = LiveComponents::default();
            for round in 0..40 {
                let batch = graph.change(1 + round % 12);
                let csr = Csr::from_edges(graph.n(), graph.edges()).undirected();
                let lists = (&csr, &csr);
                let touched = batch.touched();
                let done = live.update(&touched, &lists, u64::MAX, &Control::default()).unwrap();
                assert_eq!(done, Outcome::Updated);
                // Joined labels stay for a while in every other run.
                let found = match seed % 2 {
                    0 => live.labels().to_vec(),
                    _ => live.clone().labels().to_vec(),
                };
                assert_eq!(found, expected(&csr, graph.used()), "seed {seed}, round {round}");
            }
        }
    }

    #[test]
    fn a_small_part_that_comes_off_costs_what_it_has_and_a_long_search_gives_up() {
        let n = 10_000;
        let mut edges: Vec<_> = (1..n).map(|v| (v - 1, v)).collect();
        let remove = |edges: &mut Vec<(u32, u32)>, pair: (u32, u32), edges_max| {
            let csr = Csr::from_edges(n, edges).undirected();
            let found = wcc::wcc(&csr, &csr, n, &Control::default()).unwrap();
            let mut live = LiveComponents::new(found.components);
            edges.retain(|edge| *edge != pair);
            let csr = Csr::from_edges(n, edges).undirected();
            let touched = Touched { n, pairs: &[pair], ..Touched::default() };
            let done = live.update(&touched, &(&csr, &csr), edges_max, &Control::default());
            (done.unwrap(), live.labels().to_vec() == expected(&csr, &vec![true; n as usize]))
        };
        let near_the_end = (n - 11, n - 10);
        assert_eq!(remove(&mut edges.clone(), near_the_end, 1000), (Outcome::Updated, true));
        let in_the_middle = (n / 2, n / 2 + 1);
        assert_eq!(remove(&mut edges, in_the_middle, 1000).0, Outcome::GaveUp);
    }

    #[test]
    fn it_stops() {
        let csr = Csr::from_edges(50, &random_edges(1, 50, 99)).undirected();
        let stop = || true;
        let control = Control::default().stopped_by(&stop);
        let touched = Touched { n: 50, pairs: &[(1, 2)], ..Touched::default() };
        let mut live = LiveComponents::new((0..50).collect());
        assert!(live.update(&touched, &(&csr, &csr), 9, &control).is_err());
    }
}
