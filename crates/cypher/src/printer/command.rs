//! Commands as text.

use std::fmt::{self, Formatter};

use super::clause::projection;
use super::expression::expressions;
use super::{filter, name, name_or_parameter, separated, variable};
use crate::ast::{
    CommandOutput, ConstraintFilter, ConstraintKind, CopyCommand, CopyWhat, CreateConstraint,
    CreateIndex, DatabaseFilter, DropCommand, EntityKind, Executable, Expr, IndexKind, IndexTarget,
    Name, NameOrParameter, PrivilegeFilter, Requirement, Show, ShowTarget, Terminate,
    TransactionCommands,
};

pub(super) fn create_index(f: &mut Formatter<'_>, command: &CreateIndex) -> fmt::Result {
    match command.kind {
        IndexKind::Range => f.write_str("CREATE INDEX ")?,
        kind => write!(f, "CREATE {} INDEX ", kind.word())?,
    }
    name_and_condition(f, command.name.as_ref(), command.if_not_exists)?;
    match &command.target {
        IndexTarget::Lookup { entity } => {
            f.write_str("FOR ")?;
            self::entity(f, *entity, &[])?;
            f.write_str(match entity {
                EntityKind::Node => " ON EACH labels(n)",
                EntityKind::Relationship => " ON EACH type(r)",
            })?;
        }
        IndexTarget::Properties { entity, labels, keys } => {
            f.write_str("FOR ")?;
            self::entity(f, *entity, labels)?;
            let fulltext = command.kind == IndexKind::Fulltext;
            f.write_str(if fulltext { " ON EACH [" } else { " ON (" })?;
            self::keys(f, *entity, keys)?;
            f.write_str(if fulltext { "]" } else { ")" })?;
        }
    }
    if let (IndexTarget::Properties { entity, .. }, [_, ..]) =
        (&command.target, &command.filters[..])
    {
        f.write_str(" WITH [")?;
        self::keys(f, *entity, &command.filters)?;
        f.write_str("]")?;
    }
    options(f, command.options.as_ref())
}

pub(super) fn create_constraint(f: &mut Formatter<'_>, command: &CreateConstraint) -> fmt::Result {
    f.write_str("CREATE CONSTRAINT ")?;
    name_and_condition(f, command.name.as_ref(), command.if_not_exists)?;
    f.write_str("FOR ")?;
    entity(f, command.entity, std::slice::from_ref(&command.label))?;
    f.write_str(" REQUIRE (")?;
    keys(f, command.entity, &command.keys)?;
    f.write_str(") IS ")?;
    match (&command.requirement, command.entity) {
        (Requirement::Unique, _) => f.write_str("UNIQUE")?,
        (Requirement::Key, EntityKind::Node) => f.write_str("NODE KEY")?,
        (Requirement::Key, EntityKind::Relationship) => f.write_str("RELATIONSHIP KEY")?,
        (Requirement::NotNull, _) => f.write_str("NOT NULL")?,
        (Requirement::Typed(of), _) => write!(f, ":: {of}")?,
    }
    options(f, command.options.as_ref())
}

fn name_and_condition(
    f: &mut Formatter<'_>,
    name: Option<&NameOrParameter>,
    if_not_exists: bool,
) -> fmt::Result {
    if let Some(name) = name {
        name_or_parameter(f, name)?;
        f.write_str(" ")?;
    }
    f.write_str(if if_not_exists { "IF NOT EXISTS " } else { "" })
}

/// The tree has no variable: `n` and `r` stand for it.
fn entity(f: &mut Formatter<'_>, entity: EntityKind, labels: &[Name]) -> fmt::Result {
    let (before, after) = match entity {
        EntityKind::Node => ("(n", ")"),
        EntityKind::Relationship => ("()-[r", "]-()"),
    };
    f.write_str(before)?;
    f.write_str(if labels.is_empty() { "" } else { ":" })?;
    separated(f, labels, "|", name)?;
    f.write_str(after)
}

fn keys(f: &mut Formatter<'_>, entity: EntityKind, keys: &[Name]) -> fmt::Result {
    separated(f, keys, ", ", |f, key| {
        f.write_str(if entity == EntityKind::Node { "n." } else { "r." })?;
        name(f, key)
    })
}

fn options(f: &mut Formatter<'_>, options: Option<&Expr>) -> fmt::Result {
    options.map_or(Ok(()), |options| write!(f, " OPTIONS {options}"))
}

pub(super) fn drop(f: &mut Formatter<'_>, command: &DropCommand) -> fmt::Result {
    f.write_str(if command.constraint { "DROP CONSTRAINT " } else { "DROP INDEX " })?;
    name_or_parameter(f, &command.name)?;
    f.write_str(if command.if_exists { " IF EXISTS" } else { "" })
}

