//! Repair: lossless or refused, never in place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use telar_engine::maintenance::{RepairOptions, check, compact, repair};
use telar_engine::{EdgeTypeOptions, Engine};
use telar_graph::{Value, VertexId};
use telar_tests::dump::Dump;
use telar_tests::unit::Schema;
use telar_tests::{PrintSeed, Rng};

use super::{files, open, settings, write};

type Files = BTreeMap<PathBuf, Vec<u8>>;

const STORE: &str = "store/data.mdb";

/// Many segments of edges of all kinds in the store, nothing in the log.
fn made(dir: &Path, rng: &mut Rng) -> (Files, Dump) {
    let db = open(dir);
    let time = db.property_key("time").unwrap();
    let types = [
        db.edge_type("SIMPLE", EdgeTypeOptions::simple()).unwrap(),
        db.edge_type("MULTI", EdgeTypeOptions::general()).unwrap(),
        db.edge_type("TIMED", EdgeTypeOptions::newest_first(time)).unwrap(),
    ];
    let vertices = 4000;
    let mut txn = db.begin().unwrap();
    let label = db.label("Thing").unwrap();
    for _ in 0..vertices {
        txn.create_vertex(&[label]).unwrap();
    }
    txn.commit().unwrap();
    let mut txn = db.begin().unwrap();
    for n in 0..5000 {
        if n % 300 == 299 {
            txn.commit().unwrap();
            txn = db.begin().unwrap();
        }
        let any = |rng: &mut Rng| VertexId::from_raw(rng.below(vertices));
        let (a, b) = (any(rng), any(rng));
        txn.upsert_edge(types[0], a, b).unwrap();
        txn.create_edge(types[1], a, b, &[]).unwrap();
        let when = Value::Int(rng.below(50) as i64);
        txn.create_edge(types[2], b, a, &[(time, when)]).unwrap();
    }
    txn.commit().unwrap();
    let dump = Dump::of(&db).unwrap();
    db.close().unwrap();
    (files(dir), dump)
}

fn repaired(files: &Files, dir: &Path) -> Result<Dump, telar_engine::Error> {
    let (damaged, target) = (dir.join("damaged"), dir.join("repaired"));
    write(files, &damaged);
    let _ = std::fs::remove_dir_all(&target);
    let done = repair(&damaged, &target, RepairOptions::default());
    assert_eq!(super::files(&damaged), *files, "a repair changed what it repairs");
    assert!(!dir.join("repaired.unfinished").exists());
    if let Err(e) = done {
        assert!(!target.exists(), "a refused repair left something: {e}");
        return Err(e);
    }
    assert_eq!(check(&target).unwrap().findings, []);
    Ok(Dump::of(&open(&target)).unwrap())
}

/// Pages of the store on which a value of lists lies, by what it begins with.
fn runs(store: &[u8]) -> Vec<usize> {
    (2..store.len() / 4096).filter(|p| store[p * 4096 + 10] == 4).collect()
}

#[test]
fn damaged_lists_are_rebuilt_or_the_repair_is_refused() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let (whole, dump) = made(&dir.path().join("graph"), &mut rng);
    assert_eq!(repaired(&whole, dir.path()).unwrap(), dump, "nothing was damaged");
    let runs = runs(&whole[Path::new(STORE)]);
    let (mut rebuilt, mut refused) = (0, 0);
    for _ in 0..if telar_tests::long() { 400 } else { 25 } {
        let mut damaged = whole.clone();
        let store = damaged.get_mut(Path::new(STORE)).unwrap();
        for _ in 0..=rng.below(2) {
            let page = runs[rng.below(runs.len() as u64) as usize];
            store[page * 4096 + 16 + rng.below(3000) as usize] ^= 1 << rng.below(8);
        }
        match repaired(&damaged, dir.path()) {
            Ok(found) => {
                assert_eq!(found, dump);
                rebuilt += 1;
            }
            Err(e) => {
                assert!(e.to_string().contains("restore a backup"), "{e}");
                refused += 1;
            }
        }
    }
    println!("{rebuilt} rebuilt, {refused} refused");
    assert!(rebuilt > 5, "{rebuilt} rebuilt, {refused} refused");
    // Whether chance hits both lists of an edge depends on the seed: here every list is hit.
    let mut damaged = whole.clone();
    let store = damaged.get_mut(Path::new(STORE)).unwrap();
    runs.iter().for_each(|page| store[page * 4096 + 16] ^= 1);
    let error = repaired(&damaged, dir.path()).unwrap_err().to_string();
    assert!(error.contains("restore a backup"), "{error}");
}

