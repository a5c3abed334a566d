//! Commit: the steps of `commit/mod.rs`, in the calling thread.
//!
//! A small commit plans first, without latches, and then takes the stripes it needs. What it found
//! may be gone by then: somebody settles a segment, drops an idle tail, splits a chunk, evicts what
//! the store holds. So it may try [`ATTEMPTS`] times, and from then on, as large commits do at
//! once, it takes its segments as a whole (`whole.rs`): nobody can change what it has made ready,
//! so that there is no further attempt. No epoch is pinned from one attempt to the next.

use std::borrow::Cow;
use std::sync::atomic::Ordering;

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::Direction;

use super::plan::{Plan, PlanInput, Target};
use super::validate::validate;
use super::whole::{self, Touched};
use super::write_set::{EdgePropertyWrite, Read, StateWrite, VertexPropertyWrite, WriteSet};
use super::{claim, record};
use crate::adjacency::hub::HubPlace;
use crate::adjacency::settle::{After, settle_segment};
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::{AdjTable, local_of, segment_of};
use crate::checkpoint::relief;
use crate::commit::maintenance::{Maintenance, hold};
use crate::error::{Error, Object};
use crate::failpoint;
use crate::shared::Shared;
use crate::stop::Stop;
use crate::wal::RECORD_ROOM;

/// A tail whose arena is fuller than this (of 256) is settled after the commit that filled it.
const FILL_MAX: u32 = 224;
/// Commits that may take a timestamp between the check of a tail's age and the append.
const DELTA_SLACK: u64 = 1 << 20;
/// Times that a commit plans stripe by stripe.
const ATTEMPTS: u32 = 2;
/// Latches of stripes that a commit takes at most; one with more takes whole segments.
const STRIPES_MAX: usize = 4096;

/// How a write set is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode<'a> {
    /// A transaction that read at this timestamp.
    Live { read_ts: u64 },
    /// A log record, replayed at its own timestamp.
    Replay { commit_ts: u64 },
    /// A record of a replicated log, applied at its own timestamp beside readers.
    Follow { commit_ts: u64, payload: &'a [u8] },
}

impl Mode<'_> {
    pub(super) fn is_live(self) -> bool {
        matches!(self, Self::Live { .. })
    }

    /// True if others may read meanwhile.
    fn has_readers(self) -> bool {
        !matches!(self, Self::Replay { .. })
    }

    /// The timestamp up to which it saw everything.
    pub(super) fn read_ts(self) -> u64 {
        match self {
            Self::Live { read_ts } => read_ts,
            Self::Replay { commit_ts } | Self::Follow { commit_ts, .. } => commit_ts,
        }
    }
}

/// What a commit did.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Done {
    pub(crate) ts: u64,
    pub(crate) edges_added: u64,
    pub(crate) edges_removed: u64,
}

/// A commit to be made.
pub(crate) struct Request<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) writes: &'a WriteSet,
    pub(crate) reads: &'a [Read],
    pub(super) mode: Mode<'a>,
    pub(super) stop: &'a Stop<'a>,
}

/// What came of an attempt.
enum Attempt {
    Done(Option<Done>),
    /// Something it needs was changed by others meanwhile, or a tail is full.
    Again,
}

