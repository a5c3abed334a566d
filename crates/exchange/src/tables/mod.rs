//! Files of rows as nodes and relationships.
//!
//! ```text
//!  files and options ── guess.rs ──► Mapping ── open.rs ──► TableImport
//!            a mapping file ───────────┘ │
//!                                        └──► a mapping file (--dry-run)
//! ```
//!
//! A [`Mapping`] says of each file what its rows are and what its columns mean. What it does not
//! say is guessed by few rules, and what these leave open is an error that says what to give:
//! docs/import.md has the rules.

mod guess;
mod mapping;
mod open;
mod rows;
mod source;

pub use guess::{Columns, guess};
pub use mapping::{ColumnMapping, EndMapping, Mapping, NodeFiles, Options, RelationshipFiles};
pub use open::{Opened, open};
pub use source::{Source, is_neo4j_admin};

use telar_db::query::{ErrorKind, QueryError};

/// Something that the mapping or the options have to say, or say wrongly.
fn unclear(message: String) -> QueryError {
    QueryError::runtime(ErrorKind::Argument, "Mapping", message)
}
