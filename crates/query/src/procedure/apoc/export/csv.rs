//! CSV as APOC writes it: nodes and relationships in one table, and the rows of a query.

use std::collections::BTreeSet;

use telar_graph::{Value, ValueMap};

use super::super::args::failed;
use super::json;
use super::target::Target;
use crate::files::{EntityReader, GraphPart, GraphWritten, PartNode, PartRelationship};
use crate::ops::display::text_of as plain_text;
use crate::query_error::QueryError;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Always,
    IfNeeded,
    None,
}

/// How records are written.
pub(super) struct Style {
    delimiter: char,
    quotes: Quotes,
}

impl Style {
    /// The style that a configuration asks for.
    pub(super) fn of(name: &str, config: &ValueMap) -> Result<Self, QueryError> {
        let delimiter = match config.get("delim").or_else(|| config.get("d")) {
            None | Some(Value::Null) => ',',
            Some(Value::String(text)) if text.eq_ignore_ascii_case("tab") || &**text == "\\t" => {
                '\t'
            }
            Some(Value::String(text)) if text.chars().count() == 1 => {
                text.chars().next().unwrap_or(',')
            }
            Some(_) => return Err(failed(name, "delim must be one character")),
        };
        let quotes = match config.get("quotes") {
            None | Some(Value::Null | Value::Bool(true)) => Quotes::Always,
            Some(Value::Bool(false)) => Quotes::None,
            Some(Value::String(text)) if &**text == "always" => Quotes::Always,
            Some(Value::String(text)) if &**text == "ifNeeded" => Quotes::IfNeeded,
            Some(Value::String(text)) if &**text == "none" => Quotes::None,
            Some(_) => {
                return Err(failed(name, "quotes must be 'always', 'ifNeeded' or 'none'"));
            }
        };
        Ok(Self { delimiter, quotes })
    }

    /// Appends a record; a field that is `None` is empty and never quoted.
    pub(super) fn record<'f>(
        &self,
        line: &mut String,
        fields: impl IntoIterator<Item = Option<&'f str>>,
    ) {
        for (at, field) in fields.into_iter().enumerate() {
            if at > 0 {
                line.push(self.delimiter);
            }
            let Some(field) = field else { continue };
            let special = |c: char| c == self.delimiter || matches!(c, '"' | '\n' | '\r');
            match self.quotes {
                Quotes::None => line.push_str(field),
                Quotes::IfNeeded if !field.contains(special) => line.push_str(field),
                _ => {
                    line.push('"');
                    line.push_str(&field.replace('"', "\"\""));
                    line.push('"');
                }
            }
        }
        line.push('\n');
    }
}

/// The text of a value: empty for null, JSON for what has parts.
pub(super) fn text_of(value: &Value, entities: &dyn EntityReader) -> Result<String, QueryError> {
    match value {
        Value::Null => Ok(String::new()),
        value => plain_text(value).map_or_else(
            || {
                let mut text = String::new();
                json::write_value(&mut text, value, Some(entities))?;
                Ok(text)
            },
            Ok,
        ),
    }
}

/// The texts of the properties of an object, one for each key.
fn properties<'t>(
    keys: &BTreeSet<String>,
    properties: &[(&str, Value)],
    texts: &'t mut Vec<String>,
) -> Result<&'t [String], QueryError> {
    texts.clear();
    for key in keys {
        let found = properties.iter().find(|(name, _)| name == key).map(|(_, value)| value);
        texts.push(match found {
            None => String::new(),
            Some(value) => match plain_text(value) {
                Some(text) => text,
                None => {
                    let mut text = String::new();
                    json::write_value(&mut text, value, None)?;
                    text
                }
            },
        });
    }
    Ok(texts)
}

/// Writes a table with a column for each property of nodes, and one for each of relationships.
pub(super) fn write_part(
    target: &mut Target<'_>,
    style: &Style,
    part: &GraphPart<'_>,
) -> Result<GraphWritten, QueryError> {
    let mut keys = <[BTreeSet<String>; 2]>::default();
    let note = |keys: &mut BTreeSet<String>, found: &[(&str, Value)]| {
        for (key, _) in found.iter().filter(|(key, _)| !keys.contains(*key)).collect::<Vec<_>>() {
            keys.insert((*key).to_owned());
        }
    };
    part.nodes(|node| {
        note(&mut keys[0], &node.properties);
        Ok(())
    })?;
    part.relationships(|edge| {
        note(&mut keys[1], &edge.properties);
        Ok(())
    })?;
    let [of_nodes, of_edges] = &keys;
    let mut line = String::new();
    let names = ["_id", "_labels"].into_iter().chain(of_nodes.iter().map(String::as_str));
    let names = names.chain(["_start", "_end", "_type"]);
    style.record(&mut line, names.chain(of_edges.iter().map(String::as_str)).map(Some));
    target.take(&mut line)?;
    let (mut written, mut texts) = (GraphWritten::default(), Vec::new());
    let empty = |count: usize| std::iter::repeat_n(None, count);
    part.nodes(|PartNode { vertex, labels, properties: own }| {
        let (id, labels) = (vertex.get().to_string(), json::labels_text(&labels));
        let texts = properties(of_nodes, &own, &mut texts)?.iter().map(|text| Some(&**text));
        let fields = [Some(&*id), Some(&*labels)].into_iter().chain(texts);
        style.record(&mut line, fields.chain(empty(3 + of_edges.len())));
        written.nodes += 1;
        written.properties += own.len() as u64;
        target.take(&mut line)
    })?;
    part.relationships(|PartRelationship { edge, ty, properties: own }| {
        let (start, end) = (edge.src.get().to_string(), edge.dst.get().to_string());
        let texts = properties(of_edges, &own, &mut texts)?.iter().map(|text| Some(&**text));
        let fields = empty(2 + of_nodes.len()).chain([Some(&*start), Some(&*end), Some(ty)]);
        style.record(&mut line, fields.chain(texts));
        written.relationships += 1;
        written.properties += own.len() as u64;
        target.take(&mut line)
    })?;
    Ok(written)
}
