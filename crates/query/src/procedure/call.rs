//! The statement that a procedure is called by, as far as it may use it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use telar_graph::update::IndexedObjects;
use telar_graph::{EdgeId, Graph, PropertyKeyId, SchemaKind, Update, Value, ValueMap, VertexId};

use super::changes::Changes;
use super::{Mode, Procedure, Procedures};
use crate::batch::Slot;
use crate::exec::Exec;
use crate::host::Host;
use crate::query::Prepared;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;
use crate::running::{Entry, Progress};
use crate::schema::CreateParts;
use crate::sink::Sink;
use crate::watch::Limits;
use crate::workers::SharedSnapshot;

/// The running statement, as procedures see it: [`Exec`] without its lifetime
/// (`exec/statement.rs`).
pub(crate) trait Statement {
    fn graph(&self) -> &dyn Graph;
    fn update(&mut self) -> Result<&mut dyn Update, QueryError>;
    fn check(&self) -> Result<(), QueryError>;
    fn room(&self, bytes: usize, who: &str) -> Result<(), QueryError>;
    fn limits(&self) -> &Limits;
    fn snapshot(&self) -> Option<&dyn SharedSnapshot>;
    fn procedures(&self) -> &Procedures;
    fn host(&self) -> Option<&dyn Host>;
    fn entry(&self) -> Option<Arc<Entry>>;
    fn nested<'a>(&'a self, parameters: &'a ValueMap) -> Exec<'a>;
    fn nested_plan(
        &mut self,
        text: &str,
        parameters: &ValueMap,
    ) -> Result<Arc<Prepared>, QueryError>;
    fn run_nested(
        &mut self,
        plan: &Prepared,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError>;

    fn run_committed(
        &self,
        plan: &Prepared,
        sets: &[ValueMap],
        sink: &mut dyn Sink,
    ) -> Result<Counters, QueryError>;
    fn create_node(&mut self, labels: &[&str], of: ValueMap) -> Result<VertexId, QueryError>;
    fn create_relationship(
        &mut self,
        ty: &str,
        ends: (VertexId, VertexId),
        of: ValueMap,
    ) -> Result<EdgeId, QueryError>;
    fn set_property(&mut self, of: &Value, key: &str, value: Value) -> Result<(), QueryError>;
    fn add_label(&mut self, node: VertexId, name: &str) -> Result<bool, QueryError>;
    fn remove_label(&mut self, node: VertexId, name: &str) -> Result<bool, QueryError>;
    fn delete(&mut self, object: &Value, detach: bool) -> Result<(), QueryError>;
    fn begins_transactions(&self) -> bool;
    fn is_deleted(&self, object: &Value) -> bool;
    fn counters(&self) -> &Counters;
    fn import_path(&self, address: &str) -> Result<PathBuf, String>;
    fn create_rule(
        &mut self,
        name: &str,
        objects: IndexedObjects,
        properties: &[PropertyKeyId],
        kind: SchemaKind,
    ) -> Result<(), QueryError>;
    fn drop_rule(&mut self, name: &str) -> Result<(), QueryError>;
    fn create_parts(
        &mut self,
        create: &CreateParts,
        name: &str,
        options: &Value,
    ) -> Result<(), QueryError>;
}

/// The statement that a procedure is called by, as far as it may use it.
pub struct CallContext<'a> {
    statement: &'a mut dyn Statement,
    mode: Mode,
    /// Number of each column that is used, with its slot.
    yields: &'a [(usize, Slot)],
}

impl<'a> CallContext<'a> {
    pub(crate) fn new(
        cx: &'a mut Exec<'_>,
        procedure: &dyn Procedure,
        yields: &'a [(usize, Slot)],
    ) -> Self {
        Self { statement: cx, mode: procedure.mode(), yields }
    }
}

