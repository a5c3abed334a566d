//! Patterns of paths.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    ArrowDirection, Count, Expr, ExprKind, GroupPattern, LabelExpr, Literal, Name, NodePattern,
    PathLength, PathPart, PathPattern, PathSearch, Quantifier, RelationshipPattern,
};
use crate::diagnostic::{Detail, Diagnostic};
use crate::literal;
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// `p = ANY SHORTEST (a)-[r]->(b)`
    pub(super) fn path_pattern(&mut self) -> Parsed<PathPattern> {
        self.nested(|parser| {
            let start = parser.span();
            let mut variable = None;
            if parser.kind().is_name() && parser.ahead(1) == T::Equal {
                variable = Some(parser.name("a variable")?);
                parser.bump();
            }
            let function =
                matches!(parser.kind(), T::Keyword(K::ShortestPath | K::AllShortestPaths));
            if function {
                return parser.shortest_function(variable, start);
            }
            let search = parser.path_search()?;
            let parts = parser.path_parts()?;
            Ok(PathPattern { variable, search, parts, span: parser.since(start) })
        })
    }

    /// `shortestPath((a)-[*]-(b))`
    pub(super) fn shortest_function(
        &mut self,
        variable: Option<Name>,
        start: Span,
    ) -> Parsed<PathPattern> {
        let search = match self.bump().kind {
            T::Keyword(K::ShortestPath) => PathSearch::ShortestPath,
            _ => PathSearch::AllShortestPaths,
        };
        self.expect(T::LeftParen)?;
        let parts = self.path_parts()?;
        self.expect(T::RightParen)?;
        Ok(PathPattern { variable, search, parts, span: self.since(start) })
    }

    /// `ALL SHORTEST`, `ANY 2 PATHS`, `SHORTEST 3 GROUPS`, ...
    fn path_search(&mut self) -> Parsed<PathSearch> {
        let search = if self.eat(K::All) {
            if self.eat(K::Shortest) { PathSearch::AllShortest } else { PathSearch::All }
        } else if self.eat(K::Any) {
            if self.eat(K::Shortest) {
                PathSearch::Shortest(Count::Literal(1))
            } else {
                PathSearch::Any(self.count()?)
            }
        } else if self.eat(K::Shortest) {
            let count = self.count()?;
            let one = count.is_none();
            let count = count.unwrap_or(Count::Literal(1));
            self.path_word();
            if self.eat(K::Groups) || self.eat_any(&["GROUP"]) {
                match count {
                    Count::Literal(1) => PathSearch::AllShortest,
                    count => PathSearch::ShortestGroups(count),
                }
            } else if one {
                self.note(Expected::Text("the number of paths"));
                return self.fail();
            } else {
                PathSearch::Shortest(count)
            }
        } else {
            return Ok(PathSearch::All);
        };
        self.path_word();
        Ok(search)
    }

    fn path_word(&mut self) {
        if self.is_word("PATHS") || self.is_word("PATH") {
            self.bump();
        }
    }

    fn count(&mut self) -> Parsed<Option<Count>> {
        match self.kind() {
            T::Integer => self.unsigned().map(|count| Some(Count::Literal(count))),
            T::Dollar => self.parameter().map(|name| Some(Count::Parameter(name))),
            _ => Ok(None),
        }
    }

    fn unsigned(&mut self) -> Parsed<u64> {
        let span = self.expect(T::Integer)?;
        match literal::integer(span.text(self.source), span, false)? {
            Literal::Int(value) => Ok(value.unsigned_abs()),
            _ => self.fail(),
        }
    }

    /// Nodes, relationships and groups in turn.
    pub(super) fn path_parts(&mut self) -> Parsed<Vec<PathPart>> {
        let mut parts = vec![self.node_or_group()?];
        loop {
            let after_group = matches!(parts.last(), Some(PathPart::Group(_)));
            match self.kind() {
                T::Minus | T::Less if after_group => {
                    let message = "a relationship stands between nodes, not behind parentheses";
                    return self.refuse(self.span(), message);
                }
                T::Minus | T::Less => {
                    parts.push(PathPart::Relationship(self.relationship()?));
                    parts.push(PathPart::Node(self.node()?));
                }
                T::LeftParen if after_group || self.group_at(self.at) => {
                    parts.push(self.node_or_group()?);
                }
                T::LeftParen => {
                    let message = "between two nodes there must be a relationship";
                    return self.refuse(self.span(), message);
                }
                _ => {
                    self.note(Expected::Text("a relationship"));
                    return Ok(parts);
                }
            }
        }
    }

    fn node_or_group(&mut self) -> Parsed<PathPart> {
        if self.group_at(self.at) {
            self.nested(Self::group).map(PathPart::Group)
        } else {
            self.node().map(PathPart::Node)
        }
    }

    /// Whether the bracket at token `index` holds a path rather than a node.
    fn group_at(&self, index: usize) -> bool {
        self.kind_at(index) == T::LeftParen
            && (self.kind_at(index + 1) == T::LeftParen
                || self.kind_at(index + 1).is_name() && self.kind_at(index + 2) == T::Equal)
    }

    fn group(&mut self) -> Parsed<GroupPattern> {
        let start = self.expect(T::LeftParen)?;
        let inside = self.span();
        let mut variable = None;
        if self.kind().is_name() {
            variable = Some(self.name("a variable")?);
            self.expect(T::Equal)?;
        }
        let parts = self.path_parts()?;
        let span = self.since(inside);
        let path = PathPattern { variable, search: PathSearch::All, parts, span };
        let filter = self.filter()?;
        self.expect(T::RightParen)?;
        let quantifier = self.quantifier_mark()?;
        Ok(GroupPattern { path, filter, quantifier, span: self.since(start) })
    }

    /// `+`, `*`, `{2}`, `{1,3}`
    fn quantifier_mark(&mut self) -> Parsed<Option<Quantifier>> {
        let start = self.span();
        let (min, max) = match self.kind() {
            T::Plus => {
                self.bump();
                (1, None)
            }
            T::Star => {
                self.bump();
                (0, None)
            }
            T::LeftBrace => {
                self.bump();
                let min = if self.kind() == T::Integer { Some(self.unsigned()?) } else { None };
                let mut max = min;
                if self.eat(T::Comma) {
                    max = if self.kind() == T::Integer { Some(self.unsigned()?) } else { None };
                } else if min.is_none() {
                    self.note(Expected::Token(T::Integer));
                    return self.fail();
                }
                self.expect(T::RightBrace)?;
                (min.unwrap_or(0), max)
            }
            _ => return Ok(None),
        };
        Ok(Some(Quantifier { min, max, span: self.since(start) }))
    }

    fn node(&mut self) -> Parsed<NodePattern> {
        let start = self.span();
        if !self.eat(T::LeftParen) {
            self.note(Expected::Text("a node"));
            return self.fail();
        }
        let variable = self.element_variable()?;
        let labels = self.node_labels()?;
        let properties = self.element_properties()?;
        let filter = self.filter()?;
        self.expect(T::RightParen)?;
        let span = self.since(start);
        Ok(NodePattern { variable, labels, properties, filter, span })
    }

    /// The variable of a node or relationship: a name, unless it is a word that begins what may
    /// come after it.
    fn element_variable(&mut self) -> Parsed<Option<Name>> {
        let next = self.ahead(1);
        let word = match self.kind() {
            T::Keyword(K::Where) => self.begins_expression_at(1),
            T::Keyword(K::Is) => {
                let begins = matches!(next, T::Exclamation | T::Percent | T::LeftParen);
                begins || next.is_name() && next != T::Keyword(K::Where)
            }
            kind => !kind.is_name(),
        };
        if word {
            self.note(Expected::Text("a variable"));
            return Ok(None);
        }
        self.name("a variable").map(Some)
    }

    fn element_labels(&mut self) -> Parsed<Option<LabelExpr>> {
        self.colon_after_bar = None;
        let is = self.eat(K::Is);
        if is || self.eat(T::Colon) { self.label_expression(true, is).map(Some) } else { Ok(None) }
    }

    fn node_labels(&mut self) -> Parsed<Option<LabelExpr>> {
        let labels = self.element_labels()?;
        let Some(colon) = self.colon_after_bar.take() else { return Ok(labels) };
        let message = "'|:' cannot stand between the labels of a node";
        let error = Diagnostic::syntax(Detail::UnexpectedSyntax, colon, message);
        Err(Box::new(error.with_help("write '|' without the colon")))
    }

    fn element_properties(&mut self) -> Parsed<Option<Expr>> {
        let start = self.span();
        let kind = match self.kind() {
            T::LeftBrace => ExprKind::Map(self.nested(Self::map_entries)?),
            T::Dollar => ExprKind::Parameter(self.parameter()?),
            _ => {
                self.note(Expected::Text("properties"));
                return Ok(None);
            }
        };
        Ok(Some(Expr { kind, span: self.since(start) }))
    }

    fn relationship(&mut self) -> Parsed<RelationshipPattern> {
        let start = self.span();
        let left = self.eat(T::Less);
        self.expect(T::Minus)?;
        let mut pattern = RelationshipPattern {
            direction: ArrowDirection::Either,
            variable: None,
            types: None,
            length: None,
            properties: None,
            filter: None,
            quantifier: None,
            span: start,
        };
        if self.eat(T::LeftBracket) {
            self.relationship_head(&mut pattern).map_err(invalid_relationship)?;
            let colon = self.colon_after_bar.take();
            pattern.properties = self.element_properties()?;
            pattern.filter = self.filter()?;
            self.expect(T::RightBracket).map_err(invalid_relationship)?;
            let plain = pattern.variable.is_none()
                && pattern.length.is_none()
                && pattern.properties.is_none()
                && pattern.filter.is_none();
            if let Some(colon) = colon.filter(|_| !plain) {
                let message = "'|:' cannot stand beside a variable, a length or a condition";
                let error = Diagnostic::syntax(Detail::UnexpectedSyntax, colon, message);
                return Err(Box::new(error.with_help("write '|' without the colon")));
            }
        }
        self.expect(T::Minus)?;
        let right = self.eat(T::Greater);
        pattern.direction = match (left, right) {
            (true, false) => ArrowDirection::Left,
            (false, true) => ArrowDirection::Right,
            _ => ArrowDirection::Either,
        };
        pattern.quantifier = self.quantifier_mark()?;
        pattern.span = self.since(start);
        Ok(pattern)
    }

    /// `variable:TYPE*1..2`
    fn relationship_head(&mut self, pattern: &mut RelationshipPattern) -> Parsed<()> {
        pattern.variable = self.element_variable()?;
        pattern.types = self.element_labels()?;
        let start = self.span();
        if self.eat(T::Star) {
            let min = if self.kind() == T::Integer { Some(self.unsigned()?) } else { None };
            let mut max = min;
            if self.eat(T::DotDot) {
                max = if self.kind() == T::Integer { Some(self.unsigned()?) } else { None };
            }
            pattern.length = Some(PathLength { min, max, span: self.since(start) });
        }
        Ok(())
    }

    /// Whether a pattern begins at token `index`, and not an expression in parentheses: a node
    /// with a relationship behind it. Looks at a few tokens, however long the node is.
    pub(super) fn pattern_at(&self, index: usize) -> bool {
        if self.kind_at(index) != T::LeftParen {
            return false;
        }
        let Some(close) = self.node_end(index) else { return false };
        let mut next = close + 1;
        let left = self.kind_at(next) == T::Less;
        next += usize::from(left);
        if self.kind_at(next) != T::Minus {
            return false;
        }
        next += 1;
        if self.kind_at(next) == T::LeftBracket {
            return self.close_of(next).is_some_and(|close| self.kind_at(close + 1) == T::Minus);
        }
        // `(a)--b`, `(a)--(1)` and `(a)<--1` are arithmetic.
        self.kind_at(next) == T::Minus
            && match self.kind_at(next + 1) {
                T::LeftParen => self.node_end(next + 1).is_some(),
                kind => kind == T::Greater,
            }
    }
}

