//! The graph of an open database: its tables, the clock, its readers, log and store.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::time::Instant;

use parking_lot::Mutex;
use telar_graph::{CommitTs, Direction};

use crate::catalog::{Catalog, STATE_TABLE};
use crate::clock::Clock;
use crate::clock::readers::Readers;
use crate::column::{ColTable, StateChunk};
use crate::error::Error;
use crate::failpoint;
use crate::format::Kind;
use crate::history::History;
use crate::history::free::FreeVertices;
use crate::history::memory_log::MemoryLog;
use crate::horizon::{Horizon, NONE};
use crate::latch::Latch;
use crate::mapped::{Source, Stored};
use crate::once::OnceIds;
use crate::role::Role;
use crate::settings::Settings;
use crate::store::Store;
use crate::store::progress::{CheckpointHistory, NearHistory, Progress};
use crate::wal::{Durability, Wal};

/// Commits after which the records in memory are looked through.
const PRUNE_EVERY: u64 = 1024;

/// Commits after which somebody who makes names waits for the disk.
const NAMES_PER_SYNC: u64 = 4096;

/// Most vertices a database can hold: ids are 32 bits within the engine.
pub(crate) const VERTICES_MAX: u64 = u32::MAX as u64;

/// The vertices and edges of an open database, and the clock they are read and written by.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) settings: Settings,
    pub(crate) catalog: Catalog,
    pub(crate) states: ColTable<StateChunk>,
    pub(crate) growth: Latch,
    pub(crate) clock: Clock,
    pub(crate) readers: Readers,
    pub(crate) next_vertex: AtomicU64,
    /// Ids below it that can be used again.
    pub(crate) free_vertices: FreeVertices,
    /// Where segments come from that are not loaded; `None` in memory.
    pub(crate) stored: Option<Arc<Stored>>,
    /// Log and checkpoints; `None` in memory.
    pub(crate) durable: Option<Durable>,
    /// Retained part of the past.
    pub(crate) history: History,
    /// In memory, the records that are retained.
    pub(crate) memory_log: MemoryLog,
    pub(crate) role: Role,
    /// Ids of transactions that commit once.
    pub(crate) once: Arc<OnceIds>,
}

/// What makes a database survive.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) wal: Wal,
    pub(crate) store: Store,
    /// Held while a checkpoint is made.
    pub(crate) progress: Mutex<Progress>,
    /// Timestamp of the last checkpoint, for those who do not wait for one that is being made.
    pub(crate) checkpoint_ts: AtomicU64,
    /// Outcomes of the last checkpoints.
    pub(crate) checkpoints: CheckpointHistory,
    /// What became of the files of vector indexes.
    pub(crate) near: NearHistory,
    /// The log that is wanted by others, if any is.
    pub(crate) log_wanted: Mutex<Option<LogWanted>>,
}

/// Log that is kept for those who follow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogWanted {
    /// Everything after this commit is wanted.
    pub(crate) after: u64,
    /// Most bytes that are kept.
    pub(crate) bytes_max: u64,
    /// Time at which it is not wanted any more.
    pub(crate) until: Instant,
}

impl Drop for Durable {
    fn drop(&mut self) {
        let lock = self.store.lock();
        // Nothing came since it was closed, so that it is closed as before.
        if let Some(closed_at) = lock.closed_at().filter(|ts| *ts == self.wal.last_ts()) {
            lock.mark_closed(closed_at);
        }
    }
}

impl Graph {
    /// A graph none of whose segments is loaded.
    pub(crate) fn new(settings: Settings, stored: Option<Arc<Stored>>) -> Self {
        let states = Source::new(stored.as_ref(), Kind::States, 0, 0);
        Self {
            settings,
            catalog: Catalog::new(settings.hub_entries_min, stored.clone()),
            states: ColTable::new(STATE_TABLE, states),
            growth: Latch::default(),
            clock: Clock::new(0),
            readers: Readers::new(),
            next_vertex: AtomicU64::new(0),
            free_vertices: FreeVertices::default(),
            stored,
            durable: None,
            history: History::new(settings.retain),
            memory_log: MemoryLog::default(),
            role: Role::default(),
            once: OnceIds::new(settings.once_window),
        }
    }

    /// The oldest timestamp a live or future reader can read at.
    pub(crate) fn watermark(&self) -> u64 {
        self.readers.watermark(&self.clock)
    }

    /// How far settling may go, and what of it retained timestamps still tell apart.
    pub(crate) fn horizon(&self) -> Horizon {
        let watermark = self.watermark();
        // In this order: `History::keep` says why.
        fence(Ordering::SeqCst);
        Horizon { watermark, floor: self.history.advance(self.clock.published()) }
    }

