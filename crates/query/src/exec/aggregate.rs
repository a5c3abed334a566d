//! Grouping.
//!
//! Where the groups take too much memory, what was learnt so far is split by a hash of the keys, the
//! rows that follow go to a file, apart by the same hash, and the partitions are finished one after
//! the other. The rows of a group stay in order, so that lists and sums are what they would be.

use std::sync::Arc;

use super::group::Groups;
use super::memory::Held;
use super::spill::{LEVELS_MAX, Part, Partitions};
use super::totals::Totals;
use super::{Exec, Operator, Source};
use crate::aggregate::Accumulator;
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::expr::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// One row per group, in the order in which the groups were met first, as long as they fit.
///
/// Keys that are properties of one node, of which many rows may have the same, are read once per
/// node: rows are grouped by the node first, and then its groups by their keys.
pub(crate) struct Aggregate<'p> {
    input: Source<'p>,
    plan: &'p plan::Aggregate,
    /// The node that is grouped by first.
    node: Option<Slot>,
    begun: bool,
    /// Groups that are complete, and how many have gone out.
    done: Option<(Partial, usize)>,
    /// Partitions that wait: what was learnt, and the rows that follow.
    waiting: Vec<(Split, Part, u32)>,
}

/// What was learnt of some of the rows: groups, and the totals of each.
struct Partial {
    groups: Groups,
    totals: Vec<Totals>,
    /// Bytes that the totals keep of values.
    kept: usize,
    held: Held,
}

/// A part of a [`Partial`], without the tables that find groups.
struct Split {
    keys: Vec<Vec<telar_graph::Value>>,
    totals: Vec<Totals>,
    held: Held,
}

/// What is known while rows are read: all groups, or, once they are too many, parts of them, and
/// where the rows go that follow.
enum Known {
    Here(Partial),
    Split(Vec<Split>, Partitions),
}

/// Rows to be grouped.
struct Rows {
    rows: usize,
    keys: Vec<Arc<Column>>,
    /// The arguments of each call.
    arguments: Vec<Vec<Arc<Column>>>,
}

/// Where they come from.
enum Feed {
    Input,
    Part(Part),
}

impl Rows {
    /// Keys and arguments as columns, from 0 on.
    fn batch(&self) -> Batch {
        let mut batch = Batch::empty(self.rows);
        let columns = self.keys.iter().chain(self.arguments.iter().flatten());
        columns.enumerate().for_each(|(slot, column)| batch.set(slot, Arc::clone(column)));
        batch
    }

    /// The rows `from..to`.
    fn slice(&self, from: usize, to: usize) -> Self {
        if to - from == self.rows {
            let (keys, arguments) = (self.keys.clone(), self.arguments.clone());
            return Self { rows: self.rows, keys, arguments };
        }
        let rows: Vec<u32> = (from as u32..to as u32).collect();
        let some = |columns: &Vec<Arc<Column>>| -> Vec<Arc<Column>> {
            columns.iter().map(|column| Arc::new(column.gather(&rows))).collect()
        };
        let arguments = self.arguments.iter().map(some).collect();
        Self { rows: rows.len(), keys: some(&self.keys), arguments }
    }

    /// What [`batch`](Self::batch) made a batch of.
    fn of(batch: &Batch, plan: &plan::Aggregate) -> Self {
        let mut columns = batch.slots().map(|slot| Arc::clone(batch.column(slot)));
        let keys = columns.by_ref().take(plan.keys.len()).collect();
        let arguments = |call: &plan::AggregateCall| {
            columns.by_ref().take(call.arguments.len()).collect::<Vec<_>>()
        };
        let arguments = plan.aggregates.iter().map(|(_, call)| call).map(arguments).collect();
        Self { rows: batch.rows(), keys, arguments }
    }
}

impl Partial {
    /// Nothing yet, with so many keys.
    fn new(keys: usize, plan: &plan::Aggregate) -> Result<Self, QueryError> {
        let totals = plan.aggregates.iter().map(|(_, call)| Totals::new(call)).collect();
        let held = Held::of("Aggregate");
        let mut partial = Self { groups: Groups::new(keys), totals, kept: 0, held };
        partial.grow(plan)?;
        Ok(partial)
    }

    /// Makes room for groups that were just met.
    fn grow(&mut self, plan: &plan::Aggregate) -> Result<(), QueryError> {
        for (totals, (_, call)) in self.totals.iter_mut().zip(&plan.aggregates) {
            totals.grow(self.groups.len(), call)?;
        }
        Ok(())
    }

