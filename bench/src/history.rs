//! History: what scans of the past take, and what keeping it costs the present.
//!
//! Two databases in memory take the same edges and the same changes in turns; one keeps history.
//! Every snapshot that is timed is first compared with the list of edges it should show.

use std::collections::HashSet;
use std::fmt;

use telar_engine::{EdgeTypeOptions, Engine, Error, Retention, Settings, Snapshot};
use telar_generate::rng::Rng;
use telar_generate::{Rmat, rmat};
use telar_graph::{CommitTs, Direction, EdgeId, EdgeTypeId, PropertyKeyId, Topology, VertexId};

use crate::figures::{Bound, Figures};
use crate::machine::Machine;
use crate::measure;

/// Edges of one transaction.
const BATCH: usize = 64;
/// Percent of the edges that are replaced where few are.
const FEW_PERCENT: u64 = 1;
/// Largest ratio of a scan of the past to one of the present.
const SCAN_MAX: Bound = Bound::AtMost(2.0);
/// Most bytes per superseded entry of a list.
const BYTES_MAX: Bound = Bound::AtMost(10.0);

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Vertices, as a power of two.
    pub scale: u32,
    /// Edges per vertex.
    pub factor: u32,
    /// Percent of the edges that go, and as many that come, after the timestamp that is read.
    pub churn: u64,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Seed of graph and changes.
    pub seed: u64,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The engine refused something.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A snapshot shows other edges than it should.
    #[error("wrong answer: {0}")]
    Wrong(String),
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    machine: Machine,
    options: Options,
    figures: Figures,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine.line())?;
        let Options { scale, factor, churn, rounds, seed } = self.options;
        writeln!(
            f,
            "rmat:{scale}:{factor}, {churn} % of the edges replaced, transactions of {BATCH}, \
             {rounds} rounds, seed {seed}\n"
        )?;
        write!(f, "{}", self.figures)
    }
}

type Pair = (u32, u32);

/// The graph before and after, and what leads from one to the other.
struct Plan {
    vertices: u32,
    before: Vec<Pair>,
    gone: Vec<Pair>,
    new: Vec<Pair>,
}

impl Plan {
    fn new(options: &Options) -> Self {
        let parameters =
            Rmat { scale: options.scale, edge_factor: options.factor, seed: options.seed };
        let vertices = parameters.vertices();
        let mut rng = Rng::new(options.seed);
        let mut all: Vec<Pair> = rmat(&parameters);
        all.sort_unstable();
        all.dedup();
        rng.shuffle(&mut all);
        let changed = (all.len() as u64 * options.churn / 100) as usize;
        let new = all.split_off(all.len() - changed);
        let gone = all[..changed].to_vec();
        rng.shuffle(&mut all);
        Self { vertices, before: all, gone, new }
    }

    fn after(&self) -> Vec<Pair> {
        let gone: HashSet<Pair> = self.gone.iter().copied().collect();
        self.before.iter().filter(|e| !gone.contains(e)).chain(&self.new).copied().collect()
    }
}

/// A database in memory with one edge type.
struct World {
    db: Engine,
    ty: EdgeTypeId,
    kind: Kind,
    key: PropertyKeyId,
}

/// How lists are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Simple,
    General,
    Timed,
}

/// Milliseconds between the times of two edges of a time-ordered type.
const STEP_MS: i64 = 250;
/// Time of the first of them.
const FIRST_MS: i64 = 1_760_000_000_000;

impl World {
    fn new(plan: &Plan, kind: Kind, keeps: bool) -> Result<Self, Error> {
        let mut settings = Settings::default();
        // Nothing but what is measured runs.
        settings.background_interval_ms = 0;
        if keeps {
            // Of the changes, but not of what was there before them.
            let commits = plan.gone.chunks(BATCH).len() + plan.new.chunks(BATCH).len();
            settings.retain = Retention::commits(commits.max(1) as u64);
        }
        let db = Engine::in_memory(settings)?;
        let key = db.property_key("time")?;
        let options = match kind {
            Kind::Simple => EdgeTypeOptions::simple(),
            Kind::General => EdgeTypeOptions::general(),
            Kind::Timed => EdgeTypeOptions::newest_first(key),
        };
        let ty = db.edge_type("E", options)?;
        let mut txn = db.begin()?;
        for _ in 0..plan.vertices {
            txn.create_vertex(&[])?;
        }
        txn.commit()?;
        Ok(Self { db, ty, kind, key })
    }

