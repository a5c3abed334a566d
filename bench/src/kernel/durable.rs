//! Commits on disk: one writer, 64 writers, and what the disk itself can do.
//!
//! A group is the commits that one write and one sync of the log make durable. The engine writes
//! each group with one system call, and during this part no other thread of the process writes, so
//! the number of groups is that of the process's write calls, and their mean size its bytes written
//! over these calls (`/proc/self/io`). Where the system does not count, a group is taken to be one
//! commit of every writer, of [`COMMIT_BYTES`] each.
//!
//! The raw rate is that of appending as many bytes as a mean group has to a file in the same
//! folder, followed by `fdatasync`, in the same run and in turns with the commits.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telar_engine::{Engine, Settings};
use telar_generate::rng::Rng;

use super::{KernelError, Run};
use crate::container::{Container, Telar, Writer};
use crate::measure::median;
use crate::report::{Table, digits};

/// Threads of the large measurement.
const WRITERS: usize = 64;
/// Vertices of the database; edges between them are random, so nearly all are new.
const VERTICES: u32 = 1 << 18;
/// Bytes of a logged commit of one edge, for systems that do not count.
const COMMIT_BYTES: u64 = 48;

/// Write calls and bytes of this process so far.
#[derive(Clone, Copy, Debug, Default)]
struct Written {
    calls: u64,
    bytes: u64,
}

impl Written {
    /// `None` where the system does not count.
    fn now() -> Option<Self> {
        let text = fs::read_to_string("/proc/self/io").ok()?;
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(name, _)| *name == key)?.1.parse().ok()
        };
        Some(Self { calls: value("syscw")?, bytes: value("wchar")? })
    }
}

/// Commits of some writers during a while.
struct Commits {
    per_s: f64,
    /// Commits per group.
    group: f64,
    /// Bytes per group.
    group_bytes: u64,
}

/// Lets `writers` threads insert one edge per transaction for a while. Each has its own share of
/// the sources, so commits do not conflict.
fn commit(store: &Telar, writers: usize, seed: u64, time: Duration) -> Commits {
    let (start, stop) = (Barrier::new(writers + 1), AtomicBool::new(false));
    let before = Written::now();
    let (commits, seconds) = std::thread::scope(|scope| {
        let (start, stop) = (&start, &stop);
        let work = move |thread: usize| {
            let (mut writer, mut rng) = (store.writer(), Rng::new(seed + thread as u64));
            let sources = VERTICES as usize / WRITERS;
            start.wait();
            let mut commits = 0u64;
            while !stop.load(Ordering::Relaxed) {
                let u = (thread * sources + rng.index(sources)) as u32;
                writer.insert_edge(u, rng.index(VERTICES as usize) as u32);
                commits += 1;
            }
            commits
        };
        let threads: Vec<_> =
            (0..writers).map(|thread| scope.spawn(move || work(thread))).collect();
        start.wait();
        let begun = Instant::now();
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        let commits: u64 =
            threads.into_iter().map(|thread| thread.join().expect("a writing thread")).sum();
        (commits, begun.elapsed().as_secs_f64())
    });
    let written = before.zip(Written::now()).map(|(before, now)| Written {
        calls: now.calls - before.calls,
        bytes: now.bytes - before.bytes,
    });
    let (group, group_bytes) = match written {
        Some(Written { calls, bytes }) if calls > 0 && bytes > 0 => {
            (commits as f64 / calls as f64, bytes / calls)
        }
        _ => (writers as f64, COMMIT_BYTES * writers as u64),
    };
    Commits { per_s: commits as f64 / seconds, group, group_bytes }
}

/// Appends of `bytes` bytes per second, each synced.
fn raw(folder: &Path, bytes: u64, time: Duration) -> io::Result<f64> {
    let path = folder.join("raw");
    let mut file = fs::File::create(&path)?;
    let block = vec![0xa5; bytes.max(1) as usize];
    let begun = Instant::now();
    let mut syncs = 0u64;
    while begun.elapsed() < time {
        file.write_all(&block)?;
        file.sync_data()?;
        syncs += 1;
    }
    let rate = syncs as f64 / begun.elapsed().as_secs_f64();
    fs::remove_file(&path)?;
    Ok(rate)
}

/// Measures and notes everything of this part.
pub(super) fn measure(run: &mut Run<'_>) -> Result<(), KernelError> {
    run.say("commits on disk");
    let folder = match &run.folder {
        Some(folder) => tempfile::tempdir_in(folder)?,
        None => tempfile::tempdir()?,
    };
    let store = Telar::new(Engine::open(folder.path().join("db.telar"), Settings::default())?);
    store.writer().insert_vertices(VERTICES);
    let time = run.sizes.durable_slice;
    // Per round: commits/s of one and of 64, raw syncs/s, group size, share, that of one writer.
    let mut rounds: Vec<[f64; 6]> = Vec::new();
    for round in 0..run.rounds.max(3) as u64 {
        let seed = run.seed + round * 1000;
        let one = commit(&store, 1, seed, time);
        let many = commit(&store, WRITERS, seed + 100, time);
        let syncs = raw(folder.path(), many.group_bytes, time)?;
        let share = many.per_s / (many.group * syncs);
        let small = one.per_s / syncs;
        rounds.push([one.per_s, many.per_s, syncs, many.group, share, small]);
    }
    store.engine().flush()?;
    let of = |i: usize| median(&rounds.iter().map(|round| round[i]).collect::<Vec<_>>());
    let ratios: Vec<f64> = rounds.iter().map(|round| round[1] / round[0]).collect();
    run.find("durable_64_over_1", median(&ratios));
    run.find("durable_64_share_of_raw", of(4));
    let figures = [
        ("one_writer/commits_per_s", of(0)),
        ("64_writers/commits_per_s", of(1)),
        ("64_writers/commits_per_group", of(3)),
        ("raw/syncs_per_s", of(2)),
        ("one_writer/of_raw_syncs", of(5)),
    ];
    let counted = if Written::now().is_some() { "write calls" } else { "assumed: all writers" };
    run.report.parameter("group_size_from", counted);
    let mut table = Table::new(["commits on disk", "figure"]);
    for (name, value) in figures {
        table.push([name.to_owned(), digits(value)]);
        run.report.figure(format!("durable/{name}"), value);
    }
    run.table("Durable commits (wall clock)", table);
    Ok(())
}
