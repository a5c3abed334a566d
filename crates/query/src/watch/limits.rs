//! Limits of a query.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use crate::budget::Budget;
use crate::query_error::QueryError;
use crate::scratch::Scratch;

/// Limits of a query.
#[derive(Debug, Clone, Default)]
pub struct Limits {
    /// Time at which the query is cancelled.
    pub deadline: Option<Instant>,
    /// Upper bound on the bytes that the query holds at once, for sorting, grouping and lists.
    pub memory: Option<usize>,
    /// Temporary files for rows that exceed `memory`; without them, such a query fails.
    pub scratch: Option<Arc<dyn Scratch>>,
    /// Bytes that one operator holds before it spills its rows to `scratch`. Without it: half of
    /// the bytes that are left of `memory`.
    pub spill_after: Option<usize>,
    /// Folder below which `LOAD` and `COPY FROM` may read files; without it, none.
    pub import_folder: Option<PathBuf>,
    /// Folder below which `COPY TO` and `apoc.export.*` may make files; without it, none.
    pub export_folder: Option<PathBuf>,
    /// Folder of the database, in which statements make no files; its sessions fill it in.
    pub database_folder: Option<PathBuf>,
    /// Flag that cancels the query.
    pub cancelled: Option<Arc<AtomicBool>>,
    /// Flag that `TERMINATE TRANSACTIONS` sets to cancel the query.
    pub terminated: Option<Arc<AtomicBool>>,
    /// Memory budget of the whole process, which all statements share.
    pub budget: Option<&'static Budget>,
}

impl Limits {
    /// Fails if the query is cancelled.
    ///
    /// # Errors
    /// [`Terminated`](crate::ErrorKind::Terminated), [`TimedOut`](crate::ErrorKind::TimedOut),
    /// [`OutOfMemory`](crate::ErrorKind::OutOfMemory).
    pub fn check(&self) -> Result<(), QueryError> {
        let flags = [&self.cancelled, &self.terminated];
        let budget = self.budget;
        Ok(super::ended(self.deadline, flags.into_iter().flatten(), budget)?)
    }

    /// Fails if one of the two flags is set.
    #[inline]
    pub(crate) fn check_flags(&self) -> Result<(), QueryError> {
        let flags = [&self.cancelled, &self.terminated];
        Ok(super::raised(flags.into_iter().flatten())?)
    }
}
