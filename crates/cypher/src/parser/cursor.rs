//! The parser's place in the tokens: looking, taking, and saying what was expected.

use super::label::LabelSigns;
use super::{ASKED_EVERY, NESTING_MAX, PARTS_MAX, Parsed};
use crate::ast::Name;
use crate::diagnostic::{Detail, Diagnostic};
use crate::lexer::{Lexed, UNCLOSED, unescaped};
use crate::span::Span;
use crate::suggest::closest;
use crate::token::{CLAUSES, Keyword, Token, TokenKind};

/// Things that a message lists as expected; a longer list helps nobody.
const EXPECTED_MAX: usize = 8;

/// Shortest word that is taken for a misspelling: shorter ones are variables.
const MISSPELLED_BYTES_MIN: usize = 3;

/// A parser of one statement.
pub(super) struct Parser<'a> {
    pub(super) source: &'a str,
    tokens: &'a [Token],
    closes: &'a [u32],
    /// Index of the next token.
    pub(super) at: usize,
    /// Index of the token that ends the statement.
    end: usize,
    /// What was looked for at the next token.
    expected: Vec<Expected>,
    /// Calls of `nested` around this place.
    depth: u32,
    /// Height of the tree that the innermost `nested` has built so far.
    height: u32,
    /// Clauses so far, and what stands behind them.
    parts: usize,
    /// Tokens that were taken.
    taken: usize,
    goes_on: &'a dyn Fn() -> bool,
    /// A `|` here ends the expression; it is not part of a label expression.
    pub(super) bar_ends: bool,
    /// Where the last relationship pattern has `|:`, as alternatives were once written.
    pub(super) colon_after_bar: Option<Span>,
    /// Signs in the label expression at hand.
    pub(super) label_signs: LabelSigns,
    /// What is wrong before this place.
    pub(super) errors: Vec<Diagnostic>,
    /// Looks at tokens, which is what time is made of.
    #[cfg(test)]
    pub(super) steps: std::cell::Cell<usize>,
}

