//! `check` finds every injected corruption, says where it is, and goes on after the first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use telar_engine::maintenance::{CheckReport, Severity, check};
use telar_tests::dump::Dump;
use telar_tests::unit::Schema;
use telar_tests::{PrintSeed, Rng};

use super::{files, open, write};

type Files = BTreeMap<PathBuf, Vec<u8>>;

const STORE: &str = "store/data.mdb";

/// A database with a checkpoint, several log files after it, an archive, and everything that the
/// crash tests write. Closed, or as a crash leaves it.
fn made(dir: &Path, close: bool) -> (Files, Dump) {
    let mut settings = super::settings();
    settings.log_archive_bytes_max = 1 << 20;
    let db = telar_engine::Engine::open(dir, settings).unwrap();
    let schema = Schema::new(&db, 1).unwrap();
    (1..=60).for_each(|n| schema.run(&db, 0, n).unwrap());
    db.checkpoint().unwrap();
    (61..=150).for_each(|n| schema.run(&db, 0, n).unwrap());
    let dump = Dump::of(&db).unwrap();
    if close {
        db.close().unwrap()
    } else {
        drop(db)
    }
    (files(dir), dump)
}

fn checked(files: &Files, path: &Path) -> CheckReport {
    write(files, path);
    let report = check(path).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(super::files(path), *files, "a check changed something");
    report
}

/// Bits flipped and files cut, everywhere: each is found, or changes nothing that anyone can see.
fn every_corruption(close: bool) {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let (whole, dump) = made(&dir.path().join("graph"), close);
    let path = dir.path().join("damaged");
    let sound = checked(&whole, &path);
    assert_eq!(sound.worst(), None, "{:#?}", sound.findings);
    assert!(sound.values > 10 && sound.edges > 100 && sound.records > 50, "{sound:?}");
    let folders: Vec<&str> = whole.keys().map(|k| k.to_str().unwrap()).collect();
    assert!(folders.iter().any(|f| f.starts_with("archive/")), "{folders:?}");
    let tries = if telar_tests::long() { 4000 } else { 60 };
    let last_log = whole.keys().rfind(|f| f.starts_with("wal")).unwrap();
    let mut harmless = 0;
    for (name, bytes) in &whole {
        for i in 0..tries.min(bytes.len() * 9) {
            let mut damaged = whole.clone();
            let place = rng.below(bytes.len() as u64) as usize;
            let changed = damaged.get_mut(name).unwrap();
            let how = if i % 8 == 7 {
                changed.truncate(place);
                "cut at"
            } else {
                // Page headers of the store are what values' checksums do not cover.
                let place = if i % 2 == 0 && *name == Path::new(STORE) {
                    place / 4096 * 4096 + place % 96
                } else {
                    place
                };
                changed[place] ^= 1 << rng.below(8);
                "flip at"
            };
            let report = checked(&damaged, &path);
            if report.worst().is_some() {
                continue;
            }
            let context = format!("{} {how} {place} of {}", name.display(), bytes.len());
            if !close && name == last_log && how == "cut at" {
                // Cut between two records: as if the last commits had never been (a documented
                // limit; of a closed database the lock file says where its log ends).
                continue;
            }
            let may_be = [STORE, "LOCK"].iter().any(|n| name == Path::new(n));
            assert!(may_be, "{context}: not found");
            // Unused parts of pages, counts that nobody reads, the older meta page; the number of
            // the process that had the lock.
            assert_eq!(
                Dump::of(&open(&path)).unwrap(),
                dump,
                "{context}: neither found nor harmless"
            );
            harmless += 1;
        }
    }
    println!("{harmless} changes of the store were harmless");
}

#[test]
fn check_finds_every_corruption_of_a_closed_database() {
    every_corruption(true);
}

#[test]
fn check_finds_every_corruption_after_a_crash() {
    every_corruption(false);
}

/// Where each value of the store is, by its bytes: a value is its checksum and what it covers.
fn value_at(store: &[u8], body: &[u8]) -> usize {
    store.windows(body.len()).position(|w| w == body).unwrap()
}

