//! Tokens of a query, as the lexical states of Lucene's classic parser divide it.

use super::{ParseError, Piece};

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    And,
    Or,
    Not,
    Plus,
    Minus,
    /// `+`, `-` or `!` before white space: a term of its own.
    BareOperator(char),
    Open,
    Close,
    Colon,
    /// A `*` by itself.
    Star,
    /// `^`, with its number.
    Boost(f32),
    /// `~`, with its number.
    Fuzzy(Option<f32>),
    Term(String),
    Wildcard(Vec<Piece>),
    Quoted(String),
    Regex(String),
    Range {
        from: Option<String>,
        from_included: bool,
        to: Option<String>,
        to_included: bool,
    },
    End,
}

/// A token and where it begins, in characters.
pub(super) type Placed = (Token, usize);

pub(super) struct Lexer {
    text: Vec<char>,
    at: usize,
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{3000}')
}

/// Characters that end a term, unless a backslash stands before them.
fn ends_term(c: char) -> bool {
    is_space(c) || "!():^[]\"{}~*?\\/".contains(c)
}

/// Every token of a query; the last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, ParseError> {
    let mut lexer = Lexer { text: text.chars().collect(), at: 0 };
    let mut found = Vec::new();
    loop {
        while lexer.peek().is_some_and(is_space) {
            lexer.at += 1;
        }
        let at = lexer.at;
        let token = lexer.token()?;
        let is_last = token == Token::End;
        found.push((token, at));
        if is_last {
            return Ok(found);
        }
    }
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    fn fails<T>(message: &str, column: usize) -> Result<T, ParseError> {
        Err(ParseError { message: message.to_owned(), column })
    }

    fn token(&mut self) -> Result<Token, ParseError> {
        let start = self.at;
        let Some(c) = self.peek() else { return Ok(Token::End) };
        let spaced = self.text.get(start + 1).copied().is_some_and(is_space);
        self.at += 1;
        Ok(match c {
            '+' | '-' | '!' if spaced => Token::BareOperator(c),
            '+' => Token::Plus,
            '-' => Token::Minus,
            '!' => Token::Not,
            '(' => Token::Open,
            ')' => Token::Close,
            ':' => Token::Colon,
            '^' => match self.number()? {
                Some(number) => Token::Boost(number),
                None => return Self::fails("a number is missing behind `^`", self.at),
            },
            '~' => Token::Fuzzy(self.number()?),
            '"' => Token::Quoted(self.until('"', start, "a quotation mark is not closed")?),
            '/' => Token::Regex(self.regex(start)?),
            '[' | '{' => self.range(c == '[', start)?,
            ']' | '}' => return Self::fails(&format!("`{c}` closes no range"), start),
            _ => {
                self.at = start;
                self.term()?
            }
        })
    }

    fn number(&mut self) -> Result<Option<f32>, ParseError> {
        let start = self.at;
        let digits = |lexer: &mut Self| {
            while lexer.peek().is_some_and(|c| c.is_ascii_digit()) {
                lexer.at += 1;
            }
        };
        digits(self);
        if self.at == start {
            return Ok(None);
        }
        let is_digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        if self.peek() == Some('.') && is_digit(self.text.get(self.at + 1)) {
            self.at += 1;
            digits(self);
        }
        let text: String = self.text[start..self.at].iter().collect();
        match text.parse::<f32>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Self::fails(&format!("`{text}` is too large"), start),
        }
    }

    /// The character behind a backslash: itself, or by its number in `\uXXXX`.
    fn escaped(&mut self) -> Result<char, ParseError> {
        let start = self.at - 1;
        let Some(c) = self.next() else {
            return Self::fails("a backslash stands before nothing", start);
        };
        if c != 'u' {
            return Ok(c);
        }
        let digits: String = self.text.iter().skip(self.at).take(4).collect();
        let is_hex = digits.len() == 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = u32::from_str_radix(&digits, 16).ok().filter(|_| is_hex);
        match code.and_then(char::from_u32) {
            Some(c) => {
                self.at += 4;
                Ok(c)
            }
            // A letter as others.
            None => Ok(c),
        }
    }

    fn until(&mut self, end: char, start: usize, message: &str) -> Result<String, ParseError> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Self::fails(message, start),
                Some('\\') => text.push(self.escaped()?),
                Some(c) if c == end => return Ok(text),
                Some(c) => text.push(c),
            }
        }
    }

    /// A regular expression: only `\/` loses its backslash.
    fn regex(&mut self, start: usize) -> Result<String, ParseError> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Self::fails("a regular expression is not closed by `/`", start),
                Some('\\') if self.peek() == Some('/') => {
                    self.at += 1;
                    text.push('/');
                }
                Some('\\') => {
                    text.push('\\');
                    text.extend(self.next());
                }
                Some('/') => return Ok(text),
                Some(c) => text.push(c),
            }
        }
    }

    fn term(&mut self) -> Result<Token, ParseError> {
        let start = self.at;
        let mut pieces: Vec<Piece> = Vec::new();
        let mut is_escaped = false;
        let push = |pieces: &mut Vec<Piece>, c: char| match pieces.last_mut() {
            Some(Piece::Text(text)) => text.push(c),
            _ => pieces.push(Piece::Text(c.into())),
        };
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    self.at += 1;
                    is_escaped = true;
                    let c = self.escaped()?;
                    push(&mut pieces, c);
                    continue;
                }
                '*' => pieces.push(Piece::Any),
                '?' => pieces.push(Piece::One),
                c if ends_term(c) => break,
                c => push(&mut pieces, c),
            }
            self.at += 1;
        }
        Ok(match &mut pieces[..] {
            [Piece::Any] => Token::Star,
            [Piece::Text(text)] => match &**text {
                "AND" | "&&" if !is_escaped => Token::And,
                "OR" | "||" if !is_escaped => Token::Or,
                "NOT" if !is_escaped => Token::Not,
                _ => Token::Term(std::mem::take(text)),
            },
            [] => return Self::fails("a term is missing", start),
            _ => Token::Wildcard(pieces),
        })
    }

    /// `a TO b]`, behind its bracket.
    fn range(&mut self, from_included: bool, start: usize) -> Result<Token, ParseError> {
        let from = self.bound(start)?;
        let Some((word, false)) = self.word(start)? else {
            return Self::fails("`TO` is missing in a range", self.at);
        };
        if word != "TO" {
            return Self::fails("`TO` is missing in a range", self.at);
        }
        let to = self.bound(start)?;
        self.skip_spaces();
        let to_included = match self.next() {
            Some(']') => true,
            Some('}') => false,
            _ => return Self::fails("a range is not closed by `]` or `}`", start),
        };
        Ok(Token::Range { from, from_included, to, to_included })
    }

    fn skip_spaces(&mut self) {
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
    }

    /// An end of a range; `None` if it is open.
    fn bound(&mut self, start: usize) -> Result<Option<String>, ParseError> {
        match self.word(start)? {
            None => Self::fails("an end of a range is missing", self.at),
            Some((word, false)) if word == "*" => Ok(None),
            Some((word, _)) => Ok(Some(word)),
        }
    }

    /// A word of a range, and whether it was quoted or had a backslash.
    fn word(&mut self, start: usize) -> Result<Option<(String, bool)>, ParseError> {
        self.skip_spaces();
        if self.peek() == Some('"') {
            self.at += 1;
            let text = self.until('"', start, "a quotation mark in a range is not closed")?;
            return Ok(Some((text, true)));
        }
        let (mut word, mut is_literal) = (String::new(), false);
        while let Some(c) = self.peek() {
            if is_space(c) || matches!(c, ']' | '}') {
                break;
            }
            self.at += 1;
            if c == '\\' {
                is_literal = true;
                word.push(self.escaped()?);
            } else {
                word.push(c);
            }
        }
        Ok((!word.is_empty()).then_some((word, is_literal)))
    }
}
