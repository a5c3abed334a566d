//! Nodes whose store has lost what it had taken: its last slots, as where a standby is promoted that
//! had not everything.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Settings;
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::Stores;
use telar_engine::Error;
use telar_graph::CommitTs;
use tempfile::TempDir;

use super::slow::{COMMITS, STREAM, fill, store, wait_until};
use super::{PATIENCE, commit};

const LOST: usize = 3;

/// Loses the last slots of the log.
fn lose_end(folder: &TempDir) {
    let slots = folder.path().join("store/log").join(STREAM).join("slots");
    let mut all: Vec<_> = fs::read_dir(slots).unwrap().map(|slot| slot.unwrap().path()).collect();
    all.sort();
    all.iter().rev().take(LOST).for_each(|slot| fs::remove_file(slot).unwrap());
}

fn options(folder: &TempDir, name: &str, votes: bool) -> ReplicaOptions {
    super::slow::options(folder, name, (STREAM, Settings::default().request_timeout), votes)
}

fn node(stores: &Stores, folder: &TempDir, name: &str, votes: bool) -> Replica {
    Replica::start(stores, options(folder, name, votes)).unwrap()
}

/// Waits until a node has stopped; why it has.
fn stopped(node: &Replica) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(why) = node.stopped() {
            return why;
        }
        assert!(Instant::now() < end, "it goes on, at {:?}", node.position());
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_leader_writes_nothing_behind_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let last = fill(&leader);
    lose_end(&folder);
    let outcome = commit(&leader.engine().unwrap(), 99);
    assert!(matches!(outcome, Err(Error::Log(_))), "{outcome:?}");
    let why = stopped(&leader);
    assert!(why.contains(&format!("lacks commit {last}")), "{why}");
    // Nor does the next one to lead, which knows of the same commits.
    drop(leader);
    let again = Replica::start(&stores, options(&folder, "first", true));
    let why = again.unwrap_err().to_string();
    assert!(why.contains(&format!("ends before commit {last}")), "{why}");
}

#[test]
fn a_follower_notices_that_the_log_ends_before_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let follower = node(&stores, &folder, "second", false);
    let last = fill(&leader);
    wait_until(&follower, last);
    follower.check_log();
    assert_eq!(follower.stopped(), None);
    lose_end(&folder);
    follower.check_log();
    let why = stopped(&follower);
    assert!(why.contains(&format!("ends before commit {last}")), "{why}");
}

#[test]
fn a_follower_does_not_go_on_with_what_others_wrote_in_the_place_of_what_it_has() {
    let folder = tempfile::tempdir().unwrap();
    let stores = store(&folder);
    let leader = node(&stores, &folder, "first", true);
    let follower = node(&stores, &folder, "second", false);
    let last = fill(&leader);
    wait_until(&follower, last);
    leader.release();
    drop(leader);
    lose_end(&folder);
    // It knows nothing of them, and begins at the end that is there.
    let third = node(&stores, &folder, "third", true);
    let later = fill(&third);
    assert!(later > last && COMMITS > LOST, "{later}");
    let why = stopped(&follower);
    assert!(why.contains("of leadership 2, and this copy ends"), "{why}");
    assert_eq!(follower.position(), Some(CommitTs::from_raw(last.get())));
}