pub(super) fn show(f: &mut Formatter<'_>, command: &Show) -> fmt::Result {
    f.write_str("SHOW ")?;
    match &command.target {
        ShowTarget::Indexes { kind } => {
            if let Some(kind) = kind {
                write!(f, "{} ", kind.word())?;
            }
            f.write_str("INDEXES")?;
        }
        ShowTarget::Constraints(filter) => constraints(f, filter)?,
        ShowTarget::Procedures(by) => {
            f.write_str("PROCEDURES")?;
            executable(f, by)?;
        }
        ShowTarget::Functions { built_in, executable: by } => {
            f.write_str(match built_in {
                None => "FUNCTIONS",
                Some(true) => "BUILT IN FUNCTIONS",
                Some(false) => "USER DEFINED FUNCTIONS",
            })?;
            executable(f, by)?;
        }
        ShowTarget::Databases(DatabaseFilter::All) => f.write_str("DATABASES")?,
        ShowTarget::Databases(DatabaseFilter::Default) => f.write_str("DEFAULT DATABASE")?,
        ShowTarget::Databases(DatabaseFilter::Home) => f.write_str("HOME DATABASE")?,
        ShowTarget::Databases(DatabaseFilter::Named(name)) => {
            f.write_str("DATABASE ")?;
            name_or_parameter(f, name)?;
        }
        ShowTarget::Settings { names } => {
            f.write_str(if names.is_empty() { "SETTINGS" } else { "SETTINGS " })?;
            expressions(f, names)?;
        }
        ShowTarget::Servers => f.write_str("SERVERS")?,
        ShowTarget::Users { auth } => {
            f.write_str(if *auth { "USERS WITH AUTH" } else { "USERS" })?;
        }
        ShowTarget::CurrentUser => f.write_str("CURRENT USER")?,
        ShowTarget::Privileges(filter) => privileges(f, filter)?,
        ShowTarget::Roles { populated, users } => {
            f.write_str(if *populated { "POPULATED ROLES" } else { "ROLES" })?;
            f.write_str(if *users { " WITH USERS" } else { "" })?;
        }
        ShowTarget::Transactions { ids } => {
            f.write_str(if ids.is_empty() { "TRANSACTIONS" } else { "TRANSACTIONS " })?;
            expressions(f, ids)?;
        }
    }
    output(f, &command.output)
}

fn privileges(f: &mut Formatter<'_>, filter: &PrivilegeFilter) -> fmt::Result {
    let (word, names) = match filter {
        PrivilegeFilter::All => ("", &[][..]),
        PrivilegeFilter::Roles(names) => ("ROLE ", &names[..]),
        PrivilegeFilter::Users(names) => ("USER ", &names[..]),
    };
    f.write_str(word)?;
    separated(f, names, ", ", name_or_parameter)?;
    f.write_str(if names.is_empty() { "PRIVILEGES" } else { " PRIVILEGES" })
}

fn constraints(f: &mut Formatter<'_>, filter: &ConstraintFilter) -> fmt::Result {
    f.write_str(match filter.entity {
        None => "",
        Some(EntityKind::Node) => "NODE ",
        Some(EntityKind::Relationship) => "RELATIONSHIP ",
    })?;
    f.write_str(match filter.kind {
        None => "",
        Some(ConstraintKind::Unique) => "UNIQUENESS ",
        Some(ConstraintKind::Key) => "KEY ",
        Some(ConstraintKind::Existence) => "PROPERTY EXISTENCE ",
        Some(ConstraintKind::PropertyType) => "PROPERTY TYPE ",
    })?;
    f.write_str("CONSTRAINTS")
}

fn executable(f: &mut Formatter<'_>, by: &Executable) -> fmt::Result {
    match by {
        Executable::Any => Ok(()),
        Executable::ByCurrentUser => f.write_str(" EXECUTABLE"),
        Executable::By(user) => {
            f.write_str(" EXECUTABLE BY ")?;
            variable(f, user)
        }
    }
}

pub(super) fn terminate(f: &mut Formatter<'_>, command: &Terminate) -> fmt::Result {
    f.write_str("TERMINATE TRANSACTIONS ")?;
    expressions(f, &command.ids)?;
    output(f, &command.output)
}

pub(super) fn transactions(f: &mut Formatter<'_>, all: &TransactionCommands) -> fmt::Result {
    for command in &all.commands {
        f.write_str(if command.terminates { "TERMINATE" } else { "SHOW" })?;
        f.write_str(" TRANSACTIONS ")?;
        expressions(f, &command.ids)?;
        f.write_str(" YIELD ")?;
        projection(f, &command.yields)?;
        filter(f, command.filter.as_ref())?;
        f.write_str(" ")?;
    }
    f.write_str("RETURN ")?;
    projection(f, &all.returns.projection)
}

fn output(f: &mut Formatter<'_>, output: &CommandOutput) -> fmt::Result {
    if let Some(yields) = &output.yields {
        f.write_str(" YIELD ")?;
        projection(f, yields)?;
    }
    filter(f, output.filter.as_ref())?;
    if let Some(returns) = &output.returns {
        f.write_str(" RETURN ")?;
        projection(f, &returns.projection)?;
    }
    Ok(())
}

pub(super) fn copy(f: &mut Formatter<'_>, command: &CopyCommand) -> fmt::Result {
    match &command.what {
        CopyWhat::Into(names) => {
            f.write_str("COPY ")?;
            for (at, label) in names.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { ":" })?;
                name(f, label)?;
            }
            f.write_str(" FROM ")?;
        }
        CopyWhat::Out(query) => write!(f, "COPY ({query}) TO ")?,
    }
    write!(f, "{}", command.file)?;
    for (at, (option, value)) in command.options.iter().enumerate() {
        f.write_str(if at == 0 { " (" } else { ", " })?;
        name(f, option)?;
        write!(f, " = {value}")?;
    }
    f.write_str(if command.options.is_empty() { "" } else { ")" })
}
