//! Charts as small SVG files: grouped bars, curves, cumulative distributions.
//!
//! The same figures give the same bytes, so a chart in the repository changes only with its
//! figures. Colours are told apart in grey and by people who do not see red and green alike (Okabe
//! and Ito).

mod svg;

use crate::histogram::Histogram;
use svg::{BOTTOM, Chart, HEIGHT, LEFT, Scale};

/// A named row of points.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// Name in the legend.
    pub name: String,
    /// Points, x ascending.
    pub points: Vec<(f64, f64)>,
}

/// Returns a bar chart: one group per entry of `groups`, one bar per series in each. `values[s][g]`
/// is the bar of series `s` in group `g`; what is not finite has no bar.
pub fn bars(
    title: &str,
    unit: &str,
    groups: &[String],
    series: &[String],
    values: &[Vec<f64>],
) -> String {
    let finite = values.iter().flatten().copied().filter(|value| value.is_finite());
    let scale = Scale::linear(finite.fold(0.0, f64::max));
    let mut svg = Chart::new(title, unit, series);
    svg.horizontals(&scale);
    let group_width = svg.width() / groups.len().max(1) as f64;
    let bar_width = group_width * 0.8 / series.len().max(1) as f64;
    for (g, group) in groups.iter().enumerate() {
        let start = LEFT + group_width * (g as f64 + 0.1);
        for (s, value) in values.iter().map(|row| row.get(g).copied()).enumerate() {
            let Some(value) = value.filter(|value| value.is_finite()) else {
                continue;
            };
            let (x, y) = (start + bar_width * s as f64, svg.y(scale.share(value)));
            svg.bar(x, y, bar_width, s, value);
        }
        svg.text(start + group_width * 0.4, HEIGHT - BOTTOM + 18.0, "middle", 12, group);
    }
    svg.finish("")
}

/// Returns curves over linear axes, both starting at 0.
pub fn curves(title: &str, x_unit: &str, y_unit: &str, curves: &[Curve]) -> String {
    let largest = |pick: fn(&(f64, f64)) -> f64| {
        curves.iter().flat_map(|curve| &curve.points).map(pick).fold(0.0, f64::max)
    };
    let (across, up) = (Scale::linear(largest(|p| p.0)), Scale::linear(largest(|p| p.1)));
    draw(title, x_unit, y_unit, curves, &across, &up)
}

/// Returns the cumulative distributions of latencies, over a logarithmic axis in `unit`.
pub fn cumulative(title: &str, unit: &str, histograms: &[(String, &Histogram)]) -> String {
    let curves: Vec<Curve> = histograms
        .iter()
        .map(|(name, histogram)| {
            let steps = histogram.cumulative().into_iter();
            let points = steps.map(|(value, share)| (value.max(1) as f64, share * 100.0)).collect();
            Curve { name: name.clone(), points }
        })
        .collect();
    let values = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.0);
    let across =
        Scale::logarithmic(values().fold(f64::MAX, f64::min), values().fold(1.0, f64::max));
    draw(title, unit, "% of calls", &curves, &across, &Scale::linear(100.0))
}

fn draw(
    title: &str,
    x_unit: &str,
    y_unit: &str,
    curves: &[Curve],
    across: &Scale,
    up: &Scale,
) -> String {
    let names: Vec<String> = curves.iter().map(|curve| curve.name.clone()).collect();
    let mut svg = Chart::new(title, y_unit, &names);
    svg.horizontals(up);
    svg.verticals(across);
    for (number, curve) in curves.iter().enumerate() {
        let places: Vec<_> = curve
            .points
            .iter()
            .map(|&(x, y)| (svg.x(across.share(x)), svg.y(up.share(y))))
            .collect();
        svg.curve(&places, number);
    }
    svg.finish(x_unit)
}

#[cfg(test)]
mod tests {
    use super::svg::label;
    use super::*;

    #[test]
    fn scales_end_at_round_numbers() {
        for (max, last, count) in [(97.0, 100.0, 6), (0.23, 0.25, 6), (5.0, 5.0, 6), (0.0, 1.0, 6)]
        {
            let scale = Scale::linear(max);
            assert!((scale.last - last).abs() < 1e-9, "{max}: {}", scale.last);
            assert_eq!(scale.ticks.len(), count, "{max}");
        }
        let scale = Scale::logarithmic(150.0, 2_000_000.0);
        assert_eq!((scale.first, scale.last, scale.ticks.len()), (2.0, 7.0, 6));
        assert_eq!(scale.share(100.0), 0.0);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 0.1 + 0.2, 2500.0, 1e6].map(label), ["0", "0.3", "2.5k", "1M"]);
    }

    #[test]
    fn charts_escape_names_and_skip_what_is_missing() {
        let names = ["a<b".to_owned(), "c".to_owned()];
        let svg = bars("t", "M/s", &["scan".to_owned()], &names, &[vec![1.0], vec![f64::NAN]]);
        assert!(svg.contains("a&lt;b") && !svg.contains("NaN"));
        let mut histogram = Histogram::default();
        (1..1000).for_each(|value| histogram.record(value * value));
        let svg = cumulative("latency", "ns", &[("x".to_owned(), &histogram)]);
        assert_eq!(svg.matches("<polyline").count(), 1);
        assert!(curves("none", "x", "y", &[]).ends_with("</svg>\n"));
        assert!(!cumulative("none", "ns", &[]).contains("NaN"));
    }
}
