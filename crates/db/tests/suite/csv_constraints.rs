//! CSV imports into databases with constraints and indexes, and constraints made with the import:
//! rows that break one are bad rows like any other, and what fails leaves nothing.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;
use telar_graph::Counts;

use telar_db::import::{
    BadRows, CsvError, CsvGroup, CsvImport, CsvReport, Ids, UniqueKey, import_csv,
};
use telar_db::{
    ConstraintKind, ConstraintSpec, Database, EdgeTypeOptions, Error, IndexRange, IndexSpec,
    IndexTarget, PropertyType, Value,
};

struct Case {
    dir: tempfile::TempDir,
    import: CsvImport,
}

impl Case {
    fn new(nodes: &str, edges: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut import = CsvImport::default();
        import.ids = Ids::Integer;
        let file = |name: &str, text: &str, group: &str| -> CsvGroup {
            let path: PathBuf = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            CsvGroup { names: vec![group.to_owned()], files: vec![path] }
        };
        import.nodes.push(file("n.csv", nodes, "Person"));
        if !edges.is_empty() {
            import.relationships.push(file("e.csv", edges, "KNOWS"));
        }
        Self { dir, import }
    }

    fn open(&self) -> Database {
        telar_db::open(self.dir.path().join("db")).unwrap()
    }

    fn run(&self, db: &Database) -> Result<CsvReport, CsvError> {
        import_csv(db, &self.import, &|_| {})
    }
}

fn unique(label: &str, key: &str) -> UniqueKey {
    UniqueKey { label: label.to_owned(), key: key.to_owned() }
}

/// A database with persons 1 and 2, who know each other, and one constraint or index of each kind.
fn populated(case: &Case) -> Database {
    let db = case.open();
    let person = db.label("Person").unwrap();
    let knows = db.edge_type("KNOWS", EdgeTypeOptions::general()).unwrap();
    let key = |name: &str| db.property_key(name).unwrap();
    let (id, mail, age, since) = (key("id"), key("mail"), key("age"), key("since"));
    db.write(Default::default(), |txn| {
        let mut ends = Vec::new();
        for n in [1, 2] {
            let v = txn.create_vertex(&[person])?;
            txn.set_vertex_property(v, id, n.into())?;
            txn.set_vertex_property(v, mail, format!("{n}@example.org").as_str().into())?;
            ends.push(v);
        }
        txn.create_edge(knows, ends[0], ends[1], &[(since, 1990.into())])
    })
    .unwrap();
    let (people, edges) = (IndexTarget::Vertices(person), IndexTarget::Edges(knows));
    let constraint = |name: &str, target, properties, kind| {
        let name = name.to_owned();
        db.create_constraint(ConstraintSpec { name, target, properties, kind }).unwrap();
    };
    constraint("mails", people, vec![mail, id], ConstraintKind::Unique);
    constraint("mail", people, vec![mail], ConstraintKind::Exists);
    constraint("age", people, vec![age], ConstraintKind::Type(PropertyType::Int));
    constraint("since", edges, vec![since], ConstraintKind::Unique);
    let name = "ages".to_owned();
    db.create_index(IndexSpec { name, target: people, properties: vec![age] }).unwrap();
    db
}

/// How many objects an index finds, and how many entries it has.
fn found(db: &Database, name: &str) -> (usize, u64) {
    let index = db.indexes().into_iter().find(|i| i.name == name).unwrap();
    let (reader, all) = (db.reader().unwrap(), IndexRange::default());
    let count = match index.target {
        IndexTarget::Vertices(_) => reader.index_range(index.id, &all).unwrap().len(),
        IndexTarget::Edges(_) => reader.index_range_edges(index.id, &all).unwrap().len(),
    };
    (count, index.entries)
}

#[test]
fn rows_that_break_a_constraint_end_the_import_at_their_line() {
    let edges = ":START_ID,:END_ID,since:int\n3,4,2000\n";
    for (nodes, edges, place, reason) in [
        ("id:ID,mail\n3,c\n4,\n", edges, "n.csv:3", "constraint mail: mail is missing"),
        ("id:ID,mail,age\n\n3,c,old\n4,d,\n", edges, "n.csv:3", "age must be INTEGER, not STRING"),
        ("id:ID(x),id:int,mail\n9,3,c\n8,2,2@example.org\n", "", "n.csv:3", "is taken already"),
        ("id:ID(x),id:int,mail\n9,3,\"c\nd\"\n8,3,\"c\nd\"\n", "", "n.csv:4", "mail \"c\\nd\""),
        (
            "id:ID,mail\n3,c\n4,d\n",
            ":START_ID,:END_ID,since:int\n3,4,7\n4,3,1990\n",
            "e.csv:3",
            "since 1990",
        ),
        (
            "id:ID,mail\n3,c\n4,d\n",
            ":START_ID,:END_ID,since:int\n3,4,7\n3,4,8\n4,3,7\n",
            "e.csv:4",
            "since 7",
        ),
    ] {
        let nodes = nodes.replace("id:ID(x)", "key:ID(x)");
        let case = Case::new(&nodes, edges);
        let db = populated(&case);
        let (names, published) = ((db.labels(), db.property_keys()), db.published());
        let error = case.run(&db).unwrap_err();
        assert!(matches!(error, CsvError::Row { .. }), "{error}");
        let error = error.to_string();
        assert!(error.contains(place) && error.contains(reason), "{error}");
        assert_eq!(((db.labels(), db.property_keys()), db.published()), (names, published));
        assert_eq!([found(&db, "mails"), found(&db, "since")], [(2, 2), (1, 1)]);
    }
}

