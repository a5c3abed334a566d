//! Variables of the query around a subquery are seen in all of it, whatever `WITH` leaves; they
//! cannot be made anew there. A `CALL { }` sees what the `WITH` at its start names, and no more.

use crate::common;

use common::{examples, fresh_examples};

const PEOPLE: &str = "CREATE (:P {id: 1, name: 'A'})-[:K]->(:P {name: 'B'}), (:P {name: 'C'})";

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn outer_variables_are_seen_behind_with() {
    examples(
        PEOPLE,
        &[
            (
                "MATCH (p:P) WHERE EXISTS { WITH 'B' AS nm MATCH (p)-[:K]->(d) WHERE d.name = nm }
                 RETURN p.name",
                &["'A'"],
            ),
            (
                "MATCH (p:P) RETURN p.name, COUNT { WITH 1 AS x MATCH (p)-[:K]->() } AS c",
                &["'A' | 1", "'B' | 0", "'C' | 0"],
            ),
            (
                "MATCH (p:P) RETURN p.name, COLLECT { WITH 1 AS x WITH 2 AS y MATCH (p)-[:K]->(d)
                                                     RETURN d.name } AS c",
                &["'A' | ['B']", "'B' | []", "'C' | []"],
            ),
            ("MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS y RETURN p.name AS n } RETURN n", &["'A'"]),
            ("MATCH (p:P {id: 1}) CALL (*) { WITH 1 AS y RETURN p.name AS n } RETURN n", &["'A'"]),
            // Everything of a projection sees them, and everything behind it.
            (
                "MATCH (p:P) CALL (p) { UNWIND [1, 2] AS i WITH i ORDER BY p.name, i DESC LIMIT 1
                                        WHERE p.name < 'C' RETURN i + size(p.name) AS n }
                 RETURN p.name, n",
                &["'A' | 3", "'B' | 3"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (q:P) WITH count(q) AS c ORDER BY p.name
                                        WHERE p.name <> 'B' RETURN p.name + c AS n }
                 RETURN n",
                &["'A3'", "'C3'"],
            ),
            (
                "MATCH (p:P) CALL (p) { UNWIND [1, 1, 2] AS i WITH DISTINCT i ORDER BY p.name
                                        WITH sum(i) AS s RETURN p.name + s AS n }
                 RETURN n",
                &["'A3'", "'B3'", "'C3'"],
            ),
            // Aggregations: they are constants, there without a row, and no grouping keys.
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:K]->(q) WITH count(q) AS c
                                        RETURN p.name + c AS n }
                 RETURN n",
                &["'A1'", "'B0'", "'C0'"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:K]->(q) RETURN p.name + count(q) AS n }
                 RETURN n",
                &["AmbiguousAggregationExpression..."],
            ),
            (
                "MATCH (p:P) RETURN COLLECT { UNWIND [1, 2] AS i WITH p.name + count(i) AS n
                                              RETURN n } AS l",
                &["['A2']", "['B2']", "['C2']"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (p)-[:K]->(q) WITH count(q) AS c
                                        OPTIONAL MATCH (p)-[:K]->(d) RETURN c, d.name AS n }
                 RETURN p.name, c, n",
                &["'A' | 1 | 'B'", "'B' | 0 | null", "'C' | 0 | null"],
            ),
            // Patterns and comprehensions.
            (
                "MATCH (p:P) CALL (p) { WITH 1 AS x WHERE (p)-[:K]->() RETURN x } RETURN p.name",
                &["'A'"],
            ),
            (
                "MATCH (p:P) CALL (p) { WITH 1 AS x RETURN [(p)-[:K]->(d) | d.name] AS l } RETURN l",
                &["['B']", "[]", "[]"],
            ),
            // One in another, and arms of UNION.
            (
                "MATCH (p:P) CALL (p) { WITH 1 AS x CALL (p, x) { WITH 2 AS y
                     RETURN p.name + x + y AS n } WITH n AS m RETURN m + p.name AS o } RETURN o",
                &["'A12A'", "'B12B'", "'C12C'"],
            ),
            (
                "MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS x RETURN p.name + x AS n
                                                UNION WITH 2 AS x RETURN p.name + x AS n }
                 RETURN n",
                &["'A1'", "'A2'"],
            ),
            (
                "MATCH (p:P) WHERE EXISTS { WITH 1 AS x CALL (p) { WITH 2 AS y
                     MATCH (p)-[:K]->(d) RETURN d } WITH 3 AS z MATCH (p)-[:K]->(e) }
                 RETURN p.name",
                &["'A'"],
            ),
            // Elements of lists around them.
            (
                "RETURN [x IN [1, 2] | COUNT { UNWIND range(1, x) AS y WITH 1 AS z WHERE x > 1 }]",
                &["[0, 2]"],
            ),
            (
                "RETURN CASE 2 WHEN COUNT { WITH 1 AS x UNWIND [x, x] AS y WITH * } THEN 'two' END",
                &["'two'"],
            ),
            // Beside an aggregating function: keys of the groups.
            (
                "MATCH (p:P) RETURN p, p.name, count(*) + COUNT { (p)-[:K]->() }",
                &["() | 'A' | 2", "() | 'B' | 1", "() | 'C' | 1"],
            ),
            (
                "MATCH (p:P) RETURN count(*) + COUNT { (p)-[:K]->() }",
                &["AmbiguousAggregationExpression..."],
            ),
            (
                "MATCH (p:P) WITH p.name AS n, p RETURN n, sum(size(n)) + size([(p)-->(q) | q])",
                &["AmbiguousAggregationExpression..."],
            ),
        ],
    );
}

