//! `FOREACH`, `CALL { }`, `EXISTS { }`, `COUNT { }`, `COLLECT { }`, by example.

use crate::common;

use common::{examples, fresh_examples};

/// Three people, two of whom own dogs; Ann knows the others.
const PEOPLE: &str = "
    CREATE (a:P {n: 'Ann', age: 30}), (b:P {n: 'Bob', age: 40}), (c:P {n: 'Cy', age: 50})
    CREATE (a)-[:KNOWS]->(b), (a)-[:KNOWS]->(c), (b)-[:OWNS]->(:D {n: 'Rex'}),
           (b)-[:OWNS]->(:D {n: 'Max'}), (c)-[:OWNS]->(:D {n: 'Ace'})";

#[test]
fn foreach() {
    fresh_examples(
        PEOPLE,
        &[
            (
                "FOREACH (i IN range(1, 3) | CREATE (:N {i: i})); MATCH (n:N) RETURN n.i",
                &["1", "2", "3"],
            ),
            (
                "MATCH (p:P) WITH collect(p) AS ps FOREACH (p IN ps | SET p.seen = true);
                 MATCH (p:P {seen: true}) RETURN count(*)",
                &["3"],
            ),
            (
                "MATCH (p:P) FOREACH (x IN [p.n, p.age] | CREATE (:V {v: x}));
                 MATCH (v:V) RETURN v.v",
                &["'Ann'", "'Bob'", "'Cy'", "30", "40", "50"],
            ),
            // One inside another, several clauses, and paths.
            (
                "FOREACH (i IN [1, 2] | FOREACH (j IN [i, 10 * i] |
                     CREATE (a:N {v: j}) SET a.w = i MERGE (:M {v: i})));
                 MATCH (n) WHERE n:N OR n:M RETURN labels(n), n.v, n.w",
                &[
                    "['M'] | 1 | null",
                    "['M'] | 2 | null",
                    "['N'] | 1 | 1",
                    "['N'] | 10 | 1",
                    "['N'] | 2 | 2",
                    "['N'] | 20 | 2",
                ],
            ),
            (
                "MATCH p = (:P {n: 'Ann'})-[:KNOWS]->({n: 'Bob'})
                 FOREACH (n IN nodes(p) | SET n:Walked); MATCH (n:Walked) RETURN n.n",
                &["'Ann'", "'Bob'"],
            ),
            ("MATCH (d:D) FOREACH (_ IN [1] | DETACH DELETE d); MATCH (d:D) RETURN d", &[]),
            ("FOREACH (i IN null | CREATE (:N)); MATCH (n:N) RETURN n", &[]),
            ("FOREACH (i IN [] | CREATE (:N)); MATCH (n:N) RETURN n", &[]),
            // The condition that people write with it.
            (
                "MATCH (p:P) FOREACH (_ IN CASE WHEN p.age > 35 THEN [1] ELSE [] END | SET p:Old);
                 MATCH (p:Old) RETURN p.n",
                &["'Bob'", "'Cy'"],
            ),
            // Each step sees what those before it did; its variables end with it.
            ("FOREACH (i IN [1, 1, 2] | MERGE (:M {i: i})); MATCH (m:M) RETURN m.i", &["1", "2"]),
            ("FOREACH (i IN [1] | CREATE (n:N)) RETURN n", &["UndefinedVariable..."]),
            ("FOREACH (i IN 5 | CREATE (:N {v: i})); MATCH (n:N {v: 5}) RETURN count(n)", &["1"]),
            ("FOREACH (i IN [1] | MATCH (n) SET n.x = 1)", &["InvalidClauseComposition..."]),
            // Its variable hides another of the same name.
            (
                "MATCH (p:P) FOREACH (p IN [1] | CREATE (:N {v: p})) SET p.w = 2;
                 MATCH (n) WHERE n:N OR n.w = 2 RETURN labels(n), n.v",
                &["['N'] | 1", "['N'] | 1", "['N'] | 1", "['P'] | null", "['P'] | null",
                  "['P'] | null"],
            ),
            (
                "FOREACH (i IN [1] | FOREACH (i IN [2, 3] | CREATE (:N {i: i})) CREATE (:N {i: i}));
                 MATCH (n:N) RETURN n.i",
                &["1", "2", "3"],
            ),
        ],
    );
}

