//! Live algorithms: the benchmark behind `telar bench live`.
//!
//! A graph gets one thousandth more edges, round by round. After each round PageRank that follows
//! the changes is timed against PageRank from scratch, on the same lists in place and through
//! `CALL`, on one thread. All ranks are compared with ranks iterated to the end before anything
//! counts. Figures are ratios of medians of wall time.

use telar_algo::control::Control;
use telar_algo::live::Touched;
use telar_algo::live::pagerank::{self as live, LivePageRank};
use telar_algo::pagerank::{self, pagerank_parallel};
use telar_db::{Database as Engine, Retention, Session, Settings};
use telar_engine::{BulkOptions, EdgeTypeOptions};
use telar_generate::{Rmat, edges, rmat};
use telar_graph::{Direction, EdgeTypeId, Value, VertexId};

use crate::algorithms::Failed;
use crate::figures::{Bound, Figures};
use crate::measure::{Samples, time};
use crate::report::Report;

/// Sizes of a run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Binary logarithm of the number of vertices; there are 16 times as many edges.
    pub scale: u32,
    /// Rounds; medians count.
    pub rounds: usize,
}

/// Share of the edges that are new in a round.
const NEW_SHARE: usize = 1000;

/// Bound of the error of each rank.
const TOLERANCE: f64 = 1e-6;

/// A database whose edges come in two parts.
struct World {
    engine: Engine,
    ty: EdgeTypeId,
    n: u32,
}

impl World {
    fn new(n: u32, edges: Vec<(u32, u32)>) -> Result<Self, Failed> {
        let mut settings = Settings::default();
        (settings.background_interval_ms, settings.retain) = (0, Retention::commits(1 << 20));
        let engine = Engine::in_memory(settings)?;
        let ty = engine.edge_type("EDGE", EdgeTypeOptions::general())?;
        let mut bulk = engine.bulk_load(BulkOptions::default())?;
        let name = bulk.edge_type("EDGE", EdgeTypeOptions::general())?;
        bulk.add_vertices(&[], n as usize, &[])?;
        bulk.add_edges(name, edges, Vec::new())?;
        bulk.finish(&|_, _, _| {})?;
        Ok(Self { engine, ty, n })
    }

    fn insert(&self, edges: &[(u32, u32)]) -> Result<(), Failed> {
        let vertex = |v: u32| VertexId::from_raw(v.into());
        for some in edges.chunks(100) {
            self.engine.write(Default::default(), |txn| {
                for (u, v) in some {
                    txn.create_edge(self.ty, vertex(*u), vertex(*v), &[])?;
                }
                Ok::<_, telar_db::Error>(())
            })?;
        }
        Ok(())
    }

    /// Works on the lists as they are now.
    fn on_lists<T>(
        &self,
        work: impl FnOnce(&dyn Fn(&pagerank::Settings) -> Vec<f64>, Lists<'_>) -> T,
    ) -> Result<T, Failed> {
        let reader = self.engine.reader()?;
        let outgoing = reader.adjacency(self.ty, Direction::Out)?;
        let incoming = reader.adjacency(self.ty, Direction::In)?;
        let whole = |settings: &pagerank::Settings| {
            let degrees = pagerank::out_degrees(&outgoing, self.n);
            let found = pagerank_parallel(&incoming, &degrees, settings, &Control::default());
            found.map(|found| found.scores).unwrap_or_default()
        };
        Ok(work(&whole, Lists { outgoing: &outgoing, incoming: &incoming }))
    }

    /// Ranks by node, of a statement that returns nodes and ranks.
    fn call(&self, text: &str) -> Result<Vec<f64>, Failed> {
        let mut ranks = vec![0.0; self.n as usize];
        for row in Session::new(&self.engine).run(text, &[])?.rows {
            if let (Some(Value::Int(node)), Some(Value::Float(rank))) = (row.first(), row.get(1)) {
                ranks[*node as usize] = *rank;
            }
        }
        Ok(ranks)
    }

    /// One number of a statement, so that its rows cost nothing.
    fn sum(&self, text: &str) -> Result<f64, Failed> {
        let found = Session::new(&self.engine).run(text, &[])?.rows;
        match found.first().and_then(|row| row.first()) {
            Some(Value::Float(sum)) => Ok(*sum),
            other => Err(format!("{text} gave {other:?}").into()),
        }
    }
}

/// Lists in place.
struct Lists<'a> {
    outgoing: &'a telar_db::Adjacency<'a>,
    incoming: &'a telar_db::Adjacency<'a>,
}

/// Largest error, largest error as a share of the rank, and sum of all errors.
fn errors(found: &[f64], exact: &[f64]) -> [f64; 3] {
    let mut errors = [0.0f64; 3];
    for (found, exact) in found.iter().zip(exact) {
        let error = (found - exact).abs();
        errors[0] = errors[0].max(error);
        errors[1] = errors[1].max(error / exact);
        errors[2] += error;
    }
    errors
}

/// Fails if a rank is further off than it may be.
fn check(who: &str, found: &[f64], exact: &[f64]) -> Result<[f64; 3], Failed> {
    let found = errors(found, exact);
    if found[0] > TOLERANCE {
        return Err(format!("{who}: a rank is {} off", found[0]).into());
    }
    Ok(found)
}

/// Fewest iterations after which every rank is as exact as it has to be.
fn fewest_iterations(whole: &dyn Fn(&pagerank::Settings) -> Vec<f64>, exact: &[f64]) -> u32 {
    let suffices = |iterations: &u32| {
        errors(&whole(&pagerank::Settings::fixed(*iterations)), exact)[0] <= TOLERANCE
    };
    (1..1000).find(suffices).unwrap_or(1000)
}

