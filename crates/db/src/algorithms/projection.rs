//! The chosen part of a graph, packed: vertices numbered from 0, and their lists.
//!
//! ```text
//!  nodes   [ 3 | 4 | 9 | .. ]    ascending ids; the place is the vertex's number
//!  numbers 3 -> 0, 4 -> 1, 9 -> 2    nothing where nodes are 0, 1, 2, ..; an array, or a map
//!  graph   lists of numbers (telar_algo::csr)
//! ```
//!
//! Relationships to nodes that were not chosen are left out. Where a statement only reads, threads
//! read pieces of [`PIECE`] vertices, each through a view of its own of the same snapshot; in a
//! transaction that has written, one thread reads, through the transaction.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_algo::control::Control;
use telar_algo::csr::{Csr, Piece};
use telar_graph::{
    Column, Direction, EdgeId, EdgeTypeId, Expansion, Graph, PropertyKeyId, Run, Value, VertexId,
};
use telar_query::{CallContext, QueryError, SharedSnapshot};

use super::config::wrong;
use super::held::{self, Held, Reading, Renamed};
use super::merging::Group;
use super::selection::{Resolved, Selection, WeightOf};

/// Vertices that are read at once.
const PIECE: u32 = 2048;

/// Numbers of the chosen nodes.
#[derive(Debug)]
enum Numbers {
    /// Node `i` has the number `i`, up to that many.
    Same(u64),
    /// By id; `u32::MAX` of nodes that were not chosen.
    Dense(Vec<u32>),
    /// Ids far apart.
    Sparse(HashMap<u64, u32, foldhash::fast::FixedState>),
}

impl Numbers {
    fn of(nodes: &[VertexId]) -> Self {
        let bound = nodes.last().map_or(0, |last| last.get() + 1);
        if bound == nodes.len() as u64 {
            return Self::Same(bound);
        }
        let numbered = nodes.iter().map(|node| node.get()).zip(0..);
        if bound / 8 > nodes.len() as u64 + (1 << 16) {
            return Self::Sparse(numbered.collect());
        }
        let mut numbers = vec![u32::MAX; bound as usize];
        numbered.for_each(|(node, number)| numbers[node as usize] = number);
        Self::Dense(numbers)
    }

    #[inline]
    fn get(&self, node: u64) -> Option<u32> {
        match self {
            Self::Same(bound) => (node < *bound).then_some(node as u32),
            Self::Dense(numbers) => {
                numbers.get(node as usize).copied().filter(|number| *number != u32::MAX)
            }
            Self::Sparse(numbers) => numbers.get(&node).copied(),
        }
    }
}

/// The chosen part of a graph.
#[derive(Debug)]
pub(super) struct Projection {
    /// The nodes, ascending.
    pub(super) nodes: Arc<[VertexId]>,
    numbers: Numbers,
    /// Their lists.
    pub(super) graph: Csr,
    held: Held,
}

impl Projection {
    /// The number of a node; `setting` is named in the error if it was not chosen.
    pub(super) fn number(&self, node: VertexId, setting: &str) -> Result<u32, QueryError> {
        let number = self.numbers.get(node.get());
        number.ok_or_else(|| {
            wrong(format!("{setting} names node {}, which is not in the graph chosen", node.get()))
        })
    }

    /// The number of a node, if it was chosen.
    pub(super) fn find(&self, node: VertexId) -> Option<u32> {
        self.numbers.get(node.get())
    }

    /// Values of a property of the nodes.
    pub(super) fn values(&self, graph: &dyn Graph, key: &str) -> Result<Column, QueryError> {
        values(&self.nodes, &self.held, graph, key)
    }
}

