//! Tables of versioned columns: the read path, the latched write path and settling.
//!
//! A segment without a version is not loaded, or was never written to; see `mapped/mod.rs`.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned, Shared};

use super::cursor::{At, Cursor};
use super::layer::Laid;
use super::undo::{ColUndo, OldValue};
use super::version::{ColTail, ColVersion};
use super::{Chunk, PropertyChunk, StateChunk};
use crate::adjacency::{SEGMENT_BITS, SEGMENT_VERTICES, local_of};
use crate::error::Error;
use crate::horizon::Horizon;
use crate::latch::{ALL_STRIPES, Latch};
use crate::mapped::Source;
use crate::mapped::map::Scratch;
use crate::mapped::memory::{Droppable, Limits};
use crate::table::SparseArray;

/// One segment of a column.
#[derive(Debug)]
pub(crate) struct ColSegment<C: Chunk> {
    pub(crate) latch: Latch,
    /// Largest commit timestamp that wrote here.
    pub(crate) last_write: AtomicU64,
    /// Whether it was loaded since dropping last came by.
    is_young: AtomicBool,
    version: Atomic<ColVersion<C>>,
}

impl<C: Chunk> Default for ColSegment<C> {
    fn default() -> Self {
        Self {
            latch: Latch::default(),
            last_write: AtomicU64::new(0),
            is_young: AtomicBool::new(false),
            version: Atomic::null(),
        }
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
        self.version(guard).map_or(0, |version| version.newest_ts(local))
    }

    /// Gives the segment a tail to write to. With `is_stored`, what is not loaded is left alone.
    /// The caller holds every stripe.
    fn give_tail(&self, is_stored: bool, guard: &Guard) {
        match self.version(guard) {
            Some(version) if version.tail.is_some() => {}
            Some(version) => self.install(version.with_tail(ColTail::new()), guard),
            None if is_stored => {}
            None => self.install(ColVersion::new(C::absent()).with_tail(ColTail::new()), guard),
        }
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
    pub(crate) fn settle(&self, number: u32, horizon: Horizon, undo: &ColUndo<C>, guard: &Guard) {
        self.exclusive(|| {
            let Some(old) = self.version(guard).filter(|version| !version.is_settled()) else {
                return;
            };
            let Horizon { watermark, floor } = horizon;
            // What comes after a layer stays with it.
            let layer = old.layer.as_ref().filter(|layer| layer.ts > watermark).cloned();
            if floor < watermark && layer.is_none() {
                let after = old.keep_layer(number, floor, undo).unwrap_or(floor);
                undo.push(number, self.unsettled_changes(after, watermark, guard), floor);
            }
            let Some(tail) = &old.tail else {
                if layer.is_none() {
                    self.install(ColVersion { layer, ..old.clone() }, guard);
                }
                return;
            };
            let mut values: Box<[C::Value; SEGMENT_VERTICES]> =
                Box::new(std::array::from_fn(|_| C::Value::default()));
            let new_tail = ColTail::new();
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
            let version = ColVersion::new(C::build(&values));
            self.install(ColVersion { tail: new_tail.carried(), layer, ..version }, guard);
        });
    }

    fn bytes(&self, guard: &Guard) -> usize {
        self.version(guard).map_or(0, ColVersion::bytes)
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

/// Where the writes to a segment go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Room {
    /// To its tail, one by one.
    Tail,
    /// Together over all that it holds.
    Layer,
}

/// The segments of a column, whatever it holds.
pub(crate) trait Segments {
    /// The latch of a segment.
    fn latch(&self, number: u32) -> &Latch;

    /// Makes room for so many writes to a segment. The caller holds every stripe, and keeps them as
    /// long as it needs the room.
    fn make_ready(&self, number: u32, writes: usize, guard: &Guard) -> Result<Room, Error>;

    /// Settles a segment if its tail has grown large. The caller holds no latch.
    fn settle_full(&self, number: u32, horizon: &dyn Fn() -> Horizon, guard: &Guard);
}

impl<C: Chunk + 'static> Segments for ColTable<C> {
    fn latch(&self, number: u32) -> &Latch {
        &self.segment_for_write(number << SEGMENT_BITS).latch
    }

    fn make_ready(&self, number: u32, writes: usize, guard: &Guard) -> Result<Room, Error> {
        let segment = self.segment_for_write(number << SEGMENT_BITS);
        if self.source.is_stored() && segment.version(guard).is_none() {
            if !self.fetch(number, guard) {
                self.source.check()?;
            }
            assert!(segment.version(guard).is_some(), "INVARIANT: nobody drops what is latched");
        }
        if segment.version(guard).is_none_or(|version| version.takes_layer(writes)) {
            return Ok(Room::Layer);
        }
        if !segment.has_tail(guard) {
            segment.give_tail(self.source.is_stored(), guard);
            if let Some(stored) = self.source.stored() {
                stored.memory.loaded(SEGMENT_VERTICES * 4);
            }
        }
        Ok(Room::Tail)
    }

    fn settle_full(&self, number: u32, horizon: &dyn Fn() -> Horizon, guard: &Guard) {
        self.settle_if_full(number << SEGMENT_BITS, horizon, guard);
    }
}

/// A versioned column over all vertices, or over all edge ordinals of a type.
#[derive(Debug)]
pub(crate) struct ColTable<C: Chunk> {
    /// Number in the global latch order.
    pub(crate) id: u32,
    segments: SparseArray<ColSegment<C>>,
    bound: AtomicU32,
    /// Where segments that are not loaded come from.
    source: Source,
    /// Superseded values that a retained timestamp tells apart.
    pub(crate) undo: ColUndo<C>,
}

impl<C: Chunk + 'static> ColTable<C> {
    pub(crate) fn new(id: u32, source: Source) -> Self {
        let (segments, bound) = (SparseArray::default(), AtomicU32::new(0));
        Self { id, segments, bound, source, undo: ColUndo::default() }
    }

