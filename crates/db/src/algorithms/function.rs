//! A procedure that is a function, with what `SHOW PROCEDURES` says of it.

use std::fmt;

use telar_graph::Value;
use telar_query::procedure::{Field, Mode, RowSource};
use telar_query::{CallContext, Procedure, QueryError};

/// Rows of a call, or why there are none.
pub(super) type Called = Result<Box<dyn RowSource>, QueryError>;

/// Names and types of arguments or columns.
pub(super) type Fields<'a> = &'a [(&'a str, &'a str)];

/// These names and types.
pub(super) fn fields(fields: Fields<'_>) -> Vec<Field> {
    fields.iter().map(|(name, of)| Field::new(name, of)).collect()
}

/// A procedure.
pub(super) struct FunctionProcedure<F> {
    pub(super) about: &'static str,
    pub(super) mode: Mode,
    pub(super) arguments: Vec<Field>,
    pub(super) columns: Vec<Field>,
    pub(super) run: F,
}

impl<F> fmt::Debug for FunctionProcedure<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.about)
    }
}

impl<F> Procedure for FunctionProcedure<F>
where
    F: Fn(&mut CallContext<'_>, &[Value]) -> Called + Send + Sync,
{
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        self.about
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn run(&self, call: &mut CallContext<'_>, arguments: &[Value]) -> Called {
        (self.run)(call, arguments)
    }
}
