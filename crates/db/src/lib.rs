//! The embedded Telar graph database: everything a Rust program needs, in one crate.
//!
//! A [`Database`] is opened in a directory ([`open`]) or in memory ([`open_in_memory`]). Programs
//! write through a [`Transaction`] and read through a [`Snapshot`]; both see one state of the
//! graph, whatever commits beside them. [`import`] brings in files and generated graphs, [`algo`]
//! computes over snapshots.
//!
//! ```
//! use telar_db::{Direction, EdgeTypeOptions, Error, algo::pagerank};
//!
//! fn main() -> Result<(), Error> {
//!     // A database in memory; `telar_db::open("social.telar")` keeps it in a directory.
//!     let db = telar_db::open_in_memory()?;
//!     let person = db.label("Person")?;
//!     let name = db.property_key("name")?;
//!     let follows = db.edge_type("FOLLOWS", EdgeTypeOptions::general())?;
//!
//!     // Writes are private until the commit.
//!     let mut txn = db.begin()?;
//!     let mut people = Vec::new();
//!     for who in ["Ada", "Bob", "Cleo"] {
//!         let vertex = txn.create_vertex(&[person])?;
//!         txn.set_vertex_property(vertex, name, who.into())?;
//!         people.push(vertex);
//!     }
//!     txn.create_edge(follows, people[1], people[0], &[])?;
//!     txn.create_edge(follows, people[2], people[0], &[])?;
//!     txn.commit()?;
//!
//!     // A snapshot stays as it is, whatever is written meanwhile.
//!     let snapshot = db.snapshot()?;
//!     db.write(Default::default(), |txn| txn.delete_vertex(people[2], true))?;
//!     let reader = snapshot.reader();
//!     assert_eq!(reader.degree(people[0], follows, Direction::In), 2);
//!
//!     // Graph kernels read the snapshot's adjacency in place.
//!     let incoming = reader.adjacency(follows, Direction::In)?;
//!     let outgoing = reader.adjacency(follows, Direction::Out)?;
//!     let degrees = pagerank::out_degrees(&outgoing, 3);
//!     let ranks = pagerank::pagerank(&incoming, &degrees, &pagerank::Settings::default());
//!     assert!(ranks.scores[0] > ranks.scores[1]);
//!     Ok(())
//! }
//! ```
//!
//! | to | use |
//! |---|---|
//! | open and close | [`open`], [`open_with`], [`open_in_memory`], [`Database::close`] |
//! | share it | clones of [`Database`] and [`Session`] are handles of the same database |
//! | name things | [`Database::label`], [`Database::edge_type`], [`Database::property_key`] |
//! | write | [`Database::write`] (retries conflicts), [`Database::begin`] |
//! | query in openCypher | [`Session`], several statements at once: [`Session::begin`] |
//! | query something else than this engine | [`Backend`], [`Session::with_backend`] |
//! | read | [`Database::snapshot`], [`Reader`], batched reads: [`View`] |
//! | analyse | [`Reader::adjacency`] with [`algo`] |
//! | trust what was read | [`Snapshot::error`], once, after the last read |
//! | load much | [`import::import_csv`], [`import::import_edge_list`], [`Database::bulk_load`] |
//! | look inside | [`Database::memory`], [`Database::settle_state`], [`Counts::statistics`] |
//! | read the past | [`Settings::retain`], [`Database::snapshot_at`] |
//! | follow changes | [`Database::changes_since`] |
//! | operate | [`Database::backup`], [`Database::health`], [`maintenance`], [`reorder`] |

mod again;
mod algorithms;
mod backend;
mod changes;
mod history;
pub mod import;
pub mod json;
mod plans;
mod procedures;
pub mod reorder;
mod runtime;
mod script;
mod session;

use std::path::Path;

