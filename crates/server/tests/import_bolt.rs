//! `telar import` of all that a running server has: here Telar's own. tools/moving.py does it with
//! Neo4j.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::process::Output;

#[path = "../../../tests/src/process.rs"]
#[expect(unreachable_pub, reason = "it is public where the file lives")]
mod process;
#[path = "common/serving.rs"]
mod serving;

use serving::{PASSWORD, serve, telar};

fn run(folder: &Path, arguments: &[&str], password: Option<&str>) -> Output {
    let mut command = telar();
    command.args(arguments).current_dir(folder);
    command.envs(password.map(|password| ("TELAR_PASSWORD", password)));
    command.output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

const FILL: &str = "CREATE CONSTRAINT person FOR (p:Person) REQUIRE p.id IS UNIQUE;
CREATE INDEX since FOR ()-[k:KNOWS]-() ON (k.since);
UNWIND range(1, 5000) AS n CREATE (:Person:`odd name` {id: n,
  at: datetime('2024-02-29T13:05+01:00[Europe/Berlin]'),
  day: date('1815-12-10'), d: duration('P1M2DT3S'), p: point({x: n, y: 1.5}),
  list: [n, n + 1], t: ['a', 'b'],
  x: CASE n % 2 WHEN 0 THEN n / 3.0 END, lt: localtime('07:00'),
  tz: time('07:00+02:00'), ldt: localdatetime('2024-01-01T00:00')});
MATCH (a:Person), (b:Person {id: a.id % 100 + 1}) CREATE (a)-[:KNOWS {since: a.id}]->(b);
CREATE ({only: true})-[:LOOP]->(:Other);";

const ALL: [&str; 3] = [
    "MATCH (n) RETURN labels(n), properties(n) ORDER BY n.id, n.only",
    "MATCH (a)-[r]->(b) RETURN a.id, type(r), properties(r), b.id ORDER BY a.id, type(r)",
    "SHOW INDEXES YIELD name, type, labelsOrTypes, properties, owningConstraint ORDER BY name",
];

#[test]
fn a_server_comes_in_as_one_commit_with_its_schema() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_server, address) = serve(&[]);
    let [plain, named] = [format!("bolt://{address}"), format!("bolt://neo4j@{address}")];
    std::fs::write(folder.join("fill.cypher"), FILL).unwrap();
    let shell = |of: &str, arguments: &[&str]| {
        let user: &[&str] = if of.contains("://") { &["-u", "neo4j"] } else { &[] };
        said(&run(folder, &[&["shell", of], user, arguments].concat(), Some(PASSWORD)))
    };
    shell(&plain, &["-f", "fill.cypher"]);
    let done = said(&run(folder, &["import", "copy", &named], Some(PASSWORD)));
    assert!(done.contains("5,002 vertices, 5,001 edges"), "{done}");
    assert!(done.contains("2 constraints and indexes"), "{done}");
    for query in ALL {
        assert_eq!(shell("copy", &["-c", query]), shell(&plain, &["-c", query]), "{query}");
    }
    // Into a database in use: what is there stays, and constraints hold.
    let again = run(folder, &["import", "copy", &named], Some(PASSWORD));
    let why = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(!again.status.success() && why.contains("already exists with label"), "{why}");
    assert_eq!(shell("copy", &["-c", "MATCH (n) RETURN count(n) AS n"]), "n\n5002\n");
    for (address, password, says) in [
        (&*named, Some("another"), "unauthorized"),
        (&*named, None, "set TELAR_PASSWORD"),
        (&*plain, None, "bolt://USER@HOST"),
        ("bolt://ann:secret@127.0.0.1", None, "could be seen by other users"),
        ("bolt://neo4j@127.0.0.1:1", Some(PASSWORD), "nothing listens there"),
        ("http://127.0.0.1:7474", None, "speaks Bolt"),
    ] {
        let output = run(folder, &["import", "x", address], password);
        let why = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && why.contains(says), "{address}: {why}");
        assert!(!folder.join("x").exists());
    }
    let output = run(folder, &["import", "x", &named, "--database", "nowhere"], Some(PASSWORD));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no database named 'nowhere'"));
}
