//! `IN`: a list that several rows share becomes a set.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use foldhash::fast::RandomState;
use telar_graph::Value;

use crate::batch::Column;
use crate::ops;
use crate::query_error::QueryError;
use crate::watch;

/// Shorter lists are searched.
const SET_MIN: usize = 8;

/// A list that was asked before, and its elements, if equality of them is plain.
struct Known<'c> {
    list: &'c Arc<[Value]>,
    set: Option<HashSet<&'c Value, RandomState>>,
}

/// Whether `=` with others of these types is never null, and holds for equivalent values only.
fn is_plain(value: &Value) -> bool {
    matches!(
        value,
        Value::Int(_) | Value::String(_) | Value::Bool(_) | Value::Vertex(_) | Value::Edge(_)
    )
}

impl<'c> Known<'c> {
    fn new(list: &'c Arc<[Value]>) -> Self {
        let plain = list.len() >= SET_MIN && list.iter().all(is_plain);
        Self { list, set: plain.then(|| list.iter().collect()) }
    }
}

/// The list in a row.
fn list_at(column: &Column, row: usize) -> Option<&Arc<[Value]>> {
    match column {
        Column::Same(Value::List(list), _) => Some(list),
        Column::Values(values) => match &values[row] {
            Value::List(list) => Some(list),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the element in each row is in the list in that row.
pub(super) fn column(elements: &Column, lists: &Column) -> Result<Column, QueryError> {
    let vertex = |value: &Value| match value {
        Value::Vertex(vertex) => Some(*vertex),
        _ => None,
    };
    let int = |value: &Value| match value {
        Value::Int(int) => Some(*int),
        _ => None,
    };
    let vertices = elements.vertices().and_then(|all| typed_in(all, lists, vertex));
    let ints = || elements.ints().and_then(|all| typed_in(all, lists, int));
    if let Some(found) = vertices.or_else(ints) {
        return Ok(Column::from(found));
    }
    let mut last: Option<&Arc<[Value]>> = None;
    let mut known: Option<Known<'_>> = None;
    let mut results = Vec::with_capacity(elements.len());
    for row in 0..elements.len() {
        let element = elements.get(row);
        let list = list_at(lists, row);
        // The second row in a row with the same list makes the set.
        if let Some(list) = list
            && !known.as_ref().is_some_and(|known| Arc::ptr_eq(known.list, list))
            && last.is_some_and(|last| Arc::ptr_eq(last, list))
        {
            known = Some(Known::new(list));
        }
        last = list;
        let set = match (&known, list) {
            (Some(known), Some(list)) if Arc::ptr_eq(known.list, list) => known.set.as_ref(),
            _ => None,
        };
        results.push(match set {
            Some(set) if is_plain(&element) => Value::Bool(set.contains(&element)),
            _ => {
                watch::before(&element)?;
                ops::in_list(&element, &lists.get(row))?
            }
        });
    }
    Ok(Column::Values(results))
}

/// The same of elements of one type, if all lists hold nothing else: `of` is the element that a
/// value is.
///
/// PERF: `telar bench snb --only complex-5,complex-12`: authors of posts, looked for in short lists
/// of nodes, one list for each forum; numbers of tags, looked for in one long list.
fn typed_in<T: Copy + Eq + Hash>(
    elements: &[T],
    lists: &Column,
    of: impl Fn(&Value) -> Option<T> + Copy,
) -> Option<Vec<bool>> {
    let mut found = Vec::with_capacity(elements.len());
    while found.len() < elements.len() {
        let from = found.len();
        let list = list_at(lists, from)?;
        // Rows with the same list follow each other.
        let rows = match lists {
            Column::Same(..) => elements.len(),
            _ => {
                let shares =
                    |row: &usize| list_at(lists, *row).is_some_and(|l| Arc::ptr_eq(l, list));
                (from + 1..elements.len()).take_while(shares).count() + 1
            }
        };
        let all: Option<Vec<T>> = list.iter().map(of).collect();
        let (all, asked) = (all?, &elements[from..from + rows]);
        if all.len().min(rows) < SET_MIN {
            found.extend(asked.iter().map(|element| all.contains(element)));
        } else {
            let set: HashSet<T, RandomState> = all.into_iter().collect();
            found.extend(asked.iter().map(|element| set.contains(element)));
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use telar_graph::VertexId;

    use super::*;

    #[test]
    fn sets_answer_as_lists_do() {
        let vertex = |n| Value::Vertex(VertexId::from_raw(n));
        let ints: Vec<Value> = (0..10).map(Value::Int).collect();
        let mut with_null = ints.clone();
        with_null.push(Value::Null);
        let mut mixed = ints.clone();
        mixed.extend([vertex(3), Value::from("a"), Value::Bool(true)]);
        let floats: Vec<Value> = (0..10).map(|n| Value::Float(f64::from(n))).collect();
        let elements = [
            Value::Int(3),
            Value::Int(30),
            Value::Float(3.0),
            Value::Float(f64::NAN),
            Value::Null,
            vertex(3),
            vertex(4),
            Value::from("a"),
            Value::Bool(true),
            Value::list([Value::Int(1)]),
        ];
        for list in [ints, with_null, mixed, floats, Vec::new()] {
            let list = Value::from(list);
            let lists = Column::Same(list.clone(), elements.len());
            let found = column(&Column::Values(elements.to_vec()), &lists).unwrap();
            for (row, element) in elements.iter().enumerate() {
                let want = ops::in_list(element, &list).unwrap();
                assert_eq!(found.get(row), want, "{element:?} in {list:?}");
                // A column of its type, few rows and many.
                for rows in [1, 7, 20] {
                    let lists = Column::Same(list.clone(), rows);
                    let found = column(&Column::of(vec![element.clone(); rows]), &lists).unwrap();
                    assert_eq!(found.into_values(), vec![want.clone(); rows], "{element:?}");
                }
            }
        }
    }

    #[test]
    fn each_row_is_asked_of_its_own_list() {
        let long = |from: i64| Value::from((from..from + 9).map(Value::Int).collect::<Vec<_>>());
        let (a, b) = (long(0), long(100));
        let lists = Column::Values(vec![a.clone(), a.clone(), b.clone(), b, a, Value::Null]);
        let elements = Column::Same(Value::Int(1), 6);
        let found = column(&elements, &lists).unwrap().into_values();
        let want = [Some(true), Some(true), Some(false), Some(false), Some(true), None];
        assert_eq!(found, want.map(Value::from));
        // What is no list is a list of one.
        let found = column(&elements, &Column::Same(Value::Int(1), 6)).unwrap().into_values();
        assert_eq!(found, vec![Value::Bool(true); 6]);
    }
}
