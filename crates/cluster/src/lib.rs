//! Replication of Telar databases over existing stores.
//!
//! ```text
//!   replica             a copy of a database: an engine that follows the log, or leads it
//!     └ election        the leader's lease: a state machine, no I/O
//!   members             the processes: where they are, and how far
//!   transfer            an operator's request that another member leads
//!   upkeep              what a log need not keep any more: a pure function
//!   keys                names of all of that in a store
//!          │  uses
//!        store          Log · Coordination · Images, and what implements them
//! ```
//!
//! `telar serve` uses it (crates/server/src/dbms/cluster). What is there, and what is not, is in
//! docs/cluster.md.
//!
//! The replicated log is kept by a store that exists already (a folder on one machine, etcd,
//! PostgreSQL). This crate has no consensus of its own: a slot of the log is written once, and
//! the store decides by whom.

#![forbid(unsafe_code)]

pub mod keys;
pub mod members;
pub mod replica;
pub mod store;
pub mod tls;
pub mod transfer;
pub mod upkeep;
