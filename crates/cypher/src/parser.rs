//! From tokens to the tree: recursive descent, one file per group of clauses, and a Pratt parser
//! for expressions (`expression.rs`).
//!
//! - Keywords are not reserved: `MATCH (match) RETURN match.match` is a query. Where a word could
//!   be both, a bounded look at the next tokens decides.
//! - Nothing is tried and taken back, so parsing is linear in the text.
//! - Recursion and the height of the tree end at [`NESTING_MAX`].
//! - Whatever a function looks for and does not find is noted in `expected`, until a token is
//!   taken; an error message lists what was noted at its place.
//! - After an error the parser goes on at the next clause, so that one run reports several.

mod administration;
mod call;
mod clause;
mod copy;
mod cursor;
mod expression;
mod label;
mod options;
mod pattern;
mod primary;
mod projection;
mod schema;
mod show;
mod statement;
mod types;
mod write;

use crate::ast::{Expr, Statement};
use crate::check;
use crate::diagnostic::{Detail, Diagnostic, Diagnostics};
use crate::lexer::{Lexed, lex};
use crate::span::Span;
use crate::token::TokenKind;

use cursor::Parser;
pub(crate) use cursor::too_many_parts;
pub use expression::Level;
pub(crate) use primary::{TRIM_SIDES, word_place};

/// Deepest nesting of a text, and greatest height of its tree.
///
/// All of it fits 1.5 MiB of stack in an unoptimised build, which is 12 KiB for a level
/// (`tests/limits.rs`); the smallest stack in use, that of a thread, has 2 MiB.
pub const NESTING_MAX: u32 = 128;

/// Most parts of a statement that become operators one above the other: clauses, what stands behind
/// them (`WHERE`, `ORDER BY`, `SKIP`, `LIMIT`, `DISTINCT`), nodes and relationships that are to be
/// found.
///
/// Scripts of tens of thousands of clauses exist, and stay below it. Each part becomes at most
/// [`LEVELS_PER_PART`] operators, so a plan has less than 2^19 levels, and whoever walks one knows
/// how much stack that takes. Nodes and relationships of `CREATE`, items of lists and operands of
/// operators stand beside each other and do not count.
pub const PARTS_MAX: usize = 1 << 15;

/// Operators that a part of a statement becomes at most.
pub const LEVELS_PER_PART: usize = 12;

/// Most nodes, relationships and groups of paths in the patterns of one clause, unless it creates
/// them: each relationship must differ from all others, so a pattern takes memory and time with the
/// square of its size.
pub const PATTERN_PARTS_MAX: usize = 1 << 12;

/// Errors that are reported for one statement; more would follow from the first ones.
pub const ERRORS_MAX: usize = 5;

/// What a parser returns inside.
type Parsed<T> = Result<T, Box<Diagnostic>>;

/// The only statement of `source`; a semicolon may end it.
///
/// # Errors
/// All that is wrong with it, up to [`ERRORS_MAX`]; also if there is no statement or a second one.
pub fn parse(source: &str) -> Result<Statement, Diagnostics> {
    parse_while(source, &|| true)
}

/// Tokens after which whoever wants a text parsed is asked whether it still does.
pub(crate) const ASKED_EVERY: usize = 1 << 12;

/// As [`parse`], as long as `goes_on` says so, which is asked every some thousand tokens. Whoever
/// says no knows why: what is returned then is an error, but not about the text.
///
/// # Errors
/// As [`parse`].
pub fn parse_while(source: &str, goes_on: &dyn Fn() -> bool) -> Result<Statement, Diagnostics> {
    let mut statements = Statements::of(source, lex(source, goes_on));
    let Some(first) = statements.checked(goes_on) else {
        let span = Span::new(0, 0);
        let error = Diagnostic::syntax(Detail::UnexpectedSyntax, span, "there is no statement");
        return Err(error.into());
    };
    let first = first?;
    match statements.next_range() {
        None => Ok(first),
        Some((start, _)) => {
            let span = statements.lexed.tokens[start].span;
            let message = "only one statement is expected, and a second one begins here";
            Err(Diagnostic::syntax(Detail::UnexpectedSyntax, span, message).into())
        }
    }
}

