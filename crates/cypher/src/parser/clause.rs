//! Reading clauses, and which clause begins where.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    Clause, Filter, Finish, Hint, HintKind, IndexKind, Let, LetItem, LoadCsv, LoadFormat, Match,
    MatchMode, Unwind, Use, VectorSearch,
};
use crate::literal;
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// The clause that begins here, if one does.
    pub(super) fn clause(&mut self) -> Parsed<Option<Clause>> {
        let start = self.span();
        let T::Keyword(keyword) = self.kind() else {
            self.note(Expected::Clause);
            return Ok(None);
        };
        // Clauses that create one after the other become one operator.
        if keyword.begins_clause() && !matches!(keyword, K::Create | K::Insert) {
            self.part()?;
        }
        let clause = match keyword {
            K::Match => self.match_clause(start, false).map(Clause::Match),
            K::Optional => {
                self.bump();
                if self.kind() == T::Keyword(K::Call) {
                    self.call(start, true)
                } else {
                    self.note(Expected::Token(K::Call.into()));
                    self.match_clause(start, true).map(Clause::Match)
                }
            }
            K::Unwind => self.unwind(start).map(Clause::Unwind),
            K::Let => self.let_clause(start).map(Clause::Let),
            K::Filter => self.filter_clause(start).map(Clause::Filter),
            K::With => self.with(start).map(Clause::With),
            K::Order | K::Skip | K::Offset | K::Limit => {
                self.limits_clause(start).map(Clause::With)
            }
            K::Return => self.return_clause().map(Clause::Return),
            K::Finish => {
                self.bump();
                Ok(Clause::Finish(Finish { span: start }))
            }
            K::Create | K::Insert => self.create(start).map(Clause::Create),
            K::Merge => self.merge(start).map(Clause::Merge),
            K::Set => self.set(start).map(Clause::Set),
            K::Remove => self.remove(start).map(Clause::Remove),
            K::Delete | K::Detach | K::Nodetach => self.delete(start).map(Clause::Delete),
            K::Foreach => self.foreach(start).map(Clause::Foreach),
            K::Call => self.call(start, false),
            K::Load => self.load_csv(start).map(Clause::LoadCsv),
            K::Use => self.use_clause(start).map(Clause::Use),
            _ => {
                self.note(Expected::Clause);
                return Ok(None);
            }
        };
        clause.map(Some)
    }

    /// `WHERE expr`, if it is there.
    pub(super) fn filter(&mut self) -> Parsed<Option<crate::ast::Expr>> {
        if !self.eat(K::Where) {
            return Ok(None);
        }
        self.part()?;
        self.expression().map(Some)
    }

    fn match_clause(&mut self, start: Span, optional: bool) -> Parsed<Match> {
        self.expect(K::Match)?;
        let mode = self.match_mode();
        let patterns = self.list(Self::path_pattern)?;
        let mut hints = Vec::new();
        while let Some(hint) = self.hint()? {
            hints.push(hint);
        }
        let search = if self.is_word("SEARCH") { Some(Box::new(self.search()?)) } else { None };
        let filter = self.filter()?;
        Ok(Match { optional, mode, patterns, hints, search, filter, span: self.since(start) })
    }

    /// `SEARCH n IN (VECTOR INDEX name FOR vector WHERE filter LIMIT count) SCORE AS score`
    fn search(&mut self) -> Parsed<VectorSearch> {
        let start = self.span();
        self.expect_word("SEARCH")?;
        let variable = self.name("a variable")?;
        self.expect(K::In)?;
        self.expect(T::LeftParen)?;
        self.expect_word("VECTOR")?;
        self.expect(K::Index)?;
        let index = self.name_or_parameter("the name of an index")?;
        self.expect(K::For)?;
        let vector = self.expression()?;
        let filter = self.filter()?;
        self.expect(K::Limit)?;
        let limit = self.expression()?;
        self.expect(T::RightParen)?;
        let score = match self.eat_word("SCORE") {
            true => {
                self.expect(K::As)?;
                Some(self.name("a variable")?)
            }
            false => None,
        };
        Ok(VectorSearch { variable, index, vector, filter, limit, score, span: self.since(start) })
    }

    /// `REPEATABLE ELEMENTS` or `DIFFERENT RELATIONSHIPS`, if it is there.
    fn match_mode(&mut self) -> MatchMode {
        let any = |parser: &Self, words: [&str; 2]| words.iter().any(|w| parser.is_word_at(1, w));
        let mode = if self.is_word("REPEATABLE") && any(self, ["ELEMENTS", "ELEMENT"]) {
            MatchMode::RepeatableElements
        } else if self.is_word("DIFFERENT") && any(self, ["RELATIONSHIPS", "RELATIONSHIP"]) {
            MatchMode::DifferentRelationships
        } else {
            return MatchMode::DifferentRelationships;
        };
        self.bump();
        self.bump();
        if self.is_word("BINDINGS") && self.ahead(1) != T::Equal {
            self.bump();
        }
        mode
    }

    fn hint(&mut self) -> Parsed<Option<Hint>> {
        let start = self.span();
        if !self.eat(K::Using) {
            return Ok(None);
        }
        let kind = if self.eat(K::Join) {
            self.expect(K::On)?;
            HintKind::Join { variables: self.list(|parser| parser.name("a variable"))? }
        } else if self.eat(K::Scan) {
            let (variable, label) = self.hint_target()?;
            HintKind::Scan { variable, label }
        } else {
            let kind = IndexKind::IN_HINTS.into_iter().find(|kind| self.eat_word(kind.word()));
            self.expect(K::Index)?;
            let seek = self.is_word("SEEK") && self.ahead(1).is_name();
            if seek {
                self.bump();
            }
            let (variable, label) = self.hint_target()?;
            self.expect(T::LeftParen)?;
            let keys = self.list(|parser| parser.name("a property key"))?;
            self.expect(T::RightParen)?;
            HintKind::Index { kind, seek, variable, label, keys }
        };
        Ok(Some(Hint { kind, span: self.since(start) }))
    }

    /// `variable:Label`
    fn hint_target(&mut self) -> Parsed<(crate::ast::Name, crate::ast::Name)> {
        let variable = self.name("a variable")?;
        self.expect(T::Colon)?;
        Ok((variable, self.name("a label")?))
    }

    fn unwind(&mut self, start: Span) -> Parsed<Unwind> {
        self.bump();
        let list = self.expression()?;
        self.expect(K::As)?;
        let variable = self.name("a variable")?;
        Ok(Unwind { list, variable, span: self.since(start) })
    }

    fn let_clause(&mut self, start: Span) -> Parsed<Let> {
        self.bump();
        let items = self.list(|parser| {
            let variable = parser.name("a variable")?;
            parser.expect(T::Equal)?;
            Ok(LetItem { variable, value: parser.expression()? })
        })?;
        Ok(Let { items, span: self.since(start) })
    }

    fn filter_clause(&mut self, start: Span) -> Parsed<Filter> {
        self.bump();
        if self.kind() == T::Keyword(K::Where) && self.begins_expression_at(1) {
            self.bump();
        }
        let condition = self.expression()?;
        Ok(Filter { condition, span: self.since(start) })
    }

    fn load_csv(&mut self, start: Span) -> Parsed<LoadCsv> {
        self.bump();
        let others = [LoadFormat::Parquet, LoadFormat::Arrow, LoadFormat::Json];
        let format = match others.into_iter().find(|format| self.eat_word(format.word())) {
            Some(format) => format,
            None => {
                self.expect(K::Csv)?;
                LoadFormat::Csv
            }
        };
        let headers = self.eat(K::With);
        if headers {
            self.expect(K::Headers)?;
        }
        self.expect(K::From)?;
        let source = self.expression()?;
        self.expect(K::As)?;
        let variable = self.name("a variable")?;
        let mut terminator = None;
        if format == LoadFormat::Csv && self.eat(K::Fieldterminator) {
            let span = self.expect(T::String)?;
            terminator = Some(literal::string(span.text(self.source), span)?);
        }
        Ok(LoadCsv { format, headers, source, variable, terminator, span: self.since(start) })
    }

    pub(super) fn use_clause(&mut self, start: Span) -> Parsed<Use> {
        self.bump();
        if !self.kind().is_name() {
            self.note(Expected::Text("the name of a graph"));
            return self.fail();
        }
        let graph = self.operand()?;
        Ok(Use { graph, span: self.since(start) })
    }
}
