//! Superseded values of a column: what settling folded and a retained timestamp tells apart.
//!
//! ```text
//!  ColUndo ── per segment ── runs, oldest first: entries (place, ts, value before), sorted
//! ```
//!
//! The value of a place at `t` is the value before its earliest change after `t`, if it has one.
//! Runs are disjoint in time for each place, so the first that knows of a change after `t` tells.
//!
//! Cost: 16 bytes and the value per superseded value; a look-up is a binary search per run, of
//! which there are a few: short ones are merged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::history::lazy::Lazy;
use crate::history::stored::Subject;
use crate::mapped::{Stored, Value};
use crate::table::GrowArray;

/// A run this long is left as it is.
const RUN_ENTRIES: usize = 4096;

/// A change of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OldValue<V> {
    pub(crate) local: u32,
    /// When it was replaced.
    pub(crate) ts: u64,
    /// What it was.
    pub(crate) value: V,
}

#[derive(Debug)]
struct Run<V> {
    last_ts: u64,
    /// By place, then time.
    entries: Box<[OldValue<V>]>,
}

impl<V> Run<V> {
    fn new(mut entries: Vec<OldValue<V>>) -> Arc<Self> {
        entries.sort_by_key(|e| (e.local, e.ts));
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        Arc::new(Self { last_ts, entries: entries.into_boxed_slice() })
    }

    fn before(&self, local: u32, ts: u64) -> Option<&V> {
        let at = self.entries.partition_point(|e| (e.local, e.ts) <= (local, ts));
        self.entries.get(at).filter(|e| e.local == local).map(|e| &e.value)
    }
}

#[derive(Debug)]
struct Runs<V> {
    runs: Vec<Arc<Run<V>>>,
    /// Whether what the store has is among them.
    is_read: bool,
}

impl<V> Default for Runs<V> {
    fn default() -> Self {
        Self { runs: Vec::new(), is_read: false }
    }
}

/// The superseded values of a column. Empty, and without memory, where no history is kept.
#[derive(Debug)]
pub(crate) struct ColUndo<V> {
    segments: GrowArray<Mutex<Runs<V>>, 2>,
    stored: Lazy<Vec<OldValue<V>>>,
    /// No entry is newer: who reads at or after it need not look.
    until: AtomicU64,
}

impl<V> Default for ColUndo<V> {
    fn default() -> Self {
        let (segments, stored) = (GrowArray::default(), Lazy::default());
        Self { segments, stored, until: AtomicU64::new(0) }
    }
}

impl<V: Clone> ColUndo<V> {
    /// Reads from the store what it has of segments: nothing after `until`, which is the timestamp
    /// of its checkpoint.
    pub(crate) fn attach(
        &self,
        stored: &Arc<Stored>,
        subject: Subject,
        until: u64,
        decode: fn(&Value<'_>) -> Result<Vec<OldValue<V>>, &'static str>,
    ) where
        V: 'static,
    {
        self.stored.attach(stored, subject, decode);
        self.until.fetch_max(until, Ordering::Release);
    }

    /// The runs of a segment, those in the store included.
    fn segment(&self, segment: u32) -> Option<MutexGuard<'_, Runs<V>>> {
        if self.segments.get(segment).is_none() && !self.stored.is_attached() {
            return None;
        }
        let mut held = self.segments.get_or_grow(segment).lock();
        let Runs { runs, is_read } = &mut *held;
        self.stored.read(segment, is_read, |older| runs.insert(0, Run::new(older)));
        Some(held)
    }

    /// Whether a read at `ts` has to look here, once it has loaded a segment's version.
    #[inline(always)]
    pub(crate) fn concerns(&self, ts: u64) -> bool {
        // ORDERING: acquire pairs with the release in `push`, which precedes the installation of
        // the version that needs it.
        ts < self.until.load(Ordering::Acquire)
    }

    /// What the value was before its first change after `ts`, if it has changed.
    #[cold]
    pub(crate) fn before(&self, segment: u32, local: u32, ts: u64) -> Option<V> {
        let runs = self.segment(segment)?;
        let newer = runs.runs.iter().filter(|run| run.last_ts > ts);
        newer.filter_map(|run| run.before(local, ts)).next().cloned()
    }

    /// Adds entries that are newer than all here of the same places.
    pub(crate) fn push(&self, segment: u32, mut entries: Vec<OldValue<V>>, floor: u64) {
        let Some(newest) = entries.iter().map(|e| e.ts).max() else { return };
        let mut runs = self.segments.get_or_grow(segment).lock();
        runs.runs.retain(|run| run.last_ts > floor);
        while let Some(last) = runs.runs.last()
            && last.entries.len() < RUN_ENTRIES
            && last.entries.len() <= 2 * entries.len()
        {
            entries.extend(last.entries.iter().filter(|e| e.ts > floor).cloned());
            runs.runs.pop();
        }
        runs.runs.push(Run::new(entries));
        self.until.fetch_max(newest, Ordering::Release);
    }

    /// The entries of a segment after `after`, by place and time.
    pub(crate) fn after(&self, segment: u32, after: u64) -> Vec<OldValue<V>> {
        let Some(runs) = self.segment(segment) else { return Vec::new() };
        let newer = runs.runs.iter().flat_map(|run| run.entries.iter()).filter(|e| e.ts > after);
        let mut found: Vec<OldValue<V>> = newer.cloned().collect();
        found.sort_by_key(|e| (e.local, e.ts));
        found
    }

    /// Drops what lies at or below the floor, in whole runs.
    pub(crate) fn prune(&self, floor: u64) {
        for (_, runs) in self.segments.iter() {
            let mut runs = runs.lock();
            runs.runs.retain(|run| run.last_ts > floor);
            if runs.runs.is_empty() {
                runs.runs = Vec::new();
            }
        }
    }

    /// Number of entries, and memory without what values point to.
    pub(crate) fn used(&self) -> (u64, usize) {
        let (mut entries, mut bytes) = (0, 0);
        for (_, runs) in self.segments.iter() {
            for run in &runs.lock().runs {
                entries += run.entries.len() as u64;
                bytes += size_of::<Run<V>>() + 16 + size_of_val(&*run.entries);
            }
        }
        (entries, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_change_after_a_time_tells_what_was_before() {
        let undo: ColUndo<u64> = ColUndo::default();
        // Place p changes at p, p + 10, p + 20, ...: before that it was the time of the change.
        for round in 0..200u64 {
            let changes = (1..10u32).map(|local| {
                let ts = round * 10 + u64::from(local);
                OldValue { local, ts, value: ts - 1 }
            });
            undo.push(7, changes.collect(), 0);
        }
        for ts in 0..2000 {
            for local in 1..10u32 {
                let rest = (ts + 10 - u64::from(local)) % 10;
                let next = ts + 10 - rest;
                let expected = (next < 2000).then(|| next - 1);
                let expected =
                    if ts < u64::from(local) { Some(u64::from(local) - 1) } else { expected };
                assert_eq!(undo.before(7, local, ts), expected, "place {local} at {ts}");
            }
        }
        assert!(undo.concerns(1998) && !undo.concerns(1999));
        undo.prune(1999);
        assert_eq!(undo.used().0, 0);
        assert_eq!(undo.before(8, 1, 0), None);
    }
}
