//! Queries that would run for a very long time end soon after they are told to, whichever operator
//! or function they are in.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test panics, a report prints")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, Limits, OPERATORS, PlanDescription};
use telar_db::{Database, Session};
use tempfile::TempDir;

/// When a query is told to end.
const DELAY: Duration = Duration::from_millis(60);
/// When it must have ended then, on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(2);

/// An operator of a plan, or what else takes the time; how EXPLAIN calls it, if it does; a query.
type Case = (&'static str, &'static str, &'static str);

/// A case for each of [`OPERATORS`].
const OF_OPERATORS: &[Case] = &[
    ("Unit", "Unit", "UNWIND range(1, 1000000000000) AS x RETURN count(x)"),
    (
        "Argument",
        "Argument",
        "MATCH (a:N), (b:N), (c:N) CALL { WITH a MATCH (a)-->(x) RETURN x } RETURN count(x.i)",
    ),
    ("NodeScan", "NodeByLabelScan", "MATCH (a:N), (b:N), (c:N), (d:N) RETURN count(*)"),
    (
        "IndexSeek",
        "NodeIndexSeek",
        "UNWIND range(1, 1000000000000) AS x MATCH (n:N {i: x % 1000}) RETURN count(n)",
    ),
    (
        "RelationshipSeek",
        "DirectedRelationshipIndexSeek",
        "UNWIND range(1, 1000000000000) AS x MATCH ()-[r:R {w: x % 50}]->() RETURN count(r)",
    ),
    (
        "NodeById",
        "NodeByIdSeek",
        "UNWIND range(1, 1000000000000) AS x MATCH (n) WHERE id(n) = x % 900 RETURN count(n)",
    ),
    (
        "RelationshipById",
        "DirectedRelationshipByIdSeek",
        "UNWIND range(1, 1000000000000) AS x MATCH ()-[r]->() \
         WHERE elementId(r) = 'r:0:0:' + x % 900 + ':1' RETURN count(r)",
    ),
    ("Expand", "Expand", "MATCH (:N)-->()-->()-->()-->()-->()-->() RETURN count(*)"),
    ("VarExpand", "VarExpand", "MATCH (:N)-[*1..20]->(b) RETURN count(b)"),
    (
        "ShortestPath",
        "ShortestPath",
        "MATCH (a:N), (b:N), (c:N) MATCH p = shortestPath((a)-[:R*]->(b)) RETURN count(p)",
    ),
    (
        "Repeat",
        "Repeat",
        "MATCH (a:N) ((x)-[r:R]->(y) WHERE x.i >= 0 AND y.i >= 0){1,20} (b) RETURN count(*)",
    ),
    (
        "Select",
        "SelectPaths",
        "MATCH SHORTEST 100000000 (a:N {i: 1})-[r:R]->+(b:N {i: 2}) RETURN count(*)",
    ),
    ("Filter", "Filter", "UNWIND range(1, 1000000000000) AS x WITH x WHERE x < 0 RETURN count(x)"),
    ("Extend", "Projection", "UNWIND range(1, 1000000000000) AS x WITH x + 1 AS y RETURN count(y)"),
    ("Keep", "Keep", "UNWIND range(1, 1000000000000) AS x WITH x AS y RETURN count(y)"),
    ("Prune", "", "MATCH (a:N), (b:N), (c:N), (d:N) WHERE a.i + b.i + c.i < 0 RETURN count(d)"),
    (
        "Aggregate",
        "GroupedAggregation",
        "UNWIND range(1, 1000000000000) AS x RETURN x % 1000 AS y, count(*), sum(x)",
    ),
    (
        "CountStore",
        "NodeCountFromCountStore",
        "MATCH (n:N) WITH count(n) AS c UNWIND range(1, 1000000000000) AS x RETURN sum(c + x)",
    ),
    (
        "Distinct",
        "Distinct",
        "UNWIND range(1, 1000000000000) AS x WITH DISTINCT x % 1000 AS y RETURN count(y)",
    ),
    ("Sort", "Sort", "UNWIND range(1, 20000000) AS x WITH x ORDER BY x % 1000003 RETURN count(x)"),
    ("Skip", "Skip", "UNWIND range(1, 1000000000000) AS x WITH x SKIP 999999999999 RETURN x"),
    (
        "Limit",
        "Limit",
        "UNWIND range(1, 1000000000000) AS x WITH x LIMIT 999999999999 RETURN count(x)",
    ),
    ("Unwind", "Unwind", "UNWIND range(1, 1000000000000) AS x UNWIND [x, x] AS y RETURN count(y)"),
    (
        "Apply",
        "OptionalApply",
        "MATCH (a:N), (b:N), (c:N) OPTIONAL MATCH (a)-[:NONE]->(x) RETURN count(x)",
    ),
    (
        "InTransactions",
        "SubqueryInTransactions",
        "UNWIND range(1, 1000000000000) AS x \
         CALL { WITH x CREATE (:T {x: x}) } IN TRANSACTIONS OF 10 ROWS",
    ),
    (
        "Union",
        "Union",
        "CALL { UNWIND range(1, 1000000000000) AS x RETURN x UNION ALL \
                UNWIND range(1, 1000000000000) AS x RETURN x } RETURN count(x)",
    ),
    ("Eager", "Eager", "MATCH (a:N), (b:N), (c:N) CREATE (:N {x: a.i})"),
    ("Create", "Create", "UNWIND range(1, 1000000000000) AS x CREATE (:T {x: x})-[:U]->(:T)"),
    ("Merge", "Merge", "UNWIND range(1, 1000000000000) AS x MERGE (:V {x: x})"),
    ("Set", "Set", "UNWIND range(1, 1000000000000) AS x MATCH (n:N {i: x % 1000}) SET n.y = x"),
    (
        "Delete",
        "DetachDelete",
        "UNWIND range(1, 1000000000000) AS x MATCH (n:N {i: x % 1000}) DETACH DELETE n",
    ),
    (
        "Foreach",
        "Foreach",
        "UNWIND range(1, 1000) AS x FOREACH (y IN range(1, 1000000) | MERGE (:V {x: y}))",
    ),
    (
        "Call",
        "ProcedureCall",
        "UNWIND range(1, 1000000000000) AS x CALL db.labels() YIELD label RETURN count(label)",
    ),
    (
        "LoadCsv",
        "LoadCsv",
        "UNWIND range(1, 1000000000000) AS x LOAD CSV FROM 'file:///a.csv' AS line \
         RETURN count(line[1])",
    ),
    ("Intersect", "", "MATCH (x:N), (y:N), (a:N)-->(b)-->(c), (a)-->(c) RETURN count(*)"),
    ("Degrees", "", "MATCH (x:N), (y:N), (z:N) RETURN sum(COUNT { (x)-->() } + z.i)"),
    ("HashJoin", "", "MATCH (x:N), (y:N), (a:N), (b:N) WHERE a.i + 1 = b.i RETURN count(*)"),
    ("Parallel", "", "MATCH (a:N)-->()-->()-->()-->()-->(b) RETURN b.i AS i, count(*) AS c"),
];

/// Functions and expressions, and operators once more where they do something else.
const OF_OTHERS: &[Case] = &[
    ("reduce", "", "RETURN reduce(s = 0, x IN range(1, 8000000) | s + x % 7)"),
    ("comprehension", "", "RETURN size([x IN range(1, 8000000) WHERE x % 7 = 1 | toString(x)])"),
    ("quantifier", "", "RETURN all(x IN range(1, 8000000) WHERE toString(x) <> 'a')"),
    ("long lists", "", "UNWIND range(1, 100000) AS x RETURN sum(size(range(x, x + 1000000)))"),
    (
        "long strings",
        "",
        "UNWIND range(1, 100000) AS x RETURN sum(size(repeat('ab' + x, 1000000)))",
    ),
    (
        "regular expressions",
        "",
        "WITH repeat('abcdefgh', 10000) AS t UNWIND range(1, 1000000) AS x \
         RETURN count(CASE WHEN t + x =~ '(a|b|c|d|e|f|g|h)*[0-9]+x' THEN 1 END)",
    ),
    ("subquery", "", "MATCH (a:N), (b:N), (c:N) WHERE EXISTS { (a)-->(b)-->(c) } RETURN count(*)"),
    (
        "all shortest paths",
        "",
        "MATCH (a:First), (b:Last) MATCH p = allShortestPaths((a)-[:L*]->(b)) RETURN count(p)",
    ),
    (
        "paths of a length",
        "",
        "MATCH (a:N {i: 1}), (b:T) MATCH p = shortestPath((a)-[:R*5..]->(b)) RETURN count(p)",
    ),
    ("top", "", "UNWIND range(1, 1000000000000) AS x RETURN x ORDER BY x DESC LIMIT 10"),
    ("counts", "", "MATCH (a:N), (b:N), (c:N) OPTIONAL MATCH (a)-[:NONE]->() RETURN count(*)"),
    ("a rare label", "", "UNWIND range(1, 1000000000000) AS x MATCH (c:None) RETURN count(c.i)"),
    ("distinct values", "", "UNWIND range(1, 1000000000000) AS x RETURN count(DISTINCT x % 1000)"),
    ("the result", "", "UNWIND range(1, 1000000000000) AS x WITH x WHERE x % 100 = 0 RETURN x"),
];

fn database() -> (Database, TempDir) {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "CREATE INDEX FOR (n:N) ON (n.i)",
        "CREATE INDEX FOR ()-[r:R]-() ON (r.w)",
        "UNWIND range(0, 999) AS i CREATE (:N {i: i})",
        "CREATE (:T), (:None)",
        "MATCH (a:N) UNWIND range(1, 12) AS j MATCH (b:N {i: (a.i * 7 + j * 31) % 1000}) \
         CREATE (a)-[:R {w: j}]->(b)",
        // Twelve layers of six nodes: 6^12 paths.
        "CREATE (:First {layer: 0}), (:Last {layer: 13}) WITH 1 AS one \
         UNWIND range(1, 12) AS layer UNWIND range(1, 6) AS i CREATE (:M {layer: layer})",
        "MATCH (a), (b) WHERE a.layer + 1 = b.layer CREATE (a)-[:L]->(b)",
    ] {
        session.run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let lines: String = (0..5000).map(|i| format!("{i},some text,{}\n", i * 7)).collect();
    std::fs::write(folder.path().join("a.csv"), lines).unwrap();
    (db, folder)
}

fn has(plan: &PlanDescription, operator: &str) -> bool {
    plan.operator == operator || plan.children.iter().any(|child| has(child, operator))
}

/// Time for which a query went on after it was told to end, and how it ended; again where it had
/// ended before: the one that tells it waited for a processor.
fn cancelled(session: &Session, flag: &AtomicBool, text: &str) -> (Duration, ErrorKind) {
    let attempt = |_| told_to_end(session, flag, text);
    (0..20).find_map(attempt).unwrap_or_else(|| panic!("it ends by itself: {text}"))
}

/// `None` if it had ended before.
fn told_to_end(session: &Session, flag: &AtomicBool, text: &str) -> Option<(Duration, ErrorKind)> {
    flag.store(false, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let told = scope.spawn(|| {
            std::thread::sleep(DELAY);
            let now = Instant::now();
            flag.store(true, Ordering::Relaxed);
            now
        });
        let ended = session.run(text, &[]).map(drop);
        let now = Instant::now();
        let told = told.join().unwrap();
        match ended {
            Ok(()) if now < told => None,
            ended => {
                let kind = ended.expect_err(text).kind;
                Some((now.saturating_duration_since(told), kind))
            }
        }
    })
}

