//! Log records: what a commit changed, as logical redo.
//!
//! ```text
//!  record  = kind u8, body
//!  kind 1  commit: operations until the end of the record
//!  kind 2  new label           number varint, name (length varint, bytes)
//!  kind 3  new property key    number varint, name
//!  kind 4  new edge type       number varint, name, flags u8 (1 simple, 2 newest first), [key]
//!  kind 5  commit with a time  milliseconds since 1970 varint, operations as in kind 1
//!  kind 6  new index           number varint, definition (index/spec.rs)
//!  kind 7  index dropped       number varint
//!  kind 8  indexes changed     two or more of kinds 6 and 7, until the end of the record
//!  kind 9  epoch               number varint, node (length varint, bytes): a leadership began
//!  kind 10 commit once         milliseconds as in kind 5, id (length varint, bytes), operations:
//!                              a transaction with an id (once.rs)
//!
//!  operation = tag u8, body (integers are varints)
//!  1 vertex state     vertex, label count, labels...; deleted if the count is 0x10000
//!  2 vertex property  vertex, key, value
//!  3 create edge      type, src, dst, ordinal, sort key (zigzag)
//!  4 upsert edge      type, src, dst
//!  5 delete edge      type, src, dst, ordinal
//!  6 edge property    type, src, dst, ordinal, key, value
//!  7 new vertex       as 1, of a vertex that this commit made
//!  8 new edge         type, src, dst: as 3, without an ordinal
//!  9 edge property    type, src, dst, place, key, value: as 6, of an edge without an ordinal
//! ```
//!
//! Values are encoded as in `telar_graph::codec`. Replaying a record on the state it was committed
//! on gives the state after it; the commit timestamp stands in the log's frame.

use telar_graph::codec::{self, get_varint_signed, put_varint, put_varint_signed};
use telar_graph::name::NameKind;
use telar_graph::{EdgeTypeId, IndexId, LabelId, PropertyKeyId};

use super::write_set::{
    EdgeOp, EdgePropertyWrite, EdgeWrite, StateWrite, VertexPropertyWrite, WriteSet,
};
use crate::catalog::edge_type::put_edge_type_options;
use crate::catalog::{EdgeTypeOptions, LabelSets};
use crate::format::KIND_COMMIT;
use crate::format::reader::Reader;
use crate::index::Definition;
use crate::once;

const KIND_LABEL: u8 = 2;
const KIND_PROPERTY_KEY: u8 = 3;
const KIND_EDGE_TYPE: u8 = 4;
const KIND_TIMED_COMMIT: u8 = 5;
const KIND_INDEX: u8 = 6;
const KIND_DROP_INDEX: u8 = 7;
const KIND_INDEXES: u8 = 8;
const KIND_EPOCH: u8 = 9;
const KIND_ONCE_COMMIT: u8 = 10;

const OP_STATE: u8 = 1;
const OP_VERTEX_PROPERTY: u8 = 2;
const OP_CREATE_EDGE: u8 = 3;
const OP_UPSERT_EDGE: u8 = 4;
const OP_DELETE_EDGE: u8 = 5;
const OP_EDGE_PROPERTY: u8 = 6;
const OP_NEW_VERTEX: u8 = 7;
const OP_NEW_EDGE: u8 = 8;
const OP_PLACED_PROPERTY: u8 = 9;

/// In place of a label count, one more than there can be labels: the vertex is deleted.
const DELETED: u64 = 0x1_0000;

/// A decoded record.
#[derive(Debug)]
pub(crate) enum Record {
    /// A commit.
    Commit(Box<WriteSet>),
    /// A new label or property key.
    Name { kind: NameKind, number: u16, name: String },
    /// A new edge type.
    EdgeType { number: u16, name: String, options: EdgeTypeOptions },
    /// Indexes and constraints came and went, all at once.
    Indexes(Vec<IndexChange>),
    /// A leadership of a replicated log began; nothing changes.
    Epoch { number: u64, node: String },
}

/// A change of the indexes and constraints there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexChange {
    /// A new one.
    Made { id: IndexId, definition: Definition },
    /// One is gone.
    Dropped { id: IndexId },
}

fn put_value(value: &telar_graph::Value, out: &mut Vec<u8>) {
    codec::encode(value, out).expect("INVARIANT: nesting was checked when the value was set");
}

