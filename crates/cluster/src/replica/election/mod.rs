//! Who leads: a lease in the coordination, and an epoch record in the log.
//!
//! ```text
//!                 lease unchanged for               epoch record
//!                 TTL + margin, taken               won its slot
//!   ┌──────────┐ ───────────────────► ┌───────────┐ ────────────► ┌────────┐
//!   │ Follower │                      │ Candidate │               │ Leader │
//!   └──────────┘ ◄─────────────────── └───────────┘               └────────┘
//!        ▲       lease is another's, or                                │
//!        │       the log has a later epoch                             │
//!        └─────────────────────────────────────────────────────────────┘
//!                lease is another's, or released; or a slot is lost
//! ```
//!
//! [`Election`] is a state machine without I/O: [`step`](Election::step) takes an event and the
//! time, and returns actions. A driver carries them out and hands the answers back as events.
//!
//! # What it rests on
//!
//! - *The fence is the log.* A slot is written once, and whoever writes it has read everything
//!   before it. So a leader that is none any more loses its next slot, whatever its clock says:
//!   writes need neither lease nor clock to be safe.
//! - *The lease is for reads, and against needless fights.* It is a register that its holder
//!   renews, each time with another counter. The holder may read as long as its own clock says that
//!   less than the TTL passed since it *sent* the last renewal that took effect. Another node takes
//!   it over only after it has itself seen the register unchanged for TTL + margin, by
//!   compare-and-set on what it saw. So whenever it succeeds, the holder's lease has lapsed, if no
//!   clock runs faster than another by more than margin / TTL. No two clocks are ever compared.
//! - *A strict read takes its snapshot first and asks [`may_read`](Election::may_read) second.* If
//!   the lease is valid then and the snapshot has this node's epoch record, nobody else led between
//!   the record and the snapshot, so it has every commit that was acknowledged by then. The lease
//!   alone is not enough: a node may have taken the snapshot as a follower and lead since.
//! - *An unknown outcome is asked again*, with the same identity, until the slot is won or lost.
//!   Until then nobody is answered. A slot that is found empty proves nothing: the first request
//!   may still arrive.
//! - *Epochs grow along the log.* A take-over has the epoch after the largest seen in the lease and
//!   in the log; its first slot is an epoch record, and a candidate that finds its epoch in the log
//!   of another gives up.
//!
//! # What it does not do
//!
//! It moves no data: following is the replica's business, images and trimming are the server's.
//! There is one slot under way at a time.

mod event;
mod fault;
mod lease;
mod machine;
mod register;
mod settings;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use event::{Action, Content, Event, LeaseOutcome, Role, SeenSlot, SlotOutcome};
pub use lease::{LEASE_BYTES_MAX, Lease};
pub use machine::{Election, NotLeader};
pub use settings::{Moment, Settings};
