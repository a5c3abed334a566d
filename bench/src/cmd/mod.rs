//! The subcommands of `telar-bench`, one for each benchmark.

mod algorithms;
mod arrow;
mod cluster;
mod commits;
mod cypher;
mod kv;
mod live;
mod order;
mod snb;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use telar_bench::kernel::{self, GraphSpec};
use telar_bench::{backup, memory, soak};
use telar_bench::{history, import, index};
use telar_cli::{Screen, number};

/// Measure the engine next to flat arrays and other stores.
#[derive(Debug, Parser)]
#[command(name = "telar-bench", bin_name = "telar bench")]
#[command(version, propagate_version = true, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    bench: Bench,
}

/// What to measure.
#[derive(Debug, Subcommand)]
enum Bench {
    /// Updates and reads of the storage kernel: Telar, flat CSR, sorted vectors, edge log
    Kernel(KernelOptions),
    /// Queries: points, hops, paths, aggregates, durable inserts
    Cypher(cypher::CypherOptions),
    /// LDBC's social network: its reads, and reads and updates together
    Snb(snb::SnbOptions),
    /// The graph over a key-value store, in two packings, next to Telar
    Kv(kv::KvOptions),
    /// Property indexes: lookups, ranges, what keeping one costs
    Index(IndexOptions),
    /// Graphs larger than memory: opening, reads and scans from disk, memory held
    Memory(MemoryOptions),
    /// History: scans of the past, and what keeping it costs the present
    History(HistoryOptions),
    /// Imports: an edge list and CSV files with properties, text to a durable database
    Import(ImportOptions),
    /// Large transactions: nodes made and deleted in one commit, schemas of many names
    Commits(commits::CommitsOptions),
    /// Results as Arrow record batches, from columns and value by value
    Arrow(arrow::ArrowOptions),
    /// Graph algorithms: on flat arrays, in place, and through CALL
    Algorithms(algorithms::AlgorithmsOptions),
    /// Orders of the vertices: PageRank's time and misses, and what a look-up of places would cost
    Order(order::OrderOptions),
    /// PageRank after 0.1 % new edges: following them, and from scratch
    Live(live::LiveOptions),
    /// Bytes of backups against what changed; writers with and without a backup beside them
    Backup(BackupOptions),
    /// A replicated database: commits of its leader, lag and catching up of a follower
    Cluster(cluster::ClusterOptions),
    /// Stores of a replicated database: groups of several sizes at several rates
    Stores(cluster::StoresOptions),
    /// Writers, long readers, checkpoints and backups for a long time; fails if something grows
    Soak(SoakOptions),
}

/// Bytes of backups against what changed; writers with and without a backup beside them.
///
/// The chain of backups is restored and compared before any figure is shown. Writers with and
/// without a backup run in turns.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench backup
  telar bench backup --writers 1 --mib-per-s 50 --dir /var/tmp")]
struct BackupOptions {
    /// Segments of 1024 vertices
    #[arg(long, value_name = "N", default_value_t = 512, value_parser = clap::value_parser!(u32).range(8..=1 << 20))]
    segments: u32,
    /// Out edges of each vertex
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    degree: u32,
    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=256))]
    writers: u16,
    /// Turns with and without a backup
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Least seconds of a turn
    #[arg(long, value_name = "S", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=600))]
    seconds: u16,
    /// Limit of the backup beside writers, in MiB per second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mib_per_s: Option<u64>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Writers, readers, checkpoints and backups for a long time, short of memory; fails if something
/// grows.
///
/// Every backup is checked, every fourth restored and verified. The lows of memory, store, log and
/// more must not have grown from the second quarter of the run to the last, and nothing may be left
/// of readers in the end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench soak --minutes 60
  telar bench soak --minutes 2 --writers 1")]
struct SoakOptions {
    /// How long
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    minutes: u32,
    /// Vertices of the graph
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(100..=1 << 30))]
    vertices: u64,
    /// Threads that write
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=256))]
    writers: u16,
    /// Commits per second that the writers aim at together
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rate: u32,
    /// Memory limit of the engine, in MiB
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    memory: u32,
    /// Seconds of the past that are kept
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    retain: u32,
    /// Folder on the disk to run on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Imports of generated files, checked before they are timed.
