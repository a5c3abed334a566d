//! Sessions on a backend that is no database of ours: how often they ask it for what, and what
//! becomes of its errors.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use telar_db::query::{
    At, Counters, ErrorKind, Host, Limits, Origin, Phase, Prepared, QueryError, Rows, Running,
    ServerCommand, ShownConnection, ShownDatabase, ShownPrivilege, ShownSetting, ShownUser, Sink,
};
use telar_db::{
    Backend, BackendTransaction, CommitTs, Database, Graph, Interrupt, Isolation, Retention,
    Runtime, Session, Settings, SharedGraph, Update, Value, ValueMap,
};

/// Numbers of calls of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Asked {
    versions: u32,
    snapshots: u32,
    past: u32,
    begins: u32,
    restarts: u32,
    commits: u32,
}

/// Something that a backend is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Question {
    Snapshot,
    Past,
    Begin,
    Commit,
}

/// A backend that hands everything on to a database, counts, and fails where it is told to: as
/// often as it is told to.
#[derive(Debug)]
struct Double {
    db: Database,
    asked: Arc<Mutex<Asked>>,
    fails: Arc<Mutex<Option<(Question, QueryError, u32)>>>,
}

type Fails = Arc<Mutex<Option<(Question, QueryError, u32)>>>;

fn fail(fails: &Fails, question: Question) -> Result<(), QueryError> {
    let mut fails = fails.lock();
    match &mut *fails {
        Some((what, error, times)) if *what == question && *times > 0 => {
            *times -= 1;
            Err(error.clone())
        }
        _ => Ok(()),
    }
}

impl Double {
    fn new(db: &Database) -> Arc<Self> {
        Arc::new(Self { db: db.clone(), asked: Arc::default(), fails: Arc::default() })
    }

    fn session(self: &Arc<Self>) -> Session {
        let backend: Arc<dyn Backend> = self.clone();
        Session::with_backend(backend, Arc::new(Runtime::default()))
    }

    /// Calls since this was asked last.
    fn asked(&self) -> Asked {
        std::mem::take(&mut self.asked.lock())
    }

    fn fails(&self, question: Question, error: &QueryError, times: u32) {
        *self.fails.lock() = Some((question, error.clone(), times));
    }
}

impl Backend for Double {
    fn planning_version(&self) -> u64 {
        self.asked.lock().versions += 1;
        self.db.planning_version()
    }

    fn snapshot(&self) -> Result<Box<SharedGraph<'_>>, QueryError> {
        self.asked.lock().snapshots += 1;
        fail(&self.fails, Question::Snapshot)?;
        Backend::snapshot(&self.db)
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        self.asked.lock().past += 1;
        fail(&self.fails, Question::Past)?;
        Backend::snapshot_at(&self.db, at)
    }

    fn begin(&self, isolation: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        self.asked.lock().begins += 1;
        fail(&self.fails, Question::Begin)?;
        let transaction = Backend::begin(&self.db, isolation)?;
        let (asked, fails) = (Arc::clone(&self.asked), Arc::clone(&self.fails));
        Ok(Box::new(DoubleTransaction { transaction, asked, fails }))
    }

    fn published(&self) -> CommitTs {
        self.db.published()
    }
}

/// Its transactions wait for nobody, and show themselves to one thread only.
#[derive(Debug)]
struct DoubleTransaction {
    transaction: Box<dyn BackendTransaction>,
    asked: Arc<Mutex<Asked>>,
    fails: Fails,
}

impl BackendTransaction for DoubleTransaction {
    fn graph(&self) -> &dyn Graph {
        self.transaction.graph()
    }

    fn update(&mut self) -> &mut dyn Update {
        self.transaction.update()
    }

    fn written_bytes(&self) -> u64 {
        self.transaction.written_bytes()
    }

    fn changes_graph(&self) -> bool {
        self.transaction.changes_graph()
    }

    fn changes_schema(&self) -> bool {
        self.transaction.changes_schema()
    }

    fn restart(&mut self) -> Result<(), QueryError> {
        self.asked.lock().restarts += 1;
        self.transaction.restart()
    }

