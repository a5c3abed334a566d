//! Timestamps at which slots are known to end, and where these slots begin: nobody has to look for
//! the slot before one.
//!
//! etcd sorts what it is asked for in descending order: it reads all of the range, values included,
//! before it cuts it to its limit. A folder has to be listed. A reader goes on where a slot that it
//! has read ended, and a slot never changes: no other slot can hold that timestamp but one that
//! begins there.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use super::SlotRange;

/// Timestamps that are remembered of a stream: more than there are readers at a time.
const KNOWN_MAX: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Boundaries(Mutex<BTreeMap<String, Known>>);

/// Timestamps of a stream.
#[derive(Debug, Default)]
struct Known {
    /// Beginnings of slots, by where they end.
    firsts: HashMap<u64, u64>,
    /// The one that was noted first is forgotten first, wherever in the stream it is: a reader that
    /// is far behind others goes on from what it has just read.
    noted: VecDeque<u64>,
}

impl Boundaries {
    /// True if no slot of the stream begins before `at` and ends after it.
    pub(super) fn knows(&self, stream: &str, at: u64) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        at == 1 || known.get(stream).is_some_and(|known| known.firsts.contains_key(&at))
    }

    /// Returns where the slot of the stream begins that ends at `at`, if it is known. It may have
    /// been trimmed since.
    pub(super) fn before(&self, stream: &str, at: u64) -> Option<u64> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(stream)?.firsts.get(&at).copied()
    }

    /// Remembers where these slots of the stream end.
    pub(super) fn note(&self, stream: &str, slots: impl IntoIterator<Item = SlotRange>) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { firsts, noted } = streams.entry(stream.to_owned()).or_default();
        for slot in slots {
            if firsts.insert(slot.next(), slot.first()).is_none() {
                noted.push_back(slot.next());
            }
        }
        while noted.len() > KNOWN_MAX
            && let Some(next) = noted.pop_front()
        {
            firsts.remove(&next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(first: u64, next: u64) -> SlotRange {
        SlotRange::new(first, next).unwrap()
    }

    #[test]
    fn the_ends_of_slots_are_known_of_their_stream_alone() {
        let known = Boundaries::default();
        assert!(known.knows("a", 1) && !known.knows("a", 2));
        known.note("a", [slot(1, 5), slot(5, 9)]);
        assert!(known.knows("a", 5) && known.knows("a", 9) && !known.knows("a", 6));
        assert_eq!((known.before("a", 9), known.before("a", 5)), (Some(5), Some(1)));
        assert_eq!((known.before("a", 1), known.before("a", 6)), (None, None));
        assert!(!known.knows("b", 5) && known.before("b", 5).is_none());
        known.note("a", (9..9 + KNOWN_MAX as u64).map(|ts| slot(ts, ts + 1)));
        assert!(!known.knows("a", 5) && known.knows("a", 10));
        // One that begins again, behind all others.
        known.note("a", [slot(1, 3), slot(3, 5)]);
        assert!(known.knows("a", 3) && known.knows("a", 5));
        assert!(!known.knows("a", 10) && known.knows("a", 12));
    }
}