impl Parser<'_> {
    /// The token that closes the bracket at `index`, if what is inside has the form of a node.
    ///
    /// Label expressions are the only part that is looked at in length, and no token is part of
    /// two that begin at different brackets, except inside brackets that are passed over.
    fn node_end(&self, index: usize) -> Option<usize> {
        let close = self.close_of(index)?;
        let mut at = index + 1;
        if self.is_operator_at(at) {
            return None;
        }
        if self.kind_at(at).is_name() && self.kind_at(at) != T::Keyword(K::Where) {
            at += 1;
        }
        match self.kind_at(at) {
            T::Colon => at = self.labels_end(at + 1)?,
            // `(n IS NULL)` is an expression.
            T::Keyword(K::Is)
                if self.kind_at(at + 1) != T::Keyword(K::Null)
                    && !self.text_at(at + 1).eq_ignore_ascii_case("NORMALIZED") =>
            {
                at = self.labels_end(at + 1)?;
            }
            _ => {}
        }
        match self.kind_at(at) {
            T::LeftBrace => at = self.close_of(at)? + 1,
            T::Dollar => at += 2,
            _ => {}
        }
        (at == close || self.kind_at(at) == T::Keyword(K::Where)).then_some(close)
    }

    /// Whether a word that could name a variable is an operator of what follows: `NOT $a`,
    /// `COUNT {(a)-->()}`.
    fn is_operator_at(&self, at: usize) -> bool {
        let next = self.kind_at(at + 1);
        match self.kind_at(at) {
            T::Keyword(K::Not) => matches!(next, T::Dollar | T::LeftBrace),
            T::Keyword(K::Exists | K::Count | K::Collect) if next == T::LeftBrace => {
                let map = self.kind_at(at + 2).is_name() && self.kind_at(at + 3) == T::Colon;
                !map && self.kind_at(at + 2) != T::RightBrace
            }
            _ => false,
        }
    }

    /// The token behind the label expression that begins at token `at`.
    fn labels_end(&self, mut at: usize) -> Option<usize> {
        loop {
            while self.kind_at(at) == T::Exclamation {
                at += 1;
            }
            match self.kind_at(at) {
                T::LeftParen => at = self.close_of(at)? + 1,
                T::Dollar => {
                    at += 1 + usize::from(self.kind_at(at + 1).is_name());
                    at = self.close_of(at)? + 1;
                }
                T::Percent => at += 1,
                kind if kind.is_name() => at += 1,
                _ => return None,
            }
            match self.kind_at(at) {
                T::Ampersand | T::Colon => at += 1,
                T::Bar => at += 1 + usize::from(self.kind_at(at + 1) == T::Colon),
                _ => return Some(at),
            }
        }
    }
}

/// What is wrong between the brackets is wrong with the pattern.
fn invalid_relationship(mut error: Box<Diagnostic>) -> Box<Diagnostic> {
    if error.detail == Detail::UnexpectedSyntax {
        error.detail = Detail::InvalidRelationshipPattern;
    }
    error
}
