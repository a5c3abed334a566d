//! `telar bench live`: PageRank that follows changes, against PageRank from scratch.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_bench::live;
use telar_cli::Screen;

use super::stages;

/// PageRank after 0.1 % new edges: following them, and from scratch.
///
/// Ranks are checked to be within 1e-6 before anything counts; figures are wall time, on one
/// thread.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench live
  telar bench live --scale 16 --rounds 3")]
pub(super) struct LiveOptions {
    /// Binary logarithm of the number of vertices; there are 16 times as many edges
    #[arg(long, value_name = "N", default_value_t = 18, value_parser = clap::value_parser!(u32).range(8..=26))]
    scale: u32,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=100))]
    rounds: u16,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &LiveOptions) -> anyhow::Result<ExitCode> {
    let plan = live::Options { scale: options.scale, rounds: options.rounds.into() };
    let (report, figures) = live::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    Screen::new().line(figures.to_string().trim_end())?;
    if let Some(file) = &options.json {
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
