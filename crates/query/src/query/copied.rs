//! `COPY`: what a session is told to copy. The session does it: it has the database and the files.

use std::collections::BTreeMap;

use telar_graph::{Graph, Value};

use super::Prepared;
use crate::batch::Batch;
use crate::exec::eval::eval;
use crate::exec::{Access, Exec, Inputs};
use crate::query_error::{ErrorKind, QueryError};

/// A `COPY` whose parameters are known.
#[derive(Debug, Clone, PartialEq)]
pub struct Copying {
    /// Labels of nodes, or the type of relationships, that a file goes to. None if the rows of the
    /// query go to a file: it is what the plan runs.
    pub into: Option<Vec<String>>,
    /// Address of the file.
    pub file: String,
    /// Options by their names in small letters.
    pub options: BTreeMap<String, Value>,
}

impl Prepared {
    /// True for `COPY`, which a session runs.
    #[must_use]
    pub fn copies(&self) -> bool {
        self.bound.copy.is_some()
    }

    /// What `COPY` is to copy; none if this is none.
    ///
    /// # Errors
    /// If a parameter is missing, an option comes twice, or the address is no string.
    pub fn copying(
        &self,
        graph: &dyn Graph,
        inputs: Inputs<'_>,
    ) -> Result<Option<Copying>, QueryError> {
        let Some(copy) = &self.bound.copy else { return Ok(None) };
        self.check_parameters(inputs.parameters, inputs.tables)?;
        let mut cx = Exec::new(Access::Read(graph), inputs);
        let mut value = |expr| Ok::<_, QueryError>(eval(expr, &Batch::empty(1), &mut cx)?.get(0));
        let file = match value(&copy.file)? {
            Value::String(file) => file.to_string(),
            other => return Err(QueryError::wrong_type("a string", &other, "COPY")),
        };
        let mut options = BTreeMap::new();
        for (name, expr) in &copy.options {
            if options.insert(name.clone(), value(expr)?).is_some() {
                let message = format!("COPY: the option '{name}' comes twice");
                return Err(QueryError::runtime(ErrorKind::Argument, "CopyOption", message));
            }
        }
        Ok(Some(Copying { into: copy.into.clone(), file, options }))
    }

    /// Refuses `COPY` where there is no session that runs it by itself.
    pub(super) fn check_copies(&self) -> Result<(), QueryError> {
        if self.bound.copy.as_ref().is_none_or(|copy| copy.into.is_none()) {
            return Ok(());
        }
        let message = "COPY runs by itself, in no other statement and in no transaction";
        Err(QueryError::runtime(ErrorKind::Semantic, "CopyNotAlone", message))
    }
}
