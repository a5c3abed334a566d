//! State of a running query: its graph, parameters, limits and counters.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_graph::{CommitTs, EdgeId, Graph, Update, Value, ValueMap, VertexId};

use super::degrees::KnownEnds;
use super::memory::{Held, Memory, Used, WRITES};
use super::profile::Profile;
use super::share::StopSignal;
use crate::batch::Slot;
use crate::files;
use crate::function::Context;
use crate::host::Host;
use crate::procedure::Procedures;
use crate::query::Prepared;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;
use crate::scratch::Scratch;
use crate::tables::Tables;
use crate::watch::Limits;
use crate::workers::Threads;

/// Graph that a query runs on.
pub enum Access<'g> {
    /// A snapshot.
    Read(&'g dyn Graph),
    /// A transaction.
    Write(&'g mut dyn Update),
    /// A transaction that the query began itself.
    Own(Box<dyn OpenTransaction + 'g>),
}

/// Transaction that a query began itself. Dropping it rolls it back.
pub trait OpenTransaction {
    /// Graph with its changes, for reading.
    fn graph(&self) -> &dyn Graph;

    /// Graph with its changes, for writing.
    fn update(&mut self) -> &mut dyn Update;

    /// Bytes of memory that its changes take.
    fn written_bytes(&self) -> u64;

    /// Commits its changes.
    ///
    /// # Errors
    /// A conflict with another transaction, a violated constraint, and those of the database.
    /// After an error nothing is changed.
    fn commit(self: Box<Self>) -> Result<CommitTs, QueryError>;
}

/// Source of transactions for `CALL { } IN TRANSACTIONS`.
pub trait Transactions: Sync {
    /// Begins a transaction, which sees everything committed so far.
    ///
    /// # Errors
    /// If too many transactions are open.
    fn begin(&self) -> Result<Box<dyn OpenTransaction + '_>, QueryError>;

    /// Waits until the next try of a transaction that has just lost a conflict, and had lost
    /// `before` in earlier tries. Returns false if there is to be none.
    fn wait_for_next_try(&self, before: u32) -> bool;
}

/// Inputs of a query.
#[derive(Clone, Copy)]
pub struct Inputs<'g> {
    /// Parameters, by name.
    pub parameters: &'g ValueMap,
    /// Parameters that are tables.
    pub tables: Option<&'g Tables>,
    /// Clock, time zone and other context of functions.
    pub context: &'g Context,
    /// Procedures that `CALL` finds.
    pub procedures: &'g Procedures,
    /// Limits of time and memory.
    pub limits: &'g Limits,
    /// Source of transactions, if the query may begin any.
    pub transactions: Option<&'g dyn Transactions>,
    /// Server around the database, if there is one.
    pub host: Option<&'g dyn Host>,
    /// Worker threads for queries that only read.
    pub threads: Option<Threads<'g>>,
}

/// Changes of the graph between two measurements of the bytes that the transaction has written.
const UPDATES_PER_MEASUREMENT: u32 = 16;

/// State of one running query.
pub(crate) struct Exec<'g> {
    pub(crate) graph: Access<'g>,
    pub(crate) parameters: &'g ValueMap,
    pub(crate) tables: Option<&'g Tables>,
    pub(crate) context: &'g Context,
    pub(crate) procedures: &'g Procedures,
    pub(crate) counters: Counters,
    /// Measurements of operators, for `PROFILE`.
    pub(crate) profile: Option<Arc<Profile>>,
    /// Memory that the query holds.
    pub(crate) memory: Arc<Memory>,
    /// Cache of labels at the ends of relationships, by operator. All threads of the query share
    /// it; it is made at the first use.
    pub(super) ends: Option<Arc<Mutex<KnownEnds>>>,
    /// Columns that no operator reads, but only the result, if it reads each text once.
    pub(crate) packed: Option<Arc<[Slot]>>,
    /// Memory that the running operator holds, if the query is profiled.
    pub(crate) used: Option<Arc<Used>>,
    limits: &'g Limits,
    /// Calls of [`check`](Self::check) so far.
    checks: u32,
    /// Bytes that the transaction had written at the last measurement.
    pub(super) written: Held,
    /// Changes of the graph so far.
    updates: u32,
    /// Worker threads that this thread may use; `None` while it uses them.
    pub(crate) threads: Option<Threads<'g>>,
    /// Height of the plan: the frames that a stack must hold.
    pub(crate) levels: usize,
    /// Number of statements whose procedures run this query inside of them.
    pub(crate) nesting: u8,
    /// Plans of the statements that procedures run inside of this query, by text.
    pub(crate) nested_plans: HashMap<Arc<str>, Arc<Prepared>>,
    /// Signal that the result of this worker is not needed any more, while several threads run.
    pub(super) stop: Option<StopSignal>,
    /// Nodes that this query has deleted. With nodes that earlier statements of its transaction
    /// have deleted, if relationships of them are left.
    pub(crate) deleted_vertices: HashSet<VertexId>,
    /// Relationships that this query has deleted.
    pub(crate) deleted_edges: HashSet<EdgeId>,
    /// Bound on the length of paths, while a search for short paths runs.
    pub(crate) search: Option<Search>,
    /// Source of transactions, if the query may begin any.
    pub(crate) transactions: Option<&'g dyn Transactions>,
    pub(crate) host: Option<&'g dyn Host>,
    /// Graphs that the inputs of each `CALL { } IN TRANSACTIONS` read, by its slot.
    pub(crate) views: HashMap<Slot, Access<'g>>,
}

