//! A database that follows a replicated log, becomes a leader, and is deposed.
#![cfg(not(feature = "shuttle"))]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use telar_engine::maintenance::{BackupOptions, RestoreOptions, Severity, check, restore};
use telar_engine::wal::{LogGroup, SinkError};
use telar_engine::{
    BulkOptions, Change, ConstraintKind, ConstraintSpec, Engine, Error, ErrorKind, IndexSpec,
    IndexTarget, Isolation, Retention, Settings, Transaction,
};
use telar_graph::{CommitTs, Counts, Value};
use tempfile::TempDir;

use common::log::Log;
use common::plain::{Model, Names, Step, apply, check_snapshot, step};
use common::{cases, folder, v};

fn settings() -> Settings {
    let mut settings = common::no_background();
    settings.store_bytes_max = 1 << 28;
    settings.wal_file_bytes = 4096;
    settings.retain = Retention::commits(1000);
    settings.hub_entries_min = 1024;
    settings
}

fn open(folder: &TempDir) -> Engine {
    Engine::open_to_follow(folder.path(), settings()).unwrap()
}

/// Nothing is wrong in a folder, closed or not.
fn check_folder(folder: &Path) {
    let findings = check(folder).unwrap().findings;
    let wrong: Vec<_> = findings.iter().filter(|f| f.severity != Severity::Note).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// A leader and a follower of one log.
fn pair() -> (Arc<Log>, [TempDir; 2], Engine, Engine) {
    let (log, folders) = (Arc::new(Log::default()), [folder(), folder()]);
    let (leader, follower) = (open(&folders[0]), open(&folders[1]));
    log.lead(&leader, 1);
    (log, folders, leader, follower)
}

#[derive(Debug, Clone)]
enum Between {
    Nothing,
    Follow { groups: usize },
    Settle { leader: bool },
    Checkpoint { leader: bool },
    Release { leader: bool },
    ReopenFollower { close: bool },
    TakeOver { close: bool },
}

fn between() -> impl Strategy<Value = Between> {
    let any = any::<bool>();
    prop_oneof![
        3 => Just(Between::Nothing),
        4 => (1usize..4).prop_map(|groups| Between::Follow { groups }),
        1 => any.prop_map(|leader| Between::Settle { leader }),
        1 => any.prop_map(|leader| Between::Checkpoint { leader }),
        1 => any.prop_map(|leader| Between::Release { leader }),
        1 => any.prop_map(|close| Between::ReopenFollower { close }),
        2 => any.prop_map(|close| Between::TakeOver { close }),
    ]
}

fn end(db: Engine, close: bool) {
    if close { db.close().unwrap() } else { drop(db) }
}

/// A transaction that sets a property of every other edge.
fn write_everywhere<'e>(db: &'e Engine, model: &Model, names: &Names) -> Transaction<'e> {
    let mut txn = db.begin().unwrap();
    let edges = model.edges.keys().filter(|edge| edge.ty != names.simple);
    for edge in edges.step_by(2) {
        txn.set_edge_property(*edge, names.key, Value::Int(-1)).unwrap();
    }
    txn
}

