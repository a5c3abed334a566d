//! Plans that take short cuts find what the long way finds.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::{Procedures, prepare};
use telar_db::{Database, IndexSpec, IndexTarget, Session, Value};

fn session(db: &Database) -> Session {
    Session::new(db)
}

fn rows(db: &Database, query: &str) -> Vec<Vec<Value>> {
    session(db).run(query, &[]).unwrap_or_else(|e| panic!("{query}: {e}")).rows
}

fn sorted(db: &Database, query: &str) -> Vec<Vec<Value>> {
    let mut rows = rows(db, query);
    rows.sort();
    rows
}

fn database(statements: &[&str]) -> Database {
    let db = telar_db::open_in_memory().unwrap();
    for statement in statements {
        rows(&db, statement);
    }
    db
}

#[test]
fn lists_and_alternatives_go_through_an_index() {
    let make = [
        "UNWIND range(0, 99) AS i CREATE (:A {id: i, group: i % 7, name: toString(i % 10)})",
        "MATCH (a:A), (b:A) WHERE b.id = (a.id * 3) % 100 CREATE (a)-[:R]->(b)",
        "CREATE (:A {id: 1.0}), (:A), (:B {id: 3})",
    ];
    let (plain, indexed) = (database(&make), database(&make));
    let label = IndexTarget::Vertices(indexed.label("A").unwrap());
    for keys in [&["id"][..], &["group", "name"]] {
        let properties = keys.iter().map(|key| indexed.property_key(key).unwrap()).collect();
        let spec = IndexSpec { name: keys.join(" "), target: label, properties };
        indexed.create_index(spec).unwrap();
    }
    for condition in [
        "a.id IN [3, 5, 3, null, 700]",
        "a.id IN [1, 1.0, 'x']",
        "a.id IN []",
        "a.id IN null",
        "a.id IN [[1], {a: 1}]",
        "a.id = 4 OR a.id = 9 OR a.id = 4",
        "(a.id = 4 AND a.group = 4) OR (a.group < 3 AND a.id = 8)",
        "a.group = 3 AND a.name IN ['3', '4']",
        "a.group IN [3, 4] AND a.name = '3'",
        "a.id IN [x IN range(0, 5) | x * x]",
        "5 = a.id OR a.id IN [6]",
        "a.id = 5 OR a.group = 2",
    ] {
        let query = format!("MATCH (a:A) WHERE {condition} RETURN a.id, a.group, a.name");
        assert_eq!(sorted(&plain, &query), sorted(&indexed, &query), "{condition}");
    }
    // Values that another node brings: of each row its own.
    let query = "MATCH (b:B) MATCH (a:A)-[:R]->(c:A) \
                 WHERE (a.id = b.id AND c.id = 9) OR (a.id = 9 AND c.id = b.id) RETURN a.id, c.id";
    assert_eq!(sorted(&plain, query), sorted(&indexed, query));
    assert_eq!(rows(&indexed, query).len(), 1);
    for condition in ["a.id IN [1, 2]", "a.id = 1 OR a.id = 2", "a.group IN [1] AND a.name = '1'"] {
        let explain = format!("EXPLAIN MATCH (a:A) WHERE {condition} RETURN a");
        let plan = session(&indexed).run(&explain, &[]).unwrap().plan.unwrap().to_string();
        assert!(plan.contains("NodeIndexSeek"), "{plan}");
    }
    let wrong = session(&indexed).run("MATCH (a:A) WHERE a.id IN 5 RETURN a", &[]);
    assert!(wrong.is_err());
}

#[test]
fn the_first_rows_are_those_of_a_full_sort() {
    let db = database(&["UNWIND range(0, 9999) AS i CREATE (:N {i: i, k: (i * 7919) % 101})"]);
    for order in ["n.k", "n.k DESC", "n.k DESC, n.i", "n.i % 5, n.k DESC, n.i DESC", "-n.i"] {
        let query = |rest: &str| {
            let text =
                format!("MATCH (n:N) RETURN n.k AS k, n.i AS i, 2 * n.i AS late ORDER BY {order}");
            rows(&db, &(text + rest))
        };
        let all = query("");
        assert_eq!(all.len(), 10_000);
        for (skip, limit) in [(0, 0), (0, 1), (0, 20), (3, 2500), (9_990, 20), (0, 20_000)] {
            let some = query(&format!(" SKIP {skip} LIMIT {limit}"));
            let want = &all[skip.min(all.len())..(skip + limit).min(all.len())];
            assert_eq!(some, want, "{order} {skip} {limit}");
        }
    }
    // Sorting by what is returned, by what is not, and by one made of the other.
    let first = |query: &str| rows(&db, query).remove(0);
    let query = "MATCH (n:N) WITH n, n.i AS i, n.k AS k ORDER BY i + k DESC LIMIT 1 \
                 WHERE k >= 0 RETURN i, k, n.i + n.k";
    let want = first("MATCH (n:N) RETURN max(n.i + n.k) AS m");
    assert_eq!(first(query)[2], want[0]);
    assert!(rows(&db, "MATCH (n:N) RETURN n.i AS i ORDER BY i LIMIT 0").is_empty());
}

