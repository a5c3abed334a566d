//! Algorithms as procedures: the choice of the graph, modes, limits, snapshots.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Session, Value, ValueMap};

fn database() -> Database {
    telar_db::open_in_memory().unwrap()
}

/// A graph with two labels, two types, a weight, parallel edges, a loop and an isolated node.
fn small(session: &Session) {
    let text = "CREATE (a:P {name: 'a'}), (b:P {name: 'b'}), (c:P {name: 'c'}), (x:Q {name: 'x'}), \
                (lone:P {name: 'lone'}), (a)-[:K {w: 2}]->(b), (b)-[:K {w: 0.5}]->(c), \
                (c)-[:K]->(a), (a)-[:K {w: 1}]->(b), (a)-[:L]->(x), (c)-[:K]->(c)";
    session.run(text, &[]).unwrap();
}

fn rows(session: &Session, text: &str) -> Vec<Vec<Value>> {
    session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}")).rows
}

fn error(session: &Session, text: &str) -> (ErrorKind, String) {
    let error = session.run(text, &[]).expect_err(text);
    (error.kind, error.message)
}

/// PageRank by its definition.
fn ranks(n: usize, edges: &[(usize, usize)], iterations: usize) -> Vec<f64> {
    let mut scores = vec![1.0 / n as f64; n];
    let degree = |u: usize| edges.iter().filter(|edge| edge.0 == u).count() as f64;
    for _ in 0..iterations {
        let dangling: f64 = (0..n).filter(|u| degree(*u) == 0.0).map(|u| scores[u]).sum();
        let mut next = vec![(0.15 + 0.85 * dangling) / n as f64; n];
        for &(u, v) in edges {
            next[v] += 0.85 * scores[u] / degree(u);
        }
        scores = next;
    }
    scores
}

#[test]
fn page_rank_is_that_of_the_chosen_part_in_every_way_to_choose_it() {
    let db = database();
    let session = Session::new(&db);
    small(&session);
    // a, b, c, lone are numbers 0, 1, 2, 3 of the nodes with label P.
    let edges = [(0, 1), (1, 2), (2, 0), (0, 1), (2, 2)];
    let expected = ranks(4, &edges, 20);
    rows(&session, "CALL gds.graph.project('g', 'P', 'K')");
    let calls = [
        "CALL algo.pageRank({nodes: 'P', relationships: 'K'}, {tolerance: 0})",
        "CALL algo.pageRank.stream({nodes: ['P'], relationships: ['K']}, {tolerance: 0.0})",
        "CALL algo.pageRank({nodes: 'P', relationships: {K: 'NATURAL'}}, {tolerance: 0})",
        "CALL algo.pageRank('g', {tolerance: 0, concurrency: 1})",
        "CALL algo.pageRank({}, {nodeLabels: ['P'], relationshipTypes: ['K'], tolerance: 0})",
        "MATCH (a:P)-[:K]->(b:P) WITH collect([a, b]) AS pairs \
         CALL algo.pageRank({nodes: 'P', pairs: pairs}, {tolerance: 0})",
    ];
    for call in calls {
        let text = format!("{call} YIELD node, score RETURN node.name, score ORDER BY id(node)");
        let found = rows(&session, &text);
        let names: Vec<&Value> = found.iter().map(|row| &row[0]).collect();
        assert_eq!(names, [&"a".into(), &"b".into(), &"c".into(), &Value::from("lone")], "{call}");
        for (row, expected) in found.iter().zip(&expected) {
            let Value::Float(score) = row[1] else { panic!("{row:?}") };
            assert!((score - expected).abs() < 1e-12, "{call}: {row:?} is not {expected}");
        }
    }
    let text = "CALL gds.pageRank.stream('g', {tolerance: 0}) YIELD nodeId, score \
                MATCH (n) WHERE id(n) = nodeId RETURN n.name, score ORDER BY score DESC LIMIT 1";
    assert_eq!(rows(&session, text)[0][0], "c".into());
}

#[test]
fn lists_in_place_and_packed_ones_give_the_same_ranks_at_every_snapshot() {
    let db = database();
    let session = Session::new(&db);
    session.run("CREATE RANGE INDEX FOR (p:P) ON (p.i)", &[]).unwrap();
    session.run("UNWIND range(0, 4999) AS i CREATE (:P {i: i})", &[]).unwrap();
    let link = "UNWIND range(0, 4999) AS i MATCH (a:P {i: i}), (b:P {i: (i * 31 + $k) % 5000}) \
                CREATE (a)-[:K]->(b)";
    for k in 0..3 {
        session.run(link, &[("k", Value::Int(k * k + 1))]).unwrap();
    }
    let ranks = |of: &Session, packed: bool| {
        let text = format!(
            "CALL algo.pageRank({{relationships: 'K'}}, {{packed: {packed}}}) \
             YIELD node, score RETURN node.i, score ORDER BY id(node)"
        );
        rows(of, &text)
    };
    let before = ranks(&session, false);
    assert_same(&before, &ranks(&session, true));
    assert_eq!(before.len(), 5000);
    let mut transaction = session.begin().unwrap();
    let link = "MATCH (a:P {i: 7}), (b:P {i: 8}) CREATE (a)-[:K]->(b)";
    transaction.run(link, &ValueMap::new()).unwrap();
    let text = "CALL algo.pageRank({relationships: 'K'}) YIELD node, score \
                RETURN node.i, score ORDER BY id(node)";
    // The transaction sees its own relationship, others do not.
    let inside = transaction.run(text, &ValueMap::new()).unwrap().rows;
    assert!(distance(&inside, &before) > 1e-6);
    assert_same(&ranks(&session, false), &before);
    transaction.commit().unwrap();
    assert_same(&ranks(&session, false), &inside);
    // A hole in the numbers of nodes: lists are packed.
    session.run("MATCH (p:P {i: 100}) DETACH DELETE p", &[]).unwrap();
    let holed = ranks(&session, false);
    assert_eq!(holed.len(), 4999);
    assert_same(&holed, &ranks(&session, true));
}

