//! What a commit changes in indexes, and whether constraints allow it.
//!
//! The steps are those of `commit/protocol.rs`. Planning finds the key of each object before and
//! after the commit and which stripes that takes. Once the latches are held, keys that depend on
//! what others may have changed meanwhile are found again; if they differ, the commit plans anew.
//!
//! A commit that is replayed leaves indexes in the store and notes what it changes
//! (`index/cold.rs`).

mod check;
mod created;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crossbeam_epoch::Guard;
use crossbeam_utils::sync::ShardedLockReadGuard;
use foldhash::fast::RandomState;
use smallvec::SmallVec;
use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId};

use crate::commit::plan::Latches;
use crate::commit::protocol::{Mode, Request};
use crate::commit::write_set::{
    EdgeOp, EdgeWrite, Read, WriteSet, edge_key, edge_property_key, vertex_property_key,
};
use crate::error::Error;
use crate::index::change::Change;
use crate::index::key::{Item, SortKey};
use crate::index::source::{NOW, Objects, Source, edge_item};
use crate::index::{Entries, Index, IndexTarget, Indexes, Keys, Tree, UNIQUE_WORDS};
use crate::latch::{ALL_STRIPES, Latch, LatchKey};
use crate::shared::Shared;
use crate::stop::Stop;
use created::Created;

/// So few changes are compared with each other.
const FEW_CHANGES: usize = 8;

/// So many entries that a commit adds are sorted, and each partition takes its own at once: one by
/// one they would follow the links of the partitions that those before them have cut.
const MANY_ENTRIES: usize = if cfg!(feature = "shuttle") { 4 } else { 1 << 10 };

/// Entries that are sorted are added so many at a time: a copy of all would be as large as the
/// commit.
const PIECE_ENTRIES: usize = 1 << 16;

/// Where an index is in its list, and what it is about.
struct Place<'a> {
    at: usize,
    index: &'a Index,
    created: Created<'a>,
    /// True if objects that the commit creates are left out of the changes.
    defers: bool,
}

/// The part of a commit that concerns indexes.
pub(crate) struct Maintenance<'a> {
    pub(super) list: &'a [Arc<Index>],
    pub(super) shared: &'a Shared,
    pub(super) writes: &'a WriteSet,
    reads: &'a [Read],
    /// Objects that the commit creates are not among them in indexes that are `deferred`.
    pub(super) changes: SmallVec<[Change; 2]>,
    /// Places of indexes to which entries of created objects are added without being kept as
    /// changes (`created.rs`), each with one of those objects.
    deferred: SmallVec<[(usize, Item<3>); 1]>,
    /// For each new key, in the order of the changes: its partition, or one to the left of it.
    /// Nothing of indexes that get many.
    partitions: SmallVec<[u32; 64]>,
    /// Whether a change depends on values that are not the commit's own.
    depends: bool,
    /// Two changes that give one unique key to two objects.
    pub(super) twice: Option<(usize, usize)>,
}

/// Holds the list of indexes as it is, where a commit could concern any. A list that is empty now
/// might not be so a moment later.
pub(crate) fn hold<'a>(
    indexes: &'a Indexes,
    writes: &WriteSet,
    reads: &[Read],
) -> Option<ShardedLockReadGuard<'a, ()>> {
    let concerned = !writes.states.items().is_empty()
        || !writes.vertex_properties.items().is_empty()
        || !writes.edge_properties.items().is_empty()
        || writes.edges.items().iter().any(|w| matches!(w.op, EdgeOp::Create | EdgeOp::Delete))
        || reads.iter().any(|r| matches!(r, Read::Index(_)));
    concerned.then(|| indexes.hold())
}

