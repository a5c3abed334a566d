//! All-pairs shortest paths: distances from all vertices, some of them, or a random sample.
//!
//! Result: each pair of a source and another vertex that it reaches, with the distance, handed to a
//! callback: sources in the order given (or ascending), targets ascending. No matrix is kept. Of
//! parallel edges the lightest counts, loops do not.
//!
//! Method: one search per source, breadth first without weights and Dijkstra's with them. As many
//! searches as there are threads run at once; their rows are handed out in order.
//!
//! Cost: one search per source, O((n + m) log n), O(n + m) without weights. *Memory*: 12 bytes per
//! vertex and 16 per edge that waits, for each row at work, which are twice as many as threads.
//!
//! Source: Dijkstra, "A note on two problems in connexion with graphs", 1959; sampling as in
//! Eppstein and Wang, "Fast approximation of centrality", SODA 2001.

use rayon::prelude::*;

use super::path::{Pace, Queue, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;
use crate::random::Random;

/// Rows computed and not yet handed out, for each thread.
const ROWS_PER_THREAD: usize = 2;

/// Choice of sources.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Settings {
    /// Sources, each in the graph. `None` takes every vertex.
    pub sources: Option<Vec<u32>>,
    /// Number of sources to draw at random from the above, without repetition; at least 1. `None`
    /// takes all.
    pub sample: Option<u32>,
    /// Seed of the sample.
    pub seed: u64,
}

/// Counts of a run of [`all_pairs`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// Number of sources searched from.
    pub sources: u64,
    /// Number of pairs handed out.
    pub pairs: u64,
}

/// Upper estimate of memory beyond the graph, in bytes, on this number of threads.
#[must_use]
pub fn bytes(n: u64, m: u64, threads: usize) -> u64 {
    4 * n + (ROWS_PER_THREAD * threads) as u64 * 12 * n + threads as u64 * 16 * m.min(4 * n)
}

/// One search.
#[derive(Default)]
struct Row {
    distances: Vec<f64>,
    queue: Queue,
    frontier: Vec<u32>,
}

impl Row {
    fn search(&mut self, graph: &Csr, source: u32, control: &Control<'_>) -> Result<()> {
        self.distances.clear();
        self.distances.resize(graph.vertices() as usize, f64::INFINITY);
        self.distances[source as usize] = 0.0;
        let mut pace = Pace::new(control);
        control.check()?;
        if graph.is_weighted() {
            self.dijkstra(graph, source, &mut pace)
        } else {
            self.breadth_first(graph, source, &mut pace)
        }
    }

    fn dijkstra(&mut self, graph: &Csr, source: u32, pace: &mut Pace<'_, '_>) -> Result<()> {
        self.queue.clear();
        self.queue.push(0.0, source);
        while let Some((distance, u)) = self.queue.pop() {
            if distance > self.distances[u as usize] {
                continue;
            }
            pace.spend(graph.of(u).len())?;
            for (v, weight) in graph.weighted(u) {
                let reach = distance + weight;
                if reach < self.distances[v as usize] {
                    self.distances[v as usize] = reach;
                    self.queue.push(reach, v);
                }
            }
        }
        Ok(())
    }

    fn breadth_first(&mut self, graph: &Csr, source: u32, pace: &mut Pace<'_, '_>) -> Result<()> {
        self.frontier.clear();
        self.frontier.push(source);
        let mut at = 0;
        while let Some(&u) = self.frontier.get(at) {
            at += 1;
            pace.spend(graph.of(u).len())?;
            let reach = self.distances[u as usize] + 1.0;
            for &v in graph.of(u) {
                if self.distances[v as usize].is_infinite() {
                    self.distances[v as usize] = reach;
                    self.frontier.push(v);
                }
            }
        }
        Ok(())
    }
}

/// Sources that the settings ask for.
fn sources(n: u32, settings: &Settings) -> Result<Vec<u32>> {
    let mut sources = match &settings.sources {
        None => (0..n).collect(),
        Some(sources) => {
            sources.iter().try_for_each(|&v| require_vertex(n, "a source", v))?;
            sources.clone()
        }
    };
    match settings.sample {
        None => {}
        Some(0) => return Err(Error::invalid("sample is 0, and must be at least 1")),
        Some(sample) => {
            // Fisher-Yates, as far as needed.
            let mut random = Random::new(settings.seed, 0);
            let count = (sample as usize).min(sources.len());
            for at in 0..count {
                let other = at + random.below((sources.len() - at) as u32) as usize;
                sources.swap(at, other);
            }
            sources.truncate(count);
            sources.sort_unstable();
        }
    }
    Ok(sources)
}