    fn insert(&self, edges: &[Pair]) -> Result<(), Error> {
        let mut time = FIRST_MS;
        for batch in edges.chunks(BATCH) {
            let mut txn = self.db.begin()?;
            for &(u, v) in batch {
                let (u, v) = (vertex(u), vertex(v));
                time += STEP_MS;
                let properties = [(self.key, time.into())];
                match self.kind {
                    Kind::Simple => {
                        txn.upsert_edge(self.ty, u, v)?;
                        continue;
                    }
                    Kind::General => txn.create_edge(self.ty, u, v, &[])?,
                    Kind::Timed => txn.create_edge(self.ty, u, v, &properties)?,
                };
            }
            txn.commit()?;
        }
        Ok(())
    }

    /// The identities of edges, each the only one of its pair.
    fn identities(&self, edges: &[Pair]) -> Result<Vec<EdgeId>, Error> {
        let reader = self.db.reader()?;
        let identity = |&(u, v): &Pair| {
            let mut edges = reader.edges(vertex(u), self.ty, Direction::Out);
            edges.find(|e| e.dst == vertex(v))
        };
        Ok(edges.iter().filter_map(identity).collect())
    }

    fn delete(&self, edges: &[EdgeId]) -> Result<(), Error> {
        for batch in edges.chunks(BATCH) {
            let mut txn = self.db.begin()?;
            for edge in batch {
                txn.delete_edge(*edge)?;
            }
            txn.commit()?;
        }
        Ok(())
    }
}

fn vertex(v: u32) -> VertexId {
    VertexId::from_raw(v.into())
}

/// Compares what a snapshot shows, in both directions, with the edges it should show.
fn check(snapshot: &Snapshot<'_>, world: &World, edges: &[Pair]) -> Result<(), HistoryError> {
    let reader = snapshot.reader();
    for direction in Direction::ALL {
        let mut expected: Vec<Pair> = match direction {
            Direction::Out => edges.to_vec(),
            Direction::In => edges.iter().map(|&(u, v)| (v, u)).collect(),
        };
        expected.sort_unstable();
        let mut found = Vec::with_capacity(edges.len());
        let lists = reader.adjacency(world.ty, direction)?;
        lists.scan(0..lists.vertex_bound(), |v, run| found.extend(run.iter().map(|w| (v, *w))));
        found.sort_unstable();
        if found != expected {
            let what = format!("{direction:?}: {} edges, not {}", found.len(), expected.len());
            return Err(HistoryError::Wrong(what));
        }
    }
    Ok(())
}

/// Adds up all neighbours.
fn scan(snapshot: &Snapshot<'_>, ty: EdgeTypeId) -> Result<u64, Error> {
    let reader = snapshot.reader();
    let lists = reader.adjacency(ty, Direction::Out)?;
    let mut sum = 0u64;
    lists.scan(0..lists.vertex_bound(), |_, run| {
        sum += run.iter().map(|v| u64::from(*v)).sum::<u64>();
    });
    Ok(sum)
}

/// Runs the benchmark; `say` is told what comes next.
///
/// # Errors
/// [`HistoryError`]; a wrong answer stops it.
pub fn run(options: &Options, say: &mut dyn FnMut(&str)) -> Result<Outcome, HistoryError> {
    let figures = Figures::default();
    let mut outcome = Outcome { machine: Machine::here(), options: *options, figures };
    say("generating the graph");
    let plan = Plan::new(options);
    let few = Plan::new(&Options { churn: FEW_PERCENT, ..*options });
    for kind in [Kind::Simple, Kind::General, Kind::Timed] {
        let name = format!("{kind:?}").to_lowercase();
        run_kind(&plan, kind, &name, options, say, &mut outcome)?;
        say(&format!("{name}: scanning where little changed"));
        run_few(&few, kind, &name, options, &mut outcome)?;
    }
    Ok(outcome)
}

