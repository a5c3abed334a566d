//! Nodes that an index has for a key or range.

use std::collections::HashSet;
use std::ops::Range;

use telar_graph::{Value, VertexId};

use super::count_store::each_step;
use super::feed::Feed;
use super::memory::Held;
use super::scan::joined;
use super::seek::{MANY, Ranges, in_order, sort_from, tested, was_read};
use super::{Exec, Operator, Ramp, Source};
use crate::batch::Batch;
use crate::plan;
use crate::query_error::QueryError;

/// For each row of the input the nodes that an index has for its key or range.
pub(crate) struct IndexSeek<'p> {
    input: Feed<'p>,
    plan: &'p plan::IndexSeek,
    /// Rows of the input, what was found for them, and up to where it was handed on.
    left: Option<(Batch, Found, usize)>,
    /// What is left.
    ramp: Ramp,
    held: Held,
}

/// Rows, with the nodes found for them.
#[derive(Default)]
struct Found {
    rows: Vec<u32>,
    nodes: Vec<VertexId>,
    /// Nothing needs to be tested.
    exact: bool,
    /// As many as were asked for: there may be more, which come behind them.
    cut: bool,
    /// Found without the index.
    scanned: bool,
    /// Rows that were looked at, of which each may have found as much as the index has.
    done: usize,
}

/// Rows that are looked at first, before it is known how many nodes each finds.
const FIRST_ROWS: usize = 64;

impl Found {
    fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<u32>() + self.nodes.capacity() * size_of::<VertexId>()
    }

    /// Up to so many from a place on: all of them without a copy.
    fn part(&mut self, from: usize, most: usize) -> (Vec<u32>, Vec<VertexId>) {
        if from == 0 && self.nodes.len() <= most && !self.cut {
            return (std::mem::take(&mut self.rows), std::mem::take(&mut self.nodes));
        }
        let end = self.nodes.len().min(from + most);
        let part = from.min(end)..end;
        (self.rows[part.clone()].to_vec(), self.nodes[part].to_vec())
    }
}

