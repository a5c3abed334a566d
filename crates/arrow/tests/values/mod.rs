//! Random values of every type that a file keeps, and whether two are the same. The tests of
//! `telar-files` include this file, too.

use proptest::prelude::*;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::function::temporal::Zone;
use telar_db::value::{
    CoordinateType, Date, DateTime, Duration, LocalDateTime, LocalTime, Point, Srid, Time,
    UtcOffset, Vector,
};

fn int() -> impl Strategy<Value = i64> {
    prop_oneof![
        any::<i64>(),
        -3_i64..3,
        prop::sample::select(vec![i64::MAX, i64::MIN, 1 << 53, (1 << 53) + 1]),
    ]
}

fn float() -> impl Strategy<Value = f64> {
    let special = vec![f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 0.1];
    prop_oneof![any::<f64>(), (-3i8..3).prop_map(f64::from), prop::sample::select(special)]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,3}",
        any::<String>(),
        prop::sample::select(vec![
            "",
            "1",
            "true",
            "1.5",
            "2024-02-29",
            "\"",
            ",;\r\n",
            "\u{feff}x"
        ])
        .prop_map(str::to_owned),
    ]
}

fn date() -> impl Strategy<Value = Date> {
    let (min, max) = (Date::MIN.epoch_days(), Date::MAX.epoch_days());
    prop_oneof![4 => -800_000_i64..4_000_000, 1 => min..=max]
        .prop_map(|days| Date::from_epoch_days(days).expect("it is in range"))
}

fn local_time() -> impl Strategy<Value = LocalTime> {
    let whole = (0_i64..86_400_000_000).prop_map(|micros| micros * 1_000);
    prop_oneof![0..=LocalTime::MAX.nanos_of_day(), whole]
        .prop_map(|nanos| LocalTime::from_nanos_of_day(nanos).expect("it is in range"))
}

fn offset() -> impl Strategy<Value = UtcOffset> {
    prop_oneof![Just(0), (-72_i64..=72).prop_map(|x| x * 900), -64_800_i64..=64_800]
        .prop_map(|seconds| UtcOffset::from_seconds(seconds).expect("it is in range"))
}

fn local_date_time() -> impl Strategy<Value = LocalDateTime> {
    (date(), local_time()).prop_map(|(date, time)| LocalDateTime::new(date, time))
}

fn zoned(zones: Vec<&'static str>) -> impl Strategy<Value = Value> {
    let seconds =
        prop_oneof![-9_000_000_000_i64..9_000_000_000, -100_000_000_000_i64..250_000_000_000];
    (seconds, 0_i64..1_000_000_000, prop::sample::select(zones)).prop_map(|(at, nanos, zone)| {
        let zone = Zone::parse(zone).expect("there is such a zone");
        Value::from(zone.at_instant(at, nanos).expect("it is in range"))
    })
}

fn offset_date_time() -> impl Strategy<Value = Value> {
    (local_date_time(), offset()).prop_map(|(at, offset)| DateTime::new(at, offset).into())
}

fn duration() -> impl Strategy<Value = Duration> {
    let part = || -100_000_i64..100_000;
    (part(), part(), part(), 0_i64..1_000_000_000)
        .prop_map(|(m, d, s, n)| Duration::new(m, d, s, n).expect("it is in range"))
}

fn point() -> impl Strategy<Value = Point> {
    use Srid::{Cartesian, Cartesian3d, Wgs84, Wgs84_3d};
    let srid = prop::sample::select(vec![Wgs84, Wgs84_3d, Cartesian, Cartesian3d]);
    (srid, [-180.0..180.0, -90.0..90.0, -1e9..1e9]).prop_map(|(srid, coordinates)| {
        Point::new(srid, &coordinates[..srid.dimensions()]).expect("it is in range")
    })
}

fn vector(
    types: Vec<CoordinateType>,
    dimensions: std::ops::Range<usize>,
) -> impl Strategy<Value = Vector> {
    let numbers = prop::collection::vec((-128.0f64..128.0).prop_map(Value::Float), dimensions);
    (prop::sample::select(types), numbers)
        .prop_map(|(ty, numbers)| Vector::of_values(ty, &numbers).expect("they fit"))
}

