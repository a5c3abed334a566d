//! Random trees for tests: every kind of node, within what [`ast`](crate::ast) says of its parts.
//!
//! A tree is read off a string of bytes, so whatever makes the string shorter or smaller makes the
//! tree simpler: proptest reduces a failing tree without knowing what one is. Out of bytes, every
//! choice is the first one.

mod administration;
mod clause;
mod command;
mod expression;
mod pattern;

use crate::ast::{Mode, Name, QualifiedName, Query, SingleQuery, Statement, StatementKind, Union};
use crate::span::Span;

/// Greatest depth: nodes below it are leaves.
const DEPTH_MAX: u32 = 6;

/// Names that are plain, need backticks, or are words of the grammar.
const NAMES: [&str; 54] = [
    "a",
    "b",
    "x1",
    "_",
    "größe",
    "名",
    "a b",
    "`",
    "a``b",
    "1a",
    "1",
    "\\",
    "'",
    "match",
    "RETURN",
    "order",
    "count",
    "Exists",
    "collect",
    "all",
    "any",
    "none",
    "single",
    "in",
    "is",
    "not",
    "null",
    "true",
    "case",
    "when",
    "end",
    "where",
    "shortestPath",
    "starts",
    "contains",
    "distinct",
    "reduce",
    "as",
    "desc",
    "nfc",
    "normalized",
    "list",
    "seek",
    "concurrent",
    "yield",
    "on",
    "if",
    "union",
    "from",
    "both",
    "let",
    "filter",
    "insert",
    "repeatable",
];

/// Reads choices off a string of bytes.
pub(crate) struct Generator<'a> {
    bytes: std::slice::Iter<'a, u8>,
    depth: u32,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: bytes.iter(), depth: 0 }
    }

    /// A number below `limit`.
    fn pick(&mut self, limit: usize) -> usize {
        usize::from(self.bytes.next().copied().unwrap_or(0)) % limit
    }

    fn chance(&mut self) -> bool {
        self.pick(2) == 1
    }

    fn one_of<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.pick(items.len())].clone()
    }

    fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        // Not every second one, or trees would be large and never deep.
        (self.pick(3) == 2).then(|| make(self))
    }

    /// From `least` to two more.
    fn some<T>(&mut self, least: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let most = if self.depth >= DEPTH_MAX { least } else { least + self.pick(3) };
        (0..most).map(|_| make(self)).collect()
    }

    fn deeper<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let made = make(self);
        self.depth -= 1;
        made
    }

    fn name(&mut self) -> Name {
        let text = self.one_of(&NAMES);
        Name { text: text.into(), span: Span::default() }
    }

    fn names(&mut self) -> Vec<Name> {
        self.some(1, Self::name)
    }

    fn qualified_name(&mut self) -> QualifiedName {
        QualifiedName { parts: self.names(), span: Span::default() }
    }

    /// Small numbers and the largest one.
    fn number(&mut self) -> u64 {
        self.one_of(&[1, 2, 3, 0, 17, i64::MAX.unsigned_abs()])
    }

    pub(crate) fn statement(&mut self) -> Statement {
        let mode = self.one_of(&[Mode::Run, Mode::Explain, Mode::Profile]);
        let kind = match self.pick(10) {
            0..=3 => {
                let at = self.maybe(Self::expr);
                StatementKind::Query { at, query: self.query() }
            }
            4 => StatementKind::CreateIndex(Box::new(self.create_index())),
            5 => StatementKind::CreateConstraint(Box::new(self.create_constraint())),
            6 => StatementKind::Drop(self.drop_command()),
            7 => StatementKind::Administration(Box::new(self.administration())),
            8 => StatementKind::Copy(Box::new(self.copy())),
            _ if self.chance() && self.chance() => {
                StatementKind::Transactions(Box::new(self.transaction_commands()))
            }
            _ if self.chance() => StatementKind::Terminate(Box::new(self.terminate())),
            _ => StatementKind::Show(Box::new(self.show())),
        };
        let command = !matches!(kind, StatementKind::Query { .. });
        let graph = if command { self.maybe(Self::use_clause) } else { None };
        Statement { mode, graph, kind, span: Span::default() }
    }

    pub(crate) fn query(&mut self) -> Query {
        self.deeper(|g| {
            let first = g.single_query();
            let all = g.chance();
            let unions =
                g.some(0, |g| Union { all, query: g.single_query(), span: Span::default() });
            Query { first, unions, span: Span::default() }
        })
    }

    fn single_query(&mut self) -> SingleQuery {
        SingleQuery { clauses: self.some(1, Self::clause), span: Span::default() }
    }
}
