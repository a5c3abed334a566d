//! Parallel steps over vertices that check often, sums whose last bit does not depend on the number
//! of threads, and checks of settings.

use std::borrow::Cow;
use std::cmp::Ordering::{Equal, Greater, Less};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

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

/// Results of `work` for `0..n` cut into ranges of `grain`, in the order of ranges, on all threads.
pub(crate) fn map_ranges<T: Send>(
    control: &Control<'_>,
    n: u32,
    grain: u32,
    work: impl Fn(Range<u32>) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    control.install(|| {
        let range = |task: u32| {
            control.check()?;
            let first = task * grain;
            work(first..first.saturating_add(grain).min(n))
        };
        (0..n.div_ceil(grain)).into_par_iter().map(range).collect()
    })
}

/// Sum of `value(v)` over the vertices of `graph`, each of which reads the list of `v`, added in an
/// order that does not depend on the number of threads.
pub(crate) fn sum_of_lists(
    control: &Control<'_>,
    graph: &Csr,
    value: impl Fn(u32) -> f64 + Sync,
) -> Result<f64> {
    let parts = map_ranges(control, graph.vertices(), 256, |range| {
        let mut meter = Meter::new(control);
        let mut sum = 0.0;
        for v in range {
            meter.add(1 + graph.of(v).len())?;
            sum += value(v);
        }
        Ok(sum)
    })?;
    Ok(parts.into_iter().sum())
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
/// matter; `kernel` is named in the error. *Cost*: one pass over the edges, on all threads.
///
/// Sums of hashes of the edges in the lists of their smaller and of their larger ends are compared:
/// where a twin is missing they are equal with a probability of 2^-64. Only if they differ are the
/// lists searched for the edge, which takes 4 bytes per vertex.
pub(crate) fn require_undirected(
    kernel: &str,
    graph: &Csr,
    weights: bool,
    control: &Control<'_>,
) -> Result<()> {
    let sum = AtomicU64::new(0);
    control.for_ranges(graph.vertices(), GRAIN as u32, |range| {
        let mut meter = Meter::new(control);
        let mut part = 0u64;
        for u in range {
            meter.add(1 + graph.of(u).len())?;
            let weights = graph.weights_of(u).filter(|_| weights);
            for (at, &v) in graph.of(u).iter().enumerate() {
                let weight = weights.map_or(0, |weights| weights[at].to_bits());
                let hash = edge_hash(u.min(v), u.max(v), weight);
                part = match u.cmp(&v) {
                    Less => part.wrapping_add(hash),
                    Equal => part,
                    Greater => part.wrapping_sub(hash),
                };
            }
        }
        sum.fetch_add(part, Relaxed);
        Ok(())
    })?;
    if sum.into_inner() == 0 {
        return Ok(());
    }
    match edge_without_twin(graph, weights, control)? {
        None => Ok(()),
        Some((u, v)) => Err(Error::invalid(format!(
            "{kernel} takes undirected graphs, and the edge between {u} and {v} does not stand in \
             both lists alike"
        ))),
    }
}

/// Mixes the ends of an edge and the bits of its weight (the finaliser of SplitMix64).
#[inline]
fn edge_hash(u: u32, v: u32, weight: u64) -> u64 {
    let z = ((u64::from(u) << 32) | u64::from(v)) ^ weight.wrapping_mul(0xd134_2543_de82_ef95);
    let z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The first edge that does not stand in the lists of both ends alike.
fn edge_without_twin(
    graph: &Csr,
    weights: bool,
    control: &Control<'_>,
) -> Result<Option<(u32, u32)>> {
    let mut meter = Meter::new(control);
    // Smaller ends come in ascending order, as they stand in the list of a larger end.
    let mut next = vec![0u32; graph.vertices() as usize];
    for u in 0..graph.vertices() {
        let list = graph.of(u);
        meter.add(1 + list.len())?;
        if let Some(&v) = list.get(next[u as usize] as usize).filter(|&&v| v < u) {
            return Ok(Some((u, v)));
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
                return Ok(Some((u, v)));
            }
        }
    }
    Ok(None)
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
/// weights, made on all threads. *Memory*: up to 12 bytes per vertex and 8 per edge while the copy
/// is made.
pub(crate) fn simple<'a>(graph: &'a Csr, control: &Control<'_>) -> Result<Cow<'a, Csr>> {
    let is_simple = AtomicBool::new(true);
    control.for_ranges(graph.vertices(), GRAIN as u32, |range| {
        let mut meter = Meter::new(control);
        for v in range {
            let list = graph.of(v);
            meter.add(list.len() + 1)?;
            if list.windows(2).any(|pair| pair[0] == pair[1]) || list.binary_search(&v).is_ok() {
                is_simple.store(false, Relaxed);
            }
            if !is_simple.load(Relaxed) {
                break;
            }
        }
        Ok(())
    })?;
    if is_simple.into_inner() {
        return Ok(Cow::Borrowed(graph));
    }
    let copy = |range: Range<u32>| {
        let mut meter = Meter::new(control);
        let mut piece = Piece::new();
        for v in range {
            let list = graph.of(v);
            meter.add(list.len() + 1)?;
            let firsts = list.chunk_by(|a, b| a == b).map(|same| same[0]);
            piece.extend(firsts.filter(|&u| u != v));
            piece.end_list();
        }
        Ok(piece)
    };
    Ok(Cow::Owned(Csr::join(map_ranges(control, graph.vertices(), GRAIN as u32, copy)?)))
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
