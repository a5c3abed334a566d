//! Clauses as text.

use std::fmt::{self, Formatter};

use super::expression::{expression, expressions};
use super::{alias, filter, name, names, qualified, separated, string, variable, variables};
use crate::ast::{
    Call, CallSubquery, Clause, Concurrency, Foreach, Hint, HintKind, InTransactions, LabelRef,
    LoadCsv, Match, MatchMode, Merge, OnError, Projection, RemoveItem, RemoveItemKind, SetItem,
    SetItemKind, SubqueryScope, Use, VectorSearch, Yield,
};
use crate::parser::Level;

pub(super) fn clause(f: &mut Formatter<'_>, clause: &Clause) -> fmt::Result {
    match clause {
        Clause::Use(clause) => use_clause(f, clause),
        Clause::Match(clause) => match_clause(f, clause),
        Clause::Unwind(clause) => {
            write!(f, "UNWIND {}", clause.list)?;
            alias(f, Some(&clause.variable))
        }
        Clause::Let(clause) => {
            f.write_str("LET ")?;
            separated(f, &clause.items, ", ", |f, item| {
                variable(f, &item.variable)?;
                write!(f, " = {}", item.value)
            })
        }
        Clause::Filter(clause) => write!(f, "FILTER {}", clause.condition),
        Clause::With(clause) => {
            f.write_str("WITH ")?;
            projection(f, &clause.projection)?;
            filter(f, clause.filter.as_ref())
        }
        Clause::Return(clause) => {
            f.write_str("RETURN ")?;
            projection(f, &clause.projection)
        }
        Clause::Finish(_) => f.write_str("FINISH"),
        Clause::Create(clause) => {
            f.write_str("CREATE ")?;
            separated(f, &clause.patterns, ", ", |f, path| write!(f, "{path}"))
        }
        Clause::Merge(clause) => merge(f, clause),
        Clause::Set(clause) => {
            f.write_str("SET ")?;
            separated(f, &clause.items, ", ", set_item)
        }
        Clause::Remove(clause) => {
            f.write_str("REMOVE ")?;
            separated(f, &clause.items, ", ", remove_item)
        }
        Clause::Delete(clause) => {
            f.write_str(if clause.detach { "DETACH DELETE " } else { "DELETE " })?;
            expressions(f, &clause.targets)
        }
        Clause::Foreach(clause) => foreach(f, clause),
        Clause::Call(clause) => call(f, clause),
        Clause::CallSubquery(clause) => call_subquery(f, clause),
        Clause::LoadCsv(clause) => load_csv(f, clause),
    }
}

pub(super) fn use_clause(f: &mut Formatter<'_>, clause: &Use) -> fmt::Result {
    f.write_str("USE ")?;
    expression(f, &clause.graph, Level::Access)
}

fn match_clause(f: &mut Formatter<'_>, clause: &Match) -> fmt::Result {
    f.write_str(if clause.optional { "OPTIONAL MATCH " } else { "MATCH " })?;
    f.write_str(match clause.mode {
        MatchMode::DifferentRelationships => "",
        MatchMode::RepeatableElements => "REPEATABLE ELEMENTS ",
    })?;
    separated(f, &clause.patterns, ", ", |f, path| write!(f, "{path}"))?;
    clause.hints.iter().try_for_each(|item| hint(f, item))?;
    clause.search.iter().try_for_each(|item| search(f, item))?;
    filter(f, clause.filter.as_ref())
}

fn search(f: &mut Formatter<'_>, search: &VectorSearch) -> fmt::Result {
    f.write_str(" SEARCH ")?;
    variable(f, &search.variable)?;
    f.write_str(" IN (VECTOR INDEX ")?;
    super::name_or_parameter(f, &search.index)?;
    write!(f, " FOR {}", search.vector)?;
    filter(f, search.filter.as_ref())?;
    write!(f, " LIMIT {})", search.limit)?;
    if let Some(score) = &search.score {
        f.write_str(" SCORE AS ")?;
        variable(f, score)?;
    }
    Ok(())
}

fn hint(f: &mut Formatter<'_>, hint: &Hint) -> fmt::Result {
    match &hint.kind {
        HintKind::Index { kind, seek, variable: name, label, keys } => {
            f.write_str(" USING ")?;
            if let Some(kind) = kind {
                write!(f, "{} ", kind.word())?;
            }
            f.write_str(if *seek { "INDEX SEEK " } else { "INDEX " })?;
            variable(f, name)?;
            f.write_str(":")?;
            super::name(f, label)?;
            f.write_str("(")?;
            names(f, keys)?;
            f.write_str(")")
        }
        HintKind::Scan { variable: name, label } => {
            f.write_str(" USING SCAN ")?;
            variable(f, name)?;
            f.write_str(":")?;
            super::name(f, label)
        }
        HintKind::Join { variables: names } => {
            f.write_str(" USING JOIN ON ")?;
            variables(f, names)
        }
    }
}

pub(super) fn projection(f: &mut Formatter<'_>, projection: &Projection) -> fmt::Result {
    f.write_str(if projection.distinct { "DISTINCT " } else { "" })?;
    if projection.star {
        f.write_str(if projection.items.is_empty() { "*" } else { "*, " })?;
    }
    separated(f, &projection.items, ", ", |f, item| {
        write!(f, "{}", item.expr)?;
        alias(f, item.alias.as_ref())
    })?;
    if !projection.order_by.is_empty() {
        f.write_str(" ORDER BY ")?;
        separated(f, &projection.order_by, ", ", |f, item| {
            write!(f, "{}{}", item.expr, if item.descending { " DESC" } else { "" })
        })?;
    }
    if let Some(skip) = &projection.skip {
        write!(f, " SKIP {skip}")?;
    }
    if let Some(limit) = &projection.limit {
        write!(f, " LIMIT {limit}")?;
    }
    Ok(())
}

