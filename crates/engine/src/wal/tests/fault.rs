//! Writes and syncs that fail: the log poisons itself, and nothing acknowledged is lost.

use std::io::ErrorKind;

use super::*;
use crate::io::{Fault, FaultPlan, FaultStorage, Operation};

fn faulty(plan: FaultPlan) -> (MemoryStorage, FaultStorage, Wal) {
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let (wal, _) = open_at(storage.clone(), options(2000), 0).unwrap();
    storage.plan(plan);
    (memory, storage, wal)
}

#[test]
fn failed_write_or_sync_poisons_for_good() {
    let faults = [
        (Operation::Append, Fault::Partial(ErrorKind::StorageFull)),
        (Operation::Append, Fault::Error(ErrorKind::Other)),
        (Operation::Sync, Fault::Error(ErrorKind::Other)),
        (Operation::Sync, Fault::Partial(ErrorKind::Other)),
    ];
    for (operation, fault) in faults {
        let plan = FaultPlan { at: 3, only: Some(operation), fault };
        let (memory, storage, wal) = faulty(plan);
        for _ in 0..3 {
            commit_next(&wal);
        }
        append_next(&wal);
        let error = wal.wait_durable(4).unwrap_err();
        assert!(storage.fired());
        assert_eq!(error.kind(), WalErrorKind::Reopen);
        let WalError::Poisoned { cause } = error else { panic!("{error}") };
        assert!(matches!(&*cause, WalError::Storage(error) if error.operation == operation));
        // The storage works again, and nobody tries.
        let files = memory.files();
        assert!(matches!(wal.append(b"more"), Err(WalError::Poisoned { .. })));
        assert!(matches!(wal.wait_durable(4), Err(WalError::Poisoned { .. })));
        assert!(matches!(wal.flush(), Err(WalError::Poisoned { .. })));
        assert!(matches!(wal.rotate(), Err(WalError::Poisoned { .. })));
        assert!(matches!(wal.close(), Err(WalError::Poisoned { .. })));
        // What was durable before stays acknowledged.
        wal.wait_durable(3).unwrap();
        assert_eq!(wal.durable_ts(), 3);
        drop(wal);
        assert_eq!(memory.files(), files);
        // Commit 4 is undecided; 1 to 3 are there.
        let (wal, replayed) = open(&memory);
        assert!(wal.last_ts() == 3 || wal.last_ts() == 4);
        assert_eq!(replayed, payloads(1..=wal.last_ts()));
        commit_next(&wal);
    }
}

#[test]
fn half_written_group_is_cut_by_the_next_open() {
    let fault = Fault::Partial(ErrorKind::StorageFull);
    let (memory, _, wal) = faulty(FaultPlan { at: 1, only: Some(Operation::Append), fault });
    commit_next(&wal);
    for _ in 0..6 {
        append_next(&wal);
    }
    assert!(wal.wait_durable(7).is_err());
    drop(wal);
    let (wal, replayed) = open(&memory);
    let last = wal.last_ts();
    assert!((1..7).contains(&last) && wal.recovery().bytes_cut > 0);
    assert_eq!(replayed, payloads(1..=last));
    assert_eq!(commit_next(&wal), last + 1);
    drop(wal);
    assert_eq!(open(&memory).1, payloads(1..=last + 1));
}

#[test]
fn replayed_records_survive_a_sync_that_had_failed() {
    // The group reached the page cache and will never reach the disk: an open reads it, and must
    // not take it for durable.
    let memory = MemoryStorage::new();
    let (wal, _) = open(&memory);
    commit_next(&wal);
    append_next(&wal);
    memory.drop_next_sync();
    assert!(wal.wait_durable(2).is_err());
    drop(wal);
    let (wal, replayed) = open(&memory);
    assert_eq!(replayed, payloads(1..=2));
    commit_next(&wal);
    for seed in 0..50 {
        assert_eq!(open(&memory.crash(seed)).1, payloads(1..=3));
    }
}

#[test]
fn fault_at_every_operation_loses_nothing_acknowledged() {
    let kinds = [Fault::Error(ErrorKind::Other), Fault::Partial(ErrorKind::StorageFull)];
    for fault in kinds {
        for at in 0.. {
            let memory = MemoryStorage::new();
            let storage = FaultStorage::new(Arc::new(memory.clone()));
            storage.plan(FaultPlan { at, only: None, fault });
            let acknowledged = commit_and_truncate(&storage);
            let (acknowledged, checkpoint) = acknowledged;
            for image in [memory.clone(), memory.crash(at)] {
                let (wal, replayed) = open_at(image, options(400), checkpoint).unwrap();
                assert!(wal.last_ts() >= acknowledged, "operation {at}");
                assert_eq!(replayed, payloads(checkpoint + 1..=wal.last_ts()));
                commit_next(&wal);
            }
            if !storage.fired() {
                assert!(at > 50);
                break;
            }
        }
    }
}

/// Commits, rotates and truncates, going on after errors; returns what was acknowledged, and the
/// last checkpoint.
fn commit_and_truncate(storage: &FaultStorage) -> (u64, u64) {
    let (mut acknowledged, mut checkpoint) = (0, 0);
    let Ok((wal, _)) = open_at(storage.clone(), options(400), 0) else {
        return (0, 0);
    };
    for round in 1..=20 {
        let next = wal.last_ts() + 1;
        if let Ok(commit_ts) = wal.append(&payload(next))
            && wal.wait_durable(commit_ts).is_ok()
        {
            acknowledged = commit_ts;
        }
        if round % 7 == 0 {
            checkpoint = wal.durable_ts();
            // Either may fail; neither may lose anything.
            let _ = wal.rotate();
            let _ = wal.truncate_before(checkpoint);
        }
    }
    (acknowledged, checkpoint)
}

