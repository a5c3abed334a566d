//! Relationships that an index has for a key or range, with the nodes at their ends.

use std::collections::{HashSet, VecDeque};
use std::ops::Range;

use telar_graph::{Direction, EdgeId, EdgeTypeId, Expansion, VertexId};

use super::count_store::each_step;
use super::expand::{columns, edge_of, is_used};
use super::feed::Feed;
use super::memory::Held;
use super::seek::{MANY, Ranges, in_order, sort_from, tested, was_read};
use super::{Exec, Operator, Ramp, Source};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::plan::{self, Name, Way};
use crate::query_error::QueryError;

/// For each row of the input the relationships that an index has for its key or range.
pub(crate) struct RelationshipSeek<'p> {
    input: Feed<'p>,
    plan: &'p plan::RelationshipSeek,
    /// Relationships to read for a row, before more are read.
    first: usize,
    /// A row of which there may be more: how many relationships to read, and what was found.
    cut: Option<(Batch, usize, Found)>,
    ready: VecDeque<Batch>,
    /// What is ready.
    held: Held,
}

/// Slots of the ends, and the direction from the first to the second.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    pub(super) from: Slot,
    pub(super) to: Slot,
    pub(super) way: Way,
}

/// Rows, with the relationships found for them, and which of the ends is `from`.
#[derive(Default)]
pub(super) struct Found {
    rows: Vec<u32>,
    edges: Vec<EdgeId>,
    from: Vec<VertexId>,
    to: Vec<VertexId>,
    /// Nothing needs to be tested.
    exact: bool,
    /// As many as were asked for: there may be more, which come behind them.
    cut: bool,
    /// Found without the index.
    scanned: bool,
    /// Rows that were looked at.
    done: usize,
}

impl<'p> RelationshipSeek<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::RelationshipSeek, ramp: Ramp) -> Self {
        let (input, ready) = (Feed::new(input), VecDeque::new());
        let first = if ramp.is_full() { usize::MAX } else { ramp.rows() };
        Self { input, plan, first, cut: None, ready, held: Held::of("RelationshipSeek") }
    }

    fn ends(&self) -> Ends {
        Ends { from: self.plan.from, to: self.plan.to, way: self.plan.way }
    }

    /// Finds the relationships for the first of these rows, or for all; of one row `limit`, if it
    /// can. Without the index, those are left out that are `known`.
    fn seek(
        &self,
        rows: &Batch,
        limit: usize,
        known: &[EdgeId],
        cx: &mut Exec<'_>,
    ) -> Result<Found, QueryError> {
        let p = self.plan;
        let ranges = Ranges::new(&p.sought, rows, cx)?;
        let told = ranges.can_be_told(rows.rows());
        let used = columns(rows, &p.distinct_from);
        let mut found = Found { exact: true, ..Found::default() };
        let mut edges: Vec<EdgeId> = Vec::new();
        for row in 0..rows.rows() {
            cx.check()?;
            if found.edges.len() >= MANY {
                break;
            }
            found.done = row + 1;
            edges.clear();
            let mut read = Ok(());
            let mut all = if told { ranges.of(row, &mut found.exact) } else { Vec::new() };
            debug_assert!(p.sought.order.is_none() || all.len() <= 1, "ranges are not in order");
            if let [range] = &mut all[..]
                && rows.rows() == 1
            {
                range.limit = limit;
            }
            for range in &all {
                read =
                    read.and_then(|()| cx.graph().index_edges(p.sought.index, range, &mut edges));
            }
            // A long read ends when the statement is to.
            cx.check_now()?;
            if all.len() > 1 && ranges.may_overlap() {
                sort_from(0, &mut edges);
            }
            if !told || !was_read(read)? {
                // The index went since the plan was made, is younger than what is read, or does not
                // hold what is sought.
                edges.clear();
                found.exact = false;
                all_edges(&p.ty, cx, &mut edges)?;
                edges = in_order(edges, p.edge, &p.sought, cx)?;
                // Those that the index had before it went are not found again.
                let known: HashSet<EdgeId> = known.iter().copied().collect();
                edges.retain(|edge| !known.contains(edge));
                found.scanned = true;
            }
            found.cut = all.iter().any(|range| edges.len() >= range.limit) && !found.scanned;
            for edge in edges.iter().filter(|edge| !is_used(**edge, &used, row)) {
                found.add(row as u32, *edge, self.ends());
            }
        }
        Ok(found)
    }
}

