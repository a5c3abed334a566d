//! Clients that are waited for, to read or to say what comes next, when that is over: the time is,
//! or somebody has terminated what they do.

use std::thread;
use std::time::Duration;

use telar_server::dbms::StatementLimits;
use telar_server::server::Server;

use crate::client::{Answer, BEGIN, COMMIT, Client, ENDLESS, PULL, serve, serve_databases, until};
use crate::data::{Data, map};
use crate::within::within;

const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";
const TERMINATED: &str = "Neo.TransientError.Transaction.Terminated";
/// Rows of about a megabyte and a half: more than waits on the way to a client.
const BIG_ROWS: &str = "UNWIND range(1, 1000) AS i RETURN range(1, 300000) AS row";
/// Long enough to begin in, also on a busy machine.
const LIMIT: Duration = Duration::from_secs(2);
/// When that is surely over.
const BEYOND: Duration = Duration::from_secs(3);
/// In which the way to a client is filled.
const MOMENT: Duration = Duration::from_millis(300);

fn limit() -> Data {
    map([("tx_timeout", (LIMIT.as_millis() as i64).into())])
}

/// Reads what there is of [`BIG_ROWS`]: every row must be whole.
#[track_caller]
fn whole_rows(client: &mut Client) -> Answer {
    loop {
        match client.answer() {
            Answer::Record(row) => {
                let numbers = row[0].list();
                assert_eq!(numbers.len(), 300_000);
                assert!(numbers.iter().zip(1..).all(|(number, i)| number.int() == i));
            }
            end => return end,
        }
    }
}

/// Transactions that are listed and do this, other than the one that asks.
fn listed(server: &Server, begin: &str) -> Vec<String> {
    let text = format!(
        "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query \
         WHERE query STARTS WITH '{begin}' AND NOT query STARTS WITH 'SHOW' RETURN id"
    );
    Client::new(server).rows(&text).iter().map(|row| row[0].text().to_owned()).collect()
}

/// Terminates the one transaction that does this, and waits until it is gone.
fn terminate(server: &Server, begin: &str) {
    until("it is listed", || listed(server, begin).len() == 1);
    let id = listed(server, begin).remove(0);
    Client::new(server).rows(&format!("TERMINATE TRANSACTION '{id}'"));
    until("it is gone", || listed(server, begin).is_empty());
}

#[test]
fn who_reads_too_slowly_gets_whole_rows_and_hears_why_there_are_no_more() {
    let server = serve();
    for in_transaction in [false, true] {
        let mut client = within(LIMIT, |_| {
            let mut client = Client::new(&server);
            if in_transaction {
                client.ask(BEGIN, [limit()]).success();
                client.run(BIG_ROWS).success();
            } else {
                client.run_with(BIG_ROWS, map([]), limit()).success();
            }
            client
        });
        client.send(PULL, [map([("n", (-1).into())])]);
        thread::sleep(BEYOND);
        // Nothing is held for a client that does not read.
        until("it is gone", || listed(&server, "UNWIND").is_empty());
        assert_eq!(whole_rows(&mut client).code(), TIMED_OUT);
        client.reset().success();
        assert_eq!(client.int("RETURN 1"), 1);
    }
}

#[test]
fn the_limit_of_the_server_ends_waiting_too() {
    let limits = StatementLimits { timeout: Some(LIMIT), ..StatementLimits::default() };
    let (server, _) = serve_databases(limits, |_| {});
    let mut client = within(LIMIT, |_| {
        let mut client = Client::new(&server);
        client.begin().success();
        client.rows("CREATE (:N)");
        client
    });
    thread::sleep(BEYOND);
    let answer = client.ask(COMMIT, []);
    let Answer::Failure(failure) = &answer else { panic!("{answer:?}") };
    let message = failure.get("message").text().to_owned();
    assert!(message.contains("(limits.statement_timeout)"), "{message}");
    assert_eq!(answer.code(), TIMED_OUT);
    within(LIMIT, |_| {
        client.reset().success();
        assert_eq!(client.int("MATCH (n:N) RETURN count(n)"), 0);
    });
}

#[test]
fn what_nobody_reads_can_be_terminated() {
    let server = serve();
    for (text, in_transaction) in [(ENDLESS, false), (ENDLESS, true), (BIG_ROWS, false)] {
        let mut client = Client::new(&server);
        if in_transaction {
            client.begin().success();
        }
        client.run(text).success();
        client.send(PULL, [map([("n", (-1).into())])]);
        // Until there is no more room on the way.
        thread::sleep(MOMENT);
        terminate(&server, "UNWIND");
        let end = if text == BIG_ROWS { whole_rows(&mut client) } else { client.rest().1 };
        assert_eq!(end.code(), TERMINATED);
        client.reset().success();
        assert_eq!(client.int("RETURN 1"), 1);
    }
}

#[test]
fn what_waits_to_be_asked_for_more_can_be_terminated() {
    let server = serve();
    for in_transaction in [false, true] {
        let mut client = Client::new(&server);
        if in_transaction {
            client.begin().success();
        }
        client.run(ENDLESS).success();
        assert_eq!(client.pull(10).0.len(), 10);
        terminate(&server, "UNWIND");
        assert_eq!(client.pull(10).1.code(), TERMINATED);
        client.reset().success();
        assert_eq!(client.int("RETURN 1"), 1);
    }
}

#[test]
fn an_open_transaction_that_is_terminated_keeps_nothing() {
    let server = serve();
    let mut other = Client::new(&server);
    other.rows("CREATE (:N {x: 0})");
    for asks_again in [true, false] {
        let mut client = Client::new(&server);
        client.begin().success();
        client.rows("MATCH (n:N) SET n.x = 1");
        let find = "SHOW TRANSACTIONS YIELD transactionId AS id, currentQuery AS query \
                    WHERE query = '' OR query IS NULL RETURN id";
        let id = other.rows(find)[0][0].text().to_owned();
        other.rows(&format!("TERMINATE TRANSACTION '{id}'"));
        // It need not say anything for others to go on.
        until("it is gone", || Client::new(&server).rows(find).is_empty());
        other.rows("MATCH (n:N) SET n.x = 2");
        if asks_again {
            assert_eq!(client.run("MATCH (n:N) RETURN n.x").code(), TERMINATED);
        }
        client.reset().success();
        assert_eq!(client.int("MATCH (n:N) RETURN n.x"), 2);
    }
}

#[test]
fn what_is_committed_is_not_said_to_be_undone() {
    let text = "UNWIND range(1, 100) AS i CREATE (n:N {i: i}) RETURN n.i";
    let (_server, mut client) = within(LIMIT, |_| {
        let server = serve();
        let mut client = Client::new(&server);
        client.run_with(text, map([]), limit()).success();
        assert_eq!(client.pull(10).0.len(), 10);
        (server, client)
    });
    thread::sleep(BEYOND);
    let (rows, end) = client.pull(-1);
    end.success();
    assert_eq!(rows.len(), 90);
    assert_eq!(client.int("MATCH (n:N) RETURN count(n)"), 100);
}
