//! What peers can take: time, memory, places. All of it ends somewhere.

use std::fs;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;
use telar_server::http::Settings;

use crate::common::{Connection, LOCAL_JSON, QUERY, TestServer};
use crate::within::within;

const SHORT: Duration = Duration::from_millis(400);
const LONG: Duration = Duration::from_secs(20);
const ENDLESS: &str =
    r#"{"statement": "UNWIND range(1, 100000000000) AS x RETURN x, 'some text'"}"#;
const SILENT: &str = r#"{"statement": "UNWIND range(1, 100000000000) AS x RETURN count(x)"}"#;

fn impatient() -> Settings {
    Settings { header_timeout: SHORT, body_timeout: SHORT, ..Settings::default() }
}

/// Bytes of this process in memory.
fn resident() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).map_or(0, |pages| pages.parse::<u64>().unwrap() * 4096)
}

#[test]
fn a_body_above_the_limit_is_refused() {
    let server = TestServer::with(Settings { body_bytes_max: 1000, ..Settings::default() });
    let body = json!({ "statement": format!("RETURN '{}'", "x".repeat(2000)) }).to_string();
    let answer = server.ask("POST", QUERY, &[], &body);
    assert_eq!((answer.status, answer.code().as_str()), (413, "Neo.ClientError.Request.Invalid"));
    // Neither is one that does not say how long it is.
    let mut connection = server.connect();
    connection
        .send(format!("POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}Transfer-Encoding: chunked\r\n\r\n"));
    connection.send(format!("{:x}\r\n{}\r\n", 700, "{".repeat(700)));
    connection.send(format!("{:x}\r\n{}\r\n", 700, "{".repeat(700)));
    assert_eq!(connection.answer().status, 413);
}

#[test]
fn headers_that_do_not_end_are_cut_off() {
    let server = TestServer::with(impatient());
    let mut nothing = server.connect();
    let mut slow = server.connect();
    slow.send("POST / HTTP/1.1\r\nHost: localhost\r\n");
    let begun = Instant::now();
    let closed = loop {
        // A byte now and then does not help.
        thread::sleep(Duration::from_millis(50));
        if slow.tcp().write_all(b"X").is_err() {
            break true;
        }
        if begun.elapsed() > LONG {
            break false;
        }
    };
    assert!(closed);
    assert!(nothing.is_closed_within(LONG));
    let mut idle = within(SHORT, |_| {
        let mut idle = server.connect();
        idle.request("GET", "/health", &[], "");
        assert_eq!(idle.answer().status, 200);
        idle
    });
    assert!(idle.is_closed_within(LONG));
    within(SHORT, |_| assert_eq!(server.get("/health").status, 200));
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let server = TestServer::with(Settings { body_timeout: SHORT, ..Settings::default() });
    let mut connection = server.connect();
    connection.send(format!("POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}Content-Length: 100\r\n\r\n{{"));
    assert_eq!(connection.answer().status, 408);
    // One that is cut off is no statement.
    let server = TestServer::new();
    let mut connection = server.connect();
    connection.send(format!(
        "POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}Content-Length: 1000\r\n\r\n{{\"statement\": \"CREATE ()\"}}"
    ));
    connection.tcp().shutdown(Shutdown::Write).unwrap();
    assert!(connection.try_answer().is_none_or(|answer| answer.status == 400));
    assert_eq!(server.rows("MATCH (n) RETURN count(n)"), json!([[0]]));
}

/// A request is refused before its body has come: that it comes later harms neither the answer nor
/// the connection.
#[test]
fn a_body_that_comes_after_the_refusal_is_no_harm() {
    let server = TestServer::new();
    for (method, path, headers, status) in [
        ("POST", "/db/none/query/v2", LOCAL_JSON, 404),
        ("POST", "/nothing", LOCAL_JSON, 404),
        ("PUT", QUERY, LOCAL_JSON, 405),
        ("POST", QUERY, "Host: localhost\r\n", 415),
        ("POST", QUERY, "Host: localhost\r\nOrigin: http://elsewhere.example\r\n", 403),
        ("POST", "/db/none/mcp", LOCAL_JSON, 404),
        ("GET", "/health", LOCAL_JSON, 200),
    ] {
        let body = json!({ "statement": "RETURN 1" }).to_string();
        let mut connection = server.connect();
        let length = body.len();
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n");
        connection.send(head);
        thread::sleep(Duration::from_millis(50));
        connection.send(&body);
        assert_eq!(connection.answer().status, status, "{method} {path}");
        connection.request("POST", QUERY, &[], &body);
        assert_eq!(connection.answer().status, 202, "after {method} {path}");
    }
}

/// Nobody waits long for a body that is refused, or at all for one that is asked about first.
#[test]
fn a_body_that_does_not_come_after_the_refusal_is_not_waited_for() {
    let server = TestServer::new();
    let head = format!("POST /db/none/mcp HTTP/1.1\r\n{LOCAL_JSON}Content-Length: 100\r\n");
    for more in ["\r\n", "\r\n{\"statement\"", "Expect: 100-continue\r\n\r\n"] {
        let mut connection = server.connect();
        connection.send(format!("{head}{more}"));
        assert_eq!(connection.answer().status, 404, "{more:?}");
    }
}

