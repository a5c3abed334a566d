//! `telar demo`: a graph imported, changed and analysed at once, killed, and recovered.
//!
//! ```text
//!  this process                             child process (telar demo-worker)
//!  dataset    generate or read, import
//!  watch      start ──────────────────────► worker   writers: a script each, durable commits
//!             count acknowledgements ◄──────         analyst: PageRank on live snapshots
//!             SIGKILL ────────────────────►
//!  verify     open again, play the scripts
//!             as far as each writer came,
//!             compare with what is there
//!  closing    tables
//! ```
//!
//! `script` is what both sides know: a writer's next transaction follows from the seed, the
//! imported graph and what the writer did before, and from nothing else. So this process can say
//! what the recovered graph must look like without asking the database.

mod closing;
mod dataset;
mod edges;
mod facts;
mod model;
mod protocol;
mod rank;
mod script;
mod social;
#[cfg(test)]
mod tests;
mod verify;
mod watch;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use tempfile::TempDir;

use crate::ui::{Screen, number};
pub(crate) use worker::{WorkerOptions, run as run_worker};

/// Import, change, analyse, kill and recover a graph, and check that nothing was lost.
///
/// Generates a social network, or reads FILE, and imports it into a database on disk. A second
/// process then runs concurrent transactions, each on disk before it is acknowledged, and PageRank
/// on live snapshots beside them, until it is killed without warning. The database is opened again
/// and compared, edge for edge, with what was acknowledged. Works offline.
#[derive(Debug, Args)]
#[command(after_help = "The exit code is 1 if any check fails.")]
pub(crate) struct Options {
    /// A file of edges (SNAP, CSV, TSV or METIS; plain, gzip or zstd) instead of the social network
    file: Option<PathBuf>,
    /// Persons in the social network
    #[arg(long, value_name = "N", default_value_t = 250_000, conflicts_with = "file")]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=100_000_000))]
    vertices: u32,
    /// Seed of the network and of all transactions
    #[arg(long, value_name = "S", default_value_t = 1)]
    seed: u64,
    /// Importing threads [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Concurrent writers; those that commit at the same time share one sync of the disk
    #[arg(long, value_name = "N", default_value_t = 16)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1024))]
    writers: u16,
    /// Seconds of transactions before the kill
    #[arg(long, value_name = "S", default_value_t = 15.0, value_parser = seconds)]
    seconds: f64,
    /// Make the database in this folder, which must be empty or missing, and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("expected a number of seconds from 0 to 86400".to_owned()),
    }
}

/// A line of the closing table.
#[derive(Debug)]
struct Row {
    what: &'static str,
    amount: String,
    time: String,
    rate: String,
}

impl Row {
    fn new(what: &'static str, amount: String, seconds: f64, rate: String) -> Self {
        Self { what, amount, time: number::seconds(seconds), rate }
    }

    /// Tells of a step that is done.
    fn tell(&self, screen: Screen) -> std::io::Result<()> {
        let what = screen.bold(format!("{:<10}", self.what));
        let mut text = format!("{what} {} in {}", self.amount, self.time);
        if !self.rate.is_empty() {
            text = format!("{text}, {}", self.rate);
        }
        screen.line(text)
    }
}

/// Something that must hold, and what was found.
#[derive(Debug)]
struct Check {
    claim: &'static str,
    found: String,
    passed: bool,
}

/// Where the database of this run lies.
enum Place {
    Temporary(TempDir),
    Kept(PathBuf),
}

impl Place {
    fn new(keep: Option<&Path>) -> anyhow::Result<Self> {
        let Some(path) = keep else {
            let folder = tempfile::Builder::new().prefix("telar-demo-").tempdir();
            return Ok(Self::Temporary(folder.context("cannot make a temporary folder")?));
        };
        let entries = std::fs::read_dir(path).map(Iterator::count).unwrap_or(0);
        if entries > 0 {
            bail!("{}: the folder is not empty", path.display());
        }
        Ok(Self::Kept(path.to_owned()))
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Temporary(folder) => folder.path().join("demo.telar"),
            Self::Kept(path) => path.clone(),
        }
    }
}

/// Runs `telar demo`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let begun = Instant::now();
    let place = Place::new(options.keep.as_deref())?;
    let path = place.path();
    screen
        .line(screen.bold("A graph imported, changed and analysed at once, killed, recovered"))?;
    screen.gap()?;

    let mut rows = Vec::new();
    let graph = dataset::import(options, &path, screen, &mut rows)?;
    let plan = script::Plan::new(options.seed, options.writers.into(), &graph.facts);
    let run = watch::watch(options, &path, &graph, screen, &mut rows)?;
    let checks = verify::verify(&path, &graph, &plan, &run, screen, &mut rows)?;

    screen.gap()?;
    closing::print(screen, &rows, &checks)?;
    if let Place::Kept(path) = &place {
        let path = path.display();
        screen.line(format!("The database is kept: telar info {path}"))?;
    }
    let failed = checks.iter().filter(|check| !check.passed).count();
    let total = number::seconds(begun.elapsed().as_secs_f64());
    if failed > 0 {
        let of = checks.len();
        screen.line(screen.bad(format!("{failed} of {of} checks FAILED, {total} in all")))?;
        return Ok(ExitCode::FAILURE);
    }
    screen.line(screen.good(format!("all {} checks passed, {total} in all", checks.len())))?;
    Ok(ExitCode::SUCCESS)
}
