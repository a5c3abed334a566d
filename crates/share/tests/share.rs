//! Several openings of one folder: an owner and its guests, in one process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_db::column::Column;
use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport};
use telar_db::query::{Columns, ErrorKind, QueryError, Tables, UserFunction};
use telar_db::{Settings, Value, ValueMap};
use telar_share::{Error, Opening, Options, Session, Shared, Statement, Transaction};

fn open(path: &Path) -> Shared {
    Shared::open(Opening::new(path, Settings::default())).expect("it is not refused")
}

fn session(shared: &Shared) -> Session {
    shared.session(Options::default())
}

fn try_run(session: &Session, text: &str) -> Result<Columns, QueryError> {
    let mut columns = Columns::default();
    session.run(&Statement::new(text, &ValueMap::new()), &mut columns)?;
    Ok(columns)
}

fn run(session: &Session, text: &str) -> Columns {
    try_run(session, text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn value(session: &Session, text: &str) -> Value {
    run(session, text).column(0).get(0)
}

fn run_in(transaction: &mut Transaction, text: &str) -> Result<Columns, QueryError> {
    let mut columns = Columns::default();
    transaction.stream(&Statement::new(text, &ValueMap::new()), &mut columns)?;
    Ok(columns)
}

/// An owner and a guest.
fn two(folder: &Path) -> (Shared, Shared) {
    let (owner, guest) = (open(&folder.join("g")), open(&folder.join("g")));
    assert!(owner.is_owner() && !guest.is_owner());
    (owner, guest)
}

#[test]
fn a_guest_reads_what_the_owner_wrote_and_the_other_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let (here, there) = (session(&owner), session(&guest));
    run(&here, "CREATE (:P {name: 'Ada'})-[:KNOWS {since: 1840}]->(:P {name: 'Bob'})");
    let found = run(&there, "MATCH p = (a:P)-[r:KNOWS]->(b) RETURN a, r, b.name AS name, p");
    assert_eq!(found.row_count(), 1);
    let Value::Vertex(ada) = found.column(0).get(0) else { panic!("no node") };
    assert_eq!(found.node(ada).unwrap().properties["name"], "Ada".into());
    let Value::Edge(knows) = found.column(1).get(0) else { panic!("no relationship") };
    assert_eq!(found.relationship(&knows).unwrap().ty, "KNOWS");
    assert_eq!(found.column(2).get(0), "Bob".into());
    run(&there, "CREATE (:P {name: 'Cleo'})");
    assert_eq!(value(&here, "MATCH (p:P) RETURN count(p)"), 3.into());
}

#[test]
fn errors_plans_and_counts_come_over_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let (here, there) = (session(&owner), session(&guest));
    for text in ["RETURN 1 +", "RETURN toInteger([1])", "CREATE (:P {a: {b: 1}})", "RETURN $x"] {
        assert_eq!(try_run(&here, text).unwrap_err(), try_run(&there, text).unwrap_err(), "{text}");
    }
    let none = ValueMap::new();
    let both = |text| {
        [&here, &there].map(|session| {
            session.run(&Statement::new(text, &none), &mut Columns::default()).unwrap()
        })
    };
    let [a, b] = both("CREATE (:Q {x: 1}), (:Q)");
    assert_eq!((a.counters, a.kind), (b.counters, b.kind));
    assert!(a.at < b.at);
    let [a, b] = both("EXPLAIN MATCH (q:Q)-->(x:Never) RETURN q, x");
    assert_eq!(a.plan, b.plan);
    assert!(a.plan.is_some());
    assert_eq!(a.notifications, b.notifications);
    assert!(!a.notifications.is_empty());
}

#[test]
fn results_of_0_1_and_many_rows_and_columns() {
    let folder = tempfile::tempdir().unwrap();
    let (_owner, guest) = two(folder.path());
    let there = session(&guest);
    for rows in [0, 1, 8191, 8192, 8193, 100_000] {
        let found =
            run(&there, &format!("UNWIND range(1, {rows}) AS n RETURN n, toString(n) AS t"));
        assert_eq!(found.row_count(), rows);
        assert_eq!(found.names().len(), 2);
        let expected: Vec<i64> = (1..=rows as i64).collect();
        assert!(rows == 0 || found.column(0).ints() == Some(&expected));
    }
    assert_eq!(run(&there, "CREATE (:X)").names().len(), 0);
}

