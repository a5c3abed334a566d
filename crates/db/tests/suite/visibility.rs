//! Which writes a clause sees: no clause its own, every clause those before it, and `SET` and
//! `MERGE` row by row. Queries that would run forever, or stop too soon, if this were wrong.

use crate::common;

use common::fresh_examples;

#[test]
fn a_clause_does_not_match_what_it_creates() {
    fresh_examples(
        "CREATE (:A {i: 1})-[:R]->(:A {i: 2})",
        &[
            (
                "MATCH (a:A) CREATE (:A {i: a.i + 10}); MATCH (a:A) RETURN a.i",
                &["1", "11", "12", "2"],
            ),
            ("MATCH (a) CREATE (b) RETURN count(*); MATCH (n) RETURN count(n)", &["4"]),
            ("MATCH (a), (b) CREATE (c:C); MATCH (c:C) RETURN count(c)", &["4"]),
            (
                "MATCH (a)-[:R]->(b) CREATE (b)-[:R]->(c:A) RETURN count(*);
                 MATCH ()-[r:R]->() RETURN count(r)",
                &["2"],
            ),
            // A path that would grow while it is followed.
            (
                "MATCH (a {i: 1})-[:R*]->(b) CREATE (b)-[:R]->(:A) RETURN count(*);
                 MATCH ()-[r:R]->() RETURN count(r)",
                &["2"],
            ),
            ("UNWIND [1, 2] AS x MATCH (a:A) CREATE (:A); MATCH (a:A) RETURN count(a)", &["6"]),
            (
                "MATCH (a:A) WHERE NOT (a)-[:R]->() CREATE (a)-[:R]->(:A {i: 3});
                 MATCH ()-[:R]->(b) RETURN b.i",
                &["2", "3"],
            ),
            ("MATCH (a:A) MERGE (b:A {i: a.i + 1}); MATCH (a:A) RETURN a.i", &["1", "2", "3"]),
            // Copies of all, with their relationships.
            (
                "MATCH (a)-[r]->(b) CREATE (x:A)-[:R]->(y:A) WITH x, y MATCH (m)-[:R]->(n)
                 RETURN count(*)",
                &["2"],
            ),
        ],
    );
}

#[test]
fn deleting() {
    fresh_examples(
        "CREATE (a:A {i: 1})-[:R]->(b:A {i: 2})-[:R]->(c:A {i: 3}), (a)-[:R]->(c)",
        &[
            ("MATCH (a:A) DETACH DELETE a; MATCH (n) RETURN count(n)", &["0"]),
            ("MATCH (a:A {i: 1}) DETACH DELETE a WITH 1 AS x MATCH (n) RETURN n.i", &["2", "3"]),
            (
                "MATCH (a)-[r]->(b) DELETE r WITH count(*) AS n MATCH (x) WHERE NOT (x)--()
              RETURN n, x.i",
                &["3 | 1", "3 | 2", "3 | 3"],
            ),
            // Nodes met in several rows, and with their relationships in one clause.
            ("MATCH (a)-[r]->(b) DELETE a, r, b RETURN count(*); MATCH (n) RETURN n", &[]),
            ("MATCH (a)-[r]->(b) DETACH DELETE a; MATCH (n) RETURN n.i", &["3"]),
            ("MATCH (a)--(b) DELETE a", &["DeleteConnectedNode..."]),
            // Relationships that another row would still follow.
            (
                "MATCH (a {i: 1})-[r*]->(c {i: 3}) FOREACH (x IN r | DELETE x) RETURN count(*);
              MATCH ()-[r]->() RETURN count(r)",
                &["0"],
            ),
            (
                "MATCH (a:A) DETACH DELETE a WITH a CREATE (:B) RETURN count(*);
              MATCH (n) RETURN labels(n)",
                &["['B']", "['B']", "['B']"],
            ),
            (
                "MATCH (a:A {i: 1}) DETACH DELETE a CREATE (b:A {i: 1}) WITH 1 AS x
              MATCH (n {i: 1}) RETURN count(n)",
                &["1"],
            ),
            ("MATCH (a:A {i: 1}) DETACH DELETE a RETURN a.i", &["DeletedEntityAccess..."]),
            ("MATCH (a:A {i: 1}) DETACH DELETE a CREATE (a)-[:R]->()", &["..."]),
        ],
    );
}

