//! A copy as sessions see it: reads of a leader are strict, writes go to the leader.

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Role;
use telar_db::query::{At, ErrorKind, Limits, QueryError};
use telar_db::{Backend, BackendTransaction, CommitTs, Database as Engine, Isolation, SharedGraph};

use super::LocalCopy;
use crate::dbms::failure::server_error;

/// Longest wait of a read for what had been acknowledged before it.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest wait for a lease that has run out to be renewed, and for a node that has won the lease
/// to lead. Drivers that are refused pause for a second at least, and for twice as long each time.
const LEASE_WAIT: Duration = Duration::from_millis(900);

/// Time between two looks at what becomes of a lease.
const LEASE_WAIT_LOOK: Duration = Duration::from_millis(5);

/// Time between two looks at the lease, while a read waits for a group of its leader.
const LEASE_LOOK: Duration = Duration::from_millis(50);

/// One opening of a node's copy of a database.
///
/// Isolation: on the leader a snapshot shows everything that anybody had acknowledged before it
/// (strict). On a follower it shows what has been applied, and bookmarks wait (causal); or, with
/// `cluster.follower_reads = "latest"`, it is strict there, too: the end of the log is read in the
/// store first, and waited for. Such a follower shows commits that the leader has put and knows
/// nothing of yet, so with this setting a leader's reads wait for the group that it puts: nothing
/// that one node has shown is missing in a later read of another.
#[derive(Debug)]
pub(in crate::dbms) struct ReplicaBackend {
    pub(in crate::dbms) engine: Engine,
    pub(in crate::dbms) copy: LocalCopy,
}

/// Time between two looks at whether the copy follows, while a read waits for a commit.
const TROUBLE_LOOK: Duration = Duration::from_millis(50);

/// Refusal of a read that was to see the newest state.
fn late(why: String) -> QueryError {
    let message = format!("the newest state cannot be read here: {why}; try again");
    server_error(ErrorKind::DatabaseUnavailable, message)
}

/// Waits while a node that has won the lease does not lead yet; returns what is left of
/// [`LEASE_WAIT`].
fn wait_while(is_about_to: impl Fn() -> bool) -> Duration {
    let until = Instant::now() + LEASE_WAIT;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_about_to() {
            return left;
        }
        thread::sleep(LEASE_WAIT_LOOK);
    }
}

impl ReplicaBackend {
    /// Waits, where reads are strict on every node, until this one shows what had been acknowledged
    /// before the call, or shown by another.
    fn catch_up(&self) -> Result<(), QueryError> {
        if !self.copy.latest_reads {
            return Ok(());
        }
        if !self.engine.follows() {
            return self.await_put();
        }
        if let Some(why) = self.copy.replica.stopped() {
            return Err(late(why));
        }
        let last = self.copy.replica.last_acknowledged(&self.engine);
        let last = last.map_err(|e| late(e.to_string()))?;
        let deadline = Instant::now().checked_add(PATIENCE);
        self.wait_for(last, &Limits { deadline, ..Limits::default() }).map_err(|error| {
            let is_told = error.kind == ErrorKind::DatabaseUnavailable;
            if is_told { error } else { late(format!("commit {last} has not come")) }
        })
    }

    /// Waits, on the leader, until it shows the group that it puts, if one is under way.
    fn await_put(&self) -> Result<(), QueryError> {
        let last = self.copy.replica.last_put();
        // While its outcome is not known, the lease is what ends the wait: it is not renewed where
        // the store does not answer, and somebody else leads after it.
        let until = Instant::now() + PATIENCE;
        while self.published() < last {
            let deadline = Instant::now().checked_add(LEASE_LOOK);
            let limits = Limits { deadline, ..Limits::default() };
            if Backend::wait_for(&self.engine, last, &limits).is_err() {
                self.check_lease(self.published())?;
                if Instant::now() >= until {
                    return Err(late(format!("nobody knows whether commit {last} was made")));
                }
            }
        }
        Ok(())
    }

    /// Fails if a snapshot from before this call, of `shown` or later, may lack what another
    /// leader has acknowledged.
    fn check_lease(&self, shown: CommitTs) -> Result<(), QueryError> {
        let replica = &self.copy.replica;
        // Who reads in the copy of a leader is promised what is newest. Once the node is deposed
        // nothing is read there any more: it is opened anew, to be read as that of a follower.
        let checked = match self.engine.follows() {
            true => replica.check_lease(shown),
            false => replica.check_leads(shown),
        };
        checked.map_err(|_| self.copy.no_lease())
    }

    /// Returns what `take` does, a snapshot or a transaction that begins with one, once the lease
    /// says that it lacks nothing; `patience` is the longest wait for a lease that has lapsed. The
    /// order counts: the snapshot, then the lease.
    fn strict<T>(
        &self,
        patience: Duration,
        take: impl Fn() -> Result<T, QueryError>,
    ) -> Result<T, QueryError> {
        let mut until = None;
        loop {
            let taken = self.catch_up().and_then(|()| {
                let shown = self.engine.published();
                let taken = take()?;
                self.check_lease(shown).map(|()| taken)
            });
            match taken {
                // It has just begun to lead, or the store did not answer for a while.
                Err(error)
                    if error.kind == ErrorKind::NotALeader
                        && self.copy.leads()
                        && Instant::now() < *until.get_or_insert(Instant::now() + patience) =>
                {
                    thread::sleep(LEASE_WAIT_LOOK);
                }
                taken => return taken,
            }
        }
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
        self.strict(LEASE_WAIT, || Backend::snapshot(&self.engine))
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        Backend::snapshot_at(&self.engine, at)
    }

    fn may_write(&self) -> Result<(), QueryError> {
        // Routes name who has won the lease, a moment before it leads.
        wait_while(|| self.engine.follows() && self.copy.replica.role() != Role::Follower);
        if self.engine.follows() {
            return Err(self.copy.not_a_leader());
        }
        // Its disk failed: another node leads soon, and nothing of the statement has been done.
        self.engine.check_writable().map_err(|error| {
            let message = format!("this node led the database, and gives that up: {error}");
            server_error(ErrorKind::NotALeader, message)
        })?;
        self.copy.check_room()
    }

    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        // It could not commit if it read before the end of the log that others wrote.
        let patience = wait_while(|| self.copy.replica.role() == Role::Candidate);
        self.strict(patience, || Backend::begin(&self.engine, isolation))
    }

    fn committed_once(&self, id: &str) -> Option<CommitTs> {
        self.engine.committed_once(id)
    }

    fn published(&self) -> CommitTs {
        self.engine.published()
    }

    fn wait_for(&self, commit: CommitTs, limits: &Limits) -> Result<(), QueryError> {
        loop {
            let look = Instant::now() + TROUBLE_LOOK;
            let deadline = limits.deadline.map_or(look, |deadline| deadline.min(look));
            let until_look = Limits { deadline: Some(deadline), ..limits.clone() };
            if Backend::wait_for(&self.engine, commit, &until_look).is_ok() {
                return Ok(());
            }
            limits.check()?;
            self.check_follows()?;
        }
    }

    fn check_follows(&self) -> Result<(), QueryError> {
        // What is waited for comes much later, if it does: another node has it.
        self.copy.replica.trouble().map_or(Ok(()), |why| Err(late(why)))
    }
}
