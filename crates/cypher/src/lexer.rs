//! From text to tokens.
//!
//! One pass over the bytes, then one over the tokens to pair the brackets: with that the parser
//! tells a pattern from an expression in parentheses by looking, never by trying.
//!
//! The lexer does not judge numbers and does not resolve escapes; `literal.rs` does, when the
//! parser wants the value.

use std::borrow::Cow;

use crate::diagnostic::{Detail, Diagnostic};
use crate::parser::ASKED_EVERY;
use crate::span::Span;
use crate::token::{Keyword, Token, TokenKind};

/// A text cut into tokens.
#[derive(Debug)]
pub(crate) struct Lexed {
    /// The tokens; the last one, and only it, is [`TokenKind::End`].
    pub(crate) tokens: Vec<Token>,
    /// For each token that opens a bracket, the index of the one that closes it, or [`UNCLOSED`].
    pub(crate) closes: Vec<u32>,
    /// What is wrong, in the order of the text. Each error covers a token of kind `Error`.
    pub(crate) errors: Vec<Diagnostic>,
}

/// Stands for the closing token of a bracket that is never closed.
pub(crate) const UNCLOSED: u32 = u32::MAX;

/// Cuts `source` into tokens, as far as `goes_on` says so. A text of 4 GiB or more is one error.
pub(crate) fn lex(source: &str, goes_on: &dyn Fn() -> bool) -> Lexed {
    // One token per four bytes is what queries have.
    let mut lexer = Lexer {
        bytes: source.as_bytes(),
        source,
        at: 0,
        tokens: Vec::with_capacity(source.len().min(1 << 20) / 4 + 1),
        errors: Vec::new(),
    };
    if u32::try_from(source.len()).is_err() {
        let message = "a text has at most 4294967295 bytes";
        lexer.errors.push(Diagnostic::syntax(Detail::UnexpectedSyntax, Span::new(0, 0), message));
        lexer.tokens.push(Token { kind: TokenKind::Error, span: Span::new(0, 0) });
        lexer.at = 0;
    } else {
        let mut asked = 0;
        while lexer.token() {
            if lexer.tokens.len() >= asked + ASKED_EVERY {
                asked = lexer.tokens.len();
                if !goes_on() {
                    break;
                }
            }
        }
    }
    let end = lexer.at;
    lexer.push(TokenKind::End, end);
    let closes = pair(&lexer.tokens);
    Lexed { tokens: lexer.tokens, closes, errors: lexer.errors }
}

/// Length of an escape.
const ESCAPE_BYTES: usize = 6;
/// Characters that are `-` in the arrow of a relationship: hyphens and dashes of all widths.
const DASHES: [char; 10] = [
    '\u{ad}', '\u{2010}', '\u{2011}', '\u{2012}', '\u{2013}', '\u{2014}', '\u{2015}', '\u{fe58}',
    '\u{fe63}', '\u{ff0d}',
];
/// Characters that are `<` there.
const LEFT_HEADS: [char; 4] = ['\u{27e8}', '\u{3008}', '\u{fe64}', '\u{ff1c}'];
/// Characters that are `>` there.
const RIGHT_HEADS: [char; 4] = ['\u{27e9}', '\u{3009}', '\u{fe65}', '\u{ff1e}'];

/// The character that an escape at the beginning of a text stands for, and the bytes it takes:
/// names may be written with `\u0041`.
fn escaped_char(text: &str) -> Option<(char, usize)> {
    let digits = text.strip_prefix("\\u").or_else(|| text.strip_prefix("\\U"))?.get(..4)?;
    let number = u32::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))?;
    char::from_u32(number).map(|char| (char, ESCAPE_BYTES))
}

/// A name with its escapes replaced.
pub(crate) fn unescaped(word: &str) -> Cow<'_, str> {
    if !word.contains('\\') {
        return Cow::Borrowed(word);
    }
    let (mut text, mut rest) = (String::with_capacity(word.len()), word);
    while let Some(first) = rest.chars().next() {
        let (char, bytes) = escaped_char(rest).unwrap_or((first, first.len_utf8()));
        text.push(char);
        rest = &rest[bytes..];
    }
    Cow::Owned(text)
}

