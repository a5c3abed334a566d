//! Clusters that are founded in two stores, in steps, by several, and with stores that do not
//! belong together.

use tempfile::TempDir;

use super::super::shared;
use super::*;

const DEFAULT: &str = "telar";

struct Place {
    folder: TempDir,
    keys: Keys,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), keys: Keys::new("test").unwrap() }
    }

    fn url(&self, name: &str) -> String {
        format!("dir:{}", self.folder.path().join(name).display())
    }

    fn open(&self, store: &str, coordination: Option<&str>) -> Opened {
        let urls = StoreUrls::new(self.url(store), coordination.map(|name| self.url(name)));
        urls.open(|setting, error| invalid(format!("{setting}: {error}"))).unwrap()
    }

    /// Founds a cluster, or finds it, as a node that starts.
    fn start(&self, store: &str, coordination: Option<&str>) -> Result<Identity, QueryError> {
        shared::found(&self.open(store, coordination), &self.keys, DEFAULT, true)
    }

    /// Founds a cluster and breaks off before the log is its own.
    fn break_off(&self, store: &str, coordination: &str) -> (Opened, Identity) {
        let opened = self.open(store, Some(coordination));
        let identity = opened.new_identity(&self.keys, DEFAULT).unwrap();
        assert!(opened.found(&self.keys, &identity).unwrap());
        (opened, identity)
    }

    #[track_caller]
    fn refused(&self, store: &str, coordination: Option<&str>, why: &str) {
        let found = self.start(store, coordination).unwrap_err().message;
        assert!(found.contains(why), "{store} {coordination:?}: {found}");
    }
}

#[test]
fn all_that_start_with_the_same_two_stores_are_of_one_cluster() {
    let place = Place::new();
    let starts: Vec<_> = std::thread::scope(|scope| {
        let begun: Vec<_> =
            (0..4).map(|_| scope.spawn(|| place.start("log", Some("rest")).unwrap())).collect();
        begun.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(starts[0].log.is_some());
    assert!(starts.iter().all(|identity| *identity == starts[0]), "{starts:?}");
    let known = place.open("log", Some("rest")).identity(&place.keys).unwrap();
    assert_eq!(known.as_ref(), Some(&starts[0]));
}

#[test]
fn stores_that_do_not_belong_together_are_refused_and_stay_as_they_are() {
    let place = Place::new();
    let identity = place.start("log", Some("rest")).unwrap();
    let whole = place.start("whole", None).unwrap();
    for (store, coordination, why) in [
        ("log", None, "name that one as cluster.coordination"),
        ("rest", None, "has its log in another one"),
        ("rest", Some("log"), "are the two exchanged?"),
        ("rest", Some("new"), "has the coordination of the cluster 'test', and not its log"),
        ("log", Some("new"), "has the log of a cluster 'test' that is not in"),
        ("new", Some("rest"), "does not have the log of the cluster 'test'"),
        ("new", Some("log"), "has the log of a cluster 'test': is it"),
        ("whole", Some("new"), "has all of the cluster 'test': leave"),
        ("whole", Some("rest"), "has all of the cluster 'test': leave"),
        ("log", Some("whole"), "has all of the cluster 'test': name it as cluster.store"),
        ("new", Some("whole"), "has all of the cluster 'test': name it as cluster.store"),
    ] {
        place.refused(store, coordination, why);
    }
    let new = place.open("new", None).stores.coordination;
    assert!(new.list("").unwrap().is_empty(), "something was written before it was refused");
    assert_eq!(place.start("log", Some("rest")).unwrap(), identity);
    assert_eq!(place.start("whole", None).unwrap(), whole);
}

#[test]
fn one_url_for_both_is_one_store() {
    let place = Place::new();
    let identity = place.start("all", Some("all")).unwrap();
    assert_eq!(identity.log, None);
    assert_eq!(place.start("all", Some("all/")).unwrap(), identity);
    assert_eq!(place.start("all", None).unwrap(), identity);
}

#[test]
fn one_store_by_two_names_is_refused_and_can_still_be_used() {
    let place = Place::new();
    std::fs::create_dir(place.folder.path().join("all")).unwrap();
    let at = |name: &str| place.folder.path().join(name);
    std::os::unix::fs::symlink(at("all"), at("same")).unwrap();
    for _ in 0..2 {
        place.refused("all", Some("same"), "is it the one of cluster.store");
    }
    let identity = place.start("all", None).unwrap();
    place.refused("all", Some("same"), "has all of the cluster 'test'");
    assert_eq!(place.start("same", None).unwrap(), identity);
}

#[test]
fn a_start_that_broke_off_is_taken_up_by_the_next() {
    let place = Place::new();
    // After the first step, and after the second.
    let first = place.open("log", Some("rest")).new_identity(&place.keys, DEFAULT).unwrap();
    let (opened, second) = place.break_off("log", "rest");
    assert_eq!(first.log, second.log);
    assert_eq!(opened.identity(&place.keys).unwrap(), Some(second.clone()));
    assert!(!opened.found(&place.keys, &first).unwrap(), "it was there");
    assert_eq!(place.start("log", Some("rest")).unwrap(), second);
    place.refused("log", Some("new"), "that is not in that of cluster.coordination");
}

#[test]
fn of_clusters_that_begin_with_one_log_one_has_it() {
    let place = Place::new();
    let (left, of_left) = place.break_off("log", "left");
    let (right, of_right) = place.break_off("log", "right");
    assert_eq!(of_left.log, of_right.log);
    right.claim_log(&place.keys, &of_right).unwrap();
    let late = left.claim_log(&place.keys, &of_left).unwrap_err().message;
    assert!(late.contains("meanwhile"), "{late}");
    place.refused("log", Some("left"), "does not have the log of the cluster 'test'");
    assert_eq!(place.start("log", Some("right")).unwrap(), of_right);

    // The same, where one of them wants to have all in one store.
    let (apart, of_apart) = place.break_off("other", "rest");
    let whole = place.start("other", None).unwrap();
    assert_eq!(whole.log, None);
    let late = apart.claim_log(&place.keys, &of_apart).unwrap_err().message;
    assert!(late.contains("meanwhile"), "{late}");
    assert_eq!(place.start("other", None).unwrap(), whole);
}
