//! Expected answers against those that came.
//!
//! A query's `ORDER BY` fixes the order of rows as far as its keys go; rows with the same keys may
//! come in any order, and so may the elements of lists that `collect` made of unordered rows.

use std::mem::discriminant;

use serde_json::{Value as Json, json};
use telar_db::{Value, ValueMap};

/// Rows of an answer.
pub type Rows = Vec<Vec<Value>>;

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
pub fn compare(order: Option<Order>, expected: &Json, found: &Rows) -> Result<(), String> {
    let (mut want, mut got) = (rows(expected)?, found.clone());
    if let Some(order) = order {
        for rows in [&mut want, &mut got] {
            order.normalise(rows)?;
        }
    }
    let alike = want.iter().zip(&got).take_while(|(a, b)| same_list(a, b)).count();
    if alike == want.len() && alike == got.len() {
        return Ok(());
    }
    let show = |rows: &Rows| match rows.get(alike) {
        Some(row) => format!("{row:?}"),
        None => "nothing".to_owned(),
    };
    Err(format!(
        "want {} rows, got {}; row {}: want {}, got {}",
        want.len(),
        got.len(),
        alike + 1,
        show(&want),
        show(&got)
    ))
}

/// Equal, and of the same type: 1 is not 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => same_list(a, b),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(&**b).all(|(a, b)| a.0 == b.0 && same(a.1, b.1))
        }
        _ => discriminant(a) == discriminant(b) && a == b,
    }
}

fn same_list(a: &[Value], b: &[Value]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
}

impl Order {
    /// For other programs: `{"keys": [0], "lists": []}`.
    pub(super) fn to_json(self) -> Json {
        json!({ "keys": self.keys, "lists": self.lists })
    }

    /// Sorts what may come in any order.
    fn normalise(self, rows: &mut Rows) -> Result<(), String> {
        for row in &mut *rows {
            for column in self.lists {
                match row.get_mut(*column) {
                    Some(Value::List(elements)) => {
                        let mut sorted = elements.to_vec();
                        sorted.sort();
                        *elements = sorted.into();
                    }
                    _ => return Err(format!("column {} is no list", column + 1)),
                }
            }
            if self.keys.iter().any(|key| *key >= row.len()) {
                return Err(format!("a row has {} columns only", row.len()));
            }
        }
        let same = |a: &Vec<Value>, b: &Vec<Value>| self.keys.iter().all(|key| a[*key] == b[*key]);
        rows.chunk_by_mut(same).for_each(<[_]>::sort);
        Ok(())
    }
}

/// A value from JSON: a number without a fraction is an integer.
///
/// # Errors
/// A number is too large for both kinds.
pub(super) fn value(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Value::Int(number),
            (None, Some(number)) => Value::Float(number),
            (None, None) => return Err(format!("not a number: {number}")),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(elements) => Value::List(elements.iter().map(value).collect::<Result<_, _>>()?),
        Json::Object(_) => Value::Map(parameters(json)?.into()),
    })
}

/// Parameters from JSON.
///
/// # Errors
/// It is no object.
pub(super) fn parameters(json: &Json) -> Result<ValueMap, String> {
    let entries = json.as_object().ok_or_else(|| format!("parameters are no object: {json}"))?;
    entries.iter().map(|(key, json)| Ok((key.as_str().into(), value(json)?))).collect()
}

/// The rows of an expected answer.
///
/// # Errors
/// It is no list of rows.
pub fn rows(json: &Json) -> Result<Rows, String> {
    let rows = json.as_array().ok_or("the expected answer is no list of rows")?;
    let row = |row: &Json| {
        row.as_array().ok_or("an expected row is no list")?.iter().map(value).collect()
    };
    rows.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(order: Option<Order>, want: &str, got: &str) -> bool {
        let parse = |text: &str| serde_json::from_str::<Json>(text).unwrap();
        compare(order, &parse(want), &rows(&parse(got)).unwrap()).is_ok()
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
