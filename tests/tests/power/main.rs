//! Power failures at any moment of everything the engine does to its files: what was acknowledged
//! is there, nothing is there by half, and `check` agrees.
//!
//! `telar_tests::power` records programs and makes the disks that a failure could leave; here is
//! what they run, and what must hold. `TELAR_LONG=1` tries 5,000 disks, and real file systems.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how much it tried"
)]

mod ext4;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use telar_engine::maintenance::{RestoreOptions, Severity, check, restore};
use telar_engine::{Engine, Settings};
use telar_tests::power::{Disk, Fate, Recording, Said, Synced, expect_strace, record, scratch};
use telar_tests::{PrintSeed, Rng, load, unit};

/// One run of the child: its mode, what it works on, and the rest of its arguments. Names of
/// folders begin with `@`.
type Run = &'static [&'static str];

/// What a workload is, and what must hold of its folders after a failure.
struct Workload {
    name: &'static str,
    runs: &'static [Run],
    verify: fn(&State) -> Result<(), String>,
}

const WORKLOADS: [Workload; 6] = [
    Workload {
        name: "a new database, commits, checkpoints, reopened",
        runs: &[
            &["run", "@graph", "1", "full", "0", "8"],
            &["run", "@graph", "1", "full", "0", "40"],
        ],
        verify: |state| state.graph(),
    },
    Workload {
        name: "bulk loads",
        runs: &[&["load", "@graph"], &["load", "@graph"]],
        verify: |state| state.loads(),
    },
    Workload {
        name: "backups",
        runs: &[
            &["run", "@graph", "1", "full", "0", "12"],
            &["backup", "@graph", "@full", "full", "-"],
            &["run", "@graph", "1", "full", "0", "30"],
            &["backup", "@graph", "@more", "full", "@full"],
        ],
        verify: |state| {
            state.graph()?;
            state.backup(1, &["full"], 12)?;
            state.backup(3, &["full", "more"], 42)
        },
    },
    Workload {
        name: "a restore",
        runs: &[
            &["run", "@graph", "1", "full", "0", "12"],
            &["backup", "@graph", "@full", "full", "-"],
            &["restore", "@new/deep", "@full"],
            &["run", "@new/deep", "1", "full", "0", "3"],
        ],
        verify: |state| {
            state.backup(1, &["full"], 12)?;
            state.made(2, "new/deep", 12)
        },
    },
    Workload {
        name: "a repair",
        runs: &[&["run", "@graph", "1", "full", "0", "45"], &["repair", "@new", "@graph"]],
        verify: |state| {
            state.graph()?;
            state.made(1, "new", 45)
        },
    },
    Workload {
        name: "a compaction",
        runs: &[
            &["run", "@graph", "1", "full", "0", "40"],
            &["compact", "@graph"],
            &["run", "@graph", "1", "full", "0", "5"],
        ],
        verify: |state| state.graph(),
    },
];

/// What a power failure left, and what had been said before it.
struct State {
    folder: PathBuf,
    said: Vec<Said>,
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.store_bytes_max = 1 << 30;
    settings.background_interval_ms = 0;
    settings
}

/// Opens a database, looks at it with `found`, closes it, and checks it before and after.
fn opened<T>(path: &Path, found: impl FnOnce(&Engine) -> Result<T, String>) -> Result<T, String> {
    if path.join("FORMAT").exists() {
        let damage = check(path).map_err(|e| e.to_string())?;
        let bad = damage.findings.iter().find(|f| f.severity == Severity::Damage);
        bad.map_or(Ok(()), |finding| Err(format!("check: {finding}")))?;
    }
    let db = Engine::open(path, settings()).map_err(|e| e.to_string())?;
    let found = found(&db)?;
    db.error().map_or(Ok(()), |e| Err(e.to_string()))?;
    db.close().map_err(|e| e.to_string())?;
    let after = check(path).map_err(|e| e.to_string())?;
    match after.worst() {
        None => Ok(found),
        Some(_) => Err(format!("check after close: {:?}", after.findings)),
    }
}

