//! What may be asked for when, and what happens to what may not.

use crate::client::{
    Answer, BEGIN, COMMIT, Client, DISCARD, GOODBYE, PULL, RESET, ROLLBACK, RUN, serve,
};
use crate::data::{Data, map};

const INVALID: &str = "Neo.ClientError.Request.Invalid";
const SYNTAX: &str = "Neo.ClientError.Statement.SyntaxError";

/// Every request there is, well-formed.
fn requests() -> Vec<(u8, Vec<Data>)> {
    let empty = || map([]);
    vec![
        (0x01, vec![empty()]),
        (0x6A, vec![map([("scheme", "none".into())])]),
        (0x6B, vec![]),
        (RESET, vec![]),
        (RUN, vec!["RETURN 1".into(), empty(), empty()]),
        (BEGIN, vec![empty()]),
        (COMMIT, vec![]),
        (ROLLBACK, vec![]),
        (DISCARD, vec![map([("n", (-1).into())])]),
        (PULL, vec![map([("n", (-1).into())])]),
        (0x66, vec![empty(), Data::List(vec![]), empty()]),
        (0x54, vec![1.into()]),
    ]
}

/// Asks for everything in a state: those in `allowed` succeed, all others end the connection.
fn only(allowed: &[u8], into_state: impl Fn() -> Client) {
    for (tag, fields) in requests() {
        let mut client = into_state();
        let answer = client.ask(tag, fields);
        if allowed.contains(&tag) {
            assert!(matches!(answer, Answer::Success(_)), "{tag:02X}: {answer:?}");
        } else {
            assert_eq!(answer.code(), INVALID, "{tag:02X}");
            client.expect_end();
        }
    }
    let mut client = into_state();
    client.send(GOODBYE, []);
    client.expect_end();
}

#[test]
fn each_state_takes_its_requests_and_no_other() {
    let server = serve();
    only(&[0x01], || Client::with_version(&server, 5, 8));
    only(&[0x6A, RESET], || {
        let mut client = Client::with_version(&server, 5, 8);
        client.ask(0x01, [map([])]).success();
        client
    });
    let ready = [0x6B, RESET, RUN, BEGIN, 0x66, 0x54];
    only(&ready, || Client::new(&server));
    only(&[RESET, RUN, COMMIT, ROLLBACK], || {
        let mut client = Client::new(&server);
        client.begin().success();
        client
    });
}

#[test]
fn a_stream_takes_demands_and_a_reset() {
    let server = serve();
    for (tag, fields) in requests() {
        for in_transaction in [false, true] {
            let mut client = Client::new(&server);
            if in_transaction {
                client.begin().success();
            }
            client.run("UNWIND range(1, 3) AS x RETURN x").success();
            client.send(tag, fields.clone());
            let (rows, answer) = client.rest();
            let more = [RUN, COMMIT, ROLLBACK].contains(&tag) && in_transaction;
            if more || [RESET, PULL, DISCARD].contains(&tag) {
                answer.success();
                assert_eq!(rows.len(), if tag == PULL { 3 } else { 0 });
            } else {
                assert_eq!(answer.code(), INVALID, "{tag:02X}");
                client.expect_end();
            }
        }
    }
}

#[test]
fn after_a_failure_everything_is_ignored_until_a_reset() {
    let server = serve();
    let mut client = Client::new(&server);
    for in_transaction in [false, true] {
        if in_transaction {
            client.begin().success();
        }
        assert_eq!(client.run("RETURN 1 +").code(), SYNTAX);
        for (tag, fields) in requests() {
            if tag != RESET && tag != 0x01 {
                assert_eq!(client.ask(tag, fields), Answer::Ignored, "{tag:02X}");
            }
        }
        client.reset().success();
        assert_eq!(client.int("RETURN 1"), 1);
    }
    client.run("RETURN 1 +").failure();
    assert_eq!(client.ask(0x01, [map([])]).code(), INVALID);
    client.expect_end();
}

#[test]
fn statements_fail_where_they_fail() {
    let server = serve();
    let mut client = Client::new(&server);
    // While it runs: RUN was answered before.
    client.run("UNWIND [1, 0] AS x RETURN 1 / x").success();
    let (_, end) = client.pull(-1);
    assert_eq!(end.code(), "Neo.ClientError.Statement.ArithmeticError");
    client.reset().success();
    assert_eq!(client.run("RETURN $x").code(), "Neo.ClientError.Statement.ParameterMissing");
    client.reset().success();
    // A statement that writes has run when RUN is answered.
    client.run("CREATE (n:N) SET n.x = 1 / 0").failure();
    client.reset().success();
    assert_eq!(client.int("MATCH (n:N) RETURN count(n)"), 0);
}

