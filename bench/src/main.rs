//! The `telar-bench` program, which `telar bench` runs: benchmarks on the command line.
//!
//! Tables go to standard output; progress and errors go to standard error.

mod cmd;

use std::process::ExitCode;

use clap::Parser;
use telar_cli::allocator::Counting;

/// The allocator of `telar`, so that figures are those of the product.
#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

fn main() -> ExitCode {
    telar_cli::exit_code(cmd::run(&cmd::Cli::parse()))
}
