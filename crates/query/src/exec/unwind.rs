//! `UNWIND`: a row for each element of a list.

use telar_graph::Value;

use super::{Exec, Operator, Source};
use crate::batch::{BATCH_ROWS, Batch, Column, Slot};
use crate::expr::Expr;
use crate::expr::eval::eval;
use crate::query_error::QueryError;

pub(crate) struct Unwind<'p> {
    input: Source<'p>,
    slot: Slot,
    list: &'p Expr,
    /// The rows being unwound, their lists, and the next row and element.
    state: Option<(Batch, Vec<Value>, usize, usize)>,
}

impl<'p> Unwind<'p> {
    pub(crate) fn new(input: Source<'p>, slot: Slot, list: &'p Expr) -> Self {
        Self { input, slot, list, state: None }
    }
}

impl Operator for Unwind<'_> {
    fn next(&mut self, cx: &mut Exec<'_>) -> Result<Option<Batch>, QueryError> {
        loop {
            if self.state.is_none() {
                let Some(rows) = self.input.next(cx)? else { return Ok(None) };
                let lists = eval(self.list, &rows, cx)?.as_ref().clone().into_values();
                self.state = Some((rows, lists, 0, 0));
            }
            let Some((rows, lists, row, element)) = &mut self.state else { continue };
            let (mut numbers, mut values) = (Vec::new(), Vec::new());
            while *row < lists.len() && values.len() < BATCH_ROWS {
                match &lists[*row] {
                    Value::List(list) => {
                        let room = BATCH_ROWS - values.len();
                        let end = list.len().min(*element + room);
                        values.extend(list[*element..end].iter().cloned());
                        numbers.resize(values.len(), *row as u32);
                        *element = end;
                        if end < list.len() {
                            break;
                        }
                    }
                    Value::Null => {}
                    single => {
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
            cx.check()?;
        }
    }
}
