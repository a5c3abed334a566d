//! Laws of the orders, and the examples of the openCypher texts.

use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::value::{
    Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Srid, Time, ValueMap,
};

fn hash(value: &Value) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(value)
}

fn list<T: Into<Value>>(elements: impl IntoIterator<Item = T>) -> Value {
    Value::list(elements)
}

fn duration(text: &str) -> Value {
    text.parse::<Duration>().unwrap().into()
}

const NAN: Value = Value::Float(f64::NAN);
const NULL: Value = Value::Null;

#[test]
fn types_order_as_opencypher_says() {
    let local: LocalDateTime = "2020-01-01T10:00".parse().unwrap();
    let ascending = [
        Value::map([("a", 1)]),
        list([1]),
        Value::from(vec![1_u8]),
        Point::new(Srid::Wgs84, &[1.0, 2.0]).unwrap().into(),
        "2020-01-01T10:00Z".parse::<DateTime>().unwrap().into(),
        local.into(),
        "2020-01-01".parse::<Date>().unwrap().into(),
        "10:00Z".parse::<Time>().unwrap().into(),
        "10:00".parse::<LocalTime>().unwrap().into(),
        duration("P1D"),
        "text".into(),
        false.into(),
        true.into(),
        f64::NEG_INFINITY.into(),
        1.into(),
        1.5.into(),
        f64::INFINITY.into(),
        NAN,
        NULL,
    ];
    for (i, a) in ascending.iter().enumerate() {
        for (j, b) in ascending.iter().enumerate() {
            assert_eq!(a.cmp(b), i.cmp(&j), "{a:?} against {b:?}");
            assert_eq!(a == b, i == j);
        }
    }
}

#[test]
fn equivalence_joins_numbers_nulls_and_nans() {
    let same = [
        (Value::from(1), Value::from(1.0)),
        (Value::from(0), Value::from(-0.0)),
        (NAN, Value::Float(-f64::NAN)),
        (NULL, NULL),
        (list([NULL, NAN]), list([NULL, NAN])),
        (Value::from(i64::MIN), Value::from(i64::MIN as f64)),
        (Value::map([("a", 1)]), Value::map([("a", 1.0)])),
    ];
    for (a, b) in same {
        assert_eq!(a, b);
        assert_eq!(hash(&a), hash(&b));
    }
    assert_ne!(Value::from((1_i64 << 53) + 1), Value::from((1_i64 << 53) as f64));
    assert_ne!(Value::from(i64::MAX), Value::from(i64::MAX as f64));
}

#[test]
fn containers_and_durations_order_within_their_type() {
    assert!(Value::map([("z", 1)]) < Value::map([("a", 1), ("b", 1)]));
    assert!(Value::map([("a", 9)]) < Value::map([("b", 1)]));
    assert!(Value::map([("a", 1)]) < Value::map([("a", 2)]));
    assert!(list([1]) < list([1, 0]));
    assert!(list([Value::from(1)]) < list([NULL]));
    assert!(duration("P30D") < duration("P1M") && duration("P1M") < duration("P31D"));
    assert!(duration("PT24H") < duration("P1D"));
}

/// TCK Comparison1, scenarios 6 to 9.
#[test]
fn cypher_eq_is_three_valued() {
    assert_eq!(cypher_eq(&NULL, &NULL), None);
    assert_eq!(cypher_eq(&NULL, &1.into()), None);
    assert_eq!(cypher_eq(&1.into(), &1.0.into()), Some(true));
    assert_eq!(cypher_eq(&"1".into(), &1.into()), Some(false));
    for other in [NAN, 1.into(), 1.0.into(), "a".into()] {
        assert_eq!(cypher_eq(&NAN, &other), Some(false));
        assert_eq!(cypher_eq(&other, &NAN), Some(false));
    }
    assert_eq!(cypher_eq(&list([1, 2]), &list([1])), Some(false));
    assert_eq!(cypher_eq(&list([NULL]), &list([1])), None);
    assert_eq!(cypher_eq(&list(["a"]), &list([1])), Some(false));
    assert_eq!(cypher_eq(&list([NAN]), &list([NAN])), Some(false));
    let nested = |a: Value, b: Value| list([list([Value::from(1)]), list([a, b])]);
    assert_eq!(cypher_eq(&nested(2.into(), 3.into()), &nested(NULL, 3.into())), None);
    assert_eq!(cypher_eq(&nested(2.into(), 3.into()), &nested(NULL, 4.into())), Some(false));
    let empty = Value::from(ValueMap::new());
    assert_eq!(cypher_eq(&empty, &Value::map([("k", NULL)])), Some(false));
    assert_eq!(cypher_eq(&Value::map([("k", NULL)]), &Value::map([("k", NULL)])), None);
    assert_eq!(cypher_eq(&Value::map([("k", 1)]), &Value::map([("k", 1.0)])), Some(true));
    assert_eq!(cypher_eq(&Value::map([("k", 1)]), &Value::map([("l", NULL)])), Some(false));
    assert_eq!(cypher_eq(&duration("PT60S"), &duration("PT1M")), Some(true));
    assert_eq!(cypher_eq(&duration("PT24H"), &duration("P1D")), Some(false));
}

