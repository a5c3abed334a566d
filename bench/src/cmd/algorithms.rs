//! `telar bench algorithms`: kernels on flat arrays, in place, through `CALL`, as programs, and
//! beside a writer.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_bench::algorithms::{self, Section};
use telar_cli::Screen;

use super::stages;

/// Graph algorithms on the lists of a database, next to the same kernels on flat arrays.
///
/// Sections: kernels (settled lists, 10 % unsettled, beside a writer), calls (through CALL),
/// scaling (several threads over one), programs (vertex programs, batched updates and work sharing
/// on and off), snapshots (a kernel and a writer side by side), memory (bytes beside the graph).
/// All answers are compared before anything is timed; figures are wall time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench algorithms
  telar bench algorithms --scale 16 --threads 1
  telar bench algorithms --section kernels,snapshots --json kernels.json")]
pub(super) struct AlgorithmsOptions {
    /// Binary logarithm of the number of vertices; there are 16 times as many edges
    #[arg(long, value_name = "N", default_value_t = 18, value_parser = clap::value_parser!(u32).range(8..=26))]
    scale: u32,
    /// Numbers of threads to run on
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Vec<u16>,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Sections to run [default: all]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    section: Vec<Section>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &AlgorithmsOptions) -> anyhow::Result<ExitCode> {
    let sections = match options.section.is_empty() {
        true => Section::ALL.map(|(_, section)| section).to_vec(),
        false => options.section.clone(),
    };
    let plan = algorithms::Options {
        scale: options.scale,
        threads: options.threads.iter().map(|n| usize::from(*n)).collect(),
        rounds: options.rounds.into(),
        sections,
    };
    let found = algorithms::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    let screen = Screen::new();
    for (title, table) in &found.tables {
        screen.line(format!("{title}\n\n{table}"))?;
    }
    if let Some(file) = &options.json {
        found.report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