impl State {
    fn at(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Whether a run had ended.
    fn ended(&self, run: usize) -> bool {
        self.said.iter().filter(|said| **said == Said::Ended).count() > run
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.said.iter().filter_map(|said| match said {
            Said::Line(line) => Some(line.as_str()),
            Said::Ended => None,
        })
    }

    /// The database of `run`: what was acknowledged is there, and at most one transaction more.
    fn graph(&self) -> Result<(), String> {
        let path = self.at("graph");
        if self.lines().any(|line| line == "ready") && !path.join("FORMAT").exists() {
            return Err("there is no database, though it had been opened".into());
        }
        let acks = self.lines().filter_map(|line| line.strip_prefix("ack 0 ")?.parse().ok());
        let acknowledged: i64 = acks.max().unwrap_or(0);
        let found = opened(&path, |db| unit::verify(db, 1))?;
        let found = found.first().copied().unwrap_or(0);
        match (acknowledged..=acknowledged + 1).contains(&found) {
            true => Ok(()),
            false => Err(format!("{found} transactions, {acknowledged} were acknowledged")),
        }
    }

    fn loads(&self) -> Result<(), String> {
        let acknowledged = self.lines().filter(|line| *line == "loaded").count() as u64;
        let found = opened(&self.at("graph"), load::verify)?;
        match (acknowledged..=acknowledged + 1).contains(&found) {
            true => Ok(()),
            false => Err(format!("{found} loads, {acknowledged} were acknowledged")),
        }
    }

    /// A chain of backups, the last of which `run` took: it restores to `count` transactions, or
    /// is refused if it was not finished.
    fn backup(&self, run: usize, chain: &[&str], count: i64) -> Result<(), String> {
        let chain: Vec<PathBuf> = chain.iter().map(|name| self.at(name)).collect();
        let target = self.at("restored");
        let restored = restore(&chain, &target, &RestoreOptions::default());
        match restored {
            Err(_) if !self.ended(run) => Ok(()),
            Err(e) => Err(format!("a backup that was finished: {e}")),
            Ok(_) => {
                let found = opened(&target, |db| unit::verify(db, 1))?;
                std::fs::remove_dir_all(&target).map_err(|e| e.to_string())?;
                if found == [count] { Ok(()) } else { Err(format!("restored {found:?}")) }
            }
        }
    }

    /// A database that `run` made of another: there whole with at least `count` transactions, or,
    /// if that had not ended, not at all.
    fn made(&self, run: usize, name: &str, count: i64) -> Result<(), String> {
        let path = self.at(name);
        if !path.exists() {
            let ended = self.ended(run);
            return if ended { Err(format!("{name} is not there")) } else { Ok(()) };
        }
        // Transactions go on counting where the database it was made of was.
        let acks = self.lines().filter_map(|line| line.strip_prefix("ack 0 ")?.parse().ok());
        let acknowledged = acks.max().unwrap_or(0).max(count);
        let least = if self.ended(run) { acknowledged } else { count };
        let found = opened(&path, |db| unit::verify(db, 1))?;
        match found.first().is_some_and(|found| (least..=least + 1).contains(found)) {
            true => Ok(()),
            false => Err(format!("{name} has {found:?} transactions, not {least}")),
        }
    }
}

/// Records a workload.
fn recorded(workload: &Workload) -> Recording {
    let dir = scratch();
    let mut recording = Recording::default();
    for run in workload.runs {
        let mut program = Command::new(env!("CARGO_BIN_EXE_telar-child"));
        for argument in *run {
            match argument.strip_prefix('@') {
                Some(name) => program.arg(dir.path().join(name)),
                None => program.arg(argument),
            };
        }
        record(&mut recording, dir.path(), &program);
    }
    recording
}

/// Tries so many disks of a workload; says how many, and what was wrong with which.
fn failures(workload: &Workload, recording: &Recording, states: u64, rng: &mut Rng) -> Vec<String> {
    let mut moments: Vec<usize> =
        (0..states).map(|_| rng.below(recording.len() as u64 + 1) as usize).collect();
    moments.sort_unstable();
    let (mut disk, mut said, mut at) = (Disk::default(), Vec::new(), 0);
    let mut wrong = Vec::new();
    for moment in moments {
        disk.advance(recording, at..moment, &mut said);
        at = moment;
        let any = |rng: &mut Rng| Fate::ALL[rng.below(3) as usize];
        let fates = (any(rng), any(rng));
        let dir = scratch();
        disk.crash(fates, rng, dir.path()).unwrap();
        let state = State { folder: dir.path().to_owned(), said: said.clone() };
        if let Err(what) = (workload.verify)(&state) {
            let (steps, name) = (recording.len(), workload.name);
            wrong.push(format!("{name}, step {moment} of {steps}, {fates:?}: {what}"));
        }
    }
    println!("{}: {} steps, {states} disks, {} bad", workload.name, recording.len(), wrong.len());
    wrong
}

#[test]
fn what_was_acknowledged_survives_a_power_failure() {
    expect_strace();
    let seed = telar_tests::seed();
    let _print = PrintSeed(seed);
    let mut rng = Rng::new(seed);
    let all: u64 = if telar_tests::long() { 5000 } else { 240 };
    let states = all.div_ceil(WORKLOADS.len() as u64);
    let mut wrong = Vec::new();
    for workload in &WORKLOADS {
        wrong.extend(failures(workload, &recorded(workload), states, &mut rng));
    }
    // The same thing by its numbers once: many states fail for one reason.
    let mut kinds: BTreeMap<String, (u32, &String)> = BTreeMap::new();
    for text in &wrong {
        let kind: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        let reason = kind.split_once("): ").map_or(kind.clone(), |(_, reason)| reason.to_owned());
        kinds.entry(reason).or_insert((0, text)).0 += 1;
    }
    assert!(wrong.is_empty(), "{} of {all} disks are bad: {kinds:#?}", wrong.len());
}

/// Programs that sync less than ours: each is found out.
#[test]
fn a_program_that_does_not_sync_is_found_out() {
    expect_strace();
    let mut rng = Rng::new(7);
    for workload in [&WORKLOADS[0], &WORKLOADS[2]] {
        let recording = recorded(workload);
        for synced in [Synced::Files, Synced::Folders] {
            let wrong = failures(workload, &recording.without_syncs(synced), 25, &mut rng);
            assert!(wrong.len() > 2, "{}, no syncs of {synced:?}: {wrong:?}", workload.name);
        }
    }
}
