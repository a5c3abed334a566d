//! No clause sees what a later one does, and each sees all that those before it did: every way of
//! reading beside every way of writing, against the same with all rows collected in between.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::{database, rows, show};
use telar_db::query::PlanDescription;
use telar_db::{Session, Value, ValueMap};

const SETUP: &str = "
    CREATE (s:S {k: 1})-[:R]->(a:A {v: 1, w: 1})-[:R]->(b:A {v: 2, w: 1})-[:R]->(:A:Old {v: 3}),
           (s)-[:R]->(b), (:B {v: 2}), (:B:Done {v: 3})";

/// Each finds nodes `a` for each of several rows, so that some come in later batches.
const READS: &[&str] = &[
    "MATCH (a:A)",
    "MATCH (a)",
    "MATCH (a:A|B)",
    "MATCH (a:A) WHERE NOT a:Done",
    "MATCH (a) WHERE a.v > 1",
    "MATCH (a) WHERE a:A",
    "MATCH (a:A {v: 2})",
    "MATCH (a:A) WHERE a.v >= 2",
    "MATCH (a:A) WHERE a.v IS NOT NULL",
    "MATCH (a:A) WHERE any(k IN keys(a) WHERE k = 'v')",
    "MATCH (a:A), (b:B) WHERE a.v = b.v",
    "MATCH (a:A), (b:B)",
    "MATCH (s)-[:R]->(a)",
    "MATCH (s)-[r]-(a) WHERE type(r) = 'R'",
    "MATCH (s)-[:R*1..3]->(a)",
    "MATCH (s) ((x)-[:R]->(y)){1,2} (a)",
    "MATCH shortestPath((s)-[:R*..5]->(a:A))",
    "MATCH ALL SHORTEST (s)-[:R]->+(a:A)",
    "MATCH (s)-[:R]->(z)-[:R]->(a), (s)-[:R]->(a)",
    "OPTIONAL MATCH (a:A) WHERE a.v > 2",
    "MATCH (a:A) WHERE EXISTS { (a)-[:R]->(:A) }",
    "MATCH (a:A) WHERE COUNT { MATCH (b:A) WHERE b.w = a.w } > 0",
    "MATCH (a:A) WITH DISTINCT s, i, a",
    "UNWIND [1, 2] AS u MATCH (a:B) WITH DISTINCT s, i, a",
    "CALL (s) { MATCH (s)-[:R]->(a:A) RETURN a }",
    "CALL () { MATCH (a:A) RETURN a UNION MATCH (a:B) RETURN a }",
    "MATCH (x:A) UNWIND [(x)-[:R]->(y) | y] AS a WITH a, s, i",
    "MATCH (a) WHERE elementId(a) = elementId(s)",
];

/// Each changes something for a row with `a`, `s` and `i`.
const WRITES: &[&str] = &[
    "CREATE (:A {v: 2, w: 1})",
    "CREATE (:B {v: i})",
    "CREATE (:Z)",
    "CREATE (s)-[:R]->(:A {v: 9})",
    "CREATE (s)-[:R]->(:A {v: 1})-[:R]->(:A {v: 2})",
    "MERGE (x:A {v: coalesce(a.v, 0) + 1})",
    "MERGE (x:B {v: i}) ON MATCH SET x.w = coalesce(x.w, 0) + 1 ON CREATE SET x:A",
    "MERGE (s)-[:R]->(x:A {v: i})",
    "SET a.v = a.v + 1",
    "SET a.w = coalesce(a.w, 0) + 1",
    "SET a += {v: 2}",
    "SET a = {v: a.v + 10}",
    "SET a:Done",
    "SET a:A",
    "REMOVE a:A",
    "REMOVE a.v",
    "DETACH DELETE a",
    "FOREACH (j IN [1, 2] | CREATE (:A {v: j + 1}))",
    "FOREACH (j IN [i] | MERGE (:A {v: j}) SET a.v = j)",
    "CREATE (z:A {v: 5}) SET z.w = i",
    "SET a.w = i SET s.k = a.w + s.k",
    "SET a.v = 7 REMOVE a.w",
    "CALL (s) { CREATE (:A {v: 2}) }",
    "CALL (*) { WITH 1 AS one CREATE (s)-[:R]->(:A {v: i}) }",
    "CALL (a) { SET a.v = a.v + 1 }",
    "CALL (a) { DETACH DELETE a }",
    "CALL (s) { MATCH (x:A) WITH max(x.v) AS top CREATE (s)-[:R]->(:A {v: top + 1}) }",
    "CALL (i) { MERGE (x:A {v: i + 2}) RETURN x } ",
    "CALL (i) { UNWIND [1, 2] AS j CREATE (x:A {v: j}) RETURN x }",
];

