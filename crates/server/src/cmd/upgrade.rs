//! `telar upgrade`: from an older format to the one of this program.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_db::maintenance::upgrade;

use crate::ui::Screen;

/// Bring a database of an older version to the format of this one.
///
/// Older programs cannot open it afterwards: take a copy first. An upgrade that was interrupted is
/// done again by running it again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  cp -a graph.telar graph.old && telar upgrade graph.telar")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
}

/// Runs `telar upgrade`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let done = upgrade(&options.db)?;
    let (screen, path) = (Screen::new(), options.db.display());
    if done.changes.is_empty() {
        screen.line(format!("{path} has format version {} already", done.to))?;
        return Ok(ExitCode::SUCCESS);
    }
    screen.line(format!("{path}: format version {} -> {}", done.from, done.to))?;
    done.changes.iter().try_for_each(|change| screen.line(format!("  {change}")))?;
    Ok(ExitCode::SUCCESS)
}
