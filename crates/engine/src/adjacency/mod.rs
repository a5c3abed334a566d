//! Adjacency: where a vertex's neighbours are.
//!
//! One [`AdjTable`] holds the edges of one type in one direction. It is cut into *segments* of
//! [`SEGMENT_VERTICES`] vertices with consecutive ids:
//!
//! ```text
//!  AdjTable ── segments (grow, never move) ── AdjSegment, one cache line
//!     │                                        │ latch word · pointer to the current version
//!     └─ heads, one word per segment:          │
//!        to the base alone if nothing          │
//!        is unsettled, else to the version ──▶ ▼
//!  SegVersion  base (immutable)                  tail (only if something was written)
//!   ┌─────────────┬────────────────┬─────────┐    ┌───────────┬──────────────────────────┐
//!   │ offsets u32 │ neighbours u32 │ columns │    │ slots u32 │ arena: one block per     │
//!   │ 2^k + 1     │ sorted, n      │         │    │ 2^k       │ written vertex           │
//!   └─────────────┴────────────────┴─────────┘    └───────────┴──────────────────────────┘
//! ```
//!
//! The *base* is plain CSR: a vertex whose slot is 0 is read as one slice, by the loop CSR runs.
//! The *tail* is the transactional edge log (LiveGraph, VLDB 2020, section 4): entries in commit
//! order, so what a snapshot sees of it is a prefix, found by looking at the last entry. *Settling*
//! merges what every live snapshot sees into a new base (`settle.rs`). Very long lists live outside
//! the segment as *hubs*: a directory of sorted chunks, each with a tail of its own (`hub.rs`).
//!
//! Visibility rule: a snapshot at `r` sees base, and tail entries with commit timestamp `<= r`;
//! base holds only what was committed at or before the low watermark, which no live snapshot is
//! older than.
//!
//! Concurrency: readers take no latch; they load the segment's head once (`head.rs`), under an
//! epoch pin, and get base and tail that belong together. Writers hold the vertex's latch stripe;
//! rebuilding a version takes every stripe. Reading order for newcomers: this page, `scan.rs` (the
//! hot loop), `tail.rs`, `settle.rs`, `hub.rs`.

pub(crate) mod base;
pub(crate) mod deleted;
pub(crate) mod extent;
pub(crate) mod filter;
pub(crate) mod head;
pub(crate) mod hub;
pub(crate) mod list;
pub(crate) mod mask;
pub(crate) mod ordinals;
pub(crate) mod room;
pub(crate) mod runs;
pub(crate) mod scan;
pub(crate) mod search;
pub(crate) mod segment;
pub(crate) mod settle;
pub(crate) mod stored;
pub(crate) mod tail;
pub(crate) mod undo;
pub(crate) mod undo_block;

pub(crate) use segment::{AdjTable, SegVersion, SegmentRef};

/// Vertices per segment, as a power of two.
///
/// PERF: `telar bench kernel`; see docs/decisions/0003-two-levels-no-run.md.
pub(crate) const SEGMENT_BITS: u32 = 10;
/// Vertices per segment.
pub(crate) const SEGMENT_VERTICES: usize = 1 << SEGMENT_BITS;

/// How far ahead scans and batch reads prefetch, in vertices.
pub(crate) const PREFETCH_AHEAD: usize = 8;

/// Segment number of a vertex.
#[inline(always)]
pub(crate) fn segment_of(v: u32) -> u32 {
    v >> SEGMENT_BITS
}

/// Place of a vertex within its segment.
#[inline(always)]
pub(crate) fn local_of(v: u32) -> u32 {
    v & (SEGMENT_VERTICES as u32 - 1)
}

/// What the lists of a table carry beside neighbour ids, and how they are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// At most one edge per pair, no properties: neighbour ids only, sorted.
    Simple,
    /// Every edge has an ordinal; parallel edges allowed. Sorted by neighbour, then ordinal.
    Multi,
    /// Every edge has an ordinal and an `i64` sort key. Sorted by key, newest (largest) first.
    Timed,
}

/// Column number of the edge ordinal, where a list has one.
pub(crate) const COL_ORDINAL: usize = 0;
/// Column numbers of the low and high word of the sort key of a timed list.
pub(crate) const COL_KEY: (usize, usize) = (1, 2);
/// Most columns a list can have.
pub(crate) const COLUMNS_MAX: usize = 3;

impl ListKind {
    /// Columns beside the neighbour id, stored or not.
    #[inline]
    pub(crate) fn columns(self) -> usize {
        match self {
            ListKind::Simple => 0,
            ListKind::Multi => 1,
            ListKind::Timed => 3,
        }
    }

    /// Columns that the tail block of a list needs for `entry`. A block without them is one of
    /// entries with ordinal 0.
    #[inline]
    pub(crate) fn columns_for(self, entry: &Entry) -> usize {
        self.columns_if(entry.columns[COL_ORDINAL] != 0)
    }

    /// The same for any entries, of which one has an ordinal other than 0 if `is_numbered`.
    #[inline]
    pub(crate) fn columns_if(self, is_numbered: bool) -> usize {
        match self {
            ListKind::Multi => usize::from(is_numbered),
            ListKind::Simple | ListKind::Timed => self.columns(),
        }
    }
}

/// One entry on its way into a list: neighbour and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) nbr: u32,
    pub(crate) columns: [u32; COLUMNS_MAX],
}

impl Entry {
    pub(crate) fn simple(nbr: u32) -> Self {
        Self { nbr, columns: [0; COLUMNS_MAX] }
    }

    pub(crate) fn multi(nbr: u32, ordinal: u32) -> Self {
        Self { nbr, columns: [ordinal, 0, 0] }
    }

    pub(crate) fn timed(nbr: u32, ordinal: u32, key: i64) -> Self {
        let bits = key as u64;
        Self { nbr, columns: [ordinal, bits as u32, (bits >> 32) as u32] }
    }

    /// The sort key of a timed entry.
    pub(crate) fn key(&self) -> i64 {
        key_of(self.columns[COL_KEY.0], self.columns[COL_KEY.1])
    }
}

/// Joins the two words of a sort key.
pub(crate) fn key_of(low: u32, high: u32) -> i64 {
    (u64::from(high) << 32 | u64::from(low)) as i64
}

/// The id of a vertex of which the engine has the number.
#[inline]
pub(crate) fn vertex_id(v: u32) -> telar_graph::VertexId {
    telar_graph::VertexId::from_raw(v.into())
}
