//! Label expressions.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{LabelExpr, LabelExprKind};
use crate::diagnostic::{Detail, Diagnostic};
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

/// Signs between the labels of an expression.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LabelSigns {
    /// The first colon between two of them.
    colon: Option<Span>,
    /// `|`, `&`, `!` or `%` stands somewhere.
    other: bool,
}

impl Parser<'_> {
    /// `A|B&!C`, behind the first colon or, if `is`, behind `IS`. Without `bars` a `|` ends it.
    /// Colons between labels are a notation of their own: they mix with no other.
    pub(super) fn label_expression(&mut self, bars: bool, is: bool) -> Parsed<LabelExpr> {
        let around = std::mem::take(&mut self.label_signs);
        let labels = self.label_disjunction(bars);
        let signs = std::mem::replace(&mut self.label_signs, around);
        let labels = labels?;
        let Some(colon) = signs.colon.filter(|_| is || signs.other) else { return Ok(labels) };
        let message = match is {
            true => "after IS labels are put together with '&', not with ':'",
            false => "':' between labels cannot be mixed with '|', '&', '!' and '%'",
        };
        let error = Diagnostic::syntax(Detail::UnexpectedSyntax, colon, message);
        Err(Box::new(error.with_help("write '&' instead of ':'")))
    }

    fn label_disjunction(&mut self, bars: bool) -> Parsed<LabelExpr> {
        self.nested(|parser| {
            let start = parser.span();
            let first = parser.label_conjunction()?;
            if !bars || parser.kind() != T::Bar {
                return Ok(first);
            }
            let mut any = vec![first];
            while parser.eat(T::Bar) {
                parser.label_signs.other = true;
                // `[:A|:B]`, as it was once written.
                let colon = parser.span();
                if parser.eat(T::Colon) {
                    parser.colon_after_bar = Some(colon);
                }
                any.push(parser.label_conjunction()?);
            }
            parser.grow()?;
            Ok(LabelExpr { kind: LabelExprKind::Or(any), span: parser.since(start) })
        })
    }

    fn label_conjunction(&mut self) -> Parsed<LabelExpr> {
        let start = self.span();
        let first = self.label_primary()?;
        let mut all = vec![first];
        loop {
            let colon = self.span();
            if self.eat(T::Ampersand) {
                self.label_signs.other = true;
            } else if self.eat(T::Colon) {
                self.label_signs.colon.get_or_insert(colon);
            } else {
                break;
            }
            all.push(self.label_primary()?);
        }
        if all.len() == 1
            && let Some(only) = all.pop()
        {
            return Ok(only);
        }
        self.grow()?;
        Ok(LabelExpr { kind: LabelExprKind::And(all), span: self.since(start) })
    }

    fn label_primary(&mut self) -> Parsed<LabelExpr> {
        let start = self.span();
        let kind = match self.kind() {
            T::LeftParen => {
                self.bump();
                let kind = self.label_disjunction(true)?.kind;
                self.expect(T::RightParen)?;
                kind
            }
            T::Exclamation => {
                self.label_signs.other = true;
                self.bump();
                LabelExprKind::Not(Box::new(self.nested(Self::label_primary)?))
            }
            T::Percent => {
                self.label_signs.other = true;
                self.bump();
                LabelExprKind::Wildcard
            }
            T::Dollar => {
                self.bump();
                let any = self.eat(K::Any);
                if !any {
                    self.eat(K::All);
                }
                self.expect(T::LeftParen)?;
                let names = Box::new(self.expression()?);
                self.expect(T::RightParen)?;
                LabelExprKind::Dynamic { names, any }
            }
            kind if kind.is_name() => LabelExprKind::Label(self.name("a label")?),
            _ => {
                self.note(Expected::Text("a label or type"));
                return self.fail();
            }
        };
        Ok(LabelExpr { kind, span: self.since(start) })
    }
}
