//! Rules that need neither names nor types, checked on the finished tree:
//!
//! - `USE` comes first, `RETURN` and `FINISH` come last; a query ends with something that returns
//!   or changes something.
//! - Subqueries in expressions, and queries of the past, only read.
//! - `MERGE` holds no `EXISTS { }`, `COUNT { }`, `COLLECT { }`.
//! - `CALL` without an argument list, and `YIELD *`, stand alone.
//! - A `WITH` that begins `CALL { }` imports variables and does nothing else; what a `CALL` returns
//!   has names.
//! - What a pattern may hold depends on its clause: `patterns.rs`.
//! - A pattern is a value only where a truth value is wanted: `expressions.rs`.
//!
//! Where a text breaks one of these rules and another that needs names, the TCK wants the latter:
//! so `CREATE ()-[r]->()`, in which `r` may be bound, and `WITH a.b` without a name, which may
//! be an ambiguous aggregation, are the binder's.

mod expressions;
mod patterns;

use crate::ast::{
    Call, CallSubquery, Clause, CommandOutput, Concurrency, CopyWhat, Expr, ExprKind, LabelRef,
    Literal, Projection, ProjectionItem, Query, RemoveItemKind, SetItem, SetItemKind, ShowTarget,
    SingleQuery, Statement, StatementKind, SubqueryKind, SubqueryScope,
};
use crate::diagnostic::{Detail, Diagnostic, Diagnostics};
use crate::parser::{ERRORS_MAX, PARTS_MAX, too_many_parts};
use crate::span::Span;

use patterns::Use;

/// Looks through a whole statement.
pub(crate) fn check(statement: &Statement) -> Result<(), Diagnostics> {
    let mut checker = Checker::default();
    checker.optional(statement.graph.as_ref().map(|graph| &graph.graph));
    match &statement.kind {
        StatementKind::Query { at, query } => {
            checker.reads_only = at.as_ref().map(|_| "a query of the past");
            checker.optional(at.as_ref());
            checker.query(query, Place::Outermost);
        }
        StatementKind::Show(show) => {
            if let ShowTarget::Transactions { ids: names } | ShowTarget::Settings { names } =
                &show.target
            {
                checker.expressions(names);
            }
            checker.output(&show.output);
        }
        StatementKind::Terminate(terminate) => {
            checker.expressions(&terminate.ids);
            checker.output(&terminate.output);
        }
        StatementKind::Transactions(all) => {
            for command in &all.commands {
                checker.expressions(&command.ids);
                checker.projection(&command.yields);
                checker.optional(command.filter.as_ref());
            }
            checker.projection(&all.returns.projection);
        }
        StatementKind::CreateIndex(index) => checker.optional(index.options.as_ref()),
        StatementKind::CreateConstraint(constraint) => {
            checker.optional(constraint.options.as_ref());
        }
        StatementKind::Copy(copy) => {
            if let CopyWhat::Out(query) = &copy.what {
                checker.query(query, Place::Outermost);
            }
            checker.value(&copy.file);
            copy.options.iter().for_each(|(_, value)| checker.value(value));
        }
        StatementKind::Drop(_) | StatementKind::Administration(_) => {}
    }
    let mut errors = checker.errors.into_iter();
    match errors.next() {
        Some(first) => Err(Diagnostics::new(first, errors)),
        None => Ok(()),
    }
}

/// Where a query stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Outermost,
    /// In `CALL { }`.
    Call,
    /// In `EXISTS { }`, `COUNT { }`, `COLLECT { }`.
    Expression(SubqueryKind),
}

#[derive(Default)]
struct Checker {
    errors: Vec<Diagnostic>,
    /// Parts of the statement that become operators one above the other.
    parts: usize,
    /// What around this place forbids updates.
    reads_only: Option<&'static str>,
    /// In a `MERGE`, which holds no subqueries.
    in_merge: bool,
    /// In a number that is known before the query runs, which reads no graph.
    in_count: bool,
}

impl Checker {
    fn error(&mut self, detail: Detail, span: Span, message: impl Into<String>) {
        self.report(Diagnostic::syntax(detail, span, message));
    }

    fn report(&mut self, error: Diagnostic) {
        if self.errors.len() < ERRORS_MAX {
            self.errors.push(error);
        }
    }

