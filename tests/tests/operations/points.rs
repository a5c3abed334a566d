//! Restore to any point: to commits and times, with and without an archive of the log.

use std::path::PathBuf;
use std::time::Duration;

use telar_engine::maintenance::{RestorePoint, time};
use telar_tests::ledger::Ledger;
use telar_tests::{PrintSeed, Rng};

use super::{backup, commit, open, restore_to, settings};

#[test]
fn restore_reaches_every_commit_since_the_full_backup_with_an_archive() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut settings = settings();
    settings.log_archive_bytes_max = 1 << 30;
    let mut db = telar_engine::Engine::open(at("graph"), settings).unwrap();
    let ledger = Ledger::new(&db, 500, 1).unwrap();
    let mut number = 0;
    let mut work = |db: &telar_engine::Engine, rng: &mut Rng| {
        for _ in 0..30 {
            number += 1;
            ledger.transfer(db, 0, number, rng).unwrap();
        }
    };
    work(&db, &mut rng);
    let full = backup(&db, &at("backup-0"), None).unwrap();
    let mut chain = vec![at("backup-0")];
    for round in 1..4 {
        work(&db, &mut rng);
        db.checkpoint().unwrap();
        work(&db, &mut rng);
        if round == 2 {
            // Closing and opening, and a crash, keep the archive.
            db.close().unwrap();
            db = telar_engine::Engine::open(at("graph"), settings).unwrap();
            work(&db, &mut rng);
            drop(db);
            db = telar_engine::Engine::open(at("graph"), settings).unwrap();
            db.checkpoint().unwrap();
        }
        work(&db, &mut rng);
        let path = at(&format!("backup-{round}"));
        backup(&db, &path, chain.last().map(PathBuf::as_path)).unwrap();
        chain.push(path);
    }
    // And the log of the database after the last backup.
    work(&db, &mut rng);
    drop(db);
    let logs = [at("graph").join("wal")];
    let all: Vec<u64> = ledger.timestamps().into_iter().filter(|t| *t >= full.to.get()).collect();
    let last = *all.last().unwrap();
    let some = if telar_tests::long() { 100 } else { 10 };
    let mut points: Vec<u64> =
        (0..some).map(|_| all[rng.below(all.len() as u64) as usize]).collect();
    points.extend([all[0], last]);
    for (i, to) in points.iter().enumerate() {
        let target = at(&format!("restored-{i}"));
        restore_to(&chain, &target, commit(*to), &logs).unwrap();
        ledger.check(&open(&target), *to).unwrap();
    }
    let newest = restore_to(&chain, &at("newest"), RestorePoint::Latest, &logs).unwrap();
    assert_eq!(newest.to.get(), last, "the log given goes beyond the last backup");
}

#[test]
fn restore_to_a_time_ends_before_the_first_later_commit() {
    let seed = telar_tests::seed();
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let before = time::now_ms();
    std::thread::sleep(Duration::from_millis(5));
    let ledger = Ledger::new(&db, 50, 1).unwrap();
    backup(&db, &at("full"), None).unwrap();
    let mut moments = Vec::new();
    for number in 1..6 {
        let ts = ledger.transfer(&db, 0, number, &mut rng).unwrap();
        std::thread::sleep(Duration::from_millis(8));
        moments.push((time::now_ms(), ts));
        std::thread::sleep(Duration::from_millis(8));
    }
    backup(&db, &at("second"), Some(&at("full"))).unwrap();
    let chain = [at("full"), at("second")];
    for (i, (ms, ts)) in moments.iter().enumerate() {
        let target = at(&format!("restored-{i}"));
        let restored = restore_to(&chain, &target, RestorePoint::Time(*ms), &[]).unwrap();
        assert_eq!(restored.to.get(), *ts);
        assert!(restored.time_ms.unwrap() <= *ms);
        ledger.check(&open(&target), *ts).unwrap();
    }
    let far = RestorePoint::Time(time::now_ms() + 1_000_000);
    let latest = restore_to(&chain, &at("far"), far, &[]).unwrap();
    assert_eq!(latest.to.get(), moments.last().unwrap().1);
    let early = restore_to(&chain, &at("early"), RestorePoint::Time(before), &[]).unwrap_err();
    assert!(early.to_string().contains("its log begins at"), "{early}");

    // Without any log, what is known is when a backup was taken.
    db.checkpoint().unwrap();
    let taken = backup(&db, &at("no-log"), None).unwrap();
    assert_eq!(taken.commits, 0);
    let asked = |ms, name: &str| {
        restore_to(&[at("no-log")], &at(name), RestorePoint::Time(ms), &[]).map(|r| r.to)
    };
    let error = asked(moments[2].0, "too-early").unwrap_err().to_string();
    assert!(error.contains("has no log from before"), "{error}");
    assert_eq!(asked(taken.manifest.time_ms, "just-then").unwrap(), taken.to);
}

