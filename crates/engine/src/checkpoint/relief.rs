//! The memory limit where writers keep it: by a checkpoint, if dropping does not do
//! (`mapped/memory.rs`).

use std::sync::atomic::Ordering;

use super::checkpoint;
use crate::eviction::{drop_down, measure};
use crate::reclaim::collect;
use crate::shared::Shared;

/// Looks how much memory is held, and brings it under the limit if need be and as far as possible:
/// by dropping, and by a checkpoint if that does not do.
pub(crate) fn pass(shared: &Shared) {
    let Some(stored) = &shared.stored else { return };
    let memory = &stored.memory;
    if memory.limit == u64::MAX {
        return;
    }
    // One at a time; whoever comes second finds the work done.
    let mut hand = memory.hand.lock();
    let mut used = measure(shared);
    if used > memory.limit {
        used = drop_down(shared, memory.limit, used, &mut hand);
        let stuck = memory.stuck.load(Ordering::Relaxed).saturating_add(memory.limit / 16);
        if used > memory.limit.max(stuck) {
            // A failure leaves the last checkpoint in force and is told by `Engine::health`.
            drop(checkpoint(shared));
            used = drop_down(shared, memory.limit, used, &mut hand);
        }
        collect();
    }
    memory.passed(used);
}

/// Called after a commit, with nothing held: far above the limit, writers wait for memory.
#[inline]
pub(crate) fn hold_back(shared: &Shared) {
    if let Some(stored) = &shared.stored
        && stored.memory.is_above(stored.memory.limit.saturating_add(stored.memory.limit / 4))
    {
        pass(shared);
    }
}
