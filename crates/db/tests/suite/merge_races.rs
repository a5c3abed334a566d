//! `MERGE` of relationships in transactions at the same time: at every isolation level there is
//! an order of them that explains what came out, so what both looked for is made once.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use telar_db::{Database, EdgeTypeOptions, Isolation, Session, Settings, Value, ValueMap};

/// Two transactions that both run before either commits.
struct Race {
    name: &'static str,
    one: &'static str,
    other: &'static str,
    /// Whether the second may commit.
    both: bool,
    /// How many relationships of the type `R` there are at the end.
    count: i64,
}

const fn race(
    name: &'static str,
    one: &'static str,
    other: &'static str,
    both: bool,
    count: i64,
) -> Race {
    Race { name, one, other, both, count }
}

const X_TO_Y: &str = "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R]->(y)";
const HUB: &str = "MATCH (h:Hub), (y:W {i: 1}) MERGE (h)-[:R]->(y)";

const RACES: &[Race] = &[
    race("the same", X_TO_Y, X_TO_Y, false, 1),
    race(
        "the other way is another relationship",
        X_TO_Y,
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)-[:R]->(x)",
        true,
        2,
    ),
    race(
        "written from right to left",
        X_TO_Y,
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)<-[:R]-(x)",
        false,
        1,
    ),
    race(
        "either way, from both ends",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R]-(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)-[:R]-(x)",
        false,
        1,
    ),
    race(
        "either way after one way",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)-[:R]->(x)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R]-(y)",
        false,
        1,
    ),
    race(
        "from a node to itself",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(x)",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]-(x)",
        false,
        1,
    ),
    race("other ends", X_TO_Y, "MATCH (x:W {i: 1}), (y:W {i: 3}) MERGE (x)-[:R]->(y)", true, 2),
    race("other types", X_TO_Y, "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:S]->(y)", true, 1),
    race(
        "equal properties",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R {k: 1, l: 'a'}]->(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R {k: 1.0}]->(y)",
        false,
        1,
    ),
    race(
        "other properties",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R {k: 1}]->(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R {k: 2}]->(y)",
        true,
        2,
    ),
    race(
        "properties that come afterwards do not count",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[r:R]->(y) ON CREATE SET r.k = 1 SET r.l = 1",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[r:R]->(y) ON CREATE SET r.k = 2 SET r.l = 2",
        false,
        1,
    ),
    race(
        "a new node at the other end",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:C {k: 'a'})",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:C {k: 'a'})",
        false,
        1,
    ),
    race(
        "other new nodes at the other end",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:C {k: 'a'})",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:C {k: 'b'})",
        true,
        2,
    ),
    race(
        "new nodes with other labels",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:C {k: 'a'})",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]->(:D {k: 'a'})",
        true,
        2,
    ),
    race(
        "a new node at the beginning, either way",
        "MATCH (x:W {i: 1}) MERGE (:C {k: 'a'})-[:R]-(x)",
        "MATCH (x:W {i: 1}) MERGE (x)-[:R]-(:C {k: 'a'})",
        false,
        1,
    ),
    race(
        "two hops between two nodes",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:R]->(:C {k: 'a'})<-[:S]-(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)-[:S]->(:C {k: 'a'})<-[:R]-(x)",
        false,
        1,
    ),
    race(
        "two hops among three nodes, one of which is there",
        "MATCH (x:W {i: 1}), (y:W {i: 2}), (z:W {i: 3}) MERGE (x)-[:R]->(y)-[:R]->(z)",
        "MATCH (y:W {i: 2}), (z:W {i: 3}) MERGE (y)-[:R]->(z)",
        false,
        2,
    ),
    race(
        "nothing bound: a pattern of its own, as a node without a constraint",
        "MERGE (:C {k: 1})-[:R]->(:C {k: 2})",
        "MERGE (:C {k: 1})-[:R]->(:C {k: 2})",
        true,
        2,
    ),
    race(
        "nodes of the transaction itself",
        "MATCH (x:W {i: 1}) CREATE (y:C {k: 1}) MERGE (x)-[:R]->(y)",
        "MATCH (x:W {i: 1}) CREATE (y:C {k: 1}) MERGE (x)-[:R]->(y)",
        true,
        2,
    ),
    race(
        "CREATE before MERGE",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) CREATE (x)-[:R]->(y)",
        X_TO_Y,
        false,
        1,
    ),
    race(
        "MERGE before CREATE",
        X_TO_Y,
        "MATCH (x:W {i: 1}), (y:W {i: 2}) CREATE (x)-[:R]->(y)",
        true,
        2,
    ),
    race(
        "DELETE beside MERGE that finds it",
        "MATCH (:W {i: 4})-[r:R]->(:W {i: 5}) DELETE r",
        "MATCH (x:W {i: 4}), (y:W {i: 5}) MERGE (x)-[:R]->(y)",
        true,
        -1,
    ),
    race(
        "several in one statement, one of them the same",
        "MATCH (x:W {i: 1}), (y:W) WHERE y.i < 3 MERGE (x)-[:R]->(y)",
        "MATCH (x:W), (y:W {i: 2}) WHERE x.i < 4 MERGE (x)-[:R]->(y)",
        false,
        2,
    ),
    race(
        "within FOREACH",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) FOREACH (n IN [1, 2] | MERGE (x)-[:R]->(y))",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) CALL (x, y) { MERGE (x)-[r:R]->(y) RETURN r } RETURN r",
        false,
        1,
    ),
    race("at a hub, the same", HUB, HUB, false, 1),
    race("at a hub, others", HUB, "MATCH (h:Hub), (y:W {i: 2}) MERGE (h)-[:R]->(y)", true, 2),
    race(
        "at a hub, a new node",
        "MATCH (h:Hub) MERGE (h)-[:R]->(:C {k: 'a'})",
        "MATCH (h:Hub) MERGE (h)-[:R]->(:C {k: 'a'})",
        false,
        1,
    ),
    race(
        "at a hub, other new nodes",
        "MATCH (h:Hub) MERGE (h)-[:R]->(:C {k: 'a'})",
        "MATCH (h:Hub) MERGE (h)-[:R]->(:C {k: 'b'})",
        true,
        2,
    ),
    race(
        "a simple type, either way",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:Simple]-(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (y)-[:Simple]-(x)",
        false,
        0,
    ),
    race(
        "a simple type, one way",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:Simple]->(y)",
        "MATCH (x:W {i: 1}), (y:W {i: 2}) MERGE (x)-[:Simple]->(y)",
        false,
        0,
    ),
];

