//! Logs of a cluster that are kept short, and nodes that begin with an image.

use std::path::Path;

use telar_cluster::keys::Keys;
use telar_cluster::store::{Name, Stores};
use telar_cluster::upkeep::Limits;

use super::cluster::{self, NAMES, Place, by_leader, make, refusal};
use super::*;
use crate::dbms::Report;
use crate::metrics::Metrics;
use crate::{bolt, http, server};

/// A cluster's store, looked at from outside.
struct Look {
    stores: Stores,
    keys: Keys,
}

impl Look {
    fn at(place: &Place) -> Self {
        Self { stores: Stores::open(&place.store()).unwrap(), keys: Keys::new("test").unwrap() }
    }

    fn stream(&self, folder: &str) -> Name {
        self.keys.database(folder).unwrap()
    }

    fn oldest(&self) -> u64 {
        self.stores.log.oldest(&self.stream("telar-0")).unwrap()
    }

    fn images(&self) -> usize {
        self.stores.images.as_ref().unwrap().list(&self.keys.images("telar-0")).unwrap().len()
    }
}

fn limited(place: &Place, node: &str, limits: Limits) -> DbmsSettings {
    let mut settings = place.settings(node);
    settings.cluster.as_mut().unwrap().limits = limits;
    settings
}

fn joined(place: &Place, node: &str, port: u16, limits: Limits) -> Arc<Dbms> {
    place.joined(node, port, limited(place, node, limits))
}

fn things(dbms: &Arc<Dbms>, names: &[&str]) {
    let quoted: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
    cluster::things(dbms, &quoted.iter().map(String::as_str).collect::<Vec<_>>());
}

fn leftovers(folder: &Path) -> Vec<String> {
    let names = std::fs::read_dir(folder.join("dbms/databases")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name != "telar-0").collect()
}

#[test]
fn a_new_node_begins_with_an_image_where_the_log_was_trimmed() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, _] = by_leader([&a, &b], "telar");
    run_until(leader, "CREATE CONSTRAINT FOR (n:Thing) REQUIRE n.name IS UNIQUE");
    for name in ["loom", "shuttle", "warp"] {
        make(leader, name);
    }
    let look = Look::at(&place);
    let last = leader.copy("telar").unwrap().replica.position().unwrap().get();
    eventually("nothing is kept that both have", || (look.oldest() > last).then_some(()));
    eventually("its slots are gone", || {
        (look.stores.log.bytes(&look.stream("telar-0")).unwrap() == 0).then_some(())
    });
    assert_eq!(look.images(), 0);
    // Nobody serves HTTP here: the leader puts an image into the store.
    let c = place.node("c", 3);
    let shown = attempt(&admin(&c), NAMES);
    if let Err(failure) = &shown {
        assert_eq!(failure.code, UNAVAILABLE, "{}", failure.message);
        assert!(failure.message.contains("this node's copy of it is being made"), "{failure:?}");
        assert_eq!(failure.message.matches("is not available").count(), 1, "{failure:?}");
    }
    things(&c, &["loom", "shuttle", "warp"]);
    assert!(look.images() <= 1);
    make(leader, "weft");
    for node in [&a, &b, &c] {
        things(node, &["loom", "shuttle", "warp", "weft"]);
    }
    let constraints = "SHOW CONSTRAINTS YIELD labelsOrTypes";
    assert_eq!(run(&admin(&c), constraints), run(&admin(&a), constraints));
    // The image goes with the log that went on from it.
    make(leader, "yarn");
    eventually("no image", || (look.images() == 0).then_some(()));
    assert!(leftovers(&place.path("c")).is_empty());
    // It is a copy as others are: it leads when the others are gone.
    close(a);
    close(b);
    make(&c, "thread");
    close(c);
}

fn run_until(dbms: &Arc<Dbms>, text: &str) {
    eventually("a commit", || attempt(&admin(dbms), text).ok());
}

#[test]
fn a_node_that_was_away_for_long_begins_anew() {
    let place = Place::new();
    let limits = Limits {
        copies: 1,
        patience: Duration::from_secs(4),
        bytes_max: Limits::default().bytes_max,
    };
    let (a, b) = (joined(&place, "a", 1, limits), joined(&place, "b", 2, limits));
    make(by_leader([&a, &b], "telar")[0], "loom");
    things(&a, &["loom"]);
    things(&b, &["loom"]);
    close(b);
    let look = Look::at(&place);
    make(&a, "shuttle");
    make(&a, "warp");
    let last = a.copy("telar").unwrap().replica.position().unwrap().get();
    eventually("nobody waits for it any more", || (look.oldest() > last).then_some(()));
    let b = joined(&place, "b", 2, limits);
    things(&b, &["loom", "shuttle", "warp"]);
    assert!(leftovers(&place.path("b")).is_empty());
    make(by_leader([&a, &b], "telar")[0], "weft");
    things(&a, &["loom", "shuttle", "warp", "weft"]);
    things(&b, &["loom", "shuttle", "warp", "weft"]);
    close(a);
    close(b);
}

