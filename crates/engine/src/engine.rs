//! The database handle: opening, schema names, transactions, snapshots, upkeep.

use std::any::Any;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_epoch as epoch;
use parking_lot::Mutex;
use telar_graph::name::NameKind;
use telar_graph::{CommitTs, Direction, EdgeTypeId, IndexId, IndexKind, LabelId, PropertyKeyId};

use crate::adjacency::settle::SettleState;
use crate::background::Background;
use crate::bulk::{BulkLoad, BulkOptions};
use crate::catalog::EdgeTypeOptions;
use crate::error::Error;
use crate::graph::LogWanted;
use crate::index::{ConstraintSpec, Definition, IndexInfo, IndexSpec};
use crate::recovery::follow;
use crate::schema::build;
use crate::settings::{Retention, Settings};
use crate::shared::{MemoryUse, Shared};
use crate::snapshot::{Handle, Reader, Snapshot};
use crate::store::Access;
use crate::stream::{ChangeStream, LogPlace, LogReader};
use crate::transaction::{Committed, Isolation, Transaction};
use crate::wal::{Durability, GroupSink, LogGroup};
use crate::{eviction, recovery};

/// Handle of an open database. Threads may share one; a clone is another handle of the same
/// database and costs next to nothing.
///
/// The database is open until the last of these is dropped: its handles, and what was begun with
/// [`begin_owned`](Self::begin_owned), [`snapshot_owned`](Self::snapshot_owned) or
/// [`changes_since_owned`](Self::changes_since_owned). Its folder can then be opened again.
#[derive(Debug, Clone)]
pub struct Engine {
    /// Dropped first: the thread of the last handle ends before the files are closed.
    background: Arc<Mutex<Option<Background>>>,
    pub(crate) shared: Arc<Shared>,
}

/// A handle that does not keep its database open.
#[derive(Debug, Clone, Default)]
pub struct WeakEngine {
    background: Weak<Mutex<Option<Background>>>,
    shared: Weak<Shared>,
}

impl WeakEngine {
    /// A handle that keeps the database open; none if it was closed.
    #[must_use]
    pub fn upgrade(&self) -> Option<Engine> {
        let (background, shared) = (self.background.upgrade()?, self.shared.upgrade()?);
        Some(Engine { background, shared })
    }

    /// True if this is a handle of the same open database.
    #[must_use]
    pub fn is_of(&self, engine: &Engine) -> bool {
        self.shared.as_ptr() == Arc::as_ptr(&engine.shared)
    }
}

