//! Commits that hold their segments as a whole.
//!
//! ```text
//!  collect   segments of lists, columns and indexes, once each   no latch
//!  latch     the words of all of them, ascending                 each made ready once it is held:
//!                                                                loaded, a tail, room for all
//!  chunks    of lists that are hubs, ascending                   the same
//!  validate
//!  layers    of columns, where a segment is written as a whole   layers.rs
//!  then      reserve, stamp, apply: nothing can be missing
//! ```
//!
//! Whoever rebuilds, drops or evicts a segment, or splits a chunk, holds the whole of its latch. So
//! what was made ready stays so, and which lists are hubs is known once every segment is held:
//! there is one attempt, whatever others do between any two steps. A chunk that is split while its
//! latch is waited for is looked up again; what comes of that cannot be split by others again
//! before it has grown by thousands of entries.
//!
//! Termination: each step is a loop over what the commit writes, or waits for a latch. Latches are
//! taken in the global order, and nobody waits for anything else with one held, so no cycle of
//! waiters forms. Settling for room needs no latch but the one that is held.
//!
//! Cost: time and memory are linear in what is written and in the segments that it touches; a
//! segment is settled once at most. Others who write to the same segments wait; readers do not.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch::Guard;
use foldhash::fast::RandomState;
use telar_graph::{Direction, EdgeTypeId};

use super::claim;
use super::layers::Layers;
use super::plan::{GROWTH_SEGMENT, PlanInput, Target, list_changed};
use super::protocol::{Done, Request, Step, input, is_aged, settle_list_of, stamp, step};
use super::validate::{Appends, Places, created, validate};
use super::write_set::{EdgeOp, EdgePropertyWrite, EdgeWrite, Read};
use crate::adjacency::hub::{Chunk, Hub, HubPlace};
use crate::adjacency::segment::Slot;
use crate::adjacency::{AdjTable, Entry, SEGMENT_BITS, local_of, segment_of, vertex_id};
use crate::catalog::STATE_TABLE;
use crate::column::{Room, Segments};
use crate::commit::maintenance::Maintenance;
use crate::error::{Error, Object};
use crate::failpoint;
use crate::latch::{ALL_STRIPES, Latch};
use crate::shared::Shared;

/// Segments that are noted more than once are put together when there are this many.
const MERGE_MIN: usize = 1 << 16;
/// Writes in a row mostly go to the same few segments.
pub(super) const RECENT: usize = 6;

