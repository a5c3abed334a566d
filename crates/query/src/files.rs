//! Files of rows: how statements read and write them, whatever the format.
//!
//! ```text
//!  LOAD PARQUET, COPY FROM ──► dyn Files ──► dyn TableReader ──► names, batches of columns
//!  COPY TO                 ──►           ──► dyn TableWriter ◄── names, batches of columns
//! ```
//!
//! This crate knows no format: [`NoFiles`] refuses every file. The crate `telar-files` implements
//! [`Files`] for CSV, JSON lines, Parquet and Arrow IPC, and for graphs as GraphML and Cypher; a
//! runtime is given it once (`Runtime::with_files`). `LOAD CSV` needs none of this.

mod part;
mod unfinished;

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Component, Path, PathBuf};

use std::sync::Arc;

use rustix::fs::OFlags;
use telar_graph::{EdgeId, VertexId};

use crate::batch::Column;
use crate::entities::{Node, Relationship};
use crate::query_error::{ErrorKind, QueryError};
use crate::watch::Limits;

pub use part::{GraphPart, PartNode, PartRelationship};
pub use unfinished::Unfinished;

/// A format of files of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// Text with delimiters.
    Csv,
    /// A JSON value in each line.
    Json,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file or a stream.
    Arrow,
}

impl FileFormat {
    /// The format of a name that options and clauses use: `csv`, `parquet`, `arrow`, `json`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match &*name.to_ascii_lowercase() {
            "csv" | "tsv" => Self::Csv,
            "json" | "jsonl" | "ndjson" => Self::Json,
            "parquet" => Self::Parquet,
            "arrow" | "ipc" | "feather" => Self::Arrow,
            _ => return None,
        })
    }

    /// The format that the name of a file ends with, before `.gz` or `.zst`.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(path);
        let (_, end) = path.rsplit_once('.')?;
        match end.to_ascii_lowercase().as_str() {
            "arrows" | "pq" => Some(if end.len() == 2 { Self::Parquet } else { Self::Arrow }),
            end => Self::of_name(end),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
        }
    }
}

/// How a file is read or written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileOptions {
    /// Its format.
    pub format: FileFormat,
    /// CSV: whether the first record has the names of the columns. Default: true.
    pub header: bool,
    /// CSV: what stands between fields, an ASCII character. Default: a comma.
    pub delimiter: u8,
    /// CSV: types of columns, by name, which are else guessed.
    pub types: Vec<(String, String)>,
    /// JSON: whether each row is one value, in a single column, and not a column for each key.
    /// Default: false.
    pub whole: bool,
    /// JSON: whether what JSON has no type for is written with the name of its type, to be read
    /// back as it was. Default: false.
    pub typed: bool,
    /// Compression that is written: `none`, `gzip`, `zstd`, `snappy`; the usual of the format if
    /// it is not said.
    pub compression: Option<String>,
}

impl FileOptions {
    /// The usual of a format.
    #[must_use]
    pub fn new(format: FileFormat) -> Self {
        let (types, compression) = (Vec::new(), None);
        let (header, whole, typed) = (true, false, false);
        Self { format, header, delimiter: b',', types, whole, typed, compression }
    }
}

/// Rows that come batch by batch, each a column per name.
pub trait TableReader: Send {
    /// Names of the columns.
    fn names(&self) -> &[Arc<str>];

    /// The columns of the next rows; `None` after the last.
    ///
    /// # Errors
    /// What is wrong, with the file and the place in it.
    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError>;

    /// Where a row is, counted from 0 over all batches, for messages.
    fn place(&self, row: u64) -> String {
        format!("row {}", row + 1)
    }
}

/// What nodes and relationships of some rows are.
pub trait EntityReader {
    /// Labels and properties of a node.
    ///
    /// # Errors
    /// If the graph cannot be read.
    fn node(&self, vertex: VertexId) -> Result<Arc<Node>, QueryError>;

    /// Type and properties of a relationship.
    ///
    /// # Errors
    /// If the graph cannot be read.
    fn relationship(&self, edge: EdgeId) -> Result<Arc<Relationship>, QueryError>;
}

/// Rows that go somewhere.
pub trait TableWriter: Send {
    /// The next rows, a column per name. `entities` tells what nodes and relationships in them are.
    ///
    /// # Errors
    /// If they cannot be written, with the file.
    fn write(
        &mut self,
        columns: &[&Column],
        entities: Option<&dyn EntityReader>,
    ) -> Result<(), QueryError>;

    /// Writes what is left, and makes sure that it is on disk.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    fn finish(self: Box<Self>) -> Result<(), QueryError>;
}

/// A format of one file that holds a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFileFormat {
    /// GraphML, without constraints and indexes.
    Graphml,
    /// A script of Cypher.
    Cypher {
        /// True for a script with the commands of Neo4j's shell, `:begin` and `:commit`, around
        /// groups of statements.
        shell: bool,
    },
}

/// Contents of a file of a graph.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GraphWritten {
    /// Nodes.
    pub nodes: u64,
    /// Relationships.
    pub relationships: u64,
    /// Properties of both.
    pub properties: u64,
}

/// Queries for the statements that make the constraints and then the indexes of a graph: a column
/// with the statement, and one with the labels or types that it is about.
pub const SCHEMA_TEXTS: [&str; 2] = [
    "SHOW CONSTRAINTS YIELD name, createStatement, labelsOrTypes \
     RETURN createStatement, labelsOrTypes ORDER BY name",
    "SHOW INDEXES YIELD name, createStatement, labelsOrTypes, owningConstraint, type \
     WHERE owningConstraint IS NULL AND type <> 'LOOKUP' \
     RETURN createStatement, labelsOrTypes ORDER BY name",
];