#[test]
fn failed_removal_leaves_the_log_usable() {
    let fault = Fault::Error(ErrorKind::PermissionDenied);
    let (memory, _, wal) = faulty(FaultPlan { at: 0, only: Some(Operation::Remove), fault });
    commit_next(&wal);
    wal.rotate().unwrap();
    assert!(matches!(wal.truncate_before(1), Err(WalError::Storage(_))));
    commit_next(&wal);
    assert_eq!(wal.truncate_before(1).unwrap(), 1);
    assert_eq!(memory.list().unwrap(), [header::file_name(2)]);
}

/// A removal fails and then the power does: of the files before it any removals are kept, but never
/// a file's without those of the files before it. What is left is what follows without a hole.
#[test]
fn power_cut_between_removals_leaves_no_hole() {
    let fault = Fault::Error(ErrorKind::PermissionDenied);
    for at in 0..4 {
        let (memory, _, wal) = faulty(FaultPlan { at, only: Some(Operation::Remove), fault });
        for _ in 0..4 {
            commit_next(&wal);
            wal.rotate().unwrap();
        }
        let names = memory.list().unwrap();
        assert!(wal.truncate_before(4).is_err());
        for seed in 0..50 {
            let left = memory.crash(seed).list().unwrap();
            assert!(names.ends_with(&left), "removal {at}, seed {seed}: {left:?} of {names:?}");
        }
    }
}

#[test]
fn poison_reaches_every_waiting_thread() {
    let fault = Fault::Error(ErrorKind::Other);
    for at in 0..10 {
        let (memory, _, wal) = faulty(FaultPlan { at, only: Some(Operation::Sync), fault });
        let acknowledged = std::thread::scope(|scope| {
            let commit = || {
                let mut acknowledged = 0;
                for _ in 0..100 {
                    match wal.append(b"x") {
                        Ok(commit_ts) if wal.wait_durable(commit_ts).is_ok() => {
                            acknowledged = commit_ts;
                        }
                        _ => break,
                    }
                }
                acknowledged
            };
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(commit)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).max()
        });
        assert!(wal.append(b"x").is_err());
        let durable_ts = wal.durable_ts();
        assert!(acknowledged.unwrap() <= durable_ts);
        drop(wal);
        assert!(open(&memory.crash(at)).0.last_ts() >= durable_ts);
    }
}

/// A storage whose files panic when synced.
#[derive(Debug)]
struct Panicking(MemoryStorage);

#[derive(Debug)]
struct PanickingFile(Box<dyn crate::io::StorageFile>, u32);

mod panicking {
    use super::{Panicking, PanickingFile};
    use crate::io::{Storage, StorageError, StorageFile};

    type Result<T> = std::result::Result<T, StorageError>;

    impl Storage for Panicking {
        fn create(&self, name: &str) -> Result<Box<dyn StorageFile>> {
            Ok(Box::new(PanickingFile(self.0.create(name)?, 0)))
        }
        fn open(&self, name: &str) -> Result<Box<dyn StorageFile>> {
            self.0.open(name)
        }
        fn rename(&self, from: &str, to: &str) -> Result<()> {
            self.0.rename(from, to)
        }
        fn remove(&self, name: &str) -> Result<()> {
            self.0.remove(name)
        }
        fn list(&self) -> Result<Vec<String>> {
            self.0.list()
        }
        fn sync_dir(&self) -> Result<()> {
            self.0.sync_dir()
        }
        fn path_of(&self, name: &str) -> std::path::PathBuf {
            self.0.path_of(name)
        }
        fn salt(&self) -> u32 {
            self.0.salt()
        }
    }

    impl StorageFile for PanickingFile {
        fn len(&self) -> u64 {
            self.0.len()
        }
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<()> {
            self.0.read_at(offset, buffer)
        }
        fn append(&mut self, bytes: &[u8]) -> Result<()> {
            self.0.append(bytes)
        }
        fn overwrite(&mut self, offset: u64, bytes: &[u8]) -> Result<()> {
            self.0.overwrite(offset, bytes)
        }
        fn sync_data(&mut self) -> Result<()> {
            self.1 += 1;
            assert!(self.1 < 3, "planned panic");
            self.0.sync_data()
        }
        fn truncate(&mut self, len: u64) -> Result<()> {
            self.0.truncate(len)
        }
    }
}

#[test]
fn leader_that_panics_poisons_and_blocks_nobody() {
    let memory = MemoryStorage::new();
    // The header is sync 1, commit 1 is sync 2, commit 2 panics.
    let (wal, _) = open_at(Panicking(memory.clone()), options(4000), 0).unwrap();
    commit_next(&wal);
    append_next(&wal);
    let panicked = std::thread::scope(|scope| scope.spawn(|| wal.wait_durable(2)).join());
    assert!(panicked.is_err());
    let WalError::Poisoned { cause } = wal.wait_durable(2).unwrap_err() else { panic!() };
    assert!(matches!(*cause, WalError::LeaderPanicked));
    wal.wait_durable(1).unwrap();
    drop(wal);
    assert!(open(&memory.crash(0)).0.last_ts() >= 1);
}
