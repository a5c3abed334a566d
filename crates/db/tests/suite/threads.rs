//! Queries that several threads run: the same rows, the same errors, and an end.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::rows;
use telar_db::query::{
    Access, Context, ErrorKind, Inputs, Limits, Moment, Procedures, QueryError, QueryResult, Rows,
    SharedSnapshot, Sink, Threads, prepare,
};
use telar_db::{Database, Isolation, Runtime, Session, Snapshot, Value, ValueMap, Workers};
use telar_graph::Graph;

/// 3,000 persons, who each know ten others, and 30 cities.
fn people() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for query in [
        "UNWIND range(0, 29) AS i CREATE (:City {id: i, name: 'city ' + i})",
        "UNWIND range(0, 2999) AS i MATCH (c:City {id: (i * 7) % 30})
         CREATE (:Person {id: i, age: (i * 37) % 101, share: i / 7.0,
                          name: 'person ' + (i % 500)})-[:LIVES_IN]->(c)",
        "CREATE INDEX FOR (p:Person) ON (p.id)",
        "MATCH (p:Person) UNWIND range(1, 10) AS k
         MATCH (q:Person {id: (p.id * 13 + k * k * 101) % 3000}) CREATE (p)-[:KNOWS {k: k}]->(q)",
    ] {
        session.run(query, &[]).unwrap();
    }
    // Or the background does so between two queries: a list's order is another one then.
    db.settle();
    db
}

fn workers(threads: usize, morsel: usize) -> Arc<Workers> {
    Arc::new(Workers::new(threads).with_morsels_of(NonZeroUsize::new(morsel).unwrap()))
}

fn alone(db: &Database) -> Session {
    Session::new(db).with_workers(Arc::new(Workers::new(1)))
}

const QUERIES: &[&str] = &[
    "MATCH (p:Person) RETURN count(*), sum(p.age), min(p.name), max(p.share), avg(p.age)",
    "MATCH (p:Person) RETURN p.age AS age, count(*), collect(p.id), count(DISTINCT p.name)",
    "MATCH (p:Person) RETURN p.age, p.name, min(p.id), percentileDisc(p.id, 0.5)",
    "MATCH (p:Person) WHERE p.age > 90 RETURN p.id, p.name",
    "MATCH (p:Person) WHERE p.age > 90 RETURN DISTINCT p.age",
    "MATCH (p:Person) RETURN p.id ORDER BY p.age DESC, p.name LIMIT 7",
    "MATCH (p:Person) RETURN p.id, p.age ORDER BY p.age",
    "MATCH (p:Person) RETURN p.id LIMIT 5",
    "MATCH (p:Person) RETURN p.id SKIP 2990",
    "MATCH (:Person)-[:KNOWS]->(p:Person) RETURN p.id AS id, count(*) AS n ORDER BY n DESC, id",
    "MATCH (:Person {id: 5})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(p) RETURN count(DISTINCT p)",
    "MATCH (:Person {id: 5})-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(p) RETURN p.id",
    "MATCH (:Person {id: 5})-[:KNOWS*1..3]->(p)-[:LIVES_IN]->(c) RETURN c.name, count(*)",
    "MATCH (c:City) OPTIONAL MATCH (c)<-[:LIVES_IN]-(p {age: 3}) RETURN c.id, collect(p.id)",
    "MATCH (p:Person) WHERE EXISTS { (p)-[:KNOWS {k: 3}]->({age: 5}) } RETURN p.id",
    "MATCH (p:Person) WITH p.age AS age, count(*) AS n WHERE n > 29
     MATCH (q:Person {age: age})-[:LIVES_IN]->(c) RETURN c.id, age, collect(q.id)",
    "MATCH (p:Person {age: 50}) RETURN p.id AS id UNION MATCH (c:City) RETURN c.id AS id",
    "UNWIND range(0, 200) AS i MATCH (p:Person {id: i})-[:KNOWS]->(q) RETURN i, q.id",
    "MATCH (p:Person) CALL (p) { MATCH (p)-[:KNOWS]->(q) RETURN q ORDER BY q.id LIMIT 1 }
     RETURN p.id, q.id",
    "MATCH (p:Person) WHERE p.id > 2 RETURN stDev(p.age), percentileCont(p.age, 0.9)",
];

