//! Bulk load: whole graphs straight into bases, past transactions and log.
//!
//! ```text
//!  names, vertices, edges (any order, batches)          no latch, no log, nobody notices
//!    │  sort.rs    by source and destination; runs in files beyond the memory limit
//!    │  lists.rs   out bases as sorted; in bases by turning them around
//!    ▼
//!  finish  ── install.rs ─────────────────────────────────────────────────────────────────
//!    gate      transactions that commit now are refused, new ones wait       gate.rs
//!    indexes   constraints are checked, entries sorted and added             index.rs
//!    merge     bases of segments that hold something already
//!    store     one LMDB transaction, which is a checkpoint at the load's timestamp
//!    install   once no older snapshot is open: bases and chunks, as if they had settled
//! ```
//!
//! A load is one commit: before the store's transaction commits nothing has changed, after it
//! everything is there, in memory at one timestamp and on disk. Dropping a load before
//! [`BulkLoad::finish`], an error, or a crash leave the database as it was; files in `tmp` are
//! removed, after a crash at the next open.
//!
//! New vertices begin a fresh segment, and so do the ordinals of the new edges, so that only the
//! neighbour lists of vertices that were there before are ever merged. Ordinals follow the sorted
//! out lists: properties of a list stand side by side.
//!
//! Why no log: docs/decisions/0007. What waits for what: docs/transactions.md.

mod column;
mod constraints;
mod entries;
mod index;
mod install;
mod lists;
#[cfg(test)]
#[cfg(feature = "shuttle")]
mod model;
mod sort;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use telar_graph::name::{NameKind, validate_name};
use telar_graph::{EdgeTypeId, VertexId};

pub use column::Column;

use crate::adjacency::{ListKind, SEGMENT_VERTICES};
use crate::catalog::{EdgeOrder, EdgeTypeOptions};
use crate::error::Error;
use crate::graph::VERTICES_MAX;
use crate::mapped::machine;
use crate::shared::Shared;
use crate::store::temporary_path;
use sort::EdgeSorter;

/// Memory for edges that wait, unless a load says, ...
const MEMORY_BYTES: u64 = 1 << 30;
/// ... and at most such a share of what there is: the loaded graph needs some, too.
const MEMORY_SHARE: u64 = 4;

/// How a bulk load works.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct BulkOptions {
    /// Memory for edges that wait to be sorted, in bytes; beyond it they go to files in the
    /// database's folder. Default: 1 GiB, or a quarter of the memory of the machine or control
    /// group if that is less. Vertices, and what is loaded in the end, are held in memory whatever
    /// this says.
    pub memory_bytes: usize,
    /// How long [`BulkLoad::finish`] waits for snapshots and transactions that were opened before,
    /// in milliseconds, before it gives up. Default: 10,000.
    pub reader_wait_ms: u64,
    /// Give up if an edge of a simple type is there already or comes twice. Default: false, it is
    /// counted and dropped.
    pub reject_duplicates: bool,
}

impl Default for BulkOptions {
    fn default() -> Self {
        let memory_bytes = waiting_bytes(machine::memory_bytes());
        Self { memory_bytes, reader_wait_ms: 10_000, reject_duplicates: false }
    }
}

/// Memory for edges that wait, of so much as there is.
fn waiting_bytes(machine: u64) -> usize {
    (machine / MEMORY_SHARE).min(MEMORY_BYTES) as usize
}

/// What a bulk load did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BulkReport {
    /// Commit timestamp: every later snapshot sees all of it.
    pub ts: telar_graph::CommitTs,
    /// Vertices added.
    pub vertices: u64,
    /// Edges added.
    pub edges: u64,
    /// Property values set.
    pub properties: u64,
    /// Edges of simple types that were there already, or came more than once.
    pub duplicates: u64,
    /// Edges that were sorted in files.
    pub spilled: u64,
}

/// A step of [`BulkLoad::finish`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum BulkStep {
    /// Sorting edges into lists; counted in edges.
    Sorting,
    /// Writing segments to the store; counted in segments.
    Storing,
}

/// Number of a name within a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BulkName(usize);

#[derive(Debug, Default)]
struct Names(Vec<String>);

impl Names {
    fn add(&mut self, name: &str) -> BulkName {
        let known = self.0.iter().position(|n| n == name);
        BulkName(known.unwrap_or_else(|| {
            self.0.push(name.to_owned());
            self.0.len() - 1
        }))
    }
}

