//! Boxes that hold every point for which a spatial condition is true, for POINT indexes.
//!
//! Each box may hold more: the condition is tested afterwards. So all rounding goes outwards, by
//! far more than the functions in `spatial.rs` err. On the globe a circle becomes a part of the
//! parallels and meridians: all meridians if it reaches a pole, two boxes if it spans the
//! antimeridian.
//!
//! Source: J. P. Snyder, "Map projections: a working manual", 1987, for the widest longitudes of a
//! small circle: `sin(width) = sin(radius) / cos(latitude)`.

use telar_graph::spatial::PointBox;
use telar_graph::value::{Point, Srid};

use super::spatial::EARTH_RADIUS_METRES;

/// By how much lengths and angles are widened, as a share of them.
const SLACK: f64 = 1e-9;
/// Radians: for angles so small that their share is nothing.
const ANGLE_SLACK: f64 = 1e-12;
/// Degrees of longitude.
const LONGITUDE_SLACK: f64 = 1e-9;

fn coordinates(point: &Point) -> [f64; 3] {
    [point.x(), point.y(), point.z().unwrap_or(0.0)]
}

/// The boxes for `point.withinBBox(.., low, high)`: none if it is true for no point.
pub(crate) fn within(low: &Point, high: &Point) -> Vec<PointBox> {
    let srid = low.srid();
    if high.srid() != srid {
        return Vec::new();
    }
    let (low, high) = (coordinates(low), coordinates(high));
    if srid.is_geographic() && low[0] > high[0] {
        return around_the_back(srid, low, high);
    }
    vec![PointBox { srid, low, high }]
}

/// The boxes on both sides of the antimeridian, from the longitude of `low` to that of `high`.
fn around_the_back(srid: Srid, low: [f64; 3], high: [f64; 3]) -> Vec<PointBox> {
    let east = PointBox { srid, low, high: [180.0, high[1], high[2]] };
    let west = PointBox { srid, low: [-180.0, low[1], low[2]], high };
    vec![west, east]
}

/// The boxes for `point.distance(.., center) <= distance`: none if it is true for no point.
pub(crate) fn around(center: &Point, distance: f64) -> Vec<PointBox> {
    if distance.is_nan() || distance < 0.0 {
        return Vec::new();
    }
    let (srid, reach) = (center.srid(), distance * (1.0 + SLACK));
    let low = coordinates(center).map(|at| (at - reach).next_down());
    let high = coordinates(center).map(|at| (at + reach).next_up());
    if !srid.is_geographic() {
        return vec![PointBox { srid, low, high }];
    }
    let angle = angle_of(center, reach, [low[2], high[2]]);
    let (longitude, latitude) = (center.x(), center.y());
    let (south, north) = (latitude - angle.to_degrees(), latitude + angle.to_degrees());
    let width = angle.sin() / latitude.to_radians().cos() * (1.0 + SLACK);
    if south <= -90.0 || north >= 90.0 || width >= 1.0 {
        let (low, high) = ([-180.0, south, low[2]], [180.0, north, high[2]]);
        return vec![PointBox { srid, low, high }];
    }
    let width = width.asin().to_degrees() + LONGITUDE_SLACK;
    let (mut west, mut east) = (longitude - width, longitude + width);
    let spans_antimeridian = west <= -180.0 || east >= 180.0;
    if west <= -180.0 {
        west += 360.0 - LONGITUDE_SLACK;
    } else if east >= 180.0 {
        east -= 360.0 - LONGITUDE_SLACK;
    }
    let (low, high) = ([west, south, low[2]], [east, north, high[2]]);
    if spans_antimeridian {
        return around_the_back(srid, low, high);
    }
    vec![PointBox { srid, low, high }]
}

