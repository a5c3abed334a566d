//! Hubs: very long lists, cut into chunks of sorted ids.
//!
//! ```text
//!  Hub ─ directory (replaced whole)            Chunk                    ChunkVersion
//!        firsts  [0, 917, 40210, ...]          latch · retired?         ids sorted · columns
//!        chunks  [ *,   *,     *, ...] ─────►  current version ───────► tail: one block
//! ```
//!
//! An insert touches one chunk: it never rewrites the hub, two inserts into one hub seldom meet,
//! and a hub never makes its neighbours settle. A chunk settles when its block is full; one that
//! has grown past [`CHUNK_ENTRIES_MAX`] is split after the commit.
//!
//! Invariants
//! 1. `firsts[0] == 0` and firsts ascend; chunk `i` holds the ids in `firsts[i]..firsts[i + 1]`, so
//!    all parallel edges of a pair are in one chunk.
//! 2. A retired chunk is not in the current directory and is never written to again; who waited for
//!    its latch looks the chunk up anew.
//! 3. A vertex that became a hub stays one.
//!
//! Source: TuGraph's split of oversized adjacency values; the threshold is measured in
//! docs/decisions/0006.
#![expect(unsafe_code, reason = "version pointers read without a latch, under an epoch pin")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_epoch::{Atomic, Guard, Owned};

use super::list::{List, Rows, Visible, merge_ids};
use super::ordinals::{Ordinals, section_of};
use super::search::find_sorted;
use super::settle::{Merge, settle_list};
use super::tail::{Block, CLASS_MAX, DELTA_MAX, block_words};
use super::{COL_ORDINAL, Entry, ListKind, filter};
use crate::adjacency::undo::{self, UndoTable};
use crate::horizon::Horizon;
use crate::latch::{ALL_STRIPES, Latch};
use crate::sync::{Mutex, lock};
use crate::words::WordBuf;

/// Entries of a chunk after a split or when a hub is made.
const CHUNK_ENTRIES: usize = 2048;
/// A chunk with more settled entries is split.
const CHUNK_ENTRIES_MAX: usize = 2 * CHUNK_ENTRIES;
/// Most entries that one commit appends to a chunk: what is carried beside them still fits a block.
const CHUNK_APPENDS_MAX: usize = 1 << (CLASS_MAX - 2);
/// Class of a chunk's tail block: 64 entries.
const CHUNK_TAIL_CLASS: u32 = 6;

/// A very long list.
#[derive(Debug)]
pub(crate) struct Hub {
    directory: Atomic<Directory>,
    /// Held while a directory is being replaced. Taken after a chunk's latch, never before.
    replacing: Mutex<()>,
    kind: ListKind,
}

/// Where a hub writes down what its chunks settle, and which list of which segment it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct HubPlace<'t> {
    pub(crate) undo: &'t UndoTable,
    pub(crate) segment: u32,
    pub(crate) local: u32,
}

impl HubPlace<'_> {
    /// Writes down what settling `chunk` up to `watermark` makes indistinguishable.
    #[inline]
    fn keep_undo(&self, chunk: &ChunkVersion, kind: ListKind, watermark: u64, floor: u64) {
        if floor >= watermark {
            return;
        }
        let list = chunk.list(DELTA_MAX, kind);
        let seen = Visible::at(chunk.block(), chunk.delta(watermark)).len;
        let mut entries = Vec::new();
        undo::collect(&list, self.local, seen, chunk.base_ts, floor, &mut entries);
        self.undo.push(self.segment, entries, floor, kind.columns());
    }
}

#[derive(Debug)]
struct Directory {
    firsts: Box<[u32]>,
    chunks: Box<[Arc<Chunk>]>,
}

/// A range of a hub's ids.
#[derive(Debug)]
pub(crate) struct Chunk {
    /// Smallest id the chunk may hold; its place in the latch order.
    pub(crate) first: u32,
    pub(crate) latch: Latch,
    retired: AtomicBool,
    version: Atomic<ChunkVersion>,
}

#[derive(Debug)]
pub(crate) struct ChunkVersion {
    rows: WordBuf,
    entries: usize,
    tail: WordBuf,
    /// Where the header of the block is in it.
    tail_header: usize,
    pub(crate) base_ts: u64,
}

impl ChunkVersion {
    /// Settled rows, and a block with room for `columns`.
    fn new(
        rows: &[(Entry, u32)],
        kind: ListKind,
        (class, columns): (u32, usize),
        base_ts: u64,
    ) -> Self {
        debug_assert_ne!(kind, ListKind::Timed, "no list with sort keys is a hub");
        let n = rows.len();
        let section = match kind {
            ListKind::Multi => section_of(rows.iter().map(|(e, _)| e.columns[COL_ORDINAL])),
            ListKind::Simple | ListKind::Timed => Vec::new(),
        };
        let mut words = WordBuf::uninit(n + section.len());
        rows.iter().enumerate().for_each(|(i, (entry, _))| words.set(i, entry.nbr));
        words.copy_from(n, &section);
        let (tail, tail_header) = new_block(class, columns);
        Self { rows: words, entries: n, tail, tail_header, base_ts }
    }

