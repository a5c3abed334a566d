//! What an index is made of: keys of vertices and edges at a timestamp.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crossbeam_epoch::Guard;
use telar_graph::{Direction, EdgeId, EdgeTypeId, LabelId, PropertyKeyId, Value};
use telar_text::key::Fingerprint;

use super::Index;
use super::front::Front;
use super::key::{Item, SortKey};
use super::spec::{Definition, IndexTarget, Keys};
use super::tree::Upkeep;
use crate::adjacency::scan::TableView;
use crate::adjacency::{AdjTable, COL_ORDINAL, local_of, segment_of, vertex_id};
use crate::catalog::{Catalog, LabelSets};
use crate::column::{Chunk, ColTable, PropertyChunk, StateChunk};
use crate::error::Object;
use crate::graph::Graph;
use crate::history::past::Past;
use crate::table::GrowArray;

/// The read timestamp that sees everything applied.
pub(crate) const NOW: u64 = u64::MAX;

/// Which label sets hold a label, found out once per set.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    known: GrowArray<AtomicU8>,
    /// Sets with one of these labels do not count.
    except: Box<[LabelId]>,
}

const HOLDS_NOT: u8 = 1;
const HOLDS: u8 = 2;

impl Holders {
    pub(crate) fn new(except: &[LabelId]) -> Self {
        Self { known: GrowArray::default(), except: except.into() }
    }

    /// True if vertices with these labels are those of `label`.
    fn are_held(&self, label: LabelId, labels: &[LabelId]) -> bool {
        labels.contains(&label) && !self.except.iter().any(|other| labels.contains(other))
    }

    /// Whether vertices in `state` have `label`, always the same one.
    #[inline]
    fn has(&self, state: u32, label: LabelId, sets: &LabelSets) -> bool {
        let known = self.known.get_or_grow(state);
        match known.load(Ordering::Relaxed) {
            0 => {
                let holds = state != 0 && self.are_held(label, &sets.labels(state));
                known.store(if holds { HOLDS } else { HOLDS_NOT }, Ordering::Relaxed);
                holds
            }
            holds => holds == HOLDS,
        }
    }
}

/// An edge as an item: where its properties are, which is its ordinal if it has one, and its ends.
pub(crate) fn edge_item(src: u32, dst: u32, place: u32) -> Item<3> {
    [place, src, dst]
}

/// The edge of an item, which has its ordinal.
pub(crate) fn numbered_edge(ty: EdgeTypeId, [ordinal, src, dst]: Item<3>) -> EdgeId {
    EdgeId { ty, src: vertex_id(src), dst: vertex_id(dst), ordinal }
}

fn newest<C: Chunk + 'static>(column: Option<&ColTable<C>>, index: u32, guard: &Guard) -> u64 {
    let segment = column.and_then(|c| c.segment(segment_of(index)));
    segment.map_or(0, |s| s.newest_ts(local_of(index), guard))
}

/// Where the values of indexed objects are.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) states: &'a ColTable<StateChunk>,
    /// Lists as they were, for a snapshot of the past.
    pub(crate) past: Option<&'a Past>,
    pub(crate) guard: &'a Guard,
}

impl<'a> Source<'a> {
    pub(crate) fn new(graph: &'a Graph, guard: &'a Guard) -> Self {
        Self { catalog: &graph.catalog, states: &graph.states, past: None, guard }
    }

