//! From anything that can be enumerated into a database, by ordinary transactions.
//!
//! Vertices first, then edges, each in batches of one transaction, on several threads. A thread
//! takes the next batch of vertices and creates them under one lock, so that ids ascend in the
//! order of the source; setting properties and committing happen outside of it. Batches of edges
//! are taken from a counter, in the order of the source, and run again if they conflict.
//!
//! *Isolation*: other transactions may run meanwhile and see the graph grow batch by batch.
//! Cost: one synced log write per batch, or less where batches of several threads share one.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use telar_engine::{Engine, Error, Isolation, Transaction};
use telar_graph::{EdgeTypeId, LabelId, VertexId};

use super::graph_source::{GraphSource, LoadOptions, Properties};
use super::outcome::{ImportProgress, ImportStage, LoadError, Loaded};

/// Vertices per transaction by default: a write set of a megabyte or so.
const VERTICES_PER_BATCH: usize = 1 << 14;
/// Edges per transaction by default: large enough that syncing the log costs less than applying the
/// batch, small enough that a batch fills few segments at once, each of which plans it anew.
const EDGES_PER_BATCH: usize = 1 << 11;

/// A committed batch.
struct Batch {
    /// Position of its first item in the source.
    start: usize,
    items: usize,
    /// New vertices; empty for a batch of edges.
    vertices: Vec<VertexId>,
    edges_added: u64,
}

/// Loads `source` into `db`. `progress` is called on this thread, once per batch.
///
/// # Errors
/// [`LoadError::Write`], which says how much had been committed.
///
/// # Examples
/// ```
/// use telar_db::{EdgeTypeOptions, import};
///
/// struct Ring(u32);
/// impl import::GraphSource for Ring {
///     fn vertex_count(&self) -> u32 { self.0 }
///     fn edge_count(&self) -> usize { self.0 as usize }
///     fn edge(&self, edge: usize) -> (u32, u32) { (edge as u32, (edge as u32 + 1) % self.0) }
/// }
///
/// let db = telar_db::open_in_memory()?;
/// let (label, next) = (db.label("Point")?, db.edge_type("NEXT", EdgeTypeOptions::simple())?);
/// let loaded = import::load(&db, &Ring(1000), &import::LoadOptions::new(label, next), &|_| {})?;
/// assert_eq!((loaded.vertices.len(), loaded.edges), (1000, 1000));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load<S: GraphSource + ?Sized>(
    db: &Engine,
    source: &S,
    options: &LoadOptions,
    progress: &dyn Fn(ImportProgress),
) -> Result<Loaded, LoadError> {
    let types = db.edge_types();
    let simple = match types.get(usize::from(options.edge_type.get())) {
        Some((_, kind)) => kind.simple,
        None => return Err(Error::UnknownEdgeType(options.edge_type).into()),
    };
    let mut loaded = Loaded {
        vertices: vec![VertexId::from_raw(0); source.vertex_count() as usize],
        edges: 0,
        duplicates: 0,
        transactions: 0,
        vertices_s: 0.0,
        edges_s: 0.0,
    };
    let begun = Instant::now();
    let mut written = 0;
    let order = Mutex::new(0);
    let total = source.vertex_count() as usize;
    let result = in_batches(
        options,
        VERTICES_PER_BATCH,
        total,
        |batch| write_vertices(db, source, options.label, &order, batch),
        |batch| {
            loaded.vertices[batch.start..][..batch.items].copy_from_slice(&batch.vertices);
            loaded.transactions += 1;
            written += batch.items as u64;
            progress(ImportProgress {
                stage: ImportStage::Vertices,
                done: written,
                total: total as u64,
            });
        },
    );
    result.map_err(|source| LoadError::Write { vertices: written, edges: 0, source })?;

    loaded.vertices_s = begun.elapsed().as_secs_f64();
    let (mut done, mut added) = (0, 0);
    let next = AtomicUsize::new(0);
    let (vertices, total) = (&loaded.vertices, source.edge_count());
    let result = in_batches(
        options,
        EDGES_PER_BATCH,
        total,
        |items| {
            // ORDERING: relaxed, only the counter itself is shared.
            let start = next.fetch_add(items, Ordering::Relaxed).min(total);
            let range = start..(start + items).min(total);
            write_edges(db, source, options.edge_type, simple, vertices, range)
        },
        |batch| {
            loaded.transactions += 1;
            added += batch.edges_added;
            done += batch.items as u64;
            progress(ImportProgress { stage: ImportStage::Edges, done, total: total as u64 });
        },
    );
    result.map_err(|source| LoadError::Write { vertices: written, edges: added, source })?;
    loaded.edges_s = begun.elapsed().as_secs_f64() - loaded.vertices_s;
    loaded.edges = added;
    loaded.duplicates = done - added;
    Ok(loaded)
}

