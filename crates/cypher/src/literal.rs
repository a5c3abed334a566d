//! The values of number and string tokens.

use crate::ast::Literal;
use crate::diagnostic::{Detail, Diagnostic};
use crate::span::Span;

/// The value of an integer token. `negative` says that a minus belongs to it.
pub(crate) fn integer(text: &str, span: Span, negative: bool) -> Result<Literal, Diagnostic> {
    let bytes = text.as_bytes();
    let (radix, digits) = match bytes.get(1) {
        Some(b'x' | b'X') => (16, &bytes[2..]),
        Some(b'o' | b'O') => (8, &bytes[2..]),
        _ => (10, bytes),
    };
    if radix == 10 && digits.len() > 1 && digits[0] == b'0' {
        let message = format!("'{text}' is no number: an integer does not begin with 0");
        let help = format!("write 0o{} if it is octal", text.trim_start_matches('0'));
        let error = Diagnostic::syntax(Detail::InvalidNumberLiteral, span, message);
        return Err(error.with_help(help));
    }
    let mut value: i64 = 0;
    for digit in digits.iter().filter_map(|byte| char::from(*byte).to_digit(radix)) {
        // Downwards, since there is one negative number more than positive ones.
        let next = value.checked_mul(radix.into()).and_then(|v| v.checked_sub(digit.into()));
        value = next.ok_or_else(|| overflow(text, span))?;
    }
    let value = if negative { Some(value) } else { value.checked_neg() };
    value.map(Literal::Int).ok_or_else(|| overflow(text, span))
}

fn overflow(text: &str, span: Span) -> Diagnostic {
    let message = format!("the integer {text} is too large");
    Diagnostic::syntax(Detail::IntegerOverflow, span, message)
        .with_help("integers go from -9223372036854775808 to 9223372036854775807")
}

/// The value of a float token, which is finite.
pub(crate) fn float(text: &str, span: Span) -> Result<Literal, Diagnostic> {
    let value: f64 = text.replace('_', "").parse().map_err(|_| malformed(text, span))?;
    if value.is_finite() {
        return Ok(Literal::Float(value));
    }
    let message = format!("the number {text} is too large for a float");
    Err(Diagnostic::syntax(Detail::FloatingPointOverflow, span, message))
}

/// The error about a token that begins like a number.
pub(crate) fn malformed(text: &str, span: Span) -> Diagnostic {
    let message = format!("'{text}' is no number");
    let error = Diagnostic::syntax(Detail::InvalidNumberLiteral, span, message);
    let bytes = text.as_bytes();
    match bytes.get(1) {
        Some(b'x' | b'X') => error.with_help("after 0x come hexadecimal digits"),
        Some(b'o' | b'O') => error.with_help("after 0o come digits from 0 to 7"),
        _ if text.contains('_') => error.with_help("an underscore stands between two digits"),
        _ => error,
    }
}

/// The value of a string token, whose text has its quotes. Without escapes it costs one copy.
pub(crate) fn string(text: &str, span: Span) -> Result<Box<str>, Diagnostic> {
    let inner = &text[1..text.len() - 1];
    if !inner.contains('\\') {
        return Ok(inner.into());
    }
    let mut value = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(place) = rest.find('\\') {
        value.push_str(&rest[..place]);
        let offset = span.start() + 1 + (inner.len() - rest.len() + place) as u32;
        let (char, bytes) = escape(&rest[place..], offset)?;
        value.push(char);
        rest = &rest[place + bytes..];
    }
    value.push_str(rest);
    Ok(value.into())
}

/// The character that the escape at the start of `text` stands for, and the escape's length.
fn escape(text: &str, offset: u32) -> Result<(char, usize), Diagnostic> {
    let letter = text[1..].chars().next().unwrap_or('\\');
    let char = match letter {
        '\\' | '\'' | '"' | '`' => letter,
        'b' | 'B' => '\u{8}',
        'f' | 'F' => '\u{c}',
        'n' | 'N' => '\n',
        'r' | 'R' => '\r',
        't' | 'T' => '\t',
        'u' => return unicode(text, 4, offset),
        'U' => return unicode(text, 8, offset),
        // As in Neo4j, a backslash before any other character stands for itself.
        _ => return Ok(('\\', 1)),
    };
    Ok((char, 2))
}

