//! Patterns of terms: wildcards, edits, regular expressions.

use regex_automata::meta;
use regex_automata::util::syntax;

use crate::query::Piece;

/// Greatest size of a regular expression, in bytes of its automaton.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// A term with `*` and `?`.
pub(super) struct Wildcard(Vec<Piece>);

impl Wildcard {
    pub(super) fn new(pieces: impl Iterator<Item = Piece>) -> Self {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in pieces {
            // Stars in a row are one.
            if piece != Piece::Any || joined.last() != Some(&Piece::Any) {
                joined.push(piece);
            }
        }
        Self(joined)
    }

    /// The letters before the first wildcard.
    pub(super) fn beginning(&self) -> &str {
        match self.0.first() {
            Some(Piece::Text(text)) => text,
            _ => "",
        }
    }

    /// True if every term is matched.
    pub(super) fn is_anything(&self) -> bool {
        self.0[..] == [Piece::Any]
    }

    /// True if all of a term is matched. *Cost*: at most pieces times letters.
    pub(super) fn matches(&self, term: &str) -> bool {
        let pieces = &self.0[..];
        let (mut at, mut rest) = (0, term);
        // The last star, and what was left when it was met, one letter more each time.
        let mut star: Option<(usize, &str)> = None;
        loop {
            let step = match pieces.get(at) {
                Some(Piece::Any) => {
                    star = Some((at, rest));
                    at += 1;
                    continue;
                }
                Some(Piece::Text(text)) => rest.strip_prefix(text.as_str()),
                Some(Piece::One) => {
                    let mut letters = rest.chars();
                    letters.next().map(|_| letters.as_str())
                }
                None if rest.is_empty() => return true,
                None => None,
            };
            if let Some(left) = step {
                rest = left;
                at += 1;
                continue;
            }
            let Some((place, left)) = &mut star else { return false };
            let mut letters = left.chars();
            if letters.next().is_none() {
                return false;
            }
            *left = letters.as_str();
            rest = left;
            at = *place + 1;
        }
    }
}

/// How many letters are left out, put in, replaced, or exchanged with the next one between two
/// terms; `None` if they are more than allowed.
pub(super) fn edits(sought: &[char], term: &str, allowed: usize) -> Option<usize> {
    // Each letter has four bytes at most.
    if term.len() > 4 * (sought.len() + allowed) {
        return None;
    }
    let found: Vec<char> = term.chars().collect();
    if sought.len().abs_diff(found.len()) > allowed {
        return None;
    }
    let width = found.len() + 1;
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..width).collect();
    for (i, a) in sought.iter().enumerate() {
        let mut row = Vec::with_capacity(width);
        row.push(i + 1);
        for (j, b) in found.iter().enumerate() {
            let mut least = (above[j] + usize::from(a != b)).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == found[j - 1] && sought[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            row.push(least);
        }
        if row.iter().all(|edits| *edits > allowed) {
            return None;
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied().filter(|edits| *edits <= allowed)
}

/// A regular expression of whole terms.
pub(super) struct Regex(meta::Regex);

impl Regex {
    /// Reads Lucene's syntax: `.` `?` `*` `+` `{n,m}` `|` `()` `[]` `\` as usual, `@` for any text,
    /// `"..."` for itself; `^` and `$` are letters.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let mut pattern = String::from("\\A(?:");
        let mut chars = text.chars();
        let mut in_class = false;
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some(c) if c.is_ascii_alphanumeric() && !"dDwWsS".contains(c) => {
                        pattern.push(c)
                    }
                    Some(c) if c.is_ascii() => {
                        pattern.push('\\');
                        pattern.push(c);
                    }
                    Some(c) => pattern.push(c),
                    None => return Err(format!("the regular expression `{text}` ends in a `\\`")),
                },
                '[' if !in_class => {
                    in_class = true;
                    pattern.push('[');
                }
                ']' if in_class => {
                    in_class = false;
                    pattern.push(']');
                }
                '[' | '&' | '~' if in_class => {
                    pattern.push('\\');
                    pattern.push(c);
                }
                c if in_class => pattern.push(c),
                '@' => pattern.push_str("(?s:.*)"),
                '"' => {
                    let literal: String = chars.by_ref().take_while(|c| *c != '"').collect();
                    literal.chars().for_each(|c| push_literal(c, &mut pattern));
                }
                '&' | '~' | '<' | '#' => {
                    return Err(format!(
                        "`{c}` in the regular expression `{text}` is not supported: write `\\{c}` \
                         for the character"
                    ));
                }
                '^' | '$' => push_literal(c, &mut pattern),
                c => pattern.push(c),
            }
        }
        pattern.push_str(")\\z");
        let built = meta::Builder::new()
            .configure(meta::Config::new().nfa_size_limit(Some(REGEX_BYTES_MAX)))
            .syntax(syntax::Config::new().nest_limit(50).dot_matches_new_line(true))
            .build(&pattern);
        built.map(Self).map_err(|_| format!("`/{text}/` is no regular expression, or too large"))
    }

    pub(super) fn matches(&self, term: &str) -> bool {
        self.0.is_match(term)
    }
}

fn push_literal(c: char, pattern: &mut String) {
    if c.is_ascii_punctuation() {
        pattern.push('\\');
    }
    pattern.push(c);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_whole_terms() {
        let (one, any) = (|| Piece::One, || Piece::Any);
        let text = |text: &str| Piece::Text(text.to_owned());
        let cases = [
            (vec![any()], "", true),
            (vec![text("ab"), any()], "ab", true),
            (vec![text("ab"), any()], "xab", false),
            (vec![any(), text("ab")], "abcab", true),
            (vec![any(), text("ab"), any(), text("c")], "xxabyabzc", true),
            (vec![text("a"), one(), text("c")], "aßc", true),
            (vec![one(), one()], "a", false),
            (vec![any(), one()], "", false),
            (vec![any(), text("aab")], &"a".repeat(50), false),
        ];
        for (pieces, term, expected) in cases {
            assert_eq!(Wildcard::new(pieces.iter().cloned()).matches(term), expected, "{term}");
        }
    }

    #[test]
    fn edits_are_counted() {
        let cases = [
            ("house", "house", Some(0)),
            ("house", "mouse", Some(1)),
            ("house", "hosue", Some(1)),
            ("house", "hous", Some(1)),
            ("house", "houses", Some(1)),
            ("house", "horst", Some(2)),
            ("house", "horse!!", None),
            ("ab", "ba", Some(1)),
            ("a", "ü", Some(1)),
            ("kitten", "sitten", Some(1)),
            ("abcd", "badc", Some(2)),
            ("abcdef", "a", None),
        ];
        for (sought, term, expected) in cases {
            let sought: Vec<char> = sought.chars().collect();
            assert_eq!(edits(&sought, term, 2), expected, "{term}");
        }
    }

    #[test]
    fn regular_expressions_are_lucenes() {
        let cases = [
            ("[mb]oat", "boat", true),
            ("[mb]oat", "boats", false),
            ("a@", "anything", true),
            ("a|b", "b", true),
            ("\"a.b\"", "a.b", true),
            ("\"a.b\"", "axb", false),
            ("^a$", "^a$", true),
            ("a{2,3}", "aaa", true),
            ("\\d+", "42", true),
            ("[^a]", "b", true),
        ];
        for (pattern, term, expected) in cases {
            assert_eq!(Regex::new(pattern).unwrap().matches(term), expected, "{pattern} {term}");
        }
        for wrong in ["(", "a{1000000}", "[", "a\\", "~a", &"(".repeat(10_000)] {
            assert!(Regex::new(wrong).is_err(), "{wrong}");
        }
    }
}
