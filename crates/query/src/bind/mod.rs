//! From the syntax tree to a logical plan: names become slots, and what is wrong with a query,
//! whatever the graph holds, is found here.
//!
//! - `scope`: which variables there are, and what is known of them.
//! - `expression`: expressions, `kind`: what is known of their values, `types`: which types they
//!   may have.
//! - `projection`: `WITH` and `RETURN`, grouping, sorting.
//! - `pattern`: patterns of `MATCH` as nodes and relationships to be solved.
//! - `group`: paths that are repeated, `select`: paths of which only some are wanted.
//! - `hint`: what a query wishes of the optimiser, `counting`: what becomes of rows.
//! - `update`: clauses that change the graph.
//! - `clause`: everything else, and how clauses follow each other.
//! - `writes`: whether a plan changes the graph.
//! - `schema`, `show`: commands that are no queries, `database`: `USE`.
//! - `syntax`: walks over the syntax tree.

mod before;
mod clause;
mod counting;
mod database;
mod expression;
mod gds;
mod group;
mod hint;
mod kind;
mod pattern;
mod predicate;
mod projection;
mod schema;
mod scope;
mod search;
mod select;
mod show;
mod subquery;
mod syntax;
mod types;
mod update;
mod writes;

use std::collections::BTreeSet;
use std::sync::Arc;

use telar_cypher::ast::{
    Administration, CommandOutput, CopyWhat, Mode, Name, ShowTarget, Statement, StatementKind,
};
use telar_cypher::span::Span;
use telar_graph::Graph;

use crate::administration;
use crate::batch::Slot;
use crate::expr::Expr;
use crate::notification::{NotificationKind, UnknownName};
use crate::plan::Plan;
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, Position, QueryError};
use crate::schema::SchemaCommand;
use crate::watch;
use scope::{Scope, Variable};

pub use predicate::Read;
pub(crate) use predicate::{Condition, bind_condition};

/// Names that the database does not have of which a query is told, most.
const UNKNOWN_MAX: usize = 100;

/// Logical plan of a statement: clauses as operators, patterns as [`Match`](crate::plan::Match).
pub(crate) struct Logical {
    pub(crate) plan: Plan,
    /// The name of each variable, by slot, if it has one.
    pub(crate) slots: Vec<Option<Arc<str>>>,
}

/// A statement that was checked, but for its plan.
#[derive(Debug)]
pub(crate) struct Bound {
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
    /// `AT TIMESTAMP`
    pub(crate) at: Option<Expr>,
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
    /// `COPY`, of which the plan is the query, if it has one.
    pub(crate) copy: Option<Copied>,
}

/// A bound `COPY`.
#[derive(Debug)]
pub(crate) struct Copied {
    /// Labels or the type that a file goes to; none if the rows of the plan go to a file.
    pub(crate) into: Option<Vec<String>>,
    pub(crate) file: Expr,
    pub(crate) options: Vec<(String, Expr)>,
}

/// State of binding one statement.
pub(crate) struct Binder<'a> {
    source: &'a str,
    graph: &'a dyn Graph,
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
    /// Where the rows of `LOAD CSV` come from, for `linenumber()` and `file()`.
    csv: Option<CsvPlace>,
    /// The object that a condition given as a text is on.
    object: Option<predicate::Object>,
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
) -> Result<(Bound, Logical), QueryError> {
    let mut binder = Binder::new(source, graph, procedures);
    binder.find_database(statement)?;
    let (mut at, mut command, mut administration, mut copy) = (None, None, None, None);
    let (plan, columns) = match &statement.kind {
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
        StatementKind::Copy(c) => {
            let (into, bound) = match &c.what {
                CopyWhat::Out(query) => (None, binder.query(query, Plan::Unit, None)?),
                CopyWhat::Into(names) => {
                    let names = names.iter().map(|name| name.text.to_string()).collect();
                    (Some(names), (Plan::Unit, Vec::new()))
                }
            };
            if into.is_none() && (bound.0.writes() || bound.0.changes_schema()) {
                let message = "COPY TO takes a query that only reads";
                return Err(binder.syntax("InvalidClauseComposition", message, statement.span));
            }
            if into.is_none() && bound.1.is_empty() {
                let message = "COPY TO takes a query that ends with RETURN";
                return Err(binder.syntax("InvalidClauseComposition", message, statement.span));
            }
            let file = binder.expression(&c.file)?;
            let mut options = Vec::new();
            for (name, value) in &c.options {
                options.push((name.text.to_lowercase(), binder.expression(value)?));
            }
            if options.iter().map(|(_, value)| value).chain([&file]).any(Expr::has_subqueries) {
                let message = "the file and the options of COPY are plain values, no subqueries";
                return Err(binder.syntax("InvalidClauseComposition", message, statement.span));
            }
            copy = Some(Copied { into, file, options });
            bound
        }
        StatementKind::Administration(c) => {
            administration::parameters(c, |name| _ = binder.parameter(name));
            administration = Some(Arc::new(Administration::clone(c)));
            (Plan::Unit, Vec::new())
        }
    };
    watch::check()?;
    let copies_in = copy.as_ref().is_some_and(|copy: &Copied| copy.into.is_some());
    let writes = plan.writes() || copies_in;
    if writes && at.is_some() {
        let message = "a query of the past cannot change the graph";
        return Err(binder.syntax("InvalidClauseComposition", message, statement.span));
    }
    let in_transactions = plan
        .in_transactions()
        .map_err(|message| binder.syntax("InvalidClauseComposition", message, statement.span))?;
    let mode = statement.mode;
    let (parameters, unknown, database) = (binder.parameters, binder.unknown, binder.database);
    let bound = Bound {
        calls_schema: plan.changes_schema(),
        columns,
        mode,
        writes,
        in_transactions,
        parameters,
        at,
        unknown,
        database,
        command,
        asks_only_server: asks_only_server(&statement.kind),
        administration,
        copy,
    };
    Ok((bound, Logical { plan, slots: binder.slots }))
}

/// Whether a statement shows what the server knows, without expressions: they could read the graph.
fn asks_only_server(kind: &StatementKind) -> bool {
    use ShowTarget::{CurrentUser, Databases, Privileges, Roles, Servers, Settings, Users};
    let StatementKind::Show(show) = kind else { return false };
    let CommandOutput { yields, filter, returns } = &show.output;
    let plain = yields.is_none() && filter.is_none() && returns.is_none();
    let target = &show.target;
    let users = matches!(target, Users { .. } | CurrentUser | Roles { .. } | Privileges(_));
    let settings = matches!(target, Settings { names } if names.is_empty());
    plain && (users || settings || matches!(target, Databases(_) | Servers))
}

impl<'a> Binder<'a> {
    fn new(source: &'a str, graph: &'a dyn Graph, procedures: &'a Procedures) -> Self {
        Self {
            source,
            graph,
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
            csv: None,
            object: None,
        }
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
        self.slots.push(None);
        self.slots.len() - 1
    }

    /// Calls a slot by this name in plans, unless it has one.
    pub(crate) fn name_slot(&mut self, slot: Slot, name: &str) {
        self.slots[slot].get_or_insert_with(|| name.into());
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
