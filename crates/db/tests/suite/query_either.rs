//! A pattern with `OR` that is found once for each part finds what it finds as a whole.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::{Database, Session, Value};

fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    let parameters = [("x", Value::Int(3)), ("none", Value::Null), ("ids", Value::list([3i64]))];
    let found = Session::new(db).run(query, &parameters);
    let mut rows = found.unwrap_or_else(|e| panic!("{query}: {e}")).rows;
    rows.sort();
    rows
}

fn plan(db: &Database, query: &str) -> String {
    Session::new(db).run(&format!("EXPLAIN {query}"), &[]).unwrap().plan.unwrap().to_string()
}

/// Nodes with two indexed numbers, some of which have neither, in a chain and with other relations.
fn database() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    for statement in [
        "CREATE INDEX a FOR (n:N) ON (n.a)",
        "CREATE INDEX b FOR (n:N) ON (n.b)",
        "CREATE INDEX c FOR (n:M) ON (n.c)",
        "UNWIND range(0, 1999) AS i CREATE (n:N {id: i, a: i % 400, b: (i * 7) % 500}) \
         FOREACH (x IN CASE WHEN i % 5 = 0 THEN [1] ELSE [] END | SET n.a = null) \
         FOREACH (x IN CASE WHEN i % 11 = 0 THEN [1] ELSE [] END | SET n.b = null)",
        "UNWIND range(0, 199) AS i CREATE (:M {id: i, c: i % 50})",
        "MATCH (n:N), (m:M) WHERE n.id % 200 = m.id CREATE (n)-[:R {w: n.id}]->(m)",
        "MATCH (n:N), (k:N) WHERE n.id + 1 = k.id CREATE (n)-[:S]->(k)",
    ] {
        rows(&db, statement);
    }
    db
}

#[test]
fn each_row_is_found_once() {
    let db = database();
    for (pattern, condition, least) in [
        ("(n:N)", "n.a = 3 OR n.b = 3", 5),
        ("(n:N)", "n.a = $x OR n.b = $x OR n.b = 21", 5),
        ("(n:N)", "n.a = 21 OR n.b = 147", 5),
        ("(n:N)", "n.a IN $ids OR n.b IN [3, 4, null]", 5),
        ("(n:N)", "n.a = $none OR n.b = 3", 2),
        ("(n:N)", "n.a = 3 OR (n.b = 3 AND n.id > 400)", 3),
        ("(n:N)-[r:R]->(m:M)", "n.a = 3 OR m.c = 3", 40),
        ("(n:N)-[r:R]->(m:M)", "n.a = 3 OR n.b = 3 OR m.c = 3", 40),
        ("(n:N)-[r:R]->(m:M)<-[s:R]-(k:N)", "n.a = 3 OR k.b = 3", 40),
        ("(n:N)-[r:S*0..2]->(k:N)", "n.a = 3 OR k.b = 3", 10),
        ("(n:N), (m:M)", "n.a = 3 OR (n.b = 3 AND m.c = 3)", 5),
    ] {
        let named = |name: &&str| pattern.contains(&format!("({name}:"));
        let names: Vec<&str> = ["n", "m", "k"].into_iter().filter(named).collect();
        let ids: Vec<String> = names.iter().map(|name| format!("{name}.id")).collect();
        let returned = ids.join(", ");
        let query = format!("MATCH {pattern} WHERE {condition} RETURN {returned}");
        let shown = plan(&db, &query);
        assert!(shown.contains("Union"), "{query}\n{shown}");
        let plain = format!("MATCH {pattern} WITH * WHERE {condition} RETURN {returned}");
        let shown = plan(&db, &plain);
        assert!(!shown.contains("Union"), "{plain}\n{shown}");
        let (found, want) = (rows(&db, &query), rows(&db, &plain));
        assert_eq!(found, want, "{query}");
        assert!(found.len() >= least, "{query}: {} rows", found.len());
    }
}

#[test]
fn rows_from_before_go_on() {
    let db = database();
    for (before, condition, returned) in [
        ("UNWIND [3, 21, 3] AS x", "n.a = x OR n.b = x", "x, n.id"),
        ("MATCH (m:M {c: 3}) WITH m, m.c AS x", "n.a = x OR n.b = x", "m.id, x, n.id"),
    ] {
        for optional in ["", "OPTIONAL "] {
            let query =
                format!("{before} {optional}MATCH (n:N) WHERE {condition} RETURN {returned}");
            let shown = plan(&db, &query);
            assert!(shown.contains("Union"), "{query}\n{shown}");
            let plain = format!("{before} MATCH (n:N) WITH * WHERE {condition} RETURN {returned}");
            let found = rows(&db, &query);
            assert_eq!(found, rows(&db, &plain), "{query}\n{shown}");
            assert!(found.len() > 10, "{query}");
        }
    }
    let exists =
        "MATCH (m:M) WHERE EXISTS { MATCH (n:N) WHERE n.a = m.c OR n.b = m.c } RETURN m.id";
    let plain = "MATCH (m:M) WHERE EXISTS { MATCH (n:N) WITH * WHERE n.a = m.c OR n.b = m.c \
                 RETURN n } RETURN m.id";
    assert_eq!(rows(&db, exists), rows(&db, plain));
    // Nothing is found for some of the rows.
    let query = "UNWIND [3, -1] AS x OPTIONAL MATCH (n:N)-[:R]->(m:M) WHERE n.a = x OR m.c = x \
                 RETURN x, n.id, m.id";
    let found = rows(&db, query);
    assert!(found.contains(&vec![Value::Int(-1), Value::Null, Value::Null]), "{found:?}");
    assert!(found.len() > 40);
}

#[test]
fn what_could_fail_stays_as_it_is() {
    let db = database();
    // The second part would fail for rows that the first decides.
    let query = "MATCH (n:N) WHERE n.a = 0 OR 10 / n.a = 5 RETURN n.id";
    let shown = plan(&db, query);
    assert!(!shown.contains("Union"), "{shown}");
    assert!(!rows(&db, query).is_empty());
    // Without an index for each part, a scan is what there is.
    let shown = plan(&db, "MATCH (n:N) WHERE n.a = 3 OR n.id = 5 RETURN n");
    assert!(!shown.contains("Union"), "{shown}");
}
