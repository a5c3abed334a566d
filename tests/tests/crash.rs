//! A real process is killed at a random moment, again and again on the same directory; each time
//! the database must reopen with everything it acknowledged, whole.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use telar_tests::process::Process;
use telar_tests::{PrintSeed, Rng};

/// What a child said about one thread.
#[derive(Debug, Clone, Copy, Default)]
struct Said {
    acknowledged: i64,
    flushed: i64,
}

fn start(dir: &Path, threads: usize, durability: &str, seed: u64) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg("run").arg(dir);
    command.args([&threads.to_string(), durability, &(seed >> 1).to_string(), "0"]);
    Process::start(command.stdout(Stdio::piped())).unwrap()
}

/// Reads what the child says until it dies; kills it `after` its first word, at once if zero.
fn run_and_kill(mut child: Process, threads: usize, after: Duration, said: &mut [Said]) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Killing before "ready" is the case of a crash while recovering.
    if !after.is_zero() {
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
    }
    let reader = std::thread::spawn(move || {
        let mut said = vec![Said::default(); threads];
        for line in lines.map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["ack", t, n] => {
                    said[t.parse::<usize>().unwrap()].acknowledged = n.parse().unwrap()
                }
                ["flushed", t, n] => said[t.parse::<usize>().unwrap()].flushed = n.parse().unwrap(),
                ["ready"] => {}
                _ => panic!("the child says: {line}"),
            }
        }
        said
    });
    std::thread::sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "the child ended by itself: {status}");
    for (all, new) in said.iter_mut().zip(reader.join().unwrap()) {
        all.acknowledged = all.acknowledged.max(new.acknowledged);
        all.flushed = all.flushed.max(new.flushed);
    }
}

/// Opens and verifies in a process of its own; see `verified` in failpoints.rs for why.
fn open(dir: &Path, threads: usize, close: bool, context: &str) -> Vec<i64> {
    let mode = if close { "close" } else { "open" };
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    let output = command.arg(mode).arg(dir).arg(threads.to_string()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let state = text.lines().find_map(|l| l.strip_prefix("state "));
    let state = state.unwrap_or_else(|| panic!("{context}: {output:?}"));
    assert!(output.status.success(), "{context}: {output:?}");
    state.split(' ').map(|n| n.parse().unwrap()).collect()
}

fn kill_often(durability: &str, threads: usize, kills: u32, seed: u64) -> i64 {
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut said = vec![Said::default(); threads];
    for round in 0..kills {
        let child = start(&path, threads, durability, rng.number());
        let most = if rng.one_in(4) { 8_000 } else { 400_000 };
        let wait = if rng.one_in(8) { 0 } else { rng.below(most) };
        if wait == 0 {
            std::thread::sleep(Duration::from_micros(rng.below(9_000)));
        }
        run_and_kill(child, threads, Duration::from_micros(wait), &mut said);
        let found = open(&path, threads, rng.one_in(6), &format!("round {round}"));
        for (t, (said, n)) in said.iter_mut().zip(&found).enumerate() {
            let least = if durability == "full" { said.acknowledged } else { said.flushed };
            // One more may have been committed and not yet said.
            assert!(
                (least..=said.acknowledged + 1).contains(n),
                "round {round}, thread {t}: {n} is there, the child said {said:?}"
            );
            // What was seen after a restart is durable.
            *said = Said { acknowledged: *n, flushed: *n };
        }
    }
    said.iter().map(|s| s.acknowledged).sum()
}

#[test]
fn full_durability_survives_kills() {
    let (seed, kills) = (telar_tests::seed(), if telar_tests::long() { 100 } else { 12 });
    for threads in 1..=3 {
        let done = kill_often("full", threads, kills, seed.wrapping_add(threads as u64));
        println!("full, {threads} threads, {kills} kills: {done} transactions");
        assert!(done > i64::from(kills), "hardly anything was committed");
    }
}

#[test]
fn async_durability_keeps_a_prefix_and_what_was_flushed() {
    let (seed, kills) = (telar_tests::seed() ^ 1, if telar_tests::long() { 100 } else { 12 });
    for threads in [1, 3] {
        let done = kill_often("async", threads, kills, seed.wrapping_add(threads as u64));
        println!("async, {threads} threads, {kills} kills: {done} transactions");
        assert!(done > i64::from(kills), "hardly anything was committed");
    }
}