/// Calls `pair(source, target, distance)` for each source and each other vertex that it reaches
/// along the edges of `graph`. Weights must not be negative.
pub fn all_pairs(
    graph: &Csr,
    settings: &Settings,
    control: &Control<'_>,
    mut pair: impl FnMut(u32, u32, f64),
) -> Result<Summary> {
    graph.require_weights("all pairs", 0.0, control)?;
    let sources = sources(graph.vertices(), settings)?;
    control.check()?;
    let mut rows: Vec<Row> = Vec::new();
    rows.resize_with((ROWS_PER_THREAD * control.threads()).min(sources.len()), Row::default);
    let mut summary = Summary { sources: 0, pairs: 0 };
    for batch in sources.chunks(rows.len().max(1)) {
        control.install(|| {
            rows.par_iter_mut()
                .zip(batch)
                .with_max_len(1)
                .try_for_each(|(row, &source)| row.search(graph, source, control))
        })?;
        for (row, &source) in rows.iter().zip(batch) {
            control.check()?;
            for (target, &distance) in (0..).zip(&row.distances) {
                if distance.is_finite() && target != source {
                    pair(source, target, distance);
                    summary.pairs += 1;
                }
            }
            summary.sources += 1;
        }
        control.report(summary.sources, sources.len() as u64);
    }
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::path::{sample, threads};
    use crate::paths::sssp;

    fn rows(graph: &Csr, settings: &Settings, control: &Control<'_>) -> Vec<(u32, u32, f64)> {
        let mut rows = Vec::new();
        let summary =
            all_pairs(graph, settings, control, |u, v, distance| rows.push((u, v, distance)));
        assert_eq!(summary.unwrap().pairs, rows.len() as u64);
        rows
    }

    /// Bellman-Ford from each source.
    fn verify(graph: &Csr, sources: &[u32]) -> Vec<(u32, u32, f64)> {
        let row = |&u: &u32| {
            let distances = sssp::verify(graph, u);
            (0..).zip(distances).map(move |(v, distance)| (u, v, distance))
        };
        let rows = sources.iter().flat_map(row);
        rows.filter(|(u, v, distance)| u != v && distance.is_finite()).collect()
    }

    #[test]
    fn distances_on_random_graphs_equal_bellman_ford_in_order() {
        let pool = threads(3);
        for seed in 0..60 {
            let graph = sample(seed);
            let n = graph.vertices();
            let all: Vec<u32> = (0..n).collect();
            let found = rows(&graph, &Settings::default(), &Control::default());
            assert_eq!(found, verify(&graph, &all), "seed {seed}");
            let some = Settings { sources: Some(vec![n - 1, 0]), ..Default::default() };
            let control = Control::default().on(&pool);
            assert_eq!(rows(&graph, &some, &control), verify(&graph, &[n - 1, 0]));
            assert_eq!(rows(&graph, &Settings::default(), &control), found);
            let drawn = Settings { sample: Some(4), seed, ..Default::default() };
            let picked = sources(n, &drawn).unwrap();
            assert_eq!(picked.len(), 4.min(n as usize));
            assert!(picked.is_sorted_by(|a, b| a < b));
            assert_eq!(rows(&graph, &drawn, &control), verify(&graph, &picked));
        }
    }

    #[test]
    fn empty_graph_has_no_pairs() {
        let empty = Csr::from_edges(0, &[]);
        let settings = Settings { sample: Some(3), ..Default::default() };
        assert!(rows(&empty, &settings, &Control::default()).is_empty());
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let run = |graph: &Csr, settings: &Settings, control: &Control<'_>| {
            all_pairs(graph, settings, control, |_, _, _| {})
        };
        let control = Control::default();
        for settings in [
            Settings { sources: Some(vec![2]), ..Default::default() },
            Settings { sample: Some(0), ..Default::default() },
        ] {
            assert!(matches!(run(&graph, &settings, &control), Err(Error::Invalid(_))));
        }
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        let found = run(&negative, &Settings::default(), &control);
        assert!(matches!(found, Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(run(&graph, &Settings::default(), &stopped), Err(Error::Stopped));
    }
}
