//! Operations: backup, restore, check, repair, compaction and upgrade, each tried where it is hard.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

mod backup;
mod bulk;
mod check;
mod crash;
mod health;
mod indexes;
mod lost;
mod modes;
mod points;
mod repair;
mod upgrade;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use telar_engine::maintenance::{
    BackupDone, BackupOptions, RestoreOptions, RestorePoint, Restored, restore,
};
use telar_engine::{Engine, Error, Settings};
use telar_graph::CommitTs;

/// Small log files, so that there are several; checkpoints when the test wants one.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.wal_file_bytes = 4 << 10;
    settings.checkpoint_wal_bytes = 0;
    settings.store_bytes_max = 1 << 30;
    settings.background_interval_ms = 20;
    settings
}

fn backup(db: &Engine, to: &Path, since: Option<&Path>) -> Result<BackupDone, Error> {
    let mut options = BackupOptions::default();
    options.since = since.map(Path::to_owned);
    db.backup(to, &options)
}

fn restore_to(
    chain: &[PathBuf],
    target: &Path,
    to: RestorePoint,
    logs: &[PathBuf],
) -> Result<Restored, Error> {
    let mut options = RestoreOptions::default();
    (options.to, options.logs) = (to, logs.to_vec());
    restore(chain, target, &options)
}

fn commit(ts: u64) -> RestorePoint {
    RestorePoint::Commit(CommitTs::from_raw(ts))
}

fn open(path: &Path) -> Engine {
    Engine::open(path, settings()).unwrap()
}

/// Every file below a directory, by path, but those that say nothing of the content.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                folders.push(path);
            } else if entry.file_name() != "lock.mdb" {
                let name = path.strip_prefix(root).unwrap().to_owned();
                found.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    found
}

/// Writes files back, in place of whatever is there.
fn write(files: &BTreeMap<PathBuf, Vec<u8>>, root: &Path) {
    let _ = std::fs::remove_dir_all(root);
    for folder in ["wal", "store"] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (name, bytes) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}
