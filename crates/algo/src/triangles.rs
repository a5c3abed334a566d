//! Triangle count: the number of vertex triples of which each two are neighbours.
//!
//! Result: each triangle `a < b < c` counted once.
//!
//! Method: for each vertex `a`, its neighbours above it are marked in a bitmap, and the marks among
//! the neighbours above `b` of each such `b` are counted. A list that is much longer than what is
//! left of `a`'s is searched by galloping instead. The adjacency must be undirected and simple: no
//! loops, no parallel edges, and each edge either at both ends or at its smaller end only (`out` of
//! a store whose edges were loaded as `(min, max)`); entries at or below the vertex do not count.
//!
//! Cost: O(m^1.5) look-ups. Lists are read in place and in any order, but for that of `a` and for
//! long ones: where these are not sorted, they are copied. *Memory*: a bit per vertex and thread.
//!
//! Source: Schank and Wagner, "Finding, counting and listing all triangles in large graphs", 2005
//! (edge-iterator, forward); galloping after Bentley and Yao, 1976.

use rayon::prelude::*;
use telar_graph::topology::Topology;

use crate::control::{Control, Result};

/// Length ratio from which galloping through the longer list beats a look at each of its entries.
const GALLOP_RATIO: usize = 16;

/// Roots of one parallel task: few, as the work of a root grows with the square of its degree.
const GRAIN: u32 = 64;

/// Neighbours between two questions whether to stop, about.
const PACE: usize = 1 << 16;

/// Vertices whose lists are read in one call: what a call costs in storage is paid once for all.
const BATCH: usize = 64;

/// Returns the number of triangles of `adjacency`.
pub fn triangles<T: Topology>(adjacency: &T) -> u64 {
    triangles_from(adjacency, 0..adjacency.vertex_bound())
}

/// As [`triangles`], on the threads of `control`.
///
/// # Errors
/// [`Error::Stopped`](crate::control::Error::Stopped).
pub fn triangles_parallel<T: Topology>(adjacency: &T, control: &Control<'_>) -> Result<u64> {
    let bound = adjacency.vertex_bound();
    let count = |counter: &mut Counter, task: u32| {
        control.check()?;
        let first = task * GRAIN;
        let roots = first..first.saturating_add(GRAIN).min(bound);
        counter.count(adjacency, roots, || control.check())
    };
    control.install(|| {
        let tasks = (0..bound.div_ceil(GRAIN)).into_par_iter();
        tasks.map_init(Counter::default, count).try_reduce(|| 0, |a, b| Ok(a + b))
    })
}

/// Returns the number of triangles whose smallest vertex is among `roots`: a sample of the work
/// where the whole would take too long.
pub fn triangles_from<T: Topology>(adjacency: &T, roots: impl IntoIterator<Item = u32>) -> u64 {
    // Nothing stops it.
    let found = Counter::default().count(adjacency, roots, || Ok(()));
    found.unwrap_or_else(|error| unreachable!("a kernel that nothing stops: {error}"))
}

/// Marks and buffers of one thread.
#[derive(Default)]
struct Counter {
    /// A bit for each vertex, set for the neighbours above the root at work.
    marks: Vec<u64>,
    /// Neighbours of the root whose lists are read one after the other.
    short: Vec<u32>,
    list_a: Vec<u32>,
    list_b: Vec<u32>,
}

fn word_and_bit(v: u32) -> (usize, u64) {
    (v as usize / 64, 1 << (v % 64))
}

impl Counter {
    /// Counts the triangles of some smallest vertices; `check` is asked now and then.
    fn count<T: Topology>(
        &mut self,
        adjacency: &T,
        roots: impl IntoIterator<Item = u32>,
        check: impl Fn() -> Result<()>,
    ) -> Result<u64> {
        let bound = adjacency.vertex_bound();
        let (mut count, mut read) = (0, 0);
        let mut pace = |entries: usize| {
            read += entries;
            if read < PACE {
                return Ok(());
            }
            read = 0;
            check()
        };
        for a in roots.into_iter().filter(|&a| a < bound) {
            let above_a = above(adjacency.sorted(a, &mut self.list_a), a);
            let [firsts @ .., last] = above_a else { continue };
            let words = word_and_bit(*last).0 + 1;
            if self.marks.len() < words {
                self.marks.resize(words, 0);
            }
            for &u in above_a {
                let (word, bit) = word_and_bit(u);
                self.marks[word] |= bit;
            }
            self.short.clear();
            for (place, &b) in (1..).zip(firsts).filter(|(_, b)| **b < bound) {
                let left = &above_a[place..];
                if adjacency.degree(b) as usize / GALLOP_RATIO <= left.len() {
                    self.short.push(b);
                    continue;
                }
                pace(left.len())?;
                let above_b = above(adjacency.sorted(b, &mut self.list_b), b);
                count += common(left, above_b);
            }
            let marks = &self.marks;
            let is_marked = |u: u32| {
                let (word, bit) = word_and_bit(u);
                marks.get(word).is_some_and(|marks| marks & bit != 0)
            };
            for vertices in self.short.chunks(BATCH) {
                pace(vertices.iter().map(|&b| adjacency.degree(b) as usize).sum())?;
                adjacency.visit(vertices, |b, run| {
                    count += run.iter().map(|&u| u64::from(u > b && is_marked(u))).sum::<u64>();
                });
            }
            for &u in above_a {
                self.marks[word_and_bit(u).0] = 0;
            }
        }
        Ok(count)
    }
}

