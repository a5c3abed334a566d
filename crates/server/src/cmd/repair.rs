//! `telar repair`: what can be rebuilt without guessing.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_db::maintenance::{RepairOptions, repair};

use crate::ui::{Screen, number};

/// Exit code when the new database lacks commits.
const LOST: u8 = 4;

/// Rebuild what can be rebuilt of a damaged database, in a new directory.
///
/// The damaged one is only read. What stands in two places is rebuilt from the other one and must
/// then fit the checksums, bit for bit; what stood in one place is lost, and the repair says what
/// that is and refuses. Run `telar check` first: a backup may be the better way.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar repair broken.telar repaired.telar
  telar repair broken.telar repaired.telar --lose-commits

Exit codes: 0 the graph is as it was, 1 refused or failed (nothing was made), 4 made, and commits
are lost.")]
pub(crate) struct Options {
    /// Directory of the damaged database
    db: PathBuf,
    /// Directory of the new one; must not exist or be empty
    new: PathBuf,
    /// Where the log is damaged in the middle or missing, keep the commits before and lose those
    /// after
    #[arg(long)]
    lose_commits: bool,
}

/// Runs `telar repair`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let mut how = RepairOptions::default();
    how.lose_commits = options.lose_commits;
    eprintln!("   reading {}", options.db.display());
    let done = repair(&options.db, &options.new, how)?;
    let screen = Screen::new();
    screen.line(screen.bold(options.new.display()))?;
    let values = number::counted(done.values, "value", "values");
    let commits = number::counted(done.commits, "commit", "commits");
    screen.line(format!("  {values} as they were, {commits} replayed, at commit {}", done.to))?;
    done.done.iter().try_for_each(|what| screen.line(format!("  {what}")))?;
    done.lost.iter().try_for_each(|what| screen.line(screen.bad(format!("  lost: {what}"))))?;
    if done.lost.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    screen.line(screen.bad("the new database lacks what is lost; a backup may have it"))?;
    Ok(ExitCode::from(LOST))
}
