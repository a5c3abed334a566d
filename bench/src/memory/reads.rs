//! Skewed reads of a graph that memory holds a quarter of, here and in LMDB.
//!
//! Both read the same vertices, one list each, for the same time, in a control group of the same
//! size. LMDB runs as is best for it: without read-ahead, which costs it most of its rate where
//! memory is short.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use telar_engine::Engine;
use telar_generate::csr::Csr;
use telar_graph::{Direction, Topology};

use super::group::Group;
use super::{
    HEAP_MAX, MemoryError, Options, Outcome, READS_MIN, fine, forget_file, link, list_of, settings,
};
use crate::container::kv::{Compact, KvGraph, Lmdb, LmdbOptions};
use crate::container::{Container, Snapshot};
use crate::workload::Skew;

/// Reads between two readers, which let go of what was dropped.
const READS_PER_READER: usize = 1024;
/// Address space of the other store, relative to what the graph's edges take.
const PEER_ROOM: usize = 16;

/// The graph in LMDB.
pub(super) struct Peer {
    folder: PathBuf,
    options: LmdbOptions,
}

impl Peer {
    fn open(&self) -> Result<KvGraph<Lmdb, Compact>, MemoryError> {
        Ok(KvGraph::new(Lmdb::open_with(&self.folder, self.options)?, Compact::default()))
    }

    fn file(&self) -> PathBuf {
        self.folder.join("data.mdb")
    }

    /// Bytes that the graph takes.
    pub(super) fn bytes(&self) -> Result<u64, MemoryError> {
        // The file may be as long as the address space: most of that is a hole.
        Ok(self.open()?.reserved_bytes())
    }
}

/// Puts the graph into LMDB and checks every list of it.
pub(super) fn make_peer(options: &Options, folder: &Path) -> Result<Peer, MemoryError> {
    std::fs::create_dir(folder)?;
    let Options { vertices, degree, .. } = *options;
    let map_bytes = (PEER_ROOM << 20) + PEER_ROOM * 4 * degree as usize * vertices as usize;
    let peer = Peer {
        folder: folder.into(),
        options: LmdbOptions { map_bytes: map_bytes.next_multiple_of(1 << 20), read_ahead: false },
    };
    let mut wanted = Vec::new();
    let mut edges = Vec::with_capacity(vertices as usize * degree as usize);
    for v in 0..vertices {
        list_of(v, degree, vertices, &mut wanted);
        edges.extend(wanted.iter().map(|n| (v, *n)));
    }
    let graph = peer.open()?;
    graph.append(&Csr::outgoing(vertices, &edges), &Csr::incoming(vertices, &edges));
    drop(edges);
    let snapshot = graph.snapshot();
    let mut wrong = None;
    snapshot.out().scan(0..vertices, |v, run| {
        list_of(v, degree, vertices, &mut wanted);
        if run != wanted {
            wrong = Some(v);
        }
    });
    match wrong {
        Some(v) => Err(MemoryError::Wrong(format!("neighbours of vertex {v} in LMDB"))),
        None => Ok(peer),
    }
}

/// Bytes of memory that belong to this process alone.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|l| l.trim().split(' ').next()?.parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// Reads of one store.
#[derive(Default)]
struct Reads {
    done: u64,
    counted: u64,
    counted_s: f64,
    /// Sum of the neighbours that the first reads found.
    first: u64,
}

impl Reads {
    fn rate(&self) -> f64 {
        self.counted as f64 / self.counted_s
    }
}

/// Calls `batch` with vertices, for some time; it returns the sum of their neighbours.
fn timed(
    time: Duration,
    mut skew: Skew,
    mut batch: impl FnMut(&[u32]) -> Result<u64, MemoryError>,
) -> Result<Reads, MemoryError> {
    let (begun, mut counting) = (Instant::now(), None);
    let mut reads = Reads::default();
    let mut vertices = Vec::new();
    while begun.elapsed() < time || counting.is_none() {
        vertices.clear();
        vertices.extend(skew.by_ref().take(READS_PER_READER));
        let sum = batch(&vertices)?;
        if reads.done == 0 {
            reads.first = sum;
        }
        reads.done += READS_PER_READER as u64;
        match counting {
            Some(_) => reads.counted += READS_PER_READER as u64,
            // The first half fills caches and does not count.
            None if begun.elapsed() > time / 2 => counting = Some(Instant::now()),
            None => {}
        }
    }
    reads.counted_s = counting.map_or(f64::NAN, |from| from.elapsed().as_secs_f64());
    Ok(reads)
}

/// Sum of the neighbours of some vertices, read one by one.
fn sum_of(topology: &impl Topology, vertices: &[u32]) -> u64 {
    let mut sum = 0;
    for &v in vertices {
        topology.for_each_run(v, |run| sum += run.iter().map(|n| u64::from(*n)).sum::<u64>());
    }
    sum
}

/// Reads the graph in `path`, and in `peer`, with `memory` bytes for each. Vertices are hot in
/// blocks of `block`.
pub(super) fn run(
    options: &Options,
    path: &Path,
    peer: &Peer,
    memory: u64,
    block: u32,
    outcome: &mut Outcome,
) -> Result<(), MemoryError> {
    let skew = Skew::new(options.vertices, block, options.seed);
    let limit = memory / 2;
    forget_file(&path.join("store/data.mdb"))?;
    let before = resident();
    let group = Group::enter(memory);
    let db = Engine::open(path, settings(Some(limit)))?;
    let ty = link(&db)?;
    let mut most = 0;
    let ours = timed(options.time, skew.clone(), |vertices| {
        let reader = db.reader()?;
        let sum = sum_of(&reader.adjacency(ty, Direction::Out)?, vertices);
        most = most.max(db.memory().heap() as u64);
        Ok(sum)
    })?;
    fine(&db)?;
    let grown = resident().saturating_sub(before);
    db.close()?;
    let confined = group.is_some();
    drop(group);

    forget_file(&peer.file())?;
    let group = Group::enter(memory);
    let graph = peer.open()?;
    let theirs =
        timed(options.time, skew, |vertices| Ok(sum_of(&graph.snapshot().out(), vertices)))?;
    drop((graph, group));
    if ours.first != theirs.first || ours.first == 0 {
        return Err(MemoryError::Wrong("the two stores have different neighbours".into()));
    }

    let figures = &mut outcome.figures;
    figures.push(format!("k reads/s, hot blocks of {block}"), ours.rate() * 1e-3, None);
    figures.push("  the same in LMDB", theirs.rate() * 1e-3, None);
    figures.push("  ours / LMDB's", ours.rate() / theirs.rate(), READS_MIN);
    figures.push("  most heap / memory limit", most as f64 / limit as f64, HEAP_MAX);
    outcome.notes.push(format!(
        "hot blocks of {block}: {} and {} reads, {} MiB of memory, {} MiB more of our own at the \
         end, {}",
        ours.done,
        theirs.done,
        memory >> 20,
        grown >> 20,
        if confined { "held by a control group" } else { "no control group: page cache not held" }
    ));
    Ok(())
}
