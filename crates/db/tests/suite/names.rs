//! Names of labels, relationship types and property keys: made by what commits, and by nothing
//! else; each keeps its number, whatever others make and roll back at the same time.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::common;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

use common::{rows, show};
use telar_db::query::ErrorKind;
use telar_db::{Database, Session, ValueMap, maintenance};

/// Names by kind, without numbers that have none.
fn names(db: &Database) -> [Vec<String>; 3] {
    let types = db.edge_types().into_iter().map(|(name, _)| name).collect();
    [db.labels(), types, db.property_keys()].map(|mut names: Vec<String>| {
        names.retain(|name| !name.is_empty());
        names.sort();
        names
    })
}

fn one(session: &Session, text: &str) -> String {
    session.run(text, &[]).unwrap().rows.iter().flatten().map(show).collect::<Vec<_>>().join("; ")
}

const CREATE: &str = "CREATE (n:L {k: 1})-[r:T {q: 2}]->(m:M) SET m.p = 3";
const READS: [(&str, &str); 7] = [
    (
        "MATCH (n:L)-[r:T]->(m:M) RETURN labels(n), type(r), keys(r), m.p, n.k",
        "['L']; 'T'; ['q']; 3; 1",
    ),
    ("MATCH (a)-[r]-(b) RETURN collect(DISTINCT type(r)) AS t", "['T']"),
    ("MATCH (n) WHERE n:M RETURN properties(n)", "{p: 3}"),
    ("CALL db.labels() YIELD label WITH label ORDER BY label RETURN collect(label)", "['L', 'M']"),
    (
        "CALL db.relationshipTypes() YIELD relationshipType RETURN collect(relationshipType)",
        "['T']",
    ),
    (
        "CALL db.propertyKeys() YIELD propertyKey WITH propertyKey ORDER BY propertyKey \
         RETURN collect(propertyKey)",
        "['k', 'p', 'q']",
    ),
    ("MATCH (n:L) RETURN n.q, n.none, n:Other, COUNT { (n)-[:T]->() }", "null; null; false; 1"),
];

#[test]
fn a_transaction_knows_its_own_names_and_nobody_else_does() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for ends in ["rollback", "failure", "commit"] {
        let mut transaction = session.begin().unwrap();
        transaction.run(CREATE, &ValueMap::new()).unwrap();
        for (text, expected) in READS {
            let found = transaction.run(text, &ValueMap::new()).unwrap();
            let found: Vec<String> = found.rows.iter().flatten().map(show).collect();
            assert_eq!(found.join("; "), expected, "{text}");
        }
        assert_eq!(names(&db).concat(), [""; 0], "not made yet");
        for (text, nothing) in [
            ("MATCH (n:L) RETURN count(n)", "0"),
            ("MATCH ()-[r:T]->() RETURN count(r)", "0"),
            ("CALL db.propertyKeys() YIELD propertyKey RETURN count(*)", "0"),
        ] {
            assert_eq!(one(&session, text), nothing, "{text}");
        }
        match ends {
            "rollback" => transaction.rollback(),
            "failure" => {
                let error = transaction.run("RETURN 1 / 0", &ValueMap::new()).unwrap_err();
                assert_eq!(error.kind, ErrorKind::Arithmetic);
                drop(transaction);
            }
            _ => _ = transaction.commit().unwrap(),
        }
    }
    for (text, expected) in READS {
        assert_eq!(one(&session, text), expected, "{text}");
    }
    let text = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&db), [text(&["L", "M"]), text(&["T"]), text(&["k", "p", "q"])]);
}

