//! Comparisons of whole columns of integers.
//!
//! PERF: telar bench snb --only complex-3,complex-9: conditions on dates, of every message of many
//! persons. One by one, each value is copied out of its column, compared by its type and put away.

use telar_graph::Value;

use super::Binary;
use crate::batch::Column;

/// What a comparison says of each row, where both sides are integers and none is null; `None` if
/// it is something else.
pub(super) fn integers(op: Binary, left: &Column, right: &Column) -> Option<Column> {
    match op {
        Binary::Equal => rows(left, right, |a, b| a == b),
        Binary::NotEqual => rows(left, right, |a, b| a != b),
        Binary::Less => rows(left, right, |a, b| a < b),
        Binary::LessOrEqual => rows(left, right, |a, b| a <= b),
        Binary::Greater => rows(left, right, |a, b| a > b),
        Binary::GreaterOrEqual => rows(left, right, |a, b| a >= b),
        _ => None,
    }
}

fn rows(left: &Column, right: &Column, holds: impl Fn(i64, i64) -> bool) -> Option<Column> {
    Some(Column::Bools(match (left, right) {
        (Column::Ints(a), Column::Ints(b)) => a.iter().zip(b).map(|(a, b)| holds(*a, *b)).collect(),
        (Column::Ints(a), Column::Same(Value::Int(b), _)) => {
            a.iter().map(|a| holds(*a, *b)).collect()
        }
        (Column::Same(Value::Int(a), _), Column::Ints(b)) => {
            b.iter().map(|b| holds(*a, *b)).collect()
        }
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::eval::apply;

    #[test]
    fn columns_compare_as_their_values_do() {
        let values = [i64::MIN, -1, 0, 1, 7, i64::MAX];
        let ops = [
            Binary::Equal,
            Binary::NotEqual,
            Binary::Less,
            Binary::LessOrEqual,
            Binary::Greater,
            Binary::GreaterOrEqual,
        ];
        let all = || Column::Ints(values.to_vec());
        for op in ops {
            let one = |a: i64, b: i64| apply(op, &Value::Int(a), &Value::Int(b)).unwrap();
            for same in values {
                let rows = values.len();
                let right = integers(op, &all(), &Column::Same(Value::Int(same), rows)).unwrap();
                let left = integers(op, &Column::Same(Value::Int(same), rows), &all()).unwrap();
                let turned = Column::Ints(values.iter().map(|v| v ^ same).collect());
                let both = integers(op, &all(), &turned).unwrap();
                for (row, value) in values.into_iter().enumerate() {
                    assert_eq!(right.get(row), one(value, same), "{value} {op:?} {same}");
                    assert_eq!(left.get(row), one(same, value), "{same} {op:?} {value}");
                    assert_eq!(both.get(row), one(value, value ^ same));
                }
            }
        }
        let null = Column::Same(Value::Null, values.len());
        assert!(integers(Binary::Less, &all(), &null).is_none());
        assert!(integers(Binary::Add, &all(), &all()).is_none());
    }
}
