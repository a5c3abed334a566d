//! From the syntax tree to a plan: names become slots, and what is wrong with a query, whatever
//! the graph holds, is found here.
//!
//! - `scope`: which variables there are, and what is known of them.
//! - `expression`: expressions, `kind`: what is known of their values, `types`: which types they
//!   may have.
//! - `projection`: `WITH` and `RETURN`, grouping, sorting.
//! - `pattern`: patterns of `MATCH` as nodes and relationships to be solved.
//! - `group`: paths that are repeated, `select`: paths of which only some are wanted.
//! - `solve`: the order in which they are, `hint`: what a query wishes of it.
//! - `update`: clauses that change the graph.
//! - `clause`: everything else, and how clauses follow each other.
//! - `writes`: whether a plan changes the graph.
//! - `schema`, `show`: commands that are no queries, `database`: `USE`.
//! - `syntax`: walks over the syntax tree.

mod clause;
mod counting;
mod database;
mod expression;
mod group;
mod hint;
mod kind;
mod pattern;
mod projection;
mod schema;
mod scope;
mod select;
mod show;
mod solve;
mod subquery;
mod syntax;
mod types;
mod update;
mod writes;

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use telar_cypher::ast::{
    Administration, CommandOutput, Mode, Name, ShowTarget, Statement, StatementKind,
};
use telar_cypher::span::Span;
use telar_graph::Graph;

use crate::administration;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::notification::{NotificationKind, UnknownName};
use crate::plan::estimate::Counts;
use crate::plan::{Plan, Slots, Wanted, parallelise, prune, separate, shorten};
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, Position, QueryError};
use crate::schema::SchemaCommand;
use crate::watch;
use scope::{Scope, Variable};

/// Most levels of a plan that is shown: programs that read it have a call for each, and drivers
/// give up at about as many.
const SHOWN_LEVELS_MAX: usize = 1000;

/// Names that the database does not have of which a query is told, most.
const UNKNOWN_MAX: usize = 100;

/// A query that is ready to run.
#[derive(Debug)]
pub(crate) struct Bound {
    pub(crate) plan: Plan,
    /// Names of the result's columns, and where they are.
    pub(crate) columns: Vec<(Arc<str>, Slot)>,
    pub(crate) mode: Mode,
    pub(crate) writes: bool,
    /// It calls a procedure that changes indexes or constraints.
    pub(crate) calls_schema: bool,
    /// It begins transactions of its own.
    pub(crate) in_transactions: bool,
    /// Names of the parameters it needs.
    pub(crate) parameters: BTreeSet<Arc<str>>,
    /// Levels of operators and expressions.
    pub(crate) height: usize,
    /// How often planning asked how many rows an operator returns.
    pub(crate) estimates: usize,
    /// `AT TIMESTAMP`
    pub(crate) at: Option<Expr>,
    /// Names of the variables, by slot.
    pub(crate) names: Vec<Arc<str>>,
    /// Names that the database does not have.
    pub(crate) unknown: Vec<UnknownName>,
    /// The database that `USE` names, in small letters.
    pub(crate) database: Option<Arc<str>>,
    /// A command instead of a plan.
    pub(crate) command: Option<SchemaCommand>,
    /// It reads nothing of the graph, only what the server knows.
    pub(crate) asks_only_server: bool,
    /// A command for a server instead of a plan.
    pub(crate) administration: Option<Arc<Administration>>,
}

/// State of binding one statement.
pub(crate) struct Binder<'a> {
    source: &'a str,
    graph: &'a dyn Graph,
    counts: OnceCell<Counts<'a>>,
    /// What is expected of plans made so far.
    known: solve::Known,
    known_writes: writes::KnownWrites,
    procedures: &'a Procedures,
    /// The name of each slot, if it has one.
    slots: Vec<Option<Arc<str>>>,
    unknown: Vec<UnknownName>,
    scope: Scope,
    /// Variables of the query around a subquery, which all of it sees.
    constants: Vec<Variable>,
    /// True if they may stand beside aggregating functions in `WITH`: in `EXISTS`, `COUNT` and
    /// `COLLECT`, as in Neo4j.
    constants_in_groups: bool,
    parameters: BTreeSet<Arc<str>>,
    /// What aggregating functions mean here.
    aggregation: projection::Aggregation,
    /// The database that `USE` names, in small letters.
    database: Option<Arc<str>>,
    /// Where the rows of the pattern that is solved next are only counted: variables that are read
    /// behind it.
    counted: Option<HashSet<Slot>>,
    /// Where the rows of `LOAD CSV` come from, for `linenumber()` and `file()`.
    csv: Option<CsvPlace>,
}

