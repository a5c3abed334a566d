//! Property indexes: what a lookup takes, and what keeping an index costs those who write.
//!
//! Answers are checked before anything is timed. Inserts with and without an index take turns; the
//! cost is the ratio between the medians of their processor times.

use std::fmt;
use std::ops;

use telar_engine::{
    ConstraintKind, ConstraintSpec, Engine, Error, IndexSpec, IndexTarget, Settings,
};
use telar_generate::rng::Rng;
use telar_graph::{IndexId, IndexRange, LabelId, PropertyKeyId, Value, VertexId, View};

use crate::figures::{Bound, Figures};
use crate::machine::Machine;
use crate::measure;

/// Vertices of one transaction.
const BATCH: usize = 64;
/// Most nanoseconds a lookup of a unique key is to take.
const LOOKUP_NS_MAX: Bound = Bound::AtMost(300.0);
/// Largest share of the insert rate that an index is to cost.
const COST_MAX: Bound = Bound::AtMost(0.30);
/// Vertices of one range scan.
const RANGE: i64 = 1000;

/// What to measure.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Keys to look up, and vertices of one insert run.
    pub keys: usize,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Seed of keys and orders.
    pub seed: u64,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The engine refused something.
    #[error(transparent)]
    Engine(#[from] Error),
    /// An index found something else than what was put in.
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
        let Options { keys, rounds, seed } = self.options;
        writeln!(f, "{keys} keys, transactions of {BATCH}, {rounds} rounds, seed {seed}\n")?;
        write!(f, "{}", self.figures)
    }
}

/// A database in memory with a label and a property.
struct World {
    db: Engine,
    label: LabelId,
    key: PropertyKeyId,
}

impl World {
    fn new() -> Result<Self, Error> {
        let mut settings = Settings::default();
        // Nothing but what is measured runs.
        settings.background_interval_ms = 0;
        let db = Engine::in_memory(settings)?;
        let (label, key) = (db.label("Item")?, db.property_key("id")?);
        Ok(Self { db, label, key })
    }

    fn target(&self) -> IndexTarget {
        IndexTarget::Vertices(self.label)
    }

    fn make(&self, kept: Kept) -> Result<Option<IndexId>, Error> {
        let (name, target, properties) = ("ids".to_owned(), self.target(), vec![self.key]);
        Ok(match kept {
            Kept::Nothing => None,
            Kept::Range => Some(self.db.create_index(IndexSpec { name, target, properties })?),
            Kept::Unique => {
                let kind = ConstraintKind::Unique;
                let spec = ConstraintSpec { name, target, properties, kind };
                Some(self.db.create_constraint(spec)?)
            }
        })
    }

    /// One vertex per key, in transactions of [`BATCH`].
    fn insert(&self, keys: &[i64]) -> Result<(), Error> {
        for batch in keys.chunks(BATCH) {
            let mut txn = self.db.begin()?;
            for key in batch {
                let v = txn.create_vertex(&[self.label])?;
                txn.set_vertex_property(v, self.key, Value::Int(*key))?;
            }
            txn.commit()?;
        }
        Ok(())
    }
}

/// Which index is kept while vertices are inserted.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    Nothing,
    Range,
    Unique,
}

/// Runs the benchmark; `say` is told what comes next.
///
/// # Errors
/// [`IndexError`]; a wrong answer stops it.
pub fn run(options: &Options, say: &mut dyn FnMut(&str)) -> Result<Outcome, IndexError> {
    let figures = Figures::default();
    let mut outcome = Outcome { machine: Machine::here(), options: *options, figures };
    let mut rng = Rng::new(options.seed);
    let ordered: Vec<i64> = (0..options.keys as i64).map(|i| i * 7 + 3).collect();
    let mut shuffled = ordered.clone();
    rng.shuffle(&mut shuffled);
    for (order, keys) in [("ascending", &ordered), ("random", &shuffled)] {
        say(&format!("inserting in {order} order of keys"));
        inserts(options, order, keys, &mut outcome)?;
    }
    say("looking up");
    reads(options, &shuffled, &mut rng, &mut outcome)?;
    Ok(outcome)
}

fn inserts(
    options: &Options,
    order: &str,
    keys: &[i64],
    outcome: &mut Outcome,
) -> Result<(), IndexError> {
    let kinds = [Kept::Nothing, Kept::Range, Kept::Unique];
    // The first round touches memory for the first time and does not count.
    let mut times = vec![Vec::new(); kinds.len()];
    for round in 0..=options.rounds {
        for (kept, times) in kinds.iter().zip(&mut times) {
            let world = World::new()?;
            let index = world.make(*kept)?;
            let (done, elapsed) = measure::time(|| world.insert(keys));
            done?;
            if let Some(index) = index {
                check_all(&world, index, keys)?;
            }
            if round > 0 {
                times.push(elapsed.cpu_s);
            }
        }
    }
    let median: Vec<f64> = times.iter().map(|t| measure::median(t)).collect();
    let mps = |seconds: f64| 1e-6 * keys.len() as f64 / seconds;
    for (kept, seconds) in kinds.iter().zip(&median) {
        outcome.figures.push(format!("{order}, {kept:?}: M vertices/s"), mps(*seconds), None);
    }
    for (kept, seconds) in kinds.iter().zip(&median).skip(1) {
        // Share of the rate that is lost.
        let cost = 1.0 - median[0] / seconds;
        outcome.figures.push(format!("{order}, {kept:?}: cost"), cost, COST_MAX);
    }
    Ok(())
}