fn run_kind(
    plan: &Plan,
    kind: Kind,
    name: &str,
    options: &Options,
    say: &mut dyn FnMut(&str),
    outcome: &mut Outcome,
) -> Result<(), HistoryError> {
    say(&format!("{name}: inserting with and without history"));
    let (mut inserts, mut changes) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    let mut last = [None, None];
    // The first round touches memory for the first time and does not count. One database at a time,
    // and each first as often as the other: the second finds the memory of the first.
    for round in 0..=options.rounds {
        for keeps in [round % 2 == 0, round % 2 == 1] {
            let world = World::new(plan, kind, keeps)?;
            let (done, elapsed) = measure::time(|| world.insert(&plan.before));
            done?;
            let at = world.db.published();
            let gone = world.identities(&plan.gone)?;
            let (done, changing) = measure::time(|| -> Result<(), Error> {
                world.delete(&gone)?;
                world.insert(&plan.new)
            });
            done?;
            if round > 0 {
                inserts[usize::from(keeps)].push(elapsed.cpu_s);
                changes[usize::from(keeps)].push(changing.cpu_s);
            }
            if round == options.rounds {
                last[usize::from(keeps)] = Some((world, at));
            }
        }
    }
    let mut figure = |what: &str, value: f64, bound| {
        outcome.figures.push(format!("{name}: {what}"), value, bound);
    };
    let median = |samples: &[Vec<f64>; 2], keeps: usize| measure::median(&samples[keeps]);
    let mps = 1e-6 * plan.before.len() as f64 / median(&inserts, 0);
    figure("M edges/s inserted without history", mps, None);
    let cost = |samples| 1.0 - median(samples, 0) / median(samples, 1);
    figure("share of the insert rate that history costs", cost(&inserts), None);
    figure("share of the rate of deletes and inserts", cost(&changes), None);
    let [Some((plain, _)), Some((kept, at))] = &last else { return Ok(()) };
    say(&format!("{name}: scanning past and present"));
    plain.db.settle();
    kept.db.settle();
    let superseded = (plan.gone.len() + plan.new.len()) as f64;
    let history = kept.db.history();
    let bytes = history.entry_bytes as f64;
    figure("bytes per superseded entry", bytes / history.entries.max(1) as f64, Some(BYTES_MAX));
    figure("bytes per edge that came or went, both directions", bytes / superseded, None);
    let scans = scans(plan, plain, kept, *at, options)?;
    let median = |samples: &[f64]| measure::median(samples);
    let present = median(&scans.present);
    figure("scan beside history / without it", present / median(&scans.plain), None);
    figure(
        "first scan of the past / of the present",
        median(&scans.first) / present,
        Some(SCAN_MAX),
    );
    figure(
        "later scans of the past / of the present",
        median(&scans.later) / present,
        Some(SCAN_MAX),
    );
    Ok(())
}

/// What the first scan of the past takes where few edges were replaced, as is usual.
fn run_few(
    plan: &Plan,
    kind: Kind,
    name: &str,
    options: &Options,
    outcome: &mut Outcome,
) -> Result<(), HistoryError> {
    let make = |keeps| -> Result<(World, CommitTs), Error> {
        let world = World::new(plan, kind, keeps)?;
        world.insert(&plan.before)?;
        let at = world.db.published();
        world.delete(&world.identities(&plan.gone)?)?;
        world.insert(&plan.new)?;
        world.db.settle();
        Ok((world, at))
    };
    let ((plain, _), (kept, at)) = (make(false)?, make(true)?);
    let scans = scans(plan, &plain, &kept, at, options)?;
    let first = measure::median(&scans.first) / measure::median(&scans.present);
    let what = format!("{name}: first scan of the past, {FEW_PERCENT} % of the edges replaced");
    outcome.figures.push(what, first, SCAN_MAX);
    Ok(())
}

#[derive(Default)]
struct Scans {
    plain: Vec<f64>,
    present: Vec<f64>,
    first: Vec<f64>,
    later: Vec<f64>,
}

/// Times scans in turns.
fn scans(
    plan: &Plan,
    plain: &World,
    kept: &World,
    at: CommitTs,
    options: &Options,
) -> Result<Scans, HistoryError> {
    let after = plan.after();
    check(&plain.db.snapshot()?, plain, &after)?;
    check(&kept.db.snapshot()?, kept, &after)?;
    check(&kept.db.snapshot_at(at)?, kept, &plan.before)?;
    let mut scans = Scans::default();
    let mut sums = HashSet::new();
    for _ in 0..2 * options.rounds + 1 {
        let (without, now) = (plain.db.snapshot()?, kept.db.snapshot()?);
        let past = kept.db.snapshot_at(at)?;
        for (snapshot, world, times) in [
            (&without, plain, &mut scans.plain),
            (&now, kept, &mut scans.present),
            (&past, kept, &mut scans.first),
            (&past, kept, &mut scans.later),
        ] {
            let (sum, elapsed) = measure::time(|| scan(snapshot, world.ty));
            times.push(elapsed.cpu_s);
            sums.insert(sum?);
        }
    }
    // One of before and one of after.
    if sums.len() > 2 {
        return Err(HistoryError::Wrong(format!("{} different sums of neighbours", sums.len())));
    }
    Ok(scans)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_checks_its_answers() {
        let options = Options { scale: 10, factor: 8, churn: 20, rounds: 1, seed: 1 };
        let outcome = run(&options, &mut |_| {}).unwrap();
        assert_eq!(outcome.figures.len(), 3 * 9);
        assert!(outcome.figures.iter().all(|(_, value, _)| value.is_finite()));
        assert!(outcome.to_string().contains("bytes per superseded entry"));
    }
}
