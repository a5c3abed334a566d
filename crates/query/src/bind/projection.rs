//! `WITH` and `RETURN`: what goes on, grouped where a function aggregates, sorted and cut.
//!
//! ```text
//! input ─► Aggregate (if any item aggregates) ─► Extend: items ─► Distinct ─► Extend: sort keys
//!       ─► Sort ─► Skip ─► Limit ─► Extend: items not needed before ─► Keep: items
//! ```

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::{self, ExprKind, Literal, Projection, ProjectionItem};

use super::clause::Columns;
use super::scope::{Kind, Scope, Variable};
use super::types::TypeSet;
use super::{Binder, gds, syntax};
use crate::aggregate;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::plan::{
    Aggregate, AggregateCall, Apply, Distinct, Eager, Extend, Filter, Keep, Limit, Plan, Skip, Sort,
};
use crate::query_error::{ErrorKind, QueryError};
use crate::watch;

/// What aggregating functions mean at a place, and what expressions stand for slots.
#[derive(Debug, Clone, Default)]
pub(crate) enum Aggregation {
    /// They are an error.
    #[default]
    Forbidden,
    /// The arguments of one: a second one inside is an error.
    Inside,
    /// They are collected.
    Collect {
        /// Expressions that are computed already: grouping keys, projected items.
        known: Vec<(ast::Expr, Slot)>,
        /// Those met so far.
        calls: Vec<(Slot, AggregateCall)>,
        /// Variables of the rows, which there are many of for each group.
        outer: Vec<Slot>,
        /// Inside an expression that goes over a list, which cannot aggregate rows.
        in_list: bool,
    },
    /// Expressions that stand for slots, after a projection.
    Known(Vec<(ast::Expr, Slot)>),
}

/// A projection as far as its rows go: what is left are its order and how many of them.
struct Projected {
    plan: Plan,
    slots: Vec<Slot>,
    sort: Vec<(Expr, bool)>,
    filter: Option<Expr>,
}

/// Whether an expression beside an aggregating function may be a grouping key: a variable, or a
/// property of one.
fn is_simple(e: &ast::Expr) -> bool {
    match &e.kind {
        ExprKind::Variable(_) => true,
        ExprKind::Property { object, .. } => is_simple(object),
        ExprKind::Index { object, index } => {
            matches!(index.kind, ExprKind::Literal(Literal::String(_))) && is_simple(object)
        }
        _ => syntax::aggregate_name(e).is_some(),
    }
}

/// Splits off the columns that sorting does not need: they are computed for the first rows only.
fn delay(plan: Plan, sort: &[(Expr, bool)]) -> (Plan, Vec<(Slot, Expr)>) {
    let Plan::Extend(p) = plan else { return (plan, Vec::new()) };
    let Extend { input, items } = *p;
    let mut needed = HashSet::new();
    sort.iter().for_each(|(key, _)| key.slots(&mut |slot| _ = needed.insert(slot)));
    let (mut early, mut late) = (Vec::new(), Vec::new());
    // Items see those before them, so what an early one needs is found from the back.
    for (slot, e) in items.into_iter().rev() {
        if needed.contains(&slot) {
            e.slots(&mut |slot| _ = needed.insert(slot));
            early.push((slot, e));
        } else {
            late.push((slot, e));
        }
    }
    early.reverse();
    late.reverse();
    let plan = if early.is_empty() { input } else { Plan::from(Extend { input, items: early }) };
    (plan, late)
}

