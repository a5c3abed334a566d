//! NN-descent: nearest neighbours by searching among the neighbours of neighbours.
//!
//! Result, method, cost and source: see [`knn`](mod@super::knn), which has the tests.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::knn::{CHECK, Near, Nearest, Settings, Vectors, keep, lists};
use crate::control::{Control, Result};
use crate::random::Random;

/// A search.
pub(super) struct Descent<'a> {
    pub(super) vectors: &'a Vectors<'a>,
    pub(super) n: u32,
    pub(super) settings: &'a Settings,
    pub(super) control: &'a Control<'a>,
}

/// Neighbours of each vertex to search from, with true for new ones.
type Links = Vec<Vec<(u32, bool)>>;

impl Descent<'_> {
    /// The neighbours found, and in `nearest` how.
    pub(super) fn run(&self, nearest: &mut Nearest) -> Result<Vec<Vec<Near>>> {
        let compared = AtomicU64::new(0);
        let mut all = lists(self.n, self.control, |u| {
            self.control.check()?;
            let mut random = Random::new(self.settings.seed, u.into());
            let mut list: Vec<u32> = (0..self.settings.top_k.min(self.n - 1))
                .map(|_| random.below(self.n))
                .filter(|v| *v != u)
                .collect();
            list.sort_unstable();
            list.dedup();
            compared.fetch_add(list.len() as u64, Relaxed);
            let near = |v| Near { similarity: self.vectors.similarity(u, v), v, new: true };
            let mut list: Vec<Near> = list.into_iter().map(near).collect();
            keep(&mut list, self.settings.top_k as usize);
            Ok(list)
        })?;
        let places = u64::from(self.n) * u64::from(self.settings.top_k);
        let enough = (self.settings.delta_threshold * places as f64) as u64;
        while nearest.ran_iterations < self.settings.max_iterations && !nearest.did_converge {
            let links = self.links(&mut all, nearest.ran_iterations)?;
            let changed = AtomicU64::new(0);
            all = lists(self.n, self.control, |u| {
                let list = &all[u as usize];
                let next = self.improve(u, list, &links, nearest.ran_iterations, &compared)?;
                let kept = |near: &&Near| list.iter().any(|old| old.v == near.v);
                let fresh = next.iter().filter(|near| !kept(near)).count();
                changed.fetch_add(fresh as u64, Relaxed);
                Ok(next)
            })?;
            nearest.ran_iterations += 1;
            nearest.did_converge = changed.into_inner() <= enough;
            let total = u64::from(self.settings.max_iterations);
            self.control.report(nearest.ran_iterations.into(), total);
        }
        nearest.node_pairs_considered = compared.into_inner();
        Ok(all)
    }

    /// Draws what is searched from in an iteration; drawn neighbours are no longer new.
    fn links(&self, all: &mut [Vec<Near>], iteration: u32) -> Result<Links> {
        let share = f64::from(self.settings.top_k) * self.settings.sample_rate;
        let sample = share.ceil().max(1.0) as usize;
        let stream = |kind: u64, v: u32| {
            let kind = (u64::from(iteration) * 3 + kind) << 32;
            Random::new(self.settings.seed ^ 0x5eed, kind | u64::from(v))
        };
        let mut forward: Links = vec![Vec::new(); self.n as usize];
        for (u, list) in (0..self.n).zip(all.iter_mut()) {
            if u & 0xfff == 0 {
                self.control.check()?;
            }
            let mut fresh: Vec<usize> = (0..list.len()).filter(|at| list[*at].new).collect();
            draw(&mut fresh, sample, stream(0, u));
            let links = &mut forward[u as usize];
            links.extend(list.iter().filter(|near| !near.new).map(|near| (near.v, false)));
            for at in fresh {
                list[at].new = false;
                links.push((list[at].v, true));
            }
        }
        let mut back: Links = vec![Vec::new(); self.n as usize];
        for (u, links) in (0..self.n).zip(&forward) {
            links.iter().for_each(|&(v, new)| back[v as usize].push((u, new)));
        }
        for (v, (links, more)) in (0..self.n).zip(forward.iter_mut().zip(back)) {
            if v & 0xfff == 0 {
                self.control.check()?;
            }
            let (mut fresh, mut known): (Vec<_>, Vec<_>) = more.into_iter().partition(|x| x.1);
            draw(&mut fresh, sample, stream(1, v));
            draw(&mut known, sample, stream(2, v));
            links.extend(fresh);
            links.extend(known);
        }
        Ok(forward)
    }

    /// The best of a vertex's neighbours and of those two links away.
    fn improve(
        &self,
        u: u32,
        list: &[Near],
        links: &Links,
        iteration: u32,
        compared: &AtomicU64,
    ) -> Result<Vec<Near>> {
        self.control.check()?;
        let mut met = Vec::new();
        for &(w, new) in &links[u as usize] {
            // A link in the other direction may be better than what is in the list.
            met.push(w);
            met.extend(links[w as usize].iter().filter(|x| new || x.1).map(|x| x.0));
        }
        let stream = u64::from(u) << 32 | u64::from(iteration);
        let mut random = Random::new(self.settings.seed ^ 0x0105, stream);
        met.extend((0..self.settings.random_joins).map(|_| random.below(self.n)));
        met.sort_unstable();
        met.dedup();
        let mut next = list.to_vec();
        let (mut work, known) = (0, list.len());
        for v in met {
            if v == u || next[..known].iter().any(|near| near.v == v) {
                continue;
            }
            work += self.vectors.dimension;
            if work >= CHECK {
                self.control.check()?;
                work = 0;
            }
            next.push(Near { similarity: self.vectors.similarity(u, v), v, new: true });
        }
        compared.fetch_add((next.len() - known) as u64, Relaxed);
        keep(&mut next, self.settings.top_k as usize);
        next.shrink_to_fit();
        Ok(next)
    }
}

/// Leaves `count` of `list`, drawn by chance.
fn draw<T>(list: &mut Vec<T>, count: usize, mut random: Random) {
    if list.len() > count {
        for at in 0..count {
            let other = at + random.below((list.len() - at) as u32) as usize;
            list.swap(at, other);
        }
        list.truncate(count);
    }
}
