//! Direction-optimising breadth-first search: hops from one vertex, with parents on request.
//!
//! Result: for each vertex the number of edges on a shortest path from the source, [`UNREACHED`]
//! where there is none or it was not searched; on request the smallest vertex before each on such a
//! path. Loops and parallel edges change nothing.
//!
//! Method: level by level. While the frontier has few edges, its vertices read their out-lists (top
//! down). Once these are more than a fraction of the edges that are left, every vertex not reached
//! yet looks for a frontier vertex among its in-neighbours instead (bottom up), and is done with
//! the first; the search turns back when the frontier is small again. Parents need the smallest
//! one, so with them a vertex reads its whole in-list. Results do not depend on threads.
//!
//! Cost: O(n + m), on graphs of small diameter a small part of the edges. *Memory*: 4 bytes and 2
//! bits per vertex, 4 for each frontier vertex; 4 more per vertex with parents.
//!
//! Source: Beamer, Asanović and Patterson, "Direction-optimizing breadth-first search", SC 2012.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use rayon::prelude::*;
use telar_graph::topology::Topology;

pub use crate::bfs::UNREACHED;

use super::path::{NONE, Pace, Path, chain, require_vertex};
use crate::control::{Control, Result};

/// Bottom up begins when the frontier has more than 1 / ALPHA of the edges left; the paper's.
const ALPHA: u64 = 15;

/// Bottom up ends when the frontier has fewer than 1 / BETA of the vertices; the paper's.
const BETA: u64 = 18;

/// Frontier vertices per task, top down.
const GRAIN: usize = 256;

/// Vertices per task, bottom up; a multiple of 64, so that no two tasks share a word.
const SWEEP: u32 = 1 << 12;

/// Frontier below which one thread is faster than handing out tasks.
const SERIAL_MAX: usize = 1024;

/// Vertices whose lists are read in one call: what a call costs in storage is paid once for all.
const BATCH: usize = 64;

/// Source and limits of the search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Vertex that hops are counted from. Must be in the graph.
    pub source: u32,
    /// Most hops from the source; vertices farther away are not reached. `None` has no limit.
    pub max_depth: Option<u32>,
    /// The search ends with the level in which the first of these is reached. Each must be in the
    /// graph; empty means no end.
    pub targets: Vec<u32>,
    /// Keeps the smallest parent of each vertex.
    pub parents: bool,
}

/// Hops from one vertex.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Levels {
    /// Hops per vertex; [`UNREACHED`] where the search did not come.
    pub depths: Vec<u32>,
    /// Smallest vertex before each on a shortest path, [`NONE`] at the source and where the search
    /// did not come. Empty unless asked for.
    pub parents: Vec<u32>,
    /// Number of vertices reached, the source among them.
    pub reached: u64,
    /// Depth of the farthest vertex reached.
    pub depth: u32,
}

impl Levels {
    /// Path of fewest hops to `target`, if it was reached and parents were kept. Each hop costs 1.
    #[must_use]
    pub fn path(&self, target: u32) -> Option<Path> {
        let reached = *self.depths.get(target as usize)? != UNREACHED;
        if !reached || self.parents.is_empty() {
            return None;
        }
        let vertices = chain(&self.parents, target);
        let costs = (0..vertices.len()).map(|hops| hops as f64).collect();
        Some(Path { vertices, costs })
    }

    /// Vertices reached, by depth and then by number.
    #[must_use]
    pub fn order(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.depths.len() as u32)
            .filter(|&v| self.depths[v as usize] != UNREACHED)
            .collect();
        order.sort_by_key(|&v| self.depths[v as usize]);
        order
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, _m: u64, settings: &Settings) -> u64 {
    n * (4 + 1 + 12 + if settings.parents { 4 } else { 0 })
}

