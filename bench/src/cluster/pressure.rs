//! Groups of several sizes at several rates into a store (gate G1 of the cluster's design).
//!
//! A cell is a size and a rate. Groups go one after the other, as from an engine, each when it is
//! due or as soon as the one before it is in. In the middle of a cell a command may disturb the
//! store: a kill of its primary. In the end every group that was acknowledged must have been read,
//! once. Where the log is kept short, they are read meanwhile, as by a replica, and trimmed.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use telar_cluster::store::{
    Append, Appender, Log, Name, Reader, SlotRange, StoreError, Stores, Sweeper,
};

use super::{Failed, nanos, new_name};
use crate::histogram::Histogram;
use crate::report::{Report, Table, digits};

/// Sizes, rates, times.
#[derive(Debug, Clone)]
pub struct Options {
    /// URL of the store.
    pub store: String,
    /// Sizes of groups, in KiB.
    pub sizes: Vec<u32>,
    /// Rates, in MB per second.
    pub rates: Vec<f64>,
    /// Time of each cell.
    pub time: Duration,
    /// Bytes of the log that are kept, while groups are read and trimmed; all of a cell if none.
    pub keep: Option<u64>,
    /// Command for the shell in the middle of each cell.
    pub disturb: Option<String>,
}

/// Longest wait for the outcome of one group.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of slots that are read at a time.
const READ_BYTES: usize = 8 << 20;
/// Longest wait of a reader for the next group.
const WAIT: Duration = Duration::from_millis(100);
/// Time before what failed is tried again.
const PAUSE: Duration = Duration::from_millis(50);

struct Cell {
    groups: u64,
    /// MB per second that were reached.
    rate: f64,
    latencies: Histogram,
    /// Longest time without a group that was acknowledged.
    gap: Duration,
    /// Groups whose first attempt failed and that came to be in the end.
    retried: u64,
}

fn cell(
    log: &dyn Log,
    stream: &Name,
    bytes: usize,
    rate: f64,
    options: &Options,
    ended: &AtomicBool,
) -> Result<Cell, Failed> {
    let appender = Appender::new(log, stream.clone())?;
    // Nothing that a store could make smaller.
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let payload: Vec<u8> = (0..bytes).map(|_| byte()).collect();
    let every = Duration::from_secs_f64(bytes as f64 / (rate * 1e6));
    let begun = Instant::now();
    let (mut groups, mut retried, mut gap) = (0, 0, Duration::ZERO);
    let (mut last, mut due) = (begun, begun);
    let mut latencies = Histogram::default();
    let mut disturb = options.disturb.as_ref();
    let mut disturbing = None;
    // Nothing is worth measuring any more once its reader has failed.
    while begun.elapsed() < options.time && !ended.load(Ordering::Acquire) {
        if begun.elapsed() > options.time / 2
            && let Some(command) = disturb.take()
        {
            disturbing = Some(Command::new("sh").args(["-c", command]).spawn()?);
        }
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due = (due + every).max(Instant::now().checked_sub(10 * every).unwrap_or(due));
        let range = SlotRange::new(groups + 1, groups + 2)?;
        let from = Instant::now();
        let mut failed = false;
        loop {
            match appender.append(range, 1, 7, &payload, PATIENCE) {
                Ok(Append::Won) => break,
                Ok(Append::Lost(_)) => return Err("another writer has a slot".into()),
                // Nothing of it is in the log, or nobody knows: the same is put again.
                Ok(Append::Unknown(cause)) | Err(cause) if from.elapsed() >= PATIENCE => {
                    return Err(cause.into());
                }
                Ok(Append::Unknown(_)) => return Err("an outcome stayed unknown".into()),
                Err(_) => failed = true,
            }
            thread::sleep(PAUSE);
        }
        latencies.record(nanos(from));
        gap = gap.max(last.elapsed());
        last = Instant::now();
        groups += 1;
        retried += u64::from(failed);
    }
    let rate = groups as f64 * bytes as f64 / 1e6 / begun.elapsed().as_secs_f64();
    if let Some(mut child) = disturbing {
        let status = child.wait()?;
        if !status.success() {
            return Err(format!("the command that disturbs the store failed: {status}").into());
        }
    }
    Ok(Cell { groups, rate, latencies, gap, retried })
}

/// Groups of a stream from its first on.
struct Follower<'l> {
    log: &'l dyn Log,
    stream: &'l Name,
    reader: Reader<'l>,
    /// Groups that were read.
    found: u64,
    /// Groups that were read and trimmed.
    trimmed: u64,
    /// Groups that are kept; all of them if none.
    keep: Option<u64>,
    sweeper: Sweeper,
}

impl Follower<'_> {
    /// Reads what comes next, trims what lies further back than what is kept; false at the end.
    fn step(&mut self) -> Result<bool, StoreError> {
        let read = self.reader.read(READ_BYTES, WAIT)?;
        self.found += read.len() as u64;
        if let Some(keep) = self.keep {
            let back = self.found.saturating_sub(keep);
            // Not for each group: a leader looks after its log now and then, too.
            if back - self.trimmed > keep / 4 {
                self.log.trim(self.stream, back + 1)?;
                self.sweeper.sweep(self.log, self.stream)?;
                self.trimmed = back;
            }
        }
        Ok(!read.is_empty())
    }
}

