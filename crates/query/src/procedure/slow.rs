//! `telar.slowQueries`: statements that took long, as the server keeps them.

use std::sync::Arc;

use telar_graph::Value;

use super::Procedures;
use super::show::Shown;
use crate::host::{ShownSlow, needs_server};

pub(super) fn add(procedures: &mut Procedures) {
    let columns = [
        ("startTime", "STRING"),
        ("database", "STRING"),
        ("username", "STRING"),
        ("queryId", "STRING"),
        ("elapsedTimeMillis", "INTEGER"),
        ("rows", "INTEGER"),
        ("error", "STRING"),
        ("query", "STRING"),
    ];
    let list = Shown::new(
        "Statements of late that took as long as log.slow says, the newest first: the caller's \
         own, or for administrators all.",
        Vec::new(),
        &columns,
        |call, _| {
            let host = call.host().ok_or_else(|| needs_server("telar.slowQueries()"))?;
            Ok(host.slow().into_iter().map(row).collect())
        },
    );
    procedures.add("telar.slowQueries", Arc::new(list.of_the_server()));
}

fn row(shown: ShownSlow) -> Vec<Value> {
    let ShownSlow { started, database, user, query, milliseconds, rows, error, text } = shown;
    let number = |n: u64| Value::try_from(n).unwrap_or_default();
    vec![
        started.into(),
        database.into(),
        user.into(),
        query.map(Value::from).unwrap_or_default(),
        number(milliseconds),
        number(rows),
        error.map(Value::from).unwrap_or_default(),
        text.into(),
    ]
}
