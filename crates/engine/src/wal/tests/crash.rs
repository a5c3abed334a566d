//! Power failures at random moments of random work, on a storage that knows what a disk may keep.

use std::io::ErrorKind;

use proptest::prelude::*;

use super::*;
use crate::io::{Fault, FaultPlan, FaultStorage, Operation};

/// One step of a workload.
#[derive(Clone, Copy, Debug)]
enum Step {
    Append(u64),
    Wait,
    Rotate,
    /// A checkpoint of what is durable, then truncation up to it.
    Checkpoint,
    /// Power fails; everything unsynced is subject to the seed.
    Crash(u64),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (1_u64..30).prop_map(Step::Append),
        6 => Just(Step::Wait),
        1 => Just(Step::Rotate),
        1 => Just(Step::Checkpoint),
        3 => any::<u64>().prop_map(Step::Crash),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..60)
}

/// The log, and what must be true of it.
struct Model {
    storage: MemoryStorage,
    wal: Option<Wal>,
    file_bytes_max: u64,
    acknowledged: u64,
    checkpoint: u64,
}

impl Model {
    fn wal(&self) -> &Wal {
        self.wal.as_ref().unwrap()
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Append(count) => (0..count).for_each(|_| {
                append_next(self.wal());
            }),
            Step::Wait => {
                self.wal().wait_durable(self.wal().last_ts()).unwrap();
                self.acknowledged = self.wal().last_ts();
            }
            Step::Rotate => {
                self.wal().rotate().unwrap();
                self.acknowledged = self.wal().last_ts();
            }
            Step::Checkpoint => {
                self.checkpoint = self.wal().durable_ts();
                self.wal().truncate_before(self.checkpoint).unwrap();
            }
            Step::Crash(seed) => {
                // A power failure in the middle of a group write: bytes appended, not synced.
                let last = self.wal().last_ts();
                let crashed = self.tear(seed).crash(seed);
                self.reopen(crashed, last);
            }
            Step::Reopen => {
                let last = self.wal().last_ts();
                drop(self.wal.take());
                self.acknowledged = last;
                self.reopen(self.storage.clone(), last);
            }
        }
    }

    /// The storage at some moment of the next group write.
    fn tear(&self, seed: u64) -> MemoryStorage {
        let storage = self.storage.clone();
        let name = storage.list().unwrap().pop().unwrap();
        let salt = self.wal().salt;
        let (durable_ts, last_ts) = (self.wal().durable_ts(), self.wal().last_ts());
        let mut group = Vec::new();
        for commit_ts in durable_ts + 1..=last_ts {
            let payload = payload(commit_ts);
            PreparedRecord::new(salt, &payload).unwrap().append_to(&mut group, commit_ts);
        }
        let mut file = storage.open(&name).unwrap();
        if seed.is_multiple_of(4) {
            let half = group.len() / 2;
            group.truncate(half);
        }
        file.append(&group).unwrap();
        storage
    }

    fn reopen(&mut self, storage: MemoryStorage, last_ts: u64) {
        // The log of before the crash must not touch the storage after it.
        if let Some(wal) = self.wal.take() {
            std::mem::forget(wal);
        }
        self.storage = storage;
        let options = options(self.file_bytes_max);
        let (wal, replayed) = open_at(self.storage.clone(), options, self.checkpoint).unwrap();
        let recovered = wal.last_ts();
        assert!(recovered >= self.acknowledged, "lost {recovered}..{}", self.acknowledged);
        assert!(recovered <= last_ts);
        assert_eq!(replayed, payloads(self.checkpoint + 1..=recovered));
        assert_eq!(wal.durable_ts(), recovered);
        // What was replayed is durable now, whatever it was before.
        self.acknowledged = recovered;
        self.wal = Some(wal);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(400)
    })]

    #[test]
    fn crash_anywhere_keeps_what_was_acknowledged(steps in steps(), bytes_max in 100_u64..6000) {
        let storage = MemoryStorage::new();
        let (wal, _) = open_at(storage.clone(), options(bytes_max), 0).unwrap();
        let mut model = Model {
            storage, wal: Some(wal), file_bytes_max: bytes_max, acknowledged: 0, checkpoint: 0,
        };
        for step in steps {
            model.apply(step);
        }
        let last = model.wal().last_ts();
        let crashed = model.tear(1).crash(1);
        model.reopen(crashed, last);
    }
}

