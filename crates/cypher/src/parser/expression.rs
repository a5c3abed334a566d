//! Expressions: operators by precedence (a Pratt parser), and access behind operands.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    ArithmeticLink, ArithmeticOp, BinaryOp, CompareOp, ComparisonLink, Expr, ExprKind, Literal,
    LogicalOp, NormalForm, UnaryOp,
};
use crate::diagnostic::{Detail, Diagnostic, Diagnostics};
use crate::literal;
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

/// How tightly an operator binds, loosest first; see [`ExprKind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are those of the operators")]
pub enum Level {
    Or = 1,
    Xor,
    And,
    Not,
    Compare,
    Predicate,
    Add,
    Multiply,
    Power,
    Unary,
    Access,
}

impl Level {
    /// The level above, for the right operands of operators that associate to the left.
    #[must_use]
    pub fn tighter(self) -> Level {
        match self {
            Level::Or => Level::Xor,
            Level::Xor => Level::And,
            Level::And => Level::Not,
            Level::Not => Level::Compare,
            Level::Compare => Level::Predicate,
            Level::Predicate => Level::Add,
            Level::Add => Level::Multiply,
            Level::Multiply => Level::Power,
            Level::Power => Level::Unary,
            Level::Unary | Level::Access => Level::Access,
        }
    }

    /// How tightly an operator that computes binds.
    #[must_use]
    pub fn of(op: ArithmeticOp) -> Level {
        match op {
            ArithmeticOp::Add | ArithmeticOp::Subtract | ArithmeticOp::Concatenate => Level::Add,
            ArithmeticOp::Multiply | ArithmeticOp::Divide | ArithmeticOp::Modulo => Level::Multiply,
            ArithmeticOp::Power => Level::Power,
        }
    }

    /// How tightly the operators of a chain bind: all alike.
    pub(crate) fn of_chain(rest: &[ArithmeticLink]) -> Level {
        rest.first().map_or(Level::Access, |link| Level::of(link.op))
    }
}

/// What stands between or behind operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Infix {
    Logical(LogicalOp),
    Compare(CompareOp),
    Arithmetic(ArithmeticOp),
    Binary(BinaryOp),
    /// `IS ...`
    Is,
    /// `::`
    Typed,
}

