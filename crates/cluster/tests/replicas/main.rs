//! Replicas as processes over one folder: the one that leads is killed, and another takes over.
//!
//! A child process is this test binary again, told by the environment to be the test [`child`]
//! alone. It follows, and commits numbers while it leads; each number that it was told to be done
//! goes as a line into a file of its own. After all kills every copy has all of these.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Settings;
use telar_cluster::replica::{Replica, ReplicaError, ReplicaOptions};
use telar_cluster::store::{Name, Stores};
use telar_engine::{Engine, Error};
use telar_graph::{Value, VertexId};
use tempfile::TempDir;

mod lost;
mod slow;
mod stale;

const FOLDER: &str = "TELAR_REPLICA_TEST_FOLDER";
const NODE: &str = "TELAR_REPLICA_TEST_NODE";
const NODES: usize = 3;
const KILLS: usize = 5;
/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);
/// Commits that a leader has made, at least, when it is killed; the kill may cut off one more line.
const COMMITS_MIN: usize = 5;

/// Every vertex with its labels and its number.
type Dump = Vec<(u64, Option<Vec<u16>>, Value)>;

/// A child process; killed when it is dropped, by a test that fails as well.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(folder: &Path, node: usize) -> Killed {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child"]).env(FOLDER, folder).env(NODE, node.to_string());
    Killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

fn done_file(folder: &Path, node: usize) -> PathBuf {
    folder.join(format!("done-{node}"))
}

fn replica(folder: &Path, node: usize) -> Result<Replica, ReplicaError> {
    let stores = Stores::open(&format!("dir:{}", folder.join("store").display())).unwrap();
    // Half of the default: one kill after the other.
    let of = |limit: Duration| limit / 2;
    let usual = Settings::default();
    let election = Settings {
        ttl: of(usual.ttl),
        margin: of(usual.margin),
        renew_every: of(usual.renew_every),
        watch_every: of(usual.watch_every),
        follow_every: of(usual.follow_every),
        retry_after: of(usual.retry_after),
        ..usual
    };
    let mut engine = telar_engine::Settings::default();
    engine.store_bytes_max = 1 << 28;
    engine.wal_file_bytes = 64 << 10;
    engine.checkpoint_wal_bytes = 256 << 10;
    Replica::start(
        &stores,
        ReplicaOptions {
            path: folder.join(format!("copy-{node}")),
            engine,
            node: format!("node-{node}"),
            stream: Name::new("graph").unwrap(),
            votes: true,
            election,
        },
    )
}

#[test]
fn child() {
    let of = |name: &str| std::env::var_os(name);
    let (Some(folder), Some(node)) = (of(FOLDER), of(NODE)) else {
        return;
    };
    let node: usize = OsString::into_string(node).unwrap().parse().unwrap();
    work(folder.as_ref(), node);
}

/// Works until the process is killed, or ten minutes at most: its parent may have been killed.
fn work(folder: &Path, node: usize) {
    let replica = replica(folder, node).unwrap();
    let mut done =
        OpenOptions::new().create(true).append(true).open(done_file(folder, node)).unwrap();
    let end = Instant::now() + 5 * PATIENCE;
    for turn in 0_i64.. {
        if Instant::now() > end {
            return;
        }
        // No two processes have the same.
        let number = i64::from(std::process::id()) << 32 | turn;
        match replica.engine() {
            Ok(engine) if !engine.follows() => match commit(&engine, number) {
                Ok(()) => writeln!(done, "{number}").unwrap(),
                Err(Error::NotLeader { .. } | Error::Log(_)) => {}
                Err(error) => panic!("{error}"),
            },
            Ok(_) | Err(ReplicaError::Reopening) => thread::sleep(Duration::from_millis(5)),
            Err(error) => panic!("{error}"),
        }
    }
}

fn commit(engine: &Engine, number: i64) -> Result<(), Error> {
    let label = engine.label("Number")?;
    let key = engine.property_key("number")?;
    let mut txn = engine.begin()?;
    let vertex = txn.create_vertex(&[label])?;
    txn.set_vertex_property(vertex, key, number.into())?;
    txn.commit().map(drop)
}

