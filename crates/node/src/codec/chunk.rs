//! Rows of a result, column by column, as bytes.
//!
//! ```text
//!  rows of the whole result u32 │ rows u32 │ columns u32 │ name of each: text │ column...
//!  column: kind u8, and
//!   0  one value, that of every row
//!   1  truth values    2  numbers (integers)    3  integers    4  floats
//!        nulls u8; if it is 1, a byte for each row that is 1 where there is a value;
//!        zeros up to a multiple of 8; the values, of 1 or 8 bytes
//!   5  texts: zeros up to a multiple of 4, u32 bytes of each row or 2^32 - 1 for null, u8 that is
//!        1 if all is ASCII, u32 bytes of all, the texts behind each other
//!   6  values
//! ```

use telar_db::Value;
use telar_db::column::{Column, Nullable};
use telar_db::query::Columns;

use super::writer::{Writer, is_safe};

const NULL_TEXT: u32 = u32::MAX;

/// The rows `from..to` of a result.
pub(crate) fn chunk(columns: &Columns, from: usize, to: usize) -> Vec<u8> {
    let mut writer = Writer::new(columns);
    writer.length(columns.row_count());
    writer.length(to - from);
    writer.length(columns.names().len());
    columns.names().iter().for_each(|name| writer.text(name));
    for at in 0..columns.names().len() {
        column(&mut writer, columns.column(at), from, to);
    }
    writer.out
}

fn column(writer: &mut Writer<'_>, column: &Column, from: usize, to: usize) {
    match column {
        Column::Same(value, _) => {
            writer.byte(0);
            writer.value(value);
        }
        Column::Bools(all) => {
            writer.byte(1);
            nulls(writer, all, from, to);
            let values = (from..to).map(|row| u8::from(all.get(row).unwrap_or_default()));
            writer.out.extend(values);
        }
        Column::Ints(all) if (from..to).all(|row| all.get(row).is_none_or(is_safe)) => {
            writer.byte(2);
            nulls(writer, all, from, to);
            let values = (from..to).map(|row| all.get(row).unwrap_or_default() as f64);
            writer.out.extend(values.flat_map(f64::to_le_bytes));
        }
        Column::Ints(all) => {
            writer.byte(3);
            nulls(writer, all, from, to);
            let values = (from..to).map(|row| all.get(row).unwrap_or_default());
            writer.out.extend(values.flat_map(i64::to_le_bytes));
        }
        Column::Floats(all) => {
            writer.byte(4);
            nulls(writer, all, from, to);
            let values = (from..to).map(|row| all.get(row).unwrap_or_default());
            writer.out.extend(values.flat_map(f64::to_le_bytes));
        }
        Column::Packed(all) => texts(writer, (from..to).map(|row| all.get(row))),
        Column::Texts(all) => texts(writer, all[from..to].iter().map(Option::as_deref)),
        other => {
            writer.byte(6);
            (from..to).for_each(|row| writer.value(&other.get(row)));
        }
    }
}

/// The bytes that say which rows have a value, and zeros up to where values may begin.
fn nulls<T: Copy + Default>(writer: &mut Writer<'_>, all: &Nullable<T>, from: usize, to: usize) {
    writer.byte(u8::from(all.has_nulls()));
    if all.has_nulls() {
        writer.out.extend((from..to).map(|row| u8::from(!all.is_null(row))));
    }
    writer.align(8);
}

fn texts<'t>(writer: &mut Writer<'_>, all: impl Iterator<Item = Option<&'t str>> + Clone) {
    writer.byte(5);
    writer.align(4);
    let length = |text: &str| u32::try_from(text.len()).unwrap_or(NULL_TEXT);
    let lengths = all.clone().map(|text| text.map_or(NULL_TEXT, length));
    writer.out.extend(lengths.flat_map(u32::to_le_bytes));
    writer.byte(u8::from(all.clone().flatten().all(str::is_ascii)));
    writer.length(all.clone().flatten().map(str::len).sum());
    all.flatten().for_each(|text| writer.out.extend(text.as_bytes()));
}

/// All nodes and all relationships of a result, as one row with two lists.
pub(crate) fn graph(columns: &Columns) -> Vec<u8> {
    let nodes = columns.nodes().into_iter().map(Value::Vertex).collect::<Vec<_>>();
    let relationships = columns.relationships().into_iter().map(|edge| Value::Edge(edge.into()));
    let relationships = relationships.collect::<Vec<_>>();
    let mut writer = Writer::new(columns);
    writer.length(1);
    writer.length(1);
    writer.length(2);
    ["nodes", "relationships"].iter().for_each(|name| writer.text(name));
    for list in [nodes, relationships] {
        writer.byte(0);
        writer.value(&Value::List(list.into()));
    }
    writer.out
}