/// Returns the part of `sorted` greater than `v`.
fn above(sorted: &[u32], v: u32) -> &[u32] {
    &sorted[sorted.partition_point(|&u| u <= v)..]
}

/// Returns how many numbers two ascending lists share.
fn common(a: &[u32], b: &[u32]) -> u64 {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if long.len() / GALLOP_RATIO > short.len() { gallop(short, long) } else { merge(short, long) }
}

/// Counts by stepping through both lists at once, without a branch on the comparison.
fn merge(a: &[u32], b: &[u32]) -> u64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        count += u64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

/// Counts by searching each number of `short` in what is left of `long`, in doubling steps.
fn gallop(short: &[u32], mut long: &[u32]) -> u64 {
    let mut count = 0;
    for &x in short {
        let mut step = 1;
        while step < long.len() && long[step] < x {
            step *= 2;
        }
        let window = &long[..long.len().min(step + 1)];
        let found = window.partition_point(|&y| y < x);
        count += u64::from(window.get(found) == Some(&x));
        long = &long[found..];
    }
    count
}

/// Tries all triples.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)]) -> u64 {
    let edges: std::collections::HashSet<_> = edges.iter().copied().collect();
    let linked = |a, b| edges.contains(&(a, b)) || edges.contains(&(b, a));
    let mut count = 0;
    for a in 0..n {
        for b in (a + 1..n).filter(|&b| linked(a, b)) {
            count += (b + 1..n).filter(|&c| linked(a, c) && linked(b, c)).count() as u64;
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Lists, random_edges, simple_undirected};

    #[test]
    fn triangles_of_random_graphs_equal_all_triples() {
        for seed in 0..20 {
            let n = 3 + 5 * seed as u32;
            let edges = simple_undirected(&random_edges(seed, n, 6 * n as usize));
            let both: Vec<_> = edges.iter().flat_map(|&(u, v)| [(u, v), (v, u)]).collect();
            let expected = verify(n, &edges);
            assert_eq!(triangles(&Lists::out(n, &both)), expected, "seed {seed}");
            let oriented = Lists::out(n, &edges);
            assert_eq!(triangles(&oriented), expected, "seed {seed}");
            let parts = triangles_from(&oriented, 0..n / 2) + triangles_from(&oriented, n / 2..n);
            assert_eq!(parts, expected);
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let control = Control::default().on(&pool);
            assert_eq!(triangles_parallel(&oriented, &control), Ok(expected), "seed {seed}");
        }
    }

    #[test]
    fn count_ends_within_a_task_when_it_is_told() {
        let edges: Vec<_> = (0..60u32).flat_map(|u| (u + 1..3000).map(move |v| (u, v))).collect();
        let asked = std::sync::atomic::AtomicU64::new(0);
        // The task begins, and is stopped when it asks again.
        let stop = || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 0;
        let control = Control::default().stopped_by(&stop);
        let found = triangles_parallel(&Lists::out(60, &edges), &control);
        assert_eq!((found, asked.into_inner()), (Err(crate::control::Error::Stopped), 2));
    }

    #[test]
    fn galloping_equals_merging() {
        for seed in 0..200 {
            let mut a: Vec<_> = random_edges(seed, 3000, 20).iter().map(|e| e.0).collect();
            let mut b: Vec<_> = random_edges(seed + 1000, 3000, 900).iter().map(|e| e.1).collect();
            for list in [&mut a, &mut b] {
                list.sort_unstable();
                list.dedup();
            }
            assert_eq!(gallop(&a, &b), merge(&a, &b), "seed {seed}");
            assert_eq!(gallop(&b, &a), merge(&a, &b), "seed {seed}");
        }
    }

    #[test]
    fn complete_graph_has_every_triple() {
        let edges: Vec<_> = (0..30u32).flat_map(|u| (u + 1..30).map(move |v| (u, v))).collect();
        assert_eq!(triangles(&Lists::out(30, &edges)), 30 * 29 * 28 / 6);
    }
}
