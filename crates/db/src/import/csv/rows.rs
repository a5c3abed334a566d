//! Blocks to vertices and edges: what threads do.

use std::collections::HashMap;

use telar_engine::Column;

use super::blocks::Block;
use super::header::{Ids, Role};
use super::ids::{IdRef, IdSpace};
use super::record::{Broken, Dialect, Field};
use super::value::Kind;
use crate::import::error::excerpt;
use crate::import::number::parse_i64;

/// How rows are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules<'a> {
    pub(super) roles: &'a [Role],
    pub(super) dialect: Dialect,
    pub(super) array: u8,
    /// Fields without quotes that say that there is no value.
    pub(super) null: &'a [String],
}

/// A row that is not what the header says.
#[derive(Debug)]
pub(super) struct BadRow {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) reason: String,
}

/// Ids as read.
#[derive(Debug, Default)]
pub(super) struct IdList {
    integers: Vec<i64>,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl IdList {
    fn push(&mut self, id: IdRef<'_>) {
        match id {
            IdRef::Integer(n) => self.integers.push(n),
            IdRef::Text(text) => {
                self.bytes.extend_from_slice(text);
                self.ends.push(self.bytes.len());
            }
        }
    }

    /// The id of a row.
    pub(super) fn get(&self, row: usize, kind: Ids) -> IdRef<'_> {
        match kind {
            Ids::Integer => IdRef::Integer(self.integers[row]),
            Ids::Text => {
                let start = if row == 0 { 0 } else { self.ends[row - 1] };
                IdRef::Text(&self.bytes[start..self.ends[row]])
            }
        }
    }
}

/// The vertices of a block.
#[derive(Debug, Default)]
pub(super) struct Vertices {
    pub(super) rows: usize,
    pub(super) ids: IdList,
    /// Distinct fields of labels, and which each run of rows has.
    pub(super) sets: Vec<Vec<String>>,
    pub(super) runs: Vec<(usize, usize)>,
    /// One per column that is a property; others stay empty.
    pub(super) columns: Vec<Column>,
    /// Where each row begins and ends.
    pub(super) places: Vec<(u32, u32)>,
    pub(super) bad: Vec<BadRow>,
}

impl Vertices {
    /// Takes rows, ascending, out of the runs of labels.
    pub(super) fn drop_from_runs(&mut self, rows: &[usize]) {
        let (mut end, mut rows) = (0, rows.iter().peekable());
        for (_, n) in &mut self.runs {
            end += *n;
            while rows.next_if(|row| **row < end).is_some() {
                *n -= 1;
            }
        }
        self.runs.retain(|(_, n)| *n > 0);
    }
}

/// The edges of a block, by type.
#[derive(Debug, Default)]
pub(super) struct Edges {
    pub(super) types: Vec<TypeEdges>,
    pub(super) bad: Vec<BadRow>,
}

#[derive(Debug, Default)]
pub(super) struct TypeEdges {
    pub(super) name: String,
    pub(super) ends: Vec<(u32, u32)>,
    pub(super) columns: Vec<Column>,
    /// Where each row begins and ends.
    pub(super) places: Vec<(u32, u32)>,
}

/// Calls `row` with the fields of every row; rows it refuses, and broken ones, are collected.
fn for_each_row(
    block: &Block,
    rules: Rules<'_>,
    bad: &mut Vec<BadRow>,
    mut row: impl FnMut(&[Field], usize, usize) -> Result<(), String>,
) {
    let text = &block.text[..];
    let (mut at, mut fields) = (0, Vec::with_capacity(rules.roles.len()));
    while at < text.len() {
        let start = at;
        let (next, read) = rules.dialect.record(text, at, &mut fields);
        at = next;
        let result = match read {
            Err(Broken::OpenQuote) => Err("a quote is opened and never closed".to_owned()),
            Err(Broken::AfterQuote) => {
                Err("text follows a closing quote; write a quote within quotes twice".to_owned())
            }
            // A blank line.
            Ok(()) if fields.len() == 1 && fields[0].is_absent() => continue,
            Ok(()) if fields.len() != rules.roles.len() => {
                let wanted = rules.roles.len();
                Err(format!("expected {wanted} fields as in the header, found {}", fields.len()))
            }
            Ok(()) => row(&fields, start, next),
        };
        if let Err(reason) = result {
            bad.push(BadRow { start, end: next, reason });
        }
    }
}