fn put_edge(out: &mut Vec<u8>, tag: u8, ty: EdgeTypeId, src: u32, dst: u32) {
    out.push(tag);
    put_varint(u64::from(ty.get()), out);
    put_varint(src.into(), out);
    put_varint(dst.into(), out);
}

/// Encodes a commit without a time, as format 1 did.
#[cfg(any(test, fuzzing))]
pub(crate) fn encode_commit(writes: &WriteSet, sets: &LabelSets, out: &mut Vec<u8>) {
    out.push(KIND_COMMIT);
    put_operations(writes, sets, out, |_| {});
}

/// Encodes what stands before the operations of a commit made at `time_ms`.
fn put_head(writes: &WriteSet, time_ms: u64, out: &mut Vec<u8>) {
    let kind = if writes.once.is_some() { KIND_ONCE_COMMIT } else { KIND_TIMED_COMMIT };
    out.push(kind);
    put_varint(time_ms, out);
    if let Some(id) = &writes.once {
        put_varint(id.len() as u64, out);
        out.extend_from_slice(id.as_bytes());
    }
}

/// Encodes a commit made at `time_ms`, milliseconds since 1970.
pub(crate) fn encode_timed_commit(
    writes: &WriteSet,
    sets: &LabelSets,
    time_ms: u64,
    out: &mut Vec<u8>,
) {
    put_head(writes, time_ms, out);
    put_operations(writes, sets, out, |_| {});
}

/// Bytes of that. *Cost*: as much as writing it.
pub(crate) fn size_of_timed_commit(writes: &WriteSet, sets: &LabelSets, time_ms: u64) -> usize {
    let (mut piece, mut bytes) = (Vec::new(), 0);
    put_head(writes, time_ms, &mut piece);
    put_operations(writes, sets, &mut piece, |piece| {
        bytes += piece.len();
        piece.clear();
    });
    bytes + piece.len()
}

/// The time of a commit, where its record has one. Looks at the first bytes only.
pub(crate) fn time_ms(payload: &[u8]) -> Option<u64> {
    let mut r = Reader(payload);
    let has_time = matches!(r.byte().ok()?, KIND_TIMED_COMMIT | KIND_ONCE_COMMIT);
    has_time.then(|| r.varint().ok()).flatten()
}

/// Writes the operations, and calls `each` after every one.
fn put_operations(
    writes: &WriteSet,
    sets: &LabelSets,
    out: &mut Vec<u8>,
    mut each: impl FnMut(&mut Vec<u8>),
) {
    for w in writes.states.items() {
        put_state(w, sets, out);
        each(out);
    }
    for w in writes.vertex_properties.items() {
        out.push(OP_VERTEX_PROPERTY);
        put_varint(w.vertex.into(), out);
        put_varint(w.key.get().into(), out);
        put_value(&w.value, out);
        each(out);
    }
    for w in writes.edges.items() {
        match w.op {
            EdgeOp::Create if w.ordinal == 0 => put_edge(out, OP_NEW_EDGE, w.ty, w.src, w.dst),
            EdgeOp::Create => {
                put_edge(out, OP_CREATE_EDGE, w.ty, w.src, w.dst);
                put_varint(w.ordinal.into(), out);
                put_varint_signed(w.sort_key, out);
            }
            EdgeOp::Upsert => put_edge(out, OP_UPSERT_EDGE, w.ty, w.src, w.dst),
            EdgeOp::Delete => {
                put_edge(out, OP_DELETE_EDGE, w.ty, w.src, w.dst);
                put_varint(w.ordinal.into(), out);
            }
            EdgeOp::Nothing => {}
        }
        each(out);
    }
    for w in writes.edge_properties.items() {
        let tag = if w.numbered { OP_EDGE_PROPERTY } else { OP_PLACED_PROPERTY };
        put_edge(out, tag, w.ty, w.src, w.dst);
        put_varint(w.place.into(), out);
        put_varint(w.key.get().into(), out);
        put_value(&w.value, out);
        each(out);
    }
}

fn put_state(w: &StateWrite, sets: &LabelSets, out: &mut Vec<u8>) {
    out.push(if w.created { OP_NEW_VERTEX } else { OP_STATE });
    put_varint(w.vertex.into(), out);
    if w.state == 0 {
        put_varint(DELETED, out);
        return;
    }
    let labels = sets.labels(w.state);
    put_varint(labels.len() as u64, out);
    for l in labels.iter() {
        put_varint(l.get().into(), out);
    }
}

