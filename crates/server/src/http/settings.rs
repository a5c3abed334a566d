//! What can be set of the HTTP side.

use std::net::SocketAddr;
use std::time::Duration;

use crate::dbms::USER_SHARE;
use crate::mcp;
use crate::net::origin::{Allowed, Host, Origin};

/// Limits and addresses. All of them bound what a peer can hold.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Largest body of a request, in bytes.
    pub body_bytes_max: usize,
    /// Connections at once that have logged in.
    pub connections_max: usize,
    /// Percent of these, of statements and of transactions that one user may have.
    pub user_share: usize,
    /// Connections beside them that have not: when there are more, the oldest of these is closed.
    pub newcomers_max: usize,
    /// Statements and change streams that run at once, each on a thread.
    pub statements_max: usize,
    /// Transactions open at once. An idle one holds memory and no thread.
    pub transactions_max: usize,
    /// How long a transaction waits for its next request before it is rolled back.
    pub transaction_idle: Duration,
    /// How long the headers of a request may take, and how long a connection may idle between two.
    pub header_timeout: Duration,
    /// How long the body of a request may take.
    pub body_timeout: Duration,
    /// How long a reader may take for 64 KiB of an answer.
    pub stall_timeout: Duration,
    /// How often a change stream says that it is alive.
    pub heartbeat: Duration,
    /// Where Bolt clients find this server, for the discovery document.
    pub bolt: Option<SocketAddr>,
    /// Address under which other nodes of a cluster reach this side, if it is said.
    pub advertised: Option<String>,
    /// Whether the discovery document says `https`.
    pub encrypted: bool,
    /// Whether `/metrics` can be read without logging in.
    pub open_metrics: bool,
    /// What clients may call the server beside the names of this machine. None: anything, if there
    /// are users, and else nothing.
    pub allowed_hosts: Allowed<Host>,
    /// Origins of pages that may ask, beside those of the server itself.
    pub allowed_origins: Allowed<Origin>,
    /// Limits and rights of language models, if `/mcp` is served.
    pub mcp: Option<mcp::Settings>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            body_bytes_max: 16 << 20,
            connections_max: 1000,
            user_share: USER_SHARE,
            newcomers_max: 500,
            statements_max: 256,
            transactions_max: 256,
            transaction_idle: Duration::from_secs(60),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(60),
            stall_timeout: Duration::from_secs(60),
            heartbeat: Duration::from_secs(15),
            bolt: None,
            advertised: None,
            encrypted: false,
            open_metrics: false,
            allowed_hosts: Allowed::default(),
            allowed_origins: Allowed::default(),
            mcp: Some(mcp::Settings::default()),
        }
    }
}
