//! CSV imports against a plain model, bad rows of every kind, several files, populated databases.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use telar_db::import::{
    BadRows, CsvError, CsvGroup, CsvImport, CsvReport, ExistingIds, Ids, import_csv,
};
use telar_db::{Database, Direction, EdgeTypeOptions, Error, Value, VertexId, View};

type Properties = BTreeMap<String, Value>;

/// A graph by the ids of its vertices.
#[derive(Debug, Clone, Default, PartialEq)]
struct Model {
    vertices: BTreeMap<String, (Vec<String>, Properties)>,
    edges: Vec<(String, String, String, Properties)>,
}

fn properties(db: &Database, get: impl Fn(telar_db::PropertyKeyId) -> Value) -> Properties {
    let keys = db.property_keys().into_iter();
    let all = keys.map(|name| (name.clone(), get(db.find_property_key(&name).unwrap())));
    all.filter(|(_, v)| !v.is_null()).collect()
}

/// Reads a whole database whose vertices have the property `id`.
fn read(db: &Database) -> Model {
    let reader = db.reader().unwrap();
    let labels = db.labels();
    let mut model = Model::default();
    let mut vertices = Vec::new();
    reader.scan(None, VertexId::from_raw(0), reader.vertex_bound(), &mut vertices).unwrap();
    let name = |v: VertexId| match reader.vertex_property(v, db.find_property_key("id").unwrap()) {
        Value::String(text) => text.to_string(),
        Value::Int(n) => n.to_string(),
        other => panic!("no id: {other:?}"),
    };
    for v in vertices {
        let set = reader.labels(v).unwrap();
        let set = set.iter().map(|l| labels[usize::from(l.get())].clone()).collect();
        let values = properties(db, |key| reader.vertex_property(v, key));
        assert!(model.vertices.insert(name(v), (set, values)).is_none());
        for (ty, _) in db.edge_types() {
            let id = db.find_edge_type(&ty).unwrap();
            for e in reader.edges(v, id, Direction::Out) {
                let values = properties(db, |key| reader.edge_property(e, key));
                model.edges.push((ty.clone(), name(e.src), name(e.dst), values));
                assert!(reader.edges(e.dst, id, Direction::In).any(|other| other == e));
            }
        }
    }
    model.edges.sort_by_key(|e| format!("{e:?}"));
    model
}

struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }
}

fn group(names: &[&str], files: &[PathBuf]) -> CsvGroup {
    CsvGroup { names: names.iter().map(|n| (*n).to_owned()).collect(), files: files.to_vec() }
}

/// An import of one file each.
fn import_of(nodes: PathBuf, edges: PathBuf) -> CsvImport {
    let mut import = CsvImport::default();
    import.nodes.push(group(&["N"], &[nodes]));
    import.relationships.push(group(&["E"], &[edges]));
    import
}

fn run(db: &Database, import: &CsvImport) -> Result<CsvReport, CsvError> {
    import_csv(db, import, &|_| {})
}

/// A field in one of the ways it can be written.
fn written(text: &str, style: u8, delimiter: char) -> String {
    let special = text.contains(['"', '\n', '\r', delimiter]) || text.is_empty();
    if special || style == 0 { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.into() }
}

/// A value and how it is written: kind 0 integer, 1 float, 2 text, 3 truth, 4 list of integers.
fn field(kind: u8, n: i64, text: &str) -> (Value, String) {
    match kind {
        0 => (Value::Int(n), n.to_string()),
        1 => (Value::Float(n as f64 / 8.0), format!("{}", n as f64 / 8.0)),
        2 => (text.into(), text.to_owned()),
        3 => (Value::Bool(n > 0), (n > 0).to_string()),
        _ => {
            let list = [n, n / 2];
            (Value::list(list), format!("{};{}", list[0], list[1]))
        }
    }
}

const KINDS: [&str; 5] = ["int", "double", "string", "boolean", "int[]"];

#[derive(Debug, Clone)]
struct Row {
    n: i64,
    text: String,
    missing: bool,
    style: u8,
    labels: u8,
    ends: (u32, u32),
}

