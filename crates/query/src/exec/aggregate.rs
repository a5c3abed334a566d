//! Grouping and `DISTINCT`.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::Value;

use super::group::Groups;
use super::{Exec, Operator, Source};
use crate::aggregate::{self, Accumulator};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::error::{Detail, EvalError};
use crate::expr::eval::eval;
use crate::plan::{self, AggregateCall};
use crate::query_error::QueryError;

/// One row per group, in the order in which the groups were met first.
///
/// Keys that are properties of one node, of which many rows may have the same, are read once per
/// node: rows are grouped by the node first, and then its groups by their keys.
pub(crate) struct Aggregate<'p> {
    input: Source<'p>,
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

impl<'p> Aggregate<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Aggregate) -> Self {
        Self { input, plan, node: plan.grouped_node(), groups: None }
    }

    fn totals(&self) -> Vec<Totals> {
        self.plan.aggregates.iter().map(|(_, call)| Totals::new(call)).collect()
    }

    /// Makes room for groups that were just met.
    fn grow(
        &self,
        totals: &mut [Totals],
        groups: usize,
        held: &mut usize,
        keys: usize,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        let mut bytes = groups.saturating_sub(*held) * (64 + size_of::<Value>() * keys);
        for (totals, (_, call)) in totals.iter_mut().zip(&self.plan.aggregates) {
            bytes += totals.grow(groups, call)?;
        }
        *held = groups;
        cx.hold(bytes)
    }

    /// Reads all rows and groups them, by the node if there is one, else by the keys.
    fn read(&mut self, cx: &mut Exec<'_>) -> Result<(Groups, Vec<Totals>), QueryError> {
        let columns = if self.node.is_some() { 1 } else { self.plan.keys.len() };
        let (mut groups, mut totals) = (Groups::new(columns), self.totals());
        let (mut numbers, mut held) = (Vec::new(), 0);
        self.grow(&mut totals, groups.len(), &mut held, columns, cx)?;
        while let Some(rows) = self.input.next(cx)? {
            cx.check()?;
            let mut keys: Vec<Arc<Column>> = Vec::with_capacity(columns);
            match self.node {
                Some(node) => keys.push(Arc::clone(rows.column(node))),
                None => {
                    for (_, key) in &self.plan.keys {
                        keys.push(eval(key, &rows, cx)?);
                    }
                }
            }
            groups.assign(&keys, rows.rows(), &mut numbers);
            self.grow(&mut totals, groups.len(), &mut held, columns, cx)?;
            let mut grown = 0;
            for (totals, (_, call)) in totals.iter_mut().zip(&self.plan.aggregates) {
                let mut inputs = Vec::with_capacity(call.arguments.len());
                for argument in &call.arguments {
                    inputs.push(eval(argument, &rows, cx)?);
                }
                grown += totals.update(&inputs, &numbers, columns == 0)?;
            }
            cx.hold(grown)?;
        }
        Ok((groups, totals))
    }

    /// Groups the groups of nodes by the keys.
    fn regroup(
        &self,
        node: Slot,
        groups: Groups,
        totals: Vec<Totals>,
        cx: &mut Exec<'_>,
    ) -> Result<(Groups, Vec<Totals>), QueryError> {
        let nodes = groups.into_keys().pop().unwrap_or_default();
        let (mut regrouped, mut merged) = (Groups::new(self.plan.keys.len()), self.totals());
        let (mut numbers, mut all, mut held) = (Vec::new(), Vec::with_capacity(nodes.len()), 0);
        for part in nodes.chunks(BATCH_ROWS) {
            cx.check()?;
            let mut rows = Batch::empty(part.len());
            rows.set(node, Column::of(part.to_vec()));
            let mut keys = Vec::with_capacity(self.plan.keys.len());
            for (_, key) in &self.plan.keys {
                keys.push(eval(key, &rows, cx)?);
            }
            regrouped.assign(&keys, part.len(), &mut numbers);
            all.extend_from_slice(&numbers);
            self.grow(&mut merged, regrouped.len(), &mut held, keys.len(), cx)?;
        }
        for (from, to) in totals.into_iter().zip(&mut merged) {
            from.merge_into(to, &all)?;
        }
        Ok((regrouped, merged))
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.groups.is_none() {
            let (mut groups, mut totals) = self.read(cx)?;
            if let Some(node) = self.node {
                (groups, totals) = self.regroup(node, groups, totals, cx)?;
            }
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
