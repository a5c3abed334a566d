//! Databases of all kinds of content, reordered.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

use telar_graph::Value;
use tempfile::TempDir;

use super::*;
use crate::Session;

/// Runs statements, and returns the rows of the last.
fn run(db: &Engine, statements: &[&str]) -> Vec<Vec<Value>> {
    let session = Session::new(db);
    let mut rows = Vec::new();
    for text in statements {
        rows = session.run(text, &[]).map_err(|e| format!("{text}: {e}")).unwrap().rows;
    }
    rows
}

/// Closed databases of all kinds of content, in a folder.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn source(&self, fill: impl FnOnce(&Engine)) -> PathBuf {
        let path = self.at("source");
        let db = crate::open(&path).unwrap();
        fill(&db);
        db.close().unwrap();
        path
    }
}

const FILL: &[&str] = &[
    "CREATE CONSTRAINT person_id FOR (p:Person) REQUIRE p.id IS UNIQUE",
    "CREATE CONSTRAINT knows_since FOR ()-[k:KNOWS]-() REQUIRE k.since IS NOT NULL",
    "CREATE INDEX by_name FOR (p:Person) ON (p.name)",
    "CREATE TEXT INDEX by_text FOR (p:Person) ON (p.name)",
    "CREATE POINT INDEX by_place FOR (c:City) ON (c.place)",
    "CREATE INDEX by_since FOR ()-[k:KNOWS]-() ON (k.since)",
    "UNWIND range(0, 299) AS i CREATE (:Person {id: i, name: 'name ' + (i * 7919 % 300)})",
    "UNWIND range(0, 19) AS i CREATE (:City:Place {id: 1000 + i, place: point({x: i, y: 1.5}),
         tags: ['a', toString(i)], odd: CASE i % 2 WHEN 0 THEN i ELSE 'text' END})",
    "CREATE (:Unused {gone: 1})",
    "MATCH (u:Unused) DELETE u",
    "UNWIND range(0, 1499) AS i
     MATCH (a:Person {id: i * 31 % 300}), (b:Person {id: (i * 31 + i * i) % 300})
     CREATE (a)-[:KNOWS {since: i % 40, weight: i / 4.0}]->(b)",
    "MATCH (a:Person {id: 5}) CREATE (a)-[:KNOWS {since: 1}]->(a), (a)-[:KNOWS {since: 2}]->(a)",
    "MATCH (a:Person), (c:City) WHERE a.id % 20 = c.id - 1000 CREATE (a)-[:LIVES_IN]->(c)",
    "MATCH (p:Person) WHERE p.id % 10 = 3 DETACH DELETE p",
];

/// Rows that do not show ids, in an order of their own.
const ASKED: &[&str] = &[
    "MATCH (n) RETURN n.id, labels(n), properties(n) ORDER BY n.id",
    "MATCH (a)-[r]->(b) RETURN a.id AS a, type(r) AS t, b.id AS b, properties(r) AS p
     ORDER BY a, t, b, p.since, p.weight",
    "MATCH (p:Person {name: 'name 77'}) RETURN p.id",
    "MATCH (p:Person) WHERE p.name CONTAINS 'e 12' RETURN p.id ORDER BY p.id",
    "MATCH (c:City) WHERE point.withinBBox(c.place, point({x: 2, y: 0}), point({x: 4, y: 2}))
     RETURN c.id ORDER BY c.id",
    "MATCH (a)-[k:KNOWS]->(b) WHERE k.since = 7 RETURN a.id AS a, b.id AS b, k.weight AS w
     ORDER BY a, b, w",
    "SHOW INDEXES YIELD name, type, state RETURN name, type, state ORDER BY name",
    "SHOW CONSTRAINTS YIELD name, type RETURN name, type ORDER BY name",
    "CALL db.labels() YIELD label RETURN label",
    "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey",
    "CALL db.relationshipTypes() YIELD relationshipType RETURN relationshipType",
];

