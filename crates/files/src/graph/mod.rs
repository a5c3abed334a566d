//! Graphs as one file: GraphML, and scripts of Cypher.

mod cypher;
mod graphml;
mod literal;
mod xml;

use std::io::Write;

use telar_db::query::QueryError;
use telar_db::query::files::{GraphFileFormat, GraphPart, GraphWritten};

/// Writes a graph in a format; `name` is what messages call the file, and `schema` the statements
/// that make constraints and indexes, which GraphML has no place for.
///
/// # Errors
/// If it cannot be written, or the format cannot hold a name or value.
pub fn write(
    to: &mut dyn Write,
    name: &str,
    format: GraphFileFormat,
    part: &GraphPart<'_>,
    schema: &[String],
) -> Result<GraphWritten, QueryError> {
    match format {
        GraphFileFormat::Graphml => graphml::write(to, name, part),
        GraphFileFormat::Cypher { shell } => cypher::write(to, name, shell, part, schema),
    }
}

/// Names in the form `:Person:Author`, with those in backticks that hold a colon or a backtick.
pub fn labels_text<'l>(labels: impl IntoIterator<Item = &'l str>) -> String {
    let mut text = String::new();
    for label in labels {
        text.push(':');
        match label.contains([':', '`']) {
            true => text += &format!("`{}`", label.replace('`', "``")),
            false => text += label,
        }
    }
    text
}
