//! Relationships of a graph with a name: those of the database, and those that it holds.

use std::sync::Arc;
use std::time::Instant;

use telar_algo::control::Control;
use telar_graph::{Value, ValueMap};
use telar_query::CallContext;
use telar_query::procedure::{Field, Mode, known};

use super::{Adding, Catalog, configuration, settings, text};
use crate::algorithms::config::{texts, wrong};
use crate::algorithms::function::Called;
use crate::algorithms::output::{Data, OutputRows, count};
use crate::algorithms::projection::{Source, choose};
use crate::algorithms::selection::Selection;

/// Relationships that are written between two looks whether the statement is to end.
const BATCH: usize = 4096;

/// Bytes of a row while it is made.
const ROW: usize = 2 * size_of::<u32>() + 3 * size_of::<Value>();

pub(super) fn add(adding: &mut Adding<'_>) {
    let types = || vec![Field::new("relationshipTypes", "ANY").or("*"), configuration()];
    let [from, to] = [("sourceNodeId", "INTEGER"), ("targetNodeId", "INTEGER")];
    let ty = ("relationshipType", "STRING");
    adding.add(
        "gds.graph.relationships.stream",
        (&[("graphName", "STRING")], types()),
        &[from, to, ty],
        "Relationships of a graph.",
        |catalog, call, arguments| {
            stream(catalog, call, "gds.graph.relationships.stream", arguments, None)
        },
    );
    adding.add(
        "gds.graph.relationshipProperty.stream",
        (&[("graphName", "STRING"), ("relationshipProperty", "STRING")], types()),
        &[from, to, ty, ("propertyValue", "FLOAT")],
        "Relationships of a graph with the value of a property.",
        |catalog, call, arguments| {
            let property = Arc::from(text(&arguments[1]));
            let of = "gds.graph.relationshipProperty.stream";
            stream(catalog, call, of, &[&arguments[..1], &arguments[2..]].concat(), Some(property))
        },
    );
    let arguments = [("graphName", "STRING"), ("relationshipType", "STRING")];
    let more = vec![Field::new("relationshipProperty", "STRING").or(Value::Null), configuration()];
    let columns = [
        ("writeMillis", "INTEGER"),
        ("graphName", "STRING"),
        ty,
        ("relationshipProperty", "STRING"),
        ("relationshipsWritten", "INTEGER"),
        ("propertiesWritten", "INTEGER"),
    ];
    adding.add_as(
        Mode::Write,
        ("gds.graph.relationship.write", &arguments, more, &columns),
        "Writes relationships that a graph holds into the database.",
        write,
    );
    adding.add(
        "gds.graph.relationships.drop",
        (&arguments, Vec::new()),
        &[
            ("graphName", "STRING"),
            ty,
            ("deletedRelationships", "INTEGER"),
            ("deletedProperties", "MAP"),
        ],
        "Forgets relationships that a graph holds.",
        forget,
    );
}

/// Rows of all relationships of some types, with a property as a weight or without.
fn stream(
    catalog: &Catalog,
    call: &mut CallContext<'_>,
    of: &str,
    arguments: &[Value],
    property: Option<Arc<str>>,
) -> Called {
    settings(of, arguments.get(2), &[])?;
    let graph = catalog.find(text(&arguments[0]))?;
    let wanted = texts(of, "relationshipTypes", &arguments[1])?;
    let wanted = match wanted.contains(&"*") {
        false => wanted.into_iter().map(Arc::from).collect(),
        true => all_types(&graph.selection, call),
    };
    let mut nodes: Arc<[_]> = Arc::new([]);
    let [mut sources, mut targets] = [Vec::new(), Vec::new()];
    let (mut types, mut values) = (Vec::new(), Vec::new());
    for ty in wanted {
        let mut selection = Selection::clone(&graph.selection);
        selection.narrow_types(vec![&*ty], of)?;
        if let Some(property) = &property {
            selection.weigh_by(property);
        }
        // Where there is none, there is no number.
        selection.default_weight = Some(f64::NAN);
        let projection = {
            let check = || call.check();
            let source = Source::of_call(call, &check);
            let chosen = choose(&source, &selection, false)?;
            let rows = chosen.size.relationships.saturating_add(sources.len() as u64) as usize;
            call.room(rows.saturating_mul(ROW), of)?;
            let limits = call.limits().clone();
            let stop = move || limits.check().is_err();
            chosen.project(&source, &Control::default().stopped_by(&stop))?
        };
        for (from, to, value) in projection.graph.all_edges() {
            sources.push(from);
            targets.push(to);
            types.push(Value::String(Arc::clone(&ty)));
            values.push(value);
        }
        nodes = projection.nodes;
    }
    let mut columns = vec![Data::Vertices(sources), Data::Vertices(targets), Data::Values(types)];
    if property.is_some() {
        columns.push(Data::FloatsOrNull(values));
    }
    Ok(Box::new(OutputRows::of(nodes, columns)))
}

