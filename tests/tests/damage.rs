//! Damaged, foreign, newer, locked and full: opening says what is wrong, changes nothing, and never
//! shows a state that no run of commits left.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use telar_tests::process::Process;
use telar_tests::{PrintSeed, Rng};

fn child(arguments: &[&str], dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg(arguments[0]).arg(dir).args(&arguments[1..]);
    command
}

fn run(arguments: &[&str], dir: &Path) -> Output {
    child(arguments, dir).output().unwrap()
}

fn line(output: &Output, word: &str) -> Option<String> {
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().find_map(|l| l.strip_prefix(word)).map(str::to_owned)
}

/// Every file of a database but the lock files, by path below it.
type Files = BTreeMap<PathBuf, Vec<u8>>;

fn files(dir: &Path) -> Files {
    let mut found = Files::new();
    for folder in ["", "wal", "store", "archive"] {
        let Ok(entries) = std::fs::read_dir(dir.join(folder)) else {
            continue;
        };
        for entry in entries.map(Result::unwrap).filter(|e| e.file_type().unwrap().is_file()) {
            let name = entry.file_name();
            if name != "LOCK" && name != "lock.mdb" {
                found.insert(Path::new(folder).join(&name), std::fs::read(entry.path()).unwrap());
            }
        }
    }
    found
}

fn write(files: &Files, dir: &Path) {
    let _ = std::fs::remove_dir_all(dir);
    for (name, bytes) in files {
        let path = dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

/// A database of 72 transactions, with a checkpoint after the 36th and log files from there on.
fn made(dir: &Path) -> Files {
    let output = run(&["run", "1", "full", "0", "72"], dir);
    assert!(output.status.success(), "{output:?}");
    let files = files(dir);
    assert!(files.keys().filter(|f| f.starts_with("wal")).count() >= 2, "several log files");
    files
}

const LAST: i64 = 72;

/// Opens a damaged database. Returns what happened: `right`, `prefix` (a whole earlier state),
/// `refused`, or `part`: an index that cannot be read, which is told when it is needed; anything
/// else is wrong and described.
fn opened(dir: &Path, damaged: &Files) -> Result<&'static str, String> {
    let output = run(&["open", "1"], dir);
    match (line(&output, "state "), line(&output, "error ")) {
        (Some(n), _) if n == LAST.to_string() => Ok("right"),
        (Some(_), _) => Ok("prefix"),
        (None, Some(error)) => {
            let known = ["Damaged", "NotADatabase", "NewerFormat", "OlderFormat", "Log", "Store"];
            let variant = error.split(' ').next().unwrap_or_default();
            if !known.contains(&variant) {
                return Err(format!("undocumented error {error}"));
            }
            if files(dir) != *damaged {
                return Err(format!("a refused open changed files: {error}"));
            }
            Ok("refused")
        }
        (None, None) if line(&output, "part index ").is_some() => Ok("part"),
        (None, None) => Err(format!("{output:?}")),
    }
}

/// Damages a file in many ways; returns how often each outcome came, and what was wrong.
fn damage(
    whole: &Files,
    name: &Path,
    tries: &[(usize, Option<u8>)],
    allow_prefix: impl Fn(usize) -> bool,
) -> (BTreeMap<&'static str, u32>, Vec<String>) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let (mut counts, mut wrong) = (BTreeMap::new(), Vec::new());
    for (at, flip) in tries {
        let mut damaged = whole.clone();
        let bytes = damaged.get_mut(name).unwrap();
        match flip {
            Some(bits) => bytes[*at] ^= bits,
            None => bytes.truncate(*at),
        }
        write(&damaged, &path);
        let how = flip.map_or("cut".to_owned(), |b| format!("flip {b:#04x}"));
        let context = format!("{} {how} at {at} of {}", name.display(), whole[name].len());
        match opened(&path, &damaged) {
            Ok("prefix") if !allow_prefix(*at) => wrong.push(format!("{context}: lost commits")),
            Ok(outcome) => *counts.entry(outcome).or_insert(0) += 1,
            Err(e) => wrong.push(format!("{context}: {e}")),
        }
    }
    (counts, wrong)
}

fn tries(rng: &mut Rng, len: usize, flips: usize, cuts: usize) -> Vec<(usize, Option<u8>)> {
    let mut tries = Vec::new();
    // Small files: every byte.
    if len <= flips {
        tries.extend((0..len).map(|at| (at, Some(1 << rng.below(8)))));
    } else {
        let flip = |_| (rng.below(len as u64) as usize, Some(1 << rng.below(8)));
        tries.extend((0..flips).map(flip));
    }
    tries.extend((0..cuts).map(|_| (rng.below(len as u64) as usize, None)));
    tries
}

fn assert_none(name: &Path, counts: &BTreeMap<&'static str, u32>, wrong: &[String]) {
    // Deaths by a signal are many alike; what else is wrong comes first.
    let (mut killed, mut first): (Vec<&String>, Vec<&String>) = wrong
        .iter()
        .partition(|w| w.contains("ExitStatus(unix_wait_status(") && w.contains("stdout: \"\""));
    println!("{}: {counts:?}, {} killed, {} wrong", name.display(), killed.len(), first.len());
    first.append(&mut killed);
    first.truncate(12);
    assert!(wrong.is_empty(), "{} wrong, the first: {first:#?}", wrong.len());
}

#[test]
fn damaged_format_and_log_are_refused() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let whole = made(&dir.path().join("graph"));
    let (flips, cuts) = if telar_tests::long() { (20_000, 2000) } else { (250, 40) };
    let last_log = whole.keys().rfind(|f| f.starts_with("wal")).unwrap().clone();
    // The archive is for the change stream; opening does not look at it.
    for name in whole.keys().filter(|f| !f.starts_with("store") && !f.starts_with("archive")) {
        let len = whole[name].len();
        let tries = tries(&mut rng, len, flips, cuts);
        // Cutting the end of the log, or damage in its last record, is what a crash leaves, too.
        let tail = len.saturating_sub(1500);
        let (counts, wrong) = damage(&whole, name, &tries, |at| *name == last_log && at >= tail);
        // A cut of the last file anywhere is a torn tail.
        let wrong: Vec<String> = wrong
            .into_iter()
            .filter(|w| !(*name == last_log && w.contains(" cut ") && w.ends_with("lost commits")))
            .collect();
        assert_none(name, &counts, &wrong);
    }
}

