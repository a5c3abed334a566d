//! Transactions that commit once, however often they are sent.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use telar_engine::maintenance::{BackupOptions, RestoreOptions, Severity, check, restore};
use telar_engine::wal::SinkError;
use telar_engine::{
    BulkOptions, Committed, ConstraintKind, ConstraintSpec, Engine, Error, IndexSpec, IndexTarget,
    Settings,
};
use telar_graph::{CommitTs, Counts, LabelId, Update};
use tempfile::TempDir;

use common::log::Log;
use common::{cases, no_background};

const DONE: LabelId = LabelId::from_raw(0);

fn settings() -> Settings {
    let mut settings = no_background();
    settings.store_bytes_max = 1 << 28;
    settings.wal_file_bytes = 4096;
    settings
}

fn open(folder: &TempDir) -> Engine {
    let db = Engine::open(folder.path(), settings()).unwrap();
    assert_eq!(db.label("Done").unwrap(), DONE);
    db
}

fn send(db: &Engine, id: &str) -> Result<Committed, Error> {
    let mut txn = db.begin()?;
    txn.commit_once(id)?;
    txn.create_vertex(&[DONE])?;
    txn.commit()
}

fn count(db: &Engine) -> u64 {
    let snapshot = db.snapshot().unwrap();
    snapshot.reader().count_vertices(Some(DONE)).unwrap().unwrap()
}

