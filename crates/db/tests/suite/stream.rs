//! Results that are handed on as they come.

use std::sync::Arc;

use telar_db::query::{ErrorKind, Limits, QueryError, Rows, Sink, StatementKind};
use telar_db::{Database, Session, Value, ValueMap};

/// Counts what it is given, and asks for an end at some row.
#[derive(Default)]
struct Taken {
    columns: Vec<Arc<str>>,
    rows: Vec<Vec<Value>>,
    batches: usize,
    names: Vec<Value>,
    stop_at: Option<usize>,
    enough_at: Option<usize>,
    /// Asked for before every batch.
    look: Option<Box<dyn FnMut() -> Value>>,
    seen: Vec<Value>,
}

impl Sink for Taken {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        assert!(self.columns.is_empty(), "columns come once");
        self.columns = columns.to_vec();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        assert!(rows.len() > 0 && !self.columns.is_empty());
        self.batches += 1;
        if let Some(look) = &mut self.look {
            self.seen.push(look());
        }
        for row in 0..rows.len() {
            let values: Vec<_> = (0..self.columns.len()).map(|c| rows.get(row, c)).collect();
            if let Value::Vertex(vertex) = values[0] {
                let name = rows.node(vertex)?.properties.get("name").cloned();
                self.names.push(name.unwrap_or(Value::Null));
            }
            self.rows.push(values);
        }
        match self.stop_at {
            Some(most) if self.rows.len() >= most => {
                Err(QueryError::runtime(ErrorKind::Terminated, "Enough", "that is enough"))
            }
            _ => Ok(()),
        }
    }

    fn has_enough(&self) -> bool {
        self.enough_at.is_some_and(|enough| self.rows.len() >= enough)
    }
}

fn stream(session: &Session, text: &str, taken: &mut Taken) -> Result<(), QueryError> {
    session.stream(text, &ValueMap::new(), taken).map(drop)
}

fn database() -> Database {
    let db = telar_db::open_in_memory().expect("memory suffices");
    let create = "UNWIND range(1, 5000) AS n CREATE (:N {name: n})";
    Session::new(&db).run(create, &[]).expect("it is valid");
    db
}

#[test]
fn reads_stream_the_same_rows_in_many_batches() {
    let db = database();
    let session = Session::new(&db);
    let text = "MATCH (n:N) RETURN n, n.name * 2 AS twice";
    let mut taken = Taken::default();
    let summary = session.stream(text, &ValueMap::new(), &mut taken).unwrap();
    let whole = session.run(text, &[]).unwrap();
    assert_eq!((taken.columns, &taken.rows), (whole.columns, &whole.rows));
    assert!(taken.batches > 1, "{} batches", taken.batches);
    assert_eq!(summary.at, whole.at);
    assert_eq!(summary.counters, whole.counters);
    let names = whole.rows.iter().map(|row| match &row[0] {
        Value::Vertex(v) => whole.entities.nodes[v].properties["name"].clone(),
        other => panic!("{other:?}"),
    });
    assert_eq!(taken.names, names.collect::<Vec<_>>());
}

#[test]
fn streamed_rows_do_not_count_against_the_memory_limit() {
    let db = database();
    let limits = Limits { memory: Some(256 << 10), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits);
    let text = "UNWIND range(1, 200000) AS n RETURN n";
    assert_eq!(session.run(text, &[]).unwrap_err().kind, ErrorKind::OutOfMemory);
    let mut taken = Taken::default();
    stream(&session, text, &mut taken).unwrap();
    assert_eq!(taken.rows.len(), 200_000);
}

#[test]
fn sink_ends_a_query_by_an_error() {
    let db = database();
    let session = Session::new(&db);
    let mut taken = Taken { stop_at: Some(2000), ..Taken::default() };
    let error = stream(&session, "MATCH (n:N), (m:N) RETURN n, m", &mut taken).unwrap_err();
    assert_eq!(error.detail, "Enough");
    assert!(taken.rows.len() < 100_000, "{}", taken.rows.len());
}

