//! Indexes and constraints in backups, restores and checks: made and dropped between backups.

use std::path::Path;

use telar_engine::ops::{RestorePoint, check, repair};
use telar_engine::{
    ConstraintKind, ConstraintSpec, Engine, Error, IndexSpec, IndexTarget, Isolation,
};
use telar_graph::Value;
use telar_tests::indexed;

use super::{backup, open, restore_to};

fn names(db: &Engine) -> Vec<String> {
    let mut names: Vec<String> = db.indexes().into_iter().map(|i| i.name).collect();
    names.sort();
    names
}

fn add_vertices(db: &Engine, range: std::ops::Range<i64>) {
    let (label, key) = (db.label("Thing").unwrap(), db.property_key("n").unwrap());
    let mut txn = db.begin_with(Isolation::Snapshot).unwrap();
    for n in range {
        let v = txn.create_vertex(&[label]).unwrap();
        txn.set_vertex_property(v, key, Value::Int(n)).unwrap();
    }
    txn.commit().unwrap();
}

fn make_index(db: &Engine, name: &str) {
    let target = IndexTarget::Vertices(db.label("Thing").unwrap());
    let properties = vec![db.property_key("n").unwrap()];
    db.create_index(IndexSpec { name: name.to_owned(), target, properties }).unwrap();
}

#[test]
fn indexes_made_and_dropped_between_backups_are_restored_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    add_vertices(&db, 0..3000);
    make_index(&db, "dropped");
    make_index(&db, "kept");
    db.checkpoint().unwrap();
    backup(&db, &at("full"), None).unwrap();

    db.drop_index(db.find_index("dropped").unwrap()).unwrap();
    add_vertices(&db, 3000..4000);
    let target = IndexTarget::Vertices(db.label("Thing").unwrap());
    let properties = vec![db.property_key("n").unwrap()];
    let (name, kind) = ("unique".to_owned(), ConstraintKind::Unique);
    db.create_constraint(ConstraintSpec { name, target, properties, kind }).unwrap();
    db.checkpoint().unwrap();
    make_index(&db, "in the log only");
    backup(&db, &at("second"), Some(&at("full"))).unwrap();

    for (chain, wanted) in [
        (vec![at("full")], vec!["dropped", "kept"]),
        (vec![at("full"), at("second")], vec!["in the log only", "kept", "unique"]),
    ] {
        let target = at(&format!("restored-{}", chain.len()));
        assert_eq!(check(chain.last().unwrap()).unwrap().findings, []);
        restore_to(&chain, &target, RestorePoint::Latest, &[]).unwrap();
        assert_eq!(check(&target).unwrap().findings, []);
        let restored = open(&target);
        assert_eq!(names(&restored), wanted);
        indexed::verify(&restored).unwrap();
    }
    db.close().unwrap();
    assert_eq!(check(at("graph")).unwrap().findings, []);
    indexed::verify(&open(&at("graph"))).unwrap();
}

/// Changes a byte in the middle of the entries of the only index.
fn damage(root: &Path) {
    let path = root.join("store/data.mdb");
    let mut bytes = std::fs::read(&path).unwrap();
    // The key of its first part, after its length; the value follows.
    let key = [9, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut found = 0;
    for at in 0..bytes.len() - 64 {
        if bytes[at..at + 11] == key {
            bytes[at + 22] ^= 1;
            found += 1;
        }
    }
    assert!(found > 0, "no part of an index in the store");
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_damaged_part_of_an_index_is_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let (graph, to) = (dir.path().join("graph"), dir.path().join("repaired"));
    let db = open(&graph);
    add_vertices(&db, 0..20);
    make_index(&db, "by n");
    db.close().unwrap();
    assert_eq!(check(&graph).unwrap().findings, []);
    damage(&graph);
    let report = check(&graph).unwrap();
    let named = report.findings.iter().any(|f| f.place.contains("part 0 of index by n"));
    assert!(named, "{:#?}", report.findings);
    let refused = repair(&graph, &to, telar_engine::ops::RepairOptions::default()).unwrap_err();
    assert!(matches!(refused, Error::NotRepairable { .. }), "{refused}");
    assert!(!to.exists());
}
