//! Counts that the graph knows are those that a scan finds, in every state that can be read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

/// What is counted, whether the count is known, and the same counted one by one.
const COUNTS: [(&str, bool, &str); 18] = [
    ("MATCH (n) RETURN count(n)", true, "MATCH (n) RETURN n"),
    ("MATCH (n:A) RETURN count(*)", true, "MATCH (n:A) RETURN n"),
    ("MATCH (n) WHERE n:B RETURN count(n)", true, "MATCH (n:B) RETURN n"),
    ("MATCH (:None) RETURN count(*)", true, "MATCH (n:None) RETURN n"),
    ("MATCH ()-[r:R]->() RETURN count(r)", true, "MATCH ()-[r:R]->() RETURN r"),
    ("MATCH (a)<-[r:R]-(b) RETURN count(b)", true, "MATCH ()-[r:R]->() RETURN r"),
    ("MATCH ()-[r:R|S|R]->() RETURN count(*)", true, "MATCH ()-[r:R|S]->() RETURN r"),
    ("MATCH ()-->() RETURN count(*)", true, "MATCH ()-[r]->() RETURN r"),
    ("MATCH ()-[r:None]->() RETURN count(r)", true, "MATCH ()-[r:None]->() RETURN r"),
    // What the graph does not know, or is not asked.
    ("MATCH (n:A:B) RETURN count(*)", false, "MATCH (n:A:B) RETURN n"),
    ("MATCH (n:A) WHERE n.i > 3 RETURN count(*)", false, "MATCH (n:A) WHERE n.i > 3 RETURN n"),
    ("MATCH (n:A) RETURN count(n.x)", false, "MATCH (n:A) WHERE n.x IS NOT NULL RETURN n"),
    (
        "MATCH (n:A) RETURN count(DISTINCT n.g)",
        false,
        "MATCH (n:A) WHERE n.g IS NOT NULL RETURN DISTINCT n.g",
    ),
    ("MATCH ()-[r:R]-() RETURN count(r)", false, "MATCH ()-[r:R]-() RETURN r"),
    ("MATCH (:A)-[r:R]->() RETURN count(r)", false, "MATCH (:A)-[r:R]->() RETURN r"),
    ("MATCH (a)-[r:R]->(a) RETURN count(r)", false, "MATCH (a)-[r:R]->(a) RETURN r"),
    ("MATCH ()-[:R]->()-[r:R]->() RETURN count(r)", false, "MATCH ()-[:R]->()-[r:R]->() RETURN r"),
    (
        "UNWIND [1, 2] AS x MATCH (n:A) RETURN count(n)",
        false,
        "UNWIND [1, 2] AS x MATCH (n:A) RETURN n",
    ),
];

fn check(mut run: impl FnMut(&str) -> Vec<Vec<Value>>) {
    for (count, _, rows) in COUNTS {
        let wanted = run(rows).len() as i64;
        assert_eq!(run(count), [[Value::Int(wanted)]], "{count}");
    }
    let both = run("MATCH (n:A) RETURN count(*) AS x, count(n) AS y, 1 + count(n) AS z");
    let Value::Int(n) = both[0][0] else { panic!("a number") };
    assert_eq!(both, [[Value::Int(n), Value::Int(n), Value::Int(n + 1)]]);
}

const MAKE: [&str; 4] = [
    "UNWIND range(0, 2999) AS i CREATE (n:A {i: i, g: i % 7}) \
     FOREACH (x IN CASE WHEN i % 3 = 0 THEN [1] ELSE [] END | SET n:B)",
    "UNWIND range(0, 49) AS i CREATE (:B), ()",
    "MATCH (a:A) WHERE a.i % 2 = 0 CREATE (a)-[:R]->(a), (a)-[:S]->(:C)",
    "MATCH (a:A), (b:A) WHERE a.i < 30 AND b.i < 30 CREATE (a)-[:R]->(b)",
];

fn graph(settings: Settings) -> Database {
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    MAKE.iter().for_each(|text| drop(session.run(text, &[]).unwrap()));
    db
}

