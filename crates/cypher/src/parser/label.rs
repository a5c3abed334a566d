//! Label expressions.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{LabelExpr, LabelExprKind};
use crate::token::{Keyword as K, TokenKind as T};

impl Parser<'_> {
    /// `A|B&!C`, behind the first colon. Without `bars` a `|` ends it.
    pub(super) fn label_expression(&mut self, bars: bool) -> Parsed<LabelExpr> {
        self.nested(|parser| {
            let start = parser.span();
            let first = parser.label_conjunction()?;
            if !bars || parser.kind() != T::Bar {
                return Ok(first);
            }
            let mut any = vec![first];
            while parser.eat(T::Bar) {
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
        while self.eat(T::Ampersand) || self.eat(T::Colon) {
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
                let kind = self.label_expression(true)?.kind;
                self.expect(T::RightParen)?;
                kind
            }
            T::Exclamation => {
                self.bump();
                LabelExprKind::Not(Box::new(self.nested(Self::label_primary)?))
            }
            T::Percent => {
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
