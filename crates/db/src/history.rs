//! `telar.history`: which commits can be read with `AT TIMESTAMP`.

use std::sync::Arc;

use parking_lot::RwLock;
use telar_engine::WeakEngine;
use telar_graph::{CommitTs, Value};
use telar_query::procedure::{Field, RowSource, known};
use telar_query::{CallContext, Procedure, Procedures, QueryError};

/// Adds the procedure for the database that `database` will lead to.
pub(crate) fn add(procedures: &mut Procedures, database: &Arc<RwLock<WeakEngine>>) {
    let columns = ["oldest", "newest"].map(|name| Field::new(name, "INTEGER")).into();
    let history = History { database: Arc::clone(database), columns };
    procedures.add("telar.history", Arc::new(history));
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
        let number = |ts: CommitTs| Value::try_from(ts.get()).unwrap_or_default();
        let rows = retained.map(|(oldest, newest)| vec![number(oldest), number(newest)]);
        Ok(known(rows.into_iter().collect()))
    }
}
