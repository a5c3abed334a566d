//! Joins, intersections and counts of degrees find what plain steps find, and are planned.
//!
//! Each query is asked twice: as it is written, and so that the short cut cannot be taken. The plan
//! of the first has to show the operator that is tested.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::plain::{database, plan, rows, tangle_edges};
use telar_db::{Database, Session, Value, ValueMap};

/// Both find the same rows, at least `least` of them, and the first by this operator.
#[track_caller]
fn same(db: &Database, operator: &str, query: &str, plain: &str, least: usize) {
    let shown = plan(db, query);
    assert!(shown.contains(operator), "{query}\n{shown}");
    let other = plan(db, plain);
    assert!(!other.contains(operator), "{plain}\n{other}");
    let (found, want) = (rows(db, query), rows(db, plain));
    assert_eq!(found, want, "{query}\n{shown}");
    assert!(found.len() >= least, "{query}: {found:?}");
}

/// Nodes with many relationships between them, loops and parallel ones among them.
fn tangle(seed: i64) -> Database {
    let db = database(&["UNWIND range(0, 11) AS i CREATE (:P {id: i, g: i % 3})"]);
    tangle_edges(&db, seed, 60);
    db
}

#[test]
fn values_are_joined_as_they_are_compared() {
    let values = "[1, 2, 1.0, 'x', null, 0.0 / 0.0, true, [1], [1.0], date('2020-01-01'), 'y']";
    let make = |label: &str| {
        format!(
            "WITH {values} AS vs UNWIND range(0, 43) AS i \
             CREATE (:{label} {{i: i, v: vs[i % 11], w: i % 2}})"
        )
    };
    let db = database(&[&make("A"), &make("B")]);
    let plain = |condition: &str| {
        format!(
            "MATCH (b:B) WITH collect(b) AS bs MATCH (a:A) UNWIND bs AS b \
             WITH a, b WHERE {condition} RETURN a.i, b.i"
        )
    };
    for condition in
        ["a.v = b.v", "b.v = a.v AND a.w = b.w", "a.v = b.v AND a.i < b.i", "a.i + 1 = b.i"]
    {
        let query = format!("MATCH (a:A), (b:B) WHERE {condition} RETURN a.i, b.i");
        same(&db, "ValueHashJoin", &query, &plain(condition), 20);
    }
    // Rows that come from before go on.
    let query = "UNWIND [1, 2] AS x MATCH (a:A), (b:B) WHERE a.i + x = b.i AND a.v = b.v \
                 RETURN x, a.i, b.i";
    let other = "MATCH (b:B) WITH collect(b) AS bs UNWIND [1, 2] AS x MATCH (a:A) \
                 UNWIND bs AS b WITH x, a, b WHERE a.i + x = b.i AND a.v = b.v RETURN x, a.i, b.i";
    assert_eq!(rows(&db, query), rows(&db, other));
}

#[test]
fn parts_that_nothing_connects_are_found_once() {
    let db = tangle(3);
    // Each part costs more to find than it has rows.
    let (first, second) = ("(a:P)-[:K]->(b)-[:K]->(x)", "(c:P)-[:L]->(d)-[:L]->(e)");
    let query = format!(
        "MATCH {first}, {second} WHERE a.g = x.g AND c.g = e.g RETURN a.id, x.id, c.id, e.id"
    );
    let other = format!(
        "MATCH {first} WHERE a.g = x.g WITH collect([a.id, x.id]) AS ks \
         MATCH {second} WHERE c.g = e.g UNWIND ks AS k RETURN k[0], k[1], c.id, e.id"
    );
    same(&db, "CartesianProduct", &query, &other, 100);
}

#[test]
fn joins_on_nodes_are_made_where_they_are_wished_for() {
    for seed in [1, 5] {
        let db = tangle(seed);
        for (pattern, least) in [
            ("(a:P)-[r:K]->(m)<-[s:K]-(b:P)", 5),
            ("(a:P)-[r:K]->(m)-[s:L]->(b:P)", 5),
            ("(a:P)-[r:K]-(m)-[s]-(b:P)", 5),
            ("(a:P {id: 1})-[r:K]->(x)-[:K]->(m)-[s:K]->(b:P)", 0),
        ] {
            let tail = "RETURN a.id, m.id, b.id, r.w, s.w";
            let query = format!("MATCH {pattern} USING JOIN ON m {tail}");
            same(&db, "NodeHashJoin", &query, &format!("MATCH {pattern} {tail}"), least);
        }
    }
}

