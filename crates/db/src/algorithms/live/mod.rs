//! Results that follow the change stream: `CALL algo.live.create('ranks', 'pageRank', {..})`.
//!
//! ```text
//!  create ─► definition ─► live/definitions.json        kept until it is dropped
//!  stream ─► registry ─► state at a commit ─► changes since ─► kernel (telar_algo::live) ─► rows
//!                          live/N.state, where the database is closed
//! ```
//!
//! - `procedures`: what `CALL` can run.
//! - `registry`: names, and how readers bring a state up to date.
//! - `definition`, `files`, `bytes`: what is asked for; what is stored of it, and of a state.
//! - `state`, `changes`: a state at a commit; from the change stream to what it touches.
//! - `kernel`, `slots`, `lists`: the kernels, their vertex numbers, and the lists that they read.
//!
//! docs/algorithms.md is the manual, decisions/0072 says why it is so.

mod bytes;
mod changes;
mod definition;
mod files;
mod kernel;
mod lists;
mod procedures;
mod registry;
mod slots;
mod state;

pub(super) use procedures::add;
