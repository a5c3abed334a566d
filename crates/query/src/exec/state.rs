//! What a running query carries along: its graph, parameters, limits, counters.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use parking_lot::Mutex;
use telar_graph::{CommitTs, EdgeId, Graph, Update, Value, ValueMap, VertexId};

use super::degrees::KnownEnds;
use super::memory::{Held, Memory, Used, WRITES};
use super::profile::Profile;
use super::share::Quit;
use super::spill::Scratch;
use crate::batch::Slot;
use crate::budget::Budget;
use crate::function::Context;
use crate::host::Host;
use crate::procedure::Procedures;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;
use crate::watch;
use crate::workers::Threads;

/// The graph a query runs on.
pub enum Access<'g> {
    /// A snapshot.
    Read(&'g dyn Graph),
    /// A transaction.
    Write(&'g mut dyn Update),
    /// A transaction of the query's own.
    Own(Box<dyn OpenTransaction + 'g>),
}

/// A transaction that a query began itself. Dropping it undoes everything.
pub trait OpenTransaction {
    /// What it sees.
    fn graph(&self) -> &dyn Graph;

    /// The same, for writing.
    fn update(&mut self) -> &mut dyn Update;

    /// Bytes that its changes take.
    fn written_bytes(&self) -> u64;

    /// Makes everything that was changed visible to others.
    ///
    /// # Errors
    /// A conflict with another transaction, a violated constraint, and those of the database.
    /// Nothing was changed.
    fn commit(self: Box<Self>) -> Result<CommitTs, QueryError>;
}

/// Where `CALL { } IN TRANSACTIONS` gets its transactions from.
pub trait Transactions: Sync {
    /// Begins one, which sees everything committed so far.
    ///
    /// # Errors
    /// If too many are open.
    fn begin(&self) -> Result<Box<dyn OpenTransaction + '_>, QueryError>;
}

/// What a query may use.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// When it is given up.
    pub deadline: Option<Instant>,
    /// Bytes it may hold at once where rows have to be kept: sorting, grouping, lists.
    pub memory: Option<usize>,
    /// Where rows go that would exceed `memory`; without it, such a query fails.
    pub scratch: Option<Arc<dyn Scratch>>,
    /// Bytes that one operator holds before its rows go there. Without it: half of what `memory`
    /// leaves.
    pub spill_after: Option<usize>,
    /// The folder below which `LOAD CSV` may read files; without it, none.
    pub import_folder: Option<PathBuf>,
    /// Set from outside to give it up.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// The same, set by `TERMINATE TRANSACTIONS`.
    pub terminated: Option<Arc<AtomicBool>>,
    /// What all statements, and all else in the process, may hold together: one for the process,
    /// as its heap is.
    pub budget: Option<&'static Budget>,
}

impl Limits {
    /// Fails if the query is to be given up.
    ///
    /// # Errors
    /// [`ErrorKind::Terminated`], [`ErrorKind::TimedOut`], [`ErrorKind::OutOfMemory`].
    pub fn check(&self) -> Result<(), QueryError> {
        let flags = [&self.cancelled, &self.terminated];
        let budget = self.budget;
        Ok(watch::ended(self.deadline, flags.into_iter().flatten(), budget)?)
    }

    /// Whether somebody wants it to be given up.
    #[inline]
    pub(crate) fn check_flags(&self) -> Result<(), QueryError> {
        let flags = [&self.cancelled, &self.terminated];
        Ok(watch::raised(flags.into_iter().flatten())?)
    }
}

/// What a query runs with.
#[derive(Clone, Copy)]
pub struct Inputs<'g> {
    /// By name.
    pub parameters: &'g ValueMap,
    /// The clock, and the like.
    pub context: &'g Context,
    /// What it can call.
    pub procedures: &'g Procedures,
    /// What it may use.
    pub limits: &'g Limits,
    /// Where transactions of its own come from, if it may have any.
    pub transactions: Option<&'g dyn Transactions>,
    /// The server around the database, if there is one.
    pub host: Option<&'g dyn Host>,
    /// What a query that only reads may share its work with.
    pub threads: Option<Threads<'g>>,
}

/// Changes of the graph between two looks at how much the transaction has written.
const UPDATES_PER_LOOK: u32 = 16;

