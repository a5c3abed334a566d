//! The first rows by a property come from an index in its order: they are those of all rows sorted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use telar_db::query::{Limits, QueryError, Rows, Scratch, ScratchFolder, Sink};
use telar_db::{Database, Retention, Session, Settings, Value, ValueMap};
use tempfile::TempDir;

/// Numbers of which many are equal, values of other types, nodes without any, and relationships.
const MAKE: [&str; 13] = [
    "CREATE INDEX nodes FOR (n:N) ON (n.v)",
    "CREATE CONSTRAINT one FOR (m:M) REQUIRE m.i IS UNIQUE",
    "CREATE INDEX two FOR (n:N) ON (n.g, n.w)",
    "CREATE INDEX few FOR (n:N) ON (n.few)",
    "CREATE TEXT INDEX texts FOR (n:N) ON (n.t)",
    "CREATE INDEX relationships FOR ()-[r:R]-() ON (r.v)",
    "UNWIND range(0, 2999) AS i
     CREATE (:N {i: i, v: (i * 7919) % 211, g: i % 5, w: (i * 31) % 97, t: 't' + (i % 300)})",
    "UNWIND range(0, 199) AS i CREATE (:N {i: 3000 + i, v: (i % 17) / 4.0, g: 3})",
    "UNWIND range(0, 99) AS i CREATE (:N {i: 4000 + i})",
    "UNWIND [1.0, 0.0 / 0.0, 1.0 / 0.0, 'x', 'long text that goes on', true, date('2020-01-01'), [1],
             [2, 1], time('12:00+01:00'), time('11:00Z'), datetime('2020-01-01T00:00+02:00'),
             datetime('2019-12-31T22:00Z'), localdatetime('2020-01-01T00:00'), duration('P1M'),
             duration('P30D'), duration('PT720H'), point({x: 1, y: 2}), point({x: 1, y: -2, z: 3})]
       AS v CREATE (:N {i: 5000, v: v})",
    "MATCH (n:N) WHERE n.i < 1000 CREATE (n)-[:R {v: (n.i * 13) % 101}]->(:M {i: n.i})",
    "MATCH (n:N) WHERE n.i < 1000 SET n.few = n.i % 2",
    "MATCH (n:N), (m:M) WHERE n.i < 300 AND m.i = n.i + 1 CREATE (n)-[:R {v: n.i % 7}]->(m)",
];

/// A pattern, its sort key, and whether an index can be read in the order of that.
const CASES: &[(&str, &str, bool)] = &[
    ("MATCH (n:N) WHERE n.v > 100", "n.v", true),
    ("MATCH (n:N) WHERE n.v >= 10 AND n.v < 150 AND n.i % 3 = 0", "n.v", true),
    ("MATCH (n:N) WHERE n.v IS NOT NULL", "n.v", true),
    ("MATCH (n:N) WHERE n.v IS NOT NULL AND n.i % 2 = 0", "n.v", true),
    ("MATCH (n:M) WHERE n.i IS NOT NULL", "n.i", true),
    ("MATCH (n:N {g: 3}) WHERE n.w > 5", "n.w", true),
    ("MATCH (n:N) WHERE n.t STARTS WITH 't1'", "n.t", true),
    ("MATCH (n:N) WHERE n.t CONTAINS '9'", "n.t", true),
    ("MATCH (n:N) WHERE n.t ENDS WITH '9'", "n.t", true),
    ("MATCH (n:N) WHERE n.v > 100 UNWIND [1, 2] AS x WITH n, x", "n.v", true),
    ("MATCH (n:N) WHERE n.v > 100 WITH n, n.v AS v", "v", true),
    ("MATCH (n:N) WHERE n.v > 100 WITH n AS m WITH m AS n", "n.v", true),
    ("MATCH (n:N) WHERE n.v IS NOT NULL WITH n, n.v AS v WHERE v < 200", "v", true),
    ("MATCH (n:N) WHERE n.v > 100 MATCH (n)-[:R]->(m)", "n.v", true),
    ("MATCH (n:N) WHERE n.v > 100 CALL (n) { MATCH (n)-->(m) RETURN m LIMIT 1 }", "n.v", true),
    ("MATCH (n)-[r:R]->(m) WHERE r.v > 50", "r.v", true),
    ("MATCH (n)-[r:R]->(m) WHERE r.v < 50 AND m.i % 2 = 0", "r.v", true),
    ("MATCH (n)-[r:R]-(m) WHERE r.v > 50", "r.v", true),
    // Nobody knows how few rows there are.
    ("MATCH (n:N) WHERE n.v IS NOT NULL AND n.t CONTAINS 't1'", "n.v", false),
    // What no index has, or has in another order.
    ("MATCH (n:N)", "n.v", false),
    ("MATCH (n:N) USING SCAN n:N WHERE n.v IS NOT NULL", "n.v", false),
    ("MATCH (n:N) WHERE n.v > 100", "-n.v", false),
    ("MATCH (n:N) WHERE n.v > 100", "n.i", false),
    ("MATCH (n:N) WHERE n.v IN [3, 200, 7]", "n.v", false),
    ("MATCH (n:N) WHERE n.g IN [1, 2] AND n.w > 5", "n.w", false),
    ("MATCH (n:N) WHERE n.v > 100 MATCH (n)--(m)", "n.v", false),
    ("MATCH (n:N) WHERE n.v > 100 OPTIONAL MATCH (n)-[:R]->(m)", "n.v", false),
    ("UNWIND [1, 2] AS x MATCH (n:N) WHERE n.v > 100 + x", "n.v", false),
    ("MATCH (n:N) WHERE n.v > 100 WITH DISTINCT n", "n.v", false),
];

