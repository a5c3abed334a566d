//! Indexes on relationships, and on beginnings of strings: plans with them find what a scan finds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::{Database, Session, Value, ValueMap};

fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    let mut rows = Session::new(db).run(query, &[]).unwrap_or_else(|e| panic!("{query}: {e}")).rows;
    rows.sort();
    rows
}

fn plan(db: &Database, query: &str) -> String {
    let result = Session::new(db).run(&format!("EXPLAIN {query}"), &[]).unwrap();
    result.plan.unwrap().to_string()
}

const MAKE: [&str; 4] = [
    "UNWIND range(0, 99) AS i \
     CREATE (:N {i: i, s: ['ab', 'abc', 'b', 'é', 'a\u{d7ff}'][i % 5] + i})",
    "MATCH (a:N), (b:N) WHERE b.i = (a.i * 7 + 3) % 100 \
     CREATE (a)-[:T {i: a.i, g: a.i % 9, s: a.s}]->(b), (a)-[:U {i: a.i}]->(b)",
    "MATCH (a:N) WHERE a.i % 10 = 0 CREATE (a)-[:T {i: a.i, g: 1.0, s: 'loop'}]->(a)",
    "MATCH (a:N {i: 5}), (b:N {i: 6}) CREATE (a)-[:T]->(b), (a)-[:T {i: 'x', s: 7}]->(b), \
     (a)-[:T {i: date('2020-01-01')}]->(b), (a)-[:T {g: 1}]->(b)",
];

/// The same graph without and with indexes.
fn graphs() -> (Database, Database) {
    let (plain, indexed) =
        (telar_db::open_in_memory().unwrap(), telar_db::open_in_memory().unwrap());
    for text in MAKE {
        rows(&plain, text);
        rows(&indexed, text);
    }
    for text in [
        "CREATE INDEX ti FOR ()-[r:T]-() ON (r.i)",
        "CREATE INDEX tgs FOR ()-[r:T]-() ON (r.g, r.s)",
        "CREATE INDEX ts FOR ()-[r:T]-() ON (r.s)",
        "CREATE INDEX ns FOR (n:N) ON (n.s)",
    ] {
        rows(&indexed, text);
    }
    (plain, indexed)
}

const RETURN: &str = "RETURN a.i, b.i, r.i, r.g, r.s";

#[test]
fn seeks_find_what_scans_find() {
    let (plain, indexed) = graphs();
    for condition in [
        "r.i = 7",
        "7.0 = r.i",
        "r.i IN [1, 2, 2, null, 1.0, 'x', 500]",
        "r.i = 3 OR r.i = 4",
        "r.i > 90",
        "r.i >= 10 AND r.i < 13",
        "10 < r.i AND r.i <= 12.5",
        "r.i < 'z'",
        "r.i <= date('2021-01-01')",
        "r.i = null",
        "r.i > null",
        "r.g = 1 AND r.s = 'loop'",
        "r.s <= 'loop' AND r.g = 1",
        "r.g = 1 AND r.s STARTS WITH 'ab'",
        "r.g = 1 AND r.s > 'abc'",
        "r.s STARTS WITH 'ab'",
        "r.s STARTS WITH ''",
        "r.s STARTS WITH 'é'",
        "r.s STARTS WITH 'a\u{d7ff}'",
        "r.s STARTS WITH null",
        "r.s STARTS WITH 7",
        "r.i = 20 AND a.i = b.i",
    ] {
        for pattern in ["(a)-[r:T]->(b)", "(a)<-[r:T]-(b)", "(a)-[r:T]-(b)", "(a:N)-[r:T]->(b:N)"] {
            let query = format!("MATCH {pattern} WHERE {condition} {RETURN}");
            assert_eq!(rows(&plain, &query), rows(&indexed, &query), "{query}");
            let plan = plan(&indexed, &query);
            let ways = if pattern.ends_with("-(b)") && !pattern.contains('<') {
                "Undirected"
            } else {
                "Directed"
            };
            assert!(plan.contains(&format!("{ways}RelationshipIndexSeek")), "{query}\n{plan}");
        }
    }
}

