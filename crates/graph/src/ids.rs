//! Newtypes for everything in the database that is numbered.
//!
//! An id is made with `from_raw` and read with `get`, never by an implicit conversion, so that a
//! vertex number cannot be passed where an edge type is meant.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($raw);

        impl $name {
            /// The id with this raw number.
            #[inline]
            #[must_use]
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw)
            }

            /// The raw number.
            #[inline]
            #[must_use]
            pub const fn get(self) -> $raw {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        const _: () = assert!(size_of::<$name>() == size_of::<$raw>());
    };
}

id! {
    /// Number of a vertex, unique among all vertices that exist at one snapshot.
    VertexId(u64)
}
id! {
    /// Number of a vertex label in the schema.
    LabelId(u16)
}
id! {
    /// Number of an edge type in the schema.
    EdgeTypeId(u16)
}
id! {
    /// Number of a property key in the schema.
    PropertyKeyId(u16)
}
id! {
    /// Number of a property index or constraint; never given to another one.
    IndexId(u16)
}
id! {
    /// Commit timestamp: the position of a transaction in the serial order of commits.
    CommitTs(u64)
}

impl CommitTs {
    /// Before every commit: the timestamp of the empty database.
    pub const ZERO: Self = Self(0);

    /// The timestamp of the commit that follows this one.
    ///
    /// # Panics
    ///
    /// When 2^64 - 1 commits have been made: 584 years at a thousand million commits a second.
    #[inline]
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.checked_add(1).expect("INVARIANT: fewer than 2^64 commits are ever made"))
    }
}

/// Which end of an edge a traversal starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From source to destination.
    Out,
    /// From destination to source.
    In,
}

impl Direction {
    /// Both directions, `Out` first.
    pub const ALL: [Self; 2] = [Self::Out, Self::In];

    /// The opposite direction.
    #[inline]
    #[must_use]
    pub const fn reverse(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Out => "out",
            Self::In => "in",
        })
    }
}

/// Identity of an edge: its type, its two ends, and which of the parallel edges it is.
///
/// Ordered by type, source, destination, ordinal: the order in which adjacency lists are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct EdgeId {
    /// Type of the edge.
    pub ty: EdgeTypeId,
    /// Vertex the edge leaves.
    pub src: VertexId,
    /// Vertex the edge enters.
    pub dst: VertexId,
    /// Distinguishes parallel edges; 0 for edge types that hold at most one edge per pair.
    pub ordinal: u32,
}

impl EdgeId {
    /// The vertex a traversal in `direction` starts from.
    #[inline]
    #[must_use]
    pub const fn start(&self, direction: Direction) -> VertexId {
        match direction {
            Direction::Out => self.src,
            Direction::In => self.dst,
        }
    }

    /// The vertex a traversal in `direction` arrives at.
    #[inline]
    #[must_use]
    pub const fn end(&self, direction: Direction) -> VertexId {
        self.start(direction.reverse())
    }
}

/// Prints `type:src->dst`, followed by `#ordinal` for an ordinal above 0.
impl fmt::Display for EdgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}->{}", self.ty, self.src, self.dst)?;
        if self.ordinal > 0 {
            write!(f, "#{}", self.ordinal)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn id_round_trips_and_prints_its_number() {
        assert_eq!(VertexId::from_raw(7).get(), 7);
        assert_eq!(LabelId::from_raw(3).to_string(), "3");
        assert!(CommitTs::ZERO < CommitTs::ZERO.next());
        assert_eq!(CommitTs::from_raw(41).next().get(), 42);
    }

    #[test]
    #[should_panic(expected = "INVARIANT")]
    fn commit_ts_next_past_the_last_panics() {
        let _ = CommitTs::from_raw(u64::MAX).next();
    }

    #[test]
    fn edge_ends_follow_the_direction() {
        let edge = EdgeId {
            ty: EdgeTypeId::from_raw(2),
            src: VertexId::from_raw(10),
            dst: VertexId::from_raw(20),
            ordinal: 0,
        };
        assert_eq!(edge.start(Direction::Out).get(), 10);
        assert_eq!(edge.end(Direction::Out).get(), 20);
        assert_eq!(edge.start(Direction::In).get(), 20);
        assert_eq!(edge.to_string(), "2:10->20");
        assert_eq!(EdgeId { ordinal: 4, ..edge }.to_string(), "2:10->20#4");
        assert_eq!(Direction::In.reverse(), Direction::Out);
    }
}
