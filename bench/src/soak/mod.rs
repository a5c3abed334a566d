//! A long run of everything at once: writers, readers of the present and the past, checkpoints,
//! backups, a memory limit that is always short. Memory and watermark must stay flat.
//!
//! The graph does not grow: every transaction makes as much as it takes away (an edge moves, two
//! values change, a vertex comes and goes), so what grows is a leak. Each backup is checked, every
//! so often one is restored and compared with the sums that must hold at any commit. In the end
//! nothing may be left of the readers: the watermark is the last commit, nothing is unsettled, no
//! old state of the store is kept, and a check of the store finds nothing.

mod judge;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use telar_engine::maintenance::{BackupOptions, RestoreOptions, check, restore};
use telar_engine::{
    EdgeTypeOptions, Engine, Error, IndexSpec, IndexTarget, Reader, Retention, Settings,
};
use telar_graph::{
    CommitTs, Direction, EdgeTypeId, IndexId, IndexRange, PropertyKeyId, Topology, Value, VertexId,
};

use crate::backup::Failed;
use crate::report::Table;
use judge::{Sample, Watch};
use telar_generate::rng::Rng;

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
    /// Commits per second that they aim at together.
    pub commits_per_s: u32,
    /// The engine's memory limit, in bytes: small enough that something is always dropped.
    pub memory_limit_bytes: u64,
    /// How far back the past is kept.
    pub retain: Duration,
    /// Folder on the disk to run on.
    pub folder: PathBuf,
}

/// Time between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Time that what readers held has to go in the end.
const DRAIN_MAX: Duration = Duration::from_secs(60);
/// The graph is written to part by part, so that the others are dropped, read, and dropped again.
const PARTS: u64 = 8;
/// Time that a part is written to.
const PART_SECONDS: u64 = 10;
/// One transaction in this many makes or deletes a vertex.
const VERTEX_EVERY: u64 = 16;
/// One in four of these is the last of a chain of backups.
const CHAIN: usize = 4;

struct Soak {
    db: Engine,
    edge: EdgeTypeId,
    value: PropertyKeyId,
    by_value: IndexId,
    vertices: u64,
    commits: AtomicU64,
    backups: AtomicU64,
    stop: AtomicBool,
    begun: Instant,
    /// When the graph was complete.
    made_at: CommitTs,
}

fn some(n: u64) -> VertexId {
    VertexId::from_raw(n)
}

impl Soak {
    fn make(path: &Path, options: &Options) -> Result<Self, Error> {
        let mut settings = Settings::default();
        settings.checkpoint_wal_bytes = 4 << 20;
        settings.wal_file_bytes = 1 << 20;
        settings.memory_limit_bytes = Some(options.memory_limit_bytes);
        settings.retain = Retention::time(options.retain);
        let db = Engine::open(path, settings)?;
        let edge = db.edge_type("AT", EdgeTypeOptions::simple())?;
        let (value, place) = (db.property_key("value")?, db.label("Place")?);
        let vertices = options.vertices;
        for first in (0..vertices).step_by(1000) {
            let mut txn = db.begin()?;
            for _ in first..vertices.min(first + 1000) {
                let v = txn.create_vertex(&[place])?;
                txn.set_vertex_property(v, value, Value::Int(0))?;
            }
            for v in first..vertices.min(first + 1000) {
                txn.upsert_edge(edge, some(v), some(0))?;
            }
            txn.commit()?;
        }
        let target = IndexTarget::Vertices(place);
        let by_value = db.create_index(IndexSpec {
            name: "by value".into(),
            target,
            properties: vec![value],
        })?;
        let (commits, backups) = (AtomicU64::new(0), AtomicU64::new(0));
        let (stop, begun) = (AtomicBool::new(false), Instant::now());
        let made_at = db.health().published;
        Ok(Self { db, edge, value, by_value, vertices, commits, backups, stop, begun, made_at })
    }

    /// An edge moves to another vertex of the same part; a value goes up here and down there.
    fn step(&self, rng: &mut Rng) -> Result<(), Error> {
        let part = self.vertices.div_ceil(PARTS);
        let first = self.begun.elapsed().as_secs() / PART_SECONDS * part;
        let mut any = || some((first + rng.below(part)) % self.vertices);
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
        Ok(())
    }

