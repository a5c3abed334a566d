//! The Node.js package `telar`: the embedded database for JavaScript and TypeScript programs.
//!
//! ```text
//!  npm/index.js, npm/lib/*.js     what users see: classes, promises, iteration, errors
//!      graph.js, temporal.js, encode.js, decode.js       values, and bytes both ways
//!  ──────────────────────── Node-API ────────────────────────
//!  session · transaction · stream · load   what JavaScript calls
//!      held                          a result: its rows as bytes, its columns as Arrow
//!      codec · tables                the same bytes on this side, and Arrow as parameters
//!  database                          what is open, and how it is closed
//!  hub · pool                        threads of statements, and what they finished
//!  error · settings · temporal       plain objects, both ways
//! ```
//!
//! Everything that JavaScript may wait for runs on a thread of the `pool`; what it made waits in
//! the `hub` of the JavaScript thread that asked. Values cross as bytes that one side writes and
//! the other reads, so that threads prepare rows and JavaScript makes its objects in its own code.
//! The classes of this side are private: `npm/lib` is the only user.

mod codec;
mod database;
mod error;
mod held;
mod hub;
mod load;
mod pool;
mod session;
mod settings;
mod stream;
mod tables;
mod temporal;
mod transaction;
