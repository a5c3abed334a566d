//! Graphs of neighbours in files: when they are written, what of them is used, and what becomes of
//! damage.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use telar_graph::VertexId;
use telar_graph::update::IndexedObjects;

use super::near_file::{self, Fault, folder_of};
use super::near_tests::{
    DIMENSIONS, Names, Random, compare, list, make, named, names_of, write as write_some,
};
use crate::maintenance::{NearHealth, RepairOptions, Severity, check, repair};
use crate::{Engine, Settings};

fn settings() -> Settings {
    Settings { background_interval_ms: 0, store_bytes_max: 1 << 28, ..Settings::default() }
}

fn open(dir: &Path) -> Names {
    names_of(Engine::open(dir, settings()).unwrap())
}

fn files(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder_of(dir)).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

fn path_of(dir: &Path, names: &Names) -> PathBuf {
    folder_of(dir).join(near_file::name_of(names.index.get()))
}

fn health(names: &Names) -> NearHealth {
    names.db.health().near.unwrap()
}

fn add(names: &Names, count: usize, random: &mut Random) -> Vec<VertexId> {
    let mut txn = names.db.begin().unwrap();
    let mut add = || {
        let v = txn.create_vertex(&[names.label]).unwrap();
        txn.set_vertex_property(v, names.key, list(&random.vector())).unwrap();
        v
    };
    let added = (0..count).map(|_| add()).collect();
    txn.commit().unwrap();
    added
}

fn search(names: &Names, random: &mut Random) {
    let (mut hits, mut all) = (0, 0);
    for _ in 0..20 {
        let (h, a) = compare(names, &names.db.snapshot().unwrap(), random);
        (hits, all) = (hits + h, all + a);
    }
    assert!(hits as f64 >= 0.97 * all as f64, "{hits} of {all}");
}

fn bytes_of(names: &Names) -> usize {
    names.db.indexes().iter().find(|info| info.name == "v").unwrap().bytes
}

#[test]
fn graphs_of_every_size_are_there_after_an_opening() {
    for count in [0, 1, 63, 64, 200, 1000] {
        let dir = tempfile::tempdir().unwrap();
        let mut random = Random(count as u64);
        let names = open(dir.path());
        add(&names, count, &mut random);
        search(&names, &mut random);
        names.db.close().unwrap();
        // A block of vectors is what is linked at least.
        let expected = usize::from(count >= 64);
        assert_eq!(files(dir.path()).len(), expected, "{count}");
        let names = open(dir.path());
        search(&names, &mut random);
        assert_eq!((health(&names).read, health(&names).refused), (expected as u64, 0), "{count}");
        search(&names, &mut random);
        // As many slots as before: nothing was linked once more.
        let after = names.db.shared.indexes.find(names.index).unwrap();
        assert_eq!(after.near.slots(), count as u64 / 64 * 64, "{count}");
        names.db.close().unwrap();
        assert_eq!(check(dir.path()).unwrap().findings, [], "{count}");
    }
}

#[test]
fn commits_after_the_file_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(3);
    let names = open(dir.path());
    let mut vertices = add(&names, 500, &mut random);
    search(&names, &mut random);
    names.db.checkpoint().unwrap();
    assert_eq!(health(&names).written, 1);
    let mut names = names;
    for round in 0..6 {
        for _ in 0..5 {
            write_some(&names, &mut vertices, &mut random);
        }
        if round % 3 == 1 {
            names.db.checkpoint().unwrap();
        }
        // The log is replayed.
        drop(names);
        names = open(dir.path());
        search(&names, &mut random);
        assert_eq!((health(&names).read, health(&names).refused), (1, 0), "round {round}");
    }
}

#[test]
fn a_file_is_written_when_much_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(4);
    let names = open(dir.path());
    add(&names, 1024, &mut random);
    search(&names, &mut random);
    names.db.checkpoint().unwrap();
    let file = |names: &Names| fs::metadata(path_of(dir.path(), names)).unwrap().ino();
    let first = file(&names);
    names.db.checkpoint().unwrap();
    // An eighth of 1024 is not linked yet.
    add(&names, 64, &mut random);
    search(&names, &mut random);
    names.db.checkpoint().unwrap();
    assert_eq!((file(&names), health(&names).written), (first, 1));
    add(&names, 64, &mut random);
    search(&names, &mut random);
    names.db.checkpoint().unwrap();
    assert_ne!(file(&names), first);
    assert_eq!(health(&names).written, 2);
    let image = fs::read(path_of(dir.path(), &names)).unwrap();
    names.db.close().unwrap();
    // An opening that links nothing writes nothing.
    let names = open(dir.path());
    search(&names, &mut random);
    names.db.close().unwrap();
    let names = open(dir.path());
    assert_eq!(fs::read(path_of(dir.path(), &names)).unwrap(), image);
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(5);
    let names = open(dir.path());
    add(&names, 200, &mut random);
    search(&names, &mut random);
    let path = path_of(dir.path(), &names);
    names.db.close().unwrap();
    let good = fs::read(&path).unwrap();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let newer = {
        let mut bytes = good.clone();
        bytes[8] = near_file::VERSION as u8 + 1;
        let crc = crc32fast::hash(&bytes[..60]);
        bytes[60..64].copy_from_slice(&crc.to_le_bytes());
        bytes
    };
    let behind = [&good[..], b"x"].concat();
    let damages = [
        (Vec::new(), "ends too early"),
        (good[..40].to_vec(), "ends too early"),
        (good[..good.len() - 1].to_vec(), "ends too early"),
        (behind, "something behind its end"),
        (flipped(3), "does not begin"),
        (flipped(50), "checksum of its header"),
        (flipped(70), "checksum of the head of a graph"),
        (flipped(good.len() / 2), "checksum of block"),
        (newer.clone(), "it is of version 2, and this program reads version 1"),
    ];
    for (bytes, what) in damages {
        fs::write(&path, &bytes).unwrap();
        let found = check(dir.path()).unwrap();
        let expected = if bytes == newer { Severity::Newer } else { Severity::Damage };
        assert_eq!(found.worst(), Some(expected), "{what}");
        assert!(found.findings[0].file.starts_with("near"), "{what}: {:?}", found.findings);
        // A repaired database has no file.
        let repaired = tempfile::tempdir().unwrap();
        let to = repaired.path().join("new");
        repair(dir.path(), &to, RepairOptions::default()).unwrap();
        assert_eq!(files(&to).len(), 0);
        let names = open(dir.path());
        search(&names, &mut random);
        let seen = health(&names);
        assert_eq!((seen.read, seen.refused), (0, 1), "{what}");
        assert!(seen.error.as_ref().is_some_and(|e| e.contains(what)), "{what}: {seen:?}");
        // The graph that was built takes its place.
        names.db.close().unwrap();
        near_file::check(&path).unwrap();
        assert_eq!(check(dir.path()).unwrap().findings, []);
    }
}

