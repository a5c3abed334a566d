//! The bytes of a batch of rows in a temporary file.
//!
//! ```text
//!  var rows │ var columns │ columns × ( var slot │ kind │ values )
//!
//!  kind  values
//!  0     vertices   rows × var
//!  1     edges      rows × edge
//!  2     integers   rows × zz
//!  3     booleans   rows × 1 byte
//!  4     one value for all rows
//!  5     rows × value
//!  6     floats     rows × 8 bytes of its bits
//!  7, 8  texts, and packed texts: rows × ( 0 null, or var length + 1 │ UTF-8 )
//!
//!  kinds 0 to 3 and 6 with 0x80: ⌈rows / 64⌉ × 8 bytes, a bit for each row that is not null, the
//!  first in the lowest; and values of these rows only
//!
//!  value: as telar_graph::codec, and what that does not store:
//!   0xf0  vertex    var
//!   0xf1  edge      edge
//!   0xf2  path      var first vertex │ var edges │ edges × edge
//!   0xf3  list      var count │ count × value
//!   0xf4  map       var count │ count × ( value key │ value )
//!  edge: var type │ var source │ var destination │ var ordinal;  var, zz: varints of the codec
//! ```
//!
//! Invariant: `get` of what `put` wrote is the same rows, values bit by bit and columns of the same
//! kind. Nobody else reads these bytes, and none of them outlives the query.

use std::sync::Arc;

use telar_graph::codec::{self, DecodeError};
use telar_graph::codec::{get_varint, get_varint_signed, put_varint, put_varint_signed};
use telar_graph::column::Nullable;
use telar_graph::value::Path;
use telar_graph::{EdgeId, EdgeTypeId, Value, ValueMap, VertexId};

use crate::batch::{Batch, Column};

mod tag {
    pub(super) const VERTEX: u8 = 0xf0;
    pub(super) const EDGE: u8 = 0xf1;
    pub(super) const PATH: u8 = 0xf2;
    pub(super) const LIST: u8 = 0xf3;
    pub(super) const MAP: u8 = 0xf4;
}

/// Largest number of a column: a query has fewer variables than characters.
const SLOT_MAX: usize = 1 << 24;

/// Why bytes are not a frame: they are not what was written.
pub(super) type Broken = DecodeError;

fn broken(found: u8) -> Broken {
    DecodeError::Tag { at: 0, found }
}

/// Appends a batch.
pub(super) fn put(rows: &Batch, out: &mut Vec<u8>) {
    put_varint(rows.rows() as u64, out);
    put_varint(rows.slots().count() as u64, out);
    for slot in rows.slots() {
        put_varint(slot as u64, out);
        put_column(rows.column(slot), out);
    }
}

fn put_column(column: &Column, out: &mut Vec<u8>) {
    match column {
        Column::Vertices(all) => put_list(all, 0, out, |v, out| put_varint(v.get(), out)),
        Column::Edges(all) => put_list(all, 1, out, |edge, out| put_edge(&edge, out)),
        Column::Ints(all) => put_list(all, 2, out, put_varint_signed),
        Column::Bools(all) => put_list(all, 3, out, |is, out| out.push(u8::from(is))),
        Column::Same(value, _) => {
            out.push(4);
            put_value(value, out);
        }
        Column::Values(all) => {
            out.push(5);
            all.iter().for_each(|value| put_value(value, out));
        }
        Column::Maps(_) | Column::FloatLists(_) => {
            out.push(5);
            (0..column.len()).for_each(|row| put_value(&column.get(row), out));
        }
        Column::Floats(all) => {
            put_list(all, 6, out, |x, out| out.extend(x.to_bits().to_le_bytes()));
        }
        Column::Texts(all) => {
            out.push(7);
            all.iter().for_each(|text| put_text(text.as_deref(), out));
        }
        Column::Packed(all) => {
            out.push(8);
            all.iter().for_each(|text| put_text(text, out));
        }
    }
}

fn put_text(text: Option<&str>, out: &mut Vec<u8>) {
    put_varint(text.map_or(0, |text| text.len() as u64 + 1), out);
    out.extend_from_slice(text.unwrap_or_default().as_bytes());
}

/// Bit of a kind whose column has nulls.
const WITH_NULLS: u8 = 0x80;

fn put_list<T: Copy + Default>(
    all: &Nullable<T>,
    kind: u8,
    out: &mut Vec<u8>,
    mut put: impl FnMut(T, &mut Vec<u8>),
) {
    let Some(full) = all.full() else {
        out.push(kind | WITH_NULLS);
        out.extend(all.present().iter().flat_map(|word| word.to_le_bytes()));
        all.iter().flatten().for_each(|value| put(value, out));
        return;
    };
    out.push(kind);
    full.iter().for_each(|value| put(*value, out));
}

