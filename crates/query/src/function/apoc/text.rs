//! `apoc.text.*`: strings. Patterns are those of `=~`; `$1` in a replacement is the first group.

use regex_automata::PatternID;
use regex_automata::meta::Regex;
use telar_graph::Value;
use unicode_normalization::UnicodeNormalization;

use super::{args, int_or, json, list_or_empty, text_or};
use crate::error::EvalError;
use crate::function::{Eval, Function};
use crate::ops::CompiledRegex;
use crate::watch::{self, sizes};

type Found = Result<Value, EvalError>;

const fn on(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "String", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    on(
        "apoc.text.join",
        (2, 2),
        "apoc.text.join(texts :: LIST<STRING>, delimiter :: STRING) :: STRING",
        "The strings behind each other, with a delimiter between them.",
        |args, _| {
            let name = "apoc.text.join()";
            let delimiter = args::text(name, &args[1])?;
            let texts = args::list(name, &args[0])?.iter();
            let texts: Vec<String> = texts.map(json::text_of).collect();
            let bytes = texts.iter().map(|text| text.len() + delimiter.len()).sum();
            sizes::check_string("the result of apoc.text.join()", bytes)?;
            Ok(texts.join(delimiter).into())
        },
    ),
    on(
        "apoc.text.split",
        (2, 3),
        "apoc.text.split(text :: STRING, regex :: STRING, limit = 0 :: INTEGER) :: LIST<STRING>",
        "The pieces of a string between the finds of a pattern; at most limit, if it is positive.",
        |args, _| {
            let name = "apoc.text.split()";
            let (text, regex) = (args::text(name, &args[0])?, compiled(name, &args[1])?);
            split(text, &regex, int_or(name, args.get(2), 0)?)
        },
    ),
    on(
        "apoc.text.replace",
        (3, 3),
        "apoc.text.replace(text :: STRING, regex :: STRING, replacement :: STRING) :: STRING",
        "The string with each find of a pattern replaced.",
        |args, _| replace("apoc.text.replace()", args),
    ),
    on(
        "apoc.text.regreplace",
        (3, 3),
        "apoc.text.regreplace(text :: STRING, regex :: STRING, replacement :: STRING) :: STRING",
        "The string with each find of a pattern replaced.",
        |args, _| replace("apoc.text.regreplace()", args),
    ),
    on(
        "apoc.text.regexGroups",
        (2, 2),
        "apoc.text.regexGroups(text :: STRING, regex :: STRING) :: LIST<LIST<STRING>>",
        "The groups of each find of a pattern, all of the find first.",
        |args, _| {
            let name = "apoc.text.regexGroups()";
            if args.iter().any(Value::is_null) {
                return Ok(Value::list::<Value>([]));
            }
            let (text, regex) = (args::text(name, &args[0])?, compiled(name, &args[1])?);
            let mut found = Vec::new();
            for captures in regex.captures_iter(text) {
                watch::work(1)?;
                let group = |at| captures.get_group(at).map(|span| &text[span.range()]);
                found.push(Value::list((0..captures.group_len()).map(group)));
            }
            Ok(Value::list(found))
        },
    )
    .takes_null(),
    on(
        "apoc.text.indexOf",
        (2, 4),
        "apoc.text.indexOf(text :: STRING, lookup :: STRING, from = 0 :: INTEGER, to = -1 :: \
         INTEGER) :: INTEGER",
        "The first position of a string in another, or -1.",
        |args, _| {
            if args[0].is_null() {
                return Ok(Value::Null);
            }
            if args[1].is_null() {
                return Ok(Value::Int(-1));
            }
            let found = indexes("apoc.text.indexOf()", args, true)?;
            Ok(Value::Int(found.first().copied().unwrap_or(-1)))
        },
    )
    .takes_null(),
    on(
        "apoc.text.indexesOf",
        (2, 4),
        "apoc.text.indexesOf(text :: STRING, lookup :: STRING, from = 0 :: INTEGER, to = -1 :: \
         INTEGER) :: LIST<INTEGER>",
        "All positions of a string in another.",
        |args, _| Ok(Value::list(indexes("apoc.text.indexesOf()", args, false)?)),
    ),
    on(
        "apoc.text.capitalize",
        (1, 1),
        "apoc.text.capitalize(text :: STRING) :: STRING",
        "The string with its first letter in upper case.",
        |args, _| Ok(with_first(args::text("apoc.text.capitalize()", &args[0])?, true).into()),
    ),
    on(
        "apoc.text.decapitalize",
        (1, 1),
        "apoc.text.decapitalize(text :: STRING) :: STRING",
        "The string with its first letter in lower case.",
        |args, _| Ok(with_first(args::text("apoc.text.decapitalize()", &args[0])?, false).into()),
    ),
    on(
        "apoc.text.capitalizeAll",
        (1, 1),
        "apoc.text.capitalizeAll(text :: STRING) :: STRING",
        "The string with the first letter of each word in upper case.",
        |args, _| {
            let text = args::text("apoc.text.capitalizeAll()", &args[0])?;
            let words: Vec<String> = text.split(' ').map(|word| with_first(word, true)).collect();
            Ok(words.join(" ").into())
        },
    ),
    on(
        "apoc.text.camelCase",
        (1, 1),
        "apoc.text.camelCase(text :: STRING) :: STRING",
        "The words of a string as `camelCase`.",
        |args, _| {
            let all = upper_camel(args::text("apoc.text.camelCase()", &args[0])?);
            Ok(with_first(&all, false).into())
        },
    ),
    on(
        "apoc.text.upperCamelCase",
        (1, 1),
        "apoc.text.upperCamelCase(text :: STRING) :: STRING",
        "The words of a string as `UpperCamelCase`.",
        |args, _| Ok(upper_camel(args::text("apoc.text.upperCamelCase()", &args[0])?).into()),
    ),
    on(
        "apoc.text.snakeCase",
        (1, 1),
        "apoc.text.snakeCase(text :: STRING) :: STRING",
        "The words of a string as `snake-case`.",
        |args, _| Ok(snake(args::text("apoc.text.snakeCase()", &args[0])?).into()),
    ),
    on(
        "apoc.text.clean",
        (1, 1),
        "apoc.text.clean(text :: STRING) :: STRING",
        "The letters from a to z and digits of a string, in lower case and without accents.",
        |args, _| Ok(clean(args::text("apoc.text.clean()", &args[0])?).into()),
    ),
    on(
        "apoc.text.compareCleaned",
        (2, 2),
        "apoc.text.compareCleaned(text1 :: STRING, text2 :: STRING) :: BOOLEAN",
        "True if the letters and digits of two strings are the same.",
        |args, _| {
            let name = "apoc.text.compareCleaned()";
            if args.iter().any(Value::is_null) {
                return Ok(false.into());
            }
            let of = |at: usize| args::text(name, &args[at]).map(clean);
            Ok((of(0)? == of(1)?).into())
        },
    )
    .takes_null(),
    on(
        "apoc.text.distance",
        (2, 2),
        "apoc.text.distance(text1 :: STRING, text2 :: STRING) :: INTEGER",
        "The Levenshtein distance of two strings.",
        |args, _| Ok(Value::Int(distance("apoc.text.distance()", args)?.0 as i64)),
    ),
    on(
        "apoc.text.levenshteinDistance",
        (2, 2),
        "apoc.text.levenshteinDistance(text1 :: STRING, text2 :: STRING) :: INTEGER",
        "The Levenshtein distance of two strings.",
        |args, _| Ok(Value::Int(distance("apoc.text.levenshteinDistance()", args)?.0 as i64)),
    ),
    on(
        "apoc.text.levenshteinSimilarity",
        (2, 2),
        "apoc.text.levenshteinSimilarity(text1 :: STRING, text2 :: STRING) :: FLOAT",
        "How alike two strings are by their Levenshtein distance, from 0 to 1.",
        |args, _| {
            let (distance, longest) = distance("apoc.text.levenshteinSimilarity()", args)?;
            Ok((1.0 - distance as f64 / longest.max(1) as f64).into())
        },
    ),
    on(
        "apoc.text.sorensenDiceSimilarity",
        (2, 3),
        "apoc.text.sorensenDiceSimilarity(text1 :: STRING, text2 :: STRING, languageTag = 'en' \
         :: STRING) :: FLOAT",
        "How alike two strings are by the pairs of letters in their words, from 0 to 1.",
        |args, _| {
            let name = "apoc.text.sorensenDiceSimilarity()";
            Ok(dice(args::text(name, &args[0])?, args::text(name, &args[1])?)?.into())
        },
    ),
    on(
        "apoc.text.format",
        (2, 3),
        "apoc.text.format(text :: STRING, params :: LIST<ANY>, language = 'en' :: STRING) :: \
         STRING",
        "The string with values in the places of %s, %d, %f, %.2f and %b; %% is a percent sign.",
        |args, _| {
            let text = args::text("apoc.text.format()", &args[0])?;
            list_or_empty("apoc.text.format()", args.get(1))?;
            Ok(super::format::formatted("apoc.text.format()", text, &args[1])?.into())
        },
    ),
    on(
        "apoc.text.repeat",
        (2, 2),
        "apoc.text.repeat(item :: STRING, count :: INTEGER) :: STRING",
        "The string so many times.",
        |args, _| {
            let name = "apoc.text.repeat()";
            let (text, count) = (args::text(name, &args[0])?, args::count(name, &args[1])?);
            sizes::check_string(
                "the result of apoc.text.repeat()",
                text.len().saturating_mul(count),
            )?;
            Ok(text.repeat(count).into())
        },
    ),
    on(
        "apoc.text.slug",
        (1, 2),
        "apoc.text.slug(text :: STRING, delimiter = '-' :: STRING) :: STRING",
        "The words of a string with a delimiter between them.",
        |args, _| {
            let name = "apoc.text.slug()";
            let delimiter = text_or(name, args.get(1), "-")?;
            let text = args::text(name, &args[0])?;
            let kept = |c: char| c.is_alphabetic() || c.is_ascii_digit() || c == '_';
            let (mut slug, mut between) = (String::new(), false);
            for c in text.trim().chars() {
                if kept(c) {
                    slug.push(c);
                } else if !between {
                    slug.push_str(delimiter);
                }
                between = !kept(c);
            }
            sizes::check_string("the result of apoc.text.slug()", slug.len())?;
            Ok(slug.into())
        },
    ),
    on(
        "apoc.text.urlencode",
        (1, 1),
        "apoc.text.urlencode(text :: STRING) :: STRING",
        "The string as a part of a web address.",
        |args, _| {
            let text = args::text("apoc.text.urlencode()", &args[0])?;
            sizes::check_string("the result of apoc.text.urlencode()", 3 * text.len())?;
            let mut out = String::new();
            for byte in text.bytes() {
                match byte {
                    b' ' => out.push('+'),
                    b'-' | b'_' | b'.' | b'*' => out.push(char::from(byte)),
                    byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
                    byte => out.push_str(&format!("%{byte:02X}")),
                }
            }
            Ok(out.into())
        },
    ),
    on(
        "apoc.text.urldecode",
        (1, 1),
        "apoc.text.urldecode(text :: STRING) :: STRING",
        "The string that a part of a web address stands for.",
        |args, _| url_decoded(args::text("apoc.text.urldecode()", &args[0])?),
    ),
    on(
        "apoc.text.toUpperCase",
        (1, 1),
        "apoc.text.toUpperCase(text :: STRING) :: STRING",
        "The words of a string as `UPPER_CASE`.",
        |args, _| {
            let words = words(args::text("apoc.text.toUpperCase()", &args[0])?);
            Ok(words.join("_").to_uppercase().into())
        },
    ),
    on(
        "apoc.text.fuzzyMatch",
        (2, 2),
        "apoc.text.fuzzyMatch(text1 :: STRING, text2 :: STRING) :: BOOLEAN",
        "True if few letters differ: none below 3 letters, one below 5, else a third.",
        |args, _| {
            let name = "apoc.text.fuzzyMatch()";
            let (first, second) = (args::text(name, &args[0])?, args::text(name, &args[1])?);
            let length = first.chars().count();
            let most = match length {
                0..=2 => 0,
                3..=4 => 1,
                length => length / 3,
            };
            let folded = [Value::from(first.to_lowercase()), second.to_lowercase().into()];
            Ok((distance(name, &folded)?.0 <= most).into())
        },
    ),
];

