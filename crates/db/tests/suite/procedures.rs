//! Procedures of a program: what they see, what they may change, how their rows flow.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use common::{database, rows};
use telar_db::column::Column;
use telar_db::query::procedure::{Chunk, Field, Mode, RowBatch, RowSource, known};
use telar_db::query::result::Counters;
use telar_db::query::{
    CallContext, ErrorKind, Limits, Procedure, Procedures, QueryError, StatementKind,
};
use telar_db::update::IndexedObjects;
use telar_db::{Database, Runtime, Session, Value, ValueMap};

type Run =
    dyn Fn(&mut CallContext<'_>, &[Value]) -> Result<Box<dyn RowSource>, QueryError> + Send + Sync;

/// A procedure that is a function.
struct Test {
    mode: Mode,
    arguments: Vec<Field>,
    columns: Vec<Field>,
    run: Box<Run>,
}

impl Procedure for Test {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "A test."
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        (self.run)(call, arguments)
    }
}

fn fields(names: &[&str]) -> Vec<Field> {
    names.iter().map(|name| Field::new(name, "ANY")).collect()
}

fn session_with(
    db: &Database,
    (mode, arguments, columns): (Mode, &[&str], &[&str]),
    run: impl Fn(&mut CallContext<'_>, &[Value]) -> Result<Box<dyn RowSource>, QueryError>
    + Send
    + Sync
    + 'static,
) -> Session {
    let (arguments, columns, run) = (fields(arguments), fields(columns), Box::new(run));
    let mut procedures = Procedures::builtin();
    procedures.add("test.call", Arc::new(Test { mode, arguments, columns, run }));
    Session::with_runtime(db, Arc::new(Runtime::new(procedures)))
}

fn int(value: &Value) -> i64 {
    match value {
        Value::Int(n) => *n,
        other => panic!("{other:?}"),
    }
}

/// The numbers below `end`, some at once.
struct Numbers {
    next: i64,
    end: i64,
    step: i64,
    asked: Arc<AtomicUsize>,
    bytes: usize,
}

impl RowSource for Numbers {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        call.check()?;
        self.asked.fetch_add(1, Ordering::Relaxed);
        let end = (self.next + self.step).min(self.end);
        let rows: Vec<i64> = (self.next..end).collect();
        self.next = end;
        let batch = RowBatch::new(vec![Column::from(rows)]);
        Ok(if end == self.end { Chunk::Last(batch) } else { Chunk::More(batch) })
    }

    fn bytes(&self) -> usize {
        self.bytes
    }
}

fn numbers(db: &Database, step: i64, bytes: usize) -> (Session, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let session = session_with(db, (Mode::Read, &["end"], &["n"]), move |_, arguments| {
        let (end, asked) = (int(&arguments[0]), Arc::clone(&count));
        Ok(Box::new(Numbers { next: 0, end, step, asked, bytes }))
    });
    (session, asked)
}

#[test]
fn rows_are_made_as_they_are_asked_for() {
    let db = telar_db::open_in_memory().unwrap();
    for (text, expected, most) in [
        ("CALL test.call(1000000000) YIELD n RETURN n LIMIT 2", &["0", "1"][..], 2),
        ("CALL test.call(1000000000) YIELD n WHERE n = 150 RETURN n LIMIT 1", &["150"], 4),
        ("CALL test.call(1000) YIELD n RETURN count(*), sum(n)", &["1000 | 499500"], 10),
        ("CALL test.call(0) YIELD n RETURN count(*)", &["0"], 1),
        (
            "UNWIND [3, 0, 250] AS m CALL test.call(m) YIELD n RETURN m, count(n)",
            &["250 | 250", "3 | 3"],
            5,
        ),
        (
            "UNWIND [3, 0] AS m OPTIONAL CALL test.call(m) YIELD n RETURN m, count(n), count(*)",
            &["0 | 0 | 1", "3 | 3 | 3"],
            2,
        ),
        (
            "UNWIND range(1, 5000) AS m CALL test.call(2) YIELD n RETURN sum(m * n)",
            &["12502500"],
            5000,
        ),
        ("RETURN COUNT { CALL test.call(120) YIELD n RETURN n }", &["120"], 2),
    ] {
        let (session, asked) = numbers(&db, 100, 0);
        assert_eq!(rows(&session, text), expected, "{text}");
        assert!(asked.load(Ordering::Relaxed) <= most, "{text}: {asked:?}");
    }
}

