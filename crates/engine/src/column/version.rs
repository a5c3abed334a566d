//! State of a segment at one moment: settled values, and the versions before them.
//!
//! A version is never changed but by newer entries in its tail.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use super::Chunk;
use super::layer::{LAYER_WRITES_MIN, Layer};
use super::undo::{ColUndo, OldValue};
use crate::adjacency::SEGMENT_VERTICES;
use crate::table::GrowArray;

/// A tail with this many entries settles after the commit that filled it.
const TAIL_ENTRIES_MAX: u32 = SEGMENT_VERTICES as u32 / 2;

/// A value, and when it was written.
#[derive(Debug)]
pub(super) struct Version<V> {
    pub(super) ts: u64,
    /// Number of the previous entry, plus one; 0 if the chunk holds the previous value.
    previous: u32,
    pub(super) value: V,
}

/// The versions of a segment that have not settled.
#[derive(Debug)]
pub(super) struct ColTail<V> {
    /// Number of the newest entry, plus one; 0 if the chunk's value holds.
    heads: Box<[AtomicU32; SEGMENT_VERTICES]>,
    /// Few at first: a schema may have thousands of keys, each with a value or two.
    entries: GrowArray<OnceLock<Version<V>>, 3>,
    len: AtomicU32,
    /// Entries at which the tail is settled.
    settle_at: u32,
}

impl<V> ColTail<V> {
    pub(super) fn new() -> Self {
        Self {
            settle_at: TAIL_ENTRIES_MAX,
            heads: Box::new([const { AtomicU32::new(0) }; SEGMENT_VERTICES]),
            entries: GrowArray::default(),
            len: AtomicU32::new(0),
        }
    }

    /// Versions of `local`, newest first.
    pub(super) fn versions(&self, local: u32) -> impl Iterator<Item = &Version<V>> {
        // ORDERING: acquire pairs with the release in `push`.
        let mut next = self.heads[local as usize].load(Ordering::Acquire);
        std::iter::from_fn(move || {
            let entry = self.entries.get(next.checked_sub(1)?)?.get()?;
            next = entry.previous;
            Some(entry)
        })
    }

    pub(super) fn push(&self, local: u32, ts: u64, value: V) {
        let head = &self.heads[local as usize];
        let number = self.len.fetch_add(1, Ordering::Relaxed);
        let entry = Version { ts, previous: head.load(Ordering::Relaxed), value };
        let fresh = self.entries.get_or_grow(number).set(entry).is_ok();
        debug_assert!(fresh, "every number is given out once");
        // ORDERING: release publishes the entry to readers of the head.
        head.store(number + 1, Ordering::Release);
    }

    fn is_empty(&self) -> bool {
        self.len.load(Ordering::Relaxed) == 0
    }

    /// Whether it has grown so large that it is to be settled.
    pub(super) fn is_full(&self) -> bool {
        self.len.load(Ordering::Relaxed) >= self.settle_at
    }

    /// What settling has left, if it has left anything. It is not copied again before as much has
    /// come anew.
    pub(super) fn carried(mut self) -> Option<Arc<Self>> {
        self.settle_at = TAIL_ENTRIES_MAX.max(2 * self.len.load(Ordering::Relaxed));
        (!self.is_empty()).then(|| Arc::new(self))
    }

    /// Heap bytes.
    fn bytes(&self) -> usize {
        SEGMENT_VERTICES * 4 + self.entries.iter().count() * size_of::<OnceLock<Version<V>>>()
    }
}

/// What a segment holds.
#[derive(Debug)]
pub(crate) struct ColVersion<C: Chunk> {
    pub(super) chunk: Arc<C>,
    /// Heap bytes of the chunk.
    pub(super) chunk_bytes: usize,
    /// What the chunk was laid over, if that has not settled yet.
    pub(super) layer: Option<Arc<Layer<C>>>,
    pub(super) tail: Option<Arc<ColTail<C::Value>>>,
}

impl<C: Chunk> Clone for ColVersion<C> {
    fn clone(&self) -> Self {
        let Self { chunk, chunk_bytes, layer, tail } = self;
        let (chunk, chunk_bytes) = (Arc::clone(chunk), *chunk_bytes);
        Self { chunk, chunk_bytes, layer: layer.clone(), tail: tail.clone() }
    }
}

