//! Several statements in one text.

use std::error::Error;
use std::fmt;

use telar_graph::ValueMap;
use telar_query::{Position, QueryError, QueryResult, cypher};

use crate::Session;

/// Which statement of a script failed, and why. Those before it are committed, those after it did
/// not run.
#[derive(Debug)]
pub struct ScriptError {
    /// Its number, from 1.
    pub statement: usize,
    /// Where it begins in the script.
    pub at: Position,
    /// Why. Its place, if it has one, is that in the script.
    pub error: QueryError,
    /// What the statements before it returned.
    pub done: Vec<QueryResult>,
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { statement, at, error, .. } = self;
        write!(
            f,
            "statement {statement}, which begins at line {}, column {}: ",
            at.line, at.column
        )?;
        write!(f, "{error}")
    }
}

impl Error for ScriptError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.error)
    }
}

impl Session {
    /// Runs statements that semicolons separate, one after the other, and returns what each
    /// returns. Each is a transaction of its own, run as by [`run_with`](Self::run_with), with the
    /// same parameters; the first that fails ends the script.
    ///
    /// # Errors
    /// [`ScriptError`]: what the statements before it changed stays.
    ///
    /// # Examples
    /// ```
    /// use telar_db::{Session, ValueMap};
    ///
    /// let db = telar_db::open_in_memory()?;
    /// let session = Session::new(&db);
    /// let script = "CREATE (:City {name: 'Ulm'}); // a comment; no statement
    ///     MATCH (c:City) RETURN c.name AS name;
    ///     RETURN 1 +";
    /// let failed = session.run_script(script, &ValueMap::new()).unwrap_err();
    /// assert_eq!((failed.statement, failed.at.line), (3, 3));
    /// assert_eq!(failed.done[1].rows, [["Ulm".into()]]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_script(
        &self,
        text: &str,
        parameters: &ValueMap,
    ) -> Result<Vec<QueryResult>, Box<ScriptError>> {
        let mut done = Vec::new();
        for span in cypher::split(text) {
            let range = span.range();
            match self.run_with(&text[range.clone()], parameters) {
                Ok(mut result) => {
                    for notification in &mut result.notifications {
                        let at = |at: Position| Position::of(text, range.start + at.offset);
                        notification.position = notification.position.map(at);
                    }
                    done.push(result);
                }
                Err(error) => {
                    let (statement, at) = (done.len() + 1, Position::of(text, range.start));
                    let error = error.in_script(text, range.start);
                    return Err(Box::new(ScriptError { statement, at, error, done }));
                }
            }
        }
        Ok(done)
    }
}