/// Search for paths up to some length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    /// Upper bound on the length.
    pub(crate) longest: u64,
    /// True once a longer path was left out.
    pub(crate) cut: bool,
}

impl Access<'_> {
    pub(crate) fn graph(&self) -> &dyn Graph {
        match self {
            Self::Read(graph) => *graph,
            Self::Write(graph) => &**graph,
            Self::Own(transaction) => transaction.graph(),
        }
    }
}

impl<'g> Exec<'g> {
    pub(crate) fn new(graph: Access<'g>, inputs: Inputs<'g>) -> Self {
        let Inputs { parameters, tables, context, procedures, limits, .. } = inputs;
        let Inputs { transactions, host, threads, .. } = inputs;
        let deleted_vertices = graph.graph().deleted_connected().into_iter().collect();
        Self {
            graph,
            parameters,
            tables,
            context,
            procedures,
            counters: Counters::default(),
            profile: None,
            memory: Arc::new(Memory::new(limits)),
            ends: None,
            used: None,
            packed: None,
            limits,
            checks: 0,
            written: Held::of(WRITES),
            updates: 0,
            threads,
            levels: 0,
            nesting: 0,
            nested_plans: HashMap::new(),
            stop: None,
            deleted_vertices,
            deleted_edges: HashSet::new(),
            search: None,
            transactions,
            host,
            views: HashMap::new(),
        }
    }

    /// Graph, for reading.
    pub(crate) fn graph(&self) -> &dyn Graph {
        self.graph.graph()
    }

    /// Graph, for writing.
    ///
    /// # Errors
    /// `OutOfMemory` if the writes of the transaction exceed the limit of the query.
    pub(crate) fn update(&mut self) -> Result<&mut dyn Update, QueryError> {
        self.updates = self.updates.wrapping_add(1);
        if self.updates.is_multiple_of(UPDATES_PER_MEASUREMENT) {
            self.count_writes()?;
        }
        match &mut self.graph {
            Access::Write(graph) => Ok(&mut **graph),
            Access::Own(transaction) => Ok(transaction.update()),
            Access::Read(_) => Err(QueryError::runtime(
                ErrorKind::AccessMode,
                "ReadOnly",
                "the query changes the graph, but it runs on a read-only snapshot",
            )),
        }
    }

    /// Measures the bytes that the transaction has written, and adds them to the memory of the
    /// query.
    pub(crate) fn count_writes(&mut self) -> Result<(), QueryError> {
        let bytes = match &self.graph {
            Access::Read(_) => 0,
            Access::Write(graph) => graph.written_bytes(),
            Access::Own(transaction) => transaction.written_bytes(),
        };
        let mut written = std::mem::replace(&mut self.written, Held::of(WRITES));
        let counted = written.set(usize::try_from(bytes).unwrap_or(usize::MAX), self);
        self.written = written;
        counted
    }

    pub(crate) fn parameter(&self, name: &str) -> Result<Value, QueryError> {
        let given = self.parameters.get(name).cloned();
        given.or_else(|| self.tables?.list(name)).ok_or_else(|| {
            QueryError::runtime(
                ErrorKind::ParameterMissing,
                "MissingParameter",
                format!("expected parameter ${name}, which was not given"),
            )
        })
    }

