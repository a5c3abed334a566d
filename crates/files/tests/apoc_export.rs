//! `apoc.export.*`: files of the export folder, and texts in a column.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::Arc;

use telar_db::query::{ErrorKind, Limits};
use telar_db::{Database, Runtime, Session, Value};

const GRAPH: &str = "CREATE (a:User:Admin {name: 'Ada \"A\"', age: 36, tags: ['x', 'y']}), \
                     (b:User {name: 'Bob, Jr.'}), (:Empty), \
                     (a)-[:KNOWS {since: date('1833-06-05')}]->(b)";

struct Place {
    db: Database,
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let (db, folder) = (telar_db::open_in_memory().unwrap(), tempfile::tempdir().unwrap());
        Session::new(&db).run(GRAPH, &[]).unwrap();
        Self { db, folder }
    }

    fn session(&self, exports: bool) -> Session {
        let export_folder = exports.then(|| self.folder.path().to_owned());
        let runtime = Arc::new(Runtime::default().with_files(telar_files::formats()));
        let limits = Limits { export_folder, ..Limits::default() };
        Session::with_runtime(&self.db, runtime).with_limits(limits)
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(name)).unwrap()
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder.path()).unwrap();
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

fn row(session: &Session, text: &str) -> Vec<Value> {
    let mut result = session.run(text, &[]).unwrap_or_else(|e| panic!("{text}: {e}"));
    assert_eq!(result.rows.len(), 1, "{text}");
    result.rows.remove(0)
}

/// The text that a call returns.
fn data(session: &Session, call: &str) -> String {
    let column = if call.contains(".cypher.") { "cypherStatements" } else { "data" };
    match &row(session, &format!("{call} YIELD {column} RETURN {column}"))[..] {
        [Value::String(text)] => text.to_string(),
        other => panic!("{call}: {other:?}"),
    }
}

#[test]
fn a_whole_graph_as_csv() {
    let place = Place::new();
    let session = place.session(true);
    let call = "CALL apoc.export.csv.all('all.csv', {}) YIELD file, source, format, nodes, \
                relationships, properties, rows, batchSize, batches, done, data RETURN *";
    let result = session.run(call, &[]).unwrap();
    let get = |name: &str| {
        let at = result.columns.iter().position(|column| &**column == name).unwrap();
        result.rows[0][at].clone()
    };
    assert_eq!(get("file"), Value::from("all.csv"));
    assert_eq!(get("source"), Value::from("database: nodes(3), rels(1)"));
    assert_eq!(get("format"), Value::from("csv"));
    let counts = ["nodes", "relationships", "properties", "rows", "batchSize", "batches"].map(get);
    assert_eq!(counts, [3, 1, 5, 4, 20_000, 1].map(Value::Int));
    assert_eq!((get("done"), get("data")), (true.into(), Value::Null));
    let expected = "\"_id\",\"_labels\",\"age\",\"name\",\"tags\",\"_start\",\"_end\",\"_type\",\
                    \"since\"\n\
                    \"0\",\":Admin:User\",\"36\",\"Ada \"\"A\"\"\",\"[\"\"x\"\",\"\"y\"\"]\",,,,\n\
                    \"1\",\":User\",\"\",\"Bob, Jr.\",\"\",,,,\n\
                    \"2\",\":Empty\",\"\",\"\",\"\",,,,\n\
                    ,,,,,\"0\",\"1\",\"KNOWS\",\"1833-06-05\"\n";
    assert_eq!(place.text("all.csv"), expected);
    // A second one takes its place, and nothing else is left.
    let needed = "CALL apoc.export.csv.all('all.csv', {quotes: 'ifNeeded', delim: ';'})";
    row(&session, needed);
    assert!(place.text("all.csv").starts_with("_id;_labels;age;"), "{}", place.text("all.csv"));
    assert!(place.text("all.csv").contains("\n1;:User;;Bob, Jr.;;;;;\n"));
    assert_eq!(place.names(), ["all.csv"]);
    let streamed = data(&session, "CALL apoc.export.csv.all(null, {stream: true})");
    assert_eq!(streamed, expected);
}

