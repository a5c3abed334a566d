//! `STARTS WITH`, `ENDS WITH`, `CONTAINS`, `=~` and `IS NORMALIZED`.

use std::str::FromStr;

use regex::Regex;
use telar_graph::Value;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use crate::error::EvalError;
use crate::function::limits;
use crate::query_error::ErrorKind;

/// `a STARTS WITH b`: null unless both are strings.
#[must_use]
pub fn starts_with(a: &Value, b: &Value) -> Value {
    test(a, b, |a, b| a.starts_with(b))
}

/// `a ENDS WITH b`: null unless both are strings.
#[must_use]
pub fn ends_with(a: &Value, b: &Value) -> Value {
    test(a, b, |a, b| a.ends_with(b))
}

/// `a CONTAINS b`: null unless both are strings.
#[must_use]
pub fn contains(a: &Value, b: &Value) -> Value {
    test(a, b, |a, b| a.contains(b))
}

fn test(a: &Value, b: &Value, holds: fn(&str, &str) -> bool) -> Value {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Value::Bool(holds(a, b)),
        _ => Value::Null,
    }
}

/// A pattern of `=~`, compiled once and matched often.
///
/// The syntax is that of the crate `regex`, which is Java's without look-around, back references
/// and possessive quantifiers; in exchange a match takes time linear in the text.
#[derive(Debug, Clone)]
pub struct CompiledRegex(Regex);

impl CompiledRegex {
    /// Compiles a pattern that must match the whole text.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentValue` when the pattern is not a regular expression or its automaton would
    /// be larger than 10 MiB.
    pub fn new(pattern: &str) -> Result<Self, EvalError> {
        let whole = |end: &str| Regex::new(&format!("\\A(?:{pattern}{end})\\z"));
        let compiled = match whole("") {
            // A pattern that closes a group may close ours, as `a)(b` does: is it valid alone?
            Ok(regex) if pattern.contains(')') => Regex::new(pattern).map(|_| regex),
            Ok(regex) => Ok(regex),
            // A pattern that is valid, but not in a group, ends in a comment of (?x), which a line
            // feed ends.
            Err(_) => Regex::new(pattern).and_then(|_| whole("\n")),
        };
        compiled.map(Self).map_err(|error| {
            let message = format!("invalid pattern: {error}");
            EvalError::argument_value(message).of_kind(ErrorKind::Semantic)
        })
    }

    /// Whether the pattern matches all of `text`; null unless that is a string.
    #[must_use]
    pub fn is_match(&self, text: &Value) -> Value {
        match text {
            Value::String(text) => Value::Bool(self.0.is_match(text)),
            _ => Value::Null,
        }
    }
}

/// `a =~ b` with a pattern that is compiled here; see [`CompiledRegex`] for one that is not known
/// only at the last moment. Null where one is null or `a` is no string.
///
/// # Errors
///
/// `InvalidArgumentValue` when the pattern is not a regular expression, `InvalidArgumentType` when
/// it is no string.
pub fn regex_match(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::String(_), Value::String(pattern)) => Ok(CompiledRegex::new(pattern)?.is_match(a)),
        (Value::String(_), other) if !other.is_null() => {
            Err(EvalError::argument_type("=~", "a STRING on its right", other))
        }
        _ => Ok(Value::Null),
    }
}

/// A Unicode normal form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are those of Unicode Annex 15")]
pub enum NormalForm {
    #[default]
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl FromStr for NormalForm {
    type Err = EvalError;

    fn from_str(name: &str) -> Result<Self, EvalError> {
        match name.to_ascii_uppercase().as_str() {
            "NFC" => Ok(Self::Nfc),
            "NFD" => Ok(Self::Nfd),
            "NFKC" => Ok(Self::Nfkc),
            "NFKD" => Ok(Self::Nfkd),
            _ => Err(EvalError::argument_value(
                "the normal form must be NFC, NFD, NFKC or NFKD".to_owned(),
            )),
        }
    }
}

/// `a IS NORMALIZED`: null unless `a` is a string.
#[must_use]
pub fn is_normalized(a: &Value, form: NormalForm) -> Value {
    let Value::String(text) = a else { return Value::Null };
    Value::Bool(match form {
        NormalForm::Nfc => is_nfc(text),
        NormalForm::Nfd => is_nfd(text),
        NormalForm::Nfkc => is_nfkc(text),
        NormalForm::Nfkd => is_nfkd(text),
    })
}

/// The text in a normal form, as the function `normalize` yields it.
///
/// # Errors
///
/// `ResultTooLarge` beyond the bound of strings: one character may become eighteen.
pub fn normalize(text: &str, form: NormalForm) -> Result<Value, EvalError> {
    let mut out = String::new();
    match form {
        NormalForm::Nfc => limits::extend(&mut out, text.nfc())?,
        NormalForm::Nfd => limits::extend(&mut out, text.nfd())?,
        NormalForm::Nfkc => limits::extend(&mut out, text.nfkc())?,
        NormalForm::Nfkd => limits::extend(&mut out, text.nfkd())?,
    }
    Ok(out.into())
}
