//! Values and columns as bytes, for another process of the same version.
//!
//! A value that can be stored has its form of the log ([`telar_db::codec`]); for the others there
//! are tags of this module's, which that one does not use:
//!
//! ```text
//!  0x80 list          varint count │ count × value
//!  0x81 map           varint count │ count × (text key │ value)
//!  0x82 node          varint number
//!  0x83 relationship  edge
//!  0x84 path          varint number of the first node │ varint count │ count × edge
//!
//!  edge = varint type │ varint source │ varint target │ varint ordinal
//!  text = varint length │ UTF-8
//! ```
//!
//! A column is its tag, the number of its rows, and then its values: numbers as they are in memory,
//! in little-endian order, with a byte for each row that says whether it is there if some are not.

use std::sync::Arc;

use telar_db::query::{Columns, Node, Relationship};
use telar_graph::codec::{self, get_varint, put_varint};
use telar_graph::column::{Column, Maps, Nullable, PackedTexts};
use telar_graph::value::{NESTING_MAX, Path};
use telar_graph::{EdgeId, EdgeTypeId, Value, ValueMap, VertexId};

/// Bytes that are no values, or values that nest too deep.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct CodecError(String);

type Done<T> = Result<T, CodecError>;

impl From<CodecError> for std::io::Error {
    fn from(error: CodecError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl From<std::io::Error> for CodecError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}

fn wrong(error: impl std::fmt::Display) -> CodecError {
    CodecError(format!("a value cannot go to another process: {error}"))
}

mod tag {
    pub(super) const LIST: u8 = 0x80;
    pub(super) const MAP: u8 = 0x81;
    pub(super) const NODE: u8 = 0x82;
    pub(super) const RELATIONSHIP: u8 = 0x83;
    pub(super) const PATH: u8 = 0x84;
}

mod column_tag {
    pub(super) const VERTICES: u8 = 0;
    pub(super) const EDGES: u8 = 1;
    pub(super) const BOOLS: u8 = 2;
    pub(super) const INTS: u8 = 3;
    pub(super) const FLOATS: u8 = 4;
    pub(super) const TEXTS: u8 = 5;
    pub(super) const PACKED: u8 = 6;
    pub(super) const MAPS: u8 = 7;
    pub(super) const SAME: u8 = 8;
    pub(super) const VALUES: u8 = 9;
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    put_varint(count as u64, out);
}

pub(crate) fn put_text(text: &str, out: &mut Vec<u8>) {
    put_count(text.len(), out);
    out.extend(text.as_bytes());
}

fn put_edge(edge: &EdgeId, out: &mut Vec<u8>) {
    put_varint(edge.ty.get().into(), out);
    put_varint(edge.src.get(), out);
    put_varint(edge.dst.get(), out);
    put_varint(edge.ordinal.into(), out);
}

/// Writes a value.
pub(crate) fn put_value(value: &Value, out: &mut Vec<u8>) -> Done<()> {
    put_nested(value, 0, out)
}

fn put_nested(value: &Value, depth: u32, out: &mut Vec<u8>) -> Done<()> {
    if depth > NESTING_MAX {
        return Err(wrong(format!("it nests deeper than {NESTING_MAX}")));
    }
    match value {
        Value::Vertex(vertex) => {
            out.push(tag::NODE);
            put_varint(vertex.get(), out);
        }
        Value::Edge(edge) => {
            out.push(tag::RELATIONSHIP);
            put_edge(edge, out);
        }
        Value::Path(path) => {
            out.push(tag::PATH);
            put_varint(path.vertices()[0].get(), out);
            put_count(path.edges().len(), out);
            path.edges().iter().for_each(|edge| put_edge(edge, out));
        }
        Value::List(values) if !value.is_storable() => {
            out.push(tag::LIST);
            put_count(values.len(), out);
            values.iter().try_for_each(|value| put_nested(value, depth + 1, out))?;
        }
        Value::Map(map) if !value.is_storable() => {
            out.push(tag::MAP);
            put_count(map.len(), out);
            for (key, value) in map.iter() {
                put_text(key, out);
                put_nested(value, depth + 1, out)?;
            }
        }
        value => codec::encode(value, out).map_err(wrong)?,
    }
    Ok(())
}

/// Writes the entries of a map.
pub(crate) fn put_map(map: &ValueMap, out: &mut Vec<u8>) -> Done<()> {
    put_count(map.len(), out);
    for (key, value) in map {
        put_text(key, out);
        put_value(value, out)?;
    }
    Ok(())
}

fn put_nullable<T: Copy + Default>(
    tag: u8,
    all: &Nullable<T>,
    out: &mut Vec<u8>,
    put: impl Fn(T, &mut Vec<u8>),
) {
    out.push(tag);
    put_count(all.len(), out);
    out.push(all.has_nulls().into());
    if let Some(values) = all.full() {
        out.reserve(size_of_val(values));
        values.iter().for_each(|value| put(*value, out));
        return;
    }
    for value in all.iter() {
        out.push(value.is_some().into());
        value.into_iter().for_each(|value| put(value, out));
    }
}

fn put_texts<'t>(
    tag: u8,
    count: usize,
    texts: impl Iterator<Item = Option<&'t str>>,
    out: &mut Vec<u8>,
) {
    out.push(tag);
    put_count(count, out);
    for text in texts {
        put_count(text.map_or(0, |text| text.len() + 1), out);
        out.extend(text.unwrap_or_default().as_bytes());
    }
}

