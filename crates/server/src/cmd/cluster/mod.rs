//! `telar cluster`: clusters of servers.

mod dev;
mod found;
mod status;
mod transfer;

use std::process::ExitCode;

use clap::{Args, Subcommand};

/// Begin a cluster, show the state of one, or mend it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Dev(dev::Options),
    Init(found::Init),
    Status(status::Options),
    Transfer(transfer::Options),
    Remove(found::Remove),
    Recover(found::Recover),
}

/// Runs `telar cluster`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    match &options.command {
        Command::Dev(options) => dev::run(options),
        Command::Init(options) => found::init(options),
        Command::Status(options) => status::run(options),
        Command::Transfer(options) => transfer::run(options),
        Command::Remove(options) => found::remove(options),
        Command::Recover(options) => found::recover(options),
    }
}
