//! Ranges of an index: which of its entries to read, and why they cannot be read.

use std::hash::{Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

use crate::spatial::PointBox;
use crate::{IndexId, Value};

/// What is asked of the keys of an index, beside that they lie in a range.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryFilter {
    /// Of a POINT index: points in a box, and some that lie close to it.
    Within(PointBox),
    /// Of a TEXT index: strings that contain this one.
    Contains(Arc<str>),
    /// Of a TEXT index: strings that end with this one.
    EndsWith(Arc<str>),
}

/// Which entries of an index to read, and in which order.
///
/// Entries are in the order of their keys, by the total order of [`crate::order`] value by value,
/// then by number of vertex or edge. Null is in no index. Where a query's `=` and `<` differ from
/// the total order (NaN, durations, lists that hold nulls), the query tests the values it finds.
///
/// A TEXT index has entries of strings only. A POINT index has entries of points only, in the order
/// of [`crate::spatial::code`]; a range has no bounds there. Points that share a code with a point
/// that was asked for may be found, too: the query tests them.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexRange {
    /// Values of the leading properties.
    pub prefix: Vec<Value>,
    /// From where on, by the property after the prefix.
    pub from: Bound<Value>,
    /// Up to where, by the property after the prefix. A side that is open while the other is not
    /// ends with the other's type, as the `<` of a query does.
    pub to: Bound<Value>,
    /// Largest first.
    pub descending: bool,
    /// At most this many.
    pub limit: usize,
    /// Of these, only the entries that pass.
    pub filter: Option<EntryFilter>,
    /// Asked from time to time: once it says so, what was read so far is all that is found.
    pub stop: Option<Stop>,
}

/// True once nobody wants any more of what is read. It says nothing of which entries those are, so
/// that any two are equal.
#[derive(Debug, Clone, Copy)]
pub struct Stop(pub fn() -> bool);

impl PartialEq for Stop {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Stop {}

impl Hash for Stop {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Default for IndexRange {
    /// Everything in the index.
    fn default() -> Self {
        Self {
            prefix: Vec::new(),
            from: Bound::Unbounded,
            to: Bound::Unbounded,
            descending: false,
            limit: usize::MAX,
            filter: None,
            stop: None,
        }
    }
}

impl IndexRange {
    /// The entries whose leading properties have these values.
    #[must_use]
    pub fn equal(prefix: &[Value]) -> Self {
        Self { prefix: prefix.to_vec(), ..Self::default() }
    }

    /// The entries whose first property lies between these bounds.
    #[must_use]
    pub fn between(from: Bound<Value>, to: Bound<Value>) -> Self {
        Self { from, to, ..Self::default() }
    }

    /// The entries that pass.
    #[must_use]
    pub fn filtered(filter: EntryFilter) -> Self {
        Self { filter: Some(filter), ..Self::default() }
    }
}

/// Why an index cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IndexUnavailable {
    /// It was never made, or dropped.
    #[error("index number {0} does not exist")]
    Unknown(IndexId),
    /// It is still being built. A scan finds the same.
    #[error("index number {0} is still being built")]
    NotReady(IndexId),
    /// What the store holds of it is not what was written. A scan finds what it should have found.
    #[error("index number {0} is damaged in the store; `telar check` says where")]
    Damaged(IndexId),
    /// Edges were asked of an index on vertices, vertices of one on edges, either of a constraint
    /// that keeps no entries, or what an index of this kind does not serve.
    #[error("index number {0} holds no entries of this kind")]
    WrongKind(IndexId),
    /// More values were given than the index has properties, or fewer where all are needed.
    #[error("index number {index} has {properties} properties; another number of values was given")]
    WrongNumberOfValues {
        /// The index.
        index: IndexId,
        /// How many properties it has.
        properties: usize,
    },
}
