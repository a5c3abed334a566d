//! The process killed at every failpoint, with real files.
//!
//! The test runs itself as a child with `TELAR_FAILPOINTS` set; the child commits and prints what
//! was acknowledged until it aborts, and the parent opens what it left.

use std::process::{Command, Output};

use super::*;
use crate::failpoint;

const DIRECTORY: &str = "TELAR_TEST_KILL_DIRECTORY";
const CHILD: &str = "wal::tests::kill::child_commits_until_killed";

/// Commits, rotates and truncates in `directory`; gives `tell` each commit acknowledged.
fn work(directory: &Path, tell: &mut dyn FnMut(u64)) {
    let storage = FileStorage::open(directory).unwrap();
    let (wal, _) = open_at(storage, options(600), 0).unwrap();
    for round in 1..=30 {
        append_next(&wal);
        append_next(&wal);
        let last = append_next(&wal);
        wal.wait_durable(last).unwrap();
        tell(last);
        if round % 5 == 0 {
            wal.rotate().unwrap();
        }
        if round == 27 {
            wal.truncate_before(9).unwrap();
        }
    }
}

#[test]
fn child_commits_until_killed() {
    let Some(directory) = std::env::var_os(DIRECTORY) else {
        return;
    };
    let directory = Path::new(&directory);
    let acknowledged = directory.join("acknowledged");
    work(directory, &mut |commit_ts| {
        std::fs::write(&acknowledged, commit_ts.to_string()).unwrap();
    });
    std::fs::write(directory.join("passed"), failpoint::names_hit().join("\n")).unwrap();
}

/// Runs the test above in a process of its own: failpoints are the process's.
fn run_child(directory: &Path, failpoints: &str) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", CHILD, "--nocapture"])
        .env(DIRECTORY, directory)
        .env("TELAR_FAILPOINTS", failpoints)
        .output()
        .unwrap()
}

#[test]
fn kill_at_every_failpoint_keeps_what_was_acknowledged() {
    let directory = tempfile::tempdir().unwrap();
    let whole = run_child(directory.path(), "");
    assert!(whole.status.success(), "{whole:?}");
    let passed = std::fs::read_to_string(directory.path().join("passed")).unwrap();
    let names: Vec<_> = passed.lines().filter(|name| name.starts_with("wal::")).collect();
    assert_eq!(names.len(), 13, "{names:?}");
    for name in names {
        for nth in [1, 3, 17] {
            kill_at(name, nth);
        }
    }
}

fn kill_at(name: &str, nth: u64) {
    let directory = tempfile::tempdir().unwrap();
    let output = run_child(directory.path(), &format!("{name}=abort@{nth}"));
    let told = std::fs::read_to_string(directory.path().join("acknowledged"));
    let acknowledged: u64 = told.map_or(0, |text| text.parse().unwrap());
    let killed = !output.status.success();
    assert!(killed || acknowledged == 90, "{name} {nth}: {output:?}");
    let storage = FileStorage::open(directory.path()).unwrap();
    // A kill within the truncation leaves the checkpoint at commit 9 behind.
    let first = storage.list().unwrap().iter().find_map(|file| header::parse_file_name(file));
    let checkpoint = if first.is_some_and(|first_ts| first_ts > 1) { 9 } else { 0 };
    let (wal, replayed) = open_at(storage, options(600), checkpoint).unwrap();
    assert!(wal.last_ts() >= acknowledged && wal.last_ts() <= acknowledged + 3, "{name} {nth}");
    assert_eq!(replayed, payloads(checkpoint + 1..=wal.last_ts()));
    commit_next(&wal);
}

#[test]
fn failpoint_error_poisons_like_a_failed_write() {
    // Runs in a child as well: failpoints are the process's, and other tests share this one.
    const NAME: &str = "wal::tests::kill::child_meets_an_error";
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", NAME, "--nocapture"])
        .env(DIRECTORY, "unused")
        .env("TELAR_FAILPOINTS", "wal::before_sync=error@2")
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn child_meets_an_error() {
    if std::env::var_os(DIRECTORY).is_none() {
        return;
    }
    let (wal, _) = open(&MemoryStorage::new());
    commit_next(&wal);
    append_next(&wal);
    let message = wal.wait_durable(2).unwrap_err().to_string();
    assert!(message.contains("failpoint wal::before_sync"), "{message}");
}
