//! Statements, queries, and the loop over clauses.

use super::cursor::{Expected, Parser};
use super::{ERRORS_MAX, Parsed};
use crate::ast::{Query, SingleQuery, Statement, StatementKind, Union};
use crate::diagnostic::{Detail, Diagnostic, Diagnostics};
use crate::token::{Keyword, TokenKind};

impl Parser<'_> {
    /// The statement that all tokens make up.
    pub(super) fn statement(&mut self) -> Result<Statement, Diagnostics> {
        let result = self.statement_tokens();
        let mut errors = std::mem::take(&mut self.errors).into_iter();
        match (errors.next(), result) {
            (None, Ok(statement)) => Ok(statement),
            (None, Err(error)) => Err(Diagnostics::from(*error)),
            (Some(first), Ok(_)) => Err(Diagnostics::new(first, errors)),
            (Some(first), Err(last)) => Err(Diagnostics::new(first, errors.chain([*last]))),
        }
    }

    fn statement_tokens(&mut self) -> Parsed<Statement> {
        let start = self.span();
        let mode = self.prefixes()?;
        let graph = if self.kind() == TokenKind::Keyword(Keyword::Use) && self.command_follows_use()
        {
            Some(self.use_clause(self.span())?)
        } else {
            None
        };
        let kind = match self.kind() {
            TokenKind::Keyword(Keyword::Create) if self.is_schema_command_at(0) => {
                self.create_command()?
            }
            _ if self.is_administration_at(0) => self.administration()?,
            _ if self.is_copy_at(0) => self.copy()?,
            TokenKind::Keyword(Keyword::Drop) => self.drop_command()?,
            TokenKind::Keyword(Keyword::Show) => self.show()?,
            TokenKind::Keyword(Keyword::Terminate) => self.terminate()?,
            _ => {
                let at = self.timestamp()?;
                for word in ["DROP", "SHOW", "TERMINATE", "ALTER", "GRANT", "REVOKE"] {
                    self.note(Expected::Hint(word));
                }
                StatementKind::Query { at, query: self.query(true)? }
            }
        };
        if self.kind() != TokenKind::End {
            return self.fail();
        }
        Ok(Statement { mode, graph, kind, span: self.since(start) })
    }

    /// Whether behind `USE graph` there is a command and no clause.
    fn command_follows_use(&self) -> bool {
        let mut ahead = 2;
        while self.ahead(ahead) == TokenKind::Dot {
            ahead += 2;
        }
        if self.ahead(ahead) == TokenKind::LeftParen
            && let Some(close) = self.close_of(self.at + ahead)
        {
            ahead = close + 1 - self.at;
        }
        if self.is_administration_at(ahead) || self.is_copy_at(ahead) {
            return true;
        }
        match self.ahead(ahead) {
            TokenKind::Keyword(Keyword::Drop | Keyword::Show | Keyword::Terminate) => true,
            TokenKind::Keyword(Keyword::Create) => self.is_schema_command_at(ahead),
            _ => false,
        }
    }

    /// `AT TIMESTAMP expr`
    fn timestamp(&mut self) -> Parsed<Option<crate::ast::Expr>> {
        if !self.eat_unlisted(Keyword::At) {
            return Ok(None);
        }
        self.expect(Keyword::Timestamp)?;
        self.expression().map(Some)
    }

    /// A query. One that is `outermost` goes on after errors.
    pub(super) fn query(&mut self, outermost: bool) -> Parsed<Query> {
        self.nested(|parser| {
            let start = parser.span();
            let first = parser.single_query(outermost)?;
            let mut unions: Vec<Union> = Vec::new();
            loop {
                let start = parser.span();
                if !parser.eat(Keyword::Union) {
                    break;
                }
                let all = parser.eat(Keyword::All);
                if !all {
                    parser.eat(Keyword::Distinct);
                }
                if unions.last().is_some_and(|last| last.all != all) {
                    let error = Diagnostic::syntax(
                        Detail::InvalidClauseComposition,
                        parser.since(start),
                        "UNION and UNION ALL cannot be mixed in one query",
                    );
                    let help = "put one of them into a CALL subquery";
                    return Err(Box::new(error.with_help(help)));
                }
                let query = parser.single_query(outermost)?;
                unions.push(Union { all, query, span: parser.since(start) });
            }
            Ok(Query { first, unions, span: parser.since(start) })
        })
    }

    fn single_query(&mut self, outermost: bool) -> Parsed<SingleQuery> {
        let start = self.span();
        let mut clauses = Vec::new();
        loop {
            let first = self.at;
            match self.clause() {
                Ok(Some(clause)) => clauses.push(clause),
                Ok(None) if clauses.is_empty() && self.errors.is_empty() => {
                    let result = self.fail();
                    match result {
                        Err(error) if outermost && self.recover(first) => self.report(error)?,
                        result => return result,
                    }
                }
                // A query ends where its text or its braces do, or at a UNION: what else could
                // follow is no clause, and an error like one inside a clause.
                Ok(None) if !outermost || self.ends_query() => break,
                Ok(None) => {
                    let result = self.fail();
                    match result {
                        Err(error) if self.recover(first) => self.report(error)?,
                        result => return result,
                    }
                }
                Err(error) if outermost && self.recover(first) => self.report(error)?,
                Err(error) => return Err(error),
            }
        }
        Ok(SingleQuery { clauses, span: self.since(start) })
    }

    fn ends_query(&self) -> bool {
        matches!(self.kind(), TokenKind::End | TokenKind::Keyword(Keyword::Union))
    }

    /// Keeps an error, to go on after it; gives it back if there are enough.
    fn report(&mut self, error: Box<Diagnostic>) -> Parsed<()> {
        if self.errors.len() + 1 >= ERRORS_MAX {
            return Err(error);
        }
        self.errors.push(*error);
        Ok(())
    }
}
