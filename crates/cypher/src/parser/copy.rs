//! `COPY`: a file into the graph, or rows into a file.

use super::Parsed;
use super::cursor::Parser;
use crate::ast::{CopyCommand, CopyWhat, StatementKind};
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// True if `COPY` stands `at` tokens behind the next one.
    pub(super) fn is_copy_at(&self, at: usize) -> bool {
        self.is_word_at(at, "COPY")
    }

    pub(super) fn copy(&mut self) -> Parsed<StatementKind> {
        self.expect_word("COPY")?;
        let what = if self.eat(T::LeftParen) {
            let query = self.query(false)?;
            self.expect(T::RightParen)?;
            self.expect_word("TO")?;
            CopyWhat::Out(query)
        } else {
            let mut names = vec![self.name("a label or a type")?];
            while self.eat(T::Colon) {
                names.push(self.name("a label")?);
            }
            self.expect(K::From)?;
            CopyWhat::Into(names)
        };
        let file = self.expression()?;
        let mut options = Vec::new();
        if self.eat(T::LeftParen) {
            options = self.list(|parser| {
                let name = parser.name("an option")?;
                parser.expect(T::Equal)?;
                Ok((name, parser.expression()?))
            })?;
            self.expect(T::RightParen)?;
        }
        Ok(StatementKind::Copy(Box::new(CopyCommand { what, file, options })))
    }
}
