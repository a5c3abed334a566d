//! The election, and the work that it asks for, which the threads of a replica share.
//!
//! Protocol. An event goes in by [`Core::step`], under one mutex; the actions that come out are
//! queued by who carries them out. No input or output happens under the mutex.
//!
//! Invariants
//! 1. Work on the log and on the copy is done by one thread at a time, in the order it was asked
//!    for. So the copy has every slot that was reported to the election as read.
//! 2. A leadership has a number, `term`: a group of an engine that was deposed is never taken for
//!    one of the engine that leads now.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::election::{
    Action, Content, Election, Event, Lease, LeaseOutcome, Moment, NotLeader, Role, SeenSlot,
    SlotOutcome,
};
use super::held_up::HeldUp;
use super::time::Clock;
use crate::store::{
    Body, Coordination, Entry, ErrorKind, Group, Identity, Log, Name, Origin, Put, PutIf, Slot,
    SlotRange, StoreError, Version, prepare,
};

/// Longest wait for a change without a look at the clock.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// A request for the lease's register.
#[derive(Debug)]
pub(super) enum LeaseWork {
    Read { request: u64 },
    Write { request: u64, expected: Version, lease: Lease },
}

/// Something to do with log and copy.
#[derive(Debug)]
pub(super) enum LogWork {
    Read { request: u64, from: u64 },
    PutEpoch { request: u64, slot: SeenSlot },
    Became(Role),
}

/// A slot that is to be put for a group.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupPut {
    pub(super) request: u64,
    pub(super) slot: SeenSlot,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) election: Election,
    pub(super) lease: VecDeque<LeaseWork>,
    pub(super) log: VecDeque<LogWork>,
    /// The slot that is to be put next: of the group that waits, the last request.
    pub(super) put: Option<GroupPut>,
    /// Groups of which it is known whether the log has them.
    pub(super) outcomes: HashMap<u64, bool>,
    pub(super) groups: u64,
    /// Number of the leadership; grows when one ends.
    pub(super) term: u64,
    /// Why the replica does nothing any more.
    pub(super) stopped: Option<String>,
    /// True if that is because the log was trimmed past the copy.
    pub(super) behind: bool,
    /// The failure that holds the copy up, until it goes on.
    pub(super) held_up: Option<HeldUp>,
    /// Since when the log is asked what it has, and does not answer.
    pub(super) asking_since: Option<Moment>,
}

#[derive(Debug)]
pub(super) struct Core {
    pub(super) log: Arc<dyn Log>,
    pub(super) coordination: Arc<dyn Coordination>,
    pub(super) stream: Name,
    pub(super) key: Name,
    pub(super) node: String,
    /// The random number of this process.
    pub(super) holder: u64,
    pub(super) ttl: Duration,
    pub(super) clock: Clock,
    pub(super) state: Mutex<State>,
    changed: Condvar,
    #[cfg(test)]
    pub(super) fault: Option<super::simulation::Fault>,
}

