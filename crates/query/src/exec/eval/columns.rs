//! Operators on whole columns of one type: comparisons of numbers, texts, nodes and relationships,
//! and arithmetic.
//!
//! PERF: telar bench snb --only complex-3,complex-9: conditions on dates, of every message of many
//! persons; bench/compare/lsqb.py --only q8,q9: two nodes of a pattern that must differ. One by
//! one, each value is copied out of its column, compared by its type and put away.

use telar_graph::column::{Element, Nullable};
use telar_graph::{EdgeId, Value, VertexId};

use crate::batch::Column;
use crate::expr::Binary;

/// One side of an operator.
enum Side<'c, T> {
    All(&'c Nullable<T>),
    One(T),
}

impl<'c, T: Element> Side<'c, T> {
    /// The side, if it is of this type.
    fn of(column: &'c Column) -> Option<Self> {
        match column {
            Column::Same(value, _) => T::of(value).map(Self::One),
            column => T::list(column).map(Self::All),
        }
    }
}

/// Result of `f` for each row in which both sides are there; null in the others.
fn rows<T: Element, U: Copy + Default>(
    left: &Side<'_, T>,
    right: &Side<'_, T>,
    mut f: impl FnMut(T, T) -> U,
) -> Option<Nullable<U>> {
    Some(match (left, right) {
        (Side::All(left), Side::All(right)) => match (left.full(), right.full()) {
            (Some(left), Some(right)) => {
                let both = left.iter().zip(right);
                both.map(|(a, b)| f(*a, *b)).collect::<Vec<U>>().into()
            }
            _ => left.iter().zip(right.iter()).map(|(a, b)| Some(f(a?, b?))).collect(),
        },
        (Side::All(left), Side::One(b)) => left.map(|a| f(a, *b)),
        (Side::One(a), Side::All(right)) => right.map(|b| f(*a, b)),
        // Two constants are computed once.
        (Side::One(_), Side::One(_)) => return None,
    })
}

/// The value of `left op right` in each row, where both sides are columns of one type that the
/// operator has for columns; `None` if it is something else, or if a row would be an error.
pub(super) fn binary(op: Binary, left: &Column, right: &Column) -> Option<Column> {
    match left {
        Column::Texts(left) => {
            return compare_texts(op, left.iter().map(Option::as_deref), right);
        }
        Column::Packed(left) => return compare_texts(op, left.iter(), right),
        _ => {}
    }
    if let Some((left, right)) = sides::<i64>(left, right) {
        return compare(op, &left, &right).or_else(|| int_arithmetic(op, &left, &right));
    }
    if let Some((left, right)) = sides::<f64>(left, right) {
        return compare(op, &left, &right).or_else(|| float_arithmetic(op, &left, &right));
    }
    if let Some((left, right)) = sides::<VertexId>(left, right) {
        return equal(op, &left, &right);
    }
    let (left, right) = sides::<EdgeId>(left, right)?;
    equal(op, &left, &right)
}

/// True for operators that look at a text and keep nothing of it.
pub(super) fn compares(op: Binary) -> bool {
    use Binary::{Contains, EndsWith, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let order = matches!(op, Less | LessOrEqual | Greater | GreaterOrEqual);
    order || matches!(op, Equal | NotEqual | Binary::StartsWith | EndsWith | Contains)
}

fn sides<'c, T: Element>(
    left: &'c Column,
    right: &'c Column,
) -> Option<(Side<'c, T>, Side<'c, T>)> {
    Side::of(left).zip(Side::of(right))
}

/// `=` and `<>`.
fn equal<T: Element + PartialEq>(
    op: Binary,
    left: &Side<'_, T>,
    right: &Side<'_, T>,
) -> Option<Column> {
    match op {
        Binary::Equal => rows(left, right, |a, b| a == b),
        Binary::NotEqual => rows(left, right, |a, b| a != b),
        _ => None,
    }
    .map(Column::Bools)
}

