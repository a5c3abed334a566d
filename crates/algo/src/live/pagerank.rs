//! PageRank that follows a changing graph.
//!
//! Result: the score of each vertex as [`pagerank`](crate::pagerank) defines it, run until it
//! converges. Vertices without out-edges spread their score over all; parallel edges and loops
//! count.
//!
//! Method: scores are kept without their scale, as the solution of a system in which every vertex
//! has a source of 1 and vertices without out-edges keep what they have:
//!
//! ```text
//!   y(v) = 1 + d * (sum over u -> v of y(u)/outdegree(u))        score(v) = y(v) / (sum of all y)
//! ```
//!
//! These scores are those of PageRank (Gleich, theorem 2.5), and the system knows neither `n` nor
//! which vertices are dangling: a change is felt only along edges. Beside the estimate `x` of `y`
//! stand the residuals `r(v) = 1 + d * sum x(u)/outdegree(u) - x(v)`, which bound its error:
//! `|x(v) - y(v)| <= max |r| * y(v)`. A change of the edges of `u` first scales `x(u)` with its
//! degree, so that what `u` gives to each of its other neighbours stays as it was; the residuals of
//! the touched vertices are read off their in-lists again. Then each residual above the bound is
//! pushed: added to the estimate of its vertex, and `d/outdegree` of it to the residuals of the
//! neighbours, largest first by falling thresholds. Where that follows half of all edges, sweeps
//! over all in-lists do the rest.
//!
//! Accuracy: a residual is bounded by half the tolerance of the sum of all y, and by 0.02 of the
//! estimate of its vertex. By the inequality above a score s among n is certainly off by no more
//! than `n s / (1 - d)` times the tolerance. That takes all residuals to be at their bound with one
//! sign. A change takes as much as it gives, so errors cancel: after 0.1 % new edges of RMAT graphs
//! the largest error is below the tolerance (`telar bench live` fails if not). What many updates
//! leave adds up: on RMAT 18 the largest error is 1.0 times the tolerance after 10 of them, 2.0
//! after 40, at ranks above 1,000 times the tolerance.
//!
//! Cost: O(n), the in-lists of touched vertices, and the out-lists of those that are pushed, up to
//! half of all edges; beyond that what is left of the iterations from scratch. *Memory*: 21 bytes
//! per vertex, 8 more during an update, 12 more during sweeps.
//!
//! Source: Gleich, "PageRank beyond the Web", SIAM Review 2015; Zhang, Lofgren and Goel,
//! "Approximate personalized PageRank on dynamic graphs", KDD 2016 (scaling with the degree);
//! Ohsaka, Maehara and Kawarabayashi, "Efficient PageRank tracking in evolving networks", KDD 2015.

use telar_graph::topology::Topology;

use super::{BLOCK, Lists, Side, Touched, distinct};
use crate::control::{Control, Error, Result};
use crate::pagerank::{self as whole, pagerank_parallel};

/// Largest residual that may stay, as a share of the estimate of its vertex.
pub const RESIDUAL_MAX: f64 = 0.02;

/// Edges that pushes follow before sweeps over all lists are cheaper: this share of all, and so
/// many. A push writes where it goes, a sweep only reads.
const PUSHED_SHARE: u64 = 2;
const PUSHED_MIN: u64 = 1024;

/// Sum of changes at which the iterations from scratch hand over to pushing.
const HANDOVER: f64 = 1e-6;

/// Damping and accuracy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// Probability of following an edge rather than jumping anywhere; from 0 to below 1.
    pub damping: f64,
    /// Error of a score that is aimed at; above 0. What is certain for a score `s` among `n` is an
    /// error of at most `n s / (1 - damping)` times this: see the file's head.
    pub tolerance: f64,
}

impl Default for Settings {
    /// Damping 0.85, tolerance 1e-6.
    fn default() -> Self {
        Self { damping: 0.85, tolerance: 1e-6 }
    }
}