impl<'p> IndexSeek<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::IndexSeek, ramp: Ramp) -> Self {
        Self { input: Feed::new(input), plan, ramp, left: None, held: Held::of("IndexSeek") }
    }

    /// Whole keys, of these rows at once.
    fn look_up(
        &self,
        ranges: &Ranges<'_>,
        rows: Range<usize>,
        cx: &Exec<'_>,
        found: &mut Found,
    ) -> Result<bool, QueryError> {
        let mut keys: Vec<Value> = Vec::with_capacity(rows.len() * ranges.keys());
        let mut places: Vec<u32> = Vec::with_capacity(rows.len());
        for row in rows {
            ranges.push_prefixes(row, &mut found.exact, (&mut keys, &mut places));
        }
        let mut pairs = Vec::with_capacity(places.len());
        let index = self.plan.sought.index;
        if !was_read(cx.graph().lookup_vertices(index, &keys, &mut pairs))? {
            return Ok(false);
        }
        for (place, _) in &mut pairs {
            *place = places[*place as usize];
        }
        if ranges.may_overlap() {
            pairs.sort_unstable();
            pairs.dedup();
        }
        found.rows.extend(pairs.iter().map(|(row, _)| *row));
        found.nodes.extend(pairs.into_iter().map(|(_, node)| node));
        Ok(true)
    }

    /// The first `limit` of a range, if there is only one row.
    fn read(
        &self,
        ranges: &Ranges<'_>,
        rows: Range<usize>,
        limit: Option<usize>,
        cx: &Exec<'_>,
        found: &mut Found,
    ) -> Result<bool, QueryError> {
        for row in rows {
            cx.check_now()?;
            let mut all = ranges.of(row, &mut found.exact);
            let order = self.plan.sought.order.as_ref();
            debug_assert!(order.is_none() || all.len() <= 1, "ranges are not in order");
            // Of several ranges, the end of the first is not where the next one begins.
            if let ([range], Some(limit)) = (&mut all[..], limit) {
                range.limit = limit;
            }
            let (first, several) = (found.nodes.len(), all.len() > 1);
            for range in all {
                let index = self.plan.sought.index;
                if !was_read(cx.graph().index_vertices(index, &range, &mut found.nodes))? {
                    return Ok(false);
                }
                // A long read ends when the statement is to.
                cx.check_now()?;
                found.cut = found.nodes.len() >= range.limit;
            }
            if several && ranges.may_overlap() {
                sort_from(first, &mut found.nodes);
            }
            found.rows.resize(found.nodes.len(), row as u32);
        }
        Ok(true)
    }

    /// Finds the nodes for the first of these rows, or for all; of one row `limit`, if it can.
    /// Without the index, those are left out that are `known`.
    fn seek(
        &self,
        rows: &Batch,
        limit: usize,
        known: &[VertexId],
        cx: &mut Exec<'_>,
    ) -> Result<Found, QueryError> {
        let ranges = Ranges::new(&self.plan.sought, rows, cx)?;
        let mut found = Found { exact: true, ..Found::default() };
        let some = limit < usize::MAX && rows.rows() == 1 && !self.plan.sought.is_unique();
        let told = ranges.can_be_told(rows.rows());
        // A unique key finds no more than one.
        let first = if self.plan.sought.is_unique() { rows.rows() } else { FIRST_ROWS };
        let (mut read, mut step) = (told, first);
        let limit = (rows.rows() == 1).then_some(limit);
        while read && found.done < rows.rows() && found.nodes.len() < MANY {
            let part = found.done..rows.rows().min(found.done + step);
            found.done = part.end;
            read = match ranges.are_points() && !some {
                true => self.look_up(&ranges, part, cx, &mut found)?,
                false => self.read(&ranges, part, limit, cx, &mut found)?,
            };
            step *= 2;
        }
        if read {
            return Ok(found);
        }
        // The index went since the plan was made, is younger than what is read, or does not hold
        // what is sought.
        let (mut all, mut found) = (Vec::new(), Found { scanned: true, ..Found::default() });
        let known: HashSet<VertexId> = known.iter().copied().collect();
        if let Some(label) = self.plan.label.find(cx.graph()) {
            each_step(Some(label), cx, |_, nodes| {
                all.extend(nodes.iter().copied().filter(|node| !known.contains(node)));
                Ok(())
            })?;
            all = in_order(all, self.plan.slot, &self.plan.sought, cx)?;
        }
        while found.done < rows.rows() && found.nodes.len() < MANY {
            cx.check()?;
            found.nodes.extend(&all);
            found.rows.resize(found.nodes.len(), found.done as u32);
            found.done += 1;
        }
        Ok(found)
    }
}

impl Operator for IndexSeek<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let (rows, mut found, mut from) = match self.left.take() {
                Some(left) => left,
                None => {
                    let Some((rows, _)) = self.input.next(cx)? else { return Ok(None) };
                    let few = !self.ramp.is_full();
                    let limit = if few { self.ramp.rows() } else { usize::MAX };
                    let found = self.seek(&rows, limit, &[], cx)?;
                    if found.done < rows.rows() {
                        self.input.keep(rows.slice(found.done, rows.rows()), 0);
                    }
                    (rows, found, 0)
                }
            };
            cx.check()?;
            if found.cut && from >= found.nodes.len() {
                // What was read is read again: with sixteen times as many, that is little.
                found = self.seek(&rows, from.saturating_mul(16), &found.nodes, cx)?;
                from = if found.scanned { 0 } else { from };
            }
            let (exact, wanted) = (found.exact, self.ramp.step());
            let (numbers, nodes) = found.part(from, wanted);
            let mut batch = joined(&rows, &numbers, self.plan.slot, nodes);
            let next = from + batch.rows();
            self.held.set(found.bytes(), cx)?;
            let more = next < found.nodes.len() || found.cut;
            self.left = more.then_some((rows, found, next));
            if !exact {
                batch = tested(batch, &self.plan.sought, cx)?;
            }
            if batch.rows() > 0 {
                return Ok(Some(batch));
            }
        }
    }
}
