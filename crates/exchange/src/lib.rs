//! Graphs from and to the formats of other programs.
//!
//! ```text
//!  tables: CSV, JSON lines, Parquet, Arrow ── mapping ──────────┐
//!  a file of GraphML, GEXF, RDF; a server ──── Gathered ────────┼──► TableImport: one commit
//!  the folder of Kuzu's EXPORT DATABASE ─────── mapping ────────┘
//!  a script of Cypher ── statement by statement ──► a new database
//!
//!  a database ── walk ──► GraphML, a script of Cypher
//! ```
//!
//! - [`tables`]: files of rows, whose columns a mapping gives a meaning, or clear rules do.
//! - [`gather`]: nodes and relationships that come one by one, as tables.
//!
//! What is wrong in a file is an error with its name and the line; nothing is imported then. What
//! each format can hold is in docs/moving.md.

pub mod tables;

use telar_db::query::{ErrorKind, QueryError};

/// Something in a file that cannot be read or written, or that cannot be taken.
fn failed(place: &str, what: impl std::fmt::Display) -> QueryError {
    let (kind, detail) = (ErrorKind::ExternalResource, "ExternalResourceFailed");
    QueryError::runtime(kind, detail, format!("{place}: {what}"))
}
