//! Texts with places for values, as Java's formatter has them.

use telar_graph::Value;

use super::json;
use crate::error::EvalError;
use crate::watch::sizes;

/// Widest field, and most digits behind the point.
const WIDTH_MAX: usize = 1000;

/// A place such as `%-8.2f`.
#[derive(Default)]
struct Place {
    left: bool,
    zeros: bool,
    plus: bool,
    width: usize,
    digits: Option<usize>,
    conversion: char,
}

impl Place {
    /// The place behind a percent sign, and what follows it.
    fn read(text: &str) -> Option<(Self, &str)> {
        let mut place = Self::default();
        let mut rest = text;
        while let Some(flag) = rest.chars().next().filter(|c| "-0+".contains(*c)) {
            match flag {
                '-' => place.left = true,
                '0' => place.zeros = true,
                _ => place.plus = true,
            }
            rest = &rest[1..];
        }
        let number = |rest: &mut &str| {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let (number, behind) = rest.split_at(digits);
            *rest = behind;
            number.parse::<usize>().ok().filter(|number| *number <= WIDTH_MAX)
        };
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            place.width = number(&mut rest)?;
        }
        if let Some(behind) = rest.strip_prefix('.') {
            rest = behind;
            place.digits = Some(number(&mut rest)?);
        }
        place.conversion = rest.chars().next()?;
        let behind = &rest[place.conversion.len_utf8()..];
        Some((place, behind))
    }

    /// A value as it stands there; `None` if it cannot.
    fn text(&self, value: &Value) -> Option<String> {
        let signed = |text: String, negative: bool| match self.plus && !negative {
            true => format!("+{text}"),
            false => text,
        };
        let text = match (self.conversion, value) {
            ('s', value) => {
                let text = json::text_of(value);
                match self.digits {
                    Some(most) => text.chars().take(most).collect(),
                    None => text,
                }
            }
            (_, Value::Null) if self.conversion != 'b' => "null".into(),
            ('d', Value::Int(int)) => signed(int.to_string(), *int < 0),
            ('x', Value::Int(int)) => format!("{int:x}"),
            ('f', Value::Float(x)) => {
                signed(format!("{x:.*}", self.digits.unwrap_or(6)), x.is_sign_negative())
            }
            ('e', Value::Float(x)) => {
                let text = format!("{x:.*e}", self.digits.unwrap_or(6));
                // Two digits at least, and a sign.
                let (number, exponent) = text.split_once('e')?;
                let exponent: i32 = exponent.parse().ok()?;
                let sign = if exponent < 0 { '-' } else { '+' };
                signed(format!("{number}e{sign}{:02}", exponent.abs()), x.is_sign_negative())
            }
            ('b', Value::Bool(is)) => is.to_string(),
            ('b', value) => (!value.is_null()).to_string(),
            _ => return None,
        };
        let missing = self.width.saturating_sub(text.chars().count());
        Some(match (self.left, self.zeros && self.conversion != 's') {
            (true, _) => text + &" ".repeat(missing),
            (false, true) => {
                let (sign, number) = match text.strip_prefix(['-', '+']) {
                    Some(number) => (&text[..1], number),
                    None => ("", &*text),
                };
                format!("{sign}{}{number}", "0".repeat(missing))
            }
            (false, false) => " ".repeat(missing) + &text,
        })
    }
}

/// A text with values in its places.
///
/// # Errors
/// `InvalidArgumentValue` if there are fewer values than places, or a value does not fit its place.
pub(crate) fn formatted(function: &str, text: &str, values: &Value) -> Result<String, EvalError> {
    let values = match values {
        Value::List(values) => &values[..],
        _ => &[],
    };
    let failed = |what: String| EvalError::argument_value(format!("{function}: {what}"));
    let mut values = values.iter();
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('%') {
        out.push_str(before);
        let shown = || format!("%{}", behind.chars().take(8).collect::<String>());
        let Some((place, behind)) = Place::read(behind) else {
            return Err(failed(format!("`{}` is no place for a value", shown())));
        };
        match place.conversion {
            '%' => out.push('%'),
            'n' => out.push('\n'),
            _ => {
                let Some(value) = values.next() else {
                    return Err(failed(format!("there is no value for `{}`", shown())));
                };
                let Some(value) = place.text(value) else {
                    let found = value.type_name();
                    let message = format!("`{}` takes no {found}", shown());
                    return Err(failed(message));
                };
                out.push_str(&value);
            }
        }
        rest = behind;
        sizes::check_string(&format!("the result of {function}"), out.len())?;
    }
    out.push_str(rest);
    Ok(out)
}
