//! Maximum flow: how much can be sent along edges of limited capacity, and what limits it.
//!
//! Result: the value, the flow on every edge, and a minimum cut: the vertices that sources can
//! still reach, and the edges out of them, which are full. Weights are the capacities, 1 without.
//! Parallel edges have a flow each; loops carry none. Among several maximum flows the one found is
//! fixed. In a graph with both directions of each edge both may carry flow; what counts is the
//! difference.
//!
//! Method: Dinic's. A breadth-first search numbers levels from the sources through edges that have
//! room; a depth-first search with an explicit stack sends flow along ascending levels until each
//! such path has a full edge; until no target is reached. One thread.
//!
//! Cost: O(n^2 m) at worst, far less on usual graphs, O(m sqrt(n)) where capacities are 1. Sums of
//! floating-point numbers: exact for whole capacities up to 2^53 in sum. *Memory*: 24 bytes per
//! edge and 30 per vertex.
//!
//! Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
//! estimation", Soviet Mathematics Doklady 1970.

use super::path::{NONE, Pace, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Sources and targets of the flow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Vertices that flow comes from, at least one, each in the graph.
    pub sources: Vec<u32>,
    /// Vertices that flow goes to, at least one, each in the graph, none of them a source.
    pub targets: Vec<u32>,
}

impl Default for Settings {
    /// From 0 to 1.
    fn default() -> Self {
        Self { sources: vec![0], targets: vec![1] }
    }
}

/// A maximum flow and a minimum cut.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// Sum of what reaches the targets.
    pub value: f64,
    /// Flow on each edge by its number ([`Csr::first_edge`]).
    pub flows: Vec<f64>,
    /// True for vertices on the side of the sources.
    pub source_side: Vec<bool>,
    /// Numbers of the edges out of that side, ascending. Their capacities add up to the value.
    pub cut: Vec<u64>,
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    24 * m + 46 * n + 8 * m
}

/// Returns a maximum flow along the edges of `graph`; `incoming` is its reverse.
pub fn max_flow(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Flow> {
    let n = graph.vertices() as usize;
    let (mut is_source, mut is_target) = (vec![false; n], vec![false; n]);
    for &v in &settings.sources {
        require_vertex(graph.vertices(), "a source", v)?;
        is_source[v as usize] = true;
    }
    for &v in &settings.targets {
        require_vertex(graph.vertices(), "a target", v)?;
        is_target[v as usize] = true;
        if is_source[v as usize] {
            return Err(Error::invalid(format!("vertex {v} is a source and a target")));
        }
    }
    if settings.sources.is_empty() || settings.targets.is_empty() {
        return Err(Error::invalid("a flow needs a source and a target at least"));
    }
    graph.require_weights("max flow", 0.0, control)?;
    control.check()?;
    let mut pace = Pace::new(control);
    let network = Network { graph, incoming, reverse: reverse(graph, incoming, &mut pace)? };
    let mut room: Vec<f64> = Vec::with_capacity(graph.edges() as usize);
    for u in 0..graph.vertices() {
        pace.spend(graph.of(u).len())?;
        room.extend(graph.weighted(u).map(|edge| edge.1));
    }
    let mut state = State {
        flows: vec![0.0; room.len()],
        room,
        levels: vec![NONE; n],
        next: vec![0; n],
        value: 0.0,
    };
    let sources: Vec<u32> = (0..graph.vertices()).filter(|&v| is_source[v as usize]).collect();
    let mut phases = 0;
    while state.number_levels(&network, &sources, &is_target, &mut pace)? {
        control.check()?;
        control.report(phases, n as u64);
        phases += 1;
        state.next.fill(0);
        for &source in &sources {
            state.fill_paths(&network, source, &is_target, &mut pace)?;
        }
    }
    let source_side: Vec<bool> = state.levels.iter().map(|&level| level != NONE).collect();
    let mut cut = Vec::new();
    for u in (0..graph.vertices()).filter(|&u| source_side[u as usize]) {
        pace.spend(graph.of(u).len())?;
        let edges = graph.of(u).iter().zip(graph.first_edge(u)..);
        cut.extend(edges.filter(|(v, _)| !source_side[**v as usize]).map(|edge| edge.1));
    }
    Ok(Flow { value: state.value, flows: state.flows, source_side, cut })
}

/// Numbers of the edges in the order of `incoming`. Both order parallel edges by weight.
fn reverse(graph: &Csr, incoming: &Csr, pace: &mut Pace<'_, '_>) -> Result<Vec<u64>> {
    let mut next: Vec<u64> = (0..graph.vertices()).map(|v| incoming.first_edge(v)).collect();
    let mut reverse = vec![0; graph.edges() as usize];
    for u in 0..graph.vertices() {
        pace.spend(graph.of(u).len())?;
        for (&v, edge) in graph.of(u).iter().zip(graph.first_edge(u)..) {
            reverse[next[v as usize] as usize] = edge;
            next[v as usize] += 1;
        }
    }
    Ok(reverse)
}

struct Network<'a> {
    graph: &'a Csr,
    incoming: &'a Csr,
    /// Number of each edge of `incoming` in `graph`.
    reverse: Vec<u64>,
}