#[derive(Debug)]
struct TypeLoad {
    name: String,
    options: EdgeTypeOptions,
    /// Key of each column of the sorter.
    keys: Vec<BulkName>,
    edges: EdgeSorter,
    /// Ordinals taken for the edges: of which type, where they ended before, where they end now.
    ordinals: Option<(EdgeTypeId, u32, u32)>,
}

/// Ids taken for new vertices: whole segments, so that nobody else makes a vertex in them.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// Where ids ended before.
    start: u64,
    /// The first new vertex.
    first: u64,
    end: u64,
}

/// A bulk load being put together. Nothing of it is in the database before
/// [`finish`](Self::finish).
#[derive(Debug)]
pub struct BulkLoad<'e> {
    shared: &'e Shared,
    options: BulkOptions,
    labels: Names,
    keys: Names,
    sets: Vec<Vec<BulkName>>,
    /// Label set of each new vertex, as runs.
    states: Vec<(usize, u32)>,
    vertices: usize,
    columns: Vec<(BulkName, Column)>,
    taken: Option<Taken>,
    types: Vec<TypeLoad>,
    constraints: constraints::LoadConstraints,
    dir: PathBuf,
    /// Names that it holds: they are released with it, unless it makes them.
    holds: Vec<(NameKind, String)>,
    installed: bool,
}

/// The failure of a failpoint, as the failure of a file operation.
#[cfg(feature = "failpoints")]
fn injected<T>(source: std::io::Error) -> Result<T, Error> {
    Err(Error::File { action: "failpoint", path: PathBuf::new(), source })
}

/// A folder for the files of one load.
fn fresh_dir(shared: &Shared) -> PathBuf {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    match &shared.durable {
        Some(d) => temporary_path(d.store.root()).join(format!("load-{number}")),
        None => std::env::temp_dir().join(format!("telar-load-{}-{number}", std::process::id())),
    }
}

impl<'e> BulkLoad<'e> {
    pub(crate) fn new(shared: &'e Shared, options: BulkOptions) -> Result<Self, Error> {
        shared.check_leads()?;
        if shared.is_replicated() {
            return Err(Error::NotReplicated { what: "bulk loads" });
        }
        shared.check_log()?;
        let mut load = Self {
            shared,
            options,
            labels: Names::default(),
            keys: Names::default(),
            sets: Vec::new(),
            states: Vec::new(),
            vertices: 0,
            columns: Vec::new(),
            taken: None,
            types: Vec::new(),
            constraints: constraints::LoadConstraints::default(),
            dir: fresh_dir(shared),
            holds: Vec::new(),
            installed: false,
        };
        load.find_constraints();
        Ok(load)
    }

