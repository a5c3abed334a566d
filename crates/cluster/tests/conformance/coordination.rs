//! Checks of values with versions.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::{
    Coordination, Entry, ErrorKind, Name, PutIf, StoreError, VALUE_BYTES_MAX, Version,
};

use crate::{Fixture, name};

fn get(values: &dyn Coordination, key: &Name) -> Option<Entry> {
    loop {
        match values.get(key) {
            Ok(found) => return found,
            Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
        }
    }
}

pub(crate) fn one_of_many_replaces_a_version(store: &impl Fixture) {
    const WRITERS: usize = 6;
    const ROUNDS: usize = 10;
    let barrier = Barrier::new(WRITERS);
    let run = |writer: usize| {
        let values = store.open().coordination;
        let (key, mut version, mut wins) = (name("race"), Version::ABSENT, Vec::new());
        for round in 0..ROUNDS {
            barrier.wait();
            let value = format!("{round} {writer}");
            match values.put_if(&key, version, value.as_bytes()).unwrap() {
                PutIf::Won(_) => wins.push(round),
                PutIf::Lost(found) => {
                    let found = String::from_utf8(found.unwrap().value).unwrap();
                    assert!(found.starts_with(&format!("{round} ")) && found != value, "{found}");
                }
                PutIf::Unknown(cause) => panic!("{cause}"),
            }
            barrier.wait();
            let new = values.get(&key).unwrap().unwrap().version;
            assert!(new > version);
            version = new;
        }
        wins
    };
    let run = &run;
    let mut wins: Vec<usize> = thread::scope(|scope| {
        let threads: Vec<_> = (0..WRITERS).map(|w| scope.spawn(move || run(w))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    wins.sort_unstable();
    assert_eq!(wins, (0..ROUNDS).collect::<Vec<_>>());
}

/// Each adds 1 with an own mark; unknown outcomes are resolved by reading until the version that
/// was expected is gone.
pub(crate) fn counters_count_every_win(store: &impl Fixture) {
    let (writers, each) = if store.is_faulty() { (3_u64, 10_u64) } else { (4, 25) };
    let key = name("counter");
    let run = |writer: u64| {
        let values = store.open().coordination;
        let key = name("counter");
        // The value is a list of all additions, so one that counts twice or never is seen.
        for number in 0..each {
            let own = format!("{writer}.{number};");
            loop {
                let (version, mut value) = get(&*values, &key)
                    .map_or((Version::ABSENT, Vec::new()), |found| (found.version, found.value));
                if String::from_utf8_lossy(&value).contains(&format!(";{own}")) {
                    break;
                }
                if value.is_empty() {
                    value.push(b';');
                }
                value.extend_from_slice(own.as_bytes());
                match values.put_if(&key, version, &value) {
                    Ok(PutIf::Won(_)) => break,
                    Ok(_) => {}
                    Err(cause) => assert_eq!(cause.kind(), ErrorKind::Unavailable, "{cause}"),
                }
            }
        }
    };
    let run = &run;
    thread::scope(|scope| {
        for writer in 0..writers {
            scope.spawn(move || run(writer));
        }
    });
    let found = get(&*store.open().coordination, &key).unwrap();
    let marks = String::from_utf8(found.value).unwrap();
    let mut marks: Vec<&str> = marks.split_terminator(';').skip(1).collect();
    marks.sort_unstable();
    let all = marks.len();
    marks.dedup();
    assert_eq!((all as u64, marks.len() as u64), (writers * each, writers * each));
}

pub(crate) fn versions_grow_and_values_of_all_sizes_come_back(store: &impl Fixture) {
    let values = store.open().coordination;
    let key = name("members/a");
    assert_eq!(values.get(&key).unwrap(), None);
    let lost = values.put_if(&key, Version::from_raw(1), b"x").unwrap();
    assert!(matches!(lost, PutIf::Lost(None)), "{lost:?}");
    let mut version = Version::ABSENT;
    for bytes in (0..80).chain([VALUE_BYTES_MAX - 1, VALUE_BYTES_MAX]) {
        let value = vec![bytes as u8; bytes];
        let put = values.put_if(&key, version, &value).unwrap();
        let PutIf::Won(won) = put else { panic!("{put:?}") };
        assert!(won > version);
        for old in [Version::ABSENT, version] {
            let lost = values.put_if(&key, old, b"other").unwrap();
            let PutIf::Lost(Some(found)) = lost else { panic!("{lost:?}") };
            assert_eq!(found, Entry { key: key.clone(), value: value.clone(), version: won });
        }
        version = won;
        let found = store.open().coordination.get(&key).unwrap().unwrap();
        assert_eq!((found.value, found.version), (value, version));
    }
    let error = values.put_if(&key, version, &vec![0; VALUE_BYTES_MAX + 1]).unwrap_err();
    assert!(matches!(error, StoreError::TooLarge { .. }));
    assert_eq!(values.get(&key).unwrap().unwrap().version, version);
}

pub(crate) fn lists_are_by_prefix_and_sorted(store: &impl Fixture) {
    let values = store.open().coordination;
    assert!(values.list("").unwrap().is_empty());
    let keys = ["members/b", "members/a", "members", "member-s", "lease", "members/a/x"];
    for key in keys {
        let put = values.put_if(&name(key), Version::ABSENT, key.as_bytes()).unwrap();
        assert!(matches!(put, PutIf::Won(_)));
    }
    let list = |prefix: &str| -> Vec<String> {
        let found = values.list(prefix).unwrap();
        assert!(found.iter().all(|entry| entry.value == entry.key.as_str().as_bytes()));
        found.into_iter().map(|entry| entry.key.as_str().to_owned()).collect()
    };
    assert_eq!(list("members/"), ["members/a", "members/a/x", "members/b"]);
    assert_eq!(list("members/a"), ["members/a", "members/a/x"]);
    assert_eq!(list("x"), [""; 0]);
    let mut all = keys.map(str::to_owned);
    all.sort();
    assert_eq!(list(""), all);
}

/// A watcher that is slow, or cut off for a while, or sees a stale state, ends at the last one.
pub(crate) fn watchers_see_the_last_value(store: &impl Fixture) {
    const LAST: u64 = 20;
    let key = name("watched/key");
    let watch = |pause: Duration| {
        let values = store.open().coordination;
        let (mut seen, mut last) = (Vec::new(), 0);
        let end = Instant::now() + Duration::from_secs(60);
        while last < LAST {
            assert!(Instant::now() < end, "{last}");
            let Ok(found) = values.watch("watched/", &seen, Duration::from_secs(1)) else {
                continue;
            };
            let [entry] = &found[..] else {
                assert!(found.is_empty(), "{found:?}");
                continue;
            };
            let number = entry.value.len() as u64;
            assert!(number >= last, "{number} after {last}");
            (last, seen) = (number, found);
            thread::sleep(pause);
        }
    };
    let watch = &watch;
    thread::scope(|scope| {
        for pause in [0, 1, 7] {
            scope.spawn(move || watch(Duration::from_millis(pause)));
        }
        let values = store.open().coordination;
        let other = name("watch-other");
        let _ = values.put_if(&other, Version::ABSENT, b"not watched");
        loop {
            let found = get(&*values, &key);
            let (version, mut value) =
                found.map_or((Version::ABSENT, Vec::new()), |found| (found.version, found.value));
            if value.len() as u64 >= LAST {
                break;
            }
            value.push(0);
            let _ = values.put_if(&key, version, &value);
        }
    });
}
