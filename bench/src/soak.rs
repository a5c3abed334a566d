//! A long run of everything at once: writers, short and long readers, checkpoints, backups. Memory
//! and watermark must stay flat.
//!
//! The graph does not grow: every transaction makes as much as it takes away (an edge moves, a
//! property changes), so what grows is a leak. Each backup is checked, every so often one is
//! restored and compared with the sums that must hold at any commit.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::ops::{BackupOptions, RestoreOptions, check, restore};
use telar_engine::{EdgeTypeOptions, Engine, Error, Settings};
use telar_graph::{Direction, EdgeTypeId, PropertyKeyId, Value, VertexId};

use crate::backup::Failed;
use crate::report::{Table, digits};
use crate::rng::Rng;

/// What is run, for how long, and where.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long.
    pub time: Duration,
    /// Time between two samples.
    pub sample: Duration,
    /// Vertices; each has one out edge that wanders.
    pub vertices: u64,
    /// Threads that write.
    pub writers: usize,
    /// Folder on the disk to run on.
    pub folder: PathBuf,
}

/// The state at one moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    seconds: f64,
    commits: u64,
    resident: u64,
    engine: u64,
    unsettled: u64,
    behind: u64,
    watermark_s: f64,
    store: u64,
    log: u64,
}

struct Soak {
    db: Engine,
    edge: EdgeTypeId,
    value: PropertyKeyId,
    vertices: u64,
    commits: AtomicU64,
    stop: AtomicBool,
}

