//! `shortestPath` and `allShortestPaths` between two nodes.
//!
//! Breadth first from both ends at once, each time the smaller frontier by one step, until they
//! meet; then the paths are read off the predecessors. A condition on the relationships is tested
//! on the way. Searches from the same node that follow each other share its side. A circle is
//! searched for from its start (`branches.rs` says which paths may close one). With a minimum
//! length above 1 the search is one-sided over all paths.

use std::collections::HashSet;
use std::collections::hash_map::{Entry, HashMap};

use foldhash::fast::RandomState;
use telar_graph::value::heap_bytes;
use telar_graph::{EdgeId, EdgeTypeId, Expansion, ReadError, Value, VertexId};

use super::branches::Branches;
use super::expand::edge_of;
use super::memory::Held;
use super::var_expand::{satisfying, steps};
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

pub(crate) struct ShortestPath<'p> {
    input: Source<'p>,
    plan: &'p plan::ShortestPath,
    expansion: Expansion,
    /// What is known of the start of the last search, which the next one may have in common.
    near: Option<(VertexId, Side)>,
    /// What is held while paths are searched for, and the paths of the rows.
    searching: Held,
    found: Held,
}

/// A step that leads to a node.
type Step = (EdgeId, VertexId);

/// How a node was reached.
#[derive(Clone, Copy)]
struct Reached {
    /// Its distance from the end.
    depth: u32,
    /// The first relationship that was found to lead to it, from one that is nearer; of the end
    /// itself, nothing.
    by: EdgeId,
}

/// One end's side of the search.
struct Side {
    reached: HashMap<VertexId, Reached, RandomState>,
    /// Relationships beside the first that lead to a node, where all paths are wanted.
    others: HashMap<VertexId, Vec<EdgeId>, RandomState>,
    /// How many those are.
    others_count: usize,
    /// The nodes that were reached last, by as many steps as `depth`.
    frontier: Vec<VertexId>,
    depth: u32,
    way: Way,
}

impl Side {
    fn new(start: VertexId, way: Way) -> Self {
        let by = EdgeId { ty: EdgeTypeId::from_raw(0), src: start, dst: start, ordinal: 0 };
        let reached = HashMap::from_iter([(start, Reached { depth: 0, by })]);
        let others = HashMap::default();
        Self { reached, others, others_count: 0, frontier: vec![start], depth: 0, way }
    }

    /// Bytes that it takes.
    fn bytes(&self) -> usize {
        // A table has eight places for seven entries.
        let reached = self.reached.capacity() * 8 / 7 * size_of::<(VertexId, Reached)>();
        let others = self.others.capacity() * 8 / 7 * size_of::<(VertexId, Vec<EdgeId>)>();
        let frontier = self.frontier.capacity() * size_of::<VertexId>();
        // Lists grow by doubling, from four on.
        let lists = (self.others_count * 2 + self.others.len() * 4) * size_of::<EdgeId>();
        reached + others + lists + frontier
    }

    /// Takes a relationship that leads from the last frontier to a node.
    fn reach(&mut self, (by, neighbour): Step, all: bool, next: &mut Vec<VertexId>) {
        match self.reached.entry(neighbour) {
            Entry::Vacant(entry) => {
                entry.insert(Reached { depth: self.depth, by });
                next.push(neighbour);
            }
            Entry::Occupied(entry) => {
                if all && entry.get().depth == self.depth {
                    self.others.entry(neighbour).or_default().push(by);
                    self.others_count += 1;
                }
            }
        }
    }

