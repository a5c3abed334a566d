//! A statement that is told to end does, whatever it is at: planning, an operator, a function, a
//! comparison, the writing of its rows. Each of these would go on for minutes or for ever.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use telar_db::query::{ErrorKind, Limits, Origin};
use telar_db::{Runtime, Session, ValueMap};

/// When a statement is told to end.
const AFTER: Duration = Duration::from_millis(200);

/// A statement that has not ended by then never does: debug builds on busy machines are slow.
const PATIENCE: Duration = Duration::from_secs(120);

/// As much to plan as a statement may hold.
fn planned_for_long() -> String {
    format!("MATCH (){} ", "-->()".repeat(2000)).repeat(8) + "RETURN 1"
}

/// What takes long, by what it is at.
fn statements() -> Vec<(&'static str, String)> {
    let long = "reduce(t = 'xyz ', i IN range(1, 14) | t + t)";
    let deep = "reduce(s = [1], i IN range(1, 22) | [s, s])";
    let rows = "UNWIND range(1, 1000000000) AS i ";
    let mut all = vec![
        ("regular expression per row", format!("{rows} WITH 'x' =~ ('(a{{1,900}}){{1,9}}' + i) AS m RETURN count(m)")),
        ("regular expression", format!("WITH {long} AS t {rows} WITH t =~ '.*(a|b)*c' AS m RETURN count(m)")),
        ("comparison of lists", format!("WITH {deep} AS a, {deep} AS b {rows} WITH a = b AS e, i RETURN count(e)")),
        ("order of lists", format!("WITH {deep} AS a {rows} WITH a, i WHERE [a, i] < [a, i + 1] AND i < 0 RETURN i")),
        ("IN", format!("WITH {deep} AS a, {deep} AS b {rows} WITH a IN [b, [1], b] AS m RETURN count(m)")),
        ("DISTINCT", format!("WITH {deep} AS a {rows} RETURN DISTINCT [a, i]")),
        // One value of all rows would be hashed once.
        ("grouping", format!("WITH {deep} AS a {rows} RETURN CASE WHEN i > 0 THEN a END AS k, count(*)")),
        ("grouping by two", format!("WITH {deep} AS a {rows} RETURN a AS k, i % 2 AS l, count(*)")),
        ("count(DISTINCT)", format!("WITH {deep} AS a {rows} RETURN count(DISTINCT a)")),
        ("max", format!("WITH {deep} AS a {rows} RETURN max([a, i])")),
        ("ORDER BY", format!("{rows} RETURN i ORDER BY -i LIMIT 10")),
        ("reduce", "RETURN reduce(a = 0, i IN range(1, 4000000) | a + size([j IN range(1, 1000) | j]))".into()),
        ("list comprehension", "RETURN size([i IN range(1, 4000000) WHERE size([j IN range(1, 1000) | j]) < 0])".into()),
        ("quantifier", "RETURN all(i IN range(1, 4000000) WHERE size([j IN range(1, 1000) | j]) > 0)".into()),
        ("list function", format!("WITH range(1, 1000000) AS l {rows} RETURN sum(size(reverse(l)))")),
        ("collect", format!("{rows} RETURN size(collect(CASE WHEN i < 0 THEN i END))")),
        ("cross product", "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j WITH i WHERE i < 0 RETURN i".into()),
        ("planning", planned_for_long()),
    ];
    for function in [
        "toUpper(t)",
        "toLower(t)",
        "reverse(t)",
        "split(t, 'y')",
        "replace(t, 'y', 'z')",
        "trim(t)",
        "normalize(t)",
        "lpad('a', size(t), t)",
        "substring(t, 1)",
        "toString(t)",
        "left(t, 1000000)",
        "repeat(t, 2)",
    ] {
        all.push((
            "function",
            format!("WITH {long} AS t {rows} WITH {function} + i AS x RETURN count(x)"),
        ));
    }
    all
}

