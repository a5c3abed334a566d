//! From the values of a key property to vertices: how relationships of a table find their ends.
//!
//! Keys that are all integers or all texts are an [`IdSpace`], which is an array for integers that
//! lie close together; others are hashed as values, by which `1` and `1.0` are one.

use std::collections::{HashMap, HashSet};

use telar_engine::{Engine, IndexState, IndexTarget, SchemaKind};
use telar_graph::column::Column;
use telar_graph::{ConstraintKind, IndexId, LabelId, PropertyKeyId, Value, VertexId, View};
use telar_query::QueryError;

use super::End;
use crate::backend::query_error;
use crate::import::csv::Ids;
use crate::import::csv::ids::{IdRef, IdSpace};

/// An end that no vertex was found for.
pub(super) const NOBODY: u32 = u32::MAX;
/// An end for which there are several.
pub(super) const SEVERAL: u32 = u32::MAX - 1;
/// An index is asked for keys while the label has more vertices than this for each of them.
const VERTICES_PER_LOOKUP: u64 = 8;

#[derive(Debug)]
enum Keys {
    Ids(IdSpace),
    Values(HashMap<Value, u32, foldhash::fast::RandomState>),
}

/// The vertices of a label by their key.
#[derive(Debug)]
pub(super) struct KeyMap {
    keys: Keys,
    /// Vertices whose key others have, too.
    shared: HashSet<u32>,
}

/// Keys of vertices, in the order of the vertices.
#[derive(Debug, Default)]
pub(super) struct KeyedVertices {
    pub(super) keys: Vec<Column>,
    pub(super) vertices: Vec<u32>,
}

impl KeyedVertices {
    pub(super) fn add(&mut self, keys: Column, vertices: impl IntoIterator<Item = u32>) {
        self.keys.push(keys);
        self.vertices.extend(vertices);
    }
}

impl KeyedVertices {
    /// Adds others, whose vertices are numbered from `first` on.
    pub(super) fn add_all(&mut self, other: Self, first: u32) {
        self.keys.extend(other.keys);
        self.vertices.extend(other.vertices.into_iter().map(|vertex| vertex + first));
    }
}

/// Kind of ids that all keys are; none if they differ.
fn kind(keys: &[Column]) -> Option<Ids> {
    let kinds = keys.iter().filter(|keys| !matches!(keys, Column::Same(Value::Null, _)));
    let mut kinds = kinds.map(|keys| match keys {
        Column::Ints(_) => Some(Ids::Integer),
        Column::Texts(_) | Column::Packed(_) => Some(Ids::Text),
        _ => None,
    });
    let first = kinds.next().flatten()?;
    kinds.all(|kind| kind == Some(first)).then_some(first)
}