/// What is read as it was when it was written down: to a float only about.
fn about(rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    let about = |value: Value| match value {
        Value::Float(x) => Value::String(format!("{x:.9e}").into()),
        other => other,
    };
    rows.into_iter().map(|row| row.into_iter().map(about).collect()).collect()
}

#[test]
fn rows_and_their_order_are_those_of_one_thread() {
    let db = people();
    let alone = alone(&db);
    for (threads, morsel) in [(2, 1), (4, 3), (3, 50), (4, 1000)] {
        let shared = Session::new(&db).with_workers(workers(threads, morsel));
        for query in QUERIES {
            let run = |session: &Session| about(session.run(query, &[]).unwrap().rows);
            assert_eq!(run(&shared), run(&alone), "{threads} threads, by {morsel}: {query}");
        }
    }
}

#[test]
fn nothing_is_shared_that_is_soon_over_and_helpers_are_given_back() {
    let db = people();
    let workers = Arc::new(Workers::new(4));
    let session = Session::new(&db).with_workers(Arc::clone(&workers));
    for query in QUERIES {
        session.run(query, &[]).unwrap();
    }
    assert_eq!(workers.busy(), 0);
}

#[test]
fn of_errors_the_first_row_has_it_counts() {
    let db = people();
    for morsel in [1, 7, 500] {
        let session = Session::new(&db).with_workers(workers(4, morsel));
        // Each of these rows fails in its own way; the one with the smallest number is first.
        let query = "MATCH (p:Person) WHERE p.id >= 1000
                     RETURN sum(CASE WHEN p.id % 3 = 0 THEN date('no ' + p.id) ELSE 1 END)";
        let error = session.run(query, &[]).unwrap_err();
        assert!(error.message.contains("no 1002"), "{error}");
        let query = "MATCH (p:Person) RETURN p.id, date('2020-01-0' + p.id)";
        let error = session.run(query, &[]).unwrap_err();
        assert!(error.message.contains("got 0"), "{error}");
        // A row that nobody asks for does not fail.
        let query = "MATCH (p:Person) WITH p.id AS id, 10 / (2900 - p.id) AS x
                     RETURN id, x LIMIT 9";
        assert_eq!(session.run(query, &[]).unwrap().rows.len(), 9);
    }
}

#[test]
fn limits_and_cancellation_hold_for_all_threads_together() {
    let db = people();
    let long = "MATCH (p:Person)-[:KNOWS*1..9]->(q) RETURN count(DISTINCT q)";
    for workers in [workers(4, 3), Arc::new(Workers::new(4))] {
        let session = || Session::new(&db).with_workers(Arc::clone(&workers));
        let error = session().with_timeout(Duration::from_millis(50)).run(long, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TimedOut);
        let flag = Arc::new(AtomicBool::new(false));
        let limits = Limits { cancelled: Some(Arc::clone(&flag)), ..Limits::default() };
        let cancelled = session().with_limits(limits);
        let error = thread::scope(|scope| {
            let query = scope.spawn(|| cancelled.run(long, &[]).unwrap_err());
            thread::sleep(Duration::from_millis(50));
            flag.store(true, Ordering::Relaxed);
            query.join().unwrap()
        });
        assert_eq!(error.kind, ErrorKind::Terminated);
        // No thread holds this much, all together do.
        let limits = Limits { memory: Some(200_000), ..Limits::default() };
        let limited = session().with_limits(limits);
        let kept = "MATCH (p:Person)-[:KNOWS]->(q) RETURN p, collect(q.name + p.name)";
        assert_eq!(limited.run(kept, &[]).unwrap_err().kind, ErrorKind::OutOfMemory);
        assert_eq!(limited.run("MATCH (p:Person) RETURN count(*)", &[]).unwrap().rows.len(), 1);
        assert_eq!(workers.busy(), 0);
    }
}