impl Parser<'_> {
    /// An expression that is the whole text.
    pub(super) fn only_expression(&mut self) -> Result<Expr, Diagnostics> {
        let result = self.expression().and_then(|expression| match self.kind() {
            T::End => Ok(expression),
            _ => self.fail(),
        });
        let mut errors = std::mem::take(&mut self.errors).into_iter();
        match (errors.next(), result) {
            (None, Ok(expression)) => Ok(expression),
            (None, Err(error)) => Err(Diagnostics::from(*error)),
            (Some(first), Ok(_)) => Err(Diagnostics::new(first, errors)),
            (Some(first), Err(last)) => Err(Diagnostics::new(first, errors.chain([*last]))),
        }
    }

    /// An expression.
    pub(super) fn expression(&mut self) -> Parsed<Expr> {
        let outer = std::mem::replace(&mut self.bar_ends, false);
        let result = self.binary(Level::Or);
        self.bar_ends = outer;
        result
    }

    /// An expression that ends at a `|`.
    pub(super) fn expression_before_bar(&mut self) -> Parsed<Expr> {
        let outer = std::mem::replace(&mut self.bar_ends, true);
        let result = self.binary(Level::Or);
        self.bar_ends = outer;
        result
    }

    /// An expression of operators that bind at least as tightly as `least`.
    pub(super) fn binary(&mut self, least: Level) -> Parsed<Expr> {
        self.nested(|parser| {
            let left = parser.prefix()?;
            parser.infixes(left, least)
        })
    }

    /// Operators and operands behind `left`.
    pub(super) fn infixes(&mut self, mut left: Expr, least: Level) -> Parsed<Expr> {
        let mut predicate = false;
        loop {
            let Some((level, infix)) = self.infix() else {
                if self.kind() == T::Word {
                    self.note(Expected::Operator);
                }
                return Ok(left);
            };
            if level < least {
                return Ok(left);
            }
            if predicate && level == Level::Predicate {
                // `x IS NULL IN [true]`: which of them comes first is for parentheses to say.
                let message = format!("{} cannot follow another predicate", self.kind().describe());
                let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.span(), message);
                return Err(Box::new(error.with_help("put parentheses around the first one")));
            }
            predicate = level == Level::Predicate;
            self.grow()?;
            let start = left.span;
            let kind = match infix {
                Infix::Logical(op) => self.logical(left, level, op)?,
                Infix::Compare(_) => self.comparison(left)?,
                Infix::Arithmetic(_) => self.arithmetic(left, level)?,
                Infix::Binary(op) => {
                    self.bump();
                    if matches!(op, BinaryOp::StartsWith | BinaryOp::EndsWith) {
                        self.bump();
                    }
                    let right = Box::new(self.binary(level.tighter())?);
                    ExprKind::Binary { op, left: Box::new(left), right }
                }
                Infix::Is => {
                    self.bump();
                    self.is(left)?
                }
                Infix::Typed => {
                    self.bump();
                    let of = self.type_expr()?;
                    ExprKind::IsTyped { operand: Box::new(left), negated: false, of }
                }
            };
            left = Expr { kind, span: self.since(start) };
        }
    }

    /// The operator that comes next.
    fn infix(&self) -> Option<(Level, Infix)> {
        let binary = |op| Some((Level::Predicate, Infix::Binary(op)));
        let arithmetic = |op: ArithmeticOp| Some((Level::of(op), Infix::Arithmetic(op)));
        let compare = |op| Some((Level::Compare, Infix::Compare(op)));
        match self.kind() {
            T::Keyword(keyword) => match keyword {
                K::Or => Some((Level::Or, Infix::Logical(LogicalOp::Or))),
                K::Xor => Some((Level::Xor, Infix::Logical(LogicalOp::Xor))),
                K::And => Some((Level::And, Infix::Logical(LogicalOp::And))),
                K::In => binary(BinaryOp::In),
                K::Contains => binary(BinaryOp::Contains),
                K::Starts if self.ahead(1) == T::Keyword(K::With) => binary(BinaryOp::StartsWith),
                K::Ends if self.ahead(1) == T::Keyword(K::With) => binary(BinaryOp::EndsWith),
                K::Is => Some((Level::Predicate, Infix::Is)),
                _ => None,
            },
            T::ColonColon => Some((Level::Predicate, Infix::Typed)),
            T::Matches => binary(BinaryOp::Matches),
            T::Equal => compare(CompareOp::Equal),
            T::NotEqual => compare(CompareOp::NotEqual),
            T::Less => compare(CompareOp::Less),
            T::LessOrEqual => compare(CompareOp::LessOrEqual),
            T::Greater => compare(CompareOp::Greater),
            T::GreaterOrEqual => compare(CompareOp::GreaterOrEqual),
            T::Plus => arithmetic(ArithmeticOp::Add),
            T::Minus => arithmetic(ArithmeticOp::Subtract),
            T::BarBar => arithmetic(ArithmeticOp::Concatenate),
            T::Star => arithmetic(ArithmeticOp::Multiply),
            T::Slash => arithmetic(ArithmeticOp::Divide),
            T::Percent => arithmetic(ArithmeticOp::Modulo),
            T::Caret => arithmetic(ArithmeticOp::Power),
            _ => None,
        }
    }

    fn logical(&mut self, left: Expr, level: Level, op: LogicalOp) -> Parsed<ExprKind> {
        let mut operands = vec![left];
        while self.infix() == Some((level, Infix::Logical(op))) {
            self.bump();
            operands.push(self.binary(level.tighter())?);
        }
        Ok(ExprKind::Logical { op, operands })
    }

    fn arithmetic(&mut self, left: Expr, level: Level) -> Parsed<ExprKind> {
        let (first, mut rest) = match left.kind {
            // In parentheses that change nothing.
            ExprKind::Arithmetic { first, rest } if Level::of_chain(&rest) == level => {
                (first, rest)
            }
            kind => (Box::new(Expr { kind, span: left.span }), Vec::new()),
        };
        while let Some((next, Infix::Arithmetic(op))) = self.infix()
            && next == level
        {
            self.bump();
            rest.push(ArithmeticLink { op, operand: self.binary(level.tighter())? });
        }
        Ok(ExprKind::Arithmetic { first, rest })
    }

    fn comparison(&mut self, left: Expr) -> Parsed<ExprKind> {
        let mut rest = Vec::new();
        while let Some((_, Infix::Compare(op))) = self.infix() {
            if self.span().text(self.source) == "!=" {
                let message = "there is no operator '!='";
                let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.span(), message);
                return Err(Box::new(error.with_help("write '<>'")));
            }
            self.bump();
            rest.push(ComparisonLink { op, operand: self.binary(Level::Predicate)? });
        }
        Ok(ExprKind::Comparison { first: Box::new(left), rest })
    }

    /// What follows `IS`.
    fn is(&mut self, operand: Expr) -> Parsed<ExprKind> {
        let operand = Box::new(operand);
        let negated = self.eat(K::Not);
        if self.eat(K::Null) {
            return Ok(ExprKind::IsNull { operand, negated });
        }
        if self.eat(T::ColonColon) || self.eat(K::Typed) {
            let of = self.type_expr()?;
            return Ok(ExprKind::IsTyped { operand, negated, of });
        }
        if self.is_word_at(1, "NORMALIZED") {
            let forms = [
                ("NFC", NormalForm::Nfc),
                ("NFD", NormalForm::Nfd),
                ("NFKC", NormalForm::Nfkc),
                ("NFKD", NormalForm::Nfkd),
            ];
            for (word, form) in forms {
                if self.eat_word(word) {
                    self.bump();
                    return Ok(ExprKind::IsNormalized { operand, negated, form });
                }
            }
        }
        if self.eat_word("NORMALIZED") {
            return Ok(ExprKind::IsNormalized { operand, negated, form: NormalForm::Nfc });
        }
        if negated {
            return self.fail();
        }
        let labels = self.label_expression(!self.bar_ends, true)?;
        Ok(ExprKind::HasLabels { operand, labels })
    }

    fn prefix(&mut self) -> Parsed<Expr> {
        let start = self.span();
        match self.kind() {
            T::Keyword(K::Not) if self.begins_expression_at(1) => {
                self.bump();
                let operand = Box::new(self.binary(Level::Not)?);
                let kind = ExprKind::Unary { op: UnaryOp::Not, operand };
                Ok(Expr { kind, span: self.since(start) })
            }
            T::Minus | T::Plus => self.signed(start),
            _ => self.operand(),
        }
    }

    /// `-expr`, `+expr`, or a negative number.
    fn signed(&mut self, start: Span) -> Parsed<Expr> {
        let minus = self.bump().kind == T::Minus;
        let number = matches!(self.kind(), T::Integer | T::Float);
        let accessed = matches!(self.ahead(1), T::Dot | T::LeftBracket | T::Colon);
        let kind = if minus && number && !accessed {
            let token = self.bump();
            let text = token.span.text(self.source);
            ExprKind::Literal(match token.kind {
                T::Integer => literal::integer(text, token.span, true)?,
                _ => match literal::float(text, token.span)? {
                    Literal::Float(value) => Literal::Float(-value),
                    other => other,
                },
            })
        } else {
            let operand = Box::new(self.nested(|parser| {
                let start = parser.span();
                match parser.kind() {
                    T::Minus | T::Plus => parser.signed(start),
                    _ => parser.operand(),
                }
            })?);
            let op = if minus { UnaryOp::Minus } else { UnaryOp::Plus };
            ExprKind::Unary { op, operand }
        };
        Ok(Expr { kind, span: self.since(start) })
    }

    /// An operand with properties, elements and labels behind it.
    pub(super) fn operand(&mut self) -> Parsed<Expr> {
        let mut expr = self.accessed()?;
        while self.kind() == T::Colon {
            self.bump();
            self.grow()?;
            let start = expr.span;
            let labels = self.label_expression(!self.bar_ends, false)?;
            let operand = Box::new(expr);
            expr = Expr { kind: ExprKind::HasLabels { operand, labels }, span: self.since(start) };
            expr = self.accesses(expr)?;
        }
        Ok(expr)
    }

    /// An operand with properties and elements behind it.
    pub(super) fn accessed(&mut self) -> Parsed<Expr> {
        let expr = self.primary()?;
        self.accesses(expr)
    }

    fn accesses(&mut self, mut expr: Expr) -> Parsed<Expr> {
        loop {
            let start = expr.span;
            let kind = match self.kind() {
                T::Dot => {
                    self.bump();
                    let key = self.name("a property key")?;
                    ExprKind::Property { object: Box::new(expr), key }
                }
                T::LeftBracket => {
                    self.bump();
                    self.index_or_slice(expr)?
                }
                _ => return Ok(expr),
            };
            self.grow()?;
            expr = Expr { kind, span: self.since(start) };
        }
    }

    fn index_or_slice(&mut self, object: Expr) -> Parsed<ExprKind> {
        let object = Box::new(object);
        let from = match self.kind() {
            T::DotDot => None,
            _ => Some(Box::new(self.expression()?)),
        };
        if !self.eat(T::DotDot) {
            self.expect(T::RightBracket)?;
            return match from {
                Some(index) => Ok(ExprKind::Index { object, index }),
                None => self.fail(),
            };
        }
        let to = match self.kind() {
            T::RightBracket => None,
            _ => Some(Box::new(self.expression()?)),
        };
        if from.is_none() && to.is_none() {
            let message = "a slice of a list needs a start, an end, or both";
            return self.refuse(self.span(), message);
        }
        self.expect(T::RightBracket)?;
        Ok(ExprKind::Slice { list: object, from, to })
    }

    /// Whether an expression could begin at the token `ahead` behind the next one.
    pub(super) fn begins_expression_at(&self, ahead: usize) -> bool {
        match self.ahead(ahead) {
            // `RETURN not AS x`, `RETURN case ORDER BY ...`
            T::Keyword(K::As | K::Order | K::Skip | K::Limit | K::Then | K::And | K::Or) => false,
            kind if kind.is_name() => true,
            T::Integer | T::Float | T::BadNumber | T::String | T::Dollar => true,
            T::LeftParen | T::LeftBracket | T::LeftBrace | T::Plus | T::Minus => true,
            _ => false,
        }
    }
}