/// Runs `work(batch size)` on several threads until one of its batches is empty; `done` runs on
/// this thread with every other. After an error no further batch is begun.
fn in_batches(
    options: &LoadOptions,
    size_default: usize,
    total: usize,
    work: impl Fn(usize) -> Result<Batch, Error> + Sync,
    mut done: impl FnMut(Batch),
) -> Result<(), Error> {
    let size = if options.batch == 0 { size_default } else { options.batch };
    let threads = options.thread_count().min(total.div_ceil(size));
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads {
            let (sender, stop, work): (Sender<_>, _, _) = (sender.clone(), &stop, &work);
            scope.spawn(move || {
                // ORDERING: relaxed; a batch begun too many is committed and counted like others.
                while !stop.load(Ordering::Relaxed) {
                    let batch = work(size);
                    if batch.is_err() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if matches!(&batch, Ok(batch) if batch.items == 0)
                        || sender.send(batch).is_err()
                    {
                        return;
                    }
                }
            });
        }
        drop(sender);
        let mut result = Ok(());
        for batch in receiver {
            match batch {
                Ok(batch) => done(batch),
                Err(e) => result = result.and(Err(e)),
            }
        }
        result
    })
}

fn write_vertices<S: GraphSource + ?Sized>(
    db: &Engine,
    source: &S,
    label: LabelId,
    order: &Mutex<usize>,
    items: usize,
) -> Result<Batch, Error> {
    let mut txn = db.begin()?;
    let (start, vertices) = {
        let mut next = order.lock().unwrap_or_else(PoisonError::into_inner);
        let start = *next;
        let end = start.saturating_add(items).min(source.vertex_count() as usize);
        let created: Result<Vec<_>, _> =
            (start..end).map(|_| txn.create_vertex(&[label])).collect();
        *next = end;
        (start, created?)
    };
    let mut properties = Properties::new();
    for (number, vertex) in (start as u32..).zip(&vertices) {
        source.vertex_properties(number, &mut properties);
        for (key, value) in properties.drain(..) {
            txn.set_vertex_property(*vertex, key, value)?;
        }
    }
    txn.commit()?;
    Ok(Batch { start, items: vertices.len(), vertices, edges_added: 0 })
}

fn write_edges<S: GraphSource + ?Sized>(
    db: &Engine,
    source: &S,
    ty: EdgeTypeId,
    simple: bool,
    vertices: &[VertexId],
    range: Range<usize>,
) -> Result<Batch, Error> {
    let mut properties = Properties::new();
    let write = |txn: &mut Transaction<'_>| -> Result<(), Error> {
        for edge in range.clone() {
            let (src, dst) = source.edge(edge);
            let (src, dst) = (vertices[src as usize], vertices[dst as usize]);
            if simple {
                txn.upsert_edge(ty, src, dst)?;
            } else {
                properties.clear();
                source.edge_properties(edge, &mut properties);
                txn.create_edge(ty, src, dst, &properties)?;
            }
        }
        Ok(())
    };
    let ((), committed) = db.write(Isolation::Snapshot, write)?;
    Ok(Batch {
        start: range.start,
        items: range.len(),
        vertices: Vec::new(),
        edges_added: committed.edges_added,
    })
}