#[test]
fn rows_that_break_a_constraint_are_rejected_with_what_hangs_on_them() {
    let nodes = "id:ID,mail,age:int\n3,c,5\n4,,6\n5,c,7\n6,d,\n3,e,1\n";
    let edges = ":START_ID,:END_ID,since:int\n3,4,1\n3,5,2\n3,6,1990\n5,6,2\n6,3,3\n";
    let mut case = Case::new(nodes, edges);
    let rejects = case.dir.path().join("rejects");
    case.import.bad_rows = BadRows::Skip { file: rejects.clone(), max: 100 };
    let db = populated(&case);
    let report = case.run(&db).unwrap();
    // Of 5 and 3 only the mail with the id is the key.
    assert_eq!((report.vertices, report.edges, report.rejected), (3, 2, 5));
    let text = std::fs::read_to_string(rejects).unwrap();
    for reason in [
        "n.csv:3: constraint mail: mail is missing\n4,,6\n",
        "n.csv:6: another vertex has the id 3 already; ids of files that count each for itself need \
         spaces of their own: :ID(Person)\n3,e,1\n",
        "e.csv:2: :END_ID: no vertex has the id \"4\"\n3,4,1\n",
        "e.csv:4: constraint since: since 1990 is taken already\n3,6,1990\n",
        "e.csv:5: constraint since: since 2 is taken already\n5,6,2\n",
    ] {
        assert!(text.contains(reason), "{reason:?} is not in {text}");
    }
    let mut db = Some(db);
    for _ in 0..2 {
        let open = db.take().unwrap_or_else(|| case.open());
        assert_eq!(found(&open, "mails").0, 5);
        assert_eq!(found(&open, "ages").0, 2);
        assert_eq!(found(&open, "since").0, 3);
        open.close().unwrap();
    }
}

#[test]
fn a_unique_constraint_comes_with_the_import_or_not_at_all() {
    let mut case = Case::new("id:ID,name\n1,a\n2,b\n3,a\n", "");
    case.import.unique.push(unique("Person", "name"));
    let db = case.open();
    let error = case.run(&db).unwrap_err().to_string();
    assert!(error.contains("n.csv:4") && error.contains("name \"a\" is taken"), "{error}");
    assert!(db.indexes().is_empty() && db.labels().is_empty());

    case.import.unique = vec![unique("Person", "id")];
    assert_eq!(case.run(&db).unwrap().vertices, 3);
    let id = db.find_index("unique_Person_id").unwrap();
    let find = |db: &Database, n: i64| {
        db.reader().unwrap().index_find(id, &[Value::Int(n)]).unwrap().is_some()
    };
    assert_eq!([1, 2, 3, 4].map(|n| find(&db, n)), [true, true, true, false]);
    // It holds from now on: for transactions and the next import, which may ask for it again.
    let (person, key) = (db.find_label("Person").unwrap(), db.find_property_key("id").unwrap());
    let broken = db.write(Default::default(), |txn| {
        let v = txn.create_vertex(&[person])?;
        txn.set_vertex_property(v, key, 2.into())
    });
    assert!(matches!(broken, Err(Error::ConstraintViolated { .. })), "{broken:?}");
    let error = case.run(&db).unwrap_err().to_string();
    assert!(error.contains("n.csv:2") && error.contains("id 1 is taken already"), "{error}");
    db.close().unwrap();
    let db = case.open();
    assert_eq!([1, 2, 3, 4].map(|n| find(&db, n)), [true, true, true, false]);
    assert_eq!(found(&db, "unique_Person_id"), (3, 3));
}

#[test]
fn a_constraint_that_the_database_breaks_is_not_made() {
    let mut case = Case::new("id:ID\n7\n", "");
    case.import.unique.push(unique("Person", "id"));
    let db = case.open();
    let (person, key) = (db.label("Person").unwrap(), db.property_key("id").unwrap());
    db.write(Default::default(), |txn| {
        for _ in 0..2 {
            let v = txn.create_vertex(&[person])?;
            txn.set_vertex_property(v, key, 5.into())?;
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    let error = case.run(&db).unwrap_err();
    assert!(matches!(&error, CsvError::Database(Error::ConstraintViolated { .. })), "{error}");
    assert!(db.indexes().is_empty());
    assert_eq!(db.reader().unwrap().statistics().unwrap().vertices, 2);
    for wrong in [unique("Persn", "id"), unique("Person", "idd")] {
        case.import.unique = vec![wrong];
        let error = case.run(&db).unwrap_err();
        assert!(matches!(error, CsvError::Options(_)), "{error}");
    }
    assert_eq!(db.labels(), ["Person"]);
}
