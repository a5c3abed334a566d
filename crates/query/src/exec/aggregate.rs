//! Grouping and `DISTINCT`.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::Value;

use super::group::Groups;
use super::parallel::Input;
use super::share::share;
use super::{Exec, Operator, Source};
use crate::aggregate::{self, Accumulator};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::error::{Detail, EvalError};
use crate::expr::eval::eval;
use crate::plan::{self, AggregateCall};
use crate::query_error::QueryError;

/// Nodes whose keys are read at once.
const NODES_AT_ONCE: usize = 2 * BATCH_ROWS;

/// One row per group, in the order in which the groups were met first.
///
/// Keys that are properties of one node, of which many rows may have the same, are read once per
/// node: rows are grouped by the node first, and then its groups by their keys.
pub(crate) struct Aggregate<'p> {
    input: Input<'p>,
    plan: &'p plan::Aggregate,
    /// The node that is grouped by first.
    node: Option<Slot>,
    groups: Option<Groupings>,
}

/// Everything that was read, and how much of it has gone out.
struct Groupings {
    keys: Vec<Vec<Value>>,
    totals: Vec<Totals>,
    len: usize,
    given: usize,
}

/// One aggregation, for all groups.
enum Totals {
    /// Of rows, or of values that are not null.
    Counts(Vec<i64>),
    /// Anything else.
    Accumulators(Vec<Accumulator>),
}

impl Totals {
    fn new(call: &AggregateCall) -> Self {
        match (&*call.function, call.distinct) {
            ("count", false) => Self::Counts(Vec::new()),
            _ => Self::Accumulators(Vec::new()),
        }
    }

    /// Makes room for so many groups; the bytes that it takes.
    fn grow(&mut self, groups: usize, call: &AggregateCall) -> Result<usize, QueryError> {
        match self {
            Self::Counts(counts) => {
                let more = groups - counts.len();
                counts.resize(groups, 0);
                Ok(more * size_of::<i64>())
            }
            Self::Accumulators(all) => {
                let more = groups - all.len();
                for _ in 0..more {
                    all.push(accumulator(call)?);
                }
                Ok(more * size_of::<Accumulator>())
            }
        }
    }

    /// Takes a batch, of whose rows the groups are known; the bytes that it grew by.
    fn update(
        &mut self,
        columns: &[Arc<Column>],
        groups: &[u32],
        only_group: bool,
    ) -> Result<usize, QueryError> {
        match self {
            Self::Counts(counts) => {
                match columns.first().map(|column| &**column) {
                    Some(column @ (Column::Values(_) | Column::Same(..))) => {
                        let rows = (0..).zip(groups).filter(|(row, _)| !column.is_null(*row));
                        rows.for_each(|(_, group)| counts[*group as usize] += 1);
                    }
                    _ if only_group => counts[0] += groups.len() as i64,
                    _ => {
                        let same = groups.chunk_by(|a, b| a == b);
                        same.for_each(|same| counts[same[0] as usize] += same.len() as i64);
                    }
                }
                Ok(0)
            }
            Self::Accumulators(all) if only_group => {
                let before = all[0].memory_bytes();
                match columns {
                    [column] => update_column(&mut all[0], column)?,
                    columns => update_rows(all, columns, groups)?,
                }
                Ok(all[0].memory_bytes().saturating_sub(before))
            }
            Self::Accumulators(all) => match columns {
                [column] if !all.first().is_some_and(Accumulator::keeps_values) => {
                    if let Column::Ints(ints) = &**column {
                        for (int, group) in ints.iter().zip(groups) {
                            all[*group as usize].update_ints(std::slice::from_ref(int))?;
                        }
                        return Ok(0);
                    }
                    update_rows(all, columns, groups)?;
                    Ok(0)
                }
                columns => {
                    let mut grown = 0;
                    let mut arguments = Vec::with_capacity(columns.len());
                    for (row, group) in groups.iter().enumerate() {
                        let accumulator = &mut all[*group as usize];
                        let before = accumulator.memory_bytes();
                        arguments.clear();
                        arguments.extend(columns.iter().map(|column| column.get(row)));
                        accumulator.update(&arguments)?;
                        grown += accumulator.memory_bytes().saturating_sub(before);
                    }
                    Ok(grown)
                }
            },
        }
    }

