//! Settling: moving what every live snapshot sees from tails into a new base.
//!
//! A segment settles when its arena is nearly full (by the writer that notices, after its commit)
//! or when it has been idle (by the background pass). Entries newer than the watermark are carried
//! into the new tail, deletes among them renumbered to the new positions.
//!
//! Cost: one sequential pass over base and tail. A tail is a fixed share of its base, so an entry
//! is rewritten a bounded number of times on average (decisions/0003).
//! Concurrency: runs under every stripe of the segment (or the latch of a hub chunk); readers go on
//! with the version they hold.

use std::ops::Range;
use std::sync::Arc;

use crossbeam_epoch::Guard;

use super::base::Base;
use super::hub::Hub;
use super::list::{List, Visible, compare, merge_ids};
use super::mask::Mask;
use super::room::{arena_words, room_words};
use super::segment::{SegVersion, Slot};
use super::tail::{ARENA_WORDS_MAX, Block, DELTA_MAX, Tail, block_words};
use super::{AdjTable, Entry, ListKind, SEGMENT_VERTICES, SegmentRef};
use crate::adjacency::undo;
use crate::horizon::Horizon;

/// Spread of an edge type's entries over settled and unsettled memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SettleState {
    /// Entries in bases and hub chunks.
    pub settled: u64,
    /// Entries in tails, deletes included.
    pub unsettled: u64,
    /// Segments with a tail.
    pub written_segments: u64,
    /// Lists kept as hubs.
    pub hubs: u64,
}

/// An unsettled entry on its way into a new tail.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Carry {
    /// The entry, or for a delete the entry it deletes.
    pub(crate) entry: Entry,
    /// Timestamp relative to the old tail.
    pub(crate) delta: u32,
    /// What a delete deletes.
    pub(crate) deletes: Option<Target>,
}

/// What a carried delete points to, in the new numbering.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    /// A settled row.
    Row(u32),
    /// Another carried entry, by its place among them.
    Carried(u32),
}

/// One list, merged: rows to settle, in order, and entries to carry.
#[derive(Debug, Default)]
pub(crate) struct Merge {
    pub(crate) rows: Vec<(Entry, u32)>,
    pub(crate) carried: Vec<Carry>,
}

/// Splits `list` (with every entry visible) at `watermark`, relative to its tail's base timestamp.
pub(crate) fn settle_list(list: &List<'_>, watermark: u32, out: &mut Merge) {
    out.carried.clear();
    let Some(tail) = list.tail else {
        return list.sorted_entries(&mut out.rows);
    };
    let meta = tail.block.meta(tail.len);
    let seen = meta.partition_point(|m| m & DELTA_MAX <= watermark);
    let settled = List { tail: Some(Visible { len: seen, ..tail }), ..*list };
    settled.sorted_entries(&mut out.rows);
    let settled_len = list.base.nbrs.len() + seen;
    for (i, &meta) in meta.iter().enumerate().skip(seen) {
        let entry = tail.block.entry(i, list.kind.columns());
        let delta = meta & DELTA_MAX;
        if !Block::is_delete(meta) {
            out.carried.push(Carry { entry, delta, deletes: None });
            continue;
        }
        let position = entry.nbr as usize;
        let deleted = list.entry(position);
        let target = if position >= settled_len {
            Target::Carried((position - settled_len) as u32)
        } else {
            let row = out.rows.binary_search_by(|(e, _)| compare(list.kind, e, &deleted));
            Target::Row(row.expect("INVARIANT: a carried delete names a live entry") as u32)
        };
        out.carried.push(Carry { entry: deleted, delta, deletes: Some(target) });
    }
}

