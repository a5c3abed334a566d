//! The end of a bulk load: gate, merge, store, install.
//!
//! ```text
//!  sort              nothing is held
//!  index lock        no index is made or dropped from here on
//!  checkpoint lock, name lock, gate          no checkpoint, no new name, no commit from here on
//!  wait              until all commits are published: the state is that of timestamp T0
//!  check             ends exist; constraints hold, and indexes have the new entries (index.rs)
//!  merge             segments that hold something take in what is new
//!  write             what was written since the last checkpoint, the load, the meta value
//!  pause             new snapshots wait; old ones are waited for, or the load is given up
//!  stamp             an empty commit at T = T0 + 1, on disk
//!  store commits     ◄── the load is done, crash or not
//!  install           bases and chunks; publish T
//! ```
//!
//! The log holds an empty commit for T, so that timestamps stay consecutive. A crash before the
//! store commits replays it, as nothing; a crash after it begins after T.
//!
//! No snapshot older than T is open while bases are replaced, since nothing in a base says when it
//! came (adjacency/mod.rs, visibility rule).

use std::borrow::Cow;
use std::collections::HashSet;
use std::time::{Duration, Instant};

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::name::NameKind;
use telar_graph::{CommitTs, Direction, EdgeTypeId, LabelId, PropertyKeyId, VertexId};

use super::index::{self, Entered};
use super::lists::{Bases, Numbering, turned};
use super::sort::Sorted;
use super::{BulkLoad, BulkName, BulkReport, BulkStep};
use crate::adjacency::base::{Base, OFFSET_WORDS};
use crate::adjacency::list::compare;
use crate::adjacency::scan::TableView;
use crate::adjacency::{AdjTable, Entry, ListKind, SEGMENT_BITS, SEGMENT_VERTICES, stored};
use crate::catalog::{Catalog, EdgeType};
use crate::checkpoint::meta::{Additions, NewNames};
use crate::checkpoint::{Changes, cut_log};
use crate::column::{Chunk, PropertyChunk, StateChunk, property, states};
use crate::error::{Error, Object};
use crate::format::{self, KEY_BYTES, Kind, key};
use crate::latch::ALL_STRIPES;
use crate::shared::Shared;

/// Between two looks whether the snapshots that were open have been closed.
const READER_POLL: Duration = Duration::from_micros(200);

/// A load ready to be written: what goes where, under numbers of the catalog.
pub(super) struct Staged {
    pub(super) keys: Vec<PropertyKeyId>,
    /// Numbers of the load's label names.
    pub(super) label_numbers: Vec<LabelId>,
    /// Labels that new vertices have.
    pub(super) labels: HashSet<LabelId>,
    added: Additions,
    pub(super) types: Vec<StagedType>,
    pub(super) states: Vec<(u32, StateChunk)>,
    pub(super) vertex_chunks: Vec<(PropertyKeyId, u32, PropertyChunk)>,
    edges: u64,
    duplicates: u64,
    properties: u64,
}

pub(super) struct StagedType {
    pub(super) id: EdgeTypeId,
    kind: ListKind,
    pub(super) first_ordinal: u32,
    pub(super) next_ordinal: u32,
    /// Out and in.
    pub(super) bases: [Bases; 2],
    pub(super) chunks: Vec<(PropertyKeyId, u32, PropertyChunk)>,
}

impl Staged {
    fn segments(&self) -> u64 {
        let of_type = |t: &StagedType| t.bases[0].len() + t.bases[1].len() + t.chunks.len();
        let types: usize = self.types.iter().map(of_type).sum();
        (types + self.states.len() + self.vertex_chunks.len()) as u64
    }
}

