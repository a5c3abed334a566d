//! What can go wrong, and what the caller can do about it.

use std::borrow::Cow;
use std::path::PathBuf;

use telar_graph::name::{NameError, NameKind};
use telar_graph::{
    CommitTs, EdgeId, EdgeTypeId, IndexId, IndexUnavailable, LabelId, PropertyKeyId, ReadError,
    Value, VertexId,
};

use crate::wal::{WalError, WalErrorKind};

/// Error of the storage engine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Another transaction changed the object after this one began. Run the transaction again.
    #[error("conflict on {object}: another transaction committed a change first; retry")]
    Conflict {
        /// What both transactions touched.
        object: Object,
    },
    /// Transactions wait for what each other has written, in a circle. Run this one again.
    #[error("deadlock: transactions wait for what each other has written; retry")]
    Deadlock,
    /// What another transaction has written was waited for until the time limit.
    #[error("the time limit ended a wait for another transaction's write")]
    WaitTimedOut,
    /// What another transaction has written was waited for until somebody ended that.
    #[error("a wait for another transaction's write was ended")]
    WaitTerminated,
    /// The commit was told to end before it was decided. Nothing was written.
    #[error("the commit was told to end; nothing was written")]
    Interrupted,
    /// A snapshot, or a change stream, was asked for at a timestamp that is not retained.
    #[error(
        "commit {asked} is not retained: history reaches from commit {oldest} to commit {newest}; \
         store.retention (Settings::retain) says what is kept"
    )]
    NotRetained {
        /// The timestamp asked for.
        asked: CommitTs,
        /// The oldest timestamp that can be read; the newest, where no history is kept.
        oldest: CommitTs,
        /// The newest.
        newest: CommitTs,
    },
    /// The object does not exist at this snapshot.
    #[error("{0} does not exist")]
    NotFound(Object),
    /// A vertex that still has edges was deleted without `detach`, or has some at the commit of the
    /// transaction that deleted it first.
    #[error("vertex {vertex} still has {edges} edges; delete them first or use a detaching delete")]
    StillConnected {
        /// The vertex.
        vertex: VertexId,
        /// How many edges it has, both directions together.
        edges: usize,
    },
    /// The edge type keeps at most one edge per pair and no properties.
    #[error("edge type {name} was made `simple`: it holds no parallel edges and no properties")]
    SimpleEdgeType {
        /// Name of the edge type.
        name: String,
    },
    /// An edge of a `simple` type was to be created a second time.
    #[error("edge {edge} of type {name} exists: the type was made `simple`")]
    EdgeExists {
        /// Name of the edge type.
        name: String,
        /// The edge.
        edge: EdgeId,
    },
    /// The edge type holds parallel edges, so an edge is not named by its ends alone.
    #[error("edge type {name} may hold parallel edges; create or delete an edge by its identity")]
    NotSimpleEdgeType {
        /// Name of the edge type.
        name: String,
    },
    /// An edge of a time-ordered type came without its sort property, or with one that is no
    /// integer.
    #[error("edges of type {name} are ordered by property {key}, which must be set to an integer")]
    SortProperty {
        /// Name of the edge type.
        name: String,
        /// Name of the property.
        key: String,
    },
    /// The sort property of a time-ordered edge was to be changed.
    #[error("property {key} orders the edges of type {name} and cannot be changed afterwards")]
    SortPropertyFixed {
        /// Name of the edge type.
        name: String,
        /// Name of the property.
        key: String,
    },
    /// No edge type has this number.
    #[error("edge type number {0} was never made")]
    UnknownEdgeType(EdgeTypeId),
    /// No property key has this number.
    #[error("property key number {0} was never made")]
    UnknownPropertyKey(PropertyKeyId),
    /// No label has this number.
    #[error("label number {0} was never made")]
    UnknownLabel(LabelId),
    /// An edge type exists with other options.
    #[error("edge type {name} exists already with other options")]
    EdgeTypeExists {
        /// Name of the edge type.
        name: String,
    },
    /// A commit, or what was there before a constraint, breaks the constraint.
    #[error("constraint {constraint}: {violation}")]
    ConstraintViolated {
        /// Name of the constraint.
        constraint: String,
        /// What breaks it.
        violation: Box<Violation>,
    },
    /// An index cannot be read.
    #[error(transparent)]
    Index(#[from] IndexUnavailable),
    /// A transaction cannot commit once like this.
    #[error("a transaction that commits once: {reason}")]
    Once {
        /// What is wrong.
        reason: &'static str,
    },
    /// A read of a view failed, and the engine does not know why.
    #[error(transparent)]
    Read(ReadError),
    /// No index or constraint has this number.
    #[error("index or constraint number {0} does not exist")]
    UnknownIndex(IndexId),
    /// No index or constraint has this name.
    #[error("there is no index or constraint named {name}")]
    UnknownIndexName {
        /// The name.
        name: String,
    },
    /// A transaction changed indexes or constraints, and the graph.
    #[error("a transaction changes either the schema or the graph, not both")]
    MixedChanges,
    /// An index or constraint of this name exists with another definition.
    #[error("an index or constraint named {name} exists already with another definition")]
    IndexExists {
        /// The name.
        name: String,
    },
    /// An index or constraint cannot be made like this.
    #[error("index or constraint {name}: {reason}")]
    IndexSpec {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A schema name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A property value nests deeper than can be stored.
    #[error("a property value nests lists or maps more than {max} deep")]
    TooDeep {
        /// Deepest nesting allowed.
        max: u32,
    },
    /// A property value is or contains a vertex, an edge or a path.
    #[error("a property cannot hold a node, a relationship or a path")]
    NotStorable,
    /// A hard limit was reached.
    #[error("too many {what}: the limit is {max}")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        max: u64,
    },
    /// A label, property key or edge type was to be made, and there are as many as there can be.
    #[error(
        "`{name}` cannot be made: the database has {max} {what}, as many as it can have; what was \
         made stays, used or not, so use names for kinds of things and values for the rest"
    )]
    TooManyNames {
        /// What there is too much of.
        what: &'static str,
        /// The name.
        name: String,
        /// The limit.
        max: u64,
    },
    /// A snapshot is so old that newer writes can no longer be told apart from it. Close it and
    /// retry.
    #[error("a snapshot open for more than 2^30 commits blocks this write; close it and retry")]
    SnapshotTooOld,
    /// A bulk load could not be installed, because snapshots or transactions stayed open. Nothing
    /// was changed; close them and load again.
    #[error(
        "bulk load given up after {waited_ms} ms: {count} snapshots or transactions that were \
         opened before it are still open; close them and load again"
    )]
    SnapshotsOpen {
        /// How many.
        count: u64,
        /// How long it waited.
        waited_ms: u64,
    },
    /// A bulk load was asked for something it does not do.
    #[error("bulk load: {reason}")]
    BulkLoad {
        /// What, and what to do instead.
        reason: String,
    },
    /// A setting has a value that makes no sense.
    #[error("setting {name}: {reason}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// Another process has the database open.
    #[error("{} is open in another process ({holder}); close it there first", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// What the holder wrote into it.
        holder: String,
        /// The holder lets others in: see [`Settings::shared`](crate::Settings::shared).
        shares: bool,
    },
    /// The directory holds something, but not a database of ours.
    #[error("{} is not a Telar database: {reason}", path.display())]
    NotADatabase {
        /// The directory.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The database is a copy of a replicated one: only its log may change it.
    #[error(
        "{} is a copy of another database, whose commits come from there: use the servers of its \
         cluster (telar serve --cluster), or the server that follows (telar serve --follow), which \
         `telar promote` ends; to have it apart, restore a backup of it",
        path.display()
    )]
    IsACopy {
        /// The directory.
        path: PathBuf,
    },
    /// The database was written by a newer version of the program.
    #[error(
        "{} has format version {found}; this program reads up to {supported}: upgrade the program",
        path.display()
    )]
    NewerFormat {
        /// The database.
        path: PathBuf,
        /// Version found.
        found: u32,
        /// Newest version this program reads.
        supported: u32,
    },
    /// The database was written by an older version of the program and has to be upgraded first.
    #[error(
        "{} has format version {found}; this program works with version {supported}: take a copy, \
         then run `telar upgrade {}`",
        path.display(), path.display()
    )]
    OlderFormat {
        /// The database.
        path: PathBuf,
        /// Version found.
        found: u32,
        /// Version this program works with.
        supported: u32,
    },
    /// A backup cannot be made or used as asked.
    #[error("backup {}: {reason}", path.display())]
    Backup {
        /// Directory of the backup.
        path: PathBuf,
        /// Why not, and what to do.
        reason: String,
    },
    /// A directory that is to be made holds something already.
    #[error("{} exists and is not empty; nothing is ever overwritten: choose another", path.display())]
    TargetExists {
        /// The directory.
        path: PathBuf,
    },
    /// A database cannot be repaired without guessing.
    #[error("{} cannot be repaired without losing something: {reason}", path.display())]
    NotRepairable {
        /// The database.
        path: PathBuf,
        /// What would be lost.
        reason: String,
    },
    /// Stored data fails a checksum or an invariant.
    #[error("{} is damaged at {place}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in it.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// This process does not lead: commits go to the node that does. A database that led has to be
    /// opened again; whether its last commits survive is known after that.
    #[error(
        "this node does not lead{}; commits go to the leader",
        leader.as_ref().map(|node| format!(" ({node} does)")).unwrap_or_default()
    )]
    NotLeader {
        /// The node that leads, as far as it is known.
        leader: Option<String>,
    },
    /// Groups are applied to databases that were opened to follow, and only until they lead.
    #[error("the database does not follow a replicated log")]
    NotFollowing,
    /// A record of the replicated log does not fit the database: they are not copies of each other
    /// any more. Nothing of the record was applied, and nothing after it will be; a copy has to be
    /// made anew.
    #[error("commit {commit} of the replicated log does not fit this copy: {reason}; make it anew")]
    Diverged {
        /// The commit.
        commit: CommitTs,
        /// The reason for which it does not fit.
        reason: String,
    },
    /// A replicated database does not do this yet.
    #[error("a replicated database does not take {what} yet")]
    NotReplicated {
        /// Kind of change that it does not take.
        what: &'static str,
    },
    /// The write-ahead log failed; the database refuses writes until it is opened again.
    #[error(transparent)]
    Log(WalError),
    /// The disk is full. Nothing acknowledged is lost; what failed is tried again by the next
    /// checkpoint, or by whoever asked for it.
    #[error("the disk of {} is full ({free} bytes are free): make room on it", path.display())]
    DiskFull {
        /// What could not be written.
        path: PathBuf,
        /// Bytes that are free.
        free: u64,
    },
    /// The checkpoint store failed.
    #[error("checkpoint store {}: {source}", path.display())]
    Store {
        /// The store.
        path: PathBuf,
        /// Its error.
        source: heed::Error,
    },
    /// A file operation failed.
    #[error("{action} {}: {source}", path.display())]
    File {
        /// What was being done.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// What an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Object {
    /// A vertex.
    Vertex(VertexId),
    /// A property of a vertex.
    VertexProperty(VertexId, PropertyKeyId),
    /// An edge.
    Edge(EdgeId),
    /// A property of an edge.
    EdgeProperty(EdgeId, PropertyKeyId),
    /// The neighbours of a vertex by edges of one type, read by a serializable transaction or
    /// deleted with the vertex.
    Neighbours(VertexId, EdgeTypeId),
    /// The set of vertices, scanned by a serializable transaction.
    VertexScan,
    /// A key of a unique constraint, given to another object by a concurrent transaction.
    UniqueKey(IndexId),
    /// A range of an index, read by a serializable transaction.
    IndexRange(IndexId),
    /// A name that a serializable transaction did not find.
    Unmade(NameKind),
    /// Which indexes and constraints there are.
    Schema,
    /// Everything: a bulk load is being installed.
    BulkLoad,
}