/// Writes a column.
pub(crate) fn put_column(column: &Column, out: &mut Vec<u8>) -> Done<()> {
    use column_tag as t;
    match column {
        Column::Vertices(all) => {
            put_nullable(t::VERTICES, all, out, |v, out| out.extend(v.get().to_le_bytes()));
        }
        Column::Edges(all) => put_nullable(t::EDGES, all, out, |edge, out| put_edge(&edge, out)),
        Column::Bools(all) => put_nullable(t::BOOLS, all, out, |is, out| out.push(is.into())),
        Column::Ints(all) => {
            put_nullable(t::INTS, all, out, |int, out| out.extend(int.to_le_bytes()));
        }
        Column::Floats(all) => {
            put_nullable(t::FLOATS, all, out, |x, out| out.extend(x.to_bits().to_le_bytes()));
        }
        Column::Texts(all) => put_texts(t::TEXTS, all.len(), all.iter().map(Option::as_deref), out),
        Column::Packed(all) => put_texts(t::PACKED, all.len(), all.iter(), out),
        Column::Maps(all) => {
            out.push(t::MAPS);
            put_count(all.len(), out);
            put_count(all.keys().len(), out);
            for key in all.keys() {
                put_text(key, out);
                let column = all.column(key).ok_or_else(|| wrong("a map without its column"))?;
                put_column(column, out)?;
            }
        }
        Column::Same(value, rows) => {
            out.push(t::SAME);
            put_count(*rows, out);
            put_value(value, out)?;
        }
        Column::FloatLists(lists) => {
            out.push(t::VALUES);
            put_count(lists.len(), out);
            (0..lists.len()).try_for_each(|row| put_value(&column.get(row), out))?;
        }
        Column::Values(values) => {
            out.push(t::VALUES);
            put_count(values.len(), out);
            values.iter().try_for_each(|value| put_value(value, out))?;
        }
    }
    Ok(())
}

/// Writes named columns, with what the nodes and relationships in them are.
pub(crate) fn put_columns(columns: &Columns, out: &mut Vec<u8>) -> Done<()> {
    put_count(columns.names().len(), out);
    for (at, name) in columns.names().iter().enumerate() {
        put_text(name, out);
        put_column(columns.column(at), out)?;
    }
    let nodes = columns.nodes();
    put_count(nodes.len(), out);
    for vertex in nodes {
        let node = columns.node(vertex).cloned().unwrap_or_default();
        put_varint(vertex.get(), out);
        put_count(node.labels.len(), out);
        node.labels.iter().for_each(|label| put_text(label, out));
        put_map(&node.properties, out)?;
    }
    let relationships = columns.relationships();
    put_count(relationships.len(), out);
    for edge in relationships {
        let relationship = columns.relationship(&edge).cloned().unwrap_or_default();
        put_edge(&edge, out);
        put_text(&relationship.ty, out);
        put_map(&relationship.properties, out)?;
    }
    Ok(())
}

