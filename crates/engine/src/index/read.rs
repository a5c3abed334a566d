//! Lookups and ranges at a snapshot.

use std::ops::{Bound, ControlFlow};
use std::sync::Arc;

use smallvec::SmallVec;
use telar_graph::order::OrderRank;
use telar_graph::{EdgeId, EdgeTypeId, IndexId, IndexRange, IndexUnavailable, Value, VertexId};
use telar_graph::{LabelId, sortkey};

use super::key::{Item, SortKey};
use super::source::{Source, edge_id};
use super::spec::IndexTarget;
use super::tree::Tree;
use super::{Entries, Index};
use crate::history::past::Past;
use crate::history::past_index::PastIndex;
use crate::snapshot::Reader;
use crate::txn::validate::vertex_id;

/// Lookups of a batch whose slots are on their way while one is answered.
const LOOKUPS_AHEAD: usize = 12;

/// A range of keys that a serializable transaction read.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct IndexRead {
    pub(crate) index: IndexId,
    pub(crate) from: SortKey,
    pub(crate) to: Option<SortKey>,
    /// The only key in the range, if all of its values were given.
    pub(crate) point: Option<SortKey>,
}

/// A range in keys: from a bound on, and below another.
#[derive(Debug, Clone)]
pub(crate) struct KeyRange {
    pub(crate) from: SortKey,
    pub(crate) to: Option<SortKey>,
    pub(crate) point: Option<SortKey>,
}

impl KeyRange {
    /// The keys of an index that lie in `range`.
    pub(crate) fn new(index: &Index, range: &IndexRange) -> Result<Self, IndexUnavailable> {
        let properties = index.definition.properties.len();
        let bounded = range.from != Bound::Unbounded || range.to != Bound::Unbounded;
        if range.prefix.len() + usize::from(bounded) > properties {
            return Err(IndexUnavailable::WrongNumberOfValues { index: index.id, properties });
        }
        let mut prefix = Vec::new();
        range.prefix.iter().for_each(|v| sortkey::encode(v, &mut prefix));
        let with = |value: &Value| {
            let mut bytes = prefix.clone();
            sortkey::encode(value, &mut bytes);
            bytes
        };
        // An open side ends with the type of the other.
        let rank = |side: &Bound<Value>| match side {
            Bound::Included(v) | Bound::Excluded(v) => {
                let mut bytes = prefix.clone();
                bytes.push(sortkey::tag(OrderRank::of(v)));
                Some(bytes)
            }
            Bound::Unbounded => None,
        };
        let from = match &range.from {
            Bound::Included(v) => Some(with(v)),
            Bound::Excluded(v) => sortkey::after_prefix(with(v)),
            Bound::Unbounded => Some(rank(&range.to).unwrap_or_else(|| prefix.clone())),
        };
        let to = match &range.to {
            Bound::Included(v) => sortkey::after_prefix(with(v)),
            Bound::Excluded(v) => Some(with(v)),
            Bound::Unbounded => {
                sortkey::after_prefix(rank(&range.from).unwrap_or_else(|| prefix.clone()))
            }
        };
        let whole = range.prefix.len() == properties;
        Ok(Self {
            from: from.map_or(SortKey::MIN, |b| SortKey::from_bytes(&b)),
            to: to.map(|b| SortKey::from_bytes(&b)),
            point: whole.then(|| SortKey::from_bytes(&prefix)),
        })
    }

    pub(crate) fn contains(&self, key: &SortKey) -> bool {
        *key >= self.from && self.to.as_ref().is_none_or(|to| key < to)
    }
}

/// Whether a value has the key of `wanted`, which is `key`.
#[inline]
fn is_same(found: &Value, wanted: &Value, key: &SortKey) -> bool {
    match (found, wanted) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        _ => SortKey::of(std::slice::from_ref(found)).as_ref() == Some(key),
    }
}

impl Index {
    fn label(&self) -> Result<LabelId, IndexUnavailable> {
        match self.definition.target {
            IndexTarget::Vertices(label) => Ok(label),
            IndexTarget::Edges(_) => Err(IndexUnavailable::WrongKind(self.id)),
        }
    }

    /// The tree of an index on vertices.
    pub(crate) fn vertices(&self) -> Result<&Tree<1>, IndexUnavailable> {
        match self.entries() {
            Entries::Vertices(tree) => Ok(tree),
            _ => Err(IndexUnavailable::WrongKind(self.id)),
        }
    }

    /// The tree and the edge type of an index on edges.
    pub(crate) fn edges(&self) -> Result<(&Tree<3>, EdgeTypeId), IndexUnavailable> {
        match (self.entries(), self.definition.target) {
            (Entries::Edges(tree), IndexTarget::Edges(ty)) => Ok((tree, ty)),
            _ => Err(IndexUnavailable::WrongKind(self.id)),
        }
    }
}

