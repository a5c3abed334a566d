//! `telar bench commits`: large transactions.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_bench::commits;
use telar_cli::Screen;

use super::stages;

/// Large transactions: nodes made and deleted in one commit, schemas of many names.
///
/// Each case has a database of its own on disk; what it wrote is counted before its time is shown.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench commits
  telar bench commits --nodes 1000000,2000000,5000000 --dir /var/tmp")]
pub(super) struct CommitsOptions {
    /// Nodes made in one transaction, a case for each
    #[arg(long, value_name = "N,N..", value_delimiter = ',', default_value = "1000000,2000000")]
    nodes: Vec<u64>,
    /// Nodes deleted in one transaction
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    deleted: u64,
    /// Relationships beside them
    #[arg(long, value_name = "N", default_value_t = 163_000)]
    edges: u64,
    /// Property keys made in one transaction
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(2..=60_000))]
    keys: u64,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Folder on the disk to measure on [default: the folder for temporary files]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

pub(super) fn run(options: &CommitsOptions) -> anyhow::Result<ExitCode> {
    let plan = commits::Options {
        nodes: options.nodes.clone(),
        deleted: options.deleted,
        edges: options.edges,
        keys: options.keys,
        folder: options.dir.clone().unwrap_or_else(std::env::temp_dir),
    };
    let (report, table) = commits::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    Screen::new().line(table)?;
    if let Some(file) = &options.json {
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
