//! A database as a script of Cypher, in the form of APOC's `apoc.export.cypher.all`.

use std::path::Path;

use telar_db::Database;
use telar_db::query::QueryError;
use telar_db::query::files::GraphFileFormat;

use crate::Written;

/// Writes a database to a new script.
///
/// # Errors
/// If there is such a file, it cannot be written, or a value has no notation in Cypher. What was
/// written is removed.
pub fn write(db: &Database, path: &Path) -> Result<Written, QueryError> {
    crate::write(db, path, GraphFileFormat::Cypher { shell: false })
}
