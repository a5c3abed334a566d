//! Reads: scans, searches and graph kernels over a pair of topologies.

use super::WrongAnswer;
use crate::measure::{self, Samples};
use telar_algo::pagerank::Settings;
use telar_algo::{bfs, pagerank, triangles};
use telar_generate::csr::Csr;
use telar_generate::rng::Rng;
use telar_generate::{Edge, edges};
use telar_graph::topology::Topology;

/// A read that is timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kernel {
    /// Sum of all neighbours, vertices in order; work: entries.
    Scan,
    /// Sum of all neighbours, vertices in random order; work: entries.
    RandomScan,
    /// Whether edges exist, half of which do; work: searches.
    Search,
    /// Degree of each vertex, in random order: what it costs to find one; work: vertices.
    SearchVertex,
    /// Degree of each vertex, in order; work: vertices.
    ScanVertices,
    /// PageRank over in-neighbours; work: entries times iterations.
    PageRank,
    /// Breadth-first search from the vertex of highest degree; work: entries out of reached
    /// vertices.
    Bfs,
    /// Triangles with their smallest vertex in a sample; work: entries of the sample.
    Triangles,
}

impl Kernel {
    /// The scans, searches and algorithms that make sense on any directed graph.
    pub const DIRECTED: [Self; 5] =
        [Self::Scan, Self::RandomScan, Self::Search, Self::PageRank, Self::Bfs];

    /// Returns the name that tables and reports use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Scan => "scan",
            Self::RandomScan => "random_scan",
            Self::Search => "search",
            Self::SearchVertex => "search_vertex",
            Self::ScanVertices => "scan_vertices",
            Self::PageRank => "pagerank",
            Self::Bfs => "bfs",
            Self::Triangles => "triangles",
        }
    }
}

/// Sizes of the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Edges searched for.
    pub searches: usize,
    /// Iterations of PageRank.
    pub iterations: u32,
    /// One vertex in this many is a root of [`Kernel::Triangles`].
    pub triangle_sample: u32,
    /// Seed of the random order and the searches.
    pub seed: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { searches: 1 << 20, iterations: 10, triangle_sample: 1, seed: 1 }
    }
}

/// The inputs of the reads, and what the CSR answers.
pub struct ReadPlan<'a> {
    out: &'a Csr,
    incoming: &'a Csr,
    order: Vec<u32>,
    searches: Vec<Edge>,
    roots: Vec<u32>,
    source: u32,
    out_degrees: Vec<u32>,
    settings: Settings,
}

/// What a kernel answers.
#[derive(Clone, Debug, PartialEq)]
enum Answer {
    Count(u64),
    Depths(Vec<u32>),
    Scores(Vec<f64>),
}

impl<'a> ReadPlan<'a> {
    /// Returns the plan for the graph held by two CSRs. [`Kernel::Triangles`] needs edges that were
    /// oriented or symmetrised (see [`edges`]).
    ///
    /// # Panics
    /// If the graph has no edge.
    pub fn new(out: &'a Csr, incoming: &'a Csr, options: &ReadOptions) -> Self {
        assert!(out.edges() > 0, "there is nothing to read");
        let n = out.vertex_bound();
        let mut rng = Rng::new(options.seed);
        let order = edges::permutation(n, rng.bits());
        let searches = (0..options.searches).map(|i| search(out, &mut rng, i)).collect();
        Self {
            out,
            incoming,
            order,
            searches,
            roots: (0..n).step_by(options.triangle_sample.max(1) as usize).collect(),
            source: (0..n).max_by_key(|&v| out.degree(v)).unwrap_or(0),
            out_degrees: pagerank::out_degrees(out, n),
            settings: Settings::fixed(options.iterations),
        }
    }

    fn answer<T: Topology>(&self, kernel: Kernel, out: &T, incoming: &T) -> Answer {
        let mut sum = 0;
        let mut add = |_, run: &[u32]| sum += run.iter().map(|&u| u64::from(u)).sum::<u64>();
        match kernel {
            Kernel::Scan => {
                out.scan(0..out.vertex_bound(), add);
                Answer::Count(sum)
            }
            Kernel::RandomScan => {
                out.visit(&self.order, &mut add);
                Answer::Count(sum)
            }
            Kernel::Search => {
                let hits = self.searches.iter().filter(|&&(u, v)| out.contains(u, v)).count();
                Answer::Count(hits as u64)
            }
            Kernel::SearchVertex => {
                let degrees = self.order.iter().map(|&v| u64::from(out.degree(v)));
                Answer::Count(degrees.sum())
            }
            Kernel::ScanVertices => {
                let degrees = (0..out.vertex_bound()).map(|v| u64::from(out.degree(v)));
                Answer::Count(degrees.sum())
            }
            Kernel::PageRank => {
                let found = pagerank::pagerank(incoming, &self.out_degrees, &self.settings);
                Answer::Scores(found.scores)
            }
            Kernel::Bfs => Answer::Depths(bfs::bfs(out, self.out.vertex_bound(), self.source)),
            Kernel::Triangles => {
                Answer::Count(triangles::triangles_from(out, self.roots.iter().copied()))
            }
        }
    }