    fn commit(self: Box<Self>, interrupt: &dyn Interrupt) -> Result<CommitTs, QueryError> {
        self.asked.lock().commits += 1;
        fail(&self.fails, Question::Commit)?;
        self.transaction.commit(interrupt)
    }
}

/// A server in which everybody may do everything, and that counts how often it is asked.
#[derive(Debug, Default)]
struct Open {
    allowed: AtomicU64,
}

impl Host for Open {
    fn admit(&self, _: &str) -> Result<(), QueryError> {
        Ok(())
    }

    fn allow(&self, _: &Prepared) -> Result<(), QueryError> {
        self.allowed.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    fn still_allows(&self) -> Result<(), QueryError> {
        Ok(())
    }

    fn administer(&self, _: &ServerCommand, _: &str) -> Result<Counters, QueryError> {
        Err(lost())
    }

    fn databases(&self) -> Vec<ShownDatabase> {
        Vec::new()
    }

    fn users(&self, _: bool) -> Result<Vec<ShownUser>, QueryError> {
        Ok(Vec::new())
    }

    fn roles(&self) -> &'static [&'static str] {
        &[]
    }

    fn privileges(&self, _: &str) -> Vec<ShownPrivilege> {
        Vec::new()
    }

    fn settings(&self) -> Result<Vec<ShownSetting>, QueryError> {
        Ok(Vec::new())
    }

    fn running(&self) -> Vec<(Arc<str>, Arc<Running>)> {
        Vec::new()
    }

    fn connections(&self) -> Vec<ShownConnection> {
        Vec::new()
    }

    fn slow(&self) -> Vec<telar_db::query::ShownSlow> {
        Vec::new()
    }

    fn servers(&self) -> Result<Vec<telar_db::query::ShownServer>, QueryError> {
        Ok(Vec::new())
    }

    fn routes(&self, _: &str, _: Option<&str>) -> Option<telar_db::query::Routes> {
        None
    }

    fn end_connection(&self, _: &str) -> Option<Arc<str>> {
        None
    }

    fn is_admin(&self) -> bool {
        true
    }

    fn user(&self) -> Arc<str> {
        Arc::default()
    }
}

/// Takes rows and keeps none.
struct Nothing;

impl Sink for Nothing {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, _: &Rows<'_>) -> Result<(), QueryError> {
        Ok(())
    }
}

fn lost() -> QueryError {
    QueryError::runtime(ErrorKind::Database, "ShardLost", "shard 3 does not answer")
}

fn count(session: &Session) -> Value {
    session.run("MATCH (n) RETURN count(n)", &[]).unwrap().rows[0][0].clone()
}

#[test]
fn a_statement_asks_once_for_what_it_needs() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(10);
    let db = Database::in_memory(settings).unwrap();
    let double = Double::new(&db);
    let host = Arc::new(Open::default());
    let session = double.session().with_host(host.clone(), Origin::default());
    let read = Asked { versions: 1, snapshots: 1, ..Asked::default() };
    let write = Asked { versions: 1, begins: 1, commits: 1, ..Asked::default() };
    let created = session.run("CREATE (:A {x: 1})", &[]).unwrap();
    double.asked();
    let past = format!("AT TIMESTAMP {} MATCH (a:A) RETURN a.x", created.at);
    let batches = "UNWIND range(1, 3) AS i \
                   CALL (i) { CREATE (:B {x: i}) } IN TRANSACTIONS OF 1 ROW";
    let statements = [
        ("MATCH (a:A) RETURN a.x", read),
        ("EXPLAIN CREATE (:A)", read),
        (&past, Asked { past: 1, ..read }),
        ("CREATE (:A {x: 2})", write),
        ("MATCH (a:A) SET a.x = 2", write),
        ("CREATE INDEX i IF NOT EXISTS FOR (z:Z) ON (z.i)", write),
        // Each batch is one to write, and one that what comes behind it reads.
        (batches, Asked { begins: 6, commits: 3, ..read }),
    ];
    for (text, expected) in statements {
        // Twice, as a command that changes the schema makes all plans old, its own included.
        for _ in 0..2 {
            session.run(text, &[]).unwrap();
        }
        let (_, before) = (double.asked(), session.runtime().plan_uses());
        host.allowed.store(0, Ordering::SeqCst);
        session.run(text, &[]).unwrap();
        assert_eq!(host.allowed.load(Ordering::SeqCst), 1, "{text}: allowed once");
        let after = session.runtime().plan_uses();
        assert_eq!(double.asked(), expected, "{text}");
        let looked = (after.hits - before.hits, after.misses - before.misses);
        assert_eq!(looked, (1, 0), "{text}: one look-up of its plan");
        session.stream(text, &ValueMap::new(), &mut Nothing).unwrap();
        assert_eq!(double.asked(), expected, "{text}, streamed");
        assert_eq!(host.allowed.load(Ordering::SeqCst), 2, "{text}: streamed, allowed once");
        // Of a text that has no plan yet, one snapshot more.
        session.run(&format!("{text} "), &[]).unwrap();
        let planned = Asked { snapshots: expected.snapshots + 1, ..expected };
        assert_eq!(double.asked(), planned, "{text}, planned");
    }
}

