//! `CALL { } IN TRANSACTIONS`: what is committed when, what sees it, and what errors leave behind.

use crate::common;

use std::fmt::Write;
use std::time::{Duration, Instant};

use common::{fresh_examples, rows};
use telar_db::Session;
use telar_db::query::Limits;

#[test]
fn rows_go_in_groups() {
    fresh_examples(
        "UNWIND range(1, 5) AS i CREATE (:A {i: i})",
        &[
            (
                "UNWIND range(1, 2500) AS i CALL (i) { CREATE (:X {i: i}) } IN TRANSACTIONS;
                 MATCH (x:X) RETURN count(x), sum(x.i)",
                &["2500 | 3126250"],
            ),
            (
                "MATCH (a:A) CALL (a) { SET a.i = a.i * 10 } IN TRANSACTIONS OF 2 ROWS;
                 MATCH (a:A) RETURN a.i",
                &["10", "20", "30", "40", "50"],
            ),
            // What stands behind sees what was committed, returned nodes among it.
            (
                "MATCH (a:A) CALL (a) { SET a.i = -a.i } IN TRANSACTIONS OF 1 ROW RETURN a.i",
                &["-1", "-2", "-3", "-4", "-5"],
            ),
            (
                "UNWIND [1, 2, 3] AS i CALL (i) { CREATE (x:X {i: i}) RETURN x }
                 IN TRANSACTIONS OF 2 ROWS RETURN x.i",
                &["1", "2", "3"],
            ),
            (
                "UNWIND [1, 2] AS i CALL (i) { CREATE (:X {i: i}) } IN TRANSACTIONS OF 1 ROW
                 WITH count(*) AS n MATCH (x:X) RETURN n, x.i",
                &["2 | 1", "2 | 2"],
            ),
            // The input goes on as it was: no node is met that the subquery made.
            (
                "MATCH (a:A) CALL (a) { CREATE (:A {i: 100}) } IN TRANSACTIONS OF 1 ROW;
                 MATCH (a:A) RETURN count(a)",
                &["10"],
            ),
            (
                "MATCH (a:A) CALL (a) { DETACH DELETE a } IN TRANSACTIONS OF 2 ROWS;
                 MATCH (a:A) RETURN count(a)",
                &["0"],
            ),
            // Each transaction sees those before it.
            (
                "UNWIND [1, 2, 3] AS i CALL (i) { MERGE (c:C) SET c.n = coalesce(c.n, 0) + i
                     RETURN c.n AS n } IN TRANSACTIONS OF 1 ROW RETURN i, n",
                &["1 | 1", "2 | 3", "3 | 6"],
            ),
            // One behind another.
            (
                "UNWIND [1, 2, 3] AS i CALL (i) { CREATE (:X {i: i}) } IN TRANSACTIONS OF 2 ROWS
                 CALL (i) { MATCH (x:X {i: i}) SET x.twice = 2 * i } IN TRANSACTIONS OF 1 ROW
                 RETURN i; MATCH (x:X) RETURN x.twice",
                &["2", "4", "6"],
            ),
            (
                "UNWIND [1, 2] AS i CALL (i) { CREATE (:X) } IN 4 CONCURRENT TRANSACTIONS
                 OF 1 ROWS; MATCH (x:X) RETURN count(x)",
                &["2"],
            ),
            ("CALL { CREATE (:X) } IN TRANSACTIONS; MATCH (x:X) RETURN count(x)", &["1"]),
        ],
    );
}

#[test]
fn errors() {
    fresh_examples(
        "",
        &[
            // 12 / i fails for 0, in the second transaction of three.
            (
                "UNWIND [1, 2, 0, 3, 4] AS i CALL (i) { CREATE (:X {i: 12 / i}) }
                 IN TRANSACTIONS OF 2 ROWS ON ERROR CONTINUE; MATCH (x:X) RETURN x.i",
                &["12", "3", "6"],
            ),
            (
                "UNWIND [1, 2, 0, 3, 4] AS i CALL (i) { CREATE (:X {i: 12 / i}) }
                 IN TRANSACTIONS OF 2 ROWS ON ERROR BREAK; MATCH (x:X) RETURN x.i",
                &["12", "6"],
            ),
            (
                "UNWIND [1, 2, 0, 3, 4] AS i CALL (i) { CREATE (x:X {i: 12 / i}) RETURN x.i AS n }
                 IN TRANSACTIONS OF 2 ROWS ON ERROR CONTINUE RETURN i, n",
                &["0 | null", "1 | 12", "2 | 6", "3 | null", "4 | 3"],
            ),
            (
                "UNWIND [1, 0, 2] AS i CALL (i) { CREATE (:X {i: 12 / i}) }
                 IN TRANSACTIONS OF 1 ROW ON ERROR BREAK REPORT STATUS AS s
                 RETURN i, s.started, s.committed, s.transactionId IS NULL,
                     s.errorMessage CONTAINS 'zero'",
                &[
                    "0 | true | false | true | true",
                    "1 | true | true | false | null",
                    "2 | false | false | true | null",
                ],
            ),
            (
                "UNWIND [1, 0, 2] AS i CALL (i) { CREATE (:X {i: 12 / i}) }
                 IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE REPORT STATUS AS s
                 RETURN i, s.started, s.committed",
                &["0 | true | false", "1 | true | true", "2 | true | true"],
            ),
            ("CALL { CREATE (:X) } IN TRANSACTIONS OF 0 ROWS", &["UnexpectedSyntax..."]),
            (
                "CALL { CREATE (:X) } IN TRANSACTIONS REPORT STATUS AS s RETURN s",
                &["InvalidClauseComposition..."],
            ),
            (
                "UNWIND [1] AS n CALL { CREATE (:X) } IN TRANSACTIONS OF n ROWS",
                &["UndefinedVariable..."],
            ),
            (
                "CREATE (:Y) WITH 1 AS x CALL { CREATE (:X) } IN TRANSACTIONS",
                &["InvalidClauseComposition..."],
            ),
            ("CALL { CALL { CREATE (:X) } IN TRANSACTIONS }", &["InvalidClauseComposition..."]),
            (
                "CALL { CREATE (:X) } IN TRANSACTIONS RETURN 1 AS x UNION RETURN 2 AS x",
                &["InvalidClauseComposition..."],
            ),
        ],
    );
}

