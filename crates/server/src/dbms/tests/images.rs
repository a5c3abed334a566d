//! Images of databases, from one server to a folder.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use telar_db::query::cypher::Secret;
use tempfile::TempDir;

use super::*;
use crate::metrics::Metrics;
use crate::net::tls;
use crate::replication::client::Asking;
use crate::replication::image::{self, Fetched};
use crate::replication::log::Answer;
use crate::replication::{Client as Asker, Credentials as Proof, Error};
use crate::{bolt, http, server};

/// A server of databases in a folder, with HTTP.
pub(super) struct Source {
    pub(super) folder: TempDir,
    running: Option<server::Server>,
    address: SocketAddr,
    encrypted: bool,
    settings: DbmsSettings,
}

impl Source {
    pub(super) fn new() -> Self {
        Self::with(settings(), false)
    }

    pub(super) fn with(settings: DbmsSettings, encrypted: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let mut source = Self { folder, running: None, address, encrypted, settings };
        source.start();
        source
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("graph.telar")
    }

    /// Starts it, at the port that it had if it ran before.
    pub(super) fn start(&mut self) {
        let dbms = Dbms::open(Some(&self.path()), self.settings.clone()).unwrap();
        let tls = self.encrypted.then(|| {
            let (chain, key) = (self.folder.path().join("c.pem"), self.folder.path().join("k.pem"));
            std::fs::write(&chain, include_str!("../../../tests/http/certificate.pem")).unwrap();
            std::fs::write(&key, include_str!("../../../tests/http/key.pem")).unwrap();
            tls::load(&chain, &key).unwrap()
        });
        let http = server::Http { address: self.address, tls, settings: http::Settings::default() };
        let bolt =
            bolt::Settings { address: "127.0.0.1:0".parse().unwrap(), ..bolt::Settings::default() };
        let settings = server::Settings { bolt, http: Some(http) };
        let metrics = Arc::new(Metrics::new());
        let running = server::Server::start(Arc::new(dbms), &settings, &metrics).unwrap();
        self.address = running.http_address().unwrap();
        self.running = Some(running);
    }

    pub(super) fn dbms(&self) -> &Arc<Dbms> {
        self.running.as_ref().unwrap().dbms()
    }

    pub(super) fn stop(&mut self) {
        let Some(running) = self.running.take() else { return };
        let dbms = Arc::clone(running.dbms());
        assert!(running.shut_down(Duration::ZERO));
        close(dbms);
    }

    pub(super) fn admin(&self) -> Client {
        admin(self.dbms())
    }

    pub(super) fn asking(&self, user: &str, password: &str) -> Asking {
        let scheme = if self.encrypted { "https" } else { "http" };
        let url = format!("{scheme}://localhost:{}", self.address.port()).parse().unwrap();
        let password = Secret::new(password);
        let ca = self.encrypted.then(|| self.folder.path().join("c.pem"));
        Asking { url, credentials: Proof::Basic { user: user.into(), password }, ca }
    }

    fn asker(&self) -> Asker {
        self.asking("neo4j", PASSWORD).client(Arc::default()).unwrap()
    }
}

fn rows(folder: &Path, text: &str) -> Vec<String> {
    let engine = telar_db::open(folder).unwrap();
    let dbms = Arc::new(Dbms::new(crate::dbms::Database::new("telar", engine)));
    run(&login(&dbms, "", "").unwrap(), text)
}

#[test]
fn an_image_is_the_database_at_one_commit() {
    for encrypted in [false, true] {
        let mut source = Source::with(settings(), encrypted);
        let client = source.admin();
        run(&client, "CREATE CONSTRAINT one FOR (n:Node) REQUIRE n.id IS UNIQUE");
        run(&client, "UNWIND range(1, 3000) AS id CREATE (:Node {id: id})-[:TO {w: id}]->(:End)");
        source.dbms().database(None).unwrap().engine().checkpoint().unwrap();
        run(&client, "MATCH (n:Node) WHERE n.id > 2000 DETACH DELETE n");

        let asker = source.asker();
        let target = source.folder.path().join("copy.telar");
        // Of an attempt that was interrupted.
        for left in ["copy.telar.fetching", "copy.telar.unfinished"] {
            std::fs::create_dir(source.folder.path().join(left)).unwrap();
        }
        let fetched = image::fetch(&asker, "telar", &target, None).unwrap();
        let original = source.dbms().database(None).unwrap();
        assert_eq!(fetched.commit, original.engine().published());
        assert_eq!(Some(fetched.source), original.engine().identity());
        let count = "MATCH (n) RETURN count(n), sum(n.id)";
        assert_eq!(rows(&target, count), run(&client, count));
        assert_eq!(rows(&target, "SHOW CONSTRAINTS YIELD name"), ["'one'"]);
        // Nothing is left on either side.
        let left = std::fs::read_dir(source.path().join("tmp")).unwrap().count();
        assert_eq!(left, 0);
        assert!(!target.with_file_name("copy.telar.fetching").exists());
        // The place is taken now; the client can be used again.
        let taken = image::fetch(&asker, "telar", &target, None).unwrap_err();
        assert!(matches!(taken, Error::Database(telar_db::Error::TargetExists { .. })), "{taken}");
        // Its kept connection is dead after a restart of the source.
        drop((client, original));
        source.stop();
        source.start();
        let again =
            image::fetch(&asker, "telar", &target.with_file_name("again"), Some("a")).unwrap();
        assert_eq!(again, Fetched { bytes: again.bytes, ..fetched });
    }
}