#[test]
fn call_for_each_row() {
    examples(
        PEOPLE,
        &[
            // With variables by name, with all, and with an importing WITH.
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:OWNS]->(d) RETURN d.n AS dog } RETURN p.n, dog",
                &["'Bob' | 'Max'", "'Bob' | 'Rex'", "'Cy' | 'Ace'"],
            ),
            (
                "MATCH (p:P) CALL (*) { MATCH (p)-[:OWNS]->(d) RETURN d.n AS dog } RETURN p.n, dog",
                &["'Bob' | 'Max'", "'Bob' | 'Rex'", "'Cy' | 'Ace'"],
            ),
            (
                "MATCH (p:P) CALL { WITH p MATCH (p)-[:OWNS]->(d) RETURN d.n AS dog }
                 RETURN p.n, dog",
                &["'Bob' | 'Max'", "'Bob' | 'Rex'", "'Cy' | 'Ace'"],
            ),
            (
                "MATCH (p:P) OPTIONAL CALL (p) { MATCH (p)-[:OWNS]->(d) RETURN d.n AS dog }
                 RETURN p.n, dog",
                &["'Ann' | null", "'Bob' | 'Max'", "'Bob' | 'Rex'", "'Cy' | 'Ace'"],
            ),
            // An aggregation, a sort and a limit of its own for each row.
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:OWNS]->(d) RETURN count(d) AS dogs }
                 RETURN p.n, dogs",
                &["'Ann' | 0", "'Bob' | 2", "'Cy' | 1"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:OWNS]->(d) RETURN d.n AS d ORDER BY d LIMIT 1 }
                 RETURN p.n, d",
                &["'Bob' | 'Max'", "'Cy' | 'Ace'"],
            ),
            (
                "UNWIND [3, 1] AS x CALL (x) { UNWIND range(1, x) AS y RETURN sum(y) AS s }
                 RETURN x, s",
                &["1 | 1", "3 | 6"],
            ),
            // UNION inside, with and without ALL.
            (
                "MATCH (p:P {n: 'Ann'}) CALL (p) { RETURN p.n AS x UNION RETURN p.n AS x } RETURN x",
                &["'Ann'"],
            ),
            (
                "MATCH (p:P) CALL (p) { WITH p RETURN p.age AS x UNION ALL WITH p RETURN -p.age AS x }
                 RETURN sum(x), count(*)",
                &["0 | 6"],
            ),
            (
                "MATCH (p:P) CALL { WITH p MATCH (p)-[:OWNS]->(d) RETURN d.n AS x
                                    UNION WITH p MATCH (p)-[:KNOWS]->(q) RETURN q.n AS x }
                 RETURN p.n, x",
                &[
                    "'Ann' | 'Bob'",
                    "'Ann' | 'Cy'",
                    "'Bob' | 'Max'",
                    "'Bob' | 'Rex'",
                    "'Cy' | 'Ace'",
                ],
            ),
            // Not correlated; one in another.
            ("CALL { MATCH (p:P) RETURN max(p.age) AS m } RETURN m", &["50"]),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:OWNS]->(d)
                     CALL (p, d) { RETURN p.n + d.n AS both } RETURN both } RETURN both",
                &["'BobMax'", "'BobRex'", "'CyAce'"],
            ),
            (
                "UNWIND [1, 2] AS x CALL (x) { WITH x WHERE x > 1 RETURN x * 10 AS y } RETURN x, y",
                &["2 | 20"],
            ),
            // Scopes.
            (
                "MATCH (p:P) CALL () { RETURN p.n AS x } RETURN x",
                &["UndefinedVariable..."],
            ),
            ("MATCH (p:P) CALL (p) { RETURN 1 AS p } RETURN p", &["VariableAlreadyBound..."]),
            ("CALL { RETURN 1 AS x UNION RETURN 2 AS y } RETURN x", &["DifferentColumns..."]),
        ],
    );
}

#[test]
fn call_that_changes_the_graph() {
    fresh_examples(
        PEOPLE,
        &[
            // Unit: as many rows go on as came in.
            (
                "MATCH (p:P) CALL (p) { CREATE (:Copy {n: p.n}) CREATE (:Copy {n: p.n}) }
                 RETURN p.n",
                &["'Ann'", "'Bob'", "'Cy'"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:OWNS]->(d) SET d.owner = p.n } RETURN p.n;
                 MATCH (d:D) RETURN d.n, d.owner",
                &["'Ace' | 'Cy'", "'Max' | 'Bob'", "'Rex' | 'Bob'"],
            ),
            (
                "MATCH (p:P) CALL (p) { UNWIND [1, 2] AS i CREATE (c:Copy {i: i}) RETURN c.i AS i }
                 RETURN p.n, i",
                &["'Ann' | 1", "'Ann' | 2", "'Bob' | 1", "'Bob' | 2", "'Cy' | 1", "'Cy' | 2"],
            ),
            // What was written before it, and for rows before this one, is seen.
            (
                "CREATE (:X) WITH 1 AS one CALL { MATCH (x:X) RETURN count(x) AS n } RETURN n",
                &["1"],
            ),
            (
                "UNWIND [1, 2, 3] AS i CALL { MERGE (c:Counter) ON CREATE SET c.n = 1
                     ON MATCH SET c.n = c.n + 1 RETURN c.n AS n } RETURN i, n",
                &["1 | 1", "2 | 2", "3 | 3"],
            ),
            (
                "UNWIND [1, 2] AS i CALL (i) { CREATE (:X {i: i}) } MATCH (x:X) RETURN i, x.i",
                &["1 | 1", "1 | 2", "2 | 1", "2 | 2"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[r:OWNS]->(d) DETACH DELETE d
                     RETURN count(*) AS n } RETURN p.n, n; MATCH (d:D) RETURN count(d)",
                &["0"],
            ),
            (
                "MATCH (p:P) CALL (p) { FOREACH (i IN [1, 2] | CREATE (:X {i: i})) } RETURN p.n;
                 MATCH (x:X) RETURN count(*)",
                &["6"],
            ),
            ("CALL { CREATE (:X) } CALL { CREATE (:X) }; MATCH (x:X) RETURN count(x)", &["2"]),
        ],
    );
}