#[test]
fn without_an_archive_the_commits_between_backups_are_refused_by_number() {
    let seed = telar_tests::seed();
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let ledger = Ledger::new(&db, 50, 1).unwrap();
    backup(&db, &at("full"), None).unwrap();
    let lost = ledger.transfer(&db, 0, 1, &mut rng).unwrap();
    let checkpoint = ledger.transfer(&db, 0, 2, &mut rng).unwrap();
    db.checkpoint().unwrap();
    let kept = ledger.transfer(&db, 0, 3, &mut rng).unwrap();
    let last = ledger.transfer(&db, 0, 4, &mut rng).unwrap();
    let second = backup(&db, &at("second"), Some(&at("full"))).unwrap();
    assert_eq!(second.manifest.log_after, checkpoint);
    let chain = [at("full"), at("second")];
    for (i, to) in [checkpoint, kept, last].into_iter().enumerate() {
        let target = at(&format!("restored-{i}"));
        restore_to(&chain, &target, commit(to), &[]).unwrap();
        ledger.check(&open(&target), to).unwrap();
    }
    let error = restore_to(&chain, &at("never"), commit(lost), &[]).unwrap_err().to_string();
    assert!(error.contains(&format!("no log of the commits {lost} to {checkpoint}")), "{error}");
    let before = RestorePoint::Time(second.manifest.time_ms - 1_000_000);
    let error = restore_to(&chain, &at("never"), before, &[]).unwrap_err().to_string();
    assert!(error.contains("its log begins at") || error.contains("may lie"), "{error}");
}

#[test]
fn log_of_another_database_is_refused() {
    let mut rng = Rng::new(telar_tests::seed());
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for name in ["one", "other"] {
        let db = open(&at(name));
        let ledger = Ledger::new(&db, 5, 1).unwrap();
        ledger.transfer(&db, 0, 1, &mut rng).unwrap();
        backup(&db, &at(&format!("backup-{name}")), None).unwrap();
        ledger.transfer(&db, 0, 2, &mut rng).unwrap();
    }
    let logs = [at("other").join("wal")];
    let chain = [at("backup-one")];
    let error = restore_to(&chain, &at("r"), RestorePoint::Latest, &logs).unwrap_err();
    assert!(error.to_string().contains("log of another database"), "{error}");
}

#[test]
fn archive_keeps_to_its_limit() {
    let mut rng = Rng::new(telar_tests::seed());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut settings = settings();
    settings.log_archive_bytes_max = 20 << 10;
    let db = telar_engine::Engine::open(&path, settings).unwrap();
    let ledger = Ledger::new(&db, 50, 1).unwrap();
    for number in 1..1500 {
        ledger.transfer(&db, 0, number, &mut rng).unwrap();
        if number % 100 == 0 {
            db.checkpoint().unwrap();
            let bytes = db.health().log.unwrap().bytes_archived;
            assert!(bytes <= 20 << 10, "{bytes} bytes");
        }
    }
    assert!(db.health().log.unwrap().bytes_archived > 10 << 10, "it is used");
}
