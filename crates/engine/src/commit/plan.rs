//! The plan of a small commit: which latches it needs, stripe by stripe, and where its entries go.
//!
//! Planning reads without latches, so what it found is verified once they are held: a list may have
//! become a hub, a chunk may have been split, an idle tail dropped. Then the commit plans once
//! more, and after that holds its segments as a whole (`whole.rs`).

use crossbeam_epoch::Guard;
use smallvec::SmallVec;
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId};

use super::claim::Hold;
use super::validate::{Appends, Places};
use super::write_set::{EdgeOp, EdgePropertyWrite, EdgeWrite, Read, WriteSet};
use crate::adjacency::hub::{Chunk, Hub};
use crate::adjacency::search::warm_together;
use crate::adjacency::segment::Slot;
use crate::adjacency::tail::{DELTA_MAX, Tail};
use crate::adjacency::{
    AdjTable, Entry, ListKind, SegVersion, SegmentRef, local_of, segment_of, vertex_id,
};
use crate::catalog::{Catalog, STATE_TABLE};
use crate::column::{ColTable, HasTail, StateChunk};
use crate::error::{Error, Object};
use crate::latch::{ALL_STRIPES, Latch, LatchKey};
use crate::shared::Shared;
use crate::stop::Stop;
use crate::words::prefetch;

/// Place of the growth latch: after every segment of the state table.
pub(super) const GROWTH_SEGMENT: u32 = u32::MAX;
const GROWTH_KEY: LatchKey = LatchKey::segment(STATE_TABLE, GROWTH_SEGMENT);

/// A latch word and the stripes wanted of it.
struct Wanted<'g> {
    key: LatchKey,
    latch: &'g Latch,
    mask: u32,
}

/// The latches of a commit. Held from `acquire` until released or dropped.
#[derive(Default)]
pub(crate) struct Latches<'g> {
    wanted: SmallVec<[Wanted<'g>; 4]>,
    /// How many of them are held.
    held: usize,
}

impl<'g> Latches<'g> {
    #[inline]
    pub(crate) fn want(&mut self, key: LatchKey, latch: &'g Latch, mask: u32) {
        self.wanted.push(Wanted { key, latch, mask });
    }

    /// Takes every latch, in ascending order of keys.
    pub(crate) fn acquire(&mut self, stop: &Stop<'_>) -> Result<(), Error> {
        self.wanted.sort_unstable_by_key(|w| w.key);
        self.wanted.dedup_by(|next, kept| {
            let same = next.key == kept.key;
            if same {
                kept.mask |= next.mask;
            }
            same
        });
        for w in &self.wanted {
            if !w.latch.acquire_unless(w.mask, &mut || stop.is_asked()) {
                return Err(Error::Interrupted);
            }
            self.held += 1;
        }
        Ok(())
    }

    /// Gives every latch back.
    pub(crate) fn release(&mut self) {
        for w in self.wanted[..std::mem::take(&mut self.held)].iter().rev() {
            w.latch.release(w.mask);
        }
    }
}

impl Drop for Latches<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

/// One end of an edge write: the list it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Target<'g> {
    pub(crate) table: &'g AdjTable,
    pub(crate) segment: SegmentRef<'g>,
    pub(crate) number: u32,
    pub(crate) local: u32,
    pub(crate) nbr: u32,
    /// The hub chunk, if the list is a hub.
    pub(crate) chunk: Option<(&'g Hub, &'g Chunk)>,
    /// What to append; `None` if there is nothing to do, set by validation.
    pub(crate) append: Option<(Entry, bool)>,
}

impl<'g> Target<'g> {
    fn find(
        table: &'g AdjTable,
        v: u32,
        nbr: u32,
        shared: &Shared,
        guard: &'g Guard,
    ) -> Result<Self, Error> {
        let number = segment_of(v);
        let segment = table.segment_for_write(number);
        if segment.version(guard).is_none_or(SegVersion::is_clean) {
            // Dropped again before the latch is held, it makes the plan invalid.
            segment.ensure_tail(table, number, shared.watermark(), guard)?;
        }
        Ok(Self::look(table, segment, v, nbr, guard))
    }