#[test]
fn outer_variables_are_not_made_anew() {
    let shadows = "VariableAlreadyBound...";
    examples(
        PEOPLE,
        &[
            (
                "WITH 'P' AS name RETURN EXISTS { WITH 'O' AS name MATCH (n {name: name}) }",
                &[shadows],
            ),
            ("MATCH (a) RETURN COUNT { MATCH (a)-->(b) WITH b AS a MATCH (b)-->(c) }", &[shadows]),
            (
                "MATCH (a) RETURN COLLECT { MATCH (a)-->(b) WITH b RETURN count(b) AS a }",
                &[shadows],
            ),
            ("WITH 1 AS x CALL (x) { WITH x + 1 AS x RETURN x AS y } RETURN y", &[shadows]),
            ("WITH 1 AS x CALL (*) { WITH 5 AS x RETURN x AS y } RETURN y", &[shadows]),
            ("WITH 1 AS x CALL (x) { UNWIND [1] AS x RETURN x AS y } RETURN y", &[shadows]),
            ("WITH 1 AS x CALL (x) { WITH 2 AS y LET x = 3 RETURN y } RETURN y", &[shadows]),
            (
                "WITH 1 AS x CALL (x) { RETURN 1 AS y UNION WITH 2 AS x RETURN x AS y } RETURN y",
                &[shadows],
            ),
            (
                "WITH 1 AS x RETURN EXISTS { WITH 2 AS y MATCH (n) WHERE EXISTS { WITH 3 AS x } }",
                &[shadows],
            ),
            // They may go on under their name, be hidden inside of an expression, and others named
            // alike that the subquery does not see are no business of its.
            ("WITH 1 AS x CALL (x) { WITH x, 2 AS y RETURN x + y AS z } RETURN z", &["3"]),
            ("WITH 1 AS x CALL (x) { WITH x AS x RETURN x AS z } RETURN z", &["1"]),
            ("WITH 1 AS x CALL (x) { WITH *, 2 AS y RETURN x + y AS z } RETURN z", &["3"]),
            (
                "WITH 1 AS x CALL (x) { WITH [x IN [5] | x] AS l RETURN l[0] + x AS z } RETURN z",
                &["6"],
            ),
            ("WITH 1 AS x CALL () { WITH 2 AS x RETURN x AS z } RETURN x, z", &["1 | 2"]),
            ("WITH 1 AS x CALL { WITH 2 AS x RETURN x AS z } RETURN x, z", &["1 | 2"]),
        ],
    );
}

