//! TEXT indexes: plans with them find what a scan finds, and are used for strings only.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::QueryResult;
use telar_db::{Database, Session, Value};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn rows(db: &Database, text: &str, p: &Value) -> Vec<Vec<Value>> {
    let run = Session::new(db).run(text, &[("p", p.clone())]);
    let mut rows = run.unwrap_or_else(|e| panic!("{text}: {e}")).rows;
    rows.sort();
    rows
}

fn plan(db: &Database, query: &str) -> String {
    run(db, &format!("EXPLAIN {query}")).plan.unwrap().to_string()
}

/// Nodes `P` and relationships `T` with an index, `Q` and `U` without.
fn database() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    run(
        &db,
        "UNWIND range(0, 299) AS i \
         WITH i, ['ab', 'abc', 'a string of more than sixteen bytes, ', 'é', 'b\u{0}a', ''][i % 6] \
              + CASE WHEN i % 2 = 0 THEN '' ELSE toString(i) END AS s \
         CREATE (n:P:Q {id: i, s: s}) CREATE (n)-[:T {id: i, s: s}]->(n), \
                (n)-[:U {id: i, s: s}]->(n)",
    );
    run(
        &db,
        "UNWIND [1, 2.5, true, ['ab'], date('2020-01-01'), point({x: 1, y: 2}), null] AS s \
         CREATE (n:P:Q {s: s}) CREATE (n)-[:T {s: s}]->(n), (n)-[:U {s: s}]->(n)",
    );
    run(&db, "CREATE TEXT INDEX ns FOR (n:P) ON (n.s)");
    run(&db, "CREATE TEXT INDEX rs FOR ()-[r:T]-() ON (r.s)");
    db
}

const PATTERNS: [(&str, &str); 3] = [
    ("MATCH (x:P)", "MATCH (x:Q) WITH x"),
    ("MATCH ()-[x:T]->()", "MATCH ()-[x:U]->()"),
    ("MATCH ()<-[x:T]-()", "MATCH ()<-[x:U]-()"),
];

#[test]
fn seeks_and_scans_of_an_index_find_what_scans_find() {
    let db = database();
    for (condition, operator) in [
        ("x.s = 'ab'", "IndexSeek "),
        ("x.s = $p", "IndexSeek "),
        ("x.s = toString(17)", "IndexSeek "),
        ("x.s IN ['ab', 'abc', 'ab', null, 'é9']", "IndexSeek "),
        ("x.s IN $p", "IndexSeek "),
        ("x.s = 'ab' OR x.s = 'abc1'", "IndexSeek "),
        ("x.s STARTS WITH 'ab'", "IndexSeekByRange"),
        ("x.s STARTS WITH $p", "IndexSeekByRange"),
        ("x.s ENDS WITH '7'", "IndexEndsWithScan"),
        ("x.s ENDS WITH $p", "IndexEndsWithScan"),
        ("x.s CONTAINS 'b\u{0}'", "IndexContainsScan"),
        ("x.s CONTAINS 'more than'", "IndexContainsScan"),
        ("x.s CONTAINS $p", "IndexContainsScan"),
        ("x.s CONTAINS 'a' AND x.s ENDS WITH '3' AND x.id > 100", "IndexEndsWithScan"),
    ] {
        for (indexed, plain) in PATTERNS {
            let [query, plain] = [indexed, plain]
                .map(|pattern| format!("{pattern} WHERE {condition} RETURN x.id, x.s"));
            let plan = plan(&db, &query);
            assert!(plan.contains(operator) && plan.contains("TEXT INDEX"), "{query}\n{plan}");
            for p in [
                Value::from("ab"),
                "".into(),
                "é".into(),
                Value::Null,
                Value::Int(1),
                Value::Float(2.5),
                Value::list(["ab", "b"]),
                Value::list([Value::from("ab"), Value::Int(1), Value::Null]),
                Value::list(["ab"]),
            ] {
                // What no list can be is an error with and without.
                if condition.contains("IN $p") && !matches!(p, Value::List(_) | Value::Null) {
                    continue;
                }
                assert_eq!(rows(&db, &query, &p), rows(&db, &plain, &p), "{query} {p:?}");
            }
        }
    }
}

#[test]
fn what_may_be_true_of_other_values_is_not_asked_of_it() {
    let db = database();
    for condition in [
        "x.s = 1",
        "x.s = x.id",
        "x.s IN ['ab', 1]",
        "x.s = 'ab' OR x.s = 1",
        "x.s > 'a'",
        "x.s IS NOT NULL",
        "NOT x.s CONTAINS 'a'",
        "x.s <> 'ab'",
        "x.s =~ 'a.*'",
        "x.s = coalesce($p, 'x')",
    ] {
        for (indexed, plain) in PATTERNS {
            let [query, plain] = [indexed, plain]
                .map(|pattern| format!("{pattern} WHERE {condition} RETURN x.id, x.s"));
            let plan = plan(&db, &query);
            assert!(!plan.contains("TEXT INDEX"), "{query}\n{plan}");
            let p = Value::from("ab");
            assert_eq!(rows(&db, &query, &p), rows(&db, &plain, &p), "{query}");
        }
    }
}

#[test]
fn range_indexes_are_preferred_for_what_both_serve() {
    let db = database();
    run(&db, "CREATE INDEX nsr FOR (n:P) ON (n.s)");
    for (condition, index) in [
        ("x.s = 'ab1'", "RANGE INDEX"),
        ("x.s STARTS WITH 'ab1'", "RANGE INDEX"),
        ("x.s CONTAINS 'ab1'", "TEXT INDEX"),
        ("x.s ENDS WITH 'ab1'", "TEXT INDEX"),
    ] {
        let of = |hint: &str| plan(&db, &format!("MATCH (x:P) {hint} WHERE {condition} RETURN x"));
        assert!(of("").contains(index), "{condition}\n{}", of(""));
        assert!(of("USING TEXT INDEX x:P(s)").contains("TEXT INDEX"), "{condition}");
    }
    let hinted = "MATCH (x:P) USING RANGE INDEX x:P(s) WHERE x.s STARTS WITH 'a' RETURN x";
    assert!(plan(&db, hinted).contains("RANGE INDEX"));
}

#[test]
fn entries_follow_what_is_written() {
    let db = database();
    let count = |text: &str| {
        let query = format!("MATCH (x:P) WHERE x.s CONTAINS '{text}' RETURN count(*)");
        assert!(plan(&db, &query).contains("TEXT INDEX"));
        run(&db, &query).rows[0][0].clone()
    };
    assert_eq!(count("new"), Value::Int(0));
    run(&db, "MATCH (x:P {id: 1}) SET x.s = 'a new one'");
    run(&db, "CREATE (:P {s: 'new, too'}), (:P {s: ['new']})");
    assert_eq!(count("new"), Value::Int(2));
    run(&db, "MATCH (x:P {id: 1}) SET x.s = 1");
    assert_eq!(count("new"), Value::Int(1));
    run(&db, "MATCH (x:P {id: 1}) SET x.s = 'new again'");
    run(&db, "MATCH (x:P) WHERE x.s = 'new, too' REMOVE x:P");
    assert_eq!(count("new"), Value::Int(1));
    run(&db, "MATCH (x:P) WHERE x.s ENDS WITH 'again' DETACH DELETE x");
    assert_eq!(count("new"), Value::Int(0));
}
