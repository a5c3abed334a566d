//! Walks over expressions of the syntax tree.

use telar_cypher::ast::{
    CaseTest, Expr, ExprKind, MapProjectionItem, NodePattern, PathPart, PathPattern,
};

/// Names of functions that make one value of many rows.
const AGGREGATES: [&str; 10] = [
    "avg",
    "collect",
    "count",
    "max",
    "min",
    "percentilecont",
    "percentiledisc",
    "stdev",
    "stdevp",
    "sum",
];

/// The aggregating function that an expression itself is, in lower case.
pub(crate) fn aggregate_name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::CountStar => Some("count".into()),
        ExprKind::Function(call) => {
            let name = call.name.dotted().to_ascii_lowercase();
            AGGREGATES.contains(&name.as_str()).then_some(name)
        }
        _ => None,
    }
}

/// Whether there is an aggregating function in the expression.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    if aggregate_name(expr).is_some() {
        return true;
    }
    let mut found = false;
    parts(expr, &mut |part| found |= has_aggregate(part));
    found
}

fn node_parts<'e>(node: &'e NodePattern, f: &mut dyn FnMut(&'e Expr)) {
    node.properties.iter().chain(&node.filter).for_each(f);
}

/// Calls `f` with every expression in a pattern.
pub(crate) fn pattern_parts<'e>(pattern: &'e PathPattern, f: &mut dyn FnMut(&'e Expr)) {
    for part in &pattern.parts {
        match part {
            PathPart::Node(node) => node_parts(node, f),
            PathPart::Relationship(r) => r.properties.iter().chain(&r.filter).for_each(&mut *f),
            PathPart::Group(group) => {
                pattern_parts(&group.path, f);
                group.filter.iter().for_each(&mut *f);
            }
        }
    }
}

/// Calls `f` with every direct part of an expression. Subqueries have none.
pub(crate) fn parts<'e>(expr: &'e Expr, f: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Variable(_)
        | ExprKind::CountStar
        | ExprKind::CaseOperand
        | ExprKind::Subquery(_) => {}
        ExprKind::List(items) | ExprKind::Logical { operands: items, .. } => {
            items.iter().for_each(f);
        }
        ExprKind::Map(entries) => entries.iter().for_each(|e| f(&e.value)),
        ExprKind::Property { object, .. } => f(object),
        ExprKind::Index { object, index } => {
            f(object);
            f(index);
        }
        ExprKind::Slice { list, from, to } => {
            f(list);
            from.iter().chain(to).for_each(|e| f(e));
        }
        ExprKind::Unary { operand, .. }
        | ExprKind::IsNull { operand, .. }
        | ExprKind::IsTyped { operand, .. }
        | ExprKind::IsNormalized { operand, .. }
        | ExprKind::HasLabels { operand, .. } => f(operand),
        ExprKind::Binary { left, right, .. } => {
            f(left);
            f(right);
        }
        ExprKind::Arithmetic { first, rest } => {
            f(first);
            rest.iter().for_each(|link| f(&link.operand));
        }
        ExprKind::Comparison { first, rest } => {
            f(first);
            rest.iter().for_each(|link| f(&link.operand));
        }
        ExprKind::Function(call) => call.arguments.iter().for_each(f),
        ExprKind::Case(case) => {
            case.operand.iter().for_each(&mut *f);
            for branch in &case.branches {
                for test in &branch.tests {
                    match test {
                        CaseTest::Value(e) | CaseTest::Holds(e) => f(e),
                    }
                }
                f(&branch.value);
            }
            case.default.iter().for_each(f);
        }
        ExprKind::ListComprehension(c) => {
            f(&c.list);
            c.filter.iter().chain(&c.projection).for_each(f);
        }
        ExprKind::PatternComprehension(c) => {
            pattern_parts(&c.pattern, f);
            c.filter.iter().for_each(&mut *f);
            f(&c.projection);
        }
        ExprKind::Quantifier(q) => {
            f(&q.list);
            f(&q.filter);
        }
        ExprKind::Reduce(r) => {
            f(&r.initial);
            f(&r.list);
            f(&r.step);
        }
        ExprKind::MapProjection(m) => {
            for item in &m.items {
                if let MapProjectionItem::Entry(entry) = item {
                    f(&entry.value);
                }
            }
        }
        ExprKind::Pattern(pattern) => pattern_parts(pattern, f),
    }
}
