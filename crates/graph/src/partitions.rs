//! Partitions of the space of vertex ids.

use std::ops::Range;

use crate::VertexId;

/// Ranges of ids outside of which there are no vertices, ascending and apart.
///
/// Ids may be sparse: a shard's number in their highest bits leaves holes of 2^40 ids that nobody
/// wants to step through. *Positions* number the ids of all ranges without holes, so that scans
/// count in positions and read in ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Partitions {
    /// The first position of each range, and the range.
    ranges: Vec<(u64, Range<u64>)>,
    positions: u64,
}

impl Partitions {
    /// The ids below `bound`.
    #[must_use]
    pub fn below(bound: VertexId) -> Self {
        [VertexId::from_raw(0)..bound].into_iter().collect()
    }

    /// Number of positions.
    #[must_use]
    pub fn positions(&self) -> u64 {
        self.positions
    }

    /// The ids from a position on, at most so many, without a hole: a scan goes on at the position
    /// that is as far on as there are ids in the range. Empty behind the last position.
    #[must_use]
    pub fn ids(&self, position: u64, most: u64) -> Range<VertexId> {
        let at = self.ranges.partition_point(|(first, _)| *first <= position);
        let within = at.checked_sub(1).map(|at| &self.ranges[at]);
        let (from, end) = within.map_or((0, 0), |(first, ids)| {
            (ids.start.saturating_add(position - first).min(ids.end), ids.end)
        });
        VertexId::from_raw(from)..VertexId::from_raw(end.min(from.saturating_add(most)))
    }

    /// All ids, in pieces of at most so many: a whole scan.
    pub fn all(&self, most: u64) -> impl Iterator<Item = Range<VertexId>> {
        self.pieces(0..self.positions, most)
    }

    /// The ids of some positions, in pieces of at most so many.
    pub fn pieces(
        &self,
        positions: Range<u64>,
        most: u64,
    ) -> impl Iterator<Item = Range<VertexId>> {
        let mut position = positions.start;
        let end = positions.end.min(self.positions);
        std::iter::from_fn(move || {
            if position >= end {
                return None;
            }
            let ids = self.ids(position, most.clamp(1, end - position));
            position += ids.end.get() - ids.start.get();
            Some(ids)
        })
    }
}

impl FromIterator<Range<VertexId>> for Partitions {
    /// Of ranges that ascend and do not overlap; empty ones are left out.
    fn from_iter<I: IntoIterator<Item = Range<VertexId>>>(ranges: I) -> Self {
        let mut partitions = Self::default();
        for ids in ranges {
            let ids = ids.start.get()..ids.end.get();
            if ids.is_empty() {
                continue;
            }
            debug_assert!(
                partitions.ranges.last().is_none_or(|(_, last)| last.end <= ids.start),
                "ranges ascend"
            );
            partitions.ranges.push((partitions.positions, ids.clone()));
            partitions.positions += ids.end - ids.start;
        }
        partitions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(from: u64, to: u64) -> Range<VertexId> {
        VertexId::from_raw(from)..VertexId::from_raw(to)
    }

    #[test]
    fn dense_ids_are_their_positions() {
        let dense = Partitions::below(VertexId::from_raw(10));
        assert_eq!(dense.positions(), 10);
        assert_eq!(dense.ids(3, 4), ids(3, 7));
        assert_eq!(dense.ids(8, 4), ids(8, 10));
        assert!(dense.ids(10, 4).is_empty() && dense.ids(u64::MAX, 4).is_empty());
        assert_eq!(dense.pieces(0..99, 4).collect::<Vec<_>>(), [ids(0, 4), ids(4, 8), ids(8, 10)]);
        assert_eq!(dense.pieces(5..7, 4).collect::<Vec<_>>(), [ids(5, 7)]);
    }

    #[test]
    fn nothing_has_no_pieces() {
        let none = Partitions::below(VertexId::from_raw(0));
        assert_eq!(none, Partitions::default());
        assert_eq!(none.positions(), 0);
        assert!(none.ids(0, 10).is_empty());
        assert_eq!(none.pieces(0..10, 4).count(), 0);
    }

    #[test]
    fn pieces_end_at_holes_and_step_over_them() {
        let far = 1 << 40;
        let sparse: Partitions = [ids(0, 5), ids(7, 7), ids(far, far + 6)].into_iter().collect();
        assert_eq!(sparse.positions(), 11);
        assert_eq!(sparse.ids(4, 4), ids(4, 5));
        assert_eq!(sparse.ids(5, 4), ids(far, far + 4));
        assert_eq!(
            sparse.pieces(0..11, 4).collect::<Vec<_>>(),
            [ids(0, 4), ids(4, 5), ids(far, far + 4), ids(far + 4, far + 6)]
        );
        assert_eq!(sparse.pieces(6..8, 4).collect::<Vec<_>>(), [ids(far + 1, far + 3)]);
    }
}
