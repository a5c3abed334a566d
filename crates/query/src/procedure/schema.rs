//! What a graph has: which labels with which properties, and what connects them.
//!
//! *Cost*: each is a pass over the whole graph; nothing is guessed from a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use telar_graph::{
    Direction, EdgeId, EdgeTypeId, Expansion, LabelId, Lists, PropertyKeyId, Value, VertexId,
};

use super::meta::names_of;
use super::show::Shown;
use super::{CallContext, Procedures, Rows};
use crate::query_error::QueryError;

/// Vertices looked at between two questions whether to go on.
const STEP: u64 = 1024;

pub(super) fn add(procedures: &mut Procedures) {
    let mut add = |name: &str, procedure: Shown| procedures.add(name, Arc::new(procedure));
    add(
        "db.schema.nodeTypeProperties",
        Shown::new(
            "For each set of labels, the properties of its nodes and their types.",
            Vec::new(),
            &[
                ("nodeType", "STRING"),
                ("nodeLabels", "LIST<STRING>"),
                ("propertyName", "STRING"),
                ("propertyTypes", "LIST<STRING>"),
                ("mandatory", "BOOLEAN"),
            ],
            |call, _| node_types(call),
        ),
    );
    add(
        "db.schema.relTypeProperties",
        Shown::new(
            "For each type, the properties of its relationships and their types.",
            Vec::new(),
            &[
                ("relType", "STRING"),
                ("propertyName", "STRING"),
                ("propertyTypes", "LIST<STRING>"),
                ("mandatory", "BOOLEAN"),
            ],
            |call, _| relationship_types(call),
        ),
    );
    add(
        "db.schema.visualization",
        Shown::new(
            "The labels as nodes, and which types of relationships connect them, as maps.",
            Vec::new(),
            &[("nodes", "LIST<MAP>"), ("relationships", "LIST<MAP>")],
            |call, _| visualization(call),
        ),
    );
}

/// What is known of the objects of one kind.
#[derive(Debug, Default)]
struct Seen {
    objects: u64,
    /// By property: how many have it, and of which types.
    properties: BTreeMap<PropertyKeyId, (u64, BTreeSet<String>)>,
}

impl Seen {
    fn add(&mut self, properties: &[(PropertyKeyId, Value)]) {
        self.objects += 1;
        for (key, value) in properties {
            let (count, types) = self.properties.entry(*key).or_default();
            *count += 1;
            types.insert(type_name(value));
        }
    }

    /// A row per property, behind `first`; one without a property if there is none.
    fn rows(&self, first: &[Value], names: &[String], rows: &mut Rows) {
        let row = |name: Value, types: Value, mandatory: bool| {
            let mut row = first.to_vec();
            row.extend([name, types, mandatory.into()]);
            row
        };
        if self.properties.is_empty() {
            rows.push(row(Value::Null, Value::Null, false));
        }
        for (key, (count, types)) in &self.properties {
            let name = names[usize::from(key.get())].as_str().into();
            rows.push(row(name, Value::list(types.iter().cloned()), *count == self.objects));
        }
    }
}

/// Rows with how many objects have a property, and how many there are, behind those of [`Seen`].
fn observed(seen: &Seen, first: &[Value], names: &[String], rows: &mut Rows) {
    let (begin, number) = (rows.len(), |n: u64| Value::try_from(n).unwrap_or_default());
    seen.rows(first, names, rows);
    let counts = seen.properties.values().map(|(count, _)| *count).chain([0]);
    for (row, count) in rows[begin..].iter_mut().zip(counts) {
        row.extend([number(count), number(seen.objects)]);
    }
}

