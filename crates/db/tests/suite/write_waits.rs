//! Transactions that write the same: they wait for each other, and lose nothing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, yield_now};
use std::time::Duration;

use telar_db::query::{ErrorKind, Limits, QueryError};
use telar_db::{Database, Isolation, Session, Value, ValueMap};

const THREADS: i64 = 16;
/// Long enough that nothing goes on because of it.
const LONG: Duration = Duration::from_secs(600);

fn int(session: &Session, text: &str) -> i64 {
    match session.run(text, &[]).unwrap().rows[0][0] {
        Value::Int(n) => n,
        ref other => panic!("{text}: {other:?}"),
    }
}

fn until_waiting(db: &Database, waits: u64) {
    while db.write_waits() < waits {
        yield_now();
    }
}

fn given(entries: &[(&str, i64)]) -> ValueMap {
    entries.iter().map(|(key, value)| (Arc::from(*key), Value::Int(*value))).collect()
}

/// How a program does one unit of work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A statement by itself.
    Alone,
    /// A transaction of one statement, run again by the program if it has to be.
    Managed,
    /// The value is read first, by a statement of its own.
    ReadFirst,
}

/// Work that many do at once on the same.
struct Work {
    name: &'static str,
    setup: &'static [&'static str],
    /// What the n-th thread does the i-th time; of two numbers.
    write: &'static [&'static str],
    /// Reads `value`, which `store` replaces by `$value + 1`.
    read_first: Option<(&'static str, &'static str)>,
    /// What must hold at the end, for so many units of work.
    total: &'static str,
    expected: fn(i64) -> i64,
}

const WORK: &[Work] = &[
    Work {
        name: "one node",
        setup: &["CREATE (:C {n: 0})"],
        write: &["MATCH (c:C) SET c.n = c.n + 1"],
        read_first: Some(("MATCH (c:C) RETURN c.n", "MATCH (c:C) SET c.n = $value + 1")),
        total: "MATCH (c:C) RETURN c.n",
        expected: |units| units,
    },
    Work {
        name: "one relationship",
        setup: &["CREATE (:C)-[:R {n: 0}]->(:C)"],
        write: &["MATCH (:C)-[r:R]->(:C) SET r.n = r.n + 1"],
        read_first: Some((
            "MATCH ()-[r:R]->() RETURN r.n",
            "MATCH ()-[r:R]->() SET r.n = $value + 1",
        )),
        total: "MATCH ()-[r:R]->() RETURN r.n",
        expected: |units| units,
    },
    Work {
        name: "transfers among eight accounts",
        setup: &["UNWIND range(0, 7) AS i CREATE (:A {i: i, n: 1000, moves: 0})"],
        write: &["MATCH (a:A {i: $x % 8}), (b:A {i: ($x + 1 + $y % 7) % 8}) \
                  SET a.n = a.n - 1 SET b.n = b.n + 1 SET a.moves = a.moves + 1"],
        read_first: None,
        total: "MATCH (a:A) RETURN sum(a.n) - 8000 + sum(a.moves)",
        expected: |units| units,
    },
    Work {
        name: "a node that is deleted and made anew, and changed",
        setup: &["CREATE (:C {n: 0})"],
        write: &[
            "MATCH (c:C) SET c.n = c.n + 1",
            "MATCH (c:C) WITH c, c.n AS n DELETE c CREATE (:C {n: n + 1})",
            "MATCH (c:C) SET c:D, c.n = c.n + 1 REMOVE c:D",
        ],
        read_first: None,
        total: "MATCH (c:C) RETURN sum(c.n)",
        expected: |units| units,
    },
    Work {
        name: "keys of a constraint",
        setup: &["CREATE CONSTRAINT FOR (k:K) REQUIRE k.k IS UNIQUE"],
        write: &["MERGE (k:K {k: $y % 5}) ON CREATE SET k.n = 1 ON MATCH SET k.n = k.n + 1"],
        read_first: None,
        total: "MATCH (k:K) RETURN sum(k.n) + 1000 * (count(k) - 5)",
        expected: |units| units,
    },
    Work {
        name: "relationships that are merged",
        setup: &["UNWIND range(0, 3) AS i CREATE (:W {i: i})"],
        write: &["MATCH (a:W {i: $x % 4}), (b:W {i: $y % 4}) MERGE (a)-[r:R]->(b) \
             ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1"],
        read_first: None,
        total: "MATCH (a:W)-[r:R]->(b:W) WITH a, b, count(r) AS c, sum(r.n) AS n \
                RETURN sum(n) + 1000 * sum(c - 1)",
        expected: |units| units,
    },
    Work {
        name: "a relationship that is deleted and merged",
        setup: &["CREATE (:W {i: 0})-[:R {n: 0}]->(:W {i: 1})"],
        write: &[
            "MATCH (a:W {i: 0}), (b:W {i: 1}) MERGE (a)-[r:R]->(b) SET r.n = r.n + 1",
            "MATCH (a:W {i: 0})-[r:R]->(b) WITH a, b, r, r.n AS n DELETE r \
             CREATE (a)-[:R {n: n + 1}]->(b)",
        ],
        read_first: None,
        total: "MATCH ()-[r:R]->() RETURN sum(r.n) + 1000 * (count(r) - 1)",
        expected: |units| units,
    },
];

