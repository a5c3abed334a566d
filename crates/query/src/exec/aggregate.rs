//! Grouping.
//!
//! Where groups take too much memory, what was learnt so far is split by a hash of the keys, the
//! rows that follow go to a file, apart by the same hash, and the partitions are finished one after
//! the other. The rows of a group stay in order, so that lists and sums are what they would be.

use std::sync::Arc;

use super::group::Groups;
use super::memory::Held;
use super::parallel::Input;
use super::share::{Pace, Work, share};
use super::spill::{LEVELS_MAX, PARTITIONS, Part, Partitions};
use super::totals::Totals;
use super::{Exec, Operator};
use crate::aggregate::Accumulator;
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::exec::eval::eval;
use crate::plan;
use crate::query_error::QueryError;

/// Nodes whose keys are read at once.
const NODES_AT_ONCE: usize = 2 * BATCH_ROWS;

/// One row per group, in the order in which the groups were met first, as long as they fit.
///
/// Keys that are properties of one node, of which many rows may have the same, are read once per
/// node: rows are grouped by the node first, and then its groups by their keys.
pub(crate) struct Aggregate<'p> {
    input: Input<'p>,
    by: By<'p>,
    begun: bool,
    /// Groups that are complete, and how many have gone out.
    done: Option<(Partial, usize)>,
    /// Partitions that wait, each in the order it was read, and how often they were split.
    waiting: Vec<(Waiting, u32)>,
}

/// The pieces of a partition, in the order they were written, with rows that came after.
type Waiting = Vec<(Split, Option<Part>)>;

/// How rows are grouped.
#[derive(Clone, Copy)]
struct By<'p> {
    plan: &'p plan::Aggregate,
    /// The node that is grouped by first.
    node: Option<Slot>,
    /// Splits so far.
    level: u32,
}

/// What is known of rows that were read.
enum Known {
    /// All groups; by node, if so.
    Here(Partial, bool),
    /// Once they are too many, parts of them.
    Split(Vec<Segment>),
}

/// Groups apart by a hash of their keys, and rows that came after them, by the same hash.
struct Segment {
    split: Vec<Split>,
    rows: Option<Partitions>,
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
    keys: Vec<Column>,
    totals: Vec<Totals>,
    held: Held,
}

/// Rows to be grouped.
struct Rows {
    rows: usize,
    keys: Vec<Arc<Column>>,
    /// The arguments of each call.
    arguments: Vec<Vec<Arc<Column>>>,
}