fn count(session: &Session, pattern: &str) -> i64 {
    match session.run(&format!("MATCH {pattern} RETURN count(*)"), &[]).unwrap().rows[..] {
        [ref row] => match row[..] {
            [Value::Int(n)] => n,
            ref other => panic!("{other:?}"),
        },
        ref other => panic!("{other:?}"),
    }
}

const R: &str = "(h)-[r:R]->() WHERE NOT coalesce(r.before, false)";
const SIMPLE: &str = "()-[:Simple]->()";

fn database() -> Database {
    let mut settings = Settings::default();
    settings.hub_entries_min = 1024;
    let db = Database::in_memory(settings).unwrap();
    db.edge_type("Simple", EdgeTypeOptions::simple()).unwrap();
    let session = Session::new(&db);
    session.run("UNWIND range(1, 5) AS i CREATE (:W {i: i})", &[]).unwrap();
    let before = "MATCH (x:W {i: 4}), (y:W {i: 5}) CREATE (x)-[:R {before: true}]->(y)";
    session.run(before, &[]).unwrap();
    db
}

fn with_hub(db: &Database) {
    let session = Session::new(db);
    let spokes = "CREATE (h:Hub) WITH h UNWIND range(1, 3000) AS i \
                  CREATE (h)-[:R {before: true}]->(:Spoke {i: i})";
    session.run(spokes, &[]).unwrap();
    db.settle();
}

