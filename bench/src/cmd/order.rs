//! `telar bench order`: what orders of the vertices are worth.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Args;
use telar_algo::ordering::Method;
use telar_bench::kernel::GraphSpec;
use telar_bench::order;
use telar_cli::Screen;

use super::stages;

/// PageRank on a graph whose ids were shuffled, and on the same graph in each order.
///
/// Scores are compared before anything is timed. Prints time per iteration, after how many
/// iterations an order has paid for itself, cache and TLB misses by a model of one core, and what
/// it would cost to look each neighbour's place up.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar bench order --graph cnr-2000.txt.zst
  telar bench order --graph rmat:20:16 --orders degree,bfs,rcm,community
  valgrind --tool=cachegrind --cache-sim=yes telar-bench order --only rcm --iterations 5")]
pub(super) struct OrderOptions {
    /// rmat:SCALE:FACTOR, uniform:SCALE:FACTOR (2^SCALE vertices, FACTOR edges each) or a file of
    /// edges
    #[arg(long, value_name = "GRAPH", default_value = "rmat:18:16")]
    graph: GraphSpec,
    /// Orders to measure
    #[arg(
        long,
        value_name = "ORDER",
        value_delimiter = ',',
        default_value = "degree,bfs,rcm,community,spectral,gorder"
    )]
    orders: Vec<Method>,
    /// Iterations of PageRank in a run
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    iterations: u32,
    /// Rounds; medians count
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = clap::value_parser!(u16).range(1..=1000))]
    rounds: u16,
    /// Seed of graphs, of the shuffle and of orders
    #[arg(long, value_name = "S", default_value_t = 42)]
    seed: u64,
    /// Only run PageRank once in this order (random: shuffled), for cachegrind or perf
    #[arg(long, value_name = "ORDER")]
    only: Option<Method>,
    /// Write all figures to this file, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(super) fn run(options: &OrderOptions) -> anyhow::Result<ExitCode> {
    let plan = order::Options {
        graph: options.graph.clone(),
        methods: options.orders.clone(),
        iterations: options.iterations,
        rounds: options.rounds.into(),
        seed: options.seed,
    };
    let screen = Screen::new();
    if let Some(only) = options.only {
        let method = Some(only).filter(|method| *method != Method::Random);
        let sum = order::run_only(&plan, method).map_err(anyhow::Error::from_boxed)?;
        screen.line(format!("sum of squared scores {sum:e}"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let (report, times, misses) =
        order::run(&plan, &mut stages()).map_err(anyhow::Error::from_boxed)?;
    screen.line(times)?;
    screen.line(misses)?;
    if let Some(file) = &options.json {
        report.write_json(file).with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