impl Merge {
    /// Gives the carried entries to `append`, as a block over these rows holds them: entry, `Δts`,
    /// whether it is a delete.
    pub(crate) fn replay(
        &self,
        old_ts: u64,
        new_ts: u64,
        mut append: impl FnMut(&Entry, u32, bool),
    ) {
        for c in &self.carried {
            let delta = (old_ts + u64::from(c.delta) - new_ts) as u32;
            match c.deletes {
                None => append(&c.entry, delta, false),
                Some(target) => {
                    let position = match target {
                        Target::Row(row) => row,
                        Target::Carried(i) => self.rows.len() as u32 + i,
                    };
                    append(&Entry::simple(position), delta, true);
                }
            }
        }
    }

    /// Columns that a block of the carried entries needs.
    pub(crate) fn carried_columns(&self, kind: ListKind) -> usize {
        let inserts = self.carried.iter().filter(|c| c.deletes.is_none());
        inserts.map(|c| kind.columns_for(&c.entry)).max().unwrap_or(kind.columns_if(false))
    }

    /// The part with rows `rows` and the carried entries whose neighbour `keep` accepts.
    pub(crate) fn part(&self, rows: Range<usize>, keep: impl Fn(u32) -> bool) -> Merge {
        let mut places = vec![0; self.carried.len()];
        let mut carried: Vec<Carry> = Vec::new();
        for (i, c) in self.carried.iter().enumerate().filter(|(_, c)| keep(c.entry.nbr)) {
            places[i] = carried.len() as u32;
            let deletes = c.deletes.map(|t| match t {
                Target::Row(r) => Target::Row(r - rows.start as u32),
                Target::Carried(j) => Target::Carried(places[j as usize]),
            });
            carried.push(Carry { deletes, ..*c });
        }
        Merge { rows: self.rows[rows].to_vec(), carried }
    }
}

/// What to leave behind after settling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// More writes are expected: keep an empty tail.
    Busy {
        /// Entries for which there must be room, wherever they come.
        appends: usize,
        /// Columns that their blocks need.
        columns: usize,
    },
    /// Drop the tail if nothing needs it.
    Idle,
}

/// What settling does with a vertex that has something in the tail.
#[derive(Debug, Clone, Copy)]
enum Plan {
    /// Its list in the new base has this length.
    Settle { len: usize },
    /// The list leaves the base and becomes a hub.
    MakeHub,
    /// It is a hub.
    KeepHub,
}

fn plan(table: &AdjTable, version: &SegVersion, local: u32, word: u32, watermark: u32) -> Plan {
    let kind = table.kind;
    let Slot::Block(block) = version.decode(word) else {
        return Plan::KeepHub;
    };
    let list = List {
        base: super::list::Rows::simple(version.settled(local)),
        tail: Some(Visible::at(block, watermark)),
        kind,
    };
    let len = list.degree();
    let all_settled = list.tail.is_some_and(|t| t.len == Block::len_of(block.len_word()));
    if len >= table.hub_entries_min && all_settled && kind != ListKind::Timed {
        Plan::MakeHub
    } else {
        Plan::Settle { len }
    }
}

/// Settles `segment` up to `watermark`. Takes the segment's latch; the caller holds none.
pub(crate) fn settle_segment(
    table: &AdjTable,
    segment: SegmentRef<'_>,
    number: u32,
    horizon: Horizon,
    after: After,
    guard: &Guard,
) {
    segment.exclusive(|| settle_latched(table, segment, number, horizon, after, guard));
}

/// The same, for a caller that holds every stripe of the segment.
pub(crate) fn settle_latched(
    table: &AdjTable,
    segment: SegmentRef<'_>,
    number: u32,
    horizon: Horizon,
    after: After,
    guard: &Guard,
) {
    let Some(old) = segment.version(guard) else { return };
    let Some(tail) = &old.tail else { return };
    // A tail's base timestamp was a watermark when it was made, which no reader is older than. One
    // computed now may be lower for a moment, while a reader that will start over is opening.
    let watermark = horizon.watermark.max(tail.base_ts);
    if tail.is_unused() && after == After::Idle {
        if tail.hubs.is_empty() {
            segment.install(SegVersion::new(Arc::clone(&old.base), None), guard);
        }
        return;
    }
    if horizon.floor < watermark {
        keep_undo(table, old, tail, number, watermark, horizon.floor);
    }
    let new = rebuild(table, old, tail, watermark, after);
    crate::failpoint!("settle::before_install");
    segment.install(new, guard);
}

