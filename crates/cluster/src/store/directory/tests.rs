//! What only a store in a folder can do wrong.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::store::{Coordination, ErrorKind, Log, Put, PutIf, Slot, SlotRange, Stores, Version};

fn name(text: &str) -> Name {
    Name::new(text).unwrap()
}

fn range(first: u64, next: u64) -> SlotRange {
    SlotRange::new(first, next).unwrap()
}

fn put(store: &Directory, first: u64, next: u64, body: &[u8]) -> Slot {
    let put = store.put_once(&name("s"), range(first, next), body).unwrap();
    assert!(matches!(put, Put::Won), "{put:?}");
    Slot { range: range(first, next), body: body.to_vec() }
}

#[test]
fn a_folder_with_something_else_is_refused() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("letter"), "dear reader").unwrap();
    let error = Directory::open(folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Data);
    assert!(error.to_string().contains("neither a store nor empty"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join(MARK_NAME), "telar store in a folder, format 9\n").unwrap();
    let error = Directory::open(folder.path()).unwrap_err().to_string();
    assert!(error.contains("does not know its format"), "{error}");
}

#[test]
fn urls_open_folders() {
    let folder = TempDir::new().unwrap();
    let url = format!("dir:{}/deep/store", folder.path().display());
    let stores = Stores::open(&url).unwrap();
    assert!(stores.images.is_some());
    assert!(Stores::open(&url).is_ok());
}

#[test]
fn many_processes_may_make_the_same_store_at_once() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a/b");
    std::thread::scope(|scope| {
        for slot in 1..9 {
            let path = &path;
            scope.spawn(move || {
                let store = Directory::open(path).unwrap();
                let key = name(&slot.to_string());
                let made = store.put_if(&key, Version::ABSENT, b"x").unwrap();
                assert!(matches!(made, PutIf::Won(_)), "{made:?}");
            });
        }
    });
    let store = Directory::open(&path).unwrap();
    assert_eq!(Coordination::list(&store, "").unwrap().len(), 8);
    assert_eq!(fs::read_dir(path.join("new")).unwrap().count(), 0);
}

/// A writer looks at the mark, sleeps while others fill, read and trim the log, and links its slot,
/// whose name is free again. The test puts the file there by hand.
fn leave_late_slot(root: &Path, first: u64, next: u64) {
    let other = TempDir::new().unwrap();
    let late = Directory::open(other.path()).unwrap();
    put(&late, 1, first, b"before");
    put(&late, first, next, b"late");
    let file = format!("log/s/slots/{}", number_name(first));
    fs::copy(other.path().join(&file), root.join(&file)).unwrap();
}

#[test]
fn a_slot_that_a_sleeper_left_before_the_mark_is_none() {
    let folder = TempDir::new().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    for first in 1..10 {
        put(&store, first, first + 1, b"x");
    }
    assert_eq!(store.trim(&name("s"), 10).unwrap(), 10);
    leave_late_slot(folder.path(), 5, 50);
    for from in [10, 20] {
        assert_eq!(store.read(&name("s"), from, 100).unwrap(), [], "{from}");
    }
    assert_eq!(store.trim(&name("s"), 60).unwrap(), 10);
    leave_late_slot(folder.path(), 5, 50);
    let slot = put(&store, 10, 12, b"next");
    assert_eq!(store.read(&name("s"), 10, 100).unwrap(), [slot]);
    let error = store.put_once(&name("s"), range(5, 50), b"late").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Behind);
    store.trim(&name("s"), 12).unwrap();
    assert_eq!(fs::read_dir(folder.path().join("log/s/slots")).unwrap().count(), 0);
    assert_eq!(fs::read_dir(folder.path().join("log/s/trimmed")).unwrap().count(), 1);
}