#[test]
fn importing_with_lets_through_what_it_names() {
    examples(
        PEOPLE,
        &[
            ("WITH 1 AS x, 2 AS y CALL { WITH x RETURN x AS z } RETURN z", &["1"]),
            (
                "WITH 1 AS x, 2 AS y CALL { WITH x RETURN y AS z } RETURN z",
                &["UndefinedVariable..."],
            ),
            (
                "WITH 1 AS x CALL { WITH x WITH 2 AS y RETURN x AS z } RETURN z",
                &["UndefinedVariable..."],
            ),
            ("WITH 1 AS x CALL { WITH x WITH x, x + 1 AS x2 RETURN x2 AS z } RETURN z", &["2"]),
            // Each arm of a UNION has its own.
            ("WITH 1 AS x CALL { RETURN 0 AS z UNION WITH x RETURN x AS z } RETURN z", &["0", "1"]),
            ("WITH 1 AS x CALL { WITH x RETURN x AS z UNION RETURN 0 AS z } RETURN z", &["0", "1"]),
            (
                "WITH 1 AS x CALL { WITH x RETURN x AS z UNION RETURN x AS z } RETURN z",
                &["UndefinedVariable..."],
            ),
            (
                "WITH 1 AS x CALL { RETURN 0 AS z UNION RETURN x AS z } RETURN z",
                &["UndefinedVariable..."],
            ),
            (
                "MATCH (p:P {id: 1}) CALL { RETURN 1 AS n UNION WITH p RETURN p.name AS n } RETURN n",
                &["'A'", "1"],
            ),
        ],
    );
}

/// What a subquery changes hangs on the outer nodes, whatever stands before.
#[test]
fn changes_behind_with_are_of_the_outer_nodes() {
    let made = "MATCH (p)-[:MADE]->(m) RETURN p.name, labels(m)";
    let all = |query: &str| format!("{query}; MATCH (n) WITH count(n) AS c OPTIONAL {made}, c");
    let cases = [
        ("MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS y CREATE (p)-[:MADE]->(:M) }", 4),
        ("MATCH (p:P {id: 1}) CALL (*) { WITH 1 AS y CREATE (p)-[:MADE]->(:M) }", 4),
        ("MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS y MERGE (p)-[:MADE]->(:M) }", 4),
        (
            "MATCH (p:P {id: 1}) CALL (p) { MATCH (q:P) WITH count(q) AS c
                                            CREATE (p)-[:MADE]->(:M) }",
            4,
        ),
        (
            "MATCH (p:P {id: 1}) CALL (p) { UNWIND [1, 1] AS i WITH DISTINCT i
                                            FOREACH (j IN [i] | CREATE (p)-[:MADE]->(:M)) }",
            4,
        ),
        (
            "MATCH (p:P {id: 1}) CALL (p) { MATCH (q:P) WITH count(*) AS c CALL (p) { WITH 2 AS z
                                            MERGE (m:M) MERGE (p)-[:MADE]->(m) } }",
            4,
        ),
        (
            "MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS y CREATE (p)-[:MADE]->(:M) RETURN 1 AS one
                                            UNION WITH 1 AS y RETURN size(p.name) AS one }
             RETURN one",
            4,
        ),
        (
            "MATCH (p:P {id: 1}) CALL (p) { WITH 1 AS y CREATE (m:M) WITH m
                                            CREATE (p)-[:MADE]->(m) } ",
            4,
        ),
    ];
    for (query, nodes) in cases {
        fresh_examples(PEOPLE, &[(&*all(query), &[&*format!("'A' | ['M'] | {nodes}")])]);
    }
    fresh_examples(
        PEOPLE,
        &[
            (
                "MATCH (p:P) CALL (p) { WITH 1 AS y SET p.seen = y }; MATCH (p {seen: 1}) RETURN p.name",
                &["'A'", "'B'", "'C'"],
            ),
            (
                "MATCH (p:P) CALL (p) { MATCH (q:P) WITH max(q.name) AS last WHERE p.name = last
                                        DETACH DELETE p }; MATCH (p) RETURN p.name",
                &["'A'", "'B'"],
            ),
            (
                "MATCH (p:P) CALL (p) { WITH 1 AS y WHERE p.id = 1 REMOVE p:P };
                 MATCH (p:P) RETURN p.name",
                &["'B'", "'C'"],
            ),
        ],
    );
}
