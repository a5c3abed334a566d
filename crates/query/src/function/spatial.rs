//! Points: made from maps, their distance, and whether they lie in a box.
//!
//! Distances on the globe are along the great circle of a sphere with the radius that Neo4j uses.
//!
//! Source: Neo4j Cypher manual, "Spatial functions"; R. W. Sinnott, "Virtues of the haversine", Sky
//! and Telescope 68 (1984).

use telar_graph::value::{Point, Srid};
use telar_graph::{Value, ValueMap};

use super::{Context, Eval, Function, args};
use crate::error::{EvalError, describe};
use crate::query_error::ErrorKind;

pub(super) const EARTH_RADIUS_METRES: f64 = 6_378_140.0;

const fn f(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Spatial", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "point",
        (1, 1),
        "point(input :: MAP) :: POINT",
        "The point with the coordinates x, y and perhaps z, or longitude, latitude and perhaps \
         height, in the system of crs or srid.",
        make,
    ),
    f(
        "point.distance",
        (2, 2),
        "point.distance(from :: POINT, to :: POINT) :: FLOAT",
        "The distance of two points: in metres on the globe, in units of the axes elsewhere; null \
         when their systems differ, or one is no point.",
        |args, _| match args {
            [Value::Point(from), Value::Point(to)] => Ok(distance(from, to).into()),
            _ => Ok(Value::Null),
        },
    ),
    f(
        "point.withinBBox",
        (3, 3),
        "point.withinBBox(point :: POINT, lowerLeft :: POINT, upperRight :: POINT) :: BOOLEAN",
        "Whether the point lies in the box or on its border; null when the systems differ, or one \
         is no point.",
        |args, _| match args {
            [Value::Point(inner), Value::Point(low), Value::Point(high)] => {
                Ok(within(inner, low, high).into())
            }
            _ => Ok(Value::Null),
        },
    ),
];

/// Null when an entry of the map is, whatever it is called.
fn make(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let map = args::map("point()", &args[0])?;
    if map.values().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let has = |key: &str| map.contains_key(key);
    let (keys, geographic) = if has("x") && has("y") {
        (["x", "y", "z"], false)
    } else if has("longitude") && has("latitude") {
        (["longitude", "latitude", if has("height") { "height" } else { "z" }], true)
    } else {
        return Err(EvalError::argument_value(
            "a point must have x and y, or longitude and latitude",
        ));
    };
    let mut coordinates = Vec::with_capacity(3);
    for key in keys {
        if let Some(coordinate) = map.get(key) {
            let number = args::number("point()", coordinate);
            coordinates.push(number.map_err(|e| e.of_kind(ErrorKind::Argument))?);
        }
    }
    let flat = coordinates.len() == 2;
    let srid = match system(map)? {
        Some(srid) if geographic && !srid.is_geographic() => {
            let message = format!("geographic points cannot be in the system {}", srid.name());
            return Err(EvalError::argument_value(message));
        }
        Some(srid) => srid,
        None if geographic && flat => Srid::Wgs84,
        None if geographic => Srid::Wgs84_3d,
        None if flat => Srid::Cartesian,
        None => Srid::Cartesian3d,
    };
    Ok(Point::new(srid, &coordinates)?.into())
}

/// The reference system that the map names, if any.
fn system(map: &ValueMap) -> Result<Option<Srid>, EvalError> {
    let found = match (map.get("crs"), map.get("srid")) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(EvalError::argument_value("a point cannot have both crs and srid"));
        }
        (Some(crs), None) => {
            let name = args::text("point()", crs)?;
            let all = [Srid::Wgs84, Srid::Wgs84_3d, Srid::Cartesian, Srid::Cartesian3d];
            all.into_iter().find(|srid| srid.name().eq_ignore_ascii_case(name)).ok_or(crs)
        }
        (None, Some(srid)) => {
            let number = args::int("point()", srid)?;
            u16::try_from(number).ok().and_then(Srid::from_raw).ok_or(srid)
        }
    };
    found.map(Some).map_err(|value| {
        let message = format!("there is no coordinate reference system {}", describe(value));
        EvalError::argument_value(message)
    })
}

/// None in different systems.
pub(super) fn distance(a: &Point, b: &Point) -> Option<f64> {
    if a.srid() != b.srid() {
        return None;
    }
    let rise = a.z().unwrap_or(0.0) - b.z().unwrap_or(0.0);
    if !a.srid().is_geographic() {
        return Some((a.x() - b.x()).hypot(a.y() - b.y()).hypot(rise));
    }
    let height = f64::midpoint(a.z().unwrap_or(0.0), b.z().unwrap_or(0.0));
    let haversine = |degrees: f64| (degrees.to_radians() / 2.0).sin().powi(2);
    let across = a.y().to_radians().cos() * b.y().to_radians().cos();
    // Rounding may lead past the ends of 0..=1 for points at opposite ends of the globe.
    let alpha = (haversine(a.y() - b.y()) + across * haversine(a.x() - b.x())).clamp(0.0, 1.0);
    let angle = 2.0 * alpha.sqrt().atan2((1.0 - alpha).sqrt());
    Some(((EARTH_RADIUS_METRES + height) * angle).hypot(rise))
}

/// None in different systems. A box on the globe whose west side has the greater longitude spans
/// the antimeridian; any other box with a lower side above its upper side is empty.
pub(super) fn within(point: &Point, low: &Point, high: &Point) -> Option<bool> {
    if point.srid() != low.srid() || point.srid() != high.srid() {
        return None;
    }
    let mut axes = 0..point.srid().dimensions();
    let (inner, low, high) = (point.coordinates(), low.coordinates(), high.coordinates());
    Some(axes.all(|axis| {
        let (after_low, before_high) = (low[axis] <= inner[axis], inner[axis] <= high[axis]);
        if axis == 0 && point.srid().is_geographic() && low[0] > high[0] {
            after_low || before_high
        } else {
            after_low && before_high
        }
    }))
}
