//! Tables of versioned columns: the read path, the latched write path and settling.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::sync::{Arc, OnceLock};

use crossbeam_epoch::{Atomic, Guard, Owned};

use super::Chunk;
use super::undo::{ColUndo, OldValue};
use crate::adjacency::{SEGMENT_BITS, SEGMENT_VERTICES, local_of};
use crate::history::Horizon;
use crate::latch::{ALL_STRIPES, Latch};
use crate::table::GrowArray;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// A tail with this many entries settles after the commit that filled it.
const TAIL_ENTRIES_MAX: u32 = SEGMENT_VERTICES as u32 / 2;

#[derive(Debug)]
struct Version<V> {
    ts: u64,
    /// Number of the previous entry, plus one; 0 if the chunk holds the previous value.
    previous: u32,
    value: V,
}

#[derive(Debug)]
struct ColTail<V> {
    /// Number of the newest entry, plus one; 0 if the chunk's value holds.
    heads: Box<[AtomicU32; SEGMENT_VERTICES]>,
    entries: GrowArray<OnceLock<Version<V>>>,
    len: AtomicU32,
    /// Entries at which the tail is settled.
    settle_at: u32,
}

impl<V> ColTail<V> {
    fn new() -> Self {
        Self {
            settle_at: TAIL_ENTRIES_MAX,
            heads: Box::new([const { AtomicU32::new(0) }; SEGMENT_VERTICES]),
            entries: GrowArray::default(),
            len: AtomicU32::new(0),
        }
    }

    /// Versions of `local`, newest first.
    fn versions(&self, local: u32) -> impl Iterator<Item = &Version<V>> {
        // ORDERING: acquire pairs with the release in `push`.
        let mut next = self.heads[local as usize].load(Ordering::Acquire);
        std::iter::from_fn(move || {
            let entry = self.entries.get(next.checked_sub(1)?)?.get()?;
            next = entry.previous;
            Some(entry)
        })
    }

    fn push(&self, local: u32, ts: u64, value: V) {
        let head = &self.heads[local as usize];
        let number = self.len.fetch_add(1, Ordering::Relaxed);
        let entry = Version { ts, previous: head.load(Ordering::Relaxed), value };
        let fresh = self.entries.get_or_grow(number).set(entry).is_ok();
        debug_assert!(fresh, "every number is given out once");
        // ORDERING: release publishes the entry to readers of the head.
        head.store(number + 1, Ordering::Release);
    }
}

#[derive(Debug)]
struct ColVersion<C: Chunk> {
    chunk: Arc<C>,
    tail: Option<Box<ColTail<C::Value>>>,
}

impl<C: Chunk> ColVersion<C> {
    #[inline]
    fn get(&self, local: u32, read_ts: u64) -> C::Value {
        self.unsettled(local, read_ts).unwrap_or_else(|| self.chunk.get(local as usize))
    }

    /// The newest value in the tail that a reader at `read_ts` sees.
    #[inline]
    fn unsettled(&self, local: u32, read_ts: u64) -> Option<C::Value> {
        let tail = self.tail.as_ref()?;
        tail.versions(local).find(|v| v.ts <= read_ts).map(|v| v.value.clone())
    }

    /// Appends the changes of a place after `after` and up to `until`, in order of time.
    fn changes(&self, local: u32, after: u64, until: u64, out: &mut Vec<OldValue<C::Value>>) {
        let Some(tail) = &self.tail else { return };
        let first = out.len();
        let mut versions = tail.versions(local).skip_while(|v| v.ts > until).peekable();
        while let Some(v) = versions.next()
            && v.ts > after
        {
            let before = versions.peek().map(|older| older.value.clone());
            let value = before.unwrap_or_else(|| self.chunk.get(local as usize));
            out.push(OldValue { local, ts: v.ts, value });
        }
        out[first..].reverse();
    }
}

/// One segment of a column.
#[derive(Debug)]
pub(crate) struct ColSegment<C: Chunk> {
    pub(crate) latch: Latch,
    /// Largest commit timestamp that wrote here.
    pub(crate) last_write: AtomicU64,
    version: Atomic<ColVersion<C>>,
}

impl<C: Chunk> Default for ColSegment<C> {
    fn default() -> Self {
        Self { latch: Latch::default(), last_write: AtomicU64::new(0), version: Atomic::null() }
    }
}

impl<C: Chunk> Drop for ColSegment<C> {
    fn drop(&mut self) {
        let version = std::mem::replace(&mut self.version, Atomic::null());
        // SAFETY: `&mut self`: no reader can reach the segment any more.
        drop(unsafe { version.try_into_owned() });
    }
}

