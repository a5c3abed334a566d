//! State that all handles of a database share: the graph, and what is kept beside it.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use crossbeam_epoch as epoch;
use telar_graph::Direction;

use crate::adjacency::extent::place;
use crate::adjacency::settle::{After, settle_segment};
use crate::attachments::Attachments;
use crate::clock::timeline::Timeline;
use crate::gate::Gate;
use crate::graph::Graph;
use crate::index::Indexes;
use crate::intents::Intents;
use crate::intents::pairs::Pairs;
use crate::mapped::Stored;
use crate::sample::Sample;
use crate::settings::Settings;

/// Memory held by the parts of a database, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct MemoryUse {
    /// Adjacency of every edge type, both directions: bases, tails with their unused room, hubs.
    pub topology: usize,
    /// Vertex states.
    pub states: usize,
    /// Property columns.
    pub properties: usize,
    /// Property indexes.
    pub indexes: usize,
    /// Bases that are read in place, in the store's file: their pages are the system's cache of it
    /// and not counted as held.
    pub mapped: usize,
}

impl MemoryUse {
    /// All that is held on the heap, which is what the memory limit is about.
    #[must_use]
    pub fn heap(&self) -> usize {
        self.topology + self.states + self.properties + self.indexes
    }
}

/// The state of an open database.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Dropped first: the folder is still locked when they are.
    pub(crate) attachments: Attachments,
    pub(crate) graph: Graph,
    pub(crate) indexes: Indexes,
    /// Who is about to commit a change of what.
    pub(crate) intents: Intents,
    /// Between which vertices edges without ordinals are being made.
    pub(crate) pairs: Pairs,
    /// Shut while a bulk load is being installed.
    pub(crate) gate: Gate,
    /// What queries are planned with.
    pub(crate) sample: Sample,
    /// When which commit was the newest, for the ages in statistics.
    pub(crate) timeline: Timeline,
}

impl Deref for Shared {
    type Target = Graph;

    #[inline(always)]
    fn deref(&self) -> &Graph {
        &self.graph
    }
}

impl Shared {
    /// The state of an empty database in memory.
    pub(crate) fn empty(settings: Settings) -> Self {
        Self::with(settings, None)
    }

    /// The state of a database none of whose segments is loaded.
    pub(crate) fn with(settings: Settings, stored: Option<Arc<Stored>>) -> Self {
        Self {
            attachments: Attachments::default(),
            graph: Graph::new(settings, stored),
            indexes: Indexes::default(),
            intents: Intents::default(),
            pairs: Pairs::default(),
            gate: Gate::default(),
            sample: Sample::default(),
            timeline: Timeline::new(),
        }
    }

    /// Memory held now, arenas included.
    pub(crate) fn memory_use(&self) -> MemoryUse {
        let guard = &epoch::pin();
        let mut total = MemoryUse { states: self.states.bytes(guard), ..MemoryUse::default() };
        for (_, ty) in self.catalog.edge_types() {
            for direction in Direction::ALL {
                let (heap, mapped) = ty.table(direction).bytes(guard);
                total.topology += heap;
                total.mapped += mapped;
            }
            total.properties += ty.places.bytes(guard);
            total.properties += ty.columns().map(|(_, c)| c.bytes(guard)).sum::<usize>();
        }
        total.indexes = self.indexes.bytes();
        let columns = self.catalog.vertex_columns();
        total.properties += columns.map(|(_, c)| c.bytes(guard)).sum::<usize>();
        total
    }

    /// Settles every segment that has a tail, up to the watermark. With `idle_before`, leaves alone
    /// those written to after that timestamp.
    pub(crate) fn settle_all(&self, idle_before: Option<u64>) {
        for (_, ty) in self.catalog.edge_types() {
            for direction in Direction::ALL {
                let table = ty.table(direction);
                for number in 0..table.segment_bound() {
                    let Some(segment) = table.segment(number) else {
                        continue;
                    };
                    // One pin per segment: old versions are freed as the pass goes on.
                    let guard = &epoch::pin();
                    let busy = idle_before
                        .is_some_and(|ts| segment.last_write.load(Ordering::Relaxed) > ts);
                    if !busy && segment.version(guard).is_some_and(|v| !v.is_clean()) {
                        let horizon = self.horizon();
                        settle_segment(table, segment, number, horizon, After::Idle, guard);
                    }
                }
            }
        }
        for (_, ty) in self.catalog.edge_types() {
            for direction in Direction::ALL {
                place(ty.table(direction), idle_before);
            }
        }
        let guard = &epoch::pin();
        let horizon = self.horizon();
        self.states.settle_all(horizon, guard);
        for (_, column) in self.catalog.vertex_columns() {
            column.settle_all(horizon, guard);
        }
        for (_, ty) in self.catalog.edge_types() {
            for (_, column) in ty.columns() {
                column.settle_all(horizon, guard);
            }
        }
        self.indexes.settle(&self.graph);
        self.prune_history(horizon.floor);
        self.free_vertices.harvest(&self.catalog, &self.states, horizon);
    }
}
