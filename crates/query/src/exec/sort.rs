//! `ORDER BY`.
//!
//! Rows are kept as they come, with their keys beside them, and put in order at the end. Where they
//! take too much memory, what is there goes to a file as a sorted run, and at the end the runs are
//! merged. With a limit only the rows that may be among the first are kept. If they come in the
//! order of the first key, rows are read until as many are there as are wanted, and those that may
//! go before them.

use std::cmp::Ordering;
use std::sync::Arc;

use telar_graph::Value;
use telar_graph::value::heap_bytes_of;

use super::limit::count;
use super::memory::Held;
use super::parallel::Input;
use super::spill::Merge;
use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column};
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::ops;
use crate::plan;
use crate::query_error::{ErrorKind, QueryError};
use crate::watch;

/// Rows sorted without a look at whether the query is to be given up.
const CHUNK_ROWS: usize = 1 << 15;

/// Rows beyond those wanted that are kept before they are looked at: what is left of them then
/// turns others away.
const MORE_ROWS: usize = 64;

/// All rows in order; with `top`, only the first so many are kept while they come in.
pub(crate) struct Sort<'p> {
    input: Input<'p>,
    plan: &'p plan::Sort,
    sorted: Option<Sorted>,
}

/// Which rows come first, and how many of them are wanted.
#[derive(Clone, Copy)]
struct Order<'p> {
    plan: &'p plan::Sort,
    top: usize,
}

/// What was read: sorted runs in files, and the rows after them.
struct Read {
    runs: Option<Box<Merge>>,
    kept: Kept,
    /// With a limit: the keys of the last row that would be in the result by now. What comes after
    /// it, or later with the same keys, cannot be.
    last: Option<Vec<Value>>,
}

enum Sorted {
    /// The rows, their order, and how many have gone out.
    Here(Kept, Vec<u32>, usize),
    /// Runs, and how many rows are still wanted.
    Merged(Box<Merge>, usize),
}

/// Rows kept, and their keys.
struct Kept {
    batches: Vec<Batch>,
    /// Of each row the number of its batch, and of it in there.
    places: Vec<(u32, u32)>,
    /// Column by column.
    keys: Vec<Vec<Value>>,
    /// Bytes of the batches and of what the keys hold beside their own places.
    bytes: usize,
    held: Held,
}

impl Kept {
    fn new(keys: usize) -> Self {
        let keys = vec![Vec::new(); keys];
        Self { batches: Vec::new(), places: Vec::new(), keys, bytes: 0, held: Held::of("Sort") }
    }

    fn rows(&self) -> usize {
        self.places.len()
    }

    /// Adds rows.
    fn push(&mut self, batch: Batch, columns: &[Arc<Column>]) {
        for (column, values) in self.keys.iter_mut().zip(columns) {
            let before = column.len();
            column.extend((0..batch.rows()).map(|row| values.get(row)));
            // What is a column of the rows, too, is held once.
            if !batch.slots().any(|slot| Arc::ptr_eq(batch.column(slot), values)) {
                self.bytes += heap_bytes_of(&column[before..]);
            }
        }
        let number = self.batches.len() as u32;
        self.places.extend((0..batch.rows() as u32).map(|row| (number, row)));
        self.bytes += batch.bytes();
        self.batches.push(batch);
    }

    /// Adds rows that others kept.
    fn append(&mut self, other: Self) {
        let Self { batches, places, keys, bytes, held } = other;
        let before = self.batches.len() as u32;
        self.batches.extend(batches);
        self.places.extend(places.into_iter().map(|(batch, row)| (before + batch, row)));
        for (ours, theirs) in self.keys.iter_mut().zip(keys) {
            ours.extend(theirs);
        }
        self.bytes += bytes;
        drop(held);
    }