    /// The common case of settling: neighbour ids only, no deletes, everything settles. `None` if
    /// the chunk is not that simple.
    fn merged(
        &self,
        kind: ListKind,
        watermark: u64,
        (wanted, columns): (usize, usize),
    ) -> Option<Self> {
        let list = self.list(self.delta(watermark), kind);
        let tail = list.tail.filter(|tail| !tail.has_deletes)?;
        let all = tail.len == Block::len_of(self.block().len_word());
        if !list.is_unnumbered() || !all {
            return None;
        }
        let entries = self.entries + tail.len;
        // The section of ordinals that are all 0.
        let section: &[u32] = if kind == ListKind::Multi { &[0] } else { &[] };
        let mut rows = WordBuf::uninit(entries + section.len());
        rows.copy_from(entries, section);
        let mut at = 0;
        merge_ids(self.neighbours(), &mut tail.block.dst(tail.len).to_vec(), |ids| {
            rows.copy_from(at, ids);
            at += ids.len();
        });
        debug_assert_eq!(at, entries);
        let (tail, tail_header) = new_block(tail_class(wanted), columns);
        Some(Self { rows, entries, tail, tail_header, base_ts: watermark })
    }

    /// The chunk's tail block.
    pub(crate) fn block(&self) -> Block<'_> {
        // SAFETY: initialised in `new`, lives as long as `self`.
        unsafe { Block::at(self.tail.as_ptr().add(self.tail_header)) }
    }

    fn rows(&self, kind: ListKind) -> Rows<'_> {
        // SAFETY: `new` wrote every word.
        let words = unsafe { self.rows.as_slice() };
        let (nbrs, section) = words.split_at(self.entries);
        match kind {
            ListKind::Multi => Rows::numbered(nbrs, Ordinals::of(section, self.entries)),
            ListKind::Simple | ListKind::Timed => Rows::simple(nbrs),
        }
    }

    /// The settled neighbours.
    #[inline]
    pub(crate) fn neighbours(&self) -> &[u32] {
        self.rows(ListKind::Simple).nbrs
    }

    /// Number of settled entries.
    pub(crate) fn settled(&self) -> usize {
        self.entries
    }

    /// `read_ts` relative to the tail.
    pub(crate) fn delta(&self, read_ts: u64) -> u32 {
        read_ts.saturating_sub(self.base_ts).min(u64::from(DELTA_MAX)) as u32
    }

    /// The chunk's list as seen `delta` after the base timestamp.
    #[inline]
    pub(crate) fn list(&self, delta: u32, kind: ListKind) -> List<'_> {
        List { base: self.rows(kind), tail: Some(Visible::at(self.block(), delta)), kind }
    }
}

impl Chunk {
    fn new(first: u32, version: ChunkVersion) -> Arc<Self> {
        Arc::new(Self {
            first,
            latch: Latch::default(),
            retired: AtomicBool::new(false),
            version: Atomic::new(version),
        })
    }

