//! Replicas of a database: who leads them, and how each becomes what the leader is.
//!
//! ```text
//!            election (a state machine)            engine (one copy)
//!                    ▲                                  ▲
//!   events, actions  │                                  │ apply · promote · reopen
//!            ┌───────┴──────────── core ────────────────┴───────┐
//!            │ lease work          log work          group puts │
//!            └──┬──────────────────────┬──────────────────┬─────┘
//!               ▼                      ▼                  ▼
//!          coordination       log: read, epoch put   log: put of a group
//!          (driver.rs)        (follower.rs)          (leader.rs, called by the engine)
//! ```
//!
//! The work of the three columns is done by different threads, so that a slow put does not keep the
//! lease from being renewed. Tests do all of it in one thread, by a clock of their own
//! (`simulation`).
//!
//! - *Following*: slots are read, and applied before the election hears of them.
//! - *Taking over*: the lease is won, the log is read to its end and applied, the epoch record wins
//!   the next slot and is applied; then the engine is promoted, without being opened again.
//! - *Leading*: the engine's group commit hands over each group and waits for its slot. A group
//!   whose outcome is not known is put again, or looked for in the log, before anybody is answered.
//! - *Deposed*: the engine is let go and opened again to follow. Commits that nobody was told of
//!   are gone with it.
//! - *Stale reads*: while the store's leader is away, what its other nodes have is applied
//!   (`stale.rs`).
//! - *Held up*: the disk of the copy fails, as a full one does. It is read as it is, does not lead,
//!   and is opened again after a pause (`held_up.rs`).

mod core;
mod driver;
pub mod election;
mod error;
mod follower;
pub mod held_up;
mod latest;
mod leader;
mod node;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod simulation;
mod stale;
mod time;

pub use error::ReplicaError;
pub use node::{Replica, ReplicaOptions};
