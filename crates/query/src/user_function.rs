//! Functions of the program that uses a database, in expressions.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use parking_lot::RwLock;
use telar_graph::column::Column;

use crate::query_error::{ErrorKind, QueryError};

/// A function that expressions can call, column by column. It may be called by several threads at
/// once, for rows that are not in the result, and more than once for the same row.
pub trait UserFunction: Send + Sync {
    /// How many arguments it takes.
    fn arguments(&self) -> RangeInclusive<usize>;

    /// Its value in each of so many rows. Each argument has as many.
    ///
    /// # Errors
    /// Whatever is to end the statement.
    fn call(&self, arguments: &[Arc<Column>], rows: usize) -> Result<Column, QueryError>;
}

/// Functions by name.
#[derive(Default)]
pub struct UserFunctions(RwLock<BTreeMap<Arc<str>, Arc<dyn UserFunction>>>);

impl fmt::Debug for UserFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}

impl UserFunctions {
    /// Adds a function, or replaces the one of this name. Names are not case sensitive.
    ///
    /// # Errors
    /// If the name has no namespace (`my.score` has one), or is that of a built-in function.
    pub fn add(&self, name: &str, function: Arc<dyn UserFunction>) -> Result<(), QueryError> {
        let lower = name.to_ascii_lowercase();
        let word = |part: &str| {
            let mut chars = part.chars();
            chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
                && chars.all(|c| c.is_alphanumeric() || c == '_')
        };
        let wrong = match lower.split('.').count() > 1 && lower.split('.').all(word) {
            false => "is no name with a namespace, like my.score",
            true if crate::function::lookup(&lower).is_some() => "is a built-in function",
            true => {
                self.0.write().insert(lower.into(), function);
                return Ok(());
            }
        };
        let message = format!("'{name}' {wrong}");
        Err(QueryError::compile(ErrorKind::Argument, "FunctionName", message))
    }

    /// The function of this name, in lower case.
    pub(crate) fn find(&self, name: &str) -> Option<(Arc<str>, Arc<dyn UserFunction>)> {
        let functions = self.0.read();
        functions.get_key_value(name).map(|(name, f)| (Arc::clone(name), Arc::clone(f)))
    }
}

/// A call in an expression.
#[derive(Clone)]
pub(crate) struct UserCall {
    pub(crate) name: Arc<str>,
    pub(crate) function: Arc<dyn UserFunction>,
}

impl fmt::Debug for UserCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("UserCall").field(&self.name).finish()
    }
}

impl UserCall {
    /// Its value in each row.
    pub(crate) fn call(
        &self,
        arguments: &[Arc<Column>],
        rows: usize,
    ) -> Result<Column, QueryError> {
        let column = self.function.call(arguments, rows)?;
        if column.len() == rows {
            return Ok(column);
        }
        let (name, found) = (&self.name, column.len());
        let message = format!("{name}() returned {found} values for {rows} rows");
        Err(QueryError::runtime(ErrorKind::ProcedureFailed, "FunctionResult", message))
    }
}