/// What stands behind the change.
const BEHIND: &[&str] = &[
    "RETURN count(*) AS n",
    "RETURN i, COUNT { MATCH (:A) } AS n",
    "RETURN i, EXISTS { (s)-[:R]->({v: 9}) } AS e, COUNT { (s)-->() } AS n",
    "WITH s, i MATCH (z:A) RETURN i, z.v AS v",
    "WITH s, i MATCH (s)-[:R]->(z) RETURN i, z.v AS v, labels(z) AS l",
    "WITH s, i OPTIONAL MATCH (z {v: 2}) RETURN i, z.w AS w",
    "WITH s, i CALL (s) { MATCH (s)-[:R]->(z) RETURN count(z) AS n } RETURN i, n",
    "RETURN s.k AS k, i",
    "WITH s, i SET s.k = s.k + 1 CREATE (:A {v: s.k})",
    "WITH s, i MERGE (x:A {v: i + 1}) ON MATCH SET x.hit = coalesce(x.hit, 0) + 1",
];

/// Everything in the graph, as text.
const GRAPH: [&str; 2] = [
    "MATCH (n) RETURN labels(n) AS l, properties(n) AS p",
    "MATCH (x)-[r]->(y) RETURN type(r) AS t, properties(x) AS x, properties(y) AS y",
];

/// Rows of a query and the graph behind it, which is undone.
fn outcome(session: &Session, query: &str) -> Result<Vec<Vec<String>>, String> {
    let mut transaction = session.begin().map_err(|e| e.to_string())?;
    let mut all = Vec::new();
    for query in [&[query], &GRAPH[..]].concat() {
        let result = transaction.run(query, &ValueMap::new()).map_err(|e| e.to_string())?;
        let row = |row: &Vec<Value>| row.iter().map(show).collect::<Vec<_>>().join(" | ");
        let mut rows: Vec<String> = result.rows.iter().map(row).collect();
        rows.sort();
        all.push(rows);
    }
    transaction.rollback();
    Ok(all)
}

fn compare(session: &Session, cases: impl Iterator<Item = (String, String)>) -> usize {
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for (query, steps) in cases {
        asked += 1;
        let (found, expected) = (outcome(session, &query), outcome(session, &steps));
        if found != expected {
            wrong.push(format!("{query}\n  step by step {expected:?}\n  at once      {found:?}"));
        }
    }
    let shown = wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{shown}", wrong.len());
    asked
}

const BEGIN: &str = "MATCH (s:S) UNWIND [1, 2, 3] AS i WITH s, i";
/// Reads all rows before the first goes on.
const HOLD_ALL: &str = "WITH collect([a, s, i]) AS held UNWIND held AS one \
                        WITH one[0] AS a, one[1] AS s, one[2] AS i";
const HOLD: &str = "WITH collect([s, i]) AS more UNWIND more AS two WITH two[0] AS s, two[1] AS i";

fn indexed() -> telar_db::Database {
    let db = database(SETUP);
    let session = Session::new(&db);
    for index in ["CREATE INDEX FOR (n:A) ON (n.v)", "CREATE INDEX FOR (n:B) ON (n.v)"] {
        session.run(index, &[]).unwrap();
    }
    drop(session);
    db
}

