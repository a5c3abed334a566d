//! `CREATE`: nodes and relationships for each row.

use std::sync::Arc;

use telar_graph::{EdgeId, LabelId, PropertyKeyId, Value, ValueMap, VertexId};

use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column};
use crate::expr::eval::eval;
use crate::plan::{self, CreateStep, LabelName};
use crate::query_error::{ErrorKind, QueryError};

/// The names that a static or dynamic label stands for in a row.
pub(crate) fn label_names(
    labels: &[LabelName],
    rows: &Batch,
    row: usize,
    cx: &mut Exec<'_>,
) -> Result<Vec<Arc<str>>, QueryError> {
    let mut names = Vec::new();
    for label in labels {
        match label {
            LabelName::Static(name) => names.push(name.clone()),
            LabelName::Dynamic(expr) => match eval(expr, rows, cx)?.get(row) {
                Value::String(name) => names.push(name),
                Value::List(list) => {
                    for value in list.iter() {
                        match value {
                            Value::String(name) => names.push(name.clone()),
                            other => {
                                return Err(QueryError::wrong_type("a string", other, "a label"));
                            }
                        }
                    }
                }
                other => return Err(QueryError::wrong_type("a string", &other, "a label")),
            },
        }
    }
    Ok(names)
}

/// The entries of a property map as keys and values that can be stored; nulls are left out.
pub(crate) fn properties(
    map: &Value,
    cx: &mut Exec<'_>,
) -> Result<Vec<(PropertyKeyId, Value)>, QueryError> {
    let entries: ValueMap = match map {
        Value::Null => ValueMap::new(),
        Value::Map(entries) => (**entries).clone(),
        Value::Vertex(_) | Value::Edge(_) => crate::expr::access::properties_of(map, cx)?,
        other => return Err(QueryError::wrong_type("a map", other, "properties")),
    };
    let mut found = Vec::new();
    for (key, value) in entries {
        if !value.is_null() {
            check_storable(&value)?;
            found.push((cx.update()?.property_key(&key)?, value));
        }
    }
    Ok(found)
}

/// Refuses what no property may hold: maps, nodes, relationships, paths, and lists of those or of
/// lists or nulls.
pub(crate) fn check_storable(value: &Value) -> Result<(), QueryError> {
    let refuse = |what: &str| {
        Err(QueryError::runtime(
            ErrorKind::Type,
            "InvalidPropertyType",
            format!("property values can only be of simple types or lists of them, found {what}"),
        ))
    };
    match value {
        Value::Map(_) | Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => {
            refuse(value.type_name())
        }
        Value::List(list) => {
            for element in list.iter() {
                match element {
                    Value::List(_) | Value::Null => {
                        return refuse(&format!("a LIST that holds {}", element.type_name()));
                    }
                    _ => check_storable(element)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Runs the steps for every row and adds their columns.
pub(crate) fn run_steps(
    steps: &[CreateStep],
    rows: &mut Batch,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    for step in steps {
        cx.check()?;
        match step {
            CreateStep::Extend(slot, expr) => {
                let column = eval(expr, rows, cx)?;
                rows.set(*slot, column);
            }
            CreateStep::Node { slot, labels, properties: map } => {
                let maps = map.as_ref().map(|map| eval(map, rows, cx)).transpose()?;
                let mut made: Vec<VertexId> = Vec::with_capacity(rows.rows());
                for row in 0..rows.rows() {
                    cx.check()?;
                    let map = maps.as_ref().map_or(Value::Null, |maps| maps.get(row));
                    let found = properties(&map, cx)?;
                    let names = label_names(labels, rows, row, cx)?;
                    made.push(create_node(&names, found, cx)?);
                }
                rows.set(*slot, Column::Vertices(made));
            }
            CreateStep::Relationship { slot, ty, from, to, properties: map } => {
                let maps = map.as_ref().map(|map| eval(map, rows, cx)).transpose()?;
                let mut made: Vec<EdgeId> = Vec::with_capacity(rows.rows());
                for row in 0..rows.rows() {
                    cx.check()?;
                    let map = maps.as_ref().map_or(Value::Null, |maps| maps.get(row));
                    let found = properties(&map, cx)?;
                    let names = label_names(std::slice::from_ref(ty), rows, row, cx)?;
                    let ends = (rows.column(*from).vertex(row), rows.column(*to).vertex(row));
                    made.push(create_relationship(&names, ends, &found, cx)?);
                }
                rows.set(*slot, Column::Edges(made));
            }
        }
    }
    Ok(())
}

fn create_node(
    names: &[Arc<str>],
    found: Vec<(PropertyKeyId, Value)>,
    cx: &mut Exec<'_>,
) -> Result<VertexId, QueryError> {
    let graph = cx.update()?;
    let mut labels: Vec<LabelId> = Vec::new();
    for name in names {
        let label = graph.label(name)?;
        if !labels.contains(&label) {
            labels.push(label);
        }
    }
    let vertex = graph.create_vertex(&labels)?;
    let set = found.len();
    for (key, value) in found {
        graph.set_vertex_property(vertex, key, value)?;
    }
    cx.counters.nodes_created += 1;
    cx.counters.labels_added += labels.len() as u64;
    cx.counters.properties_set += set as u64;
    Ok(vertex)
}

fn create_relationship(
    names: &[Arc<str>],
    ends: (Option<VertexId>, Option<VertexId>),
    found: &[(PropertyKeyId, Value)],
    cx: &mut Exec<'_>,
) -> Result<EdgeId, QueryError> {
    let (Some(from), Some(to)) = ends else {
        return Err(QueryError::runtime(
            ErrorKind::Semantic,
            "InvalidArgumentType",
            "a relationship cannot be created: one of its nodes is null",
        ));
    };
    let [name] = names else {
        return Err(QueryError::runtime(
            ErrorKind::Semantic,
            "NoSingleRelationshipType",
            "a relationship is created with exactly one type",
        ));
    };
    cx.check_vertex(from)?;
    cx.check_vertex(to)?;
    let graph = cx.update()?;
    let ty = graph.edge_type(name)?;
    let edge = graph.create_edge(ty, from, to, found)?;
    cx.counters.relationships_created += 1;
    cx.counters.properties_set += found.len() as u64;
    Ok(edge)
}

pub(crate) struct Create<'p> {
    input: Source<'p>,
    plan: &'p plan::Create,
}

impl<'p> Create<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Create) -> Self {
        Self { input, plan }
    }
}

impl Operator for Create<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(mut rows) = self.input.next(cx)? else { return Ok(None) };
        run_steps(&self.plan.steps, &mut rows, cx)?;
        Ok(Some(rows))
    }
}
