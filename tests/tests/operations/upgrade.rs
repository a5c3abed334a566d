//! Older formats: a database that one of them wrote is refused, upgraded, and whole.
//!
//! `tests/data/format-N` was written by the last program of format N: 45 transactions of the crash
//! tests' workload, the last ones in the log only.

use std::path::Path;

use telar_engine::maintenance::{RestorePoint, check, upgrade};
use telar_engine::{Engine, Error, ErrorKind};
use telar_tests::unit;

use super::{backup, files, open, restore_to, settings, write};

fn old(version: u32, path: &Path) {
    let name = format!("data/format-{version}");
    write(&files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name)), path);
}

#[test]
fn format_1_is_refused_until_it_is_upgraded() {
    refused_until_upgraded(1);
}

#[test]
fn format_2_is_refused_until_it_is_upgraded() {
    refused_until_upgraded(2);
}

fn refused_until_upgraded(version: u32) {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    old(version, &at("graph"));
    let before = files(&at("graph"));
    let error = Engine::open(at("graph"), settings()).unwrap_err();
    assert!(
        matches!(error, Error::OlderFormat { found, supported: 3, .. } if found == version),
        "{error}"
    );
    assert!(error.to_string().contains("telar upgrade") && error.kind() == ErrorKind::Request);
    assert_eq!(files(&at("graph")), before, "a refused opening changed something");
    let report = check(at("graph")).unwrap();
    assert_eq!(report.worst(), None, "{:#?}", report.findings);

    let done = upgrade(at("graph")).unwrap();
    assert_eq!((done.from, done.to, done.changes.len() as u32), (version, 3, 3 - version));
    let again = upgrade(at("graph")).unwrap();
    assert_eq!((again.from, again.changes.len()), (3, 0));
    assert_eq!(check(at("graph")).unwrap().worst(), None);
    let db = open(&at("graph"));
    assert_eq!(unit::verify(&db, 1).unwrap(), [45]);

    // What is new works from here on: incremental backups first of all.
    let schema = unit::Schema::new(&db, 1).unwrap();
    backup(&db, &at("full"), None).unwrap();
    schema.run(&db, 0, 46).unwrap();
    db.checkpoint().unwrap();
    schema.run(&db, 0, 47).unwrap();
    backup(&db, &at("second"), Some(&at("full"))).unwrap();
    let chain = [at("full"), at("second")];
    let restored = restore_to(&chain, &at("restored"), RestorePoint::Latest, &[]).unwrap();
    assert!(restored.time_ms.is_some(), "the commit has a time");
    assert_eq!(unit::verify(&open(&at("restored")), 1).unwrap(), [47]);
}

#[test]
fn newer_and_foreign_directories_are_not_upgraded() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    old(1, &path);
    std::fs::write(path.join("FORMAT"), "telar 77\n").unwrap();
    assert!(matches!(upgrade(&path), Err(Error::NewerFormat { found: 77, .. })));
    std::fs::write(path.join("FORMAT"), "something\n").unwrap();
    assert!(matches!(upgrade(&path), Err(Error::NotADatabase { .. })));
    assert!(matches!(upgrade(dir.path().join("nothing")), Err(Error::NotADatabase { .. })));
}

#[test]
fn interrupted_upgrade_is_done_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    old(1, &path);
    // As a crash leaves it between the identity and the format mark.
    let identity = {
        upgrade(&path).unwrap();
        std::fs::read(path.join("IDENTITY")).unwrap()
    };
    std::fs::write(path.join("FORMAT"), "telar 1\n").unwrap();
    upgrade(&path).unwrap();
    assert_eq!(std::fs::read(path.join("IDENTITY")).unwrap(), identity);
    assert_eq!(unit::verify(&open(&path), 1).unwrap(), [45]);
}
