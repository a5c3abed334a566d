//! The copy of a node: applied to while it follows, promoted, and opened again when it is deposed,
//! or its disk failed.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telar_engine::wal::LogGroup;
use telar_engine::{Engine, Error, Settings};
use telar_graph::CommitTs;

use super::core::{Core, LogWork, seen, seen_slot};
use super::election::{Event, Role, SeenSlot, SlotOutcome};
use super::held_up::{may_pass, probe};
use super::leader::Leader;
use crate::store::{ErrorKind, Group, StoreError, read_groups};

/// Bytes of groups that are read, and applied, at a time: what takes much less than a request's
/// time-out, so that the election hears of it in time.
pub(super) const READ_BYTES: usize = 1 << 20;

/// Part of the database that a node has.
#[derive(Debug)]
pub(super) enum Holding {
    Following(Engine),
    Leading(Engine),
    /// It led, or its disk failed: its copy is opened again once nobody holds it any more.
    Closed,
}

#[derive(Debug)]
pub(super) struct Copy {
    path: PathBuf,
    settings: Settings,
    holding: Mutex<Holding>,
    /// How often the copy has been opened; changed under `holding`.
    opened: AtomicU64,
    /// Held from the look at where the copy ends until the election knows of what was applied.
    pub(super) applying: Mutex<()>,
}

pub(super) fn as_group(group: &Group) -> LogGroup<'_> {
    let (first_ts, next_ts) = (group.range.first(), group.range.next());
    LogGroup { first_ts, next_ts, salt: group.salt, frames: &group.payload }
}

impl Copy {
    pub(super) fn open(path: PathBuf, settings: Settings) -> Result<(Self, Engine), Error> {
        let engine = Engine::open_to_follow(&path, settings)?;
        let holding = Mutex::new(Holding::Following(engine.clone()));
        let (opened, applying) = (AtomicU64::new(1), Mutex::default());
        Ok((Self { path, settings, holding, opened, applying }, engine))
    }

    pub(super) fn holding(&self) -> MutexGuard<'_, Holding> {
        self.holding.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The open copy; none while it is being opened again.
    pub(super) fn engine(&self) -> Option<Engine> {
        match &*self.holding() {
            Holding::Following(engine) | Holding::Leading(engine) => Some(engine.clone()),
            Holding::Closed => None,
        }
    }

    /// The open copy, and how often it has been opened: another number means another engine.
    pub(super) fn opened(&self) -> Option<(u64, Engine)> {
        match &*self.holding() {
            Holding::Following(engine) | Holding::Leading(engine) => {
                // ORDERING: relaxed, as it is read and written under the mutex.
                Some((self.opened.load(Ordering::Relaxed), engine.clone()))
            }
            Holding::Closed => None,
        }
    }

    pub(super) fn following(&self) -> Option<Engine> {
        match &*self.holding() {
            Holding::Following(engine) => Some(engine.clone()),
            Holding::Leading(_) | Holding::Closed => None,
        }
    }

    /// Carries out what is to be done with log and copy; true if there was something.
    pub(super) fn log_work(&self, core: &Arc<Core>) -> bool {
        let mut did = self.look_after(core);
        loop {
            let (work, stopped) = {
                let mut state = core.state();
                (state.log.pop_front(), state.stopped.is_some())
            };
            let Some(work) = work.filter(|_| !stopped) else { return did };
            did = true;
            match work {
                LogWork::Read { request, from } => self.read(core, request, from),
                LogWork::PutEpoch { request, slot } => self.put_epoch(core, request, slot),
                LogWork::Became(role) => self.become_role(core, role),
            }
        }
    }

    /// Closes a copy that is read while it is held up, once it is time to open it again.
    fn close_held_up(&self, core: &Core) {
        if !core.is_pause_over() {
            return;
        }
        let is_open = self.following().is_some();
        // What cannot go on yet had better be read than be opened again.
        let takes_writes = !is_open || probe(&self.path).is_ok();
        core.end_pause(takes_writes);
        if is_open && takes_writes {
            let before = std::mem::replace(&mut *self.holding(), Holding::Closed);
            drop(before);
        }
    }

    /// Opens a closed copy again, and gives up leading with one that takes no commits.
    fn look_after(&self, core: &Arc<Core>) -> bool {
        self.close_held_up(core);
        let mut holding = self.holding();
        match &*holding {
            Holding::Closed if core.state().is_in_pause() => false,
            Holding::Closed => match Engine::open_to_follow(&self.path, self.settings) {
                Ok(engine) => {
                    *holding = Holding::Following(engine);
                    // ORDERING: relaxed, as it is read and written under the mutex.
                    self.opened.fetch_add(1, Ordering::Relaxed);
                    true
                }
                // Sessions hold it still.
                Err(Error::Locked { .. }) => false,
                Err(error) => {
                    Stop::from(error).carry_out(core);
                    false
                }
            },
            Holding::Following(engine) => {
                let Err(error) = engine.check_writable() else { return false };
                drop(holding);
                if core.state().held_up.is_none() {
                    core.hold_up(error.to_string());
                }
                false
            }
            Holding::Leading(engine) => {
                let Err(error) = engine.check_writable() else { return false };
                drop(holding);
                if core.state().election.role() == Role::Leader {
                    match may_pass(&error) {
                        true => core.hold_up_leader(error.to_string()),
                        false => core.step(Event::Release { to: None }),
                    }
                }
                false
            }
        }
    }

