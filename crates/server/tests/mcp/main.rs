//! `telar mcp` as a process: what a client of the Model Context Protocol gets from it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod client;
mod http;
#[path = "../../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
mod protocol;
#[path = "../common/serving.rs"]
mod serving;
mod sharing;
mod tools;
#[path = "../common/within.rs"]
mod within;