impl Rows {
    /// Keys and arguments for rows of the input.
    fn read(
        rows: &Batch,
        node: Option<Slot>,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<Self, QueryError> {
        let keys = match node {
            Some(node) => vec![Arc::clone(rows.column(node))],
            None => eval_keys(plan, rows, cx)?,
        };
        let mut arguments = Vec::with_capacity(plan.aggregates.len());
        for (_, call) in &plan.aggregates {
            let columns = call.arguments.iter().map(|argument| eval(argument, rows, cx));
            arguments.push(columns.collect::<Result<_, _>>()?);
        }
        Ok(Self { rows: rows.rows(), keys, arguments })
    }

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
        self.groups.assign(&rows.keys, rows.rows, numbers)?;
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

    /// Takes what another one has of rows that came after these.
    fn merge(
        &mut self,
        other: Self,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        cx.check_now()?;
        let mut numbers = Vec::new();
        let (rows, keys) = (other.groups.len(), other.groups.into_columns());
        let keys: Vec<_> = keys.into_iter().map(Arc::new).collect();
        self.groups.assign(&keys, rows, &mut numbers)?;
        self.grow(plan)?;
        for (from, to) in other.totals.into_iter().zip(&mut self.totals) {
            from.merge_into(to, &numbers)?;
        }
        self.kept = self.totals.iter().map(Totals::kept_bytes).sum();
        Ok(())
    }

    /// Groups by a hash of their keys.
    fn split(mut self, level: u32, cx: &Exec<'_>) -> Result<Vec<Split>, QueryError> {
        let parts = self.groups.partitions(level);
        let mut keys = self.groups.into_columns();
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

/// The keys of rows, column by column.
fn eval_keys(
    plan: &plan::Aggregate,
    rows: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Vec<Arc<Column>>, QueryError> {
    plan.keys.iter().map(|(_, key)| eval(key, rows, cx)).collect()
}

impl Segment {
    fn new(partial: Partial, by: By<'_>, cx: &Exec<'_>) -> Result<Self, QueryError> {
        Ok(Self { split: partial.split(by.level, cx)?, rows: None })
    }
}

impl<'p> By<'p> {
    /// Nothing yet.
    fn nothing(self) -> Result<Known, QueryError> {
        let keys = if self.node.is_some() { 1 } else { self.plan.keys.len() };
        Ok(Known::Here(Partial::new(keys, self.plan)?, self.node.is_some()))
    }

    /// Whether it matters which of two rows came first: for the order of groups, and for what
    /// depends on the order of values.
    fn is_ordered(self) -> bool {
        let counts = |(_, call): &(Slot, plan::AggregateCall)| &*call.function == "count";
        !self.plan.keys.is_empty() || !self.plan.aggregates.iter().all(counts)
    }

    /// Takes rows of the input.
    fn take(self, known: &mut Known, rows: &Batch, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        cx.check()?;
        let node = self.node.filter(|_| matches!(known, Known::Here(_, true)));
        let rows = Rows::read(rows, node, self.plan, cx)?;
        self.add(known, &rows, cx)
    }

    /// Takes rows, in pieces.
    fn add(self, known: &mut Known, all: &Rows, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let piece = self.piece(known, cx);
        let mut numbers = Vec::new();
        for start in (0..all.rows).step_by(piece) {
            let whole = piece >= all.rows;
            let cut = (!whole).then(|| all.slice(start, all.rows.min(start + piece)));
            let rows = cut.as_ref().unwrap_or(all);
            match known {
                Known::Here(partial, _) => {
                    partial.add(rows, self.plan, &mut numbers)?;
                    self.keep(known, cx)?;
                }
                Known::Split(segments) => {
                    let Some(last) = segments.last_mut() else { continue };
                    let partitions = match &mut last.rows {
                        Some(partitions) => partitions,
                        none => none.insert(Partitions::new("Aggregate", self.level, cx)?),
                    };
                    partitions.add(&rows.keys, &rows.batch(), cx)?;
                }
            }
        }
        Ok(())
    }

    /// Rows that are taken at once: where there is little room, few.
    fn piece(self, known: &Known, cx: &Exec<'_>) -> usize {
        match known {
            Known::Here(partial, false) => {
                let group = size_of::<[telar_graph::Value; 4]>() + size_of::<Accumulator>();
                let bytes = group * (self.plan.keys.len() + self.plan.aggregates.len()).max(1);
                (partial.held.share(cx) / 8 / bytes).max(16)
            }
            _ => usize::MAX,
        }
    }

    /// Takes what another one has of rows that came after these.
    fn merge(
        self,
        known: &mut Known,
        mut other: Known,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        if !matches!((&*known, &other), (Known::Here(_, a), Known::Here(_, b)) if a == b) {
            self.regroup(known, cx)?;
            self.regroup(&mut other, cx)?;
        }
        match other {
            Known::Here(other, _) => self.absorb(known, other, cx),
            Known::Split(more) => {
                self.split(known, cx)?;
                if let Known::Split(segments) = known {
                    segments.extend(more);
                }
                Ok(())
            }
        }
    }

    /// Takes groups of rows that came after these.
    fn absorb(
        self,
        known: &mut Known,
        other: Partial,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        match known {
            Known::Here(partial, _) => {
                partial.merge(other, self.plan, cx)?;
                self.keep(known, cx)
            }
            Known::Split(segments) => {
                segments.push(Segment::new(other, self, cx)?);
                Ok(())
            }
        }
    }

    /// Accounts for what is known, and splits it if it is too much.
    fn keep(self, known: &mut Known, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let too_much = |known: &Known, cx: &Exec<'_>| match known {
            Known::Here(partial, _) => partial.held.exceeds(partial.bytes(), cx),
            Known::Split(_) => false,
        };
        if too_much(known, cx) {
            // There may be fewer keys than nodes.
            self.regroup(known, cx)?;
        }
        let over = too_much(known, cx);
        let Known::Here(partial, _) = known else { return Ok(()) };
        let many = partial.groups.len() > 1 && self.level < LEVELS_MAX && cx.scratch().is_some();
        if over && many {
            return self.split(known, cx);
        }
        partial.held.set(partial.bytes(), cx)
    }

    /// Splits what is known.
    fn split(self, known: &mut Known, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        self.regroup(known, cx)?;
        if let Known::Here(partial, _) = known {
            let nothing = Partial::new(self.plan.keys.len(), self.plan)?;
            let partial = std::mem::replace(partial, nothing);
            *known = Known::Split(vec![Segment::new(partial, self, cx)?]);
        }
        Ok(())
    }

    /// Groups the groups of nodes by the keys, if they are not.
    fn regroup(self, known: &mut Known, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let (Known::Here(partial, by_node @ true), Some(node)) = (known, self.node) else {
            return Ok(());
        };
        let plan = self.plan;
        let regrouped = Partial::new(plan.keys.len(), plan)?;
        let nodes = std::mem::replace(partial, regrouped);
        *by_node = false;
        let column = nodes.groups.into_columns().pop().expect("INVARIANT: they have one key");
        let parts: Vec<(usize, usize)> = (0..column.len())
            .step_by(NODES_AT_ONCE)
            .map(|from| (from, column.len().min(from + NODES_AT_ONCE)))
            .collect();
        // Threads read the keys; the groups are made by one.
        let read = |read: &mut Vec<Vec<Arc<Column>>>, part: usize, cx: &mut Exec<'_>| {
            cx.check()?;
            let (from, to) = parts[part];
            let mut rows = Batch::empty(to - from);
            rows.set(node, column.slice(from, to));
            read.push(eval_keys(plan, &rows, cx)?);
            Ok(())
        };
        let tasks = parts.len();
        let work = Work { tasks, ordered: true, new: &Vec::new, step: &read };
        let read = share(work, Vec::new(), &mut Pace::default(), cx)?;
        let (mut numbers, mut all) = (Vec::new(), Vec::with_capacity(column.len()));
        for (keys, (from, to)) in read.into_iter().flatten().zip(&parts) {
            partial.groups.assign(&keys, to - from, &mut numbers)?;
            partial.grow(plan)?;
            all.extend_from_slice(&numbers);
        }
        for (from, to) in nodes.totals.into_iter().zip(&mut partial.totals) {
            from.merge_into(to, &all)?;
        }
        partial.kept = partial.totals.iter().map(Totals::kept_bytes).sum();
        drop(nodes.held);
        partial.held.set(partial.bytes(), cx)
    }
}

impl<'p> Aggregate<'p> {
    pub(crate) fn new(input: Input<'p>, plan: &'p plan::Aggregate) -> Self {
        let by = By { plan, node: plan.by_node, level: 0 };
        Self { input, by, begun: false, done: None, waiting: Vec::new() }
    }

    /// Reads all rows and groups them, by the node if there is one, else by the keys.
    fn read(&mut self, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let by = self.by;
        // What fails to begin does so here.
        by.nothing()?;
        let new = || by.nothing().unwrap_or_else(|_| Known::Split(Vec::new()));
        let take = |known: &mut Known, rows: Batch, cx: &mut Exec<'_>| by.take(known, &rows, cx);
        let mut merge = |all: &mut Known, other: Known, cx: &mut Exec<'_>| by.merge(all, other, cx);
        let mut known = self.input.fold(by.is_ordered(), &new, &take, &mut merge, cx)?;
        by.regroup(&mut known, cx)?;
        self.finish(known, 0);
        Ok(())
    }

    /// What is known is all there is of these rows.
    fn finish(&mut self, known: Known, level: u32) {
        match known {
            Known::Here(partial, _) => self.done = Some((partial, 0)),
            Known::Split(segments) => {
                let mut parts: Vec<Waiting> = Vec::new();
                parts.resize_with(PARTITIONS, Vec::new);
                for Segment { split, rows } in segments {
                    let mut rows = rows.map(Partitions::into_parts);
                    for (part, split) in parts.iter_mut().zip(split) {
                        part.push((split, rows.as_mut().and_then(Iterator::next)));
                    }
                }
                self.waiting.extend(parts.into_iter().map(|part| (part, level + 1)));
            }
        }
    }

    /// Groups a partition.
    fn group(&mut self, part: Waiting, level: u32, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let by = By { node: None, level, ..self.by };
        let mut known: Option<Known> = None;
        for (split, rows) in part {
            let partial = split.join(cx)?;
            let known = match &mut known {
                Some(known) => {
                    by.absorb(known, partial, cx)?;
                    known
                }
                none => none.insert(Known::Here(partial, false)),
            };
            let Some(mut rows) = rows else { continue };
            while let Some(batch) = rows.next(cx)? {
                by.add(known, &Rows::of(&batch, by.plan), cx)?;
            }
        }
        if let Some(known) = known {
            self.finish(known, level);
        }
        Ok(())
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
        for (at, (slot, _)) in self.by.plan.keys.iter().enumerate() {
            out.set(*slot, partial.groups.give(at, part.clone()));
        }
        for ((slot, _), totals) in self.by.plan.aggregates.iter().zip(&mut partial.totals) {
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
                self.read(cx)?;
                continue;
            }
            let Some((part, level)) = self.waiting.pop() else { return Ok(None) };
            self.group(part, level, cx)?;
        }
    }
}
