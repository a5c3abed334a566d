//! Random walks of second order, as node2vec takes them: the sentences of vertex embeddings.
//!
//! Result: from each vertex with out-edges a number of walks, handed to a callback: by start
//! vertex in the order given (or ascending), then by number. A walk ends early at a vertex without
//! out-edges, or of which all weigh 0. Parallel edges and loops count as edges.
//!
//! ```text
//!   walk at v, came from t:   chance of x ~ weight(v, x) *  1/p  if x = t
//!                                                           1    if there is an edge t -> x
//!                                                           1/q  otherwise
//! ```
//!
//! Method: an edge is drawn by weight and kept with a chance in proportion to its factor
//! (rejection sampling); after some tries in vain the list is weighed in full, which draws from the
//! same distribution. Each start vertex has random numbers of its own, so the walks do not depend
//! on threads.
//!
//! Cost: per step a few draws, O(log d) each with weights, and as many searches in the list of the
//! vertex before. *Memory*: 8 bytes per edge with weights, and the walks at work: 4 bytes per step,
//! some megabytes per thread.
//!
//! Source: Grover and Leskovec, "node2vec: scalable feature learning for networks", KDD 2016;
//! rejection as in Yang et al., "KnightKing: a fast distributed graph random walk engine", SOSP
//! 2019.

use rayon::prelude::*;

use super::path::{NONE, Pace, fill_lists, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Draws before the list is weighed in full.
const TRIES: u32 = 24;

/// Steps per task, as far as whole vertices allow.
const TASK_STEPS: u64 = 1 << 16;

/// Tasks between two calls of the callback, per thread.
const TASKS_PER_THREAD: usize = 8;

/// Number, length and bias of the walks.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Start vertices, each in the graph. `None` takes all.
    pub sources: Option<Vec<u32>>,
    /// Vertices of a walk, the start among them; at least 1.
    pub walk_length: u32,
    /// Walks from each start.
    pub walks_per_node: u32,
    /// q: above 1 walks stay near the start, below 1 they go far; finite and above 0.
    pub in_out_factor: f64,
    /// p: above 1 walks seldom go back at once, below 1 they often do; finite and above 0.
    pub return_factor: f64,
    /// Seed of the random numbers.
    pub seed: u64,
}

impl Default for Settings {
    /// 10 walks of 80 vertices from each vertex, factors 1, seed 0.
    fn default() -> Self {
        Self {
            sources: None,
            walk_length: 80,
            walks_per_node: 10,
            in_out_factor: 1.0,
            return_factor: 1.0,
            seed: 0,
        }
    }
}

/// Counts of a run of [`random_walk`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Number of walks handed out.
    pub walks: u64,
    /// Sum of their vertices.
    pub steps: u64,
}

/// Upper estimate of memory beyond the graph, in bytes, on this number of threads.
#[must_use]
pub fn bytes(n: u64, m: u64, settings: &Settings, threads: usize) -> u64 {
    let vertex = u64::from(settings.walk_length) * u64::from(settings.walks_per_node);
    let tasks = (threads * TASKS_PER_THREAD) as u64;
    let steps = vertex.max(TASK_STEPS).saturating_mul(tasks).min(n.saturating_mul(vertex));
    // Lists of a task may be allocated up to twice their length, and a walk has an end of 8 bytes.
    let walks = steps.saturating_mul(8 + 16);
    walks.saturating_add(8 * m + 4 * n)
}

/// Walks of a task, one after the other.
#[derive(Default)]
struct Walks {
    vertices: Vec<u32>,
    ends: Vec<usize>,
}