impl<C: Chunk + 'static> ColSegment<C> {
    #[inline]
    fn version<'g>(&self, guard: &'g Guard) -> Option<&'g ColVersion<C>> {
        // ORDERING: acquire pairs with the release swap in `install`.
        let shared = self.version.load(Ordering::Acquire, guard);
        // SAFETY: versions are retired through the epoch only, and `guard` pins it.
        unsafe { shared.as_ref() }
    }

    fn install(&self, version: ColVersion<C>, guard: &Guard) {
        let old = self.version.swap(Owned::new(version), Ordering::AcqRel, guard);
        if !old.is_null() {
            // SAFETY: unreachable for new readers; those that have it are pinned.
            unsafe { guard.defer_destroy(old) };
        }
    }

    fn exclusive<R>(&self, f: impl FnOnce() -> R) -> R {
        let _held = self.latch.hold(ALL_STRIPES);
        f()
    }

    /// The value of `local` at `read_ts`, no older than the watermark.
    #[inline]
    pub(crate) fn get(&self, local: u32, read_ts: u64, guard: &Guard) -> C::Value {
        match self.version(guard) {
            Some(version) => version.get(local, read_ts),
            None => C::Value::default(),
        }
    }

    /// The value of `local` at any retained timestamp.
    #[cold]
    fn get_past(&self, number: u32, local: u32, ts: u64, table: &ColTable<C>) -> C::Value {
        let guard = &crossbeam_epoch::pin();
        // First the version, then what it lacks: history/mod.rs, invariant 1.
        let version = self.version(guard);
        if let Some(seen) = version.and_then(|v| v.unsettled(local, ts)) {
            return seen;
        }
        let settled = version.map(|v| v.chunk.get(local as usize)).unwrap_or_default();
        table.undo.before(number, local, ts).unwrap_or(settled)
    }

    /// Every change up to `until` and after `after` that is not settled, by place and time.
    pub(crate) fn unsettled_changes(
        &self,
        after: u64,
        until: u64,
        guard: &Guard,
    ) -> Vec<OldValue<C::Value>> {
        let mut found = Vec::new();
        if let Some(version) = self.version(guard) {
            for local in 0..SEGMENT_VERTICES as u32 {
                version.changes(local, after, until, &mut found);
            }
        }
        found
    }

    /// Commit timestamp of the newest unsettled version of `local`; 0 if there is none.
    pub(crate) fn newest_ts(&self, local: u32, guard: &Guard) -> u64 {
        let tail = self.version(guard).and_then(|v| v.tail.as_ref());
        tail.and_then(|t| t.versions(local).next()).map_or(0, |v| v.ts)
    }

    /// Makes sure the segment has a tail to write to. The caller holds no latch.
    pub(crate) fn ensure_tail(&self, guard: &Guard) {
        if self.has_tail(guard) {
            return;
        }
        self.exclusive(|| {
            if !self.has_tail(guard) {
                let chunk = self
                    .version(guard)
                    .map_or_else(|| Arc::new(C::absent()), |v| Arc::clone(&v.chunk));
                self.install(ColVersion { chunk, tail: Some(Box::new(ColTail::new())) }, guard);
            }
        });
    }

    /// Appends a version. The caller holds the stripe since before it took `ts`, and saw a tail
    /// under it.
    pub(crate) fn write(&self, local: u32, ts: u64, value: C::Value, guard: &Guard) {
        let version = self.version(guard).expect("INVARIANT: a tail was seen under the latch");
        let tail = version.tail.as_ref().expect("INVARIANT: a tail was seen under the latch");
        self.last_write.fetch_max(ts, Ordering::Relaxed);
        tail.push(local, ts, value);
    }

    /// Folds versions up to `watermark` into a new chunk. Takes the latch; the caller holds none.
    pub(crate) fn settle(
        &self,
        number: u32,
        horizon: Horizon,
        undo: &ColUndo<C::Value>,
        guard: &Guard,
    ) {
        self.exclusive(|| {
            let Some(old) = self.version(guard) else {
                return;
            };
            let Some(tail) = &old.tail else { return };
            let Horizon { watermark, floor } = horizon;
            if floor < watermark {
                undo.push(number, self.unsettled_changes(floor, watermark, guard), floor);
            }
            let mut values: Box<[C::Value; SEGMENT_VERTICES]> =
                Box::new(std::array::from_fn(|_| C::Value::default()));
            let mut new_tail = ColTail::new();
            let mut carry = Vec::new();
            for (local, value) in values.iter_mut().enumerate() {
                carry.clear();
                let mut settled = None;
                for v in tail.versions(local as u32) {
                    if v.ts <= watermark {
                        settled = Some(v.value.clone());
                        break;
                    }
                    carry.push(v);
                }
                *value = settled.unwrap_or_else(|| old.chunk.get(local));
                for v in carry.iter().rev() {
                    new_tail.push(local as u32, v.ts, v.value.clone());
                }
            }
            let carried = new_tail.len.load(Ordering::Relaxed);
            // What a held-back watermark keeps is not copied again before as much has come anew.
            new_tail.settle_at = TAIL_ENTRIES_MAX.max(2 * carried);
            let needed = carried > 0;
            let chunk = Arc::new(C::build(&values));
            let version = ColVersion { chunk, tail: needed.then(|| Box::new(new_tail)) };
            self.install(version, guard);
        });
    }

    /// Every value at `read_ts`.
    pub(crate) fn values(&self, read_ts: u64, guard: &Guard) -> Box<[C::Value; SEGMENT_VERTICES]> {
        Box::new(std::array::from_fn(|local| self.get(local as u32, read_ts, guard)))
    }

    /// Replaces whatever there is by settled values, written at `ts`. No snapshot older than that
    /// may be open.
    pub(crate) fn install_settled(&self, chunk: C, ts: u64, guard: &Guard) {
        self.exclusive(|| {
            self.install(ColVersion { chunk: Arc::new(chunk), tail: None }, guard);
            self.last_write.fetch_max(ts, Ordering::Relaxed);
        });
    }

    fn bytes(&self, guard: &Guard) -> usize {
        self.version(guard).map_or(0, |v| {
            let tail = v.tail.as_ref().map_or(0, |t| {
                let entries = t.entries.iter().count();
                SEGMENT_VERTICES * 4 + entries * size_of::<OnceLock<Version<C::Value>>>()
            });
            v.chunk.bytes() + tail
        })
    }
}