fn put_edge(edge: &EdgeId, out: &mut Vec<u8>) {
    put_varint(u64::from(edge.ty.get()), out);
    put_varint(edge.src.get(), out);
    put_varint(edge.dst.get(), out);
    put_varint(u64::from(edge.ordinal), out);
}

fn put_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Vertex(vertex) => {
            out.push(tag::VERTEX);
            put_varint(vertex.get(), out);
        }
        Value::Edge(edge) => {
            out.push(tag::EDGE);
            put_edge(edge, out);
        }
        Value::Path(path) => {
            out.push(tag::PATH);
            put_varint(path.vertices()[0].get(), out);
            put_varint(path.edges().len() as u64, out);
            path.edges().iter().for_each(|edge| put_edge(edge, out));
        }
        Value::List(list) => {
            out.push(tag::LIST);
            put_varint(list.len() as u64, out);
            list.iter().for_each(|element| put_value(element, out));
        }
        Value::Map(map) => {
            out.push(tag::MAP);
            put_varint(map.len() as u64, out);
            for (key, value) in map.iter() {
                put_value(&Value::String(Arc::clone(key)), out);
                put_value(value, out);
            }
        }
        plain => codec::encode(plain, out).expect("INVARIANT: the codec has all other types"),
    }
}

/// The batch that these bytes are.
pub(super) fn get(mut bytes: &[u8]) -> Result<Batch, Broken> {
    let input = &mut bytes;
    let rows = get_varint(input)? as usize;
    let mut batch = Batch::empty(rows);
    for _ in 0..get_varint(input)? {
        let slot = get_varint(input)? as usize;
        if slot > SLOT_MAX {
            return Err(DecodeError::Range { at: 0, field: "slot" });
        }
        batch.set(slot, get_column(rows, input)?);
    }
    Ok(batch)
}

fn byte(input: &mut &[u8]) -> Result<u8, Broken> {
    let (first, rest) = input.split_first().ok_or(DecodeError::Truncated { at: 0 })?;
    *input = rest;
    Ok(*first)
}

fn many<T>(
    count: usize,
    input: &mut &[u8],
    get: impl Fn(&mut &[u8]) -> Result<T, Broken>,
) -> Result<Vec<T>, Broken> {
    // Each takes a byte at least: a wrong count makes no room for what is not there.
    let mut all = Vec::with_capacity(count.min(input.len()));
    for _ in 0..count {
        all.push(get(input)?);
    }
    Ok(all)
}

fn get_vertex(input: &mut &[u8]) -> Result<VertexId, Broken> {
    get_varint(input).map(VertexId::from_raw)
}

fn get_column(rows: usize, input: &mut &[u8]) -> Result<Column, Broken> {
    let kind = byte(input)?;
    Ok(match kind & !WITH_NULLS {
        0 => Column::Vertices(get_list(rows, kind, input, get_vertex)?),
        1 => Column::Edges(get_list(rows, kind, input, get_edge)?),
        2 => Column::Ints(get_list(rows, kind, input, get_varint_signed)?),
        3 => Column::Bools(get_list(rows, kind, input, |input| Ok(byte(input)? == 1))?),
        6 => Column::Floats(get_list(rows, kind, input, get_float)?),
        _ => match kind {
            4 => Column::Same(get_value(input)?, rows),
            5 => Column::Values(many(rows, input, get_value)?),
            7 => Column::Texts(many(rows, input, |input| Ok(get_text(input)?.map(Arc::from)))?),
            8 => {
                let texts = many(rows, input, |input| Ok(get_text(input)?.map(str::to_owned)))?;
                Column::Packed(texts.iter().map(Option::as_deref).collect())
            }
            other => return Err(broken(other)),
        },
    })
}

fn get_list<T: Copy + Default>(
    rows: usize,
    kind: u8,
    input: &mut &[u8],
    get: impl Fn(&mut &[u8]) -> Result<T, Broken>,
) -> Result<Nullable<T>, Broken> {
    if kind & WITH_NULLS == 0 {
        return Ok(many(rows, input, get)?.into());
    }
    let present = many(rows.div_ceil(64), input, |input| get_array(input).map(u64::from_le_bytes))?;
    let mut all = Nullable::default();
    for row in 0..rows {
        let is_there = present[row / 64] >> (row % 64) & 1 == 1;
        all.push(if is_there { Some(get(input)?) } else { None });
    }
    Ok(all)
}

fn get_array<const N: usize>(input: &mut &[u8]) -> Result<[u8; N], Broken> {
    let (first, rest) = input.split_first_chunk().ok_or(DecodeError::Truncated { at: 0 })?;
    *input = rest;
    Ok(*first)
}

fn get_float(input: &mut &[u8]) -> Result<f64, Broken> {
    Ok(f64::from_bits(u64::from_le_bytes(get_array(input)?)))
}