fn merge(f: &mut Formatter<'_>, clause: &Merge) -> fmt::Result {
    write!(f, "MERGE {}", clause.pattern)?;
    clause.actions.iter().try_for_each(|action| {
        f.write_str(if action.on_create { " ON CREATE SET " } else { " ON MATCH SET " })?;
        separated(f, &action.items, ", ", set_item)
    })
}

fn set_item(f: &mut Formatter<'_>, item: &SetItem) -> fmt::Result {
    match &item.kind {
        SetItemKind::Property { object, key, value } => {
            expression(f, object, Level::Access)?;
            f.write_str(".")?;
            name(f, key)?;
            write!(f, " = {value}")
        }
        SetItemKind::DynamicProperty { object, key, value } => {
            expression(f, object, Level::Access)?;
            write!(f, "[{key}] = {value}")
        }
        SetItemKind::Replace { variable: name, value } => {
            variable(f, name)?;
            write!(f, " = {value}")
        }
        SetItemKind::Merge { variable: name, value } => {
            variable(f, name)?;
            write!(f, " += {value}")
        }
        SetItemKind::Labels { variable: name, labels } => {
            variable(f, name)?;
            label_refs(f, labels)
        }
    }
}

fn remove_item(f: &mut Formatter<'_>, item: &RemoveItem) -> fmt::Result {
    match &item.kind {
        RemoveItemKind::Property { object, key } => {
            expression(f, object, Level::Access)?;
            f.write_str(".")?;
            name(f, key)
        }
        RemoveItemKind::DynamicProperty { object, key } => {
            expression(f, object, Level::Access)?;
            write!(f, "[{key}]")
        }
        RemoveItemKind::Labels { variable: name, labels } => {
            variable(f, name)?;
            label_refs(f, labels)
        }
    }
}

fn label_refs(f: &mut Formatter<'_>, labels: &[LabelRef]) -> fmt::Result {
    labels.iter().try_for_each(|label| {
        f.write_str(":")?;
        match label {
            LabelRef::Static(label) => name(f, label),
            LabelRef::Dynamic(names) => write!(f, "$({names})"),
        }
    })
}

fn foreach(f: &mut Formatter<'_>, clause: &Foreach) -> fmt::Result {
    f.write_str("FOREACH (")?;
    variable(f, &clause.variable)?;
    write!(f, " IN {} | ", clause.list)?;
    separated(f, &clause.updates, " ", self::clause)?;
    f.write_str(")")
}

fn call(f: &mut Formatter<'_>, clause: &Call) -> fmt::Result {
    f.write_str(if clause.optional { "OPTIONAL CALL " } else { "CALL " })?;
    qualified(f, &clause.procedure)?;
    if let Some(arguments) = &clause.arguments {
        f.write_str("(")?;
        expressions(f, arguments)?;
        f.write_str(")")?;
    }
    clause.yields.as_ref().map_or(Ok(()), |item| yields(f, item))
}

fn yields(f: &mut Formatter<'_>, yields: &Yield) -> fmt::Result {
    f.write_str(if yields.star { " YIELD *" } else { " YIELD " })?;
    separated(f, &yields.items, ", ", |f, item| {
        name(f, &item.column)?;
        alias(f, item.alias.as_ref())
    })?;
    filter(f, yields.filter.as_ref())
}

fn call_subquery(f: &mut Formatter<'_>, clause: &CallSubquery) -> fmt::Result {
    f.write_str(if clause.optional { "OPTIONAL CALL " } else { "CALL " })?;
    match &clause.scope {
        SubqueryScope::Importing => {}
        SubqueryScope::All => f.write_str("(*) ")?,
        SubqueryScope::Variables(names) => {
            f.write_str("(")?;
            variables(f, names)?;
            f.write_str(") ")?;
        }
    }
    write!(f, "{{ {} }}", clause.query)?;
    clause.transactions.as_ref().map_or(Ok(()), |item| in_transactions(f, item))
}

fn in_transactions(f: &mut Formatter<'_>, transactions: &InTransactions) -> fmt::Result {
    f.write_str(" IN ")?;
    match &transactions.concurrency {
        Concurrency::Serial => {}
        Concurrency::Automatic => f.write_str("CONCURRENT ")?,
        Concurrency::Limit(limit) => {
            expression(f, limit, Level::Access)?;
            f.write_str(" CONCURRENT ")?;
        }
    }
    f.write_str("TRANSACTIONS")?;
    if let Some(rows) = &transactions.rows {
        write!(f, " OF {rows} ROWS")?;
    }
    f.write_str(match transactions.on_error {
        OnError::Fail => "",
        OnError::Break => " ON ERROR BREAK",
        OnError::Continue => " ON ERROR CONTINUE",
    })?;
    if let Some(status) = &transactions.status {
        f.write_str(" REPORT STATUS")?;
        alias(f, Some(status))?;
    }
    Ok(())
}

fn load_csv(f: &mut Formatter<'_>, clause: &LoadCsv) -> fmt::Result {
    write!(f, "LOAD {} ", clause.format.word())?;
    f.write_str(if clause.headers { "WITH HEADERS " } else { "" })?;
    write!(f, "FROM {}", clause.source)?;
    alias(f, Some(&clause.variable))?;
    match &clause.terminator {
        Some(terminator) => {
            f.write_str(" FIELDTERMINATOR ")?;
            string(f, terminator)
        }
        None => Ok(()),
    }
}