    /// The lists of `vertices` in a table at a timestamp.
    fn lists(
        &self,
        table: &'a AdjTable,
        mut vertices: std::ops::Range<u32>,
        ts: u64,
    ) -> TableView<'a> {
        match self.past {
            None => TableView::new(table, ts, self.guard),
            Some(past) if vertices.len() == 1 => {
                past.view_of(table, vertices.by_ref(), ts, self.guard)
            }
            Some(past) => past.view(table, ts, self.guard),
        }
    }

    /// Whether vertices in `state` are what the index is about.
    #[inline]
    pub(crate) fn has_label(&self, holders: &Holders, label: LabelId, state: u32) -> bool {
        holders.has(state, label, &self.catalog.label_sets)
    }

    /// A vertex property, whether or not the vertex exists.
    #[inline]
    pub(crate) fn vertex_value(&self, v: u32, key: PropertyKeyId, ts: u64) -> Value {
        self.catalog.vertex_column(key).map_or(Value::Null, |c| c.get(v, ts, self.guard))
    }

    /// The edge of an item.
    pub(crate) fn edge_id(&self, ty: EdgeTypeId, [place, src, dst]: Item<3>) -> EdgeId {
        let of = self.catalog.edge_type(ty).ok();
        let ordinal = of.map_or(place, |ty| ty.ordinal_of(src, dst, place, self.guard));
        numbered_edge(ty, [ordinal, src, dst])
    }

    /// Place of the properties of an edge; 0 if it never had any.
    pub(crate) fn place(&self, ty: EdgeTypeId, src: u32, dst: u32, ordinal: u32) -> u32 {
        let of = self.catalog.edge_type(ty).ok();
        of.map_or(ordinal, |ty| ty.place(src, dst, ordinal, self.guard))
    }

    fn edge_column(
        &self,
        ty: EdgeTypeId,
        key: PropertyKeyId,
    ) -> Option<&'a ColTable<PropertyChunk>> {
        self.catalog.edge_type(ty).ok()?.column(key)
    }

    /// A property of the edge whose properties are at `place`, whether or not the edge exists.
    pub(crate) fn edge_value(
        &self,
        ty: EdgeTypeId,
        place: u32,
        key: PropertyKeyId,
        ts: u64,
    ) -> Value {
        let column = self.edge_column(ty, key).filter(|_| place != 0);
        column.map_or(Value::Null, |c| c.get(place, ts, self.guard))
    }

    /// Whether exactly this edge exists.
    pub(crate) fn edge_exists(&self, ty: EdgeTypeId, [place, src, dst]: Item<3>, ts: u64) -> bool {
        let Ok(ty) = self.catalog.edge_type(ty) else { return false };
        let ordinal = ty.ordinal_of(src, dst, place, self.guard);
        let view = self.lists(ty.table(Direction::Out), src..src.saturating_add(1), ts);
        view.with_list_of(src, dst, |list| list.find_ordinal(dst, ordinal).is_some())
    }

    /// The keys of a vertex at a timestamp; none if it is not in the index.
    #[inline]
    pub(crate) fn vertex_keys(
        &self,
        label: LabelId,
        holders: &Holders,
        definition: &Definition,
        v: u32,
        ts: u64,
    ) -> Keys {
        if !self.has_label(holders, label, self.states.get(v, ts, self.guard)) {
            return Keys::new();
        }
        definition.keys(|key| self.vertex_value(v, key, ts))
    }

    /// The keys that an edge has at a timestamp if it exists.
    pub(crate) fn edge_keys(
        &self,
        ty: EdgeTypeId,
        definition: &Definition,
        place: u32,
        ts: u64,
    ) -> Keys {
        definition.keys(|key| self.edge_value(ty, place, key, ts))
    }

    /// The key of a vertex at a timestamp; `None` if it is not in the index.
    #[inline]
    pub(crate) fn vertex_key(
        &self,
        label: LabelId,
        holders: &Holders,
        definition: &Definition,
        v: u32,
        ts: u64,
    ) -> Option<SortKey> {
        if !self.has_label(holders, label, self.states.get(v, ts, self.guard)) {
            return None;
        }
        definition.key(|key| self.vertex_value(v, key, ts))
    }
}

/// Reads of one index's objects.
pub(crate) struct Objects<'a> {
    pub(crate) source: Source<'a>,
    pub(crate) definition: &'a Definition,
    pub(crate) holders: &'a Holders,
    pub(crate) front: Option<&'a Front>,
    /// Timestamp from which on nothing was dropped.
    pub(crate) complete_from: &'a AtomicU64,
    pub(crate) graph: &'a Graph,
}

impl Index {
    /// Whether vertices in `state` have the label the index is about.
    pub(crate) fn has_label(&self, source: &Source<'_>, label: LabelId, state: u32) -> bool {
        source.has_label(&self.holders, label, state)
    }
}