/// Slots that say where a row of `LOAD CSV` comes from.
#[derive(Debug, Clone, Copy)]
struct CsvPlace {
    line: Slot,
    file: Slot,
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
        counts: OnceCell::new(),
        known: solve::Known::default(),
        known_writes: writes::KnownWrites::default(),
        procedures,
        slots: Vec::new(),
        unknown: Vec::new(),
        scope: Scope::default(),
        constants: Vec::new(),
        constants_in_groups: false,
        parameters: BTreeSet::new(),
        aggregation: projection::Aggregation::Forbidden,
        database: None,
        counted: None,
        csv: None,
    };
    binder.find_database(statement)?;
    let (mut at, mut command, mut administration) = (None, None, None);
    let (mut plan, columns) = match &statement.kind {
        StatementKind::Query { at: time, query } => {
            at = time.as_ref().map(|at| binder.expression(at)).transpose()?;
            binder.query(query, Plan::Unit, None)?
        }
        StatementKind::Show(show) => binder.show(show, statement.span)?,
        StatementKind::Terminate(c) => binder.terminate(c, statement.span)?,
        StatementKind::Transactions(all) => binder.transaction_commands(all)?,
        StatementKind::CreateIndex(c) => {
            command = Some(binder.create_index(c)?);
            (Plan::Unit, Vec::new())
        }
        StatementKind::CreateConstraint(c) => {
            command = Some(binder.create_constraint(c)?);
            (Plan::Unit, Vec::new())
        }
        StatementKind::Drop(c) => {
            command = Some(binder.drop_rule(c));
            (Plan::Unit, Vec::new())
        }
        StatementKind::Administration(c) => {
            administration::parameters(c, |name| _ = binder.parameter(name));
            administration = Some(Arc::new(Administration::clone(c)));
            (Plan::Unit, Vec::new())
        }
    };
    watch::check()?;
    let needed = columns.iter().map(|(_, slot)| *slot).collect();
    let planning = procedures.planning;
    if planning.pruning {
        prune(&mut plan, &needed, &Slots::new());
    }
    if planning.shortcuts {
        shorten(&mut plan, Wanted::All, &mut || binder.new_slot());
    }
    let writes = plan.writes();
    if writes && at.is_some() {
        let message = "a query of the past cannot change the graph";
        return Err(binder.syntax("InvalidClauseComposition", message, statement.span));
    }
    if writes {
        let columns: Vec<Slot> = columns.iter().map(|(_, slot)| *slot).collect();
        separate(&mut plan, &columns);
    }
    let in_transactions = plan
        .in_transactions()
        .map_err(|message| binder.syntax("InvalidClauseComposition", message, statement.span))?;
    if !writes && !in_transactions {
        parallelise(&mut plan);
    }
    watch::check()?;
    let height = plan.height();
    if statement.mode != Mode::Run && plan.shown_levels() > SHOWN_LEVELS_MAX {
        let message = format!(
            "EXPLAIN and PROFILE show plans of at most {SHOWN_LEVELS_MAX} operators one above the \
             other, and the plan of this statement has more"
        );
        return Err(binder.error(ErrorKind::NotSupported, "PlanTooDeep", message, statement.span));
    }
    let estimates = binder.counts.get().map_or(0, Counts::asked);
    let (mode, names) = (statement.mode, binder.slot_names());
    let (parameters, unknown, database) = (binder.parameters, binder.unknown, binder.database);
    Ok(Bound {
        calls_schema: plan.changes_schema(),
        plan,
        columns,
        mode,
        writes,
        in_transactions,
        parameters,
        height,
        estimates,
        at,
        names,
        unknown,
        database,
        command,
        asks_only_server: asks_only_server(&statement.kind),
        administration,
    })
}

/// Whether a statement shows what the server knows, without expressions: they could read the graph.
fn asks_only_server(kind: &StatementKind) -> bool {
    use ShowTarget::{CurrentUser, Databases, Privileges, Roles, Settings, Users};
    let StatementKind::Show(show) = kind else { return false };
    let CommandOutput { yields, filter, returns } = &show.output;
    let plain = yields.is_none() && filter.is_none() && returns.is_none();
    let target = &show.target;
    let users = matches!(target, Users { .. } | CurrentUser | Roles { .. } | Privileges(_));
    let settings = matches!(target, Settings { names } if names.is_empty());
    plain && (users || settings || matches!(target, Databases(_)))
}

impl<'a> Binder<'a> {
    /// What the graph holds, about.
    fn counts(&self) -> &Counts<'a> {
        self.counts.get_or_init(|| Counts::of(self.graph))
    }

    /// The value of a parameter.
    pub(crate) fn parameter(&mut self, name: &str) -> Expr {
        let name: Arc<str> = name.into();
        self.parameters.insert(name.clone());
        Expr::Param(name)
    }

    pub(crate) fn new_slot(&mut self) -> Slot {
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// Calls a slot by this name in plans, unless it has one.
    pub(crate) fn name_slot(&mut self, slot: Slot, name: &str) {
        self.slots[slot].get_or_insert_with(|| name.into());
    }

    /// The name of each slot; those without one are numbered.
    fn slot_names(&self) -> Vec<Arc<str>> {
        let mut unnamed = 0..;
        let mut next = || format!("anon_{}", unnamed.next().unwrap_or(0)).into();
        self.slots.iter().map(|name| name.clone().unwrap_or_else(&mut next)).collect()
    }

    /// Notes a name that is read, if the database does not have it.
    pub(crate) fn reads_name(&mut self, kind: NotificationKind, name: &Name) {
        if self.unknown.len() >= UNKNOWN_MAX {
            return;
        }
        let range = name.span.range();
        let known = match kind {
            // After a colon behind a variable, it may be either.
            NotificationKind::UnknownLabel => {
                self.graph.find_label(&name.text).is_some()
                    || self.graph.find_edge_type(&name.text).is_some()
            }
            NotificationKind::UnknownType => self.graph.find_edge_type(&name.text).is_some(),
            _ => self.graph.find_property_key(&name.text).is_some(),
        };
        let again = |u: &UnknownName| u.kind == kind && u.name == name.text;
        if !known && !self.unknown.iter().any(again) {
            let position = Position::of(self.source, range.start);
            let name = name.text.clone();
            self.unknown.push(UnknownName { kind, name, position });
        }
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