impl CallContext<'_> {
    /// The graph as the statement sees it: its snapshot, the past it asked for, or its transaction
    /// with everything that was changed in it so far.
    #[must_use]
    pub fn graph(&self) -> &dyn Graph {
        self.statement.graph()
    }

    /// Changes in the statement's transaction. They are counted among those of the statement, as is
    /// the memory that they take; [`graph`](Self::graph) shows them at once.
    ///
    /// # Errors
    /// If the procedure is not one that [writes](Mode::Write) or changes the
    /// [schema](Mode::Schema).
    pub fn changes(&mut self) -> Result<Changes<'_>, QueryError> {
        if !self.mode.changes() {
            let message = format!("a procedure of mode {} changes nothing", self.mode.name());
            return Err(QueryError::runtime(ErrorKind::AccessMode, "ReadOnly", message));
        }
        Ok(Changes { statement: self.statement })
    }

    /// True if the statement uses this column of the procedure. One that it does not use may be
    /// null, where its values cost something.
    #[must_use]
    pub fn uses_column(&self, column: usize) -> bool {
        self.yields.iter().any(|(used, _)| *used == column)
    }

    /// Fails if the statement is to end: asked in every loop that can be long, at least each
    /// millisecond or so. *Cost*: some flags and the clock.
    ///
    /// # Errors
    /// If the statement was terminated, has used up its time, or the server its memory.
    pub fn check(&self) -> Result<(), QueryError> {
        self.statement.check()
    }

    /// Fails unless the statement and the server have room for so many bytes more; `who` is named
    /// in the error. Asked before much is allocated. The bytes count once the rows hold them
    /// ([`RowSource::bytes`](super::RowSource::bytes)).
    ///
    /// # Errors
    /// [`OutOfMemory`](ErrorKind::OutOfMemory), with the bytes and the setting that bounds them.
    pub fn room(&self, bytes: usize, who: &str) -> Result<(), QueryError> {
        self.statement.room(bytes, who)
    }

    /// Limits of the statement. [`Limits::check`] can be asked on every thread that works for it.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        self.statement.limits()
    }

    /// The graph for several threads, if the statement only reads, and no other thread works for it
    /// already. It shows what [`graph`](Self::graph) does.
    #[must_use]
    pub fn snapshot(&self) -> Option<&dyn SharedSnapshot> {
        self.statement.snapshot()
    }

    /// Says how much of the work is done, for `statusDetails` of `SHOW TRANSACTIONS`. *Cost*: a
    /// look through what runs; some times per second are enough.
    pub fn progress(&self, done: u64, total: u64) {
        self.progress_of_threads()(done, total);
    }

    /// The same for the threads that work for the statement. *Cost*: a look through what runs, and
    /// then a lock for each call of what it returns.
    pub fn progress_of_threads(&self) -> impl Fn(u64, u64) + Send + Sync + use<> {
        let entry = self.transaction();
        move |done, total| {
            if let Some(entry) = &entry {
                entry.set_progress(Progress { done, total });
            }
        }
    }

    /// Lets the statement answer although it is about to have everything ended that runs in its
    /// database ([`Running::close`](crate::Running::close)). It can still be terminated by its
    /// number, and a transaction of several statements ends with it.
    pub fn spare(&self) {
        if let Some(entry) = self.transaction() {
            entry.spare();
        }
    }

    /// Makes sure that a procedure of this name can commit transactions beside that of the
    /// statement, which it cannot where that is one of several statements, or is inside of another.
    pub(crate) fn needs_transactions(&self, procedure: &str) -> Result<(), QueryError> {
        match self.statement.begins_transactions() {
            true => Ok(()),
            false => Err(QueryError::needs_implicit_transaction(procedure)),
        }
    }

    /// Runs a plan for sets of parameters, all in one transaction beside that of the statement, and
    /// commits it: again after conflicts.
    pub(crate) fn run_committed(
        &self,
        plan: &Prepared,
        sets: &[ValueMap],
        sink: &mut dyn Sink,
    ) -> Result<Counters, QueryError> {
        self.statement.run_committed(plan, sets, sink)
    }

    /// True for a node or relationship that the statement has deleted.
    #[must_use]
    pub fn is_deleted(&self, object: &Value) -> bool {
        self.statement.is_deleted(object)
    }

    /// Changes that the statement has made so far.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        self.statement.counters()
    }

    /// The file at an address below the import folder, as `LOAD CSV` finds it.
    pub(crate) fn import_path(&self, address: &str) -> Result<PathBuf, String> {
        self.statement.import_path(address)
    }

    /// Procedures that can be called.
    #[must_use]
    pub fn procedures(&self) -> &Procedures {
        self.statement.procedures()
    }

    /// The server around the database, if there is one.
    #[must_use]
    pub fn host(&self) -> Option<&dyn Host> {
        self.statement.host()
    }

    /// State of a query that runs inside of this statement: on its graph, under its limits, in its
    /// memory. It only reads.
    pub(crate) fn nested<'c>(&'c self, parameters: &'c ValueMap) -> Exec<'c> {
        self.statement.nested(parameters)
    }

    /// The plan of a text that runs inside of this statement, and may change its graph.
    pub(crate) fn planned(
        &mut self,
        text: &str,
        parameters: &ValueMap,
    ) -> Result<Arc<Prepared>, QueryError> {
        self.statement.nested_plan(text, parameters)
    }

    /// Runs such a plan.
    pub(crate) fn run_planned(
        &mut self,
        plan: &Prepared,
        parameters: &ValueMap,
        sink: &mut dyn Sink,
    ) -> Result<(), QueryError> {
        self.statement.run_nested(plan, parameters, sink)
    }

    /// The transaction that calls, as it is listed.
    pub(crate) fn transaction(&self) -> Option<Arc<Entry>> {
        self.statement.entry()
    }
}

impl fmt::Debug for CallContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallContext").field("mode", &self.mode).finish_non_exhaustive()
    }
}
