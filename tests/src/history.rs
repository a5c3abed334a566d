//! Histories of concurrent transactions: what each read, wrote, and became.
//!
//! Objects are chosen so that a read says which writes it saw: a list property holds the unique ids
//! of its appends in order, and every edge and vertex put into a set is a new one.

/// A set that is read as a whole, as predicates are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// Edges out of a vertex.
    Out(u64),
    /// Edges into a vertex.
    In(u64),
    /// Vertices with a label.
    Label,
}

/// One step of a transaction. Reads come with what they returned, own writes included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Read list `key`.
    ReadList {
        /// Which list.
        key: u64,
        /// Ids of the appends seen, oldest first.
        ids: Vec<i64>,
    },
    /// Appended `id`, never used elsewhere, to list `key`, which was read before.
    Append {
        /// Which list.
        key: u64,
        /// The new id.
        id: i64,
    },
    /// Read the members of a set.
    ReadSet {
        /// Which set.
        set: Set,
        /// Its members, ascending.
        members: Vec<u64>,
    },
    /// Made an item, never made elsewhere, a member of `sets`.
    Insert {
        /// The new item.
        item: u64,
        /// Sets it is in.
        sets: Vec<Set>,
    },
    /// Removed an item from all its sets.
    Remove {
        /// The item.
        item: u64,
    },
    /// Looked for a simple edge.
    ReadSimple {
        /// Its ends.
        edge: (u64, u64),
        /// Whether it was there.
        there: bool,
    },
    /// Made sure that a simple edge is there, or is not.
    PutSimple {
        /// Its ends.
        edge: (u64, u64),
        /// Whether it shall be there.
        there: bool,
    },
}

/// One transaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Txn {
    /// Who ran it.
    pub thread: usize,
    /// Timestamp it read at.
    pub read_ts: u64,
    /// Timestamp of its commit, the read timestamp if it changed nothing; `None` if it aborted.
    pub commit_ts: Option<u64>,
    /// Tick of a shared counter before it began.
    pub begin: u64,
    /// Tick after its commit returned.
    pub end: u64,
    /// Edges its commit says it added and removed.
    pub counts: (u64, u64),
    /// What it did.
    pub ops: Vec<Op>,
}

/// What an isolation level forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A cycle of overwrites.
    G0,
    /// A read of an aborted write.
    G1a,
    /// A read of a write that its transaction overwrote.
    G1b,
    /// A cycle of overwrites and reads of what was written.
    G1c,
    /// A committed append that is not in the end result, or versions that are no one line.
    LostUpdate,
    /// A cycle in which no two anti-dependencies meet: read skew and what is like it.
    GSingle,
    /// Any other cycle: write skew and phantoms.
    G2,
    /// A transaction does not see its own writes as it should.
    OwnWrites,
    /// Something not explained by any serial order of timestamps; see `oracle`.
    Timestamps,
}

/// An anomaly found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Anomaly {
    /// Which.
    pub kind: Kind,
    /// Where, for people.
    pub text: String,
}

impl Anomaly {
    pub(crate) fn new<T>(kind: Kind, text: impl Into<String>) -> Result<T, Self> {
        Err(Self { kind, text: text.into() })
    }
}