    /// The paths from the end to `vertex`, each a list of edges from the end on; at most `limit`.
    fn paths(
        &self,
        vertex: VertexId,
        limit: usize,
        held: &mut Held,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Vec<EdgeId>>, QueryError> {
        let mut done = Vec::new();
        let mut open = vec![(vertex, Vec::new())];
        while let Some((at, tail)) = open.pop() {
            cx.check()?;
            held.grow(path_bytes(tail.len()), cx)?;
            let reached = &self.reached[&at];
            if reached.depth == 0 {
                let mut path: Vec<EdgeId> = tail;
                path.reverse();
                done.push(path);
                if done.len() == limit {
                    break;
                }
                continue;
            }
            let others = self.others.get(&at).into_iter().flatten();
            for edge in std::iter::once(&reached.by).chain(others) {
                let mut longer = tail.clone();
                longer.push(*edge);
                let previous = if edge.dst == at { edge.src } else { edge.dst };
                open.push((previous, longer));
            }
            held.shrink(path_bytes(tail.len()));
        }
        Ok(done)
    }
}

/// Bytes of a path of so many edges while it is searched for.
fn path_bytes(edges: usize) -> usize {
    size_of::<(VertexId, Vec<EdgeId>)>() + edges * size_of::<EdgeId>()
}

impl<'p> ShortestPath<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::ShortestPath) -> Self {
        let held = || Held::of("ShortestPath");
        let expansion = Expansion::default();
        Self { input, plan, expansion, near: None, searching: held(), found: held() }
    }

    /// The relationships of all these nodes, with the node each leads to.
    fn steps_from(
        &mut self,
        sources: &[VertexId],
        types: &[EdgeTypeId],
        way: Way,
        cx: &Exec<'_>,
    ) -> Result<Vec<Step>, ReadError> {
        let mut found = Vec::new();
        let expansion = &mut self.expansion;
        for ty in types {
            for direction in way.directions() {
                cx.graph().expand(sources, *ty, *direction, expansion)?;
                for (source, range) in sources.iter().zip(expansion.offsets.windows(2)) {
                    found.extend((range[0] as usize..range[1] as usize).map(|at| {
                        let (to, ordinal) = (expansion.neighbours[at], expansion.ordinals[at]);
                        (edge_of(*ty, *source, to, ordinal, *direction), to)
                    }));
                }
            }
        }
        Ok(found)
    }

    /// One more step of a side, all nodes of its frontier at once; only to where it meets another,
    /// if that is given.
    fn advance(
        &mut self,
        (side, meets): (&mut Side, Option<&Side>),
        types: &[EdgeTypeId],
        rows: &Batch,
        row: usize,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut next = Vec::new();
        side.depth += 1;
        let before = self.searching.bytes();
        let frontier = std::mem::take(&mut side.frontier);
        // Few nodes at a time: one of them may have very many neighbours.
        for part in frontier.chunks(BATCH_ROWS / 8) {
            cx.check()?;
            let found = self.steps_from(part, types, side.way, cx)?;
            let (steps, frontier) = (size_of::<Step>(), size_of::<VertexId>());
            let finding = found.capacity() * steps + next.capacity() * frontier;
            self.searching.set(before.max(side.bytes()) + finding, cx)?;
            let found = satisfying(found, self.plan.filter.as_ref(), rows, row, cx)?;
            side.reached.reserve(found.len());
            for step in found {
                side.reach(step, self.plan.all, &mut next);
                // There is no shorter path than one that meets first.
                if meets.is_some_and(|other| other.reached.contains_key(&step.1)) {
                    side.frontier = vec![step.1];
                    return Ok(());
                }
            }
        }
        side.frontier = next;
        Ok(())
    }

    fn shortest(
        &mut self,
        (from, to): (VertexId, VertexId),
        types: &[EdgeTypeId],
        rows: &Batch,
        row: usize,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Vec<EdgeId>>, QueryError> {
        let p = self.plan;
        if from == to && p.min == 0 {
            return Ok(vec![Vec::new()]);
        }
        if p.min > 1 {
            return self.by_length((from, to), p.all, p.max, types, (rows, row), cx);
        }
        if from == to {
            let one = self.by_length((from, to), false, p.max, types, (rows, row), cx)?;
            // All of them are as long as the one: of longer ones there may be very many.
            return match one.first() {
                Some(path) if p.all => {
                    let max = Some(path.len() as u64);
                    self.by_length((from, to), true, max, types, (rows, row), cx)
                }
                _ => Ok(one),
            };
        }
        let limit = if p.all { usize::MAX } else { 1 };
        let mut held = Held::of("ShortestPath");
        let mut far = Side::new(to, p.way.reverse());
        let mut near = match self.near.take() {
            Some((start, near)) if start == from => near,
            _ => Side::new(from, p.way),
        };
        if let Some(reached) = near.reached.get(&to) {
            let within = p.max.is_none_or(|max| u64::from(reached.depth) <= max);
            let paths = if within { near.paths(to, limit, &mut held, cx) } else { Ok(Vec::new()) };
            self.near = Some((from, near));
            return paths;
        }
        let keeps = p.filter.is_none() && rows.rows() > 1;
        let paths = self.meet((&mut near, &mut far), keeps, types, (rows, row), cx)?;
        self.near = keeps.then_some((from, near));
        Ok(paths)
    }

    /// Searches from both ends until they meet; `keeps` if the near side must stay complete.
    fn meet(
        &mut self,
        (near, far): (&mut Side, &mut Side),
        keeps: bool,
        types: &[EdgeTypeId],
        (rows, row): (&Batch, usize),
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Vec<EdgeId>>, QueryError> {
        let p = self.plan;
        let limit = if p.all { usize::MAX } else { 1 };
        let mut held = Held::of("ShortestPath");
        loop {
            let length = near.depth + far.depth;
            let meeting: Vec<VertexId> = {
                // Where both meet first, they do so on nodes of the last step of the one side.
                let (small, large) = if near.frontier.len() <= far.frontier.len() {
                    (&*near, &*far)
                } else {
                    (&*far, &*near)
                };
                let there = |v: &&VertexId| large.reached.contains_key(*v);
                small.frontier.iter().filter(there).copied().collect()
            };
            let meeting: HashSet<VertexId> = meeting
                .into_iter()
                .filter(|v| near.reached[v].depth + far.reached[v].depth == length)
                .collect();
            if !meeting.is_empty() {
                let mut meeting: Vec<VertexId> = meeting.into_iter().collect();
                meeting.sort_unstable();
                let mut paths = Vec::new();
                for vertex in meeting {
                    let tails = far.paths(vertex, limit, &mut held, cx)?;
                    for head in near.paths(vertex, limit, &mut held, cx)? {
                        for tail in &tails {
                            cx.check()?;
                            let mut path = head.clone();
                            path.extend(tail.iter().rev());
                            held.grow(path_bytes(path.len()), cx)?;
                            paths.push(path);
                            if paths.len() == limit {
                                return Ok(paths);
                            }
                        }
                    }
                }
                return Ok(paths);
            }
            if p.max.is_some_and(|max| u64::from(length) >= max) {
                return Ok(Vec::new());
            }
            let is_near = near.frontier.len() <= far.frontier.len();
            let (side, other) = if is_near { (&mut *near, &*far) } else { (&mut *far, &*near) };
            if side.frontier.is_empty() {
                return Ok(Vec::new());
            }
            let meets = (!(p.all || is_near && keeps)).then_some(other);
            self.advance((side, meets), types, rows, row, cx)?;
            self.searching.set(near.bytes() + far.bytes(), cx)?;
        }
    }

    /// All paths or one, of `max` relationships at most: shorter ones first, until some are long
    /// enough.
    fn by_length(
        &mut self,
        (from, to): (VertexId, VertexId),
        all: bool,
        max: Option<u64>,
        types: &[EdgeTypeId],
        (rows, row): (&Batch, usize),
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Vec<EdgeId>>, QueryError> {
        let p = self.plan;
        let mut level: Vec<(VertexId, Vec<EdgeId>)> = vec![(from, Vec::new())];
        let (mut length, mut held) = (0, Held::of("ShortestPath"));
        // Longer ones may have to lead over a node twice.
        let mut branches = (from == to && p.min <= 1).then(Branches::default);
        let ways = if p.way == Way::Both { 2 } else { 1 };
        while !level.is_empty() && max.is_none_or(|max| length < max) {
            length += 1;
            let mut next = Vec::new();
            let mut found = Vec::new();
            let mut holding = Held::of("ShortestPath");
            for (vertex, path) in level {
                cx.check()?;
                let options = steps(vertex, types, p.way, &mut self.expansion, cx)?;
                let options = satisfying(options, p.filter.as_ref(), rows, row, cx)?;
                for (edge, neighbour) in options {
                    if path.contains(&edge) {
                        continue;
                    }
                    let mut longer = path.clone();
                    longer.push(edge);
                    holding.grow(path_bytes(longer.len()), cx)?;
                    if neighbour == to && length >= p.min {
                        found.push(longer.clone());
                        if !all {
                            return Ok(found);
                        }
                    }
                    if let Some(branches) = &mut branches {
                        let reached = (longer[0], length);
                        if !branches.visit((0, neighbour), reached, ways, all) {
                            continue;
                        }
                    }
                    next.push((neighbour, longer));
                }
                if let Some(branches) = &branches {
                    self.searching.set(branches.bytes(), cx)?;
                }
            }
            if !found.is_empty() {
                return Ok(found);
            }
            level = next;
            held = holding;
        }
        drop(held);
        Ok(Vec::new())
    }
}

impl Operator for ShortestPath<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            let types = self.plan.types.ids(cx.graph());
            let (mut numbers, mut paths) = (Vec::new(), Vec::new());
            self.found.clear();
            for row in 0..rows.rows() {
                let end = |slot| rows.column(slot).vertex(row);
                let (Some(from), Some(to)) = (end(self.plan.from), end(self.plan.to)) else {
                    continue;
                };
                cx.check()?;
                for path in self.shortest((from, to), &types, &rows, row, cx)? {
                    numbers.push(row as u32);
                    let path = Value::List(path.into_iter().map(Value::from).collect());
                    self.found.grow(size_of::<Value>() + heap_bytes(&path), cx)?;
                    paths.push(path);
                }
                let near = self.near.as_ref().map_or(0, |(_, near)| near.bytes());
                self.searching.set(near, cx)?;
            }
            if !numbers.is_empty() {
                let mut out = rows.gather(&numbers);
                out.set(self.plan.edges, Column::Values(paths));
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}