/// Relationships that are left of a deleted node are found when the statement commits.
#[test]
fn deleting_nodes_before_their_relationships() {
    let left = "DeleteConnectedNode: DeleteConnectedNode: Cannot delete node<0>, because it still \
                has relationships. To delete this node, you must first delete its relationships.";
    fresh_examples(
        "CREATE (a:A {i: 1})-[:R {w: 7}]->(b:B {i: 2})-[:R]->(c:C {i: 3}), (a)-[:S]->(a)",
        &[
            ("MATCH (a:A) DELETE a", &[left]),
            ("MATCH (a:A) DELETE a RETURN 1", &[left]),
            ("MATCH (a:A) DELETE a CREATE (:D) WITH 1 AS x MATCH (n) RETURN n", &[left]),
            ("MATCH (a:A) WITH a, 1 AS x DELETE a WITH x MATCH (n) RETURN 1 / 0", &["Division..."]),
            // In one clause after the other.
            (
                "MATCH (n)-[r]->() DELETE n DELETE r; MATCH (n) RETURN n.i",
                &["3"],
            ),
            ("MATCH (n)-[r]->() FOREACH (x IN [n, r] | DELETE x); MATCH (n) RETURN n.i", &["3"]),
            ("MATCH (n) OPTIONAL MATCH (n)-[r]->() DELETE n DELETE r; MATCH (n) RETURN n", &[]),
            ("MATCH (a:A) DELETE a DETACH DELETE a; MATCH (n) RETURN n.i", &["2", "3"]),
            // By the other end.
            (
                "MATCH (b:B) DELETE b WITH 1 AS x MATCH (c:C)--(b) RETURN c.i",
                &["DeleteConnectedNode..."],
            ),
            (
                "MATCH (b:B) DELETE b WITH 1 AS x MATCH (n)-[r]-() DETACH DELETE n; \
                 MATCH (n) RETURN n",
                &[],
            ),
            (
                "MATCH (b:B)-[r]-() WITH b, collect(r) AS all DELETE b FOREACH (r IN all | DELETE r)
                 WITH 1 AS x MATCH (n) RETURN n.i, COUNT { (n)--() }",
                &["1 | 1", "3 | 0"],
            ),
            // What is left of the node, and what is not.
            (
                "MATCH (b:B)-[r]-() WITH b, collect(r) AS all DELETE b WITH b, all
                 OPTIONAL MATCH (b)--(x) FOREACH (r IN all | DELETE r) RETURN x",
                &["null"],
            ),
            // All relationships: from whichever end they are looked for.
            ("MATCH (n) DELETE n WITH count(*) AS x MATCH ()-[r]->() DELETE r RETURN x", &["3"; 3]),
            ("MATCH (n) DELETE n WITH count(*) AS x MATCH ()-[r]-() DELETE r", &[]),
            (
                "MATCH (n) DELETE n WITH count(*) AS x MATCH ()-[r:S]->() DELETE r
                 WITH DISTINCT x MATCH ()<-[r:R]-() DELETE r RETURN x",
                &["3", "3"],
            ),
            ("MATCH (b:B) DELETE b RETURN b.i", &["DeletedEntityAccess..."]),
            ("MATCH (b:B), (c:C) DELETE b CREATE (c)-[:R]->(b)", &["..."]),
        ],
    );
}

