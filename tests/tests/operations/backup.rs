//! Backups under load, chains, and everything that must be refused.

use std::path::{Path, PathBuf};
use std::slice::from_ref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use telar_engine::maintenance::{RestorePoint, check};
use telar_engine::{Durability, EdgeTypeOptions, Engine, Settings};
use telar_graph::VertexId;
use telar_tests::dump::Dump;
use telar_tests::ledger::Ledger;
use telar_tests::{PrintSeed, Rng};

use super::{backup, commit, open, restore_to, settings};

const WRITERS: usize = 3;

/// Writers, checkpoints and settles go on while a chain of backups is taken; each of them restores
/// to exactly the state of its last commit.
fn under_load(settings: Settings, seed: u64) {
    let _print = PrintSeed(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = Engine::open(at("graph"), settings).unwrap();
    let ledger = Ledger::new(&db, 3000, WRITERS).unwrap();
    let rounds = if telar_tests::long() { 24 } else { 6 };
    let mut chain: Vec<PathBuf> = Vec::new();
    let stop = AtomicBool::new(false);
    let mut reached = Vec::new();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (db, ledger, stop) = (&db, &ledger, &stop);
            scope.spawn(move || {
                let mut rng = Rng::new(seed ^ writer as u64);
                let mut number = 0;
                while !stop.load(Ordering::Relaxed) {
                    number += 1;
                    ledger.transfer(db, writer, number, &mut rng).unwrap();
                }
            });
        }
        let (checkpoints, done) = (&db, &stop);
        scope.spawn(move || {
            let mut rng = Rng::new(seed);
            while !done.load(Ordering::Relaxed) {
                checkpoints.checkpoint().unwrap();
                std::thread::sleep(Duration::from_millis(rng.below(30)));
            }
        });
        for round in 0..rounds {
            std::thread::sleep(Duration::from_millis(40));
            let path = at(&format!("backup-{round}"));
            // One chain of two links after the other.
            let since = chain.last().filter(|_| round % 3 != 0).cloned();
            if since.is_none() {
                chain.clear();
            }
            let done = backup(&db, &path, since.as_deref()).unwrap();
            chain.push(path);
            reached.push((chain.clone(), done.to.get()));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(ledger.timestamps().len() > 50, "hardly anything was committed");
    for (i, (chain, to)) in reached.iter().enumerate() {
        let last = chain.last().unwrap();
        let report = check(last).unwrap();
        assert_eq!(report.findings, [], "{}", last.display());
        let target = at(&format!("restored-{i}"));
        let restored = restore_to(chain, &target, RestorePoint::Latest, &[]).unwrap();
        assert_eq!(restored.to.get(), *to);
        let report = check(&target).unwrap();
        assert_eq!(report.findings, [], "{}", target.display());
        let restored = open(&target);
        ledger.check(&restored, *to).unwrap();
        Dump::of(&restored).unwrap();
    }
}

#[test]
fn backup_under_load_restores_to_the_state_of_its_last_commit() {
    under_load(settings(), telar_tests::seed());
}

#[test]
fn backup_of_asynchronous_commits_restores_to_the_state_of_its_last_commit() {
    let mut settings = settings();
    settings.durability = Durability::Async { interval_ms: 5 };
    under_load(settings, telar_tests::seed() ^ 1);
}

#[test]
fn chain_of_incremental_backups_equals_a_full_one() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let ledger = Ledger::new(&db, 40_000, 1).unwrap();
    let mut chain = Vec::new();
    let mut number = 0;
    for round in 0..5 {
        for _ in 0..rng.below(60) {
            number += 1;
            ledger.transfer(&db, 0, number, &mut rng).unwrap();
        }
        // A backup without a checkpoint since the one before, with one, and with several.
        for _ in 0..round % 3 {
            db.checkpoint().unwrap();
            number += 1;
            ledger.transfer(&db, 0, number, &mut rng).unwrap();
        }
        let path = at(&format!("incremental-{round}"));
        backup(&db, &path, chain.last().map(PathBuf::as_path)).unwrap();
        chain.push(path);
    }
    backup(&db, &at("full"), None).unwrap();
    // In any order.
    chain.reverse();
    restore_to(&chain, &at("from-chain"), RestorePoint::Latest, &[]).unwrap();
    restore_to(&[at("full")], &at("from-full"), RestorePoint::Latest, &[]).unwrap();
    let source = Dump::of(&db).unwrap();
    assert_eq!(Dump::of(&open(&at("from-chain"))).unwrap(), source);
    assert_eq!(Dump::of(&open(&at("from-full"))).unwrap(), source);
}

