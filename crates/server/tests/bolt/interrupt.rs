//! What ends a statement, a transaction, a connection, a server: from outside, while it works.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::client::{
    Answer, BEGIN, COMMIT, Client, ENDLESS, FOREVER, GOODBYE, PATIENCE, PULL, RESET, RUN, framed,
    serve, serve_with, until,
};
use crate::data::{Data, map};
use crate::within::within;

const TIMED_OUT: &str = "Neo.ClientError.Transaction.TransactionTimedOut";
const TERMINATED: &str = "Neo.TransientError.Transaction.Terminated";
const SHORT: Duration = Duration::from_millis(300);

/// Asks for something that never comes.
fn keep_busy(client: &mut Client, in_transaction: bool) {
    if in_transaction {
        client.begin().success();
    }
    client.run(FOREVER).success();
    client.send(PULL, [map([("n", (-1).into())])]);
    thread::sleep(SHORT);
}

#[test]
fn a_reset_ends_what_runs() {
    let server = serve();
    for in_transaction in [false, true] {
        let mut client = Client::new(&server);
        keep_busy(&mut client, in_transaction);
        assert_eq!(client.reset().code(), TERMINATED);
        client.answer().success();
        assert_eq!(client.int("RETURN 1"), 1);
    }
}

#[test]
fn a_reset_overtakes_what_was_asked_for_before() {
    let server = serve();
    let mut client = Client::new(&server);
    let all = || vec![map([("n", (-1).into())])];
    let run = |text: &str| vec![text.into(), map([]), map([])];
    let asked = [
        (RUN, run(FOREVER)),
        (PULL, all()),
        (RUN, run("CREATE (:N)")),
        (PULL, all()),
        (BEGIN, vec![map([])]),
        (RESET, vec![]),
        (RUN, run("MATCH (n:N) RETURN count(n)")),
        (PULL, all()),
    ];
    let bytes = asked.map(|(tag, fields)| framed(&Data::Structure(tag, fields))).concat();
    client.say(&bytes);
    match client.answer() {
        Answer::Success(_) => {
            let pulled = client.answer();
            // The reset may be seen before the statement is asked for its rows.
            if pulled != Answer::Ignored {
                assert_eq!(pulled.code(), TERMINATED);
            }
        }
        // Or before it has columns.
        failed => {
            assert_eq!(failed.code(), TERMINATED);
            assert_eq!(client.answer(), Answer::Ignored);
        }
    }
    for _ in 0..3 {
        assert_eq!(client.answer(), Answer::Ignored);
    }
    client.answer().success();
    client.answer().success();
    assert_eq!(client.answer().record(), [Data::Int(0)]);
}

#[test]
fn a_reset_ends_a_stream() {
    let server = serve();
    let mut client = Client::new(&server);
    client.run(ENDLESS).success();
    client.send(PULL, [map([("n", (-1).into())])]);
    for _ in 0..10_000 {
        client.answer().record();
    }
    client.send(RESET, []);
    let (_, end) = client.rest();
    assert_eq!(end.code(), TERMINATED);
    client.answer().success();
    assert_eq!(client.int("RETURN 1"), 1);
}

#[test]
fn who_hangs_up_is_not_worked_for() {
    let server = serve();
    for in_transaction in [false, true] {
        for politely in [false, true] {
            let mut client = Client::new(&server);
            keep_busy(&mut client, in_transaction);
            if politely {
                client.send(GOODBYE, []);
                // It may say how the statement ended.
                while client.receive().is_some() {}
            }
            drop(client);
            until("the statement has ended", || server.connections() == 0);
        }
    }
}

#[test]
fn statements_and_transactions_have_time_limits() {
    const LIMIT: Duration = Duration::from_secs(1);
    let server = serve();
    let limit = || map([("tx_timeout", (LIMIT.as_millis() as i64).into())]);
    let beyond = LIMIT * 3 / 2;
    let goes_on = |mut client: Client| {
        client.reset().success();
        assert_eq!(client.int("RETURN 1"), 1);
    };
    let mut client = within(LIMIT, |_| {
        let mut client = Client::new(&server);
        client.run_with(FOREVER, map([]), limit()).success();
        client
    });
    assert_eq!(client.pull(-1).1.code(), TIMED_OUT);
    goes_on(client);
    // The time counts from BEGIN.
    let mut client = within(LIMIT, |_| {
        let mut client = Client::new(&server);
        client.ask(BEGIN, [limit()]).success();
        client.run(FOREVER).success();
        client
    });
    assert_eq!(client.pull(-1).1.code(), TIMED_OUT);
    goes_on(client);
    // A client that does nothing has its transaction undone, and hears of it.
    let mut client = within(LIMIT, |_| {
        let mut client = Client::new(&server);
        client.ask(BEGIN, [limit()]).success();
        client.rows("CREATE (:N)");
        client
    });
    thread::sleep(beyond);
    assert_eq!(client.ask(COMMIT, []).code(), TIMED_OUT);
    assert_eq!(client.run("RETURN 1"), Answer::Ignored);
    client.reset().success();
    assert_eq!(client.int("MATCH (n:N) RETURN count(n)"), 0);
    thread::sleep(SHORT);
    assert_eq!(client.int("RETURN 1"), 1, "the limit was the transaction's");
    // The same for a statement whose rows nobody reads.
    for ask_again in [false, true] {
        let mut client = within(LIMIT, |_| {
            let mut client = Client::new(&server);
            client.run_with(ENDLESS, map([]), limit()).success();
            assert_eq!(client.pull(10).0.len(), 10);
            client
        });
        thread::sleep(beyond);
        if ask_again {
            assert_eq!(client.pull(10).1.code(), TIMED_OUT);
        }
        goes_on(client);
    }
}

