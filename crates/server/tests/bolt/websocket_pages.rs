//! Access to WebSocket: programs, pages of the server and of settings; answers to all others.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use telar_server::dbms::{Dbms, DbmsSettings, Security};
use telar_server::http::{self, Allowed};
use telar_server::metrics::Metrics;
use telar_server::server::{Http, Server, Settings};
use telar_server::{bolt, server};

use crate::client::PATIENCE;
use crate::web::request;

fn start(users: bool, names: bool, http: bool) -> (Server, Arc<Metrics>, Arc<Dbms>) {
    let security = Security { enabled: users, ..Security::default() };
    let dbms = DbmsSettings { security, ..DbmsSettings::default() };
    let dbms = Arc::new(Dbms::open(None, dbms).unwrap());
    let address = ([127, 0, 0, 1], 0).into();
    let mut bolt = bolt::Settings { address, ..Default::default() };
    if names {
        bolt.allowed_hosts = Allowed::hosts("db.example.com").unwrap();
        bolt.allowed_origins =
            Allowed::origins("https://app.example.com, http://localhost:3000").unwrap();
    }
    let http = http.then(|| Http { address, tls: None, settings: http::Settings::default() });
    let metrics = Arc::new(Metrics::new());
    let settings: server::Settings = Settings { bolt, http };
    let server = Server::start(Arc::clone(&dbms), &settings, &metrics).unwrap();
    (server, metrics, dbms)
}

/// The answer to a request in which `BOLT` and `HTTP` are the ports.
fn answer(server: &Server, request: &str) -> String {
    let port = |address: std::net::SocketAddr| address.port().to_string();
    let text = request
        .replace("BOLT", &port(server.bolt_address()))
        .replace("HTTPPORT", &server.http_address().map(port).unwrap_or_default());
    let mut stream = TcpStream::connect(server.bolt_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = Vec::new();
    let mut ask = || {
        stream.write_all(text.as_bytes())?;
        stream.shutdown(std::net::Shutdown::Write)?;
        stream.read_to_end(&mut answer)
    };
    // What is hung up on may be reset, at any step, as nothing of it was read.
    if let Err(error) = ask() {
        let is_gone = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe, ErrorKind::NotConnected];
        assert!(is_gone.contains(&error.kind()), "{error}");
    }
    // Frames may follow the head of the answer.
    String::from_utf8_lossy(&answer).into_owned()
}

fn status(server: &Server, headers: &str) -> u16 {
    let answer = answer(server, &request(headers));
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{headers}: {answer}")).parse().unwrap()
}

#[test]
fn pages_are_judged_as_over_http() {
    // Without users and with; then with what settings name.
    let servers = [(false, false), (true, false), (false, true), (true, true)]
        .map(|(users, names)| start(users, names, true).0);
    let here = "Host: localhost:BOLT\r\n";
    for (headers, expected) in [
        // Programs.
        ("Host: localhost:BOLT", [101; 4]),
        ("Host: 127.0.0.1", [101; 4]),
        ("Host: [::1]:BOLT", [101; 4]),
        ("Host: db.example.com", [403, 101, 101, 101]),
        // DNS rebinding.
        ("Host: evil.example:BOLT", [403, 101, 403, 403]),
        ("Host: evil.example:BOLT\r\nOrigin: http://evil.example:HTTPPORT", [403, 101, 403, 403]),
        ("Host: 10.1.2.3", [403, 101, 403, 403]),
        // Own pages.
        ("HERE Origin: http://localhost:HTTPPORT", [101; 4]),
        ("HERE Origin: http://127.0.0.1:HTTPPORT", [101; 4]),
        ("HERE Origin: http://LOCALHOST:HTTPPORT\r\nSec-Fetch-Site: same-site", [101; 4]),
        ("HERE Origin: http://[::1]:HTTPPORT\r\nSec-Fetch-Site: cross-site", [101; 4]),
        ("HERE Origin: http://localhost:BOLT", [101; 4]),
        // Pages of settings.
        ("HERE Origin: https://app.example.com", [403, 403, 101, 101]),
        ("HERE Origin: http://localhost:3000", [403, 403, 101, 101]),
        // Others.
        ("HERE Origin: https://evil.example", [403; 4]),
        ("HERE Origin: http://evil.example:HTTPPORT", [403; 4]),
        ("HERE Origin: http://localhost:1", [403; 4]),
        ("HERE Origin: http://localhost", [403; 4]),
        ("HERE Origin: https://app.example.com.evil.example", [403; 4]),
        ("HERE Origin: null", [403; 4]),
        ("HERE Origin: ", [403; 4]),
        ("HERE Origin: file://", [403; 4]),
        ("HERE Sec-Fetch-Site: cross-site", [403; 4]),
        // Requests that say nothing, or two things.
        ("X: y", [400; 4]),
        ("Host: a b", [400; 4]),
        ("Host: localhost\r\nHost: localhost", [400; 4]),
        ("HERE Origin: http://localhost:3000\r\nOrigin: http://localhost:3000", [400; 4]),
    ] {
        let headers = headers.replace("HERE ", here);
        let found = [0, 1, 2, 3].map(|at| status(&servers[at], &headers));
        assert_eq!(found, expected, "{headers}");
    }
}