/// Names of all types of a graph.
fn all_types(selection: &Selection, call: &CallContext<'_>) -> Vec<Arc<str>> {
    let shown = selection.shown_types().into_iter().map(|(name, _)| name);
    let stored = || call.graph().edge_type_names().into_iter().filter(|name| !name.is_empty());
    let names = shown.flat_map(|name| match &*name {
        "*" => stored().map(Arc::from).collect(),
        _ => vec![name],
    });
    names.collect()
}

/// `gds.graph.relationship.write(graph, type, property)`.
fn write(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    const OF: &str = "gds.graph.relationship.write";
    settings(OF, arguments.get(3), &[])?;
    let begun = Instant::now();
    let (name, ty) = (text(&arguments[0]), text(&arguments[1]));
    let graph = catalog.find(name)?;
    let Some(held) = graph.selection.held.of_type(ty) else {
        return Err(wrong(format!("{OF}: the graph {name} holds no relationships of type {ty}")));
    };
    let property = Some(text(&arguments[2])).filter(|property| !property.is_empty());
    let values = match property {
        None => None,
        Some(property) => Some((
            property,
            held.values(property).ok_or_else(|| {
                wrong(format!("{OF}: relationships of type {ty} of {name} have no {property}"))
            })?,
        )),
    };
    let total = held.ends.len() as u64;
    let (mut written, mut properties) = (0, 0);
    let mut exist = Vec::with_capacity(2 * BATCH);
    for (batch, ends) in held.ends.chunks(BATCH).enumerate() {
        call.check()?;
        call.progress(written, total);
        exist.clear();
        let nodes: Vec<_> = ends.iter().flat_map(|(from, to)| [*from, *to]).collect();
        call.graph().vertices_exist(&nodes, &mut exist)?;
        for (at, (from, to)) in ends.iter().enumerate() {
            // Deleted since.
            if !(exist[2 * at] && exist[2 * at + 1]) {
                continue;
            }
            let mut map = ValueMap::new();
            if let Some((name, values)) = values
                && !values[batch * BATCH + at].is_nan()
            {
                map.insert(name.into(), Value::Float(values[batch * BATCH + at]));
                properties += 1;
            }
            call.changes()?.create_relationship(ty, *from, *to, map)?;
            written += 1;
        }
    }
    let row = vec![
        count(begun.elapsed().as_millis() as u64),
        arguments[0].clone(),
        arguments[1].clone(),
        arguments[2].clone(),
        count(written),
        count(properties),
    ];
    Ok(known(vec![row]))
}

/// `gds.graph.relationships.drop(graph, type)`.
fn forget(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let (name, ty) = (text(&arguments[0]), text(&arguments[1]));
    let graph = catalog.find(name)?;
    let Some(held) = graph.selection.held.of_type(ty) else {
        return Err(wrong(format!("the graph {name} holds no relationships of type {ty}")));
    };
    catalog.change(name, &graph, call, |selection| {
        selection.held.types.retain(|of| *of.name != *ty);
        Ok(())
    })?;
    let count_of = count(held.ends.len() as u64);
    let properties = held.properties.iter().map(|(name, _)| (Arc::clone(name), count_of.clone()));
    let properties = Value::Map(Arc::new(properties.collect()));
    Ok(known(vec![vec![arguments[0].clone(), arguments[1].clone(), count_of, properties]]))
}
