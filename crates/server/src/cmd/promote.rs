//! `telar promote`: the end of following another server.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_server::dbms::{DbmsSettings, promote};

use crate::ui::Screen;

/// End following another server: the copies become databases of their own.
///
/// For the folder of a server that was started with --follow and does not run. Commits that the
/// source had and the copies did not are not there. An attempt that was interrupted is finished by
/// running it again.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  telar promote copy.telar && telar serve copy.telar")]
pub(crate) struct Options {
    /// Directory of the server
    path: PathBuf,
    /// Name of the default database [store.default_database: telar]
    #[arg(long, value_name = "NAME")]
    default_database: Option<String>,
}

/// Runs `telar promote`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let usual = DbmsSettings::default().default_database;
    let default = options.default_database.as_deref().unwrap_or(&usual);
    let promoted = promote(&options.path, default)?;
    let screen = Screen::new();
    for database in promoted {
        let commit = database.commit.map(|ts| format!(" at commit {}", ts.get()));
        let name = database.name;
        screen.line(format!("{name}{}", commit.unwrap_or_default()))?;
    }
    screen.line(format!("{} takes writes now: telar serve", options.path.display()))?;
    Ok(ExitCode::SUCCESS)
}
