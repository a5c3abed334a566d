//! The leader protocol under shuttle: random interleavings of the code that ships.
//!
//! Run with `cargo test --features shuttle --lib wal::`. Shuttle reports a deadlock, so every model
//! also proves that nobody waits for ever. The memory storage locks with the same primitives, so
//! other threads run in the middle of a leader's write. The pending buffer is so small that
//! appenders wait for room.
//!
//! A failing schedule is printed; replay it with `shuttle::replay`.

use std::io::ErrorKind;

use super::*;
use crate::io::{Fault, FaultPlan, FaultStorage, MemoryStorage, Operation};

const ITERATIONS: usize = 2_000;
/// Preemptions that the PCT scheduler places in one execution.
const PCT_DEPTH: usize = 3;

/// Runs `model` under the random and the PCT scheduler.
fn check(model: impl Fn() + Send + Sync + Copy + 'static) {
    shuttle::check_random(model, ITERATIONS);
    shuttle::check_pct(model, ITERATIONS, PCT_DEPTH);
}

fn open(storage: impl Storage + 'static, file_bytes_max: u64) -> (Arc<Wal>, Vec<Vec<u8>>) {
    let mut replayed = Vec::new();
    let options = WalOptions { file_bytes_max, durability: Durability::Full };
    let wal = Wal::open(Arc::new(storage), options, 0, &mut |commit_ts, payload| {
        assert_eq!(commit_ts, replayed.len() as u64 + 1);
        replayed.push(payload.to_vec());
        Ok(())
    });
    (Arc::new(wal.unwrap()), replayed)
}

/// Starts a thread that commits `count` times; it returns what was acknowledged.
fn committer(wal: &Arc<Wal>, id: u8, count: u8) -> JoinHandle<Vec<(u64, Vec<u8>)>> {
    let wal = Arc::clone(wal);
    thread::spawn(move || {
        let mut acknowledged = Vec::new();
        for number in 0..count {
            let payload = vec![id, number];
            let Ok(commit_ts) = wal.append(&payload) else {
                break;
            };
            if wal.wait_durable(commit_ts).is_err() {
                break;
            }
            assert!(wal.durable_ts() >= commit_ts);
            acknowledged.push((commit_ts, payload));
        }
        acknowledged
    })
}

/// Checks that a crash now keeps all that was acknowledged, as it was.
fn assert_kept(storage: &MemoryStorage, acknowledged: &[(u64, Vec<u8>)]) {
    let (_, replayed) = open(storage.crash(acknowledged.len() as u64), 4096);
    for (commit_ts, payload) in acknowledged {
        let index = usize::try_from(*commit_ts).unwrap() - 1;
        assert_eq!(replayed.get(index), Some(payload), "commit {commit_ts}");
    }
}

#[test]
fn model_every_commit_gets_durable() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 4096);
        let threads: Vec<_> = (0..3).map(|id| committer(&wal, id, 2)).collect();
        let acknowledged: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(acknowledged.len(), 6);
        assert_eq!((wal.last_ts(), wal.durable_ts()), (6, 6));
        assert_kept(&storage, &acknowledged);
    });
}

#[test]
fn model_crash_while_committing_keeps_what_was_acknowledged() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 4096);
        let threads: Vec<_> = (0..3).map(|id| committer(&wal, id, 2)).collect();
        let durable_ts = wal.durable_ts();
        let crashed = storage.crash(durable_ts);
        let (_, replayed) = open(crashed, 4096);
        assert!(replayed.len() as u64 >= durable_ts);
        threads.into_iter().for_each(|thread| drop(thread.join().unwrap()));
    });
}

#[test]
fn model_poison_reaches_everyone() {
    check(|| {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let (wal, _) = open(storage.clone(), 4096);
        let fault = Fault::Error(ErrorKind::Other);
        storage.plan(FaultPlan { at: 1, only: Some(Operation::Sync), fault });
        let threads: Vec<_> = (0..3).map(|id| committer(&wal, id, 2)).collect();
        let acknowledged: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        // Six commits in groups of two at most (the buffer holds no more): a second sync happens.
        assert!(storage.fired());
        assert!(matches!(wal.append(b"x"), Err(WalError::Poisoned { .. })));
        assert!(matches!(wal.flush(), Err(WalError::Poisoned { .. })));
        let last = acknowledged.iter().map(|(commit_ts, _)| *commit_ts).max();
        assert!(last.unwrap_or(0) <= wal.durable_ts());
        assert_kept(&memory, &acknowledged);
    });
}

#[test]
fn model_poison_from_outside_reaches_everyone() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 4096);
        let threads: Vec<_> = (0..3).map(|id| committer(&wal, id, 1)).collect();
        let rotating = Arc::clone(&wal);
        let rotator = thread::spawn(move || drop(rotating.rotate()));
        // Right after a commit of its own: who leads next may not have begun.
        let first = wal.append(b"first").unwrap();
        let first = wal.wait_durable(first).map(|()| (first, b"first".to_vec()));
        wal.refuse_without("LOCK".into());
        let committed = threads.into_iter().flat_map(|thread| thread.join().unwrap());
        let mut acknowledged: Vec<_> = committed.collect();
        acknowledged.extend(first);
        rotator.join().unwrap();
        assert!(matches!(wal.append(b"x"), Err(WalError::Poisoned { .. })));
        let last = acknowledged.iter().map(|(commit_ts, _)| *commit_ts).max();
        assert!(last.unwrap_or(0) <= wal.durable_ts());
        assert_kept(&storage, &acknowledged);
    });
}

#[test]
fn model_rotation_and_truncation_beside_commits() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 80);
        let threads: Vec<_> = (0..2).map(|id| committer(&wal, id, 2)).collect();
        let rotator = Arc::clone(&wal);
        let rotator = thread::spawn(move || {
            rotator.rotate().unwrap();
            rotator.truncate_before(0).unwrap();
            rotator.rotate().unwrap();
        });
        let acknowledged: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        rotator.join().unwrap();
        assert_eq!(acknowledged.len(), 4);
        assert_kept(&storage, &acknowledged);
    });
}

#[test]
fn model_appenders_that_never_wait_make_progress() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 4096);
        let appender = |wal: &Arc<Wal>| {
            let wal = Arc::clone(wal);
            thread::spawn(move || {
                for _ in 0..4 {
                    wal.append(&[1; 20]).unwrap();
                }
            })
        };
        let threads = [appender(&wal), appender(&wal)];
        let waiter = committer(&wal, 0, 1);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(waiter.join().unwrap().len(), 1);
        wal.flush().unwrap();
        assert_eq!(wal.durable_ts(), 9);
    });
}

#[test]
fn model_close_beside_commits_keeps_what_was_acknowledged() {
    check(|| {
        let storage = MemoryStorage::new();
        let (wal, _) = open(storage.clone(), 4096);
        let threads: Vec<_> = (0..2).map(|id| committer(&wal, id, 2)).collect();
        wal.close().unwrap();
        assert_eq!(wal.durable_ts(), wal.last_ts());
        let acknowledged: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        assert!(matches!(wal.append(b"x"), Err(WalError::Closed)));
        assert_kept(&storage, &acknowledged);
    });
}
