//! The import benchmark, `telar bench import`: from text to a durable database.
//!
//! | workload | text | figure |
//! |---|---|---|
//! | `rmat` | a generated edge list, `from to` per line | edges per CPU-second, both directions |
//! | `file` | an edge list that is there, compressed or not | the same |
//! | `csv` | persons with properties, friendships with a year and a weight | CPU seconds, disk |
//!
//! CPU seconds are those of the whole process, all threads, kernel time included, from the call of
//! the import to its return, opening and closing the database included. Counts and a checksum of
//! the adjacency, in both directions, are compared with those of the generator or of a plain
//! reader before a figure is printed.

mod csv;
mod edges;

use std::path::{Path, PathBuf};

use telar_db::import::{CsvError, ImportError, LoadError};
use telar_db::{Database, Direction, Error, Settings, Topology};

use crate::report::{Report, Table, digits};

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Binary logarithm of the vertices of the generated edge list.
    pub scale: u32,
    /// Edges per vertex of it.
    pub edge_factor: u32,
    /// An edge list to import as well.
    pub file: Option<PathBuf>,
    /// Vertices of the CSV workload.
    pub persons: u32,
    /// Edges of the CSV workload.
    pub friendships: u32,
    /// Times each import is run; figures are medians.
    pub rounds: usize,
    /// Seed of everything.
    pub seed: u64,
    /// Folder for files and databases; the folder for temporary files if there is none.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            scale: 20,
            edge_factor: 16,
            file: None,
            persons: 100_000,
            friendships: 2_000_000,
            rounds: 3,
            seed: 42,
            folder: None,
        }
    }
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A file of the benchmark.
    #[error("file of the benchmark: {0}")]
    Io(#[from] std::io::Error),
    /// The database.
    #[error(transparent)]
    Database(#[from] Error),
    /// An import.
    #[error(transparent)]
    Csv(#[from] CsvError),
    /// An import.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The edge list that was to be imported.
    #[error(transparent)]
    Read(#[from] ImportError),
    /// A data set that is given is not what it should be.
    #[error("the data: {0}")]
    Data(String),
    /// What was imported is not what was in the files.
    #[error("wrong answer: {0}")]
    Wrong(String),
}

/// Settings of an import: no other work beside it.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    settings
}

/// Bytes of all files of a database.
fn disk_bytes(path: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        bytes += if kind.is_dir() { disk_bytes(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}

/// A sum over edges that does not depend on their order.
fn edge_sum(sum: u64, from: u64, to: u64) -> u64 {
    let mixed = (from << 32 | to).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    sum.wrapping_add(mixed ^ mixed >> 29)
}

/// Number of edges of a type and their sum, in both directions; `id` gives the id of a vertex.
fn adjacency_sums(
    db: &Database,
    ty: &str,
    id: impl Fn(u32) -> u64,
) -> Result<[(u64, u64); 2], BenchError> {
    let ty = db.find_edge_type(ty).ok_or_else(|| BenchError::Wrong("no edge type".into()))?;
    let reader = db.reader()?;
    let mut sums = [(0, 0); 2];
    for (direction, (count, sum)) in Direction::ALL.into_iter().zip(&mut sums) {
        let lists = reader.adjacency(ty, direction)?;
        lists.scan(0..lists.vertex_bound(), |v, run| {
            *count += run.len() as u64;
            for u in run {
                let (from, to) = if direction == Direction::Out { (v, *u) } else { (*u, v) };
                *sum = edge_sum(*sum, id(from), id(to));
            }
        });
    }
    Ok(sums)
}

fn expect(what: &str, found: [(u64, u64); 2], wanted: (u64, u64)) -> Result<(), BenchError> {
    if found == [wanted; 2] {
        return Ok(());
    }
    Err(BenchError::Wrong(format!("{what}: count and checksum {found:?}, expected {wanted:?}")))
}

/// One figure of the report beside what is to be reached.
struct Line {
    name: String,
    value: f64,
    unit: &'static str,
    target: &'static str,
}

/// What a run found.
#[derive(Debug)]
pub struct Outcome {
    table: Table,
    report: Report,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.table.fmt(f)
    }
}

impl Outcome {
    /// All figures as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        self.report.to_json()
    }
}

/// Runs the benchmark; `stage` is told what is done next.
///
/// # Errors
/// [`BenchError::Wrong`] if an import brought in something else than what was in the files.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Outcome, BenchError> {
    let folder = match &options.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let mut lines = Vec::new();
    lines.extend(edges::generated(options, folder.path(), stage)?);
    if let Some(file) = &options.file {
        lines.extend(edges::given(options, file, folder.path(), stage)?);
    }
    lines.extend(csv::run(options, folder.path(), stage)?);
    let mut report = Report::new("import");
    report.parameter("rmat", format!("{}:{}", options.scale, options.edge_factor));
    report.parameter("persons", options.persons);
    report.parameter("friendships", options.friendships);
    report.parameter("rounds", options.rounds);
    let mut table = Table::new(["import", "measured", "unit", "reach"]);
    for line in lines {
        report.figure(format!("{}/{}", line.name, line.unit), line.value);
        let measured = digits(line.value);
        table.push([line.name, measured, line.unit.to_owned(), line.target.to_owned()]);
    }
    Ok(Outcome { table, report })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_checks_its_answers_and_reports_every_figure() {
        let options = Options {
            scale: 8,
            edge_factor: 4,
            persons: 300,
            friendships: 2000,
            rounds: 1,
            ..Options::default()
        };
        let outcome = run(&options, &mut |_| {}).unwrap();
        let json = outcome.to_json();
        for figure in ["rmat/M edges per CPU-s", "csv/CPU-s", "csv/MB on disk"] {
            assert!(json["figures"][figure].as_f64().is_some_and(|f| f > 0.0), "{json}");
        }
    }
}
