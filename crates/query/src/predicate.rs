//! Conditions that are given as texts, tested on columns: `n:Person AND n.age > 3`.
//!
//! The caller brings the values of the object's properties and labels. So the object need not be in
//! a database: it can be a node of a graph that was made of rows.

use std::sync::Arc;

use telar_graph::{Graph, ValueMap};

use crate::batch::{Batch, Column};
pub use crate::bind::Read;
use crate::bind::{Condition, bind_condition};
use crate::exec::eval::condition;
use crate::procedure::{CallContext, Procedures};
use crate::query_error::{ErrorKind, QueryError};
use crate::stack::with_stack;
use crate::watch;

/// Levels of an expression: those of its text, and a level of `NOT` and `AND` for each.
const LEVELS: usize = 4 * telar_cypher::parser::NESTING_MAX as usize;

/// A condition on one object.
#[derive(Debug)]
pub struct Predicate {
    condition: Condition,
}

impl Predicate {
    /// Reads and checks a condition on `variable`.
    ///
    /// # Errors
    /// Whatever is wrong with it, with its place in `text`. The object stands only before the names
    /// of properties and labels; patterns and subqueries are refused.
    pub fn prepare(
        text: &str,
        variable: &str,
        graph: &dyn Graph,
        procedures: &Procedures,
    ) -> Result<Self, QueryError> {
        with_stack(LEVELS, || {
            let parsed = telar_cypher::parse_expression(text, &|| watch::check().is_ok());
            watch::check()?;
            let parsed =
                parsed.map_err(|errors| QueryError::of_diagnostic(errors.first(), text))?;
            let condition = bind_condition(&parsed, (text, variable), graph, procedures)?;
            Ok(Self { condition })
        })
    }

    /// Parts of the object that it reads, each once.
    pub fn reads(&self) -> impl Iterator<Item = &Read> {
        self.condition.reads.iter().map(|(read, _)| read)
    }

    /// Tests it on so many objects, of which `columns` hold the parts that it
    /// [reads](Self::reads), in their order. Returns the numbers of those for which it is true.
    ///
    /// # Errors
    /// Whatever goes wrong in an expression; if a parameter is missing.
    pub fn test(
        &self,
        call: &CallContext<'_>,
        parameters: &ValueMap,
        (rows, columns): (usize, Vec<Column>),
    ) -> Result<Vec<u32>, QueryError> {
        let Condition { expr, reads, parameters: needed } = &self.condition;
        if let Some(name) = needed.iter().find(|name| !parameters.contains_key(*name)) {
            let message = format!("expected parameter ${name}, which was not given");
            let kind = ErrorKind::ParameterMissing;
            return Err(QueryError::compile(kind, "MissingParameter", message));
        }
        let mut batch = Batch::empty(rows);
        for ((_, slot), column) in reads.iter().zip(columns) {
            batch.set(*slot, Arc::new(column));
        }
        let mut cx = call.nested(parameters);
        let holds = with_stack(LEVELS, || condition(expr, &batch, &mut cx))?;
        Ok((0..rows as u32).filter(|row| holds.truth(*row as usize) == Some(true)).collect())
    }
}
