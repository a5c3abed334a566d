//! Aggregations: the examples of the TCK and the manual, and laws.

use proptest::prelude::*;
use telar_graph::Value;
use telar_graph::value::Duration;

use super::*;
use crate::function::tests::arbitrary;
use crate::function::tests::calculator::evaluate;

/// The aggregation over the elements of a list, written in Cypher, with perhaps a second argument.
fn over(name: &str, list: &str, second: Option<Value>, distinct: bool) -> Result<Value, EvalError> {
    let Ok(Value::List(values)) = evaluate(list) else { panic!("{list} is not a list") };
    let mut accumulator = lookup(name).unwrap().accumulator(distinct);
    for value in values.iter() {
        let args: Vec<Value> = [value.clone()].into_iter().chain(second.clone()).collect();
        accumulator.update(&args)?;
    }
    accumulator.finish()
}

/// TCK Aggregation1, 2, 3, 5, 8 and the manual.
#[test]
fn aggregations_have_the_values_of_the_examples() {
    let cases = [
        ("count", "[1, null, 'a', 1]", "3"),
        ("count", "[]", "0"),
        ("max", "[1, 2, 0, null, -1]", "2"),
        ("min", "[1, 2, 0, null, -1]", "-1"),
        ("max", "[1.0, 2.0, 0.5, null]", "2.0"),
        ("max", "[1, 2.0, 5, null, 3.2, 0.1]", "5"),
        ("min", "[1, 2.0, 5, null, 3.2, 0.1]", "0.1"),
        ("max", "['a', 'b', 'B', null, 'abc', 'abc1']", "'b'"),
        ("min", "['a', 'b', 'B', null, 'abc', 'abc1']", "'B'"),
        ("max", "[[1], [2], [2, 1]]", "[2, 1]"),
        ("min", "[[1], [2], [2, 1]]", "[1]"),
        ("max", "[1, 'a', null, [1, 2], 0.2, 'b']", "1"),
        ("min", "[1, 'a', null, [1, 2], 0.2, 'b']", "[1, 2]"),
        ("max", "[null, null]", "null"),
        ("sum", "[1, 2, null, 3]", "6"),
        ("sum", "[1, 0.5]", "1.5"),
        ("sum", "[]", "0"),
        ("sum", "[9223372036854775807, 1, -1]", "9223372036854775807"),
        ("sum", "[duration('P1D'), duration('PT2H')]", "duration('P1DT2H')"),
        ("avg", "[1, 2, 3, null]", "2.0"),
        ("avg", "[1.5, 2]", "1.75"),
        ("avg", "[1, 9007199254740993, -9007199254740993]", "0.3333333333333333"),
        ("avg", "[9223372036854775807, 9223372036854775807]", "9.223372036854775807e18"),
        ("avg", "[1.7e308, 1.7e308]", "1.7e308"),
        ("avg", "[-1.7e308, 1.7e308]", "0.0"),
        ("avg", "[null]", "null"),
        ("avg", "[duration('P2D'), duration('PT4H')]", "duration('P1DT2H')"),
        ("collect", "[1, null, 1, 'a']", "[1, 1, 'a']"),
        ("collect", "[null]", "[]"),
        ("stDev", "[1, 2, 3, 4]", "1.2909944487358056"),
        ("stDevP", "[2, 4, 4, 4, 5, 5, 7, 9]", "2.0"),
        ("stDev", "[3]", "0.0"),
        ("stDevP", "[]", "null"),
    ];
    for (name, list, expected) in cases {
        let found = over(name, list, None, false).unwrap();
        let expected = evaluate(expected).unwrap();
        assert_eq!(found, expected, "{name} over {list}");
        assert_eq!(found.type_name(), expected.type_name(), "{name} over {list}");
    }
}

#[test]
fn distinct_aggregations_take_each_value_once() {
    let cases = [
        ("count", "[1, 1.0, null, 2, 'a', 'a', NaN, NaN]", "4"),
        ("sum", "[1, 1, 2]", "3"),
        ("collect", "[null, 1, null, 1, 2]", "[1, 2]"),
        ("avg", "[1, 1, 3]", "2.0"),
    ];
    for (name, list, expected) in cases {
        assert_eq!(over(name, list, None, true).unwrap(), evaluate(expected).unwrap(), "{name}");
    }
}

/// TCK Aggregation6.
#[test]
fn percentiles_have_the_values_of_the_examples() {
    let cases = [
        ("percentileDisc", "[10.0, 20.0, 30.0]", 0.0, "10.0"),
        ("percentileDisc", "[10.0, 20.0, 30.0]", 0.5, "20.0"),
        ("percentileDisc", "[30.0, 20.0, 10.0]", 1.0, "30.0"),
        ("percentileDisc", "[1, 2, 3, 4]", 0.5, "2"),
        ("percentileCont", "[10.0, 20.0, 30.0]", 0.0, "10.0"),
        ("percentileCont", "[10.0, 20.0, 30.0]", 0.5, "20.0"),
        ("percentileCont", "[10.0, 20.0, 30.0]", 1.0, "30.0"),
        ("percentileCont", "[1, 2, 3, 4]", 0.5, "2.5"),
        ("percentileCont", "[10, null, 20]", 0.25, "12.5"),
        ("percentileCont", "[7]", 0.3, "7.0"),
        ("percentileCont", "[]", 0.3, "null"),
        ("percentileDisc", "[null]", 0.3, "null"),
    ];
    for (name, list, fraction, expected) in cases {
        let found = over(name, list, Some(fraction.into()), false).unwrap();
        assert_eq!(found, evaluate(expected).unwrap(), "{name} {fraction} of {list}");
    }
    for fraction in [Value::from(1_000), (-1).into(), 1.1.into(), f64::NAN.into()] {
        let error = over("percentileCont", "[10.0]", Some(fraction), false).unwrap_err();
        assert_eq!(error.detail, Detail::NumberOutOfRange);
    }
}

