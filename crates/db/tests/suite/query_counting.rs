//! Rows that are only counted are not made, and `MATCH` clauses that follow each other are found
//! as one pattern: the answers are those of plans that take each step.
//!
//! Each query is asked twice: as it is written, and so that the short cut cannot be taken. The plan
//! of the first has to show the operator that is tested.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::plain::{database, plan, rows, tangle_edges};
use telar_db::{Database, Session, Value, ValueMap};

/// Number of times that an operator stands in a plan.
fn times(shown: &str, operator: &str) -> usize {
    shown.lines().filter(|line| line.split_whitespace().next() == Some(operator)).count()
}

/// Nodes with many relationships between them, loops and parallel ones among them, and some nodes
/// without any.
fn tangle(seed: i64) -> Database {
    let db = database(&["UNWIND range(0, 13) AS i CREATE (n:P {id: i, g: i % 3})"]);
    rows(&db, "MATCH (n:P) WHERE n.id % 4 = 1 SET n:Q");
    tangle_edges(&db, seed, 50);
    db
}

/// The count of a pattern, and the count by a node of it, are those of its rows. At least so many
/// steps are counted.
#[track_caller]
fn counts(db: &Database, pattern: &str, operator: &str, least: usize) {
    for (query, plain) in [
        (format!("{pattern} RETURN count(*)"), format!("{pattern} RETURN size(collect(1))")),
        (
            format!("{pattern} RETURN a.id, count(*)"),
            format!("{pattern} WITH a.id AS id, collect(1) AS all RETURN id, size(all)"),
        ),
        (
            format!("{pattern} WITH count(*) AS n LIMIT 1 RETURN n * 2"),
            format!("{pattern} WITH collect(1) AS all RETURN 2 * size(all)"),
        ),
    ] {
        let shown = plan(db, &query);
        assert!(times(&shown, operator) >= least, "{query}\n{shown}");
        assert_eq!(times(&plan(db, &plain), operator), 0, "{plain}");
        assert_eq!(rows(db, &query), rows(db, &plain), "{query}\n{shown}");
    }
}

#[test]
fn ends_that_must_be_other_nodes_are_counted() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        for (pattern, least) in [
            ("MATCH (a:P)-[:K]-(b)-[:K]-(c) WHERE a <> c", 1),
            ("MATCH (a:P)-[:K]->(b)-[:L]->(c:P) WHERE a <> c AND c <> b", 1),
            ("MATCH (a:P)-[:K]-(b:P), (b)-[:L]-(c:P) WHERE c <> a", 1),
            ("MATCH (a:P)-[:K]->(b)-[:L|K]-(c) WHERE c <> b", 1),
            ("MATCH (a:P)-[:K]->(b)-[:L]->(c), (b)<-[:L]-(d) WHERE c <> d AND d <> a", 1),
            ("MATCH (a:P)-[:L]->(b), (a)-[:K]->(c), (a)<-[:K]-(d) WHERE c <> d AND c <> b", 1),
        ] {
            counts(&db, pattern, "ExpandCount", least);
        }
    }
}

#[test]
fn several_ends_are_counted_together() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        counts(&db, "MATCH (a:P)-[:K]->(), (a)<-[:L]-(:Q), (a)-[:L]->()", "ExpandCount", 2);
        counts(&db, "MATCH (a:P)-[:K]-(b) MATCH (b)-[:L]->() MATCH (b)<-[:K]-()", "ExpandCount", 2);
        counts(&db, "MATCH (a:P)-[:K]-() MATCH (a)-[:K]-() MATCH (a)-[:K]-()", "ExpandCount", 3);
        // Of two that must differ, one is found.
        let shown = plan(&db, "MATCH (a:P)-[:K]->(), (a)-[:K]->() RETURN count(*)");
        assert_eq!((times(&shown, "ExpandCount"), times(&shown, "Expand")), (1, 1), "{shown}");
        counts(&db, "MATCH (a:P)-[:K]->(), (a)-[:K]->()", "ExpandCount", 1);
    }
}

#[test]
fn optional_ends_count_as_one_where_there_are_none() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        let operator = "OptionalExpandCount";
        counts(&db, "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b)", operator, 1);
        counts(&db, "MATCH (a:P) OPTIONAL MATCH (a)-[:K]-(b:Q) WHERE b <> a", operator, 1);
        counts(&db, "MATCH (a:P) OPTIONAL MATCH (a)-[:K]-(b:Missing)", operator, 1);
        let two = "OPTIONAL MATCH (a)-[:K]->() OPTIONAL MATCH (a)<-[:L]-(:Q)";
        counts(&db, &format!("MATCH (a:P)-[:L]-() {two}"), operator, 2);
        // Of a node that may be null.
        let pattern = "MATCH (a:P) OPTIONAL MATCH (a)-[:L]->(b:Q) OPTIONAL MATCH (b)-[:K]->()";
        counts(&db, pattern, operator, 1);
        // What is read is found.
        let shown = plan(&db, "MATCH (a:P) OPTIONAL MATCH (a)-[:K]->(b) RETURN count(b)");
        assert_eq!(times(&shown, operator), 0, "{shown}");
    }
}

