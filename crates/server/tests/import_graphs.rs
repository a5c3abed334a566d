//! `telar import` and `telar export` of files that hold a whole graph.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::{Command, Output};

fn telar(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar"));
    command.args(arguments).current_dir(folder).output().unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = telar(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn fail(folder: &Path, arguments: &[&str]) -> String {
    let output = telar(folder, arguments);
    assert!(!output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn data(name: &str) -> String {
    format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR"))
}

const ALL: &str = "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN COLLECT { UNWIND labels(n) AS l \
                   RETURN l ORDER BY l } AS l, properties(n) AS p, type(r) AS t, \
                   properties(r) AS q, m.name ORDER BY toString(n.id), t, r.w";

/// Scripts of `apoc.export.cypher.all` of Neo4j 5.26, for cypher-shell and for the old shell.
#[test]
fn scripts_of_apoc_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, db) in [("apoc.cypher", "a"), ("apoc-neo4j-shell.cypher", "b")] {
        let said = run(folder, &["import", db, &data(file)]);
        assert!(said.contains("4 vertices, 4 edges"), "{said}");
        assert!(!said.contains("not made"), "{said}");
        let text = "CALL db.index.fulltext.queryNodes('full_idx', '*') YIELD node \
                    RETURN count(*) > 0";
        assert_eq!(run(folder, &["shell", db, "-c", text]), "count(*) > 0\ntrue\n");
        let text = "MATCH (a:Author)-[k:KNOWS {w: 2.5}]->(b) RETURN a.dt, a.d, a.days, a.inf, k.since, b.id";
        let found = run(folder, &["shell", db, "-c", text]);
        let expected = "a.dt,a.d,a.days,a.inf,k.since,b.id\n\
            2024-02-29T13:05+01:00[Europe/Berlin],P1Y2M3DT4H5M6.007S,\
            \"[2000-01-01, 2000-01-02]\",Infinity,1840-01-01,2\n";
        assert_eq!(found.replace("13:05:00", "13:05"), expected);
        let left = "MATCH (n:`UNIQUE IMPORT LABEL`) RETURN count(n)";
        assert_eq!(run(folder, &["shell", db, "-c", left]), "count(n)\n0\n");
        let rules = "SHOW INDEXES YIELD type WHERE type <> 'LOOKUP' RETURN count(*)";
        assert_eq!(run(folder, &["shell", db, "-c", rules]), "count(*)\n6\n");
    }
}

/// From a database to a file and back, by the names of the files.
#[test]
fn exports_as_one_file_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["import", "db", &data("apoc.cypher")]);
    let said = run(folder, &["export", "db", "g.cypher"]);
    assert!(said.contains("4 vertices, 4 edges, 6 constraints and indexes"), "{said}");
    let said = run(folder, &["export", "db", "g.graphml"]);
    assert!(said.contains("GraphML has no place for them"), "{said}");
    run(folder, &["import", "c", "g.cypher"]);
    run(folder, &["import", "d", "g.graphml"]);
    std::fs::rename(folder.join("g.graphml"), folder.join("g.xml")).unwrap();
    run(folder, &["import", "e", "g.xml"]);
    // Full-text indexes, too.
    let rules = "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, options \
                 WHERE type <> 'LOOKUP' RETURN * ORDER BY name";
    let listed = run(folder, &["shell", "db", "-c", rules]);
    assert!(listed.contains("FULLTEXT"), "{listed}");
    assert_eq!(run(folder, &["shell", "c", "-c", rules]), listed);
    let before = run(folder, &["shell", "db", "-c", ALL]);
    for db in ["c", "d", "e"] {
        assert_eq!(run(folder, &["shell", db, "-c", ALL]), before, "{db}");
    }
    let said = fail(folder, &["export", "db", "g.cypher"]);
    assert!(said.contains("File exists"), "{said}");
    // Into a database in use, beside what is there.
    run(folder, &["import", "d", "g.xml"]);
    let count = run(folder, &["shell", "d", "-c", "MATCH (n) RETURN count(n) AS n"]);
    assert_eq!(count, "n\n8\n");
    let said = fail(folder, &["import", "d", "g.cypher"]);
    assert!(said.contains("telar shell d -f g.cypher"), "{said}");
}