    /// The target as it is now.
    #[inline]
    pub(super) fn look(
        table: &'g AdjTable,
        segment: SegmentRef<'g>,
        v: u32,
        nbr: u32,
        guard: &'g Guard,
    ) -> Self {
        let (number, local) = (segment_of(v), local_of(v));
        let chunk = segment.version(guard).and_then(|ver| match ver.decode(ver.slot_word(local)) {
            Slot::Hub(hub) => Some((hub, hub.chunk(nbr, guard))),
            Slot::Clean | Slot::Block(_) => None,
        });
        Self { table, segment, number, local, nbr, chunk, append: None }
    }

    fn want_latch(&self, latches: &mut Latches<'g>) {
        match self.chunk {
            Some((_, c)) => latches.want(
                LatchKey::chunk(self.table.id, self.number, self.local, c.first),
                &c.latch,
                ALL_STRIPES,
            ),
            None => latches.want(
                LatchKey::segment(self.table.id, self.number),
                &self.segment.segment.latch,
                Latch::stripe(self.local),
            ),
        }
    }

    /// Brings the tail block closer, and what leads to a hub chunk's.
    #[inline]
    fn prefetch(&self, guard: &Guard) {
        if let Some((_, chunk)) = self.chunk {
            prefetch(chunk.version(guard));
        } else if let Some(ver) = self.segment.version(guard) {
            prefetch(ver.block_addr(ver.slot_word(self.local)));
            let base = ver.rows();
            prefetch(base.row_addr(base.offsets()[self.local as usize]));
        }
    }

    /// Reserves room for `entry`: when the tail's timestamps begin, and whether there was room.
    #[inline]
    pub(super) fn reserve(&self, entry: &Entry, guard: &Guard) -> (u64, bool) {
        let columns = self.table.kind.columns_for(entry);
        if let Some((_, chunk)) = self.chunk {
            let v = chunk.version(guard);
            let has_columns = columns == 0 || v.block().has_columns();
            return (v.base_ts, has_columns && v.block().reserve());
        }
        let tail = self.tail(guard);
        (tail.base_ts, tail.reserve(self.local, columns))
    }

    /// Drops what is reserved in the list.
    pub(super) fn unreserve(&self, guard: &Guard) {
        match self.chunk {
            Some((_, chunk)) => chunk.version(guard).block().unreserve(),
            None => self.tail(guard).unreserve(self.local),
        }
    }

    /// Appends an entry reserved before.
    #[inline]
    pub(super) fn push(&self, entry: &Entry, delete: bool, ts: u64, guard: &Guard) {
        let columns = self.table.kind.columns();
        if let Some((_, chunk)) = self.chunk {
            let v = chunk.version(guard);
            v.block().append(entry, v.delta(ts), delete, columns);
        } else {
            let tail = self.tail(guard);
            tail.append(self.local, entry, tail.delta(ts), delete, columns);
        }
    }

    #[inline]
    fn tail<'t>(&self, guard: &'t Guard) -> &'t Tail
    where
        'g: 't,
    {
        let tail = self.segment.version(guard).and_then(|v| v.tail.as_deref());
        tail.expect("INVARIANT: there is a tail, and every latch is held")
    }

    /// The settled neighbours of the list, or hub chunk.
    #[inline]
    pub(crate) fn settled(&self, guard: &'g Guard) -> &'g [u32] {
        match (self.chunk, self.segment.version(guard)) {
            (Some((_, chunk)), _) => chunk.version(guard).neighbours(),
            (None, Some(ver)) => ver.settled(self.local),
            (None, None) => &[],
        }
    }

    /// True if anything was written to the list, or hub chunk, after `read_ts`.
    #[inline]
    pub(super) fn changed_at_all(&self, read_ts: u64, guard: &Guard) -> bool {
        if let Some((_, chunk)) = self.chunk {
            let v = chunk.version(guard);
            return v.block().is_newer(v.delta(read_ts));
        }
        let ver = self.segment.version(guard);
        ver.is_some_and(|ver| match ver.decode(ver.slot_word(self.local)) {
            Slot::Block(block) => block.is_newer(ver.delta(read_ts)),
            Slot::Clean | Slot::Hub(_) => false,
        })
    }

    /// Whether the plan still holds, now that the latch is held.
    #[inline]
    fn is_valid(&self, guard: &Guard) -> bool {
        match self.chunk {
            Some((_, chunk)) => !chunk.is_retired(),
            None => self.segment.version(guard).is_some_and(|ver| {
                !ver.is_clean() && !matches!(ver.decode(ver.slot_word(self.local)), Slot::Hub(_))
            }),
        }
    }
}

