//! Algorithms on graphs where they could go wrong: terminated, long chains, parts of a graph.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::algorithm_cases;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use algorithm_cases::{CASES, GRAPH};
use telar_db::query::budget::Budget;
use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Session, Value};

fn database() -> Database {
    telar_db::open_in_memory().unwrap()
}

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

fn integers(rows: &[Vec<Value>]) -> Vec<i64> {
    let of = |row: &Vec<Value>| match row[0] {
        Value::Int(number) => number,
        _ => panic!("{row:?}"),
    };
    rows.iter().map(of).collect()
}

fn one(session: &Session, text: &str) -> Value {
    rows(session, text).remove(0).remove(0)
}

#[test]
fn every_algorithm_ends_when_its_statement_is_terminated() {
    let db = database();
    let session = Session::new(&db);
    session.run("CREATE RANGE INDEX FOR (p:P) ON (p.i)", &[]).unwrap();
    let nodes = "UNWIND range(0, 19999) AS i CREATE (:P {i: i, lat: i % 90, lon: i % 180, \
                 group: i % 7, vec: [i % 13, i % 17, 1]})";
    session.run(nodes, &[]).unwrap();
    // From a node to one with a greater number: there is no cycle.
    let link = "UNWIND range(0, 19000) AS i MATCH (a:P {i: i}), (b:P {i: i + 1 + i * $k % 997}) \
                CREATE (a)-[:K {w: 1 + i % 5}]->(b)";
    for k in 1..=5 {
        session.run(link, &[("k", Value::Int(k * 7))]).unwrap();
    }
    for case in CASES {
        let set = case.settings.replace("; ", ", ").replace("$a", "0").replace("$d", "19000");
        let text = format!("CALL algo.{}({{relationships: 'K'}}, {{{set}}})", case.name);
        for before in [true, false] {
            let cancelled = Arc::new(AtomicBool::new(before));
            let limits = Limits { cancelled: Some(Arc::clone(&cancelled)), ..Limits::default() };
            let session = Session::new(&db).with_limits(limits);
            let ended = std::thread::scope(|scope| {
                scope.spawn(|| {
                    std::thread::sleep(Duration::from_millis(20));
                    cancelled.store(true, Ordering::Relaxed);
                });
                session.run(&text, &[])
            });
            match ended {
                // It can be done before the flag is set.
                Ok(_) => assert!(!before, "{text}"),
                Err(error) => assert_eq!(error.kind, ErrorKind::Terminated, "{text}: {error}"),
            }
        }
    }
}

#[test]
fn estimates_count_the_arrays_of_each_thread() {
    let db = database();
    let session = Session::new(&db);
    session.run("UNWIND range(0, 99) AS i CREATE (:P)-[:K]->(:P)", &[]).unwrap();
    let processors = std::thread::available_parallelism().map_or(1, usize::from) as i64;
    for name in ["louvain", "leiden", "closeness"] {
        let of = |threads: i64| {
            let text = format!(
                "CALL algo.{name}.estimate({{relationships: 'K'}}, {{concurrency: {threads}}}) \
                 YIELD bytesMax RETURN bytesMax"
            );
            integers(&rows(&session, &text))[0]
        };
        // 200 nodes, at least 8 bytes of each for each thread.
        assert!(of(processors) >= of(1) + (processors - 1) * 1600, "{name}");
    }
}

#[test]
fn estimates_name_the_least_bound_of_a_statement() {
    static BUDGET: Budget = Budget::new(1 << 40);
    let db = database();
    let limit = |limits: Limits| {
        let session = Session::new(&db).with_limits(limits);
        let text = "CALL algo.pageRank.estimate({}) YIELD bytesLimit RETURN bytesLimit";
        rows(&session, text)[0][0].clone()
    };
    assert_eq!(limit(Limits::default()), Value::Null);
    let statement = Limits { memory: Some(1 << 20), ..Limits::default() };
    assert_eq!(limit(statement.clone()), Value::Int(1 << 20));
    assert_eq!(limit(Limits { budget: Some(&BUDGET), ..statement }), Value::Int(1 << 20));
    let shared = Limits { budget: Some(&BUDGET), ..Limits::default() };
    assert_eq!(limit(shared), Value::Int((1 << 40) / 4 * 3));
}

