//! Indexes and constraints in transactions of several statements: what they see, when they are
//! there, what undoes them.

use telar_db::query::{ErrorKind, NotificationKind, QueryError, QueryResult};
use telar_db::{Database, QueryTransaction, Session, Value, ValueMap};

fn run(db: &Database, text: &str) -> QueryResult {
    Session::new(db).run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn refused(db: &Database, text: &str) -> QueryError {
    Session::new(db).run(text, &[]).expect_err(text)
}

/// Names of indexes and constraints.
fn rules(db: &Database) -> Vec<String> {
    names(|text| run(db, text))
}

fn names(mut run: impl FnMut(&str) -> QueryResult) -> Vec<String> {
    let mut names = Vec::new();
    for text in ["SHOW RANGE INDEXES YIELD name", "SHOW CONSTRAINTS YIELD name"] {
        for row in run(text).rows {
            match &row[0] {
                Value::String(name) => names.push(name.to_string()),
                other => panic!("{other:?} is a name"),
            }
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Statements of one transaction, which end well.
struct Within(QueryTransaction);

impl Within {
    fn begin(session: &Session) -> Self {
        Self(session.begin().expect("few are open"))
    }

    fn run(&mut self, text: &str) -> QueryResult {
        self.0.run(text, &ValueMap::new()).unwrap_or_else(|e| panic!("{text}\n{e}"))
    }

    fn refused(&mut self, text: &str) -> QueryError {
        self.0.run(text, &ValueMap::new()).expect_err(text)
    }

    fn rules(&mut self) -> Vec<String> {
        names(|text| self.run(text))
    }
}

#[test]
fn nobody_else_sees_anything_before_the_commit_and_everybody_all_of_it_after() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    run(&db, "UNWIND range(1, 3) AS i CREATE (:A {x: i, y: i})");
    run(&db, "CREATE INDEX old FOR (n:A) ON (n.y)");
    let mut within = Within::begin(&session);
    assert_eq!(within.run("CREATE INDEX by_x FOR (n:A) ON (n.x)").counters.indexes_added, 1);
    let unique = "CREATE CONSTRAINT one FOR (n:B) REQUIRE n.x IS UNIQUE";
    assert_eq!(within.run(unique).counters.constraints_added, 1);
    assert_eq!(within.run("DROP INDEX old").counters.indexes_removed, 1);
    assert_eq!(within.rules(), ["by_x", "one"]);
    let shown =
        within.run("SHOW RANGE INDEXES YIELD name, state, populationPercent, owningConstraint");
    let waits =
        |name: &str, owner: Value| vec![name.into(), "POPULATING".into(), Value::Float(0.0), owner];
    assert_eq!(shown.rows, [waits("by_x", Value::Null), waits("one", "one".into())]);
    // It reads, and with what there is.
    assert_eq!(within.run("MATCH (n:A) WHERE n.x > 1 RETURN n.y").rows.len(), 2);
    assert_eq!(rules(&db), ["old"]);
    run(&db, "CREATE (:B {x: 1})");
    let ts = within.0.commit().unwrap();
    assert_eq!(rules(&db), ["by_x", "one"]);
    assert_eq!(run(&db, "RETURN 1").at, ts);
    let plan = run(&db, "EXPLAIN MATCH (n:A {x: 1}) RETURN n").plan.unwrap().to_string();
    assert!(plan.contains("NodeIndexSeek"), "{plan}");
    assert_eq!(refused(&db, "CREATE (:B {x: 1})").kind, ErrorKind::ConstraintViolation);
    let shown = run(&db, "SHOW INDEXES YIELD state RETURN DISTINCT state");
    assert_eq!(shown.rows, [[Value::from("ONLINE")]]);
}

#[test]
fn rollback_and_dropping_the_transaction_leave_nothing() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    run(&db, "CREATE CONSTRAINT one FOR (n:A) REQUIRE n.x IS UNIQUE");
    for roll_back in [true, false] {
        let mut within = Within::begin(&session);
        within.run("CREATE INDEX by_y FOR (n:A) ON (n.y)");
        within.run("DROP CONSTRAINT one");
        assert_eq!(within.rules(), ["by_y"]);
        if roll_back {
            within.0.rollback();
        } else {
            drop(within);
        }
        assert_eq!(rules(&db), ["one"]);
        run(&db, "CREATE (:A {x: 1, y: 1})");
        assert_eq!(refused(&db, "CREATE (:A {x: 1})").kind, ErrorKind::ConstraintViolation);
        run(&db, "MATCH (n) DELETE n");
    }
}

#[test]
fn commands_are_judged_by_what_the_transaction_did() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    run(&db, "CREATE INDEX old FOR (n:A) ON (n.y)");
    let kept = run(&db, "SHOW RANGE INDEXES YIELD id").rows;
    // One that fails while it runs ends its transaction: each has one of its own.
    for (text, detail) in [
        ("CREATE INDEX FOR (n:A) ON (n.x)", "EquivalentSchemaRuleAlreadyExists"),
        ("CREATE INDEX other FOR (n:A) ON (n.x)", "IndexAlreadyExists"),
        ("CREATE INDEX by_x FOR (n:B) ON (n.x)", "IndexWithNameAlreadyExists"),
        ("CREATE CONSTRAINT FOR (n:A) REQUIRE n.x IS UNIQUE", "IndexAlreadyExists"),
        ("DROP INDEX old", "IndexDropFailed"),
        ("DROP INDEX gone", "IndexDropFailed"),
    ] {
        let mut within = Within::begin(&session);
        within.run("CREATE INDEX by_x FOR (n:A) ON (n.x)");
        within.run("DROP INDEX old");
        assert_eq!(within.refused(text).detail, detail, "{text}");
        assert_eq!(within.0.commit().unwrap_err().detail, "TransactionFailed");
        assert_eq!(rules(&db), ["old"]);
    }
    let mut within = Within::begin(&session);
    within.run("CREATE INDEX by_x FOR (n:A) ON (n.x)");
    within.run("DROP INDEX old");
    for (text, kind) in [
        ("CREATE INDEX by_x IF NOT EXISTS FOR (n:A) ON (n.x)", NotificationKind::RuleExists),
        ("CREATE INDEX other IF NOT EXISTS FOR (n:A) ON (n.x)", NotificationKind::RuleExists),
        ("DROP INDEX old IF EXISTS", NotificationKind::RuleMissing),
    ] {
        let result = within.run(text);
        assert!(!result.counters.any(), "{text}");
        assert_eq!(result.notifications[0].kind, kind, "{text}");
    }
    // Dropped, and made again as it was: it stays. Made, and dropped again: it never comes.
    within.run("CREATE INDEX old FOR (n:A) ON (n.y)");
    within.run("DROP INDEX by_x");
    assert_eq!(within.rules(), ["old"]);
    within.0.commit().unwrap();
    assert_eq!(run(&db, "SHOW RANGE INDEXES YIELD id").rows, kept);
    // The name of what is dropped is free.
    let mut within = Within::begin(&session);
    within.run("DROP INDEX old");
    within.run("CREATE CONSTRAINT old FOR (n:A) REQUIRE n.z IS NOT NULL");
    within.0.commit().unwrap();
    assert!(run(&db, "SHOW RANGE INDEXES").rows.is_empty());
    assert_eq!(rules(&db), ["old"]);
}

#[test]
fn schema_and_graph_are_not_changed_in_one_transaction() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
    let mut within = Within::begin(&session);
    within.run("CREATE (:A {x: 1})");
    for text in ["CREATE INDEX FOR (n:A) ON (n.x)", "DROP INDEX gone IF EXISTS"] {
        assert_eq!(within.refused(text).code(), code, "{text}");
    }
    within.run("EXPLAIN CREATE INDEX FOR (n:A) ON (n.x)");
    assert!(within.rules().is_empty());
    within.0.commit().unwrap();
    assert_eq!(run(&db, "MATCH (n:A) RETURN n").rows.len(), 1);

    let mut within = Within::begin(&session);
    within.run("CREATE INDEX by_x FOR (n:A) ON (n.x)");
    for text in ["CREATE (:A)", "MATCH (n:A) SET n.x = 2", "MATCH (n:Gone) DELETE n"] {
        assert_eq!(within.refused(text).code(), code, "{text}");
    }
    within.run("EXPLAIN CREATE (:A)");
    assert_eq!(within.run("MATCH (n:A) RETURN n.x").rows, [[Value::from(1)]]);
    within.0.commit().unwrap();
    assert_eq!(run(&db, "MATCH (n:A) RETURN n.x").rows, [[Value::from(1)]]);
    assert_eq!(rules(&db), ["by_x"]);

    // What changes nothing leaves it open which kind it is.
    let mut within = Within::begin(&session);
    within.run("CREATE INDEX IF NOT EXISTS FOR (n:A) ON (n.x)");
    within.run("CREATE INDEX FOR (n:A) ON (n.y)");
    within.refused("CREATE (:A)");
    within.0.rollback();
    let mut within = Within::begin(&session);
    within.run("CREATE INDEX IF NOT EXISTS FOR (n:A) ON (n.x)");
    within.run("CREATE (:A {x: 2})");
    within.0.commit().unwrap();
    let mut within = Within::begin(&session);
    within.run("MERGE (:A {x: 2})");
    within.run("DROP INDEX by_x");
    within.0.commit().unwrap();
    assert!(rules(&db).is_empty());
    assert_eq!(run(&db, "MATCH (n:A) RETURN n").rows.len(), 2);
}

