//! The parts of a chart: axes, bars, curves, text.

use crate::report::digits;
use std::fmt::Write;

const WIDTH: f64 = 760.0;
pub(super) const HEIGHT: f64 = 380.0;
pub(super) const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 74.0;
pub(super) const BOTTOM: f64 = 52.0;
const COLOURS: [&str; 7] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#555555"];

/// Maps values to shares of an axis, and knows where its ticks are.
pub(super) struct Scale {
    pub(super) first: f64,
    pub(super) last: f64,
    logarithmic: bool,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// From 0 to a round number not below `max`, in steps of 1, 2 or 5 times a power of ten.
    pub(super) fn linear(max: f64) -> Self {
        let max = if max > 0.0 { max } else { 1.0 };
        let magnitude = 10f64.powf((max / 5.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * magnitude);
        let step = step.into_iter().find(|step| max / step <= 5.0).unwrap_or(max);
        let count = (max / step).ceil() as u32;
        let ticks = (0..=count).map(|i| f64::from(i) * step).collect();
        Self { first: 0.0, last: f64::from(count) * step, logarithmic: false, ticks }
    }

    /// Over whole powers of ten around `min..=max`.
    pub(super) fn logarithmic(min: f64, max: f64) -> Self {
        let first = min.min(max).max(1.0).log10().floor() as i32;
        let last = (max.log10().ceil() as i32).max(first + 1);
        let ticks = (first..=last).map(|power| 10f64.powi(power)).collect();
        Self { first: first.into(), last: last.into(), logarithmic: true, ticks }
    }

    pub(super) fn share(&self, value: f64) -> f64 {
        let place = if self.logarithmic { value.log10() } else { value };
        (place - self.first) / (self.last - self.first)
    }
}

/// An SVG under construction; coordinates are pixels from the upper left.
pub(super) struct Chart {
    svg: String,
}

impl Chart {
    pub(super) fn new(title: &str, unit: &str, series: &[String]) -> Self {
        let mut chart = Self { svg: String::new() };
        chart.raw(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#ffffff\"/>"
        ));
        chart.text(LEFT, 22.0, "start", 15, title);
        chart.text(LEFT - 60.0, TOP - 12.0, "start", 12, unit);
        let mut right = WIDTH - RIGHT;
        for (number, name) in series.iter().enumerate().rev() {
            // Names have no known width without a font; this is wide enough for most.
            right -= 28.0 + 7.0 * name.chars().count() as f64;
            let colour = COLOURS[number % COLOURS.len()];
            let top = TOP - 34.0;
            chart.raw(format_args!(
                "<rect x=\"{right:.1}\" y=\"{top:.1}\" width=\"12\" height=\"12\" fill=\"{colour}\"/>"
            ));
            chart.text(right + 16.0, TOP - 24.0, "start", 12, name);
        }
        chart
    }

    pub(super) fn raw(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.svg, "{element}").expect("writing to a string succeeds");
    }

    pub(super) fn width(&self) -> f64 {
        WIDTH - LEFT - RIGHT
    }

    pub(super) fn x(&self, share: f64) -> f64 {
        LEFT + self.width() * share
    }

    pub(super) fn y(&self, share: f64) -> f64 {
        HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
    }

    pub(super) fn text(&mut self, x: f64, y: f64, anchor: &str, size: u32, text: &str) {
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        self.raw(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" \
             fill=\"#222222\">{text}</text>"
        ));
    }

    pub(super) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.raw(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#dddddd\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(super) fn horizontals(&mut self, scale: &Scale) {
        for &tick in &scale.ticks {
            let y = self.y(scale.share(tick));
            self.line((LEFT, y), (WIDTH - RIGHT, y));
            self.text(LEFT - 6.0, y + 4.0, "end", 11, &label(tick));
        }
    }

    pub(super) fn verticals(&mut self, scale: &Scale) {
        for &tick in &scale.ticks {
            let x = self.x(scale.share(tick));
            self.line((x, TOP), (x, HEIGHT - BOTTOM));
            self.text(x, HEIGHT - BOTTOM + 18.0, "middle", 11, &label(tick));
        }
    }

    pub(super) fn bar(&mut self, x: f64, y: f64, width: f64, series: usize, value: f64) {
        let colour = COLOURS[series % COLOURS.len()];
        let (height, inner) = (self.y(0.0) - y, width * 0.94);
        self.raw(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{inner:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\"/>"
        ));
        self.text(x + inner / 2.0, y - 3.0, "middle", 9, &digits(value));
    }

    pub(super) fn curve(&mut self, places: &[(f64, f64)], series: usize) {
        let colour = COLOURS[series % COLOURS.len()];
        let points: Vec<String> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        self.raw(format_args!(
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        ));
    }

    pub(super) fn finish(mut self, x_unit: &str) -> String {
        self.text(LEFT + self.width() / 2.0, HEIGHT - 12.0, "middle", 12, x_unit);
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// Returns a tick's number, thousands as k, M, G.
pub(super) fn label(value: f64) -> String {
    for (unit, size) in [("G", 1e9), ("M", 1e6), ("k", 1e3)] {
        if value >= size {
            return format!("{}{unit}", short(value / size));
        }
    }
    short(value)
}

pub(super) fn short(value: f64) -> String {
    // Sums of steps such as 0.1 carry rounding errors far behind the point.
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
