//! Finer points of `SET`, `REMOVE`, `MERGE` and names, as Neo4j has them.

use crate::common;

use common::{examples, fresh_examples};
use telar_db::Session;

#[test]
fn items_of_one_set_read_before_they_write() {
    fresh_examples(
        "CREATE (:N {u: 1, v: 2, s: 3})-[:R {u: 1, v: 2}]->(:M {u: 5})",
        &[
            ("MATCH (a:N) SET a.u = a.v, a.v = a.u RETURN a.u, a.v", &["2 | 1"]),
            ("MATCH ()-[r]->() SET r.u = r.v, r.v = r.u RETURN r.u, r.v", &["2 | 1"]),
            ("MATCH (a:N) SET a.s = 5, a.x = a.s + 1 RETURN a.s, a.x", &["5 | 4"]),
            ("MATCH (a:N) SET a.s = 5, a.s = a.s + 1 RETURN a.s", &["4"]),
            ("MATCH (a:N) SET a.u = null, a.x = a.u RETURN a.u, a.x", &["null | 1"]),
            (
                "MATCH (a:N) SET a.u = a.v, a.v = a.s, a.s = a.u RETURN a.u, a.v, a.s",
                &["2 | 3 | 1"],
            ),
            // Of several clauses, and of several kinds of items, each sees those before it.
            ("MATCH (a:N) SET a.u = a.v SET a.v = a.u RETURN a.u, a.v", &["2 | 2"]),
            ("MATCH (a:N) SET a += {s: 5}, a.x = a.s RETURN a.s, a.x", &["5 | 5"]),
            ("MATCH (a:N) SET a.s = 5, a += {x: a.s} RETURN a.s, a.x", &["5 | 5"]),
            ("MATCH (a:N) SET a = {s: 7}, a.x = a.s RETURN a.s, a.x, a.u", &["7 | 7 | null"]),
            ("MATCH (a:N) SET a:L, a.x = size(labels(a)) RETURN a.x", &["2"]),
            // So do those on different variables, which may be one node.
            ("MATCH (a:N), (b:M) SET a.u = b.u, b.u = a.u RETURN a.u, b.u", &["5 | 5"]),
            ("MATCH (a:N), (b:N) SET a.u = 9, b.v = a.u RETURN a.u, a.v", &["9 | 9"]),
            ("MATCH (a:N), (b:M) SET a.u = 8, b.u = a.u, a.v = b.u RETURN a.v, b.u", &["8 | 8"]),
            // In MERGE and FOREACH as well.
            ("MERGE (a:N {u: 1}) ON MATCH SET a.u = a.v, a.v = a.u RETURN a.u, a.v", &["2 | 1"]),
            (
                "MATCH (a:N) FOREACH (i IN [1] | SET a.u = a.v, a.v = a.u) RETURN a.u, a.v",
                &["2 | 1"],
            ),
            // Row by row: each sees what the row before it did.
            (
                "MATCH (a:N) UNWIND [1, 2, 3] AS i SET a.u = a.u + i WITH DISTINCT a RETURN a.u",
                &["7"],
            ),
        ],
    );
}

#[test]
fn what_is_deleted_has_no_properties_to_change() {
    fresh_examples(
        "CREATE (:P {id: 1})-[:R {w: 1}]->(:P {id: 2})",
        &[
            ("MATCH (n:P) DETACH DELETE n SET n.q = 1; MATCH (n) RETURN n", &[]),
            ("MATCH (n:P) DETACH DELETE n REMOVE n.id; MATCH (n) RETURN n", &[]),
            ("MATCH (n:P) DETACH DELETE n SET n += {q: 1}; MATCH (n) RETURN n", &[]),
            ("MATCH (n:P) DETACH DELETE n SET n = {q: 1}; MATCH (n) RETURN n", &[]),
            ("MATCH (n:P {id: 1}) DETACH DELETE n RETURN n {.*} AS m", &["{}"]),
            ("MATCH (n:P {id: 1}) DETACH DELETE n RETURN n {.*, x: 1} AS m", &["{x: 1}"]),
            ("MATCH ()-[r]->() DELETE r SET r.w = 2; MATCH ()-[r]->() RETURN r", &[]),
            ("MATCH (n)-[r]->() DETACH DELETE n SET r.w = 2; MATCH ()-[r]->() RETURN r", &[]),
            ("MATCH ()-[r]->() DELETE r RETURN r {.*} AS m", &["{}"]),
            (
                "MATCH (a:P {id: 1}), (b:P {id: 2}) DETACH DELETE a SET b += a; MATCH (n) RETURN n.id",
                &["2"],
            ),
            ("MATCH (a), (b) DETACH DELETE a SET b = a; MATCH (n) RETURN n", &[]),
            (
                "MATCH (n:P) FOREACH (i IN [1] | DETACH DELETE n SET n.x = i); MATCH (n) RETURN n",
                &[],
            ),
            ("MATCH (n:P) CALL (n) { DETACH DELETE n SET n.x = 1 }; MATCH (n) RETURN n", &[]),
            // To read one, or to give it a label, is an error.
            ("MATCH (n:P) DETACH DELETE n RETURN n.id", &["DeletedEntityAccess..."]),
            ("MATCH (n:P) DETACH DELETE n RETURN labels(n)", &["DeletedEntityAccess..."]),
            ("MATCH (n:P) DETACH DELETE n SET n:Gone", &["DeletedEntityAccess..."]),
        ],
    );
    // Nothing is counted for it.
    let db = common::database("CREATE (:P {id: 1})");
    let query = "MATCH (n:P) DETACH DELETE n SET n.q = 1, n += {r: 2} REMOVE n.id";
    let result = Session::new(&db).run(query, &[]).unwrap();
    assert_eq!((result.counters.properties_set, result.counters.nodes_deleted), (0, 1));
}