/// Reads all groups of a stream of groups of `bytes`, until `ended` and there are no more; returns
/// how many there were.
fn follow(
    log: &dyn Log,
    stream: &Name,
    bytes: usize,
    keep: Option<u64>,
    ended: &AtomicBool,
) -> Result<u64, Failed> {
    let reader = Reader::new(log, stream.clone(), 1);
    // What is being put is never trimmed.
    let keep = keep.map(|keep| (keep / bytes as u64).max(2));
    let mut follower =
        Follower { log, stream, reader, found: 0, trimmed: 0, keep, sweeper: Sweeper::default() };
    let mut failing = None;
    loop {
        // Asked first: what was acknowledged before the end is read after it.
        let is_last = ended.load(Ordering::Acquire);
        match follower.step() {
            Ok(false) if is_last => return Ok(follower.found),
            Ok(_) => failing = None,
            Err(cause) if failing.get_or_insert_with(Instant::now).elapsed() >= PATIENCE => {
                return Err(cause.into());
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

/// A cell, of which every group that was acknowledged was read once.
fn checked_cell(
    stores: &Stores,
    stream: &Name,
    bytes: usize,
    rate: f64,
    options: &Options,
) -> Result<Cell, Failed> {
    // A connection of its own, as a replica has.
    let own = Stores::open(&options.store)?;
    let ended = AtomicBool::new(false);
    let read = || {
        let found = follow(&*own.log, stream, bytes, options.keep, &ended);
        ended.store(true, Ordering::Release);
        found
    };
    let (cell, found) = thread::scope(|scope| {
        let beside = options.keep.map(|_| scope.spawn(read));
        let cell = cell(&*stores.log, stream, bytes, rate, options, &ended);
        ended.store(true, Ordering::Release);
        let joined = |reader: thread::ScopedJoinHandle<'_, _>| {
            reader.join().expect("INVARIANT: errors are returned")
        };
        (cell, beside.map_or_else(read, joined))
    });
    let (cell, found) = (cell?, found?);
    if found != cell.groups {
        return Err(format!("{} groups were acknowledged, {found} are there", cell.groups).into());
    }
    Ok(cell)
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Failures of the store; a group that was acknowledged and is missing.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Table), Failed> {
    let mut report = Report::new("stores");
    report.parameter("seconds", options.time.as_secs());
    report.parameter("keep", options.keep);
    let titles = ["KiB", "MB/s wanted", "MB/s", "groups/s", "p50 ms", "p99 ms", "gap s", "again"];
    let mut table = Table::new(titles);
    for size in &options.sizes {
        for rate in &options.rates {
            stage(&format!("{size} KiB at {rate} MB/s"));
            let (stores, stream) = (Stores::open(&options.store)?, new_name("pressure")?);
            let bytes = *size as usize * 1024;
            let cell = checked_cell(&stores, &stream, bytes, *rate, options)?;
            // What a long run leaves behind would fill the disk.
            stores.log.trim(&stream, cell.groups + 1)?;
            Sweeper::default().sweep(&*stores.log, &stream)?;
            let ms = |share| cell.latencies.quantile(share) as f64 / 1e6;
            let figures = [
                cell.rate,
                cell.groups as f64 / options.time.as_secs_f64(),
                ms(0.5),
                ms(0.99),
                cell.gap.as_secs_f64(),
            ];
            let key = format!("{size} KiB at {rate} MB/s");
            for (name, figure) in
                ["MB/s", "groups/s", "p50 ms", "p99 ms", "gap s"].iter().zip(figures)
            {
                report.figure(format!("{key}: {name}"), figure);
            }
            let mut row = vec![size.to_string(), digits(*rate)];
            row.extend(figures.map(digits));
            row.push(cell.retried.to_string());
            // A run of hours that fails in its last cell has told of the others.
            stage(&format!("all {} groups are there: {}", cell.groups, row.join(" | ")));
            table.push(row);
        }
    }
    Ok((report, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(folder: &std::path::Path) -> Options {
        Options {
            store: format!("dir:{}", folder.join("store").display()),
            sizes: vec![4, 64],
            rates: vec![1.0, 16.0],
            time: Duration::from_millis(100),
            keep: None,
            disturb: Some(format!("touch {}", folder.join("disturbed").display())),
        }
    }

    #[test]
    fn pressure_finds_every_group_in_a_folder() {
        for keep in [None, Some(1 << 18)] {
            let folder = tempfile::tempdir().unwrap();
            let options = Options { keep, ..options(folder.path()) };
            let (report, _) = run(&options, &mut |_| {}).unwrap();
            assert!(report.to_json().to_string().contains("64 KiB at 16 MB/s: p99 ms"));
            assert!(folder.path().join("disturbed").exists());
        }
    }

    #[test]
    fn a_follower_counts_every_group_and_keeps_so_many() {
        let folder = tempfile::tempdir().unwrap();
        let stores = Stores::open(&options(folder.path()).store).unwrap();
        let stream = new_name("pressure").unwrap();
        let appender = Appender::new(&*stores.log, stream.clone()).unwrap();
        for at in 1..=40 {
            let range = SlotRange::new(at, at + 1).unwrap();
            let put = appender.append(range, 1, 7, &[7; 1000], PATIENCE).unwrap();
            assert!(matches!(put, Append::Won));
        }
        let ended = AtomicBool::new(true);
        let all = follow(&*stores.log, &stream, 1000, None, &ended).unwrap();
        assert_eq!((all, stores.log.oldest(&stream).unwrap()), (40, 1));
        let all = follow(&*stores.log, &stream, 1000, Some(8_000), &ended).unwrap();
        assert_eq!((all, stores.log.oldest(&stream).unwrap()), (40, 33));
    }
}
