//! Graphs that two query texts make: `gds.graph.project.cypher`.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::algorithm_texts;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Session, Value, ValueMap};
use telar_db::{Retention, Settings};

use algorithm_texts::{database, error, shown};

/// Persons who know each other, twice and themselves, and what they bought.
fn shop(session: &Session) {
    let text = "CREATE (a:Person {name: 'a', age: 20}), (b:Person {name: 'b', age: 30}), \
                (c:Person {name: 'c'}), (x:Item {name: 'x'}), (a)-[:KNOWS {w: 2}]->(b), \
                (a)-[:KNOWS {w: 5}]->(b), (b)-[:KNOWS {w: 3}]->(c), (c)-[:KNOWS]->(c), \
                (a)-[:BOUGHT {w: 9}]->(x)";
    session.run(text, &[]).unwrap();
}

fn project(nodes: &str, relationships: &str, settings: &str) -> String {
    format!(
        "CALL gds.graph.project.cypher('g', \"{nodes}\", \"{relationships}\", {settings}) \
         YIELD graphName, nodeCount, relationshipCount RETURN graphName, nodeCount, \
         relationshipCount"
    )
}

const PERSONS: &str = "MATCH (n:Person) RETURN id(n) AS id";
const KNOWS: &str = "MATCH (a:Person)-[r:KNOWS]->(b) RETURN id(a) AS source, id(b) AS target";

#[test]
fn two_texts_make_a_graph() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let nodes = "MATCH (n) RETURN id(n) AS id, labels(n) AS labels, n.age AS years";
    let relationships = "MATCH (a)-[r]->(b) RETURN id(a) AS source, id(b) AS target, \
                         type(r) AS type, r.w AS w";
    assert_eq!(shown(&session, &project(nodes, relationships, "{}")), "'g' 4 5");
    let all = "CALL gds.graph.list('g') YIELD schema RETURN keys(schema.nodes), \
               keys(schema.relationships), schema.nodes.Person";
    let years = "{years: 'Any (DefaultValue(null), TRANSIENT)'}";
    assert_eq!(shown(&session, all), format!("['Item', 'Person'] ['BOUGHT', 'KNOWS'] {years}"));
    // Parallel relationships and the one to itself are there; the one without a weight weighs 1.
    let degrees = "CALL gds.degree.stream('g', {relationshipTypes: ['KNOWS'], \
                   nodeLabels: ['Person'], relationshipWeightProperty: 'w'}) \
                   YIELD nodeId, score RETURN gds.util.asNode(nodeId).name AS name, score \
                   ORDER BY name";
    assert_eq!(shown(&session, degrees), "'a' 7.0\n'b' 3.0\n'c' 1.0");
    let years = "CALL gds.graph.nodeProperty.stream('g', 'years', ['Person']) \
                 YIELD propertyValue AS years RETURN years ORDER BY years";
    assert_eq!(shown(&session, years), "20\n30\nNULL");
    // The first row of a node counts, whole nodes do as well as their numbers.
    shown(&session, "CALL gds.graph.drop('g')");
    let nodes = "MATCH (n:Person) WHERE n.age > 0 RETURN n AS id, n.age AS years UNION ALL \
                 MATCH (n:Person) RETURN n AS id, 99 AS years";
    let knows = "MATCH (a)-[:KNOWS]->(b) RETURN a AS source, b AS target";
    assert_eq!(shown(&session, &project(nodes, knows, "{}")), "'g' 3 4");
    assert_eq!(shown(&session, years_of_all()), "20\n30\n99");
}

fn years_of_all() -> &'static str {
    "CALL gds.graph.nodeProperty.stream('g', 'years') YIELD propertyValue AS years \
     RETURN years ORDER BY years"
}

#[test]
fn columns_are_those_of_the_library_in_its_order() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let text = format!("CALL gds.graph.project.cypher('g', '{PERSONS}', '{KNOWS}')");
    let result = session.run(&text, &[]).unwrap();
    let columns: Vec<&str> = result.columns.iter().map(|name| &**name).collect();
    assert_eq!(
        columns,
        [
            "nodeQuery",
            "relationshipQuery",
            "graphName",
            "nodeCount",
            "relationshipCount",
            "projectMillis"
        ]
    );
    let row = &result.rows[0];
    let expected: [Value; 5] = [PERSONS.into(), KNOWS.into(), "g".into(), 3.into(), 4.into()];
    assert_eq!(row[..5], expected);
}