#[test]
fn each_class_of_damage_is_found_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, _) = made(&dir.path().join("graph"), false);
    let path = dir.path().join("damaged");
    let first_log = whole.keys().find(|f| f.starts_with("wal")).unwrap().clone();
    let last_log = whole.keys().rfind(|f| f.starts_with("wal")).unwrap().clone();
    assert_ne!(first_log, last_log);
    let archived = whole.keys().find(|f| f.starts_with("archive")).unwrap().clone();
    let store = PathBuf::from(STORE);
    let pages = whole[&store].len() / 4096;
    // The names stand in the meta value only.
    let in_meta = value_at(&whole[&store], b"SIMPLE");
    let flips: [(&Path, usize, &str, &str); 10] = [
        (Path::new("FORMAT"), 7, "FORMAT", "not one of ours"),
        (Path::new("FORMAT"), 1, "FORMAT", "not one of ours"),
        (Path::new("IDENTITY"), 40, "IDENTITY", "checksum"),
        (Path::new("LOCK"), 1, "LOCK", "not one of ours"),
        (&first_log, 3, "wal", "TELARWAL"),
        (&first_log, 20, "wal", "checksum of its header"),
        (&first_log, 60, "wal", "checksum of a record"),
        (&archived, 60, "archive", "checksum of a record"),
        (&store, 16, "store", "magic number"),
        (&store, in_meta, "store", "checksum"),
    ];
    for (name, place, file, what) in flips {
        let mut damaged = whole.clone();
        damaged.get_mut(name).unwrap()[place] ^= 0x10;
        let report = checked(&damaged, &path);
        let found = report.findings.iter().any(|f| {
            f.severity > Severity::Note && f.file.starts_with(file) && f.what.contains(what)
        });
        assert!(found, "{} at {place}: {:#?}", name.display(), report.findings);
    }
    // Leaf pages; some are of the snapshot before, and free.
    let is_leaf = |p: &usize| whole[&store][p * 4096 + 10] == 2;
    let found = (2..pages).filter(is_leaf).filter(|leaf| {
        let mut damaged = whole.clone();
        damaged.get_mut(&store).unwrap()[leaf * 4096 + 15] ^= 0x10;
        checked(&damaged, &path).findings.iter().any(|f| f.what.contains("free space"))
    });
    assert!(found.count() > 0, "no leaf page is in use");
    // Missing files; of the last log nothing says that it was there, unless it was closed.
    for name in whole.keys().filter(|n| **n != last_log && !n.starts_with("archive")) {
        let mut damaged = whole.clone();
        damaged.remove(name);
        let report = checked(&damaged, &path);
        let about = report.findings.iter().any(|f| f.what.contains("missing"));
        assert!(about, "{}: {:#?}", name.display(), report.findings);
        assert_eq!(report.worst().is_none(), name == Path::new("LOCK"), "{}", name.display());
    }
    let (closed, _) = made(&dir.path().join("closed"), true);
    let last_log = closed.keys().rfind(|f| f.starts_with("wal")).unwrap().clone();
    let mut damaged = closed.clone();
    damaged.remove(&last_log);
    assert_eq!(checked(&damaged, &path).worst(), Some(Severity::Damage));
}

#[test]
fn check_goes_on_after_a_finding() {
    let dir = tempfile::tempdir().unwrap();
    let (whole, _) = made(&dir.path().join("graph"), false);
    let mut damaged = whole.clone();
    let logs: Vec<PathBuf> = whole.keys().filter(|f| f.starts_with("wal")).cloned().collect();
    damaged.get_mut(Path::new("FORMAT")).unwrap()[0] ^= 1;
    damaged.get_mut(Path::new("IDENTITY")).unwrap()[0] ^= 1;
    damaged.get_mut(&logs[0]).unwrap()[100] ^= 1;
    damaged.get_mut(&logs[0]).unwrap()[1200] ^= 1;
    damaged.get_mut(&logs[1]).unwrap()[1500] ^= 1;
    let store = damaged.get_mut(Path::new(STORE)).unwrap();
    let overflow = |p: &usize| store[p * 4096 + 10] == 4;
    let runs: Vec<usize> = (2..store.len() / 4096).filter(overflow).collect();
    for page in [runs[0], runs[runs.len() / 2]] {
        store[page * 4096 + 1000] ^= 1;
    }
    let report = checked(&damaged, &dir.path().join("damaged"));
    let of = |file: &str| report.findings.iter().filter(|f| f.file.starts_with(file)).count();
    assert_eq!((of("FORMAT"), of("IDENTITY")), (1, 1), "{:#?}", report.findings);
    assert_eq!((of("wal"), of("store")), (3, 2), "{:#?}", report.findings);
    for finding in &report.findings {
        assert!(!finding.advice.is_empty() && !finding.place.is_empty());
    }
}
