//! 16 sessions merge relationships among 16 nodes in a process that is killed, again and again on
//! the same directory: every pair has one at most, and no merge is lost or counted twice.
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

const SESSIONS: usize = 16;
/// Fewer merges than are made before each kill.
const MERGES: usize = 10;

fn child(mode: &str, dir: &Path, seed: u64) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_telar-child"));
    command.arg(mode).arg(dir).args([&SESSIONS.to_string(), "full", &(seed >> 1).to_string()]);
    command
}

/// Lets the child work for a while after its first acknowledgements, then kills it.
fn run_and_kill(dir: &Path, seed: u64, after: Duration, said: &mut [i64]) {
    let mut child = Process::start(child("merge", dir, seed).stdout(Stdio::piped())).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (tell, acknowledged) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        let mut said = [0; SESSIONS];
        for line in lines.map_while(Result::ok) {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["ack", session, n] => {
                    // Nobody listens any more once there are enough.
                    let _ = tell.send(());
                    said[session.parse::<usize>().unwrap()] = n.parse().unwrap();
                }
                ["ready"] => {}
                _ => panic!("the child says: {line}"),
            }
        }
        said
    });
    (0..=MERGES).for_each(|_| acknowledged.recv().unwrap());
    std::thread::sleep(after);
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(!status.success() && status.code().is_none(), "the child ended by itself: {status}");
    for (all, new) in said.iter_mut().zip(reader.join().unwrap()) {
        *all = (*all).max(new);
    }
}

#[test]
fn merges_under_kills_make_each_relationship_once() {
    let (seed, kills) = (telar_tests::seed(), if telar_tests::long() { 60 } else { 8 });
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("graph");
    let mut said = vec![0; SESSIONS];
    for round in 0..kills {
        let after = Duration::from_micros(rng.below(500_000));
        run_and_kill(&path, rng.number(), after, &mut said);
        let output = child("merged", &path, 0).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let state = text.lines().find_map(|line| line.strip_prefix("state "));
        let state = state.unwrap_or_else(|| panic!("round {round}: {output:?}"));
        let found: Vec<i64> = state.split(' ').map(|n| n.parse().unwrap()).collect();
        for (session, (said, n)) in said.iter_mut().zip(&found).enumerate() {
            // One more may have been committed and not yet said.
            let range = *said..=*said + 1;
            assert!(range.contains(n), "round {round}, session {session}: {n}, said {said}");
            *said = *n;
        }
    }
    let done: i64 = said.iter().sum();
    println!("{kills} kills: {done} merges");
    assert!(done > MERGES as i64 * kills, "hardly anything was merged");
}