/// Whose latch a word is.
#[derive(Clone, Copy)]
enum Owner<'g> {
    Lists(&'g AdjTable),
    Column(&'g dyn Segments),
    /// Words of an index.
    Words(&'g [Latch]),
    Growth(&'g Latch),
}

/// A segment, or another latch word, that the commit needs.
#[derive(Clone, Copy)]
pub(super) struct Want {
    /// Table and segment: its place in the order of latches.
    pub(super) key: u64,
    /// Most entries that are written to it.
    writes: usize,
    /// True if some of them have an ordinal.
    is_numbered: bool,
    /// Whether what the store has of it must be in memory.
    loads: bool,
    /// Whether all that is written is laid over it.
    pub(super) layer: bool,
}

impl Want {
    fn new(key: u64, writes: usize, loads: bool) -> Self {
        Self { key, writes, is_numbered: false, loads, layer: false }
    }

    /// Adds what is noted of the same segment.
    fn add(&mut self, other: &Self) {
        self.writes += other.writes;
        self.is_numbered |= other.is_numbered;
        self.loads |= other.loads;
    }

    fn segment(self) -> u32 {
        self.key as u32
    }

    fn table(self) -> u32 {
        (self.key >> 32) as u32
    }
}

/// What a commit needs.
#[derive(Default)]
struct Wants<'g> {
    found: Vec<Want>,
    merged: usize,
    owners: HashMap<u32, Owner<'g>, RandomState>,
}

impl<'g> Wants<'g> {
    #[inline]
    fn add(&mut self, table: u32, segment: u32, writes: usize, owner: impl FnOnce() -> Owner<'g>) {
        self.want(Want::new(key(table, segment), writes, writes > 0), owner);
    }

    #[inline]
    fn want(&mut self, want: Want, owner: impl FnOnce() -> Owner<'g>) {
        if let Some(same) = self.found.iter_mut().rev().take(RECENT).find(|w| w.key == want.key) {
            same.add(&want);
            return;
        }
        self.owners.entry(want.table()).or_insert_with(owner);
        self.found.push(want);
        if self.found.len() >= MERGE_MIN.max(2 * self.merged) {
            self.merge();
        }
    }

    /// Puts together what was noted of one segment; ascending.
    fn merge(&mut self) {
        self.found.sort_unstable_by_key(|w| w.key);
        self.found.dedup_by(|next, kept| {
            let same = next.key == kept.key;
            if same {
                kept.add(next);
            }
            same
        });
        self.merged = self.found.len();
    }

    fn collect(&mut self, input: &PlanInput<'g>) -> Result<(), Error> {
        let (writes, catalog, stop) = (input.writes, input.catalog, input.stop);
        let column = |c: &'g dyn Segments| move || Owner::Column(c);
        let state = column(input.states);
        for w in writes.states.items() {
            stop.step()?;
            self.add(STATE_TABLE, segment_of(w.vertex), 1, state);
            if w.created {
                self.growth(input);
            }
        }
        for w in writes.vertex_properties.items() {
            stop.step()?;
            // The vertex must go on existing: its state is latched, too.
            self.add(STATE_TABLE, segment_of(w.vertex), 0, state);
            let table = catalog.vertex_column_for_write(w.key);
            self.add(table.id, segment_of(w.vertex), 1, column(table));
        }
        for w in writes.edges.items().iter().filter(|w| w.op != EdgeOp::Nothing) {
            stop.step()?;
            let ty = catalog.edge_type(w.ty)?;
            for (direction, v) in [(Direction::Out, w.src), (Direction::In, w.dst)] {
                let table = ty.table(direction);
                let want = Want::new(key(table.id, segment_of(v)), 1, true);
                let want = Want { is_numbered: w.is_numbered(), ..want };
                self.want(want, || Owner::Lists(table));
            }
        }
        for w in writes.edge_properties.items() {
            stop.step()?;
            let ty = catalog.edge_type(w.ty)?;
            // The edge must go on existing: its out list is latched, too.
            let table = ty.table(Direction::Out);
            let list = Want::new(key(table.id, segment_of(w.src)), 0, true);
            self.want(list, || Owner::Lists(table));
            let table = ty.column_for_write(w.key, catalog);
            self.add(table.id, segment_of(w.place), 1, column(table));
        }
        for DeletedLists { table, segment, .. } in deleted_lists(input)? {
            self.add(table.id, segment, 0, || Owner::Lists(table));
        }
        for claim in &writes.claims {
            stop.step()?;
            let table = claim.table(catalog)?;
            self.add(table.id, segment_of(claim.vertex), 0, || Owner::Lists(table));
        }
        for read in input.reads {
            stop.step()?;
            match *read {
                Read::State(v) => self.add(STATE_TABLE, segment_of(v), 0, state),
                Read::VertexProperty(v, key) => {
                    let table = catalog.vertex_column_for_write(key);
                    self.add(table.id, segment_of(v), 0, column(table));
                }
                Read::Neighbours(id, direction, v) => {
                    let table = catalog.edge_type(id)?.table(direction);
                    self.add(table.id, segment_of(v), 0, || Owner::Lists(table));
                }
                Read::EdgeProperty(id, ordinal, key) => {
                    let table = catalog.edge_type(id)?.column_for_write(key, catalog);
                    self.add(table.id, segment_of(ordinal), 0, column(table));
                }
                // Latched with what the commit writes to the index, or with the edge's list, or
                // looked for without latches.
                Read::Index(_) | Read::Unnumbered(..) | Read::Unmade(..) => {}
                Read::AllStates => {
                    self.growth(input);
                    let all = 0..input.states.segment_bound();
                    all.for_each(|number| self.add(STATE_TABLE, number, 0, state));
                }
            }
        }
        Ok(())
    }

    fn growth(&mut self, input: &PlanInput<'g>) {
        let growth = Want::new(key(STATE_TABLE, GROWTH_SEGMENT), 0, false);
        // Of the table of states, too, whose owner is another.
        if self.owners.insert(GROWTH_OWNER, Owner::Growth(input.growth)).is_none() {
            self.found.push(growth);
        }
    }

    fn owner(&self, want: Want) -> Owner<'g> {
        let growth = want.key == key(STATE_TABLE, GROWTH_SEGMENT);
        self.owners[&if growth { GROWTH_OWNER } else { want.table() }]
    }
}

/// Key of the owner of the growth latch: no table has this number.
const GROWTH_OWNER: u32 = u32::MAX;

pub(super) fn key(table: u32, segment: u32) -> u64 {
    u64::from(table) << 32 | u64::from(segment)
}

/// Lists of one segment that vertices are deleted with.
struct DeletedLists<'g> {
    ty: EdgeTypeId,
    table: &'g AdjTable,
    segment: u32,
    /// Whose lists: there may be entries.
    vertices: Arc<[u32]>,
}