/// Commits `writes`. Returns `None` if nothing had to be changed.
///
/// `publish` makes the applied commit durable and visible and ends the transaction's snapshot. That
/// may take a sync of the disk, so no epoch is pinned meanwhile. What the commit filled up is
/// settled after it, when the snapshot no longer holds the watermark back.
pub(crate) fn commit(
    shared: &Shared,
    writes: &WriteSet,
    reads: &[Read],
    mode: Mode<'_>,
    stop: &Stop<'_>,
    publish: impl FnOnce(u64) -> Result<(), Error>,
) -> Result<Option<Done>, Error> {
    if mode.is_live() {
        shared.check_takes(mode.read_ts())?;
    }
    let deletes = || writes.states.items().iter().filter(|w| w.state == 0).map(|w| w.vertex);
    let frees = mode.is_live() && deletes().next().is_some();
    if frees {
        shared.free_vertices.will_delete(deletes());
    }
    let request = Request { shared, writes, reads, mode, stop };
    let mut touched = Touched::default();
    let done = match apply_latched(&request, &mut touched) {
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
    if touched.is_empty() {
        settle_after(writes, shared);
    } else {
        touched.settle(shared);
    }
    shared.indexes.link_after_commit(shared, writes.len());
    if frees && shared.free_vertices.deleted(done.ts, deletes()) {
        shared.free_vertices.harvest(&shared.catalog, &shared.states, shared.horizon());
    }
    relief::hold_back(shared);
    Ok(Some(done))
}

/// Whether a commit takes whole segments at once.
fn is_large(writes: &WriteSet, reads: &[Read], shared: &Shared) -> bool {
    let deletes = writes.states.items().iter().filter(|w| w.state == 0).count();
    let lists = deletes.saturating_mul(2 * shared.catalog.type_count() as usize);
    writes.len() + reads.len() + lists > STRIPES_MAX
}

/// Everything up to and including the unlatching.
fn apply_latched(request: &Request<'_>, touched: &mut Touched) -> Result<Option<Done>, Error> {
    let Request { shared, writes, reads, mode, stop } = *request;
    let edges = writes.edges.items().iter().map(|w| (w.ty, w.src, w.dst));
    shared.catalog.use_segments(edges, stop)?;
    // An edge type that appears now could hold edges of a vertex that is being deleted.
    let deletes = writes.states.items().iter().any(|w| w.state == 0);
    let _fixed = deletes.then(|| shared.catalog.fix_lists(stop)).transpose()?;
    let unmade = reads.iter().any(|read| matches!(read, Read::Unmade(..)));
    let _unmade = unmade.then(|| shared.catalog.hold_unmade(stop)).transpose()?;
    let mut payload = match mode {
        Mode::Live { .. } => shared.records().then(|| encode(writes, shared)),
        Mode::Replay { .. } => None,
        Mode::Follow { payload, .. } => Some(payload.to_vec()),
    };
    if let (Some(durable), Some(payload)) = (&shared.durable, &payload) {
        durable.wal.check_length(payload)?;
    }
    // The list of indexes stays as it is.
    let held = hold(&shared.indexes, writes, reads);
    let held = held.as_ref();
    if mode.has_readers() {
        let guard = &epoch::pin();
        Maintenance::new(held, request, guard).load()?;
    }
    let attempts = if is_large(writes, reads, shared) { 0 } else { ATTEMPTS };
    for _ in 0..attempts {
        stop.check()?;
        let guard = &epoch::pin();
        let mut indexes = Maintenance::new(held, request, guard);
        match attempt(request, &mut indexes, &mut payload, guard)? {
            Attempt::Done(done) => return Ok(done),
            Attempt::Again => {}
        }
    }
    let guard = &epoch::pin();
    let mut indexes = Maintenance::new(held, request, guard);
    whole::commit(request, &mut indexes, &mut payload, touched, guard)
}

/// What planning and validation look at.
pub(super) fn input<'a>(request: &Request<'a>) -> PlanInput<'a> {
    let Request { shared, writes, reads, stop, .. } = *request;
    let (catalog, states, growth) = (&shared.catalog, &shared.states, &shared.growth);
    PlanInput { shared, catalog, states, growth, writes, reads, stop }
}

