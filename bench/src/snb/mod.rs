//! LDBC's social network: the benchmark behind `telar bench snb`, and what its tests share with it.
//!
//! ```text
//!  tiny.tar.zst ─ archive.rs ─► CSV ─ load.rs ─► a database ─┐
//!                    │                                       ├─ reads.rs ─► answers, compared
//!                    ├─ params.json, expected answers ───────┘              (answer.rs)
//!                    └─ update streams ─ update.rs ─ schedule.rs ─► mixed.rs
//!  queries/*.cypher, unchanged
//! ```
//!
//! The answers of all reads are compared with those of Neo4j before anything is timed. Then each
//! read runs alone, one client, warm, with all of its sets of parameters in turn; then reads and
//! updates together, as `schedule.rs` says, on a durable database. `export` keeps files, questions
//! and operations for other servers (`bench/compare/snb.py`). Results on this data are not LDBC
//! benchmark results.

mod answer;
mod archive;
mod export;
mod load;
mod mixed;
mod reads;
mod schedule;
mod update;

use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use telar_cli::process_cpu_s;
use telar_db::{Database, Session, Settings, ValueMap};

use crate::histogram::Histogram;
use crate::import::BenchError;
use crate::measure::Samples;
use crate::report::{Report, Table, digits};

pub use answer::{Order, Rows, compare, rows};
pub use archive::Archive;
pub use load::{Counts, counts, counts_after_updates, load, write_csv};
pub use reads::{Ask, Expected, Queries, READS, check_reads};
pub use schedule::{Operation, name, operations};
pub use update::{Update, UpdateKind, updates};

/// The answers that data sets come with, before any update.
pub const ANSWERS: &str = "expected-neo4j-5.26.30.json";

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// The data set: a folder, or a `.tar.zst` of one.
    pub data: PathBuf,
    /// Folder of `interactive-*.cypher`; `queries` beside the data if there is none.
    pub queries: Option<PathBuf>,
    /// Rounds in which each read runs.
    pub rounds: usize,
    /// How long each read runs in a round, at least.
    pub turn: Duration,
    /// How long reads and updates run together; not at all if zero.
    pub mixed: Duration,
    /// Clients of the mixed run.
    pub threads: usize,
    /// The most operations that the mixed run has.
    pub operations: usize,
    /// Seed of the mixed run.
    pub seed: u64,
    /// The reads to measure, by name; all, if there are none.
    pub only: Vec<String>,
    /// Whether to show the plans of the reads.
    pub explain: bool,
    /// Where the database goes; the folder for temporary files if there is none.
    pub folder: Option<PathBuf>,
    /// Where files, questions and operations are to be kept.
    pub export: Option<PathBuf>,
}

impl Options {
    /// The defaults, for a data set.
    #[must_use]
    pub fn new(data: PathBuf) -> Self {
        Self {
            data,
            queries: None,
            rounds: 3,
            turn: Duration::from_millis(200),
            mixed: Duration::from_secs(10),
            threads: 1,
            operations: 500_000,
            seed: 42,
            only: Vec::new(),
            explain: false,
            folder: None,
            export: None,
        }
    }
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    report: Report,
    title: String,
    plans: Vec<String>,
    reads: Table,
    mixed: Option<(String, Table)>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for plan in &self.plans {
            writeln!(f, "{plan}")?;
        }
        writeln!(f, "{}\n{}\n\n{}", self.report.machine().line(), self.title, self.reads)?;
        match &self.mixed {
            Some((title, table)) => write!(f, "{title}\n\n{table}"),
            None => Ok(()),
        }
    }
}

impl Outcome {
    /// All figures as JSON.
    #[must_use]
    pub fn report(&self) -> &Report {
        &self.report
    }
}

