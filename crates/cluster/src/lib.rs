//! Replication of Telar databases over existing stores.
//!
//! ```text
//!   replica             a node: an engine that follows the log, or leads it
//!     └ election        the leader's lease: a state machine, no I/O
//!          │  uses
//!        store          Log · Coordination · Images, and what implements them
//! ```
//!
//! No server uses this crate yet. What is there, and what is not, is in docs/cluster.md.
//!
//! The replicated log is kept by a store that exists already (a folder on one machine, etcd,
//! PostgreSQL). This crate has no consensus of its own: a slot of the log is written once, and
//! the store decides by whom.

#![forbid(unsafe_code)]

pub mod replica;
pub mod store;