/// Reads an id of a space.
#[inline]
fn id<'a>(field: &'a [u8], kind: Ids, what: &str) -> Result<IdRef<'a>, String> {
    match kind {
        Ids::Text if !field.is_empty() => Ok(IdRef::Text(field)),
        Ids::Text => Err(format!("{what} is empty")),
        Ids::Integer => match parse_i64(field) {
            Some(n) => Ok(IdRef::Integer(n)),
            None => Err(format!("{what}: expected a whole number, found {}", excerpt(field))),
        },
    }
}

#[cold]
fn wrong(name: &str, expected: &str, field: &[u8]) -> String {
    let hint = match field == name.as_bytes() {
        true => "; if this line is a header, --skip-lines 1 passes over it",
        false => "",
    };
    format!("column {name:?}: expected {expected}, found {}{hint}", excerpt(field))
}

/// Adds a field to its column.
#[inline]
fn push(
    name: &str,
    kind: &Kind,
    field: Field,
    bytes: &[u8],
    rules: Rules<'_>,
    column: &mut Column,
) -> Result<(), String> {
    let is_null = || rules.null.iter().any(|null| null.as_bytes() == bytes) && !field.quoted;
    if field.is_absent() || (bytes.is_empty() && *kind != Kind::Text) || is_null() {
        column.push_null();
        return Ok(());
    }
    kind.push(bytes, rules.array, column).map_err(|expected| wrong(name, &expected, bytes))
}

/// Reads a block of vertices; `ids` is what the ids of their space are.
pub(super) fn vertices(block: &Block, rules: Rules<'_>, ids: Ids) -> Vertices {
    let mut out = Vertices::default();
    let mut bad = Vec::new();
    out.columns.resize_with(rules.roles.len(), Column::new);
    let has_labels = rules.roles.contains(&Role::Label);
    let mut known: HashMap<Vec<u8>, usize> = HashMap::new();
    let (text, quote) = (&block.text[..], rules.dialect.quote);
    let (mut scratch, mut labels) = (Vec::new(), Vec::new());
    if !has_labels {
        out.sets.push(Vec::new());
    }
    for_each_row(block, rules, &mut bad, |fields, start, end| {
        let mut set = 0;
        let mut read = || -> Result<(), String> {
            for ((role, field), column) in rules.roles.iter().zip(fields).zip(&mut out.columns) {
                let bytes = field.bytes(text, quote, &mut scratch);
                match role {
                    Role::Property { name, kind } => {
                        push(name, kind, *field, bytes, rules, column)?;
                    }
                    Role::Id { name, .. } => {
                        let id = id(bytes, ids, "the ID")?;
                        if let (IdRef::Text(text), Err(_)) = (id, std::str::from_utf8(bytes)) {
                            return Err(wrong("ID", "UTF-8 text", text));
                        }
                        if !name.is_empty() {
                            match id {
                                IdRef::Integer(n) => column.push_int(n),
                                IdRef::Text(_) => {
                                    column.push_text(std::str::from_utf8(bytes).unwrap_or(""));
                                }
                            }
                        }
                        out.ids.push(id);
                    }
                    Role::Label => {
                        labels.clear();
                        labels.extend_from_slice(bytes);
                        set = match known.get(&labels) {
                            Some(set) => *set,
                            None => {
                                let names = label_names(&labels, rules.array)?;
                                out.sets.push(names);
                                known.insert(labels.clone(), out.sets.len() - 1);
                                out.sets.len() - 1
                            }
                        };
                    }
                    Role::Ignore | Role::Type | Role::Start { .. } | Role::End { .. } => {}
                }
            }
            Ok(())
        };
        if let Err(reason) = read() {
            out.columns.iter_mut().for_each(|c| c.truncate(out.rows));
            out.ids.integers.truncate(out.rows);
            out.ids.ends.truncate(out.rows);
            out.ids.bytes.truncate(out.ids.ends.last().copied().unwrap_or(0));
            return Err(reason);
        }
        match out.runs.last_mut() {
            Some((last, n)) if *last == set => *n += 1,
            _ => out.runs.push((set, 1)),
        }
        out.places.push((start as u32, end as u32));
        out.rows += 1;
        Ok(())
    });
    out.bad = bad;
    out
}