/// `\uXXXX`, also two of them for a character beyond the first 65536, or `\UXXXXXXXX`.
fn unicode(text: &str, digits: usize, offset: u32) -> Result<(char, usize), Diagnostic> {
    let Some(first) = hex(text, 2, digits) else {
        let found = text.chars().take(2 + digits).map_while(|c| (c != '\'').then_some(c));
        let bytes: usize = found.map(char::len_utf8).sum();
        let span = Span::new(offset, offset + bytes as u32);
        let message = format!("after '{}' come {digits} hexadecimal digits", &text[..2]);
        return Err(Diagnostic::syntax(Detail::InvalidUnicodeLiteral, span, message));
    };
    if let Some(char) = char::from_u32(first) {
        return Ok((char, 2 + digits));
    }
    // Java and JSON write characters beyond the first 65536 as two halves.
    let second = if text[6..].starts_with("\\u") { hex(text, 8, 4) } else { None };
    if let (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) = (first, second) {
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        if let Some(char) = char::from_u32(code) {
            return Ok((char, 12));
        }
    }
    let span = Span::new(offset, offset + 2 + digits as u32);
    let message = format!("there is no character with the number {first:X}");
    Err(Diagnostic::syntax(Detail::InvalidUnicodeLiteral, span, message))
}

fn hex(text: &str, from: usize, digits: usize) -> Option<u32> {
    let digits = text.get(from..from + digits)?;
    // `from_str_radix` would take a sign.
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Span {
        Span::new(0, text.len() as u32)
    }

    #[test]
    fn integers_reach_both_ends_of_their_range_in_every_base() {
        for (text, negative, expected) in [
            ("0", false, 0),
            ("1_000", false, 1000),
            ("9223372036854775807", false, i64::MAX),
            ("9223372036854775808", true, i64::MIN),
            ("0x7FFFFFFFFFFFFFFF", false, i64::MAX),
            ("0x8000000000000000", true, i64::MIN),
            ("0o777", true, -511),
        ] {
            assert_eq!(integer(text, at(text), negative), Ok(Literal::Int(expected)), "{text}");
        }
        for (text, negative) in [
            ("9223372036854775808", false),
            ("9223372036854775809", true),
            ("0x8000000000000000", false),
            ("99999999999999999999999", true),
        ] {
            let error = integer(text, at(text), negative).unwrap_err();
            assert_eq!(error.detail, Detail::IntegerOverflow, "{text}");
        }
        assert_eq!(integer("017", at("017"), false).unwrap_err().detail, {
            Detail::InvalidNumberLiteral
        });
    }

    #[test]
    fn floats_are_finite() {
        assert_eq!(float("1_0.5e1", at("")), Ok(Literal::Float(105.0)));
        assert_eq!(float("1e-999", at("")), Ok(Literal::Float(0.0)));
        assert_eq!(float("1e999", at("")).unwrap_err().detail, Detail::FloatingPointOverflow);
    }

    #[test]
    fn strings_resolve_escapes() {
        for (text, expected) in [
            (r"'plain'", "plain"),
            (r#"'\b\f\n\r\t\'\"\\\`'"#, "\u{8}\u{c}\n\r\t'\"\\`"),
            (r"'\u00e4\U0001F600!'", "ä😀!"),
            (r"'\uD83D\uDE00'", "😀"),
            (r#""it's""#, "it's"),
            (r"'a\qb\ä\d+'", r"a\qb\ä\d+"),
        ] {
            assert_eq!(&*string(text, at(text)).unwrap(), expected);
        }
    }

    #[test]
    fn broken_escapes_are_errors_with_a_place() {
        for (text, detail, place) in [
            (r"'\u00g0'", Detail::InvalidUnicodeLiteral, r"\u00g0"),
            (r"'\u+123'", Detail::InvalidUnicodeLiteral, r"\u+123"),
            (r"'\u12'", Detail::InvalidUnicodeLiteral, r"\u12"),
            (r"'\uD83Dx'", Detail::InvalidUnicodeLiteral, r"\uD83D"),
            (r"'\uD83D\u0041'", Detail::InvalidUnicodeLiteral, r"\uD83D"),
            (r"'\U00110000'", Detail::InvalidUnicodeLiteral, r"\U00110000"),
            (r"'\UD83D0000'", Detail::InvalidUnicodeLiteral, r"\UD83D0000"),
        ] {
            let error = string(text, at(text)).unwrap_err();
            assert_eq!((error.detail, error.span.text(text)), (detail, place));
        }
    }
}
