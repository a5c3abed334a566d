//! Clusters whose log is in one store, and whose users, members and leases are in another.

use telar_cluster::keys::Keys;
use telar_cluster::store::Stores;

use super::cluster::{Place, by_leader, make, things};
use super::*;
use crate::dbms::{Founding, Report, StoreUrls, remove_member};

fn url(place: &Place, name: &str) -> String {
    format!("dir:{}", place.path(name).display())
}

/// Settings of a node with these stores.
fn with(place: &Place, node: &str, store: &str, coordination: Option<&str>) -> DbmsSettings {
    let mut settings = place.settings(node);
    let cluster = settings.cluster.as_mut().unwrap();
    cluster.store = url(place, store);
    cluster.coordination = coordination.map(|name| url(place, name));
    settings
}

/// A node that has joined; its number is its port.
fn start(place: &Place, (node, port): (&str, u16)) -> Arc<Dbms> {
    place.joined(node, port, with(place, node, "log", Some("rest")))
}

#[test]
fn a_log_and_a_coordination_in_two_stores_are_one_cluster() {
    let place = Place::new();
    let urls = || StoreUrls::new(url(&place, "log"), Some(url(&place, "rest")));
    let (a, b) = (start(&place, ("a", 1)), start(&place, ("b", 2)));
    let [leader, follower] = by_leader([&a, &b], "telar");
    make(leader, "loom");
    things(follower, &["'loom'"]);
    user(follower, "ann", "reader");

    // Each store has its part, and nothing of the other's.
    let open = |name: &str| Stores::open(&url(&place, name)).unwrap();
    let (log, rest) = (open("log"), open("rest"));
    let keys = Keys::new("test").unwrap();
    let (stream, members) = (keys.database("telar-0").unwrap(), keys.members());
    // Bytes first: both nodes have all of it, so it may be trimmed at any time.
    assert!(log.log.bytes(&stream).unwrap() > 0 || log.log.oldest(&stream).unwrap() > 1);
    assert_eq!(rest.log.oldest(&stream).unwrap(), 1);
    assert_eq!(rest.log.bytes(&stream).unwrap(), 0);
    let count = |stores: &Stores, prefix: &str| stores.coordination.list(prefix).unwrap().len();
    assert_eq!((count(&log, &members), count(&rest, &members)), (0, 2));
    assert_eq!((count(&log, &keys.databases()), count(&rest, &keys.databases())), (0, 1));

    // The leader ends, and the other one takes over.
    let a_leads = Arc::ptr_eq(leader, &a);
    let (gone, left) = if a_leads { (a, b) } else { (b, a) };
    let (of_gone, of_left) = if a_leads { (("a", 1), ("b", 2)) } else { (("b", 2), ("a", 1)) };
    close(gone);
    make(&left, "warp");
    things(&left, &["'loom'", "'warp'"]);
    eventually("a report of the new leader", || {
        let report = Report::read(urls(), "test").unwrap();
        (report.databases[0].leader.as_deref() == Some(of_left.0)).then_some(())
    });
    remove_member(urls(), "test", of_gone.0).unwrap();
    eventually("its end", || (left.servers().len() == 1).then_some(()));
    // Who looks at one of the two is told of the other.
    let found = Report::read(&url(&place, "log"), "test").unwrap_err().message;
    assert!(found.contains("--coordination"), "{found}");
    let found = remove_member(&url(&place, "rest"), "test", of_left.0).unwrap_err().message;
    assert!(found.contains("has its log in another one"), "{found}");
    let back = start(&place, of_gone);
    things(&back, &["'loom'", "'warp'"]);
    close(back);
    close(left);

    // A store is lost: what is left of the cluster does not begin with another one.
    let recover = || Founding::new(urls(), "test", telar_db::Settings::default());
    std::fs::remove_dir_all(place.path("log")).unwrap();
    let found = recover().unwrap_err().message;
    assert!(found.contains("does not have the log of the cluster"), "{found}");
    std::fs::remove_dir_all(place.path("rest")).unwrap();
    let begun = recover().unwrap().recover(&place.path(of_left.0), &[]).unwrap();
    assert_eq!(begun.len(), 1);
    let left = start(&place, of_left);
    things(&left, &["'loom'", "'warp'"]);
    login(&left, "ann", "password of ann").unwrap();
    make(&left, "weft");
    let refused = place.open(of_gone.0, with(&place, of_gone.0, "log", Some("rest")));
    let refused = refused.map(drop).unwrap_err().message;
    assert!(refused.contains("belongs to another cluster"), "{refused}");
    close(left);
}

#[test]
fn a_node_that_is_told_of_other_stores_does_not_start() {
    let place = Place::new();
    close(start(&place, ("a", 1)));
    let refusal = |node: &str, store: &str, coordination: Option<&str>| {
        let opened = place.open(node, with(&place, node, store, coordination));
        opened.map(drop).unwrap_err().message
    };
    // One that was there before, and a new one.
    for node in ["a", "b"] {
        for (store, coordination, why) in [
            ("log", None, "name that one as cluster.coordination"),
            ("rest", None, "has its log in another one"),
            ("rest", Some("log"), "are the two exchanged?"),
            ("new", Some("rest"), "does not have the log of the cluster 'test'"),
            ("log", Some("new"), "has the log of a cluster 'test' that is not in"),
        ] {
            let found = refusal(node, store, coordination);
            assert!(found.contains(why), "{node} {store} {coordination:?}: {found}");
        }
    }
    let found = refusal("a", "new", Some("other"));
    assert!(found.contains("not in the store any more"), "{found}");
    close(start(&place, ("a", 1)));
    close(start(&place, ("b", 2)));
}
