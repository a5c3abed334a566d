//! What queries account for is what they allocate: the allocator is asked.
#![expect(unsafe_code, reason = "an allocator that counts cannot be written without")]
#![allow(clippy::print_stdout, reason = "the figures are worth a look")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use telar_db::query::{QueryError, Rows, Sink};
use telar_db::{Database, Retention, Runtime, Session, Settings, ValueMap, Workers};

/// The system's allocator, and how many bytes it has given out.
struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn took(bytes: usize) {
    // ORDERING: relaxed, as they count and order nothing.
    let held = HELD.fetch_add(bytes, Ordering::Relaxed) + bytes;
    PEAK.fetch_max(held, Ordering::Relaxed);
}

// SAFETY: everything is done by the system's allocator, whose contract is the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        took(layout.size());
        // SAFETY: as this function was called.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as this function was called.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        took(size);
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as this function was called.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Looks at rows and forgets them.
struct Forgetting;

impl Sink for Forgetting {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, _: &Rows<'_>) -> Result<(), QueryError> {
        Ok(())
    }
}

/// Factor that the two may be apart, beside so many bytes.
const APART: usize = 3;
const BESIDE: usize = 1 << 20;

/// Queries by what keeps much in them.
const CASES: &[(&str, &str)] = &[
    ("Sort", "MATCH (n:N) WITH n.h AS h, n.t + 'x' AS t ORDER BY h RETURN h, t"),
    ("Sort of numbers", "UNWIND range(1, 300000) AS x WITH x ORDER BY x % 1009 RETURN x"),
    ("Distinct", "UNWIND range(1, 200000) AS x WITH DISTINCT x AS y RETURN y"),
    ("Distinct of texts", "MATCH (n:N) WITH DISTINCT n.t + 'x' AS t, n.h AS h RETURN t, h"),
    ("Aggregate", "UNWIND range(1, 200000) AS x RETURN x + 0.5 AS y, sum(x) AS s"),
    ("Aggregate of lists", "MATCH (n:N) RETURN n.h % 500 AS k, collect(n.t + n.i) AS l"),
    ("Aggregate of sets", "MATCH (n:N) RETURN n.h % 5 AS k, count(DISTINCT n.t + n.i) AS c"),
    ("one list", "UNWIND range(1, 300000) AS x RETURN size(collect(x)) AS n"),
    ("percentile", "UNWIND range(1, 400000) AS x RETURN percentileCont(x, 0.5) AS n"),
    (
        "Eager",
        "MATCH (n:N) WITH n.t + n.i AS t SKIP 0 FOREACH (x IN [] | CREATE (:N)) \
               WITH t WHERE t = 'a' RETURN t",
    ),
    (
        "Apply",
        "UNWIND range(1, 3) AS y OPTIONAL CALL { UNWIND range(1, 100000) AS x RETURN x + 'a' AS t } \
               RETURN t",
    ),
    ("OptionalApply", "UNWIND range(1, 8) AS x OPTIONAL MATCH (n:N) WHERE n.h > x RETURN n, x"),
    ("ShortestPath", "MATCH (a:N {i: 1}), (b:M) MATCH p = shortestPath((a)-[:R*]->(b)) RETURN p"),
    ("VarExpand", "MATCH (a:N {i: 1})-[r:R*1..2]->(b) WHERE size(r) = 5 RETURN b"),
    ("Repeat", "MATCH (a:N {i: 1}) ((x)-[r:R]->(y) WHERE x.i > 0){1,2} (b) RETURN count(*) AS n"),
    ("IndexSeek", "MATCH (n:N) WHERE n.i > 0 RETURN n"),
    ("Subquery", "RETURN size(COLLECT { MATCH (n:N) RETURN n.t + n.i }) AS n"),
    ("function", "UNWIND range(1, 20) AS x RETURN size(range(x, x + 20000)) AS n"),
];

/// Readers after which nothing is left to be freed: some free a part of what was replaced.
const READERS: usize = 100_000;

/// The counters are those of the process.
static ALONE: Mutex<()> = Mutex::new(());

