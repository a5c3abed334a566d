//! Query texts that a procedure runs inside of the statement that calls it.

use telar_cypher::ast::Mode;
use telar_graph::ValueMap;

use super::{Prepared, prepare};
use crate::exec::Exec;
use crate::procedure::CallContext;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::StatementKind;
use crate::sink::{Output, Sink, Streamed};
use crate::stack::with_stack;

/// Most queries one inside of the other: a parameter can hold the text that it is given to.
const NESTING_MAX: u8 = 8;

impl CallContext<'_> {
    /// Runs a query text that only reads: on the graph that the statement sees, under its limits,
    /// in its memory, with the rights of its user. Rows go to `sink` as they come.
    ///
    /// # Errors
    /// Whatever is wrong with the text or goes wrong when it runs, with its place in the text
    /// ([`QueryError::within`] names the text); if the text is one that changes something, or is
    /// about another database or another time; what `sink` ends the query with.
    pub fn query(
        &self,
        text: &str,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        let mut cx = self.nested(parameters);
        if cx.nesting > NESTING_MAX {
            let message = format!("{NESTING_MAX} queries stand one inside of the other, and more");
            return Err(QueryError::runtime(ErrorKind::NotSupported, "NestedTooDeep", message));
        }
        if let Some(host) = cx.host {
            host.admit(text)?;
        }
        let plan = prepare(text, cx.graph(), cx.procedures)?;
        plan.check_nested(&cx)?;
        if let Some(host) = cx.host {
            host.allow(&plan)?;
        }
        plan.check_parameters(parameters, None)?;
        cx.levels = plan.physical.height;
        let mut output = Streamed::new(sink);
        output.columns(plan.columns().cloned().collect())?;
        with_stack(plan.physical.height, || plan.drive(cx, &mut output).map(drop))
    }
}

impl Prepared {
    /// Refuses what is more than a query of the statement's own graph.
    fn check_nested(&self, cx: &Exec<'_>) -> Result<(), QueryError> {
        let own = |name: &str| *name == *cx.procedures.database.to_lowercase();
        let found = match self.kind() {
            _ if self.administration().is_some() => "a command for the server",
            _ if self.copies() => "COPY",
            StatementKind::Schema => "one that changes indexes or constraints",
            StatementKind::Write | StatementKind::ReadWrite => "one that changes the graph",
            StatementKind::Read if self.bound.mode != Mode::Run => "EXPLAIN or PROFILE",
            StatementKind::Read if self.in_transactions() => "one IN TRANSACTIONS",
            StatementKind::Read if self.bound.at.is_some() => {
                "one AT TIMESTAMP, which is for the statement around it"
            }
            StatementKind::Read if self.database().is_some_and(|name| !own(name)) => {
                "one of another database"
            }
            StatementKind::Read => return Ok(()),
        };
        let message =
            format!("a query inside of a statement only reads its graph; this is {found}");
        Err(QueryError::compile(ErrorKind::AccessMode, "ReadOnly", message))
    }
}
