//! Procedures: named things that `CALL` runs, with columns.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use telar_graph::{Graph, Value};

use crate::query_error::QueryError;
use crate::value_type::ValueType;

/// A named, typed argument or column of a procedure.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub of: ValueType,
}

impl Field {
    /// Makes sure that a value is of this type; an integer becomes a float where one is wanted.
    pub(crate) fn coerce(&self, value: &mut Value) -> Result<(), ()> {
        if value.is_null() || self.of.contains(value) {
            return Ok(());
        }
        if let Value::Int(n) = value {
            let float = Value::Float(*n as f64);
            if self.of.contains(&float) {
                *value = float;
                return Ok(());
            }
        }
        Err(())
    }
}

/// A procedure's rows, one value per column.
pub type Rows = Vec<Vec<Value>>;

/// Something that `CALL` can run. It reads the graph at the query's snapshot.
pub trait Procedure: Send + Sync {
    /// What it takes.
    fn arguments(&self) -> &[Field];

    /// What its rows hold.
    fn columns(&self) -> &[Field];

    /// One line for `SHOW PROCEDURES`.
    fn description(&self) -> &str;

    /// Its rows for these arguments, which have the types it asks for or are null.
    ///
    /// # Errors
    /// Whatever it cannot do.
    fn run(&self, graph: &dyn Graph, arguments: &[Value]) -> Result<Rows, QueryError>;
}

/// Procedures by name.
#[derive(Default, Clone)]
pub struct Procedures {
    by_name: BTreeMap<Arc<str>, Arc<dyn Procedure>>,
}

impl fmt::Debug for Procedures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Procedures {
    /// Adds a procedure, or replaces the one of this name.
    pub fn add(&mut self, name: impl Into<Arc<str>>, procedure: Arc<dyn Procedure>) {
        self.by_name.insert(name.into(), procedure);
    }

    /// The procedure of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<&Arc<dyn Procedure>> {
        self.by_name.get(name)
    }

    /// Every procedure with its name, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &dyn Procedure)> {
        self.by_name.iter().map(|(name, procedure)| (&**name, &**procedure))
    }
}
