//! Where a pattern may be a value.

use super::patterns::Use;
use super::{Checker, Place};
use crate::ast::{
    Case, CaseTest, Expr, ExprKind, MapProjectionItem, PathSearch, Subquery, SubqueryBody,
    SubqueryKind, UnaryOp,
};
use crate::diagnostic::{Detail, Diagnostic};

impl Checker {
    /// An expression where any value may be wanted.
    pub(super) fn value(&mut self, expr: &Expr) {
        self.expression(expr, false);
    }

    /// An expression where a truth value is wanted.
    pub(super) fn condition(&mut self, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.expression(expr, true);
        }
    }

    pub(super) fn optional(&mut self, expr: Option<&Expr>) {
        if let Some(expr) = expr {
            self.value(expr);
        }
    }

    pub(super) fn expressions(&mut self, items: &[Expr]) {
        items.iter().for_each(|item| self.value(item));
    }

    fn expression(&mut self, expr: &Expr, truth: bool) {
        let reads = matches!(
            expr.kind,
            ExprKind::Pattern(_) | ExprKind::PatternComprehension(_) | ExprKind::Subquery(_)
        );
        if self.in_count && reads {
            let message = "this number is known before the query runs, and reads no graph";
            self.error(Detail::UnexpectedSyntax, expr.span, message);
        }
        match &expr.kind {
            ExprKind::Literal(_)
            | ExprKind::Parameter(_)
            | ExprKind::Variable(_)
            | ExprKind::CountStar
            | ExprKind::CaseOperand => {}
            ExprKind::List(items) => self.expressions(items),
            ExprKind::Map(entries) => entries.iter().for_each(|entry| self.value(&entry.value)),
            ExprKind::Property { object, .. } => self.value(object),
            ExprKind::Index { object, index } => {
                self.value(object);
                self.value(index);
            }
            ExprKind::Slice { list, from, to } => {
                self.value(list);
                self.optional(from.as_deref());
                self.optional(to.as_deref());
            }
            ExprKind::Unary { op, operand } => self.expression(operand, *op == UnaryOp::Not),
            ExprKind::Binary { left, right, .. } => {
                self.value(left);
                self.value(right);
            }
            ExprKind::Logical { operands, .. } => {
                operands.iter().for_each(|operand| self.expression(operand, true));
            }
            ExprKind::Arithmetic { first, rest } => {
                self.value(first);
                rest.iter().for_each(|link| self.value(&link.operand));
            }
            ExprKind::Comparison { first, rest } => {
                self.value(first);
                rest.iter().for_each(|link| self.value(&link.operand));
            }
            ExprKind::IsNull { operand, .. }
            | ExprKind::IsTyped { operand, .. }
            | ExprKind::IsNormalized { operand, .. } => self.value(operand),
            ExprKind::HasLabels { operand, labels } => {
                self.value(operand);
                self.labels(labels);
            }
            ExprKind::Function(call) => {
                // `exists((a)-->(b))`, as it was once written.
                let exists = call.name.dotted().eq_ignore_ascii_case("exists");
                call.arguments.iter().for_each(|argument| self.expression(argument, exists));
            }
            ExprKind::Case(case) => self.case(case, truth),
            ExprKind::MapProjection(projection) => {
                for item in &projection.items {
                    if let MapProjectionItem::Entry(entry) = item {
                        self.value(&entry.value);
                    }
                }
            }
            ExprKind::Subquery(subquery) => {
                if self.in_merge {
                    let message = "MERGE cannot hold EXISTS { }, COUNT { } and COLLECT { }";
                    let error = Diagnostic::syntax(Detail::UnexpectedSyntax, expr.span, message);
                    self.report(error.with_help("compute it before: WITH *, COUNT { ... } AS c"));
                }
                self.subquery(subquery);
            }
            ExprKind::Pattern(path) => {
                self.path(path, Use::Match);
                if !truth && path.search == PathSearch::All {
                    let message = "a pattern stands only where a truth value is wanted";
                    let error = Diagnostic::syntax(Detail::UnexpectedSyntax, expr.span, message);
                    let help = "use EXISTS { }, COUNT { }, or a comprehension: [p = (a)-->(b) | p]";
                    self.report(error.with_help(help));
                }
            }
            ExprKind::ListComprehension(comprehension) => {
                self.value(&comprehension.list);
                self.condition(comprehension.filter.as_ref());
                self.optional(comprehension.projection.as_ref());
            }
            ExprKind::PatternComprehension(comprehension) => {
                self.path(&comprehension.pattern, Use::Match);
                self.condition(comprehension.filter.as_ref());
                self.value(&comprehension.projection);
            }
            ExprKind::Quantifier(quantifier) => {
                self.value(&quantifier.list);
                self.condition(Some(&quantifier.filter));
            }
            ExprKind::Reduce(reduce) => {
                self.value(&reduce.initial);
                self.value(&reduce.list);
                self.value(&reduce.step);
            }
        }
    }

    fn case(&mut self, case: &Case, truth: bool) {
        self.optional(case.operand.as_ref());
        for branch in &case.branches {
            for test in &branch.tests {
                let (CaseTest::Value(test) | CaseTest::Holds(test)) = test;
                self.expression(test, case.operand.is_none());
            }
            self.expression(&branch.value, truth);
        }
        if let Some(default) = &case.default {
            self.expression(default, truth);
        }
    }

    fn subquery(&mut self, subquery: &Subquery) {
        match &subquery.body {
            SubqueryBody::Pattern { patterns, filter } => {
                self.paths(patterns, Use::Match);
                self.condition(filter.as_ref());
            }
            SubqueryBody::Query(query) => {
                let place = match subquery.kind {
                    SubqueryKind::Exists => "EXISTS",
                    SubqueryKind::Count => "COUNT",
                    SubqueryKind::Collect => "COLLECT",
                };
                let outer = self.reads_only.replace(place);
                self.query(query, Place::Expression(subquery.kind));
                self.reads_only = outer;
            }
        }
    }
}