#[test]
fn columns_that_nobody_reads_change_nothing() {
    let db = database(&[
        "UNWIND range(0, 9) AS i CREATE (:P {id: i})",
        "MATCH (a:P), (b:P) WHERE b.id = a.id + 1 OR b.id = a.id * 2 AND a.id > 1 \
         CREATE (a)-[:K {w: a.id}]->(b)",
        "MATCH (a:P) WHERE a.id % 3 = 0 CREATE (a)-[:T]->(:Q {name: 'q' + toString(a.id)})",
    ]);
    let one = |query: &str| rows(&db, query).into_iter().flatten().collect::<Vec<_>>();
    let ints = |values: &[i64]| values.iter().map(|v| Value::Int(*v)).collect::<Vec<_>>();
    let cases: [(&str, &[i64]); 10] = [
        ("MATCH (a:P)-[r:K]->(b)-[s:K]->(c) RETURN count(*)", &[15]),
        ("MATCH (a:P)-[r:K]->(b) OPTIONAL MATCH (b)-[:T]->(q) WITH a, q RETURN count(q)", &[4]),
        ("MATCH (a:P) WHERE EXISTS { MATCH (a)-[:K]->(b) WHERE b.id = 8 } RETURN a.id", &[4, 7]),
        ("MATCH (a:P {id: 4}) RETURN size([(a)-[r:K]->(b) WHERE b.id > 5 | b.id + a.id])", &[1]),
        (
            "MATCH (a:P {id: 2}) CALL { WITH a MATCH (a)-[:K]->(b) RETURN max(b.id) AS m } RETURN m",
            &[4],
        ),
        ("MATCH (a:P {id: 1})-[:K*1..2]->(b) RETURN DISTINCT b.id AS id ORDER BY id", &[2, 3, 4]),
        ("MATCH (a:P {id: 1})-[rs:K*2]->(b) RETURN size(rs) + rs[0].w ORDER BY 1", &[3, 3]),
        ("MATCH (a:P {id: 1}) RETURN COUNT { (a)-[:K*1..2]->(x) WHERE x.id > 2 }", &[2]),
        (
            "MATCH (a:P {id: 0}) RETURN a.id AS x UNION MATCH (b:P {id: 9}) RETURN b.id AS x",
            &[0, 9],
        ),
        ("MATCH (a:P) WITH a, a.id AS id, 5 AS dead ORDER BY id LIMIT 2 RETURN id", &[0, 1]),
    ];
    for (query, want) in cases {
        let mut found = one(query);
        found.sort();
        assert_eq!(found, ints(want), "{query}");
    }
    rows(&db, "MATCH (a:P {id: 0}), (b:P {id: 5}) MERGE (a)-[r:K]->(b) ON CREATE SET r.w = b.id");
    assert_eq!(one("MATCH (:P {id: 0})-[r:K]->({id: 5}) RETURN r.w"), ints(&[5]));
    rows(
        &db,
        "MATCH (a:P)-[:T]->(q) FOREACH (x IN [1, 2] | SET q.n = coalesce(q.n, 0) + x + a.id)",
    );
    assert_eq!(one("MATCH (q:Q) RETURN sum(q.n)"), ints(&[4 * 3 + 2 * 18]));
}

#[test]
fn labels_are_tested_as_written() {
    let db = database(&["CREATE (), (:A), (:B), (:C), (:A:B), (:A:C), (:B:C), (:A:B:C)"]);
    let count = |query: &str| rows(&db, query)[0][0].clone();
    for (labels, want) in [
        ("A", 4),
        ("A&B", 2),
        ("A|B", 6),
        ("!A", 4),
        ("%", 7),
        ("!%", 1),
        ("(A|B)&!C", 3),
        ("A&!(B&C)", 3),
        ("Unknown", 0),
        ("!Unknown&A", 4),
    ] {
        // Tested on a node that is known already, and on one that may be null.
        let query = format!("MATCH (n) WITH n WHERE n:{labels} RETURN count(*)");
        assert_eq!(count(&query), Value::Int(want), "{labels}");
        let query = format!(
            "UNWIND [1, 2] AS i OPTIONAL MATCH (n) WHERE i = 1 \
             WITH n WHERE n:{labels} RETURN count(*)"
        );
        assert_eq!(count(&query), Value::Int(want), "{labels} or null");
    }
    // Labels that the same transaction changed.
    let query = "MATCH (n:A) SET n:D REMOVE n:A WITH collect(n) AS ns UNWIND ns AS n \
                 WITH n WHERE n:D&!A RETURN count(*)";
    assert_eq!(count(query), Value::Int(4));
}

