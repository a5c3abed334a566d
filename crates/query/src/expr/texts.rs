//! Comparisons of a property of nodes with one text.
//!
//! PERF: telar bench snb --only complex-12: names of classes. One by one, each text is shared with
//! its column and let go again.

use telar_graph::Value;

use super::{Binary, Expr};
use crate::batch::{Batch, Column};
use crate::exec::Exec;
use crate::query_error::QueryError;

/// What `property op text` says of each row, if it is such a comparison and all the nodes have
/// texts or nothing there; `None` if it is something else.
pub(super) fn compared(
    op: Binary,
    left: &Expr,
    right: &Expr,
    batch: &Batch,
    cx: &Exec<'_>,
) -> Result<Option<Column>, QueryError> {
    let holds: fn(&str, &str) -> bool = match op {
        Binary::Equal => |a, b| a == b,
        Binary::NotEqual => |a, b| a != b,
        Binary::StartsWith => |a, b| a.starts_with(b),
        Binary::EndsWith => |a, b| a.ends_with(b),
        Binary::Contains => |a, b| a.contains(b),
        _ => return Ok(None),
    };
    let (Expr::Property(object, key), Expr::Const(_) | Expr::Param(_)) = (left, right) else {
        return Ok(None);
    };
    let Expr::Slot(slot) = **object else { return Ok(None) };
    if !batch.has(slot) {
        return Ok(None);
    }
    let Column::Vertices(vertices) = &**batch.column(slot) else { return Ok(None) };
    let text = match right {
        Expr::Const(value) => value.clone(),
        Expr::Param(name) => cx.parameter(name)?,
        _ => return Ok(None),
    };
    let Value::String(text) = text else { return Ok(None) };
    cx.check_vertices(vertices)?;
    let graph = cx.graph();
    let Some(key) = graph.find_property_key(key) else { return Ok(None) };
    let mut results = Vec::with_capacity(vertices.len());
    let mut each = |found: Option<&str>| results.push(found.map(|found| holds(found, &text)));
    if !graph.vertex_texts(vertices, key, &mut each)? {
        return Ok(None);
    }
    Ok(Some(Column::of_truths(results)))
}
