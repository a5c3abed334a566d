//! `telar.history`: what `AT TIMESTAMP` can read; `telar.keepHistory`: from now on.

use std::sync::Arc;

use parking_lot::RwLock;
use telar_engine::{Retention, WeakEngine};
use telar_graph::{CommitTs, Value};
use telar_query::procedure::{Field, Mode, RowSource, known};
use telar_query::{CallContext, ErrorKind, Procedure, Procedures, QueryError};

use crate::changes::failed;

/// Adds the procedures for the database that `database` will lead to.
pub(crate) fn add(procedures: &mut Procedures, database: &Arc<RwLock<WeakEngine>>) {
    let columns = ["oldest", "newest"].map(|name| Field::new(name, "INTEGER")).into();
    let history = History { database: Arc::clone(database), columns };
    procedures.add("telar.history", Arc::new(history));
    let arguments = vec![Field::new("time", "DURATION")];
    let columns = vec![Field::new("oldest", "INTEGER")];
    let keep = Keep { database: Arc::clone(database), arguments, columns };
    procedures.add("telar.keepHistory", Arc::new(keep));
}

fn number(ts: CommitTs) -> Value {
    Value::try_from(ts.get()).unwrap_or_default()
}

/// The window that is retained.
struct History {
    database: Arc<RwLock<WeakEngine>>,
    columns: Vec<Field>,
}

impl Procedure for History {
    fn arguments(&self) -> &[Field] {
        &[]
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "The oldest and the newest commit that AT TIMESTAMP can read; no row if none are kept."
    }

    fn run(&self, _: &mut CallContext<'_>, _: &[Value]) -> Result<Box<dyn RowSource>, QueryError> {
        let retained = self.database.read().upgrade().and_then(|engine| engine.retained());
        let rows = retained.map(|(oldest, newest)| vec![number(oldest), number(newest)]);
        Ok(known(rows.into_iter().collect()))
    }
}

/// Milliseconds of a day.
const DAY_MS: i64 = 86_400_000;

/// Switches history on.
struct Keep {
    database: Arc<RwLock<WeakEngine>>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Procedure for Keep {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Keeps what is committed from now on readable for so long; for admins."
    }

    fn mode(&self) -> Mode {
        // What it sets is written into the store.
        Mode::Write
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        if call.host().is_some_and(|host| !host.is_admin()) {
            let message = "telar.keepHistory is for administrators";
            return Err(QueryError::runtime(ErrorKind::Forbidden, "Forbidden", message));
        }
        let time = match &arguments[0] {
            Value::Duration(time) if time.months() == 0 => time
                .days()
                .checked_mul(DAY_MS)
                .and_then(|days| time.seconds().checked_mul(1000)?.checked_add(days)),
            _ => None,
        };
        let Some(ms) = time.and_then(|ms| u64::try_from(ms).ok()).filter(|ms| *ms > 0) else {
            let message = "history is kept for a time of days, hours, minutes or seconds, as in \
                           duration('P1D')";
            return Err(QueryError::runtime(
                ErrorKind::InvalidArguments,
                "InvalidArgumentValue",
                message,
            ));
        };
        let Some(engine) = self.database.read().upgrade() else { return Ok(known(Vec::new())) };
        engine.keep_history(Retention::Keep { commits: 0, ms }).map_err(failed)?;
        let oldest = engine.retained().map(|(oldest, _)| vec![number(oldest)]);
        Ok(known(oldest.into_iter().collect()))
    }
}