    /// Bytes of everything, the order that is made in the end included.
    fn bytes(&self) -> usize {
        let keys: usize = self.keys.iter().map(Vec::capacity).sum();
        let rows = self.places.capacity() * (size_of::<(u32, u32)>() + size_of::<u32>());
        self.bytes + keys * size_of::<Value>() + rows
    }

    /// The rows with these numbers, in this order.
    fn pick(&self, rows: &[u32]) -> Batch {
        let picks: Vec<(u32, u32)> = rows.iter().map(|row| self.places[*row as usize]).collect();
        Batch::pick(&self.batches, &picks)
    }

    /// Leaves only these rows, in this order.
    fn keep(&mut self, rows: &[u32]) {
        let kept = self.pick(rows);
        let columns: Vec<_> = self.key_columns(rows).into_iter().map(Arc::new).collect();
        self.clear();
        self.push(kept, &columns);
    }

    /// The keys of rows.
    fn key_columns(&self, rows: &[u32]) -> Vec<Column> {
        let of = |key: &Vec<Value>| rows.iter().map(|row| key[*row as usize].clone()).collect();
        self.keys.iter().map(|key| Column::Values(of(key))).collect()
    }

    fn clear(&mut self) {
        self.batches.clear();
        self.places.clear();
        self.keys.iter_mut().for_each(Vec::clear);
        self.bytes = 0;
    }
}

impl Order<'_> {
    fn compare(&self, keys: &[Vec<Value>], a: usize, b: usize) -> Ordering {
        let of = |(key, (_, descending)): (&Vec<Value>, &(Expr, bool))| {
            let ordering = key[a].cmp(&key[b]);
            if *descending { ordering.reverse() } else { ordering }
        };
        keys.iter().zip(&self.plan.keys).map(of).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// The same of large values, as long as the query goes on.
    fn compare_large(
        &self,
        keys: &[Vec<Value>],
        a: usize,
        b: usize,
    ) -> Result<Ordering, QueryError> {
        for (key, (_, descending)) in keys.iter().zip(&self.plan.keys) {
            let ordering = ops::order(&key[a], &key[b])?;
            if ordering.is_ne() {
                return Ok(if *descending { ordering.reverse() } else { ordering });
            }
        }
        Ok(Ordering::Equal)
    }

    /// Whether a row comes before one with the keys `last`.
    fn before(
        &self,
        columns: &[Arc<Column>],
        row: usize,
        last: &[Value],
    ) -> Result<bool, QueryError> {
        for ((column, last), (_, descending)) in columns.iter().zip(last).zip(&self.plan.keys) {
            let ordering = match (column.ints(), last) {
                (Some(ints), Value::Int(last)) => ints[row].cmp(last),
                _ => match (column.floats(), last) {
                    (Some(floats), Value::Float(last))
                        if let Some(ordering) = floats[row].partial_cmp(last) =>
                    {
                        ordering
                    }
                    _ => ops::order(&column.get(row), last)?,
                },
            };
            if ordering.is_ne() {
                return Ok(ordering.is_lt() != *descending);
            }
        }
        Ok(false)
    }

    /// Rows that the first key does not put behind `last`.
    fn perhaps_before(&self, column: &Column, last: &Value) -> Vec<u32> {
        let descending = self.plan.keys[0].1;
        match (column.ints(), column.floats(), last) {
            (Some(ints), _, Value::Int(last)) => match descending {
                true => rows_where(ints, |int| int >= *last),
                false => rows_where(ints, |int| int <= *last),
            },
            // NaN is neither before nor behind, so that it is looked at.
            (_, Some(floats), Value::Float(last)) => match descending {
                true => rows_where(floats, |float| float.partial_cmp(last) != Some(Ordering::Less)),
                false => {
                    rows_where(floats, |float| float.partial_cmp(last) != Some(Ordering::Greater))
                }
            },
            _ => (0..column.len() as u32).collect(),
        }
    }

    /// Rows that the first key alone does not put behind so many others as are wanted.
    fn perhaps_first(&self, column: &Column) -> Option<Vec<u32>> {
        let last = self.top.checked_sub(1).filter(|last| *last < column.len())?;
        let descending = self.plan.keys[0].1;
        let last = if let Some(ints) = column.ints() {
            Value::Int(nth(ints, last, descending, Ord::cmp))
        } else {
            let floats = column.floats()?;
            if floats.iter().any(|float| float.is_nan()) {
                return None;
            }
            Value::Float(nth(floats, last, descending, f64::total_cmp))
        };
        Some(self.perhaps_before(column, &last))
    }

    /// The order of rows, as many as are wanted.
    fn order(&self, kept: &Kept, cx: &mut Exec<'_>) -> Result<Vec<u32>, QueryError> {
        let (keys, rows, top) = (&kept.keys, kept.rows(), self.top);
        let mut order: Vec<u32> = (0..rows as u32).collect();
        // Rows with equal keys stay in the order they came in.
        let compare =
            |a: &u32, b: &u32| self.compare(keys, *a as usize, *b as usize).then_with(|| a.cmp(b));
        // To compare large values takes long: then there is a look before each comparison.
        let large = keys.iter().flatten().any(watch::is_large);
        if top < rows && rows <= 4 * CHUNK_ROWS && !large {
            if top > 0 {
                order.select_nth_unstable_by(top - 1, compare);
            }
            order.truncate(top);
        }
        if large {
            let compare = |a: &u32, b: &u32| {
                let ordering = self.compare_large(keys, *a as usize, *b as usize)?;
                Ok(ordering.then_with(|| a.cmp(b)))
            };
            merge(&mut order, 1, compare, cx)?;
        } else {
            sort_rows(&mut order, compare, cx)?;
        }
        order.truncate(top);
        Ok(order)
    }
}

