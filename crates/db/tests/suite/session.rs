//! Sessions: transactions, conflicts, limits, the past.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, Limits, Phase};
use telar_db::{Database, Isolation, Retention, Session, Settings, Value, ValueMap};

fn one(session: &Session, text: &str) -> Value {
    let result = session.run(text, &[]).unwrap();
    assert_eq!((result.rows.len(), result.columns.len()), (1, 1), "{text}");
    result.rows[0][0].clone()
}

#[test]
fn a_query_reads_the_past_by_commit_and_refuses_what_is_not_kept() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let db = Database::in_memory(settings).unwrap();
    let session = Session::new(&db);
    let first = session.run("CREATE (:Y {n: 1})", &[]).unwrap();
    let second = session.run("MATCH (y:Y) SET y.n = 2 CREATE (:Y {n: 3})", &[]).unwrap();
    assert!(first.at < second.at);
    let sum = "MATCH (y:Y) RETURN sum(y.n)";
    for (at, expected) in [(first.at, 1), (second.at, 5)] {
        assert_eq!(one(&session, &format!("AT TIMESTAMP {at} {sum}")), Value::Int(expected));
    }
    assert_eq!(one(&session, sum), Value::Int(5));
    let error = session.run(&format!("AT TIMESTAMP 99999 {sum}"), &[]).unwrap_err();
    assert!(error.message.contains("not retained"), "{error}");
    let error = session.run(&format!("AT TIMESTAMP 'x' {sum}"), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Type);
}

#[test]
fn statements_of_a_transaction_see_each_other_and_nobody_else_does() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let none = ValueMap::new();
    let count = "MATCH (n) RETURN count(n)";
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:A)", &none).unwrap();
    let inside = transaction.run(count, &none).unwrap();
    assert_eq!(inside.rows, [[Value::Int(1)]]);
    assert_eq!(one(&session, count), Value::Int(0));
    transaction.commit().unwrap();
    assert_eq!(one(&session, count), Value::Int(1));

    let mut transaction = session.begin().unwrap();
    transaction.run("MATCH (n) DELETE n", &none).unwrap();
    transaction.rollback();
    assert_eq!(one(&session, count), Value::Int(1));

    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:B)", &none).unwrap();
    let syntax = transaction.run("CREATE (", &none).unwrap_err();
    assert_eq!(syntax.phase, Phase::Compile);
    let failed = transaction.run("CREATE (:C) RETURN 1 / 0", &none).unwrap_err();
    assert_eq!((failed.kind, failed.phase), (ErrorKind::Arithmetic, Phase::Runtime));
    assert_eq!(transaction.run(count, &none).unwrap_err().detail, "TransactionFailed");
    assert_eq!(transaction.commit().unwrap_err().detail, "TransactionFailed");
    assert_eq!(one(&session, count), Value::Int(1));
}