impl Binder<'_> {
    /// The slot that an expression stands for here, if it does.
    pub(crate) fn aggregated(&mut self, e: &ast::Expr) -> Result<Option<Expr>, QueryError> {
        match &self.aggregation {
            Aggregation::Forbidden | Aggregation::Inside => Ok(None),
            Aggregation::Known(known) => {
                watch::work(known.len())?;
                Ok(known.iter().find(|(k, _)| k == e).map(|(_, slot)| Expr::Slot(*slot)))
            }
            Aggregation::Collect { known, outer, in_list, .. } => {
                let in_list = *in_list;
                watch::work(known.len())?;
                if let Some((_, slot)) = known.iter().find(|(k, _)| is_simple(k) && k == e) {
                    return Ok(Some(Expr::Slot(*slot)));
                }
                if let ExprKind::Variable(name) = &e.kind
                    && let Some(variable) = self.scope.find(&name.text)
                    && outer.contains(&variable.slot)
                    && !known.iter().any(|(_, slot)| *slot == variable.slot)
                {
                    let message = format!(
                        "`{}` is neither aggregated nor a grouping key here; \
                         project it on its own, or put it into WITH before",
                        name.text
                    );
                    return Err(self.syntax("AmbiguousAggregationExpression", message, e.span));
                }
                let Some(function) = syntax::aggregate_name(e) else { return Ok(None) };
                if in_list {
                    let message = "an aggregating function cannot stand inside a list expression";
                    return Err(self.syntax("InvalidAggregation", message, e.span));
                }
                self.aggregate_call(function, e).map(Some)
            }
        }
    }

    /// The longest beginning of a chain of operators that stands for a slot here, and how many
    /// links it has: `a + b` in `ORDER BY a + b + 1`, if `a + b` was projected.
    pub(crate) fn known_prefix(
        &self,
        first: &ast::Expr,
        rest: &[ast::ArithmeticLink],
    ) -> Option<(Slot, usize)> {
        let Aggregation::Known(known) = &self.aggregation else { return None };
        let prefixes = known.iter().filter_map(|(k, slot)| match &k.kind {
            ExprKind::Arithmetic { first: f, rest: links } => {
                (**f == *first && rest.starts_with(links)).then_some((*slot, links.len()))
            }
            _ => None,
        });
        prefixes.max_by_key(|(_, links)| *links)
    }

    fn aggregate_call(&mut self, function: String, e: &ast::Expr) -> Result<Expr, QueryError> {
        let (distinct, arguments): (bool, &[ast::Expr]) = match &e.kind {
            ExprKind::Function(call) => (call.distinct, &call.arguments),
            _ => (false, &[]),
        };
        let wanted = match (&e.kind, function.as_str()) {
            (ExprKind::CountStar, _) => 0,
            (_, "percentilecont" | "percentiledisc") => 2,
            _ => 1,
        };
        if arguments.len() != wanted {
            let message = format!("{function}() takes {wanted} arguments");
            return Err(self.syntax("InvalidNumberOfArguments", message, e.span));
        }
        if let ExprKind::Function(call) = &e.kind {
            self.check_arguments(call)?;
        }
        let around = std::mem::replace(&mut self.aggregation, Aggregation::Inside);
        let bound = self.expressions(arguments);
        self.aggregation = around;
        let arguments = bound?;
        if let ("percentilecont" | "percentiledisc", [_, Expr::Const(fraction)]) =
            (function.as_str(), &arguments[..])
            && let Err(error) = aggregate::percentile::fraction(fraction)
        {
            return Err(self.syntax("NumberOutOfRange", error.to_string(), e.span));
        }
        if let [Expr::Function(f, _)] = &arguments[..]
            && !f.deterministic
            && f.name == "rand"
        {
            let message = "rand() cannot be aggregated; compute it in WITH before";
            return Err(self.syntax("NonConstantExpression", message, e.span));
        }
        let slot = self.new_slot();
        self.name_slot(slot, e.span.text(self.source));
        if let Aggregation::Collect { known, calls, .. } = &mut self.aggregation {
            let function = function.into();
            calls.push((slot, AggregateCall { function, distinct, arguments }));
            known.push((e.clone(), slot));
        }
        Ok(Expr::Slot(slot))
    }

    /// The items of a projection, with those that `*` stands for.
    pub(super) fn items(
        &self,
        p: &Projection,
        with: bool,
    ) -> Result<Vec<(Arc<str>, ast::Expr)>, QueryError> {
        let mut items: Vec<(Arc<str>, ast::Expr)> = Vec::new();
        if p.star {
            if self.scope.variables.is_empty() && p.items.is_empty() && !with {
                let message = "RETURN * needs at least one variable in scope";
                return Err(self.syntax("NoVariablesInScope", message, p.span));
            }
            for variable in self.scope.variables.iter().filter(|v| !v.name.starts_with('\0')) {
                let text = variable.name.as_ref().into();
                let name = ast::Name { text, span: p.span };
                let kind = ExprKind::Variable(name);
                items.push((variable.name.clone(), ast::Expr { kind, span: p.span }));
            }
            items.sort_by(|a, b| a.0.cmp(&b.0));
        }
        let mut names: HashSet<Arc<str>> = items.iter().map(|(name, _)| name.clone()).collect();
        for ProjectionItem { expr, alias, span } in &p.items {
            let name: Arc<str> = match (alias, &expr.kind) {
                (Some(alias), _) => alias.text.as_ref().into(),
                (None, ExprKind::Variable(name)) => name.text.as_ref().into(),
                (None, ExprKind::MapProjection(m)) => m.variable.text.as_ref().into(),
                (None, _) if with => {
                    let message = "an expression in WITH needs a name: add AS ...";
                    return Err(self.syntax("NoExpressionAlias", message, *span));
                }
                (None, _) => expr.span.text(self.source).into(),
            };
            if !names.insert(name.clone()) {
                let message = format!("two columns have the name `{name}`");
                return Err(self.syntax("ColumnNameConflict", message, *span));
            }
            let goes_on = matches!(&expr.kind, ExprKind::Variable(v) if *v.text == *name);
            if self.is_constant(&name) && !goes_on {
                let message = format!(
                    "`{name}` is a variable of the query around this subquery, which sees it \
                     everywhere; give the new one another name"
                );
                let span = alias.as_ref().map_or(*span, |alias| alias.span);
                return Err(self.syntax("VariableAlreadyBound", message, span));
            }
            items.push((name, expr.clone()));
        }
        Ok(items)
    }

    /// Binds a projection; afterwards only its items are in scope, and what a subquery always sees.
    pub(crate) fn projection(
        &mut self,
        p: &Projection,
        filter: Option<&ast::Expr>,
        with: bool,
        input: Plan,
    ) -> Result<(Plan, Columns), QueryError> {
        if let Some(graph) = gds::graph_item(p) {
            return self.graph_projection(graph, (p, filter, with), input);
        }
        let items = self.items(p, with)?;
        let aggregates = items.iter().any(|(_, e)| syntax::has_aggregate(e));
        let kinds: Vec<(Kind, TypeSet)> =
            items.iter().map(|(_, e)| (self.kind_of(e), self.types_of(e))).collect();
        let writes = self.writes(&input);
        let before = std::mem::take(&mut self.scope);
        let bound = match aggregates {
            true => self.grouped(&items, (p, with), filter, &before, input)?,
            false => self.plain(&items, &kinds, p, filter, &before, input)?,
        };
        let Projected { mut plan, slots, sort, filter } = bound;
        let names = items.iter().map(|(name, _)| name.clone());
        let columns: Vec<(Arc<str>, Slot)> = names.zip(slots.iter().copied()).collect();
        columns.iter().for_each(|(name, slot)| self.name_slot(*slot, name));
        let behind = columns.iter().zip(kinds);
        let variable = |((name, slot), (kind, types)): (&(Arc<str>, Slot), (Kind, TypeSet))| {
            Variable { types, ..Variable::new(name.clone(), *slot, kind) }
        };
        self.scope = self.scope_behind(behind.map(variable));
        let skip = self.row_count(p.skip.as_ref(), "SKIP")?;
        let limit = self.row_count(p.limit.as_ref(), "LIMIT")?;
        if writes && (skip.is_some() || limit.is_some()) {
            // All rows do their work, whether they are wanted afterwards or not.
            plan = Plan::from(Eager { input: plan });
        }
        let mut late = Vec::new();
        if !sort.is_empty() && limit.is_some() && !writes {
            (plan, late) = delay(plan, &sort);
        }
        if !sort.is_empty() {
            let top = match (&skip, &limit) {
                (None, Some(limit)) => Some(limit.clone()),
                (Some(skip), Some(limit)) => Some(Expr::Binary(
                    crate::expr::Binary::Add,
                    Box::new(skip.clone()),
                    Box::new(limit.clone()),
                )),
                _ => None,
            };
            plan = Plan::from(Sort { input: plan, keys: sort, top, in_order: false });
        }
        if let Some(skip) = skip {
            plan = Plan::from(Skip { input: plan, count: skip });
        }
        if let Some(limit) = limit {
            plan = Plan::from(Limit { input: plan, count: limit });
        }
        if !late.is_empty() {
            plan = Plan::from(Extend { input: plan, items: late });
        }
        if let Some(filter) = filter {
            plan = Plan::from(Filter { input: plan, condition: filter });
        }
        let mut kept = slots;
        kept.extend(self.csv.into_iter().flat_map(|at| [at.line, at.file]));
        if with {
            let constants = self.constants.iter().map(|v| v.slot);
            let constants: Vec<Slot> = constants.filter(|slot| !kept.contains(slot)).collect();
            kept.extend(constants);
        }
        // Of columns that were kept, some are: `WITH x WITH x`.
        let input = match plan {
            Plan::Keep(p) => p.input,
            plan => plan,
        };
        Ok((Plan::from(Keep { input, slots: kept }), columns))
    }

    /// A projection without aggregation. Sort keys see the items and, unless rows are made
    /// distinct, what was in scope before.
    fn plain(
        &mut self,
        items: &[(Arc<str>, ast::Expr)],
        kinds: &[(Kind, TypeSet)],
        p: &Projection,
        filter: Option<&ast::Expr>,
        before: &Scope,
        input: Plan,
    ) -> Result<Projected, QueryError> {
        self.scope = before.clone();
        let mut extend = Vec::new();
        let mut slots = Vec::new();
        let mut known = Vec::new();
        let mut gone_on = HashSet::new();
        for (_, e) in items {
            watch::work(1)?;
            let bound = self.expression(e)?;
            let slot = match bound {
                // A variable that only goes on keeps its slot, unless it goes on twice.
                Expr::Slot(slot) if gone_on.insert(slot) => slot,
                bound => {
                    let slot = self.new_slot();
                    extend.push((slot, bound));
                    slot
                }
            };
            slots.push(slot);
            known.push((e.clone(), slot));
        }
        let mut plan = input;
        if !extend.is_empty() {
            plan = Plan::from(Extend { input: plan, items: extend });
        }
        let mut scope = if p.distinct { self.scope_behind([]) } else { before.clone() };
        if p.distinct {
            plan = Plan::from(Distinct { input: plan, slots: slots.clone() });
            // Of rows that became one, none has a line.
            self.csv = None;
        }
        let hidden: HashSet<&Arc<str>> = items.iter().map(|(name, _)| name).collect();
        scope.variables.retain(|v| !hidden.contains(&v.name));
        for (((name, _), slot), (_, types)) in items.iter().zip(&slots).zip(kinds) {
            let variable = Variable::new(name.clone(), *slot, Kind::Any);
            scope.variables.push(Variable { types: *types, ..variable });
        }
        self.scope = scope;
        let around = std::mem::replace(&mut self.aggregation, Aggregation::Known(known));
        let rest = self
            .sort_keys(p)
            .and_then(|sort| Ok((sort, filter.map(|filter| self.condition(filter)).transpose()?)));
        self.aggregation = around;
        let (sort, filter) = rest?;
        Ok(Projected { plan, slots, sort, filter })
    }

    /// A projection that aggregates: items without aggregating functions are the grouping keys.
    fn grouped(
        &mut self,
        items: &[(Arc<str>, ast::Expr)],
        (p, with): (&Projection, bool),
        filter: Option<&ast::Expr>,
        before: &Scope,
        input: Plan,
    ) -> Result<Projected, QueryError> {
        self.scope = before.clone();
        let mut keys: Vec<(Slot, Expr)> = Vec::new();
        let mut known: Vec<(ast::Expr, Slot)> = Vec::new();
        let mut slots: Vec<Option<Slot>> = Vec::new();
        for (_, e) in items {
            if syntax::has_aggregate(e) {
                slots.push(None);
                continue;
            }
            let bound = self.expression(e)?;
            let slot = self.new_slot();
            keys.push((slot, bound));
            known.push((e.clone(), slot));
            slots.push(Some(slot));
        }
        // Those that a subquery sees everywhere are grouping keys only where they are columns.
        let mut outer = before.slots();
        if with && self.constants_in_groups {
            outer.retain(|slot| self.constants.iter().all(|v| v.slot != *slot));
        }
        let (calls, in_list) = (Vec::new(), false);
        let collect = Aggregation::Collect { known, calls, outer, in_list };
        let around = std::mem::replace(&mut self.aggregation, collect);
        let rest = self.grouped_rest(items, p, filter, &mut slots);
        let collected = std::mem::replace(&mut self.aggregation, around);
        let (extend, sort, filter) = rest?;
        let Aggregation::Collect { calls, .. } = collected else {
            unreachable!("INVARIANT: put there above")
        };
        let aggregates = calls;
        let aggregate = Aggregate { input, keys, aggregates, by_node: None };
        let mut plan = Plan::Aggregate(Box::new(aggregate));
        if !self.constants.is_empty() {
            plan = self.with_argument(plan);
        }
        if !extend.is_empty() {
            plan = Plan::from(Extend { input: plan, items: extend });
        }
        let slots: Vec<Slot> = slots.into_iter().flatten().collect();
        if p.distinct {
            plan = Plan::from(Distinct { input: plan, slots: slots.clone() });
        }
        Ok(Projected { plan, slots, sort, filter })
    }

    /// Puts the rows of an aggregation beside those that the subquery began with, whose variables
    /// it sees everywhere. Where none of them is read, `prune` takes it out again.
    fn with_argument(&mut self, inner: Plan) -> Plan {
        let (columns, row) = (inner.bound_slots(), self.new_slot());
        let (input, optional) = (Plan::Argument, None);
        let (returns, by_row) = (true, true);
        Plan::from(Apply { input, inner, row, columns, optional, returns, by_row })
    }

    /// The items that aggregate, sort keys and filter, which see the items only.
    #[expect(clippy::type_complexity, reason = "columns to be computed, sort keys, filter")]
    fn grouped_rest(
        &mut self,
        items: &[(Arc<str>, ast::Expr)],
        p: &Projection,
        filter: Option<&ast::Expr>,
        slots: &mut [Option<Slot>],
    ) -> Result<(Vec<(Slot, Expr)>, Vec<(Expr, bool)>, Option<Expr>), QueryError> {
        let mut extend = Vec::new();
        for ((_, e), slot) in items.iter().zip(&mut *slots) {
            if slot.is_none() {
                let bound = self.expression(e)?;
                let made = self.new_slot();
                extend.push((made, bound));
                *slot = Some(made);
            }
        }
        let (mut whole, mut variables) = (Vec::new(), Vec::new());
        for ((name, e), slot) in items.iter().zip(slots) {
            let slot = slot.expect("INVARIANT: each was given one");
            whole.push((e.clone(), slot));
            variables.push(Variable::new(name.clone(), slot, Kind::Any));
        }
        self.scope = self.scope_behind(variables);
        if let Aggregation::Collect { outer, .. } = &mut self.aggregation {
            outer.clear();
        }
        let mut sort = Vec::new();
        for item in &p.order_by {
            let key = match whole.iter().find(|(e, _)| *e == item.expr) {
                Some((_, slot)) => Expr::Slot(*slot),
                None => self.expression(&item.expr)?,
            };
            sort.push((key, item.descending));
        }
        self.csv = None;
        let around = std::mem::replace(&mut self.aggregation, Aggregation::Known(whole));
        let filter = filter.map(|filter| self.condition(filter)).transpose();
        self.aggregation = around;
        Ok((extend, sort, filter?))
    }

    fn sort_keys(&mut self, p: &Projection) -> Result<Vec<(Expr, bool)>, QueryError> {
        let mut keys = Vec::new();
        for item in &p.order_by {
            keys.push((self.expression(&item.expr)?, item.descending));
        }
        Ok(keys)
    }

    /// The number of rows that `SKIP` or `LIMIT` names: it depends on no row.
    fn row_count(&mut self, e: Option<&ast::Expr>, what: &str) -> Result<Option<Expr>, QueryError> {
        let Some(e) = e else { return Ok(None) };
        let scope = std::mem::take(&mut self.scope);
        let bound = self.expression(e);
        self.scope = scope;
        let bound = match bound {
            Err(error) if error.detail == "UndefinedVariable" => {
                let message = format!("{what} cannot depend on a variable");
                return Err(self.syntax("NonConstantExpression", message, e.span));
            }
            bound => bound?,
        };
        let refuse = |detail: &str, message: String| {
            Err(self.error(ErrorKind::Syntax, detail, message, e.span))
        };
        match &bound {
            Expr::Const(telar_graph::Value::Int(n)) if *n < 0 => refuse(
                "NegativeIntegerArgument",
                format!("{what} {n} is negative; it must be an integer of 0 or more"),
            ),
            Expr::Const(telar_graph::Value::Int(_)) => Ok(Some(bound)),
            Expr::Const(value) => refuse(
                "InvalidArgumentType",
                format!("{what} needs an integer of 0 or more, found {}", value.type_name()),
            ),
            _ => Ok(Some(bound)),
        }
    }
}
