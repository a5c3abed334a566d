//! The kernel benchmark, `telar bench kernel`: updates and reads of Telar next to a flat CSR,
//! sorted vectors (`AdjLst`) and a transactional edge log (`TEL`), in one process.
//!
//! Ground rules. The graph is simple and directed; every edge is two adjacency entries (out and
//! in), and entries are what is counted. Loads come in random order. Every answer is checked
//! against the CSR before it is timed. Subjects take turns, figures are medians, and work of a
//! single thread is timed by the processor time of that thread. "M/s" are millions of entries per
//! second. The definitions at length are in `docs/benchmarks.md`.
//!
//! | key in `ratios` | definition |
//! |---|---|
//! | `scan_settled`, `scan_random_order`, `search` | speed of Telar / CSR, all settled |
//! | `pagerank_time`, `bfs_time` | time of Telar / CSR, all settled |
//! | `triangles_time` | the same on the oriented simple graph (`u < v`, no loops) |
//! | `*_unsettled_10pct` | the same, the last tenth inserted beside an open snapshot |
//! | `scan_with_writer` | wall speed of scans beside a writer / plain CSR of the first 70 % |
//! | `scan_deleted_8pct` | scan speed, 8 % deleted beside a snapshot / CSR of the rest |
//! | `bytes_per_entry_settled` | topology bytes per entry after settling / the CSR's |
//! | `bytes_per_entry_peak` | largest sample of a load (each 5 % from 25 % on) / the CSR's |
//! | `insert_single_mps` | M/s, one edge per transaction, whole load |
//! | `insert_batch64_mps` | M/s, 64 edges per transaction, whole load |
//! | `upsert_mps`, `delete_mps` | M/s, one per transaction: a fifth again; a tenth deleted |
//! | `hub_insert_mps` | M/s, one per transaction: a vertex gets 2^20 edges in random order |
//! | `hub_two_writers` | wall rate of two threads on one hub / of one thread |
//! | `snapshot_open` | time to open and close a snapshot at 10^7 vertices / at 10^3 |
//! | `durable_64_over_1` | commits/s of 64 writers / of one, on disk when they return |
//! | `durable_64_share_of_raw` | commits/s of 64 writers / (mean group x raw syncs/s) |
//!
//! An open snapshot keeps the engine from settling anything newer; that is how the unsettled
//! shares are held up while they are measured, through a second, newer snapshot.
//!
//! | module | measures |
//! |---|---|
//! | [`graph`] | which graph |
//! | `updates` | loads, upserts, deletes, memory |
//! | `reads` | settled, unsettled, deleted; triangles |
//! | `beside` | scans beside a writer |
//! | `grid` | N readers x M writers, latencies |
//! | `single` | hub, opening snapshots, inserting vertices |
//! | `durable` | commits on disk |
//! | [`targets`], `summary` | what is to be reached; tables, charts, JSON |

mod beside;
mod durable;
pub mod graph;
mod grid;
mod reads;
mod single;
mod summary;
pub mod targets;
#[cfg(test)]
mod tests;
mod updates;

pub use graph::GraphSpec;
pub use summary::Outcome;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use crate::report::{Report, Table};
use crate::workload::WrongAnswer;
use graph::Input;

/// Scale of the graph that is measured unless another is asked for.
const SCALE: u32 = 18;
/// The same for a quick run.
const SCALE_QUICK: u32 = 12;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// The graph; by default RMAT of scale 18 (12 if quick) with 16 edges per vertex.
    pub graph: Option<GraphSpec>,
    /// Rounds of updates; reads run twice as often and once more.
    pub rounds: usize,
    /// Seed of graphs and orders.
    pub seed: u64,
    /// A small run that shows everything works; its figures mean nothing.
    pub quick: bool,
    /// Folder in which the databases on disk are made; by default the system's for temporary files.
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
pub enum KernelError {
    /// A subject answered something else than the CSR.
    #[error(transparent)]
    Wrong(#[from] WrongAnswer),
    /// The file of edges could not be read.
    #[error(transparent)]
    Import(#[from] telar_db::import::ImportError),
    /// The graph has too few edges for shares of it to mean anything.
    #[error("the graph has {0} edges; the benchmark needs at least {min}", min = graph::EDGES_MIN)]
    TooSmall(usize),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] telar_engine::Error),
    /// The folder for databases on disk failed.
    #[error("measuring commits on disk: {0}")]
    Disk(#[from] std::io::Error),
}

/// Sizes that do not follow from the graph.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    searches: usize,
    hub_leaves: u32,
    few_vertices: u32,
    many_vertices: u32,
    new_vertices: u32,
    snapshot_samples: usize,
    cell: Duration,
    durable_slice: Duration,
}