fn run(transactions: &[(Vec<Step>, Between)]) {
    let (log, mut folders, mut leader, mut follower) = pair();
    let names = Names::new(&leader);
    let mut model = Model::default();
    let mut epoch = 1;
    for (steps, between) in transactions {
        let mut txn = leader.begin().unwrap();
        let writes = steps.iter().filter(|step| step.is_write());
        writes.for_each(|step| apply(step, &mut txn, &mut model, &names));
        txn.commit().unwrap();
        let of = |leads: bool| if leads { &leader } else { &follower };
        match *between {
            Between::Nothing => {}
            Between::Follow { groups } => {
                let before = follower.snapshot().unwrap();
                let seen = before.reader().vertex_bound();
                log.apply_to(&follower, groups);
                assert!(before.reader().vertex_bound() >= seen);
            }
            Between::Settle { leader } => of(leader).settle(),
            Between::Checkpoint { leader: leads } => {
                // What it gives out is in no record, and is not to be stored.
                drop(write_everywhere(&leader, &model, &names));
                of(leads).checkpoint().unwrap();
            }
            Between::Release { leader } => drop(of(leader).release_memory()),
            Between::ReopenFollower { close } => {
                end(follower, close);
                follower = open(&folders[1]);
            }
            Between::TakeOver { close } => {
                log.apply_to(&follower, usize::MAX);
                epoch += 1;
                log.lead(&follower, epoch);
                *log.refuses.lock().unwrap() = Some(SinkError::Fenced { leader: None });
                let mut lost = write_everywhere(&leader, &model, &names);
                lost.create_vertex(&[names.labels[0]]).unwrap();
                assert!(matches!(lost.commit(), Err(Error::NotLeader { .. })));
                *log.refuses.lock().unwrap() = None;
                if close {
                    assert!(leader.close().is_err());
                } else {
                    drop(leader);
                }
                folders.swap(0, 1);
                (leader, follower) = (follower, open(&folders[1]));
            }
        }
        check_snapshot(&leader.snapshot().unwrap(), &model, &names);
    }
    log.apply_to(&follower, usize::MAX);
    assert_eq!(follower.published(), leader.published());
    check_snapshot(&follower.snapshot().unwrap(), &model, &names);
    // What is stored is the same as what was in memory.
    follower.close().unwrap();
    check_snapshot(&open(&folders[1]).snapshot().unwrap(), &model, &names);
    drop(leader);
    for folder in folders {
        check_folder(folder.path());
    }
}

fn transactions() -> impl Strategy<Value = Vec<(Vec<Step>, Between)>> {
    let writes = proptest::collection::vec(step(), 1..8);
    proptest::collection::vec((writes, between()), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases().cases / 3, ..cases() })]

    #[test]
    fn copies_are_equal_whoever_leads(transactions in transactions()) {
        run(&transactions);
    }
}

#[test]
fn a_follower_refuses_what_only_a_leader_may() {
    let (log, _folders, leader, follower) = pair();
    let label = leader.label("Known").unwrap();
    let key = leader.property_key("key").unwrap();
    let mut txn = leader.begin().unwrap();
    let vertex = txn.create_vertex(&[label]).unwrap();
    txn.commit().unwrap();
    log.apply_to(&follower, usize::MAX);
    let refused = |error: Error| {
        assert!(matches!(error, Error::NotLeader { .. }), "{error}");
        assert_eq!(error.kind(), ErrorKind::NotLeader);
    };
    let mut txn = follower.begin().unwrap();
    refused(txn.create_vertex(&[]).unwrap_err());
    txn.set_vertex_property(vertex, key, Value::from(1)).unwrap();
    refused(txn.commit().unwrap_err());
    refused(follower.label("New").unwrap_err());
    refused(follower.edge_type("NEW", telar_engine::EdgeTypeOptions::general()).unwrap_err());
    refused(follower.bulk_load(BulkOptions::default()).map(drop).unwrap_err());
    let target = IndexTarget::Vertices(label);
    let spec = IndexSpec { name: "i".into(), target, properties: vec![key] };
    refused(follower.create_index(spec).unwrap_err());
    assert_eq!(follower.label("Known").unwrap(), label, "what is there is found");
    let load = leader.bulk_load(BulkOptions::default()).map(drop);
    assert!(matches!(load, Err(Error::NotReplicated { .. })));
    let group = log.groups.lock().unwrap()[0].clone();
    assert!(matches!(leader.apply(group.as_group()), Err(Error::NotFollowing)));
    assert!(matches!(leader.promote(log.clone()), Err(Error::NotFollowing)));
    // None of it has left anything behind.
    log.lead(&follower, 2);
    assert_eq!(follower.label("Second").unwrap().get(), label.get() + 1);
    let mut txn = follower.begin().unwrap();
    assert_eq!(txn.create_vertex(&[label]).unwrap().get(), vertex.get() + 1);
    txn.commit().unwrap();
}

