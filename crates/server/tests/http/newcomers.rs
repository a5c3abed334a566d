//! Whoever does not log in keeps nobody out who does.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_db::query::cypher::Secret;
use telar_server::dbms::{DbmsSettings, Security};
use telar_server::http::Settings;

use crate::common::{Answer, Connection, LOCAL_JSON, QUERY, TestServer};

const NEWCOMERS: usize = 12;
const CLIENTS: usize = 2;
/// Places beside them for administrators.
const KEPT: usize = 8;
/// `neo4j:correct-horse`, `neo4j:wrong`.
const ADMIN: &str = "Authorization: Basic bmVvNGo6Y29ycmVjdC1ob3JzZQ==";
const WRONG: &str = "Authorization: Basic bmVvNGo6d3Jvbmc=";
const ONE: &str = r#"{"statement": "RETURN 1"}"#;
const LONG: Duration = Duration::from_secs(60);
const MOMENT: Duration = Duration::from_millis(10);

/// A server whose limits in time end nothing in these tests.
fn server() -> TestServer {
    let security = Security {
        failed_logins_max: 1000,
        initial_password: Some(Secret::new("correct-horse")),
        hash_memory_kib: 64,
        hash_passes: 1,
        ..Security::default()
    };
    let settings = Settings {
        newcomers_max: NEWCOMERS,
        connections_max: CLIENTS,
        header_timeout: LONG,
        body_timeout: LONG,
        ..Settings::default()
    };
    TestServer::of(None, DbmsSettings { security, ..DbmsSettings::default() }, settings)
}

/// A peer that holds a connection without a login, at each place where it can stop.
fn half(server: &TestServer, number: usize) -> Connection {
    let mut connection = server.connect();
    match number % 6 {
        0 => {}
        1 => connection.send("PO"),
        2 => connection.send(format!("POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}X-More: ")),
        // Half a body, of a request that nobody may make.
        3 => connection
            .send(format!("POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}Content-Length: 99\r\n\r\n{{")),
        // Answered, and idle from then on.
        4 => connection.request("GET", "/health", &[], ""),
        _ => connection.request("POST", QUERY, &[WRONG], ONE),
    }
    connection
}

fn ask(connection: &mut Connection) -> Answer {
    connection.request("POST", QUERY, &[ADMIN], ONE);
    connection.answer()
}

#[test]
fn clients_log_in_beside_any_number_that_do_not() {
    let server = server();
    let mut first = server.connect();
    assert_eq!(ask(&mut first).status, 202);
    let mut halves: Vec<_> = (0..3 * NEWCOMERS).map(|number| half(&server, number)).collect();
    // The oldest are pushed out, whatever they were told before that: all but so many, as one whose
    // password is compared at that moment stays, and its successor goes.
    while halves.len() > NEWCOMERS {
        halves.retain_mut(|half| !half.is_at_its_end(MOMENT));
    }
    let mut second = server.connect();
    assert_eq!((ask(&mut first).status, ask(&mut second).status), (202, 202));
    // Administrators have some more.
    let _kept: Vec<_> = (0..KEPT)
        .map(|_| {
            let mut connection = server.connect();
            assert_eq!(ask(&mut connection).status, 202);
            connection
        })
        .collect();
    // All places of clients are taken: who logs in hears so, and may try again.
    let mut third = server.connect();
    let answer = ask(&mut third);
    assert_eq!((answer.status, answer.header("retry-after")), (429, Some("1")));
    assert_eq!(answer.code(), "Neo.TransientError.Request.NoThreadsAvailable");
    // A wrong password frees no place, and who has one keeps it.
    second.request("POST", QUERY, &[WRONG], ONE);
    assert_eq!(second.answer().status, 401);
    assert_eq!(ask(&mut third).status, 429);
    drop(first);
    let begun = Instant::now();
    while ask(&mut third).status != 202 {
        assert!(begun.elapsed() < LONG, "the place of a client that has gone is free");
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(ask(&mut second).status, 202);
}

#[test]
fn clients_log_in_while_others_keep_connecting() {
    let server = server();
    let enough = AtomicBool::new(false);
    thread::scope(|scope| {
        for start in 0..2 {
            let (enough, server) = (&enough, &server);
            scope.spawn(move || {
                let mut halves = VecDeque::new();
                for number in (start..).take_while(|_| !enough.load(Ordering::Relaxed)) {
                    halves.push_back(half(server, number));
                    if halves.len() > 4 * NEWCOMERS {
                        halves.pop_front();
                    }
                    // A newcomer has the time in which so many others come.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let served = (0..30).filter(|_| (0..5).any(|_| tries(&server) == Some(202))).count();
        enough.store(true, Ordering::Relaxed);
        assert_eq!(served, 30);
    });
}

/// The status that a client gets, if it gets one.
fn tries(server: &TestServer) -> Option<u16> {
    let mut connection = server.connect();
    let head = format!("POST {QUERY} HTTP/1.1\r\n{LOCAL_JSON}Connection: close\r\n{ADMIN}\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{ONE}", ONE.len());
    connection.tcp().write_all(request.as_bytes()).ok()?;
    connection.try_answer().map(|answer| answer.status)
}
