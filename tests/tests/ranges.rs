//! Ranges of more integers than memory holds, unwound one batch at a time.

use std::time::{Duration, Instant};

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Session, Value};

const HUGE: i64 = i64::MAX;

#[test]
fn unwinding_a_huge_range_makes_no_list() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let query = "UNWIND [2, 3] AS step UNWIND range(1, $huge, step) AS x RETURN x LIMIT 3";
    let found = session.run(query, &[("huge", HUGE.into())]).unwrap();
    assert_eq!(found.rows, [[Value::Int(1)], [Value::Int(3)], [Value::Int(5)]]);
    let all = "UNWIND [-2, 0, 5] AS end UNWIND range(1, end) AS x RETURN collect(x)";
    let found = session.run(all, &[]).unwrap();
    assert_eq!(found.rows, [[Value::list([1, 2, 3, 4, 5])]]);
    // As a list it is refused before it is made.
    let error = session.run("RETURN size(range(1, $huge))", &[("huge", HUGE.into())]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfMemory);
}

#[test]
fn unwinding_a_huge_range_ends_at_the_deadline() {
    let db = telar_db::open_in_memory().unwrap();
    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let session = Session::new(&db).with_limits(Limits { deadline, ..Limits::default() });
    let query = "UNWIND range(1, $huge) AS x WITH x WHERE x < 0 RETURN count(*)";
    let error = session.run(query, &[("huge", HUGE.into())]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TimedOut);
}