    /// Takes rows; `numbers` is room for the group of each.
    fn add(
        &mut self,
        rows: &Rows,
        plan: &plan::Aggregate,
        numbers: &mut Vec<u32>,
    ) -> Result<(), QueryError> {
        self.groups.assign(&rows.keys, rows.rows, numbers);
        self.grow(plan)?;
        let only_group = rows.keys.is_empty();
        for (totals, arguments) in self.totals.iter_mut().zip(&rows.arguments) {
            self.kept += totals.update(arguments, numbers, only_group)?;
        }
        Ok(())
    }

    /// Bytes of everything.
    fn bytes(&self) -> usize {
        let totals: usize = self.totals.iter().map(Totals::own_bytes).sum();
        self.groups.bytes() + totals + self.kept
    }

    /// Groups by a hash of their keys.
    fn split(mut self, level: u32, cx: &Exec<'_>) -> Result<Vec<Split>, QueryError> {
        let parts = self.groups.partitions(level);
        let mut keys = self.groups.into_keys();
        self.held.clear();
        let mut split = Vec::with_capacity(parts.len());
        for part in &parts {
            let keys = Groups::take(&mut keys, part);
            let totals: Vec<Totals> = self.totals.iter_mut().map(|t| t.take(part)).collect();
            let bytes = |totals: &Totals| totals.own_bytes() + totals.kept_bytes();
            let mut held = Held::of("Aggregate");
            held.grow(Groups::bytes_of(&keys) + totals.iter().map(bytes).sum::<usize>(), cx)?;
            split.push(Split { keys, totals, held });
        }
        Ok(split)
    }
}

impl Split {
    /// The groups, to go on with.
    fn join(self, cx: &Exec<'_>) -> Result<Partial, QueryError> {
        let Self { keys, totals, held } = self;
        let kept = totals.iter().map(Totals::kept_bytes).sum();
        drop(held);
        let held = Held::of("Aggregate");
        let mut partial = Partial { groups: Groups::of(keys), totals, kept, held };
        partial.held.set(partial.bytes(), cx)?;
        Ok(partial)
    }
}