#[test]
fn texts_have_parameters_and_other_procedures() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let nodes = "MATCH (n:Person) WHERE n.age >= $least RETURN id(n) AS id";
    let made = project(nodes, KNOWS, "{parameters: {least: 25}, validateRelationships: false}");
    assert_eq!(shown(&session, &made), "'g' 1 0");
    shown(&session, "CALL gds.graph.drop('g')");
    let nodes = "CALL algo.degree({nodes: 'Person', relationships: 'KNOWS'}) YIELD node, score \
                 WHERE score > 0 RETURN id(node) AS id, score";
    assert_eq!(shown(&session, &project(nodes, KNOWS, "{}")), "'g' 3 4");
    let missing = project("MATCH (n) WHERE n.age > $most RETURN id(n) AS id", KNOWS, "{}");
    let missing = error(&session, &missing.replace("'g'", "'h'"));
    assert_eq!(missing.kind, ErrorKind::ParameterMissing, "{missing}");
    assert!(missing.message.starts_with("nodeQuery of gds.graph.project.cypher"), "{missing}");
}

#[test]
fn a_relationship_to_a_node_that_is_not_in_the_graph_is_an_error_or_left_out() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let all = "MATCH (a)-->(b) RETURN id(a) AS source, id(b) AS target";
    let found = error(&session, &project(PERSONS, all, "{}"));
    let expected = "relationshipQuery of gds.graph.project.cypher: its target 3 is not among the \
                    nodes of nodeQuery; with validateRelationships: false such relationships are \
                    left out";
    assert_eq!((found.kind, &*found.message), (ErrorKind::Argument, expected));
    assert_eq!(shown(&session, "RETURN gds.graph.exists('g')"), "FALSE");
    let lenient = project(PERSONS, all, "{validateRelationships: false}");
    assert_eq!(shown(&session, &lenient), "'g' 3 4");
}

#[test]
fn errors_say_which_text_and_where_in_it() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let cases = [
        (
            project("MATCH (n) RETRUN n", KNOWS, "{}"),
            "nodeQuery of gds.graph.project.cypher, line 1, column 11: ",
        ),
        (
            project(PERSONS, "MATCH (a)\\nRETURN b", "{}"),
            "relationshipQuery of gds.graph.project.cypher, line 2, column 8: ",
        ),
        (
            project("MATCH (n) RETURN n.age", KNOWS, "{}"),
            "nodeQuery of gds.graph.project.cypher: it returns no column id",
        ),
        (project(PERSONS, "RETURN 1 AS source", "{}"), "it returns no column target"),
        (
            project("RETURN 'x' AS id", KNOWS, "{}"),
            "gds.graph.project.cypher is a node or its number, and 'x' is none",
        ),
        (project("RETURN null AS id", KNOWS, "{}"), "id is null in a row"),
        (
            project("RETURN 99 AS id", KNOWS, "{validateRelationships: false}"),
            "names node 99, which does not exist",
        ),
        (
            project("MATCH (n:Nobody) RETURN id(n) AS id", KNOWS, "{}"),
            "nodeQuery of gds.graph.project.cypher returned no nodes",
        ),
        (
            project("MATCH (n) RETURN id(n) AS id, n AS whole", KNOWS, "{}"),
            "whole is a property of nodes, and cannot be",
        ),
        (
            project(PERSONS, "MATCH (a:Person) RETURN a AS source, a AS target, a.name AS w", "{}"),
            "w of a relationship of gds.graph.project.cypher is a number, and 'a' is none",
        ),
        (
            project(PERSONS, "MATCH (a:Person) RETURN a AS source, a AS target, 1 AS type", "{}"),
            "type is a string, and a row has 1",
        ),
        (
            project(PERSONS, "MATCH (a:Person) RETURN a AS source, null AS target", "{}"),
            "target is null in a row",
        ),
        (project(PERSONS, KNOWS, "{parameter: 1}"), "did you mean parameters?"),
        (
            project(PERSONS, "RETURN 1 / 0 AS source, 1 AS target", "{}"),
            "relationshipQuery of gds.graph.project.cypher",
        ),
    ];
    for (text, expected) in cases {
        let found = error(&session, &text);
        assert!(found.message.contains(expected), "{text}: {found}");
        // The place is none of the statement's own text.
        assert_eq!(found.position, None, "{text}: {found}");
    }
    let exists = "CALL gds.graph.project('g', 'Person', '*') YIELD nodeCount RETURN 1";
    shown(&session, exists);
    let again = error(&session, &project(PERSONS, KNOWS, "{}"));
    assert!(again.message.contains("already exists"), "{again}");
}