#[test]
fn what_is_no_http_is_refused() {
    let server = TestServer::with(impatient());
    for bytes in [
        &b"\x60\x60\xb0\x17\x00\x00\x04\x05"[..],
        b"GET / HTTP/9.9\r\n\r\n",
        b"\0\0\0\0\r\n\r\n",
        b"POST /db/telar/query/v2 HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"POST /db/telar/query/v2 HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"GET /db/%ff%fe/changes HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ] {
        let mut connection = server.connect();
        connection.send(bytes);
        if let Some(answer) = connection.try_answer() {
            assert!((400..500).contains(&answer.status), "{bytes:?}: {}", answer.status);
        }
    }
    let long = format!("X-Long: {}", "x".repeat(200_000));
    let mut connection = server.connect();
    // The server may close while this is being sent.
    let _ = connection.tcp().write_all(format!("GET / HTTP/1.1\r\n{long}\r\n\r\n").as_bytes());
    assert!(connection.try_answer().is_none_or(|answer| answer.status == 431));
    within(SHORT, |_| assert_eq!(server.get("/health").status, 200));
}

#[test]
fn statements_above_the_limit_are_told_to_come_again() {
    let server = TestServer::with(Settings { statements_max: 1, ..Settings::default() });
    let mut connection = server.connect();
    connection.request("POST", QUERY, &[], SILENT);
    let answer = loop {
        let answer = server.ask("POST", QUERY, &[], r#"{"statement": "RETURN 1"}"#);
        if answer.status != 202 {
            break answer;
        }
        // It may be the first one that came second.
        if has_answer(&mut connection) {
            assert_eq!(connection.answer().status, 429);
            connection.request("POST", QUERY, &[], SILENT);
        }
    };
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    drop(connection);
    server_is_idle(&server);
}

/// True if a part of an answer has come, of which nothing was read.
fn has_answer(connection: &mut Connection) -> bool {
    let tcp = connection.tcp();
    tcp.set_nonblocking(true).unwrap();
    let has_answer = tcp.peek(&mut [0]).is_ok();
    tcp.set_nonblocking(false).unwrap();
    has_answer
}

/// Waits until the only place is free, and what had it is gone.
fn server_is_idle(server: &TestServer) {
    let begun = Instant::now();
    while server.ask("POST", QUERY, &[], r#"{"statement": "RETURN 1"}"#).status != 202 {
        assert!(begun.elapsed() < LONG);
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_hangs_up_ends_the_statement() {
    let server = TestServer::new();
    // While it has no rows, and in the middle of them.
    for body in [SILENT, ENDLESS] {
        let mut connection = server.connect();
        connection.request("POST", QUERY, &[], body);
        while server.running() == 0 {
            thread::sleep(Duration::from_millis(10));
        }
        drop(connection);
        server.wait_until_idle();
    }
}

#[test]
fn a_slow_reader_holds_a_chunk_and_no_more() {
    let server = TestServer::new();
    let mut connection = server.connect();
    connection.request("POST", QUERY, &["Accept: application/jsonl"], ENDLESS);
    assert_eq!(connection.head().unwrap().0, 202);
    for _ in 0..100 {
        assert!(!connection.chunk().unwrap().is_empty());
    }
    let before = resident();
    thread::sleep(Duration::from_secs(2));
    let grown = resident().saturating_sub(before);
    // At full speed two seconds are hundreds of megabytes of rows.
    assert!(grown < 64 << 20, "{grown} bytes");
    assert_eq!(server.running(), 1);
    // It goes on where it was.
    assert!(!connection.chunk().unwrap().is_empty());
    drop(connection);
    server.wait_until_idle();
}

#[test]
fn a_reader_that_stopped_reading_is_given_up() {
    let server = TestServer::with(Settings { stall_timeout: SHORT, ..Settings::default() });
    let mut connection = server.connect();
    connection.request("POST", QUERY, &[], ENDLESS);
    assert_eq!(connection.head().unwrap().0, 202);
    server.wait_until_idle();
    while connection.chunk().is_some_and(|chunk| !chunk.is_empty()) {}
}

#[test]
fn the_end_of_the_server_ends_what_runs() {
    let mut server = TestServer::new();
    let mut connection = server.connect();
    connection.request("POST", QUERY, &[], SILENT);
    while server.running() == 0 {
        thread::sleep(Duration::from_millis(10));
    }
    let begun = Instant::now();
    server.server.stop(SHORT);
    assert!(begun.elapsed() < LONG);
    assert!(connection.try_answer().is_none());
    assert!(TcpStream::connect(server.server.address()).is_err());
}

#[test]
fn what_is_about_to_end_may_end() {
    let mut rows = 2_000_000_u64;
    let (mut server, mut connection) = loop {
        let server = TestServer::new();
        let mut connection = server.connect();
        let text = format!("UNWIND range(1, {rows}) AS x RETURN count(x) AS n");
        connection.request("POST", QUERY, &[], &json!({ "statement": text }).to_string());
        while server.running() == 0 && !has_answer(&mut connection) {
            thread::sleep(Duration::from_millis(1));
        }
        if !has_answer(&mut connection) {
            break (server, connection);
        }
        // It ended before it was seen.
        rows *= 2;
    };
    server.server.stop(LONG);
    assert_eq!(connection.answer().json()["data"]["values"], json!([[rows]]));
}
