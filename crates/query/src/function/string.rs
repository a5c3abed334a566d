//! Functions on strings.
//!
//! Positions and lengths count characters (Unicode scalar values), not bytes.

use std::collections::HashSet;
use std::str::FromStr;
use std::sync::Arc;

use telar_graph::Value;

use super::{Context, Eval, Function, args};
use crate::error::{EvalError, describe};
use crate::ops::pieces::{self, PIECE_BYTES};
use crate::ops::{self, NormalForm};
use crate::watch::{self, sizes};

const fn f(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "String", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "btrim",
        (1, 2),
        "btrim(input :: STRING, trimCharacterString :: STRING) :: STRING",
        "The string without white space, or any of the characters, at either end.",
        |args, _| trimmed("btrim()", args, true, true),
    ),
    f(
        "char_length",
        (1, 1),
        "char_length(input :: STRING) :: INTEGER",
        "The number of characters.",
        |args, _| length("char_length()", &args[0]),
    ),
    f(
        "character_length",
        (1, 1),
        "character_length(input :: STRING) :: INTEGER",
        "The number of characters.",
        |args, _| length("character_length()", &args[0]),
    ),
    f(
        "left",
        (2, 2),
        "left(original :: STRING, length :: INTEGER) :: STRING",
        "The first so many characters.",
        |args, _| {
            let Some((text, count)) = text_and_count("left()", args)? else {
                return Ok(Value::Null);
            };
            Ok(text[..pieces::byte_of(text, count)?].into())
        },
    ),
    f(
        "lower",
        (1, 1),
        "lower(input :: STRING) :: STRING",
        "The string in lower case.",
        |args, _| Ok(pieces::lower(args::text("lower()", &args[0])?)?.into()),
    ),
    f(
        "lpad",
        (2, 3),
        "lpad(input :: STRING, length :: INTEGER, pad = ' ' :: STRING) :: STRING",
        "The string filled up on the left, or cut on the right, to a length.",
        |args, _| pad("lpad()", args, true),
    ),
    f(
        "ltrim",
        (1, 2),
        "ltrim(input :: STRING, trimCharacterString :: STRING) :: STRING",
        "The string without white space, or any of the characters, at the start.",
        |args, _| trimmed("ltrim()", args, true, false),
    ),
    f(
        "normalize",
        (1, 2),
        "normalize(input :: STRING, form = NFC :: STRING) :: STRING",
        "The string in a Unicode normal form: NFC, NFD, NFKC or NFKD.",
        |args, _| {
            let text = args::text("normalize()", &args[0])?;
            let form = args.get(1).map_or(Ok(NormalForm::default()), |form| {
                args::text("normalize()", form).and_then(NormalForm::from_str)
            })?;
            ops::normalize(text, form)
        },
    ),
    f(
        "repeat",
        (2, 2),
        "repeat(input :: STRING, times :: INTEGER) :: STRING",
        "The string so many times over.",
        |args, _| {
            let text = args::text("repeat()", &args[0])?;
            let times = args::count("repeat()", &args[1])?;
            sizes::check_string("the result of repeat()", text.len().saturating_mul(times))?;
            // An empty string may be asked for more often than memory has bytes.
            Ok(if text.is_empty() { "".into() } else { text.repeat(times).into() })
        },
    ),
    f(
        "replace",
        (3, 3),
        "replace(original :: STRING, search :: STRING, replace :: STRING) :: STRING",
        "The string with each occurrence of another replaced.",
        replace,
    ),
    f(
        "reverse",
        (1, 1),
        "reverse(input :: STRING | LIST<ANY>) :: STRING | LIST<ANY>",
        "The characters or elements in the opposite order.",
        |args, _| match &args[0] {
            Value::String(text) => Ok(pieces::reversed(text)?.into()),
            Value::List(list) => Ok(Value::List(list.iter().rev().cloned().collect())),
            other => Err(EvalError::argument_type("reverse()", "a STRING or LIST", other)),
        },
    ),
    f(
        "right",
        (2, 2),
        "right(original :: STRING, length :: INTEGER) :: STRING",
        "The last so many characters.",
        |args, _| {
            let Some((text, count)) = text_and_count("right()", args)? else {
                return Ok(Value::Null);
            };
            let before = pieces::characters(text)?.saturating_sub(count);
            Ok(text[pieces::byte_of(text, before)?..].into())
        },
    ),
    f(
        "rpad",
        (2, 3),
        "rpad(input :: STRING, length :: INTEGER, pad = ' ' :: STRING) :: STRING",
        "The string filled up, or cut, on the right to a length.",
        |args, _| pad("rpad()", args, false),
    ),
    f(
        "rtrim",
        (1, 2),
        "rtrim(input :: STRING, trimCharacterString :: STRING) :: STRING",
        "The string without white space, or any of the characters, at the end.",
        |args, _| trimmed("rtrim()", args, false, true),
    ),
    f(
        "split",
        (2, 2),
        "split(original :: STRING, splitDelimiters :: STRING | LIST<STRING>) :: LIST<STRING>",
        "The parts between the delimiters; with an empty delimiter, the characters.",
        split,
    ),
    f(
        "substring",
        (2, 3),
        "substring(original :: STRING, start :: INTEGER, length :: INTEGER) :: STRING",
        "The characters from a position on, the first being 0, and at most so many.",
        substring,
    ),
    f(
        "toLower",
        (1, 1),
        "toLower(input :: STRING) :: STRING",
        "The string in lower case.",
        |args, _| Ok(pieces::lower(args::text("toLower()", &args[0])?)?.into()),
    ),
    f(
        "toUpper",
        (1, 1),
        "toUpper(input :: STRING) :: STRING",
        "The string in upper case.",
        |args, _| Ok(pieces::upper(args::text("toUpper()", &args[0])?)?.into()),
    ),
    f(
        "trim",
        (1, 3),
        "trim(specification = BOTH, character = ' ' :: STRING FROM input :: STRING) :: STRING",
        "The string without white space, or the character, at both ends, or LEADING, or TRAILING.",
        trim,
    ),
    f(
        "upper",
        (1, 1),
        "upper(input :: STRING) :: STRING",
        "The string in upper case.",
        |args, _| Ok(pieces::upper(args::text("upper()", &args[0])?)?.into()),
    ),
];

