//! Files that are gone: what can be made again is, and a loss is never called anything else.

use std::path::{Path, PathBuf};

use telar_engine::maintenance::{RepairOptions, Severity, check, repair};
use telar_engine::{Engine, Error};
use telar_tests::unit::{self, Schema};

use super::{files, open, settings, write};

/// A database of so many transactions, with a checkpoint after some of them, closed or not.
fn made(dir: &Path, checkpoint_after: Option<i64>, count: i64, close: bool) {
    let db = open(dir);
    let schema = Schema::new(&db, 1).unwrap();
    for n in 1..=count {
        schema.run(&db, 0, n).unwrap();
        if checkpoint_after == Some(n) {
            db.checkpoint().unwrap();
        }
    }
    if close { db.close().unwrap() } else { drop(db) }
}

/// What is done to the files of a database.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// The log files.
    Logs,
    /// The folder of the log, too.
    LogFolder,
    /// Folder and lock file.
    LogAndLock,
    /// The store.
    Store,
    StoreFolder,
    /// The store's file has so many bytes, all of them zero.
    StoreOf(usize),
}

fn lose(dir: &Path, loss: Loss) {
    let remove = |name: &str| {
        let path = dir.join(name);
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        } else {
            std::fs::remove_file(path).unwrap();
        }
    };
    match loss {
        Loss::Logs => {
            remove("wal");
            std::fs::create_dir(dir.join("wal")).unwrap();
        }
        Loss::LogFolder => remove("wal"),
        Loss::LogAndLock => ["wal", "LOCK"].into_iter().for_each(remove),
        Loss::Store => remove("store/data.mdb"),
        Loss::StoreFolder => remove("store"),
        Loss::StoreOf(bytes) => std::fs::write(dir.join("store/data.mdb"), vec![0; bytes]).unwrap(),
    }
}

fn repaired(from: &Path, to: &Path, lose_commits: bool) -> Result<(i64, Vec<String>), Error> {
    let mut options = RepairOptions::default();
    options.lose_commits = lose_commits;
    let done = repair(from, to, options)?;
    let found = unit::verify(&open(to), 1).unwrap();
    let report = check(to).unwrap();
    assert_eq!(report.worst(), None, "{report:#?}");
    let noted = report.findings.iter().any(|f| f.what.contains("lost the commits from"));
    assert_eq!(noted, !done.lost.is_empty(), "the new database says what it lacks: {report:#?}");
    Ok((found.first().copied().unwrap_or(0), done.lost))
}

/// Nothing is lost with a store that only has what the log has, or a log of a closed database.
#[test]
fn what_stands_elsewhere_as_well_is_made_again() {
    use Loss::{LogFolder, Logs, Store, StoreFolder, StoreOf};
    for (checkpoint, close, loss) in [
        (None, false, Store),
        (None, false, StoreFolder),
        (None, false, StoreOf(0)),
        (None, false, StoreOf(100)),
        (None, false, StoreOf(4096)),
        (None, false, StoreOf(8192)),
        (None, true, Logs),
        (None, true, LogFolder),
        (Some(20), true, LogFolder),
    ] {
        let context = format!("checkpoint {checkpoint:?}, closed {close}, {loss:?}");
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        made(&at("graph"), checkpoint, 30, close);
        lose(&at("graph"), loss);
        let report = check(at("graph")).unwrap();
        assert!(report.worst().is_some(), "{context}: {report:#?}");
        if !close {
            assert_eq!(report.worst(), Some(Severity::Suspect), "{context}: {report:#?}");
        }
        let (found, lost) = repaired(&at("graph"), &at("repaired"), false).unwrap();
        assert_eq!((found, lost), (30, vec![]), "{context}");
        let db = open(&at("graph"));
        assert_eq!(unit::verify(&db, 1).unwrap(), [30], "{context}");
        Schema::new(&db, 1).unwrap().run(&db, 0, 31).unwrap();
        db.close().unwrap();
        assert_eq!(check(at("graph")).unwrap().worst(), None, "{context}");
    }
}

/// A loss is refused by every opening, which changes nothing, and by repair until it is asked for.
#[test]
fn a_loss_is_refused_and_told() {
    use Loss::{LogAndLock, LogFolder, Logs, Store, StoreFolder, StoreOf};
    for (checkpoint, close, loss, keeps) in [
        (None, false, Logs, Some(0)),
        (None, false, LogFolder, Some(0)),
        (Some(20), false, Logs, Some(20)),
        (Some(20), false, LogFolder, Some(20)),
        (Some(20), false, LogAndLock, Some(20)),
        // Without the lock file nothing says that it was closed.
        (Some(20), true, LogAndLock, Some(30)),
        (Some(20), false, Store, None),
        (Some(20), false, StoreFolder, None),
        (Some(20), true, Store, None),
        (Some(20), false, StoreOf(0), None),
        (Some(20), false, StoreOf(8192), None),
    ] {
        let context = format!("checkpoint {checkpoint:?}, closed {close}, {loss:?}");
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        made(&at("graph"), checkpoint, 30, close);
        lose(&at("graph"), loss);
        let before = files(&at("graph"));
        let damage = |context: &str| {
            let report = check(at("graph")).unwrap();
            assert_eq!(report.worst(), Some(Severity::Damage), "{context}: {report:#?}");
        };
        damage(&context);
        for _ in 0..2 {
            let error = Engine::open(at("graph"), settings()).unwrap_err();
            assert!(matches!(error, Error::Damaged { .. }), "{context}: {error}");
            let mut files = files(&at("graph"));
            // The lock file has to be made to be taken.
            files.retain(|name, bytes| name != Path::new("LOCK") || !bytes.is_empty());
            assert_eq!(files, before, "{context}: a refused opening changed something");
        }
        damage(&format!("{context}, after openings"));
        let refused = repaired(&at("graph"), &at("repaired"), false).unwrap_err();
        assert!(!at("repaired").exists() && !at("repaired.unfinished").exists());
        match keeps {
            Some(keeps) => {
                assert!(refused.to_string().contains("would be lost"), "{context}: {refused}");
                assert!(refused.to_string().contains("--lose-commits"), "{context}: {refused}");
                let (found, lost) = repaired(&at("graph"), &at("repaired"), true).unwrap();
                assert_eq!((found, lost.len()), (keeps, 1), "{context}: {lost:?}");
            }
            None => {
                assert!(refused.to_string().contains("restore a backup"), "{context}: {refused}");
            }
        }
    }
}