/// What a backup costs is what changed, not what there is.
#[test]
fn incremental_backup_copies_what_changed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let link = db.edge_type("LINK", EdgeTypeOptions::simple()).unwrap();
    let vertices = 64 * 1024;
    let mut txn = db.begin().unwrap();
    for _ in 0..vertices {
        txn.create_vertex(&[]).unwrap();
    }
    txn.commit().unwrap();
    for first in (0..vertices).step_by(512) {
        let mut txn = db.begin().unwrap();
        for v in first..first + 512 {
            for step in [1, 7, 77] {
                let to = VertexId::from_raw((v + step) % vertices);
                txn.upsert_edge(link, VertexId::from_raw(v), to).unwrap();
            }
        }
        txn.commit().unwrap();
    }
    db.checkpoint().unwrap();
    let full = backup(&db, &at("full"), None).unwrap();
    // Nothing changed: a head and a manifest.
    let nothing = backup(&db, &at("nothing"), Some(&at("full"))).unwrap();
    assert_eq!((nothing.values, nothing.commits), (0, 0));
    assert!(nothing.bytes < 100, "{} bytes", nothing.bytes);
    // One edge within one segment: the out and the in lists of that segment.
    let mut txn = db.begin().unwrap();
    txn.upsert_edge(link, VertexId::from_raw(2050), VertexId::from_raw(2060)).unwrap();
    txn.commit().unwrap();
    let logged = backup(&db, &at("logged"), Some(&at("nothing"))).unwrap();
    assert_eq!((logged.values, logged.commits), (0, 1), "in the log, not yet in a checkpoint");
    db.checkpoint().unwrap();
    let one = backup(&db, &at("one"), Some(&at("logged"))).unwrap();
    assert_eq!(one.values, 3, "two values and the meta value");
    assert!(one.bytes * 20 < full.bytes, "{} of {}", one.bytes, full.bytes);
    let chain = ["full", "nothing", "logged", "one"].map(at);
    restore_to(&chain, &at("restored"), RestorePoint::Latest, &[]).unwrap();
    assert_eq!(Dump::of(&open(&at("restored"))).unwrap(), Dump::of(&db).unwrap());
}

fn fails<T: std::fmt::Debug>(result: Result<T, telar_engine::Error>, part: &str) {
    let error = result.unwrap_err().to_string();
    assert!(error.contains(part), "{error:?} does not say {part:?}");
}

#[test]
fn what_cannot_be_a_backup_is_refused_and_nothing_is_overwritten() {
    let seed = telar_tests::seed();
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let ledger = Ledger::new(&db, 10, 1).unwrap();
    ledger.transfer(&db, 0, 1, &mut rng).unwrap();
    backup(&db, &at("full"), None).unwrap();
    ledger.transfer(&db, 0, 2, &mut rng).unwrap();
    backup(&db, &at("second"), Some(&at("full"))).unwrap();
    backup(&db, &at("third"), Some(&at("second"))).unwrap();
    let [full, second, third] = ["full", "second", "third"].map(at);

    fails(backup(&db, &full, None), "not empty");
    fails(backup(&db, &at("x"), Some(&at("graph"))), "no file MANIFEST");
    fails(restore_to(from_ref(&second), &at("r"), RestorePoint::Latest, &[]), "no full backup");
    let gap = [full.clone(), third];
    fails(restore_to(&gap, &at("r"), RestorePoint::Latest, &[]), "not the one before it");
    let twice = [full.clone(), full.clone()];
    fails(restore_to(&twice, &at("r"), RestorePoint::Latest, &[]), "is a full backup");
    fails(restore_to(from_ref(&full), &at("r"), commit(1_000_000), &[]), "it reaches commits");
    fails(restore_to(from_ref(&full), &at("graph"), RestorePoint::Latest, &[]), "not empty");
    assert!(!at("r").exists() && !at("r.unfinished").exists(), "nothing is left behind");

    // A restored database is another one from then on.
    restore_to(from_ref(&full), &at("r"), RestorePoint::Latest, &[]).unwrap();
    let restored = open(&at("r"));
    fails(backup(&restored, &at("x"), Some(&full)), "take a full backup");
    fails(Engine::in_memory(settings()).unwrap().backup(at("x"), &Default::default()), "memory");

    // A manifest is written last: without it there is no backup.
    std::fs::remove_file(second.join("MANIFEST")).unwrap();
    let chain = [full, second];
    fails(restore_to(&chain, &at("s"), RestorePoint::Latest, &[]), "not finished");
}

/// Every byte of a backup is under a checksum.
#[test]
fn damaged_backup_is_found_by_check_and_refused_by_restore() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let ledger = Ledger::new(&db, 50, 1).unwrap();
    for number in 1..12 {
        ledger.transfer(&db, 0, number, &mut rng).unwrap();
        if number == 8 {
            db.checkpoint().unwrap();
        }
    }
    backup(&db, &at("full"), None).unwrap();
    let whole = super::files(&at("full"));
    let tries = if telar_tests::long() { 400 } else { 25 };
    for name in whole.keys() {
        for i in 0..tries {
            let mut damaged = whole.clone();
            let bytes = damaged.get_mut(name).unwrap();
            let place = rng.below(bytes.len() as u64) as usize;
            let how = match i % 5 {
                0 => {
                    bytes.truncate(place);
                    "cut"
                }
                _ => {
                    bytes[place] ^= 1 << rng.below(8);
                    "flip"
                }
            };
            assert_damaged(&damaged, &at("damaged"), &format!("{how} {place} {}", name.display()));
        }
        let mut missing = whole.clone();
        missing.remove(name);
        assert_damaged(&missing, &at("damaged"), &format!("no {}", name.display()));
    }
}

fn assert_damaged(files: &super::BTreeMap<PathBuf, Vec<u8>>, path: &Path, context: &str) {
    super::write(files, path);
    // Without its manifest it is nothing that a check could know.
    if let Ok(report) = check(path) {
        assert!(report.worst().is_some(), "{context}: not found");
    }
    let target = path.with_file_name("never");
    let restored = restore_to(&[path.to_owned()], &target, RestorePoint::Latest, &[]);
    assert!(restored.is_err(), "{context}: restored");
    assert!(!target.exists(), "{context}: left something");
}