#[test]
fn texts_only_read_the_graph_of_the_statement() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let refused = [
        ("CREATE (n:Person) RETURN id(n) AS id", "one that changes the graph"),
        ("CREATE (n:Person)", "one that changes the graph"),
        (
            "CALL gds.wcc.write('h', {writeProperty: 'c'}) YIELD nodeCount RETURN 1 AS id",
            "one that changes the graph",
        ),
        ("CREATE INDEX FOR (n:Person) ON (n.name)", "one that changes indexes"),
        ("CREATE USER x SET PASSWORD 'long enough'", "a command for the server"),
        ("AT TIMESTAMP 1 MATCH (n) RETURN id(n) AS id", "one AT TIMESTAMP"),
        ("EXPLAIN MATCH (n) RETURN id(n) AS id", "EXPLAIN or PROFILE"),
        ("USE other MATCH (n) RETURN id(n) AS id", "one of another database"),
        (
            "UNWIND [1] AS x CALL (x) { RETURN 1 AS y } IN TRANSACTIONS RETURN y AS id",
            "TRANSACTIONS",
        ),
    ];
    for (nodes, expected) in refused {
        let found = error(&session, &project(nodes, KNOWS, "{}"));
        assert!(found.message.contains(expected), "{nodes}: {found}");
        assert!(found.message.starts_with("nodeQuery of gds.graph.project.cypher"), "{found}");
    }
    assert_eq!(shown(&session, "MATCH (n) RETURN count(*)"), "4");
    let own = "USE telar MATCH (n:Person) RETURN id(n) AS id";
    assert_eq!(shown(&session, &project(own, KNOWS, "{}")), "'g' 3 4");
}

#[test]
fn texts_see_what_the_statement_sees() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    shop(&session);
    let before = session.run("MATCH (n) RETURN count(*)", &[]).unwrap().at.get();
    let mut transaction = session.begin().unwrap();
    let run = |transaction: &mut telar_db::QueryTransaction, text: &str| {
        transaction.run(text, &ValueMap::new()).unwrap_or_else(|e| panic!("{text}: {e}")).rows
    };
    run(&mut transaction, "MATCH (a {name: 'a'}) CREATE (a)-[:KNOWS]->(:Person {name: 'new'})");
    run(&mut transaction, "MATCH (c {name: 'c'}) DETACH DELETE c");
    let made = run(&mut transaction, &project(PERSONS, KNOWS, "{}"));
    assert_eq!(made[0][1..], [3.into(), 3.into()]);
    let sum = "CALL gds.degree.stream('g') YIELD score RETURN count(*), sum(score)";
    assert_eq!(run(&mut transaction, sum), [[Value::from(3), Value::from(3.0)]]);
    transaction.rollback();
    // The new node is gone with the transaction.
    assert_eq!(shown(&session, sum), "2 2.0");
    // Nodes that were deleted are not there either.
    shown(&session, "CALL gds.graph.drop('g')");
    shown(&session, "MATCH (x:Item) DETACH DELETE x");
    let all = "MATCH (n) RETURN id(n) AS id";
    assert_eq!(shown(&session, &project(all, KNOWS, "{}")), "'g' 3 4");
    shown(&session, "CALL gds.graph.drop('g')");
    let past = format!("AT TIMESTAMP {before} {}", project(all, KNOWS, "{}"));
    assert_eq!(shown(&session, &past), "'g' 4 4");
    assert_eq!(shown(&session, "CALL gds.graph.list('g') YIELD nodeCount RETURN nodeCount"), "3");
}

#[test]
fn an_empty_database_one_node_and_no_relationships() {
    let db = database();
    let session = Session::new(&db);
    let all = "MATCH (n) RETURN id(n) AS id";
    let edges = "MATCH (a)-->(b) RETURN id(a) AS source, id(b) AS target";
    let found = error(&session, &project(all, edges, "{}"));
    assert!(found.message.contains("returned no nodes"), "{found}");
    shown(&session, "CREATE (a)-[:SELF]->(a)");
    assert_eq!(shown(&session, &project(all, edges, "{}")), "'g' 1 1");
    shown(&session, "CALL gds.graph.drop('g')");
    shown(&session, "MATCH ()-[r]->() DELETE r");
    assert_eq!(shown(&session, &project(all, edges, "{}")), "'g' 1 0");
    assert_eq!(shown(&session, "CALL gds.wcc.stats('g') YIELD componentCount"), "1");
}

#[test]
fn a_text_that_runs_itself_comes_to_an_end() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    let own = "CALL gds.graph.project.cypher('g' + $n, $q, 'RETURN 0 AS source, 0 AS target', \
               {parameters: {q: $q, n: $n + 1}}) YIELD nodeCount RETURN nodeCount AS id";
    let parameters: ValueMap = [("q".into(), own.into()), ("n".into(), Value::Int(0))].into();
    let found = session.run_with(own, &parameters).expect_err("it never ends");
    assert!(found.message.contains("stand one inside of the other"), "{found}");
}

