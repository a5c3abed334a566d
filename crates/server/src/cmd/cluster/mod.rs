//! `telar cluster`: clusters of servers.

mod dev;
mod status;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Start a cluster on this machine, or show the state of one.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Options),
    Status(status::Options),
}

/// Runs `telar cluster`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    match &options.command {
        Command::Dev(options) => dev::run(options),
        Command::Status(options) => status::run(options),
    }
}
