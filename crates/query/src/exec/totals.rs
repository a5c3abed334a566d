//! What is learnt of the groups of an aggregation: one [`Totals`] for each call.

use std::sync::Arc;

use super::collected::Collected;
use crate::aggregate::{self, Accumulator};
use crate::batch::Column;
use crate::error::{Detail, EvalError};
use crate::plan::AggregateCall;
use crate::query_error::QueryError;

/// One aggregation, for all groups.
pub(super) enum Totals {
    /// Of rows, or of values that are not null.
    Counts(Vec<i64>),
    /// Lists of values that are not null.
    Lists(Collected),
    /// Anything else.
    Accumulators(Vec<Accumulator>),
}

impl Totals {
    pub(super) fn new(call: &AggregateCall) -> Self {
        match (&*call.function, call.distinct) {
            ("count", false) => Self::Counts(Vec::new()),
            ("collect", false) => Self::Lists(Collected::new()),
            _ => Self::Accumulators(Vec::new()),
        }
    }

    /// Makes room for so many groups.
    pub(super) fn grow(&mut self, groups: usize, call: &AggregateCall) -> Result<(), QueryError> {
        match self {
            Self::Counts(counts) => counts.resize(groups, 0),
            Self::Lists(lists) => lists.grow(groups),
            Self::Accumulators(all) => {
                for _ in all.len()..groups {
                    all.push(accumulator(call)?);
                }
            }
        }
        Ok(())
    }

    /// Bytes that it takes, but for what accumulators keep of values.
    pub(super) fn own_bytes(&self) -> usize {
        match self {
            Self::Counts(counts) => counts.capacity() * size_of::<i64>(),
            Self::Lists(lists) => lists.bytes(),
            Self::Accumulators(all) => all.capacity() * size_of::<Accumulator>(),
        }
    }

    /// Bytes that accumulators keep of values, all together.
    pub(super) fn kept_bytes(&self) -> usize {
        match self {
            Self::Counts(_) | Self::Lists(_) => 0,
            Self::Accumulators(all) => {
                let kept = |a: &Accumulator| a.memory_bytes() - size_of::<Accumulator>();
                all.iter().map(kept).sum()
            }
        }
    }

    /// Moves those of some groups out.
    pub(super) fn take(&mut self, groups: &[u32]) -> Self {
        let groups = groups.iter().map(|group| *group as usize);
        match self {
            Self::Counts(counts) => Self::Counts(groups.map(|group| counts[group]).collect()),
            Self::Lists(lists) => Self::Lists(lists.take(groups)),
            Self::Accumulators(all) => {
                let take =
                    |group: usize| std::mem::replace(&mut all[group], Accumulator::of_rows());
                Self::Accumulators(groups.map(take).collect())
            }
        }
    }

    /// Takes a batch, of whose rows the groups are known; the bytes that it grew by.
    pub(super) fn update(
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
            Self::Lists(lists) => {
                for column in columns {
                    lists.update(column, groups)?;
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
    pub(super) fn merge_into(self, others: &mut Self, groups: &[u32]) -> Result<(), QueryError> {
        match (self, others) {
            (Self::Counts(from), Self::Counts(to)) => {
                from.iter().zip(groups).for_each(|(n, group)| to[*group as usize] += n);
            }
            (Self::Lists(from), Self::Lists(to)) => to.merge(from, groups)?,
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
    pub(super) fn finish(&mut self, groups: std::ops::Range<usize>) -> Result<Column, QueryError> {
        Ok(match self {
            Self::Counts(counts) => Column::Ints(counts[groups].to_vec()),
            Self::Lists(lists) => lists.finish(groups),
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
