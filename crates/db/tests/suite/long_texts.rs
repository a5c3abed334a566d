//! Statements in which some part of the grammar comes 20,000 times: each is answered or refused,
//! with a message that says why, on the smallest stack that a thread of the server has.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroUsize;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use telar_db::query::{ErrorKind, Workers};
use telar_db::{Session, Value, ValueMap};

/// How often a part comes.
const TIMES: usize = 20_000;

/// The smallest stack in the server: that of a thread which it makes without saying how large.
const STACK_BYTES: usize = 2 << 20;

/// A text that takes longer never ends: debug builds need some seconds on a busy machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a statement on a thread of its own, so that one that never ends fails the test.
fn run(text: String, parameters: ValueMap) -> Result<usize, (ErrorKind, String)> {
    let (send, receive) = mpsc::channel();
    let shown: String = text.chars().take(60).collect();
    let thread = thread::Builder::new().stack_size(STACK_BYTES);
    let thread = thread.spawn(move || {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db);
        session.run("CREATE (:A {a: 1})-[:R]->(:B {a: 2})", &[]).unwrap();
        let done = session.run_with(&text, &parameters);
        let done = done.map(|result| result.rows.len()).map_err(|e| (e.kind, e.message));
        // The plan is dropped by another thread than the one that made it.
        drop(db);
        _ = send.send(done);
    });
    let thread = thread.unwrap();
    match receive.recv_timeout(PATIENCE) {
        Ok(done) => done,
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("no answer: {shown}..."),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            panic!("{shown}...: {:?}", thread.join().unwrap_err())
        }
    }
}

/// What is written before, again and again, between, again and again, and behind.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Parts that stand beside each other: these are answered.
const ANSWERED: &[Case] = &[
    ("", "WITH 1 AS x ", "RETURN x", "", ""),
    ("WITH 1 AS x ", "WITH x ", "RETURN x", "", ""),
    ("RETURN 1 AS x", " UNION ALL RETURN 1 AS x", "", "", ""),
    ("RETURN 1 AS x", " UNION RETURN 1 AS x", "", "", ""),
    ("", "CREATE (:C) ", "", "", ""),
    ("MATCH (n:A) ", "SET n.a = 1 ", "", "", ""),
    ("MATCH (n:A) SET n.a = 1", ", n.a = 1", "", "", ""),
    ("MATCH (n:A) ", "REMOVE n.b ", "", "", ""),
    ("UNWIND [1] AS x ", "FILTER x = 1 ", "RETURN x", "", ""),
    ("", "CREATE (:C) WITH 1 AS x ", "RETURN x", "", ""),
    ("RETURN [1", ", 1", "]", "", ""),
    ("RETURN {a: 1", ", a: 1", "}", "", ""),
    ("RETURN 1", " + 1", "", "", ""),
    ("RETURN 'a'", " || 'b'", "", "", ""),
    ("RETURN 1", " < 2", "", "", ""),
    ("RETURN true", " AND true", "", "", ""),
    ("RETURN false", " OR false", "", "", ""),
    ("RETURN false", " XOR false", "", "", ""),
    ("MATCH (n) WHERE n.a = 1", " OR n.a = 1", " RETURN n", "", ""),
    ("MATCH (n) WHERE n.a = 1", " AND n.a = 1", " RETURN n", "", ""),
    ("RETURN CASE WHEN false THEN 1", " WHEN false THEN 1", " END", "", ""),
    ("RETURN CASE 1 WHEN 2 THEN 1", " WHEN 2 THEN 1", " END", "", ""),
    ("MATCH (n:A", "|A", ") RETURN n", "", ""),
    ("MATCH (n:A", "&A", ") RETURN n", "", ""),
    ("MATCH ()-[r:R", "|R", "]->() RETURN r", "", ""),
    ("CREATE (:A", ":A", ")", "", ""),
    ("CREATE ()", "-[:R]->()", "", "", ""),
    ("CREATE ()", ", ()", "", "", ""),
    ("RETURN coalesce(1", ", 1", ")", "", ""),
    ("RETURN 1 AS x ORDER BY x", ", x", "", "", ""),
    ("MATCH (n:A) RETURN n {.a", ", .a", "}", "", ""),
    ("RETURN [x IN [1", ", 1", "] | x]", "", ""),
    ("RETURN ['", "a", "']", "", ""),
    ("/*", "*", "*/ RETURN 1", "", ""),
    ("RETURN 1", " ", "", "", ""),
    ("RETURN [1, 2] = [1", ", 1", "]", "", ""),
    ("RETURN 1 IN [1", ", 1", "]", "", ""),
];

/// The same, but of several clauses: a tenth of them is answered, and all are refused.
const CLAUSES: &[Case] = &[
    ("WITH 1 AS x ", "WITH x WHERE x = 1 ", "RETURN x", "", ""),
    ("WITH 1 AS x ", "WITH DISTINCT x ORDER BY x LIMIT 1 ", "RETURN x", "", ""),
    ("", "UNWIND [1] AS x WITH 1 AS y ", "RETURN 1", "", ""),
    ("", "CALL () { RETURN 1 AS y } WITH 1 AS x ", "RETURN x", "", ""),
    ("", "LET x = 1 WITH 1 AS y ", "RETURN 1", "", ""),
    ("", "MATCH (n:A) WITH 1 AS x ", "RETURN x", "", ""),
    ("", "OPTIONAL MATCH (n:A)-->() WITH 1 AS x ", "RETURN x", "", ""),
    ("", "MERGE (n:A) WITH 1 AS x ", "RETURN x", "", ""),
    ("MATCH (n:A) ", "FOREACH (x IN [1] | SET n.a = x) ", "", "", ""),
];