#[test]
fn any_page_may_be_allowed_where_users_log_in() {
    let (server, ..) = start(true, false, false);
    assert_eq!(status(&server, "Host: localhost\r\nOrigin: https://any.example"), 403);
    let security = Security { enabled: true, ..Security::default() };
    let dbms = DbmsSettings { security, ..DbmsSettings::default() };
    let bolt = bolt::Settings {
        address: ([127, 0, 0, 1], 0).into(),
        allowed_origins: Allowed::origins("*").unwrap(),
        ..Default::default()
    };
    let dbms = Arc::new(Dbms::open(None, dbms).unwrap());
    let settings = Settings { bolt, http: None };
    let server = Server::start(dbms, &settings, &Arc::new(Metrics::new())).unwrap();
    for origin in ["https://any.example", "null"] {
        assert_eq!(status(&server, &format!("Host: localhost\r\nOrigin: {origin}")), 101);
    }
}

#[test]
fn refusals_say_why_and_are_counted() {
    let (server, metrics, dbms) = start(false, false, true);
    let refused = || {
        let text = metrics.encode(&dbms, 0).unwrap();
        let line = text.lines().find(|line| {
            line.starts_with("telar_connections_refused_total") && line.contains("Bolt")
        });
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    };
    assert_eq!(refused(), 0);
    let page = answer(&server, &request("Host: localhost\r\nOrigin: https://evil.example"));
    assert!(page.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{page}");
    assert!(page.contains("'https://evil.example'") && page.contains("http.allowed_origins"));
    assert!(page.contains("\r\nContent-Type: text/plain") && page.contains("nosniff"));
    let host = answer(&server, &request("Host: evil.example"));
    assert!(host.contains("'evil.example'") && host.contains("http.allowed_hosts"), "{host}");
    assert_eq!(refused(), 2);
    // Somebody who looks at the port with a browser.
    let looks = answer(&server, "GET / HTTP/1.1\r\nHost: localhost:BOLT\r\n\r\n");
    let http = format!("http://localhost:{}/", server.http_address().unwrap().port());
    assert!(looks.starts_with("HTTP/1.1 426 Upgrade Required\r\n"), "{looks}");
    assert!(looks.contains("\r\nupgrade: websocket\r\n") && looks.contains(&http), "{looks}");
    assert!(looks.contains("bolt://localhost:"), "{looks}");
    let (alone, ..) = start(false, false, false);
    let looks = answer(&alone, "GET / HTTP/1.0\r\n\r\n");
    assert!(looks.contains("bolt://127.0.0.1:") && looks.contains("http.enabled"), "{looks}");
    for (request, status) in [
        ("POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nhi", "405"),
        ("OPTIONS / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n", "405"),
        ("HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405"),
        ("GET nonsense\r\n\r\n", "400"),
        (&request("Host: localhost\r\nContent-Length: 5"), "400"),
    ] {
        let answer = answer(&server, request);
        assert_eq!(answer.split(' ').nth(1), Some(status), "{request}: {answer}");
    }
    // What is neither Bolt nor HTTP is hung up on.
    assert_eq!(answer(&server, "EHLO there\r\n"), "");
}
