//! Queries and what they return, as text.
#![allow(dead_code, unreachable_pub, reason = "each test program uses a part of it")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

pub mod plain;

use std::sync::atomic::{AtomicBool, Ordering};

use telar_db::{Database, Session, Value};

/// Sets a flag when it goes, also by a panic: threads of a scope that look at it end then.
pub struct StopAtEnd<'s>(pub &'s AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A value as Cypher writes it; of nodes and relationships only that they are.
pub fn show(value: &Value) -> String {
    let list = |values: &mut dyn Iterator<Item = String>| values.collect::<Vec<_>>().join(", ");
    match value {
        Value::Null => "null".into(),
        Value::Bool(b) => b.to_string(),
        Value::Int(i) => i.to_string(),
        Value::Float(f) => format!("{f:?}"),
        Value::String(s) => format!("'{s}'"),
        Value::List(values) => format!("[{}]", list(&mut values.iter().map(show))),
        Value::Map(map) => {
            format!("{{{}}}", list(&mut map.iter().map(|(k, v)| format!("{k}: {}", show(v)))))
        }
        Value::Vector(vector) => vector.to_string(),
        Value::Vertex(_) => "()".into(),
        Value::Edge(_) => "[]".into(),
        other => format!("{other:?}"),
    }
}

/// The rows of a query, columns joined by `|`, sorted; or its error as `detail: message`.
pub fn rows(session: &Session, query: &str) -> Vec<String> {
    rows_with(session, query, &[])
}

/// As [`rows`], with parameters.
pub fn rows_with(session: &Session, query: &str, parameters: &[(&str, Value)]) -> Vec<String> {
    match session.run(query, parameters) {
        Ok(result) => {
            let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(" | ");
            let mut rows: Vec<String> = result.rows.iter().map(row).collect();
            rows.sort();
            rows
        }
        Err(e) => vec![format!("{}: {e}", e.detail)],
    }
}

/// A query and its rows in the order of [`rows`]; one row that ends in `...` is the beginning of an
/// error.
pub type Example<'t> = (&'t str, &'t [&'t str]);

/// Runs examples on a graph; those that change it run after each other.
pub fn examples(setup: &str, table: &[Example<'_>]) {
    let db = database(setup);
    let session = Session::new(&db);
    report(table.iter().filter_map(|example| difference(&session, *example)).collect());
}

/// Runs each example on a graph of its own. Queries separated by `;` run one after the other, and
/// the rows are those of the last.
pub fn fresh_examples(setup: &str, table: &[Example<'_>]) {
    let mut wrong = Vec::new();
    for (queries, expected) in table {
        let db = database(setup);
        let session = Session::new(&db);
        let mut queries: Vec<&str> = queries.split(';').collect();
        let last = queries.pop().unwrap();
        let failed = |query: &str| session.run(query, &[]).err().map(|e| format!("{query}: {e}"));
        let failed = queries.into_iter().find_map(failed);
        wrong.extend(failed.or_else(|| difference(&session, (last, expected))));
    }
    report(wrong);
}

fn report(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// A database that this query made.
pub fn database(setup: &str) -> Database {
    let db = telar_db::open_in_memory().unwrap();
    if !setup.is_empty() {
        Session::new(&db).run(setup, &[]).unwrap();
    }
    db
}

/// Fails if the query returns other rows.
pub fn check(session: &Session, example: Example<'_>) {
    report(difference(session, example).into_iter().collect());
}

/// What is wrong with the rows of a query.
fn difference(session: &Session, (query, expected): Example<'_>) -> Option<String> {
    let found = rows(session, query);
    let fits = match expected {
        [error] if error.ends_with("...") => {
            // No row of a query looks like an error.
            let failed = session.run(query, &[]).is_err();
            failed && found[0].starts_with(error.trim_end_matches("..."))
        }
        expected => {
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            found == expected
        }
    };
    (!fits).then(|| format!("{query}\nexpected {expected:#?}\nfound {found:#?}"))
}
