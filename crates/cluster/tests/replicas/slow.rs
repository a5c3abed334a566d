//! Nodes whose log is slow, or whose copy ends in the middle of a slot.

use std::fs::{self, OpenOptions};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Settings;
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::{
    Append, Appender, Log, Name, PartName, Put, Reader, Slot, SlotRange, StoreError, Stores,
};
use telar_engine::Engine;
use telar_graph::{CommitTs, VertexId};
use tempfile::TempDir;

use super::{PATIENCE, commit};

const TIMEOUT: Duration = Duration::from_millis(100);
pub(crate) const COMMITS: usize = 12;
pub(crate) const STREAM: &str = "graph";

/// A store that takes its time to show one slot, or to put one.
#[derive(Debug)]
struct Slow {
    log: Arc<dyn Log>,
    read: Duration,
    put: Duration,
}

impl Log for Slow {
    fn body_bytes_max(&self) -> usize {
        self.log.body_bytes_max()
    }

    fn put_once(&self, at: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        let put = self.log.put_once(at, range, body);
        thread::sleep(self.put);
        put
    }

    fn read(&self, stream: &Name, from: u64, _: usize) -> Result<Vec<Slot>, StoreError> {
        let slots = self.log.read(stream, from, 0)?;
        if !slots.is_empty() {
            thread::sleep(self.read);
        }
        Ok(slots)
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        self.log.trim(stream, before)
    }

    fn put_part(&self, at: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        self.log.put_part(at, part, bytes)
    }

    fn read_part(&self, at: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        self.log.read_part(at, part)
    }

    fn parts(&self, stream: &Name, from: u64) -> Result<Vec<PartName>, StoreError> {
        self.log.parts(stream, from)
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        self.log.remove_part(stream, part)
    }
}

fn engine_settings() -> telar_engine::Settings {
    let mut settings = telar_engine::Settings::default();
    settings.store_bytes_max = 1 << 28;
    settings
}

pub(crate) fn store(folder: &TempDir) -> Stores {
    Stores::open(&format!("dir:{}", folder.path().join("store").display())).unwrap()
}

fn slow(stores: &Stores, read: Duration, put: Duration) -> Stores {
    let log = Arc::new(Slow { log: Arc::clone(&stores.log), read, put });
    Stores { log, ..stores.clone() }
}

pub(crate) fn options(
    folder: &TempDir,
    name: &str,
    (stream, timeout): (&str, Duration),
    votes: bool,
) -> ReplicaOptions {
    ReplicaOptions {
        path: folder.path().join(name),
        engine: engine_settings(),
        node: name.to_owned(),
        stream: Name::new(stream).unwrap(),
        votes,
        election: Settings { request_timeout: timeout, ..Settings::default() },
    }
}

fn node(
    stores: &Stores,
    folder: &TempDir,
    name: &str,
    log: (&str, Duration),
    votes: bool,
) -> Replica {
    Replica::start(stores, options(folder, name, log, votes)).unwrap()
}

pub(crate) fn wait_until(follower: &Replica, shows: CommitTs) {
    let end = Instant::now() + PATIENCE;
    while follower.position().is_none_or(|position| position < shows) {
        assert!(Instant::now() < end, "{:?} of {shows}", follower.position());
        assert_eq!(follower.stopped(), None);
        thread::sleep(Duration::from_millis(5));
    }
}

/// Commits to a node that leads; the last commit.
pub(crate) fn fill(leader: &Replica) -> CommitTs {
    assert!(leader.wait_to_lead(PATIENCE), "{:?}", leader.stopped());
    let engine = leader.engine().unwrap();
    (0..COMMITS).for_each(|number| commit(&engine, number as i64).unwrap());
    engine.published()
}

fn vertices(replica: &Replica) -> usize {
    let engine = replica.engine().unwrap();
    let snapshot = engine.snapshot().unwrap();
    let reader = snapshot.reader();
    let all = (0..reader.vertex_bound().get()).map(VertexId::from_raw);
    all.filter(|v| reader.labels(*v).is_some()).count()
}

#[test]
fn a_node_that_reads_slower_than_requests_time_out_follows_and_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", (STREAM, TIMEOUT), true);
    let last = fill(&leader);
    let slow = slow(&stores, 2 * TIMEOUT, Duration::ZERO);
    let follower = node(&slow, &folder, "second", (STREAM, TIMEOUT), true);
    wait_until(&follower, last);
    // It has less than that of the log when it wins the lease.
    fill(&leader);
    leader.release();
    drop(leader);
    assert!(follower.wait_to_lead(PATIENCE), "{:?}", follower.stopped());
    assert_eq!(vertices(&follower), 2 * COMMITS);
}

#[test]
fn a_node_that_puts_slower_than_requests_time_out_leads() {
    let folder = tempfile::tempdir().unwrap();
    let slow = slow(&store(&folder), Duration::ZERO, 2 * TIMEOUT);
    let leader = node(&slow, &folder, "first", (STREAM, TIMEOUT), true);
    fill(&leader);
    assert_eq!(vertices(&leader), COMMITS);
    assert_eq!(leader.stopped(), None);
}

#[test]
fn a_copy_that_ends_in_the_middle_of_a_slot_leads() {
    let (folder, usual) = (tempfile::tempdir().unwrap(), Settings::default().request_timeout);
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", (STREAM, usual), true);
    let last = fill(&leader);
    drop(leader);
    // The same commits in two slots.
    let log = &*stores.log;
    let mut reader = Reader::new(log, Name::new(STREAM).unwrap(), 1);
    let groups = reader.read(usize::MAX, Duration::ZERO).unwrap();
    assert_eq!(groups.last().unwrap().range.next(), last.get() + 1);
    let merged = Appender::new(log, Name::new("merged").unwrap()).unwrap();
    let (first, rest) = groups.split_at(3);
    for groups in [first, rest] {
        let (first, last) = (&groups[0], groups.last().unwrap());
        let range = SlotRange::new(first.range.first(), last.range.next()).unwrap();
        let payload: Vec<u8> = groups.iter().flat_map(|group| group.payload.clone()).collect();
        let put = merged.append(range, first.epoch, first.salt, &payload, PATIENCE).unwrap();
        assert!(matches!(put, Append::Won), "{put:?}");
    }
    let start = |votes| node(&stores, &folder, "second", ("merged", usual), votes);
    let follower = start(false);
    wait_until(&follower, last);
    drop(follower);
    // A power failure takes the end of the last record.
    let wal = fs::read_dir(folder.path().join("second/wal")).unwrap();
    let file = wal.map(|file| file.unwrap().path()).max().unwrap();
    let file = OpenOptions::new().write(true).open(file).unwrap();
    let bytes = file.metadata().unwrap().len();
    file.set_len(bytes - 1).unwrap();
    let engine = Engine::open_to_follow(folder.path().join("second"), engine_settings()).unwrap();
    assert_eq!(engine.published().get(), last.get() - 1);
    drop(engine);
    let leader = start(true);
    assert!(leader.wait_to_lead(PATIENCE), "{:?}", leader.stopped());
    assert_eq!(vertices(&leader), COMMITS);
}
