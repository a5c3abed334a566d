//! A primary of PostgreSQL that dies, and its synchronous standby, which is promoted.
//!
//! ```text
//!  writers ──► primary ──(synchronous)──► standby          kill -9 of the primary
//!  writers ─────────────────────────────► standby          pg_ctl promote
//! ```
//!
//! The store's URL names both; the one that takes writes is asked. What was acknowledged is there
//! afterwards, and the histories of the time between are checked with the others
//! (`tools/porcupine.sh`). Somebody has to see to it that the old primary does not come back as
//! one: here it is dead.

use std::fs::OpenOptions;
use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::postgres::Postgres;
use telar_cluster::store::{Log, Name, PostgresUrl, Put, PutIf, StoreUrl, Stores, Version};
use tempfile::TempDir;

use crate::etcd_server::free_port;
use crate::postgres_server::{command, initialize, program};
use crate::{Fixture, LIMIT, groups, histories, name, range, test_data};

const PATIENCE: Duration = Duration::from_secs(60);

/// The programs of PostgreSQL that are needed.
struct Programs {
    postgres: PathBuf,
    basebackup: PathBuf,
    ctl: PathBuf,
    is_root: bool,
}

impl Programs {
    fn run(&self, program: &Path, args: &[&str]) {
        let output = command(program, self.is_root).args(args).current_dir("/").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} {args:?}: {said}", program.display());
    }

    /// Starts a server, and returns its port: another one if somebody was quicker to take it.
    fn serve(&self, data: &str) -> (Killed, u16) {
        let end = Instant::now() + PATIENCE;
        loop {
            let port = free_port();
            let mut server = command(&self.postgres, self.is_root);
            server.args(["-D", data, "-p", &port.to_string(), "-h", "127.0.0.1", "-k", ""]);
            server.args(["-c", "max_connections=100"]).current_dir("/");
            server.stdout(Stdio::null()).stderr(Stdio::null());
            let mut server = Killed(server.spawn().unwrap());
            while server.0.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return (server, port);
                }
                assert!(Instant::now() < end, "PostgreSQL does not start");
                thread::sleep(Duration::from_millis(50));
            }
        }
    }
}

/// A server; killed with all that it started when it is dropped.
struct Killed(Child);

impl Killed {
    /// Sends a signal to a server and to all that it has started.
    fn signal(&self, signal: &str) {
        let id = self.0.id().to_string();
        for arguments in [["pkill", signal, "-P", &id].as_slice(), &["kill", signal, &id]] {
            Command::new(arguments[0]).args(&arguments[1..]).status().unwrap();
        }
    }
}

impl Drop for Killed {
    fn drop(&mut self) {
        let id = self.0.id().to_string();
        // What it started goes on for a moment otherwise, and might answer.
        let _ = Command::new("pkill").args(["-9", "-P", &id]).status();
        let _ = self.0.kill();
        let _ = self.0.wait();
        let _ = Command::new("pkill").args(["-9", "-P", &id]).status();
    }
}

fn url(ports: &[u16]) -> PostgresUrl {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    let text = format!("postgres://telar@{}/postgres", hosts.join(","));
    let StoreUrl::Postgres(url) = StoreUrl::parse(&text).unwrap() else { panic!("{text}") };
    url
}