/// The greatest difference of two lists of scores of the same nodes.
fn distance(a: &[Vec<Value>], b: &[Vec<Value>]) -> f64 {
    assert_eq!(a.len(), b.len());
    let of = |(a, b): (&Vec<Value>, &Vec<Value>)| match (&a[1], &b[1]) {
        (Value::Float(x), Value::Float(y)) if a[0] == b[0] => (x - y).abs(),
        _ => panic!("{a:?} is not of the node of {b:?}"),
    };
    a.iter().zip(b).map(of).fold(0.0, f64::max)
}

/// Scores are added up in the order of lists, which settling changes.
fn assert_same(a: &[Vec<Value>], b: &[Vec<Value>]) {
    let distance = distance(a, b);
    assert!(distance < 1e-15, "{distance}");
}

#[test]
fn figures_estimates_and_written_properties() {
    let db = database();
    let session = Session::new(&db);
    small(&session);
    let text = "CALL algo.pageRank.stats({nodes: 'P', relationships: 'K'}, {maxIterations: 3}) \
                YIELD nodeCount, relationshipCount, ranIterations, didConverge, distribution \
                RETURN nodeCount, relationshipCount, ranIterations, didConverge, distribution.max > 0";
    let row = [4.into(), 5.into(), 3.into(), false.into(), true.into()].map(|v: Value| v);
    assert_eq!(rows(&session, text), [row]);
    let text = "CALL algo.pageRank.estimate({nodes: 'P', relationships: 'K'}) \
                YIELD nodeCount, bytesMax RETURN nodeCount, bytesMax > 0";
    assert_eq!(rows(&session, text), [[Value::Int(4), true.into()]]);
    let write = "CALL algo.pageRank.write({nodes: 'P', relationships: 'K'}, {writeProperty: 'rank'}) \
                 YIELD nodePropertiesWritten RETURN nodePropertiesWritten";
    let done = session.run(write, &[]).unwrap();
    assert_eq!((done.rows, done.counters.properties_set), (vec![vec![Value::Int(4)]], 4));
    assert_eq!(rows(&session, "MATCH (n) WHERE n.rank > 0 RETURN count(*)"), [[Value::Int(4)]]);
    let (kind, _) = error(&session, "CALL algo.pageRank.write({nodes: 'P'}, {})");
    assert_eq!(kind, ErrorKind::Argument);
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    let db = database();
    let session = Session::new(&db);
    small(&session);
    let cases = [
        ("algo.pageRank({nodes: 'R'})", "no node has the label R"),
        ("algo.pageRank({relationships: 'KK'})", "did you mean K?"),
        ("algo.pageRank({node: 'P'})", "did you mean nodes?"),
        ("algo.pageRank({}, {damping: 1})", "has no setting damping"),
        ("algo.pageRank({}, {dampingFactor: 1.5})", "from 0 to 1"),
        ("algo.pageRank({}, {dampingFactor: 'x'})", "is a number"),
        ("algo.pageRank({}, {maxIterations: -1})", "not negative"),
        ("algo.pageRank({}, {maxIterations: 0})", "algo.pageRank: maxIterations is 0"),
        ("algo.pageRank({}, {concurrency: 0})", "at least 1"),
        ("algo.pageRank('nothing')", "does not exist"),
        ("algo.pageRank(7)", "is the name of one"),
        ("algo.pageRank({pairs: [[1, 2]]})", "pairs are lists"),
        ("algo.pageRank({orientation: 'UP'})", "NATURAL, REVERSE, UNDIRECTED"),
        ("algo.pageRank({relationships: 'K', weight: 'nothing'})", "no relationship has"),
        ("algo.pageRank({relationships: 'K', weight: 'name'})", ""),
    ];
    for (call, expected) in cases {
        let text = format!("CALL {call} YIELD node RETURN count(*)");
        match session.run(&text, &[]) {
            // Names are properties of nodes: no relationship has one, so all weigh 1.
            Ok(_) => assert_eq!(expected, "", "{call}"),
            Err(error) => {
                assert!(
                    error.message.contains(expected) && !expected.is_empty(),
                    "{call}: {error}"
                );
                assert_eq!(error.kind, ErrorKind::Argument, "{call}");
            }
        }
    }
}

