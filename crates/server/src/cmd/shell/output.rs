//! Results as text.

use std::fmt::Write;

use clap::ValueEnum;
use serde_json::{Map, Value as Json, json};
use telar_db::Value;
use telar_server::bolt::client::Answer;

use super::table::{self, Shown};
use super::text;

/// How results are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people
    Table,
    /// Comma-separated values with a header; nodes and the like as Cypher writes them
    Csv,
    /// A JSON object per row
    Json,
    /// One JSON object with the nodes and relationships of the result, each once
    Graph,
}

/// Whether tables are turned on their side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// If they would not fit.
    Auto,
    /// Always.
    Vertical,
    /// Never; what does not fit is not cut either.
    Wide,
}

/// The text of a result. Only tables care for the width of the terminal.
pub(crate) fn render(
    answer: &Answer,
    format: Format,
    layout: Layout,
    width: Option<usize>,
) -> anyhow::Result<Shown> {
    if let Some(plan) = &answer.plan
        && answer.rows.is_empty()
    {
        return Ok(Shown { text: plan.clone(), cut: false });
    }
    let text = match (format, layout) {
        (Format::Table, Layout::Auto) => return Ok(table::fitted(answer, width)),
        (Format::Table, Layout::Wide) => return Ok(table::fitted(answer, None)),
        (Format::Table, Layout::Vertical) => table::vertical(answer),
        (Format::Csv, _) => csv(answer),
        (Format::Json, _) => json_rows(answer)?,
        (Format::Graph, _) => graph(answer)?,
    };
    Ok(Shown { text, cut: false })
}

fn csv(result: &Answer) -> String {
    fn field(out: &mut String, text: &str) {
        if text.contains([',', '"', '\n', '\r']) {
            let _ = write!(out, "\"{}\"", text.replace('"', "\"\""));
        } else {
            out.push_str(text);
        }
    }
    let mut out = String::new();
    if result.columns.is_empty() {
        return out;
    }
    for (at, name) in result.columns.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        field(&mut out, name);
    }
    out.push('\n');
    for row in &result.rows {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            match value {
                // A line with nothing on it would be no row.
                Value::Null if row.len() == 1 => out.push_str("\"\""),
                Value::Null => {}
                Value::String(text) => field(&mut out, text),
                other => field(&mut out, &text::show(other, &result.entities)),
            }
        }
        out.push('\n');
    }
    out
}

fn json_rows(result: &Answer) -> anyhow::Result<String> {
    let mut out = String::new();
    for row in &result.rows {
        let entry = |(name, value): (&std::sync::Arc<str>, &Value)| {
            (name.to_string(), text::json(value, &result.entities))
        };
        let object: Map<String, Json> = result.columns.iter().zip(row).map(entry).collect();
        let _ = writeln!(out, "{}", serde_json::to_string(&object)?);
    }
    Ok(out)
}

fn graph(result: &Answer) -> anyhow::Result<String> {
    let entities = &result.entities;
    let nodes = entities.nodes.keys().map(|v| text::json(&Value::Vertex(*v), entities));
    let edges = entities.relationships.keys().map(|e| text::json(&Value::from(*e), entities));
    let graph = json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "relationships": edges.collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&graph)?))
}