struct Lexer<'a> {
    bytes: &'a [u8],
    source: &'a str,
    /// The next byte.
    at: usize,
    tokens: Vec<Token>,
    errors: Vec<Diagnostic>,
}

impl Lexer<'_> {
    /// Reads a token, or blanks and comments. False at the end of the text.
    fn token(&mut self) -> bool {
        let start = self.at;
        let Some(first) = self.peek(0) else { return false };
        match first {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c | 0x1c..=0x1f => self.at += 1,
            b'/' if self.peek(1) == Some(b'/') => self.line_comment(),
            b'/' if self.peek(1) == Some(b'*') => self.block_comment(),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => self.word(),
            b'0'..=b'9' => self.number(),
            b'.' if self.digit(1) && !self.follows_dot() => self.number(),
            b'\'' | b'"' => self.quoted(first, TokenKind::String),
            b'`' => self.quoted(first, TokenKind::Quoted),
            b'\\'
                if escaped_char(&self.source[start..])
                    .is_some_and(|(char, _)| char.is_alphabetic() || char == '_') =>
            {
                self.word();
            }
            b'\\'
                if escaped_char(&self.source[start..])
                    .is_some_and(|(char, _)| char.is_whitespace()) =>
            {
                self.at += ESCAPE_BYTES;
            }
            0x80.. => self.beyond_ascii(),
            _ => match punctuation(first, self.peek(1)) {
                Some((kind, bytes)) => {
                    self.at += bytes;
                    self.push(kind, start);
                }
                None => {
                    self.at += 1;
                    let message = format!("'{}' has no meaning here", first.escape_ascii());
                    self.error(Detail::UnexpectedSyntax, start, message);
                }
            },
        }
        true
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn digit(&self, ahead: usize) -> bool {
        self.peek(ahead).is_some_and(|byte| byte.is_ascii_digit())
    }

    /// Whether the byte before is a dot: in `1...5` the last dot is none of a fraction.
    fn follows_dot(&self) -> bool {
        self.at > 0 && self.bytes[self.at - 1] == b'.'
    }

    /// The span from `start` to here. Offsets fit: `lex` has looked at the length.
    fn span(&self, start: usize) -> Span {
        Span::new(start as u32, self.at as u32)
    }

    fn push(&mut self, kind: TokenKind, start: usize) {
        let span = self.span(start);
        self.tokens.push(Token { kind, span });
    }

    fn error(&mut self, detail: Detail, start: usize, message: impl Into<String>) {
        let span = self.span(start);
        self.errors.push(Diagnostic::syntax(detail, span, message));
        self.push(TokenKind::Error, start);
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|byte| byte != b'\n') {
            self.at += 1;
        }
    }

    fn block_comment(&mut self) {
        let start = self.at;
        self.at += 2;
        while self.at < self.bytes.len() {
            if self.bytes[self.at..].starts_with(b"*/") {
                self.at += 2;
                return;
            }
            self.at += 1;
        }
        let span = Span::new(start as u32, start as u32 + 2);
        let message = "this comment has no end";
        let diagnostic = Diagnostic::syntax(Detail::UnexpectedSyntax, span, message)
            .with_help("close it with '*/'");
        self.errors.push(diagnostic);
        self.push(TokenKind::Error, start);
    }

    /// A name, in whatever alphabet.
    fn word(&mut self) {
        let start = self.at;
        self.skip_word();
        let kind = Keyword::of(&unescaped(&self.source[start..self.at]));
        self.push(kind.map_or(TokenKind::Word, TokenKind::Keyword), start);
    }

    fn skip_word(&mut self) {
        while let Some(byte) = self.peek(0) {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'0'..=b'9' | b'$' => self.at += 1,
                b'\\'
                    if let Some((char, bytes)) = escaped_char(&self.source[self.at..])
                        && (char.is_alphanumeric() || matches!(char, '_' | '$')) =>
                {
                    self.at += bytes;
                }
                0x80.. => match self.char() {
                    Some(char) if char.is_alphanumeric() => self.at += char.len_utf8(),
                    _ => break,
                },
                _ => break,
            }
        }
    }

    fn char(&self) -> Option<char> {
        self.source[self.at..].chars().next()
    }

    /// The part of an arrow that a character stands for, which was just read. Texts that went
    /// through a word processor have such dashes and brackets; they mean something between the
    /// elements of a pattern only, as in Neo4j.
    fn arrow_part(&self, char: char) -> Option<TokenKind> {
        use TokenKind as T;
        let before = self.tokens.last().map(|token| token.kind);
        let next = self.source[self.at..].chars().find(|char| !char.is_whitespace())?;
        if DASHES.contains(&char) {
            let after_element = matches!(
                before?,
                T::RightParen
                    | T::RightBracket
                    | T::RightBrace
                    | T::Plus
                    | T::Star
                    | T::Less
                    | T::Minus
            );
            let before_element = matches!(next, '[' | '(' | '-' | '>')
                || DASHES.contains(&next)
                || RIGHT_HEADS.contains(&next);
            return (after_element && before_element).then_some(T::Minus);
        }
        let is_left = LEFT_HEADS.contains(&char) && (next == '-' || DASHES.contains(&next));
        let is_right = RIGHT_HEADS.contains(&char) && before == Some(T::Minus);
        is_left.then_some(T::Less).or_else(|| is_right.then_some(T::Greater))
    }

    fn beyond_ascii(&mut self) {
        let start = self.at;
        let Some(char) = self.char() else { return };
        self.at += char.len_utf8();
        if char.is_alphabetic() {
            return self.restart_word(start);
        }
        if let Some(kind) = self.arrow_part(char) {
            return self.push(kind, start);
        }
        // The byte order mark stands at the beginning of files.
        if char.is_whitespace() || char == '\u{feff}' {
            return;
        }
        let message = format!("the character '{}' has no meaning here", char.escape_debug());
        self.error(Detail::InvalidUnicodeCharacter, start, message);
        let help = match char {
            '\u{2212}' => "write '-'",
            dash if DASHES.contains(&dash) => "write '-'",
            '\u{2018}' | '\u{2019}' | '\u{201c}' | '\u{201d}' => "write straight quotes: ' or \"",
            _ => "names with such characters stand in backticks",
        };
        if let Some(error) = self.errors.last_mut() {
            error.help = Some(help.to_owned());
        }
    }

    fn restart_word(&mut self, start: usize) {
        self.at = start;
        self.word();
    }

    /// Digits with all that clings to them; a fraction if a digit follows the dot, or if the
    /// number begins with it.
    fn number(&mut self) {
        let start = self.at;
        let mut kind = TokenKind::Integer;
        let prefixed =
            self.peek(0) == Some(b'0') && matches!(self.peek(1), Some(b'x' | b'X' | b'o' | b'O'));
        if prefixed {
            self.skip_word();
            let digits = &self.bytes[start + 2..self.at];
            let radix = if self.bytes[start + 1].eq_ignore_ascii_case(&b'x') { 16 } else { 8 };
            if !is_digits(digits, radix) {
                kind = TokenKind::BadNumber;
            }
            return self.push(kind, start);
        }
        let mut good = true;
        if self.peek(0) != Some(b'.') {
            good &= self.digits();
        }
        if self.peek(0) == Some(b'.') && self.digit(1) {
            kind = TokenKind::Float;
            self.at += 1;
            good &= self.digits();
        }
        if matches!(self.peek(0), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(self.peek(1), Some(b'+' | b'-')));
            if self.digit(1 + sign) {
                kind = TokenKind::Float;
                self.at += 1 + sign;
                good &= self.digits();
            }
        }
        let end = self.at;
        self.skip_word();
        if self.at > end || !good {
            kind = TokenKind::BadNumber;
        }
        self.push(kind, start);
    }

    /// Skips digits and the underscores between them. False if one is not between two digits.
    fn digits(&mut self) -> bool {
        let start = self.at;
        while self.digit(0) || self.peek(0) == Some(b'_') {
            self.at += 1;
        }
        is_digits(&self.bytes[start..self.at], 10)
    }

    /// A string, in which a backslash hides the quote after it, or a name in backticks, in which
    /// a doubled backtick is one.
    fn quoted(&mut self, quote: u8, kind: TokenKind) {
        let start = self.at;
        self.at += 1;
        while let Some(byte) = self.peek(0) {
            self.at += 1;
            if byte == b'\\' && kind == TokenKind::String && self.at < self.bytes.len() {
                self.at += 1;
            } else if byte == quote {
                if kind == TokenKind::Quoted && self.peek(0) == Some(quote) {
                    self.at += 1;
                    continue;
                }
                if kind == TokenKind::Quoted && self.at == start + 2 {
                    let message = "a name has at least one character";
                    return self.error(Detail::UnexpectedSyntax, start, message);
                }
                return self.push(kind, start);
            }
        }
        let (what, quote) = match kind {
            TokenKind::String => ("string", quote as char),
            _ => ("name", '`'),
        };
        let span = Span::new(start as u32, start as u32 + 1);
        let message = format!("this {what} has no end");
        let diagnostic = Diagnostic::syntax(Detail::UnexpectedSyntax, span, message)
            .with_help(format!("close it with {quote}"));
        self.errors.push(diagnostic);
        self.push(TokenKind::Error, start);
    }
}

