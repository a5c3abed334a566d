//! What statements count as changed, as Neo4j 5.26 counts it. Every row was asked of a Neo4j
//! 5.26.30, on the same graph.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::Session;

/// The counters that are not zero, as `p=1 l+2`.
fn counted(session: &Session, statement: &str) -> String {
    let found = session.run(statement, &[]).unwrap_or_else(|e| panic!("{statement}: {e}"));
    let counters = found.counters;
    let named = [
        ("n+", counters.nodes_created),
        ("n-", counters.nodes_deleted),
        ("r+", counters.relationships_created),
        ("r-", counters.relationships_deleted),
        ("p=", counters.properties_set),
        ("l+", counters.labels_added),
        ("l-", counters.labels_removed),
    ];
    let shown: Vec<String> = named
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name}{count}"))
        .collect();
    assert_eq!(counters.any(), !shown.is_empty(), "{statement}");
    shown.join(" ")
}

/// Runs the statements one after the other.
fn check(setup: &[&str], table: &[(&str, &str)]) {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for statement in setup {
        session.run(statement, &[]).unwrap();
    }
    let differ: Vec<String> = table
        .iter()
        .filter_map(|(statement, expected)| {
            let found = counted(&session, statement);
            (found != *expected).then(|| format!("{statement}: {found:?}, expected {expected:?}"))
        })
        .collect();
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn properties_of_nodes() {
    check(
        &["CREATE (:T {a: 1, b: 2})"],
        &[
            ("MATCH (n:T) SET n.absent = null", ""),
            ("MATCH (n:T) REMOVE n.absent", ""),
            ("MATCH (n:T) SET n.a = null", "p=1"),
            ("MATCH (n:T) SET n.a = null", ""),
            ("MATCH (n:T) SET n.a = 1", "p=1"),
            // The same value again counts.
            ("MATCH (n:T) SET n.a = 1", "p=1"),
            ("MATCH (n:T) REMOVE n.a", "p=1"),
            ("MATCH (n:T) REMOVE n.a", ""),
            ("MATCH (n:T) SET n.a = 5, n.b = null REMOVE n.c", "p=2"),
            ("MATCH (n:T) SET n.a = 5 SET n.a = null", "p=2"),
            ("MATCH (n:T) SET n.b = null REMOVE n.c SET n.a = 1", "p=1"),
            ("MATCH (n:T) SET n.k = 1 REMOVE n.k", "p=2"),
            ("MATCH (n:T) SET n['dyn'] = 1", "p=1"),
            ("MATCH (n:T) SET n['nope'] = null", ""),
            ("MATCH (n:T) REMOVE n['dyn']", "p=1"),
            ("MATCH (n:T) REMOVE n['dyn']", ""),
            ("UNWIND [1, 1, 1] AS i MATCH (n:T) SET n.a = i", "p=3"),
            ("MATCH (n:T) FOREACH (i IN [1, 2] | SET n.f = i)", "p=2"),
            ("MATCH (n:T) FOREACH (i IN [1, 2] | SET n.f = null)", "p=1"),
            ("MATCH (n:T) CALL (n) { SET n.s = null }", ""),
            ("MATCH (n:T) CALL (n) { SET n.s = 1 RETURN 1 AS one } RETURN one", "p=1"),
            ("MATCH (n:Nope) SET n.a = 1", ""),
            ("OPTIONAL MATCH (n:Nope) SET n.a = 1, n += {b: 1} REMOVE n.c", ""),
        ],
    );
}

#[test]
fn maps_of_properties() {
    check(
        &["CREATE (:T {a: 1, b: 2}), (:T2)"],
        &[
            ("MATCH (n:T) SET n += {}", ""),
            ("MATCH (n:T) SET n += {a: 1}", "p=1"),
            ("MATCH (n:T) SET n += {a: 2, b: null, c: 3}", "p=3"),
            ("MATCH (n:T) SET n += {zz: null}", ""),
            ("MATCH (n:T) SET n += {c: null}", "p=1"),
            ("MATCH (n:T) SET n = {a: 2}", "p=1"),
            // A null counts where the database knows the key, whether this node has it or not.
            ("MATCH (n:T) SET n = {a: 3, b: null}", "p=2"),
            ("MATCH (n:T) SET n = {b: 3}", "p=2"),
            ("MATCH (n:T) SET n = {b: 3, c: null, d: 1}", "p=3"),
            ("MATCH (n:T) SET n = {x: null, y: null}", "p=2"),
            ("MATCH (n:T) SET n = {x: null, y: null}", ""),
            ("MATCH (n:T) SET n = {}", ""),
            ("MATCH (n:T) SET n = {a: 1, b: 2}", "p=2"),
            ("MATCH (n:T), (m:T2) SET m = n", "p=2"),
            ("MATCH (n:T), (m:T2) SET m += n", "p=2"),
            ("MATCH (n:T) SET n = n", "p=2"),
            ("MATCH (n:T) SET n = properties(n)", "p=2"),
        ],
    );
}

#[test]
fn labels() {
    check(
        &["CREATE (:T)"],
        &[
            ("MATCH (n:T) SET n:T", ""),
            ("MATCH (n:T) SET n:U", "l+1"),
            ("MATCH (n:T) SET n:U:T", ""),
            ("MATCH (n:T) SET n:U:U, n:V:V", "l+1"),
            ("MATCH (n:T) REMOVE n:Absent", ""),
            ("MATCH (n:T) REMOVE n:V:V", "l-1"),
            ("MATCH (n:T) REMOVE n:U:V", "l-1"),
            ("MATCH (n:T) SET n:W REMOVE n:W", "l+1 l-1"),
            ("OPTIONAL MATCH (n:Nope) SET n:X REMOVE n:Y", ""),
            ("CREATE (n:C:C:D)", "n+1 l+2"),
        ],
    );
}

#[test]
fn merge_create_and_relationships() {
    check(
        &[],
        &[
            ("MERGE (n:Mg {id: 1}) ON CREATE SET n.x = null", "n+1 p=1 l+1"),
            ("MERGE (n:Mg {id: 2}) ON CREATE SET n.x = 1, n.y = null", "n+1 p=2 l+1"),
            ("MERGE (n:Mg {id: 2}) ON MATCH SET n.x = 1", "p=1"),
            ("MERGE (n:Mg {id: 2}) ON MATCH SET n.x = null, n.absent = null", "p=1"),
            ("MERGE (n:Mg {id: 2})", ""),
            ("CREATE (n:C {a: null, b: 1})", "n+1 p=1 l+1"),
            ("CREATE (n:C {a: 1}) SET n.a = 1", "n+1 p=2 l+1"),
            ("CREATE (n:C {a: 1}) SET n.b = null", "n+1 p=1 l+1"),
            (
                "CREATE (a:C)-[r:R {x: 1, y: null}]->(b:C) SET r.x = null, r.z = null",
                "n+2 r+1 p=2 l+2",
            ),
            ("MATCH ()-[r:R]->() SET r.x = 1 REMOVE r.y", "p=1"),
            ("MATCH ()-[r:R]->() SET r = {x: 1, q: 2}", "p=2"),
            ("MATCH ()-[r:R]->() SET r = {}", "p=2"),
            ("MATCH ()-[r:R]->() SET r += {q: null}", "p=1"),
            ("MATCH ()-[r:R]-() SET r.x = 1", "p=2"),
            ("CREATE (n:Z {a: 1}) DELETE n", "n+1 n-1 p=1 l+1"),
            ("MATCH (n:C) DETACH DELETE n", "n-5 r-1"),
            ("MATCH (n:C) DETACH DELETE n", ""),
        ],
    );
}
