//! A bulk load crashes, or fails, at every named step: the database holds all of it or nothing.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

fn child(mode: &str, dir: &Path, failpoints: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg(mode).arg(dir).env("TELAR_FAILPOINTS", failpoints).output().unwrap()
}

fn lines<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |l| l.strip_prefix(word)).map(str::trim)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// How many loads are there, each of them whole.
fn loads(dir: &Path, context: &str) -> u64 {
    let output = child("loaded", dir, "");
    let text = stdout(&output);
    let state = lines(&text, "state").next().and_then(|n| n.parse().ok());
    state.unwrap_or_else(|| panic!("{output:?} after {context}"))
}

fn steps(dir: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for _ in 0..2 {
        names.extend(telar_tests::failpoints::passed(&child("load", dir, "")));
    }
    names.retain(|n| ["bulk::", "wal::", "store::"].iter().any(|group| n.starts_with(group)));
    for wanted in
        ["bulk::spilled", "bulk::entries_spilled", "bulk::indexed", "bulk::segment", "bulk::stored"]
    {
        assert!(names.contains(wanted), "{wanted} is not in {names:?}");
    }
    names
}

/// Where a load is certainly not yet there, or certainly there.
const NOT_YET: [&str; 7] = [
    "bulk::spilled",
    "bulk::sorted",
    "bulk::quiet",
    "bulk::entries_spilled",
    "bulk::indexed",
    "bulk::segment",
    "bulk::written",
];
const DONE: [&str; 2] = ["bulk::stored", "bulk::installed"];

#[test]
fn a_load_that_crashes_at_any_step_is_there_whole_or_not_at_all() {
    let dir = tempfile::tempdir().unwrap();
    let steps = steps(&dir.path().join("steps"));
    let mut tried = 0;
    for name in &steps {
        for (populated, nth) in [(false, 1), (true, 1), (true, 3)] {
            let path = dir.path().join(format!("{tried}"));
            tried += 1;
            if populated {
                assert!(child("load", &path, "").status.success());
            }
            let before = u64::from(populated);
            let output = child("load", &path, &format!("{name}=abort@{nth}"));
            let context = format!("{name}@{nth}: {output:?}");
            let found = loads(&path, &context);
            if output.status.success() {
                assert!(nth > 1 || populated || name.starts_with("wal::"), "{context}");
                assert_eq!(found, before + 1, "{context}");
            } else if NOT_YET.contains(&name.as_str()) {
                assert_eq!(found, before, "{context}");
            } else if DONE.contains(&name.as_str()) {
                assert_eq!(found, before + 1, "{context}");
            } else {
                assert!((before..=before + 1).contains(&found), "{found}: {context}");
            }
            let left = std::fs::read_dir(path.join("tmp")).map_or(0, Iterator::count);
            assert_eq!(left, 0, "{context}");
            // And it can be loaded again.
            assert!(child("load", &path, "").status.success(), "{context}");
            assert_eq!(loads(&path, &context), found + 1, "{context}");
            std::fs::remove_dir_all(&path).unwrap();
        }
    }
    println!("{} steps, {tried} crashes", steps.len());
}

#[test]
fn a_load_that_fails_at_any_step_leaves_the_database_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    for name in NOT_YET {
        for populated in [false, true] {
            let path = dir.path().join(format!("{name}-{populated}").replace(':', "_"));
            if populated {
                assert!(child("load", &path, "").status.success());
            }
            let output = child("load", &path, &format!("{name}=error@1"));
            let text = stdout(&output);
            let context = format!("{name}: {output:?}");
            assert!(lines(&text, "failed").next().is_some(), "{context}");
            let state = lines(&text, "state").next();
            assert_eq!(state, Some(if populated { "1" } else { "0" }), "{context}");
            assert_eq!(loads(&path, &context), u64::from(populated), "{context}");
        }
    }
}
