//! Graphs that are parts of others: `gds.graph.filter`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::algorithm_texts;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};

use algorithm_texts::{database, error, shown};

/// Persons who know each other, twice and themselves, and what they bought.
fn shop(session: &Session) {
    let text = "CREATE (a:Person:Rich {name: 'a', age: 20}), (b:Person {name: 'b', age: 30}), \
                (c:Person {name: 'c'}), (x:Item {name: 'x'}), (a)-[:KNOWS {w: 2}]->(b), \
                (a)-[:KNOWS {w: 5}]->(b), (b)-[:KNOWS {w: 3}]->(c), (c)-[:KNOWS]->(c), \
                (a)-[:BOUGHT {w: 9}]->(x)";
    session.run(text, &[]).unwrap();
    let all = "CALL gds.graph.project('all', ['Person', 'Item'], {KNOWS: {properties: 'w'}, \
               BOUGHT: {}}) \
               YIELD nodeCount RETURN nodeCount";
    assert_eq!(shown(session, all), "4");
}

fn filter(from: &str, nodes: &str, relationships: &str) -> String {
    format!(
        "CALL gds.graph.filter('part', '{from}', \"{nodes}\", \"{relationships}\") \
         YIELD nodeCount, relationshipCount RETURN nodeCount, relationshipCount"
    )
}

/// Names of the nodes of a graph with the sum of the weights of their relationships.
fn weights(session: &Session, graph: &str) -> String {
    let text = format!(
        "CALL gds.degree.stream('{graph}', {{relationshipWeightProperty: 'w'}}) \
         YIELD nodeId, score RETURN gds.util.asNode(nodeId).name AS name, score ORDER BY name"
    );
    shown(session, &text).replace('\n', ", ")
}

fn part(session: &Session, from: &str, nodes: &str, relationships: &str) -> String {
    let counts = shown(session, &filter(from, nodes, relationships));
    shown(session, "CALL gds.graph.drop('part') YIELD nodeCount");
    counts
}

#[test]
fn filters_choose_nodes_and_relationships() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let cases = [
        ("*", "*", "4 5"),
        (" * ", "TRUE", "4 5"),
        ("n:Person", "*", "3 4"),
        ("n:Person AND n.age > 20", "*", "1 0"),
        ("n:Person AND NOT n.age > 20", "*", "1 0"),
        ("n.age IS NULL", "*", "2 1"),
        ("n:Person|Item", "*", "4 5"),
        ("n:Person&!Item", "*", "3 4"),
        ("n:%", "r:%", "4 5"),
        ("NOT n:Item", "r:KNOWS", "3 4"),
        ("*", "r:BOUGHT", "4 1"),
        ("*", "r.w > 2.5", "4 3"),
        ("*", "r.w > 2.5 AND r:KNOWS", "4 2"),
        ("*", "r.w > 4 OR r:BOUGHT", "4 2"),
        ("*", "r.w IS NULL", "4 1"),
        ("n.name IN ['a', 'b'] XOR n.age = 30", "*", "1 0"),
        ("size([x IN [1, 2] WHERE x < n.age]) = 2", "*", "2 2"),
        ("any(n IN [1] WHERE n = 1)", "*", "4 5"),
        ("FALSE", "*", "0 0"),
        ("n.name CONTAINS 'a' // the first", "*", "1 0"),
    ];
    for (nodes, relationships, expected) in cases {
        let found = part(&session, "all", nodes, relationships);
        assert_eq!(found, expected, "{nodes}; {relationships}");
    }
}

