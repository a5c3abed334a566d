//! Evaluates bound expressions over whole batches.
//!
//! What is computed only for some rows (`CASE`, the right side of `AND`) is computed for those rows
//! only, so that a condition protects what comes after it.

pub(crate) mod access;
pub(crate) mod apoc;
mod columns;
mod lists;
mod membership;
mod subquery;

use std::cmp::Ordering;
use std::sync::Arc;

use telar_graph::{Value, ValueMap, order};

use crate::batch::{Batch, Column};
use crate::exec::Exec;
use crate::exec::growth::Growth;
use crate::expr::{Binary, Case, Expr, MapProjection, Unary};
use crate::ops;
use crate::query_error::{ErrorKind, QueryError};
use crate::watch::sizes;
use crate::watch::{self, UNITS};

/// The value of a condition in every row: true, false or null. Of a list it is whether it has
/// elements, as in Neo4j; any other value is an error.
pub(crate) fn condition(
    expr: &Expr,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Arc<Column>, QueryError> {
    let column = eval(expr, batch, cx)?;
    let holds = |value: Value| match value {
        Value::Bool(_) | Value::Null => Ok(value),
        Value::List(list) => Ok(Value::Bool(!list.is_empty())),
        other => Err(QueryError::wrong_type("a BOOLEAN", &other, "a condition")),
    };
    match &*column {
        Column::Bools(_) | Column::Same(Value::Bool(_) | Value::Null, _) => Ok(column),
        Column::Values(values)
            if values.iter().all(|v| matches!(v, Value::Bool(_) | Value::Null)) =>
        {
            Ok(column)
        }
        other => {
            let values = (0..other.len()).map(|row| holds(other.get(row)));
            Ok(Arc::new(Column::Values(values.collect::<Result<_, _>>()?)))
        }
    }
}

/// As [`eval`], for those who look at each text once: those of properties are copied, which is less
/// than to share them.
pub(crate) fn packed(
    expr: &Expr,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Arc<Column>, QueryError> {
    let Expr::Property(object, key) = expr else { return eval(expr, batch, cx) };
    let objects = eval(object, batch, cx)?;
    Ok(Arc::new(access::property(&objects, access::Key::Planned(key), Column::packed(), cx)?))
}

/// The value of `expr` in every row.
#[expect(clippy::too_many_lines, reason = "one arm for each kind of expression")]
pub(crate) fn eval(
    expr: &Expr,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Arc<Column>, QueryError> {
    let rows = batch.rows();
    Ok(Arc::new(match expr {
        Expr::Slot(slot) if !batch.has(*slot) => {
            let message = "an expression of the query names a variable that has no value there";
            return Err(QueryError::runtime(ErrorKind::Database, "UnboundVariable", message));
        }
        Expr::Slot(slot) => return Ok(Arc::clone(batch.column(*slot))),
        Expr::Const(value) => Column::Same(value.clone(), rows),
        Expr::Param(name) => Column::Same(cx.parameter(name)?, rows),
        Expr::Property(object, key) => {
            let objects = eval(object, batch, cx)?;
            access::property(&objects, access::Key::Planned(key), Column::default(), cx)?
        }
        Expr::List(parts) => {
            let columns = eval_all(parts, batch, cx)?;
            let list = |row| built(Value::List(columns.iter().map(|c| c.get(row)).collect()));
            each("a list", rows, cx, list)?
        }
        Expr::Map(entries) => {
            let mut columns = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                columns.push((key, eval(value, batch, cx)?));
            }
            each("a map", rows, cx, |row| {
                let entries = columns.iter().map(|(key, c)| (Arc::clone(key), c.get(row)));
                built(Value::Map(Arc::new(entries.collect::<ValueMap>())))
            })?
        }
        Expr::Index(object, key) => {
            let (object, key) = (eval(object, batch, cx)?, eval(key, batch, cx)?);
            let index = |row| access::index(&object.get(row), &key.get(row), cx);
            each("an element", rows, cx, index)?
        }
        Expr::Slice(list, from, to) => {
            let list = eval(list, batch, cx)?;
            let from = from.as_ref().map(|e| eval(e, batch, cx)).transpose()?;
            let to = to.as_ref().map(|e| eval(e, batch, cx)).transpose()?;
            each("a slice", rows, cx, |row| {
                let bound = |side: &Option<Arc<Column>>| side.as_ref().map(|c| c.get(row));
                Ok(ops::slice(&list.get(row), bound(&from).as_ref(), bound(&to).as_ref())?)
            })?
        }
        Expr::Unary(op, operand) => {
            let operand = eval(operand, batch, cx)?;
            if let (Unary::Not, Column::Bools(values)) = (op, &*operand) {
                return Ok(Arc::new(Column::Bools(values.map(|value| !value))));
            }
            map_rows(&operand, cx, |value| match op {
                Unary::Not => Ok(ops::not(value)?),
                Unary::Minus => Ok(ops::negate(value)?),
                Unary::Plus => Ok(ops::positive(value)?),
            })?
        }
        Expr::Binary(op, left, right) => {
            // PERF: telar bench snb --only complex-12: names of classes.
            let left = match **right {
                Expr::Const(_) | Expr::Param(_) if columns::compares(*op) => {
                    packed(left, batch, cx)?
                }
                _ => eval(left, batch, cx)?,
            };
            binary(*op, &left, &*eval(right, batch, cx)?, cx)?
        }
        Expr::Chain(first, rest) => {
            let mut done = eval(first, batch, cx)?;
            for (op, operand) in rest {
                let operand = eval(operand, batch, cx)?;
                done = Arc::new(binary(*op, &done, &operand, cx)?);
            }
            return Ok(done);
        }
        Expr::And(parts) => connect(parts, false, batch, cx)?,
        Expr::Or(parts) => connect(parts, true, batch, cx)?,
        Expr::Xor(parts) => {
            let mut done = Column::Same(Value::Bool(false), rows);
            for part in parts {
                cx.check()?;
                let part = eval(part, batch, cx)?;
                done = each("XOR", rows, cx, |row| Ok(ops::xor(&done.get(row), &part.get(row))?))?;
            }
            done
        }
        Expr::IsNull(operand, negated) => {
            let operand = match &**operand {
                // What the query has deleted has no property, so it is known that it is null.
                Expr::Property(object, key) => {
                    let objects = eval(object, batch, cx)?;
                    Arc::new(access::property_left(&objects, access::Key::Planned(key), cx)?)
                }
                operand => eval(operand, batch, cx)?,
            };
            let is = |row| operand.is_null(row) != *negated;
            Column::from((0..rows).map(is).collect::<Vec<_>>())
        }
        Expr::IsTyped(operand, ty, negated) => {
            let operand = eval(operand, batch, cx)?;
            let mut fit = Vec::with_capacity(rows);
            for row in 0..rows {
                let value = operand.get(row);
                watch::before(&value)?;
                fit.push(ty.contains(&value) != *negated);
            }
            Column::from(fit)
        }
        Expr::IsNormalized(operand, form, negated) => {
            let operand = eval(operand, batch, cx)?;
            map_rows(&operand, cx, |value| {
                let is = ops::is_normalized(value, *form)?;
                Ok(if *negated { ops::not(&is)? } else { is })
            })?
        }
        Expr::HasLabels(operand, labels) => {
            access::has_labels(&*eval(operand, batch, cx)?, labels, batch, cx)?
        }
        Expr::Function(function, arguments) => {
            let columns = eval_all(arguments, batch, cx)?;
            if let Some(eval_column) = function.eval_column {
                let all: Vec<&Column> = columns.iter().map(|column| &**column).collect();
                if let Some(found) = eval_column(&all, rows) {
                    return Ok(Arc::new(found?));
                }
            }
            let context = cx.context;
            let mut values = Vec::with_capacity(columns.len());
            let constant = function.deterministic
                && rows > 0
                && columns.iter().all(|column| matches!(**column, Column::Same(..)));
            let mut large = Growth::of(function.name);
            let mut call = |row: usize| -> Result<Value, QueryError> {
                values.clear();
                values.extend(columns.iter().map(|column| column.get(row)));
                // What is made of a long text or list is mostly as long, and is there twice while
                // it becomes a value.
                values.iter().try_for_each(|value| {
                    watch::before(value)?;
                    watch::room(watch::shallow_bytes(value).saturating_mul(2))
                })?;
                let value = built(function.call(&values, context)?)?;
                large.see(&value, cx)?;
                Ok(value)
            };
            match constant {
                true => Column::Same(call(0)?, rows),
                false => Column::of((0..rows).map(call).collect::<Result<_, _>>()?),
            }
        }
        Expr::UserFunction(call, arguments) => {
            let columns = eval_all(arguments, batch, cx)?;
            if rows == 0 {
                return Ok(Arc::new(Column::default()));
            }
            let column = call.call(&columns, rows)?;
            let mut large = Growth::of("a function of the program");
            if let Column::Values(values) = &column {
                for value in values {
                    sizes::check_value(value)?;
                    large.see(value, cx)?;
                }
            }
            column
        }
        Expr::GraphFunction(function, arguments) => {
            let columns = eval_all(arguments, batch, cx)?;
            let whole = columns.first().map(|c| access::graph_column(*function, c, cx));
            if let Some(column) = whole.transpose()?.flatten() {
                return Ok(Arc::new(column));
            }
            each("a function of the graph", rows, cx, |row| {
                let arguments: Vec<Value> = columns.iter().map(|c| c.get(row)).collect();
                access::graph_function(*function, &arguments, cx)
            })?
        }
        Expr::Case(case) => eval_case(case, batch, cx)?,
        Expr::ListComprehension(c) => lists::comprehension(c, batch, cx)?,
        Expr::Quantifier(kind, c) => lists::quantifier(*kind, c, batch, cx)?,
        Expr::Reduce(reduce) => lists::reduce(reduce, batch, cx)?,
        Expr::MapProjection(projection) => map_projection(projection, batch, cx)?,
        Expr::Path(slots) => lists::path(slots, batch)?,
        Expr::Subquery(subquery) => subquery::run(subquery, batch, cx)?,
    }))
}

/// A value that was just made of others, unless it is too large.
fn built(value: Value) -> Result<Value, QueryError> {
    sizes::check_value(&value)?;
    Ok(value)
}

fn eval_all(
    parts: &[Expr],
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Vec<Arc<Column>>, QueryError> {
    let mut columns = Vec::with_capacity(parts.len());
    for part in parts {
        cx.check()?;
        columns.push(eval(part, batch, cx)?);
    }
    Ok(columns)
}

/// A column of what `f` yields for each row.
fn each(
    who: &'static str,
    rows: usize,
    cx: &Exec<'_>,
    mut f: impl FnMut(usize) -> Result<Value, QueryError>,
) -> Result<Column, QueryError> {
    let mut growth = Growth::of(who);
    let row = |row| {
        let value = f(row)?;
        growth.look(cx)?;
        Ok::<_, QueryError>(value)
    };
    Ok(Column::of((0..rows).map(row).collect::<Result<_, _>>()?))
}

/// A column of what `f` makes of each value; once, if all are the same.
fn map_rows(
    column: &Column,
    cx: &Exec<'_>,
    mut f: impl FnMut(&Value) -> Result<Value, QueryError>,
) -> Result<Column, QueryError> {
    match column {
        Column::Same(_, 0) => Ok(Column::default()),
        Column::Same(value, rows) => Ok(Column::Same(f(value)?, *rows)),
        Column::Values(values) => Ok(Column::of(values.iter().map(f).collect::<Result<_, _>>()?)),
        other => each("an expression", other.len(), cx, |row| f(&other.get(row))),
    }
}

/// One operator on two values.
pub(crate) fn apply(op: Binary, a: &Value, b: &Value) -> Result<Value, QueryError> {
    Ok(match op {
        Binary::Add => ops::add(a, b)?,
        Binary::Subtract => ops::subtract(a, b)?,
        Binary::Multiply => ops::multiply(a, b)?,
        Binary::Divide => ops::divide(a, b)?,
        Binary::Modulo => ops::modulo(a, b)?,
        Binary::Power => ops::power(a, b)?,
        Binary::Concatenate => ops::concatenate(a, b)?,
        Binary::StartsWith => ops::starts_with(a, b),
        Binary::EndsWith => ops::ends_with(a, b),
        Binary::Contains => ops::contains(a, b)?,
        Binary::Matches => ops::regex_match(a, b)?,
        Binary::In => ops::in_list(a, b)?,
        Binary::Equal => ops::equal(a, b)?.into(),
        Binary::NotEqual => ops::equal(a, b)?.map(|equal| !equal).into(),
        Binary::Less => ops::ordered(a, b, order::cypher_lt, Ordering::is_lt)?.into(),
        Binary::LessOrEqual => ops::ordered(a, b, order::cypher_le, Ordering::is_le)?.into(),
        Binary::Greater => ops::ordered(a, b, order::cypher_gt, Ordering::is_gt)?.into(),
        Binary::GreaterOrEqual => ops::ordered(a, b, order::cypher_ge, Ordering::is_ge)?.into(),
    })
}

fn binary(op: Binary, left: &Column, right: &Column, cx: &Exec<'_>) -> Result<Column, QueryError> {
    if let Some(column) = columns::binary(op, left, right) {
        return Ok(column);
    }
    let mut large = Growth::of("+");
    let mut apply = |op, a: &Value, b: &Value| {
        watch::before(a)?;
        // A pattern is compiled for each row, which takes a while.
        if op == Binary::Matches {
            watch::check()?
        } else {
            watch::before(b)?
        }
        let value = apply(op, a, b)?;
        if let Value::List(_) | Value::String(_) = value {
            sizes::check_value(&value)?;
            large.see(&value, cx)?;
        }
        Ok::<_, QueryError>(value)
    };
    match (left, right) {
        (Column::Same(a, rows), Column::Same(b, _)) if *rows > 0 => {
            Ok(Column::Same(apply(op, a, b)?, *rows))
        }
        (_, _) if op == Binary::In => membership::column(left, right),
        // A pattern that is the same in every row is compiled once.
        (_, Column::Same(Value::String(text), _)) if op == Binary::Matches => {
            let regex = ops::CompiledRegex::new(text)?;
            map_rows(left, cx, |value| {
                // A pattern may have to be tried at each place of a text.
                watch::work(UNITS / 16)?;
                watch::before(value)?;
                Ok(regex.is_match(value)?)
            })
        }
        (Column::Values(a), Column::Same(b, _)) => {
            Ok(Column::of(a.iter().map(|a| apply(op, a, b)).collect::<Result<_, _>>()?))
        }
        _ => {
            each("an expression", left.len(), cx, |row| apply(op, &left.get(row), &right.get(row)))
        }
    }
}

/// `AND` and `OR`: a part is computed only for the rows that those before it leave undecided.
/// `decides` is the value that ends it.
fn connect(
    parts: &[Expr],
    decides: bool,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let rows = batch.rows();
    // Unknown is `None`.
    let mut results = vec![Some(!decides); rows];
    let mut open: Vec<u32> = (0..rows as u32).collect();
    for part in parts {
        if open.is_empty() {
            break;
        }
        let narrowed;
        let part_rows = if open.len() == rows {
            batch
        } else {
            // PERF: bench/compare/lsqb.py --only q8,q9: only the columns that it reads are copied.
            let mut read = Vec::new();
            part.slots(&mut |slot| read.push(slot));
            narrowed = batch.gather_some(&open, &read);
            &narrowed
        };
        cx.check()?;
        let column = eval(part, part_rows, cx)?;
        if column.bools().is_some_and(|all| all.iter().all(|value| *value != decides)) {
            continue;
        }
        let mut still = Vec::with_capacity(open.len());
        if let Some(values) = column.bools() {
            for (row, value) in open.iter().zip(values) {
                if *value == decides {
                    results[*row as usize] = Some(decides);
                } else {
                    still.push(*row);
                }
            }
            open = still;
            continue;
        }
        for (at, row) in open.iter().enumerate() {
            let result = &mut results[*row as usize];
            let value = match &*column {
                Column::Bools(values) => values.get(at),
                other => ops::truth(&other.get(at))?,
            };
            match value {
                Some(value) if value == decides => *result = Some(decides),
                Some(_) => still.push(*row),
                None => {
                    *result = None;
                    still.push(*row);
                }
            }
        }
        open = still;
    }
    Ok(Column::of_truths(results))
}

fn eval_case(case: &Case, batch: &Batch, cx: &mut Exec<'_>) -> Result<Column, QueryError> {
    let mut rows = batch.clone();
    if let Some((slot, operand)) = &case.operand {
        let column = eval(operand, &rows, cx)?;
        rows.set(*slot, column);
    }
    let mut results = vec![Value::Null; rows.rows()];
    // Rows, by their number in the batch, that no branch has taken yet.
    let mut open: Vec<u32> = (0..rows.rows() as u32).collect();
    for (condition, value) in &case.branches {
        if open.is_empty() {
            break;
        }
        cx.check()?;
        let undecided = rows.gather(&open);
        let holds = self::condition(condition, &undecided, cx)?;
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for (at, row) in open.iter().enumerate() {
            if holds.truth(at) == Some(true) { taken.push(*row) } else { left.push(*row) }
        }
        fill(&mut results, value, &rows, &taken, cx)?;
        open = left;
    }
    fill(&mut results, &case.default, &rows, &open, cx)?;
    Ok(Column::of(results))
}

/// Computes `value` for some rows and puts it in their places.
fn fill(
    results: &mut [Value],
    value: &Expr,
    rows: &Batch,
    places: &[u32],
    cx: &mut Exec<'_>,
) -> Result<(), QueryError> {
    if !places.is_empty() {
        let values = eval(value, &rows.gather(places), cx)?;
        for (at, row) in places.iter().enumerate() {
            results[*row as usize] = values.get(at);
        }
    }
    Ok(())
}

fn map_projection(
    projection: &MapProjection,
    batch: &Batch,
    cx: &mut Exec<'_>,
) -> Result<Column, QueryError> {
    let objects = eval(&projection.object, batch, cx)?;
    let mut columns = Vec::with_capacity(projection.entries.len());
    for (key, value) in &projection.entries {
        columns.push((key, eval(value, batch, cx)?));
    }
    each("a map", batch.rows(), cx, |row| {
        let object = objects.get(row);
        if object.is_null() {
            return Ok(Value::Null);
        }
        let mut entries = match projection.all {
            true => access::properties_left(&object, cx)?,
            false => ValueMap::new(),
        };
        entries.extend(columns.iter().map(|(key, column)| (Arc::clone(key), column.get(row))));
        built(Value::Map(Arc::new(entries)))
    })
}
