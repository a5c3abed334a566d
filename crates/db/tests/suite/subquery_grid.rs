//! `EXISTS { }`, `COUNT { }` and `COLLECT { }` with every kind of body, in every place, with and
//! without variables around them.
//!
//! What is expected comes from loops over the same graph as plain data.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::database;
use telar_db::{Session, Value};

/// Nodes `:X` with `v` from 1 to 4, `:Y` with 1 and 2, and `(:X)-[:K]->(:X)` by `v`.
const SETUP: &str = "
    CREATE (a:X {v: 1}), (b:X {v: 2}), (c:X {v: 3}), (:X {v: 4}), (:Y {v: 1}), (:Y {v: 2}),
           (a)-[:K]->(b), (a)-[:K]->(c), (b)-[:K]->(c), (c)-[:K]->(c), (c)-[:K]->(a)";
const X: [i64; 4] = [1, 2, 3, 4];
const Y: [i64; 2] = [1, 2];
const K: [(i64, i64); 5] = [(1, 2), (1, 3), (2, 3), (3, 3), (3, 1)];
/// The variable `k` around a subquery.
const SMALL: i64 = 2;

fn out(p: i64) -> Vec<i64> {
    K.iter().filter(|(from, _)| *from == p).map(|(_, to)| *to).collect()
}

fn into(p: i64) -> Vec<i64> {
    K.iter().filter(|(_, to)| *to == p).map(|(from, _)| *from).collect()
}

/// Each of `a` as often as there are `b`.
fn times(a: &[i64], b: usize) -> Vec<i64> {
    a.iter().flat_map(|v| vec![*v; b]).collect()
}

struct Body {
    text: &'static str,
    /// What COLLECT returns, where the text does not; none: the text is a pattern alone.
    value: Option<&'static str>,
    /// Its values, for a node `p` with this `v`.
    rows: fn(i64) -> Vec<i64>,
}

const fn body(text: &'static str, value: Option<&'static str>, rows: fn(i64) -> Vec<i64>) -> Body {
    Body { text, value, rows }
}

/// Those that need no variables from around.
const ALONE: &[Body] = &[
    body("(n:X)", None, |_| X.to_vec()),
    body("(n:X) WHERE n.v > 2", None, |_| vec![3, 4]),
    body("(n:X)-[:K]->(m:X)", None, |_| K.iter().map(|(from, _)| *from).collect()),
    body("MATCH (n:X)", Some("n.v"), |_| X.to_vec()),
    body("MATCH (n:Missing)", Some("n.v"), |_| Vec::new()),
    body("MATCH (n:X) WHERE n.v > 2", Some("n.v"), |_| vec![3, 4]),
    body("MATCH (n:X) MATCH (m:Y)", Some("n.v"), |_| times(&X, Y.len())),
    body("MATCH (n:X), (m:Y) WHERE n.v = m.v", Some("n.v"), |_| Y.to_vec()),
    body("OPTIONAL MATCH (n:Missing)", Some("7"), |_| vec![7]),
    body("UNWIND [5, 6] AS x", Some("x"), |_| vec![5, 6]),
    body("UNWIND [] AS x", Some("x"), |_| Vec::new()),
    body("UNWIND [5, 6] AS x WITH x MATCH (n:Y)", Some("x + n.v"), |_| vec![6, 7, 7, 8]),
    body("WITH 3 AS y MATCH (n:X) WHERE n.v < y", Some("n.v"), |_| vec![1, 2]),
    body("WITH 3 AS y WITH y + 1 AS z MATCH (n:X {v: z})", Some("n.v + z"), |_| vec![8]),
    body("MATCH (n:X) WITH count(*) AS c MATCH (m:Y) WHERE m.v < c", Some("c + m.v"), |_| {
        vec![5, 6]
    }),
    body("MATCH (n:Missing) WITH count(n) AS c MATCH (m:Y) WHERE m.v > c", Some("m.v"), |_| {
        Y.to_vec()
    }),
    body("MATCH (n:X) WITH DISTINCT n.v % 2 AS h", Some("h"), |_| vec![0, 1]),
    body("MATCH (n:X) WITH n ORDER BY n.v DESC SKIP 1 LIMIT 2", Some("n.v"), |_| vec![2, 3]),
    body("MATCH (n:X) RETURN n.v AS v", None, |_| X.to_vec()),
    body("MATCH (n:X) RETURN DISTINCT n.v % 2 AS v", None, |_| vec![0, 1]),
    body("MATCH (n:Missing) RETURN count(n) AS v", None, |_| vec![0]),
    body("MATCH (n:X) RETURN n.v AS v UNION MATCH (m:Y) RETURN m.v AS v", None, |_| X.to_vec()),
    body("MATCH (n:X) RETURN n.v AS v UNION ALL MATCH (m:Y) RETURN m.v AS v", None, |_| {
        [&X[..], &Y].concat()
    }),
    body("CALL () { MATCH (n:X) RETURN n.v AS v } MATCH (m:Y {v: v})", Some("v"), |_| Y.to_vec()),
    body("MATCH (n:X) WHERE EXISTS { MATCH (m:Y) WHERE m.v = n.v }", Some("n.v"), |_| Y.to_vec()),
    body("MATCH (n:X) WHERE COUNT { WITH 1 AS one MATCH (n)-[:K]->() } = 2", Some("n.v"), |_| {
        vec![1, 3]
    }),
    body("LET y = 2 MATCH (n:X) FILTER n.v > y", Some("n.v"), |_| vec![3, 4]),
];