/// Every vertex must be found, in the order of keys.
fn check_all(world: &World, index: IndexId, keys: &[i64]) -> Result<(), IndexError> {
    let reader = world.db.reader()?;
    let found = reader.index_range(index, &IndexRange::default()).map_err(Error::from)?;
    let mut expected: Vec<(i64, u64)> = keys.iter().zip(0..).map(|(key, v)| (*key, v)).collect();
    expected.sort_unstable();
    if found.iter().map(|v| v.get()).eq(expected.iter().map(|(_, v)| *v)) {
        return Ok(());
    }
    Err(IndexError::Wrong(format!("{} vertices in a range, not in order of keys", found.len())))
}

fn reads(
    options: &Options,
    keys: &[i64],
    rng: &mut Rng,
    outcome: &mut Outcome,
) -> Result<(), IndexError> {
    let world = World::new()?;
    let Some(index) = world.make(Kept::Unique)? else { return Ok(()) };
    world.insert(keys)?;
    check_all(&world, index, keys)?;
    let mut probes: Vec<(i64, VertexId)> =
        keys.iter().zip(0..).map(|(key, v)| (*key, VertexId::from_raw(v))).collect();
    rng.shuffle(&mut probes);
    for (name, settled) in [("as inserted", false), ("settled", true)] {
        if settled {
            world.db.settle();
        }
        let reader = world.db.reader()?;
        for (key, v) in &probes {
            let found = reader.index_lookup(index, &[Value::Int(*key)]).map_err(Error::from)?;
            let absent = reader.index_lookup(index, &[Value::Int(key + 1)]).map_err(Error::from)?;
            if found != [*v] || !absent.is_empty() {
                return Err(IndexError::Wrong(format!("key {key}: {found:?}, {absent:?}")));
            }
        }
        let batch: Vec<Value> = probes.iter().map(|(key, _)| Value::Int(*key)).collect();
        let (mut one, mut many, mut ranges) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..options.rounds {
            let (found, elapsed) = measure::time(|| {
                let find = |key: &Value| reader.index_find(index, std::slice::from_ref(key));
                batch.iter().filter(|key| matches!(find(key), Ok(Some(_)))).count()
            });
            one.push(elapsed.cpu_s * 1e9 / found.max(1) as f64);
            let mut out = Vec::with_capacity(batch.len());
            let (done, elapsed) = measure::time(|| reader.lookup_vertices(index, &batch, &mut out));
            done.map_err(Error::from)?;
            if out.len() != batch.len() {
                return Err(IndexError::Wrong(format!("{} of {}", out.len(), batch.len())));
            }
            many.push(elapsed.cpu_s * 1e9 / batch.len() as f64);
            let (found, elapsed) = measure::time(|| {
                let mut found = 0;
                for (key, _) in probes.iter().step_by(RANGE as usize) {
                    let from = ops::Bound::Included(Value::Int(*key));
                    let to = ops::Bound::Excluded(Value::Int(key + 7 * RANGE));
                    let range = IndexRange::between(from, to);
                    found += reader.index_range(index, &range).map_or(0, |v| v.len());
                }
                found
            });
            ranges.push(elapsed.cpu_s * 1e9 / found.max(1) as f64);
        }
        let mut figure = |what: &str, samples: &[f64], bound| {
            outcome.figures.push(format!("{name}: {what}"), measure::median(samples), bound);
        };
        figure("ns per lookup of a unique key", &one, Some(LOOKUP_NS_MAX));
        figure("ns per key of a batch", &many, Some(LOOKUP_NS_MAX));
        figure("ns per vertex of a range", &ranges, None);
    }
    let bytes = world.db.memory().indexes as f64 / keys.len() as f64;
    outcome.figures.push("bytes per entry", bytes, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_finds_what_it_put_in() {
        let options = Options { keys: 3000, rounds: 1, seed: 1 };
        let outcome = run(&options, &mut |_| {}).unwrap();
        assert_eq!(outcome.figures.len(), 2 * 5 + 2 * 3 + 1);
        assert!(outcome.figures.iter().all(|(_, value, _)| value.is_finite()));
        assert!(outcome.to_string().contains("bytes per entry"));
    }
}