#[test]
fn what_may_answer_otherwise_each_time_is_asked_for_every_row() {
    let db = tangle(1);
    let query = "MATCH (a:P)-[:K]->(b) MATCH (c:P) WHERE rand() < c.id RETURN count(*)";
    let shown = plan(&db, query);
    assert_eq!(times(&shown, "ExpandCount"), 0, "{shown}");
}

#[test]
fn what_cannot_be_counted_is_an_error() {
    let db = database(&["CREATE (h:H) WITH h UNWIND range(1, 1000) AS i CREATE (h)-[:T]->()"]);
    let legs = "MATCH (h)-[:T]->() ";
    let query = |times: usize| format!("MATCH (h:H) {} RETURN count(*)", legs.repeat(times));
    assert_eq!(rows(&db, &query(6)), [[Value::Int(1_000_000_000_000_000_000)]]);
    let error = Session::new(&db).run(&query(7), &[]).unwrap_err();
    assert!(error.to_string().contains("more rows than can be counted"), "{error}");
}

/// A relationship may be found by two clauses, but not twice by one.
#[test]
fn relationships_differ_within_their_clause_only() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        for (clauses, apart) in [
            (
                "MATCH (a:P)-[r:K]->(b) MATCH (b)<-[s:K]-(c)",
                "MATCH (a:P)-[r:K]->(b) WITH a, r, b MATCH (b)<-[s:K]-(c)",
            ),
            (
                "MATCH (a:P)-[r:K]-(b), (b)-[t:K]-(d) MATCH (d)-[s:K]-(a)",
                "MATCH (a:P)-[r:K]-(b), (b)-[t:K]-(d) WITH a, b, d MATCH (d)-[s:K]-(a)",
            ),
            (
                "MATCH (a:P) MATCH (a)-[:K]->(b:Q) MATCH (b)-[:L]-(c), (c)-[:L]-(d) \
                 WHERE a.g = d.g",
                "MATCH (a:P) WITH a MATCH (a)-[:K]->(b:Q) WITH a, b MATCH (b)-[:L]-(c), \
                 (c)-[:L]-(d) WHERE a.g = d.g",
            ),
        ] {
            for tail in ["RETURN count(*)", "RETURN a.id, b.id", "RETURN DISTINCT a.id, b.g"] {
                let (query, plain) = (format!("{clauses} {tail}"), format!("{apart} {tail}"));
                assert_eq!(rows(&db, &query), rows(&db, &plain), "{query}\n{}", plan(&db, &query));
            }
        }
    }
}

/// A later clause is looked at first where that is cheaper.
#[test]
fn clauses_that_follow_each_other_are_one_pattern() {
    let db = database(&[
        "CREATE INDEX FOR (n:N) ON (n.i)",
        "UNWIND range(0, 999) AS i CREATE (:N {i: i})",
        "MATCH (a:N), (b:N) WHERE b.i = a.i + 1 CREATE (a)-[:T]->(b)",
        "CALL db.awaitIndexes(60)",
    ]);
    let query = "MATCH (a:N) MATCH (a)-[:T]->(b) MATCH (b)-[:T]->(c:N {i: 7}) RETURN a.i, b.i";
    let shown = plan(&db, query);
    assert_eq!(times(&shown, "NodeByLabelScan"), 0, "{shown}");
    assert_eq!(times(&shown, "NodeIndexSeek"), 1, "{shown}");
    assert_eq!(rows(&db, query), [[Value::Int(5), Value::Int(6)]]);
    // A condition that may fail is not asked for other rows than before.
    let query = "MATCH (a:N {i: 7}) MATCH (a)-[:T]->(b) WHERE 1 / (b.i - 5) < 2 RETURN b.i";
    assert_eq!(rows(&db, query), [[Value::Int(8)]]);
}

/// Writes of a transaction are counted, too.
#[test]
fn ends_are_counted_as_the_transaction_sees_them() {
    let db = tangle(4);
    let session = Session::new(&db);
    let (mut transaction, none) = (session.begin().unwrap(), ValueMap::new());
    for write in [
        "MATCH (a:P {id: 1}), (b:P {id: 2}) CREATE (a)-[:K]->(b), (b)-[:K]->(b), (a)-[:K]->(b)",
        "MATCH (n:P {id: 3}) DETACH DELETE n",
        "MATCH (n:Q {id: 5}) REMOVE n:Q",
    ] {
        transaction.run(write, &none).unwrap();
    }
    for pattern in [
        "MATCH (a:P)-[:K]-(b)-[:K]-(c) WHERE a <> c",
        "MATCH (a:P) OPTIONAL MATCH (a)-[:K]-(b:Q) WHERE b <> a OPTIONAL MATCH (a)-[:L]->()",
        "MATCH (a:P)-[:K]-(b) MATCH (b)-[:K]-(:Q) MATCH (b)<-[:K]-()",
    ] {
        let mut ask = |tail: &str| transaction.run(&format!("{pattern} {tail}"), &none).unwrap();
        let (counted, plain) = (ask("RETURN count(*)"), ask("RETURN size(collect(1))"));
        assert_eq!(counted.rows, plain.rows, "{pattern}");
    }
    transaction.rollback();
}