/// Nodes that one statement deletes and relationships that a later one does.
#[test]
fn a_transaction_may_delete_nodes_before_their_relationships() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let none = ValueMap::new();
    let make = "CREATE (:A)-[:R {w: 1}]->(:B {i: 2})<-[:S]-(:C)";
    session.run(make, &[]).unwrap();
    let delete_b = "MATCH (b:B) DELETE b";

    let mut transaction = session.begin().unwrap();
    let deleted = transaction.run(delete_b, &none).unwrap();
    assert_eq!((deleted.counters.nodes_deleted, deleted.counters.relationships_deleted), (1, 0));
    let error = transaction.commit().unwrap_err();
    assert_eq!(
        (error.kind, &*error.detail),
        (ErrorKind::ConstraintViolation, "DeleteConnectedNode")
    );
    assert_eq!(one(&session, "MATCH (b:B)--() RETURN count(*)"), Value::Int(2));

    let mut transaction = session.begin().unwrap();
    let mut ask = |text: &str| transaction.run(text, &none).map(|found| found.rows.concat());
    ask(delete_b).unwrap();
    let int = |n| vec![Value::Int(n)];
    for (text, expected) in [
        ("MATCH (n) RETURN count(n)", int(2)),
        ("MATCH (n:B) RETURN count(n)", int(0)),
        ("MATCH (n {i: 2}) RETURN count(n)", int(0)),
        ("MATCH (:A)-[r]->() RETURN count(r)", int(1)),
        ("MATCH (:A)-[r:R]->() RETURN r.w", int(1)),
        ("MATCH (:A)-[r]->() SET r.w = 5 RETURN r.w", int(5)),
        ("MATCH (:A)-->(:B) RETURN count(*)", int(0)),
        ("MATCH (:A)-->()<--(:C) RETURN count(*)", int(0)),
        ("MATCH (:A)-->(b) RETURN b:B", vec![Value::Bool(false)]),
        ("MATCH (:A)-->(b) RETURN size(keys(b))", int(0)),
        ("MATCH (:A)-->(b) RETURN COUNT { (b)--() }", int(0)),
        ("MATCH (:A)-->(b) SET b.i = 3 RETURN b.i IS NULL", vec![Value::Bool(true)]),
        // Again: it is gone already.
        ("MATCH (:A)-->(b) DELETE b RETURN 1", int(1)),
        ("MATCH (a:A) DETACH DELETE a RETURN 1", int(1)),
        ("MATCH (:C)-[r]->() DELETE r RETURN 1", int(1)),
    ] {
        assert_eq!(ask(text).unwrap(), expected, "{text}");
    }
    transaction.commit().unwrap();
    assert_eq!(one(&session, "MATCH (n) RETURN count(n)"), Value::Int(1));
    assert_eq!(one(&session, "MATCH ()-[r]->() RETURN count(r)"), Value::Int(0));

    session.run(make, &[]).unwrap();
    let mut transaction = session.begin().unwrap();
    transaction.run("MATCH (n) DELETE n", &none).unwrap();
    for (text, expected) in [
        ("MATCH ()-[r]->() RETURN count(r)", 2),
        ("MATCH ()-[r]-() RETURN count(r)", 4),
        ("MATCH ()-[r:R]->() RETURN count(r)", 1),
        ("MATCH (a)-[r]->() RETURN count(r.w)", 1),
        ("MATCH ()-[r]->(b:B) RETURN count(r)", 0),
        ("MATCH (n) RETURN count(n)", 0),
    ] {
        let found = transaction.run(text, &none).unwrap();
        assert_eq!(found.rows, [[Value::Int(expected)]], "{text}");
    }
    let deleted = transaction.run("MATCH ()-[r]->() DELETE r", &none).unwrap();
    assert_eq!(deleted.counters.relationships_deleted, 2);
    transaction.commit().unwrap();
    assert_eq!(one(&session, "MATCH (n) RETURN count(n)"), Value::Int(0));

    for (then, detail) in [
        ("MATCH (:A)-->(b) RETURN b.i", "DeletedEntityAccess"),
        ("MATCH (:A)-->(b) RETURN labels(b)", "DeletedEntityAccess"),
        ("MATCH (:A)-->(b) SET b:D", "DeletedEntityAccess"),
        ("MATCH (a:A)-->(b) CREATE (b)-[:T]->(a)", "DeletedEntityAccess"),
        ("MATCH (a:A)-->(b) MERGE (b)-[:T]->(a)", "DeletedEntityAccess"),
    ] {
        session.run("MATCH (n) DETACH DELETE n", &[]).unwrap();
        session.run(make, &[]).unwrap();
        let mut transaction = session.begin().unwrap();
        transaction.run(delete_b, &none).unwrap();
        let found = transaction.run(then, &none);
        assert_eq!(found.map_err(|e| e.detail).unwrap_err(), detail, "{then}");
    }
}

#[test]
fn a_query_that_fails_changes_nothing() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let text = "UNWIND [2, 1, 0] AS x CREATE (:N {v: 1 / x})";
    assert_eq!(session.run(text, &[]).unwrap_err().detail, "DivisionByZero");
    assert_eq!(one(&session, "MATCH (n) RETURN count(n)"), Value::Int(0));
}

