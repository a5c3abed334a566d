//! What plans expect, on graphs whose figures are known, against what happens.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use telar_db::query::PlanDescription;
use telar_db::{Database, Session};

/// 400 persons in 20 cities, and 4,000 posts in 4 countries, all of them places. Persons know each
/// other: each tenth of them knows 40, the others 2; and wrote as many posts as they know persons,
/// about. Posts have a tag.
fn network() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "CREATE CONSTRAINT FOR (n:Person) REQUIRE n.id IS UNIQUE",
        "UNWIND range(0, 19) AS i CREATE (:City:Place {id: i})",
        "UNWIND range(0, 3) AS i CREATE (:Country:Place {id: i})",
        "UNWIND range(0, 49) AS i CREATE (:Tag {id: i})",
        "UNWIND range(0, 399) AS i MATCH (c:City {id: i % 20}) \
         CREATE (:Person {id: i, age: i % 50})-[:IN]->(c)",
        "UNWIND range(0, 399) AS i UNWIND range(1, CASE WHEN i % 10 = 0 THEN 40 ELSE 2 END) AS k \
         MATCH (a:Person {id: i}), (b:Person {id: (i + k * k * 7) % 400}) CREATE (a)-[:KNOWS]->(b)",
        "UNWIND range(0, 399) AS i UNWIND range(1, CASE WHEN i % 10 = 0 THEN 60 ELSE 4 END) AS k \
         MATCH (a:Person {id: i}), (c:Country {id: k % 4}), (t:Tag {id: (i + k) % 50}) \
         CREATE (a)<-[:BY]-(p:Post {at: k})-[:IN]->(c), (p)-[:HAS]->(t)",
    ] {
        session.run(text, &[]).unwrap_or_else(|e| panic!("{text}\n{e}"));
    }
    db
}

/// Operators of which more or fewer rows came than expected, by more than a factor.
fn off(plan: &PlanDescription, factor: f64, found: &mut Vec<String>) {
    let rows = plan.measured.unwrap().rows as f64;
    let times = rows.max(1.0) / plan.estimated_rows.max(1.0);
    if rows.max(plan.estimated_rows) > 10.0 && !(1.0 / factor..=factor).contains(&times) {
        let (expected, operator) = (plan.estimated_rows, plan.operator);
        found.push(format!("{operator} {}: {expected:.1} expected, {rows}", plan.details));
    }
    plan.children.first().into_iter().for_each(|child| off(child, factor, found));
}

#[test]
fn what_is_known_of_variables_follows_them() {
    let db = network();
    let mut wrong = Vec::new();
    for query in [
        // By another name, through groups, lists and back.
        "MATCH (p:Person) WITH p AS q MATCH (q)-[:KNOWS]->(r) RETURN r",
        "MATCH (p:Person)-[:KNOWS]->(q) WITH q, count(*) AS n MATCH (q)-[:KNOWS]->(r) RETURN r",
        "MATCH (p:Person) WITH collect(p) AS all UNWIND all AS q MATCH (q)<-[:BY]-(x) RETURN x",
        "MATCH (p:Person)-[:KNOWS]->(q) WITH collect(DISTINCT q) AS all UNWIND all AS q RETURN q",
        // Who is known knows more, and wrote more.
        "MATCH (p:Person)<-[:BY]-(x) MATCH (p)-[:KNOWS]->(q) RETURN q",
        "MATCH (p:Person)-[:KNOWS]->(q) MATCH (p)-[:KNOWS]->(r) RETURN q, r",
        "MATCH (p:Person)-[:KNOWS]->(q) MATCH (p)<-[:BY]-(x) RETURN q, x",
        // Persons are in cities, posts in countries.
        "MATCH (p:Person)-[:IN]->(c) WHERE c:City RETURN c",
        "MATCH (p:Post)-[:IN]->(c) WHERE c:Country RETURN c",
        "MATCH (p:Person)-[:IN]->(c)<-[:IN]-(q) RETURN q",
        // Different ones.
        "MATCH (p:Person)<-[:BY]-(x)-[:HAS]->(t) RETURN DISTINCT t",
        "MATCH (p:Person)<-[:BY]-(x)-[:IN]->(c) RETURN c, count(*)",
        "MATCH (p:Person) WITH p LIMIT 3 MATCH (p)-[:IN]->(c) WITH p, c \
         OPTIONAL MATCH (p)<-[:BY]-(x) RETURN p, c, collect(x)",
        "MATCH (c:Country) WITH c LIMIT 1 WITH collect(c) AS all \
         MATCH (p:Post)-[:IN]->(d:Country) WHERE NOT d IN all RETURN p",
        "MATCH (p:Person) WHERE EXISTS { (p)-[:KNOWS]->(:Person) } RETURN p",
        "MATCH (p:Person)-[:KNOWS*1..2]->(q) RETURN q",
    ] {
        let session = Session::new(&db);
        let result = session.run(&format!("PROFILE {query}"), &[]).unwrap();
        let mut found = Vec::new();
        off(&result.plan.unwrap(), 4.0, &mut found);
        if !found.is_empty() {
            wrong.push(format!("{query}\n  {}", found.join("\n  ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A relationship that each has one of is followed and tested; lists of many are intersected.
#[test]
fn lists_are_intersected_where_that_is_cheaper() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "UNWIND range(0, 199) AS i CREATE (:P {id: i})",
        "MATCH (a:P), (b:P) WHERE (a.id * 7 + b.id * 3) % 10 = 0 AND a <> b CREATE (a)-[:K]->(b)",
        "MATCH (a:P), (b:P) WHERE b.id = (a.id * 3 + 1) % 200 CREATE (a)-[:ONE]->(b)",
    ] {
        session.run(text, &[]).unwrap();
    }
    let plan = |query: &str| {
        let plan = session.run(&format!("PROFILE {query}"), &[]).unwrap();
        (plan.rows[0][0].clone(), plan.plan.unwrap().to_string())
    };
    let (many, text) = plan("MATCH (a:P)-[:K]->(b)-[:K]->(c), (a)-[:K]->(c) RETURN count(*)");
    assert!(text.contains("Intersect"), "{text}");
    let apart = "MATCH (a:P)-[:K]->(b) MATCH (b)-[:K]->(c) MATCH (a)-[:K]->(c) RETURN count(*)";
    assert_eq!(plan(apart).0, many);
    let (one, text) = plan("MATCH (a:P)-[:ONE]->(b)-[:ONE]->(c), (a)-[:ONE]->(c) RETURN count(*)");
    assert!(!text.contains("Intersect"), "{text}");
    let apart = "MATCH (a)-[:ONE]->(b) MATCH (b)-[:ONE]->(c) MATCH (a)-[:ONE]->(c) RETURN count(*)";
    assert_eq!(plan(apart).0, one);
}