fn put_name(kind: u8, number: u16, name: &str) -> Vec<u8> {
    let mut out = vec![kind];
    put_varint(number.into(), &mut out);
    put_varint(name.len() as u64, &mut out);
    out.extend_from_slice(name.as_bytes());
    out
}

/// Encodes a new label or property key.
pub(crate) fn encode_name(kind: NameKind, number: u16, name: &str) -> Vec<u8> {
    let tag = if kind == NameKind::Label { KIND_LABEL } else { KIND_PROPERTY_KEY };
    put_name(tag, number, name)
}

/// Encodes a new edge type.
pub(crate) fn encode_edge_type(number: u16, name: &str, options: EdgeTypeOptions) -> Vec<u8> {
    let mut out = put_name(KIND_EDGE_TYPE, number, name);
    put_edge_type_options(options, &mut out);
    out
}

/// Encodes the beginning of the leadership `number`, of `node`.
pub(crate) fn encode_epoch(number: u64, node: &str) -> Vec<u8> {
    let mut out = vec![KIND_EPOCH];
    put_varint(number, &mut out);
    put_varint(node.len() as u64, &mut out);
    out.extend_from_slice(node.as_bytes());
    out
}

/// Encodes changes of indexes and constraints that are there together or not at all.
pub(crate) fn encode_indexes(changes: &[IndexChange]) -> Vec<u8> {
    let mut out = Vec::new();
    if changes.len() != 1 {
        out.push(KIND_INDEXES);
    }
    for change in changes {
        match change {
            IndexChange::Made { id, definition } => {
                out.push(KIND_INDEX);
                put_varint(id.get().into(), &mut out);
                definition.encode(&mut out);
            }
            IndexChange::Dropped { id } => {
                out.push(KIND_DROP_INDEX);
                put_varint(id.get().into(), &mut out);
            }
        }
    }
    out
}

impl Reader<'_> {
    fn value(&mut self) -> Result<telar_graph::Value, String> {
        codec::decode(&mut self.0).map_err(|e| e.to_string())
    }

    fn index_change(&mut self) -> Result<IndexChange, String> {
        let kind = self.byte()?;
        let id = IndexId::from_raw(self.number("index")?);
        match kind {
            KIND_INDEX => Ok(IndexChange::Made { id, definition: Definition::decode(self)? }),
            KIND_DROP_INDEX => Ok(IndexChange::Dropped { id }),
            kind => Err(format!("unknown change of an index {kind}")),
        }
    }

    fn edge(&mut self, op: EdgeOp) -> Result<EdgeWrite, String> {
        Ok(EdgeWrite {
            ty: EdgeTypeId::from_raw(self.number("edge type")?),
            src: self.number("vertex")?,
            dst: self.number("vertex")?,
            ordinal: 0,
            sort_key: 0,
            op,
        })
    }

    fn operation(&mut self, sets: &LabelSets, out: &mut WriteSet) -> Result<(), String> {
        match self.byte()? {
            op @ (OP_STATE | OP_NEW_VERTEX) => {
                let vertex = self.number("vertex")?;
                let count = self.varint()?;
                let mut state = 0;
                if count != DELETED {
                    if count > self.0.len() as u64 {
                        return Err("more labels than the record holds".into());
                    }
                    let labels: Result<Vec<_>, String> =
                        (0..count).map(|_| Ok(LabelId::from_raw(self.number("label")?))).collect();
                    state = sets.number(&labels?);
                }
                out.states.put(StateWrite { vertex, state, created: op == OP_NEW_VERTEX });
            }
            OP_VERTEX_PROPERTY => out.vertex_properties.put(VertexPropertyWrite {
                vertex: self.number("vertex")?,
                key: PropertyKeyId::from_raw(self.number("property key")?),
                value: self.value()?,
            }),
            OP_CREATE_EDGE => {
                let edge = self.edge(EdgeOp::Create)?;
                let ordinal = self.number("edge ordinal")?;
                let sort_key = get_varint_signed(&mut self.0).map_err(|e| e.to_string())?;
                if ordinal == 0 {
                    return Err("an edge with ordinal 0".into());
                }
                out.edges.put(EdgeWrite { ordinal, sort_key, ..edge });
            }
            OP_NEW_EDGE => out.edges.put(self.edge(EdgeOp::Create)?),
            OP_UPSERT_EDGE => out.edges.put(self.edge(EdgeOp::Upsert)?),
            OP_DELETE_EDGE => {
                let edge = self.edge(EdgeOp::Delete)?;
                let ordinal = self.number("edge ordinal")?;
                out.edges.put(EdgeWrite { ordinal, ..edge });
            }
            op @ (OP_EDGE_PROPERTY | OP_PLACED_PROPERTY) => {
                let edge = self.edge(EdgeOp::Nothing)?;
                out.edge_properties.put(EdgePropertyWrite {
                    ty: edge.ty,
                    src: edge.src,
                    dst: edge.dst,
                    place: self.number("edge ordinal")?,
                    numbered: op == OP_EDGE_PROPERTY,
                    key: PropertyKeyId::from_raw(self.number("property key")?),
                    value: self.value()?,
                });
            }
            tag => return Err(format!("unknown operation {tag}")),
        }
        Ok(())
    }
}

