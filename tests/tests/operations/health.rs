//! What operators watch says what is going on.

use std::time::Duration;

use telar_engine::Engine;
use telar_tests::Rng;
use telar_tests::ledger::Ledger;

use super::{open, settings};

const WAIT: Duration = Duration::from_millis(60);

#[test]
fn health_shows_an_old_reader_and_what_it_holds_back() {
    let mut rng = Rng::new(telar_tests::seed());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("graph"));
    let ledger = Ledger::new(&db, 100, 1).unwrap();
    let old = db.snapshot().unwrap();
    for number in 1..=200 {
        ledger.transfer(&db, 0, number, &mut rng).unwrap();
    }
    // From now on it is known that there are later commits.
    let _ = db.health();
    std::thread::sleep(WAIT);
    let health = db.health();
    assert_eq!((health.readers, health.oldest_reader), (1, Some(old.read_ts())));
    assert_eq!((health.watermark, health.published), (old.read_ts(), db.published()));
    assert!(health.published.get() - health.watermark.get() >= 200);
    assert!(health.oldest_reader_age >= WAIT, "{health:?}");
    assert_eq!(health.watermark_age, health.oldest_reader_age);
    assert!(health.settle.unsettled >= 600, "the reader keeps tails from settling: {health:?}");
    assert!(health.unsettled_share() > 0.5);
    drop(old);
    db.settle();
    let health = db.health();
    assert_eq!((health.readers, health.settle.unsettled), (0, 0), "{health:?}");
    assert_eq!(health.watermark_age, Duration::ZERO);
    assert_eq!(health.watermark, health.published);
}

#[test]
fn health_counts_log_and_checkpoints() {
    let mut rng = Rng::new(telar_tests::seed());
    let dir = tempfile::tempdir().unwrap();
    let db = open(&dir.path().join("graph"));
    let ledger = Ledger::new(&db, 100, 1).unwrap();
    let before = db.health().log.unwrap();
    for number in 1..=50 {
        ledger.transfer(&db, 0, number, &mut rng).unwrap();
    }
    let health = db.health();
    let log = health.log.unwrap();
    assert_eq!((log.records - before.records, log.groups - before.groups), (50, 50));
    assert!(log.bytes_written > before.bytes_written && log.write_time > before.write_time);
    let checkpoint = health.checkpoint.unwrap();
    assert_eq!((checkpoint.made, checkpoint.age), (0, None));
    assert_eq!(checkpoint.commits_behind, db.published().get());
    let at = db.checkpoint().unwrap();
    let health = db.health();
    let checkpoint = health.checkpoint.unwrap();
    assert_eq!((checkpoint.made, checkpoint.failed, checkpoint.commits_behind), (1, 0, 0));
    assert_eq!((checkpoint.last, checkpoint.error), (at, None));
    assert!(checkpoint.age.unwrap() < Duration::from_secs(60));
    assert!(health.log.unwrap().bytes_on_disk < log.bytes_on_disk, "the log was cut");
}

#[test]
fn health_of_a_database_in_memory_has_no_log() {
    let db = Engine::in_memory(settings()).unwrap();
    let health = db.health();
    assert!(health.log.is_none() && health.checkpoint.is_none());
}