/// Plans are kept, and with them the numbers of names: not those that a transaction had for itself.
#[test]
fn a_plan_that_ran_under_names_of_a_transaction_finds_others_later() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let reads = || READS.iter().filter(|(text, _)| text.contains("(n:L)"));
    for round in 0..3 {
        let mut transaction = session.begin().unwrap();
        transaction.run(CREATE, &ValueMap::new()).unwrap();
        for (text, expected) in reads() {
            let found = transaction.run(text, &ValueMap::new()).unwrap();
            let found: Vec<String> = found.rows.iter().flatten().map(show).collect();
            assert_eq!(found.join("; "), *expected, "{text}");
        }
        transaction.rollback();
        // Other names get the numbers.
        let others = format!("CREATE (:X{round} {{x{round}: 0}})-[:Y{round} {{y{round}: 0}}]->()");
        session.run(&others, &[]).unwrap();
        for (text, _) in reads() {
            assert_eq!(one(&session, text), "", "{text}");
        }
    }
    session.run(CREATE, &[]).unwrap();
    for (text, expected) in reads() {
        assert_eq!(one(&session, text), *expected, "{text}");
    }
}

#[test]
fn a_failed_statement_makes_no_names() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    for text in [
        "UNWIND range(1, 3) AS i CREATE (:A {b: 1})-[:C]->() WITH i RETURN 1 / (i - 3)",
        "CREATE (n:A {b: 1})-[:C]->() WITH n SET n.d = [[1, {}]]",
        "MERGE (n:A {b: null})",
        "MATCH (n:A) SET n.b = 1, n:B",
    ] {
        let _ = session.run(text, &[]);
        assert_eq!(names(&db).concat(), [""; 0], "{text}");
    }
}

#[test]
fn there_is_no_end_of_names_that_nobody_made() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    // More than there can be, in few transactions each of which has many.
    let create = "UNWIND range(1, 4000) AS i CREATE (n:$('L' + $t + i))-[:$('T' + $t + i)]->() \
                  SET n[('K' + $t) + i] = i";
    let session = &session;
    for round in 0..18 {
        let mut transaction = session.begin().unwrap();
        let parameters = ValueMap::from([("t".into(), format!("{round}x").as_str().into())]);
        transaction.run(create, &parameters).unwrap();
        transaction.rollback();
    }
    session.run("CREATE (:L {k: 1})-[:T]->()", &[]).unwrap();
    assert_eq!(db.labels().iter().position(|name| name == "L"), Some(0));
    assert_eq!(names(&db).map(|names| names.len()), [1, 1, 1]);
}

#[test]
fn who_holds_a_name_with_others_keeps_it() {
    let db = telar_db::open_in_memory().unwrap();
    let session = Session::new(&db);
    let none = ValueMap::new();
    let begin = || session.begin().unwrap();
    let (mut first, mut second, mut third) = (begin(), begin(), begin());
    first.run("CREATE (:A {n: 'A'})-[:R]->()", &none).unwrap();
    second.run("CREATE (:A {n: 'A'})-[:R]->()", &none).unwrap();
    third.run("CREATE (:B {n: 'B'})-[:S]->(:A)", &none).unwrap();
    first.rollback();
    second.commit().unwrap();
    // The number of what is still held is not given to others.
    session.run("CREATE (:C {n: 'C'})-[:Q]->()", &[]).unwrap();
    third.commit().unwrap();
    let text =
        "MATCH (n)-[r]->(m) RETURN labels(n)[0] = n.n, labels(n)[0] + type(r) + size(labels(m))";
    assert_eq!(rows(&session, text), ["true | 'AR0'", "true | 'BS1'", "true | 'CQ0'"]);
}

/// Rolls something back that was made before the others, so that a number is left without a name.
fn leave_a_gap(session: &Session, round: usize) {
    let mut lost = session.begin().unwrap();
    let text = format!("CREATE (:Gap{round} {{gap{round}: 1}})-[:GAP{round}]->()");
    lost.run(&text, &ValueMap::new()).unwrap();
    let text = format!("CREATE (:N{round} {{n: 'N{round}', k{round}: 1}})-[:R{round}]->()");
    session.run(&text, &[]).unwrap();
    lost.rollback();
}

const SAME: &str = "MATCH (n)-[r]->() WHERE labels(n) <> [n.n] OR type(r) <> 'R' + substring(n.n, 1) \
                    RETURN n.n, labels(n), type(r)";