#[test]
fn a_log_that_is_full_takes_no_commits_until_enough_have_it() {
    let place = Place::new();
    let limits = Limits { copies: 3, bytes_max: 40_000, ..Limits::default() };
    let a = joined(&place, "a", 1, limits);
    make(&a, "loom");
    // Texts that make the log long.
    let fill = "CREATE (:Filler {text: reduce(s = 'x', i IN range(1, 12) | s + s)})";
    let failure = eventually("it is full", || {
        let failure = attempt(&admin(&a), fill).err();
        failure.filter(|failure| failure.message.contains("cluster.log_bytes"))
    });
    assert_eq!(failure.code, UNAVAILABLE);
    assert_eq!(refusal(attempt(&admin(&a), "CREATE (:Thing)")).0, UNAVAILABLE);
    things(&a, &["loom"]);
    // Who looks from outside is told by the node's record.
    let report = eventually("a report of it", || {
        let report = Report::read(&place.store(), "test").unwrap();
        report.members[0].member.full.contains("telar-0").then_some(report)
    });
    assert_eq!(report.members[0].member.log_bytes_max, Some(limits.bytes_max));
    assert!(report.databases[0].bytes >= limits.bytes_max, "{report:?}");
    // Two copies and an image.
    let b = joined(&place, "b", 2, limits);
    things(&b, &["loom"]);
    eventually("it takes commits again", || attempt(&admin(&a), "CREATE (:Room)").ok());
    assert!(Look::at(&place).oldest() > 1);
    close(a);
    close(b);
}

#[test]
fn the_log_of_a_dropped_database_is_removed() {
    let place = Place::new();
    let a = place.node("a", 1);
    eventually("a commit", || attempt(&admin(&a), "CREATE (:Thing {name: 'loom'})").ok());
    run(&admin(&a), "CREATE DATABASE shop");
    eventually("a commit", || try_on(&admin(&a), &on("shop"), "CREATE (:Item)").ok());
    let look = Look::at(&place);
    let streams = look.stores.coordination.list(&look.keys.databases()).unwrap();
    let of_shop = streams.into_iter().find(|entry| entry.key.as_str().contains("/shop-"));
    let stream = of_shop.unwrap().key;
    assert!(look.stores.log.bytes(&stream).unwrap() > 0);
    run(&admin(&a), "DROP DATABASE shop");
    eventually("its removal", || (look.stores.log.bytes(&stream).unwrap() == 0).then_some(()));
    assert_eq!(look.oldest(), 1, "one copy is too few for the other one");
    things(&a, &["loom"]);
    close(a);
}

/// A node of the cluster with HTTP.
fn serve(place: &Place, node: &str) -> server::Server {
    let dbms = place.open(node, place.settings(node)).unwrap();
    let any = || "127.0.0.1:0".parse().unwrap();
    let http = server::Http { address: any(), tls: None, settings: http::Settings::default() };
    let bolt = bolt::Settings { address: any(), ..bolt::Settings::default() };
    let settings = server::Settings { bolt, http: Some(http) };
    server::Server::start(dbms, &settings, &Arc::new(Metrics::new())).unwrap()
}

#[test]
fn a_new_node_is_given_an_image_by_a_peer() {
    let place = Place::new();
    let (a, b) = (serve(&place, "a"), serve(&place, "b"));
    let [leader, _] = by_leader([a.dbms(), b.dbms()], "telar");
    make(leader, "loom");
    let look = Look::at(&place);
    let last = leader.copy("telar").unwrap().replica.position().unwrap().get();
    eventually("the log is trimmed", || (look.oldest() > last).then_some(()));
    let c = serve(&place, "c");
    things(c.dbms(), &["loom"]);
    assert_eq!(look.images(), 0);
    // Only who knows the cluster's secret is given one.
    let http = c.http_address().unwrap();
    let ask = |header: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(http).unwrap();
        let request = format!(
            "GET /cluster/images/telar-0 HTTP/1.1\r\nhost: localhost\r\n{header}connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer[..12]).into_owned()
    };
    for header in ["", "authorization: Bearer \r\n", "authorization: Bearer 0123\r\n"] {
        assert_eq!(ask(header), "HTTP/1.1 401", "{header}");
    }
    let secret = c.dbms().cluster_secret().unwrap();
    assert_eq!(ask(&format!("authorization: Bearer {secret}\r\n")), "HTTP/1.1 200");
    for server in [a, b, c] {
        let dbms = Arc::clone(server.dbms());
        assert!(server.shut_down(Duration::ZERO));
        close(dbms);
    }
}
