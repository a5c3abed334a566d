//! Duties of the optimiser, whatever a statement is like: it replaces every pattern, wherever a
//! query may stand, and applies its rules inside of subqueries as well.

use telar_plain::PlainGraph;

use super::*;
use crate::procedure::Procedures;

/// The physical plan of a statement over an empty graph.
///
/// # Errors
/// Why the statement is refused.
fn try_plan(text: &str, planning: Planning) -> Result<Physical, String> {
    let graph = PlainGraph::new();
    let mut procedures = Procedures::builtin();
    procedures.planning = planning;
    let statement = telar_cypher::parse(text).map_err(|e| format!("{text}: {e:?}"))?;
    let (mut bound, logical) = crate::bind::bind(&statement, text, &graph, &procedures)
        .map_err(|e| format!("{text}: {e}"))?;
    let columns: Vec<Slot> = bound.columns.iter().map(|(_, slot)| *slot).collect();
    let at = bound.at.as_mut();
    let physical = optimize(logical, &columns, at, &graph, planning).unwrap();
    let mut patterns = 0;
    bound.at.iter().for_each(|at| at.subqueries(&mut |plan| patterns += left(plan)));
    assert_eq!(patterns, 0, "AT TIMESTAMP of {text}");
    Ok(physical)
}

/// Patterns that are left in a plan, and in the expressions of its operators.
fn left(plan: &Plan) -> usize {
    let mut found = usize::from(matches!(plan, Plan::Match(_)));
    plan.subqueries(&mut |plan| found += left(plan));
    if let Plan::Merge(p) = plan {
        p.properties.iter().for_each(|e| e.subqueries(&mut |plan| found += left(plan)));
    }
    found + plan.inputs().into_iter().map(left).sum::<usize>()
}

/// Names of all operators of a plan.
fn operators(text: &str, planning: Planning) -> Vec<&'static str> {
    let mut names = Default::default();
    try_plan(text, planning).unwrap().plan.operators(&mut names);
    names.into_iter().collect()
}

/// Every place in which an expression may stand, with `$` for the expression.
const PLACES: &[&str] = &[
    "RETURN $ AS x",
    "RETURN [$, {a: $}] AS x",
    "MATCH (n) WHERE $ RETURN n",
    "MATCH (n {p: $})-[r {p: $}]->(m WHERE $) RETURN n, r, m",
    "MATCH (n)-[r:R*1..2 {p: $}]->(m) RETURN r",
    "MATCH (n)-[r:R WHERE $]->+(m) RETURN r",
    "MATCH ((a)-[r]->(b) WHERE $){1,2} RETURN r",
    "MATCH p = SHORTEST 2 ((a)-[r]->+(b) WHERE $) RETURN p",
    "MATCH (a), (b), p = shortestPath((a)-[*]-(b)) WHERE $ RETURN p",
    "MATCH (n) OPTIONAL MATCH (n)-->(m) WHERE $ RETURN m",
    "MATCH (n) MATCH (n)-->(m) WHERE $ MATCH (m)-->(o) WHERE $ OR o.p = 1 RETURN o",
    "MATCH (n) WITH n, $ AS x ORDER BY $ WHERE $ RETURN x",
    "MATCH (n) RETURN count($) AS c, $ AS x ORDER BY c",
    "MATCH (n) RETURN n ORDER BY $ SKIP toInteger($) LIMIT toInteger($)",
    "UNWIND [$] AS x RETURN x",
    "LET x = $ RETURN x",
    "MATCH (n) FILTER $ RETURN n",
    "RETURN [x IN [$] WHERE $ | $] AS x",
    "RETURN all(x IN [$] WHERE $) AS x",
    "RETURN reduce(s = $, x IN [$] | $) AS x",
    "RETURN CASE $ WHEN $ THEN $ ELSE $ END AS x",
    "MATCH (n) RETURN n {.*, a: $} AS x",
    "MATCH (n) RETURN [(n)-[r]->(m) WHERE $ | $] AS x",
    "RETURN EXISTS { MATCH (n) WHERE $ } AS x",
    "RETURN COUNT { (n)-->(m) WHERE $ } + COUNT { MATCH (n) RETURN $ AS y } AS x",
    "RETURN COLLECT { MATCH (n) RETURN $ AS y UNION MATCH (m) WHERE $ RETURN 1 AS y } AS x",
    "CALL { MATCH (n) WHERE $ RETURN $ AS x } RETURN x",
    "MATCH (n) CALL (n) { MATCH (n)-->(m) WHERE $ RETURN m LIMIT toInteger($) } RETURN m",
    "MATCH (n) RETURN n AS x UNION ALL MATCH (m) WHERE $ RETURN m AS x",
    "CREATE (n {p: $})-[:R {p: $}]->(m)",
    "MERGE (n:L {p: $}) ON CREATE SET n.p = $ ON MATCH SET n[toString($)] = $",
    "MATCH (n) MERGE (n)-[r:R {p: $}]->(m)",
    "MATCH (n) SET n.p = $, n += {q: $} REMOVE n.p",
    "MATCH (n) SET n:[toString($)])",
    "MATCH (n) WHERE $ DETACH DELETE n",
    "FOREACH (x IN [$] | CREATE (:L {p: $}))",
    "MATCH (n) CALL (n) { SET n.p = $ } IN TRANSACTIONS",
    "LOAD CSV FROM toString($) AS row RETURN row",
    "CALL db.labels() YIELD label WHERE $ RETURN label",
    "SHOW INDEXES YIELD name WHERE $ RETURN name",
    "AT TIMESTAMP toInteger($) MATCH (n) RETURN n",
];