#[test]
fn damaged_store_is_refused_or_harmless() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let whole = made(&dir.path().join("graph"));
    let name = Path::new("store/data.mdb");
    let len = whole[name].len();
    let (flips, cuts) = if telar_tests::long() { (10_000, 500) } else { (150, 25) };
    let mut tries = tries(&mut rng, len, flips, cuts);
    // Page headers and the nodes behind them are what values' checksums do not cover.
    for page in 0..len / 4096 {
        for _ in 0..if telar_tests::long() { 200 } else { 3 } {
            tries.push((page * 4096 + rng.below(96) as usize, Some(1 << rng.below(8))));
        }
    }
    let (counts, wrong) = damage(&whole, name, &tries, |_| false);
    assert_none(name, &counts, &wrong);
}

/// Keys of values are not under the values' checksums: a flipped bit must not move a segment to
/// another place, or hide it.
#[test]
fn damaged_keys_of_the_store_are_refused() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let whole = made(&dir.path().join("graph"));
    let name = Path::new("store/data.mdb");
    // A node of LMDB: ... key length u16, key; keys are 9 bytes, of few tables and first segments.
    let is_key = |w: &[u8]| {
        let small = w[2] <= 4 && w[4] < 16 && w[6] < 16;
        w[..2] == [9, 0] && small && w[3] == 0 && w[5] == 0 && w[7..] == [0; 4]
    };
    let nodes: Vec<usize> = whole[name]
        .windows(11)
        .enumerate()
        .filter(|(_, w)| is_key(w))
        .map(|(at, _)| at + 2)
        .collect();
    assert!(nodes.len() >= 10, "no keys found");
    let times = if telar_tests::long() { 5000 } else { 150 };
    let flip = |_| {
        let node = nodes[rng.below(nodes.len() as u64) as usize];
        (node + rng.below(9) as usize, Some(1 << rng.below(8)))
    };
    let tries: Vec<_> = (0..times).map(flip).collect();
    let (counts, wrong) = damage(&whole, name, &tries, |_| false);
    assert_none(name, &counts, &wrong);
}

#[test]
fn missing_files_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let whole = made(&path);
    let last_log = whole.keys().rfind(|f| f.starts_with("wal")).unwrap().clone();
    for name in whole.keys().filter(|f| !f.starts_with("archive")) {
        let mut damaged = whole.clone();
        damaged.remove(name);
        write(&damaged, &path);
        let outcome = opened(&path, &damaged);
        // Nothing tells a last log file that vanished from one that was never made.
        let fine = outcome == Ok("refused") || (*name == last_log && outcome == Ok("prefix"));
        assert!(fine, "{}: {outcome:?}", name.display());
    }
}

