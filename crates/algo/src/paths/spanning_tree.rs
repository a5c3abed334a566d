//! Minimum or maximum spanning trees: per component the edges of least (or most) weight that keep
//! it connected.
//!
//! Result: a parent per vertex with the weight of the edge to it, one tree per component, rooted at
//! its smallest vertex; or the tree of one component, rooted at a given vertex. The graph is
//! undirected: every edge stands in both lists. Of parallel edges the lightest (heaviest) counts,
//! loops do not. Weights may be negative.
//!
//! Method: Borůvka's. In each round every vertex finds, in parallel, its best edge out of its
//! component; components join along the best of these. Edges of equal weight are ordered by their
//! vertices, so the forest is one, for any number of threads.
//!
//! Cost: O(log n) rounds, O(m) each at worst; vertices inside their component are left out after
//! the first round that finds them so. *Memory*: 120 bytes per vertex at most.
//!
//! Source: Borůvka, "O jistém problému minimálním", 1926; Nešetřil, Milková and Nešetřilová,
//! "Otakar Borůvka on minimum spanning tree problem", Discrete Mathematics 2001.

use super::path::{NONE, Pace, require_vertex};
use crate::control::{Control, Result};
use crate::csr::Csr;

/// Vertices per task.
const GRAIN: usize = 1 << 10;

/// Preference between two edges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Objective {
    /// The lighter one.
    #[default]
    Minimum,
    /// The heavier one.
    Maximum,
}

/// Choice of trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Settings {
    /// Minimum or maximum.
    pub objective: Objective,
    /// Root of the only tree; must be in the graph. `None` takes all components.
    pub source: Option<u32>,
}

/// Spanning trees.
#[derive(Debug, Clone, PartialEq)]
pub struct Forest {
    /// Neighbour of each vertex on the way to its root; [`NONE`] at roots and outside of trees.
    pub parents: Vec<u32>,
    /// Weight of the edge to the parent; 0 where there is none.
    pub weights: Vec<f64>,
    /// Root of each vertex's tree; [`NONE`] outside of trees.
    pub roots: Vec<u32>,
    /// Sum of the weights.
    pub total_weight: f64,
    /// Number of trees, those of one vertex among them.
    pub trees: u64,
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64) -> u64 {
    n * 120
}

/// Best edge of a vertex out of its component.
#[derive(Clone, Copy)]
struct Best {
    /// Weight, negative of it for maximum trees.
    key: f64,
    to: u32,
    /// True once all neighbours are in the component.
    inside: bool,
}