/// Values of a property of nodes: those that the graph holds itself, or else the database's.
pub(super) fn values(
    nodes: &[VertexId],
    held: &Held,
    graph: &dyn Graph,
    key: &str,
) -> Result<Column, QueryError> {
    if let Some(values) = held.values.get(key) {
        return Ok(values.of(nodes));
    }
    let renamed = held.renamed.get(key);
    let mut column = Column::default();
    match graph.find_property_key(renamed.map_or(key, |renamed| &renamed.property)) {
        Some(key) => graph.vertex_properties(nodes, key, &mut column)?,
        None => column = Column::nulls(nodes.len()),
    }
    match renamed {
        Some(Renamed { default, .. }) if !default.is_null() && column.may_have_nulls() => {
            let values = column.into_values().into_iter();
            let value = |value: Value| if value.is_null() { default.clone() } else { value };
            Ok(Column::of(values.map(value).collect()))
        }
        _ => Ok(column),
    }
}

/// Number of nodes chosen, and upper bound of the relationships, before they are read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) nodes: u64,
    pub(super) relationships: u64,
    pub(super) weighted: bool,
    /// True if some relationships are held by the graph, or merged: they are gathered before they
    /// are packed.
    gathered: bool,
}

impl Size {
    fn list_bytes(self) -> u64 {
        self.relationships * if self.weighted { 12 } else { 4 }
    }

    /// Bytes of a projection of this size while it is read.
    pub(super) fn reading_bytes(self) -> u64 {
        let gathered = if self.gathered { 16 * self.relationships } else { 0 };
        // Pieces may be allocated up to twice their length, and are joined.
        self.nodes * 32 + 3 * self.list_bytes() + gathered
    }

    /// Bytes of it from then on.
    pub(super) fn bytes(self) -> u64 {
        self.nodes * 24 + self.list_bytes()
    }

    /// Bytes of the nodes and their degrees both ways, where a kernel reads storage in place.
    pub(super) fn bytes_in_place(self) -> u64 {
        // Nodes as they were found, allocated up to twice, and as they are kept.
        self.nodes * (24 + 8)
    }
}

/// Nodes that were chosen, and names as numbers: the beginning of a projection.
pub(super) struct Chosen {
    nodes: Vec<VertexId>,
    resolved: Resolved,
    held: Held,
    reading: Reading,
    /// True if no relationship leads out of the chosen nodes: all nodes were chosen.
    is_whole: bool,
    pub(super) size: Size,
}

/// State of a graph that is read for a call.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) graph: &'a dyn Graph,
    /// The same for several threads, if that is possible.
    pub(super) shared: Option<&'a dyn SharedSnapshot>,
    /// Fails once the call is to end.
    pub(super) check: &'a dyn Fn() -> Result<(), QueryError>,
}

impl<'a> Source<'a> {
    /// The graph that the statement of a call sees.
    pub(super) fn of_call(
        call: &'a CallContext<'_>,
        check: &'a dyn Fn() -> Result<(), QueryError>,
    ) -> Self {
        Self { graph: call.graph(), shared: call.snapshot(), check }
    }
}

/// Finds the nodes and counts the relationships.
pub(super) fn choose(
    source: &Source<'_>,
    selection: &Selection,
    both: bool,
) -> Result<Chosen, QueryError> {
    let graph = source.graph;
    let resolved = selection.resolve(graph, both)?;
    let partitions = graph.partitions();
    let mut nodes = match &selection.held.nodes {
        Some(held) => held.chosen(&selection.labels, graph)?,
        None => Vec::new(),
    };
    let is_live = selection.held.nodes.is_none();
    for ids in partitions.all(PIECE.into()).filter(|_| is_live) {
        (source.check)()?;
        match &*resolved.labels {
            [] => graph.scan(None, ids.start, ids.end, &mut nodes)?,
            [label] => graph.scan(Some(*label), ids.start, ids.end, &mut nodes)?,
            labels => {
                let from = nodes.len();
                for label in labels {
                    graph.scan(Some(*label), ids.start, ids.end, &mut nodes)?;
                }
                let mut some = nodes.split_off(from);
                some.sort_unstable();
                some.dedup();
                nodes.append(&mut some);
            }
        }
        if nodes.len() >= u32::MAX as usize {
            return Err(wrong("algorithms work on fewer than 2^32 - 1 nodes"));
        }
    }
    let reading = selection.reading(both);
    let held = selection.held.types.iter();
    let mut relationships = held.map(|ty| ty.entries(reading.orientation, both)).sum::<u64>();
    for (ty, _) in &resolved.parts {
        relationships += match graph.count_edges(*ty)? {
            Some(count) => count,
            None => {
                let known = graph.statistics()?.edges_by_type;
                known.get(ty.get() as usize).copied().unwrap_or(0)
            }
        };
    }
    let weighted = resolved.weight.is_some();
    let merged = resolved.groups.iter().any(|group| group.merge.is_some());
    let gathered = merged || !selection.held.types.is_empty();
    let size = Size { nodes: nodes.len() as u64, relationships, weighted, gathered };
    let is_whole =
        is_live && (resolved.labels.is_empty() || nodes.len() as u64 == partitions.positions());
    Ok(Chosen { nodes, resolved, held: selection.held.clone(), reading, is_whole, size })
}