fn answers(path: &Path) -> Vec<Vec<Vec<Value>>> {
    let db = crate::open(path).unwrap();
    ASKED.iter().map(|text| run(&db, &[text])).collect()
}

#[test]
fn every_order_gives_the_same_answers() {
    let folder = Folder::new();
    let source = folder.source(|db| drop(run(db, FILL)));
    let expected = answers(&source);
    assert!(expected[1].len() > 1500 && expected[6].len() >= 5, "{}", expected[1].len());
    for method in Method::ALL {
        let target = folder.at(method.name());
        let stages = std::cell::RefCell::new(Vec::new());
        let progress = |p: ImportProgress| {
            assert!(p.done <= p.total, "{p:?}");
            stages.borrow_mut().push(p.stage);
        };
        let done = reorder(&source, &target, &ReorderOptions::new(method), &progress).unwrap();
        assert_eq!((done.vertices, done.edges, done.indexes), (290, expected[1].len() as u64, 6));
        stages.borrow_mut().dedup();
        assert_eq!(stages.borrow().last(), Some(&ImportStage::Verifying));
        assert_eq!(answers(&target), expected, "{method}");
        assert!(!folder.at(&format!("{method}.unfinished")).exists());
        let db = crate::open(&target).unwrap();
        // Constraints hold for what comes.
        let session = Session::new(&db);
        assert!(session.run("CREATE (:Person {id: 8})", &[]).is_err());
        let broken = "MATCH (a:Person {id: 1}), (b:City {id: 1001}) CREATE (a)-[:KNOWS]->(b)";
        assert!(session.run(broken, &[]).is_err());
        run(&db, &["CREATE (:Person {id: 3})"]);
        drop(session);
        db.close().unwrap();
        assert_eq!(telar_engine::maintenance::check(&target).unwrap().worst(), None);
    }
    assert_eq!(answers(&source), expected);
}

#[test]
fn vertices_stand_in_the_order_asked_for() {
    let folder = Folder::new();
    let chain =
        "UNWIND range(0, 98) AS i MATCH (a:P {id: i * 37 % 100}), (b:P {id: (i + 1) * 37 % 100})
                 CREATE (a)-[:NEXT]->(b)";
    let source = folder.source(|db| {
        run(db, &["UNWIND range(0, 99) AS i CREATE (:P {id: i})", chain]);
    });
    let target = folder.at("target");
    reorder(&source, &target, &ReorderOptions::new(Method::Rcm), &|_| {}).unwrap();
    let db = crate::open(&target).unwrap();
    let next = db.find_edge_type("NEXT").unwrap();
    let reader = db.reader().unwrap();
    for v in 0..100 {
        let v = telar_graph::VertexId::from_raw(v);
        for edge in reader.edges(v, next, telar_graph::Direction::Out) {
            assert_eq!(edge.src.get().abs_diff(edge.dst.get()), 1);
        }
    }
}

#[test]
fn types_ordered_by_a_property_and_simple_ones_are_kept() {
    let folder = Folder::new();
    let source = folder.source(|db| {
        let time = db.property_key("time").unwrap();
        let posted = db.edge_type("POSTED", EdgeTypeOptions::newest_first(time)).unwrap();
        let likes = db.edge_type("LIKES", EdgeTypeOptions::simple()).unwrap();
        db.write(telar_engine::Isolation::Snapshot, |txn| -> Result<(), Error> {
            let all: Vec<_> = (0..40).map(|_| txn.create_vertex(&[])).collect::<Result<_, _>>()?;
            for at in 0..5000usize {
                let (from, to) = (all[at % 40], all[at * at % 40]);
                let properties = [(time, Value::Int((at * 7 % 1000) as i64))];
                txn.create_edge(posted, from, to, &properties)?;
                txn.upsert_edge(likes, from, to)?;
            }
            Ok(())
        })
        .unwrap();
    });
    let target = folder.at("target");
    let done = reorder(&source, &target, &ReorderOptions::new(Method::Degree), &|_| {}).unwrap();
    assert!(done.edges > 5000 && done.properties == 5000, "{done:?}");
    let (old, new) = (crate::open(&source).unwrap(), crate::open(&target).unwrap());
    let options = |db: &Engine| {
        let mut types = db.edge_types();
        types.sort_by(|a, b| a.0.cmp(&b.0));
        types
    };
    assert_eq!(options(&old), options(&new));
}