fn all_cases() -> impl Iterator<Item = &'static Case> {
    OF_OPERATORS.iter().chain(OF_OTHERS)
}

#[test]
fn every_operator_has_a_case() {
    let mut cases: Vec<&str> = OF_OPERATORS.iter().map(|(operator, ..)| *operator).collect();
    let mut operators = OPERATORS.to_vec();
    cases.sort_unstable();
    operators.sort_unstable();
    assert_eq!(cases, operators);
    let (db, _folder) = database();
    let session = Session::new(&db);
    for (operator, shown, text) in OF_OPERATORS {
        let plan = session.run(&format!("EXPLAIN {text}"), &[]).unwrap().plan.unwrap();
        assert!(shown.is_empty() || has(&plan, shown), "{operator}\n{plan}");
    }
}

/// The shortest of some times that a query went on: the machine may do something else meanwhile.
fn patiently(what: &str, mut attempt: impl FnMut() -> Duration) {
    let after = (0..4).map(|_| attempt()).find(|after| *after < PATIENCE);
    assert!(after.is_some(), "{what} went on for more than {PATIENCE:?}");
}

#[test]
fn cancelled_queries_end() {
    let (db, folder) = database();
    let flag = Arc::new(AtomicBool::new(false));
    let limits = Limits {
        cancelled: Some(Arc::clone(&flag)),
        import_folder: Some(folder.path().into()),
        ..Limits::default()
    };
    let session = Session::new(&db).with_limits(limits);
    for (what, _, text) in all_cases() {
        patiently(what, || {
            let (after, kind) = cancelled(&session, &flag, text);
            assert_eq!(kind, ErrorKind::Terminated, "{what}");
            after
        });
    }
}

