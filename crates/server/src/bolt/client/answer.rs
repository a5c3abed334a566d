//! Rows and what is said of them, whoever ran the statement.

use std::fmt::Write;
use std::sync::Arc;

use telar_db::query::{Counters, Entities, QueryResult};
use telar_db::{Value, ValueMap};

/// Something worth knowing that is no error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    /// `WARNING` or `INFORMATION`.
    pub severity: String,
    /// For people.
    pub message: String,
}

/// What a statement returned and did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// Names of the columns.
    pub columns: Vec<Arc<str>>,
    /// Rows, one value per column.
    pub rows: Vec<Vec<Value>>,
    /// What the nodes and relationships in the rows are.
    pub entities: Entities,
    /// What was changed.
    pub counters: Counters,
    /// The plan as a table, where it was asked for.
    pub plan: Option<String>,
    /// What is probably not meant as it is written.
    pub remarks: Vec<Remark>,
}

impl From<QueryResult> for Answer {
    fn from(result: QueryResult) -> Self {
        let remark = |notification: telar_db::query::Notification| Remark {
            severity: notification.kind.severity().to_owned(),
            message: notification.message,
        };
        Self {
            columns: result.columns,
            rows: result.rows,
            entities: result.entities,
            counters: result.counters,
            plan: result.plan.map(|plan| plan.to_string()),
            remarks: result.notifications.into_iter().map(remark).collect(),
        }
    }
}

/// What the answers to RUN and to the last PULL say, with the rows between them.
pub(super) fn read(
    began: &ValueMap,
    ended: &ValueMap,
    rows: Vec<Vec<Value>>,
    entities: Entities,
) -> Answer {
    let columns = list(began, "fields").iter().filter_map(|name| match name {
        Value::String(name) => Some(Arc::from(&**name)),
        _ => None,
    });
    let columns = columns.collect();
    let plan = map(ended, "profile").or_else(|| map(ended, "plan")).map(plan);
    Answer { columns, rows, entities, counters: counters(ended), plan, remarks: remarks(ended) }
}

fn list<'m>(map: &'m ValueMap, key: &str) -> &'m [Value] {
    match map.get(key) {
        Some(Value::List(list)) => list,
        _ => &[],
    }
}

fn map<'m>(map: &'m ValueMap, key: &str) -> Option<&'m ValueMap> {
    match map.get(key) {
        Some(Value::Map(map)) => Some(map),
        _ => None,
    }
}

fn text<'m>(map: &'m ValueMap, key: &str) -> &'m str {
    match map.get(key) {
        Some(Value::String(text)) => text,
        _ => "",
    }
}

fn number(map: &ValueMap, key: &str) -> Option<u64> {
    match map.get(key) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn counters(ended: &ValueMap) -> Counters {
    let mut counters = Counters::default();
    let Some(stats) = map(ended, "stats") else { return counters };
    let of = |key| number(stats, key).unwrap_or(0);
    counters.nodes_created = of("nodes-created");
    counters.nodes_deleted = of("nodes-deleted");
    counters.relationships_created = of("relationships-created");
    counters.relationships_deleted = of("relationships-deleted");
    counters.properties_set = of("properties-set");
    counters.labels_added = of("labels-added");
    counters.labels_removed = of("labels-removed");
    counters.indexes_added = of("indexes-added");
    counters.indexes_removed = of("indexes-removed");
    counters.constraints_added = of("constraints-added");
    counters.constraints_removed = of("constraints-removed");
    counters.system_updates = of("system-updates");
    counters
}

/// Since Bolt 5.5 they stand among the statuses, before by themselves.
fn remarks(ended: &ValueMap) -> Vec<Remark> {
    let all = list(ended, "statuses").iter().chain(list(ended, "notifications"));
    let remark = |status: &Value| {
        let Value::Map(status) = status else { return None };
        let message = text(status, "description");
        let severity = match map(status, "diagnostic_record") {
            Some(record) => text(record, "_severity"),
            None => text(status, "severity"),
        };
        let (severity, message) = (severity.to_owned(), message.to_owned());
        (!severity.is_empty() && !message.is_empty()).then_some(Remark { severity, message })
    };
    all.filter_map(remark).collect()
}

/// A plan as an embedded session shows it.
fn plan(root: &ValueMap) -> String {
    let mut lines = Vec::new();
    gather(root, 0, &mut lines);
    let measured = lines.iter().any(|line| line.cells.len() > 2);
    let mut table = vec![vec!["Operator".to_owned(), "Estimated".to_owned()]];
    if measured {
        table[0].extend(["Rows", "Hits", "Time/ms", "Memory/KiB"].map(str::to_owned));
    }
    let columns = table[0].len();
    table[0].push("Details".to_owned());
    for Line { mut cells, details } in lines {
        cells.resize(columns, "0".to_owned());
        cells.push(details);
        table.push(cells);
    }
    let width = |at: usize| table.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in &table {
        let mut line = format!("{:<width$}", row[0], width = widths[0]);
        for (cell, width) in row.iter().zip(&widths).skip(1) {
            // Writing to a text cannot fail.
            let _ = write!(line, "  {cell:>width$}");
        }
        let _ = write!(line, "  {}", row[columns]);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// An operator: its name and figures, and its details.
struct Line {
    cells: Vec<String>,
    details: String,
}

fn gather(plan: &ValueMap, depth: usize, lines: &mut Vec<Line>) {
    let args = map(plan, "args");
    let arg = |key| args.and_then(|args| number(args, key));
    let estimated = match args.and_then(|args| args.get("EstimatedRows")) {
        Some(Value::Float(rows)) => format!("{:.0}", rows.ceil()),
        _ => String::new(),
    };
    let mut cells =
        vec![format!("{}{}", "  ".repeat(depth), text(plan, "operatorType")), estimated];
    if let (Some(rows), Some(hits)) = (arg("Rows"), arg("DbHits")) {
        let ms = arg("Time").unwrap_or(0) as f64 / 1e6;
        let memory = arg("Memory").unwrap_or(0).div_ceil(1024);
        cells.extend([rows.to_string(), hits.to_string(), format!("{ms:.3}"), memory.to_string()]);
    }
    let details = args.map_or("", |args| text(args, "Details")).to_owned();
    lines.push(Line { cells, details });
    for child in list(plan, "children") {
        if let Value::Map(child) = child {
            gather(child, depth + 1, lines);
        }
    }
}