#[test]
fn no_reading_clause_sees_what_a_later_one_changes() {
    let db = indexed();
    let pairs = READS.iter().flat_map(|read| WRITES.iter().map(move |write| (read, write)));
    let cases = pairs.map(|(read, write)| {
        // Of null no relationship can be made, nor anything merged.
        let query =
            |hold: &str| format!("{BEGIN} {read} WITH a, s, i {hold} {write} RETURN count(*) AS n");
        (query(""), query(HOLD_ALL))
    });
    let asked = compare(&Session::new(&db), cases);
    assert_eq!(asked, READS.len() * WRITES.len());
}

#[test]
fn each_clause_sees_all_that_those_before_it_changed() {
    let db = indexed();
    let reads = [READS[0], READS[6], READS[12], READS[22]];
    let pairs = WRITES.iter().flat_map(|write| BEHIND.iter().map(move |behind| (write, behind)));
    let cases = pairs.flat_map(|(write, behind)| {
        reads.map(|read| {
            let query = |all: &str, hold: &str| {
                format!("{BEGIN} {read} WITH a, s, i {all} {write} WITH s, i {hold} {behind}")
            };
            (query("", ""), query(HOLD_ALL, HOLD))
        })
    });
    let asked = compare(&Session::new(&db), cases);
    assert_eq!(asked, reads.len() * WRITES.len() * BEHIND.len());
}

/// More rows than a batch holds, with one node in all of them.
#[test]
fn rows_of_several_batches_see_the_same() {
    for (query, expected) in [
        (
            "MATCH (s:S) UNWIND range(1, 5000) AS i SET s.k = i RETURN collect(DISTINCT s.k)",
            "[5000]",
        ),
        (
            "MATCH (s:S) UNWIND range(1, 5000) AS i SET s.k = i WITH s.k AS k RETURN collect(DISTINCT k)",
            "[5000]",
        ),
        (
            "UNWIND range(1, 5000) AS i CREATE (:N) WITH COUNT { MATCH (:N) } AS c
             RETURN collect(DISTINCT c)",
            "[5000]",
        ),
        (
            "UNWIND range(1, 5000) AS i MERGE (n:N {i: i % 2}) ON MATCH SET n.c = i WITH n.c AS c
             RETURN collect(DISTINCT c)",
            "[4999, 5000]",
        ),
        (
            "MATCH (s:S) UNWIND range(1, 5000) AS i CALL (s, i) { SET s.k = i } WITH s.k AS k
             RETURN collect(DISTINCT k)",
            "[5000]",
        ),
        (
            "MATCH (s:S) UNWIND range(1, 5000) AS i WITH s, i SET s.k = i SET s.k = 0
             RETURN collect(DISTINCT s.k)",
            "[0]",
        ),
    ] {
        let db = database(SETUP);
        assert_eq!(rows(&Session::new(&db), query), [expected], "{query}");
    }
    // A result shows nodes as they are in the end.
    let db = database(SETUP);
    let query = "MATCH (s:S) UNWIND range(1, 5000) AS i SET s.k = i RETURN s";
    let result = Session::new(&db).run(query, &[]).unwrap();
    assert_eq!((result.rows.len(), result.entities.nodes.len()), (5000, 1));
    assert_eq!(eagers(&db, query), 1);
}

/// The findings themselves, as they were reported.
#[test]
fn subqueries_do_not_feed_the_scan_before_them() {
    for (query, expected) in [
        (
            "MATCH (a:E), (b:E) WITH DISTINCT b CALL (b) { CREATE (z:E) RETURN z } RETURN count(z)",
            "4",
        ),
        ("MATCH (a), (b) WITH DISTINCT b CALL (b) { CREATE (:Z) } RETURN count(*)", "4"),
        ("MATCH (a), (b) WITH DISTINCT b FOREACH (x IN [1] | CREATE (:Z)) RETURN count(*)", "4"),
        (
            "MATCH (a), (b) WITH DISTINCT b CALL (b) { MERGE (z:Z {e: elementId(b)}) } RETURN count(*)",
            "4",
        ),
        ("MATCH (a), (b) WITH DISTINCT b CALL (b) { DETACH DELETE b } RETURN count(*)", "4"),
    ] {
        let db = database("CREATE (:E), (:E), (:E), (:E)");
        assert_eq!(rows(&Session::new(&db), query), [expected], "{query}");
    }
    let db = database("CREATE (:E), (:E), (:E), (:E)");
    let session = Session::new(&db);
    let query = "MATCH (a), (b) WITH DISTINCT b CALL (b) { CREATE (:Z) } IN TRANSACTIONS OF 1 ROW
                 RETURN count(*)";
    assert_eq!(rows(&session, query), ["4"]);
    assert_eq!(rows(&session, "MATCH (z:Z) RETURN count(*)"), ["4"]);
}

