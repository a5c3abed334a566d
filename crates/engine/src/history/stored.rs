//! History as stored.
//!
//! ```text
//!  key: kind, a u16, b u16, segment u32 (format/mod.rs)
//!   6, 0, 0, 0          about         floor · commits and milliseconds that are retained
//!   6, type, 1 or 2     lists out, in
//!   6, 0, 3             vertex states
//!   6, property, 4      a vertex property
//!   7, type, property   an edge property
//!
//!  value = crc u32 · newest ts · rest; integers are varints, runs as in packed.rs
//!   lists     blocks as in adjacency/undo_block.rs, to the end
//!   columns   count n · run n: places, each less the one before · run n: timestamps
//!             · states: run n of label-set numbers before; properties: n values before (codec)
//! ```
//!
//! When it is written and read: `checkpoint/history.rs`.

use std::collections::HashSet;

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::Value;
use telar_graph::codec::{self, get_varint, put_varint};

use crate::adjacency::list::Visible;
use crate::adjacency::segment::Slot;
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::undo::{Undo, collect};
use crate::adjacency::undo_block::UndoBlock;
use crate::adjacency::{AdjTable, SEGMENT_VERTICES, SegVersion};
use crate::column::undo::OldValue;
use crate::packed::{get_run, put_run};

/// Most entries of a column's segment: a bound for what is read back.
const ENTRIES_MAX: u64 = 1 << 28;

// ---- writing ----

/// What stands in a segment's tails after `floor` and up to `until`, by list.
fn unsettled(
    table: &AdjTable,
    version: &SegVersion,
    floor: u64,
    until: u64,
    guard: &Guard,
) -> Vec<Undo> {
    let mut found = Vec::new();
    for local in 0..SEGMENT_VERTICES as u32 {
        match version.decode(version.slot_word(local)) {
            Slot::Clean => {}
            Slot::Block(block) => {
                let seen = Visible::at(block, version.delta(until)).len;
                let base_ts = version.tail.as_ref().map_or(0, |tail| tail.base_ts);
                if let Some(list) = version.list(local, DELTA_MAX, table.kind) {
                    collect(&list, local, seen, base_ts, floor, &mut found);
                }
            }
            Slot::Hub(hub) => {
                for chunk in hub.chunks(guard) {
                    let chunk = chunk.version(guard);
                    let seen = Visible::at(chunk.block(), chunk.delta(until)).len;
                    let list = chunk.list(DELTA_MAX, table.kind);
                    collect(&list, local, seen, chunk.base_ts, floor, &mut found);
                }
            }
        }
    }
    found
}

/// Encodes the history of a segment's lists; nothing but the room for the checksum if there is
/// none.
pub(crate) fn put_lists(table: &AdjTable, number: u32, floor: u64, at: u64, out: &mut Vec<u8>) {
    out.clear();
    out.extend_from_slice(&[0; 4]);
    let guard = &epoch::pin();
    let columns = table.kind.columns();
    let version = table.segment(number).and_then(|s| s.version(guard));
    let mut fresh = version.map_or_else(Vec::new, |v| unsettled(table, v, floor, at, guard));
    let blocks = table.undo.blocks_after(number, floor);
    if let Some(first) = fresh.iter().map(|e| e.ts).min() {
        // What was settled between the two looks is in both.
        let newer = blocks.iter().filter(|b| b.last_ts >= first);
        let identity = |e: &Undo| (e.local, e.ts, e.delete, e.entry.nbr, e.entry.columns);
        let settled: HashSet<_> =
            newer.flat_map(|b| b.entries(columns)).map(|e| identity(&e)).collect();
        fresh.retain(|e| !settled.contains(&identity(e)));
    }
    let fresh = UndoBlock::pack_all(fresh, columns);
    let all = || blocks.iter().map(|b| &**b).chain(&fresh);
    if let Some(newest) = all().map(|b| b.last_ts).max() {
        put_varint(newest, out);
        all().for_each(|b| out.extend_from_slice(b.bytes()));
    }
}

/// Puts places and times of superseded values.
pub(crate) fn put_places<V>(entries: &[OldValue<V>], out: &mut Vec<u8>) {
    put_varint(entries.len() as u64, out);
    let mut before = 0;
    let steps =
        entries.iter().map(|e| i64::from(e.local - std::mem::replace(&mut before, e.local)));
    put_run(&steps.collect::<Vec<_>>(), out);
    let times: Vec<i64> = entries.iter().map(|e| e.ts.cast_signed()).collect();
    put_run(&times, out);
}