/// The lists of the vertices that are deleted: they must not have changed.
fn deleted_lists<'g>(input: &PlanInput<'g>) -> Result<Vec<DeletedLists<'g>>, Error> {
    let states = input.writes.states.items().iter();
    let mut deleted: Vec<u32> = states.filter(|w| w.state == 0).map(|w| w.vertex).collect();
    deleted.sort_unstable();
    let mut lists = Vec::new();
    for same in deleted.chunk_by(|a, b| segment_of(*a) == segment_of(*b)) {
        let (segment, all) = (segment_of(same[0]), Arc::<[u32]>::from(same));
        for (id, ty) in input.catalog.edge_types() {
            input.stop.step()?;
            for table in Direction::ALL.map(|d| ty.table(d)) {
                if table.may_hold(segment) {
                    let vertices = Arc::clone(&all);
                    lists.push(DeletedLists { ty: id, table, segment, vertices });
                }
            }
        }
    }
    Ok(lists)
}

/// A hub, or one of its chunks, that the commit needs.
#[derive(Clone, Copy)]
struct WantChunk<'g> {
    key: u64,
    local: u32,
    /// The neighbour whose chunk it is; none for all of them.
    nbr: Option<u32>,
    writes: usize,
    /// True if some of them have an ordinal.
    is_numbered: bool,
    table: &'g AdjTable,
    hub: &'g Hub,
}

/// What a commit holds.
struct Whole<'g> {
    wants: Wants<'g>,
    /// How many of them are latched.
    held: usize,
    chunks: Vec<&'g Chunk>,
    /// For each edge write: nothing, or what a delete deletes in the out list and the in list.
    decided: Vec<Decided>,
    /// Segments and chunks that settling may be due for.
    split: Vec<Split>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Decided {
    in_out: u32,
    in_in: u32,
}

/// Nothing is appended: no list has that many places.
const NOTHING: Decided = Decided { in_out: u32::MAX, in_in: u32::MAX };

/// A hub chunk that was written to.
#[derive(Debug, Clone, Copy)]
struct Split {
    table: u32,
    vertex: u32,
    nbr: u32,
}

impl Drop for Whole<'_> {
    fn drop(&mut self) {
        self.release();
    }
}

