//! Grouping and `DISTINCT`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::Value;

use super::{Exec, Operator, Source};
use crate::aggregate::{self, Accumulator};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::error::{Detail, EvalError};
use crate::expr::eval::eval;
use crate::plan::{self, AggregateCall};
use crate::query_error::QueryError;

type Accumulators = Vec<Accumulator>;

/// One row per group, in the order in which the groups were met first.
pub(crate) struct Aggregate<'p> {
    input: Source<'p>,
    plan: &'p plan::Aggregate,
    groups: Option<std::vec::IntoIter<(Vec<Value>, Accumulators)>>,
}

impl<'p> Aggregate<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Aggregate) -> Self {
        Self { input, plan, groups: None }
    }

    fn accumulators(&self) -> Result<Accumulators, QueryError> {
        let calls = self.plan.aggregates.iter();
        let accumulator = |call: &AggregateCall| match aggregate::lookup(&call.function) {
            _ if call.arguments.is_empty() => Ok(Accumulator::of_rows()),
            Some(function) => Ok(function.accumulator(call.distinct)),
            None => Err(QueryError::database(&EvalError::new(
                Detail::UnknownFunction,
                format!("there is no aggregating function {}", call.function),
            ))),
        };
        calls.map(|(_, call)| accumulator(call)).collect()
    }

    fn read(&mut self, cx: &mut Exec<'_>) -> Result<Vec<(Vec<Value>, Accumulators)>, QueryError> {
        let mut groups: Vec<(Vec<Value>, Accumulators)> = Vec::new();
        let mut places: HashMap<Vec<Value>, usize, RandomState> = HashMap::default();
        if self.plan.keys.is_empty() {
            groups.push((Vec::new(), self.accumulators()?));
            places.insert(Vec::new(), 0);
        }
        let (mut arguments, mut key): (Vec<Value>, Vec<Value>) = (Vec::new(), Vec::new());
        while let Some(rows) = self.input.next(cx)? {
            cx.check()?;
            let mut grown = 0;
            let mut keys: Vec<Arc<Column>> = Vec::new();
            for (_, key) in &self.plan.keys {
                keys.push(eval(key, &rows, cx)?);
            }
            let mut inputs: Vec<Vec<Arc<Column>>> = Vec::new();
            for (_, call) in &self.plan.aggregates {
                let mut columns = Vec::new();
                for argument in &call.arguments {
                    columns.push(eval(argument, &rows, cx)?);
                }
                inputs.push(columns);
            }
            for row in 0..rows.rows() {
                key.clear();
                key.extend(keys.iter().map(|column| column.get(row)));
                let place = match places.get(&key[..]) {
                    Some(place) => *place,
                    None => {
                        cx.hold(64 + size_of::<Value>() * keys.len())?;
                        groups.push((key.clone(), self.accumulators()?));
                        places.insert(key.clone(), groups.len() - 1);
                        groups.len() - 1
                    }
                };
                for (accumulator, columns) in groups[place].1.iter_mut().zip(&inputs) {
                    arguments.clear();
                    arguments.extend(columns.iter().map(|column| column.get(row)));
                    let before = accumulator.memory_bytes();
                    accumulator.update(&arguments)?;
                    grown += accumulator.memory_bytes().saturating_sub(before);
                }
            }
            cx.hold(grown)?;
        }
        Ok(groups)
    }
}

impl Operator for Aggregate<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.groups.is_none() {
            self.groups = Some(self.read(cx)?.into_iter());
        }
        let Some(groups) = &mut self.groups else { return Ok(None) };
        let part: Vec<_> = groups.by_ref().take(BATCH_ROWS).collect();
        if part.is_empty() {
            return Ok(None);
        }
        let mut out = Batch::empty(part.len());
        let mut keys: Vec<Vec<Value>> = vec![Vec::new(); self.plan.keys.len()];
        let mut results: Vec<Vec<Value>> = vec![Vec::new(); self.plan.aggregates.len()];
        for (key, accumulators) in part {
            for (column, value) in keys.iter_mut().zip(key) {
                column.push(value);
            }
            for (column, mut accumulator) in results.iter_mut().zip(accumulators) {
                column.push(accumulator.finish()?);
            }
        }
        for ((slot, _), column) in self.plan.keys.iter().zip(keys) {
            out.set(*slot, Column::of(column));
        }
        for ((slot, _), column) in self.plan.aggregates.iter().zip(results) {
            out.set(*slot, Column::of(column));
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
