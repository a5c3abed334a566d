//! Databases that go from one server to another over HTTP: whole, and commit by commit.
//!
//! ```text
//!  source                                      server that asks
//!  GET /databases           ◄──── client ────  databases: names, identities
//!  GET /db/NAME/image       ─── image, frame ─► a folder with the database as of one commit
//!  GET /db/NAME/log?after=N ─── log ──────────► records that the copy applies
//! ```
//!
//! - [`client`]: requests, with credentials and encryption given from outside.
//! - [`frame`]: files in one stream, checked; knows no HTTP.
//! - [`image`]: a consistent copy of a database, served and fetched.
//! - [`log`]: records after a commit, served and fetched; [`list`]: the databases there are.
//! - [`error`]: errors of the side that asks.
//!
//! The endpoints are in `http/replication.rs`. Whoever asks decides what becomes of a fetched
//! database: [decisions/0079](../../../docs/decisions/0079-a-follower-asks-over-http.md).

pub mod client;
pub mod error;
pub mod frame;
pub mod image;
pub mod list;
pub mod log;

pub use client::{Client, Credentials, SourceUrl};
pub use error::Error;
