//! The HTTP side of the server, as its clients meet it: on a port, byte by byte.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod changes;
mod common;
mod formats;
mod limits;
mod query;
mod status;
mod transactions;
