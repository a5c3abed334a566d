//! Indexes and constraints of a load: what it adds to them, and whether constraints allow it.
//!
//! ```text
//!  staged chunks ─► keys of the new vertices and edges ─► sorted (entries.rs) ─► trees and fronts
//!                   constraints on values are checked     equal neighbours, keys that are taken
//! ```
//!
//! Commits wait while this goes on. Entries go into the trees before the load is stored: an entry
//! says nothing until its object exists, so readers do not notice, and the checkpoint finds the
//! partitions as they are to be stored. If the load fails, [`Entered`] takes them out again: they
//! are known by the numbers of the load's vertices and edges, which nobody else has.
//!
//! A load adds objects and changes none, so no entry becomes obsolete.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use telar_graph::{ConstraintKind, IndexId, LabelId, PropertyKeyId, Value};

use super::BulkLoad;
use super::constraints::Target;
use super::entries::EntrySorter;
use super::install::{Staged, new_vertices};
use crate::adjacency::{SEGMENT_BITS, SEGMENT_VERTICES, local_of, segment_of, vertex_id};
use crate::column::{Chunk, PropertyChunk};
use crate::error::{Error, Object, Violation};
use crate::index::key::{Entry, Item, SortKey};
use crate::index::source::{NOW, Source, edge_item, numbered_edge};
use crate::index::{Definition, Entries, Index, IndexTarget, Tree};
use crate::shared::Shared;

/// Sorted entries that are added under one pin.
const ADDED_MAX: usize = 4096;

/// What a load has added to indexes; taken out again when this is dropped, unless it is kept.
pub(super) struct Entered<'s> {
    shared: &'s Shared,
    /// Which items of which index are the load's.
    parts: Vec<(Arc<Index>, Range<u32>)>,
    /// Indexes that are made with the load, not in the list yet.
    pub(super) made: Vec<Arc<Index>>,
    kept: bool,
}

impl Entered<'_> {
    /// The items of an index that are the load's.
    pub(super) fn items(&self, id: IndexId) -> Range<u32> {
        let part = self.parts.iter().find(|(index, _)| index.id == id);
        part.map_or(0..0, |(_, items)| items.clone())
    }

    /// The load is stored, as the commit at `ts`.
    pub(super) fn keep(mut self, ts: u64) {
        self.kept = true;
        for index in self.made.drain(..) {
            index.valid_from.store(ts, Ordering::Relaxed);
            index.set_online(ts);
            self.shared.indexes.add(&[index]);
        }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        if !self.kept {
            self.parts.iter().for_each(|(index, items)| index.take_back(self.shared, items));
        }
    }
}

/// Chunks of a load by key and number.
type Chunks<'a> = HashMap<(PropertyKeyId, u32), &'a PropertyChunk, foldhash::fast::RandomState>;

fn value(chunks: &Chunks<'_>, key: PropertyKeyId, at: u32) -> Value {
    let chunk = chunks.get(&(key, segment_of(at)));
    chunk.map_or(Value::Null, |c| c.get(local_of(at) as usize))
}

