//! A real etcd for the tests, and a proxy before it that loses and delays what it carries.
//!
//! The program is `TELAR_ETCD`, or `etcd` on the path; without it these tests are skipped. One
//! server serves all tests of this binary, each under a cluster name of its own.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use base64ct::{Base64, Encoding};
use telar_cluster::store::etcd::Etcd;
use telar_cluster::store::{Endpoint, ErrorKind, Log, Name, PartName, Put, Stores};
use tempfile::TempDir;

use crate::{Fixture, LIMIT, test_data};

/// The server of this process: its port, and what keeps it alive.
struct Running {
    port: u16,
    /// It ends when its standard input does, which it does when this process ends.
    _shell: Child,
    _folder: TempDir,
}

fn program() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("TELAR_ETCD") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("etcd")).find(|path| path.exists())
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A member of a cluster of etcd: its name, and where clients and other members reach it.
struct Member {
    name: String,
    port: u16,
    peer: String,
}

impl Member {
    fn new(name: String) -> Self {
        let [port, peer] = [(); 2].map(|()| free_port());
        Self { name, port, peer: format!("http://127.0.0.1:{peer}") }
    }

    fn endpoint(&self) -> Endpoint {
        ("127.0.0.1".into(), self.port)
    }
}

/// Starts a member; it ends when the standard input of what is returned does.
fn serve(program: &Path, folder: &Path, member: &Member, cluster: &[Member]) -> Child {
    let Member { name, port, peer } = member;
    let (client, data) = (format!("http://127.0.0.1:{port}"), folder.join(name));
    let cluster: Vec<_> = cluster.iter().map(|of| format!("{}={}", of.name, of.peer)).collect();
    let script = "\"$@\" & read line; kill -9 $!; rm -rf \"$FOLDER\"";
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(program).env("FOLDER", &data);
    command.arg("--data-dir").arg(&data).args(["--name", name]);
    command.args(["--listen-client-urls", &client, "--advertise-client-urls", &client]);
    command.args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]);
    command.args(["--initial-cluster", &cluster.join(",")]);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().unwrap()
}

