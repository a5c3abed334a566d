//! Tables of columns as nodes and relationships.

use proptest::prelude::*;
use telar_db::column::Column;
use telar_db::import::table::{End, NodeTable, RelationshipTable, Table, TableImport, TableReport};
use telar_db::import::{UniqueKey, import_tables};
use telar_db::query::QueryError;
use telar_db::{Database, Session, Value};

fn end(column: &str, key: &str) -> End {
    End { column: column.to_owned(), label: "Person".to_owned(), key: key.to_owned() }
}

fn nodes(names: &[&str], batches: Vec<Vec<Column>>) -> NodeTable<'static> {
    let rows = Box::new(Table::new(names.iter().copied(), batches));
    NodeTable { labels: vec!["Person".to_owned()], rows }
}

fn knows(key: &str, names: &[&str], batches: Vec<Vec<Column>>) -> RelationshipTable<'static> {
    let rows = Box::new(Table::new(names.iter().copied(), batches));
    let (ty, from, to) = ("KNOWS".to_owned(), end("a", key), end("b", key));
    RelationshipTable { ty, from, to, rows }
}

fn run(db: &Database, import: TableImport<'_>) -> Result<TableReport, QueryError> {
    import_tables(db, import, &|_| Ok(()))
}

fn rows(db: &Database, text: &str) -> Vec<Vec<Value>> {
    Session::new(db).run(text, &[]).expect("it runs").rows
}

fn shown(db: &Database, text: &str) -> Vec<String> {
    let shown =
        |row: &Vec<Value>| row.iter().map(telar_db::query::literal).collect::<Vec<_>>().join(" ");
    rows(db, text).iter().map(shown).collect()
}

/// Both ways of coming in: few rows, many rows.
fn both(check: impl Fn(usize)) {
    check(usize::MAX);
    check(0);
}

#[test]
fn nodes_and_relationships_come_in_together_and_later() {
    both(|bulk_rows| {
        let db = telar_db::open_in_memory().unwrap();
        let names = Column::of(vec!["Ada".into(), Value::Null, "Cleo".into()]);
        let people = nodes(&["id", "name"], vec![vec![Column::from(vec![7, 8, 9]), names]]);
        let ends = [Column::from(vec![7, 9]), Column::from(vec![8, 8])];
        let since = Column::of(vec![Value::Int(1815), Value::Null]);
        let edges = [&ends[..], &[since]].concat();
        let mut import = TableImport { bulk_rows, ..TableImport::default() };
        import.nodes.push(people);
        import.relationships.push(knows("id", &["a", "b", "since"], vec![edges]));
        let report = run(&db, import).unwrap();
        assert_eq!((report.vertices, report.edges, report.properties), (3, 2, 6));
        assert_eq!(report.bulk, bulk_rows == 0);
        // Later, to nodes of the database, in two batches, of which the first is empty.
        let none = vec![Column::default(), Column::default()];
        let more = vec![Column::from(vec![8.0]), Column::from(vec![7])];
        let mut import = TableImport { bulk_rows, ..TableImport::default() };
        import.relationships.push(knows("id", &["a", "b"], vec![none, more]));
        assert_eq!(run(&db, import).unwrap().edges, 1);
        let text = "MATCH (a:Person)-[k:KNOWS]->(b) \
                    RETURN a.id, a.name, k.since, b.id ORDER BY a.id";
        let expected = ["7 'Ada' 1815 8", "8 NULL NULL 7", "9 'Cleo' NULL 8"];
        assert_eq!(shown(&db, text), expected);
    });
}