/// Adds the load to every index it concerns, and checks every constraint. The state before is that
/// of `before`; nobody else writes.
pub(super) fn enter<'s>(
    load: &BulkLoad<'s>,
    staged: &Staged,
    before: u64,
) -> Result<Entered<'s>, Error> {
    let shared = load.shared;
    let made = make(load, staged, before)?;
    let mut entered = Entered { shared, parts: Vec::new(), made, kept: false };
    let all = shared.indexes.all();
    for index in &all {
        index.totals.forget(before + 1);
        index.lists.forget(before + 1);
        index.near.forget();
    }
    for index in all.iter().chain(&entered.made) {
        let reference = |c: &'_ (PropertyKeyId, u32, PropertyChunk)| (c.0, c.1);
        match index.definition.target {
            IndexTarget::Vertices(label) => {
                if !staged.labels.contains(&label) {
                    continue;
                }
                shared.indexes.load(index, shared)?;
                let (first, end) = new_vertices(load);
                entered.parts.push((Arc::clone(index), first..end));
                let chunks = staged.vertex_chunks.iter().map(|c| (reference(c), &c.2)).collect();
                let new = New { load, index, chunks, before };
                let guard = epoch::pin();
                let source = Source::new(shared, &guard);
                new.vertices(staged, |state| index.has_label(&source, label, state))?;
            }
            IndexTarget::Edges(ty) => {
                let Some(t) = staged.types.iter().find(|t| t.id == ty) else { continue };
                shared.indexes.load(index, shared)?;
                entered.parts.push((Arc::clone(index), t.first_ordinal..t.next_ordinal));
                let chunks = t.chunks.iter().map(|c| (reference(c), &c.2)).collect();
                New { load, index, chunks, before }.edges(t)?;
            }
        }
    }
    crate::failpoint!("bulk::indexed", super::injected);
    Ok(entered)
}

/// Makes the constraints that come with the load, of what is there without it.
fn make(load: &BulkLoad<'_>, staged: &Staged, before: u64) -> Result<Vec<Arc<Index>>, Error> {
    let shared = load.shared;
    let mut made = Vec::new();
    for constraint in load.constraints.all.iter().filter(|r| r.is_new()) {
        let Target::Vertices(label) = constraint.target else { continue };
        let definition = Definition {
            name: constraint.name.clone(),
            target: IndexTarget::Vertices(staged.label_numbers[label.0]),
            properties: constraint.properties.iter().map(|k| staged.keys[k.0]).collect(),
            kind: ConstraintKind::Unique.into(),
            settings: None,
        };
        // One may have been made since the load was begun.
        match shared.indexes.all().into_iter().find(|i| i.definition.name == constraint.name) {
            Some(there) if there.definition == definition => continue,
            Some(_) => return Err(Error::IndexExists { name: constraint.name.clone() }),
            None => made.push(crate::schema::build::scanned(shared, definition, before)?),
        }
    }
    Ok(made)
}

/// The objects of a load that one index is about.
struct New<'a, 's> {
    load: &'a BulkLoad<'s>,
    index: &'a Index,
    chunks: Chunks<'a>,
    before: u64,
}

impl New<'_, '_> {
    fn vertices(&self, staged: &Staged, has_label: impl Fn(u32) -> bool) -> Result<(), Error> {
        let mut sorter = self.sorter();
        for (number, states) in &staged.states {
            for local in 0..SEGMENT_VERTICES {
                if has_label(states.get(local)) {
                    self.take(number << SEGMENT_BITS | local as u32, |v| [v], &mut sorter)?;
                }
            }
        }
        let Entries::Vertices(tree) = self.index.entries() else { return Ok(()) };
        self.put(tree, sorter)
    }

    fn edges(&self, t: &super::install::StagedType) -> Result<(), Error> {
        let mut sorter = self.sorter();
        for (number, base) in &t.bases[0] {
            let ordinals = base.ordinals();
            for local in 0..SEGMENT_VERTICES {
                let src = number << SEGMENT_BITS | local as u32;
                for at in base.range(local) {
                    let dst = base.neighbours()[at];
                    self.take(ordinals.get(at), |o| edge_item(src, dst, o), &mut sorter)?;
                }
            }
        }
        let Entries::Edges(tree) = self.index.entries() else { return Ok(()) };
        self.put(tree, sorter)
    }

