//! What a web page can have a browser send, and programs that look like it: attacks 3 and 4.

use std::io::{Read, Write};
use std::net::TcpStream;

use telar_server::http::{Allowed, Settings};
use telar_server::server;

use crate::common::{Answer, Connection, QUERY, TX};
use crate::server::{Attacked, PASSWORD, basic};

const JSON: &str = "Content-Type: application/json";
const WRITE: &str = r#"{"statement": "CREATE (:Written)"}"#;
const BEGIN: &str = r#"{"jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}}}"#;

/// Without users and with; then with what settings name.
fn servers() -> [Attacked; 4] {
    let named = |settings: &mut Settings| {
        settings.allowed_hosts = Allowed::hosts("db.example.com").unwrap();
        settings.allowed_origins =
            Allowed::origins("https://app.example.com, http://localhost:3000").unwrap();
    };
    [(false, false), (true, false), (false, true), (true, true)].map(|(users, names)| {
        let mut dbms = Attacked::dbms_settings();
        dbms.security.enabled = users;
        Attacked::of(None, dbms, |settings: &mut server::Settings| {
            if names {
                named(&mut settings.http.as_mut().unwrap().settings);
            }
        })
    })
}

/// A request as it stands, but for `PORT`, with the credentials that a browser would remember.
fn send(server: &Attacked, first: &str, headers: &[&str], body: Option<&str>) -> Answer {
    let address = server.server.http_address().unwrap();
    let mut text = format!("{first}\r\n{}\r\nConnection: close\r\n", basic("neo4j", PASSWORD));
    headers.iter().for_each(|header| text.push_str(&format!("{header}\r\n")));
    if let Some(body) = body {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    let text = text.replace("PORT", &address.port().to_string());
    let mut connection = Connection::to(address);
    connection.send(format!("{text}\r\n{}", body.unwrap_or_default()));
    connection.answer()
}

/// What is asked, with which headers and body, and the status at each of [`servers`].
type Case = (&'static str, &'static [&'static str], Option<&'static str>, [u16; 4]);

const HERE: &str = "Host: localhost:PORT";
const NAVIGATE: &str = "Sec-Fetch-Mode: navigate";

#[rustfmt::skip]
const CASES: &[Case] = &[
    // Programs.
    ("POST {query} HTTP/1.1", &[HERE, JSON], Some(WRITE), [202; 4]),
    ("POST /mcp HTTP/1.1", &[HERE, JSON], Some(BEGIN), [200; 4]),
    ("POST /db/telar/mcp HTTP/1.1", &[HERE, JSON], Some(BEGIN), [200; 4]),
    ("POST {query} HTTP/1.1", &["Host: 127.0.0.1:PORT", JSON], Some(WRITE), [202; 4]),
    ("POST {query} HTTP/1.1", &["Host: [::1]:PORT", JSON], Some(WRITE), [202; 4]),
    ("POST {query} HTTP/1.1", &["Host: LOCALHOST.", JSON], Some(WRITE), [202; 4]),
    ("POST {query} HTTP/1.1", &["Host: db.example.com", JSON], Some(WRITE), [403, 202, 202, 202]),
    ("POST {query} HTTP/1.0", &[JSON], Some(WRITE), [202; 4]),
    ("POST http://localhost/db/telar/query/v2 HTTP/1.1", &["Host: localhost", JSON], Some(WRITE), [202; 4]),
    ("POST {tx} HTTP/1.1", &[HERE], Some(""), [202; 4]),
    ("GET /db/telar/changes?follow=false HTTP/1.1", &[HERE], None, [200; 4]),
    ("GET /metrics HTTP/1.1", &[HERE], None, [200; 4]),
    ("GET /health HTTP/1.1", &[HERE], None, [200; 4]),
    ("OPTIONS {query} HTTP/1.1", &[HERE], None, [405, 405, 200, 200]),
    // A body says what it is.
    ("POST {query} HTTP/1.1", &[HERE], Some(WRITE), [415; 4]),
    ("POST {tx} HTTP/1.1", &[HERE], Some(WRITE), [415; 4]),
    ("POST {tx} HTTP/1.1", &[HERE, "Content-Type: text/plain"], Some(""), [415; 4]),
    ("POST {query} HTTP/1.1", &[HERE, "Content-Type: text/plain"], Some(WRITE), [415; 4]),
    ("POST {query} HTTP/1.1", &[HERE, "Content-Type: "], Some(WRITE), [415; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Content-Type: text/plain"], Some(WRITE), [415; 4]),
    // Pages of others, whatever they send.
    ("POST {query} HTTP/1.1", &[HERE, "Origin: https://evil.example"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: https://evil.example"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: null"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: "], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:1"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://127.0.0.1:PORT"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Sec-Fetch-Site: cross-site"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Sec-Fetch-Site: same-site"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:PORT", "Sec-Fetch-Site: cross-site"], Some(WRITE), [403; 4]),
    ("POST {tx} HTTP/1.1", &[HERE, "Origin: https://evil.example"], Some(""), [403; 4]),
    ("POST /mcp HTTP/1.1", &[HERE, JSON, "Origin: https://evil.example"], Some(BEGIN), [403; 4]),
    ("POST /db/telar/mcp HTTP/1.1", &[HERE, JSON, "Sec-Fetch-Site: cross-site"], Some(BEGIN), [403; 4]),
    ("DELETE /mcp HTTP/1.1", &[HERE, "Origin: null"], None, [403; 4]),
    ("POST {tx} HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site"], Some(""), [403; 4]),
    ("GET /db/telar/changes HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site"], None, [403; 4]),
    ("GET /metrics HTTP/1.1", &[HERE, "Origin: https://evil.example"], None, [403; 4]),
    ("GET /health HTTP/1.1", &[HERE, "Origin: https://evil.example"], None, [403; 4]),
    ("GET /nothing HTTP/1.1", &[HERE, "Origin: https://evil.example"], None, [403; 4]),
    ("OPTIONS {query} HTTP/1.1", &[HERE, "Origin: https://evil.example", "Access-Control-Request-Method: POST"], None, [403; 4]),
    ("DELETE {tx}/x HTTP/1.1", &[HERE, "Origin: https://evil.example"], Some(""), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:PORT", "Origin: https://evil.example"], Some(WRITE), [400; 4]),
    // Pages of its own, and somebody who types the address.
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:PORT"], Some(WRITE), [202; 4]),
    ("POST {query} HTTP/1.1", &["Host: [::1]:PORT", JSON, "Origin: http://[::1]:PORT", "Sec-Fetch-Site: same-origin"], Some(WRITE), [202; 4]),
    ("GET / HTTP/1.1", &[HERE, "Sec-Fetch-Site: none"], None, [200; 4]),
    // A link to the page that was followed, and nothing that looks like one.
    ("GET / HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site", NAVIGATE, "Sec-Fetch-Dest: document"], None, [200; 4]),
    ("GET / HTTP/1.1", &["Host: evil.example", "Sec-Fetch-Site: cross-site", NAVIGATE, "Sec-Fetch-Dest: document"], None, [403, 200, 403, 403]),
    ("GET / HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site", NAVIGATE, "Sec-Fetch-Dest: iframe"], None, [403; 4]),
    ("GET / HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors", "Sec-Fetch-Dest: document"], None, [403; 4]),
    ("GET / HTTP/1.1", &[HERE, "Origin: https://evil.example", NAVIGATE, "Sec-Fetch-Dest: document"], None, [403; 4]),
    ("POST / HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site", NAVIGATE, "Sec-Fetch-Dest: document"], Some(""), [403; 4]),
    ("GET /metrics HTTP/1.1", &[HERE, "Sec-Fetch-Site: cross-site", NAVIGATE, "Sec-Fetch-Dest: document"], None, [403; 4]),
    // Pages that settings name, a proxy in front that is called otherwise.
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: https://app.example.com", "Sec-Fetch-Site: cross-site"], Some(WRITE), [403, 403, 202, 202]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:3000", "Sec-Fetch-Site: same-site"], Some(WRITE), [403, 403, 202, 202]),
    ("POST {query} HTTP/1.1", &[HERE, "Origin: https://app.example.com"], Some(WRITE), [403, 403, 415, 415]),
    ("POST /mcp HTTP/1.1", &[HERE, JSON, "Origin: https://app.example.com"], Some(BEGIN), [403, 403, 200, 200]),
    ("POST /mcp HTTP/1.1", &[HERE, JSON, "Origin: http://localhost:PORT"], Some(BEGIN), [200; 4]),
    ("POST {query} HTTP/1.1", &["Host: db.example.com", JSON, "Origin: https://db.example.com"], Some(WRITE), [403, 202, 202, 202]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: http://app.example.com"], Some(WRITE), [403; 4]),
    ("POST {query} HTTP/1.1", &[HERE, JSON, "Origin: https://app.example.com.evil.example"], Some(WRITE), [403; 4]),
    ("OPTIONS {query} HTTP/1.1", &[HERE, "Origin: https://app.example.com", "Access-Control-Request-Method: POST"], None, [403, 403, 200, 200]),
    // A name of a stranger that leads here.
    ("POST {query} HTTP/1.1", &["Host: evil.example:PORT", JSON, "Origin: http://evil.example:PORT"], Some(WRITE), [403, 202, 403, 403]),
    ("GET /db/telar/changes?follow=false HTTP/1.1", &["Host: evil.example"], None, [403, 200, 403, 403]),
    ("GET /metrics HTTP/1.1", &["Host: evil.example"], None, [403, 200, 403, 403]),
    ("POST /mcp HTTP/1.1", &["Host: evil.example", JSON], Some(BEGIN), [403, 200, 403, 403]),
    ("GET / HTTP/1.1", &["Host: localhost.evil.example"], None, [403, 200, 403, 403]),
    ("GET / HTTP/1.1", &["Host: 198.51.100.7"], None, [403, 200, 403, 403]),
    ("GET http://evil.example/ HTTP/1.1", &["Host: evil.example"], None, [403, 200, 403, 403]),
    // What says two things, or nothing.
    ("GET http://evil.example/ HTTP/1.1", &["Host: localhost"], None, [400; 4]),
    ("GET / HTTP/1.1", &["Host: localhost", "Host: evil.example"], None, [400; 4]),
    ("GET / HTTP/1.1", &["Host: localhost@evil.example"], None, [400; 4]),
    ("GET / HTTP/1.1", &["Host: "], None, [400; 4]),
    ("GET / HTTP/1.1", &[], None, [400; 4]),
];

#[test]
fn requests_are_looked_at_by_who_has_them_sent() {
    let servers = servers();
    let mut wrong = Vec::new();
    for (first, headers, body, expected) in CASES {
        let first = first.replace("{query}", QUERY).replace("{tx}", TX);
        let found = [0, 1, 2, 3].map(|at| send(&servers[at], &first, headers, *body).status);
        if found != *expected {
            wrong.push(format!("{first} {headers:?}: {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_refused_changes_nothing_and_says_which_setting_allows_it() {
    let [open, ..] = servers();
    let ask =
        |headers: &[&str]| send(&open, &format!("POST {QUERY} HTTP/1.1"), headers, Some(WRITE));
    let origin = ask(&[HERE, JSON, "Origin: https://evil.example"]);
    assert!(origin.text().contains("http.allowed_origins"), "{}", origin.text());
    let host = ask(&["Host: evil.example", JSON]);
    assert!(host.text().contains("http.allowed_hosts"), "{}", host.text());
    assert_eq!(origin.code(), "Neo.ClientError.Security.Forbidden");
    assert!(ask(&[HERE]).text().contains("Content-Type"));
    assert_eq!(open.rows("MATCH (n:Written) RETURN count(n)"), serde_json::json!([[0]]));
}

#[test]
fn pages_that_settings_name_are_told_what_they_may_do() {
    let [.., named] = servers();
    let app = "Origin: https://app.example.com";
    let asks = [
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: authorization,content-type,mcp-session-id",
        "Access-Control-Request-Private-Network: true",
    ];
    let first = format!("OPTIONS {QUERY} HTTP/1.1");
    // A browser asks without credentials.
    let mut connection = named.http();
    connection.request("OPTIONS", QUERY, &[&[app][..], &asks].concat(), "");
    let answer = connection.answer();
    let allows = |name: &str| {
        answer.header(&format!("access-control-allow-{name}")).unwrap_or_default().to_lowercase()
    };
    assert_eq!((answer.status, &*allows("origin")), (200, "https://app.example.com"), "{first}");
    assert!(allows("methods").contains("post") && allows("methods").contains("delete"));
    assert!(
        allows("headers").contains("authorization") && allows("headers").contains("content-type")
    );
    assert!(allows("headers").contains("mcp-session-id"));
    assert_eq!((&*allows("private-network"), &*allows("credentials")), ("true", ""));
    assert!(answer.header("vary").is_some_and(|vary| vary.to_lowercase().contains("origin")));
    let answer = send(&named, &format!("POST {QUERY} HTTP/1.1"), &[HERE, JSON, app], Some(WRITE));
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
    let program = send(&named, "GET / HTTP/1.1", &[HERE], None);
    assert_eq!(program.header("access-control-allow-origin"), None);
}

#[test]
fn a_browser_is_not_asked_for_a_password_that_it_would_remember() {
    let [_, users, _, named] = servers();
    let challenge = |server: &Attacked, headers: &[&str]| {
        let mut connection = server.http();
        connection.request("GET", "/metrics", headers, "");
        let answer = connection.answer();
        assert_eq!(answer.status, 401);
        answer.header("www-authenticate").unwrap().split(' ').next().unwrap().to_owned()
    };
    assert_eq!(challenge(&users, &[]), "Basic");
    assert_eq!(challenge(&users, &["Sec-Fetch-Site: none"]), "xBasic");
    assert_eq!(challenge(&named, &["Origin: https://app.example.com"]), "xBasic");
}

#[test]
fn a_browser_that_is_sent_to_the_port_of_bolt_gets_no_bolt() {
    let server = Attacked::new();
    for (text, status) in [
        (
            "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n\r\n\x60\x60\u{b0}\x17",
            "405",
        ),
        (
            "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            "426",
        ),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", "403"),
        ("OPTIONS * HTTP/1.1\r\n\r\n", "405"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", ""),
    ] {
        let mut tcp = TcpStream::connect(server.server.bolt_address()).unwrap();
        tcp.write_all(text.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // It may be reset, as not all that it said was read.
        let _ = tcp.read_to_end(&mut answer);
        let answer = String::from_utf8(answer).unwrap();
        assert_eq!(answer.split(' ').nth(1).unwrap_or_default(), status, "{answer}");
        assert!(!answer.to_lowercase().contains("access-control"), "{answer}");
    }
    assert_eq!(server.bolt("neo4j").int("RETURN 1"), 1);
}
