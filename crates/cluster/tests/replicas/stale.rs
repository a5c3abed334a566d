//! Nodes whose log does not say how far it goes, and a node of the store that shows what it has.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::{Role, Settings};
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::{
    Append, Appender, Log, Name, PartName, Put, Reader, Slot, SlotRange, StoreError, Stores,
};
use telar_graph::CommitTs;
use tempfile::TempDir;

use super::PATIENCE;
use super::lost::lose;
use super::slow::{STREAM, fill, store, wait_until};

/// How long a request waits for a leader of the store.
const WAIT: Duration = Duration::from_millis(200);
/// Many looks of a node.
const A_WHILE: Duration = Duration::from_millis(600);

/// A log that may have no leader, while a node of it shows slots up to a timestamp.
#[derive(Debug)]
struct Leaderless {
    log: Arc<dyn Log>,
    is_silent: AtomicBool,
    /// Requests that it has not answered.
    unanswered: AtomicU64,
    shown: AtomicU64,
}

impl Leaderless {
    /// The stores with such a log, which answers for now.
    fn over(stores: &Stores) -> (Arc<Self>, Stores) {
        let (log, shown) = (Arc::clone(&stores.log), AtomicU64::new(u64::MAX));
        let (is_silent, unanswered) = (AtomicBool::new(false), AtomicU64::new(0));
        let log = Arc::new(Self { log, is_silent, unanswered, shown });
        let stores = Stores { log: Arc::clone(&log) as Arc<dyn Log>, ..stores.clone() };
        (log, stores)
    }

    /// Answers no more; returns once what had begun before is over, and its node has noticed.
    fn silence(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
        let (before, end) = (self.unanswered.load(Ordering::SeqCst), Instant::now() + PATIENCE);
        while self.unanswered.load(Ordering::SeqCst) == before {
            assert!(Instant::now() < end, "it is not asked");
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn answer_again(&self) {
        self.is_silent.store(false, Ordering::SeqCst);
    }

    fn show(&self, last: CommitTs) {
        self.shown.store(last.get(), Ordering::SeqCst);
    }

    fn answer(&self) -> Result<(), StoreError> {
        if self.is_silent.load(Ordering::SeqCst) {
            thread::sleep(WAIT);
            self.unanswered.fetch_add(1, Ordering::SeqCst);
            let why = "no leader".to_owned();
            return Err(StoreError::Unavailable { store: "the log".into(), why });
        }
        Ok(())
    }
}

impl Log for Leaderless {
    fn body_bytes_max(&self) -> usize {
        self.log.body_bytes_max()
    }

    fn put_once(&self, at: &Name, range: SlotRange, body: &[u8]) -> Result<Put, StoreError> {
        self.answer()?;
        self.log.put_once(at, range, body)
    }

    fn read(&self, stream: &Name, from: u64, bytes_max: usize) -> Result<Vec<Slot>, StoreError> {
        self.answer()?;
        self.log.read(stream, from, bytes_max)
    }

    fn reads_stale(&self) -> bool {
        true
    }

    fn read_stale(
        &self,
        stream: &Name,
        from: u64,
        bytes_max: usize,
    ) -> Result<Vec<Slot>, StoreError> {
        let mut slots = self.log.read(stream, from, bytes_max)?;
        slots.retain(|slot| slot.range.first() <= self.shown.load(Ordering::SeqCst));
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

fn options(folder: &TempDir, name: &str, votes: bool) -> ReplicaOptions {
    super::slow::options(folder, name, (STREAM, Settings::default().request_timeout), votes)
}

fn node(stores: &Stores, folder: &TempDir, name: &str, votes: bool) -> Replica {
    Replica::start(stores, options(folder, name, votes)).unwrap()
}

#[test]
fn a_node_follows_while_its_store_has_no_leader() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let (log, leaderless) = Leaderless::over(&stores);
    // From the first slot on, and from the middle.
    for name in ["second", "third"] {
        log.answer_again();
        let follower = node(&leaderless, &folder, name, false);
        if name == "third" {
            wait_until(&follower, fill(&leader));
        }
        log.silence();
        let before = fill(&leader);
        log.show(before);
        let last = fill(&leader);
        wait_until(&follower, before);
        thread::sleep(A_WHILE);
        assert_eq!(follower.position(), Some(before));
        log.show(last);
        wait_until(&follower, last);
        log.answer_again();
        wait_until(&follower, fill(&leader));
    }
}

/// What it is shown is not the log's end, although nothing comes after it.
#[test]
fn nobody_leads_by_what_a_stale_read_has_shown() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let (log, leaderless) = Leaderless::over(&stores);
    let second = node(&leaderless, &folder, "second", true);
    let before = fill(&leader);
    log.show(before);
    log.silence();
    let last = fill(&leader);
    wait_until(&second, before);
    leader.retire();
    drop(leader);
    let end = Instant::now() + PATIENCE;
    while second.role() == Role::Follower {
        assert!(Instant::now() < end, "it does not win the lease");
        thread::sleep(Duration::from_millis(5));
    }
    thread::sleep(A_WHILE);
    assert_ne!(second.role(), Role::Leader);
    assert_eq!(second.position(), Some(before));
    log.answer_again();
    assert!(second.wait_to_lead(PATIENCE), "{:?}", second.stopped());
    assert!(second.position() > Some(last), "{:?} of {last}", second.position());
}

/// The node of the store has another writer's slot in the place of the last one that is known; what
/// comes after it would fit.
#[test]
fn what_continues_another_history_is_not_applied() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let (log, leaderless) = Leaderless::over(&stores);
    let follower = node(&leaderless, &folder, "second", false);
    let last = fill(&leader);
    wait_until(&follower, last);
    log.silence();
    log.show(last);
    fill(&leader);
    drop(leader);
    let stream = Name::new(STREAM).unwrap();
    let mut reader = Reader::new(&*stores.log, stream.clone(), last.get());
    let group = reader.read(0, Duration::ZERO).unwrap().remove(0);
    assert_eq!(group.range.next(), last.get() + 1);
    lose(&folder, group.range.first());
    let writer = Appender::new(&*stores.log, stream).unwrap();
    let put = writer.append(group.range, group.epoch, group.salt, &group.payload, PATIENCE);
    assert!(matches!(put, Ok(Append::Won)), "{put:?}");
    log.show(CommitTs::from_raw(u64::MAX));
    thread::sleep(A_WHILE);
    assert_eq!((follower.position(), follower.stopped()), (Some(last), None));
    log.answer_again();
    let end = Instant::now() + PATIENCE;
    while follower.stopped().is_none() {
        assert!(Instant::now() < end, "it goes on, at {:?}", follower.position());
        thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(follower.position(), Some(last));
}
