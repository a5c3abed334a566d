//! A `LIMIT` stops what makes its rows: how many rows operators make is bounded by a small multiple
//! of what is wanted.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use crate::common;

use common::rows;
use telar_db::query::PlanDescription;
use telar_db::{Database, Session};

/// `(:User)` with `v`, each with four relationships to `(:Item)`.
const USERS: usize = 10_000;

fn users() -> Database {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for query in [
        "CREATE INDEX FOR (n:User) ON (n.v)",
        "UNWIND range(1, 10000) AS v CREATE (:User {v: v, even: v % 2 = 0})",
        "UNWIND range(0, 99) AS i CREATE (:Item {i: i})",
        "MATCH (n:User) UNWIND range(0, 3) AS k MATCH (i:Item {i: (n.v + k) % 100})
         CREATE (n)-[:RATED {stars: k}]->(i)",
    ] {
        session.run(query, &[]).unwrap();
    }
    drop(session);
    db
}

/// The most rows that an operator of a plan made, and which.
fn most(plan: &PlanDescription) -> (u64, String) {
    let own = plan.measured.as_ref().map_or(0, |measured| measured.rows);
    let below = plan.children.iter().map(most).max().unwrap_or_default();
    below.max((own, plan.operator.to_string()))
}

fn profile(session: &Session, query: &str) -> PlanDescription {
    session.run(&format!("PROFILE {query}"), &[]).unwrap().plan.unwrap()
}

#[test]
fn a_limit_bounds_the_rows_that_are_made() {
    let db = users();
    let session = Session::new(&db);
    session.run("CREATE INDEX FOR ()-[r:LIKES]-() ON (r.at)", &[]).unwrap();
    session.run("MATCH (n:Item), (m:Item) CREATE (n)-[:LIKES {at: n.i}]->(m)", &[]).unwrap();
    let mut wrong = Vec::new();
    for (query, bound) in [
        ("MATCH (n) RETURN n LIMIT 1", 64),
        ("MATCH (n:User) RETURN n.v LIMIT 1", 128),
        ("MATCH (n:User) RETURN n.v SKIP 5 LIMIT 1", 128),
        ("MATCH (n:User) RETURN n.v LIMIT 40", 256),
        ("MATCH (n:User) WHERE n.even RETURN n.v LIMIT 5", 128),
        // An item has four hundred relationships, which are found together. No relationship leads
        // to the first ten thousand nodes: they are looked at in vain.
        ("MATCH (n:User)-[r:RATED]->(m) RETURN r.stars LIMIT 5", 10_100),
        ("MATCH (n:User)-[r:RATED]->(m) WHERE m.i < 50 RETURN r.stars LIMIT 3", 10_100),
        ("MATCH (n:User) WHERE n.v > 10 RETURN n.v LIMIT 3", 2_048),
        ("MATCH (n:User) WHERE n.v > 10 AND n.even RETURN n.v LIMIT 3", 2_048),
        ("MATCH (n:User) OPTIONAL MATCH (n)-[:RATED]->(m {i: 1}) RETURN n.v, m LIMIT 3", 2_048),
        ("MATCH (n:User)-[:RATED*1..2]-(m) RETURN m.i LIMIT 3", 2_048),
        ("MATCH (n:User) RETURN DISTINCT n.even LIMIT 1", 2_048),
        ("UNWIND range(1, 1000000) AS i RETURN i LIMIT 3", 16),
        ("MATCH (n:User) WITH n LIMIT 3 RETURN n.v ORDER BY n.v", 2_048),
        ("MATCH (n:User) CALL (n) { MATCH (n)-[:RATED]->(m) RETURN m } RETURN m.i LIMIT 3", 2_048),
        ("CALL () { MATCH (n:User) RETURN n } RETURN n.v LIMIT 3", 2_048),
        ("MATCH (i:Item) CALL () { MATCH (n:User) RETURN n } RETURN n.v LIMIT 3", 2_048),
        ("MATCH (n:User) WITH n LIMIT 50 DETACH DELETE n", 2_048),
        ("MATCH (n:User) WITH n LIMIT 50 SET n.seen = true", 2_048),
        // An index in order.
        ("MATCH (n:User) WHERE n.v > 10 RETURN n.even ORDER BY n.v LIMIT 3", 16),
        ("MATCH (n:User) WHERE n.v > 10 RETURN n.even ORDER BY n.v DESC, n.even LIMIT 3", 16),
        ("MATCH (n:User) WHERE n.v IS NOT NULL RETURN n ORDER BY n.v SKIP 4 LIMIT 4", 16),
        ("MATCH (n:User) WHERE n.v > 10 AND n.even RETURN n ORDER BY n.v LIMIT 20", 256),
        ("MATCH ()-[r:LIKES]->() WHERE r.at > 10 RETURN r ORDER BY r.at DESC LIMIT 3", 16),
        ("MATCH ()-[r:LIKES]->() WHERE r.at > 10 RETURN r.at LIMIT 3", 16),
        ("RETURN EXISTS { MATCH (n:User) }", 2_048),
        ("RETURN EXISTS { MATCH (n:User) WHERE n.even }", 2_048),
        ("RETURN EXISTS { MATCH (n:User) WITH n WHERE n.even MATCH (n)-->() }", 2_048),
        ("MATCH (i:Item {i: 3}) RETURN EXISTS { WITH 1 AS x MATCH (n:User) RETURN n }", 2_048),
    ] {
        let plan = profile(&session, query);
        let (found, operator) = most(&plan);
        if found > bound {
            wrong.push(format!("{operator} made {found} rows, wanted {bound}: {query}\n{plan}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wanted late or never is found all the same, each row once.
#[test]
fn a_limit_that_is_not_reached_finds_everything() {
    let db = users();
    let session = Session::new(&db);
    for (query, expected) in [
        ("MATCH (n:User) WITH n LIMIT 1000000 RETURN count(*), count(DISTINCT n)", "10000 | 10000"),
        ("MATCH (n:User) WITH n SKIP 1500 LIMIT 3000 RETURN count(DISTINCT n)", "3000"),
        ("MATCH (n:User) WHERE n.v = 9999 WITH n LIMIT 1 RETURN n.v", "9999"),
        (
            "MATCH (n:User) WHERE n.v > 3 WITH n LIMIT 1000000 RETURN count(*), count(DISTINCT n)",
            "9997 | 9997",
        ),
        (
            "MATCH (n:User) WHERE n.v > 3 WITH n SKIP 700 LIMIT 2000 RETURN count(DISTINCT n)",
            "2000",
        ),
        (
            "MATCH (n:User) WHERE n.v > 9 AND n.v % 1000 = 0 WITH n LIMIT 9 RETURN count(DISTINCT n)",
            "9",
        ),
        ("MATCH (n:User)-[r]->(m) WITH r LIMIT 100000 RETURN count(DISTINCT r)", "40000"),
        (
            "UNWIND range(1, 5000) AS i WITH i LIMIT 4999 RETURN count(DISTINCT i), max(i)",
            "4999 | 4999",
        ),
        (
            "MATCH (i:Item) CALL (i) { MATCH (i)<--(n) RETURN n } WITH n LIMIT 100000
          RETURN count(*), count(DISTINCT n)",
            "40000 | 10000",
        ),
        ("MATCH (n:User) WITH n LIMIT 0 RETURN count(*)", "0"),
    ] {
        assert_eq!(rows(&session, query), [expected], "{query}");
    }
    assert_eq!(rows(&session, "MATCH (n:User) RETURN count(*)"), [USERS.to_string()]);
}