/// What takes long within one call, for one row.
fn calls() -> Vec<(&'static str, String)> {
    let text = |letter: char, doubled: u32| {
        format!("reduce(t = '{letter}', i IN range(1, {doubled}) | t + t)")
    };
    let (xs, zs) = (text('x', 22), text('z', 20));
    let names: Vec<String> = (0..100_000).map(|i| format!("a AS a{i}")).collect();
    vec![
        ("split", format!("RETURN size(split({xs}, [i IN range(1, 20000) | 'z' + i]))")),
        ("trim", format!("WITH {zs} + 'x' AS set RETURN size(btrim({xs} + {xs}, {zs} + set))")),
        ("one match", format!("RETURN {xs} + {xs} + 'é' =~ '(\\\\b\\\\w+\\\\b.?)*z'")),
        (
            "types",
            "WITH range(1, 1000000) AS l UNWIND range(1, 1000) AS i \
             RETURN count(l IS :: LIST<INTEGER>)"
                .into(),
        ),
        (
            "XOR",
            format!("UNWIND range(1, 4000) AS x RETURN count({})", ["x = 1"; 20_000].join(" XOR ")),
        ),
        ("wide projection", format!("WITH 1 AS a RETURN {}", names.join(", "))),
    ]
}

#[test]
fn one_call_ends_when_its_time_is_over() {
    for (what, text) in calls() {
        assert_eq!(ended(what, text, Some(AFTER), |_, _| {}), ErrorKind::TimedOut, "{what}");
    }
}

/// Runs a statement on a thread of its own; `end` is given what ends it.
fn ended(
    what: &str,
    text: String,
    timeout: Option<Duration>,
    end: impl FnOnce(&AtomicBool, &Runtime),
) -> ErrorKind {
    let (send, receive) = mpsc::channel();
    let cancelled = Arc::new(AtomicBool::new(false));
    let runtime = Arc::new(Runtime::default());
    let (flag, shared) = (Arc::clone(&cancelled), Arc::clone(&runtime));
    let thread = thread::spawn(move || {
        let db = telar_db::open_in_memory().unwrap();
        let limits = Limits { cancelled: Some(flag), memory: Some(1 << 28), ..Limits::default() };
        let mut session = Session::with_runtime(&db, shared).with_limits(limits);
        if let Some(timeout) = timeout {
            session = session.with_timeout(timeout);
        }
        let done = session.run_with(&text, &ValueMap::new());
        _ = send.send(done.map(|result| result.rows.len()));
    });
    end(&cancelled, &runtime);
    match receive.recv_timeout(PATIENCE) {
        Ok(Err(error)) => {
            let ends = matches!(error.kind, ErrorKind::TimedOut | ErrorKind::Terminated);
            assert!(ends, "{what}: {error:?}");
            error.kind
        }
        Ok(Ok(rows)) => panic!("{what}: {rows} rows came before it was told to end"),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{what} does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => {
            panic!("{what}: {:?}", thread.join().unwrap_err())
        }
    }
}

#[test]
fn a_statement_whose_time_is_over_ends() {
    for (what, text) in statements() {
        assert_eq!(ended(what, text, Some(AFTER), |_, _| {}), ErrorKind::TimedOut, "{what}");
    }
}

#[test]
fn a_statement_that_nobody_wants_ends() {
    for (what, text) in statements() {
        let cancel = |flag: &AtomicBool, _: &Runtime| {
            thread::sleep(AFTER);
            flag.store(true, Ordering::Relaxed);
        };
        assert_eq!(ended(what, text, None, cancel), ErrorKind::Terminated, "{what}");
    }
}

#[test]
fn planning_is_listed_and_can_be_terminated() {
    let kind = ended("planning", planned_for_long(), None, |_, runtime| {
        while runtime.running().count() == 0 {
            thread::yield_now();
        }
        thread::sleep(AFTER);
        let own = runtime.running().list(telar_db::query::Moment::now(), Origin::default());
        assert!((0..own.number()).any(|number| runtime.running().terminate(number)));
    });
    assert_eq!(kind, ErrorKind::Terminated);
}