/// One attempt, stripe by stripe.
fn attempt<'a>(
    request: &Request<'a>,
    indexes: &mut Maintenance<'a>,
    payload: &mut Option<Vec<u8>>,
    guard: &'a Guard,
) -> Result<Attempt, Error> {
    let Request { shared, mode, stop, .. } = *request;
    let input = input(request);
    let mut plan = Plan::default();
    indexes.look(stop, guard)?;
    plan.make(&input, guard)?;
    indexes.plan(&mut plan.latches);
    step(Step::Planned);
    plan.latches.acquire(stop)?;
    failpoint!("commit::latched");
    if shared.gate.is_shut() && mode.is_live() {
        return Err(Error::Conflict { object: Object::BulkLoad });
    }
    if !plan.is_valid(guard) || !indexes.is_valid(stop, guard)? {
        return Ok(Attempt::Again);
    }
    if !validate(&mut plan, &input, mode.read_ts(), guard)? {
        return Ok(Attempt::Done(None));
    }
    indexes.validate(mode, guard)?;
    claim::validate(&request.writes.claims, shared, mode.read_ts(), guard)?;
    // What could not be read came out empty: nothing may be decided by it.
    shared.check_stored()?;
    if !reserve(&plan, shared, guard)? {
        return Ok(Attempt::Again);
    }
    let commit_ts = match stamp(request, payload) {
        Ok(ts) => ts,
        Err(e) => {
            unreserve(&plan.targets, guard);
            return Err(e);
        }
    };
    apply(&plan, &input, commit_ts, guard);
    indexes.apply(commit_ts, guard);
    failpoint!("commit::applied");
    plan.latches.release();
    shared.clock.mark_applied(commit_ts);
    let appended = |delete| {
        // Two targets, one for each end, per edge.
        plan.targets.iter().filter(|t| t.append.is_some_and(|(_, d)| d == delete)).count() as u64
            / 2
    };
    let (edges_added, edges_removed) = (appended(false), appended(true));
    Ok(Attempt::Done(Some(Done { ts: commit_ts, edges_added, edges_removed })))
}

/// Takes the commit timestamp, or that of the record that is replayed. Every latch is held and room
/// is reserved: from here on nothing fails.
pub(super) fn stamp(request: &Request<'_>, payload: &mut Option<Vec<u8>>) -> Result<u64, Error> {
    let Request { shared, mode, stop, .. } = *request;
    stop.check_last()?;
    let commit_ts = match mode {
        Mode::Replay { commit_ts } => commit_ts,
        Mode::Follow { commit_ts, payload: bytes } => {
            let payload = payload.take().map_or(Cow::Borrowed(bytes), Cow::Owned);
            shared.follow_timestamp(commit_ts, payload)?;
            commit_ts
        }
        Mode::Live { .. } => {
            let ts = shared.take_timestamp(payload.take().map(Cow::Owned))?;
            if let Some(id) = &request.writes.once {
                shared.once.note(id, ts);
            }
            ts
        }
    };
    failpoint!("commit::stamped");
    Ok(commit_ts)
}

/// Whether a tail counts from so long ago that the timestamps of new entries may not fit.
pub(super) fn is_aged(base_ts: u64, shared: &Shared) -> bool {
    base_ts + u64::from(DELTA_MAX) < shared.last_ts() + DELTA_SLACK
}

/// Places in a commit where tests do what others may do there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// A plan was made; no latch is held.
    Planned,
    /// A commit that takes whole segments knows which; no latch is held.
    Collected,
    /// It has one more of them.
    Latched,
}

/// What a test does at a step.
#[cfg(test)]
pub(crate) type AtStep = Box<dyn FnMut(Step)>;

#[cfg(test)]
thread_local! {
    /// What a test does at the steps of the commits of its thread.
    pub(crate) static AT_STEP: std::cell::RefCell<Option<AtStep>> =
        const { std::cell::RefCell::new(None) };
}

/// Marks a step: nothing outside of tests.
#[inline(always)]
pub(super) fn step(_step: Step) {
    #[cfg(test)]
    {
        // Taken out meanwhile: what it does may commit, too.
        let act = AT_STEP.with(|act| act.borrow_mut().take());
        if let Some(mut act) = act {
            act(_step);
            AT_STEP.with(|place| *place.borrow_mut() = Some(act));
        }
    }
}

/// Reserves room for every append, or for none: whether there is.
fn reserve(plan: &Plan<'_>, shared: &Shared, guard: &Guard) -> Result<bool, Error> {
    for (i, t) in plan.targets.iter().enumerate() {
        let Some((entry, _)) = &t.append else { continue };
        let (base_ts, reserved) = t.reserve(entry, guard);
        let aged = is_aged(base_ts, shared);
        if reserved && !aged {
            continue;
        }
        unreserve(&plan.targets[..=i], guard);
        if aged && shared.watermark() <= base_ts {
            return Err(Error::SnapshotTooOld);
        }
        return Ok(false);
    }
    Ok(true)
}