/// The end whose list is searched for an edge of a simple type: both hold every edge, so the
/// shorter.
///
/// PERF: insert_single_mps, hub_insert_mps: the other end of a hub's edge is seldom a hub.
#[inline]
pub(crate) fn shorter<'t, 'g>(
    out: &'t Target<'g>,
    inward: &'t Target<'g>,
    guard: &'g Guard,
) -> &'t Target<'g> {
    let len = |t: &Target<'g>| match (t.chunk, t.segment.version(guard)) {
        (None, Some(v)) => v.settled(t.local).len(),
        _ => usize::MAX,
    };
    if len(inward) < len(out) { inward } else { out }
}

/// A whole list that must not have changed: read by a serializable transaction, or about to be
/// deleted with its vertex.
pub(crate) struct ListGuard<'g> {
    pub(crate) ty: EdgeTypeId,
    pub(crate) vertex: u32,
    segment: SegmentRef<'g>,
    local: u32,
    hub: Option<(&'g Hub, Vec<*const Chunk>)>,
}

impl<'g> ListGuard<'g> {
    pub(crate) fn find(
        ty: EdgeTypeId,
        table: &'g AdjTable,
        vertex: u32,
        latches: &mut Latches<'g>,
        guard: &'g Guard,
    ) -> Self {
        let (number, local) = (segment_of(vertex), local_of(vertex));
        let segment = table.segment_for_write(number);
        let slot = segment.version(guard).map(|v| v.decode(v.slot_word(local)));
        let Some(Slot::Hub(hub)) = slot else {
            let key = LatchKey::segment(table.id, number);
            latches.want(key, &segment.segment.latch, Latch::stripe(local));
            return Self { ty, vertex, segment, local, hub: None };
        };
        let chunks = hub.chunks(guard);
        for c in chunks {
            let key = LatchKey::chunk(table.id, number, local, c.first);
            latches.want(key, &c.latch, ALL_STRIPES);
        }
        let seen = chunks.iter().map(std::sync::Arc::as_ptr).collect();
        Self { ty, vertex, segment, local, hub: Some((hub, seen)) }
    }

    pub(super) fn is_valid(&self, guard: &Guard) -> bool {
        let slot = self.segment.version(guard).map(|v| v.decode(v.slot_word(self.local)));
        match (&self.hub, slot) {
            (None, Some(Slot::Hub(_))) => false,
            (None, _) => true,
            (Some((hub, seen)), _) => {
                // A split retires the old chunk before its latch is released, so an unchanged
                // directory under all latches stays so.
                // A dropped segment retires the chunks of its hubs, and comes back with others.
                let chunks = hub.chunks(guard);
                chunks.iter().map(std::sync::Arc::as_ptr).eq(seen.iter().copied())
                    && !chunks.iter().any(|c| c.is_retired())
            }
        }
    }

    /// Whether the list was written to after `read_ts`.
    pub(crate) fn changed_since(&self, read_ts: u64, guard: &Guard) -> bool {
        list_changed(self.segment, self.local, read_ts, guard)
    }
}

/// Whether a list was written to after `read_ts`. Its latches are held.
pub(super) fn list_changed(
    segment: SegmentRef<'_>,
    local: u32,
    read_ts: u64,
    guard: &Guard,
) -> bool {
    let Some(ver) = segment.version(guard) else {
        return false;
    };
    if let Slot::Hub(hub) = ver.decode(ver.slot_word(local)) {
        return hub.chunks(guard).iter().any(|c| {
            let v = c.version(guard);
            v.list(DELTA_MAX, ListKind::Simple).changed_at_all(v.delta(read_ts))
        });
    }
    ver.list(local, DELTA_MAX, ListKind::Simple)
        .is_some_and(|list| list.changed_at_all(ver.delta(read_ts)))
}

/// Everything a commit holds on to.
#[derive(Default)]
pub(crate) struct Plan<'g> {
    pub(crate) latches: Latches<'g>,
    /// Two per edge write: the out list, then the in list.
    pub(crate) targets: SmallVec<[Target<'g>; 2]>,
    pub(crate) guards: Vec<ListGuard<'g>>,
    /// What claims keep as it is.
    claims: Vec<Hold<'g>>,
    /// Column segments that must still have a tail once latched.
    columns: SmallVec<[&'g dyn HasTail; 2]>,
}

/// What planning needs to see.
pub(crate) struct PlanInput<'a> {
    pub(crate) shared: &'a Shared,
    pub(crate) catalog: &'a Catalog,
    pub(crate) states: &'a ColTable<StateChunk>,
    /// Shared by stripe among commits that make vertices, taken whole by those that scanned them
    /// all.
    pub(crate) growth: &'a Latch,
    pub(crate) writes: &'a WriteSet,
    pub(crate) reads: &'a [Read],
    pub(crate) stop: &'a Stop<'a>,
}

