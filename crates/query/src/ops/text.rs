//! `STARTS WITH`, `ENDS WITH`, `CONTAINS`, `=~` and `IS NORMALIZED`.

use std::str::FromStr;

use telar_graph::Value;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfd, is_nfkc, is_nfkd};

use super::CompiledRegex;
use super::pieces::{self, PIECE_BYTES};
use crate::error::EvalError;
use crate::watch;
use crate::watch::sizes;

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
///
/// # Errors
///
/// `Terminated` and `TimedOut`: a text can be long.
pub fn contains(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Ok(Value::Bool(pieces::contains(a, b)?)),
        _ => Ok(Value::Null),
    }
}

fn test(a: &Value, b: &Value, holds: fn(&str, &str) -> bool) -> Value {
    match (a, b) {
        (Value::String(a), Value::String(b)) => Value::Bool(holds(a, b)),
        _ => Value::Null,
    }
}

/// `a =~ b` with a pattern that is compiled here; see [`CompiledRegex`] for one that is not known
/// only at the last moment. Null where one is null or `a` is no string.
///
/// # Errors
///
/// As [`CompiledRegex::new`] and [`CompiledRegex::is_match`]; `InvalidArgumentType` when the
/// pattern is no string.
pub fn regex_match(a: &Value, b: &Value) -> Result<Value, EvalError> {
    match (a, b) {
        (Value::String(_), Value::String(pattern)) => CompiledRegex::new(pattern)?.is_match(a),
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
///
/// # Errors
///
/// `Terminated` and `TimedOut`: a text can be long.
pub fn is_normalized(a: &Value, form: NormalForm) -> Result<Value, EvalError> {
    let Value::String(text) = a else { return Ok(Value::Null) };
    let mut rest = &**text;
    while rest.len() > PIECE_BYTES {
        // No form changes what is before a character of ASCII together with it.
        let ascii = |at: usize| rest.as_bytes()[at].is_ascii();
        let Some(at) = (PIECE_BYTES..rest.len().min(2 * PIECE_BYTES)).find(|at| ascii(*at)) else {
            return equals_form(rest, form);
        };
        let (piece, later) = rest.split_at(at);
        if !is_form(piece, form) {
            return Ok(Value::Bool(false));
        }
        watch::check()?;
        rest = later;
    }
    Ok(Value::Bool(is_form(rest, form)))
}

fn is_form(text: &str, form: NormalForm) -> bool {
    match form {
        NormalForm::Nfc => is_nfc(text),
        NormalForm::Nfd => is_nfd(text),
        NormalForm::Nfkc => is_nfkc(text),
        NormalForm::Nfkd => is_nfkd(text),
    }
}

/// The same, character by character.
fn equals_form(text: &str, form: NormalForm) -> Result<Value, EvalError> {
    fn equals(text: &str, formed: impl Iterator<Item = char>) -> Result<Value, EvalError> {
        let mut characters = text.chars();
        for c in formed {
            watch::work(1)?;
            if characters.next() != Some(c) {
                return Ok(Value::Bool(false));
            }
        }
        Ok(Value::Bool(characters.next().is_none()))
    }
    match form {
        NormalForm::Nfc => equals(text, text.nfc()),
        NormalForm::Nfd => equals(text, text.nfd()),
        NormalForm::Nfkc => equals(text, text.nfkc()),
        NormalForm::Nfkd => equals(text, text.nfkd()),
    }
}

/// The text in a normal form, as the function `normalize` yields it.
///
/// # Errors
///
/// `ResultTooLarge` beyond the bound of strings: one character may become eighteen.
pub fn normalize(text: &str, form: NormalForm) -> Result<Value, EvalError> {
    let mut out = String::new();
    match form {
        NormalForm::Nfc => sizes::extend(&mut out, text.nfc())?,
        NormalForm::Nfd => sizes::extend(&mut out, text.nfd())?,
        NormalForm::Nfkc => sizes::extend(&mut out, text.nfkc())?,
        NormalForm::Nfkd => sizes::extend(&mut out, text.nfkd())?,
    }
    Ok(out.into())
}