/// The number at a place of all of them in order.
fn nth<T: Copy>(all: &[T], at: usize, descending: bool, by: impl Fn(&T, &T) -> Ordering) -> T {
    let mut all = all.to_vec();
    *all.select_nth_unstable_by(at, |a, b| if descending { by(b, a) } else { by(a, b) }).1
}

/// Rows whose number is one of those; as a rule few of them are.
fn rows_where<T: Copy>(numbers: &[T], is_one: impl Fn(T) -> bool) -> Vec<u32> {
    // PERF: `telar bench cypher`, the first of many: most rows go here, and most pieces, which are
    // looked at some numbers at a time, have none.
    const PIECE: usize = 64;
    let mut rows = Vec::new();
    for (piece, from) in numbers.chunks(PIECE).zip((0u32..).step_by(PIECE)) {
        if piece.iter().fold(false, |any, number| any | is_one(*number)) {
            rows.extend(
                (from..).zip(piece).filter(|(_, number)| is_one(**number)).map(|(row, _)| row),
            );
        }
    }
    rows
}

impl Read {
    fn new(order: Order<'_>) -> Self {
        Self { runs: None, kept: Kept::new(order.plan.keys.len()), last: None }
    }

    /// Takes rows, of which those are kept that may be wanted.
    fn take(
        &mut self,
        mut batch: Batch,
        order: Order<'_>,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        cx.check()?;
        let mut columns = Vec::with_capacity(order.plan.keys.len());
        for (expr, _) in &order.plan.keys {
            columns.push(eval(expr, &batch, cx)?);
        }
        let may = match &self.last {
            Some(last) => {
                let mut may = Vec::new();
                for row in order.perhaps_before(&columns[0], &last[0]) {
                    if order.before(&columns, row as usize, last)? {
                        may.push(row);
                    }
                }
                Some(may)
            }
            None => order.perhaps_first(&columns[0]),
        };
        if let Some(may) = may.filter(|may| may.len() < batch.rows()) {
            if may.is_empty() {
                return Ok(());
            }
            batch = batch.gather(&may);
            columns = columns.iter().map(|c| Arc::new(c.gather(&may))).collect();
        }
        self.kept.push(batch, &columns);
        self.keep(order, cx)
    }

