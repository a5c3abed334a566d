//! `telar compact`: the store file without its free pages.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_db::maintenance::compact;

use crate::ui::{Screen, number};

/// Rewrite the store file without its free pages.
///
/// The store keeps freed pages for later checkpoints and never becomes shorter by itself. Worth it
/// after much was deleted. Needs free disk space for the result; a crash leaves the old file or
/// the new one. The database must not be open elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  telar compact graph.telar")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
}

/// Runs `telar compact`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let done = compact(&options.db)?;
    let (before, after) = (number::bytes(done.bytes_before), number::bytes(done.bytes_after));
    let screen = Screen::new();
    screen.line(format!("{}: store {before} -> {after}", options.db.display()))?;
    Ok(ExitCode::SUCCESS)
}
