//! `telar bench kv`: Telar next to the graph over key-value stores.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_bench::kernel::GraphSpec;
use telar_bench::kv;
use telar_cli::Screen;

use super::stages;

/// Telar next to the graph over LMDB in two packings: a vertex's adjacency in one value, split when
/// it grows, and one key per edge.
///
/// Loads, single updates, lists, k hops, searches and scans, all in one process and checked before
/// they are timed; nothing is synced. A binary built with the feature `rocksdb` measures RocksDB as
/// well. docs/benchmarks.md has the definitions.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench kv
  telar bench kv --graph rmat:16:16 --json kv.json
  telar bench kv --graph cnr-2000.txt.zst --rounds 5")]
pub(super) struct KvOptions {
    /// rmat:SCALE:FACTOR, uniform:SCALE:FACTOR (2^SCALE vertices, FACTOR edges each) or a file of
    /// edges [default: rmat:18:16]
    #[arg(long, value_name = "GRAPH")]
    graph: Option<GraphSpec>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Rounds of loads and updates; reads run twice as often and once more
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of graphs, orders and sources
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// A small graph and few reads, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Folder for the stores [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(options: &KvOptions) -> anyhow::Result<ExitCode> {
    let plan = kv::Options {
        graph: options.graph.clone(),
        rounds: options.rounds.into(),
        seed: options.seed,
        quick: options.quick,
        folder: options.dir.clone(),
    };
    let outcome = kv::run(&plan, &mut stages())?;
    Screen::new().line(outcome.to_string().trim_end())?;
    if let Some(file) = &options.json {
        outcome.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