/// A script is there as a whole or not at all, and errors stand where they are.
#[test]
fn a_script_that_fails_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (text, says) in [
        ("CREATE (:A);\nCREATE (:B {x: });\n", "bad.cypher:2:"),
        ("CREATE (:A);\n\n  MATCH (n) RETURN m;", "bad.cypher:3:"),
        (":param x => 1\n", "bad.cypher:1: :param is a command for people"),
        (
            "CREATE (:A {x: 1});\nCREATE CONSTRAINT FOR (a:A) REQUIRE a.y IS NOT NULL;",
            "bad.cypher:2",
        ),
    ] {
        std::fs::write(folder.join("bad.cypher"), text).unwrap();
        let said = fail(folder, &["import", "db", "bad.cypher"]);
        assert!(said.contains(says), "{text}: {said}");
        assert!(!folder.join("db").exists());
    }
    std::fs::write(folder.join("x.graphml"), "<graphml><graph><node/></graph></graphml>").unwrap();
    let said = fail(folder, &["import", "db", "x.graphml"]);
    assert!(said.contains("x.graphml:1: a node has no id"), "{said}");
    let said = fail(folder, &["import", "db", "x.graphml", "--order", "rcm"]);
    assert!(said.contains("--order is for files of edges and rows"), "{said}");
    assert!(!folder.join("db").exists());
}

/// Folders that `EXPORT DATABASE` of Kuzu 0.11 and Ladybug 0.22 wrote (tests/data/kuzu.py).
#[test]
fn folders_of_kuzu_come_in() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for form in ["kuzu-csv", "kuzu-parquet", "ladybug"] {
        let said = run(folder, &["import", form, &data(form)]);
        let edges = if form == "ladybug" { 2 } else { 3 };
        assert!(said.contains(&format!("3 vertices, {edges} edges")), "{said}");
        let asked = |text: &str| run(folder, &["shell", form, "-c", text]);
        let text =
            "MATCH (p:Person {id: 1}) RETURN p.name, p.born, p.score, p.ok, p.at, p.u, p.span";
        let span = if form == "kuzu-csv" { "P1Y2DT3H" } else { "" };
        let expected = format!(
            "p.name,p.born,p.score,p.ok,p.at,p.u,p.span\n\"Ada, \"\"q\"\"\nline\",1815-12-10,0.5,\
             true,2024-02-29T13:05:00.5,a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11,{span}\n"
        );
        assert_eq!(asked(text), expected, "{form}");
        let text = "MATCH (a:Person)-[r]->(b) RETURN a.id, type(r), properties(r) AS r, labels(b) AS l, \
                    coalesce(b.name, b.id) AS b ORDER BY a.id, type(r)";
        let expected = "a.id,type(r),r,l,b\n1,Knows,{since: 1840},['Person'],Bob\n\
                        1,LivesIn,{note: 'x;y'},['City'],Ulm\n";
        assert!(asked(text).starts_with(expected), "{form}: {}", asked(text));
        let rules = asked(
            "SHOW CONSTRAINTS YIELD labelsOrTypes, properties, type RETURN * ORDER BY properties",
        );
        assert!(rules.contains("['Person'],['id']") || rules.contains("['id'],"), "{rules}");
        assert_eq!(rules.lines().count(), 3, "{rules}");
        let tags = asked("MATCH (p:Person {id: 1}) RETURN size(p.tags) AS n, p.big");
        match form {
            // As Kuzu writes them, the list of 'a' and 'b, c' has three texts.
            "kuzu-csv" => assert_eq!(tags, "n,p.big\n3,9007199254740993\n"),
            _ => assert!(tags.starts_with("n,p.big\n2,"), "{tags}"),
        }
        assert_eq!(said.contains("Person.tags, STRING[]: Kuzu writes texts"), form == "kuzu-csv");
    }
    let empty = folder.join("empty");
    std::fs::create_dir(&empty).unwrap();
    let said = fail(folder, &["import", "x", "empty"]);
    assert!(said.contains("schema.json is missing") && said.contains("EXPORT DATABASE"), "{said}");
    std::fs::write(empty.join("schema.cypher"), "CREATE NODE TABLE P (id INT64, PRIMARY KEY(id));")
        .unwrap();
    std::fs::write(empty.join("copy.cypher"), "\nCOPY Q (id) FROM \"Q.csv\" (header=true);")
        .unwrap();
    let said = fail(folder, &["import", "x", "empty"]);
    assert!(said.contains("copy.cypher:2: the table Q is not in schema.cypher"), "{said}");
    std::fs::write(empty.join("copy.cypher"), "COPY P (id) FROM \"P.csv\" (header=true);").unwrap();
    let said = fail(folder, &["import", "x", "empty"]);
    assert!(said.contains("P.csv: No such file"), "{said}");
    assert!(!folder.join("x").exists());
}