#[test]
fn a_transaction_from_before_the_end_of_the_log_is_not_committed_by_the_next_leader() {
    let (log, _folders, leader, follower) = pair();
    let commit = |db: &Engine| {
        let mut txn = db.begin().unwrap();
        txn.create_vertex(&[]).unwrap();
        txn.commit().unwrap()
    };
    commit(&leader);
    log.apply_to(&follower, usize::MAX);
    let key = leader.property_key("key").unwrap();
    commit(&leader);
    let mut early = follower.begin().unwrap();
    let reads = follower.begin().unwrap();
    log.apply_to(&follower, usize::MAX);
    log.lead(&follower, 2);
    // What it read may lack what the leader before had acknowledged.
    early.set_vertex_property(v(0), key, Value::from(1)).unwrap();
    telar_graph::Update::label(&mut early, "Unmade").unwrap();
    assert!(matches!(early.commit(), Err(Error::NotLeader { .. })));
    assert_eq!(follower.find_label("Unmade"), None);
    reads.commit().unwrap();
    let mut again = follower.begin().unwrap();
    again.set_vertex_property(v(0), key, Value::from(1)).unwrap();
    again.commit().unwrap();
    commit(&follower);
}

#[test]
fn indexes_and_constraints_come_and_go_with_the_log() {
    let (log, folders, leader, mut follower) = pair();
    let label = leader.label("L").unwrap();
    let key = leader.property_key("k").unwrap();
    let make = |db: &Engine, value: i64| {
        let mut txn = db.begin().unwrap();
        let vertex = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(vertex, key, value.into()).unwrap();
        txn.commit().map(|_| vertex)
    };
    let first: Vec<_> = (0..2000).map(|n| make(&leader, n).unwrap()).collect();
    let target = IndexTarget::Vertices(label);
    let spec = IndexSpec { name: "range".into(), target, properties: vec![key] };
    let range = leader.create_index(spec).unwrap();
    let kind = ConstraintKind::Unique;
    let spec = ConstraintSpec { name: "one".into(), target, properties: vec![key], kind };
    let unique = leader.create_constraint(spec).unwrap();
    let later = make(&leader, 5000).unwrap();
    log.apply_to(&follower, usize::MAX);
    let found = |db: &Engine, index, value: i64| {
        let snapshot = db.snapshot().unwrap();
        snapshot.reader().index_lookup(index, &[value.into()]).unwrap()
    };
    for index in [range, unique] {
        assert_eq!(found(&follower, index, 77), [first[77]]);
        assert_eq!(found(&follower, index, 5000), [later]);
    }
    // Stored, and changed by the log before anybody has loaded it again.
    follower.close().unwrap();
    follower = open(&folders[1]);
    let last = make(&leader, 6000).unwrap();
    log.apply_to(&follower, usize::MAX);
    assert_eq!(found(&follower, range, 6000), [last]);
    assert_eq!(found(&follower, unique, 77), [first[77]]);
    // Replayed from the local log, and then followed.
    drop(follower);
    follower = open(&folders[1]);
    leader.drop_index(range).unwrap();
    log.apply_to(&follower, usize::MAX);
    assert_eq!(follower.indexes().len(), 1);
    log.lead(&follower, 2);
    assert!(matches!(make(&follower, 6000), Err(Error::ConstraintViolated { .. })));
    make(&follower, 6001).unwrap();
}