fn length(function: &str, value: &Value) -> Result<Value, EvalError> {
    // A string has fewer than 2^63 characters.
    Ok(Value::Int(pieces::characters(args::text(function, value)?)? as i64))
}

/// The arguments of `left` and `right`; none when the text is null. A null count is an error.
fn text_and_count<'a>(
    function: &str,
    args: &'a [Value],
) -> Result<Option<(&'a str, usize)>, EvalError> {
    if args[0].is_null() {
        return Ok(None);
    }
    let text = args::text(function, &args[0])?;
    Ok(Some((text, count_of(text, function, &args[1])?)))
}

/// A count of characters of `text`. Of an empty text every part is empty, as in Neo4j, with a
/// negative count, too.
fn count_of(text: &str, function: &str, count: &Value) -> Result<usize, EvalError> {
    match count {
        Value::Int(_) if text.is_empty() => Ok(0),
        count => args::count(function, count),
    }
}

fn substring(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let Some((text, start)) = text_and_count("substring()", args)? else {
        return Ok(Value::Null);
    };
    let rest = &text[pieces::byte_of(text, start)?..];
    Ok(match args.get(2) {
        None => rest.into(),
        Some(length) => {
            let length = count_of(text, "substring()", length)?;
            rest[..pieces::byte_of(rest, length)?].into()
        }
    })
}

fn trimmed(function: &str, args: &[Value], start: bool, end: bool) -> Result<Value, EvalError> {
    let text = args::text(function, &args[0])?;
    let set = args.get(1).map(|set| args::text(function, set)).transpose()?;
    Ok(cut(text, set, start, end)?.into())
}

/// The text without characters of the set, or white space, at the start, the end, or both.
fn cut<'a>(text: &'a str, set: Option<&str>, start: bool, end: bool) -> Result<&'a str, EvalError> {
    /// Characters that are looked through; of more a set is made.
    const FEW: usize = 16;
    let set = match set {
        Some(set) if set.len() > FEW => {
            let mut characters = HashSet::new();
            pieces::forward(set, |piece| {
                characters.extend(piece.chars());
                Ok(())
            })?;
            Set::Many(characters)
        }
        Some(set) => Set::Few(set),
        None => Set::Blank,
    };
    let mut rest = text;
    while start && let Some(c) = rest.chars().next().filter(|c| set.has(*c)) {
        rest = &rest[c.len_utf8()..];
        watch::work(1)?;
    }
    while end && let Some(c) = rest.chars().next_back().filter(|c| set.has(*c)) {
        rest = &rest[..rest.len() - c.len_utf8()];
        watch::work(1)?;
    }
    Ok(rest)
}

/// Characters that are trimmed.
enum Set<'t> {
    Blank,
    Few(&'t str),
    Many(HashSet<char>),
}

impl Set<'_> {
    fn has(&self, c: char) -> bool {
        match self {
            Self::Blank => c.is_whitespace(),
            Self::Few(set) => set.contains(c),
            Self::Many(set) => set.contains(&c),
        }
    }
}

