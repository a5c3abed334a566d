//! Queries that need ten times the memory they may hold answer as they do without a limit; what
//! cannot spill says so; what goes wrong with temporary files is reported and leaves none behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use telar_db::query::{ErrorKind, Limits, QueryError, Rows, Scratch, ScratchFile, Sink};
use telar_db::{Database, Runtime, Session, Value, ValueMap, Workers};

/// Files in memory that count what is done with them, and fail at one operation.
#[derive(Debug, Clone)]
struct Files(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    operations: AtomicUsize,
    fails_at: usize,
    how: io::ErrorKind,
    open: AtomicUsize,
    made: AtomicUsize,
}

#[derive(Debug)]
struct File {
    bytes: Vec<u8>,
    counts: Arc<Counts>,
}

impl Files {
    fn new(fails_at: usize, how: io::ErrorKind) -> Self {
        let zero = || AtomicUsize::new(0);
        Self(Arc::new(Counts { operations: zero(), fails_at, how, open: zero(), made: zero() }))
    }

    fn good() -> Self {
        Self::new(usize::MAX, io::ErrorKind::Other)
    }

    fn made(&self) -> usize {
        self.0.made.load(Ordering::Relaxed)
    }

    fn open(&self) -> usize {
        self.0.open.load(Ordering::Relaxed)
    }
}

impl Counts {
    fn step(&self) -> io::Result<()> {
        match self.operations.fetch_add(1, Ordering::Relaxed) {
            at if at == self.fails_at => Err(io::Error::new(self.how, "injected")),
            _ => Ok(()),
        }
    }
}

impl Scratch for Files {
    fn create(&self) -> io::Result<Box<dyn ScratchFile>> {
        self.0.step()?;
        self.0.open.fetch_add(1, Ordering::Relaxed);
        self.0.made.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(File { bytes: Vec::new(), counts: Arc::clone(&self.0) }))
    }

    fn place(&self) -> String {
        "a test".into()
    }
}

impl ScratchFile for File {
    fn write_at(&mut self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.counts.step()?;
        let end = at as usize + bytes.len();
        self.bytes.resize(end.max(self.bytes.len()), 0);
        self.bytes[at as usize..end].copy_from_slice(bytes);
        Ok(())
    }

    fn read_at(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.counts.step()?;
        bytes.copy_from_slice(&self.bytes[at as usize..at as usize + bytes.len()]);
        Ok(())
    }
}

impl Drop for File {
    fn drop(&mut self) {
        self.counts.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes the rows of a query, which are then the test's and not the query's.
#[derive(Default)]
struct Taken {
    columns: usize,
    rows: Vec<Vec<Value>>,
}

impl Sink for Taken {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.columns = columns.len();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let columns = |row| (0..self.columns).map(|column| rows.get(row, column)).collect();
        self.rows.extend((0..rows.len()).map(columns));
        Ok(())
    }
}

/// On one thread: with several, sums of floats may differ in their last bits.
fn alone() -> Arc<Workers> {
    Arc::new(Workers::new(1))
}

fn stream(db: &Database, limits: Limits, text: &str) -> Result<Vec<Vec<Value>>, QueryError> {
    stream_with(db, alone(), limits, text)
}

fn stream_with(
    db: &Database,
    workers: Arc<Workers>,
    limits: Limits,
    text: &str,
) -> Result<Vec<Vec<Value>>, QueryError> {
    let mut taken = Taken::default();
    let runtime = Arc::new(Runtime::default().with_workers(workers));
    let session = Session::with_runtime(db, runtime).with_limits(limits);
    session.stream(text, &ValueMap::new(), &mut taken)?;
    Ok(taken.rows)
}

/// Most bytes that a query held, without a limit.
fn needs(db: &Database, text: &str) -> usize {
    let mut taken = Taken::default();
    let session = Session::with_runtime(db, Arc::new(Runtime::default().with_workers(alone())));
    let profiled = format!("PROFILE {text}");
    let summary = session.stream(&profiled, &ValueMap::new(), &mut taken).unwrap();
    summary.plan.unwrap().measured.unwrap().query_memory as usize
}

fn sorted(mut rows: Vec<Vec<Value>>) -> Vec<Vec<Value>> {
    rows.sort();
    rows
}

const ROWS: i64 = 30_000;

fn database() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let create = format!(
        "UNWIND range(1, {ROWS}) AS i CREATE (:N {{i: i, h: i * 7919 % 100003, k: i % 9000, \
         f: i / 3.0, t: 'text of ' + (i * 31 % 20011)}})"
    );
    session.run(&create, &[]).unwrap();
    session.run("MATCH (n:N) WHERE n.i % 3 = 0 REMOVE n.t", &[]).unwrap();
    session.run("MATCH (a:N {i: 1}), (b:N) WHERE b.i <= 50 CREATE (a)-[:R]->(b)", &[]).unwrap();
    db
}