    /// A label, made with the load if there is none.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn label(&mut self, name: &str) -> Result<BulkName, Error> {
        validate_name(NameKind::Label, name)?;
        Ok(self.labels.add(name))
    }

    /// A property key, made with the load if there is none.
    ///
    /// # Errors
    /// [`Error::Name`].
    pub fn property_key(&mut self, name: &str) -> Result<BulkName, Error> {
        validate_name(NameKind::PropertyKey, name)?;
        Ok(self.keys.add(name))
    }

    /// An edge type, made with the load if there is none.
    ///
    /// # Errors
    /// [`Error::EdgeTypeExists`] if it was made with other options, [`Error::Name`],
    /// [`Error::BulkLoad`] for types ordered by a property.
    pub fn edge_type(&mut self, name: &str, options: EdgeTypeOptions) -> Result<BulkName, Error> {
        validate_name(NameKind::EdgeType, name)?;
        let other = || Error::EdgeTypeExists { name: name.to_owned() };
        if let Some(known) = self.types.iter().position(|t| t.name == name) {
            let same = self.types[known].options == options;
            return if same { Ok(BulkName(known)) } else { Err(other()) };
        }
        if let EdgeOrder::NewestFirst(_) = options.order {
            let reason = format!("edge type {name} is ordered by a property; use transactions");
            return Err(Error::BulkLoad { reason });
        }
        if let Some(id) = self.shared.catalog.find_edge_type(name)
            && self.shared.catalog.edge_type(id)?.options != options
        {
            return Err(other());
        }
        let number = self.types.len();
        let edges = EdgeSorter::new(number);
        let (name, keys) = (name.to_owned(), Vec::new());
        self.types.push(TypeLoad { name, options, keys, edges, ordinals: None });
        Ok(BulkName(number))
    }

    /// Adds `count` vertices with these labels and one row per vertex in each column. They are
    /// numbered in the order in which they come.
    ///
    /// # Errors
    /// [`Error::TooMany`]; [`Error::BulkLoad`] if a column has another number of rows, or ids were
    /// given out already.
    pub fn add_vertices(
        &mut self,
        labels: &[BulkName],
        count: usize,
        columns: &[(BulkName, Column)],
    ) -> Result<(), Error> {
        self.add_vertices_of(&[(labels, count)], columns)
    }

    /// As [`add_vertices`](Self::add_vertices), for runs of vertices with different labels.
    ///
    /// # Errors
    /// As [`add_vertices`](Self::add_vertices).
    pub fn add_vertices_of(
        &mut self,
        runs: &[(&[BulkName], usize)],
        columns: &[(BulkName, Column)],
    ) -> Result<(), Error> {
        if self.taken.is_some() {
            let reason = "vertices come before the ids of vertices are asked for".to_owned();
            return Err(Error::BulkLoad { reason });
        }
        let count: usize = runs.iter().map(|(_, n)| n).sum();
        check_rows(count, columns)?;
        if (self.vertices + count) as u64 > VERTICES_MAX {
            return Err(Error::TooMany { what: "vertices", max: VERTICES_MAX });
        }
        for (labels, n) in runs {
            let mut labels = labels.to_vec();
            labels.sort_unstable();
            labels.dedup();
            let known = self.sets.iter().position(|s| *s == labels);
            let set = known.unwrap_or_else(|| {
                self.sets.push(labels);
                self.sets.len() - 1
            });
            match self.states.last_mut() {
                Some((last, many)) if *last == set => *many += *n as u32,
                _ => self.states.push((set, *n as u32)),
            }
        }
        for (key, column) in columns {
            let known = self.columns.iter().position(|(k, _)| k == key);
            let known = known.unwrap_or_else(|| {
                self.columns.push((*key, Column::new()));
                self.columns.len() - 1
            });
            let to = &mut self.columns[known].1;
            to.pad(self.vertices);
            to.append(column);
        }
        self.vertices += count;
        let rows = self.vertices;
        self.columns.iter_mut().for_each(|(_, c)| c.pad(rows));
        Ok(())
    }

    /// Id of the first new vertex; the others follow it. No vertices can be added from now on.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn first_vertex(&mut self) -> Result<VertexId, Error> {
        let count = self.vertices as u64;
        let whole = |n: u64| n.next_multiple_of(SEGMENT_VERTICES as u64);
        let taken = match self.taken {
            Some(taken) => taken,
            None => {
                let end = |start| match count {
                    0 => Some(start),
                    n => Some(whole(whole(start) + n)).filter(|e| *e <= VERTICES_MAX),
                };
                let next = &self.shared.next_vertex;
                let start = next
                    .fetch_update(Ordering::AcqRel, Ordering::Acquire, end)
                    .map_err(|_| Error::TooMany { what: "vertices", max: VERTICES_MAX })?;
                let first = if count == 0 { start } else { whole(start) };
                Taken { start, first, end: end(start).unwrap_or(start) }
            }
        };
        self.taken = Some(taken);
        Ok(VertexId::from_raw(taken.first))
    }

    /// Gives back the ids behind the new vertices, if nobody took others meanwhile.
    fn trim(&mut self) {
        if let Some(taken) = &mut self.taken {
            let end = taken.first + self.vertices as u64;
            let next = &self.shared.next_vertex;
            let (from, to) = (Ordering::AcqRel, Ordering::Relaxed);
            if self.vertices > 0 && next.compare_exchange(taken.end, end, from, to).is_ok() {
                taken.end = end;
            }
        }
    }

    /// Adds edges of a type; each column has one row per edge. Ends are ids of vertices that are in
    /// the database or among the new ones, which is checked at the end.
    ///
    /// # Errors
    /// [`Error::SimpleEdgeType`] if there are columns and the type has none, [`Error::TooMany`],
    /// [`Error::BulkLoad`] if a column has another number of rows, [`Error::File`].
    pub fn add_edges(
        &mut self,
        ty: BulkName,
        ends: Vec<(u32, u32)>,
        columns: Vec<(BulkName, Column)>,
    ) -> Result<(), Error> {
        check_rows(ends.len(), &columns)?;
        let Some(load) = self.types.get_mut(ty.0) else {
            return Err(Error::BulkLoad { reason: "an edge type of another load".to_owned() });
        };
        if load.options.kind() == ListKind::Simple && !columns.is_empty() {
            return Err(Error::SimpleEdgeType { name: load.name.clone() });
        }
        if load.edges.len() + ends.len() as u64 + 2 * SEGMENT_VERTICES as u64 > VERTICES_MAX {
            return Err(Error::TooMany { what: "edges of one type", max: VERTICES_MAX });
        }
        let mut numbered = Vec::with_capacity(columns.len());
        for (key, column) in columns {
            let known = load.keys.iter().position(|k| *k == key);
            let known = known.unwrap_or_else(|| {
                load.keys.push(key);
                load.keys.len() - 1
            });
            numbered.push((known, column));
        }
        load.edges.add(ends, numbered);
        let held: usize = self.types.iter().map(|t| t.edges.bytes()).sum();
        if held > self.options.memory_bytes {
            // The largest goes first: the others may stay in memory to the end.
            if let Some(largest) = self.types.iter_mut().max_by_key(|t| t.edges.bytes()) {
                largest.edges.spill(&self.dir)?;
            }
        }
        Ok(())
    }

    /// Puts everything into the database, as one commit that is on disk when this returns.
    ///
    /// From here on transactions that were open are refused when they commit (a retryable
    /// conflict), and new ones wait; snapshots that are opened while the store commits wait for
    /// that. `progress` is called now and then with how much of a step is done, and of how much.
    ///
    /// # Errors
    /// None of them leaves anything behind. [`Error::SnapshotsOpen`] if snapshots or transactions
    /// stayed open; [`Error::NotFound`] for an end of an edge that does not exist;
    /// [`Error::TooMany`], [`Error::EdgeTypeExists`], [`Error::Conflict`] (load again);
    /// [`Error::ConstraintViolated`] by what is loaded, alone or together with what is there;
    /// [`Error::BulkLoad`] for duplicates, if they are to be rejected; [`Error::Log`],
    /// [`Error::Store`], [`Error::File`].
    pub fn finish(mut self, progress: &dyn Fn(BulkStep, u64, u64)) -> Result<BulkReport, Error> {
        self.first_vertex()?;
        install::install(&mut self, progress)
    }
}

