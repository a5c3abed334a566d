//! Queries as sequences of clauses.

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::{
    self, Call, CallSubquery, Clause, Let, LoadFormat, Match, MatchMode, Query, SingleQuery,
    SubqueryScope, Unwind,
};

use telar_cypher::span::Span;

use super::scope::{Kind, Scope, Variable};
use super::subquery::is_update;
use super::types::TypeSet;
use super::{Binder, CsvPlace, counting, syntax};
use crate::batch::Slot;
use crate::expr::{Expr, conjuncts};
use crate::files::FileFormat;
use crate::plan::pattern::Pattern;
use crate::plan::{
    self, Apply, Distinct, Eager, Extend, Filter, Keep, Limit, Match as MatchPlan, Plan, Union,
};
use crate::procedure;
use crate::query_error::{ErrorKind, QueryError};
use crate::watch;

/// Columns of a result: their names and slots.
pub(crate) type Columns = Vec<(Arc<str>, Slot)>;

impl Binder<'_> {
    /// Binds a whole query that begins with the rows of `input`, which is `Unit` or `Argument`. A
    /// `WITH` that comes first sees `importable`, if there is such a thing.
    pub(crate) fn query(
        &mut self,
        query: &Query,
        input: Plan,
        importable: Option<&Scope>,
    ) -> Result<(Plan, Columns), QueryError> {
        let outer = self.scope.clone();
        let csv = self.csv;
        let (first, columns) = self.single(&query.first, input.clone(), importable)?;
        self.csv = csv;
        if query.unions.is_empty() {
            return Ok((first, columns));
        }
        let common: Columns =
            columns.iter().map(|(name, _)| (name.clone(), self.new_slot())).collect();
        for (name, slot) in &common {
            self.name_slot(*slot, name);
        }
        let mut parts = vec![renamed(first, &columns, &common)];
        for union in &query.unions {
            self.scope = outer.clone();
            let (next, columns) = self.single(&union.query, input.clone(), importable)?;
            self.csv = csv;
            let by_name = |name: &Arc<str>| columns.iter().find(|(n, _)| n == name).cloned();
            let ordered: Option<Columns> = common.iter().map(|(name, _)| by_name(name)).collect();
            let Some(ordered) = ordered.filter(|o| o.len() == columns.len()) else {
                let message = "all parts of a UNION must return the same columns";
                return Err(self.syntax("DifferentColumnsInUnion", message, union.span));
            };
            parts.push(renamed(next, &ordered, &common));
        }
        let mut plan = Plan::from(Union { parts });
        // Either all are UNION ALL or none is.
        if query.unions.iter().any(|union| !union.all) {
            let slots = common.iter().map(|(_, slot)| *slot).collect();
            plan = Plan::from(Distinct { input: plan, slots });
        }
        self.scope = Scope::default();
        for (name, slot) in &common {
            self.scope.variables.push(Variable::new(name.clone(), *slot, Kind::Any));
        }
        Ok((plan, common))
    }

    fn single(
        &mut self,
        query: &SingleQuery,
        input: Plan,
        importable: Option<&Scope>,
    ) -> Result<(Plan, Columns), QueryError> {
        self.check_order(query)?;
        let first = query.clauses.iter().find(|clause| !matches!(clause, Clause::Use(_)));
        if let (Some(importable), Some(Clause::With(_))) = (importable, first) {
            self.scope = importable.clone();
        }
        let mut plan = input;
        let mut columns = Columns::new();
        let uses = matches!(query.clauses.first(), Some(Clause::Use(_)));
        let alone = query.clauses.len() == 1 + usize::from(uses);
        let mut clauses = &query.clauses[..];
        while let Some((clause, rest)) = clauses.split_first() {
            watch::check()?;
            let matches = counting::matches(clauses);
            if !matches.is_empty() {
                clauses = &clauses[matches.len()..];
                plan = self.match_clauses(&matches, counting::read_behind(clauses), plan)?;
                continue;
            }
            clauses = rest;
            if let Clause::Return(clause) = clause {
                (plan, columns) = self.projection(&clause.projection, None, false, plan)?;
                continue;
            }
            let (next, found) = self.clause(clause, plan, alone)?;
            plan = next;
            if let Some(found) = found {
                columns = found;
            }
        }
        Ok((plan, columns))
    }

    /// Clauses in an order that no query may have.
    fn check_order(&self, query: &SingleQuery) -> Result<(), QueryError> {
        let mut updated = false;
        for (at, clause) in query.clauses.iter().enumerate() {
            let last = at + 1 == query.clauses.len();
            match clause {
                Clause::Return(r) if !last => {
                    let message = "RETURN must be the last clause of a query";
                    return Err(self.syntax("InvalidClauseComposition", message, r.span));
                }
                Clause::With(_) => updated = false,
                Clause::Match(_) | Clause::Unwind(_) | Clause::Call(_) if updated => {
                    let message = "WITH is required between a clause that changes the graph and \
                                   one that reads it";
                    return Err(self.syntax("InvalidClauseComposition", message, clause.span()));
                }
                clause if is_update(clause) => updated = true,
                _ => {}
            }
        }
        Ok(())
    }

    /// Binds one clause that is no `RETURN`; a procedure called alone has columns.
    fn clause(
        &mut self,
        clause: &Clause,
        input: Plan,
        alone: bool,
    ) -> Result<(Plan, Option<Columns>), QueryError> {
        let plan = match clause {
            Clause::Match(clause) => match &clause.search {
                None => self.optional_match(clause, input)?,
                Some(search) => self.search_match(clause, search, input)?,
            },
            Clause::Unwind(clause) => self.unwind(clause, input)?,
            Clause::Let(clause) => self.let_clause(clause, input)?,
            Clause::Filter(clause) => self.filtered(Some(&clause.condition), input)?,
            Clause::With(with) => {
                let filter = with.filter.as_ref();
                self.projection(&with.projection, filter, true, input)?.0
            }
            Clause::Create(clause) => self.create(clause, input)?,
            Clause::Merge(clause) => self.merge(clause, input)?,
            Clause::Set(clause) => self.set(clause, input)?,
            Clause::Remove(clause) => self.remove(clause, input)?,
            Clause::Delete(clause) => self.delete(clause, input)?,
            Clause::Foreach(clause) => self.foreach(clause, input)?,
            Clause::Call(call) => return self.call(call, input, alone),
            Clause::CallSubquery(call) => self.call_subquery(call, input)?,
            Clause::LoadCsv(load) => {
                let source = self.expression(&load.source)?;
                let mut separator = load.terminator.as_deref().unwrap_or(",").chars();
                let separator = separator.next().filter(|_| separator.next().is_none());
                let slot = self.declare_new(&load.variable, Kind::Any)?;
                let (line, file) = (self.new_slot(), self.new_slot());
                let format = match load.format {
                    LoadFormat::Csv => FileFormat::Csv,
                    LoadFormat::Json => FileFormat::Json,
                    LoadFormat::Parquet => FileFormat::Parquet,
                    LoadFormat::Arrow => FileFormat::Arrow,
                };
                self.csv = Some(CsvPlace { line, file });
                Plan::from(plan::LoadCsv {
                    input,
                    format,
                    source,
                    headers: load.headers,
                    separator,
                    slot,
                    line,
                    file,
                    places: true,
                })
            }
            // Whatever comes before is run for what it does.
            Clause::Finish(_) => Plan::from(Limit {
                input: Plan::from(Eager { input }),
                count: Expr::Const(telar_graph::Value::Int(0)),
            }),
            Clause::Use(clause) => {
                self.check_database(clause)?;
                input
            }
            Clause::Return(_) => unreachable!("INVARIANT: bound by the caller"),
        };
        Ok((plan, None))
    }

    pub(crate) fn filtered(
        &mut self,
        filter: Option<&ast::Expr>,
        plan: Plan,
    ) -> Result<Plan, QueryError> {
        Ok(match filter {
            Some(filter) => Plan::from(Filter { input: plan, condition: self.condition(filter)? }),
            None => plan,
        })
    }

    /// Binds `MATCH` clauses that follow each other, behind which `read` is read if their rows are
    /// only counted.
    fn match_clauses(
        &mut self,
        matches: &[&Match],
        read: Option<HashSet<&str>>,
        input: Plan,
    ) -> Result<Plan, QueryError> {
        let mut plan = input;
        for clause in matches {
            watch::check()?;
            let before = self.scope.slots();
            let pattern = self.match_pattern(clause)?;
            plan = MatchPlan::new(plan, before, pattern).into();
        }
        if let (Plan::Match(p), Some(names)) = (&mut plan, read) {
            let slot = |name: &&str| self.scope.find(name).map(|variable| variable.slot);
            p.count_only = Some(names.iter().filter_map(slot).collect());
        }
        Ok(plan)
    }

    /// Binds the pattern of a clause and its condition.
    pub(super) fn match_pattern(&mut self, clause: &Match) -> Result<Pattern, QueryError> {
        let mut pattern = self.pattern(&clause.patterns)?;
        if clause.mode == MatchMode::RepeatableElements {
            self.check_repeatable(clause)?;
            pattern.allow_repeats();
        }
        pattern.hints = self.hints(&clause.hints)?;
        if let Some(filter) = &clause.filter {
            pattern.filter(conjuncts(self.condition(filter)?));
        }
        Ok(pattern)
    }

    fn optional_match(&mut self, clause: &Match, input: Plan) -> Result<Plan, QueryError> {
        let before = self.scope.slots();
        let pattern = self.match_pattern(clause)?;
        let inner = Plan::from(MatchPlan::new(Plan::Argument, before.iter().copied(), pattern));
        Ok(self.optionally(input, inner, &before))
    }

    /// Each row of `input` with those of `inner`, or with nulls if it has none; `before` are the
    /// places that there were before `inner`.
    pub(super) fn optionally(&mut self, input: Plan, inner: Plan, before: &[Slot]) -> Plan {
        let new: Vec<Slot> =
            self.scope.slots().into_iter().filter(|slot| !before.contains(slot)).collect();
        let row = self.new_slot();
        let (columns, optional) = (new.clone(), Some(new));
        let (returns, by_row) = (true, false);
        Plan::from(Apply { input, inner, row, columns, optional, returns, by_row })
    }

    /// Relationships that may come again would come again for ever.
    fn check_repeatable(&self, clause: &Match) -> Result<(), QueryError> {
        for path in &clause.patterns {
            if path.search != ast::PathSearch::All {
                let message = "REPEATABLE ELEMENTS is for patterns of which all paths are wanted";
                return Err(self.unsupported(message, path.span));
            }
            if let Some(span) = unbounded(path) {
                let message = "with REPEATABLE ELEMENTS a path needs a greatest length: {1,5}";
                return Err(self.syntax("InvalidPathPattern", message, span));
            }
        }
        Ok(())
    }

    /// The values do not see the new variables.
    fn let_clause(&mut self, clause: &Let, input: Plan) -> Result<Plan, QueryError> {
        let mut bound = Vec::with_capacity(clause.items.len());
        for item in &clause.items {
            let known = (self.kind_of(&item.value), self.types_of(&item.value));
            bound.push((self.expression(&item.value)?, known));
        }
        let mut columns = Vec::with_capacity(bound.len());
        for (item, (value, (kind, types))) in clause.items.iter().zip(bound) {
            let slot = self.declare_new(&item.variable, kind)?;
            self.narrow(slot, types);
            columns.push((slot, value));
        }
        Ok(Plan::from(Extend { input, items: columns }))
    }

    fn unwind(&mut self, clause: &Unwind, input: Plan) -> Result<Plan, QueryError> {
        let list = self.expression(&clause.list)?;
        let types = self.types_of(&clause.list).unwound();
        let slot = self.declare_new(&clause.variable, Kind::Any)?;
        self.narrow(slot, types);
        Ok(Plan::from(plan::Unwind { input, slot, list }))
    }

    pub(super) fn call(
        &mut self,
        call: &Call,
        input: Plan,
        alone: bool,
    ) -> Result<(Plan, Option<Columns>), QueryError> {
        let name = call.procedure.dotted();
        let procedures = self.procedures;
        let Some(procedure) = procedures.find(&name) else {
            let near = procedures.closest(&name);
            let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
            let message = format!("there is no procedure `{name}`{help}");
            let span = call.procedure.span;
            return Err(self.error(ErrorKind::Procedure, "ProcedureNotFound", message, span));
        };
        let fields = procedure.arguments();
        let arguments = match &call.arguments {
            Some(arguments) => {
                let needed = fields.iter().take_while(|field| field.default.is_none()).count();
                if !(needed..=fields.len()).contains(&arguments.len()) {
                    let signature = procedure::signature(&name, &**procedure);
                    let given = arguments.len();
                    let message = format!("{signature} was given {given} arguments");
                    return Err(self.syntax("InvalidNumberOfArguments", message, call.span));
                }
                for (field, argument) in fields.iter().zip(arguments) {
                    self.check_argument(field, argument)?;
                }
                let mut bound = self.expressions(arguments)?;
                let left_out = fields[arguments.len()..].iter();
                bound.extend(left_out.filter_map(|f| f.default.clone()).map(Expr::Const));
                bound
            }
            None if alone => fields
                .iter()
                .map(|field| match &field.default {
                    Some(default) => Expr::Const(default.clone()),
                    None => self.parameter(&field.name),
                })
                .collect(),
            None => {
                let message = "inside a query the arguments of a procedure must be written down";
                return Err(self.syntax("InvalidArgumentPassingMode", message, call.span));
            }
        };
        let mut yields = Vec::new();
        let mut columns = Columns::new();
        let filter = call.yields.as_ref().and_then(|y| y.filter.as_ref());
        let star = call.yields.as_ref().is_some_and(|y| y.star);
        match &call.yields {
            Some(items) if !items.star => {
                for item in &items.items {
                    let column = &item.column;
                    let at = procedure.columns().iter().position(|c| *c.name == *column.text);
                    let Some(at) = at else {
                        let message = format!("{name} has no column `{}`", column.text);
                        return Err(self.syntax("UndefinedVariable", message, column.span));
                    };
                    let variable = item.alias.as_ref().unwrap_or(column);
                    let slot = self.declare_new(variable, Kind::Any)?;
                    yields.push((at, slot));
                    columns.push((variable.text.as_ref().into(), slot));
                }
            }
            _ if alone || star => {
                for (at, column) in procedure.columns().iter().enumerate() {
                    let slot = self.declare(&column.name, Kind::Any);
                    yields.push((at, slot));
                    columns.push((column.name.clone(), slot));
                }
            }
            None if procedure.columns().is_empty() => {}
            _ => {
                let message = format!("name the columns of {name} that are wanted: YIELD ...");
                return Err(self.syntax("InvalidClauseComposition", message, call.span));
            }
        }
        let plan = Plan::from(plan::Call {
            input,
            name: name.into(),
            procedure: procedure::Bound(procedure.clone()),
            arguments,
            yields,
            optional: call.optional,
        });
        let plan = self.filtered(filter, plan)?;
        Ok((plan, alone.then_some(columns)))
    }

    fn check_argument(
        &self,
        field: &procedure::Field,
        argument: &ast::Expr,
    ) -> Result<(), QueryError> {
        if let ast::ExprKind::Literal(literal) = &argument.kind {
            let mut value = super::expression::literal_value(literal);
            if field.coerce(&mut value).is_err() {
                let message = format!(
                    "argument `{}` expects {}, found {}",
                    field.name,
                    field.of,
                    value.type_name()
                );
                return Err(self.syntax("InvalidArgumentType", message, argument.span));
            }
        }
        let wanted = match TypeSet::named(&field.of.to_string()) {
            // An integer is taken for a float.
            TypeSet::FLOAT => TypeSet::NUMBER,
            wanted => wanted,
        };
        self.expect_types(argument, wanted)?;
        if syntax::has_aggregate(argument) {
            let message = "an aggregating function cannot stand in the arguments of a procedure";
            return Err(self.syntax("InvalidAggregation", message, argument.span));
        }
        Ok(())
    }

    fn call_subquery(&mut self, call: &CallSubquery, input: Plan) -> Result<Plan, QueryError> {
        let outer = self.scope.clone();
        let mut imported = Scope::default();
        match &call.scope {
            SubqueryScope::All => imported = outer.clone(),
            SubqueryScope::Variables(names) => {
                for name in names {
                    imported.variables.push(self.variable(name)?.clone());
                }
            }
            // The WITH at the start of each of its queries sees all and lets some through.
            SubqueryScope::Importing => {}
        }
        let importing = matches!(call.scope, SubqueryScope::Importing);
        let (inner, columns) = self.subquery_body(call, &outer, imported, importing)?;
        let nulls = call.optional || call.transactions.is_some();
        let (inner, slots) = match nulls {
            true => self.with_own_columns(inner, &columns, &outer),
            false => (inner, columns.iter().map(|(_, slot)| *slot).collect()),
        };
        let returned = std::mem::replace(&mut self.scope, outer);
        let mut new = Vec::new();
        for ((name, slot), own) in columns.iter().zip(slots) {
            if self.scope.find(name).is_some() {
                let message =
                    format!("the subquery returns `{name}`, which exists outside already");
                return Err(self.syntax("VariableAlreadyBound", message, call.span));
            }
            let known = returned.variables.iter().find(|v| v.slot == *slot);
            let types = known.map_or(TypeSet::ANY, |v| v.types);
            let variable = Variable::new(name.clone(), own, Kind::Any);
            self.scope.variables.push(Variable { types, ..variable });
            new.push(own);
        }
        let returns = !columns.is_empty();
        let row = self.new_slot();
        let optional = call.optional.then(|| new.clone());
        let apply = Apply { input, inner, row, columns: new, optional, returns, by_row: true };
        match &call.transactions {
            None => Ok(Plan::Apply(Box::new(apply))),
            Some(transactions) => self.in_transactions(transactions, apply),
        }
    }

    /// The plan of a subquery and the slots of its columns, none of which is a slot of the outer
    /// row: `RETURN x AS y` returns the slot of `x`. A row for which the subquery returns nothing
    /// gets nulls in the columns, and must keep its own values.
    fn with_own_columns(
        &mut self,
        inner: Plan,
        columns: &Columns,
        outer: &Scope,
    ) -> (Plan, Vec<Slot>) {
        let (mut slots, mut copies) = (Vec::new(), Vec::new());
        for &(_, slot) in columns {
            let is_outer = outer.variables.iter().any(|variable| variable.slot == slot);
            let own = if is_outer { self.new_slot() } else { slot };
            if is_outer {
                copies.push((own, Expr::Slot(slot)));
            }
            slots.push(own);
        }
        match copies.is_empty() {
            true => (inner, slots),
            false => (Plan::from(Extend { input: inner, items: copies }), slots),
        }
    }

    fn in_transactions(
        &mut self,
        transactions: &ast::InTransactions,
        apply: Apply,
    ) -> Result<Plan, QueryError> {
        let on_error = transactions.on_error;
        let rows = match &transactions.rows {
            None => Expr::Const(telar_graph::Value::Int(1000)),
            // The same for all rows: it knows none.
            Some(rows) => self.inner_scope(|b| {
                b.scope = Scope::default();
                b.expression(rows)
            })?,
        };
        if let (Expr::Const(telar_graph::Value::Int(n @ ..1)), Some(e)) =
            (&rows, &transactions.rows)
        {
            let message = format!("{n} rows cannot be a transaction; it takes 1 or more");
            return Err(self.syntax("NegativeIntegerArgument", message, e.span));
        }
        let status = match &transactions.status {
            Some(name) if on_error == ast::OnError::Fail => {
                let message = "REPORT STATUS needs ON ERROR CONTINUE or ON ERROR BREAK";
                return Err(self.syntax("InvalidClauseComposition", message, name.span));
            }
            Some(name) => Some(self.declare_new(name, Kind::Map)?),
            None => None,
        };
        let p = plan::InTransactions { apply, rows, on_error, status };
        Ok(Plan::InTransactions(Box::new(p)))
    }

    fn subquery_body(
        &mut self,
        call: &CallSubquery,
        outer: &Scope,
        imported: Scope,
        importing: bool,
    ) -> Result<(Plan, Columns), QueryError> {
        let around = std::mem::take(&mut self.aggregation);
        let csv = self.csv.take();
        let constants = imported.variables.clone();
        let importable = importing.then_some(outer);
        self.scope = imported;
        let bound = self
            .with_constants(constants, false, |b| b.query(&call.query, Plan::Argument, importable));
        self.aggregation = around;
        self.csv = csv;
        bound
    }
}

/// The rows of a plan, their columns moved to other slots.
fn renamed(plan: Plan, from: &Columns, to: &Columns) -> Plan {
    let moves = from.iter().zip(to).map(|((_, a), (_, b))| (*b, Expr::Slot(*a))).collect();
    let kept = to.iter().map(|(_, slot)| *slot).collect();
    Plan::from(Keep { input: Plan::from(Extend { input: plan, items: moves }), slots: kept })
}

/// Where a path has no greatest length.
fn unbounded(path: &ast::PathPattern) -> Option<Span> {
    path.parts.iter().find_map(|part| match part {
        ast::PathPart::Node(_) => None,
        ast::PathPart::Relationship(r) => {
            let length = r.length.filter(|length| length.max.is_none()).map(|length| length.span);
            length.or(r.quantifier.filter(|times| times.max.is_none()).map(|times| times.span))
        }
        ast::PathPart::Group(group) => {
            let times = group.quantifier.filter(|times| times.max.is_none());
            times.map(|times| times.span).or_else(|| unbounded(&group.path))
        }
    })
}
