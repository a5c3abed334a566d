//! The Bolt server as a client of its own sees it: one that can say anything, in any order.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod conflicts;
mod data;
mod deletes;
mod fuzz;
mod hostile;
mod interrupt;
mod memory;
mod newcomers;
#[path = "../../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
mod program;
mod states;
mod streams;
mod tls;
mod versions;
mod waits;
mod web;
mod websocket;
mod websocket_pages;
#[path = "../common/within.rs"]
mod within;