/// Does one unit of work; how often the program had to begin anew.
fn work(session: &Session, mode: Mode, work: &Work, (x, y): (i64, i64)) -> u64 {
    let text = work.write[(x + y) as usize % work.write.len()];
    let numbers = given(&[("x", x), ("y", y)]);
    let unit = || -> Result<(), QueryError> {
        match (mode, work.read_first) {
            (Mode::Alone, _) => session.run_with(text, &numbers).map(drop),
            (Mode::ReadFirst, Some((read, write))) => {
                let mut transaction = session.begin()?;
                let Value::Int(value) = transaction.run(read, &numbers)?.rows[0][0] else {
                    panic!("{read}")
                };
                transaction.run(write, &given(&[("value", value)]))?;
                transaction.commit().map(drop)
            }
            _ => {
                let mut transaction = session.begin()?;
                transaction.run(text, &numbers)?;
                transaction.commit().map(drop)
            }
        }
    };
    let mut again = 0;
    while let Err(error) = unit() {
        assert!(error.is_retryable(), "{}: {error}", work.name);
        again += 1;
    }
    again
}

fn together(isolation: Isolation, mode: Mode, of: &Work, each: i64) -> (u64, u64) {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_isolation(isolation).with_write_wait(LONG);
    of.setup.iter().for_each(|text| drop(session.run(text, &[]).unwrap()));
    let again = scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|x| {
                let session = &session;
                scope.spawn(move || (0..each).map(|y| work(session, mode, of, (x, y))).sum::<u64>())
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    let units = THREADS * each;
    let told = format!("{} {mode:?} {isolation:?}", of.name);
    assert_eq!(int(&session, of.total), (of.expected)(units), "{told}");
    (again, db.write_waits())
}

#[test]
fn a_transaction_of_one_statement_never_has_to_be_run_again() {
    for of in WORK {
        let (again, waits) = together(Isolation::Snapshot, Mode::Managed, of, 40);
        assert_eq!(again, 0, "{}: after {waits} waits", of.name);
    }
}

#[test]
fn nothing_is_lost_however_it_is_written() {
    for of in WORK {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            for mode in [Mode::Alone, Mode::Managed, Mode::ReadFirst] {
                if mode != Mode::ReadFirst || of.read_first.is_some() {
                    together(isolation, mode, of, 12);
                }
            }
        }
    }
}

fn counter(db: &Database) -> Session {
    let session = Session::new(db).with_write_wait(LONG);
    session.run("CREATE (:C {n: 0, m: 0})", &[]).unwrap();
    session
}

const ADD: &str = "MATCH (c:C) SET c.n = c.n + 1 RETURN c.n";
const READ: &str = "MATCH (c:C) RETURN c.n";

/// How the first transaction ends while the second waits for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    Drop,
    Fail,
    Panic,
}

