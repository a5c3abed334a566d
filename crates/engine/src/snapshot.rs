//! Snapshots: read-only pictures of the graph at one commit timestamp.

mod by_call;
mod estimates;
pub(crate) mod fulltext;
mod index;
mod near;
mod terms;
mod view;

use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch::{self as epoch, Guard};
use telar_graph::{
    CommitTs, Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Topology, Value, VertexId,
};

use crate::adjacency::scan::{TableView, UnpinnedView};
use crate::adjacency::{AdjTable, COL_ORDINAL, ListKind, SEGMENT_BITS};
use crate::catalog::EdgeType;
use crate::column::StateChunk;
use crate::column::cursor::Cursor;
use crate::error::Error;
use crate::eviction;
use crate::history::past::Past as PastTables;
use crate::index::past::PastIndexes;
use crate::reclaim::Pinned;
use crate::shared::Shared;

/// A database, borrowed or shared.
#[derive(Debug)]
pub(crate) enum Handle<'e> {
    Borrowed(&'e Shared),
    Owned(Arc<Shared>),
}

impl Deref for Handle<'_> {
    type Target = Shared;

    #[inline(always)]
    fn deref(&self) -> &Shared {
        match self {
            Self::Borrowed(shared) => shared,
            Self::Owned(shared) => shared,
        }
    }
}

/// A state of the graph that is kept for a reader: a place in the reader slots, given back when
/// dropped. It is also what a transaction sees that has written nothing, for threads beside its own
/// ([`Transaction::shared_snapshot`](crate::Transaction::shared_snapshot)).
#[derive(Debug)]
pub struct Registration<'e> {
    pub(crate) shared: Handle<'e>,
    slot: usize,
    closed: AtomicBool,
    pub(crate) read_ts: u64,
}

impl<'e> Registration<'e> {
    #[inline]
    pub(crate) fn new(shared: Handle<'e>) -> Result<Self, Error> {
        shared.check_stored()?;
        let (slot, read_ts) = Self::place(&shared)?;
        Ok(Self { shared, slot, closed: AtomicBool::new(false), read_ts })
    }

    fn place(shared: &Shared) -> Result<(usize, u64), Error> {
        shared.readers.open(&shared.clock).ok_or_else(|| Error::TooMany {
            what: "snapshots and transactions open at once",
            max: crate::clock::readers::READERS_MAX as u64,
        })
    }

    /// Gives the place back and takes another, which sees what is there now.
    pub(crate) fn renew(&mut self) -> Result<(), Error> {
        self.close();
        self.shared.check_stored()?;
        (self.slot, self.read_ts) = Self::place(&self.shared)?;
        *self.closed.get_mut() = false;
        Ok(())
    }
}

impl Registration<'_> {
    /// As [`Snapshot::reader`].
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        Reader::new(&self.shared, self.read_ts)
    }

    /// Gives the place back before the end of the value's life: nothing is read any more.
    #[inline]
    pub(crate) fn close(&self) {
        if !self.closed.swap(true, Ordering::Relaxed) {
            self.shared.readers.close(self.slot);
        }
    }
}

impl Drop for Registration<'_> {
    #[inline]
    fn drop(&mut self) {
        self.close();
    }
}

/// What a snapshot of the past has made so far.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) tables: PastTables,
    pub(crate) indexes: PastIndexes,
}

/// A past timestamp held open; given back when dropped.
#[derive(Debug)]
struct PastRegistration<'e> {
    shared: Handle<'e>,
    at: u64,
    past: Past,
}

impl<'e> PastRegistration<'e> {
    fn new(shared: Handle<'e>, at: u64) -> Result<Self, Error> {
        shared.history.open(at, shared.clock.published())?;
        let past = Past { tables: PastTables::new(at), indexes: PastIndexes::default() };
        Ok(Self { shared, at, past })
    }
}

impl Drop for PastRegistration<'_> {
    fn drop(&mut self) {
        self.shared.history.close(self.at);
    }
}

/// Of the present when it was opened, or of the past.
#[derive(Debug)]
enum Opened<'e> {
    Present(Registration<'e>),
    Past(Box<PastRegistration<'e>>),
}

/// A read-only snapshot. Opening one costs the same for any size of graph; it never waits and makes
/// nobody wait. While it is open, what it sees is kept.
#[derive(Debug)]
pub struct Snapshot<'e> {
    opened: Opened<'e>,
}

impl<'e> Snapshot<'e> {
    pub(crate) fn new(shared: Handle<'e>) -> Result<Self, Error> {
        Ok(Self { opened: Opened::Present(Registration::new(shared)?) })
    }

    /// A snapshot at a retained timestamp.
    pub(crate) fn past(shared: Handle<'e>, at: u64) -> Result<Self, Error> {
        let opened = Opened::Past(Box::new(PastRegistration::new(shared, at)?));
        Ok(Self { opened })
    }

