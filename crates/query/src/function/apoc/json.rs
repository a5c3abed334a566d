//! Values as JSON texts, and JSON texts as values.

use std::fmt::Write;
use std::sync::Arc;

use telar_graph::{Value, ValueMap};

use crate::error::EvalError;
use crate::ops::display::text_of as plain_text;
use crate::watch::{self, sizes};

/// Deepest nesting of lists and maps that is read.
const LEVELS_MAX: usize = 128;

/// A value as text: strings and numbers plain, lists and maps as JSON.
pub(crate) fn text_of(value: &Value) -> String {
    plain_text(value).unwrap_or_else(|| {
        let mut out = String::new();
        // Only the size of a text can be refused, and the value is in memory already.
        match write(value, &mut out) {
            Ok(()) => out,
            Err(_) => value.type_name().to_owned(),
        }
    })
}

/// Appends a value as JSON; floats that are no numbers are null, and what JSON lacks is a string.
pub(crate) fn write(value: &Value, out: &mut String) -> Result<(), EvalError> {
    watch::work(1)?;
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Int(number) => {
            let _ = write!(out, "{number}");
        }
        Value::Float(number) if number.is_finite() => {
            let _ = write!(out, "{number:?}");
        }
        Value::Float(_) => out.push_str("null"),
        Value::String(text) => write_text(text, out),
        Value::List(list) => {
            out.push('[');
            for (at, value) in list.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(value, out)?;
            }
            out.push(']');
        }
        Value::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_text(key, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
        other => write_text(&plain_text(other).unwrap_or_default(), out),
    }
    sizes::check_string("the JSON text", out.len())
}

pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Reads a JSON text.
///
/// # Errors
/// `InvalidArgumentValue` with the place if it is none, or nests too deep.
pub(crate) fn read(text: &str) -> Result<Value, EvalError> {
    let mut reader = Reader { text, at: 0 };
    let value = reader.value(0)?;
    reader.space();
    if reader.at < text.len() {
        return Err(reader.invalid("more text behind the value"));
    }
    Ok(value)
}

/// Reads JSON texts that stand behind each other, as in files of lines.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_all(text: &str) -> Result<Vec<Value>, EvalError> {
    let mut reader = Reader { text, at: 0 };
    let mut values = Vec::new();
    reader.space();
    while reader.at < text.len() {
        values.push(reader.value(0)?);
        reader.space();
    }
    Ok(values)
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn invalid(&self, what: &str) -> EvalError {
        EvalError::argument_value(format!("invalid JSON at byte {}: {what}", self.at))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Steps over a character behind white space, if it is the next.
    fn take(&mut self, byte: u8) -> bool {
        self.space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), EvalError> {
        match self.take(byte) {
            true => Ok(()),
            false => Err(self.invalid(&format!("expected `{}`", char::from(byte)))),
        }
    }

    fn value(&mut self, level: usize) -> Result<Value, EvalError> {
        watch::work(1)?;
        if level > LEVELS_MAX {
            return Err(self.invalid(&format!("more than {LEVELS_MAX} levels")));
        }
        self.space();
        match self.peek() {
            Some(b'{') => self.map(level),
            Some(b'[') => self.list(level),
            Some(b'"') => self.string().map(Value::from),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => {
                let words = [("null", Value::Null), ("true", true.into()), ("false", false.into())];
                for (word, value) in words {
                    if self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
                        self.at += word.len();
                        return Ok(value);
                    }
                }
                Err(self.invalid("expected a value"))
            }
        }
    }

    fn map(&mut self, level: usize) -> Result<Value, EvalError> {
        self.expect(b'{')?;
        let mut entries = ValueMap::new();
        if self.take(b'}') {
            return Ok(Value::map(entries));
        }
        loop {
            self.space();
            let key: Arc<str> = self.string()?.into();
            self.expect(b':')?;
            let value = self.value(level + 1)?;
            entries.insert(key, value);
            if !self.take(b',') {
                self.expect(b'}')?;
                return Ok(Value::map(entries));
            }
        }
    }

    fn list(&mut self, level: usize) -> Result<Value, EvalError> {
        self.expect(b'[')?;
        let mut elements = Vec::new();
        if self.take(b']') {
            return Ok(Value::list(elements));
        }
        loop {
            elements.push(self.value(level + 1)?);
            sizes::check_list("a JSON list", elements.len())?;
            if !self.take(b',') {
                self.expect(b']')?;
                return Ok(Value::list(elements));
            }
        }
    }

    fn number(&mut self) -> Result<Value, EvalError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        let text = &self.text[start..self.at];
        let whole = !text.contains(['.', 'e', 'E']);
        match text.parse::<i64>() {
            Ok(number) if whole => Ok(Value::Int(number)),
            _ => match text.parse::<f64>() {
                Ok(number) => Ok(Value::Float(number)),
                Err(_) => Err(self.invalid(&format!("`{text}` is no number"))),
            },
        }
    }

    fn string(&mut self) -> Result<String, EvalError> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            let rest = &self.text[self.at..];
            let Some(end) = rest.find(['"', '\\']) else {
                return Err(self.invalid("a string without an end"));
            };
            watch::work(end / 256)?;
            out.push_str(&rest[..end]);
            self.at += end + 1;
            if rest.as_bytes()[end] == b'"' {
                return Ok(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, EvalError> {
        let Some(c) = self.peek() else { return Err(self.invalid("an escape without an end")) };
        self.at += 1;
        Ok(match c {
            b'"' | b'\\' | b'/' => char::from(c),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.hex()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                // Two halves of a character beyond the first plane.
                if !self.text[self.at..].starts_with("\\u") {
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                self.at += 2;
                let second = self.hex()?;
                let whole =
                    0x10000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00) & 0x3ff);
                char::from_u32(whole).unwrap_or(char::REPLACEMENT_CHARACTER)
            }
            _ => return Err(self.invalid("an escape that there is not")),
        })
    }

    fn hex(&mut self) -> Result<u32, EvalError> {
        let digits = self.text.get(self.at..self.at + 4);
        let found = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        self.at += 4;
        found.ok_or_else(|| self.invalid("expected four hexadecimal digits"))
    }
}