/// Whether or not the second one first waits for the first.
#[test]
fn what_two_transactions_look_for_is_made_once() {
    for race in RACES {
        for isolation in [Isolation::Snapshot, Isolation::Serializable] {
            let db = database();
            if race.one.contains("Hub") {
                with_hub(&db);
            }
            let wait = Duration::from_millis(u64::from(isolation == Isolation::Serializable));
            let session = Session::new(&db).with_isolation(isolation).with_write_wait(wait);
            let (mut one, mut other) = (session.begin().unwrap(), session.begin().unwrap());
            one.run(race.one, &ValueMap::new()).unwrap();
            other.run(race.other, &ValueMap::new()).unwrap();
            one.commit().unwrap();
            let second = other.commit();
            let told = format!("{} ({isolation:?}): {second:?}", race.name);
            match (&second, race.both) {
                (Ok(_), true) => {}
                (Err(e), false) => assert!(e.is_retryable(), "{told}"),
                // More than what was looked for is read, and may conflict.
                (Err(e), true) if isolation == Isolation::Serializable => {
                    assert!(e.is_retryable(), "{told}");
                    continue;
                }
                _ => panic!("{told}"),
            }
            let before = count(&session, "()-[r:R {before: true}]->(:W)");
            assert_eq!(before, i64::from(race.count >= 0), "{told}");
            let simple = i64::from(race.one.contains("Simple"));
            assert_eq!(count(&session, SIMPLE), simple, "{told}");
            assert_eq!(count(&session, R), race.count.max(0), "{told}");
            let twins = "(x)-[r:R]->(y) WITH x, y, properties(r) AS p, count(*) AS c WHERE c > 1";
            let asked = race.other.contains("CREATE (x)");
            assert_eq!(count(&session, twins), i64::from(asked), "{told}");
            if second.is_err() {
                session.run(race.other, &[]).unwrap();
                let made = count(&session, R);
                session.run(race.other, &[]).unwrap();
                assert_eq!(count(&session, R), made, "{told}: run again");
                assert_eq!(count(&session, SIMPLE), simple, "{told}: run again");
            }
        }
    }
}

/// A node whose key is unique needs no claim: the constraint decides.
#[test]
fn nodes_are_made_once_where_a_constraint_says_so() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_write_wait(Duration::from_millis(1));
    session.run("CREATE CONSTRAINT FOR (n:K) REQUIRE n.k IS UNIQUE", &[]).unwrap();
    for (label, both) in [("K", false), ("L", true)] {
        let text = format!("MERGE (:{label} {{k: 1}})");
        let (mut one, mut other) = (session.begin().unwrap(), session.begin().unwrap());
        one.run(&text, &ValueMap::new()).unwrap();
        other.run(&text, &ValueMap::new()).unwrap();
        one.commit().unwrap();
        let second = other.commit();
        assert_eq!(second.is_ok(), both, "{label}: {second:?}");
        assert!(second.is_ok() || second.unwrap_err().is_retryable());
        assert_eq!(count(&session, &format!("(:{label})")), 1 + i64::from(both));
    }
}

#[test]
fn many_sessions_make_each_pair_once_and_lose_no_match() {
    const THREADS: i64 = 8;
    const EACH: i64 = 60;
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run("UNWIND range(0, 3) AS i CREATE (:W {i: i})", &[]).unwrap();
    for arrow in ["-[r:R]->", "-[r:S]-"] {
        let text = format!(
            "MATCH (x:W {{i: $x}}), (y:W {{i: $y}}) MERGE (x){arrow}(y) \
             ON CREATE SET r.n = 1 ON MATCH SET r.n = r.n + 1"
        );
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (session, text) = (&session, &text);
                scope.spawn(move || {
                    for n in 0..EACH {
                        let pair = (thread + n) * 7 % 16;
                        let given = [("x", Value::Int(pair / 4)), ("y", Value::Int(pair % 4))];
                        session.run(text, &given).unwrap();
                    }
                });
            }
        });
        let ends = format!("(x:W){}(y:W)", arrow.replace("]-", "]->").replace(">>", ">"));
        let sum = format!("MATCH {ends} RETURN sum(r.n), count(r)");
        let rows = session.run(&sum, &[]).unwrap().rows;
        assert_eq!(rows[0][0], Value::Int(THREADS * EACH), "{arrow}");
        let twice = format!("{ends} WITH x, y, count(r) AS c WHERE c > 1");
        assert_eq!(count(&session, &twice), 0, "{arrow}");
        let either = "(x:W)-[:S]->(y:W)-[:S]->(x) WHERE x <> y";
        assert_eq!(count(&session, either), 0, "made in both directions");
    }
}
