//! Killed, or out of disk, in the middle of an operation: the database is as before, and what is
//! left of the operation is whole or refused.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use telar_engine::maintenance::{RestorePoint, check};
use telar_tests::failpoints::passed;
use telar_tests::process::Process;
use telar_tests::{PrintSeed, Rng, unit};

use super::{open, restore_to};

fn child(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    child(arguments).output().unwrap()
}

/// The failpoints that a child passes.
fn steps(arguments: &[&str]) -> Vec<String> {
    passed(&child(arguments).env("TELAR_FAILPOINTS", "").output().unwrap())
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// What is there after a backup into `backup` was interrupted: it restores to a whole state, or it
/// is refused. Returns whether it restored.
fn whole_or_refused(chain: &[std::path::PathBuf], target: &Path, threads: usize) -> bool {
    match restore_to(chain, target, RestorePoint::Latest, &[]) {
        Ok(_) => {
            unit::verify(&open(target), threads).unwrap();
            assert_eq!(check(target).unwrap().worst(), None);
            true
        }
        Err(e) => {
            assert!(e.to_string().contains("not finished"), "{e}");
            assert!(!target.exists());
            false
        }
    }
}

/// A process that works and backs up all the time is killed at any moment.
#[test]
fn kill_during_backup_leaves_the_database_intact_and_no_half_backup() {
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let graph = at("graph");
    let (mut finished, mut cut_off) = (0, 0);
    let rounds = if telar_tests::long() { 100 } else { 8 };
    for round in 0..rounds {
        let into = at(&format!("backups-{round}"));
        std::fs::create_dir(&into).unwrap();
        let seed = (rng.number() >> 1).to_string();
        let mut command = child(&["backups", text(&graph), "2", "full", &seed, text(&into)]);
        let mut child = Process::start(command.stdout(Stdio::piped())).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        let (tell, finishes) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                assert!(!line.contains("failed"), "{line}");
                if line == "backup 0" {
                    let _ = tell.send(());
                }
            }
        });
        // However slow the machine is, a backup is finished in every other round.
        if round % 2 == 1 {
            let _ = finishes.recv();
        }
        std::thread::sleep(Duration::from_millis(20 + rng.below(250)));
        child.kill().unwrap();
        child.wait().unwrap();
        reader.join().unwrap();
        unit::verify(&open(&graph), 2).unwrap();
        let count = (0..).take_while(|n| into.join(n.to_string()).exists()).count();
        for n in count.saturating_sub(5)..count {
            let chain: Vec<_> = (n / 4 * 4..=n).map(|n| into.join(n.to_string())).collect();
            let restored = whole_or_refused(&chain, &into.join(format!("restored-{n}")), 2);
            assert!(restored || n + 1 == count, "backup {n} of {count}");
            *if restored { &mut finished } else { &mut cut_off } += 1;
        }
    }
    println!("{finished} backups restored, {cut_off} cut off and refused");
    assert!(finished > 3, "hardly any backup was finished");
}

/// `ulimit -f` makes a write past a size fail, as a full disk does.
#[test]
fn full_disk_during_backup_is_reported_and_leaves_no_backup() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let graph = at("graph");
    let made = run(&["run", text(&graph), "1", "full", "0", "60"]);
    assert!(made.status.success(), "{made:?}");
    let mut failed = 0;
    // Above the size of the database's log files, which opening writes to.
    for kib in [8, 16, 32, 1024] {
        let into = at(&format!("backup-{kib}"));
        let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", kib * 2);
        let mut command = Command::new("sh");
        command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_telar-child"), "backup"]);
        let output = command.args([text(&graph), text(&into), "full", "-"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("error File Environment") || said.contains("backup"), "{output:?}");
        failed += u32::from(said.contains("error"));
        let restored = whole_or_refused(&[into], &at(&format!("restored-{kib}")), 1);
        assert_eq!(restored, output.status.success(), "{said}");
        assert_eq!(unit::verify(&open(&graph), 1).unwrap(), [60]);
    }
    assert!(failed >= 2, "the limits were never reached");
}