fn database() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in MAKE {
        session.run(text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    drop(session);
    db
}

/// The rows of a query.
type Run<'r> = &'r dyn Fn(&str) -> Vec<Vec<Value>>;

fn all_cases_agree(run: Run<'_>) {
    for (pattern, key, _) in CASES {
        for order in [
            key.to_string(),
            format!("{key} DESC"),
            format!("{key} DESC, n.i"),
            format!("{key}, n.i DESC"),
        ] {
            let text = format!("{pattern} RETURN {key} AS k, n.i AS i ORDER BY {order}");
            let all = run(&text);
            let mut times = BTreeMap::<_, usize>::new();
            all.iter().for_each(|row| *times.entry(row.clone()).or_default() += 1);
            for (skip, limit) in [(0, 0), (0, 1), (0, 17), (5, 20), (40, 3), (0, 250), (0, 9999)] {
                let text = format!("{text} SKIP {skip} LIMIT {limit}");
                let some = run(&text);
                let wanted = &all[skip.min(all.len())..(skip + limit).min(all.len())];
                for at in 0..order.split(", ").count() {
                    assert_eq!(column(&some, at), column(wanted, at), "{text}");
                }
                // Of rows with equal keys any may come, each once.
                let mut left = times.clone();
                for row in some {
                    let left = left.get_mut(&row).unwrap_or_else(|| panic!("{row:?}: {text}"));
                    *left = left.checked_sub(1).unwrap_or_else(|| panic!("{row:?} again: {text}"));
                }
            }
        }
    }
}

fn column(rows: &[Vec<Value>], at: usize) -> Vec<&Value> {
    rows.iter().map(|row| &row[at]).collect()
}

#[test]
fn the_first_rows_are_those_of_all_sorted() {
    let db = database();
    let session = Session::new(&db);
    all_cases_agree(&|text| session.run(text, &[]).unwrap().rows);
}

#[test]
fn they_are_with_what_a_transaction_has_written() {
    let db = database();
    let session = Session::new(&db);
    let transaction = std::cell::RefCell::new(session.begin().unwrap());
    let run = |text: &str| transaction.borrow_mut().run(text, &ValueMap::new()).unwrap().rows;
    for text in [
        "MATCH (n:N) WHERE n.i % 7 = 0 SET n.v = 150",
        "MATCH (n:N) WHERE n.i % 7 = 1 SET n.w = n.w + 1, n.t = 't9' + n.i",
        "MATCH (n:N) WHERE n.i % 7 = 2 AND n.i < 500 DETACH DELETE n",
        "UNWIND range(0, 200) AS i CREATE (:N {i: 6000 + i, v: i, g: 3, w: i})-[:R {v: i}]->(:M {i: i})",
        "MATCH (:N)-[r:R]->() WHERE r.v % 5 = 0 SET r.v = 60",
    ] {
        run(text);
    }
    all_cases_agree(&run);
}

#[test]
fn plans_say_so() {
    let db = database();
    let session = Session::new(&db);
    for (pattern, key, in_order) in CASES {
        for order in ["", " DESC"] {
            let text =
                format!("EXPLAIN {pattern} RETURN n.i, {key} AS k ORDER BY {key}{order} LIMIT 3");
            let plan = session.run(&text, &[]).unwrap().plan.unwrap().to_string();
            assert_eq!(plan.contains("PartialTop"), *in_order, "{text}\n{plan}");
            assert_eq!(plan.contains(" ORDER BY "), *in_order, "{text}\n{plan}");
        }
    }
    // All that have the last value would be read.
    for (condition, order, in_order) in [
        ("n.few >= 0", "n.few", true),
        ("n.few >= 0", "n.few, n.i", false),
        ("n.v >= 0", "n.v, n.i", true),
    ] {
        let text =
            format!("EXPLAIN MATCH (n:N) WHERE {condition} RETURN n ORDER BY {order} LIMIT 3");
        let plan = session.run(&text, &[]).unwrap().plan.unwrap().to_string();
        assert_eq!(plan.contains("PartialTop"), in_order, "{text}\n{plan}");
    }
    // All of an index only where few of its rows are wanted, or perhaps few.
    for (limit, scans) in [("20", false), ("1 + 2", false), ("$few", false), ("2000", true)] {
        let text = format!(
            "EXPLAIN MATCH (n:N) WHERE n.v IS NOT NULL RETURN n ORDER BY n.v LIMIT {limit}"
        );
        let plan = session.run(&text, &[("few", Value::Int(3))]).unwrap().plan.unwrap().to_string();
        assert_eq!(plan.contains("NodeByLabelScan"), scans, "{text}\n{plan}");
        assert_eq!(plan.contains("NodeIndexScan"), !scans, "{text}\n{plan}");
    }
}

/// The first of each group, which the index has, too.
#[test]
fn each_row_of_a_query_around_has_its_own_first_rows() {
    let db = database();
    let session = Session::new(&db);
    let inner = "MATCH (n:N {g: g}) WHERE n.w >= 0 RETURN n.w AS w, n.i AS i ORDER BY w DESC, i";
    let first = format!("UNWIND range(0, 4) AS g CALL (g) {{ {inner} LIMIT 3 }} RETURN g, w, i");
    let plan = session.run(&format!("EXPLAIN {first}"), &[]).unwrap().plan.unwrap().to_string();
    assert!(plan.contains("PartialTop"), "{plan}");
    let all = format!(
        "UNWIND range(0, 4) AS g CALL (g) {{ {inner} }} WITH g, collect([w, i])[..3] AS r UNWIND r AS x RETURN g, x[0], x[1]"
    );
    let sorted = |text: &str| {
        let mut rows = session.run(text, &[]).unwrap().rows;
        rows.sort();
        rows
    };
    assert_eq!(sorted(&first).len(), 15);
    assert_eq!(sorted(&first), sorted(&all));
    let collected = "UNWIND range(0, 4) AS g RETURN g, COLLECT { MATCH (n:N {g: g}) WHERE n.w > 3 \
                     RETURN n.w ORDER BY n.w LIMIT 2 } AS l";
    for row in sorted(collected) {
        let Value::List(list) = &row[1] else { panic!("{row:?}") };
        assert!(list.len() == 2 && list[0] <= list[1] && list[0] > Value::Int(3), "{row:?}");
    }
}

/// Rows go to files, and several threads are at work, above and below what is read in order.
#[test]
fn spilled_and_shared_rows_have_the_same_order() {
    let db = database();
    let folder = TempDir::new().unwrap();
    let scratch: Arc<dyn Scratch> = Arc::new(ScratchFolder::new(folder.path()));
    let limits = Limits { scratch: Some(scratch), spill_after: Some(0), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits);
    all_cases_agree(&|text| session.run(text, &[]).unwrap().rows);
    let session = Session::new(&db);
    let random = "MATCH (n:N) WHERE n.v > 100 WITH n, rand() AS r WHERE r >= 0 MATCH (n)-[:R]->(m)";
    let keys = |text: String| -> Vec<Value> {
        session.run(&text, &[]).unwrap().rows.into_iter().flatten().collect()
    };
    let sorted = keys(format!("{random} RETURN n.v ORDER BY n.v DESC"));
    assert_eq!(keys(format!("{random} RETURN n.v ORDER BY n.v DESC LIMIT 90")), sorted[..90]);
}

#[test]
fn each_transaction_of_a_query_reads_what_the_one_before_it_left() {
    let db = database();
    let session = Session::new(&db);
    let text = "UNWIND range(1, 30) AS x CALL (x) {
                  MATCH (n:N) WHERE n.v >= 0 WITH n ORDER BY n.v LIMIT 1
                  SET n.v = -n.i - 1 RETURN n.i AS i
                } IN TRANSACTIONS OF 7 ROWS RETURN count(DISTINCT i)";
    assert_eq!(session.run(text, &[]).unwrap().rows, [[Value::Int(30)]]);
    let lowest = "MATCH (n:N) WHERE n.v >= 0 RETURN n.v ORDER BY n.v LIMIT 1";
    let minimum = "MATCH (n:N) WHERE n.v >= 0 RETURN min(n.v)";
    let value = |text: &str| session.run(text, &[]).unwrap().rows;
    assert_eq!(value(lowest), value(minimum));
}

