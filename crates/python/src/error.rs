//! Exceptions: one class for each thing that a program may want to do about an error.

use pyo3::exceptions::{PyException, PyTypeError};
use pyo3::prelude::*;
use pyo3::{create_exception, intern};
use telar_db::Error as EngineError;
use telar_db::query::{ErrorKind, QueryError};

create_exception!(telar, Error, PyException, "Something that Telar refused or could not do.");
create_exception!(telar, StatementError, Error, "The statement, or what it was given, is wrong.");
create_exception!(
    telar,
    CypherSyntaxError,
    StatementError,
    "The text of the statement is wrong; the message shows where."
);
create_exception!(
    telar,
    ConstraintError,
    StatementError,
    "A constraint would be broken. Nothing was changed."
);
create_exception!(
    telar,
    ConflictError,
    Error,
    "Another transaction was first. Nothing was changed: run the transaction again."
);
create_exception!(
    telar,
    InterruptedError,
    Error,
    "The statement was ended from outside. Nothing was changed."
);
create_exception!(
    telar,
    TimeLimitError,
    InterruptedError,
    "The statement took longer than its time limit. Nothing was changed."
);
create_exception!(
    telar,
    MemoryLimitError,
    Error,
    "The statement needed more memory than its limit. Nothing was changed."
);
create_exception!(telar, ReadOnlyError, Error, "The session only reads, and the statement writes.");
create_exception!(telar, StorageError, Error, "The files of the database, or the disk.");
create_exception!(telar, LockedError, StorageError, "Another process has the database open.");
create_exception!(
    telar,
    UnknownOutcomeError,
    StorageError,
    "The process that has the database open ended or hangs, and nobody knows whether this was committed."
);
create_exception!(
    telar,
    ResultLostError,
    StorageError,
    "The statement was committed, and its rows are lost with the process that had the database open."
);
create_exception!(telar, ClosedError, Error, "The database or transaction is closed.");
create_exception!(
    telar,
    ForkedError,
    ClosedError,
    "The database was opened before this process was forked: open it in the child."
);

/// Adds the classes to the module.
pub(crate) fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("Error", py.get_type::<Error>())?;
    module.add("StatementError", py.get_type::<StatementError>())?;
    module.add("CypherSyntaxError", py.get_type::<CypherSyntaxError>())?;
    module.add("ConstraintError", py.get_type::<ConstraintError>())?;
    module.add("ConflictError", py.get_type::<ConflictError>())?;
    module.add("InterruptedError", py.get_type::<InterruptedError>())?;
    module.add("TimeLimitError", py.get_type::<TimeLimitError>())?;
    module.add("MemoryLimitError", py.get_type::<MemoryLimitError>())?;
    module.add("ReadOnlyError", py.get_type::<ReadOnlyError>())?;
    module.add("StorageError", py.get_type::<StorageError>())?;
    module.add("LockedError", py.get_type::<LockedError>())?;
    module.add("UnknownOutcomeError", py.get_type::<UnknownOutcomeError>())?;
    module.add("ResultLostError", py.get_type::<ResultLostError>())?;
    module.add("ClosedError", py.get_type::<ClosedError>())?;
    module.add("ForkedError", py.get_type::<ForkedError>())
}

/// The exception of an error of a statement. It has the attributes `code`, as drivers of Neo4j know
/// it, `detail`, and `line`, `column` and `offset` in the text or `None`.
pub(crate) fn of_query(py: Python<'_>, error: &QueryError) -> PyErr {
    use ErrorKind as K;
    let text = error.to_string();
    let exception = match error.kind {
        K::Syntax => CypherSyntaxError::new_err(text),
        K::ConstraintViolation | K::ConstraintCreation => ConstraintError::new_err(text),
        K::Conflict | K::Deadlock => ConflictError::new_err(text),
        K::Terminated => InterruptedError::new_err(text),
        K::TimedOut => TimeLimitError::new_err(text),
        K::OutOfMemory => MemoryLimitError::new_err(text),
        K::AccessMode => ReadOnlyError::new_err(text),
        K::DatabaseUnavailable => match error.detail.as_str() {
            "Closed" => ClosedError::new_err(text),
            "Locked" => LockedError::new_err(text),
            "ResultLost" => ResultLostError::new_err(text),
            "UnknownOutcome" => UnknownOutcomeError::new_err(text),
            _ => StorageError::new_err(text),
        },
        K::Database => StorageError::new_err(text),
        _ => StatementError::new_err(text),
    };
    let value = exception.value(py);
    let place = error.position;
    let done = value
        .setattr(intern!(py, "code"), error.code())
        .and_then(|()| value.setattr(intern!(py, "detail"), &error.detail))
        .and_then(|()| value.setattr(intern!(py, "line"), place.map(|at| at.line)))
        .and_then(|()| value.setattr(intern!(py, "column"), place.map(|at| at.column)))
        .and_then(|()| value.setattr(intern!(py, "offset"), place.map(|at| at.offset)));
    done.err().unwrap_or(exception)
}

/// The exception of an error of the engine.
pub(crate) fn of_engine(error: &EngineError) -> PyErr {
    let text = error.to_string();
    match error {
        EngineError::Locked { .. } => LockedError::new_err(text),
        EngineError::Setting { .. } => pyo3::exceptions::PyValueError::new_err(text),
        _ => StorageError::new_err(text),
    }
}

/// The exception of a database that was not opened.
pub(crate) fn of_opening(error: &telar_share::Error) -> PyErr {
    match error {
        telar_share::Error::Database(error) => of_engine(error),
        telar_share::Error::Refused { .. } => LockedError::new_err(error.to_string()),
        telar_share::Error::Interrupted => InterruptedError::new_err(error.to_string()),
        error => StorageError::new_err(error.to_string()),
    }
}

/// A value that no property or parameter can be.
pub(crate) fn unsuitable(what: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let name = value.get_type().name();
    let name = name.map_or_else(|_| "object".to_owned(), |name| name.to_string());
    PyTypeError::new_err(format!("{what} is a {name}, which is no value of Cypher"))
}
