//! Telar's storage engine: a transactional property graph whose adjacency scans run at CSR speed.
//!
//! Modules in reading order:
//!
//! - [`engine`](Engine): opening, schema names, beginning transactions.
//! - `adjacency`: segments, bases, tails, hubs; `adjacency/scan.rs` is the hot loop.
//! - `txn`: the commit protocol, from latches to publication.
//! - `intents`: writers of the same thing wait for each other.
//! - `column`: versioned values of vertices and edges.
//! - `index`: property indexes and constraints.
//! - [`wal`], `checkpoint`, `recovery`: durability.
//! - `history`: reading the past; free vertex ids.
//! - `stream`: every committed change, in order.
//! - `bulk`: whole graphs straight into bases.
//! - `packed`: how columns of integers are stored.
//! - `catalog`, `schema`: names, label sets, edge types.
//! - `mapped`: segments that are not in memory, and the memory limit.
//! - `lmdb_check`: looks at the store before LMDB does.
//! - [`ops`]: backup, restore, check, repair, compaction, upgrade, health.
//!
//! ```
//! use telar_engine::{EdgeTypeOptions, Engine, Settings};
//! use telar_graph::Direction;
//!
//! let db = Engine::in_memory(Settings::default())?;
//! let person = db.label("Person")?;
//! let name = db.property_key("name")?;
//! let knows = db.edge_type("KNOWS", EdgeTypeOptions::general())?;
//!
//! let mut txn = db.begin()?;
//! let ada = txn.create_vertex(&[person])?;
//! let bob = txn.create_vertex(&[person])?;
//! txn.set_vertex_property(ada, name, "Ada".into())?;
//! txn.create_edge(knows, ada, bob, &[])?;
//! txn.commit()?;
//!
//! let snapshot = db.snapshot()?;
//! let reader = snapshot.reader();
//! assert_eq!(reader.degree(ada, knows, Direction::Out), 1);
//! # Ok::<(), telar_engine::Error>(())
//! ```
//!
//! Features: `shuttle` (model checks), `failpoints` (fault injection); both for tests only.

mod adjacency;
mod background;
mod bulk;
mod catalog;
mod checkpoint;
mod clock;
mod column;
mod engine;
mod error;
mod eviction;
pub mod failpoint;
mod format;
#[cfg(any(fuzzing, all(test, not(feature = "shuttle"))))]
#[doc(hidden)]
pub mod fuzzing;
mod gate;
mod graph;
mod history;
mod horizon;
mod index;
mod intents;
pub mod io;
mod latch;
mod lmdb_check;
mod mapped;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
pub mod ops;
mod packed;
mod reclaim;
mod recovery;
mod sample;
mod schema;
mod settings;
mod shared;
mod snapshot;
mod stop;
mod store;
mod stream;
#[doc(hidden)]
pub mod sync;
mod table;
mod transaction;
mod txn;
pub mod wal;
mod words;

pub use adjacency::settle::SettleState;
pub use bulk::{BulkLoad, BulkName, BulkOptions, BulkReport, BulkStep, Column};
pub use catalog::{EdgeOrder, EdgeTypeOptions};
pub use engine::Engine;
pub use error::{Error, ErrorKind, Object, Violation};
pub use index::{ConstraintSpec, IndexInfo, IndexSpec, IndexTarget};
pub use intents::WriteWait;
pub use mapped::machine::memory_bytes as machine_memory_bytes;
pub use settings::{Retention, Settings};
pub use shared::MemoryUse;
pub use snapshot::{Adjacency, Reader, Registration as TransactionSnapshot, Snapshot};
pub use stop::Interrupt;
pub use stream::{Change, ChangeStream, CommitChanges};
pub use telar_graph::{ConstraintKind, IndexKind, IndexState, PropertyType, SchemaKind};
pub use transaction::{Committed, Isolation, Transaction};
pub use wal::Durability;