#[test]
fn trimming_again_removes_what_one_that_was_cut_off_left() {
    // All of the log, and a part of it.
    for (mark, left) in [(10, 0), (7, 3)] {
        let folder = TempDir::new().unwrap();
        let store = Directory::open(folder.path()).unwrap();
        for first in 1..10 {
            put(&store, first, first + 1, b"x");
        }
        let trimmed = folder.path().join("log/s/trimmed");
        fs::create_dir_all(&trimmed).unwrap();
        fs::write(trimmed.join(number_name(mark)), "").unwrap();
        assert_eq!(store.trim(&name("s"), mark).unwrap(), mark);
        let slots = fs::read_dir(folder.path().join("log/s/slots")).unwrap().count();
        assert_eq!(slots, left);
    }
}

#[test]
fn a_version_that_a_sleeper_left_replaces_nothing() {
    let folder = TempDir::new().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    let key = name("k");
    for version in 0..100 {
        let put = store.put_if(&key, Version::from_raw(version), &version.to_le_bytes()).unwrap();
        assert!(matches!(put, PutIf::Won(found) if found.get() == version + 1));
    }
    let versions = || fs::read_dir(folder.path().join("keys/k")).unwrap().count();
    assert!(versions() <= 34, "{}", versions());
    // As a sleeper would: its name is free again.
    let file = folder.path().join("keys/k").join(number_name(100));
    fs::copy(&file, folder.path().join("keys/k").join(number_name(7))).unwrap();
    let found = store.get(&key).unwrap().unwrap();
    assert_eq!((found.version.get(), found.value), (100, 99_u64.to_le_bytes().to_vec()));
    let put = store.put_if(&key, found.version, b"next").unwrap();
    assert!(matches!(put, PutIf::Won(_)));
    assert!(!folder.path().join("keys/k").join(number_name(7)).exists());
}

#[test]
fn damaged_files_are_errors() {
    let folder = TempDir::new().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    put(&store, 1, 5, b"some bytes");
    assert!(matches!(store.put_if(&name("k"), Version::ABSENT, b"value"), Ok(PutIf::Won(_))));
    let slot = folder.path().join("log/s/slots").join(number_name(1));
    let value = folder.path().join("keys/k").join(number_name(1));
    for path in [&slot, &value] {
        let whole = fs::read(path).unwrap();
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(path, &bytes).unwrap();
            let error = if path == &slot {
                store.read(&name("s"), 1, 1).unwrap_err()
            } else {
                store.get(&name("k")).unwrap_err()
            };
            assert_eq!(error.kind(), ErrorKind::Data, "byte {at}: {error}");
        }
        for bytes in [&whole[..5], &[]] {
            fs::write(path, bytes).unwrap();
        }
        fs::write(path, whole).unwrap();
    }
    assert_eq!(store.read(&name("s"), 1, 1).unwrap().len(), 1);
}

#[test]
fn files_of_dead_writers_are_removed_and_young_ones_stay() {
    let folder = TempDir::new().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    let new = files::write_small(&store.new, 0, b"of a writer that died").unwrap();
    std::mem::forget(new);
    let count = || fs::read_dir(folder.path().join("new")).unwrap().count();
    drop(Directory::open(folder.path()).unwrap());
    assert_eq!(count(), 1);
    std::thread::sleep(Duration::from_millis(20));
    store.remove_old_files(Duration::from_millis(1)).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn foreign_files_are_passed_over() {
    let folder = TempDir::new().unwrap();
    let store = Directory::open(folder.path()).unwrap();
    let slot = put(&store, 1, 2, b"x");
    store
        .put_part(&name("s"), crate::store::PartName { slot: 2, nonce: 3, index: 0 }, b"p")
        .unwrap();
    for file in ["log/s/slots/README", "log/s/slots/2", "log/s/parts/2-3-0", "keys/.x"] {
        fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
        fs::write(folder.path().join(file), "text").unwrap();
    }
    assert_eq!(store.read(&name("s"), 1, 100).unwrap(), [slot]);
    assert_eq!(store.parts(&name("s"), 0).unwrap().len(), 1);
    assert_eq!(Coordination::list(&store, "").unwrap(), []);
}
