//! Replicas whose disks fail: the write of the local log ends with an error, once the replicated
//! log has what is written.
//!
//! Failpoints belong to the process, so that all nodes of a test meet what is set, and each test
//! waits for its turn. `crates/server/tests/full_disk.rs` has processes on a disk that is full.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::{Role, Settings as Election};
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::{Name, Stores};
use telar_engine::failpoint::{self, Action};
use telar_engine::{Committed, Engine, Error};
use telar_graph::{Value, VertexId};
use tempfile::TempDir;

/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The failure of a write of which a half has been written.
const HALF_WRITTEN: &str = "wal::after_partial_write";

/// A lease that lasts longer than a busy machine keeps a thread from renewing it.
const LONG_TTL: Duration = Duration::from_secs(60);

/// Turn of a test; nothing fails any more once it is over.
struct Turn(#[expect(dead_code, reason = "held")] MutexGuard<'static, ()>);

impl Turn {
    fn new() -> Self {
        static TURN: Mutex<()> = Mutex::new(());
        Self(TURN.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        failpoint::clear();
    }
}

/// Folder of a store and of the copies.
struct Place {
    folder: TempDir,
    ttl: Duration,
}

impl Place {
    fn new(ttl: Duration) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), ttl }
    }

    fn node(&self, name: &str) -> Replica {
        let store = format!("dir:{}", self.folder.path().join("store").display());
        let mut engine = telar_engine::Settings::default();
        engine.store_bytes_max = 1 << 28;
        let options = ReplicaOptions {
            path: self.folder.path().join(name),
            engine,
            node: name.to_owned(),
            stream: Name::new("graph").unwrap(),
            votes: true,
            election: Election { ttl: self.ttl, ..Election::default() },
        };
        Replica::start(&Stores::open(&store).unwrap(), options).unwrap()
    }

    /// A node that leads and has committed the numbers from 1 to `last`.
    fn leader(&self, last: i64) -> Replica {
        let node = self.node("first");
        assert!(node.wait_to_lead(PATIENCE), "{:?}", node.stopped());
        let engine = node.engine().unwrap();
        for number in 1..=last {
            commit(&engine, number).unwrap();
        }
        node
    }
}

