//! What expressions are made of: literals, calls, comprehensions, subqueries.

use super::Parsed;
use super::cursor::{Expected, Parser};
use super::expression::Level;
use crate::ast::{
    BinaryOp, Case, CaseBranch, CaseTest, CoordinateName, Expr, ExprKind, FunctionCall,
    ListComprehension, Literal, MapEntry, MapProjection, MapProjectionItem, Name, PathPattern,
    PathSearch, PatternComprehension, QualifiedName, QuantifierExpr, QuantifierKind, Reduce,
    Subquery, SubqueryBody, SubqueryKind,
};
use crate::literal;
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

/// Where `trim` takes characters away, the first if nothing is said.
pub(crate) const TRIM_SIDES: [&str; 3] = ["BOTH", "LEADING", "TRAILING"];

/// How the distance of vectors, or the length of one, can be measured.
const METRICS: [&str; 6] =
    ["EUCLIDEAN", "EUCLIDEAN_SQUARED", "MANHATTAN", "COSINE", "DOT", "HAMMING"];

/// Words that a function takes as its last argument.
#[derive(Debug, Clone, Copy)]
enum Words {
    /// Types of coordinates.
    Coordinates,
    /// Metrics, as the argument with this number, counted from 1.
    Metrics(usize),
    /// None.
    None,
}

impl Words {
    fn of(function: &QualifiedName) -> Self {
        let [name] = &function.parts[..] else { return Self::None };
        match name.text.to_ascii_lowercase().as_str() {
            "vector" => Self::Coordinates,
            "vector_distance" => Self::Metrics(3),
            "vector_norm" => Self::Metrics(2),
            _ => Self::None,
        }
    }
}