#[test]
fn what_requests_say_is_checked() {
    let server = serve();
    let mut client = Client::new(&server);
    let bad = [
        ("mode", "x".into()),
        ("mode", 1.into()),
        ("db", 1.into()),
        ("bookmarks", "x".into()),
        ("bookmarks", Data::List(vec![1.into()])),
        ("tx_timeout", (-1).into()),
        ("tx_timeout", "1".into()),
        ("tx_metadata", 1.into()),
        ("imp_user", 1.into()),
        ("notifications_minimum_severity", 1.into()),
        ("notifications_disabled_categories", 1.into()),
    ];
    for (key, value) in bad {
        let extra = map([(key, value)]);
        assert_eq!(client.run_with("RETURN 1", map([]), extra.clone()).code(), INVALID, "{key}");
        client.reset().success();
        assert_eq!(client.ask(BEGIN, [extra]).code(), INVALID, "{key}");
        client.reset().success();
    }
    let node = Data::Structure(b'N', vec![1.into(), Data::List(vec![]), map([])]);
    let of_type = "Neo.ClientError.Statement.TypeError";
    assert_eq!(client.run_with("RETURN $n", map([("n", node)]), map([])).code(), of_type);
    client.reset().success();
    let code = client.run_with("RETURN 1", map([]), map([("db", "nope".into())])).code();
    assert_eq!(code, "Neo.ClientError.Database.DatabaseNotFound");
    client.reset().success();
    let read = map([("mode", "r".into())]);
    let code = client.run_with("CREATE ()", map([]), read).code();
    assert_eq!(code, "Neo.ClientError.Statement.AccessMode");
    client.reset().success();
    assert_eq!(client.int("MATCH (n) RETURN count(n)"), 0);
}

#[test]
fn transactions_end_as_they_are_told() {
    let server = serve();
    let (mut client, mut other) = (Client::new(&server), Client::new(&server));
    let count = "MATCH (n) RETURN count(n)";
    for (end, left) in [(COMMIT, 1), (ROLLBACK, 1), (RESET, 1), (COMMIT, 2)] {
        client.begin().success();
        client.rows("CREATE ()");
        let seen = other.int(count);
        assert_eq!(client.int(count), seen + 1, "its own writes are seen");
        client.ask(end, []).success();
        assert_eq!(other.int(count), left);
    }
    // What a failure undoes.
    client.begin().success();
    client.rows("CREATE ()");
    client.run("RETURN 1 +").failure();
    assert_eq!(client.ask(COMMIT, []), Answer::Ignored);
    client.reset().success();
    // What a hang-up and a GOODBYE undo.
    for politely in [false, true] {
        let mut client = Client::new(&server);
        client.begin().success();
        client.rows("CREATE ()");
        if politely {
            client.send(GOODBYE, []);
            client.expect_end();
        }
    }
    crate::client::until("both are gone", || server.connections() == 2);
    assert_eq!(other.int(count), 2);
}

#[test]
fn bookmarks_carry_writes_from_one_connection_to_the_next() {
    let server = serve();
    let (mut writer, mut reader) = (Client::new(&server), Client::new(&server));
    for number in 1..50 {
        let bookmark = if number % 2 == 0 {
            writer.run("CREATE (:N)").success();
            writer.pull(-1).1.success().get("bookmark").clone()
        } else {
            writer.begin().success();
            writer.rows("CREATE (:N)");
            writer.ask(COMMIT, []).success().get("bookmark").clone()
        };
        assert!(bookmark.text().starts_with("telar:telar:"), "{bookmark:?}");
        let extra = map([("bookmarks", Data::List(vec![bookmark]))]);
        reader.run_with("MATCH (n:N) RETURN count(n)", map([]), extra).success();
        let (rows, end) = reader.pull(-1);
        assert_eq!(rows, [[Data::Int(number)]]);
        assert!(end.success().get("bookmark").text().starts_with("telar:telar:"));
    }
    let extra = map([("bookmarks", Data::from(vec!["FB:kcwQ"]))]);
    let code = reader.run_with("RETURN 1", map([]), extra).code();
    assert_eq!(code, "Neo.ClientError.Transaction.InvalidBookmark");
}

#[test]
fn who_logs_off_has_to_log_on() {
    let server = serve();
    let mut client = Client::new(&server);
    client.ask(0x6B, []).success();
    client.ask(0x6A, [map([("scheme", "none".into())])]).success();
    assert_eq!(client.int("RETURN 1"), 1);
}
