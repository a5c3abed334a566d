//! Parallel steps over vertices that check often, sums whose last bit does not depend on the number
//! of threads, and checks of settings.

use std::borrow::Cow;

use rayon::prelude::*;

use crate::control::{Control, Error, Result};
use crate::csr::{Csr, Piece};

/// Units of work, mostly edges, between two checks of one thread.
const WORK_PER_CHECK: usize = 1 << 15;

/// Values that one parallel task makes.
pub(crate) const GRAIN: usize = 1024;

/// Counts the work of one thread and asks the control now and then.
pub(crate) struct Meter<'a> {
    control: &'a Control<'a>,
    left: usize,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(control: &'a Control<'a>) -> Self {
        Self { control, left: WORK_PER_CHECK }
    }

    /// Adds `work` and fails once the kernel is to end.
    #[inline]
    pub(crate) fn add(&mut self, work: usize) -> Result<()> {
        if work < self.left {
            self.left -= work;
            return Ok(());
        }
        self.left = WORK_PER_CHECK;
        self.control.check()
    }
}

/// Calls `fill(first, chunk, meter)` with pieces of `values` on all threads.
pub(crate) fn fill<T: Send>(
    control: &Control<'_>,
    values: &mut [T],
    fill: impl Fn(usize, &mut [T], &mut Meter<'_>) -> Result<()> + Sync,
) -> Result<()> {
    control.install(|| {
        values.par_chunks_mut(GRAIN).enumerate().try_for_each(|(task, chunk)| {
            control.check()?;
            fill(task * GRAIN, chunk, &mut Meter::new(control))
        })
    })
}

/// Sum of `value(0..n)`, added in an order that does not depend on the number of threads.
pub(crate) fn sum(
    control: &Control<'_>,
    n: usize,
    value: impl Fn(usize) -> f64 + Sync,
) -> Result<f64> {
    let mut parts = vec![0.0; n.div_ceil(GRAIN)];
    control.fill(&mut parts, 16, |first, parts| {
        for (task, part) in (first..).zip(parts) {
            *part = (task * GRAIN..n.min((task + 1) * GRAIN)).map(&value).sum();
        }
    })?;
    Ok(parts.iter().sum())
}

/// Fails unless `incoming` has the vertices of `graph`.
pub(crate) fn require_reverse(graph: &Csr, incoming: &Csr) -> Result<()> {
    if graph.vertices() == incoming.vertices() && graph.edges() == incoming.edges() {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the incoming lists have {} vertices and {} edges; the graph has {} and {}",
        incoming.vertices(),
        incoming.edges(),
        graph.vertices(),
        graph.edges()
    )))
}

/// Fails unless every edge stands in the lists of both ends, with the same weight if `weights`
/// matter; `kernel` is named in the error. *Cost*: one pass over the edges, 4 bytes per vertex.
pub(crate) fn require_undirected(
    kernel: &str,
    graph: &Csr,
    weights: bool,
    control: &Control<'_>,
) -> Result<()> {
    let refuse = |u: u32, v: u32| {
        Err(Error::invalid(format!(
            "{kernel} takes undirected graphs, and the edge between {u} and {v} does not stand in \
             both lists alike"
        )))
    };
    let mut meter = Meter::new(control);
    // Smaller ends come in ascending order, as they stand in the list of a larger end.
    let mut next = vec![0u32; graph.vertices() as usize];
    for u in 0..graph.vertices() {
        let list = graph.of(u);
        meter.add(1 + list.len())?;
        if let Some(&v) = list.get(next[u as usize] as usize).filter(|&&v| v < u) {
            return refuse(u, v);
        }
        for at in list.partition_point(|&v| v <= u)..list.len() {
            let v = list[at];
            let back = next[v as usize] as usize;
            next[v as usize] += 1;
            let alike = || match (graph.weights_of(u), graph.weights_of(v)) {
                (Some(there), Some(back_weights)) => there[at] == back_weights[back],
                _ => true,
            };
            if graph.of(v).get(back) != Some(&u) || (weights && !alike()) {
                return refuse(u, v);
            }
        }
    }
    Ok(())
}

/// Fails unless `value` is a number in `least..=most`.
pub(crate) fn require_between(name: &str, value: f64, least: f64, most: f64) -> Result<()> {
    if value >= least && value <= most {
        return Ok(());
    }
    Err(Error::invalid(format!("{name} is {value}; it must be from {least} to {most}")))
}

/// Fails unless `value` is finite and at least 0.
pub(crate) fn require_tolerance(value: f64) -> Result<()> {
    require_between("tolerance", value, 0.0, f64::MAX)
}

/// The graph without loops and parallel edges: itself where it has none, else a copy without
/// weights. *Memory*: up to 12 bytes per vertex and per edge while the copy is made.
pub(crate) fn simple<'a>(graph: &'a Csr, control: &Control<'_>) -> Result<Cow<'a, Csr>> {
    let mut meter = Meter::new(control);
    for v in 0..graph.vertices() {
        let list = graph.of(v);
        meter.add(list.len() + 1)?;
        if list.windows(2).any(|pair| pair[0] == pair[1]) || list.binary_search(&v).is_ok() {
            return Ok(Cow::Owned(simple_copy(graph, &mut meter)?));
        }
    }
    Ok(Cow::Borrowed(graph))
}

fn simple_copy(graph: &Csr, meter: &mut Meter<'_>) -> Result<Csr> {
    let mut piece = Piece::new();
    let mut list = Vec::new();
    for v in 0..graph.vertices() {
        meter.add(graph.of(v).len() + 1)?;
        list.clear();
        list.extend(graph.of(v).iter().filter(|&&u| u != v));
        list.dedup();
        piece.push(&list, &[]);
    }
    Ok(Csr::join(vec![piece]))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{assert_refuses, samples, weigh};
    use super::*;

    #[test]
    fn undirected_graph_is_refused_once_an_edge_lacks_its_twin() {
        let control = Control::default();
        for (n, edges) in samples(60, 30) {
            let graph = Csr::from_weighted(n, &weigh(&edges)).undirected();
            require_undirected("x", &graph, true, &control).unwrap();
            let all: Vec<_> = graph.all_edges().collect();
            for at in (0..all.len()).filter(|&at| all[at].0 != all[at].1) {
                let mut changed = all.clone();
                changed[at].2 += 0.125;
                let other = Csr::from_weighted(n, &changed);
                assert_refuses(require_undirected("x", &other, true, &control), "undirected");
                require_undirected("x", &other, false, &control).unwrap();
                changed.remove(at);
                let other = Csr::from_weighted(n, &changed);
                assert_refuses(require_undirected("x", &other, false, &control), "undirected");
            }
        }
    }

    #[test]
    fn simple_graph_is_borrowed_and_others_lose_loops_and_parallel_edges() {
        let control = Control::default();
        for (n, edges) in samples(60, 30) {
            let graph = Csr::from_edges(n, &edges);
            let expected = graph.simple(f64::max);
            let found = simple(&graph, &control).unwrap();
            assert_eq!(*found, expected);
            assert_eq!(matches!(found, Cow::Borrowed(_)), graph == expected);
        }
    }
}