/// The comparisons of numbers. What is not ordered, as NaN, is neither less nor greater.
fn compare<T: Element + PartialOrd>(
    op: Binary,
    left: &Side<'_, T>,
    right: &Side<'_, T>,
) -> Option<Column> {
    match op {
        Binary::Less => rows(left, right, |a, b| a < b),
        Binary::LessOrEqual => rows(left, right, |a, b| a <= b),
        Binary::Greater => rows(left, right, |a, b| a > b),
        Binary::GreaterOrEqual => rows(left, right, |a, b| a >= b),
        _ => return equal(op, left, right),
    }
    .map(Column::Bools)
}

/// Arithmetic of integers; `None` where a row overflows or divides by zero.
fn int_arithmetic(op: Binary, left: &Side<'_, i64>, right: &Side<'_, i64>) -> Option<Column> {
    let checked: fn(i64, i64) -> Option<i64> = match op {
        Binary::Add => i64::checked_add,
        Binary::Subtract => i64::checked_sub,
        Binary::Multiply => i64::checked_mul,
        Binary::Divide => i64::checked_div,
        Binary::Modulo => |a, b| (b != 0).then(|| a.wrapping_rem(b)),
        _ => return None,
    };
    let mut all_fit = true;
    let done = rows(left, right, |a, b| {
        let result = checked(a, b);
        all_fit &= result.is_some();
        result.unwrap_or_default()
    })?;
    all_fit.then_some(Column::Ints(done))
}

fn float_arithmetic(op: Binary, left: &Side<'_, f64>, right: &Side<'_, f64>) -> Option<Column> {
    let f: fn(f64, f64) -> f64 = match op {
        Binary::Add => |a, b| a + b,
        Binary::Subtract => |a, b| a - b,
        Binary::Multiply => |a, b| a * b,
        Binary::Divide => |a, b| a / b,
        Binary::Modulo => |a, b| a % b,
        _ => return None,
    };
    rows(left, right, f).map(Column::Floats)
}

/// Comparisons of texts with one text, or with those of another column.
fn compare_texts<'t>(
    op: Binary,
    left: impl Iterator<Item = Option<&'t str>>,
    right: &Column,
) -> Option<Column> {
    let holds: fn(&str, &str) -> bool = match op {
        Binary::Equal => |a, b| a == b,
        Binary::NotEqual => |a, b| a != b,
        Binary::Less => |a, b| a < b,
        Binary::LessOrEqual => |a, b| a <= b,
        Binary::Greater => |a, b| a > b,
        Binary::GreaterOrEqual => |a, b| a >= b,
        Binary::StartsWith => |a, b| a.starts_with(b),
        Binary::EndsWith => |a, b| a.ends_with(b),
        Binary::Contains => |a, b| a.contains(b),
        _ => return None,
    };
    let truths = match right {
        Column::Same(Value::String(one), _) => left.map(|text| Some(holds(text?, one))).collect(),
        Column::Texts(right) => {
            left.zip(right).map(|(a, b)| Some(holds(a?, b.as_deref()?))).collect()
        }
        _ => return None,
    };
    Some(Column::Bools(truths))
}

#[cfg(test)]
mod tests {
    use telar_graph::EdgeTypeId;

    use super::*;
    use crate::exec::eval::apply;

    const OPS: [Binary; 14] = [
        Binary::Add,
        Binary::Subtract,
        Binary::Multiply,
        Binary::Divide,
        Binary::Modulo,
        Binary::StartsWith,
        Binary::EndsWith,
        Binary::Contains,
        Binary::Equal,
        Binary::NotEqual,
        Binary::Less,
        Binary::LessOrEqual,
        Binary::Greater,
        Binary::GreaterOrEqual,
    ];

