//! Commit: the steps of `txn/mod.rs`, in the calling thread.

use std::sync::atomic::Ordering;

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::Direction;

use super::plan::{Plan, PlanInput, Target};
use super::record;
use super::validate::validate;
use super::write_set::{Read, WriteSet};
use crate::adjacency::hub::HubPlace;
use crate::adjacency::settle::{After, settle_segment};
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::{AdjTable, local_of, segment_of};
use crate::error::{Error, Object};
use crate::failpoint;
use crate::index::commit::{Maintenance, hold};
use crate::mapped::memory;
use crate::shared::Shared;

/// A tail whose arena is fuller than this (of 256) is settled after the commit that filled it.
const FILL_MAX: u32 = 224;
/// Commits that may take a timestamp between the check of a tail's age and the append.
const DELTA_SLACK: u64 = 1 << 20;

/// How a write set is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A transaction that read at this timestamp.
    Live { read_ts: u64 },
    /// A log record, replayed at its own timestamp.
    Replay { commit_ts: u64 },
}

impl Mode {
    fn is_live(self) -> bool {
        matches!(self, Self::Live { .. })
    }
}

/// What a commit did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) ts: u64,
    pub(crate) edges_added: u64,
    pub(crate) edges_removed: u64,
}

/// Why nothing was reserved: this target's tail has no room, or counts from too long ago.
struct NoRoom(usize);

/// Commits `writes`. Returns `None` if nothing had to be changed.
///
/// `publish` makes the applied commit durable and visible and ends the transaction's snapshot. That
/// may take a sync of the disk, so no epoch is pinned meanwhile. What the commit filled up is
/// settled after it, when the snapshot no longer holds the watermark back.
pub(crate) fn commit(
    shared: &Shared,
    writes: &WriteSet,
    reads: &[Read],
    mode: Mode,
    publish: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Done>, Error> {
    let deletes = || writes.states.items().iter().filter(|w| w.state == 0).map(|w| w.vertex);
    let frees = mode.is_live() && deletes().next().is_some();
    if frees {
        shared.free_vertices.will_delete(deletes());
    }
    let done = match apply_latched(shared, writes, reads, mode) {
        // What could not be read looks as if it were not there.
        Ok(None) | Err(_) if shared.check_stored().is_err() => {
            return shared.check_stored().map(|()| None);
        }
        // What a failed log left unpublished conflicts for ever: say that the log has failed.
        Err(e) if e.is_retryable() => return Err(shared.check_log().err().unwrap_or(e)),
        done => done?,
    };
    let Some(done) = done else { return Ok(None) };
    shared.sample.wrote(writes.len() as u64);
    publish(done.ts)?;
    settle_after(writes, shared);
    if frees && shared.free_vertices.deleted(done.ts, deletes()) {
        shared.free_vertices.harvest(shared, shared.horizon());
    }
    memory::hold_back(shared);
    Ok(Some(done))
}

/// A commit that made room and is not done.
struct MakingRoom<'s>(&'s Shared);