fn unreserve(targets: &[Target<'_>], guard: &Guard) {
    targets.iter().filter(|t| t.append.is_some()).for_each(|t| t.unreserve(guard));
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
        if let Some((entry, delete)) = t.append {
            t.push(&entry, delete, ts, guard);
        }
    }
    apply_columns(input, ts, guard);
}

/// Writes states and properties.
fn apply_columns(input: &PlanInput<'_>, ts: u64, guard: &Guard) {
    let writes = input.writes;
    writes.states.items().iter().for_each(|w| apply_state(input, w, ts, guard));
    let properties = writes.vertex_properties.items().iter();
    properties.for_each(|w| apply_vertex_property(input, w, ts, guard));
    let properties = writes.edge_properties.items().iter();
    properties.for_each(|w| apply_edge_property(input, w, ts, guard));
    note_places(input, ts);
}

/// Says which places a commit wrote to, for the next checkpoint.
pub(super) fn note_places(input: &PlanInput<'_>, ts: u64) {
    for w in input.writes.edge_properties.items().iter().filter(|w| !w.numbered) {
        let ty = input.catalog.edge_type(w.ty).expect("INVARIANT: looked up while planning");
        ty.places.written(w.src, ts);
        ty.places.logged(w.src, w.dst);
    }
}

pub(super) fn apply_state(input: &PlanInput<'_>, w: &StateWrite, ts: u64, guard: &Guard) {
    let segment = input.states.segment_for_write(w.vertex);
    segment.write(local_of(w.vertex), ts, w.state, guard);
}

pub(super) fn apply_vertex_property(
    input: &PlanInput<'_>,
    w: &VertexPropertyWrite,
    ts: u64,
    guard: &Guard,
) {
    let segment = input.catalog.vertex_column_for_write(w.key).segment_for_write(w.vertex);
    segment.write(local_of(w.vertex), ts, w.value.clone(), guard);
}

pub(super) fn apply_edge_property(
    input: &PlanInput<'_>,
    w: &EdgePropertyWrite,
    ts: u64,
    guard: &Guard,
) {
    let ty = input.catalog.edge_type(w.ty).expect("INVARIANT: looked up while planning");
    let segment = ty.column_for_write(w.key, input.catalog).segment_for_write(w.place);
    segment.write(local_of(w.place), ts, w.value.clone(), guard);
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
            column.settle_if_full(w.place, horizon, guard);
        }
    }
    // What a large commit replaced must not wait for the next commit of this thread.
    if writes.len() > STRIPES_MAX {
        guard.flush();
    }
}

pub(super) fn settle_list_of(table: &AdjTable, v: u32, nbr: u32, shared: &Shared, guard: &Guard) {
    let version = table.head_of(v, guard).written();
    let Some(tail) = version.and_then(|v| v.tail.as_ref()) else { return };
    if tail.fill() > FILL_MAX {
        let number = segment_of(v);
        let segment = table.segment_for_write(number);
        let after = After::Busy { appends: 0, columns: 0 };
        settle_segment(table, segment, number, shared.horizon(), after, guard);
    } else if let Some(hub) = tail.hub_of(local_of(v))
        && hub.chunk(nbr, guard).is_oversized(guard)
    {
        let place = HubPlace { undo: &table.undo, segment: segment_of(v), local: local_of(v) };
        hub.split(nbr, place, shared.horizon(), guard);
    }
}

/// Encodes a write set as a log record.
fn encode(writes: &WriteSet, shared: &Shared) -> Vec<u8> {
    let (sets, now) = (&shared.catalog.label_sets, crate::clock::wall::now_ms());
    // A large one that grew as it was written would be there twice for a moment.
    let is_small = writes.len() <= STRIPES_MAX;
    let room = if is_small { 64 } else { record::size_of_timed_commit(writes, sets, now) };
    let mut out = Vec::with_capacity(room + RECORD_ROOM);
    record::encode_timed_commit(writes, sets, now, &mut out);
    out
}
