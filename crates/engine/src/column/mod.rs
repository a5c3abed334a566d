//! Versioned columns: one value per vertex (or per edge ordinal), at every snapshot.
//!
//! Three uses: the *state* column of the vertex table (which label set, or absent), one column per
//! vertex property key, and one per property key of an edge type, indexed by the edge's ordinal.
//!
//! ```text
//!  ColTable ── segments (grow, never move) ── ColSegment: latch · current version
//!                                              │
//!               ColVersion  chunk (immutable, typed)      tail
//!                           2^k values                    heads u32 [2^k], 0 = settled value holds
//!                                                         entries: ts · previous · value
//! ```
//!
//! A write appends an entry that points to the previous one and moves the head. A reader walks from
//! the head to the first entry it may see, else reads the chunk. Whoever writes most of a segment
//! in one commit lays a whole new chunk over it (`layer.rs`). Settling folds what every live
//! snapshot sees into a new chunk; the rules are those of adjacency (see `adjacency/segment.rs`).
//!
//! Cost: a settled value is one array access; a written one a short walk, newest first.

pub(crate) mod chunk;
pub(crate) mod cursor;
mod layer;
pub(crate) mod property;
pub(crate) mod states;
mod table;
pub(crate) mod undo;
mod version;

pub(crate) use chunk::{PropertyChunk, StateChunk};
pub(crate) use layer::Laid;
pub(crate) use table::{ColTable, HasTail, Room, Segments};

use crate::adjacency::SEGMENT_VERTICES;
use crate::mapped;

/// The settled values of one segment.
pub(crate) trait Chunk: Send + Sync + Sized {
    /// What a column holds; the default is "absent".
    type Value: Clone + Default + PartialEq + Send + Sync + std::fmt::Debug;

    /// A chunk in which every value is absent.
    fn absent() -> Self;

    /// The value at `local`.
    fn get(&self, local: usize) -> Self::Value;

    /// A chunk of these values, one per place.
    fn build(values: &[Self::Value; SEGMENT_VERTICES]) -> Self;

    /// What [`build`](Self::build) makes of its values with these written over them, each at a
    /// place, if that can be had without looking at every place.
    fn with_few(&self, _: &[(u32, Self::Value)]) -> Option<Self> {
        None
    }

    /// Decodes a stored segment: any bytes give a chunk or a reason.
    fn decode(value: &mapped::Value<'_>) -> Result<Self, String>;

    /// Heap bytes.
    fn bytes(&self) -> usize;
}
