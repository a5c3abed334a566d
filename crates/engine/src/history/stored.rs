//! History in checkpoints.
//!
//! ```text
//!  key: kind, a u16, b u16, segment u32 (checkpoint/mod.rs)
//!   6, 0, 0, 0          about         floor · commits and milliseconds that are retained
//!   6, type, 1 or 2     lists out, in
//!   6, 0, 3             vertex states
//!   6, property, 4      a vertex property
//!   7, type, property   an edge property
//!
//!  value = crc u32 · newest ts · rest; integers are varints, runs as in packed.rs
//!   lists     blocks as in block.rs, to the end
//!   columns   count n · run n: places, each less the one before · run n: timestamps
//!             · states: run n of label-set numbers before; properties: n values before (codec)
//! ```
//!
//! A checkpoint at C writes the history of every segment it writes: all undo entries above the
//! floor and up to C, those included whose entries are not settled yet, since the stored base is
//! the one at C. So base and history in the store always fit each other. History at or below the
//! floor is removed from time to time; what is there in excess does no harm.
//!
//! Opening a database reads what is retained and nothing else. The history of a segment is read,
//! and stays packed as it is, when it is first needed (lazy.rs); what the log's replay and settling
//! add is newer.
//!
//! Crash cases: as for the rest of a checkpoint, whose LMDB transaction this is part of.

use std::collections::HashSet;
use std::sync::Arc;

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::codec::{self, get_varint, put_varint};
use telar_graph::{Direction, Value};

use super::History;
use crate::adjacency::list::Visible;
use crate::adjacency::segment::Slot;
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::undo::{Undo, collect};
use crate::adjacency::undo_block::UndoBlock;
use crate::adjacency::{AdjTable, SEGMENT_VERTICES, SegVersion};
use crate::checkpoint::Changes;
use crate::column::undo::OldValue;
use crate::column::{Chunk, ColTable};
use crate::error::Error;
use crate::format::subject::{Subject, is_history};
use crate::mapped::map::Scratch;
use crate::mapped::ranges::{Inventory, Table};
use crate::mapped::{Found, Stored, Value as StoredValue};
use crate::packed::{get_run, put_run};
use crate::settings::Retention;
use crate::shared::Shared;
use crate::store::Store;
use crate::store::damaged;

/// Most entries of a column's segment: a bound for what is read back.
const ENTRIES_MAX: u64 = 1 << 28;

/// The newest timestamp that a value's head names.
fn newest_of(value: &[u8]) -> u64 {
    let mut rest = value.get(4..).unwrap_or_default();
    get_varint(&mut rest).unwrap_or(u64::MAX)
}

// ---- writing ----

/// Puts the history of what a checkpoint at `at` writes, and removes what is not retained.
pub(crate) fn put(changes: &mut Changes<'_>, shared: &Shared, at: u64) -> Result<(), Error> {
    let history = &shared.history;
    if !history.is_kept() {
        return changes.remove_history(|_, _| true);
    }
    let floor = history.advance(shared.clock.published());
    let mut value = Vec::new();
    for (id, ty) in shared.catalog.edge_types() {
        for direction in Direction::ALL {
            let table = ty.table(direction);
            for number in 0..table.segment_bound() {
                let Some(segment) = table.segment(number) else { continue };
                let key = Subject::Lists(id, direction).key(number);
                if changes.is_new(Some(&segment.last_write), &key) {
                    put_lists(table, number, floor, at, &mut value);
                    changes.put_or_remove(key, &mut value)?;
                }
            }
        }
        for (property, column) in ty.columns() {
            let subject = Subject::EdgeProperty(id, property);
            put_column(changes, column, subject, (floor, at), &mut value, put_values)?;
        }
    }
    put_column(changes, &shared.states, Subject::States, (floor, at), &mut value, put_states)?;
    for (property, column) in shared.catalog.vertex_columns() {
        let subject = Subject::VertexProperty(property);
        put_column(changes, column, subject, (floor, at), &mut value, put_values)?;
    }
    crate::failpoint!("history::put");
    // Last: nothing above this floor can have been dropped before it was put.
    let floor = history.floor();
    let about = Subject::About.key(0);
    changes.remove_history(|key, value| key != about && newest_of(value) <= floor)?;
    put_about(changes, history, floor)
}

/// Says that there is no history before `ts`, for a bulk load.
pub(crate) fn put_nothing(
    changes: &mut Changes<'_>,
    shared: &Shared,
    ts: u64,
) -> Result<(), Error> {
    changes.remove_history(|_, _| true)?;
    if shared.history.is_kept() { put_about(changes, &shared.history, ts) } else { Ok(()) }
}

