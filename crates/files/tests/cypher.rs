//! `LOAD` and `COPY` of every format.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::sync::Arc;

use telar_db::query::{ErrorKind, Limits, QueryError, literal};
use telar_db::{Database, Runtime, Session, ValueMap};

struct Place {
    folder: tempfile::TempDir,
    db: Database,
    session: Session,
}

fn session(db: &Database, folder: &Path) -> Session {
    let runtime = Runtime::default().with_files(telar_files::formats());
    let folder = Some(folder.to_owned());
    let limits =
        Limits { import_folder: folder.clone(), export_folder: folder, ..Limits::default() };
    Session::with_runtime(db, Arc::new(runtime)).with_limits(limits)
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let db = telar_db::open_in_memory().unwrap();
    let session = session(&db, folder.path());
    Place { folder, db, session }
}

impl Place {
    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    #[track_caller]
    fn rows(&self, text: &str) -> Vec<String> {
        let result = self.session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
        let shown = |row: &Vec<_>| row.iter().map(literal).collect::<Vec<_>>().join(" ");
        result.rows.iter().map(shown).collect()
    }

    #[track_caller]
    fn refused(&self, text: &str) -> QueryError {
        self.session.run(text, &[]).expect_err(text)
    }
}

const FORMATS: [&str; 4] = ["parquet", "arrow", "csv", "jsonl"];

#[test]
fn what_is_copied_out_is_copied_in() {
    for format in FORMATS {
        let from = place();
        from.rows("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE");
        from.rows(
            "UNWIND range(1, 5) AS n CREATE (:Person {id: n, name: 'p' + n, born: \
             date('2000-01-0' + n), w: CASE n WHEN 2 THEN null ELSE n / 4.0 END})",
        );
        from.rows(
            "MATCH (a:Person), (b:Person) WHERE a.id < b.id \
             CREATE (a)-[:KNOWS {since: 2000 + a.id, tags: a.name}]->(b)",
        );
        let nodes = format!(
            "COPY (MATCH (p:Person) RETURN p.id AS id, p.name AS name, p.born AS born, p.w AS w \
             ORDER BY id) TO 'people.{format}'"
        );
        let edges = format!(
            "COPY (MATCH (a)-[k:KNOWS]->(b) RETURN a.id AS a, b.id AS b, k.since AS since, \
             k.tags AS tags) TO 'knows.{format}'"
        );
        assert_eq!(from.rows(&nodes), ["5"]);
        assert_eq!(from.rows(&edges), ["10"]);
        let error = from.refused(&nodes);
        assert!(error.message.contains("overwrite = true"), "{error}");
        assert_eq!(from.rows(&format!("{nodes} (overwrite = true)")), ["5"]);
        let left = std::fs::read_dir(from.folder.path()).unwrap().count();
        assert_eq!(left, 2, "nothing unfinished is left");

        let to = Place { db: telar_db::open_in_memory().unwrap(), ..place() };
        let session = session(&to.db, from.folder.path());
        let to = Place { session, ..to };
        to.rows("CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE");
        assert_eq!(to.rows(&format!("COPY Person FROM 'people.{format}'")), ["5 0 19 0"]);
        assert_eq!(
            to.rows(&format!("COPY KNOWS FROM 'knows.{format}' (from = 'Person', to = 'Person')")),
            ["0 10 20 0"]
        );
        let all = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.id, a.name, toString(a.born), a.w, \
                   k.since, k.tags, b.id ORDER BY a.id, b.id";
        assert_eq!(to.rows(all), from.rows(all), "{format}");
        // JSON has no dates: they are texts unless types are kept.
        let born = if format == "jsonl" { "'STRING NOT NULL'" } else { "'DATE NOT NULL'" };
        assert_eq!(to.rows("MATCH (p:Person) RETURN DISTINCT valueType(p.born)"), [born]);
    }
}

