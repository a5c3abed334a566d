//! Clients that are broken, or worse.

use std::thread;

use crate::client::{Answer, Client, PULL, RUN, framed, in_chunks, serve, serve_with, until};
use crate::data::{Data, map};

const INVALID: &str = "Neo.ClientError.Request.Invalid";
const FORMAT: &str = "Neo.ClientError.Request.InvalidFormat";

/// xorshift: the same bytes in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

#[test]
fn what_is_no_message_ends_the_connection() {
    let server = serve();
    for message in [
        &[0, 1, 0x01, 0, 0][..],
        &[0, 2, 0xB0, 0x99, 0, 0],
        &[0, 3, 0xB1, 0x3F, 0xD6, 0, 0],
        &[0, 2, 0xB3, 0x10, 0, 0],
        &[0, 4, 0xB1, 0x11, 0xA1, 0x01, 0, 0],
        &[0, 3, 0xB0, 0x0F, 0x00, 0, 0],
    ] {
        let mut client = Client::new(&server);
        client.say(message);
        assert_eq!(client.answer().code(), FORMAT, "{message:02X?}");
        client.expect_end();
    }
    let mut other = Client::silent(server.bolt_address());
    other.say(b"EHLO");
    other.expect_end();
    let mut old = Client::silent(server.bolt_address());
    old.say([[0x60, 0x60, 0xB0, 0x17], [0, 0, 0, 3], [0; 4], [0; 4], [0; 4]].as_flattened());
    let mut answer = [7; 4];
    std::io::Read::read_exact(&mut old.stream, &mut answer).unwrap();
    assert_eq!(answer, [0; 4], "no version in common");
    old.expect_end();
}

#[test]
fn what_was_wrong_is_said_whatever_follows() {
    let server = serve();
    for _ in 0..20 {
        let mut client = Client::new(&server);
        client.say(&[&[0, 1, 0x01, 0, 0][..], &[7; 500_000]].concat());
        assert_eq!(client.answer().code(), FORMAT);
        client.expect_end();
    }
}

#[test]
fn messages_that_stop_in_the_middle_hurt_nobody() {
    let server = serve();
    let fields = vec!["CREATE (:N)".into(), map([]), map([])];
    let message = framed(&Data::Structure(RUN, fields));
    for end in 0..message.len() {
        let mut client = Client::new(&server);
        client.say(&message[..end]);
    }
    until("they are gone", || server.connections() == 0);
    assert_eq!(Client::new(&server).int("MATCH (n:N) RETURN count(n)"), 0);
}

#[test]
fn messages_are_limited_and_more_so_before_a_login() {
    let server = serve_with(|settings| settings.message_bytes_max = 1 << 20);
    let hello = |bytes: usize| map([("user_agent", "x".repeat(bytes).as_str().into())]);
    Client::with_version(&server, 5, 8).ask(0x01, [hello(60_000)]).success();
    assert_eq!(Client::with_version(&server, 5, 8).ask(0x01, [hello(70_000)]).code(), INVALID);

    let mut client = Client::new(&server);
    let of_bytes = |bytes| map([("x", Data::Bytes(vec![7; bytes]))]);
    client.run_with("RETURN size($x)", of_bytes(1_000_000), map([]));
    client.reset().success();
    let answer = client.run_with("RETURN 1", of_bytes(1 << 20), map([]));
    assert_eq!(answer.code(), INVALID);
    client.expect_end();
    // One that only says that it is large costs as much as it sends.
    let mut liar = Client::new(&server);
    liar.say(&[0, 9, 0xB3, 0x10, 0x80, 0xA1, 0x80, 0xD6, 0x7F, 0xFF, 0xFF, 0, 0]);
    assert_eq!(liar.answer().code(), FORMAT);
}

#[test]
fn values_that_nest_too_deep_are_refused() {
    let server = serve();
    let mut client = Client::new(&server);
    let mut ask = |levels: usize| {
        let run = [0xB3, RUN, 0x89, b'R', b'E', b'T', b'U', b'R', b'N', b' ', b'$', b'x'];
        let lists = [&[0x91].repeat(levels)[..], &[1]].concat();
        client.say(&in_chunks(&[&run[..], &[0xA1, 0x81, b'x'], &lists, &[0xA0]].concat()));
        let answer = client.answer();
        client.reset().success();
        answer
    };
    ask(64).success();
    assert_eq!(ask(65).code(), INVALID);
    assert_eq!(ask(1_000_000).code(), INVALID);
}

#[test]
fn thousands_of_requests_may_be_sent_at_once() {
    let server = serve();
    let mut client = Client::new(&server);
    let mut writer = Client { stream: client.stream.try_clone().unwrap() };
    let (times, noop) = (5000, [0, 0]);
    let writing = thread::spawn(move || {
        for number in 0..times {
            let parameters = map([("x", number.into())]);
            let run = Data::Structure(RUN, vec!["RETURN $x AS x".into(), parameters, map([])]);
            let pull = Data::Structure(PULL, vec![map([("n", (-1).into())])]);
            writer.say(&[&framed(&run)[..], &noop, &framed(&pull), &noop, &noop].concat());
        }
    });
    for number in 0..times {
        client.answer().success();
        assert_eq!(client.answer().record(), [Data::Int(number)]);
        client.answer().success();
    }
    writing.join().unwrap();
}

#[test]
fn random_bytes_hurt_nobody() {
    let server = serve();
    let mut random = Random(0x5EED);
    let all = || map([("n", (-1).into())]);
    let run = |text: &str| Data::Structure(RUN, vec![text.into(), map([]), map([])]);
    let valid = [
        framed(&run("RETURN 1")),
        framed(&Data::Structure(PULL, vec![all()])),
        framed(&Data::Structure(0x11, vec![map([])])),
        framed(&run("MATCH (n) RETURN n")),
        framed(&Data::Structure(0x2F, vec![all()])),
        framed(&Data::Structure(0x12, vec![])),
        framed(&Data::Structure(0x66, vec![map([]), Data::List(vec![]), map([])])),
    ]
    .concat();
    let times = if std::env::var_os("TELAR_LONG").is_some() { 10_000 } else { 200 };
    for round in 0..times {
        let mut client = Client::new(&server);
        let mut bytes = valid.clone();
        for _ in 0..1 + random.below(8) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, random.next() as u8),
                2 => drop(bytes.drain(at..(at + random.below(6)).min(bytes.len()))),
                _ if at < bytes.len() => bytes[at] = random.next() as u8,
                _ => {}
            }
        }
        client.say(&bytes);
        // Whatever it answers is well-formed; it may wait for the rest of a message.
        // And it may have hung up before this.
        drop(client.stream.shutdown(std::net::Shutdown::Write));
        let mut answers = 0;
        while let Some(answer) = client.receive() {
            answers += usize::from(!matches!(answer, Answer::Record(_)));
        }
        assert!(answers <= 20, "{round}");
    }
    until("they are gone", || server.connections() == 0);
    assert_eq!(Client::new(&server).int("RETURN 1"), 1);
}
