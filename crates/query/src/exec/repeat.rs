//! Quantified path patterns: `((a)-[r:T]->(b) WHERE ...){1,3}`.
//!
//! Depth first over bundles of paths: the plan of one repetition runs for some hundred paths at
//! once, and what it finds is a bundle of paths that are one repetition longer. Cost: proportional
//! to the number of paths; memory to the length times what one bundle expands to.

use telar_graph::{Value, VertexId};

use super::sort::row_numbers;
use super::{Exec, Operator, Source, drain};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::plan;
use crate::query_error::QueryError;

pub(crate) struct Repeat<'p> {
    input: Source<'p>,
    plan: &'p plan::Repeat,
    /// The rows searched from, and bundles of paths from them that may go on.
    state: Option<(Batch, Vec<Bundle>)>,
}

/// Paths of so many repetitions, column by column.
struct Bundle {
    repetitions: u64,
    /// The row each began with.
    rows: Vec<u32>,
    ends: Vec<VertexId>,
    /// Lists of all relationships, then those of the variables.
    lists: Vec<Vec<Value>>,
}

impl Bundle {
    fn len(&self) -> usize {
        self.rows.len()
    }

    /// Cuts off all but the first few.
    fn split_off(&mut self, at: usize) -> Self {
        Self {
            repetitions: self.repetitions,
            rows: self.rows.split_off(at),
            ends: self.ends.split_off(at),
            lists: self.lists.iter_mut().map(|list| list.split_off(at)).collect(),
        }
    }

    fn bytes(&self, plan: &plan::Repeat) -> usize {
        let list = self.repetitions as usize * (plan.relationships.len() + plan.lists.len());
        self.len() * (list + 4) * size_of::<Value>()
    }
}

/// The list with more elements at its end, or before its start.
fn longer(list: &Value, more: impl Iterator<Item = Value>, before: bool) -> Value {
    let Value::List(list) = list else { unreachable!("INVARIANT: begun as a list") };
    let list = list.iter().cloned();
    Value::List(if before { more.chain(list).collect() } else { list.chain(more).collect() })
}

impl<'p> Repeat<'p> {
    pub(crate) fn new(input: Source<'p>, plan: &'p plan::Repeat) -> Self {
        Self { input, plan, state: None }
    }

    /// The paths without a repetition.
    fn begin(&self, rows: &Batch) -> Bundle {
        let starts = rows.column(self.plan.from);
        let start = |row: usize| Some((row as u32, starts.vertex(row)?));
        let (numbers, ends): (Vec<u32>, Vec<VertexId>) =
            (0..rows.rows()).filter_map(start).unzip();
        let empty = Value::List(Vec::new().into());
        let lists = vec![vec![empty; ends.len()]; 1 + self.plan.lists.len()];
        Bundle { repetitions: 0, rows: numbers, ends, lists }
    }

    /// The rows of the paths that are long enough and end where they should.
    fn accept(&self, rows: &Batch, bundle: &Bundle) -> Option<Batch> {
        let p = self.plan;
        if bundle.repetitions < p.min {
            return None;
        }
        let targets = p.into.then(|| rows.column(p.to));
        let fits = |at: &usize| {
            let end = Some(bundle.ends[*at]);
            targets.is_none_or(|targets| targets.vertex(bundle.rows[*at] as usize) == end)
        };
        let taken: Vec<usize> = (0..bundle.len()).filter(fits).collect();
        if taken.is_empty() {
            return None;
        }
        let numbers: Vec<u32> = taken.iter().map(|at| bundle.rows[*at]).collect();
        let mut out = rows.gather(&numbers);
        let slots = std::iter::once(p.edges).chain(p.lists.iter().map(|(_, list)| *list));
        for (slot, lists) in slots.zip(&bundle.lists) {
            out.set(slot, Column::Values(taken.iter().map(|at| lists[*at].clone()).collect()));
        }
        if !p.into {
            out.set(p.to, Column::Vertices(taken.iter().map(|at| bundle.ends[*at]).collect()));
        }
        Some(out)
    }

    /// The paths of one more repetition.
    fn advance(
        &self,
        rows: &Batch,
        bundle: &Bundle,
        cx: &mut Exec<'_>,
    ) -> Result<Vec<Bundle>, QueryError> {
        let p = self.plan;
        let mut argument = rows.gather(&bundle.rows);
        argument.set(p.first, Column::Vertices(bundle.ends.clone()));
        argument.set(p.edges, Column::Values(bundle.lists[0].clone()));
        argument.set(p.row, row_numbers(bundle.len()));
        let mut longer_ones = Vec::new();
        for found in drain(&p.inner, &argument, cx)? {
            let numbers = found.column(p.row);
            let from = |at: usize| match numbers.get(at) {
                Value::Int(row) => row as usize,
                _ => unreachable!("INVARIANT: rows are numbered"),
            };
            let mut next = Bundle {
                repetitions: bundle.repetitions + 1,
                rows: Vec::with_capacity(found.rows()),
                ends: Vec::with_capacity(found.rows()),
                lists: vec![Vec::with_capacity(found.rows()); bundle.lists.len()],
            };
            let ends = found.column(p.last);
            for at in 0..found.rows() {
                let Some(end) = ends.vertex(at) else { continue };
                let from = from(at);
                next.rows.push(bundle.rows[from]);
                next.ends.push(end);
                let edges = p.relationships.iter().map(|slot| found.column(*slot).get(at));
                next.lists[0].push(longer(&bundle.lists[0][from], edges, p.reversed));
                for (i, (slot, _)) in p.lists.iter().enumerate() {
                    let one = std::iter::once(found.column(*slot).get(at));
                    next.lists[i + 1].push(longer(&bundle.lists[i + 1][from], one, p.reversed));
                }
            }
            longer_ones.push(next);
        }
        Ok(longer_ones)
    }

    /// Goes on until some paths are found or none is left.
    fn search(
        &self,
        rows: &Batch,
        open: &mut Vec<Bundle>,
        cx: &mut Exec<'_>,
    ) -> Result<Option<Batch>, QueryError> {
        let p = self.plan;
        while let Some(mut bundle) = open.pop() {
            cx.check()?;
            cx.release(bundle.bytes(p));
            if bundle.len() > BATCH_ROWS / 4 {
                let rest = bundle.split_off(BATCH_ROWS / 4);
                cx.hold(rest.bytes(p))?;
                open.push(rest);
            }
            let length = bundle.repetitions * p.relationships.len() as u64;
            let done = p.max.is_some_and(|max| bundle.repetitions >= max);
            if !done && cx.may_grow(length) {
                let mut next = self.advance(rows, &bundle, cx)?;
                next.retain(|bundle| bundle.len() > 0);
                for bundle in next.into_iter().rev() {
                    cx.hold(bundle.bytes(p))?;
                    open.push(bundle);
                }
            }
            let accepted = self.accept(rows, &bundle);
            if accepted.is_some() {
                return Ok(accepted);
            }
        }
        Ok(None)
    }
}

impl Operator for Repeat<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            let (rows, mut open) = match self.state.take() {
                Some(state) => state,
                None => {
                    let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                    let begun = self.begin(&rows);
                    cx.hold(begun.bytes(self.plan))?;
                    (rows, vec![begun])
                }
            };
            let found = self.search(&rows, &mut open, cx)?;
            if !open.is_empty() {
                self.state = Some((rows, open));
            }
            if found.is_some() {
                return Ok(found);
            }
        }
    }
}