/// The rows of `apoc.meta.nodeTypeProperties`, for the sets of labels that are wanted.
pub(super) fn node_observations(
    call: &CallContext<'_>,
    wanted: &dyn Fn(&[String]) -> bool,
) -> Result<Rows, QueryError> {
    let keys = call.graph().property_key_names();
    let mut rows = Rows::new();
    for (labels, seen) in nodes_seen(call)?.into_iter().filter(|(labels, _)| wanted(labels)) {
        let of: String = labels.iter().map(|label| format!(":`{label}`")).collect();
        observed(&seen, &[of.into(), Value::list(labels)], &keys, &mut rows);
    }
    Ok(rows)
}

/// True for a type, with the labels at the beginning and the end, that is asked for.
type WantedType<'w> = &'w dyn Fn(&str, &[String], &[String]) -> bool;

/// The rows of `apoc.meta.relTypeProperties`, for the types and labels of ends that are wanted.
pub(super) fn relationship_observations(
    call: &CallContext<'_>,
    wanted: WantedType<'_>,
) -> Result<Rows, QueryError> {
    let (labels, keys) = (call.graph().label_names(), call.graph().property_key_names());
    let mut rows = Rows::new();
    let mut properties = Lists::default();
    for (number, name) in call.graph().edge_type_names().iter().enumerate() {
        let mut seen: BTreeMap<[Vec<String>; 2], Seen> = BTreeMap::new();
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            call.graph().all_edge_properties(edges, &mut properties)?;
            let [starts, ends] = labels_at_ends(call, edges)?;
            for ((start, end), properties) in starts.iter().zip(ends.iter()).zip(properties.iter())
            {
                let of = [start, end].map(|of| sorted_names(of, &labels));
                seen.entry(of).or_default().add(properties);
            }
            Ok(())
        })?;
        for ([start, end], seen) in seen {
            if wanted(name, &start, &end) {
                let first = [format!(":`{name}`").into(), Value::list(start), Value::list(end)];
                observed(&seen, &first, &keys, &mut rows);
            }
        }
    }
    Ok(rows)
}

/// The name of a value's type, as Neo4j's procedures spell it.
fn type_name(value: &Value) -> String {
    let simple = |value: &Value| match value {
        Value::Bool(_) => "Boolean",
        Value::Int(_) => "Long",
        Value::Float(_) => "Double",
        Value::String(_) => "String",
        Value::Bytes(_) => "ByteArray",
        Value::Date(_) => "Date",
        Value::LocalTime(_) => "LocalTime",
        Value::Time(_) => "Time",
        Value::LocalDateTime(_) => "LocalDateTime",
        Value::DateTime(_) => "DateTime",
        Value::Duration(_) => "Duration",
        Value::Point(_) => "Point",
        Value::Vector(_) => "Vector",
        Value::Map(_) => "Map",
        _ => "List",
    };
    let Value::List(list) = value else { return simple(value).into() };
    match list.first().map(simple) {
        Some(first) if list.iter().all(|v| simple(v) == first) => format!("{first}Array"),
        _ => "List".into(),
    }
}

/// Calls `f` with every vertex, some at a time.
pub(super) fn each_vertices(
    call: &CallContext<'_>,
    mut f: impl FnMut(&[VertexId]) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let partitions = call.graph().partitions();
    let mut found = Vec::new();
    for ids in partitions.all(STEP) {
        call.check()?;
        found.clear();
        call.graph().scan(None, ids.start, ids.end, &mut found)?;
        f(&found)?;
    }
    Ok(())
}

/// Calls `f` with every edge of a type, some at a time.
pub(super) fn each_edges(
    call: &CallContext<'_>,
    ty: EdgeTypeId,
    mut f: impl FnMut(&[EdgeId]) -> Result<(), QueryError>,
) -> Result<(), QueryError> {
    let (mut found, mut edges) = (Expansion::default(), Vec::new());
    each_vertices(call, |sources| {
        edges.clear();
        call.graph().expand(sources, ty, Direction::Out, &mut found)?;
        for (at, src) in sources.iter().enumerate() {
            for place in found.offsets[at] as usize..found.offsets[at + 1] as usize {
                let (dst, ordinal) = (found.neighbours[place], found.ordinals[place]);
                edges.push(EdgeId { ty, src: *src, dst, ordinal });
            }
        }
        edges.chunks(STEP as usize).try_for_each(&mut f)
    })
}