/// Lists that a kernel may read in place.
pub(super) struct Place {
    pub(super) ty: EdgeTypeId,
    pub(super) direction: Direction,
    pub(super) n: u32,
}

impl Chosen {
    /// Number of relationships of each node by the types and directions chosen, those to nodes that
    /// were not chosen included.
    pub(super) fn degrees(&self, call: &CallContext<'_>) -> Result<Vec<f64>, QueryError> {
        let mut sums = vec![0.0; self.nodes.len()];
        let mut degrees = Vec::new();
        for (nodes, sums) in self.nodes.chunks(4096).zip(sums.chunks_mut(4096)) {
            call.check()?;
            for (ty, direction) in &self.resolved.parts {
                degrees.clear();
                call.graph().degrees(nodes, *ty, *direction, &mut degrees)?;
                sums.iter_mut().zip(&degrees).for_each(|(sum, degree)| *sum += *degree as f64);
            }
        }
        if self.held.types.is_empty() {
            return Ok(sums);
        }
        let numbers = Numbers::of(&self.nodes);
        let number = |node: VertexId| numbers.get(node.get());
        let held =
            held::lists(sums.len() as u32, &number, &self.held.types, &self.reading, Vec::new());
        sums.iter_mut().zip(0..).for_each(|(sum, v)| *sum += held.of(v).len() as f64);
        Ok(sums)
    }

    /// One type in one direction, without weights, of all nodes, numbered from 0 without a hole.
    pub(super) fn place(&self) -> Option<Place> {
        let Resolved { parts, weight, .. } = &self.resolved;
        if self.resolved.groups.iter().any(|group| group.merge.is_some()) {
            return None;
        }
        let n = self.nodes.len();
        let has_holes = self.nodes.last().is_some_and(|last| last.get() + 1 != n as u64);
        match &**parts {
            [(ty, direction)]
                if self.is_whole
                    && weight.is_none()
                    && self.held.types.is_empty()
                    && !has_holes =>
            {
                Some(Place { ty: *ty, direction: *direction, n: n as u32 })
            }
            _ => None,
        }
    }

    /// Types and directions of the relationships; none for those that the graph holds itself.
    pub(super) fn parts(&self) -> Vec<(EdgeTypeId, Direction)> {
        self.resolved.parts.clone()
    }

    /// Value of a property of the first node, if there is one.
    pub(super) fn first_value(&self, graph: &dyn Graph, key: &str) -> Result<Value, QueryError> {
        let first = self.nodes.get(..1).unwrap_or_default();
        let column = values(first, &self.held, graph, key)?;
        Ok(if column.is_empty() { Value::Null } else { column.get(0) })
    }

    /// Property of the database that is the weight, and the weight of relationships without it.
    pub(super) fn stored_weight(&self) -> Option<(PropertyKeyId, f64)> {
        self.resolved.weight.as_ref().and_then(|(key, _, default)| Some(((*key)?, *default)))
    }