/// A read with all that it is asked.
struct Read<'q> {
    name: &'static str,
    text: &'q str,
    sets: Vec<ValueMap>,
    /// Seconds on the wall, by set of parameters.
    times: Vec<Samples>,
    /// Nanoseconds on the wall of all runs.
    all: Histogram,
    /// Processor seconds of one run, by round.
    cpu_s: Samples,
}

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// [`BenchError::Data`] if the data set is not one, [`BenchError::Wrong`] if a query answers
/// otherwise than expected.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let known = |name: &String| READS.iter().any(|read| read.0 == *name);
    if let Some(name) = options.only.iter().find(|name| !known(name)) {
        return Err(BenchError::Data(format!("no read {name}")));
    }
    stage("reading the data");
    let archive = Archive::read(&options.data).map_err(BenchError::Data)?;
    let beside = || options.data.parent().unwrap_or(&options.data).join("queries");
    let queries = options.queries.clone().unwrap_or_else(beside);
    let queries = Queries::read(&queries).map_err(BenchError::Data)?;
    let expected = Expected::read(&archive, ANSWERS).map_err(BenchError::Data)?;
    let operations = match options.mixed.is_zero() && options.export.is_none() {
        true => Vec::new(),
        false => operations(&archive, &expected, options.operations, options.seed)
            .map_err(BenchError::Data)?,
    };
    if let Some(folder) = &options.export {
        stage("writing it for others");
        export::write(&archive, &queries, &expected, &operations, folder)?;
    }
    stage("importing it");
    let temporary = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let db = telar_db::open_with(temporary.path().join("snb.telar"), Settings::default())?;
    load(&archive, &db).map_err(BenchError::Data)?;
    drop(archive);
    stage("comparing answers");
    let session = Session::new(&db);
    let asked = |name: &str| options.only.is_empty() || options.only.iter().any(|o| o == name);
    let mut reads = Vec::new();
    for (name, _) in READS.iter().filter(|read| asked(read.0)) {
        check(&session, &queries, &expected, name)?;
        reads.push(Read::new(name, &queries, &expected).map_err(BenchError::Data)?);
    }
    let mut plans = Vec::new();
    for read in reads.iter().filter(|_| options.explain) {
        let plan = session.run(&format!("EXPLAIN {}", read.text), &[]).map_err(failed)?.plan;
        plans.push(format!("{}\n{}", read.name, plan.map_or(String::new(), |p| p.to_string())));
    }
    for round in 1..=options.rounds {
        stage(&format!("round {round} of {}", options.rounds));
        for read in &mut reads {
            read.turn(&session, options.turn)?;
        }
    }
    let mut report = Report::new("snb");
    let data = options.data.file_name().unwrap_or_default().to_string_lossy().into_owned();
    report.parameter("data", data.clone());
    report.parameter("rounds", options.rounds);
    report.parameter("seed", options.seed);
    let mut table = Table::new(["query", "ms", "p50 ms", "p99 ms", "CPU ms"]);
    for read in &reads {
        read.report(&mut report, &mut table);
    }
    let title = format!("{data}: each read alone, one client, embedded, warm");
    let mixed = match options.mixed.is_zero() {
        true => None,
        false => Some(mixed(&db, &queries, &operations, options, &mut report, stage)?),
    };
    Ok(Outcome { report, title, plans, reads: table, mixed })
}

fn failed(error: telar_db::query::QueryError) -> BenchError {
    BenchError::Wrong(error.to_string())
}

fn check(
    session: &Session,
    queries: &Queries,
    expected: &Expected,
    name: &str,
) -> Result<(), BenchError> {
    let mut ask = |text: &str, parameters: &ValueMap| {
        session.run_with(text, parameters).map(|r| r.rows).map_err(|e| e.to_string())
    };
    let (_, wrong) = reads::check_read(queries, expected, name, &mut ask);
    if wrong.is_empty() { Ok(()) } else { Err(BenchError::Wrong(wrong.join("\n"))) }
}

impl<'q> Read<'q> {
    fn new(name: &'static str, queries: &'q Queries, expected: &Expected) -> Result<Self, String> {
        let (text, sets) = (queries.text(name)?, expected.parameters(name)?);
        let times = vec![Samples::default(); sets.len()];
        Ok(Self { name, text, sets, times, all: Histogram::default(), cpu_s: Samples::default() })
    }