#[test]
fn a_part_is_fixed_and_keeps_weights_labels_and_values() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    shown(&session, "CALL gds.degree.mutate('all', {mutateProperty: 'degree'}) YIELD nodeCount");
    let text = filter("all", "n:Person AND n.degree >= 1", "r:KNOWS AND r.w <> 5");
    assert_eq!(shown(&session, &text), "3 2");
    // The part of a part, by labels and values that it has kept.
    assert_eq!(weights(&session, "part"), "'a' 2.0, 'b' 3.0, 'c' 0.0");
    shown(&session, "MATCH (a {name: 'a'}), (c {name: 'c'}) CREATE (c)-[:KNOWS {w: 8}]->(a)");
    assert_eq!(weights(&session, "part"), "'a' 2.0, 'b' 3.0, 'c' 0.0");
    let again = "CALL gds.graph.filter('again', 'part', 'n.degree > 1', 'r.w < 10') \
                 YIELD nodeCount, relationshipCount RETURN nodeCount, relationshipCount";
    assert_eq!(shown(&session, again), "1 0");
    let labelled = "CALL gds.graph.filter('labelled', 'part', 'n:Person', '*') \
                    YIELD nodeCount, relationshipCount RETURN nodeCount, relationshipCount";
    assert_eq!(shown(&session, labelled), "3 2");
    // Labels of the database that the graph does not have are not known to its filters.
    let item = error(&session, &filter("part", "n:Item", "*").replacen("'part',", "'p',", 1));
    assert!(item.message.contains("the graph has no label Item"), "{item}");
    let rich = error(&session, &filter("all", "n:Rich", "*").replacen("'part',", "'p',", 1));
    assert!(rich.message.contains("the graph has no label Rich"), "{rich}");
    // A node that is deleted later is left out.
    shown(&session, "MATCH (b {name: 'b'}) DETACH DELETE b");
    assert_eq!(weights(&session, "part"), "'a' 0.0, 'c' 0.0");
    let list = "CALL gds.graph.list('part') YIELD nodeCount, sizeInBytes, configuration \
                RETURN nodeCount, sizeInBytes > 0, configuration.live";
    assert_eq!(shown(&session, list), "2 TRUE FALSE");
    let streamed = "CALL gds.graph.relationshipProperty.stream('all', 'w') \
                    YIELD propertyValue AS w RETURN w ORDER BY w";
    assert_eq!(shown(&session, streamed), "8.0\n9.0\nNULL");
}

#[test]
fn columns_and_the_name_of_before() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let text = "CALL gds.beta.graph.project.subgraph('part', 'all', 'n.age > $least', '*', \
                {parameters: {least: 10}, concurrency: 4})";
    let result = session.run(text, &[]).unwrap();
    let columns: Vec<&str> = result.columns.iter().map(|name| &**name).collect();
    let expected = [
        "graphName",
        "fromGraphName",
        "nodeFilter",
        "relationshipFilter",
        "nodeCount",
        "relationshipCount",
        "projectMillis",
    ];
    assert_eq!(columns, expected);
    let row: Vec<String> = result.rows[0][..6].iter().map(telar_db::query::literal).collect();
    assert_eq!(row, ["'part'", "'all'", "'n.age > $least'", "'*'", "2", "2"]);
}