    /// Begins history anew at `ts`: what was before cannot be read any more. No snapshot of the
    /// past is open.
    pub(crate) fn forget_history(&self, ts: u64) {
        self.history.restart_at(ts);
        self.prune_history(ts);
    }

    /// Drops undo entries no retained timestamp needs. Who has found no history kept knows of none
    /// that is needed.
    pub(crate) fn prune_history(&self, floor: u64) {
        if floor == NONE || !self.history.is_kept() {
            return;
        }
        for (_, ty) in self.catalog.edge_types() {
            let columns = ty.kind().columns();
            Direction::ALL.iter().for_each(|d| ty.table(*d).undo.prune(floor, columns));
            ty.columns().for_each(|(_, column)| column.undo.prune(floor));
        }
        self.memory_log.prune(self.history.log_floor());
        self.states.undo.prune(floor);
        self.catalog.vertex_columns().for_each(|(_, column)| column.undo.prune(floor));
    }

    /// A timestamp no smaller than any taken so far.
    #[inline]
    pub(crate) fn last_ts(&self) -> u64 {
        match &self.durable {
            None => self.clock.last(),
            Some(d) => d.wal.last_ts(),
        }
    }

    /// True if commits are recorded: in a log, or in memory for the change stream.
    pub(crate) fn records(&self) -> bool {
        self.durable.is_some() || self.history.is_kept()
    }

    /// True if its log is a copy of a replicated one.
    pub(crate) fn is_replicated(&self) -> bool {
        self.settings.durability == Durability::Replicated
    }

    /// Fails if commits come from a replicated log.
    #[inline]
    pub(crate) fn check_leads(&self) -> Result<(), Error> {
        if self.role.follows() { Err(Error::NotLeader { leader: None }) } else { Ok(()) }
    }

    /// Fails if a transaction that reads at `read_ts` may not commit.
    pub(crate) fn check_takes(&self, read_ts: u64) -> Result<(), Error> {
        match self.role.takes_commits_of(read_ts) {
            true => Ok(()),
            false => Err(Error::NotLeader { leader: None }),
        }
    }

    /// Queues the record of commit `ts`, which a replicated log has; nobody else takes timestamps.
    pub(crate) fn follow_timestamp(&self, ts: u64, payload: Cow<'_, [u8]>) -> Result<(), Error> {
        let Some(d) = self.durable.as_ref().filter(|_| self.role.follows()) else {
            return Err(Error::NotFollowing);
        };
        if d.wal.last_ts() + 1 != ts {
            let reason = format!("commit {} is the last one here", d.wal.last_ts());
            return Err(Error::Diverged { commit: CommitTs::from_raw(ts), reason });
        }
        let taken = match payload {
            Cow::Owned(payload) => d.wal.append_owned(payload)?,
            Cow::Borrowed(payload) => d.wal.append(payload)?,
        };
        debug_assert_eq!(taken, ts, "the only one that appends");
        self.clock.wait_for_room(ts, || self.publish_limit());
        Ok(())
    }

    /// Takes the next commit timestamp and queues the log record, in one critical section. The
    /// caller holds every latch of the commit.
    #[inline]
    pub(crate) fn take_timestamp(&self, payload: Option<Cow<'_, [u8]>>) -> Result<u64, Error> {
        self.check_leads()?;
        let ts = match (&self.durable, payload) {
            (Some(d), Some(Cow::Owned(payload))) => d.wal.append_owned(payload)?,
            (Some(d), Some(Cow::Borrowed(payload))) => d.wal.append(payload)?,
            (None, Some(payload)) => {
                let ts = self.clock.next();
                self.memory_log.push(ts, &payload);
                if ts.is_multiple_of(PRUNE_EVERY) {
                    self.history.advance(self.clock.published());
                    self.memory_log.prune(self.history.log_floor());
                }
                ts
            }
            (_, None) => {
                let ts = self.clock.next();
                if self.durable.is_none() && self.history.is_kept() {
                    // It began when no history was kept: the stream of changes begins after it.
                    self.memory_log.prune(ts);
                }
                ts
            }
        };
        self.clock.wait_for_room(ts, || self.publish_limit());
        Ok(ts)
    }

    /// Runs `f`, which applies a commit whose record has a payload of this many bytes, while the
    /// record is written, if it is a large one.
    pub(crate) fn write_while<T>(&self, ts: u64, bytes: usize, f: impl FnOnce() -> T) -> T {
        match &self.durable {
            Some(d) => d.wal.write_while(ts, bytes, f),
            None => f(),
        }
    }