#[test]
fn what_is_wrong_is_named_and_changes_nothing() {
    both(|bulk_rows| {
        let db = telar_db::open_in_memory().unwrap();
        Session::new(&db).run("CREATE (:Person {id: 1}), (:Person {id: 1})", &[]).unwrap();
        let refused = |import: TableImport<'_>| {
            let before = shown(&db, "MATCH (n) RETURN count(n)");
            let error = run(&db, import).unwrap_err();
            assert_eq!(shown(&db, "MATCH (n) RETURN count(n)"), before);
            error.message
        };
        let relationships = |a: Value, b: Value| {
            let mut import = TableImport { bulk_rows, ..TableImport::default() };
            import.nodes.push(nodes(&["id"], vec![vec![Column::from(vec![2])]]));
            let (a, b) = (vec![2.into(), a], vec![2.into(), b]);
            let batch = vec![Column::of(a), Column::of(b)];
            import.relationships.push(knows("id", &["a", "b"], vec![batch]));
            import
        };
        let cases = [
            (Value::Int(3), Value::Int(2), "row 2: no node :Person has the id 3"),
            (Value::Int(2), Value::from("2"), "row 2: no node :Person has the id '2'"),
            (Value::Int(1), Value::Int(2), "row 2: several nodes :Person have the id 1"),
            (Value::Int(2), Value::Null, "row 2: 'b' is null: the relationship has no end"),
        ];
        for (a, b, message) in cases {
            assert_eq!(refused(relationships(a, b)), message);
        }
        let one = |names: &[&str], columns: Vec<Column>| {
            let mut import = TableImport { bulk_rows, ..TableImport::default() };
            import.nodes.push(nodes(names, vec![columns]));
            import
        };
        let map = Value::map([("x", 1)]);
        let message = refused(one(
            &["id", "m"],
            vec![Column::from(vec![5, 6]), Column::of(vec![Value::Null, map])],
        ));
        assert!(message.starts_with("row 2: column 'm': property values can only"), "{message}");
        assert_eq!(
            refused(one(&["x", "x"], vec![Column::from(vec![1]), Column::from(vec![1])])),
            "two columns of the table are called 'x'"
        );
        assert_eq!(
            refused(one(&["x", "y"], vec![Column::from(vec![1]), Column::from(vec![1, 2])])),
            "a batch of the table has not 2 columns of 1 rows"
        );
        assert_eq!(refused(one(&[], vec![])), "a table needs at least one column");
        let mut import = TableImport { bulk_rows, ..TableImport::default() };
        import.relationships.push(knows("id", &["a", "c"], vec![]));
        let message = refused(import);
        let expected = "the table has no column 'b' for an end of its relationships; it has a, c";
        assert_eq!(message, expected);
    });
}

#[test]
fn a_constraint_is_kept_and_an_error_of_progress_ends_it() {
    both(|bulk_rows| {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db);
        session.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE", &[]).unwrap();
        session.run("CREATE (:Person {id: 1})", &[]).unwrap();
        let import = |ids: Vec<i64>| {
            let mut import = TableImport { bulk_rows, ..TableImport::default() };
            import.nodes.push(nodes(&["id"], vec![vec![Column::from(ids)]]));
            import
        };
        for ids in [vec![2, 1], vec![3, 3]] {
            let error = run(&db, import(ids)).unwrap_err();
            assert_eq!(error.kind, telar_db::query::ErrorKind::ConstraintViolation, "{error}");
        }
        let stop = |_| Err(QueryError::runtime(telar_db::query::ErrorKind::Terminated, "x", "y"));
        assert_eq!(import_tables(&db, import(vec![2]), &stop).unwrap_err().message, "y");
        assert_eq!(shown(&db, "MATCH (n) RETURN count(n)"), ["1"]);
        assert_eq!(run(&db, import(vec![2])).unwrap().vertices, 1);
        let found = shown(&db, "MATCH (p:Person {id: 2}) RETURN p.id");
        assert_eq!(found, ["2"]);
    });
}

