//! From nodes to their neighbours over one relationship: the batched reads of
//! [`View::expand`](telar_graph::View::expand).

use std::sync::Arc;

use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, Graph, ReadError, Value, VertexId};

use super::feed::Feed;
use super::memory::Held;
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

/// The edge that an expansion found.
pub(crate) fn edge_of(
    ty: EdgeTypeId,
    source: VertexId,
    neighbour: VertexId,
    ordinal: u32,
    direction: Direction,
) -> EdgeId {
    match direction {
        Direction::Out => EdgeId { ty, src: source, dst: neighbour, ordinal },
        Direction::In => EdgeId { ty, src: neighbour, dst: source, ordinal },
    }
}

/// Whether `edge` is one of the relationships that a row has used already.
pub(crate) fn is_used(edge: EdgeId, used: &[Arc<Column>], row: usize) -> bool {
    used.iter().any(|column| match column.edges() {
        Some(edges) => edges[row] == edge,
        None => match column.get(row) {
            Value::Edge(other) => *other == edge,
            Value::List(list) => {
                list.iter().any(|e| matches!(e, Value::Edge(other) if **other == edge))
            }
            _ => false,
        },
    })
}

/// Whether one of the relationships that a row has used may be in a list of `source`.
fn may_be_used(
    ty: EdgeTypeId,
    source: VertexId,
    direction: Direction,
    used: &[Arc<Column>],
    row: usize,
) -> bool {
    used.iter().any(|column| match (column.edges(), direction) {
        (Some(edges), Direction::Out) => edges[row].ty == ty && edges[row].src == source,
        (Some(edges), Direction::In) => edges[row].ty == ty && edges[row].dst == source,
        (None, _) => true,
    })
}

pub(crate) fn columns(batch: &Batch, slots: &[Slot]) -> Vec<Arc<Column>> {
    slots.iter().map(|slot| Arc::clone(batch.column(*slot))).collect()
}

pub(crate) struct Expand<'p> {
    feed: Feed<'p>,
    plan: &'p plan::Expand,
    expansion: Expansion,
    /// Nodes expanded at once.
    sources: usize,
    /// Few rows may be enough, and none was found yet.
    few: bool,
    /// Sources expanded so far.
    looked_at: usize,
    /// What was handed on last, if it is much.
    held: Held,
}

/// Nodes expanded at once, at most.
const SOURCES_MAX: usize = BATCH_ROWS / 4;
/// The same where few rows may be enough and none was found yet: the first that has neighbours may
/// have enough, and those behind it are looked at in vain.
const SOURCES_FEW: usize = 4;
/// Sources without neighbours after which one more is looked at at a time.
const LOOKED_AT_MANY: usize = 4096;
/// A list is read whole if it is no longer than so many times what is looked for in it.
const READ_TIMES: u64 = 8;
/// Neighbours found at once that are many: fewer nodes are expanded then.
const NEIGHBOURS_MANY: usize = 64 * BATCH_ROWS;

/// What an expansion adds to its rows.
#[derive(Default)]
struct Found {
    /// The row of each neighbour, if columns of the rows go on.
    rows: Vec<u32>,
    edges: Vec<EdgeId>,
    neighbours: Vec<VertexId>,
}

impl Found {
    fn bytes(&self) -> usize {
        let edges = self.edges.capacity() * size_of::<EdgeId>();
        self.rows.capacity() * size_of::<u32>()
            + edges
            + self.neighbours.capacity() * size_of::<VertexId>()
    }
}

