//! The commit protocol: what becomes of a write set.
//!
//! ```text
//!  begin ──► reads at read_ts, writes collect in a private write set
//!    │
//!    ▼ commit, in the calling thread
//!  small: at most twice                      large, or small for the third time
//!    plan    stripes of segments, chunks       collect  whole segments          plan.rs, whole.rs
//!    latch   in ascending order                latch    in ascending order      latch.rs
//!    verify  nothing was rebuilt               ready    loaded, with room for all that is written
//!  validate  first committer wins; reads too if serializable                    validate.rs
//!  reserve   room in every tail, so that nothing below can fail
//!  stamp     take the commit timestamp, queue the log record (one critical section)
//!  apply     append to tails; unlatch
//!  wait      until the group is on disk (`full` durability)                     wal/
//!  publish   the read timestamp advances in commit order                        clock/
//! ```
//!
//! Whoever deletes a vertex looks at each list that there can be at it. Which there can be does not
//! change meanwhile: edge types, and segments that get their first list, wait for it
//! (`Catalog::fix_lists`, taken before everything else that commits hold).
//!
//! Invariants
//! 1. A commit timestamp is taken while every latch is held, so the entries of each list stand in
//!    commit order and a snapshot sees a prefix.
//! 2. The published timestamp passes `t` only when every commit up to `t` is applied and, under
//!    `full` durability, on disk. One store makes a whole group visible.
//! 3. A live reader's timestamp stands in its slot before it reads anything (clock/readers.rs), so
//!    the low watermark never passes it.
//!
//! Isolation, anomalies and their tests: docs/transactions.md.

pub(crate) mod claim;
pub(crate) mod edge_ends;
pub(crate) mod keyed;
mod layers;
pub(crate) mod maintenance;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
pub(crate) mod plan;
pub(crate) mod protocol;
pub(crate) mod record;
#[cfg(test)]
#[cfg(not(feature = "shuttle"))]
mod steps_tests;
pub(crate) mod validate;
mod whole;
pub(crate) mod write_set;