impl<'g> Places<'g> for Plan<'g> {
    fn ends(&self, i: usize, _: &EdgeWrite, _: &'g Guard) -> (Target<'g>, Target<'g>) {
        (self.targets[2 * i], self.targets[2 * i + 1])
    }

    fn of_property(
        &self,
        input: &PlanInput<'g>,
        i: usize,
        _: &EdgePropertyWrite,
        _: &'g Guard,
    ) -> Target<'g> {
        self.targets[2 * input.writes.edges.items().len() + i]
    }

    fn append(&mut self, i: usize, (to_out, to_in): Appends) {
        self.targets[2 * i].append = Some(to_out);
        self.targets[2 * i + 1].append = Some(to_in);
    }

    fn check_lists(&self, _: &PlanInput<'g>, read_ts: u64, guard: &'g Guard) -> Result<(), Error> {
        match self.guards.iter().find(|g| g.changed_since(read_ts, guard)) {
            None => Ok(()),
            Some(g) => {
                Err(Error::Conflict { object: Object::Neighbours(vertex_id(g.vertex), g.ty) })
            }
        }
    }
}

impl<'g> Plan<'g> {
    /// Brings the cache lines an edge write will touch closer: slots and offsets of both lists.
    fn prefetch_places(write: &EdgeWrite, catalog: &Catalog, guard: &Guard) {
        let Ok(ty) = catalog.edge_type(write.ty) else {
            return;
        };
        for (direction, v) in [(Direction::Out, write.src), (Direction::In, write.dst)] {
            let segment = ty.table(direction).segment(segment_of(v));
            if let Some(ver) = segment.and_then(|s| s.version(guard)) {
                let local = local_of(v);
                prefetch(ver.slot_addr(local));
                prefetch(ver.rows().offset_addr(local));
            }
        }
    }

    /// Plans a commit.
    pub(crate) fn make(&mut self, input: &PlanInput<'g>, guard: &'g Guard) -> Result<(), Error> {
        let edges = input.writes.edges.items();
        // PERF: insert_batch64_mps: the misses of a batch overlap instead of queueing up.
        for w in edges {
            Self::prefetch_places(w, input.catalog, guard);
        }
        for w in edges {
            let ty = input.catalog.edge_type(w.ty)?;
            for (direction, v, nbr) in
                [(Direction::Out, w.src, w.dst), (Direction::In, w.dst, w.src)]
            {
                let target = Target::find(ty.table(direction), v, nbr, input.shared, guard)?;
                if w.op != EdgeOp::Nothing {
                    target.want_latch(&mut self.latches);
                }
                target.prefetch(guard);
                self.targets.push(target);
            }
        }
        self.warm_searches(edges, guard);
        self.plan_columns(input, guard)?;
        for claim in &input.writes.claims {
            self.claims.push(claim.hold(input.catalog, &mut self.latches, guard)?);
        }
        self.plan_reads(input, guard)
    }

    /// Runs the searches validation will do, all at once and without their results.
    ///
    /// PERF: insert_single_mps, insert_batch64_mps, delete_mps.
    fn warm_searches(&self, edges: &[EdgeWrite], guard: &'g Guard) {
        let mut searches: SmallVec<[(&[u32], u32); 64]> = SmallVec::new();
        for (w, ends) in edges.iter().zip(self.targets.chunks_exact(2)) {
            let [out, inward] = ends else { continue };
            match w.op {
                // Looked for when it was made.
                EdgeOp::Create | EdgeOp::Nothing => {}
                EdgeOp::Upsert => {
                    let shorter = shorter(out, inward, guard);
                    searches.push((shorter.settled(guard), shorter.nbr));
                }
                EdgeOp::Delete => {
                    searches.extend([out, inward].map(|t| (t.settled(guard), t.nbr)));
                }
            }
        }
        warm_together(&mut searches);
    }