impl<'g> Whole<'g> {
    fn latch(&self, want: Want) -> &'g Latch {
        match self.wants.owner(want) {
            Owner::Lists(table) => &table.segment_for_write(want.segment()).segment.latch,
            Owner::Column(column) => column.latch(want.segment()),
            Owner::Words(words) => &words[want.segment() as usize],
            Owner::Growth(latch) => latch,
        }
    }

    /// Takes everything, in order, and makes it ready.
    fn acquire(&mut self, request: &Request<'_>, guard: &'g Guard) -> Result<(), Error> {
        let Request { shared, stop, .. } = *request;
        for at in 0..self.wants.found.len() {
            let want = self.wants.found[at];
            if !self.latch(want).acquire_unless(ALL_STRIPES, &mut || stop.is_asked()) {
                return Err(Error::Interrupted);
            }
            self.held += 1;
            step(Step::Latched);
            match self.wants.owner(want) {
                Owner::Lists(table) if want.writes > 0 => {
                    let segment = table.segment_for_write(want.segment());
                    let aged = |base_ts| is_aged(base_ts, shared);
                    let place = (table, want.segment());
                    let writes = (want.writes, want.is_numbered);
                    segment.make_ready(place, writes, aged, || shared.horizon(), guard)?;
                    let tail = segment.version(guard).and_then(|v| v.tail.as_ref());
                    if tail.is_some_and(|tail| aged(tail.base_ts)) {
                        return Err(Error::SnapshotTooOld);
                    }
                }
                Owner::Lists(table) if want.loads => table.load_latched(want.segment(), guard)?,
                Owner::Column(column) if want.writes > 0 => {
                    let room = column.make_ready(want.segment(), want.writes, guard)?;
                    self.wants.found[at].layer = room == Room::Layer;
                }
                _ => {}
            }
            // Making ready may take some time each.
            stop.check()?;
        }
        Ok(())
    }

    /// The hubs that are written to or must not change, in order. Every segment is held.
    fn hubs(&self, input: &PlanInput<'g>, guard: &'g Guard) -> Result<Vec<WantChunk<'g>>, Error> {
        let mut found = Vec::new();
        let has_hubs = |want: &&Want| match self.wants.owner(**want) {
            Owner::Lists(table) => {
                let version = table.segment(want.segment()).and_then(|s| s.version(guard));
                version.is_some_and(|v| v.tail.as_ref().is_some_and(|t| !t.hubs.is_empty()))
            }
            _ => false,
        };
        if !self.wants.found.iter().any(|w| has_hubs(&w)) {
            return Ok(found);
        }
        let mut add = |table: &'g AdjTable, v: u32, nbr: Option<u32>, writes, is_numbered| {
            let (number, local) = (segment_of(v), local_of(v));
            let version = table.segment(number).and_then(|s| s.version(guard));
            if let Some(version) = version
                && let Slot::Hub(hub) = version.decode(version.slot_word(local))
            {
                let key = key(table.id, number);
                found.push(WantChunk { key, local, nbr, writes, is_numbered, table, hub });
            }
        };
        for w in input.writes.edges.items().iter().filter(|w| w.op != EdgeOp::Nothing) {
            input.stop.step()?;
            let ty = input.catalog.edge_type(w.ty)?;
            add(ty.table(Direction::Out), w.src, Some(w.dst), 1, w.is_numbered());
            add(ty.table(Direction::In), w.dst, Some(w.src), 1, w.is_numbered());
        }
        for w in input.writes.edge_properties.items() {
            input.stop.step()?;
            let ty = input.catalog.edge_type(w.ty)?;
            add(ty.table(Direction::Out), w.src, Some(w.dst), 0, false);
        }
        for DeletedLists { table, vertices, .. } in deleted_lists(input)? {
            vertices.iter().for_each(|v| add(table, *v, None, 0, false));
        }
        for claim in &input.writes.claims {
            add(claim.table(input.catalog)?, claim.vertex, claim.other_vertex(), 0, false);
        }
        for read in input.reads {
            if let Read::Neighbours(id, direction, v) = *read {
                add(input.catalog.edge_type(id)?.table(direction), v, None, 0, false);
            }
        }
        found.sort_unstable_by_key(|w| (w.key, w.local, w.nbr));
        Ok(found)
    }

    /// Takes the chunks of hubs, in order, and makes them ready.
    fn acquire_chunks(
        &mut self,
        input: &PlanInput<'g>,
        shared: &Shared,
        guard: &'g Guard,
    ) -> Result<(), Error> {
        let hubs = self.hubs(input, guard)?;
        for same in hubs.chunk_by(|a, b| (a.key, a.local) == (b.key, b.local)) {
            let first = self.chunks.len();
            let hub = same[0].hub;
            // One that wants all of them comes first.
            if same[0].nbr.is_none() {
                let mut next = Some(0);
                while let Some(nbr) = next {
                    let chunk = self.acquire_chunk(hub, nbr, input, guard)?;
                    // What is held is not split, and neither is what comes before it.
                    let chunks = hub.chunks(guard);
                    let at = chunks.partition_point(|c| c.first <= chunk.first);
                    next = chunks.get(at).map(|c| c.first);
                }
            }
            let writes = |w: &WantChunk<'_>| Some((w.nbr?, w.writes, w.is_numbered));
            let mut written = same.iter().filter_map(writes).peekable();
            while let Some((nbr, writes, is_numbered)) = written.next() {
                let held = &self.chunks[first..];
                let found = hub.chunk(nbr, guard);
                // Ascending; of two chunks of a hub that begin at one id, one is retired.
                let chunk = match held.binary_search_by_key(&found.first, |c| c.first) {
                    Ok(at) => held[at],
                    Err(_) => self.acquire_chunk(hub, nbr, input, guard)?,
                };
                let (mut writes, mut is_numbered) = (writes, is_numbered);
                let is_in = |nbr| std::ptr::eq(hub.chunk(nbr, guard), chunk);
                while let Some((_, more, numbered)) = written.next_if(|(nbr, ..)| is_in(*nbr)) {
                    writes += more;
                    is_numbered |= numbered;
                }
                if writes > 0 {
                    make_chunk_ready(chunk, &same[0], (writes, is_numbered), shared, guard)?;
                    let vertex = (same[0].key as u32) << SEGMENT_BITS | same[0].local;
                    self.split.push(Split { table: same[0].table.id, vertex, nbr });
                }
            }
        }
        Ok(())
    }

    /// Takes the chunk of a hub that holds `nbr`.
    fn acquire_chunk(
        &mut self,
        hub: &'g Hub,
        nbr: u32,
        input: &PlanInput<'g>,
        guard: &'g Guard,
    ) -> Result<&'g Chunk, Error> {
        loop {
            let chunk = hub.chunk(nbr, guard);
            if !chunk.latch.acquire_unless(ALL_STRIPES, &mut || input.stop.is_asked()) {
                return Err(Error::Interrupted);
            }
            if !chunk.is_retired() {
                self.chunks.push(chunk);
                return Ok(chunk);
            }
            // Split while it was waited for.
            chunk.latch.release(ALL_STRIPES);
        }
    }

    /// What edge write number `i` appends.
    fn appends(&self, i: usize, w: &EdgeWrite, out: &Target<'_>) -> Option<Appends> {
        let Decided { in_out, in_in } = self.decided[i];
        if self.decided[i] == NOTHING {
            return None;
        }
        let delete = |position| (Entry::simple(position), true);
        Some(match w.op {
            EdgeOp::Delete => (delete(in_out), delete(in_in)),
            _ => created(w, out.table.kind),
        })
    }

    /// Calls `f` with each list that is appended to and what; ends with the first that it refuses.
    fn each_append(
        &self,
        input: &PlanInput<'g>,
        guard: &'g Guard,
        mut f: impl FnMut(&Target<'g>, Entry, bool) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for (i, w) in input.writes.edges.items().iter().enumerate() {
            if self.decided[i] == NOTHING {
                continue;
            }
            let (out, inward) = self.ends_of(input, w, guard);
            if let Some(((to_out, delete), (to_in, _))) = self.appends(i, w, &out) {
                f(&out, to_out, delete)?;
                f(&inward, to_in, delete)?;
            }
        }
        Ok(())
    }

    fn ends_of(
        &self,
        input: &PlanInput<'g>,
        w: &EdgeWrite,
        guard: &'g Guard,
    ) -> (Target<'g>, Target<'g>) {
        let ty = input.catalog.edge_type(w.ty).expect("INVARIANT: looked up while collecting");
        let look = |table: &'g AdjTable, v, nbr| {
            Target::look(table, table.segment_for_write(segment_of(v)), v, nbr, guard)
        };
        (look(ty.table(Direction::Out), w.src, w.dst), look(ty.table(Direction::In), w.dst, w.src))
    }

    fn reserve(&self, input: &PlanInput<'g>, guard: &'g Guard) -> Result<(), Error> {
        let reserved = self.each_append(input, guard, |target, entry, _| {
            input.stop.step()?;
            match target.reserve(&entry, guard) {
                (_, true) => Ok(()),
                // More than an arena can have.
                (_, false) => Err(too_many()),
            }
        });
        if reserved.is_err() {
            self.unreserve(input, guard);
        }
        reserved
    }

    fn unreserve(&self, input: &PlanInput<'g>, guard: &'g Guard) {
        let all = self.each_append(input, guard, |target, _, _| {
            target.unreserve(guard);
            Ok(())
        });
        debug_assert!(all.is_ok(), "nothing is refused");
    }

    /// Returns how many edges came and went.
    fn apply(
        &self,
        input: &PlanInput<'g>,
        layers: Layers<'g>,
        ts: u64,
        guard: &'g Guard,
    ) -> (u64, u64) {
        for want in self.wants.found.iter().filter(|w| w.writes > 0) {
            if let Owner::Lists(table) = self.wants.owner(*want) {
                let segment = table.segment_for_write(want.segment());
                segment.last_write.fetch_max(ts, Ordering::Relaxed);
            }
        }
        let (mut added, mut removed) = (0, 0);
        let all = self.each_append(input, guard, |target, entry, delete| {
            if delete
                && target.chunk.is_none()
                && let Some(version) = target.segment.version(guard)
            {
                version.mark_deleted(target.local, entry.nbr, ts);
            }
            target.push(&entry, delete, ts, guard);
            *if delete { &mut removed } else { &mut added } += 1;
            Ok(())
        });
        debug_assert!(all.is_ok(), "nothing is refused");
        layers.apply(input, ts, guard);
        // Two appends, one for each end, per edge.
        (added / 2, removed / 2)
    }

    fn release(&mut self) {
        for chunk in self.chunks.drain(..).rev() {
            chunk.latch.release(ALL_STRIPES);
        }
        for at in (0..std::mem::take(&mut self.held)).rev() {
            self.latch(self.wants.found[at]).release(ALL_STRIPES);
        }
    }
}