#[test]
fn sink_that_has_enough_ends_a_query_well() {
    let db = database();
    let session = Session::new(&db);
    let endless = "MATCH (n:N), (m:N), (o:N) RETURN n, m, o";
    let mut taken = Taken { enough_at: Some(2000), ..Taken::default() };
    let summary = session.stream(endless, &ValueMap::new(), &mut taken).unwrap();
    assert!((2000..100_000).contains(&taken.rows.len()), "{}", taken.rows.len());
    assert_eq!((summary.kind, summary.at), (StatementKind::Read, db.published()));
    // One that wants nothing from the start.
    let mut taken = Taken { enough_at: Some(0), ..Taken::default() };
    stream(&session, endless, &mut taken).unwrap();
    assert!(taken.rows.len() < 100_000 && taken.columns.len() == 3);
    // A statement that writes does all of it, and a profile measures all of it.
    let mut taken = Taken { enough_at: Some(1), ..Taken::default() };
    let update = "MATCH (n:N) SET n.seen = true RETURN n";
    let summary = session.stream(update, &ValueMap::new(), &mut taken).unwrap();
    assert_eq!((summary.kind, summary.counters.properties_set), (StatementKind::ReadWrite, 5000));
    let mut taken = Taken { enough_at: Some(1), ..Taken::default() };
    let profile = "PROFILE MATCH (n:N) RETURN n";
    let summary = session.stream(profile, &ValueMap::new(), &mut taken).unwrap();
    assert_eq!(summary.plan.unwrap().measured.unwrap().rows, 5000);
}

#[test]
fn rows_of_a_writing_statement_come_after_its_commit() {
    let db = Arc::new(database());
    let other = Arc::clone(&db);
    let look = move || {
        let session = Session::new(&other);
        let found = session.run("MATCH (m:M) RETURN count(m)", &[]).unwrap();
        found.rows[0][0].clone()
    };
    let mut taken = Taken { look: Some(Box::new(look)), ..Taken::default() };
    let text = "UNWIND range(1, 3000) AS n CREATE (m:M {name: n}) RETURN m";
    stream(&Session::new(&db), text, &mut taken).unwrap();
    assert_eq!(taken.seen, [3000.into(), 3000.into(), 3000.into()]);
    assert_eq!(taken.names.last(), Some(&3000.into()));
    assert_eq!(taken.rows.len(), 3000);
}

#[test]
fn statements_of_a_transaction_stream_what_it_wrote() {
    let db = database();
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    let none = ValueMap::new();
    let mut taken = Taken::default();
    transaction.stream("CREATE (m:M {name: 'new'}) RETURN m", &none, &mut taken).unwrap();
    let mut again = Taken::default();
    transaction.stream("MATCH (m:M) RETURN m, 1 AS one", &none, &mut again).unwrap();
    assert_eq!(again.names, ["new".into()]);
    transaction.rollback();
    let mut gone = Taken::default();
    stream(&session, "MATCH (m:M) RETURN m", &mut gone).unwrap();
    assert_eq!((gone.columns.len(), gone.rows.len()), (1, 0));
}

#[test]
fn sessions_that_only_read_refuse_changes() {
    let db = database();
    let session = Session::new(&db).read_only();
    for text in ["CREATE (:N)", "CREATE INDEX FOR (n:N) ON (n.name)", "MATCH (n) SET n.x = 1"] {
        assert_eq!(session.run(text, &[]).unwrap_err().kind, ErrorKind::AccessMode, "{text}");
        let mut transaction = session.begin().unwrap();
        let error = transaction.run(text, &ValueMap::new()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::AccessMode, "{text}");
    }
    session.run("EXPLAIN CREATE (:N)", &[]).unwrap();
    assert_eq!(session.run("MATCH (n) RETURN count(n)", &[]).unwrap().rows[0][0], 5000.into());
}

