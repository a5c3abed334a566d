//! A graph that changes at random, with what each batch touched, for the tests of live kernels.

use super::Touched;
use crate::testing::random_edges;

/// A random graph with parallel edges, loops, isolated vertices and numbers that are not in use.
pub(super) struct Changing {
    draws: std::vec::IntoIter<(u32, u32)>,
    edges: Vec<(u32, u32)>,
    used: Vec<bool>,
}

/// Lists that a batch of changes touched.
#[derive(Default)]
pub(super) struct Batch {
    n: u32,
    came: Vec<u32>,
    went: Vec<u32>,
    pairs: Vec<(u32, u32)>,
}

impl Batch {
    pub(super) fn touched(&self) -> Touched<'_> {
        Touched { n: self.n, came: &self.came, went: &self.went, pairs: &self.pairs }
    }
}

impl Changing {
    /// A graph without edges, of up to `n` vertices in the beginning.
    pub(super) fn new(seed: u64, n: usize) -> Self {
        let draws = random_edges(seed, 1 << 16, 1 << 14).into_iter();
        let edges = Vec::new();
        Self { draws, edges, used: vec![false; n] }
    }

    fn draw(&mut self, below: usize) -> usize {
        self.draws.next().map_or(0, |draw| draw.1 as usize) % below.max(1)
    }

    pub(super) fn n(&self) -> u32 {
        self.used.len() as u32
    }

    pub(super) fn edges(&self) -> &[(u32, u32)] {
        &self.edges
    }

    /// True for each number in use.
    pub(super) fn used(&self) -> &[bool] {
        &self.used
    }

    /// Changes the graph `changes` times.
    pub(super) fn change(&mut self, changes: usize) -> Batch {
        let mut batch = Batch::default();
        let begun = self.used.clone();
        for _ in 0..changes {
            self.change_once(&mut batch, &begun);
        }
        batch.n = self.n();
        // One that came and went again was never there.
        let (came, used) = (std::mem::take(&mut batch.came), &self.used);
        batch.came = came.into_iter().filter(|v| used[*v as usize]).collect();
        batch.went.retain(|v| begun.get(*v as usize).is_some_and(|used| *used));
        batch
    }

    fn change_once(&mut self, batch: &mut Batch, begun: &[bool]) {
        let (kind, n) = (self.draw(10), self.used.len());
        let (u, v) = (self.draw(n), self.draw(n));
        let pair = (u as u32, v as u32);
        match kind {
            0 | 1 => {
                // A number that this batch freed is not used before the next one.
                let free = (0..n).find(|v| !self.used[*v] && begun.get(*v) != Some(&true));
                let place = free.unwrap_or(n);
                if place == n {
                    self.used.push(false);
                }
                self.used[place] = true;
                batch.came.push(place as u32);
            }
            2 if self.used[u] && self.draw(3) == 0 => {
                self.used[u] = false;
                let of_u = |edge: &(u32, u32)| edge.0 == pair.0 || edge.1 == pair.0;
                batch.pairs.extend(self.edges.iter().filter(|edge| of_u(edge)));
                self.edges.retain(|edge| !of_u(edge));
                batch.went.push(pair.0);
            }
            // Pairs that are as they were.
            3 if self.used[u] && self.used[v] => batch.pairs.push(pair),
            4..=6 if !self.edges.is_empty() => {
                let at = self.draw(self.edges.len());
                batch.pairs.push(self.edges.swap_remove(at));
            }
            _ if self.used[u] && self.used[v] => {
                self.edges.push(pair);
                batch.pairs.push(pair);
            }
            _ => {}
        }
    }
}