///
/// Prints edges per CPU-second of an edge list, and CPU seconds and bytes on disk of CSV files with
/// properties; CPU seconds are those of all threads and of the kernel.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench import
  telar bench import --file cnr-2000.txt.zst --rounds 5 --json import.json")]
struct ImportOptions {
    /// Vertices (2^SCALE) of the generated edge list
    #[arg(long, value_name = "SCALE", default_value_t = 20, value_parser = clap::value_parser!(u32).range(4..=26))]
    scale: u32,
    /// An edge list to import as well
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Times each import is run; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of the generated files
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder for files and databases [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Updates and reads of the storage kernel, in one process and checked before they are timed.
///
/// Prints every figure beside what is to be reached; docs/benchmarks.md has the definitions. Stop
/// other work on the machine first: figures of readers beside writers are taken on the wall.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench kernel
  telar bench kernel --graph rmat:20:16 --json kernel.json --plots charts
  telar bench kernel --graph cnr-2000.txt.zst --rounds 5")]
struct KernelOptions {
    /// rmat:SCALE:FACTOR, uniform:SCALE:FACTOR (2^SCALE vertices, FACTOR edges each) or a file of
    /// edges [default: rmat:18:16]
    #[arg(long, value_name = "GRAPH")]
    graph: Option<GraphSpec>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write charts into this folder, as SVG
    #[arg(long, value_name = "DIR")]
    plots: Option<PathBuf>,
    /// Rounds of updates; reads run twice as often and once more
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of graphs and orders
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// A small graph and short measurements, to see that everything works
    #[arg(long)]
    quick: bool,
    /// Folder on the disk to measure commits on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Lookups and ranges of a property index, and what keeping one costs inserts.
///
/// In memory, and checked before anything is timed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench index
  telar bench index --keys 100000 --rounds 9")]
struct IndexOptions {
    /// Keys to look up, and vertices to insert
    #[arg(long, value_name = "N", default_value_t = 1_000_000,
        value_parser = clap::value_parser!(u32).range(1..=100_000_000))]
    keys: u32,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of keys and orders
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
}

/// Opening, reading and scanning a graph that memory does not hold.
///
/// Two graphs are made and every list is checked first. Reads out of core run in a control group
/// that holds a quarter of the store, page cache included, where the system allows one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench memory
  telar bench memory --vertices 16777216 --seconds 60 --dir /var/tmp")]
struct MemoryOptions {
    /// Vertices of the larger graph; the other has a tenth
    #[arg(long, value_name = "N", default_value_t = 1 << 21,
        value_parser = clap::value_parser!(u32).range(1000..=1 << 31))]
    vertices: u32,
    /// Out edges of each vertex
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=1024))]
    degree: u32,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seconds of reads out of core
    #[arg(long, value_name = "S", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Seed of graph and reads
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Scans of the past against the present, and what keeping history costs.
///
/// In memory; every snapshot is compared with the edges it should show before it is timed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench history
  telar bench history --scale 18 --churn 50")]
struct HistoryOptions {
    /// Vertices (2^SCALE) of the graph
    #[arg(long, value_name = "SCALE", default_value_t = 16, value_parser = clap::value_parser!(u32).range(8..=24))]
    scale: u32,
    /// Edges per vertex
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=256))]
    factor: u32,
    /// Percent of the edges that go, and as many that come, after what is read
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=50))]
    churn: u64,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of graph and changes
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
}

/// Runs a benchmark.
pub(crate) fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.bench {
        Bench::Kernel(options) => run_kernel(options),
        Bench::Cypher(options) => cypher::run(options),
        Bench::Snb(options) => snb::run(options),
        Bench::Kv(options) => kv::run(options),
        Bench::Index(options) => run_index(options),
        Bench::Memory(options) => run_memory(options),
        Bench::History(options) => run_history(options),
        Bench::Import(options) => run_import(options),
        Bench::Commits(options) => commits::run(options),
        Bench::Arrow(options) => arrow::run(options),
        Bench::Algorithms(options) => algorithms::run(options),
        Bench::Order(options) => order::run(options),
        Bench::Live(options) => live::run(options),
        Bench::Backup(options) => run_backup(options),
        Bench::Cluster(options) => cluster::run(options),
        Bench::Stores(options) => cluster::run_stores(options),
        Bench::Soak(options) => run_soak(options),
    }
}