#[track_caller]
fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(Instant::now() < end, "{what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Commits a vertex with a number, once, however often it is sent.
fn commit(engine: &Engine, number: i64) -> Result<Committed, Error> {
    let label = engine.label("Number")?;
    let key = engine.property_key("number")?;
    let mut txn = engine.begin()?;
    txn.commit_once(&format!("number {number}"))?;
    let vertex = txn.create_vertex(&[label])?;
    txn.set_vertex_property(vertex, key, number.into())?;
    txn.commit()
}

/// The numbers that a copy shows, in order; none while it is being opened.
fn numbers(node: &Replica) -> Option<Vec<i64>> {
    let engine = node.engine().ok()?;
    let Some(key) = engine.find_property_key("number") else { return Some(Vec::new()) };
    let snapshot = engine.snapshot().unwrap();
    let reader = snapshot.reader();
    let all = (0..reader.vertex_bound().get()).map(VertexId::from_raw);
    let number = |v| match reader.vertex_property(v, key) {
        Value::Int(number) => Some(number),
        _ => None,
    };
    let mut found: Vec<i64> = all.filter_map(number).collect();
    found.sort_unstable();
    Some(found)
}

/// Waits until a node shows the numbers from 1 to `last`, each of them once.
#[track_caller]
fn shows(node: &Replica, last: i64) {
    let wanted: Vec<i64> = (1..=last).collect();
    eventually("all numbers, once", || numbers(node).filter(|found| *found == wanted));
    assert_eq!(node.stopped(), None);
}

/// Waits until a node can be read, and compares.
#[track_caller]
fn reads(node: &Replica, last: i64) {
    let found = eventually("a copy that is open", || numbers(node));
    assert_eq!(found, (1..=last).collect::<Vec<_>>());
}

#[track_caller]
fn goes_on(node: &Replica) {
    eventually("the end of the trouble", || node.trouble().is_none().then_some(()));
}

#[test]
fn a_leader_whose_write_fails_after_its_slot_was_won_hands_over_and_comes_back() {
    let _turn = Turn::new();
    let place = Place::new(LONG_TTL);
    let first = place.leader(5);
    let second = place.node("second");
    shows(&second, 5);
    failpoint::set_nth("wal::after_sink", Action::Error, 1);
    let engine = first.engine().unwrap();
    let error = commit(&engine, 6).unwrap_err();
    assert!(matches!(error, Error::Log(_)), "not that nothing was made: {error}");
    assert!(!failpoint::is_set("wal::after_sink"), "it was reached");
    // Nothing is taken after it.
    assert!(commit(&engine, 7).is_err());
    drop(engine);
    assert!(second.wait_to_lead(PATIENCE), "{:?}", second.trouble());
    let engine = second.engine().unwrap();
    assert!(commit(&engine, 6).unwrap().repeated, "the log had it");
    assert!(!commit(&engine, 7).unwrap().repeated);
    for node in [&first, &second] {
        shows(node, 7);
        goes_on(node);
    }
    assert_eq!((first.role(), second.role()), (Role::Follower, Role::Leader));
}

#[test]
fn a_follower_whose_disk_fails_is_read_meanwhile_and_catches_up_by_itself() {
    let _turn = Turn::new();
    let place = Place::new(LONG_TTL);
    let first = place.leader(5);
    let second = place.node("second");
    shows(&second, 5);
    drop(second);
    let engine = first.engine().unwrap();
    for number in 6..=8 {
        commit(&engine, number).unwrap();
    }
    failpoint::set(HALF_WRITTEN, Action::Error);
    let second = place.node("second");
    let why = eventually("its failure", || second.held_up());
    assert!(why.contains(HALF_WRITTEN), "{why}");
    assert!(second.trouble().unwrap().contains("tried again by itself"));
    reads(&second, 5);
    // It is tried again, and fails again.
    let opened = || second.opened().ok().map(|(number, _)| number);
    eventually("another attempt", || opened().filter(|number| *number > 1));
    reads(&second, 5);
    assert!(second.held_up().is_some());
    assert_eq!((second.role(), second.stopped()), (Role::Follower, None));
    assert_eq!((first.role(), first.trouble()), (Role::Leader, None));
    failpoint::clear();
    shows(&second, 8);
    goes_on(&second);
    commit(&engine, 9).unwrap();
    shows(&second, 9);
}

#[test]
fn nodes_whose_disks_all_fail_are_read_and_go_on_once_one_takes_writes() {
    let _turn = Turn::new();
    // Who has given the lease up leaves it alone for as long as it lasts.
    let place = Place::new(Duration::from_secs(5));
    let first = place.leader(5);
    let second = place.node("second");
    shows(&second, 5);
    failpoint::set(HALF_WRITTEN, Action::Error);
    let error = commit(&first.engine().unwrap(), 6).unwrap_err();
    assert!(matches!(error, Error::Log(_)), "{error}");
    let nodes = [&first, &second];
    for node in nodes {
        eventually("its failure", || node.held_up());
    }
    // Nobody leads, and nobody takes commits; what was acknowledged is read.
    for node in nodes {
        eventually("a refusal", || {
            let refused = commit(&node.engine().ok()?, 7).unwrap_err();
            matches!(refused, Error::NotLeader { .. }).then_some(())
        });
        reads(node, 5);
        assert_ne!(node.role(), Role::Leader);
        assert!(node.held_up().is_some());
    }
    failpoint::clear();
    let leads = |node: &&&Replica| node.wait_to_lead(Duration::ZERO);
    let leader = eventually("a leader", || nodes.iter().find(leads).copied());
    let engine = leader.engine().unwrap();
    assert!(commit(&engine, 6).unwrap().repeated, "the log had it");
    commit(&engine, 7).unwrap();
    for node in nodes {
        shows(node, 7);
        goes_on(node);
    }
}
