//! `telar export`: a whole database as a folder of files, or as one file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use telar_db::Settings;
use telar_db::query::FileFormat;
use telar_exchange::{GraphFormat, Written, cypher, graphml};
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
    /// One file of GraphML, without constraints and indexes
    Graphml,
    /// One script of Cypher, for Telar, Neo4j and others
    Cypher,
}

/// Write a whole database to a new folder or file. As a folder: a file for each set of labels, one
/// for each type of relationship, and the constraints and indexes as statements.
///
/// `telar import` makes the same database of the folder, whatever its version is. What a backup
/// has and this has not: the numbers of nodes, and what was retained of the past. The database must
/// not be open elsewhere.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar export graph.telar graph-export
  telar import copy.telar graph-export
  telar export graph.telar tables --format csv
  telar export graph.telar graph.graphml
  telar export graph.telar graph.cypher")]
pub(crate) struct Options {
    /// Directory of the database
    db: PathBuf,
    /// Folder that is made, or file: with graphml and cypher
    #[arg(value_name = "FOLDER|FILE")]
    folder: PathBuf,
    /// Format of the files [default: parquet, or as the name of a file ends: .graphml, .cypher]
    #[arg(long, value_enum)]
    format: Option<Format>,
}

/// Runs `telar export`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let db = telar_db::Database::open_to_read(&options.db, Settings::default())?;
    let named = match GraphFormat::of_path(&options.folder.to_string_lossy()) {
        Some(GraphFormat::Graphml) => Format::Graphml,
        Some(GraphFormat::Cypher) => Format::Cypher,
        _ => Format::Parquet,
    };
    let format = match options.format.unwrap_or(named) {
        Format::Parquet => FileFormat::Parquet,
        Format::Arrow => FileFormat::Arrow,
        Format::Jsonl => FileFormat::Json,
        Format::Csv => FileFormat::Csv,
        Format::Graphml => return written(options, &graphml::write(&db, &options.folder)?),
        Format::Cypher => return written(options, &cypher::write(&db, &options.folder)?),
    };
    let done = folder::export(&db, &options.folder, format, &|_| {})?;
    Screen::new().line(format!("{}: {}", options.folder.display(), contents(&done)))?;
    Ok(ExitCode::SUCCESS)
}

/// Says what was written to a file.
fn written(options: &Options, done: &Written) -> anyhow::Result<ExitCode> {
    let screen = Screen::new();
    let vertices = number::counted(done.nodes, "vertex", "vertices");
    let edges = number::counted(done.relationships, "edge", "edges");
    let rules = number::counted(done.schema, "constraint or index", "constraints and indexes");
    screen.line(format!("{}: {vertices}, {edges}, {rules}", options.folder.display()))?;
    for note in &done.notes {
        screen.line(format!("  note: {note}"))?;
    }
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
