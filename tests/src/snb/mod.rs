//! LDBC's social network, as the shared folder has it: loaded, queried, updated.
//!
//! ```text
//!  tiny.tar.zst ─ archive.rs ─► CSV ─ load.rs ─► a database ─┐
//!                    │                                       ├─ reads.rs ─► answers, compared
//!                    ├─ params.json, expected answers ───────┘              (answer.rs)
//!                    └─ update streams ─ update.rs ─► queries with parameters
//!  queries/*.cypher, unchanged
//! ```
//!
//! Queries run through [`Subject`](crate::tck::subject::Subject), as those of the TCK do. Results
//! on this data are not LDBC benchmark results.

mod answer;
mod archive;
mod load;
mod reads;
mod update;
mod whole;

#[cfg(test)]
mod tests;

pub use answer::Order;
pub use archive::Archive;
pub use load::{Counts, counts, counts_after_updates, load};
pub use reads::{Expected, Queries, READS, check_reads};
pub use update::{Update, UpdateKind, updates};
pub use whole::check_tiny;