impl Engine {
    /// A database in memory: the same engine without log and store. It is gone when dropped.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn in_memory(settings: Settings) -> Result<Self, Error> {
        settings.validate()?;
        Ok(Self::start(Arc::new(Shared::empty(settings))))
    }

    /// Opens the database in the directory `path`, creating it if there is none, and brings it to
    /// the state of the last durable commit.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::Locked`], [`Error::NotADatabase`], [`Error::NewerFormat`],
    /// [`Error::IsACopy`], [`Error::Damaged`], [`Error::Log`], [`Error::Store`], [`Error::File`].
    /// None of them changes what is stored. Damage to what is not read yet is found later: see
    /// [`Snapshot::error`].
    ///
    /// # Cost
    /// Replays the log written since the last checkpoint and reads the values of indexes. The graph
    /// itself is read as it is touched, so this does not depend on its size.
    pub fn open(path: impl AsRef<Path>, settings: Settings) -> Result<Self, Error> {
        settings.validate()?;
        Ok(Self::start(Arc::new(recovery::open(path.as_ref(), settings, Access::Write)?)))
    }

    /// Opens the database in the directory `path`, creating it if there is none, as a copy of a
    /// replicated log: commits come by [`apply`](Self::apply), and others fail with
    /// [`Error::NotLeader`] until it is [promoted](Self::promote). The setting of durability does
    /// not count. The directory is marked as a copy: [`open`](Self::open) refuses it from now on.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    ///
    /// # Cost
    /// As [`open`](Self::open).
    pub fn open_to_follow(path: impl AsRef<Path>, settings: Settings) -> Result<Self, Error> {
        Settings { durability: Durability::Full, ..settings }.validate()?;
        let settings = Settings { durability: Durability::Replicated, ..settings };
        Ok(Self::start(Arc::new(recovery::open(path.as_ref(), settings, Access::Write)?)))
    }

    /// Applies a group of the replicated log beside readers; returns the last commit that is
    /// visible here. Commits that the database has already are passed over.
    ///
    /// # Errors
    /// [`Error::Diverged`] if a commit does not fit, or one before the group is missing: what was
    /// applied stays, and everything after it is refused from now on. [`Error::Damaged`] if a
    /// record fails its checksum: nothing of the group was applied. [`Error::NotFollowing`];
    /// [`Error::Log`], [`Error::Store`] and [`Error::DiskFull`] of what is kept here.
    ///
    /// # Cost
    /// The cost of recovery for each record, and one write without a sync. A record that makes an
    /// index builds it.
    pub fn apply(&self, group: LogGroup<'_>) -> Result<CommitTs, Error> {
        follow::apply(&self.shared, group).map(CommitTs::from_raw)
    }

    /// Ends following: commits are taken from now on, and are durable once `sink` has them. The
    /// caller has applied the replicated log up to where the sink goes on.
    ///
    /// A commit that the sink does not take, and every one after it, fails with
    /// [`Error::NotLeader`] and is never visible; the database has to be opened again.
    ///
    /// # Errors
    /// [`Error::NotFollowing`], [`Error::Diverged`], [`Error::Log`].
    pub fn promote(&self, sink: Arc<dyn GroupSink>) -> Result<(), Error> {
        follow::promote(&self.shared, sink)
    }

    /// True if it was opened to follow and was not promoted.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.shared.role.follows()
    }

    /// Returns the record by which leadership `epoch` of `node` begins, for timestamp `at`, and the
    /// seed of its checksum: what [`LogGroup`] consists of.
    ///
    /// # Errors
    /// [`Error::NotFollowing`] for a database without a log.
    pub fn epoch_record(
        &self,
        at: CommitTs,
        epoch: u64,
        node: &str,
    ) -> Result<(u32, Vec<u8>), Error> {
        follow::epoch_record(&self.shared, at.get(), epoch, node)
    }

    /// Opens the database in the directory `path` to read it, beside others that do the same: no
    /// file is made, changed or removed, so that the file system may be read-only. Commits fail.
    ///
    /// # Errors
    /// As [`open`](Self::open), and [`Error::NotADatabase`] if there is none.
    ///
    /// # Cost
    /// As [`open`](Self::open): what the log has is replayed in memory.
    pub fn open_to_read(path: impl AsRef<Path>, settings: Settings) -> Result<Self, Error> {
        let settings = Settings { background_interval_ms: 0, ..settings };
        settings.validate()?;
        Ok(Self::start(Arc::new(recovery::open(path.as_ref(), settings, Access::Read)?)))
    }

    /// The folder it is in; none in memory.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.shared.durable.as_ref().map(|durable| durable.store.root())
    }

    /// A handle that does not keep the database open.
    #[must_use]
    pub fn downgrade(&self) -> WeakEngine {
        let background = Arc::downgrade(&self.background);
        WeakEngine { background, shared: Arc::downgrade(&self.shared) }
    }

    /// True if it was opened [to be read](Self::open_to_read) only.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        let durable = self.shared.durable.as_ref();
        durable.is_some_and(|d| d.store.lock().access() == Access::Read)
    }

    /// The value of type `T` that belongs to this database, made if there is none: one for all
    /// handles. It is dropped when the database is closed, before its folder is unlocked.
    pub fn attached<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        self.shared.attachments.get(make)
    }

    fn start(shared: Arc<Shared>) -> Self {
        let background = Background::start(&shared);
        Self { background: Arc::new(Mutex::new(background)), shared }
    }

    // ---- schema names ----

    /// The number of label `name`, made if there is none.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::TooManyNames`], [`Error::Log`].
    pub fn label(&self, name: &str) -> Result<LabelId, Error> {
        if let Some(label) = self.find_label(name) {
            return Ok(label);
        }
        let number = self.shared.add_name(NameKind::Label, name)?;
        self.shared.publish_all().map(|()| LabelId::from_raw(number))
    }

    /// The number of property key `name`, made if there is none.
    ///
    /// # Errors
    /// [`Error::Name`], [`Error::TooManyNames`], [`Error::Log`].
    pub fn property_key(&self, name: &str) -> Result<PropertyKeyId, Error> {
        if let Some(key) = self.find_property_key(name) {
            return Ok(key);
        }
        let number = self.shared.add_name(NameKind::PropertyKey, name)?;
        self.shared.publish_all().map(|()| PropertyKeyId::from_raw(number))
    }

    /// The number of edge type `name`, made with these options if there is none.
    ///
    /// # Errors
    /// [`Error::EdgeTypeExists`] if it was made with other options; [`Error::Name`],
    /// [`Error::TooManyNames`], [`Error::Log`], [`Error::UnknownPropertyKey`] (of the options).
    pub fn edge_type(&self, name: &str, options: EdgeTypeOptions) -> Result<EdgeTypeId, Error> {
        let is_there = self.find_edge_type(name).is_some();
        let id = self.shared.add_edge_type(name, options)?;
        if !is_there {
            self.shared.publish_all()?;
        }
        Ok(id)
    }

    /// The number of an existing label.
    #[must_use]
    pub fn find_label(&self, name: &str) -> Option<LabelId> {
        self.shared.catalog.find(NameKind::Label, name).map(LabelId::from_raw)
    }

    /// The number of an existing property key.
    #[must_use]
    pub fn find_property_key(&self, name: &str) -> Option<PropertyKeyId> {
        self.shared.catalog.find(NameKind::PropertyKey, name).map(PropertyKeyId::from_raw)
    }

    /// The number of an existing edge type.
    #[must_use]
    pub fn find_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.shared.catalog.find_edge_type(name)
    }

    /// Every label, by number: empty where a number has no name (yet).
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::Label)
    }

    /// Every property key, by number: empty where a number has no name (yet).
    #[must_use]
    pub fn property_keys(&self) -> Vec<String> {
        self.shared.catalog.all_names(NameKind::PropertyKey)
    }

    /// Every edge type with its options, by number: with an empty name where a number has none
    /// (yet).
    #[must_use]
    pub fn edge_types(&self) -> Vec<(String, EdgeTypeOptions)> {
        let catalog = &self.shared.catalog;
        let names = catalog.all_names(NameKind::EdgeType);
        names.into_iter().zip(catalog.edge_types()).map(|(n, (_, t))| (n, t.options)).collect()
    }

    // ---- indexes and constraints ----

    /// Makes a range index and builds it beside writers; returns when it can be read. If one of
    /// this name and definition exists, its number.
    ///
    /// # Errors
    /// [`Error::IndexExists`], [`Error::IndexSpec`], [`Error::Name`], [`Error::UnknownLabel`],
    /// [`Error::UnknownEdgeType`], [`Error::UnknownPropertyKey`], [`Error::TooMany`],
    /// [`Error::Log`]: nothing has changed.
    pub fn create_index(&self, spec: IndexSpec) -> Result<IndexId, Error> {
        self.create_index_of(IndexKind::Range, spec)
    }

    /// As [`create_index`](Self::create_index), of an index of a kind. Objects whose values are not
    /// of the type that the kind holds are not in it.
    ///
    /// # Errors
    /// As [`create_index`](Self::create_index).
    pub fn create_index_of(&self, kind: IndexKind, spec: IndexSpec) -> Result<IndexId, Error> {
        build::create(&self.shared, Definition::of(kind, spec))
    }

    /// Makes a constraint beside writers; returns when everything is checked. Commits keep to it
    /// from the beginning of the call.
    ///
    /// # Errors
    /// [`Error::ConstraintViolated`] if what is there breaks it, and those of
    /// [`create_index`](Self::create_index): the constraint is not there.
    pub fn create_constraint(&self, spec: ConstraintSpec) -> Result<IndexId, Error> {
        build::create(&self.shared, spec.into())
    }

    /// Drops an index or constraint. Snapshots that are open go on reading it only until the next
    /// call.
    ///
    /// # Errors
    /// [`Error::UnknownIndex`], [`Error::Log`].
    pub fn drop_index(&self, id: IndexId) -> Result<(), Error> {
        build::drop_index(&self.shared, id)
    }

    /// Every index and constraint, those being built included, in the order they were made.
    #[must_use]
    pub fn indexes(&self) -> Vec<IndexInfo> {
        self.shared.indexes.infos()
    }

    /// The number of an index or constraint.
    #[must_use]
    pub fn find_index(&self, name: &str) -> Option<IndexId> {
        self.shared.indexes.all().iter().find(|i| i.definition.name == name).map(|i| i.id)
    }

    /// How often an index or constraint came, went, could be read at last, or was loaded from the
    /// store: whoever keeps what depends on them makes it anew when this differs.
    #[must_use]
    pub fn schema_version(&self) -> u64 {
        self.shared.indexes.changes()
    }

    /// How often indexes came or went, or so much of the graph changed that queries might better be
    /// planned anew: whoever keeps plans makes them anew when this differs. Cost: a few loads.
    #[must_use]
    pub fn planning_version(&self) -> u64 {
        self.schema_version().wrapping_add(self.shared.sample.generation())
    }

    // ---- transactions and snapshots ----

    /// Begins a transaction under snapshot isolation.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    #[inline]
    pub fn begin(&self) -> Result<Transaction<'_>, Error> {
        self.begin_with(Isolation::Snapshot)
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    #[inline]
    pub fn begin_with(&self, isolation: Isolation) -> Result<Transaction<'_>, Error> {
        Transaction::new(Handle::Borrowed(&self.shared), isolation)
    }

    /// Begins a transaction without a lifetime: it keeps the database open, and any thread may go
    /// on with it.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    #[inline]
    pub fn begin_owned(&self, isolation: Isolation) -> Result<Transaction<'static>, Error> {
        Transaction::new(Handle::Owned(Arc::clone(&self.shared)), isolation)
    }

    /// How often a write has waited for another transaction's
    /// ([`Transaction::wait_for_writers`]).
    #[must_use]
    pub fn write_waits(&self) -> u64 {
        self.shared.intents.waits()
    }

    /// Opens a snapshot of everything committed so far.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    #[inline]
    pub fn snapshot(&self) -> Result<Snapshot<'_>, Error> {
        Snapshot::new(Handle::Borrowed(&self.shared))
    }

    /// Opens a snapshot and a reader of it in one, for a single piece of work.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    pub fn reader(&self) -> Result<Reader<'_>, Error> {
        Reader::open(&self.shared)
    }

    /// Opens a snapshot without a lifetime, which keeps the database open.
    ///
    /// # Errors
    /// [`Error::TooMany`] if too many are open.
    pub fn snapshot_owned(&self) -> Result<Snapshot<'static>, Error> {
        Snapshot::new(Handle::Owned(Arc::clone(&self.shared)))
    }

    /// Opens a snapshot of the graph as it was at `at`, the timestamp of a commit that is retained
    /// ([`Settings::retain`]).
    ///
    /// # Errors
    /// [`Error::NotRetained`] names what is.
    ///
    /// # Cost
    /// Opening costs nothing; the first read of each segment of 1,024 vertices that changed since
    /// copies it as it was, for this snapshot. docs/history.md has figures.
    pub fn snapshot_at(&self, at: CommitTs) -> Result<Snapshot<'_>, Error> {
        Snapshot::past(Handle::Borrowed(&self.shared), at.get())
    }

    /// Opens a snapshot of the past that keeps the database open by itself.
    ///
    /// # Errors
    /// [`Error::NotRetained`].
    pub fn snapshot_at_owned(&self, at: CommitTs) -> Result<Snapshot<'static>, Error> {
        Snapshot::past(Handle::Owned(Arc::clone(&self.shared)), at.get())
    }

    /// Opens a snapshot of the graph as it was at a time of the wall clock, in milliseconds since
    /// 1970: at the newest commit made at or before it, as far as the log tells
    /// ([`CommitChanges::time_ms`](crate::CommitChanges::time_ms)).
    ///
    /// # Errors
    /// [`Error::NotRetained`] if that commit, or the log of that time, is not retained;
    /// [`Error::File`], [`Error::Log`].
    ///
    /// # Cost
    /// Reads one log file, and the first record of those after it.
    pub fn snapshot_at_time(&self, time_ms: u64) -> Result<Snapshot<'_>, Error> {
        let logged = crate::stream::commit_at_time(&self.shared, time_ms)?;
        let begun = self.shared.history.begun_at(time_ms);
        self.snapshot_at(CommitTs::from_raw(logged.max(begun).unwrap_or(0)))
    }

    /// Every commit after `after`, in order: what there is now, and then those that follow as they
    /// become durable. To go on after a restart, ask from the last timestamp that was worked off.
    ///
    /// Reaches as far back as the log and its archive; what is retained
    /// ([`Settings::retain`]) is kept for it. In memory: as far as history is retained.
    ///
    /// # Errors
    /// [`Error::NotRetained`] names the oldest timestamp that can be asked from; [`Error::File`].
    pub fn changes_since(&self, after: CommitTs) -> Result<ChangeStream<'_>, Error> {
        ChangeStream::new(Handle::Borrowed(&self.shared), after.get())
    }

    /// As [`changes_since`](Self::changes_since), and keeps the database open by itself.
    ///
    /// # Errors
    /// [`Error::NotRetained`], [`Error::File`].
    pub fn changes_since_owned(&self, after: CommitTs) -> Result<ChangeStream<'static>, Error> {
        ChangeStream::new(Handle::Owned(Arc::clone(&self.shared)), after.get())
    }

    /// The records of the log after `after`, as a copy [applies](Self::apply) them.
    ///
    /// # Errors
    /// [`Error::NotRetained`] names the oldest timestamp that can be asked from; a database in
    /// memory has no log. [`Error::File`].
    pub fn log_after(&self, after: CommitTs) -> Result<LogReader<'_>, Error> {
        LogReader::new(Handle::Borrowed(&self.shared), after.get())
    }

    /// As [`log_after`](Self::log_after), from a place that a reader of this opening of the
    /// database has reached, without a search.
    #[must_use]
    pub fn log_at(&self, place: LogPlace) -> LogReader<'_> {
        LogReader::at(Handle::Borrowed(&self.shared), place)
    }

    /// Keeps the log after a commit for those who [read](Self::log_after) it, whatever checkpoints
    /// no longer need, but not more than `bytes_max` of it. It holds for `time`, until the next
    /// call, or until the database is closed.
    pub fn keep_log(&self, after: CommitTs, bytes_max: u64, time: Duration) {
        if let Some(durable) = &self.shared.durable {
            let until = Instant::now() + time;
            *durable.log_wanted.lock() = Some(LogWanted { after: after.get(), bytes_max, until });
        }
    }

    /// The oldest and the newest timestamp a snapshot can be opened at; `None` if no history is
    /// kept. The oldest grows, unless a snapshot of the past holds it.
    #[must_use]
    pub fn retained(&self) -> Option<(CommitTs, CommitTs)> {
        if !self.shared.history.is_kept() {
            return None;
        }
        let floor = self.shared.history.advance(self.shared.clock.published());
        let published = self.shared.clock.published();
        Some((CommitTs::from_raw(floor.min(published)), CommitTs::from_raw(published)))
    }

    /// Keeps history from now on, beside readers and writers: what `retain` says, of what is
    /// committed after this. Where some is kept already, it is so much from now on. The database
    /// remembers it by a checkpoint, as if it had been opened so ([`Settings::retain`]).
    ///
    /// # Errors
    /// [`Error::Setting`] if `retain` names no limit, or the database is read only or a copy of
    /// another one, whose history is its own; [`Error::BulkLoad`] while one is installed;
    /// [`Error::Store`], [`Error::Log`], as for [`checkpoint`](Self::checkpoint): then it is kept
    /// until the database is closed.
    pub fn keep_history(&self, retain: Retention) -> Result<(), Error> {
        let shared = &self.shared;
        let refused = |reason: &str| Error::Setting { name: "retain", reason: reason.to_owned() };
        let (commits, ms) = match retain {
            Retention::Keep { commits, ms } if (commits, ms) != (0, 0) => (commits, ms),
            _ => return Err(refused("a limit on commits or time must be at least 1")),
        };
        if self.is_read_only() {
            return Err(refused("the database is read only"));
        }
        if shared.is_replicated() || shared.role.follows() {
            return Err(refused("of a copy it is set when it is opened"));
        }
        let keep = || shared.history.keep(commits, ms, || shared.clock.published());
        let Some(durable) = &shared.durable else {
            if keep() {
                // Commits that have their timestamps have no records, seen yet or not.
                shared.memory_log.prune(shared.last_ts());
            }
            return Ok(());
        };
        // A checkpoint that has begun does not know of it. A bulk load that is installed waits for
        // snapshots, of which the caller may have one.
        let mut progress = loop {
            match durable.progress.try_lock_for(Duration::from_millis(10)) {
                Some(progress) => break progress,
                None if shared.gate.is_shut() => {
                    let reason = "history cannot begin while a bulk load is installed".to_owned();
                    return Err(Error::BulkLoad { reason });
                }
                None => {}
            }
        };
        keep();
        crate::checkpoint::checkpoint_with(shared, durable, &mut progress).map(drop)
    }

    /// Runs `f` in a transaction and commits it; runs it again, with a short pause, as long as it
    /// conflicts with others.
    ///
    /// # Errors
    /// What `f` returns, and every error of a commit that is not retryable.
    pub fn write<T, E: From<Error>>(
        &self,
        isolation: Isolation,
        mut f: impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Result<(T, Committed), E> {
        let mut attempt = 0u32;
        loop {
            let mut txn = self.begin_with(isolation)?;
            let value = f(&mut txn)?;
            match txn.commit() {
                Ok(done) => return Ok((value, done)),
                Err(e) if e.is_retryable() => {
                    attempt += 1;
                    self.shared.back_off(attempt);
                }
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Begins a bulk load: vertices and edges that come in as one commit, past transactions and
    /// log. Nothing of it is in the database before [`BulkLoad::finish`].
    ///
    /// # Errors
    /// [`Error::Log`] if the log has failed.
    pub fn bulk_load(&self, options: BulkOptions) -> Result<BulkLoad<'_>, Error> {
        BulkLoad::new(&self.shared, options)
    }

    // ---- upkeep ----

    /// Settles everything live snapshots allow and drops tails nothing is left in. The background
    /// pass does this for idle segments by itself.
    pub fn settle(&self) {
        self.shared.settle_all(None);
        crate::reclaim::collect();
    }

    /// Writes what changed since the last checkpoint to the store and cuts the log. Readers and
    /// writers go on meanwhile. Does nothing for a database in memory.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Log`]; the last checkpoint stays in force.
    pub fn checkpoint(&self) -> Result<CommitTs, Error> {
        crate::checkpoint::checkpoint(&self.shared).map(CommitTs::from_raw)
    }

    /// Makes everything committed so far durable, whatever the durability setting.
    ///
    /// # Errors
    /// [`Error::Log`].
    pub fn flush(&self) -> Result<(), Error> {
        match &self.shared.durable {
            Some(d) => Ok(d.wal.flush()?),
            None => Ok(()),
        }
    }

    /// Syncs the local log of a copy, which is not otherwise synced but where a file ends, at
    /// checkpoints and when it is closed. Returns the last commit that no power failure takes from
    /// this copy any more: what the replicated log need not keep for it.
    ///
    /// # Errors
    /// [`Error::Log`]: the copy takes no records any more.
    ///
    /// # Cost
    /// One sync, for which groups wait.
    pub fn sync_copy(&self) -> Result<CommitTs, Error> {
        match &self.shared.durable {
            Some(d) => Ok(CommitTs::from_raw(d.wal.sync_written()?)),
            None => Ok(CommitTs::from_raw(0)),
        }
    }

    /// Writes a checkpoint and closes the log, so that opening the database again need not replay
    /// anything. Dropping the last handle closes it, too, without a checkpoint.
    ///
    /// Other handles, sessions, snapshots and transactions can still read; their commits fail with
    /// [`Error::Log`], and the folder stays locked until the last of them is dropped.
    ///
    /// # Errors
    /// [`Error::Store`], [`Error::Log`]; nothing committed is lost.
    pub fn close(self) -> Result<(), Error> {
        drop(self.background.lock().take());
        if self.is_read_only() {
            return Ok(());
        }
        // Names whose transaction did not commit may be logged and not yet seen.
        self.shared.publish_all()?;
        self.checkpoint()?;
        if let Some(d) = &self.shared.durable {
            d.wal.close()?;
            d.store.lock().mark_closed(d.wal.last_ts());
        }
        Ok(())
    }

    /// The lock file, locked; none in memory. A child of this process has a copy, and must close
    /// it: otherwise it keeps the database locked after this process has ended.
    #[must_use]
    pub fn lock_file(&self) -> Option<std::os::fd::RawFd> {
        let durable = self.shared.durable.as_ref()?;
        durable.store.lock().file().map(std::os::fd::AsRawFd::as_raw_fd)
    }

    /// What could not be read since the database was opened, if anything: see [`Snapshot::error`].
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.shared.check_stored().err()
    }

    /// Whether the log takes commits.
    ///
    /// # Errors
    /// [`Error::Log`] says why not: a write failed, or files were removed.
    pub fn check_writable(&self) -> Result<(), Error> {
        self.shared.check_log()
    }

    /// The timestamp of the newest commit a new snapshot would see.
    #[must_use]
    pub fn published(&self) -> CommitTs {
        CommitTs::from_raw(self.shared.clock.published())
    }

    /// Timestamp of the published commit whose transaction had this id, if it is known
    /// ([`Transaction::commit_once`]).
    #[must_use]
    pub fn committed_once(&self, id: &str) -> Option<CommitTs> {
        // One that is not published may never be.
        let committed = self.shared.once.find(id).map(CommitTs::from_raw);
        committed.filter(|ts| *ts <= self.published())
    }

    /// Number of snapshots and transactions open, and the oldest timestamp among them.
    #[must_use]
    pub fn readers(&self) -> (usize, Option<CommitTs>) {
        let (count, oldest) = self.shared.readers.live();
        (count, oldest.map(CommitTs::from_raw))
    }

    /// Memory held now, arenas included.
    #[must_use]
    pub fn memory(&self) -> MemoryUse {
        self.shared.memory_use()
    }

    /// Bytes of memory above which what the store holds is dropped; `None` in memory.
    #[must_use]
    pub fn memory_limit(&self) -> Option<u64> {
        self.shared.stored.as_ref().map(|stored| stored.memory.limit)
    }

    /// Drops from memory everything that the store holds as every reader sees it, whatever the
    /// limit; returns the bytes let go. It is read again when it is touched. What was written since
    /// the last [`checkpoint`](Self::checkpoint), or after the oldest open snapshot, stays. Does
    /// nothing for a database in memory.
    pub fn release_memory(&self) -> u64 {
        eviction::drop_all(&self.shared)
    }

    /// How much of an edge type is settled, both directions together.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn settle_state(&self, ty: EdgeTypeId) -> Result<SettleState, Error> {
        let guard = &epoch::pin();
        let ty = self.shared.catalog.edge_type(ty)?;
        let mut state = SettleState::default();
        for direction in Direction::ALL {
            ty.table(direction).settle_state(guard, &mut state);
        }
        Ok(state)
    }
}