    /// The commit timestamp the snapshot reads at.
    #[must_use]
    pub fn read_ts(&self) -> CommitTs {
        CommitTs::from_raw(match &self.opened {
            Opened::Present(registration) => registration.read_ts,
            Opened::Past(past) => past.at,
        })
    }

    /// What could not be read since the database was opened, if anything.
    ///
    /// Reads of batches ([`telar_graph::View`]) fail themselves. Those of single vertices and
    /// edges, and kernels, do not: what is damaged comes out empty, and from then on there is an
    /// error here, and every new snapshot, transaction, commit and checkpoint fails with it. So
    /// ask once, after the last of them and before anything is done with what was read.
    ///
    /// # Examples
    /// ```
    /// # let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    /// # let db = telar_engine::Engine::open(folder.path(), Default::default())?;
    /// let snapshot = db.snapshot()?;
    /// let bound = snapshot.reader().vertex_bound();
    /// if let Some(error) = snapshot.error() {
    ///     return Err(error.to_string().into());
    /// }
    /// println!("{bound} vertices at most");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        match &self.opened {
            Opened::Present(registration) => registration.shared.check_stored().err(),
            Opened::Past(past) => past.shared.check_stored().err(),
        }
    }

    /// A reader of this snapshot. Memory the writers replace is kept while a reader lives, so long
    /// work should take a new one now and then; the snapshot stays the same.
    #[must_use]
    pub fn reader(&self) -> Reader<'_> {
        match &self.opened {
            Opened::Present(registration) => registration.reader(),
            Opened::Past(past) => {
                Reader { past: Some(&past.past), ..Reader::new(&past.shared, past.at) }
            }
        }
    }
}

/// Reads at a snapshot's timestamp. Not to be sent to other threads; [`Adjacency`] can be shared.
#[derive(Debug)]
pub struct Reader<'s> {
    pub(crate) shared: &'s Shared,
    pub(crate) guard: Guard,
    pub(crate) read_ts: u64,
    /// What a snapshot of the past has made so far.
    pub(crate) past: Option<&'s Past>,
    /// The snapshot itself, where nobody else holds it open.
    _registration: Option<Registration<'s>>,
}

/// The engine's number of a vertex id; `None` if no vertex can have it.
#[inline]
pub(crate) fn number(v: VertexId) -> Option<u32> {
    u32::try_from(v.get()).ok()
}

impl<'s> Reader<'s> {
    pub(crate) fn new(shared: &'s Shared, read_ts: u64) -> Self {
        eviction::relieve(shared);
        Self { shared, guard: epoch::pin(), read_ts, past: None, _registration: None }
    }

    pub(crate) fn open(shared: &'s Shared) -> Result<Self, Error> {
        let registration = Registration::new(Handle::Borrowed(shared))?;
        let read_ts = registration.read_ts;
        Ok(Self { _registration: Some(registration), ..Self::new(shared, read_ts) })
    }