    /// Runs with every set of parameters in turn, for some time.
    fn turn(&mut self, session: &Session, time: Duration) -> Result<(), BenchError> {
        let (begun, cpu_s, mut queries) = (Instant::now(), process_cpu_s(), 0u32);
        while queries == 0 || begun.elapsed() < time {
            for (parameters, times) in self.sets.iter().zip(&mut self.times) {
                let begun = Instant::now();
                let result = session.run_with(self.text, parameters).map_err(failed)?;
                drop(std::hint::black_box(result));
                let took = begun.elapsed();
                times.push(took.as_secs_f64());
                self.all.record(took.as_nanos() as u64);
            }
            queries += self.sets.len().max(1) as u32;
        }
        self.cpu_s.push((process_cpu_s() - cpu_s) / f64::from(queries));
        Ok(())
    }

    fn report(&self, report: &mut Report, table: &mut Table) {
        // Each set counts alike, whatever the others cost.
        let sets: Vec<f64> = self.times.iter().map(Samples::median).collect();
        let all = self.all.percentiles();
        let figures = [
            ("ms", sets.iter().sum::<f64>() / sets.len() as f64 * 1e3),
            ("p50_ms", all.p50 as f64 * 1e-6),
            ("p99_ms", all.p99 as f64 * 1e-6),
            ("CPU_ms", self.cpu_s.median() * 1e3),
        ];
        for (unit, figure) in figures {
            report.figure(format!("{}/{unit}", self.name), figure);
        }
        let cells = figures.map(|(_, figure)| digits(figure));
        table.push([self.name.to_owned()].into_iter().chain(cells));
    }
}

fn mixed(
    db: &Database,
    queries: &Queries,
    operations: &[Operation],
    options: &Options,
    report: &mut Report,
    stage: &mut dyn FnMut(&str),
) -> Result<(String, Table), BenchError> {
    stage("reads and updates together");
    let before = vertices(db)?;
    let mixed = mixed::run(db, queries, operations, options.mixed, options.threads)
        .map_err(BenchError::Wrong)?;
    let made: u64 = ["update-1", "update-4", "update-6", "update-7"]
        .iter()
        .filter_map(|name| mixed.times.get(name))
        .map(Histogram::count)
        .sum();
    let vertices = vertices(db)?;
    if vertices != before + made {
        let message = format!("{vertices} nodes after {made} were added to {before}");
        return Err(BenchError::Wrong(message));
    }
    let done = mixed.operations();
    let per_s = done as f64 / mixed.wall_s;
    let cpu_us = mixed.cpu_s / done.max(1) as f64 * 1e6;
    report.parameter("threads", options.threads);
    report.figure("mixed/operations", done as f64);
    report.figure("mixed/per_s", per_s);
    report.figure("mixed/CPU_us", cpu_us);
    let mut table = Table::new(["mixed", "operations", "p50 ms", "p99 ms"]);
    let kinds = ["complex", "short", "update"].map(|kind| (kind, mixed.all(kind)));
    let names = READS.iter().map(|read| read.0).chain(schedule::UPDATES);
    let each = names.filter_map(|name| mixed.times.get(name).map(|times| (name, times.clone())));
    for (name, times) in kinds.into_iter().chain(each).filter(|(_, times)| times.count() > 0) {
        let found = times.percentiles();
        let (p50, p99) = (found.p50 as f64 * 1e-6, found.p99 as f64 * 1e-6);
        report.figure(format!("mixed/{name}/count"), found.count as f64);
        report.figure(format!("mixed/{name}/p50_ms"), p50);
        report.figure(format!("mixed/{name}/p99_ms"), p99);
        table.push([name.to_owned(), found.count.to_string(), digits(p50), digits(p99)]);
    }
    let title = format!(
        "{done} operations in {} s, {} clients: {} per second, {} us of processor time each",
        digits(mixed.wall_s),
        options.threads,
        digits(per_s),
        digits(cpu_us)
    );
    Ok((title, table))
}

/// Nodes in the database.
fn vertices(db: &Database) -> Result<u64, BenchError> {
    let statistics = telar_graph::Counts::statistics(&db.reader()?);
    statistics.map(|all| all.vertices).map_err(|e| BenchError::Wrong(e.to_string()))
}