/// Decodes a record.
pub(crate) fn decode(payload: &[u8], sets: &LabelSets) -> Result<Record, String> {
    let mut r = Reader(payload);
    let record = match r.byte()? {
        kind @ (KIND_COMMIT | KIND_TIMED_COMMIT | KIND_ONCE_COMMIT) => {
            if kind != KIND_COMMIT {
                r.varint()?;
            }
            let mut writes = Box::<WriteSet>::default();
            if kind == KIND_ONCE_COMMIT {
                let id = r.name()?;
                if !once::is_id(&id) {
                    return Err("an id of a transaction is not right".into());
                }
                writes.once = Some(id.into());
            }
            while !r.0.is_empty() {
                r.operation(sets, &mut writes)?;
            }
            Record::Commit(writes)
        }
        kind @ (KIND_LABEL | KIND_PROPERTY_KEY) => {
            let kind = if kind == KIND_LABEL { NameKind::Label } else { NameKind::PropertyKey };
            Record::Name { kind, number: r.number("name number")?, name: r.name()? }
        }
        KIND_EDGE_TYPE => {
            let (number, name) = (r.number("name number")?, r.name()?);
            let (options, _) = r.edge_type_options(0)?;
            Record::EdgeType { number, name, options }
        }
        KIND_INDEX | KIND_DROP_INDEX => {
            r = Reader(payload);
            Record::Indexes(vec![r.index_change()?])
        }
        KIND_INDEXES => {
            let mut changes = Vec::new();
            while !r.0.is_empty() {
                changes.push(r.index_change()?);
            }
            Record::Indexes(changes)
        }
        KIND_EPOCH => Record::Epoch { number: r.varint()?, node: r.name()? },
        kind => return Err(format!("unknown record kind {kind}")),
    };
    r.end()?;
    Ok(record)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn everything(sets: &LabelSets) -> WriteSet {
        let mut w = WriteSet::default();
        let ty = EdgeTypeId::from_raw(2);
        let key = PropertyKeyId::from_raw(3);
        let state = sets.number(&[LabelId::from_raw(4), LabelId::from_raw(1)]);
        w.states.push(StateWrite { vertex: 300, state, created: false });
        w.states.push(StateWrite { vertex: 5, state: 0, created: false });
        w.vertex_properties.push(VertexPropertyWrite { vertex: 300, key, value: true.into() });
        let edge = EdgeWrite { ty, src: 6, dst: 7, ordinal: 0, sort_key: 0, op: EdgeOp::Upsert };
        w.edges.push(edge);
        w.edges.push(EdgeWrite { ordinal: 9, sort_key: -2, op: EdgeOp::Create, ..edge });
        w.edges.push(EdgeWrite { ordinal: 8, op: EdgeOp::Delete, ..edge });
        w.edge_properties.push(EdgePropertyWrite {
            ty,
            src: 6,
            dst: 7,
            place: 9,
            numbered: true,
            key,
            value: false.into(),
        });
        w
    }

    /// Golden bytes, since format version 1. A change here is a change of the format.
    #[rustfmt::skip]
    const COMMIT: &[u8] = &[
        1,
        1, 0xAC, 2, 2, 1, 4,
        1, 5, 0x80, 0x80, 4,
        2, 0xAC, 2, 3, 2,
        4, 2, 6, 7,
        3, 2, 6, 7, 9, 3,
        5, 2, 6, 7, 8,
        6, 2, 6, 7, 9, 3, 1,
    ];

    #[test]
    fn commit_record_has_these_bytes() {
        let sets = LabelSets::new();
        let mut bytes = Vec::new();
        encode_commit(&everything(&sets), &sets, &mut bytes);
        assert_eq!(bytes, COMMIT);
    }

    #[test]
    fn commit_record_decodes_to_what_was_encoded() {
        let sets = LabelSets::new();
        let Record::Commit(found) = decode(COMMIT, &sets).unwrap() else {
            panic!("kind 1 is a commit");
        };
        let expected = everything(&sets);
        assert_eq!(found.states.items(), expected.states.items());
        assert_eq!(found.edges.items(), expected.edges.items());
        assert_eq!(found.edge_properties.items()[0].value, false.into());
        for end in 0..COMMIT.len() {
            let cut = decode(&COMMIT[..end], &sets);
            assert!(cut.is_err() || COMMIT[end] <= OP_EDGE_PROPERTY, "cut inside an operation");
        }
    }

    /// Since November 2026.
    #[test]
    fn edges_without_an_ordinal_have_these_bytes() {
        let (sets, mut w) = (LabelSets::new(), WriteSet::default());
        let (ty, key) = (EdgeTypeId::from_raw(2), PropertyKeyId::from_raw(3));
        let edge = EdgeWrite { ty, src: 6, dst: 7, ordinal: 0, sort_key: 0, op: EdgeOp::Create };
        w.edges.push(edge);
        w.edges.push(EdgeWrite { dst: 8, op: EdgeOp::Delete, ..edge });
        let value = true.into();
        let (place, numbered) = (300, false);
        let property = EdgePropertyWrite { ty, src: 6, dst: 7, place, numbered, key, value };
        w.edge_properties.push(property);
        let mut bytes = Vec::new();
        encode_commit(&w, &sets, &mut bytes);
        assert_eq!(bytes, [1, 8, 2, 6, 7, 5, 2, 6, 8, 0, 9, 2, 6, 7, 0xAC, 2, 3, 2]);
        let Record::Commit(found) = decode(&bytes, &sets).unwrap() else {
            panic!("kind 1 is a commit");
        };
        assert_eq!(found.edges.items(), w.edges.items());
        let found = &found.edge_properties.items()[0];
        assert_eq!((found.place, found.numbered, found.ordinal()), (300, false, 0));
        assert!(decode(&[1, 3, 2, 6, 7, 0, 0], &sets).is_err(), "not a second way to say it");
    }

    /// Since format version 3.
    #[test]
    fn a_new_vertex_is_told_from_one_that_changed() {
        let sets = LabelSets::new();
        let mut w = WriteSet::default();
        let state = sets.number(&[LabelId::from_raw(4)]);
        w.states.push(StateWrite { vertex: 5, state, created: true });
        w.states.push(StateWrite { vertex: 6, state: 0, created: true });
        let mut bytes = Vec::new();
        encode_commit(&w, &sets, &mut bytes);
        assert_eq!(bytes, [1, 7, 5, 1, 4, 7, 6, 0x80, 0x80, 4]);
        let Record::Commit(found) = decode(&bytes, &sets).unwrap() else {
            panic!("kind 1 is a commit");
        };
        assert_eq!(found.states.items(), w.states.items());
    }

    #[test]
    fn commit_with_a_time_has_it_before_the_operations() {
        let sets = LabelSets::new();
        let mut bytes = Vec::new();
        encode_timed_commit(&everything(&sets), &sets, 1_763_721_847_123, &mut bytes);
        let size = |writes| size_of_timed_commit(writes, &sets, 1_763_721_847_123);
        assert_eq!((size(&everything(&sets)), size(&WriteSet::default())), (bytes.len(), 7));
        assert_eq!(bytes[..7], [5, 0xD3, 0xC2, 0x8E, 0xB0, 0xAA, 0x33]);
        assert_eq!(bytes[7..], COMMIT[1..]);
        assert_eq!(time_ms(&bytes), Some(1_763_721_847_123));
        assert_eq!((time_ms(COMMIT), time_ms(&[5, 0x80]), time_ms(&[])), (None, None, None));
        let Record::Commit(found) = decode(&bytes, &sets).unwrap() else {
            panic!("kind 5 is a commit");
        };
        assert_eq!(found.edges.items(), everything(&sets).edges.items());
    }

    /// Since November 2026. A program of before says that it does not know the kind.
    #[test]
    fn commit_once_has_its_id_behind_the_time() {
        let sets = LabelSets::new();
        let mut writes = everything(&sets);
        writes.once = Some("o-1".into());
        let mut bytes = Vec::new();
        encode_timed_commit(&writes, &sets, 300, &mut bytes);
        assert_eq!(size_of_timed_commit(&writes, &sets, 300), bytes.len());
        assert_eq!(bytes[..7], [10, 0xAC, 2, 3, b'o', b'-', b'1']);
        assert_eq!(bytes[7..], COMMIT[1..]);
        assert_eq!(time_ms(&bytes), Some(300));
        let Record::Commit(found) = decode(&bytes, &sets).unwrap() else {
            panic!("kind 10 is a commit");
        };
        assert_eq!(found.once.as_deref(), Some("o-1"));
        assert_eq!(found.edges.items(), writes.edges.items());
        let too_long = [&[10, 0, 0x81, 1][..], &[b'x'; 129]].concat();
        for wrong in [&[10][..], &[10, 0], &[10, 0, 0], &[10, 0, 2, b'x'], &too_long] {
            assert!(decode(wrong, &sets).is_err(), "{wrong:?}");
        }
    }

    /// Since November 2026. A program of before says that it does not know the kind.
    #[test]
    fn epoch_record_has_these_bytes() {
        let bytes = [9, 0xAC, 2, 3, b'n', b'-', b'1'];
        assert_eq!(encode_epoch(300, "n-1"), bytes);
        let Ok(Record::Epoch { number, node }) = decode(&bytes, &LabelSets::new()) else {
            panic!("kind 9 is an epoch");
        };
        assert_eq!((number, &*node), (300, "n-1"));
        for end in 0..bytes.len() {
            assert!(decode(&bytes[..end], &LabelSets::new()).is_err(), "cut at {end}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(decode(&longer, &LabelSets::new()).is_err(), "nothing follows it");
        let next = decode(&[11], &LabelSets::new()).map(drop);
        assert_eq!(next, Err("unknown record kind 11".to_owned()));
    }

    #[test]
    fn schema_records_have_these_bytes() {
        assert_eq!(encode_name(NameKind::Label, 1, "AB"), [2, 1, 2, b'A', b'B']);
        assert_eq!(encode_name(NameKind::PropertyKey, 0, "k"), [3, 0, 1, b'k']);
        let options = EdgeTypeOptions::newest_first(PropertyKeyId::from_raw(5));
        assert_eq!(encode_edge_type(7, "T", options), [4, 7, 1, b'T', 2, 5]);
        assert_eq!(encode_edge_type(7, "T", EdgeTypeOptions::simple()), [4, 7, 1, b'T', 1]);
        let id = IndexId::from_raw(300);
        let definition = Definition::of(
            crate::IndexKind::Range,
            crate::IndexSpec {
                name: "i".into(),
                target: crate::IndexTarget::Vertices(LabelId::from_raw(4)),
                properties: vec![PropertyKeyId::from_raw(5)],
            },
        );
        let made = IndexChange::Made { id, definition };
        let dropped = IndexChange::Dropped { id };
        let cases: [(&[IndexChange], &[u8]); 3] = [
            (std::slice::from_ref(&made), &[6, 0xAC, 2, 1, b'i', 1, 1, 4, 1, 5]),
            (std::slice::from_ref(&dropped), &[7, 0xAC, 2]),
            (
                &[dropped.clone(), made.clone()],
                &[8, 7, 0xAC, 2, 6, 0xAC, 2, 1, b'i', 1, 1, 4, 1, 5],
            ),
        ];
        for (changes, bytes) in cases {
            assert_eq!(encode_indexes(changes), bytes);
            let Ok(Record::Indexes(found)) = decode(bytes, &LabelSets::new()) else {
                panic!("{bytes:?} are changes of indexes");
            };
            assert_eq!(found, changes);
        }
        let within = decode(&[8, 9], &LabelSets::new());
        assert!(within.is_err(), "an epoch within changes of indexes: {within:?}");
        let within = decode(&[8, 1], &LabelSets::new());
        assert!(within.is_err(), "a commit within changes of indexes: {within:?}");
    }
}
