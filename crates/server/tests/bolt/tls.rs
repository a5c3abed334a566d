//! Encrypted connections.

use std::io::Read;
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use telar_server::net::tls;
use telar_server::server::Server;

use crate::client::{Client, FOREVER, PATIENCE, PULL, RESET, serve_with, until};
use crate::data::{Data, map};
use crate::web::{CLOSE, PING, WHOLE, Web, frame, request};

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

fn file(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn serve(required: bool) -> Server {
    serve_for(required, PATIENCE)
}

/// One that waits so long for a login.
fn serve_for(required: bool, login: Duration) -> Server {
    let config = tls::load(&file("tls-cert.pem"), &file("tls-key.pem")).unwrap();
    serve_with(|settings| {
        settings.tls = Some(config);
        settings.tls_required = required;
        settings.login_timeout = login;
    })
}

fn connect(server: &Server) -> Client<Encrypted> {
    let mut client = Client { stream: encrypt(server) };
    client.shake_hands([0, 0, 8, 5]);
    client.log_in(true);
    client
}

/// The same over WebSocket.
fn connect_web(server: &Server) -> Client<Web<Encrypted>> {
    let mut client = Client { stream: Web::over(encrypt(server), WHOLE) };
    client.shake_hands([0, 0, 8, 5]);
    client.log_in(true);
    client
}

fn encrypt(server: &Server) -> Encrypted {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(file("tls-ca.pem")).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().unwrap();
    let tls = ClientConnection::new(Arc::new(config), name).unwrap();
    let stream = TcpStream::connect(server.bolt_address()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    StreamOwned::new(tls, stream)
}

#[test]
fn rows_come_encrypted() {
    let server = serve(true);
    let mut client = connect(&server);
    let rows = client.rows("UNWIND range(1, 100000) AS x RETURN x, 'some text'");
    assert_eq!(rows.len(), 100_000);
    assert_eq!(rows[99_999][0], Data::Int(100_000));
    // Without encryption there is no answer.
    let mut plain = Client::silent(server.bolt_address());
    plain.say([[0x60, 0x60, 0xB0, 0x17], [0, 0, 8, 5], [0; 4], [0; 4], [0; 4]].as_flattened());
    plain.expect_end();
    // Nor for one that says nothing, or only begins to.
    let server = serve_for(true, Duration::from_secs(2));
    Client::silent(server.bolt_address()).expect_end();
    let mut half = Client::silent(server.bolt_address());
    half.say(&[0x16, 3, 1, 2, 0, 1]);
    half.expect_end();
}

#[test]
fn websockets_are_encrypted_where_they_have_to_be() {
    let server = serve(true);
    let mut client = connect_web(&server);
    let rows = client.rows("UNWIND range(1, 50000) AS x RETURN x, 'some text'");
    assert_eq!(rows.len(), 50_000);
    // Without encryption a browser is told, and nothing of what it asks is looked at.
    for said in [request("Host: localhost"), "GET ".into(), "POST / HTTP/1.1\r\n\r\n".into()] {
        let mut plain = Client::silent(server.bolt_address());
        plain.say(said.as_bytes());
        let mut answer = String::new();
        plain.stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("wss://"), "{answer}");
    }
    let mut other = Client::silent(server.bolt_address());
    other.say(b"SSH-2.0-x\r\n");
    other.expect_end();
    let server = serve(false);
    assert_eq!(connect_web(&server).int("RETURN 1"), 1);
    assert_eq!(Client::web(&server).int("RETURN 1"), 1);
}

#[test]
fn encrypted_websockets_answer_while_statements_run() {
    let server = serve(true);
    let mut client = connect_web(&server);
    client.run(FOREVER).success();
    client.demand_only(-1);
    thread::sleep(Duration::from_millis(300));
    client.stream.send_raw(&frame(PING, b"running"));
    assert_eq!(client.stream.pong(), b"running");
    client.send(RESET, []);
    assert_eq!(client.answer().code(), "Neo.TransientError.Transaction.Terminated");
    client.answer().success();
    client.run(FOREVER).success();
    client.demand_only(-1);
    thread::sleep(Duration::from_millis(300));
    client.stream.send_raw(&frame(CLOSE, &[0x0F, 0xA0]));
    assert_eq!(client.stream.status(), Some(4000));
    until("the statement has ended", || server.connections() == 0);
    let mut idle = connect_web(&server);
    assert!(server.shut_down(Duration::ZERO));
    assert_eq!(idle.stream.status(), Some(1001));
}

#[test]
fn encryption_can_be_left_to_the_client() {
    let server = serve(false);
    assert_eq!(connect(&server).int("RETURN 1"), 1);
    assert_eq!(Client::new(&server).int("RETURN 1"), 1);
}

#[test]
fn encrypted_statements_can_be_ended() {
    let server = serve(true);
    let mut client = connect(&server);
    for _ in 0..2 {
        client.run(FOREVER).success();
        client.send(PULL, [map([("n", (-1).into())])]);
        thread::sleep(Duration::from_millis(300));
        client.send(RESET, []);
        assert_eq!(client.answer().code(), "Neo.TransientError.Transaction.Terminated");
        client.answer().success();
    }
    client.run(FOREVER).success();
    client.send(PULL, [map([("n", (-1).into())])]);
    drop(client);
    until("the statement has ended", || server.connections() == 0);
}

#[test]
fn files_that_cannot_be_used_are_named() {
    let error = |cert: &str, key: &str| tls::load(&file(cert), &file(key)).unwrap_err().to_string();
    assert!(error("nope.pem", "tls-key.pem").contains("nope.pem"));
    assert!(error("tls-key.pem", "tls-key.pem").contains("tls-key.pem"));
    assert!(error("tls-cert.pem", "tls-cert.pem").contains("tls-cert.pem"));
    assert!(error("tls-ca.pem", "tls-key.pem").contains("cannot be used"));
}