#[test]
fn settings_of_a_session_hold_at_the_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (_owner, guest) = two(folder.path());
    let with = |options| guest.session(options);
    let reads = with(Options { read_only: true, ..Options::default() });
    assert_eq!(try_run(&reads, "CREATE (:X)").unwrap_err().kind, ErrorKind::AccessMode);
    let timeout = Some(Duration::from_millis(100));
    let short = with(Options { timeout, ..Options::default() });
    let long = "UNWIND range(1, 100000000) AS a WITH a WHERE a % 7 = 9 RETURN count(*)";
    // Its clock and the one of the owner run out at the same time.
    for _ in 0..10 {
        assert_eq!(try_run(&short, long).unwrap_err().kind, ErrorKind::TimedOut);
    }
    let small = with(Options { memory: Some(1 << 20), ..Options::default() });
    let wide = "RETURN size(collect([x IN range(1, 10000000) | toString(x)]))";
    assert_eq!(try_run(&small, wide).unwrap_err().kind, ErrorKind::OutOfMemory);
    assert_eq!(value(&small, "RETURN 1"), 1.into());
}

#[test]
fn a_flag_ends_a_statement_of_a_guest_and_only_that_one() {
    let folder = tempfile::tempdir().unwrap();
    let (_owner, guest) = two(folder.path());
    let there = session(&guest);
    for _ in 0..3 {
        let flag: Arc<AtomicBool> = Arc::default();
        let setter = Arc::clone(&flag);
        let set = thread::spawn(move || {
            thread::sleep(Duration::from_millis(200));
            setter.store(true, Ordering::Relaxed);
        });
        let began = Instant::now();
        let text = "UNWIND range(1, 10000000000) AS a WITH a WHERE a % 7 = 9 RETURN count(*)";
        let stopped = try_run(&there.with_cancelled(&flag), text).unwrap_err();
        assert_eq!(stopped.kind, ErrorKind::Terminated);
        assert!(began.elapsed() < Duration::from_secs(20));
        set.join().unwrap();
        assert_eq!(value(&there, "RETURN 7"), 7.into());
    }
}

#[test]
fn transactions_of_a_guest_are_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let (here, there) = (session(&owner), session(&guest));
    let mut open = there.begin().unwrap();
    run_in(&mut open, "CREATE (:T)").unwrap();
    assert_eq!(
        run_in(&mut open, "MATCH (t:T) RETURN count(t)").unwrap().column(0).get(0),
        1.into()
    );
    assert_eq!(value(&here, "MATCH (t:T) RETURN count(t)"), 0.into());
    let at = open.commit().unwrap();
    assert!(at.get() > 0);
    assert_eq!(value(&here, "MATCH (t:T) RETURN count(t)"), 1.into());
    let mut undone = there.begin().unwrap();
    run_in(&mut undone, "CREATE (:T)").unwrap();
    undone.rollback();
    let mut dropped = there.begin().unwrap();
    run_in(&mut dropped, "MATCH (t:T) SET t.x = 1").unwrap();
    drop(dropped);
    // The owner hears of the end of the connection, and nobody waits for what was undone.
    run(&here, "MATCH (t:T) SET t.x = 2");
    assert_eq!(value(&there, "MATCH (t:T) RETURN t.x"), 2.into());
    let mut failed = there.begin().unwrap();
    assert!(run_in(&mut failed, "RETURN 1 / 0").is_err());
    assert!(failed.commit().is_err());
}

#[test]
fn tables_are_parameters_and_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let there = session(&guest);
    let mut tables = Tables::default();
    tables.add("rows", [("n".into(), Column::from(vec![1, 2, 3]))]);
    let (none, tables) = (ValueMap::new(), Arc::new(tables));
    let text = "UNWIND $rows AS row CREATE (:N {n: row.n}) RETURN sum(row.n)";
    let statement = Statement { tables: Some(&tables), ..Statement::new(text, &none) };
    let mut columns = Columns::default();
    there.run(&statement, &mut columns).unwrap();
    assert_eq!(columns.column(0).get(0), 6.into());

    let numbers = |many: i64| Column::from((0..many).collect::<Vec<_>>());
    for many in [0, 3, 30_000] {
        let mut import = TableImport::default();
        let label = format!("L{many}");
        let rows = Box::new(Table::new(["id"], [vec![numbers(many)]]));
        import.nodes.push(NodeTable { labels: vec![label.clone()], rows });
        let end = |c: &str| End { column: c.into(), label: label.clone(), key: "id".into() };
        let rows = Box::new(Table::new(["a", "b"], [vec![numbers(many), numbers(many)]]));
        let (ty, from, to) = ("LOOP".into(), end("a"), end("b"));
        import.relationships.push(RelationshipTable { ty, from, to, rows });
        let report = guest.import(import, None).unwrap();
        assert_eq!((report.vertices, report.edges), (many as u64, many as u64));
    }
    run(&session(&owner), "CREATE CONSTRAINT FOR (n:N) REQUIRE n.n IS UNIQUE");
    assert_eq!(guest.unique_keys("N").unwrap(), ["n"]);
    let mut import = TableImport::default();
    let rows = Box::new(Table::new(["n"], [vec![Column::from(vec![3])]]));
    import.nodes.push(NodeTable { labels: vec!["N".into()], rows });
    assert_eq!(guest.import(import, None).unwrap_err().kind, ErrorKind::ConstraintViolation);
    assert_eq!(value(&there, "MATCH (n:N) RETURN count(n)"), 3.into());
}