/// Returns spanning trees of the undirected graph.
pub fn spanning_tree(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Forest> {
    let n = graph.vertices();
    settings.source.map_or(Ok(()), |source| require_vertex(n, "source", source))?;
    graph.require_weights("spanning tree", f64::NEG_INFINITY, control)?;
    let edges = edges(graph, settings.objective, control)?;
    let tree = Csr::from_weighted(n, &edges).undirected();
    drop(edges);
    let mut forest = Forest {
        parents: vec![NONE; n as usize],
        weights: vec![0.0; n as usize],
        roots: vec![NONE; n as usize],
        total_weight: 0.0,
        trees: 0,
    };
    let mut pace = Pace::new(control);
    let mut queue = Vec::new();
    for root in settings.source.map_or(0..n, |source| source..source + 1) {
        if forest.roots[root as usize] != NONE {
            continue;
        }
        forest.trees += 1;
        forest.roots[root as usize] = root;
        queue.push(root);
        while let Some(u) = queue.pop() {
            pace.spend(tree.of(u).len())?;
            for (v, weight) in tree.weighted(u) {
                if forest.roots[v as usize] == NONE {
                    forest.roots[v as usize] = root;
                    forest.parents[v as usize] = u;
                    forest.weights[v as usize] = weight;
                    queue.push(v);
                }
            }
        }
    }
    forest.total_weight = forest.weights.iter().sum();
    Ok(forest)
}

/// Edges of the forest.
fn edges(graph: &Csr, objective: Objective, control: &Control<'_>) -> Result<Vec<(u32, u32, f64)>> {
    let n = graph.vertices();
    let sign = if objective == Objective::Minimum { 1.0 } else { -1.0 };
    let mut components: Vec<u32> = (0..n).collect();
    let mut best = vec![Best { key: 0.0, to: NONE, inside: false }; n as usize];
    let mut best_of = vec![NONE; n as usize];
    let mut edges = Vec::new();
    loop {
        control.check()?;
        control.report(edges.len() as u64, u64::from(n));
        control.fill(&mut best, GRAIN, |first, chunk| {
            let mut pace = Pace::new(control);
            for (v, best) in (first as u32..).zip(chunk).filter(|(_, best)| !best.inside) {
                // A stop is seen again at the head of the loop.
                if pace.spend(graph.of(v).len()).is_err() {
                    return;
                }
                *best = best_edge(graph, &components, v, sign);
            }
        })?;
        best_of.fill(NONE);
        let key = |v: u32| {
            let Best { key, to, .. } = best[v as usize];
            (key, v.min(to), v.max(to))
        };
        for v in (0..n).filter(|&v| best[v as usize].to != NONE) {
            let known = &mut best_of[components[v as usize] as usize];
            if *known == NONE || key(v) < key(*known) {
                *known = v;
            }
        }
        let before = edges.len();
        for &v in best_of.iter().filter(|&&v| v != NONE) {
            let Best { key, to, .. } = best[v as usize];
            let (a, b) = (root(&mut components, v), root(&mut components, to));
            if a != b {
                components[a.max(b) as usize] = a.min(b);
                edges.push((v, to, key * sign));
            }
        }
        if edges.len() == before {
            control.check()?;
            return Ok(edges);
        }
        // Roots are smaller than what hangs below them, so they are flat already.
        for v in 0..n as usize {
            components[v] = components[components[v] as usize];
        }
    }
}

/// Root of the component of `v`; halves the way to it.
fn root(components: &mut [u32], mut v: u32) -> u32 {
    while components[v as usize] != v {
        let above = components[components[v as usize] as usize];
        components[v as usize] = above;
        v = above;
    }
    v
}

fn best_edge(graph: &Csr, components: &[u32], v: u32, sign: f64) -> Best {
    let mut best = Best { key: f64::INFINITY, to: NONE, inside: true };
    for (x, weight) in graph.weighted(v) {
        // Lists ascend, so of equal weights the first is the least by vertices too.
        let outside = components[x as usize] != components[v as usize];
        if outside && sign * weight < best.key {
            best = Best { key: sign * weight, to: x, inside: false };
        }
    }
    best
}

/// Kruskal's algorithm on sorted edges: total weight and number of trees.
#[cfg(test)]
fn verify(graph: &Csr, objective: Objective) -> (f64, u64) {
    let mut edges: Vec<_> = graph.all_edges().collect();
    edges.sort_by(|a, b| a.2.total_cmp(&b.2));
    if objective == Objective::Maximum {
        edges.reverse();
    }
    let mut labels: Vec<u32> = (0..graph.vertices()).collect();
    let (mut total, mut trees) = (0.0, u64::from(graph.vertices()));
    for (u, v, weight) in edges {
        let (a, b) = (labels[u as usize], labels[v as usize]);
        if a != b {
            total += weight;
            trees -= 1;
            labels.iter_mut().filter(|label| **label == b).for_each(|label| *label = a);
        }
    }
    (total, trees)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::paths::path::{sample, threads};

    fn check(graph: &Csr, forest: &Forest) {
        let edge = |u: u32, v: u32, weight: f64| graph.weighted(u).any(|e| e == (v, weight));
        for v in 0..graph.vertices() {
            let (mut at, mut steps) = (v, 0);
            while forest.parents[at as usize] != NONE {
                let parent = forest.parents[at as usize];
                assert!(edge(at, parent, forest.weights[at as usize]));
                at = parent;
                steps += 1;
                assert!(steps <= graph.vertices(), "parents go in a circle");
            }
            let root = forest.roots[v as usize];
            assert!(root == at || (root == NONE && at == v));
        }
    }

    #[test]
    fn weights_on_random_graphs_equal_kruskals() {
        let pool = threads(3);
        for seed in 0..200 {
            let shape = sample(seed);
            let edges: Vec<_> = shape.all_edges().map(|(u, v, w)| (u, v, w - 1.0)).collect();
            let graph = Csr::from_weighted(shape.vertices(), &edges).undirected();
            for objective in [Objective::Minimum, Objective::Maximum] {
                let settings = Settings { objective, source: None };
                let forest = spanning_tree(&graph, &settings, &Control::default()).unwrap();
                check(&graph, &forest);
                let found = (forest.total_weight, forest.trees);
                assert_eq!(found, verify(&graph, objective), "seed {seed}");
                assert!((0..).zip(&forest.roots).all(|(v, &root)| root <= v));
                let control = Control::default().on(&pool);
                assert_eq!(spanning_tree(&graph, &settings, &control), Ok(forest.clone()));
                let source = graph.vertices() - 1;
                let settings = Settings { objective, source: Some(source) };
                let tree = spanning_tree(&graph, &settings, &Control::default()).unwrap();
                check(&graph, &tree);
                assert_eq!(tree.trees, 1);
                for v in 0..graph.vertices() as usize {
                    let same = forest.roots[v] == forest.roots[source as usize];
                    assert_eq!(tree.roots[v], if same { source } else { NONE });
                }
            }
        }
    }

    #[test]
    fn large_graph_on_three_threads_equals_one() {
        let edges = crate::testing::random_edges(1, 20_000, 50_000);
        let graph = Csr::from_edges(20_000, &edges).undirected();
        let one = spanning_tree(&graph, &Settings::default(), &Control::default()).unwrap();
        let pool = threads(3);
        let control = Control::default().on(&pool);
        assert_eq!(spanning_tree(&graph, &Settings::default(), &control), Ok(one));
    }

    #[test]
    fn empty_graph_bad_settings_weights_and_a_stop() {
        let empty = Csr::from_edges(0, &[]);
        let forest = spanning_tree(&empty, &Settings::default(), &Control::default()).unwrap();
        assert_eq!((forest.trees, forest.total_weight), (0, 0.0));
        let graph = Csr::from_edges(2, &[(0, 1), (1, 0)]);
        let beyond = Settings { source: Some(2), ..Default::default() };
        let found = spanning_tree(&graph, &beyond, &Control::default());
        assert!(matches!(found, Err(Error::Invalid(_))));
        let bad = Csr::from_weighted(2, &[(0, 1, f64::NAN)]);
        let found = spanning_tree(&bad, &Settings::default(), &Control::default());
        assert!(matches!(found, Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        let found = spanning_tree(&graph, &Settings::default(), &stopped);
        assert_eq!(found, Err(Error::Stopped));
    }
}
