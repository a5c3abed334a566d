//! A database written anew with its vertices in another order.
//!
//! ```text
//!  source, read only ─ numbering.rs ─► place of each vertex
//!        │
//!        └─ copy.rs ─► NAME.unfinished: one bulk load, indexes and constraints ─ close
//!                             │
//!        source ─ verify.rs ──┤ every vertex and edge of both compared
//!                             └─ rename ─► target
//! ```
//!
//! A vertex's id is its place in every array (docs/decisions/0073), so a new order means new ids:
//! the target is another database. Its history begins with the copy.

mod copy;
mod numbering;
#[cfg(test)]
mod tests;
mod verify;

use std::path::Path;

use telar_algo::control;
use telar_algo::ordering::Method;
use telar_engine::maintenance::Staging;
use telar_engine::{BulkOptions, EdgeTypeOptions, Engine, Error, Settings};
use telar_graph::{EdgeTypeId, LabelId, PropertyKeyId, ReadError};

use crate::import::{ImportProgress, ImportStage};
use numbering::Numbering;

/// How a database is reordered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReorderOptions {
    /// The order of the vertices.
    pub method: Method,
    /// Seed of random choices of the order. Default: 0.
    pub seed: u64,
    /// Bytes of edges that wait in memory to be sorted; beyond it they go to files in the new
    /// folder. Default: that of a [bulk load](BulkOptions).
    pub memory_bytes: usize,
}

impl ReorderOptions {
    /// The defaults, for an order.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Self { method, seed: 0, memory_bytes: BulkOptions::default().memory_bytes }
    }
}

/// Contents of the new database, all of which were compared with those of the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reordered {
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
    /// Property values of vertices and edges.
    pub properties: u64,
    /// Indexes and constraints.
    pub indexes: u64,
}

/// Reason why a database could not be reordered. The source is as it was, and there is no target.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReorderError {
    /// The source cannot be read, or the target not be written.
    #[error(transparent)]
    Engine(#[from] Error),
    /// The order could not be computed.
    #[error("the order could not be computed: {0}")]
    Order(#[from] control::Error),
    /// The copy differs from the source, which a copy never should: a defect of Telar.
    #[error("the copy differs from the source, and was removed: {0}")]
    Differs(String),
}

impl From<ReadError> for ReorderError {
    fn from(error: ReadError) -> Self {
        Self::Engine(error.into())
    }
}

/// Names of a database by number; numbers without a name are left out.
struct Names {
    labels: Vec<(LabelId, String)>,
    keys: Vec<(PropertyKeyId, String)>,
    types: Vec<(EdgeTypeId, String, EdgeTypeOptions)>,
}

impl Names {
    fn of(db: &Engine) -> Self {
        let named =
            |names: Vec<String>| names.into_iter().enumerate().filter(|(_, name)| !name.is_empty());
        let types = db.edge_types().into_iter().enumerate();
        Self {
            labels: named(db.labels()).map(|(n, l)| (LabelId::from_raw(n as u16), l)).collect(),
            keys: named(db.property_keys())
                .map(|(n, key)| (PropertyKeyId::from_raw(n as u16), key))
                .collect(),
            types: types
                .filter(|(_, (name, _))| !name.is_empty())
                .map(|(n, (name, options))| (EdgeTypeId::from_raw(n as u16), name, options))
                .collect(),
        }
    }
}

/// Writes the database in the folder `source` anew into the folder `target`, with its vertices in
/// the order that `options` name.
///
/// Kept are labels, properties, edges with theirs, parallel edges and loops, schema names, indexes
/// and constraints. Not kept are ids of vertices and edges, which number the new places, commits
/// and history, which begin anew, and the identity: the first backup of the target is a full one.
/// Places of deleted vertices are closed.
///
/// The source is opened to be read, and not changed. The target is there whole, or not at all; a
/// crash leaves a folder named like the target with `.unfinished` behind it, to be removed.
///
/// `progress` is called on this thread, some times per second of work.
///
/// # Errors
/// [`ReorderError::Engine`], among them [`Error::Locked`] if the source is open elsewhere to be
/// written, and [`Error::TargetExists`].
///
/// # Cost
/// That of the order, and of a bulk load: all is read twice and written once. *Memory*: for the
/// order 12 bytes per vertex and 8 per edge and what its [`Method::bytes`] says; then labels and
/// properties of all vertices, as an import holds them.
///
/// # Examples
/// ```
/// use telar_db::algo::ordering::Method;
/// use telar_db::reorder::{ReorderOptions, reorder};
///
/// # let folder = tempfile::tempdir()?;
/// # let (old, new) = (folder.path().join("old.telar"), folder.path().join("new.telar"));
/// let db = telar_db::open(&old)?;
/// let next = db.edge_type("NEXT", Default::default())?;
/// db.write(Default::default(), |txn| {
///     let ends = [txn.create_vertex(&[])?, txn.create_vertex(&[])?];
///     txn.create_edge(next, ends[0], ends[1], &[])
/// })?;
/// db.close()?;
/// let done = reorder(&old, &new, &ReorderOptions::new(Method::Rcm), &|_| {})?;
/// assert_eq!((done.vertices, done.edges), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn reorder(
    source: &Path,
    target: &Path,
    options: &ReorderOptions,
    progress: &dyn Fn(ImportProgress),
) -> Result<Reordered, ReorderError> {
    let staging = Staging::begin(target)?;
    let db = Engine::open_to_read(source, Settings::default())?;
    match fill(&db, staging.folder(), options, progress) {
        Ok(done) => {
            telar_engine::failpoint!("reorder::verified");
            staging.publish()?;
            telar_engine::failpoint!("reorder::renamed");
            Ok(done)
        }
        Err(error) => {
            staging.discard();
            Err(error)
        }
    }
}

/// Makes the copy in `folder`, and compares it with the source.
fn fill(
    source: &Engine,
    folder: &Path,
    options: &ReorderOptions,
    progress: &dyn Fn(ImportProgress),
) -> Result<Reordered, ReorderError> {
    let step = |stage: ImportStage, done: u64, total: u64| {
        progress(ImportProgress { stage, done, total });
    };
    let names = Names::of(source);
    let reader = source.reader()?;
    let numbering = Numbering::new(&reader, &names, options, &step)?;
    telar_engine::failpoint!("reorder::ordered");
    let mut settings = Settings::default();
    // A load settles what it installs.
    settings.background_interval_ms = 0;
    let made = Engine::open(folder, settings)?;
    let copy = copy::Copy { reader: &reader, names: &names, numbering: &numbering, into: &made };
    let mut done = copy.load(options.memory_bytes, &step)?;
    telar_engine::failpoint!("reorder::loaded");
    copy.ordered_edges(&mut done, &step)?;
    done.indexes = copy.indexes(&source.indexes(), &step)?;
    telar_engine::failpoint!("reorder::indexed");
    made.close()?;
    telar_engine::failpoint!("reorder::closed");
    let made = Engine::open_to_read(folder, Settings::default())?;
    verify::verify((source, &reader), (&made, &made.reader()?), &names, &numbering, &step)?;
    Ok(done)
}
