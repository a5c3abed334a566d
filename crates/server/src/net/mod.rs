//! Listening, encryption, and what keeps a peer from holding more than its share.
//!
//! - `accept`: a thread that takes connections in.
//! - `socket`: a connection, encrypted or not, with deadlines.
//! - [`tls`]: certificates and keys from files.

mod accept;
mod socket;
pub mod tls;

pub(crate) use accept::Acceptor;
pub(crate) use socket::{Encryption, Socket};
