//! Bolt over WebSocket: messages of any cut, and the ends of statements and connections.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use telar_server::server::Server;

use crate::client::{
    Client, ENDLESS, FOREVER, GOODBYE, PATIENCE, PULL, RESET, in_chunks, serve, serve_with, until,
};
use crate::data::{Data, map};
use crate::web::{BINARY, CLOSE, Cut, PING, WHOLE, Web, frame, request};
use crate::within::within;

const TERMINATED: &str = "Neo.TransientError.Transaction.Terminated";
const SHORT: Duration = Duration::from_millis(300);
/// Rows of about a megabyte and a half: more than waits on the way to a client.
const BIG_ROWS: &str = "UNWIND range(1, 1000) AS i RETURN range(1, 300000) AS row";

fn pull_all() -> [Data; 1] {
    [map([("n", (-1).into())])]
}

fn keep_busy(client: &mut Client<Web>) {
    client.run(FOREVER).success();
    client.send(PULL, pull_all());
    thread::sleep(SHORT);
}

#[test]
fn messages_may_be_cut_in_any_way() {
    let server = serve();
    for (frame_bytes, frames, pings) in [
        (usize::MAX, 1, false),
        (usize::MAX, 1, true),
        (1, 1, false),
        (1, 3, true),
        (2, 2, false),
        (7, usize::MAX, true),
        (1400, 1, true),
        (70_000, 2, true),
    ] {
        let cut = Cut { frame_bytes, frames, pings };
        let mut client = Client::web_cut(&server, cut);
        assert_eq!(client.int("RETURN 1"), 1, "{cut:?}");
        let text = "x".repeat(if frame_bytes < 100 { 1000 } else { 300_000 });
        client.run_with("RETURN $text, size($text)", map([("text", (&*text).into())]), map([]));
        let (rows, end) = client.pull(-1);
        end.success();
        assert_eq!(rows[0], [Data::from(&*text), Data::Int(text.len() as i64)], "{cut:?}");
        let rows = client.rows("UNWIND range(1, 20000) AS x RETURN x, 'some text'");
        assert_eq!((rows.len(), &rows[19_999][0]), (20_000, &Data::Int(20_000)));
        // Bytes between messages that say that the client is there; several messages at once.
        let reset = in_chunks(&[0xB0, RESET]);
        client.say(&[&[0, 0, 0, 0][..], &reset, &[0, 0], &reset, &reset].concat());
        for _ in 0..3 {
            client.answer().success();
        }
        // A message in chunks of one byte.
        client.say(&[0, 1, 0xB0, 0, 1, RESET, 0, 0]);
        client.answer().success();
        assert_eq!(client.stream.pongs.is_empty(), !pings);
        client.send(GOODBYE, []);
        assert_eq!(client.stream.status(), Some(1000));
    }
}