    fn query(&mut self, query: &Query, place: Place) {
        let single = std::iter::once(&query.first);
        let unions = query.unions.iter().map(|union| &union.query);
        for single in single.chain(unions) {
            let uses = matches!(single.clauses.first(), Some(Clause::Use(_)));
            let alone = place == Place::Outermost
                && query.unions.is_empty()
                && single.clauses.len() == 1 + usize::from(uses);
            self.order(single, place, alone);
            if matches!(place, Place::Expression(_)) {
                self.in_expression(single, place, !query.unions.is_empty());
            }
            for clause in &single.clauses {
                self.clause(clause, alone);
            }
        }
    }

    /// Rules of the queries in `EXISTS { }`, `COUNT { }`, `COLLECT { }`: `COLLECT` names its
    /// column, arms of a `UNION` in `COUNT` end as whole queries do, a procedure without `YIELD`
    /// has no rows.
    fn in_expression(&mut self, single: &SingleQuery, place: Place, union: bool) {
        let Some(last) = single.clauses.last() else { return };
        match last {
            Clause::Return(clause)
                if place == Place::Expression(SubqueryKind::Collect) && clause.projection.star =>
            {
                let message = "COLLECT { } returns one column, and RETURN * names none";
                self.error(Detail::InvalidClauseComposition, clause.span, message);
            }
            Clause::Call(call) if call.yields.is_none() => {
                let message = "a procedure in a subquery names its columns";
                let error =
                    Diagnostic::syntax(Detail::InvalidClauseComposition, call.span, message);
                self.report(error.with_help("add YIELD and the names of columns"));
            }
            _ if union && place == Place::Expression(SubqueryKind::Count) => {
                self.ends(last, ends_with_nothing(last, false));
            }
            _ => {}
        }
    }

    /// Which clauses come first and last.
    fn order(&mut self, query: &SingleQuery, place: Place, alone: bool) {
        let Some((last, before)) = query.clauses.split_last() else { return };
        for (index, clause) in query.clauses.iter().enumerate() {
            if index > 0 && matches!(clause, Clause::Use(_)) {
                let message = "USE can only stand at the beginning of a query";
                self.error(Detail::InvalidClauseComposition, clause.span(), message);
            }
        }
        for clause in before {
            let word = match clause {
                Clause::Return(_) => "RETURN",
                Clause::Finish(_) => "FINISH",
                _ => continue,
            };
            let message = format!("{word} can only stand at the end of a query");
            let error =
                Diagnostic::syntax(Detail::InvalidClauseComposition, clause.span(), message);
            self.report(error.with_help("to go on with the rows, use WITH"));
        }
        let returns = matches!(last, Clause::Return(_));
        let word = match place {
            Place::Expression(SubqueryKind::Collect) if !returns => Some("no RETURN"),
            Place::Expression(_) => None,
            _ => ends_with_nothing(last, alone),
        };
        self.ends(last, word);
    }

    /// Refuses the end of a query that neither returns nor changes anything.
    fn ends(&mut self, last: &Clause, word: Option<&str>) {
        if let Some(word) = word {
            let message = format!("a query cannot end with {word}");
            let error = Diagnostic::syntax(Detail::InvalidClauseComposition, last.span(), message);
            self.report(error.with_help("add RETURN, FINISH or an updating clause"));
        }
    }

    /// Counts what becomes an operator of its own.
    fn part(&mut self, span: Span) {
        self.parts += 1;
        if self.parts == PARTS_MAX + 1 {
            self.report(too_many_parts(span));
        }
    }

    fn clause(&mut self, clause: &Clause, alone: bool) {
        if !matches!(clause, Clause::Create(_)) {
            self.part(clause.span());
        }
        match clause {
            Clause::Use(clause) => self.value(&clause.graph),
            Clause::Match(clause) => {
                self.paths(&clause.patterns, Use::Match);
                if let Some(search) = &clause.search {
                    self.value(&search.vector);
                    self.condition(search.filter.as_ref());
                    self.value(&search.limit);
                }
                self.condition(clause.filter.as_ref());
            }
            Clause::Unwind(clause) => self.value(&clause.list),
            Clause::Let(clause) => clause.items.iter().for_each(|item| self.value(&item.value)),
            Clause::Filter(clause) => self.condition(Some(&clause.condition)),
            Clause::With(clause) => {
                self.projection(&clause.projection);
                self.condition(clause.filter.as_ref());
            }
            Clause::Return(clause) => self.projection(&clause.projection),
            Clause::Finish(_) => {}
            Clause::Call(clause) => self.call(clause, alone),
            Clause::CallSubquery(clause) => self.call_subquery(clause),
            Clause::LoadCsv(clause) => self.value(&clause.source),
            _ => self.update(clause),
        }
    }