#[test]
fn counters_on_one_node_are_not_lost_between_threads() {
    const THREADS: i64 = 4;
    const EACH: i64 = 50;
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_isolation(Isolation::Serializable);
    session.run("CREATE (:Counter {n: 0})", &[]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..EACH {
                    session.run("MATCH (c:Counter) SET c.n = c.n + 1", &[]).unwrap();
                }
            });
        }
    });
    assert_eq!(one(&session, "MATCH (c:Counter) RETURN c.n"), Value::Int(THREADS * EACH));
}

#[test]
fn limits_end_queries_that_take_too_long_or_too_much() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run("UNWIND range(1, 200) AS i CREATE (:N {i: i})", &[]).unwrap();
    let deadline = Some(Instant::now() + Duration::from_millis(50));
    let limits = Limits { deadline, ..Limits::default() };
    let session = session.with_limits(limits);
    let endless = "MATCH (a:N), (b:N), (c:N), (d:N), (e:N) RETURN count(*)";
    assert_eq!(session.run(endless, &[]).unwrap_err().kind, ErrorKind::TimedOut);
    let limits = Limits::default();
    let session = session.with_limits(limits).with_timeout(Duration::from_millis(50));
    for _ in 0..2 {
        assert_eq!(session.run(endless, &[]).unwrap_err().kind, ErrorKind::TimedOut);
    }
    // Each has its own time: what is short is in time, unless the machine does something else.
    let short = (0..100).find_map(|_| {
        let done = session.run("RETURN 1", &[]);
        done.inspect_err(|error| assert_eq!(error.kind, ErrorKind::TimedOut, "{error}")).ok()
    });
    assert_eq!(short.expect("a statement that was in time").rows, [[Value::Int(1)]]);
    let mut transaction = session.begin().unwrap();
    let ended = transaction.run(endless, &ValueMap::new()).unwrap_err();
    assert_eq!(ended.kind, ErrorKind::TimedOut);
    drop(transaction);
    // The time counts from the beginning of the transaction.
    let mut transaction = session.begin().unwrap();
    std::thread::sleep(Duration::from_millis(60));
    let some = "UNWIND range(1, 200000) AS i RETURN count(i)";
    let late = transaction.run(some, &ValueMap::new()).unwrap_err();
    assert_eq!(late.kind, ErrorKind::TimedOut);
    drop(transaction);
    let session = session.with_timeout(Duration::from_secs(600));
    let limits = Limits { memory: Some(1 << 20), ..Limits::default() };
    let session = session.with_limits(limits);
    let large = "MATCH (a:N), (b:N), (c:N) RETURN a.i + b.i AS x ORDER BY x";
    assert_eq!(session.run(large, &[]).unwrap_err().kind, ErrorKind::OutOfMemory);
    let few = "MATCH (a:N), (b:N) RETURN a.i + b.i AS x ORDER BY x LIMIT 3";
    assert_eq!(session.run(few, &[]).unwrap().rows.len(), 3);
}

#[test]
fn scripts_and_expressions_of_any_length_do_not_overflow_a_small_stack() {
    let run = || {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db);
        let creates = "CREATE (:A) ".repeat(2_000);
        session.run(&creates, &[]).unwrap();
        let mixed = "MATCH (a:A) WITH a LIMIT 1 SET a.x = 1 WITH a ".repeat(100) + "RETURN a.x";
        assert_eq!(session.run(&mixed, &[]).unwrap().rows, [[Value::Int(1)]]);
        let sum = format!("RETURN {}", vec!["1"; 50].join(" + "));
        assert_eq!(session.run(&sum, &[]).unwrap().rows, [[Value::Int(50)]]);
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn a_statement_by_itself_began_when_its_transaction_did() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let alike = "RETURN datetime.statement() = datetime.transaction()";
    for _ in 0..20 {
        assert_eq!(one(&session, alike), Value::Bool(true));
    }
    let mut transaction = session.begin().unwrap();
    std::thread::sleep(Duration::from_millis(1));
    let later = transaction.run(alike, &ValueMap::new()).unwrap();
    assert_eq!(later.rows, [[Value::Bool(false)]]);
}
