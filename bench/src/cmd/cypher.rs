//! `telar bench cypher`: queries, one client, warm.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use telar_bench::cypher;
use telar_cli::Screen;

use super::stages;

/// Queries: points, hops, paths, aggregates, durable inserts.
///
/// 100,000 persons and 2,000,000 relationships with power-law degrees, in a durable database. All
/// answers are compared with plain ones first; figures are processor milliseconds per query.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench cypher
  telar bench cypher --threads 2
  telar bench cypher --persons 10000 --export /tmp/people
  python3 bench/compare/cypher.py --telar target/release/telar")]
pub(super) struct CypherOptions {
    /// Persons; there are 20 times as many relationships
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    persons: u32,
    /// Persons, or pairs of them, that each query is asked about
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    asked: u32,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Least milliseconds that each query runs in a round
    #[arg(long, value_name = "MS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    turn: u64,
    /// Seed of graph and questions
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Keep the graph as CSV, and questions with their answers as JSON, in this folder
    #[arg(long, value_name = "DIR")]
    export: Option<PathBuf>,
    /// Ask only these: point, one_hop, two_hops, three_hops, shortest, aggregate, top_age,
    /// top_in_degree, insert, scan
    #[arg(long, value_name = "KEY,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Also ask long queries with so many threads and with one, in turns, by the wall clock
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: u16,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(options: &CypherOptions) -> anyhow::Result<ExitCode> {
    let plan = cypher::Options {
        persons: options.persons,
        asked: options.asked as usize,
        rounds: options.rounds.into(),
        turn: Duration::from_millis(options.turn),
        seed: options.seed,
        folder: options.dir.clone(),
        export: options.export.clone(),
        only: options.only.clone(),
        threads: options.threads.into(),
    };
    let outcome = cypher::run(&plan, &mut stages())?;
    Screen::new().line(outcome.to_string().trim_end())?;
    if let Some(file) = &options.json {
        let report = outcome.report();
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
