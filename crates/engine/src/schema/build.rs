//! Making and dropping indexes and constraints beside writers.
//!
//! ```text
//!  register   from here on every commit keeps to it
//!  wait       until the commits that did not are visible; open a snapshot
//!  scan       the snapshot: add entries, or check values
//!  unique     wait again, open a second snapshot, look for keys that two objects have
//!  log        one record; then it is online
//! ```
//!
//! What a transaction makes goes through each step but the last by itself; the record has all of
//! it, and what the transaction drops. Nothing is durable before: a crash, an error or a violation
//! leaves nothing behind.
//! An index that is only in the log is built anew when the database is opened.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use telar_graph::{ConstraintKind, IndexId, PropertyKeyId};

use super::PendingRules;
use super::sorter::Sorter;
use crate::adjacency::{SEGMENT_VERTICES, vertex_id};
use crate::commit::record::{self, IndexChange};
use crate::error::{Error, Object, Violation};
use crate::failpoint;
use crate::index::key::Entry;
use crate::index::source::{Objects, Source};
use crate::index::{
    Definition, Entries, Index, IndexTarget, List, Tree, check_definition, violation,
};
use crate::shared::Shared;
use crate::snapshot::{Handle, Registration};
use crate::stop::Stop;

/// Most indexes and constraints ever made: numbers are 16 bits.
const INDEXES_MAX: u64 = u16::MAX as u64;

/// Makes an index or constraint; returns when it is online.
pub(crate) fn create(shared: &Shared, definition: Definition) -> Result<IndexId, Error> {
    let indexes = &shared.indexes;
    check_definition(&shared.catalog, &definition)?;
    let _one_at_a_time = indexes.making.lock();
    if let Some(there) = indexes.find_named(&definition.name) {
        return if there.definition == definition {
            Ok(there.id)
        } else {
            Err(Error::IndexExists { name: definition.name })
        };
    }
    let made = new_indexes(shared, vec![definition])?;
    make_and_drop(shared, &made, &[], &Stop::never())?;
    Ok(made[0].id)
}

/// Drops an index or constraint.
pub(crate) fn drop_index(shared: &Shared, id: IndexId) -> Result<(), Error> {
    let _one_at_a_time = shared.indexes.making.lock();
    match shared.indexes.find(id) {
        Some(_) => make_and_drop(shared, &[], &[id], &Stop::never()).map(drop),
        None => Err(Error::UnknownIndex(id)),
    }
}

/// Makes and drops what a transaction wants; returns the timestamp of it when all of it is online.
/// May be given up until it is logged.
pub(crate) fn change(shared: &Shared, wanted: PendingRules, stop: &Stop<'_>) -> Result<u64, Error> {
    let _one_at_a_time = shared.indexes.making.lock();
    if !wanted.commute_with(&shared.indexes.all()) {
        return Err(Error::Conflict { object: Object::Schema });
    }
    let PendingRules { made, dropped, .. } = wanted;
    let made = new_indexes(shared, made)?;
    make_and_drop(shared, &made, &dropped, stop)
}

/// Indexes with the next numbers, which nobody knows of yet.
fn new_indexes(shared: &Shared, definitions: Vec<Definition>) -> Result<List, Error> {
    let first = shared.indexes.numbers();
    if first + definitions.len() as u64 > INDEXES_MAX {
        return Err(Error::TooMany { what: "indexes and constraints", max: INDEXES_MAX });
    }
    let index = |(number, definition)| {
        let id = IndexId::from_raw(number as u16);
        Arc::new(Index::new(id, definition, shared.catalog.table_number()))
    };
    Ok((first..).zip(definitions).map(index).collect())
}

/// Makes and drops all of it or nothing; returns its timestamp. The caller holds `making`.
fn make_and_drop(
    shared: &Shared,
    made: &[Arc<Index>],
    dropped: &[IndexId],
    stop: &Stop<'_>,
) -> Result<u64, Error> {
    shared.check_leads()?;
    shared.check_log()?;
    if !made.is_empty() {
        shared.indexes.add(made);
    }
    let built = made.iter().try_for_each(|index| build(shared, index, stop));
    let done = built.and_then(|()| stop.check_last()).and_then(|()| finish(shared, made, dropped));
    if done.is_err() && !made.is_empty() {
        let ids: Vec<IndexId> = made.iter().map(|index| index.id).collect();
        shared.indexes.remove(&ids);
    }
    done
}

/// Waits until everything that was stamped before is visible, and opens a snapshot of it.
fn snapshot_of_all(shared: &Shared) -> Result<Registration<'_>, Error> {
    shared.publish(shared.last_ts())?;
    Registration::new(Handle::Borrowed(shared))
}

