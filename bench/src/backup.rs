//! What a backup costs: bytes against the share of the graph that changed, and the rate of writers
//! beside it.
//!
//! The chain of incremental backups is restored and compared with the database, list by list,
//! before any figure is returned. Writers with and without a backup run in turns in one process, so
//! that both meet the same state of the machine; their ratio is that of the medians.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::maintenance::{BackupDone, BackupOptions, RestoreOptions, restore};
use telar_engine::{Durability, EdgeTypeOptions, Engine, Error, Settings};
use telar_generate::rng::Rng;
use telar_graph::{Direction, EdgeTypeId, VertexId};

use crate::measure::median;
use crate::report::{Report, Table, digits};

/// Vertices per segment, the unit that a checkpoint writes.
const SEGMENT: u64 = telar_engine::Adjacency::SEGMENT_VERTICES as u64;
/// Shares of the segments to which one edge is added before an incremental backup.
const SHARES: [f64; 5] = [0.0, 0.001, 0.01, 0.1, 1.0];
/// Edges per transaction while the graph is made.
const BATCH: u64 = 2048;

/// What is measured, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// Vertices; edges are as many times that as `degree`.
    pub vertices: u64,
    /// Out edges of each vertex.
    pub degree: u64,
    /// Turns of writers with and without a backup.
    pub rounds: usize,
    /// Length of one turn.
    pub turn: Duration,
    /// Threads that write.
    pub writers: usize,
    /// Limit of the backup in bytes per second, 0 for none.
    pub bytes_per_s_max: u64,
    /// Folder on the disk to measure on.
    pub folder: PathBuf,
}

/// An error, as text: there is nothing a caller could do but show it.
pub type Failed = Box<dyn std::error::Error + Send + Sync>;

struct Graph {
    db: Engine,
    link: EdgeTypeId,
    vertices: u64,
}

impl Graph {
    fn make(path: &Path, options: &Options) -> Result<Self, Error> {
        let mut settings = Settings::asynchronous(50);
        settings.checkpoint_wal_bytes = 0;
        let db = Engine::open(path, settings)?;
        let link = db.edge_type("LINK", EdgeTypeOptions::simple())?;
        let mut txn = db.begin()?;
        for _ in 0..options.vertices {
            txn.create_vertex(&[])?;
        }
        txn.commit()?;
        let mut rng = Rng::new(7);
        let batch = BATCH / options.degree.max(1);
        for first in (0..options.vertices).step_by(batch as usize) {
            let mut txn = db.begin()?;
            for v in first..options.vertices.min(first + batch) {
                for _ in 0..options.degree {
                    let to = VertexId::from_raw(rng.below(options.vertices));
                    txn.upsert_edge(link, VertexId::from_raw(v), to)?;
                }
            }
            txn.commit()?;
        }
        db.close()?;
        settings.durability = Durability::Full;
        Ok(Self { db: Engine::open(path, settings)?, link, vertices: options.vertices })
    }

    /// Adds an edge within each of a share of the segments, one transaction each.
    fn change(&self, share: f64, rng: &mut Rng) -> Result<u64, Error> {
        let segments = self.vertices / SEGMENT;
        let changed = (segments as f64 * share).round() as u64;
        for segment in 0..changed {
            let mut any = || VertexId::from_raw(segment * SEGMENT + rng.below(SEGMENT));
            let (from, to) = (any(), any());
            self.db.write(Default::default(), |txn| txn.upsert_edge(self.link, from, to))?;
        }
        Ok(changed)
    }

    /// Number and a hash of all edges, in either direction.
    fn digest(db: &Engine, link: EdgeTypeId, vertices: u64) -> Result<[(u64, u64); 2], Error> {
        let reader = db.reader()?;
        Ok(Direction::ALL.map(|direction| {
            let (mut count, mut hash) = (0u64, 0u64);
            for v in (0..vertices).map(VertexId::from_raw) {
                let mut list = Vec::new();
                reader.for_each_run(v, link, direction, |run| list.extend_from_slice(run));
                list.sort_unstable();
                count += list.len() as u64;
                for n in list {
                    hash = (hash ^ u64::from(n)).wrapping_mul(0x0100_0000_01B3).rotate_left(23);
                }
            }
            (count, hash)
        }))
    }
}

fn backup(db: &Engine, into: &Path, since: Option<&Path>, limit: u64) -> Result<BackupDone, Error> {
    let mut options = BackupOptions::default();
    options.since = since.map(Path::to_owned);
    options.bytes_per_s_max = limit;
    db.backup(into, &options)
}