impl Settings {
    /// Fails if a setting is out of its range.
    pub fn check(&self) -> Result<()> {
        let Self { damping, tolerance } = self;
        if !(0.0..1.0).contains(damping) {
            let message = format!("damping is {damping}; it must be at least 0 and below 1");
            return Err(Error::invalid(message));
        }
        if !(*tolerance > 0.0 && tolerance.is_finite()) {
            let message = format!("tolerance is {tolerance}; it must be a number above 0");
            return Err(Error::invalid(message));
        }
        Ok(())
    }
}

/// Upper estimate of the bytes held for `n` vertices.
#[must_use]
pub fn bytes(n: u64) -> u64 {
    21 * n
}

/// PageRank of a changing graph.
#[derive(Debug, Clone)]
pub struct LivePageRank {
    settings: Settings,
    /// Estimates without scale; 0 for numbers that are not in use.
    estimates: Vec<f64>,
    residuals: Vec<f64>,
    degrees: Vec<u32>,
    /// True of vertices that wait to be pushed; all false between updates.
    waiting: Vec<bool>,
    /// Out-edges that were followed since the beginning.
    pushed_edges: u64,
}

impl LivePageRank {
    /// The scores of a graph without vertices.
    ///
    /// # Errors
    /// If a setting is out of range.
    pub fn empty(settings: Settings) -> Result<Self> {
        Self::from_parts(settings, Vec::new(), Vec::new(), Vec::new())
    }

    /// Finds the scores of the vertices of `outgoing`; `incoming` has its edges reversed.
    ///
    /// Cost: that of [`pagerank_parallel`] down to a change of 1e-6, on the threads of `control`,
    /// and some pushes.
    ///
    /// # Errors
    /// If a setting is out of range; [`Error::Stopped`].
    ///
    /// # Panics
    /// If the two differ in their vertices.
    pub fn new<T: Topology>(
        outgoing: &T,
        incoming: &T,
        settings: Settings,
        control: &Control<'_>,
    ) -> Result<Self> {
        settings.check()?;
        let n = outgoing.vertex_bound();
        let degrees = whole::out_degrees(outgoing, n);
        let iterated = whole::Settings {
            damping: settings.damping,
            iterations_max: 1000,
            tolerance: HANDOVER,
        };
        let ranks = pagerank_parallel(incoming, &degrees, &iterated, control)?;
        let dangling: f64 =
            ranks.scores.iter().zip(&degrees).filter(|(_, d)| **d == 0).map(|(s, _)| s).sum();
        let source = (1.0 - settings.damping + settings.damping * dangling) / f64::from(n.max(1));
        let estimates = ranks.scores.iter().map(|score| score / source).collect();
        let mut live = Self::from_parts(settings, estimates, vec![0.0; n as usize], degrees)?;
        let all: Vec<u32> = (0..n).collect();
        let lists = (outgoing, incoming);
        live.read_residuals(&all, &lists, control)?;
        live.push(&lists, control)?;
        Ok(live)
    }

    /// The state that [`parts`](Self::parts) gave.
    ///
    /// # Errors
    /// If a setting is out of range, or the parts do not fit each other.
    pub fn from_parts(
        settings: Settings,
        estimates: Vec<f64>,
        residuals: Vec<f64>,
        degrees: Vec<u32>,
    ) -> Result<Self> {
        settings.check()?;
        let n = estimates.len();
        if residuals.len() != n || degrees.len() != n {
            return Err(Error::invalid("estimates, residuals and degrees differ in their number"));
        }
        let waiting = vec![false; n];
        Ok(Self { settings, estimates, residuals, degrees, waiting, pushed_edges: 0 })
    }

    /// Estimates, residuals and degrees, for whoever stores them.
    #[must_use]
    pub fn parts(&self) -> (&[f64], &[f64], &[u32]) {
        (&self.estimates, &self.residuals, &self.degrees)
    }

    /// Score of each vertex, which add up to 1; 0 for numbers that are not in use.
    #[must_use]
    pub fn scores(&self) -> Vec<f64> {
        let sum: f64 = self.estimates.iter().sum();
        self.estimates.iter().map(|estimate| estimate / sum).collect()
    }

    /// Out-edges that pushes have followed so far: the work done.
    #[must_use]
    pub fn pushed_edges(&self) -> u64 {
        self.pushed_edges
    }