#[test]
fn rows_of_files_are_maps_with_the_types_that_the_file_has() {
    let place = place();
    place.rows(
        "COPY (UNWIND range(1, 3) AS n RETURN n, n / 2.0 AS half, duration({days: n}) AS d, \
         [n, n] AS list, CASE n WHEN 2 THEN null ELSE 'x' END AS t) TO 'a.parquet'",
    );
    place.rows("COPY (RETURN date('2024-02-29') AS d, {a: [1]} AS m) TO 'b.arrow'");
    let text = "LOAD PARQUET FROM 'a.parquet' AS row \
                RETURN row.n, row.half, toString(row.d), row.list, row.t ORDER BY row.n";
    let expected = ["1 0.5 'P1D' [1, 1] 'x'", "2 1.0 'P2D' [2, 2] NULL", "3 1.5 'P3D' [3, 3] 'x'"];
    assert_eq!(place.rows(text), expected);
    let text =
        "LOAD ARROW WITH HEADERS FROM 'file:///b.arrow' AS row RETURN valueType(row.d), row.m.a";
    assert_eq!(place.rows(text), ["'DATE NOT NULL' [1]"]);
    place.write("c.jsonl", "{\"a\": 1, \"b\": {\"c\": [null, 2.5]}}\n[7]\n\n\"text\"\n");
    assert_eq!(
        place.rows("LOAD JSON FROM 'c.jsonl' AS row RETURN row"),
        ["{a: 1, b: {c: [NULL, 2.5]}}", "[7]", "'text'"]
    );
    assert_eq!(
        place.rows("LOAD PARQUET FROM 'a.parquet' AS row RETURN linenumber(), file() ENDS WITH '/a.parquet'"),
        ["1 TRUE", "2 TRUE", "3 TRUE"]
    );
    // Once for each row before it.
    let text = "UNWIND ['a.parquet', 'a.parquet'] AS f LOAD PARQUET FROM f AS row RETURN count(*)";
    assert_eq!(place.rows(text), ["6"]);
}

#[test]
fn nodes_and_relationships_in_a_result_are_written_as_maps() {
    let place = place();
    place.rows("CREATE (:A {x: 1})-[:R {y: 2}]->(:B)");
    for format in ["parquet", "jsonl"] {
        place.rows(&format!("COPY (MATCH p = (a)-[r]->(b) RETURN a, r, p) TO 'g.{format}'"));
        let load = if format == "parquet" { "PARQUET" } else { "JSON" };
        let text = format!(
            "LOAD {load} FROM 'g.{format}' AS row RETURN row.a.labels, row.a.properties.x, \
             row.r.type, row.r.properties.y, size(row.p)"
        );
        assert_eq!(place.rows(&text), ["['A'] 1 'R' 2 3"]);
    }
}

#[test]
fn options_say_how_a_file_is_read() {
    let place = place();
    place.write("p.txt", "1;007;x\n2;008;\n");
    let text = "COPY P:Q FROM 'p.txt' (format = 'csv', header = false, delim = ';', \
                types = 'column1: float')";
    assert_eq!(place.rows(text), ["2 0 5 0"]);
    let text = "MATCH (p:P:Q) RETURN p.column1, p.column2, p.column3 ORDER BY p.column1";
    assert_eq!(place.rows(text), ["1.0 '007' 'x'", "2.0 '008' NULL"]);
    place.write("r.csv", "since,to,from\n2000,007,008\n2001,009,008\n,008,007\n");
    let text = "COPY R FROM 'r.csv' (from = 'P', to = 'Q', src = 'from', dst = 'to', \
                from_key = 'column2', to_key = 'column2', rejects = 'bad.txt', rejects_max = 5)";
    assert_eq!(place.rows(text), ["0 2 1 1"]);
    let bad = std::fs::read_to_string(place.folder.path().join("bad.txt")).unwrap();
    assert_eq!(bad, "r.csv:3: no node :Q has the column2 '009'\n");
    let text = "MATCH (a)-[r:R]->(b) RETURN a.column2, r.since, b.column2 ORDER BY a.column2";
    assert_eq!(place.rows(text), ["'007' NULL '008'", "'008' 2000 '007'"]);
}