/// State of one running query.
pub(crate) struct Exec<'g> {
    pub(crate) graph: Access<'g>,
    pub(crate) parameters: &'g ValueMap,
    pub(crate) context: &'g Context,
    pub(crate) procedures: &'g Procedures,
    pub(crate) counters: Counters,
    /// Where operators note what they do, for `PROFILE`.
    pub(crate) profile: Option<Arc<Profile>>,
    /// What it holds.
    pub(crate) memory: Arc<Memory>,
    /// What its threads found out of labels at the ends of relationships, by operator, once one of
    /// them asks or there are several.
    pub(super) ends: Option<Arc<Mutex<KnownEnds>>>,
    /// Columns that nobody reads before who takes the result, if they look at each text once.
    pub(crate) packed: Option<Arc<[Slot]>>,
    /// What the operator that runs holds, if the query is profiled.
    pub(crate) used: Option<Arc<Used>>,
    limits: &'g Limits,
    checks: u32,
    /// What the transaction has written, as far as it was looked at.
    written: Held,
    updates: u32,
    /// What this thread may share its work with: nothing while it does.
    pub(crate) threads: Option<Threads<'g>>,
    /// Levels of the plan: what a stack must hold.
    pub(crate) levels: usize,
    /// Whether what it is at is of use, while others are at work beside it.
    pub(super) quit: Option<Quit>,
    /// Nodes that this query has deleted, and those that statements of its transaction before it
    /// have, as far as relationships of them are left.
    pub(crate) deleted_vertices: HashSet<VertexId>,
    pub(crate) deleted_edges: HashSet<EdgeId>,
    /// Set while only short paths are searched for.
    pub(crate) search: Option<Search>,
    /// Where transactions of its own come from, if it may have any.
    pub(crate) transactions: Option<&'g dyn Transactions>,
    pub(crate) host: Option<&'g dyn Host>,
    /// What the inputs of `CALL { } IN TRANSACTIONS` see, by its number.
    pub(crate) views: HashMap<Slot, Access<'g>>,
}

