//! Model Context Protocol: the interface of a graph for programs with language models.
//!
//! ```text
//!  stdin, stdout ── stdio: a line is a message ──┐
//!                                                ├─► server: sessions, methods ─► tools ─► graph
//!  POST /mcp ────── http: JSON or SSE ───────────┘         rpc: JSON-RPC                   │
//!                                                                     a folder (telar_share),
//!                                                                     a server (bolt::client),
//!                                                                     or within one (dbms::Client)
//! ```
//!
//! - [`stdio`], [`http`]: the transports. A call runs on a thread of its own; another message ends
//!   it. `telar serve` has a route to the latter ([`crate::http`]), which brings its own listener,
//!   users and places.
//! - `server`: a session with its version and its running calls; `modern`: the version without
//!   sessions; `rpc`: messages and errors.
//! - `catalogue`: resources and prompts; `tools`: the tools, with their schemas.
//! - `graph`: the database behind the tools; `past`: statements as of an earlier commit.
//! - `gather`, `encode`: rows as JSON, within limits; `arguments`, `failure`: input and errors of
//!   tools.
//!
//! docs/mcp.md is the manual; [decisions/0093](../../../docs/decisions/0093-mcp-by-hand.md) says
//! why no library does it, [0100](../../../docs/decisions/0100-mcp-is-a-route-of-the-server.md)
//! what `telar serve` offers.

mod arguments;
mod catalogue;
mod encode;
mod failure;
mod gather;
mod graph;
pub mod http;
mod modern;
mod past;
mod rpc;
mod server;
pub mod stdio;
mod tools;

use std::time::Duration;

pub use graph::Graph;
pub use server::Server;

/// Least [`Settings::chars_max`]: nothing fits into less.
pub const CHARS_MIN: u32 = 1000;

/// Limits and rights of calls.
#[derive(Debug, Clone)]
pub struct Settings {
    /// True if there is a tool that writes.
    pub allow_writes: bool,
    /// Rows, hits or nodes of one answer.
    pub rows_max: usize,
    /// Bytes of JSON of one answer, of which a character takes one or more.
    pub chars_max: usize,
    /// Time of one call.
    pub timeout: Duration,
    /// Calls at once. In a server they take places of statements instead.
    pub calls_max: usize,
    /// Sessions over HTTP at once: above, one of the user who has most of them ends.
    pub sessions_max: usize,
    /// Time without a call after which a session over HTTP ends.
    pub session_idle: Duration,
}

impl Default for Settings {
    /// Reads only, with limits that fit a model's context.
    fn default() -> Self {
        Self {
            allow_writes: false,
            rows_max: 100,
            chars_max: 40_000,
            timeout: Duration::from_secs(30),
            calls_max: 16,
            sessions_max: 1000,
            session_idle: Duration::from_secs(60 * 60),
        }
    }
}
