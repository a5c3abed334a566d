//! A serializable transaction may read that there is no such thing yet, down to its name: of two
//! that read so and then make it, one must lose.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::sync::Barrier;
use std::thread::scope;

use telar_db::query::ErrorKind;
use telar_db::{Isolation, Session, ValueMap};

/// Two transactions that read and write the same are possible one after the other only.
struct Skew {
    read: &'static str,
    write: &'static str,
}

const fn skew(read: &'static str, write: &'static str) -> Skew {
    Skew { read, write }
}

/// There are two nodes `:Old {id: 1}` and `{id: 2}`, and a relationship `:OLD` from 1 to 2.
const SKEWS: &[Skew] = &[
    // Labels.
    skew("MATCH (n:New) RETURN count(n)", "CREATE (:New)"),
    skew("MATCH (n:New) RETURN n", "CREATE (:New)"),
    skew("MATCH (n:New|Newer) RETURN n", "CREATE (:New)"),
    skew("MATCH (n:!Old) RETURN n", "CREATE (:New)"),
    skew("MATCH (n) WHERE n:New RETURN n", "MATCH (n {id: 1}) SET n:New"),
    skew("MATCH (n {id: 2}) RETURN n:New", "MATCH (n:Old) SET n:New"),
    skew("MATCH (n {id: 2}) RETURN labels(n)", "MATCH (n:Old) SET n:New"),
    skew("MATCH (n:New {id: 3}) RETURN n", "CREATE (:New {id: 3})"),
    skew("MATCH (n) RETURN count(n)", "CREATE (:New)"),
    skew("MATCH (n:New)-[:OLD]->() RETURN n", "MATCH (n {id: 1}) SET n:New"),
    skew("MATCH ()-[:OLD]->(n:New) RETURN n", "MATCH (n {id: 2}) SET n:New"),
    skew("RETURN EXISTS { (:New) }", "CREATE (:New)"),
    skew("CALL db.labels() YIELD label RETURN count(label)", "CREATE (:New)"),
    // Types of relationships.
    skew("MATCH ()-[r:NEW]->() RETURN count(r)", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew("MATCH (n:Old {id: 1})-[:NEW]->() RETURN n", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew("MATCH (:Old {id: 1})--(n) RETURN n", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew("MATCH (:Old {id: 1})-[*1..2]-(n) RETURN n", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew("MATCH (:Old {id: 1})-[r:!OLD]-(n) RETURN r", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew(
        "MATCH (n:Old) RETURN COUNT { (n)-[:NEW]-() }",
        "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)",
    ),
    skew("MATCH (n:Old) RETURN COUNT { (n)--() }", "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)"),
    skew(
        "MATCH (a {id: 1}), (b {id: 2}) RETURN EXISTS { (a)-[:NEW]->(b) }",
        "MATCH (a {id: 1}), (b {id: 2}) CREATE (a)-[:NEW]->(b)",
    ),
    skew(
        "MATCH p = shortestPath((a {id: 2})-[:NEW*]->(b {id: 1})) RETURN p",
        "MATCH (a {id: 2}), (b {id: 1}) CREATE (a)-[:NEW]->(b)",
    ),
    skew(
        "CALL db.relationshipTypes() YIELD relationshipType RETURN count(*)",
        "MATCH (n {id: 1}) CREATE (n)-[:NEW]->(n)",
    ),
    // Property keys.
    skew("MATCH (n:Old) RETURN n.new", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN sum(n.new)", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old {new: 1}) RETURN n", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) WHERE n.new IS NULL RETURN n.id", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN n", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN properties(n)", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN keys(n)", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN n['new']", "MATCH (n {id: 1}) SET n.new = 1"),
    skew("MATCH (n:Old) RETURN n {.*}", "MATCH (n {id: 1}) SET n += {new: 1}"),
    skew("MATCH ()-[r:OLD]->() RETURN r.new", "MATCH ()-[r:OLD]->() SET r.new = 1"),
    skew("MATCH ()-[r:OLD {new: 1}]->() RETURN r", "MATCH ()-[r:OLD]->() SET r.new = 1"),
    skew("MATCH ()-[r:OLD]->() RETURN r", "MATCH ()-[r:OLD]->() SET r.new = 1"),
    skew("MATCH ()-[r:OLD]->() RETURN keys(r)", "MATCH ()-[r:OLD]->() SET r.new = 1"),
    // Nodes by numbers that nothing has yet.
    skew("MATCH (n) WHERE id(n) = 2 RETURN n", "CREATE (:Old)"),
];

const SETUP: &str = "CREATE (:Old {id: 1})-[:OLD {id: 1}]->(:Old {id: 2})";

/// True if two transactions both commit of which each writes what the other has read, and nothing
/// that the other writes.
fn both_commit(skew: &Skew, isolation: Isolation) -> bool {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_isolation(isolation);
    session.run(SETUP, &[]).unwrap();
    let mut first = session.begin().unwrap();
    let mut second = session.begin().unwrap();
    first.run(skew.read, &ValueMap::new()).unwrap();
    second.run("MATCH (m:Mark) RETURN m", &ValueMap::new()).unwrap();
    first.run("CREATE (:Mark)", &ValueMap::new()).unwrap();
    second.run(skew.write, &ValueMap::new()).unwrap();
    second.commit().unwrap();
    match first.commit() {
        Ok(_) => true,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Conflict, "{}: {error}", skew.read);
            // Alone it goes through.
            let mut again = session.begin().unwrap();
            again.run(skew.read, &ValueMap::new()).unwrap();
            again.run("CREATE (:Mark)", &ValueMap::new()).unwrap();
            again.commit().unwrap();
            false
        }
    }
}

#[test]
fn what_was_not_there_down_to_its_name_was_read() {
    for skew in SKEWS {
        let Skew { read, write } = skew;
        assert!(both_commit(skew, Isolation::Snapshot), "{read}; {write}: snapshots may");
        assert!(!both_commit(skew, Isolation::Serializable), "{read}; {write}: one comes first");
    }
}

#[test]
fn who_makes_what_it_did_not_find_is_not_its_own_rival() {
    for Skew { read, write } in SKEWS {
        let db = telar_db::open_in_memory().unwrap();
        let session = Session::new(&db).with_isolation(Isolation::Serializable);
        session.run(SETUP, &[]).unwrap();
        let mut transaction = session.begin().unwrap();
        transaction.run(read, &ValueMap::new()).unwrap();
        transaction.run(write, &ValueMap::new()).unwrap();
        transaction.run(read, &ValueMap::new()).unwrap();
        transaction.commit().unwrap();
    }
}

#[test]
fn what_others_do_elsewhere_does_not_disturb() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db).with_isolation(Isolation::Serializable);
    session.run(SETUP, &[]).unwrap();
    let reads = [
        "MATCH (n {id: 2}) RETURN n:New, n.new, COUNT { (n)-[:NEW]-() }",
        "MATCH (:Old {id: 2})-[r:NEW {new: 1}]->() RETURN r",
    ];
    for (at, read) in reads.into_iter().enumerate() {
        let mut transaction = session.begin().unwrap();
        transaction.run(read, &ValueMap::new()).unwrap();
        let other = format!("MATCH ()-[r:OLD]->() SET r.other{at} = 1, r.id = 7");
        // A name was made, but nothing that was read came to have it.
        session.run("MATCH (n:Nobody) SET n.new = 1, n:New", &[]).unwrap();
        let mut rolled_back = session.begin().unwrap();
        rolled_back.run("CREATE (:New)-[:NEW {new: 1}]->(:New)", &ValueMap::new()).unwrap();
        rolled_back.rollback();
        transaction.run("MATCH (n {id: 2}) SET n.id = 2", &ValueMap::new()).unwrap();
        transaction.commit().unwrap();
        session.run(&other, &[]).unwrap();
    }
}

#[test]
fn of_those_that_commit_at_once_one_loses() {
    // What each thread reads, and the next one writes: of a name of its round.
    const KINDS: [(&str, &str); 3] = [
        ("MATCH (n:NAME) RETURN n", "CREATE (:NAME)"),
        (
            "MATCH (:Old {id: 1})-[r:NAME]->() RETURN r",
            "MATCH (n {id: ID}) CREATE (n)-[:NAME]->(n)",
        ),
        ("MATCH (n:Old) RETURN n.NAME", "MATCH (n {id: ID}) SET n.NAME = 1"),
    ];
    const ROUNDS: usize = 60;
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    session.run(SETUP, &[]).unwrap();
    let mut lost = 0;
    for round in 0..ROUNDS {
        let (threads, (read, write)) = (2 + round % 2, KINDS[round % 3]);
        let at_once = Barrier::new(threads);
        let one = &|thread: usize| {
            let session = Session::new(&db).with_isolation(Isolation::Serializable);
            let name = |thread: usize| format!("N{round}_{}", thread % threads);
            let read = read.replace("NAME", &name(thread));
            let id = (1 + thread % 2).to_string();
            let write = write.replace("NAME", &name(thread + 1)).replace("ID", &id);
            let mut transaction = session.begin().unwrap();
            transaction.run(&read, &ValueMap::new()).unwrap();
            at_once.wait();
            transaction.run(&write, &ValueMap::new()).unwrap();
            at_once.wait();
            transaction.commit().is_ok()
        };
        let committed = scope(|scope| {
            let all: Vec<_> = (0..threads).map(|t| scope.spawn(move || one(t))).collect();
            all.into_iter().map(|t| t.join().unwrap()).filter(|done| *done).count()
        });
        assert!((1..threads).contains(&committed), "round {round}: {committed} of {threads}");
        lost += threads - committed;
    }
    assert!(lost >= ROUNDS);
}