impl<'p> Aggregate<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Aggregate) -> Self {
        let node = plan.grouped_node();
        Self { input, plan, node, begun: false, done: None, waiting: Vec::new() }
    }

    fn rows(&mut self, from: &mut Feed, cx: &mut Exec<'_>) -> Result<Option<Rows>, QueryError> {
        let plan = self.plan;
        let rows = match from {
            Feed::Input => self.input.next(cx)?,
            Feed::Part(part) => {
                return Ok(part.next(cx)?.map(|rows| Rows::of(&rows, plan)));
            }
        };
        let Some(rows) = rows else { return Ok(None) };
        let keys = match self.node {
            Some(node) => vec![Arc::clone(rows.column(node))],
            None => {
                let keys = plan.keys.iter().map(|(_, key)| eval(key, &rows, cx));
                keys.collect::<Result<_, _>>()?
            }
        };
        let mut arguments = Vec::with_capacity(plan.aggregates.len());
        for (_, call) in &plan.aggregates {
            let columns = call.arguments.iter().map(|argument| eval(argument, &rows, cx));
            arguments.push(columns.collect::<Result<_, _>>()?);
        }
        Ok(Some(Rows { rows: rows.rows(), keys, arguments }))
    }

    /// Groups all rows from somewhere. Afterwards there are groups that are done, or partitions.
    fn group(
        &mut self,
        partial: Partial,
        mut from: Feed,
        level: u32,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut numbers = Vec::new();
        let mut known = Known::Here(partial);
        while let Some(all) = self.rows(&mut from, cx)? {
            cx.check()?;
            let piece = self.piece(&known, cx);
            for start in (0..all.rows).step_by(piece) {
                let rows = all.slice(start, all.rows.min(start + piece));
                known = match known {
                    Known::Here(mut partial) => {
                        partial.add(&rows, self.plan, &mut numbers)?;
                        self.keep(partial, level, cx)?
                    }
                    Known::Split(split, mut partitions) => {
                        partitions.add(&rows.keys, &rows.batch(), cx)?;
                        Known::Split(split, partitions)
                    }
                };
            }
        }
        match known {
            Known::Here(mut partial) => {
                if let Some(node) = self.node {
                    partial = self.regroup(node, partial, cx)?;
                }
                partial.held.set(partial.bytes(), cx)?;
                self.done = Some((partial, 0));
            }
            Known::Split(split, partitions) => {
                let parts = split.into_iter().zip(partitions.into_parts());
                self.waiting.extend(parts.map(|(split, part)| (split, part, level + 1)));
            }
        }
        Ok(())
    }

    /// Rows that are taken at once: where there is little room, few.
    fn piece(&self, known: &Known, cx: &Exec<'_>) -> usize {
        match known {
            Known::Here(partial) if self.node.is_none() => {
                let group = size_of::<[telar_graph::Value; 4]>() + size_of::<Accumulator>();
                let bytes = group * (self.plan.keys.len() + self.plan.aggregates.len());
                (partial.held.share(cx) / 8 / bytes).max(16)
            }
            _ => usize::MAX,
        }
    }

    /// Keeps what was learnt, or splits it if it is too much.
    fn keep(
        &mut self,
        mut partial: Partial,
        level: u32,
        cx: &mut Exec<'_>,
    ) -> Result<Known, QueryError> {
        let mut bytes = partial.bytes();
        if let Some(node) = self.node
            && partial.held.exceeds(bytes, cx)
        {
            // There may be fewer keys than nodes.
            partial = self.regroup(node, partial, cx)?;
            self.node = None;
            bytes = partial.bytes();
        }
        let many = partial.groups.len() > 1 && level < LEVELS_MAX && cx.scratch().is_some();
        if many && partial.held.exceeds(bytes, cx) {
            let partitions = Partitions::new("Aggregate", level, cx)?;
            return Ok(Known::Split(partial.split(level, cx)?, partitions));
        }
        partial.held.set(bytes, cx)?;
        Ok(Known::Here(partial))
    }

    /// Groups the groups of nodes by the keys.
    fn regroup(
        &self,
        node: Slot,
        partial: Partial,
        cx: &mut Exec<'_>,
    ) -> Result<Partial, QueryError> {
        let Partial { groups, totals, held, .. } = partial;
        let nodes = groups.into_keys().pop().unwrap_or_default();
        let mut regrouped = Partial::new(self.plan.keys.len(), self.plan)?;
        let (mut numbers, mut all) = (Vec::new(), Vec::with_capacity(nodes.len()));
        for part in nodes.chunks(BATCH_ROWS) {
            cx.check()?;
            let mut rows = Batch::empty(part.len());
            rows.set(node, Column::of(part.to_vec()));
            let mut keys = Vec::with_capacity(self.plan.keys.len());
            for (_, key) in &self.plan.keys {
                keys.push(eval(key, &rows, cx)?);
            }
            regrouped.groups.assign(&keys, part.len(), &mut numbers);
            all.extend_from_slice(&numbers);
            regrouped.grow(self.plan)?;
        }
        for (from, to) in totals.into_iter().zip(&mut regrouped.totals) {
            from.merge_into(to, &all)?;
        }
        regrouped.kept = regrouped.totals.iter().map(Totals::kept_bytes).sum();
        drop(held);
        Ok(regrouped)
    }

    /// Rows for the groups that are done.
    fn give(&mut self) -> Result<Option<Batch>, QueryError> {
        let Some((partial, given)) = &mut self.done else { return Ok(None) };
        let part = *given..partial.groups.len().min(*given + BATCH_ROWS);
        if part.is_empty() {
            self.done = None;
            return Ok(None);
        }
        *given = part.end;
        let mut out = Batch::empty(part.len());
        for ((slot, _), keys) in self.plan.keys.iter().zip(partial.groups.keys_mut()) {
            let keys = keys[part.clone()].iter_mut().map(std::mem::take);
            out.set(*slot, Column::of(keys.collect()));
        }
        for ((slot, _), totals) in self.plan.aggregates.iter().zip(&mut partial.totals) {
            out.set(*slot, totals.finish(part.clone())?);
        }
        Ok(Some(out))
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if let Some(out) = self.give()? {
                return Ok(Some(out));
            }
            cx.check()?;
            if !std::mem::replace(&mut self.begun, true) {
                let keys = if self.node.is_some() { 1 } else { self.plan.keys.len() };
                let partial = Partial::new(keys, self.plan)?;
                self.group(partial, Feed::Input, 0, cx)?;
                continue;
            }
            let Some((split, part, level)) = self.waiting.pop() else { return Ok(None) };
            self.group(split.join(cx)?, Feed::Part(part), level, cx)?;
        }
    }
}
