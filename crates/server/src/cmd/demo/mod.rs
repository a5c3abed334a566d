//! `telar demo`: a graph imported, changed and analysed at once, killed, and recovered.
//!
//! ```text
//!  parent                                   child (demo-worker)
//!  dataset    generate or read, import
//!  watch      start ──────────────────────► worker   writers: one script each, durable commits
//!             count acknowledgements ◄──────         analyst: PageRank on live snapshots
//!             SIGKILL ────────────────────►
//!  verify     open again, play the scripts
//!             as far as each writer came,
//!             compare every edge
//!  closing    tables
//! ```
//!
//! `script` is what both sides know: which transaction a writer runs next is a pure function of the
//! seed, the graph and what the writer did before. So the parent can say what the recovered graph
//! must look like without asking the database.

mod closing;
mod dataset;
mod edges;
mod model;
mod protocol;
mod rank;
mod script;
mod social;
mod verify;
mod watch;
mod worker;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;

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
    #[arg(long, value_name = "N", default_value_t = 150_000, conflicts_with = "file")]
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
    #[arg(long, value_name = "S", default_value_t = 10.0, value_parser = seconds)]
    seconds: f64,
    /// Make the database in this folder and keep it
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("expected a number of seconds from 0 to 86400".to_owned()),
    }
}

/// Runs `telar demo`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let begun = Instant::now();
    let place = Place::new(options.keep.as_deref())?;
    let mut story = Story::new(screen);
    screen.line(screen.bold("A graph imported, changed and analysed at once, killed, recovered."))?;
    screen.gap()?;

    let dataset = dataset::obtain(options.file.as_deref(), options.vertices, options.seed);
    let dataset = story.step("Read", dataset?.import(place.path(), options, screen)?)?;
    let plan = script::Plan::new(options.seed, options.writers.into(), dataset.facts());
    let run = watch::watch(place.path(), options, &dataset, &plan, screen)?;
    story.rows.extend(run.rows());
    let verdict = verify::verify(place.path(), &dataset, &plan, &run, screen)?;
    story.rows.extend(verdict.rows());

    screen.gap()?;
    closing::print(screen, &story.rows, verdict.checks())?;
    let failed = verdict.checks().iter().filter(|check| !check.passed).count();
    let checks = verdict.checks().len();
    let total = number::seconds(begun.elapsed().as_secs_f64());
    place.say_kept(screen)?;
    if failed > 0 {
        screen.line(screen.bad(format!("{failed} of {checks} checks FAILED ({total})")))?;
        return Ok(ExitCode::FAILURE);
    }
    screen.line(screen.good(format!("All {checks} checks passed ({total}).")))?;
    Ok(ExitCode::SUCCESS)
}
