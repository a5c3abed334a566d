//! A graph as a script of Cypher, in the form of APOC's `apoc.export.cypher.all`.
//!
//! Nodes get a label and a number of their own for the time of the script, by which relationships
//! find them; a constraint makes that fast, and all three are gone at the end. Constraints and
//! indexes of the database come last.

use std::collections::BTreeMap;
use std::io::Write;

use telar_db::Value;
use telar_db::query::QueryError;
use telar_db::query::files::{GraphPart, GraphWritten};

use super::literal::{literal, name};
use crate::failed;

/// Rows of a statement.
const ROWS: usize = 500;
/// Nodes that are cleaned up by a statement.
const CLEANED: u64 = 20_000;
const LABEL: &str = "`UNIQUE IMPORT LABEL`";
const ID: &str = "`UNIQUE IMPORT ID`";

struct Out<'w> {
    path: &'w str,
    to: &'w mut dyn Write,
    /// True for a script with the commands of Neo4j's shell.
    shell: bool,
}

impl Out<'_> {
    fn line(&mut self, text: &str) -> Result<(), QueryError> {
        writeln!(self.to, "{text}").map_err(|e| failed(self.path, e))
    }

    /// A command of the shell, in a script for it.
    fn command(&mut self, text: &str) -> Result<(), QueryError> {
        match self.shell {
            true => self.line(text),
            false => Ok(()),
        }
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

/// Writes a graph as a script.
pub(super) fn write(
    to: &mut dyn Write,
    path: &str,
    shell: bool,
    part: &GraphPart<'_>,
    schema: &[String],
) -> Result<GraphWritten, QueryError> {
    let mut written = GraphWritten::default();
    let mut out = Out { path, to, shell };
    out.command(":begin")?;
    out.line(&format!(
        "CREATE CONSTRAINT UNIQUE_IMPORT_NAME FOR (node:{LABEL}) REQUIRE (node.{ID}) IS UNIQUE;"
    ))?;
    out.command(":commit\nCALL db.awaitIndexes(300);\n:begin")?;
    let mut waiting: BTreeMap<String, Vec<String>> = BTreeMap::new();
    part.nodes(|node| {
        if node.labels.contains(&LABEL.trim_matches('`')) {
            let text = format!("the database has nodes with the label {LABEL}, which scripts use");
            return Err(failed(path, text));
        }
        let labels: String = node.labels.iter().map(|label| format!(":{}", name(label))).collect();
        let id = node.vertex.get();
        let own = properties(&format!("node {id}"), &node.properties)?;
        let row = format!("{{_id: {id}, properties: {own}}}");
        written.nodes += 1;
        written.properties += node.properties.len() as u64;
        add(&mut waiting, labels, row, |labels, rows| out.nodes(labels, rows))
    })?;
    for (labels, rows) in std::mem::take(&mut waiting) {
        out.nodes(&labels, &rows)?;
    }
    out.command(":commit\n:begin")?;
    part.relationships(|edge| {
        let own = properties(&format!("a relationship {}", edge.ty), &edge.properties)?;
        let (from, to) = (edge.edge.src.get(), edge.edge.dst.get());
        let row = format!("{{start: {from}, end: {to}, properties: {own}}}");
        written.relationships += 1;
        written.properties += edge.properties.len() as u64;
        add(&mut waiting, edge.ty.to_owned(), row, |ty, rows| out.relationships(ty, rows))
    })?;
    for (ty, rows) in waiting {
        out.relationships(&ty, &rows)?;
    }
    out.command(":commit")?;
    for _ in 0..written.nodes.div_ceil(CLEANED) {
        out.command(":begin")?;
        out.line(&format!(
            "MATCH (n:{LABEL}) WITH n LIMIT {CLEANED} REMOVE n:{LABEL} REMOVE n.{ID};"
        ))?;
        out.command(":commit")?;
    }
    out.command(":begin")?;
    out.line("DROP CONSTRAINT UNIQUE_IMPORT_NAME;")?;
    for statement in schema {
        out.line(&format!("{statement};"))?;
    }
    out.command(":commit")?;
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
