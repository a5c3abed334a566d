//! PageRank as a vertex program: the scores of [`crate::pagerank`].
//!
//! Result: one score per vertex, summing to 1.
//!
//! Method: each vertex sends its score divided by its out-degree along its edges; the combiner adds
//! up, and the aggregate carries the score of vertices without out-edges and the sum of changes.
//!
//! Cost: a message per edge and step. *Memory*: 8 bytes per vertex and 32 for inboxes.
//!
//! Source: Malewicz et al., "Pregel", SIGMOD 2010.

use super::{Step, VertexProgram};
use crate::control::{Error, Result};

/// The program.
#[derive(Debug, Clone, PartialEq)]
pub struct PageRank {
    vertices: u32,
    damping_factor: f64,
    tolerance: f64,
}

impl PageRank {
    /// Over a graph of `vertices`, with a probability of following an edge in 0..1 (usually 0.85);
    /// the run ends when the sum of absolute changes falls below `tolerance`.
    pub fn new(vertices: u32, damping_factor: f64, tolerance: f64) -> Result<Self> {
        if !(0.0..1.0).contains(&damping_factor) || tolerance.is_nan() {
            return Err(Error::invalid(format!(
                "damping_factor {damping_factor} and tolerance {tolerance}: the one is at least 0 \
                 and below 1, the other a number"
            )));
        }
        Ok(Self { vertices, damping_factor, tolerance })
    }
}

/// Sums over all vertices.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sums {
    /// Score of vertices without out-edges.
    pub dangling: f64,
    /// Sum of absolute changes.
    pub change: f64,
}

impl VertexProgram for PageRank {
    type Vertex = f64;
    type Message = f64;
    type Aggregate = Sums;
    const COMBINES: bool = true;

    fn init(&self, _: u32) -> f64 {
        1.0 / f64::from(self.vertices)
    }

    fn combine(&self, into: &mut f64, message: f64) {
        *into += message;
    }

    fn reduce(&self, into: &mut Sums, value: Sums) {
        into.dangling += value.dangling;
        into.change += value.change;
    }

    fn apply(&self, score: &mut f64, messages: &mut [f64], step: &mut Step<'_, Self>) {
        let mut sums = Sums::default();
        if step.number() > 0 {
            let damping = self.damping_factor;
            let base = 1.0 - damping + damping * step.aggregated().dangling;
            let next = base / f64::from(self.vertices) + damping * messages.iter().sum::<f64>();
            sums.change = (next - *score).abs();
            *score = next;
        }
        if step.degree() == 0 {
            sums.dangling = *score;
        } else {
            step.scatter(*score / f64::from(step.degree()));
        }
        step.aggregate(sums);
    }

    fn converged(&self, number: u32, sums: &Sums) -> bool {
        number > 0 && sums.change < self.tolerance
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::Control;
    use crate::program::{Ended, Partitioning, Settings, run};
    use crate::testing::{Lists, random_edges};

    #[test]
    fn program_gives_the_scores_of_the_kernel_whatever_the_settings() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for seed in 0..15 {
            let n = 1 + 23 * seed as u32;
            let edges = random_edges(seed, n, 3 * n as usize);
            let expected = crate::pagerank::verify(n, &edges, 0.85, 12);
            let program = PageRank::new(n, 0.85, 0.0).unwrap();
            for way in 0..32u32 {
                let settings = Settings {
                    max_iterations: 13,
                    batching: way & 1 == 0,
                    sharing: way & 2 == 0,
                    block: 1 + way / 3,
                    buffered: if way & 4 == 0 { 50 } else { 1 << 20 },
                    partitioning: match way % 5 {
                        0 => Partitioning::Auto,
                        1 => Partitioning::Range(1 + way),
                        2 => Partitioning::Degree(1 + way),
                        _ => Partitioning::Ends(vec![n / 3, n / 3, n]),
                    },
                    ..Settings::default()
                };
                let graph = Lists::out(n, &edges);
                let one = run(&program, &graph, n, &settings, &Control::default()).unwrap();
                let three =
                    run(&program, &graph, n, &settings, &Control::default().on(&pool)).unwrap();
                assert!(!settings.batching || one == three, "seed {seed}, way {way}");
                assert_eq!((three.steps, three.ended), (13, Ended::StepLimit));
                assert_eq!(three.messages, 13 * edges.len() as u64);
                for (a, b) in three.vertices.iter().zip(&expected) {
                    assert!((a - b).abs() < 1e-12, "seed {seed}, way {way}: {a} is not {b}");
                }
            }
        }
    }

    #[test]
    fn tolerance_ends_the_run_where_changes_are_small() {
        let edges = random_edges(5, 100, 600);
        let program = PageRank::new(100, 0.85, 1e-6).unwrap();
        let graph = Lists::out(100, &edges);
        let found = run(&program, &graph, 100, &Settings::default(), &Control::default()).unwrap();
        assert_eq!(found.ended, Ended::Converged);
        assert!(found.steps < 100 && found.aggregate.change < 1e-6);
        assert!(PageRank::new(1, 1.0, 0.0).is_err() && PageRank::new(1, 0.5, f64::NAN).is_err());
    }

    #[test]
    fn empty_graph_has_no_scores_and_bad_settings_are_refused() {
        let program = PageRank::new(0, 0.85, 0.0).unwrap();
        let none = Lists::out(0, &[]);
        let go = |settings: &Settings| run(&program, &none, 0, settings, &Control::default());
        assert!(go(&Settings::default()).unwrap().vertices.is_empty());
        assert!(go(&Settings { max_iterations: 0, ..Settings::default() }).is_err());
        assert!(go(&Settings { block: 0, ..Settings::default() }).is_err());
        assert!(go(&Settings { buffered: 0, ..Settings::default() }).is_err());
        for bad in [
            Partitioning::Range(0),
            Partitioning::Degree(5000),
            Partitioning::Ends(vec![]),
            Partitioning::Ends(vec![3]),
        ] {
            assert!(go(&Settings { partitioning: bad, ..Settings::default() }).is_err());
        }
    }

    #[test]
    fn program_stops_when_it_is_told_to() {
        use std::sync::atomic::{AtomicU32, Ordering};
        let edges = random_edges(5, 1000, 6000);
        let program = PageRank::new(1000, 0.85, 0.0).unwrap();
        let asked = AtomicU32::new(0);
        let stop = || asked.fetch_add(1, Ordering::Relaxed) > 20;
        let control = Control::default().stopped_by(&stop);
        let settings = Settings { block: 64, ..Settings::default() };
        let graph = Lists::out(1000, &edges);
        assert_eq!(run(&program, &graph, 1000, &settings, &control), Err(Error::Stopped));
    }
}