/// Calls `walk(vertices)` for each walk along the edges of `graph`. Weights must not be negative.
pub fn random_walk(
    graph: &Csr,
    settings: &Settings,
    control: &Control<'_>,
    mut walk: impl FnMut(&[u32]),
) -> Result<Summary> {
    check(graph, settings)?;
    graph.require_weights("random walk", 0.0, control)?;
    control.check()?;
    let walker = Walker::new(graph, settings, control)?;
    let count = settings.sources.as_ref().map_or(graph.vertices() as usize, Vec::len);
    let source = |at: usize| settings.sources.as_ref().map_or(at as u32, |list| list[at]);
    let per_vertex = u64::from(settings.walk_length) * u64::from(settings.walks_per_node);
    let grain = (TASK_STEPS / per_vertex.max(1)).clamp(1, 1 << 12) as usize;
    let batch = grain * TASKS_PER_THREAD * control.threads();
    let mut summary = Summary { walks: 0, steps: 0 };
    for first in (0..count).step_by(batch) {
        let end = (first + batch).min(count);
        let run = |begin: usize| {
            let mut walks = Walks::default();
            let mut pace = Pace::new(control);
            for at in begin..(begin + grain).min(end) {
                walker.walk_from(source(at), &mut walks, &mut pace)?;
            }
            Ok(walks)
        };
        let starts: Vec<usize> = (first..end).step_by(grain).collect();
        let found: Result<Vec<Walks>> =
            control.install(|| starts.into_par_iter().with_max_len(1).map(run).collect());
        for walks in found? {
            control.check()?;
            let mut begin = 0;
            for &end in &walks.ends {
                walk(&walks.vertices[begin..end]);
                begin = end;
            }
            summary.walks += walks.ends.len() as u64;
            summary.steps += walks.vertices.len() as u64;
        }
        control.report(end as u64, count as u64);
    }
    Ok(summary)
}

fn check(graph: &Csr, settings: &Settings) -> Result<()> {
    for &v in settings.sources.iter().flatten() {
        require_vertex(graph.vertices(), "a source", v)?;
    }
    if settings.walk_length == 0 {
        return Err(Error::invalid("walk_length is 0, and must be at least 1"));
    }
    let factors =
        [("in_out_factor", settings.in_out_factor), ("return_factor", settings.return_factor)];
    for (name, factor) in factors {
        let share = 1.0 / factor;
        if !factor.is_finite() || factor <= 0.0 || !share.is_finite() {
            return Err(Error::invalid(format!(
                "{name} is {factor}, and must be a finite number above 0"
            )));
        }
    }
    Ok(())
}

struct Walker<'a> {
    graph: &'a Csr,
    settings: &'a Settings,
    /// Sums of the weights in each list up to and with each edge; empty without weights.
    sums: Vec<f64>,
    /// Factor of the way back.
    back: f64,
    /// Factor of the way out.
    out: f64,
    most: f64,
}

impl<'a> Walker<'a> {
    fn new(graph: &'a Csr, settings: &'a Settings, control: &Control<'_>) -> Result<Self> {
        let mut sums = vec![0.0; if graph.is_weighted() { graph.edges() as usize } else { 0 }];
        if graph.is_weighted() {
            fill_lists(graph, &mut sums, control, |v, list| {
                let mut sum = 0.0;
                for (cell, (_, weight)) in list.iter_mut().zip(graph.weighted(v)) {
                    sum += weight;
                    *cell = sum;
                }
            })?;
        }
        let (back, out) = (1.0 / settings.return_factor, 1.0 / settings.in_out_factor);
        Ok(Self { graph, settings, sums, back, out, most: back.max(out).max(1.0) })
    }

    fn walk_from(&self, source: u32, walks: &mut Walks, pace: &mut Pace<'_, '_>) -> Result<()> {
        if self.graph.of(source).is_empty() {
            return Ok(());
        }
        let mut random = Random::new(self.settings.seed, u64::from(source));
        for _ in 0..self.settings.walks_per_node {
            let (mut before, mut v) = (NONE, source);
            walks.vertices.push(v);
            for _ in 1..self.settings.walk_length {
                pace.spend(1)?;
                let Some(next) = self.step(before, v, &mut random, pace)? else { break };
                walks.vertices.push(next);
                (before, v) = (v, next);
            }
            walks.ends.push(walks.vertices.len());
        }
        Ok(())
    }