/// Parts that stand in each other, or of which there may be fewer: these are refused.
const REFUSED: &[Case] = &[
    ("", "CALL { ", "RETURN 1 AS x", " }", " RETURN x"),
    ("MATCH (n:A) ", "FOREACH (x IN [1] | ", "SET n.a = 1", ")", ""),
    ("RETURN ", "[", "1", "]", ""),
    ("RETURN ", "{a: ", "1", "}", ""),
    ("RETURN ", "(", "1", ")", ""),
    ("RETURN ", "NOT ", "true", "", ""),
    ("RETURN ", "- ", "1", "", ""),
    ("RETURN ", "CASE WHEN true THEN ", "1", " END", ""),
    ("RETURN ", "EXISTS { MATCH (n) WHERE ", "true", " }", ""),
    ("RETURN ", "COUNT { WITH 1 AS x WHERE ", "true", " RETURN x }", ""),
    ("RETURN ", "[x IN [1] | ", "1", "]", ""),
    ("RETURN ", "reduce(a = 1, x IN [1] | ", "1", ")", ""),
    ("RETURN ", "coalesce(", "1", ")", ""),
    ("WITH {a: 1} AS x RETURN x", ".a", "", "", ""),
    ("WITH [1] AS x RETURN x", "[0]", "", "", ""),
    ("WITH [1] AS x RETURN x", "[0..1]", "", "", ""),
    ("MATCH (n:", "!", "A) RETURN n", "", ""),
    ("MATCH (n:", "(", "A", ")", ") RETURN n"),
    ("MATCH (a)", "-->()", " RETURN a", "", ""),
    ("MATCH (a)", ", ()", " RETURN a", "", ""),
    ("MATCH (a) RETURN EXISTS { (a)", "-->()", " }", "", ""),
    ("MATCH ", "(", "(a)-->(b)", ")+", " RETURN 1"),
    ("MERGE (a)", "-[:R]->()", "", "", ""),
    ("EXPLAIN ", "WITH 1 AS x ", "RETURN x", "", ""),
    ("PROFILE ", "WITH 1 AS x ", "RETURN x", "", ""),
    ("PROFILE ", "CREATE (:C) WITH 1 AS x ", "RETURN x", "", ""),
];

fn text((head, open, middle, close, tail): Case, times: usize) -> String {
    format!("{head}{}{middle}{}{tail}", open.repeat(times), close.repeat(times))
}

#[test]
fn parts_beside_each_other_are_answered() {
    for case in ANSWERED {
        let done = run(text(*case, TIMES), ValueMap::new());
        assert!(done.is_ok(), "{case:?}: {done:?}");
    }
}

#[test]
fn clauses_are_answered_or_refused() {
    for case in CLAUSES {
        let done = run(text(*case, TIMES / 10), ValueMap::new());
        assert!(done.is_ok(), "{case:?}: {done:?}");
        let (kind, message) = run(text(*case, TIMES), ValueMap::new()).expect_err(case.1);
        assert!(kind == ErrorKind::Syntax && message.contains("more than 32768"), "{message}");
    }
}

#[test]
fn parts_in_each_other_are_refused() {
    for case in REFUSED {
        let (kind, message) = run(text(*case, TIMES), ValueMap::new()).expect_err(case.1);
        let clear = ["levels deep", "more than", "at most"].iter().any(|w| message.contains(w));
        let refused = matches!(kind, ErrorKind::Syntax | ErrorKind::NotSupported);
        assert!(clear && refused, "{case:?}: {kind:?}: {message}");
    }
}

#[test]
fn clauses_have_a_limit_and_what_is_below_it_runs_on_other_threads_too() {
    let (kind, message) = run("WITH 1 AS x ".repeat(40_000) + "RETURN x", ValueMap::new())
        .expect_err("there are too many");
    assert!(kind == ErrorKind::Syntax && message.contains("32768"), "{message}");
    // Helpers run plans that are as deep, and drop them.
    let db = telar_db::open_in_memory().unwrap();
    let rows = NonZeroUsize::new(16).unwrap();
    let workers = Arc::new(Workers::new(3).with_morsels_of(rows));
    let session = Session::new(&db).with_workers(workers);
    session.run("UNWIND range(1, 64) AS i CREATE (:A {a: i})", &[]).unwrap();
    let long = "WITH a, 1 AS x ".repeat(5_000);
    let text = format!("MATCH (a:A) {long} RETURN sum(a.a + x)");
    let want = Value::Int(64 * 65 / 2 + 64);
    assert_eq!(session.run(&text, &[]).unwrap().rows, [[want]]);
}

#[test]
fn parameters_nest_no_deeper_than_values_may() {
    let mut deep = Value::Int(1);
    for _ in 0..60 {
        deep = Value::list([deep]);
    }
    let parameters = ValueMap::from([("p".into(), deep)]);
    assert_eq!(run("RETURN $p".into(), parameters).unwrap(), 1);
}