    /// The current version.
    #[inline]
    pub(crate) fn version<'g>(&self, guard: &'g Guard) -> &'g ChunkVersion {
        // ORDERING: acquire pairs with the release in `install`.
        let shared = self.version.load(Ordering::Acquire, guard);
        // SAFETY: never null; retired through the epoch only, and `guard` pins it.
        unsafe { shared.deref() }
    }

    /// Whether the chunk was replaced by a split. Stable while its latch is held.
    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Marks the chunk as replaced. The latch is held.
    pub(crate) fn retire(&self) {
        self.retired.store(true, Ordering::Relaxed);
    }

    fn install(&self, version: ChunkVersion, guard: &Guard) {
        let old = self.version.swap(Owned::new(version), Ordering::AcqRel, guard);
        // SAFETY: unreachable for new readers; those that have it are pinned.
        unsafe { guard.defer_destroy(old) };
    }

    /// Settles what `watermark` allows and makes room for `wanted` more entries, some of which have
    /// an ordinal if so. The latch is held and nothing is reserved. Positions change, so the caller
    /// validates anew.
    fn make_room(
        &self,
        kind: ListKind,
        (wanted, is_numbered): (usize, bool),
        place: HubPlace<'_>,
        horizon: Horizon,
        guard: &Guard,
    ) {
        let old = self.version(guard);
        let watermark = horizon.watermark.max(old.base_ts);
        place.keep_undo(old, kind, watermark, horizon.floor);
        let columns = kind.columns_if(is_numbered);
        if let Some(new) = old.merged(kind, watermark, (wanted, columns)) {
            return self.install(new, guard);
        }
        let mut merge = Merge::default();
        settle_list(&old.list(DELTA_MAX, kind), old.delta(watermark), &mut merge);
        let class = tail_class(2 * merge.carried.len() + wanted);
        let columns = columns.max(merge.carried_columns(kind));
        let new = ChunkVersion::new(&merge.rows, kind, (class, columns), watermark);
        merge.replay(old.base_ts, watermark, |entry, delta, delete| {
            new.block().append(entry, delta, delete, kind.columns());
        });
        self.install(new, guard);
    }

    /// Makes the chunk ready for `appends` more entries, some of which have an ordinal if so, and
    /// as young as the watermark allows if it `is_aged`. Whether it is: no block holds that many.
    /// The latch is held until they are in.
    pub(crate) fn make_ready(
        &self,
        kind: ListKind,
        (appends, is_numbered): (usize, bool),
        place: HubPlace<'_>,
        is_aged: impl Fn(u64) -> bool,
        horizon: impl Fn() -> Horizon,
        guard: &Guard,
    ) -> bool {
        let has_room = |v: &ChunkVersion| {
            let block = v.block();
            let has_columns = kind.columns_if(is_numbered) == 0 || block.has_columns();
            has_columns && Block::len_of(block.len_word()) + appends <= block.capacity()
        };
        let version = self.version(guard);
        if has_room(version) && !is_aged(version.base_ts) {
            return true;
        }
        if appends > CHUNK_APPENDS_MAX {
            return false;
        }
        self.make_room(kind, (appends, is_numbered), place, horizon(), guard);
        has_room(self.version(guard))
    }

    /// Whether the chunk should be split.
    pub(crate) fn is_oversized(&self, guard: &Guard) -> bool {
        let nbrs = self.version(guard).neighbours();
        // Parallel edges of one pair stay together, however many they are.
        nbrs.len() > CHUNK_ENTRIES_MAX && nbrs[CHUNK_ENTRIES - 1] != nbrs[nbrs.len() - 1]
    }

    fn bytes(&self, guard: &Guard) -> usize {
        let v = self.version(guard);
        std::mem::size_of::<Self>()
            + std::mem::size_of::<ChunkVersion>()
            + v.rows.bytes()
            + v.tail.bytes()
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        let version = std::mem::replace(&mut self.version, Atomic::null());
        // SAFETY: `&mut self`: no reader can reach the chunk any more.
        drop(unsafe { version.try_into_owned() });
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        let directory = std::mem::replace(&mut self.directory, Atomic::null());
        // SAFETY: `&mut self`: no reader can reach the hub any more.
        drop(unsafe { directory.try_into_owned() });
    }
}

/// An empty block of `class`, and where its header is.
fn new_block(class: u32, columns: usize) -> (WordBuf, usize) {
    let tail = WordBuf::uninit(block_words(class, columns));
    // SAFETY: the buffer has the size of such a block and is not shared yet.
    unsafe { Block::init(tail.as_ptr(), class, columns) };
    (tail, filter::words(class))
}

/// Class of a tail block for `entries`, not below the usual.
fn tail_class(entries: usize) -> u32 {
    entries.next_power_of_two().trailing_zeros().max(CHUNK_TAIL_CLASS)
}

/// Cuts sorted rows into chunks of about `CHUNK_ENTRIES`, never between parallel edges.
fn cut(rows: &[(Entry, u32)]) -> Vec<std::ops::Range<usize>> {
    let mut cuts = Vec::new();
    let mut start = 0;
    while start < rows.len() {
        let mut end = (start + CHUNK_ENTRIES).min(rows.len());
        while end < rows.len() && rows[end].0.nbr == rows[end - 1].0.nbr {
            end += 1;
        }
        cuts.push(start..end);
        start = end;
    }
    if cuts.is_empty() {
        cuts.push(0..0);
    }
    cuts
}

impl Hub {
    /// A hub of settled, sorted rows.
    pub(crate) fn new(rows: &[(Entry, u32)], kind: ListKind, base_ts: u64) -> Arc<Self> {
        let cuts = cut(rows);
        let chunks: Box<[Arc<Chunk>]> = cuts
            .iter()
            .enumerate()
            .map(|(i, r)| {
                let first = if i == 0 { 0 } else { rows[r.start].0.nbr };
                let block = (CHUNK_TAIL_CLASS, kind.columns_if(false));
                let v = ChunkVersion::new(&rows[r.clone()], kind, block, base_ts);
                Chunk::new(first, v)
            })
            .collect();
        let directory = Directory { firsts: chunks.iter().map(|c| c.first).collect(), chunks };
        Arc::new(Self { directory: Atomic::new(directory), replacing: Mutex::new(()), kind })
    }

