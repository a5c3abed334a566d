//! CALL: procedures and subqueries.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    Call, CallSubquery, Clause, Concurrency, InTransactions, OnError, QualifiedName, SubqueryScope,
    Yield, YieldItem,
};
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// The clause that begins with `CALL`.
    pub(super) fn call(&mut self, start: Span, optional: bool) -> Parsed<Clause> {
        self.expect(K::Call)?;
        match self.kind() {
            T::LeftBrace | T::LeftParen => {
                let subquery = self.call_subquery(start, optional)?;
                Ok(Clause::CallSubquery(Box::new(subquery)))
            }
            _ => self.call_procedure(start, optional).map(Clause::Call),
        }
    }

    fn call_procedure(&mut self, start: Span, optional: bool) -> Parsed<Call> {
        if !self.kind().is_name() {
            self.note(Expected::Token(T::LeftParen));
            self.note(Expected::Token(T::LeftBrace));
        }
        let procedure = self.qualified_name("the name of a procedure")?;
        let arguments = if self.eat(T::LeftParen) {
            Some(self.list_until(T::RightParen, Self::expression)?)
        } else {
            None
        };
        let yields = self.yields()?;
        Ok(Call { optional, procedure, arguments, yields, span: self.since(start) })
    }

    /// A name with namespaces.
    pub(super) fn qualified_name(&mut self, what: &'static str) -> Parsed<QualifiedName> {
        let mut parts = vec![self.name(what)?];
        let start = self.last_span();
        while self.kind() == T::Dot {
            self.bump();
            parts.push(self.name("a name")?);
        }
        Ok(QualifiedName { parts, span: self.since(start) })
    }

    fn yields(&mut self) -> Parsed<Option<Yield>> {
        let start = self.span();
        if !self.eat(K::Yield) {
            return Ok(None);
        }
        let star = self.eat(T::Star);
        let items = if star {
            Vec::new()
        } else {
            self.list(|parser| {
                let column = parser.name("the name of a column")?;
                let alias = if parser.eat(K::As) { Some(parser.name("a variable")?) } else { None };
                Ok(YieldItem { column, alias })
            })?
        };
        let filter = self.filter()?;
        Ok(Some(Yield { star, items, filter, span: self.since(start) }))
    }

    fn call_subquery(&mut self, start: Span, optional: bool) -> Parsed<CallSubquery> {
        let scope = if !self.eat(T::LeftParen) {
            SubqueryScope::Importing
        } else if self.eat(T::Star) {
            self.expect(T::RightParen)?;
            SubqueryScope::All
        } else {
            let variables = self.list_until(T::RightParen, |parser| parser.name("a variable"))?;
            SubqueryScope::Variables(variables)
        };
        self.expect(T::LeftBrace)?;
        let query = self.query(false)?;
        self.expect(T::RightBrace)?;
        let transactions = self.in_transactions()?;
        Ok(CallSubquery { optional, scope, query, transactions, span: self.since(start) })
    }

    fn in_transactions(&mut self) -> Parsed<Option<InTransactions>> {
        let start = self.span();
        if !self.eat(K::In) {
            return Ok(None);
        }
        let concurrency = if self.eat(K::Concurrent) {
            Concurrency::Automatic
        } else if self.eat(K::Transactions) {
            Concurrency::Serial
        } else {
            let limit = self.operand()?;
            self.expect(K::Concurrent)?;
            Concurrency::Limit(limit)
        };
        if concurrency != Concurrency::Serial {
            self.expect(K::Transactions)?;
        }
        let mut transactions = InTransactions {
            concurrency,
            rows: None,
            on_error: OnError::Fail,
            status: None,
            span: start,
        };
        let mut has_on_error = false;
        loop {
            if transactions.rows.is_none() && self.eat_word("OF") {
                transactions.rows = Some(self.expression()?);
                if !self.eat(K::Rows) {
                    self.expect_word("ROW")?;
                }
            } else if !has_on_error && self.eat(K::On) {
                self.expect_word("ERROR")?;
                transactions.on_error = if self.eat_word("CONTINUE") {
                    OnError::Continue
                } else if self.eat_word("BREAK") {
                    OnError::Break
                } else {
                    self.expect_word("FAIL")?;
                    OnError::Fail
                };
                has_on_error = true;
            } else if transactions.status.is_none() && self.eat_word("REPORT") {
                self.expect_word("STATUS")?;
                self.expect(K::As)?;
                transactions.status = Some(self.name("a variable")?);
            } else {
                transactions.span = self.since(start);
                return Ok(Some(transactions));
            }
        }
    }
}
