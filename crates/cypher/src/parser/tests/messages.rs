//! What the errors say, as people see it.

use super::*;

/// Compares the rendered errors of a text with what they should be.
#[track_caller]
fn shows(text: &str, expected: &[&str]) {
    let errors = parse(text).expect_err(text);
    let found = errors.render(text);
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines, expected, "\n{found}");
}

#[test]
fn x() {
    for text in [
        "MATCH (n) RETRUN n",
        "MTCH (n) RETURN n",
        "MATCH (n) WEHRE n.x = 1 RETURN n",
        "MATCH (n)\nWHERE n.age >\nRETURN n",
        "MATCH (n:Person RETURN n",
        "RETURN [1, 2",
        "RETURN count(DISTNCT n)",
        "RETURN n.name STRTS WITH 'a'",
        "RETURN 1 ODER BY 1",
        "RETURN 1 +",
        "RETURN",
        "",
        "FOO",
        "MATCH (a)-[:R->(b) RETURN a",
        "MATCH (a)-[:R..]->(b) RETURN a",
        "MATCH (a)-x->(b) RETURN a",
        "MATCH (a)(b) RETURN a",
        "MATCH ((a)-->(b))+-->(c) RETURN a",
        "MATCH (a)-[:R*-2]->(b) RETURN a",
        "RETURN {a 1}",
        "RETURN {1: 2}",
        "RETURN 12ab, 0x",
        "RETURN 9223372036854775808",
        "RETURN 1e999",
        "RETURN 'it's'",
        "RETURN '\\uXYZ'",
        "RETURN 1 — 2",
        "RETURN “a”",
        "RETURN 017",
        "CREATE INDEX ON :Person(name)",
        "CREATE INDEX FOR (n:Person) ON (m.name)",
        "CREATE CONSTRAINT FOR (n:Person) REQUIRE n.name IS UNIKE",
        "SHOW INDEKSES",
        "RETURN x IS :: INTEGR",
        "UNWIND [1] RETURN 1",
        "MATCH (n) SET n RETURN n",
        "MATCH (n) DELETE n:Person",
        "FOREACH (x IN xs | RETURN x)",
        "MATCH (n) WERE n.x RETURN n.; MATCH",
        "MATCH (a:) RETURN a.\nWITH 1 x RETURN 1",
        "RETURN CASE x END",
        "MATCH (n) RETURN n;\nRETURN 1 1",
        "CALL foo() YIELD",
        "CALL { RETURN 1 AS x",
        "RETURN all(x IN xs)",
        "MATCH SHORTEST (a)-->(b) RETURN a",
        "RETURN 1; RETURN 2",
    ] {
        let found = match parse(text) {
            Ok(t) => format!("OK {t}"),
            Err(e) => e.render(text),
        };
        println!("=== {text}\n{found}");
    }
}