#[test]
fn what_is_wrong_is_said_and_changes_nothing() {
    let place = place();
    place.write("p.csv", "id,n\n1,a\n2,b\n");
    place.write("k.csv", "a,b\n1,2\n1,3\n");
    place.write("broken.parquet", "PAR1");
    let cases = [
        ("COPY P FROM 'nothing.csv'", "COPY: nothing.csv: No such file"),
        ("COPY P FROM '../p.csv'", "COPY: ../p.csv: the path leaves the import folder"),
        ("COPY P FROM 'p.xyz'", "COPY: the name 'p.xyz' does not say which format"),
        ("COPY P FROM 'p.csv' (format = 'xml')", "COPY: there is no format 'xml'"),
        ("COPY P FROM 'p.csv' (color = 1)", "COPY: there is no option 'color' here; COPY of nodes"),
        ("COPY P FROM 'p.csv' (header = 1)", "COPY: the option 'header' is a BOOLEAN, not INTEGER"),
        ("COPY P FROM 'p.csv' (delim = ';;')", "COPY: the option 'delim' is one ASCII character"),
        (
            "COPY P FROM 'p.csv' (header = true, header = true)",
            "COPY: the option 'header' comes twice",
        ),
        ("COPY P FROM 'broken.parquet'", "broken.parquet: "),
        ("COPY K FROM 'k.csv' (from = 'P')", "COPY: relationships need both 'from' and 'to'"),
        ("COPY K FROM 'k.csv' (from = 'P', to = 'P')", "COPY: no unique constraint says by which"),
        ("COPY K:L FROM 'k.csv' (from = 'P', to = 'P')", "COPY: a relationship has one type"),
        (
            "COPY K FROM 'k.csv' (from = 'P', to = 'P', from_key = 'id', to_key = 'id')",
            "COPY: k.csv:2: no node :P has the id 1",
        ),
        ("COPY (RETURN 1 AS x) TO '/a/b.csv'", "COPY: /a/b.csv: No such file"),
        ("COPY (RETURN 1 AS x) TO 'x.csv' (rejects = 'y')", "COPY: there is no option 'rejects'"),
        (
            "COPY (RETURN 1 AS x) TO 'x.arrow' (compression = 'gzip')",
            "x.arrow: arrow is not compressed as 'gzip'",
        ),
        ("COPY (CREATE (n) RETURN n) TO 'x.csv'", "COPY TO takes a query that only reads"),
        (
            "COPY (UNWIND range(1, 90000) AS x RETURN CASE x WHEN 80000 THEN 'a' ELSE x END AS x) TO 'x.parquet'",
            "x.parquet: column 'x': a column of a file has one type",
        ),
    ];
    for (text, message) in cases {
        let error = place.refused(text);
        assert!(error.message.starts_with(message), "{text}: {error}");
    }
    assert_eq!(place.rows("MATCH (n) RETURN count(n)"), ["0"]);
    let files = std::fs::read_dir(place.folder.path()).unwrap().count();
    assert_eq!(files, 3, "nothing was written");
    place.rows("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE");
    place.rows("CREATE CONSTRAINT FOR (p:P) REQUIRE p.n IS UNIQUE");
    let error = place.refused("COPY K FROM 'k.csv' (from = 'P', to = 'P')");
    assert!(error.message.contains("several unique properties (id, n)"), "{error}");
    place.rows("COPY P FROM 'p.csv'");
    let error = place.refused("COPY P FROM 'p.csv'");
    assert_eq!(error.kind, ErrorKind::ConstraintViolation);
    assert_eq!(place.rows("MATCH (n) RETURN count(n)"), ["2"]);
}