/// The greatest angle at the middle of the globe between points so far apart, of which one is the
/// center and the other has a height between these. The distance is that on a sphere through the
/// mean of both heights.
fn angle_of(center: &Point, reach: f64, heights: [f64; 2]) -> f64 {
    let radius = match center.z() {
        None => EARTH_RADIUS_METRES,
        Some(height) => {
            let ends = heights.map(|other| EARTH_RADIUS_METRES + f64::midpoint(height, other));
            // Deep enough, spheres of any size are in reach.
            if ends[0] <= 0.0 && ends[1] >= 0.0 {
                return f64::INFINITY;
            }
            let least = ends[0].abs().min(ends[1].abs());
            least - 1e-6 - 1e-12 * height.abs()
        }
    };
    if radius > 0.0 { reach / radius * (1.0 + SLACK) + ANGLE_SLACK } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::spatial;
    use super::*;

    /// Coordinates on the globe, its edges and its poles among them, or anywhere.
    fn coordinate() -> impl Strategy<Value = f64> {
        prop_oneof![
            4 => -180.0..180.0_f64,
            2 => (-4_i8..5).prop_map(|x| f64::from(x) * 45.0),
            2 => (-9_i8..10).prop_map(|x| f64::from(x) / 1e5),
            1 => 170.0..190.0_f64,
            1 => prop::sample::select(vec![1e-200, 89.999_999_9, -6_378_140.0, 1e7, 1e300]),
        ]
    }

    fn points() -> impl Strategy<Value = [Point; 3]> {
        let systems = vec![Srid::Wgs84, Srid::Wgs84_3d, Srid::Cartesian, Srid::Cartesian3d];
        let coordinates = prop::array::uniform9(coordinate());
        (prop::sample::select(systems), coordinates).prop_map(|(srid, all)| {
            [0, 3, 6].map(|from| {
                let mut at = [all[from], all[from + 1], all[from + 2]];
                if srid.is_geographic() {
                    at[0] %= 720.0;
                    at[1] = at[1].clamp(-90.0, 90.0);
                }
                Point::new(srid, &at[..srid.dimensions()]).unwrap()
            })
        })
    }

    fn holds(boxes: &[PointBox], point: &Point) -> bool {
        boxes.iter().any(|area| area.contains(point))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn boxes_hold_what_is_near([center, point, _] in points(), share in 0.0..2.0_f64) {
            let distance = spatial::distance(&center, &point).unwrap();
            prop_assert!(holds(&around(&center, distance), &point), "{}", distance);
            prop_assert!(holds(&around(&center, f64::INFINITY), &point));
            // A distance that has nothing to do with the point.
            let reach = distance * share;
            prop_assert!(distance > reach || holds(&around(&center, reach), &point));
        }

        #[test]
        fn boxes_hold_what_is_within([low, high, point] in points()) {
            let within = spatial::within(&point, &low, &high).unwrap();
            prop_assert_eq!(holds(&super::within(&low, &high), &point), within);
        }
    }

    #[test]
    fn circles_on_the_globe_are_small_where_they_can_be() {
        let at = |x: f64, y: f64| Point::new(Srid::Wgs84, &[x, y]).unwrap();
        let [area] = around(&at(10.0, 60.0), 100_000.0)[..] else { panic!("one box") };
        // 100 km are 0.9 degrees of latitude, and here nearly twice as many of longitude.
        assert!(
            (8.1..8.3).contains(&area.low[0]) && (11.7..11.9).contains(&area.high[0]),
            "{area:?}"
        );
        assert!((59.0..59.2).contains(&area.low[1]) && (60.8..61.0).contains(&area.high[1]));
        let both = around(&at(-179.9, 0.0), 100_000.0);
        assert!(both.len() == 2 && holds(&both, &at(179.5, 0.0)) && !holds(&both, &at(178.0, 0.0)));
        let [pole] = around(&at(0.0, 89.9), 100_000.0)[..] else { panic!("one box") };
        assert_eq!((pole.low[0], pole.high[0]), (-180.0, 180.0));
        assert!(
            around(&at(0.0, 0.0), -1.0).is_empty() && around(&at(0.0, 0.0), f64::NAN).is_empty()
        );
    }
}
