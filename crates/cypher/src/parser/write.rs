//! Updating clauses.

use super::Parsed;
use super::cursor::{Expected, Parser};
use crate::ast::{
    Clause, Create, Delete, Expr, ExprKind, Foreach, LabelRef, Merge, MergeAction, Name, Remove,
    RemoveItem, RemoveItemKind, Set, SetItem, SetItemKind,
};
use crate::diagnostic::{Detail, Diagnostic};
use crate::span::Span;
use crate::token::{Keyword as K, TokenKind as T};

/// What `SET` and `REMOVE` work on.
enum Target {
    Property(Expr, Name),
    DynamicProperty(Expr, Expr),
    Variable(Name),
}

impl Parser<'_> {
    pub(super) fn create(&mut self, start: Span) -> Parsed<Create> {
        self.bump();
        let patterns = self.list(Self::path_pattern)?;
        Ok(Create { patterns, span: self.since(start) })
    }

    pub(super) fn merge(&mut self, start: Span) -> Parsed<Merge> {
        self.bump();
        let pattern = self.path_pattern()?;
        let mut actions = Vec::new();
        loop {
            let start = self.span();
            if !self.eat(K::On) {
                break;
            }
            let on_create = self.eat(K::Create);
            if !on_create {
                self.expect(K::Match)?;
            }
            self.expect(K::Set)?;
            let items = self.list(Self::set_item)?;
            actions.push(MergeAction { on_create, items, span: self.since(start) });
        }
        Ok(Merge { pattern, actions, span: self.since(start) })
    }

    pub(super) fn set(&mut self, start: Span) -> Parsed<Set> {
        self.bump();
        let items = self.list(Self::set_item)?;
        Ok(Set { items, span: self.since(start) })
    }

    fn set_item(&mut self) -> Parsed<SetItem> {
        let start = self.span();
        let kind = match self.target()? {
            Target::Property(object, key) => {
                self.expect(T::Equal)?;
                SetItemKind::Property { object, key, value: self.expression()? }
            }
            Target::DynamicProperty(object, key) => {
                self.expect(T::Equal)?;
                SetItemKind::DynamicProperty { object, key, value: self.expression()? }
            }
            Target::Variable(variable) => {
                if self.eat(T::Equal) {
                    SetItemKind::Replace { variable, value: self.expression()? }
                } else if self.eat(T::PlusEqual) {
                    SetItemKind::Merge { variable, value: self.expression()? }
                } else {
                    SetItemKind::Labels { variable, labels: self.label_refs()? }
                }
            }
        };
        Ok(SetItem { kind, span: self.since(start) })
    }

    pub(super) fn remove(&mut self, start: Span) -> Parsed<Remove> {
        self.bump();
        let items = self.list(|parser| {
            let start = parser.span();
            let kind = match parser.target()? {
                Target::Property(object, key) => RemoveItemKind::Property { object, key },
                Target::DynamicProperty(object, key) => {
                    RemoveItemKind::DynamicProperty { object, key }
                }
                Target::Variable(variable) => {
                    RemoveItemKind::Labels { variable, labels: parser.label_refs()? }
                }
            };
            Ok(RemoveItem { kind, span: parser.since(start) })
        })?;
        Ok(Remove { items, span: self.since(start) })
    }

    /// A property, or a variable whose labels or properties come next.
    fn target(&mut self) -> Parsed<Target> {
        let expr = self.nested(Self::accessed)?;
        match expr.kind {
            ExprKind::Property { object, key } => Ok(Target::Property(*object, key)),
            ExprKind::Index { object, index } => Ok(Target::DynamicProperty(*object, *index)),
            ExprKind::Variable(name) => Ok(Target::Variable(name)),
            _ => {
                let message = "expected a property or a variable here";
                self.refuse(expr.span, message)
            }
        }
    }

    /// `:A:B`, `:$(expr)`, `IS A`
    fn label_refs(&mut self) -> Parsed<Vec<LabelRef>> {
        let start = self.span();
        let is = self.eat(K::Is);
        if self.kind() != T::Colon && !is {
            self.note(Expected::Token(T::Colon));
            self.note(Expected::Token(T::Dot));
            return self.fail();
        }
        if !is {
            self.expect(T::Colon)?;
        }
        let mut labels = Vec::new();
        loop {
            if self.eat(T::Dollar) {
                self.expect(T::LeftParen)?;
                let names = self.expression()?;
                self.expect(T::RightParen)?;
                labels.push(LabelRef::Dynamic(names));
            } else {
                labels.push(LabelRef::Static(self.name("a label")?));
            }
            if !self.eat(T::Colon) {
                break;
            }
        }
        if is && labels.len() > 1 {
            let message = "IS takes one label here";
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, self.since(start), message);
            return Err(Box::new(error.with_help("write n IS A, n IS B")));
        }
        Ok(labels)
    }

    pub(super) fn delete(&mut self, start: Span) -> Parsed<Delete> {
        let detach = self.eat(K::Detach);
        if !detach {
            self.eat(K::Nodetach);
        }
        self.expect(K::Delete)?;
        let targets = self.list(Self::expression)?;
        for target in &targets {
            if let ExprKind::HasLabels { .. } = target.kind {
                let message = "DELETE deletes nodes, relationships and paths, not their labels";
                let error = Diagnostic::syntax(Detail::InvalidDelete, target.span, message);
                return Err(Box::new(error.with_help("labels are removed with REMOVE n:Label")));
            }
        }
        Ok(Delete { detach, targets, span: self.since(start) })
    }

    pub(super) fn foreach(&mut self, start: Span) -> Parsed<Foreach> {
        self.bump();
        self.expect(T::LeftParen)?;
        let variable = self.name("a variable")?;
        self.expect(K::In)?;
        let list = self.expression_before_bar()?;
        self.expect(T::Bar)?;
        let updates = self.nested(|parser| {
            let mut updates = Vec::new();
            loop {
                let span = parser.span();
                match parser.clause()? {
                    Some(
                        clause @ (Clause::Create(_)
                        | Clause::Merge(_)
                        | Clause::Set(_)
                        | Clause::Remove(_)
                        | Clause::Delete(_)
                        | Clause::Foreach(_)),
                    ) => updates.push(clause),
                    Some(_) => {
                        let message = "only updating clauses can stand inside FOREACH";
                        let error =
                            Diagnostic::syntax(Detail::InvalidClauseComposition, span, message);
                        return Err(Box::new(error.with_help("use a CALL subquery")));
                    }
                    None if updates.is_empty() => return parser.fail(),
                    None => return Ok(updates),
                }
            }
        })?;
        self.expect(T::RightParen)?;
        Ok(Foreach { variable, list, updates, span: self.since(start) })
    }
}
