//! Telar's storage engine: a transactional property graph whose adjacency scans run at CSR speed.
//!
//! Modules stand on floors, and use those below them only (ARCHITECTURE.md; a test keeps it). From
//! the ground up:
//!
//! - `format`, `packed`, `words`, `table`: keys and checksums; how integers are stored; memory by
//!   words; arrays that grow while others read.
//! - `sync`, `latch`, `gate`, `intents`, `reclaim`: who waits for whom, and when memory is freed;
//!   `role`: whether commits are the database's own, or those of a replicated log.
//! - [`io`], [`wal`], `clock`: files; the log; commit timestamps and who reads at which.
//! - `once`: ids of transactions that commit once.
//! - `lmdb_check`, `mapped`, `store`: looks at the store before LMDB does; values read in place and
//!   the memory limit; the folder of a database.
//! - `adjacency`: segments, bases, tails, hubs; `adjacency/scan.rs` is the hot loop.
//! - `column`: versioned values of vertices and edges.
//! - `catalog`: names, label sets, edge types with their tables.
//! - `horizon`, `history`: how far settling may go; reading the past; free vertex ids.
//! - `graph`: all of that together, as reads and commits use it.
//! - `index`: property indexes and constraints.
//! - `sample`, `shared`: figures to plan with; what every handle of a database shares.
//! - `eviction`, `snapshot`: keeping to the memory limit; reads at one commit.
//! - `checkpoint`, `commit`: durability; the commit protocol, from latches to publication.
//! - `schema`, `transaction`: how names and indexes are made; what a client reads and writes.
//! - `bulk`, `recovery`, `stream`: whole graphs straight into bases; opening after a crash; every
//!   committed change, in order.
//! - `background`, [`engine`](Engine): upkeep; opening, schema names, beginning transactions.
//! - [`maintenance`]: backup, restore, check, repair, compaction, upgrade, health.
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
mod attachments;
mod background;
mod bulk;
mod catalog;
mod checkpoint;
mod clock;
mod column;
mod commit;
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
pub mod maintenance;
mod mapped;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
mod once;
mod packed;
mod reclaim;
mod recovery;
mod role;
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
pub mod wal;
mod words;

pub use adjacency::settle::SettleState;
pub use bulk::{BulkLoad, BulkName, BulkOptions, BulkReport, BulkStep, Column};
pub use catalog::{EdgeOrder, EdgeTypeOptions};
pub use engine::{Engine, WeakEngine};
pub use error::{Error, ErrorKind, Object, Violation};
pub use index::{ConstraintSpec, IndexInfo, IndexSpec, IndexTarget};
pub use intents::WriteWait;
pub use mapped::machine::memory_bytes as machine_memory_bytes;
pub use once::ONCE_ID_BYTES_MAX;
pub use settings::{Retention, Settings};
pub use shared::MemoryUse;
pub use snapshot::{Adjacency, Reader, Registration as TransactionSnapshot, Snapshot};
pub use stop::Interrupt;
pub use stream::{Change, ChangeStream, CommitChanges, LogPlace, LogReader, LogRecords};
pub use telar_graph::{ConstraintKind, IndexKind, IndexState, PropertyType, SchemaKind};
pub use transaction::{Committed, Isolation, Transaction};
pub use wal::Durability;
