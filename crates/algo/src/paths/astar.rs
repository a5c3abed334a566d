//! A*: shortest path from one vertex to another, led by positions on the earth.
//!
//! Result: a path of least weight with the cost up to each of its vertices, or none. Least is
//! promised only where no edge weighs less than the great-circle distance between its ends. Of
//! parallel edges the lightest counts, loops do not.
//!
//! Method: Dijkstra's search, ordered by the distance so far plus the haversine distance to the
//! target. A vertex found nearer later on is read again.
//!
//! Cost: O((n + m) log n) at worst, on road maps far less. *Memory*: about 64 bytes for each vertex
//! seen, nothing for the others.
//!
//! Source: Hart, Nilsson and Raphael, "A formal basis for the heuristic determination of minimum
//! cost paths", IEEE Transactions on Systems Science and Cybernetics 1968.

use super::path::{NONE, Pace, Path, Queue, VertexMap, require_vertex};
use crate::control::{Control, Error, Result};
use crate::csr::Csr;

/// Mean radius of the earth in metres (IUGG).
const EARTH_RADIUS: f64 = 6_371_008.8;

/// The haversine distance is shortened by this share, so that rounding never makes it too long.
const SLACK: f64 = 1e-9;

/// The two ends, and where the vertices lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings<'a> {
    /// First vertex of the path. Must be in the graph.
    pub source: u32,
    /// Last vertex of the path. Must be in the graph.
    pub target: u32,
    /// Degrees north, one for each vertex, -90 to 90.
    pub latitudes: &'a [f64],
    /// Degrees east, one for each vertex, finite.
    pub longitudes: &'a [f64],
    /// Radius of the sphere in the unit of the weights, finite and not negative. 0 makes this
    /// Dijkstra's search.
    pub radius: f64,
}

impl Default for Settings<'_> {
    /// From 0 to 0, without positions, weights in metres on the earth.
    fn default() -> Self {
        Self { source: 0, target: 0, latitudes: &[], longitudes: &[], radius: EARTH_RADIUS }
    }
}

/// Upper estimate of memory beyond the graph, in bytes.
#[must_use]
pub fn bytes(n: u64, m: u64) -> u64 {
    n * 112 + m.min(4 * n) * 16
}

#[derive(Clone, Copy)]
struct Seen {
    distance: f64,
    /// Lower bound of the distance from here to the target.
    rest: f64,
    before: u32,
}

/// Great-circle distance of two positions in degrees.
fn haversine(radius: f64, from: (f64, f64), to: (f64, f64)) -> f64 {
    let half = |a: f64, b: f64| ((b - a).to_radians() / 2.0).sin().powi(2);
    let cosines = from.0.to_radians().cos() * to.0.to_radians().cos();
    let h = half(from.0, to.0) + cosines * half(from.1, to.1);
    2.0 * radius * h.clamp(0.0, 1.0).sqrt().asin()
}

impl Settings<'_> {
    fn check(&self, n: u32) -> Result<()> {
        require_vertex(n, "source", self.source)?;
        require_vertex(n, "target", self.target)?;
        if !self.radius.is_finite() || self.radius < 0.0 {
            return Err(Error::invalid(format!(
                "radius is {}, and must be a finite number of at least 0",
                self.radius
            )));
        }
        for (name, values) in [("latitudes", self.latitudes), ("longitudes", self.longitudes)] {
            if values.len() != n as usize {
                return Err(Error::invalid(format!(
                    "there are {} {name}, and there must be one for each of {n} vertices",
                    values.len()
                )));
            }
        }
        Ok(())
    }

    fn position(&self, v: u32) -> Result<(f64, f64)> {
        let (latitude, longitude) = (self.latitudes[v as usize], self.longitudes[v as usize]);
        if !(-90.0..=90.0).contains(&latitude) || !longitude.is_finite() {
            return Err(Error::invalid(format!(
                "vertex {v} has latitude {latitude} and longitude {longitude}, and A* takes \
                 latitudes from -90 to 90 and finite longitudes"
            )));
        }
        Ok((latitude, longitude))
    }
}

