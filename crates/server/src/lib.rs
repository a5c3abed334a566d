//! The server: databases for clients that speak Bolt or HTTP.
//!
//! - [`dbms`]: databases by name, who may do what, what a client can ask for.
//! - [`bolt`]: the protocol of Neo4j's drivers.
//! - [`net`]: listening, encryption.
//! - [`server`]: all of it, running.

pub mod bolt;
pub mod dbms;
pub mod net;
pub mod server;