fn label_names(field: &[u8], separator: u8) -> Result<Vec<String>, String> {
    let text = std::str::from_utf8(field).map_err(|_| wrong(":LABEL", "UTF-8 text", field))?;
    let names = text.split(char::from(separator)).map(str::trim).filter(|l| !l.is_empty());
    let names: Vec<String> = names.map(str::to_owned).collect();
    for name in &names {
        telar_graph::name::validate_name(telar_graph::name::NameKind::Label, name)
            .map_err(|e| e.to_string())?;
    }
    Ok(names)
}

/// Reads a block of edges. `default_type` is theirs where the row names none.
pub(super) fn edges(
    block: &Block,
    rules: Rules<'_>,
    [starts, ends]: [&IdSpace; 2],
    default_type: Option<&str>,
) -> Edges {
    let mut out = Edges::default();
    let mut bad = Vec::new();
    let (text, quote) = (&block.text[..], rules.dialect.quote);
    let mut scratch = Vec::new();
    let type_at = rules.roles.iter().position(|r| *r == Role::Type);
    let mut last = usize::MAX;
    for_each_row(block, rules, &mut bad, |fields, start, row_end| {
        let named = type_at.map(|i| fields[i].bytes(text, quote, &mut scratch));
        let name = match named {
            Some(name) if !name.is_empty() => {
                std::str::from_utf8(name).map_err(|_| wrong(":TYPE", "UTF-8 text", name))?
            }
            _ => default_type.ok_or("the row has no type, and none was given for the file")?,
        };
        if out.types.get(last).is_none_or(|t| t.name != name) {
            last = match out.types.iter().position(|t| t.name == name) {
                Some(known) => known,
                None => {
                    telar_graph::name::validate_name(telar_graph::name::NameKind::EdgeType, name)
                        .map_err(|e| e.to_string())?;
                    let mut new = TypeEdges { name: name.to_owned(), ..TypeEdges::default() };
                    new.columns.resize_with(rules.roles.len(), Column::new);
                    out.types.push(new);
                    out.types.len() - 1
                }
            };
        }
        let t = &mut out.types[last];
        let (mut from, mut to) = (0, 0);
        let mut read = || -> Result<(), String> {
            for ((role, field), column) in rules.roles.iter().zip(fields).zip(&mut t.columns) {
                let bytes = field.bytes(text, quote, &mut scratch);
                match role {
                    Role::Property { name, kind } => {
                        push(name, kind, *field, bytes, rules, column)?;
                    }
                    Role::Start { .. } => from = end(bytes, starts, ":START_ID")?,
                    Role::End { .. } => to = end(bytes, ends, ":END_ID")?,
                    Role::Id { .. } | Role::Label | Role::Type | Role::Ignore => {}
                }
            }
            Ok(())
        };
        if let Err(reason) = read() {
            let rows = t.ends.len();
            t.columns.iter_mut().for_each(|c| c.truncate(rows));
            return Err(reason);
        }
        t.ends.push((from, to));
        t.places.push((start as u32, row_end as u32));
        Ok(())
    });
    out.types.retain(|t| !t.ends.is_empty());
    out.bad = bad;
    out
}

/// The vertex an end names.
#[inline]
fn end(field: &[u8], space: &IdSpace, what: &str) -> Result<u32, String> {
    let id = id(field, space.kind, what)?;
    space.vertex(id).ok_or_else(|| missing(field, space, what))
}

#[cold]
fn missing(field: &[u8], space: &IdSpace, what: &str) -> String {
    let id = excerpt(field);
    match space.name.as_str() {
        "" => format!("{what}: no vertex has the id {id}"),
        name => format!("{what}: no vertex has the id {id} in the id space {name}"),
    }
}
