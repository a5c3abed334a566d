//! The end of the log, for reads of a follower that see everything acknowledged before them.
//!
//! ```text
//!  read ──▶ joins the look that begins next ──▶ end ──▶ waits until its copy shows it ──▶ snapshot
//! ```
//!
//! Reads of a log are linearizable: one that begins after a commit was acknowledged shows its slot.
//! So a look answers those that asked before it began, however many they are, and no others: one
//! look is under way at a time, and who comes meanwhile shares the next.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use telar_graph::CommitTs;

use super::core::Core;
use super::election::Event;
use crate::store::StoreError;

/// Bytes of slots that one read of a look asks for.
const READ_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
struct State {
    /// Number of the look that began last.
    begun: u64,
    is_under_way: bool,
    /// Number of the look that ended last without an error, and the commit before the end that it
    /// found.
    done: u64,
    last: u64,
}

/// The looks of a node.
#[derive(Debug, Default)]
pub(super) struct Looks {
    state: Mutex<State>,
    ended: Condvar,
}

/// A look that is under way; its failure is an end, too.
struct UnderWay<'l>(&'l Looks);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.state().is_under_way = false;
        self.0.ended.notify_all();
    }
}

impl Looks {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The last commit of the log, of all that were acknowledged before the call and perhaps some
    /// later ones. `known` is a commit that the log has. The node is told to read what is new.
    ///
    /// Cost: one read of the store, shared by all who ask at a time.
    pub(super) fn last(&self, core: &Core, known: CommitTs) -> Result<CommitTs, StoreError> {
        let mut state = self.state();
        let wanted = state.begun + 1;
        while state.done < wanted {
            if state.is_under_way {
                state = self.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            state.is_under_way = true;
            state.begun += 1;
            let number = state.begun;
            drop(state);
            let under_way = UnderWay(self);
            let last = look(core, known)?;
            state = self.state();
            state.done = number;
            state.last = state.last.max(last.get());
            drop(state);
            drop(under_way);
            state = self.state();
        }
        Ok(CommitTs::from_raw(state.last))
    }
}

/// Reads the log from after `known` to its end.
fn look(core: &Core, known: CommitTs) -> Result<CommitTs, StoreError> {
    let mut next = known.get() + 1;
    loop {
        // Only an empty read is the end: a store may return less than there is, as where it failed
        // after the first slots.
        let slots = core.log.read(&core.stream, next, READ_BYTES)?;
        let Some(last) = slots.last() else { break };
        next = last.range.next();
    }
    if next > known.get() + 1 {
        core.step(Event::Look);
    }
    Ok(CommitTs::from_raw(next - 1))
}