    /// Timestamp up to which commits may be published.
    #[inline]
    pub(crate) fn publish_limit(&self) -> u64 {
        match &self.durable {
            Some(d) if self.settings.durability.is_awaited() => d.wal.durable_ts(),
            _ => u64::MAX,
        }
    }

    /// Waits until `commit_ts` is durable (`full`) and visible to new snapshots.
    #[inline]
    pub(crate) fn publish(&self, commit_ts: u64) -> Result<(), Error> {
        if let Some(d) = &self.durable {
            d.wal.wait_durable(commit_ts)?;
        }
        self.clock.wait_published(commit_ts, || self.publish_limit());
        Ok(())
    }

    /// Logs a schema record of its own; `add` makes what it says readable once it is durable and
    /// before anybody sees the commit: who is told of it can look it up. Returns its timestamp, or
    /// that of the last commit where nothing is recorded.
    pub(crate) fn log_schema<T>(
        &self,
        payload: &[u8],
        add: impl FnOnce() -> T,
    ) -> Result<(u64, T), Error> {
        if !self.records() {
            return Ok((self.clock.published(), add()));
        }
        let ts = self.take_timestamp(Some(payload.into()))?;
        let durable = self.durable.as_ref().map_or(Ok(()), |d| d.wal.wait_durable(ts));
        failpoint!("schema::durable");
        let added = durable.map(|()| add());
        // Without its record as well: later commits wait for it.
        self.clock.mark_applied(ts);
        let added = added?;
        self.publish(ts)?;
        Ok((ts, added))
    }

    /// Logs a name and lets `add` make it readable, before its commit can be seen.
    ///
    /// It is not waited for: whatever uses the name is committed after it, and is not on disk
    /// before it. So a statement that makes many waits for the disk once, when it commits.
    pub(crate) fn log_name<T>(&self, payload: &[u8], add: impl FnOnce() -> T) -> Result<T, Error> {
        if !self.records() {
            return Ok(add());
        }
        let ts = self.take_timestamp(Some(payload.into()))?;
        failpoint!("schema::logged");
        let added = add();
        self.clock.mark_applied(ts);
        // Far below what may be applied and not published: else the next one would wait for a
        // sync that nobody does.
        if ts.is_multiple_of(NAMES_PER_SYNC) {
            self.publish(ts)?;
        }
        Ok(added)
    }

    /// Waits until everything that was logged so far is durable (`full`) and visible.
    pub(crate) fn publish_all(&self) -> Result<(), Error> {
        if self.records() { self.publish(self.last_ts()) } else { Ok(()) }
    }

    /// Waits a little before a conflicting transaction runs again: until what it may have
    /// conflicted with is visible, and longer with every attempt.
    pub(crate) fn back_off(&self, attempt: u32) {
        let seen = self.last_ts();
        for _ in 0..1u32 << attempt.min(10) {
            self.clock.advance(self.publish_limit());
            if self.clock.published() >= seen {
                break;
            }
            std::thread::yield_now();
        }
        if attempt > 4 {
            std::thread::sleep(std::time::Duration::from_micros(20 << attempt.min(10)));
        }
    }

    /// Fails if anything in the store was found damaged since the database was opened.
    #[inline]
    pub(crate) fn check_stored(&self) -> Result<(), Error> {
        self.stored.as_ref().map_or(Ok(()), |stored| stored.check())
    }

    /// True if the log still takes records.
    pub(crate) fn check_log(&self) -> Result<(), Error> {
        match &self.durable {
            Some(d) => Ok(d.wal.check()?),
            None => Ok(()),
        }
    }

    /// A new vertex id.
    pub(crate) fn new_vertex(&self) -> Result<u32, Error> {
        // Its id would be another vertex's, of the leader.
        self.check_leads()?;
        if let Some(id) = self.free_vertices.take() {
            return Ok(id);
        }
        let id = self.next_vertex.fetch_add(1, Ordering::Relaxed);
        if id >= VERTICES_MAX {
            self.next_vertex.fetch_sub(1, Ordering::Relaxed);
            return Err(Error::TooMany { what: "vertices", max: VERTICES_MAX });
        }
        Ok(id as u32)
    }

    /// One past the largest vertex id ever given out.
    pub(crate) fn vertex_bound(&self) -> u32 {
        self.next_vertex.load(Ordering::Acquire).min(VERTICES_MAX) as u32
    }
}