/// Large commits: what is there before, what is written, and how many times what the transaction
/// held before its commit is held at most while it goes on.
const COMMITS: &[(&str, &[&str], &str, f64)] = &[
    ("nodes with history", &[], "UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i % 97})", 1.5),
    (
        "a property of all with history",
        &["UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i})"],
        "MATCH (n:P) SET n.x = n.x + 1",
        1.5,
    ),
    ("nodes", &[], "UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i % 97})", 1.5),
    ("texts", &[], "UNWIND range(1, 200000) AS i CREATE (:P {id: 'a text ' + i})", 1.75),
    (
        "a property of all",
        &["UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i})"],
        "MATCH (n:P) SET n.x = n.x + 1",
        1.5,
    ),
    (
        "deletions",
        &["UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i})"],
        "MATCH (n:P) DELETE n",
        1.5,
    ),
    ("keys", &[], "CREATE (w:W) WITH w UNWIND range(1, 10000) AS i SET w['k' + i] = i", 12.0),
    (
        "an index",
        &["CREATE INDEX FOR (n:P) ON (n.id)"],
        "UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i % 97})",
        1.7,
    ),
    (
        "an index, keys in disorder",
        &["CREATE INDEX FOR (n:P) ON (n.id)"],
        "UNWIND range(1, 200000) AS i CREATE (:P {id: i * 7919 % 200003, x: i % 97})",
        1.8,
    ),
    (
        "a constraint",
        &["CREATE CONSTRAINT FOR (n:P) REQUIRE n.id IS UNIQUE"],
        "UNWIND range(1, 200000) AS i CREATE (:P {id: i * 7919 % 200003, x: i % 97})",
        2.5,
    ),
    (
        "a property of all with an index",
        &[
            "UNWIND range(1, 200000) AS i CREATE (:P {id: i, x: i})",
            "CREATE INDEX FOR (n:P) ON (n.x)",
        ],
        "MATCH (n:P) SET n.x = n.x + 1",
        6.75,
    ),
    (
        "relationships with an index",
        &[
            "UNWIND range(0, 999) AS i CREATE (:P {id: i})",
            "CREATE INDEX FOR (n:P) ON (n.id)",
            "CREATE INDEX FOR ()-[r:R]-() ON (r.x)",
        ],
        "MATCH (a:P), (b:P) WHERE b.id < 200 CREATE (a)-[:R {x: a.id}]->(b)",
        4.3,
    ),
    (
        "relationships",
        &["UNWIND range(0, 999) AS i CREATE (:P {id: i})", "CREATE INDEX FOR (n:P) ON (n.id)"],
        "MATCH (a:P), (b:P) WHERE b.id < 200 CREATE (a)-[:R {x: a.id}]->(b)",
        4.2,
    ),
];

