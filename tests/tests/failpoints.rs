//! Crashes at every named step: of commits, settles, checkpoints, the log, and of recovery itself.
//!
//! The list of steps is what a workload says it reached, so a new failpoint is tested without being
//! named here.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use telar_tests::failpoints::passed;

/// Transactions of one run: enough for several log files, settles and a checkpoint.
const COUNT: i64 = 50;

fn child(mode: &str, dir: &Path, durability: &str, failpoints: &str) -> Output {
    let count = COUNT.to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg(mode).arg(dir).args(["1", durability, "0", &count]);
    command.env("TELAR_FAILPOINTS", failpoints).output().unwrap()
}

/// The largest `n` of lines `word 0 n`, 0 if there is none.
fn last(output: &Output, word: &str) -> i64 {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter_map(|l| l.strip_prefix(word)?.trim().rsplit(' ').next());
    lines.filter_map(|n| n.parse().ok()).max().unwrap_or(0)
}

/// Opens and verifies with nothing armed; returns how many transactions are there.
///
/// In a process of its own: a test that opens a database itself holds its lock a little longer than
/// it is open while other tests start processes, which inherit the file for a moment.
fn verified(dir: &Path, context: &str) -> i64 {
    let output = child("open", dir, "full", "");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let state = text.lines().find_map(|l| l.strip_prefix("state ")?.parse().ok());
    state.unwrap_or_else(|| panic!("{output:?} after {context}"))
}

fn copy(from: &Path, to: PathBuf) -> PathBuf {
    for folder in ["", "wal", "store", "archive"] {
        std::fs::create_dir_all(to.join(folder)).unwrap();
        if !from.join(folder).exists() {
            continue;
        }
        for entry in std::fs::read_dir(from.join(folder)).unwrap().map(Result::unwrap) {
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), to.join(folder).join(entry.file_name())).unwrap();
            }
        }
    }
    to
}

/// Whether the child ended as `action` makes it end, and not by a panic of the engine's own.
fn assert_ended_by_failpoint(output: &Output, context: &str) {
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!errors.contains("panicked"), "{context}");
}

/// One crash and what follows: what was done before it, where it happens.
#[derive(Debug, Clone, Copy)]
struct Case<'a> {
    name: &'a str,
    action: &'a str,
    nth: u32,
    durability: &'a str,
    /// Whether the database is empty when the failpoint is armed.
    fresh: bool,
}

impl Case<'_> {
    /// Crashes (or fails) at the failpoint, checks what is left, and works on. Returns whether the
    /// failpoint was reached.
    fn run(self) -> bool {
        let Self { name, action, nth, durability, fresh } = self;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        let armed = format!("{name}={action}@{nth}");
        let mut before = 0;
        let mut kept = None;
        if !fresh {
            // A clean run, so that recovery and checkpoints find something.
            let clean = child("run", &path, durability, "");
            assert_eq!(last(&clean, "ack"), COUNT, "{self:?}: {clean:?}");
            kept = Some(copy(&path, dir.path().join("kept")));
            before = COUNT;
        }
        let stopped = child("run", &path, durability, &armed);
        let context = format!("{self:?}: {stopped:?}");
        let acknowledged = last(&stopped, "ack").max(before);
        if stopped.status.success() {
            return false;
        }
        assert_ended_by_failpoint(&stopped, &context);
        // The same at the same step of the next two recoveries, where they reach it.
        for again in 1..=2 {
            let opened = child("open", &path, durability, &format!("{name}={action}@{again}"));
            let text = String::from_utf8_lossy(&opened.stdout).into_owned();
            let bad = text.contains("wrong") || text.contains("Damaged");
            assert!(!bad, "{context}, then {opened:?}");
            assert_ended_by_failpoint(&opened, &context);
        }
        let found = verified(&path, &context);
        let mut least = acknowledged;
        if durability == "async" {
            // The clean run ended without a flush; what it left is what must still be there.
            least = kept.map_or(0, |kept| verified(&kept, &context));
        }
        assert!((least..=acknowledged + 1).contains(&found), "{found} of {context}");
        let after = child("run", &path, durability, "");
        assert_eq!(last(&after, "ack"), found + COUNT, "{context}, then {after:?}");
        if durability == "full" {
            assert_eq!(verified(&path, &context), found + COUNT, "{context}");
        }
        true
    }
}

fn names() -> BTreeSet<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut names = BTreeSet::from_iter(passed(&child("run", &path, "full", "")));
    names.extend(passed(&child("run", &path, "full", "")));
    names.extend(passed(&child("open", &path, "full", "")));
    for group in ["commit", "checkpoint", "history", "index", "recovery", "wal", "settle", "store"]
    {
        let there = names.iter().any(|n| n.starts_with(&format!("{group}::")));
        assert!(there, "no failpoint of {group} in {names:?}");
    }
    names
}

fn at_every_step(action: &str, durability: &str, wanted: impl Fn(&str) -> bool) {
    let nths: &[u32] = if telar_tests::long() { &[1, 2, 3, 5, 8, 21, 60, 99] } else { &[1, 7] };
    let (mut reached, mut tried) = (BTreeSet::new(), 0);
    let names: BTreeSet<String> = names().into_iter().filter(|n| wanted(n)).collect();
    for name in &names {
        for (nth, fresh) in nths.iter().map(|n| (*n, false)).chain([(1, true), (2, true)]) {
            tried += 1;
            if (Case { name, action, nth, durability, fresh }).run() {
                reached.insert(name.clone());
            }
        }
    }
    println!("{durability} {action}: {} of {} steps, {tried} runs", reached.len(), names.len());
    let missed: Vec<_> = names.difference(&reached).collect();
    assert!(missed.is_empty(), "never reached: {missed:?}");
}

#[test]
fn crash_at_every_step_loses_nothing_acknowledged() {
    at_every_step("abort", "full", |_| true);
}

#[test]
fn crash_at_every_step_with_async_commits_leaves_a_prefix() {
    at_every_step("abort", "async", |_| true);
}

/// Only the log's failpoints return errors; the others can do nothing but die.
#[test]
fn error_at_every_step_of_the_log_is_reported_and_loses_nothing() {
    at_every_step("error", "full", |name| name.starts_with("wal::"));
}