/// Wants a few rows.
struct Few(usize);

impl Sink for Few {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.0 += rows.len();
        Ok(())
    }

    fn has_enough(&self) -> bool {
        self.0 > 3000
    }
}

#[test]
fn streams_hold_what_a_few_morsels_made() {
    let db = people();
    // 30 million rows, of which no more than a few thousand may be made ahead.
    let query = "MATCH (p:Person)-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->()-[:KNOWS]->(q)
                 RETURN p, q";
    for morsel in [2, 100] {
        let limits = Limits { memory: Some(1 << 30), ..Limits::default() };
        let session = Session::new(&db).with_workers(workers(4, morsel)).with_limits(limits);
        let mut sink = Few(0);
        session.stream(query, &ValueMap::new(), &mut sink).unwrap();
        assert!((3000..2_000_000).contains(&sink.0), "{} rows", sink.0);
    }
}

#[test]
fn a_snapshot_is_the_same_for_all_threads_while_others_write() {
    let db = telar_db::open_in_memory().unwrap();
    let set_up = Session::new(&db);
    set_up.run("UNWIND range(1, 6000) AS i CREATE (:A {v: 1})", &[]).unwrap();
    let done = AtomicBool::new(false);
    let shared = workers(4, 16);
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|writer| {
                let (db, done) = (&db, &done);
                scope.spawn(move || {
                    let session = alone(db);
                    let mut round = 0;
                    // One round at least, if there was no processor for it before.
                    while round == 0 || !done.load(Ordering::Relaxed) {
                        // What one loses another gains: the sum stays.
                        let query = "MATCH (a:A) WHERE id(a) % 6000 = $x SET a.v = a.v - 5
                                     WITH a MATCH (b:A) WHERE id(b) % 6000 = $y SET b.v = b.v + 5";
                        let place = (round * 31 + writer * 17) % 6000;
                        let given = [("x", Value::Int(place)), ("y", Value::Int(5999 - place))];
                        session.run(query, &given).unwrap();
                        round += 1;
                    }
                })
            })
            .collect();
        let stopped = common::StopAtEnd(&done);
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            let session = Session::new(&db).with_workers(Arc::clone(&shared));
            let session = session.with_isolation(isolation);
            for _ in 0..20 {
                let sum = "MATCH (a:A) RETURN sum(a.v), count(*)";
                let want = [[Value::Int(6000), Value::Int(6000)]];
                assert_eq!(session.run(sum, &[]).unwrap().rows, want);
                // In a transaction all statements see one state; its own changes are seen by all.
                let mut transaction = session.begin().unwrap();
                let nothing = ValueMap::new();
                let list = "MATCH (a:A) RETURN collect(a.v)";
                let first = transaction.run(list, &nothing).unwrap().rows;
                assert_eq!(transaction.run(list, &nothing).unwrap().rows, first);
                transaction.run("CREATE (:A {v: 7})", &nothing).unwrap();
                let with_own = [[Value::Int(6007), Value::Int(6001)]];
                assert_eq!(transaction.run(sum, &nothing).unwrap().rows, with_own);
                transaction.rollback();
            }
        }
        drop(stopped);
        writers.into_iter().for_each(|writer| writer.join().unwrap());
    });
}

#[test]
fn many_sessions_at_once_share_the_threads_there_are() {
    let db = people();
    let runtime = Arc::new(Runtime::default().with_workers(workers(3, 20)));
    let expected = rows(&alone(&db), QUERIES[1]);
    thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let session = Session::with_runtime(&db, Arc::clone(&runtime));
                for _ in 0..10 {
                    assert_eq!(rows(&session, QUERIES[1]), expected);
                }
            });
        }
    });
    assert_eq!(runtime.workers().busy(), 0);
}

