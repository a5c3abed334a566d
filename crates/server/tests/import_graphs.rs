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
                   RETURN l ORDER BY l } AS l, properties(n) AS p, type(r) AS t, properties(r) AS q, \
                   m.name ORDER BY toString(n.id), t, r.w";

/// What `apoc.export.cypher.all` of Neo4j 5.26 writes, for cypher-shell and for the old shell.
#[test]
fn scripts_of_apoc_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for (file, db) in [("apoc.cypher", "a"), ("apoc-neo4j-shell.cypher", "b")] {
        let said = run(folder, &["import", db, &data(file)]);
        assert!(said.contains("4 vertices, 4 edges"), "{said}");
        assert!(said.contains("not made: CREATE FULLTEXT INDEX full_idx"), "{said}");
        let text = "MATCH (a:Author)-[k:KNOWS {w: 2.5}]->(b) RETURN a.dt, a.d, a.days, a.inf, k.since, b.id";
        let found = run(folder, &["shell", db, "-c", text]);
        let expected = "a.dt,a.d,a.days,a.inf,k.since,b.id\n\
            2024-02-29T13:05+01:00[Europe/Berlin],P1Y2M3DT4H5M6.007S,\
            \"[2000-01-01, 2000-01-02]\",Infinity,1840-01-01,2\n";
        assert_eq!(found.replace("13:05:00", "13:05"), expected);
        let left = "MATCH (n:`UNIQUE IMPORT LABEL`) RETURN count(n)";
        assert_eq!(run(folder, &["shell", db, "-c", left]), "count(n)\n0\n");
        let rules = "SHOW INDEXES YIELD type WHERE type <> 'LOOKUP' RETURN count(*)";
        assert_eq!(run(folder, &["shell", db, "-c", rules]), "count(*)\n5\n");
    }
}

/// From a database to a file and back, by the names of the files.
#[test]
fn exports_as_one_file_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    run(folder, &["import", "db", &data("apoc.cypher")]);
    let said = run(folder, &["export", "db", "g.cypher"]);
    assert!(said.contains("4 vertices, 4 edges, 5 constraints and indexes"), "{said}");
    let said = run(folder, &["export", "db", "g.graphml"]);
    assert!(said.contains("GraphML has no place for them"), "{said}");
    run(folder, &["import", "c", "g.cypher"]);
    run(folder, &["import", "d", "g.graphml"]);
    std::fs::rename(folder.join("g.graphml"), folder.join("g.xml")).unwrap();
    run(folder, &["import", "e", "g.xml"]);
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