/// A way to change the flow on an edge.
#[derive(Clone, Copy)]
struct Arc {
    to: u32,
    edge: u64,
    /// True if the edge leads the other way, and flow is taken back.
    back: bool,
}

impl Network<'_> {
    fn arcs(&self, v: u32) -> usize {
        self.graph.of(v).len() + self.incoming.of(v).len()
    }

    /// Out-edges come first, then in-edges.
    #[inline]
    fn arc(&self, v: u32, at: usize) -> Arc {
        let list = self.graph.of(v);
        if let Some(&to) = list.get(at) {
            return Arc { to, edge: self.graph.first_edge(v) + at as u64, back: false };
        }
        let at = at - list.len();
        let edge = self.reverse[self.incoming.first_edge(v) as usize + at];
        Arc { to: self.incoming.of(v)[at], edge, back: true }
    }
}

struct State {
    flows: Vec<f64>,
    /// Capacity left of each edge.
    room: Vec<f64>,
    /// Hops from the sources through arcs with room.
    levels: Vec<u32>,
    /// First arc of each vertex that may still lead to a target.
    next: Vec<u64>,
    value: f64,
}

impl State {
    fn room(&self, arc: Arc) -> f64 {
        if arc.back { self.flows[arc.edge as usize] } else { self.room[arc.edge as usize] }
    }

    fn send(&mut self, arc: Arc, amount: f64) {
        let edge = arc.edge as usize;
        let signed = if arc.back { -amount } else { amount };
        self.flows[edge] += signed;
        self.room[edge] -= signed;
    }

    /// Numbers levels; true if a target is reached.
    fn number_levels(
        &mut self,
        network: &Network<'_>,
        sources: &[u32],
        is_target: &[bool],
        pace: &mut Pace<'_, '_>,
    ) -> Result<bool> {
        self.levels.fill(NONE);
        sources.iter().for_each(|&v| self.levels[v as usize] = 0);
        let mut queue = sources.to_vec();
        let (mut at, mut found) = (0, NONE);
        while let Some(&v) = queue.get(at) {
            at += 1;
            let level = self.levels[v as usize];
            if level >= found {
                // Vertices as far as the nearest target lead to none on a shortest path.
                break;
            }
            pace.spend(network.arcs(v))?;
            for arc in (0..network.arcs(v)).map(|at| network.arc(v, at)) {
                if self.levels[arc.to as usize] == NONE && self.room(arc) > 0.0 {
                    self.levels[arc.to as usize] = level + 1;
                    queue.push(arc.to);
                    if is_target[arc.to as usize] {
                        found = level + 1;
                    }
                }
            }
        }
        Ok(found != NONE)
    }

    /// Sends flow from `source` along ascending levels until no such path is left.
    fn fill_paths(
        &mut self,
        network: &Network<'_>,
        source: u32,
        is_target: &[bool],
        pace: &mut Pace<'_, '_>,
    ) -> Result<()> {
        let mut path: Vec<(u32, Arc)> = Vec::new();
        let mut v = source;
        loop {
            if is_target[v as usize] {
                pace.spend(path.len())?;
                let amount =
                    path.iter().map(|step| self.room(step.1)).fold(f64::INFINITY, f64::min);
                path.iter().for_each(|step| self.send(step.1, amount));
                self.value += amount;
                // Goes on from the first edge that is full.
                let full = path.iter().position(|step| self.room(step.1) <= 0.0).unwrap_or(0);
                v = path[full].0;
                path.truncate(full);
                continue;
            }
            let count = network.arcs(v);
            let level = self.levels[v as usize];
            let mut at = self.next[v as usize] as usize;
            let first = at;
            let mut open = None;
            while at < count {
                let arc = network.arc(v, at);
                if self.room(arc) > 0.0 && self.levels[arc.to as usize] == level + 1 {
                    open = Some(arc);
                    break;
                }
                at += 1;
            }
            pace.spend(at - first)?;
            self.next[v as usize] = at as u64;
            if let Some(arc) = open {
                path.push((v, arc));
                v = arc.to;
            } else if let Some((before, _)) = path.pop() {
                self.next[before as usize] += 1;
                v = before;
            } else {
                return Ok(());
            }
        }
    }
}