#[test]
fn graphs_have_names_until_they_are_dropped_and_stay_live() {
    let db = database();
    let session = Session::new(&db);
    small(&session);
    let counts = "YIELD graphName, nodeCount, relationshipCount \
                  RETURN graphName, nodeCount, relationshipCount";
    let project = "CALL gds.graph.project('g', ['P', 'Q'], \
                   {K: {orientation: 'UNDIRECTED', properties: 'w'}, L: {}})";
    let found = rows(&session, &format!("{project} {counts}"));
    assert_eq!(found[0][..2], ["g".into(), Value::Int(5)]);
    let (_, message) = error(&session, project);
    assert!(message.contains("already exists"), "{message}");
    session.run("CREATE (:P)-[:K]->(:P)", &[]).unwrap();
    let found = rows(&session, &format!("CALL gds.graph.list('g') {counts}"));
    assert_eq!(found[0][..2], ["g".into(), Value::Int(7)]);
    let exists = "CALL gds.graph.exists('g') YIELD exists RETURN exists";
    assert_eq!(rows(&session, exists), [[Value::from(true)]]);
    rows(&session, "CALL gds.graph.drop('g')");
    assert_eq!(rows(&session, exists), [[Value::from(false)]]);
    assert!(error(&session, "CALL gds.graph.drop('g')").1.contains("does not exist"));
    assert!(rows(&session, "CALL gds.graph.drop('g', false)").is_empty());
    assert!(rows(&session, "CALL gds.graph.list()").is_empty());
}

#[test]
fn every_algorithm_runs_on_an_empty_graph_and_on_one_node() {
    let db = database();
    let session = Session::new(&db);
    for nodes in 0..2 {
        for row in rows(&session, "CALL algo.list('.estimate') YIELD name RETURN name") {
            let Value::String(name) = &row[0] else { panic!("{row:?}") };
            rows(&session, &format!("CALL {name}({{}}) YIELD bytesMax RETURN bytesMax"));
        }
        let found = rows(&session, "CALL algo.pageRank() YIELD score RETURN score");
        assert_eq!(found.len(), nodes);
        session.run("CREATE ()", &[]).unwrap();
    }
}

#[test]
fn algorithms_end_when_their_statement_is_terminated_or_over_its_memory() {
    let db = database();
    let session = Session::new(&db);
    session.run("UNWIND range(0, 49999) AS i CREATE (:P)-[:K]->(:P)", &[]).unwrap();
    let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
    let narrow = Session::new(&db).with_limits(limits);
    let (kind, message) = error(&narrow, "CALL algo.pageRank() YIELD score RETURN count(*)");
    assert_eq!(kind, ErrorKind::OutOfMemory);
    assert!(message.contains("algo.pageRank") && message.contains("limits"), "{message}");
    let cancelled = Arc::new(AtomicBool::new(false));
    let limits = Limits { cancelled: Some(Arc::clone(&cancelled)), ..Limits::default() };
    let runtime = Arc::clone(session.runtime());
    let other = Session::with_runtime(&db, Arc::clone(&runtime));
    let session = Session::with_runtime(&db, runtime).with_limits(limits);
    let text = "CALL algo.pageRank({}, {maxIterations: 100000000, tolerance: 0}) \
                YIELD score RETURN count(*)";
    std::thread::scope(|scope| {
        let running = scope.spawn(|| session.run(text, &[]));
        // It is at work once it has told how far it is.
        let at_work = "SHOW TRANSACTIONS YIELD statusDetails WHERE statusDetails CONTAINS '%' \
                       RETURN count(*)";
        let seen = || rows(&other, at_work) != [[Value::Int(0)]];
        while !seen() && !running.is_finished() {
            std::thread::yield_now();
        }
        cancelled.store(true, Ordering::Relaxed);
        let error = running.join().unwrap().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Terminated);
    });
}

#[test]
fn numbers_of_nodes_become_nodes_again_and_null_where_there_is_none() {
    let db = database();
    let session = Session::new(&db);
    small(&session);
    let text = "CALL gds.graph.project('g', '*', '*') YIELD graphName \
                CALL gds.pageRank.stream(graphName) YIELD nodeId, score \
                RETURN gds.util.asNode(nodeId).name AS name ORDER BY name";
    let names: Vec<Value> = rows(&session, text).into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(names, ["a", "b", "c", "lone", "x"].map(Value::from));
    let text = "UNWIND [-1, 0, 4, 5, null] AS n RETURN gds.util.asNode(n) IS NULL";
    let nulls: Vec<Value> = rows(&session, text).into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(nulls, [true, false, false, true, true].map(Value::from));
    // It looks whether the node exists, so that what is deleted before is not found.
    let text = "MATCH (n {name: 'lone'}) WITH n, id(n) AS id DELETE n \
                WITH id RETURN gds.util.asNode(id) IS NULL";
    assert_eq!(rows(&session, text), [[Value::from(true)]]);
    assert!(error(&session, "RETURN gds.util.asNode('x')").1.contains("number of a node"));
}