    /// True if every relationship is followed in both directions.
    pub(super) fn is_symmetric(&self) -> bool {
        let parts = &self.resolved.parts;
        let mut held = self.held.types.iter();
        self.reading.both
            || parts.iter().all(|(ty, direction)| parts.contains(&(*ty, direction.reverse())))
                && held.all(|ty| ty.is_symmetric(self.reading.orientation))
    }

    /// The nodes, for a kernel that needs nothing else.
    pub(super) fn nodes(&self) -> Arc<[VertexId]> {
        self.nodes.as_slice().into()
    }

    /// Reads the lists.
    pub(super) fn project(
        self,
        source: &Source<'_>,
        control: &Control<'_>,
    ) -> Result<Projection, QueryError> {
        let Self { nodes, resolved, held, reading, .. } = self;
        let numbers = Numbers::of(&nodes);
        let mut stored = Vec::with_capacity(resolved.groups.len());
        for Group { parts, merge } in &resolved.groups {
            let of = (&**parts, resolved.weight.as_ref());
            let lists = read_lists(source, control, &nodes, &numbers, of)?;
            stored.push(match merge {
                Some(merge) => lists.without_parallels(|a, b| merge.weight(a, b)),
                None => lists,
            });
        }
        let graph = match stored.pop_if(|_| resolved.groups.len() == 1 && held.types.is_empty()) {
            Some(lists) => lists,
            None => {
                let number = |node: VertexId| numbers.get(node.get());
                held::lists(nodes.len() as u32, &number, &held.types, &reading, stored)
            }
        };
        Ok(Projection { nodes: nodes.into(), numbers, graph, held })
    }
}

/// Types, directions and weight of lists that are read together.
type Of<'a> = (&'a [(EdgeTypeId, Direction)], Option<&'a WeightOf>);

/// Reads lists piece by piece, on several threads where that is possible.
fn read_lists(
    source: &Source<'_>,
    control: &Control<'_>,
    nodes: &[VertexId],
    numbers: &Numbers,
    of: Of<'_>,
) -> Result<Csr, QueryError> {
    let pieces = nodes.len().div_ceil(PIECE as usize);
    let within = |range: Range<u32>| &nodes[range.start as usize..range.end as usize];
    let Some(snapshot) = source.shared else {
        let mut read = Vec::with_capacity(pieces);
        let mut lists = Lists::default();
        for some in nodes.chunks(PIECE as usize) {
            (source.check)()?;
            read.push(lists.read(source.graph, some, numbers, of)?);
        }
        return Ok(Csr::join(read));
    };
    let read: Mutex<Vec<Option<Piece>>> = Mutex::new(vec![None; pieces]);
    let failed: Mutex<Option<QueryError>> = Mutex::new(None);
    let work = |range: Range<u32>| {
        let at = (range.start / PIECE) as usize;
        let some = within(range);
        let mut found = None;
        snapshot.read(&mut |graph| {
            found = Some(Lists::default().read(graph, some, numbers, of));
        });
        match found {
            Some(Ok(piece)) => read.lock()[at] = Some(piece),
            Some(Err(error)) => drop(failed.lock().get_or_insert(error)),
            None => {}
        }
        if failed.lock().is_some() { Err(telar_algo::control::Error::Stopped) } else { Ok(()) }
    };
    let done = control.for_ranges(nodes.len() as u32, PIECE, work);
    if let Some(error) = failed.into_inner() {
        return Err(error);
    }
    (source.check)()?;
    done.map_err(|error| wrong(error.to_string()))?;
    Ok(Csr::join(read.into_inner().into_iter().flatten().collect()))
}

/// Reads the lists of one type in one direction, without weights: as they come.
fn read_one(
    graph: &dyn Graph,
    nodes: &[VertexId],
    (ty, direction): (EdgeTypeId, Direction),
    numbers: &Numbers,
) -> Result<Piece, QueryError> {
    let mut piece = Piece::new();
    let mut ended = 0;
    graph.for_each_run(nodes, ty, direction, &mut |place, run| {
        (ended..place).for_each(|_| piece.end_list());
        ended = place;
        match run {
            Run::Narrow(ids) => piece.extend(ids.iter().filter_map(|v| numbers.get((*v).into()))),
            Run::Wide(ids) => piece.extend(ids.iter().filter_map(|v| numbers.get(v.get()))),
        }
    })?;
    (ended..nodes.len()).for_each(|_| piece.end_list());
    Ok(piece)
}