    /// Bytes held.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        bytes(self.estimates.capacity() as u64)
    }

    /// Brings the scores to the state after the changes.
    ///
    /// # Errors
    /// [`Error::Stopped`]: the scores are between two states.
    pub fn update(
        &mut self,
        touched: &Touched<'_>,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        let n = touched.n as usize;
        self.estimates.resize(n, 0.0);
        self.residuals.resize(n, 0.0);
        self.degrees.resize(n, 0);
        self.waiting.resize(n, false);
        for v in touched.came {
            (self.estimates[*v as usize], self.degrees[*v as usize]) = (1.0, 0);
        }
        for v in touched.went {
            self.estimates[*v as usize] = 0.0;
            self.residuals[*v as usize] = 0.0;
            self.degrees[*v as usize] = 0;
        }
        let is_used = |v: &u32| self.estimates[*v as usize] > 0.0;
        let sources = distinct(touched.pairs.iter().map(|pair| pair.0).filter(is_used));
        let targets = touched.pairs.iter().map(|pair| pair.1).filter(is_used);
        let targets = distinct(targets.chain(touched.came.iter().copied()));
        self.scale(&sources, lists, control)?;
        self.read_residuals(&targets, lists, control)?;
        self.push(lists, control)
    }

    /// Counts the edges of vertices again and scales their estimates with them.
    fn scale(&mut self, sources: &[u32], lists: &dyn Lists, control: &Control<'_>) -> Result<()> {
        let mut counts = Vec::new();
        for block in sources.chunks(BLOCK) {
            control.check()?;
            counts.clear();
            counts.resize(block.len(), 0u32);
            lists.visit(block, Side::Out, &mut |place, run| counts[place] += run.len() as u32)?;
            for (v, new) in block.iter().zip(&counts) {
                let v = *v as usize;
                let old = std::mem::replace(&mut self.degrees[v], *new);
                if old > 0 && *new > 0 && old != *new {
                    let estimate = self.estimates[v] / f64::from(old) * f64::from(*new);
                    self.residuals[v] += self.estimates[v] - estimate;
                    self.estimates[v] = estimate;
                }
            }
        }
        Ok(())
    }

    /// Reads the residuals of vertices off their in-lists.
    fn read_residuals(
        &mut self,
        vertices: &[u32],
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        let given = |(estimate, degree): (&f64, &u32)| estimate / f64::from(*degree);
        let given: Vec<f64> = self.estimates.iter().zip(&self.degrees).map(given).collect();
        self.gather(vertices, &given, lists, control)
    }

    /// The same, with what each vertex gives to each of its neighbours.
    fn gather(
        &mut self,
        vertices: &[u32],
        given: &[f64],
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<()> {
        let mut sums = Vec::new();
        for block in vertices.chunks(BLOCK) {
            control.check()?;
            sums.clear();
            sums.resize(block.len(), 0.0);
            lists.visit(block, Side::In, &mut |place, run| {
                sums[place] += whole::gather(run, given);
            })?;
            for (v, sum) in block.iter().zip(&sums) {
                let v = *v as usize;
                self.residuals[v] = 1.0 + self.settings.damping * sum - self.estimates[v];
            }
        }
        Ok(())
    }

    /// Bound of residuals that the tolerance gives, whatever their vertex.
    fn bound(&self) -> f64 {
        let sum: f64 = self.estimates.iter().sum();
        (self.settings.tolerance * sum / 2.0).max(f64::MIN_POSITIVE)
    }

    /// Largest residual, as a multiple of its own bound.
    fn largest(&self, bound: f64) -> f64 {
        let excess = |(r, x): (&f64, &f64)| if *r == 0.0 { 0.0 } else { r.abs() / own(bound, *x) };
        let residuals = self.residuals.iter().zip(&self.estimates);
        residuals.map(excess).fold(0.0, f64::max)
    }

    /// Works off residuals until all are within their bounds.
    fn push(&mut self, lists: &dyn Lists, control: &Control<'_>) -> Result<()> {
        let bound = self.bound();
        let edges: u64 = self.degrees.iter().map(|degree| u64::from(*degree)).sum();
        let most = self.pushed_edges + edges / PUSHED_SHARE + PUSHED_MIN;
        let mut multiple = self.largest(bound);
        // What is pushed late has gathered what others gave it meanwhile.
        while multiple > 1.0 {
            multiple = (multiple / 4.0).max(1.0);
            if !self.push_above((bound, multiple), most, lists, control)? {
                return self.sweep(bound, lists, control);
            }
        }
        Ok(())
    }

    /// Adds all residuals to their estimates, and reads all again, until they are within their
    /// bounds.
    fn sweep(&mut self, bound: f64, lists: &dyn Lists, control: &Control<'_>) -> Result<()> {
        let in_use = |(estimate, _): &(&f64, u32)| **estimate > 0.0;
        let numbered = self.estimates.iter().zip(0..);
        let all: Vec<u32> = numbered.filter(in_use).map(|(_, v)| v).collect();
        let mut given = vec![0.0; self.estimates.len()];
        while self.largest(bound) > 1.0 {
            for (estimate, residual) in self.estimates.iter_mut().zip(&self.residuals) {
                *estimate += residual;
            }
            let scores = self.estimates.iter().zip(&self.degrees);
            for (given, (estimate, degree)) in given.iter_mut().zip(scores) {
                *given = estimate / f64::from(*degree);
            }
            self.gather(&all, &given, lists, control)?;
        }
        Ok(())
    }

    /// Pushes residuals until all are within a multiple of their bounds; false once it has followed
    /// more than `most` edges.
    fn push_above(
        &mut self,
        (bound, multiple): (f64, f64),
        most: u64,
        lists: &dyn Lists,
        control: &Control<'_>,
    ) -> Result<bool> {
        let is_above =
            |residual: f64, estimate: f64| residual.abs() > multiple * own(bound, estimate);
        let all = self.residuals.iter().zip(&self.estimates).zip(0..);
        let above = all.filter(|((r, x), _)| is_above(**r, **x));
        let mut queue: Vec<u32> = above.map(|(_, v)| v).collect();
        queue.iter().for_each(|v| self.waiting[*v as usize] = true);
        let (mut next, mut shares) = (Vec::new(), Vec::new());
        while !queue.is_empty() {
            if self.pushed_edges > most {
                queue.iter().for_each(|v| self.waiting[*v as usize] = false);
                return Ok(false);
            }
            for block in queue.chunks(BLOCK) {
                control.check()?;
                shares.clear();
                for v in block {
                    let v = *v as usize;
                    self.waiting[v] = false;
                    let residual = std::mem::take(&mut self.residuals[v]);
                    self.estimates[v] += residual;
                    let degree = f64::from(self.degrees[v]);
                    shares.push(self.settings.damping * residual / degree);
                }
                let Self { estimates, residuals, waiting, pushed_edges, .. } = self;
                lists.visit(block, Side::Out, &mut |place, run| {
                    *pushed_edges += run.len() as u64;
                    for u in run {
                        let residual = &mut residuals[*u as usize];
                        *residual += shares[place];
                        if is_above(*residual, estimates[*u as usize]) && !waiting[*u as usize] {
                            waiting[*u as usize] = true;
                            next.push(*u);
                        }
                    }
                })?;
            }
            std::mem::swap(&mut queue, &mut next);
            next.clear();
        }
        Ok(true)
    }
}