fn too_many() -> Error {
    let what = "edges that one transaction writes at vertices whose ids are close to each other";
    Error::TooMany { what, max: 1 << 25 }
}

fn make_chunk_ready(
    chunk: &Chunk,
    want: &WantChunk<'_>,
    writes: (usize, bool),
    shared: &Shared,
    guard: &Guard,
) -> Result<(), Error> {
    let (segment, local) = (want.key as u32, want.local);
    let place = HubPlace { undo: &want.table.undo, segment, local };
    let aged = |base_ts| is_aged(base_ts, shared);
    let kind = want.table.kind;
    if !chunk.make_ready(kind, writes, place, aged, || shared.horizon(), guard) {
        return Err(too_many());
    }
    if aged(chunk.version(guard).base_ts) { Err(Error::SnapshotTooOld) } else { Ok(()) }
}

impl<'g> Places<'g> for (&mut Whole<'g>, &PlanInput<'g>) {
    fn ends(&self, _: usize, w: &EdgeWrite, guard: &'g Guard) -> (Target<'g>, Target<'g>) {
        self.0.ends_of(self.1, w, guard)
    }

    fn of_property(
        &self,
        input: &PlanInput<'g>,
        _: usize,
        w: &EdgePropertyWrite,
        guard: &'g Guard,
    ) -> Target<'g> {
        let ty = input.catalog.edge_type(w.ty).expect("INVARIANT: looked up while collecting");
        let table = ty.table(Direction::Out);
        Target::look(table, table.segment_for_write(segment_of(w.src)), w.src, w.dst, guard)
    }

    fn append(&mut self, i: usize, ((to_out, delete), (to_in, _)): Appends) {
        let place = |entry: Entry| if delete { entry.nbr } else { 0 };
        self.0.decided[i] = Decided { in_out: place(to_out), in_in: place(to_in) };
    }

    fn check_lists(
        &self,
        input: &PlanInput<'g>,
        read_ts: u64,
        guard: &'g Guard,
    ) -> Result<(), Error> {
        let changed = |table: &'g AdjTable, v: u32| {
            let segment = table.segment(segment_of(v));
            segment.is_some_and(|segment| {
                segment.last_write.load(Ordering::Relaxed) > read_ts
                    && list_changed(segment, local_of(v), read_ts, guard)
            })
        };
        let conflict =
            |v, ty| Err(Error::Conflict { object: Object::Neighbours(vertex_id(v), ty) });
        for DeletedLists { ty, table, vertices, .. } in deleted_lists(input)? {
            input.stop.step()?;
            if let Some(v) = vertices.iter().find(|v| changed(table, **v)) {
                return conflict(*v, ty);
            }
        }
        for read in input.reads {
            input.stop.step()?;
            if let Read::Neighbours(ty, direction, v) = *read
                && changed(input.catalog.edge_type(ty)?.table(direction), v)
            {
                return conflict(v, ty);
            }
        }
        Ok(())
    }
}