fn get_text<'b>(input: &mut &'b [u8]) -> Result<Option<&'b str>, Broken> {
    let Some(len) = get_varint(input)?.checked_sub(1) else { return Ok(None) };
    let len = usize::try_from(len).unwrap_or(usize::MAX);
    let (text, rest) = input.split_at_checked(len).ok_or(DecodeError::Truncated { at: 0 })?;
    *input = rest;
    str::from_utf8(text).map(Some).map_err(|_| broken(7))
}

fn get_edge(input: &mut &[u8]) -> Result<EdgeId, Broken> {
    let ty = EdgeTypeId::from_raw(get_varint(input)? as u16);
    let (src, dst) = (get_vertex(input)?, get_vertex(input)?);
    Ok(EdgeId { ty, src, dst, ordinal: get_varint(input)? as u32 })
}

fn get_value(input: &mut &[u8]) -> Result<Value, Broken> {
    let Some(tag) = input.first().copied().filter(|tag| *tag >= tag::VERTEX) else {
        return codec::decode(input);
    };
    byte(input)?;
    Ok(match tag {
        tag::VERTEX => Value::Vertex(get_vertex(input)?),
        tag::EDGE => Value::from(get_edge(input)?),
        tag::PATH => {
            let start = get_vertex(input)?;
            let edges = get_varint(input)? as usize;
            let path = Path::walk(start, many(edges, input, get_edge)?);
            path.map(Value::from).ok_or_else(|| broken(tag))?
        }
        tag::LIST => {
            let count = get_varint(input)? as usize;
            Value::List(many(count, input, get_value)?.into())
        }
        tag::MAP => {
            let count = get_varint(input)? as usize;
            let entry = |input: &mut &[u8]| match get_value(input)? {
                Value::String(key) => Ok((key, get_value(input)?)),
                _ => Err(broken(tag)),
            };
            Value::map(many(count, input, entry)?.into_iter().collect::<ValueMap>())
        }
        other => return Err(broken(other)),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::function::tests::arbitrary;

    fn edge(n: u64) -> EdgeId {
        let v = VertexId::from_raw;
        EdgeId { ty: EdgeTypeId::from_raw(3), src: v(n), dst: v(n / 2), ordinal: n as u32 }
    }

    fn round_trip(batch: &Batch) -> Batch {
        let mut bytes = Vec::new();
        put(batch, &mut bytes);
        for cut in 0..bytes.len().min(200) {
            assert!(get(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        get(&bytes).unwrap()
    }

    #[test]
    fn columns_come_back_with_their_types() {
        let mut batch = Batch::empty(3);
        let v = VertexId::from_raw;
        batch.set(0, Column::from(vec![v(0), v(u64::MAX), v(7)]));
        batch.set(2, Column::from(vec![edge(1), edge(2), edge(1 << 40)]));
        batch.set(3, Column::from(vec![i64::MIN, -1, i64::MAX]));
        batch.set(5, Column::from(vec![true, false, true]));
        batch.set(6, Column::from(vec![f64::NAN, -0.0, f64::MIN]));
        batch.set(7, Column::Texts(vec![Some("".into()), None, Some("ä".into())]));
        batch.set(9, Column::Same("all".into(), 3));
        // There and back over the same edge.
        let path = Path::walk(v(8), [edge(8), edge(8), edge(8)]).unwrap();
        let values = [Value::from(path), Value::from(edge(3)), Value::Null];
        let map = Value::map([("a", Value::list(values.clone())), ("", Value::Vertex(v(1)))]);
        batch.set(10, Column::Values(vec![Value::list(values), map, Value::Float(f64::NAN)]));
        let packed = [Some(""), None, Some("äb")].into_iter().collect();
        batch.set(8, Column::Packed(packed));
        batch.set(11, Column::Ints([None, Some(-7), None].into_iter().collect()));
        batch.set(12, Column::Vertices([Some(v(3)), None, Some(v(9))].into_iter().collect()));
        batch.set(13, Column::Floats(Nullable::nulls(3)));
        let back = round_trip(&batch);
        assert_eq!(format!("{back:?}"), format!("{batch:?}"));
        assert_eq!(round_trip(&Batch::empty(5)).rows(), 5);
    }

    proptest! {
        #[test]
        fn any_values_come_back(values in prop::collection::vec(arbitrary::value(), 1..20)) {
            let mut batch = Batch::empty(values.len());
            batch.set(0, Column::of(values.clone()));
            batch.set(1, Column::Values(values));
            // Bit by bit: as text, NaN and -0.0 are themselves.
            prop_assert_eq!(format!("{:?}", round_trip(&batch)), format!("{batch:?}"));
        }

        #[test]
        fn any_bytes_are_an_error_or_a_frame(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = get(&bytes);
        }
    }
}
