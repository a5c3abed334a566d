//! A path, a tree of paths, and the checks and queues that the kernels of this folder share.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;

use crate::control::{Control, Error, Result};
use crate::csr::Csr;
pub(super) use crate::scratch::Pool;

/// Stands in arrays of vertices where there is no vertex.
pub const NONE: u32 = u32::MAX;

/// Edges between two questions to [`Control::check`].
const PACE: u64 = 1 << 16;

/// Vertices that follow each other along edges.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Path {
    /// From the first vertex to the last.
    pub vertices: Vec<u32>,
    /// Cost from the first vertex to each; the first is 0.
    pub costs: Vec<f64>,
}

impl Path {
    /// Cost of the whole path.
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.costs.last().copied().unwrap_or(0.0)
    }
}

/// Shortest (or longest) paths from one vertex to all.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// Distance of each vertex; infinite where no path leads.
    pub distances: Vec<f64>,
    /// Vertex before each on its path; [`NONE`] where a path begins and where none leads.
    pub predecessors: Vec<u32>,
}

impl Tree {
    /// Path to `target`, if there is one.
    #[must_use]
    pub fn path(&self, target: u32) -> Option<Path> {
        if !self.distances.get(target as usize)?.is_finite() {
            return None;
        }
        let vertices = chain(&self.predecessors, target);
        let costs = vertices.iter().map(|&v| self.distances[v as usize]).collect();
        Some(Path { vertices, costs })
    }
}

/// Walks from `target` along `predecessors` to the vertex without one, and turns the walk round.
pub(super) fn chain(predecessors: &[u32], target: u32) -> Vec<u32> {
    let mut vertices = vec![target];
    let mut v = predecessors[target as usize];
    while v != NONE {
        vertices.push(v);
        v = predecessors[v as usize];
    }
    vertices.reverse();
    vertices
}

/// Weight of the lightest edge from `u` to `v`, infinite without one.
pub(super) fn lightest(graph: &Csr, u: u32, v: u32) -> f64 {
    let list = graph.of(u);
    let same = list.partition_point(|&x| x < v)..list.partition_point(|&x| x <= v);
    match graph.weights_of(u) {
        Some(weights) => weights[same].iter().copied().fold(f64::INFINITY, f64::min),
        None if same.is_empty() => f64::INFINITY,
        None => 1.0,
    }
}

/// Fails unless `v` is a vertex of a graph of `n` vertices; `setting` is named in the error.
pub(super) fn require_vertex(n: u32, setting: &str, v: u32) -> Result<()> {
    if v < n {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{setting} is vertex {v}, and the graph has vertices below {n} only"
    )))
}

/// Counts the edges that one thread reads, and checks each 2^16 of them.
pub(super) struct Pace<'a, 'b> {
    control: &'a Control<'b>,
    edges: u64,
}

impl<'a, 'b> Pace<'a, 'b> {
    pub(super) fn new(control: &'a Control<'b>) -> Self {
        Self { control, edges: 0 }
    }

    /// Counts the edges that are read next.
    #[inline]
    pub(super) fn spend(&mut self, edges: usize) -> Result<()> {
        self.edges += edges as u64 + 1;
        if self.edges < PACE {
            return Ok(());
        }
        self.edges = 0;
        self.control.check()
    }
}

/// Vertices by cost; of equal costs the smallest vertex comes first.
#[derive(Debug, Default)]
pub(super) struct Queue(BinaryHeap<Entry>);

#[derive(Debug, PartialEq)]
struct Entry {
    cost: f64,
    v: u32,
}

impl Eq for Entry {}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.v.cmp(&self.v))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Queue {
    pub(super) fn push(&mut self, cost: f64, v: u32) {
        self.0.push(Entry { cost, v });
    }

    pub(super) fn pop(&mut self) -> Option<(f64, u32)> {
        self.0.pop().map(|entry| (entry.cost, entry.v))
    }

    /// Least cost in the queue.
    pub(super) fn least(&self) -> Option<f64> {
        self.0.peek().map(|entry| entry.cost)
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

/// Map from vertices, for searches that see a small part of the graph.
pub(super) type VertexMap<T> = HashMap<u32, T, BuildHasherDefault<VertexHasher>>;

/// Fibonacci hashing of a vertex number.
#[derive(Debug, Default)]
pub(super) struct VertexHasher(u64);

impl Hasher for VertexHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(u32::from(byte)));
    }

    fn write_u32(&mut self, v: u32) {
        let mixed = (self.0 ^ u64::from(v)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Calls `fill(v, list)` with the values of each vertex's list, which lie one after the other, on
/// all threads.
pub(super) fn fill_lists<T: Send>(
    graph: &Csr,
    values: &mut [T],
    control: &Control<'_>,
    fill: impl Fn(u32, &mut [T]) + Sync,
) -> Result<()> {
    let mut blocks = Vec::new();
    let mut rest = values;
    for first in (0..graph.vertices()).step_by(1 << 12) {
        let vertices = first..first.saturating_add(1 << 12).min(graph.vertices());
        let edges = vertices.clone().map(|v| graph.of(v).len()).sum();
        let (block, after) = rest.split_at_mut(edges);
        rest = after;
        blocks.push((vertices, block));
    }
    control.install(|| {
        blocks.into_par_iter().try_for_each(|(vertices, mut rest)| {
            let mut pace = Pace::new(control);
            for v in vertices {
                let (list, after) = rest.split_at_mut(graph.of(v).len());
                rest = after;
                pace.spend(list.len())?;
                fill(v, list);
            }
            Ok(())
        })
    })
}

/// Random graphs for tests: every fourth is undirected, weights are multiples of 1/4 and may be 0,
/// loops and parallel edges occur.
#[cfg(test)]
pub(super) fn sample(seed: u64) -> Csr {
    use crate::random::Random;
    let mut random = Random::new(seed, 77);
    let n = if seed == 0 { 1 } else { 1 + random.below(4 + seed as u32 % 40) };
    let edges = crate::testing::random_edges(seed, n, (n * random.below(4)) as usize);
    let weighted: Vec<_> =
        edges.iter().map(|&(u, v)| (u, v, f64::from(random.below(20)) / 4.0)).collect();
    let csr = match seed % 3 {
        0 => Csr::from_edges(n, &edges),
        _ => Csr::from_weighted(n, &weighted),
    };
    if seed % 4 == 3 { csr.undirected() } else { csr }
}

/// Pool of threads for tests.
#[cfg(test)]
pub(super) fn threads(number: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(number).build().unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_gives_least_cost_then_smallest_vertex() {
        let mut queue = Queue::default();
        for (cost, v) in [(2.0, 1), (1.0, 9), (1.0, 3), (0.5, 7)] {
            queue.push(cost, v);
        }
        assert_eq!(queue.least(), Some(0.5));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, v)| v).collect();
        assert_eq!(order, [7, 3, 9, 1]);
    }

    #[test]
    fn vertex_beyond_the_graph_is_refused_with_its_setting() {
        require_vertex(3, "source", 2).unwrap();
        let error = require_vertex(3, "source", 3).unwrap_err().to_string();
        assert!(error.contains("source is vertex 3"), "{error}");
    }
}