#[test]
fn what_a_call_holds_counts() {
    let db = telar_db::open_in_memory().unwrap();
    let text = "CALL test.call(10) YIELD n RETURN n";
    let limited = |bytes| {
        let (session, _) = numbers(&db, 10, bytes);
        let limits = Limits { memory: Some(10 << 20), ..Limits::default() };
        let done = session.with_limits(limits).run(text, &[]);
        done.map(|result| result.rows.len()).map_err(|e| e.kind)
    };
    assert_eq!(limited(1 << 20), Ok(10));
    assert_eq!(limited(11 << 20), Err(ErrorKind::OutOfMemory));
    // Rows that are all known.
    let session = session_with(&db, (Mode::Read, &[], &["text"]), |_, _| {
        Ok(known((0..12).map(|_| vec!["x".repeat(1 << 20).as_str().into()]).collect()))
    });
    let limits = Limits { memory: Some(10 << 20), ..Limits::default() };
    let error = session.with_limits(limits).run("CALL test.call() YIELD text RETURN 1", &[]);
    assert_eq!(error.unwrap_err().kind, ErrorKind::OutOfMemory);
}

#[test]
fn rows_that_do_not_fit_are_refused() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Read, &["rows"], &["a", "b"]), |_, arguments| {
        let Value::List(list) = &arguments[0] else { panic!("{arguments:?}") };
        let row = |row: &Value| match row {
            Value::List(values) => values.to_vec(),
            other => panic!("{other:?}"),
        };
        Ok(known(list.iter().map(row).collect()))
    });
    let call =
        |rows: &str| session.run(&format!("CALL test.call({rows}) YIELD a, b RETURN a"), &[]);
    assert_eq!(call("[[1, 2], [3, 4]]").unwrap().rows.len(), 2);
    assert_eq!(call("[]").unwrap().rows.len(), 0);
    for rows in ["[[1]]", "[[1, 2, 3]]", "[[]]", "[[1, 2], [3]]"] {
        assert_eq!(call(rows).unwrap_err().kind, ErrorKind::ProcedureFailed, "{rows}");
    }
}

/// Makes so many nodes `:Made` and says how many there are then.
fn makes(db: &Database) -> Session {
    session_with(db, (Mode::Write, &["count"], &["made"]), |call, arguments| {
        let mut changes = call.changes()?;
        let label = changes.label("Made")?;
        for _ in 0..int(&arguments[0]) {
            changes.create_node(&["Made"], ValueMap::new())?;
        }
        let mut found = Vec::new();
        call.graph().scan(Some(label), LOWEST, bound_of(call.graph()), &mut found)?;
        Ok(known(vec![vec![Value::Int(found.len() as i64)]]))
    })
}

const LOWEST: telar_db::VertexId = telar_db::VertexId::from_raw(0);

/// One past the last id: nothing here is sparse.
fn bound_of(graph: &dyn telar_graph::Graph) -> telar_graph::VertexId {
    telar_graph::VertexId::from_raw(graph.partitions().positions())
}