    /// Takes what another one has of rows that came after these.
    fn merge(
        &mut self,
        mut other: Self,
        order: Order<'_>,
        cx: &mut Exec<'_>,
    ) -> Result<(), QueryError> {
        if other.runs.is_some() {
            self.spill(order, cx)?;
            match (&mut self.runs, other.runs.take()) {
                (Some(runs), Some(more)) => runs.absorb(*more),
                (none, more) => *none = more,
            }
        }
        self.last = self.last.take().or(other.last);
        self.kept.append(other.kept);
        self.keep(order, cx)
    }

    /// Leaves only rows that may be wanted, and puts them into a run if they are too much.
    fn keep(&mut self, order: Order<'_>, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let kept = &mut self.kept;
        if kept.rows() > order.top.saturating_add(order.top.max(MORE_ROWS)) {
            let mut best = order.order(kept, cx)?;
            let keys = |row: &u32| kept.keys.iter().map(|k| k[*row as usize].clone()).collect();
            self.last = best.last().map(keys);
            best.sort_unstable();
            kept.keep(&best);
        }
        let bytes = kept.bytes();
        if kept.held.exceeds(bytes, cx) && cx.scratch().is_some() {
            return self.spill(order, cx);
        }
        kept.held.set(bytes, cx)
    }

    /// Puts what is kept into a run.
    fn spill(&mut self, order: Order<'_>, cx: &mut Exec<'_>) -> Result<(), QueryError> {
        let kept = std::mem::replace(&mut self.kept, Kept::new(order.plan.keys.len()));
        let rows = order.order(&kept, cx)?;
        let Some(first) = kept.batches.first() else { return Ok(()) };
        let runs = match &mut self.runs {
            Some(runs) => runs,
            none => {
                let width = first.slots().max().map_or(0, |slot| slot + 1);
                let descending = order.plan.keys.iter().map(|(_, descending)| *descending);
                none.insert(Box::new(Merge::new("Sort", width, descending.collect(), cx)?))
            }
        };
        runs.begin_run();
        for rows in rows.chunks(Merge::frame_rows(kept.rows(), kept.bytes())) {
            let mut batch = kept.pick(rows);
            for (slot, keys) in (runs.width()..).zip(kept.key_columns(rows)) {
                batch.set(slot, keys);
            }
            runs.push(&batch, cx)?;
        }
        Ok(())
    }
}

impl<'p> Sort<'p> {
    pub(crate) fn new(input: Input<'p>, plan: &'p plan::Sort) -> Self {
        Self { input, plan, sorted: None }
    }

    fn read(&mut self, cx: &mut Exec<'_>) -> Result<Sorted, QueryError> {
        let top = match &self.plan.top {
            // SKIP and LIMIT may add up to more than an INTEGER. The operator of each of them
            // raises the errors of its own expression.
            Some(top) => count(top, "LIMIT", cx).or_else(|error| match error.kind {
                ErrorKind::Arithmetic => Ok(usize::MAX),
                _ => Err(error),
            })?,
            None => usize::MAX,
        };
        let order = Order { plan: self.plan, top };
        let new = || Read::new(order);
        let take = |read: &mut Read, rows, cx: &mut Exec<'_>| read.take(rows, order, cx);
        let mut merge = |all: &mut Read, other, cx: &mut Exec<'_>| all.merge(other, order, cx);
        let mut read = match &mut self.input {
            Input::Alone(input) if self.plan.in_order => read_first(input, order, cx)?,
            input => input.fold(true, &new, &take, &mut merge, cx)?,
        };
        if read.runs.is_some() {
            read.spill(order, cx)?;
        }
        let Some(mut runs) = read.runs else {
            let rows = order.order(&read.kept, cx)?;
            return Ok(Sorted::Here(read.kept, rows, 0));
        };
        runs.finish(cx)?;
        Ok(Sorted::Merged(runs, top))
    }
}

