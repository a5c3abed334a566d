//! WITH and RETURN: projections, order and limits.

use super::Parsed;
use super::cursor::Parser;
use crate::ast::{Expr, Projection, ProjectionItem, Return, SortItem, With};
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    pub(super) fn with(&mut self, start: Span) -> Parsed<With> {
        self.expect(K::With)?;
        let projection = self.projection()?;
        let filter = self.filter()?;
        Ok(With { projection, filter, span: self.since(start) })
    }

    pub(super) fn return_clause(&mut self) -> Parsed<Return> {
        let start = self.expect(K::Return)?;
        let projection = self.projection()?;
        Ok(Return { projection, span: self.since(start) })
    }

    /// `[DISTINCT] items ORDER BY ... SKIP ... LIMIT ...`
    fn projection(&mut self) -> Parsed<Projection> {
        let start = self.span();
        // `DISTINCT` is a variable where nothing follows that it could apply to.
        let distinct = self.kind() == T::Keyword(K::Distinct)
            && (self.begins_expression_at(1) || self.ahead(1) == T::Star);
        if distinct {
            self.part()?;
        }
        if distinct || self.begins_with_all() {
            self.bump();
        }
        let star = self.eat(T::Star);
        let items = if !star || self.eat(T::Comma) {
            self.list(Self::projection_item)?
        } else {
            Vec::new()
        };
        self.limits(start, distinct, star, items)
    }

    /// Whether the word `ALL` comes next, which says that equal rows stay; it may be a variable or
    /// a function, too.
    fn begins_with_all(&self) -> bool {
        self.kind() == T::Keyword(K::All)
            && match self.ahead(1) {
                T::Word | T::Quoted | T::Integer | T::Float | T::String | T::Dollar => true,
                // `WITH all MATCH (n)` names a variable.
                T::Keyword(K::Count | K::Collect | K::Exists | K::Reduce) => {
                    matches!(self.ahead(2), T::LeftParen | T::LeftBrace)
                }
                _ => false,
            }
    }

    /// `ORDER BY`, `SKIP` and `LIMIT` as a clause, which is `WITH *` with them.
    pub(super) fn limits_clause(&mut self, start: Span) -> Parsed<With> {
        let projection = self.limits(start, false, true, Vec::new())?;
        Ok(With { projection, filter: None, span: self.since(start) })
    }

    /// The rest of a projection, after its items.
    pub(super) fn limits(
        &mut self,
        start: Span,
        distinct: bool,
        star: bool,
        items: Vec<ProjectionItem>,
    ) -> Parsed<Projection> {
        let mut order_by = Vec::new();
        if self.eat(K::Order) {
            self.part()?;
            self.expect(K::By)?;
            order_by = self.list(Self::sort_item)?;
        }
        let skips = self.eat(K::Skip) || self.eat_unlisted(K::Offset);
        let skip = if skips { Some(self.count_of_rows()?) } else { None };
        let limit = if self.eat(K::Limit) { Some(self.count_of_rows()?) } else { None };
        let span = self.since(start);
        Ok(Projection { distinct, star, items, order_by, skip, limit, span })
    }

    fn count_of_rows(&mut self) -> Parsed<Expr> {
        self.part()?;
        self.expression()
    }

    fn projection_item(&mut self) -> Parsed<ProjectionItem> {
        let start = self.span();
        let expr = self.expression()?;
        let alias = if self.eat(K::As) { Some(self.name("a column name")?) } else { None };
        Ok(ProjectionItem { expr, alias, span: self.since(start) })
    }

    fn sort_item(&mut self) -> Parsed<SortItem> {
        let start = self.span();
        let expr = self.expression()?;
        let descending = self.eat(K::Desc) || self.eat_unlisted(K::Descending);
        if !descending && !self.eat_unlisted(K::Asc) {
            self.eat_unlisted(K::Ascending);
        }
        Ok(SortItem { expr, descending, span: self.since(start) })
    }
}
