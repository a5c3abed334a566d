//! Groups that go to a replicated log first.

use super::*;
use crate::wal::sink::frames_of_one;

/// A replicated log in memory that takes groups until it is told not to.
#[derive(Debug, Default)]
struct Replicated {
    records: Mutex<Replayed>,
    refuses: Mutex<Option<SinkError>>,
    calls: Mutex<Vec<(u64, u64)>>,
}

impl GroupSink for Replicated {
    fn put(&self, group: LogGroup<'_>) -> Result<(), SinkError> {
        if let Some(error) = lock(&self.refuses).clone() {
            return Err(error);
        }
        lock(&self.calls).push((group.first_ts, group.next_ts));
        let found = group.records().unwrap();
        lock(&self.records).extend(found.into_iter().map(|(ts, bytes)| (ts, bytes.to_vec())));
        Ok(())
    }
}

fn replicated() -> WalOptions {
    WalOptions { file_bytes_max: 400, durability: Durability::Replicated }
}

fn open_with_sink(storage: &MemoryStorage) -> (Wal, Replayed, std::sync::Arc<Replicated>) {
    let (wal, replayed) = open_at(storage.clone(), replicated(), 0).unwrap();
    let sink = std::sync::Arc::new(Replicated::default());
    wal.attach(sink.clone());
    (wal, replayed, sink)
}

#[test]
fn a_group_is_one_call_and_the_same_bytes_follow_locally() {
    let storage = MemoryStorage::new();
    let (wal, _, sink) = open_with_sink(&storage);
    append_next(&wal);
    append_next(&wal);
    commit_next(&wal);
    commit_next(&wal);
    assert_eq!(*lock(&sink.calls), [(1, 4), (4, 5)]);
    wal.rotate().unwrap();
    assert_eq!(lock(&sink.calls).len(), 2, "a rotation writes nothing");
    drop(wal);
    assert_eq!(open(&storage).1, *lock(&sink.records));
    assert_eq!(open(&storage).1, payloads(1..=4));
}

#[test]
fn a_lost_slot_poisons_the_log_before_anything_is_written() {
    let storage = MemoryStorage::new();
    let (wal, _, sink) = open_with_sink(&storage);
    commit_next(&wal);
    *lock(&sink.refuses) = Some(SinkError::Fenced { leader: Some("b".into()) });
    let lost = append_next(&wal);
    let error = wal.wait_durable(lost).unwrap_err();
    assert_eq!(error.kind(), WalErrorKind::Fenced);
    assert_eq!(error.fenced_by(), Some(Some("b")));
    assert_eq!(wal.durable_ts(), 1);
    *lock(&sink.refuses) = None;
    assert_eq!(wal.append(b"x").unwrap_err().kind(), WalErrorKind::Fenced, "for good");
    assert_eq!(wal.close().unwrap_err().kind(), WalErrorKind::Fenced);
    assert_eq!(lock(&sink.records).len(), 1, "no call after the one that failed");
    drop(wal);
    assert_eq!(open(&storage).1, payloads(1..=1));
}

#[test]
fn an_undecided_group_is_no_answer_and_not_written() {
    let storage = MemoryStorage::new();
    let (wal, _, sink) = open_with_sink(&storage);
    *lock(&sink.refuses) = Some(SinkError::Undecided { reason: "no answer".into() });
    let ts = append_next(&wal);
    assert_eq!(wal.wait_durable(ts).unwrap_err().kind(), WalErrorKind::Reopen);
    drop(wal);
    assert_eq!(open(&storage).1, []);
}

