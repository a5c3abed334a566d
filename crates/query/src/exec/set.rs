//! `SET` and `REMOVE`: row by row and item by item, so that each sees what those before it did.

use telar_graph::{Value, ValueMap};

use super::create::{check_storable, label_names};
use super::{Exec, Operator, Source};
use crate::batch::Batch;
use crate::expr::access::properties_of;
use crate::expr::eval::eval;
use crate::plan::SetItem;
use crate::query_error::QueryError;

/// Sets one property of a node or relationship; null removes it. Other objects but null are errors.
fn set_property(
    object: &Value,
    key: &str,
    value: Value,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    check_storable(&value)?;
    // What never had the property needs no key for it to be removed.
    if value.is_null() && cx.graph().find_property_key(key).is_none() {
        return Ok(());
    }
    match object {
        Value::Vertex(vertex) => {
            cx.check_vertex(*vertex)?;
            let graph = cx.update()?;
            let key = graph.property_key(key)?;
            graph.set_vertex_property(*vertex, key, value)?;
        }
        Value::Edge(edge) => {
            cx.check_edge(**edge)?;
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
        (_, Value::Vertex(_) | Value::Edge(_)) => properties_of(value, cx)?,
        (_, other) => return Err(QueryError::wrong_type("a map", other, "SET")),
    };
    if replace {
        for key in properties_of(object, cx)?.into_keys().filter(|key| !new.contains_key(key)) {
            set_property(object, &key, Value::Null, cx)?;
        }
    }
    for (key, value) in new {
        set_property(object, &key, value, cx)?;
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
    for item in items {
        match item {
            SetItem::Property { object, key, value } => {
                let object = eval(object, rows, cx)?.get(0);
                let key = eval(key, rows, cx)?.get(0);
                let value = eval(value, rows, cx)?.get(0);
                match (&object, &key) {
                    (Value::Null, _) => {}
                    (_, Value::String(key)) => set_property(&object, key, value, cx)?,
                    (_, other) => {
                        return Err(QueryError::wrong_type("a string", other, "a property key"));
                    }
                }
            }
            SetItem::Properties { object, value, replace } => {
                let object = eval(object, rows, cx)?.get(0);
                let value = eval(value, rows, cx)?.get(0);
                set_properties(&object, &value, *replace, cx)?;
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                let names = label_names(labels, rows, 0, cx)?;
                let vertex = match eval(node, rows, cx)?.get(0) {
                    Value::Vertex(vertex) => vertex,
                    Value::Null => continue,
                    other => return Err(QueryError::wrong_type("a node", &other, "SET")),
                };
                cx.check_vertex(vertex)?;
                for name in names {
                    if matches!(item, SetItem::AddLabels { .. }) {
                        let graph = cx.update()?;
                        let label = graph.label(&name)?;
                        let added = graph.add_label(vertex, label)?;
                        cx.counters.labels_added += u64::from(added);
                    } else if let Some(label) = cx.graph().find_label(&name) {
                        let removed = cx.update()?.remove_label(vertex, label)?;
                        cx.counters.labels_removed += u64::from(removed);
                    }
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
