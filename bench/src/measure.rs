//! Clocks, medians and fair order.
//!
//! A machine shared with others changes speed while one measures. So single-threaded work is timed
//! by the processor time of its thread, which stands still while others run, and subjects that are
//! to be compared take turns (A, B, A, B, ...), so that a slow minute hits all of them; ratios are
//! taken between medians.

use rustix::time::{ClockId, clock_gettime};
use std::time::Instant;

/// How long something took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Elapsed {
    /// By the clock on the wall, in seconds.
    pub wall_s: f64,
    /// Processor time of the calling thread, kernel time included, in seconds.
    pub cpu_s: f64,
}

impl std::ops::AddAssign for Elapsed {
    fn add_assign(&mut self, other: Self) {
        self.wall_s += other.wall_s;
        self.cpu_s += other.cpu_s;
    }
}

/// Processor time of the calling thread so far, kernel time included, in seconds.
pub(crate) fn thread_cpu_s() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 * 1e-9
}

/// Runs `work` and returns its result and how long it took.
pub fn time<R>(work: impl FnOnce() -> R) -> (R, Elapsed) {
    let (wall, cpu_s) = (Instant::now(), thread_cpu_s());
    let result = std::hint::black_box(work());
    let cpu_s = thread_cpu_s() - cpu_s;
    (result, Elapsed { wall_s: wall.elapsed().as_secs_f64(), cpu_s })
}

/// Returns the middle value, the mean of the middle two if their number is even; NaN without
/// values.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n => (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
    }
}

/// Seconds of repeated runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    seconds: Vec<f64>,
}

impl Samples {
    /// Adds one run.
    pub fn push(&mut self, seconds: f64) {
        self.seconds.push(seconds);
    }

    /// Returns the number of runs.
    pub fn count(&self) -> usize {
        self.seconds.len()
    }

    /// Returns the middle run, the mean of the middle two if their number is even; NaN without
    /// runs.
    pub fn median(&self) -> f64 {
        median(&self.seconds)
    }

    /// Returns the fastest run; infinity without runs.
    pub fn min(&self) -> f64 {
        self.seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// Returns the slowest run over the fastest: how far to trust the median.
    pub fn spread(&self) -> f64 {
        self.seconds.iter().copied().fold(0.0, f64::max) / self.min()
    }
}

/// Lets the subjects `0..subjects` take turns, `rounds` times; `run(subject, round)` returns the
/// seconds that count.
///
/// # Errors
/// The first error of a run, after which nothing more is run.
pub fn interleave<E>(
    subjects: usize,
    rounds: usize,
    mut run: impl FnMut(usize, usize) -> Result<f64, E>,
) -> Result<Vec<Samples>, E> {
    let mut samples = vec![Samples::default(); subjects];
    for round in 0..rounds {
        for (subject, samples) in samples.iter_mut().enumerate() {
            samples.push(run(subject, round)?);
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::time::Duration;

    #[test]
    fn median_is_the_middle() {
        let samples = |seconds: &[f64]| Samples { seconds: seconds.to_vec() };
        assert_eq!(samples(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(samples(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert!(samples(&[]).median().is_nan());
        assert_eq!((samples(&[4.0, 2.0]).min(), samples(&[4.0, 2.0]).spread()), (2.0, 2.0));
    }

    #[test]
    fn interleave_takes_turns() {
        let mut order = Vec::new();
        let samples = interleave(2, 3, |subject, round| {
            order.push((subject, round));
            Ok::<_, Infallible>(subject as f64)
        });
        assert_eq!(order, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        let samples = samples.unwrap_or_else(|never| match never {});
        assert_eq!((samples[1].count(), samples[1].median()), (3, 1.0));
    }

    #[test]
    fn sleeping_takes_time_on_the_wall_only() {
        let ((), elapsed) = time(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(elapsed.wall_s >= 0.03 && elapsed.cpu_s < 0.02, "{elapsed:?}");
    }
}