/// Commits, holding every segment as a whole.
pub(super) fn commit<'g>(
    request: &Request<'g>,
    indexes: &mut Maintenance<'g>,
    payload: &mut Option<Vec<u8>>,
    touched: &mut Touched,
    guard: &'g Guard,
) -> Result<Option<Done>, Error> {
    let Request { shared, writes, mode, stop, .. } = *request;
    let input = input(request);
    let mut wants = Wants::default();
    wants.collect(&input)?;
    indexes.want_all(|table, words, number| {
        wants.add(table, number, 0, || Owner::Words(words));
    });
    wants.merge();
    let decided = vec![NOTHING; writes.edges.items().len()];
    let mut whole = Whole { wants, held: 0, chunks: Vec::new(), decided, split: Vec::new() };
    step(Step::Collected);
    whole.acquire(request, guard)?;
    whole.acquire_chunks(&input, shared, guard)?;
    failpoint!("commit::latched");
    if shared.gate.is_shut() && mode.is_live() {
        return Err(Error::Conflict { object: Object::BulkLoad });
    }
    if !validate(&mut (&mut whole, &input), &input, mode.read_ts(), guard)? {
        return Ok(None);
    }
    // Nothing that keys depend on changes any more.
    indexes.look(stop, guard)?;
    indexes.validate(mode, guard)?;
    claim::validate(&request.writes.claims, shared, mode.read_ts(), guard)?;
    // What could not be read came out empty: nothing may be decided by it.
    shared.check_stored()?;
    let layers = Layers::make(&whole.wants.found, &input, guard)?;
    whole.reserve(&input, guard)?;
    let payload_bytes = payload.as_ref().map_or(0, Vec::len);
    let commit_ts = match stamp(request, payload) {
        Ok(ts) => ts,
        Err(e) => {
            whole.unreserve(&input, guard);
            return Err(e);
        }
    };
    let (edges_added, edges_removed) = shared.write_while(commit_ts, payload_bytes, || {
        let changed = whole.apply(&input, layers, commit_ts, guard);
        indexes.apply(commit_ts, guard);
        changed
    });
    failpoint!("commit::applied");
    whole.release();
    shared.clock.mark_applied(commit_ts);
    let written = whole.wants.found.iter().filter(|w| w.writes > 0);
    touched.segments = written.map(|w| w.key).collect();
    touched.split = std::mem::take(&mut whole.split);
    Ok(Some(Done { ts: commit_ts, edges_added, edges_removed }))
}

