//! Nodes of a cluster, in one process over a store in a folder.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;

use tempfile::TempDir;

use telar_cluster::keys::Keys;
use telar_cluster::replica::election::{Lease, Settings as Election};
use telar_cluster::store::Stores;
use telar_db::Isolation;
use telar_db::query::ErrorKind;

use super::*;
use crate::dbms::{AccessMode, ClusterSettings, Report};
use crate::http;
use crate::metrics::Metrics;

const NOT_A_LEADER: &str = "Neo.ClientError.Cluster.NotALeader";

/// Longer than a busy machine keeps a thread from renewing its lease: who leads goes on. No test
/// waits for a lease to lapse.
const TTL: Duration = Duration::from_secs(60);

pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    pub(super) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn store(&self) -> String {
        format!("dir:{}", self.path("store").display())
    }

    pub(super) fn settings(&self, node: &str) -> DbmsSettings {
        let cluster = ClusterSettings {
            store: self.store(),
            name: "test".to_owned(),
            node: node.to_owned(),
            votes: true,
            election: Election { ttl: TTL, ..Election::default() },
            ..ClusterSettings::default()
        };
        DbmsSettings { cluster: Some(cluster), ..settings() }
    }

    pub(super) fn open(&self, node: &str, settings: DbmsSettings) -> Result<Arc<Dbms>, Failure> {
        Dbms::open(Some(&self.path(node)), settings).map(Arc::new)
    }

    /// A node that has joined; its number is its port.
    pub(super) fn node(&self, node: &str, port: u16) -> Arc<Dbms> {
        self.joined(node, port, self.settings(node))
    }

    pub(super) fn joined(&self, node: &str, port: u16, settings: DbmsSettings) -> Arc<Dbms> {
        let dbms = self.open(node, settings).unwrap();
        dbms.join(format!("127.0.0.1:{port}"), None).unwrap();
        dbms
    }
}

/// Names of all things.
pub(super) const NAMES: &str = "MATCH (n:Thing) RETURN n.name ORDER BY n.name";

/// Makes a thing, again and again until it is there; who leads may change meanwhile.
pub(super) fn make(dbms: &Arc<Dbms>, name: &str) {
    let text = format!("MERGE (:Thing {{name: '{name}'}})");
    eventually("a commit", || attempt(&admin(dbms), &text).ok());
}

/// Waits until a node shows these things.
#[track_caller]
pub(super) fn things(dbms: &Arc<Dbms>, expected: &[&str]) {
    eventually("the things", || {
        attempt(&admin(dbms), NAMES).ok().filter(|found| *found == expected)
    });
}

/// Where the node says that a database is written.
fn writers(dbms: &Dbms, database: &str) -> Vec<String> {
    dbms.routes(database, None).unwrap().write
}

/// The nodes, the one first that leads a database.
pub(super) fn by_leader<'n>(nodes: [&'n Arc<Dbms>; 2], database: &str) -> [&'n Arc<Dbms>; 2] {
    let leads = |dbms: &Arc<Dbms>| dbms.copy(database).is_some_and(|copy| copy.leads());
    let first = eventually("a leader", || nodes.iter().position(|node| leads(node)));
    [nodes[first], nodes[1 - first]]
}

#[track_caller]
pub(super) fn refusal(done: Result<Vec<String>, Failure>) -> (&'static str, String) {
    let failure = done.unwrap_err();
    (failure.code, failure.message)
}