#[test]
fn power_failures_leave_a_beginning_and_whole_files() {
    let cut = (0..200).filter(|seed| {
        let storage = MemoryStorage::new();
        let (wal, _, _) = open_with_sink(&storage);
        let mut whole = 0;
        for _ in 0..9 {
            let ts = commit_next(&wal);
            if storage.list().unwrap().len() > 1 {
                whole = ts - 1;
            }
        }
        assert!(whole > 0, "a file ended");
        let crashed = storage.crash(*seed);
        drop(wal);
        let (wal, replayed) = open_at(crashed.clone(), replicated(), 0).unwrap();
        let last = wal.last_ts();
        assert_eq!(replayed, payloads(1..=last), "seed {seed}");
        // What came before the last file was synced when that began.
        let files = crashed.list().unwrap();
        let active = files.iter().filter_map(|name| header::parse_file_name(name)).max().unwrap();
        assert!(last + 1 >= active, "seed {seed}");
        assert_eq!(wal.append(&payload(last + 1)).unwrap(), last + 1);
        last < 9
    });
    assert!(cut.count() > 10, "power failures cut nothing");
}

#[test]
fn what_was_synced_on_request_survives_a_power_failure() {
    for seed in 0..60 {
        let storage = MemoryStorage::new();
        let (wal, _, _) = open_with_sink(&storage);
        assert_eq!(wal.sync_written().unwrap(), 0);
        let mut synced = 0;
        for _ in 0..seed % 9 {
            synced = commit_next(&wal);
        }
        assert_eq!(wal.sync_written().unwrap(), synced);
        append_next(&wal);
        assert_eq!(wal.sync_written().unwrap(), synced, "what is not written is not counted");
        commit_next(&wal);
        let crashed = storage.crash(seed);
        drop(wal);
        let (wal, replayed) = open_at(crashed, replicated(), 0).unwrap();
        assert!(wal.last_ts() >= synced, "seed {seed}");
        assert_eq!(replayed, payloads(1..=wal.last_ts()));
    }
}

#[test]
fn a_sync_on_request_that_fails_ends_the_log() {
    use crate::io::{Fault, FaultPlan, FaultStorage, Operation};
    let storage = FaultStorage::new(Arc::new(MemoryStorage::new()));
    let (wal, _) = open_at(storage.clone(), replicated(), 0).unwrap();
    wal.attach(std::sync::Arc::new(Replicated::default()));
    commit_next(&wal);
    let fault = Fault::Error(std::io::ErrorKind::Other);
    storage.plan(FaultPlan { at: 0, only: Some(Operation::Sync), fault });
    assert_eq!(wal.sync_written().unwrap_err().kind(), WalErrorKind::Reopen);
    assert!(wal.append(b"more").is_err() && wal.check().is_err());
}

#[test]
fn a_hole_in_the_last_file_cuts_a_copy_and_damages_an_original() {
    let storage = MemoryStorage::new();
    let (wal, _) = open_at(storage.clone(), options(10_000), 0).unwrap();
    for _ in 0..6 {
        commit_next(&wal);
    }
    drop(wal);
    let mut files = storage.files();
    let third = header::FILE_HEADER_BYTES
        + (1..3).map(|ts| record::size_of_record(payload(ts).len())).sum::<usize>();
    files[0].1[third..third + 16].fill(0);
    let holed = MemoryStorage::from_files(files);
    let error = open_at(holed.clone(), options(10_000), 0).unwrap_err();
    assert_eq!(error.kind(), WalErrorKind::Data);
    let (wal, replayed) = open_at(holed, replicated(), 0).unwrap();
    assert_eq!(replayed, payloads(1..=2));
    assert_eq!(wal.last_ts(), 2);
}

#[test]
fn closing_syncs_the_copy() {
    let storage = MemoryStorage::new();
    let (wal, _, _) = open_with_sink(&storage);
    commit_next(&wal);
    wal.close().unwrap();
    for seed in 0..20 {
        assert_eq!(open(&storage.crash(seed)).1, payloads(1..=1));
    }
}

