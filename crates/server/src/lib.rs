//! The server: databases for clients that speak Bolt or HTTP.
//!
//! - [`dbms`]: databases by name, who may do what, what a client can ask for.

pub mod dbms;
