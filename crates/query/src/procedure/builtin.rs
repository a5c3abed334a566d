//! Procedures about names, indexes and the database itself.

use std::sync::Arc;
use std::time::{Duration, Instant};

use telar_graph::{Direction, IndexState, LabelId, SchemaRule, Value, VertexId};

use super::show::Shown;
use super::{CallContext, Field, Procedures, Rows};
use crate::host::{ShownSetting, needs_server};
use crate::query_error::{ErrorKind, QueryError};
use crate::schema::Lookup;

/// How often a procedure that waits looks again.
const LOOKS_AGAIN: Duration = Duration::from_millis(10);

/// The version of Neo4j whose clients are served.
const NEO4J_VERSION: &str = "5.26.0";

#[expect(clippy::too_many_lines, reason = "a list")]
pub(super) fn add(procedures: &mut Procedures) {
    let mut add = |name: &str, procedure: Shown| procedures.add(name, Arc::new(procedure));
    // A number may have no name.
    let names = |names: Vec<String>| {
        let names = names.into_iter().filter(|name| !name.is_empty());
        Ok(names.map(|name| vec![name.into()]).collect())
    };
    let in_use = move |all: Vec<String>, counts: Vec<u64>| {
        let used = all.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        names(used.map(|(name, _)| name).collect())
    };
    add(
        "db.labels",
        Shown::new(
            "Every label that a node has.",
            Vec::new(),
            &[("label", "STRING")],
            move |call, _| in_use(call.graph().label_names(), vertices_by_label(call)?),
        ),
    );
    add(
        "db.relationshipTypes",
        Shown::new(
            "Every type that a relationship has.",
            Vec::new(),
            &[("relationshipType", "STRING")],
            move |call, _| in_use(call.graph().edge_type_names(), edges_by_type(call)?),
        ),
    );
    add(
        "db.propertyKeys",
        Shown::new(
            "Every property key.",
            Vec::new(),
            &[("propertyKey", "STRING")],
            move |call, _| names(call.graph().property_key_names()),
        ),
    );
    add(
        "db.awaitIndex",
        Shown::new(
            "Waits until an index can be read, at most so many seconds.",
            vec![
                Field::new("indexName", "STRING"),
                Field::new("timeOutSeconds", "INTEGER").or(300),
            ],
            &[],
            |call, arguments| await_indexes(call, arguments.first(), arguments.get(1)),
        ),
    );
    add(
        "db.awaitIndexes",
        Shown::new(
            "Waits until every index can be read, at most so many seconds.",
            vec![Field::new("timeOutSeconds", "INTEGER").or(300)],
            &[],
            |call, arguments| await_indexes(call, None, arguments.first()),
        ),
    );
    add(
        "db.ping",
        Shown::new("Answers.", Vec::new(), &[("success", "BOOLEAN")], |_, _| {
            Ok(vec![vec![true.into()]])
        }),
    );
    add(
        "db.info",
        Shown::new(
            "What the database is called, and its last commit.",
            Vec::new(),
            &[("name", "STRING"), ("lastCommit", "INTEGER")],
            |call, _| {
                let last = call.graph().read_ts().get() as i64;
                Ok(vec![vec![call.procedures().database.clone().into(), last.into()]])
            },
        ),
    );
    add(
        "db.resampleIndex",
        Shown::new(
            "Nothing is left to do: plans are made from samples of the graph as it is.",
            vec![Field::new("indexName", "STRING")],
            &[],
            |call, arguments| {
                let known = |name: &str| {
                    Lookup::named(name).is_some()
                        || call.graph().schema_rules().iter().any(|r| r.name == name)
                };
                match arguments.first() {
                    Some(Value::String(name)) if !known(name) => {
                        let message = format!("there is no index called `{name}`");
                        let detail = "IndexNotFound";
                        Err(QueryError::runtime(ErrorKind::IndexNotFound, detail, message))
                    }
                    _ => Ok(Rows::new()),
                }
            },
        ),
    );
    add(
        "db.resampleOutdatedIndexes",
        Shown::new(
            "Nothing is left to do: plans are made from samples of the graph as it is.",
            Vec::new(),
            &[],
            |_, _| Ok(Rows::new()),
        ),
    );
    add(
        "dbms.listConfig",
        Shown::new(
            "Settings of the server whose names hold a text.",
            vec![Field::new("searchString", "STRING").or("")],
            &[
                ("name", "STRING"),
                ("description", "STRING"),
                ("value", "STRING"),
                ("dynamic", "BOOLEAN"),
                ("defaultValue", "STRING"),
                ("startupValue", "STRING"),
                ("explicitlySet", "BOOLEAN"),
                ("validValues", "STRING"),
            ],
            list_config,
        )
        .of_the_server(),
    );
    add(
        "dbms.components",
        Shown::new(
            "What clients may expect, as versions of Neo4j and its language; the program.",
            Vec::new(),
            &[("name", "STRING"), ("versions", "LIST<STRING>"), ("edition", "STRING")],
            |_, _| {
                let row = |name: &str, version: &str| {
                    vec![name.into(), Value::list([version]), "community".into()]
                };
                // Tools decide by the first version what they may say.
                Ok(vec![
                    row("Neo4j Kernel", NEO4J_VERSION),
                    row("Cypher", "5"),
                    row("Telar", env!("CARGO_PKG_VERSION")),
                ])
            },
        )
        .of_the_server(),
    );
    add(
        "telar.statistics",
        Shown::new(
            "How many nodes, nodes of each label and relationships of each type there are.",
            Vec::new(),
            &[("kind", "STRING"), ("name", "STRING"), ("count", "INTEGER")],
            |call, _| statistics(call),
        ),
    );
}

