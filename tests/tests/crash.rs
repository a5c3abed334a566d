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

impl Said {
    /// Transactions that a kill must not undo.
    fn durable(self, durability: &str) -> i64 {
        if durability == "full" { self.acknowledged } else { self.flushed }
    }
}

/// When a child is killed.
#[derive(Debug, Clone, Copy)]
struct Kill {
    /// The time begins once so many transactions more are durable; without any, when it is ready.
    transactions: i64,
    /// If zero, it is killed at once.
    after: Duration,
}

fn start(dir: &Path, threads: usize, durability: &str, seed: u64) -> Process {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg("run").arg(dir);
    command.args([&threads.to_string(), durability, &(seed >> 1).to_string(), "0"]);
    Process::start(command.stdout(Stdio::piped())).unwrap()
}

/// Reads what the child says until it dies.
fn run_and_kill(mut child: Process, durability: &'static str, kill: Kill, said: &mut [Said]) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Killing before "ready" is the case of a crash while recovering.
    if !kill.after.is_zero() {
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
    }
    let durable = move |said: &[Said]| said.iter().map(|s| s.durable(durability)).sum::<i64>();
    let enough = durable(said) + kill.transactions;
    let (tell, told) = std::sync::mpsc::channel();
    let mut now = said.to_vec();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["ack", t, n] => now[t.parse::<usize>().unwrap()].acknowledged = n.parse().unwrap(),
                ["flushed", t, n] => now[t.parse::<usize>().unwrap()].flushed = n.parse().unwrap(),
                ["ready"] => {}
                _ => panic!("the child says: {line}"),
            }
            // Nobody listens any more once the time has begun.
            let _ = tell.send(durable(&now));
        }
        now
    });
    if kill.transactions > 0 {
        let _ = told.iter().find(|durable| *durable >= enough);
    }
    std::thread::sleep(kill.after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "the child ended by itself: {status}");
    said.copy_from_slice(&reader.join().unwrap());
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

fn kill_often(durability: &'static str, threads: usize, kills: u32, seed: u64) -> i64 {
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut said = vec![Said::default(); threads];
    for round in 0..kills {
        let child = start(&path, threads, durability, rng.number());
        // While it opens, soon after, and in the midst of its work: five times of eight.
        let (transactions, most) = match seed.wrapping_add(round.into()) % 8 {
            3 => (0, 0),
            5 | 7 => (0, 8_000),
            _ => (2, 400_000),
        };
        let after = Duration::from_micros(rng.below(most));
        if after.is_zero() {
            std::thread::sleep(Duration::from_micros(rng.below(9_000)));
        }
        run_and_kill(child, durability, Kill { transactions, after }, &mut said);
        let found = open(&path, threads, rng.one_in(6), &format!("round {round}"));
        for (t, (said, n)) in said.iter_mut().zip(&found).enumerate() {
            let least = said.durable(durability);
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