/// Counts its calls.
struct Twice(Arc<AtomicU64>);

impl UserFunction for Twice {
    fn arguments(&self) -> std::ops::RangeInclusive<usize> {
        1..=1
    }

    fn call(&self, arguments: &[Arc<Column>], rows: usize) -> Result<Column, QueryError> {
        self.0.fetch_add(rows as u64, Ordering::Relaxed);
        let twice = |row| match arguments[0].get(row) {
            Value::Int(int) => Ok(Value::Int(2 * int)),
            _ => Err(QueryError::runtime(ErrorKind::Type, "Twice", "my.twice() takes integers")),
        };
        Ok(Column::of((0..rows).map(twice).collect::<Result<_, _>>()?))
    }
}

#[test]
fn functions_of_a_guest_run_in_it_and_move_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let there = session(&guest);
    let calls: Arc<AtomicU64> = Arc::default();
    let function: Arc<dyn UserFunction> = Arc::new(Twice(Arc::clone(&calls)));
    guest.add_function("my.twice", &function).unwrap();
    assert_eq!(value(&there, "RETURN my.twice(21)"), 42.into());
    let sum = "UNWIND range(1, 20000) AS n RETURN sum(my.twice(n))";
    assert_eq!(value(&there, sum), 400_020_000.into());
    assert!(calls.load(Ordering::Relaxed) >= 20_001);
    let error = try_run(&there, "RETURN my.twice('x')").unwrap_err();
    assert_eq!((error.kind, error.detail.as_str()), (ErrorKind::Type, "Twice"));
    // It is this process's own.
    assert!(try_run(&session(&owner), "RETURN my.twice(1)").is_err());
    assert!(guest.add_function("size", &function).is_err());
    owner.close().unwrap();
    assert_eq!(value(&there, "RETURN my.twice(4)"), 8.into());
    assert!(guest.is_owner());
}

#[test]
fn a_guest_takes_over_when_the_owner_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let third = open(&folder.path().join("g"));
    let (there, other) = (session(&guest), session(&third));
    run(&there, "CREATE (:A)");
    let mut open = there.begin().unwrap();
    run_in(&mut open, "CREATE (:Lost)").unwrap();
    owner.close().unwrap();
    assert!(owner.is_closed() && !owner.is_owner());
    assert_eq!(value(&other, "MATCH (a:A) RETURN count(a)"), 1.into());
    assert!(third.is_owner());
    let error = run_in(&mut open, "RETURN 1").unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert_eq!(open.commit().unwrap_err().kind, ErrorKind::Conflict);
    assert_eq!(value(&there, "MATCH (a:A) RETURN count(a)"), 1.into());
    assert_eq!(value(&there, "MATCH (a:Lost) RETURN count(a)"), 0.into());
    assert!(!guest.is_owner());
    let again = self::open(&folder.path().join("g"));
    assert!(!again.is_owner());
    third.close().unwrap();
    assert_eq!(try_run(&session(&third), "RETURN 1").unwrap_err().detail, "Closed");
    // A session keeps it open, to read.
    assert_eq!(value(&other, "MATCH (a:A) RETURN count(a)"), 1.into());
    drop(other);
    assert_eq!(value(&there, "MATCH (a:A) RETURN count(a)"), 1.into());
}

#[test]
fn what_runs_may_end_when_the_owner_closes() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let there = session(&guest);
    let running = thread::spawn(move || {
        value(&there, "UNWIND range(1, 3000000) AS a WITH a WHERE a % 7 = 3 RETURN count(*)")
    });
    thread::sleep(Duration::from_millis(100));
    owner.close().unwrap();
    assert_eq!(running.join().unwrap(), 428_572.into());
}