/// Which argument of a function may be a word, counted from 1: a variable there stands in
/// backticks.
pub(crate) fn word_place(function: &QualifiedName) -> Option<usize> {
    match Words::of(function) {
        Words::Coordinates => Some(3),
        Words::Metrics(place) => Some(place),
        Words::None => None,
    }
}

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.span();
        let kind = match self.kind() {
            T::LeftParen if self.pattern_at(self.at) => self.pattern_expression(start)?,
            T::LeftParen => {
                self.bump();
                let kind = self.expression()?.kind;
                self.expect(T::RightParen)?;
                kind
            }
            T::LeftBracket => self.bracketed()?,
            T::LeftBrace => ExprKind::Map(self.map_entries()?),
            T::Dollar => ExprKind::Parameter(self.parameter()?),
            T::Integer | T::Float | T::BadNumber | T::String => self.literal()?,
            T::Keyword(keyword) => self.keyword(keyword)?,
            T::Word | T::Quoted => self.named()?,
            _ => {
                self.note(Expected::Text("an expression"));
                return self.fail();
            }
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    fn literal(&mut self) -> Parsed<ExprKind> {
        let token = self.bump();
        let text = token.span.text(self.source);
        let literal = match token.kind {
            T::Integer => literal::integer(text, token.span, false)?,
            T::Float => literal::float(text, token.span)?,
            T::String => Literal::String(literal::string(text, token.span)?),
            _ => return Err(Box::new(literal::malformed(text, token.span))),
        };
        Ok(ExprKind::Literal(literal))
    }

    /// `$name`, `$1`
    pub(super) fn parameter(&mut self) -> Parsed<Name> {
        self.expect(T::Dollar)?;
        if self.kind() == T::Integer {
            let span = self.bump().span;
            return Ok(Name { text: span.text(self.source).into(), span });
        }
        self.name("the name of a parameter")
    }

    /// What begins with a keyword, which may be a name.
    fn keyword(&mut self, keyword: K) -> Parsed<ExprKind> {
        let next = self.ahead(1);
        match keyword {
            K::Null => self.constant(Literal::Null),
            K::True => self.constant(Literal::Bool(true)),
            K::False => self.constant(Literal::Bool(false)),
            K::Case if self.begins_expression_at(1) => self.case(),
            K::Exists if next == T::LeftBrace => self.subquery(SubqueryKind::Exists),
            K::Count if next == T::LeftBrace => self.subquery(SubqueryKind::Count),
            K::Collect if next == T::LeftBrace => self.subquery(SubqueryKind::Collect),
            K::Count if next == T::LeftParen && self.ahead(2) == T::Star => {
                self.bump();
                self.bump();
                self.bump();
                self.expect(T::RightParen)?;
                Ok(ExprKind::CountStar)
            }
            K::All if next == T::LeftParen && self.binds_element(2) => {
                self.quantifier(QuantifierKind::All)
            }
            K::Any if next == T::LeftParen && self.binds_element(2) => {
                self.quantifier(QuantifierKind::Any)
            }
            K::None if next == T::LeftParen && self.binds_element(2) => {
                self.quantifier(QuantifierKind::None)
            }
            K::Single if next == T::LeftParen && self.binds_element(2) => {
                self.quantifier(QuantifierKind::Single)
            }
            K::Reduce
                if next == T::LeftParen && self.ahead(2).is_name() && self.ahead(3) == T::Equal =>
            {
                self.reduce()
            }
            K::ShortestPath | K::AllShortestPaths if next == T::LeftParen => {
                let start = self.span();
                let pattern = self.shortest_function(None, start)?;
                Ok(ExprKind::Pattern(Box::new(pattern)))
            }
            _ => self.named(),
        }
    }

    fn constant(&mut self, literal: Literal) -> Parsed<ExprKind> {
        self.bump();
        Ok(ExprKind::Literal(literal))
    }

    /// Whether the next tokens, behind `ahead` of them, are `name IN`: what binds an element.
    fn binds_element(&self, ahead: usize) -> bool {
        let name = self.ahead(ahead);
        name.is_name()
            && !matches!(name, T::Keyword(K::Null | K::True | K::False))
            && self.ahead(ahead + 1) == T::Keyword(K::In)
    }

    /// A call, a map projection or a variable.
    fn named(&mut self) -> Parsed<ExprKind> {
        let mut ahead = 1;
        while self.ahead(ahead) == T::Dot && self.ahead(ahead + 1).is_name() {
            ahead += 2;
        }
        if self.ahead(ahead) == T::LeftParen {
            return self.function();
        }
        let variable = self.name("an expression")?;
        if self.kind() == T::LeftBrace {
            return self.map_projection(variable);
        }
        Ok(ExprKind::Variable(variable))
    }

    fn function(&mut self) -> Parsed<ExprKind> {
        let name = self.qualified_name("the name of a function")?;
        self.expect(T::LeftParen)?;
        if let [only] = &name.parts[..]
            && only.text.eq_ignore_ascii_case("trim")
            && let Some(arguments) = self.trim_from()?
        {
            let call = FunctionCall { name, distinct: false, arguments };
            return Ok(ExprKind::Function(Box::new(call)));
        }
        let distinct = self.kind() == T::Keyword(K::Distinct) && self.begins_expression_at(1);
        let all = self.kind() == T::Keyword(K::All)
            && self.ahead(1) != T::LeftParen
            && self.begins_expression_at(1);
        if distinct || all {
            self.bump();
        }
        let words = Words::of(&name);
        let mut at = 0;
        let arguments = self.list_until(T::RightParen, |parser| {
            at += 1;
            parser.argument(words, at)
        })?;
        Ok(ExprKind::Function(Box::new(FunctionCall { name, distinct, arguments })))
    }

    /// An argument of a function: an expression, or a word of those that it takes, as a string. The
    /// word is one whatever variables there are.
    fn argument(&mut self, words: Words, at: usize) -> Parsed<Expr> {
        let start = self.span();
        let last = |parser: &Self, ahead: usize| parser.ahead(ahead) == T::RightParen;
        let found = match words {
            Words::Coordinates
                if at == 3 && (last(self, 1) || (self.is_word("SIGNED") && last(self, 2))) =>
            {
                self.coordinate_name_ahead().map(CoordinateName::name)
            }
            Words::Metrics(of) if at == of && last(self, 1) => {
                let found = METRICS.into_iter().find(|metric| self.is_word(metric));
                if found.is_some() {
                    self.bump();
                }
                found
            }
            _ => None,
        };
        match found {
            Some(word) => {
                let kind = ExprKind::Literal(Literal::String(word.into()));
                Ok(Expr { kind, span: self.since(start) })
            }
            None => self.expression(),
        }
    }

    /// `[[BOTH | LEADING | TRAILING] [characters] FROM] text)`, if there is a `FROM`, as arguments:
    /// the side as a string, the characters, if any, and the text.
    fn trim_from(&mut self) -> Parsed<Option<Vec<Expr>>> {
        let Some(from) = self.trim_from_at() else { return Ok(None) };
        let begins = self.at == from || self.at + 1 == from || self.begins_expression_at(1);
        let side = TRIM_SIDES.iter().find(|side| self.at < from && self.is_word(side) && begins);
        let start = self.span();
        if side.is_some() {
            self.bump();
        }
        let kind = ExprKind::Literal(Literal::String((*side.unwrap_or(&TRIM_SIDES[0])).into()));
        let mut arguments = vec![Expr { kind, span: start }];
        if self.at < from {
            arguments.push(self.expression()?);
        }
        self.expect(K::From)?;
        arguments.push(self.expression()?);
        self.expect(T::RightParen)?;
        Ok(Some(arguments))
    }

    /// Index of the `FROM` between the parentheses of a `trim` of which the first was just taken.
    /// `from` may be a variable, too: then it stands where an operand does.
    fn trim_from_at(&self) -> Option<usize> {
        let open = self.at - 1;
        let close = self.close_of(open)?;
        let mut index = self.at;
        while index < close {
            let kind = self.kind_at(index);
            if matches!(kind, T::LeftParen | T::LeftBracket | T::LeftBrace) {
                index = self.close_of(index)?;
            } else if kind == T::Keyword(K::From) {
                let alone = index == open + 1;
                let first = self.text_at(open + 1);
                let sided = index == open + 2
                    && TRIM_SIDES.iter().any(|side| first.eq_ignore_ascii_case(side));
                let next = match self.kind_at(index + 1) {
                    // `from + x`, `from[0]`
                    T::Plus | T::Minus | T::LeftBracket => !alone,
                    _ => self.begins_expression_at(index + 1 - self.at),
                };
                // `$in`, `a.in`, `a:in`: the word is a name there.
                let named = || {
                    use T::{Ampersand, Bar, Colon, Dollar, Dot, Exclamation};
                    let before = self.kind_at(index - 2);
                    matches!(before, Dollar | Dot | Colon | Bar | Ampersand | Exclamation)
                };
                let ends = || ends_operand(self.kind_at(index - 1)) || named();
                let before = alone || sided || ends();
                if next && before {
                    return Some(index);
                }
            }
            index += 1;
        }
        None
    }

    fn map_projection(&mut self, variable: Name) -> Parsed<ExprKind> {
        self.expect(T::LeftBrace)?;
        let items = self.list_until(T::RightBrace, |parser| {
            if parser.eat(T::Dot) {
                if parser.eat(T::Star) {
                    return Ok(MapProjectionItem::AllProperties);
                }
                return Ok(MapProjectionItem::Property(parser.name("a property key")?));
            }
            let name = parser.name("a key or a variable")?;
            if !parser.eat(T::Colon) {
                return Ok(MapProjectionItem::Variable(name));
            }
            let value = parser.expression()?;
            Ok(MapProjectionItem::Entry(MapEntry { key: name, value }))
        })?;
        Ok(ExprKind::MapProjection(Box::new(MapProjection { variable, items })))
    }

    /// `{key: value, ...}`
    pub(super) fn map_entries(&mut self) -> Parsed<Vec<MapEntry>> {
        self.expect(T::LeftBrace)?;
        self.list_until(T::RightBrace, |parser| {
            let key = parser.name("a key")?;
            parser.expect(T::Colon)?;
            Ok(MapEntry { key, value: parser.expression()? })
        })
    }

    /// A list or a comprehension. What both begin with is parsed first; then the next token tells.
    fn bracketed(&mut self) -> Parsed<ExprKind> {
        self.bump();
        if self.binds_element(0) {
            return self.list_comprehension();
        }
        let named = self.kind().is_name() && self.ahead(1) == T::Equal;
        if self.pattern_at(self.at + if named { 2 } else { 0 }) {
            return self.pattern_comprehension(named);
        }
        self.list_until(T::RightBracket, Self::expression).map(ExprKind::List)
    }

    /// The rest of a list whose first element begins with `left`.
    fn list_from(&mut self, left: Expr) -> Parsed<ExprKind> {
        let first = self.nested(|parser| parser.infixes(left, Level::Or))?;
        let mut items = vec![first];
        if self.eat(T::Comma) {
            items.extend(self.list(Self::expression)?);
        }
        self.expect(T::RightBracket)?;
        Ok(ExprKind::List(items))
    }

    fn list_comprehension(&mut self) -> Parsed<ExprKind> {
        let variable = self.name("a variable")?;
        self.expect(K::In)?;
        // Looser operators yield truth values, which are no lists: `[x IN xs AND y]` is a list.
        let outer = std::mem::replace(&mut self.bar_ends, true);
        let list = self.binary(Level::Add);
        self.bar_ends = outer;
        let list = list?;
        if !matches!(self.kind(), T::Keyword(K::Where) | T::Bar | T::RightBracket) {
            let span = variable.span;
            let left = Box::new(Expr { kind: ExprKind::Variable(variable), span });
            let span = span.to(list.span);
            let kind = ExprKind::Binary { op: BinaryOp::In, left, right: Box::new(list) };
            return self.list_from(Expr { kind, span });
        }
        let filter = if self.eat(K::Where) { Some(self.expression_before_bar()?) } else { None };
        let projection = if self.eat(T::Bar) { Some(self.expression()?) } else { None };
        self.expect(T::RightBracket)?;
        let comprehension = ListComprehension { variable, list, filter, projection };
        Ok(ExprKind::ListComprehension(Box::new(comprehension)))
    }

    fn pattern_comprehension(&mut self, named: bool) -> Parsed<ExprKind> {
        let start = self.span();
        let mut variable = None;
        if named {
            variable = Some(self.name("a variable")?);
            self.expect(T::Equal)?;
        }
        let parts = self.path_parts()?;
        let span = self.since(start);
        let pattern = PathPattern { variable, search: PathSearch::All, parts, span };
        if !named && !matches!(self.kind(), T::Keyword(K::Where) | T::Bar) {
            let kind = ExprKind::Pattern(Box::new(pattern));
            return self.list_from(Expr { kind, span });
        }
        let filter = if self.eat(K::Where) { Some(self.expression_before_bar()?) } else { None };
        self.expect(T::Bar)?;
        let projection = self.expression()?;
        self.expect(T::RightBracket)?;
        let comprehension = PatternComprehension { pattern, filter, projection };
        Ok(ExprKind::PatternComprehension(Box::new(comprehension)))
    }

    fn quantifier(&mut self, kind: QuantifierKind) -> Parsed<ExprKind> {
        self.bump();
        self.expect(T::LeftParen)?;
        let variable = self.name("a variable")?;
        self.expect(K::In)?;
        let list = self.expression()?;
        self.expect(K::Where)?;
        let filter = self.expression()?;
        self.expect(T::RightParen)?;
        Ok(ExprKind::Quantifier(Box::new(QuantifierExpr { kind, variable, list, filter })))
    }

    fn reduce(&mut self) -> Parsed<ExprKind> {
        self.bump();
        self.expect(T::LeftParen)?;
        let accumulator = self.name("a variable")?;
        self.expect(T::Equal)?;
        let initial = self.expression()?;
        self.expect(T::Comma)?;
        let variable = self.name("a variable")?;
        self.expect(K::In)?;
        let list = self.expression_before_bar()?;
        self.expect(T::Bar)?;
        let step = self.expression()?;
        self.expect(T::RightParen)?;
        let reduce = Reduce { accumulator, initial, variable, list, step };
        Ok(ExprKind::Reduce(Box::new(reduce)))
    }

    fn case(&mut self) -> Parsed<ExprKind> {
        self.bump();
        let operand =
            if self.kind() == T::Keyword(K::When) { None } else { Some(self.expression()?) };
        let mut branches = Vec::new();
        while self.eat(K::When) {
            let tests = match operand {
                Some(_) => self.list(Self::case_test)?,
                None => vec![CaseTest::Value(self.expression()?)],
            };
            self.expect(K::Then)?;
            branches.push(CaseBranch { tests, value: self.expression()? });
        }
        if branches.is_empty() {
            return self.fail();
        }
        let default = if self.eat(K::Else) { Some(self.expression()?) } else { None };
        self.expect(K::EndKeyword)?;
        Ok(ExprKind::Case(Box::new(Case { operand, branches, default })))
    }

    /// A value to compare the operand with, or a test that begins with an operator.
    fn case_test(&mut self) -> Parsed<CaseTest> {
        let word_operator = match self.kind() {
            T::Keyword(K::Is | K::In | K::Contains) => {
                !matches!(self.ahead(1), T::Keyword(K::Then) | T::Comma | T::Dot)
            }
            T::Keyword(K::Starts | K::Ends) => self.ahead(1) == T::Keyword(K::With),
            _ => false,
        };
        let operator = matches!(
            self.kind(),
            T::Equal
                | T::NotEqual
                | T::Less
                | T::LessOrEqual
                | T::Greater
                | T::GreaterOrEqual
                | T::Matches
                | T::ColonColon
        );
        if !word_operator && !operator {
            return self.expression().map(CaseTest::Value);
        }
        let start = self.span().start();
        let operand = Expr { kind: ExprKind::CaseOperand, span: Span::new(start, start) };
        self.nested(|parser| parser.infixes(operand, Level::Compare)).map(CaseTest::Holds)
    }

    fn subquery(&mut self, kind: SubqueryKind) -> Parsed<ExprKind> {
        self.bump();
        self.expect(T::LeftBrace)?;
        // A word begins a clause, unless it is the variable of a path.
        let clause = match self.kind() {
            T::Keyword(keyword) => keyword.begins_clause() && self.ahead(1) != T::Equal,
            _ => false,
        };
        let body = if clause || kind == SubqueryKind::Collect {
            SubqueryBody::Query(self.query(false)?)
        } else {
            self.note(Expected::Clause);
            let patterns = self.list(Self::path_pattern)?;
            SubqueryBody::Pattern { patterns, filter: self.filter()? }
        };
        self.expect(T::RightBrace)?;
        Ok(ExprKind::Subquery(Box::new(Subquery { kind, body })))
    }

    fn pattern_expression(&mut self, start: Span) -> Parsed<ExprKind> {
        let parts = self.path_parts()?;
        let span = self.since(start);
        let pattern = PathPattern { variable: None, search: PathSearch::All, parts, span };
        Ok(ExprKind::Pattern(Box::new(pattern)))
    }
}

/// Whether an operand may end with such a token.
fn ends_operand(kind: T) -> bool {
    match kind {
        T::Keyword(keyword) => !matches!(
            keyword,
            K::And
                | K::Or
                | K::Xor
                | K::Not
                | K::In
                | K::Is
                | K::With
                | K::Contains
                | K::Case
                | K::When
                | K::Then
                | K::Else
        ),
        T::Word | T::Quoted | T::Integer | T::Float | T::BadNumber | T::String => true,
        T::RightParen | T::RightBracket | T::RightBrace => true,
        _ => false,
    }
}