#[test]
fn cycles_are_found_from_all_sides_at_once() {
    for seed in [1, 2, 5, 8] {
        let db = tangle(seed);
        for (before, then, ids) in [
            ("(a)-[r:K]->(b)", "(b)-[s:K]->(c), (a)-[t:K]->(c)", "a.id, b.id, c.id"),
            ("(a)-[r:K]->(b)", "(b)-[s:K]->(c), (c)-[t:K]->(a)", "a.id, b.id, c.id"),
            ("(a)-[r:K]-(b)", "(b)-[s:K]-(c), (c)-[t:K]-(a)", "a.id, b.id, c.id"),
            ("(a)-[r:K]-(b)", "(b)-[s:K|L]-(c), (c)-[t]-(a)", "a.id, b.id, c.id"),
            ("(a)-[r:K]->(b)", "(b)-[s]->(c:P {g: 1})<-[t:K]-(a)", "a.id, b.id, c.id"),
            (
                "(a)-[r:K]->(b)-[s:K]->(c)",
                "(c)-[t:K]->(d), (a)-[u:K]->(d)",
                "a.id, b.id, c.id, d.id",
            ),
            (
                "(a)-[r:K]->(b), (a)-[s:K]->(c)",
                "(b)-[t:K]-(d), (c)-[u:K]-(d), (a)-[v:L]-(d)",
                "a.id, b.id, c.id, d.id",
            ),
        ] {
            let names = ["r", "s", "t", "u", "v"];
            let named = |name: &&&str| format!("{before}{then}").contains(&format!("[{name}"));
            let names: Vec<&str> = names.iter().filter(named).copied().collect();
            let differ: Vec<String> = (0..names.len())
                .flat_map(|i| (0..i).map(move |j| (i, j)))
                .map(|(i, j)| format!("{} <> {}", names[i], names[j]))
                .collect();
            let differ = differ.join(" AND ");
            // One clause for each relationship: nothing to intersect.
            let apart =
                then.replace(", ", " MATCH ").replace("<-[t:K]-(a)", " MATCH (a)-[t:K]->(c)");
            for (tail, least) in [
                (format!("RETURN {ids}"), 1),
                (format!("RETURN {ids}, s.w, t.w"), 1),
                ("RETURN count(*)".to_owned(), 1),
            ] {
                let query = format!("MATCH {before}, {then} {tail}");
                let plain = format!("MATCH {before} MATCH {apart} WITH * WHERE {differ} {tail}");
                // Clauses that follow each other would be one pattern.
                let plain = plain.replace(" MATCH ", " WITH * MATCH ");
                // Of paths of three, searching for the last relationship is expected to cost less.
                if before == "(a)-[r:K]->(b)-[s:K]->(c)" {
                    assert_eq!(rows(&db, &query), rows(&db, &plain), "{query}");
                } else {
                    same(&db, "Intersect", &query, &plain, least);
                }
            }
        }
    }
}

#[test]
fn what_is_only_counted_is_not_expanded() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        for pattern in [
            "(a:P)-[:K]->()-[:K]->()",
            "(a:P)-[:K]-()-[:K]-()",
            "(a:P)-[:K]-()-[]-()",
            "(a:P)<-[:L]-()-[:K]-()-[:K]-(x)",
            "(a:P {id: 3})-[:K*1..2]-()-[:K]-()",
            "(a:P)-[:K|L]-()",
        ] {
            let count = format!("MATCH {pattern} RETURN count(*)");
            let plain = format!("MATCH {pattern} RETURN size(collect(1))");
            same(&db, "ExpandCount", &count, &plain, 1);
            let count = format!("MATCH {pattern} RETURN a.id AS id, count(*) AS n, count(a) AS m");
            let plain = format!(
                "MATCH {pattern} WITH a.id AS id, collect(1) AS all \
                 RETURN id, size(all) AS n, size(all) AS m"
            );
            same(&db, "ExpandCount", &count, &plain, 1);
        }
        let count = "MATCH (a:P) RETURN a.id, COUNT { (a)-[:K]-() }, EXISTS { (a)-[:L]->() }";
        let plain = "MATCH (a:P) RETURN a.id, size([(a)-[r:K]-() | r]), \
                     size([(a)-[r:L]->() | r]) > 0";
        same(&db, "ExpandCount", count, plain, 12);
        let nothing = "MATCH (a:P {id: 99})-[:K]-() RETURN count(*)";
        assert_eq!(rows(&db, nothing), [[Value::Int(0)]]);
    }
}

