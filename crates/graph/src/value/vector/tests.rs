//! Vectors of numbers: made, ordered, as bytes and as text.

use proptest::prelude::*;

use super::*;
use crate::arbitrary::vector;

fn made(ty: CoordinateType, values: &[Value]) -> Result<Vector, VectorError> {
    Vector::of_values(ty, values)
}

#[test]
fn numbers_are_made_to_fit_or_are_errors() {
    use CoordinateType::{F32, F64, I8, I16, I32, I64};
    let values = |v: &Vector| v.to_values();
    let ints = made(I8, &[1.9.into(), (-1.9).into(), (-128).into(), 127.9.into()]).unwrap();
    assert_eq!(values(&ints), [1, -1, -128, 127].map(Value::Int));
    for (ty, low, high) in [
        (I8, -129, 128),
        (I16, -32_769, 32_768),
        (I32, i64::from(i32::MIN) - 1, i64::from(i32::MAX) + 1),
    ] {
        for out in [low, high] {
            for value in [Value::Int(out), Value::Float(out as f64)] {
                let found = made(ty, &[value]);
                assert!(matches!(found, Err(VectorError::OutOfRange { .. })), "{ty} {out}");
            }
        }
        made(ty, &[(low + 1).into(), (high - 1).into()]).unwrap();
    }
    let limit = 9_223_372_036_854_775_808.0;
    assert!(made(I64, &[limit.into()]).is_err());
    assert_eq!(values(&made(I64, &[(-limit).into()]).unwrap()), [Value::Int(i64::MIN)]);
    assert_eq!(
        made(F32, &[2e39.into()]).unwrap_err().to_string(),
        "The numeric value 2e39 is outside the range of FLOAT32."
    );
    assert_eq!(values(&made(F32, &[16_777_217.into()]).unwrap()), [Value::Float(16_777_216.0)]);
    assert_eq!(values(&made(F64, &[3.into()]).unwrap()), [Value::Float(3.0)]);
    for bad in [f64::NAN, f64::INFINITY] {
        assert!(matches!(made(I8, &[bad.into()]), Err(VectorError::NotFinite(_))));
    }
    assert_eq!(made(F32, &["1".into()]), Err(VectorError::NotANumber("STRING")));
    assert_eq!(made(F32, &[]), Err(VectorError::Dimension(0)));
    made(F64, &vec![Value::Int(1); DIMENSION_MAX]).unwrap();
    assert_eq!(
        made(F64, &vec![Value::Int(1); 4097]).unwrap_err().to_string(),
        "Invalid vector dimensions. The number of vector dimensions must be between 1 and 4096, \
         but is 4097."
    );
    assert!(Vector::new(Coordinates::F32([f32::NAN].into())).is_err());
}

#[test]
fn vectors_are_ordered_by_type_then_dimension_then_coordinates() {
    let ascending = [
        made(CoordinateType::I8, &[5.into(), 5.into()]),
        made(CoordinateType::I16, &[1.into()]),
        made(CoordinateType::I32, &[1.into()]),
        made(CoordinateType::I64, &[(-2).into()]),
        made(CoordinateType::I64, &[1.into()]),
        made(CoordinateType::I64, &[0.into(), 1.into()]),
        made(CoordinateType::F32, &[(-1.5).into()]),
        made(CoordinateType::F32, &[1.into()]),
        made(CoordinateType::F64, &[1.into()]),
    ]
    .map(Result::unwrap);
    assert!(ascending.is_sorted_by(|a, b| a < b && a != b));
    let zero = |x: f64| made(CoordinateType::F32, &[x.into()]).unwrap();
    assert_eq!(zero(0.0), zero(-0.0));
}

#[test]
fn types_have_names_and_numbers_of_their_own() {
    for ty in CoordinateType::ALL {
        assert_eq!(CoordinateType::from_number(ty.number()), Some(*ty));
        assert_eq!(CoordinateType::from_name(&ty.name().to_lowercase()), Some(*ty));
    }
    assert_eq!(CoordinateType::from_number(6), None);
    assert_eq!(CoordinateType::from_name("int64"), Some(CoordinateType::I64));
    assert_eq!(CoordinateType::from_name("FLOAT16"), None);
}

#[test]
fn text_is_what_makes_the_vector() {
    let text = |ty, values: &[Value]| made(ty, values).unwrap().to_string();
    assert_eq!(
        text(CoordinateType::F32, &[0.1.into(), 1.into()]),
        "vector([0.1, 1.0], 2, FLOAT32)"
    );
    assert_eq!(text(CoordinateType::I64, &[(-3).into()]), "vector([-3], 1, INTEGER)");
}

proptest! {
    #[test]
    fn bytes_come_back_in_both_orders(v in vector()) {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = Vec::new();
            v.put_bytes(order, &mut bytes);
            prop_assert_eq!(bytes.len(), v.bytes());
            let back = Vector::of_bytes(v.coordinate_type(), &bytes, order).unwrap();
            prop_assert_eq!(format!("{back:?}"), format!("{v:?}"));
            bytes.push(0);
            let longer = Vector::of_bytes(v.coordinate_type(), &bytes, order);
            prop_assert!(longer.is_ok() == (v.coordinate_type() == CoordinateType::I8));
        }
    }

    #[test]
    fn values_of_a_vector_make_it_again(v in vector()) {
        let again = Vector::of_values(v.coordinate_type(), &v.to_values()).unwrap();
        prop_assert_eq!(format!("{again:?}"), format!("{v:?}"));
        prop_assert_eq!(v.to_f64().len(), v.dimension());
    }

    #[test]
    fn short_floats_read_the_same(bits in any::<u32>()) {
        let x = f32::from_bits(bits);
        prop_assume!(x.is_finite());
        prop_assert_eq!((short(x).parse::<f64>().unwrap() as f32).to_bits(), bits);
    }
}