    /// Says that there may be segments below `bound`.
    pub(crate) fn raise_bound(&self, bound: u32) {
        self.bound.fetch_max(bound, Ordering::AcqRel);
    }

    /// The version of segment `number`, if it is in memory.
    #[inline(always)]
    fn version<'g>(&self, number: u32, guard: &'g Guard) -> Option<&'g ColVersion<C>> {
        self.segments.get(number)?.version(guard)
    }

    /// The version of a segment that was not in memory; `None` if there is none, or if it is
    /// damaged.
    #[cold]
    fn fetched<'g>(&self, number: u32, guard: &'g Guard) -> Option<&'g ColVersion<C>> {
        // Dropped again in between, it is fetched again.
        while self.fetch(number, guard) {
            if let Some(version) = self.version(number, guard) {
                return Some(version);
            }
        }
        None
    }

    /// Makes sure that segment `number` is loaded, if the store may have it. Returns whether it is:
    /// not if it is damaged, or if there is no store.
    #[cold]
    #[inline(never)]
    fn fetch(&self, number: u32, guard: &Guard) -> bool {
        if !self.source.is_stored() || number >= self.segment_bound() {
            return false;
        }
        let segment = self.segments.get_or_grow(number);
        let is_there = || segment.version(guard).is_some();
        if is_there() {
            return true;
        }
        let install = |chunk: Option<C>| {
            // Nobody installs or drops anything meanwhile, and nothing stands there.
            let version = ColVersion::new(chunk.unwrap_or_else(C::absent));
            let bytes = version.chunk_bytes;
            segment.is_young.store(true, Ordering::Relaxed);
            segment.install(version, guard);
            bytes
        };
        self.source.fetch(number, &mut Scratch::default(), C::decode, is_there, install)
    }

    /// The segment of `index`, with a tail, as far as nobody drops it before its latch is held. The
    /// caller holds no latch.
    pub(crate) fn ensure_tail(&self, index: u32, guard: &Guard) -> Result<&ColSegment<C>, Error> {
        let segment = self.segment_for_write(index);
        if !segment.has_tail(guard) {
            if !self.fetch(index >> SEGMENT_BITS, guard) {
                self.source.check()?;
            }
            segment.exclusive(|| segment.give_tail(self.source.is_stored(), guard));
            if let Some(stored) = self.source.stored() {
                stored.memory.loaded(SEGMENT_VERTICES * 4);
            }
        }
        Ok(segment)
    }

    /// Every value of segment `number` at `read_ts`.
    pub(crate) fn values(
        &self,
        number: u32,
        read_ts: u64,
        guard: &Guard,
    ) -> Box<[C::Value; SEGMENT_VERTICES]> {
        let version = self.version(number, guard).or_else(|| self.fetched(number, guard));
        let value = |local| version.map_or_else(C::Value::default, |v| v.get(local, read_ts));
        Box::new(std::array::from_fn(|local| value(local as u32)))
    }

    /// What `writes`, each at a place, make of segment `number`, to be laid over what it holds. The
    /// caller holds every stripe since [`make_ready`](Segments::make_ready) has said that it can.
    pub(crate) fn layer(
        &self,
        number: u32,
        writes: impl Iterator<Item = (u32, C::Value)>,
        guard: &Guard,
    ) -> Laid<C> {
        let under = self.version(number, guard).cloned();
        Laid::new(number, under.unwrap_or_else(|| ColVersion::new(C::absent())), writes)
    }

    /// Lays it over the segment, for readers at `ts` and later. The caller holds every stripe since
    /// before it was made.
    pub(crate) fn lay(&self, laid: Laid<C>, ts: u64, guard: &Guard) {
        let segment = self.segment_for_write(laid.number << SEGMENT_BITS);
        let version = laid.at(ts);
        segment.last_write.fetch_max(ts, Ordering::Relaxed);
        if let Some(stored) = self.source.stored() {
            stored.memory.loaded(version.chunk_bytes);
        }
        segment.install(version, guard);
    }

    /// Replaces whatever segment `number` holds by settled values, written at `ts`. No snapshot
    /// older than that may be open.
    pub(crate) fn replace(&self, number: u32, chunk: C, ts: u64, guard: &Guard) {
        let segment = self.segment_for_write(number << SEGMENT_BITS);
        segment.exclusive(|| {
            let _loading = self.source.loading();
            segment.install(ColVersion::new(chunk), guard);
            segment.last_write.fetch_max(ts, Ordering::Relaxed);
        });
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
        let value = match self.version(number, guard).or_else(|| self.fetched(number, guard)) {
            Some(version) => version.get(local_of(index), read_ts),
            None => C::Value::default(),
        };
        if self.undo.concerns(read_ts) {
            return self.get_past(number, local_of(index), read_ts);
        }
        value
    }

    /// A cursor over all places, at `read_ts`.
    pub(crate) fn cursor<'g>(&'g self, read_ts: u64, guard: &'g Guard) -> Cursor<'g, C> {
        Cursor::new(self, read_ts, guard)
    }

    /// What segment `number` is like for a reader at `read_ts`.
    #[inline]
    pub(super) fn at<'g>(&self, number: u32, read_ts: u64, guard: &'g Guard) -> At<'g, C> {
        let version = self.version(number, guard).or_else(|| self.fetched(number, guard));
        // First the version, then what it lacks: history/mod.rs, invariant 1.
        if self.undo.concerns(read_ts) {
            return At::Past;
        }
        match version {
            None => At::Nothing,
            Some(version) if !version.is_settled() => At::Written(version),
            Some(version) => At::Settled(&*version.chunk),
        }
    }

    /// The value of a place at any retained timestamp.
    #[cold]
    fn get_past(&self, number: u32, local: u32, ts: u64) -> C::Value {
        let guard = &epoch::pin();
        // First the version, then what it lacks: history/mod.rs, invariant 1.
        let version = self.version(number, guard).or_else(|| self.fetched(number, guard));
        if let Some(seen) = version.and_then(|v| v.unsettled(local, ts)) {
            return seen;
        }
        let settled = version.map(|v| v.settled().get(local as usize)).unwrap_or_default();
        self.undo.before(number, local, ts).unwrap_or(settled)
    }

    /// Settles the segment of `index` if its tail has grown large.
    pub(crate) fn settle_if_full(&self, index: u32, horizon: impl Fn() -> Horizon, guard: &Guard) {
        let number = index >> SEGMENT_BITS;
        let Some(segment) = self.segments.get(number) else {
            return;
        };
        let Some(version) = segment.version(guard) else { return };
        if version.layer.is_some() || version.tail.as_deref().is_some_and(ColTail::is_full) {
            segment.settle(number, horizon(), &self.undo, guard);
        }
    }

    /// Settles every segment that has a tail and drops the tails nothing is left in.
    pub(crate) fn settle_all(&self, horizon: Horizon, guard: &Guard) {
        for s in 0..self.segment_bound() {
            if let Some(segment) = self.segments.get(s)
                && segment.version(guard).is_some_and(|version| !version.is_settled())
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

impl ColTable<PropertyChunk> {
    /// Whether a place of segment `number` may have a value; for sure not, if it says no.
    pub(crate) fn may_hold(&self, number: u32, guard: &Guard) -> bool {
        match self.version(number, guard) {
            Some(version) => !version.is_settled() || version.chunk_bytes > 0,
            None => self.source.holds(number),
        }
    }

    /// Calls `f` with each place of segment `number` that has a value at `read_ts`.
    pub(crate) fn present(&self, number: u32, read_ts: u64, guard: &Guard, mut f: impl FnMut(u32)) {
        let all = 0..SEGMENT_VERTICES as u32;
        match self.at(number, read_ts, guard) {
            At::Nothing => {}
            At::Settled(chunk) => all.filter(|l| chunk.has(*l as usize)).for_each(f),
            At::Written(version) => {
                let has = |local: &u32| match version.unsettled(*local, read_ts) {
                    Some(value) => !value.is_null(),
                    None => version.settled().has(*local as usize),
                };
                all.filter(has).for_each(f);
            }
            At::Past => {
                let first = number << SEGMENT_BITS;
                let has = |local: &u32| !self.get(first | local, read_ts, guard).is_null();
                all.filter(has).for_each(&mut f);
            }
        }
    }
}

impl ColTable<StateChunk> {
    /// How many vertices are in each state at `read_ts`, by number of the state.
    pub(crate) fn count(&self, read_ts: u64, guard: &Guard) -> Vec<u64> {
        let mut counts = Vec::new();
        for number in 0..self.segment_bound() {
            self.count_segment(number, read_ts, guard, &mut |state, many| {
                let at = state as usize;
                if at >= counts.len() {
                    counts.resize(at + 1, 0);
                }
                counts[at] += u64::from(many);
            });
        }
        counts
    }

    /// The states of a segment's vertices, with how many are in each. Settled segments know, and
    /// say each state once; of others each vertex is looked at.
    pub(crate) fn count_segment(
        &self,
        number: u32,
        read_ts: u64,
        guard: &Guard,
        add: &mut dyn FnMut(u32, u32),
    ) {
        match self.version(number, guard).or_else(|| self.fetched(number, guard)) {
            None => {}
            Some(v) if v.is_settled() && !self.undo.concerns(read_ts) => {
                v.chunk.counts().for_each(|(state, many)| add(state, many));
            }
            Some(_) => {
                let first = number << SEGMENT_BITS;
                let all = first..first + SEGMENT_VERTICES as u32;
                all.for_each(|v| add(self.get(v, read_ts, guard), 1));
            }
        }
    }
}

impl<C: Chunk + 'static> Droppable for ColTable<C> {
    fn bound(&self) -> u32 {
        self.segment_bound()
    }

    fn drop_segment(&self, number: u32, limits: Limits, all: bool) -> usize {
        let guard = &epoch::pin();
        let Some(segment) = self.segments.get(number) else { return 0 };
        let is_small = |v: &ColVersion<C>| v.chunk_bytes == 0 && v.is_settled();
        if segment.version(guard).is_none_or(is_small) {
            return 0;
        }
        if segment.is_young.swap(false, Ordering::Relaxed) && !all {
            return 0;
        }
        // Whoever commits holds a latch: try again another time.
        let Some(_held) = segment.latch.try_hold() else { return 0 };
        let is_settled = segment.version(guard).is_some_and(ColVersion::is_settled);
        if segment.last_write.load(Ordering::Relaxed) > limits.of(is_settled) {
            return 0;
        }
        let loading = self.source.loading();
        let bytes = segment.bytes(guard);
        let old = segment.version.swap(Shared::null(), Ordering::AcqRel, guard);
        loading.dropped();
        if !old.is_null() {
            // SAFETY: unreachable for new readers; those that have it are pinned.
            unsafe { guard.defer_destroy(old) };
        }
        bytes
    }
}