#[test]
fn numbers_without_names_survive_restarts_and_are_used() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().join("db");
    let mut db = telar_db::open(&dir).unwrap();
    for round in 0..8 {
        let session = Session::new(&db);
        leave_a_gap(&session, round);
        if round % 2 == 1 {
            // Names for the gaps.
            session
                .run(&format!("CREATE (:N1{round} {{n: 'N1{round}'}})-[:R1{round}]->()"), &[])
                .unwrap();
        }
        // It would keep the database open.
        drop(session);
        let before = names(&db);
        assert!(!before.iter().flatten().any(|name| name.contains(['G', '\0'])), "{before:?}");
        match round % 4 {
            0 | 3 => {}
            1 => _ = db.checkpoint().unwrap(),
            _ => {
                db.close().unwrap();
                assert_eq!(maintenance::check(&dir).unwrap().findings, []);
                db = telar_db::open(&dir).unwrap();
                continue;
            }
        }
        drop(db);
        db = telar_db::open(&dir).unwrap();
        assert_eq!(names(&db), before, "round {round}");
        let session = Session::new(&db);
        assert_eq!(rows(&session, SAME), [""; 0]);
        let count = format!("MATCH (n) WHERE n.n = 'N{round}' AND n.k{round} = 1 RETURN count(*)");
        assert_eq!(one(&session, &count), "1");
    }
    db.close().unwrap();
    assert_eq!(maintenance::check(&dir).unwrap().findings, []);
}

#[test]
fn names_stay_with_their_numbers_while_others_roll_back() {
    const THREADS: usize = 4;
    const EACH: usize = 60;
    for round in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().join("db");
        let db = telar_db::open(&dir).unwrap();
        let committed = AtomicUsize::new(0);
        scope(|scope| {
            for thread in 0..THREADS {
                let (db, committed) = (&db, &committed);
                scope.spawn(move || {
                    let mut random = random_numbers(round * 31 + thread);
                    for _ in 0..EACH {
                        let session = Session::new(db);
                        let mut transaction = session.begin().unwrap();
                        for _ in 0..=random() % 3 {
                            // Few names, so that they are held by several at once.
                            let n = random() % 40;
                            let text = format!(
                                "CREATE (x:N{n} {{n: 'N{n}'}})-[:R{n}]->() SET x.k{n} = 'N{n}'"
                            );
                            transaction.run(&text, &ValueMap::new()).unwrap();
                        }
                        match random() % 3 {
                            0 => transaction.rollback(),
                            1 if random().is_multiple_of(8) => {
                                drop(transaction);
                                db.checkpoint().unwrap();
                            }
                            _ => {
                                transaction.commit().unwrap();
                                committed.fetch_add(1, Ordering::Relaxed);
                            }
                        }
                    }
                });
            }
        });
        assert!(committed.into_inner() > THREADS * EACH / 3);
        let check = |db: &Database| {
            let session = Session::new(db);
            assert_eq!(rows(&session, SAME), [""; 0]);
            let keys = "MATCH (n)-->() WHERE n['k' + substring(n.n, 1)] <> n.n OR size(keys(n)) <> 2 \
                        RETURN n";
            assert_eq!(rows(&session, keys), [""; 0]);
            let used =
                "MATCH (n)-[r]->() RETURN count(DISTINCT labels(n)), count(DISTINCT type(r))";
            let used = one(&session, used);
            let [labels, types, _] = names(db);
            assert_eq!(used, format!("{}; {}", labels.len(), types.len()));
            names(db)
        };
        let before = check(&db);
        drop(db);
        let db = telar_db::open(&dir).unwrap();
        assert_eq!(check(&db), before);
        db.close().unwrap();
        assert_eq!(maintenance::check(&dir).unwrap().findings, []);
    }
}

/// Numbers that look as if by chance.
fn random_numbers(seed: usize) -> impl FnMut() -> usize {
    let mut state = seed as u64 * 2 + 1;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    }
}
