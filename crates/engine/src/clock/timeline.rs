//! When which commit was the newest, for the ages in statistics.
//!
//! Ages come from a *timeline*: the background thread notes, once per pass, which commit was the
//! newest. The age of a timestamp is the time since the first later commit was seen: how long what
//! it shows has been out of date. So opening a snapshot costs nothing more, and a snapshot that was
//! opened long ago is only old if something was committed since.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Samples of the timeline; half of the older ones go when it is full, so their distance grows with
/// their age.
const SAMPLES_MAX: usize = 512;

/// When which commit was the newest.
#[derive(Debug)]
pub(crate) struct Timeline(Mutex<VecDeque<(Instant, u64)>>);

impl Timeline {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(VecDeque::new()))
    }

    /// Notes that `published` is the newest commit now.
    pub(crate) fn note(&self, published: u64) {
        let mut samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.back().is_some_and(|(_, last)| *last >= published) {
            return;
        }
        samples.push_back((Instant::now(), published));
        if samples.len() > SAMPLES_MAX {
            let mut number = 0;
            samples.retain(|_| {
                number += 1;
                number > SAMPLES_MAX / 2 || number % 2 == 0
            });
        }
    }

    /// Time from when the first commit after `ts` was seen until `now`; zero if there is none.
    pub(crate) fn age(&self, ts: u64, now: Instant) -> Duration {
        let samples = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let later = samples.partition_point(|(_, published)| *published <= ts);
        let seen = samples.get(later);
        seen.map_or(Duration::ZERO, |(seen, _)| now.saturating_duration_since(*seen))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_the_time_since_the_first_later_commit() {
        let timeline = Timeline::new();
        timeline.note(5);
        let now = Instant::now();
        assert_eq!(timeline.age(5, now), Duration::ZERO, "nothing is newer");
        assert_eq!(timeline.age(9, now), Duration::ZERO);
        std::thread::sleep(Duration::from_millis(20));
        timeline.note(6);
        timeline.note(6);
        let now = Instant::now();
        assert!(timeline.age(4, now) >= Duration::from_millis(20));
        assert!(timeline.age(5, now) < timeline.age(4, now));
    }

    #[test]
    fn timeline_is_bounded_and_keeps_its_oldest_time_roughly() {
        let timeline = Timeline::new();
        (1..=100_000).for_each(|ts| timeline.note(ts));
        let samples = timeline.0.lock().unwrap();
        assert!(samples.len() <= SAMPLES_MAX);
        assert!(samples.iter().zip(samples.iter().skip(1)).all(|(a, b)| a.1 < b.1));
        assert_eq!(samples.back().map(|s| s.1), Some(100_000));
    }
}