#[test]
fn relationships_to_a_label_are_counted_without_testing_each_if_all_lead_there() {
    for seed in [1, 4, 7] {
        let db = tangle(seed);
        // First every node is a P, then one without relationships is not, then others are not.
        for change in ["RETURN 1", "CREATE (:Q)", "MATCH (n:P) WHERE n.g = 1 REMOVE n:P SET n:Q"] {
            rows(&db, change);
            for pattern in [
                "(a:P)-[:K]->(:P)",
                "(a:P)-[:K]-(:P)",
                "(a:P)-[:K|L]-(:P)",
                "(a:P)-[:K]-()-[]-(:P)",
                "(a:P)-[:K]->(:P)<-[:K]-(:P)-[:K]-(:P)",
            ] {
                let count = format!("MATCH {pattern} RETURN count(*)");
                let plain = format!("MATCH {pattern} RETURN size(collect(1))");
                same(&db, "ExpandCount", &count, &plain, 1);
            }
            let count = "MATCH (a:P) RETURN a.id, COUNT { (a)-[:K]-(:P) }, COUNT { (a)-->(:R) }";
            let plain = "MATCH (a:P) RETURN a.id, size([(a)-[r:K]-(:P) | r]), 0";
            same(&db, "ExpandCount", count, plain, 8);
        }
    }
}

/// In a transaction that has written, and of nodes that many relationships lead to.
#[test]
fn relationships_to_a_label_are_counted_as_the_transaction_sees_them() {
    let db = database(&[
        "UNWIND range(0, 99) AS i CREATE (:P {id: i})",
        "MATCH (a:P), (b:P) WHERE (a.id + b.id) % 3 = 0 CREATE (a)-[:K]->(b)",
    ]);
    let query = "MATCH (a:P)-[:K]->(:P) RETURN a.id AS id, count(*) AS n ORDER BY id LIMIT 3";
    let shown = plan(&db, query);
    assert!(shown.contains("ExpandCount"), "{shown}");
    let counts = |rows: Vec<Vec<Value>>| -> Vec<i64> {
        let count = |row: &Vec<Value>| match row[1] {
            Value::Int(count) => count,
            ref other => panic!("{other:?}"),
        };
        rows.iter().map(count).collect()
    };
    assert_eq!(counts(rows(&db, query)), [34, 33, 33]);
    let session = Session::new(&db);
    let (mut transaction, none) = (session.begin().unwrap(), ValueMap::new());
    transaction.run("MATCH (n:P) WHERE n.id > 90 REMOVE n:P", &none).unwrap();
    assert_eq!(counts(transaction.run(query, &none).unwrap().rows), [31, 30, 30]);
    transaction.rollback();
    assert_eq!(counts(rows(&db, query)), [34, 33, 33]);
}

#[test]
fn ends_that_are_wanted_once_are_searched_for_once() {
    for seed in [1, 2, 3, 4, 5, 6, 7, 8] {
        // Few relationships: some nodes are on no circle.
        let db = tangle(seed);
        rows(&db, "MATCH ()-[r:K]->() WHERE r.w % 3 <> 0 DELETE r");
        for arrow in ["-[rs:K*1..3]->", "-[rs:K*1..3]-", "-[rs:K*1..2]-", "<-[rs:K*0..2]-"] {
            for rest in ["(b:P)", "(b:P)-[:L]-(c)", "(b:P) WHERE a.g = b.g"] {
                let unread = arrow.replace("rs", "");
                let query = format!("MATCH (a:P){unread}{rest} RETURN DISTINCT a.id, b.id");
                let plain = format!(
                    "MATCH (a:P){arrow}{rest} WITH a, b, size(rs) AS n RETURN DISTINCT a.id, b.id"
                );
                same(&db, "PruningVarExpand", &query, &plain, 1);
            }
        }
        let query = "MATCH (a:P)-[:K*1..4 {w: 3}]-(b) RETURN a.id, count(DISTINCT b)";
        let plain = "MATCH (a:P)-[rs:K*1..4 {w: 3}]-(b) \
                     WITH a, b, size(rs) AS n RETURN a.id, count(DISTINCT b)";
        assert_eq!(rows(&db, query), rows(&db, plain));
        let query = "MATCH (a:P) RETURN a.id, EXISTS { (a)-[:K*1..3]-(a) }";
        let plain = "MATCH (a:P) RETURN a.id, size([p = (a)-[:K*1..3]-(a) | p]) > 0";
        same(&db, "PruningVarExpand", query, plain, 12);
    }
}

