//! `MATCH ... SEARCH n IN (VECTOR INDEX ...)`: what the procedure of vector indexes yields, and
//! then the pattern with that.

use telar_cypher::Span;
use telar_cypher::ast::{
    Call, CompareOp, Expr, ExprKind, Literal, LogicalOp, MapEntry, Match, Name, NameOrParameter,
    PathPart, QualifiedName, VectorSearch, Yield, YieldItem,
};

use super::Binder;
use crate::plan::{Match as MatchPlan, Plan};
use crate::query_error::QueryError;

fn expr(kind: ExprKind, span: Span) -> Expr {
    Expr { kind, span }
}

fn text(text: &str, span: Span) -> Expr {
    expr(ExprKind::Literal(Literal::String(text.into())), span)
}

fn name(text: &str, span: Span) -> Name {
    Name { text: text.into(), span }
}

/// A comparison as the procedure takes it; `is_turned` if the property stands on the right.
fn operator(op: CompareOp, is_turned: bool) -> Option<&'static str> {
    Some(match (op, is_turned) {
        (CompareOp::Equal, _) => "=",
        (CompareOp::Less, false) | (CompareOp::Greater, true) => "<",
        (CompareOp::LessOrEqual, false) | (CompareOp::GreaterOrEqual, true) => "<=",
        (CompareOp::Greater, false) | (CompareOp::Less, true) => ">",
        (CompareOp::GreaterOrEqual, false) | (CompareOp::LessOrEqual, true) => ">=",
        (CompareOp::NotEqual, _) => return None,
    })
}

/// The property of the variable, if the expression is one.
fn property<'e>(of: &'e Expr, variable: &Name) -> Option<&'e str> {
    match &of.kind {
        ExprKind::Property { object, key } => match &object.kind {
            ExprKind::Variable(found) if found.text == variable.text => Some(&key.text),
            _ => None,
        },
        _ => None,
    }
}

impl Binder<'_> {
    /// The clause without its search, of the rows that the search gives.
    pub(super) fn search_match(
        &mut self,
        clause: &Match,
        search: &VectorSearch,
        input: Plan,
    ) -> Result<Plan, QueryError> {
        let call = self.search_call(clause, search)?;
        let before = self.scope.slots();
        let (rows, input) = match clause.optional {
            true => (Plan::Argument, Some(input)),
            false => (input, None),
        };
        let (rows, _) = self.call(&call, rows, false)?;
        let bound = self.scope.slots();
        let pattern = self.match_pattern(&Match { search: None, ..clause.clone() })?;
        let found = Plan::from(MatchPlan::new(rows, bound.iter().copied(), pattern));
        Ok(match input {
            Some(input) => self.optionally(input, found, &before),
            None => found,
        })
    }

    /// The call of the procedure that a search is.
    fn search_call(&self, clause: &Match, search: &VectorSearch) -> Result<Call, QueryError> {
        let VectorSearch { variable, span, .. } = search;
        let span = *span;
        let is = |found: &Option<Name>| found.as_ref().is_some_and(|v| v.text == variable.text);
        let parts = || clause.patterns.iter().flat_map(|pattern| &pattern.parts);
        let is_node =
            parts().any(|part| matches!(part, PathPart::Node(node) if is(&node.variable)));
        let is_relationship = parts().any(|part| {
            matches!(part, PathPart::Relationship(r) if is(&r.variable) && r.length.is_none())
        });
        if !is_node && !is_relationship {
            let message = format!(
                "`{}` is no node or relationship of the pattern of this MATCH",
                variable.text
            );
            return Err(self.syntax("UndefinedVariable", message, variable.span));
        }
        let (procedure, column) = match is_node {
            true => ("queryNodes", "node"),
            false => ("queryRelationships", "relationship"),
        };
        let index = match &search.index {
            NameOrParameter::Name(name) => text(&name.text, name.span),
            NameOrParameter::Parameter(name) => expr(ExprKind::Parameter(name.clone()), name.span),
        };
        let mut filter = Vec::new();
        if let Some(condition) = &search.filter {
            self.search_filter(condition, variable, &mut filter)?;
        }
        let filter = expr(ExprKind::List(filter), span);
        let options = vec![MapEntry { key: name("filter", span), value: filter }];
        let options = expr(ExprKind::Map(options), span);
        let mut items =
            vec![YieldItem { column: name(column, span), alias: Some(variable.clone()) }];
        if let Some(score) = &search.score {
            items.push(YieldItem { column: name("score", span), alias: Some(score.clone()) });
        }
        let procedure = ["db", "index", "vector", procedure].map(|part| name(part, span)).into();
        Ok(Call {
            optional: false,
            procedure: QualifiedName { parts: procedure, span },
            arguments: Some(vec![index, search.limit.clone(), search.vector.clone(), options]),
            yields: Some(Yield { star: false, items, filter: None, span }),
            span,
        })
    }

    /// Appends the comparisons of a condition, each as `[key, operator, value]`.
    fn search_filter(
        &self,
        condition: &Expr,
        variable: &Name,
        out: &mut Vec<Expr>,
    ) -> Result<(), QueryError> {
        let span = condition.span;
        match &condition.kind {
            ExprKind::Logical { op: LogicalOp::And, operands } => {
                return operands
                    .iter()
                    .try_for_each(|operand| self.search_filter(operand, variable, out));
            }
            ExprKind::Comparison { first, rest } => {
                let mut left = &**first;
                for link in rest {
                    let right = &link.operand;
                    let (key, op, value) =
                        match (property(left, variable), property(right, variable)) {
                            (Some(key), None) => (key, operator(link.op, false), right),
                            (None, Some(key)) => (key, operator(link.op, true), left),
                            _ => return Err(self.no_search_filter(variable, span)),
                        };
                    let Some(op) = op else { return Err(self.no_search_filter(variable, span)) };
                    let one = vec![text(key, span), text(op, span), value.clone()];
                    out.push(expr(ExprKind::List(one), span));
                    left = right;
                }
            }
            _ => return Err(self.no_search_filter(variable, span)),
        }
        Ok(())
    }

    fn no_search_filter(&self, variable: &Name, span: Span) -> QueryError {
        let of = &variable.text;
        let message = format!(
            "WHERE of a SEARCH takes comparisons of properties of `{of}`, joined by AND: \
             {of}.key = 1, {of}.key >= 1; other conditions stand in the WHERE of the MATCH"
        );
        self.syntax("InvalidSearchPredicate", message, span)
    }
}
