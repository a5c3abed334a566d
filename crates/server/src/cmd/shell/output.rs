//! Results as text.

use std::fmt::Write;

use clap::ValueEnum;
use comfy_table::Table;
use comfy_table::presets::UTF8_FULL_CONDENSED;
use serde_json::{Map, Value as Json, json};
use telar_db::Value;
use telar_db::query::QueryResult;

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

/// The text of a result.
pub(crate) fn render(result: &QueryResult, format: Format) -> anyhow::Result<String> {
    if let Some(plan) = &result.plan
        && result.rows.is_empty()
    {
        return Ok(plan.to_string());
    }
    match format {
        Format::Table => Ok(table(result)),
        Format::Csv => Ok(csv(result)),
        Format::Json => json_rows(result),
        Format::Graph => graph(result),
    }
}

fn table(result: &QueryResult) -> String {
    if result.columns.is_empty() {
        return String::new();
    }
    let mut table = Table::new();
    table.load_style(UTF8_FULL_CONDENSED);
    table.set_header(result.columns.iter().map(|name| name.to_string()));
    for row in &result.rows {
        table.add_row(row.iter().map(|value| text::show(value, &result.entities)));
    }
    format!("{table}\n")
}

fn csv(result: &QueryResult) -> String {
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

fn json_rows(result: &QueryResult) -> anyhow::Result<String> {
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

fn graph(result: &QueryResult) -> anyhow::Result<String> {
    let entities = &result.entities;
    let nodes = entities.nodes.keys().map(|v| text::json(&Value::Vertex(*v), entities));
    let edges = entities.relationships.keys().map(|e| text::json(&Value::from(*e), entities));
    let graph = json!({
        "nodes": nodes.collect::<Vec<_>>(),
        "relationships": edges.collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&graph)?))
}