/// Returns hops from the source along `outgoing`, for vertices below `n`; `incoming` has the same
/// edges the other way round.
pub fn bfs<T: Topology>(
    outgoing: &T,
    incoming: &T,
    n: u32,
    settings: &Settings,
    control: &Control<'_>,
) -> Result<Levels> {
    require_vertex(n, "source", settings.source)?;
    settings.targets.iter().try_for_each(|&v| require_vertex(n, "a target", v))?;
    let cells = |len: u32| (0..len).map(|_| AtomicU32::new(UNREACHED)).collect::<Vec<_>>();
    let depths = cells(n);
    let parents = cells(if settings.parents { n } else { 0 });
    let run = Run { outgoing, incoming, n, depths: &depths, parents: &parents, control };
    let (reached, depth) = control.install(|| run.levels(settings))?;
    let plain = |cells: Vec<AtomicU32>| cells.into_iter().map(AtomicU32::into_inner).collect();
    Ok(Levels { depths: plain(depths), parents: plain(parents), reached, depth })
}

struct Run<'a, 'b, T> {
    outgoing: &'a T,
    incoming: &'a T,
    n: u32,
    depths: &'a [AtomicU32],
    /// Empty if they are not wanted.
    parents: &'a [AtomicU32],
    control: &'a Control<'b>,
}

fn is_set(bits: &[AtomicU64], v: u32) -> bool {
    bits[v as usize / 64].load(Relaxed) >> (v % 64) & 1 == 1
}

fn set(bits: &[AtomicU64], v: u32) {
    bits[v as usize / 64].fetch_or(1 << (v % 64), Relaxed);
}

impl<T: Topology> Run<'_, '_, T> {
    fn depth(&self, v: u32) -> u32 {
        self.depths[v as usize].load(Relaxed)
    }

    fn degree(&self, v: u32) -> u64 {
        if v < self.outgoing.vertex_bound() { u64::from(self.outgoing.degree(v)) } else { 0 }
    }

    /// Goes through the levels; returns the number of vertices reached and the largest depth.
    fn levels(&self, settings: &Settings) -> Result<(u64, u32)> {
        self.depths[settings.source as usize].store(0, Relaxed);
        let mut frontier = vec![settings.source];
        let mut edges_left: u64 =
            (0..self.n).into_par_iter().with_min_len(4096).map(|v| self.degree(v)).sum();
        let (mut reached, mut depth) = (1, 0);
        loop {
            self.control.check()?;
            self.control.report(reached, u64::from(self.n));
            let end = settings.max_depth.is_some_and(|most| depth >= most)
                || settings.targets.iter().any(|&v| self.depth(v) != UNREACHED);
            if end {
                return Ok((reached, depth));
            }
            let edges: u64 = frontier.iter().map(|&v| self.degree(v)).sum();
            edges_left -= edges.min(edges_left);
            if edges > edges_left / ALPHA && frontier.len() > 1 {
                (frontier, depth) = self.bottom_up(&frontier, depth, settings, &mut reached)?;
            } else {
                frontier = self.top_down(&frontier, depth + 1)?;
                reached += frontier.len() as u64;
                depth += u32::from(!frontier.is_empty());
            }
            if frontier.is_empty() {
                return Ok((reached, depth));
            }
        }
    }

    /// Reads the out-lists of the frontier; returns what they lead to, at `depth`.
    fn top_down(&self, frontier: &[u32], depth: u32) -> Result<Vec<u32>> {
        if frontier.len() < SERIAL_MAX {
            return self.expand(frontier, depth);
        }
        let parts: Result<Vec<Vec<u32>>> =
            frontier.par_chunks(GRAIN).map(|chunk| self.expand(chunk, depth)).collect();
        Ok(parts?.concat())
    }

    fn expand(&self, frontier: &[u32], depth: u32) -> Result<Vec<u32>> {
        let mut pace = Pace::new(self.control);
        let mut next = Vec::new();
        let bound = self.outgoing.vertex_bound();
        for vertices in frontier.chunks(BATCH) {
            let inside: Vec<u32> = vertices.iter().copied().filter(|&v| v < bound).collect();
            pace.spend(inside.iter().map(|&v| self.outgoing.degree(v) as usize).sum())?;
            self.outgoing.visit(&inside, |u, run| {
                for &v in run {
                    let cell = &self.depths[v as usize];
                    let mut known = cell.load(Relaxed);
                    if known == UNREACHED {
                        match cell.compare_exchange(UNREACHED, depth, Relaxed, Relaxed) {
                            Ok(_) => next.push(v),
                            Err(other) => known = other,
                        }
                    }
                    let level = known == UNREACHED || known == depth;
                    if level && let Some(parent) = self.parents.get(v as usize) {
                        parent.fetch_min(u, Relaxed);
                    }
                }
            });
        }
        Ok(next)
    }