/// What a bulk load put into the store stands nowhere else.
#[test]
fn a_lost_store_of_a_bulk_load_is_no_new_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let db = open(&path);
    // The log of before the load is kept, as after a crash between store and log.
    let kept: Vec<PathBuf> = files(&path).into_keys().filter(|f| f.starts_with("wal")).collect();
    telar_tests::load::load(&db).unwrap();
    drop(db);
    let mut files = files(&path);
    files.remove(Path::new("store/data.mdb"));
    let logs: Vec<PathBuf> = files.keys().filter(|f| f.starts_with("wal")).cloned().collect();
    assert_ne!(kept, logs, "the load has cut the log");
    write(&files, &path);
    let error = Engine::open(&path, settings()).unwrap_err().to_string();
    assert!(error.contains("begins at commit"), "{error}");
}

/// A directory in which an opening ended before the format mark is made anew; others are left as
/// they are.
#[test]
fn half_made_databases_are_made_and_foreign_folders_are_not() {
    let first_log = "wal/wal-00000000000000000001.log";
    for (there, ours) in [
        (vec![("LOCK", 9)], true),
        (vec![("LOCK", 9), (first_log, 0)], true),
        (vec![(first_log, 32), ("store/data.mdb", 100)], true),
        (vec![(first_log, 7), ("store/data.mdb", 8192), ("store/lock.mdb", 8192)], true),
        (vec![("IDENTITY.new", 3), ("FORMAT.new", 0)], true),
        (vec![(first_log, 33)], false),
        (vec![("wal/wal-00000000000000000002.log", 0)], false),
        (vec![("store/data.mdb", 1 << 20)], false),
        (vec![("store/other", 1)], false),
        (vec![("archive/x", 1)], false),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        for (name, bytes) in &there {
            let file = path.join(name);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, vec![0; *bytes]).unwrap();
        }
        match Engine::open(&path, settings()) {
            Ok(db) => {
                assert!(ours, "{there:?}");
                db.label("A").unwrap();
                db.close().unwrap();
                assert_eq!(check(&path).unwrap().worst(), None, "{there:?}");
            }
            Err(e) => assert!(!ours && matches!(e, Error::NotADatabase { .. }), "{there:?}: {e}"),
        }
    }
}

/// Writes are refused once the files are gone; nothing acknowledged after that would be found.
#[test]
fn a_removed_folder_refuses_commits() {
    for name in ["", "wal", "LOCK"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        let db = open(&path);
        let schema = Schema::new(&db, 1).unwrap();
        schema.run(&db, 0, 1).unwrap();
        assert!(db.check_writable().is_ok());
        let gone = path.join(name);
        if gone.is_dir() {
            std::fs::remove_dir_all(gone).unwrap();
        } else {
            std::fs::remove_file(gone).unwrap();
        }
        // The background looks once per pass; a watchdog turns a miss into a failure.
        let begun = std::time::Instant::now();
        while db.check_writable().is_ok() {
            assert!(begun.elapsed().as_secs() < 60, "nobody noticed that {name:?} is gone");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let error = schema.run(&db, 0, 2).unwrap_err().to_string();
        assert!(error.contains("was removed while the database was open"), "{name:?}: {error}");
        assert_eq!(unit::verify(&db, 1).unwrap(), [1], "reads go on");
    }
}

/// Reading changes no byte, no name and no time of a database, whatever state it is in.
#[test]
fn reading_changes_no_file() {
    for close in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        made(&path, Some(20), 30, close);
        let picture = || -> Vec<_> {
            let mut found = Vec::new();
            for folder in ["", "wal", "store"] {
                let entries = std::fs::read_dir(path.join(folder)).unwrap().map(Result::unwrap);
                found.extend(entries.map(|e| {
                    let about = e.metadata().unwrap();
                    (e.path(), about.modified().unwrap(), about.len())
                }));
            }
            found.sort();
            found
        };
        let (before, bytes) = (picture(), files(&path));
        let db = Engine::open_to_read(&path, settings()).unwrap();
        let beside = Engine::open_to_read(&path, settings()).map(drop);
        assert_eq!(unit::verify(&db, 1).unwrap(), [30]);
        super::backup(&db, &dir.path().join("backup"), None).unwrap();
        assert!(matches!(db.label("New"), Err(Error::Log(_))));
        assert!(matches!(Engine::open(&path, settings()), Err(Error::Locked { .. })));
        db.close().unwrap();
        drop(beside);
        assert_eq!(picture(), before, "closed {close}");
        assert_eq!(files(&path), bytes, "closed {close}");
        let chain = [dir.path().join("backup")];
        let target = dir.path().join("restored");
        super::restore_to(&chain, &target, super::RestorePoint::Latest, &[]).unwrap();
        assert_eq!(unit::verify(&open(&target), 1).unwrap(), [30]);
    }
}
