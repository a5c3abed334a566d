//! Simple cycles, with conditions on times and amounts of their edges: money that comes back.
//!
//! Result: every cycle that meets no vertex twice and the conditions, exactly once, as vertices and
//! edge numbers. Edges are told apart by number, so parallel edges make cycles of their own, and a
//! loop is a cycle of length 1. In a graph with both directions of each edge, an edge there and
//! back is a cycle of length 2, and every longer cycle comes once in each direction.
//!
//! Conditions compare each edge with the one before it: later in time, an amount of similar size.
//! They need not hold from the last edge to the first. A cycle is closed, so it may begin anywhere:
//! it counts if the conditions hold from some first edge on. It is reported from that edge on,
//! which with times in order is the earliest; from its smallest vertex if any edge could be first.
//!
//! ```text
//!   root ──e1──► a ──e2──► b ──e3──► root      pairs (e1,e2) (e2,e3) (e3,e1):
//!                                              at most one may break the conditions
//! ```
//!
//! Method: depth first from each root, over vertices that were not roots before, at most one broken
//! pair and within the window. Vertices half the length or less from the root are found backward
//! first, which cuts the second half of the search short. With times, each list is sorted by them,
//! so that only edges in the window are read. Roots run in parallel; results are joined by root, so
//! they, and the ones that a limit keeps, do not depend on threads.
//!
//! Cost: exponential in the length at worst: per root d^(l/2) for mean degree d and length l, and
//! the cycles. *Memory*: 2 bytes per vertex and thread, 4 per edge with times, and for each edge of
//! the result 12; before a limit is applied each thread may hold as many cycles.
//!
//! Source: Johnson, "Finding all the elementary circuits of a directed graph", SIAM Journal on
//! Computing 1975 (for the problem); Kumar and Calders, "2SCENT: an efficient algorithm to
//! enumerate all simple temporal cycles", VLDB 2018; Qiu et al., "Real-time constrained cycle
//! detection in large dynamic graphs", VLDB 2018 (for pruning by distance).

mod search;

use std::ops::RangeInclusive;
use std::sync::atomic::AtomicU64;

use rayon::prelude::*;

use self::search::{Scratch, Search, Sink};
use super::path::{Pool, fill_lists, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Roots per task.
const GRAIN: usize = 32;

/// Tasks between two looks at the limit, per thread.
const TASKS_PER_THREAD: usize = 64;

/// Order of times along a cycle from its first edge on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeOrder {
    /// Anyhow.
    #[default]
    Any,
    /// Each edge is later than the one before.
    Ascending,
    /// Each edge is later than the one before, or at the same time.
    NotDescending,
}

/// Conditions on cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings<'a> {
    /// Fewest edges, at least 1.
    pub min_length: u32,
    /// Most edges, at least `min_length`.
    pub max_length: u32,
    /// Cycles pass through one of these at least. Each must be in the graph. `None` takes all.
    pub starts: Option<Vec<u32>>,
    /// Time of each edge by its number ([`Csr::first_edge`]), finite, in any unit.
    pub times: Option<&'a [f64]>,
    /// Order of times along the cycle; needs times unless `Any`.
    pub order: TimeOrder,
    /// Most time between the earliest and the latest edge, in the unit of times, at least 0; needs
    /// times.
    pub window: Option<f64>,
    /// Amount of each edge by its number, finite and at least 0.
    pub amounts: Option<&'a [f64]>,
    /// Least and most share of the amount before that an edge has, such as `0.8..=1.0`; needs
    /// amounts.
    pub amount_ratio: Option<RangeInclusive<f64>>,
    /// Most cycles.
    pub limit: u64,
}

impl Default for Settings<'_> {
    /// Lengths 2 to 6, through any vertex, no conditions, at most a million cycles.
    fn default() -> Self {
        Self {
            min_length: 2,
            max_length: 6,
            starts: None,
            times: None,
            order: TimeOrder::Any,
            window: None,
            amounts: None,
            amount_ratio: None,
            limit: 1_000_000,
        }
    }
}

/// Cycles, one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cycles {
    /// Ends of the cycles in the two lists.
    ends: Vec<u64>,
    vertices: Vec<u32>,
    edges: Vec<u64>,
    /// True if there may be more than the limit allowed.
    pub limited: bool,
}

