//! Patterns as text.

use std::fmt::{self, Formatter, Write};

use super::{filter, name, parameter, separated, variable};
use crate::ast::{
    ArrowDirection, Count, Expr, GroupPattern, LabelExpr, LabelExprKind, Name, NodePattern,
    PathLength, PathPart, PathPattern, PathSearch, Quantifier, RelationshipPattern,
};

pub(super) fn path(f: &mut Formatter<'_>, path: &PathPattern) -> fmt::Result {
    if let Some(name) = &path.variable {
        variable(f, name)?;
        f.write_str(" = ")?;
    }
    match &path.search {
        PathSearch::All => {}
        PathSearch::Any(None) => f.write_str("ANY ")?,
        PathSearch::Any(Some(paths)) => search(f, "ANY", paths, "")?,
        PathSearch::Shortest(paths) => search(f, "SHORTEST", paths, "")?,
        PathSearch::AllShortest => f.write_str("ALL SHORTEST ")?,
        PathSearch::ShortestGroups(paths) => search(f, "SHORTEST", paths, "GROUPS ")?,
        PathSearch::ShortestPath => f.write_str("shortestPath(")?,
        PathSearch::AllShortestPaths => f.write_str("allShortestPaths(")?,
    }
    let mut before: Option<&PathPart> = None;
    for part in &path.parts {
        let group = |part| matches!(part, &PathPart::Group(_));
        if before.is_some_and(|before| group(before) || group(part)) {
            f.write_char(' ')?;
        }
        match part {
            PathPart::Node(part) => node(f, part)?,
            PathPart::Relationship(part) => relationship(f, part)?,
            PathPart::Group(part) => self::group(f, part)?,
        }
        before = Some(part);
    }
    match path.search {
        PathSearch::ShortestPath | PathSearch::AllShortestPaths => f.write_char(')'),
        _ => Ok(()),
    }
}

fn search(f: &mut Formatter<'_>, word: &str, paths: &Count, groups: &str) -> fmt::Result {
    write!(f, "{word} ")?;
    match paths {
        Count::Literal(paths) => write!(f, "{paths}")?,
        Count::Parameter(name) => parameter(f, name)?,
    }
    write!(f, " {groups}")
}

fn node(f: &mut Formatter<'_>, node: &NodePattern) -> fmt::Result {
    f.write_char('(')?;
    let mut space = Space::default();
    head(f, &mut space, node.variable.as_ref(), node.labels.as_ref())?;
    tail(f, &mut space, node.properties.as_ref(), node.filter.as_ref())?;
    f.write_char(')')
}

fn relationship(f: &mut Formatter<'_>, relationship: &RelationshipPattern) -> fmt::Result {
    f.write_str(if relationship.direction == ArrowDirection::Left { "<-" } else { "-" })?;
    let empty = relationship.variable.is_none()
        && relationship.types.is_none()
        && relationship.length.is_none()
        && relationship.properties.is_none()
        && relationship.filter.is_none();
    // In an expression, `()--+()` would be arithmetic.
    let arithmetic =
        relationship.quantifier.is_some() && relationship.direction != ArrowDirection::Right;
    if !empty || arithmetic {
        f.write_char('[')?;
        let mut space = Space::default();
        head(f, &mut space, relationship.variable.as_ref(), relationship.types.as_ref())?;
        if let Some(length) = &relationship.length {
            space.used = true;
            self::length(f, length)?;
        }
        tail(f, &mut space, relationship.properties.as_ref(), relationship.filter.as_ref())?;
        f.write_char(']')?;
    }
    f.write_str(if relationship.direction == ArrowDirection::Right { "->" } else { "-" })?;
    quantifier(f, relationship.quantifier.as_ref())
}

/// Whether something stands before, so that a blank is needed.
#[derive(Default)]
struct Space {
    used: bool,
}

impl Space {
    fn print(&mut self, f: &mut Formatter<'_>) -> fmt::Result {
        let used = std::mem::replace(&mut self.used, true);
        if used { f.write_char(' ') } else { Ok(()) }
    }
}

/// `variable:labels`
fn head(
    f: &mut Formatter<'_>,
    space: &mut Space,
    name: Option<&Name>,
    labels: Option<&LabelExpr>,
) -> fmt::Result {
    if let Some(name) = name {
        variable(f, name)?;
        space.used = true;
    }
    if let Some(labels) = labels {
        write!(f, ":{labels}")?;
        space.used = true;
    }
    Ok(())
}

/// `{properties} WHERE filter`
fn tail(
    f: &mut Formatter<'_>,
    space: &mut Space,
    properties: Option<&Expr>,
    condition: Option<&Expr>,
) -> fmt::Result {
    if let Some(properties) = properties {
        space.print(f)?;
        write!(f, "{properties}")?;
    }
    if let Some(condition) = condition {
        space.print(f)?;
        write!(f, "WHERE {condition}")?;
    }
    Ok(())
}

fn length(f: &mut Formatter<'_>, length: &PathLength) -> fmt::Result {
    f.write_char('*')?;
    match (length.min, length.max) {
        (None, None) => Ok(()),
        (Some(min), Some(max)) if min == max => write!(f, "{min}"),
        (Some(min), Some(max)) => write!(f, "{min}..{max}"),
        (Some(min), None) => write!(f, "{min}.."),
        (None, Some(max)) => write!(f, "..{max}"),
    }
}

fn group(f: &mut Formatter<'_>, group: &GroupPattern) -> fmt::Result {
    write!(f, "({}", group.path)?;
    filter(f, group.filter.as_ref())?;
    f.write_char(')')?;
    quantifier(f, group.quantifier.as_ref())
}

fn quantifier(f: &mut Formatter<'_>, quantifier: Option<&Quantifier>) -> fmt::Result {
    match quantifier.map(|quantifier| (quantifier.min, quantifier.max)) {
        None => Ok(()),
        Some((1, None)) => f.write_char('+'),
        Some((0, None)) => f.write_char('*'),
        Some((min, None)) => write!(f, "{{{min},}}"),
        Some((min, Some(max))) if min == max => write!(f, "{{{min}}}"),
        Some((min, Some(max))) => write!(f, "{{{min},{max}}}"),
    }
}

/// A label expression, behind its colon.
pub(super) fn labels(f: &mut Formatter<'_>, labels: &LabelExpr) -> fmt::Result {
    match &labels.kind {
        LabelExprKind::Label(label) => name(f, label),
        LabelExprKind::Dynamic { names, any } => {
            write!(f, "${}({names})", if *any { "any" } else { "" })
        }
        LabelExprKind::Wildcard => f.write_char('%'),
        LabelExprKind::Not(inner) => {
            f.write_char('!')?;
            let all_or_any = matches!(inner.kind, LabelExprKind::And(_) | LabelExprKind::Or(_));
            operand(f, inner, all_or_any)
        }
        LabelExprKind::And(all) => separated(f, all, "&", |f, inner| {
            let all_or_any = matches!(inner.kind, LabelExprKind::And(_) | LabelExprKind::Or(_));
            operand(f, inner, all_or_any)
        }),
        LabelExprKind::Or(any) => separated(f, any, "|", |f, inner| {
            operand(f, inner, matches!(inner.kind, LabelExprKind::Or(_)))
        }),
    }
}

fn operand(f: &mut Formatter<'_>, inner: &LabelExpr, parentheses: bool) -> fmt::Result {
    if parentheses { write!(f, "({inner})") } else { write!(f, "{inner}") }
}