#[test]
fn many_threads_of_many_guests() {
    let folder = tempfile::tempdir().unwrap();
    let owner = open(&folder.path().join("g"));
    run(&session(&owner), "CREATE CONSTRAINT FOR (c:C) REQUIRE c.k IS UNIQUE");
    run(&session(&owner), "CREATE (:C {k: 1, n: 0})");
    let threads: Vec<_> = (0..4)
        .flat_map(|_| {
            let guest = open(&folder.path().join("g"));
            (0..4).map(move |_| {
                let there = session(&guest);
                thread::spawn(move || {
                    for _ in 0..50 {
                        run(&there, "MATCH (c:C {k: 1}) SET c.n = c.n + 1");
                    }
                })
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(value(&session(&owner), "MATCH (c:C) RETURN c.n"), 800.into());
}

#[test]
fn who_does_not_share_and_who_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("g");
    let alone = Opening { shared: false, ..Opening::new(&path, Settings::default()) };
    let holder = Shared::open(alone.clone()).unwrap();
    let locked = Shared::open(Opening::new(&path, Settings::default())).unwrap_err();
    assert!(matches!(locked, Error::Database(telar_db::Error::Locked { shares: false, .. })));
    holder.close().unwrap();
    drop(holder);
    let loose = Shared::open(Opening::new(&path, Settings::asynchronous(50))).unwrap();
    let locked = Shared::open(alone).unwrap_err();
    assert!(matches!(locked, Error::Database(telar_db::Error::Locked { shares: true, .. })));
    let refused = Shared::open(Opening::new(&path, Settings::default())).unwrap_err();
    assert!(matches!(&refused, Error::Refused { .. }), "{refused}");
    assert!(refused.to_string().contains("asynchronous"), "{refused}");
    // One that wants less is let in.
    loose.close().unwrap();
    let _full = open(&path);
    let guest = Shared::open(Opening::new(&path, Settings::asynchronous(50))).unwrap();
    assert!(!guest.is_owner());
}

#[test]
fn a_folder_with_a_long_path_and_a_socket_of_the_dead() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a".repeat(100)).join("b".repeat(100));
    std::fs::create_dir_all(&deep).unwrap();
    let path = deep.join("g");
    let owner = open(&path);
    run(&session(&open(&path)), "CREATE (:A)");
    assert_eq!(value(&session(&owner), "MATCH (a:A) RETURN count(a)"), 1.into());
    owner.close().unwrap();
    drop(owner);
    std::fs::write(path.join("share.sock"), "no socket").unwrap();
    let owner = open(&path);
    assert!(owner.is_owner());
    assert_eq!(value(&session(&open(&path)), "MATCH (a:A) RETURN count(a)"), 1.into());
}

#[test]
fn a_stream_can_end_early_and_the_connection_goes_on() {
    struct Few(usize);
    impl telar_db::query::Sink for Few {
        fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
            Ok(())
        }

        fn rows(&mut self, rows: &telar_db::query::Rows<'_>) -> Result<(), QueryError> {
            self.0 += rows.len();
            match self.0 > 100_000 {
                true => Err(QueryError::runtime(ErrorKind::Argument, "Enough", "that will do")),
                false => Ok(()),
            }
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let (_owner, guest) = two(folder.path());
    let (there, none) = (session(&guest), ValueMap::new());
    let endless = Statement::new("UNWIND range(1, 1000000000) AS n RETURN n", &none);
    let mut sink = Few(0);
    assert_eq!(there.stream(&endless, &mut sink).unwrap_err().detail, "Enough");
    assert!(sink.0 < 1_000_000);
    assert_eq!(value(&there, "RETURN 5"), 5.into());
}

#[test]
fn what_another_process_runs_is_listed_and_can_be_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (owner, guest) = two(folder.path());
    let (here, there) = (session(&owner), session(&guest));
    let running = thread::spawn(move || {
        let text = "UNWIND range(1, 100000000000) AS a WITH a WHERE a % 7 = 9 RETURN count(*)";
        try_run(&there, text).unwrap_err()
    });
    let until = Instant::now() + Duration::from_secs(20);
    let shown = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS q \
                 WHERE q CONTAINS '100000000000) AS a' AND NOT q CONTAINS 'SHOW' RETURN id";
    let id = loop {
        let found = run(&here, shown);
        if found.row_count() == 1 {
            break found.column(0).get(0);
        }
        assert!(Instant::now() < until, "it is not listed");
    };
    let Value::String(id) = id else { panic!("no id") };
    let ended = value(&here, &format!("TERMINATE TRANSACTIONS '{id}' YIELD message"));
    assert_eq!(ended, "Transaction terminated.".into());
    assert_eq!(running.join().unwrap().kind, ErrorKind::Terminated);
}