impl Sizes {
    fn new(quick: bool) -> Self {
        let large = Self {
            searches: 1 << 20,
            hub_leaves: 1 << 20,
            few_vertices: 1000,
            many_vertices: 10_000_000,
            new_vertices: 1 << 18,
            snapshot_samples: 101,
            cell: Duration::from_millis(600),
            durable_slice: Duration::from_millis(1000),
        };
        let small = Self {
            searches: 1 << 14,
            hub_leaves: 1 << 12,
            few_vertices: 1000,
            many_vertices: 100_000,
            new_vertices: 1 << 11,
            snapshot_samples: 11,
            cell: Duration::from_millis(20),
            durable_slice: Duration::from_millis(50),
        };
        if quick { small } else { large }
    }
}

/// A run under way: its input, and what was found so far.
struct Run<'a> {
    input: Input,
    sizes: Sizes,
    rounds: usize,
    seed: u64,
    folder: Option<PathBuf>,
    report: Report,
    /// Values of the keys in [`targets::TARGETS`].
    found: BTreeMap<&'static str, f64>,
    /// Rows of the study's six operations: name, then M/s of CSR, `AdjLst`, `TEL`, `Telar`.
    operations: Vec<(&'static str, [f64; 4])>,
    tables: Vec<(String, Table)>,
    charts: Vec<(&'static str, String)>,
    note: &'a mut dyn FnMut(&str),
}

impl Run<'_> {
    /// Notes the value of a key.
    fn find(&mut self, key: &'static str, value: f64) {
        self.found.insert(key, value);
    }

    fn table(&mut self, title: impl Into<String>, table: Table) {
        self.tables.push((title.into(), table));
    }

    fn say(&mut self, what: &str) {
        (self.note)(what);
    }

    /// Rounds of short reads.
    fn read_rounds(&self) -> usize {
        2 * self.rounds + 1
    }
}

/// Runs the whole benchmark; `note` is told what begins.
///
/// # Errors
/// [`KernelError`]; a wrong answer among them.
pub fn run(options: &Options, note: &mut dyn FnMut(&str)) -> Result<Outcome, KernelError> {
    let scale = if options.quick { SCALE_QUICK } else { SCALE };
    let spec = options.graph.clone().unwrap_or(GraphSpec::Rmat { scale, edge_factor: 16 });
    note(&format!("making the graph {spec}"));
    let input = spec.read(options.seed)?;
    let mut report = Report::new("kernel");
    report.parameter("graph", spec.to_string());
    report.parameter("vertices", input.n);
    report.parameter("edges", input.edges.len());
    report.parameter("entries", 2 * input.edges.len());
    report.parameter("rounds", options.rounds);
    report.parameter("seed", options.seed);
    report.parameter("quick", options.quick);
    let mut run = Run {
        input,
        sizes: Sizes::new(options.quick),
        rounds: options.rounds.max(1),
        seed: options.seed,
        folder: options.folder.clone(),
        report,
        found: BTreeMap::new(),
        operations: Vec::new(),
        tables: Vec::new(),
        charts: Vec::new(),
        note,
    };
    updates::measure(&mut run)?;
    reads::measure(&mut run)?;
    beside::measure(&mut run)?;
    grid::measure(&mut run)?;
    single::measure(&mut run)?;
    durable::measure(&mut run)?;
    Ok(summary::finish(run))
}
