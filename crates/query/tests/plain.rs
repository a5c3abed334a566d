//! Queries on a plain graph, without an engine: the same rows whether ids are dense or lie far
//! apart in partitions, and an error wherever a read fails.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_graph::{Value, ValueMap};
use telar_plain::PlainGraph;
use telar_query::function::{Context, Moment};
use telar_query::procedure::Procedures;
use telar_query::query::{Prepared, prepare};
use telar_query::{Access, ErrorKind, Inputs, Limits, QueryError, QueryResult};

/// Runs a statement that is planned already; changes are made to the graph.
fn run(plan: &Prepared, graph: &mut PlainGraph) -> Result<QueryResult, QueryError> {
    let (procedures, limits) = (Procedures::builtin(), Limits::default());
    let (parameters, context) = (ValueMap::new(), Context::new(Moment::now()));
    let inputs = Inputs {
        tables: None,
        parameters: &parameters,
        context: &context,
        procedures: &procedures,
        limits: &limits,
        transactions: None,
        host: None,
        threads: None,
    };
    match plan.writes() || plan.changes_schema() {
        true => plan.run(Access::Write(graph), inputs),
        false => plan.run(Access::Read(graph), inputs),
    }
}

fn query(text: &str, graph: &mut PlainGraph) -> Result<QueryResult, QueryError> {
    let plan = prepare(text, graph, &Procedures::builtin())?;
    run(&plan, graph)
}

/// Twenty people in a ring who know the next one and the one after that, five cities, an index.
fn people(mut graph: PlainGraph) -> PlainGraph {
    for text in [
        "CREATE INDEX people FOR (p:Person) ON (p.age)",
        "CREATE INDEX since FOR ()-[k:KNOWS]-() ON (k.since)",
        "UNWIND range(0, 4) AS i CREATE (:City {name: 'c' + i})",
        "UNWIND range(0, 19) AS i MATCH (c:City {name: 'c' + (i % 5)})
         CREATE (:Person {name: 'p' + i, age: 20 + i})-[:LIVES_IN]->(c)",
        "MATCH (a:Person), (b:Person) WHERE b.age - a.age IN [1, 2, -19, -18]
         CREATE (a)-[:KNOWS {since: a.age + b.age}]->(b)",
    ] {
        query(text, &mut graph).unwrap();
    }
    graph
}

fn dense() -> PlainGraph {
    people(PlainGraph::new())
}

/// Ids of three shards, whose numbers are in the highest bits.
fn sparse() -> PlainGraph {
    people(PlainGraph::with_partitions(&[0, 1 << 40, 5 << 40]))
}

/// Statements that only read, with their rows.
const READS: &[(&str, &str)] = &[
    ("MATCH (n) RETURN count(*)", "[[25]]"),
    ("MATCH (n:Person) RETURN count(n), min(n.age), max(n.age), sum(n.age)", "[[20, 20, 39, 590]]"),
    ("MATCH (n:Nothing) RETURN n", "[]"),
    ("MATCH ()-[r]->() RETURN count(*)", "[[60]]"),
    ("MATCH ()-[r:KNOWS]->() RETURN count(r), min(r.since)", "[[40, 41]]"),
    ("MATCH (p:Person {age: 25}) RETURN p.name", "[['p5']]"),
    ("MATCH (p:Person) WHERE p.age > 37 RETURN p.name ORDER BY p.name DESC", "[['p19'], ['p18']]"),
    ("MATCH ()-[k:KNOWS {since: 41}]->() RETURN count(*)", "[[1]]"),
    ("MATCH (p {name: 'p0'})-[:KNOWS]->(q) RETURN q.name ORDER BY q.name", "[['p1'], ['p2']]"),
    ("MATCH (p {name: 'p0'})-[:KNOWS]-(q) RETURN count(DISTINCT q)", "[[4]]"),
    ("MATCH (p {name: 'p0'})-[:KNOWS*2]->(q) RETURN count(*), count(DISTINCT q)", "[[4, 3]]"),
    ("MATCH (p {name: 'p0'})-[:KNOWS*1..3]-(q) RETURN count(DISTINCT q)", "[[13]]"),
    (
        "MATCH p = shortestPath((a {name: 'p0'})-[:KNOWS*]->(b {name: 'p9'})) RETURN length(p)",
        "[[5]]",
    ),
    ("MATCH (a {name: 'p0'}), (b {name: 'p2'}) RETURN EXISTS { (a)-[:KNOWS]->(b) }", "[[TRUE]]"),
    ("MATCH (a:Person)-[:KNOWS]->(b)-[:KNOWS]->(c)<-[:KNOWS]-(a) RETURN count(*)", "[[20]]"),
    (
        "MATCH (c:City)<-[:LIVES_IN]-(p) WITH c, avg(p.age) AS a RETURN c.name, a ORDER BY c.name",
        "[['c0', 27.5], ['c1', 28.5], ['c2', 29.5], ['c3', 30.5], ['c4', 31.5]]",
    ),
    (
        "MATCH (a:Person)-[:KNOWS]->(b) WHERE NOT (a)-[:LIVES_IN]->()<-[:LIVES_IN]-(b) RETURN count(*)",
        "[[40]]",
    ),
    ("MATCH (p:Person) OPTIONAL MATCH (p)-[:NONE]->(q) RETURN count(p), count(q)", "[[20, 0]]"),
    (
        "MATCH (p {name: 'p3'}) RETURN labels(p), keys(p), properties(p).age",
        "[[['Person'], ['age', 'name'], 23]]",
    ),
    (
        "MATCH (n) WITH labels(n)[0] AS l RETURN l, count(*) ORDER BY l",
        "[['City', 5], ['Person', 20]]",
    ),
    ("CALL db.labels() YIELD label RETURN label ORDER BY label", "[['City'], ['Person']]"),
    ("MATCH (p:Person) WHERE p.name STARTS WITH 'p1' RETURN count(*)", "[[11]]"),
    ("MATCH (p:Person) WHERE p:Person AND NOT p:City RETURN count(*)", "[[20]]"),
    (
        "MATCH (p:Person) RETURN p.age % 2 AS odd, min(p.name) ORDER BY odd",
        "[[0, 'p0'], [1, 'p1']]",
    ),
    (
        "MATCH (a:Person {age: 20}), (b:Person {age: 21}) MATCH (a)-[k:KNOWS]->(b) RETURN k.since",
        "[[41]]",
    ),
];

