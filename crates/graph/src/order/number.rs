//! Integers and floats as one ordered set.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

/// 2^63, the first float above every `i64`.
const INT_BOUND: f64 = 9_223_372_036_854_775_808.0;

/// The integer that `x` is, if it is one and fits.
fn as_int(x: f64) -> Option<i64> {
    // In this range the cast is exact for whole numbers. NaN is in no range.
    let whole = (-INT_BOUND..INT_BOUND).contains(&x) && x.trunc() == x;
    whole.then_some(x as i64)
}

/// Compares the numbers themselves, without rounding the integer to a float. NaN is the largest.
pub(super) fn cmp_int_float(int: i64, float: f64) -> Ordering {
    if float.is_nan() || float >= INT_BOUND {
        return Ordering::Less;
    }
    if float < -INT_BOUND {
        return Ordering::Greater;
    }
    // Within the bounds truncation is exact; the fraction decides between equal integers.
    let whole = float.trunc();
    int.cmp(&(whole as i64)).then_with(|| cmp_floats(0.0, float - whole))
}

/// Compares floats with NaN the largest and equal to itself, and `-0.0` equal to `0.0`.
pub(super) fn cmp_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

pub(super) fn hash_int<H: Hasher>(x: i64, state: &mut H) {
    x.hash(state);
}

/// Hashes a whole number as the integer it equals, any NaN as one NaN.
pub(super) fn hash_float<H: Hasher>(x: f64, state: &mut H) {
    match as_int(x) {
        Some(int) => hash_int(int, state),
        None if x.is_nan() => f64::NAN.to_bits().hash(state),
        None => x.to_bits().hash(state),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ints_and_floats_compare_exactly_beyond_2_53() {
        const EDGE: i64 = 1 << 53;
        assert_eq!(cmp_int_float(EDGE, EDGE as f64), Ordering::Equal);
        assert_eq!(cmp_int_float(EDGE + 1, EDGE as f64), Ordering::Greater);
        assert_eq!(cmp_int_float(i64::MAX, INT_BOUND), Ordering::Less);
        assert_eq!(cmp_int_float(i64::MIN, -INT_BOUND), Ordering::Equal);
        assert_eq!(cmp_int_float(i64::MIN, f64::NEG_INFINITY), Ordering::Greater);
        assert_eq!(cmp_int_float(i64::MAX, f64::NAN), Ordering::Less);
        assert_eq!(cmp_int_float(-1, -1.5), Ordering::Greater);
        assert_eq!(cmp_int_float(0, -0.0), Ordering::Equal);
    }

    #[test]
    fn nan_is_the_largest_float() {
        assert_eq!(cmp_floats(f64::NAN, f64::INFINITY), Ordering::Greater);
        assert_eq!(cmp_floats(f64::NAN, -f64::NAN), Ordering::Equal);
        assert_eq!(cmp_floats(-0.0, 0.0), Ordering::Equal);
    }
}