/// Returns a path of least weight along the edges of `graph`. Weights must not be negative.
pub fn astar(graph: &Csr, settings: &Settings<'_>, control: &Control<'_>) -> Result<Option<Path>> {
    settings.check(graph.vertices())?;
    graph.require_weights("A*", 0.0, control)?;
    control.check()?;
    let goal = settings.position(settings.target)?;
    let rest = |v: u32| -> Result<f64> {
        Ok(haversine(settings.radius, settings.position(v)?, goal) * (1.0 - SLACK))
    };
    let mut seen: VertexMap<Seen> = VertexMap::default();
    let mut queue = Queue::default();
    let first = Seen { distance: 0.0, rest: rest(settings.source)?, before: NONE };
    seen.insert(settings.source, first);
    queue.push(first.rest, settings.source);
    let mut pace = Pace::new(control);
    while let Some((bound, v)) = queue.pop() {
        if v == settings.target {
            return Ok(Some(path_to(&seen, v)));
        }
        let Some(&Seen { distance, rest: rest_here, .. }) = seen.get(&v) else { continue };
        if bound > distance + rest_here {
            continue;
        }
        pace.spend(graph.of(v).len())?;
        for (x, weight) in graph.weighted(v) {
            let reach = distance + weight;
            let rest = match seen.get(&x) {
                Some(known) if known.distance <= reach => continue,
                Some(known) => known.rest,
                None => rest(x)?,
            };
            seen.insert(x, Seen { distance: reach, rest, before: v });
            queue.push(reach + rest, x);
        }
    }
    Ok(None)
}

fn path_to(seen: &VertexMap<Seen>, target: u32) -> Path {
    let mut path = Path::default();
    let mut v = target;
    while let Some(known) = seen.get(&v) {
        path.vertices.push(v);
        path.costs.push(known.distance);
        v = known.before;
    }
    path.vertices.reverse();
    path.costs.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paths::path::sample;
    use crate::paths::{shortest_path, sssp};
    use crate::random::Random;

    #[test]
    fn paths_of_random_maps_are_as_short_as_bellman_fords() {
        for seed in 0..80 {
            let shape = sample(seed);
            let n = shape.vertices();
            let mut random = Random::new(seed, 5);
            let latitudes: Vec<f64> = (0..n).map(|_| random.unit() * 180.0 - 90.0).collect();
            let longitudes: Vec<f64> = (0..n).map(|_| random.unit() * 360.0 - 180.0).collect();
            let at = |v: u32| (latitudes[v as usize], longitudes[v as usize]);
            let edges: Vec<_> = shape
                .all_edges()
                .map(|(u, v, w)| (u, v, haversine(EARTH_RADIUS, at(u), at(v)) * (1.0 + w / 9.0)))
                .collect();
            let graph = Csr::from_weighted(n, &edges);
            let expected = sssp::verify(&graph, 0);
            for target in 0..n {
                let settings = Settings {
                    target,
                    latitudes: &latitudes,
                    longitudes: &longitudes,
                    ..Default::default()
                };
                let found = astar(&graph, &settings, &Control::default()).unwrap();
                let cost = found.as_ref().map_or(f64::INFINITY, Path::cost);
                let distance = expected[target as usize];
                assert!(cost == distance || (cost - distance).abs() < 1e-6 * distance);
                found.iter().for_each(|path| shortest_path::verify(&graph, path, 0, target));
            }
        }
    }

    #[test]
    fn haversine_from_london_to_paris_is_343_kilometres() {
        let metres = haversine(EARTH_RADIUS, (51.5074, -0.1278), (48.8566, 2.3522));
        assert!((metres - 343_556.0).abs() < 500.0, "{metres}");
    }

    #[test]
    fn bad_settings_weights_and_a_stop_are_errors() {
        let graph = Csr::from_edges(2, &[(0, 1)]);
        let good = Settings {
            target: 1,
            latitudes: &[0.0, 1.0],
            longitudes: &[0.0, 1.0],
            ..Default::default()
        };
        let bad = [
            Settings { source: 2, ..good },
            Settings { target: 2, ..good },
            Settings { latitudes: &[0.0], ..good },
            Settings { longitudes: &[0.0, f64::NAN], ..good },
            Settings { latitudes: &[91.0, 0.0], ..good },
            Settings { radius: -1.0, ..good },
        ];
        for settings in bad {
            let found = astar(&graph, &settings, &Control::default());
            assert!(matches!(found, Err(Error::Invalid(_))), "{settings:?}");
        }
        let negative = Csr::from_weighted(2, &[(0, 1, -1.0)]);
        let found = astar(&negative, &good, &Control::default());
        assert!(matches!(found, Err(Error::Invalid(_))));
        let stopped = Control::default().stopped_by(&|| true);
        assert_eq!(astar(&graph, &good, &stopped), Err(Error::Stopped));
    }
}
