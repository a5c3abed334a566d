//! Superseded values of a column: what settling folded and a retained timestamp tells apart.
//!
//! ```text
//!  ColUndo ── per segment ── runs, oldest first ─┬─ Entries: (place, ts, value before), sorted
//!                                                └─ Laid: a large commit's layer (layer.rs)
//! ```
//!
//! The value of a place at `t` is the value before its earliest change after `t`, if it has one.
//! Runs are disjoint in time for each place, so the first that knows of a change after `t` tells.
//!
//! Cost: 16 bytes and the value per superseded value; of a layer 128 bytes and the chunk that it
//! was laid over, which takes nothing where nothing was. A look-up is a binary search per run, of
//! which there are a few: short ones are merged.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use super::Chunk;
use super::layer::Places;
use crate::adjacency::SEGMENT_VERTICES;
use crate::format::subject::Subject;
use crate::mapped::lazy::Lazy;
use crate::mapped::{Stored, Value};
use crate::table::SparseArray;

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

/// Superseded values of one segment, in a span of time.
#[derive(Debug)]
enum Run<C: Chunk> {
    Entries {
        last_ts: u64,
        /// By place, then time.
        entries: Box<[OldValue<C::Value>]>,
    },
    /// All values that one commit replaced.
    Laid {
        ts: u64,
        written: Places,
        /// Values before the commit.
        under: Arc<C>,
    },
}

impl<C: Chunk> Run<C> {
    fn of_entries(mut entries: Vec<OldValue<C::Value>>) -> Self {
        entries.sort_by_key(|e| (e.local, e.ts));
        let last_ts = entries.iter().map(|e| e.ts).max().unwrap_or(0);
        Self::Entries { last_ts, entries: entries.into_boxed_slice() }
    }

    fn last_ts(&self) -> u64 {
        match self {
            Self::Entries { last_ts, .. } => *last_ts,
            Self::Laid { ts, .. } => *ts,
        }
    }

    /// The value of a place before its first change after `ts`, if the run has one.
    fn before(&self, local: u32, ts: u64) -> Option<C::Value> {
        match self {
            Self::Entries { entries, .. } => {
                let at = entries.partition_point(|e| (e.local, e.ts) <= (local, ts));
                entries.get(at).filter(|e| e.local == local).map(|e| e.value.clone())
            }
            Self::Laid { ts: replaced, written, under } => {
                (ts < *replaced && written.has(local)).then(|| under.get(local as usize))
            }
        }
    }

    /// Number of superseded values.
    fn len(&self) -> u64 {
        match self {
            Self::Entries { entries, .. } => entries.len() as u64,
            Self::Laid { written, .. } => written.count().into(),
        }
    }

    /// Appends all entries after `after`.
    fn collect(&self, after: u64, found: &mut Vec<OldValue<C::Value>>) {
        match self {
            Self::Entries { entries, .. } => {
                found.extend(entries.iter().filter(|e| e.ts > after).cloned());
            }
            Self::Laid { ts, written, under } if *ts > after => {
                let places = (0..SEGMENT_VERTICES as u32).filter(|local| written.has(*local));
                let value = |local: u32| under.get(local as usize);
                let entry = |local| OldValue { local, ts: *ts, value: value(local) };
                found.extend(places.map(entry));
            }
            Self::Laid { .. } => {}
        }
    }

    /// Heap bytes, without what values point to.
    fn bytes(&self) -> usize {
        let more = match self {
            Self::Entries { entries, .. } => size_of_val(&**entries),
            Self::Laid { under, .. } => under.bytes(),
        };
        size_of::<Self>() + more
    }
}

#[derive(Debug)]
struct Runs<C: Chunk> {
    runs: Vec<Run<C>>,
    /// True once what the store has is among them.
    is_read: bool,
}

impl<C: Chunk> Default for Runs<C> {
    fn default() -> Self {
        Self { runs: Vec::new(), is_read: false }
    }
}

/// Decoded entries that the store has of a segment.
type Decoded<V> = Result<Vec<OldValue<V>>, &'static str>;

/// The superseded values of a column. Empty, and without memory, where no history is kept.
#[derive(Debug)]
pub(crate) struct ColUndo<C: Chunk> {
    segments: SparseArray<Mutex<Runs<C>>>,
    stored: Lazy<Vec<OldValue<C::Value>>>,
    /// No entry is newer: who reads at or after it need not look.
    until: AtomicU64,
}