fn build(shared: &Shared, index: &Index, stop: &Stop<'_>) -> Result<(), Error> {
    failpoint!("index::registered");
    let snapshot = snapshot_of_all(shared)?;
    scan(shared, index, snapshot.read_ts, stop)?;
    failpoint!("index::scanned");
    index.valid_from.store(snapshot.read_ts, Ordering::Relaxed);
    drop(snapshot);
    if index.definition.kind.is_unique() {
        // Commits that did not find all entries yet are applied after this, and visible after the
        // next line.
        shared.indexes.wait_for_commits();
        let snapshot = snapshot_of_all(shared)?;
        no_duplicates(shared, index, snapshot.read_ts, stop)?;
        failpoint!("index::checked");
    }
    Ok(())
}

/// Logs what was built and what is to go; from then on the one can be read and the other is gone.
fn finish(shared: &Shared, made: &[Arc<Index>], dropped: &[IndexId]) -> Result<u64, Error> {
    let mut changes: Vec<IndexChange> =
        dropped.iter().map(|id| IndexChange::Dropped { id: *id }).collect();
    changes.extend(
        made.iter()
            .map(|index| IndexChange::Made { id: index.id, definition: index.definition.clone() }),
    );
    // As with names: a checkpoint is not to be later than the record and yet without the index.
    let _making = shared.catalog.making.lock();
    // Readers know an index by when it can be read, not by its record.
    let (ts, ()) = shared.log_schema(&record::encode_indexes(&changes), || ())?;
    failpoint!("index::logged");
    let published = shared.clock.published();
    made.iter().for_each(|index| index.set_online(published));
    if dropped.is_empty() {
        shared.indexes.note_change();
    } else {
        shared.indexes.remove(dropped);
    }
    Ok(ts)
}

/// Builds indexes that a record of a replicated log makes, beside readers. Everything before the
/// record is visible, and nothing else is applied meanwhile; they are right as they are.
pub(crate) fn build_followed(shared: &Shared, made: &[Arc<Index>]) -> Result<(), Error> {
    for index in made {
        let snapshot = Registration::new(Handle::Borrowed(shared))?;
        add_all(shared, index, snapshot.read_ts, &Stop::never())?;
        index.valid_from.store(snapshot.read_ts, Ordering::Relaxed);
    }
    shared.check_stored()
}

/// A new index with what is there at `ts`, while nobody writes; the caller lists it.
pub(crate) fn scanned(
    shared: &Shared,
    definition: Definition,
    ts: u64,
) -> Result<Arc<Index>, Error> {
    let number = shared.indexes.numbers();
    if number >= INDEXES_MAX {
        return Err(Error::TooMany { what: "indexes and constraints", max: INDEXES_MAX });
    }
    shared.indexes.raise_numbers(number + 1);
    let id = IndexId::from_raw(number as u16);
    let index = Arc::new(Index::new(id, definition, shared.catalog.table_number()));
    scan(shared, &index, ts, &Stop::never())?;
    no_duplicates(shared, &index, ts, &Stop::never())?;
    Ok(index)
}

/// Builds the indexes that the log, but not the checkpoint, knows of. Nobody else uses the database
/// yet.
pub(crate) fn finish_recovery(shared: &Shared) -> Result<(), Error> {
    let now = shared.clock.published();
    for index in shared.indexes.all() {
        index.cold.replay_ends();
        if !index.is_online() {
            failpoint!("index::rebuild");
            add_all(shared, &index, now, &Stop::never())?;
            index.valid_from.store(now, Ordering::Relaxed);
            index.set_online(index.made_at.load(Ordering::Relaxed));
        }
    }
    Ok(())
}

fn scan(shared: &Shared, index: &Index, ts: u64, stop: &Stop<'_>) -> Result<(), Error> {
    if index.definition.kind.has_entries() {
        add_all(shared, index, ts, stop)?;
        index.near.prepare(index, shared, stop)?;
    }
    if !index.definition.kind.constraint().is_some_and(ConstraintKind::checks_values) {
        return Ok(());
    }
    let definition = &index.definition;
    each_object(shared, index, ts, stop, |objects, object| {
        let value = |key: PropertyKeyId| match object {
            Scanned::Vertex(v) => objects.source.vertex_value(v, key, ts),
            Scanned::Edge([place, ..]) => match definition.target {
                IndexTarget::Edges(ty) => objects.source.edge_value(ty, place, key, ts),
                IndexTarget::Vertices(_) => telar_graph::Value::Null,
            },
        };
        let violation = violation(definition, || object.name(definition, &objects.source), value);
        violation.map_or(Ok(()), |violation| Err(violation.of(&definition.name)))
    })
}

/// What a scan comes across.
#[derive(Clone, Copy)]
enum Scanned {
    Vertex(u32),
    Edge([u32; 3]),
}

