//! Dropping what the store holds, to keep to the memory limit (`mapped/memory.rs`).

use std::sync::atomic::Ordering;

use telar_graph::Direction;

use crate::mapped::memory::{Droppable, Hand, Limits};
use crate::reclaim::collect;
use crate::shared::Shared;

fn tables(shared: &Shared) -> Vec<&dyn Droppable> {
    let mut tables: Vec<&dyn Droppable> = vec![&shared.states];
    for (_, ty) in shared.catalog.edge_types() {
        tables.extend(Direction::ALL.map(|d| -> &dyn Droppable { ty.table(d) }));
        tables.extend(ty.columns().map(|(_, c)| -> &dyn Droppable { c }));
    }
    tables.extend(shared.catalog.vertex_columns().map(|(_, c)| -> &dyn Droppable { c }));
    tables
}

/// Drops segments until `wanted` bytes are let go, or all of them were looked at twice. Returns the
/// bytes let go.
fn drop_clean(shared: &Shared, wanted: u64, all: bool, hand: &mut Hand) -> u64 {
    let Some(durable) = &shared.durable else { return 0 };
    // ORDERING: acquire pairs with the release of the checkpoint: the generation that holds what
    // was stored up to here is the current one.
    let stored = durable.checkpoint_ts.load(Ordering::Acquire);
    let horizon = shared.horizon();
    let settled = stored.min(horizon.watermark);
    let limits = Limits { settled, unsettled: settled.min(horizon.floor) };
    let tables = tables(shared);
    let mut freed = 0;
    // The first table is gone through in two parts.
    for step in 0..=2 * tables.len() {
        if step > 0 {
            *hand = (hand.0 + 1, 0);
        }
        hand.0 %= tables.len();
        let table = tables[hand.0];
        while hand.1 < table.bound() {
            if freed >= wanted {
                return freed;
            }
            freed += table.drop_segment(hand.1, limits, all) as u64;
            hand.1 += 1;
        }
    }
    freed
}

/// Drops everything that the store holds as it is; returns the bytes let go.
pub(crate) fn drop_all(shared: &Shared) -> u64 {
    let Some(stored) = &shared.stored else { return 0 };
    let mut hand = stored.memory.hand.lock();
    let freed = drop_clean(shared, u64::MAX, true, &mut hand);
    collect();
    stored.memory.used.store(shared.memory_use().heap() as u64, Ordering::Relaxed);
    freed
}

/// Heap bytes held, measured.
pub(crate) fn measure(shared: &Shared) -> u64 {
    shared.memory_use().heap() as u64
}

/// Drops what it takes, of `used` bytes, to come noticeably below the limit, as far as possible;
/// returns what is held then.
pub(crate) fn drop_down(shared: &Shared, limit: u64, used: u64, hand: &mut Hand) -> u64 {
    let target = limit - limit / 8;
    drop_clean(shared, used.saturating_sub(target), false, hand);
    measure(shared)
}

/// Looks how much memory is held, and brings it under the limit if need be and as far as dropping
/// does. Not if somebody else is at it.
fn pass(shared: &Shared) {
    let Some(stored) = &shared.stored else { return };
    let memory = &stored.memory;
    if memory.limit == u64::MAX {
        return;
    }
    let Some(mut hand) = memory.hand.try_lock() else { return };
    let mut used = measure(shared);
    if used > memory.limit {
        used = drop_down(shared, memory.limit, used, &mut hand);
        collect();
    }
    memory.passed(used);
}

/// Called by whoever opens a reader, before it pins: drops if too much was loaded.
#[inline]
pub(crate) fn relieve(shared: &Shared) {
    if let Some(stored) = &shared.stored
        && stored.memory.is_above(stored.memory.limit)
    {
        pass(shared);
    }
}