/// Queries in whose answer every row has its place.
const ORDERED: &[&str] = &[
    "MATCH (n:N) RETURN n.h AS h, n.t AS t ORDER BY h",
    "MATCH (n:N) RETURN n.k AS k, n.t AS t, n AS n ORDER BY k DESC, t",
    // Many rows with equal keys stay in the order they came in.
    "MATCH (n:N) WITH n.i % 7 AS a, n.i AS i, [n, n.f, {t: n.t}] AS l RETURN a, i, l ORDER BY a",
    "MATCH (n:N) RETURN n.h AS h, n.t AS t ORDER BY h SKIP 100 LIMIT 9000",
    "MATCH (n:N) WITH n.h AS h, n.t AS t ORDER BY h DESC RETURN h, t ORDER BY t, h",
];

/// Queries in whose answer the rows have no order, but what is in them has.
const UNORDERED: &[&str] = &[
    "MATCH (n:N) WITH DISTINCT n.h AS h RETURN h",
    "MATCH (n:N) WITH DISTINCT n.t AS t, n.k AS k RETURN t, k",
    "OPTIONAL CALL { MATCH (n:N) RETURN n UNION ALL MATCH (n:N) RETURN n } RETURN DISTINCT n",
    "MATCH (n:N) RETURN n.k AS k, count(*) AS c, sum(n.f) AS s, min(n.t) AS m, avg(n.f) AS a",
    "MATCH (n:N) RETURN n.k AS k, collect(n.t) AS l, collect(n) AS m",
    "MATCH (n:N) RETURN n.k AS k, n.t AS t, count(DISTINCT n.f) AS c, percentileDisc(n.f, 0.5) AS p",
    "MATCH (n:N) WITH n.t AS t, stDev(n.f) AS d RETURN d, count(t) AS c",
    "MATCH (n:N) OPTIONAL CALL { WITH n UNWIND [1, 2, 3] AS x RETURN x + n.i AS y } \
     RETURN y, n.t AS t",
    "UNWIND range(1, 3) AS x OPTIONAL MATCH (n:N) WHERE n.i % 3 <> x - 1 RETURN x, n.h AS h",
    "MATCH (a:N), (b:N) WHERE a.h = b.i RETURN a.t AS t, b.k AS k",
    "MATCH (a:N), (b:N) WHERE a.t = b.t AND a.k = b.k RETURN a, b.i AS i",
    "MATCH (n:N) WITH n.h AS h, n.t AS t ORDER BY h WITH DISTINCT t, h % 5000 AS m \
     RETURN m, count(t) AS c, min(t) AS t",
];

#[test]
fn queries_answer_alike_with_a_tenth_of_the_memory() {
    let db = database();
    for (text, ordered) in
        ORDERED.iter().map(|t| (t, true)).chain(UNORDERED.iter().map(|t| (t, false)))
    {
        let expected = stream(&db, Limits::default(), text).unwrap();
        let memory = needs(&db, text) / 10;
        let files = Files::good();
        let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
        let limits = Limits { memory: Some(memory), scratch: Some(scratch), ..Limits::default() };
        let found = stream(&db, limits, text).unwrap_or_else(|e| panic!("{memory}: {text}\n{e}"));
        assert!(files.made() > 0, "nothing was spilled: {text}");
        assert_eq!(files.open(), 0, "files are left: {text}");
        let same = match ordered {
            true => found == expected,
            false => sorted(found) == sorted(expected),
        };
        assert!(same, "{text}");
    }
}