    /// A table of which the lists of `vertices` are read.
    #[inline]
    fn table_of<'r>(
        &'r self,
        ty: &'r EdgeType,
        direction: Direction,
        vertices: &[VertexId],
    ) -> TableView<'r> {
        self.table_of_numbers(ty, direction, vertices.iter().filter_map(|v| number(*v)))
    }

    /// The same for vertices by number.
    #[inline]
    fn table_of_numbers<'r>(
        &'r self,
        ty: &'r EdgeType,
        direction: Direction,
        vertices: impl Iterator<Item = u32>,
    ) -> TableView<'r> {
        let table = ty.table(direction);
        match self.past {
            None => TableView::new(table, self.read_ts, &self.guard),
            Some(past) => past.tables.view_of(table, vertices, self.read_ts, &self.guard),
        }
    }

    /// A table of which any list may be read.
    pub(crate) fn table<'r>(&'r self, table: &'r AdjTable) -> TableView<'r> {
        match self.past {
            None => TableView::new(table, self.read_ts, &self.guard),
            Some(past) => past.tables.view(table, self.read_ts, &self.guard),
        }
    }

    /// Number of the vertex's label set; 0 if it does not exist.
    pub(crate) fn state(&self, v: u32) -> u32 {
        self.shared.states.get(v, self.read_ts, &self.guard)
    }

    /// The label sets of a segment's vertices, with how many have each.
    pub(crate) fn count_states(&self, segment: u32, add: &mut dyn FnMut(u32, u32)) {
        self.shared.states.count_segment(segment, self.read_ts, &self.guard, add);
    }

    /// Numbers of label sets, of many vertices.
    fn states(&self) -> Cursor<'_, StateChunk> {
        self.shared.states.cursor(self.read_ts, &self.guard)
    }

    /// Adjacency of one edge type and direction, for kernels: plain 32-bit vertex numbers,
    /// neighbours as contiguous runs, shareable between threads.
    ///
    /// # Errors
    /// [`Error::UnknownEdgeType`].
    pub fn adjacency(&self, ty: EdgeTypeId, direction: Direction) -> Result<Adjacency<'_>, Error> {
        let table = self.shared.catalog.edge_type(ty)?.table(direction);
        let view = match self.past {
            None => TableView::new(table, self.read_ts, &self.guard),
            Some(past) => past.tables.view_of_ids(table, self.read_ts, &self.guard),
        };
        let (bound, pinned) = (self.shared.vertex_bound(), Pinned::by(&self.guard));
        Ok(Adjacency { lists: view.unpinned(), bound, pinned })
    }

    /// One past the largest vertex id that can exist.
    #[must_use]
    pub fn vertex_bound(&self) -> VertexId {
        VertexId::from_raw(self.shared.vertex_bound().into())
    }

    /// The first damage that was met since the database was opened, if any: reads of single
    /// vertices and edges come out empty then. Batches ([`telar_graph::View`]) say it themselves.
    #[must_use]
    pub fn error(&self) -> Option<Error> {
        self.shared.check_stored().err()
    }

    /// Whether `vertex` exists.
    #[must_use]
    pub fn exists(&self, vertex: VertexId) -> bool {
        number(vertex).is_some_and(|v| self.state(v) != 0)
    }

    /// The labels of `vertex`, ascending; `None` if it does not exist.
    #[must_use]
    pub fn labels(&self, vertex: VertexId) -> Option<Vec<LabelId>> {
        let state = self.state(number(vertex)?);
        (state != 0).then(|| self.shared.catalog.label_sets.labels(state).to_vec())
    }

    /// The value of a vertex property; null if there is none.
    #[must_use]
    pub fn vertex_property(&self, vertex: VertexId, key: PropertyKeyId) -> Value {
        let column = self.shared.catalog.vertex_column(key);
        match (number(vertex), column) {
            // A deleted vertex keeps its last values in the column until its id is used again.
            (Some(v), Some(column)) if self.state(v) != 0 => {
                column.get(v, self.read_ts, &self.guard)
            }
            _ => Value::Null,
        }
    }

    /// The value of an edge property; null if there is none, or no such edge.
    #[must_use]
    pub fn edge_property(&self, edge: EdgeId, key: PropertyKeyId) -> Value {
        if self.edge_exists(edge) { self.property_of(edge, key) } else { Value::Null }
    }

    /// The property of an edge that is known to exist.
    fn property_of(&self, edge: EdgeId, key: PropertyKeyId) -> Value {
        let Ok(ty) = self.shared.catalog.edge_type(edge.ty) else {
            return Value::Null;
        };
        match (ty.column(key), self.place_of(ty, &edge)) {
            (None, _) | (_, 0) => Value::Null,
            (Some(column), place) => column.get(place, self.read_ts, &self.guard),
        }
    }

    /// Place of the properties of an edge; 0 if it never had any.
    #[inline]
    fn place_of(&self, ty: &EdgeType, edge: &EdgeId) -> u32 {
        match (number(edge.src), number(edge.dst)) {
            (Some(u), Some(v)) => ty.place(u, v, edge.ordinal, &self.guard),
            _ => edge.ordinal,
        }
    }

    /// Whether an edge of type `ty` leads from `src` to `dst`.
    #[must_use]
    pub fn search_edge(&self, ty: EdgeTypeId, src: VertexId, dst: VertexId) -> bool {
        match (self.shared.catalog.edge_type(ty), number(src), number(dst)) {
            (Ok(t), Some(u), Some(v)) => self.table_of(t, Direction::Out, &[src]).contains(u, v),
            _ => false,
        }
    }

    /// Whether exactly this edge exists.
    #[must_use]
    pub fn edge_exists(&self, edge: EdgeId) -> bool {
        match (self.shared.catalog.edge_type(edge.ty), number(edge.src), number(edge.dst)) {
            (Ok(t), Some(u), Some(v)) if t.kind() != ListKind::Simple => self
                .table_of(t, Direction::Out, &[edge.src])
                .with_list_of(u, v, |list| list.find_ordinal(v, edge.ordinal).is_some()),
            (Ok(_), Some(_), Some(_)) => {
                edge.ordinal == 0 && self.search_edge(edge.ty, edge.src, edge.dst)
            }
            _ => false,
        }
    }

    /// Number of edges of `vertex` of type `ty` in `direction`.
    #[must_use]
    pub fn degree(&self, vertex: VertexId, ty: EdgeTypeId, direction: Direction) -> usize {
        match (self.shared.catalog.edge_type(ty), number(vertex)) {
            (Ok(t), Some(v)) => self.table_of(t, direction, &[vertex]).degree(v),
            _ => 0,
        }
    }

    /// Calls `f` with each run of neighbours: plain vertex numbers, contiguous in storage.
    pub fn for_each_run(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
        f: impl FnMut(&[u32]),
    ) {
        if let (Ok(t), Some(v)) = (self.shared.catalog.edge_type(ty), number(vertex)) {
            self.table_of(t, direction, &[vertex]).for_each_run(v, f);
        }
    }

    /// The edges of `vertex`, settled ones first; sorted as the type's options say where nothing is
    /// unsettled.
    pub fn edges(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
    ) -> impl Iterator<Item = EdgeId> + use<> {
        let mut edges = Vec::new();
        self.for_each_edge(vertex, ty, direction, |id, _| edges.push(id));
        edges.into_iter()
    }

    /// Calls `f` with each edge of `vertex` and its sort key (0 unless the type is time-ordered).
    pub(crate) fn for_each_edge(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
        mut f: impl FnMut(EdgeId, i64),
    ) {
        let (Ok(t), Some(v)) = (self.shared.catalog.edge_type(ty), number(vertex)) else {
            return;
        };
        let timed = t.kind() == ListKind::Timed;
        self.table_of(t, direction, &[vertex]).for_each_list(v, |list| {
            list.for_each_entry(|_, entry| {
                let other = VertexId::from_raw(entry.nbr.into());
                let (src, dst) = match direction {
                    Direction::Out => (vertex, other),
                    Direction::In => (other, vertex),
                };
                let id = EdgeId { ty, src, dst, ordinal: entry.columns[COL_ORDINAL] };
                f(id, if timed { entry.key() } else { 0 });
            });
        });
    }

    /// The newest edges of `vertex` by the sort property of a time-ordered type, newest first, with
    /// that property: at most `limit` of those with a value in `window`.
    ///
    /// Cost: the settled list is read from its newest end and only as far as needed; unsettled
    /// edges are all looked at.
    #[must_use]
    pub fn newest_edges(
        &self,
        vertex: VertexId,
        ty: EdgeTypeId,
        direction: Direction,
        window: Range<i64>,
        limit: usize,
    ) -> Vec<(EdgeId, i64)> {
        let (Ok(t), Some(v)) = (self.shared.catalog.edge_type(ty), number(vertex)) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        if t.kind() == ListKind::Timed {
            self.table_of(t, direction, &[vertex]).for_each_list(v, |list| {
                list.newest(&window, limit, &mut found);
            });
        }
        let id = |entry: &crate::adjacency::Entry| {
            let other = VertexId::from_raw(entry.nbr.into());
            let (src, dst) = match direction {
                Direction::Out => (vertex, other),
                Direction::In => (other, vertex),
            };
            EdgeId { ty, src, dst, ordinal: entry.columns[COL_ORDINAL] }
        };
        found.iter().map(|e| (id(e), e.key())).collect()
    }
}