/// Puts `load` into the database.
pub(super) fn install(
    load: &mut BulkLoad<'_>,
    progress: &dyn Fn(BulkStep, u64, u64),
) -> Result<BulkReport, Error> {
    let shared = load.shared;
    let spilled = load.types.iter().map(|t| t.edges.spilled()).sum();
    let sorted = sort(load, progress)?;
    crate::failpoint!("bulk::sorted", super::injected);

    // No index is made or dropped from here on, and none is being built.
    let indexes = shared.indexes.making.lock();
    let mut checkpoints = shared.durable.as_ref().map(|d| d.progress.lock());
    let making = shared.catalog.making.lock();
    let shut = shared.gate.shut();
    let before = quiet(shared)?;
    crate::failpoint!("bulk::quiet", super::injected);
    load.trim();
    let mut staged = stage(load, sorted)?;
    let entered = index::enter(load, &staged, before)?;
    merge(shared, &mut staged, before)?;
    shared.check_stored()?;
    if load.options.reject_duplicates && staged.duplicates > 0 {
        let reason = format!("{} edges are there more than once", staged.duplicates);
        return Err(Error::BulkLoad { reason });
    }
    let changes = match (&shared.durable, &checkpoints) {
        (Some(d), Some(p)) => {
            let changes = Changes::begin(&d.store, p)?;
            Some(write(shared, changes, (&staged, &entered), before, progress)?)
        }
        _ => None,
    };
    crate::failpoint!("bulk::written", super::injected);
    let paused = pause(shared, load.options.reader_wait_ms)?;
    let ts = stamp(shared, before)?;
    crate::failpoint!("bulk::stamped");
    let stored = match changes.map(|changes| changes.commit(ts)).transpose() {
        Ok(stored) => stored,
        Err(e) => {
            // The timestamp stays, as a commit that changed nothing.
            shared.clock.mark_applied(ts);
            shared.publish(ts)?;
            return Err(e);
        }
    };
    crate::failpoint!("bulk::stored");
    if let (Some(progress), Some(stored)) = (checkpoints.as_deref_mut(), stored) {
        *progress = stored;
    }
    if let Some(d) = &shared.durable {
        d.checkpoint_ts.store(ts, std::sync::atomic::Ordering::Release);
    }
    let report = BulkReport {
        ts: CommitTs::from_raw(ts),
        vertices: load.vertices as u64,
        edges: staged.edges,
        properties: staged.properties,
        duplicates: staged.duplicates,
        spilled,
    };
    replace(load, staged, ts)?;
    shared.forget_history(ts);
    entered.keep(ts);
    load.installed = true;
    shared.clock.mark_applied(ts);
    shared.publish(ts)?;
    shared.sample.wrote(report.vertices + report.edges);
    crate::failpoint!("bulk::installed");
    drop((paused, shut, making, indexes));
    if let Some(d) = &shared.durable {
        // The load is done. A log that cannot be cut is cut by the next checkpoint; one that has
        // failed says so to the next writer.
        let _ = cut_log(shared, d, ts);
    }
    Ok(report)
}

/// Sorts the edges of every type into bases and chunks.
fn sort(
    load: &mut BulkLoad<'_>,
    progress: &dyn Fn(BulkStep, u64, u64),
) -> Result<Vec<(Sorted, u32)>, Error> {
    let total: u64 = load.types.iter().map(|t| t.edges.len()).sum();
    let new_vertices = if load.taken.is_some() { new_vertices(load).0 } else { u32::MAX };
    let mut done = 0;
    let mut all = Vec::with_capacity(load.types.len());
    for t in &mut load.types {
        progress(BulkStep::Sorting, done, total);
        done += t.edges.len();
        let simple = t.options.kind() == ListKind::Simple;
        let known = load.shared.catalog.find_edge_type(&t.name).is_some();
        let numbering = match t.options.kind() {
            ListKind::Simple => Numbering::Simple,
            ListKind::Multi if t.keys.is_empty() => {
                Numbering::Parallel { new_vertices: if known { new_vertices } else { 0 } }
            }
            ListKind::Multi | ListKind::Timed => Numbering::All,
        };
        // Those of a type that is there are taken now, so that transactions may go on meanwhile.
        let first = match load.shared.catalog.find_edge_type(&t.name) {
            Some(id) if !simple => {
                let ty = load.shared.catalog.edge_type(id)?;
                let (before, taken) = ty.reserve_ordinals(t.edges.len())?;
                t.ordinals = Some((id, before, taken.end));
                taken.start
            }
            _ => SEGMENT_VERTICES as u32,
        };
        all.push((t.edges.take().sorted(numbering, first, &load.dir)?, first));
    }
    progress(BulkStep::Sorting, total, total);
    Ok(all)
}

