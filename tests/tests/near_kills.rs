//! A vector index in a process that is killed while vectors come and change, at random moments and,
//! with failpoints, at each step of writing the file of its graph: what it finds afterwards is
//! what a comparison of all vectors finds, and no file is ever half written.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use telar_tests::process::Process;
use telar_tests::vectors::ENOUGH;
use telar_tests::{PrintSeed, Rng};

fn child(mode: &str, dir: &Path, count: i64) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg(mode).arg(dir).args(["1", "full", "0", &count.to_string()]);
    command
}

/// The last commit that was acknowledged; 0 if none was.
fn acknowledged(text: &str) -> i64 {
    let lines = text.lines().filter_map(|line| line.strip_prefix("ack 0 ")?.parse().ok());
    lines.max().unwrap_or(0)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The last commit, and how many files were read and refused.
fn verified(dir: &Path, context: &str) -> [i64; 3] {
    let output = child("near", dir, 0).output().unwrap();
    let state = text(&output);
    let state = state.lines().find_map(|line| line.strip_prefix("state "));
    let state = state.unwrap_or_else(|| panic!("{output:?} after {context}"));
    let numbers: Vec<i64> = state.split(' ').map(|n| n.parse().unwrap()).collect();
    numbers.try_into().unwrap()
}

/// Writes enough vectors for a graph that is in a file.
fn prepared(dir: &Path) -> i64 {
    let output = child("vectors", dir, ENOUGH).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    acknowledged(&text(&output))
}

#[test]
fn searches_are_right_after_kills() {
    let (seed, kills) = (telar_tests::seed(), if telar_tests::long() { 40 } else { 5 });
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let (mut said, mut read) = (prepared(&path), 0);
    for round in 0..kills {
        let mut running =
            Process::start(child("vectors", &path, 0).stdout(Stdio::piped())).unwrap();
        let lines = BufReader::new(running.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || {
            let text: Vec<String> = lines.map_while(Result::ok).collect();
            text.join("\n")
        });
        std::thread::sleep(Duration::from_millis(200 + rng.below(1500)));
        running.kill().unwrap();
        let status = running.wait().unwrap();
        assert!(status.code().is_none(), "the child ended by itself: {status}");
        said = said.max(acknowledged(&reader.join().unwrap()));
        let [last, files_read, refused] = verified(&path, &format!("round {round}"));
        assert!((said..=said + 1).contains(&last), "round {round}: {last} is there, said {said}");
        assert_eq!(refused, 0, "round {round}");
        (said, read) = (last, read + files_read);
    }
    println!("{kills} kills: {said} commits, {read} files read");
    assert!(read > 0, "no graph was read from a file");
}

/// The failpoints of files of graphs that a run reaches.
fn steps(dir: &Path, count: i64) -> Vec<String> {
    let output = child("vectors", dir, count).env("TELAR_FAILPOINTS", "").output().unwrap();
    let all = telar_tests::failpoints::passed(&output);
    all.iter().filter_map(|name| name.strip_prefix("near::")).map(str::to_owned).collect()
}

#[test]
fn searches_are_right_after_a_crash_at_every_step_of_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let names = steps(&path, ENOUGH);
    assert!(names.len() >= 5, "{names:?}");
    let again = steps(&path, 1);
    assert!(again.contains(&"read".to_owned()), "{again:?}");
    let write =
        |name: &String| [("abort", 1), ("abort", 2), ("error", 1)].map(|how| (name.clone(), how));
    let read = [("abort", 1), ("error", 1)].map(|how| ("read".to_owned(), how));
    for (name, (action, nth)) in names.iter().flat_map(write).chain(read) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        if name == "read" {
            prepared(&path);
        }
        let armed = format!("near::{name}={action}@{nth}");
        let mut command = child("vectors", &path, ENOUGH);
        let stopped = command.env("TELAR_FAILPOINTS", &armed).output().unwrap();
        // An error costs the file and nothing else.
        assert_eq!(stopped.status.success(), action == "error", "{armed}: {stopped:?}");
        let said = acknowledged(&text(&stopped));
        for again in 0..2 {
            let [last, _, refused] = verified(&path, &armed);
            assert!((said..=said + 1).contains(&last), "{armed}, {again}: {last}, {said}");
            assert_eq!(refused, 0, "{armed}, {again}");
        }
        // The next one writes a file that is read.
        let after = child("vectors", &path, 1).output().unwrap();
        assert!(after.status.success(), "{armed}: {after:?}");
        let [_, read, refused] = verified(&path, &armed);
        assert_eq!((read, refused), (1, 0), "{armed}");
    }
    println!("{} steps", names.len() + 1);
}

/// The file of an index that was dropped is removed by the next checkpoint, also after one that
/// died, or failed, at it.
#[test]
fn the_file_of_a_dropped_index_goes_with_the_next_checkpoint() {
    for action in ["abort", "error"] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("graph");
        prepared(&path);
        let files = || std::fs::read_dir(path.join("near")).unwrap().count();
        assert_eq!(files(), 1);
        let armed = format!("near::before_remove={action}@1");
        let mut command = child("unindex", &path, 0);
        let stopped = command.env("TELAR_FAILPOINTS", &armed).output().unwrap();
        assert_eq!(stopped.status.success(), action == "error", "{armed}: {stopped:?}");
        // After an error, the checkpoint at the end may have removed it.
        assert!(files() == 1 || action == "error", "{armed}");
        verified(&path, &armed);
        assert!(child("unindex", &path, 0).status().unwrap().success());
        assert_eq!(files(), 0, "{armed}");
    }
}
