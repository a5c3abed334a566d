//! Telar next to the graph over key-value stores, in TuGraph's two packings: `telar bench kv`.
//!
//! Ground rules are those of the kernel benchmark ([`kernel`](crate::kernel)): a simple directed
//! graph, both directions stored, every answer checked against a flat CSR before it is timed,
//! subjects in turns, medians, ratios within one process. Nothing is logged or synced. Reads take
//! the processor time of their thread; loads and updates that of the process, so that what a store
//! does in the background counts.
//!
//! | step | measures |
//! |---|---|
//! | `load` | all edges but a few, in random order, 1024 per transaction, until settled |
//! | `updates` | the few, one per transaction: inserted, removed, inserted between reads |
//! | `reads` | of the loaded graph, settled again: lists, skewed lists, k hops, searches, a scan |
//! | `fill` | the same graph sorted and put into an empty store; bytes; the reads again |
//!
//! `ratios` holds `STEP/OPERATION/STORE`: the speed of Telar over the store's, or for bytes the
//! store's over Telar's, so that more is better for Telar everywhere; and `packing/...` and
//! `store/...`, which compare the stores among themselves.

mod plan;
mod reads;
mod subject;
mod summary;
#[cfg(test)]
mod tests;

pub use reads::KvRead;
pub use summary::{Outcome, TARGETS, Target};

use std::io;
use std::path::{Path, PathBuf};

use crate::container::kv::{Compact, EdgeKeys, KvGraph, Lmdb, Packing, Store};
use crate::container::{Container, Telar};
use crate::kernel::{GraphSpec, KernelError};
use crate::measure::Samples;
use crate::report::Report;
use crate::workload::WrongAnswer;
use plan::Plan;
use reads::measure_reads;
use subject::{Held, Subject};

/// Scale of the graph that is measured unless another is asked for.
const SCALE: u32 = 18;
/// The same for a quick run.
const SCALE_QUICK: u32 = 11;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The graph; by default RMAT of scale 18 (11 if quick) with 16 edges per vertex.
    pub graph: Option<GraphSpec>,
    /// Rounds of loads and updates; reads run twice as often and once more.
    pub rounds: usize,
    /// Seed of the graph, orders and sources.
    pub seed: u64,
    /// A small run that shows everything works; its figures mean nothing.
    pub quick: bool,
    /// Folder in which the stores are made; by default the system's for temporary files.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self { graph: None, rounds: 3, seed: 42, quick: false, folder: None }
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KvError {
    /// A subject answered something else than the CSR.
    #[error(transparent)]
    Wrong(#[from] WrongAnswer),
    /// The graph could not be made or read.
    #[error(transparent)]
    Graph(#[from] KernelError),
    /// A store could not be made.
    #[error("making a store: {0}")]
    Store(#[from] io::Error),
}

/// A timed operation, with what each subject needed for it.
struct Measured {
    step: &'static str,
    operation: &'static str,
    /// What is counted.
    unit: &'static str,
    /// Units per run.
    work: u64,
    /// Seconds of each subject.
    samples: Vec<Samples>,
}

impl Measured {
    fn millions_per_s(&self, subject: usize) -> f64 {
        self.work as f64 / self.samples[subject].median() / 1e6
    }
}

/// Bytes of each subject's graph, both directions, at the end of a step.
struct Sizes {
    step: &'static str,
    bytes: Vec<u64>,
}

/// Runs the benchmark; `note` is told what begins.
///
/// # Errors
/// [`KvError`]; a wrong answer among them.
pub fn run(options: &Options, note: &mut dyn FnMut(&str)) -> Result<Outcome, KvError> {
    let scale = if options.quick { SCALE_QUICK } else { SCALE };
    let spec = options.graph.clone().unwrap_or(GraphSpec::Rmat { scale, edge_factor: 16 });
    note(&format!("making the graph {spec}"));
    let input = spec.read(options.seed)?;
    let plan = Plan::new(input, options.seed, options.quick);
    let mut report = Report::new("kv");
    report.parameter("graph", spec.to_string());
    report.parameter("vertices", plan.n());
    report.parameter("edges", plan.loaded.len());
    report.parameter("updates", plan.extra.len());
    report.parameter("rounds", options.rounds);
    report.parameter("seed", options.seed);
    report.parameter("quick", options.quick);

    let folder = options.folder.as_deref();
    let mut subjects: Vec<Boxed<'_>> = vec![Box::new(Held::new(
        || Ok(Telar::in_memory()),
        |plan: &Plan| Ok(Telar::filled(plan.n(), plan.loaded.clone())),
    )?)];
    subjects.push(over::<Lmdb, Compact>(folder)?);
    subjects.push(over::<Lmdb, EdgeKeys>(folder)?);
    #[cfg(feature = "rocksdb")]
    {
        use crate::container::kv::RocksDb;
        subjects.push(over::<RocksDb, Compact>(folder)?);
        subjects.push(over::<RocksDb, EdgeKeys>(folder)?);
    }

    let rounds = options.rounds.max(1);
    let (mut measured, mut sizes) = (Vec::new(), Vec::new());
    note("loading edges in random order");
    measured.push(turns("load", "load", plan.loaded.len(), &mut subjects, rounds, |subject| {
        subject.load(&plan)
    })?);
    sizes.push(Sizes { step: "load", bytes: subjects.iter().map(|s| s.bytes()).collect() });
    note("inserting and removing single edges");
    for update in subject::Update::ALL {
        let work = update.work(&plan);
        let found = turns("updates", update.name(), work, &mut subjects, rounds, |subject| {
            subject.update(update, &plan)
        })?;
        measured.push(found);
    }
    note("reading what was loaded");
    measured.extend(measure_reads("reads", &plan, &subjects, 2 * rounds + 1)?);
    note("filling empty stores from sorted edges");
    // The first touch of memory, which costs more than the fill, does not count.
    subjects.iter_mut().try_for_each(|subject| subject.fill(&plan).map(drop))?;
    measured.push(turns("fill", "fill", plan.loaded.len(), &mut subjects, rounds, |subject| {
        subject.fill(&plan)
    })?);
    sizes.push(Sizes { step: "fill", bytes: subjects.iter().map(|s| s.bytes()).collect() });
    note("reading what was filled");
    measured.extend(measure_reads("filled", &plan, &subjects, 2 * rounds + 1)?);
    let names = subjects.iter().map(|subject| subject.name()).collect();
    Ok(summary::finish(report, &plan, names, &measured, &sizes))
}

type Boxed<'a> = Box<dyn Subject + 'a>;

fn over<'a, S, P>(folder: Option<&'a Path>) -> io::Result<Boxed<'a>>
where
    S: Store + 'a,
    P: Packing + 'a,
{
    let fill = move |plan: &Plan| {
        let graph = KvGraph::<S, P>::temporary(folder)?;
        let (out, incoming) = plan.sorted();
        graph.append(&out, &incoming);
        graph.settle();
        Ok(graph)
    };
    Ok(Box::new(Held::new(move || KvGraph::<S, P>::temporary(folder), fill)?))
}

/// Lets all subjects take turns at one operation.
fn turns(
    step: &'static str,
    operation: &'static str,
    edges: usize,
    subjects: &mut [Boxed<'_>],
    rounds: usize,
    mut run: impl FnMut(&mut dyn Subject) -> Result<f64, KvError>,
) -> Result<Measured, KvError> {
    let samples = crate::measure::interleave(subjects.len(), rounds, |subject, _| {
        run(subjects[subject].as_mut())
    })?;
    Ok(Measured { step, operation, unit: "edges", work: edges as u64, samples })
}
