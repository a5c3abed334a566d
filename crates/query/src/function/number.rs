//! Numbers as text, the way Neo4j writes and reads them.

use crate::error::EvalError;
use crate::query_error::ErrorKind;

/// The integer that a text spells, decimals dropped; none when it spells no number.
///
/// # Errors
///
/// `IntegerOverflow` when the number does not fit, with the kind that Neo4j has for it.
pub(super) fn parse_int(text: &str) -> Result<Option<i64>, EvalError> {
    if let Ok(int) = text.parse() {
        return Ok(Some(int));
    }
    let Some(decimal) = Decimal::parse(text) else { return Ok(None) };
    decimal
        .whole()
        .map(Some)
        .ok_or_else(|| EvalError::overflow("toInteger()").of_kind(ErrorKind::Type))
}

/// The float that a text spells; none when it spells none.
pub(super) fn parse_float(text: &str) -> Option<f64> {
    let text = text.trim();
    match text.trim_start_matches(['+', '-']) {
        "NaN" => return Some(f64::NAN),
        "Infinity" if text.starts_with('-') => return Some(f64::NEG_INFINITY),
        "Infinity" => return Some(f64::INFINITY),
        _ => {}
    }
    // Rust would also read `inf` and `nan`.
    let numeric = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    if text.chars().all(numeric) { text.parse().ok() } else { None }
}

/// A decimal number: its significant digits and where the point stands.
///
/// The value is `0.d1 d2 d3 … × 10^point`, negated if `negative`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i64,
}

/// How to round away digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rounding {
    Ceiling,
    Floor,
    Up,
    Down,
    HalfEven,
    HalfUp,
    HalfDown,
}

impl Rounding {
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name.to_ascii_uppercase().as_str() {
            "CEILING" => Self::Ceiling,
            "FLOOR" => Self::Floor,
            "UP" => Self::Up,
            "DOWN" => Self::Down,
            "HALF_EVEN" => Self::HalfEven,
            "HALF_UP" => Self::HalfUp,
            "HALF_DOWN" => Self::HalfDown,
            _ => return None,
        })
    }
}