#[test]
fn bad_rows_are_left_out_and_told() {
    let db = telar_db::open_in_memory().unwrap();
    let mut import = TableImport { bad_rows: Some(3), ..TableImport::default() };
    import.unique.push(UniqueKey { label: "Person".to_owned(), key: "id".to_owned() });
    let list = Value::List([Value::Null].into());
    let odd = Column::of(vec![Value::Null, list, Value::Int(1), Value::Null]);
    import.nodes.push(nodes(&["id", "odd"], vec![vec![Column::from(vec![1, 2, 1, 3]), odd]]));
    let batch = |a: i64, b: i64| vec![Column::from(vec![a]), Column::from(vec![b])];
    let edges = vec![batch(1, 3), batch(1, 2), batch(3, 1)];
    import.relationships.push(knows("id", &["a", "b"], edges));
    let report = run(&db, import).unwrap();
    let told: Vec<(usize, u64)> = report.rejected.iter().map(|r| (r.table, r.row)).collect();
    assert_eq!(told, [(0, 1), (0, 2), (1, 1)]);
    assert!(report.rejected[1].reason.contains("taken already"), "{report:?}");
    assert_eq!(report.rejected[2].reason, "no node :Person has the id 2");
    assert_eq!((report.vertices, report.edges), (2, 2));
    let text = "MATCH (a)-[:KNOWS]->(b) RETURN a.id, b.id ORDER BY a.id";
    assert_eq!(shown(&db, text), ["1 3", "3 1"]);
    let mut import = TableImport { bad_rows: Some(1), ..TableImport::default() };
    let edges = vec![batch(1, 3), batch(1, 9), batch(9, 1)];
    import.relationships.push(knows("id", &["a", "b"], edges));
    let error = run(&db, import).unwrap_err().message;
    assert_eq!(error, "row 3: no node :Person has the id 9; more than 1 rows are bad");
}

fn key() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0i64..30).prop_map(Value::Int),
        1 => "[a-c]{1,2}".prop_map(Value::from),
        1 => (0u8..9).prop_map(|x| Value::Float(f64::from(x) / 2.0)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the keys are, a transaction and a bulk load find the same ends, and those that
    /// Cypher finds.
    #[test]
    fn a_bulk_load_is_what_a_transaction_is(
        old in proptest::collection::hash_set(key(), 0..20),
        new in proptest::collection::hash_set(key(), 1..20),
        pairs in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..40),
        indexed: bool,
    ) {
        let old: Vec<Value> = old.into_iter().collect();
        let new: Vec<Value> = new.into_iter().filter(|key| !old.contains(key)).collect();
        let all: Vec<Value> = old.iter().chain(&new).cloned().collect();
        prop_assume!(!all.is_empty());
        let pick = |index: &prop::sample::Index| index.get(&all).clone();
        let (a, b): (Vec<Value>, Vec<Value>) =
            pairs.iter().map(|(a, b)| (pick(a), pick(b))).unzip();
        let mut found = Vec::new();
        for bulk_rows in [usize::MAX, 0] {
            let db = telar_db::open_in_memory().unwrap();
            let session = Session::new(&db);
            if indexed {
                session.run("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.k IS UNIQUE", &[]).unwrap();
            }
            session.run("CREATE (:Other)", &[]).unwrap();
            let keys = [("keys", Value::List(old.clone().into()))];
            session.run("UNWIND $keys AS k CREATE (:Person {k: k})", &keys).unwrap();
            let mut import = TableImport { bulk_rows, ..TableImport::default() };
            let (one, two) = new.split_at(new.len() / 2);
            let batch = |keys: &[Value]| vec![Column::of(keys.to_vec())];
            import.nodes.push(nodes(&["k"], vec![batch(one), batch(two)]));
            let numbers = Column::numbers(a.len());
            let edges = vec![vec![Column::of(a.clone()), numbers, Column::of(b.clone())]];
            import.relationships.push(knows("k", &["a", "n", "b"], edges));
            let report = run(&db, import).unwrap();
            prop_assert_eq!(report.edges as usize, a.len());
            let text = "MATCH (a:Person)-[r:KNOWS]->(b:Person) RETURN a.k, b.k, r.n ORDER BY r.n";
            found.push(rows(&db, text));
        }
        let expected: Vec<Vec<Value>> = a.iter().zip(&b).zip(0i64..)
            .map(|((a, b), n)| vec![a.clone(), b.clone(), Value::Int(n)]).collect();
        prop_assert_eq!(&found[0], &expected);
        prop_assert_eq!(&found[1], &expected);
    }
}
