//! A database as a script of Cypher, in the form of APOC's `apoc.export.cypher.all`.
//!
//! Nodes get a label and a number of their own for the time of the script, by which relationships
//! find them; a constraint makes that fast, and all three are gone at the end. Constraints and
//! indexes of the database come last.

mod literal;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use telar_db::query::QueryError;
use telar_db::{Database, Value};

use crate::walk::{Walk, schema};
use crate::{Written, failed};
use literal::{literal, name};

/// Rows of a statement.
const ROWS: usize = 500;
/// Nodes that are cleaned up by a statement.
const CLEANED: u64 = 20_000;
const LABEL: &str = "`UNIQUE IMPORT LABEL`";
const ID: &str = "`UNIQUE IMPORT ID`";

struct Out {
    path: String,
    file: BufWriter<File>,
}

impl Out {
    fn line(&mut self, text: &str) -> Result<(), QueryError> {
        writeln!(self.file, "{text}").map_err(|e| failed(&self.path, e))
    }

    fn nodes(&mut self, labels: &str, rows: &[String]) -> Result<(), QueryError> {
        let set = if labels.is_empty() { String::new() } else { format!(" SET n{labels}") };
        self.line(&format!(
            "UNWIND [{}] AS row\nCREATE (n:{LABEL} {{{ID}: row._id}}) SET n += row.properties{set};",
            rows.join(", ")
        ))
    }

    fn relationships(&mut self, ty: &str, rows: &[String]) -> Result<(), QueryError> {
        self.line(&format!(
            "UNWIND [{}] AS row\nMATCH (start:{LABEL} {{{ID}: row.start}})\nMATCH (end:{LABEL} \
             {{{ID}: row.end}})\nCREATE (start)-[r:{}]->(end) SET r += row.properties;",
            rows.join(", "),
            name(ty)
        ))
    }
}

/// A map of properties; an error names what has none of Cypher's values.
fn properties(of: &str, all: &[(&str, Value)]) -> Result<String, QueryError> {
    let entries = all.iter().map(|(key, value)| {
        let text = literal(value).map_err(|what| {
            let way = "write it as parquet, arrow, jsonl or graphml";
            failed(of, format!("property {key}: {what} has no notation in Cypher: {way}"))
        })?;
        Ok(format!("{}: {text}", name(key)))
    });
    Ok(format!("{{{}}}", entries.collect::<Result<Vec<_>, QueryError>>()?.join(", ")))
}

/// Writes a database to a new script.
///
/// # Errors
/// If there is such a file, it cannot be written, or a value has no notation in Cypher. What was
/// written is removed.
pub fn write(db: &Database, path: &Path) -> Result<Written, QueryError> {
    let place = path.display().to_string();
    let file = File::create_new(path).map_err(|e| failed(&place, e))?;
    let out = Out { path: place, file: BufWriter::with_capacity(1 << 16, file) };
    write_to(db, out).inspect_err(|_| {
        // It says why it failed; that something stays behind is the lesser evil.
        drop(std::fs::remove_file(path));
    })
}

fn write_to(db: &Database, mut out: Out) -> Result<Written, QueryError> {
    let walk = Walk::new(db)?;
    let mut written = Written::default();
    let place = out.path.clone();
    out.line(&format!(
        "CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:{LABEL}) REQUIRE (node.{ID}) IS UNIQUE;"
    ))?;
    let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    walk.nodes(|node| {
        if node.labels.contains(&LABEL.trim_matches('`')) {
            let text = format!("the database has nodes with the label {LABEL}, which scripts use");
            return Err(failed(&place, text));
        }
        let labels: String = node.labels.iter().map(|label| format!(":{}", name(label))).collect();
        let own = properties(&format!("node {}", node.id), &node.properties)?;
        let row = format!("{{_id: {}, properties: {own}}}", node.id);
        written.nodes += 1;
        add(&mut waiting, labels, row, |labels, rows| out.nodes(labels, rows))
    })?;
    for (labels, rows) in std::mem::take(&mut waiting) {
        out.nodes(&labels, &rows)?;
    }
    walk.relationships(db, |edge| {
        let own = properties(&format!("a relationship {}", edge.ty), &edge.properties)?;
        let [from, to] = edge.ends;
        let row = format!("{{start: {from}, end: {to}, properties: {own}}}");
        written.relationships += 1;
        add(&mut waiting, edge.ty.to_owned(), row, |ty, rows| out.relationships(ty, rows))
    })?;
    for (ty, rows) in waiting {
        out.relationships(&ty, &rows)?;
    }
    for _ in 0..written.nodes.div_ceil(CLEANED) {
        out.line(&format!(
            "MATCH (n:{LABEL}) WITH n LIMIT {CLEANED} REMOVE n:{LABEL} REMOVE n.{ID};"
        ))?;
    }
    out.line("DROP CONSTRAINT UNIQUE_IMPORT_NAME;")?;
    for statement in schema(db)? {
        out.line(&format!("{statement};"))?;
        written.schema += 1;
    }
    let Out { path, mut file } = out;
    file.flush().and_then(|()| file.get_ref().sync_all()).map_err(|e| failed(&path, e))?;
    Ok(written)
}

/// Adds a row to those of its kind, and writes them if they are many.
fn add(
    waiting: &mut BTreeMap<String, Vec<String>>,
    of: String,
    row: String,
    mut write: impl FnMut(&str, &[String]) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let rows = waiting.entry(of.clone()).or_default();
    rows.push(row);
    if rows.len() < ROWS {
        return Ok(());
    }
    let rows = std::mem::take(rows);
    write(&of, &rows)
}