/// Any damage at all: what a repair returns is what was there, or it is refused.
#[test]
fn repair_never_returns_another_graph() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let (whole, dump) = made(&dir.path().join("graph"), &mut rng);
    let (mut good, mut refused) = (0, 0);
    for name in whole.keys() {
        for _ in 0..if telar_tests::long() { 300 } else { 12 } {
            let mut damaged = whole.clone();
            let bytes = damaged.get_mut(name).unwrap();
            let page = rng.below(bytes.len().div_ceil(4096) as u64) as usize * 4096;
            let place = (page + rng.below(128) as usize).min(bytes.len() - 1);
            bytes[place] ^= 1 << rng.below(8);
            match repaired(&damaged, dir.path()) {
                Ok(found) => {
                    assert_eq!(found, dump, "{} at {place}", name.display());
                    good += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    println!("{good} as they were, {refused} refused");
    assert!(good > 10, "{good} as they were, {refused} refused");
}

#[test]
fn lost_format_and_identity_are_written_anew() {
    let mut rng = Rng::new(telar_tests::seed());
    let dir = tempfile::tempdir().unwrap();
    let (mut files, dump) = made(&dir.path().join("graph"), &mut rng);
    for name in ["FORMAT", "IDENTITY", "LOCK"] {
        files.remove(Path::new(name));
    }
    assert_eq!(repaired(&files, dir.path()).unwrap(), dump);
}

#[test]
fn log_damaged_in_the_middle_is_cut_only_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let db = open(&at("graph"));
    let schema = Schema::new(&db, 1).unwrap();
    (1..=150).for_each(|n| schema.run(&db, 0, n).unwrap());
    drop(db);
    let mut files = files(&at("graph"));
    let logs: Vec<PathBuf> = files.keys().filter(|f| f.starts_with("wal")).cloned().collect();
    assert!(logs.len() > 2, "several log files");
    files.get_mut(&logs[1]).unwrap()[900] ^= 1;
    let error = repaired(&files, dir.path()).unwrap_err().to_string();
    assert!(error.contains("damaged at offset") && error.contains("would be lost"), "{error}");
    let mut options = RepairOptions::default();
    options.lose_commits = true;
    let done = repair(at("damaged"), at("prefix"), options).unwrap();
    assert_eq!(done.lost.len(), 1);
    let found = telar_tests::unit::verify(&open(&at("prefix")), 1).unwrap();
    assert!((1..150).contains(&found[0]), "{found:?}");
}

#[test]
fn compaction_gives_free_pages_back_and_keeps_everything() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let db = open(&path);
    let schema = Schema::new(&db, 1).unwrap();
    for n in 1..=60 {
        schema.run(&db, 0, n).unwrap();
        db.checkpoint().unwrap();
    }
    let dump = Dump::of(&db).unwrap();
    db.close().unwrap();
    let done = compact(&path).unwrap();
    assert!(done.bytes_after < done.bytes_before, "{done:?}");
    assert_eq!(check(&path).unwrap().worst(), None);
    let again = compact(&path).unwrap();
    assert_eq!(again.bytes_before, done.bytes_after);
    let db = open(&path);
    assert_eq!(Dump::of(&db).unwrap(), dump);
    // It goes on as before.
    schema.run(&db, 0, 61).unwrap();
    db.close().unwrap();
    assert_eq!(check(&path).unwrap().worst(), None);
    assert!(compact(dir.path().join("nothing")).is_err());
    assert!(!dir.path().join("nothing").exists());
    drop(Engine::open(&path, settings()).unwrap());
}