#[test]
fn a_transaction_asks_once_whatever_it_runs() {
    let db = telar_db::open_in_memory().unwrap();
    let double = Double::new(&db);
    let session = double.session();
    let mut transaction = session.begin().unwrap();
    for text in ["MATCH (n) RETURN count(n)", "CREATE (:A)", "MATCH (a:A) SET a.x = 1 RETURN a.x"] {
        transaction.run(text, &ValueMap::new()).unwrap();
    }
    transaction.commit().unwrap();
    let expected = Asked { versions: 3, begins: 1, commits: 1, ..Asked::default() };
    assert_eq!(double.asked(), expected);
    assert_eq!(count(&session), Value::Int(1));
}

#[test]
fn errors_of_a_backend_come_out_as_they_are() {
    let db = telar_db::open_in_memory().unwrap();
    let double = Double::new(&db);
    let session = double.session();
    session.run("CREATE (:A)", &[]).unwrap();
    let (read, write) = ("MATCH (a:A) RETURN a.x", "CREATE (:B)");
    let past = "AT TIMESTAMP 1 MATCH (a:A) RETURN a.x";
    let batches = "CALL () { CREATE (:B) } IN TRANSACTIONS";
    for (question, text) in [
        (Question::Snapshot, read),
        (Question::Past, past),
        (Question::Begin, write),
        (Question::Commit, write),
        (Question::Begin, batches),
        (Question::Commit, batches),
    ] {
        double.fails(question, &lost(), 1);
        let error = session.run(text, &[]).unwrap_err();
        assert_eq!((&error, error.phase), (&lost(), Phase::Runtime), "{text}");
        // It has no place in the text: nothing is wrong with that.
        assert_eq!(error.position, None, "{text}");
        assert_eq!(count(&session), Value::Int(1), "{text}: nothing was changed");
        assert_eq!(db.readers().0, 0, "{text}: nothing is left open");
    }
    double.fails(Question::Begin, &lost(), 1);
    assert_eq!(session.begin().unwrap_err(), lost());
    double.fails(Question::Commit, &lost(), 1);
    let mut transaction = session.begin().unwrap();
    transaction.run(write, &ValueMap::new()).unwrap();
    assert_eq!(transaction.commit().unwrap_err(), lost());
    assert_eq!((count(&session), db.readers().0), (Value::Int(1), 0));
}

#[test]
fn a_script_says_which_statement_a_backend_has_failed() {
    let db = telar_db::open_in_memory().unwrap();
    let double = Double::new(&db);
    let session = double.session();
    double.fails(Question::Begin, &lost(), 1);
    let script = "RETURN 1;\n  CREATE (:A);\nRETURN 2";
    let failed = session.run_script(script, &ValueMap::new()).unwrap_err();
    assert_eq!((failed.statement, failed.at.line, failed.at.column), (2, 2, 3));
    assert_eq!((failed.error, failed.done.len()), (lost(), 1));
    // A mistake in the text has its place whatever is behind.
    double.fails(Question::Begin, &lost(), 1);
    let failed = session.run_script("RETURN 1;\nCREATE (:A) RETURN x", &ValueMap::new());
    let error = failed.unwrap_err().error;
    assert_eq!(error.position.map(|at| (at.line, at.column)), Some((2, 20)), "{error}");
}