#[test]
fn queries_answer_alike_whatever_is_spilled() {
    let db = database();
    for text in ORDERED.iter().chain(UNORDERED).filter(|text| !text.contains("range")) {
        let text = text
            .replace("(n:N)", "(n:N) WHERE n.i % 40 = 0 WITH n")
            .replace("(b:N) WHERE", "(b:N) WHERE a.i % 40 = 0 AND b.i % 40 < 9 AND");
        let expected = stream(&db, Limits::default(), &text).unwrap();
        for spill_after in [0, 1 << 10, 20 << 10] {
            let files = Files::good();
            let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
            let limits = Limits {
                scratch: Some(scratch),
                spill_after: Some(spill_after),
                ..Limits::default()
            };
            let found = stream(&db, limits, &text).unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert_eq!(files.open(), 0, "{text}");
            let (found, expected) = (sorted(found), sorted(expected.clone()));
            assert!(found == expected, "{spill_after}: {text}\n{found:?}\n{expected:?}");
        }
    }
}

#[test]
fn queries_answer_alike_when_threads_spill() {
    let db = database();
    let workers = Arc::new(Workers::new(4).with_morsels_of(NonZeroUsize::new(100).unwrap()));
    // Sums of floats are not the same from run to run.
    let exact = |text: &&&str| !text.contains("sum(n.f)") && !text.contains("stDev");
    for (text, ordered) in
        ORDERED.iter().map(|t| (t, true)).chain(UNORDERED.iter().filter(exact).map(|t| (t, false)))
    {
        let expected = stream(&db, Limits::default(), text).unwrap();
        for spill_after in [10 << 10, 200 << 10] {
            let files = Files::good();
            let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
            let (scratch, spill_after) = (Some(scratch), Some(spill_after));
            let limits = Limits { scratch, spill_after, ..Limits::default() };
            let found = stream_with(&db, Arc::clone(&workers), limits, text);
            let found = found.unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert!(files.made() > 0 || spill_after > Some(10 << 10), "{text}");
            assert_eq!(files.open(), 0, "{text}");
            let same = match ordered {
                true => found == expected,
                false => sorted(found) == sorted(expected.clone()),
            };
            assert!(same, "{text}");
        }
    }
}

#[test]
fn updates_that_keep_rows_spill() {
    let db = database();
    let session = Session::new(&db);
    let files = Files::good();
    let limits = || {
        let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
        Limits { scratch: Some(scratch), spill_after: Some(64 << 10), ..Limits::default() }
    };
    let spilling = Session::new(&db).with_limits(limits());
    let eager = "MATCH (n:N) WITH n.i AS i, n.t AS t CREATE (:N:M {i: i, t: t})";
    assert_eq!(spilling.run(eager, &[]).unwrap().counters.nodes_created, ROWS as u64);
    let made = files.made();
    assert!(made > 0);
    let all = "MATCH (m:M) RETURN count(*), sum(m.i), count(DISTINCT m.t)";
    let expected = session.run(&all.replace("(m:M)", "(m:N) WHERE NOT m:M"), &[]).unwrap().rows;
    assert_eq!(session.run(all, &[]).unwrap().rows, expected);
    let delete = "MATCH (m:M) WITH m, m.t AS t DELETE m RETURN count(t) AS n";
    let deleted = spilling.run(delete, &[]).unwrap();
    assert_eq!(deleted.counters.nodes_deleted, ROWS as u64);
    assert!(files.made() > made && files.open() == 0);
    assert_eq!(session.run("MATCH (m:M) RETURN count(*)", &[]).unwrap().rows, [[Value::Int(0)]]);
}

#[test]
fn failures_of_files_are_errors_that_name_them() {
    let db = database();
    let cases = [
        ("Sort", "MATCH (n:N) WHERE n.i < 12000 WITH n.h AS h, n.t AS t ORDER BY h RETURN h"),
        ("Distinct", "MATCH (n:N) WHERE n.i < 12000 WITH DISTINCT n.h AS h, n.t AS t RETURN h"),
        ("Aggregate", "MATCH (n:N) WHERE n.i < 12000 RETURN n.h AS h, collect(n.t) AS l"),
        ("Eager", "MATCH (n:N) WHERE n.i < 12000 WITH n SET n:Y WITH n MATCH (n) CREATE (:Z)"),
        (
            "HashJoin",
            "MATCH (a:N), (b:N) WHERE a.h = b.i AND a.i < 12000 AND b.i < 12000 RETURN a, b",
        ),
        (
            "Apply",
            "MATCH (n:N) WHERE n.i < 12000 OPTIONAL CALL { WITH n UNWIND range(1, 9) AS x RETURN x } \
             RETURN x, n.t AS t",
        ),
    ];
    for (who, text) in cases {
        for how in [io::ErrorKind::StorageFull, io::ErrorKind::Other] {
            let mut fails_at = 0;
            loop {
                let files = Files::new(fails_at, how);
                let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
                let limits = Limits {
                    scratch: Some(scratch),
                    spill_after: Some(48 << 10),
                    ..Limits::default()
                };
                let done = stream(&db, limits, text);
                assert_eq!(files.open(), 0, "{text}");
                match done {
                    Err(e) => {
                        assert_eq!(
                            (e.kind, &*e.detail),
                            (ErrorKind::Database, "TemporaryFileFailed")
                        );
                        assert!(e.message.contains(who) && e.message.contains("a test"), "{e}");
                        let advice = e.message.contains("more room");
                        assert_eq!(advice, how == io::ErrorKind::StorageFull, "{e}");
                    }
                    Ok(_) => break,
                }
                // Each of the first operations, then fewer.
                fails_at += 1 + fails_at / 6;
            }
            assert!(fails_at > 4, "{text}: there were too few operations: {fails_at}");
        }
    }
    let left = "MATCH (z:Z) RETURN count(*)";
    let made = Session::new(&db).run(left, &[]).unwrap().rows;
    assert_eq!(made, [[Value::Int(2 * 11999)]], "what failed changed nothing");
}

