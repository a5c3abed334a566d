//! The graph of neighbours of a vector index (`telar_vector`): which entries are near a vector.
//!
//! ```text
//!  commit ─► tree: key (hash of the vector) and object      as of every index
//!         └► waiting: entries that are not linked yet
//!                       │  linked 64 at a time, by whoever commits, or the background thread
//!                       ▼
//!            graph of neighbours, a slot for each vector, known by its key
//!
//!  search ─► keys of slots that are near ─► objects with these keys, from the tree
//!         └► every object that waits
//! ```
//!
//! It is read from its file, if there is one (`near_file.rs`), when it is first asked for; what the
//! tree has besides waits to be linked. An object that a search gives may have another vector at
//! the snapshot that asks, or none: whoever asks reads the vectors, and ranks by them. So the graph
//! needs no timestamps.
//!
//! Invariants
//! 1. For each entry of the tree, once `is_complete`: its key is in the graph, or it waits, or its
//!    object is among the `changed`. An entry is added to the tree before it is noted here, and
//!    noting begins before the tree is read.
//! 2. The vector of an entry is read when it is linked. If the object has another vector by then,
//!    that one has an entry of its own, and only snapshots from before want this one: its object is
//!    among the `changed` until there is none.
//! 3. Nothing is taken out of the graph. When half of it is of no use, another one is made beside
//!    it, and takes its place.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use crossbeam_epoch as epoch;
use parking_lot::{Mutex, RwLock};
use telar_graph::PropertyKeyId;
use telar_graph::view::NearSearch;
use telar_vector::{BLOCK_SLOTS, Found, Neighbours, Scratch};

use super::change::Change;
use super::key::{Item, SortKey};
use super::kind::vector::{key_of, parts_of};
use super::near_file::{self, Part};
use super::source::{NOW, Source};
use super::{Entries, Index, IndexTarget};
use crate::error::Error;
use crate::graph::Graph;
use crate::stop::Stop;

/// So many numbers of vectors are compared one by one, without a graph; each vector costs some more
/// to read.
const COMPARED_MAX: u64 = if cfg!(test) { 1 << 12 } else { 1 << 20 };
const READ_NUMBERS: u64 = 64;
/// Numbers of a vector where the index does not say.
const USUAL_DIMENSIONS: u16 = 512;

/// So many entries may wait before a commit links some.
const WAITING_MAX: usize = 256;
/// With so many, a commit waits for its turn to link.
const WAITING_LIMIT: usize = 8192;
/// With so many, and such a share of what is linked, it is quicker to read the vectors of all
/// objects in their order.
const WAITING_READ_MAX: usize = 1 << 14;
const WAITING_READ_SHARE: usize = 8;
/// Blocks that a commit links at least: some 40 ms of work.
const COMMIT_BLOCKS: usize = 1;
/// Blocks that are linked before somebody looks whether to go on.
const STEP_BLOCKS: usize = 8;
/// Blocks that are linked, by several threads, before the making of an index can be given up.
const PREPARED_BLOCKS: usize = 128;
/// So many blocks are added by several threads.
const PARALLEL_BLOCKS: usize = 64;
/// Slots beside those in use before a graph is made anew.
const SPARE_SLOTS: u64 = if cfg!(test) { 256 } else { 4096 };

/// An entry that is not linked.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    dimensions: u16,
    fingerprint: u64,
    item: Item<3>,
}

impl Waiting {
    fn new(key: &SortKey, item: Item<3>) -> Self {
        let (dimensions, fingerprint) = parts_of(key);
        Self { dimensions, fingerprint, item }
    }
}

/// A graph and what is not in it.
#[derive(Debug, Default)]
struct State {
    /// The tree was read.
    is_complete: bool,
    /// For each length of vectors one.
    graphs: Vec<Arc<Neighbours>>,
    waiting: Vec<Waiting>,
    /// Objects whose vectors changed before they were linked, and when that was known.
    changed: Vec<(u64, Item<3>)>,
    /// Slots that are in the file.
    saved: usize,
}

impl State {
    fn graph(&self, dimensions: usize) -> Option<&Arc<Neighbours>> {
        self.graphs.iter().find(|graph| graph.dimensions() == dimensions)
    }

    fn slots(&self) -> u64 {
        self.graphs.iter().map(|graph| graph.len() as u64).sum()
    }

