//! Values that indexes of the model hold, and what is asked of them.

use std::ops::Bound;

use proptest::prelude::*;
use telar_graph::order::OrderRank;
use telar_graph::spatial::{PointBox, code};
use telar_graph::value::{Point, Srid};
use telar_graph::{EntryFilter, IndexRange, Value};

use super::{Kind, Object};

/// Few different values of many types, so that keys meet.
pub(super) fn value() -> impl Strategy<Value = Value> {
    let long = "a text of more than sixteen bytes, then ";
    prop_oneof![
        6 => (-2_i64..4).prop_map(Value::Int),
        1 => (0_i64..3).prop_map(|x| Value::Float(x as f64 / 2.0)),
        1 => "[ab]{1,2}".prop_map(Value::from),
        1 => "[ab]{0,1}".prop_map(move |s| Value::from(format!("{long}{s}").as_str())),
        1 => any::<bool>().prop_map(Value::from),
        3 => point().prop_map(Value::from),
        2 => Just(Value::Null),
    ]
}

/// Few different points of each system; some of them share a code.
fn point() -> impl Strategy<Value = Point> {
    let systems = vec![Srid::Cartesian, Srid::Wgs84, Srid::Wgs84_3d, Srid::Cartesian3d];
    let at = prop::sample::select(vec![-180.0, -1.0, 0.0, 1e-12, 1.0, 80.0, 180.0]);
    (prop::sample::select(systems), at.clone(), at.clone(), at).prop_map(|(srid, x, y, z)| {
        let y = if srid.is_geographic() { y / 2.0 } else { y };
        Point::new(srid, &[x, y, z][..srid.dimensions()]).unwrap()
    })
}

/// Ranges worth asking for, from the values there are.
pub(super) fn ranges(
    entries: &[(Vec<Value>, Object)],
    properties: usize,
    kind: Kind,
) -> Vec<IndexRange> {
    let mut ranges = vec![
        IndexRange::default(),
        IndexRange { descending: true, ..IndexRange::default() },
        IndexRange { limit: 2, ..IndexRange::default() },
        IndexRange { limit: 3, descending: true, ..IndexRange::default() },
    ];
    if kind == Kind::Point {
        let points = entries.iter().map(|(key, _)| key[0].clone());
        let absent = Point::new(Srid::Cartesian, &[0.5, 0.5]).unwrap();
        let points: Vec<Value> = points.chain([absent.into(), Value::Int(1)]).collect();
        for (a, b) in points.iter().zip(points.iter().rev().step_by(2)) {
            ranges.push(IndexRange::equal(std::slice::from_ref(a)));
            let (Value::Point(a), Value::Point(b)) = (a, b) else { continue };
            let low = [a.x(), a.y().min(0.0), a.z().unwrap_or(0.0)];
            let high = [b.x().max(a.x()), b.y(), b.z().unwrap_or(1.0)];
            let area = PointBox { srid: a.srid(), low, high };
            let filtered = IndexRange::filtered(EntryFilter::Within(area));
            ranges.push(IndexRange { limit: 2, ..filtered.clone() });
            ranges.push(IndexRange { descending: true, ..filtered.clone() });
            ranges.push(filtered);
        }
        return ranges;
    }
    if kind == Kind::Text {
        for part in ["", "a", "b", "ab", "bb", " then ", "then b"] {
            let filtered = IndexRange::filtered(EntryFilter::Contains(part.into()));
            ranges.push(IndexRange { descending: true, limit: 3, ..filtered.clone() });
            ranges.push(filtered);
            ranges.push(IndexRange::filtered(EntryFilter::EndsWith(part.into())));
        }
    }
    let absent = [Value::Int(100), Value::from("zzz"), Value::Null, Value::Float(0.25)];
    let firsts = entries.iter().step_by(2).map(|(key, _)| key[0].clone());
    for value in firsts.chain(absent).take(7) {
        for (from, to) in [
            (Bound::Included(value.clone()), Bound::Unbounded),
            (Bound::Excluded(value.clone()), Bound::Unbounded),
            (Bound::Unbounded, Bound::Included(value.clone())),
            (Bound::Unbounded, Bound::Excluded(value.clone())),
            (Bound::Included(Value::Int(0)), Bound::Excluded(value.clone())),
        ] {
            ranges.push(IndexRange::between(from.clone(), to.clone()));
            let backwards = IndexRange::between(from.clone(), to.clone());
            ranges.push(IndexRange { descending: true, limit: 2, ..backwards });
            if properties > 1 {
                let within = IndexRange::between(from, to);
                ranges.push(IndexRange { prefix: vec![value.clone()], ..within });
            }
        }
        ranges.push(IndexRange::equal(&[value]));
    }
    ranges
}

/// The definition of a range, in the plainest words.
fn within(key: &[Value], range: &IndexRange, kind: Kind) -> bool {
    if let ([Value::Point(wanted)], [Value::Point(point)], Kind::Point) =
        (&range.prefix[..], key, kind)
    {
        return code(wanted) == code(point);
    }
    let passes = match (&range.filter, key) {
        (Some(EntryFilter::Within(area)), [Value::Point(point)]) => {
            area.codes().is_some_and(|codes| codes.contains(code(point)))
        }
        (Some(EntryFilter::Contains(part)), [Value::String(text)]) => text.contains(&**part),
        (Some(EntryFilter::EndsWith(end)), [Value::String(text)]) => text.ends_with(&**end),
        _ => true,
    };
    if !passes {
        return false;
    }
    let at = range.prefix.len();
    if key[..at] != range.prefix[..] {
        return false;
    }
    let Some(value) = key.get(at) else { return true };
    let same_type = |bound: &Value| OrderRank::of(bound) == OrderRank::of(value);
    let above = match (&range.from, &range.to) {
        (Bound::Included(from), _) => value >= from,
        (Bound::Excluded(from), _) => value > from,
        (Bound::Unbounded, Bound::Included(to) | Bound::Excluded(to)) => same_type(to),
        (Bound::Unbounded, Bound::Unbounded) => true,
    };
    let below = match (&range.to, &range.from) {
        (Bound::Included(to), _) => value <= to,
        (Bound::Excluded(to), _) => value < to,
        (Bound::Unbounded, Bound::Included(from) | Bound::Excluded(from)) => same_type(from),
        (Bound::Unbounded, Bound::Unbounded) => true,
    };
    above && below
}

pub(super) fn expected(
    entries: &[(Vec<Value>, Object)],
    range: &IndexRange,
    kind: Kind,
) -> Vec<Object> {
    let mut found: Vec<_> =
        entries.iter().filter(|(key, _)| within(key, range, kind)).map(|(_, o)| *o).collect();
    if range.descending {
        found.reverse();
    }
    found.truncate(range.limit);
    found
}