fn open(endpoints: &[Endpoint]) -> Etcd {
    let end = Instant::now() + Duration::from_secs(60);
    loop {
        match Etcd::open(endpoints.to_vec()) {
            Ok(store) => return store,
            Err(cause) => assert!(Instant::now() < end, "{cause}"),
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// The program, unless there is none.
fn found_program() -> Option<PathBuf> {
    let program = program();
    if program.is_none() {
        test_data::skipped("etcd on the path, or TELAR_ETCD");
    }
    program
}

fn run() -> Option<Running> {
    let program = found_program()?;
    let folder = TempDir::new().unwrap();
    let alone = [Member::new("default".into())];
    let shell = serve(&program, folder.path(), &alone[0], &alone);
    drop(open(&[alone[0].endpoint()]));
    Some(Running { port: alone[0].port, _shell: shell, _folder: folder })
}

/// One store in etcd.
pub(crate) struct Server {
    port: u16,
    cluster: Name,
    is_faulty: bool,
}

impl Server {
    /// An empty store, behind a faulty proxy if wanted; `None` if there is no etcd.
    pub(crate) fn new(is_faulty: bool) -> Option<Self> {
        static RUNNING: OnceLock<Option<Running>> = OnceLock::new();
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let running = RUNNING.get_or_init(run).as_ref()?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let cluster = Name::new(format!("test/{number}")).unwrap();
        let port = if is_faulty { proxy(running.port) } else { running.port };
        Some(Self { port, cluster, is_faulty })
    }
}

impl Fixture for Server {
    fn open(&self) -> Stores {
        let open = || Etcd::open(vec![("127.0.0.1".into(), self.port)]);
        let store = loop {
            match open() {
                Ok(store) => break store,
                Err(cause) => assert!(self.is_faulty, "{cause}"),
            }
        };
        let store = Arc::new(store.with_cluster(&self.cluster).with_body_bytes_max(LIMIT));
        Stores { log: store.clone(), coordination: store, images: None }
    }

    fn lose(&self, stream: &Name, first: u64) {
        let cluster = self.cluster.as_str().replace('/', "%");
        let key = format!("telar/{cluster}/log/{stream}/slot/{first:020}");
        let body = format!(r#"{{"key":"{}"}}"#, Base64::encode_string(key.as_bytes()));
        let mut etcd = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let head = "POST /v3/kv/deleterange HTTP/1.1\r\nhost: etcd\r\nconnection: close\r\n";
        write!(etcd, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
        let mut answer = String::new();
        etcd.read_to_string(&mut answer).unwrap();
        assert!(answer.contains(r#""deleted":"1""#), "{answer}");
    }

    fn is_faulty(&self) -> bool {
        self.is_faulty
    }
}

/// A proxy to `port`; returns its own.
pub(crate) fn proxy(port: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (number, client) in (0..).zip(listener.incoming()) {
            let Ok(client) = client else { return };
            thread::spawn(move || carry(client, port, number));
        }
    });
    own
}

/// Carries requests and answers, until it breaks the connection in one of three ways.
fn carry(mut client: TcpStream, port: u16, mut random: u64) {
    let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let (mut back_from, mut back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    let answers = thread::spawn(move || {
        let _ = std::io::copy(&mut back_from, &mut back_to);
        let _ = back_to.shutdown(Shutdown::Both);
    });
    let mut bytes = vec![0; 1 << 20];
    random = random.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5555;
    while let Ok(read @ 1..) = client.read(&mut bytes) {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        match (random >> 33) % 20 {
            // The request is lost.
            0 => break,
            // The answer is lost.
            1 => {
                let _ = client.shutdown(Shutdown::Both);
                let _ = server.write_all(&bytes[..read]);
                thread::sleep(Duration::from_millis(50));
                break;
            }
            // The request arrives when its sender has long given it up.
            2 => {
                let _ = client.shutdown(Shutdown::Both);
                thread::sleep(Duration::from_millis(150));
                let _ = server.write_all(&bytes[..read]);
                thread::sleep(Duration::from_millis(50));
                break;
            }
            _ => {
                if server.write_all(&bytes[..read]).is_err() {
                    break;
                }
            }
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
    let _ = answers.join();
}

#[test]
fn a_dead_endpoint_is_passed_over() {
    let Some(server) = Server::new(false) else { return };
    let dead = ("127.0.0.1".to_owned(), free_port());
    let endpoints = vec![dead.clone(), dead, ("127.0.0.1".into(), server.port)];
    let store = Etcd::open(endpoints).unwrap().with_cluster(&server.cluster);
    let stream = crate::name("graph");
    let put = store.put_once(&stream, crate::range(1, 2), b"body").unwrap();
    assert!(matches!(put, Put::Won), "{put:?}");
    let url = format!("etcd://127.0.0.1:{}", server.port);
    assert!(Stores::open(&url).unwrap().images.is_none());
}

/// The version is the program's own word for it; nothing else is wrong with a new etcd.
#[test]
fn an_etcd_that_is_older_than_advised_is_named() {
    let Some(server) = Server::new(false) else { return };
    let said = Command::new(program().unwrap()).arg("--version").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let version = said.lines().find_map(|line| line.strip_prefix("etcd Version: ")).unwrap();
    let concerns = server.open().log.concerns().unwrap();
    match ["3.4.", "3.5."].iter().any(|old| version.starts_with(old)) {
        true => assert!(concerns.len() == 1 && concerns[0].contains(version), "{concerns:?}"),
        false => assert!(concerns.is_empty(), "{version}: {concerns:?}"),
    }
}

/// Two of three members die; the third has what they had committed, and does not know whether that
/// is all.
#[test]
fn a_node_without_a_leader_shows_what_it_has() {
    let Some(program) = found_program() else { return };
    let folder = TempDir::new().unwrap();
    let members: Vec<_> = (0..3).map(|at| Member::new(format!("n{at}"))).collect();
    let serve = |member| serve(&program, folder.path(), member, &members);
    let mut shells: Vec<Child> = members.iter().map(serve).collect();
    let endpoints: Vec<Endpoint> = members.iter().map(Member::endpoint).collect();
    let (store, stream) = (open(&endpoints).with_body_bytes_max(LIMIT), crate::name("graph"));
    let part = PartName { slot: 3, nonce: 7, index: 0 };
    store.put_part(&stream, part, b"part").unwrap();
    for first in 1..=5 {
        let end = Instant::now() + Duration::from_secs(60);
        while !matches!(
            store.put_once(&stream, crate::range(first, first + 1), b"body"),
            Ok(Put::Won | Put::Lost(_))
        ) {
            assert!(Instant::now() < end, "slot {first} is not put");
        }
    }
    let all = store.read(&stream, 1, usize::MAX).unwrap();
    assert_eq!(all.len(), 5);
    let end = Instant::now() + Duration::from_secs(60);
    let third = open(&endpoints[..1]);
    while third.read_stale(&stream, 1, usize::MAX).ok().as_ref() != Some(&all) {
        assert!(Instant::now() < end, "the third lags behind");
    }
    for mut shell in shells.drain(1..) {
        drop(shell.stdin.take());
        shell.wait().unwrap();
    }
    let error = store.read(&stream, 1, usize::MAX).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let end = Instant::now() + Duration::from_secs(60);
    for (from, expected) in [(1, &all[..]), (4, &all[3..]), (6, &[])] {
        // A request that waits for a leader may be what its connection carries.
        while store.read_stale(&stream, from, usize::MAX).ok().as_deref() != Some(expected) {
            assert!(Instant::now() < end, "{:?}", store.read_stale(&stream, from, usize::MAX));
        }
    }
    assert_eq!(store.read_part(&stream, part).unwrap().as_deref(), Some(&b"part"[..]));
}

#[test]
fn an_etcd_that_is_not_there_is_unavailable() {
    let url = format!("etcd://127.0.0.1:{0},127.0.0.1:{1}", free_port(), free_port());
    let error = Stores::open(&url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().starts_with("etcd at 127.0.0.1:"), "{error}");
}

/// What listens and is no etcd: it answers with a page, or with nothing at all.
#[test]
fn what_is_no_etcd_is_said_to_be_none() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(mut client) = client else { return };
            let mut request = [0; 4096];
            let _ = client.read(&mut request);
            let page = "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n<p/>";
            let _ = client.write_all(page.as_bytes());
        }
    });
    let error = Etcd::open(vec![("127.0.0.1".into(), port)]).unwrap_err();
    // The last attempt may have met the connection as it was closed.
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
}

/// A server that answers as etcd does, encrypted, whoever asks.
#[test]
fn connections_are_encrypted_to_an_etcd_that_is_trusted() {
    use crate::postgres_server::{CERTIFICATE, KEY};
    use rustls_pki_types::pem::PemObject;
    use rustls_pki_types::{CertificateDer, PrivateKeyDer};
    let chain = vec![CertificateDer::from_pem_slice(CERTIFICATE.as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(KEY.as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming() {
            let Ok(client) = client else { return };
            let connection = rustls::ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut stream = rustls::StreamOwned::new(connection, client);
            if matches!(stream.read(&mut [0; 4096]), Ok(1..)) {
                let body = r#"{"header":{"revision":"1"},"kvs":[]}"#;
                let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all(format!("{head}{body}").as_bytes());
            }
        }
    });
    let folder = TempDir::new().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, CERTIFICATE).unwrap();
    let trusting = format!("?ca={}", ca.display());
    let trusted = format!("etcds://localhost:{port}{trusting}");
    // A busy machine may need more than the time for a handshake.
    let end = Instant::now() + Duration::from_secs(60);
    while let Err(error) = Stores::open(&trusted) {
        assert!(Instant::now() < end, "{error}");
    }
    for url in [
        format!("etcds://localhost:{port}"),
        format!("etcds://localhost.localdomain:{port}{trusting}"),
        format!("etcd://localhost:{port}"),
    ] {
        let error = Stores::open(&url).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{url}: {error}");
    }
    let error = Stores::open("etcds://localhost?ca=/dev/null/ca.pem").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Request, "{error}");
}
