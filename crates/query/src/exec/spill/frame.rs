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
        Column::Vertices(all) => {
            out.push(0);
            all.iter().for_each(|vertex| put_varint(vertex.get(), out));
        }
        Column::Edges(all) => {
            out.push(1);
            all.iter().for_each(|edge| put_edge(edge, out));
        }
        Column::Ints(all) => {
            out.push(2);
            all.iter().for_each(|int| put_varint_signed(*int, out));
        }
        Column::Bools(all) => {
            out.push(3);
            out.extend(all.iter().map(|is| u8::from(*is)));
        }
        Column::Same(value, _) => {
            out.push(4);
            put_value(value, out);
        }
        Column::Values(all) => {
            out.push(5);
            all.iter().for_each(|value| put_value(value, out));
        }
    }
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
    Ok(match byte(input)? {
        0 => Column::Vertices(many(rows, input, get_vertex)?),
        1 => Column::Edges(many(rows, input, get_edge)?),
        2 => Column::Ints(many(rows, input, get_varint_signed)?),
        3 => Column::Bools(many(rows, input, |input| Ok(byte(input)? == 1))?),
        4 => Column::Same(get_value(input)?, rows),
        5 => Column::Values(many(rows, input, get_value)?),
        other => return Err(broken(other)),
    })
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
        batch.set(0, Column::Vertices(vec![v(0), v(u64::MAX), v(7)]));
        batch.set(2, Column::Edges(vec![edge(1), edge(2), edge(1 << 40)]));
        batch.set(3, Column::Ints(vec![i64::MIN, -1, i64::MAX]));
        batch.set(5, Column::Bools(vec![true, false, true]));
        batch.set(9, Column::Same("all".into(), 3));
        // There and back over the same edge.
        let path = Path::walk(v(8), [edge(8), edge(8), edge(8)]).unwrap();
        let values = [Value::from(path), Value::from(edge(3)), Value::Null];
        let map = Value::map([("a", Value::list(values.clone())), ("", Value::Vertex(v(1)))]);
        batch.set(10, Column::Values(vec![Value::list(values), map, Value::Float(f64::NAN)]));
        let back = round_trip(&batch);
        assert_eq!(format!("{back:?}"), format!("{batch:?}"));
        assert_eq!(round_trip(&Batch::empty(5)).rows(), 5);
    }

    proptest! {
        #[test]
        fn any_values_come_back(values in prop::collection::vec(arbitrary::value(), 1..20)) {
            let mut batch = Batch::empty(values.len());
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