    /// The vertex after `v` of a walk that came from `before`.
    fn step(
        &self,
        before: u32,
        v: u32,
        random: &mut Random,
        pace: &mut Pace<'_, '_>,
    ) -> Result<Option<u32>> {
        let plain = before == NONE || (self.back == 1.0 && self.out == 1.0);
        for _ in 0..TRIES {
            let Some(x) = self.draw(v, random) else { return Ok(None) };
            if plain || self.keeps(random.unit() * self.most, before, x) {
                return Ok(Some(x));
            }
        }
        // Twice over the list: once for the sum, once for the place.
        pace.spend(2 * self.graph.of(v).len())?;
        let chances = || self.graph.weighted(v).map(|(x, w)| (x, w * self.factor(before, x)));
        let mut left = random.unit() * chances().map(|chance| chance.1).sum::<f64>();
        let mut last = None;
        for (x, chance) in chances().filter(|chance| chance.1 > 0.0) {
            last = Some(x);
            left -= chance;
            if left < 0.0 {
                break;
            }
        }
        Ok(last)
    }

    /// True if `chance` is below the factor of `x`. Most chances need no search in a list for that.
    fn keeps(&self, chance: f64, before: u32, x: u32) -> bool {
        if x == before {
            chance < self.back
        } else {
            let (least, most) = (self.out.min(1.0), self.out.max(1.0));
            chance < least || (chance < most && chance < self.factor(before, x))
        }
    }

    fn factor(&self, before: u32, x: u32) -> f64 {
        if x == before {
            self.back
        } else if self.graph.of(before).binary_search(&x).is_ok() {
            1.0
        } else {
            self.out
        }
    }