#[test]
fn only_administrators_get_images() {
    let source = Source::new();
    drop(user(source.dbms(), "ann", "writer"));
    let target = source.folder.path().join("copy.telar");
    let status = |user: &str, password: &str, name: &str| {
        let asker = source.asking(user, password).client(Arc::default()).unwrap();
        match image::fetch(&asker, name, &target, None) {
            Err(Error::Refused { status, .. }) => status,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(status("neo4j", "wrong password", "telar"), 401);
    assert_eq!(status("ann", "password of ann", "telar"), 403);
    assert_eq!(status("neo4j", PASSWORD, "nothing"), 404);
    // It is in memory.
    assert_eq!(status("neo4j", PASSWORD, "system"), 409);
    assert!(!target.exists());
}

#[test]
fn a_log_is_given_by_commit_and_waited_for() {
    let source = Source::new();
    run(&source.admin(), "CREATE (:Node)");
    drop(user(source.dbms(), "ann", "writer"));
    let asker = source.asker();
    let database = source.dbms().database(None).unwrap();
    let (newest, identity) = (database.engine().published(), database.engine().identity());
    let identity = identity.unwrap().to_string();
    let status = |asker: &Asker, query: &str| {
        let asked = asker.get(&format!("/db/{query}"), Duration::from_secs(20));
        match asked.map(|body| Answer::decode(&body.whole(1 << 20).unwrap()).unwrap()) {
            Ok(answer) => Ok(answer.records.map(|records| (records.first_ts, records.next_ts))),
            Err(Error::Refused { status, .. }) => Err(status),
            Err(e) => panic!("{e}"),
        }
    };
    let next = newest.get() + 1;
    assert_eq!(status(&asker, "telar/log?after=0"), Ok(Some((1, next))));
    let whole = format!("telar/log?after=1&identity={identity}&follower=a.b-c_1");
    assert_eq!(status(&asker, &whole), Ok(Some((2, next))));
    let begun = std::time::Instant::now();
    assert_eq!(status(&asker, &format!("telar/log?after={newest}&wait=1")), Ok(None));
    assert!(begun.elapsed() >= Duration::from_secs(1));
    for (query, wanted) in [
        ("telar/log", 400),
        ("telar/log?after=-1", 400),
        ("telar/log?after=1&more=1", 400),
        ("telar/log?after=1&follower=a/b", 400),
        ("telar/image?follower=", 400),
        ("telar/log?after=1&identity=00000000000000000000000000000000", 409),
        (&format!("telar/log?after={next}"), 409),
        ("telar/log?after=18446744073709551615", 409),
        ("nothing/log?after=0", 404),
    ] {
        assert_eq!(status(&asker, query), Err(wanted), "{query}");
    }
    let ann = source.asking("ann", "password of ann").client(Arc::default()).unwrap();
    assert_eq!(status(&ann, "telar/log?after=0"), Err(403));
    // One that waits hears of the next commit, and of the end of the database.
    let waiting = |query: String| {
        let asker = source.asker();
        std::thread::spawn(move || {
            // It asks again where nothing came in time.
            eventually("an answer", || {
                let asked = asker.get(&query, Duration::from_secs(60));
                let answer = asked.map(|body| Answer::decode(&body.whole(1 << 20).unwrap()));
                answer.map(|answer| answer.unwrap().records).transpose()
            })
        })
    };
    let client = source.admin();
    run(&client, "CREATE DATABASE shop");
    let shop = source.dbms().database(Some("shop")).unwrap().engine().published();
    let of_telar = waiting(format!("/db/telar/log?after={newest}&wait=5"));
    let of_shop = waiting(format!("/db/shop/log?after={shop}&wait=5"));
    std::thread::sleep(Duration::from_millis(100));
    run(&client, "CREATE (:Node)");
    run(&client, "DROP DATABASE shop");
    assert_eq!(of_telar.join().unwrap().unwrap().first_ts, next);
    let gone = of_shop.join().unwrap().unwrap_err();
    assert!(matches!(gone, Error::Refused { status: 404, .. }), "{gone}");
}

#[test]
fn a_source_that_goes_away_leaves_nothing_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let half = std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut peer, _) = listener.accept().unwrap();
        let _ = peer.read(&mut [0; 1024]).unwrap();
        let head = "HTTP/1.1 200 OK\r\ncontent-length: 5000\r\n\r\nTELARCPY\u{1}\0\0\0\0\0\0\0";
        peer.write_all(head.as_bytes()).unwrap();
    });
    let folder = tempfile::tempdir().unwrap();
    let url: crate::replication::SourceUrl = format!("http://{address}").parse().unwrap();
    let asking = Asking { url, credentials: Proof::None, ca: None };
    let asker = asking.client(Arc::default()).unwrap();
    let failed = image::fetch(&asker, "telar", &folder.path().join("copy"), None).unwrap_err();
    assert!(matches!(failed, Error::Broken(_)), "{failed:?}");
    half.join().unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    // Nobody listens there any more.
    let failed = image::fetch(&asker, "telar", &folder.path().join("copy"), None).unwrap_err();
    assert!(matches!(failed, Error::Unreachable { .. }), "{failed:?}");
    let stopped = Arc::new(AtomicBool::new(false));
    stopped.store(true, Ordering::Relaxed);
    let failed =
        image::fetch(&asking.client(stopped).unwrap(), "telar", &folder.path().join("copy"), None);
    assert!(matches!(failed, Err(Error::Unreachable { .. } | Error::Stopped)), "{failed:?}");
}