/// A pattern to search with. What it costs is checked as that of `=~` is.
fn compiled(function: &str, pattern: &Value) -> Result<Regex, EvalError> {
    let pattern = args::text(function, pattern)?;
    CompiledRegex::new(pattern)?;
    Regex::new(pattern).map_err(|e| EvalError::argument_value(format!("invalid pattern: {e}")))
}

fn split(text: &str, regex: &Regex, limit: i64) -> Found {
    let mut pieces: Vec<&str> = Vec::new();
    let mut from = 0;
    for found in regex.find_iter(text) {
        watch::work(1)?;
        if limit > 0 && pieces.len() as i64 >= limit - 1 {
            break;
        }
        // As Java has it: nothing before a find without characters at the start.
        if found.is_empty() && (found.start() == 0 || found.start() == text.len()) {
            continue;
        }
        pieces.push(&text[from..found.start()]);
        from = found.end();
    }
    pieces.push(&text[from..]);
    while limit == 0 && pieces.len() > 1 && pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    Ok(Value::list(pieces))
}

fn replace(function: &str, arguments: &[Value]) -> Found {
    let (text, regex) = (args::text(function, &arguments[0])?, compiled(function, &arguments[1])?);
    let pieces = Piece::all(function, args::text(function, &arguments[2])?, &regex)?;
    let (mut out, mut from) = (String::new(), 0);
    for captures in regex.captures_iter(text) {
        watch::work(1)?;
        let Some(found) = captures.get_match() else { continue };
        out.push_str(&text[from..found.start()]);
        for piece in &pieces {
            match piece {
                Piece::Char(c) => out.push(*c),
                Piece::Group(group) => {
                    let span = captures.get_group(*group);
                    out.push_str(span.map_or("", |span| &text[span.range()]));
                }
            }
        }
        from = found.end();
        sizes::check_string("the result of a replacement", out.len())?;
    }
    out.push_str(&text[from..]);
    Ok(out.into())
}

