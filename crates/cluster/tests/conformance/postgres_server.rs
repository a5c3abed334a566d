//! A real PostgreSQL for the tests, and the proxy of etcd's tests before it.
//!
//! The programs are `initdb` and `postgres` on the path; without them these tests are skipped. One
//! server serves all tests of this binary, each under a cluster name of its own.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::postgres::Postgres;
use telar_cluster::store::{ErrorKind, Name, PostgresUrl, StoreUrl, Stores};
use tempfile::TempDir;

use crate::etcd_server::{free_port, proxy};
use crate::{Fixture, LIMIT, test_data};

/// Certificate of localhost, which vouches for itself, and its key.
pub(crate) const CERTIFICATE: &str = include_str!("../../../server/tests/http/certificate.pem");
pub(crate) const KEY: &str = include_str!("../../../server/tests/http/key.pem");

/// The server of this process: its port, and what keeps it alive.
struct Running {
    port: u16,
    /// It ends when its standard input does, which it does when this process ends.
    _shell: Child,
    _folder: TempDir,
}

pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.exists())
}

/// `program` as a user that PostgreSQL runs under: it refuses root.
pub(crate) fn command(program: &Path, is_root: bool) -> Command {
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]).arg(program);
    command
}

/// Makes an empty database, `name`, in a folder of this process; whether [`command`] has to be told
/// that it is root. `None` if this user may run no PostgreSQL.
pub(crate) fn initialize(initdb: &Path, folder: &Path, name: &str) -> Option<bool> {
    let chown = Command::new("chown").arg("postgres").arg(folder).output();
    let is_root = chown.is_ok_and(|output| output.status.success());
    let mut init = command(initdb, is_root);
    init.arg("-D").arg(folder.join(name)).current_dir("/");
    init.args(["-U", "telar", "-A", "trust", "-E", "UTF8", "--no-locale"]);
    if init.output().unwrap().status.success() {
        return Some(is_root);
    }
    test_data::skipped("PostgreSQL that this user may run");
    None
}

fn run() -> Option<Running> {
    let (Some(initdb), Some(postgres)) = (program("initdb"), program("postgres")) else {
        test_data::skipped("initdb and postgres on the path");
        return None;
    };
    let folder = TempDir::new().unwrap();
    let data = folder.path().join("data");
    let is_root = initialize(&initdb, folder.path(), "data")?;
    let own = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        if is_root {
            Command::new("chown").arg("postgres").arg(&path).output().unwrap();
        }
        path.display().to_string()
    };
    let (certificate, key) = (own("c.pem", CERTIFICATE), own("k.pem", KEY));
    let port = free_port();
    let server = command(&postgres, is_root);
    let script = "\"$@\" & read line; kill -QUIT $!; wait $!; rm -rf \"$FOLDER\"";
    let mut shell = Command::new("sh");
    shell.args(["-c", script, "sh"]).arg(server.get_program()).args(server.get_args());
    shell.arg("-D").arg(&data).args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""]);
    shell.args(["-c", "ssl=on", "-c", &format!("ssl_cert_file={certificate}")]);
    shell.args(["-c", &format!("ssl_key_file={key}")]);
    shell.args(["-c", "max_connections=200"]).env("FOLDER", folder.path()).current_dir("/");
    shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    let shell = shell.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    while Postgres::open(&url(port)).is_err() {
        assert!(Instant::now() < end, "PostgreSQL does not answer");
        thread::sleep(Duration::from_millis(100));
    }
    Some(Running { port, _shell: shell, _folder: folder })
}

fn url(port: u16) -> PostgresUrl {
    let text = format!("postgres://telar@127.0.0.1:{port}/postgres");
    let StoreUrl::Postgres(url) = StoreUrl::parse(&text).unwrap() else { panic!("{text}") };
    url
}

/// One store in PostgreSQL.
pub(crate) struct Server {
    port: u16,
    cluster: Name,
    is_faulty: bool,
}

impl Server {
    /// An empty store, behind a faulty proxy if wanted; `None` if there is no PostgreSQL.
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
        let store = loop {
            match Postgres::open(&url(self.port)) {
                Ok(store) => break store,
                Err(cause) => assert!(self.is_faulty, "{cause}"),
            }
        };
        let store = Arc::new(store.with_cluster(&self.cluster).with_body_bytes_max(LIMIT));
        Stores { log: store.clone(), coordination: store.clone(), images: Some(store) }
    }

    fn lose(&self, stream: &Name, first: u64) {
        let mut client = postgres::Client::connect(&url(self.port).text, postgres::NoTls).unwrap();
        let key = format!("{}%{stream}", self.cluster.as_str().replace('/', "%"));
        let delete = "DELETE FROM telar.slot WHERE stream = $1 AND first = $2";
        assert_eq!(client.execute(delete, &[&key, &(first as i64)]).unwrap(), 1);
    }

    fn is_faulty(&self) -> bool {
        self.is_faulty
    }
}

#[test]
fn a_postgres_that_is_not_there_is_unavailable() {
    let url = format!("postgres://telar:secret@127.0.0.1:{}/telar", free_port());
    let error = Stores::open(&url).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert!(!error.to_string().contains("secret"), "{error}");
    let error = Stores::open("postgres://h/db?strange=1").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Request);
    let Some(server) = Server::new(false) else { return };
    let error = Stores::open(&format!("postgres://nobody@127.0.0.1:{}/postgres", server.port));
    assert!(error.unwrap_err().to_string().contains("nobody"));
    let stores = Stores::open(&url_text(server.port)).unwrap();
    let concerns = stores.log.concerns().unwrap();
    assert!(concerns.len() == 1 && concerns[0].contains("no synchronous standby"), "{concerns:?}");
}

fn url_text(port: u16) -> String {
    url(port).text
}

#[test]
fn connections_are_encrypted_to_a_postgres_that_is_trusted() {
    let Some(server) = Server::new(false) else { return };
    let folder = TempDir::new().unwrap();
    let ca = folder.path().join("ca.pem");
    std::fs::write(&ca, CERTIFICATE).unwrap();
    let url = |host: &str, more: &str| {
        format!("postgres://telar@{host}:{}/postgres?sslmode=verify-full{more}", server.port)
    };
    let trusting = format!("&sslrootcert={}", ca.display());
    let stores = Stores::open(&url("localhost", &trusting)).unwrap();
    assert!(stores.images.unwrap().list("").unwrap().is_empty());
    // Nobody vouches for it, or for another name of it.
    for (host, more) in [("localhost", ""), ("localhost.localdomain", &*trusting)] {
        let error = Stores::open(&url(host, more)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    }
    let error = Stores::open(&url("localhost", "&sslrootcert=/dev/null/ca.pem")).unwrap_err();
    assert!(error.to_string().contains("/dev/null/ca.pem"), "{error}");
}