/// Whether `bytes` are digits, with single underscores between some of them.
fn is_digits(bytes: &[u8], radix: u32) -> bool {
    let digit = |byte: &u8| char::from(*byte).is_digit(radix);
    bytes.first().is_some_and(digit)
        && bytes.last().is_some_and(digit)
        && bytes.iter().all(|byte| digit(byte) || *byte == b'_')
        && !bytes.windows(2).any(|pair| pair == b"__")
}

/// The token that begins with `first`, and its length.
fn punctuation(first: u8, second: Option<u8>) -> Option<(TokenKind, usize)> {
    use TokenKind as T;
    let two = match (first, second) {
        (b'.', Some(b'.')) => Some(T::DotDot),
        (b':', Some(b':')) => Some(T::ColonColon),
        (b'=', Some(b'~')) => Some(T::Matches),
        (b'<', Some(b'>')) | (b'!', Some(b'=')) => Some(T::NotEqual),
        (b'<', Some(b'=')) => Some(T::LessOrEqual),
        (b'>', Some(b'=')) => Some(T::GreaterOrEqual),
        (b'+', Some(b'=')) => Some(T::PlusEqual),
        (b'|', Some(b'|')) => Some(T::BarBar),
        _ => None,
    };
    if let Some(kind) = two {
        return Some((kind, 2));
    }
    let kind = match first {
        b'(' => T::LeftParen,
        b')' => T::RightParen,
        b'[' => T::LeftBracket,
        b']' => T::RightBracket,
        b'{' => T::LeftBrace,
        b'}' => T::RightBrace,
        b',' => T::Comma,
        b';' => T::Semicolon,
        b'.' => T::Dot,
        b':' => T::Colon,
        b'$' => T::Dollar,
        b'=' => T::Equal,
        b'<' => T::Less,
        b'>' => T::Greater,
        b'+' => T::Plus,
        b'-' => T::Minus,
        b'*' => T::Star,
        b'/' => T::Slash,
        b'%' => T::Percent,
        b'^' => T::Caret,
        b'|' => T::Bar,
        b'&' => T::Ampersand,
        b'!' => T::Exclamation,
        _ => return None,
    };
    Some((kind, 1))
}