/// Those that need a node `p` and a number `k`.
const BESIDE: &[Body] = &[
    body("(p)-[:K]->()", None, out),
    body("(p)-[:K]->(d) WHERE d.v > k", None, |p| {
        out(p).into_iter().filter(|d| *d > SMALL).collect()
    }),
    body("MATCH (p)-[:K]->(d)", Some("d.v"), out),
    body("WITH 1 AS one MATCH (p)-[:K]->(d)", Some("d.v"), out),
    body("WITH 1 AS one WITH one AS uno MATCH (p)-[:K]->(d)", Some("d.v * uno"), out),
    body("WITH * MATCH (p)-[:K]->(d)", Some("d.v"), out),
    body("WITH p MATCH (p)-[:K]->(d)", Some("d.v + k - k"), out),
    body("WITH p AS q MATCH (q)-[:K]->(d) MATCH (d)<-[:K]-(p)", Some("d.v"), out),
    body("WITH *, 1 AS one MATCH (p)-[:K]->(d) WITH d", Some("d.v + 0 * p.v"), out),
    body("WITH DISTINCT 1 AS one MATCH (p)-[:K]->(d)", Some("d.v"), out),
    body(
        "UNWIND [1, 1] AS one WITH DISTINCT one ORDER BY p.v LIMIT 1 MATCH (p)-[:K]->(d)",
        Some("d.v"),
        out,
    ),
    body("WITH 1 AS one WHERE p.v > k MATCH (p)-[:K]->(d)", Some("d.v"), |p| {
        if p > SMALL { out(p) } else { Vec::new() }
    }),
    body(
        "MATCH (p)-[:K]->(d) WITH count(d) AS c MATCH (p)-[:K]->(e) WHERE e.v >= c",
        Some("e.v"),
        |p| out(p).into_iter().filter(|e| *e >= out(p).len() as i64).collect(),
    ),
    body("MATCH (p)-[:K]->(d) WITH count(d) AS c", Some("c + p.v"), |p| {
        vec![out(p).len() as i64 + p]
    }),
    body("MATCH (p)-[:K]->(d) WITH count(d) AS c RETURN c + p.v AS v", None, |p| {
        vec![out(p).len() as i64 + p]
    }),
    body("MATCH (n:Missing) WITH count(*) AS c RETURN p.v + c + k AS v", None, |p| vec![p + SMALL]),
    body(
        "MATCH (d:X) WITH d.v % 2 AS h, max(d.v) AS top ORDER BY h + p.v WHERE top > p.v",
        Some("top"),
        |p| [4, 3].into_iter().filter(|top| *top > p).collect(),
    ),
    body(
        "MATCH (d:X) WITH 0 AS zero, collect(d.v) AS all UNWIND all AS x WITH x WHERE x <= p.v",
        Some("x"),
        |p| X.into_iter().filter(|x| *x <= p).collect(),
    ),
    body("CALL (p) { WITH 1 AS x MATCH (p)-[:K]->(d) RETURN d.v AS v } WITH v", Some("v"), out),
    body(
        "CALL (*) { WITH 1 AS x MATCH (p)-[:K]->(d) WHERE d.v > k RETURN d.v AS v }",
        Some("v"),
        |p| out(p).into_iter().filter(|d| *d > SMALL).collect(),
    ),
    body("CALL { WITH p WITH p MATCH (p)-[:K]->(d) RETURN d.v AS v }", Some("v"), out),
    body(
        "CALL { RETURN 0 AS v UNION ALL WITH p MATCH (p)-[:K]->(d) RETURN d.v AS v }",
        Some("v"),
        |p| [vec![0], out(p)].concat(),
    ),
    body(
        "WITH 1 AS x MATCH (d:X) WHERE EXISTS { WITH 2 AS y MATCH (p)-[:K]->(d) }",
        Some("d.v"),
        out,
    ),
    body("WITH 1 AS x MATCH (d:X) WHERE (p)-[:K]->(d)", Some("d.v"), out),
    body("WITH 1 AS x UNWIND [(p)-[:K]->(d) | d.v] AS w", Some("w"), out),
    body(
        "WITH 1 AS x WITH COUNT { WITH 3 AS z MATCH (p)-[:K]->(d) WHERE d.v = z } AS c",
        Some("c"),
        |p| vec![out(p).iter().filter(|d| **d == 3).count() as i64],
    ),
    body("WITH 1 AS x OPTIONAL MATCH (p)-[:K]->(d) WHERE d.v > 9", Some("p.v"), |p| vec![p]),
    body(
        "WITH 1 AS x MATCH (p)-[:K]->(d) RETURN d.v AS v \
          UNION ALL WITH 2 AS y MATCH (p)<-[:K]-(d) RETURN d.v AS v",
        None,
        |p| [out(p), into(p)].concat(),
    ),
    body(
        "MATCH (n:Missing) WITH count(*) AS c WITH c, count(*) AS d MATCH (p)-[:K]->(e)",
        Some("e.v"),
        out,
    ),
];