    /// Runs levels from the in-lists of vertices not reached, until the frontier is small. Returns
    /// it and its depth.
    fn bottom_up(
        &self,
        frontier: &[u32],
        mut depth: u32,
        settings: &Settings,
        reached: &mut u64,
    ) -> Result<(Vec<u32>, u32)> {
        let words = self.n.div_ceil(64);
        let bitmap = || (0..words).map(|_| AtomicU64::new(0)).collect::<Vec<_>>();
        let (mut current, mut next) = (bitmap(), bitmap());
        frontier.iter().for_each(|&v| set(&current, v));
        loop {
            let found = AtomicU64::new(0);
            self.control.for_ranges(self.n, SWEEP, |range| {
                let mut pace = Pace::new(self.control);
                let (mut count, mut batch) = (0, Vec::with_capacity(BATCH));
                let mut left = range.start..range.end.min(self.incoming.vertex_bound());
                loop {
                    batch.clear();
                    batch.extend(left.by_ref().filter(|&v| self.depth(v) == UNREACHED).take(BATCH));
                    if batch.is_empty() {
                        break;
                    }
                    let degree = |&v: &u32| self.incoming.degree(v) as usize;
                    pace.spend(batch.iter().map(degree).sum())?;
                    count += self.reach_from(&current, &batch, depth + 1, &next);
                }
                found.fetch_add(count, Relaxed);
                Ok(())
            })?;
            let found = found.into_inner();
            *reached += found;
            if found == 0 {
                return Ok((Vec::new(), depth));
            }
            depth += 1;
            let end = settings.max_depth.is_some_and(|most| depth >= most)
                || settings.targets.iter().any(|&v| self.depth(v) != UNREACHED);
            if end || found < u64::from(self.n) / BETA {
                let list = (0..self.n).into_par_iter().with_min_len(4096);
                return Ok((list.filter(|&v| is_set(&next, v)).collect(), depth));
            }
            std::mem::swap(&mut current, &mut next);
            next.iter().for_each(|word| word.store(0, Relaxed));
            self.control.report(*reached, u64::from(self.n));
        }
    }

    /// Puts those of `vertices` into `next`, at `depth`, that an edge leads to from the frontier;
    /// returns how many. Their parents are the smallest such vertices, if they are kept.
    fn reach_from(
        &self,
        frontier: &[AtomicU64],
        vertices: &[u32],
        depth: u32,
        next: &[AtomicU64],
    ) -> u64 {
        let any = self.parents.is_empty();
        let mut count = 0;
        self.incoming.visit(vertices, |v, run| {
            // By an earlier run of the same list.
            let reached = self.depth(v) != UNREACHED;
            if reached && any {
                return;
            }
            let known = self.parents.get(v as usize).map_or(NONE, |kept| kept.load(Relaxed));
            let mut parent = known;
            for &u in run {
                if u < parent && is_set(frontier, u) {
                    parent = u;
                    if any {
                        break;
                    }
                }
            }
            if parent == known {
                return;
            }
            if !reached {
                self.depths[v as usize].store(depth, Relaxed);
                set(next, v);
                count += 1;
            }
            if let Some(kept) = self.parents.get(v as usize) {
                kept.store(parent, Relaxed);
            }
        });
        count
    }
}

