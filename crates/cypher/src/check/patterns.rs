//! What a pattern may hold, by the clause it is in.

use super::Checker;
use crate::ast::{
    ArrowDirection, Expr, ExprKind, GroupPattern, LabelExpr, LabelExprKind, NodePattern, PathPart,
    PathPattern, PathSearch, Quantifier, RelationshipPattern,
};
use crate::diagnostic::{Detail, Diagnostic};
use crate::parser::PATTERN_PARTS_MAX;

/// What a pattern is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// To be found.
    Match,
    /// To be created.
    Create,
    /// To be found or created.
    Merge,
}

impl Checker {
    pub(super) fn paths(&mut self, paths: &[PathPattern], usage: Use) {
        let parts: usize = paths.iter().map(parts_of).sum();
        if usage != Use::Create && parts > PATTERN_PARTS_MAX {
            let message = format!(
                "the pattern has {parts} nodes and relationships, more than {PATTERN_PARTS_MAX}"
            );
            let span = paths[0].span.to(paths[paths.len() - 1].span);
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, span, message);
            self.report(error.with_help("find parts of it in clauses of their own"));
        }
        paths.iter().for_each(|path| self.path(path, usage));
    }

    pub(super) fn path(&mut self, path: &PathPattern, usage: Use) {
        if usage != Use::Match && path.search != PathSearch::All {
            let message = "a shortest path can be found, but not created";
            self.error(Detail::UnexpectedSyntax, path.span, message);
        }
        if matches!(path.search, PathSearch::ShortestPath | PathSearch::AllShortestPaths)
            && !matches!(
                path.parts.as_slice(),
                [PathPart::Node(_), PathPart::Relationship(_), PathPart::Node(_)]
            )
        {
            let message = "shortestPath and allShortestPaths take two nodes and the relationship \
                           between them";
            let error = Diagnostic::syntax(Detail::UnexpectedSyntax, path.span, message);
            self.report(error.with_help("for longer patterns use SHORTEST 1 or ALL SHORTEST"));
        }
        for part in &path.parts {
            if usage != Use::Create {
                self.part(part.span());
            }
            match part {
                PathPart::Node(node) => self.node(node, usage),
                PathPart::Relationship(relationship) => self.relationship(relationship, usage),
                PathPart::Group(group) => self.group(group, path.parts.len() == 1, usage),
            }
        }
    }

    fn node(&mut self, node: &NodePattern, usage: Use) {
        if let Some(labels) = &node.labels {
            if usage != Use::Match && !names_labels(labels) {
                let message = "which labels to create must be said with ':' or '&' alone";
                self.error(Detail::UnexpectedSyntax, labels.span, message);
            }
            self.labels(labels);
        }
        self.properties(node.properties.as_ref(), usage);
        self.inline_condition(node.filter.as_ref(), usage);
    }

    fn relationship(&mut self, relationship: &RelationshipPattern, usage: Use) {
        let span = relationship.span;
        if usage != Use::Match {
            let single = relationship.types.as_ref().is_some_and(|types| {
                matches!(types.kind, LabelExprKind::Label(_) | LabelExprKind::Dynamic { .. })
            });
            if relationship.length.is_some() || relationship.quantifier.is_some() {
                let message = "a relationship of variable length can be found, but not created";
                self.error(Detail::CreatingVarLength, span, message);
            } else if !single {
                // The binder says whether a variable alone is one that is bound already.
                if relationship.variable.is_none() || relationship.types.is_some() {
                    let message = "a relationship that is created has exactly one type";
                    self.error(Detail::NoSingleRelationshipType, span, message);
                }
            } else if usage == Use::Create && relationship.direction == ArrowDirection::Either {
                let message = "a relationship that is created has one direction";
                let error = Diagnostic::syntax(Detail::RequiresDirectedRelationship, span, message);
                self.report(error.with_help("write --> or <--"));
            }
        }
        if let Some(types) = &relationship.types {
            self.labels(types);
        }
        self.properties(relationship.properties.as_ref(), usage);
        self.inline_condition(relationship.filter.as_ref(), usage);
        self.quantifier(relationship.quantifier.as_ref());
    }

    fn group(&mut self, group: &GroupPattern, alone: bool, usage: Use) {
        // MERGE takes parentheses around the whole path, which mean nothing.
        let plain = group.quantifier.is_none() && group.filter.is_none() && alone;
        if usage == Use::Create || (usage == Use::Merge && !plain) {
            let message = "a path in parentheses can be found, but not created";
            self.error(Detail::UnexpectedSyntax, group.span, message);
        }
        self.path(&group.path, usage);
        self.condition(group.filter.as_ref());
        self.quantifier(group.quantifier.as_ref());
    }

    fn quantifier(&mut self, quantifier: Option<&Quantifier>) {
        let Some(Quantifier { min, max: Some(max), span }) = quantifier else { return };
        if max < min || *max == 0 {
            let message = "a quantifier allows at least one repetition, and no fewer at most than \
                           at least";
            self.error(Detail::UnexpectedSyntax, *span, message);
        }
    }

    fn properties(&mut self, properties: Option<&Expr>, usage: Use) {
        let Some(properties) = properties else { return };
        if let ExprKind::Parameter(name) = &properties.kind
            && usage != Use::Create
        {
            let message = "a parameter cannot stand for all properties of what is to be found";
            let error = Diagnostic::syntax(Detail::InvalidParameterUse, properties.span, message);
            let help = format!("name the properties: {{key: ${}.key}}", name.text);
            return self.report(error.with_help(help));
        }
        self.value(properties);
    }

    fn inline_condition(&mut self, condition: Option<&Expr>, usage: Use) {
        if let Some(condition) = condition.filter(|_| usage != Use::Match) {
            let message = "WHERE is a condition on what is found; here something is created";
            self.error(Detail::UnexpectedSyntax, condition.span, message);
        }
        self.condition(condition);
    }

    pub(super) fn labels(&mut self, labels: &LabelExpr) {
        match &labels.kind {
            LabelExprKind::Label(_) | LabelExprKind::Wildcard => {}
            LabelExprKind::Dynamic { names, .. } => self.value(names),
            LabelExprKind::Not(inner) => self.labels(inner),
            LabelExprKind::And(all) | LabelExprKind::Or(all) => {
                all.iter().for_each(|inner| self.labels(inner));
            }
        }
    }
}

/// Nodes, relationships and groups of a path, those in groups included.
fn parts_of(path: &PathPattern) -> usize {
    let inside = |part: &PathPart| match part {
        PathPart::Group(group) => 1 + parts_of(&group.path),
        _ => 1,
    };
    path.parts.iter().map(inside).sum()
}

/// Whether an expression says exactly which labels there are.
fn names_labels(labels: &LabelExpr) -> bool {
    match &labels.kind {
        LabelExprKind::Label(_) | LabelExprKind::Dynamic { any: false, .. } => true,
        LabelExprKind::And(all) => all.iter().all(names_labels),
        _ => false,
    }
}