#[test]
fn a_failure_keeps_what_was_committed() {
    let db = common::database("");
    let session = Session::new(&db);
    let query = "UNWIND [1, 2, 3, 0, 4] AS i CALL (i) { CREATE (:X {i: 12 / i}) }
                 IN TRANSACTIONS OF 2 ROWS";
    let error = session.run(query, &[]).unwrap_err();
    assert_eq!(error.detail, "DivisionByZero");
    assert_eq!(rows(&session, "MATCH (x:X) RETURN x.i"), ["12", "6"]);
    // What is counted is what was committed.
    let result = session.run(&format!("{query} ON ERROR CONTINUE"), &[]).unwrap();
    assert_eq!(result.counters.nodes_created, 3);
    assert_eq!(rows(&session, "MATCH (x:X) RETURN count(x)"), ["5"]);
}

#[test]
fn not_inside_a_transaction() {
    let db = common::database("");
    let session = Session::new(&db);
    let mut transaction = session.begin().unwrap();
    let error =
        transaction.run("CALL { CREATE (:X) } IN TRANSACTIONS", &Default::default()).unwrap_err();
    assert_eq!(error.detail, "TransactionStartFailed");
    // langchain-neo4j and LlamaIndex look for this code with these words, and run the text again
    // outside of a transaction.
    assert_eq!(error.kind.code(), "Neo.DatabaseError.Transaction.TransactionStartFailed");
    assert!(error.message.contains("in an implicit transaction"), "{error}");
    assert!(error.message.contains("tried to execute in an explicit transaction"), "{error}");
    // The transaction goes on.
    transaction.run("CREATE (:Y)", &Default::default()).unwrap();
    transaction.commit().unwrap();
    assert_eq!(rows(&session, "MATCH (n) RETURN labels(n)"), ["['Y']"]);
}

#[test]
fn transactions_that_lose_a_conflict_run_again() {
    let db = common::database("CREATE (:C {n: 0})");
    let add = "UNWIND range(1, 40) AS i CALL { MATCH (c:C) SET c.n = c.n + 1 }
               IN TRANSACTIONS OF 1 ROW";
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| Session::new(&db).run(add, &[]).unwrap());
        }
    });
    assert_eq!(rows(&Session::new(&db), "MATCH (c:C) RETURN c.n"), ["160"]);
}

#[test]
fn a_deadline_ends_the_query_whatever_errors_mean() {
    let db = common::database("");
    let deadline = Some(Instant::now() + Duration::from_millis(100));
    let session = Session::new(&db).with_limits(Limits { deadline, ..Limits::default() });
    let query = "UNWIND range(1, 9) AS i
                 CALL { UNWIND range(1, 1000000000) AS x WITH x WHERE x < 0 RETURN count(x) AS n }
                 IN TRANSACTIONS OF 1 ROW ON ERROR CONTINUE RETURN n";
    assert_eq!(session.run(query, &[]).unwrap_err().detail, "TimedOut");
}

#[test]
fn files_in_transactions() {
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::from("id,name\n");
    for id in 0..3000 {
        writeln!(text, "{id},n{id}").unwrap();
    }
    text.push_str("3000,\"open\n");
    std::fs::write(folder.path().join("people.csv"), text).unwrap();
    let db = common::database("");
    let limits = Limits { import_folder: Some(folder.path().into()), ..Limits::default() };
    let session = Session::new(&db).with_limits(limits);
    let load = "LOAD CSV WITH HEADERS FROM 'people.csv' AS r
                CALL (r) { MERGE (p:P {id: toInteger(r.id)}) SET p.name = r.name }
                IN TRANSACTIONS OF 500 ROWS";
    let error = session.run(load, &[]).unwrap_err();
    assert!(error.to_string().contains("people.csv:3002"), "{error}");
    // Whole transactions before the broken record were committed.
    let found = rows(&session, "MATCH (p:P) RETURN count(p) % 500, count(p) >= 1000");
    assert_eq!(found, ["0 | true"]);
}