impl Soak {
    fn make(path: &Path, vertices: u64) -> Result<Self, Error> {
        let mut settings = Settings::default();
        settings.checkpoint_wal_bytes = 4 << 20;
        settings.wal_file_bytes = 1 << 20;
        let db = Engine::open(path, settings)?;
        let edge = db.edge_type("AT", EdgeTypeOptions::simple())?;
        let value = db.property_key("value")?;
        for first in (0..vertices).step_by(1000) {
            let mut txn = db.begin()?;
            for _ in first..vertices.min(first + 1000) {
                let v = txn.create_vertex(&[])?;
                txn.set_vertex_property(v, value, Value::Int(0))?;
            }
            for v in first..vertices.min(first + 1000) {
                txn.upsert_edge(edge, VertexId::from_raw(v), VertexId::from_raw(0))?;
            }
            txn.commit()?;
        }
        let (commits, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        Ok(Self { db, edge, value, vertices, commits, stop })
    }

    /// One vertex's edge moves to another place; a value goes up here and down there.
    fn step(&self, rng: &mut Rng) -> Result<(), Error> {
        let mut any = || VertexId::from_raw(rng.below(self.vertices));
        let (v, to, other) = (any(), any(), any());
        self.db.write(Default::default(), |txn| {
            let from: Vec<_> = txn.edges(v, self.edge, Direction::Out)?.collect();
            for e in from.into_iter().filter(|e| e.dst != to) {
                txn.delete_edge(e)?;
            }
            txn.upsert_edge(self.edge, v, to)?;
            if v != other {
                for (vertex, change) in [(v, 1), (other, -1)] {
                    if let Value::Int(had) = txn.vertex_property(vertex, self.value)? {
                        txn.set_vertex_property(vertex, self.value, Value::Int(had + change))?;
                    }
                }
            }
            Ok::<(), Error>(())
        })?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// What must hold at any commit: one edge per vertex, values that add up to nothing.
    fn verify(&self, db: &Engine) -> Result<(), Failed> {
        let reader = db.reader()?;
        let (mut out, mut inward, mut sum) = (0, 0, 0);
        for v in (0..self.vertices).map(VertexId::from_raw) {
            out += reader.degree(v, self.edge, Direction::Out) as u64;
            inward += reader.degree(v, self.edge, Direction::In) as u64;
            if let Value::Int(n) = reader.vertex_property(v, self.value) {
                sum += n;
            }
        }
        if (out, inward, sum) == (self.vertices, self.vertices, 0) {
            return Ok(());
        }
        Err(format!("{out} and {inward} edges, values add up to {sum}").into())
    }

    /// Keeps a snapshot open for a while and verifies it at the end, again and again.
    fn read_long(&self, hold: Duration) -> Result<(), Failed> {
        while !self.stopped() {
            let snapshot = self.db.snapshot()?;
            let begun = Instant::now();
            while begun.elapsed() < hold && !self.stopped() {
                std::thread::sleep(Duration::from_millis(20));
            }
            let reader = snapshot.reader();
            let degree = |v| reader.degree(VertexId::from_raw(v), self.edge, Direction::Out) as u64;
            let edges: u64 = (0..self.vertices).map(degree).sum();
            if edges != self.vertices {
                return Err(format!("a long reader saw {edges} edges").into());
            }
        }
        Ok(())
    }

    /// Chains of backups, each checked, the last of a chain restored and verified.
    fn back_up(&self, folder: &Path) -> Result<u64, Failed> {
        let mut made = 0;
        let mut chain: Vec<PathBuf> = Vec::new();
        while !self.stopped() {
            let path = folder.join(format!("backup-{made}"));
            let mut options = BackupOptions::default();
            options.since = chain.last().cloned();
            self.db.backup(&path, &options)?;
            if let Some(finding) = check(&path)?.findings.first() {
                return Err(format!("a backup under load: {finding}").into());
            }
            made += 1;
            chain.push(path);
            if chain.len() == 4 {
                let target = folder.join("restored");
                restore(&chain, &target, &RestoreOptions::default())?;
                let restored = Engine::open(&target, Settings::default())?;
                self.verify(&restored)?;
                drop(restored);
                fs::remove_dir_all(&target)?;
                chain.drain(..).try_for_each(fs::remove_dir_all)?;
            }
            let begun = Instant::now();
            while begun.elapsed() < Duration::from_millis(700) && !self.stopped() {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(made)
    }

    fn sample(&self, begun: Instant, path: &Path) -> Sample {
        let health = self.db.health();
        let store = fs::metadata(path.join("store/data.mdb")).map_or(0, |m| m.len());
        let memory = health.memory;
        Sample {
            seconds: begun.elapsed().as_secs_f64(),
            commits: self.commits.load(Ordering::Relaxed),
            resident: resident_bytes(),
            engine: (memory.topology + memory.states + memory.properties) as u64,
            unsettled: health.settle.unsettled,
            behind: health.published.get() - health.watermark.get(),
            watermark_s: health.watermark_age.as_secs_f64(),
            store,
            log: health.log.map_or(0, |l| l.bytes_on_disk),
        }
    }
}

/// Memory of the process, where the system says so.
fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

/// A figure of a sample.
type Figure = fn(&Sample) -> u64;

/// The largest of a figure in the second and in the last quarter: growth shows between them.
fn growth(samples: &[Sample], of: impl Fn(&Sample) -> u64) -> (u64, u64) {
    let quarter = samples.len() / 4;
    let max = |part: &[Sample]| part.iter().map(&of).max().unwrap_or(0);
    (max(&samples[quarter..2 * quarter]), max(&samples[samples.len() - quarter..]))
}

/// Runs the soak; `stage` is told each sample.
///
/// # Errors
/// If memory, unsettled entries, the store or the log grew, the watermark did not follow, something
/// that was read or restored was wrong, or the engine failed.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Table, Failed> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let path = folder.path().join("graph");
    let soak = Soak::make(&path, options.vertices)?;
    let hold = (options.time / 20).clamp(Duration::from_secs(1), Duration::from_secs(30));
    let mut samples: Vec<Sample> = Vec::new();
    let begun = Instant::now();
    let backups = std::thread::scope(|scope| -> Result<u64, Failed> {
        let soak = &soak;
        let writers: Vec<_> = (0..options.writers)
            .map(|writer| {
                scope.spawn(move || -> Result<(), Failed> {
                    let mut rng = Rng::new(writer as u64);
                    while !soak.stopped() {
                        soak.step(&mut rng)?;
                    }
                    Ok(())
                })
            })
            .collect();
        let reader = scope.spawn(move || soak.read_long(hold));
        let folder = folder.path();
        let backups = scope.spawn(move || soak.back_up(folder));
        while begun.elapsed() < options.time {
            std::thread::sleep(options.sample.min(options.time));
            let s = soak.sample(begun, &path);
            samples.push(s);
            stage(&format!(
                "{} commits, {} MiB resident, {} unsettled, watermark {:.1} s behind",
                s.commits,
                s.resident >> 20,
                s.unsettled,
                s.watermark_s
            ));
        }
        soak.stop.store(true, Ordering::Relaxed);
        for thread in writers.into_iter().chain([reader]) {
            thread.join().map_err(|_| "a thread panicked")??;
        }
        backups.join().map_err(|_| "the backup thread panicked")?
    })?;
    soak.verify(&soak.db)?;
    let mut table = Table::new([
        "s",
        "commits",
        "resident MiB",
        "engine MiB",
        "unsettled",
        "behind",
        "watermark s",
        "store MiB",
        "log MiB",
    ]);
    let mib = |bytes: u64| digits(bytes as f64 / (1 << 20) as f64);
    for s in &samples {
        let counts = [s.commits, s.unsettled, s.behind].map(|n| n.to_string());
        let [commits, unsettled, behind] = counts;
        let (resident, engine) = (mib(s.resident), mib(s.engine));
        let (age, seconds) = (digits(s.watermark_s), digits(s.seconds));
        let (store, log) = (mib(s.store), mib(s.log));
        table.push([seconds, commits, resident, engine, unsettled, behind, age, store, log]);
    }
    judge(&samples, hold)?;
    stage(&format!("{backups} backups, each checked; nothing grew"));
    Ok(table)
}

/// Fails if something grew that must not.
fn judge(samples: &[Sample], hold: Duration) -> Result<(), Failed> {
    if samples.len() < 8 {
        return Ok(());
    }
    // Name, figure, and by how much it may differ whatever its size.
    let figures: [(&str, Figure, u64); 4] = [
        ("resident memory", |s| s.resident, 64 << 20),
        ("memory of the engine", |s| s.engine, 16 << 20),
        ("the store file", |s| s.store, 64 << 20),
        ("the log", |s| s.log, 16 << 20),
    ];
    for (name, of, slack) in figures {
        let (early, late) = growth(samples, of);
        if late > early + early / 5 + slack {
            return Err(format!("{name} grew from {early} to {late} bytes").into());
        }
    }
    let oldest = samples.iter().map(|s| s.watermark_s).fold(0.0, f64::max);
    // The longest reader, and a backup or a check that had the cores to itself.
    if oldest > 3.0 * hold.as_secs_f64() + 30.0 {
        return Err(format!("the watermark fell {oldest:.0} s behind").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(seconds: u64) -> Sample {
        Sample {
            seconds: seconds as f64,
            commits: seconds * 100,
            resident: 1 << 30,
            engine: 1 << 20,
            unsettled: 10,
            behind: 5,
            watermark_s: 1.0,
            store: 1 << 20,
            log: 1 << 20,
        }
    }

    #[test]
    fn growth_and_a_stuck_watermark_fail() {
        let hold = Duration::from_secs(2);
        let samples: Vec<Sample> = (0..40).map(flat).collect();
        judge(&samples, hold).unwrap();
        let leak = |s: u64| Sample { resident: (1 << 30) + (s << 25), ..flat(s) };
        let error = judge(&(0..40).map(leak).collect::<Vec<_>>(), hold).unwrap_err();
        assert!(error.to_string().contains("resident memory grew"), "{error}");
        let stuck = |s: u64| Sample { watermark_s: s as f64, ..flat(s) };
        assert!(judge(&(0..40).map(stuck).collect::<Vec<_>>(), hold).is_err());
    }

    #[test]
    fn short_soak_runs_everything() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            time: Duration::from_millis(1500),
            sample: Duration::from_millis(300),
            vertices: 2000,
            writers: 2,
            folder: folder.path().into(),
        };
        let table = run(&options, &mut |_| ()).unwrap();
        assert!(table.to_string().lines().count() >= 4, "{table}");
    }
}