/// Statements that change something, and a query with its rows afterwards.
const WRITES: &[(&str, &str, &str)] = &[
    ("MATCH (p:Person) SET p.old = p.age > 30", "MATCH (p {old: true}) RETURN count(*)", "[[9]]"),
    ("MATCH (p:Person) DETACH DELETE p", "MATCH (n) RETURN count(*)", "[[5]]"),
    ("MATCH ()-[k:KNOWS]->() DELETE k", "MATCH ()-[r]->() RETURN count(*)", "[[20]]"),
    (
        "MATCH (p {name: 'p0'}) MERGE (p)-[k:KNOWS]->(q {name: 'p1'}) ON MATCH SET k.again = true",
        "MATCH ()-[k {again: true}]->() RETURN count(*)",
        "[[1]]",
    ),
    ("MERGE (p:Person {name: 'new'})", "MATCH (p:Person) RETURN count(*)", "[[21]]"),
    (
        "MATCH (p {name: 'p0'}) DELETE p WITH 1 AS x MATCH ()-[r]->() DELETE r",
        "MATCH (n) RETURN count(*)",
        "[[24]]",
    ),
    ("MATCH (p:Person) REMOVE p:Person", "MATCH (p:Person) RETURN count(*)", "[[0]]"),
];

fn rows(result: &QueryResult) -> String {
    let value = |value: &Value| telar_query::literal(value);
    let row =
        |row: &Vec<Value>| format!("[{}]", row.iter().map(value).collect::<Vec<_>>().join(", "));
    format!("[{}]", result.rows.iter().map(row).collect::<Vec<_>>().join(", "))
}

#[test]
fn rows_are_the_same_on_dense_and_on_sparse_ids() {
    for (mut graph, what) in [(dense(), "dense"), (sparse(), "sparse")] {
        for (text, expected) in READS {
            let found = query(text, &mut graph).unwrap_or_else(|e| panic!("{what}: {text}: {e}"));
            assert_eq!(rows(&found), *expected, "{what}: {text}");
        }
        for (change, text, expected) in WRITES {
            let mut graph = graph.clone();
            query(change, &mut graph).unwrap_or_else(|e| panic!("{what}: {change}: {e}"));
            let found = query(text, &mut graph).unwrap();
            assert_eq!(rows(&found), *expected, "{what}: {change}");
        }
    }
}

#[test]
fn a_read_that_fails_is_an_error_of_the_statement_whichever_it_is() {
    let mut unread = 0;
    let statements = READS.iter().map(|(text, _)| text).chain(WRITES.iter().map(|(text, ..)| text));
    for text in statements {
        let graph = sparse();
        let plan = prepare(text, &graph, &Procedures::builtin()).unwrap();
        let many = 1 << 20;
        let mut counted = graph.clone();
        counted.fail_after(Some(many));
        run(&plan, &mut counted).unwrap();
        let reads = many - counted.reads_left().unwrap();
        // A label that nobody has, and names of labels, need not be read.
        unread += usize::from(reads == 0);
        for failing in 0..reads {
            let mut graph = graph.clone();
            graph.fail_after(Some(failing));
            let error = run(&plan, &mut graph).expect_err(text);
            assert_eq!(error.kind, ErrorKind::Database, "{text}: {error}");
            assert!(error.message.contains("meant to fail"), "{text}: {error}");
        }
    }
    assert_eq!(unread, 1, "statements without a read");
}

#[test]
fn a_plan_looks_for_each_name_once() {
    const TEXTS: [(&str, &str); 8] = [
        ("MATCH (p:Person) RETURN count(*)", "[[20]]"),
        ("MATCH (p:Person) RETURN sum(p.age)", "[[590]]"),
        ("MATCH (p:Person {age: 25}) RETURN p.age", "[[25]]"),
        ("MATCH (p) WHERE p:Person AND p.age < 22 RETURN count(*)", "[[2]]"),
        ("MATCH (p:Person)-[:KNOWS]->(q) RETURN count(q)", "[[40]]"),
        ("MATCH (p)-[:KNOWS|LIVES_IN]->(q) RETURN count(*)", "[[60]]"),
        ("MATCH ()-[k:KNOWS {since: 41}]->() RETURN k.since", "[[41]]"),
        ("MATCH (p:Person {age: 20})-[:KNOWS*2]->(q) RETURN count(*)", "[[4]]"),
    ];
    let graph = dense();
    for (text, expected) in TEXTS {
        let plan = prepare(text, &graph, &Procedures::builtin()).unwrap();
        assert_eq!(rows(&run(&plan, &mut graph.clone()).unwrap()), expected, "{text}");
        // The same graph under other names: whoever looks for the old ones finds none.
        let mut renamed = graph.clone();
        for name in renamed.labels.iter_mut().chain(&mut renamed.types).chain(&mut renamed.keys) {
            name.push('2');
        }
        assert_eq!(rows(&run(&plan, &mut renamed).unwrap()), expected, "{text}");
    }
}
