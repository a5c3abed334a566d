//! Graphs larger than memory: opening, reading out of core, scanning, coming back to full speed.
//!
//! Every list is checked against the rule that made it before anything is timed. The page cache of
//! the store's file is dropped before each cold figure, as far as the system follows the advice;
//! the disk's own rate is that of plain reads of the same file after the same advice. Where the
//! system allows it, the process reads out of core in a control group that holds a quarter of the
//! file, page cache included; else only the engine's own limit holds, and the outcome says so.

mod group;
mod reads;

use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use telar_engine::{BulkOptions, EdgeTypeOptions, Engine, Error, Settings};
use telar_graph::{Direction, EdgeTypeId, Topology, VertexId};

use crate::figures::{Bound, Figures};
use crate::machine::Machine;
use crate::measure::{self, median};
use group::Group;

/// Longest time to open a graph ten times as large, relative.
const REOPEN_MAX: Bound = Bound::AtMost(1.3);
/// Least share of the disk's sequential rate that a cold scan reaches.
const SCAN_MIN: Bound = Bound::AtLeast(0.7);
/// Least share of the scan rate before a restart that a graph reaches after it, once warm.
const WARM_MIN: Bound = Bound::AtLeast(0.95);
/// Most heap, as a share of the engine's limit.
const HEAP_MAX: Bound = Bound::AtMost(1.25);
/// Least rate of reads out of core, relative to the graph in LMDB.
const READS_MIN: Bound = Bound::AtLeast(1.0);
/// How often a closed database is asked for its maps, with a millisecond between.
const UNMAP_TRIES: u32 = 500;
/// Vertices that are hot or cold together, in three runs.
const HOT_BLOCKS: [u32; 3] = [1, 32, 1024];

