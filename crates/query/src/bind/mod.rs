//! From the syntax tree to a plan: names become slots, and what is wrong with a query, whatever
//! the graph holds, is found here.
//!
//! - `scope`: which variables there are, and what is known of them.
//! - `expression`: expressions.
//! - `projection`: `WITH` and `RETURN`, grouping, sorting.
//! - `pattern`: patterns of `MATCH` as nodes and relationships to be solved.
//! - `group`: paths that are repeated, `select`: paths of which only some are wanted.
//! - `solve`: the order in which they are.
//! - `update`: clauses that change the graph.
//! - `clause`: everything else, and how clauses follow each other.
//! - `syntax`: walks over the syntax tree.

mod clause;
mod expression;
mod group;
mod pattern;
mod projection;
mod scope;
mod select;
mod solve;
mod subquery;
mod syntax;
mod update;

use std::collections::BTreeSet;
use std::sync::Arc;

use telar_cypher::ast::{Mode, Statement, StatementKind};
use telar_cypher::span::Span;
use telar_graph::Graph;

use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{Plan, Slots, prune};
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, QueryError};
use scope::Scope;

/// A query that is ready to run.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    /// Names of the result's columns, and where they are.
    pub(crate) columns: Vec<(Arc<str>, Slot)>,
    pub(crate) mode: Mode,
    pub(crate) writes: bool,
    /// Names of the parameters it needs.
    pub(crate) parameters: BTreeSet<Arc<str>>,
    /// `AT TIMESTAMP`
    pub(crate) at: Option<Expr>,
}

/// State of binding one statement.
pub(crate) struct Binder<'a> {
    source: &'a str,
    graph: &'a dyn Graph,
    procedures: &'a Procedures,
    /// How many slots there are.
    slots: usize,
    scope: Scope,
    parameters: BTreeSet<Arc<str>>,
    /// What aggregating functions mean here.
    aggregation: projection::Aggregation,
}

/// Binds a statement; `source` is the text its spans are of.
pub(crate) fn bind(
    statement: &Statement,
    source: &str,
    graph: &dyn Graph,
    procedures: &Procedures,
) -> Result<Bound, QueryError> {
    let mut binder = Binder {
        source,
        graph,
        procedures,
        slots: 0,
        scope: Scope::default(),
        parameters: BTreeSet::new(),
        aggregation: projection::Aggregation::Forbidden,
    };
    match &statement.kind {
        StatementKind::Query { at, query } => {
            let at = at.as_ref().map(|at| binder.expression(at)).transpose()?;
            let (mut plan, columns) = binder.query(query, Plan::Unit)?;
            let needed = columns.iter().map(|(_, slot)| *slot).collect();
            prune(&mut plan, &needed, &Slots::new());
            let writes = plan.writes();
            let (mode, parameters) = (statement.mode, binder.parameters);
            Ok(Bound { plan, columns, mode, writes, parameters, at })
        }
        _ => Err(binder.error(
            ErrorKind::NotSupported,
            "NotSupported",
            "this command is not supported yet",
            statement.span,
        )),
    }
}

impl Binder<'_> {
    /// The value of a parameter.
    pub(crate) fn parameter(&mut self, name: &str) -> Expr {
        let name: Arc<str> = name.into();
        self.parameters.insert(name.clone());
        Expr::Param(name)
    }

    pub(crate) fn new_slot(&mut self) -> Slot {
        self.slots += 1;
        self.slots - 1
    }

    pub(crate) fn error(
        &self,
        kind: ErrorKind,
        detail: &str,
        message: impl Into<String>,
        span: Span,
    ) -> QueryError {
        let range = span.range();
        QueryError::compile(kind, detail, message).at(self.source, range.start, range.end)
    }

    pub(crate) fn syntax(
        &self,
        detail: &str,
        message: impl Into<String>,
        span: Span,
    ) -> QueryError {
        self.error(ErrorKind::Syntax, detail, message, span)
    }
}
