//! The `telar` program: a graph database on the command line.
//!
//! `cmd` has one file or folder per subcommand, `ui` their output.
//! Results go to standard output; progress and errors go to standard error.

mod cmd;
mod ui;

use std::process::ExitCode;

use clap::Parser;
use telar_cli::allocator::Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting::new();

fn main() -> ExitCode {
    match cmd::Cli::try_parse() {
        Ok(cli) => telar_cli::exit_code(cmd::run(cli.command)),
        Err(error) => cmd::usage::explained(error).exit(),
    }
}
