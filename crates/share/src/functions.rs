//! Functions of this process that statements call, wherever the database is open.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use telar_db::query::{ErrorKind, QueryError, UserFunction};
use telar_graph::column::Column;

/// Functions by the names that they were given.
#[derive(Default)]
pub(crate) struct Functions {
    by_name: Mutex<BTreeMap<String, Arc<dyn UserFunction>>>,
}

impl Functions {
    /// Adds a function, or replaces the one of this name.
    pub(crate) fn add(&self, name: &str, function: &Arc<dyn UserFunction>) {
        self.by_name.lock().insert(name.to_owned(), Arc::clone(function));
    }

    /// All of them.
    pub(crate) fn all(&self) -> Vec<(String, Arc<dyn UserFunction>)> {
        let by_name = self.by_name.lock();
        by_name.iter().map(|(name, function)| (name.clone(), Arc::clone(function))).collect()
    }

    /// Calls one.
    pub(crate) fn call(
        &self,
        name: &str,
        arguments: &[Arc<Column>],
        rows: usize,
    ) -> Result<Column, QueryError> {
        let function = self.by_name.lock().get(name).cloned();
        let Some(function) = function else {
            let text = format!("{name}(): the process has no such function any more");
            return Err(QueryError::runtime(ErrorKind::ProcedureFailed, "FunctionFailed", text));
        };
        function.call(arguments, rows)
    }
}
