//! A copy as sessions see it: reads of a leader are strict, writes go to the leader.

use std::path::Path;

use telar_db::query::{At, QueryError};
use telar_db::{Backend, BackendTransaction, CommitTs, Database as Engine, Isolation, SharedGraph};

use super::LocalCopy;

/// One opening of a node's copy of a database.
///
/// Isolation: on the leader a snapshot shows everything that anybody had acknowledged before it
/// (strict). On a follower it shows what has been applied, and bookmarks wait (causal).
#[derive(Debug)]
pub(in crate::dbms) struct ReplicaBackend {
    pub(in crate::dbms) engine: Engine,
    pub(in crate::dbms) copy: LocalCopy,
}

impl ReplicaBackend {
    /// Fails if a snapshot from before this call, of `shown` or later, may lack what another
    /// leader has acknowledged.
    fn check_lease(&self, shown: CommitTs) -> Result<(), QueryError> {
        self.copy.replica.check_lease(shown).map_err(|_| self.copy.not_a_leader())
    }
}

impl Backend for ReplicaBackend {
    fn folder(&self) -> Option<&Path> {
        self.engine.folder()
    }

    fn database(&self) -> Option<&Engine> {
        Some(&self.engine)
    }

    fn planning_version(&self) -> u64 {
        self.engine.planning_version()
    }

    fn snapshot(&self) -> Result<Box<SharedGraph<'_>>, QueryError> {
        // The order counts: the snapshot, then the lease.
        let shown = self.engine.published();
        let snapshot = Backend::snapshot(&self.engine)?;
        self.check_lease(shown)?;
        Ok(snapshot)
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        Backend::snapshot_at(&self.engine, at)
    }

    fn may_write(&self) -> Result<(), QueryError> {
        if self.engine.follows() {
            return Err(self.copy.not_a_leader());
        }
        Ok(())
    }

    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        let shown = self.engine.published();
        let transaction = Backend::begin(&self.engine, isolation)?;
        self.check_lease(shown)?;
        Ok(transaction)
    }

    fn committed_once(&self, id: &str) -> Option<CommitTs> {
        self.engine.committed_once(id)
    }

    fn published(&self) -> CommitTs {
        self.engine.published()
    }
}