#[test]
fn merging() {
    fresh_examples(
        "CREATE (:A {i: 1}), (:A {i: 2})",
        &[
            // Twice in one query: the second finds what the first made.
            ("MERGE (x:X {i: 1}) MERGE (y:X {i: 1}) RETURN x = y", &["true"]),
            (
                "UNWIND [1, 1, 2, 1] AS i MERGE (x:X {i: i}) RETURN count(*), count(DISTINCT x)",
                &["4 | 2"],
            ),
            (
                "UNWIND [1, 1, 2] AS i MERGE (x:X {i: i}) ON CREATE SET x.n = 1
                     ON MATCH SET x.n = x.n + 1; MATCH (x:X) RETURN x.i, x.n",
                &["1 | 2", "2 | 1"],
            ),
            ("UNWIND range(1, 3000) AS i MERGE (x:X {i: i % 3}) RETURN count(DISTINCT x)", &["3"]),
            (
                "MATCH (a:A) MERGE (x:X) MERGE (a)-[:R]->(x); MATCH (:A)-[r:R]->(x:X)
                 RETURN count(r), count(DISTINCT x)",
                &["2 | 1"],
            ),
            ("MATCH (a:A), (b:A) MERGE (a)-[r:R]-(b); MATCH ()-[r:R]->() RETURN count(r)", &["3"]),
            (
                "MATCH (a:A) MERGE (b:A {i: a.i}) RETURN count(*); MATCH (a:A) RETURN count(a)",
                &["2"],
            ),
            (
                "MERGE (a:A {i: 1}) MERGE (a)-[:R]->(b:B {i: 9}) MERGE (a)-[:R]->(c:B {i: 9})
                 RETURN b = c",
                &["true"],
            ),
            // Matches several: all of them go on.
            ("MERGE (a:A) RETURN a.i", &["1", "2"]),
            ("CREATE (:X) MERGE (x:X) RETURN count(x)", &["1"]),
            (
                "UNWIND ['a', 'b', 'a'] AS n MERGE (p:P {n: n}) WITH p, count(*) AS c
                 RETURN p.n, c",
                &["'a' | 2", "'b' | 1"],
            ),
        ],
    );
}

#[test]
fn setting() {
    fresh_examples(
        "CREATE (:A {i: 1}), (:A {i: 2}), (:A {i: 3})",
        &[
            // A property that the search is by.
            (
                "MATCH (a:A) WHERE a.i < 10 SET a.i = a.i + 1; MATCH (a:A) RETURN a.i",
                &["2", "3", "4"],
            ),
            ("MATCH (a:A {i: 1}) SET a.i = 2 WITH a MATCH (b:A {i: 2}) RETURN count(b)", &["2"]),
            // Row by row: each sees what those before it set.
            (
                "MATCH (a:A {i: 1}) UNWIND [1, 2, 3] AS x SET a.sum = coalesce(a.sum, 0) + x;
              MATCH (a:A {i: 1}) RETURN a.sum",
                &["6"],
            ),
            (
                "MATCH (a:A {i: 1}), (b:A {i: 2}) SET a.i = b.i, b.i = a.i RETURN a.i, b.i",
                &["2 | 2"],
            ),
            (
                "MATCH (a:A) SET a:B REMOVE a:A WITH count(a) AS n OPTIONAL MATCH (x:A)
              RETURN n, count(x)",
                &["3 | 0"],
            ),
            ("MATCH (a:A) REMOVE a:A; MATCH (n) RETURN labels(n)", &["[]", "[]", "[]"]),
            ("MATCH (a:A) SET a = {j: a.i} RETURN a.i, a.j", &["null | 1", "null | 2", "null | 3"]),
            ("MATCH (a:A {i: 1}) SET a += {i: null, k: 5} RETURN a.i, a.k", &["null | 5"]),
            ("OPTIONAL MATCH (x:None) SET x.i = 1 RETURN x", &["null"]),
            // Items of one clause read before they write; those of the next one read it.
            ("MATCH (a:A {i: 3}) SET a.i = 5, a.j = a.i RETURN a.j", &["3"]),
            ("MATCH (a:A {i: 3}) SET a.i = 5 SET a.j = a.i RETURN a.j", &["5"]),
            ("MATCH (a:A) SET a.n = COUNT { (:A) } RETURN DISTINCT a.n", &["3"]),
        ],
    );
}

#[test]
fn an_error_undoes_everything() {
    fresh_examples("CREATE (:A {i: 1}), (:A {i: 0})", &[("MATCH (a:A) RETURN a.i", &["0", "1"])]);
    let db = common::database("CREATE (:A {i: 1}), (:A {i: 0})");
    let session = telar_db::Session::new(&db);
    for query in [
        "CREATE (:B) WITH 1 AS x MATCH (a:A) SET a.i = 1 / a.i",
        "MATCH (a:A) DELETE a CREATE (:B) WITH 1 AS x RETURN 1 / 0",
        "FOREACH (i IN [1, 0] | CREATE (:B {i: 1 / i}))",
        "UNWIND [1, null] AS i MERGE (:B {i: i})",
    ] {
        assert!(session.run(query, &[]).is_err(), "{query}");
        assert_eq!(
            common::rows(&session, "MATCH (n) RETURN labels(n), n.i"),
            ["['A'] | 0", "['A'] | 1"]
        );
    }
}