#[test]
fn known_counts_are_right_and_named() {
    let db = graph(Settings::default());
    let session = Session::new(&db);
    for settled in [false, true] {
        if settled {
            db.settle();
        }
        check(|text| session.run(text, &[]).unwrap().rows);
        session.run("MATCH (n:A) WHERE n.i % 11 = 0 DETACH DELETE n", &[]).unwrap();
        session.run("MATCH (n:A) WHERE n.i % 13 = 0 REMOVE n:A SET n:D", &[]).unwrap();
        check(|text| session.run(text, &[]).unwrap().rows);
    }
    for (count, known, _) in COUNTS {
        let plan = session.run(&format!("EXPLAIN {count}"), &[]).unwrap().plan.unwrap().to_string();
        assert_eq!(plan.contains("FromCountStore"), known, "{count}\n{plan}");
        assert_eq!(plan.contains("Aggregation"), !known, "{count}\n{plan}");
    }
}

#[test]
fn a_transaction_counts_what_it_wrote() {
    let db = graph(Settings::default());
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    for text in [
        "RETURN 1",
        "UNWIND range(1, 10) AS i CREATE (:A {i: -i})-[:R]->(:C)",
        "MATCH (n:A) WHERE n.i > 2900 SET n:B",
        "MATCH (a)-[r:R]->(a) DELETE r",
        "MATCH (n:A) WHERE n.i % 5 = 0 DETACH DELETE n",
    ] {
        transaction.run(text, &ValueMap::new()).unwrap();
        check(|text| transaction.run(text, &ValueMap::new()).unwrap().rows);
    }
    // Nobody else sees it.
    assert_eq!(session.run(COUNTS[1].0, &[]).unwrap().rows, [[Value::Int(3000)]]);
    transaction.commit().unwrap();
    check(|text| session.run(text, &[]).unwrap().rows);
}

#[test]
fn counts_of_the_past_are_those_of_the_past() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = graph(settings);
    let session = Session::new(&db);
    let before = db.published();
    session.run("MATCH (n:A) WHERE n.i % 4 = 0 DETACH DELETE n", &[]).unwrap();
    session.run("CREATE (:A:B {i: 1})-[:R]->(:B)", &[]).unwrap();
    db.settle();
    let nodes = |at: &str| session.run(&format!("{at}{}", COUNTS[1].0), &[]).unwrap().rows;
    let then = format!("AT TIMESTAMP {before} ");
    assert_eq!((nodes(&then), nodes("")), (vec![vec![3000.into()]], vec![vec![2251.into()]]));
    check(|text| session.run(&format!("{then}{text}"), &[]).unwrap().rows);
}

/// What a query counts before it writes is what there was before.
#[test]
fn counting_comes_before_writing() {
    let db = graph(Settings::default());
    let session = Session::new(&db);
    let text = "MATCH (n:C) WITH count(n) AS c UNWIND range(1, 3) AS i CREATE (:C {c: c}) RETURN c";
    let rows = session.run(text, &[]).unwrap().rows;
    assert_eq!(rows, vec![vec![Value::Int(1500)]; 3]);
    let text = "CREATE (:C) WITH * MATCH (n:C) RETURN count(n)";
    assert_eq!(session.run(text, &[]).unwrap().rows, [[Value::Int(1504)]]);
    let text = "CALL { MATCH (n:C) RETURN count(n) AS c } RETURN c, COUNT { MATCH (n:C) }";
    assert_eq!(session.run(text, &[]).unwrap().rows, [[Value::Int(1504), Value::Int(1504)]]);
}

#[test]
fn a_transaction_lists_labels_and_types_that_it_wrote() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let names = "CALL db.labels() YIELD label AS name RETURN name
        UNION ALL CALL db.relationshipTypes() YIELD relationshipType AS name RETURN name";
    let mut transaction = session.begin().unwrap();
    for (text, expected) in [
        ("CREATE (:New)-[:MADE]->(:New)", vec!["New", "MADE"]),
        ("MATCH (n:New) SET n:Other", vec!["New", "Other", "MADE"]),
        ("MATCH ()-[r:MADE]->() DELETE r", vec!["New", "Other"]),
    ] {
        transaction.run(text, &ValueMap::new()).unwrap();
        let rows = transaction.run(names, &ValueMap::new()).unwrap().rows;
        let expected: Vec<_> = expected.into_iter().map(|name| [Value::from(name)]).collect();
        assert_eq!(rows, expected, "{text}");
    }
    assert!(session.run(names, &[]).unwrap().rows.is_empty(), "nobody else sees it");
}