/// The process dies, or a write fails, at each step of a backup.
#[test]
fn crash_at_every_step_of_a_backup_leaves_the_database_intact() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let graph = at("graph");
    let made = run(&["run", text(&graph), "1", "full", "0", "60"]);
    assert!(made.status.success(), "{made:?}");
    let full = at("full");
    let names = steps(&["backup", text(&graph), text(&full), "full", "-"]);
    let names: Vec<&str> = names.iter().filter_map(|l| l.strip_prefix("backup::")).collect();
    assert!(names.len() >= 6, "{names:?}");
    let more = run(&["run", text(&graph), "1", "full", "0", "40"]);
    assert!(more.status.success(), "{more:?}");
    let mut number = 0;
    for name in names {
        for (action, nth) in [("abort", 1), ("abort", 3), ("error", 2)] {
            if action == "error" && name != "write" {
                continue;
            }
            for since in ["-", text(&full)] {
                number += 1;
                let into = at(&format!("backup-{number}"));
                let output = child(&["backup", text(&graph), text(&into), "full", since])
                    .env("TELAR_FAILPOINTS", format!("backup::{name}={action}@{nth}"))
                    .output()
                    .unwrap();
                let mut chain = vec![into];
                if since != "-" {
                    chain.insert(0, full.clone());
                }
                let restored = whole_or_refused(&chain, &at(&format!("restored-{number}")), 1);
                let done = output.status.success() || name == "done";
                assert_eq!(restored, done, "{name} {action}@{nth} since {since}: {output:?}");
                assert_eq!(unit::verify(&open(&graph), 1).unwrap(), [100]);
            }
        }
    }
}

/// The process dies at each step of what is done to a closed database: doing it again succeeds, and
/// everything is there.
#[test]
fn crash_at_every_step_of_offline_operations_is_mended_by_doing_them_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let graph = at("graph");
    assert!(run(&["run", text(&graph), "1", "full", "0", "45"]).status.success());
    assert!(run(&["backup", text(&graph), text(&at("full")), "full", "-"]).status.success());
    let closed = super::files(&graph);
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/format-1");
    let old = super::files(&old);
    let backup = at("full");
    let mut tried = 0;
    for (mode, before) in [("compact", Some(&closed)), ("upgrade", Some(&old)), ("restore", None)] {
        let target = at(mode);
        let fresh = || {
            let _ = std::fs::remove_dir_all(&target);
            let _ = std::fs::remove_dir_all(at("restore.unfinished"));
            before.inspect(|files| super::write(files, &target));
        };
        fresh();
        for name in steps(&[mode, text(&target), text(&backup)]) {
            tried += 1;
            fresh();
            let died = child(&[mode, text(&target), text(&backup)])
                .env("TELAR_FAILPOINTS", format!("{name}=abort@1"))
                .output()
                .unwrap();
            assert!(!died.status.success(), "{mode} {name}: {died:?}");
            let _ = std::fs::remove_dir_all(at("restore.unfinished"));
            // A restore that has given its name cannot be, and need not be, done again.
            let there = mode == "restore" && target.exists();
            let again = run(&[mode, text(&target), text(&backup)]);
            assert_eq!(again.status.success(), !there, "{mode} {name}: {again:?}");
            assert_eq!(check(&target).unwrap().worst(), None, "{mode} {name}");
            assert_eq!(unit::verify(&open(&target), 1).unwrap(), [45], "{mode} {name}");
        }
    }
    println!("{tried} steps");
    assert!(tried > 15, "{tried} steps");
}

/// The process dies at each step of a reordering: the source is as it was, and the target is there
/// whole or not at all.
#[test]
fn crash_at_every_step_of_a_reordering_leaves_the_source_and_no_half_target() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let (graph, target) = (at("graph"), at("target"));
    assert!(run(&["run", text(&graph), "1", "full", "0", "45"]).status.success());
    let before = super::files(&graph);
    let names = steps(&["reorder", text(&target), text(&graph)]);
    assert!(super::files(&graph) == before);
    let expected = unit::verify(&open(&target), 1).unwrap();
    let mut tried = 0;
    for name in names {
        for nth in [1, 2] {
            let _ = std::fs::remove_dir_all(&target);
            let died = child(&["reorder", text(&target), text(&graph)])
                .env("TELAR_FAILPOINTS", format!("{name}=abort@{nth}"))
                .output()
                .unwrap();
            assert!(!died.status.success() || nth > 1, "{name}: {died:?}");
            tried += u32::from(!died.status.success());
            let unfinished = at("target.unfinished");
            assert!(!(target.exists() && unfinished.exists()), "{name}@{nth}");
            assert!(super::files(&graph) == before, "{name}@{nth}: the source has changed");
            if unfinished.exists() {
                let refused = run(&["reorder", text(&target), text(&graph)]);
                assert!(!refused.status.success(), "{name}@{nth}: {refused:?}");
                std::fs::remove_dir_all(&unfinished).unwrap();
            }
            if !target.exists() {
                let again = run(&["reorder", text(&target), text(&graph)]);
                assert!(again.status.success(), "{name}@{nth}: {again:?}");
            }
            assert_eq!(check(&target).unwrap().worst(), None, "{name}@{nth}");
            assert_eq!(unit::verify(&open(&target), 1).unwrap(), expected, "{name}@{nth}");
        }
    }
    println!("{tried} steps");
    assert!(tried > 20, "{tried} steps");
}
