//! Nodes within reach over one to `n` relationships, each once.
//!
//! For those who do not ask how a node was reached: breadth first, no node again, instead of every
//! path. A shortest walk to another node is a path that uses no relationship twice, so the search
//! finds what paths find, as long as none shorter than one relationship is asked for.
//!
//! Only the node that a search begins at is reached again over a relationship used twice, there and
//! back, where relationships are followed both ways. There a circle is needed. Every node keeps the
//! first relationship of the way it was found by, its branch; the shortest circle is closed by a
//! relationship between two branches (or by a second one to the same neighbour, or by a loop).
//!
//! Cost: of a row, the relationships of all nodes within reach, each looked at once or twice.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, ReadError, VertexId};

use super::expand::{columns, edge_of, is_used};
use super::feed::Feed;
use super::var_expand::satisfying;
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column};
use crate::plan::{self, Way};
use crate::query_error::QueryError;
use crate::vertices::VertexSet;

/// Nodes whose relationships are read at once.
const STEP: usize = 1024;

pub(crate) struct Reach<'p> {
    feed: Feed<'p>,
    plan: &'p plan::VarExpand,
    ramp: Ramp,
    expansion: Expansion,
}

/// How a node was found: the first relationship of the way, and how many there are.
type Branch = (EdgeId, u64);

/// A search from one node.
struct Search {
    start: VertexId,
    /// Nodes that were found; the start as soon as it is reached again.
    found: VertexSet,
    ends: Vec<VertexId>,
    next: Vec<VertexId>,
    /// Where the start can only be reached again in a circle, and was not yet.
    branches: Option<HashMap<VertexId, Branch, RandomState>>,
}

impl Search {
    fn reach(&mut self, node: VertexId) {
        if self.found.insert(node) {
            self.ends.push(node);
            if node != self.start {
                self.next.push(node);
            }
        }
    }

    /// Follows a relationship between a node at some distance and another one, where the start
    /// needs a circle; `max` relationships long at most.
    fn follow(&mut self, edge: EdgeId, from: VertexId, to: VertexId, distance: u64, max: u64) {
        let start = self.start;
        let Some(branches) = &mut self.branches else {
            if to != start {
                self.reach(to);
            }
            return;
        };
        let from_branch =
            if from == start { Some((edge, 0)) } else { branches.get(&from).copied() };
        let Some((branch, _)) = from_branch else { return };
        let closes = match to == start {
            // What leads back is the branch itself, or was seen from the start.
            true => from == start,
            false => match branches.get(&to) {
                None => {
                    branches.insert(to, (branch, distance + 1));
                    false
                }
                Some((other, length)) => *other != branch && distance + length < max,
            },
        };
        if to != start {
            self.reach(to);
        }
        if closes {
            self.branches = None;
            self.reach(start);
        }
    }
}

impl<'p> Reach<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::VarExpand, ramp: Ramp) -> Self {
        Self { feed: Feed::new(input), plan, ramp, expansion: Expansion::default() }
    }

    /// What can be reached from the node of a row.
    fn search(
        &mut self,
        rows: &Batch,
        row: usize,
        (types, used): (&[EdgeTypeId], &[Arc<Column>]),
        cx: &mut Exec<'_>,
    ) -> Result<Vec<VertexId>, QueryError> {
        let p = self.plan;
        let Some(start) = rows.column(p.from).vertex(row) else { return Ok(Vec::new()) };
        let target = p.into.then(|| rows.column(p.to).vertex(row));
        let circles = p.way == Way::Both && p.min == 1 && !p.repeats;
        let mut search = Search {
            start,
            found: VertexSet::default(),
            ends: Vec::new(),
            next: Vec::new(),
            branches: circles.then(HashMap::default),
        };
        if p.min == 0 {
            search.reach(start);
        }
        let plain = used.is_empty() && p.filter.is_none() && !circles;
        let (mut frontier, mut distance) = (vec![start], 0);
        let max = p.max.unwrap_or(u64::MAX);
        while !frontier.is_empty() && distance < max {
            if target.is_some_and(|target| target.is_none_or(|end| search.found.contains(end))) {
                break;
            }
            for sources in frontier.chunks(STEP) {
                for ty in types {
                    for direction in p.way.directions() {
                        cx.check()?;
                        if plain {
                            cx.graph().expand_ids(sources, *ty, *direction, &mut self.expansion)?;
                            search.found.expect(self.expansion.neighbours.len());
                            self.expansion.neighbours.iter().for_each(|n| search.reach(*n));
                            continue;
                        }
                        let found = self.edges(sources, (*ty, *direction), (used, row), cx)?;
                        for (edge, to) in satisfying(found, p.filter.as_ref(), rows, row, cx)? {
                            let from =
                                if *direction == Direction::Out { edge.src } else { edge.dst };
                            if circles {
                                search.follow(edge, from, to, distance, max);
                            } else {
                                search.reach(to);
                            }
                        }
                    }
                }
            }
            frontier = std::mem::take(&mut search.next);
            distance += 1;
        }
        Ok(match target {
            None => search.ends,
            Some(end) => end.filter(|end| search.found.contains(*end)).into_iter().collect(),
        })
    }

    /// The relationships of some nodes that a row has not used, and where they lead.
    fn edges(
        &mut self,
        sources: &[VertexId],
        (ty, direction): (EdgeTypeId, Direction),
        (used, row): (&[Arc<Column>], usize),
        cx: &Exec<'_>,
    ) -> Result<Vec<(EdgeId, VertexId)>, ReadError> {
        cx.graph().expand(sources, ty, direction, &mut self.expansion)?;
        let mut found = Vec::with_capacity(self.expansion.neighbours.len());
        for (source, ends) in sources.iter().zip(self.expansion.offsets.windows(2)) {
            for at in ends[0] as usize..ends[1] as usize {
                let neighbour = self.expansion.neighbours[at];
                let ordinal = self.expansion.ordinals[at];
                let edge = edge_of(ty, *source, neighbour, ordinal, direction);
                // A loop is in both lists of its node.
                let twice = self.plan.way == Way::Both
                    && direction == Direction::In
                    && neighbour == *source;
                if !twice && !is_used(edge, used, row) {
                    found.push((edge, neighbour));
                }
            }
        }
        Ok(found)
    }
}

impl Operator for Reach<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let Some((rows, from)) = self.feed.next(cx)? else { return Ok(None) };
            let (used, types) =
                (columns(&rows, &self.plan.distinct_from), self.plan.types.ids(cx.graph()));
            let (mut numbers, mut ends) = (Vec::new(), Vec::new());
            let (mut row, wanted) = (from, self.ramp.step());
            while row < rows.rows() && ends.len() < wanted {
                ends.append(&mut self.search(&rows, row, (&types, &used), cx)?);
                numbers.resize(ends.len(), row as u32);
                row += 1;
            }
            let mut out = rows.gather(&numbers);
            self.feed.keep(rows, row);
            if out.rows() > 0 {
                if !self.plan.into {
                    out.set(self.plan.to, Column::from(ends));
                }
                return Ok(Some(out));
            }
        }
    }
}