#[test]
fn wrong_values_are_refused_and_change_nothing() {
    let cases = [
        ("sum", "[1, 'a']"),
        ("sum", "[1, duration('P1D')]"),
        ("sum", "[duration('P1D'), 1.5]"),
        ("avg", "[duration('P1D'), 1]"),
        ("avg", "[true]"),
        ("stDev", "['1']"),
    ];
    for (name, list) in cases {
        let error = over(name, list, None, false).unwrap_err();
        assert_eq!(error.detail, Detail::InvalidArgumentType, "{name} over {list}");
    }
    let error = over("sum", "[9223372036854775807, 1]", None, false).unwrap_err();
    assert_eq!(error.detail, Detail::IntegerOverflow);
    let mut sum = lookup("SUM").unwrap().accumulator(true);
    sum.update(&[1.into()]).unwrap();
    assert!(sum.update(&["a".into()]).is_err());
    assert!(sum.update(&[]).is_err());
    assert_eq!(sum.finish().unwrap(), Value::Int(1));
}

#[test]
fn rows_are_counted_without_arguments() {
    let mut count = Accumulator::of_rows();
    count.update(&[]).unwrap();
    count.update_rows(41).unwrap();
    assert_eq!(count.finish().unwrap(), Value::Int(42));
}

/// Floats may differ by rounding when they are summed in another order.
fn alike(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a == b || a.is_nan() && b.is_nan() || (a - b).abs() <= 1e-9 * (1.0 + a.abs())
        }
        (Value::Duration(a), Value::Duration(b)) => {
            (a.average_nanos() - b.average_nanos()).abs() <= 1_000
        }
        (Value::List(a), Value::List(b)) => {
            let (mut a, mut b) = (a.to_vec(), b.to_vec());
            a.sort();
            b.sort();
            a == b
        }
        _ => a == b,
    }
}

/// Values that every aggregation takes: small numbers, or durations alone.
fn values() -> impl Strategy<Value = Vec<Value>> {
    let number = prop_oneof![
        (-50_i64..50).prop_map(Value::Int),
        (-50.0..50.0).prop_map(Value::Float),
        Just(Value::Null)
    ];
    let duration = (-50_i64..50, -50_i64..50, -50_i64..50)
        .prop_map(|(months, days, seconds)| Duration::new(months, days, seconds, 0).unwrap())
        .prop_map(Value::from);
    prop_oneof![
        4 => prop::collection::vec(number, 0..20),
        1 => prop::collection::vec(duration, 0..20)
    ]
}

fn fill(
    aggregate: &'static Aggregate,
    distinct: bool,
    values: &[Value],
) -> Result<Accumulator, EvalError> {
    let mut accumulator = aggregate.accumulator(distinct);
    for value in values {
        let args = [value.clone(), Value::Float(0.3)];
        accumulator.update(&args[..aggregate.args])?;
    }
    Ok(accumulator)
}

proptest! {
    /// Merging the accumulators of two parts is as good as one for the whole.
    #[test]
    fn parts_merge_to_the_whole(values in values(), at in any::<prop::sample::Index>()) {
        let (left, right) = values.split_at(at.index(values.len() + 1));
        for aggregate in all() {
            for distinct in [false, true] {
                let whole = fill(aggregate, distinct, &values);
                let merged = fill(aggregate, distinct, left).and_then(|mut left_part| {
                    left_part.merge(fill(aggregate, distinct, right)?)?;
                    Ok(left_part)
                });
                let (Ok(mut whole), Ok(mut merged)) = (whole, merged) else { continue };
                let (whole, merged) = (whole.finish().unwrap(), merged.finish().unwrap());
                prop_assert!(
                    alike(&whole, &merged),
                    "{} distinct {distinct}: {whole:?}, {merged:?}", aggregate.name
                );
            }
        }
    }

    /// Columns are taken as their rows are.
    #[test]
    fn columns_are_rows(
        ints in prop::collection::vec(any::<i64>(), 0..20),
        floats in prop::collection::vec(arbitrary::float(), 0..20),
    ) {
        for aggregate in all().iter().filter(|aggregate| aggregate.args == 1) {
            for distinct in [false, true] {
                let rows: Vec<Value> = ints.iter().copied().map(Value::Int)
                    .chain(floats.iter().copied().map(Value::Float)).collect();
                let mut by_row = fill(aggregate, distinct, &rows).unwrap();
                let mut by_column = aggregate.accumulator(distinct);
                by_column.update_ints(&ints).unwrap();
                by_column.update_floats(&floats).unwrap();
                let (a, b) = (by_row.finish(), by_column.finish());
                prop_assert_eq!(a, b, "{}", aggregate.name);
            }
        }
    }

    /// No value makes an accumulator panic, and memory grows with what it keeps.
    #[test]
    fn any_value_is_taken_or_refused(
        rows in prop::collection::vec([arbitrary::value(), arbitrary::value()], 0..12),
    ) {
        for aggregate in all() {
            for distinct in [false, true] {
                let mut accumulator = aggregate.accumulator(distinct);
                let empty = accumulator.memory_bytes();
                for row in &rows {
                    let _ = accumulator.update(row);
                    let _ = accumulator.update(&row[..1]);
                }
                prop_assert!(accumulator.memory_bytes() >= empty);
                if aggregate.name == "collect" && !distinct {
                    let kept = rows.iter().filter(|row| !row[0].is_null());
                    let least: usize = kept.map(|row| value_bytes(&row[0])).sum();
                    prop_assert!(accumulator.memory_bytes() >= least);
                }
                let _ = accumulator.finish();
            }
        }
    }
}