/// Commits per second of writers during a while, and backups made beside them.
fn write_for(
    graph: &Graph,
    options: &Options,
    beside: Option<&Path>,
) -> Result<(f64, u64), Failed> {
    let (stop, commits) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut backups = 0;
    let begun = Instant::now();
    let seconds = std::thread::scope(|scope| -> Result<f64, Failed> {
        for writer in 0..options.writers {
            let (stop, commits) = (&stop, &commits);
            scope.spawn(move || {
                let share = graph.vertices / options.writers as u64;
                let mut rng = Rng::new(writer as u64);
                let mut any = |of: u64| rng.below(of);
                while !stop.load(Ordering::Relaxed) {
                    let from = VertexId::from_raw(writer as u64 * share + any(share));
                    let to = VertexId::from_raw(any(graph.vertices));
                    let done = graph
                        .db
                        .write(Default::default(), |txn| txn.upsert_edge(graph.link, from, to));
                    match done {
                        Ok(_) => commits.fetch_add(1, Ordering::Relaxed),
                        Err(_) => return,
                    };
                }
            });
        }
        let mut beside = || -> Result<(), Failed> {
            let Some(folder) = beside else {
                std::thread::sleep(options.turn);
                return Ok(());
            };
            while begun.elapsed() < options.turn {
                let into = folder.join(format!("beside-{backups}"));
                backup(&graph.db, &into, None, options.bytes_per_s_max)?;
                fs::remove_dir_all(into)?;
                backups += 1;
            }
            Ok(())
        };
        let done = beside();
        // The rate is over the time in which a backup ran, whole backups only.
        let seconds = begun.elapsed().as_secs_f64();
        let counted = commits.load(Ordering::Relaxed);
        stop.store(true, Ordering::Relaxed);
        commits.store(counted, Ordering::Relaxed);
        done.map(|()| counted as f64 / seconds)
    })?;
    graph.db.flush()?;
    Ok((seconds, backups))
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Of the engine or the disk, or if a restored database differs.
pub fn run(
    options: &Options,
    stage: &mut dyn FnMut(&str),
) -> Result<(Report, Table, Table), Failed> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let at = |name: &str| folder.path().join(name);
    let mut report = Report::new("backup");
    report.parameter("vertices", options.vertices);
    report.parameter("degree", options.degree);
    report.parameter("writers", options.writers);
    report.parameter("bytes_per_s_max", options.bytes_per_s_max);
    stage("making the graph");
    let graph = Graph::make(&at("graph"), options)?;

    stage("full backup");
    let full = backup(&graph.db, &at("full"), None, 0)?;
    let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
    let mut table = Table::new(["changed", "segments", "values", "MiB", "of full", "s"]);
    let row = |share: String, segments: u64, done: &BackupDone| {
        let of_full = done.bytes as f64 / full.bytes as f64;
        let took = done.took.as_secs_f64();
        let values = done.values.to_string();
        [
            share,
            segments.to_string(),
            values,
            digits(mib(done.bytes)),
            digits(of_full),
            digits(took),
        ]
    };
    table.push(row("full".into(), graph.vertices / SEGMENT, &full));
    report.figure("full/MiB", mib(full.bytes));
    report.figure("full/seconds", full.took.as_secs_f64());
    let mut chain = vec![at("full")];
    let mut rng = Rng::new(11);
    for share in SHARES {
        stage(&format!("incremental backup, {share} of the segments changed"));
        let changed = graph.change(share, &mut rng)?;
        graph.db.checkpoint()?;
        let path = at(&format!("changed-{share}"));
        let done = backup(&graph.db, &path, chain.last().map(PathBuf::as_path), 0)?;
        report.figure(format!("changed/{share}/MiB"), mib(done.bytes));
        report.figure(format!("changed/{share}/of_full"), done.bytes as f64 / full.bytes as f64);
        table.push(row(format!("{} %", share * 100.0), changed, &done));
        chain.push(path);
    }
    stage("restoring the chain and comparing");
    restore(&chain, at("restored"), &RestoreOptions::default())?;
    let restored = Engine::open(at("restored"), Settings::default())?;
    let wanted = Graph::digest(&graph.db, graph.link, graph.vertices)?;
    if Graph::digest(&restored, graph.link, graph.vertices)? != wanted {
        return Err("the restored database differs from its source".into());
    }
    drop(restored);
    fs::remove_dir_all(at("restored"))?;
    chain.iter().try_for_each(fs::remove_dir_all)?;

    let (mut alone, mut beside, mut made) = (Vec::new(), Vec::new(), 0);
    for round in 0..options.rounds {
        stage(&format!("writers, turn {} of {}", round + 1, options.rounds));
        // The one that goes first alternates.
        for with in [round % 2 == 0, round % 2 == 1] {
            let into = with.then(|| folder.path());
            let (rate, backups) = write_for(&graph, options, into)?;
            if with {
                beside.push(rate)
            } else {
                alone.push(rate)
            }
            made += backups;
        }
    }
    let ratios: Vec<f64> =
        beside.iter().zip(&alone).map(|(with, without)| with / without).collect();
    let mut writers =
        Table::new(["writers", "commits/s alone", "beside backups", "ratio", "backups"]);
    let (alone, beside, ratio) = (median(&alone), median(&beside), median(&ratios));
    writers.push([
        options.writers.to_string(),
        digits(alone),
        digits(beside),
        digits(ratio),
        made.to_string(),
    ]);
    report.figure("writers/alone/commits_per_s", alone);
    report.figure("writers/beside/commits_per_s", beside);
    report.ratio("writers/beside", ratio);
    Ok((report, table, writers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_run_restores_what_it_backed_up_and_fills_its_tables() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            vertices: 8 * SEGMENT,
            degree: 2,
            rounds: 1,
            turn: Duration::from_millis(30),
            writers: 2,
            bytes_per_s_max: 0,
            folder: folder.path().into(),
        };
        let (report, table, writers) = run(&options, &mut |_| ()).unwrap();
        assert!(report.to_json().to_string().contains("writers/beside"));
        assert!(table.to_string().contains("full") && writers.to_string().contains("ratio"));
    }
}