/// Number of vertices with each label; of those that only this transaction has, 1 for some.
fn vertices_by_label(call: &CallContext<'_>) -> Result<Vec<u64>, QueryError> {
    let names = call.graph().label_names();
    let mut counts = call.graph().statistics()?.vertices_by_label;
    counts.resize(names.len(), 0);
    for (name, count) in names.iter().zip(&mut counts).filter(|(_, count)| **count == 0) {
        let Some(label) = call.graph().find_label(name) else { continue };
        *count = match call.graph().count_vertices(Some(label))? {
            Some(count) => count,
            None => any_step(call, Some(label), |vertices| Ok(!vertices.is_empty()))?.into(),
        };
    }
    Ok(counts)
}

/// Number of edges of each type; of those that only this transaction has, 1 for some.
fn edges_by_type(call: &CallContext<'_>) -> Result<Vec<u64>, QueryError> {
    let names = call.graph().edge_type_names();
    let mut counts = call.graph().statistics()?.edges_by_type;
    counts.resize(names.len(), 0);
    for (name, count) in names.iter().zip(&mut counts).filter(|(_, count)| **count == 0) {
        let Some(ty) = call.graph().find_edge_type(name) else { continue };
        let mut degrees = Vec::new();
        let mut leave = |vertices: &[VertexId]| {
            degrees.clear();
            call.graph().degrees(vertices, ty, Direction::Out, &mut degrees)?;
            Ok(degrees.iter().any(|degree| *degree > 0))
        };
        *count = match call.graph().count_edges(ty)? {
            Some(count) => count,
            None => any_step(call, None, &mut leave)?.into(),
        };
    }
    Ok(counts)
}

/// True if `found` is true of some of the vertices with the label, looked at some at a time.
fn any_step(
    call: &CallContext<'_>,
    label: Option<LabelId>,
    mut found: impl FnMut(&[VertexId]) -> Result<bool, QueryError>,
) -> Result<bool, QueryError> {
    const STEP: u64 = 4096;
    let partitions = call.graph().partitions();
    let mut vertices = Vec::new();
    for ids in partitions.all(STEP) {
        call.check()?;
        vertices.clear();
        call.graph().scan(label, ids.start, ids.end, &mut vertices)?;
        if found(&vertices)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn list_config(call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let host = call.host().ok_or_else(|| needs_server("dbms.listConfig()"))?;
    let text = match arguments.first() {
        Some(Value::String(text)) => text.to_lowercase(),
        _ => String::new(),
    };
    let mut found = host.settings()?;
    found.retain(|setting| setting.name.to_lowercase().contains(&text));
    found.sort_by(|a, b| a.name.cmp(&b.name));
    let row = |setting: ShownSetting| {
        vec![
            setting.name.into(),
            setting.description.into(),
            setting.value.clone().into(),
            false.into(),
            setting.default.into(),
            setting.value.into(),
            setting.explicit.into(),
            setting.form.into(),
        ]
    };
    Ok(found.into_iter().map(row).collect())
}

pub(super) fn await_indexes(
    call: &CallContext<'_>,
    name: Option<&Value>,
    seconds: Option<&Value>,
) -> Result<Rows, QueryError> {
    let seconds = match seconds {
        Some(Value::Int(seconds)) => u64::try_from(*seconds).unwrap_or(0),
        _ => 0,
    };
    let name = match name {
        Some(Value::String(name)) => Some(name),
        _ => None,
    };
    if name.is_some_and(|name| Lookup::named(name).is_some()) {
        return Ok(Rows::new());
    }
    let fail = |message: String| {
        Err(QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message))
    };
    let begin = Instant::now();
    loop {
        let mut rules = call.graph().schema_rules();
        if let Some(name) = name {
            // An index of several labels has several parts.
            let is_part = |rule: &SchemaRule| {
                rule.options.as_ref().is_some_and(|options| *options.of == **name)
            };
            rules.retain(|rule| *rule.name == **name || is_part(rule));
            if rules.is_empty() {
                return fail(format!("there is no index called `{name}`"));
            }
        }
        if rules.iter().all(|rule| rule.state == IndexState::Online) {
            return Ok(Rows::new());
        }
        if let Some(own) = rules.iter().find(|rule| rule.state == IndexState::Pending) {
            let name = &own.name;
            return fail(format!("`{name}` is made when this transaction commits: wait after it"));
        }
        if begin.elapsed() >= Duration::from_secs(seconds) {
            return fail(format!("after {seconds} seconds an index is still being built"));
        }
        call.check()?;
        std::thread::sleep(LOOKS_AGAIN);
    }
}

fn statistics(call: &CallContext<'_>) -> Result<Rows, QueryError> {
    let found = call.graph().statistics()?;
    let row = |kind: &str, name: Option<String>, count: u64| {
        vec![kind.into(), name.into(), Value::try_from(count).unwrap_or_default()]
    };
    let mut rows = vec![row("nodes", None, found.vertices)];
    let counted = |names: Vec<String>, counts: Vec<u64>| {
        let counts = counts.into_iter().chain(std::iter::repeat(0));
        names.into_iter().map(Some).zip(counts)
    };
    let labels = counted(call.graph().label_names(), found.vertices_by_label.clone());
    rows.extend(labels.map(|(name, count)| row("label", name, count)));
    rows.push(row("relationships", None, found.edges()));
    let types = counted(call.graph().edge_type_names(), found.edges_by_type);
    rows.extend(types.map(|(name, count)| row("type", name, count)));
    Ok(rows)
}
