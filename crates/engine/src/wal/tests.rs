//! Tests of the log as a whole. Crashes, damage and faults have files of their own.

mod crash;
mod damage;
mod fault;
#[cfg(feature = "failpoints")]
mod kill;
mod sink;

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::io::{FileStorage, MemoryStorage};

/// What an open replayed.
type Replayed = Vec<(u64, Vec<u8>)>;

fn options(file_bytes_max: u64) -> WalOptions {
    WalOptions { file_bytes_max, ..WalOptions::default() }
}

fn open_at(
    storage: impl Storage + 'static,
    options: WalOptions,
    start_after: u64,
) -> Result<(Wal, Replayed), WalError> {
    let mut replayed = Vec::new();
    let wal = Wal::open(Arc::new(storage), options, start_after, &mut |commit_ts, payload| {
        replayed.push((commit_ts, payload.to_vec()));
        Ok(())
    })?;
    Ok((wal, replayed))
}

fn open(storage: &MemoryStorage) -> (Wal, Replayed) {
    open_at(storage.clone(), options(400), 0).unwrap()
}

/// A payload that tells its commit and has a length of its own.
fn payload(commit_ts: u64) -> Vec<u8> {
    let mut bytes = commit_ts.to_le_bytes().to_vec();
    bytes.resize(8 + usize::try_from(commit_ts * 7 % 61).unwrap(), commit_ts.to_le_bytes()[0]);
    bytes
}

fn payloads(range: std::ops::RangeInclusive<u64>) -> Replayed {
    range.map(|commit_ts| (commit_ts, payload(commit_ts))).collect()
}

fn append_next(wal: &Wal) -> u64 {
    let next = wal.last_ts() + 1;
    assert_eq!(wal.append(&payload(next)).unwrap(), next);
    next
}

fn commit_next(wal: &Wal) -> u64 {
    let commit_ts = append_next(wal);
    wal.wait_durable(commit_ts).unwrap();
    assert!(wal.durable_ts() >= commit_ts);
    commit_ts
}

#[test]
fn empty_log_starts_at_one() {
    let storage = MemoryStorage::new();
    let (wal, replayed) = open(&storage);
    assert!(replayed.is_empty());
    assert_eq!((wal.last_ts(), wal.durable_ts(), wal.recovery()), (0, 0, Recovery::default()));
    assert_eq!(append_next(&wal), 1);
    assert_eq!((wal.last_ts(), wal.durable_ts()), (1, 0));
    wal.wait_durable(1).unwrap();
    assert_eq!(wal.durable_ts(), 1);
    wal.wait_durable(0).unwrap();
    assert!(matches!(wal.wait_durable(2), Err(WalError::NotAssigned { commit_ts: 2, last_ts: 1 })));
    assert_eq!(storage.list().unwrap(), ["wal-00000000000000000001.log"]);
}

#[test]
fn reopened_log_replays_and_goes_on_across_files() {
    let storage = MemoryStorage::new();
    let mut last = 0;
    for _ in 0..4 {
        let (wal, replayed) = open(&storage);
        assert_eq!(replayed, payloads(1..=last));
        for _ in 0..20 {
            last = commit_next(&wal);
        }
    }
    assert!(storage.list().unwrap().len() > 5);
    for start_after in 0..=last {
        let (wal, replayed) = open_at(storage.clone(), options(400), start_after).unwrap();
        assert_eq!(replayed, payloads(start_after + 1..=last));
        assert_eq!(wal.recovery().records_replayed, last - start_after);
        assert_eq!(wal.recovery().last_ts, last);
    }
}

#[test]
fn waiting_for_the_last_makes_all_before_it_durable() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    for _ in 0..50 {
        append_next(&wal);
    }
    wal.wait_durable(50).unwrap();
    assert_eq!(wal.durable_ts(), 50);
    for seed in 0..20 {
        assert_eq!(open(&storage.crash(seed)).1, payloads(1..=50));
    }
}