impl Objects<'_> {
    /// Whether an entry holds at a timestamp: the object exists and has this key.
    #[inline]
    pub(crate) fn has_key<const N: usize>(&self, key: &SortKey, item: &Item<N>, ts: u64) -> bool {
        self.is_there(item, ts, |value| self.definition.has_key(value, key))
    }

    /// True if an object exists at a timestamp and has this version of the text of a field.
    pub(crate) fn has_version<const N: usize>(
        &self,
        version: (u8, Fingerprint),
        item: &Item<N>,
        ts: u64,
    ) -> bool {
        self.is_there(item, ts, |value| self.definition.has_version(value, version))
    }

    /// True if an object exists at a timestamp, is what the index is about, and has values that
    /// pass.
    #[inline]
    fn is_there<const N: usize>(
        &self,
        item: &Item<N>,
        ts: u64,
        passes: impl FnOnce(&dyn Fn(PropertyKeyId) -> Value) -> bool,
    ) -> bool {
        let source = &self.source;
        match (self.definition.target, &item[..]) {
            (IndexTarget::Vertices(label), &[v, ..]) => {
                source.has_label(self.holders, label, source.states.get(v, ts, source.guard))
                    && passes(&|property| source.vertex_value(v, property, ts))
            }
            (IndexTarget::Edges(ty), &[place, src, dst]) => {
                passes(&|property| source.edge_value(ty, place, property, ts))
                    && source.edge_exists(ty, [place, src, dst], ts)
            }
            _ => false,
        }
    }

    /// What an item is, for messages.
    pub(crate) fn object<const N: usize>(&self, item: &Item<N>) -> Object {
        match (self.definition.target, &item[..]) {
            (IndexTarget::Edges(ty), &[place, src, dst]) => {
                Object::Edge(self.source.edge_id(ty, [place, src, dst]))
            }
            (_, item) => Object::Vertex(vertex_id(item.first().copied().unwrap_or_default())),
        }
    }

    /// The indexed values of an item at a timestamp.
    pub(crate) fn values<const N: usize>(&self, item: &Item<N>, ts: u64) -> Vec<Value> {
        let value = |key: &PropertyKeyId| match self.definition.target {
            IndexTarget::Vertices(_) => self.source.vertex_value(item[0], *key, ts),
            IndexTarget::Edges(ty) => self.source.edge_value(ty, item[0], *key, ts),
        };
        self.definition.properties.iter().map(value).collect()
    }
}

impl<const N: usize> Upkeep<N> for Objects<'_> {
    fn watermark(&self) -> u64 {
        self.graph.watermark()
    }

    fn last_ts(&self) -> u64 {
        self.graph.last_ts()
    }

    fn is_gone(&self, key: &SortKey, item: &Item<N>, watermark: u64) -> Option<bool> {
        let guard = self.source.guard;
        let catalog = self.source.catalog;
        // A value that has not changed since the watermark is what every reader sees.
        let settled = self.definition.properties.iter().all(|property| {
            let column = match self.definition.target {
                IndexTarget::Vertices(_) => catalog.vertex_column(*property),
                IndexTarget::Edges(ty) => self.source.edge_column(ty, *property),
            };
            newest(column, item[0], guard) <= watermark
        });
        let settled = settled
            && match self.definition.target {
                IndexTarget::Vertices(_) => {
                    newest(Some(self.source.states), item[0], guard) <= watermark
                }
                // An edge that is gone does not come back, and this one was there before.
                IndexTarget::Edges(_) => true,
            };
        let gone = settled && !self.has_key(key, item, watermark);
        if gone {
            // ORDERING: release pairs with the acquire in `is_complete_at`, before the entry goes.
            self.complete_from.fetch_max(watermark, Ordering::Release);
        }
        settled.then_some(gone)
    }

    fn dropped(&self, key: &SortKey, item: &Item<N>) {
        if let Some(front) = self.front {
            front.remove(key, item[0], self.source.guard);
        }
    }
}

impl Source<'_> {
    /// Calls `f` with every edge of a type at a timestamp whose source is in `sources`.
    pub(crate) fn for_each_edge<B>(
        &self,
        ty: EdgeTypeId,
        sources: std::ops::Range<u32>,
        ts: u64,
        mut f: impl FnMut(Item<3>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let Ok(edge_type) = self.catalog.edge_type(ty) else { return ControlFlow::Continue(()) };
        let view = self.lists(edge_type.table(Direction::Out), sources.clone(), ts);
        for src in sources {
            let mut flow = ControlFlow::Continue(());
            view.for_each_list(src, |list| {
                list.for_each_entry(|_, entry| {
                    if flow.is_continue() {
                        let ordinal = entry.columns[COL_ORDINAL];
                        let place = edge_type.place(src, entry.nbr, ordinal, self.guard);
                        flow = f(edge_item(src, entry.nbr, place));
                    }
                });
            });
            flow?;
        }
        ControlFlow::Continue(())
    }
}