impl std::fmt::Display for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Vertex(v) => write!(f, "vertex {v}"),
            Self::VertexProperty(v, k) => write!(f, "property {k} of vertex {v}"),
            Self::Edge(e) => write!(f, "edge {e}"),
            Self::EdgeProperty(e, k) => write!(f, "property {k} of edge {e}"),
            Self::Neighbours(v, t) => write!(f, "neighbours of vertex {v} by edge type {t}"),
            Self::VertexScan => f.write_str("the set of vertices"),
            Self::UniqueKey(i) => write!(f, "a key of unique constraint {i}"),
            Self::IndexRange(i) => write!(f, "a range of index {i}"),
            Self::Unmade(kind) => write!(f, "a new {kind}"),
            Self::Schema => f.write_str("the indexes and constraints"),
            Self::BulkLoad => f.write_str("the database, into which a graph is being loaded"),
        }
    }
}

/// What breaks a constraint.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Violation {
    /// Two objects have the same key.
    Duplicate {
        /// The values of the constraint's properties.
        key: Vec<Value>,
        /// What was to get the key.
        object: Object,
        /// What has it.
        existing: Object,
    },
    /// An object lacks a property.
    Missing {
        /// The object.
        object: Object,
        /// The property.
        property: PropertyKeyId,
    },
    /// A property is of another type.
    WrongType {
        /// The object.
        object: Object,
        /// The property.
        property: PropertyKeyId,
        /// The type it must have.
        expected: Cow<'static, str>,
        /// The type it has.
        found: Cow<'static, str>,
    },
}

