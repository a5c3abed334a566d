//! `SHOW` and `TERMINATE`: a procedure whose rows are yielded, filtered and returned.

use std::sync::Arc;

use telar_cypher::ast::{
    CommandOutput, DatabaseFilter, Expr as AstExpr, ExprKind, Name, PrivilegeFilter, Projection,
    ProjectionItem, Show, ShowTarget, Terminate, TransactionCommands,
};
use telar_cypher::span::Span;

use super::Binder;
use super::clause::Columns;
use super::scope::Kind;
use crate::expr::Expr;
use crate::plan::{self, Plan};
use crate::procedure::privileges;
use crate::procedure::show::{self, Shown};
use crate::procedure::{self, Procedure};
use crate::query_error::QueryError;

impl Binder<'_> {
    pub(crate) fn show(&mut self, c: &Show, span: Span) -> Result<(Plan, Columns), QueryError> {
        let mut arguments = Vec::new();
        let (name, shown): (&str, Shown) = match &c.target {
            ShowTarget::Indexes { kind } => ("SHOW INDEXES", show::indexes(*kind)),
            ShowTarget::Constraints(filter) => ("SHOW CONSTRAINTS", show::constraints(*filter)),
            // Whoever may run statements may execute all of them: EXECUTABLE leaves none out.
            ShowTarget::Procedures(_) => ("SHOW PROCEDURES", show::procedures()),
            ShowTarget::Functions { built_in, .. } => {
                ("SHOW FUNCTIONS", show::functions(*built_in))
            }
            ShowTarget::Databases(filter) => {
                if let DatabaseFilter::Named(name) = filter {
                    arguments.push(self.name_or_parameter(name));
                }
                ("SHOW DATABASES", show::databases(filter))
            }
            ShowTarget::Settings { names } => {
                arguments = self.expressions(names)?;
                ("SHOW SETTINGS", show::settings(names.len()))
            }
            ShowTarget::Servers => ("SHOW SERVERS", show::servers()),
            ShowTarget::Users { auth } => ("SHOW USERS", show::users(false, *auth)),
            ShowTarget::CurrentUser => ("SHOW CURRENT USER", show::users(true, false)),
            ShowTarget::Roles { populated, users } => {
                ("SHOW ROLES", show::roles(*populated, *users))
            }
            ShowTarget::Privileges(filter) => {
                if let PrivilegeFilter::Roles(names) | PrivilegeFilter::Users(names) = filter {
                    arguments = names.iter().map(|name| self.name_or_parameter(name)).collect();
                }
                ("SHOW PRIVILEGES", privileges::shown(filter))
            }
            ShowTarget::Transactions { ids } => {
                arguments = self.expressions(ids)?;
                ("SHOW TRANSACTIONS", show::transactions(ids.len()))
            }
        };
        self.shown(name, shown, arguments, &c.output, span)
    }

    pub(crate) fn terminate(
        &mut self,
        c: &Terminate,
        span: Span,
    ) -> Result<(Plan, Columns), QueryError> {
        let arguments = self.expressions(&c.ids)?;
        let shown = show::terminate(c.ids.len());
        self.shown("TERMINATE TRANSACTIONS", shown, arguments, &c.output, span)
    }

    /// Commands that take each other's rows: a call for each, of which the rows before are the
    /// input.
    pub(crate) fn transaction_commands(
        &mut self,
        all: &TransactionCommands,
    ) -> Result<(Plan, Columns), QueryError> {
        let mut plan = Plan::Unit;
        for command in &all.commands {
            let arguments = self.expressions(&command.ids)?;
            let (name, shown) = match command.terminates {
                true => ("TERMINATE TRANSACTIONS", show::terminate(command.ids.len())),
                false => ("SHOW TRANSACTIONS", show::transactions(command.ids.len())),
            };
            let mut yields = Vec::new();
            for item in &command.yields.items {
                let ExprKind::Variable(column) = &item.expr.kind else { continue };
                let at = shown.columns().iter().position(|c| *c.name == *column.text);
                let Some(at) = at else {
                    let message = format!("{name} has no column `{}`", column.text);
                    return Err(self.syntax("UndefinedVariable", message, column.span));
                };
                let variable = item.alias.as_ref().unwrap_or(column);
                yields.push((at, self.declare_new(variable, Kind::Any)?));
            }
            plan = Plan::from(plan::Call {
                input: plan,
                name: name.into(),
                procedure: procedure::Bound(Arc::new(shown)),
                arguments,
                yields,
                optional: false,
            });
            let kept = Projection { star: true, items: Vec::new(), ..command.yields.clone() };
            plan = self.projection(&kept, command.filter.as_ref(), true, plan)?.0;
        }
        self.projection(&all.returns.projection, None, false, plan)
    }

    /// `YIELD ... WHERE ... RETURN ...` over the rows of a procedure.
    fn shown(
        &mut self,
        name: &str,
        shown: Shown,
        arguments: Vec<Expr>,
        output: &CommandOutput,
        span: Span,
    ) -> Result<(Plan, Columns), QueryError> {
        let mut yields = Vec::new();
        for (at, column) in shown.columns().iter().enumerate() {
            // Without YIELD, only these can be named.
            if output.yields.is_some() || at < shown.default_columns() {
                yields.push((at, self.declare(&column.name, Kind::Any)));
            }
        }
        let names: Vec<Arc<str>> =
            yields.iter().map(|(at, _)| shown.columns()[*at].name.clone()).collect();
        let plan = Plan::from(plan::Call {
            input: Plan::Unit,
            name: name.into(),
            procedure: procedure::Bound(Arc::new(shown)),
            arguments,
            yields,
            optional: false,
        });
        let every = || Projection {
            distinct: false,
            star: false,
            items: names.iter().map(|name| item(name, span)).collect(),
            order_by: Vec::new(),
            skip: None,
            limit: None,
            span,
        };
        let projection = match &output.yields {
            None => every(),
            Some(yields) if yields.star => {
                Projection { items: every().items, star: false, ..yields.clone() }
            }
            Some(yields) => yields.clone(),
        };
        let bound = self.projection(&projection, output.filter.as_ref(), true, plan)?;
        match &output.returns {
            None => Ok(bound),
            Some(returns) if returns.projection.star => {
                // As they were yielded, where RETURN * of a query sorts them.
                let (plan, columns) = bound;
                let every = columns.iter().map(|(name, _)| item(name, span));
                let items = every.chain(returns.projection.items.iter().cloned()).collect();
                let named = Projection { star: false, items, ..returns.projection.clone() };
                self.projection(&named, None, false, plan)
            }
            Some(returns) => self.projection(&returns.projection, None, false, bound.0),
        }
    }
}

/// A column that is passed on.
fn item(name: &str, span: Span) -> ProjectionItem {
    let kind = ExprKind::Variable(Name { text: name.into(), span });
    ProjectionItem { expr: AstExpr { kind, span }, alias: None, span }
}