#[test]
fn paths_of_a_long_chain_are_made_row_by_row() {
    let db = database();
    let session = Session::new(&db);
    session.run("CREATE RANGE INDEX FOR (p:P) ON (p.i)", &[]).unwrap();
    session.run("UNWIND range(0, 3999) AS i CREATE (:P {i: i})", &[]).unwrap();
    let link =
        "UNWIND range(0, 3998) AS i MATCH (a:P {i: i}), (b:P {i: i + 1}) CREATE (a)-[:K]->(b)";
    session.run(link, &[]).unwrap();
    // All paths together have 8 million nodes.
    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    let session = session.with_limits(limits);
    for name in ["allShortestPaths.dijkstra", "bellmanFord", "dag.longestPath"] {
        let set = if name.starts_with("dag") { "" } else { "sourceNode: 0" };
        let text = format!(
            "CALL algo.{name}({{relationships: 'K'}}, {{{set}}}) YIELD index, nodes, costs \
             WITH index, size(nodes) AS length, last(costs) AS cost WHERE index < 600 \
             RETURN sum(length) + sum(cost)"
        );
        let found = one(&session, &format!("{text} AS sum"));
        assert_eq!(found, Value::Float(f64::from(600 * 601 / 2 + 600 * 599 / 2)), "{name}");
        let stats = format!("CALL algo.{name}.stats({{relationships: 'K'}}, {{{set}}})");
        assert_eq!(rows(&session, &stats)[0][0], Value::Int(4000));
    }
}

#[test]
fn relationships_that_lead_out_of_the_chosen_nodes_are_left_out() {
    let db = database();
    let session = Session::new(&db);
    // The nodes with the label are 0 and 1; lists in place would lead to 2.
    session.run("CREATE (a:P)-[:K]->(b:P)-[:K]->(:Q)-[:K]->(a)", &[]).unwrap();
    for name in ["pageRank", "wcc", "bfs"] {
        let set = if name == "bfs" { "sourceNode: 0" } else { "" };
        let of = |packed: bool| {
            let text = format!(
                "CALL algo.{name}({{nodes: 'P', relationships: 'K'}}, {{{set}{} packed: {packed}}})",
                if set.is_empty() { "" } else { "," }
            );
            rows(&session, &text)
        };
        assert_eq!(of(false).len(), 2, "{name}");
        assert_eq!(of(false), of(true), "{name}");
    }
}

#[test]
fn orientations_weights_and_pairs() {
    let db = database();
    let session = Session::new(&db);
    session.run(GRAPH, &[]).unwrap();
    let degrees = |graph: &str| {
        let text = format!(
            "CALL algo.degree({{nodes: 'P', {graph}}}) YIELD node, score \
             WITH node, score ORDER BY node.name RETURN toInteger(score)"
        );
        integers(&rows(&session, &text))
    };
    assert_eq!(degrees("relationships: 'K'"), [2, 1, 1, 0]);
    assert_eq!(degrees("relationships: 'K', orientation: 'REVERSE'"), [0, 1, 2, 1]);
    assert_eq!(degrees("relationships: {K: 'UNDIRECTED'}"), [2, 2, 3, 1]);
    // The relationship without a weight counts 1, or what is said.
    assert_eq!(degrees("relationships: 'K', weight: 'w'"), [6, 2, 1, 0]);
    assert_eq!(degrees("relationships: 'K', weight: 'w', defaultWeight: 9"), [6, 2, 9, 0]);
    rows(&session, "CALL gds.graph.project('g', 'P', {K: {properties: {w: {defaultValue: 9}}}})");
    // As in the library, a call weighs relationships only by the property that it names.
    for (settings, expected) in
        [("{}", [2, 1, 1, 0]), ("{relationshipWeightProperty: 'w'}", [6, 2, 9, 0])]
    {
        let text = format!(
            "CALL algo.degree('g', {settings}) YIELD node, score WITH node, score \
             ORDER BY node.name RETURN toInteger(score)"
        );
        assert_eq!(integers(&rows(&session, &text)), expected);
    }
    for (graph, expected) in [
        ("{defaultWeight: 0.0/0.0, weight: 'w'}", "defaultWeight of algo.cycles"),
        ("{pairs: pairs}", "pairs are none"),
    ] {
        let text = format!(
            "MATCH (a:P)-[:K]->(b:P) WITH collect([a, b]) AS pairs \
             CALL algo.cycles({graph}) YIELD length RETURN length"
        );
        let error = session.run(&text, &[]).unwrap_err();
        assert!(error.message.contains(expected), "{error}");
    }
    let text = "CALL algo.cycles({nodes: 'P', relationships: ['K', 'L']}) \
                YIELD nodeIds, relationships, length RETURN length, size(relationships), \
                all(r IN relationships WHERE startNode(r) IN nodes) ORDER BY length";
    let found = rows(&session, &text.replace("nodeIds", "nodes"));
    let row = |n: i64| vec![Value::Int(n), Value::Int(n), true.into()];
    assert_eq!(found, [row(3), row(4)]);
}

#[test]
fn graphs_whose_labels_were_never_committed_can_be_dropped() {
    let db = database();
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    let text = "CREATE (:New) WITH 1 AS x CALL gds.graph.project('g', 'New', '*') \
                YIELD graphName RETURN graphName";
    transaction.run(text, &Default::default()).unwrap();
    transaction.rollback();
    rows(&session, "CALL gds.graph.list()");
    rows(&session, "CALL gds.graph.drop('g')");
    let exists = "CALL gds.graph.exists('g') YIELD exists RETURN exists";
    assert_eq!(one(&session, exists), false.into());
}
