//! Claims: what a `MERGE` made because it found nothing like it.
//!
//! Two transactions that look for the same edge and find none would both make it: neither writes
//! what the other writes. So the one that makes an edge claims the place where it looked, and its
//! commit validates the claim like a serializable read of just that: no edge that the pattern
//! would have matched was added there since the snapshot.
//!
//! ```text
//!  both ends were bound        the edges from one to the other: other edges of a hub do not count
//!  one end was made, too       the edges at the bound end that lead to a vertex like the one made
//!  neither was bound           nothing: nobody else can have looked at the same place
//! ```
//!
//! Cost: one latch more at most, and a look at the entries of one list that are newer than the
//! snapshot. A claim without a bound end at the other side of a hub takes the latches of all its
//! chunks.

use std::hash::Hash;

use crossbeam_epoch::Guard;
use telar_graph::{Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId};

use super::plan::{Latches, ListGuard};
use crate::adjacency::hub::Chunk;
use crate::adjacency::segment::Slot;
use crate::adjacency::tail::DELTA_MAX;
use crate::adjacency::{AdjTable, COL_ORDINAL, Entry, local_of, segment_of, vertex_id};
use crate::catalog::Catalog;
use crate::error::{Error, Object};
use crate::index::key::SortKey;
use crate::index::source::{NOW, Source};
use crate::latch::{ALL_STRIPES, LatchKey};
use crate::shared::Shared;

/// Properties by the keys of their values: equal values have equal keys.
pub(crate) type Like = Vec<(PropertyKeyId, SortKey)>;

/// Edges that were looked for at a vertex and not found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) ty: EdgeTypeId,
    /// As seen from `vertex`.
    pub(crate) direction: Direction,
    pub(crate) vertex: u32,
    pub(crate) other: OtherEnd,
    /// Properties that they have, at least.
    pub(crate) properties: Like,
}

/// Where the edges lead that were looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum OtherEnd {
    /// To this vertex.
    Vertex(u32),
    /// To one that has these labels and properties, at least.
    Like { labels: Vec<LabelId>, properties: Like },
}

/// What a claim keeps as it is while it is validated.
pub(crate) enum Hold<'g> {
    List(ListGuard<'g>),
    Chunk(&'g Chunk),
}

impl Hold<'_> {
    /// Whether the plan still holds, now that the latch is held.
    pub(super) fn is_valid(&self, guard: &Guard) -> bool {
        match self {
            Self::List(list) => list.is_valid(guard),
            Self::Chunk(chunk) => !chunk.is_retired(),
        }
    }
}

impl Claim {
    /// The vertex at the other end, if it was there before.
    pub(crate) fn other_vertex(&self) -> Option<u32> {
        match self.other {
            OtherEnd::Vertex(v) => Some(v),
            OtherEnd::Like { .. } => None,
        }
    }

    /// What two claims have in common that look for the same, whichever way.
    pub(crate) fn place(&self) -> impl Hash + '_ {
        (self.ty, self.vertex, &self.other, &self.properties)
    }

    pub(super) fn table<'g>(&self, catalog: &'g Catalog) -> Result<&'g AdjTable, Error> {
        Ok(catalog.edge_type(self.ty)?.table(self.direction))
    }

    /// Wants the latches under which nothing is added to what is claimed.
    pub(super) fn hold<'g>(
        &self,
        catalog: &'g Catalog,
        latches: &mut Latches<'g>,
        guard: &'g Guard,
    ) -> Result<Hold<'g>, Error> {
        let table = self.table(catalog)?;
        let (number, local) = (segment_of(self.vertex), local_of(self.vertex));
        let version = table.segment_for_write(number).version(guard);
        let slot = version.map(|version| version.decode(version.slot_word(local)));
        if let (OtherEnd::Vertex(other), Some(Slot::Hub(hub))) = (&self.other, slot) {
            let chunk = hub.chunk(*other, guard);
            let key = LatchKey::chunk(table.id, number, local, chunk.first);
            latches.want(key, &chunk.latch, ALL_STRIPES);
            return Ok(Hold::Chunk(chunk));
        }
        Ok(Hold::List(ListGuard::find(self.ty, table, self.vertex, latches, guard)))
    }

    /// An edge that was added after `read_ts` and would have been found. Without the latches what
    /// is being applied at this moment may be overlooked.
    pub(crate) fn broken_by(
        &self,
        shared: &Shared,
        read_ts: u64,
        guard: &Guard,
    ) -> Result<Option<EdgeId>, Error> {
        let source = Source::new(shared, guard);
        let table = self.table(&shared.catalog)?;
        let found = added(table, self.vertex, &self.other, read_ts, guard, |entry| {
            self.is_like(entry, source)
        });
        Ok(found.map(|entry| {
            let (here, there) = (vertex_id(self.vertex), vertex_id(entry.nbr));
            let (src, dst) = match self.direction {
                Direction::Out => (here, there),
                Direction::In => (there, here),
            };
            EdgeId { ty: self.ty, src, dst, ordinal: entry.columns[COL_ORDINAL] }
        }))
    }

    fn is_like(&self, entry: &Entry, source: Source<'_>) -> bool {
        let other = match &self.other {
            OtherEnd::Vertex(other) => entry.nbr == *other,
            OtherEnd::Like { labels, properties } => {
                let state = source.states.get(entry.nbr, NOW, source.guard);
                let has = source.catalog.label_sets.labels(state);
                labels.iter().all(|label| has.contains(label))
                    && properties.iter().all(|(key, wanted)| {
                        let value = source.vertex_value(entry.nbr, *key, NOW);
                        SortKey::of(&[value]).as_ref() == Some(wanted)
                    })
            }
        };
        other
            && self.properties.iter().all(|(key, wanted)| {
                let (src, dst) = match self.direction {
                    Direction::Out => (self.vertex, entry.nbr),
                    Direction::In => (entry.nbr, self.vertex),
                };
                let place = source.place(self.ty, src, dst, entry.columns[COL_ORDINAL]);
                let value = source.edge_value(self.ty, place, *key, NOW);
                SortKey::of(&[value]).as_ref() == Some(wanted)
            })
    }
}

/// The first entry that `is` wanted of those added to a list after `read_ts`.
fn added(
    table: &AdjTable,
    vertex: u32,
    other: &OtherEnd,
    read_ts: u64,
    guard: &Guard,
    is: impl Fn(&Entry) -> bool,
) -> Option<Entry> {
    let local = local_of(vertex);
    let version = table.segment(segment_of(vertex))?.version(guard)?;
    let in_chunk = |chunk: &Chunk| {
        let version = chunk.version(guard);
        let list = version.list(DELTA_MAX, table.kind);
        list.added_since(version.delta(read_ts)).find(&is)
    };
    match (version.decode(version.slot_word(local)), other) {
        (Slot::Hub(hub), OtherEnd::Vertex(other)) => in_chunk(hub.chunk(*other, guard)),
        (Slot::Hub(hub), _) => hub.chunks(guard).iter().find_map(|chunk| in_chunk(chunk)),
        (Slot::Clean | Slot::Block(_), _) => {
            let list = version.list(local, DELTA_MAX, table.kind)?;
            list.added_since(version.delta(read_ts)).find(&is)
        }
    }
}

/// Validates every claim. Runs with every latch held.
pub(crate) fn validate(
    claims: &[Claim],
    shared: &Shared,
    read_ts: u64,
    guard: &Guard,
) -> Result<(), Error> {
    for claim in claims {
        if let Some(edge) = claim.broken_by(shared, read_ts, guard)? {
            return Err(Error::Conflict { object: Object::Edge(edge) });
        }
    }
    Ok(())
}