impl<'a> Maintenance<'a> {
    /// With `held`, of the list as it is.
    pub(crate) fn new(
        held: Option<&ShardedLockReadGuard<'a, ()>>,
        request: &Request<'a>,
        guard: &'a Guard,
    ) -> Self {
        let Request { shared, writes, reads, .. } = *request;
        Self {
            list: held.map_or(&[], |_| shared.indexes.list(guard)),
            shared,
            writes,
            reads,
            changes: SmallVec::new(),
            deferred: SmallVec::new(),
            partitions: SmallVec::new(),
            depends: false,
            twice: None,
        }
    }

    /// Loads indexes that the commit concerns.
    pub(crate) fn load(&self) -> Result<(), Error> {
        let was_read = |i: &Index| {
            self.reads.iter().any(|r| matches!(r, Read::Index(read) if read.index == i.id))
        };
        let cold = self.list.iter().filter(|i| !i.is_loaded());
        cold.filter(|i| concerns(self.writes, i, self.shared) || was_read(i))
            .try_for_each(|i| self.shared.indexes.load(i, self.shared))
    }

    // ---- planning ----

    /// Finds out what changes, and where in the indexes. Brings the memory that this will touch
    /// closer, so that it is there once the latches are held.
    pub(crate) fn look(&mut self, stop: &Stop<'_>, guard: &Guard) -> Result<(), Error> {
        if self.list.is_empty() {
            return Ok(());
        }
        self.find_changes(stop, guard)?;
        self.twice = self.twins();
        // PERF: telar bench index: these misses overlap with the planning of everything else.
        for change in &self.changes {
            let index = &self.list[change.place()];
            if let Some(key) = change.after()
                && index.is_loaded()
                && let Some(front) = index.front()
            {
                front.prefetch(key, guard);
            }
        }
        self.find_partitions(guard);
        Ok(())
    }

    /// Two objects that are given one key of a unique constraint.
    fn twins(&self) -> Option<(usize, usize)> {
        let unique = |at: &usize| self.list[*at].definition.kind.is_unique();
        (0..self.list.len()).filter(unique).find_map(|at| {
            let (first, changes) = self.changes_of(at);
            let new = || (first..).zip(changes).filter_map(|(n, c)| Some((c.after()?, n)));
            if changes.len() <= FEW_CHANGES {
                let before = |n| move |(_, m): &(_, usize)| *m < n;
                let twin = |(key, n)| new().take_while(before(n)).find(|(k, _)| *k == key);
                return new().find_map(|(key, n)| Some((twin((key, n))?.1, n)));
            }
            let mut seen: HashMap<&SortKey, usize, RandomState> = HashMap::default();
            new().find_map(|(key, n)| Some((seen.insert(key, n)?, n)))
        })
    }

    /// The changes of an index, and the number of the first: changes stand by index.
    pub(super) fn changes_of(&self, at: usize) -> (usize, &[Change]) {
        let first = self.changes.partition_point(|c| c.place() < at);
        let end = self.changes.partition_point(|c| c.place() <= at);
        (first, &self.changes[first..end])
    }