impl Violation {
    /// The error of a constraint that this breaks.
    pub(crate) fn of(self, constraint: &str) -> Error {
        let constraint = constraint.to_owned();
        Error::ConstraintViolated { constraint, violation: Box::new(self) }
    }

    /// What breaks the constraint.
    #[must_use]
    pub fn object(&self) -> Object {
        match self {
            Self::Duplicate { object, .. }
            | Self::Missing { object, .. }
            | Self::WrongType { object, .. } => *object,
        }
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Duplicate { key, object, existing } => {
                write!(f, "{existing} has the key {key:?} already, which {object} was to have")
            }
            Self::Missing { object, property } => {
                write!(f, "{object} must have property {property}")
            }
            Self::WrongType { object, property, expected, found } => {
                write!(f, "property {property} of {object} must be {expected}, not {found}")
            }
        }
    }
}

/// What the caller can do about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Run the transaction again.
    Retry,
    /// The request was wrong: change it.
    Request,
    /// The database no longer accepts writes: find the cause, then open it again.
    Reopen,
    /// Another node leads: go there.
    NotLeader,
    /// Stored data is damaged: restore from a backup.
    Damaged,
    /// The environment refused something: disk, permissions, another process.
    Environment,
}

impl From<WalError> for Error {
    fn from(error: WalError) -> Self {
        match error.fenced_by() {
            Some(leader) => Self::NotLeader { leader: leader.map(str::to_owned) },
            None => Self::Log(error),
        }
    }
}