/// Bound of the residual of a vertex with this estimate.
fn own(bound: f64, estimate: f64) -> f64 {
    bound.min(RESIDUAL_MAX * estimate.abs())
}

#[cfg(test)]
mod tests {
    use super::super::changing::Changing;
    use super::*;
    use crate::csr::Csr;
    use crate::testing::random_edges;

    /// Scores of the vertices in use by the definition, at the numbers that they have.
    fn expected(graph: &Changing, damping: f64) -> Vec<f64> {
        let used = graph.used();
        let mut numbers = vec![0; used.len()];
        let mut n = 0;
        for (v, used) in used.iter().enumerate() {
            numbers[v] = n;
            n += u32::from(*used);
        }
        let packed = |(u, v): &(u32, u32)| (numbers[*u as usize], numbers[*v as usize]);
        let edges: Vec<_> = graph.edges().iter().map(packed).collect();
        let scores = whole::verify(n, &edges, damping, 300);
        let score =
            |(v, used): (usize, &bool)| if *used { scores[numbers[v] as usize] } else { 0.0 };
        used.iter().enumerate().map(score).collect()
    }

    #[test]
    fn scores_after_random_changes_equal_those_from_scratch() {
        for seed in 0..40 {
            let mut graph = Changing::new(seed, 12);
            let tolerance = [1e-6, 1e-12][seed as usize % 2];
            let settings = Settings { tolerance, ..Settings::default() };
            let mut live = LivePageRank::empty(settings).unwrap();
            for round in 0..30 {
                let batch = graph.change(1 + round % 9);
                let csr = Csr::from_edges(graph.n(), graph.edges());
                let reversed = csr.reversed();
                live.update(&batch.touched(), &(&csr, &reversed), &Control::default()).unwrap();
                let expected = expected(&graph, settings.damping);
                for (found, expected) in live.scores().iter().zip(&expected) {
                    if graph.used().contains(&true) {
                        let error = (found - expected).abs();
                        let share = f64::from(graph.n()) * expected / 0.15;
                        let bound = tolerance * share + 1e-13;
                        assert!(error <= bound, "seed {seed}: {found} is not {expected}");
                    }
                }
            }
        }
    }

