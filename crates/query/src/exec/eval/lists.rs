//! Expressions that go over lists: comprehensions, quantifiers, `reduce`; and paths.
//!
//! The elements of many lists are put into one batch, beside the row each came from, and the inner
//! expression is computed for all of them at once.

use std::sync::Arc;

use telar_graph::value::Path;
use telar_graph::{EdgeId, Value};

use super::{condition, eval};
use crate::batch::{Batch, Column, Slot};
use crate::exec::Exec;
use crate::exec::growth::Growth;
use crate::exec::memory::Held;
use crate::expr::{Expr, ListComprehension, Quantifier, Reduce};
use crate::function::Range;
use crate::query_error::QueryError;
use crate::watch::{self, sizes};

/// Elements put into one batch at once.
const ELEMENTS: usize = 4096;

/// What an expression goes over.
enum Elements {
    List(Arc<[Value]>),
    /// `range(..)`: its list is never made.
    Range(Range),
}

impl Elements {
    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Range(range) => range.len(),
        }
    }

    fn get(&self, at: usize) -> Value {
        match self {
            Self::List(list) => list[at].clone(),
            Self::Range(range) => Value::Int(range.get(at)),
        }
    }
}

/// The list in a row: `None` if it is null. What is no list counts as a list of one element, as
/// with `UNWIND`: a property that holds one value here and a list there is common.
fn list_of(value: Value) -> Option<Elements> {
    match value {
        Value::Null => None,
        Value::List(list) => Some(Elements::List(list)),
        single => Some(Elements::List(Arc::from([single]))),
    }
}

/// What is done with a batch of elements and the number of each one's row.
type ElementsFn<'f> = dyn FnMut(&Batch, &[u32], &mut Exec<'_>) -> Result<(), QueryError> + 'f;

/// Calls `f` with batches of elements: the rows with their elements in `variable`, and the number
/// of each one's row.
fn for_elements(
    lists: &[Option<Elements>],
    variable: Slot,
    batch: &Batch,
    cx: &mut Exec<'_>,
    f: &mut ElementsFn<'_>,
) -> Result<(), QueryError> {
    let (mut numbers, mut values) = (Vec::new(), Vec::new());
    let mut flush = |numbers: &mut Vec<u32>, values: &mut Vec<Value>, cx: &mut Exec<'_>| {
        if numbers.is_empty() {
            return Ok(());
        }
        cx.check()?;
        let mut elements = batch.gather(numbers);
        elements.set(variable, Column::of(std::mem::take(values)));
        f(&elements, numbers, cx)?;
        numbers.clear();
        Ok::<(), QueryError>(())
    };
    for (row, list) in lists.iter().enumerate() {
        let Some(list) = list else { continue };
        for at in 0..list.len() {
            numbers.push(row as u32);
            values.push(list.get(at));
            if values.len() == ELEMENTS {
                flush(&mut numbers, &mut values, cx)?;
            }
        }
    }
    flush(&mut numbers, &mut values, cx)
}