#[test]
fn a_record_that_does_not_fit_ends_following_and_loses_nothing() {
    let frames = |db: &Engine, at: u64| db.epoch_record(CommitTs::from_raw(at), 7, "x").unwrap();
    let (log, folders, leader, follower) = pair();
    leader.label("A").unwrap();
    log.apply_to(&follower, usize::MAX);
    let last = follower.published().get();
    // Damage is not divergence.
    let (salt, bytes) = frames(&follower, last + 1);
    let good = LogGroup { first_ts: last + 1, next_ts: last + 2, salt, frames: &bytes };
    let damaged = follower.apply(LogGroup { salt: salt ^ 1, ..good }).unwrap_err();
    assert!(matches!(damaged, Error::Damaged { .. }), "{damaged}");
    // What is known already is passed over.
    log.apply_to(&follower, usize::MAX);
    let first = log.groups.lock().unwrap()[0].clone();
    assert_eq!(follower.apply(first.as_group()).unwrap().get(), last);
    // A gap.
    let (salt, bytes) = frames(&follower, last + 2);
    let gap = LogGroup { first_ts: last + 2, next_ts: last + 3, salt, frames: &bytes };
    let error = follower.apply(gap).unwrap_err();
    assert!(
        matches!(&error, Error::Diverged { commit, .. } if commit.get() == last + 1),
        "{error}"
    );
    assert_eq!(error.kind(), ErrorKind::Damaged);
    assert!(matches!(follower.apply(good), Err(Error::Diverged { .. })), "for good");
    assert!(matches!(follower.promote(log.clone()), Err(Error::Diverged { .. })));
    drop(follower);
    let follower = open(&folders[1]);
    assert_eq!(follower.published().get(), last);
    assert!(follower.find_label("A").is_some());
    // Another name of the same number: two leaders that had not seen each other.
    let (other, _other_folders, other_leader, _) = pair();
    other_leader.label("B").unwrap();
    let label = other.groups.lock().unwrap()[1].clone();
    drop(follower);
    let third = folder();
    let third = open(&third);
    third.apply(log.groups.lock().unwrap()[0].as_group()).unwrap();
    third.apply(log.groups.lock().unwrap()[1].as_group()).unwrap();
    let mut moved = label;
    (moved.first_ts, moved.next_ts) = (last + 1, last + 2);
    assert!(third.apply(moved.as_group()).is_err());
    assert_eq!(third.published().get(), last);
}

#[test]
fn a_bulk_load_in_the_log_is_refused_by_name() {
    let (log, _folders, _leader, follower) = pair();
    log.apply_to(&follower, usize::MAX);
    let at = follower.published().get() + 1;
    // An empty commit, in the frame of a log record: crc, length, stamp, payload, zeros.
    let mut frames = vec![0; 24];
    frames[4] = 1;
    frames[8..16].copy_from_slice(&(at | 1 << 63).to_le_bytes());
    frames[16] = 1;
    let salt = 9;
    let mut hasher = crc32fast::Hasher::new_with_initial(salt);
    hasher.update(&[&frames[4..8], &frames[16..17], &frames[8..16]].concat());
    frames[..4].copy_from_slice(&hasher.finalize().to_le_bytes());
    let group = LogGroup { first_ts: at, next_ts: at + 1, salt, frames: &frames };
    let error = follower.apply(group).unwrap_err().to_string();
    assert!(error.contains("bulk load"), "{error}");
}

#[test]
fn unacknowledged_commits_of_a_deposed_leader_are_never_seen() {
    let (log, folders, leader, follower) = pair();
    let label = leader.label("L").unwrap();
    let commit = |db: &Engine| {
        let mut txn = db.begin().unwrap();
        txn.create_vertex(&[label]).unwrap();
        txn.commit()
    };
    commit(&leader).unwrap();
    let published = leader.published();
    *log.refuses.lock().unwrap() = Some(SinkError::Fenced { leader: Some("b".into()) });
    let error = commit(&leader).unwrap_err();
    assert!(matches!(&error, Error::NotLeader { leader: Some(b) } if b == "b"), "{error}");
    assert!(matches!(commit(&leader), Err(Error::NotLeader { .. })));
    assert!(matches!(leader.label("New"), Err(Error::NotLeader { .. })));
    assert_eq!(leader.published(), published);
    let count = |db: &Engine| {
        let snapshot = db.snapshot().unwrap();
        snapshot.reader().count_vertices(Some(label)).unwrap().unwrap()
    };
    assert_eq!(count(&leader), 1);
    assert!(leader.checkpoint().is_err() || leader.published() == published);
    drop(leader);
    // The other one went on meanwhile.
    *log.refuses.lock().unwrap() = None;
    log.apply_to(&follower, usize::MAX);
    log.lead(&follower, 2);
    commit(&follower).unwrap();
    let leader = open(&folders[0]);
    assert!(leader.find_label("New").is_none());
    log.apply_to(&leader, usize::MAX);
    assert_eq!(count(&leader), 2);
    assert_eq!(leader.published(), follower.published());
}