/// Waits until no commit is under way and all of them are published; returns the last timestamp.
fn quiet(shared: &Shared) -> Result<u64, Error> {
    // Whoever had its latches before the gate was shut has applied once these were had.
    let guard = &epoch::pin();
    for (_, ty) in shared.catalog.edge_types() {
        for direction in Direction::ALL {
            let table = ty.table(direction);
            for segment in (0..table.segment_bound()).filter_map(|n| table.segment(n)) {
                drop(segment.latch.hold(ALL_STRIPES));
                for (_, hub) in segment.version(guard).map(|v| v.hubs()).unwrap_or_default() {
                    hub.chunks(guard).iter().for_each(|c| drop(c.latch.hold(ALL_STRIPES)));
                }
            }
        }
        ty.columns().for_each(|(_, column)| column.visit_latches());
    }
    shared.states.visit_latches();
    shared.catalog.vertex_columns().for_each(|(_, column)| column.visit_latches());
    if let Some(d) = &shared.durable {
        d.wal.flush()?;
    }
    let last = shared.last_ts();
    shared.clock.wait_published(last, || shared.publish_limit());
    Ok(last)
}

/// Numbers of names; those that are not made are held by the load, and among the second.
fn numbers(
    catalog: &Catalog,
    kind: NameKind,
    names: &[String],
    holds: &mut Vec<(NameKind, String)>,
) -> Result<(Vec<u16>, NewNames), Error> {
    let mut new = Vec::new();
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let (number, held) = catalog.hold(kind, name)?;
        if held {
            holds.push((kind, name.clone()));
            new.push((number, name.clone()));
        }
        numbers.push(number);
    }
    Ok((numbers, new))
}

fn stage(load: &mut BulkLoad<'_>, sorted: Vec<(Sorted, u32)>) -> Result<Staged, Error> {
    let shared = load.shared;
    let mut added = Additions::default();
    let (catalog, holds) = (&shared.catalog, &mut load.holds);
    let (labels, new) = numbers(catalog, NameKind::Label, &load.labels.0, holds)?;
    added.names[0] = new;
    let (keys, new) = numbers(catalog, NameKind::PropertyKey, &load.keys.0, holds)?;
    added.names[1] = new;
    let labels: Vec<LabelId> = labels.into_iter().map(LabelId::from_raw).collect();
    let keys: Vec<PropertyKeyId> = keys.into_iter().map(PropertyKeyId::from_raw).collect();
    let mut staged = Staged {
        types: Vec::with_capacity(sorted.len()),
        states: states(load, &labels),
        vertex_chunks: vertex_chunks(load, &keys),
        edges: 0,
        duplicates: 0,
        properties: load.columns.iter().map(|(_, c)| c.count()).sum(),
        keys,
        labels: load
            .states
            .iter()
            .flat_map(|(set, _)| &load.sets[*set])
            .map(|l| labels[l.0])
            .collect(),
        label_numbers: labels,
        added,
    };
    for (t, (sorted, first)) in load.types.iter().zip(sorted) {
        let kind = t.options.kind();
        let simple = kind == ListKind::Simple;
        let known = shared.catalog.find_edge_type(&t.name);
        let id = match known {
            Some(id) => {
                let ty = shared.catalog.edge_type(id)?;
                if ty.options != t.options {
                    return Err(Error::EdgeTypeExists { name: t.name.clone() });
                }
                // The type was made since its edges were numbered.
                if !simple && t.ordinals.is_none() {
                    return Err(Error::Conflict { object: Object::BulkLoad });
                }
                staged.added.ordinals.insert(id, sorted.next_ordinal);
                id
            }
            None => {
                let (number, held) = shared.catalog.hold_edge_type(&t.name, t.options)?;
                debug_assert!(held, "nobody makes names meanwhile");
                load.holds.push((NameKind::EdgeType, t.name.clone()));
                let id = EdgeTypeId::from_raw(number);
                if shared.catalog.edge_type(id)?.options != t.options {
                    return Err(Error::EdgeTypeExists { name: t.name.clone() });
                }
                let next = if simple { 1 } else { sorted.next_ordinal };
                staged.added.types.push((number, t.name.clone()));
                staged.added.ordinals.insert(id, next);
                id
            }
        };
        if kind == ListKind::Multi && t.keys.is_empty() {
            staged.added.unnumbered.insert(id);
        }
        let mut chunks = Vec::new();
        for (key, of_key) in t.keys.iter().zip(sorted.chunks) {
            let numbered = (first >> SEGMENT_BITS..).zip(of_key);
            chunks.extend(numbered.map(|(n, chunk)| (staged.keys[key.0], n, chunk)));
        }
        staged.edges += sorted.out.iter().map(|(_, b)| b.entries() as u64).sum::<u64>();
        staged.duplicates += sorted.duplicates;
        staged.properties += sorted.values;
        let inward = turned(&sorted.out, simple);
        let bases = [sorted.out, inward];
        check_ends(load, &bases)?;
        let next_ordinal = sorted.next_ordinal;
        let first_ordinal = first;
        staged.types.push(StagedType { id, kind, first_ordinal, next_ordinal, bases, chunks });
    }
    Ok(staged)
}