fn wait_for(ports: &[u16]) {
    let end = Instant::now() + PATIENCE;
    while Postgres::open(&url(ports)).is_err() {
        assert!(Instant::now() < end, "PostgreSQL does not answer");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A store of its own in the pair, whichever of the two takes writes.
struct Pair {
    url: PostgresUrl,
    cluster: Name,
}

impl Fixture for Pair {
    fn open(&self) -> Stores {
        let end = Instant::now() + PATIENCE;
        let store = loop {
            match Postgres::open(&self.url) {
                Ok(store) => break store,
                Err(cause) => assert!(Instant::now() < end, "{cause}"),
            }
            thread::sleep(Duration::from_millis(10));
        };
        let store = Arc::new(store.with_cluster(&self.cluster).with_body_bytes_max(LIMIT));
        Stores { log: store.clone(), coordination: store.clone(), images: Some(store) }
    }

    fn lose(&self, _: &Name, _: u64) {
        unreachable!("a promoted standby has everything");
    }

    fn is_faulty(&self) -> bool {
        true
    }
}

/// A put waits for the standby, but not for ever, and takes no more connections the longer that
/// lasts.
fn check_puts_without_a_standby(log: &dyn Log, standby: &Killed) {
    let streams: Vec<Name> = (0..6).map(|at| name(&format!("waits/{at}"))).collect();
    let put = |stream: &Name, first| log.put_once(stream, range(first, first + 1), b"body");
    for stream in &streams {
        assert!(matches!(put(stream, 1), Ok(Put::Won)));
    }
    standby.signal("-STOP");
    thread::scope(|scope| {
        for stream in &streams[1..] {
            scope.spawn(|| {
                let put = put(stream, 2);
                assert!(matches!(put, Ok(Put::Unknown(_))), "{put:?}");
            });
        }
    });
    for stream in &streams {
        let error = put(&streams[0], 2).unwrap_err();
        assert!(error.to_string().contains("wait for an answer"), "{error}");
        assert!(log.read(stream, 2, usize::MAX).unwrap().is_empty(), "no standby has it");
    }
    standby.signal("-CONT");
    let end = Instant::now() + PATIENCE;
    for stream in &streams {
        while !matches!(put(stream, 2), Ok(Put::Lost(slot)) if slot.body == b"body") {
            assert!(Instant::now() < end, "{stream} does not go on");
            thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Somebody tells the primary to wait no longer for its standby: it says that the commit is done.
fn check_a_wait_that_is_cancelled(log: &dyn Log, url: &PostgresUrl, standby: &Killed) {
    let stream = name("cancelled");
    let put = |first| log.put_once(&stream, range(first, first + 1), b"body");
    assert!(matches!(put(1), Ok(Put::Won)));
    let mut operator = postgres::Client::connect(&url.text, postgres::NoTls).unwrap();
    standby.signal("-STOP");
    thread::scope(|scope| {
        let waits = scope.spawn(|| put(2));
        let cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity \
                      WHERE wait_event = 'SyncRep' AND application_name = 'telar'";
        let end = Instant::now() + PATIENCE;
        while !waits.is_finished() {
            operator.query(cancel, &[]).unwrap();
            assert!(Instant::now() < end, "the put does not end");
            thread::sleep(Duration::from_millis(20));
        }
        let outcome = waits.join().unwrap();
        assert!(matches!(outcome, Ok(Put::Unknown(_))), "{outcome:?}");
    });
    standby.signal("-CONT");
    let end = Instant::now() + PATIENCE;
    while !matches!(put(2), Ok(Put::Lost(slot)) if slot.body == b"body") {
        assert!(Instant::now() < end, "it is not there");
    }
}

/// The programs, and the data of a primary in `folder`.
fn programs(folder: &Path) -> Option<Programs> {
    let found = ["initdb", "postgres", "pg_basebackup", "pg_ctl"].map(program);
    let [Some(initdb), Some(postgres), Some(basebackup), Some(ctl)] = found else {
        test_data::skipped("initdb, postgres, pg_basebackup and pg_ctl on the path");
        return None;
    };
    let is_root = initialize(&initdb, folder, "primary")?;
    Some(Programs { postgres, basebackup, ctl, is_root })
}

/// A primary that waits for its standby.
struct Servers {
    programs: Programs,
    primary: Killed,
    standby: Killed,
    /// The folder of the standby.
    second: String,
    ports: [u16; 2],
}

impl Servers {
    fn start(folder: &Path) -> Option<Self> {
        let programs = programs(folder)?;
        let data = |name: &str| folder.join(name).display().to_string();
        let (first, second) = (data("primary"), data("standby"));
        // The standby is made before the primary waits for it, and does not wait for another one.
        let (primary, of_primary) = programs.serve(&first);
        wait_for(&[of_primary]);
        let port = of_primary.to_string();
        let source = ["-h", "127.0.0.1", "-p", &port, "-U", "telar", "-R", "-X", "stream"];
        programs.run(&programs.basebackup, &[&["-D", &second], &source[..]].concat());
        let settings = OpenOptions::new().append(true).open(format!("{first}/postgresql.conf"));
        writeln!(settings.unwrap(), "synchronous_standby_names = '*'").unwrap();
        programs.run(&programs.ctl, &["reload", "-D", &first]);
        let (standby, of_standby) = programs.serve(&second);
        let ports = [of_primary, of_standby];
        wait_for(&ports);
        let end = Instant::now() + PATIENCE;
        while !Postgres::open(&url(&ports)).unwrap().concerns().unwrap().is_empty() {
            assert!(Instant::now() < end, "no standby is synchronous");
            thread::sleep(Duration::from_millis(50));
        }
        Some(Self { programs, primary, standby, second, ports })
    }

    /// A store that the standby has.
    fn store(&self) -> Stores {
        let store = Pair { url: url(&self.ports), cluster: name("ready") }.open();
        let put = store.coordination.put_if(&name("ready"), Version::ABSENT, b"");
        assert!(matches!(put, Ok(PutIf::Won(_))), "{put:?}");
        store
    }
}

impl Programs {
    fn promote(&self, data: &str) {
        self.run(&self.ctl, &["promote", "-w", "-t", "60", "-D", data]);
    }
}

/// The kernel of a primary that stands still keeps its connections, and accepts more.
#[test]
fn a_primary_that_stands_still_is_passed_over() {
    let folder = TempDir::new().unwrap();
    let Some(servers) = Servers::start(folder.path()) else { return };
    let (store, stream) = (servers.store(), name("graph"));
    let put = |first| store.log.put_once(&stream, range(first, first + 1), b"body");
    assert!(matches!(put(1), Ok(Put::Won)));
    servers.primary.signal("-STOP");
    servers.programs.promote(&servers.second);
    let end = Instant::now() + PATIENCE;
    while !matches!(put(2), Ok(Put::Won | Put::Lost(_))) {
        assert!(Instant::now() < end, "the promoted one is not reached");
    }
    assert_eq!(store.log.read(&stream, 1, usize::MAX).unwrap().len(), 2);
}

#[test]
fn a_standby_that_is_promoted_has_all_that_was_acknowledged() {
    let folder = TempDir::new().unwrap();
    let Some(servers) = Servers::start(folder.path()) else { return };
    let ready = servers.store();
    let Servers { programs, primary, standby, second, ports } = servers;

    check_puts_without_a_standby(&*ready.log, &standby);
    check_a_wait_that_is_cancelled(&*ready.log, &url(&ports[..1]), &standby);

    let promoted = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(700));
            drop(primary);
            thread::sleep(Duration::from_millis(300));
            programs.promote(&second);
            promoted.store(true, Ordering::Release);
        });
        // Until everything has been done once with the new primary alone.
        let mut number = 0;
        loop {
            let last = promoted.load(Ordering::Acquire);
            let cluster = name(&format!("test/{number}"));
            let pair = Pair { url: url(&ports), cluster };
            groups::racing_appenders_make_one_log(&pair);
            histories::slots_are_linearizable(&pair);
            histories::values_are_linearizable(&pair);
            number += 1;
            if last {
                break;
            }
        }
    });
    drop(standby);
}
