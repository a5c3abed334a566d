//! A database goes into a file and comes back the same.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../arrow/tests/values/mod.rs"]
#[allow(dead_code, reason = "others use the rest")]
mod values;

use std::path::Path;

use proptest::prelude::*;
use telar_db::import::import_tables;
use telar_db::{Database, Session, Value};
use telar_exchange::{Names, cypher, graphml};

fn names() -> Names {
    Names { label: "Vertex".into(), ty: "LINK".into() }
}

/// All nodes and relationships as texts.
fn shown(db: &Database) -> Vec<String> {
    let session = Session::new(db);
    let mut all = Vec::new();
    for text in [
        "MATCH (n) RETURN COLLECT { UNWIND labels(n) AS l RETURN l ORDER BY l }, properties(n)",
        "MATCH (a)-[r]->(b) RETURN properties(a), type(r), properties(r), properties(b)",
    ] {
        let rows = session.run(text, &[]).unwrap().rows;
        let mut shown: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        shown.sort();
        all.extend(shown);
    }
    all
}

fn through_graphml(db: &Database, path: &Path) -> Database {
    graphml::write(db, path).unwrap();
    let again = telar_db::open_in_memory().unwrap();
    let read = graphml::read(path, &names());
    let read = read.unwrap_or_else(|e| panic!("{e}: {}", std::fs::read_to_string(path).unwrap()));
    import_tables(&again, read.import, &|_| Ok(())).unwrap();
    again
}

fn through_cypher(db: &Database, path: &Path) -> Database {
    cypher::write(db, path).unwrap();
    let again = telar_db::open_in_memory().unwrap();
    let session = Session::new(&again);
    let text = std::fs::read_to_string(path).unwrap();
    for span in telar_db::query::cypher::split(&text) {
        let statement = &text[span.range()];
        session.run(statement, &[]).unwrap_or_else(|e| panic!("{e}: {statement}"));
    }
    again
}

const STATEMENTS: [&str; 7] = [
    "CREATE CONSTRAINT `a ``b` FOR (p:Person) REQUIRE p.id IS UNIQUE",
    "CREATE INDEX i1 FOR (n:`odd label`) ON (n.name, n.x)",
    "UNWIND range(1, 1200) AS n CREATE (:Person {id: n, name: 'p' + n, \
     at: datetime('2024-02-29T12:00:00.5+01:00[Europe/Berlin]'), day: date('-0044-03-15'), \
     t: time('12:00:00+05:30'), lt: localtime('23:59:59.999999999'), \
     ldt: localdatetime('2024-02-29T00:00'), d: duration('P1Y2M3DT4H5M6.7S'), \
     x: CASE n % 3 WHEN 0 THEN n WHEN 1 THEN n / 2.0 END, list: [n, n + 1], \
     halves: [0.5, 1.0], ones: [1.0], texts: ['a', '<&\"\\'\\n\\r\\t\\\\ ]]>'], \
     dates: [date(), date('2000-01-01')], none: [], \
     p: point({x: n, y: 1}), q: point({longitude: 8.4, latitude: 49, height: -1.5})})",
    "MATCH (p:Person) WHERE p.id % 10 = 0 SET p:`odd label`, p.`:ID` = 'taken', p.nan = 0.0 / 0.0, \
     p.inf = -1.0 / 0.0, p.least = -9223372036854775808, p.tiny = 5e-324, p.big = 1.0e300, \
     p.minus = -0.0, p.b = true",
    "CREATE (:`odd label`:`a:b`:`x``y`), ({only: ' properties \\n'}), (), \
     ({`odd \"key\" ``<` : 'new\\nline\\r\\ttab \\u00e4 \\U0001F600 &amp; <x/>'})",
    "MATCH (a:Person), (b:Person) WHERE a.id < 600 AND b.id = a.id * 2 \
     CREATE (a)-[:KNOWS {since: date(), d: duration('P1D')}]->(b), (a)-[:KNOWS {since: 1}]->(b), \
     (a)-[:`odd type: \"x\"`]->(a)",
    "MATCH (a {only: ' properties \\n'}) SET a.control = 'bell \\u0007 null \\u0000'",
];

fn graph() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in STATEMENTS {
        session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    db
}

#[test]
fn graphml_brings_back_every_value() {
    let folder = tempfile::tempdir().unwrap();
    let db = graph();
    let again = through_graphml(&db, &folder.path().join("g.graphml"));
    assert_eq!(shown(&again), shown(&db));
    let refused = graphml::write(&db, &folder.path().join("g.graphml")).unwrap_err();
    assert!(refused.message.contains("File exists"), "{refused}");
}

#[test]
fn a_script_brings_back_every_value_and_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let db = graph();
    let again = through_cypher(&db, &folder.path().join("g.cypher"));
    assert_eq!(shown(&again), shown(&db));
    let schema = |db: &Database| telar_files::folder::schema(db).unwrap();
    assert_eq!(schema(&again), schema(&db));
    assert_eq!(schema(&db).len(), 2);
}

/// A value without notation in Cypher is named, and no half of a file stays.
#[test]
fn a_script_refuses_byte_strings() {
    let folder = tempfile::tempdir().unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let bytes = Value::Bytes(vec![1, 2].into());
    session.run("CREATE (:File {data: $bytes})", &[("bytes", bytes)]).unwrap();
    let path = folder.path().join("g.cypher");
    let error = cypher::write(&db, &path).unwrap_err();
    assert!(error.message.contains("property data: a byte string has no notation"), "{error}");
    assert!(!path.exists());
    let again = through_graphml(&db, &folder.path().join("g.graphml"));
    assert_eq!(shown(&again), shown(&db));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 60 } else { 300 }))]

    /// Any value that a property can be goes through GraphML; and through Cypher if that has it.
    #[test]
    fn random_values_come_back(all in prop::collection::vec(values::any_value(), 1..12)) {
        let folder = tempfile::tempdir().unwrap();
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db);
        for (at, value) in all.into_iter().enumerate() {
            // What is no property is not taken.
            let label = ["A", "B", "A:B"][at % 3];
            let text = format!("CREATE (:{label} {{p: $v}})-[:R {{q: $v}}]->(:C)");
            _ = session.run(&text, &[("v", value)]);
        }
        let again = through_graphml(&db, &folder.path().join("g.graphml"));
        prop_assert_eq!(shown(&again), shown(&db));
        let path = folder.path().join("g.cypher");
        match cypher::write(&db, &path) {
            Ok(_) => {
                std::fs::remove_file(&path).unwrap();
                prop_assert_eq!(shown(&through_cypher(&db, &path)), shown(&db));
            }
            Err(error) => prop_assert!(error.message.contains("no notation in Cypher"), "{}", error),
        }
    }
}
