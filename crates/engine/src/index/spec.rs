//! What an index or a constraint is: names, targets, kinds.

use std::slice;

use smallvec::SmallVec;
use telar_graph::codec::put_varint;
use telar_graph::{EdgeTypeId, IndexId, LabelId, PropertyKeyId, PropertyType, Value};

use super::key::SortKey;
use crate::txn::record::Reader;

/// Most properties of one index.
pub(crate) const KEYS_MAX: usize = 16;

/// What an index or a constraint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexTarget {
    /// Vertices with this label.
    Vertices(LabelId),
    /// Edges of this type.
    Edges(EdgeTypeId),
}

/// An index to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexSpec {
    /// Its name, unique among indexes and constraints.
    pub name: String,
    /// What is indexed.
    pub target: IndexTarget,
    /// The properties, the first the most significant; an object that lacks one is not in the
    /// index.
    pub properties: Vec<PropertyKeyId>,
}

/// What a constraint demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConstraintKind {
    /// No two objects have the same values of all the properties. Kept by a range index, which can
    /// be read like others. An object that lacks one of the properties is free.
    Unique,
    /// Every object has each of the properties.
    Exists,
    /// Both: every object has each of the properties, and no two the same values of all.
    Key,
    /// Where an object has one of the properties, it is of this type.
    Type(PropertyType),
}

/// A constraint to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConstraintSpec {
    /// Its name, unique among indexes and constraints.
    pub name: String,
    /// What must fulfil it.
    pub target: IndexTarget,
    /// The properties.
    pub properties: Vec<PropertyKeyId>,
    /// What is demanded.
    pub kind: ConstraintKind,
}

/// What an index or constraint does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexKind {
    /// Finds objects by their values, one by one or in ranges.
    Range,
    /// Finds objects by a string: itself, its beginning, a part of it. Nothing else is in it.
    Text,
    /// Finds objects by a point: itself, or a box around it. Nothing else is in it.
    Point,
    /// A constraint; a unique one finds objects like a range index.
    Constraint(ConstraintKind),
}

impl IndexKind {
    /// Whether it keeps entries that can be read.
    #[must_use]
    pub fn has_entries(self) -> bool {
        match self {
            Self::Range | Self::Text | Self::Point => true,
            Self::Constraint(_) => self.is_unique(),
        }
    }

    /// Whether it demands something of each object by itself.
    pub(crate) fn checks_values(self) -> bool {
        match self {
            Self::Range | Self::Text | Self::Point => false,
            Self::Constraint(kind) => kind != ConstraintKind::Unique,
        }
    }

    pub(crate) fn is_unique(self) -> bool {
        matches!(self, Self::Constraint(ConstraintKind::Unique | ConstraintKind::Key))
    }
}

/// How far an index is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexState {
    /// What was there before is being added or checked; commits keep to it already.
    Building {
        /// Vertices, or sources of edges, looked at so far.
        done: u64,
        /// How many there are.
        total: u64,
    },
    /// It can be read, and holds.
    Online,
    /// It is made when the transaction that asks commits; nobody else knows of it.
    Pending,
}

/// An index or constraint as listed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct IndexInfo {
    /// Its number.
    pub id: IndexId,
    /// Its name.
    pub name: String,
    /// What it is about.
    pub target: IndexTarget,
    /// The properties.
    pub properties: Vec<PropertyKeyId>,
    /// What it does.
    pub kind: IndexKind,
    /// How far it is.
    pub state: IndexState,
    /// Entries in memory, obsolete and repeated ones included that are still to be cleared. None
    /// before an index is used for the first time since the database was opened.
    pub entries: u64,
    /// Memory held, in bytes.
    pub bytes: usize,
}

/// What is stored of an index or constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) name: String,
    pub(crate) target: IndexTarget,
    pub(crate) properties: Vec<PropertyKeyId>,
    pub(crate) kind: IndexKind,
}

impl From<IndexSpec> for Definition {
    fn from(spec: IndexSpec) -> Self {
        Self::of(spec, IndexKind::Range)
    }
}

impl From<ConstraintSpec> for Definition {
    fn from(spec: ConstraintSpec) -> Self {
        let ConstraintSpec { name, target, properties, kind } = spec;
        Self { name, target, properties, kind: IndexKind::Constraint(kind) }
    }
}

const KIND_RANGE: u8 = 1;
const KIND_UNIQUE: u8 = 2;
const KIND_EXISTS: u8 = 3;
const KIND_TYPE: u8 = 4;
const KIND_KEY: u8 = 5;
const KIND_TEXT: u8 = 6;
const KIND_POINT: u8 = 7;

const TARGET_VERTICES: u8 = 1;
const TARGET_EDGES: u8 = 2;

impl Definition {
    /// What makes an index of a kind.
    pub(crate) fn of(spec: IndexSpec, kind: IndexKind) -> Self {
        let IndexSpec { name, target, properties } = spec;
        Self { name, target, properties, kind }
    }

    /// The key of an object that has these values; `None` if it is not in the index.
    #[inline]
    pub(crate) fn key(&self, mut value: impl FnMut(PropertyKeyId) -> Value) -> Option<SortKey> {
        if let [property] = self.properties[..] {
            return self.key_of_values(&[value(property)]);
        }
        let values: SmallVec<[Value; 4]> = self.properties.iter().map(|k| value(*k)).collect();
        self.key_of_values(&values)
    }