/// A search for paths up to some length.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Search {
    pub(crate) longest: u64,
    /// Longer paths were left out.
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
        let Inputs { parameters, context, procedures, limits, transactions, host, threads } =
            inputs;
        let deleted_vertices = graph.graph().deleted_connected().into_iter().collect();
        Self {
            graph,
            parameters,
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
            quit: None,
            deleted_vertices,
            deleted_edges: HashSet::new(),
            search: None,
            transactions,
            host,
            views: HashMap::new(),
        }
    }

    /// The graph, for reading.
    pub(crate) fn graph(&self) -> &dyn Graph {
        self.graph.graph()
    }

    /// The graph, for writing.
    ///
    /// # Errors
    /// `OutOfMemory` if what the transaction has written is beyond the limit of the query.
    pub(crate) fn update(&mut self) -> Result<&mut dyn Update, QueryError> {
        self.updates = self.updates.wrapping_add(1);
        if self.updates.is_multiple_of(UPDATES_PER_LOOK) {
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

    /// Counts what the transaction has written among what the query holds.
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
        self.parameters.get(name).cloned().ok_or_else(|| {
            QueryError::runtime(
                ErrorKind::ParameterMissing,
                "MissingParameter",
                format!("expected parameter ${name}, which was not given"),
            )
        })
    }

    /// Whether the query is to be given up.
    #[inline]
    pub(crate) fn check(&mut self) -> Result<(), QueryError> {
        // Reading the clock costs some tens of nanoseconds, a flag next to nothing.
        self.checks = self.checks.wrapping_add(1);
        if self.checks.is_multiple_of(16) { self.check_now() } else { self.limits.check_flags() }
    }

    pub(crate) fn check_now(&self) -> Result<(), QueryError> {
        if let Some(quit) = &self.quit {
            quit.check()?;
        }
        self.limits.check()
    }

    /// What ends it, for those who work on it without it.
    pub(crate) fn limits(&self) -> &'g Limits {
        self.limits
    }

    /// What another one runs with that is a part of this, on one thread, and begins no
    /// transactions.
    pub(crate) fn inputs(&self) -> Inputs<'g> {
        let Self { parameters, context, procedures, limits, host, .. } = *self;
        let (transactions, threads) = (None, None);
        Inputs { parameters, context, procedures, limits, transactions, host, threads }
    }

    /// Changes between what the input of a `CALL { } IN TRANSACTIONS` sees and what comes behind.
    pub(crate) fn swap_view(&mut self, number: Slot) {
        if let Some(view) = self.views.get_mut(&number) {
            std::mem::swap(&mut self.graph, view);
        }
    }

    /// What comes behind sees everything committed so far; its input goes on with what it saw.
    pub(crate) fn renew_view(&mut self, number: Slot) -> Result<(), QueryError> {
        let Some(transactions) = self.transactions else { return Ok(()) };
        let seen = std::mem::replace(&mut self.graph, Access::Own(transactions.begin()?));
        self.views.entry(number).or_insert(seen);
        Ok(())
    }

    /// Whether a path of this length may become longer in the search at hand.
    pub(crate) fn may_grow(&mut self, length: u64) -> bool {
        match &mut self.search {
            Some(search) if length >= search.longest => {
                search.cut = true;
                false
            }
            _ => true,
        }
    }

    /// The file that an address in `LOAD CSV` means: `file:///name` or a plain path, below the
    /// import folder.
    pub(crate) fn import_path(&self, address: &str) -> Result<PathBuf, String> {
        let Some(folder) = &self.limits.import_folder else {
            let message = "no import folder is set: import.folder names it (--import-folder in \
                           the shell, Limits::import_folder)";
            return Err(message.into());
        };
        let path = match address.split_once("://") {
            Some(("file", path)) => percent_decoded(path).ok_or("its % escapes are broken")?,
            Some((scheme, _)) => return Err(format!("{scheme} addresses are not allowed")),
            None => address.to_owned(),
        };
        let leaves = || "the path leaves the import folder (import.folder)".to_owned();
        let path = Path::new(path.trim_start_matches('/'));
        if !path.components().all(|part| matches!(part, Component::Normal(_))) {
            return Err(leaves());
        }
        // Links in the folder may lead elsewhere.
        let folder =
            folder.canonicalize().map_err(|e| format!("the import folder (import.folder): {e}"))?;
        if !folder.is_dir() {
            return Err("the import folder (import.folder) is no folder".to_owned());
        }
        let file = folder.join(path).canonicalize().map_err(|e| e.to_string())?;
        if file.starts_with(&folder) { Ok(file) } else { Err(leaves()) }
    }

    /// What its threads found out of labels at the ends of relationships.
    pub(super) fn ends(&mut self) -> Arc<Mutex<KnownEnds>> {
        Arc::clone(self.ends.get_or_insert_default())
    }

    /// Where rows go that do not fit into memory.
    pub(crate) fn scratch(&self) -> Option<&dyn Scratch> {
        self.limits.scratch.as_deref()
    }

    /// Refuses what has been deleted.
    pub(crate) fn check_vertex(&self, vertex: VertexId) -> Result<(), QueryError> {
        if self.deleted_vertices.contains(&vertex) { Err(deleted("node")) } else { Ok(()) }
    }

    /// Refuses what has been deleted.
    pub(crate) fn check_vertices(&self, vertices: &[VertexId]) -> Result<(), QueryError> {
        if self.deleted_vertices.is_empty() {
            return Ok(());
        }
        vertices.iter().try_for_each(|vertex| self.check_vertex(*vertex))
    }

    /// Whether it is a node or relationship that this query has deleted.
    pub(crate) fn is_deleted(&self, object: &Value) -> bool {
        match object {
            Value::Vertex(vertex) => self.deleted_vertices.contains(vertex),
            Value::Edge(edge) => self.deleted_edges.contains(edge),
            _ => false,
        }
    }

    /// Refuses what this query has deleted.
    pub(crate) fn check_edge(&self, edge: EdgeId) -> Result<(), QueryError> {
        if self.deleted_edges.contains(&edge) { Err(deleted("relationship")) } else { Ok(()) }
    }
}

/// The text of an address: `%20` is a space.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        rest = more;
        bytes.push(match first {
            b'%' => {
                let digits = std::str::from_utf8(more.get(..2)?).ok()?;
                rest = &more[2..];
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => *byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn deleted(what: &str) -> QueryError {
    QueryError::runtime(
        ErrorKind::EntityNotFound,
        "DeletedEntityAccess",
        format!("the {what} has been deleted in this transaction"),
    )
}