    fn read(&self, core: &Arc<Core>, request: u64, from: u64) {
        let (next, is_in_pause) = {
            let state = core.state();
            (state.election.next(), state.is_in_pause())
        };
        if is_in_pause {
            return core.step(Event::Failed { request });
        }
        // What came after the time-out of the request before this one is not read again.
        match self.read_and_apply(core, request, from.max(next)) {
            Ok(()) => {}
            Err(stop @ (Stop::Later | Stop::HeldUp(_))) => {
                stop.carry_out(core);
                core.step(Event::Failed { request });
            }
            Err(stop) => stop.carry_out(core),
        }
    }

    fn read_and_apply(&self, core: &Core, request: u64, from: u64) -> Result<(), Stop> {
        let Some(engine) = self.following() else {
            // What became of a group of the leadership that ended is found out all the same.
            let slots = core.log.read(&core.stream, from, READ_BYTES)?;
            if !slots.is_empty() {
                core.check_last()?;
            }
            let slots = slots.iter().map(seen_slot).collect::<Result<_, _>>()?;
            core.step(Event::LogRead { request, slots });
            return Ok(());
        };
        let end = engine.published();
        let groups = core.asking(|| {
            let from = from.min(end.get() + 1);
            let groups = read_groups(&*core.log, &core.stream, from, READ_BYTES)?;
            if !groups.is_empty() {
                core.check_last()?;
            }
            Ok(groups)
        })?;
        let _applying = self.applying.lock().unwrap_or_else(PoisonError::into_inner);
        if engine.published() != end {
            // A stale read was quicker: the groups need not continue what it has brought.
            core.step(Event::Failed { request });
            core.step(Event::Look);
            return Ok(());
        }
        for group in &groups {
            match engine.apply(as_group(group)) {
                Ok(_) => {}
                Err(Error::SnapshotTooOld) => return Err(Stop::Later),
                Err(error) => return Err(error.into()),
            }
        }
        core.goes_on();
        core.step(Event::LogRead { request, slots: groups.iter().map(seen).collect() });
        Ok(())
    }

    fn put_epoch(&self, core: &Arc<Core>, request: u64, slot: SeenSlot) {
        let engine = self.following().filter(|_| !core.state().is_in_pause());
        let Some(engine) = engine else {
            // Somebody else may lead sooner than sessions let go of the old copy, or its disk takes
            // the record.
            return core.step(Event::Release { to: None });
        };
        let outcome = match self.try_put_epoch(core, &engine, slot) {
            Ok(outcome) => outcome,
            Err(Stop::Later) => SlotOutcome::Unknown,
            Err(stop) => return stop.carry_out(core),
        };
        core.step(Event::SlotPut { request, outcome });
    }

    fn try_put_epoch(
        &self,
        core: &Core,
        engine: &Engine,
        slot: SeenSlot,
    ) -> Result<SlotOutcome, Stop> {
        let first = slot.range.first();
        // It may have the record already, of a put whose answer came after its time-out.
        if engine.published().get() + 1 < first {
            let why = format!("the copy is at {}, the log at {first}", engine.published());
            return Err(Stop::ForGood(why));
        }
        core.check_last()?;
        let (salt, frames) =
            engine.epoch_record(CommitTs::from_raw(first), slot.epoch, &core.node)?;
        let body = core.prepare(&slot, salt, &frames)?;
        let outcome = core.put(&slot, &body)?;
        if outcome == SlotOutcome::Won || outcome == SlotOutcome::Lost(slot) {
            let (first_ts, next_ts) = (first, slot.range.next());
            engine.apply(LogGroup { first_ts, next_ts, salt, frames: &frames })?;
        }
        Ok(outcome)
    }

    fn become_role(&self, core: &Arc<Core>, role: Role) {
        let mut holding = self.holding();
        match (role, &*holding) {
            (Role::Leader, Holding::Following(engine)) => {
                let engine = engine.clone();
                let term = core.state().term;
                let sink = Arc::new(Leader { core: Arc::clone(core), term });
                match engine.promote(sink) {
                    Ok(()) => *holding = Holding::Leading(engine),
                    Err(error) => Stop::from(error).carry_out(core),
                }
            }
            (Role::Follower, Holding::Leading(_)) => {
                #[cfg(test)]
                if core.fault == Some(super::simulation::Fault::KeepsCopy)
                    && let Holding::Leading(engine) = &*holding
                {
                    *holding = Holding::Following(engine.clone());
                    return;
                }
                *holding = Holding::Closed;
                drop(holding);
                self.look_after(core);
            }
            _ => {}
        }
    }
}

/// Why work on the log did not get done.
enum Stop {
    /// It is tried again.
    Later,
    /// The next attempt comes once the copy has been opened anew.
    HeldUp(String),
    /// Nothing that is tried again would change it.
    ForGood(String),
    /// The same, of the store.
    Store(StoreError),
}

impl Stop {
    fn carry_out(self, core: &Core) {
        match self {
            Self::Later => {}
            Self::HeldUp(why) => core.hold_up(why),
            Self::ForGood(why) => core.stop(why),
            Self::Store(cause) => core.stop_for(&cause),
        }
    }
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        match error.kind() {
            ErrorKind::Unavailable => Self::Later,
            _ => Self::Store(error),
        }
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match may_pass(&error) {
            true => Self::HeldUp(error.to_string()),
            false => Self::ForGood(error.to_string()),
        }
    }
}