    /// Holds both sides, as columns and as one value for all rows, against value by value. The
    /// number of operators that columns have.
    fn check(values: &[Value]) -> usize {
        let pairs: Vec<(Value, Value)> =
            values.iter().flat_map(|a| values.iter().map(|b| (a.clone(), b.clone()))).collect();
        let both = (pairs.iter().map(|p| p.0.clone()), pairs.iter().map(|p| p.1.clone()));
        let (left, right) = (Column::of(both.0.collect()), Column::of(both.1.collect()));
        let mut found = 0;
        for op in OPS {
            let each = |left: &Column, right: &Column| -> Result<Vec<Value>, _> {
                (0..left.len()).map(|row| apply(op, &left.get(row), &right.get(row))).collect()
            };
            let mut packed = Column::packed();
            packed.append(&left);
            let mut sides = vec![(left.clone(), right.clone()), (packed, right.clone())];
            for one in values {
                let (all, rows) = (Column::of(values.to_vec()), values.len());
                sides.push((all.clone(), Column::Same(one.clone(), rows)));
                sides.push((Column::Same(one.clone(), rows), all.clone()));
                // Row by row, so that an error in one of them hides none of the others.
                let (a, b) = (Column::of(vec![one.clone(); 1]), Column::Same(one.clone(), 1));
                sides.push((a, b));
            }
            let mut has = false;
            for (left, right) in sides {
                let Some(column) = binary(op, &left, &right) else { continue };
                has = true;
                let wanted = each(&left, &right).expect("an error is not for columns");
                let found: Vec<Value> = (0..column.len()).map(|row| column.get(row)).collect();
                assert_eq!(
                    format!("{found:?}"),
                    format!("{wanted:?}"),
                    "{left:?} {op:?} {right:?}"
                );
            }
            found += usize::from(has);
        }
        found
    }

    #[test]
    fn columns_answer_as_their_values_do() {
        let node = VertexId::from_raw;
        let edge = |ordinal: u32| {
            let ty = EdgeTypeId::from_raw(1);
            Value::from(EdgeId { ty, src: node(1), dst: node(2), ordinal })
        };
        let ints = [i64::MIN, -7, -1, 0, 1, 2, 7, i64::MAX].map(Value::Int);
        let floats = [f64::NEG_INFINITY, -2.5, -0.0, 0.0, 1.0, 3.5, f64::INFINITY, f64::NAN]
            .map(Value::Float);
        let texts = ["", "a", "ab", "b", "ba", "ä"].map(Value::from);
        let nodes = [1, 2, 1 << 40].map(|n| Value::Vertex(node(n)));
        let edges = [edge(0), edge(1)];
        let of_type: [(&[Value], usize); 5] =
            [(&ints, 11), (&floats, 11), (&texts, 9), (&nodes, 2), (&edges, 2)];
        for (values, ops) in of_type {
            assert_eq!(check(values), ops, "{values:?}");
            let mut with_null = values.to_vec();
            with_null.insert(1, Value::Null);
            assert_eq!(check(&with_null), ops, "{with_null:?}");
        }
        // Of two types, and of any, it is value by value.
        check(&[Value::Int(1), Value::Float(1.0), Value::from("a"), Value::Null]);
        assert_eq!(check(&[Value::Null]), 0);
        assert_eq!(check(&[Value::list([Value::Int(1)])]), 0);
    }

    #[test]
    fn rows_that_are_errors_are_left_to_who_reports_them() {
        let ints = Column::from(vec![1_i64, i64::MAX]);
        let same = |int| Column::Same(Value::Int(int), 2);
        assert!(binary(Binary::Add, &ints, &same(1)).is_none());
        assert!(binary(Binary::Divide, &ints, &same(0)).is_none());
        assert!(binary(Binary::Modulo, &ints, &same(0)).is_none());
        let least = Column::from(vec![i64::MIN]);
        assert!(binary(Binary::Divide, &least, &Column::Same(Value::Int(-1), 1)).is_none());
    }
}
