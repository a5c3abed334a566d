//! One database, several processes.
//!
//! The first process that opens a folder has the database: it is the *owner*. Every other one that
//! opens the folder is a *guest*: what it asks runs in the owner, by a socket beside the files
//! (`share.sock`), and comes back as columns. When the owner closes the database or ends, however
//! it ends, one of the guests opens it, and the others go on there; each finds out with the next
//! thing that it asks.
//!
//! ```text
//!   process 1 (owner)          process 2 (guest)       process 3 (guest)
//!   ┌──────────────────┐       ┌───────────────┐       ┌───────────────┐
//!   │ Session          │       │ Session       │       │ Session       │
//!   │   │    threads ◀─┼───────┼─ Link         │       │ Link          │
//!   │   ▼      │       │       └───────────────┘       └──┬────────────┘
//!   │ Database ▼  ◀────┼──────────── share.sock ──────────┘
//!   └───┬──────────────┘
//!       ▼ LOCK, log, store
//! ```
//!
//! - *What is promised*: a commit that has returned is kept as the durability of the database says.
//!   A statement whose owner ends is sent again to the next one, and changes the graph once: it has
//!   an id ([`Session::with_once`](telar_db::Session::with_once)). If it was committed before, it
//!   succeeds without columns, and with them fails with
//!   [`DatabaseUnavailable`](telar_db::query::ErrorKind), detail `ResultLost`. What has no id
//!   (changes of indexes and constraints, `COPY`, `CALL { } IN TRANSACTIONS`, loads of tables)
//!   fails with detail `UnknownOutcome`; so does a stream of which rows were handed on, and what
//!   was ended while the owner did not answer. An open transaction is undone with its owner; its
//!   next statement fails with [`Conflict`](telar_db::query::ErrorKind::Conflict), which says: run
//!   it again. Its commit is asked for at the next owner.
//! - *Who is let in*: processes of the same user, on the same machine, of the same version of
//!   Telar. A guest that wants commits on disk when they return is refused by an owner whose
//!   commits are asynchronous. All other settings are those of the owner.
//! - *Cost*: a statement of a guest pays two messages, some 20 microseconds, and its rows are
//!   copied through the socket.
//!
//! [`Shared::open`] begins; `owner` and `serving` are the owner's side, `peer` is a guest's,
//! `shared` is what chooses between them, `wire`, `message` and `codec` what goes over the socket.
//! docs/decisions/0086-processes-share-a-folder.md says why it is like this.
//!
//! ```
//! use telar_db::query::Columns;
//! use telar_db::{Settings, ValueMap};
//! use telar_share::{Opening, Options, Shared, Statement};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("g.telar");
//! let owner = Shared::open(Opening::new(&path, Settings::default()))?;
//! // In another process:
//! let guest = Shared::open(Opening::new(&path, Settings::default()))?;
//! assert!(owner.is_owner() && !guest.is_owner());
//!
//! let session = guest.session(Options::default());
//! let none = ValueMap::new();
//! let mut columns = Columns::default();
//! session.run(&Statement::new("CREATE (n:City {name: 'Ulm'}) RETURN n.name", &none), &mut columns)?;
//! assert_eq!(columns.row_count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod codec;
mod functions;
mod inherited;
mod message;
mod owner;
mod peer;
mod remote;
mod serving;
mod session;
mod shared;
mod socket;
mod transaction;
mod wire;

pub use inherited::{fork_begins, fork_in_child, fork_in_parent};
pub use message::Options;
pub use session::Session;
pub use shared::{Error, Opening, Shared, Statement};
pub use transaction::Transaction;