    /// The key of these values, one for each property.
    pub(crate) fn key_of_values(&self, values: &[Value]) -> Option<SortKey> {
        match (values, self.kind) {
            ([value @ Value::String(_)], IndexKind::Text) => SortKey::of(slice::from_ref(value)),
            ([Value::Point(point)], IndexKind::Point) => Some(SortKey::of_point(point)),
            (_, IndexKind::Text | IndexKind::Point) => None,
            _ => SortKey::of(values),
        }
    }

    /// Appends name, kind, target and properties, as in log records and checkpoints.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        put_varint(self.name.len() as u64, out);
        out.extend_from_slice(self.name.as_bytes());
        match self.kind {
            IndexKind::Range => out.push(KIND_RANGE),
            IndexKind::Text => out.push(KIND_TEXT),
            IndexKind::Point => out.push(KIND_POINT),
            IndexKind::Constraint(ConstraintKind::Unique) => out.push(KIND_UNIQUE),
            IndexKind::Constraint(ConstraintKind::Exists) => out.push(KIND_EXISTS),
            IndexKind::Constraint(ConstraintKind::Key) => out.push(KIND_KEY),
            IndexKind::Constraint(ConstraintKind::Type(ty)) => {
                out.push(KIND_TYPE);
                put_varint(ty.number(), out);
            }
        }
        let (tag, number) = match self.target {
            IndexTarget::Vertices(label) => (TARGET_VERTICES, label.get()),
            IndexTarget::Edges(ty) => (TARGET_EDGES, ty.get()),
        };
        out.push(tag);
        put_varint(number.into(), out);
        put_varint(self.properties.len() as u64, out);
        self.properties.iter().for_each(|k| put_varint(k.get().into(), out));
    }

    /// Reads what [`encode`](Self::encode) wrote.
    pub(crate) fn decode(r: &mut Reader<'_>) -> Result<Self, String> {
        let name = r.name()?;
        let kind = match r.byte()? {
            KIND_RANGE => IndexKind::Range,
            KIND_TEXT => IndexKind::Text,
            KIND_POINT => IndexKind::Point,
            KIND_UNIQUE => IndexKind::Constraint(ConstraintKind::Unique),
            KIND_EXISTS => IndexKind::Constraint(ConstraintKind::Exists),
            KIND_KEY => IndexKind::Constraint(ConstraintKind::Key),
            KIND_TYPE => {
                let number = r.varint()?;
                let ty = PropertyType::from_number(number)
                    .ok_or_else(|| format!("unknown property type {number}"))?;
                IndexKind::Constraint(ConstraintKind::Type(ty))
            }
            kind => return Err(format!("unknown kind of index {kind}")),
        };
        let target = match r.byte()? {
            TARGET_VERTICES => IndexTarget::Vertices(LabelId::from_raw(r.number("label")?)),
            TARGET_EDGES => IndexTarget::Edges(EdgeTypeId::from_raw(r.number("edge type")?)),
            tag => return Err(format!("unknown target of an index {tag}")),
        };
        let count: usize = r.number("property count")?;
        if count == 0 || count > KEYS_MAX {
            return Err(format!("an index of {count} properties"));
        }
        let properties: Result<_, String> =
            (0..count).map(|_| Ok(PropertyKeyId::from_raw(r.number("property key")?))).collect();
        Ok(Self { name, target, properties: properties?, kind })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(kind: IndexKind, target: IndexTarget) -> Definition {
        let properties = [300, 5].map(PropertyKeyId::from_raw).to_vec();
        Definition { name: "i".into(), target, properties, kind }
    }

    /// Golden bytes: a change here is a change of the format.
    #[test]
    fn definitions_have_these_bytes() {
        let vertices = IndexTarget::Vertices(LabelId::from_raw(4));
        let edges = IndexTarget::Edges(EdgeTypeId::from_raw(2));
        let constraint = IndexKind::Constraint;
        let cases: [(Definition, &[u8]); 7] = [
            (definition(IndexKind::Range, vertices), &[1, b'i', 1, 1, 4, 2, 0xAC, 2, 5]),
            (definition(IndexKind::Text, vertices), &[1, b'i', 6, 1, 4, 2, 0xAC, 2, 5]),
            (definition(IndexKind::Point, edges), &[1, b'i', 7, 2, 2, 2, 0xAC, 2, 5]),
            (
                definition(constraint(ConstraintKind::Unique), edges),
                &[1, b'i', 2, 2, 2, 2, 0xAC, 2, 5],
            ),
            (
                definition(constraint(ConstraintKind::Exists), vertices),
                &[1, b'i', 3, 1, 4, 2, 0xAC, 2, 5],
            ),
            (
                definition(constraint(ConstraintKind::Key), vertices),
                &[1, b'i', 5, 1, 4, 2, 0xAC, 2, 5],
            ),
            (
                definition(constraint(ConstraintKind::Type(PropertyType::Number)), vertices),
                &[1, b'i', 4, 15, 1, 4, 2, 0xAC, 2, 5],
            ),
        ];
        for (definition, bytes) in cases {
            let mut found = Vec::new();
            definition.encode(&mut found);
            assert_eq!(found, bytes);
            assert_eq!(Definition::decode(&mut Reader(bytes)), Ok(definition));
            for end in 0..bytes.len() {
                assert!(Definition::decode(&mut Reader(&bytes[..end])).is_err());
            }
        }
    }
}