/// One cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cycle<'a> {
    /// Source of each edge.
    pub vertices: &'a [u32],
    /// Numbers of the edges in the order of the graph; the last leads to the first vertex.
    pub edges: &'a [u64],
}

impl Cycles {
    /// Number of cycles.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True if there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cycle of this number, which is below [`len`](Self::len).
    #[must_use]
    pub fn get(&self, number: usize) -> Cycle<'_> {
        let first = number.checked_sub(1).map_or(0, |before| self.ends[before]) as usize;
        let range = first..self.ends[number] as usize;
        Cycle { vertices: &self.vertices[range.clone()], edges: &self.edges[range] }
    }

    /// Bytes that they take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        8 * (self.ends.capacity() + self.edges.capacity()) + 4 * self.vertices.capacity()
    }

    /// All cycles in their order.
    pub fn iter(&self) -> impl Iterator<Item = Cycle<'_>> {
        (0..self.len()).map(|number| self.get(number))
    }

    fn push(
        &mut self,
        length: usize,
        vertices: impl Iterator<Item = u32>,
        edges: impl Iterator<Item = u64>,
        most: Most,
    ) {
        grow(&mut self.vertices, length, most.edges);
        grow(&mut self.edges, length, most.edges);
        grow(&mut self.ends, 1, most.cycles);
        self.vertices.extend(vertices);
        self.edges.extend(edges);
        self.ends.push(self.edges.len() as u64);
    }

    /// Leaves the first `count` cycles.
    fn truncate(&mut self, count: usize) {
        if count < self.len() {
            self.ends.truncate(count);
            let end = self.ends.last().map_or(0, |end| *end as usize);
            self.vertices.truncate(end);
            self.edges.truncate(end);
            self.limited = true;
        }
    }

    /// Adds cycles of `more` until there are as many as the limit allows.
    fn append(&mut self, mut more: Self, most: Most) {
        more.truncate(most.limit.saturating_sub(self.ends.len()));
        if self.is_empty() {
            // Not copied, as they can be many.
            more.limited |= self.limited;
            *self = more;
            return;
        }
        for cycle in more.iter() {
            let (vertices, edges) = (cycle.vertices.iter().copied(), cycle.edges.iter().copied());
            self.push(cycle.edges.len(), vertices, edges, most);
        }
        self.limited |= more.limited;
    }
}

/// Sizes that lists of cycles never exceed.
#[derive(Debug, Clone, Copy)]
struct Most {
    limit: usize,
    /// One more than the limit: that there are more is known when one is found.
    cycles: usize,
    /// Edges of all of them.
    edges: usize,
}

impl Settings<'_> {
    /// The length of the longest cycle in a graph of so many vertices.
    fn longest(&self, n: u64) -> u64 {
        u64::from(self.max_length).min(n)
    }

    fn most(&self, n: u64) -> Most {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let limit = size(self.limit);
        let cycles = limit.saturating_add(1);
        Most { limit, cycles, edges: cycles.saturating_mul(size(self.longest(n))) }
    }
}

/// Makes room for `more` elements: twice as much as there was, but for no more than `most`. A list
/// that has reached its limit was copied from one that had not: both together take less than twice
/// what the limit allows.
fn grow<T>(list: &mut Vec<T>, more: usize, most: usize) {
    if list.capacity() - list.len() < more {
        let wanted = list.capacity().saturating_mul(2).min(most).max(list.len() + more);
        list.reserve_exact(wanted - list.len());
    }
}

/// Upper estimate of memory beyond the graph, in bytes, on this number of threads, if there are as
/// many cycles as the limit allows: each thread may find as many, and have two lists while one
/// grows; what all have found is there while the result grows.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings<'_>, threads: usize) -> u64 {
    let order = if settings.times.is_some() { 4 * m } else { 0 };
    let result = settings.limit.saturating_mul(8 + 12 * settings.longest(n));
    let threads = threads as u64;
    let lists = (2 * threads).max(threads + 2);
    (n * (1 + 10 * threads) + order).saturating_add(result.saturating_mul(lists))
}

