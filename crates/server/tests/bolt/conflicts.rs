//! Statements that meet in what they change: the server runs them again, as far as it may.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{Answer, COMMIT, Client, serve};

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