/// Queries inside of expressions, each of any kind of value.
const QUERIES: &[&str] = &[
    "EXISTS { (a1)-->(b1) }",
    "EXISTS { MATCH (a1) MATCH (a1)-->(b1) WHERE EXISTS { (b1)-->(c1) } }",
    "(COUNT { MATCH (a1:L) WHERE a1.p = 1 OR a1.q = 2 RETURN a1 } > 0)",
    "(size(COLLECT { MATCH (a1) OPTIONAL MATCH (a1)-->(b1) RETURN b1 }) > 0)",
    "(size([(a1)-[:R]->(b1) | b1.p]) > 0)",
];

#[test]
fn no_pattern_is_left_wherever_a_query_stands() {
    for place in PLACES {
        // The language refuses some kinds of queries in some places, in none of these all.
        let (mut planned, mut refused) = (0, Vec::new());
        for query in QUERIES {
            let text = place.replace('$', query);
            let text = text.replace("SET n:[", "SET n:$([");
            for planning in [Planning::default(), Planning::NAIVE] {
                match try_plan(&text, planning) {
                    Ok(physical) => assert_eq!(left(&physical.plan), 0, "{text}"),
                    Err(why) => {
                        refused.push(why);
                        continue;
                    }
                }
                planned += 1;
            }
        }
        assert!(planned > 0, "{place}: {refused:#?}");
    }
}

#[test]
fn rules_apply_to_statements_and_inside_of_subqueries() {
    let on = Planning::default();
    for (text, operator) in [
        ("MATCH (n:L) RETURN count(*) AS c", "CountStore"),
        ("MATCH (n) RETURN COUNT { (n)-->(m) } AS x", "Degrees"),
        ("MATCH (n) RETURN [x IN [1] | EXISTS { (n)-->(m) }] AS x", "Degrees"),
        ("MATCH (n) CALL (n) { MATCH (n)-->(m) RETURN count(*) AS c } RETURN c", "Degrees"),
    ] {
        assert!(operators(text, on).contains(&operator), "{text}: {:?}", operators(text, on));
        let off = operators(text, Planning::NAIVE);
        assert!(!off.contains(&operator), "{text}: {off:?}");
    }
}

#[test]
fn a_statement_is_parted_or_shared_out_but_not_both() {
    let on = Planning::default();
    let reads = operators("MATCH (n:L)-->(m) WHERE m.p = 1 RETURN m.q AS x", on);
    assert!(reads.contains(&"Parallel") && !reads.contains(&"Eager"), "{reads:?}");
    let writes = operators("MATCH (n:L)-->(m) CREATE (:L)-[:R]->(m)", on);
    assert!(writes.contains(&"Eager") && !writes.contains(&"Parallel"), "{writes:?}");
}
