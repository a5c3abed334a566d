//! Values that share their parts have a bounded number of elements, counted as they would be
//! written out, whichever way they are built.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use telar_db::query::ErrorKind;
use telar_db::{Session, Value, ValueMap};

/// To walk over one that is too large would take centuries.
const PATIENCE: Duration = Duration::from_secs(120);

/// A list of itself, so many times over.
fn doubled(times: u32) -> Value {
    (0..times).fold(Value::list([1]), |list, _| Value::list([list.clone(), list]))
}

fn run(text: &str, parameters: ValueMap) -> Result<Vec<Vec<Value>>, (ErrorKind, String)> {
    let (send, receive) = mpsc::channel();
    let query = text.to_owned();
    thread::spawn(move || {
        let db = telar_db::open_in_memory().unwrap();
        let done = Session::new(&db).run_with(&query, &parameters);
        _ = send.send(done.map(|result| result.rows).map_err(|e| (e.kind, e.message)));
    });
    receive.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("no answer: {text}"))
}

#[test]
fn whatever_builds_a_value_counts_what_is_in_it() {
    let reduced = |step: &str| format!("RETURN reduce(s = [1], i IN range(1, 60) | {step})");
    let clauses =
        |first: &str, step: &str| format!("WITH {first} AS s {}RETURN s", step.repeat(60));
    let cases = [
        reduced("[s, s]"),
        reduced("[s] + [s]"),
        reduced("[s, 1] + [s]"),
        reduced("{a: s, b: s}"),
        reduced("[x IN [1, 2] | s]"),
        reduced("[x IN [s, s] WHERE true]"),
        reduced("reverse([s, s])"),
        reduced("CASE WHEN true THEN [s, s] END"),
        reduced("COLLECT { UNWIND [1, 2] AS x RETURN s }"),
        clauses("[1]", "WITH [s, s] AS s "),
        clauses("[1]", "UNWIND [1, 2] AS i WITH collect(s) AS s "),
        clauses("[1]", "UNWIND [[s], s] AS t WITH collect(DISTINCT t) AS s "),
        clauses("[1]", "UNWIND [1, 2] AS i WITH i % 1 AS k, collect(s) AS s "),
        clauses("{a: 1}", "WITH s {b: s, c: s} AS s "),
        clauses("{a: 1}", "WITH s {.*, b: s, c: [s]} AS s "),
        "WITH reduce(t = 'x', i IN range(1, 20) | t + t) AS t RETURN [i IN range(1, 1000) | t]"
            .to_owned(),
        reduced("[s, s]") + " AS x ORDER BY x",
        "MATCH (n) WHERE n.p = reduce(s = [1], i IN range(1, 60) | [s, s]) RETURN n UNION ALL \
         RETURN reduce(s = [1], i IN range(1, 60) | [s, s]) AS n"
            .to_owned(),
    ];
    for text in cases {
        let (kind, message) = run(&text, ValueMap::new()).expect_err(&text);
        assert!(kind == ErrorKind::OutOfMemory, "{text}: {kind:?} {message}");
        assert!(message.contains("33554432 elements"), "{text}: {message}");
    }
}

#[test]
fn parameters_are_counted_too() {
    for text in ["RETURN $p", "RETURN $p = $p", "UNWIND $p AS x RETURN x", "CREATE ({p: $p})"] {
        let large = ValueMap::from([("p".into(), doubled(60))]);
        let (kind, message) = run(text, large).expect_err(text);
        assert!(kind == ErrorKind::OutOfMemory, "{text}: {kind:?} {message}");
    }
    // What is not asked for does no harm.
    let unasked = ValueMap::from([("p".into(), doubled(60))]);
    assert_eq!(run("RETURN 1", unasked).unwrap(), [[Value::Int(1)]]);
}

#[test]
fn values_of_common_sizes_are_built_as_before() {
    for (text, want) in [
        ("RETURN size(range(1, 16777216))", 16_777_216),
        ("RETURN size(reduce(s = [], i IN range(1, 2000) | s + [[i]]))", 2000),
        ("WITH range(1, 100000) AS l UNWIND range(1, 20000) AS i RETURN sum(size([l, i]))", 40_000),
        ("UNWIND range(1, 1000) AS i WITH collect({a: i, b: [i]}) AS l RETURN size(l)", 1000),
    ] {
        assert_eq!(run(text, ValueMap::new()).unwrap(), [[Value::Int(want)]], "{text}");
    }
}