    /// Calls `want` with the table number, the latch words and the number of each word of every
    /// index that the commit may concern.
    pub(crate) fn want_all(&self, mut want: impl FnMut(u32, &'a [Latch], u32)) {
        let writes = self.writes;
        let mut keys: HashSet<PropertyKeyId, RandomState> = HashSet::default();
        keys.extend(writes.vertex_properties.items().iter().map(|w| w.key));
        let mut types: HashSet<EdgeTypeId, RandomState> = HashSet::default();
        types.extend(writes.edges.items().iter().map(|w| w.ty));
        types.extend(writes.edge_properties.items().iter().map(|w| w.ty));
        for index in self.list {
            let written = match index.definition.target {
                IndexTarget::Vertices(_) => {
                    !writes.states.items().is_empty()
                        || index.definition.properties.iter().any(|key| keys.contains(key))
                }
                IndexTarget::Edges(ty) => types.contains(&ty),
            };
            let read =
                || self.reads.iter().any(|r| matches!(r, Read::Index(r) if r.index == index.id));
            if written || read() {
                let words = 0..index.order.len() as u32;
                words.for_each(|word| want(index.table, &index.order, word));
            }
        }
    }

    /// Wants latches for what changes.
    pub(crate) fn plan(&mut self, latches: &mut Latches<'a>) {
        for (at, index) in self.list.iter().enumerate() {
            let mut masks = [0u32; UNIQUE_WORDS];
            // Any stripe will do; different commits had better take different ones.
            let any = |item: Item<3>| 1 << (item[0] / 64 % 32);
            for (_, item) in self.deferred.iter().filter(|(deferred, _)| *deferred == at) {
                masks[0] |= any(*item);
            }
            for change in self.changes_of(at).1 {
                if !index.definition.kind.is_unique() {
                    masks[0] |= any(change.item);
                    break;
                }
                for key in change.before().into_iter().chain(change.after()) {
                    let (word, stripe) = stripe_of(key);
                    masks[word] |= stripe;
                }
            }
            for read in self.reads {
                let Read::Index(read) = read else { continue };
                if read.index != index.id {
                    continue;
                }
                match &read.range.point {
                    Some(key) if index.definition.kind.is_unique() => {
                        let (word, stripe) = stripe_of(key);
                        masks[word] |= stripe;
                    }
                    _ => masks[..index.order.len()].fill(ALL_STRIPES),
                }
            }
            let words = index.order.iter().zip(masks).enumerate();
            for (word, (latch, mask)) in words.filter(|(_, (_, mask))| *mask != 0) {
                latches.want(LatchKey::segment(index.table, word as u32), latch, mask);
            }
        }
    }

    fn find_partitions(&mut self, guard: &Guard) {
        self.partitions.clear();
        for same in self.changes.chunk_by(|a, b| a.place() == b.place()) {
            let index = &self.list[same[0].place()];
            if !index.is_loaded() || added(same) >= MANY_ENTRIES {
                continue;
            }
            match index.entries() {
                Entries::None => {}
                Entries::Vertices(tree) => {
                    tree.find_all(
                        &new_entries(same, |item| [item[0]]),
                        &mut self.partitions,
                        guard,
                    );
                }
                Entries::Edges(tree) => {
                    tree.find_all(&new_entries(same, |item| item), &mut self.partitions, guard);
                }
            }
        }
    }

    /// Whether the plan still holds, now that the latches are held.
    pub(crate) fn is_valid(&mut self, stop: &Stop<'_>, guard: &Guard) -> Result<bool, Error> {
        if !self.depends {
            return Ok(true);
        }
        let planned = (std::mem::take(&mut self.changes), self.deferred.clone());
        self.find_changes(stop, guard)?;
        Ok(self.changes == planned.0 && self.deferred == planned.1)
    }

    fn find_changes(&mut self, stop: &Stop<'_>, guard: &Guard) -> Result<(), Error> {
        self.changes.clear();
        self.deferred.clear();
        self.depends = false;
        let list = self.list;
        let source = Source::new(self.shared, guard);
        for (at, index) in list.iter().enumerate() {
            if !index.definition.kind.has_entries() {
                continue;
            }
            let created = Created { index, writes: self.writes, source };
            let defers = self.writes.len() >= MANY_ENTRIES
                && index.is_loaded()
                && !index.definition.kind.is_unique()
                && index.definition.settings.is_none();
            if defers && let Some(first) = created.first(stop)? {
                self.deferred.push((at, first));
            }
            let place = Place { at, index, created, defers };
            match index.definition.target {
                IndexTarget::Vertices(label) => self.vertex_changes(&place, label, source, stop)?,
                IndexTarget::Edges(ty) => self.edge_changes(&place, ty, source, stop)?,
            }
        }
        Ok(())
    }

    fn vertex_changes(
        &mut self,
        place: &Place<'_>,
        label: LabelId,
        source: Source<'_>,
        stop: &Stop<'_>,
    ) -> Result<(), Error> {
        let writes = self.writes;
        let (mut near, mut near_state) = (0, 0);
        if writes.len() >= MANY_ENTRIES && !place.defers {
            // A list that grew would be there twice for a moment.
            let holders = may_hold(place.index, label, writes, self.shared).count();
            self.changes.reserve_exact(holders);
        }
        for v in vertices_concerned(place.index, writes) {
            stop.step()?;
            let definition = &place.index.definition;
            let holders = &place.index.holders;
            let state = writes.states.get_from(v.into(), &mut near_state);
            if let Some(write) = state.filter(|w| w.created) {
                if !place.defers {
                    let new = place.created.vertex_keys(label, write, &mut near);
                    self.change(place.at, [v, 0, 0], Keys::new(), new);
                }
                continue;
            }
            let after = state.map_or_else(|| source.states.get(v, NOW, source.guard), |w| w.state);
            self.depends = true;
            let old = source.vertex_keys(label, holders, definition, v, NOW);
            let has_label = source.has_label(holders, label, after);
            let new = if has_label {
                definition.keys(|key| {
                    let written = vertex_property_key(v, key);
                    match writes.vertex_properties.get_from(written, &mut near) {
                        Some(w) => w.value.clone(),
                        None => source.vertex_value(v, key, NOW),
                    }
                })
            } else {
                Keys::new()
            };
            self.change(place.at, [v, 0, 0], old, new);
        }
        Ok(())
    }

    /// Notes what an object's keys, sorted, were and are to be.
    #[inline]
    fn change(&mut self, at: usize, item: Item<3>, mut old: Keys, mut new: Keys) {
        if old == new {
            return;
        }
        if old.len() <= 1 && new.len() <= 1 {
            self.changes.extend(Change::new(at, item, [old.pop(), new.pop()]));
            return;
        }
        let gone = old.iter().filter(|key| new.binary_search(key).is_err());
        let gone = gone.map(|key| [Some(key.clone()), None]);
        self.changes.extend(gone.filter_map(|keys| Change::new(at, item, keys)));
        let come = new.into_iter().filter(|key| old.binary_search(key).is_err());
        let come = come.map(|key| [None, Some(key)]);
        self.changes.extend(come.filter_map(|keys| Change::new(at, item, keys)));
    }

    fn edge_changes(
        &mut self,
        place: &Place<'_>,
        ty: EdgeTypeId,
        source: Source<'_>,
        stop: &Stop<'_>,
    ) -> Result<(), Error> {
        let writes = self.writes;
        let definition = &place.index.definition;
        let mut near = 0;
        if writes.len() >= MANY_ENTRIES && !place.defers {
            self.changes.reserve_exact(edges_concerned(place.index, ty, writes, source).count());
        }
        for (item, op) in edges_concerned(place.index, ty, writes, source) {
            stop.step()?;
            let values_at = item[0];
            if op == Some(EdgeOp::Create) {
                if !place.defers {
                    let new = place.created.edge_keys(ty, values_at, &mut near);
                    self.change(place.at, item, Keys::new(), new);
                }
                continue;
            }
            self.depends = true;
            let old = source.edge_keys(ty, definition, values_at, NOW);
            let new = if op == Some(EdgeOp::Delete) {
                Keys::new()
            } else {
                definition.keys(|key| {
                    match writes.edge_properties.get(edge_property_key(ty, values_at, key)) {
                        Some(w) => w.value.clone(),
                        None => source.edge_value(ty, values_at, key, NOW),
                    }
                })
            };
            self.change(place.at, item, old, new);
        }
        Ok(())
    }

    // ---- with the latches held ----

    /// Checks constraints, and what a serializable transaction read from indexes.
    pub(crate) fn validate(&self, mode: Mode<'_>, guard: &Guard) -> Result<(), Error> {
        match mode {
            Mode::Live { read_ts } if !self.list.is_empty() || !self.reads.is_empty() => {
                check::constraints(self, read_ts, guard)?;
                check::reads(self.list, self.shared, self.reads, read_ts, guard)
            }
            // What is in the log was allowed when it was written.
            _ => Ok(()),
        }
    }

    /// Adds new entries and notes obsolete ones. The values have been written; the commit is not
    /// visible yet.
    pub(crate) fn apply(&self, ts: u64, guard: &Guard) {
        let mut partitions = &self.partitions[..];
        for same in self.changes.chunk_by(|a, b| a.place() == b.place()) {
            let index = &self.list[same[0].place()];
            if index.definition.is_fulltext() {
                index.totals.note(ts, same);
                match index.definition.target {
                    IndexTarget::Vertices(_) => index.lists.vertices.note(ts, same, |item| item[0]),
                    IndexTarget::Edges(ty) => {
                        let source = Source::new(self.shared, guard);
                        index.lists.edges.note(ts, same, |item| source.edge_id(ty, item));
                    }
                }
            }
            if !index.is_loaded() {
                same.iter().for_each(|change| index.cold.replay(ts, change));
                continue;
            }
            let objects = index.objects(self.shared, guard);
            let new = added(same);
            let (here, rest) = partitions.split_at(if new < MANY_ENTRIES { new } else { 0 });
            partitions = rest;
            match index.entries() {
                Entries::None => {}
                Entries::Vertices(tree) => {
                    apply_to(tree, (same, here), |item| [item[0]], ts, &objects, guard);
                }
                Entries::Edges(tree) => {
                    apply_to(tree, (same, here), |item| item, ts, &objects, guard);
                }
            }
            if index.definition.vectors().is_some() {
                index.near.note(same);
            }
        }
        for (at, _) in &self.deferred {
            let index = &self.list[*at];
            let source = Source::new(self.shared, guard);
            let created = Created { index, writes: self.writes, source };
            let objects = index.objects(self.shared, guard);
            match index.entries() {
                Entries::None => {}
                Entries::Vertices(tree) => created.for_each_piece(
                    |item| [item[0]],
                    |piece| tree.add_sorted(piece, ts, &objects, guard),
                ),
                Entries::Edges(tree) => created.for_each_piece(
                    |item| item,
                    |piece| tree.add_sorted(piece, ts, &objects, guard),
                ),
            }
        }
    }
}

/// How many entries these changes add.
fn added(changes: &[Change]) -> usize {
    changes.iter().filter(|change| change.after().is_some()).count()
}

/// The entries of new keys.
fn new_entries<const N: usize>(
    changes: &[Change],
    item_of: impl Fn(Item<3>) -> Item<N>,
) -> SmallVec<[(&SortKey, Item<N>); 64]> {
    changes.iter().filter_map(|c| Some((c.after()?, item_of(c.item)))).collect()
}

fn apply_to<const N: usize>(
    tree: &Tree<N>,
    (changes, partitions): (&[Change], &[u32]),
    item_of: impl Fn(Item<3>) -> Item<N>,
    ts: u64,
    upkeep: &Objects<'_>,
    guard: &Guard,
) {
    let mut new = new_entries(changes, &item_of);
    if new.len() < MANY_ENTRIES {
        tree.add_all(&new, partitions, ts, upkeep, guard);
    } else {
        new.sort_unstable();
        for piece in new.chunks(PIECE_ENTRIES) {
            let piece: Vec<_> = piece.iter().map(|(key, item)| ((*key).clone(), *item)).collect();
            tree.add_sorted(&piece, ts, upkeep, guard);
        }
    }
    // After the tree: who drops an old entry from both holds up whoever adds it anew.
    if let Some(front) = upkeep.front {
        new.iter().for_each(|(key, item)| front.insert(key, item[0], guard));
    }
    for change in changes {
        if let Some(key) = change.before() {
            tree.mark_stale(key, &item_of(change.item), ts, upkeep, guard);
        }
    }
}

/// Whether a commit may change something of an index; for sure not, if it says no.
fn concerns(writes: &WriteSet, index: &Index, shared: &Shared) -> bool {
    match index.definition.target {
        IndexTarget::Vertices(label) => may_hold(index, label, writes, shared).next().is_some(),
        IndexTarget::Edges(ty) => {
            let comes_or_goes = |w: &EdgeWrite| matches!(w.op, EdgeOp::Create | EdgeOp::Delete);
            let properties = &index.definition.properties;
            writes.edges.items().iter().any(|w| w.ty == ty && comes_or_goes(w))
                || writes
                    .edge_properties
                    .items()
                    .iter()
                    .any(|w| w.ty == ty && properties.contains(&w.key))
        }
    }
}

/// The vertices that may have a key before or after the commit. What a vertex was before is not
/// known until its latch is held.
fn may_hold(
    index: &Index,
    label: LabelId,
    writes: &WriteSet,
    shared: &Shared,
) -> impl Iterator<Item = u32> {
    let sets = &shared.catalog.label_sets;
    let has = move |state| state != 0 && sets.labels(state).contains(&label);
    let mut near = 0;
    vertices_concerned(index, writes).filter(move |v| {
        let written = writes.states.get_from((*v).into(), &mut near);
        written.is_none_or(|w| !w.created || has(w.state))
    })
}

/// Word and stripe of a unique key.
fn stripe_of(key: &SortKey) -> (usize, u32) {
    let hash = key.hash() >> 40;
    ((hash >> 5) as usize % UNIQUE_WORDS, 1 << (hash & 31))
}

/// The vertices that a commit may change for this index, once each.
pub(crate) fn vertices_concerned(index: &Index, writes: &WriteSet) -> impl Iterator<Item = u32> {
    let properties = &index.definition.properties;
    let stated = writes.states.items().iter().map(|w| w.vertex);
    let mut near = 0;
    let others = writes.vertex_properties.items().iter().filter_map(move |w| {
        let place = properties.iter().position(|k| *k == w.key)?;
        let earlier =
            |k: &PropertyKeyId| writes.vertex_properties.find(vertex_property_key(w.vertex, *k));
        let counted = writes.states.get_from(w.vertex.into(), &mut near).is_some()
            || properties[..place].iter().any(|k| earlier(k).is_some());
        (!counted).then_some(w.vertex)
    });
    stated.chain(others)
}

/// The edges of type `ty` that a commit may change for this index, once each, and how.
pub(crate) fn edges_concerned<'a>(
    index: &'a Index,
    ty: EdgeTypeId,
    writes: &'a WriteSet,
    source: Source<'a>,
) -> impl Iterator<Item = (Item<3>, Option<EdgeOp>)> + use<'a> {
    let properties = &index.definition.properties;
    let edges = writes.edges.items().iter();
    let written = edges
        .filter(move |w| w.ty == ty && matches!(w.op, EdgeOp::Create | EdgeOp::Delete))
        .map(move |w| (source.written_item(w), Some(w.op)));
    let others = writes.edge_properties.items().iter().filter(move |w| w.ty == ty);
    let others = others.filter_map(move |w| {
        let place = properties.iter().position(|k| *k == w.key)?;
        let earlier =
            |k: &PropertyKeyId| writes.edge_properties.find(edge_property_key(ty, w.place, *k));
        let counted = writes.edges.find(edge_key(ty, w.src, w.dst, w.ordinal())).is_some()
            || properties[..place].iter().any(|k| earlier(k).is_some());
        (!counted).then(|| (edge_item(w.src, w.dst, w.place), None))
    });
    written.chain(others)
}

impl Source<'_> {
    /// The edge of a write as an item.
    pub(crate) fn written_item(&self, w: &EdgeWrite) -> Item<3> {
        edge_item(w.src, w.dst, self.place(w.ty, w.src, w.dst, w.ordinal))
    }
}