/// Writes down what settling up to `watermark` makes indistinguishable to retained timestamps.
#[cold]
fn keep_undo(
    table: &AdjTable,
    old: &SegVersion,
    tail: &Tail,
    number: u32,
    watermark: u64,
    floor: u64,
) {
    let mut entries = Vec::new();
    for local in 0..SEGMENT_VERTICES as u32 {
        if old.slot_word(local) == 0 {
            continue;
        }
        let Some(list) = old.list(local, DELTA_MAX, table.kind) else { continue };
        let Some(visible) = list.tail else { continue };
        let seen = Visible::at(visible.block, tail.delta(watermark)).len;
        undo::collect(&list, local, seen, tail.base_ts, floor, &mut entries);
    }
    table.undo.push(number, entries, floor, table.kind.columns());
}

fn rebuild(
    table: &AdjTable,
    old: &SegVersion,
    tail: &Tail,
    watermark: u64,
    after: After,
) -> SegVersion {
    let kind = table.kind;
    let delta = tail.delta(watermark);
    let mut plans: Vec<(u32, Plan)> = Vec::new();
    let mut entries = old.base.entries();
    for local in 0..SEGMENT_VERTICES as u32 {
        let word = old.slot_word(local);
        if word != 0 {
            let plan = plan(table, old, local, word, delta);
            // A list that becomes a hub leaves the base; one that is a hub was never in it.
            entries -= old.settled(local).len();
            entries += if let Plan::Settle { len } = plan { len } else { 0 };
            plans.push((local, plan));
        }
    }
    let mut builder = Base::builder_like(&old.base, entries);
    let mut hubs = old.hubs();
    let mut carries: Vec<(u32, Merge)> = Vec::new();
    let mut scratch = Merge::default();
    let (mut live, mut fresh): (Vec<u32>, Vec<u32>) = (Vec::new(), Vec::new());
    let mut clean_from = 0;
    for (local, plan) in plans {
        // Lists without a tail are copied in one piece with their clean neighbours.
        if clean_from < local as usize {
            builder.copy_lists(&old.base, clean_from, local as usize - clean_from);
        }
        clean_from = local as usize + 1;
        match plan {
            Plan::KeepHub => {}
            Plan::MakeHub => {
                let list = old.list(local, DELTA_MAX, kind).expect("INVARIANT: not a hub yet");
                settle_list(&list, delta, &mut scratch);
                hubs.push((local, Hub::new(&scratch.rows, kind, watermark)));
            }
            Plan::Settle { .. } => {
                let list = old.list(local, DELTA_MAX, kind).expect("INVARIANT: not a hub");
                if !merge_simple(&list, delta, &mut live, &mut fresh, &mut builder) {
                    settle_list(&list, delta, &mut scratch);
                    for (entry, _) in &scratch.rows {
                        builder.push(entry);
                    }
                    if !scratch.carried.is_empty() {
                        carries.push((local, std::mem::take(&mut scratch)));
                    }
                }
            }
        }
        builder.end_list();
    }
    if clean_from < SEGMENT_VERTICES {
        builder.copy_lists(&old.base, clean_from, SEGMENT_VERTICES - clean_from);
    }
    let base = if entries == 0 { Arc::clone(&table.empty) } else { Arc::new(builder.finish()) };
    if carries.is_empty() && hubs.is_empty() && after == After::Idle {
        return SegVersion::new(base, None);
    }
    let tail = new_tail(&base, kind, &carries, hubs, tail.base_ts, watermark, after);
    SegVersion::new(base, Some(Box::new(tail)))
}

