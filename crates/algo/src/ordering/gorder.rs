//! Gorder: an ordering in which vertices that share neighbours, or are neighbours, stand within a
//! small window.
//!
//! Result: the new position of each vertex.
//!
//! Method: greedy. The next vertex is the one with the highest score, which is the number of its
//! edges to vertices in the window and of neighbours that it has in common with them. When a vertex
//! enters or leaves the window, the scores of its neighbours and of their neighbours change by one
//! each; a bucket queue finds the highest. Neighbours in common that have very many neighbours are
//! left out: they say little and cost much. The graph is undirected; loops count for nothing,
//! parallel edges each.
//!
//! Cost: O(sum of squared degrees below the limit). *Memory*: 24 bytes per vertex, 4 more per
//! distinct score.
//!
//! Source: Wei, Yu, Lu and Lin, "Speedup graph processing by graph ordering", SIGMOD 2016.

use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// No vertex.
const NONE: u32 = u32::MAX;

/// Settings of [`gorder`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Vertices of the window; 1 to 2^16.
    pub window: u32,
    /// Neighbours above which a vertex does not count as one in common; 0 stands for the root of
    /// the number of vertices, but 64 at least.
    pub upper_degree_cutoff: u32,
}

impl Default for Settings {
    /// Window 5 as in the paper, limit by the number of vertices.
    fn default() -> Self {
        Self { window: 5, upper_degree_cutoff: 0 }
    }
}

/// Upper estimate of memory in bytes beyond the graph.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings) -> u64 {
    24 * n + 4 * m.min(n.saturating_mul(u64::from(settings.window))) + 4096
}

/// New position of each vertex by Gorder.
pub fn gorder(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Result<Vec<u32>> {
    if !(1..=1 << 16).contains(&settings.window) {
        return Err(Error::invalid(format!(
            "window is {}; Gorder takes one of 1 to 65536 vertices",
            settings.window
        )));
    }
    control.check()?;
    let n = graph.vertices();
    let limit = match settings.upper_degree_cutoff {
        0 => (f64::from(n).sqrt() as usize).max(64),
        limit => limit as usize,
    };
    let mut first: Vec<u32> = (0..n).collect();
    first.sort_unstable_by_key(|v| (graph.of(*v).len(), std::cmp::Reverse(*v)));
    let mut queue = Queue::new(n, &first);
    drop(first);
    let mut order = Vec::with_capacity(n as usize);
    let mut work = 0;
    while let Some(v) = queue.pop() {
        order.push(v);
        let left = (order.len() > settings.window as usize)
            .then(|| order[order.len() - 1 - settings.window as usize]);
        for (moved, up) in [(Some(v), true), (left, false)] {
            let Some(moved) = moved else { continue };
            for &u in graph.of(moved) {
                queue.change(u, up);
                let common = graph.of(u);
                work += 1;
                if common.len() <= limit {
                    work += common.len();
                    common.iter().for_each(|x| queue.change(*x, up));
                }
                if work >= 1 << 16 {
                    control.check()?;
                    work = 0;
                    control.report(order.len() as u64, u64::from(n));
                }
            }
        }
    }
    Ok(super::positions(&order))
}

/// Vertices by score: a doubly linked list per score.
struct Queue {
    scores: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    heads: Vec<u32>,
    highest: usize,
}

/// Score of a vertex that has been taken.
const TAKEN: u32 = u32::MAX;

impl Queue {
    /// All with score 0; the last of `vertices` is the first to come.
    fn new(n: u32, vertices: &[u32]) -> Self {
        let none = vec![NONE; n as usize];
        let mut queue = Self {
            scores: vec![0; n as usize],
            next: none.clone(),
            previous: none,
            heads: vec![NONE],
            highest: 0,
        };
        vertices.iter().for_each(|v| queue.link(*v, 0));
        queue
    }

    fn link(&mut self, v: u32, score: u32) {
        if self.heads.len() <= score as usize {
            self.heads.resize(score as usize + 1, NONE);
        }
        let head = std::mem::replace(&mut self.heads[score as usize], v);
        self.next[v as usize] = head;
        self.previous[v as usize] = NONE;
        if head != NONE {
            self.previous[head as usize] = v;
        }
        self.scores[v as usize] = score;
        self.highest = self.highest.max(score as usize);
    }

    fn unlink(&mut self, v: u32) {
        let (next, previous) = (self.next[v as usize], self.previous[v as usize]);
        if next != NONE {
            self.previous[next as usize] = previous;
        }
        match previous {
            NONE => self.heads[self.scores[v as usize] as usize] = next,
            _ => self.next[previous as usize] = next,
        }
    }

    /// Moves a vertex that is not taken one score up or down.
    fn change(&mut self, v: u32, up: bool) {
        let score = self.scores[v as usize];
        if score != TAKEN {
            self.unlink(v);
            self.link(v, if up { score + 1 } else { score.saturating_sub(1) });
        }
    }

    /// Takes the vertex with the highest score.
    fn pop(&mut self) -> Option<u32> {
        while self.heads[self.highest] == NONE {
            self.highest = self.highest.checked_sub(1)?;
        }
        let v = self.heads[self.highest];
        self.unlink(v);
        self.scores[v as usize] = TAKEN;
        Some(v)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gorder_brings_neighbours_near() {
        let go = |graph: &Csr, control: &Control<'_>| gorder(graph, &Settings::default(), control);
        crate::ordering::tests::check(go, Some(7.0));
        for window in [0, 1 << 17] {
            let settings = Settings { window, ..Settings::default() };
            assert!(gorder(&Csr::from_edges(0, &[]), &settings, &Control::default()).is_err());
        }
    }

    /// Scores are counted anew for every step.
    #[test]
    fn each_vertex_has_the_highest_score_of_its_time() {
        for seed in 0..20 {
            let n = 40;
            let edges = crate::testing::random_edges(seed, n, 80);
            let graph = Csr::from_edges(n, &edges).undirected();
            let settings = Settings { window: 3, upper_degree_cutoff: 1000 };
            let found = gorder(&graph, &settings, &Control::default()).unwrap();
            let mut order = vec![0; n as usize];
            found.iter().zip(0..).for_each(|(place, v)| order[*place as usize] = v);
            for at in 1..n as usize {
                let score = |v: u32| {
                    let window = &order[at.saturating_sub(3)..at];
                    let near = |w: u32, v: u32| graph.of(w).iter().filter(|u| **u == v).count();
                    window
                        .iter()
                        .map(|&w| {
                            let common = graph.of(w).iter().map(|&x| near(x, v)).sum::<usize>();
                            near(w, v) + common
                        })
                        .sum::<usize>()
                };
                let best = order[at..].iter().map(|v| score(*v)).max().unwrap();
                assert_eq!(score(order[at]), best, "seed {seed}, place {at}");
            }
        }
    }
}
