//! Objects of a vector index that may be near a vector.

use std::time::{Duration, Instant};

use telar_graph::view::{IndexedObject, NearSearch, Nearest};
use telar_graph::{IndexId, IndexUnavailable};

use super::Reader;
use crate::index::near::{FoundNear, are_few};
use crate::index::{Entries, Index, IndexTarget};

/// So long a search links vectors where no background thread does.
const LINKING: Duration = Duration::from_secs(1);

impl Reader<'_> {
    /// A vector index that can be read at this snapshot.
    pub(crate) fn vector_index(&self, id: IndexId) -> Result<&Index, IndexUnavailable> {
        let index = self.index(id)?;
        match index.definition.vectors() {
            Some(_) => Ok(index),
            None => Err(IndexUnavailable::WrongKind(id)),
        }
    }

    /// Calls `f` with items that may be near a vector; edges among them exist.
    pub(crate) fn near_items(
        &self,
        index: &Index,
        search: &mut NearSearch<'_>,
        f: &mut dyn FnMut([u32; 3]),
    ) -> Result<Nearest, IndexUnavailable> {
        // What only the past wants is not in the graph of neighbours.
        if self.past.is_some() {
            return Ok(Nearest::Unknown);
        }
        if !index.is_loaded() {
            self.load(index)?;
        }
        let source = self.source();
        let mut give = |item: [u32; 3]| match index.definition.target {
            IndexTarget::Edges(ty) if !source.edge_exists(ty, item, self.read_ts) => {}
            _ => f(item),
        };
        if !index.near.is_begun() {
            let dimensions = index.definition.vectors().and_then(|vectors| vectors.dimensions);
            if are_few(index.len(), dimensions) {
                index.for_each_item(|_, item| give(item));
                return Ok(Nearest::All);
            }
            index.near.begin(index, self.shared);
        }
        if self.shared.settings.background_interval_ms == 0 {
            index.near.link_until(index, self.shared, &|| false, Instant::now() + LINKING);
        }
        let Some(FoundNear { keys, items, reach, of }) = index.near.find(search) else {
            return Ok(Nearest::Unknown);
        };
        items.into_iter().for_each(&mut give);
        for key in &keys {
            match index.entries() {
                Entries::None => {}
                Entries::Vertices(tree) => {
                    tree.for_key(key, &self.guard, |[v]| give([v, 0, 0]));
                }
                Entries::Edges(tree) => tree.for_key(key, &self.guard, &mut give),
            }
        }
        Ok(if reach.is_finite() { Nearest::Within { reach, of } } else { Nearest::All })
    }

    /// For [`View::nearest`](telar_graph::View::nearest).
    pub(crate) fn near_batch(
        &self,
        id: IndexId,
        search: &mut NearSearch<'_>,
        f: &mut dyn FnMut(IndexedObject),
    ) -> Result<Nearest, IndexUnavailable> {
        let index = self.vector_index(id)?;
        self.near_items(index, search, &mut |item| f(self.indexed_object(index, item)))
    }
}
