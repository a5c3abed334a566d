//! `shortestPath` and `allShortestPaths` between two nodes.
//!
//! Breadth first from both ends at once, each time the smaller frontier by one step, until they
//! meet; then the paths are read off the predecessors. A condition on the relationships is tested
//! on the way. With a minimum length above 1 the search is one-sided over simple paths.

use std::collections::{HashMap, HashSet};

use telar_graph::{EdgeId, EdgeTypeId, Expansion, Value, VertexId};

use super::expand::edge_types;
use super::var_expand::{satisfying, steps};
use super::{Exec, Operator, Source};
use crate::batch::{Batch, Column};
use crate::plan::{self, Way};
use crate::query_error::QueryError;

pub(crate) struct ShortestPath<'p> {
    input: Source<'p>,
    plan: &'p plan::ShortestPath,
    expansion: Expansion,
}

/// One end's side of the search: for each node reached, its distance and the steps that lead to it
/// from one nearer to the end.
struct Side {
    reached: HashMap<VertexId, (u64, Vec<(EdgeId, VertexId)>)>,
    frontier: Vec<VertexId>,
    depth: u64,
    way: Way,
}

impl Side {
    fn new(start: VertexId, way: Way) -> Self {
        let reached = HashMap::from([(start, (0, Vec::new()))]);
        Self { reached, frontier: vec![start], depth: 0, way }
    }

    /// The paths from the end to `vertex`, each a list of edges from the end on; at most `limit`.
    fn paths(&self, vertex: VertexId, limit: usize) -> Vec<Vec<EdgeId>> {
        let mut done = Vec::new();
        let mut open = vec![(vertex, Vec::new())];
        while let Some((at, tail)) = open.pop() {
            let (depth, before) = &self.reached[&at];
            if *depth == 0 {
                let mut path: Vec<EdgeId> = tail;
                path.reverse();
                done.push(path);
                if done.len() == limit {
                    break;
                }
                continue;
            }
            for (edge, previous) in before {
                let mut longer = tail.clone();
                longer.push(*edge);
                open.push((*previous, longer));
            }
        }
        done
    }
}

impl<'p> ShortestPath<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::ShortestPath) -> Self {
        Self { input, plan, expansion: Expansion::default() }
    }

    /// One more step of a side, all nodes of its frontier at once.
    fn advance(
        &mut self,
        side: &mut Side,
        types: &[EdgeTypeId],
        rows: &Batch,
        row: usize,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut next = Vec::new();
        side.depth += 1;
        for vertex in std::mem::take(&mut side.frontier) {
            cx.check()?;
            let found = steps(vertex, types, side.way, &mut self.expansion, cx);
            let found = satisfying(found, self.plan.filter.as_ref(), rows, row, cx)?;
            for (edge, neighbour) in found {
                let entry = side.reached.entry(neighbour).or_insert_with(|| {
                    next.push(neighbour);
                    (side.depth, Vec::new())
                });
                if entry.0 == side.depth {
                    entry.1.push((edge, vertex));
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
        if p.min > 1 || from == to {
            return self.by_length((from, to), types, rows, row, cx);
        }
        let limit = if p.all { usize::MAX } else { 1 };
        let mut near = Side::new(from, p.way);
        let mut far = Side::new(to, p.way.reverse());
        loop {
            let length = near.depth + far.depth;
            let meeting: Vec<VertexId> = {
                // Where both meet first, they do so on nodes of the last step of the one side.
                let (small, large) = if near.frontier.len() <= far.frontier.len() {
                    (&near, &far)
                } else {
                    (&far, &near)
                };
                let there = |v: &&VertexId| large.reached.contains_key(*v);
                small.frontier.iter().filter(there).copied().collect()
            };
            let meeting: HashSet<VertexId> = meeting
                .into_iter()
                .filter(|v| near.reached[v].0 + far.reached[v].0 == length)
                .collect();
            if !meeting.is_empty() {
                let mut meeting: Vec<VertexId> = meeting.into_iter().collect();
                meeting.sort_unstable();
                let mut paths = Vec::new();
                for vertex in meeting {
                    for head in near.paths(vertex, limit) {
                        for tail in far.paths(vertex, limit) {
                            let mut path = head.clone();
                            path.extend(tail.iter().rev());
                            paths.push(path);
                            if paths.len() == limit {
                                return Ok(paths);
                            }
                        }
                    }
                }
                return Ok(paths);
            }
            if p.max.is_some_and(|max| length >= max) {
                return Ok(Vec::new());
            }
            let first = near.frontier.len() <= far.frontier.len();
            let side = if first { &mut near } else { &mut far };
            if side.frontier.is_empty() {
                return Ok(Vec::new());
            }
            self.advance(side, types, rows, row, cx)?;
        }
    }

    /// All simple paths, shorter ones first, until some have the wanted length.
    fn by_length(
        &mut self,
        (from, to): (VertexId, VertexId),
        types: &[EdgeTypeId],
        rows: &Batch,
        row: usize,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Vec<EdgeId>>, QueryError> {
        let p = self.plan;
        let mut level: Vec<(VertexId, Vec<EdgeId>)> = vec![(from, Vec::new())];
        let mut length = 0;
        while !level.is_empty() && p.max.is_none_or(|max| length < max) {
            length += 1;
            let mut next = Vec::new();
            let mut found = Vec::new();
            for (vertex, path) in level {
                cx.check()?;
                let options = steps(vertex, types, p.way, &mut self.expansion, cx);
                let options = satisfying(options, p.filter.as_ref(), rows, row, cx)?;
                for (edge, neighbour) in options {
                    if path.contains(&edge) {
                        continue;
                    }
                    let mut longer = path.clone();
                    longer.push(edge);
                    cx.hold(longer.len() * size_of::<EdgeId>())?;
                    if neighbour == to && length >= p.min {
                        found.push(longer.clone());
                        if !p.all {
                            return Ok(found);
                        }
                    }
                    next.push((neighbour, longer));
                }
            }
            if !found.is_empty() {
                return Ok(found);
            }
            level = next;
        }
        Ok(Vec::new())
    }
}

impl Operator for ShortestPath<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            let types = edge_types(&self.plan.types, cx.graph());
            let (mut numbers, mut paths) = (Vec::new(), Vec::new());
            for row in 0..rows.rows() {
                let end = |slot| rows.column(slot).vertex(row);
                let (Some(from), Some(to)) = (end(self.plan.from), end(self.plan.to)) else {
                    continue;
                };
                for path in self.shortest((from, to), &types, &rows, row, cx)? {
                    numbers.push(row as u32);
                    paths.push(Value::List(path.into_iter().map(Value::from).collect()));
                }
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