    fn bytes(&self) -> usize {
        self.graphs.iter().map(|graph| graph.bytes()).sum::<usize>()
            + self.waiting.capacity() * size_of::<Waiting>()
            + self.changed.capacity() * size_of::<(u64, Item<3>)>()
    }
}

#[derive(Debug, Default)]
struct States {
    /// None before somebody asks.
    now: Option<State>,
    /// The state that will take its place.
    next: Option<State>,
}

impl States {
    /// The one that is linked first: what takes another's place has to catch up.
    fn linked(&mut self) -> Option<&mut State> {
        self.next.as_mut().or(self.now.as_mut())
    }
}

/// The graph of an index.
#[derive(Debug, Default)]
pub(crate) struct Near {
    states: RwLock<States>,
    /// Entries that wait, as a hint.
    waiting: AtomicUsize,
    /// Held to read the tree, and to link.
    linking: Mutex<()>,
    /// Memory of searches that have ended.
    scratches: Arc<Mutex<Vec<Scratch>>>,
}

/// The findings of a search.
#[derive(Debug)]
pub(crate) struct FoundNear {
    /// Keys of vectors, the nearest first.
    pub(crate) keys: Vec<SortKey>,
    /// Objects besides.
    pub(crate) items: Vec<Item<3>>,
    /// Square of the distance up to which keys were found; infinite if all were.
    pub(crate) reach: f32,
    /// Number of vectors, about.
    pub(crate) of: u64,
}

/// A search that may go on: what was added to the graph meanwhile may be found, too, and what its
/// snapshot sees was in the graph, or given, when it began.
#[derive(Debug)]
struct SearchState {
    graph: Arc<Neighbours>,
    scratch: Scratch,
    /// Where the scratch came from.
    scratches: Arc<Mutex<Vec<Scratch>>>,
}

impl Drop for SearchState {
    fn drop(&mut self) {
        self.scratches.lock().push(std::mem::take(&mut self.scratch));
    }
}

impl SearchState {
    fn begin(&mut self, vector: &[f32], wanted: usize, effort: usize) -> FoundNear {
        let (graph, scratch) = (&self.graph, &mut self.scratch);
        Self::collect(graph, wanted, graph.begin(vector, effort, scratch))
    }

    fn go_on(&mut self, wanted: usize, effort: usize) -> FoundNear {
        let (graph, scratch) = (&self.graph, &mut self.scratch);
        Self::collect(graph, wanted, graph.go_on(effort, scratch))
    }

    fn collect(graph: &Neighbours, wanted: usize, near: impl Iterator<Item = Found>) -> FoundNear {
        let (mut keys, mut seen, mut last) = (Vec::new(), 0, 0.0);
        for found in near.take(wanted) {
            if found.is_new {
                keys.push(key_of(graph.dimensions() as u16, found.key));
            }
            seen += 1;
            last = found.distance;
        }
        let reach = if seen >= wanted { last } else { f32::INFINITY };
        FoundNear { keys, items: Vec::new(), reach, of: graph.len() as u64 }
    }
}

/// True if so many entries are compared one by one.
pub(crate) fn are_few(entries: u64, dimensions: Option<u16>) -> bool {
    let dimensions = dimensions.unwrap_or(USUAL_DIMENSIONS);
    entries * (READ_NUMBERS + u64::from(dimensions)) <= COMPARED_MAX
}

impl Near {
    /// Notes entries that a commit has added to the tree; it is not visible yet.
    pub(crate) fn note(&self, changes: &[Change]) {
        let mut states = self.states.write();
        let States { now, next } = &mut *states;
        for state in [now, next].into_iter().flatten() {
            let new = changes.iter().filter_map(|c| Some(Waiting::new(c.after()?, c.item)));
            state.waiting.extend(new);
        }
        let waiting = states.linked().map_or(0, |state| state.waiting.len());
        self.waiting.store(waiting, Ordering::Relaxed);
    }

    /// Forgets everything: entries are added that are not noted.
    pub(crate) fn forget(&self) {
        let _one_at_a_time = self.linking.lock();
        *self.states.write() = States::default();
        self.waiting.store(0, Ordering::Relaxed);
    }

    /// Whether it was asked for.
    pub(crate) fn is_begun(&self) -> bool {
        self.states.read().now.is_some()
    }

