//! Core numbers that follow a changing graph.
//!
//! Result: the core number of each vertex of an undirected graph, as
//! [`k_core`](crate::community::k_core) finds it. Parallel edges count once, loops not at all.
//!
//! Method: edges come and go one after the other in a copy of the lists. One edge changes core
//! numbers by one at most, and only those that equal the smaller number k of its ends and are
//! connected with them through such vertices. After an insertion a search visits them, through
//! vertices with more than k neighbours of core k and above; those that cannot keep more than k of
//! the visited and higher neighbours fall away one after the other, and the others rise. After a
//! removal vertices left with fewer than k neighbours of core k and above fall, one after the
//! other.
//!
//! Cost: for each changed edge, the lists of the vertices visited: at worst those of one core
//! number. *Memory*: a copy of the lists (24 bytes per vertex, 8 per edge), 4 bytes per vertex.
//!
//! Source: Sariyuce, Gedik, Jacques-Silva, Wu and Catalyurek, "Streaming algorithms for k-core
//! decomposition", VLDB 2013 (the traversal algorithms).

use std::collections::HashMap;

use super::adjacency::Adjacency;
use super::{Lists, Touched};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Core numbers of a changing graph.
#[derive(Debug, Clone, Default)]
pub struct LiveCores {
    adjacency: Adjacency,
    cores: Vec<u32>,
}

/// Upper estimate of the bytes held for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    28 * n + 4 * m
}

impl LiveCores {
    /// A copy of an undirected graph with the core number of each vertex.
    ///
    /// # Panics
    /// If there is not one number for each vertex.
    #[must_use]
    pub fn new(graph: &Csr, cores: Vec<u32>) -> Self {
        assert_eq!(graph.vertices() as usize, cores.len(), "a core number for each vertex");
        Self { adjacency: Adjacency::new(graph), cores }
    }

    /// Core number of each vertex.
    #[must_use]
    pub fn cores(&self) -> &[u32] {
        &self.cores
    }

    /// Lists of different neighbours, vertex by vertex, for whoever stores them beside
    /// [`cores`](Self::cores).
    #[must_use]
    pub fn lists(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.adjacency.lists()
    }

    /// The state that [`lists`](Self::lists) and [`cores`](Self::cores) gave.
    ///
    /// # Panics
    /// If there is not one core number for each list.
    #[must_use]
    pub fn from_lists(lists: Vec<Vec<u32>>, cores: Vec<u32>) -> Self {
        assert_eq!(lists.len(), cores.len(), "a core number for each vertex");
        Self { adjacency: Adjacency::of_lists(lists), cores }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.adjacency.bytes() + 4 * self.cores.capacity() as u64
    }

    /// Brings the core numbers to the state after the changes. The lists are those of an undirected
    /// graph.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped): the numbers are between two states.
    pub fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        self.adjacency.grow(touched.n);
        self.cores.resize(touched.n as usize, 0);
        for change in self.adjacency.changes(touched, lists, control)? {
            control.check()?;
            self.adjacency.apply(change);
            match change {
                (edge, true) => self.raise(edge, control)?,
                (edge, false) => self.lower(edge),
            }
        }
        Ok(())
    }

    fn core(&self, v: u32) -> u32 {
        self.cores[v as usize]
    }

    /// Number of neighbours of core `k` and above.
    fn support(&self, v: u32, k: u32) -> u32 {
        self.adjacency.of(v).iter().filter(|u| self.core(**u) >= k).count() as u32
    }

    /// Raises core numbers after an edge came.
    fn raise(&mut self, (u, v): (u32, u32), control: &Control<'_>) -> Result<()> {
        let k = self.core(u).min(self.core(v));
        // Neighbours of core k and above that each visited vertex can still count on.
        let mut support: HashMap<u32, u32> = HashMap::new();
        let mut open: Vec<u32> = [u, v].into_iter().filter(|w| self.core(*w) == k).collect();
        for w in &open {
            support.insert(*w, self.support(*w, k));
        }
        let mut falling = Vec::new();
        while let Some(w) = open.pop() {
            if support.len().is_multiple_of(1024) {
                control.check()?;
            }
            if support[&w] <= k {
                falling.push(w);
                continue;
            }
            for x in self.adjacency.of(w).iter().filter(|x| self.core(**x) == k) {
                if !support.contains_key(x) {
                    support.insert(*x, self.support(*x, k));
                    open.push(*x);
                }
            }
        }
        while let Some(w) = falling.pop() {
            if support.remove(&w).is_none() {
                continue;
            }
            for x in self.adjacency.of(w) {
                if let Some(left) = support.get_mut(x) {
                    *left -= 1;
                    if *left == k {
                        falling.push(*x);
                    }
                }
            }
        }
        support.keys().for_each(|w| self.cores[*w as usize] = k + 1);
        Ok(())
    }

    /// Lowers core numbers after an edge went.
    fn lower(&mut self, (u, v): (u32, u32)) {
        let k = self.core(u).min(self.core(v));
        let mut support: HashMap<u32, u32> = HashMap::new();
        let mut falling = Vec::new();
        for w in [u, v] {
            if self.core(w) == k {
                let found = self.support(w, k);
                support.insert(w, found);
                if found < k {
                    falling.push(w);
                }
            }
        }
        while let Some(w) = falling.pop() {
            if self.core(w) < k {
                continue;
            }
            self.cores[w as usize] = k - 1;
            for x in self.adjacency.of(w).iter().filter(|x| self.core(**x) == k) {
                let found = match support.get(x) {
                    Some(before) => before - 1,
                    None => self.support(*x, k),
                };
                support.insert(*x, found);
                if found < k {
                    falling.push(*x);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::changing::Changing;
    use super::*;
    use crate::community::k_core::k_core;

    #[test]
    fn cores_after_random_changes_equal_those_from_scratch() {
        for seed in 0..40 {
            let mut graph = Changing::new(seed, 7);
            let mut live = LiveCores::default();
            for round in 0..80 {
                let batch = graph.change(1 + round % 12);
                let csr = Csr::from_edges(graph.n(), graph.edges()).undirected();
                live.update(&batch.touched(), &(&csr, &csr), &Control::default()).unwrap();
                let expected = k_core(&csr, &Control::default()).unwrap();
                assert_eq!(live.cores(), expected.cores, "seed {seed}, round {round}");
                let lists: Vec<Vec<u32>> = live.lists().map(<[u32]>::to_vec).collect();
                live = LiveCores::from_lists(lists, live.cores.clone());
                if round == 40 {
                    live = LiveCores::new(&csr, expected.cores);
                }
            }
        }
    }
}