/// An index that nobody has loaded since the database was opened.
#[test]
fn a_database_that_was_opened_again_has_the_same_first_rows() {
    let folder = TempDir::new().unwrap();
    let open = || telar_db::open(folder.path()).unwrap();
    let db = open();
    let session = Session::new(&db);
    MAKE.iter().for_each(|text| _ = session.run(text, &[]).unwrap());
    drop((session, db));
    for case in CASES {
        for order in ["", " DESC"] {
            let db = open();
            let session = Session::new(&db);
            let (pattern, key, _) = case;
            let text = format!("{pattern} RETURN {key} ORDER BY {key}{order}");
            let some = session.run(&format!("{text} LIMIT 25"), &[]).unwrap().rows;
            assert_eq!(some[..], session.run(&text, &[]).unwrap().rows[..some.len()], "{text}");
        }
    }
}

/// A state of the graph before there was an index is looked through, in order.
#[test]
fn a_state_without_the_index_has_the_same_first_rows() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    let make = |text: &str| session.run(text, &[]).unwrap().at;
    let mut before = None;
    for text in MAKE.iter().filter(|text| !text.contains(" INDEX ")) {
        before = Some(make(text));
    }
    let before = before.unwrap().get();
    for text in MAKE.iter().filter(|text| text.contains(" INDEX ")) {
        make(text);
    }
    make("MATCH (n:N) SET n.v = 1, n.w = 1, n.t = 't1'");
    make("MATCH ()-[r:R]->() SET r.v = 1");
    all_cases_agree(&|text| {
        session.run(&format!("AT TIMESTAMP {before} {text}"), &[]).unwrap().rows
    });
}

