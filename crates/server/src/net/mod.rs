//! Network: listening, encryption, connection limits and time limits.
//!
//! - `accept`: the thread that accepts connections.
//! - `admission`: limits on connections, with and without a login.
//! - `browser`, `origin`: access rules for requests of web pages; names of servers and of pages.
//! - [`files`]: the limit of open files, and the connections that fit into it.
//! - `socket`: a connection, encrypted or not, with deadlines.
//! - [`tls`]: certificates and keys from files.
//! - [`websocket`]: handshake and frames of WebSocket.

mod accept;
pub(crate) mod admission;
pub(crate) mod browser;
pub mod files;
pub(crate) mod origin;
mod socket;
pub mod tls;
pub mod websocket;

pub(crate) use accept::Acceptor;
pub(crate) use socket::{Encryption, Shutter, Socket, TICK, WaitEnd, WaitLimit};

/// Host and port of `host`, `host:port` or `[address]:port`; `default` is the port if none is
/// named. None if it is none of these.
pub(crate) fn host_and_port(text: &str, default: u16) -> Option<(&str, u16)> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = port.map_or(Some(default), |port| port.parse().ok())?;
    (!host.is_empty() && port != 0).then_some((host, port))
}
