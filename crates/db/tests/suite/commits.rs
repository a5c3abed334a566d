//! What a transaction writes counts as memory of its statements, and its commit can be ended.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Session, Value, ValueMap};

fn count(db: &Database) -> Value {
    let result = Session::new(db).run("MATCH (n) RETURN count(n) AS n", &[]).unwrap();
    result.rows[0][0].clone()
}

fn limited(bytes: usize) -> Limits {
    Limits { memory: Some(bytes), ..Limits::default() }
}

/// Statements that write and hold next to nothing else.
const WRITING: [&str; 4] = [
    "UNWIND range(1, 400000) AS i CREATE (:P {id: i})",
    "UNWIND range(1, 400000) AS i CREATE (:P)",
    "MATCH (a:A), (b:B) UNWIND range(1, 400000) AS i CREATE (a)-[:T {i: i}]->(b)",
    "FOREACH (i IN range(1, 400000) | CREATE (:P {id: i}))",
];

#[test]
fn writes_beyond_the_memory_of_a_statement_are_refused_with_the_name_of_the_setting() {
    let db = telar_db::open_in_memory().unwrap();
    Session::new(&db).run("CREATE (:A), (:B)", &[]).unwrap();
    for text in WRITING {
        let session = Session::new(&db).with_limits(limited(8 << 20));
        let error = session.run(text, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::OutOfMemory, "{text}: {error}");
        let message = error.to_string();
        assert!(message.contains("limits.statement_memory"), "{text}: {message}");
        assert_eq!(count(&db), Value::Int(2), "{text}");
    }
    // In parts it can be written.
    let text = "UNWIND range(1, 200000) AS i CALL (i) { CREATE (:P {id: i}) } \
                IN TRANSACTIONS OF 1000 ROWS";
    Session::new(&db).with_limits(limited(8 << 20)).run(text, &[]).unwrap();
    assert_eq!(count(&db), Value::Int(200_002));
}

#[test]
fn writes_of_all_statements_of_a_transaction_count() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_limits(limited(8 << 20));
    let mut transaction = session.begin().unwrap();
    let text = "UNWIND range(1, 40000) AS i CREATE (:P {id: i})";
    let refused = (0..10).find_map(|_| transaction.run(text, &ValueMap::new()).err()).unwrap();
    assert_eq!(refused.kind, ErrorKind::OutOfMemory, "{refused}");
    drop(transaction);
    assert_eq!(count(&db), Value::Int(0));
    session.run(text, &[]).unwrap();
}

/// Told to end after its last statement, a transaction is not committed: by its flag, or by its
/// time limit.
#[test]
fn commit_of_a_transaction_that_was_told_to_end_is_refused() {
    let db = telar_db::open_in_memory().unwrap();
    let cancelled = Arc::new(AtomicBool::new(false));
    let flagged = Limits { cancelled: Some(Arc::clone(&cancelled)), ..Limits::default() };
    let session = Session::new(&db).with_limits(flagged);
    for text in ["CREATE (:P)", "UNWIND range(1, 10000) AS i CREATE (:P {i: i})", "RETURN 1"] {
        let mut transaction = session.begin().unwrap();
        transaction.run(text, &ValueMap::new()).unwrap();
        cancelled.store(true, Ordering::Relaxed);
        let error = transaction.commit().unwrap_err();
        assert_eq!(error.kind, ErrorKind::Terminated, "{text}: {error}");
        assert_eq!(count(&db), Value::Int(0), "{text}");
        cancelled.store(false, Ordering::Relaxed);
    }
    // In time for the statement, if not the first time on a machine that does something else.
    let in_time = (0..8).find_map(|twice| {
        let deadline = Instant::now() + Duration::from_secs(1 << twice);
        let limits = Limits { deadline: Some(deadline), ..Limits::default() };
        let mut transaction = Session::new(&db).with_limits(limits).begin().unwrap();
        match transaction.run("CREATE (:P)", &ValueMap::new()) {
            Ok(_) => Some((transaction, deadline)),
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
                assert!(Instant::now() >= deadline);
                None
            }
        }
    });
    let (transaction, deadline) = in_time.expect("a statement that was in time");
    while Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    let error = transaction.commit().unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
    assert_eq!(count(&db), Value::Int(0));
}