    fn sorter<const N: usize>(&self) -> EntrySorter<'_, N> {
        EntrySorter::new(&self.load.dir, self.load.options.memory_bytes)
    }

    fn object<const N: usize>(&self, item: Item<N>) -> Object {
        match (self.index.definition.target, &item[..]) {
            (IndexTarget::Edges(ty), &[ordinal, src, dst]) => {
                Object::Edge(numbered_edge(ty, [ordinal, src, dst]))
            }
            (_, item) => Object::Vertex(vertex_id(item.first().copied().unwrap_or_default())),
        }
    }

    /// Takes the object with its values at `at` in.
    fn take<const N: usize>(
        &self,
        at: u32,
        item: impl Fn(u32) -> Item<N>,
        sorter: &mut EntrySorter<'_, N>,
    ) -> Result<(), Error> {
        let definition = &self.index.definition;
        let object = || self.object(item(at));
        if let Some(violation) =
            crate::index::violation(definition, object, |k| value(&self.chunks, k, at))
        {
            return Err(violation.of(&definition.name));
        }
        if !definition.kind.has_entries() {
            return Ok(());
        }
        let keys = definition.keys(|k| value(&self.chunks, k, at));
        keys.into_iter().try_for_each(|key| sorter.add((key, item(at))))
    }

    /// Puts the entries into the tree, in order.
    fn put<const N: usize>(&self, tree: &Tree<N>, sorter: EntrySorter<'_, N>) -> Result<(), Error> {
        let unique = self.index.definition.kind.is_unique();
        let was_empty = tree.len(&epoch::pin()) == 0;
        let mut batch: Vec<Entry<N>> = Vec::with_capacity(ADDED_MAX);
        let mut last: Option<Entry<N>> = None;
        sorter.drain(|entry| {
            if unique {
                if let Some((key, other)) = &last
                    && *key == entry.0
                {
                    return Err(self.duplicate(entry.1, self.object(*other)));
                }
                last = Some(entry.clone());
            }
            batch.push(entry);
            if batch.len() == ADDED_MAX {
                self.put_batch(tree, &mut batch, was_empty)
            } else {
                Ok(())
            }
        })?;
        self.put_batch(tree, &mut batch, was_empty)
    }

    fn put_batch<const N: usize>(
        &self,
        tree: &Tree<N>,
        batch: &mut Vec<Entry<N>>,
        was_empty: bool,
    ) -> Result<(), Error> {
        let shared = self.load.shared;
        let guard = &epoch::pin();
        if self.index.definition.kind.is_unique() && !was_empty {
            let objects = self.index.objects(shared, guard);
            for (key, item) in batch.iter() {
                let mut other = None;
                self.index.for_key(tree, key, guard, |found| {
                    if objects.has_key(key, &found, NOW) {
                        other = Some(found);
                    }
                });
                if let Some(other) = other {
                    return Err(self.duplicate(*item, self.object(other)));
                }
            }
        }
        self.index.add_sorted(tree, shared, batch, self.before + 1, guard);
        batch.clear();
        Ok(())
    }

    fn duplicate<const N: usize>(&self, item: Item<N>, existing: Object) -> Error {
        let definition = &self.index.definition;
        let key = definition.properties.iter().map(|k| value(&self.chunks, *k, item[0])).collect();
        Violation::Duplicate { key, object: self.object(item), existing }.of(&definition.name)
    }
}

/// Calls `f` with the key of every vertex with a label, as of now.
pub(super) fn for_each_key(shared: &Shared, label: u16, keys: &[u16], mut f: impl FnMut(SortKey)) {
    let label = LabelId::from_raw(label);
    let keys: Vec<PropertyKeyId> = keys.iter().map(|k| PropertyKeyId::from_raw(*k)).collect();
    let sets = &shared.catalog.label_sets;
    for first in (0..shared.vertex_bound()).step_by(SEGMENT_VERTICES) {
        let guard = &epoch::pin();
        let source = Source::new(shared, guard);
        let end = shared.vertex_bound().min(first.saturating_add(SEGMENT_VERTICES as u32));
        for v in first..end {
            let state = source.states.get(v, NOW, guard);
            if state != 0 && sets.labels(state).contains(&label) {
                let values: Vec<Value> =
                    keys.iter().map(|k| source.vertex_value(v, *k, NOW)).collect();
                SortKey::of(&values).into_iter().for_each(&mut f);
            }
        }
    }
}