impl<'p> Expand<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Expand, ramp: Ramp) -> Self {
        let (expansion, held) = (Expansion::default(), Held::of("Expand"));
        // The neighbours of the first may be enough.
        let sources = if ramp.is_full() { SOURCES_MAX } else { 1 };
        let few = !ramp.is_full();
        Self { feed: Feed::new(input), plan, expansion, sources, few, looked_at: 0, held }
    }

    /// Expands the rows `from..to`.
    fn expand(
        &mut self,
        rows: &Batch,
        from: usize,
        to: usize,
        hands_on: bool,
        cx: &Exec<'_>,
    ) -> Result<Found, QueryError> {
        let p = self.plan;
        let sources = rows.column(p.from);
        let used = columns(rows, &p.distinct_from);
        let graph = cx.graph();
        let types = p.types.ids(graph);
        let mut places: Vec<u32> = Vec::new();
        let mut vertices: Vec<VertexId> = Vec::new();
        for row in from..to {
            if let Some(vertex) = sources.vertex(row) {
                places.push(row as u32);
                vertices.push(vertex);
            }
        }
        let mut found = Found::default();
        if p.into {
            self.search((rows, hands_on), (&places, &vertices), &types, &used, graph, &mut found)?;
            return Ok(found);
        }
        let left = p.scans && !graph.deleted_connected().is_empty();
        let expansion = &mut self.expansion;
        let mut whole = vec![p.way != Way::Both; vertices.len()];
        for ty in types.iter().copied() {
            for direction in p.way.directions() {
                // PERF: `telar bench cypher`, hops: most lists are taken as they are.
                for ((whole, source), row) in whole.iter_mut().zip(&vertices).zip(&places) {
                    *whole &= !may_be_used(ty, *source, *direction, &used, *row as usize);
                }
                if left {
                    graph.expand_left(&vertices, ty, *direction, expansion)?;
                } else if p.keeps_edge || !whole.iter().all(|whole| *whole) {
                    graph.expand(&vertices, ty, *direction, expansion)?;
                } else {
                    graph.expand_ids(&vertices, ty, *direction, expansion)?;
                }
                for (at, source) in vertices.iter().enumerate() {
                    let row = places[at] as usize;
                    let range = expansion.offsets[at] as usize..expansion.offsets[at + 1] as usize;
                    let edge = |i: usize| {
                        let (neighbour, ordinal) = (expansion.neighbours[i], expansion.ordinals[i]);
                        edge_of(ty, *source, neighbour, ordinal, *direction)
                    };
                    if whole[at] {
                        if hands_on {
                            found.rows.resize(found.rows.len() + range.len(), row as u32);
                        }
                        found.neighbours.extend_from_slice(&expansion.neighbours[range.clone()]);
                        if p.keeps_edge {
                            found.edges.extend(range.map(edge));
                        }
                        continue;
                    }
                    for i in range {
                        let neighbour = expansion.neighbours[i];
                        // A loop is in both lists of its node; either way it is one relationship.
                        let twice = p.way == Way::Both
                            && *direction == Direction::In
                            && neighbour == *source;
                        if twice {
                            continue;
                        }
                        found.add((edge(i), neighbour), row, (hands_on, p.keeps_edge), &used);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Searches for the relationships between two known nodes.
    fn search(
        &mut self,
        (rows, hands_on): (&Batch, bool),
        (places, sources): (&[u32], &[VertexId]),
        types: &[EdgeTypeId],
        used: &[Arc<Column>],
        graph: &dyn Graph,
        found: &mut Found,
    ) -> Result<(), ReadError> {
        let p = self.plan;
        let targets = rows.column(p.to);
        let known = places.iter().zip(sources);
        let known = known.filter_map(|(row, s)| Some((*row, *s, targets.vertex(*row as usize)?)));
        let known: Vec<(u32, VertexId, VertexId)> = known.collect();
        if !p.keeps_edge
            && used.is_empty()
            && self.search_lists(&known, hands_on, types, graph, found)?
        {
            return Ok(());
        }
        for ty in types.iter() {
            for direction in p.way.directions() {
                let pair = |(_, source, target): &(u32, VertexId, VertexId)| match direction {
                    Direction::Out => (*source, *target),
                    Direction::In => (*target, *source),
                };
                let pairs: Vec<_> = known.iter().map(pair).collect();
                graph.edges_between(&pairs, *ty, &mut self.expansion)?;
                let ordinals = &self.expansion.ordinals;
                for ((row, source, target), ends) in
                    known.iter().zip(self.expansion.offsets.windows(2))
                {
                    if p.way == Way::Both && *direction == Direction::In && source == target {
                        continue;
                    }
                    for ordinal in &ordinals[ends[0] as usize..ends[1] as usize] {
                        let edge = edge_of(*ty, *source, *target, *ordinal, *direction);
                        let wanted = (hands_on, p.keeps_edge);
                        found.add((edge, *target), *row as usize, wanted, used);
                    }
                }
            }
        }
        Ok(())
    }
}

/// Rows that follow each other and have a node in common, on average, for which the list of that
/// node is read once instead of being searched for each.
const SAME_NODE: usize = 3;

impl Expand<'_> {
    /// Searches in lists that are read once for all rows in a row that have the same node at one
    /// of the ends, if there are many such rows; false if not. Lists that are longer than what is
    /// looked for in them are searched where they are.
    ///
    /// PERF: bench/compare/lsqb.py --only q8,q9: what must not be there is looked for in the lists
    /// of few nodes.
    fn search_lists(
        &mut self,
        known: &[(u32, VertexId, VertexId)],
        hands_on: bool,
        types: &[EdgeTypeId],
        graph: &dyn Graph,
        found: &mut Found,
    ) -> Result<bool, ReadError> {
        type Pair = (u32, VertexId, VertexId);
        let runs = |same: fn(&Pair, &Pair) -> bool| known.chunk_by(same).collect::<Vec<_>>();
        let (by_source, by_target) = (runs(|a, b| a.1 == b.1), runs(|a, b| a.2 == b.2));
        let reversed = by_target.len() < by_source.len();
        let (runs, way) = match reversed {
            true => (by_target, self.plan.way.reverse()),
            false => (by_source, self.plan.way),
        };
        if runs.len() * SAME_NODE > known.len() {
            return Ok(false);
        }
        let ends = |pair: &Pair| if reversed { (pair.2, pair.1) } else { (pair.1, pair.2) };
        let nodes: Vec<VertexId> = runs.iter().map(|run| ends(&run[0]).0).collect();
        let ways = way.directions();
        let tables: Vec<_> = types.iter().flat_map(|ty| ways.iter().map(|w| (*ty, *w))).collect();
        let mut lengths = vec![0; nodes.len()];
        let mut degrees = Vec::with_capacity(nodes.len());
        for (ty, direction) in &tables {
            degrees.clear();
            graph.degrees(&nodes, *ty, *direction, &mut degrees)?;
            lengths.iter_mut().zip(&degrees).for_each(|(length, degree)| *length += degree);
        }
        let fits = |(length, run): (&u64, &&[Pair])| *length <= READ_TIMES * run.len() as u64;
        if !lengths.iter().zip(&runs).all(fits) {
            return Ok(false);
        }
        let mut lists = vec![Expansion::default(); tables.len()];
        for ((ty, direction), list) in tables.iter().zip(&mut lists) {
            graph.expand_ids(&nodes, *ty, *direction, list)?;
        }
        let mut list: Vec<VertexId> = Vec::new();
        for ((at, node), run) in nodes.iter().enumerate().zip(runs) {
            list.clear();
            for ((_, direction), part) in tables.iter().zip(&lists) {
                // A loop is in both lists of its node; either way it is one relationship.
                let twice = way == Way::Both && *direction == Direction::In;
                list.extend(part.of(at).iter().filter(|other| !twice || *other != node));
            }
            if !list.is_sorted() {
                list.sort_unstable();
            }
            for pair in run {
                let other = ends(pair).1;
                let first = list.partition_point(|neighbour| *neighbour < other);
                let times = list[first..].iter().take_while(|n| **n == other).count();
                if hands_on {
                    found.rows.resize(found.rows.len() + times, pair.0);
                }
                found.neighbours.resize(found.neighbours.len() + times, pair.2);
            }
        }
        Ok(true)
    }
}

impl Found {
    /// Adds a relationship to a row that has not used it; `wanted` says whether the numbers of rows
    /// and the relationships are.
    #[inline]
    fn add(
        &mut self,
        (edge, neighbour): (EdgeId, VertexId),
        row: usize,
        wanted: (bool, bool),
        used: &[Arc<Column>],
    ) {
        if !is_used(edge, used, row) {
            if wanted.0 {
                self.rows.push(row as u32);
            }
            self.neighbours.push(neighbour);
            if wanted.1 {
                self.edges.push(edge);
            }
        }
    }
}

impl Operator for Expand<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let Some((rows, from)) = self.feed.next(cx)? else { return Ok(None) };
            // Few sources at a time: one of them may have very many neighbours.
            let to = rows.rows().min(from + self.sources);
            let mut handed_on = rows.clone();
            if let Some(kept) = &self.plan.kept {
                handed_on.retain(kept);
            }
            let hands_on = handed_on.slots().next().is_some();
            let found = self.expand(&rows, from, to, hands_on, cx)?;
            if found.neighbours.len() > NEIGHBOURS_MANY {
                self.sources = (self.sources / 4).max(1);
                self.held.set(found.bytes(), cx)?;
            } else {
                self.looked_at += to - from;
                let most = match self.few && found.neighbours.is_empty() {
                    true => SOURCES_FEW.max(self.looked_at / LOOKED_AT_MANY).min(SOURCES_MAX),
                    false => SOURCES_MAX,
                };
                self.few &= found.neighbours.is_empty();
                self.sources = most.min(self.sources * 2);
                self.held.clear();
            }
            let out = (!found.neighbours.is_empty()).then(|| {
                let mut out = match hands_on {
                    true => handed_on.gather(&found.rows),
                    false => Batch::empty(found.neighbours.len()),
                };
                if self.plan.keeps_edge {
                    out.set(self.plan.edge, Column::from(found.edges));
                }
                if !self.plan.into {
                    out.set(self.plan.to, Column::from(found.neighbours));
                }
                out
            });
            self.feed.keep(rows, to);
            if out.is_some() {
                return Ok(out);
            }
        }
    }
}