impl From<ReadError> for Error {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Index(unavailable) => Self::Index(unavailable),
            ReadError::Storage(source) => match source.downcast::<Self>() {
                Ok(error) => *error,
                Err(source) => Self::Read(ReadError::Storage(source)),
            },
            error => Self::Read(error),
        }
    }
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Conflict { .. }
            | Self::Deadlock
            | Self::SnapshotTooOld
            | Self::SnapshotsOpen { .. } => ErrorKind::Retry,
            Self::Damaged { .. }
            | Self::Diverged { .. }
            | Self::Index(IndexUnavailable::Damaged(_)) => ErrorKind::Damaged,
            Self::NotLeader { .. } => ErrorKind::NotLeader,
            Self::Log(e) => match e.kind() {
                WalErrorKind::Data => ErrorKind::Damaged,
                WalErrorKind::Fenced => ErrorKind::NotLeader,
                WalErrorKind::Request | WalErrorKind::NewerFormat => ErrorKind::Request,
                _ => ErrorKind::Reopen,
            },
            Self::Store { .. }
            | Self::File { .. }
            | Self::DiskFull { .. }
            | Self::Read(_)
            | Self::Locked { .. } => ErrorKind::Environment,
            _ => ErrorKind::Request,
        }
    }

    /// Whether running the transaction again may succeed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.kind() == ErrorKind::Retry
    }

    pub(crate) fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { action, path, source }
    }
}
