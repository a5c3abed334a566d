//! Expressions as text.

use std::fmt::{self, Formatter, Write};

use super::{filter, name, parameter, qualified, quoted, separated, variable};
use crate::ast::{
    ArithmeticOp, BinaryOp, Case, CaseTest, CompareOp, Expr, ExprKind, FunctionCall, LabelExprKind,
    Literal, LogicalOp, MapEntry, MapProjection, MapProjectionItem, NormalForm, PathSearch,
    QuantifierKind, Subquery, SubqueryBody, SubqueryKind, TypeExpr, TypeKind, UnaryOp,
};
use crate::parser::{Level, TRIM_SIDES, word_place};

/// An expression, in parentheses if it binds less tightly than `least`.
pub(super) fn expression(f: &mut Formatter<'_>, expr: &Expr, least: Level) -> fmt::Result {
    if level(expr) >= least {
        return kind(f, &expr.kind);
    }
    f.write_char('(')?;
    kind(f, &expr.kind)?;
    f.write_char(')')
}

/// How tightly an expression binds.
fn level(expr: &Expr) -> Level {
    match &expr.kind {
        ExprKind::Logical { op, .. } => logical(*op).0,
        ExprKind::Unary { op: UnaryOp::Not, .. } => Level::Not,
        // Behind a pattern, `-` and `<` would be arrows.
        ExprKind::Pattern(path) if path.search == PathSearch::All => Level::Not,
        // Behind `ANY`, `<` would belong to the type.
        ExprKind::Comparison { .. } | ExprKind::IsTyped { .. } => Level::Compare,
        ExprKind::Arithmetic { rest, .. } => Level::of_chain(rest),
        ExprKind::Binary { .. } => Level::Predicate,
        ExprKind::IsNull { .. } | ExprKind::IsNormalized { .. } => Level::Predicate,
        ExprKind::Unary { .. } | ExprKind::HasLabels { .. } => Level::Unary,
        ExprKind::Literal(Literal::Int(value)) if *value < 0 => Level::Unary,
        ExprKind::Literal(Literal::Float(value)) if value.is_sign_negative() => Level::Unary,
        _ => Level::Access,
    }
}

fn kind(f: &mut Formatter<'_>, kind: &ExprKind) -> fmt::Result {
    match kind {
        ExprKind::Literal(literal) => write!(f, "{literal}"),
        ExprKind::List(items) => list(f, items),
        ExprKind::Map(entries) => map(f, entries),
        ExprKind::Parameter(name) => parameter(f, name),
        ExprKind::Variable(name) => variable(f, name),
        ExprKind::Property { object, key } => {
            expression(f, object, Level::Access)?;
            f.write_char('.')?;
            name(f, key)
        }
        ExprKind::Index { object, index } => {
            expression(f, object, Level::Access)?;
            write!(f, "[{index}]")
        }
        ExprKind::Slice { list, from, to } => {
            expression(f, list, Level::Access)?;
            f.write_char('[')?;
            bound(f, from.as_deref())?;
            f.write_str("..")?;
            bound(f, to.as_deref())?;
            f.write_char(']')
        }
        ExprKind::Unary { op, operand } => unary(f, *op, operand),
        ExprKind::Binary { op, left, right } => {
            expression(f, left, Level::Predicate.tighter())?;
            write!(f, " {} ", binary(*op))?;
            expression(f, right, Level::Add)
        }
        ExprKind::Arithmetic { first, rest } => {
            let tighter = Level::of_chain(rest).tighter();
            expression(f, first, tighter)?;
            rest.iter().try_for_each(|link| {
                write!(f, " {} ", arithmetic(link.op))?;
                expression(f, &link.operand, tighter)
            })
        }
        ExprKind::Logical { op, operands } => {
            let (level, separator) = logical(*op);
            separated(f, operands, separator, |f, item| expression(f, item, level.tighter()))
        }
        ExprKind::Comparison { first, rest } => {
            expression(f, first, Level::Predicate)?;
            rest.iter().try_for_each(|link| {
                write!(f, " {} ", compare(link.op))?;
                expression(f, &link.operand, Level::Predicate)
            })
        }
        ExprKind::IsNull { operand, negated } => {
            is(f, operand, *negated)?;
            f.write_str(" NULL")
        }
        ExprKind::IsTyped { operand, negated, of } => {
            is(f, operand, *negated)?;
            write!(f, " :: {of}")
        }
        ExprKind::IsNormalized { operand, negated, form } => {
            is(f, operand, *negated)?;
            f.write_str(match form {
                NormalForm::Nfc => " NFC NORMALIZED",
                NormalForm::Nfd => " NFD NORMALIZED",
                NormalForm::Nfkc => " NFKC NORMALIZED",
                NormalForm::Nfkd => " NFKD NORMALIZED",
            })
        }
        ExprKind::HasLabels { operand, labels } => {
            expression(f, operand, Level::Access)?;
            // In a comprehension, a bare `|` would end the condition; behind `IS`, a label could
            // be `NULL`.
            match labels.kind {
                _ if operand.kind == ExprKind::CaseOperand => write!(f, " IS ({labels})"),
                LabelExprKind::Or(_) => write!(f, ":({labels})"),
                _ => write!(f, ":{labels}"),
            }
        }
        ExprKind::CountStar => f.write_str("count(*)"),
        ExprKind::CaseOperand => Ok(()),
        ExprKind::Pattern(path) => write!(f, "{path}"),
        ExprKind::Function(call) if is_trim_from(call) => trim_from(f, call),
        ExprKind::Function(call) => {
            qualified(f, &call.name)?;
            f.write_str(if call.distinct { "(DISTINCT " } else { "(" })?;
            arguments(f, call)?;
            f.write_char(')')
        }
        ExprKind::Case(case) => self::case(f, case),
        ExprKind::MapProjection(projection) => map_projection(f, projection),
        ExprKind::Subquery(subquery) => self::subquery(f, subquery),
        ExprKind::ListComprehension(_)
        | ExprKind::PatternComprehension(_)
        | ExprKind::Quantifier(_)
        | ExprKind::Reduce(_) => comprehension(f, kind),
    }
}