#[test]
fn a_procedure_that_writes_is_part_of_its_statement() {
    let db = telar_db::open_in_memory().unwrap();
    let session = makes(&db);
    let count = || rows(&session, "MATCH (n:Made) RETURN count(n)")[0].clone();
    let result = session.run("CALL test.call(3)", &[]).unwrap();
    assert_eq!((result.counters.nodes_created, result.counters.labels_added), (3, 3));
    assert_eq!(result.kind, StatementKind::ReadWrite);
    assert_eq!(count(), "3");
    // Each row's call sees those before it; what was read before is not disturbed.
    let text = "MATCH (n:Made) CALL test.call(1) YIELD made RETURN made";
    assert_eq!(rows(&session, text), ["4", "5", "6"]);
    let mut transaction = session.begin().unwrap();
    let none = ValueMap::new();
    assert_eq!(transaction.run("CALL test.call(10)", &none).unwrap().rows, [[Value::Int(16)]]);
    let seen = transaction.run("MATCH (n:Made) RETURN count(n)", &none).unwrap();
    assert_eq!(seen.rows, [[Value::Int(16)]]);
    transaction.rollback();
    assert_eq!(count(), "6");
    for (text, kind) in [
        ("CALL test.call(2) YIELD made RETURN 1 / (made - made)", ErrorKind::Arithmetic),
        ("RETURN COUNT { CALL test.call(1) YIELD made RETURN made }", ErrorKind::Syntax),
        ("AT TIMESTAMP 1 CALL test.call(1) YIELD made RETURN made", ErrorKind::Syntax),
    ] {
        assert_eq!(session.run(text, &[]).unwrap_err().kind, kind, "{text}");
    }
    session.run("EXPLAIN CALL test.call(5)", &[]).unwrap();
    assert_eq!(count(), "6");
    let reads = Session::with_runtime(&db, Arc::clone(session.runtime())).read_only();
    assert_eq!(reads.run("CALL test.call(1)", &[]).unwrap_err().kind, ErrorKind::AccessMode);
    let shown = "SHOW PROCEDURES YIELD name, mode WHERE name = 'test.call' RETURN mode";
    assert_eq!(rows(&session, shown), ["'WRITE'"]);
}

#[test]
fn changes_of_procedures_are_those_of_clauses() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Write, &["case"], &["done"]), |call, arguments| {
        let (mut nodes, graph) = (Vec::new(), call.graph());
        graph.scan(None, LOWEST, bound_of(graph), &mut nodes)?;
        let mut changes = call.changes()?;
        let properties =
            |n: i64| ValueMap::from([("n".into(), Value::Int(n)), ("no".into(), Value::Null)]);
        let done = match int(&arguments[0]) {
            0 => {
                let a = changes.create_node(&["A", "A", "B"], properties(1))?;
                let b = changes.create_node(&[], properties(2))?;
                changes.create_relationship("R", a, b, properties(3))?;
                true
            }
            1 => changes.add_label(nodes[0], "A")?,
            2 => changes.add_label(nodes[0], "C")?,
            3 => changes.remove_label(nodes[0], "C")?,
            4 => changes.remove_label(nodes[0], "None")?,
            5 => {
                changes.set_property(&Value::Vertex(nodes[0]), "n", Value::Int(7))?;
                changes.set_property(&Value::Vertex(nodes[0]), "none", Value::Null)?;
                changes.set_property(&Value::Null, "n", Value::Int(7))?;
                true
            }
            6 => {
                changes.set_property(
                    &Value::Vertex(nodes[0]),
                    "n",
                    Value::map([("a", Value::Int(1))]),
                )?;
                true
            }
            7 => {
                changes.delete(&Value::Vertex(nodes[0]), true)?;
                // Nothing is left of it in this statement.
                changes.set_property(&Value::Vertex(nodes[0]), "n", Value::Int(8))?;
                changes.delete(&Value::Vertex(nodes[0]), true)?;
                true
            }
            _ => {
                changes.create_relationship("", nodes[0], nodes[0], ValueMap::new())?;
                true
            }
        };
        Ok(known(vec![vec![done.into()]]))
    });
    let count = |counters: Counters| {
        let Counters { nodes_created, nodes_deleted, properties_set, .. } = counters;
        let Counters { relationships_created, relationships_deleted, .. } = counters;
        let Counters { labels_added, labels_removed, .. } = counters;
        let edges = (relationships_created, relationships_deleted);
        ((nodes_created, nodes_deleted), edges, properties_set, (labels_added, labels_removed))
    };
    for (case, done, expected) in [
        (0, true, ((2, 0), (1, 0), 3, (2, 0))),
        (1, false, ((0, 0), (0, 0), 0, (0, 0))),
        (2, true, ((0, 0), (0, 0), 0, (1, 0))),
        (3, true, ((0, 0), (0, 0), 0, (0, 1))),
        (4, false, ((0, 0), (0, 0), 0, (0, 0))),
        (5, true, ((0, 0), (0, 0), 1, (0, 0))),
    ] {
        let result = session.run("CALL test.call($case)", &[("case", Value::Int(case))]).unwrap();
        assert_eq!(result.rows, [[Value::Bool(done)]], "case {case}");
        assert_eq!(count(result.counters), expected, "case {case}");
    }
    for case in [6, 8] {
        session.run("CALL test.call($case)", &[("case", Value::Int(case))]).unwrap_err();
    }
    let found = "MATCH (a:A:B {n: 7})-[r:R {n: 3}]->(b {n: 2}) RETURN keys(a), keys(r), labels(b)";
    assert_eq!(rows(&session, found), ["['n'] | ['n'] | []"]);
    let result = session.run("CALL test.call(7)", &[]).unwrap();
    assert_eq!(count(result.counters), ((0, 1), (0, 1), 0, (0, 0)));
    assert_eq!(rows(&session, "MATCH (n) RETURN n.n"), ["2"]);
}

