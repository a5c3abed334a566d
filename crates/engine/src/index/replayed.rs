//! What the log changed in an index that stays in the store.
//!
//! Replaying a commit does not need the entries of an index, only to add to them. So an index that
//! is not in memory keeps the changes beside what is stored, and loading it applies them. Until
//! then reads find the new entries here; old ones may be found in the store, as everywhere.
//!
//! Written while the database is being opened, by one thread; read only afterwards.

use crossbeam_epoch as epoch;
use smallvec::SmallVec;

use super::change::Change;
use super::key::{Entry, Item, SortKey};
use super::source::Objects;
use super::tree::Tree;
use super::{Content, Entries};

/// Most changes that are kept: about 150 MB. An index that the log changes more often is loaded,
/// which takes less time than replaying them did.
pub(super) const REPLAYED_MAX: usize = 1 << 20;

/// An object's key before and after a commit.
#[derive(Debug)]
struct Replay {
    ts: u64,
    item: Item<3>,
    old: Option<SortKey>,
    new: Option<SortKey>,
}

/// Changes of replayed commits.
#[derive(Debug, Default)]
pub(super) struct Replayed {
    /// In the order of the log.
    changes: Vec<Replay>,
    /// The new ones, sorted once the log has been read.
    entries: Vec<Entry<3>>,
}

impl Replayed {
    pub(super) fn len(&self) -> usize {
        self.changes.len()
    }

    /// Notes a change by the commit `ts`.
    pub(super) fn push(&mut self, ts: u64, change: &Change) {
        let (old, new) = (change.before().cloned(), change.after().cloned());
        self.changes.push(Replay { ts, item: change.item, old, new });
    }

    /// Makes new entries findable.
    pub(super) fn sort(&mut self) {
        let new = self.changes.iter().filter_map(|c| Some((c.new.clone()?, c.item)));
        self.entries = new.collect();
        self.entries.sort_unstable();
        self.entries.dedup();
    }

    /// New entries with keys from `from` on, ascending.
    pub(super) fn entries_from(&self, from: &SortKey) -> &[Entry<3>] {
        &self.entries[self.entries.partition_point(|(key, _)| key < from)..]
    }

    /// Does to entries from the store what the commits did.
    pub(super) fn apply_to(&self, content: &Content, upkeep: &Objects<'_>) {
        match &content.entries {
            Entries::None => {}
            Entries::Vertices(tree) => self.apply_to_tree(tree, |item| [item[0]], upkeep),
            Entries::Edges(tree) => self.apply_to_tree(tree, |item| item, upkeep),
        }
    }

    fn apply_to_tree<const N: usize>(
        &self,
        tree: &Tree<N>,
        item_of: impl Fn(Item<3>) -> Item<N>,
        upkeep: &Objects<'_>,
    ) {
        for Replay { ts, item, old, new } in &self.changes {
            let (guard, item) = (&epoch::pin(), item_of(*item));
            if let Some(key) = new {
                let mut numbers = SmallVec::new();
                tree.find_all(&[(key, item)], &mut numbers, guard);
                tree.add_all(&[(key, item)], &numbers, *ts, upkeep, guard);
                if let Some(front) = upkeep.front {
                    front.insert(key, item[0], guard);
                }
            }
            if let Some(key) = old {
                tree.mark_stale(key, &item, *ts, upkeep, guard);
            }
        }
    }
}
