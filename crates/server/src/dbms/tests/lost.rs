//! A cluster whose store loses, under live nodes, what it had taken.

use std::fs;

use super::cluster::{Place, by_leader};
use super::*;

/// Removes the slots of all logs.
fn empty_logs(place: &Place) {
    for log in fs::read_dir(place.path("store/log")).unwrap() {
        for slot in fs::read_dir(log.unwrap().path().join("slots")).unwrap() {
            fs::remove_file(slot.unwrap().path()).unwrap();
        }
    }
}

#[test]
fn nodes_stop_at_a_store_that_has_lost_their_log() {
    let place = Place::new();
    let nodes = [place.node("a", 1), place.node("b", 2)];
    let [leader, follower] = by_leader([&nodes[0], &nodes[1]], "telar");
    run(&admin(leader), "CREATE (:Thing {name: 'loom'})");
    let count = "MATCH (n:Thing) RETURN count(n)";
    eventually("the thing", || attempt(&admin(follower), count).ok().filter(|n| *n == ["1"]));
    empty_logs(&place);
    for node in [leader, follower] {
        let failure = eventually("a refusal", || attempt(&admin(node), count).err());
        assert_eq!(failure.code, UNAVAILABLE, "{failure:?}");
        assert!(failure.message.contains("telar cluster recover"), "{}", failure.message);
    }
    // What they have stays, whatever comes of the store.
    nodes.into_iter().for_each(close);
    let error = place.open("a", place.settings("a")).map(drop).unwrap_err();
    assert!(error.message.contains("ends before commit"), "{}", error.message);
}
