//! The transactional engine as a container: one simple edge type, full commit protocol.
//!
//! Every call of a writer is one transaction with everything a commit does: latches, validation,
//! commit timestamp, publication; a log, too, when the engine was opened on disk.

use telar_engine::{Adjacency, BulkOptions, EdgeTypeOptions, Engine, Reader, Settings};
use telar_generate::Edge;
use telar_graph::{Direction, EdgeTypeId, VertexId};

use super::{Container, Snapshot, Writer};

/// Name of the only edge type.
const EDGE_TYPE: &str = "EDGE";
/// Vertices made per transaction when many are wanted.
const VERTICES_PER_TRANSACTION: u32 = 4096;

/// The engine with one edge type.
pub struct Telar {
    engine: Engine,
    ty: EdgeTypeId,
}

fn vertex(v: u32) -> VertexId {
    VertexId::from_raw(v.into())
}

impl Telar {
    /// An empty engine in memory, without background thread: settling is done by writers, as it is
    /// under load, and by [`Container::settle`].
    ///
    /// # Panics
    /// If it cannot be opened.
    #[must_use]
    pub fn in_memory() -> Self {
        let mut settings = Settings::default();
        settings.background_interval_ms = 0;
        Self::new(Engine::in_memory(settings).expect("valid settings"))
    }

    /// An engine that was opened elsewhere.
    ///
    /// # Panics
    /// If its log has failed.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        let ty = engine.edge_type(EDGE_TYPE, EdgeTypeOptions::simple()).expect("a fresh edge type");
        Self { engine, ty }
    }

    /// An engine in memory with `n` vertices and these edges, bulk loaded; repeated edges are
    /// dropped.
    ///
    /// # Panics
    /// If it cannot be opened or an end is not below `n`.
    #[must_use]
    pub fn filled(n: u32, edges: Vec<Edge>) -> Self {
        let telar = Self::in_memory();
        let engine = &telar.engine;
        let mut bulk = engine.bulk_load(BulkOptions::default()).expect("a log that works");
        let ty = bulk.edge_type(EDGE_TYPE, EdgeTypeOptions::simple()).expect("the same options");
        bulk.add_vertices(&[], n as usize, &[]).expect("room for vertices");
        bulk.add_edges(ty, edges, Vec::new()).expect("room for edges");
        bulk.finish(&|_, _, _| {}).expect("edges between vertices");
        telar
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The edge type measured.
    #[must_use]
    pub fn edge_type(&self) -> EdgeTypeId {
        self.ty
    }
}

/// One thread's handle for changes.
pub struct TelarWriter<'a>(&'a Telar);

impl TelarWriter<'_> {
    /// Runs a transaction over `edges` until it does not conflict.
    fn run(&self, edges: &[Edge], delete: bool) -> telar_engine::Committed {
        let ty = self.0.ty;
        loop {
            let mut txn = self.0.engine.begin().expect("a free reader slot");
            for &(u, v) in edges {
                let done = if delete {
                    txn.remove_edge(ty, vertex(u), vertex(v))
                } else {
                    txn.upsert_edge(ty, vertex(u), vertex(v))
                };
                done.expect("the ends exist");
            }
            match txn.commit() {
                Ok(done) => return done,
                Err(e) if e.is_retryable() => std::thread::yield_now(),
                Err(e) => panic!("commit failed: {e}"),
            }
        }
    }
}

impl Writer for TelarWriter<'_> {
    fn insert_vertex(&mut self) -> u32 {
        let mut txn = self.0.engine.begin().expect("a free reader slot");
        let v = txn.create_vertex(&[]).expect("room for a vertex");
        txn.commit().expect("a commit without conflict");
        v.get() as u32
    }

    fn insert_vertices(&mut self, count: u32) {
        let mut left = count;
        while left > 0 {
            let now = left.min(VERTICES_PER_TRANSACTION);
            let mut txn = self.0.engine.begin().expect("a free reader slot");
            for _ in 0..now {
                txn.create_vertex(&[]).expect("room for a vertex");
            }
            txn.commit().expect("a commit without conflict");
            left -= now;
        }
    }

    fn insert_edge(&mut self, u: u32, v: u32) -> bool {
        self.run(&[(u, v)], false).edges_added > 0
    }

    fn insert_batch(&mut self, edges: &[Edge]) -> u64 {
        self.run(edges, false).edges_added
    }

    fn upsert_edge(&mut self, u: u32, v: u32) -> bool {
        self.run(&[(u, v)], false).edges_added > 0
    }

    fn delete_edge(&mut self, u: u32, v: u32) -> bool {
        self.run(&[(u, v)], true).edges_removed > 0
    }
}

/// A reader that its topologies borrow.
pub struct TelarSnapshot<'a> {
    reader: Reader<'a>,
    ty: EdgeTypeId,
}

impl Snapshot for TelarSnapshot<'_> {
    type Topo<'b>
        = Adjacency<'b>
    where
        Self: 'b;

    fn out(&self) -> Adjacency<'_> {
        self.reader.adjacency(self.ty, Direction::Out).expect("a known edge type")
    }

    fn in_(&self) -> Adjacency<'_> {
        self.reader.adjacency(self.ty, Direction::In).expect("a known edge type")
    }
}

impl Container for Telar {
    const CONCURRENT: bool = true;
    type Writer<'a> = TelarWriter<'a>;
    type Snapshot<'a> = TelarSnapshot<'a>;

    fn name(&self) -> String {
        "Telar".to_owned()
    }

    fn writer(&self) -> TelarWriter<'_> {
        TelarWriter(self)
    }

    fn snapshot(&self) -> TelarSnapshot<'_> {
        let reader = self.engine.reader().expect("a free reader slot");
        TelarSnapshot { reader, ty: self.ty }
    }

    fn search_edge(&self, u: u32, v: u32) -> bool {
        let snapshot = self.engine.snapshot().expect("a free reader slot");
        snapshot.reader().search_edge(self.ty, vertex(u), vertex(v))
    }

    fn memory_bytes(&self) -> u64 {
        self.engine.memory().topology as u64
    }

    fn settle(&self) {
        self.engine.settle();
    }
}
