//! `telar backup`: a copy of a database that no other process has open.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_db::Settings;
use telar_db::maintenance::BackupOptions;

use crate::ui::{Screen, number};

/// Copy a database into a directory, whole or what changed since another backup.
///
/// A database can be open in one process at a time. While a program has it open, that program takes
/// the backup, beside its readers and writers: `Database::backup` does what this command does.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar backup graph.telar backups/monday
  telar backup graph.telar backups/tuesday --since backups/monday
  telar restore backups/monday backups/tuesday restored.telar")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
    /// Directory of the backup; must not exist or be empty
    backup: PathBuf,
    /// Copy only what changed since this backup of the same database
    #[arg(long, value_name = "BACKUP")]
    since: Option<PathBuf>,
    /// Write at most so many MiB per second
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    mib_per_s: Option<u64>,
}

/// Runs `telar backup`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    super::expect_database(&options.db)?;
    eprintln!("   opening {}", options.db.display());
    let db = telar_db::Database::open_to_read(&options.db, Settings::default())?;
    let mut how = BackupOptions::default();
    how.since.clone_from(&options.since);
    how.bytes_per_s_max = options.mib_per_s.unwrap_or(0) << 20;
    eprintln!("   copying");
    let done = db.backup(&options.backup, &how)?;
    let screen = Screen::new();
    let title = format!("{} -> {}", options.db.display(), options.backup.display());
    screen.line(screen.bold(title))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<12}{text}"));
    let seconds = done.took.as_secs_f64();
    let values = number::counted(done.values, "value", "values");
    let commits = number::counted(done.commits, "commit", "commits");
    row("copied", format!("{values}, {commits}, {}", number::bytes(done.bytes)))?;
    row("took", number::seconds(seconds))?;
    row("restores to", format!("commit {}", done.to))?;
    if let Some(since) = &options.since {
        row("continues", format!("{}, which is needed to restore it", since.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}