/// The arguments of a function. A variable where a word could be meant is quoted.
fn arguments(f: &mut Formatter<'_>, call: &FunctionCall) -> fmt::Result {
    let word = word_place(&call.name);
    let numbered: Vec<(usize, &Expr)> = (1..).zip(&call.arguments).collect();
    separated(f, &numbered, ", ", |f, (at, item)| match &item.kind {
        ExprKind::Variable(name) if word == Some(*at) => quoted(f, &name.text),
        _ => write!(f, "{item}"),
    })
}

/// Expressions with commas between them.
pub(super) fn expressions(f: &mut Formatter<'_>, items: &[Expr]) -> fmt::Result {
    separated(f, items, ", ", |f, item| write!(f, "{item}"))
}

fn list(f: &mut Formatter<'_>, items: &[Expr]) -> fmt::Result {
    match items {
        // `[x IN xs]` is a comprehension.
        [only] if is_element_test(only) => write!(f, "[({only})]"),
        _ => {
            f.write_char('[')?;
            expressions(f, items)?;
            f.write_char(']')
        }
    }
}

fn is_element_test(expr: &Expr) -> bool {
    match &expr.kind {
        ExprKind::Binary { op: BinaryOp::In, left, .. } => {
            matches!(left.kind, ExprKind::Variable(_))
        }
        _ => false,
    }
}

/// `{key: value}`
pub(super) fn map(f: &mut Formatter<'_>, entries: &[MapEntry]) -> fmt::Result {
    f.write_char('{')?;
    separated(f, entries, ", ", entry)?;
    f.write_char('}')
}

fn entry(f: &mut Formatter<'_>, entry: &MapEntry) -> fmt::Result {
    name(f, &entry.key)?;
    write!(f, ": {}", entry.value)
}

/// Whether a call is what `trim(BOTH x FROM y)` was read as.
fn is_trim_from(call: &FunctionCall) -> bool {
    let sided = match &call.arguments[..] {
        [side, _] | [side, _, _] => match &side.kind {
            ExprKind::Literal(Literal::String(side)) => TRIM_SIDES.contains(&&**side),
            _ => false,
        },
        _ => false,
    };
    sided && !call.distinct && call.name.dotted().eq_ignore_ascii_case("trim")
}

