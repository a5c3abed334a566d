//! Property values.
//!
//! A [`Value`] is what a property holds and what an expression yields. It is 24 bytes, and cloning
//! one never copies text, bytes or elements: everything that does not fit in two words is shared
//! behind an `Arc`.
//!
//! Vertices, edges and paths are values of expressions only: they name things by their ids at one
//! snapshot, and no property can hold them ([`Value::is_storable`]).
//!
//! `Value` is `Eq`, `Ord` and `Hash` by the total order of `ORDER BY`, in which null equals null,
//! NaN equals NaN and `1` equals `1.0`; see [`crate::order`], which also has the three-valued
//! comparison that `=` and `<` of a query use.
//!
//! Values nest, and comparing, hashing and dropping one recurse once per level. Whoever builds
//! values from input keeps them within [`NESTING_MAX`].

mod convert;
mod path;
mod point;
mod size;
mod temporal;
mod vector;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::{EdgeId, VertexId};

pub use convert::ConversionError;
pub use path::Path;
pub use point::{Point, PointError, Srid};
pub use size::{heap_bytes, heap_bytes_of, value_bytes};
pub use temporal::{
    Date, DateTime, Duration, LocalDateTime, LocalTime, ParsedDateTime, TemporalError, Time,
    UtcOffset, YEAR_MAX, YEAR_MIN, ZONE_NAME_BYTES_MAX,
};
pub use vector::{ByteOrder, CoordinateType, Coordinates, DIMENSION_MAX, Vector, VectorError};

/// Deepest nesting of lists and maps that can be stored; a scalar has depth 0.
///
/// Stored properties need 1; 64 leaves room for parameters while 64 frames of the decoder, well
/// under 1 KiB each, fit the smallest thread stack.
pub const NESTING_MAX: u32 = 64;

/// Entries of a map value, sorted by key.
pub type ValueMap = BTreeMap<Arc<str>, Value>;

/// One property value or expression result.
#[derive(Debug, Clone, Default)]
pub enum Value {
    /// The absent or unknown value.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit float, any bit pattern.
    Float(f64),
    /// UTF-8 text.
    String(Arc<str>),
    /// A byte string.
    Bytes(Arc<[u8]>),
    /// A list of values, possibly of different types.
    List(Arc<[Value]>),
    /// A map from text to values.
    Map(Arc<ValueMap>),
    /// A calendar date without a time zone.
    Date(Date),
    /// A time of day without a time zone.
    LocalTime(LocalTime),
    /// A time of day with an offset from UTC.
    Time(Time),
    /// A date and time of day without a time zone.
    LocalDateTime(LocalDateTime),
    /// A date and time of day with an offset from UTC and perhaps a zone name.
    DateTime(Arc<DateTime>),
    /// An amount of months, days, seconds and nanoseconds.
    Duration(Arc<Duration>),
    /// A point in one of the four coordinate reference systems.
    Point(Arc<Point>),
    /// A vector: numbers of one type, as many as its dimension says.
    Vector(Arc<Vector>),
    /// A vertex: a node, as queries say.
    Vertex(VertexId),
    /// An edge: a relationship, as queries say.
    Edge(Arc<EdgeId>),
    /// A path.
    Path(Arc<Path>),
}

const _: () = assert!(size_of::<Value>() <= 24);

impl Value {
    /// The list of these elements.
    pub fn list<T: Into<Self>>(elements: impl IntoIterator<Item = T>) -> Self {
        Self::List(elements.into_iter().map(Into::into).collect())
    }

    /// The map of these entries; of two entries with one key the later wins.
    pub fn map<K: Into<Arc<str>>, V: Into<Self>>(
        entries: impl IntoIterator<Item = (K, V)>,
    ) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value.into()));
        Self::Map(Arc::new(entries.collect()))
    }

    /// Whether this is null.
    #[inline]
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// Name of the value's type in Cypher, as error messages and `valueType()` spell it.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "NULL",
            Self::Bool(_) => "BOOLEAN",
            Self::Int(_) => "INTEGER",
            Self::Float(_) => "FLOAT",
            Self::String(_) => "STRING",
            Self::Bytes(_) => "BYTES",
            Self::List(_) => "LIST",
            Self::Map(_) => "MAP",
            Self::Date(_) => "DATE",
            Self::LocalTime(_) => "LOCAL TIME",
            Self::Time(_) => "ZONED TIME",
            Self::LocalDateTime(_) => "LOCAL DATETIME",
            Self::DateTime(_) => "ZONED DATETIME",
            Self::Duration(_) => "DURATION",
            Self::Point(_) => "POINT",
            Self::Vector(_) => "VECTOR",
            Self::Vertex(_) => "NODE",
            Self::Edge(_) => "RELATIONSHIP",
            Self::Path(_) => "PATH",
        }
    }

    /// Whether a property can hold it: it is, and contains, no vertex, edge or path.
    ///
    /// Recurses once per level of nesting. Cost: time linear in the number of values nested.
    #[must_use]
    pub fn is_storable(&self) -> bool {
        match self {
            Self::Vertex(_) | Self::Edge(_) | Self::Path(_) => false,
            Self::List(elements) => elements.iter().all(Self::is_storable),
            Self::Map(entries) => entries.values().all(Self::is_storable),
            _ => true,
        }
    }

    /// Whether lists and maps nest at most `levels` deep in this value.
    ///
    /// Recurses at most `levels` deep itself. Cost: time linear in the number of values nested.
    #[must_use]
    pub fn nests_within(&self, levels: u32) -> bool {
        match (self, levels.checked_sub(1)) {
            (Self::List(_) | Self::Map(_), None) => false,
            (Self::List(elements), Some(below)) => elements.iter().all(|e| e.nests_within(below)),
            (Self::Map(entries), Some(below)) => entries.values().all(|e| e.nests_within(below)),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nests_within_counts_lists_and_maps() {
        assert!(Value::Int(1).nests_within(0));
        let nested = Value::list([Value::map([("a", Value::list([1, 2]))])]);
        assert!(nested.nests_within(3));
        assert!(!nested.nests_within(2));
        assert!(!Value::list(Vec::<Value>::new()).nests_within(0));
    }
}