    /// Returns the units of work in `kernel`, given its answer.
    fn work(&self, kernel: Kernel, answer: &Answer) -> u64 {
        let entries = |v: u32| u64::from(self.out.degree(v));
        match (kernel, answer) {
            (Kernel::Scan | Kernel::RandomScan, _) => self.out.edges(),
            (Kernel::Search, _) => self.searches.len() as u64,
            (Kernel::SearchVertex | Kernel::ScanVertices, _) => self.order.len() as u64,
            (Kernel::PageRank, _) => {
                self.incoming.edges() * u64::from(self.settings.iterations_max)
            }
            (Kernel::Bfs, Answer::Depths(depths)) => {
                let reached = (0..).zip(depths).filter(|(_, depth)| **depth != bfs::UNREACHED);
                reached.map(|(v, _)| entries(v)).sum()
            }
            _ => self.roots.iter().map(|&v| entries(v)).sum(),
        }
    }
}

/// Returns an existing edge if `i` is even; if odd, the source of one with any vertex as target.
/// Sources come in proportion to their degree, so that searches meet the lists that matter.
fn search(out: &Csr, rng: &mut Rng, i: usize) -> Edge {
    let (u, v) = out.edge(rng.index(out.edges() as usize));
    if i.is_multiple_of(2) { (u, v) } else { (u, rng.index(out.vertex_bound() as usize) as u32) }
}

impl Answer {
    /// Returns how `found` differs from this expected answer.
    fn difference(&self, found: &Self) -> Option<String> {
        match (self, found) {
            (Self::Count(expected), Self::Count(found)) => {
                (expected != found).then(|| format!("{found}, not {expected}"))
            }
            (Self::Depths(expected), Self::Depths(found)) => {
                (expected != found).then(|| "other depths".to_owned())
            }
            (Self::Scores(expected), Self::Scores(found)) => {
                // Runs may come in another order, and additions with them.
                let far = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-9 * a.abs();
                let differs = expected.len() != found.len() || expected.iter().zip(found).any(far);
                differs.then(|| "other scores".to_owned())
            }
            _ => Some("another kind of answer".to_owned()),
        }
    }
}

type AnswerFn<'a> = dyn FnMut(&ReadPlan<'_>, Kernel) -> Answer + 'a;

/// One store among those compared.
pub struct Subject<'a> {
    name: String,
    answer: Box<AnswerFn<'a>>,
}

impl<'a> Subject<'a> {
    /// Returns the subject with this name and adjacency.
    pub fn new<T: Topology>(name: impl Into<String>, out: &'a T, incoming: &'a T) -> Self {
        let answer = |plan: &ReadPlan<'_>, kernel| plan.answer(kernel, out, incoming);
        Self { name: name.into(), answer: Box::new(answer) }
    }
}

/// How fast one subject answered one kernel.
#[derive(Clone, Debug)]
pub struct ReadOutcome {
    /// Who.
    pub subject: String,
    /// What.
    pub kernel: Kernel,
    /// Processor seconds of each run.
    pub samples: Samples,
    /// Units of work per run; the kernel says which.
    pub work: u64,
}

impl ReadOutcome {
    /// Returns millions of units per second in the median run.
    pub fn millions_per_s(&self) -> f64 {
        self.work as f64 / self.samples.median() / 1e6
    }

    /// Returns this speed as a multiple of another's; above 1 is faster.
    pub fn speed_ratio(&self, reference: &Self) -> f64 {
        reference.samples.median() / self.samples.median()
    }
}

/// Checks every subject's answer to `kernel`, then times them in turns. The CSR itself is a subject
/// like others if its ratio is wanted.
///
/// # Errors
/// The first wrong answer.
pub fn run_reads(
    plan: &ReadPlan<'_>,
    kernel: Kernel,
    subjects: &mut [Subject<'_>],
    rounds: usize,
) -> Result<Vec<ReadOutcome>, WrongAnswer> {
    let expected = plan.answer(kernel, plan.out, plan.incoming);
    for subject in subjects.iter_mut() {
        if let Some(difference) = expected.difference(&(subject.answer)(plan, kernel)) {
            let difference = format!("{}: {difference}", kernel.name());
            return Err(WrongAnswer { subject: subject.name.clone(), difference });
        }
    }
    let samples = measure::interleave(subjects.len(), rounds, |subject, _| {
        Ok(measure::time(|| (subjects[subject].answer)(plan, kernel)).1.cpu_s)
    })?;
    let outcome = |(subject, samples): (&mut Subject<'_>, Samples)| ReadOutcome {
        subject: subject.name.clone(),
        kernel,
        samples,
        work: plan.work(kernel, &expected),
    };
    Ok(subjects.iter_mut().zip(samples).map(outcome).collect())
}

#[cfg(test)]
mod tests;