#[test]
fn a_profile_counts_what_all_threads_did() {
    let db = people();
    let query = "PROFILE MATCH (p:Person)-[:KNOWS]->(q) WHERE q.age > 50
                 RETURN q.age, min(p.age) ORDER BY q.age";
    let counts = |session: &Session| {
        let plan = session.run(query, &[]).unwrap().plan.unwrap();
        let (mut at, mut counts) = (Some(&plan), Vec::new());
        while let Some(operator) = at {
            let measured = operator.measured.unwrap();
            // How often grouping reads what rows have in common depends on who comes together.
            let hits = (operator.operator != "GroupedAggregation").then_some(measured.hits);
            counts.push((operator.operator, measured.rows, hits));
            at = operator.children.first();
        }
        counts
    };
    let shared = Session::new(&db).with_workers(workers(4, 1024));
    assert_eq!(counts(&shared), counts(&alone(&db)));
}

/// A snapshot that counts who reads it, some of whom panic.
struct Watched<'s> {
    snapshot: &'s Snapshot<'s>,
    helpers: AtomicUsize,
    panics: bool,
}

impl SharedSnapshot for Watched<'_> {
    fn read(&self, work: &mut dyn FnMut(&dyn Graph)) {
        let before = self.helpers.fetch_add(1, Ordering::Relaxed);
        work(&self.snapshot.reader());
        assert!(!self.panics || before > 0, "the first helper panics");
    }
}

impl Watched<'_> {
    fn run(&self, workers: &Workers, query: &str) -> QueryResult {
        let reader = self.snapshot.reader();
        let plan = prepare(query, &reader, &Procedures::builtin()).unwrap();
        let inputs = Inputs {
            tables: None,
            parameters: &ValueMap::new(),
            context: &Context::new(Moment::now()),
            procedures: &Procedures::builtin(),
            limits: &Limits::default(),
            transactions: None,
            host: None,
            threads: Some(Threads { workers, snapshot: self }),
        };
        plan.run(Access::Read(&reader), inputs).unwrap()
    }
}

#[test]
fn helpers_help_where_it_pays_and_a_panic_of_one_is_the_querys() {
    let db = people();
    let snapshot = db.snapshot().unwrap();
    let watched = |panics| {
        let helpers = AtomicUsize::new(0);
        Watched { snapshot: &snapshot, helpers, panics }
    };
    let helped = |workers: &Workers, query: &str| {
        let watched = watched(false);
        watched.run(workers, query);
        watched.helpers.into_inner()
    };
    let few = workers(3, 2);
    for query in QUERIES {
        assert!(helped(&few, query) > 0, "{query}");
    }
    // These are over before anybody could help, or cannot be shared.
    let usual = Workers::new(3);
    for query in [
        "MATCH (p:Person {id: 7}) RETURN p.name",
        "MATCH (:Person {id: 7})-[:KNOWS]->(q) RETURN q.name",
        "RETURN 1",
        "MATCH (p:Person) RETURN count(*)",
    ] {
        assert_eq!(helped(&usual, query), 0, "{query}");
    }
    for query in [
        "MATCH (p:Person) WITH p, rand() AS r RETURN sum(r)",
        "MATCH (p:Person) WITH p.age > rand() AS older RETURN older, count(*)",
        "MATCH (p:Person) WHERE EXISTS { (p)-->(q) WHERE rand() > 2 } RETURN p.age",
        "MATCH (p:Person) RETURN p.age ORDER BY rand() LIMIT 3",
    ] {
        assert_eq!(helped(&few, query), 0, "{query}");
    }
    let watched = watched(true);
    let query = "MATCH (p:Person) RETURN p.age, collect(p.name)";
    let panicked = catch_unwind(AssertUnwindSafe(|| watched.run(&few, query)));
    let message = *panicked.unwrap_err().downcast::<&str>().unwrap();
    assert_eq!((message, few.busy()), ("the first helper panics", 0));
    assert_eq!(watched.run(&few, query).rows.len(), 101);
}