    /// Reads file and tree, unless that was done.
    pub(crate) fn begin(&self, index: &Index, graph: &Graph) {
        if self.is_begun() {
            return;
        }
        let _one_at_a_time = self.linking.lock();
        if !self.is_begun() {
            let graphs = near_file::load(index, graph);
            let saved = graphs.iter().map(|graph| graph.len()).sum();
            let state = State { graphs: graphs.clone(), saved, ..State::default() };
            self.states.write().now = Some(state);
            self.read_tree(index, &graphs, |states| states.now.as_mut());
        }
    }

    /// Lets the entries of the tree wait whose vectors are in none of the graphs.
    fn read_tree(
        &self,
        index: &Index,
        graphs: &[Arc<Neighbours>],
        of: impl Fn(&mut States) -> Option<&mut State>,
    ) {
        let slots = graphs.iter().map(|graph| graph.len()).sum();
        let hasher = foldhash::fast::RandomState::default();
        let mut linked: HashSet<SortKey, _> = HashSet::with_capacity_and_hasher(slots, hasher);
        for graph in graphs {
            let dimensions = graph.dimensions() as u16;
            graph.for_each_key(|key| {
                linked.insert(key_of(dimensions, key));
            });
        }
        let mut waiting = Vec::new();
        index.for_each_item(|key, item| {
            if !linked.contains(key) {
                waiting.push(Waiting::new(key, item));
            }
        });
        let mut states = self.states.write();
        if let Some(state) = of(&mut states) {
            // Behind what was noted meanwhile: both may be there, which does no harm.
            state.waiting.extend(waiting);
            state.is_complete = true;
            self.waiting.store(state.waiting.len(), Ordering::Relaxed);
        }
    }

    /// Makes the graph of an index that was built, if it is to have one, unless it is given up.
    pub(crate) fn prepare(
        &self,
        index: &Index,
        graph: &Graph,
        stop: &Stop<'_>,
    ) -> Result<(), Error> {
        let vectors = index.definition.vectors();
        if vectors.is_some_and(|of| !are_few(index.len(), of.dimensions)) {
            self.begin(index, graph);
            while self.link(index, graph, PREPARED_BLOCKS) {
                stop.check()?;
            }
        }
        Ok(())
    }

    /// Vectors that are near one, as many as are wanted, those that the search has given before
    /// left out; `None` if it is better to read all.
    pub(crate) fn find(&self, search: &mut NearSearch<'_>) -> Option<FoundNear> {
        let wanted = search.wanted;
        let effort = search.effort.max(wanted);
        if let Some(before) = &mut search.state {
            let before = before.downcast_mut::<SearchState>()?;
            return Some(before.go_on(wanted, effort));
        }
        let states = self.states.read();
        let state = states.now.as_ref().filter(|state| state.is_complete)?;
        let read_max = WAITING_READ_MAX.max(state.slots() as usize / WAITING_READ_SHARE);
        if state.waiting.len() > read_max {
            return None;
        }
        let changed = state.changed.iter().map(|(_, item)| *item);
        let items = state.waiting.iter().map(|waiting| waiting.item).chain(changed).collect();
        let graph = state.graph(search.vector.len()).cloned();
        drop(states);
        let Some(graph) = graph else {
            return Some(FoundNear { keys: Vec::new(), items, reach: f32::INFINITY, of: 0 });
        };
        let scratches = Arc::clone(&self.scratches);
        let scratch = scratches.lock().pop().unwrap_or_default();
        let mut state = SearchState { graph, scratch, scratches };
        let mut found = state.begin(search.vector, wanted, effort);
        found.items = items;
        search.state = Some(Box::new(state));
        Some(found)
    }

    /// The graphs, if they are to be written to their file and nobody is just linking: what is
    /// there now has its links.
    pub(super) fn due_parts(&self) -> Option<Vec<Part>> {
        let _nobody_links = self.linking.try_lock()?;
        let states = self.states.read();
        let state = states.now.as_ref().filter(|state| state.is_complete)?;
        if states.next.is_some() || !near_file::is_due(state.slots() as usize, state.saved) {
            return None;
        }
        Some(state.graphs.iter().map(|graph| (Arc::clone(graph), graph.len())).collect())
    }

    /// Notes that these were written.
    pub(super) fn note_saved(&self, parts: &[Part]) {
        let mut states = self.states.write();
        let first = parts.first();
        if let (Some(state), Some((written, _))) = (&mut states.now, first)
            && state.graphs.first().is_some_and(|graph| Arc::ptr_eq(graph, written))
        {
            state.saved = parts.iter().map(|(_, slots)| slots).sum();
        }
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self) -> usize {
        let states = self.states.read();
        [&states.now, &states.next].into_iter().flatten().map(State::bytes).sum()
    }