/// The labels at both ends of each edge.
pub(super) fn labels_at_ends(
    call: &CallContext<'_>,
    edges: &[EdgeId],
) -> Result<[Lists<LabelId>; 2], QueryError> {
    let mut labels = <[Lists<LabelId>; 2]>::default();
    for (labels, dir) in labels.iter_mut().zip([Direction::In, Direction::Out]) {
        let ends: Vec<VertexId> = edges.iter().map(|edge| edge.end(dir)).collect();
        call.graph().labels(&ends, labels)?;
    }
    Ok(labels)
}

/// Names of labels, sorted.
fn sorted_names(labels: &[LabelId], names: &[String]) -> Vec<String> {
    let mut labels: Vec<String> = names_of(labels, names).cloned().collect();
    labels.sort_unstable();
    labels
}

/// The properties of the nodes of each set of labels.
fn nodes_seen(call: &CallContext<'_>) -> Result<BTreeMap<Vec<String>, Seen>, QueryError> {
    let names = call.graph().label_names();
    let mut seen: BTreeMap<Vec<String>, Seen> = BTreeMap::new();
    let (mut labels, mut properties) = (Lists::default(), Lists::default());
    each_vertices(call, |vertices| {
        call.graph().labels(vertices, &mut labels)?;
        call.graph().all_vertex_properties(vertices, &mut properties)?;
        for (labels, properties) in labels.iter().zip(properties.iter()) {
            seen.entry(sorted_names(labels, &names)).or_default().add(properties);
        }
        Ok(())
    })?;
    Ok(seen)
}

fn node_types(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let keys = call.graph().property_key_names();
    let mut rows = Rows::new();
    for (labels, seen) in nodes_seen(call)? {
        let of: String = labels.iter().map(|label| format!(":`{label}`")).collect();
        seen.rows(&[of.into(), Value::list(labels)], &keys, &mut rows);
    }
    Ok(rows)
}

fn relationship_types(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let (names, keys) = (call.graph().edge_type_names(), call.graph().property_key_names());
    let mut rows = Rows::new();
    let mut properties = Lists::default();
    for (number, name) in names.iter().enumerate() {
        let mut seen = Seen::default();
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            call.graph().all_edge_properties(edges, &mut properties)?;
            properties.iter().for_each(|properties| seen.add(properties));
            Ok(())
        })?;
        if seen.objects > 0 {
            seen.rows(&[format!(":`{name}`").into()], &keys, &mut rows);
        }
    }
    Ok(rows)
}

fn visualization(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let (labels, types) = (call.graph().label_names(), call.graph().edge_type_names());
    let mut used: BTreeSet<String> = BTreeSet::new();
    let mut found = Lists::default();
    each_vertices(call, |vertices| {
        call.graph().labels(vertices, &mut found)?;
        used.extend(found.iter().flat_map(|found| sorted_names(found, &labels)));
        Ok(())
    })?;
    let mut connected: BTreeSet<(String, String, String)> = BTreeSet::new();
    for (number, ty) in types.iter().enumerate() {
        each_edges(call, EdgeTypeId::from_raw(number as u16), |edges| {
            let [starts, ends] = labels_at_ends(call, edges)?;
            for (from, to) in starts.iter().zip(ends.iter()) {
                for from in sorted_names(from, &labels) {
                    for to in sorted_names(to, &labels) {
                        connected.insert((from.clone(), ty.clone(), to));
                    }
                }
            }
            Ok(())
        })?;
    }
    let nodes = used.into_iter().map(|name| Value::map([("name", name)]));
    let relationship = |(from, ty, to): (String, String, String)| {
        Value::map([("type", ty), ("from", from), ("to", to)])
    };
    let relationships = connected.into_iter().map(relationship);
    Ok(vec![vec![Value::list(nodes), Value::list(relationships)]])
}