impl Found {
    fn bytes(&self) -> usize {
        let ends = (self.from.capacity() + self.to.capacity()) * size_of::<VertexId>();
        let edges = self.edges.capacity() * size_of::<EdgeId>();
        self.rows.capacity() * size_of::<u32>() + edges + ends
    }

    /// Number of relationships, each once for each direction.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn add(&mut self, row: u32, edge: EdgeId, ends: Ends) {
        let (src, dst) = (edge.src, edge.dst);
        let ways: &[(VertexId, VertexId)] = match ends.way {
            Way::Out => &[(src, dst)],
            Way::In => &[(dst, src)],
            // A loop is the same both ways.
            Way::Both if src == dst => &[(src, dst)],
            Way::Both => &[(src, dst), (dst, src)],
        };
        for (from, to) in ways.iter().filter(|(from, to)| ends.from != ends.to || from == to) {
            self.rows.push(row);
            self.edges.push(edge);
            self.from.push(*from);
            self.to.push(*to);
        }
    }

    /// Some of them, with their rows.
    pub(super) fn batch(&self, rows: &Batch, part: Range<usize>, edge: Slot, ends: Ends) -> Batch {
        let mut out = rows.gather(&self.rows[part.clone()]);
        out.set(edge, Column::from(self.edges[part.clone()].to_vec()));
        out.set(ends.from, Column::from(self.from[part.clone()].to_vec()));
        out.set(ends.to, Column::from(self.to[part].to_vec()));
        out
    }
}

/// Every edge of a type.
fn all_edges(
    ty: &Name<EdgeTypeId>,
    cx: &mut Exec<'_>,
    out: &mut Vec<EdgeId>,
) -> Result<(), QueryError> {
    let Some(ty) = ty.find(cx.graph()) else { return Ok(()) };
    let mut expansion = Expansion::default();
    each_step(None, cx, |graph, sources| {
        graph.expand(sources, ty, Direction::Out, &mut expansion)?;
        for (at, source) in sources.iter().enumerate() {
            for i in expansion.offsets[at] as usize..expansion.offsets[at + 1] as usize {
                let (neighbour, ordinal) = (expansion.neighbours[i], expansion.ordinals[i]);
                out.push(edge_of(ty, *source, neighbour, ordinal, Direction::Out));
            }
        }
        Ok(())
    })
}

impl Operator for RelationshipSeek<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                self.held.shrink(batch.bytes());
                return Ok(Some(batch));
            }
            let (rows, limit, before) = match self.cut.take() {
                Some(cut) => cut,
                None => {
                    let Some((rows, _)) = self.input.next(cx)? else { return Ok(None) };
                    (rows, self.first, Found::default())
                }
            };
            let found = self.seek(&rows, limit, &before.edges, cx)?;
            self.held.set(before.bytes() + found.bytes(), cx)?;
            self.held.shrink(before.bytes());
            let from = if found.scanned { 0 } else { before.len() };
            drop(before);
            if found.done < rows.rows() {
                self.input.keep(rows.slice(found.done, rows.rows()), 0);
            }
            for start in (from..found.rows.len()).step_by(BATCH_ROWS) {
                cx.check()?;
                let part = start..found.rows.len().min(start + BATCH_ROWS);
                let mut out = found.batch(&rows, part, self.plan.edge, self.ends());
                if !found.exact {
                    out = tested(out, &self.plan.sought, cx)?;
                }
                if out.rows() > 0 {
                    self.held.grow(out.bytes(), cx)?;
                    self.ready.push_back(out);
                }
            }
            match found.cut {
                // What was read is read again: with sixteen times as many, that is little.
                true => self.cut = Some((rows, limit.saturating_mul(16), found)),
                false => self.held.shrink(found.bytes()),
            }
        }
    }
}