#[test]
fn whoever_waits_goes_on_when_the_other_ends() {
    for end in [End::Commit, End::Rollback, End::Drop, End::Fail, End::Panic] {
        for read_before in [false, true] {
            let db = telar_db::open_in_memory().unwrap();
            let session = counter(&db);
            let none = ValueMap::new();
            let mut first = session.begin().unwrap();
            first.run(ADD, &none).unwrap();
            let second = scope(|scope| {
                let (session, none) = (&session, &none);
                let waits = scope.spawn(move || {
                    let mut second = session.begin().unwrap();
                    if read_before {
                        assert_eq!(second.run(READ, none).unwrap().rows, [[Value::Int(0)]]);
                    }
                    let added = second.run(ADD, none)?.rows[0][0].clone();
                    second.commit()?;
                    Ok::<Value, QueryError>(added)
                });
                until_waiting(&db, 1);
                // Who reads does not wait.
                assert_eq!(int(session, READ), 0);
                match end {
                    End::Commit => drop(first.commit().unwrap()),
                    End::Rollback => first.rollback(),
                    End::Drop => drop(first),
                    End::Fail => {
                        let failed = first.run("MATCH (c:C) RETURN 1 / c.m", none).unwrap_err();
                        assert_eq!(failed.kind, ErrorKind::Arithmetic);
                        // It is still open: nobody waits for what cannot be committed.
                        let second = waits.join().unwrap();
                        drop(first);
                        return second;
                    }
                    End::Panic => {
                        let gone = std::panic::AssertUnwindSafe(move || {
                            let _first = first;
                            std::panic::resume_unwind(Box::new("gone"));
                        });
                        std::panic::catch_unwind(gone).unwrap_err();
                    }
                }
                waits.join().unwrap()
            });
            let told = format!("{end:?}, read before: {read_before}");
            match (end, read_before) {
                (End::Commit, false) => assert_eq!(second.unwrap(), Value::Int(2), "{told}"),
                // It has said what it saw, and that is no longer so.
                (End::Commit, true) => {
                    assert_eq!(second.unwrap_err().kind, ErrorKind::Conflict, "{told}");
                }
                _ => assert_eq!(second.unwrap(), Value::Int(1), "{told}"),
            }
            let left = 1 + i64::from((end, read_before) == (End::Commit, false));
            assert_eq!(int(&session, READ), left, "{told}");
            // Nothing is held any more: nobody waits.
            let waits = db.write_waits();
            session.run(ADD, &[]).unwrap();
            assert_eq!(db.write_waits(), waits, "{told}");
        }
    }
}

#[test]
fn a_wait_ends_with_the_time_limit_and_when_somebody_says_so() {
    let db = telar_db::open_in_memory().unwrap();
    let session = counter(&db);
    let mut first = session.begin().unwrap();
    first.run(ADD, &ValueMap::new()).unwrap();
    let hurried = Session::new(&db).with_write_wait(LONG).with_timeout(Duration::from_millis(30));
    assert_eq!(hurried.run(ADD, &[]).unwrap_err().kind, ErrorKind::TimedOut);
    let mut transaction = hurried.begin().unwrap();
    assert_eq!(transaction.run(ADD, &ValueMap::new()).unwrap_err().kind, ErrorKind::TimedOut);
    drop(transaction);
    let cancelled = Arc::new(AtomicBool::new(false));
    let limits = Limits { cancelled: Some(Arc::clone(&cancelled)), ..Limits::default() };
    let told = Session::new(&db).with_write_wait(LONG).with_limits(limits);
    scope(|scope| {
        let waits = db.write_waits();
        let ended = scope.spawn(|| told.run(ADD, &[]).unwrap_err().kind);
        until_waiting(&db, waits + 1);
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(ended.join().unwrap(), ErrorKind::Terminated);
        let waits = db.write_waits();
        let ended = scope.spawn(|| session.run(ADD, &[]).unwrap_err().kind);
        until_waiting(&db, waits + 1);
        let listed = "SHOW TRANSACTIONS YIELD transactionId, currentQuery \
                      WHERE currentQuery = $text RETURN transactionId";
        let id = session.run(listed, &[("text", ADD.into())]).unwrap().rows[0][0].clone();
        let Value::String(id) = id else { panic!("{id:?}") };
        session.run(&format!("TERMINATE TRANSACTIONS '{id}'"), &[]).unwrap();
        assert_eq!(ended.join().unwrap(), ErrorKind::Terminated);
    });
    first.commit().unwrap();
    assert_eq!(int(&session, READ), 1);
}