    /// Puts groups together: each belongs to the group of `others` whose number is given.
    fn merge_into(self, others: &mut Self, groups: &[u32]) -> Result<(), QueryError> {
        match (self, others) {
            (Self::Counts(from), Self::Counts(to)) => {
                from.iter().zip(groups).for_each(|(n, group)| to[*group as usize] += n);
            }
            (Self::Accumulators(from), Self::Accumulators(to)) => {
                for (accumulator, group) in from.into_iter().zip(groups) {
                    to[*group as usize].merge(accumulator)?;
                }
            }
            _ => unreachable!("INVARIANT: both are of one call"),
        }
        Ok(())
    }

    /// The values of some groups.
    fn finish(&mut self, groups: std::ops::Range<usize>) -> Result<Column, QueryError> {
        Ok(match self {
            Self::Counts(counts) => Column::Ints(counts[groups].to_vec()),
            Self::Accumulators(all) => {
                let values = all[groups].iter_mut().map(Accumulator::finish);
                Column::of(values.collect::<Result<_, _>>()?)
            }
        })
    }
}

fn accumulator(call: &AggregateCall) -> Result<Accumulator, QueryError> {
    match aggregate::lookup(&call.function) {
        _ if call.arguments.is_empty() => Ok(Accumulator::of_rows()),
        Some(function) => Ok(function.accumulator(call.distinct)),
        None => Err(QueryError::database(&EvalError::new(
            Detail::UnknownFunction,
            format!("there is no aggregating function {}", call.function),
        ))),
    }
}

/// Gives a whole column to one accumulator.
fn update_column(accumulator: &mut Accumulator, column: &Column) -> Result<(), QueryError> {
    match column {
        Column::Ints(ints) => accumulator.update_ints(ints)?,
        Column::Vertices(vertices) => accumulator.update_vertices(vertices)?,
        column => {
            for row in 0..column.len() {
                accumulator.update(&[column.get(row)])?;
            }
        }
    }
    Ok(())
}

fn update_rows(
    accumulators: &mut [Accumulator],
    columns: &[Arc<Column>],
    groups: &[u32],
) -> Result<(), QueryError> {
    let mut arguments = Vec::with_capacity(columns.len());
    for (row, group) in groups.iter().enumerate() {
        arguments.clear();
        arguments.extend(columns.iter().map(|column| column.get(row)));
        accumulators[*group as usize].update(&arguments)?;
    }
    Ok(())
}

/// Groups of some of the rows.
struct Partial {
    groups: Groups,
    totals: Vec<Totals>,
    /// The groups of the rows of a batch.
    numbers: Vec<u32>,
    /// Groups that there is room for.
    room: usize,
    /// Bytes of that room.
    held: usize,
}

impl Partial {
    fn new(columns: usize, plan: &plan::Aggregate) -> Self {
        let totals = plan.aggregates.iter().map(|(_, call)| Totals::new(call)).collect();
        Self { groups: Groups::new(columns), totals, numbers: Vec::new(), room: 0, held: 0 }
    }

    /// Finds the groups of rows with these keys.
    fn assign(
        &mut self,
        keys: &[Arc<Column>],
        rows: usize,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        self.groups.assign(keys, rows, &mut self.numbers);
        self.grow(keys.len(), plan, cx)
    }

    /// Makes room for groups that were just met.
    fn grow(
        &mut self,
        keys: usize,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let groups = self.groups.len();
        let mut bytes = (groups - self.room) * (64 + size_of::<Value>() * keys);
        for (totals, (_, call)) in self.totals.iter_mut().zip(&plan.aggregates) {
            bytes += totals.grow(groups, call)?;
        }
        self.room = groups;
        self.held += bytes;
        cx.hold(bytes)
    }

    /// Takes rows of the input.
    fn take(
        &mut self,
        rows: &Batch,
        node: Option<Slot>,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        cx.check()?;
        let keys = match node {
            Some(node) => vec![Arc::clone(rows.column(node))],
            None => eval_keys(plan, rows, cx)?,
        };
        self.assign(&keys, rows.rows(), plan, cx)?;
        let mut grown = 0;
        for (totals, (_, call)) in self.totals.iter_mut().zip(&plan.aggregates) {
            let mut inputs = Vec::with_capacity(call.arguments.len());
            for argument in &call.arguments {
                inputs.push(eval(argument, rows, cx)?);
            }
            grown += totals.update(&inputs, &self.numbers, keys.is_empty())?;
        }
        cx.hold(grown)
    }

