//! Listening, encryption, and what keeps a peer from holding more than its share.
//!
//! - `accept`: a thread that takes connections in.
//! - `places`: how many there may be, with and without a login.
//! - [`files`]: how many the process may have.
//! - `socket`: a connection, encrypted or not, with deadlines.
//! - [`tls`]: certificates and keys from files.

mod accept;
pub mod files;
pub(crate) mod places;
mod socket;
pub mod tls;

pub(crate) use accept::Acceptor;
pub(crate) use socket::{Encryption, Over, Patience, Socket, TICK};