impl<'s> MakingRoom<'s> {
    fn new(shared: &'s Shared) -> Self {
        shared.making_room.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for MakingRoom<'_> {
    fn drop(&mut self) {
        self.0.making_room.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Everything up to and including the unlatching.
fn apply_latched(
    shared: &Shared,
    writes: &WriteSet,
    reads: &[Read],
    mode: Mode,
) -> Result<Option<Done>, Error> {
    let guard = &epoch::pin();
    let watermark = || shared.watermark();
    let input = PlanInput {
        catalog: &shared.catalog,
        states: &shared.states,
        growth: &shared.growth,
        watermark: &watermark,
        writes,
        reads,
    };
    let read_ts = match mode {
        Mode::Live { read_ts } => read_ts,
        Mode::Replay { commit_ts } => commit_ts,
    };
    // An edge type that appears now could hold edges of a vertex that is being deleted.
    let deletes = writes.states.items().iter().any(|w| w.state == 0);
    let _types_fixed = deletes.then(|| shared.catalog.types_fixed.read());
    let payload = match mode {
        Mode::Live { .. } => shared.encode_commit(writes),
        Mode::Replay { .. } => None,
    };
    let held = hold(&shared.indexes, writes, reads);
    let mut indexes = Maintenance::new(held.as_ref(), shared, writes, reads, guard);
    if mode.is_live() {
        indexes.load()?;
    }
    let mut plan = Plan::default();
    let (mut attempts, mut full_before, mut making_room) = (0, None, None);
    let commit_ts = loop {
        indexes.look(guard);
        plan.make(&input, guard)?;
        indexes.plan(&mut plan.latches);
        plan.latches.acquire();
        failpoint!("commit::latched");
        if shared.gate.is_shut() && mode.is_live() {
            return Err(Error::Conflict { object: Object::BulkLoad });
        }
        if !plan.is_valid(guard) || !indexes.is_valid(guard) {
            continue;
        }
        if !validate(&mut plan, &input, read_ts, guard)? {
            return Ok(None);
        }
        indexes.validate(mode, guard)?;
        // What could not be read came out empty: nothing may be decided by it.
        shared.check_stored()?;
        if let Err(full) = reserve(&plan, shared, guard)? {
            let t = &plan.targets[full.0];
            let chunk = t.chunk.map(|(_, chunk)| std::ptr::from_ref(chunk));
            let place = (t.table.id, t.number, chunk);
            attempts = if full_before == Some(place) { attempts + 1 } else { 0 };
            full_before = Some(place);
            making_room.get_or_insert_with(|| MakingRoom::new(shared));
            make_room(&mut plan, full, attempts, shared, guard);
            continue;
        }
        let commit_ts = match mode {
            Mode::Replay { commit_ts } => commit_ts,
            Mode::Live { .. } => match shared.take_timestamp(payload.as_deref()) {
                Ok(ts) => ts,
                Err(e) => {
                    unreserve(&plan.targets, guard);
                    return Err(e);
                }
            },
        };
        crate::failpoint!("commit::stamped");
        apply(&plan, &input, commit_ts, guard);
        indexes.apply(commit_ts, guard);
        break commit_ts;
    };
    failpoint!("commit::applied");
    plan.latches.release();
    shared.clock.mark_applied(commit_ts);
    let appended = |delete| {
        // Two targets, one for each end, per edge.
        plan.targets.iter().filter(|t| t.append.is_some_and(|(_, d)| d == delete)).count() as u64
            / 2
    };
    let (edges_added, edges_removed) = (appended(false), appended(true));
    Ok(Some(Done { ts: commit_ts, edges_added, edges_removed }))
}

/// Reserves room for every append, or for none and says which target stands in the way.
fn reserve(plan: &Plan<'_>, shared: &Shared, guard: &Guard) -> Result<Result<(), NoRoom>, Error> {
    for (i, t) in plan.targets.iter().enumerate().filter(|(_, t)| t.append.is_some()) {
        let (base_ts, reserved) = match t.chunk {
            Some((_, chunk)) => {
                let v = chunk.version(guard);
                (v.base_ts, v.block().reserve())
            }
            None => {
                let tail = t.segment.version(guard).and_then(|v| v.tail.as_ref());
                let tail = tail.expect("INVARIANT: the plan was verified");
                (tail.base_ts, tail.reserve(t.local, t.table.kind.columns()))
            }
        };
        let aged = base_ts + u64::from(DELTA_MAX) < shared.last_ts() + DELTA_SLACK;
        if reserved && !aged {
            continue;
        }
        unreserve(&plan.targets[..=i], guard);
        if aged && shared.watermark() <= base_ts {
            return Err(Error::SnapshotTooOld);
        }
        return Ok(Err(NoRoom(i)));
    }
    Ok(Ok(()))
}

fn unreserve(targets: &[Target<'_>], guard: &Guard) {
    for t in targets.iter().filter(|t| t.append.is_some()) {
        if let Some((_, chunk)) = t.chunk {
            chunk.version(guard).block().unreserve();
        } else if let Some(tail) = t.segment.version(guard).and_then(|v| v.tail.as_ref()) {
            tail.unreserve(t.local);
        }
    }
}

/// Settles full tails and gives the new ones room for what the commit wants to append. Positions
/// within the lists change, so the commit starts over.
///
/// `attempts` counts how often the same target stood in the way: what it gets doubles with each.
fn make_room(
    plan: &mut Plan<'_>,
    NoRoom(full): NoRoom,
    attempts: u32,
    shared: &Shared,
    guard: &Guard,
) {
    let t = plan.targets[full];
    let doubled = attempts.min(16);
    if let Some((_, chunk)) = t.chunk {
        let same = |o: &Target<'_>| o.chunk.is_some_and(|(_, c)| std::ptr::eq(c, chunk));
        let wanted = plan.targets.iter().filter(|o| same(o)).count() << doubled;
        let place = HubPlace { undo: &t.table.undo, segment: t.number, local: t.local };
        chunk.make_room(t.table.kind, wanted, place, shared.horizon(), guard);
        plan.latches.release();
        return;
    }
    plan.latches.release();
    // All segments the commit would fill, in one go: a large one would else start over for each.
    let mut targets: Vec<&Target<'_>> = plan.targets.iter().filter(|o| o.chunk.is_none()).collect();
    targets.sort_unstable_by_key(|o| (o.table.id, o.number));
    for same in targets.chunk_by(|a, b| (a.table.id, a.number) == (b.table.id, b.number)) {
        let (table, segment) = (same[0].table, same[0].segment);
        let is_full = table.id == t.table.id && same[0].number == t.number;
        let words = 8 * same.len() * (2 + table.kind.columns());
        let tail = segment.version(guard).and_then(|v| v.tail.as_ref());
        // Enough for what it gets even if every append needs a block: else a large commit would
        // come back, and be planned anew, for one segment after the other.
        if is_full || tail.is_some_and(|tail| tail.words_left() < words) {
            let room = if is_full { words << doubled } else { words };
            let (number, horizon) = (same[0].number, shared.horizon());
            settle_segment(table, segment, number, horizon, After::Busy { room }, guard);
        }
    }
}

fn apply(plan: &Plan<'_>, input: &PlanInput<'_>, ts: u64, guard: &Guard) {
    // PERF: insert_batch64_mps: in a pass of its own. An atomic update waits for every store before
    // it, and those of the appends miss the cache.
    for t in &plan.targets {
        let Some((entry, delete)) = t.append else { continue };
        t.segment.last_write.fetch_max(ts, Ordering::Relaxed);
        if delete
            && t.chunk.is_none()
            && let Some(ver) = t.segment.version(guard)
        {
            ver.mark_deleted(t.local, entry.nbr, ts);
        }
    }
    for t in &plan.targets {
        let Some((entry, delete)) = t.append else {
            continue;
        };
        let columns = t.table.kind.columns();
        if let Some((_, chunk)) = t.chunk {
            let v = chunk.version(guard);
            v.block().append(&entry, v.delta(ts), delete, columns);
        } else {
            let tail = t.segment.version(guard).and_then(|v| v.tail.as_ref());
            let tail = tail.expect("INVARIANT: the plan was verified");
            tail.append(t.local, &entry, tail.delta(ts), delete, columns);
        }
    }
    let writes = input.writes;
    for w in writes.states.items() {
        let segment = input.states.segment_for_write(w.vertex);
        segment.write(local_of(w.vertex), ts, w.state, guard);
    }
    for w in writes.vertex_properties.items() {
        let segment = input.catalog.vertex_column_for_write(w.key).segment_for_write(w.vertex);
        segment.write(local_of(w.vertex), ts, w.value.clone(), guard);
    }
    for w in writes.edge_properties.items() {
        let ty = input.catalog.edge_type(w.ty).expect("INVARIANT: looked up while planning");
        let segment = ty.column_for_write(w.key, input.catalog).segment_for_write(w.ordinal);
        segment.write(local_of(w.ordinal), ts, w.value.clone(), guard);
    }
}

/// Settles what this commit filled up, and splits hub chunks it made too large.
fn settle_after(writes: &WriteSet, shared: &Shared) {
    let guard = &epoch::pin();
    for w in writes.edges.items() {
        let Ok(ty) = shared.catalog.edge_type(w.ty) else { continue };
        for (direction, v, nbr) in [(Direction::Out, w.src, w.dst), (Direction::In, w.dst, w.src)] {
            settle_list_of(ty.table(direction), v, nbr, shared, guard);
        }
    }
    let horizon = || shared.horizon();
    for w in writes.states.items() {
        shared.states.settle_if_full(w.vertex, horizon, guard);
    }
    for w in writes.vertex_properties.items() {
        shared.catalog.vertex_column_for_write(w.key).settle_if_full(w.vertex, horizon, guard);
    }
    for w in writes.edge_properties.items() {
        if let Ok(ty) = shared.catalog.edge_type(w.ty) {
            let column = ty.column_for_write(w.key, &shared.catalog);
            column.settle_if_full(w.ordinal, horizon, guard);
        }
    }
}

fn settle_list_of(table: &AdjTable, v: u32, nbr: u32, shared: &Shared, guard: &Guard) {
    let version = table.head_of(v, guard).written();
    let Some(tail) = version.and_then(|v| v.tail.as_ref()) else { return };
    if tail.fill() > FILL_MAX {
        let number = segment_of(v);
        let segment = table.segment_for_write(number);
        let after = After::Busy { room: 0 };
        settle_segment(table, segment, number, shared.horizon(), after, guard);
    } else if let Some(hub) = tail.hub_of(local_of(v))
        && hub.chunk(nbr, guard).is_oversized(guard)
    {
        let place = HubPlace { undo: &table.undo, segment: segment_of(v), local: local_of(v) };
        hub.split(nbr, place, shared.horizon(), guard);
    }
}

/// Encodes a write set as a log record.
pub(crate) fn encode(writes: &WriteSet, shared: &Shared) -> Vec<u8> {
    let mut out = Vec::with_capacity(64);
    let now = crate::ops::time::now_ms();
    record::encode_timed_commit(writes, &shared.catalog.label_sets, now, &mut out);
    out
}
