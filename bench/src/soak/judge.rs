//! What a soak measures from second to second, and whether any of it grew.
//!
//! A figure that follows the load (what a long reader holds up, what the log has had since the last
//! checkpoint) goes up and down all the time; what leaks raises its lows. So the lows of the second
//! quarter of a run are compared with those of the last, and a busy machine, or one that stops the
//! process for a while, changes nothing.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use telar_engine::Engine;

use crate::backup::Failed;
use crate::report::{Table, digits};

/// One figure: its name, its unit, by how much its lows may rise whatever its size.
struct Figure {
    name: &'static str,
    unit: f64,
    slack: f64,
}

const MIB: f64 = (1 << 20) as f64;
const FIGURES: [Figure; 9] = [
    Figure { name: "own memory MiB", unit: MIB, slack: 32.0 * MIB },
    Figure { name: "heap MiB", unit: MIB, slack: 8.0 * MIB },
    Figure { name: "in place MiB", unit: MIB, slack: f64::INFINITY },
    Figure { name: "unsettled", unit: 1.0, slack: 50_000.0 },
    Figure { name: "past", unit: 1.0, slack: 100_000.0 },
    Figure { name: "vertex ids", unit: 1.0, slack: 2_000.0 },
    Figure { name: "store MiB", unit: MIB, slack: 32.0 * MIB },
    Figure { name: "log MiB", unit: MIB, slack: 16.0 * MIB },
    Figure { name: "old states", unit: 1.0, slack: 2.0 },
];

/// Longest distance of two looks that is not a stop of the whole process.
const TICK_MAX: Duration = Duration::from_secs(2);

/// The figures at one moment.
pub(super) type State = [f64; FIGURES.len()];

/// What was seen in one part of the run.
#[derive(Debug, Clone)]
pub(super) struct Sample {
    pub(super) seconds: f64,
    pub(super) commits: u64,
    pub(super) backups: u64,
    pub(super) low: State,
    pub(super) high: State,
    /// Longest time that the watermark was behind, less the time the process was stopped.
    pub(super) watermark_s: f64,
}

/// Looks at a database every so often.
pub(super) struct Watch<'d> {
    db: &'d Engine,
    path: &'d Path,
    begun: Instant,
    looked: Instant,
    stopped: Duration,
    sample: Sample,
}

/// The figures now.
fn state(db: &Engine, path: &Path) -> State {
    let health = db.health();
    let store = fs::metadata(path.join("store/data.mdb")).map_or(0, |m| m.len());
    [
        own_memory_bytes() as f64,
        health.memory.heap() as f64,
        health.memory.mapped as f64,
        health.settle.unsettled as f64,
        (health.history.entries + health.history.values) as f64,
        db.reader().map_or(0.0, |reader| reader.vertex_bound().get() as f64),
        store as f64,
        health.log.map_or(0.0, |l| l.bytes_on_disk as f64),
        health.checkpoint.map_or(0.0, |c| c.kept as f64),
    ]
}

/// Memory of the process that is not that of a file, where the system says so.
fn own_memory_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
    kib.unwrap_or(0) << 10
}

impl Sample {
    fn new() -> Self {
        let (low, high) = ([f64::INFINITY; FIGURES.len()], [0.0; FIGURES.len()]);
        Self { seconds: 0.0, commits: 0, backups: 0, low, high, watermark_s: 0.0 }
    }

    /// The sample in a line.
    pub(super) fn line(&self) -> String {
        let figures =
            FIGURES.iter().zip(self.low.iter().zip(&self.high)).map(|(f, (low, high))| {
                format!("{} {}-{}", f.name, digits(low / f.unit), digits(high / f.unit))
            });
        let figures: Vec<_> = figures.collect();
        let Self { commits, backups, watermark_s, .. } = self;
        format!(
            "{commits} commits, {backups} backups, watermark {watermark_s:.1} s behind, {}",
            figures.join(", ")
        )
    }
}

impl<'d> Watch<'d> {
    pub(super) fn new(db: &'d Engine, path: &'d Path) -> Self {
        let now = Instant::now();
        let (begun, looked, stopped) = (now, now, Duration::ZERO);
        Self { db, path, begun, looked, stopped, sample: Sample::new() }
    }

