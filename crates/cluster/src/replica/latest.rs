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
use crate::store::{Log, Name, StoreError};

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
    /// Cost: one read of the store, and more where it has what this node has not read yet; shared
    /// by all who ask at a time.
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
    let begin = known.get() + 1;
    let end = end_of(&*core.log, &core.stream, begin)?;
    if end > begin {
        core.step(Event::Look);
    }
    Ok(CommitTs::from_raw(end - 1))
}

/// The end of a log, read from `next` on.
fn end_of(log: &dyn Log, stream: &Name, mut next: u64) -> Result<u64, StoreError> {
    // Only an empty read is the end: a store may return less than there is, as where it failed
    // after the first slots.
    while let Some(last) = log.read(stream, next, READ_BYTES)?.last() {
        next = last.range.next();
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::simulated::{Faults, Simulated};
    use crate::store::{PartName, Put, Slot, SlotRange};

    /// A store that shows one slot at a time.
    #[derive(Debug)]
    struct Short(Simulated);

    impl Log for Short {
        fn body_bytes_max(&self) -> usize {
            self.0.body_bytes_max()
        }

        fn put_once(&self, at: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
            self.0.put_once(at, range, body)
        }

        fn read(&self, stream: &Name, from: u64, _: usize) -> Result<Vec<Slot>, StoreError> {
            Log::read(&self.0, stream, from, 0)
        }

        fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
            self.0.trim(stream, before)
        }

        fn put_part(&self, at: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
            self.0.put_part(at, part, bytes)
        }

        fn read_part(&self, at: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
            self.0.read_part(at, part)
        }

        fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
            self.0.parts(stream, from)
        }

        fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
            self.0.remove_part(stream, part)
        }
    }

    #[test]
    fn the_end_is_where_nothing_is_read() {
        let log = Short(Simulated::new(1, Faults::default()));
        let stream = Name::new("graph").unwrap();
        assert_eq!(end_of(&log, &stream, 1).unwrap(), 1);
        for first in (1..100).step_by(3) {
            let range = SlotRange::new(first, first + 3).unwrap();
            assert!(matches!(log.put_once(&stream, range, b"slot"), Ok(Put::Won)));
        }
        for from in [1, 2, 50, 99, 100] {
            assert_eq!(end_of(&log, &stream, from).unwrap(), 100, "{from}");
        }
    }
}
