//! `telar bench snb`: LDBC's social network.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use telar_bench::snb;
use telar_cli::Screen;

use super::stages;

/// LDBC's social network: its reads, and reads and updates together.
///
/// Loads a data set into a durable database, compares the answers of the 21 reads with the expected
/// ones, and measures: each read alone with all of its parameters, then a mixed run in which
/// updates, complex and short reads follow each other as LDBC's driver mixes them. Results on such
/// data are not LDBC benchmark results.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench snb --data snb/sf0.1-gen.tar.zst
  telar bench snb --data snb/tiny.tar.zst --mixed 0 --only complex-5 --explain
  python3 bench/compare/snb.py --data snb/sf0.1-gen.tar.zst")]
pub(super) struct SnbOptions {
    /// The data set: a folder, or a .tar.zst of one
    #[arg(long, value_name = "PATH")]
    data: PathBuf,
    /// Folder of interactive-*.cypher [default: `queries` beside the data]
    #[arg(long, value_name = "DIR")]
    queries: Option<PathBuf>,
    /// Rounds in which each read runs
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(0..=1000))]
    rounds: u16,
    /// Least milliseconds that each read runs in a round
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    turn: u64,
    /// Seconds of reads and updates together; 0 for none
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(0..=86_400))]
    mixed: u64,
    /// Clients of the mixed run
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// The most operations of the mixed run; the updates of the data may end it, too
    #[arg(long, value_name = "N", default_value_t = 500_000, value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    operations: u32,
    /// Seed of the mixed run
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Measure only these: complex-1 to complex-14, short-1 to short-7
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Show the plans of the reads
    #[arg(long)]
    explain: bool,
    /// Keep files, questions and operations for other servers in this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(options: &SnbOptions) -> anyhow::Result<ExitCode> {
    let plan = snb::Options {
        queries: options.queries.clone(),
        rounds: options.rounds.into(),
        turn: Duration::from_millis(options.turn),
        mixed: Duration::from_secs(options.mixed),
        threads: options.threads.into(),
        operations: options.operations as usize,
        seed: options.seed,
        only: options.only.clone(),
        explain: options.explain,
        folder: options.dir.clone(),
        export: options.export.clone(),
        ..snb::Options::new(options.data.clone())
    };
    let outcome = snb::run(&plan, &mut stages())?;
    Screen::new().line(outcome.to_string().trim_end())?;
    if let Some(file) = &options.json {
        let report = outcome.report();
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