/// A part of a replacement.
enum Piece {
    Char(char),
    /// The text that a group of the pattern has found.
    Group(usize),
}

impl Piece {
    /// The parts of a replacement as Java reads it: `$1`, `${name}`, and a backslash before what is
    /// to be taken as it is.
    fn all(function: &str, replacement: &str, regex: &Regex) -> Result<Vec<Self>, EvalError> {
        let groups = regex.group_info();
        let none = |group: &str| {
            let message = format!("{function}: the pattern has no group {group}");
            EvalError::argument_value(message)
        };
        let mut pieces = Vec::new();
        let mut rest = replacement;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\\' => {
                    let next = rest.chars().next();
                    pieces.push(Self::Char(next.unwrap_or(c)));
                    rest = &rest[next.map_or(0, char::len_utf8)..];
                }
                '$' if rest.starts_with('{') => {
                    let (name, behind) = rest[1..].split_once('}').ok_or_else(|| none(rest))?;
                    let group = groups.to_index(PatternID::ZERO, name);
                    pieces.push(Self::Group(group.ok_or_else(|| none(name))?));
                    rest = behind;
                }
                '$' => {
                    // As many digits as name a group.
                    let digits = rest.bytes().take_while(u8::is_ascii_digit).count().min(4);
                    let known = |end: &usize| {
                        let number = rest[..*end].parse::<usize>();
                        number.is_ok_and(|number| number < groups.group_len(PatternID::ZERO))
                    };
                    let Some(end) = (1..=digits).rev().find(known) else {
                        return Err(none(&rest[..digits]));
                    };
                    pieces.push(Self::Group(rest[..end].parse().unwrap_or_default()));
                    rest = &rest[end..];
                }
                c => pieces.push(Self::Char(c)),
            }
        }
        Ok(pieces)
    }
}