    /// Looks once.
    pub(super) fn look(&mut self) {
        let late = self.looked.elapsed();
        self.looked = Instant::now();
        if late > TICK_MAX {
            self.stopped += late;
        }
        let now = state(self.db, self.path);
        for (i, value) in now.into_iter().enumerate() {
            self.sample.low[i] = self.sample.low[i].min(value);
            self.sample.high[i] = self.sample.high[i].max(value);
        }
        let behind = self.db.health().watermark_age.saturating_sub(self.stopped);
        self.sample.watermark_s = self.sample.watermark_s.max(behind.as_secs_f64());
    }

    /// What was seen since the last time.
    pub(super) fn sample(&mut self, commits: u64, backups: u64) -> Sample {
        let seconds = self.begun.elapsed().as_secs_f64();
        self.stopped = Duration::ZERO;
        let sample = std::mem::replace(&mut self.sample, Sample::new());
        Sample { seconds, commits, backups, ..sample }
    }
}

/// Lows and highs of each sample.
pub(super) fn table(samples: &[Sample]) -> Table {
    let heads = ["s", "commits", "backups", "watermark s"].into_iter();
    let mut table = Table::new(heads.chain(FIGURES.iter().map(|f| f.name)));
    for s in samples {
        let head = [digits(s.seconds), s.commits.to_string(), s.backups.to_string()];
        let head = head.into_iter().chain([digits(s.watermark_s)]);
        let range = |(f, (low, high)): (&Figure, (&f64, &f64))| {
            format!("{}-{}", digits(low / f.unit), digits(high / f.unit))
        };
        table.push(head.chain(FIGURES.iter().zip(s.low.iter().zip(&s.high)).map(range)));
    }
    table
}

/// The least of a figure in the second and in the last quarter of a run.
fn lows(samples: &[Sample], figure: usize) -> (f64, f64) {
    let quarter = samples.len() / 4;
    let low = |part: &[Sample]| part.iter().map(|s| s.low[figure]).fold(f64::INFINITY, f64::min);
    (low(&samples[quarter..2 * quarter]), low(&samples[samples.len() - quarter..]))
}

/// Fails if something grew that must not, or if the watermark was behind for longer than readers
/// that hold a snapshot for `hold` explain.
pub(super) fn judge(samples: &[Sample], hold: Duration) -> Result<(), Failed> {
    if samples.len() < 8 {
        return Ok(());
    }
    for (i, figure) in FIGURES.iter().enumerate() {
        let (early, late) = lows(samples, i);
        if late > early + early / 5.0 + figure.slack {
            let (early, late) = (digits(early / figure.unit), digits(late / figure.unit));
            return Err(format!("{} grew: at least {early}, then {late}", figure.name).into());
        }
    }
    let oldest = samples.iter().map(|s| s.watermark_s).fold(0.0, f64::max);
    // The longest reader, and a backup or a check that had the cores to itself.
    if oldest > 2.0 * hold.as_secs_f64() + 30.0 {
        return Err(format!("the watermark fell {oldest:.0} s behind").into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(seconds: u64) -> Sample {
        let low = FIGURES.map(|f| 10.0 * f.unit);
        let high = low.map(|x| x * (1.0 + (seconds % 7) as f64));
        let (commits, backups) = (seconds * 100, seconds);
        Sample { seconds: seconds as f64, commits, backups, low, high, watermark_s: 3.0 }
    }

    fn judged(change: impl Fn(u64, &mut Sample)) -> Result<(), Failed> {
        let samples: Vec<_> = (0..40)
            .map(|s| {
                let mut sample = flat(s);
                change(s, &mut sample);
                sample
            })
            .collect();
        judge(&samples, Duration::from_secs(2))
    }

    #[test]
    fn what_rises_fails_and_what_swings_does_not() {
        judged(|_, _| ()).unwrap();
        judged(|s, sample| sample.high[0] += (s << 30) as f64).unwrap();
        for (i, figure) in FIGURES.iter().enumerate().filter(|(_, f)| f.slack.is_finite()) {
            // A tenth of what swings and of the slack, second by second.
            let rate = (10.0 * figure.unit + figure.slack) / 10.0;
            let leak = |s: u64, sample: &mut Sample| sample.low[i] += s as f64 * rate;
            let error = judged(leak).unwrap_err().to_string();
            assert!(error.contains(figure.name) && error.contains("grew"), "{error}");
        }
    }

    #[test]
    fn a_watermark_that_stays_fails() {
        let error = judged(|s, sample| sample.watermark_s = s as f64).unwrap_err();
        assert!(error.to_string().contains("watermark"), "{error}");
    }
}