/// The common case: neighbour ids only, everything settles. Copies the base in pieces
/// around the new ids. Returns false, having written nothing, if the list is not that simple.
fn merge_simple(
    list: &List<'_>,
    watermark: u32,
    settled: &mut Vec<u32>,
    fresh: &mut Vec<u32>,
    builder: &mut super::base::BaseBuilder,
) -> bool {
    let Some(tail) = list.tail else { return false };
    let seen = Visible::at(tail.block, watermark);
    if list.kind == ListKind::Timed || !list.is_unnumbered() || seen.len != tail.len {
        return false;
    }
    if tail.has_deletes {
        let mask = Mask::of(list.base.nbrs.len(), tail);
        settled.clear();
        fresh.clear();
        mask.live_base(list.base.nbrs, settled);
        mask.live_block(tail, fresh);
        merge_ids(settled, fresh, |ids| builder.extend(ids));
        return true;
    }
    fresh.clear();
    fresh.extend_from_slice(tail.block.dst(tail.len));
    merge_ids(list.base.nbrs, fresh, |ids| builder.extend(ids));
    true
}

fn new_tail(
    base: &Base,
    kind: ListKind,
    carries: &[(u32, Merge)],
    hubs: Vec<(u32, Arc<Hub>)>,
    old_ts: u64,
    new_ts: u64,
    after: After,
) -> Tail {
    let class_for = |n: usize| n.next_power_of_two().max(2).trailing_zeros();
    let columns_of = |merge: &Merge| merge.carried_columns(kind);
    let needed: usize =
        carries.iter().map(|(_, m)| block_words(class_for(m.carried.len()), columns_of(m))).sum();
    let carried: usize = carries.iter().map(|(_, m)| m.carried.len()).sum();
    let widest = carries.iter().map(|(_, m)| columns_of(m)).max().unwrap_or(0);
    // Room for as much again, so that a held-back watermark does not make every write settle.
    let words = match after {
        After::Busy { appends, columns } => arena_words(base, kind.columns_if(false))
            .max(4 * needed)
            .max(1 + needed + room_words(appends + carried, columns.max(widest))),
        After::Idle if carries.is_empty() => 1,
        After::Idle => 2 * needed + 1,
    };
    let tail = Tail::new(words.min(ARENA_WORDS_MAX), new_ts, hubs);
    for (local, merge) in carries {
        tail.first_block(*local, class_for(merge.carried.len()), columns_of(merge))
            .expect("INVARIANT: the arena was sized for what is carried");
        let first = base.range(*local as usize).start as u32;
        merge.replay(old_ts, new_ts, |entry, delta, delete| {
            if delete {
                tail.mark_deleted(*local, first + entry.nbr, base.entries(), delta);
            }
            tail.append(*local, entry, delta, delete, kind.columns());
        });
    }
    tail
}

/// Takes the longest lists out of a base, as hubs with their places. No reader is older than
/// `base_ts`.
pub(crate) fn with_hubs(
    table: &AdjTable,
    base: Base,
    base_ts: u64,
) -> (Arc<Base>, Vec<(u32, Arc<Hub>)>) {
    let is_hub = |local: usize| {
        base.range(local).len() >= table.hub_entries_min && table.kind != ListKind::Timed
    };
    if !(0..SEGMENT_VERTICES).any(is_hub) {
        return (Arc::new(base), Vec::new());
    }
    let kept = (0..SEGMENT_VERTICES).filter(|l| !is_hub(*l)).map(|l| base.range(l).len()).sum();
    let mut builder = Base::builder(kept, table.kind.columns());
    let mut hubs = Vec::new();
    for local in 0..SEGMENT_VERTICES {
        if is_hub(local) {
            let rows: Vec<(Entry, u32)> = base.range(local).map(|i| (base.entry(i), 0)).collect();
            hubs.push((local as u32, Hub::new(&rows, table.kind, base_ts)));
            builder.end_list();
        } else {
            builder.copy_lists(&base, local, 1);
        }
    }
    (Arc::new(builder.finish()), hubs)
}
