//! `telar info`: what a database holds and what it costs.

mod degrees;
mod report;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use telar_db::Settings;

use crate::ui::Screen;

/// Show what a database holds and what it costs.
///
/// Counts per label and edge type, degrees, memory per edge, share of unsettled edges, log and
/// checkpoint on disk, last commit. Replays the log in memory if the database was not closed;
/// changes no file.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
    /// Print one JSON object instead
    #[arg(long)]
    json: bool,
}

/// Runs `telar info`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    super::expect_database(&options.db)?;
    // No background pass: what is shown as unsettled is what recovery left unsettled.
    let db = telar_db::Database::open_to_read(&options.db, Settings::default())?;
    let report = report::Report::collect(&db, &options.db)?;
    let screen = Screen::new();
    match options.json {
        true => screen.line(serde_json::to_string_pretty(&report.json())?)?,
        false => report.print(screen)?,
    }
    Ok(ExitCode::SUCCESS)
}
