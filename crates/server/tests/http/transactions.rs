//! Transactions of several requests.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telar_server::dbms::{DbmsSettings, Security};
use telar_server::http::Settings;

use crate::common::{Answer, QUERY, TX, TestServer};
use crate::within::within;

const NOT_FOUND: &str = "Neo.ClientError.Request.Invalid";

fn post(server: &TestServer, path: &str, body: &Value) -> Answer {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.ask("POST", path, &["Content-Type: application/json"], &body)
}

/// Begins one and returns its address.
fn begin(server: &TestServer, body: &Value) -> String {
    let answer = post(server, TX, body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let id = answer.json()["transaction"]["id"].as_str().unwrap().to_owned();
    format!("{TX}/{id}")
}

fn count(server: &TestServer) -> i64 {
    server.rows("MATCH (n) RETURN count(n)")[0][0].as_i64().unwrap()
}

#[test]
fn what_a_transaction_does_is_seen_after_its_commit() {
    let server = TestServer::new();
    let tx = begin(&server, &json!({ "statement": "CREATE (:A) RETURN 1 AS one" }));
    let answer = post(&server, &tx, &json!({ "statement": "MATCH (n) RETURN count(n) AS n" }));
    assert_eq!(answer.json()["data"]["values"], json!([[1]]));
    let expires = answer.json()["transaction"]["expires"].as_str().unwrap().to_owned();
    assert!(expires.ends_with('Z') && expires.len() == 20, "{expires}");
    assert!(answer.json()["bookmarks"].is_null());
    assert_eq!(count(&server), 0);
    let last = json!({ "statement": "CREATE (:B)", "includeCounters": true });
    let answer = post(&server, &format!("{tx}/commit"), &last);
    assert_eq!(answer.status, 202);
    assert_eq!(answer.json()["counters"]["nodesCreated"], 1);
    assert!(answer.json()["bookmarks"][0].is_string());
    assert!(answer.json()["transaction"].is_null());
    assert_eq!(count(&server), 2);
    let gone = post(&server, &tx, &Value::Null);
    assert_eq!((gone.status, gone.code().as_str()), (404, NOT_FOUND));
}

#[test]
fn an_empty_body_begins_keeps_alive_and_commits() {
    let server = TestServer::new();
    let tx = begin(&server, &Value::Null);
    let answer = post(&server, &tx, &json!({}));
    assert!(answer.json()["transaction"]["expires"].is_string());
    assert!(answer.json()["data"].is_null());
    assert_eq!(post(&server, &format!("{tx}/commit"), &Value::Null).status, 202);
}

#[test]
fn a_rollback_leaves_nothing() {
    let server = TestServer::new();
    let tx = begin(&server, &json!({ "statement": "CREATE (:A)" }));
    let answer = server.ask("DELETE", &tx, &[], "");
    assert_eq!((answer.status, answer.json()), (200, json!({})));
    assert_eq!(server.ask("DELETE", &tx, &[], "").status, 404);
    assert_eq!(count(&server), 0);
}

#[test]
fn one_that_is_terminated_keeps_nothing_even_if_nobody_asks_for_it_again() {
    let server = TestServer::new();
    server.rows("CREATE (:N {x: 0})");
    let tx = begin(&server, &json!({ "statement": "MATCH (n:N) SET n.x = 1" }));
    let find = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query \
                WHERE NOT query STARTS WITH 'SHOW' RETURN id";
    let id = server.rows(find)[0][0].as_str().unwrap().to_owned();
    server.rows(&format!("TERMINATE TRANSACTION '{id}'"));
    server.wait_until_idle();
    server.rows("MATCH (n:N) SET n.x = 2");
    // It hears why, as often as it asks; others do not.
    for (method, path) in [("POST", format!("{tx}/commit")), ("POST", tx.clone()), ("DELETE", tx)] {
        let answer = server.ask(method, &path, &["Content-Type: application/json"], "");
        assert_eq!(answer.code(), "Neo.TransientError.Transaction.Terminated", "{method} {path}");
        let other = path.replace(TX, "/db/system/query/v2/tx");
        let answer = server.ask(method, &other, &["Content-Type: application/json"], "");
        assert_eq!(answer.status, 404, "{}", answer.text());
    }
    assert_eq!(server.rows("MATCH (n:N) RETURN n.x"), json!([[2]]));
}

#[test]
fn one_that_took_too_long_is_undone_though_nobody_asks_and_says_why() {
    let server = TestServer::new();
    server.rows("CREATE (:N {x: 0})");
    let body = json!({ "statement": "MATCH (n:N) SET n.x = 1", "maxExecutionTime": 1 });
    let tx = within(Duration::from_secs(1), |_| begin(&server, &body));
    server.wait_until_idle();
    assert_eq!(server.rows("MATCH (n:N) RETURN n.x"), json!([[0]]));
    let answer = post(&server, &tx, &json!({ "statement": "RETURN 1" }));
    assert_eq!(answer.code(), "Neo.ClientError.Transaction.TransactionTimedOut");
    assert!(answer.text().contains("which the client has set"), "{}", answer.text());
}

#[test]
fn a_statement_whose_rows_nobody_reads_can_be_terminated() {
    let server = TestServer::new();
    let endless = json!({ "statement": "UNWIND range(1, 1000000) AS a \
                                        UNWIND range(1, 1000000) AS b RETURN a, b" });
    let tx = begin(&server, &Value::Null);
    for path in [QUERY, &tx] {
        let mut unread = server.connect();
        unread.request("POST", path, &[], &endless.to_string());
        server.await_statement("UNWIND");
        // Until there is no more room on the way.
        thread::sleep(Duration::from_millis(300));
        let find = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query \
                    WHERE query STARTS WITH 'UNWIND' RETURN id";
        let id = server.rows(find)[0][0].as_str().unwrap().to_owned();
        server.rows(&format!("TERMINATE TRANSACTION '{id}'"));
        while server.rows(find) != json!([]) {
            thread::sleep(Duration::from_millis(10));
        }
        // What came is not taken for all: it breaks off, or says so where there was still room.
        let answer = unread.answer();
        assert!(!answer.complete || answer.text().contains("Transaction.Terminated"));
    }
}

#[test]
fn an_error_ends_the_transaction() {
    let server = TestServer::new();
    let tx = begin(&server, &json!({ "statement": "CREATE (:A)" }));
    let answer = post(&server, &tx, &json!({ "statement": "RETURN 1 / 0" }));
    assert_eq!(answer.code(), "Neo.ClientError.Statement.ArithmeticError");
    assert!(answer.json()["transaction"].is_null());
    assert_eq!(post(&server, &tx, &Value::Null).status, 404);
    assert_eq!(count(&server), 0);
    let answer = post(&server, TX, &json!({ "statement": "RETURN" }));
    assert_eq!((answer.status, answer.json()["transaction"].is_null()), (400, true));
    let answer = server.ask("POST", "/db/none/query/v2/tx", &[], "");
    assert_eq!(answer.code(), "Neo.ClientError.Database.DatabaseNotFound");
}

#[test]
fn the_loser_of_a_conflict_is_told_to_try_again() {
    let server = TestServer::new();
    server.rows("CREATE (:Counter {n: 0})");
    let add = json!({ "statement": "MATCH (c:Counter) SET c.n = c.n + 1" });
    let (first, second) = (begin(&server, &add), begin(&server, &add));
    assert_eq!(post(&server, &format!("{first}/commit"), &Value::Null).status, 202);
    let answer = post(&server, &format!("{second}/commit"), &Value::Null);
    assert_eq!(
        (answer.status, answer.code()),
        (409, "Neo.TransientError.Transaction.Outdated".into())
    );
    assert_eq!(server.rows("MATCH (c:Counter) RETURN c.n"), json!([[1]]));
}

#[test]
fn a_transaction_that_nobody_uses_is_rolled_back() {
    let idle = Duration::from_millis(600);
    let server = TestServer::with(Settings { transaction_idle: idle, ..Settings::default() });
    let tx = within(idle, |since| {
        let tx = begin(&server, &json!({ "statement": "CREATE (:A)" }));
        for _ in 0..3 {
            thread::sleep(idle / 2);
            let asked = Instant::now();
            assert_eq!(post(&server, &tx, &Value::Null).status, 202);
            since.set(asked);
        }
        tx
    });
    thread::sleep(idle);
    let gone = post(&server, &format!("{tx}/commit"), &Value::Null);
    assert_eq!((gone.status, gone.code().as_str()), (404, NOT_FOUND));
    assert_eq!(count(&server), 0);
}

#[test]
fn no_more_transactions_are_open_than_allowed() {
    let server = TestServer::with(Settings { transactions_max: 2, ..Settings::default() });
    let first = begin(&server, &Value::Null);
    let _second = begin(&server, &Value::Null);
    let answer = post(&server, TX, &Value::Null);
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    server.ask("DELETE", &first, &[], "");
    begin(&server, &Value::Null);
}

#[test]
fn a_transaction_serves_one_request_at_a_time_and_only_its_owner() {
    let server = TestServer::new();
    // "ada:x" and "bob:x".
    let (ada, bob) = ("Authorization: Basic YWRhOng=", "Authorization: Basic Ym9iOng=");
    let answer = server.ask("POST", TX, &[ada], "");
    let id = answer.json()["transaction"]["id"].as_str().unwrap().to_owned();
    let tx = format!("{TX}/{id}");
    assert_eq!(server.ask("POST", &tx, &[bob], "").status, 404);
    assert_eq!(server.ask("DELETE", &tx, &[bob], "").status, 404);
    let other = format!("/db/other/query/v2/tx/{id}");
    assert_eq!(server.ask("POST", &other, &[ada], "").status, 404);

    let slow = json!({ "statement": "UNWIND range(1, 100000000000) AS x RETURN count(x)" });
    let mut connection = server.connect();
    connection.request("POST", &tx, &[ada], &slow.to_string());
    server.await_statement("UNWIND");
    let answer = server.ask("POST", &tx, &[ada], "");
    let code = "Neo.ClientError.Transaction.TransactionAccessedConcurrently";
    assert_eq!((answer.status, answer.code().as_str()), (400, code));
    // Rolling back ends what runs.
    assert_eq!(server.ask("DELETE", &tx, &[ada], "").status, 200);
    assert_eq!(connection.answer().code(), "Neo.TransientError.Transaction.Terminated");
    server.wait_until_idle();
}

#[test]
fn who_hangs_up_during_a_statement_loses_the_transaction() {
    let server = TestServer::new();
    let tx = begin(&server, &json!({ "statement": "CREATE (:A)" }));
    let slow = json!({ "statement": "UNWIND range(1, 100000000000) AS x RETURN count(x)" });
    let mut connection = server.connect();
    connection.request("POST", &tx, &[], &slow.to_string());
    server.await_statement("UNWIND");
    drop(connection);
    server.wait_until_idle();
    assert_eq!(count(&server), 0);
    assert_eq!(post(&server, &tx, &Value::Null).status, 404);
}

#[test]
fn many_transactions_go_on_whatever_connection_asks() {
    const OPEN: usize = 24;
    const ROUNDS: usize = 4;
    let server = TestServer::new();
    let create = |i: usize| json!({ "statement": format!("CREATE (:A {{x: {i}}})") });
    let open: Vec<String> = (0..OPEN).map(|i| begin(&server, &create(i))).collect();
    for round in 1..ROUNDS {
        thread::scope(|scope| {
            for part in open.chunks(OPEN / 4) {
                let (server, create) = (&server, &create);
                scope.spawn(move || {
                    for tx in part {
                        assert_eq!(post(server, tx, &create(round)).status, 202);
                    }
                });
            }
        });
    }
    assert_eq!(count(&server), 0);
    for (i, tx) in open.iter().enumerate() {
        let answer = match i % 2 {
            0 => post(&server, &format!("{tx}/commit"), &Value::Null),
            _ => server.ask("DELETE", tx, &[], ""),
        };
        assert!([200, 202].contains(&answer.status), "{}", answer.text());
    }
    assert_eq!(count(&server), (OPEN / 2 * ROUNDS) as i64);
    assert_eq!(server.running(), 0);
}

#[test]
fn the_end_of_the_server_undoes_what_is_open_and_closes_the_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let security = Security { enabled: false, ..Security::default() };
    let dbms = DbmsSettings { security, ..DbmsSettings::default() };
    let mut server = TestServer::of(Some(&path), dbms, Settings::default());
    begin(&server, &json!({ "statement": "CREATE (:Idle)" }));
    let tx = begin(&server, &json!({ "statement": "CREATE (:Busy)" }));
    let slow = json!({ "statement": "UNWIND range(1, 100000000000) AS x RETURN count(x)" });
    let mut connection = server.connect();
    connection.request("POST", &tx, &[], &slow.to_string());
    server.await_statement("UNWIND");
    server.server.stop(Duration::from_secs(20));
    let answer = connection.try_answer();
    assert!(answer.is_none_or(|answer| answer.text().contains("Transaction.Terminated")));
    drop(server);
    let begun = Instant::now();
    let db = loop {
        match telar_db::open(&path) {
            // A thread of the server is about to end.
            Err(telar_db::Error::Locked { .. }) if begun.elapsed() < Duration::from_secs(60) => {
                thread::sleep(Duration::from_millis(20));
            }
            opened => break opened.unwrap(),
        }
    };
    let session = telar_db::Session::new(&db);
    let rows = session.run("MATCH (n) RETURN count(n)", &[]).unwrap().rows;
    assert_eq!(rows, [[telar_db::Value::Int(0)]]);
}