/// Places for `$S`. Where it is named twice, all rows come as often.
const PLACES: &[(&str, usize)] = &[
    ("RETURN $S AS r", 1),
    ("WITH $S AS r RETURN r", 1),
    ("WITH *, $S AS r RETURN r", 1),
    ("LET r = $S RETURN r", 1),
    ("WITH DISTINCT $K, [$S] AS r RETURN r[0] AS r", 1),
    ("WITH *, 1 AS first WHERE $S = $S RETURN $S AS r", 1),
    ("WITH *, 1 AS first FILTER NOT $S <> $S RETURN $S AS r", 1),
    ("UNWIND [$S] AS r RETURN r", 1),
    ("UNWIND [1, 2] AS twice RETURN $S AS r", 2),
    ("RETURN $S AS r ORDER BY $S", 1),
    ("RETURN $S AS r ORDER BY r DESC SKIP 0 LIMIT 100", 1),
    ("RETURN CASE WHEN true THEN $S ELSE 1 END AS r", 1),
    ("RETURN CASE $S WHEN $S THEN $S END AS r", 1),
    ("RETURN [$S][0] AS r", 1),
    ("RETURN {a: $S}.a AS r", 1),
    ("WITH *, {a: 1} AS map RETURN map {.a, r: $S}.r AS r", 1),
    ("RETURN coalesce(null, $S) AS r", 1),
    ("RETURN [el IN [1] | $S][0] AS r", 1),
    ("RETURN reduce(acc = null, el IN [1] | $S) AS r", 1),
    ("RETURN head(COLLECT { RETURN $S AS c }) AS r", 1),
    ("RETURN head(COLLECT { WITH 1 AS first RETURN $S AS c }) AS r", 1),
    ("CALL (*) { RETURN $S AS r } RETURN r", 1),
    ("CALL (*) { WITH 1 AS first RETURN $S AS r } RETURN r", 1),
    ("CALL (*) { RETURN $S AS r UNION ALL RETURN $S AS r } RETURN r", 2),
    ("RETURN collect($S)[0] AS r, $K", 1),
    ("RETURN $K, count(*) AS n, $S AS r", 1),
    ("CREATE (t:T {r: $S}) RETURN t.r AS r", 1),
    ("CREATE (t:T) SET t.r = $S RETURN t.r AS r", 1),
    ("CREATE (t:T) FOREACH (i IN [$S] | SET t.r = i) RETURN t.r AS r", 1),
    ("CREATE (t:T) FOREACH (i IN [1] | SET t.r = $S) RETURN t.r AS r", 1),
    ("OPTIONAL MATCH (t:Missing) WHERE $S = 1 RETURN $S AS r", 1),
];