#[test]
fn an_open_transaction_holds_others_up_for_a_while_and_loses_then() {
    for wait in [Duration::ZERO, Duration::from_millis(20)] {
        let db = telar_db::open_in_memory().unwrap();
        let session = counter(&db).with_write_wait(wait);
        let mut first = session.begin().unwrap();
        first.run(ADD, &ValueMap::new()).unwrap();
        session.run(ADD, &[]).unwrap();
        session.run(ADD, &[]).unwrap();
        assert_eq!(db.write_waits(), u64::from(!wait.is_zero()), "only one waited for it");
        let lost = first.commit().unwrap_err();
        assert_eq!(lost.kind, ErrorKind::Conflict);
        assert_eq!(int(&session, READ), 2);
    }
}

#[test]
fn of_transactions_that_wait_for_each_other_one_is_told() {
    for size in [2, 3] {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db).with_write_wait(LONG);
        session.run("UNWIND range(0, 2) AS i CREATE (:C {i: i, n: 0})", &[]).unwrap();
        let add = "MATCH (c:C {i: $i}) SET c.n = c.n + 1";
        let mut open: Vec<_> = (0..size).map(|_| session.begin().unwrap()).collect();
        for (i, transaction) in (0..).zip(&mut open) {
            transaction.run(add, &given(&[("i", i)])).unwrap();
        }
        let ends: Vec<Result<(), QueryError>> = scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(open)
                .map(|(i, mut transaction)| {
                    scope.spawn(move || {
                        transaction.run(add, &given(&[("i", (i + 1) % size)]))?;
                        transaction.commit().map(drop)
                    })
                })
                .collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        let code = "Neo.TransientError.Transaction.DeadlockDetected";
        let deadlocks = ends.iter().filter(|end| end.as_ref().is_err_and(|e| e.code() == code));
        assert_eq!(deadlocks.count(), 1, "{ends:?}");
        // The others waited for each other's commits, which came: they lost conflicts.
        let done = ends.iter().filter(|end| end.is_ok()).count() as i64;
        assert!(done >= 1, "{ends:?}");
        assert!(ends.iter().flat_map(|e| e.as_ref().err()).all(QueryError::is_retryable));
        assert_eq!(int(&session, "MATCH (c:C) RETURN sum(c.n)"), 2 * done);
    }
}

#[test]
fn what_does_not_conflict_does_not_wait() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_write_wait(LONG);
    session.run("CREATE (:C {n: 0})-[:R {n: 0}]->(:D)", &[]).unwrap();
    let all = [
        "MATCH (c:C) SET c.n = 1",
        "MATCH (c:C) SET c.m = 1",
        "MATCH (c:C) SET c:L",
        "MATCH (c:C), (d:D) CREATE (c)-[:S]->(d)",
        "MATCH (c:C), (d:D) CREATE (c)-[:S]->(d)",
        "MATCH (:C)-[r:R]->() SET r.n = 1",
        "MATCH (:C)-[r:R]->() SET r.m = 1",
        "MATCH (c:C), (d:D) MERGE (c)-[:T]->(d)",
        "MATCH (c:C), (d:D) MERGE (c)-[:U]->(d)",
        "MATCH (c:C) MERGE (c)-[:T]->(:E {k: 1})",
        "MATCH (c:C) MERGE (c)-[:T]->(:E {k: 2})",
    ];
    let mut open: Vec<_> = all.iter().map(|_| session.begin().unwrap()).collect();
    for (text, transaction) in all.iter().zip(&mut open) {
        transaction.run(text, &ValueMap::new()).unwrap();
    }
    assert_eq!(db.write_waits(), 0);
    for transaction in open {
        transaction.commit().unwrap();
    }
}