#[test]
fn truncation_drops_whole_files_only_and_keeps_the_active_one() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    while storage.list().unwrap().len() < 4 {
        commit_next(&wal);
    }
    let last = wal.last_ts();
    let names = storage.list().unwrap();
    let second = header::parse_file_name(&names[1]).unwrap();
    assert_eq!(wal.truncate_before(second - 2).unwrap(), 0);
    assert_eq!(wal.truncate_before(second - 1).unwrap(), 1);
    assert_eq!(storage.list().unwrap(), names[1..]);
    assert_eq!(wal.truncate_before(u64::MAX).unwrap(), 2);
    assert_eq!(storage.list().unwrap(), names[3..]);
    wal.rotate().unwrap();
    wal.rotate().unwrap();
    assert_eq!(wal.truncate_before(last).unwrap(), 1);
    assert_eq!(storage.list().unwrap(), [header::file_name(last + 1)]);
    drop(wal);
    let (wal, replayed) = open_at(storage.clone(), options(400), last).unwrap();
    assert!(replayed.is_empty());
    assert_eq!(append_next(&wal), last + 1);
    drop(wal);
    // Without the checkpoint that allowed it, the truncated log has no beginning.
    let error = open_at(storage, options(400), last - 1).unwrap_err();
    let what = Damage::Timestamp { expected: last, found: last + 1 };
    assert!(matches!(&error, WalError::Damaged { what: found, .. } if *found == what), "{error}");
    assert_eq!(error.kind(), WalErrorKind::Data);
}

#[test]
fn rotate_makes_pending_records_durable_first() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    append_next(&wal);
    append_next(&wal);
    wal.rotate().unwrap();
    assert_eq!(wal.durable_ts(), 2);
    assert_eq!(storage.list().unwrap(), [header::file_name(1), header::file_name(3)]);
    assert_eq!(open(&storage.crash(0)).1, payloads(1..=2));
}

#[test]
fn checkpoint_newer_than_the_log_starts_a_new_file() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    commit_next(&wal);
    drop(wal);
    let (wal, replayed) = open_at(storage.clone(), options(400), 10).unwrap();
    assert!(replayed.is_empty());
    assert_eq!(wal.recovery().last_ts, 10);
    assert_eq!(commit_next(&wal), 11);
    drop(wal);
    assert_eq!(storage.list().unwrap(), [header::file_name(1), header::file_name(11)]);
    let (wal, replayed) = open_at(storage.clone(), options(400), 10).unwrap();
    assert_eq!(replayed, payloads(11..=11));
    assert_eq!(wal.truncate_before(10).unwrap(), 1);
    assert_eq!(storage.list().unwrap(), [header::file_name(11)]);
}

#[test]
fn gap_between_files_is_an_error() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    while storage.list().unwrap().len() < 3 {
        commit_next(&wal);
    }
    drop(wal);
    let names = storage.list().unwrap();
    storage.remove(&names[1]).unwrap();
    let (missing, found) = (header::parse_file_name(&names[1]), header::parse_file_name(&names[2]));
    let (expected, found) = (missing.unwrap(), found.unwrap());
    match open_at(storage, options(400), 0).unwrap_err() {
        WalError::Damaged { file, offset, what } => {
            assert_eq!(file, Path::new(&names[2]));
            assert_eq!((offset, what), (0, Damage::Timestamp { expected, found }));
        }
        other => panic!("{other}"),
    }
}

#[test]
fn oversized_payload_is_refused_and_others_go_on() {
    let (wal, _) = open(&MemoryStorage::new());
    let error = wal.append(&vec![0; PAYLOAD_BYTES_MAX + 1]).unwrap_err();
    assert_eq!(error.kind(), WalErrorKind::Request);
    assert_eq!(commit_next(&wal), 1);
}

#[test]
fn full_buffer_makes_an_appender_that_never_waits_write() {
    let storage = MemoryStorage::new();
    let (wal, _) = open_at(storage.clone(), WalOptions::default(), 0).unwrap();
    let bytes = vec![9; 1 << 20];
    for _ in 0..20 {
        wal.append(&bytes).unwrap();
    }
    assert!(wal.durable_ts() >= 7, "{}", wal.durable_ts());
    // One larger than the whole buffer passes as well, alone in its group.
    wal.append(&vec![8; PENDING_BYTES_MAX + 1]).unwrap();
    let last = wal.append_owned(vec![7; PENDING_BYTES_MAX + 2]).unwrap();
    assert!(wal.durable_ts() >= last - 1, "it was alone");
    wal.append(&bytes).unwrap();
    wal.flush().unwrap();
    assert_eq!(wal.durable_ts(), last + 1);
    drop(wal);
    let replayed = open_at(storage, WalOptions::default(), 0).unwrap().1;
    assert_eq!(replayed.len(), 23);
    assert!(replayed[21].1 == vec![7; PENDING_BYTES_MAX + 2]);
}