#[test]
fn what_breaks_a_constraint_undoes_the_whole_transaction() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    run(&db, "CREATE (:A {x: 1, y: 1}), (:A {x: 2, y: 1})");
    run(&db, "CREATE INDEX old FOR (n:A) ON (n.y)");
    let mut within = Within::begin(&session);
    within.run("CREATE CONSTRAINT holds FOR (n:A) REQUIRE n.x IS UNIQUE");
    within.run("DROP INDEX old");
    within.run("CREATE CONSTRAINT old FOR (n:A) REQUIRE n.y IS UNIQUE");
    within.run("CREATE INDEX later FOR (n:A) ON (n.z)");
    let error = within.0.commit().unwrap_err();
    assert_eq!(error.code(), "Neo.DatabaseError.Schema.ConstraintCreationFailed");
    let message = "Unable to create Constraint( name='old', type='UNIQUENESS', schema=(:A {y}) ): \
                   Both Node(0) and Node(1) have 1";
    assert_eq!(error.message, message);
    assert_eq!(rules(&db), ["old"]);
    assert_eq!(run(&db, "SHOW RANGE INDEXES YIELD properties").rows, [[Value::list(["y"])]]);
    run(&db, "CREATE (:A {x: 1})");
    let missing = "CREATE CONSTRAINT FOR (n:A) REQUIRE n.y IS NOT NULL";
    let mut within = Within::begin(&session);
    within.run(missing);
    assert_eq!(within.0.commit().unwrap_err().kind, ErrorKind::ConstraintCreation);
    run(&db, "MATCH (n:A {x: 1}) DELETE n");
    let mut within = Within::begin(&session);
    within.run(missing);
    within.0.commit().unwrap();
}

