//! Random values for property tests, with the awkward ones drawn often. The tests of `telar-query`
//! include this file, too.

use proptest::prelude::*;

use telar_graph::ids::{EdgeId, EdgeTypeId, VertexId};
use telar_graph::value::{
    CoordinateType, Date, DateTime, Duration, LocalDateTime, LocalTime, Path, Point, Srid, Time,
    UtcOffset, Value, Vector,
};

/// Integers, often near the bounds of `f64` and `i64`.
pub(crate) fn int() -> impl Strategy<Value = i64> {
    let edges = prop::sample::select(vec![0, 1 << 53, -(1 << 53), i64::MAX - 2, i64::MIN + 2]);
    prop_oneof![any::<i64>(), -3_i64..3, (edges, -2_i64..=2).prop_map(|(edge, by)| edge + by)]
}

/// Floats, often whole, often special.
pub(crate) fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<u64>().prop_map(f64::from_bits),
        int().prop_map(|x| x as f64),
        (-3.0..3.0),
        prop::sample::select(vec![f64::NAN, -f64::NAN, -0.0, f64::INFINITY, f64::NEG_INFINITY]),
    ]
}

pub(crate) fn date() -> impl Strategy<Value = Date> {
    let (min, max) = (Date::MIN.epoch_days(), Date::MAX.epoch_days());
    prop_oneof![min..=max, -800_000_i64..4_000_000, min..min + 800, max - 800..=max]
        .prop_map(|days| Date::from_epoch_days(days).unwrap())
}

pub(crate) fn local_time() -> impl Strategy<Value = LocalTime> {
    let whole = (0_i64..86_400).prop_map(|second| second * 1_000_000_000);
    prop_oneof![0..=LocalTime::MAX.nanos_of_day(), whole, 0_i64..2]
        .prop_map(|nanos| LocalTime::from_nanos_of_day(nanos).unwrap())
}

pub(crate) fn offset() -> impl Strategy<Value = UtcOffset> {
    prop_oneof![Just(0), -64_800_i64..=64_800, (-72_i64..=72).prop_map(|x| x * 900)]
        .prop_map(|seconds| UtcOffset::from_seconds(seconds).unwrap())
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    (local_time(), offset()).prop_map(|(local, offset)| Time::new(local, offset))
}

pub(crate) fn local_date_time() -> impl Strategy<Value = LocalDateTime> {
    (date(), local_time()).prop_map(|(date, time)| LocalDateTime::new(date, time))
}

pub(crate) fn date_time() -> impl Strategy<Value = DateTime> {
    let zone = prop::sample::select(vec![None, Some("Europe/Berlin"), Some("Etc/GMT+5")]);
    (local_date_time(), offset(), zone).prop_map(|(local, offset, zone)| match zone {
        Some(zone) => DateTime::with_zone(local, offset, zone).unwrap(),
        None => DateTime::new(local, offset),
    })
}

pub(crate) fn duration() -> impl Strategy<Value = Duration> {
    (int(), int(), int(), 0_i64..1_000_000_000)
        .prop_map(|(months, days, seconds, nanos)| Duration::new(months, days, seconds, nanos))
        .prop_map(Result::unwrap)
}

pub(crate) fn point() -> impl Strategy<Value = Point> {
    use Srid::{Cartesian, Cartesian3d, Wgs84, Wgs84_3d};
    let srid = prop::sample::select(vec![Wgs84, Wgs84_3d, Cartesian, Cartesian3d]);
    (srid, [-180.0..180.0, -90.0..90.0, -1e9..1e9]).prop_map(|(srid, coordinates)| {
        Point::new(srid, &coordinates[..srid.dimensions()]).unwrap()
    })
}

/// Vectors of every type, often alike.
pub(crate) fn vector() -> impl Strategy<Value = Vector> {
    let numbers = prop_oneof![
        prop::collection::vec((-2_i64..=2).prop_map(Value::Int), 1..4),
        prop::collection::vec((-128.0..128.0).prop_map(Value::Float), 1..4),
        prop::collection::vec(prop::sample::select(vec![-0.0, 0.0, 0.1]), 1..3)
            .prop_map(|all| all.into_iter().map(Value::Float).collect()),
    ];
    (prop::sample::select(CoordinateType::ALL), numbers)
        .prop_map(|(ty, numbers)| Vector::of_values(ty, &numbers).unwrap())
}

fn vertex() -> impl Strategy<Value = VertexId> {
    (0_u64..3).prop_map(VertexId::from_raw)
}

fn edge() -> impl Strategy<Value = EdgeId> {
    (0_u16..2, vertex(), vertex(), 0_u32..2).prop_map(|(ty, src, dst, ordinal)| EdgeId {
        ty: EdgeTypeId::from_raw(ty),
        src,
        dst,
        ordinal,
    })
}

/// Paths of up to three edges between three vertices.
fn path() -> impl Strategy<Value = Path> {
    (vertex(), prop::collection::vec(edge(), 0..4)).prop_map(|(start, edges)| {
        let mut path = Path::start(start);
        for edge in edges {
            path.push(edge);
        }
        path
    })
}

fn storable_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        int().prop_map(Value::Int),
        float().prop_map(Value::Float),
        "[a-c\u{e9}]{0,3}".prop_map(Value::from),
        prop::collection::vec(any::<u8>(), 0..4).prop_map(Value::from),
        date().prop_map(Value::Date),
        local_time().prop_map(Value::LocalTime),
        time().prop_map(Value::Time),
        local_date_time().prop_map(Value::LocalDateTime),
        date_time().prop_map(Value::from),
        duration().prop_map(Value::from),
        point().prop_map(Value::from),
        vector().prop_map(Value::from),
    ]
}

fn nested(scalar: impl Strategy<Value = Value> + 'static) -> impl Strategy<Value = Value> {
    scalar.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-c]{0,2}", inner, 0..4).prop_map(Value::map),
        ]
    })
}

/// Values of every type that a property can hold, nested a few levels.
pub(crate) fn storable() -> impl Strategy<Value = Value> {
    nested(storable_scalar())
}

/// Values of every type, nested a few levels.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    nested(prop_oneof![
        8 => storable_scalar(),
        1 => vertex().prop_map(Value::from),
        1 => edge().prop_map(Value::from),
        1 => path().prop_map(Value::from),
    ])
}