/// Reads rows that come in the order of the first key, up to where none can be among the first.
fn read_first(
    input: &mut Source<'_>,
    order: Order<'_>,
    cx: &mut Exec<'_>,
) -> Result<Read, QueryError> {
    let mut read = Read::new(order);
    let (key, _) = &order.plan.keys[0];
    // Rows that are still to come until as many are there as are wanted; the first key of the last
    // of those.
    let (mut left, mut last): (usize, Option<Value>) = (order.top, None);
    while order.top > 0
        && let Some(rows) = input.next(cx)?
    {
        let of = |row: usize, cx: &mut Exec<'_>| {
            eval(key, &rows.slice(row, row + 1), cx).map(|column| column.get(0))
        };
        let Some(last_row) = rows.rows().checked_sub(1) else { continue };
        if last.is_none() && left <= rows.rows() {
            last = Some(of(left - 1, cx)?);
        }
        left = left.saturating_sub(rows.rows());
        // Of rows with equal keys the first that came are wanted; only further keys may tell them
        // apart.
        let is_over = match &last {
            Some(_) if order.plan.keys.len() == 1 => true,
            Some(last) => ops::order(&of(last_row, cx)?, last)?.is_ne(),
            None => false,
        };
        read.take(rows, order, cx)?;
        if is_over {
            break;
        }
    }
    Ok(read)
}

/// Sorts rows, as long as the query goes on. No two of them are equal.
pub(super) fn sort_rows(
    order: &mut Vec<u32>,
    compare: impl Fn(&u32, &u32) -> Ordering + Copy,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    for chunk in order.chunks_mut(CHUNK_ROWS) {
        cx.check_now()?;
        chunk.sort_unstable_by(compare);
    }
    merge(order, CHUNK_ROWS, |a, b| Ok(compare(a, b)), cx)
}

/// Sorts what is sorted in chunks of so many rows, and looks before each chunk whether the query is
/// to be given up.
fn merge(
    order: &mut Vec<u32>,
    chunk_rows: usize,
    compare: impl Fn(&u32, &u32) -> Result<Ordering, QueryError>,
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    let mut sorted = chunk_rows;
    let mut merged = Vec::new();
    while sorted < order.len() {
        merged.clear();
        merged.reserve_exact(order.len());
        for pair in order.chunks(2 * sorted) {
            let (mut left, mut right) = pair.split_at(sorted.min(pair.len()));
            while let ([a, more_left @ ..], [b, more_right @ ..]) = (left, right) {
                if merged.len().is_multiple_of(chunk_rows) {
                    cx.check_now()?;
                }
                if compare(a, b)?.is_le() {
                    merged.push(*a);
                    left = more_left;
                } else {
                    merged.push(*b);
                    right = more_right;
                }
            }
            merged.extend_from_slice(left);
            merged.extend_from_slice(right);
        }
        std::mem::swap(order, &mut merged);
        sorted *= 2;
    }
    Ok(())
}

impl Operator for Sort<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if self.sorted.is_none() {
            self.sorted = Some(self.read(cx)?);
        }
        match &mut self.sorted {
            Some(Sorted::Here(kept, order, at)) => {
                cx.check()?;
                let end = order.len().min(*at + BATCH_ROWS);
                let rows = &order[*at..end];
                *at = end;
                if rows.is_empty() {
                    // What comes behind may need the room.
                    *kept = Kept::new(0);
                    *order = Vec::new();
                    *at = 0;
                    return Ok(None);
                }
                Ok(Some(kept.pick(rows)))
            }
            Some(Sorted::Merged(merge, left)) => {
                let rows = merge.next(*left, cx)?;
                *left -= rows.as_ref().map_or(0, Batch::rows);
                Ok(rows)
            }
            None => Ok(None),
        }
    }
}
