//! The server: databases for clients that speak Bolt or HTTP.
//!
//! - [`dbms`]: databases by name, who may do what, what a client can ask for.
//! - [`bolt`]: the protocol of Neo4j's drivers.
//! - [`http`]: the Query API, and what operators look at.
//! - [`mcp`]: the Model Context Protocol, for programs with language models.
//! - [`net`]: listening, encryption.
//! - [`config`]: what can be set, from file, environment and flags.
//! - [`replication`]: databases that go from one server to another.
//! - [`logs`], [`metrics`]: what is written down and counted.
//! - [`server`]: all of it, running.

pub mod bolt;
pub mod config;
pub mod dbms;
pub mod http;
pub mod logs;
pub mod mcp;
pub mod metrics;
pub mod net;
pub mod replication;
pub mod server;
