//! Points in the four coordinate reference systems of Cypher.
//!
//! Invariants: coordinates are finite, never `-0.0`; the third is `0.0` in a two-dimensional
//! system. In a geographic system the longitude is in -180..=180 and the latitude in -90..=90.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

/// Coordinate reference system of a point, by its spatial reference id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Srid {
    /// WGS 84, longitude and latitude in degrees.
    Wgs84 = 4326,
    /// WGS 84 with height in metres.
    Wgs84_3d = 4979,
    /// The plane.
    Cartesian = 7203,
    /// Space.
    Cartesian3d = 9157,
}

impl Srid {
    /// The system with this number, if it is one of the four.
    #[must_use]
    pub const fn from_raw(raw: u16) -> Option<Self> {
        match raw {
            4326 => Some(Self::Wgs84),
            4979 => Some(Self::Wgs84_3d),
            7203 => Some(Self::Cartesian),
            9157 => Some(Self::Cartesian3d),
            _ => None,
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self as u16
    }

    /// How many coordinates a point has: 2 or 3.
    #[must_use]
    pub const fn dimensions(self) -> usize {
        match self {
            Self::Wgs84 | Self::Cartesian => 2,
            Self::Wgs84_3d | Self::Cartesian3d => 3,
        }
    }

    /// Whether the coordinates are longitude and latitude.
    #[must_use]
    pub const fn is_geographic(self) -> bool {
        matches!(self, Self::Wgs84 | Self::Wgs84_3d)
    }

    /// Name of the system, as the `crs` component of a point prints it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wgs84 => "wgs-84",
            Self::Wgs84_3d => "wgs-84-3d",
            Self::Cartesian => "cartesian",
            Self::Cartesian3d => "cartesian-3d",
        }
    }
}

/// Why a point cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PointError {
    /// The number of coordinates is not that of the reference system.
    #[error("a {} point has {} coordinates, not {found}", srid.name(), srid.dimensions())]
    Dimensions {
        /// The reference system.
        srid: Srid,
        /// Number of coordinates given.
        found: usize,
    },
    /// A coordinate is infinite or not a number.
    #[error("a point cannot have the coordinate {found}")]
    NotFinite {
        /// The coordinate.
        found: f64,
    },
    /// The latitude is beyond a pole.
    #[error("a latitude must be in -90..=90, got {found}")]
    Latitude {
        /// The latitude.
        found: f64,
    },
}

/// A point in one of the four coordinate reference systems.
///
/// Ordered by reference system number, then by each coordinate in turn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    srid: Srid,
    coordinates: [f64; 3],
}

impl Point {
    /// The point with these coordinates. A longitude beyond ±180 degrees is wrapped around.
    ///
    /// # Errors
    ///
    /// [`PointError`] on a wrong number of coordinates, one that is not finite, or a latitude
    /// beyond ±90 degrees.
    pub fn new(srid: Srid, coordinates: &[f64]) -> Result<Self, PointError> {
        if coordinates.len() != srid.dimensions() {
            return Err(PointError::Dimensions { srid, found: coordinates.len() });
        }
        let mut stored = [0.0; 3];
        for (slot, &found) in stored.iter_mut().zip(coordinates) {
            if !found.is_finite() {
                return Err(PointError::NotFinite { found });
            }
            *slot = found + 0.0; // Turns -0.0 into 0.0.
        }
        if srid.is_geographic() {
            let [longitude, latitude, _] = &mut stored;
            if latitude.abs() > 90.0 {
                return Err(PointError::Latitude { found: *latitude });
            }
            *longitude = wrap_longitude(*longitude);
        }
        Ok(Self { srid, coordinates: stored })
    }

    /// The reference system.
    #[must_use]
    pub const fn srid(&self) -> Srid {
        self.srid
    }

    /// The coordinates: x, y and perhaps z, or longitude, latitude and perhaps height.
    #[must_use]
    pub fn coordinates(&self) -> &[f64] {
        &self.coordinates[..self.srid.dimensions()]
    }

    /// First coordinate: x, or the longitude in degrees.
    #[must_use]
    pub const fn x(&self) -> f64 {
        self.coordinates[0]
    }

    /// Second coordinate: y, or the latitude in degrees.
    #[must_use]
    pub const fn y(&self) -> f64 {
        self.coordinates[1]
    }

    /// Third coordinate: z, or the height in metres; none in two dimensions.
    #[must_use]
    pub fn z(&self) -> Option<f64> {
        self.coordinates().get(2).copied()
    }
}

/// The same meridian in -180..=180; the sign of the antimeridian follows the argument.
fn wrap_longitude(degrees: f64) -> f64 {
    if degrees.abs() <= 180.0 {
        return degrees;
    }
    let wrapped = (degrees + 180.0).rem_euclid(360.0) - 180.0;
    if wrapped == -180.0 && degrees > 0.0 { 180.0 } else { wrapped + 0.0 }
}

// No coordinate is NaN, so equality is reflexive.
impl Eq for Point {}

impl Ord for Point {
    fn cmp(&self, other: &Self) -> Ordering {
        self.srid.cmp(&other.srid).then_with(|| {
            let pairs = self.coordinates.iter().zip(&other.coordinates);
            pairs.map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
    }
}

impl PartialOrd for Point {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for Point {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.srid.hash(state);
        self.coordinates.map(f64::to_bits).hash(state);
    }
}

/// Prints the call that makes the point, such as `point({x: 1.0, y: 2.5, crs: 'cartesian'})`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "point({{x: {:?}, y: {:?}", self.x(), self.y())?;
        if let Some(z) = self.z() {
            write!(f, ", z: {z:?}")?;
        }
        write!(f, ", crs: '{}'}})", self.srid.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn point_keeps_its_invariants() {
        let point = Point::new(Srid::Cartesian, &[-0.0, 2.5]).unwrap();
        assert!(point.x().is_sign_positive());
        assert_eq!(point.z(), None);
        assert_eq!(point.to_string(), "point({x: 0.0, y: 2.5, crs: 'cartesian'})");
        assert!(Point::new(Srid::Cartesian, &[1.0]).is_err());
        assert!(Point::new(Srid::Cartesian3d, &[1.0, f64::NAN, 0.0]).is_err());
        assert!(Point::new(Srid::Wgs84, &[0.0, 90.5]).is_err());
    }

    #[test]
    fn longitude_beyond_the_antimeridian_wraps() {
        let x = |longitude| Point::new(Srid::Wgs84, &[longitude, 0.0]).unwrap().x();
        assert_eq!(x(181.0), -179.0);
        assert_eq!(x(-181.0), 179.0);
        assert_eq!(x(540.0), 180.0);
        assert_eq!(x(-180.0), -180.0);
        assert!(x(1e300).abs() <= 180.0);
    }

    #[test]
    fn points_order_by_system_then_coordinates() {
        let a = Point::new(Srid::Wgs84, &[9.0, 9.0]).unwrap();
        let b = Point::new(Srid::Cartesian, &[1.0, 5.0]).unwrap();
        let c = Point::new(Srid::Cartesian, &[1.0, 6.0]).unwrap();
        assert!(a < b && b < c);
    }
}