#[test]
fn what_cannot_spill_says_what_to_do() {
    let db = database();
    let files = Files::good();
    let limits = |memory| {
        let scratch: Arc<dyn Scratch> = Arc::new(files.clone());
        Limits { memory: Some(memory), scratch: Some(scratch), ..Limits::default() }
    };
    let cases = [
        ("Aggregate", "MATCH (n:N) RETURN collect(n.t) AS l"),
        ("Aggregate", "MATCH (n:N) RETURN count(DISTINCT n.h + 0.5) AS l"),
        ("HashJoin", "MATCH (a:N), (b:N) WHERE a.i % 2 = b.i % 2 RETURN a, b"),
        ("range", "RETURN size(range(1, 1000000))"),
        ("Subquery", "RETURN size(COLLECT { MATCH (n:N) RETURN n.h })"),
        ("Delete", "MATCH (n:N) DETACH DELETE n"),
        ("ListComprehension", "RETURN size([x IN range(1, 8000) | toString(x) + 'abcdefgh'])"),
    ];
    for (who, text) in cases {
        let error = stream(&db, limits(200 << 10), text).map(drop).expect_err(text);
        assert_eq!(error.kind, ErrorKind::OutOfMemory, "{error}");
        let message = &error.message;
        assert!(message.starts_with(who), "{message}");
        assert!(message.contains("204800 bytes") && message.contains("statement_memory"));
        assert!(!message.contains("temporary_folder"), "{message}");
    }
    // Without a place for files.
    let limits = Limits { memory: Some(200 << 10), ..Limits::default() };
    let error = stream(&db, limits, ORDERED[0]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::OutOfMemory);
    let message = &error.message;
    assert!(message.starts_with("Sort") && message.contains("temporary_folder"), "{message}");
    // A whole result is held; streamed rows are not.
    let session = Session::new(&db)
        .with_limits(self::Limits { memory: Some(200 << 10), ..Limits::default() });
    let error = session.run("MATCH (n:N) RETURN n.h", &[]).unwrap_err();
    assert!(error.message.starts_with("ProduceResults"), "{error}");
}

#[test]
fn database_with_a_folder_spills_there_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let db = telar_db::open(folder.path().join("db")).unwrap();
    let session = Session::new(&db);
    session.run("UNWIND range(1, 20000) AS i CREATE (:N {h: i * 7919 % 100003})", &[]).unwrap();
    let names = || {
        let entries = std::fs::read_dir(folder.path().join("db")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let text = "MATCH (n:N) RETURN n.h AS h ORDER BY h";
    let limits = Limits { memory: Some(200 << 10), ..Limits::default() };
    let expected = stream(&db, Limits::default(), text).unwrap();
    assert_eq!(stream(&db, limits.clone(), text).unwrap(), expected);
    assert_eq!(names(), before);
    // A folder of its own, which is made.
    let elsewhere = folder.path().join("some/where");
    let scratch: Arc<dyn Scratch> = Arc::new(telar_db::query::ScratchFolder::new(&elsewhere));
    let limits = Limits { scratch: Some(scratch), ..limits };
    assert_eq!(stream(&db, limits, text).unwrap(), expected);
    assert_eq!(std::fs::read_dir(elsewhere).unwrap().count(), 0);
}