/// `trim(text)`; or what `trim(LEADING 'x' FROM text)` is bound to: the specification, the
/// character if there is one, and the text.
fn trim(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let (specification, set, text) = match args {
        [text] => ("BOTH", None, text),
        [specification, text] => (args::text("trim()", specification)?, None, text),
        [specification, set, text, ..] => {
            (args::text("trim()", specification)?, Some(args::text("trim()", set)?), text)
        }
        [] => return Ok(Value::Null),
    };
    if let Some(set) = set.filter(|set| set.chars().count() != 1) {
        return Err(EvalError::argument_value(format!(
            "trim() expects one character to trim, found {}",
            describe(&set.into())
        )));
    }
    let (start, end) = match specification.to_ascii_uppercase().as_str() {
        "BOTH" => (true, true),
        "LEADING" => (true, false),
        "TRAILING" => (false, true),
        _ => {
            return Err(EvalError::argument_value("trim() expects BOTH, LEADING or TRAILING"));
        }
    };
    Ok(cut(args::text("trim()", text)?, set, start, end)?.into())
}

fn pad(function: &str, args: &[Value], left: bool) -> Result<Value, EvalError> {
    let text = args::text(function, &args[0])?;
    let wanted = args::count(function, &args[1])?;
    let pad = args.get(2).map_or(Ok(" "), |pad| args::text(function, pad))?;
    let Some(missing) = wanted.checked_sub(pieces::characters(text)?) else {
        return Ok(text[..pieces::byte_of(text, wanted)?].into());
    };
    if pad.is_empty() {
        return Ok(text.into());
    }
    // Every character has at least one byte.
    sizes::check_string("the padded string", text.len().saturating_add(missing))?;
    let mut padded = String::with_capacity(text.len() + missing);
    if !left {
        padded.push_str(text);
    }
    sizes::extend(&mut padded, pad.chars().cycle().take(missing))?;
    if left {
        padded.push_str(text);
    }
    sizes::check_string("the padded string", padded.len())?;
    Ok(padded.into())
}

fn replace(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let text = args::text("replace()", &args[0])?;
    let search = args::text("replace()", &args[1])?;
    let by = args::text("replace()", &args[2])?;
    if search.is_empty() {
        return between(text, by);
    }
    let mut occurrences = 0_usize;
    pieces::each_match(text, search, |_| {
        occurrences += 1;
        Ok(())
    })?;
    if occurrences == 0 {
        return Ok(args[0].clone());
    }
    let added = by.len().saturating_mul(occurrences);
    sizes::check_string("the result of replace()", text.len().saturating_add(added))?;
    let mut out = String::with_capacity(text.len() - search.len() * occurrences + added);
    let mut from = 0;
    pieces::each_match(text, search, |at| {
        out.push_str(&text[from..at]);
        out.push_str(by);
        from = at + search.len();
        watch::work(1 + by.len() / PIECE_BYTES)
    })?;
    out.push_str(&text[from..]);
    Ok(out.into())
}

/// The text with another one before each character, and at its end.
fn between(text: &str, by: &str) -> Result<Value, EvalError> {
    let added = by.len().saturating_mul(pieces::characters(text)?.saturating_add(1));
    sizes::check_string("the result of replace()", text.len().saturating_add(added))?;
    let mut out = String::with_capacity(text.len() + added);
    for c in text.chars() {
        out.push_str(by);
        out.push(c);
        watch::work(1 + by.len() / PIECE_BYTES)?;
    }
    out.push_str(by);
    Ok(out.into())
}

/// Of several delimiters that start at one place, the first in the list counts.
fn split(args: &[Value], _: &Context) -> Result<Value, EvalError> {
    let text = args::text("split()", &args[0])?;
    let delimiters = match &args[1] {
        Value::List(list) if list.iter().any(Value::is_null) => return Ok(Value::Null),
        Value::List(list) => {
            list.iter().map(|one| args::text("split()", one)).collect::<Result<Vec<_>, _>>()?
        }
        one => vec![args::text("split()", one)?],
    };
    let mut parts: Vec<Value> = Vec::new();
    let mut push = |part: &str| {
        sizes::check_list("the result of split()", parts.len() + 1)?;
        parts.push(Value::String(Arc::from(part)));
        Ok::<_, EvalError>(())
    };
    // At each place each of them is compared.
    let units = delimiters.iter().map(|delimiter| 1 + delimiter.len() / PIECE_BYTES).sum::<usize>();
    let (mut start, mut at) = (0, 0);
    while let Some(c) = text[at..].chars().next() {
        watch::work(units)?;
        let found = delimiters.iter().find(|delimiter| text[at..].starts_with(**delimiter));
        match found {
            // Between any two characters, but not before the first.
            Some(&"") if at == start => at += c.len_utf8(),
            Some(delimiter) => {
                push(&text[start..at])?;
                at += delimiter.len();
                start = at;
            }
            None => at += c.len_utf8(),
        }
    }
    push(&text[start..])?;
    Ok(Value::List(parts.into()))
}