fn row() -> impl Strategy<Value = Row> {
    let text = prop_oneof![3 => "[a-z]{0,4}", 1 => "[a\",\n\r; ]{0,5}"];
    (any::<i32>(), text, prop::bool::weighted(0.2), 0..2u8, 0..3u8, any::<(u32, u32)>()).prop_map(
        |(n, text, missing, style, labels, ends)| Row {
            n: n.into(),
            text,
            missing,
            style,
            labels,
            ends,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_as_csv_is_what_is_read_back(
        nodes in proptest::collection::vec(row(), 1..60),
        edges in proptest::collection::vec(row(), 0..200),
        kinds in proptest::array::uniform2(0..5u8),
        (tab, crlf, integer, spill, parts) in any::<(bool, bool, bool, bool, bool)>(),
        threads in 1usize..4,
    ) {
        let files = Files::new();
        let (d, end) = (if tab { '\t' } else { ',' }, if crlf { "\r\n" } else { "\n" });
        let mut model = Model::default();
        let id = |i: usize| if integer { (i as i64 * 7 - 3).to_string() } else { format!("n\"{i}") };
        let header = format!("id:ID(S){d}value:{}{d}:LABEL{end}", KINDS[kinds[0] as usize]);
        let mut text = header.clone();
        for (i, r) in nodes.iter().enumerate() {
            let (value, raw) = field(kinds[0], r.n, &r.text);
            let raw = if r.missing { String::new() } else { written(&raw, r.style, d) };
            let labels = ["", "A", "A;B"][r.labels as usize];
            text += &format!("{}{d}{raw}{d}{labels}{end}", written(&id(i), r.style, d));
            let number = Value::Int(i as i64 * 7 - 3);
            let id_value = if integer { number } else { id(i).as_str().into() };
            let mut values = Properties::from([("id".to_owned(), id_value)]);
            if !r.missing {
                values.insert("value".to_owned(), value);
            }
            let mut set: Vec<String> = vec!["N".to_owned()];
            set.extend(labels.split(';').filter(|l| !l.is_empty()).map(str::to_owned));
            model.vertices.insert(id(i), (set, values));
        }
        let nodes_file = files.write("nodes.csv", &text);
        let header = format!(":END_ID(S){d}weight:{}{d}:START_ID(S)", KINDS[kinds[1] as usize]);
        let (mut text, mut more) = (format!("{header}{end}"), String::new());
        for (i, r) in edges.iter().enumerate() {
            let (value, raw) = field(kinds[1], r.n, &r.text);
            let raw = if r.missing { String::new() } else { written(&raw, r.style, d) };
            let pick = |raw: u32| id(raw as usize % nodes.len());
            let (from, to) = (pick(r.ends.0), pick(r.ends.1));
            let q = |text: &str| written(text, r.style, d);
            let line = format!("{}{d}{raw}{d}{}{end}", q(&to), q(&from));
            if parts && i % 2 == 1 { more += &line } else { text += &line }
            let mut values = Properties::new();
            if !r.missing {
                values.insert("weight".to_owned(), value);
            }
            model.edges.push(("E".to_owned(), from, to, values));
        }
        let mut import = import_of(nodes_file, files.write("edges.csv", &text));
        if parts {
            import.relationships[0].files.push(files.write("more.csv", &more));
        }
        import.delimiter = d as u8;
        import.threads = threads;
        import.ids = if integer { Ids::Integer } else { Ids::Text };
        if spill {
            import.load.memory_bytes = 500;
        }
        let db = telar_db::open(files.path("db")).unwrap();
        let report = run(&db, &import).unwrap();
        prop_assert_eq!(report.vertices, nodes.len() as u64);
        prop_assert_eq!(report.edges, edges.len() as u64);
        model.edges.sort_by_key(|e| format!("{e:?}"));
        let order = |m: &mut Model| m.vertices.values_mut().for_each(|(set, _)| set.sort());
        let mut found = read(&db);
        order(&mut found);
        order(&mut model);
        prop_assert_eq!(&found, &model);
        drop(db);
        let mut found = read(&telar_db::open(files.path("db")).unwrap());
        order(&mut found);
        prop_assert_eq!(&found, &model);
    }
}

/// Nodes with ids 1 and 2, and the edges in `text`.
fn edges_case(text: &str) -> (Files, CsvImport) {
    let files = Files::new();
    let nodes = files.write("n.csv", "id:ID,age:int\n1,30\n2,31\n");
    let edges = files.write("e.csv", text);
    let import = import_of(nodes, edges);
    (files, import)
}

fn nodes_case(text: &str) -> (Files, CsvImport) {
    let files = Files::new();
    let nodes = files.write("n.csv", text);
    let mut import = CsvImport::default();
    import.nodes.push(group(&["N"], &[nodes]));
    (files, import)
}

#[test]
fn every_bad_row_is_named_by_file_and_line_and_changes_nothing() {
    let edges: fn(&str) -> (Files, CsvImport) = edges_case;
    let nodes: fn(&str) -> (Files, CsvImport) = nodes_case;
    for (make, text, place, reason) in [
        (edges, ":START_ID,:END_ID\n1,2\n1,3\n", "e.csv:3", "no vertex has the id \"3\""),
        (edges, ":START_ID,:END_ID\n1,\n", "e.csv:2", ":END_ID is empty"),
        (edges, ":START_ID,:END_ID\n1,2,3\n", "e.csv:2", "expected 2 fields as in the header"),
        (edges, ":START_ID,:END_ID,w:int\n1,2,x\n", "e.csv:2", "column \"w\": expected a whole"),
        (edges, ":START_ID,:END_ID(S)\n1,2\n", "e.csv:1", "no file of nodes has ids in the space"),
        (edges, ":START_ID\n1\n", "e.csv:1", "0 columns of type END_ID"),
        (edges, "", "e.csv:1", "the file is empty"),
        (edges, ":START_ID,:END_ID,w\n1,2,\"a\nb\n", "e.csv:2", "never closed"),
        (edges, ":START_ID,:END_ID,w\n1,2,\"a\n\"\n1,2,\"b\"c\n", "e.csv:4", "closing quote"),
        (nodes, "id:ID\n1\n2\n1\n", "n.csv:4", "another vertex has the id \"1\""),
        (nodes, "id:ID,x:date\n1,2024-02-30\n", "n.csv:2", "column \"x\": expected a date"),
        (nodes, "id:ID,x:int[]\n1,1;b\n", "n.csv:2", "expected a list, each element a whole"),
        (nodes, "id:ID,x:nothing\n1,1\n", "n.csv:1", "unknown type \"nothing\""),
        (nodes, "id:ID,x:point\n1,here\n", "n.csv:2", "expected a point"),
        (nodes, "id:ID{id-type:long}\n\nx\n", "n.csv:3", "expected a whole number, found \"x\""),
        (nodes, "id:ID,x\n\r\n1,\"a\r\nb\"\n2\n", "n.csv:5", "expected 2 fields"),
    ] {
        let (files, mut import) = make(text);
        for threads in [1, 2] {
            import.threads = threads;
            let path = files.path("db");
            let db = telar_db::open(&path).unwrap();
            let message = run(&db, &import).unwrap_err().to_string();
            assert!(message.contains(place), "{text:?}: {message}");
            assert!(message.contains(reason), "{text:?}: {message}");
            assert_eq!((db.labels().len(), db.property_keys().len()), (0, 0), "{message}");
            assert_eq!(db.reader().unwrap().vertex_bound().get(), 0);
            assert!(
                !path.join("tmp").exists() || path.join("tmp").read_dir().unwrap().count() == 0
            );
        }
    }
}

#[test]
fn bad_rows_go_to_the_reject_file_and_the_others_come_in() {
    let files = Files::new();
    let nodes = files.write("n.csv", "id:ID,age:int\n1,30\n1,5\n2,old\n3,31\n,4\n");
    let edges = files.write("e.csv", ":START_ID,:END_ID,w:int\n1,3,1\n3,2,2\n3,1,x\n3,3,4");
    let mut import = import_of(nodes, edges);
    let rejects = files.path("rejects.csv");
    import.bad_rows = BadRows::Skip { file: rejects.clone(), max: 5 };
    let db = telar_db::open_in_memory().unwrap();
    let report = run(&db, &import).unwrap();
    assert_eq!((report.vertices, report.edges, report.rejected), (2, 2, 5));
    let text = std::fs::read_to_string(&rejects).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 10);
    for (i, (place, row)) in [
        ("n.csv:3: another vertex has the id \"1\"", "1,5"),
        ("n.csv:4: column \"age\"", "2,old"),
        ("n.csv:6: the ID is empty", ",4"),
        ("e.csv:3: :END_ID: no vertex has the id \"2\"", "3,2,2"),
        ("e.csv:4: column \"w\"", "3,1,x"),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(lines[2 * i].starts_with("# ") && lines[2 * i].contains(place), "{text}");
        assert_eq!(lines[2 * i + 1], row);
    }
    let model = read(&db);
    assert_eq!(model.vertices["3"].1["age"], Value::Int(31));
    assert_eq!(model.edges[0].3["w"], Value::Int(1));

    import.bad_rows = BadRows::Skip { file: rejects, max: 4 };
    let db = telar_db::open_in_memory().unwrap();
    let error = run(&db, &import).unwrap_err();
    assert!(matches!(error, CsvError::TooManyBadRows { max: 4, line: 4, .. }), "{error}");
    assert!(db.labels().is_empty());
}

#[test]
fn edges_attach_to_vertices_of_the_database_by_a_property() {
    let files = Files::new();
    let db = telar_db::open(files.path("db")).unwrap();
    let (label, key) = (db.label("City").unwrap(), db.property_key("id").unwrap());
    let mut old = Vec::new();
    db.write(Default::default(), |txn| {
        for name in ["Oslo", "Rome"] {
            let v = txn.create_vertex(&[label])?;
            txn.set_vertex_property(v, key, name.into())?;
            old.push(v);
        }
        Ok::<_, Error>(())
    })
    .unwrap();
    let nodes = files.write("n.csv", "id:ID(City)\nLima\n");
    let edges = files.write("e.csv", ":START_ID(City),:END_ID(City)\nOslo,Rome\nLima,Oslo\n");
    let mut import = import_of(nodes, edges);
    import.nodes[0].names = vec!["City".to_owned()];
    let error = run(&db, &import).unwrap_err().to_string();
    assert!(error.contains("e.csv:2") && error.contains("Oslo"), "{error}");
    let existing = ExistingIds { space: "City".into(), label: "City".into(), key: "id".into() };
    import.existing.push(existing);
    let report = run(&db, &import).unwrap();
    assert_eq!((report.vertices, report.edges), (1, 2));
    let model = read(&db);
    let ends: Vec<_> = model.edges.iter().map(|(_, u, v, _)| (u.as_str(), v.as_str())).collect();
    assert_eq!(ends, [("Lima", "Oslo"), ("Oslo", "Rome")]);
    // A second import of the same vertex: its id is taken, by the database this time.
    let error = run(&db, &import).unwrap_err().to_string();
    assert!(error.contains("n.csv:2") || error.contains("Lima"), "{error}");
    import.existing[0].key = "nothing".into();
    let error = run(&db, &import).unwrap_err().to_string();
    assert!(error.contains("no property key \"nothing\""), "{error}");
    drop(db);
    assert_eq!(read(&telar_db::open(files.path("db")).unwrap()), model);
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(text).unwrap();
    out.finish().unwrap()
}

#[test]
fn several_files_compressed_with_a_header_apart_and_types_in_rows() {
    let files = Files::new();
    let header = files.write("people-header.csv", "id:ID(P);name;:IGNORE;:LABEL");
    let one = files.write("people-1.csv.gz", gzip(b"1;Ada;x;'A|B'\n2;'B;ob';y;\n"));
    let two = files.write("people-2.csv.zst", zstd::encode_all(&b"3;Cleo;;\n"[..], 1).unwrap());
    let firms = files.write("firms.csv", "id:ID(F){id-type:long};name;:LABEL\n1;Acme;Firm\n");
    let edges = files.write(
        "e.csv",
        ":START_ID(P);:END_ID(F);:TYPE;since:date\n1;1;WORKS_AT;2020-01-31\n2;1;LEFT;\n",
    );
    let knows = files.write("k.csv", ":START_ID(P);:END_ID(P)\n1;2\n1;2\n2;3\n");
    let mut import = CsvImport::default();
    (import.delimiter, import.array_delimiter, import.quote) = (b';', b'|', b'\'');
    import.nodes.push(group(&["Person"], &[header, one, two]));
    import.nodes.push(group(&[], &[firms]));
    import.relationships.push(group(&[], &[edges]));
    import.relationships.push(group(&["KNOWS"], &[knows]));
    import.simple = true;
    let db = telar_db::open_in_memory().unwrap();
    let error = run(&db, &import).unwrap_err();
    assert!(matches!(error, CsvError::Database(Error::SimpleEdgeType { .. })), "{error}");
    import.relationships[0].files =
        vec![files.write("e2.csv", ":START_ID(P);:END_ID(F);:TYPE\n1;1;WORKS_AT\n2;1;LEFT\n")];
    let report = run(&db, &import).unwrap();
    assert_eq!((report.vertices, report.edges, report.duplicates), (4, 4, 1));
    assert_eq!(report.unique_keys.len(), 1);
    assert_eq!(
        (report.unique_keys[0].label.as_str(), report.unique_keys[0].key.as_str()),
        ("Person", "id")
    );
    assert_eq!(db.labels(), ["Person", "A", "B", "Firm"]);
    let types: Vec<_> = db.edge_types().into_iter().collect();
    let simple = EdgeTypeOptions::simple();
    let wanted = ["WORKS_AT", "LEFT", "KNOWS"].map(|n| (n.to_owned(), simple));
    assert_eq!(types, wanted);
    let name = db.find_property_key("name").unwrap();
    let reader = db.reader().unwrap();
    assert_eq!(reader.vertex_property(VertexId::from_raw(1), name), Value::from("B;ob"));
}

#[test]
fn missing_files_and_wrong_options_are_refused_at_once() {
    let files = Files::new();
    let db = telar_db::open_in_memory().unwrap();
    let missing = import_of(files.path("none.csv"), files.path("none.csv"));
    assert!(run(&db, &missing).unwrap_err().to_string().contains("none.csv"));
    assert!(run(&db, &CsvImport::default()).is_err());
    let (_files, mut import) = nodes_case("id:ID\n1\n");
    import.quote = b',';
    assert!(run(&db, &import).unwrap_err().to_string().contains("three different"));
    import.quote = b'"';
    import.relationships.push(group(&[], &[_files.write("e.csv", ":START_ID,:END_ID\n1,1\n")]));
    let message = run(&db, &import).unwrap_err().to_string();
    assert!(message.contains("e.csv:1") && message.contains("no type"), "{message}");
}

#[test]
fn progress_covers_every_byte_and_step() {
    let (_files, import) = edges_case(":START_ID,:END_ID\n1,2\n");
    let db = telar_db::open_in_memory().unwrap();
    let seen = std::cell::RefCell::new(Vec::new());
    import_csv(&db, &import, &|p| seen.borrow_mut().push(p)).unwrap();
    let seen = seen.into_inner();
    use telar_db::import::ImportStage::{Reading, Sorting};
    let last = |stage| seen.iter().rfind(|p| p.stage == stage).copied().unwrap();
    assert_eq!(last(Reading).done, last(Reading).total);
    assert_eq!((last(Sorting).done, last(Sorting).total), (1, 1));
}