/// Adjacency of one edge type and direction at a snapshot.
///
/// INVARIANT: reads neighbours only: of a past snapshot, lists have no columns here.
#[derive(Debug, Clone, Copy)]
pub struct Adjacency<'r> {
    lists: UnpinnedView<'r>,
    bound: u32,
    pinned: Pinned<'r>,
}

impl<'r> Adjacency<'r> {
    #[inline(always)]
    fn view(&self) -> TableView<'r> {
        self.lists.pinned_by(self.pinned.guard())
    }

    /// Vertices per segment: the natural unit of parallel work.
    pub const SEGMENT_VERTICES: u32 = 1 << SEGMENT_BITS;
}

impl Topology for Adjacency<'_> {
    fn vertex_bound(&self) -> u32 {
        self.bound
    }

    #[inline]
    fn degree(&self, v: u32) -> u32 {
        self.view().degree(v) as u32
    }

    #[inline]
    fn for_each_run<F: FnMut(&[u32])>(&self, v: u32, f: F) {
        self.view().for_each_run(v, f);
    }

    #[inline]
    fn scan<F: FnMut(u32, &[u32])>(&self, vertices: Range<u32>, f: F) {
        self.view().scan(vertices, f);
    }

    #[inline]
    fn visit<F: FnMut(u32, &[u32])>(&self, vertices: &[u32], f: F) {
        self.view().visit(vertices, f);
    }

    #[inline]
    fn sorted<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.view().sorted(v, scratch)
    }

    #[inline]
    fn contains(&self, u: u32, v: u32) -> bool {
        self.view().contains(u, v)
    }

    #[inline]
    fn prefetch(&self, v: u32) {
        self.view().prefetch_rows(v);
    }
}