impl Decimal {
    /// Reads `[sign] digits [. digits] [e [sign] digits]`.
    fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        if !all_digits || whole.len() + fraction.len() == 0 {
            return None;
        }
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        let leading = digits.iter().take_while(|digit| **digit == 0).count();
        let point = whole.len() as i64 - leading as i64 + i64::from(exponent);
        Some(Self { negative, digits: digits[leading..].to_vec(), point })
    }

    /// The shortest decimal that reads back as `x`, which is finite.
    pub(super) fn of(x: f64) -> Option<Self> {
        Self::parse(&format!("{x:e}"))
    }

    /// The integer part; none when it does not fit.
    fn whole(&self) -> Option<i64> {
        let count = if self.digits.is_empty() { 0 } else { self.point.max(0) };
        if count > 19 {
            return None;
        }
        let digits = self.digits.iter().copied().chain(std::iter::repeat(0));
        let whole = digits.take(count as usize).fold(0, |sum, digit| sum * 10 + i128::from(digit));
        i64::try_from(if self.negative { -whole } else { whole }).ok()
    }

    /// The float nearest the number rounded to so many decimals.
    pub(super) fn round(mut self, decimals: i64, mode: Rounding) -> f64 {
        let kept = self.point.saturating_add(decimals);
        if kept < self.digits.len() as i64 {
            let kept_count = usize::try_from(kept).unwrap_or(0);
            // Before the first digit there are zeros, when fewer than no digits are kept.
            let first =
                if kept < 0 { 0 } else { self.digits.get(kept_count).copied().unwrap_or(0) };
            let exact = self.digits[kept_count..].iter().all(|digit| *digit == 0);
            let beyond = kept < 0 || self.digits[kept_count + 1..].iter().all(|digit| *digit == 0);
            let half = first.cmp(&5).then(if beyond {
                std::cmp::Ordering::Equal
            } else {
                std::cmp::Ordering::Greater
            });
            let last_is_odd = kept_count > 0 && self.digits[kept_count - 1] % 2 == 1;
            let away = !exact
                && match mode {
                    Rounding::Ceiling => !self.negative,
                    Rounding::Floor => self.negative,
                    Rounding::Up => true,
                    Rounding::Down => false,
                    Rounding::HalfUp => half.is_ge(),
                    Rounding::HalfDown => half.is_gt(),
                    Rounding::HalfEven => half.is_gt() || half.is_eq() && last_is_odd,
                };
            self.digits.truncate(kept_count);
            if kept < 0 {
                // Nothing is left but perhaps one unit of the last place.
                self.point = -decimals;
            }
            if away {
                self.add_unit();
            }
        }
        self.to_float()
    }

    /// Adds one unit of the last place.
    fn add_unit(&mut self) {
        for digit in self.digits.iter_mut().rev() {
            if *digit < 9 {
                *digit += 1;
                return;
            }
            *digit = 0;
        }
        self.digits.insert(0, 1);
        self.point += 1;
    }

    fn to_float(&self) -> f64 {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        // Digits and an exponent always are a float; too large a number is infinity.
        format!("{sign}0.{digits}0e{}", self.point).parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::display::text_of_float;

    #[test]
    fn floats_are_written_as_java_writes_them() {
        let cases = [
            (1.0, "1.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.000_1, "1.0E-4"),
            (1_234_567.5, "1234567.5"),
            (1e7, "1.0E7"),
            (1.25e300, "1.25E300"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ];
        for (float, text) in cases {
            assert_eq!(text_of_float(float), text);
        }
    }

    #[test]
    fn rounding_follows_the_decimal_digits() {
        let round = |x, decimals, mode| Decimal::of(x).unwrap().round(decimals, mode);
        use Rounding::{Ceiling, Down, Floor, HalfDown, HalfEven, HalfUp, Up};
        let cases = [
            (1.249, 1, [1.3, 1.2, 1.3, 1.2, 1.2, 1.2, 1.2]),
            (-1.251, 1, [-1.2, -1.3, -1.3, -1.2, -1.3, -1.3, -1.3]),
            (1.25, 1, [1.3, 1.2, 1.3, 1.2, 1.2, 1.3, 1.2]),
            (-1.35, 1, [-1.3, -1.4, -1.4, -1.3, -1.4, -1.4, -1.3]),
            (9.99, 1, [10.0, 9.9, 10.0, 9.9, 10.0, 10.0, 10.0]),
            (0.04, 1, [0.1, 0.0, 0.1, 0.0, 0.0, 0.0, 0.0]),
            (0.06, 0, [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
            (0.5, 0, [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0]),
            (3.0, 5, [3.0; 7]),
            (1e-300, 2, [0.01, 0.0, 0.01, 0.0, 0.0, 0.0, 0.0]),
        ];
        for (x, decimals, expected) in cases {
            let modes = [Ceiling, Floor, Up, Down, HalfEven, HalfUp, HalfDown];
            for (mode, expected) in modes.into_iter().zip(expected) {
                assert_eq!(round(x, decimals, mode), expected, "{x} to {decimals} by {mode:?}");
            }
        }
    }

    #[test]
    fn integers_are_read_with_decimals_and_exponents() {
        assert_eq!(parse_int("2.9"), Ok(Some(2)));
        assert_eq!(parse_int("-2.9"), Ok(Some(-2)));
        assert_eq!(parse_int("1e3"), Ok(Some(1_000)));
        assert_eq!(parse_int("0.0012e3"), Ok(Some(1)));
        assert_eq!(parse_int("-9223372036854775808.9"), Ok(Some(i64::MIN)));
        assert_eq!(parse_int("00e999"), Ok(Some(0)));
        for text in ["", "foo", " 1", "1 ", "0x1", "1e", ".", "-", "1_0"] {
            assert_eq!(parse_int(text), Ok(None), "{text:?}");
        }
        assert!(parse_int("9223372036854775808").is_err());
        assert!(parse_int("1e99").is_err());
    }

    #[test]
    fn floats_are_read_without_the_words_of_rust() {
        assert_eq!(parse_float(" 1.5 "), Some(1.5));
        assert_eq!(parse_float("-Infinity"), Some(f64::NEG_INFINITY));
        assert!(parse_float("NaN").is_some_and(f64::is_nan));
        for text in ["", "foo", "inf", "nan", "1.0x", "e"] {
            assert_eq!(parse_float(text), None, "{text:?}");
        }
    }
}