#[test]
fn copy_runs_by_itself_and_only_for_who_may_write() {
    let place = place();
    place.write("p.csv", "id\n1\n");
    let mut transaction = place.session.begin().unwrap();
    for text in ["COPY P FROM 'p.csv'", "COPY (RETURN 1 AS x) TO 'x.csv'"] {
        let error = transaction.run(text, &ValueMap::new()).unwrap_err();
        assert_eq!(error.message, "COPY is a transaction of its own: it runs only outside of one");
    }
    drop(transaction);
    let reader = place.session.clone().read_only();
    let error = reader.run("COPY P FROM 'p.csv'", &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::AccessMode);
    assert_eq!(reader.run("COPY (RETURN 1 AS x) TO 'x.csv'", &[]).unwrap().rows.len(), 1);
    let plan = place.session.run("EXPLAIN COPY P FROM 'p.csv'", &[]).unwrap().plan.unwrap();
    assert_eq!(plan.operator, "CopyFrom");
    assert_eq!(place.rows("MATCH (n) RETURN count(n)"), ["0"]);
    let result = place.session.run("COPY P FROM $file", &[("file", "p.csv".into())]).unwrap();
    assert_eq!(result.counters.nodes_created, 1);
    assert_eq!(*result.columns[0], *"nodes");

    // Without formats, without folders.
    let plain = Session::new(&place.db).with_limits(Limits {
        import_folder: Some(place.folder.path().to_owned()),
        ..Limits::default()
    });
    let error = plain.run("COPY P FROM 'p.csv'", &[]).unwrap_err();
    assert!(error.message.contains("telar_files::formats()"), "{error}");
    let error = plain.run("LOAD PARQUET FROM 'p.csv' AS row RETURN row", &[]).unwrap_err();
    assert!(error.message.contains("telar_files::formats()"), "{error}");
    let error = plain.run("COPY (RETURN 1 AS x) TO 'y.csv'", &[]).unwrap_err();
    assert!(error.message.contains("no export folder is set: export.folder names it"), "{error}");
    let error = Session::new(&place.db).run("LOAD ARROW FROM 'x' AS r RETURN r", &[]).unwrap_err();
    assert!(error.message.contains("no import folder is set"), "{error}");
}

#[test]
fn a_large_file_is_a_bulk_load_and_a_cancelled_one_leaves_nothing() {
    let place = place();
    place.rows("COPY (UNWIND range(1, 30000) AS id RETURN id, 'n' + id AS name) TO 'p.parquet'");
    place.rows("COPY (UNWIND range(1, 30000) AS id RETURN id, 30001 - id AS b) TO 'k.parquet'");
    place.rows("CREATE CONSTRAINT FOR (p:P) REQUIRE p.id IS UNIQUE");
    let limits = Limits {
        import_folder: Some(place.folder.path().to_owned()),
        export_folder: Some(place.folder.path().to_owned()),
        cancelled: Some(Arc::new(true.into())),
        ..Limits::default()
    };
    let cancelled = place.session.clone().with_limits(limits);
    for text in
        ["COPY P FROM 'p.parquet'", "COPY (UNWIND range(1, 9000000) AS x RETURN x) TO 'x.csv'"]
    {
        let error = cancelled.run(text, &[]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Terminated, "{text}");
    }
    assert_eq!(std::fs::read_dir(place.folder.path()).unwrap().count(), 2);
    assert_eq!(place.rows("MATCH (n) RETURN count(n)"), ["0"]);
    assert_eq!(place.rows("COPY P FROM 'p.parquet'"), ["30000 0 60000 0"]);
    let text = "COPY K FROM 'k.parquet' (from = 'P', to = 'P')";
    assert_eq!(place.rows(text), ["0 30000 0 0"]);
    let text = "MATCH (a:P {id: 7})-[:K]->(b) RETURN a.name, b.id, b.name";
    assert_eq!(place.rows(text), ["'n7' 29994 'n29994'"]);
}