    fn directory<'g>(&self, guard: &'g Guard) -> &'g Directory {
        // ORDERING: acquire pairs with the release in `split`.
        let shared = self.directory.load(Ordering::Acquire, guard);
        // SAFETY: never null; retired through the epoch only, and `guard` pins it.
        unsafe { shared.deref() }
    }

    /// The chunk that holds or would hold `nbr`.
    #[inline]
    pub(crate) fn chunk<'g>(&self, nbr: u32, guard: &'g Guard) -> &'g Chunk {
        let directory = self.directory(guard);
        let i = directory.firsts.partition_point(|&f| f <= nbr);
        &directory.chunks[i.saturating_sub(1)]
    }

    /// Every chunk, in id order.
    pub(crate) fn chunks<'g>(&self, guard: &'g Guard) -> &'g [Arc<Chunk>] {
        &self.directory(guard).chunks
    }

    /// Whether the hub of a simple type has an edge to `nbr` at `read_ts`.
    pub(crate) fn contains(&self, nbr: u32, read_ts: u64, guard: &Guard) -> bool {
        let v = self.chunk(nbr, guard).version(guard);
        let tail = Visible::at(v.block(), v.delta(read_ts));
        if tail.has_deletes {
            return v.list(v.delta(read_ts), self.kind).contains(nbr);
        }
        find_sorted(v.neighbours(), nbr).is_some() || tail.find(nbr).is_some()
    }

    /// Number of live entries at `read_ts`.
    pub(crate) fn degree(&self, read_ts: u64, guard: &Guard) -> usize {
        let degree = |c: &Arc<Chunk>| {
            let v = c.version(guard);
            v.list(v.delta(read_ts), self.kind).degree()
        };
        self.chunks(guard).iter().map(degree).sum()
    }

    /// Splits the chunk that holds `nbr` if it has grown too large.
    pub(crate) fn split(&self, nbr: u32, place: HubPlace<'_>, horizon: Horizon, guard: &Guard) {
        let chunk = self.chunk(nbr, guard);
        let _held = chunk.latch.hold(ALL_STRIPES);
        if !chunk.is_retired() && chunk.is_oversized(guard) {
            self.split_latched(chunk, place, horizon, guard);
        }
    }

    fn split_latched(&self, chunk: &Chunk, place: HubPlace<'_>, horizon: Horizon, guard: &Guard) {
        let old = chunk.version(guard);
        let watermark = horizon.watermark.max(old.base_ts);
        let mut merge = Merge::default();
        settle_list(&old.list(DELTA_MAX, self.kind), old.delta(watermark), &mut merge);
        let cuts = cut(&merge.rows);
        if cuts.len() < 2 {
            return;
        }
        let mut parts = Vec::with_capacity(cuts.len());
        for (i, range) in cuts.iter().enumerate() {
            let first = if i == 0 { chunk.first } else { merge.rows[range.start].0.nbr };
            let end = cuts.get(i + 1).map(|r| merge.rows[r.start].0.nbr);
            let part = merge
                .part(range.clone(), |nbr| (i == 0 || nbr >= first) && end.is_none_or(|e| nbr < e));
            let class = tail_class(2 * part.carried.len());
            let block = (class, part.carried_columns(self.kind));
            let new = ChunkVersion::new(&part.rows, self.kind, block, watermark);
            part.replay(old.base_ts, watermark, |entry, delta, delete| {
                new.block().append(entry, delta, delete, self.kind.columns());
            });
            parts.push(Chunk::new(first, new));
        }
        place.keep_undo(old, self.kind, watermark, horizon.floor);
        let _replacing = lock(&self.replacing);
        let now = self.directory(guard);
        let chunks: Box<[Arc<Chunk>]> = now
            .chunks
            .iter()
            .flat_map(|c| {
                if std::ptr::eq(Arc::as_ptr(c), chunk) {
                    parts.clone()
                } else {
                    vec![Arc::clone(c)]
                }
            })
            .collect();
        chunk.retire();
        let new = Directory { firsts: chunks.iter().map(|c| c.first).collect(), chunks };
        let old = self.directory.swap(Owned::new(new), Ordering::AcqRel, guard);
        // SAFETY: unreachable for new readers; those that have it are pinned.
        unsafe { guard.defer_destroy(old) };
    }

    /// Heap bytes.
    pub(crate) fn bytes(&self, guard: &Guard) -> usize {
        let d = self.directory(guard);
        std::mem::size_of::<Self>()
            + d.chunks.len() * (4 + std::mem::size_of::<Arc<Chunk>>())
            + d.chunks.iter().map(|c| c.bytes(guard)).sum::<usize>()
    }
}