    /// Takes what others have that came after it.
    fn merge(
        &mut self,
        other: Self,
        plan: &plan::Aggregate,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        cx.check_now()?;
        let (rows, keys) = (other.groups.len(), other.groups.into_columns());
        self.assign(&keys, rows, plan, cx)?;
        for (from, to) in other.totals.into_iter().zip(&mut self.totals) {
            from.merge_into(to, &self.numbers)?;
        }
        // What its totals hold is a part of these now.
        cx.release(other.held);
        Ok(())
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

impl<'p> Aggregate<'p> {
    pub(crate) fn new(input: Input<'p>, plan: &'p plan::Aggregate) -> Self {
        Self { input, plan, node: plan.grouped_node(), groups: None }
    }

    /// Reads all rows and groups them, by the node if there is one, else by the keys.
    fn read(&mut self, cx: &mut Exec<'_>) -> Result<Partial, QueryError> {
        let (plan, node) = (self.plan, self.node);
        let columns = if node.is_some() { 1 } else { plan.keys.len() };
        let new = || Partial::new(columns, plan);
        let take = |partial: &mut Partial, rows: Batch, cx: &mut Exec<'_>| {
            partial.take(&rows, node, plan, cx)
        };
        let mut merge = |all: &mut Partial, other, cx: &mut Exec<'_>| all.merge(other, plan, cx);
        let mut all = self.input.fold(&new, &take, &mut merge, cx)?;
        // Without rows there may still be a group.
        all.grow(columns, plan, cx)?;
        Ok(all)
    }

    /// Groups the groups of nodes by the keys.
    fn regroup(
        &self,
        node: Slot,
        nodes: Partial,
        cx: &mut Exec<'_>,
    ) -> Result<Partial, QueryError> {
        let plan = self.plan;
        let mut regrouped = Partial::new(plan.keys.len(), plan);
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
        let read = share(parts.len(), Vec::new(), &Vec::new, &read, cx)?;
        let mut all = Vec::with_capacity(column.len());
        for (keys, (from, to)) in read.into_iter().flatten().zip(&parts) {
            regrouped.assign(&keys, to - from, plan, cx)?;
            all.extend_from_slice(&regrouped.numbers);
        }
        for (from, to) in nodes.totals.into_iter().zip(&mut regrouped.totals) {
            from.merge_into(to, &all)?;
        }
        cx.release(nodes.held);
        Ok(regrouped)
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.groups.is_none() {
            let mut all = self.read(cx)?;
            if let Some(node) = self.node {
                all = self.regroup(node, all, cx)?;
            }
            let Partial { groups, totals, .. } = all;
            let len = groups.len();
            let keys = groups.into_keys();
            self.groups = Some(Groupings { keys, totals, len, given: 0 });
        }
        let Some(groups) = &mut self.groups else { return Ok(None) };
        let part = groups.given..groups.len.min(groups.given + BATCH_ROWS);
        if part.is_empty() {
            return Ok(None);
        }
        groups.given = part.end;
        let mut out = Batch::empty(part.len());
        for ((slot, _), keys) in self.plan.keys.iter().zip(&mut groups.keys) {
            let keys = keys[part.clone()].iter_mut().map(std::mem::take);
            out.set(*slot, Column::of(keys.collect()));
        }
        for ((slot, _), totals) in self.plan.aggregates.iter().zip(&mut groups.totals) {
            out.set(*slot, totals.finish(part.clone())?);
        }
        Ok(Some(out))
    }
}

/// Each row once, by some of its columns.
pub(crate) struct Distinct<'p> {
    input: Source<'p>,
    slots: &'p [Slot],
    seen: HashSet<Vec<Value>, RandomState>,
}

impl<'p> Distinct<'p> {
    pub(crate) fn new(input: Source<'p>, slots: &'p [Slot]) -> Self {
        Self { input, slots, seen: HashSet::default() }
    }
}

impl Operator for Distinct<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        while let Some(rows) = self.input.next(cx)? {
            cx.check()?;
            let columns: Vec<_> = self.slots.iter().map(|slot| rows.column(*slot)).collect();
            let (mut kept, mut key) = (Vec::new(), Vec::new());
            for row in 0..rows.rows() {
                key.clear();
                key.extend(columns.iter().map(|column| column.get(row)));
                if !self.seen.contains(&key[..]) {
                    self.seen.insert(key.clone());
                    cx.hold(size_of::<Value>() * self.slots.len() + 32)?;
                    kept.push(row as u32);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(rows.gather(&kept)));
            }
        }
        Ok(None)
    }
}