/// First and last number of the new vertices, the last excluded.
pub(super) fn new_vertices(load: &BulkLoad<'_>) -> (u32, u32) {
    let first = load.taken.map_or(0, |t| t.first) as u32;
    (first, first + load.vertices as u32)
}

fn states(load: &BulkLoad<'_>, labels: &[LabelId]) -> Vec<(u32, StateChunk)> {
    let number = |set: &Vec<BulkName>| {
        let set: Vec<LabelId> = set.iter().map(|l| labels[l.0]).collect();
        load.shared.catalog.label_sets.number(&set)
    };
    let sets: Vec<u32> = load.sets.iter().map(number).collect();
    let runs = load.states.iter();
    let mut states = runs.flat_map(|(set, n)| std::iter::repeat_n(sets[*set], *n as usize));
    let first = new_vertices(load).0 >> SEGMENT_BITS;
    let segments = load.vertices.div_ceil(SEGMENT_VERTICES) as u32;
    let chunk = |number| {
        let values = std::array::from_fn(|_| states.next().unwrap_or(0));
        (first + number, StateChunk::build(&values))
    };
    (0..segments).map(chunk).collect()
}

fn vertex_chunks(
    load: &mut BulkLoad<'_>,
    keys: &[PropertyKeyId],
) -> Vec<(PropertyKeyId, u32, PropertyChunk)> {
    let first = new_vertices(load).0 >> SEGMENT_BITS;
    let mut chunks = Vec::new();
    for (key, column) in &load.columns {
        for number in 0..load.vertices.div_ceil(SEGMENT_VERTICES) {
            let start = number * SEGMENT_VERTICES;
            let end = load.vertices.min(start + SEGMENT_VERTICES);
            chunks.push((keys[key.0], first + number as u32, column.chunk(start..end)));
        }
    }
    chunks
}

/// Every end of an edge must exist: as a new vertex, or now.
fn check_ends(load: &BulkLoad<'_>, bases: &[Bases; 2]) -> Result<(), Error> {
    let (first, end) = new_vertices(load);
    let guard = &epoch::pin();
    // Out bases name the sources, in bases the destinations.
    for (number, base) in bases.iter().flatten() {
        let start = number << SEGMENT_BITS;
        if start >= first && start.saturating_add(SEGMENT_VERTICES as u32) <= end {
            continue;
        }
        for local in (0..SEGMENT_VERTICES).filter(|l| !base.range(*l).is_empty()) {
            let v = start + local as u32;
            let new = (first..end).contains(&v);
            if !new && load.shared.states.get(v, u64::MAX, guard) == 0 {
                return Err(Error::NotFound(Object::Vertex(VertexId::from_raw(v.into()))));
            }
        }
    }
    Ok(())
}

