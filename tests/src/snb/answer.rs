//! Expected answers against those that came.
//!
//! A query's `ORDER BY` fixes the order of rows as far as its keys go; rows with the same keys may
//! come in any order, and so may the elements of lists that `collect` made of unordered rows.

use serde_json::Value as Json;

use crate::tck::subject::Rows;
use crate::tck::value::TckValue;

/// What a query leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// Columns that decide the order; none means that rows come in any order.
    pub keys: &'static [usize],
    /// Columns with lists in any order.
    pub lists: &'static [usize],
}

/// Compares.
///
/// # Errors
/// The first row that differs.
pub(super) fn compare(order: Option<Order>, expected: &Json, found: &Rows) -> Result<(), String> {
    let rows = expected.as_array().ok_or("the expected answer is no list of rows")?;
    let rows = rows.iter().map(|row| row.as_array().ok_or("an expected row is no list"));
    let mut want = Vec::new();
    for row in rows {
        want.push(row?.iter().map(value).collect::<Result<Vec<_>, _>>()?);
    }
    let mut got = found.rows.clone();
    if let Some(order) = order {
        for rows in [&mut want, &mut got] {
            order.normalise(rows)?;
        }
    }
    if want == got {
        return Ok(());
    }
    let first =
        want.iter().zip(&got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
    let show = |rows: &[Vec<TckValue>]| match rows.get(first) {
        Some(row) => TckValue::List(row.clone()).to_string(),
        None => "nothing".to_owned(),
    };
    Err(format!(
        "want {} rows, got {}; row {}: want {}, got {}",
        want.len(),
        got.len(),
        first + 1,
        show(&want),
        show(&got)
    ))
}

impl Order {
    /// Sorts what may come in any order.
    fn normalise(self, rows: &mut [Vec<TckValue>]) -> Result<(), String> {
        for row in &mut *rows {
            for column in self.lists {
                match row.get_mut(*column) {
                    Some(TckValue::List(elements)) => elements.sort(),
                    _ => return Err(format!("column {} is no list", column + 1)),
                }
            }
            if self.keys.iter().any(|key| *key >= row.len()) {
                return Err(format!("a row has {} columns only", row.len()));
            }
        }
        let same =
            |a: &Vec<TckValue>, b: &Vec<TckValue>| self.keys.iter().all(|key| a[*key] == b[*key]);
        rows.chunk_by_mut(same).for_each(<[_]>::sort);
        Ok(())
    }
}

fn value(json: &Json) -> Result<TckValue, String> {
    Ok(match json {
        Json::Null => TckValue::Null,
        Json::Bool(value) => TckValue::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => TckValue::Int(number),
            (None, Some(number)) => TckValue::float(number),
            (None, None) => return Err(format!("not a number: {number}")),
        },
        Json::String(text) => TckValue::string(text),
        Json::Array(elements) => {
            TckValue::List(elements.iter().map(value).collect::<Result<_, _>>()?)
        }
        Json::Object(entries) => {
            let entry = |(key, json): (&String, _)| Ok::<_, String>((key.clone(), value(json)?));
            TckValue::Map(entries.iter().map(entry).collect::<Result<_, _>>()?)
        }
    })
}

/// Parameters from JSON.
///
/// # Errors
/// It is no object.
pub(super) fn parameters(json: &Json) -> Result<crate::tck::value::Entries, String> {
    match value(json)? {
        TckValue::Map(entries) => Ok(entries),
        other => Err(format!("parameters are no object: {other}")),
    }
}

/// The rows of an expected answer, for a subject that knows them.
#[cfg(test)]
pub(super) fn rows(json: &Json) -> Rows {
    let row = |row: &Json| row.as_array().unwrap().iter().map(|v| value(v).unwrap()).collect();
    Rows { columns: Vec::new(), rows: json.as_array().unwrap().iter().map(row).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(order: Option<Order>, want: &str, got: &str) -> bool {
        let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        compare(order, &parse(want), &rows(&parse(got))).is_ok()
    }

    #[test]
    fn rows_are_in_order_but_for_ties() {
        let ties = Some(Order { keys: &[1], lists: &[] });
        let (a, b) = ("[[1, 5], [2, 5], [3, 4]]", "[[2, 5], [1, 5], [3, 4]]");
        assert!(same(ties, a, b) && same(None, a, a));
        assert!(!same(None, a, b));
        assert!(!same(ties, a, "[[3, 4], [1, 5], [2, 5]]"));
        assert!(!same(ties, a, "[[1, 5], [2, 5]]"));
        assert!(!same(ties, a, "[[1, 5], [1, 5], [3, 4]]"));
        let bag = Some(Order { keys: &[], lists: &[] });
        assert!(same(bag, a, "[[3, 4], [1, 5], [2, 5]]"));
        assert!(!same(bag, a, "[[3, 4], [1, 5]]"));
    }

    #[test]
    fn only_lists_of_collect_may_be_turned() {
        let order = Some(Order { keys: &[0], lists: &[1] });
        assert!(same(order, "[[1, [[1, 2], [3, 4]]]]", "[[1, [[3, 4], [1, 2]]]]"));
        assert!(!same(order, "[[1, [[1, 2], [3, 4]]]]", "[[1, [[2, 1], [3, 4]]]]"));
        assert!(!same(None, "[[1, [1, 2]]]", "[[1, [2, 1]]]"));
        assert!(!same(order, "[[1, [1]]]", "[[1, 1]]"));
    }

    #[test]
    fn numbers_keep_their_type() {
        assert!(!same(None, "[[1]]", "[[1.0]]"));
        assert!(!same(None, "[[null]]", "[[false]]"));
        assert!(same(None, "[[1.5, \"a\", null, true]]", "[[1.5, \"a\", null, true]]"));
    }
}