impl Scanned {
    fn name(self, definition: &Definition, source: &Source<'_>) -> Object {
        match (self, definition.target) {
            (Self::Edge(item), IndexTarget::Edges(ty)) => Object::Edge(source.edge_id(ty, item)),
            (Self::Edge([v, ..]) | Self::Vertex(v), _) => Object::Vertex(vertex_id(v)),
        }
    }
}

/// Calls `f` with every object at `ts` that the index is about, a segment under each pin, until it
/// fails or somebody says so.
fn each_object(
    shared: &Shared,
    index: &Index,
    ts: u64,
    stop: &Stop<'_>,
    mut f: impl FnMut(&Objects<'_>, Scanned) -> Result<(), Error>,
) -> Result<(), Error> {
    let bound = shared.vertex_bound();
    index.total.store(bound.into(), Ordering::Relaxed);
    for first in (0..bound).step_by(SEGMENT_VERTICES) {
        let guard = &epoch::pin();
        let objects = index.objects(shared, guard);
        let source = objects.source;
        let end = bound.min(first.saturating_add(SEGMENT_VERTICES as u32));
        stop.check()?;
        match index.definition.target {
            IndexTarget::Vertices(label) => (first..end)
                .filter(|v| {
                    let state = source.states.get(*v, ts, guard);
                    source.has_label(&index.holders, label, state)
                })
                .try_for_each(|v| {
                    stop.step()?;
                    f(&objects, Scanned::Vertex(v))
                })?,
            IndexTarget::Edges(ty) => {
                let flow = source.for_each_edge(ty, first..end, ts, |item| {
                    let done = stop.step().and_then(|()| f(&objects, Scanned::Edge(item)));
                    done.map_or_else(ControlFlow::Break, ControlFlow::Continue)
                });
                if let ControlFlow::Break(error) = flow {
                    return Err(error);
                }
            }
        }
        index.done.store(end.into(), Ordering::Relaxed);
        failpoint!("index::segment");
    }
    Ok(())
}

/// Adds an entry for everything that has one at `ts`.
fn add_all(shared: &Shared, index: &Index, ts: u64, stop: &Stop<'_>) -> Result<(), Error> {
    let definition = &index.definition;
    match (index.entries(), definition.target) {
        (Entries::Vertices(tree), _) => {
            let mut sorter = Sorter::new(stop);
            each_object(shared, index, ts, stop, |objects, object| {
                let Scanned::Vertex(v) = object else { return Ok(()) };
                let value = |key| objects.source.vertex_value(v, key, ts);
                sorter.add(definition.keys(value), [v])
            })?;
            sorter.drain(|some| index.add_sorted(tree, shared, some, 0, &epoch::pin()))
        }
        (Entries::Edges(tree), IndexTarget::Edges(ty)) => {
            let mut sorter = Sorter::new(stop);
            each_object(shared, index, ts, stop, |objects, object| {
                let Scanned::Edge(item) = object else { return Ok(()) };
                sorter.add(objects.source.edge_keys(ty, definition, item[0], ts), item)
            })?;
            sorter.drain(|some| index.add_sorted(tree, shared, some, 0, &epoch::pin()))
        }
        _ => Ok(()),
    }
}

/// Fails if a unique constraint is not fulfilled at `ts`.
fn no_duplicates(shared: &Shared, index: &Index, ts: u64, stop: &Stop<'_>) -> Result<(), Error> {
    match index.entries() {
        Entries::None => Ok(()),
        Entries::Vertices(tree) => no_duplicates_in(shared, index, tree, ts, stop),
        Entries::Edges(tree) => no_duplicates_in(shared, index, tree, ts, stop),
    }
}

fn no_duplicates_in<const N: usize>(
    shared: &Shared,
    index: &Index,
    tree: &Tree<N>,
    ts: u64,
    stop: &Stop<'_>,
) -> Result<(), Error> {
    let guard = &epoch::pin();
    let objects = index.objects(shared, guard);
    // The entry before, and whether it holds; found out only where the next has the same key.
    let mut before: Option<Entry<N>> = None;
    tree.for_each_partition(|_, _, version| {
        let entries = version.entries();
        for i in 0..entries.len() {
            stop.step()?;
            let (key, item) = entries.get(i);
            if let Some((last, other)) = &before
                && *last == key
                && *other != item
            {
                if !objects.has_key(&key, &item, ts) {
                    continue;
                }
                if objects.has_key(last, other, ts) {
                    let violation = Violation::Duplicate {
                        key: objects.values(&item, ts),
                        object: objects.object(&item),
                        existing: objects.object(other),
                    };
                    return Err(violation.of(&index.definition.name));
                }
            }
            before = Some((key, item));
        }
        Ok(())
    })
}