fn trim_from(f: &mut Formatter<'_>, call: &FunctionCall) -> fmt::Result {
    qualified(f, &call.name)?;
    f.write_char('(')?;
    for (index, argument) in call.arguments.iter().enumerate() {
        match &argument.kind {
            ExprKind::Literal(Literal::String(side)) if index == 0 => write!(f, "{side} ")?,
            _ if index + 1 == call.arguments.len() => write!(f, "FROM {argument})")?,
            _ => {
                // Where it ends is plain then.
                expression(f, argument, Level::Access)?;
                f.write_char(' ')?;
            }
        }
    }
    Ok(())
}

fn bound(f: &mut Formatter<'_>, bound: Option<&Expr>) -> fmt::Result {
    bound.map_or(Ok(()), |bound| write!(f, "{bound}"))
}

fn unary(f: &mut Formatter<'_>, op: UnaryOp, operand: &Expr) -> fmt::Result {
    match op {
        UnaryOp::Not => {
            f.write_str("NOT ")?;
            return expression(f, operand, Level::Not);
        }
        UnaryOp::Plus => f.write_char('+')?,
        UnaryOp::Minus => f.write_char('-')?,
    }
    // A minus directly before a number would be a part of it.
    let number = matches!(operand.kind, ExprKind::Literal(Literal::Int(_) | Literal::Float(_)));
    if op == UnaryOp::Minus && number && level(operand) == Level::Access {
        return write!(f, "({operand})");
    }
    expression(f, operand, Level::Unary)
}

fn is(f: &mut Formatter<'_>, operand: &Expr, negated: bool) -> fmt::Result {
    expression(f, operand, Level::Predicate.tighter())?;
    f.write_str(if negated { " IS NOT" } else { " IS" })
}

fn logical(op: LogicalOp) -> (Level, &'static str) {
    match op {
        LogicalOp::Or => (Level::Or, " OR "),
        LogicalOp::Xor => (Level::Xor, " XOR "),
        LogicalOp::And => (Level::And, " AND "),
    }
}

fn arithmetic(op: ArithmeticOp) -> &'static str {
    match op {
        ArithmeticOp::Add => "+",
        ArithmeticOp::Subtract => "-",
        ArithmeticOp::Concatenate => "||",
        ArithmeticOp::Multiply => "*",
        ArithmeticOp::Divide => "/",
        ArithmeticOp::Modulo => "%",
        ArithmeticOp::Power => "^",
    }
}

fn binary(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::StartsWith => "STARTS WITH",
        BinaryOp::EndsWith => "ENDS WITH",
        BinaryOp::Contains => "CONTAINS",
        BinaryOp::Matches => "=~",
        BinaryOp::In => "IN",
    }
}

fn compare(op: CompareOp) -> &'static str {
    match op {
        CompareOp::Equal => "=",
        CompareOp::NotEqual => "<>",
        CompareOp::Less => "<",
        CompareOp::LessOrEqual => "<=",
        CompareOp::Greater => ">",
        CompareOp::GreaterOrEqual => ">=",
    }
}

fn case(f: &mut Formatter<'_>, case: &Case) -> fmt::Result {
    f.write_str("CASE")?;
    if let Some(operand) = &case.operand {
        write!(f, " {operand}")?;
    }
    for branch in &case.branches {
        f.write_str(" WHEN")?;
        // The operand of a test is not written; the blank before its operator is.
        separated(f, &branch.tests, ",", |f, test| match test {
            CaseTest::Value(value) => write!(f, " {value}"),
            CaseTest::Holds(test) => write!(f, "{test}"),
        })?;
        write!(f, " THEN {}", branch.value)?;
    }
    if let Some(default) = &case.default {
        write!(f, " ELSE {default}")?;
    }
    f.write_str(" END")
}

fn map_projection(f: &mut Formatter<'_>, projection: &MapProjection) -> fmt::Result {
    variable(f, &projection.variable)?;
    f.write_str(" {")?;
    separated(f, &projection.items, ", ", |f, item| match item {
        MapProjectionItem::AllProperties => f.write_str(".*"),
        MapProjectionItem::Property(key) => {
            f.write_char('.')?;
            name(f, key)
        }
        MapProjectionItem::Entry(item) => entry(f, item),
        MapProjectionItem::Variable(item) => variable(f, item),
    })?;
    f.write_char('}')
}