impl<C: Chunk> Default for ColUndo<C> {
    fn default() -> Self {
        let (segments, stored) = (SparseArray::default(), Lazy::default());
        Self { segments, stored, until: AtomicU64::new(0) }
    }
}

impl<C: Chunk> ColUndo<C> {
    /// Reads from the store what it has of segments: nothing after `until`, which is the timestamp
    /// of its checkpoint.
    pub(crate) fn attach(
        &self,
        stored: &Arc<Stored>,
        subject: Subject,
        until: u64,
        decode: fn(&Value<'_>) -> Decoded<C::Value>,
    ) where
        C: 'static,
    {
        self.stored.attach(stored, subject, decode);
        self.until.fetch_max(until, Ordering::Release);
    }

    /// The runs of a segment, those in the store included.
    fn segment(&self, segment: u32) -> Option<MutexGuard<'_, Runs<C>>> {
        if self.segments.get(segment).is_none() && !self.stored.is_attached() {
            return None;
        }
        let mut held = self.segments.get_or_grow(segment).lock();
        let Runs { runs, is_read } = &mut *held;
        self.stored.read(segment, is_read, |older| runs.insert(0, Run::of_entries(older)));
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
    pub(crate) fn before(&self, segment: u32, local: u32, ts: u64) -> Option<C::Value> {
        let runs = self.segment(segment)?;
        let newer = runs.runs.iter().filter(|run| run.last_ts() > ts);
        newer.filter_map(|run| run.before(local, ts)).next()
    }

    /// Adds entries that are newer than all here of the same places.
    pub(crate) fn push(&self, segment: u32, mut entries: Vec<OldValue<C::Value>>, floor: u64) {
        let Some(newest) = entries.iter().map(|e| e.ts).max() else { return };
        let mut runs = self.segments.get_or_grow(segment).lock();
        runs.runs.retain(|run| run.last_ts() > floor);
        while let Some(Run::Entries { entries: last, .. }) = runs.runs.last()
            && last.len() < RUN_ENTRIES
            && last.len() <= 2 * entries.len()
        {
            entries.extend(last.iter().filter(|e| e.ts > floor).cloned());
            runs.runs.pop();
        }
        runs.runs.push(Run::of_entries(entries));
        self.until.fetch_max(newest, Ordering::Release);
    }

    /// Adds what the commit at `ts`, newer than all here, replaced: the values of `under` at the
    /// places that it wrote.
    pub(super) fn push_laid(
        &self,
        segment: u32,
        ts: u64,
        written: Places,
        under: Arc<C>,
        floor: u64,
    ) {
        let mut runs = self.segments.get_or_grow(segment).lock();
        runs.runs.retain(|run| run.last_ts() > floor);
        runs.runs.push(Run::Laid { ts, written, under });
        self.until.fetch_max(ts, Ordering::Release);
    }

    /// The entries of a segment after `after`, by place and time.
    pub(crate) fn after(&self, segment: u32, after: u64) -> Vec<OldValue<C::Value>> {
        let Some(runs) = self.segment(segment) else { return Vec::new() };
        let mut found = Vec::new();
        runs.runs.iter().for_each(|run| run.collect(after, &mut found));
        found.sort_by_key(|e| (e.local, e.ts));
        found
    }

    /// Drops what lies at or below the floor, in whole runs.
    pub(crate) fn prune(&self, floor: u64) {
        for (_, runs) in self.segments.iter() {
            let mut runs = runs.lock();
            runs.runs.retain(|run| run.last_ts() > floor);
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
                entries += run.len();
                bytes += run.bytes();
            }
        }
        (entries, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::StateChunk;

    #[test]
    fn the_first_change_after_a_time_tells_what_was_before() {
        let undo: ColUndo<StateChunk> = ColUndo::default();
        // Place p changes at p, p + 10, p + 20, ...: before that it was the time of the change.
        for round in 0..200u64 {
            let changes = (1..10u32).map(|local| {
                let ts = round * 10 + u64::from(local);
                OldValue { local, ts, value: (ts - 1) as u32 }
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
                assert_eq!(undo.before(7, local, ts).map(u64::from), expected, "{local} at {ts}");
            }
        }
        assert!(undo.concerns(1998) && !undo.concerns(1999));
        undo.prune(1999);
        assert_eq!(undo.used().0, 0);
        assert_eq!(undo.before(8, 1, 0), None);
    }
}
