//! Lookups and ranges at a snapshot.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::Arc;

use smallvec::SmallVec;
use telar_graph::{EdgeId, IndexId, IndexRange, IndexUnavailable, Value, VertexId};

use super::{Past, Reader};
use crate::adjacency::vertex_id;
use crate::index::cold::Stopped;
use crate::index::key::{Entry, Item, SortKey};
use crate::index::past::PastIndex;
use crate::index::read::{KeyRange, TreeOf};
use crate::index::source::Source;
use crate::index::{Entries, Index};

/// Lookups of a batch whose slots are on their way while one is answered.
const LOOKUPS_AHEAD: usize = 12;

/// True if a value has the key of `wanted`, which is `key`.
#[inline]
fn is_same(found: &Value, wanted: &Value, key: &SortKey) -> bool {
    match (found, wanted) {
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::String(a), Value::String(b)) => a == b,
        // Of points that share a code, one is meant.
        (Value::Point(a), Value::Point(b)) => a == b,
        (_, Value::Point(_)) => false,
        _ => SortKey::of(std::slice::from_ref(found)).as_ref() == Some(key),
    }
}

impl Reader<'_> {
    /// An index that can be read at this snapshot; it may not be loaded.
    #[inline]
    pub(crate) fn index(&self, id: IndexId) -> Result<&Index, IndexUnavailable> {
        match self.past {
            None => self.shared.indexes.readable(id, self.read_ts, &self.guard),
            // What it lacks, the snapshot makes up for.
            Some(_) => self.shared.indexes.built(id, &self.guard),
        }
    }

    #[cold]
    pub(super) fn load(&self, index: &Index) -> Result<(), IndexUnavailable> {
        let gone = || self.shared.indexes.find(index.id).is_none();
        self.shared.indexes.load(index, self.shared).map_err(|_| match gone() {
            true => IndexUnavailable::Unknown(index.id),
            false => IndexUnavailable::Damaged(index.id),
        })
    }

    /// Collects entries from `from` on, for as long as `is_wanted` says so, of an index that is not
    /// in memory, where they are stored. `None` if it is in memory now.
    #[cold]
    pub(super) fn read_stored<const N: usize>(
        &self,
        index: &Index,
        from: &SortKey,
        mut is_wanted: impl FnMut(&SortKey, &Item<N>, &mut Vec<Entry<N>>) -> ControlFlow<()>,
    ) -> Result<Option<Vec<Entry<N>>>, IndexUnavailable> {
        let mut found = Vec::new();
        let read = match &self.shared.stored {
            // A copy of the past is made of everything there is.
            Some(stored) if self.past.is_none() => {
                index.read_stored(stored, from, |key, item| is_wanted(key, &item, &mut found))
            }
            _ => Err(Stopped::TooLong),
        };
        match read {
            // Written to meanwhile, it may have lost what this snapshot wants.
            _ if index.is_loaded() => Ok(None),
            Ok(()) => Ok(Some(found)),
            Err(Stopped::TooLong) => self.load(index).map(|()| None),
            Err(Stopped::Damaged) => Err(IndexUnavailable::Damaged(index.id)),
        }
    }

    /// Where the values of indexed objects are, at this snapshot.
    pub(super) fn source(&self) -> Source<'_> {
        Source { past: self.past.map(|past| &past.tables), ..Source::new(self.shared, &self.guard) }
    }

    /// A copy of the index as it was.
    pub(super) fn past_index(&self, past: &Past, index: &Index) -> Arc<PastIndex> {
        let bound = self.shared.vertex_bound();
        past.indexes.get(index.id, || PastIndex::make(index, &self.source(), bound, self.read_ts))
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
            let items = self.vertices_of(index, values)?;
            found.extend(items.iter().map(|v| vertex_id(*v)));
        } else {
            let range = KeyRange::new(index, &IndexRange::equal(values))?;
            self.items_in(index, &range, (false, usize::MAX), |_, [v]| found.push(vertex_id(v)))?;
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
        let found = self.vertices_of(index, values)?;
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
        let ty = index.edge_type()?;
        let range = KeyRange::new(index, &IndexRange::equal(values))?;
        let source = Source::new(self.shared, &self.guard);
        self.items_in(index, &range, (false, usize::MAX), |_, item| {
            found.push(source.edge_id(ty, item));
        })?;
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
        self.items_in(index, &keys, how, |_, [v]| found.push(vertex_id(v)))?;
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
        let ty = index.edge_type()?;
        let keys = KeyRange::new(index, range)?;
        let how = (range.descending, range.limit);
        let source = Source::new(self.shared, &self.guard);
        self.items_in(index, &keys, how, |_, item| found.push(source.edge_id(ty, item)))?;
        Ok(found)
    }

    /// The vertices with one key, ascending.
    #[inline]
    pub(crate) fn vertices_of(
        &self,
        index: &Index,
        values: &[Value],
    ) -> Result<SmallVec<[u32; 4]>, IndexUnavailable> {
        let label = index.label()?;
        let mut found: SmallVec<[u32; 4]> = SmallVec::new();
        let Some(key) = index.definition.key_of_values(values) else { return Ok(found) };
        let mut stored = None;
        if !index.is_loaded() {
            stored = self.read_stored(index, &key, |at, item: &Item<1>, found| {
                if *at != key {
                    return ControlFlow::Break(());
                }
                found.push((key.clone(), *item));
                ControlFlow::Continue(())
            })?;
        }
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
                let now =
                    source.vertex_key(label, &index.holders, &index.definition, v, self.read_ts);
                now.as_ref() == Some(&key)
            }
        };
        if let Some(stored) = stored {
            found.extend(stored.into_iter().map(|(_, [v])| v).filter(|v| has_key(*v)));
            return Ok(found);
        }
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
        index.tree()?.for_key(&key, &self.guard, |[v]| {
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
        range: &KeyRange,
        (descending, limit): (bool, usize),
        mut f: impl FnMut(&SortKey, Item<N>),
    ) -> Result<(), IndexUnavailable>
    where
        Entries: TreeOf<N>,
    {
        let mut left = limit;
        if left == 0 {
            return Ok(());
        }
        let (from, to) = (&range.from, range.to.as_ref());
        let (mut stops, mut stopped) = (range.stops(), false);
        if !index.is_loaded() {
            // Links lead to the right only.
            if descending {
                self.load(index)?;
            }
            let objects = index.objects_stored(self.shared, &self.guard);
            let stored = self.read_stored(index, from, |key, item, found| {
                if to.is_some_and(|to| key >= to) || stops() {
                    return ControlFlow::Break(());
                }
                if range.passes(key) && objects.has_key(key, item, self.read_ts) {
                    found.push((key.clone(), *item));
                }
                if found.len() < limit { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            })?;
            if let Some(found) = stored {
                found.into_iter().for_each(|(key, item)| f(&key, item));
                return Ok(());
            }
        }
        let tree = index.tree()?;
        let objects = index.objects(self.shared, &self.guard);
        if let Some(past) = self.past {
            // One entry of a tree may be dropped while another is read: a copy has them all.
            let copy = self.past_index(past, index);
            let entries = copy.range(range).iter().filter(|(key, _)| range.passes(key));
            let mut give = |(key, item): &(SortKey, Item<3>)| {
                let mut of_kind = [0; N];
                of_kind.copy_from_slice(&item[..N]);
                f(key, of_kind);
            };
            if descending {
                entries.rev().take(limit).for_each(&mut give);
            } else {
                entries.take(limit).for_each(&mut give);
            }
            return Ok(());
        }
        let mut from = Cow::Borrowed(from);
        loop {
            let (mut skips, mut skipped) = (range.skips(descending), None);
            tree.for_range(&from, to, descending, &self.guard, |key, item| {
                if stops() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
                if !range.passes(key) {
                    skipped = skips.after(key);
                    return match skipped {
                        None => ControlFlow::Continue(()),
                        Some(_) => ControlFlow::Break(()),
                    };
                }
                skips.reset();
                if objects.has_key(key, &item, self.read_ts) {
                    f(key, item);
                    left -= 1;
                }
                if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            match skipped {
                Some(next) if left > 0 && !stopped => from = Cow::Owned(next),
                _ => return Ok(()),
            }
        }
    }

    /// For [`View::lookup_vertices`](telar_graph::View::lookup_vertices).
    pub(crate) fn lookup_batch(
        &self,
        index: IndexId,
        keys: &[Value],
        out: &mut Vec<(u32, VertexId)>,
    ) -> Result<(), IndexUnavailable> {
        let index = self.index(index)?;
        let properties = index.definition.properties.len();
        if !keys.len().is_multiple_of(properties) {
            return Err(IndexUnavailable::WrongNumberOfValues { index: index.id, properties });
        }
        for (place, values) in keys.chunks(properties).enumerate() {
            let ahead = keys.chunks(properties).nth(place + LOOKUPS_AHEAD);
            if index.is_loaded()
                && let (Some(front), Some(key)) = (index.front(), ahead.and_then(SortKey::of))
            {
                front.prefetch(&key, &self.guard);
            }
            for v in self.vertices_of(index, values)? {
                out.push((place as u32, vertex_id(v)));
            }
        }
        Ok(())
    }
}
