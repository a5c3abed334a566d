//! Graphs from and to the formats of other programs.
//!
//! ```text
//!  tables: CSV, JSON lines, Parquet, Arrow ── mapping ──────────┐
//!  a file of GraphML, GEXF, RDF; a server ──── Gathered ────────┼──► TableImport: one commit
//!  the folder of Kuzu's EXPORT DATABASE ─────── mapping ────────┘
//!  a script of Cypher ── statement by statement ──► a new database
//!
//!  a database ── telar_files::graph ──► GraphML, a script of Cypher
//! ```
//!
//! - [`tables`]: files of rows, whose columns a mapping gives a meaning, or clear rules do.
//! - [`gather`]: nodes and relationships that come one by one, as tables.
//!
//! A fault in a file is an error with its name and the line; nothing is imported then. What
//! each format can hold is in docs/moving.md.

pub mod cypher;
pub mod gather;
pub mod gexf;
pub mod graphml;
pub mod kuzu;
pub mod rdf;
pub mod tables;
mod xml;

use std::fs::File;
use std::io::{BufWriter, Read as _, Write as _};
use std::path::Path;

use telar_db::import::table::TableImport;
use telar_db::query::files::{GraphFileFormat, GraphPart};
use telar_db::query::{ErrorKind, QueryError};
use telar_db::{Backend, Database};

/// Names of what has none in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// Label of nodes.
    pub label: String,
    /// Type of relationships.
    pub ty: String,
}

/// A graph that was read and can be imported.
pub struct Read {
    /// Its nodes and relationships.
    pub import: TableImport<'static>,
    /// Statements that make constraints and indexes, to run afterwards.
    pub schema: Vec<String>,
    /// Remarks on the reading.
    pub notes: Vec<String>,
}

/// Contents of a file that was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Nodes.
    pub nodes: u64,
    /// Relationships.
    pub relationships: u64,
    /// Constraints and indexes.
    pub schema: u64,
    /// Remarks on the writing.
    pub notes: Vec<String>,
}

/// A format of one file that holds a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphFormat {
    /// GraphML.
    Graphml,
    /// GEXF.
    Gexf,
    /// A script of Cypher.
    Cypher,
    /// RDF as Turtle.
    Turtle,
    /// RDF as N-Triples.
    Ntriples,
}

impl GraphFormat {
    /// The format that the name of a file says, before `.gz` or `.zst`.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.strip_suffix(".gz").or_else(|| path.strip_suffix(".zst")).unwrap_or(path);
        Some(match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "graphml" => Self::Graphml,
            "gexf" => Self::Gexf,
            "cypher" | "cql" | "cyp" => Self::Cypher,
            "ttl" | "turtle" => Self::Turtle,
            "nt" | "ntriples" => Self::Ntriples,
            _ => return None,
        })
    }

    /// The format of a file: as its name says, or its first element of XML.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn of_file(path: &Path) -> Result<Option<Self>, QueryError> {
        let place = path.display().to_string();
        if let Some(named) = Self::of_path(&place) {
            return Ok(Some(named));
        }
        let file = File::open(path).map_err(|e| failed(&place, e))?;
        let mut head = Vec::new();
        let text = telar_files::open_text(file);
        let read = text.and_then(|text| text.take(4096).read_to_end(&mut head));
        // What cannot be read as text is none of these.
        if read.is_err() {
            return Ok(None);
        }
        let head = String::from_utf8_lossy(&head);
        let is_xml = head.trim_start().starts_with('<');
        Ok(match () {
            () if is_xml && head.contains("<graphml") => Some(Self::Graphml),
            () if is_xml && head.contains("<gexf") => Some(Self::Gexf),
            () => None,
        })
    }
}

/// Writes a database to a new file, and removes what was written after an error.
fn write(db: &Database, path: &Path, format: GraphFileFormat) -> Result<Written, QueryError> {
    let place = path.display().to_string();
    let file = File::create_new(path).map_err(|e| failed(&place, e))?;
    let write = || {
        let (graph, schema) = (Backend::snapshot(db)?, telar_files::folder::schema(db)?);
        let part = GraphPart::whole(&*graph, &|| Ok(()))?;
        let mut to = BufWriter::with_capacity(1 << 16, file);
        let done = telar_files::graph::write(&mut to, &place, format, &part, &schema)?;
        to.flush().and_then(|()| to.get_ref().sync_all()).map_err(|e| failed(&place, e))?;
        let (nodes, relationships, schema) = (done.nodes, done.relationships, schema.len() as u64);
        Ok(Written { nodes, relationships, schema, notes: Vec::new() })
    };
    write().inspect_err(|_| {
        // It says why it failed; that something stays behind is the lesser evil.
        drop(std::fs::remove_file(path));
    })
}

/// Something in a file that cannot be read or written, or that cannot be taken.
fn failed(place: &str, what: impl std::fmt::Display) -> QueryError {
    let (kind, detail) = (ErrorKind::ExternalResource, "ExternalResourceFailed");
    QueryError::runtime(kind, detail, format!("{place}: {what}"))
}