/// Puts superseded states.
pub(crate) fn put_states(entries: &[OldValue<u32>], out: &mut Vec<u8>) {
    let states: Vec<i64> = entries.iter().map(|e| i64::from(e.value)).collect();
    put_run(&states, out);
}

/// Puts superseded values of a property.
pub(crate) fn put_values(entries: &[OldValue<Value>], out: &mut Vec<u8>) {
    for e in entries {
        codec::encode(&e.value, out)
            .expect("INVARIANT: nesting was checked when the value was set");
    }
}

// ---- reading ----

/// What a database says about its history.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) floor: u64,
    pub(crate) commits: u64,
    pub(crate) ms: u64,
}

impl About {
    pub(crate) fn decode(mut body: &[u8]) -> Result<Self, &'static str> {
        let mut next = || get_varint(&mut body).map_err(|_| "a varint is malformed");
        let about = Self { floor: next()?, commits: next()?, ms: next()? };
        if body.is_empty() { Ok(about) } else { Err("bytes after the end") }
    }
}

/// Reads the history of a segment's lists.
pub(crate) fn decode_lists(
    mut body: &[u8],
    columns: usize,
) -> Result<Vec<UndoBlock>, &'static str> {
    let newest = get_varint(&mut body).map_err(|_| "a varint is malformed")?;
    let mut blocks = Vec::new();
    while !body.is_empty() {
        blocks.extend(UndoBlock::take(&mut body, columns)?);
    }
    let found = blocks.iter().map(|b| b.last_ts).max();
    if found == Some(newest) { Ok(blocks) } else { Err("the newest undo entry is missing") }
}

fn decode_column<V: Clone + Default>(
    body: &mut &[u8],
    get_values: impl FnOnce(&mut &[u8], &mut [OldValue<V>]) -> Result<(), &'static str>,
) -> Result<Vec<OldValue<V>>, &'static str> {
    let mut varint = || get_varint(body).map_err(|_| "a varint is malformed");
    let (newest, n) = (varint()?, varint()?);
    let n = usize::try_from(n.min(ENTRIES_MAX)).unwrap_or(0);
    let mut entries: Vec<OldValue<V>> = Vec::new();
    let (mut local, mut outside) = (0u64, false);
    get_run(body, n, |step| {
        local = local.saturating_add(step.cast_unsigned());
        outside |= local >= SEGMENT_VERTICES as u64;
        if !outside {
            entries.push(OldValue { local: local as u32, ts: 0, value: V::default() });
        }
    })?;
    if outside {
        return Err("a superseded value lies outside its segment");
    }
    let mut at = entries.iter_mut();
    get_run(body, n, |ts| {
        if let Some(e) = at.next() {
            e.ts = ts.cast_unsigned();
        }
    })?;
    if entries.windows(2).any(|w| (w[0].local, w[0].ts) >= (w[1].local, w[1].ts)) {
        return Err("superseded values are not in order");
    }
    if entries.iter().map(|e| e.ts).max() != Some(newest) {
        return Err("the newest superseded value is missing");
    }
    get_values(body, &mut entries)?;
    if body.is_empty() { Ok(entries) } else { Err("bytes after the end") }
}

/// Reads the history of a segment of vertex states; every one is below `sets`.
pub(crate) fn decode_states(
    mut body: &[u8],
    sets: usize,
) -> Result<Vec<OldValue<u32>>, &'static str> {
    decode_column(&mut body, |body, entries| {
        let mut known = true;
        let n = entries.len();
        let mut at = entries.iter_mut();
        get_run(body, n, |state| {
            known &= usize::try_from(state).is_ok_and(|s| s < sets);
            if let Some(e) = at.next() {
                e.value = state as u32;
            }
        })?;
        if known { Ok(()) } else { Err("a vertex had a label set that does not exist") }
    })
}

/// Reads the history of a segment of property values.
pub(crate) fn decode_values(mut body: &[u8]) -> Result<Vec<OldValue<Value>>, &'static str> {
    decode_column(&mut body, |body, entries| {
        for e in entries {
            e.value = codec::decode(body).map_err(|_| "a superseded value is malformed")?;
        }
        Ok(())
    })
}
