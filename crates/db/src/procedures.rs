//! Procedures about what the sessions of a database share: `telar.plans`, `db.clearQueryCaches`.

use std::sync::Arc;

use parking_lot::Mutex;
use telar_graph::Value;
use telar_query::procedure::{Field, Mode, RowSource, known};
use telar_query::{CallContext, Procedure, Procedures, QueryError};

use crate::plans::Plans;

/// Adds them to those that every database has.
pub(crate) fn add(procedures: &mut Procedures, plans: &Arc<Mutex<Plans>>) {
    let columns = ["kept", "hits", "misses", "evicted"];
    let columns = columns.map(|name| Field::new(name, "INTEGER"));
    procedures.add("telar.plans", Arc::new(ShowPlans { plans: Arc::clone(plans), columns }));
    let columns = [Field::new("value", "STRING")];
    let clear = ClearPlans { plans: Arc::clone(plans), columns };
    procedures.add("db.clearQueryCaches", Arc::new(clear));
}

/// `telar.plans`: how well plans that are kept serve.
struct ShowPlans {
    plans: Arc<Mutex<Plans>>,
    columns: [Field; 4],
}

impl Procedure for ShowPlans {
    fn arguments(&self) -> &[Field] {
        &[]
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Plans that are kept: statements that found theirs, that did not, plans that made room."
    }

    fn run(&self, _: &mut CallContext<'_>, _: &[Value]) -> Result<Box<dyn RowSource>, QueryError> {
        let uses = self.plans.lock().uses();
        let number = |n: u64| Value::try_from(n).unwrap_or_default();
        let figures = [uses.kept as u64, uses.hits, uses.misses, uses.evicted];
        Ok(known(vec![figures.map(number).into()]))
    }
}

/// `db.clearQueryCaches`: forgets the plans that are kept.
struct ClearPlans {
    plans: Arc<Mutex<Plans>>,
    columns: [Field; 1],
}

impl Procedure for ClearPlans {
    fn arguments(&self) -> &[Field] {
        &[]
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Forgets the plans that are kept."
    }

    fn mode(&self) -> Mode {
        Mode::Dbms
    }

    fn run(&self, _: &mut CallContext<'_>, _: &[Value]) -> Result<Box<dyn RowSource>, QueryError> {
        let cleared = self.plans.lock().clear();
        let message = format!("Query caches successfully cleared of {cleared} queries.");
        Ok(known(vec![vec![message.into()]]))
    }
}
