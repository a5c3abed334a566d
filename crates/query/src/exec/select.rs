//! `SHORTEST k`, `ANY k`, `SHORTEST k GROUPS`: some of the paths between two nodes.
//!
//! The plan that finds the paths runs again and again, for longer and longer ones, until enough are
//! found or none was left out. Cost: proportional to the number of paths from the one end that are
//! no longer than the longest one wanted, and where there are not enough, to that of all paths.

use telar_graph::Value;

use super::memory::Held;
use super::state::Search;
use super::{Exec, Operator, Source, for_each};
use crate::batch::Batch;
use crate::exec::eval::eval;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};

pub(crate) struct Select<'p> {
    input: Source<'p>,
    plan: &'p plan::Select,
}

impl<'p> Select<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Select) -> Self {
        Self { input, plan }
    }

    fn count(&self, row: &Batch, cx: &mut Exec<'_>) -> Result<usize, QueryError> {
        let count = eval(&self.plan.paths.count, row, cx)?.get(0);
        match count {
            Value::Int(count) if count > 0 => Ok(usize::try_from(count).unwrap_or(usize::MAX)),
            Value::Int(count) => Err(QueryError::runtime(
                ErrorKind::Argument,
                "NegativeIntegerArgument",
                format!("{count} paths are asked for; it must be at least 1"),
            )),
            other => Err(QueryError::wrong_type("an integer", &other, "SHORTEST")),
        }
    }

    /// Number of relationships of the path in each row.
    fn lengths(&self, rows: &Batch) -> Vec<u64> {
        let mut lengths = vec![0; rows.rows()];
        if lengths.is_empty() {
            return lengths;
        }
        for slot in &self.plan.slots {
            let column = rows.column(*slot);
            if column.vertices().is_some() {
                continue;
            }
            for (row, length) in lengths.iter_mut().enumerate() {
                *length += match column.get(row) {
                    Value::Edge(_) => 1,
                    Value::List(list) => list.len() as u64,
                    _ => 0,
                };
            }
        }
        lengths
    }

    /// Of paths with these lengths, those that are wanted, and whether longer ones could be.
    fn wanted(&self, lengths: &[u64], longest: Option<u64>, count: usize) -> (Vec<u32>, bool) {
        let mut order: Vec<u32> = (0..lengths.len() as u32)
            .filter(|at| longest.is_none_or(|longest| lengths[*at as usize] <= longest))
            .collect();
        order.sort_by_key(|at| lengths[*at as usize]);
        if !self.plan.paths.groups {
            order.truncate(count);
            let enough = order.len() == count;
            return (order, !enough);
        }
        let mut groups = 0;
        let mut last = None;
        let in_groups = |at: &&u32| {
            let length = Some(lengths[**at as usize]);
            groups += usize::from(length != last);
            last = length;
            groups <= count
        };
        let taken: Vec<u32> = order.iter().take_while(in_groups).copied().collect();
        (taken, groups < count)
    }

    /// The paths wanted for one row.
    fn select(
        &self,
        row: &Batch,
        held: &mut Held,
        cx: &mut Exec<'_>,
    ) -> Result<Option<Batch>, QueryError> {
        let count = self.count(row, cx)?;
        let around = cx.search.take();
        let mut longest = 1;
        let found = loop {
            cx.search = Some(Search { longest, cut: false });
            let mut found = Vec::new();
            let mut finding = Held::of("Select");
            for_each(&self.plan.inner, row, cx, |batch, cx| {
                finding.grow(batch.bytes(), cx)?;
                found.push(batch);
                Ok(())
            })?;
            let found = Batch::concat(found);
            let cut = cx.search.take().is_some_and(|search| search.cut);
            let lengths = self.lengths(&found);
            let (wanted, more) = self.wanted(&lengths, cut.then_some(longest), count);
            if !more || !cut {
                break found.gather(&wanted);
            }
            longest += 1 + longest / 4;
        };
        cx.search = around;
        held.grow(found.bytes(), cx)?;
        Ok((found.rows() > 0).then_some(found))
    }
}

impl Operator for Select<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        let p = self.plan;
        while let Some(rows) = self.input.next(cx)? {
            let (from, to) = (p.slots[0], p.slots[p.slots.len() - 1]);
            let mut found = Vec::new();
            let mut held = Held::of("Select");
            for row in 0..rows.rows() {
                cx.check()?;
                let known = |slot| rows.column(slot).vertex(row).is_some();
                if known(from) && known(to) {
                    found.extend(self.select(&rows.slice(row, row + 1), &mut held, cx)?);
                }
            }
            if !found.is_empty() {
                return Ok(Some(Batch::concat(found)));
            }
        }
        Ok(None)
    }
}
