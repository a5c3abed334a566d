//! Nodes whose store has lost what it had taken: its last slots, as where a standby is promoted
//! that had not everything.

use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::replica::election::Settings;
use telar_cluster::replica::{Replica, ReplicaOptions};
use telar_cluster::store::{Append, Appender, Name, SlotRange, Stores};
use telar_engine::Error;
use tempfile::TempDir;

use super::slow::{STREAM, fill, store, wait_until};
use super::{PATIENCE, commit};

const LOST: usize = 3;

fn slots(folder: &TempDir) -> PathBuf {
    folder.path().join("store/log").join(STREAM).join("slots")
}

/// Loses the slot that begins at a timestamp.
pub(crate) fn lose(folder: &TempDir, first: u64) {
    fs::remove_file(slots(folder).join(format!("{first:020}"))).unwrap();
}

/// Loses the last slots of the log.
fn lose_end(folder: &TempDir) {
    let slots = fs::read_dir(slots(folder)).unwrap();
    let mut all: Vec<_> = slots.map(|slot| slot.unwrap().path()).collect();
    all.sort();
    all.iter().rev().take(LOST).for_each(|slot| fs::remove_file(slot).unwrap());
}

fn options(folder: &TempDir, name: &str, votes: bool) -> ReplicaOptions {
    super::slow::options(folder, name, (STREAM, Settings::default().request_timeout), votes)
}

fn node(stores: &Stores, folder: &TempDir, name: &str, votes: bool) -> Replica {
    Replica::start(stores, options(folder, name, votes)).unwrap()
}

/// Waits until a node has stopped, by `look`s or by itself; why it has.
fn stopped(node: &Replica, look: impl Fn(&Replica)) -> String {
    let end = Instant::now() + PATIENCE;
    loop {
        look(node);
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
    let why = stopped(&leader, |_| {});
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
    // What it has read may be more than it has shown.
    let why = stopped(&follower, Replica::check_log);
    assert!(why.contains(&format!("lacks commit {last}")), "{why}");
}

/// A leader that had less than the others writes in the place of what was lost: past the end of
/// what they have, by a group that begins before it, and exactly to there.
#[test]
fn nobody_goes_on_with_what_others_wrote_in_the_place_of_what_it_has() {
    for (more, votes) in [(2, false), (0, true)] {
        let folder = tempfile::tempdir().unwrap();
        let stores = store(&folder);
        let leader = node(&stores, &folder, "first", true);
        let last = fill(&leader);
        let second = node(&stores, &folder, "second", votes);
        wait_until(&second, last);
        drop(leader);
        lose_end(&folder);
        let log = Name::new(STREAM).unwrap();
        let end = last.get() + 1 - LOST as u64;
        let writer = Appender::new(&*stores.log, log).unwrap();
        for (first, next) in [(end, end + 1), (end + 1, last.get() + 1 + more)] {
            let range = SlotRange::new(first, next).unwrap();
            let put = writer.append(range, 1, 7, b"of another leader", PATIENCE).unwrap();
            assert!(matches!(put, Append::Won), "{put:?}");
        }
        let why = stopped(&second, |_| {});
        assert!(why.contains(&format!("lacks commit {last}")), "{more}: {why}");
        assert_eq!(second.position(), Some(last));
    }
}