/// The formats that a program knows.
pub trait Files: fmt::Debug + Send + Sync {
    /// Reads an open file; `name` is what messages call it.
    ///
    /// # Errors
    /// If the format is not known, or the file is not of it.
    fn read(
        &self,
        file: File,
        name: &str,
        options: &FileOptions,
    ) -> Result<Box<dyn TableReader>, QueryError>;

    /// Writes to an open, empty file.
    ///
    /// # Errors
    /// If the format is not known, or names or options are not for it.
    fn write(
        &self,
        file: File,
        name: &str,
        columns: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Box<dyn TableWriter>, QueryError>;

    /// Writes a graph, and the statements that make its constraints and indexes, where the format
    /// has a place for them. `name` is what messages call the file.
    ///
    /// # Errors
    /// If the format is not known, cannot hold a value, or `to` cannot be written.
    fn write_graph(
        &self,
        to: &mut dyn Write,
        name: &str,
        format: GraphFileFormat,
        part: &GraphPart<'_>,
        schema: &[String],
    ) -> Result<GraphWritten, QueryError> {
        let _ = (to, name, part, schema);
        Err(unknown(match format {
            GraphFileFormat::Graphml => "GraphML",
            GraphFileFormat::Cypher { .. } => "Cypher",
        }))
    }
}

/// No formats.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFiles;

fn unknown(format: &str) -> QueryError {
    let message = format!(
        "this program has no reader and writer of {format} files: the server, the shell and the \
         Python package have; a Rust program gives its Runtime telar_files::formats()"
    );
    QueryError::runtime(ErrorKind::NotSupported, "FileFormat", message)
}

impl Files for NoFiles {
    fn read(
        &self,
        _: File,
        _: &str,
        options: &FileOptions,
    ) -> Result<Box<dyn TableReader>, QueryError> {
        Err(unknown(options.format.name()))
    }

    fn write(
        &self,
        _: File,
        _: &str,
        _: &[Arc<str>],
        options: &FileOptions,
    ) -> Result<Box<dyn TableWriter>, QueryError> {
        Err(unknown(options.format.name()))
    }
}

/// Opens a file to read. What is no regular file may have no end, or nothing to read for ever: it
/// is opened without waiting, and refused.
///
/// # Errors
/// If it cannot be opened, or is no regular file.
pub fn open_regular(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// The path of an address, `file:///name` or a plain path, below a folder.
fn relative(address: &str, folder: &str) -> Result<PathBuf, String> {
    let path = match address.split_once("://") {
        Some(("file", path)) => percent_decoded(path).ok_or("its % escapes are broken")?,
        Some((scheme, _)) => return Err(format!("{scheme} addresses are not allowed")),
        None => address.to_owned(),
    };
    let path = PathBuf::from(path.trim_start_matches('/'));
    match path.components().all(|part| matches!(part, Component::Normal(_))) {
        true => Ok(path),
        false => Err(format!("the path leaves the {folder}")),
    }
}

/// A folder of the settings, without links.
fn settled(folder: &Path, name: &str) -> Result<PathBuf, String> {
    let folder = folder.canonicalize().map_err(|e| format!("the {name}: {e}"))?;
    if folder.is_dir() { Ok(folder) } else { Err(format!("the {name} is no folder")) }
}

/// File at an address that a statement reads: below the import folder.
///
/// # Errors
/// What is wrong with it, for people.
pub fn import_path(limits: &Limits, address: &str) -> Result<PathBuf, String> {
    const FOLDER: &str = "import folder (import.folder)";
    let Some(folder) = &limits.import_folder else {
        let message = "no import folder is set: import.folder names it (--import-folder in the \
                       shell, Limits::import_folder)";
        return Err(message.into());
    };
    let path = relative(address, FOLDER)?;
    // Links in the folder may lead elsewhere.
    let folder = settled(folder, FOLDER)?;
    let file = folder.join(path).canonicalize().map_err(|e| e.to_string())?;
    match file.starts_with(&folder) {
        true => Ok(file),
        false => Err(format!("the path leaves the {FOLDER}")),
    }
}

/// File at an address that a statement makes: below the export folder, in a folder that is there,
/// which is not that of the database.
///
/// # Errors
/// What is wrong with it, for people.
pub fn export_path(limits: &Limits, address: &str) -> Result<PathBuf, String> {
    const FOLDER: &str = "export folder (export.folder)";
    let Some(folder) = &limits.export_folder else {
        let message = "no export folder is set: export.folder names it (--export-folder in the \
                       shell, Limits::export_folder)";
        return Err(message.into());
    };
    let path = relative(address, FOLDER)?;
    let folder = settled(folder, FOLDER)?;
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err("the path names no file".into());
    };
    let parent = folder.join(parent).canonicalize().map_err(|e| e.to_string())?;
    let own = limits.database_folder.as_ref().and_then(|own| own.canonicalize().ok());
    match parent.starts_with(&folder) {
        true if own.is_some_and(|own| parent.join(name).starts_with(own)) => {
            Err("it lies in the folder of the database".to_owned())
        }
        true => Ok(parent.join(name)),
        false => Err(format!("the path leaves the {FOLDER}")),
    }
}

/// Text with its percent escapes decoded: `%20` is a space. `None` if one is malformed.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        bytes.push(match first {
            b'%' => {
                let digits = std::str::from_utf8(more.get(..2)?).ok()?;
                rest = &more[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}
