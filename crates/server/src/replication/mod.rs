//! Databases that go from one server to another over HTTP: whole, and commit by commit.
//!
//! ```text
//!  source                                      server that asks
//!  GET /databases           ◄──── client ────  databases: names, identities
//!  GET /db/NAME/image       ─── image, frame ─► a folder with the database as of one commit
//! ```
//!
//! - [`client`]: requests, with credentials and encryption given from outside.
//! - [`frame`]: files in one stream, checked; knows no HTTP.
//! - [`image`]: a consistent copy of a database, served and fetched.
//! - [`error`]: errors of the side that asks.
//!
//! The endpoints are in `http/replication.rs`. Whoever asks decides what becomes of a fetched
//! database: [decisions/0079](../../../docs/decisions/0079-a-follower-asks-over-http.md).

pub mod client;
pub mod error;
pub mod frame;
pub mod image;

pub use client::{Client, Credentials, SourceUrl};
pub use error::Error;
