//! `SET` and `REMOVE`: row by row and item by item, so that each sees what those before it did.
//!
//! Items that follow each other and set properties of one variable are one change, as in Neo4j: all
//! values are computed before the first is written. What the query has deleted has no properties
//! any more: to set or remove one does nothing.

use std::sync::Arc;

use telar_graph::{Value, ValueMap, VertexId};

use super::create::{NameColumns, storable};
use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::exec::eval::access::{Key, properties_left, property_of};
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::plan::SetItem;
use crate::query_error::QueryError;

/// Sets one property of a node or relationship; null removes it. Other objects but null are errors.
///
/// A value counts as set even if it was the same before; a removal counts if there was a value.
pub(crate) fn set_property(
    object: &Value,
    key: &str,
    value: Value,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let value = storable(value)?;
    if cx.is_deleted(object) {
        return Ok(());
    }
    // What is not there needs no key and no write to be removed.
    if value.is_null()
        && matches!(object, Value::Vertex(_) | Value::Edge(_))
        && property_of(object, Key::Computed(key), cx)?.is_null()
    {
        return Ok(());
    }
    match object {
        Value::Vertex(vertex) => {
            let graph = cx.update()?;
            let key = graph.property_key(key)?;
            graph.set_vertex_property(*vertex, key, value)?;
        }
        Value::Edge(edge) => {
            let graph = cx.update()?;
            let key = graph.property_key(key)?;
            graph.set_edge_property(**edge, key, value)?;
        }
        Value::Null => return Ok(()),
        other => return Err(QueryError::wrong_type("a node or relationship", other, "SET")),
    }
    cx.counters.properties_set += 1;
    Ok(())
}

/// Adds a label to a node; false if the node had it.
pub(crate) fn add_label(
    vertex: VertexId,
    name: &str,
    cx: &mut Exec<'_>,
) -> Result<bool, QueryError> {
    let graph = cx.update()?;
    let label = graph.label(name)?;
    let added = graph.add_label(vertex, label)?;
    cx.counters.labels_added += u64::from(added);
    Ok(added)
}

/// Removes a label from a node; false if the node did not have it.
pub(crate) fn remove_label(
    vertex: VertexId,
    name: &str,
    cx: &mut Exec<'_>,
) -> Result<bool, QueryError> {
    let Some(label) = cx.graph().find_label(name) else { return Ok(false) };
    let removed = cx.update()?.remove_label(vertex, label)?;
    cx.counters.labels_removed += u64::from(removed);
    Ok(removed)
}

fn set_properties(
    object: &Value,
    value: &Value,
    replace: bool,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let new: ValueMap = match (object, value) {
        (Value::Null, _) | (_, Value::Null) if object.is_null() || !replace => return Ok(()),
        (_, Value::Null) => ValueMap::new(),
        (_, Value::Map(entries)) => (**entries).clone(),
        (_, Value::Vertex(_) | Value::Edge(_)) => properties_left(value, cx)?,
        (_, other) => return Err(QueryError::wrong_type("a map", other, "SET")),
    };
    if replace {
        for key in properties_left(object, cx)?.into_keys().filter(|key| !new.contains_key(key)) {
            set_property(object, &key, Value::Null, cx)?;
        }
    }
    for (key, value) in new {
        set_counted(object, &key, value, false, cx)?;
    }
    Ok(())
}

/// Sets one of several properties, and counts as Neo4j does: a null, too, though there was no
/// value, if the database knows the key, or the statement is making it known.
fn set_counted(
    object: &Value,
    key: &str,
    value: Value,
    is_new: bool,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let is_known = is_new || cx.graph().find_property_key(key).is_some();
    let counts = value.is_null() && is_known && !cx.is_deleted(object);
    let before = cx.counters.properties_set;
    set_property(object, key, value, cx)?;
    if counts {
        cx.counters.properties_set = before + 1;
    }
    Ok(())
}