    /// Fails if the query is cancelled. Reads the clock at some calls only.
    #[inline]
    pub(crate) fn check(&mut self) -> Result<(), QueryError> {
        // Reading the clock costs some tens of nanoseconds, a flag next to nothing.
        self.checks = self.checks.wrapping_add(1);
        if self.checks.is_multiple_of(16) { self.check_now() } else { self.limits.check_flags() }
    }

    /// Fails if the query is cancelled. Reads the clock.
    pub(crate) fn check_now(&self) -> Result<(), QueryError> {
        if let Some(stop) = &self.stop {
            stop.check()?;
        }
        self.limits.check()
    }

    /// Limits of the query, for code that runs without its state.
    pub(crate) fn limits(&self) -> &'g Limits {
        self.limits
    }

    /// Inputs for a part of this query that runs on one thread and begins no transactions.
    pub(crate) fn inputs(&self) -> Inputs<'g> {
        let Self { parameters, tables, context, procedures, limits, host, .. } = *self;
        let (transactions, threads) = (None, None);
        Inputs { parameters, tables, context, procedures, limits, transactions, host, threads }
    }

    /// Swaps the graph that the input of a `CALL { } IN TRANSACTIONS` reads with the one that the
    /// operators above it read.
    pub(crate) fn swap_view(&mut self, number: Slot) {
        if let Some(view) = self.views.get_mut(&number) {
            std::mem::swap(&mut self.graph, view);
        }
    }

    /// Makes the operators above a `CALL { } IN TRANSACTIONS` read everything committed so far. Its
    /// input goes on with the graph that it read before.
    pub(crate) fn renew_view(&mut self, number: Slot) -> Result<(), QueryError> {
        let Some(transactions) = self.transactions else { return Ok(()) };
        let seen = std::mem::replace(&mut self.graph, Access::Own(transactions.begin()?));
        self.views.entry(number).or_insert(seen);
        Ok(())
    }

    /// True if a path of this length may become longer in the search that runs.
    pub(crate) fn may_grow(&mut self, length: u64) -> bool {
        match &mut self.search {
            Some(search) if length >= search.longest => {
                search.cut = true;
                false
            }
            _ => true,
        }
    }

    /// File at an address in `LOAD CSV`: `file:///name` or a plain path, below the import folder.
    pub(crate) fn import_path(&self, address: &str) -> Result<PathBuf, String> {
        files::import_path(self.limits, address)
    }

    /// Cache of labels at the ends of relationships, which is made at the first call.
    pub(super) fn ends(&mut self) -> Arc<Mutex<KnownEnds>> {
        Arc::clone(self.ends.get_or_insert_default())
    }

    /// Temporary files for rows that do not fit into memory.
    pub(crate) fn scratch(&self) -> Option<&dyn Scratch> {
        self.limits.scratch.as_deref()
    }

    /// Fails if the node has been deleted.
    pub(crate) fn check_vertex(&self, vertex: VertexId) -> Result<(), QueryError> {
        if self.deleted_vertices.contains(&vertex) { Err(deleted("node")) } else { Ok(()) }
    }

    /// Fails if one of the nodes has been deleted.
    pub(crate) fn check_vertices(&self, vertices: &[VertexId]) -> Result<(), QueryError> {
        if self.deleted_vertices.is_empty() {
            return Ok(());
        }
        vertices.iter().try_for_each(|vertex| self.check_vertex(*vertex))
    }

    /// True for a node or relationship that has been deleted.
    pub(crate) fn is_deleted(&self, object: &Value) -> bool {
        match object {
            Value::Vertex(vertex) => self.deleted_vertices.contains(vertex),
            Value::Edge(edge) => self.deleted_edges.contains(edge),
            _ => false,
        }
    }

    /// Fails if this query has deleted the relationship.
    pub(crate) fn check_edge(&self, edge: EdgeId) -> Result<(), QueryError> {
        if self.deleted_edges.contains(&edge) { Err(deleted("relationship")) } else { Ok(()) }
    }
}

fn deleted(what: &str) -> QueryError {
    QueryError::runtime(
        ErrorKind::EntityNotFound,
        "DeletedEntityAccess",
        format!("the {what} has been deleted in this transaction"),
    )
}
