//! Transactions.
//!
//! ```text
//!  begin ──► reads at read_ts, writes collect in a private write set
//!    │
//!    ▼ commit, in the calling thread
//!  plan      which latches: stripes of segments, hub chunks            commit.rs
//!  latch     in ascending order                                        latch.rs
//!  verify    nothing planned for was rebuilt meanwhile, else plan anew
//!  validate  first committer wins; reads too if serializable           validate.rs
//!  reserve   room in every tail, so that nothing below can fail
//!  stamp     take the commit timestamp, queue the log record           (one critical section)
//!  apply     append to tails; unlatch
//!  wait      until the group is on disk (`full` durability)            wal/
//!  publish   the read timestamp advances in commit order               clock.rs
//! ```
//!
//! Invariants
//! 1. A commit timestamp is taken while every latch is held, so the entries of each list stand in
//!    commit order and a snapshot sees a prefix.
//! 2. The published timestamp passes `t` only when every commit up to `t` is applied and, under
//!    `full` durability, on disk. One store makes a whole group visible.
//! 3. A live reader's timestamp stands in its slot before it reads anything (readers.rs), so the
//!    low watermark never passes it.
//!
//! Isolation, anomalies and their tests: docs/transactions.md.

pub(crate) mod clock;
pub(crate) mod commit;
pub(crate) mod edge_ends;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
pub(crate) mod plan;
pub(crate) mod readers;
pub(crate) mod record;
pub(crate) mod validate;
pub(crate) mod write_set;
