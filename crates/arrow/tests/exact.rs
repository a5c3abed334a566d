//! Columns become arrays and columns again, and nothing is lost.

mod values;

use arrow_array::Array;
use proptest::prelude::*;
use telar_arrow::exact::Shape;
use telar_arrow::reader::column;
use telar_db::Value;
use telar_db::column::Column;

/// The Arrow type of some values.
fn arrow_type(values: &[Value]) -> String {
    let column = Column::of(values.to_vec());
    let shape = Shape::of_column(&column);
    let array = shape.array(&column, None).expect("they have this shape");
    assert_eq!(array.data_type(), shape.field("x").data_type());
    array.data_type().to_string()
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Debug> + Into<Value>>(text: &str) -> Value {
    text.parse::<T>().expect("it is one").into()
}

#[test]
fn what_arrow_has_a_type_for_is_of_that_type() {
    use telar_db::value::{CoordinateType, Date, DateTime, LocalDateTime, LocalTime, Vector};
    assert_eq!(arrow_type(&[1.into(), Value::Null]), "Int64");
    assert_eq!(arrow_type(&[1.into(), 1.5.into()]), "LargeUtf8");
    assert_eq!(arrow_type(&[parsed::<Date>("2024-02-29")]), "Date32");
    assert_eq!(arrow_type(&[parsed::<LocalTime>("12:00")]), "Time64(ns)");
    let near = parsed::<LocalDateTime>("2024-02-29T12:00:00.000000001");
    let far = parsed::<LocalDateTime>("9999-12-31T23:59:59");
    assert_eq!(arrow_type(std::slice::from_ref(&near)), "Timestamp(ns)");
    assert_eq!(arrow_type(std::slice::from_ref(&far)), "Timestamp(µs)");
    assert_eq!(arrow_type(&[near, far]), "LargeUtf8");
    let zoned = |text| parsed::<DateTime>(text);
    assert_eq!(arrow_type(&[zoned("2024-02-29T12:00Z")]), "Timestamp(ns, \"UTC\")");
    assert_eq!(arrow_type(&[zoned("2024-02-29T12:00-02:30")]), "Timestamp(ns, \"-02:30\")");
    let two = [zoned("2024-02-29T12:00Z"), zoned("2024-02-29T12:00+01:00")];
    assert_eq!(arrow_type(&two), "LargeUtf8");
    let lists = [Value::list([1, 2]), Value::List([].into()), Value::Null];
    assert_eq!(arrow_type(&lists), "LargeList(Int64)");
    let vector = |ty, numbers: &[i64]| {
        let numbers: Vec<Value> = numbers.iter().map(|x| Value::Int(*x)).collect();
        Value::from(Vector::of_values(ty, &numbers).expect("they fit"))
    };
    let (f32, i8) = (CoordinateType::F32, CoordinateType::I8);
    assert_eq!(arrow_type(&[vector(f32, &[1, 2]), Value::Null]), "FixedSizeList(2 x Float32)");
    assert_eq!(arrow_type(&[vector(i8, &[1])]), "FixedSizeList(1 x Int8)");
    assert_eq!(arrow_type(&[vector(i8, &[1]), vector(f32, &[1])]), "LargeUtf8");
    assert_eq!(arrow_type(&[vector(i8, &[1]), Value::list([1])]), "LargeUtf8");
}

#[test]
fn a_value_of_another_type_is_refused() {
    let error = Shape::Int.array(&Column::of(vec![1.into(), "x".into()]), None).unwrap_err();
    assert!(error.message.contains("it began as INT, and now there is a STRING"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn arrays_lose_nothing(
        all in (0usize..20).prop_flat_map(values::rows),
        more in (0usize..9).prop_flat_map(values::rows),
        packed: bool,
    ) {
        let first = values::column(&all, packed);
        let second = values::column(&more, !packed);
        let shape = Shape::of_column(&first).join(Shape::of_column(&second));
        let field = shape.field("x");
        for (column_of, values) in [(&first, &all), (&second, &more)] {
            let array = shape.array(column_of, None).unwrap();
            prop_assert_eq!(array.data_type(), field.data_type());
            let again = column(array.as_ref(), &field).unwrap();
            prop_assert_eq!(again.len(), values.len());
            for (row, value) in values.iter().enumerate() {
                let found = again.get(row);
                prop_assert!(values::same(&found, value), "{found:?} is not {value:?}, {shape:?}");
            }
        }
    }
}