#[test]
fn epochs_are_in_stream_and_backup_and_after_a_crash() {
    let (log, folders, leader, follower) = pair();
    let label = leader.label("L").unwrap();
    log.apply_to(&follower, usize::MAX);
    log.lead(&follower, 2);
    let mut txn = follower.begin().unwrap();
    txn.create_vertex(&[label]).unwrap();
    txn.commit().unwrap();
    let expected = |db: &Engine| {
        let commits = db.changes_since(CommitTs::from_raw(0)).unwrap().map(Result::unwrap);
        let changes: Vec<Change> = commits.flat_map(|commit| commit.changes).collect();
        let epoch = |n| Change::EpochBegan { epoch: n, node: "node".into() };
        assert_eq!(changes.len(), 4);
        assert_eq!((&changes[0], &changes[2]), (&epoch(1), &epoch(2)));
    };
    expected(&follower);
    let place = folder();
    let backup = &*place.path().join("backup");
    follower.backup(backup, &BackupOptions::default()).unwrap();
    let restored = &*place.path().join("restored");
    restore(&[backup.to_owned()], restored, &RestoreOptions::default()).unwrap();
    drop(follower);
    expected(&open(&folders[1]));
    let alone = Engine::open(restored, settings()).unwrap();
    assert_eq!(alone.snapshot().unwrap().reader().count_vertices(Some(label)).unwrap(), Some(1));
    assert_eq!(alone.published().get(), 4);
    drop(alone);
    for folder in [backup, restored, folders[1].path()] {
        check_folder(folder);
    }
}

#[test]
fn a_copy_is_changed_by_its_log_alone() {
    let (log, folders, leader, follower) = pair();
    let label = leader.label("L").unwrap();
    let mut txn = leader.begin().unwrap();
    txn.create_vertex(&[label]).unwrap();
    txn.commit().unwrap();
    log.apply_to(&follower, usize::MAX);
    drop(leader);
    drop(follower);
    for folder in &folders {
        // The one that led, too; and nothing is changed by the attempt.
        let refused = Engine::open(folder.path(), settings()).unwrap_err();
        assert!(matches!(refused, Error::IsACopy { .. }), "{refused}");
        assert!(refused.to_string().contains("restore a backup"), "{refused}");
        let read = Engine::open_to_read(folder.path(), settings()).unwrap();
        assert_eq!(read.snapshot().unwrap().reader().count_vertices(Some(label)).unwrap(), Some(1));
        drop(read);
        check_folder(folder.path());
        drop(open(folder));
    }
}

#[test]
fn readers_see_whole_commits_while_the_log_is_applied() {
    const ACCOUNTS: u64 = 40;
    let (log, _folders, leader, follower) = pair();
    let key = leader.property_key("sum").unwrap();
    let mut txn = leader.begin().unwrap();
    for _ in 0..ACCOUNTS {
        let vertex = txn.create_vertex(&[]).unwrap();
        txn.set_vertex_property(vertex, key, Value::from(100)).unwrap();
    }
    txn.commit().unwrap();
    log.apply_to(&follower, usize::MAX);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers: Vec<_> = (1..3)
            .map(|seed| {
                let leader = &leader;
                scope.spawn(move || {
                    let mut random = common::Random(seed);
                    for _ in 0..1000 {
                        let pair = [random.below(ACCOUNTS), random.below(ACCOUNTS)];
                        let moved = leader.write(Isolation::Snapshot, |txn| {
                            for (account, by) in pair.into_iter().zip([-1, 1]) {
                                let Value::Int(before) = txn.vertex_property(v(account), key)?
                                else {
                                    panic!("a sum");
                                };
                                txn.set_vertex_property(v(account), key, (before + by).into())?;
                            }
                            Ok::<_, Error>(())
                        });
                        moved.unwrap();
                    }
                })
            })
            .collect();
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                let snapshot = follower.snapshot().unwrap();
                let reader = snapshot.reader();
                let value = |n| match reader.vertex_property(v(n), key) {
                    Value::Int(n) => n,
                    other => panic!("{other:?}"),
                };
                let sum: i64 = (0..ACCOUNTS).map(value).sum();
                assert_eq!(sum, 100 * i64::try_from(ACCOUNTS).unwrap());
            }
        });
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                follower.settle();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let _stop = common::StopAtEnd(&done);
        while writers.iter().any(|writer| !writer.is_finished()) {
            log.apply_to(&follower, usize::MAX);
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        log.apply_to(&follower, usize::MAX);
    });
    assert_eq!(follower.published(), leader.published());
}

