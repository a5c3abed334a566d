//! From a text to a plan that this session may run.

use std::sync::Arc;
use std::time::Instant;

use telar_graph::Graph;
use telar_query::watch::{self, watched};
use telar_query::{
    Context, ErrorKind, Limits, Listed, Moment, Prepared, QueryError, StatementKind,
};

use super::Session;

/// Bytes of memory that a statement's tree and plan may take for each byte of its text.
const TREE_BYTES: usize = 32;

/// True for a statement that needs a transaction.
pub(super) fn changes(plan: &Prepared) -> bool {
    !plan.explains() && (plan.writes() || plan.changes_schema())
}

/// A statement that runs by itself: planning is a part of it.
pub(super) struct Began {
    pub(super) listed: Listed,
    pub(super) context: Context,
    pub(super) limits: Limits,
}

impl Began {
    pub(super) fn new(session: &Session, deadline: Option<Instant>) -> Self {
        let now = Moment::now();
        let listed = session.list(now);
        let limits = session.limits_of(&listed, deadline);
        Self { listed, context: Context::alone(now), limits }
    }

    pub(super) fn plan(&self, session: &Session, text: &str) -> Result<Arc<Prepared>, QueryError> {
        let list = |text| self.listed.set_only_query(text);
        session.plan(text, Planned { graph: None, limits: &self.limits, list: &list })
    }
}

/// A statement that is about to be planned.
pub(super) struct Planned<'p> {
    /// Graph that it is planned for; without one a snapshot is opened, if it has to be planned.
    pub(super) graph: Option<&'p dyn Graph>,
    pub(super) limits: &'p Limits,
    /// Lists its text.
    pub(super) list: &'p dyn Fn(Arc<str>),
}

impl Session {
    /// The plan of a statement, which from now on is seen by who looks.
    fn prepared(&self, text: &str, planned: Planned<'_>) -> Result<Arc<Prepared>, QueryError> {
        // Read first: a plan made while an index comes is made again.
        let version = self.backend.planning_version();
        if let Some(plan) = self.runtime.plan(text, version) {
            (planned.list)(Arc::clone(plan.text()));
            return Ok(plan);
        }
        // Who looks sees no passwords.
        let shown = telar_query::cypher::without_secrets(text);
        (planned.list)(shown.as_ref().into());
        let plan = Arc::new(match planned.graph {
            Some(graph) => self.prepare(text, graph, planned.limits)?,
            None => self.prepare(text, &*self.backend.snapshot()?, planned.limits)?,
        });
        // What is kept holds no passwords.
        if plan.administration().is_none() {
            self.runtime.keep(&plan, version);
        }
        Ok(plan)
    }

    fn prepare(
        &self,
        text: &str,
        graph: &dyn Graph,
        limits: &Limits,
    ) -> Result<Prepared, QueryError> {
        watched(limits, || {
            watch::room(text.len().saturating_mul(TREE_BYTES))?;
            telar_query::prepare(text, graph, self.runtime.procedures())
        })
    }

    /// The plan of a statement that may run: once for each, whatever runs it.
    pub(super) fn plan(
        &self,
        text: &str,
        planned: Planned<'_>,
    ) -> Result<Arc<Prepared>, QueryError> {
        if let Some(host) = &self.host {
            host.admit(text)?;
        }
        let plan = self.prepared(text, planned)?;
        match &self.host {
            Some(host) => host.allow(&plan)?,
            None => self.check_database(&plan)?,
        }
        self.check_once(&plan)?;
        let administers = plan.administration().is_some() && !plan.explains();
        if self.read_only && (changes(&plan) || administers) {
            let message = "the statement changes the database, in a session that only reads";
            return Err(QueryError::compile(ErrorKind::AccessMode, "ReadOnly", message));
        }
        Ok(plan)
    }

    /// Plans a statement and does not run it: for editors, which ask while somebody types. Its plan
    /// is not kept, as what is typed is seldom run.
    ///
    /// # Errors
    /// As if it was run, as far as this is known before.
    pub fn check(&self, text: &str) -> Result<StatementKind, QueryError> {
        if let Some(host) = &self.host {
            host.admit(text)?;
        }
        let began = Began::new(self, self.deadline());
        (began.listed).set_only_query(telar_query::cypher::without_secrets(text).as_ref().into());
        let plan = self.prepare(text, &*self.backend.snapshot()?, &began.limits)?;
        match &self.host {
            Some(host) => host.allow(&plan)?,
            None => self.check_database(&plan)?,
        }
        Ok(plan.kind())
    }

    /// Refuses `USE` of another database: without a server there is one.
    fn check_database(&self, plan: &Prepared) -> Result<(), QueryError> {
        let own = &self.runtime.procedures().database;
        match plan.database() {
            Some(name) if *name != *own.to_lowercase() => {
                let message = format!("graph not found: {name}; this session is one of {own}");
                let kind = ErrorKind::EntityNotFound;
                Err(QueryError::compile(kind, "GraphNotFound", message))
            }
            _ => Ok(()),
        }
    }

    /// The database that a statement asks for with `USE`, in small letters, if it does: by this a
    /// server that has several chooses the session that runs it.
    ///
    /// # Errors
    /// Whatever is wrong with the statement before it runs.
    ///
    /// *Cost*: that of preparing it, once; the plan is kept.
    pub fn database_of(&self, text: &str) -> Result<Option<Arc<str>>, QueryError> {
        let Began { listed, limits, .. } = Began::new(self, self.deadline());
        let list = |text| listed.set_only_query(text);
        let plan = self.prepared(text, Planned { graph: None, limits: &limits, list: &list })?;
        Ok(plan.database().map(Arc::from))
    }
}
