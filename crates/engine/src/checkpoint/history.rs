//! History in checkpoints; its format: `history/stored.rs`.
//!
//! A checkpoint at C writes the history of every segment it writes: all undo entries above the
//! floor and up to C, those included whose entries are not settled yet, since the stored base is
//! the one at C. So base and history in the store always fit each other. History at or below the
//! floor is removed from time to time; what is there in excess does no harm.
//!
//! Opening a database reads what is retained and nothing else. The history of a segment is read,
//! and stays packed as it is, when it is first needed (`mapped/lazy.rs`); what the log's replay and
//! settling add is newer.
//!
//! Crash cases: as for the rest of a checkpoint, whose LMDB transaction this is part of.

use std::sync::Arc;

use crossbeam_epoch as epoch;
use telar_graph::Direction;
use telar_graph::codec::{get_varint, put_varint};

use super::Changes;
use crate::column::undo::OldValue;
use crate::column::{Chunk, ColTable};
use crate::error::Error;
use crate::format::subject::{Subject, is_history};
use crate::history::History;
use crate::history::stored::{
    About, decode_lists, decode_states, decode_values, put_lists, put_places, put_states,
    put_values,
};
use crate::mapped::map::Scratch;
use crate::mapped::ranges::{Inventory, Table};
use crate::mapped::{Found, Stored, Value as StoredValue};
use crate::settings::Retention;
use crate::shared::Shared;
use crate::store::{Store, damaged};

/// The newest timestamp that a value's head names.
fn newest_of(value: &[u8]) -> u64 {
    let mut rest = value.get(4..).unwrap_or_default();
    get_varint(&mut rest).unwrap_or(u64::MAX)
}

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
    shared.graph.history = History::opened(wanted, about, checkpoint);
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