#[test]
fn merge_may_read_its_own_pattern() {
    fresh_examples(
        "",
        &[
            ("MERGE (a:Q {foo: 1})-[:T]->(b:Q {foo: a.foo}) RETURN a.foo, b.foo", &["1 | 1"]),
            (
                "MERGE (a:Q {foo: 1})-[:T]->(b:Q {foo: a.foo + 1}) MERGE (c:Q {foo: 1})-[:T]->(d:Q
                 {foo: c.foo + 1}); MATCH (q:Q) RETURN q.foo",
                &["1", "2"],
            ),
            ("MERGE (a:Q {foo: 1})-[t:T {w: a.foo}]->(b:Q); MATCH ()-[t:T]->() RETURN t.w", &["1"]),
            ("MERGE (a:Q {foo: 1})-[:T]->(b:Q {foo: a.bar})", &["MergeReadOwnWrites..."]),
            ("MERGE (a:Q {foo: null})-[:T]->(b:Q)", &["MergeReadOwnWrites..."]),
            // Parentheses around the whole path mean nothing.
            (
                "MERGE ((a:Q)-[:X]->(b:W)); MATCH (a)-[r]->(b) RETURN labels(a), type(r), labels(b)",
                &["['Q'] | 'X' | ['W']"],
            ),
            ("MERGE p = ((a:Q)-[:X]->(b:W)) RETURN length(p)", &["1"]),
            ("MERGE (p = (a:Q)-[:X]->(b:W)) RETURN length(p)", &["1"]),
            ("MERGE ((a:Q)-[:X]->(b:W)){2}", &["UnexpectedSyntax..."]),
            ("MERGE ((a:Q)-[:X]->(b:W) WHERE a.x = 1)", &["UnexpectedSyntax..."]),
            ("CREATE ((a:Q)-[:X]->(b:W))", &["UnexpectedSyntax..."]),
        ],
    );
}

#[test]
fn names_hold_dollars_and_escapes_and_hide_others() {
    examples(
        "CREATE (:P {n: 'a'})-[:R]->(:P {n: 'b'})",
        &[
            ("RETURN 2 AS a$b", &["2"]),
            ("WITH 1 AS a$, 2 AS a$1 RETURN a$ + a$1", &["3"]),
            ("RETURN 2 AS my\\u0041b", &["2"]),
            ("WITH 2 AS myAb RETURN my\\u0041b + 1", &["3"]),
            ("WITH 2 AS \\u0041 RETURN A, {\\u0062c: 1}.bc", &["2 | 1"]),
            ("MATCH (x\\u0031:P {\\u006e: 'a'}) RETURN x1.n", &["'a'"]),
            ("\\u0052ETURN 1 AS x", &["1"]),
            ("RETURN 2 AS a\\u0020b", &["UnexpectedSyntax..."]),
            ("RETURN 2 AS a\\u00", &["UnexpectedSyntax..."]),
            ("MATCH p = (x)-[:R]->(y) RETURN [p = (x)-->(y) | length(p)], length(p)", &["[1] | 1"]),
            ("MATCH p = (x)-->(y) RETURN [p = (x)-->(z) WHERE length(p) = 1 | z.n]", &["['b']"]),
            ("WITH 5 AS p MATCH (x:P {n: 'a'}) RETURN [p = (x)-->() | length(p)], p", &["[1] | 5"]),
        ],
    );
}

#[test]
fn shortest_paths_in_parentheses_have_names_and_conditions() {
    examples(
        "CREATE (a:A {n: 'a'})-[:R]->(b:B {n: 'b'})-[:R]->(c:C {n: 'c'}), (a)-[:R]->(c)",
        &[
            ("MATCH SHORTEST 1 (p = (a:A)--+(b:C) WHERE length(p) > 1) RETURN length(p)", &["2"]),
            ("MATCH SHORTEST 1 (p = (a:A)--+(b:C)) RETURN length(p)", &["1"]),
            (
                "MATCH ALL SHORTEST (p = (a:A)-[:R]-+(b:C) WHERE size(nodes(p)) = 3)
                 RETURN [n IN nodes(p) | n.n]",
                &["['a', 'b', 'c']"],
            ),
            ("MATCH ANY 1 (p = (a:A)-[:R]->+(b) WHERE length(p) = 2) RETURN b.n", &["'c'"]),
            (
                "MATCH q = SHORTEST 1 (p = (a:A)--+(b:C) WHERE length(p) > 1)
                 RETURN length(p) + length(q)",
                &["4"],
            ),
            ("MATCH SHORTEST 1 ((a:A)--+(b:C) WHERE a.n < b.n) RETURN a.n, b.n", &["'a' | 'c'"]),
            // Behind the parentheses it is tested on the path that was chosen.
            ("MATCH SHORTEST 1 (p = (a:A)--+(b:C)) WHERE length(p) > 1 RETURN length(p)", &[]),
            ("MATCH (p = (a:A)-->(b)) RETURN p", &["NotSupported..."]),
        ],
    );
}
