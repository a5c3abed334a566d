//! Reverse Cuthill-McKee ordering: a small bandwidth, so that all neighbours are near.
//!
//! Result: the new position of each vertex.
//!
//! Method: in each component a breadth-first search from a vertex at its rim, which visits
//! neighbours by ascending degree; the order is then reversed. The rim is found by searching from
//! the vertex of the smallest degree, again and again from a last found vertex of small degree,
//! while the number of levels grows (George and Liu).
//!
//! Cost: O(m log(degree) + some searches). *Memory*: 20 bytes per vertex.
//!
//! Source: Cuthill and McKee, "Reducing the bandwidth of sparse symmetric matrices", 1969; George
//! and Liu, "Computer solution of large sparse positive definite systems", 1981.

use crate::control::{Control, Result};
use crate::csr::Csr;

/// Searches for a rim per component, at most.
const SEARCHES: u32 = 8;

/// Settings of [`reverse_cuthill_mckee`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// True turns the order round, which is what lessens the fill of matrices; neighbours are as
    /// near either way.
    pub reverse: bool,
}

impl Default for Settings {
    /// Reversed.
    fn default() -> Self {
        Self { reverse: true }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, _: u64) -> u64 {
    20 * n
}

/// Search with marks that need no clearing.
struct Search<'a> {
    graph: &'a Csr,
    marks: Vec<u32>,
    mark: u32,
    work: usize,
    control: &'a Control<'a>,
}

impl Search<'_> {
    /// Appends what is reached from `start` to `order`, neighbours by degree; returns the number of
    /// levels and the place of the first vertex of the last one.
    fn from(&mut self, start: u32, order: &mut Vec<u32>) -> Result<(u32, usize)> {
        self.mark += 1;
        self.marks[start as usize] = self.mark;
        let (mut levels, mut last, mut at) = (0, order.len(), order.len());
        order.push(start);
        let mut end = order.len();
        while at < order.len() {
            if at == end {
                levels += 1;
                last = at;
                end = order.len();
            }
            let v = order[at];
            at += 1;
            self.work += self.graph.of(v).len() + 1;
            if self.work >= 1 << 16 {
                self.control.check()?;
                self.work = 0;
            }
            let first = order.len();
            for &u in self.graph.of(v) {
                if self.marks[u as usize] != self.mark {
                    self.marks[u as usize] = self.mark;
                    order.push(u);
                }
            }
            let degree = |u: &u32| (self.graph.of(*u).len(), *u);
            order[first..].sort_unstable_by_key(degree);
        }
        Ok((levels, last))
    }
}

/// New position of each vertex by reverse Cuthill-McKee.
pub fn reverse_cuthill_mckee(
    graph: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Vec<u32>> {
    control.check()?;
    let n = graph.vertices();
    let mut starts: Vec<u32> = (0..n).collect();
    starts.sort_unstable_by_key(|v| (graph.of(*v).len(), *v));
    let mut done = vec![false; n as usize];
    let mut search = Search { graph, marks: vec![0; n as usize], mark: 0, work: 0, control };
    let mut order = Vec::with_capacity(n as usize);
    for mut start in starts {
        if done[start as usize] {
            continue;
        }
        let first = order.len();
        let (mut levels, mut last) = search.from(start, &mut order)?;
        for _ in 0..SEARCHES {
            let degree = |v: &&u32| (graph.of(**v).len(), **v);
            let Some(&rim) = order[last..].iter().min_by_key(degree) else { break };
            if rim == start {
                break;
            }
            order.truncate(first);
            let (more, end) = search.from(rim, &mut order)?;
            (start, last) = (rim, end);
            if more <= levels {
                break;
            }
            levels = more;
        }
        order[first..].iter().for_each(|v| done[*v as usize] = true);
        control.report(order.len() as u64, u64::from(n));
    }
    if settings.reverse {
        order.reverse();
    }
    Ok(super::positions(&order))
}

#[test]
fn cuthill_mckee_brings_neighbours_near() {
    for reverse in [false, true] {
        super::tests::check(
            |graph, control| reverse_cuthill_mckee(graph, &Settings { reverse }, control),
            Some(6.0),
        );
    }
    let edges: Vec<_> = (0..99u32).map(|v| (v * 37 % 100, (v + 1) * 37 % 100)).collect();
    let graph = Csr::from_edges(100, &edges).undirected();
    let control = Control::default();
    let found = reverse_cuthill_mckee(&graph, &Settings::default(), &control).unwrap();
    assert_eq!(super::quality(&graph, &found, &control).unwrap().bandwidth, 1);
}