    fn plan_columns(&mut self, input: &PlanInput<'g>, guard: &'g Guard) -> Result<(), Error> {
        for w in input.writes.states.items() {
            self.want_place(input.states, w.vertex, guard)?;
            if w.created {
                self.latches.want(GROWTH_KEY, input.growth, Latch::stripe(w.vertex));
            }
            if w.state == 0 {
                for (id, ty) in input.catalog.edge_types() {
                    for direction in Direction::ALL {
                        let table = ty.table(direction);
                        if !table.may_hold(segment_of(w.vertex)) {
                            continue;
                        }
                        let held = ListGuard::find(id, table, w.vertex, &mut self.latches, guard);
                        self.guards.push(held);
                    }
                }
            }
        }
        for w in input.writes.vertex_properties.items() {
            // The vertex must go on existing: its state is latched, too.
            self.want_latch_only(input.states, w.vertex);
            self.want_place(input.catalog.vertex_column_for_write(w.key), w.vertex, guard)?;
        }
        for w in input.writes.edge_properties.items() {
            let ty = input.catalog.edge_type(w.ty)?;
            // The edge must go on existing: its out list is latched, too.
            let target = Target::find(ty.table(Direction::Out), w.src, w.dst, input.shared, guard)?;
            target.want_latch(&mut self.latches);
            self.targets.push(target);
            self.want_place(ty.column_for_write(w.key, input.catalog), w.place, guard)?;
        }
        Ok(())
    }

    fn plan_reads(&mut self, input: &PlanInput<'g>, guard: &'g Guard) -> Result<(), Error> {
        for read in input.reads {
            match *read {
                Read::State(v) => self.want_latch_only(input.states, v),
                Read::VertexProperty(v, key) => {
                    self.want_latch_only(input.catalog.vertex_column_for_write(key), v);
                }
                Read::Neighbours(id, direction, v) => {
                    let table = input.catalog.edge_type(id)?.table(direction);
                    let held = ListGuard::find(id, table, v, &mut self.latches, guard);
                    self.guards.push(held);
                }
                Read::EdgeProperty(id, ordinal, key) => {
                    let ty = input.catalog.edge_type(id)?;
                    self.want_latch_only(ty.column_for_write(key, input.catalog), ordinal);
                }
                // Latched with what the commit writes to the index, or with the edge's list, or
                // looked for without latches.
                Read::Index(_) | Read::Unnumbered(..) | Read::Unmade(..) => {}
                Read::AllStates => {
                    self.latches.want(GROWTH_KEY, input.growth, ALL_STRIPES);
                    for s in 0..input.states.segment_bound() {
                        if let Some(segment) = input.states.segment(s) {
                            let key = LatchKey::segment(input.states.id, s);
                            self.latches.want(key, &segment.latch, ALL_STRIPES);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn want_latch_only<C>(&mut self, table: &'g ColTable<C>, index: u32)
    where
        C: crate::column::Chunk + 'static,
    {
        let segment = table.segment_for_write(index);
        let key = LatchKey::segment(table.id, segment_of(index));
        self.latches.want(key, &segment.latch, Latch::stripe(local_of(index)));
    }

    fn want_place<C>(
        &mut self,
        table: &'g ColTable<C>,
        index: u32,
        guard: &Guard,
    ) -> Result<(), Error>
    where
        C: crate::column::Chunk + 'static,
    {
        let segment = table.ensure_tail(index, guard)?;
        self.want_latch_only(table, index);
        self.columns.push(segment);
        Ok(())
    }

    /// Whether what planning saw still holds, now that the latches are held.
    #[inline]
    pub(crate) fn is_valid(&self, guard: &Guard) -> bool {
        self.targets.iter().all(|t| t.is_valid(guard))
            && self.guards.iter().all(|g| g.is_valid(guard))
            && self.claims.iter().all(|c| c.is_valid(guard))
            && self.columns.iter().all(|p| p.has_tail(guard))
    }
}

/// The property written last of those at `place`: its writes count as changes of the edge.
pub(crate) fn edge_columns_changed(
    ty: &crate::catalog::EdgeType,
    place: u32,
    read_ts: u64,
    guard: &Guard,
) -> Option<PropertyKeyId> {
    if place == 0 {
        return None;
    }
    ty.columns().find_map(|(key, column)| {
        let segment = column.segment(segment_of(place))?;
        (segment.newest_ts(local_of(place), guard) > read_ts).then_some(key)
    })
}