/// TCK Comparison2, scenarios 3 to 6.
#[test]
fn cypher_comparison_is_three_valued() {
    assert_eq!(cypher_cmp(&1.into(), &3.5.into()), Some(Ordering::Less));
    assert_eq!(cypher_cmp(&NULL, &1.into()), None);
    assert_eq!(cypher_ge(&list([1, 0]), &list([1])), Some(true));
    assert_eq!(cypher_ge(&list([1.into(), NULL]), &list([1])), Some(true));
    assert_eq!(cypher_ge(&list([1, 2]), &list([1.into(), NULL])), None);
    assert_eq!(cypher_ge(&list([Value::from(1), "a".into()]), &list([Value::from(1), NULL])), None);
    assert_eq!(cypher_ge(&list([1, 2]), &list([3.into(), NULL])), Some(false));
    for operator in [cypher_lt, cypher_le, cypher_gt, cypher_ge] {
        for number in [1.into(), 1.0.into(), NAN] {
            assert_eq!(operator(&NAN, &number), Some(false));
            assert_eq!(operator(&list([NAN]), &list([number])), Some(false));
        }
        assert_eq!(operator(&NAN, &"a".into()), None);
        assert_eq!(operator(&"1".into(), &1.into()), None);
        assert_eq!(operator(&Value::map([("a", NULL)]), &Value::map([("a", 1)])), None);
        assert_eq!(operator(&Value::map([("a", NAN)]), &Value::map([("a", NAN)])), Some(false));
        assert_eq!(operator(&duration("PT1S"), &duration("PT2S")), None);
    }
    for equal in [duration("PT60S"), Value::map([("a", 1)]), list([duration("P1D")])] {
        assert_eq!(cypher_le(&equal, &equal), Some(true));
        assert_eq!(cypher_ge(&equal, &equal), Some(true));
    }
    assert_eq!(cypher_lt(&Value::map([("a", 1)]), &Value::map([("a", 2)])), Some(true));
    assert_eq!(cypher_gt(&duration("PT60S"), &duration("PT1M")), None);
    assert_eq!(cypher_lt(&1.into(), &1.0.into()), Some(false));
    assert_eq!(cypher_le(&1.into(), &1.0.into()), Some(true));
    assert_eq!(cypher_gt(&"b".into(), &"ab".into()), Some(true));
    let (a, b): (Time, Time) = ("10:00+01:00".parse().unwrap(), "09:35:14Z".parse().unwrap());
    assert_eq!(cypher_lt(&a.into(), &b.into()), Some(true));
}

proptest! {
    #[test]
    fn total_order_is_antisymmetric_and_agrees_with_eq_and_hash(
        a in arbitrary::value(),
        b in arbitrary::value(),
    ) {
        prop_assert_eq!(a.cmp(&a), Ordering::Equal);
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a == b, a.cmp(&b).is_eq());
        if a == b {
            prop_assert_eq!(hash(&a), hash(&b));
        }
    }

    #[test]
    fn total_order_is_transitive(mut values in prop::collection::vec(arbitrary::value(), 3)) {
        values.sort();
        prop_assert!(values[0] <= values[1] && values[1] <= values[2] && values[0] <= values[2]);
    }

    /// Numbers on their own, so that an integer and a float often meet.
    #[test]
    fn numbers_obey_the_laws(
        ints in [arbitrary::int(), arbitrary::int()],
        floats in [arbitrary::float(), arbitrary::float()],
    ) {
        let near = ints.map(|x| Value::Float(x as f64));
        let values: Vec<Value> =
            ints.map(Value::Int).into_iter().chain(floats.map(Value::Float)).chain(near).collect();
        for a in &values {
            for b in &values {
                prop_assert_eq!(a.cmp(b), b.cmp(a).reverse());
                if a == b {
                    prop_assert_eq!(hash(a), hash(b));
                }
                for c in &values {
                    if a <= b && b <= c {
                        prop_assert!(a <= c);
                    }
                    if a == b && b == c {
                        prop_assert!(a == c);
                    }
                }
            }
        }
    }

    #[test]
    fn three_valued_comparison_agrees_with_the_total_order(
        a in arbitrary::value(),
        b in arbitrary::value(),
    ) {
        if let Some(ordering) = cypher_cmp(&a, &b) {
            prop_assert_eq!(cypher_eq(&a, &b).unwrap_or(false), ordering.is_eq());
            prop_assert_eq!(cypher_lt(&a, &b), Some(ordering.is_lt()));
            prop_assert_eq!(cypher_ge(&a, &b), Some(ordering.is_ge()));
            prop_assert_eq!(cypher_cmp(&b, &a), Some(ordering.reverse()));
        }
        if cypher_eq(&a, &b) == Some(true) {
            prop_assert_eq!(&a, &b);
        }
        prop_assert_eq!(cypher_eq(&a, &b), cypher_eq(&b, &a));
    }
}
