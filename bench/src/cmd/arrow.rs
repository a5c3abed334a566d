//! `telar bench arrow`: results as Arrow record batches.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_bench::arrow;
use telar_cli::Screen;

use super::stages;

/// Results as Arrow record batches, from columns and value by value.
///
/// Both ways give the same values before anything is timed; figures are processor seconds of one
/// thread.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench arrow
  telar bench arrow --nodes 100000 --rounds 11")]
pub(super) struct ArrowOptions {
    /// Nodes, each with five properties
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1_000..=100_000_000))]
    nodes: u64,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &ArrowOptions) -> anyhow::Result<ExitCode> {
    let plan = arrow::Options { nodes: options.nodes, rounds: options.rounds.into() };
    let (report, figures) = arrow::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    Screen::new().line(figures.to_string().trim_end())?;
    if let Some(file) = &options.json {
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
