//! Where the nodes of a small drawing go.

use pyo3::prelude::*;

/// Steps until the nodes stand still.
const STEPS: u32 = 300;

/// Places in the unit square for so many nodes, near those that they have edges with, by forces
/// (Fruchterman and Reingold, "Graph drawing by force-directed placement", 1991). The same graph
/// always looks the same. Cost: the square of the nodes, 300 times.
#[pyfunction]
#[pyo3(name = "_layout")]
pub(crate) fn layout(py: Python<'_>, nodes: usize, edges: Vec<(usize, usize)>) -> Vec<(f64, f64)> {
    py.detach(|| places(nodes, &edges))
}

#[expect(clippy::cast_precision_loss, reason = "drawings have few nodes")]
fn places(nodes: usize, edges: &[(usize, usize)]) -> Vec<(f64, f64)> {
    // A spiral of the golden angle: no two nodes in one place, and nothing random.
    let angle = |at: usize| at as f64 * 2.399_963;
    let start = |at: usize| {
        let radius = ((at as f64 + 0.5) / nodes as f64).sqrt();
        [radius * angle(at).cos(), radius * angle(at).sin()]
    };
    let mut places: Vec<[f64; 2]> = (0..nodes).map(start).collect();
    let spring = (4.0 / nodes.max(1) as f64).sqrt();
    for step in 0..STEPS {
        let mut forces = vec![[0.0; 2]; nodes];
        let mut act = |on: usize, from: [f64; 2], to: [f64; 2], force: &dyn Fn(f64) -> f64| {
            let away = [to[0] - from[0], to[1] - from[1]];
            let distance = away[0].hypot(away[1]).max(1e-6);
            for (sum, part) in forces[on].iter_mut().zip(away) {
                *sum += part / distance * force(distance);
            }
        };
        for one in 0..nodes {
            for other in (0..nodes).filter(|other| *other != one) {
                act(one, places[one], places[other], &|d| -spring * spring / d);
            }
            // Parts that nothing holds together stay in sight.
            act(one, places[one], [0.0, 0.0], &|d| 0.3 * spring * d);
        }
        for &(from, to) in edges.iter().filter(|(from, to)| from != to) {
            act(from, places[from], places[to], &|d| d * d / spring);
            act(to, places[to], places[from], &|d| d * d / spring);
        }
        let longest = 0.2 * (1.0 - f64::from(step) / f64::from(STEPS));
        for (place, force) in places.iter_mut().zip(&forces) {
            let length = force[0].hypot(force[1]).max(1e-9);
            for (at, part) in place.iter_mut().zip(force) {
                *at += part / length * length.min(longest);
            }
        }
    }
    let bounds = |axis: usize| {
        let all = places.iter().map(|place| place[axis]);
        all.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)))
    };
    let (x, y) = (bounds(0), bounds(1));
    let scaled = |at: f64, (low, high): (f64, f64)| match high - low > 1e-9 {
        true => (at - low) / (high - low),
        false => 0.5,
    };
    places.iter().map(|place| (scaled(place[0], x), scaled(place[1], y))).collect()
}
