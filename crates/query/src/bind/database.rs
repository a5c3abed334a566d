//! `USE`: which database a statement is about. It is about one as a whole.

use std::sync::Arc;

use telar_cypher::ast::{Clause, CopyWhat, SingleQuery, Statement, StatementKind, Use};

use super::Binder;
use crate::query_error::QueryError;

impl Binder<'_> {
    /// Finds the database that the statement names, if it does.
    pub(super) fn find_database(&mut self, statement: &Statement) -> Result<(), QueryError> {
        let begins = |single: &'_ SingleQuery| match single.clauses.first() {
            Some(Clause::Use(clause)) => Some(clause.clone()),
            _ => None,
        };
        let parts: Vec<Option<Use>> = match &statement.kind {
            StatementKind::Copy(copy) if matches!(copy.what, CopyWhat::Out(_)) => {
                let CopyWhat::Out(query) = &copy.what else { return Ok(()) };
                let first = begins(&query.first);
                vec![statement.graph.clone().or(first)]
            }
            StatementKind::Query { query, .. } => {
                let unions = query.unions.iter().map(|union| &union.query);
                std::iter::once(&query.first).chain(unions).map(begins).collect()
            }
            _ => vec![statement.graph.clone()],
        };
        let Some(named) = parts.iter().flatten().next() else { return Ok(()) };
        let name = self.database_name(named)?;
        if parts.iter().any(Option::is_none) && name != self.own_database() {
            let message = format!("all parts of the UNION need USE {name}, or none");
            return Err(self.unsupported(&message, named.span));
        }
        self.database = Some(name);
        Ok(())
    }

    /// Refuses `USE` of another database than that of the statement.
    pub(super) fn check_database(&self, clause: &Use) -> Result<(), QueryError> {
        let name = self.database_name(clause)?;
        let one = self.database.clone().unwrap_or_else(|| self.own_database());
        if name == one {
            return Ok(());
        }
        let message = format!("one statement is about one database: {one}, not {name} as well");
        Err(self.unsupported(&message, clause.span))
    }

    fn own_database(&self) -> Arc<str> {
        self.procedures.database.to_lowercase().into()
    }

    /// Names of databases are the same in large and small letters.
    fn database_name(&self, clause: &Use) -> Result<Arc<str>, QueryError> {
        let name = clause.name().ok_or_else(|| {
            let message = "USE needs the name of a database; graph functions are not supported";
            self.unsupported(message, clause.graph.span)
        })?;
        Ok(name.to_lowercase().into())
    }
}
