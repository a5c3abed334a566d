//! Queries and patterns inside expressions.

use telar_cypher::ast::{
    self, Clause, PathPattern, PatternComprehension, SubqueryBody, SubqueryKind as AstKind,
};
use telar_cypher::span::Span;

use super::Binder;
use super::projection::Aggregation;
use crate::batch::Slot;
use crate::expr::{Expr, Subquery, SubqueryKind, conjuncts};
use crate::plan::{Extend, Match, Plan};
use crate::query_error::QueryError;

impl Binder<'_> {
    fn sub(&mut self, kind: SubqueryKind, plan: Plan, span: Span) -> Result<Expr, QueryError> {
        self.check_groups(&plan, span)?;
        let row = self.new_slot();
        Ok(Expr::Subquery(Box::new(Subquery { kind, plan, row })))
    }

    /// Refuses variables of rows that are grouped around the subquery.
    fn check_groups(&self, plan: &Plan, span: Span) -> Result<(), QueryError> {
        let Aggregation::Collect { known, outer, .. } = &self.aggregation else { return Ok(()) };
        let mut lost = None;
        plan.slots(&mut |slot| {
            if outer.contains(&slot) && !known.iter().any(|(_, key)| *key == slot) {
                lost = Some(slot);
            }
        });
        let Some(lost) = lost else { return Ok(()) };
        let name = self.scope.variables.iter().find(|v| v.slot == lost).map_or("", |v| &*v.name);
        let message = format!(
            "the subquery needs `{name}`, which is no grouping key here; project it on its own, \
             or put it into WITH before"
        );
        Err(self.syntax("AmbiguousAggregationExpression", message, span))
    }

    /// The plan that finds patterns from the variables in scope, which it adds to.
    fn pattern_plan(
        &mut self,
        patterns: &[PathPattern],
        filter: Option<&ast::Expr>,
    ) -> Result<Plan, QueryError> {
        let bound = self.scope.slots();
        let mut pattern = self.pattern(patterns)?;
        if let Some(filter) = filter {
            pattern.filter(conjuncts(self.condition(filter)?));
        }
        Ok(Match::new(Plan::Argument, bound, pattern).into())
    }

    /// Runs `f` where no aggregating function outside reaches.
    fn without_aggregation<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let around = std::mem::take(&mut self.aggregation);
        let result = self.inner_scope(|b| {
            // Of rows that are grouped there are the keys.
            if let Aggregation::Collect { known, .. } = &around {
                for (key, slot) in known {
                    if let ast::ExprKind::Variable(name) = &key.kind {
                        let variables = b.scope.variables.iter_mut();
                        variables.filter(|v| *v.name == *name.text).for_each(|v| v.slot = *slot);
                    }
                }
            }
            f(b)
        });
        self.aggregation = around;
        result
    }

    /// Whether a pattern matches; its variables must exist already.
    pub(crate) fn pattern_exists(&mut self, pattern: &PathPattern) -> Result<Expr, QueryError> {
        self.check_no_new_variables(pattern)?;
        let plan =
            self.without_aggregation(|b| b.pattern_plan(std::slice::from_ref(pattern), None))?;
        self.sub(SubqueryKind::Exists, plan, pattern.span)
    }

    fn check_no_new_variables(&self, pattern: &PathPattern) -> Result<(), QueryError> {
        for part in &pattern.parts {
            let name = match part {
                ast::PathPart::Node(node) => &node.variable,
                ast::PathPart::Relationship(r) => &r.variable,
                ast::PathPart::Group(_) => &None,
            };
            if let Some(name) = name {
                self.variable(name)?;
            }
        }
        Ok(())
    }

    /// `shortestPath(...)` as an expression: the path, or the list of paths.
    pub(crate) fn pattern_value(&mut self, pattern: &PathPattern) -> Result<Expr, QueryError> {
        let all = pattern.search == ast::PathSearch::AllShortestPaths;
        let (plan, slot) = self.without_aggregation(|b| {
            let mut named = pattern.clone();
            let text = "\0path".into();
            named.variable = Some(ast::Name { text, span: pattern.span });
            let plan = b.pattern_plan(std::slice::from_ref(&named), None)?;
            let slot = b.scope.find("\0path").map(|v| v.slot);
            Ok((plan, slot.expect("INVARIANT: the pattern declared it")))
        })?;
        let kind = if all { SubqueryKind::Collect(slot) } else { SubqueryKind::First(slot) };
        self.sub(kind, plan, pattern.span)
    }

    pub(crate) fn pattern_comprehension(
        &mut self,
        c: &PatternComprehension,
    ) -> Result<Expr, QueryError> {
        let (plan, slot) = self.without_aggregation(|b| {
            // Its path hides a variable of the same name, as that of a list comprehension does.
            if let Some(path) = &c.pattern.variable {
                b.scope.variables.retain(|v| *v.name != *path.text);
            }
            let plan = b.pattern_plan(std::slice::from_ref(&c.pattern), c.filter.as_ref())?;
            let projection = b.expression(&c.projection)?;
            let slot: Slot = b.new_slot();
            Ok((Plan::from(Extend { input: plan, items: vec![(slot, projection)] }), slot))
        })?;
        self.sub(SubqueryKind::Collect(slot), plan, c.pattern.span)
    }

    /// `EXISTS { }`, `COUNT { }`, `COLLECT { }`
    pub(crate) fn subquery(
        &mut self,
        subquery: &ast::Subquery,
        span: Span,
    ) -> Result<Expr, QueryError> {
        let (plan, columns) = self.without_aggregation(|b| match &subquery.body {
            SubqueryBody::Pattern { patterns, filter } => {
                Ok((b.pattern_plan(patterns, filter.as_ref())?, Vec::new()))
            }
            SubqueryBody::Query(query) => {
                for single in
                    std::iter::once(&query.first).chain(query.unions.iter().map(|u| &u.query))
                {
                    if let Some(clause) = single.clauses.iter().find(|c| is_update(c)) {
                        let message = "a subquery expression cannot change the graph";
                        return Err(b.syntax("InvalidClauseComposition", message, clause.span()));
                    }
                }
                let constants = b.scope.variables.clone();
                b.with_constants(constants, true, |b| b.query(query, Plan::Argument, None))
            }
        })?;
        // By a procedure that writes: clauses that do were looked for above.
        if plan.writes() {
            let message = "a subquery expression cannot change the graph";
            return Err(self.syntax("InvalidClauseComposition", message, span));
        }
        let kind = match (subquery.kind, &columns[..]) {
            (AstKind::Exists, _) => SubqueryKind::Exists,
            (AstKind::Count, _) => SubqueryKind::Count,
            (AstKind::Collect, [(_, slot)]) => SubqueryKind::Collect(*slot),
            (AstKind::Collect, _) => {
                let message = "COLLECT { } needs a query that returns exactly one column";
                return Err(self.syntax("InvalidSubquery", message, span));
            }
        };
        self.sub(kind, plan, span)
    }
}

pub(crate) fn is_update(clause: &Clause) -> bool {
    matches!(
        clause,
        Clause::Create(_)
            | Clause::Merge(_)
            | Clause::Set(_)
            | Clause::Remove(_)
            | Clause::Delete(_)
            | Clause::Foreach(_)
    )
}
