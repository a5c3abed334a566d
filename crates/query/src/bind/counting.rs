//! Looks ahead to what becomes of the rows of a pattern.

use std::collections::HashSet;

use telar_cypher::ast::{Clause, Expr, ExprKind, Match, PathPart, PathPattern, Projection};

use super::syntax;

/// The `MATCH` clauses at the beginning that are not optional, and search no index.
pub(super) fn matches(clauses: &[Clause]) -> Vec<&Match> {
    let found = clauses.iter().map_while(|clause| match clause {
        Clause::Match(clause) if !clause.optional && clause.search.is_none() => Some(clause),
        _ => None,
    });
    found.collect()
}

/// Names that the clauses behind a pattern read, where they only count its rows, perhaps by groups.
/// `None` if they need the rows. The search for a plan goes by it, no answer does.
pub(super) fn read_behind(clauses: &[Clause]) -> Option<HashSet<&str>> {
    let mut names = HashSet::new();
    for clause in clauses {
        let projection = match clause {
            Clause::Match(clause) if clause.search.is_none() => {
                for path in &clause.patterns {
                    read_path(path, &mut names)?;
                }
                clause.filter.iter().try_for_each(|filter| read(filter, &mut names))?;
                continue;
            }
            Clause::With(with) => &with.projection,
            Clause::Return(clause) => &clause.projection,
            _ => return None,
        };
        return counts(projection, &mut names).map(|()| names);
    }
    None
}

/// Adds the names that a projection reads, if it counts rows and needs nothing else of them.
fn counts<'q>(projection: &'q Projection, names: &mut HashSet<&'q str>) -> Option<()> {
    let mut counts = false;
    for item in &projection.items {
        match &item.expr.kind {
            ExprKind::CountStar => counts = true,
            ExprKind::Function(call) if syntax::aggregate_name(&item.expr).is_some() => {
                let is_count = call.name.dotted().eq_ignore_ascii_case("count") && !call.distinct;
                let [Expr { kind: ExprKind::Variable(_), .. }] = &call.arguments[..] else {
                    return None;
                };
                counts = is_count.then_some(true)?;
            }
            _ if syntax::has_aggregate(&item.expr) => return None,
            _ => read(&item.expr, names)?,
        }
    }
    projection.order_by.iter().try_for_each(|sort| read(&sort.expr, names))?;
    (counts && !projection.star).then_some(())
}

/// Adds the names that an expression reads; `None` if there is a query in it.
fn read<'q>(expr: &'q Expr, names: &mut HashSet<&'q str>) -> Option<()> {
    match &expr.kind {
        ExprKind::Variable(name) => _ = names.insert(&name.text),
        ExprKind::Subquery(_) => return None,
        ExprKind::Pattern(path) => read_path(path, names)?,
        ExprKind::PatternComprehension(c) => read_path(&c.pattern, names)?,
        _ => {}
    }
    let mut all = Some(());
    syntax::parts(expr, &mut |part| all = all.and_then(|()| read(part, names)));
    all
}

fn read_path<'q>(path: &'q PathPattern, names: &mut HashSet<&'q str>) -> Option<()> {
    for part in &path.parts {
        let name = match part {
            PathPart::Node(node) => &node.variable,
            PathPart::Relationship(r) => &r.variable,
            PathPart::Group(group) => {
                read_path(&group.path, names)?;
                group.filter.iter().try_for_each(|filter| read(filter, names))?;
                continue;
            }
        };
        names.extend(name.iter().map(|name| &*name.text));
    }
    let mut all = Some(());
    syntax::pattern_parts(path, &mut |part| all = all.and_then(|()| read(part, names)));
    all
}