/// The least capacity of all cuts.
#[cfg(test)]
fn verify(graph: &Csr, settings: &Settings) -> f64 {
    let side = |set: u32, v: u32| set >> v & 1 == 1;
    let separates = |set: &u32| {
        settings.sources.iter().all(|&v| side(*set, v))
            && settings.targets.iter().all(|&v| !side(*set, v))
    };
    let capacity = |set: u32| {
        let crossing = graph.all_edges().filter(|(u, v, _)| side(set, *u) && !side(set, *v));
        crossing.map(|edge| edge.2).sum::<f64>()
    };
    (0..1 << graph.vertices()).filter(separates).map(capacity).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// Flow fits capacities, is kept at every other vertex, and crosses the cut in full.
    fn check(graph: &Csr, settings: &Settings, flow: &Flow) {
        let mut balance = vec![0.0; graph.vertices() as usize];
        for ((u, v, capacity), amount) in graph.all_edges().zip(&flow.flows) {
            assert!((0.0..=capacity).contains(amount));
            balance[u as usize] -= amount;
            balance[v as usize] += amount;
        }
        let sum = |vertices: &[u32]| {
            let mut vertices = vertices.to_vec();
            vertices.sort_unstable();
            vertices.dedup();
            vertices.iter().map(|&v| balance[v as usize]).sum::<f64>()
        };
        assert_eq!(sum(&settings.targets), flow.value);
        assert_eq!(sum(&settings.sources), -flow.value);
        for v in 0..graph.vertices() {
            let inner = !settings.sources.contains(&v) && !settings.targets.contains(&v);
            assert!(!inner || balance[v as usize] == 0.0);
            assert!(!settings.sources.contains(&v) || flow.source_side[v as usize]);
            assert!(!settings.targets.contains(&v) || !flow.source_side[v as usize]);
        }
        let capacities: Vec<f64> = graph.all_edges().map(|edge| edge.2).collect();
        let cut: f64 = flow.cut.iter().map(|&edge| capacities[edge as usize]).sum();
        assert_eq!(cut, flow.value);
    }

    #[test]
    fn flows_on_random_graphs_equal_the_least_cut() {
        let mut positive = 0;
        for seed in 0..400 {
            let mut random = Random::new(seed, 8);
            let n = 2 + random.below(7);
            let edges = crate::testing::random_edges(seed, n, (n * random.below(6)) as usize);
            let edges: Vec<_> =
                edges.iter().map(|&(u, v)| (u, v, f64::from(random.below(12)) / 4.0)).collect();
            let graph = Csr::from_weighted(n, &edges);
            let graph = if seed % 4 == 0 { graph.undirected() } else { graph };
            let sources = (0..1 + random.below(2)).map(|_| random.below(n / 2)).collect();
            let targets =
                (0..1 + random.below(2)).map(|_| n / 2 + random.below(n - n / 2)).collect();
            let settings = Settings { sources, targets };
            let incoming = graph.reversed();
            let flow = max_flow(&graph, &incoming, &settings, &Control::default()).unwrap();
            check(&graph, &settings, &flow);
            assert_eq!(flow.value, verify(&graph, &settings), "seed {seed}");
            positive += u32::from(flow.value > 0.0);
        }
        assert!(positive > 150, "{positive}");
    }

    #[test]
    fn long_chain_and_wide_graph_need_no_recursion() {
        let edges: Vec<_> = (0..100_000).map(|v| (v, v + 1)).collect();
        let graph = Csr::from_edges(100_001, &edges);
        let settings = Settings { sources: vec![0], targets: vec![100_000] };
        let flow = max_flow(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
        assert_eq!(flow.value, 1.0);
        let edges = crate::testing::random_edges(2, 3000, 20_000);
        let graph = Csr::from_edges(3000, &edges);
        let settings = Settings { sources: vec![0, 1, 2], targets: vec![2000, 2500] };
        let flow = max_flow(&graph, &graph.reversed(), &settings, &Control::default()).unwrap();
        check(&graph, &settings, &flow);
        assert!(flow.value > 1.0);
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(3, &[(0, 1)]);
        let run = |graph: &Csr, sources: &[u32], targets: &[u32]| {
            let settings = Settings { sources: sources.into(), targets: targets.into() };
            max_flow(graph, &graph.reversed(), &settings, &Control::default())
        };
        let bad: [(&[u32], &[u32]); 5] =
            [(&[3], &[1]), (&[0], &[3]), (&[0], &[0]), (&[], &[1]), (&[0], &[])];
        for (sources, targets) in bad {
            assert!(matches!(run(&graph, sources, targets), Err(Error::Invalid(_))));
        }
        for weight in [-1.0, f64::NAN, f64::INFINITY] {
            let graph = Csr::from_weighted(2, &[(0, 1, weight)]);
            assert!(matches!(run(&graph, &[0], &[1]), Err(Error::Invalid(_))));
        }
        let empty = Csr::from_edges(0, &[]);
        assert!(matches!(run(&empty, &[0], &[1]), Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        let found = max_flow(&graph, &graph.reversed(), &Settings::default(), &stopped);
        assert_eq!(found, Err(Error::Stopped));
    }
}
