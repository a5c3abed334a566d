//! Procedures that drivers and tools ask for about plans, statistics and their own transaction.

use std::sync::Arc;

use telar_graph::{Graph, Value};

use super::builtin::await_indexes;
use super::show::Shown;
use super::{CallContext, Field, Procedures, Rows};
use crate::query_error::{ErrorKind, QueryError};

/// Characters that the metadata of a transaction may have when they are set, as in Neo4j.
const METADATA_CHARS_MAX: usize = 2048;

/// Sections of `db.stats`, as Neo4j calls them.
const SECTIONS: [&str; 3] = ["GRAPH COUNTS", "TOKENS", "QUERIES"];

/// Columns that say what became of a command.
const DONE: [(&str, &str); 3] =
    [("section", "STRING"), ("success", "BOOLEAN"), ("message", "STRING")];

pub(super) fn add(procedures: &mut Procedures) {
    let mut add = |name: &str, procedure: Shown| procedures.add(name, Arc::new(procedure));
    add(
        "db.prepareForReplanning",
        Shown::new(
            "Waits until every index can be read: plans are made from samples of the graph as it \
             is.",
            vec![Field::new("timeOutSeconds", "INTEGER").or(120)],
            &[],
            |call, arguments| await_indexes(call, None, arguments.first()),
        ),
    );
    add(
        "dbms.listCapabilities",
        Shown::new(
            "What the server can do beyond what its version says: nothing is listed.",
            Vec::new(),
            &[("name", "STRING"), ("description", "STRING"), ("value", "ANY")],
            |_, _| Ok(Rows::new()),
        )
        .of_the_server(),
    );
    add(
        "tx.getMetaData",
        Shown::new(
            "What is listed with the transaction.",
            Vec::new(),
            &[("metadata", "MAP")],
            |call, _| {
                let metadata = call.transaction().map(|entry| entry.metadata());
                Ok(vec![vec![Value::Map(Arc::new(metadata.unwrap_or_default()))]])
            },
        )
        .of_the_server(),
    );
    add(
        "tx.setMetaData",
        Shown::new(
            "Lists this with the transaction, in place of what was.",
            vec![Field::new("data", "MAP")],
            &[],
            set_metadata,
        )
        .of_the_server(),
    );
    statistics(procedures);
}

fn set_metadata(call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let Some(Value::Map(data)) = arguments.first() else {
        return Err(invalid("the metadata of a transaction are a MAP"));
    };
    if crate::literal(&arguments[0]).chars().count() > METADATA_CHARS_MAX {
        let message = format!("metadata have at most {METADATA_CHARS_MAX} characters");
        return Err(invalid(message));
    }
    if let Some(entry) = call.transaction() {
        entry.set_metadata((**data).clone());
    }
    Ok(Rows::new())
}

fn invalid(message: impl Into<String>) -> QueryError {
    QueryError::runtime(ErrorKind::InvalidArguments, "InvalidArgumentValue", message)
}

/// The section that is asked for, in capitals.
fn section(arguments: &[Value]) -> Result<&'static str, QueryError> {
    let asked = match arguments.first() {
        Some(Value::String(asked)) => asked.to_uppercase(),
        _ => String::new(),
    };
    SECTIONS.into_iter().find(|section| *section == asked).ok_or_else(|| {
        let known = SECTIONS.join(", ");
        invalid(format!("Unknown section '{asked}', known sections are [{known}]"))
    })
}

/// `db.stats.*`. Queries are not collected: a log of them is the server's (`log.queries`).
fn statistics(procedures: &mut Procedures) {
    let mut add = |name: &str, procedure: Shown| procedures.add(name, Arc::new(procedure));
    let field = || Field::new("section", "STRING");
    let configured = || Field::new("config", "MAP").or(Value::map::<&str, Value>([]));
    add(
        "db.stats.status",
        Shown::new(
            "What is collected: nothing.",
            Vec::new(),
            &[("section", "STRING"), ("status", "STRING"), ("data", "MAP")],
            |_, _| {
                let data = Value::map::<&str, Value>([]);
                Ok(vec![vec!["QUERIES".into(), "idle".into(), data]])
            },
        ),
    );
    let collected = |success: bool, message: &'static str| {
        move |_: &CallContext<'_>, arguments: &[Value]| match section(arguments)? {
            "QUERIES" => Ok(vec![vec!["QUERIES".into(), success.into(), message.into()]]),
            other => Err(invalid(format!("Section '{other}' does not have to be collected"))),
        }
    };
    add(
        "db.stats.collect",
        Shown::new(
            "Says that queries are not collected.",
            vec![field(), configured()],
            &DONE,
            collected(false, "Queries are not collected; log.queries of the server logs them."),
        ),
    );
    add(
        "db.stats.stop",
        Shown::new(
            "Ends collecting, which did not run.",
            vec![field()],
            &DONE,
            collected(true, "Collector is idle, no collection ongoing."),
        ),
    );
    add(
        "db.stats.clear",
        Shown::new(
            "Forgets what was collected, which is nothing.",
            vec![field()],
            &DONE,
            collected(true, "Data cleared."),
        ),
    );
    add(
        "db.stats.retrieve",
        Shown::new(
            "How many nodes and relationships there are, or what names.",
            vec![field(), configured()],
            &[("section", "STRING"), ("data", "MAP")],
            |call, arguments| {
                let section = section(arguments)?;
                let data = match section {
                    "GRAPH COUNTS" => counts(call.graph())?,
                    "TOKENS" => tokens(call.graph()),
                    _ => return Ok(Rows::new()),
                };
                Ok(vec![vec![section.into(), data]])
            },
        ),
    );
}

/// Counts of nodes by label and of relationships by type; indexes and constraints.
fn counts(graph: &dyn Graph) -> Result<Value, QueryError> {
    let found = graph.statistics()?;
    let number = |n: u64| Value::try_from(n).unwrap_or_default();
    let all = |count: u64| Value::map([("count", number(count))]);
    let one = |key: &'static str| {
        move |(name, count): (String, u64)| {
            Value::map([(key, name.into()), ("count", number(count))])
        }
    };
    let used = |names: Vec<String>, counts: Vec<u64>| {
        names.into_iter().zip(counts).filter(|(_, count)| *count > 0)
    };
    let edges = found.edges();
    let labels = used(graph.label_names(), found.vertices_by_label).map(one("label"));
    let types = used(graph.edge_type_names(), found.edges_by_type).map(one("relationshipType"));
    let mut rules = graph.schema_rules();
    rules.retain(|rule| !crate::schema::is_later_part(rule));
    let rule =
        |rule: &telar_graph::SchemaRule| Value::map([("name", Value::from(rule.name.as_str()))]);
    let (indexes, constraints): (Vec<_>, Vec<_>) =
        rules.iter().partition(|rule| !rule.kind.is_constraint());
    Ok(Value::map([
        ("nodes", Value::list(std::iter::once(all(found.vertices)).chain(labels))),
        ("relationships", Value::list(std::iter::once(all(edges)).chain(types))),
        ("indexes", Value::list(indexes.into_iter().map(rule))),
        ("constraints", Value::list(constraints.into_iter().map(rule))),
    ]))
}

fn tokens(graph: &dyn Graph) -> Value {
    let names = |names: Vec<String>| {
        Value::list(names.into_iter().filter(|name| !name.is_empty()).map(Value::from))
    };
    Value::map([
        ("labels", names(graph.label_names())),
        ("relationshipTypes", names(graph.edge_type_names())),
        ("propertyKeys", names(graph.property_key_names())),
    ])
}