#[test]
fn first_of_two_to_change_the_schema_wins_and_the_other_is_told_to_retry() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let make = "CREATE INDEX by_x FOR (n:A) ON (n.x)";
    let attempt = |session| {
        let mut within = Within::begin(session);
        within.run(make);
        within
    };
    let (first, second, mut third) = (attempt(&session), attempt(&session), attempt(&session));
    first.0.commit().unwrap();
    let late = second.0.commit().unwrap_err();
    assert_eq!((late.kind, late.is_retryable()), (ErrorKind::Conflict, true), "{late}");
    assert!(late.message.contains("the indexes and constraints"), "{late}");
    assert_eq!(third.refused("SHOW INDEXES YIELD nothing").kind, ErrorKind::Syntax);
    let told = third.refused("CREATE INDEX by_y FOR (n:A) ON (n.y)");
    assert_eq!(told.kind, ErrorKind::Conflict);
    assert_eq!(rules(&db), ["by_x"]);
    assert_eq!(run(&db, "SHOW RANGE INDEXES").rows.len(), 1);
    let mut again = Within::begin(&session);
    assert_eq!(again.refused(make).kind, ErrorKind::EquivalentRule);

    // Who only looked, or looks anew, loses nothing.
    let mut looked = Within::begin(&session);
    looked.run("CREATE INDEX by_x IF NOT EXISTS FOR (n:A) ON (n.x)");
    let mut read = Within::begin(&session);
    read.run("SHOW INDEXES");
    run(&db, "DROP INDEX by_x");
    read.run("CREATE INDEX by_z FOR (n:A) ON (n.z)");
    looked.0.commit().unwrap();
    read.0.commit().unwrap();
    assert_eq!(rules(&db), ["by_z"]);
}