#[test]
fn followers_read_and_say_where_to_write() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, follower] = by_leader([&a, &b], "telar");
    let (at_leader, at_follower) = (admin(leader), admin(follower));
    // A write may come before the new leader takes any.
    let bookmark = eventually("a commit", || {
        let mut kept = Kept::default();
        let text = "CREATE (n:Person {name: 'Ada'}) RETURN n.name";
        let done = at_leader.run(&Options::default(), text, &ValueMap::new(), &mut kept);
        done.ok().map(|done| done.bookmark.unwrap().to_string())
    });
    let after = Options { bookmarks: vec![bookmark], ..Options::default() };
    let names = "MATCH (n:Person) RETURN n.name";
    assert_eq!(try_on(&at_follower, &after, names).unwrap(), ["'Ada'"]);
    let leader_is = eventually("the lease", || follower.copy("telar").unwrap().replica.leader());
    let port = if leader_is == "a" { 1 } else { 2 };
    eventually("members", || (follower.servers().len() == 2).then_some(()));
    for text in
        ["CREATE (:Person)", "MATCH (n:Person) SET n.x = 1", "CREATE INDEX FOR (n:X) ON n.y"]
    {
        let (code, message) = refusal(attempt(&at_follower, text));
        assert_eq!(code, NOT_A_LEADER, "{text}");
        assert!(message.contains(&format!("'{leader_is}' at 127.0.0.1:{port} leads")), "{message}");
    }
    // The same in a transaction, which may read: names that nobody has made, too.
    let mut work = at_follower.begin(&Options::default()).unwrap();
    let mut kept = Kept::default();
    work.run("MATCH (n:Nobody {none: 1}) RETURN count(n)", &ValueMap::new(), &mut kept).unwrap();
    assert_eq!(kept.0, ["0"]);
    let failure = work.run("CREATE (:Nobody)", &ValueMap::new(), &mut kept).unwrap_err();
    assert_eq!(failure.code, NOT_A_LEADER);
    drop(work);
    let batches = "UNWIND range(1, 3) AS i CALL (i) { CREATE (:Batch) } IN TRANSACTIONS OF 1 ROW";
    assert_eq!(refusal(attempt(&at_follower, batches)).0, NOT_A_LEADER);
    assert_eq!(run(&at_leader, "MATCH (n) RETURN count(n)"), ["1"]);
    // Routes, databases and servers: a node that is late with its record counts as gone until then.
    let at = |port| format!("127.0.0.1:{port}");
    eventually("routes", || {
        let table = follower.routes("telar", None).unwrap();
        let all = follower.routes("system", None).unwrap().write;
        let right = table.write == [at(port)] && table.read == [at(3 - port)];
        (right && table.route == [at(1), at(2)] && all == table.route).then_some(())
    });
    assert!(follower.routes("nowhere", None).is_none());
    let shown = "SHOW DATABASE telar YIELD address, writer, currentStatus";
    let truth = |holds| if holds { "TRUE" } else { "FALSE" };
    let line = |port, writer| format!("'{}' {} 'online'", at(port), truth(writer));
    eventually("both have it", || {
        (run(&at_follower, shown) == [line(1, port == 1), line(2, port == 2)]).then_some(())
    });
    let servers = "SHOW SERVERS YIELD name, address, health";
    let server = |node: &str, port| format!("'{node}' '{}' 'Available'", at(port));
    eventually("both are there", || {
        (run(&at_follower, servers) == [server("a", 1), server("b", 2)]).then_some(())
    });
    let reader = user(leader, "ann", "reader");
    assert_eq!(refusal(attempt(&reader, "SHOW SERVERS")).0, FORBIDDEN);
    assert_eq!(refusal(attempt(&reader, "CALL telar.cluster.transfer()")).0, FORBIDDEN);
    drop((at_leader, at_follower, reader));
    close(a);
    close(b);
}

#[test]
fn a_leader_without_a_lease_says_so() {
    let place = Place::new();
    let mut settings = place.settings("a");
    settings.cluster.as_mut().unwrap().election =
        Election { ttl: Duration::from_secs(1), ..Election::default() };
    let node = place.open("a", settings).unwrap();
    node.join("127.0.0.1:1".to_owned(), None).unwrap();
    let client = admin(&node);
    let count = "MATCH (n:Person) RETURN count(n)";
    eventually("a commit", || attempt(&client, "CREATE (:Person)").ok());
    // A file is no store.
    let (store, away) = (place.path("store"), place.path("away"));
    std::fs::rename(&store, &away).unwrap();
    std::fs::write(&store, "").unwrap();
    let (code, message) =
        refusal(Err(eventually("the end of the lease", || attempt(&client, count).err())));
    assert_eq!(code, NOT_A_LEADER);
    assert!(message.contains("cannot know whether it still does"), "{message}");
    std::fs::remove_file(&store).unwrap();
    std::fs::rename(&away, &store).unwrap();
    let found = eventually("reads", || attempt(&client, count).ok());
    assert_eq!(found, ["1"]);
    drop(client);
    close(node);
}