    /// An updating clause.
    fn update(&mut self, clause: &Clause) {
        if let Some(place) = self.reads_only {
            let message = format!("{place} cannot hold updating clauses");
            self.error(Detail::InvalidClauseComposition, clause.span(), message);
        }
        match clause {
            Clause::Create(clause) => self.paths(&clause.patterns, Use::Create),
            Clause::Merge(clause) => {
                self.in_merge = true;
                self.paths(std::slice::from_ref(&clause.pattern), Use::Merge);
                clause.actions.iter().for_each(|action| self.set_items(&action.items));
                self.in_merge = false;
            }
            Clause::Set(clause) => self.set_items(&clause.items),
            Clause::Remove(clause) => {
                for item in &clause.items {
                    match &item.kind {
                        RemoveItemKind::Property { object, .. } => self.value(object),
                        RemoveItemKind::DynamicProperty { object, key } => {
                            self.value(object);
                            self.value(key);
                        }
                        RemoveItemKind::Labels { labels, .. } => self.label_refs(labels),
                    }
                }
            }
            Clause::Delete(clause) => self.expressions(&clause.targets),
            Clause::Foreach(clause) => {
                self.value(&clause.list);
                clause.updates.iter().for_each(|update| self.clause(update, false));
            }
            _ => {}
        }
    }

    fn set_items(&mut self, items: &[SetItem]) {
        for item in items {
            match &item.kind {
                SetItemKind::Property { object, value, .. } => {
                    self.value(object);
                    self.value(value);
                }
                SetItemKind::DynamicProperty { object, key, value } => {
                    self.value(object);
                    self.value(key);
                    self.value(value);
                }
                SetItemKind::Replace { value, .. } | SetItemKind::Merge { value, .. } => {
                    self.value(value);
                }
                SetItemKind::Labels { labels, .. } => self.label_refs(labels),
            }
        }
    }

    fn label_refs(&mut self, labels: &[LabelRef]) {
        for label in labels {
            if let LabelRef::Dynamic(names) = label {
                self.value(names);
            }
        }
    }

    fn call(&mut self, call: &Call, alone: bool) {
        if call.arguments.is_none() && !alone {
            let message = "without an argument list a CALL must be the whole query";
            let error = Diagnostic::syntax(Detail::InvalidArgumentPassingMode, call.span, message);
            self.report(error.with_help("write the arguments in parentheses"));
        }
        self.expressions(call.arguments.as_deref().unwrap_or_default());
        let Some(yields) = &call.yields else { return };
        if yields.star && !alone {
            let message = "YIELD * can only stand in a CALL that is the whole query";
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, yields.span, message);
            self.report(error.with_help("name the columns after YIELD"));
        }
        self.condition(yields.filter.as_ref());
    }

    fn call_subquery(&mut self, call: &CallSubquery) {
        self.query(&call.query, Place::Call);
        let unions = call.query.unions.iter().map(|union| &union.query);
        for single in std::iter::once(&call.query.first).chain(unions) {
            if call.scope == SubqueryScope::Importing {
                self.importing(single);
            }
            self.named_columns(single);
        }
        if let Some(transactions) = &call.transactions {
            // A variable there is the binder's: it has none.
            match &transactions.rows {
                Some(rows) if mentions_variable(rows) => self.value(rows),
                Some(rows) => self.count(rows, "the number of rows"),
                None => {}
            }
            if let Concurrency::Limit(limit) = &transactions.concurrency {
                self.count(limit, "the number of transactions");
            }
        }
    }

    /// A number that is known before the query runs: positive, and from neither graph nor row.
    fn count(&mut self, number: &Expr, what: &str) {
        let message = match &number.kind {
            ExprKind::Literal(Literal::Int(n)) if *n > 0 => return,
            ExprKind::Literal(_) => format!("{what} is a positive integer"),
            _ if mentions_variable(number) => format!("{what} cannot depend on variables"),
            _ => {
                self.in_count = true;
                self.value(number);
                self.in_count = false;
                return;
            }
        };
        self.error(Detail::UnexpectedSyntax, number.span, message);
    }

    /// A `WITH` at the beginning of `CALL { }` that names variables imports them and does nothing
    /// else.
    fn importing(&mut self, single: &SingleQuery) {
        let Some(Clause::With(with)) = single.clauses.first() else { return };
        let Projection { distinct, items, order_by, skip, limit, .. } = &with.projection;
        if !items.iter().any(|item| mentions_variable(&item.expr)) {
            return;
        }
        let plain = |item: &ProjectionItem| match (&item.expr.kind, &item.alias) {
            (ExprKind::Variable(name), Some(alias)) => name.text == alias.text,
            (ExprKind::Variable(_), None) => true,
            _ => false,
        };
        let only_names = items.iter().all(plain) && !distinct && order_by.is_empty();
        if !only_names || skip.is_some() || limit.is_some() || with.filter.is_some() {
            let message = "WITH at the beginning of CALL { } can only name variables to import";
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, with.span, message);
            self.report(error.with_help("write CALL (variables) { ... }, or a second WITH"));
        }
    }

    /// What a `CALL` subquery returns has names.
    fn named_columns(&mut self, single: &SingleQuery) {
        let Some(Clause::Return(last)) = single.clauses.last() else { return };
        for ProjectionItem { expr, alias, span } in &last.projection.items {
            let named = matches!(expr.kind, ExprKind::Variable(_) | ExprKind::MapProjection(_));
            if alias.is_none() && !named {
                let message = "an expression that CALL { } returns needs a name";
                let error = Diagnostic::syntax(Detail::NoExpressionAlias, *span, message);
                self.report(error.with_help("add AS ..."));
            }
        }
    }

    fn projection(&mut self, projection: &Projection) {
        projection.items.iter().for_each(|item| self.value(&item.expr));
        projection.order_by.iter().for_each(|item| self.value(&item.expr));
        self.optional(projection.skip.as_ref());
        self.optional(projection.limit.as_ref());
    }

    fn output(&mut self, output: &CommandOutput) {
        if let Some(yields) = &output.yields {
            self.projection(yields);
        }
        self.condition(output.filter.as_ref());
        if let Some(returns) = &output.returns {
            self.projection(&returns.projection);
        }
    }
}