    /// A vertex comes, with no edge and no value that counts, or the one that came last goes.
    fn come_or_go(&self, guest: &mut Option<VertexId>) -> Result<(), Error> {
        match guest.take() {
            Some(v) => drop(self.db.write(Default::default(), |txn| txn.delete_vertex(v, false))?),
            None => {
                let (v, _) = self.db.write(Default::default(), |txn| txn.create_vertex(&[]))?;
                *guest = Some(v);
            }
        }
        Ok(())
    }

    /// Commits at a rate, until told to stop.
    fn write(&self, writer: u64, every: Duration) -> Result<(), Failed> {
        let (mut rng, mut guest) = (Rng::new(writer), None);
        let mut due = Instant::now();
        while !self.stopped() {
            if rng.below(VERTEX_EVERY) == 0 {
                self.come_or_go(&mut guest)?;
            } else {
                self.step(&mut rng)?;
            }
            self.commits.fetch_add(1, Ordering::Relaxed);
            due += every;
            match due.checked_duration_since(Instant::now()) {
                Some(early) => std::thread::sleep(early),
                // Whoever was stopped for a while does not make up for it.
                None if due.elapsed() > Duration::from_secs(1) => due = Instant::now(),
                None => {}
            }
        }
        Ok(())
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Waits, until told to stop.
    fn wait(&self, time: Duration) {
        let begun = Instant::now();
        while begun.elapsed() < time && !self.stopped() {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What must hold at any commit: one edge per vertex, values that add up to nothing, and an
    /// index that has them all.
    fn verify(&self, reader: &Reader<'_>, by_value: Option<IndexId>) -> Result<(), Failed> {
        let mut edges = [0, 0];
        for (edges, direction) in edges.iter_mut().zip(Direction::ALL) {
            let adjacency = reader.adjacency(self.edge, direction)?;
            adjacency.scan(0..adjacency.vertex_bound(), |_, run| *edges += run.len() as u64);
        }
        let value = |v| match reader.vertex_property(some(v), self.value) {
            Value::Int(n) => n,
            _ => 0,
        };
        let sum: i64 = (0..self.vertices).map(value).sum();
        let indexed = match by_value {
            Some(index) => reader.index_range(index, &IndexRange::default())?.len() as u64,
            None => self.vertices,
        };
        if (edges, sum, indexed) == ([self.vertices; 2], 0, self.vertices) {
            return Ok(());
        }
        let message = format!("{edges:?} edges, values add up to {sum}, {indexed} in the index");
        Err(message.into())
    }

    /// Keeps a snapshot open for a while and verifies it at both ends, again and again.
    fn read_long(&self, hold: Duration) -> Result<(), Failed> {
        while !self.stopped() {
            let snapshot = self.db.snapshot()?;
            self.verify(&snapshot.reader(), Some(self.by_value))?;
            self.wait(hold);
            self.verify(&snapshot.reader(), Some(self.by_value))?;
            snapshot.error().map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Verifies the graph as it was, at any time that is kept.
    fn read_past(&self, pause: Duration) -> Result<(), Failed> {
        let mut rng = Rng::new(self.vertices);
        while !self.stopped() {
            self.wait(pause);
            let Some((oldest, newest)) = self.db.retained() else {
                return Err("no past is kept".into());
            };
            let oldest = oldest.max(self.made_at).get();
            let at = oldest + rng.below(newest.get() - oldest + 1);
            match self.db.snapshot_at(CommitTs::from_raw(at)) {
                Ok(snapshot) => self.verify(&snapshot.reader(), None)?,
                // It was the oldest, and time went on.
                Err(Error::NotRetained { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Chains of backups, each checked, the last of a chain restored and verified.
    fn back_up(&self, folder: &Path, pause: Duration) -> Result<(), Failed> {
        let mut chain: Vec<PathBuf> = Vec::new();
        while !self.stopped() {
            let made = self.backups.load(Ordering::Relaxed);
            let path = folder.join(format!("backup-{made}"));
            let mut options = BackupOptions::default();
            options.since = chain.last().cloned();
            self.db.backup(&path, &options)?;
            if let Some(finding) = check(&path)?.findings.first() {
                return Err(format!("a backup under load: {finding}").into());
            }
            chain.push(path);
            if chain.len() == CHAIN {
                let target = folder.join("restored");
                restore(&chain, &target, &RestoreOptions::default())?;
                let restored = Engine::open(&target, Settings::default())?;
                let by_value = restored.find_index("by value").ok_or("an index got lost")?;
                self.verify(&restored.reader()?, Some(by_value))?;
                drop(restored);
                fs::remove_dir_all(&target)?;
                chain.drain(..).try_for_each(fs::remove_dir_all)?;
            }
            self.backups.fetch_add(1, Ordering::Relaxed);
            self.wait(pause);
        }
        Ok(())
    }

    /// Waits until nothing is left of what readers held up.
    fn drain(&self) -> Result<(), Failed> {
        let begun = Instant::now();
        loop {
            self.db.settle();
            self.db.checkpoint()?;
            let health = self.db.health();
            let kept = health.checkpoint.as_ref().map_or(0, |c| c.kept);
            let held = health.published.get() - health.watermark.get();
            let left = (health.readers, held, health.settle.unsettled, kept);
            if left == (0, 0, 0, 0) {
                return health.error.map_or(Ok(()), |error| Err(error.into()));
            }
            if begun.elapsed() > DRAIN_MAX {
                let (readers, held, unsettled, kept) = left;
                let message = format!(
                    "with nobody left: {readers} readers, a watermark {held} commits behind, \
                     {unsettled} unsettled entries, {kept} old states of the store"
                );
                return Err(message.into());
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Runs the soak; `stage` is told each sample.
///
/// # Errors
/// If something grew, the watermark did not follow, something that was read or restored was wrong,
/// or the engine failed.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<Table, Failed> {
    let folder = tempfile::tempdir_in(&options.folder)?;
    let path = folder.path().join("graph");
    let soak = Soak::make(&path, options)?;
    let hold = (options.time / 20).clamp(Duration::from_secs(1), Duration::from_secs(30));
    let pause = (options.time / 100).clamp(Duration::from_millis(100), Duration::from_millis(700));
    let every = Duration::from_secs(options.writers as u64) / options.commits_per_s.max(1);
    let mut samples: Vec<Sample> = Vec::new();
    std::thread::scope(|scope| -> Result<(), Failed> {
        let (soak, folder) = (&soak, folder.path());
        let mut threads: Vec<_> = (0..options.writers as u64)
            .map(|writer| scope.spawn(move || soak.write(writer, every)))
            .collect();
        threads.push(scope.spawn(move || soak.read_long(hold)));
        threads.push(scope.spawn(move || soak.read_past(pause)));
        threads.push(scope.spawn(move || soak.back_up(folder, pause)));
        let (begun, mut watch) = (Instant::now(), Watch::new(&soak.db, &path));
        while begun.elapsed() < options.time && !threads.iter().any(|t| t.is_finished()) {
            let since = Instant::now();
            while since.elapsed() < options.sample {
                std::thread::sleep(LOOK_EVERY.min(options.sample));
                watch.look();
            }
            let done = [&soak.commits, &soak.backups].map(|n| n.load(Ordering::Relaxed));
            samples.push(watch.sample(done[0], done[1]));
            samples.last().map(Sample::line).into_iter().for_each(|line| stage(&line));
        }
        soak.stop.store(true, Ordering::Relaxed);
        let join = |thread: std::thread::ScopedJoinHandle<'_, Result<(), Failed>>| {
            thread.join().map_err(|_| "a thread panicked")?
        };
        threads.into_iter().try_for_each(join)
    })?;
    soak.verify(&soak.db.reader()?, Some(soak.by_value))?;
    soak.drain()?;
    judge::judge(&samples, hold)?;
    let backups = soak.backups.load(Ordering::Relaxed);
    soak.db.close()?;
    if let Some(finding) = check(&path)?.findings.first() {
        return Err(format!("the store in the end: {finding}").into());
    }
    stage(&format!("{backups} backups, each checked; nothing grew, nothing was left over"));
    Ok(judge::table(&samples))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_soak_runs_everything() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            time: Duration::from_millis(1500),
            sample: Duration::from_millis(300),
            vertices: 2000,
            writers: 2,
            commits_per_s: 1000,
            memory_limit_bytes: 1 << 20,
            retain: Duration::from_millis(500),
            folder: folder.path().into(),
        };
        let table = run(&options, &mut |_| ()).unwrap();
        assert!(table.to_string().lines().count() >= 4, "{table}");
    }
}