/// Says on standard error what is being done since when.
fn stages() -> impl FnMut(&str) {
    let begun = Instant::now();
    move |stage| eprintln!("   {:>7}  {stage}", number::seconds(begun.elapsed().as_secs_f64()))
}

fn run_backup(options: &BackupOptions) -> anyhow::Result<ExitCode> {
    let plan = backup::Options {
        vertices: u64::from(options.segments) * 1024,
        degree: options.degree.into(),
        rounds: options.rounds.into(),
        turn: Duration::from_secs(options.seconds.into()),
        writers: options.writers.into(),
        bytes_per_s_max: options.mib_per_s.unwrap_or(0) << 20,
        folder: options.dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let (report, bytes, writers) =
        backup::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    let screen = Screen::new();
    screen.line(bytes)?;
    screen.line(writers)?;
    if let Some(file) = &options.json {
        let text = serde_json::to_string_pretty(&report.to_json())?;
        std::fs::write(file, text).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_soak(options: &SoakOptions) -> anyhow::Result<ExitCode> {
    let time = Duration::from_secs(60 * u64::from(options.minutes));
    let plan = soak::Options {
        time,
        sample: time / 60,
        vertices: options.vertices,
        writers: options.writers.into(),
        commits_per_s: options.rate,
        memory_limit_bytes: u64::from(options.memory) << 20,
        retain: Duration::from_secs(options.retain.into()),
        folder: options.dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let table = soak::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    Screen::new().line(table)?;
    Ok(ExitCode::SUCCESS)
}

fn run_import(options: &ImportOptions) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let begun = Instant::now();
    let plan = import::Options {
        scale: options.scale,
        file: options.file.clone(),
        rounds: options.rounds.into(),
        seed: options.seed,
        folder: options.dir.clone(),
        ..import::Options::default()
    };
    let outcome = import::run(&plan, &mut |stage| {
        eprintln!("   {:>7}  {stage}", number::seconds(begun.elapsed().as_secs_f64()));
    })?;
    screen.line(outcome.to_string().trim_end())?;
    if let Some(file) = &options.json {
        let json = serde_json::to_string_pretty(&outcome.to_json())?;
        std::fs::write(file, json + "\n").with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_kernel(options: &KernelOptions) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let begun = Instant::now();
    let plan = kernel::Options {
        graph: options.graph.clone(),
        rounds: options.rounds.into(),
        seed: options.seed,
        quick: options.quick,
        folder: options.dir.clone(),
    };
    let outcome = kernel::run(&plan, &mut |stage| {
        eprintln!("   {:>7}  {stage}", number::seconds(begun.elapsed().as_secs_f64()));
    })?;
    eprintln!("   {:>7}  done", number::seconds(begun.elapsed().as_secs_f64()));
    screen.line(outcome.to_string().trim_end())?;
    if let Some(file) = &options.json {
        outcome.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    if let Some(folder) = &options.plots {
        outcome.write_charts(folder).with_context(|| format!("writing {}", folder.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn run_memory(options: &MemoryOptions) -> anyhow::Result<ExitCode> {
    let plan = memory::Options {
        vertices: options.vertices,
        degree: options.degree,
        rounds: options.rounds.into(),
        time: Duration::from_secs(options.seconds.into()),
        seed: options.seed,
        folder: options.dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let outcome = memory::run(&plan, &mut stages())?;
    Screen::new().line(outcome.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn run_history(options: &HistoryOptions) -> anyhow::Result<ExitCode> {
    let plan = history::Options {
        scale: options.scale,
        factor: options.factor,
        churn: options.churn,
        rounds: options.rounds.into(),
        seed: options.seed,
    };
    let outcome = history::run(&plan, &mut stages())?;
    Screen::new().line(outcome.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}

fn run_index(options: &IndexOptions) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let plan = index::Options {
        keys: options.keys as usize,
        rounds: options.rounds.into(),
        seed: options.seed,
    };
    let outcome = index::run(&plan, &mut |stage| {
        eprintln!("   {:>7}  {stage}", number::seconds(begun.elapsed().as_secs_f64()));
    })?;
    Screen::new().line(outcome.to_string().trim_end())?;
    Ok(ExitCode::SUCCESS)
}