#[test]
fn users_and_databases_are_those_of_the_cluster() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    // Each node is asked for something, and both know it.
    let ann = user(&a, "ann", "reader");
    eventually("ann at b", || login(&b, "ann", "password of ann").ok());
    run(&admin(&b), "CREATE DATABASE shop");
    run(&admin(&b), "GRANT ROLE writer TO ann ON DATABASE shop");
    let [leader, follower] = by_leader([&a, &b], "shop");
    let writer = eventually("ann at the leader", || login(leader, "ann", "password of ann").ok());
    eventually("a commit", || try_on(&writer, &on("shop"), "CREATE (:Item {name: 'loom'})").ok());
    let reader = login(follower, "ann", "password of ann").unwrap();
    let items = "MATCH (n:Item) RETURN n.name";
    eventually("the item", || {
        try_on(&reader, &on("shop"), items).ok().filter(|found| *found == ["'loom'"])
    });
    drop((writer, reader, ann));
    // What the one stops the other stops, with its data where it was.
    run(&admin(&a), "STOP DATABASE shop");
    for node in [&a, &b] {
        eventually("its end", || {
            try_on(&admin(node), &on("shop"), items).err().filter(|e| e.code == UNAVAILABLE)
        });
    }
    run(&admin(&b), "START DATABASE shop");
    for node in [&a, &b] {
        eventually("its start", || {
            try_on(&admin(node), &on("shop"), items).ok().filter(|found| *found == ["'loom'"])
        });
    }
    // A node that was away finds out.
    close(b);
    run(&admin(&a), "DROP DATABASE shop");
    run(&admin(&a), "CREATE DATABASE depot");
    run(&admin(&a), "DROP USER ann");
    let b = place.node("b", 2);
    assert_eq!(refusal(try_on(&admin(&b), &on("shop"), items)).0, NOT_FOUND);
    assert_eq!(run_on(&admin(&b), "depot", "MATCH (n) RETURN count(n)"), ["0"]);
    assert_eq!(login(&b, "ann", "password of ann").unwrap_err().code, UNAUTHORIZED);
    // Both at once: each change is made, and made once.
    std::thread::scope(|scope| {
        for (node, name) in [(&a, "left"), (&b, "right")] {
            scope.spawn(move || {
                let admin = admin(node);
                for number in 0..10 {
                    run(&admin, &format!("CREATE USER {name}{number} SET PASSWORD 'long enough'"));
                }
            });
        }
    });
    for node in [&a, &b] {
        let users = "SHOW USERS YIELD user";
        eventually("all of them", || (run(&admin(node), users).len() == 21).then_some(()));
    }
    close(a);
    close(b);
}

#[test]
fn a_leader_that_hands_over_ends_its_transactions_and_follows() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, follower] = by_leader([&a, &b], "telar");
    let client = admin(leader);
    eventually("a commit", || attempt(&client, "CREATE (:Kept)").ok());
    // One has written, one waits for its client.
    let mut writes = client.begin(&Options::default()).unwrap();
    let mut kept = Kept::default();
    writes.run("CREATE (:Lost)", &ValueMap::new(), &mut kept).unwrap();
    let other = admin(leader);
    let idle = other.begin(&Options::default()).unwrap();
    assert_eq!(refusal(attempt(&admin(follower), "CALL telar.cluster.transfer()")).0, NOT_A_LEADER);
    assert_eq!(run(&client, "CALL telar.cluster.transfer()"), ["TRUE"]);
    eventually("the other leads", || follower.copy("telar").filter(|copy| copy.leads()));
    let failure = writes.run("CREATE (:Lost)", &ValueMap::new(), &mut kept).unwrap_err();
    assert_eq!(failure.code, NOT_A_LEADER);
    drop(writes);
    let code = idle.commit().map(drop).map_err(|failure| failure.code);
    assert!(matches!(code, Ok(()) | Err(NOT_A_LEADER)), "{code:?}");
    let terminated = |access| client.terminated(&Options { access, ..Options::default() }).code;
    assert_eq!(terminated(AccessMode::Write), NOT_A_LEADER);
    assert_eq!(terminated(AccessMode::Read), "Neo.TransientError.Transaction.Terminated");
    // While its copy is opened anew, and after that.
    assert_eq!(&*client.database_name(None).unwrap(), "telar");
    eventually("a commit", || attempt(&admin(follower), "CREATE (:Kept)").ok());
    eventually("it follows", || {
        let found = attempt(&client, "MATCH (n:Kept) RETURN count(n)").ok();
        found.filter(|found| *found == ["2"])
    });
    assert_eq!(run(&client, "MATCH (n:Lost) RETURN count(n)"), ["0"]);
    eventually("one writer", || {
        (writers(leader, "telar") == writers(follower, "telar")).then_some(())
    });
    assert_eq!(refusal(attempt(&client, "CREATE (:Kept)")).0, NOT_A_LEADER);
    drop((client, other));
    close(a);
    close(b);
}