impl Core {
    pub(super) fn new(
        log: Arc<dyn Log>,
        coordination: Arc<dyn Coordination>,
        (stream, key): (Name, Name),
        (node, holder): (String, u64),
        ttl: Duration,
        clock: Clock,
        election: Election,
    ) -> Self {
        let state = State {
            election,
            lease: VecDeque::new(),
            log: VecDeque::new(),
            put: None,
            outcomes: HashMap::new(),
            groups: 0,
            term: 0,
            stopped: None,
            behind: false,
            held_up: None,
            asking_since: None,
        };
        Self {
            log,
            coordination,
            stream,
            key,
            node,
            holder,
            ttl,
            clock,
            state: Mutex::new(state),
            changed: Condvar::new(),
            #[cfg(test)]
            fault: None,
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands an event to the election, and queues what is to be done.
    pub(super) fn step(&self, event: Event) {
        let mut state = self.state();
        self.step_in(&mut state, event);
    }

    pub(super) fn step_in(&self, state: &mut State, event: Event) {
        // Under the mutex: the election's time never goes back.
        let actions = state.election.step(self.clock.now(), event);
        let acted = !actions.is_empty();
        for action in actions {
            match action {
                Action::ReadLease { request } => {
                    state.lease.retain(|work| !matches!(work, LeaseWork::Read { .. }));
                    state.lease.push_back(LeaseWork::Read { request });
                }
                Action::WriteLease { request, expected, lease } => {
                    state.lease.push_back(LeaseWork::Write { request, expected, lease });
                }
                Action::ReadLog { request, from } => {
                    // One that timed out before it was begun need not be carried out any more.
                    state.log.retain(|work| !matches!(work, LogWork::Read { .. }));
                    state.log.push_back(LogWork::Read { request, from });
                }
                Action::PutSlot { request, slot, content: Content::Epoch } => {
                    state.log.push_back(LogWork::PutEpoch { request, slot });
                }
                Action::PutSlot { request, slot, content: Content::Group(_) } => {
                    state.put = Some(GroupPut { request, slot });
                }
                // Applied before the election heard of it.
                Action::Apply(_) => {}
                Action::Acknowledge { id, .. } => {
                    // Asked again, and answered meanwhile.
                    state.put = None;
                    state.outcomes.insert(id, true);
                }
                Action::Refuse { id } => drop(state.outcomes.insert(id, false)),
                Action::Became(role) => {
                    if role == Role::Follower {
                        state.term += 1;
                        state.put = None;
                    }
                    state.log.push_back(LogWork::Became(role));
                }
            }
        }
        if acted {
            self.changed.notify_all();
        }
    }

    /// Ends the replica: whoever waits is told.
    pub(super) fn stop(&self, why: impl Into<String>) {
        self.state().stopped.get_or_insert(why.into());
        self.changed.notify_all();
    }

    /// Ends the replica because of what the store says for good.
    pub(super) fn stop_for(&self, cause: &StoreError) {
        self.state().behind |= cause.kind() == ErrorKind::Behind;
        self.stop(cause.to_string());
    }

    /// Waits until the state changes, or the election wants a tick; gives it one.
    pub(super) fn wait<'a>(&'a self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        let until = state.election.wake_at();
        let left = until.since(self.clock.now()).min(LOOK_EVERY);
        #[cfg(test)]
        if let Clock::Simulated(clock) = &self.clock {
            drop(state);
            clock.pass(left.max(Duration::from_millis(1)));
            self.lease_work();
            let mut state = self.state();
            self.step_in(&mut state, Event::Tick);
            return state;
        }
        let mut state = if left.is_zero() {
            state
        } else {
            let waited = self.changed.wait_timeout(state, left);
            waited.unwrap_or_else(PoisonError::into_inner).0
        };
        if state.stopped.is_none() && until <= self.clock.now() {
            self.step_in(&mut state, Event::Tick);
        }
        state
    }

    /// True if a snapshot that was taken before this call, and shows the commits before `next`, may
    /// answer a strict read.
    pub(super) fn may_read(&self, next: u64) -> Result<(), NotLeader> {
        let (state, now): (_, Moment) = (self.state(), self.clock.now());
        #[cfg(test)]
        match (self.fault, state.election.role()) {
            (Some(super::simulation::Fault::TakesOverEarly), Role::Candidate)
            | (Some(super::simulation::Fault::ReadsAfterLapse), Role::Leader) => return Ok(()),
            _ => {}
        }
        state.election.may_read(now, next).map(drop)
    }

    /// The node that leads, as far as this one knows, if it is another.
    pub(super) fn leader(state: &State, holder: u64) -> Option<String> {
        let other = state.election.lease().filter(|l| l.holder != holder && !l.released);
        other.map(|lease| lease.node.clone())
    }

    // ---- the lease ----

    /// Carries out what is to be done with the lease; true if there was something.
    pub(super) fn lease_work(&self) -> bool {
        let mut did = false;
        loop {
            let work = self.state().lease.pop_front();
            let Some(work) = work else { return did };
            did = true;
            let event = match work {
                LeaseWork::Read { request } => match self.coordination.get(&self.key) {
                    Ok(found) => match found.as_ref().map(lease_of).transpose() {
                        Ok(found) => Event::LeaseRead { request, found },
                        Err(why) => return self.give_up(why),
                    },
                    Err(_) => Event::Failed { request },
                },
                LeaseWork::Write { request, expected, lease } => {
                    let put = self.coordination.put_if(&self.key, expected, &lease.encode());
                    let outcome = match put {
                        Ok(PutIf::Won(version)) => LeaseOutcome::Won(version),
                        Ok(PutIf::Lost(found)) => match found.as_ref().map(lease_of).transpose() {
                            Ok(found) => LeaseOutcome::Lost(found),
                            Err(why) => return self.give_up(why),
                        },
                        // Read before it is written again, whatever it was.
                        Ok(PutIf::Unknown(_)) | Err(_) => LeaseOutcome::Unknown,
                    };
                    Event::LeaseWritten { request, outcome }
                }
            };
            self.step(event);
        }
    }

    // ---- slots ----

    /// The last slot of the log that this node knows of, if it does, and the first timestamp that
    /// it knows nothing of.
    pub(super) fn known(&self) -> (Option<SeenSlot>, u64) {
        let state = self.state();
        (state.election.last(), state.election.next())
    }

    /// Fails with [`StoreError::Missing`] if the store does not have the last slot that this node
    /// knows of any more: it has lost its end, and others may have written in its place since.
    ///
    /// If it does not fail, slots that were read before this call continue what the node knows: a
    /// slot is lost with all that come after it, and never comes back.
    pub(super) fn check_last(&self) -> Result<(), StoreError> {
        let (last, next) = self.known();
        let known = next - 1;
        if known == 0 {
            return Ok(());
        }
        let from = last.map_or(known, |last| last.range.first());
        let found = match self.log.read(&self.stream, from, 0) {
            Ok(found) => found.first().map(seen_slot).transpose()?,
            // Enough copies have it.
            Err(StoreError::Trimmed { .. }) => return Ok(()),
            Err(cause) => return Err(cause),
        };
        match found {
            Some(found) if last.is_none_or(|last| last == found) => Ok(()),
            _ => Err(StoreError::Missing { stream: self.stream.clone(), at: known }),
        }
    }

    /// Ends the replica if the store has lost what it had taken.
    pub(super) fn check_log(&self) {
        match self.check_last() {
            // One that does not answer is asked again at the next look.
            Err(cause) if cause.kind() != ErrorKind::Unavailable => self.stop_for(&cause),
            _ => {}
        }
    }

    /// Makes the body of a slot; its parts are in the store then.
    pub(super) fn prepare(
        &self,
        slot: &SeenSlot,
        salt: u32,
        frames: &[u8],
    ) -> Result<Vec<u8>, StoreError> {
        let (epoch, writer) = (slot.epoch, self.holder);
        let origin = Origin { epoch, writer, nonce: body_nonce(slot), salt };
        prepare(&*self.log, &self.stream, slot.range.first(), origin, frames).map(|(_, body)| body)
    }

    /// Puts the body of a slot.
    pub(super) fn put(&self, slot: &SeenSlot, body: &[u8]) -> Result<SlotOutcome, StoreError> {
        Ok(match self.log.put_once(&self.stream, slot.range, body)? {
            Put::Won => SlotOutcome::Won,
            Put::Lost(found) => {
                self.check_last()?;
                SlotOutcome::Lost(seen_slot(&found)?)
            }
            Put::Unknown(_) => SlotOutcome::Unknown,
        })
    }

    fn give_up(&self, why: String) -> bool {
        self.stop(why);
        true
    }
}

fn lease_of(entry: &Entry) -> Result<(Version, Lease), String> {
    let lease = Lease::decode(&entry.value);
    let lease = lease.ok_or_else(|| format!("{} is no lease that this program knows", entry.key));
    lease.map(|lease| (entry.version, lease))
}

/// The number of a body in its slot. Two processes that put one slot have parts of their own.
fn body_nonce(slot: &SeenSlot) -> u64 {
    slot.nonce.wrapping_add(slot.writer)
}

/// The slot of a body with this number, which [`body_nonce`] gave it.
fn slot_of(range: SlotRange, epoch: u64, identity: &Identity) -> SeenSlot {
    let Identity { writer, nonce, .. } = *identity;
    SeenSlot { range, epoch, writer, nonce: nonce.wrapping_sub(writer) }
}

/// A group as the election sees it.
pub(super) fn seen(group: &Group) -> SeenSlot {
    slot_of(group.range, group.epoch, &group.identity)
}

/// A slot as the election sees it.
pub(super) fn seen_slot(slot: &Slot) -> Result<SeenSlot, StoreError> {
    let (body, _) = Body::decode(&slot.body)
        .map_err(|why| StoreError::damaged(format!("slot {}", slot.range.first()), why))?;
    Ok(slot_of(slot.range, body.epoch, &body.identity))
}
