//! Clusters that begin with a server's data, with a backup's, or anew after the store is lost.

use std::path::PathBuf;

use super::cluster::{NAMES, Place, by_leader, make, things};
use super::*;
use crate::dbms::{Founding, remove_member};

fn founding(place: &Place, store: &str) -> Result<Founding, Failure> {
    let url = format!("dir:{}", place.path(store).display());
    Founding::new(&url, "test", telar_db::Settings::default())
}

fn init(place: &Place, from: &[PathBuf], folder: &str) -> Result<Vec<(String, u64)>, Failure> {
    founding(place, "store")?.init(from, &place.path(folder), "telar", |_, _| {})
}

/// A server's folder with two databases, a user and an index.
fn server(place: &Place) -> PathBuf {
    let path = place.path("server");
    let dbms = stored(&path);
    let client = admin(&dbms);
    run(&client, "CREATE CONSTRAINT FOR (n:Thing) REQUIRE n.name IS UNIQUE");
    run(&client, "CREATE (:Thing {name: 'loom'})-[:HAS {n: 1}]->(:Thing {name: 'warp'})");
    run(&client, "CREATE DATABASE shop");
    run_on(&client, "shop", "CREATE (:Item {name: 'yarn'})");
    user(&dbms, "ann", "reader");
    drop(client);
    Arc::into_inner(dbms).unwrap().close().unwrap();
    path
}

#[test]
fn a_cluster_begins_with_a_server() {
    let place = Place::new();
    let from = server(&place);
    let begun = init(&place, std::slice::from_ref(&from), "a").unwrap();
    let names: Vec<_> = begun.iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["telar", "shop"]);
    assert!(begun.iter().all(|(_, commit)| *commit > 0), "{begun:?}");
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    for node in [&a, &b] {
        things(node, &["'loom'", "'warp'"]);
        let shop = "MATCH (n:Item) RETURN n.name";
        eventually("the shop", || try_on(&admin(node), &on("shop"), shop).ok());
        assert_eq!(run_on(&admin(node), "shop", shop), ["'yarn'"]);
        login(node, "ann", "password of ann").unwrap();
        assert_eq!(run(&admin(node), "SHOW CONSTRAINTS YIELD properties").len(), 1);
    }
    let [leader, _] = by_leader([&a, &b], "telar");
    // Relationships are found from both ends, and the constraint holds.
    let text =
        "MATCH (a:Thing)-[r:HAS {n: 1}]->(b) SET r.n = 2 CREATE (:Thing {name: b.name + 's'})";
    eventually("a commit", || attempt(&admin(leader), text).ok());
    things(&a, &["'loom'", "'warp'", "'warps'"]);
    things(&b, &["'loom'", "'warp'", "'warps'"]);
    assert!(attempt(&admin(leader), "CREATE (:Thing {name: 'loom'})").is_err());
    close(a);
    close(b);
    // What it began with is as it was, and a server's.
    let dbms = stored(&from);
    assert_eq!(run(&admin(&dbms), NAMES), ["'loom'", "'warp'"]);
    Arc::into_inner(dbms).unwrap().close().unwrap();
}

#[test]
fn a_cluster_begins_with_backups() {
    let place = Place::new();
    let dbms = stored(&place.path("graph"));
    let client = admin(&dbms);
    run(&client, "CREATE (:Thing {name: 'loom'})");
    let graph = dbms.database(None).unwrap();
    let mut options = telar_db::maintenance::BackupOptions::default();
    graph.engine().backup(place.path("monday"), &options).unwrap();
    run(&client, "CREATE (:Thing {name: 'warp'})");
    options.since = Some(place.path("monday"));
    graph.engine().backup(place.path("tuesday"), &options).unwrap();
    drop((graph, client, dbms));
    let begun = init(&place, &[place.path("monday"), place.path("tuesday")], "a").unwrap();
    assert_eq!(begun.len(), 1);
    let a = place.node("a", 1);
    things(&a, &["'loom'", "'warp'"]);
    close(a);
}