#[test]
fn a_leader_that_was_deposed_shows_nothing_before_its_copy_is_opened_anew() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, follower] = by_leader([&a, &b], "telar");
    let client = admin(leader);
    eventually("a commit", || attempt(&client, "CREATE (:Thing)").ok());
    // Whoever has the database keeps its copy from being opened anew.
    let database = leader.database(Some("telar")).unwrap();
    let backend = database.backend();
    assert!(backend.snapshot().is_ok());
    run(&client, "CALL telar.cluster.transfer()");
    eventually("a commit", || attempt(&admin(follower), "CREATE (:Thing)").ok());
    // It knows nothing of that one, and is no leader's any more.
    let reads = backend.snapshot().map(drop).unwrap_err();
    let writes = backend.begin(Isolation::Snapshot).map(drop).unwrap_err();
    for refused in [reads, writes] {
        assert_eq!(refused.kind, ErrorKind::NotALeader, "{}", refused.message);
    }
    drop(database);
    let count = "MATCH (n:Thing) RETURN count(n)";
    eventually("it follows", || attempt(&client, count).ok().filter(|found| *found == ["2"]));
    drop(client);
    close(a);
    close(b);
}

/// Status and body of a request over HTTP.
fn ask(address: SocketAddr, path: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let basic = "bmVvNGo6TmVvNGoncyBzZWNyZXQ=";
    let head = format!(
        "POST /db/telar/query/v2{path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Authorization: Basic {basic}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
}

#[test]
fn transactions_over_http_hear_that_their_node_leads_no_more() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, follower] = by_leader([&a, &b], "telar");
    eventually("a commit", || attempt(&admin(leader), "CREATE (:Kept)").ok());
    let (local, metrics) = ("127.0.0.1:0".parse().unwrap(), Arc::new(Metrics::new()));
    let settings = http::Settings::default();
    let server = http::Server::start(local, None, Arc::clone(leader), settings, metrics).unwrap();
    let begin = |body: &str| {
        let (status, answer) = ask(server.address(), "/tx", body);
        assert_eq!(status, 202, "{answer}");
        let id = answer.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
        format!("/tx/{id}")
    };
    let [commits, writes] = [(); 2].map(|()| begin(r#"{"statement": "CREATE (:Lost)"}"#));
    let reads = begin(r#"{"statement": "MATCH (n) RETURN n", "accessMode": "READ"}"#);
    let transfer = r#"{"statement": "CALL telar.cluster.transfer()"}"#;
    assert_eq!(ask(server.address(), "", transfer).0, 202);
    eventually("the other leads", || follower.copy("telar").filter(|copy| copy.leads()));
    // Until it is ended it may be asked, and its commit is refused.
    let (status, answer) = ask(server.address(), &format!("{commits}/commit"), "");
    assert!(status == 421 && answer.contains(NOT_A_LEADER), "{answer}");
    let ended = |path: &str| {
        eventually("its end", || {
            Some(ask(server.address(), path, "")).filter(|(status, _)| *status != 202)
        })
    };
    let (status, answer) = ended(&writes);
    assert!(status == 421 && answer.contains(NOT_A_LEADER), "{answer}");
    let (_, answer) = ended(&reads);
    assert!(answer.contains("Transaction.Terminated"), "{answer}");
    assert_eq!(run(&admin(follower), "MATCH (n:Lost) RETURN count(n)"), ["0"]);
    drop(server);
    close(a);
    close(b);
}

/// Sends a write with an id until it is answered; its bookmark.
fn send_once(client: &Client, id: &str) -> String {
    let metadata = [(Arc::from("telar_once"), Value::from(id))].into_iter().collect();
    let options = Options { metadata, ..Options::default() };
    eventually("an answer", || {
        let (mut kept, none) = (Kept::default(), ValueMap::new());
        let done = client.run(&options, "CREATE (:Order)", &none, &mut kept);
        done.ok().map(|done| done.bookmark.unwrap().to_string())
    })
}

#[test]
fn an_id_commits_once_whoever_leads_and_after_a_restart() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, follower] = by_leader([&a, &b], "telar");
    let first = send_once(&admin(leader), "one");
    send_once(&admin(leader), "two");
    assert_eq!(send_once(&admin(leader), "one"), first);
    // On the next leader, which has it from the log.
    assert_eq!(run(&admin(leader), "CALL telar.cluster.transfer()"), ["TRUE"]);
    eventually("the other leads", || follower.copy("telar").filter(|copy| copy.leads()));
    assert_eq!(send_once(&admin(follower), "one"), first);
    let third = send_once(&admin(follower), "three");
    let port = if Arc::ptr_eq(follower, &a) { 1 } else { 2 };
    close(a);
    close(b);
    // On a node that has it from its own checkpoint.
    let node = if port == 1 { "a" } else { "b" };
    let last = place.node(node, port);
    let client = admin(&last);
    assert_eq!((send_once(&client, "one"), send_once(&client, "three")), (first, third));
    assert_eq!(run(&client, "MATCH (o:Order) RETURN count(o)"), ["3"]);
    drop(client);
    close(last);
}