/// The only expression of `source`, which is no more than that. As with [`parse_while`], parsing
/// ends once `goes_on` says no. The rules of `check` are about statements and are not looked at.
///
/// # Errors
/// All that is wrong with it, up to [`ERRORS_MAX`]; also if there is none, or more behind it.
pub fn parse_expression(source: &str, goes_on: &dyn Fn() -> bool) -> Result<Expr, Diagnostics> {
    let lexed = lex(source, goes_on);
    let mut errors = lexed.errors.iter().take(ERRORS_MAX);
    if let Some(first) = errors.next() {
        return Err(Diagnostics::new(first.clone(), errors.cloned()));
    }
    let all = (0, lexed.tokens.len() - 1);
    Parser::new(source, &lexed, all, goes_on).only_expression()
}

/// The statements of `source`, which semicolons separate. Spans count from the start of `source`.
///
/// An error in one statement leaves the next one as it is.
pub fn parse_all(source: &str) -> Statements<'_> {
    Statements::new(source)
}

/// Where the statements of `source` stand, without semicolons, blanks and comments around them:
/// for splitting a text, whether or not it can be parsed.
pub fn split(source: &str) -> Vec<Span> {
    let mut statements = Statements::new(source);
    let mut spans = Vec::new();
    while let Some((start, end)) = statements.next_range() {
        let tokens = &statements.lexed.tokens;
        spans.push(tokens[start].span.to(tokens[end - 1].span));
    }
    spans
}

/// Iterator over the statements of a text; see [`parse_all`].
#[derive(Debug)]
pub struct Statements<'a> {
    source: &'a str,
    lexed: Lexed,
    /// The next token.
    at: usize,
    #[cfg(test)]
    steps: usize,
}

impl<'a> Statements<'a> {
    fn new(source: &'a str) -> Self {
        Self::of(source, lex(source, &|| true))
    }

    fn of(source: &'a str, lexed: Lexed) -> Self {
        Self {
            source,
            lexed,
            at: 0,
            #[cfg(test)]
            steps: 0,
        }
    }

    /// Tokens of the next statement that has any, as `start..end`, and goes behind it.
    fn next_range(&mut self) -> Option<(usize, usize)> {
        let tokens = &self.lexed.tokens;
        while tokens[self.at].kind == TokenKind::Semicolon {
            self.at += 1;
        }
        let start = self.at;
        while !matches!(tokens[self.at].kind, TokenKind::Semicolon | TokenKind::End) {
            self.at += 1;
        }
        (self.at > start).then_some((start, self.at))
    }
}

impl Iterator for Statements<'_> {
    type Item = Result<Statement, Diagnostics>;

    fn next(&mut self) -> Option<Self::Item> {
        self.checked(&|| true)
    }
}

/// The only statement of `source`, without a look at the rules of `check`.
#[cfg(test)]
pub(crate) fn parse_unchecked(source: &str) -> Result<Statement, Diagnostics> {
    Statements::new(source).unchecked(&|| true).expect("a statement")
}

impl Statements<'_> {
    /// The next statement, if it keeps to all rules.
    fn checked(&mut self, goes_on: &dyn Fn() -> bool) -> Option<Result<Statement, Diagnostics>> {
        let statement = self.unchecked(goes_on)?;
        Some(statement.and_then(|statement| check::check(&statement).map(|()| statement)))
    }

    /// The next statement, as far as the grammar says.
    fn unchecked(&mut self, goes_on: &dyn Fn() -> bool) -> Option<Result<Statement, Diagnostics>> {
        let (start, end) = self.next_range()?;
        let tokens = &self.lexed.tokens;
        let whole = tokens[start].span.to(tokens[end - 1].span).range();
        // Where the lexer failed there is nothing to parse, and what it says comes first.
        let inside = |error: &&Diagnostic| whole.contains(&(error.span.start() as usize));
        let from = self.lexed.errors.partition_point(|e| (e.span.start() as usize) < whole.start);
        let mut errors = self.lexed.errors[from..].iter().take_while(inside).take(ERRORS_MAX);
        if let Some(first) = errors.next() {
            return Some(Err(Diagnostics::new(first.clone(), errors.cloned())));
        }
        let mut parser = Parser::new(self.source, &self.lexed, (start, end), goes_on);
        let result = parser.statement();
        #[cfg(test)]
        {
            self.steps += parser.steps.get();
        }
        Some(result)
    }
}

#[cfg(test)]
mod tests;
