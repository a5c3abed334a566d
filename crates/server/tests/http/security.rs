//! Users over HTTP: who gets in, what they may do, TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use serde_json::json;
use telar_db::query::cypher::Secret;
use telar_server::dbms::{DbmsSettings, Security};
use telar_server::http::Settings;
use telar_server::net::tls::Certificate;

use crate::common::{Answer, QUERY, TX, TestServer};

/// `neo4j:correct-horse`, `neo4j:wrong`, `ann:battery-staple`, `neo4j:neo4j`.
const ADMIN: &str = "Authorization: Basic bmVvNGo6Y29ycmVjdC1ob3JzZQ==";
const WRONG: &str = "Authorization: Basic bmVvNGo6d3Jvbmc=";
const ANN: &str = "Authorization: Basic YW5uOmJhdHRlcnktc3RhcGxl";
const FIRST: &str = "Authorization: Basic bmVvNGo6bmVvNGo=";

fn server(password: Option<&str>) -> TestServer {
    server_with(password, 1000)
}

fn server_with(password: Option<&str>, failed_logins_max: u32) -> TestServer {
    let security = Security {
        failed_logins_max,
        initial_password: password.map(Secret::new),
        hash_memory_kib: 64,
        hash_passes: 1,
        ..Security::default()
    };
    TestServer::of(None, DbmsSettings { security, ..DbmsSettings::default() }, Settings::default())
}

fn run(server: &TestServer, who: &str, statement: &str) -> Answer {
    let body = json!({ "statement": statement }).to_string();
    server.ask("POST", QUERY, &[who], &body)
}

#[test]
fn nothing_is_said_before_the_login() {
    let server = server(Some("correct-horse"));
    let unauthorized = "Neo.ClientError.Security.Unauthorized";
    let malformed = "{";
    for path in [QUERY, TX, "/db/none/query/v2", "/db/telar/query/v2/tx/x"] {
        for headers in [&[][..], &[WRONG], &["Authorization: Basic bm9ib2R5Om5vbmU="]] {
            let answer = server.ask("POST", path, headers, malformed);
            assert_eq!((answer.status, answer.code().as_str()), (401, unauthorized), "{path}");
            assert!(answer.header("www-authenticate").is_some());
            assert!(!answer.text().contains("telar"), "{}", answer.text());
        }
    }
    for path in ["/metrics", "/db/telar/changes", "/db/none/changes"] {
        assert_eq!(server.get(path).status, 401, "{path}");
    }
    for path in ["/", "/health", "/ready", "/openapi.json"] {
        assert_eq!(server.get(path).status, 200, "{path}");
    }
    assert_eq!(server.ask("GET", "/metrics", &[ADMIN], "").status, 200);
}

#[test]
fn wrong_passwords_are_limited() {
    let server = server_with(Some("correct-horse"), 3);
    let last = (0..10).map(|_| run(&server, WRONG, "RETURN 1")).last().unwrap();
    assert_eq!(last.status, 429);
    assert_eq!(last.code(), "Neo.ClientError.Security.AuthenticationRateLimit");
    let text = server.get("/metrics");
    assert!(matches!(text.status, 401 | 429));
}

#[test]
fn the_first_password_has_to_be_changed() {
    let server = server(None);
    let answer = run(&server, FIRST, "RETURN 1");
    assert_eq!(answer.status, 403, "{}", answer.text());
    assert_eq!(answer.code(), "Neo.ClientError.Security.CredentialsExpired");
    assert_eq!(server.ask("GET", "/db/telar/changes?follow=false", &[FIRST], "").status, 403);
    let change = "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO 'correct-horse'";
    let body = json!({ "statement": change }).to_string();
    let answer = server.ask("POST", "/db/system/query/v2", &[FIRST], &body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(run(&server, FIRST, "RETURN 1").status, 401);
    assert_eq!(run(&server, ADMIN, "RETURN 1").status, 202);
}

#[test]
fn readers_read_and_strangers_do_not() {
    let server = server(Some("correct-horse"));
    let make = "CREATE USER ann SET PASSWORD 'battery-staple' CHANGE NOT REQUIRED";
    assert_eq!(run(&server, ADMIN, make).status, 202);
    assert_eq!(run(&server, ANN, "MATCH (n) RETURN n").status, 403);
    assert_eq!(server.ask("GET", "/db/telar/changes?follow=false", &[ANN], "").status, 403);
    let answer = run(&server, ADMIN, "GRANT ROLE reader TO ann");
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(run(&server, ANN, "MATCH (n) RETURN n").status, 202);
    let answer = run(&server, ANN, "CREATE ()");
    assert_eq!((answer.status, answer.code()), (403, "Neo.ClientError.Security.Forbidden".into()));
    assert_eq!(server.ask("GET", "/db/telar/changes?follow=false", &[ANN], "").status, 200);
}

#[test]
fn a_transaction_ends_with_its_user() {
    let server = server(Some("correct-horse"));
    let make = "CREATE USER ann SET PASSWORD 'battery-staple' CHANGE NOT REQUIRED";
    assert_eq!(run(&server, ADMIN, make).status, 202);
    assert_eq!(run(&server, ADMIN, "GRANT ROLE writer TO ann").status, 202);
    let begun = server.ask("POST", TX, &[ANN], r#"{"statement": "CREATE ()"}"#).json();
    let tx = format!("{TX}/{}", begun["transaction"]["id"].as_str().unwrap());
    assert_eq!(server.ask("POST", &tx, &[ADMIN], "").status, 404);
    assert_eq!(run(&server, ADMIN, "DROP USER ann").status, 202);
    assert_eq!(server.ask("POST", &format!("{tx}/commit"), &[ANN], "").status, 401);
}

#[test]
fn https_is_http_behind_tls() {
    let folder = tempfile::tempdir().unwrap();
    let (chain, key) = (folder.path().join("chain.pem"), folder.path().join("key.pem"));
    std::fs::write(&chain, include_str!("certificate.pem")).unwrap();
    std::fs::write(&key, include_str!("key.pem")).unwrap();
    let certificate = Certificate::load(&chain, &key).unwrap();
    let server = TestServer::encrypted(certificate.config().unwrap());
    let mut roots = rustls::RootCertStore::empty();
    use rustls_pki_types::pem::PemObject;
    roots.add(rustls_pki_types::CertificateDer::from_pem_file(&chain).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let mut session = rustls::ClientConnection::new(Arc::new(client), name).unwrap();
    let mut tcp = TcpStream::connect(server.server.address()).unwrap();
    let mut stream = rustls::Stream::new(&mut session, &mut tcp);
    stream
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost:7473\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n"), "{text}");
    assert!(text.contains("https://localhost:7473/db/"), "{text}");

    // Plain HTTP is no TLS, and a certificate that cannot be read leaves the old one.
    assert!(server.try_get("/").is_none());
    std::fs::write(&key, "nothing").unwrap();
    assert!(certificate.reload().is_err());
    std::fs::write(&key, include_str!("key.pem")).unwrap();
    certificate.reload().unwrap();
}