fn check_folder(folder: &TempDir) {
    let findings = check(folder.path()).unwrap().findings;
    let wrong: Vec<_> = findings.iter().filter(|f| f.severity != Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn the_second_of_two_has_the_timestamp_of_the_first() {
    let db = common::memory();
    db.label("Done").unwrap();
    let first = send(&db, "a").unwrap();
    assert!(!first.repeated);
    send(&db, "b").unwrap();
    let again = send(&db, "a").unwrap();
    assert_eq!((again.ts, again.repeated, count(&db)), (first.ts, true, 2));
    assert_eq!(db.committed_once("a"), Some(first.ts));
    assert_eq!(db.committed_once("c"), None);
    // Nor does it make names, and what it wrote is no conflict for others.
    let mut txn = db.begin().unwrap();
    txn.commit_once("a").unwrap();
    let label = Update::label(&mut txn, "New").unwrap();
    txn.create_vertex(&[label]).unwrap();
    assert!(txn.commit().unwrap().repeated);
    assert_eq!(db.find_label("New"), None);
}

#[test]
fn what_fails_or_writes_nothing_leaves_no_id() {
    let db = common::memory();
    db.label("Done").unwrap();
    let mut txn = db.begin().unwrap();
    txn.commit_once("a").unwrap();
    txn.create_vertex(&[DONE]).unwrap();
    txn.abort();
    let mut txn = db.begin().unwrap();
    txn.commit_once("a").unwrap();
    txn.commit().unwrap();
    let first = send(&db, "x").unwrap();
    let mut txn = db.begin().unwrap();
    let vertex = txn.create_vertex(&[]).unwrap();
    txn.commit().unwrap();
    let mut loses = db.begin().unwrap();
    loses.commit_once("a").unwrap();
    loses.delete_vertex(vertex, false).unwrap();
    let mut wins = db.begin().unwrap();
    wins.delete_vertex(vertex, false).unwrap();
    wins.commit().unwrap();
    assert!(matches!(loses.commit(), Err(Error::Conflict { .. })));
    assert_eq!(db.committed_once("a"), None);
    assert!(!send(&db, "a").unwrap().repeated);
    // One that has become a read is answered for by the first, too.
    let mut txn = db.begin().unwrap();
    txn.commit_once("x").unwrap();
    assert_eq!(txn.commit().unwrap().ts, first.ts);
}

#[test]
fn ids_have_a_length_and_changes_of_the_schema_have_none() {
    let db = common::memory();
    let label = db.label("Done").unwrap();
    let key = db.property_key("k").unwrap();
    let mut txn = db.begin().unwrap();
    for wrong in ["", &"x".repeat(telar_engine::ONCE_ID_BYTES_MAX + 1)] {
        assert!(matches!(txn.commit_once(wrong), Err(Error::Once { .. })));
    }
    txn.commit_once("a").unwrap();
    let target = IndexTarget::Vertices(label);
    txn.create_index(IndexSpec { name: "i".into(), target, properties: vec![key] }).unwrap();
    assert!(matches!(txn.commit(), Err(Error::Once { .. })));
    assert!(db.indexes().is_empty());
}

/// The id is looked at before what the first commit has made impossible.
#[test]
fn a_constraint_that_the_first_commit_fills_does_not_refuse_the_second() {
    let db = common::memory();
    let label = db.label("Done").unwrap();
    let key = db.property_key("k").unwrap();
    let (target, properties) = (IndexTarget::Vertices(label), vec![key]);
    let kind = ConstraintKind::Unique;
    db.create_constraint(ConstraintSpec { name: "one".into(), target, properties, kind }).unwrap();
    let make = || {
        let mut txn = db.begin().unwrap();
        txn.commit_once("a").unwrap();
        let vertex = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(vertex, key, 7.into()).unwrap();
        txn.commit()
    };
    let first = make().unwrap();
    assert_eq!(make().unwrap().ts, first.ts);
}

#[test]
fn of_many_at_once_one_commits() {
    let db = common::memory();
    db.label("Done").unwrap();
    const THREADS: usize = 4;
    let (barrier, own) = (Barrier::new(THREADS), AtomicUsize::new(0));
    for round in 0..200 {
        let id = round.to_string();
        let ts: Vec<CommitTs> = thread::scope(|scope| {
            let one = || {
                barrier.wait();
                let done = send(&db, &id).unwrap();
                own.fetch_add(usize::from(!done.repeated), Ordering::Relaxed);
                assert!(db.published() >= done.ts, "what is answered can be seen");
                done.ts
            };
            let all: Vec<_> = (0..THREADS).map(|_| scope.spawn(one)).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        assert!(ts.windows(2).all(|pair| pair[0] == pair[1]), "{ts:?}");
    }
    assert_eq!((own.into_inner(), count(&db)), (200, 200));
}

#[test]
fn ids_outlive_checkpoint_bulk_load_backup_and_window() {
    let folder = TempDir::new().unwrap();
    let mut db = open(&folder);
    let first = send(&db, "a").unwrap().ts;
    // Both cut the log.
    let mut load = db.bulk_load(BulkOptions::default()).unwrap();
    load.add_vertices(&[], 10, &[]).unwrap();
    load.finish(&|_, _, _| {}).unwrap();
    let second = send(&db, "b").unwrap().ts;
    db.checkpoint().unwrap();
    let third = send(&db, "c").unwrap().ts;
    let all = [Some(first), Some(second), Some(third)];
    let find = |db: &Engine| ["a", "b", "c"].map(|id| db.committed_once(id));
    for close in [false, true, true] {
        if close {
            db.close().unwrap()
        } else {
            drop(db)
        }
        check_folder(&folder);
        db = open(&folder);
        assert_eq!(find(&db), all);
    }
    let copies = TempDir::new().unwrap();
    let (backup, copy) = (copies.path().join("backup"), copies.path().join("copy"));
    db.backup(&backup, &BackupOptions::default()).unwrap();
    restore(&[backup], &copy, &RestoreOptions::default()).unwrap();
    let restored = Engine::open(&copy, settings()).unwrap();
    assert_eq!(find(&restored), all);
    drop(db);
    // Without a window the next checkpoint has none, and nothing of them is left.
    let mut none = settings();
    none.once_window = Duration::ZERO;
    for expected in [Some(third), None] {
        let db = Engine::open(folder.path(), none).unwrap();
        assert_eq!(db.committed_once("c"), expected);
        thread::sleep(Duration::from_millis(2));
        let mut txn = db.begin().unwrap();
        txn.create_vertex(&[]).unwrap();
        txn.commit().unwrap();
        db.close().unwrap();
    }
    check_folder(&folder);
}

/// Steps in the life of a leader and its follower.
#[derive(Debug, Clone)]
enum Step {
    Send {
        id: u8,
    },
    /// A commit that nobody is answered for: the log refuses its group.
    Lose {
        id: u8,
    },
    Follow {
        groups: usize,
    },
    Checkpoint {
        leader: bool,
    },
    ReopenFollower {
        close: bool,
    },
    TakeOver,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0u8..12).prop_map(|id| Step::Send { id }),
        2 => (0u8..12).prop_map(|id| Step::Lose { id }),
        3 => (1usize..4).prop_map(|groups| Step::Follow { groups }),
        2 => any::<bool>().prop_map(|leader| Step::Checkpoint { leader }),
        1 => any::<bool>().prop_map(|close| Step::ReopenFollower { close }),
        1 => Just(Step::TakeOver),
    ]
}

fn run(steps: &[Step]) {
    let (log, mut folders) = (Arc::new(Log::default()), [common::folder(), common::folder()]);
    let follow = |folder: &TempDir| Engine::open_to_follow(folder.path(), settings()).unwrap();
    let (mut leader, mut follower) = (follow(&folders[0]), follow(&folders[1]));
    let mut epoch = 1;
    log.lead(&leader, epoch);
    leader.label("Done").unwrap();
    let mut model: BTreeMap<u8, CommitTs> = BTreeMap::new();
    for step in steps {
        let mut takes_over = false;
        match *step {
            Step::Send { id } => {
                let done = send(&leader, &id.to_string()).unwrap();
                assert_eq!(done.repeated, model.contains_key(&id));
                assert_eq!(*model.entry(id).or_insert(done.ts), done.ts);
            }
            Step::Lose { id } => {
                *log.refuses.lock().unwrap() = Some(SinkError::Fenced { leader: None });
                match send(&leader, &id.to_string()) {
                    Ok(done) => assert_eq!(Some(&done.ts), model.get(&id), "known before"),
                    Err(e) => {
                        assert!(matches!(e, Error::NotLeader { .. }) && !model.contains_key(&id));
                        assert_eq!(leader.committed_once(&id.to_string()), None, "not published");
                        assert!(send(&leader, &id.to_string()).is_err(), "still not known");
                        takes_over = true;
                    }
                }
                *log.refuses.lock().unwrap() = None;
            }
            Step::Follow { groups } => log.apply_to(&follower, groups),
            Step::Checkpoint { leader: true } => drop(leader.checkpoint().unwrap()),
            Step::Checkpoint { leader: false } => drop(follower.checkpoint().unwrap()),
            Step::ReopenFollower { close } => {
                if close {
                    follower.close().unwrap()
                } else {
                    drop(follower)
                }
                follower = follow(&folders[1]);
            }
            Step::TakeOver => takes_over = true,
        }
        if takes_over {
            log.apply_to(&follower, usize::MAX);
            epoch += 1;
            log.lead(&follower, epoch);
            drop(leader);
            folders.swap(0, 1);
            (leader, follower) = (follower, follow(&folders[1]));
        }
        assert_eq!(count(&leader), model.len() as u64);
        for (id, ts) in &model {
            assert_eq!(leader.committed_once(&id.to_string()), Some(*ts));
        }
    }
    drop((leader, follower));
    folders.iter().for_each(check_folder);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    #[test]
    fn an_id_commits_once_whoever_leads(steps in proptest::collection::vec(step(), 1..40)) {
        run(&steps);
    }
}