/// What a commit wrote to, by segment.
#[derive(Debug, Default)]
pub(super) struct Touched {
    segments: Vec<u64>,
    split: Vec<Split>,
}

impl Touched {
    pub(super) fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Settles what the commit filled up, and splits hub chunks that it made too large.
    pub(super) fn settle(&self, shared: &Shared) {
        let horizon = || shared.horizon();
        let mut lists: HashMap<u32, &AdjTable, RandomState> = HashMap::default();
        let mut columns: HashMap<u32, &dyn Segments, RandomState> = HashMap::default();
        columns.insert(STATE_TABLE, &shared.states);
        for (_, column) in shared.catalog.vertex_columns() {
            columns.insert(column.id, column);
        }
        for (_, ty) in shared.catalog.edge_types() {
            lists.extend(Direction::ALL.map(|d| (ty.table(d).id, ty.table(d))));
            for (_, column) in ty.columns() {
                columns.insert(column.id, column);
            }
        }
        for key in &self.segments {
            // One pin per segment: old versions are freed as it goes on.
            let guard = &crossbeam_epoch::pin();
            let (table, number) = ((key >> 32) as u32, *key as u32);
            if let Some(column) = columns.get(&table) {
                column.settle_full(number, &horizon, guard);
            } else if let Some(table) = lists.get(&table) {
                // Any vertex stands for the segment's tail.
                settle_list_of(table, number << SEGMENT_BITS, 0, shared, guard);
            }
        }
        for split in &self.split {
            let guard = &crossbeam_epoch::pin();
            if let Some(table) = lists.get(&split.table) {
                settle_list_of(table, split.vertex, split.nbr, shared, guard);
            }
        }
    }
}