#[test]
fn a_procedure_that_reads_changes_nothing() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Read, &[], &["x"]), |call, _| {
        call.changes()?.create_node(&[], ValueMap::new())?;
        Ok(known(Vec::new()))
    });
    for text in ["CALL test.call()", "CREATE () WITH 1 AS one CALL test.call() YIELD x RETURN x"] {
        assert_eq!(session.run(text, &[]).unwrap_err().kind, ErrorKind::AccessMode);
    }
    assert_eq!(rows(&session, "MATCH (n) RETURN count(n)"), ["0"]);
}

#[test]
fn a_procedure_sees_what_its_statement_sees() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Read, &[], &["nodes"]), |call, _| {
        let (graph, mut found) = (call.graph(), Vec::new());
        graph.scan(None, LOWEST, bound_of(graph), &mut found)?;
        let counted = Column::from(vec![found.len() as i64]);
        Ok(Box::new(Once(Some(RowBatch::new(vec![counted])))))
    });
    session.run("CREATE (), ()", &[]).unwrap();
    let text = "CREATE () WITH 1 AS one CALL test.call() YIELD nodes RETURN nodes";
    assert_eq!(rows(&session, text), ["3"]);
    let mut transaction = session.begin().unwrap();
    session.run("CREATE ()", &[]).unwrap();
    let none = ValueMap::new();
    assert_eq!(transaction.run("CALL test.call()", &none).unwrap().rows, [[Value::Int(3)]]);
    transaction.run("CREATE (), ()", &none).unwrap();
    assert_eq!(transaction.run("CALL test.call()", &none).unwrap().rows, [[Value::Int(5)]]);
    drop(transaction);
    assert_eq!(rows(&session, "CALL test.call()"), ["4"]);
}

struct Once(Option<RowBatch>);

impl RowSource for Once {
    fn next(&mut self, _: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        Ok(Chunk::Last(self.0.take().unwrap_or_default()))
    }
}

#[test]
fn a_procedure_of_the_schema_is_a_command() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Schema, &["label"], &[]), |call, arguments| {
        let Value::String(name) = &arguments[0] else { panic!("{arguments:?}") };
        let mut changes = call.changes()?;
        let (label, key) = (changes.label(name)?, changes.property_key("id")?);
        let objects = IndexedObjects::Vertices(label);
        changes.create_rule(
            &format!("of_{name}"),
            objects,
            &[key],
            telar_db::IndexKind::Range.into(),
        )?;
        Ok(known(Vec::new()))
    });
    let result = session.run("CALL test.call('A')", &[]).unwrap();
    assert_eq!(result.kind, StatementKind::Schema);
    let indexes = "SHOW RANGE INDEXES YIELD name RETURN name";
    assert_eq!(rows(&session, indexes), ["'of_A'"]);
    let none = ValueMap::new();
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE INDEX of_C FOR (n:C) ON (n.id)", &none).unwrap();
    transaction.run("CALL test.call('B')", &none).unwrap();
    transaction.commit().unwrap();
    assert_eq!(rows(&session, indexes), ["'of_A'", "'of_B'", "'of_C'"]);
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:A)", &none).unwrap();
    let error = transaction.run("CALL test.call('D')", &none).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TransactionType);
}

/// Says how far it is, and waits.
struct Waits {
    step: u64,
    told: mpsc::SyncSender<()>,
    go_on: Arc<AtomicUsize>,
}

