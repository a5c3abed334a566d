//! Strangers against a server as it is set up by default, over real sockets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../bolt/client.rs"]
#[allow(dead_code, reason = "the tests of Bolt use the rest")]
mod client;
#[path = "../http/common.rs"]
#[allow(dead_code, reason = "the tests of HTTP use the rest")]
mod common;
#[path = "../bolt/data.rs"]
#[allow(dead_code, reason = "the tests of Bolt use the rest")]
mod data;

mod isolation;
mod pages;
mod places;
mod rights;
mod server;
mod strangers;