impl KeyMap {
    pub(super) fn new(all: &KeyedVertices) -> Self {
        let mut shared = HashSet::new();
        let mut vertices = all.vertices.iter().copied();
        let keys = match kind(&all.keys) {
            Some(kind) => {
                let mut space = IdSpace::new("", kind);
                let mut add = |id: Option<IdRef<'_>>, vertex: u32| {
                    if let Some(id) = id
                        && !space.add(id, vertex)
                        && let Some(first) = space.vertex(id)
                    {
                        shared.insert(first);
                    }
                };
                for keys in &all.keys {
                    let rows = vertices.by_ref().take(keys.len());
                    match keys {
                        Column::Ints(keys) => keys
                            .iter()
                            .zip(rows)
                            .for_each(|(key, vertex)| add(key.map(IdRef::Integer), vertex)),
                        Column::Packed(keys) => keys.iter().zip(rows).for_each(|(key, vertex)| {
                            add(key.map(|key| IdRef::Text(key.as_bytes())), vertex);
                        }),
                        Column::Texts(keys) => keys.iter().zip(rows).for_each(|(key, vertex)| {
                            add(key.as_ref().map(|key| IdRef::Text(key.as_bytes())), vertex);
                        }),
                        _ => rows.for_each(drop),
                    }
                }
                space.end_existing();
                space.seal(0);
                Keys::Ids(space)
            }
            None => {
                let mut map = HashMap::default();
                for keys in &all.keys {
                    for (row, vertex) in (0..keys.len()).zip(vertices.by_ref()) {
                        let key = keys.get(row);
                        if !key.is_null()
                            && let Some(first) = map.insert(key, vertex)
                        {
                            shared.extend([first, vertex]);
                        }
                    }
                }
                Keys::Values(map)
            }
        };
        Self { keys, shared }
    }

    fn find(&self, key: &Value) -> Option<u32> {
        match (&self.keys, key) {
            (_, Value::Null) => None,
            // As `=` compares them.
            (_, Value::Float(x)) if x.is_nan() => None,
            (Keys::Values(map), key) => map.get(key).copied(),
            (Keys::Ids(space), Value::Int(n)) if space.kind == Ids::Integer => {
                space.vertex(IdRef::Integer(*n))
            }
            (Keys::Ids(space), Value::Float(x)) if space.kind == Ids::Integer => {
                let whole = *x as i64;
                (Value::Int(whole) == *key).then(|| space.vertex(IdRef::Integer(whole))).flatten()
            }
            (Keys::Ids(space), Value::String(text)) if space.kind == Ids::Text => {
                space.vertex(IdRef::Text(text.as_bytes()))
            }
            _ => None,
        }
    }

    /// The vertex of each row, [`NOBODY`] or [`SEVERAL`].
    pub(super) fn find_all(&self, column: &Column) -> Vec<u32> {
        let mut found: Vec<u32> = match (&self.keys, column) {
            (Keys::Ids(space), Column::Ints(keys)) if space.kind == Ids::Integer => {
                let find = |key| space.vertex(IdRef::Integer(key)).unwrap_or(NOBODY);
                match keys.full() {
                    Some(keys) => keys.iter().map(|key| find(*key)).collect(),
                    None => keys.iter().map(|key| key.map_or(NOBODY, find)).collect(),
                }
            }
            (Keys::Ids(space), Column::Packed(keys)) if space.kind == Ids::Text => {
                let find = |key: &str| space.vertex(IdRef::Text(key.as_bytes()));
                keys.iter().map(|key| key.and_then(find).unwrap_or(NOBODY)).collect()
            }
            _ => {
                let find = |row| self.find(&column.get(row)).unwrap_or(NOBODY);
                (0..column.len()).map(find).collect()
            }
        };
        if !self.shared.is_empty() {
            for vertex in &mut found {
                if self.shared.contains(vertex) {
                    *vertex = SEVERAL;
                }
            }
        }
        found
    }
}

/// The index that finds vertices of a label by one property, if there is one.
fn index_of(db: &Engine, label: LabelId, key: PropertyKeyId) -> Option<IndexId> {
    let unique = |kind: SchemaKind| {
        matches!(kind.constraint(), Some(ConstraintKind::Unique | ConstraintKind::Key))
    };
    let serves = |info: &telar_engine::IndexInfo| {
        info.target == IndexTarget::Vertices(label)
            && info.properties == [key]
            && unique(info.kind)
            && info.state == IndexState::Online
    };
    db.indexes().into_iter().find(serves).map(|info| info.id)
}

/// The vertices of the database that relationships may end at: those with the keys of `wanted`,
/// where an index finds them, or else all of the label.
pub(super) fn existing(
    db: &Engine,
    end: &End,
    wanted: Option<&[&Column]>,
) -> Result<KeyedVertices, QueryError> {
    let mut all = KeyedVertices::default();
    let (Some(label), Some(key)) = (db.find_label(&end.label), db.find_property_key(&end.key))
    else {
        return Ok(all);
    };
    let reader = db.reader().map_err(|e| query_error(db, &e))?;
    let lookups = |wanted: &[&Column]| {
        let count = wanted.iter().map(|keys| keys.len()).sum::<usize>() as u64;
        count.saturating_mul(VERTICES_PER_LOOKUP) < reader.vertex_bound().get()
    };
    if let Some(wanted) = wanted.filter(|wanted| lookups(wanted))
        && let Some(index) = index_of(db, label, key)
    {
        let keys = wanted.iter().flat_map(|keys| (0..keys.len()).map(|row| keys.get(row)));
        let keys: HashSet<Value> = keys.filter(|key| !key.is_null()).collect();
        let keys: Vec<Value> = keys.into_iter().collect();
        let mut found = Vec::new();
        reader.lookup_vertices(index, &keys, &mut found)?;
        let own = found.iter().map(|(at, _)| keys[*at as usize].clone()).collect();
        all.add(Column::of(own), found.iter().map(|(_, vertex)| vertex.get() as u32));
        return Ok(all);
    }
    let mut found = Vec::new();
    reader.scan(Some(label), VertexId::from_raw(0), reader.vertex_bound(), &mut found)?;
    let mut keys = Column::packed();
    reader.vertex_properties(&found, key, &mut keys)?;
    all.add(keys, found.iter().map(|vertex| vertex.get() as u32));
    Ok(all)
}
