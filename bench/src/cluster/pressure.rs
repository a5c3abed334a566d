//! Groups of several sizes at several rates into a store (gate G1 of the cluster's design).
//!
//! A cell is a size and a rate. Groups go one after the other, as from an engine, each when it is
//! due or as soon as the one before it is in. In the middle of a cell a command may disturb the
//! store: a kill of its primary. In the end every group that was acknowledged must be there, once.

use std::process::Command;
use std::time::{Duration, Instant};

use telar_cluster::store::{Append, Appender, Log, Name, Reader, SlotRange, Stores};

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
    /// Command for the shell in the middle of each cell.
    pub disturb: Option<String>,
}

/// Longest wait for the outcome of one group.
const PATIENCE: Duration = Duration::from_secs(120);
/// Bytes of slots that are read at a time.
const READ_BYTES: usize = 8 << 20;

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
    while begun.elapsed() < options.time {
        if begun.elapsed() > options.time / 2
            && let Some(command) = disturb.take()
        {
            disturbing = Some(Command::new("sh").args(["-c", command]).spawn()?);
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
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
            std::thread::sleep(Duration::from_millis(50));
        }
        latencies.record(nanos(from));
        gap = gap.max(last.elapsed());
        last = Instant::now();
        groups += 1;
        retried += u64::from(failed);
    }
    let rate = groups as f64 * bytes as f64 / 1e6 / begun.elapsed().as_secs_f64();
    if let Some(mut child) = disturbing {
        child.wait()?;
    }
    Ok(Cell { groups, rate, latencies, gap, retried })
}

/// Fails unless the stream holds exactly the groups that were acknowledged.
fn check(log: &dyn Log, stream: &Name, groups: u64) -> Result<(), Failed> {
    let mut reader = Reader::new(log, stream.clone(), 1);
    let mut found = 0;
    loop {
        let read = reader.read(READ_BYTES, Duration::ZERO)?;
        if read.is_empty() {
            break;
        }
        found += read.len() as u64;
    }
    if found != groups {
        return Err(format!("{groups} groups were acknowledged, {found} are there").into());
    }
    Ok(())
}

/// Runs the benchmark; `stage` is told what is going on.
///
/// # Errors
/// Failures of the store; a group that was acknowledged and is missing.
pub fn run(options: &Options, stage: &mut dyn FnMut(&str)) -> Result<(Report, Table), Failed> {
    let mut report = Report::new("stores");
    report.parameter("seconds", options.time.as_secs());
    let titles = ["KiB", "MB/s wanted", "MB/s", "groups/s", "p50 ms", "p99 ms", "gap s", "again"];
    let mut table = Table::new(titles);
    for size in &options.sizes {
        for rate in &options.rates {
            stage(&format!("{size} KiB at {rate} MB/s"));
            let (stores, stream) = (Stores::open(&options.store)?, new_name("pressure")?);
            let bytes = *size as usize * 1024;
            let cell = cell(&*stores.log, &stream, bytes, *rate, options)?;
            check(&*stores.log, &stream, cell.groups)?;
            // What a long run leaves behind would fill the disk.
            stores.log.trim(&stream, cell.groups + 1)?;
            telar_cluster::store::sweep(&*stores.log, &stream)?;
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
            table.push(row);
        }
    }
    Ok((report, table))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_finds_every_group_in_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("disturbed");
        let options = Options {
            store: format!("dir:{}", folder.path().join("store").display()),
            sizes: vec![4, 64],
            rates: vec![1.0, 16.0],
            time: Duration::from_millis(100),
            disturb: Some(format!("touch {}", marker.display())),
        };
        let (report, _) = run(&options, &mut |_| {}).unwrap();
        assert!(report.to_json().to_string().contains("64 KiB at 16 MB/s: p99 ms"));
        assert!(marker.exists());
    }
}