/// What could have stood at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// A token, or a keyword.
    Token(TokenKind),
    /// A word that is no keyword of the language at large.
    Word(&'static str),
    /// A word that is not listed, since others say it better, but may have been meant.
    Hint(&'static str),
    /// In words: `an expression`.
    Text(&'static str),
    /// A word with which a clause begins.
    Clause,
    /// An operator between operands.
    Operator,
}

/// Words among the operators.
const OPERATORS: [&str; 6] = ["AND", "XOR", "STARTS", "ENDS", "CONTAINS", "NOT"];

impl<'a> Parser<'a> {
    /// A parser of the tokens `start..end`, which goes on as long as it should.
    pub(super) fn new(
        source: &'a str,
        lexed: &'a Lexed,
        (start, end): (usize, usize),
        goes_on: &'a dyn Fn() -> bool,
    ) -> Self {
        Self {
            source,
            tokens: &lexed.tokens,
            closes: &lexed.closes,
            at: start,
            end,
            expected: Vec::new(),
            depth: 0,
            height: 0,
            parts: 0,
            taken: 0,
            goes_on,
            bar_ends: false,
            colon_after_bar: None,
            label_signs: LabelSigns::default(),
            errors: Vec::new(),
            #[cfg(test)]
            steps: std::cell::Cell::new(0),
        }
    }

    /// The kind of the next token, `End` at the end of the statement.
    pub(super) fn kind(&self) -> TokenKind {
        self.kind_at(self.at)
    }

    /// The kind of the token `ahead` behind the next one.
    pub(super) fn ahead(&self, ahead: usize) -> TokenKind {
        self.kind_at(self.at + ahead)
    }

    /// The kind of the token with that index, `End` outside the statement.
    pub(super) fn kind_at(&self, index: usize) -> TokenKind {
        #[cfg(test)]
        self.steps.set(self.steps.get() + 1);
        if index < self.end { self.tokens[index].kind } else { TokenKind::End }
    }

    /// What is written at the token with that index.
    pub(super) fn text_at(&self, index: usize) -> &'a str {
        self.tokens.get(index).map_or("", |token| token.span.text(self.source))
    }

    /// Where the next token stands.
    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].span
    }

    /// Where the last token stands that was taken.
    pub(super) fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].span
    }

    /// From `start` to the last token that was taken.
    pub(super) fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    /// Index of the token that closes the bracket at `index`.
    pub(super) fn close_of(&self, index: usize) -> Option<usize> {
        let close = self.closes[index];
        (close != UNCLOSED).then_some(close as usize)
    }

    /// Takes the next token.
    pub(super) fn bump(&mut self) -> Token {
        let token = self.tokens[self.at];
        if self.at < self.end {
            self.at += 1;
        }
        self.taken += 1;
        if self.taken.is_multiple_of(ASKED_EVERY) && !(self.goes_on)() {
            // Nothing follows any more, so that every loop comes to its end.
            self.end = self.at;
        }
        self.expected.clear();
        token
    }

    /// Notes that something could stand here.
    pub(super) fn note(&mut self, expected: Expected) {
        if !self.expected.contains(&expected) {
            self.expected.push(expected);
        }
    }

    /// Takes the next token if it is of that kind.
    pub(super) fn eat(&mut self, kind: impl Into<TokenKind>) -> bool {
        let kind = kind.into();
        if self.kind() == kind {
            self.bump();
            return true;
        }
        self.note(Expected::Token(kind));
        false
    }

    /// Takes the next token, which must be of that kind.
    pub(super) fn expect(&mut self, kind: impl Into<TokenKind>) -> Parsed<Span> {
        if self.eat(kind) { Ok(self.last_span()) } else { self.fail() }
    }

    /// Whether the next token is this word, in whatever case.
    pub(super) fn is_word(&self, word: &str) -> bool {
        self.is_word_at(0, word)
    }

    /// Whether the token `ahead` behind the next one is this word.
    pub(super) fn is_word_at(&self, ahead: usize, word: &str) -> bool {
        matches!(self.ahead(ahead), TokenKind::Word | TokenKind::Keyword(_))
            && self.tokens[self.at + ahead].span.text(self.source).eq_ignore_ascii_case(word)
    }

    /// Takes the next token if it is this word.
    pub(super) fn eat_word(&mut self, word: &'static str) -> bool {
        if self.is_word(word) {
            self.bump();
            return true;
        }
        self.note(Expected::Word(word));
        false
    }

    /// Takes the next token if it is one of these words, which messages do not list.
    pub(super) fn eat_unlisted_word(&mut self, words: &[&'static str]) -> bool {
        if words.iter().any(|word| self.is_word(word)) {
            self.bump();
            return true;
        }
        words.iter().for_each(|word| self.note(Expected::Hint(word)));
        false
    }

    /// Takes the next token if it is one of these words, of which messages list the first.
    pub(super) fn eat_any(&mut self, words: &[&'static str]) -> bool {
        if words.iter().any(|word| self.is_word(word)) {
            self.bump();
            return true;
        }
        for (index, word) in words.iter().enumerate() {
            self.note(if index == 0 { Expected::Word(word) } else { Expected::Hint(word) });
        }
        false
    }

    /// Takes the next token if it is this keyword, which messages do not list.
    pub(super) fn eat_unlisted(&mut self, keyword: Keyword) -> bool {
        if self.kind() == TokenKind::Keyword(keyword) {
            self.bump();
            return true;
        }
        self.note(Expected::Hint(keyword.text()));
        false
    }

    /// Takes the next token, which must be this word.
    pub(super) fn expect_word(&mut self, word: &'static str) -> Parsed<()> {
        if self.eat_word(word) { Ok(()) } else { self.fail() }
    }

    /// Takes a name; `what` says which, such as `a variable`.
    pub(super) fn name(&mut self, what: &'static str) -> Parsed<Name> {
        let kind = self.kind();
        if !kind.is_name() {
            self.note(Expected::Text(what));
            return self.fail();
        }
        let span = self.bump().span;
        let text = span.text(self.source);
        let text = match kind {
            TokenKind::Quoted => text[1..text.len() - 1].replace("``", "`").into(),
            _ => unescaped(text).into(),
        };
        Ok(Name { text, span })
    }

    /// Items with commas between them, at least one.
    pub(super) fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(TokenKind::Comma) {
            items.push(item(self)?);
        }
        Ok(items)
    }

    /// Items with commas between them, up to `close`, which is taken; possibly none.
    pub(super) fn list_until<T>(
        &mut self,
        close: TokenKind,
        item: impl FnMut(&mut Self) -> Parsed<T>,
    ) -> Parsed<Vec<T>> {
        if self.eat(close) {
            return Ok(Vec::new());
        }
        let items = self.list(item)?;
        self.expect(close)?;
        Ok(items)
    }

    /// Goes one level deeper, in the text and in the tree.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= NESTING_MAX {
            return self.too_deep();
        }
        self.depth += 1;
        let outer = std::mem::take(&mut self.height);
        let result = parse(self);
        self.depth -= 1;
        self.height = outer.max(self.height + 1);
        result
    }

    /// Puts what was built on this level below a new node of the tree.
    pub(super) fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.depth + self.height > NESTING_MAX { self.too_deep() } else { Ok(()) }
    }

    /// Counts a clause, or a part of one that becomes an operator of its own.
    pub(super) fn part(&mut self) -> Parsed<()> {
        self.parts += 1;
        if self.parts <= PARTS_MAX {
            return Ok(());
        }
        let error = too_many_parts(self.span());
        // What follows would be refused, too.
        self.end = self.at;
        Err(Box::new(error))
    }

    fn too_deep<T>(&self) -> Parsed<T> {
        let message = format!("this is nested more than {NESTING_MAX} levels deep");
        let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.span(), message);
        let help = "break it up with WITH, or pass long lists and maps as parameters";
        Err(Box::new(error.with_help(help)))
    }

    /// The error that the next token is none of those expected.
    pub(super) fn fail<T>(&self) -> Parsed<T> {
        Err(Box::new(self.unexpected()))
    }

    /// The error `message` about `span`.
    pub(super) fn refuse<T>(&self, span: Span, message: impl Into<String>) -> Parsed<T> {
        Err(Box::new(Diagnostic::syntax(Detail::UnexpectedSyntax, span, message)))
    }

    fn unexpected(&self) -> Diagnostic {
        let at_end = self.at >= self.end;
        let found = match self.kind() {
            TokenKind::End if self.tokens[self.end].kind == TokenKind::Semicolon => "';'".into(),
            TokenKind::End => TokenKind::End.describe().to_owned(),
            TokenKind::String => "a string".to_owned(),
            _ => format!("'{}'", clip(self.span().text(self.source))),
        };
        let message = match self.expected_list() {
            Some(expected) => format!("expected {expected}, found {found}"),
            None => format!("{found} has no meaning here"),
        };
        let span = if at_end { self.end_span() } else { self.span() };
        let mut error = Diagnostic::syntax(Detail::UnexpectedSyntax, span, message);
        error.help = self.suggestion();
        if let Some(open) = self.unclosed() {
            let text = open.text(self.source);
            error = error.with_note(open, format!("this '{text}' is never closed"));
        }
        error
    }

    /// Behind the last token: where something is missing at the end.
    fn end_span(&self) -> Span {
        let end = self.tokens[self.end.saturating_sub(1)].span.end();
        Span::new(end, end)
    }

    fn expected_list(&self) -> Option<String> {
        let describe = |expected: &Expected| match expected {
            Expected::Token(kind) => Some(kind.describe()),
            Expected::Word(word) => Some(*word),
            Expected::Text(text) => Some(*text),
            Expected::Clause => Some("a clause"),
            Expected::Operator => Some("an operator"),
            Expected::Hint(_) => None,
        };
        let mut items: Vec<&str> = self.expected.iter().filter_map(describe).collect();
        let more = items.len() > EXPECTED_MAX;
        items.truncate(EXPECTED_MAX);
        let last = if more { "..." } else { items.pop()? };
        match items.as_slice() {
            [] => Some(last.to_owned()),
            items if more => Some(format!("{}, {last}", items.join(", "))),
            items => Some(format!("{} or {last}", items.join(", "))),
        }
    }

    /// What the next word, or the one before it, may be a misspelling of.
    fn suggestion(&self) -> Option<String> {
        if self.is_in_sql_comment() {
            return Some("a comment begins with // in Cypher".to_owned());
        }
        let word = self.text_at(self.at);
        if self.kind() == TokenKind::Word && word.len() >= MISSPELLED_BYTES_MIN {
            let mut words: Vec<&str> = Vec::new();
            for expected in &self.expected {
                match expected {
                    Expected::Token(TokenKind::Keyword(keyword)) => words.push(keyword.text()),
                    Expected::Word(word) | Expected::Hint(word) => words.push(word),
                    Expected::Clause => words.extend(CLAUSES.iter().map(|clause| clause.text())),
                    Expected::Operator => words.extend(OPERATORS),
                    _ => {}
                }
            }
            if let Some(word) = closest(word, words) {
                return Some(format!("did you mean {word}?"));
            }
        }
        // What was taken as a name may be where it went wrong: `DISTNCT n`, `a > RETURN n`.
        let before = self.at.checked_sub(1)?;
        let word = self.text_at(before);
        match self.tokens[before].kind {
            TokenKind::Word if word.len() > MISSPELLED_BYTES_MIN => {
                let keyword = closest(word, Keyword::all().map(Keyword::text))?;
                Some(format!("did you mean {keyword} where '{word}' stands?"))
            }
            TokenKind::Keyword(_) if self.expected.contains(&Expected::Operator) => {
                Some(format!("'{word}' is read as a name here: is something missing before it?"))
            }
            _ => None,
        }
    }

    /// Whether `--` stands here, or before this place on its line, as words and not as an arrow.
    fn is_in_sql_comment(&self) -> bool {
        let place = self.tokens[self.at.min(self.end)].span.range().start;
        let line = self.source[..place].rfind('\n').map_or(0, |at| at + 1);
        let begins = |index: &usize| self.tokens[*index].span.range().start >= line;
        (0..=self.at.min(self.end)).rev().take_while(begins).any(|index| {
            let minus = |index: usize| {
                let token = self.tokens.get(index).filter(|t| t.kind == TokenKind::Minus)?;
                Some(token.span.range())
            };
            let (Some(first), Some(second)) = (minus(index), minus(index + 1)) else {
                return false;
            };
            let before = self.source[..first.start].chars().next_back();
            let next = self.tokens.get(index + 2).map(|token| token.kind);
            first.end == second.start
                && before.is_none_or(char::is_whitespace)
                && next != Some(TokenKind::LeftParen)
        })
    }

    /// The last bracket before this place that nothing closes.
    fn unclosed(&self) -> Option<Span> {
        let opens = |index: &usize| {
            matches!(
                self.tokens[*index].kind,
                TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace
            ) && self.closes[*index] == UNCLOSED
        };
        (0..self.at.min(self.end))
            .rev()
            .take_while(|index| self.tokens[*index].kind != TokenKind::Semicolon)
            .find(opens)
            .map(|index| self.tokens[index].span)
    }

    /// Goes to the next clause behind the place of an error, in a clause that began at token
    /// `start`. False if there is none, or if brackets are not paired: then what follows is
    /// anybody's guess.
    pub(super) fn recover(&mut self, start: usize) -> bool {
        if self.parts > PARTS_MAX || self.unclosed().is_some() {
            return false;
        }
        let failed = self.at;
        let mut index = start;
        while index < self.end {
            if matches!(
                self.kind_at(index),
                TokenKind::LeftParen | TokenKind::LeftBracket | TokenKind::LeftBrace
            ) {
                match self.close_of(index) {
                    Some(close) => index = close,
                    None => return false,
                }
            } else if index >= failed && index > start && self.is_clause_at(index) {
                self.at = index;
                self.expected.clear();
                self.bar_ends = false;
                return true;
            }
            index += 1;
        }
        false
    }

    /// Whether a clause begins at token `index`, most likely.
    fn is_clause_at(&self, index: usize) -> bool {
        use Keyword as K;
        let TokenKind::Keyword(keyword) = self.kind_at(index) else { return false };
        let inside = matches!(
            self.kind_at(index.wrapping_sub(1)),
            TokenKind::Dot
                | TokenKind::Colon
                | TokenKind::Dollar
                | TokenKind::Comma
                | TokenKind::Keyword(K::As | K::Starts | K::Ends | K::On | K::Csv)
        );
        keyword.begins_clause() && !inside
    }
}

/// A statement of more than [`PARTS_MAX`] parts.
pub(crate) fn too_many_parts(span: Span) -> Diagnostic {
    let message = format!(
        "the statement has more than {PARTS_MAX} clauses, conditions, and nodes and relationships \
         to be found"
    );
    let help = "break it up into several statements, or pass a list as a parameter and UNWIND it";
    Diagnostic::syntax(Detail::UnexpectedSyntax, span, message).with_help(help)
}

/// A word of a message, not longer than a line.
fn clip(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
