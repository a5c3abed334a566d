//! What is learnt of the groups of an aggregation: one [`Totals`] for each call.

use std::sync::Arc;

use super::collected::Collected;
use crate::aggregate::{self, Accumulator};
use crate::batch::Column;
use crate::error::{Detail, EvalError};
use crate::plan::AggregateCall;
use crate::query_error::{ErrorKind, QueryError};
use telar_graph::column::Nullable;

/// One aggregation, for all groups.
pub(super) enum Totals {
    /// Of rows, or of values that are not null.
    Counts(Vec<i64>),
    /// Of integers, as long as there is nothing else and they fit.
    Sums(Sums),
    /// Lists of values that are not null.
    Lists(Collected),
    /// Anything else.
    Accumulators(Vec<Accumulator>),
}

/// Sums of integers.
#[derive(Default)]
pub(super) struct Sums {
    sums: Vec<i64>,
    /// Groups that have a value: the first so many.
    begun: usize,
}

impl Sums {
    /// Adds a value to the sum of each of these groups; how many were added before one did not fit.
    fn add(&mut self, ints: &[i64], groups: &[u32]) -> usize {
        self.begun = self.sums.len();
        for (row, (int, group)) in ints.iter().zip(groups).enumerate() {
            let sum = &mut self.sums[*group as usize];
            match sum.checked_add(*int) {
                Some(more) => *sum = more,
                None => return row,
            }
        }
        ints.len()
    }

    /// The same where there is one group, which takes them all.
    fn add_all(&mut self, ints: &[i64]) -> usize {
        let sum = ints.iter().copied().map(i128::from).sum::<i128>() + i128::from(self.sums[0]);
        let Ok(sum) = i64::try_from(sum) else { return 0 };
        (self.sums[0], self.begun) = (sum, 1);
        ints.len()
    }

    /// The same sums, which may become anything.
    fn into_accumulators(self) -> Result<Vec<Accumulator>, QueryError> {
        let Self { sums, begun } = self;
        let mut all = Vec::with_capacity(sums.len());
        for (group, sum) in sums.into_iter().enumerate() {
            let mut accumulator = aggregate::accumulator("sum", false, false)?;
            if group < begun {
                accumulator.update_ints(&[sum])?;
            }
            all.push(accumulator);
        }
        Ok(all)
    }
}

impl Totals {
    pub(super) fn new(call: &AggregateCall) -> Self {
        match (&*call.function, call.distinct) {
            ("count", false) => Self::Counts(Vec::new()),
            ("sum", false) => Self::Sums(Sums::default()),
            ("collect", false) => Self::Lists(Collected::new()),
            _ => Self::Accumulators(Vec::new()),
        }
    }

    /// Makes room for so many groups.
    pub(super) fn grow(&mut self, groups: usize, call: &AggregateCall) -> Result<(), QueryError> {
        match self {
            Self::Counts(counts) => counts.resize(groups, 0),
            Self::Sums(Sums { sums, .. }) => sums.resize(groups, 0),
            Self::Lists(lists) => lists.grow(groups),
            Self::Accumulators(all) if all.len() < groups => {
                let new = new_accumulator(call)?;
                all.resize_with(groups, new);
            }
            Self::Accumulators(_) => {}
        }
        Ok(())
    }

    /// Bytes that it takes, but for what accumulators keep of values.
    pub(super) fn own_bytes(&self) -> usize {
        match self {
            Self::Counts(all) | Self::Sums(Sums { sums: all, .. }) => {
                all.capacity() * size_of::<i64>()
            }
            Self::Lists(lists) => lists.bytes(),
            Self::Accumulators(all) => all.capacity() * size_of::<Accumulator>(),
        }
    }