#[test]
fn closed_log_refuses_appends_and_has_kept_everything() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    append_next(&wal);
    wal.close().unwrap();
    assert_eq!(wal.durable_ts(), 1);
    assert!(matches!(wal.append(b"x"), Err(WalError::Closed)));
    wal.wait_durable(1).unwrap();
    wal.close().unwrap();
}

#[test]
fn dropped_log_has_kept_everything() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    append_next(&wal);
    drop(wal);
    assert_eq!(open(&storage.crash(1)).1, payloads(1..=1));
}

#[test]
fn async_log_acknowledges_at_once_and_syncs_soon() {
    let storage = MemoryStorage::new();
    let slow = Durability::Async { interval_ms: 3_600_000 };
    let (wal, _) =
        open_at(storage.clone(), WalOptions { durability: slow, ..options(400) }, 0).unwrap();
    let last = append_next(&wal);
    wal.wait_durable(last).unwrap();
    assert_eq!(wal.durable_ts(), 0);
    wal.flush().unwrap();
    assert_eq!(wal.durable_ts(), 1);
    append_next(&wal);
    wal.close().unwrap();
    assert_eq!(open(&storage.crash(2)).1, payloads(1..=2));
    drop(wal);

    let fast = Durability::Async { interval_ms: 1 };
    let (wal, _) = open_at(storage, WalOptions { durability: fast, ..options(400) }, 0).unwrap();
    let last = append_next(&wal);
    while wal.durable_ts() < last {
        std::thread::yield_now();
    }
}

#[test]
fn replay_error_is_passed_on_and_changes_nothing() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    commit_next(&wal);
    drop(wal);
    let before = storage.files();
    let failed = Wal::open(Arc::new(storage.clone()), options(400), 0, &mut |commit_ts, _| {
        Err(WalError::replay(commit_ts, "no such label"))
    });
    let message = failed.unwrap_err().to_string();
    assert_eq!(message, "cannot replay the commit 1: no such label");
    assert_eq!(storage.files(), before);
}

#[test]
fn many_threads_on_real_files_lose_and_reorder_nothing() {
    const THREADS: u64 = 8;
    const COMMITS: u64 = 250;
    let directory = tempfile::tempdir().unwrap();
    let storage = || FileStorage::open(directory.path()).unwrap();
    let (wal, _) = open_at(storage(), options(4096), 0).unwrap();
    let mut written = BTreeMap::new();
    std::thread::scope(|scope| {
        let commit = |thread: u64| {
            let mut mine = Vec::new();
            for number in 0..COMMITS {
                let mut payload = [thread.to_le_bytes(), number.to_le_bytes()].concat();
                // Some are larger than what may wait: groups of their own, which nobody joins.
                if thread < 2 && number % 100 == 7 {
                    payload.resize(PENDING_BYTES_MAX + number as usize, thread as u8);
                }
                let commit_ts = wal.append_owned(payload.clone()).unwrap();
                wal.wait_durable(commit_ts).unwrap();
                assert!(wal.durable_ts() >= commit_ts);
                mine.push((commit_ts, payload));
                if number % 100 == 50 {
                    wal.rotate().unwrap();
                }
            }
            mine
        };
        let threads: Vec<_> = (0..THREADS).map(|id| scope.spawn(move || commit(id))).collect();
        for thread in threads {
            let mine = thread.join().unwrap();
            assert!(mine.is_sorted(), "timestamps grow within a thread");
            written.extend(mine);
        }
    });
    drop(wal);
    let (wal, replayed) = open_at(storage(), options(4096), 0).unwrap();
    assert!(replayed == written.into_iter().collect::<Vec<_>>());
    assert_eq!(wal.last_ts(), THREADS * COMMITS);
    let kept = storage().list().unwrap().len();
    let removed = wal.truncate_before(THREADS * COMMITS).unwrap();
    assert_eq!(storage().list().unwrap().len() as u64, kept as u64 - removed);
}

#[test]
fn nobody_is_notified_where_nobody_waits_for_a_change() {
    let notified = || super::group_commit::NOTIFIED.with(std::cell::Cell::get);
    let (wal, _) = open(&MemoryStorage::default());
    let before = notified();
    for _ in 0..10 {
        commit_next(&wal);
    }
    wal.rotate().unwrap();
    commit_next(&wal);
    assert_eq!(notified(), before);
}
