//! Who waits for whom.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;

use super::queue::Waiter;
use crate::sync::Arc;

/// Every transaction that waits: each for one thing.
#[derive(Debug, Default)]
pub(super) struct Graph(HashMap<u64, Arc<Waiter>, RandomState>);

impl Graph {
    pub(super) fn insert(&mut self, waiter: &Arc<Waiter>) {
        self.0.insert(waiter.owner, Arc::clone(waiter));
    }

    pub(super) fn remove(&mut self, owner: u64) {
        self.0.remove(&owner);
    }

    /// Those who wait for each other in a circle, `start` among them.
    ///
    /// Edges are looked up as they are: one that comes while this runs leads from somebody who
    /// waits to somebody who has just been given something, and who does not wait.
    pub(super) fn cycle(
        &self,
        start: u64,
        blockers: impl Fn(&Waiter) -> Vec<u64>,
    ) -> Option<Vec<Arc<Waiter>>> {
        let waiting = |owner: u64| self.0.get(&owner).filter(|w| w.is_waiting());
        let first = waiting(start)?;
        let mut path = vec![(first, blockers(first))];
        let mut seen: HashSet<u64, RandomState> = HashSet::default();
        while let Some((_, open)) = path.last_mut() {
            let Some(next) = open.pop() else {
                path.pop();
                continue;
            };
            if next == start {
                return Some(path.iter().map(|(waiter, _)| Arc::clone(waiter)).collect());
            }
            if let Some(waiter) = waiting(next)
                && seen.insert(next)
            {
                path.push((waiter, blockers(waiter)));
            }
        }
        None
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