#[test]
fn directions_and_parallel_relationships_are_those_of_the_graph() {
    let db = database();
    let session = Session::new(&db);
    let text = "CREATE (a:P {name: 'a'}), (b:P {name: 'b'}), (a)-[:K {w: 2}]->(b), \
                (a)-[:K {w: 5}]->(b), (a)-[:L {w: 1}]->(b), (b)-[:K {w: 4}]->(a), \
                (b)-[:K {w: 1}]->(b), (b)-[:K]->(b)";
    session.run(text, &[]).unwrap();
    let cases = [
        "{K: {properties: 'w'}}",
        "{K: {orientation: 'REVERSE', properties: 'w'}}",
        "{K: {orientation: 'UNDIRECTED', properties: 'w'}}",
        "{K: {properties: {w: {property: 'w', defaultValue: 3}}}, L: {properties: 'w'}}",
        "{K: {properties: {w: {aggregation: 'SUM'}}}}",
        "{K: {properties: {w: {aggregation: 'MAX'}}}}",
        "{K: {aggregation: 'MIN', properties: 'w'}}",
        "{K: {properties: {w: {property: '*', aggregation: 'COUNT'}}}}",
        "{K: {aggregation: 'SINGLE', properties: 'w'}, L: {properties: 'w'}}",
        "{A: {type: '*', aggregation: 'SUM', properties: 'w'}}",
        "{K: {orientation: 'UNDIRECTED', properties: {w: {aggregation: 'SUM'}}}}",
        "{OUT: {type: 'K', properties: 'w'}, IN: {type: 'K', orientation: 'REVERSE'}}",
        "{OUT: {type: 'K', properties: 'w'}, B: {type: 'K', orientation: 'UNDIRECTED'}}",
        "{B: {type: 'K', orientation: 'UNDIRECTED'}, OUT: {type: 'K', properties: 'w'}}",
    ];
    for projection in cases {
        shown(&session, &format!("CALL gds.graph.project('g', 'P', {projection}) YIELD nodeCount"));
        let whole = weights(&session, "g");
        shown(&session, &filter("g", "*", "*").replace("'part'", "'same'"));
        assert_eq!(weights(&session, "same"), whole, "{projection}");
        shown(&session, &filter("g", "n.name <> 'c'", "r.w >= 0 OR r.w IS NULL"));
        assert_eq!(weights(&session, "part"), whole, "{projection}");
        for name in ["g", "same", "part"] {
            shown(&session, &format!("CALL gds.graph.drop('{name}') YIELD nodeCount"));
        }
    }
    // A filter is on the value of relationships that became one.
    let merged = "CALL gds.graph.project('g', 'P', {K: {properties: {w: {aggregation: 'SUM'}}}})";
    shown(&session, merged);
    assert_eq!(part(&session, "g", "*", "r.w > 6"), "2 1");
    // A part keeps the properties of the graph, and those that its filter reads.
    shown(&session, "CALL gds.graph.project('plain', 'P', '*') YIELD nodeCount");
    shown(&session, &filter("plain", "*", "r.w > 1"));
    assert_eq!(weights(&session, "part"), "'a' 7.0, 'b' 4.0");
    shown(&session, "CALL gds.graph.drop('part') YIELD nodeCount");
    shown(&session, &filter("plain", "*", "*"));
    let unknown = "CALL gds.degree.stream('part', {relationshipWeightProperty: 'w'})";
    assert!(error(&session, unknown).message.ends_with("no relationship has the property w"));
}

#[test]
fn graphs_of_queries_are_filtered_by_what_they_hold() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let made = "MATCH (s:Person)-[r:KNOWS]->(t) RETURN gds.graph.project('held', s, t, \
                {sourceNodeLabels: ['From'], targetNodeLabels: ['To'], relationshipType: 'K', \
                relationshipProperties: {w: r.w}, sourceNodeProperties: {old: s.age * 2}})";
    shown(&session, made);
    assert_eq!(part(&session, "held", "n:From", "*"), "3 4");
    assert_eq!(part(&session, "held", "n:From AND NOT n:To", "*"), "1 0");
    assert_eq!(part(&session, "held", "n.old > 30", "r:K AND r.w > 2"), "2 1");
    assert_eq!(part(&session, "held", "*", "r.w IS NULL"), "3 1");
    shown(&session, "MATCH (a {name: 'a'}) DETACH DELETE a");
    assert_eq!(part(&session, "held", "*", "*"), "2 2");
}

#[test]
fn errors_say_which_filter_and_where_in_it() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let cases = [
        ("n.age >", "*", "nodeFilter of gds.graph.filter, line 1, column 8: "),
        ("*", "r.w > (", "relationshipFilter of gds.graph.filter, line 1, column 8: "),
        ("n.age > 1 RETURN n", "*", "nodeFilter of gds.graph.filter, line 1, column 11: "),
        ("n.age > 1; n.age", "*", "line 1, column 10: "),
        ("", "*", "nodeFilter of gds.graph.filter, line 1, column 1: "),
        ("n", "*", "knows n by its properties and labels"),
        ("id(n) = 1", "*", "knows n by its properties and labels"),
        ("m.age > 1", "*", "m"),
        ("(n)-->()", "*", "no patterns"),
        ("EXISTS { (n)-->() }", "*", "no patterns"),
        ("size([(n)-->(m) | 1]) > 1", "*", "no patterns"),
        ("count(*) > 1", "*", "aggregat"),
        ("n.age + 1", "*", "nodeFilter of gds.graph.filter: "),
        ("n.agee > 1", "*", "did you mean age?"),
        ("n:Persn", "*", "the graph has no label Persn; did you mean Person?"),
        ("n:$($x)", "*", "names its labels"),
        ("n.age > $least", "*", "expected parameter $least"),
        ("*", "r:KNOWN", "the graph has no type KNOWN; did you mean KNOWS?"),
        ("*", "r.ww > 1", "the graph has no property ww"),
        ("*", "n.age > 1", "n"),
    ];
    for (nodes, relationships, expected) in cases {
        let found = error(&session, &filter("all", nodes, relationships));
        assert!(found.message.contains(expected), "{nodes}; {relationships}: {found}");
        assert_eq!(found.position, None, "{nodes}; {relationships}: {found}");
    }
    let missing = error(&session, &filter("al", "*", "*"));
    assert!(missing.message.contains("did you mean all?"), "{missing}");
    let taken = error(&session, &filter("all", "*", "*").replace("'part'", "'all'"));
    assert!(taken.message.contains("already exists"), "{taken}");
}