#[test]
fn a_limit_that_passes_at_any_moment_leaves_the_connection() {
    let server = serve();
    let mut client = Client::new(&server);
    // Often it passes between a request and its answer, which then must still come.
    for number in 0..200 {
        let limit = map([("tx_timeout", (1 + number % 3).into())]);
        if number % 2 == 0 {
            client.ask(BEGIN, [limit]).success();
            client.run("UNWIND range(1, 2000) AS x RETURN sum(x)");
        } else {
            client.run_with("UNWIND range(1, 2000) AS x RETURN sum(x)", map([]), limit);
        }
        client.pull(-1);
        client.reset().success();
    }
    assert_eq!(client.int("RETURN 1"), 1);
}

#[test]
fn clients_that_do_not_log_in_are_not_waited_for() {
    let server = serve_with(|settings| settings.login_timeout = SHORT);
    let mut silent = Client::silent(server.bolt_address());
    silent.expect_end();
    let mut half = Client::silent(server.bolt_address());
    half.say(&[0x60, 0x60, 0xB0]);
    half.expect_end();
    let agreed = || within(SHORT, |_| Client::with_version(&server, 5, 8));
    agreed().expect_end();
    let mut greeted = within(SHORT, |_| {
        let mut client = Client::with_version(&server, 5, 8);
        client.ask(0x01, [map([])]).success();
        client
    });
    greeted.expect_end();
    // A byte now and then makes no difference.
    let mut slow = agreed();
    let bytes = framed(&Data::Structure(
        0x01,
        vec![map([("user_agent", "x".repeat(5000).as_str().into())])],
    ));
    let sent = bytes.iter().take_while(|byte| {
        thread::sleep(Duration::from_millis(20));
        slow.stream.write_all(&[**byte]).is_ok()
    });
    assert!(sent.count() < bytes.len(), "it was waited for");
    until("they are gone", || server.connections() == 0);
    // Who has logged in may be silent.
    let mut client = within(SHORT, |_| Client::new(&server));
    thread::sleep(SHORT * 2);
    assert_eq!(client.int("RETURN 1"), 1);
    client.ask(0x6B, []).success();
    client.expect_end();
}

#[test]
fn idle_clients_are_sent_away_if_that_is_wanted() {
    let server = serve_with(|settings| settings.idle_timeout = Some(SHORT));
    let mut client = within(SHORT, |_| {
        let mut client = Client::new(&server);
        client.begin().success();
        client.rows("CREATE (:N)");
        client
    });
    client.expect_end();
    let database = server.dbms().database(None).unwrap();
    let found = database.session().run("MATCH (n:N) RETURN count(n)", &[]).unwrap();
    assert_eq!(found.rows[0][0], telar_db::Value::Int(0));
    // A statement that takes long is not idle.
    within(SHORT, |_| {
        let mut client = Client::new(&server);
        keep_busy(&mut client, false);
        thread::sleep(SHORT);
        assert_eq!(client.reset().code(), TERMINATED);
    });
}

#[test]
fn half_a_message_is_not_waited_for_longer_than_a_message_may_take() {
    let server = serve_with(|settings| settings.message_timeout = SHORT);
    let run = framed(&Data::Structure(
        0x10,
        vec!["RETURN $x".into(), map([("x", "x".repeat(5000).as_str().into())]), map([])],
    ));
    for (begins, part) in [(false, 1), (false, 2), (false, 4000), (true, 4000)] {
        let mut client = Client::new(&server);
        // To be silent between messages is something else.
        thread::sleep(SHORT * 2);
        if begins {
            client.begin().success();
            client.rows("CREATE (:Half)");
        }
        client.say(&run[..part]);
        assert_eq!(client.answer().code(), "Neo.ClientError.Request.Invalid", "{part} bytes");
        client.expect_end();
    }
    until("they are gone", || server.connections() == 0);
    assert_eq!(Client::new(&server).int("MATCH (n:Half) RETURN count(n)"), 0);
}

