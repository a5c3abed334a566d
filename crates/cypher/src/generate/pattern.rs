//! Random patterns.

use super::{DEPTH_MAX, Generator};
use crate::ast::*;
use crate::span::Span;

impl Generator<'_> {
    /// A path as `MATCH` has it, with all there is.
    pub(super) fn path(&mut self) -> PathPattern {
        let variable = self.maybe(Self::name);
        let search = match self.pick(12) {
            0 => PathSearch::Any(self.maybe(Self::count)),
            1 => PathSearch::Shortest(self.count()),
            2 => PathSearch::AllShortest,
            3 => match self.count() {
                // The same as `AllShortest`, which the parser makes of it.
                Count::Literal(1) => PathSearch::AllShortest,
                count => PathSearch::ShortestGroups(count),
            },
            4 => PathSearch::ShortestPath,
            5 => PathSearch::AllShortestPaths,
            _ => PathSearch::All,
        };
        let parts = self.parts();
        PathPattern { variable, search, parts, span: Span::default() }
    }

    fn count(&mut self) -> Count {
        if self.chance() { Count::Parameter(self.name()) } else { Count::Literal(self.number()) }
    }

    /// Nodes and relationships only, at least one of the latter.
    pub(super) fn chain(&mut self) -> PathPattern {
        let mut parts = vec![PathPart::Node(self.node())];
        for _ in 0..=self.pick(2) {
            parts.push(PathPart::Relationship(self.relationship()));
            parts.push(PathPart::Node(self.node()));
        }
        PathPattern { variable: None, search: PathSearch::All, parts, span: Span::default() }
    }

    fn parts(&mut self) -> Vec<PathPart> {
        let mut parts = vec![self.node_or_group()];
        for _ in 0..self.pick(3) {
            let after_group = matches!(parts.last(), Some(PathPart::Group(_)));
            let next = self.node_or_group();
            match next {
                PathPart::Node(_) if !after_group => {
                    parts.push(PathPart::Relationship(self.relationship()));
                    parts.push(next);
                }
                next => parts.push(next),
            }
        }
        parts
    }

    fn node_or_group(&mut self) -> PathPart {
        if self.depth >= DEPTH_MAX || self.pick(5) != 4 {
            return PathPart::Node(self.node());
        }
        let group = self.deeper(|g| GroupPattern {
            path: PathPattern {
                variable: g.maybe(Self::name),
                search: PathSearch::All,
                parts: g.parts(),
                span: Span::default(),
            },
            filter: g.maybe(Self::expr),
            quantifier: g.maybe(Self::quantifier),
            span: Span::default(),
        });
        PathPart::Group(group)
    }

    fn quantifier(&mut self) -> Quantifier {
        let min = self.number();
        Quantifier { min, max: self.maybe(Self::number), span: Span::default() }
    }

    fn node(&mut self) -> NodePattern {
        NodePattern {
            variable: self.maybe(Self::name),
            labels: self.maybe(Self::labels),
            properties: self.maybe(Self::properties),
            filter: self.maybe(Self::expr),
            span: Span::default(),
        }
    }

    fn relationship(&mut self) -> RelationshipPattern {
        RelationshipPattern {
            direction: self.one_of(&[
                ArrowDirection::Right,
                ArrowDirection::Left,
                ArrowDirection::Either,
            ]),
            variable: self.maybe(Self::name),
            types: self.maybe(Self::labels),
            length: self.maybe(|g| PathLength {
                min: g.maybe(Self::number),
                max: g.maybe(Self::number),
                span: Span::default(),
            }),
            properties: self.maybe(Self::properties),
            filter: self.maybe(Self::expr),
            quantifier: self.maybe(Self::quantifier),
            span: Span::default(),
        }
    }

    fn properties(&mut self) -> Expr {
        let kind = if self.chance() {
            ExprKind::Parameter(self.name())
        } else {
            ExprKind::Map(self.entries())
        };
        Expr { kind, span: Span::default() }
    }

    pub(super) fn labels(&mut self) -> LabelExpr {
        let leaf = self.depth >= DEPTH_MAX;
        let kind = self.deeper(|g| match g.pick(if leaf { 3 } else { 8 }) {
            0 | 1 => LabelExprKind::Label(g.name()),
            2 => LabelExprKind::Wildcard,
            3 => LabelExprKind::Not(Box::new(g.labels())),
            4 | 5 => LabelExprKind::And(g.some(2, Self::labels)),
            6 => LabelExprKind::Or(g.some(2, Self::labels)),
            _ => LabelExprKind::Dynamic { names: Box::new(g.expr()), any: g.chance() },
        });
        LabelExpr { kind, span: Span::default() }
    }
}