#[test]
fn a_filter_sees_what_the_statement_sees() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let mut transaction = session.begin().unwrap();
    let mut run = |text: &str| {
        transaction.run(text, &ValueMap::new()).unwrap_or_else(|e| panic!("{text}: {e}")).rows
    };
    run("MATCH (a {name: 'a'}) CREATE (a)-[:KNOWS {w: 1}]->(:Person {name: 'new', age: 50})");
    run("MATCH (c {name: 'c'}) DETACH DELETE c");
    let made = run(&filter("all", "n:Person", "r:KNOWS"));
    assert_eq!(made, [[Value::from(3), Value::from(3)]]);
    transaction.rollback();
    assert_eq!(weights(&session, "part"), "'a' 7.0, 'b' 0.0");
}

#[test]
fn a_filter_of_the_past_is_tested_on_the_past() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    shop(&session);
    let before = session.run("MATCH (n) RETURN count(*)", &[]).unwrap().at.get();
    shown(&session, "MATCH (b {name: 'b'}) SET b.age = 1");
    shown(&session, "MATCH ()-[r {w: 5}]->() DELETE r");
    assert_eq!(part(&session, "all", "n.age > 10", "*"), "1 0");
    let past = format!("AT TIMESTAMP {before} {}", filter("all", "n.age > 10", "*"));
    assert_eq!(shown(&session, &past), "2 2");
    // It is fixed: both relationships are there, although one is not in the database any more.
    assert_eq!(weights(&session, "part"), "'a' 7.0, 'b' 0.0");
    let path = format!(
        "AT TIMESTAMP {before} CALL gds.shortestPath.dijkstra.stream('all', {{sourceNode: 0, \
         targetNode: 1, relationshipWeightProperty: 'w'}}) YIELD path \
         RETURN [r IN relationships(path) | r.w]"
    );
    assert_eq!(shown(&session, &path), "[2]");
}

#[test]
fn empty_graphs_and_lone_nodes_have_parts() {
    let db = database();
    let session = Session::new(&db);
    shown(&session, "CALL gds.graph.project('g', '*', '*') YIELD nodeCount");
    assert_eq!(part(&session, "g", "*", "*"), "0 0");
    shown(&session, "CREATE (a:P {x: 1})-[:SELF {w: 1}]->(a)");
    assert_eq!(part(&session, "g", "n.x = 1", "r.w = 1"), "1 1");
    shown(&session, "CREATE (:P {x: 'text'})");
    assert_eq!(part(&session, "g", "n.x <> 1", "*"), "1 0");
}

#[test]
fn a_filter_ends_with_its_statement_and_keeps_to_its_memory() {
    let db = database();
    let session = Session::new(&db);
    session.run("UNWIND range(1, 20000) AS i CREATE (:P {i: i})-[:K {w: i}]->(:Q)", &[]).unwrap();
    shown(&session, "CALL gds.graph.project('g', '*', {K: {properties: 'w'}}) YIELD nodeCount");
    let cancelled = Arc::new(AtomicBool::new(true));
    let limits = Limits { cancelled: Some(cancelled), ..Limits::default() };
    let ended = error(&Session::new(&db).with_limits(limits), &filter("g", "*", "*"));
    assert_eq!(ended.kind, ErrorKind::Terminated);
    let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
    let ended = error(&Session::new(&db).with_limits(limits), &filter("g", "*", "*"));
    assert_eq!(ended.kind, ErrorKind::OutOfMemory, "{ended}");
    assert_eq!(part(&session, "g", "n.i <= 10000 OR n:Q", "r.w % 2 = 0"), "30000 5000");
}