const EXACT: pagerank::Settings =
    pagerank::Settings { damping: 0.85, iterations_max: 1000, tolerance: 1e-13 };

/// Iterates until the changes that are left cannot move a rank by more than it may be off.
const WHOLE: pagerank::Settings = pagerank::Settings {
    damping: 0.85,
    iterations_max: 1000,
    tolerance: TOLERANCE * (1.0 - 0.85) / 0.85,
};

const LIVE: &str = "CALL algo.live.stream('ranks') YIELD node, value";
const CALLED: &str = "CALL algo.pageRank({relationships: 'EDGE'}, {concurrency: 1, \
                      maxIterations: 1000, tolerance: 1.7e-7}) YIELD node, score AS value";

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// If a rank is wrong, and those of the database.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Figures), Failed> {
    stage("making the graph");
    let parameters = Rmat { scale: options.scale, edge_factor: 16, seed: 42 };
    let mut all = rmat(&parameters);
    edges::dedup(&mut all);
    all.retain(|(u, v)| u != v);
    let per_round = (all.len() / NEW_SHARE).max(1);
    // Every k-th edge comes later: new edges are like the others.
    let every = (all.len() / (per_round * options.rounds)).max(2);
    let (mut later, mut first) = (Vec::new(), Vec::new());
    for (at, edge) in all.into_iter().enumerate() {
        if at % every == 0 { later.push(edge) } else { first.push(edge) }
    }
    // Not in the order of their sources.
    later.sort_unstable_by_key(|(u, v)| (u ^ v.rotate_left(16)).wrapping_mul(0x9e37_79b9));
    let mut report = Report::new("live");
    report.parameter("scale", options.scale);
    report.parameter("edges", first.len());
    report.parameter("new edges per round", per_round);
    let world = World::new(parameters.vertices(), first)?;
    stage("computing from scratch");
    let settings = live::Settings { tolerance: TOLERANCE, ..live::Settings::default() };
    let make = |lists: Lists<'_>| {
        LivePageRank::new(lists.outgoing, lists.incoming, settings, &Control::default())
    };
    let mut ranks = world.on_lists(|_, lists| make(lists))??;
    world.call("CALL algo.live.create('ranks', 'pageRank', {relationships: 'EDGE'})")?;
    let mut samples = vec![Samples::default(); 5];
    let (mut worst, mut pushed, mut iterations) = ([0.0f64; 3], 0, 0);
    for (round, new) in later.chunks(per_round).take(options.rounds).enumerate() {
        stage(&format!("round {}: {} new edges", round + 1, new.len()));
        world.insert(new)?;
        let (live, called) = (LIVE, CALLED);
        let (sum, elapsed) = time(|| world.sum(&format!("{live} RETURN sum(value)")));
        sum?;
        samples[3].push(elapsed.wall_s);
        let (sum, elapsed) = time(|| world.sum(&format!("{called} RETURN sum(value)")));
        sum?;
        samples[4].push(elapsed.wall_s);
        let n = world.n;
        let touched = Touched { n, pairs: new, ..Touched::default() };
        let before = ranks.pushed_edges();
        let exact = world.on_lists(|whole, lists| {
            let lists = (lists.outgoing, lists.incoming);
            let (done, elapsed) = time(|| ranks.update(&touched, &lists, &Control::default()));
            done?;
            samples[0].push(elapsed.wall_s);
            let (found, elapsed) = time(|| whole(&WHOLE));
            samples[1].push(elapsed.wall_s);
            let exact = whole(&EXACT);
            check("from scratch", &found, &exact)?;
            if round == 0 {
                iterations = fewest_iterations(whole, &exact);
            }
            let (_, elapsed) = time(|| whole(&pagerank::Settings::fixed(iterations)));
            samples[2].push(elapsed.wall_s);
            Ok::<_, Failed>(exact)
        })??;
        pushed = ranks.pushed_edges() - before;
        let by_call = format!("{live} RETURN id(node), value");
        for (who, found) in [("live", ranks.scores()), ("CALL", world.call(&by_call)?)] {
            let found = check(who, &found, &exact)?;
            worst = [0, 1, 2].map(|at| worst[at].max(found[at]));
        }
    }
    let mut figures = Figures::default();
    let mut figure = |what: &str, value: f64, bound: Option<Bound>| {
        report.figure(what.to_owned(), value);
        figures.push(what, value, bound);
    };
    let median = |at: usize| samples[at].median();
    figure("largest error of a rank", worst[0], Some(Bound::AtMost(TOLERANCE)));
    figure("largest error, as a share of the rank", worst[1], None);
    figure("sum of all errors", worst[2], None);
    figure("edges followed, as a share of all", pushed as f64 / (16.0 * f64::from(world.n)), None);
    figure("following, ms", median(0) * 1e3, None);
    figure("from scratch, times as long", median(1) / median(0), Some(Bound::AtLeast(20.0)));
    let fewest = format!("from scratch, {iterations} iterations, times as long");
    figure(&fewest, median(2) / median(0), None);
    figure("CALL algo.live.stream, ms", median(3) * 1e3, None);
    let times = median(4) / median(3);
    figure("CALL algo.pageRank, times as long", times, Some(Bound::AtLeast(20.0)));
    Ok((report, figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_that_follow_are_right_on_a_small_graph() {
        let (_, figures) = run(&Options { scale: 9, rounds: 2 }, &mut |_| {}).unwrap();
        assert_eq!(figures.len(), 9);
    }
}