#[test]
fn queries_end_at_their_deadline() {
    let (db, folder) = database();
    let limits = Limits { import_folder: Some(folder.path().into()), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits).with_timeout(DELAY);
    for (what, _, text) in all_cases() {
        patiently(what, || {
            let begun = Instant::now();
            let error = session.run(text, &[]).map(drop).expect_err(what);
            assert_eq!(error.kind, ErrorKind::TimedOut, "{what}: {error}");
            begun.elapsed().saturating_sub(DELAY)
        });
    }
}

/// Each phase of it asks: reading what is there, sorting it, adding it to the tree.
#[test]
fn an_index_that_is_being_made_is_given_up() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let text = "UNWIND range(0, 9999) AS i WITH i, reduce(t = '', w IN range(0, 99) | \
                t + ' w' + (i * 7919 + w * i) % 99991) AS text \
                CREATE (:D {t: text})-[:R {t: text}]->(:E {t: text})";
    session.run(text, &[]).unwrap();
    let flag = Arc::new(AtomicBool::new(false));
    let limits = Limits { cancelled: Some(Arc::clone(&flag)), ..Limits::default() };
    let limited = Session::new(&db).with_limits(limits);
    for (of, property, found, scan) in [
        ("(n:D|E)", "n.t", "queryNodes", "(x)"),
        ("()-[r:R]-()", "r.t", "queryRelationships", "()-[x:R]->()"),
    ] {
        let text = format!("CREATE FULLTEXT INDEX words FOR {of} ON EACH [{property}]");
        patiently(&text, || {
            let (after, kind) = cancelled(&limited, &flag, &text);
            assert_eq!(kind, ErrorKind::Terminated, "{text}");
            after
        });
        let listed = session.run("SHOW FULLTEXT INDEXES YIELD name", &[]).unwrap();
        assert_eq!(listed.rows.len(), 0, "{text}");
        // What was begun is gone: made again, all is found.
        session.run(&text, &[]).unwrap();
        let count =
            format!("CALL db.index.fulltext.{found}('words', 'w0') YIELD score RETURN count(*)");
        let hits = session.run(&count, &[]).unwrap().rows[0][0].clone();
        let scan = format!("MATCH {scan} WHERE 'w0' IN split(x.t, ' ') RETURN count(*)");
        assert_eq!(hits, session.run(&scan, &[]).unwrap().rows[0][0], "{text}");
        session.run("DROP INDEX words", &[]).unwrap();
    }
}

/// `cargo test --release -p telar-db --test suite -- --ignored --nocapture cancellation`
#[test]
#[ignore = "prints how long queries go on, which a busy machine changes"]
fn report_how_long_cancelled_queries_go_on() {
    let (db, folder) = database();
    let flag = Arc::new(AtomicBool::new(false));
    let limits = Limits {
        cancelled: Some(Arc::clone(&flag)),
        import_folder: Some(folder.path().into()),
        ..Limits::default()
    };
    let session = Session::new(&db).with_limits(limits);
    for (what, _, text) in all_cases() {
        let mut times = [(); 5].map(|()| cancelled(&session, &flag, text).0.as_secs_f64() * 1e3);
        times.sort_unstable_by(f64::total_cmp);
        println!("{what:24} median {:9.3} ms, longest {:9.3} ms", times[2], times[4]);
    }
}
