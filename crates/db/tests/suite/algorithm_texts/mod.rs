//! Statements as texts, and their rows as lines, for tests of algorithms.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::{QueryError, literal};
use telar_db::{Database, Session, Value};

pub(crate) fn database() -> Database {
    telar_db::open_in_memory().unwrap()
}

/// Rows of a statement, a line each, values with a blank between them.
pub(crate) fn shown(session: &Session, text: &str) -> String {
    let rows = session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows;
    let of_row = |row: &Vec<Value>| row.iter().map(literal).collect::<Vec<_>>();
    let lines: Vec<_> = rows.iter().map(|row| of_row(row).join(" ")).collect();
    lines.join("\n")
}

pub(crate) fn error(session: &Session, text: &str) -> QueryError {
    session.run(text, &[]).expect_err(text)
}
