//! Columns of the catalogue that describe a graph.

use std::sync::Arc;

use telar_graph::{Value, ValueMap};
use telar_query::procedure::moment;
use telar_query::{CallContext, QueryError};

use super::{Named, map};
use crate::algorithms::figures;
use crate::algorithms::output::count;
use crate::algorithms::projection::{Chosen, Source, choose};
use crate::algorithms::selection::{Orientation, Selection};

/// Columns that describe a graph.
pub(super) const GRAPH: [(&str, &str); 16] = [
    ("graphName", "STRING"),
    ("nodeCount", "INTEGER"),
    ("relationshipCount", "INTEGER"),
    ("nodeProjection", "MAP"),
    ("relationshipProjection", "MAP"),
    ("configuration", "MAP"),
    ("database", "STRING"),
    ("databaseLocation", "STRING"),
    ("memoryUsage", "STRING"),
    ("sizeInBytes", "INTEGER"),
    ("density", "FLOAT"),
    ("degreeDistribution", "MAP"),
    ("schema", "MAP"),
    ("schemaWithOrientation", "MAP"),
    ("creationTime", "ZONED DATETIME"),
    ("modificationTime", "ZONED DATETIME"),
];

/// A property of relationships, and its value where there is none.
type OfType = (Arc<str>, Option<f64>);

/// Properties that relationships of a type have in the graph.
fn properties_of(selection: &Selection, ty: &str) -> Vec<OfType> {
    match selection.held.of_type(ty) {
        Some(held) => held.properties.iter().map(|(name, _)| (Arc::clone(name), None)).collect(),
        None => {
            let all = selection.properties.iter();
            all.map(|weight| (Arc::clone(&weight.name), weight.default)).collect()
        }
    }
}

/// Row of `gds.graph.project`: the first columns of [`GRAPH`].
pub(super) fn projected(
    name: &str,
    selection: &Selection,
    call: &CallContext<'_>,
) -> Result<(Vec<Value>, Chosen), QueryError> {
    let check = || call.check();
    let chosen = choose(&Source::of_call(call, &check), selection, false)?;
    let of_label = |label: Arc<str>| {
        let settings = map([("label", Value::String(Arc::clone(&label)))]);
        (label, settings)
    };
    let nodes: ValueMap = selection.shown_labels().into_iter().map(of_label).collect();
    let of_type = |(ty, orientation): (Arc<str>, Option<Orientation>)| {
        let orientation = orientation.or(selection.orientation).unwrap_or(Orientation::Natural);
        let mut settings = ValueMap::from([
            ("type".into(), Value::String(Arc::clone(&ty))),
            ("orientation".into(), orientation.name().into()),
        ]);
        let properties = properties_of(selection, &ty);
        if !properties.is_empty() {
            let names = properties.into_iter().map(|(name, _)| Value::String(name));
            settings.insert("properties".into(), Value::list(names));
        }
        (ty, Value::Map(Arc::new(settings)))
    };
    let relationships: ValueMap = selection.shown_types().into_iter().map(of_type).collect();
    let row = vec![
        name.into(),
        count(chosen.size.nodes),
        count(chosen.size.relationships),
        Value::Map(Arc::new(nodes)),
        Value::Map(Arc::new(relationships)),
    ];
    Ok((row, chosen))
}

/// A row of [`GRAPH`].
pub(super) fn described(
    name: &str,
    named: &Named,
    call: &CallContext<'_>,
) -> Result<Vec<Value>, QueryError> {
    let selection = &*named.selection;
    let (mut row, chosen) = projected(name, selection, call)?;
    let (size, degrees) = (chosen.size, chosen.degrees(call)?);
    let pairs = size.nodes as f64 * (size.nodes as f64 - 1.0);
    let density = if pairs > 0.0 { degrees.iter().sum::<f64>() / pairs } else { 0.0 };
    let held = selection.held.bytes() as u64;
    row.extend([
        map([("live", (!selection.held.alone).into())]),
        Value::String(Arc::clone(&call.procedures().database)),
        "local".into(),
        // The database's own part is a name and takes nothing.
        Value::String(figures::readable(held).into()),
        count(held),
        Value::Float(density),
        Value::Map(Arc::new(figures::spread(degrees))),
        schema(selection, false),
        schema(selection, true),
        moment(named.made),
        moment(named.changed),
    ]);
    Ok(row)
}

/// Labels and types with their properties.
fn schema(selection: &Selection, with_orientation: bool) -> Value {
    let values = selection.held.values.keys();
    let of_nodes: ValueMap = values
        .map(|name| (Arc::clone(name), "Any (DefaultValue(null), TRANSIENT)".into()))
        .collect();
    let of_nodes = Value::Map(Arc::new(of_nodes));
    let nodes = selection.shown_labels().into_iter().map(|label| (label, of_nodes.clone()));
    let of_property = |(name, default): OfType| {
        let default = default.map_or("NaN".to_owned(), |default| default.to_string());
        let text = format!("Float (DefaultValue({default}), PERSISTENT, Aggregation.NONE)");
        (name, text.into())
    };
    let of_type = |(ty, orientation): (Arc<str>, Option<Orientation>)| {
        let direction = match orientation.or(selection.orientation) {
            Some(Orientation::Undirected) => "UNDIRECTED",
            _ => "DIRECTED",
        };
        let properties = properties_of(selection, &ty).into_iter().map(of_property);
        let properties = Value::Map(Arc::new(properties.collect()));
        let schema = match with_orientation {
            true => map([("direction", direction.into()), ("properties", properties)]),
            false => properties,
        };
        (ty, schema)
    };
    let types = selection.shown_types().into_iter().map(of_type);
    let types = Value::Map(Arc::new(types.collect()));
    map([("nodes", Value::Map(Arc::new(nodes.collect()))), ("relationships", types)])
}