/// Whether a variable from around is certainly read; those that an expression makes itself, in
/// comprehensions and subqueries, are not looked for.
fn mentions_variable(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Variable(_) => true,
        ExprKind::Property { object, .. } => mentions_variable(object),
        ExprKind::Index { object, index } => mentions_variable(object) || mentions_variable(index),
        ExprKind::Unary { operand, .. } | ExprKind::IsNull { operand, .. } => {
            mentions_variable(operand)
        }
        ExprKind::Binary { left, right, .. } => mentions_variable(left) || mentions_variable(right),
        ExprKind::Arithmetic { first, rest } => {
            mentions_variable(first) || rest.iter().any(|link| mentions_variable(&link.operand))
        }
        ExprKind::Comparison { first, rest } => {
            mentions_variable(first) || rest.iter().any(|link| mentions_variable(&link.operand))
        }
        ExprKind::Logical { operands, .. } => operands.iter().any(mentions_variable),
        ExprKind::List(items) => items.iter().any(mentions_variable),
        ExprKind::Map(entries) => entries.iter().any(|entry| mentions_variable(&entry.value)),
        ExprKind::Function(call) => call.arguments.iter().any(mentions_variable),
        ExprKind::MapProjection(_) => true,
        _ => false,
    }
}

/// What a query would end with that neither returns nor changes anything.
fn ends_with_nothing(last: &Clause, alone: bool) -> Option<&'static str> {
    match last {
        Clause::Match(_) => Some("MATCH"),
        Clause::With(clause) => Some(match &clause.projection {
            Projection { star: true, items, order_by, skip, limit, .. }
                if items.is_empty()
                    && (!order_by.is_empty() || skip.is_some() || limit.is_some()) =>
            {
                "ORDER BY, SKIP or LIMIT"
            }
            _ => "WITH",
        }),
        Clause::Let(_) => Some("LET"),
        Clause::Filter(_) => Some("FILTER"),
        Clause::Unwind(_) => Some("UNWIND"),
        Clause::LoadCsv(_) => Some("LOAD"),
        Clause::Use(_) => Some("USE"),
        Clause::Call(call) if call.yields.is_some() && !alone => Some("CALL and YIELD"),
        Clause::CallSubquery(call) => {
            let last = call.query.first.clauses.last();
            let status = call.transactions.as_ref().is_some_and(|t| t.status.is_some());
            let rows = status || matches!(last, Some(Clause::Return(_)));
            rows.then_some("a CALL that returns rows")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
