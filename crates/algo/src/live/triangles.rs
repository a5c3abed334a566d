//! Triangle counts that follow a changing graph.
//!
//! Result: the number of triangles at each vertex of an undirected graph, as
//! [`local_clustering`](crate::community::local_clustering) counts them. Parallel edges count once,
//! loops not at all.
//!
//! Method: edges come and go one after the other in a copy of the lists. Each common neighbour of
//! the two ends is a triangle that came or went with the edge.
//!
//! Cost: for each changed edge, the shorter list of its ends by the logarithm of the longer.
//! *Memory*: a copy of the lists (24 bytes per vertex, 8 per edge), 8 bytes per vertex.
//!
//! Source: counting per edge as in Schank and Wagner, "Finding, counting and listing all triangles
//! in large graphs", 2005.

use super::adjacency::Adjacency;
use super::{Lists, Touched};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Triangles of a changing graph.
#[derive(Debug, Clone, Default)]
pub struct LiveTriangles {
    adjacency: Adjacency,
    counts: Vec<u64>,
}

/// Upper estimate of the bytes held for `n` vertices and `m` edges, both directions counted.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    32 * n + 4 * m
}

impl LiveTriangles {
    /// A copy of an undirected graph with the number of triangles at each vertex.
    ///
    /// # Panics
    /// If there is not one count for each vertex.
    #[must_use]
    pub fn new(graph: &Csr, counts: Vec<u64>) -> Self {
        assert_eq!(graph.vertices() as usize, counts.len(), "a count for each vertex");
        Self { adjacency: Adjacency::new(graph), counts }
    }

    /// Number of triangles at each vertex.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Lists of different neighbours, vertex by vertex, for whoever stores them beside
    /// [`counts`](Self::counts).
    #[must_use]
    pub fn lists(&self) -> impl ExactSizeIterator<Item = &[u32]> {
        self.adjacency.lists()
    }

    /// The state that [`lists`](Self::lists) and [`counts`](Self::counts) gave.
    ///
    /// # Panics
    /// If there is not one number of triangles for each list.
    #[must_use]
    pub fn from_lists(lists: Vec<Vec<u32>>, counts: Vec<u64>) -> Self {
        assert_eq!(lists.len(), counts.len(), "a number of triangles for each vertex");
        Self { adjacency: Adjacency::of_lists(lists), counts }
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.adjacency.bytes() + 8 * self.counts.capacity() as u64
    }

    /// Brings the counts to the state after the changes. The lists are those of an undirected
    /// graph.
    ///
    /// # Errors
    /// [`Error::Stopped`](crate::control::Error::Stopped): the counts are between two states.
    pub fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        self.adjacency.grow(touched.n);
        self.counts.resize(touched.n as usize, 0);
        for change in self.adjacency.changes(touched, lists, control)? {
            control.check()?;
            let ((u, v), came) = change;
            let add = |count: &mut u64, n: u64| if came { *count += n } else { *count -= n };
            let (u_list, v_list) = (self.adjacency.of(u), self.adjacency.of(v));
            let (short, long) =
                if u_list.len() < v_list.len() { (u_list, v_list) } else { (v_list, u_list) };
            let mut common = 0;
            for w in short.iter().filter(|w| long.binary_search(w).is_ok()) {
                add(&mut self.counts[*w as usize], 1);
                common += 1;
            }
            add(&mut self.counts[u as usize], common);
            add(&mut self.counts[v as usize], common);
            self.adjacency.apply(change);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::changing::Changing;
    use super::*;
    use crate::community::local_clustering::local_clustering;

    #[test]
    fn triangles_after_random_changes_equal_counting_anew() {
        for seed in 0..40 {
            let mut graph = Changing::new(seed, 9);
            let mut live = LiveTriangles::default();
            for round in 0..50 {
                let batch = graph.change(1 + round % 12);
                let csr = Csr::from_edges(graph.n(), graph.edges()).undirected();
                live.update(&batch.touched(), &(&csr, &csr), &Control::default()).unwrap();
                let expected = local_clustering(&csr, None, &Control::default()).unwrap();
                assert_eq!(live.counts(), expected.triangles, "seed {seed}");
                let lists: Vec<Vec<u32>> = live.lists().map(<[u32]>::to_vec).collect();
                live = LiveTriangles::from_lists(lists, live.counts.clone());
                if round == 25 {
                    live = LiveTriangles::new(&csr, expected.triangles);
                }
            }
        }
    }
}