impl RowSource for Waits {
    fn next(&mut self, call: &mut CallContext<'_>) -> Result<Chunk, QueryError> {
        self.step += 1;
        call.progress(self.step, 4);
        self.told.send(()).unwrap();
        while self.go_on.load(Ordering::Relaxed) < self.step as usize {
            call.check()?;
            thread::yield_now();
        }
        Ok(Chunk::More(RowBatch::new(vec![Column::from(vec![0.5])])))
    }
}

#[test]
fn progress_is_listed_and_a_call_can_be_ended() {
    let db = telar_db::open_in_memory().unwrap();
    let (told, listen) = mpsc::sync_channel(1);
    let go_on = Arc::new(AtomicUsize::new(0));
    let passed = Arc::clone(&go_on);
    let session = session_with(&db, (Mode::Read, &[], &["x"]), move |_, _| {
        Ok(Box::new(Waits { step: 0, told: told.clone(), go_on: Arc::clone(&passed) }))
    });
    let other = Session::with_runtime(&db, Arc::clone(session.runtime()));
    thread::scope(|scope| {
        let query = scope.spawn(|| session.run("CALL test.call()", &[]));
        let listed = "SHOW TRANSACTIONS YIELD statusDetails, currentQuery, transactionId AS id \
                      WHERE currentQuery STARTS WITH 'CALL test' RETURN statusDetails, id";
        for (step, expected) in ["1 of 4 done (25 %)", "2 of 4 done (50 %)"].into_iter().enumerate()
        {
            listen.recv().unwrap();
            let found = other.run(listed, &[]).unwrap().rows;
            assert_eq!(found[0][0], expected.into());
            if step == 1 {
                let terminate = "TERMINATE TRANSACTION $id";
                other.run(terminate, &[("id", found[0][1].clone())]).unwrap();
            }
            go_on.fetch_add(usize::from(step == 0), Ordering::Relaxed);
        }
        assert_eq!(query.join().unwrap().unwrap_err().kind, ErrorKind::Terminated);
    });
}

#[test]
fn rows_of_built_in_procedures_have_their_columns() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run("CREATE (:A {x: 1})-[:R {y: 2}]->(:B)", &[]).unwrap();
    let value = |field: &Field| match field.of.to_string() {
        of if of.contains("STRING") && !of.contains("LIST") => "'A'",
        of if of.contains("INTEGER") || of.contains("FLOAT") => "0",
        of if of.contains("MAP") && !of.contains("LIST") => "{}",
        of if of.contains("LIST") => "[]",
        of if of.contains("BOOLEAN") => "true",
        _ => "null",
    };
    let mut called = 0;
    for (name, procedure) in session.runtime().procedures().iter() {
        let needed = procedure.arguments().iter().filter(|field| field.default.is_none());
        let arguments: Vec<&str> = needed.map(value).collect();
        let call = format!("CALL {name}({})", arguments.join(", "));
        match session.run(&call, &[]) {
            Ok(_) => called += 1,
            Err(error) => {
                assert!(!error.message.contains("columns and returned"), "{call}: {error}");
            }
        }
    }
    assert!(called > 15, "{called}");
}