    /// A neighbour of `v` by weight.
    fn draw(&self, v: u32, random: &mut Random) -> Option<u32> {
        let list = self.graph.of(v);
        if list.is_empty() {
            return None;
        }
        if self.sums.is_empty() {
            return Some(list[random.below(list.len() as u32) as usize]);
        }
        let first = self.graph.first_edge(v) as usize;
        let sums = &self.sums[first..first + list.len()];
        let total = sums[sums.len() - 1];
        let place = random.unit() * total;
        // Edges of weight 0 have the sum of the one before, so they are never the first above.
        let at = sums.partition_point(|&sum| sum <= place);
        (total > 0.0).then(|| list[at.min(list.len() - 1)])
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::paths::path::{sample, threads};

    fn walks(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Vec<Vec<u32>> {
        let mut walks = Vec::new();
        let summary = random_walk(graph, settings, control, |walk| walks.push(walk.to_vec()));
        let steps = walks.iter().map(|walk| walk.len() as u64).sum();
        assert_eq!(summary.unwrap(), Summary { walks: walks.len() as u64, steps });
        walks
    }

    #[test]
    fn walks_follow_edges_and_do_not_depend_on_threads() {
        let pool = threads(3);
        for seed in 0..60 {
            let graph = sample(seed);
            let n = graph.vertices();
            let factors = [1.0, 0.25, 4.0, 1e-3, 1e3];
            let settings = Settings {
                sources: (seed % 3 == 1).then(|| vec![n - 1, 0]),
                walk_length: 1 + seed as u32 % 9,
                walks_per_node: seed as u32 % 4,
                in_out_factor: factors[seed as usize % 5],
                return_factor: factors[seed as usize / 5 % 5],
                seed,
            };
            let found = walks(&graph, &settings, &Control::default());
            let heavy = |u: u32| graph.weighted(u).any(|edge| edge.1 > 0.0);
            for walk in &found {
                for step in walk.windows(2) {
                    let edge = |(x, weight): (u32, f64)| x == step[1] && weight > 0.0;
                    assert!(graph.weighted(step[0]).any(edge));
                }
                let whole = walk.len() == settings.walk_length as usize;
                assert!(whole || !heavy(walk[walk.len() - 1]));
            }
            let all: Vec<u32> = (0..n).collect();
            let starts = settings.sources.as_ref().unwrap_or(&all).iter();
            let starts: Vec<u32> = starts
                .filter(|&&v| !graph.of(v).is_empty())
                .flat_map(|&v| vec![v; settings.walks_per_node as usize])
                .collect();
            assert_eq!(found.iter().map(|walk| walk[0]).collect::<Vec<_>>(), starts);
            assert_eq!(walks(&graph, &settings, &Control::default().on(&pool)), found);
        }
    }

    #[test]
    fn many_vertices_run_in_several_batches_with_one_order() {
        let graph = Csr::from_edges(5000, &crate::testing::random_edges(1, 5000, 20_000));
        let settings = Settings { return_factor: 4.0, ..Default::default() };
        let found = walks(&graph, &settings, &Control::default());
        let pool = threads(3);
        assert_eq!(walks(&graph, &settings, &Control::default().on(&pool)), found);
    }

    /// Chances of each vertex after `t`, `v`, by the definition.
    fn verify(graph: &Csr, settings: &Settings, t: u32, v: u32) -> HashMap<u32, f64> {
        let mut chances = HashMap::new();
        for (x, weight) in graph.weighted(v) {
            let factor = if x == t {
                1.0 / settings.return_factor
            } else if graph.of(t).contains(&x) {
                1.0
            } else {
                1.0 / settings.in_out_factor
            };
            *chances.entry(x).or_insert(0.0) += weight * factor;
        }
        let total: f64 = chances.values().sum();
        chances.values_mut().for_each(|chance| *chance /= total);
        chances
    }

    #[test]
    fn steps_are_as_frequent_as_the_definition_says() {
        let edges = [(0, 1, 1.0), (0, 2, 2.0), (1, 2, 0.5), (1, 3, 3.0), (3, 3, 0.25), (1, 3, 1.0)];
        let weighted = Csr::from_weighted(4, &edges).undirected();
        let plain: Vec<_> = weighted.all_edges().map(|(u, v, _)| (u, v)).collect();
        for graph in [Csr::from_edges(4, &plain), weighted] {
            for (q, p) in [(1.0, 1.0), (0.5, 4.0), (3.0, 0.2), (1.0, 500.0), (1e-3, 1.0)] {
                let settings = Settings {
                    walk_length: 60,
                    walks_per_node: 1500,
                    in_out_factor: q,
                    return_factor: p,
                    ..Default::default()
                };
                let mut counts: HashMap<(u32, u32), HashMap<u32, f64>> = HashMap::new();
                for walk in walks(&graph, &settings, &Control::default()) {
                    for step in walk.windows(3) {
                        let after = counts.entry((step[0], step[1])).or_default();
                        *after.entry(step[2]).or_default() += 1.0;
                    }
                }
                for ((t, v), after) in counts {
                    let total: f64 = after.values().sum();
                    for (x, chance) in verify(&graph, &settings, t, v) {
                        let share = after.get(&x).copied().unwrap_or(0.0) / total;
                        let error = 5.0 * (chance * (1.0 - chance) / total).sqrt() + 5.0 / total;
                        assert!((share - chance).abs() < error, "{t} {v} {x}: {share}, {chance}");
                    }
                }
            }
        }
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let run = |graph: &Csr, settings: &Settings, control: &Control<'_>| {
            random_walk(graph, settings, control, |_| {})
        };
        let control = Control::default();
        for settings in [
            Settings { sources: Some(vec![2]), ..Default::default() },
            Settings { walk_length: 0, ..Default::default() },
            Settings { in_out_factor: 0.0, ..Default::default() },
            Settings { return_factor: f64::NAN, ..Default::default() },
            Settings { return_factor: -1.0, ..Default::default() },
            Settings { in_out_factor: f64::INFINITY, ..Default::default() },
        ] {
            assert!(matches!(run(&graph, &settings, &control), Err(Error::Invalid(_))));
        }
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        let found = run(&negative, &Settings::default(), &control);
        assert!(matches!(found, Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(run(&graph, &Settings::default(), &stopped), Err(Error::Stopped));
        let empty = Csr::from_edges(0, &[]);
        assert_eq!(walks(&empty, &Settings::default(), &control), Vec::<Vec<u32>>::new());
    }
}