#[test]
fn both_handshakes_of_bolt_work() {
    let server = serve();
    for (major, minor) in [(4, 4), (5, 0), (6, 0)] {
        let mut client = Client::silent_web(server.bolt_address(), WHOLE);
        client.shake_hands([0, 0, minor, major]);
        client.log_in((major, minor) >= (5, 1));
        assert_eq!(client.int("RETURN 7"), 7);
    }
    let mut client = Client::silent_web(server.bolt_address(), WHOLE);
    client.say([[0x60, 0x60, 0xB0, 0x17], [0, 0, 1, 0xFF], [0; 4], [0; 4], [0; 4]].as_flattened());
    let mut offers = [0; 18];
    client.stream.read_exact(&mut offers).unwrap();
    client.say(&[0, 0, 8, 5, 0]);
    client.log_in(true);
    assert_eq!(client.int("RETURN 8"), 8);
    // What is no Bolt, and what this server does not speak.
    let mut other = Client::silent_web(server.bolt_address(), WHOLE);
    other.say(b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(other.stream.status(), Some(1002));
    let mut old = Client::silent_web(server.bolt_address(), WHOLE);
    old.say([[0x60, 0x60, 0xB0, 0x17], [0, 0, 0, 3], [0; 4], [0; 4], [0; 4]].as_flattened());
    let mut answer = [1; 4];
    old.stream.read_exact(&mut answer).unwrap();
    assert_eq!((answer, old.stream.status()), ([0; 4], Some(1002)));
}

#[test]
fn what_runs_is_listed_with_its_protocol() {
    let server = serve();
    let mut client = Client::web(&server);
    let text = "SHOW TRANSACTIONS YIELD protocol, connectionId RETURN protocol, connectionId";
    let rows = client.rows(text);
    assert_eq!(rows[0][0].text(), "bolt+websocket");
    let id = rows[0][1].text().to_owned();
    assert!(id.strip_prefix("bolt-").is_some_and(|number| number.parse::<u32>().is_ok()), "{id}");
    // An administrator ends the connection from another one.
    let mut other = Client::new(&server);
    let listed = other.rows("CALL dbms.listConnections() YIELD connectionId, connector");
    assert!(listed.contains(&vec![(&*id).into(), "bolt+websocket".into()]), "{listed:?}");
    other.rows(&format!("CALL dbms.killConnection('{id}') YIELD message"));
    assert_eq!(client.stream.status(), Some(1001));
}

#[test]
fn frames_that_break_the_protocol_end_the_connection() {
    let server = serve();
    let too_long = [&[BINARY, 0xFF][..], &[0x10; 8], &[0; 4]].concat();
    for (status, bytes) in [
        (1002, vec![BINARY, 1, 0]),
        (1002, frame(0xC2, b"x")),
        (1002, frame(0x8B, b"x")),
        (1002, frame(0x80, b"x")),
        (1002, frame(0x09, b"x")),
        (1002, frame(PING, &[0; 126])),
        (1002, frame(CLOSE, &[1])),
        (1003, frame(0x81, b"text")),
        (1007, frame(CLOSE, &[0x03, 0xE8, 0xC0])),
        (1009, too_long),
    ] {
        for is_busy in [false, true] {
            let mut client = Client::web(&server);
            if is_busy {
                keep_busy(&mut client);
            }
            // A frame that is right before, and another one behind.
            let all = [frame(PING, b"p"), bytes.clone(), frame(BINARY, b"ignored")].concat();
            client.stream.send_raw(&all);
            assert_eq!(client.stream.status(), Some(status), "{bytes:?}");
            assert_eq!(client.stream.pong(), b"p");
            assert!(!client.stream.closed.unwrap().1.is_empty());
        }
    }
    until("all have ended", || server.connections() == 0);
    // Before the handshake of Bolt, too.
    let mut early = Client::silent_web(server.bolt_address(), WHOLE);
    early.stream.send_raw(&frame(0x81, b"text"));
    assert!(matches!(early.stream.status(), Some(1001 | 1003)));
}

#[test]
fn pings_are_answered_whatever_the_connection_does() {
    let server = serve();
    let mut client = Client::silent_web(server.bolt_address(), WHOLE);
    client.stream.send_raw(&frame(PING, b"before Bolt"));
    assert_eq!(client.stream.pong(), b"before Bolt");
    client.shake_hands([0, 0, 8, 5]);
    client.log_in(true);
    // Idle, for longer than memory is kept.
    thread::sleep(Duration::from_millis(1300));
    client.stream.send_raw(&frame(PING, b""));
    assert_eq!(client.stream.pong(), b"");
    // Unasked answers are ignored.
    client.stream.send_raw(&frame(0x8A, b"unasked"));
    // In a transaction that waits for its client.
    client.begin().success();
    client.stream.send_raw(&frame(PING, b"in a transaction"));
    assert_eq!(client.stream.pong(), b"in a transaction");
    // While a statement computes.
    keep_busy(&mut client);
    for _ in 0..3 {
        let begun = Instant::now();
        client.stream.send_raw(&frame(PING, &[7; 125]));
        assert_eq!(client.stream.pong(), [7; 125]);
        assert!(begun.elapsed() < PATIENCE / 2, "not only at its end");
    }
    client.send(RESET, []);
    assert_eq!(client.answer().code(), TERMINATED);
    client.answer().success();
    // Between rows: every frame and every row is whole.
    client.run(BIG_ROWS).success();
    client.demand_only(40);
    let mut seen = 0;
    for _ in 0..40 {
        client.stream.send_raw(&frame(PING, b"between rows"));
        let row = client.answer().record();
        assert_eq!(row[0].list().len(), 300_000);
        seen += 1;
    }
    client.answer().success();
    client.reset().success();
    assert_eq!(seen, 40);
    assert!(client.stream.pongs.iter().all(|pong| pong == b"between rows"));
    assert!(!client.stream.pongs.is_empty());
}

#[test]
fn a_flood_of_pings_is_taken_and_ends() {
    let server = serve();
    let mut client = Client::web(&server);
    keep_busy(&mut client);
    let pings = frame(PING, &[1; 100]).repeat(1000);
    let mut writer = client.stream.stream.try_clone().unwrap();
    let flood = thread::spawn(move || {
        for _ in 0..100 {
            writer.write_all(&pings).unwrap();
        }
    });
    flood.join().unwrap();
    client.send(RESET, []);
    assert_eq!(client.answer().code(), TERMINATED);
    client.answer().success();
    assert!(!client.stream.pongs.is_empty());
    assert_eq!(client.int("RETURN 1"), 1);
}

#[test]
fn a_reset_ends_what_runs() {
    let server = serve();
    let cut = Cut { frame_bytes: 1, frames: 2, pings: true };
    let mut client = Client::web_cut(&server, cut);
    for in_transaction in [false, true] {
        if in_transaction {
            client.begin().success();
        }
        client.run(FOREVER).success();
        client.send(PULL, pull_all());
        thread::sleep(SHORT);
        assert_eq!(client.reset().code(), TERMINATED);
        client.answer().success();
    }
    client.run(ENDLESS).success();
    client.send(PULL, pull_all());
    for _ in 0..1000 {
        client.answer().record();
    }
    client.send(RESET, []);
    assert_eq!(client.rest().1.code(), TERMINATED);
    client.answer().success();
    assert_eq!(client.int("RETURN 1"), 1);
}

#[test]
fn who_hangs_up_is_not_worked_for() {
    let server = serve();
    for how in 0..5 {
        let mut client = Client::web(&server);
        keep_busy(&mut client);
        match how {
            0 => {}
            1 => client.send(GOODBYE, []),
            2 => client.stream.stream.shutdown(Shutdown::Write).unwrap(),
            3 => client.stream.send_raw(&frame(CLOSE, &[0x0F, 0xA0])),
            _ => client.stream.send_raw(&frame(CLOSE, &[])),
        }
        let wanted = match how {
            0 => None,
            // The statement ends, and the GOODBYE behind it is read.
            1 => Some(1000),
            2 => Some(1001),
            3 => Some(4000),
            _ => Some(1005),
        };
        if let Some(wanted) = wanted {
            assert_eq!(client.stream.status(), Some(wanted));
        }
        drop(client);
        until("the statement has ended", || server.connections() == 0);
    }
}

#[test]
fn a_client_that_closes_is_answered() {
    let server = serve();
    for (payload, status) in [(&[0x03, 0xE8, b'b', b'y', b'e'][..], 1000), (&[], 1005)] {
        let mut client = Client::web(&server);
        client.stream.send_raw(&frame(CLOSE, payload));
        assert_eq!(client.stream.status(), Some(status));
        until("it has ended", || server.connections() == 0);
    }
}

#[test]
fn a_reader_that_is_slow_holds_back_its_statement() {
    let server = serve();
    let mut client = within(Duration::from_millis(1500), |_| {
        let mut client = Client::web(&server);
        let limit = map([("tx_timeout", 1500.into())]);
        client.run_with(BIG_ROWS, map([]), limit).success();
        client
    });
    client.demand_only(-1);
    // It asks for a pong, which can only come behind what it does not read.
    client.stream.send_raw(&frame(PING, b"slow"));
    thread::sleep(Duration::from_secs(3));
    let (rows, end) = client.rest();
    assert!(rows.iter().all(|row| row[0].list().len() == 300_000));
    assert_eq!(end.code(), "Neo.ClientError.Transaction.TransactionTimedOut");
    client.reset().success();
    assert_eq!(client.int("RETURN 1"), 1);
    assert_eq!(client.stream.pong(), b"slow");
    // One that reads nothing at all is ended from outside.
    until("it is alone", || server.connections() == 1);
    client.run(BIG_ROWS).success();
    client.demand_only(-1);
    thread::sleep(SHORT);
    let mut other = Client::new(&server);
    let found = other.rows(
        "CALL dbms.listConnections() YIELD connectionId, connector \
         WHERE connector <> 'bolt' RETURN connectionId",
    );
    other.rows(&format!("CALL dbms.killConnection('{}') YIELD message", found[0][0].text()));
    until("it has ended", || server.connections() == 1);
}

#[test]
fn a_server_that_stops_says_that_it_goes_away() {
    let server = serve();
    let mut idle = Client::web(&server);
    let mut busy = Client::web(&server);
    keep_busy(&mut busy);
    let mut silent = Client::silent_web(server.bolt_address(), WHOLE);
    until("all are there", || server.connections() == 3);
    assert!(server.shut_down(Duration::from_millis(500)));
    for client in [&mut idle, &mut busy, &mut silent] {
        assert_eq!(client.stream.status(), Some(1001));
    }
}

#[test]
fn a_silent_client_is_told_that_its_time_is_up() {
    let idle = Duration::from_secs(1);
    let server = serve_with(|settings| settings.idle_timeout = Some(idle));
    let mut silent = within(idle, |_| Client::web(&server));
    assert_eq!(silent.stream.status(), Some(1001));
    // A ping is a sign of life, as the empty chunk of Bolt is.
    within(idle, |since| {
        let mut pinging = Client::web(&server);
        for _ in 0..8 {
            thread::sleep(SHORT);
            let sent = Instant::now();
            pinging.stream.send_raw(&frame(PING, b"here"));
            assert_eq!(pinging.stream.pong(), b"here");
            since.set(sent);
        }
        assert_eq!(pinging.int("RETURN 1"), 1);
    });
}

#[test]
fn half_a_message_is_not_waited_for() {
    let server = serve_with(|settings| settings.message_timeout = Duration::from_secs(1));
    let mut client = Client::web(&server);
    // Half of a frame, and half of a message.
    let whole = frame(BINARY, &in_chunks(&[0xB0, RESET]));
    client.stream.send_raw(&whole[..whole.len() - 3]);
    assert!(format!("{:?}", client.answer().failure()).contains("bolt.message_timeout"));
    assert_eq!(client.stream.status(), Some(1002));
}

fn short_login(login: Duration) -> Server {
    serve_with(|settings| (settings.login_timeout, settings.newcomers_max) = (login, 2))
}

#[test]
fn the_oldest_that_has_not_logged_in_is_evicted() {
    let server = short_login(PATIENCE);
    let mut first = Client::silent_web(server.bolt_address(), WHOLE);
    let mut second = Client::silent_web(server.bolt_address(), WHOLE);
    second.shake_hands([0, 0, 8, 5]);
    // One in the middle of its request.
    let mut third = Client::silent(server.bolt_address());
    third.say(b"GET / HTTP/1.1\r\nHost: local");
    assert_eq!(first.stream.status(), Some(1001));
    let mut fourth = Client::web(&server);
    assert_eq!(second.stream.status(), Some(1001));
    let mut fifth = Client::silent_web(server.bolt_address(), WHOLE);
    let _sixth = Client::silent_web(server.bolt_address(), WHOLE);
    third.expect_end();
    fifth.shake_hands([0, 0, 8, 5]);
    assert_eq!(fourth.int("RETURN 1"), 1);
}

#[test]
fn one_that_reads_nothing_is_evicted_too() {
    let server = short_login(PATIENCE);
    let mut client = Client::silent_web(server.bolt_address(), WHOLE);
    client.shake_hands([0, 0, 8, 5]);
    client.ask(0x01, [map([])]).success();
    // The server has answers that nobody reads, and waits to write them.
    let resets = frame(BINARY, &in_chunks(&[0xB0, RESET]).repeat(10_000));
    let mut writer = client.stream.stream.try_clone().unwrap();
    writer.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    while writer.write_all(&resets).is_ok() {}
    assert_eq!(server.connections(), 1);
    let _others = [0; 2].map(|_| Client::silent_web(server.bolt_address(), WHOLE));
    until("it has ended", || server.connections() == 2);
}

#[test]
fn logging_in_has_a_deadline_at_each_step() {
    let login = Duration::from_secs(1);
    let server = short_login(login);
    let begun = Instant::now();
    let mut silent = Client::silent(server.bolt_address());
    silent.say(b"GET / HTTP/1.1\r\n");
    silent.expect_end();
    // A header that never ends.
    let mut trickle = Client::silent(server.bolt_address());
    trickle.say(b"GET / HTTP/1.1\r\nX: ");
    while trickle.stream.write_all(b"x").is_ok() {
        thread::sleep(Duration::from_millis(20));
        assert!(begun.elapsed() < PATIENCE);
    }
    // Pings are no login.
    let silent_web = || Client::silent_web(server.bolt_address(), WHOLE);
    let mut pinging = within(login, |_| silent_web());
    let mut writer: TcpStream = pinging.stream.stream.try_clone().unwrap();
    let pings = thread::spawn(move || {
        while writer.write_all(&frame(PING, b"here")).is_ok() {
            thread::sleep(Duration::from_millis(20));
            assert!(begun.elapsed() < PATIENCE);
        }
    });
    assert_eq!(pinging.stream.status(), Some(1001));
    drop(pinging);
    pings.join().unwrap();
    let mut half = within(login, |_| {
        let mut client = silent_web();
        client.shake_hands([0, 0, 8, 5]);
        client
    });
    assert_eq!(half.stream.status(), Some(1001));
    until("all have ended", || server.connections() == 0);
}

#[test]
fn large_requests_and_messages_are_bounded() {
    let server = serve();
    let mut client = Client::silent(server.bolt_address());
    client.say(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
    client.say(&[b'x'; 8 << 10]);
    let mut answer = String::new();
    client.stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    // One frame of 100 MiB with a message before a login: its limit is that of messages.
    let mut client = Client::silent_web(server.bolt_address(), WHOLE);
    client.shake_hands([0, 0, 8, 5]);
    let head = [BINARY, 0xFF, 0, 0, 0, 0, 6, 0x40, 0, 0, 0, 0, 0, 0];
    client.stream.send_raw(&head);
    let chunk = [&[0xFF, 0xFF][..], &[7; 0xFFFF]].concat().repeat(2);
    client.stream.send_raw(&chunk);
    let failure = client.answer().failure();
    assert!(format!("{failure:?}").contains("before a login"), "{failure:?}");
    assert_eq!(client.stream.status(), Some(1002));
}

#[test]
fn requests_are_read_in_any_pieces() {
    let server = serve();
    let text = request("Host: localhost");
    for step in [1, 3, 50] {
        let mut stream = TcpStream::connect(server.bolt_address()).unwrap();
        stream.set_nodelay(true).unwrap();
        for piece in text.as_bytes().chunks(step) {
            stream.write_all(piece).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
        assert!(crate::web::read_head(&mut stream).unwrap().starts_with("HTTP/1.1 101 "));
    }
}