#[test]
fn a_large_commit_takes_little_more_than_what_it_writes() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wrong = Vec::new();
    for (what, before, text, most) in COMMITS {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        settings.background_interval_ms = 0;
        if what.ends_with("history") {
            settings.retain = Retention::Keep { commits: 1_000, ms: 0 };
        }
        let db = Database::open(folder.path(), settings).unwrap();
        let session = Session::new(&db);
        for text in *before {
            session.run(text, &[]).unwrap();
        }
        db.settle();
        // What was let go by then, also by the database of the case before, is free now and not
        // while this is measured.
        for _ in 0..2_000 {
            session.run("MATCH (n) RETURN n LIMIT 1", &[]).unwrap();
        }
        let empty = HELD.load(Ordering::Relaxed);
        let mut transaction = session.begin().unwrap();
        transaction.run(text, &ValueMap::new()).unwrap();
        let written = HELD.load(Ordering::Relaxed) - empty;
        PEAK.store(empty + written, Ordering::Relaxed);
        transaction.commit().unwrap();
        let held = PEAK.load(Ordering::Relaxed) - empty;
        let factor = held as f64 / written as f64;
        println!(
            "{what:20} written {:7} KiB, held {:7} KiB, {factor:.2}",
            written >> 10,
            held >> 10
        );
        if factor > *most {
            wrong.push(format!("{what}: {factor:.2} times what is written, not {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements that make a name each, `$i` of them, at vertices with large ids, and the memory that
/// one name may cost, in bytes.
///
/// The first two bounds were 1,500 and 19,000 while what had been replaced before was counted as
/// freed by the statement, which made up to 300 of a key. A server of then, left alone before and
/// after, took 1,725 for a key.
const NAMES: &[(&str, &str, usize)] = &[
    ("keys", "MATCH (n:P {id: 299999}) UNWIND range(1, 1000) AS i SET n['k' + i] = i", 1_750),
    (
        "types",
        "MATCH (a:P {id: 299998}), (b:P {id: 299999}) UNWIND range(1, 200) AS i \
         CREATE (a)-[r:$('T' + i)]->(b)",
        19_500,
    ),
    (
        "types with a property",
        "MATCH (a:P {id: 299998}), (b:P {id: 299999}) UNWIND range(1, 200) AS i \
         CREATE (a)-[r:$('S' + i) {k1000: i}]->(b)",
        21_000,
    ),
];

#[test]
fn a_name_costs_little_wherever_it_is_first_used() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut wrong = Vec::new();
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run("UNWIND range(0, 299999) AS i CREATE (:P {id: i})", &[]).unwrap();
    session.run("CREATE INDEX FOR (n:P) ON (n.id)", &[]).unwrap();
    db.settle();
    for (what, text, most) in NAMES {
        // What was replaced before is free now and not while this is measured.
        for _ in 0..50 {
            db.settle();
            std::thread::sleep(Duration::from_millis(10));
        }
        let before = HELD.load(Ordering::Relaxed);
        let made = session.run(text, &[]).unwrap().counters;
        let names = made.properties_set.max(made.relationships_created) as usize;
        // What was replaced is freed by and by.
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut held = usize::MAX;
        while held > *most && Instant::now() < deadline {
            db.settle();
            std::thread::sleep(Duration::from_millis(10));
            held = HELD.load(Ordering::Relaxed).saturating_sub(before) / names;
        }
        println!("{what:24} {held:6} bytes each");
        if held > *most {
            wrong.push(format!("{what}: {held} bytes each, not {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn queries_account_for_what_they_allocate() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let mut settings = Settings::default();
    settings.background_interval_ms = 0;
    let db = Database::in_memory(settings).unwrap();
    let workers = Arc::new(Workers::new(1));
    let runtime = Arc::new(Runtime::default().with_workers(workers));
    let session = Session::with_runtime(&db, runtime);
    for text in [
        "CREATE INDEX FOR (n:N) ON (n.i)",
        "UNWIND range(1, 40000) AS i CREATE (:N {i: i, h: i * 7919 % 100003, \
         t: 'a text that is stored once ' + i})",
        "CREATE (:M)",
        "MATCH (a:N {i: 1}), (b:N) CREATE (a)-[:R]->(b)",
        "MATCH (a:N), (b:N) WHERE a.i = 2 AND b.i % 2 = 0 CREATE (a)-[:R]->(b)",
    ] {
        session.run(text, &[]).unwrap();
    }
    // What these and the tests before have replaced is freed as readers come and go: not while
    // something is measured.
    let held = HELD.load(Ordering::Relaxed);
    for _ in 0..READERS {
        drop(db.reader().unwrap());
    }
    println!("freed {} KiB", held.saturating_sub(HELD.load(Ordering::Relaxed)) >> 10);
    let mut wrong = Vec::new();
    for (what, text) in CASES {
        // The first run fills what is filled once.
        for again in [false, true] {
            let text = format!("PROFILE {text}");
            let before = HELD.load(Ordering::Relaxed);
            PEAK.store(before, Ordering::Relaxed);
            let updates = text.contains("CREATE");
            let summary = match updates {
                true => session.run(&text, &[]).map(|result| result.plan),
                false => session
                    .stream(&text, &ValueMap::new(), &mut Forgetting)
                    .map(|summary| summary.plan),
            };
            let plan = summary.unwrap_or_else(|e| panic!("{text}\n{e}")).unwrap();
            let allocated = PEAK.load(Ordering::Relaxed) - before;
            let accounted = plan.measured.unwrap().query_memory as usize;
            if !again {
                continue;
            }
            println!(
                "{what:20} accounted {:7} KiB, allocated {:7} KiB",
                accounted >> 10,
                allocated >> 10
            );
            // What a transaction writes is allocated, too.
            let above = if updates { usize::MAX } else { accounted * APART + BESIDE };
            if allocated > above || accounted > allocated * APART + BESIDE || accounted < 256 << 10
            {
                wrong.push(format!("{what}: accounted {accounted}, allocated {allocated}\n{plan}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Queries that touch several times what the memory limit lets be held.
const SCANS: &[&str] = &[
    "MATCH ()-[r:R]->() RETURN max(r.note) AS most",
    "MATCH (n:P) RETURN max(n.text) AS most",
    "MATCH (a:P)-[r:R]->() RETURN a.text, r.note",
];

/// Memory limit of the database that is scanned.
const LIMIT: usize = 4 << 20;
/// What each thread may hold beside the limit: its rows, segments that its batch touches, and what
/// others let go while it was in a call.
const BESIDE_LIMIT: usize = 6 << 20;

/// Bytes that a query holds at most beside what is there before it.
fn peak(db: &Database, threads: usize, text: &str) -> usize {
    let workers = Arc::new(Workers::new(threads));
    let runtime = Arc::new(Runtime::default().with_workers(workers));
    let session = Session::with_runtime(db, runtime);
    let before = HELD.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    session.stream(text, &ValueMap::new(), &mut Forgetting).expect("it runs");
    PEAK.load(Ordering::Relaxed) - before
}

#[test]
fn scans_of_more_than_the_memory_limit_stay_near_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let open = || {
        let mut settings = Settings::default();
        settings.memory_limit_bytes = Some(LIMIT as u64);
        // Nobody evicts but the queries.
        settings.background_interval_ms = 0;
        telar_db::open_with(folder.path().join("graph"), settings).unwrap()
    };
    let db = open();
    let session = Session::new(&db);
    for from in (0..400_000).step_by(50_000) {
        let text = format!(
            "UNWIND range({from}, {from} + 49999) AS i \
             CREATE (:P {{text: 'the text of a node ' + i}}) \
             -[:R {{note: 'what is noted of a relationship ' + i}}]->(:Q)"
        );
        session.run(&text, &[]).unwrap();
    }
    drop(session);
    db.close().unwrap();
    let mut wrong = Vec::new();
    for threads in [1, 4] {
        for text in SCANS {
            let limit = LIMIT + (threads + 1) * BESIDE_LIMIT;
            // A thread that the system stops in the middle of a read keeps what the others let go
            // from being freed: not each time.
            let mut most = peak(&open(), threads, text);
            for _ in 0..2 {
                if most > limit {
                    most = most.min(peak(&open(), threads, text));
                }
            }
            println!("{:6} KiB at most, {threads} threads: {text}", most >> 10);
            if most > limit {
                wrong.push(format!("{most} bytes with {threads} threads: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