/// Buffers of one thread.
#[derive(Default)]
struct Lists {
    lists: Vec<Vec<u32>>,
    weights: Vec<Vec<f64>>,
    expansion: Expansion,
}

impl Lists {
    /// Reads the lists of some nodes.
    fn read(
        &mut self,
        graph: &dyn Graph,
        nodes: &[VertexId],
        numbers: &Numbers,
        (parts, weight): Of<'_>,
    ) -> Result<Piece, QueryError> {
        if let ([(ty, direction)], None) = (parts, weight) {
            return read_one(graph, nodes, (*ty, *direction), numbers);
        }
        self.lists.iter_mut().for_each(Vec::clear);
        self.lists.resize_with(nodes.len(), Vec::new);
        let mut piece = match weight {
            None => Piece::new(),
            Some(_) => Piece::weighted(),
        };
        match weight {
            None => {
                for (ty, direction) in parts {
                    let lists = &mut self.lists;
                    graph.for_each_run(nodes, *ty, *direction, &mut |place, run| match run {
                        Run::Narrow(ids) => {
                            lists[place]
                                .extend(ids.iter().filter_map(|v| numbers.get((*v).into())));
                        }
                        Run::Wide(ids) => {
                            lists[place].extend(ids.iter().filter_map(|v| numbers.get(v.get())));
                        }
                    })?;
                }
            }
            Some((key, name, default)) => {
                self.weights.iter_mut().for_each(Vec::clear);
                self.weights.resize_with(nodes.len(), Vec::new);
                for (ty, direction) in parts {
                    let weight = (*key, &**name, *default);
                    self.read_weighted(graph, nodes, (*ty, *direction), numbers, weight)?;
                }
            }
        }
        for (place, list) in self.lists.iter().enumerate().take(nodes.len()) {
            piece.push(list, self.weights.get(place).map_or(&[], |weights| weights));
        }
        Ok(piece)
    }

    fn read_weighted(
        &mut self,
        graph: &dyn Graph,
        nodes: &[VertexId],
        (ty, direction): (EdgeTypeId, Direction),
        numbers: &Numbers,
        (key, name, default): (Option<PropertyKeyId>, &str, f64),
    ) -> Result<(), QueryError> {
        graph.expand(nodes, ty, direction, &mut self.expansion)?;
        let Expansion { offsets, neighbours, ordinals } = &self.expansion;
        let mut edges = Vec::with_capacity(neighbours.len());
        for (place, node) in nodes.iter().enumerate() {
            for at in offsets[place] as usize..offsets[place + 1] as usize {
                let (src, dst) = match direction {
                    Direction::Out => (*node, neighbours[at]),
                    Direction::In => (neighbours[at], *node),
                };
                edges.push(EdgeId { ty, src, dst, ordinal: ordinals[at] });
            }
        }
        let mut values = Column::default();
        match key {
            Some(key) => graph.edge_properties(&edges, key, &mut values)?,
            None => values = Column::nulls(edges.len()),
        }
        for place in 0..nodes.len() {
            let first = offsets[place] as usize;
            let list = &neighbours[first..offsets[place + 1] as usize];
            for (at, neighbour) in (first..).zip(list) {
                let Some(number) = numbers.get(neighbour.get()) else { continue };
                let weight = match values.get(at) {
                    Value::Null => default,
                    Value::Int(number) => number as f64,
                    Value::Float(number) => number,
                    other => {
                        let found = telar_query::literal(&other);
                        return Err(wrong(format!(
                            "the weight {name} is a number, and a relationship has {found}"
                        )));
                    }
                };
                self.lists[place].push(number);
                self.weights[place].push(weight);
            }
        }
        Ok(())
    }
}
