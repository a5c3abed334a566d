//! Vector functions by example, and of columns against values.

use std::sync::Arc;

use proptest::prelude::*;
use telar_graph::column::FloatBlock;
use telar_graph::value::{CoordinateType, Vector};

use super::*;
use crate::error::Detail;
use crate::function::tests::calculator::{context, fails, holds};

#[test]
fn vectors_are_made_of_lists_and_texts() {
    holds(&[
        ("toFloatList(vector([1, 2.5], 2, 'FLOAT32'))", "[1.0, 2.5]"),
        ("toIntegerList(vector([1.9, -1.9], 2, 'FLOAT'))", "[1, -1]"),
        ("toIntegerList(vector([1.9, -1.9], 2, 'int8'))", "[1, -1]"),
        ("toFloatList(vector('[1.05000e+00, 0.25, 5]', 3, 'FLOAT'))", "[1.05, 0.25, 5.0]"),
        ("vector(' [ 1,2 ] ', 2, 'INT')", "vector([1, 2], 2, 'INTEGER64')"),
        ("vector(null, 3, 'FLOAT32')", "null"),
        ("vector([1, 2, 3], null, 'INTEGER8')", "null"),
        ("vector([1], 1, 'FLOAT32') = vector([1], 1, 'FLOAT')", "false"),
        ("vector([1], 1, 'FLOAT32') = vector([1.0], 1, 'FLOAT32')", "true"),
        ("vector([1], 1, 'FLOAT32') = [1.0]", "false"),
        ("vector([1], 1, 'INT8') < vector([2], 1, 'INT8')", "null"),
        ("vector([1], 1, 'INT8') <= vector([1], 1, 'INT8')", "true"),
        ("size(vector([1, 2], 2, 'INT8'))", "2"),
        ("vector_dimension_count(vector([1, 2, 3], 3, 'INT16'))", "3"),
        ("valueType(vector([1], 1, 'FLOAT32'))", "'VECTOR<FLOAT32 NOT NULL>(1) NOT NULL'"),
        (
            "valueType([vector([1], 1, 'INT8')])",
            "'LIST<VECTOR<INTEGER8 NOT NULL>(1) NOT NULL> NOT NULL'",
        ),
    ]);
    fails(&[
        ("vector([1, 2], 3, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector([], 0, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector([1], 4097, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector([1], 1, 'FLOAT16')", Detail::InvalidArgumentValue),
        ("vector([128], 1, 'INT8')", Detail::NumberOutOfRange),
        ("vector([1e39], 1, 'FLOAT32')", Detail::NumberOutOfRange),
        ("vector([NaN], 1, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector([null], 1, 'FLOAT32')", Detail::InvalidArgumentType),
        ("vector(['1'], 1, 'FLOAT32')", Detail::InvalidArgumentType),
        ("vector('1, 2', 2, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector('[1, NaN]', 2, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector('[1,, 2]', 3, 'FLOAT32')", Detail::InvalidArgumentValue),
        ("vector('[1e999]', 1, 'FLOAT')", Detail::InvalidArgumentValue),
        ("vector([1], 1.0, 'FLOAT32')", Detail::InvalidArgumentType),
        ("vector([1], 1, 'INT8') + 1", Detail::InvalidArgumentType),
        ("vector([1], 1, 'INT8') * 2", Detail::InvalidArgumentType),
        ("-vector([1], 1, 'INT8')", Detail::InvalidArgumentType),
        ("vector([1], 1, 'INT8')[0]", Detail::InvalidArgumentType),
        ("vector([1], 1, 'INT8')[0..1]", Detail::InvalidArgumentType),
        ("toString(vector([1], 1, 'INT8'))", Detail::InvalidArgumentValue),
    ]);
}