/// What binds a variable to the elements of a list or the matches of a pattern.
fn comprehension(f: &mut Formatter<'_>, kind: &ExprKind) -> fmt::Result {
    match kind {
        ExprKind::ListComprehension(comprehension) => {
            f.write_char('[')?;
            variable(f, &comprehension.variable)?;
            f.write_str(" IN ")?;
            expression(f, &comprehension.list, Level::Add)?;
            filter(f, comprehension.filter.as_ref())?;
            if let Some(projection) = &comprehension.projection {
                write!(f, " | {projection}")?;
            }
            f.write_char(']')
        }
        ExprKind::PatternComprehension(comprehension) => {
            write!(f, "[{}", comprehension.pattern)?;
            filter(f, comprehension.filter.as_ref())?;
            write!(f, " | {}]", comprehension.projection)
        }
        ExprKind::Quantifier(quantifier) => {
            f.write_str(match quantifier.kind {
                QuantifierKind::All => "all(",
                QuantifierKind::Any => "any(",
                QuantifierKind::None => "none(",
                QuantifierKind::Single => "single(",
            })?;
            variable(f, &quantifier.variable)?;
            write!(f, " IN {} WHERE {})", quantifier.list, quantifier.filter)
        }
        ExprKind::Reduce(reduce) => {
            f.write_str("reduce(")?;
            variable(f, &reduce.accumulator)?;
            write!(f, " = {}, ", reduce.initial)?;
            variable(f, &reduce.variable)?;
            write!(f, " IN {} | {})", reduce.list, reduce.step)
        }
        _ => Ok(()),
    }
}

fn subquery(f: &mut Formatter<'_>, subquery: &Subquery) -> fmt::Result {
    f.write_str(match subquery.kind {
        SubqueryKind::Exists => "EXISTS { ",
        SubqueryKind::Count => "COUNT { ",
        SubqueryKind::Collect => "COLLECT { ",
    })?;
    match &subquery.body {
        SubqueryBody::Pattern { patterns, filter: condition } => {
            separated(f, patterns, ", ", |f, path| write!(f, "{path}"))?;
            filter(f, condition.as_ref())?;
        }
        SubqueryBody::Query(query) => write!(f, "{query}")?,
    }
    f.write_str(" }")
}

pub(super) fn type_expr(f: &mut Formatter<'_>, of: &TypeExpr) -> fmt::Result {
    match &of.kind {
        TypeKind::List(of) => write!(f, "LIST<{of}>")?,
        // In a comprehension, a bare `|` would end the condition.
        TypeKind::Union(types) => {
            f.write_str("ANY<")?;
            separated(f, types, " | ", type_expr)?;
            f.write_char('>')?;
        }
        TypeKind::Vector { coordinates, dimension } => {
            f.write_str("VECTOR")?;
            if let Some(coordinates) = coordinates {
                write!(f, "<{}>", coordinates.name())?;
            }
            if let Some(dimension) = dimension {
                write!(f, "({dimension})")?;
            }
        }
        simple => f.write_str(type_name(simple))?,
    }
    f.write_str(if of.not_null { " NOT NULL" } else { "" })
}

fn type_name(kind: &TypeKind) -> &'static str {
    match kind {
        TypeKind::Nothing => "NOTHING",
        TypeKind::Null => "NULL",
        TypeKind::Boolean => "BOOLEAN",
        TypeKind::String => "STRING",
        TypeKind::Integer => "INTEGER",
        TypeKind::Float => "FLOAT",
        TypeKind::Date => "DATE",
        TypeKind::LocalTime => "LOCAL TIME",
        TypeKind::ZonedTime => "ZONED TIME",
        TypeKind::LocalDateTime => "LOCAL DATETIME",
        TypeKind::ZonedDateTime => "ZONED DATETIME",
        TypeKind::Duration => "DURATION",
        TypeKind::Point => "POINT",
        TypeKind::Node => "NODE",
        TypeKind::Relationship => "RELATIONSHIP",
        TypeKind::Map => "MAP",
        TypeKind::Path => "PATH",
        TypeKind::PropertyValue => "PROPERTY VALUE",
        TypeKind::Any | TypeKind::Union(_) => "ANY",
        TypeKind::List(_) => "LIST<ANY>",
        TypeKind::Vector { .. } => "VECTOR",
    }
}