/// As graphiti sends its 27 indexes: at once, each in a transaction of its own, from 20 sessions.
#[test]
fn transactions_that_make_different_indexes_at_once_do_not_conflict() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "UNWIND range(1, 200) AS i CREATE (:L0 {k1: i})-[:T {k2: i}]->(:L2 {k1: i})");
    let next = std::sync::atomic::AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                let session = Session::new(&db);
                loop {
                    let i = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    if i >= 54 {
                        return;
                    }
                    let of = match i % 3 {
                        0 => format!("()-[e:T]-() ON (e.k{i})"),
                        _ => format!("(n:L{}) ON (n.k{i})", i % 4),
                    };
                    let text = format!("CREATE INDEX i{i} IF NOT EXISTS FOR {of}");
                    if i.is_multiple_of(2) {
                        session.run(&text, &[]).unwrap();
                        continue;
                    }
                    let mut within = Within::begin(&session);
                    within.run(&text);
                    within.0.commit().unwrap();
                }
            });
        }
    });
    assert_eq!(run(&db, "SHOW RANGE INDEXES").rows.len(), 54);
}

#[test]
fn single_commands_at_once_make_one_of_each() {
    let db = telar_db::open_in_memory().unwrap();
    run(&db, "UNWIND range(1, 500) AS i CREATE (:A {x: i, y: i, z: i})");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for key in ["x", "y", "z"] {
                    // Names differ: only what they are of says that they are the same.
                    let id = std::thread::current().id();
                    let name = format!("`{key} {id:?}`");
                    run(&db, &format!("CREATE INDEX {name} IF NOT EXISTS FOR (n:A) ON (n.{key})"));
                }
            });
        }
    });
    assert_eq!(run(&db, "SHOW RANGE INDEXES").rows.len(), 3);
}

#[test]
fn all_of_it_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rules.telar");
    let db = telar_db::open(&path).unwrap();
    run(&db, "CREATE (:A {x: 1, y: 1})");
    run(&db, "CREATE INDEX old FOR (n:A) ON (n.y)");
    {
        let session = Session::new(&db);
        let mut within = Within::begin(&session);
        within.run("DROP INDEX old");
        within.run("CREATE INDEX old FOR (n:A) ON (n.z)");
        within.run("CREATE CONSTRAINT one FOR (n:A) REQUIRE n.x IS UNIQUE");
        within.0.commit().unwrap();
    }
    let check = |db: &Database| {
        let shown = run(db, "SHOW RANGE INDEXES YIELD name, properties");
        let row = |name: &str, key: &str| vec![name.into(), Value::list([key])];
        assert_eq!(shown.rows, [row("old", "z"), row("one", "x")]);
        assert_eq!(refused(db, "CREATE (:A {x: 1})").kind, ErrorKind::ConstraintViolation);
    };
    check(&db);
    drop(db);
    // From the log, and from a checkpoint.
    let db = telar_db::open(&path).unwrap();
    check(&db);
    db.close().unwrap();
    check(&telar_db::open(&path).unwrap());
}

#[test]
fn waiting_for_what_comes_with_the_commit_is_refused_at_once() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let mut within = Within::begin(&session);
    within.run("CREATE INDEX by_x FOR (n:A) ON (n.x)");
    let error = within.refused("CALL db.awaitIndexes()");
    assert_eq!(error.kind, ErrorKind::ProcedureFailed);
    assert!(error.message.contains("`by_x` is made when this transaction commits"), "{error}");
}

#[test]
fn session_that_only_reads_changes_no_schema() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).read_only();
    let mut within = Within::begin(&session);
    let error = within.refused("CREATE INDEX FOR (n:A) ON (n.x)");
    assert_eq!(error.kind, ErrorKind::AccessMode);
}
