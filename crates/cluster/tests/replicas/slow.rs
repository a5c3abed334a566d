//! Nodes that need longer to read a piece of the log than a request may take.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Settings;
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::{Log, Name, PartName, Put, Slot, SlotRange, StoreError, Stores};
use telar_graph::VertexId;

use super::{PATIENCE, commit};

const TIMEOUT: Duration = Duration::from_millis(100);
const COMMITS: usize = 12;

/// A store that takes its time to show one slot.
#[derive(Debug)]
struct Slow(Arc<dyn Log>);

impl Log for Slow {
    fn body_bytes_max(&self) -> usize {
        self.0.body_bytes_max()
    }

    fn put_once(&self, at: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        self.0.put_once(at, range, body)
    }

    fn read(&self, stream: &Name, from: u64, _: usize) -> Result<Vec<Slot>, StoreError> {
        let slots = self.0.read(stream, from, 0)?;
        if !slots.is_empty() {
            thread::sleep(TIMEOUT * 2);
        }
        Ok(slots)
    }

    fn trim(&self, stream: &Name, before: u64) -> Result<u64, StoreError> {
        self.0.trim(stream, before)
    }

    fn put_part(&self, at: &Name, part: PartName, bytes: &[u8]) -> Result<(), StoreError> {
        self.0.put_part(at, part, bytes)
    }

    fn read_part(&self, at: &Name, part: PartName) -> Result<Option<Vec<u8>>, StoreError> {
        self.0.read_part(at, part)
    }

    fn parts(&self, stream: &Name) -> Result<Vec<PartName>, StoreError> {
        self.0.parts(stream)
    }

    fn remove_part(&self, stream: &Name, part: PartName) -> Result<(), StoreError> {
        self.0.remove_part(stream, part)
    }
}

fn node(stores: &Stores, folder: &tempfile::TempDir, name: &str) -> Replica {
    let mut engine = telar_engine::Settings::default();
    engine.store_bytes_max = 1 << 28;
    let options = ReplicaOptions {
        path: folder.path().join(name),
        engine,
        node: name.to_owned(),
        stream: Name::new("graph").unwrap(),
        votes: true,
        election: Settings { request_timeout: TIMEOUT, ..Settings::default() },
    };
    Replica::start(stores, options).unwrap()
}

#[test]
fn a_node_that_reads_slower_than_requests_time_out_follows_and_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let stores = Stores::open(&format!("dir:{}", folder.path().join("store").display())).unwrap();
    let leader = node(&stores, &folder, "first");
    assert!(leader.wait_to_lead(PATIENCE), "{:?}", leader.stopped());
    let engine = leader.engine().unwrap();
    for number in 0..COMMITS {
        commit(&engine, number as i64).unwrap();
    }
    let last = engine.published();
    drop(engine);
    let slow = Stores { log: Arc::new(Slow(Arc::clone(&stores.log))), ..stores };
    let follower = node(&slow, &folder, "second");
    let end = Instant::now() + PATIENCE;
    while follower.position().is_none_or(|position| position < last) {
        assert!(Instant::now() < end, "{:?} of {last}", follower.position());
        thread::sleep(Duration::from_millis(5));
    }
    // It has less than that of the log when it wins the lease.
    let engine = leader.engine().unwrap();
    for number in 0..COMMITS {
        commit(&engine, number as i64).unwrap();
    }
    drop(engine);
    leader.release();
    drop(leader);
    assert!(follower.wait_to_lead(PATIENCE), "{:?}", follower.stopped());
    let engine = follower.engine().unwrap();
    let snapshot = engine.snapshot().unwrap();
    let reader = snapshot.reader();
    let all = (0..reader.vertex_bound().get()).map(VertexId::from_raw);
    assert_eq!(all.filter(|v| reader.labels(*v).is_some()).count(), 2 * COMMITS);
}
