//! Keys of history: what a stored value is the history of.
//!
//! ```text
//!   6, 0, 0, 0          about         what is retained
//!   6, type, 1 or 2     lists out, in
//!   6, 0, 3             vertex states
//!   6, property, 4      a vertex property
//!   7, type, property   an edge property
//! ```

use telar_graph::{Direction, EdgeTypeId, PropertyKeyId};

use super::{KEY_BYTES, Kind, key};

const ABOUT: u16 = 0;
const OUT: u16 = 1;
const IN: u16 = 2;
const STATES: u16 = 3;
const VERTEX_PROPERTY: u16 = 4;

/// Subject of a stored history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    About,
    Lists(EdgeTypeId, Direction),
    States,
    VertexProperty(PropertyKeyId),
    EdgeProperty(EdgeTypeId, PropertyKeyId),
}

impl Subject {
    /// What the key with these parts is about; `None` if it is not a key of history.
    pub(crate) fn of(kind: u8, a: u16, b: u16) -> Option<Self> {
        let ty = EdgeTypeId::from_raw(a);
        match (kind, b) {
            (6, ABOUT) if a == 0 => Some(Self::About),
            (6, OUT) => Some(Self::Lists(ty, Direction::Out)),
            (6, IN) => Some(Self::Lists(ty, Direction::In)),
            (6, STATES) if a == 0 => Some(Self::States),
            (6, VERTEX_PROPERTY) => Some(Self::VertexProperty(PropertyKeyId::from_raw(a))),
            (7, b) => Some(Self::EdgeProperty(ty, PropertyKeyId::from_raw(b))),
            _ => None,
        }
    }

    /// The key of a segment.
    pub(crate) fn key(self, segment: u32) -> [u8; KEY_BYTES] {
        match self {
            Self::About => key(Kind::History, 0, ABOUT, 0),
            Self::Lists(ty, Direction::Out) => key(Kind::History, ty.get(), OUT, segment),
            Self::Lists(ty, Direction::In) => key(Kind::History, ty.get(), IN, segment),
            Self::States => key(Kind::History, 0, STATES, segment),
            Self::VertexProperty(p) => key(Kind::History, p.get(), VERTEX_PROPERTY, segment),
            Self::EdgeProperty(ty, p) => key(Kind::EdgeHistory, ty.get(), p.get(), segment),
        }
    }
}

/// True if a stored key is one of history.
pub(crate) fn is_history(key: &[u8]) -> bool {
    key.first().is_some_and(|k| *k == Kind::History as u8 || *k == Kind::EdgeHistory as u8)
}