#[test]
fn a_conflict_of_a_backend_is_tried_again() {
    let db = telar_db::open_in_memory().unwrap();
    let double = Double::new(&db);
    let session = double.session();
    let conflict = QueryError::runtime(ErrorKind::Conflict, "Conflict", "another front end won");
    session.run("CREATE (:A)", &[]).unwrap();
    double.asked();
    double.fails(Question::Commit, &conflict, 3);
    session.run("CREATE (:A)", &[]).unwrap();
    let asked = double.asked();
    assert_eq!((asked.begins, asked.commits), (4, 4), "{asked:?}");
    assert_eq!((count(&session), session.runtime().conflicts()), (Value::Int(2), 3));
}

#[test]
fn a_backend_may_refuse_to_write() {
    let db = telar_db::open_in_memory().unwrap();
    Session::new(&db).run("CREATE (:A)", &[]).unwrap();
    let double = Double::new(&db);
    let session = double.session();
    let follower = QueryError::runtime(ErrorKind::AccessMode, "NotLeader", "db-1 takes writes");
    double.fails(Question::Begin, &follower, u32::MAX);
    for text in ["CREATE (:A)", "MATCH (a:A) SET a.x = 1", "CREATE INDEX FOR (a:A) ON (a.x)"] {
        assert_eq!(session.run(text, &[]).unwrap_err(), follower, "{text}");
    }
    assert_eq!(count(&session), Value::Int(1));
}

/// A follower: it shows a database as it was some commits ago, and takes no writes.
#[derive(Debug)]
struct Follower {
    leader: Database,
    applied: AtomicU64,
}

impl Backend for Follower {
    fn planning_version(&self) -> u64 {
        self.leader.planning_version()
    }

    fn snapshot(&self) -> Result<Box<SharedGraph<'_>>, QueryError> {
        Backend::snapshot_at(&self.leader, &At::Commit(self.published()))
    }

    fn snapshot_at(&self, at: &At) -> Result<Box<SharedGraph<'_>>, QueryError> {
        Backend::snapshot_at(&self.leader, at)
    }

    fn begin(&self, _: Isolation) -> Result<Box<dyn BackendTransaction>, QueryError> {
        Err(QueryError::runtime(ErrorKind::AccessMode, "NotLeader", "ask the leader"))
    }

    fn published(&self) -> CommitTs {
        CommitTs::from_raw(self.applied.load(Ordering::SeqCst))
    }
}

#[test]
fn a_follower_shows_commits_once_they_have_come() {
    let mut settings = Settings::default();
    settings.retain = Retention::commits(100);
    let leader = Database::in_memory(settings).unwrap();
    let writer = Session::new(&leader);
    let first = writer.run("CREATE (:A)", &[]).unwrap().at;
    let follower = Arc::new(Follower { leader, applied: AtomicU64::new(first.get()) });
    let backend: Arc<dyn Backend> = follower.clone();
    let reader = Session::with_backend(backend, Arc::new(Runtime::default()));
    let second = writer.run("CREATE (:A)", &[]).unwrap().at;
    let seen = reader.run("MATCH (n) RETURN count(n)", &[]).unwrap();
    assert_eq!((&seen.rows[0][0], seen.at), (&Value::Int(1), first));

    let deadline = Some(Instant::now() + Duration::from_millis(20));
    let patience = Limits { deadline, ..Limits::default() };
    let late = reader.backend().wait_for(second, &patience).unwrap_err();
    assert_eq!(late.kind, ErrorKind::TimedOut);

    let waiting = {
        let reader = reader.clone();
        thread::spawn(move || {
            reader.backend().wait_for(second, &Limits::default()).map(|()| count(&reader))
        })
    };
    thread::sleep(Duration::from_millis(10));
    follower.applied.store(second.get(), Ordering::SeqCst);
    assert_eq!(waiting.join().unwrap().unwrap(), Value::Int(2));
    assert_eq!(reader.run("CREATE (:A)", &[]).unwrap_err().kind, ErrorKind::AccessMode);
}