fn sorted(value: &Value) -> String {
    match value {
        Value::List(list) => {
            let mut parts: Vec<String> = list.iter().map(common::show).collect();
            parts.sort();
            format!("[{}]", parts.join(", "))
        }
        other => common::show(other),
    }
}

/// The subquery's three forms, each with its value for a node.
#[expect(clippy::type_complexity, reason = "a text and what is expected of it")]
fn forms(body: &Body) -> Vec<(String, Box<dyn Fn(i64) -> Value>)> {
    let rows = body.rows;
    let (text, mut forms) = (body.text, Vec::<(String, Box<dyn Fn(i64) -> Value>)>::new());
    forms.push((
        format!("EXISTS {{ {text} }}"),
        Box::new(move |p| Value::Bool(!rows(p).is_empty())),
    ));
    forms
        .push((format!("COUNT {{ {text} }}"), Box::new(move |p| Value::Int(rows(p).len() as i64))));
    let whole = match body.value {
        Some(value) => format!("{text} RETURN {value} AS v"),
        None => text.to_owned(),
    };
    if whole.contains("RETURN") {
        let list = move |p| Value::from(rows(p).into_iter().map(Value::Int).collect::<Vec<_>>());
        forms.push((format!("COLLECT {{ {whole} }}"), Box::new(list)));
    }
    forms
}

/// Runs a grid of bodies and places behind `before`, which has a row for each `p` of `nodes`.
fn grid(bodies: &[&[Body]], before: &str, key: &str, nodes: &[i64]) {
    let db = database(SETUP);
    let session = Session::new(&db);
    let (mut wrong, mut asked) = (Vec::new(), 0);
    for body in bodies.iter().copied().flatten() {
        for (form, value) in forms(body) {
            for (place, times) in PLACES {
                let query = format!("{before} {place}").replace("$S", &form).replace("$K", key);
                let mut expected: Vec<String> =
                    nodes.iter().flat_map(|p| vec![sorted(&value(*p)); *times]).collect();
                expected.sort();
                let found = match session.run(&query, &[]) {
                    Ok(result) => {
                        let at = result.columns.iter().position(|c| &**c == "r").unwrap();
                        let mut rows: Vec<String> =
                            result.rows.iter().map(|row| sorted(&row[at])).collect();
                        rows.sort();
                        rows
                    }
                    Err(e) => vec![e.to_string()],
                };
                asked += 1;
                if found != expected {
                    wrong.push(format!("{query}\n  expected {expected:?}\n  found    {found:?}"));
                }
            }
        }
    }
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.is_empty(), "{} of {asked} differ:\n{shown}", wrong.len());
}

#[test]
fn subqueries_of_every_form_in_every_place_with_nothing_around() {
    grid(&[ALONE], "", "0 AS k", &[0]);
}

#[test]
fn subqueries_of_every_form_in_every_place_with_variables_around() {
    grid(&[ALONE, BESIDE], "MATCH (p:X) WITH p, 2 AS k", "p AS q", &X);
}

#[test]
fn subqueries_of_every_form_in_every_place_behind_an_aggregation() {
    let before = "MATCH (node:X) WITH node AS p, count(*) + 1 AS k";
    grid(&[ALONE, BESIDE], before, "p AS q", &X);
}

/// Each place that Neo4j refuses, too.
#[test]
fn subqueries_stand_nowhere_in_merge() {
    let db = database(SETUP);
    let session = Session::new(&db);
    for subquery in ["COUNT { MATCH (n:X) }", "EXISTS { (n:X) }", "COLLECT { RETURN 1 AS x }"] {
        for query in [
            "MERGE (m:M {v: $S})",
            "MERGE (m:M {v: [1, $S]})",
            "MERGE (:M)-[:R {v: $S}]->(:M)",
            "MERGE (m:M) ON CREATE SET m.v = $S",
            "MERGE (m:M) ON MATCH SET m.v = toString($S)",
            "FOREACH (i IN [1] | MERGE (m:M) ON CREATE SET m.v = $S)",
        ] {
            let query = query.replace("$S", subquery);
            let error = session.run(&query, &[]).unwrap_err();
            assert_eq!(error.detail, "UnexpectedSyntax", "{query}: {error}");
        }
    }
}