#[test]
fn crash_at_every_operation_keeps_what_was_acknowledged() {
    for at in 0.. {
        let memory = MemoryStorage::new();
        let storage = FaultStorage::new(Arc::new(memory.clone()));
        let fault = Fault::Partial(ErrorKind::Other);
        storage.plan(FaultPlan { at, only: None, fault });
        let acknowledged = work(&storage);
        for seed in 0..12 {
            let (wal, replayed) = open(&memory.crash(seed));
            assert!(wal.last_ts() >= acknowledged, "operation {at}, seed {seed}");
            assert_eq!(replayed, payloads(1..=wal.last_ts()), "operation {at}, seed {seed}");
        }
        if !storage.fired() {
            assert!(at > 60);
            break;
        }
    }
}

#[test]
fn kill_before_the_directory_is_synced_then_power_failure_keeps_the_file() {
    // The process dies between creating a file and syncing the directory; the next one finds the
    // file, commits into it, and only then the power fails.
    let memory = MemoryStorage::new();
    let storage = FaultStorage::new(Arc::new(memory.clone()));
    let (wal, _) = open_at(storage.clone(), options(400), 0).unwrap();
    commit_next(&wal);
    let fault = Fault::Error(ErrorKind::Other);
    storage.plan(FaultPlan { at: 0, only: Some(Operation::SyncDir), fault });
    assert!(wal.rotate().is_err());
    drop(wal);
    assert_eq!(memory.list().unwrap().len(), 2);
    let (wal, _) = open(&memory);
    assert_eq!(commit_next(&wal), 2);
    for seed in 0..20 {
        assert_eq!(open(&memory.crash(seed)).1, payloads(1..=2), "seed {seed}");
    }
}

/// Commits groups until something fails; returns the last commit acknowledged.
fn work(storage: &FaultStorage) -> u64 {
    let Ok((wal, _)) = open_at(storage.clone(), options(400), 0) else {
        return 0;
    };
    let mut acknowledged = 0;
    for group in 0..20 {
        for _ in 0..group % 4 + 1 {
            let next = wal.last_ts() + 1;
            if wal.append(&payload(next)).is_err() {
                return acknowledged;
            }
        }
        match wal.wait_durable(wal.last_ts()) {
            Ok(()) => acknowledged = wal.last_ts(),
            Err(_) => return acknowledged,
        }
    }
    acknowledged
}

#[test]
fn crash_during_recovery_changes_nothing() {
    let storage = MemoryStorage::new();
    let (wal, _) = open(&storage);
    for _ in 0..20 {
        commit_next(&wal);
    }
    drop(wal);
    // A torn group and a file that was being created are found together in no crash; each alone.
    let name = storage.list().unwrap().pop().unwrap();
    let torn = storage.crash(0);
    torn.open(&name).unwrap().append(&[0x5A; 99]).unwrap();
    let unfinished = storage.crash(0);
    unfinished.create(&header::file_name(21)).unwrap().append(&[0; 32]).unwrap();
    for damaged in [torn, unfinished] {
        let damaged = MemoryStorage::from_files(damaged.files());
        for at in 0.. {
            let memory = MemoryStorage::from_files(damaged.files());
            let faulty = FaultStorage::new(Arc::new(memory.clone()));
            faulty.plan(FaultPlan { at, only: None, fault: Fault::Error(ErrorKind::Other) });
            let opened = open_at(faulty.clone(), options(400), 0);
            assert_eq!(opened.is_err(), faulty.fired());
            for seed in 0..12 {
                let (wal, replayed) = open(&memory.crash(seed));
                assert_eq!(replayed, payloads(1..=20), "operation {at}, seed {seed}");
                assert_eq!(commit_next(&wal), 21);
            }
            if !faulty.fired() {
                break;
            }
        }
    }
}