#[test]
fn rows_of_a_query_as_csv_and_json() {
    let place = Place::new();
    let session = place.session(false);
    let query = "MATCH (u:User) RETURN u.name AS name, u.age AS age, u.tags AS tags ORDER BY age";
    let csv = data(&session, &format!("CALL apoc.export.csv.query(\"{query}\", null, {{}})"));
    let ada = "\"Ada \"\"A\"\"\",\"36\",\"[\"\"x\"\",\"\"y\"\"]\"";
    assert_eq!(csv, format!("\"name\",\"age\",\"tags\"\n{ada}\n\"Bob, Jr.\",\"\",\"\"\n"));
    let json = data(&session, &format!("CALL apoc.export.json.query(\"{query}\", null, {{}})"));
    let lines = [
        r#"{"name":"Ada \"A\"","age":36,"tags":["x","y"]}"#,
        r#"{"name":"Bob, Jr.","age":null,"tags":null}"#,
    ];
    assert_eq!(json, lines.join("\n"));
    let with = "CALL apoc.export.json.query('MATCH (u {name: $n}) RETURN u', null, \
                {params: {n: 'Bob, Jr.'}, jsonFormat: 'ARRAY_JSON'})";
    let node = r#"{"type":"node","id":"1","labels":["User"],"properties":{"name":"Bob, Jr."}}"#;
    assert_eq!(data(&session, with), format!("[{{\"u\":{node}}}]"));
    let none = "CALL apoc.export.json.query('MATCH (u:None) RETURN u', null, {jsonFormat: 'JSON'})";
    assert_eq!(data(&session, none), "[]");
    let source = "CALL apoc.export.csv.query('RETURN 1 AS a, 2 AS b', null, {}) \
                  YIELD source, rows, properties, file RETURN source, rows, properties, file";
    let expected = ["statement: cols(2)".into(), Value::Int(1), Value::Int(2), Value::Null];
    assert_eq!(row(&session, source), expected);
}