/// Something a commit needs a tail of.
pub(crate) trait HasTail {
    /// Whether there is a tail. Stable while a stripe is held.
    fn has_tail(&self, guard: &Guard) -> bool;
}

impl<C: Chunk + 'static> HasTail for ColSegment<C> {
    #[inline]
    fn has_tail(&self, guard: &Guard) -> bool {
        self.version(guard).is_some_and(|v| v.tail.is_some())
    }
}

/// A versioned column over all vertices, or over all edge ordinals of a type.
#[derive(Debug)]
pub(crate) struct ColTable<C: Chunk> {
    /// Number in the global latch order.
    pub(crate) id: u32,
    segments: GrowArray<ColSegment<C>>,
    bound: AtomicU32,
    /// Superseded values that a retained timestamp tells apart.
    pub(crate) undo: ColUndo<C::Value>,
}

impl<C: Chunk + 'static> ColTable<C> {
    pub(crate) fn new(id: u32) -> Self {
        let (segments, bound) = (GrowArray::default(), AtomicU32::new(0));
        Self { id, segments, bound, undo: ColUndo::default() }
    }

    /// The segment of `index`, made if needed.
    pub(crate) fn segment_for_write(&self, index: u32) -> &ColSegment<C> {
        let segment = index >> SEGMENT_BITS;
        if segment >= self.bound.load(Ordering::Relaxed) {
            self.bound.fetch_max(segment + 1, Ordering::AcqRel);
        }
        self.segments.get_or_grow(segment)
    }

    /// Segment number `segment`, if it exists.
    pub(crate) fn segment(&self, segment: u32) -> Option<&ColSegment<C>> {
        self.segments.get(segment)
    }

    /// One past the largest segment that may hold something.
    pub(crate) fn segment_bound(&self) -> u32 {
        self.bound.load(Ordering::Acquire)
    }

    /// The value at `index` as of `read_ts`; absent where nothing was written.
    #[inline]
    pub(crate) fn get(&self, index: u32, read_ts: u64, guard: &Guard) -> C::Value {
        let number = index >> SEGMENT_BITS;
        let Some(segment) = self.segments.get(number) else { return C::Value::default() };
        let value = segment.get(local_of(index), read_ts, guard);
        if self.undo.concerns(read_ts) {
            return segment.get_past(number, local_of(index), read_ts, self);
        }
        value
    }

    /// Settles the segment of `index` if its tail has grown large.
    pub(crate) fn settle_if_full(&self, index: u32, horizon: impl Fn() -> Horizon, guard: &Guard) {
        let number = index >> SEGMENT_BITS;
        let Some(segment) = self.segments.get(number) else {
            return;
        };
        let tail = segment.version(guard).and_then(|v| v.tail.as_ref());
        if tail.is_some_and(|t| t.len.load(Ordering::Relaxed) >= t.settle_at) {
            segment.settle(number, horizon(), &self.undo, guard);
        }
    }

    /// Settles every segment that has a tail and drops the tails nothing is left in.
    pub(crate) fn settle_all(&self, horizon: Horizon, guard: &Guard) {
        for s in 0..self.segment_bound() {
            if let Some(segment) = self.segments.get(s)
                && segment.has_tail(guard)
            {
                segment.settle(s, horizon, &self.undo, guard);
            }
        }
    }

    /// Takes and gives back every latch: whoever held one before has applied after this.
    pub(crate) fn visit_latches(&self) {
        let segments = (0..self.segment_bound()).filter_map(|s| self.segments.get(s));
        segments.for_each(|s| s.exclusive(|| {}));
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        (0..self.segment_bound())
            .filter_map(|s| self.segments.get(s))
            .map(|s| size_of::<ColSegment<C>>() + s.bytes(guard))
            .sum()
    }
}
