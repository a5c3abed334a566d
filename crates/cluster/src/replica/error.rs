//! Why a replica cannot go on.

use super::election::NotLeader;
use crate::store::StoreError;

/// A failed operation of a replica.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The copy failed.
    #[error(transparent)]
    Engine(#[from] telar_engine::Error),
    /// The replicated log ends before what this copy has: the store has lost commits, or is another
    /// one. The copy keeps its data.
    #[error(
        "the replicated log ends before commit {known}, which this copy has: the store has lost \
         what it had taken, or is another one; `telar cluster recover` begins anew with this copy"
    )]
    LogBehind {
        /// The last commit of the copy.
        known: u64,
    },
    /// The replicated log does not reach back to the copy any more: it needs an image first.
    #[error("the replicated log begins at commit {oldest}, and this copy ends at {known}")]
    Behind {
        /// The last commit of the copy; 0 if there is none.
        known: u64,
        /// The first commit that the log has still.
        oldest: u64,
    },
    /// Another node leads, or may.
    #[error(transparent)]
    NotLeader(#[from] NotLeader),
    /// The copy is being opened again, since this node led and does no more, or its disk failed.
    #[error("the copy of this node is being opened again")]
    Reopening,
    /// The replica has stopped.
    #[error("the replica has stopped: {why}")]
    Stopped {
        /// Why.
        why: String,
    },
}