#[test]
fn exists_count_collect() {
    examples(
        PEOPLE,
        &[
            ("MATCH (p:P) WHERE EXISTS { (p)-[:OWNS]->() } RETURN p.n", &["'Bob'", "'Cy'"]),
            ("MATCH (p:P) WHERE NOT EXISTS { (p)-[:OWNS]->() } RETURN p.n", &["'Ann'"]),
            (
                "MATCH (p:P) WHERE EXISTS { MATCH (p)-[:OWNS]->(d) WHERE d.n STARTS WITH 'R' }
                 RETURN p.n",
                &["'Bob'"],
            ),
            // Whole queries: WITH, aggregation, LIMIT, UNION.
            (
                "MATCH (p:P) WHERE EXISTS { MATCH (p)-[:OWNS]->(d) WITH count(d) AS n WHERE n > 1
                     RETURN n } RETURN p.n",
                &["'Bob'"],
            ),
            (
                "MATCH (p:P) RETURN p.n, COUNT { MATCH (p)-[:OWNS]->(d) RETURN d LIMIT 1 }",
                &["'Ann' | 0", "'Bob' | 1", "'Cy' | 1"],
            ),
            (
                "MATCH (p:P) RETURN p.n, COUNT { MATCH (p)-[:OWNS]->(d) RETURN DISTINCT size(d.n) }",
                &["'Ann' | 0", "'Bob' | 1", "'Cy' | 1"],
            ),
            // An aggregation has a row even of nothing.
            (
                "MATCH (p:P) RETURN p.n, EXISTS { MATCH (p)-[:OWNS]->(d) RETURN count(d) }",
                &["'Ann' | true", "'Bob' | true", "'Cy' | true"],
            ),
            (
                "MATCH (p:P) RETURN p.n, COLLECT { MATCH (p)-[:OWNS]->(d) RETURN d.n ORDER BY d.n }",
                &["'Ann' | []", "'Bob' | ['Max', 'Rex']", "'Cy' | ['Ace']"],
            ),
            (
                "MATCH (p:P) RETURN p.n,
                     COLLECT { MATCH (p)-[:OWNS]->(d) RETURN d.n ORDER BY d.n DESC LIMIT 1 }",
                &["'Ann' | []", "'Bob' | ['Rex']", "'Cy' | ['Ace']"],
            ),
            (
                "MATCH (p:P) RETURN p.n, COLLECT { MATCH (p)-[:OWNS]->(d) RETURN max(d.n) }",
                &["'Ann' | [null]", "'Bob' | ['Rex']", "'Cy' | ['Ace']"],
            ),
            (
                "MATCH (p:P) RETURN p.n, COUNT { MATCH (p)-[:OWNS]->(d) RETURN d.n AS x
                     UNION ALL MATCH (p)-[:KNOWS]->(q) RETURN q.n AS x }",
                &["'Ann' | 2", "'Bob' | 2", "'Cy' | 1"],
            ),
            // One in another, in every place an expression may be.
            (
                "MATCH (p:P) WHERE COUNT { (p)-[:KNOWS]->(q) WHERE EXISTS { (q)-[:OWNS]->() } } = 2
                 RETURN p.n",
                &["'Ann'"],
            ),
            (
                "MATCH (p:P) WITH p ORDER BY COUNT { (p)-->() } DESC, p.n LIMIT 1 RETURN p.n",
                &["'Ann'"],
            ),
            (
                "MATCH (p:P) RETURN CASE WHEN EXISTS { (p)-[:OWNS]->() } THEN 1 ELSE 0 END AS c,
                     count(*)",
                &["0 | 1", "1 | 2"],
            ),
            ("MATCH (p:P) RETURN sum(COUNT { (p)-[:OWNS]->() })", &["3"]),
            (
                "RETURN [x IN [1, 2] | COUNT { MATCH (p:P) WHERE p.age > 25 + 10 * x RETURN p }]",
                &["[2, 1]"],
            ),
            ("MATCH (p:P) WHERE EXISTS { CREATE (:X) } RETURN p", &["InvalidClauseComposition..."]),
            ("RETURN COLLECT { MATCH (p:P) RETURN p.n, p.age }", &["InvalidSubquery..."]),
        ],
    );
}
