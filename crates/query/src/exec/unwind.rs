//! `UNWIND`: a row for each element of a list.
//!
//! The list of `UNWIND range(…)` is never made: its integers are counted, however many. Nor is that
//! of a parameter that is a table: its columns are cut into pieces.

use telar_graph::Value;

use super::{Exec, Operator, Ramp, Source};
use crate::batch::{Batch, Column, Slot};
use crate::exec::eval::eval;
use crate::expr::Expr;
use crate::function::Range;
use crate::query_error::QueryError;

pub(crate) struct Unwind<'p> {
    input: Source<'p>,
    slot: Slot,
    list: &'p Expr,
    ramp: Ramp,
    /// The rows being unwound, their lists, and the next row and element.
    state: Option<(Batch, Vec<Elements>, usize, usize)>,
    /// The same, if the list is a table.
    pieces: Option<Pieces>,
}

/// What one row is unwound to.
enum Elements {
    /// The elements of a list; of anything else itself, of null nothing.
    Of(Value),
    /// What is left of a range.
    Range(Range),
}

/// A table that is unwound for each row of the input.
struct Pieces {
    input: Batch,
    /// Row of the input, and row of the table.
    at: (usize, usize),
}

impl<'p> Unwind<'p> {
    pub(crate) fn new(input: Source<'p>, slot: Slot, list: &'p Expr, ramp: Ramp) -> Self {
        Self { input, slot, list, ramp, state: None, pieces: None }
    }

    /// The next rows of a table, for the rows of the input one after the other.
    fn next_piece(
        &mut self,
        table: &Column,
        cx: &mut Exec<'_>,
    ) -> Result<Option<Batch>, QueryError> {
        loop {
            cx.check()?;
            let pieces = match &mut self.pieces {
                Some(pieces) => pieces,
                none => {
                    let Some(input) = self.input.next(cx)? else { return Ok(None) };
                    none.insert(Pieces { input, at: (0, 0) })
                }
            };
            let (row, from) = pieces.at;
            if row == pieces.input.rows() || table.is_empty() {
                self.pieces = None;
                continue;
            }
            let to = table.len().min(from + self.ramp.step());
            pieces.at = if to == table.len() { (row + 1, 0) } else { (row, to) };
            let mut out = pieces.input.gather(&vec![row as u32; to - from]);
            out.set(self.slot, table.slice(from, to));
            return Ok(Some(out));
        }
    }

    fn elements(&self, rows: &Batch, cx: &mut Exec<'_>) -> Result<Vec<Elements>, QueryError> {
        let arguments = match self.list {
            Expr::Function(function, arguments) if function.name == "range" => arguments,
            list => {
                let lists = eval(list, rows, cx)?.as_ref().clone().into_values();
                return Ok(lists.into_iter().map(Elements::Of).collect());
            }
        };
        let mut columns = Vec::with_capacity(arguments.len());
        for argument in arguments {
            columns.push(eval(argument, rows, cx)?);
        }
        let range = |row: usize| {
            let values: Vec<Value> = columns.iter().map(|column| column.get(row)).collect();
            Ok(Elements::Range(Range::new(&values)?))
        };
        (0..rows.rows()).map(range).collect()
    }
}

impl Operator for Unwind<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        if let Expr::Param(name) = self.list
            && !cx.parameters.contains_key(name)
            && let Some(table) = cx.tables.and_then(|tables| tables.rows(name))
        {
            return self.next_piece(table, cx);
        }
        loop {
            cx.check()?;
            if self.state.is_none() {
                let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                let lists = self.elements(&rows, cx)?;
                self.state = Some((rows, lists, 0, 0));
            }
            let Some((rows, lists, row, element)) = &mut self.state else { continue };
            let (mut numbers, mut values) = (Vec::new(), Vec::new());
            let wanted = self.ramp.step();
            while *row < lists.len() && values.len() < wanted {
                let room = wanted - values.len();
                match &mut lists[*row] {
                    Elements::Of(Value::List(list)) => {
                        let end = list.len().min(*element + room);
                        values.extend(list[*element..end].iter().cloned());
                        numbers.resize(values.len(), *row as u32);
                        *element = end;
                        if end < list.len() {
                            break;
                        }
                    }
                    Elements::Range(range) => {
                        values.extend(range.by_ref().take(room).map(Value::Int));
                        numbers.resize(values.len(), *row as u32);
                        if range.remaining() > 0 {
                            break;
                        }
                    }
                    Elements::Of(Value::Null) => {}
                    Elements::Of(single) => {
                        values.push(single.clone());
                        numbers.push(*row as u32);
                    }
                }
                *row += 1;
                *element = 0;
            }
            let mut out = rows.gather(&numbers);
            if *row == lists.len() {
                self.state = None;
            }
            if !values.is_empty() {
                out.set(self.slot, Column::of(values));
                return Ok(Some(out));
            }
        }
    }
}