/// Bytes that are read.
pub(crate) struct Input<'b>(pub(crate) &'b [u8]);

impl<'b> Input<'b> {
    fn number(&mut self) -> Done<u64> {
        get_varint(&mut self.0).map_err(wrong)
    }

    fn narrow<T: TryFrom<u64>>(&mut self) -> Done<T> {
        T::try_from(self.number()?).map_err(|_| wrong("a number out of its range"))
    }

    /// A number of things, each of which takes at least so many bytes of what is left.
    fn count(&mut self, least: usize) -> Done<usize> {
        let count: usize = self.narrow()?;
        match count.checked_mul(least) {
            Some(bytes) if bytes <= self.0.len() => Ok(count),
            _ => Err(wrong("a count beyond the end")),
        }
    }

    fn bytes(&mut self, count: usize) -> Done<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count).ok_or_else(|| wrong("it ends early"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn byte(&mut self) -> Done<u8> {
        Ok(self.bytes(1)?[0])
    }

    fn array<const N: usize>(&mut self) -> Done<[u8; N]> {
        self.bytes(N)?.try_into().map_err(wrong)
    }

    fn utf8(&mut self, count: usize) -> Done<&'b str> {
        std::str::from_utf8(self.bytes(count)?).map_err(wrong)
    }

    pub(crate) fn text(&mut self) -> Done<&'b str> {
        let count = self.count(1)?;
        self.utf8(count)
    }

    fn edge(&mut self) -> Done<EdgeId> {
        Ok(EdgeId {
            ty: EdgeTypeId::from_raw(self.narrow()?),
            src: VertexId::from_raw(self.number()?),
            dst: VertexId::from_raw(self.number()?),
            ordinal: self.narrow()?,
        })
    }

    /// Reads a value.
    pub(crate) fn value(&mut self) -> Done<Value> {
        self.nested(0)
    }

    fn nested(&mut self, depth: u32) -> Done<Value> {
        if depth > NESTING_MAX {
            return Err(wrong(format!("it nests deeper than {NESTING_MAX}")));
        }
        let Some(tag) = self.0.first() else { return Err(wrong("it ends early")) };
        if *tag < tag::LIST {
            return codec::decode(&mut self.0).map_err(wrong);
        }
        Ok(match self.byte()? {
            tag::LIST => {
                let count = self.count(1)?;
                let values = (0..count).map(|_| self.nested(depth + 1));
                Value::List(values.collect::<Done<_>>()?)
            }
            tag::MAP => {
                let count = self.count(2)?;
                let entry = |_| Ok((Arc::from(self.text()?), self.nested(depth + 1)?));
                Value::Map(Arc::new((0..count).map(entry).collect::<Done<_>>()?))
            }
            tag::NODE => Value::Vertex(VertexId::from_raw(self.number()?)),
            tag::RELATIONSHIP => Value::Edge(Arc::new(self.edge()?)),
            tag::PATH => {
                let start = VertexId::from_raw(self.number()?);
                let count = self.count(4)?;
                let edges = (0..count).map(|_| self.edge()).collect::<Done<Vec<_>>>()?;
                let path = Path::walk(start, edges).ok_or_else(|| wrong("a path with a gap"))?;
                Value::Path(Arc::new(path))
            }
            other => return Err(wrong(format!("no value has the tag {other}"))),
        })
    }

    /// Reads the entries of a map.
    pub(crate) fn map(&mut self) -> Done<ValueMap> {
        let count = self.count(2)?;
        (0..count).map(|_| Ok((Arc::from(self.text()?), self.value()?))).collect()
    }

    fn nullable<T: Copy + Default>(
        &mut self,
        least: usize,
        mut get: impl FnMut(&mut Self) -> Done<T>,
    ) -> Done<Nullable<T>> {
        let rows: usize = self.narrow()?;
        let has_nulls = self.byte()? != 0;
        // The fewest bytes that so many rows take.
        if rows.checked_mul(if has_nulls { 1 } else { least }).is_none_or(|n| n > self.0.len()) {
            return Err(wrong("a count beyond the end"));
        }
        if !has_nulls {
            return Ok((0..rows).map(|_| get(self)).collect::<Done<Vec<T>>>()?.into());
        }
        let mut row = || Ok(if self.byte()? == 0 { None } else { Some(get(self)?) });
        (0..rows).map(|_| row()).collect()
    }

    /// The next text of a column.
    fn cell(&mut self) -> Done<Option<&'b str>> {
        match self.narrow::<usize>()? {
            0 => Ok(None),
            length => self.utf8(length - 1).map(Some),
        }
    }

    /// Reads a column.
    pub(crate) fn column(&mut self) -> Done<Column> {
        use column_tag as t;
        let int = |input: &mut Self| Done::Ok(i64::from_le_bytes(input.array()?));
        let bits = |input: &mut Self| Done::Ok(u64::from_le_bytes(input.array()?));
        Ok(match self.byte()? {
            t::VERTICES => {
                Column::Vertices(self.nullable(8, |input| Ok(VertexId::from_raw(bits(input)?)))?)
            }
            t::EDGES => Column::Edges(self.nullable(4, Self::edge)?),
            t::BOOLS => Column::Bools(self.nullable(1, |input| Ok(input.byte()? != 0))?),
            t::INTS => Column::Ints(self.nullable(8, int)?),
            t::FLOATS => {
                Column::Floats(self.nullable(8, |input| Ok(f64::from_bits(bits(input)?)))?)
            }
            t::TEXTS => {
                let rows = self.count(1)?;
                let texts = (0..rows).map(|_| Ok(self.cell()?.map(Arc::from)));
                Column::Texts(texts.collect::<Done<_>>()?)
            }
            t::PACKED => {
                let rows = self.count(1)?;
                let mut texts = PackedTexts::default();
                for _ in 0..rows {
                    texts.push(self.cell()?);
                }
                Column::Packed(texts)
            }
            t::MAPS => {
                let rows: usize = self.narrow()?;
                let keys = self.count(2)?;
                let mut columns = Vec::with_capacity(keys);
                for _ in 0..keys {
                    let (key, column) = (Arc::from(self.text()?), self.column()?);
                    if column.len() != rows || columns.iter().any(|(other, _)| *other == key) {
                        return Err(wrong("a column of maps that does not fit"));
                    }
                    columns.push((key, column));
                }
                if columns.is_empty() {
                    return Ok(Column::Same(Value::Map(Arc::default()), rows));
                }
                Column::Maps(Maps::new(columns))
            }
            t::SAME => {
                let rows = self.narrow()?;
                Column::Same(self.value()?, rows)
            }
            t::VALUES => {
                let rows = self.count(1)?;
                Column::Values((0..rows).map(|_| self.value()).collect::<Done<_>>()?)
            }
            other => return Err(wrong(format!("no column has the tag {other}"))),
        })
    }

    /// Reads named columns, with what the nodes and relationships in them are.
    pub(crate) fn columns(&mut self) -> Done<Columns> {
        let count = self.count(2)?;
        let mut columns: Vec<(Arc<str>, Column)> = Vec::with_capacity(count);
        for _ in 0..count {
            columns.push((self.text()?.into(), self.column()?));
        }
        if columns.windows(2).any(|two| two[0].1.len() != two[1].1.len()) {
            return Err(wrong("columns of different lengths"));
        }
        let mut nodes = Vec::new();
        for _ in 0..self.count(3)? {
            let vertex = VertexId::from_raw(self.number()?);
            let labels = self.count(1)?;
            let labels = (0..labels).map(|_| Ok(self.text()?.to_owned()));
            let labels = labels.collect::<Done<_>>()?;
            nodes.push((vertex, Node { labels, properties: self.map()? }));
        }
        let mut relationships = Vec::new();
        for _ in 0..self.count(6)? {
            let (edge, ty) = (self.edge()?, self.text()?.to_owned());
            relationships.push((edge, Relationship { ty, properties: self.map()? }));
        }
        Ok(Columns::of(columns).with_entities(nodes, relationships))
    }
}

#[cfg(test)]
mod tests;