#[test]
fn shortest_paths_are_the_shortest_of_all() {
    let db = database(&[
        "UNWIND range(0, 8) AS i CREATE (:V {id: i})",
        "UNWIND range(0, 8) AS i UNWIND [1, 4, 6] AS s MATCH (a:V {id: i}), (b:V {id: (i * s + s) % 9}) \
         CREATE (a)-[:E]->(b)",
        "MATCH (a:V {id: 3}) CREATE (a)-[:E]->(a)",
    ]);
    for arrow in ["-[:E*]->", "<-[:E*]-", "-[:E*]-"] {
        let bounded = arrow.replace('*', "*1..4");
        let all = format!(
            "MATCH p = (a:V){bounded}(b:V) WHERE a <> b WITH a.id AS a, b.id AS b, length(p) AS l \
             WITH a, b, collect(l) AS ls RETURN a, b, reduce(m = 9, l IN ls | \
             CASE WHEN l < m THEN l ELSE m END) AS m, ls ORDER BY a, b"
        );
        let find = |function: &str| {
            let query = format!(
                "MATCH (a:V), (b:V) WHERE a <> b MATCH p = {function}((a){arrow}(b)) \
                 RETURN a.id AS a, b.id AS b, length(p) AS l, count(*) AS n ORDER BY a, b"
            );
            rows(&db, &query)
        };
        let (one, every) = (find("shortestPath"), find("allShortestPaths"));
        let want = rows(&db, &all);
        assert!(want.len() > 20 && want.len() == one.len() && one.len() == every.len(), "{arrow}");
        for ((want, one), every) in want.iter().zip(&one).zip(&every) {
            let Value::List(lengths) = &want[3] else { panic!() };
            let paths = lengths.iter().filter(|l| **l == want[2]).count() as i64;
            assert_eq!(one[..], [want[..3].to_vec(), vec![Value::Int(1)]].concat()[..], "{arrow}");
            assert_eq!(every[..], [want[..3].to_vec(), vec![Value::Int(paths)]].concat()[..]);
        }
    }
}

/// Each row reads the edges that those before it wrote, in the same transaction.
#[test]
fn many_relationships_are_merged_in_one_transaction() {
    const ROWS: i64 = 20_000;
    let db = database(&["UNWIND range(0, 499) AS i CREATE (:M {id: i})"]);
    let spec = IndexSpec {
        name: "m".to_owned(),
        target: IndexTarget::Vertices(db.label("M").unwrap()),
        properties: vec![db.property_key("id").unwrap()],
    };
    db.create_index(spec).unwrap();
    let merge = format!(
        "UNWIND range(0, {} - 1) AS i MATCH (a:M {{id: i % 500}}), (b:M {{id: (i * 7) % 450}}) \
         MERGE (a)-[r:R]->(b) ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1",
        ROWS
    );
    rows(&db, &merge);
    let pairs: std::collections::HashSet<_> = (0..ROWS).map(|i| (i % 500, (i * 7) % 450)).collect();
    let found = rows(&db, "MATCH (:M)-[r:R]->(:M) RETURN count(*), sum(r.n)");
    assert_eq!(found, [[Value::Int(pairs.len() as i64), Value::Int(ROWS)]]);
}

/// Work is counted, not timed: how often planning asks an operator for its rows.
#[test]
fn planning_looks_at_each_operator_of_a_long_query_a_few_times() {
    let db = database(&["CREATE (:A)-[:R]->(:B)-[:R]->(:B)"]);
    let reader = db.reader().unwrap();
    let procedures = Procedures::builtin();
    let first = "MATCH (b:A)-[:R]->(c:B) WITH c AS b ";
    for clause in [
        "MATCH (b)-[:R]->(c:B) WITH c AS b ",
        "OPTIONAL MATCH (b)-[:R]->(c:B) WITH coalesce(c, b) AS b ",
        "MATCH (b) WHERE EXISTS { (b)-[:R]->(:B) } WITH b LIMIT 5 ",
        "CALL (b) { MATCH (b)-[:R]->(c:B) RETURN c } WITH c AS b ",
        "UNWIND [1, 2] AS x MATCH (b)-[:R]->(c:B) WITH c AS b, count(*) AS n WITH b ",
        "MERGE (b)-[:R]->(:B) WITH b MATCH (b)-[:R]->(c:B) WITH c AS b ",
    ] {
        let work = |clauses: usize| {
            let text = format!("{first}{} RETURN b", clause.repeat(clauses));
            prepare(&text, &reader, &procedures).unwrap().estimates()
        };
        let (few, many) = (work(20), work(80));
        assert!((20..20 * 20).contains(&few), "{few} for 20 times {clause}");
        assert!(many <= 4 * few, "{few} for 20 times, {many} for 80 times {clause}");
    }
}
