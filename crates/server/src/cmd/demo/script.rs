//! What each writer does: a sequence of transactions that follows from the seed and the graph.
//!
//! Every pair of ends belongs to one writer, by its source, and only that writer adds or deletes
//! edges between them; so the graph that results does not depend on how writers interleave. Likes
//! go to the same few popular vertices from all writers, which makes their transactions conflict:
//! their sum shows whether an update was lost.

use std::collections::HashSet;

use telar_generate::rng::Rng;

use super::edges::Edge;
use super::facts::Facts;

/// Of a hundred transactions, how many add an edge and how many like a vertex; the others delete an
/// edge.
const CONNECT_PERCENT: u64 = 50;
const LIKE_PERCENT: u64 = 35;
/// Property `since` of the first edge added, in milliseconds since 1970: 1 January 2026.
const SINCE_FIRST_MS: i64 = 1_767_225_600_000;

/// One transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Op {
    /// Add an edge that does not exist.
    Connect { src: u32, dst: u32, since: i64 },
    /// Delete an edge that exists.
    Disconnect { src: u32, dst: u32 },
    /// Add one to the likes of a vertex.
    Like { vertex: u32 },
}

/// Who owns what, for all writers.
#[derive(Debug)]
pub(super) struct Plan<'f> {
    facts: &'f Facts,
    seed: u64,
    /// Per writer, the vertices whose outgoing edges are its own.
    sources: Vec<Vec<u32>>,
    /// Per writer, its imported edges, sorted.
    edges: Vec<Vec<Edge>>,
}

impl<'f> Plan<'f> {
    pub(super) fn new(seed: u64, writers: usize, facts: &'f Facts) -> Self {
        let owner = |v: u32| v as usize % writers;
        let mut sources = vec![Vec::new(); writers];
        for &v in &facts.vertices {
            sources[owner(v)].push(v);
        }
        let mut edges = vec![Vec::new(); writers];
        for &edge in &facts.edges {
            edges[owner(edge.0)].push(edge);
        }
        Self { facts, seed, sources, edges }
    }

    pub(super) fn writers(&self) -> usize {
        self.sources.len()
    }

    /// The script of a writer, from its beginning.
    pub(super) fn script(&self, writer: usize) -> Script<'_> {
        let seed = self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (writer as u64 + 1);
        Script {
            facts: self.facts,
            sources: &self.sources[writer],
            imported: &self.edges[writer],
            gone: HashSet::new(),
            added: Vec::new(),
            present: HashSet::new(),
            rng: Rng::new(seed),
            steps: 0,
        }
    }
}

/// A writer's transactions, and its share of the graph as they leave it.
#[derive(Debug)]
pub(super) struct Script<'p> {
    facts: &'p Facts,
    sources: &'p [u32],
    imported: &'p [Edge],
    /// Positions of imported edges that were deleted.
    gone: HashSet<usize>,
    /// Edges added and not deleted since, with their property.
    added: Vec<(Edge, i64)>,
    /// The same as a set.
    present: HashSet<Edge>,
    rng: Rng,
    steps: u64,
}

