//! The server: databases for clients that speak Bolt or HTTP.
//!
//! - [`dbms`]: databases by name, who may do what, what a client can ask for.
//! - [`http`]: the Query API, and what operators look at.
//! - [`metrics`]: figures for monitoring.
//! - [`bolt`]: the protocol of Neo4j's drivers.
//! - [`net`]: listening, encryption.
//! - [`server`]: all of it, running.

pub mod bolt;
pub mod dbms;
pub mod http;
pub mod metrics;
pub mod net;
pub mod server;
