//! Lists of a batch of vertices or edges, one after the other in flat columns.

use crate::VertexId;

/// One list for each vertex or edge of a batch, flat: that of place `i` is
/// `items[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lists<T> {
    /// One more than there are lists, ascending from 0.
    pub offsets: Vec<u32>,
    /// The items of all lists.
    pub items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Self {
        Self { offsets: vec![0], items: Vec::new() }
    }
}

impl<T> Lists<T> {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.offsets.push(0);
        self.items.clear();
    }

    /// Ends the list of the items that were added since the last one ended.
    pub fn end_list(&mut self) {
        self.offsets.push(self.items.len() as u32);
    }

    /// Number of lists.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// True if there are no lists.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The list at this place in the batch.
    ///
    /// # Panics
    /// If there is no such place.
    #[must_use]
    pub fn of(&self, place: usize) -> &[T] {
        &self.items[self.offsets[place] as usize..self.offsets[place + 1] as usize]
    }

    /// Every list, in the order of the batch.
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.len()).map(|place| self.of(place))
    }
}

/// Neighbours of a batch of vertices, flat: those of source `i` are
/// `neighbours[offsets[i]..offsets[i + 1]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    /// One more than there are sources, ascending from 0.
    pub offsets: Vec<u32>,
    /// The other end of each edge.
    pub neighbours: Vec<VertexId>,
    /// The ordinal of each edge, beside its neighbour; 0 for edge types without ordinals.
    pub ordinals: Vec<u32>,
}

impl Expansion {
    /// Empties it, keeping its memory.
    pub fn clear(&mut self) {
        self.offsets.clear();
        self.neighbours.clear();
        self.ordinals.clear();
    }

    /// Replaces it with the edges that lead from the first of each pair to the second: `lists` are
    /// those of the first ones.
    pub fn set_between(&mut self, lists: &Self, pairs: &[(VertexId, VertexId)]) {
        self.clear();
        self.offsets.push(0);
        for (ends, (_, target)) in lists.offsets.windows(2).zip(pairs) {
            for at in ends[0] as usize..ends[1] as usize {
                if lists.neighbours[at] == *target {
                    self.neighbours.push(*target);
                    self.ordinals.push(lists.ordinals[at]);
                }
            }
            self.offsets.push(self.neighbours.len() as u32);
        }
    }

    /// Neighbours of the source with this place in the batch.
    ///
    /// # Panics
    /// If there was no such source.
    #[must_use]
    pub fn of(&self, source: usize) -> &[VertexId] {
        &self.neighbours[self.offsets[source] as usize..self.offsets[source + 1] as usize]
    }
}
