//! Events that go into an election, and actions that come out of it.

use super::Lease;
use crate::store::{SlotRange, Version};

/// Role of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It follows the log.
    Follower,
    /// It holds the lease, and reads the log to its end to write the epoch record.
    Candidate,
    /// It writes the log.
    Leader,
}

/// A slot of the log, as far as an election looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSlot {
    /// Its timestamps.
    pub range: SlotRange,
    /// The epoch in its header.
    pub epoch: u64,
    /// Who wrote it: the holder's number.
    pub writer: u64,
    /// What tells it from the writer's others.
    pub nonce: u64,
}

/// Intended content of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// An epoch record: it takes one timestamp.
    Epoch,
    /// The group that was handed over by this number.
    Group(u64),
}

/// The outcome of a write to the lease's register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// It was written, in this version.
    Won(Version),
    /// Another version is there.
    Lost(Option<(Version, Lease)>),
    /// It may have been written, or will be.
    Unknown,
}

/// The outcome of putting a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SlotOutcome {
    /// The slot is ours.
    Won,
    /// The slot is this one.
    Lost(SeenSlot),
    /// It may be ours, or will be.
    Unknown,
}

/// Something that happened. `request` is the number of the action that is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Time passed: [`Election::wake_at`](super::Election::wake_at) is reached.
    Tick,
    /// The register was read.
    LeaseRead {
        /// Which request.
        request: u64,
        /// What it holds, if it was ever written.
        found: Option<(Version, Lease)>,
    },
    /// The register was written, or not.
    LeaseWritten {
        /// Which request.
        request: u64,
        /// What became of it.
        outcome: LeaseOutcome,
    },
    /// The log was read: the slots from the one asked for on, in order; none at its end.
    LogRead {
        /// Which request.
        request: u64,
        /// The slots.
        slots: Vec<SeenSlot>,
    },
    /// Slots of the log were found that nobody had asked for, in order. It says nothing about the
    /// log's end.
    Found {
        /// The slots.
        slots: Vec<SeenSlot>,
    },
    /// A slot was put, or not.
    SlotPut {
        /// Which request.
        request: u64,
        /// What became of it.
        outcome: SlotOutcome,
    },
    /// A read failed.
    Failed {
        /// Which request.
        request: u64,
    },
    /// A group of commits wants to be in the log.
    Append {
        /// The number by which it is acknowledged or refused.
        id: u64,
        /// Its number of commits, at least 1.
        commits: u64,
    },
    /// The log has grown, as somebody has seen: read it, if this node does.
    Look,
    /// Stop leading, so that another node can without waiting.
    Release {
        /// The node that is to lead, if not any other.
        to: Option<String>,
    },
}

/// Something to do. The order counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read the register.
    ReadLease {
        /// The number for the answer.
        request: u64,
    },
    /// Write the register if it has version `expected`.
    WriteLease {
        /// The number for the answer.
        request: u64,
        /// The version that is replaced.
        expected: Version,
        /// The new value.
        lease: Lease,
    },
    /// Read the log.
    ReadLog {
        /// The number for the answer.
        request: u64,
        /// The first timestamp that is not known.
        from: u64,
    },
    /// Put a slot.
    PutSlot {
        /// The number for the answer.
        request: u64,
        /// The slot, with the epoch and identity that its header is to have.
        slot: SeenSlot,
        /// What it is to hold.
        content: Content,
    },
    /// Apply a slot that another node wrote, or this one before it was started: the next in order.
    Apply(SeenSlot),
    /// The group is in the log, in this slot, which is the next in order.
    Acknowledge {
        /// The group.
        id: u64,
        /// Its slot.
        slot: SeenSlot,
    },
    /// The group is not in the log, and never will be.
    Refuse {
        /// The group.
        id: u64,
    },
    /// The role changed.
    Became(Role),
}
