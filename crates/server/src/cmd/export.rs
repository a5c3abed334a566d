//! `telar export`: a whole database as a folder of files.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use telar_db::Settings;
use telar_db::query::FileFormat;
use telar_files::folder;

use crate::ui::{Screen, number};

/// Formats of the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Parquet, which keeps every value as it is
    Parquet,
    /// Arrow IPC, which does, too
    Arrow,
    /// JSON lines, with types where JSON has none
    Jsonl,
    /// CSV, for other programs: it cannot be imported as a folder
    Csv,
}

/// Write a whole database to a new folder: a file for each set of labels, one for each type of
/// relationship, and the constraints and indexes as statements.
///
/// `telar import` makes the same database of the folder, whatever its version is. What a backup
/// has and this has not: the numbers of nodes, and what was retained of the past. The database must
/// not be open elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar export graph.telar graph-export
  telar import copy.telar graph-export
  telar export graph.telar tables --format csv")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
    /// Folder that is made
    folder: PathBuf,
    /// Format of the files
    #[arg(long, value_enum, default_value_t = Format::Parquet)]
    format: Format,
}

/// Runs `telar export`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let db = telar_db::Database::open_to_read(&options.db, Settings::default())?;
    let format = match options.format {
        Format::Parquet => FileFormat::Parquet,
        Format::Arrow => FileFormat::Arrow,
        Format::Jsonl => FileFormat::Json,
        Format::Csv => FileFormat::Csv,
    };
    let done = folder::export(&db, &options.folder, format, &|_| {})?;
    Screen::new().line(format!("{}: {}", options.folder.display(), contents(&done)))?;
    Ok(ExitCode::SUCCESS)
}

/// What is in a folder, in words.
pub(super) fn contents(done: &folder::Contents) -> String {
    let count = |count, one, several| number::counted(count, one, several);
    format!(
        "{}, {}, {} in {}",
        count(done.vertices, "vertex", "vertices"),
        count(done.edges, "edge", "edges"),
        count(done.rules, "constraint or index", "constraints and indexes"),
        count(done.files, "file", "files"),
    )
}