#[test]
fn an_empty_database_and_one_vertex_can_be_reordered() {
    for vertices in [0, 1] {
        let folder = Folder::new();
        let source = folder.source(|db| {
            db.label("Known").unwrap();
            (0..vertices).for_each(|_| drop(run(db, &["CREATE (:One {x: 1})-[:SELF]->()"])));
            run(db, &["MATCH (n) WHERE n.x IS NULL DETACH DELETE n"]);
        });
        for method in Method::ALL {
            let target = folder.at(method.name());
            let done = reorder(&source, &target, &ReorderOptions::new(method), &|_| {}).unwrap();
            assert_eq!((done.vertices, done.edges), (vertices, 0), "{method}");
            let db = crate::open(&target).unwrap();
            assert!(db.find_label("Known").is_some());
            assert_eq!(run(&db, &["MATCH (n) RETURN n"]).len() as u64, vertices);
        }
    }
}

#[test]
fn open_databases_and_taken_targets_are_refused() {
    let folder = Folder::new();
    let source = folder.source(|db| drop(run(db, &["CREATE (:A)"])));
    let options = ReorderOptions::new(Method::Bfs);
    let go = |to: &str| reorder(&source, &folder.at(to), &options, &|_| {});
    let open = crate::open(&source).unwrap();
    assert!(matches!(go("target"), Err(ReorderError::Engine(Error::Locked { .. }))));
    drop(open);
    assert!(!folder.at("target").exists() && !folder.at("target.unfinished").exists());
    assert!(matches!(go("source"), Err(ReorderError::Engine(Error::TargetExists { .. }))));
    std::fs::create_dir(folder.at("target.unfinished")).unwrap();
    assert!(matches!(go("target"), Err(ReorderError::Engine(Error::TargetExists { .. }))));
    let nothing = reorder(&folder.at("none"), &folder.at("new"), &options, &|_| {});
    assert!(nothing.is_err() && !folder.at("new").exists() && !folder.at("none").exists());
}

#[test]
fn a_copy_that_differs_is_noticed() {
    let changes = [
        "MATCH (p:Person {id: 8}) SET p.name = 'other'",
        "MATCH (p:Person {id: 8}) SET p:More",
        "MATCH (:Person {id: 8})-[k:KNOWS]->() WITH k LIMIT 1 SET k.weight = 1",
        "MATCH (:Person {id: 8})-[k:KNOWS]->() WITH k LIMIT 1 DELETE k",
        "MATCH (a:Person {id: 8}), (b:City {id: 1003}) CREATE (a)-[:LIVES_IN]->(b)",
        "CREATE (:Person {id: 3})",
        "DROP INDEX by_name",
    ];
    for change in changes {
        let folder = Folder::new();
        let source = folder.source(|db| drop(run(db, FILL)));
        let target = folder.at("target");
        let options = ReorderOptions::new(Method::Community);
        reorder(&source, &target, &options, &|_| {}).unwrap();
        let (old, new) = (crate::open(&source).unwrap(), crate::open(&target).unwrap());
        let names = Names::of(&old);
        let reader = old.reader().unwrap();
        let numbering = Numbering::new(&reader, &names, &options, &|_, _, _| {}).unwrap();
        let compare = || {
            let made = new.reader().unwrap();
            verify::verify((&old, &reader), (&new, &made), &names, &numbering, &|_, _, _| {})
        };
        compare().unwrap();
        run(&new, &[change]);
        assert!(matches!(compare(), Err(ReorderError::Differs(_))), "{change}");
    }
}