/// Adds what segments hold already to the bases that are to replace them.
fn merge(shared: &Shared, staged: &mut Staged, before: u64) -> Result<(), Error> {
    for t in &mut staged.types {
        let Ok(ty) = shared.catalog.edge_type(t.id) else {
            continue;
        };
        for (direction, bases) in Direction::ALL.into_iter().zip(&mut t.bases) {
            let table = ty.table(direction);
            let guard = &epoch::pin();
            let view = TableView::new(table, before, guard);
            for (number, base) in bases {
                if is_empty(table, *number, guard) {
                    continue;
                }
                let (merged, duplicates) = merged(&view, *number, base);
                *base = merged;
                if direction == Direction::Out {
                    staged.duplicates += duplicates;
                    staged.edges -= duplicates;
                }
            }
        }
    }
    Ok(())
}

fn is_empty(table: &AdjTable, number: u32, guard: &Guard) -> bool {
    table.fetch(number, guard);
    let version = table.segment(number).and_then(|s| s.version(guard));
    version.is_none_or(|v| v.base.entries() == 0 && v.is_clean())
}

/// The lists of a segment and new ones, together; and how many were in both.
fn merged(view: &TableView<'_>, number: u32, new: &Base) -> (Base, u64) {
    let kind = view.kind();
    let columns = kind.columns();
    let (mut words, mut rows) = (vec![0], Vec::<Entry>::new());
    let (mut list, mut chunk) = (Vec::new(), Vec::new());
    let mut duplicates = 0;
    for local in 0..SEGMENT_VERTICES {
        list.clear();
        view.for_each_list(number << SEGMENT_BITS | local as u32, |l| {
            l.sorted_entries(&mut chunk);
            list.extend(chunk.iter().map(|(entry, _)| *entry));
        });
        let range = new.range(local);
        if !range.is_empty() {
            list.extend(range.map(|at| new.entry(at)));
            // Stable on purpose: it finds the two sorted runs and merges them.
            list.sort_by(|a, b| compare(kind, a, b));
            if kind == ListKind::Simple {
                let before = list.len();
                list.dedup();
                duplicates += (before - list.len()) as u64;
            }
        }
        rows.extend_from_slice(&list);
        words.push(rows.len() as u32);
    }
    debug_assert_eq!(words.len(), OFFSET_WORDS);
    words.extend(rows.iter().map(|e| e.nbr));
    for c in 0..columns {
        words.extend(rows.iter().map(|e| e.columns[c]));
    }
    let base = Base::from_words(&words, columns).expect("INVARIANT: offsets count the rows");
    (base, duplicates)
}

/// Writes the load, and what was written since the last checkpoint, into the store's transaction.
fn write<'s>(
    shared: &Shared,
    mut changes: Changes<'s>,
    (staged, entered): (&Staged, &Entered<'_>),
    before: u64,
    progress: &dyn Fn(BulkStep, u64, u64),
) -> Result<Changes<'s>, Error> {
    let total = staged.segments();
    let mut done = 0;
    let mut value = Vec::new();
    let mut ours: HashSet<[u8; KEY_BYTES]> = HashSet::new();
    let mut put = |changes: &mut Changes<'s>, key, value: &mut Vec<u8>| -> Result<(), Error> {
        changes.put(key, value)?;
        ours.insert(key);
        if done % 256 == 0 {
            progress(BulkStep::Storing, done, total);
        }
        done += 1;
        crate::failpoint!("bulk::segment", super::injected);
        Ok(())
    };
    let start = |value: &mut Vec<u8>| {
        value.clear();
        value.extend_from_slice(&[0; 4]);
    };
    for t in &staged.types {
        for (direction, bases) in Direction::ALL.into_iter().zip(&t.bases) {
            for (number, base) in bases {
                stored::encode_base(base, t.kind.columns(), &mut value);
                let key = key(Kind::Adjacency, t.id.get(), direction as u16, *number);
                put(&mut changes, key, &mut value)?;
            }
        }
        for (property, number, chunk) in &t.chunks {
            start(&mut value);
            property::encode(chunk, &mut value);
            let key = key(Kind::EdgeProperty, t.id.get(), property.get(), *number);
            put(&mut changes, key, &mut value)?;
        }
    }
    for (number, chunk) in &staged.states {
        start(&mut value);
        let states = std::array::from_fn(|local| chunk.get(local));
        states::encode(&states, &mut value);
        put(&mut changes, key(Kind::States, 0, 0, *number), &mut value)?;
    }
    for (property, number, chunk) in &staged.vertex_chunks {
        start(&mut value);
        property::encode(chunk, &mut value);
        put(&mut changes, key(Kind::VertexProperty, property.get(), 0, *number), &mut value)?;
    }
    changes.put_written(shared, before, &|key| ours.contains(key))?;
    crate::checkpoint::history::put_nothing(&mut changes, shared, before + 1)?;
    changes.put_once_ids(shared, before)?;
    changes.put_indexes(shared, before, &|id| entered.items(id), &entered.made)?;
    changes.put_meta(shared, before + 1, &staged.added)?;
    progress(BulkStep::Storing, total, total);
    Ok(changes)
}