    /// Number of vectors that are linked.
    #[cfg(test)]
    pub(super) fn slots(&self) -> u64 {
        self.states.read().now.as_ref().map_or(0, State::slots)
    }

    /// True if so many entries wait that a commit links some.
    pub(crate) fn is_due(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) >= WAITING_MAX
    }

    /// Links some of what waits, which [is due](Self::is_due), after a commit of so many writes.
    pub(crate) fn link_after_commit(&self, index: &Index, graph: &Graph, writes: usize) {
        let held = match self.waiting.load(Ordering::Relaxed) < WAITING_LIMIT {
            true => self.linking.try_lock(),
            false => Some(self.linking.lock()),
        };
        if held.is_some() {
            self.link_some(index, graph, COMMIT_BLOCKS + writes / BLOCK_SLOTS * 2);
        }
    }

    /// Links until `until`, or until `stops` says so.
    pub(crate) fn link_until(
        &self,
        index: &Index,
        graph: &Graph,
        stops: &dyn Fn() -> bool,
        until: Instant,
    ) {
        while self.link(index, graph, STEP_BLOCKS) {
            if Instant::now() >= until || stops() {
                return;
            }
        }
    }

    fn link(&self, index: &Index, graph: &Graph, blocks: usize) -> bool {
        let _one_at_a_time = self.linking.lock();
        self.link_some(index, graph, blocks)
    }

    /// Links up to so many blocks of what waits; true if there is more. The caller holds `linking`.
    fn link_some(&self, index: &Index, graph: &Graph, blocks: usize) -> bool {
        let Some(settings) = &index.definition.settings else { return false };
        let (entries, complete) = match self.states.write().linked() {
            Some(state) => {
                let some = blocks.saturating_mul(BLOCK_SLOTS).min(state.waiting.len());
                (state.waiting[..some].to_vec(), state.is_complete)
            }
            None => return false,
        };
        if !complete || entries.len() < BLOCK_SLOTS {
            return false;
        }
        let (vectors, known_at) = (self.read(index, graph, &entries), graph.last_ts());
        let mut lengths: Vec<usize> = vectors.iter().flatten().map(Vec::len).collect();
        lengths.sort_unstable();
        lengths.dedup();
        // Of each entry, whether it is linked, or cannot be.
        let mut done: Vec<bool> = vectors.iter().map(Option::is_none).collect();
        for length in lengths {
            let places: Vec<usize> = (0..entries.len())
                .filter(|at| vectors[*at].as_ref().is_some_and(|v| v.len() == length))
                .collect();
            let whole = &places[..places.len() / BLOCK_SLOTS * BLOCK_SLOTS];
            let neighbours = {
                let mut states = self.states.write();
                let Some(state) = states.linked() else { return false };
                if state.graph(length).is_none() {
                    let metric = settings.vectors().map(|vectors| vectors.metric);
                    let Some(metric) = metric else { return false };
                    let new = Neighbours::new(metric, length, settings.shape());
                    state.graphs.push(Arc::new(new));
                }
                state.graph(length).map(Arc::clone)
            };
            let Some(neighbours) = neighbours else { return false };
            let vector = |at: &usize| {
                let numbers = vectors[*at].as_deref().unwrap_or_default();
                (entries[*at].fingerprint, numbers)
            };
            let blocks: Vec<Vec<(u64, &[f32])>> =
                whole.chunks(BLOCK_SLOTS).map(|block| block.iter().map(vector).collect()).collect();
            if !self.add(&neighbours, &blocks) {
                return false;
            }
            whole.iter().for_each(|at| done[*at] = true);
        }
        if !done.contains(&true) && entries.len() < self.waiting.load(Ordering::Relaxed) {
            // Vectors of many lengths: there are enough of one behind these.
            return self.link_some(index, graph, usize::MAX);
        }
        self.take_out(&entries, &vectors, &done, known_at)
    }

    /// The vectors that entries were made of; `None` where the object has another one by now.
    fn read(&self, index: &Index, graph: &Graph, entries: &[Waiting]) -> Vec<Option<Vec<f32>>> {
        let (definition, guard) = (&index.definition, &epoch::pin());
        let source = Source::new(graph, guard);
        let value = |item: Item<3>, property: PropertyKeyId| match definition.target {
            IndexTarget::Vertices(_) => source.vertex_value(item[0], property, NOW),
            IndexTarget::Edges(ty) => source.edge_value(ty, item[0], property, NOW),
        };
        let read = |entry: &Waiting| {
            let value = value(entry.item, *definition.properties.first()?);
            let (key, numbers) = definition.vectors()?.with_key(&value)?;
            (key == key_of(entry.dimensions, entry.fingerprint)).then_some(numbers)
        };
        entries.iter().map(read).collect()
    }

    /// Adds blocks to a graph, many by several threads; false if there is no room.
    fn add(&self, neighbours: &Neighbours, blocks: &[Vec<(u64, &[f32])>]) -> bool {
        let scratch = || self.scratches.lock().pop().unwrap_or_default();
        let add = |blocks: &[Vec<(u64, &[f32])>]| {
            let mut scratch = scratch();
            let added = blocks.iter().all(|block| neighbours.add(block, &mut scratch));
            self.scratches.lock().push(scratch);
            added
        };
        if blocks.len() <= PARALLEL_BLOCKS {
            return add(blocks);
        }
        // The first ones are what all others are found by.
        let there = neighbours.len() / BLOCK_SLOTS;
        let (first, rest) = blocks.split_at((PARALLEL_BLOCKS / 2).saturating_sub(there));
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let part = rest.len().div_ceil(threads).max(1);
        add(first)
            && thread::scope(|scope| {
                let parts: Vec<_> =
                    rest.chunks(part).map(|part| scope.spawn(move || add(part))).collect();
                parts.into_iter().all(|part| part.join().unwrap_or(false))
            })
    }

    /// Takes entries at the front of what waits out that are done; true if there is more to link.
    fn take_out(
        &self,
        entries: &[Waiting],
        vectors: &[Option<Vec<f32>>],
        done: &[bool],
        known_at: u64,
    ) -> bool {
        let mut states = self.states.write();
        let Some(state) = states.linked() else { return false };
        let mut places = 0..;
        let taken = done.iter().filter(|done| **done).count();
        state.waiting.retain(|_| {
            let at: usize = places.next().unwrap_or(usize::MAX);
            !done.get(at).copied().unwrap_or(false)
        });
        let changed = entries.iter().zip(vectors).filter(|(_, vector)| vector.is_none());
        state.changed.extend(changed.map(|(entry, _)| (known_at, entry.item)));
        let more = taken > 0 && state.waiting.len() >= BLOCK_SLOTS;
        self.waiting.store(state.waiting.len(), Ordering::Relaxed);
        if !more && states.next.is_some() {
            states.now = states.next.take();
        }
        more
    }

    /// Forgets objects that only snapshots of the past want, and begins a new graph if half of this
    /// one is of no use.
    pub(crate) fn settle(&self, index: &Index, watermark: u64) {
        let slots = {
            let mut states = self.states.write();
            let States { now, next } = &mut *states;
            for state in [now, next].into_iter().flatten() {
                state.changed.retain(|(ts, _)| *ts > watermark);
            }
            match (&states.now, &states.next) {
                (Some(state), None) if state.is_complete => state.slots(),
                _ => return,
            }
        };
        if slots <= 2 * index.len() + SPARE_SLOTS {
            return;
        }
        let _one_at_a_time = self.linking.lock();
        if self.is_begun() {
            self.states.write().next = Some(State::default());
            self.read_tree(index, &[], |states| states.next.as_mut());
        }
    }
}

impl Index {
    /// Calls `f` with every entry in memory.
    pub(crate) fn for_each_item(&self, mut f: impl FnMut(&SortKey, Item<3>)) {
        let guard = &epoch::pin();
        match self.entries() {
            Entries::None => {}
            Entries::Vertices(tree) => {
                tree.for_range(&SortKey::MIN, None, false, guard, |key, [v]| {
                    f(key, [v, 0, 0]);
                    ControlFlow::Continue(())
                });
            }
            Entries::Edges(tree) => {
                tree.for_range(&SortKey::MIN, None, false, guard, |key, item| {
                    f(key, item);
                    ControlFlow::Continue(())
                });
            }
        }
    }

    /// Number of entries in memory.
    pub(crate) fn len(&self) -> u64 {
        let guard = &epoch::pin();
        match self.entries() {
            Entries::None => 0,
            Entries::Vertices(tree) => tree.len(guard),
            Entries::Edges(tree) => tree.len(guard),
        }
    }
}
