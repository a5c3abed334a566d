//! Numbers from bytes, without going through `str` where the loop is hot.

/// Digits that always fit into 64 bits, whatever they are: 10^19 - 1 < 2^64.
const SAFE_DIGITS: usize = 19;

/// The whole number that `text` spells, `None` if it is not one or exceeds 64 bits.
pub(super) fn parse_u64(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    let mut value = 0_u64;
    if text.len() <= SAFE_DIGITS {
        for &byte in text {
            let digit = byte.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            value = value * 10 + u64::from(digit);
        }
        return Some(value);
    }
    for &byte in text {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    Some(value)
}

/// The signed whole number that `text` spells.
pub(super) fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(parse_u64(digits)?),
        [b'+', digits @ ..] => i64::try_from(parse_u64(digits)?).ok(),
        digits => i64::try_from(parse_u64(digits)?).ok(),
    }
}

/// The finite decimal number that `text` spells; `nan`, `inf` and overflow are `None`.
pub(super) fn parse_f64(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u64_parses_its_whole_range_and_nothing_else() {
        assert_eq!(parse_u64(b"0"), Some(0));
        assert_eq!(parse_u64(b"007"), Some(7));
        assert_eq!(parse_u64(b"9999999999999999999"), Some(9_999_999_999_999_999_999));
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(parse_u64(b"00000000000000000000000001"), Some(1));
        for bad in ["", "-1", "+1", "1.0", "18446744073709551616", " 1", "1 ", "0x1", "\u{661}"] {
            assert_eq!(parse_u64(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn i64_parses_its_whole_range_and_nothing_else() {
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_i64(b"+9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_i64(b"-0"), Some(0));
        for bad in ["", "-", "--1", "+-1", "9223372036854775808", "-9223372036854775809"] {
            assert_eq!(parse_i64(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn f64_refuses_what_is_not_finite() {
        assert_eq!(parse_f64(b"1289241911.72836"), Some(1_289_241_911.728_36));
        assert_eq!(parse_f64(b"-1e3"), Some(-1000.0));
        for bad in ["", "nan", "inf", "-infinity", "1e999", "1,5", "abc"] {
            assert_eq!(parse_f64(bad.as_bytes()), None, "{bad:?}");
        }
    }
}
