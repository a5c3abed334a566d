//! Turtle and N-Triples as a property graph.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::PathBuf;

use telar_db::import::import_tables;
use telar_db::{Database, Session};
use telar_exchange::rdf::{Iris, read};

fn taken(path: &std::path::Path, ntriples: bool, iris: Iris) -> Database {
    let read = read(path, ntriples, iris).unwrap();
    let db = telar_db::open_in_memory().unwrap();
    import_tables(&db, read.import, &|_| Ok(())).unwrap();
    db
}

fn rows(db: &Database, text: &str) -> Vec<String> {
    let rows = Session::new(db).run(text, &[]).unwrap().rows;
    let literal = |row: &Vec<_>| row.iter().map(telar_db::query::literal).collect::<Vec<_>>();
    rows.iter().map(|row| literal(row).join(" ")).collect()
}

/// A graph that rdflib wrote in both notations (tests/data/make.py), with each type of literal.
#[test]
fn graphs_of_rdflib_come_in() {
    for (name, ntriples) in [("rdflib.ttl", false), ("rdflib.nt", true)] {
        let path = PathBuf::from(format!("{}/tests/data/{name}", env!("CARGO_MANIFEST_DIR")));
        let db = taken(&path, ntriples, Iris::Local);
        let text = "MATCH (a:Resource:Person {uri: 'http://example.org/ada'}) RETURN a.name, a.age, \
                    a.score, a.price, a.ok, a.born, a.at, a.seen, a.wakes, a.took, a.odd, \
                    a.custom, a.`label@en`, a.`label@de`, a.label, labels(a)";
        let expected = "'Ada \"q\"\\nline' 36 0.5 1.25 TRUE date('1815-12-10') \
                        datetime('2024-02-29T13:05:00+01:00') localdatetime('2024-02-29T13:05:00') \
                        localtime('07:00:00') duration('P1DT2H') 'abc' 'x^2' 'Ada (en)' 'Ada (de)' \
                        'Ada' ['Resource', 'Person', 'Author']";
        let found = rows(&db, text)[0].replace("13:05+01", "13:05:00+01");
        let found = found.replace("13:05')", "13:05:00')").replace("07:00')", "07:00:00')");
        let authors = found.replace("'Author', 'Person'", "'Person', 'Author'");
        assert_eq!(authors, expected, "{name}");
        let text =
            "MATCH (a {uri: 'http://example.org/ada'}) UNWIND a.nick AS n RETURN n ORDER BY n";
        assert_eq!(rows(&db, text), ["'A'", "'B'"]);
        let text =
            "MATCH (a)-[r]->(b) RETURN a.name, type(r), b.uri, b.city ORDER BY type(r), b.uri";
        let expected = [
            "'Ada \"q\"\\nline' 'address' NULL 'London'",
            "'Ada \"q\"\\nline' 'knows' 'http://example.org/bob' NULL",
        ];
        assert_eq!(rows(&db, text), expected, "{name}");
        let rule = "SHOW CONSTRAINTS YIELD labelsOrTypes, properties";
        assert_eq!(rows(&db, rule), ["['Resource'] ['uri']"]);
    }
}

#[test]
fn names_that_would_be_two_things_are_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.ttl");
    let write = |text: &str| std::fs::write(&path, text).unwrap();
    write(
        "@prefix a: <http://a/> . @prefix b: <http://b#> .\na:x a:name 'A' ; b:name 'B' ; a a:T .",
    );
    let Err(error) = read(&path, false, Iris::Local) else { panic!() };
    let says = "x.ttl: <http://a/name> and <http://b#name> would both be called name: --iris full";
    assert!(error.message.contains(says), "{error}");
    let db = taken(&path, false, Iris::Full);
    let text = "MATCH (x:`http://a/T`) RETURN x.`http://a/name`, x.`http://b#name`, x.uri";
    assert_eq!(rows(&db, text), ["'A' 'B' 'http://a/x'"]);
    for (text, ntriples, says) in [
        ("<http://a> <http://p> .\n", true, "x.ttl:1:"),
        ("<http://a/x> <http://a/p> 'ok' .\n<http://a/x> <http://a/p> ?? .", false, "x.ttl:2:"),
        ("<http://a/x> <http://a/uri> 'mine' .", false, "would both be called uri"),
    ] {
        write(text);
        let Err(error) = read(&path, ntriples, Iris::Local) else { panic!("{text}") };
        assert!(error.message.contains(says), "{error}");
    }
    // The same triple twice, and a loop.
    write("<u:a> <u:p> <u:a>, <u:a>, _:b . _:b <u:p> <u:a> ; <u:n> 1, 1 .");
    let db = taken(&path, false, Iris::Local);
    assert_eq!(rows(&db, "MATCH (a)-[r:p]->(b) RETURN count(r), sum(a.n)"), ["3 1"]);
}