pub use backend::{Backend, BackendTransaction, SharedGraph};
pub use changes::{ChangeNames, Unnamed};
pub use plans::PlanUses;
pub use runtime::Runtime;
pub use script::ScriptError;
pub use session::{Foreseen, QueryTransaction, Session};
pub use telar_algo as algo;
pub use telar_engine::{
    Adjacency, BulkLoad, BulkName, BulkOptions, BulkReport, BulkStep, Change, ChangeStream, Column,
    CommitChanges, Committed, ConstraintKind, ConstraintSpec, Durability, EdgeOrder,
    EdgeTypeOptions, Engine as Database, Error, ErrorKind, IndexInfo, IndexKind, IndexSpec,
    IndexState, IndexTarget, Interrupt, Isolation, MemoryUse, ONCE_ID_BYTES_MAX, Object,
    PropertyType, Reader, Retention, SchemaKind, Settings, SettleState, Snapshot, Transaction,
    TransactionSnapshot, Violation, WeakEngine as WeakDatabase, WriteWait, machine_memory_bytes,
    maintenance,
};
/// Records of the log of a database, as a copy applies them.
pub mod log {
    pub use telar_engine::wal::{LogGroup, PAYLOAD_BYTES_MAX as RECORD_BYTES_MAX};
    pub use telar_engine::{LogPlace, LogReader, LogRecords};
}
pub use telar_graph::{
    CommitTs, Counts, Direction, EdgeId, EdgeTypeId, EntryFilter, Expansion, Graph, IndexId,
    IndexRange, LabelId, Lists, Partitions, PropertyKeyId, ReadError, Run, Schema, Statistics,
    Topology, Update, Value, ValueMap, VertexId, View, column, heap, index_kind, name, spatial,
    update, value,
};
pub use telar_query as query;
pub use telar_query::Workers;

/// Returns the database in the directory `path`, made if there is none, in the state of its last
/// durable commit. Commits return once they are on disk; [`open_with`] can choose otherwise.
///
/// # Errors
/// As [`Database::open`]: among them [`Error::Locked`] if another process has it open, and
/// [`Error::NotADatabase`] if the directory holds something else.
///
/// # Examples
/// ```
/// # let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
/// # let path = folder.path().join("social.telar");
/// let db = telar_db::open(&path)?;
/// let person = db.label("Person")?;
/// db.write(Default::default(), |txn| txn.create_vertex(&[person]))?;
/// drop(db); // as good as a crash: nothing committed is lost
///
/// let db = telar_db::open(&path)?;
/// assert!(db.find_label("Person").is_some());
/// assert!(db.reader()?.exists(telar_db::VertexId::from_raw(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open(path: impl AsRef<Path>) -> Result<Database, Error> {
    open_with(path, Settings::default())
}

/// As [`open`], with settings.
///
/// # Errors
/// As [`open`], and [`Error::Setting`].
///
/// # Examples
/// ```
/// use telar_db::Settings;
///
/// # let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
/// # let path = folder.path().join("fast.telar");
/// // Commits return before they are on disk; a crash loses at most the last 50 ms and one sync.
/// let db = telar_db::open_with(&path, Settings::asynchronous(50))?;
/// db.close()?; // writes a checkpoint: the next open replays nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_with(path: impl AsRef<Path>, settings: Settings) -> Result<Database, Error> {
    Database::open(path, settings)
}

/// Returns an empty database without a directory: the same engine without log and checkpoints, gone
/// when dropped.
///
/// # Errors
/// None with today's defaults.
///
/// # Examples
/// ```
/// let db = telar_db::open_in_memory()?;
/// assert_eq!(db.published(), telar_db::CommitTs::ZERO);
/// # Ok::<(), telar_db::Error>(())
/// ```
pub fn open_in_memory() -> Result<Database, Error> {
    Database::in_memory(Settings::default())
}

/// The program in the README is compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// So is the one in docs/history.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/history.md")]
struct History;

/// And that in docs/extending.md.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/extending.md")]
struct Extending;