#[test]
fn second_opener_learns_who_holds_the_database() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = child(&["hold"], dir.path());
    let mut holder = Process::start(command.stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
    let mut lines = BufReader::new(holder.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    let error = line(&run(&["open", "1"], dir.path()), "error ").unwrap();
    assert!(error.starts_with("Locked Environment"), "{error}");
    assert!(error.contains(&format!("process {}", holder.id())), "{error}");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());
    assert!(line(&run(&["open", "1"], dir.path()), "state ").is_some());
}

#[test]
fn newer_format_and_foreign_directories_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut newer = made(&path);
    newer.insert("FORMAT".into(), b"telar 99\n".to_vec());
    let foreign: Files = [("notes.txt".into(), b"not yours".to_vec())].into();
    let half: Files = [("wal/wal-1.log".into(), b"?".to_vec())].into();
    for (files_there, wanted) in
        [(newer, "NewerFormat"), (foreign, "NotADatabase"), (half, "NotADatabase")]
    {
        write(&files_there, &path);
        let error = line(&run(&["open", "1"], &path), "error ").unwrap();
        assert!(error.starts_with(wanted), "{error}, not {wanted}");
        assert_eq!(files(&path), files_there, "{wanted}");
        if wanted == "NotADatabase" {
            assert!(!path.join("LOCK").exists(), "a lock file was left in a foreign directory");
        }
    }
}

/// Runs the child until a file operation fails; what it acknowledged must be there afterwards.
/// Returns what failed.
fn fill(mut command: Command, path: &Path, free_space: impl FnOnce()) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let acks = said.lines().filter_map(|l| l.strip_prefix("ack 0 ")?.parse::<i64>().ok());
    let acknowledged = acks.max().unwrap_or(0);
    assert!(!output.status.success(), "nothing failed: {said}");
    assert!(!said.contains("accepted"), "a commit was accepted after one failed: {said}");
    let failure = line(&output, "failed ").or(line(&output, "error "));
    let failure = failure.unwrap_or_else(|| panic!("{output:?}"));
    free_space();
    let after = run(&["open", "1"], path);
    let found: Option<i64> = line(&after, "state ").and_then(|n| n.parse().ok());
    let found = found.unwrap_or_else(|| panic!("after {failure}: {after:?}"));
    // Nothing acknowledged in this run, but there may be earlier ones.
    let whole = acknowledged == 0 || (acknowledged..=acknowledged + 1).contains(&found);
    assert!(whole, "{found} are there, {acknowledged} were acknowledged before {failure}");
    failure
}

/// `ulimit -f` makes a write past a size fail, as a full disk does, without any privilege.
#[test]
fn files_that_cannot_grow_are_reported_and_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    // The first limit hits the log, which grows before any checkpoint; the others the store.
    for kib in [3, 24, 40, 64, 90, 120] {
        // SIGXFSZ is ignored, so that the write fails instead of the process.
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", kib * 2);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_telar-child"), "run"]);
        command.arg(&path).args(["1", "full", "0", "2000"]);
        let failure = fill(command, &path, || ());
        println!("{kib} KiB: {failure}");
    }
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    let mut command = Command::new(arguments[0]);
    command.args(&arguments[1..]).arg(at).stderr(Stdio::null());
    command.status().is_ok_and(|s| s.success())
}

/// Takes a file system away again.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        mount(&["umount", "-l"], &self.0);
    }
}

/// A small file system, where this process may make one; elsewhere the test above has to do.
#[test]
fn full_disk_is_reported_and_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let steps = if telar_tests::long() { 4 } else { 24 };
    for kib in (56..340).step_by(steps) {
        let size = format!("size={kib}k");
        if !mount(&["mount", "-t", "tmpfs", "-o", &size, "tmpfs"], dir.path()) {
            telar_tests::skipped("right to mount a file system");
            return;
        }
        let _mounted = Mounted(dir.path().into());
        let path = dir.path().join("graph");
        let command = child(&["run", "1", "full", "0", "5000"], &path);
        let failure = fill(command, &path, || {
            assert!(mount(&["mount", "-o", "remount,size=16m"], dir.path()));
        });
        // Whoever reads "input/output error" looks at the disk, and not at what is on it.
        assert!(!failure.contains("os error 5"), "{kib} KiB: {failure}");
        assert!(failure.contains("full") || failure.contains("No space"), "{kib} KiB: {failure}");
        println!("{kib} KiB: {failure}");
    }
}