impl Settings<'_> {
    fn check(&self, graph: &Csr) -> Result<()> {
        let wrong = |text: String| Err(Error::invalid(text));
        if self.min_length == 0 || self.min_length > self.max_length {
            return wrong(format!(
                "min_length is {} and max_length is {}, and must be 1 <= min_length <= max_length",
                self.min_length, self.max_length
            ));
        }
        for &v in self.starts.iter().flatten() {
            require_vertex(graph.vertices(), "a start", v)?;
        }
        let (times, amounts) = (("times", self.times), ("amounts", self.amounts));
        for (name, values) in [times, amounts] {
            let Some(values) = values else { continue };
            if values.len() as u64 != graph.edges() {
                return wrong(format!(
                    "there are {} {name}, and there must be one for each of {} edges",
                    values.len(),
                    graph.edges()
                ));
            }
            let least = if name == "times" { f64::NEG_INFINITY } else { 0.0 };
            if let Some(value) = values.iter().find(|v| !v.is_finite() || **v < least) {
                return wrong(format!(
                    "{name} contain {value}, and must be finite numbers; amounts of at least 0"
                ));
            }
        }
        if self.times.is_none() && (self.order != TimeOrder::Any || self.window.is_some()) {
            return wrong("an order of times or a window needs times".into());
        }
        if let Some(window) = self.window.filter(|window| window.is_nan() || *window < 0.0) {
            return wrong(format!("window is {window}, and must be at least 0"));
        }
        if let Some(ratio) = &self.amount_ratio {
            if self.amounts.is_none() {
                return wrong("an amount ratio needs amounts".into());
            }
            if !(0.0 <= *ratio.start() && ratio.start() <= ratio.end()) {
                return wrong(format!(
                    "amount_ratio is {ratio:?}, and 0 <= least <= most must hold"
                ));
            }
        }
        Ok(())
    }
}

/// Returns cycles along the edges of `graph`; `incoming` is its reverse.
pub fn cycles(
    graph: &Csr,
    incoming: &Csr,
    settings: &Settings<'_>,
    control: &Control<'_>,
) -> Result<Cycles> {
    settings.check(graph)?;
    control.check()?;
    let n = graph.vertices() as usize;
    let roots = settings.starts.as_ref().map(|starts| {
        let mut roots = starts.clone();
        roots.sort_unstable();
        roots.dedup();
        roots
    });
    let is_root = roots.as_ref().map(|roots| {
        let mut is_root = vec![false; n];
        roots.iter().for_each(|&v| is_root[v as usize] = true);
        is_root
    });
    let by_time = match settings.times {
        Some(times) => sort_by_time(graph, times, control)?,
        None => Vec::new(),
    };
    let search = Search { graph, incoming, settings, by_time, is_root, control };
    let count = roots.as_ref().map_or(n, Vec::len);
    let root = |at: usize| roots.as_ref().map_or(at as u32, |roots| roots[at]);
    let pool = Pool::new();
    let mut result = Cycles::default();
    let most = settings.most(graph.vertices().into());
    let batch = GRAIN * TASKS_PER_THREAD * control.threads();
    for first in (0..count).step_by(batch) {
        let limit = settings.limit - result.len() as u64;
        let tasks = (count - first).min(batch).div_ceil(GRAIN);
        let counts: Vec<AtomicU64> = (0..tasks).map(|_| AtomicU64::new(0)).collect();
        let run = |task: usize| {
            let begin = first + task * GRAIN;
            let mut sink = Sink { task, counts: &counts, limit, most, found: Cycles::default() };
            pool.with(
                || Scratch::new(n),
                |scratch| {
                    for at in begin..(begin + GRAIN).min(count) {
                        control.check()?;
                        search.from(root(at), scratch, &mut sink)?;
                    }
                    Ok(sink.found)
                },
            )
        };
        let found: Result<Vec<Cycles>> =
            control.install(|| (0..tasks).into_par_iter().map(run).collect());
        found?.into_iter().for_each(|more| result.append(more, most));
        control.report((first + batch).min(count) as u64, count as u64);
        if result.limited {
            break;
        }
    }
    Ok(result)
}

/// Places in each vertex's list by time, list after list.
fn sort_by_time(graph: &Csr, times: &[f64], control: &Control<'_>) -> Result<Vec<u32>> {
    let mut order = vec![0; times.len()];
    fill_lists(graph, &mut order, control, |v, list| {
        list.iter_mut().zip(0..).for_each(|(place, number)| *place = number);
        let first = graph.first_edge(v) as usize;
        let time = |place: u32| times[first + place as usize];
        list.sort_unstable_by(|&a, &b| time(a).total_cmp(&time(b)).then(a.cmp(&b)));
    })?;
    Ok(order)
}

#[cfg(test)]
mod tests;
