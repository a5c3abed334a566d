//! The subcommands.

mod admin;
mod backup;
mod bench;
mod check;
mod cluster;
mod compact;
mod config;
mod demo;
#[cfg(feature = "files")]
mod export;
mod import;
mod info;
mod mcp;
mod promote;
mod reorder;
mod repair;
mod restore;
mod serve;
mod shell;
mod upgrade;
pub(crate) mod usage;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::bail;
use clap::{Parser, Subcommand};

/// Telar: a transactional property-graph database.
#[derive(Debug, Parser)]
#[command(name = "telar", version, propagate_version = true, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 done, 1 failed (the reason is on standard error), 2 wrong usage."
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Set a user's password while the server does not run
    Admin(admin::Options),
    /// Copy a database into a directory, whole or what changed since another backup
    Backup(backup::Options),
    /// Measure the engine next to flat arrays and other stores
    Bench(bench::Options),
    /// Verify every checksum and invariant of a database or a backup
    Check(check::Options),
    /// Begin a cluster, show the state of one, or mend it
    Cluster(cluster::Options),
    /// Rewrite the store file without its free pages
    Compact(compact::Options),
    /// Show and check the settings of a server
    Config(config::Options),
    /// Import, change, analyse, kill and recover a graph, and check that nothing was lost
    Demo(demo::Options),
    #[command(hide = true)]
    DemoWorker(demo::WorkerOptions),
    /// Write a whole database to a folder of files
    #[cfg(feature = "files")]
    Export(export::Options),
    /// Read a file of edges, CSV files or the folder of an export into a database
    Import(import::Options),
    /// Show what a database holds and what it costs
    Info(info::Options),
    /// Serve a database to programs with language models (Model Context Protocol)
    Mcp(mcp::Options),
    /// End following another server: the copies become databases of their own
    Promote(promote::Options),
    /// Write a database anew, with neighbours near each other on disk and in memory
    Reorder(reorder::Options),
    /// Rebuild what can be rebuilt of a damaged database, in a new directory
    Repair(repair::Options),
    /// Make a database from backups, as of any commit or time they reach
    Restore(restore::Options),
    /// Serve databases to Neo4j's drivers and tools, and over HTTP
    Serve(serve::Options),
    /// Run openCypher on a database, typed or from a file
    Shell(shell::Options),
    /// Bring a database of an older version to the format of this one
    Upgrade(upgrade::Options),
}

/// Runs a subcommand; the exit code says whether what it was to find out holds.
pub(crate) fn run(command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Admin(options) => admin::run(&options),
        Command::Backup(options) => backup::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Check(options) => check::run(&options),
        Command::Cluster(options) => cluster::run(&options),
        Command::Compact(options) => compact::run(&options),
        Command::Config(options) => config::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::DemoWorker(options) => demo::run_worker(&options),
        #[cfg(feature = "files")]
        Command::Export(options) => export::run(&options),
        Command::Import(options) => import::run(&options),
        Command::Info(options) => info::run(&options),
        Command::Mcp(options) => mcp::run(&options),
        Command::Promote(options) => promote::run(&options),
        Command::Reorder(options) => reorder::run(&options),
        Command::Repair(options) => repair::run(&options),
        Command::Restore(options) => restore::run(&options),
        Command::Serve(options) => serve::run(&options),
        Command::Shell(options) => shell::run(&options),
        Command::Upgrade(options) => upgrade::run(&options),
    }
}

/// Fails if there is no database in `path`, which opening it would make.
fn expect_database(path: &Path) -> anyhow::Result<()> {
    if !path.join("FORMAT").is_file() {
        bail!("{}: there is no Telar database", path.display());
    }
    Ok(())
}

/// Bytes of the files in a folder.
fn folder_bytes(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return 0;
    };
    entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|m| m.len()).sum()
}