#[test]
fn each_message_in_parts_has_its_time_for_itself() {
    const EACH: Duration = Duration::from_secs(4);
    let server = serve_with(|settings| settings.message_timeout = EACH);
    let run = framed(&Data::Structure(0x10, vec!["RETURN 1".into(), map([]), map([])]));
    within(EACH, |since| {
        let mut client = Client::new(&server);
        for _ in 0..10 {
            since.set(Instant::now());
            client.say(&run[..9]);
            thread::sleep(EACH / 8);
            client.say(&run[9..]);
            client.answer().success();
            client.pull(-1).1.success();
        }
    });
}

#[test]
fn connections_are_limited() {
    let server = serve_with(|settings| settings.connections_max = 2);
    let first = Client::new(&server);
    let mut second = Client::new(&server);
    let mut third = Client::with_version(&server, 5, 8);
    third.ask(0x01, [map([])]).success();
    let token = || [map([("scheme", "none".into())])];
    assert_eq!(third.ask(0x6A, token()).code(), "Neo.TransientError.Request.NoThreadsAvailable");
    third.expect_end();
    drop(first);
    until("there is a place", || server.connections() == 1);
    assert_eq!(Client::new(&server).int("RETURN 1"), 1);
    assert_eq!(second.int("RETURN 1"), 1);
}

#[test]
fn shutting_down_waits_for_transactions_and_for_nobody_else() {
    let server = serve();
    let dbms = Arc::clone(server.dbms());
    let mut idle = Client::new(&server);
    let mut open = Client::new(&server);
    let mut busy = Client::new(&server);
    open.begin().success();
    open.rows("CREATE (:N)");
    busy.run(ENDLESS).success();
    let stopping = thread::spawn(move || server.shut_down(PATIENCE));
    idle.expect_end();
    open.rows("CREATE (:N)");
    open.ask(COMMIT, []).success();
    open.expect_end();
    assert_eq!(busy.pull(10).0.len(), 10);
    busy.reset().success();
    busy.expect_end();
    assert!(stopping.join().unwrap());
    let session = dbms.database(None).unwrap();
    let found = session.session().run("MATCH (n:N) RETURN count(n)", &[]).unwrap();
    assert_eq!(found.rows[0][0], telar_db::Value::Int(2));
}

#[test]
fn shutting_down_ends_what_does_not_end_by_itself() {
    let server = serve();
    let dbms = Arc::clone(server.dbms());
    let (mut open, mut busy) = (Client::new(&server), Client::new(&server));
    let mut unread = Client::new(&server);
    open.begin().success();
    open.rows("CREATE (:N)");
    keep_busy(&mut busy, true);
    unread.run(ENDLESS).success();
    unread.send(PULL, [map([("n", (-1).into())])]);
    assert!(server.shut_down(SHORT));
    open.expect_end();
    let database = dbms.database(None).unwrap();
    let found = database.session().run("MATCH (n:N) RETURN count(n)", &[]).unwrap();
    assert_eq!(found.rows[0][0], telar_db::Value::Int(0));
    drop(database);
    assert_eq!(Arc::strong_count(&dbms), 1, "nobody uses the databases any more");
}

#[test]
fn shutting_down_under_load_keeps_what_was_acknowledged() {
    let server = serve();
    let dbms = Arc::clone(server.dbms());
    let acknowledged = Arc::new(AtomicI64::new(0));
    let work = |mut client: Client, acknowledged: Arc<AtomicI64>| {
        move || {
            loop {
                let run = Data::Structure(RUN, vec!["CREATE (:N)".into(), map([]), map([])]);
                let all = Data::Structure(PULL, vec![map([("n", (-1).into())])]);
                if client.stream.write_all(&[framed(&run), framed(&all)].concat()).is_err() {
                    return;
                }
                for last in [false, true] {
                    let Some(answer) = client.receive() else { return };
                    answer.success();
                    acknowledged.fetch_add(i64::from(last), Ordering::SeqCst);
                }
            }
        }
    };
    let clients: Vec<_> = (0..8)
        .map(|_| thread::spawn(work(Client::new(&server), Arc::clone(&acknowledged))))
        .collect();
    until("they work", || acknowledged.load(Ordering::SeqCst) > 100);
    assert!(server.shut_down(PATIENCE));
    clients.into_iter().for_each(|client| client.join().unwrap());
    let database = dbms.database(None).unwrap();
    let found = database.session().run("MATCH (n:N) RETURN count(n)", &[]).unwrap();
    let telar_db::Value::Int(found) = found.rows[0][0] else { panic!("no count") };
    let acknowledged = acknowledged.load(Ordering::SeqCst);
    assert!((acknowledged..=acknowledged + 8).contains(&found), "{found} of {acknowledged}");
}