/// The last number that a node was told to be done, and how many there are.
fn progress(folder: &Path) -> Vec<(usize, Option<String>)> {
    let text = |node| fs::read_to_string(done_file(folder, node)).unwrap_or_default();
    let of = |node| {
        let text = text(node);
        (text.lines().count(), text.lines().last().map(str::to_owned))
    };
    (0..NODES).map(of).collect()
}

/// Waits until a node has made more new commits than every kill must leave; says which.
fn wait_for_leader(folder: &Path) -> usize {
    let before = progress(folder);
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        thread::sleep(Duration::from_millis(10));
        let now = progress(folder);
        if let Some(node) = (0..NODES).find(|node| now[*node].0 > before[*node].0 + COMMITS_MIN) {
            return node;
        }
    }
    panic!("nobody commits");
}

#[test]
fn a_killed_leader_loses_nothing_it_acknowledged() {
    let folder = TempDir::new().unwrap();
    let folder = folder.path();
    let mut children: Vec<Option<Killed>> =
        (0..NODES).map(|node| Some(start(folder, node))).collect();
    let mut led = BTreeSet::new();
    for _ in 0..KILLS {
        let leader = wait_for_leader(folder);
        led.insert(leader);
        // SIGKILL, while it commits.
        drop(children[leader].take());
        children[leader] = Some(start(folder, leader));
    }
    wait_for_leader(folder);
    drop(children);
    assert!(led.len() > 1, "another process took over");
    let mut acknowledged = BTreeSet::new();
    for node in 0..NODES {
        let text = fs::read_to_string(done_file(folder, node)).unwrap_or_default();
        // A line that the kill cut off was not acknowledged to anybody.
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        acknowledged.extend(whole.lines().map(|line| line.parse::<i64>().unwrap()));
    }
    assert!(acknowledged.len() > COMMITS_MIN * KILLS, "{}", acknowledged.len());
    let replicas: Vec<_> = (0..NODES).map(|node| replica(folder, node).unwrap()).collect();
    let all: Vec<_> = replicas.iter().map(|replica| numbers(replica, &replicas)).collect();
    assert!(all.iter().all(|found| found.1 == all[0].1), "copies differ");
    let lost: Vec<_> = acknowledged.difference(&all[0].0).collect();
    assert!(lost.is_empty(), "{lost:?} were acknowledged");
}

/// State of a copy once it has everything that one of them has, and leads or follows.
fn numbers(replica: &Replica, all: &[Replica]) -> (BTreeSet<i64>, Dump) {
    let end = Instant::now() + PATIENCE;
    // Somebody leads again, so that the log does not grow any more but by its epoch record.
    while !all.iter().any(|replica| replica.wait_to_lead(Duration::ZERO)) {
        assert!(Instant::now() < end, "nobody leads");
        thread::sleep(Duration::from_millis(10));
    }
    let position = || all.iter().filter_map(Replica::position).max();
    let engine = loop {
        match replica.engine() {
            Ok(engine) if Some(engine.published()) == position() => break engine,
            Ok(_) | Err(ReplicaError::Reopening) => thread::sleep(Duration::from_millis(10)),
            Err(error) => panic!("{error}"),
        }
        assert!(Instant::now() < end, "{:?}: {:?}", replica.position(), replica.stopped());
    };
    let snapshot = engine.snapshot().unwrap();
    let reader = snapshot.reader();
    let key = engine.find_property_key("number").unwrap();
    let dump: Dump = (0..reader.vertex_bound().get())
        .map(VertexId::from_raw)
        .map(|v| {
            let labels = reader.labels(v);
            let labels = labels.map(|labels| labels.iter().map(|label| label.get()).collect());
            (v.get(), labels, reader.vertex_property(v, key))
        })
        .collect();
    let number = |value: &Value| if let Value::Int(n) = value { Some(*n) } else { None };
    (dump.iter().filter_map(|(_, _, value)| number(value)).collect(), dump)
}