fn plan(session: &Session, query: &str) -> String {
    session.run(&format!("EXPLAIN {query}"), &[]).unwrap().plan.unwrap().to_string()
}

fn count(plan: &PlanDescription, operator: &str) -> usize {
    let below: usize = plan.children.iter().map(|child| count(child, operator)).sum();
    below + usize::from(*plan.operator == *operator)
}

fn eagers(db: &telar_db::Database, query: &str) -> usize {
    let result = Session::new(db).run(&format!("EXPLAIN {query}"), &[]).unwrap();
    count(&result.plan.unwrap(), "Eager")
}

/// Rows are held only where they have to be.
#[test]
fn plans_hold_rows_only_where_clauses_meet() {
    let db = indexed();
    for (query, expected) in [
        ("CREATE (a:A {v: 1}) SET a.w = 2 RETURN a", 0),
        ("MERGE (a:A {v: 1}) MERGE (b:A {v: 2}) MERGE (a)-[:R]->(b) RETURN a, b", 0),
        ("MATCH (a:A) SET a.w = 1", 0),
        ("MATCH (a:A) SET a.w = a.w + 1 RETURN a.w, a", 0),
        ("MATCH (a:A {v: 1}) SET a.w = 2 RETURN a", 0),
        ("MATCH (a:A) DETACH DELETE a", 0),
        ("MATCH (a:A) REMOVE a.w RETURN a.v", 0),
        ("UNWIND [1, 2] AS i CREATE (a:A {v: i}) SET a.w = i RETURN a", 0),
        ("UNWIND [1, 2] AS i MERGE (a:A {v: i}) MERGE (b:B {v: i}) MERGE (a)-[:R]->(b)", 0),
        ("UNWIND [1, 2] AS i MATCH (a:A {v: i}) CREATE (a)-[:T]->(:C)", 0),
        ("MATCH (a:A) CALL (a) { SET a.w = 1 }", 0),
        ("MATCH (a:A) CALL (a) { CREATE (:C {v: a.v}) }", 0),
        ("MATCH (a:A) FOREACH (i IN [1] | SET a.w = i)", 0),
        ("UNWIND [1, 2] AS i MATCH (a:A {v: i}) SET a.w = 1 RETURN a.v", 0),
        // Here they must be.
        ("MATCH (a:A {v: 1}) SET a.v = 2", 1),
        ("MATCH (a:A) SET a:B", 1),
        ("MATCH (a:A) CREATE (:A)", 1),
        ("MATCH (a:A) CALL (a) { CREATE (:A) }", 1),
        ("MATCH (a:A) FOREACH (i IN [1] | CREATE (:A))", 1),
        ("UNWIND [1, 2] AS i MERGE (a:A {v: i}) MERGE (b:A {v: i + 1})", 1),
        ("UNWIND [1, 2] AS i MATCH (a:A {v: i}) SET a.w = 1 RETURN a.w", 1),
        ("MATCH (a:A)-[:R]->(b) SET b.w = 1 RETURN b", 1),
        ("MATCH (a:A)-[:R]->(b) CREATE (a)-[:T]->(b)", 1),
        ("UNWIND [1, 2] AS i CREATE (:A) WITH i MATCH (a:A) RETURN count(*)", 1),
    ] {
        let text = plan(&Session::new(&db), query);
        assert_eq!(eagers(&db, query), expected, "{query}\n{text}");
    }
}
