//! The copy compared with its source: every vertex, every list, every property.

use std::collections::HashMap;

use telar_engine::{Engine, Reader};
use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, Lists, PropertyKeyId, Value, VertexId, View, codec,
};

use super::copy::edges_of;
use super::numbering::Numbering;
use super::{Names, ReorderError};
use crate::import::ImportStage;

/// Fails unless `made` is `source` under new places.
pub(super) fn verify(
    (source, old): (&Engine, &Reader<'_>),
    (made, new): (&Engine, &Reader<'_>),
    names: &Names,
    numbering: &Numbering,
    step: &dyn Fn(ImportStage, u64, u64),
) -> Result<(), ReorderError> {
    let differs = |what: String| Err(ReorderError::Differs(what));
    let total = numbering.vertices.len() as u64;
    if new.vertex_bound().get() != total {
        return differs(format!("{} places, and {total} vertices", new.vertex_bound().get()));
    }
    let shown = |db: &Engine| -> Vec<String> {
        db.indexes().into_iter().map(|index| format!("{} {:?}", index.name, index.kind)).collect()
    };
    if shown(source) != shown(made) {
        return differs("indexes and constraints".to_owned());
    }
    let mut labels = HashMap::new();
    for (id, name) in &names.labels {
        labels.insert(made.find_label(name), *id);
    }
    let keys: HashMap<PropertyKeyId, &str> =
        names.keys.iter().map(|(id, name)| (*id, name.as_str())).collect();
    let new_keys = made.property_keys();
    let new_keys: HashMap<PropertyKeyId, &str> =
        (0..).map(PropertyKeyId::from_raw).zip(new_keys.iter().map(String::as_str)).collect();
    let (mut old_labels, mut new_labels) = (Lists::default(), Lists::default());
    let (mut old_values, mut new_values) = (Lists::default(), Lists::default());
    for (places, vertices) in numbering.pieces() {
        let moved: Vec<_> = places.clone().map(|place| VertexId::from_raw(place.into())).collect();
        View::labels(old, vertices, &mut old_labels)?;
        View::labels(new, &moved, &mut new_labels)?;
        old.all_vertex_properties(vertices, &mut old_values)?;
        new.all_vertex_properties(&moved, &mut new_values)?;
        for (at, v) in vertices.iter().enumerate() {
            // A label that the source does not know is none of the vertex's.
            let found = new_labels.of(at).iter().map(|id| labels.get(&Some(*id)).copied());
            let mut found = found.collect::<Option<Vec<_>>>().unwrap_or_default();
            found.sort_unstable();
            let same = found.len() == new_labels.of(at).len() && found == old_labels.of(at);
            if !same || !new.exists(moved[at]) {
                return differs(format!("labels of vertex {}", v.get()));
            }
            if encoded(old_values.of(at), &keys) != encoded(new_values.of(at), &new_keys) {
                return differs(format!("properties of vertex {}", v.get()));
            }
        }
        for (id, name, _) in &names.types {
            let Some(ty) = made.find_edge_type(name) else {
                return differs(format!("edge type {name}"));
            };
            let place = |v: VertexId| numbering.place(v);
            let from = edges(old, vertices, *id, &keys, place)?;
            let to = edges(new, &moved, ty, &new_keys, |v| v.get() as u32)?;
            if let Some(at) = (0..vertices.len()).find(|at| from[*at] != to[*at]) {
                return differs(format!("edges :{name} of vertex {}", vertices[at].get()));
            }
            let (mut from, mut to) = (Vec::new(), Vec::new());
            old.degrees(vertices, *id, Direction::In, &mut from)?;
            new.degrees(&moved, ty, Direction::In, &mut to)?;
            if from != to {
                return differs(format!("edges :{name} that arrive from vertex {}", places.start));
            }
        }
        step(ImportStage::Verifying, places.end.into(), total);
    }
    Ok(())
}

/// Properties by name, as bytes that tell every value from every other.
fn encoded(values: &[(PropertyKeyId, Value)], keys: &HashMap<PropertyKeyId, &str>) -> Vec<u8> {
    let mut values: Vec<_> = values.iter().map(|(key, value)| (keys.get(key), value)).collect();
    values.sort_unstable_by_key(|(name, _)| *name);
    let mut bytes = Vec::new();
    for (name, value) in values {
        bytes.extend_from_slice(name.map_or("", |name| *name).as_bytes());
        bytes.push(0xFF);
        // What was read from a store can be written to one.
        codec::encode(value, &mut bytes).expect("INVARIANT: stored values can be encoded");
    }
    bytes
}

/// Place of an edge's other end, and its properties as [`encoded`] has them.
type OutEdge = (u32, Vec<u8>);

/// Edges of each vertex, sorted.
fn edges(
    reader: &Reader<'_>,
    vertices: &[VertexId],
    ty: EdgeTypeId,
    keys: &HashMap<PropertyKeyId, &str>,
    place: impl Fn(VertexId) -> u32,
) -> Result<Vec<Vec<OutEdge>>, ReorderError> {
    let (mut found, mut values) = (Expansion::default(), Lists::default());
    reader.expand(vertices, ty, Direction::Out, &mut found)?;
    let edges: Vec<EdgeId> = edges_of(vertices, ty, &found);
    reader.all_edge_properties(&edges, &mut values)?;
    let mut lists = Vec::with_capacity(vertices.len());
    for range in found.offsets.windows(2) {
        let range = range[0] as usize..range[1] as usize;
        let edge = |at: usize| (place(found.neighbours[at]), encoded(values.of(at), keys));
        let mut list: Vec<_> = range.map(edge).collect();
        list.sort_unstable();
        lists.push(list);
    }
    Ok(lists)
}
