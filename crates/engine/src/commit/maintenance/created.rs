//! Entries of objects that a large commit creates: found when they are added, in pieces.
//!
//! Changes of an index are kept from planning until they are applied, 64 bytes each. A commit that
//! creates a million objects would hold nearly as much for an index as for all that it writes.
//! Objects that a commit creates had no key before, and their keys depend on nothing that others
//! could change. Unless a constraint asks for these keys, nothing needs them before the values are
//! written.
//!
//! Pieces are ranges of entries, so that each partition of the index is made anew about once,
//! whatever the order of the keys: entries that were sampled cut the ranges, one pass finds the
//! range of each entry, and each range's entries are found again, sorted and added.
//!
//! *Cost*: time linear in what is created, two keys computed for each object; memory of one byte
//! for each object, and of a piece.

use telar_graph::{EdgeTypeId, LabelId, Value};

use crate::commit::write_set::{
    EdgeOp, EdgeWrite, StateWrite, WriteSet, edge_property_key, vertex_property_key,
};
use crate::error::Error;
use crate::index::key::{Entry, Item, SortKey};
use crate::index::source::Source;
use crate::index::{Index, IndexTarget, Keys};
use crate::stop::Stop;

/// Entries of a piece, unless that would make more than [`PIECES_MAX`] of them; fewer where tests
/// run.
const PIECE_ENTRIES: usize = if cfg!(debug_assertions) { 256 } else { 1 << 16 };

/// Pieces at most: the number of a piece is a byte, and one value says that there is no entry.
const PIECES_MAX: usize = NO_ENTRY as usize;

/// The piece of an object that has no entry.
const NO_ENTRY: u8 = u8::MAX;

/// Entries sampled for each piece.
const SAMPLES: usize = 16;

/// Objects that a commit creates, as one index sees them.
#[derive(Clone, Copy)]
pub(super) struct Created<'a> {
    pub(super) index: &'a Index,
    pub(super) writes: &'a WriteSet,
    pub(super) source: Source<'a>,
}

impl Created<'_> {
    /// The key of a vertex that the commit creates; `None` if the index does not hold it. `near` is
    /// where the last one's values were found.
    pub(super) fn vertex_key(
        &self,
        label: LabelId,
        write: &StateWrite,
        near: &mut usize,
    ) -> Option<SortKey> {
        if !self.source.has_label(&self.index.holders, label, write.state) {
            return None;
        }
        let written = &self.writes.vertex_properties;
        self.index.definition.key(|key| {
            let value = written.get_from(vertex_property_key(write.vertex, key), near);
            value.map_or(Value::Null, |w| w.value.clone())
        })
    }

    /// Every key of such a vertex.
    pub(super) fn vertex_keys(&self, label: LabelId, write: &StateWrite, near: &mut usize) -> Keys {
        if !self.source.has_label(&self.index.holders, label, write.state) {
            return Keys::new();
        }
        let written = &self.writes.vertex_properties;
        self.index.definition.keys(|key| {
            let value = written.get_from(vertex_property_key(write.vertex, key), near);
            value.map_or(Value::Null, |w| w.value.clone())
        })
    }

    /// Every key of an edge that the commit creates.
    pub(super) fn edge_keys(&self, ty: EdgeTypeId, ordinal: u32, near: &mut usize) -> Keys {
        let written = &self.writes.edge_properties;
        self.index.definition.keys(|key| {
            let value = written.get_from(edge_property_key(ty, ordinal, key), near);
            value.map_or(Value::Null, |w| w.value.clone())
        })
    }

    /// The same of an edge.
    pub(super) fn edge_key(
        &self,
        ty: EdgeTypeId,
        ordinal: u32,
        near: &mut usize,
    ) -> Option<SortKey> {
        let written = &self.writes.edge_properties;
        self.index.definition.key(|key| {
            let value = written.get_from(edge_property_key(ty, ordinal, key), near);
            value.map_or(Value::Null, |w| w.value.clone())
        })
    }

    /// Number of writes among which they are.
    fn len(&self) -> usize {
        match self.index.definition.target {
            IndexTarget::Vertices(_) => self.writes.states.items().len(),
            IndexTarget::Edges(_) => self.writes.edges.items().len(),
        }
    }

    /// The first of them that has an entry.
    pub(super) fn first(&self, stop: &Stop<'_>) -> Result<Option<Item<3>>, Error> {
        let mut near = 0;
        for at in 0..self.len() {
            stop.step()?;
            if let Some((_, item)) = self.entry(at, &mut near) {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// The entry of the write with this number.
    fn entry(&self, at: usize, near: &mut usize) -> Option<Entry<3>> {
        match self.index.definition.target {
            IndexTarget::Vertices(label) => {
                let write = &self.writes.states.items()[at];
                let key = || self.vertex_key(label, write, near);
                write.created.then(key).flatten().map(|key| (key, [write.vertex, 0, 0]))
            }
            IndexTarget::Edges(ty) => {
                let write = &self.writes.edges.items()[at];
                if !is_created(write, ty) {
                    return None;
                }
                let item = self.source.written_item(write);
                self.edge_key(ty, item[0], near).map(|key| (key, item))
            }
        }
    }

    /// Calls `f` with all entries, sorted, piece after piece.
    pub(super) fn for_each_piece<const N: usize>(
        &self,
        item_of: impl Fn(Item<3>) -> Item<N>,
        mut f: impl FnMut(&[Entry<N>]),
    ) {
        let bounds = self.bounds();
        let mut near = 0;
        let piece_of = |entry: Entry<3>| bounds.partition_point(|bound| *bound <= entry) as u8;
        let piece = |at| self.entry(at, &mut near).map_or(NO_ENTRY, piece_of);
        let pieces: Vec<u8> = (0..self.len()).map(piece).collect();
        let mut entries = Vec::new();
        for number in 0..=bounds.len() {
            entries.clear();
            let mut near = 0;
            let here =
                pieces.iter().enumerate().filter(|(_, piece)| usize::from(**piece) == number);
            let found = here.filter_map(|(at, _)| self.entry(at, &mut near));
            entries.extend(found.map(|(key, item)| (key, item_of(item))));
            entries.sort_unstable();
            f(&entries);
        }
    }

    /// The first entry of each piece but the first, about.
    fn bounds(&self) -> Vec<Entry<3>> {
        let pieces = self.len().div_ceil(PIECE_ENTRIES).min(PIECES_MAX);
        if pieces <= 1 {
            return Vec::new();
        }
        let step = (self.len() / (pieces * SAMPLES)).max(1);
        let mut near = 0;
        let sampled = (0..self.len()).step_by(step).filter_map(|at| self.entry(at, &mut near));
        let mut sampled: Vec<_> = sampled.collect();
        sampled.sort_unstable();
        let mut bounds: Vec<_> =
            (1..pieces).filter_map(|i| sampled.get(i * sampled.len() / pieces).cloned()).collect();
        bounds.dedup();
        bounds
    }
}

fn is_created(write: &EdgeWrite, ty: EdgeTypeId) -> bool {
    write.ty == ty && write.op == EdgeOp::Create
}