/// New snapshots wait until this is dropped.
struct Paused<'s>(&'s Shared);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.readers.resume();
        self.0.history.pause(false);
    }
}

/// Makes new snapshots wait and waits until there are no others.
fn pause(shared: &Shared, wait_ms: u64) -> Result<Paused<'_>, Error> {
    let begun = Instant::now();
    loop {
        shared.readers.pause();
        shared.history.pause(true);
        let paused = Paused(shared);
        // Short ones end soon: give them a moment before letting others in again.
        for _ in 0..16 {
            if shared.readers.live().0 + shared.history.readers() == 0 {
                return Ok(paused);
            }
            std::thread::sleep(READER_POLL);
        }
        drop(paused);
        if begun.elapsed() >= Duration::from_millis(wait_ms) {
            let count = (shared.readers.live().0 + shared.history.readers()) as u64;
            return Err(Error::SnapshotsOpen { count, waited_ms: wait_ms });
        }
        std::thread::sleep(16 * READER_POLL);
    }
}

/// Takes the timestamp after `before`, on disk as an empty commit.
fn stamp(shared: &Shared, before: u64) -> Result<u64, Error> {
    let payload = shared.records().then_some(format::EMPTY_COMMIT);
    let ts = shared.take_timestamp(payload.map(Cow::Borrowed))?;
    let flushed = shared.durable.as_ref().map_or(Ok(()), |d| d.wal.flush());
    if let Err(e) = flushed {
        return Err(e.into());
    }
    if ts != before + 1 {
        shared.clock.mark_applied(ts);
        shared.publish(ts)?;
        return Err(Error::Conflict { object: Object::BulkLoad });
    }
    Ok(ts)
}

/// Replaces in memory what the store holds by now.
fn replace(load: &BulkLoad<'_>, staged: Staged, ts: u64) -> Result<(), Error> {
    let shared = load.shared;
    let catalog = &shared.catalog;
    let Additions { names: [labels, keys], types, unnumbered, .. } = &staged.added;
    for id in unnumbered {
        catalog.edge_type(*id)?.set_unnumbered();
    }
    for (kind, names) in
        [(NameKind::Label, labels), (NameKind::PropertyKey, keys), (NameKind::EdgeType, types)]
    {
        names.iter().for_each(|(number, name)| catalog.make(kind, name, *number));
    }
    let guard = &epoch::pin();
    for t in staged.types {
        let ty: &EdgeType = catalog.edge_type(t.id)?;
        ty.raise_ordinal_bound(if t.kind == ListKind::Simple { 1 } else { t.next_ordinal });
        for (direction, bases) in Direction::ALL.into_iter().zip(t.bases) {
            let table = ty.table(direction);
            for (number, base) in bases {
                table.replace(number, base, ts, guard);
            }
        }
        for (property, number, chunk) in t.chunks {
            let column = ty.column_for_write(property, catalog);
            column.replace(number, chunk, ts, guard);
        }
    }
    for (property, number, chunk) in staged.vertex_chunks {
        let column = catalog.vertex_column_for_write(property);
        column.replace(number, chunk, ts, guard);
    }
    for (number, chunk) in staged.states {
        shared.states.replace(number, chunk, ts, guard);
    }
    Ok(())
}