    #[test]
    fn scores_from_scratch_are_those_of_the_kernel_and_parts_can_be_stored() {
        let edges = random_edges(5, 3000, 20_000);
        let csr = Csr::from_edges(3000, &edges);
        let reversed = csr.reversed();
        let settings = Settings { tolerance: 1e-9, ..Settings::default() };
        let live = LivePageRank::new(&csr, &reversed, settings, &Control::default()).unwrap();
        let degrees = whole::out_degrees(&csr, 3000);
        let kernel = whole::Settings { tolerance: 1e-14, ..whole::Settings::default() };
        let expected = whole::pagerank(&reversed, &degrees, &kernel);
        for (found, expected) in live.scores().iter().zip(&expected.scores) {
            assert!((found - expected).abs() <= 1e-9, "{found} is not {expected}");
        }
        let (estimates, residuals, degrees) = live.parts();
        let parts = (estimates.to_vec(), residuals.to_vec(), degrees.to_vec());
        let again = LivePageRank::from_parts(settings, parts.0, parts.1, parts.2).unwrap();
        assert_eq!(again.scores(), live.scores());
        assert!(LivePageRank::from_parts(settings, vec![1.0], vec![], vec![0]).is_err());
    }

    #[test]
    fn a_small_change_costs_little() {
        let n = 20_000;
        let mut edges = random_edges(1, n, 200_000);
        let csr = Csr::from_edges(n, &edges);
        let (reversed, settings) = (csr.reversed(), Settings::default());
        let mut live = LivePageRank::new(&csr, &reversed, settings, &Control::default()).unwrap();
        let before = live.pushed_edges();
        edges.push((77, 78));
        let csr = Csr::from_edges(n, &edges);
        let touched = Touched { n, pairs: &[(77, 78)], ..Touched::default() };
        live.update(&touched, &(&csr, &csr.reversed()), &Control::default()).unwrap();
        let pushed = live.pushed_edges() - before;
        assert!(pushed < 10_000, "{pushed} edges were followed");
    }

    #[test]
    fn it_stops_and_refuses() {
        let csr = Csr::from_edges(3, &[(0, 1), (1, 2)]);
        let reversed = csr.reversed();
        let stop = || true;
        let control = Control::default().stopped_by(&stop);
        let found = LivePageRank::new(&csr, &reversed, Settings::default(), &control);
        assert_eq!(found.err(), Some(Error::Stopped));
        for (damping, tolerance) in [(1.0, 1.0), (-0.1, 1.0), (0.5, 0.0), (0.5, f64::NAN)] {
            let settings = Settings { damping, tolerance };
            assert!(LivePageRank::empty(settings).is_err());
        }
    }
}