#[test]
fn groups_are_checked_record_by_record() {
    let mut frames = frames_of_one(7, 5, b"five").unwrap();
    let six = frames_of_one(7, 6, b"six").unwrap();
    frames.extend_from_slice(&six);
    let group = LogGroup { first_ts: 5, next_ts: 7, salt: 7, frames: &frames };
    assert_eq!(group.records().unwrap(), [(5, &b"five"[..]), (6, b"six")]);
    assert_eq!(LogGroup { salt: 8, ..group }.records().unwrap_err().ts, 5);
    assert_eq!(LogGroup { next_ts: 8, ..group }.records().unwrap_err().ts, 7);
    assert_eq!(LogGroup { next_ts: 6, ..group }.records().unwrap_err().ts, 6, "more follows");
    assert_eq!(LogGroup { first_ts: 4, ..group }.records().unwrap_err().ts, 4);
}

/// Takes its time for each group.
#[derive(Debug, Default)]
struct Slow(Mutex<Vec<u64>>);

impl GroupSink for Slow {
    fn put(&self, group: LogGroup<'_>) -> Result<(), SinkError> {
        lock(&self.0).push(group.next_ts - group.first_ts);
        thread::sleep(Duration::from_millis(100));
        Ok(())
    }
}

#[test]
fn those_who_commit_again_and_again_go_into_each_group_of_a_slow_log() {
    const THREADS: usize = 4;
    const COMMITS: usize = 6;
    let (wal, _) = open_at(MemoryStorage::new(), replicated(), 0).unwrap();
    let sink = std::sync::Arc::new(Slow::default());
    wal.attach(sink.clone());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..COMMITS {
                    let ts = wal.append(b"x").unwrap();
                    wal.wait_durable(ts).unwrap();
                }
            });
        }
    });
    let groups = lock(&sink.0);
    assert_eq!(groups.iter().sum::<u64>() as usize, THREADS * COMMITS);
    // Half of them in each would take twice as many.
    assert!(groups.len() < 2 * COMMITS - 2, "{groups:?}");
}

/// Says when it is called for the first time, and goes on when it is told to.
#[derive(Debug)]
struct Held {
    calls: std::sync::mpsc::Sender<()>,
    go_on: Mutex<std::sync::mpsc::Receiver<()>>,
}

impl GroupSink for Held {
    fn put(&self, _: LogGroup<'_>) -> Result<(), SinkError> {
        // Nobody listens, and nobody holds it, after the first call.
        let _ = self.calls.send(());
        let _ = lock(&self.go_on).recv();
        Ok(())
    }
}

#[test]
fn a_log_that_is_refused_between_two_leaders_lets_nobody_wait() {
    const PATIENCE: Duration = Duration::from_secs(60);
    for round in 0..50 {
        let storage = MemoryStorage::new();
        let wal = std::sync::Arc::new(open_at(storage, replicated(), 0).unwrap().0);
        let ((calls, called), (go, go_on)) =
            (std::sync::mpsc::channel(), std::sync::mpsc::channel());
        wal.attach(std::sync::Arc::new(Held { calls, go_on: Mutex::new(go_on) }));
        let (ended, ends) = std::sync::mpsc::channel();
        let commit = |refuses: bool| {
            let (wal, ended) = (wal.clone(), ended.clone());
            thread::spawn(move || {
                let ts = wal.append(b"x").unwrap();
                let result = wal.wait_durable(ts).map(|()| ts);
                if refuses {
                    wal.refuse_without("LOCK".into());
                }
                ended.send(result).unwrap();
            })
        };
        let mut threads = vec![commit(true)];
        called.recv_timeout(PATIENCE).unwrap();
        threads.extend((0..3).map(|_| commit(false)));
        while wal.last_ts() < 4 {
            thread::yield_now();
        }
        // They wait by now, most of the time.
        thread::sleep(Duration::from_millis(2));
        drop(go);
        for _ in 0..4 {
            let result = ends.recv_timeout(PATIENCE);
            let result =
                result.unwrap_or_else(|_| panic!("round {round}: somebody waits for ever"));
            assert!(result.is_ok_and(|ts| ts <= wal.durable_ts()) || wal.check().is_err());
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    }
}