#[test]
fn seeks_stand_beside_the_rest_of_a_pattern() {
    let (plain, indexed) = graphs();
    let mut seeks = 0;
    for query in [
        "MATCH (a)-[r:T {i: 10}]->(a) RETURN a.i, r.g",
        "MATCH (a)-[r:T {i: 10}]-(a) RETURN a.i, r.g",
        "MATCH (x)-[:U]->(a)-[r:T {i: 8}]->(b)-[s:U]-(c) RETURN x.i, a.i, b.i, c.i, s.i",
        // Two relationships of one type are not the same.
        "MATCH (a)-[r:T {i: 30}]->(b), (c)-[s:T {g: 1}]->(d) RETURN a.i, b.i, r.s, c.i, d.i, s.s",
        "MATCH (a)-[r:T {i: 30}]->(b)-[s:T]-(c) RETURN a.i, b.i, c.i, s.i, s.s",
        "UNWIND [1, 5, null, 30] AS x MATCH (a)-[r:T {i: x}]->(b) RETURN x, a.i, b.i, r.s",
        "MATCH (n:N {i: 4}) MATCH (a)-[r:T]->(b) WHERE r.i = n.i RETURN a.i, b.i",
        "MATCH (a)-[r:T {i: 4}]->(b) OPTIONAL MATCH (c)-[s:T]->(d) WHERE s.i = r.i + 1 \
         RETURN a.i, b.i, c.i, d.i",
        "MATCH (a:N {i: 4})-[r:T {i: 4}]->(b) RETURN b.i",
        "MATCH p = (a)-[r:T {i: 4}]->(b) RETURN length(p), r.i",
        "MATCH (a)-[r:T {i: 4}]->(b) WITH r, a MATCH (a)-[r]->(c) RETURN c.i",
        "MATCH (x:N {i: 3}) RETURN EXISTS { (a)-[r:T {i: 7}]->(b) WHERE b.i > x.i }",
        "MATCH (a)-[r:T|U {i: 4}]->(b) RETURN type(r), b.i",
        "MATCH (a)-[r:T* {i: 4}]->(b) RETURN b.i",
    ] {
        assert_eq!(rows(&plain, query), rows(&indexed, query), "{query}");
        assert!(!rows(&plain, query).is_empty(), "{query}");
        seeks += usize::from(plan(&indexed, query).contains("RelationshipIndexSeek"));
    }
    assert_eq!(seeks, 12);
}

/// What lacks one of its properties is not in an index.
#[test]
fn an_index_on_several_properties_is_used_where_all_are_compared() {
    let (plain, indexed) = graphs();
    for db in [&plain, &indexed] {
        rows(db, "CREATE (:M {x: 1}), (:M {x: 1, y: 2}), (:M {x: 1, y: 'a'}), (:M {y: 2})");
    }
    rows(&indexed, "CREATE INDEX mxy FOR (m:M) ON (m.x, m.y)");
    for (query, used) in [
        (format!("MATCH (a)-[r:T]->(b) WHERE r.g = 1 {RETURN}"), false),
        (format!("MATCH (a)-[r:T]->(b) WHERE r.g = 1 AND r.s <> 'b' {RETURN}"), false),
        ("MATCH (m:M {x: 1}) RETURN m.x, m.y".into(), false),
        ("MATCH (m:M) WHERE m.x >= 1 RETURN m.x, m.y".into(), false),
        ("MATCH (m:M {x: 1}) WHERE m.y > 0 RETURN m.x, m.y".into(), true),
        ("MATCH (m:M) WHERE m.x > 0 AND m.y = 2 RETURN m.x, m.y".into(), true),
        ("MATCH (m:M) WHERE m.x IN [1, 2] AND m.y STARTS WITH 'a' RETURN m.x, m.y".into(), true),
    ] {
        assert_eq!(rows(&plain, &query), rows(&indexed, &query), "{query}");
        assert_eq!(plan(&indexed, &query).contains("IndexSeek"), used, "{query}");
    }
}

#[test]
fn beginnings_of_node_properties_go_through_an_index() {
    let (plain, indexed) = graphs();
    for start in ["'ab'", "'abc'", "'é'", "''", "'a\u{d7ff}'", "'zz'", "null", "toString(1)"] {
        let query = format!("MATCH (n:N) WHERE n.s STARTS WITH {start} RETURN n.i, n.s");
        assert_eq!(rows(&plain, &query), rows(&indexed, &query), "{query}");
        let plan = plan(&indexed, &query);
        assert!(plan.contains("NodeIndexSeekByRange") && plan.contains("STARTS WITH"), "{plan}");
    }
    assert_eq!(rows(&indexed, "MATCH (n:N) WHERE n.s STARTS WITH 'ab' RETURN n").len(), 40);
}