impl Script<'_> {
    /// The next transaction. The script goes on as if it had been committed.
    pub(super) fn next(&mut self) -> Op {
        self.steps += 1;
        let draw = self.rng.below(100);
        let op = if draw < CONNECT_PERCENT {
            self.connect()
        } else if draw < CONNECT_PERCENT + LIKE_PERCENT {
            None
        } else {
            self.disconnect()
        };
        op.unwrap_or_else(|| self.like())
    }

    /// Likes favour vertices with small numbers: a cube of a uniform draw.
    fn like(&mut self) -> Op {
        let unit = self.rng.unit();
        let n = self.facts.vertices.len();
        let at = ((unit * unit * unit * n as f64) as usize).min(n - 1);
        Op::Like { vertex: self.facts.vertices[at] }
    }

    fn connect(&mut self) -> Option<Op> {
        if self.sources.is_empty() {
            return None;
        }
        let src = self.sources[self.rng.index(self.sources.len())];
        let vertices = &self.facts.vertices;
        let first = match self.facts.undirected {
            true => vertices.partition_point(|v| *v <= src),
            false => 0,
        };
        if first == vertices.len() {
            return None;
        }
        let dst = vertices[first + self.rng.index(vertices.len() - first)];
        if src == dst || self.exists((src, dst)) {
            return None;
        }
        let since = SINCE_FIRST_MS + 1000 * self.steps as i64;
        self.added.push(((src, dst), since));
        self.present.insert((src, dst));
        Some(Op::Connect { src, dst, since })
    }

    fn exists(&self, edge: Edge) -> bool {
        let first = self.imported.partition_point(|e| *e < edge);
        let same = self.imported[first..].iter().take_while(|e| **e == edge).count();
        self.present.contains(&edge) || (first..first + same).any(|at| !self.gone.contains(&at))
    }

    fn disconnect(&mut self) -> Option<Op> {
        let all = self.imported.len() + self.added.len();
        if all == 0 {
            return None;
        }
        let at = self.rng.index(all);
        let (src, dst) = match at.checked_sub(self.imported.len()) {
            None if self.gone.insert(at) => self.imported[at],
            None => return None,
            Some(at) => {
                let (edge, _) = self.added.swap_remove(at);
                self.present.remove(&edge);
                edge
            }
        };
        Some(Op::Disconnect { src, dst })
    }

    /// The writer's imported edges that are still there.
    pub(super) fn imported(&self) -> impl Iterator<Item = Edge> {
        let kept = |(at, edge): (usize, &Edge)| (!self.gone.contains(&at)).then_some(*edge);
        self.imported.iter().enumerate().filter_map(kept)
    }

    /// The edges the writer added that are still there, with their property.
    pub(super) fn added(&self) -> &[(Edge, i64)] {
        &self.added
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use telar_generate::{edges, uniform};

    fn facts(undirected: bool) -> Facts {
        let mut list = uniform(50, 300, 5);
        edges::dedup(&mut list);
        edges::orient(&mut list);
        list.sort_unstable();
        Facts { vertices: (0..50).collect(), edges: list, undirected, simple: false }
    }

    #[test]
    fn scripts_repeat_and_keep_their_own_books() {
        for undirected in [false, true] {
            let facts = facts(undirected);
            let plan = Plan::new(7, 3, &facts);
            for writer in 0..3 {
                let (mut script, mut again) = (plan.script(writer), plan.script(writer));
                let mut model: Vec<Edge> = plan.edges[writer].clone();
                for _ in 0..2000 {
                    let op = script.next();
                    assert_eq!(op, again.next());
                    match op {
                        Op::Connect { src, dst, .. } => {
                            assert!(src as usize % 3 == writer && src != dst);
                            assert!(!undirected || src < dst);
                            assert!(!model.contains(&(src, dst)), "{src} -> {dst} exists");
                            model.push((src, dst));
                        }
                        Op::Disconnect { src, dst } => {
                            let at = model.iter().position(|e| *e == (src, dst));
                            model.swap_remove(at.expect("only edges that exist are deleted"));
                        }
                        Op::Like { vertex } => assert!(vertex < 50),
                    }
                }
                let added = script.added().iter().map(|(edge, _)| *edge);
                let mut left: Vec<Edge> = script.imported().chain(added).collect();
                left.sort_unstable();
                model.sort_unstable();
                assert_eq!(left, model);
            }
        }
    }

    #[test]
    fn more_writers_than_vertices_only_like() {
        let facts = Facts { vertices: vec![0, 1], edges: vec![], undirected: false, simple: true };
        let plan = Plan::new(1, 4, &facts);
        let mut idle = plan.script(3);
        assert!((0..100).all(|_| matches!(idle.next(), Op::Like { .. })));
    }
}
