//! Statements that meet in what they change: the server runs them again, as far as it may.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use telar_server::dbms::StatementLimits;

use crate::client::{Answer, COMMIT, Client, ROLLBACK, RUN, serve, serve_databases, until};
use crate::data::{Data, map};

const ADD: &str = "MATCH (c:Counter) SET c.value = c.value + 1 RETURN c.value";

#[test]
fn statements_by_themselves_lose_no_conflict() {
    let (clients, times) = (16, 50);
    let server = Arc::new(serve());
    Client::new(&server).rows("CREATE (:Counter {value: 0})");
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                let mut client = Client::new(&server);
                (0..times).map(|_| client.int(ADD)).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut seen: Vec<i64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    seen.sort_unstable();
    // Each answer is that of the try that was committed.
    assert_eq!(seen, (1..=clients * times).collect::<Vec<i64>>());
    assert_eq!(Client::new(&server).int("MATCH (c:Counter) RETURN c.value"), clients * times);
}

#[test]
fn transactions_of_a_client_are_its_own_to_run_again() {
    let server = serve();
    let (mut one, mut other) = (Client::new(&server), Client::new(&server));
    one.rows("CREATE (:Counter {value: 0})");
    one.begin().success();
    other.begin().success();
    one.rows(ADD);
    other.rows(ADD);
    one.ask(COMMIT, []).success();
    let code = other.ask(COMMIT, []).code();
    assert!(code.starts_with("Neo.TransientError."), "{code}");
    other.reset().success();
    assert_eq!(other.int("MATCH (c:Counter) RETURN c.value"), 1);
}

/// No client hears of a conflict that the server can deal with.
#[test]
fn transactions_of_one_statement_lose_no_conflict() {
    let (clients, times) = (16, 25);
    let (server, _dbms) = serve_databases(patient(), |_| {});
    let server = Arc::new(server);
    Client::new(&server).rows("CREATE (:Counter {value: 0})");
    let threads: Vec<_> = (0..clients)
        .map(|_| {
            let server = Arc::clone(&server);
            thread::spawn(move || {
                let mut client = Client::new(&server);
                let add = |_| {
                    client.begin().success();
                    let value = client.int(ADD);
                    client.ask(COMMIT, []).success();
                    value
                };
                (0..times).map(add).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut seen: Vec<i64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    seen.sort_unstable();
    assert_eq!(seen, (1..=clients * times).collect::<Vec<i64>>());
}

/// Nothing goes on because time goes by.
fn patient() -> StatementLimits {
    StatementLimits { write_wait: Some(Duration::from_secs(600)), ..StatementLimits::default() }
}

/// How a connection goes whose transaction others wait for.
#[test]
fn who_waits_for_a_connection_goes_on_when_it_is_gone() {
    for how in ["cut", "reset", "rolled back", "failed"] {
        let (server, dbms) = serve_databases(patient(), |_| {});
        let server = Arc::new(server);
        let waits = || dbms.database(None).unwrap().engine().write_waits();
        let mut one = Client::new(&server);
        one.rows("CREATE (:Counter {value: 0})");
        one.begin().success();
        assert_eq!(one.int(ADD), 1);
        let other = {
            let server = Arc::clone(&server);
            thread::spawn(move || Client::new(&server).int(ADD))
        };
        until("the other waits", || waits() == 1);
        match how {
            "cut" => drop(one),
            "reset" => drop(one.reset().success()),
            "rolled back" => drop(one.ask(ROLLBACK, []).success()),
            _ => drop(one.run("RETURN (").code()),
        }
        assert_eq!(other.join().unwrap(), 1, "{how}");
    }
}

/// One that waits and is cut off leaves its place to the next.
#[test]
fn a_connection_that_is_cut_waits_no_longer() {
    let (server, dbms) = serve_databases(patient(), |_| {});
    let server = Arc::new(server);
    let waits = || dbms.database(None).unwrap().engine().write_waits();
    let mut one = Client::new(&server);
    one.rows("CREATE (:Counter {value: 0})");
    one.begin().success();
    assert_eq!(one.int(ADD), 1);
    let mut gone = Client::new(&server);
    gone.begin().success();
    gone.send(RUN, [Data::from(ADD), map([]), map([])]);
    until("it waits", || waits() == 1);
    drop(gone);
    let other = {
        let server = Arc::clone(&server);
        thread::spawn(move || Client::new(&server).int(ADD))
    };
    until("the other waits behind it", || waits() == 2);
    one.ask(COMMIT, []).success();
    assert_eq!(other.join().unwrap(), 2);
}

/// A statement that has committed a part of what it does is not run again for the rest.
#[test]
fn what_commits_in_parts_is_not_run_again() {
    let server = Arc::new(serve());
    let mut client = Client::new(&server);
    client.rows("CREATE (:Counter {value: 0})");
    let adding = {
        let server = Arc::clone(&server);
        let begun = Instant::now();
        thread::spawn(move || {
            let mut client = Client::new(&server);
            while begun.elapsed() < Duration::from_secs(1) {
                client.rows(ADD);
            }
        })
    };
    let text = "UNWIND range(1, 200) AS i CALL (i) { CREATE (:Part {number: i}) \
                WITH i MATCH (c:Counter) SET c.value = c.value + 1 } \
                IN TRANSACTIONS OF 1 ROW";
    client.run(text);
    let (_, end) = client.pull(-1);
    adding.join().unwrap();
    if !matches!(end, Answer::Success(_)) {
        client.reset().success();
    }
    let twice = "MATCH (p:Part) WITH p.number AS n, count(*) AS c WHERE c > 1 RETURN count(n)";
    assert_eq!(client.int(twice), 0, "parts that were made twice");
}