#[test]
fn a_transaction_finds_its_own_relationships() {
    let (_, db) = graphs();
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    let mut run = |text: &str| {
        let result = transaction.run(text, &Default::default());
        result.unwrap_or_else(|e| panic!("{text}: {e}")).rows
    };
    run("MATCH ()-[r:T {i: 7}]->() DELETE r");
    run("MATCH ()-[r:T {i: 8}]->() SET r.i = 7");
    run("MATCH (a:N {i: 1}), (b:N {i: 2}) CREATE (a)-[:T {i: 7}]->(b)");
    let found = run("MATCH (a)-[r:T {i: 7}]->(b) RETURN a.i, b.i ORDER BY a.i");
    assert_eq!(found, [[Value::Int(1), Value::Int(2)], [Value::Int(8), Value::Int(59)]]);
    assert!(run("MATCH ()-[r:T {i: 8}]->() RETURN r").is_empty());
    let merged = run("MATCH (a:N {i: 1}), (b:N {i: 2}) MERGE (a)-[r:T {i: 7}]->(b) RETURN r.i");
    assert_eq!(merged, [[Value::Int(7)]]);
}

/// The start is the end of the pattern that finds less, whichever comes first.
#[test]
fn the_cheapest_start_is_chosen() {
    let db = telar_db::open_in_memory().unwrap();
    for text in [
        "UNWIND range(0, 1999) AS i CREATE (:P {i: i, c: i % 4})",
        "UNWIND range(0, 19) AS i CREATE (:Q {i: i})",
        "CREATE INDEX pc FOR (p:P) ON (p.c)",
        "CREATE INDEX pi FOR (p:P) ON (p.i)",
        "CREATE INDEX qi FOR (q:Q) ON (q.i)",
        "MATCH (p:P) MATCH (q:Q) WHERE q.i = p.i % 20 CREATE (p)-[:R {w: p.i}]->(q)",
        "MATCH (p:P) MATCH (o:P) WHERE o.i = p.i + 1 CREATE (p)-[:S {w: p.c}]->(o)",
        "CREATE INDEX rw FOR ()-[r:R]-() ON (r.w)",
        "CREATE INDEX sw FOR ()-[s:S]-() ON (s.w)",
    ] {
        rows(&db, text);
    }
    for (pattern, start) in [
        // A label with few nodes, from either side.
        ("(p:P)-[:R]->(q:Q)", "NodeByLabelScan  (q:Q)"),
        ("(q:Q)<-[:R]-(p:P)", "NodeByLabelScan  (q:Q)"),
        // One of many values, one of few.
        ("(p:P {c: 1})-[:S]->(o:P {i: 77})", "(o:P(i))"),
        ("(p:P {i: 77})-[:S]->(o:P {c: 1})", "(p:P(i))"),
        // A relationship of which there is one, and one of which there are many.
        ("(p:P)-[r:R {w: 5}]->(q:Q)", "DirectedRelationshipIndexSeek"),
        ("(p:P {i: 3})-[s:S {w: 1}]->(o)", "(p:P(i))"),
        ("(p:P {c: 2})-[r:R {w: 6}]->(q)", "DirectedRelationshipIndexSeek"),
        // The way from the start counts, too: one node of which 100 relationships come.
        ("(a:P {c: 3})-[:R]->(q:Q {i: 3})<-[:R]-(b:P {i: 43})", "(b:P(i))"),
    ] {
        let query = format!("MATCH {pattern} RETURN *");
        let plan = plan(&db, &query);
        let flat: String = plan.lines().rev().take(2).collect();
        let flat = flat.split_whitespace().collect::<Vec<_>>().join(" ");
        let wanted = start.split_whitespace().collect::<Vec<_>>();
        let mut at = 0;
        for word in wanted {
            let Some(found) = flat[at..].find(word) else { panic!("{pattern}: {start}\n{plan}") };
            at += found;
        }
    }
}

/// A relationship without parallels has no number of its own, but a place for its properties.
#[test]
fn a_transaction_does_not_find_what_it_has_deleted_one_by_one() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let create = "CREATE (a:A)-[:T {k: 1}]->(b:B), (a)-[:T {k: 1}]->(:C), \
                  (b)-[:T {k: 1}]->(a), (b)-[:T {k: 1}]->(a)";
    session.run(create, &[]).unwrap();
    session.run("CREATE INDEX FOR ()-[r:T]-() ON (r.k)", &[]).unwrap();
    let mut txn = session.begin().unwrap();
    let mut run = |text: &str| txn.run(text, &ValueMap::default()).unwrap().rows;
    let count = "MATCH ()-[r:T {k: 1}]->() RETURN count(r)";
    for left in (0..4i64).rev() {
        run("MATCH ()-[r:T {k: 1}]->() WITH r LIMIT 1 DELETE r");
        assert_eq!(run(count), [[Value::from(left)]]);
    }
}