/// Without bookmarks, and while both nodes change roles.
#[test]
fn latest_reads_on_a_follower_are_never_behind_what_was_acknowledged() {
    let place = Place::new();
    let [a, b] = [("a", 1), ("b", 2)].map(|(node, port)| {
        let mut settings = place.settings(node);
        settings.cluster.as_mut().unwrap().latest_reads = true;
        let dbms = place.open(node, settings).unwrap();
        dbms.join(format!("127.0.0.1:{port}"), None).unwrap();
        dbms
    });
    let [leader, follower] = by_leader([&a, &b], "telar");
    eventually("a commit", || attempt(&admin(leader), "CREATE (:Counter {n: 0})").ok());
    let (acknowledged, ended) = (AtomicU64::new(0), AtomicBool::new(false));
    let order = Ordering::SeqCst;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let _end = SetOnDrop(&ended);
            // Once by each leader.
            for (node, target) in [(leader, 100), (follower, 200)] {
                let client = admin(node);
                for next in target - 99..=target {
                    let text = format!("MATCH (c:Counter) SET c.n = {next}");
                    eventually("a commit", || attempt(&client, &text).ok());
                    acknowledged.store(next, order);
                }
                if target == 100 {
                    assert_eq!(run(&client, "CALL telar.cluster.transfer()"), ["TRUE"]);
                }
            }
        });
        for node in [leader, follower, follower] {
            scope.spawn(|| {
                let (client, mut reads, begun) = (admin(node), 0, Instant::now());
                // One that began late reads once, at least.
                while !ended.load(order) || reads == 0 {
                    let before = acknowledged.load(order);
                    let in_transaction = reads % 2 == 0;
                    let text = "MATCH (c:Counter) RETURN c.n";
                    let found = if in_transaction {
                        client.begin(&Options::default()).and_then(|mut work| {
                            let mut kept = Kept::default();
                            work.run(text, &ValueMap::new(), &mut kept).map(|_| kept.0)
                        })
                    } else {
                        attempt(&client, text)
                    };
                    // A node that is deposed refuses for a moment.
                    let Ok(found) = found else {
                        assert!(reads > 0 || begun.elapsed() < PATIENCE, "nothing is read");
                        continue;
                    };
                    let found: u64 = found[0].parse().unwrap();
                    assert!(found >= before, "{found} was read after {before}");
                    reads += 1;
                }
            });
        }
    });
    close(a);
    close(b);
}

