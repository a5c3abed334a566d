//! A copy as sessions see it: reads, and writes that are refused.

use std::path::Path;

use telar_db::query::{At, QueryError};
use telar_db::{Backend, BackendTransaction, CommitTs, Database as Engine, Isolation, SharedGraph};

use super::Follow;

/// Copy of a database of the server at `address`.
///
/// Isolation: a snapshot shows what has been applied; bookmarks of the source wait for their
/// commits here, too.
#[derive(Debug)]
pub(in crate::dbms) struct FollowBackend {
    pub(in crate::dbms) engine: Engine,
    pub(in crate::dbms) address: String,
}

impl Backend for FollowBackend {
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
        Backend::snapshot(&self.engine)
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        Backend::snapshot_at(&self.engine, at)
    }

    fn may_write(&self) -> Result<(), QueryError> {
        Err(Follow::refusal(&self.address))
    }

    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        Backend::begin(&self.engine, isolation)
    }

    fn published(&self) -> CommitTs {
        self.engine.published()
    }
}