/// What to measure.
#[derive(Clone, Debug)]
pub struct Options {
    /// Vertices of the larger graph; the smaller one has a tenth.
    pub vertices: u32,
    /// Out edges of each vertex.
    pub degree: u32,
    /// Rounds; medians count.
    pub rounds: usize,
    /// Time of the reads out of core.
    pub time: Duration,
    /// Seed of graph and reads.
    pub seed: u64,
    /// Folder on the disk to measure on.
    pub folder: std::path::PathBuf,
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MemoryError {
    /// The engine refused something.
    #[error(transparent)]
    Engine(#[from] Error),
    /// A file could not be used.
    #[error(transparent)]
    File(#[from] std::io::Error),
    /// A list is not the one that was put in.
    #[error("wrong answer: {0}")]
    Wrong(String),
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct Outcome {
    machine: Machine,
    options: Options,
    figures: Figures,
    notes: Vec<String>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.machine.line())?;
        let Options { vertices, degree, rounds, seed, .. } = self.options;
        writeln!(f, "{vertices} vertices, {degree} edges each, {rounds} rounds, seed {seed}\n")?;
        writeln!(f, "{}", self.figures)?;
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

/// The rule that makes the graph: neighbour `i` of `v`.
fn neighbour(v: u32, i: u32, vertices: u32) -> u32 {
    let x = (u64::from(v) << 32 | u64::from(i)).wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ x >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((x ^ x >> 31) % u64::from(vertices)) as u32
}

fn list_of(v: u32, degree: u32, vertices: u32, out: &mut Vec<u32>) {
    out.clear();
    out.extend((0..degree).map(|i| neighbour(v, i, vertices)));
    out.sort_unstable();
    out.dedup();
}

fn settings(limit: Option<u64>) -> Settings {
    let mut settings = Settings::default();
    settings.memory_limit_bytes = limit;
    settings
}

/// Makes a database of the graph in `path` and closes it; returns the length of its store.
fn make(path: &Path, vertices: u32, degree: u32) -> Result<u64, MemoryError> {
    let db = Engine::open(path, settings(None))?;
    let mut load = db.bulk_load(BulkOptions::default())?;
    load.add_vertices(&[], vertices as usize, &[])?;
    let ty = load.edge_type("LINK", EdgeTypeOptions::simple())?;
    for first in (0..vertices).step_by(1 << 16) {
        let part = first..vertices.min(first + (1 << 16));
        let ends = part.flat_map(|v| (0..degree).map(move |i| (v, neighbour(v, i, vertices))));
        load.add_edges(ty, ends.collect(), Vec::new())?;
    }
    load.finish(&|_, _, _| ())?;
    db.close()?;
    Ok(std::fs::metadata(path.join("store/data.mdb"))?.len())
}

/// Asks the system to forget what it has read of the store.
fn forget(path: &Path) -> Result<(), MemoryError> {
    forget_file(&path.join("store/data.mdb"))
}

/// Asks the system to forget what it has read of a file.
fn forget_file(path: &Path) -> Result<(), MemoryError> {
    // It would keep what is mapped, and a closed database leaves maps to the epoch.
    let is_mapped = || {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        maps.lines().any(|line| path.to_str().is_some_and(|path| line.ends_with(path)))
    };
    for _ in 0..UNMAP_TRIES {
        if !is_mapped() {
            break;
        }
        crossbeam_epoch::pin().flush();
        std::thread::sleep(Duration::from_millis(1));
    }
    let file = File::open(path)?;
    file.sync_all()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)
        .map_err(std::io::Error::from)?;
    Ok(())
}

fn link(db: &Engine) -> Result<EdgeTypeId, MemoryError> {
    db.find_edge_type("LINK").ok_or_else(|| MemoryError::Wrong("no edge type".into()))
}

fn fine(db: &Engine) -> Result<(), MemoryError> {
    db.error().map_or(Ok(()), |e| Err(e.into()))
}

/// Runs the benchmark; `say` is told what comes next.
///
/// # Errors
/// [`MemoryError`]; a wrong answer stops it.
pub fn run(options: &Options, say: &mut dyn FnMut(&str)) -> Result<Outcome, MemoryError> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let (small, large) = (folder.path().join("small"), folder.path().join("large"));
    say("making both graphs");
    make(&small, (options.vertices / 10).max(1), options.degree)?;
    let bytes = make(&large, options.vertices, options.degree)?;
    let (figures, notes) = (Figures::default(), Vec::new());
    let mut outcome =
        Outcome { machine: Machine::here(), options: options.clone(), figures, notes };
    outcome.notes.push(format!("the store of the larger graph has {} MiB", bytes >> 20));
    say("checking every list, out of core");
    check(options, &large, bytes)?;
    say("opening");
    reopen(options, &small, &large, &mut outcome)?;
    say("scanning from disk");
    scan_cold(options, &large, bytes, &mut outcome)?;
    say("scanning from memory, before and after a restart");
    scan_warm(options, &large, &mut outcome)?;
    say("the same graph in LMDB");
    let peer = reads::make_peer(options, &folder.path().join("lmdb"))?;
    let peer_bytes = peer.bytes()?;
    outcome.notes.push(format!("in LMDB, packed per vertex, it has {} MiB", peer_bytes >> 20));
    let memory = (bytes.min(peer_bytes) / 4).max(16 << 20);
    for block in HOT_BLOCKS {
        say(&format!("reading out of core, hot blocks of {block}"));
        reads::run(options, &large, &peer, memory, block, &mut outcome)?;
    }
    Ok(outcome)
}

fn check(options: &Options, path: &Path, bytes: u64) -> Result<(), MemoryError> {
    let db = Engine::open(path, settings(Some((bytes / 4).max(1 << 20))))?;
    let ty = link(&db)?;
    let mut wanted = Vec::new();
    for first in (0..options.vertices).step_by(1 << 16) {
        let reader = db.reader()?;
        let adjacency = reader.adjacency(ty, Direction::Out)?;
        let mut wrong = None;
        let part = first..options.vertices.min(first + (1 << 16));
        adjacency.scan(part, |v, run| {
            list_of(v, options.degree, options.vertices, &mut wanted);
            if run != wanted {
                wrong = Some(v);
            }
        });
        if let Some(v) = wrong {
            return Err(MemoryError::Wrong(format!("neighbours of vertex {v}")));
        }
    }
    fine(&db)
}

fn reopen(
    options: &Options,
    small: &Path,
    large: &Path,
    outcome: &mut Outcome,
) -> Result<(), MemoryError> {
    let mut times = [Vec::new(), Vec::new()];
    // The first round touches files for the first time and does not count.
    for round in 0..=2 * options.rounds {
        for (path, times) in [small, large].into_iter().zip(&mut times) {
            forget(path)?;
            let begun = Instant::now();
            let db = Engine::open(path, settings(None))?;
            let ty = link(&db)?;
            let found = db.reader()?.degree(VertexId::from_raw(7), ty, Direction::Out);
            let elapsed = begun.elapsed().as_secs_f64();
            fine(&db)?;
            if found == 0 {
                return Err(MemoryError::Wrong("vertex 7 has no neighbours".into()));
            }
            db.close()?;
            if round > 0 {
                times.push(elapsed * 1e3);
            }
        }
    }
    let [small, large] = times.map(|t| median(&t));
    outcome.figures.push("ms to open and read one list, a tenth", small, None);
    outcome.figures.push("ms to open and read one list, all", large, None);
    outcome.figures.push("all / a tenth", large / small, REOPEN_MAX);
    Ok(())
}

/// Seconds that plain sequential reads of the first `bytes` of the store take.
fn disk(path: &Path, bytes: u64) -> Result<f64, MemoryError> {
    let file = File::open(path.join("store/data.mdb"))?;
    let mut buffer = vec![0; 1 << 20];
    let begun = Instant::now();
    let mut at = 0;
    while at < bytes {
        let read = file.read_at(&mut buffer, at)?;
        if read == 0 {
            break;
        }
        at += read as u64;
    }
    Ok(begun.elapsed().as_secs_f64())
}

fn scan_cold(
    options: &Options,
    path: &Path,
    bytes: u64,
    outcome: &mut Outcome,
) -> Result<(), MemoryError> {
    let (mut ours, mut again, mut disks) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..options.rounds {
        forget(path)?;
        disks.push(disk(path, bytes)? / bytes as f64);
        forget(path)?;
        let group = Group::enter((bytes / 4).max(16 << 20));
        let mut limited = settings(Some((bytes / 4).max(1 << 20)));
        limited.background_interval_ms = 0;
        let db = Engine::open(path, limited)?;
        let ty = link(&db)?;
        let reader = db.reader()?;
        let adjacency = reader.adjacency(ty, Direction::Out)?;
        for times in [&mut ours, &mut again] {
            let begun = Instant::now();
            let mut sum = 0u64;
            adjacency.scan(0..options.vertices, |_, run| {
                sum += run.iter().map(|n| u64::from(*n)).sum::<u64>();
            });
            let elapsed = begun.elapsed().as_secs_f64();
            std::hint::black_box(sum);
            times.push(elapsed / db.memory().mapped as f64);
        }
        fine(&db)?;
        drop((reader, group));
    }
    let (ours, again, disks) = (median(&ours), median(&again), median(&disks));
    outcome.figures.push("MB/s, plain reads of the file", 1e-6 / disks, None);
    outcome.figures.push("MB/s, cold scan of all lists", 1e-6 / ours, None);
    outcome.figures.push("cold scan / plain reads", disks / ours, SCAN_MIN);
    outcome.figures.push("next scan, 4x memory / plain reads", disks / again, SCAN_MIN);
    Ok(())
}

/// Scans what was just loaded beside what was opened again and has had time to warm.
fn scan_warm(options: &Options, path: &Path, outcome: &mut Outcome) -> Result<(), MemoryError> {
    let fresh = tempfile::tempdir_in(&options.folder)?;
    let loaded = Engine::open(fresh.path(), settings(None))?;
    let mut load = loaded.bulk_load(BulkOptions::default())?;
    load.add_vertices(&[], options.vertices as usize, &[])?;
    let ty = load.edge_type("LINK", EdgeTypeOptions::simple())?;
    let all = 0..options.vertices;
    let ends = |v| (0..options.degree).map(move |i| (v, neighbour(v, i, options.vertices)));
    load.add_edges(ty, all.clone().flat_map(ends).collect(), Vec::new())?;
    load.finish(&|_, _, _| ())?;
    let opened = Engine::open(path, settings(None))?;
    let scan = |db: &Engine| -> Result<(u64, f64), MemoryError> {
        let ty = link(db)?;
        let reader = db.reader()?;
        let adjacency = reader.adjacency(ty, Direction::Out)?;
        let mut sum = 0;
        let ((), elapsed) = measure::time(|| {
            adjacency.scan(all.clone(), |_, run| {
                sum += run.iter().map(|n| u64::from(*n)).sum::<u64>();
            });
        });
        Ok((sum, elapsed.cpu_s))
    };
    let (sum, first) = scan(&opened)?;
    // Passes of the background thread lay the bases on large pages.
    let mut waited = 0;
    while opened.memory().mapped > 0 && waited < 100 {
        std::thread::sleep(Duration::from_millis(100));
        waited += 1;
    }
    let warmed = opened.memory();
    loaded.settle();
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for _ in 0..=2 * options.rounds {
        let (a, b) = (scan(&loaded)?, scan(&opened)?);
        if a.0 != sum || b.0 != sum {
            return Err(MemoryError::Wrong("two scans differ".into()));
        }
        before.push(a.1);
        after.push(b.1);
    }
    let ratio = median(&before) / median(&after);
    outcome.notes.push(format!(
        "after a restart: first scan {:.0} ms, warm {:.0} ms, {} MiB on the heap, {} MiB in place, \
         after {:.1} s",
        first * 1e3,
        median(&after) * 1e3,
        warmed.heap() >> 20,
        warmed.mapped >> 20,
        f64::from(waited) * 0.1
    ));
    outcome.figures.push("warm scan after / before a restart", ratio, WARM_MIN);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_run_finds_what_it_put_in() {
        let options = Options {
            vertices: 30_000,
            degree: 8,
            rounds: 1,
            time: Duration::from_millis(300),
            seed: 1,
            folder: std::env::temp_dir(),
        };
        let outcome = run(&options, &mut |_| {}).unwrap();
        assert_eq!(outcome.figures.len(), 3 + 4 + 1 + 3 * 4);
        assert!(outcome.figures.iter().all(|(_, value, _)| value.is_finite()), "{outcome}");
        assert!(outcome.to_string().contains("reads/s"));
    }
}
