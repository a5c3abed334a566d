//! Numbers as people read them.

/// `1234567` as `1,234,567`.
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// `n` of something, in the plural unless it is one: `1 edge`, `1,200 edges`.
pub fn counted(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// Three digits and a magnitude: `950`, `5.21 k`, `1.04 M`, `2.10 G`.
fn magnitude(x: f64) -> String {
    let (x, unit) = match x {
        x if x >= 1e9 => (x / 1e9, " G"),
        x if x >= 1e6 => (x / 1e6, " M"),
        x if x >= 1e4 => (x / 1e3, " k"),
        x => return count(x.round() as u64),
    };
    let digits = if x < 10.0 { 2 } else { usize::from(x < 100.0) };
    format!("{x:.digits$}{unit}")
}

/// `amount` of something in `seconds`: `1.04 M edges/s`.
pub fn rate(amount: u64, seconds: f64, unit: &str) -> String {
    format!("{} {unit}/s", magnitude(amount as f64 / seconds.max(1e-9)))
}

/// `20 ms`, `1.25 s`, `12.5 s`.
pub fn seconds(s: f64) -> String {
    match s {
        s if s < 0.001 => format!("{:.0} us", s * 1e6),
        s if s < 1.0 => format!("{:.0} ms", s * 1e3),
        s if s < 10.0 => format!("{s:.2} s"),
        s => format!("{s:.1} s"),
    }
}

/// `512 B`, `4.2 KiB`, `1.5 GiB`.
pub fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut x = n as f64 / 1024.0;
    let mut unit = 0;
    while x >= 1000.0 && unit + 1 < UNITS.len() {
        x /= 1024.0;
        unit += 1;
    }
    format!("{x:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_separators() {
        let counts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        assert_eq!(counted(1, "edge", "edges"), "1 edge");
        assert_eq!(counted(2000, "edge", "edges"), "2,000 edges");
    }

    #[test]
    fn rates_have_three_digits() {
        assert_eq!(rate(1_042_000, 1.0, "edges"), "1.04 M edges/s");
        assert_eq!(rate(9_500, 1.0, "commits"), "9,500 commits/s");
        assert_eq!(rate(52_100, 1.0, "commits"), "52.1 k commits/s");
    }

    #[test]
    fn times_and_sizes_have_a_fitting_unit() {
        let times = [0.000_02, 0.0204, 1.249, 12.52].map(seconds);
        assert_eq!(times, ["20 us", "20 ms", "1.25 s", "12.5 s"]);
        let sizes = [512, 4301, 1_610_612_736].map(bytes);
        assert_eq!(sizes, ["512 B", "4.2 KiB", "1.5 GiB"]);
    }
}