    /// Bytes that accumulators keep of values, all together.
    pub(super) fn kept_bytes(&self) -> usize {
        match self {
            Self::Counts(_) | Self::Sums(_) | Self::Lists(_) => 0,
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
            Self::Sums(Sums { sums, .. }) => {
                let sums: Vec<i64> = groups.map(|group| sums[group]).collect();
                let begun = sums.len();
                Self::Sums(Sums { sums, begun })
            }
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
                    Some(column) if column.may_have_nulls() => {
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
            Self::Sums(sums) => {
                if let [column] = columns
                    && let Column::Ints(ints) = &**column
                    && ints.has_nulls()
                {
                    let rows = (0..ints.len() as u32).filter(|row| !ints.is_null(*row as usize));
                    let rows: Vec<u32> = rows.collect();
                    let groups: Vec<u32> = rows.iter().map(|row| groups[*row as usize]).collect();
                    return self.update(&[Arc::new(column.gather(&rows))], &groups, only_group);
                }
                let mut added = 0;
                if let [column] = columns
                    && let Some(ints) = column.ints()
                {
                    added = if only_group { sums.add_all(ints) } else { sums.add(ints, groups) };
                    if added == ints.len() {
                        return Ok(0);
                    }
                }
                self.generalise()?;
                let rest: Vec<Arc<Column>> =
                    columns.iter().map(|c| Arc::new(c.slice(added, c.len()))).collect();
                self.update(&rest, &groups[added..], only_group)
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
                    match &**column {
                        Column::Ints(ints) => {
                            for (int, group) in ints.iter().zip(groups) {
                                all[*group as usize].update_ints(int.as_slice())?;
                            }
                        }
                        Column::Floats(floats) => {
                            for (float, group) in floats.iter().zip(groups) {
                                all[*group as usize].update_floats(float.as_slice())?;
                            }
                        }
                        _ => update_rows(all, columns, groups)?,
                    }
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

    /// Goes on with accumulators, which take anything.
    fn generalise(&mut self) -> Result<(), QueryError> {
        if let Self::Sums(sums) = self {
            *self = Self::Accumulators(std::mem::take(sums).into_accumulators()?);
        }
        Ok(())
    }

    /// Puts groups together: each belongs to the group of `others` whose number is given.
    pub(super) fn merge_into(
        mut self,
        others: &mut Self,
        groups: &[u32],
    ) -> Result<(), QueryError> {
        if let (Self::Sums(from), Self::Sums(to)) = (&mut self, &mut *others) {
            let added = match from.begun {
                0 => from.sums.len(),
                _ => to.add(&from.sums, groups),
            };
            if added == from.sums.len() {
                return Ok(());
            }
            // The rest goes the general way.
            others.generalise()?;
            let rest = Sums { sums: from.sums.split_off(added), begun: from.begun };
            return Self::Sums(rest).merge_into(others, &groups[added..]);
        }
        self.generalise()?;
        others.generalise()?;
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
            Self::Counts(all) | Self::Sums(Sums { sums: all, .. }) => {
                Column::from(all[groups].to_vec())
            }
            Self::Lists(lists) => lists.finish(groups)?,
            Self::Accumulators(all) => {
                let values = all[groups].iter_mut().map(Accumulator::finish);
                Column::of(values.collect::<Result<_, _>>()?)
            }
        })
    }
}

/// What makes accumulators of a call.
fn new_accumulator(call: &AggregateCall) -> Result<impl Fn() -> Accumulator, QueryError> {
    let function = aggregate::lookup(&call.function);
    if function.is_none() && !call.arguments.is_empty() {
        let message = format!("there is no aggregating function {}", call.function);
        return Err(EvalError::new(Detail::UnknownFunction, message)
            .of_kind(ErrorKind::Database)
            .into());
    }
    let function = function.filter(|_| !call.arguments.is_empty());
    let distinct = call.distinct;
    Ok(move || function.map_or_else(Accumulator::of_rows, |f| f.accumulator(distinct)))
}

/// Gives a whole column to one accumulator.
fn update_column(accumulator: &mut Accumulator, column: &Column) -> Result<(), QueryError> {
    match column {
        Column::Ints(ints) => each_run(ints, |ints| accumulator.update_ints(ints))?,
        Column::Floats(floats) => each_run(floats, |floats| accumulator.update_floats(floats))?,
        Column::Vertices(all) => each_run(all, |all| accumulator.update_vertices(all))?,
        column => {
            for row in 0..column.len() {
                accumulator.update(&[column.get(row)])?;
            }
        }
    }
    Ok(())
}

/// Calls `take` with the values that are there, in order: with all of them if none is null.
fn each_run<T: Copy + Default>(
    values: &Nullable<T>,
    mut take: impl FnMut(&[T]) -> Result<(), EvalError>,
) -> Result<(), EvalError> {
    match values.full() {
        Some(all) => take(all),
        None => take(&values.iter().flatten().collect::<Vec<_>>()),
    }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use telar_graph::Value;
    use telar_graph::value::Duration;

    use super::*;
    use crate::expr::Expr;

    /// Values of a batch: integers, which come as a column of their own, or anything.
    fn batch() -> impl Strategy<Value = (Vec<Value>, bool)> {
        let int = prop_oneof![8 => -9i64..9, 1 => i64::MAX - 5..=i64::MAX, 1 => Just(i64::MIN)];
        let ints = proptest::collection::vec(int.prop_map(Value::Int), 0..12);
        let days = (1i64..9).prop_map(|days| Value::from(Duration::new(0, days, 0, 0).unwrap()));
        let any = prop_oneof![
            6 => (-9i64..9).prop_map(Value::Int),
            3 => Just(Value::Null),
            2 => (-9i64..9).prop_map(|x| Value::Float(x as f64 / 2.0)),
            1 => days,
        ];
        let any = proptest::collection::vec(any, 0..6);
        prop_oneof![5 => ints.prop_map(|v| (v, true)), 1 => any.prop_map(|v| (v, false))]
    }

    fn column((values, typed): &(Vec<Value>, bool)) -> Arc<Column> {
        let int = |value: &Value| match value {
            Value::Int(int) => *int,
            _ => unreachable!("integers were made"),
        };
        Arc::new(match typed {
            true => Column::from(values.iter().map(int).collect::<Vec<_>>()),
            false => Column::Values(values.clone()),
        })
    }

    /// Takes batches one after the other; also says how many groups there are, numbered as they are
    /// met. With `only_group` there is one, without keys.
    fn take(
        mut totals: Totals,
        call: &AggregateCall,
        batches: &[(Vec<Value>, bool)],
        only_group: bool,
    ) -> Result<(Totals, usize), QueryError> {
        let (mut row, mut groups) = (0, usize::from(only_group));
        totals.grow(groups, call)?;
        for batch in batches {
            let mut of_rows = Vec::new();
            for _ in &batch.0 {
                row += 1;
                let group = if only_group { 0 } else { (row * row % 5).min(groups) };
                groups = groups.max(group + 1);
                of_rows.push(group as u32);
            }
            totals.grow(groups, call)?;
            totals.update(&[column(batch)], &of_rows, only_group)?;
        }
        Ok((totals, groups))
    }

    proptest! {
        #[test]
        fn sums_of_integers_are_what_accumulators_make(
            batches in proptest::collection::vec(batch(), 0..8),
            more in proptest::collection::vec(batch(), 0..4),
            only_group in any::<bool>(),
        ) {
            let call = AggregateCall {
                function: "sum".into(),
                arguments: vec![Expr::Slot(0)],
                distinct: false,
            };
            let sum = |new: &dyn Fn() -> Totals| {
                let (mut all, groups) = take(new(), &call, &batches, only_group)?;
                let (other, others) = take(new(), &call, &more, only_group)?;
                let groups = groups.max(others);
                all.grow(groups, &call)?;
                let numbers: Vec<u32> = (0..others as u32).collect();
                other.merge_into(&mut all, &numbers)?;
                all.finish(0..groups)
            };
            let plain = sum(&|| Totals::Accumulators(Vec::new()));
            let sums = sum(&|| Totals::new(&call));
            match (plain, sums) {
                (Ok(plain), Ok(sums)) => prop_assert_eq!(plain.into_values(), sums.into_values()),
                (Err(plain), Err(sums)) => prop_assert_eq!(plain.message, sums.message),
                (plain, sums) => prop_assert!(false, "{:?} {:?}", plain.is_ok(), sums.is_ok()),
            }
        }
    }
}