#[test]
fn vectors_are_set_in_32_bits() {
    let db = database("CREATE (:N {i: 1})-[:R {i: 1}]->(:N {i: 2})");
    let session = Session::new(&db);
    let set = "MATCH (n:N {i: 1})-[r:R]->(m) \
               CALL db.create.setNodeVectorProperty(n, 'e', [0.1, 2, -1.5]) \
               CALL db.create.setRelationshipVectorProperty(r, 'e', [0.1]) RETURN n.e, r.e, m.e";
    // As Neo4j: a float of 32 bits, read as one of 64.
    assert_eq!(
        rows(&session, set),
        ["[0.10000000149011612, 2.0, -1.5] | [0.10000000149011612] | null"]
    );
    let counters =
        session.run("MATCH (n:N) CALL db.create.setNodeVectorProperty(n, 'e', [1]) RETURN 1", &[]);
    assert_eq!(counters.unwrap().counters.properties_set, 2);
    // Alone, of many rows and of none.
    let alone = "MATCH (n:N {i: 2}) UNWIND range(1, 3) AS x CALL db.create.setNodeVectorProperty(n, 'e', [x])";
    assert!(rows(&session, alone).is_empty());
    assert!(
        rows(&session, "MATCH (n:None) CALL db.create.setNodeVectorProperty(n, 'e', [1.0])")
            .is_empty()
    );
    assert_eq!(rows(&session, "MATCH (n:N {i: 2}) RETURN n.e"), ["[3.0]"]);
    let with = |object: &str, key: &str, vector: &str| {
        format!(
            "MATCH (n:N {{i: 1}})-[r:R]->() CALL db.create.setNodeVectorProperty({object}, {key}, {vector})"
        )
    };
    for (object, key, vector, wanted) in [
        ("n", "'e'", "[]", "vector must have from 1 to 4096 numbers, found 0"),
        ("n", "'e'", "[x IN range(0, 4096) | 1.0]", "numbers, found 4097"),
        ("n", "'e'", "null", "vector must be a LIST of numbers or a VECTOR, found NULL"),
        ("n", "'e'", "[1.0, null]", "number 2 of vector must be one, found NULL"),
        ("n", "'e'", "[1e300]", "number 1 of vector is not finite in 32 bits"),
        ("n", "'e'", "[0.0 / 0.0]", "number 1 of vector is not finite in 32 bits"),
        ("n", "null", "[1.0]", "key must not be null"),
        ("n", "''", "[1.0]", ""),
        ("null", "'e'", "[1.0]", "node must not be null"),
        ("r", "'e'", "[1.0]", "NODE"),
        ("n", "'e'", "'text'", "LIST"),
        ("n", "'e'", "['text']", ""),
    ] {
        let text = with(object, key, vector);
        let error = session.run(&text, &[]).unwrap_err();
        assert!(error.message.contains(wanted), "{text}: {error}");
    }
    assert_eq!(rows(&session, "MATCH (n:N {i: 1}) RETURN n.e"), ["[1.0]"]);
    // It writes, to those who ask.
    let mut transaction = session.begin().unwrap();
    let none = ValueMap::new();
    transaction.run(&with("n", "'e'", "[5.0]"), &none).unwrap();
    let seen =
        transaction.run("MATCH (n:N {i: 1}) RETURN vector.similarity.cosine(n.e, [1.0])", &none);
    assert_eq!(seen.unwrap().rows, [[Value::Float(1.0)]]);
    transaction.rollback();
    assert_eq!(rows(&session, "MATCH (n:N {i: 1}) RETURN n.e"), ["[1.0]"]);
}

/// As a node of a cluster does that gives up leading: the statement that asked for it answers, and
/// those that come after it are ended.
#[test]
fn a_statement_that_has_everything_ended_answers_if_it_is_spared() {
    for is_spared in [true, false] {
        let db = telar_db::open_in_memory().unwrap();
        let session = session_with(&db, (Mode::Read, &[], &["n"]), move |call, _| {
            if is_spared {
                call.spare();
            }
            call.procedures().running.close();
            Ok(known(vec![vec![1.into()]]))
        });
        let found =
            session.run("CALL test.call() YIELD n UNWIND range(1, 3) AS i RETURN n, i", &[]);
        match found {
            Ok(found) => assert!(is_spared && found.rows.len() == 3),
            Err(error) => assert!(!is_spared && error.kind == ErrorKind::Terminated, "{error}"),
        }
        let error = session.run("RETURN 1", &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Terminated);
    }
}

#[test]
fn a_transaction_ends_behind_the_statement_that_was_spared() {
    let db = telar_db::open_in_memory().unwrap();
    let session = session_with(&db, (Mode::Read, &[], &["n"]), |call, _| {
        call.spare();
        call.procedures().running.close();
        Ok(known(vec![vec![1.into()]]))
    });
    let mut transaction = session.begin().unwrap();
    transaction.run("CREATE (:Lost)", &ValueMap::new()).unwrap();
    let found = transaction.run("CALL test.call() YIELD n RETURN n", &ValueMap::new()).unwrap();
    assert_eq!(found.rows.len(), 1);
    let error = transaction.run("RETURN 1", &ValueMap::new()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Terminated);
}
