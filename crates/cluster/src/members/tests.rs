//! Members over a folder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::*;
use crate::store::{Entry, Stores};

/// A store that may be out of reach of everybody.
#[derive(Debug)]
struct Away {
    store: Arc<dyn Coordination>,
    is_away: AtomicBool,
}

impl Away {
    fn check(&self) -> Result<(), StoreError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable { store: "it".into(), why: "away".into() });
        }
        Ok(())
    }
}

impl Coordination for Away {
    fn get(&self, key: &Name) -> Result<Option<Entry>, StoreError> {
        self.check()?;
        self.store.get(key)
    }

    fn put_if(&self, key: &Name, expected: Version, value: &[u8]) -> Result<PutIf, StoreError> {
        self.check()?;
        self.store.put_if(key, expected, value)
    }

    fn list(&self, prefix: &str) -> Result<Vec<Entry>, StoreError> {
        self.check()?;
        self.store.list(prefix)
    }
}

fn stores() -> (tempfile::TempDir, Stores) {
    let folder = tempfile::tempdir().unwrap();
    let stores = Stores::open(&format!("dir:{}", folder.path().display())).unwrap();
    (folder, stores)
}

fn join(stores: &Stores, cluster: &str, node: &'static str) -> Members {
    let keys = Keys::new(cluster).unwrap();
    let describe = move |holder| Member::new(node, holder, "127.0.0.1:7687");
    Members::join(&stores.coordination, &keys, node, describe).unwrap()
}

fn names(members: &Members) -> Vec<(String, bool)> {
    let all = members.all().into_iter();
    all.map(|seen| (seen.member.node.clone(), seen.is_live())).collect()
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn members_see_each_other_and_those_of_other_clusters_do_not() {
    let (_folder, stores) = stores();
    let a = join(&stores, "one", "a");
    assert_eq!(names(&a).len(), 1, "the first beat is there at once");
    let b = join(&stores, "one", "b");
    assert_eq!(names(&b).len(), 2);
    let other = join(&stores, "two", "c");
    // Who is late with a beat is not live for a moment.
    wait_until("c is alone", || names(&other) == [("c".to_owned(), true)]);
    let both = [("a".to_owned(), true), ("b".to_owned(), true)];
    wait_until("b sees a", || names(&b) == both);
    wait_until("a sees b", || names(&a) == both);
    drop(b);
    let left = [("a".to_owned(), true), ("b".to_owned(), false)];
    wait_until("b has left", || names(&a) == left);
    // It comes again under its name, as another process.
    let b = join(&stores, "one", "b");
    wait_until("b is back", || names(&a) == both);
    assert!(!a.is_displaced() && !b.is_displaced());
}

#[test]
fn of_two_processes_of_one_name_the_later_one_has_it() {
    let (_folder, stores) = stores();
    let first = join(&stores, "one", "a");
    let second = join(&stores, "one", "a");
    wait_until("the first one notices", || first.is_displaced());
    let seen = second.all();
    assert_eq!((seen.len(), seen[0].member.holder), (1, second.holder()));
    // The first one's end does not make the second one look as if it had left.
    drop(first);
    thread::sleep(2 * BEAT_EVERY);
    wait_until("the second one is there", || names(&second) == [("a".to_owned(), true)]);
    assert!(!second.is_displaced());
}

#[test]
fn a_member_is_removed_until_it_starts_again() {
    let (_folder, stores) = stores();
    let (a, b) = (join(&stores, "one", "a"), join(&stores, "one", "b"));
    let keys = Keys::new("one").unwrap();
    let remove = |node| remove(&*stores.coordination, &keys, node);
    assert!(!remove("c").unwrap());
    drop(b);
    assert!(remove("b").unwrap());
    assert!(!remove("b").unwrap(), "it is none any more");
    wait_until("b is gone", || names(&a) == [("a".to_owned(), true)]);
    assert_eq!(observe(&*stores.coordination, &keys).unwrap().len(), 1);
    let _b = join(&stores, "one", "b");
    wait_until("b is back", || names(&a).len() == 2);
}

#[test]
fn nobody_is_silent_while_the_store_takes_no_beats() {
    let (_folder, mut stores) = stores();
    let (store, is_away) = (Arc::clone(&stores.coordination), AtomicBool::new(false));
    let away = Arc::new(Away { store, is_away });
    stores.coordination = Arc::clone(&away) as Arc<dyn Coordination>;
    let (a, _b) = (join(&stores, "one", "a"), join(&stores, "one", "b"));
    let keys = Keys::new("one").unwrap();
    // A member that ends without a word.
    let silent = Member::new("c", 7, "127.0.0.1:7687").encode().unwrap();
    let put = away.put_if(&keys.member("c").unwrap(), Version::ABSENT, &silent);
    assert!(matches!(put, Ok(PutIf::Won(_))), "{put:?}");
    let all = |c| ["a", "b", "c"].map(|node| (node.to_owned(), node != "c" || c));
    wait_until("a sees all", || names(&a) == all(true));
    away.is_away.store(true, Ordering::SeqCst);
    let begun = Instant::now();
    while begun.elapsed() < LIVE_FOR + 3 * BEAT_EVERY {
        assert_eq!(names(&a), all(true), "after {:?}", begun.elapsed());
        thread::sleep(BEAT_EVERY / 10);
    }
    away.is_away.store(false, Ordering::SeqCst);
    wait_until("a writes again", || a.error().is_none());
    assert_eq!(names(&a), all(true));
    wait_until("c is silent", || names(&a) == all(false));
}
