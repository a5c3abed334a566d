//! GraphML: a file of XML with nodes, edges and their data.
//!
//! It reads the files of Neo4j's APOC, NetworkX, igraph, TinkerPop and yEd. A file that it writes
//! has the form of APOC's, with the attribute `telar.type` of a key where GraphML has no such type.

mod read;

use std::path::Path;

use telar_db::json::{Notation, read_scalar, read_value};
use telar_db::query::QueryError;
use telar_db::query::files::GraphFileFormat;
use telar_db::{Database, Value};

use crate::Written;

pub use read::read;

/// Writes a database to a new file of GraphML.
///
/// # Errors
/// If there is such a file, it cannot be written, or a name has characters that XML has not. What
/// was written is removed.
pub fn write(db: &Database, path: &Path) -> Result<Written, QueryError> {
    let mut written = crate::write(db, path, GraphFileFormat::Graphml)?;
    if std::mem::take(&mut written.schema) > 0 {
        let text = "constraints and indexes are not in it: GraphML has no place for them";
        written.notes.push(text.to_owned());
    }
    Ok(written)
}

/// The value of a scalar by its name.
fn scalar(name: &str, text: &str) -> Result<Value, String> {
    match name {
        "DateTime" if text.ends_with(']') => read_scalar("ZonedDateTime", text),
        "DateTime" => read_scalar("OffsetDateTime", text),
        "Json" => read_value(Notation::Typed, text.as_bytes()),
        name => read_scalar(name, text),
    }
}

/// The names of a text such as `:Person:Author`, as the writer makes it; a text without a colon at
/// its beginning is one name.
fn labels_of(text: &str) -> Vec<String> {
    let Some(mut rest) = text.strip_prefix(':') else {
        return if text.is_empty() { Vec::new() } else { vec![text.to_owned()] };
    };
    let mut labels = Vec::new();
    loop {
        let mut label = String::new();
        if let Some(quoted) = rest.strip_prefix('`') {
            rest = quoted;
            while let Some(end) = rest.find('`') {
                label += &rest[..end];
                rest = &rest[end + 1..];
                match rest.strip_prefix('`') {
                    Some(more) => {
                        label.push('`');
                        rest = more;
                    }
                    None => break,
                }
            }
        }
        let end = rest.find(':').unwrap_or(rest.len());
        label += &rest[..end];
        if !label.is_empty() {
            labels.push(label);
        }
        match rest[end..].strip_prefix(':') {
            Some(more) => rest = more,
            None => return labels,
        }
    }
}

#[test]
fn labels_are_read_as_they_are_written() {
    for labels in [&[][..], &["A"], &["A", "B c"], &["a:b", "x`y", "`"], &["Ä"]] {
        let text = telar_files::graph::labels_text(labels.iter().copied());
        assert_eq!(labels_of(&text), labels, "{text}");
    }
    assert_eq!(labels_of("person"), ["person"]);
}