#[test]
fn a_statement_by_itself_looks_its_plan_up_once() {
    let db = database();
    let session = Session::new(&db);
    let uses = || session.runtime().plan_uses();
    for text in ["CREATE (:Fresh)", "MATCH (f:Fresh) RETURN count(f) AS n"] {
        stream(&session, text, &mut Taken::default()).unwrap();
        let before = uses();
        stream(&session, text, &mut Taken::default()).unwrap();
        session.run(text, &[]).unwrap();
        let after = uses();
        assert_eq!((after.hits, after.misses), (before.hits + 2, before.misses), "{text}");
    }
}

/// Compares what is said of each node and relationship with what the graph says, one at a time.
#[derive(Default)]
struct Comparing {
    seen: usize,
}

impl Comparing {
    fn value(&mut self, value: &Value, rows: &Rows<'_>) -> Result<(), QueryError> {
        self.seen += 1;
        match value {
            Value::Vertex(vertex) => {
                let node = rows.node(*vertex)?;
                let number = Value::Int(vertex.get() as i64);
                assert_eq!(node.properties.get("at"), Some(&number));
                assert_eq!(node.labels, [["Even", "Odd"][vertex.get() as usize % 2]]);
            }
            Value::Edge(edge) => {
                let relationship = rows.relationship(**edge)?;
                let from = Value::Int(edge.src.get() as i64);
                assert_eq!(
                    (&*relationship.ty, relationship.properties.get("from")),
                    ("R", Some(&from))
                );
            }
            Value::Path(path) => {
                for vertex in path.vertices() {
                    self.value(&Value::Vertex(*vertex), rows)?;
                }
                for edge in path.edges() {
                    self.value(&Value::Edge(Arc::new(*edge)), rows)?;
                }
            }
            Value::List(list) => {
                for value in list.iter() {
                    self.value(value, rows)?;
                }
            }
            Value::Map(map) => {
                for value in map.values() {
                    self.value(value, rows)?;
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Sink for Comparing {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            self.value(&rows.get(row, 0), rows)?;
        }
        // Again, from the last to the first: what was read ahead is gone by now.
        for row in (0..rows.len()).rev().step_by(7) {
            self.value(&rows.get(row, 0), rows)?;
        }
        Ok(())
    }
}

#[test]
fn nodes_and_relationships_are_what_they_are_in_any_order_and_however_often_rows_name_them() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "UNWIND range(0, 999) AS i CREATE (n) SET n.at = id(n)",
        "MATCH (n) WHERE n.at % 2 = 0 SET n:Even",
        "MATCH (n) WHERE n.at % 2 = 1 SET n:Odd",
        "MATCH (a), (b) WHERE a.at < 3 AND a.at <> b.at CREATE (a)-[:R {from: a.at}]->(b)",
    ] {
        session.run(text, &[]).unwrap();
    }
    for (text, least) in [
        ("MATCH (n) RETURN n", 1_000),
        ("MATCH (n) RETURN n LIMIT 1", 1),
        ("MATCH (a)-[r]->(b) RETURN r", 2_997),
        ("MATCH (a)-[r]->(b) RETURN [a, r, b]", 4 * 2_997),
        ("MATCH p = (a)-[r]->(b) RETURN p", 4 * 2_997),
        ("MATCH (n) RETURN collect(n)", 1_000),
        ("MATCH (n) WITH collect(n) AS all UNWIND [1, 2] AS x RETURN {x: x, all: all}", 2_000),
        ("MATCH (a {at: 1}) MATCH (b) RETURN [a, b, a]", 3_000),
        ("MATCH (a {at: 1}) UNWIND range(1, 500) AS x RETURN a", 500),
        ("OPTIONAL MATCH (a {at: -1}) RETURN a", 0),
    ] {
        let mut comparing = Comparing::default();
        session.stream(text, &ValueMap::new(), &mut comparing).unwrap();
        assert!(comparing.seen >= least, "{text}: {}", comparing.seen);
        let whole = session.run(text, &[]).unwrap();
        let nodes = whole.entities.nodes.iter();
        assert!(
            nodes.into_iter().all(|(v, node)| {
                node.properties.get("at") == Some(&Value::Int(v.get() as i64))
            })
        );
    }
}
