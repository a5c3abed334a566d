//! `apoc.cypher.*`, `apoc.when`, `apoc.do.when`, `apoc.case`: query texts that are values.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::{Value, ValueMap};

use super::args::{self, failed, rows_of};
use super::{Entry, Mode};
use crate::procedure::{CallContext, Rows};
use crate::query_error::QueryError;
use crate::result::Counters;
use crate::sink::{self, Sink};

const W: Mode = Mode::Write;
const R: Mode = Mode::Read;
const RUN: &str = "statement STRING; params MAP = {}";
const WHEN: &str = "condition BOOLEAN; ifQuery STRING; elseQuery STRING = ''; params MAP = {}";
const CASE: &str = "conditionals LIST<ANY>; elseQuery STRING = ''; params MAP = {}";

pub(super) const PROCEDURES: &[Entry] = &[
    (
        "apoc.cypher.run",
        R,
        RUN,
        "value MAP",
        "Runs a query text that only reads, and returns its rows as maps.",
        |call, arguments| run(call, &arguments[0], &arguments[1]),
    ),
    (
        "apoc.cypher.doIt",
        W,
        RUN,
        "value MAP",
        "Runs a query text that may change the graph, and returns its rows as maps.",
        |call, arguments| run(call, &arguments[0], &arguments[1]),
    ),
    (
        "apoc.cypher.runWrite",
        W,
        RUN,
        "value MAP",
        "Runs a query text that may change the graph, and returns its rows as maps.",
        |call, arguments| run(call, &arguments[0], &arguments[1]),
    ),
    (
        "apoc.cypher.runMany",
        W,
        "cypher STRING; params MAP = {}; config MAP = {}",
        "row INTEGER; result MAP",
        "Runs query texts with semicolons between, and returns the rows and changes of each.",
        run_many,
    ),
    ("apoc.when", R, WHEN, "value MAP", "Runs one of two query texts that only read.", when),
    (
        "apoc.do.when",
        W,
        WHEN,
        "value MAP",
        "Runs one of two query texts that may change the graph.",
        when,
    ),
    (
        "apoc.case",
        R,
        CASE,
        "value MAP",
        "Runs the query text behind the first condition that is true; it only reads.",
        |call, arguments| case(call, "apoc.case", arguments),
    ),
    (
        "apoc.do.case",
        W,
        CASE,
        "value MAP",
        "Runs the query text behind the first condition that is true; it may change the graph.",
        |call, arguments| case(call, "apoc.do.case", arguments),
    ),
];

/// Keeps rows as maps.
#[derive(Default)]
pub(super) struct Maps {
    pub(super) names: Vec<Arc<str>>,
    pub(super) maps: Vec<Value>,
}

impl Sink for Maps {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.names = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: &sink::Rows<'_>) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            let value = |column| rows.get(row, column);
            let entries = self.names.iter().enumerate();
            self.maps.push(Value::map(entries.map(|(at, name)| (Arc::clone(name), value(at)))));
        }
        Ok(())
    }
}

/// The text with its parameters as variables in front, as APOC's texts may use them both ways.
fn with_variables(text: &str, parameters: &ValueMap) -> String {
    let variable = |name: &Arc<str>| {
        let name = crate::expr::print::quoted(name);
        format!("${name} AS {name}")
    };
    let variables: Vec<String> = parameters.keys().map(variable).collect();
    match variables.is_empty() {
        true => text.to_owned(),
        false => format!("WITH {} {text}", variables.join(", ")),
    }
}

fn run(call: &mut CallContext<'_>, text: &Value, parameters: &Value) -> Result<Rows, QueryError> {
    let Value::String(text) = text else { return Ok(Rows::new()) };
    let parameters = args::map(parameters);
    let text = with_variables(text, &parameters);
    let mut found = Maps::default();
    call.write_query(&text, &parameters, &mut found).map_err(|e| e.within(&text))?;
    Ok(rows_of(found.maps))
}

/// Runs one text after the other: rows are counted from 0 for each, and a row -1 has its changes.
fn run_many(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let Value::String(all) = &arguments[0] else { return Ok(Rows::new()) };
    let parameters = args::map(&arguments[1]);
    let statistics = args::flag(&args::map(&arguments[2]), "statistics", true);
    let mut rows = Rows::new();
    for span in telar_cypher::split(all) {
        let text = all[span.start() as usize..span.end() as usize].trim();
        if text.is_empty() {
            continue;
        }
        let (began, before) = (Instant::now(), *call.counters());
        let mut found = Maps::default();
        call.write_query(text, &parameters, &mut found).map_err(|e| e.within(text))?;
        let count = found.maps.len() as i64;
        let numbered = found.maps.into_iter().enumerate();
        rows.extend(numbered.map(|(at, map)| vec![Value::Int(at as i64), map]));
        if statistics {
            let mut result = changed(&before, call.counters());
            let time = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            result.insert("rows".into(), count.into());
            result.insert("time".into(), time.into());
            rows.push(vec![Value::Int(-1), Value::map(result)]);
        }
    }
    Ok(rows)
}

/// The changes between two states of the counters, by APOC's names.
fn changed(before: &Counters, now: &Counters) -> ValueMap {
    let count = |count: fn(&Counters) -> u64| Value::Int((count(now) - count(before)) as i64);
    [
        ("nodesCreated", count(|c| c.nodes_created)),
        ("nodesDeleted", count(|c| c.nodes_deleted)),
        ("relationshipsCreated", count(|c| c.relationships_created)),
        ("relationshipsDeleted", count(|c| c.relationships_deleted)),
        ("propertiesSet", count(|c| c.properties_set)),
        ("labelsAdded", count(|c| c.labels_added)),
        ("labelsRemoved", count(|c| c.labels_removed)),
    ]
    .into_iter()
    .map(|(name, value)| (Arc::from(name), value))
    .collect()
}

/// Runs a text, unless it is empty: then there is one empty map.
fn run_or_empty(
    call: &mut CallContext<'_>,
    text: &Value,
    parameters: &Value,
) -> Result<Rows, QueryError> {
    match text {
        Value::String(text) if text.trim().is_empty() => {
            Ok(rows_of([Value::Map(Arc::new(ValueMap::new()))]))
        }
        text => run(call, text, parameters),
    }
}

fn when(call: &mut CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let text = if arguments[0] == Value::Bool(true) { &arguments[1] } else { &arguments[2] };
    run_or_empty(call, text, &arguments[3])
}

fn case(call: &mut CallContext<'_>, name: &str, arguments: &[Value]) -> Result<Rows, QueryError> {
    let Value::List(pairs) = &arguments[0] else { return Ok(Rows::new()) };
    if pairs.len() % 2 != 0 {
        return Err(failed(name, "conditionals must be conditions and query texts in turn"));
    }
    let found = pairs.chunks(2).find(|pair| pair[0] == Value::Bool(true));
    run_or_empty(call, found.map_or(&arguments[1], |pair| &pair[1]), &arguments[2])
}