#[test]
fn a_cluster_does_not_begin_with_what_is_none_or_twice() {
    let place = Place::new();
    let from = server(&place);
    let message = |done: Result<Vec<(String, u64)>, Failure>| done.unwrap_err().message;
    let found = message(init(&place, &[place.path("nothing")], "a"));
    assert!(found.contains("no server's folder and no backup"), "{found}");
    let found = message(init(&place, &[], "a"));
    assert!(found.contains("--from"), "{found}");
    let found = message(init(&place, &[from.clone(), from.clone()], "a"));
    assert!(found.contains("only backups can be several"), "{found}");
    let found = message(init(&place, std::slice::from_ref(&from), "server"));
    assert!(found.contains("is not empty"), "{found}");
    let running = stored(&from);
    let found = message(init(&place, std::slice::from_ref(&from), "used"));
    assert!(found.contains("cannot open"), "{found}");
    drop(running);
    init(&place, std::slice::from_ref(&from), "a").unwrap();
    let found = message(init(&place, &[from], "b"));
    assert!(found.contains("there is a cluster 'test'"), "{found}");
    close(place.node("a", 1));
    let other = founding(&place, "other").unwrap();
    let found = message(other.init(&[place.path("a")], &place.path("c"), "telar", |_, _| {}));
    assert!(found.contains("holds copies of a cluster's databases"), "{found}");
    let found = message(other.recover(&place.path("server"), &[]));
    assert!(found.contains("is no node's folder"), "{found}");
}

#[test]
fn a_cluster_whose_store_is_lost_begins_anew_with_a_node() {
    let place = Place::new();
    let (a, b) = (place.node("a", 1), place.node("b", 2));
    let [leader, _] = by_leader([&a, &b], "telar");
    make(leader, "loom");
    user(leader, "ann", "reader");
    run(&admin(leader), "CREATE DATABASE shop");
    for node in [&a, &b] {
        things(node, &["'loom'"]);
        eventually("the shop", || try_on(&admin(node), &on("shop"), NAMES).ok());
    }
    close(b);
    make(&a, "warp");
    close(a);
    std::fs::remove_dir_all(place.path("store")).unwrap();
    let unknown = founding(&place, "store").unwrap().recover(&place.path("a"), &["none".into()]);
    assert!(unknown.unwrap_err().message.contains("--without"));
    let begun = founding(&place, "store").unwrap().recover(&place.path("a"), &[]).unwrap();
    assert_eq!(begun.len(), 2);
    let a = place.node("a", 1);
    things(&a, &["'loom'", "'warp'"]);
    login(&a, "ann", "password of ann").unwrap();
    // The other one may have what this one has not: its folder is another cluster's now.
    let refused = place.open("b", place.settings("b")).map(drop).unwrap_err();
    assert!(refused.message.contains("belongs to another cluster"), "{}", refused.message);
    std::fs::remove_dir_all(place.path("b")).unwrap();
    let b = place.node("b", 2);
    things(&b, &["'loom'", "'warp'"]);
    make(by_leader([&a, &b], "telar")[0], "weft");
    things(&a, &["'loom'", "'warp'", "'weft'"]);
    things(&b, &["'loom'", "'warp'", "'weft'"]);
    // A node that does not come back.
    let url = place.store();
    let refused = |node: &str, why: &str| {
        // One that wrote nothing for a while is removed, until it writes again.
        eventually(why, || {
            let done = remove_member(&url, "test", node);
            done.err().filter(|failure| failure.message.contains(why))
        });
    };
    refused("b", "stop it first");
    refused("c", "has no node 'c', but a, b");
    close(b);
    remove_member(&url, "test", "b").unwrap();
    eventually("its end", || (a.servers().len() == 1).then_some(()));
    close(a);
}
