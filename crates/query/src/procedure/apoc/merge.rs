//! `apoc.merge.*`: `MERGE` with labels, types and keys that are values.

use std::collections::BTreeSet;

use telar_graph::{Value, ValueMap};

use super::args::{self, failed};
use super::{Entry, Mode};
use crate::expr::print::quoted;
use crate::procedure::{CallContext, Rows};
use crate::query_error::QueryError;
use crate::result::Counters;

const W: Mode = Mode::Write;
const NODE: &str = "labels LIST<STRING>; identProps MAP; onCreateProps MAP = {}; \
                    onMatchProps MAP = {}";
const RELATIONSHIP: &str = "startNode NODE; relType STRING; identProps MAP; onCreateProps MAP; \
                            endNode NODE; onMatchProps MAP = {}";

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.merge.node",
        W,
        NODE,
        "node NODE",
        "Finds the nodes with these labels and properties, or creates one.",
        |call, arguments| node(call, "apoc.merge.node", arguments),
    ),
    ("apoc.merge.node.eager", W, NODE, "node NODE", "As apoc.merge.node.", |call, arguments| {
        node(call, "apoc.merge.node.eager", arguments)
    }),
    (
        "apoc.merge.nodeWithStats",
        W,
        NODE,
        "stats MAP; node NODE",
        "As apoc.merge.node, with the number of changes.",
        |call, arguments| {
            with_stats(call, |call| node(call, "apoc.merge.nodeWithStats", arguments))
        },
    ),
    (
        "apoc.merge.relationship",
        W,
        RELATIONSHIP,
        "rel RELATIONSHIP",
        "Finds the relationships of a type with these properties between two nodes, or creates one.",
        |call, arguments| relationship(call, "apoc.merge.relationship", arguments),
    ),
    (
        "apoc.merge.relationship.eager",
        W,
        RELATIONSHIP,
        "rel RELATIONSHIP",
        "As apoc.merge.relationship.",
        |call, arguments| relationship(call, "apoc.merge.relationship.eager", arguments),
    ),
    (
        "apoc.merge.relationshipWithStats",
        W,
        RELATIONSHIP,
        "stats MAP; rel RELATIONSHIP",
        "As apoc.merge.relationship, with the number of changes.",
        |call, arguments| {
            let name = "apoc.merge.relationshipWithStats";
            with_stats(call, |call| relationship(call, name, arguments))
        },
    ),
];

/// `{k: $ident.k}` for the keys of a map.
fn pattern_map(keys: &ValueMap) -> String {
    let entry = |key: &std::sync::Arc<str>| format!("{0}: $ident.{0}", quoted(key));
    let entries: Vec<String> = keys.keys().map(entry).collect();
    match entries.is_empty() {
        true => String::new(),
        false => format!("{{{}}}", entries.join(", ")),
    }
}

fn node(call: &mut CallContext<'_>, name: &str, arguments: &[Value]) -> Result<Rows, QueryError> {
    let ident = args::map(&arguments[1]);
    if ident.is_empty() {
        return Err(failed(
            name,
            "you need to supply at least one identifying property for a merge",
        ));
    }
    let labels: BTreeSet<_> =
        args::names(name, "a label of a node", &arguments[0])?.into_iter().collect();
    let labels: String = labels.iter().map(|label| format!(":{}", quoted(label))).collect();
    let text = format!(
        "MERGE (n{labels} {}) ON CREATE SET n += $created ON MATCH SET n += $matched RETURN n",
        pattern_map(&ident)
    );
    let parameters = ValueMap::from([
        ("ident".into(), Value::map(ident)),
        ("created".into(), Value::map(args::map(&arguments[2]))),
        ("matched".into(), Value::map(args::map(&arguments[3]))),
    ]);
    call.write_rows(&text, &parameters)
}

fn relationship(
    call: &mut CallContext<'_>,
    name: &str,
    arguments: &[Value],
) -> Result<Rows, QueryError> {
    for (what, at) in [("the start node", 0), ("the end node", 4)] {
        args::node(name, what, &arguments[at])?;
        args::check_exists(call, name, &arguments[at])?;
    }
    let ty = match &arguments[1] {
        Value::String(ty) if !ty.is_empty() => ty,
        _ => {
            let message = "it is not possible to merge a relationship without a relationship type";
            return Err(failed(name, message));
        }
    };
    let ident = args::map(&arguments[2]);
    let text = format!(
        "WITH $from AS a, $to AS b MERGE (a)-[r:{} {}]->(b) \
         ON CREATE SET r += $created ON MATCH SET r += $matched RETURN r",
        quoted(ty),
        pattern_map(&ident)
    );
    let parameters = ValueMap::from([
        ("from".into(), arguments[0].clone()),
        ("to".into(), arguments[4].clone()),
        ("ident".into(), Value::map(ident)),
        ("created".into(), Value::map(args::map(&arguments[3]))),
        ("matched".into(), Value::map(args::map(&arguments[5]))),
    ]);
    call.write_rows(&text, &parameters)
}

/// Rows with the numbers of changes that were made for them before the values.
fn with_stats(
    call: &mut CallContext<'_>,
    run: impl FnOnce(&mut CallContext<'_>) -> Result<Rows, QueryError>,
) -> Result<Rows, QueryError> {
    let before = *call.counters();
    let mut rows = run(call)?;
    let stats = stats(&before, call.counters());
    rows.iter_mut().for_each(|row| row.insert(0, stats.clone()));
    Ok(rows)
}

/// The changes between two states of the counters, with APOC's names.
pub(super) fn stats(before: &Counters, after: &Counters) -> Value {
    let count = |of: fn(&Counters) -> u64| Value::Int((of(after) - of(before)) as i64);
    let transactions = 0_i64;
    Value::map([
        ("nodesCreated", count(|c| c.nodes_created)),
        ("nodesDeleted", count(|c| c.nodes_deleted)),
        ("relationshipsCreated", count(|c| c.relationships_created)),
        ("relationshipsDeleted", count(|c| c.relationships_deleted)),
        ("labelsAdded", count(|c| c.labels_added)),
        ("labelsRemoved", count(|c| c.labels_removed)),
        ("propertiesSet", count(|c| c.properties_set)),
        ("transactionsCommitted", transactions.into()),
    ])
}
