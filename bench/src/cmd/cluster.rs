//! `telar bench cluster` and `telar bench stores`: a replicated database, and the stores under it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use telar_bench::cluster::{self, pressure};
use telar_bench::report::{Report, Table};
use telar_cli::Screen;

use super::stages;

/// Commits of a leader beside one put of its store and a single server; its follower.
///
/// A single server at `full` and the leader take turns on one disk. What was acknowledged is
/// counted before any figure is shown. Stores that are named keep the logs: use one for tests.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench cluster
  telar bench cluster --store postgres://telar@127.0.0.1:5432/telar --seconds 10")]
pub(super) struct ClusterOptions {
    /// URL of a store; several may be named [default: a folder on the disk to measure on]
    #[arg(long, value_name = "URL")]
    store: Vec<String>,
    /// Clients beside the single one
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(2..=1024))]
    clients: u16,
    /// Seconds of each measurement
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

/// Groups of several sizes at several rates into a store, with a kill in the middle.
///
/// Every group that was acknowledged is looked for in the end.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench stores --store etcd://etcd1,etcd2,etcd3 --seconds 3600 --keep 64
  telar bench stores --store postgres://telar@127.0.0.1:5432/telar --disturb 'kill -9 $(head -1 data/postmaster.pid)'")]
pub(super) struct StoresOptions {
    /// URL of the store
    #[arg(long, value_name = "URL")]
    store: String,
    /// Sizes of groups, in KiB
    #[arg(long, value_name = "N,N..", value_delimiter = ',', default_value = "4,64,256")]
    sizes: Vec<u32>,
    /// Rates, in MB per second
    #[arg(long, value_name = "X,X..", value_delimiter = ',', default_value = "0.5,1,4,16")]
    rates: Vec<f64>,
    /// Seconds of each size at each rate
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=86_400))]
    seconds: u32,
    /// Read the log beside its writer and keep only so much of it [default: all until each ends]
    #[arg(long, value_name = "MIB")]
    keep: Option<u32>,
    /// Command that disturbs the store, run by the shell in the middle of each
    #[arg(long, value_name = "CMD")]
    disturb: Option<String>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

fn show(report: &Report, table: Table, json: Option<&PathBuf>) -> anyhow::Result<ExitCode> {
    Screen::new().line(table)?;
    if let Some(file) = json {
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn run(options: &ClusterOptions) -> anyhow::Result<ExitCode> {
    let plan = cluster::Options {
        stores: options.store.clone(),
        clients: options.clients.into(),
        turn: Duration::from_secs(options.seconds.into()),
        rounds: options.rounds.into(),
        folder: options.dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let done = cluster::run(&plan, &mut stages());
    let (report, table) = done.map_err(anyhow::Error::from_boxed)?;
    show(&report, table, options.json.as_ref())
}

pub(super) fn run_stores(options: &StoresOptions) -> anyhow::Result<ExitCode> {
    anyhow::ensure!(options.rates.iter().all(|rate| *rate > 0.0), "rates must be above 0");
    anyhow::ensure!(options.sizes.iter().all(|size| *size > 0), "sizes must be above 0");
    let plan = pressure::Options {
        store: options.store.clone(),
        sizes: options.sizes.clone(),
        rates: options.rates.clone(),
        time: Duration::from_secs(options.seconds.into()),
        keep: options.keep.map(|mib| u64::from(mib) << 20),
        disturb: options.disturb.clone(),
    };
    let done = pressure::run(&plan, &mut stages());
    let (report, table) = done.map_err(anyhow::Error::from_boxed)?;
    show(&report, table, options.json.as_ref())
}