/// The part of a JSON value at a path such as `$.a.b[0]`, of names, positions and `[*]`.
///
/// # Errors
/// `InvalidArgumentValue` for what else paths can have.
pub(crate) fn at_path(mut value: Value, path: &str) -> Result<Value, EvalError> {
    if let Some(part) = ["..", "?", "@", "(", ":", ","].iter().find(|part| path.contains(**part)) {
        return Err(EvalError::argument_value(format!(
            "the JSON path `{path}` has `{part}`: only names, positions and [*] are supported"
        )));
    }
    let path = path.trim().strip_prefix('$').unwrap_or(path.trim());
    for part in path.split(['.', '[']).filter(|part| !part.is_empty()) {
        let name = part.trim_end_matches(']').trim_matches(['\'', '"']);
        value = match &value {
            _ if name == "*" => continue,
            Value::Map(map) => map.get(name).cloned().unwrap_or_default(),
            Value::List(list) => match name.parse::<usize>() {
                Ok(at) => list.get(at).cloned().unwrap_or_default(),
                Err(_) => Value::list(list.iter().filter_map(|value| match value {
                    Value::Map(map) => map.get(name).cloned(),
                    _ => None,
                })),
            },
            _ => Value::Null,
        };
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_values_are_the_same() {
        let text = r#"{"a":[1,-2.5,null,true],"b":{"c":"x\"\\\n\u0001é"},"d":1.0}"#;
        let mut out = String::new();
        write(&read(text).unwrap(), &mut out).unwrap();
        assert_eq!(out, text);
        assert_eq!(read(r#" "\ud83d\ude00" "#).unwrap(), Value::from("\u{1f600}"));
        assert_eq!(
            read("12345678901234567890").unwrap(),
            Value::Float(12_345_678_901_234_567_890.0)
        );
    }

    #[test]
    fn what_is_no_json_is_refused() {
        for text in
            ["", "{", "[1,]", "{\"a\" 1}", "tru", "1 2", "\"\\x\"", "\"\\u12\"", "\"a", "{a:1}"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        assert!(read(&"[".repeat(10_000)).is_err());
    }
}