#[test]
fn a_group_of_many_records_is_published_piece_by_piece() {
    let (log, _folders, leader, follower) = pair();
    // More than may be applied and not published, from one transaction's names.
    let mut frames = Vec::new();
    let from = log.groups.lock().unwrap().last().unwrap().next_ts;
    let (mut salt, to) = (0, from + 20_000);
    for at in from..to {
        let (of, bytes) = leader.epoch_record(CommitTs::from_raw(at), at, "n").unwrap();
        salt = of;
        frames.extend_from_slice(&bytes);
    }
    log.apply_to(&follower, usize::MAX);
    let group = LogGroup { first_ts: from, next_ts: to, salt, frames: &frames };
    assert_eq!(follower.apply(group).unwrap().get(), to - 1);
}

#[test]
fn first_properties_stand_where_the_log_says_whoever_gave_out_places() {
    let (log, mut folders, leader, follower) = pair();
    let (label, ty) = (leader.label("A").unwrap(), leader.edge_type("T", Default::default()));
    let (ty, key) = (ty.unwrap(), leader.property_key("p").unwrap());
    let mut txn = leader.begin().unwrap();
    let vertices: Vec<_> = (0..9).map(|_| txn.create_vertex(&[label]).unwrap()).collect();
    let pairs = vertices.windows(2);
    let edges: Vec<_> =
        pairs.map(|pair| txn.create_edge(ty, pair[0], pair[1], &[]).unwrap()).collect();
    txn.commit().unwrap();
    assert!(edges.iter().all(|edge| edge.ordinal == 0));
    let set = |db: &Engine, at: usize| {
        let mut txn = db.begin().unwrap();
        txn.set_edge_property(edges[at], key, Value::Int(at as i64)).unwrap();
        txn.commit()
    };
    // Places that no commit uses, beside one that a commit does; all of it is in one segment, which
    // is stored.
    let mut unused = leader.begin().unwrap();
    for at in [0, 3, 5, 7] {
        unused.set_edge_property(edges[at], key, Value::Int(-1)).unwrap();
    }
    drop(unused);
    set(&leader, 1).unwrap();
    leader.checkpoint().unwrap();
    log.apply_to(&follower, usize::MAX);
    log.lead(&follower, 2);
    *log.refuses.lock().unwrap() = Some(SinkError::Fenced { leader: None });
    assert!(set(&leader, 2).is_err());
    *log.refuses.lock().unwrap() = None;
    drop(leader);
    folders.swap(0, 1);
    let (leader, follower) = (follower, open(&folders[1]));
    for at in [7, 2, 5, 0] {
        set(&leader, at).unwrap();
    }
    let mut txn = leader.begin().unwrap();
    let numbered = txn.create_edge(ty, vertices[0], vertices[1], &[(key, Value::Int(99))]).unwrap();
    txn.commit().unwrap();
    log.apply_to(&follower, usize::MAX);
    let check = |db: &Engine| {
        let reader = db.snapshot().unwrap();
        let reader = reader.reader();
        for (at, edge) in edges.iter().enumerate() {
            let expected =
                if [0, 1, 2, 5, 7].contains(&at) { Value::Int(at as i64) } else { Value::Null };
            assert_eq!(reader.edge_property(*edge, key), expected, "{at}");
        }
        assert_eq!(reader.edge_property(numbered, key), Value::Int(99));
    };
    [&leader, &follower].into_iter().for_each(check);
    follower.close().unwrap();
    check(&open(&folders[1]));
    drop(leader);
    folders.iter().for_each(|folder| check_folder(folder.path()));
}