#[test]
fn nodes_and_relationships_as_json() {
    let place = Place::new();
    let session = place.session(true);
    let ada = r#""properties":{"age":36,"name":"Ada \"A\"","tags":["x","y"]}"#;
    let node = format!(r#"{{"type":"node","id":"0","labels":["Admin","User"],{ada}}}"#);
    let knows =
        data(&session, "MATCH (a:Admin)-[k]->() CALL apoc.export.json.data([a], [k], null, {})");
    let (first, second) = knows.split_once('\n').unwrap();
    assert_eq!(first, node);
    let start = format!(r#""start":{{"id":"0","labels":["Admin","User"],{ada}}}"#);
    let end = r#""end":{"id":"1","labels":["User"],"properties":{"name":"Bob, Jr."}}"#;
    assert!(
        second.contains(
            r#""type":"relationship","label":"KNOWS","properties":{"since":"1833-06-05"}"#
        ),
        "{second}"
    );
    assert!(second.ends_with(&format!("{start},{end}}}")), "{second}");
    let bare = "MATCH (a:Admin)-[k]->() \
                CALL apoc.export.json.data([], [k], '', {writeNodeProperties: false})";
    let ends =
        r#""start":{"id":"0","labels":["Admin","User"]},"end":{"id":"1","labels":["User"]}}"#;
    assert!(data(&session, bare).ends_with(ends));
    let keys = "MATCH (e:Empty) CALL apoc.export.json.graph({nodes: [e], relationships: []}, null, \
                {jsonFormat: 'JSON_ID_AS_KEYS'})";
    let expected =
        "{\"nodes\":{\"2\":{\"type\":\"node\",\"id\":\"2\",\"labels\":[\"Empty\"]}},\n\"rels\":{}}";
    assert_eq!(data(&session, keys), expected);
    row(&session, "CALL apoc.export.json.all('all.json')");
    assert_eq!(place.text("all.json").lines().count(), 4);
}

#[test]
fn graphml_and_cypher_are_those_of_the_command_line() {
    let place = Place::new();
    let session = place.session(true);
    session.run("CREATE INDEX of_users FOR (u:User) ON (u.name)", &[]).unwrap();
    session.run("CREATE INDEX of_empty FOR (u:Empty) ON (u.name)", &[]).unwrap();
    let graphml = data(&session, "CALL apoc.export.graphml.all(null, {stream: true})");
    assert!(graphml.contains("<node id=\"n1\" labels=\":User\">"), "{graphml}");
    assert!(graphml.ends_with("</graph>\n</graphml>\n"));
    let part = "CALL apoc.export.graphml.query('MATCH ()-[k:KNOWS]->() RETURN k', 'k.graphml', {}) \
                YIELD source, nodes, relationships, batchSize RETURN *";
    let source: Value = "statement: nodes(2), rels(1)".into();
    assert_eq!(row(&session, part), [Value::Int(-1), 2.into(), 1.into(), source]);
    assert_eq!(place.text("k.graphml").matches("<node ").count(), 2);

    let plain =
        data(&session, "CALL apoc.export.cypher.all(null, {format: 'plain', stream: true})");
    assert!(!plain.contains(":begin") && plain.contains("of_users"), "{plain}");
    let copy = telar_db::open_in_memory().unwrap();
    let into = Session::new(&copy);
    for statement in plain.split(";\n").filter(|text| !text.trim().is_empty()) {
        into.run(statement, &[]).unwrap_or_else(|e| panic!("{statement}: {e}"));
    }
    let counts = "MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN count(DISTINCT n), count(r)";
    assert_eq!(row(&into, counts), [Value::Int(3), Value::Int(1)]);
    let shell = data(&session, "CALL apoc.export.cypher.query('MATCH (e:Empty) RETURN e')");
    assert!(shell.starts_with(":begin\n") && shell.ends_with(":commit\n"), "{shell}");
    assert!(shell.contains("of_empty") && !shell.contains("of_users"), "{shell}");
}

#[test]
fn a_transaction_exports_what_it_has_written() {
    let place = Place::new();
    let session = place.session(false);
    let text = "CREATE (:New {x: 1}) WITH 1 AS one \
                CALL apoc.export.csv.query('MATCH (n:New) RETURN n.x AS x', null, {}) YIELD data \
                RETURN data";
    assert_eq!(row(&session, text), [Value::from("\"x\"\n\"1\"\n")]);
}

#[test]
fn what_cannot_be_exported_is_refused_and_leaves_nothing() {
    let place = Place::new();
    let (session, without) = (place.session(true), place.session(false));
    let refused = |session: &Session, call: &str, words: &str| {
        let error = session.run(call, &[]).expect_err(call);
        assert!(error.message.contains(words), "{call}: {error}");
        assert_eq!(place.names(), [""; 0], "{call}");
        error.kind
    };
    let kind =
        refused(&without, "CALL apoc.export.csv.all('a.csv', {})", "Export to files not enabled");
    assert_eq!(kind, ErrorKind::ExternalResource);
    for path in ["../a.csv", "file:///../a.csv", "/tmp/../../a.csv"] {
        let call = format!("CALL apoc.export.json.all('{path}', {{}})");
        refused(&session, &call, "the path leaves the export folder");
    }
    refused(&session, "CALL apoc.export.json.all('http://x/a')", "addresses are not allowed");
    refused(&session, "CALL apoc.export.json.all('no/a.json')", "apoc.export.json.all: no/a.json");
    refused(&session, "CALL apoc.export.csv.query('CREATE (n)', 'a')", "changes the graph");
    refused(&session, "CALL apoc.export.csv.query('RETURN 1 / 0', 'a')", "zero");
    refused(&session, "CALL apoc.export.graphml.query('RETURN', 'a')", "RETURN");
    refused(&session, "CALL apoc.export.csv.all('a', {bulkImport: true})", "bulkImport");
    refused(&session, "CALL apoc.export.csv.all('a', {quotes: 'some'})", "quotes must be");
    refused(&session, "CALL apoc.export.json.all('a', {jsonFormat: 'X'})", "jsonFormat must be");
    refused(&session, "CALL apoc.export.cypher.all('a', {format: 'gremlin'})", "'plain'");
    let small = place.session(false);
    let memory = Some(100_000);
    let small = small.with_limits(Limits { memory, ..Limits::default() });
    let large = "CALL apoc.export.csv.query('UNWIND range(1, 100000) AS i RETURN i', null, {})";
    assert_eq!(refused(&small, large, "apoc.export.csv.query"), ErrorKind::OutOfMemory);
}

#[test]
fn the_folder_of_the_database_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("graph.telar");
    let db = Database::open(&own, telar_db::Settings::default()).unwrap();
    let export_folder = Some(folder.path().to_owned());
    let session = Session::new(&db).with_limits(Limits { export_folder, ..Limits::default() });
    let error = session.run("CALL apoc.export.json.all('graph.telar/data.mdb')", &[]).unwrap_err();
    assert!(error.message.contains("in the folder of the database"), "{error}");
}