/// A strategy for the values of one type, by its number.
fn typed(kind: u8) -> BoxedStrategy<Value> {
    match kind {
        0 => any::<bool>().prop_map(Value::Bool).boxed(),
        1 => int().prop_map(Value::Int).boxed(),
        2 => float().prop_map(Value::Float).boxed(),
        3 => text().prop_map(Value::from).boxed(),
        4 => prop::collection::vec(any::<u8>(), 0..5).prop_map(Value::from).boxed(),
        5 => date().prop_map(Value::Date).boxed(),
        6 => local_time().prop_map(Value::LocalTime).boxed(),
        7 => (local_time(), offset()).prop_map(|(t, o)| Time::new(t, o).into()).boxed(),
        8 => local_date_time().prop_map(Value::LocalDateTime).boxed(),
        9 => zoned(vec!["Europe/Berlin"]).boxed(),
        10 => zoned(vec!["Z"]).boxed(),
        11 => zoned(vec!["Etc/GMT+5", "Z", "+01:00"]).boxed(),
        12 => offset_date_time().boxed(),
        13 => duration().prop_map(Value::from).boxed(),
        14 => point().prop_map(Value::from).boxed(),
        15 => vector(vec![CoordinateType::F32], 2..3).prop_map(Value::from).boxed(),
        16 => vector(CoordinateType::ALL.to_vec(), 1..4).prop_map(Value::from).boxed(),
        _ => {
            let map = prop::collection::btree_map("[a-c$]{1,2}", int(), 0..3);
            map.prop_map(Value::map).boxed()
        }
    }
}

/// Values of any type.
pub(crate) fn any_value() -> BoxedStrategy<Value> {
    (0u8..18).prop_flat_map(typed).boxed()
}

fn with_nulls(values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop_oneof![4 => values, 1 => Just(Value::Null)].boxed()
}

/// A list of rows as columns are: mostly of one type, with nulls; some of lists, some mixed.
pub(crate) fn rows(len: usize) -> BoxedStrategy<Vec<Value>> {
    let list = |of: BoxedStrategy<Value>| {
        let elements = prop::collection::vec(with_nulls(of), 0..4);
        elements.prop_map(|list| Value::List(list.into())).boxed()
    };
    let one = (0u8..18).prop_flat_map(move |kind| {
        prop_oneof![
            Just(with_nulls(typed(kind))),
            Just(typed(kind)),
            Just(with_nulls(list(typed(kind)))),
            Just(with_nulls(list(list(typed(kind))))),
        ]
    });
    let nulls = Just(Just(Value::Null).boxed());
    let mixed = Just(with_nulls(prop_oneof![any_value(), list(any_value())].boxed()));
    prop_oneof![6 => one, 1 => nulls, 1 => mixed]
        .prop_flat_map(move |values| prop::collection::vec(values, len))
        .boxed()
}

/// A column as queries make them.
#[allow(dead_code, reason = "not every test that includes this file needs it")]
pub(crate) fn column(values: &[Value], packed: bool) -> Column {
    match packed {
        true => {
            let mut column = Column::packed();
            values.iter().for_each(|value| column.push(value.clone()));
            column
        }
        false => Column::of(values.to_vec()),
    }
}

/// True if nothing tells the values apart, but for the bits of NaN.
pub(crate) fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Null, Value::Null) => true,
        (Value::Float(x), Value::Float(y)) => {
            x.to_bits() == y.to_bits() || (x.is_nan() && y.is_nan())
        }
        (Value::List(one), Value::List(other)) => {
            one.len() == other.len() && one.iter().zip(other.iter()).all(|(x, y)| same(x, y))
        }
        (Value::Map(one), Value::Map(other)) => {
            one.keys().eq(other.keys()) && one.values().zip(other.values()).all(|(x, y)| same(x, y))
        }
        (Value::DateTime(one), Value::DateTime(other)) => {
            let parts = |at: &DateTime| (at.local(), at.offset(), at.zone().map(str::to_owned));
            parts(one) == parts(other)
        }
        (Value::Duration(one), Value::Duration(other)) => {
            let parts = |d: &Duration| (d.months(), d.days(), d.seconds(), d.nanos());
            parts(one) == parts(other)
        }
        (Value::Time(one), Value::Time(other)) => {
            (one.local(), one.offset()) == (other.local(), other.offset())
        }
        (one, other) => {
            std::mem::discriminant(one) == std::mem::discriminant(other) && one == other
        }
    }
}