/// Finds for each opening bracket what closes it. No pair spans a semicolon.
fn pair(tokens: &[Token]) -> Vec<u32> {
    let mut closes = vec![UNCLOSED; tokens.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let opens = match token.kind {
            TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace => {
                open.push(index);
                continue;
            }
            TokenKind::Semicolon => {
                open.clear();
                continue;
            }
            TokenKind::RightParen => TokenKind::LeftParen,
            TokenKind::RightBracket => TokenKind::LeftBracket,
            TokenKind::RightBrace => TokenKind::LeftBrace,
            _ => continue,
        };
        if open.last().is_some_and(|inside| tokens[*inside].kind == opens)
            && let Some(inside) = open.pop()
        {
            closes[inside] = index as u32;
        }
    }
    closes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(TokenKind, &str)> {
        let lexed = lex(source, &|| true);
        assert!(lexed.errors.is_empty(), "{:?}", lexed.errors);
        lexed.tokens.iter().map(|token| (token.kind, token.span.text(source))).collect()
    }

    #[test]
    fn numbers_end_where_they_must() {
        use TokenKind::{BadNumber, Dot, DotDot, Float, Integer, Word};
        for (source, expected) in [
            ("1", vec![(Integer, "1")]),
            ("1_000", vec![(Integer, "1_000")]),
            ("0x1F 0o17", vec![(Integer, "0x1F"), (Integer, "0o17")]),
            ("1..3", vec![(Integer, "1"), (DotDot, ".."), (Integer, "3")]),
            ("..3", vec![(DotDot, ".."), (Integer, "3")]),
            (".5", vec![(Float, ".5")]),
            ("1.5e-3", vec![(Float, "1.5e-3")]),
            ("1e9", vec![(Float, "1e9")]),
            ("1.x", vec![(Integer, "1"), (Dot, "."), (Word, "x")]),
            ("1.5.x", vec![(Float, "1.5"), (Dot, "."), (Word, "x")]),
            ("0x", vec![(BadNumber, "0x")]),
            ("0xG1", vec![(BadNumber, "0xG1")]),
            ("0o8", vec![(BadNumber, "0o8")]),
            ("12ab", vec![(BadNumber, "12ab")]),
            ("1_", vec![(BadNumber, "1_")]),
            ("1__0", vec![(BadNumber, "1__0")]),
            ("1e", vec![(BadNumber, "1e")]),
            ("1.5ä", vec![(BadNumber, "1.5ä")]),
        ] {
            let mut found = kinds(source);
            found.pop();
            assert_eq!(found, expected, "{source}");
        }
    }

    #[test]
    fn words_quotes_and_comments_are_told_apart() {
        use TokenKind::{End, Keyword as K, Less, Minus, Quoted, String, Word};
        let source = "mAtch /* a ; */ größe // x\n`a``b` 'it\\'s' \"x'\" <-\u{a0}";
        let expected = vec![
            (K(Keyword::Match), "mAtch"),
            (Word, "größe"),
            (Quoted, "`a``b`"),
            (String, "'it\\'s'"),
            (String, "\"x'\""),
            (Less, "<"),
            (Minus, "-"),
            (End, ""),
        ];
        assert_eq!(kinds(source), expected);
    }

    #[test]
    fn brackets_are_paired_within_a_statement() {
        let closes = lex("(a [b (c)]) [1 } ( ; )", &|| true).closes;
        let pairs: Vec<_> =
            closes.into_iter().enumerate().filter(|(_, close)| *close != UNCLOSED).collect();
        assert_eq!(pairs, [(0, 8), (2, 7), (4, 6)]);
    }

    #[test]
    fn errors_have_a_place_and_a_detail() {
        for (source, detail, place) in [
            ("1 — 2", Detail::InvalidUnicodeCharacter, "—"),
            ("a # b", Detail::UnexpectedSyntax, "#"),
            ("'abc", Detail::UnexpectedSyntax, "'"),
            ("'abc\\", Detail::UnexpectedSyntax, "'"),
            ("`abc", Detail::UnexpectedSyntax, "`"),
            ("``", Detail::UnexpectedSyntax, "``"),
            ("1 /* 2", Detail::UnexpectedSyntax, "/*"),
            ("/*/", Detail::UnexpectedSyntax, "/*"),
        ] {
            let errors = lex(source, &|| true).errors;
            assert_eq!(errors.len(), 1, "{source}");
            assert_eq!((errors[0].detail, errors[0].span.text(source)), (detail, place));
        }
    }
}
