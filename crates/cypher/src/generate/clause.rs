//! Random clauses.

use super::{DEPTH_MAX, Generator};
use crate::ast::*;
use crate::span::Span;

const NO_SPAN: Span = Span::new(0, 0);

impl Generator<'_> {
    fn search(&mut self) -> VectorSearch {
        VectorSearch {
            variable: self.name(),
            index: self.name_or_parameter(),
            vector: self.expr(),
            filter: self.maybe(Self::expr),
            limit: self.expr(),
            score: self.maybe(Self::name),
            span: NO_SPAN,
        }
    }

    pub(super) fn clause(&mut self) -> Clause {
        let span = NO_SPAN;
        match self.pick(14) {
            0 => Clause::Return(self.return_clause()),
            1 | 2 => Clause::Match(Match {
                optional: self.chance(),
                mode: self
                    .one_of(&[MatchMode::DifferentRelationships, MatchMode::RepeatableElements]),
                patterns: self.some(1, Self::path),
                hints: self.some(0, Self::hint),
                search: if self.pick(8) == 0 { Some(Box::new(self.search())) } else { None },
                filter: self.maybe(Self::expr),
                span,
            }),
            3 => Clause::Unwind(Unwind { list: self.expr(), variable: self.name(), span }),
            4 | 5 => {
                let projection = self.projection();
                Clause::With(With { projection, filter: self.maybe(Self::expr), span })
            }
            6 => Clause::Call(self.call()),
            7 if self.depth < DEPTH_MAX => Clause::CallSubquery(Box::new(self.call_subquery())),
            8 => {
                let format = self.one_of(&LoadFormat::ALL);
                let csv = format == LoadFormat::Csv;
                Clause::LoadCsv(LoadCsv {
                    format,
                    headers: self.chance(),
                    source: self.expr(),
                    variable: self.name(),
                    terminator: self.maybe(|g| g.one_of(&[";", "\t", "'"]).into()).filter(|_| csv),
                    span,
                })
            }
            9 if self.chance() => Clause::Finish(Finish { span }),
            9 => Clause::Use(self.use_clause()),
            10 => {
                let items = self.some(1, |g| LetItem { variable: g.name(), value: g.expr() });
                Clause::Let(Let { items, span })
            }
            11 => Clause::Filter(Filter { condition: self.expr(), span }),
            _ => self.update(),
        }
    }

    pub(super) fn use_clause(&mut self) -> Use {
        Use { graph: self.graph(), span: NO_SPAN }
    }

    fn graph(&mut self) -> Expr {
        let kind = match self.pick(3) {
            0 => ExprKind::Variable(self.name()),
            1 => {
                let kind = ExprKind::Variable(self.name());
                let object = Box::new(Expr { kind, span: NO_SPAN });
                ExprKind::Property { object, key: self.name() }
            }
            _ => ExprKind::Function(Box::new(self.call_expr())),
        };
        Expr { kind, span: NO_SPAN }
    }

    /// An updating clause.
    fn update(&mut self) -> Clause {
        let span = NO_SPAN;
        match self.pick(6) {
            0 => Clause::Create(Create { patterns: self.some(1, Self::path), span }),
            1 => {
                let pattern = self.path();
                let actions = self.some(0, |g| MergeAction {
                    on_create: g.chance(),
                    items: g.some(1, Self::set_item),
                    span,
                });
                Clause::Merge(Merge { pattern, actions, span })
            }
            2 => Clause::Set(crate::ast::Set { items: self.some(1, Self::set_item), span }),
            3 => Clause::Remove(Remove { items: self.some(1, Self::remove_item), span }),
            4 if self.depth < DEPTH_MAX => Clause::Foreach(Foreach {
                variable: self.name(),
                list: self.expr(),
                updates: self.deeper(|g| g.some(1, Self::update)),
                span,
            }),
            _ => {
                let targets = self.some(1, |g| match g.expr() {
                    // DELETE n:Label is refused.
                    Expr { kind: ExprKind::HasLabels { operand, .. }, .. } => {
                        Expr { kind: ExprKind::List(vec![*operand]), span }
                    }
                    target => target,
                });
                Clause::Delete(Delete { detach: self.chance(), targets, span })
            }
        }
    }

    fn set_item(&mut self) -> SetItem {
        let kind = match self.pick(5) {
            0 => {
                SetItemKind::Property { object: self.expr(), key: self.name(), value: self.expr() }
            }
            1 => SetItemKind::DynamicProperty {
                object: self.expr(),
                key: self.expr(),
                value: self.expr(),
            },
            2 => SetItemKind::Replace { variable: self.name(), value: self.expr() },
            3 => SetItemKind::Merge { variable: self.name(), value: self.expr() },
            _ => {
                SetItemKind::Labels { variable: self.name(), labels: self.some(1, Self::label_ref) }
            }
        };
        SetItem { kind, span: NO_SPAN }
    }

    fn remove_item(&mut self) -> RemoveItem {
        let kind = match self.pick(3) {
            0 => RemoveItemKind::Property { object: self.expr(), key: self.name() },
            1 => RemoveItemKind::DynamicProperty { object: self.expr(), key: self.expr() },
            _ => RemoveItemKind::Labels {
                variable: self.name(),
                labels: self.some(1, Self::label_ref),
            },
        };
        RemoveItem { kind, span: NO_SPAN }
    }

    fn label_ref(&mut self) -> LabelRef {
        if self.chance() { LabelRef::Dynamic(self.expr()) } else { LabelRef::Static(self.name()) }
    }

    fn hint(&mut self) -> Hint {
        let kind = match self.pick(3) {
            0 => HintKind::Scan { variable: self.name(), label: self.name() },
            1 => HintKind::Join { variables: self.names() },
            _ => HintKind::Index {
                kind: match self.chance() {
                    true => Some(self.one_of(&IndexKind::IN_HINTS)),
                    false => None,
                },
                seek: self.chance(),
                variable: self.name(),
                label: self.name(),
                keys: self.names(),
            },
        };
        Hint { kind, span: NO_SPAN }
    }

    pub(super) fn projection(&mut self) -> Projection {
        let star = self.chance();
        let items = self.some(usize::from(!star), |g| ProjectionItem {
            expr: g.expr(),
            alias: g.maybe(Self::name),
            span: NO_SPAN,
        });
        let distinct = self.chance();
        self.limits(distinct, star, items)
    }

    pub(super) fn limits(
        &mut self,
        distinct: bool,
        star: bool,
        items: Vec<ProjectionItem>,
    ) -> Projection {
        let order_by =
            self.some(0, |g| SortItem { expr: g.expr(), descending: g.chance(), span: NO_SPAN });
        let skip = self.maybe(Self::expr);
        let limit = self.maybe(Self::expr);
        Projection { distinct, star, items, order_by, skip, limit, span: NO_SPAN }
    }

    pub(super) fn return_clause(&mut self) -> Return {
        Return { projection: self.projection(), span: NO_SPAN }
    }

    fn call(&mut self) -> Call {
        Call {
            optional: self.chance(),
            procedure: self.qualified_name(),
            arguments: self.maybe(|g| g.some(0, Self::expr)),
            yields: self.maybe(|g| {
                let star = g.chance();
                let items = if star {
                    Vec::new()
                } else {
                    g.some(1, |g| YieldItem { column: g.name(), alias: g.maybe(Self::name) })
                };
                Yield { star, items, filter: g.maybe(Self::expr), span: NO_SPAN }
            }),
            span: NO_SPAN,
        }
    }

    fn call_subquery(&mut self) -> CallSubquery {
        let scope = match self.pick(3) {
            0 => SubqueryScope::Importing,
            1 => SubqueryScope::All,
            _ => SubqueryScope::Variables(self.some(0, Self::name)),
        };
        let query = self.query();
        let transactions = self.maybe(|g| InTransactions {
            concurrency: match g.pick(3) {
                0 => Concurrency::Serial,
                1 => Concurrency::Automatic,
                _ => Concurrency::Limit(g.expr()),
            },
            rows: g.maybe(Self::expr),
            on_error: g.one_of(&[OnError::Fail, OnError::Break, OnError::Continue]),
            status: g.maybe(Self::name),
            span: NO_SPAN,
        });
        CallSubquery { optional: self.chance(), scope, query, transactions, span: NO_SPAN }
    }
}
