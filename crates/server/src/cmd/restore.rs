//! `telar restore`: a new database from backups.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::bail;
use clap::Args;
use telar_db::CommitTs;
use telar_db::maintenance::{RestoreOptions, RestorePoint, restore, time};

use crate::ui::{Screen, number};

/// Make a database from backups, as of any commit or time they reach.
///
/// Name the full backup and every incremental one up to the wanted point, in any order, and then
/// the directory of the new database, which must not exist or be empty. Everything is verified
/// before it is there. The new database is one of its own: its next backup must be a full one.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar restore backups/monday graph.telar
  telar restore backups/monday backups/tuesday graph.telar --to 18250
  telar restore backups/monday backups/tuesday graph.telar --to 2026-11-21T10:30:00Z
  telar restore backups/monday graph.telar --log broken.telar/wal --log broken.telar/archive")]
pub(crate) struct Options {
    /// The backups, and then the directory of the new database
    #[arg(required = true, num_args = 2.., value_name = "BACKUP... DB")]
    paths: Vec<PathBuf>,
    /// Commit, or date and time (UTC unless it names an offset), to restore to [default: the last]
    #[arg(long, value_name = "POINT", value_parser = point)]
    to: Option<RestorePoint>,
    /// Directory with more of the log: `wal` or `archive` of the database; may be repeated
    #[arg(long, value_name = "DIR")]
    log: Vec<PathBuf>,
}

fn point(text: &str) -> Result<RestorePoint, String> {
    match text.parse::<u64>() {
        Ok(ts) => Ok(RestorePoint::Commit(CommitTs::from_raw(ts))),
        Err(_) => time::parse(text).map(RestorePoint::Time),
    }
}

/// Runs `telar restore`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let Some((target, backups)) = options.paths.split_last() else {
        bail!("name the backups and the new database");
    };
    let mut how = RestoreOptions::default();
    how.to = options.to.unwrap_or_default();
    how.logs.clone_from(&options.log);
    let begun = Instant::now();
    eprintln!("   verifying, copying, replaying");
    let done = restore(backups, target, &how)?;
    let screen = Screen::new();
    screen.line(screen.bold(target.display()))?;
    let row = |name: &str, text: String| screen.line(format!("  {name:<10}{text}"));
    let when = done.time_ms.map_or_else(String::new, |ms| format!(" of {}", time::show(ms)));
    row("restored", format!("commit {}{when}", done.to))?;
    let values = number::counted(done.values, "value", "values");
    let commits = number::counted(done.commits, "commit", "commits");
    row("from", format!("{values} of checkpoint {}, {commits} replayed", done.checkpoint))?;
    row("took", number::seconds(begun.elapsed().as_secs_f64()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_commits_or_times() {
        assert_eq!(point("17"), Ok(RestorePoint::Commit(CommitTs::from_raw(17))));
        assert_eq!(point("1970-01-01T00:00:02Z"), Ok(RestorePoint::Time(2000)));
        assert!(point("noon").is_err());
    }
}