fn lists(
    list: &Expr,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Vec<Option<Elements>>, QueryError> {
    if let Expr::Function(function, arguments) = list
        && function.name == "range"
    {
        let mut columns = Vec::with_capacity(arguments.len());
        for argument in arguments {
            columns.push(eval(argument, batch, cx)?);
        }
        let range = |row: usize| {
            let values: Vec<Value> = columns.iter().map(|column| column.get(row)).collect();
            Ok(Some(Elements::Range(Range::of_list(&values)?)))
        };
        return (0..batch.rows()).map(range).collect();
    }
    let column = eval(list, batch, cx)?;
    Ok((0..batch.rows()).map(|row| list_of(column.get(row))).collect())
}

pub(crate) fn comprehension(
    c: &ListComprehension,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let lists = lists(&c.list, batch, cx)?;
    let mut held = Held::of("ListComprehension");
    let mut results: Vec<Vec<Value>> = vec![Vec::new(); batch.rows()];
    for_elements(&lists, c.variable, batch, cx, &mut |elements, numbers, cx| {
        let kept: Vec<u32> = match &c.filter {
            None => (0..numbers.len() as u32).collect(),
            Some(filter) => {
                let holds = condition(filter, elements, cx)?;
                let holds = |at: &u32| holds.truth(*at as usize) == Some(true);
                (0..numbers.len() as u32).filter(holds).collect()
            }
        };
        let kept_rows =
            if kept.len() == numbers.len() { elements.clone() } else { elements.gather(&kept) };
        let values = match &c.projection {
            Some(projection) => eval(projection, &kept_rows, cx)?,
            None => kept_rows.column(c.variable).clone(),
        };
        held.grow(kept.len() * size_of::<Value>() + values.heap_bytes(), cx)?;
        for (at, element) in kept.iter().enumerate() {
            results[numbers[*element as usize] as usize].push(values.get(at));
        }
        Ok(())
    })?;
    let value = |(list, result): (&Option<_>, Vec<Value>)| match list {
        Some(_) => {
            // It is there twice while it becomes a value.
            watch::room(size_of_val(&result[..]))?;
            let value = Value::from(result);
            sizes::check_value(&value)?;
            Ok(value)
        }
        None => Ok(Value::Null),
    };
    let values: Result<_, QueryError> = lists.iter().zip(results).map(value).collect();
    Ok(Column::Values(values?))
}

pub(crate) fn quantifier(
    kind: Quantifier,
    c: &ListComprehension,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let lists = lists(&c.list, batch, cx)?;
    // Of each row: for how many elements the condition is true, and for how many it is unknown.
    let mut holds = vec![(0_usize, 0_usize); batch.rows()];
    let filter = c.filter.as_ref().expect("INVARIANT: a quantifier has a condition");
    for_elements(&lists, c.variable, batch, cx, &mut |elements, numbers, cx| {
        let values = condition(filter, elements, cx)?;
        for (at, row) in numbers.iter().enumerate() {
            let counts = &mut holds[*row as usize];
            match values.truth(at) {
                Some(true) => counts.0 += 1,
                Some(false) => {}
                None => counts.1 += 1,
            }
        }
        Ok(())
    })?;
    let verdict = |(list, (yes, unknown)): (&Option<Elements>, (usize, usize))| {
        let Some(list) = list else { return Value::Null };
        let sure = |verdict: bool| Value::Bool(verdict);
        let no = list.len() - yes - unknown;
        match kind {
            Quantifier::All if no > 0 => sure(false),
            Quantifier::All if unknown == 0 => sure(true),
            Quantifier::Any if yes > 0 => sure(true),
            Quantifier::Any if unknown == 0 => sure(false),
            Quantifier::None if yes > 0 => sure(false),
            Quantifier::None if unknown == 0 => sure(true),
            Quantifier::Single if yes > 1 => sure(false),
            Quantifier::Single if unknown == 0 => sure(yes == 1),
            _ => Value::Null,
        }
    };
    Ok(Column::Values(lists.iter().zip(holds).map(verdict).collect()))
}

/// `reduce`: each step needs the one before, so the rows go on together, element by element.
pub(crate) fn reduce(
    reduce: &Reduce,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let lists = lists(&reduce.list, batch, cx)?;
    let mut results = eval(&reduce.initial, batch, cx)?.as_ref().clone().into_values();
    let mut growth = Growth::of("reduce()");
    let longest = lists.iter().flatten().map(|list| list.len()).max().unwrap_or(0);
    for at in 0..longest {
        cx.check()?;
        let long = |row: &u32| lists[*row as usize].as_ref().is_some_and(|list| list.len() > at);
        let rows: Vec<u32> = (0..batch.rows() as u32).filter(long).collect();
        let mut step = batch.gather(&rows);
        let element = |row: &u32| lists[*row as usize].as_ref().map(|list| list.get(at));
        let elements: Vec<Value> = rows.iter().filter_map(element).collect();
        let so_far: Vec<Value> = rows.iter().map(|row| results[*row as usize].clone()).collect();
        step.set(reduce.variable, Column::of(elements));
        step.set(reduce.accumulator, Column::of(so_far));
        let next = eval(&reduce.step, &step, cx)?;
        for (place, row) in rows.iter().enumerate() {
            results[*row as usize] = next.get(place);
        }
        growth.look(cx)?;
    }
    for (list, result) in lists.iter().zip(&mut results) {
        if list.is_none() {
            *result = Value::Null;
        }
    }
    Ok(Column::of(results))
}

/// The path through the nodes, relationships and lists of relationships in these slots; null if
/// one of them is.
pub(crate) fn path(slots: &[Slot], batch: &Batch) -> Result<Column, QueryError> {
    let columns: Vec<_> = slots.iter().map(|slot| batch.column(*slot)).collect();
    let of_row = |row: usize| {
        let mut path: Option<Path> = None;
        for column in &columns {
            let mut push = |edge: EdgeId| path.as_mut().is_some_and(|path| path.push(edge));
            match column.get(row) {
                Value::Vertex(vertex) => {
                    path.get_or_insert_with(|| Path::start(vertex));
                }
                Value::Edge(edge) => {
                    if !push(*edge) {
                        return Value::Null;
                    }
                }
                Value::List(list) => {
                    for value in list.iter() {
                        match value {
                            Value::Edge(edge) if push(**edge) => {}
                            _ => return Value::Null,
                        }
                    }
                }
                _ => return Value::Null,
            }
        }
        path.map_or(Value::Null, Value::from)
    };
    Ok(Column::Values((0..batch.rows()).map(of_row).collect()))
}