/// Positions, in characters, of a text in another between two positions.
fn indexes(function: &str, arguments: &[Value], only_first: bool) -> Result<Vec<i64>, EvalError> {
    let (text, sought) =
        (args::text(function, &arguments[0])?, args::text(function, &arguments[1])?);
    let from = int_or(function, arguments.get(2), 0)?.max(0);
    let to = match int_or(function, arguments.get(3), -1)? {
        to if to < 0 => i64::MAX,
        to => to,
    };
    let length = sought.chars().count() as i64;
    let mut found = Vec::new();
    for (at, (byte, _)) in (0_i64..).zip(text.char_indices()) {
        watch::work(1)?;
        if at >= from && at.saturating_add(length) <= to && text[byte..].starts_with(sought) {
            found.push(at);
            if only_first {
                break;
            }
        }
    }
    Ok(found)
}

fn with_first(text: &str, upper: bool) -> String {
    let mut chars = text.chars();
    match chars.next() {
        None => String::new(),
        Some(c) if upper => c.to_uppercase().chain(chars).collect(),
        Some(c) => c.to_lowercase().chain(chars).collect(),
    }
}

/// The words of a text: between other characters than letters and digits, and before an upper case
/// letter behind a lower case one.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut lower) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        if !c.is_alphanumeric() || (lower && c.is_uppercase()) {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.push(c);
        }
        lower = c.is_lowercase() || c.is_numeric();
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// The words of a text, between other characters than letters and digits.
fn upper_camel(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.map(|word| with_first(&word.to_lowercase(), true)).collect()
}

