//! `gds.util.nodeProperty(graph, node, property, label)`: one value of one node of a graph.
//!
//! As an expression it is a subquery with a call of the procedure, which the binder of queries
//! makes of it.

use telar_graph::{LabelId, Lists, Value, VertexId};
use telar_query::procedure::{Field, known};
use telar_query::{CallContext, QueryError};

use super::node_properties::values;
use super::{Adding, Catalog, text};
use crate::algorithms::config::wrong;
use crate::algorithms::function::Called;
use crate::algorithms::selection::Selection;

const OF: &str = "gds.util.nodeProperty";

pub(super) fn add(adding: &mut Adding<'_>) {
    let arguments = [("graphName", "STRING"), ("nodeId", "ANY"), ("propertyKey", "STRING")];
    adding.add(
        OF,
        (&arguments, vec![Field::new("nodeLabel", "STRING").or("*")]),
        &[("value", "ANY")],
        "The value of a property of one node of a graph.",
        value,
    );
}

fn value(catalog: &Catalog, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
    let node = match &arguments[1] {
        Value::Vertex(node) => *node,
        Value::Int(number) if *number >= 0 => VertexId::from_raw(*number as u64),
        Value::Null => return Ok(known(vec![vec![Value::Null]])),
        other => {
            let found = telar_query::literal(other);
            return Err(wrong(format!("{OF} takes a node or its number, and {found} is none")));
        }
    };
    let graph = catalog.find(text(&arguments[0]))?;
    let mut selection = Selection::clone(&graph.selection);
    if !arguments[3].is_null() {
        selection.narrow_labels(vec![text(&arguments[3])], OF)?;
    }
    if !contains(&selection, node, call)? {
        let (node, graph) = (node.get(), text(&arguments[0]));
        return Err(wrong(format!("{OF}: node {node} is not in the graph {graph}")));
    }
    let column = values(text(&arguments[2]), (&selection, &[node]), call, OF)?;
    Ok(known(vec![vec![column.get(0)]]))
}

/// True if the node is in the database and among those chosen.
fn contains(
    selection: &Selection,
    node: VertexId,
    call: &CallContext<'_>,
) -> Result<bool, QueryError> {
    let graph = call.graph();
    let mut exists = Vec::with_capacity(1);
    graph.vertices_exist(&[node], &mut exists)?;
    if exists.first() != Some(&true) {
        return Ok(false);
    }
    let chosen = &selection.labels;
    if let Some(nodes) = &selection.held.nodes {
        let has = |ids: &Vec<VertexId>| ids.binary_search(&node).is_ok();
        let labelled = |label| nodes.labels.get(label).is_some_and(has);
        return Ok(if chosen.is_empty() { has(&nodes.ids) } else { chosen.iter().any(labelled) });
    }
    if chosen.is_empty() {
        return Ok(true);
    }
    let mut labels = Lists::<LabelId>::default();
    graph.labels(&[node], &mut labels)?;
    let mut chosen = chosen.iter().filter_map(|label| graph.find_label(label));
    Ok(chosen.any(|label| labels.items.contains(&label)))
}
