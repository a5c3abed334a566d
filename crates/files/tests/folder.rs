//! A database goes into a folder and comes back the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../arrow/tests/values/mod.rs"]
mod values;

use proptest::prelude::*;
use telar_db::query::FileFormat;
use telar_db::{Database, EdgeTypeOptions, Session, Value};
use telar_files::folder::{export, import, is_export};

/// All of a database as texts: nodes and relationships with a number of the node that names it.
fn shown(db: &Database) -> Vec<String> {
    let session = Session::new(db);
    let mut all = Vec::new();
    for text in [
        "MATCH (n) RETURN labels(n), properties(n)",
        "MATCH (a)-[r]->(b) RETURN properties(a), type(r), properties(r), properties(b)",
        "SHOW CONSTRAINTS YIELD createStatement",
        "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, owningConstraint",
        "CALL db.labels() YIELD label",
        "CALL db.relationshipTypes() YIELD relationshipType",
    ] {
        let rows = session.run(text, &[]).unwrap().rows;
        let mut shown: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        shown.sort();
        all.extend(shown);
    }
    all
}

fn check(db: &Database, format: FileFormat) {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("export");
    let out = export(db, &folder, format, &|_| {}).unwrap();
    assert!(is_export(&folder) && !is_export(around.path()));
    let again = telar_db::open_in_memory().unwrap();
    let back = import(&again, &folder, &|_| {}).unwrap();
    assert_eq!(shown(&again), shown(db));
    let counts = |c: telar_files::folder::Contents| (c.vertices, c.edges, c.properties, c.rules);
    assert_eq!(counts(back), counts(out));
    let error = export(db, &folder, format, &|_| {}).unwrap_err();
    assert!(error.message.contains("File exists"), "{error}");
    if out.vertices > 0 {
        let error = import(&again, &folder, &|_| {}).unwrap_err();
        assert!(error.message.contains("a database without nodes"), "{error}");
    }
}

fn graph() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    db.edge_type("ONCE", EdgeTypeOptions::simple()).unwrap();
    let session = Session::new(&db);
    for text in [
        "CREATE CONSTRAINT `a ``b` FOR (p:Person) REQUIRE p.id IS UNIQUE",
        "CREATE CONSTRAINT c2 FOR ()-[r:KNOWS]-() REQUIRE r.since IS NOT NULL",
        "CREATE INDEX i1 FOR (n:`odd label`) ON (n.name, n.x)",
        "CREATE TEXT INDEX i2 FOR (n:Person) ON (n.name)",
        "UNWIND range(1, 100) AS n CREATE (:Person {id: n, name: 'p' + n, at: datetime(), \
         x: CASE n % 3 WHEN 0 THEN n WHEN 1 THEN n / 2.0 END, list: [n, n + 1], \
         p: point({x: n, y: 1})})",
        "MATCH (p:Person) WHERE p.id % 10 = 0 SET p:`odd label`, p.`:ID` = 'taken'",
        "CREATE (:`odd label`), ({only: 'properties'}), ()",
        "MATCH (a:Person), (b:Person) WHERE a.id < 20 AND b.id = a.id * 2 \
         CREATE (a)-[:KNOWS {since: date(), d: duration('P1D')}]->(b), \
         (a)-[:KNOWS {since: 1}]->(b), \
         (a)-[:PLAIN]->(a)",
        "MATCH (a:Person {id: 1}), (b:Person {id: 2}) CREATE (a)-[:ONCE]->(b)",
        "CREATE (:Gone)-[:LEFT]->(:Gone)",
        "MATCH (n:Gone) DETACH DELETE n",
    ] {
        session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    db
}

#[test]
fn a_database_comes_back_the_same() {
    for format in [FileFormat::Parquet, FileFormat::Arrow, FileFormat::Json] {
        check(&graph(), format);
        check(&telar_db::open_in_memory().unwrap(), format);
    }
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("csv");
    export(&graph(), &folder, FileFormat::Csv, &|_| {}).unwrap();
    let error = import(&telar_db::open_in_memory().unwrap(), &folder, &|_| {}).unwrap_err();
    assert!(error.message.contains("CSV is for other programs"), "{error}");
}

#[test]
fn what_is_missing_is_named_and_nothing_comes_in() {
    let around = tempfile::tempdir().unwrap();
    let folder = around.path().join("export");
    export(&graph(), &folder, FileFormat::Parquet, &|_| {}).unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let lost = folder.join("relationships-1.parquet");
    let lost = if lost.exists() { lost } else { panic!("{lost:?}") };
    std::fs::remove_file(folder.join("relationships-2.parquet")).unwrap();
    let error = import(&db, &folder, &|_| {}).unwrap_err();
    assert!(error.message.starts_with("relationships-2.parquet: "), "{error}");
    drop(lost);
    std::fs::write(folder.join("schema.json"), "{\"telar\": 9}").unwrap();
    let error = import(&db, &folder, &|_| {}).unwrap_err();
    assert!(error.message.contains("is of another version"), "{error}");
    let count = Session::new(&db).run("MATCH (n) RETURN count(n)", &[]).unwrap();
    assert_eq!(count.rows, [[Value::Int(0)]]);
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(40)
    })]

    #[test]
    fn values_of_every_type_come_back(
        first in values::rows(6),
        second in values::rows(6),
        json: bool,
    ) {
        let db = telar_db::open_in_memory().unwrap();
        let (a, b) = (db.property_key("a").unwrap(), db.property_key("b").unwrap());
        let ty = db.edge_type("T", EdgeTypeOptions::general()).unwrap();
        let label = db.label("L").unwrap();
        let mut txn = db.begin().unwrap();
        for (one, other) in first.iter().zip(&second) {
            let vertex = txn.create_vertex(&[label]).unwrap();
            txn.set_vertex_property(vertex, a, one.clone()).unwrap();
            let values = [(b, other.clone())];
            let values = if other.is_null() { &[][..] } else { &values };
            txn.create_edge(ty, vertex, vertex, values).unwrap();
        }
        txn.commit().unwrap();
        let around = tempfile::tempdir().unwrap();
        let folder = around.path().join("export");
        let format = if json { FileFormat::Json } else { FileFormat::Parquet };
        export(&db, &folder, format, &|_| {}).unwrap();
        let again = telar_db::open_in_memory().unwrap();
        import(&again, &folder, &|_| {}).unwrap();
        let text = "MATCH (n:L)-[r:T]->(n) RETURN n.a, r.b ORDER BY id(n)";
        let read = |db: &Database| Session::new(db).run(text, &[]).unwrap().rows;
        for (found, expected) in read(&again).iter().flatten().zip(read(&db).iter().flatten()) {
            prop_assert!(values::same(found, expected), "{found:?} is not {expected:?}");
        }
    }
}