impl<C: Chunk> ColVersion<C> {
    /// Settled values.
    pub(super) fn new(chunk: C) -> Self {
        let chunk_bytes = chunk.bytes();
        Self { chunk: Arc::new(chunk), chunk_bytes, layer: None, tail: None }
    }

    pub(super) fn with_tail(&self, tail: ColTail<C::Value>) -> Self {
        Self { tail: Some(Arc::new(tail)), ..self.clone() }
    }

    /// Whether the chunk is what everybody sees.
    #[inline]
    pub(super) fn is_settled(&self) -> bool {
        self.tail.is_none() && self.layer.is_none()
    }

    /// Whether so many writes are laid over it: if they are many, or what it holds is little, less
    /// than a tail would be.
    pub(super) fn takes_layer(&self, writes: usize) -> bool {
        let is_small = || self.chunk_bytes < SEGMENT_VERTICES && self.tail.is_none();
        self.layer.is_none() && (writes >= LAYER_WRITES_MIN || is_small())
    }

    /// The value of `local` at `read_ts`, no older than the watermark.
    #[inline]
    pub(super) fn get(&self, local: u32, read_ts: u64) -> C::Value {
        // PERF: inserted edges, whose ends are looked up: most segments are settled.
        if self.is_settled() {
            return self.chunk.get(local as usize);
        }
        self.unsettled(local, read_ts).unwrap_or_else(|| self.settled().get(local as usize))
    }

    /// The newest value of `local`.
    pub(super) fn newest(&self, local: u32) -> C::Value {
        let newest = self.tail.as_ref().and_then(|tail| tail.versions(local).next());
        newest.map_or_else(|| self.chunk.get(local as usize), |v| v.value.clone())
    }

    /// What holds where nothing newer is seen.
    #[inline]
    pub(super) fn settled(&self) -> &C {
        self.layer.as_ref().map_or(&self.chunk, |layer| layer.under.settled())
    }

    /// The newest value that is not settled and that a reader at `read_ts` sees.
    #[inline]
    pub(super) fn unsettled(&self, local: u32, read_ts: u64) -> Option<C::Value> {
        let in_tail = |tail: &ColTail<C::Value>| {
            tail.versions(local).find(|v| v.ts <= read_ts).map(|v| v.value.clone())
        };
        self.tail.as_deref().and_then(in_tail).or_else(|| {
            let layer = self.layer.as_ref()?;
            match layer.ts <= read_ts {
                true => Some(self.chunk.get(local as usize)),
                false => layer.under.unsettled(local, read_ts),
            }
        })
    }

    /// Commit timestamp of the newest unsettled version of `local`; 0 if there is none.
    pub(super) fn newest_ts(&self, local: u32) -> u64 {
        if let Some(newest) = self.tail.as_ref().and_then(|tail| tail.versions(local).next()) {
            return newest.ts;
        }
        let below = |layer: &Layer<C>| {
            if layer.written.has(local) { layer.ts } else { layer.under.newest_ts(local) }
        };
        self.layer.as_deref().map_or(0, below)
    }

    /// Appends the changes of a place after `after` and up to `until`, in order of time.
    pub(super) fn changes(
        &self,
        local: u32,
        after: u64,
        until: u64,
        out: &mut Vec<OldValue<C::Value>>,
    ) {
        if let Some(layer) = &self.layer {
            layer.under.changes(local, after, until, out);
            if layer.written.has(local) && after < layer.ts && layer.ts <= until {
                out.push(OldValue { local, ts: layer.ts, value: layer.under.newest(local) });
            }
        }
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

    /// Keeps what the layer's commit replaced after `floor`, as a whole: the chunk under it, if
    /// nothing else is there. Returns the commit's timestamp if it has done so; later changes are
    /// in the tail alone.
    pub(super) fn keep_layer(&self, number: u32, floor: u64, undo: &ColUndo<C>) -> Option<u64> {
        let layer = self.layer.as_ref()?;
        if layer.ts <= floor || !layer.under.is_settled() {
            return None;
        }
        undo.push_laid(number, layer.ts, layer.written, Arc::clone(&layer.under.chunk), floor);
        Some(layer.ts)
    }

    /// Heap bytes.
    pub(super) fn bytes(&self) -> usize {
        let tail = self.tail.as_ref().map_or(0, |tail| tail.bytes());
        let under = self.layer.as_ref().map_or(0, |layer| layer.under.bytes());
        size_of::<Self>() + self.chunk_bytes + under + tail
    }
}