#[test]
fn a_folder_belongs_to_one_cluster_or_to_none() {
    let place = Place::new();
    close(place.node("a", 1));
    let message = |opened: Result<Arc<Dbms>, Failure>| opened.map(drop).unwrap_err().message;
    // Without its cluster.
    let found = message(Dbms::open(Some(&place.path("a")), settings()).map(Arc::new));
    assert!(found.contains("holds copies of a cluster's databases"), "{found}");
    // In another one: by name, by store, and in the same one after it was made anew.
    let cluster = |name: &str, store: &str| {
        let (store, name, node) = (store.to_owned(), name.to_owned(), "a".to_owned());
        let cluster =
            Some(ClusterSettings { store, name, node, votes: true, ..ClusterSettings::default() });
        place.open("a", DbmsSettings { cluster, ..settings() })
    };
    let other = format!("dir:{}", place.path("other").display());
    for (name, store) in [("other", &place.store()), ("test", &other)] {
        let found = message(cluster(name, store));
        assert!(found.contains("not in the store any more"), "{found}");
    }
    std::fs::rename(place.path("store"), place.path("away")).unwrap();
    close(place.node("b", 2));
    let found = message(cluster("test", &place.store()));
    assert!(found.contains("belongs to another cluster"), "{found}");
    // A database of its own is no copy, and another default database is another cluster.
    let plain = Dbms::open(Some(&place.path("plain")), settings()).unwrap();
    plain.close().unwrap();
    let found = message(place.open("plain", place.settings("c")));
    assert!(found.contains("holds a database that belongs to no cluster"), "{found}");
    let renamed = DbmsSettings { default_database: "graph".into(), ..place.settings("d") };
    let found = message(place.open("d", renamed));
    assert!(found.contains("is called 'telar', not 'graph'"), "{found}");
    // Names and stores that cannot be.
    let here = &*place.store();
    for (node, store, setting) in [
        ("a/b", here, "cluster.node"),
        ("", here, "cluster.node"),
        ("e", "s3://bucket", "cluster.store"),
        ("e", "dir:/dev/null/store", "cluster.store"),
    ] {
        let (store, name, node) = (store.to_owned(), "test".to_owned(), node.to_owned());
        let cluster =
            Some(ClusterSettings { store, name, node, votes: true, ..ClusterSettings::default() });
        let found = message(place.open("e", DbmsSettings { cluster, ..settings() }));
        assert!(found.contains(setting), "{found}");
    }
    let in_memory = Dbms::open(None, place.settings("f")).map(Arc::new);
    assert!(message(in_memory).contains("needs a folder"));
}

#[test]
fn a_report_shows_who_is_there_and_who_leads() {
    let place = Place::new();
    assert!(Report::read(&place.store(), "test").is_err(), "there is nothing yet");
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    // On a busy machine a lease may lapse, and a member be late with what shows that it is there.
    eventually("a report of what is", || {
        let [leader, _] = by_leader([&a, &b], "telar");
        let replica = &leader.copy("telar")?.replica;
        let (node, epoch) = (replica.leader(), replica.epoch());
        let report = Report::read(&place.store(), "test").unwrap();
        let there = report.members.iter().map(|m| (&*m.member.node, m.is_live()));
        let [database] = &*report.databases else { panic!("{report:?}") };
        let positions: Vec<_> = database.positions.keys().map(String::as_str).collect();
        (there.eq([("a", true), ("b", true)])
            && (&*database.name, &database.leader, database.epoch) == ("telar", &node, epoch)
            && database.oldest <= database.last() + 1
            && database.last() >= 1
            && positions == ["a", "b"])
        .then_some(())
    });
    assert!(Report::read(&place.store(), "other").is_err());
    close(a);
    close(b);
    let report = Report::read(&place.store(), "test").unwrap();
    assert!(report.members.iter().all(|m| m.member.left && !m.is_live()), "{report:?}");
    assert_eq!(report.databases[0].leader, None, "it was given up");
}

#[test]
fn a_node_that_ends_keeps_no_lease_whenever_it_does() {
    let place = Place::new();
    let lease = || {
        let key = Keys::new("test").unwrap().database("telar-0").unwrap();
        let entry = Stores::open(&place.store()).unwrap().coordination.get(&key).unwrap();
        entry.map(|entry| Lease::decode(&entry.value).unwrap())
    };
    for pause in [None, Some(0), Some(0), Some(1), Some(2), Some(5), Some(20)] {
        let node = place.node("a", 1);
        if let Some(pause) = pause {
            // From the write of the lease on.
            let asks = || node.copy("telar").filter(|copy| copy.replica.is_holder());
            let begun = Instant::now();
            while asks().is_none() {
                assert!(begun.elapsed() < PATIENCE, "it never asked for the lease");
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(pause));
        }
        close(node);
        let found = lease();
        assert!(found.as_ref().is_none_or(|lease| lease.released), "{pause:?} ms: {found:?}");
    }
    assert!(lease().is_some(), "it never led");
}
