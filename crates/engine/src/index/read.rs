//! Ranges of keys, and what kind of index they are looked up in.

use std::ops::Bound;

use telar_graph::order::OrderRank;
use telar_graph::{
    EdgeTypeId, IndexId, IndexRange, IndexUnavailable, LabelId, Stop, Value, sortkey,
};

use super::filter::KeyFilter;
use super::key::SortKey;
use super::spec::IndexTarget;
use super::tree::Tree;
use super::{Entries, Index, kind};

/// A range of keys that a serializable transaction read.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexRead {
    pub(crate) index: IndexId,
    pub(crate) range: KeyRange,
}

/// A range in keys: from a bound on, and below another; of these, those that pass.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyRange {
    pub(crate) from: SortKey,
    pub(crate) to: Option<SortKey>,
    /// The only key in the range, if all of its values were given.
    pub(crate) point: Option<SortKey>,
    pub(crate) filter: Option<KeyFilter>,
    pub(crate) stop: Option<Stop>,
}

impl KeyRange {
    /// The keys of an index that lie in `range`.
    pub(crate) fn new(index: &Index, range: &IndexRange) -> Result<Self, IndexUnavailable> {
        let properties = index.definition.properties.len();
        let bounded = range.from != Bound::Unbounded || range.to != Bound::Unbounded;
        if range.prefix.len() + usize::from(bounded) > properties {
            return Err(IndexUnavailable::WrongNumberOfValues { index: index.id, properties });
        }
        let wrong = IndexUnavailable::WrongKind(index.id);
        let kind = index.definition.kind.index().ok_or(wrong)?;
        kind::range(kind, properties, range).ok_or(wrong)
    }

    /// The keys of an index of so many properties that is sorted by value; of these, those that
    /// pass the filter.
    pub(super) fn sorted(properties: usize, range: &IndexRange, filter: Option<KeyFilter>) -> Self {
        let mut prefix = Vec::new();
        range.prefix.iter().for_each(|v| sortkey::encode(v, &mut prefix));
        let with = |value: &Value| {
            let mut bytes = prefix.clone();
            sortkey::encode(value, &mut bytes);
            bytes
        };
        // An open side ends with the type of the other.
        let rank = |side: &Bound<Value>, ends: fn(OrderRank) -> Vec<u8>| match side {
            Bound::Included(v) | Bound::Excluded(v) => {
                Some([prefix.clone(), ends(OrderRank::of(v))].concat())
            }
            Bound::Unbounded => None,
        };
        let from = match &range.from {
            Bound::Included(v) => Some(with(v)),
            Bound::Excluded(v) => sortkey::after_prefix(with(v)),
            Bound::Unbounded => {
                Some(rank(&range.to, sortkey::first).unwrap_or_else(|| prefix.clone()))
            }
        };
        let to = match &range.to {
            Bound::Included(v) => sortkey::after_prefix(with(v)),
            Bound::Excluded(v) => Some(with(v)),
            Bound::Unbounded => match rank(&range.from, sortkey::end) {
                Some(end) => Some(end),
                None => sortkey::after_prefix(prefix.clone()),
            },
        };
        let whole = range.prefix.len() == properties;
        Self {
            from: from.map_or(SortKey::MIN, |b| SortKey::from_bytes(&b)),
            to: to.map(|b| SortKey::from_bytes(&b)),
            point: whole.then(|| SortKey::from_bytes(&prefix)),
            filter,
            stop: range.stop,
        }
    }

    /// Every key.
    pub(crate) fn everything() -> Self {
        Self { from: SortKey::MIN, to: None, point: None, filter: None, stop: None }
    }

    /// No keys.
    pub(super) fn nothing() -> Self {
        Self { from: SortKey::MIN, to: Some(SortKey::MIN), point: None, filter: None, stop: None }
    }

    /// A question that is asked of each key, and answered from time to time.
    pub(crate) fn stops(&self) -> impl FnMut() -> bool + use<> {
        /// Keys that are read in some hundred microseconds.
        const KEYS: u32 = 1 << 12;
        let (stop, mut keys) = (self.stop, 0_u32);
        move || {
            keys = keys.wrapping_add(1);
            keys.is_multiple_of(KEYS) && stop.is_some_and(|Stop(stop)| stop())
        }
    }

    /// Whether a key of the range is one of those that are wanted.
    #[inline]
    pub(crate) fn passes(&self, key: &SortKey) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.passes(key))
    }

    pub(crate) fn contains(&self, key: &SortKey) -> bool {
        *key >= self.from && self.to.as_ref().is_none_or(|to| key < to)
    }
}

impl Index {
    /// The label of an index on vertices.
    pub(crate) fn label(&self) -> Result<LabelId, IndexUnavailable> {
        match self.definition.target {
            IndexTarget::Vertices(label) if self.definition.kind.has_entries() => Ok(label),
            _ => Err(IndexUnavailable::WrongKind(self.id)),
        }
    }

    /// The edge type of an index on edges.
    pub(crate) fn edge_type(&self) -> Result<EdgeTypeId, IndexUnavailable> {
        match self.definition.target {
            IndexTarget::Edges(ty) if self.definition.kind.has_entries() => Ok(ty),
            _ => Err(IndexUnavailable::WrongKind(self.id)),
        }
    }

    /// The tree. The index has been loaded.
    pub(crate) fn tree<const N: usize>(&self) -> Result<&Tree<N>, IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        self.entries().tree().ok_or(IndexUnavailable::WrongKind(self.id))
    }
}

/// The tree of entries with items of `N` words, if they are of that kind.
pub(crate) trait TreeOf<const N: usize> {
    fn tree(&self) -> Option<&Tree<N>>;
}

impl TreeOf<1> for Entries {
    fn tree(&self) -> Option<&Tree<1>> {
        if let Self::Vertices(tree) = self { Some(tree) } else { None }
    }
}

impl TreeOf<3> for Entries {
    fn tree(&self) -> Option<&Tree<3>> {
        if let Self::Edges(tree) = self { Some(tree) } else { None }
    }
}