fn check_rows(rows: usize, columns: &[(BulkName, Column)]) -> Result<(), Error> {
    match columns.iter().find(|(_, c)| c.len() != rows) {
        None => Ok(()),
        Some((_, c)) => {
            let reason = format!("a column has {} rows where {rows} were expected", c.len());
            Err(Error::BulkLoad { reason })
        }
    }
}

impl Drop for BulkLoad<'_> {
    fn drop(&mut self) {
        // Nothing that was not there: a folder that cannot be removed goes at the next open.
        let _ = std::fs::remove_dir_all(&self.dir);
        self.holds.iter().for_each(|(kind, name)| self.shared.catalog.release(*kind, name));
        for (id, before, end) in self.types.iter().filter_map(|t| t.ordinals) {
            if let (false, Ok(ty)) = (self.installed, self.shared.catalog.edge_type(id)) {
                ty.give_back_ordinals(before, end);
            }
        }
        let Some(Taken { start, first, end }) = self.taken.take() else { return };
        let give_back = |ids: std::ops::Range<u64>| {
            if !ids.is_empty() {
                self.shared.free_vertices.give_back(ids.map(|id| id as u32));
            }
        };
        let next = &self.shared.next_vertex;
        let (success, failure) = (Ordering::AcqRel, Ordering::Relaxed);
        if self.installed {
            give_back(start..first);
            give_back(first + self.vertices as u64..end);
        } else if next.compare_exchange(end, start, success, failure).is_err() {
            give_back(start..end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_wait_in_a_part_of_the_memory_that_there_is() {
        assert_eq!(waiting_bytes(600 << 20), 150 << 20);
        assert_eq!(waiting_bytes(64 << 30), 1 << 30);
        // Where it cannot be told.
        assert_eq!(waiting_bytes(u64::MAX), 1 << 30);
        assert_eq!(BulkOptions::default().memory_bytes, waiting_bytes(machine::memory_bytes()));
    }
}
