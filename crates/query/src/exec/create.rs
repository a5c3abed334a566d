//! `CREATE`: nodes and relationships for each row.

use std::sync::Arc;

use telar_graph::{EdgeId, LabelId, PropertyKeyId, Value, ValueMap, VertexId};

use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column};
use crate::exec::eval::eval;
use crate::plan::{self, CreateStep, LabelName};
use crate::query_error::{ErrorKind, QueryError};

/// A static label, or the values of a dynamic one.
enum NameColumn<'p> {
    Static(&'p Arc<str>),
    Dynamic(Arc<Column>),
}

/// Names that labels stand for, row by row.
pub(crate) struct NameColumns<'p>(Vec<NameColumn<'p>>);

impl<'p> NameColumns<'p> {
    /// Those of a batch. *Cost*: one evaluation of each dynamic label.
    pub(crate) fn of(
        labels: &'p [LabelName],
        rows: &Batch,
        cx: &mut Exec<'_>,
    ) -> Result<Self, QueryError> {
        let column = |label: &'p LabelName| match label {
            LabelName::Static(name) => Ok(NameColumn::Static(name)),
            LabelName::Dynamic(expr) => Ok(NameColumn::Dynamic(eval(expr, rows, cx)?)),
        };
        labels.iter().map(column).collect::<Result<_, _>>().map(Self)
    }

    /// Those of a row.
    pub(crate) fn get(&self, row: usize) -> Result<Vec<Arc<str>>, QueryError> {
        let wrong = |value: &Value| Err(QueryError::wrong_type("a string", value, "a label"));
        let mut names = Vec::with_capacity(self.0.len());
        for column in &self.0 {
            let values = match column {
                NameColumn::Static(name) => {
                    names.push(Arc::clone(name));
                    continue;
                }
                NameColumn::Dynamic(values) => values,
            };
            match values.get(row) {
                Value::String(name) => names.push(name),
                Value::List(list) => {
                    for value in list.iter() {
                        match value {
                            Value::String(name) => names.push(name.clone()),
                            other => return wrong(other),
                        }
                    }
                }
                other => return wrong(&other),
            }
        }
        Ok(names)
    }
}

/// The entries of a property map as keys and values that can be stored; nulls are left out.
pub(crate) fn properties(
    map: &Value,
    cx: &mut Exec<'_>,
) -> Result<Vec<(PropertyKeyId, Value)>, QueryError> {
    let entries: ValueMap = match map {
        Value::Null => ValueMap::new(),
        Value::Map(entries) => (**entries).clone(),
        Value::Vertex(_) | Value::Edge(_) => crate::exec::eval::access::properties_of(map, cx)?,
        other => return Err(QueryError::wrong_type("a map", other, "properties")),
    };
    let mut found = Vec::new();
    for (key, value) in entries {
        if !value.is_null() {
            let value = storable(value)?;
            found.push((cx.update()?.property_key(&key)?, value));
        }
    }
    Ok(found)
}

/// The value as a property holds it. Maps, nodes, relationships and paths are refused, as are lists
/// of those, of lists or nulls, and of different types; integers in a list beside floats become
/// floats.
///
/// # Errors
/// `InvalidPropertyType`.
pub fn storable(value: Value) -> Result<Value, QueryError> {
    match &value {
        Value::Map(_) | Value::Vertex(_) | Value::Edge(_) | Value::Path(_) => {
            Err(not_storable(value.type_name()))
        }
        Value::List(list) => Ok(match floats(list)? {
            Some(floats) => floats,
            None => value,
        }),
        _ => Ok(value),
    }
}

fn not_storable(what: &str) -> QueryError {
    let message = format!(
        "property values can only be of simple types or lists of one of them, found {what}"
    );
    QueryError::runtime(ErrorKind::Type, "InvalidPropertyType", message)
}

/// The list with floats for its integers, if it has both; a list that cannot be stored is refused.
fn floats(list: &[Value]) -> Result<Option<Value>, QueryError> {
    let number = |value: &Value| matches!(value, Value::Int(_) | Value::Float(_));
    let Some(first) = list.first() else { return Ok(None) };
    let mut mixed = false;
    for element in list {
        let refuse = |what: String| Err(not_storable(&format!("a LIST that holds {what}")));
        let same = std::mem::discriminant(element) == std::mem::discriminant(first);
        match (first, element) {
            (
                _,
                Value::List(_)
                | Value::Vector(_)
                | Value::Null
                | Value::Map(_)
                | Value::Vertex(_)
                | Value::Edge(_)
                | Value::Path(_),
            ) => return refuse(element.type_name().to_owned()),
            (Value::Point(a), Value::Point(b)) if a.srid() != b.srid() => {
                return refuse("points of different coordinate systems".to_owned());
            }
            _ if same => {}
            (a, b) if number(a) && number(b) => mixed = true,
            (a, b) => return refuse(format!("both {} and {}", a.type_name(), b.type_name())),
        }
    }
    let float = |value: &Value| match value {
        Value::Int(number) => Value::Float(*number as f64),
        other => other.clone(),
    };
    Ok(mixed.then(|| Value::list(list.iter().map(float))))
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
                let names = NameColumns::of(labels, rows, cx)?;
                let mut made: Vec<VertexId> = Vec::with_capacity(rows.rows());
                for row in 0..rows.rows() {
                    cx.check()?;
                    let map = maps.as_ref().map_or(Value::Null, |maps| maps.get(row));
                    let found = properties(&map, cx)?;
                    made.push(create_node(&names.get(row)?, found, cx)?);
                }
                rows.set(*slot, Column::from(made));
            }
            CreateStep::Relationship { slot, ty, from, to, properties: map } => {
                let maps = map.as_ref().map(|map| eval(map, rows, cx)).transpose()?;
                let names = NameColumns::of(std::slice::from_ref(ty), rows, cx)?;
                let mut made: Vec<EdgeId> = Vec::with_capacity(rows.rows());
                for row in 0..rows.rows() {
                    cx.check()?;
                    let map = maps.as_ref().map_or(Value::Null, |maps| maps.get(row));
                    let found = properties(&map, cx)?;
                    let ends = (rows.column(*from).vertex(row), rows.column(*to).vertex(row));
                    made.push(create_relationship(&names.get(row)?, ends, &found, cx)?);
                }
                rows.set(*slot, Column::from(made));
            }
        }
    }
    Ok(())
}

pub(crate) fn create_node(
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

pub(crate) fn create_relationship(
    names: &[Arc<str>],
    ends: (Option<VertexId>, Option<VertexId>),
    found: &[(PropertyKeyId, Value)],
    cx: &mut Exec<'_>,
) -> Result<EdgeId, QueryError> {
    let (Some(from), Some(to)) = ends else {
        return Err(QueryError::runtime(
            ErrorKind::Argument,
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
