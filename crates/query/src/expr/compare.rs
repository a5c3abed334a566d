//! Comparisons of whole columns of integers, nodes or relationships.
//!
//! PERF: telar bench snb --only complex-3,complex-9: conditions on dates, of every message of many
//! persons; bench/compare/lsqb.py --only q8,q9: two nodes of a pattern that must differ. One by
//! one, each value is copied out of its column, compared by its type and put away.

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

/// `=` or `<>` of each row, where both sides are nodes, or both relationships, and none is null;
/// `None` if it is something else.
pub(super) fn entities(op: Binary, left: &Column, right: &Column) -> Option<Column> {
    let wanted = match op {
        Binary::Equal => true,
        Binary::NotEqual => false,
        _ => return None,
    };
    Some(Column::Bools(match (left, right) {
        (Column::Vertices(a), Column::Vertices(b)) => {
            a.iter().zip(b).map(|(a, b)| (a == b) == wanted).collect()
        }
        (Column::Vertices(all), Column::Same(Value::Vertex(one), _))
        | (Column::Same(Value::Vertex(one), _), Column::Vertices(all)) => {
            all.iter().map(|v| (v == one) == wanted).collect()
        }
        (Column::Edges(a), Column::Edges(b)) => {
            a.iter().zip(b).map(|(a, b)| (a == b) == wanted).collect()
        }
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use telar_graph::{EdgeId, EdgeTypeId, VertexId};

    use super::*;
    use crate::expr::eval::apply;

    #[test]
    fn entities_compare_as_their_values_do() {
        let node = VertexId::from_raw;
        let edge = |ordinal: u32| EdgeId {
            ty: EdgeTypeId::from_raw(1),
            src: node(1),
            dst: node(2),
            ordinal,
        };
        let columns = [
            (Column::Vertices(vec![node(1), node(2)]), Column::Vertices(vec![node(1), node(3)])),
            (Column::Vertices(vec![node(1), node(2)]), Column::Same(Value::Vertex(node(2)), 2)),
            (Column::Same(Value::Vertex(node(1)), 2), Column::Vertices(vec![node(1), node(2)])),
            (Column::Edges(vec![edge(0), edge(1)]), Column::Edges(vec![edge(0), edge(2)])),
        ];
        for op in [Binary::Equal, Binary::NotEqual] {
            for (left, right) in &columns {
                let found = entities(op, left, right).unwrap();
                for row in 0..2 {
                    let one = apply(op, &left.get(row), &right.get(row)).unwrap();
                    assert_eq!(found.get(row), one, "{left:?} {op:?} {right:?}");
                }
            }
        }
        let (nodes, edges) = (&columns[0].0, &columns[3].0);
        assert!(entities(Binary::Less, nodes, nodes).is_none());
        assert!(entities(Binary::Equal, nodes, edges).is_none());
        assert!(entities(Binary::Equal, nodes, &Column::Same(Value::Null, 2)).is_none());
    }

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