#[test]
fn hints_are_followed_where_they_can_be() {
    let db = tangle(2);
    rows(&db, "CREATE INDEX by_id FOR (n:P) ON (n.id)");
    rows(&db, "CREATE INDEX by_group FOR (n:P) ON (n.g)");
    let query = |hint: &str| {
        format!("MATCH (a:P {{id: 3}})-[:K]->(b:P {{g: 1}}) {hint} WHERE a.g = 0 RETURN a.id, b.id")
    };
    let plain = rows(&db, &query(""));
    for (hint, shown) in [
        ("", "a.id = 3"),
        ("USING INDEX a:P(id)", "(a:P(id))"),
        ("USING INDEX b:P(g)", "(b:P(g))"),
        ("USING INDEX SEEK a:P(g)", "(a:P(g))"),
        ("USING SCAN a:P", "NodeByLabelScan"),
        ("USING INDEX a:P(id) USING INDEX b:P(g)", "(b:P(g))"),
        ("USING INDEX a:P(nothing)", "(a:P(id))"),
    ] {
        let query = query(hint);
        let plan = plan(&db, &query);
        assert!(plan.contains(shown), "{query}\n{plan}");
        assert_eq!(rows(&db, &query), plain, "{query}\n{plan}");
    }
    let lost = Session::new(&db).run("MATCH (a:P) USING INDEX c:P(id) RETURN a", &[]);
    assert!(lost.is_err());
}

#[test]
fn a_join_that_writes_behind_it_sees_what_was_written_before() {
    let db = database(&["UNWIND range(1, 20) AS i CREATE (:A {i: i}), (:B {i: i})"]);
    let query = "MATCH (a:A) SET a.i = a.i + 100 WITH count(*) AS n \
                 MATCH (a:A), (b:B) WHERE a.i = b.i + 100 RETURN n, count(*) AS found";
    assert_eq!(rows(&db, query), [[Value::Int(20), Value::Int(20)]]);
    let query = "MATCH (a:A), (b:B) WHERE a.i = b.i + 100 CREATE (a)-[:R]->(b) \
                 WITH count(*) AS made MATCH (:A)-[r:R]->(:B) RETURN made, count(r) AS found";
    assert_eq!(rows(&db, query), [[Value::Int(20), Value::Int(20)]]);
}

#[test]
fn rows_are_held_back_only_where_they_could_be_found_again() {
    let db = database(&["UNWIND range(1, 3000) AS i CREATE (:A {i: i}), (:B {i: i})"]);
    rows(&db, "CREATE INDEX FOR (n:A) ON (n.i)");
    for (query, held) in [
        ("UNWIND range(1, 5000) AS i MATCH (a:A {i: i}) CREATE (a)-[:R]->(:C)", false),
        ("MATCH (a:A) CREATE (:C)-[:S]->(a)", false),
        ("MATCH (a:A) CREATE (:A {new: true})", true),
        ("MATCH (a) CREATE (:C)", true),
        ("MATCH (a:A) WHERE NOT EXISTS { (a)-[:T]->() } CREATE (a)-[:T]->(a)", true),
        ("MATCH (a:A)-[:R]->(c) CREATE (a)-[:U]->(c)", true),
        ("MATCH (a:A) WITH a LIMIT 2 CREATE (:$(a.label))", true),
    ] {
        assert_eq!(plan(&db, query).contains("Eager"), held, "{query}");
    }
    let count = |query: &str| rows(&db, query)[0][0].clone();
    rows(&db, "UNWIND range(1, 5000) AS i MATCH (a:A {i: i}) CREATE (a)-[:R]->(:C)");
    assert_eq!(count("MATCH (:A)-[r:R]->(c:C) RETURN count(DISTINCT c)"), Value::Int(3000));
    rows(&db, "MATCH (a:A) CREATE (:C)-[:S]->(a)");
    assert_eq!(count("MATCH (c:C)-[:S]->(a:A) RETURN count(DISTINCT a)"), Value::Int(3000));
    rows(&db, "MATCH (a:A) CREATE (:A {new: true})");
    assert_eq!(count("MATCH (a:A) RETURN count(*)"), Value::Int(6000));
}