fn put_about(changes: &mut Changes<'_>, history: &History, floor: u64) -> Result<(), Error> {
    let mut value = vec![0; 4];
    let (commits, ms) = history.limits();
    [floor, commits, ms].into_iter().for_each(|n| put_varint(n, &mut value));
    changes.put(Subject::About.key(0), &mut value)
}

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
fn put_lists(table: &AdjTable, number: u32, floor: u64, at: u64, out: &mut Vec<u8>) {
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

fn put_column<C: Chunk + 'static>(
    changes: &mut Changes<'_>,
    column: &ColTable<C>,
    subject: Subject,
    (floor, at): (u64, u64),
    value: &mut Vec<u8>,
    put_values: fn(&[OldValue<C::Value>], &mut Vec<u8>),
) -> Result<(), Error> {
    for number in 0..column.segment_bound() {
        let Some(segment) = column.segment(number) else { continue };
        let key = subject.key(number);
        if !changes.is_new(Some(&segment.last_write), &key) {
            continue;
        }
        // What was settled between the two looks is in both.
        let mut entries = segment.unsettled_changes(floor, at, &epoch::pin());
        entries.extend(column.undo.after(number, floor));
        entries.sort_by_key(|e| (e.local, e.ts));
        entries.dedup_by_key(|e| (e.local, e.ts));
        value.clear();
        value.extend_from_slice(&[0; 4]);
        if let Some(newest) = entries.iter().map(|e| e.ts).max() {
            put_varint(newest, value);
            put_places(&entries, value);
            put_values(&entries, value);
        }
        changes.put_or_remove(key, value)?;
    }
    Ok(())
}

fn put_places<V>(entries: &[OldValue<V>], out: &mut Vec<u8>) {
    put_varint(entries.len() as u64, out);
    let mut before = 0;
    let steps =
        entries.iter().map(|e| i64::from(e.local - std::mem::replace(&mut before, e.local)));
    put_run(&steps.collect::<Vec<_>>(), out);
    let times: Vec<i64> = entries.iter().map(|e| e.ts.cast_signed()).collect();
    put_run(&times, out);
}

fn put_states(entries: &[OldValue<u32>], out: &mut Vec<u8>) {
    let states: Vec<i64> = entries.iter().map(|e| i64::from(e.value)).collect();
    put_run(&states, out);
}

fn put_values(entries: &[OldValue<Value>], out: &mut Vec<u8>) {
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

/// Finds out what history is to be kept, and where it is to be read from when it is needed. The
/// checkpoint at `checkpoint` has been loaded; nothing has been replayed.
pub(crate) fn attach(
    shared: &mut Shared,
    store: &Store,
    wanted: Retention,
    checkpoint: u64,
    inventory: &Inventory,
) -> Result<(), Error> {
    let stored = store.stored();
    let key = Subject::About.key(0);
    let about = if wanted == Retention::Off {
        // What is given up need not be read.
        inventory.contains(&key).then_some(About::default())
    } else {
        let decode = |value: &StoredValue<'_>| About::decode(value.body).map_err(str::to_owned);
        match stored.load(&key, &mut Scratch::default(), decode) {
            Found::There(about) => Some(about),
            Found::Absent => None,
            Found::Damaged => return stored.check(),
        }
    };
    shared.history = History::opened(wanted, about, checkpoint);
    if !shared.history.is_kept() || about.is_none() {
        return Ok(());
    }
    for ((kind, a, b), _) in inventory.tables().filter(|((kind, ..), _)| is_history(&[*kind])) {
        attach_table(shared, stored, (kind, a, b), checkpoint)
            .map_err(|reason| damaged(store, &[kind], reason))?;
    }
    Ok(())
}

fn attach_table(
    shared: &Shared,
    stored: &Arc<Stored>,
    (kind, a, b): Table,
    checkpoint: u64,
) -> Result<(), String> {
    let subject = Subject::of(kind, a, b).ok_or("history of nothing that is known")?;
    let catalog = &shared.catalog;
    let edge_type = |id| catalog.edge_type(id).map_err(|e| e.to_string());
    let property = |key| catalog.check_property_key(key).map_err(|e| e.to_string());
    let values = |value: &StoredValue<'_>| decode_values(value.body);
    match subject {
        Subject::About => {}
        Subject::Lists(id, direction) => {
            let table = edge_type(id)?.table(direction);
            let columns = table.kind.columns();
            table.undo.stored.attach(stored, subject, move |v| decode_lists(v.body, columns));
        }
        Subject::States => {
            let states = |value: &StoredValue<'_>| decode_states(value.body, value.label_sets);
            shared.states.undo.attach(stored, subject, checkpoint, states);
        }
        Subject::VertexProperty(p) => {
            property(p)?;
            let column = catalog.vertex_column_for_write(p);
            column.undo.attach(stored, subject, checkpoint, values);
        }
        Subject::EdgeProperty(id, p) => {
            property(p)?;
            let column = edge_type(id)?.column_for_write(p, catalog);
            column.undo.attach(stored, subject, checkpoint, values);
        }
    }
    Ok(())
}