/// Smallest parents from the depths of the plain search.
#[cfg(test)]
pub(crate) fn verify(n: u32, edges: &[(u32, u32)], source: u32) -> (Vec<u32>, Vec<u32>) {
    let depths = crate::bfs::verify(n, edges, source);
    let mut parents = vec![NONE; n as usize];
    for &(u, v) in edges {
        let reached = depths[u as usize] != UNREACHED;
        if reached && depths[v as usize] == depths[u as usize] + 1 {
            parents[v as usize] = parents[v as usize].min(u);
        }
    }
    (depths, parents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Error;
    use crate::csr::Csr;
    use crate::paths::path::threads;
    use crate::testing::{Lists, random_edges};

    fn run(n: u32, edges: &[(u32, u32)], settings: &Settings, control: &Control<'_>) -> Levels {
        let (out, incoming) = (Lists::out(n, edges), Lists::incoming(n, edges));
        bfs(&out, &incoming, n, settings, control).unwrap()
    }

    #[test]
    fn depths_and_parents_on_random_graphs_equal_relaxation() {
        let pool = threads(3);
        for seed in 0..60 {
            let n = 1 + 37 * seed as u32;
            let edges = random_edges(seed, n, n as usize * (1 + seed as usize % 8));
            let source = seed as u32 % n;
            let (depths, parents) = verify(n, &edges, source);
            for keep in [false, true] {
                let settings = Settings { source, parents: keep, ..Default::default() };
                let found = run(n, &edges, &settings, &Control::default());
                assert_eq!(found.depths, depths, "seed {seed}");
                assert_eq!(found.parents, if keep { parents.clone() } else { Vec::new() });
                let reached: Vec<u32> =
                    depths.iter().copied().filter(|&d| d != UNREACHED).collect();
                assert_eq!(found.reached, reached.len() as u64);
                assert_eq!(Some(found.depth), reached.iter().copied().max());
                assert_eq!(found, run(n, &edges, &settings, &Control::default().on(&pool)));
                assert_eq!(found.order().len(), reached.len());
            }
        }
    }

    #[test]
    fn large_frontiers_run_in_parallel_with_the_same_result() {
        let n = 30_000;
        let edges = random_edges(9, n, 90_000);
        let (depths, parents) = verify(n, &edges, 1);
        let pool = threads(3);
        let settings = Settings { source: 1, parents: true, ..Default::default() };
        let found = run(n, &edges, &settings, &Control::default().on(&pool));
        assert_eq!((&found.depths, &found.parents), (&depths, &parents));
        let target = (0..n).max_by_key(|&v| depths[v as usize].wrapping_add(1)).unwrap();
        let path = found.path(target).unwrap();
        assert_eq!(path.vertices.len() as u32, depths[target as usize] + 1);
    }

    #[test]
    fn search_ends_at_max_depth_and_with_the_level_of_a_target() {
        for seed in 0..40 {
            let n = 200;
            let edges = random_edges(seed, n, 500);
            let (depths, _) = verify(n, &edges, 0);
            let cut = |most: u32| -> Vec<u32> {
                depths.iter().map(|&d| if d > most { UNREACHED } else { d }).collect()
            };
            for most in 0..6 {
                let settings = Settings { max_depth: Some(most), ..Default::default() };
                let found = run(n, &edges, &settings, &Control::default());
                assert_eq!(found.depths, cut(most));
            }
            let targets = vec![17, 101, 150];
            let nearest = targets.iter().map(|&v| depths[v as usize]).min().unwrap();
            let settings = Settings { targets, ..Default::default() };
            let found = run(n, &edges, &settings, &Control::default());
            assert_eq!(found.depths, cut(nearest.min(UNREACHED - 1)));
        }
    }

    #[test]
    fn bad_vertices_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let control = Control::default();
        let beyond = Settings { source: 2, ..Default::default() };
        assert!(matches!(bfs(&graph, &graph, 2, &beyond, &control), Err(Error::Invalid(_))));
        let beyond = Settings { targets: vec![2], ..Default::default() };
        assert!(matches!(bfs(&graph, &graph, 2, &beyond, &control), Err(Error::Invalid(_))));
        let empty = Csr::from_edges(0, &[]);
        let settings = Settings::default();
        assert!(matches!(bfs(&empty, &empty, 0, &settings, &control), Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(bfs(&graph, &graph, 2, &settings, &stopped), Err(Error::Stopped));
        // A vertex beyond both topologies reaches itself.
        let lonely = Settings { source: 4, ..Default::default() };
        let found = bfs(&graph, &graph, 5, &lonely, &control).unwrap();
        assert_eq!((found.reached, found.depths[4]), (1, 0));
    }
}