impl Reader<'_> {
    /// An index that can be read at this snapshot.
    #[inline]
    pub(crate) fn index(&self, id: IndexId) -> Result<&Index, IndexUnavailable> {
        let index = match self.past {
            None => self.shared.indexes.readable(id, self.read_ts, &self.guard)?,
            // What it lacks, the snapshot makes up for.
            Some(_) => self.shared.indexes.built(id, &self.guard)?,
        };
        if !index.is_loaded() {
            self.load(index)?;
        }
        Ok(index)
    }

    #[cold]
    fn load(&self, index: &Index) -> Result<(), IndexUnavailable> {
        let gone = || self.shared.indexes.find(index.id).is_none();
        index.load(self.shared).map_err(|_| match gone() {
            true => IndexUnavailable::Unknown(index.id),
            false => IndexUnavailable::Damaged(index.id),
        })
    }

    /// Where the values of indexed objects are, at this snapshot.
    fn source(&self) -> Source<'_> {
        Source { past: self.past, ..Source::new(self.shared, &self.guard) }
    }

    /// A copy of the index as it was.
    fn past_index(&self, past: &Past, index: &Index) -> Arc<PastIndex> {
        let bound = self.shared.vertex_bound();
        past.index(index.id, || PastIndex::make(index, &self.source(), bound, self.read_ts))
    }

    /// The vertices whose indexed properties have exactly these values, ascending; of fewer values
    /// than the index has properties, those that begin with them, in the order of the index.
    ///
    /// # Errors
    /// [`IndexUnavailable`].
    pub fn index_lookup(
        &self,
        index: IndexId,
        values: &[Value],
    ) -> Result<Vec<VertexId>, IndexUnavailable> {
        let index = self.index(index)?;
        let mut found = Vec::new();
        if values.len() == index.definition.properties.len() {
            let items = self.vertices_of(index, index.vertices()?, values)?;
            found.extend(items.iter().map(|v| vertex_id(*v)));
        } else {
            let range = KeyRange::new(index, &IndexRange::equal(values))?;
            self.items_in(index, index.vertices()?, &range, (false, usize::MAX), |_, [v]| {
                found.push(vertex_id(v));
            });
        }
        Ok(found)
    }

    /// The vertex that has this key of a unique constraint; of an index that is not unique, the
    /// first of those with the key.
    ///
    /// # Errors
    /// [`IndexUnavailable`].
    #[inline]
    pub fn index_find(
        &self,
        index: IndexId,
        values: &[Value],
    ) -> Result<Option<VertexId>, IndexUnavailable> {
        let index = self.index(index)?;
        let properties = index.definition.properties.len();
        if values.len() != properties {
            return Err(IndexUnavailable::WrongNumberOfValues { index: index.id, properties });
        }
        let found = self.vertices_of(index, index.vertices()?, values)?;
        Ok(found.first().map(|v| vertex_id(*v)))
    }

    /// The edges whose indexed properties have, or begin with, these values.
    ///
    /// # Errors
    /// [`IndexUnavailable`].
    pub fn index_lookup_edges(
        &self,
        index: IndexId,
        values: &[Value],
    ) -> Result<Vec<EdgeId>, IndexUnavailable> {
        let mut found = Vec::new();
        let index = self.index(index)?;
        let (tree, ty) = index.edges()?;
        let range = KeyRange::new(index, &IndexRange::equal(values))?;
        self.items_in(index, tree, &range, (false, usize::MAX), |_, item| {
            found.push(edge_id(ty, item));
        });
        Ok(found)
    }

    /// The vertices in a range of an index, in its order.
    ///
    /// # Errors
    /// [`IndexUnavailable`].
    pub fn index_range(
        &self,
        index: IndexId,
        range: &IndexRange,
    ) -> Result<Vec<VertexId>, IndexUnavailable> {
        let mut found = Vec::new();
        let index = self.index(index)?;
        let keys = KeyRange::new(index, range)?;
        let how = (range.descending, range.limit);
        self.items_in(index, index.vertices()?, &keys, how, |_, [v]| found.push(vertex_id(v)));
        Ok(found)
    }

    /// The edges in a range of an index, in its order.
    ///
    /// # Errors
    /// [`IndexUnavailable`].
    pub fn index_range_edges(
        &self,
        index: IndexId,
        range: &IndexRange,
    ) -> Result<Vec<EdgeId>, IndexUnavailable> {
        let mut found = Vec::new();
        let index = self.index(index)?;
        let (tree, ty) = index.edges()?;
        let keys = KeyRange::new(index, range)?;
        let how = (range.descending, range.limit);
        self.items_in(index, tree, &keys, how, |_, item| found.push(edge_id(ty, item)));
        Ok(found)
    }

    /// The vertices with one key, ascending.
    #[inline]
    pub(crate) fn vertices_of(
        &self,
        index: &Index,
        tree: &Tree<1>,
        values: &[Value],
    ) -> Result<SmallVec<[u32; 4]>, IndexUnavailable> {
        let label = index.label()?;
        let mut found: SmallVec<[u32; 4]> = SmallVec::new();
        let Some(key) = SortKey::of(values) else { return Ok(found) };
        if let Some(past) = self.past
            && !index.is_complete_at(self.read_ts)
        {
            found.extend(self.past_index(past, index).vertices(&key));
            return Ok(found);
        }
        let source = self.source();
        let properties = &index.definition.properties;
        let has_key = |v| match (&properties[..], values) {
            // PERF: telar bench index: two words compare, where a key would be made first.
            ([property], [value]) => {
                source.has_label(
                    &index.holders,
                    label,
                    source.states.get(v, self.read_ts, &self.guard),
                ) && is_same(&source.vertex_value(v, *property, self.read_ts), value, &key)
            }
            _ => {
                let now = source.vertex_key(label, &index.holders, properties, v, self.read_ts);
                now.as_ref() == Some(&key)
            }
        };
        if let Some(front) = index.front() {
            // Unique at every snapshot: the first is the only one.
            front.find(&key, &self.guard, |v| {
                if !has_key(v) {
                    return ControlFlow::Continue(());
                }
                found.push(v);
                ControlFlow::Break(())
            });
            return Ok(self.made_up_for(index, &key, found));
        }
        tree.for_key(&key, &self.guard, |[v]| {
            if has_key(v) {
                found.push(v);
            }
        });
        if found.len() > 1 {
            found.sort_unstable();
            found.dedup();
        }
        Ok(self.made_up_for(index, &key, found))
    }

    /// What was found, unless something was dropped meanwhile that a past snapshot wants.
    #[inline]
    fn made_up_for(
        &self,
        index: &Index,
        key: &SortKey,
        mut found: SmallVec<[u32; 4]>,
    ) -> SmallVec<[u32; 4]> {
        if let Some(past) = self.past
            && !index.is_complete_at(self.read_ts)
        {
            found.clear();
            found.extend(self.past_index(past, index).vertices(key));
        }
        found
    }

    /// Calls `f` with what is in a range at this snapshot, in order, or descending, up to a limit.
    pub(crate) fn items_in<const N: usize>(
        &self,
        index: &Index,
        tree: &Tree<N>,
        range: &KeyRange,
        (descending, limit): (bool, usize),
        mut f: impl FnMut(&SortKey, Item<N>),
    ) {
        let objects = index.objects(self.shared, &self.guard);
        let mut left = limit;
        if left == 0 {
            return;
        }
        if let Some(past) = self.past {
            // One entry of a tree may be dropped while another is read: a copy has them all.
            let copy = self.past_index(past, index);
            let entries = copy.range(range);
            let mut give = |(key, item): &(SortKey, Item<3>)| {
                let mut of_kind = [0; N];
                of_kind.copy_from_slice(&item[..N]);
                f(key, of_kind);
            };
            if descending {
                entries.iter().rev().take(limit).for_each(&mut give);
            } else {
                entries.iter().take(limit).for_each(&mut give);
            }
            return;
        }
        let (from, to) = (&range.from, range.to.as_ref());
        tree.for_range(from, to, descending, &self.guard, |key, item| {
            if objects.has_key(key, &item, self.read_ts) {
                f(key, item);
                left -= 1;
            }
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }

    /// For [`View::lookup_vertices`](telar_graph::View::lookup_vertices).
    pub(crate) fn lookup_batch(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), IndexUnavailable> {
        let index = self.index(index)?;
        let tree = index.vertices()?;
        let properties = index.definition.properties.len();
        if !keys.len().is_multiple_of(properties) {
            return Err(IndexUnavailable::WrongNumberOfValues { index: index.id, properties });
        }
        for (place, values) in keys.chunks(properties).enumerate() {
            let ahead = keys.chunks(properties).nth(place + LOOKUPS_AHEAD);
            if let (Some(front), Some(key)) = (index.front(), ahead.and_then(SortKey::of)) {
                front.prefetch(&key, &self.guard);
            }
            for v in self.vertices_of(index, tree, values)? {
                out.push((place as u32, vertex_id(v)));
            }
        }
        Ok(())
    }
}
