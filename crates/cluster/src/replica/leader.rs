//! A leader's groups: from the engine's group commit into slots of the log.
//!
//! The engine calls from the thread that leads its group commit, one group at a time, and waits.
//! The put is carried out by that thread itself.
//!
//! A group whose outcome is not known when this node is deposed is decided by its slot, which the
//! next leader writes. The wait for that is bounded: the copy cannot be opened again before it
//! ends, and perhaps nobody but this node is there to lead.

use std::sync::Arc;

use telar_engine::wal::{GroupSink, LogGroup, SinkError};

use super::core::{Core, GroupPut};
use super::election::{Event, Role, SlotOutcome};
use crate::store::{ErrorKind, StoreError};

/// TTLs that a group waits for a lease that has lapsed and may be renewed, or for the slot of a
/// leadership that ended to be written.
const LAPSES: u32 = 2;

/// The sink to which an engine that leads writes its groups.
#[derive(Debug)]
pub(super) struct Leader {
    pub(super) core: Arc<Core>,
    /// The leadership it belongs to.
    pub(super) term: u64,
}

/// Outcome of an attempt to put a slot.
enum Attempt {
    Known(SlotOutcome),
    /// The store says what no further attempt can change.
    Hopeless(StoreError),
}

impl GroupSink for Leader {
    fn put(&self, group: LogGroup<'_>) -> Result<(), SinkError> {
        let core = &*self.core;
        let commits = group.next_ts - group.first_ts;
        let give_up = core.clock.now().after(core.ttl * LAPSES);
        let (mut bytes, mut deposed) = (None, None);
        let mut state = core.state();
        let id = state.groups;
        state.groups += 1;
        let fenced = |leader| Err(SinkError::Fenced { leader });
        if state.term != self.term || state.election.next() != group.first_ts {
            return fenced(Core::leader(&state, core.holder));
        }
        core.step_in(&mut state, Event::Append { id, commits });
        loop {
            if let Some(won) = state.outcomes.remove(&id) {
                if won {
                    return Ok(());
                }
                // Refused by a leader whose lease has lapsed, or by one that is none any more.
                let leads = state.term == self.term && state.election.role() == Role::Leader;
                if !leads || core.clock.now() >= give_up {
                    if leads {
                        // The engine takes no commits any more, so somebody else had better lead.
                        core.step_in(&mut state, Event::Release { to: None });
                    }
                    return fenced(Core::leader(&state, core.holder));
                }
                state = core.wait(state);
                if state.term == self.term {
                    core.step_in(&mut state, Event::Append { id, commits });
                } else {
                    state.outcomes.insert(id, false);
                }
                continue;
            }
            if state.term != self.term {
                // The slot tells what became of the group, once somebody has written it.
                let since = *deposed.get_or_insert_with(|| core.clock.now());
                if core.clock.now() >= since.after(core.ttl * LAPSES) {
                    let reason = "nobody has led since this node was deposed".into();
                    return Err(SinkError::Undecided { reason });
                }
            }
            if let Some(why) = &state.stopped {
                return Err(SinkError::Undecided { reason: why.clone() });
            }
            let Some(put) = state.put.take() else {
                state = core.wait(state);
                continue;
            };
            drop(state);
            match self.attempt(put, group, &mut bytes) {
                Attempt::Known(outcome) => {
                    core.step(Event::SlotPut { request: put.request, outcome });
                }
                Attempt::Hopeless(cause) => core.stop_for(&cause),
            }
            state = core.state();
        }
    }
}

impl Leader {
    /// Puts a slot; `bytes` are those of the attempt before.
    fn attempt(
        &self,
        put: GroupPut,
        group: LogGroup<'_>,
        bytes: &mut Option<(u64, Vec<u8>)>,
    ) -> Attempt {
        let core = &*self.core;
        let unknown = |cause: StoreError| match cause.kind() {
            ErrorKind::Unavailable => Attempt::Known(SlotOutcome::Unknown),
            _ => Attempt::Hopeless(cause),
        };
        if bytes.as_ref().is_none_or(|(nonce, _)| *nonce != put.slot.nonce) {
            match core.prepare(&put.slot, group.salt, group.frames) {
                Ok(made) => *bytes = Some((put.slot.nonce, made)),
                Err(cause) => return unknown(cause),
            }
        }
        let body = bytes.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        core.put(&put.slot, body).map_or_else(unknown, Attempt::Known)
    }
}