/// The words of a text as APOC divides it: before each character that is no lower case letter or
/// digit, unless all letters are upper case.
fn snake(text: &str) -> String {
    let is_lower = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let text = match !text.is_empty() && text.chars().all(is_upper) {
        true => text.to_lowercase().replace('_', " "),
        false => text.to_owned(),
    };
    let mut out = String::new();
    for c in text.chars() {
        if !is_lower(c) && !out.is_empty() && !out.ends_with('-') {
            out.push('-');
        }
        out.extend(c.to_lowercase().filter(|c| is_lower(*c)));
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

fn clean(text: &str) -> String {
    let mut spelled = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'ä' => spelled.push_str("ae"),
            'ö' => spelled.push_str("oe"),
            'ü' => spelled.push_str("ue"),
            'Ä' => spelled.push_str("Ae"),
            'Ö' => spelled.push_str("Oe"),
            'Ü' => spelled.push_str("Ue"),
            'ß' => spelled.push_str("ss"),
            c => spelled.push(c),
        }
    }
    // Accents are characters of their own then.
    let letters = spelled.nfd().filter(char::is_ascii_alphanumeric);
    letters.map(|c| c.to_ascii_lowercase()).collect()
}

/// The Levenshtein distance of two texts, and the length of the longer one.
fn distance(function: &str, arguments: &[Value]) -> Result<(usize, usize), EvalError> {
    let chars = |at: usize| args::text(function, &arguments[at]).map(|text| text.chars().collect());
    let (a, b): (Vec<char>, Vec<char>) = (chars(0)?, chars(1)?);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, c) in a.iter().enumerate() {
        watch::work(1 + b.len() / 64)?;
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, d) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(c != d);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    Ok((row[b.len()], a.len().max(b.len())))
}

fn dice(a: &str, b: &str) -> Result<f64, EvalError> {
    let pairs = |text: &str| {
        let mut pairs = Vec::new();
        for word in text.split_whitespace() {
            let letters: Vec<char> = word.to_lowercase().chars().collect();
            pairs.extend(letters.windows(2).map(|pair| (pair[0], pair[1])));
        }
        pairs.sort_unstable();
        pairs
    };
    let (a, b) = (pairs(a), pairs(b));
    watch::work((a.len() + b.len()) / 16)?;
    let (mut i, mut j, mut both) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        match a[i].cmp(&b[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => (i, j, both) = (i + 1, j + 1, both + 1),
        }
    }
    let all = a.len() + b.len();
    Ok(if all == 0 { 0.0 } else { f64::from(2 * both) / all as f64 })
}

fn url_decoded(text: &str) -> Found {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, behind @ ..] = rest {
        rest = behind;
        match first {
            b'+' => bytes.push(b' '),
            b'%' => {
                let hex = behind.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
                let Some(byte) = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) else {
                    let message = "apoc.text.urldecode() expects two hexadecimal digits behind %";
                    return Err(EvalError::argument_value(message));
                };
                bytes.push(byte);
                rest = &behind[2..];
            }
            byte => bytes.push(*byte),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}
