//! Whoever does not log in keeps nobody out who does.

use std::collections::VecDeque;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use telar_server::server::Server;

use crate::client::{Answer, Client, PATIENCE, framed, serve_with, until};
use crate::data::{Data, map};

const NEWCOMERS: usize = 20;
const CLIENTS: usize = 3;
const FULL: &str = "Neo.TransientError.Request.NoThreadsAvailable";

fn server() -> Server {
    serve_with(|settings| {
        (settings.newcomers_max, settings.connections_max) = (NEWCOMERS, CLIENTS);
        settings.login_timeout = PATIENCE;
    })
}

/// Half a login, at each place where it can stop.
fn half(address: SocketAddr, number: usize) -> Client {
    let mut client = Client::silent(address);
    match number % 4 {
        0 => {}
        1 => client.say(&[0x60, 0x60, 0xB0]),
        2 => client.shake_hands([0, 0, 8, 5]),
        _ => {
            client.shake_hands([0, 0, 8, 5]);
            client.ask(0x01, [map([])]).success();
        }
    }
    client
}

#[test]
fn clients_log_in_beside_any_number_that_do_not() {
    let server = server();
    let mut first = Client::new(&server);
    let mut halves = Vec::new();
    for number in 0..3 * NEWCOMERS {
        halves.push(half(server.bolt_address(), number));
        // Where many had not noticed yet that they have to go, the next one would be refused.
        until("those above the limit are gone", || server.connections() <= NEWCOMERS + 1);
    }
    until("the last one has come", || server.connections() == NEWCOMERS + 1);
    // The oldest were pushed out, and none that had logged in.
    for old in &mut halves[..2 * NEWCOMERS] {
        old.expect_end();
    }
    let mut second = Client::new(&server);
    assert_eq!((first.int("RETURN 1"), second.int("RETURN 2")), (1, 2));
    // Of those that were left one had to go.
    halves[2 * NEWCOMERS].expect_end();
    let last = &mut halves[3 * NEWCOMERS - 1];
    last.log_in_after_hello();
    assert_eq!(last.int("RETURN 3"), 3);
    // Now all places of clients are taken; who has half logged in still hears why it cannot.
    let mut late = Client::with_version(&server, 5, 8);
    late.ask(0x01, [map([])]).success();
    assert_eq!(late.ask(0x6A, [map([("scheme", "none".into())])]).code(), FULL);
    late.expect_end();
    // A place is free when its client has gone, and who logs off keeps it.
    second.ask(0x6B, []).success();
    drop(first);
    until("there is a place", || {
        let mut client = Client::with_version(&server, 5, 8);
        client.ask(0x01, [map([])]).success();
        let answer = client.ask(0x6A, [map([("scheme", "none".into())])]);
        matches!(answer, Answer::Success(_))
    });
    second.log_in_after_hello();
    assert_eq!(second.int("RETURN 4"), 4);
}

#[test]
fn clients_log_in_while_others_keep_connecting() {
    let server = serve_with(|settings| settings.newcomers_max = NEWCOMERS);
    let (address, enough) = (server.bolt_address(), AtomicBool::new(false));
    thread::scope(|scope| {
        for start in 0..2 {
            let enough = &enough;
            scope.spawn(move || {
                let mut halves = VecDeque::new();
                for number in (start..).take_while(|_| !enough.load(Ordering::Relaxed)) {
                    let mut client = Client::silent(address);
                    if number % 2 == 0 {
                        client.say(&[0x60, 0x60, 0xB0, 0x17]);
                    }
                    halves.push_back(client);
                    if halves.len() > 4 * NEWCOMERS {
                        halves.pop_front();
                    }
                    // A newcomer has the time in which so many others come.
                    thread::sleep(Duration::from_millis(5));
                }
            });
        }
        let clients: Vec<bool> = (0..30).map(|_| tries(&server)).collect();
        enough.store(true, Ordering::Relaxed);
        let in_vain = clients.iter().filter(|served| !**served).count();
        assert_eq!(in_vain, 0, "of {}", clients.len());
    });
}

/// Whether a client that tries a few times, as drivers do, is served.
fn tries(server: &Server) -> bool {
    let one = || {
        let mut client = Client::silent(server.bolt_address());
        client.try_shake_hands([0, 0, 8, 5]).ok()?;
        let hello = framed(&Data::Structure(0x01, vec![map([])]));
        let logon = framed(&Data::Structure(0x6A, vec![map([("scheme", "none".into())])]));
        client.stream.write_all(&[hello, logon].concat()).ok()?;
        client.receive()?.success();
        client.receive()?.success();
        Some(client.int("RETURN 1"))
    };
    (0..5).any(|_| one() == Some(1))
}
