//! `CALL { } IN TRANSACTIONS`.

use super::prelude::*;
use telar_cypher::ast::OnError;

use super::Apply;

/// Runs a subquery in transactions of its own.
#[derive(Debug, Clone)]
pub(crate) struct InTransactions {
    /// Subquery, which runs row by row.
    pub(crate) apply: Apply,
    /// Number of rows of one transaction; an expression without variables.
    pub(crate) rows: Expr,
    pub(crate) on_error: OnError,
    /// Variable of a map with the outcome of the row's transaction.
    pub(crate) status: Option<Slot>,
}

impl Operator for InTransactions {
    input!(apply.input);
    inner!(apply.inner);
    exprs!(rows);

    fn reads(&self) -> Vec<Slot> {
        Vec::new()
    }

    fn binds(&self) -> Vec<Slot> {
        let mut slots = vec![self.apply.row];
        slots.extend(self.apply.columns.iter().chain(&self.status));
        slots
    }

    fn shape(&self) -> Shape {
        Shape::Combines
    }

    leaves_graph_alone!();

    fn estimate(&self, _: &Counts<'_>, rows: InputRows<'_>, _: &mut Facts) -> f64 {
        match self.apply.returns {
            true => rows.first * rows.second,
            false => rows.first,
        }
    }

    fn explain(&self, p: &Printer<'_>) -> (&'static str, String) {
        ("SubqueryInTransactions", format!("OF {} ROWS", p.expr(&self.rows)))
    }
}
