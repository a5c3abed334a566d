//! From the tree to text: on one line, with as few parentheses as parsing it back needs.
//!
//! `parse(print(tree)) == tree` for every tree that [`parse`](crate::parse) returns, and for every
//! other that keeps what [`ast`](crate::ast) says of its parts. Comments, line breaks and the
//! choice between spellings are not in the tree; a column without an alias takes its name from the
//! text, so printing can rename it. Passwords are masked.

mod administration;
mod clause;
mod command;
mod expression;
mod pattern;

use std::fmt::{self, Display, Formatter, Write};

use crate::ast::{
    Clause, Expr, LabelExpr, Literal, Mode, Name, NameOrParameter, PathPattern, QualifiedName,
    Query, SingleQuery, Statement, StatementKind, TypeExpr,
};
use crate::parser::Level;
use crate::token::Keyword;

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.mode {
            Mode::Run => {}
            Mode::Explain => f.write_str("EXPLAIN ")?,
            Mode::Profile => f.write_str("PROFILE ")?,
        }
        if let Some(graph) = &self.graph {
            clause::use_clause(f, graph)?;
            f.write_char(' ')?;
        }
        match &self.kind {
            StatementKind::Query { at, query } => {
                if let Some(at) = at {
                    write!(f, "AT TIMESTAMP {at} ")?;
                }
                write!(f, "{query}")
            }
            StatementKind::CreateIndex(command) => command::create_index(f, command),
            StatementKind::CreateConstraint(command) => command::create_constraint(f, command),
            StatementKind::Drop(command) => command::drop(f, command),
            StatementKind::Show(command) => command::show(f, command),
            StatementKind::Terminate(command) => command::terminate(f, command),
            StatementKind::Transactions(all) => command::transactions(f, all),
            StatementKind::Copy(command) => command::copy(f, command),
            StatementKind::Administration(command) => administration::administration(f, command),
        }
    }
}

impl Display for Query {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        for union in &self.unions {
            let all = if union.all { " ALL" } else { "" };
            write!(f, " UNION{all} {}", union.query)?;
        }
        Ok(())
    }
}

impl Display for SingleQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.clauses, " ", clause::clause)
    }
}

impl Display for Clause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        clause::clause(f, self)
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        expression::expression(f, self, Level::Or)
    }
}

impl Display for PathPattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        pattern::path(f, self)
    }
}

impl Display for LabelExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        pattern::labels(f, self)
    }
}

impl Display for TypeExpr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        expression::type_expr(f, self)
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Null => f.write_str("NULL"),
            Literal::Bool(value) => f.write_str(if *value { "TRUE" } else { "FALSE" }),
            Literal::Int(value) => write!(f, "{value}"),
            // The shortest text that reads back as the same number, with a dot or an exponent.
            Literal::Float(value) => write!(f, "{value:?}"),
            Literal::String(value) => string(f, value),
        }
    }
}

/// `items`, with `separator` between them.
fn separated<T>(
    f: &mut Formatter<'_>,
    items: &[T],
    separator: &str,
    mut print: impl FnMut(&mut Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(separator)?;
        }
        print(f, item)?;
    }
    Ok(())
}

/// A string in single quotes.
fn string(f: &mut Formatter<'_>, value: &str) -> fmt::Result {
    f.write_char('\'')?;
    for char in value.chars() {
        match char {
            '\'' => f.write_str("\\'")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            char if char.is_control() => write!(f, "\\u{:04X}", u32::from(char))?,
            char => f.write_char(char)?,
        }
    }
    f.write_char('\'')
}

/// A name where only a name can stand: a label, a property key.
fn name(f: &mut Formatter<'_>, name: &Name) -> fmt::Result {
    let mut chars = name.text.chars();
    let plain = chars.next().is_some_and(|char| char.is_alphabetic() || char == '_')
        && chars.all(|char| char.is_alphanumeric() || char == '_');
    if plain { f.write_str(&name.text) } else { quoted(f, &name.text) }
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    write!(f, "`{}`", text.replace('`', "``"))
}

/// A name where a keyword could be meant instead.
fn variable(f: &mut Formatter<'_>, variable: &Name) -> fmt::Result {
    match Keyword::of(&variable.text) {
        Some(_) => quoted(f, &variable.text),
        None => name(f, variable),
    }
}

fn names(f: &mut Formatter<'_>, items: &[Name]) -> fmt::Result {
    separated(f, items, ", ", name)
}

fn variables(f: &mut Formatter<'_>, items: &[Name]) -> fmt::Result {
    separated(f, items, ", ", variable)
}

/// The name of a function or procedure.
fn qualified(f: &mut Formatter<'_>, qualified: &QualifiedName) -> fmt::Result {
    for (index, part) in qualified.parts.iter().enumerate() {
        use Keyword as K;
        // These words mean nothing but the function when an argument list follows.
        let harmless = |keyword| matches!(keyword, K::Count | K::Exists | K::Collect);
        if index > 0 {
            f.write_char('.')?;
            name(f, part)?;
        } else if Keyword::of(&part.text).is_some_and(harmless) {
            name(f, part)?;
        } else {
            variable(f, part)?;
        }
    }
    Ok(())
}

/// `$name`
fn parameter(f: &mut Formatter<'_>, parameter: &Name) -> fmt::Result {
    f.write_char('$')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits(&parameter.text) {
        return f.write_str(&parameter.text);
    }
    name(f, parameter)
}

fn name_or_parameter(f: &mut Formatter<'_>, item: &NameOrParameter) -> fmt::Result {
    match item {
        NameOrParameter::Name(name) => variable(f, name),
        NameOrParameter::Parameter(name) => parameter(f, name),
    }
}

/// ` WHERE filter`, if there is one.
fn filter(f: &mut Formatter<'_>, filter: Option<&Expr>) -> fmt::Result {
    match filter {
        Some(filter) => write!(f, " WHERE {filter}"),
        None => Ok(()),
    }
}

/// ` AS alias`, if there is one.
fn alias(f: &mut Formatter<'_>, alias: Option<&Name>) -> fmt::Result {
    match alias {
        Some(alias) => {
            f.write_str(" AS ")?;
            variable(f, alias)
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