/// How many items from the first on set a property, whose name is known, of the same variable.
fn properties_of_one(items: &[SetItem]) -> usize {
    let variable = |item: &SetItem| match item {
        SetItem::Property { object: Expr::Slot(slot), key: Expr::Const(_), .. } => Some(*slot),
        _ => None,
    };
    let first = items.first().and_then(variable);
    items.iter().take_while(|item| first.is_some() && variable(item) == first).count()
}

/// What an item that sets one property sets for the row, if its object is not null.
fn property(
    item: &SetItem,
    row: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Option<(Value, Arc<str>, Value)>, QueryError> {
    let (object, key, value) = match item {
        SetItem::Property { object, key, value } => (object, key, value),
        SetItem::RemoveProperty { object, key } => (object, key, &Expr::NULL),
        _ => return Ok(None),
    };
    let object = eval(object, row, cx)?.get(0);
    let key = eval(key, row, cx)?.get(0);
    let value = eval(value, row, cx)?.get(0);
    match key {
        _ if object.is_null() => Ok(None),
        Value::String(key) => Ok(Some((object, key, value))),
        other => Err(QueryError::wrong_type("a string", &other, "a property key")),
    }
}

/// Sets properties of one object, all at once: of several values for one key the last is what is
/// set, and counts once.
fn set_together(
    values: Vec<(Value, Arc<str>, Value)>,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    for (at, (object, key, value)) in values.iter().enumerate() {
        if values[at + 1..].iter().any(|(_, later, _)| later == key) {
            // What cannot be stored is refused all the same.
            storable(value.clone())?;
        } else {
            let mut earlier = values[..at].iter().filter(|(_, earlier, _)| earlier == key);
            let is_new = earlier.any(|(.., value)| !value.is_null());
            set_counted(object, key, value.clone(), is_new, cx)?;
        }
    }
    Ok(())
}

/// Applies the items to one row.
pub(crate) fn apply(
    items: &[SetItem],
    rows: &Batch,
    row: usize,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let single = (rows.rows() > 1).then(|| rows.slice(row, row + 1));
    let rows = single.as_ref().unwrap_or(rows);
    let mut rest = items;
    while let Some((item, behind)) = rest.split_first() {
        let together = properties_of_one(rest);
        if together > 1 {
            let (change, behind) = rest.split_at(together);
            let mut values = Vec::with_capacity(together);
            for item in change {
                values.push(property(item, rows, cx)?);
            }
            set_together(values.into_iter().flatten().collect(), cx)?;
            rest = behind;
            continue;
        }
        rest = behind;
        match item {
            SetItem::Property { .. } | SetItem::RemoveProperty { .. } => {
                if let Some((object, key, value)) = property(item, rows, cx)? {
                    set_property(&object, &key, value, cx)?;
                }
            }
            SetItem::Properties { object, value, replace } => {
                let object = eval(object, rows, cx)?.get(0);
                let value = eval(value, rows, cx)?.get(0);
                set_properties(&object, &value, *replace, cx)?;
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                let names = NameColumns::of(labels, rows, cx)?.get(0)?;
                let vertex = match eval(node, rows, cx)?.get(0) {
                    Value::Vertex(vertex) => vertex,
                    Value::Null => continue,
                    other => return Err(QueryError::wrong_type("a node", &other, "SET")),
                };
                cx.check_vertex(vertex)?;
                for name in names {
                    match item {
                        SetItem::AddLabels { .. } => add_label(vertex, &name, cx)?,
                        _ => remove_label(vertex, &name, cx)?,
                    };
                }
            }
        }
    }
    Ok(())
}

pub(crate) struct Set<'p> {
    input: Source<'p>,
    items: &'p [SetItem],
}

impl<'p> Set<'p> {
    pub(crate) fn new(input: Source<'p>, items: &'p [SetItem]) -> Self {
        Self { input, items }
    }
}

impl Operator for Set<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let Some(rows) = self.input.next(cx)? else { return Ok(None) };
        for row in 0..rows.rows() {
            cx.check()?;
            apply(self.items, &rows, row, cx)?;
        }
        Ok(Some(rows))
    }
}