#[test]
fn distances_are_those_of_the_metric() {
    holds(&[
        ("vector_distance(vector([1, 2], 2, 'INT'), vector([4, 6], 2, 'INT'), 'EUCLIDEAN')", "5.0"),
        (
            "vector_distance(vector([1, 2], 2, 'INT8'), vector([4, 6], 2, 'FLOAT'), \
             'euclidean_squared')",
            "25.0",
        ),
        (
            "vector_distance(vector([1, 2], 2, 'INT'), vector([4, -6], 2, 'INT'), 'MANHATTAN')",
            "11.0",
        ),
        ("vector_distance(vector([1, 2], 2, 'INT'), vector([4, 6], 2, 'INT'), 'DOT')", "-16.0"),
        ("vector_distance(vector([1, 0], 2, 'INT'), vector([0, 3], 2, 'INT'), 'COSINE')", "1.0"),
        ("vector_distance(vector([1, 0], 2, 'INT'), vector([-2, 0], 2, 'INT'), 'COSINE')", "2.0"),
        ("vector_distance(vector([1, 0], 2, 'INT'), vector([1, 3], 2, 'INT'), 'HAMMING')", "1.0"),
        ("vector_distance(null, vector([1, 3], 2, 'INT'), 'HAMMING')", "null"),
        ("vector_norm(vector([3, -4], 2, 'FLOAT32'), 'EUCLIDEAN')", "5.0"),
        ("vector_norm(vector([3, -4], 2, 'FLOAT32'), 'MANHATTAN')", "7.0"),
        ("vector_norm(null, 'MANHATTAN')", "null"),
        ("vector.similarity.cosine(vector([1, 0], 2, 'INT'), [0, 1.0])", "0.5"),
        ("vector.similarity.euclidean([1, 0], vector([1, 3], 2, 'FLOAT32'))", "0.1"),
    ]);
    fails(&[
        (
            "vector_distance(vector([1], 1, 'INT'), vector([1, 2], 2, 'INT'), 'DOT')",
            Detail::InvalidArgumentValue,
        ),
        ("vector_distance([1], vector([1], 1, 'INT'), 'DOT')", Detail::InvalidArgumentType),
        (
            "vector_distance(vector([1], 1, 'INT'), vector([1], 1, 'INT'), 'L2')",
            Detail::InvalidArgumentValue,
        ),
        (
            "vector_distance(vector([0], 1, 'INT'), vector([1], 1, 'INT'), 'COSINE')",
            Detail::InvalidArgumentValue,
        ),
        ("vector_norm(vector([1], 1, 'INT'), 'COSINE')", Detail::InvalidArgumentValue),
        ("vector_norm([1], 'EUCLIDEAN')", Detail::InvalidArgumentType),
        ("vector.similarity.cosine(vector([1], 1, 'INT'), [1, 2])", Detail::InvalidArgumentValue),
    ]);
}

/// A vector of a type, or a list of its numbers.
fn value(ty: Option<CoordinateType>, numbers: &[i8]) -> Value {
    let numbers: Vec<Value> = numbers.iter().map(|x| Value::Float(f64::from(*x) / 3.0)).collect();
    match ty {
        Some(ty) => Vector::of_values(ty, &numbers).unwrap().into(),
        None => Value::from(numbers),
    }
}

/// The column of these values, packed where they can be.
fn packed(values: &[Value]) -> Column {
    let mut column = Column::default();
    for value in values {
        match FloatBlock::of(std::iter::once(value)) {
            Some(block) => column.extend_float_lists(&Arc::new(block), [Some(0)].into_iter()),
            None => column.push(value.clone()),
        }
    }
    column
}

fn rows() -> impl Strategy<Value = Vec<Value>> {
    let ty = prop::sample::select(vec![
        Some(CoordinateType::F32),
        Some(CoordinateType::F64),
        Some(CoordinateType::I8),
        None,
    ]);
    let one = |ty| {
        let numbers = prop::collection::vec(-9_i8..9, 3..4);
        prop_oneof![
            9 => numbers.prop_map(move |all| value(ty, &all)),
            1 => Just(Value::Null),
        ]
    };
    let same = ty.clone().prop_flat_map(move |ty| prop::collection::vec(one(ty), 1..20));
    prop_oneof![same, prop::collection::vec(ty.prop_flat_map(one), 1..9)]
}

proptest! {
    #[test]
    fn columns_give_the_bits_that_rows_do(
        a in rows(), b in rows(), constant in any::<bool>(), metric in 0..6_usize,
    ) {
        let context = context();
        let metrics =
            ["EUCLIDEAN", "EUCLIDEAN_SQUARED", "MANHATTAN", "COSINE", "DOT", "HAMMING"];
        let metric = Value::from(metrics[metric]);
        let rows = a.len().min(b.len());
        let b: Vec<Value> = match constant {
            true => vec![b[0].clone(); rows],
            false => b[..rows].to_vec(),
        };
        let second = if constant { Column::Same(b[0].clone(), rows) } else { packed(&b) };
        let (first, third) = (packed(&a[..rows]), Column::Same(metric.clone(), rows));
        for name in ["vector_distance", "vector.similarity.euclidean", "vector.similarity.cosine"] {
            let function = crate::function::lookup(name).unwrap();
            let columns = &[&first, &second, &third][..function.args_max];
            let found = function.eval_column.unwrap()(columns, rows);
            let plain: Result<Vec<Value>, EvalError> = (0..rows)
                .map(|row| {
                    let all = [a[row].clone(), b[row].clone(), metric.clone()];
                    function.call(&all[..function.args_max], &context)
                })
                .collect();
            match (found, plain) {
                (None, _) => {}
                (Some(Ok(column)), Ok(plain)) => {
                    prop_assert_eq!(format!("{:?}", column.into_values()), format!("{plain:?}"));
                }
                (Some(Err(_)), Err(_)) => {}
                (found, plain) => prop_assert!(false, "{name} {found:?} {plain:?}"),
            }
        }
    }
}