/// Drops an index when it is given its first rows.
struct Drops<'s> {
    session: &'s Session,
    index: &'static str,
    rows: Vec<Vec<Value>>,
}

impl Sink for Drops<'_> {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        if self.rows.is_empty() {
            self.session.run(&format!("DROP INDEX {}", self.index), &[])?;
        }
        self.rows.extend((0..rows.len()).map(|row| vec![rows.get(row, 0)]));
        Ok(())
    }
}

/// Rows that an index found before it was dropped are not found again without it.
#[test]
fn an_index_may_go_while_its_rows_are_read() {
    for (index, pattern) in [
        ("nodes", "MATCH (n:N) WHERE n.v > 100 RETURN n.i"),
        ("nodes", "MATCH (n:N) WHERE n.v > 100 WITH n, n.v AS v RETURN n.i"),
        ("relationships", "MATCH (n)-[r:R]->() WHERE r.v > 3 RETURN id(r)"),
        ("relationships", "MATCH (n)-[r:R]-() WHERE r.v > 3 RETURN id(r) + '/' + id(n)"),
    ] {
        let db = database();
        let session = Session::new(&db);
        let all: HashSet<Value> =
            session.run(pattern, &[]).unwrap().rows.into_iter().flatten().collect();
        let mut sink = Drops { session: &session, index, rows: Vec::new() };
        session.stream(&format!("{pattern} LIMIT 100000"), &ValueMap::new(), &mut sink).unwrap();
        let found: HashSet<Value> = sink.rows.iter().flatten().cloned().collect();
        assert_eq!(sink.rows.len(), found.len(), "some came twice: {pattern}");
        assert_eq!(found, all, "{pattern}");
        assert!(session.run(&format!("DROP INDEX {index}"), &[]).is_err(), "it is gone");
    }
}
