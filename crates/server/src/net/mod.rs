//! Network: listening, encryption, connection limits and time limits.
//!
//! - `accept`: the thread that accepts connections.
//! - `admission`: limits on connections, with and without a login.
//! - [`files`]: the limit of open files, and the connections that fit into it.
//! - `socket`: a connection, encrypted or not, with deadlines.
//! - [`tls`]: certificates and keys from files.

mod accept;
pub(crate) mod admission;
pub mod files;
mod socket;
pub mod tls;

pub(crate) use accept::Acceptor;
pub(crate) use socket::{Encryption, Socket, TICK, WaitEnd, WaitLimit};