#[test]
fn a_file_of_another_index_or_database_is_not_used() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let mut random = Random(6);
    for dir in &dirs {
        let names = open(dir.path());
        add(&names, 200, &mut random);
        search(&names, &mut random);
        names.db.close().unwrap();
    }
    let names = open(dirs[0].path());
    let path = path_of(dirs[0].path(), &names);
    names.db.close().unwrap();
    fs::copy(&path, folder_of(dirs[1].path()).join(path.file_name().unwrap())).unwrap();
    let names = open(dirs[1].path());
    search(&names, &mut random);
    assert_eq!((health(&names).read, health(&names).refused), (0, 1));
    // Under the same name, with vectors of another length: another number, and no old file.
    let old = path_of(dirs[1].path(), &names);
    let label = names.label;
    names.db.checkpoint().unwrap();
    let bytes = fs::read(&old).unwrap();
    names.db.drop_index(names.index).unwrap();
    let id = make(&names.db, "v", IndexedObjects::Vertices(label), names.key, DIMENSIONS - 1);
    assert_ne!(id, names.index);
    names.db.checkpoint().unwrap();
    assert_eq!(files(dirs[1].path()).len(), 0);
    names.db.close().unwrap();
    let foreign = folder_of(dirs[1].path()).join(near_file::name_of(id.get()));
    fs::write(&foreign, bytes).unwrap();
    let names = open(dirs[1].path());
    let index = names.db.shared.indexes.find(id).unwrap();
    names.db.shared.indexes.load(&index, &names.db.shared).unwrap();
    index.near.begin(&index, &names.db.shared);
    let said = health(&names).error.unwrap();
    assert!(said.contains(&Fault::Foreign.to_string()), "{said}");
    assert_eq!(index.near.slots(), 0);
}

#[test]
fn two_indexes_have_two_files_and_dropped_ones_none() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(7);
    let names = open(dir.path());
    let other = make(&names.db, "w", IndexedObjects::Vertices(names.label), names.key, DIMENSIONS);
    add(&names, 200, &mut random);
    search(&names, &mut random);
    let mut of_other = names;
    of_other.index = other;
    search(&of_other, &mut random);
    let db = &of_other.db;
    db.checkpoint().unwrap();
    assert_eq!(files(dir.path()).len(), 2);
    fs::write(folder_of(dir.path()).join("9.graph.new"), "half").unwrap();
    db.drop_index(other).unwrap();
    db.checkpoint().unwrap();
    let left = named(db, "v").unwrap();
    assert_eq!(files(dir.path()), [near_file::name_of(left.get())]);
    let bytes = bytes_of(&of_other);
    db.drop_index(left).unwrap();
    of_other.db.close().unwrap();
    assert_eq!(files(dir.path()).len(), 0);
    assert!(bytes > 200 * DIMENSIONS);
}

/// A graph that took the place of another is written, however small it is.
#[test]
fn a_graph_that_was_made_anew_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = Random(8);
    let names = open(dir.path());
    let vertices = add(&names, 300, &mut random);
    search(&names, &mut random);
    names.db.checkpoint().unwrap();
    let mut written = health(&names).written;
    for _ in 0..12 {
        let mut txn = names.db.begin().unwrap();
        for v in &vertices {
            txn.set_vertex_property(*v, names.key, list(&random.vector())).unwrap();
        }
        txn.commit().unwrap();
        search(&names, &mut random);
        names.db.settle();
        search(&names, &mut random);
        names.db.checkpoint().unwrap();
        let now = health(&names).written;
        assert!(now >= written);
        written = now;
    }
    let slots = names.db.shared.indexes.find(names.index).unwrap().near.slots();
    names.db.close().unwrap();
    let names = open(dir.path());
    search(&names, &mut random);
    assert_eq!((health(&names).read, health(&names).refused), (1, 0));
    let read = names.db.shared.indexes.find(names.index).unwrap().near.slots();
    // At most an eighth was not written, and what of it is of use still was linked again.
    assert!(read <= slots && 9 * read >= 8 * slots, "{read} of {slots}");
}