#[test]
fn texts_end_with_their_statement_and_keep_to_its_memory() {
    let db = database();
    let session = Session::new(&db);
    session.run("UNWIND range(1, 3000) AS i CREATE (:P {i: i})", &[]).unwrap();
    let all = "MATCH (n:P) RETURN id(n) AS id";
    let square = "MATCH (a:P), (b:P) RETURN id(a) AS source, id(b) AS target";
    let text = project(all, square, "{}");
    let cancelled = Arc::new(AtomicBool::new(true));
    let limits = Limits { cancelled: Some(cancelled), ..Limits::default() };
    let ended = error(&Session::new(&db).with_limits(limits), &text);
    assert_eq!(ended.kind, ErrorKind::Terminated);
    let quick = Session::new(&db).with_timeout(Duration::from_millis(50));
    // The machine may do something else meanwhile.
    let soon = (0..4).any(|_| {
        let begun = Instant::now();
        let ended = error(&quick, &text);
        assert_eq!(ended.kind, ErrorKind::TimedOut, "{ended}");
        begun.elapsed() < Duration::from_secs(10)
    });
    assert!(soon, "it went on for ten seconds");
    let limits = Limits { memory: Some(4 << 20), ..Limits::default() };
    let small = Session::new(&db).with_limits(limits);
    let ended = error(&small, &text);
    assert_eq!(ended.kind, ErrorKind::OutOfMemory, "{ended}");
    assert!(ended.message.contains("relationshipQuery"), "{ended}");
    // Lists inside of the text count, too.
    let list = "UNWIND [range(1, 1000000)] AS list RETURN size(list) AS id";
    let ended = error(&small, &project(list, KNOWS, "{}"));
    assert_eq!(ended.kind, ErrorKind::OutOfMemory, "{ended}");
    assert_eq!(shown(&session, "RETURN gds.graph.exists('g')"), "FALSE");
}

#[test]
fn one_value_of_a_node_of_a_graph_is_an_expression() {
    let db = database();
    let session = Session::new(&db);
    shop(&session);
    shown(
        &session,
        "CALL gds.graph.project('g', {Person: {properties: {years: {property: 'age', \
         defaultValue: -1}}}}, 'KNOWS')",
    );
    shown(&session, "CALL gds.degree.mutate('g', {mutateProperty: 'degree'})");
    let all = "MATCH (n:Person) RETURN n.name, gds.util.nodeProperty('g', n, 'degree') AS degree, \
               gds.util.nodeProperty('g', id(n), 'years', 'Person') AS years ORDER BY n.name";
    assert_eq!(shown(&session, all), "'a' 2.0 20\n'b' 1.0 30\n'c' 1.0 -1");
    assert_eq!(shown(&session, "RETURN gds.util.nodeProperty('g', null, 'degree')"), "NULL");
    let sum = "CALL gds.pageRank.stream('g') YIELD nodeId \
               WITH gds.util.nodeProperty('g', nodeId, 'years') AS years WHERE years > 0 \
               RETURN sum(years)";
    assert_eq!(shown(&session, sum), "50");
    let cases = [
        ("RETURN gds.util.nodeProperty('g', 3, 'name')", "node 3 is not in the graph g"),
        ("RETURN gds.util.nodeProperty('g', 99, 'name')", "node 99 is not in the graph g"),
        ("RETURN gds.util.nodeProperty('g', 0, 'yeers')", "did you mean years?"),
        ("RETURN gds.util.nodeProperty('h', 0, 'name')", "does not exist"),
        ("RETURN gds.util.nodeProperty('g', 'a', 'name')", "a node or its number"),
        ("RETURN gds.util.nodeProperty('g', 0, 'name', 'Item')", "has no label Item"),
        ("RETURN gds.util.nodeProperty('g', 0)", "cannot be called with 2 arguments"),
    ];
    for (text, expected) in cases {
        let found = error(&session, text);
        assert!(found.message.contains(expected), "{text}: {found}");
    }
    let numbers = "RETURN gds.util.asNode(0).name, [n IN gds.util.asNodes([0, 1]) | n.name], \
                   gds.util.isFinite(gds.util.infinity()), gds.util.isInfinite(gds.util.NaN()), \
                   gds.util.isFinite(1)";
    assert_eq!(shown(&session, numbers), "'a' ['a', 'b'] FALSE TRUE TRUE");
}
