//! Functions written in Python, which statements call.

use std::ops::RangeInclusive;
use std::sync::Arc;

use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::{Columns, ErrorKind, QueryError, UserFunction};
use telar_share::Shared;

use crate::error::of_query;
use crate::frame;
use crate::interrupt;
use crate::result::Result as Table;
use crate::value::{of_python, to_python};

/// What a function is called with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    /// The values of one row.
    Values,
    /// A NumPy array for each argument.
    NumPy,
    /// An array of pyarrow for each argument.
    Arrow,
}

/// A function of Python.
struct Function {
    name: String,
    function: Py<PyAny>,
    takes: Takes,
    arguments: RangeInclusive<usize>,
}

/// Adds a function to the sessions of a database.
pub(crate) fn add(
    py: Python<'_>,
    database: &Shared,
    name: &str,
    function: &Bound<'_, PyAny>,
    takes: &str,
) -> PyResult<()> {
    let takes = match takes {
        "values" => Takes::Values,
        "numpy" => Takes::NumPy,
        "arrow" => Takes::Arrow,
        other => {
            let text = "a function takes 'values', 'numpy' or 'arrow', not";
            return Err(PyValueError::new_err(format!("{text} {other:?}")));
        }
    };
    let helper = py.import("telar._functions")?.getattr("arguments")?;
    let (fewest, most): (usize, usize) = helper.call1((function,))?.extract()?;
    let function = function.clone().unbind();
    let function = Function { name: name.to_owned(), function, takes, arguments: fewest..=most };
    let function: Arc<dyn UserFunction> = Arc::new(function);
    py.detach(|| database.add_function(name, &function)).map_err(|e| of_query(py, &e))
}

impl Function {
    fn failed(&self, py: Python<'_>, error: &PyErr) -> QueryError {
        let text = format!("{}(): {error}", self.name);
        if error.is_instance_of::<PyKeyboardInterrupt>(py) {
            // It is not about this statement: what is raised is the exception itself.
            interrupt::raise_afterwards(error.clone_ref(py));
        }
        QueryError::runtime(ErrorKind::ProcedureFailed, "FunctionFailed", text)
    }

    /// The value in each row, one call for each.
    fn of_values(
        &self,
        py: Python<'_>,
        arguments: &[Arc<Column>],
        rows: usize,
    ) -> PyResult<Column> {
        let none = Arc::new(Columns::default());
        let mut values = Vec::with_capacity(rows);
        for row in 0..rows {
            let given = arguments.iter().map(|column| to_python(py, &column.get(row), &none));
            let given = PyTuple::new(py, given.collect::<PyResult<Vec<_>>>()?)?;
            values.push(of_python(self.function.call1(py, given)?.bind(py), &self.name, 0)?);
        }
        Ok(Column::of(values))
    }

    /// The values of all rows, one call for all.
    fn of_arrays(&self, py: Python<'_>, arguments: &[Arc<Column>]) -> PyResult<Column> {
        let named = arguments.iter().enumerate();
        let whole = |column: &Column| match column {
            Column::Same(value, rows) => Column::of(vec![value.clone(); *rows]),
            other => other.clone(),
        };
        let named = named.map(|(at, column)| (at.to_string().into(), whole(column)));
        let table = Bound::new(py, Table::of_columns(Columns::of(named)))?;
        let how = if self.takes == Takes::NumPy { "numpy" } else { "arrow" };
        let helper = py.import("telar._functions")?.getattr("call")?;
        let result = helper.call1((how, &self.function, table))?;
        if let Some(columns) = frame::table_of(&result)?
            && let Some((_, column)) = columns.into_iter().next()
        {
            return Ok(column);
        }
        match of_python(&result, &self.name, 0)? {
            Value::List(values) => Ok(Column::of(values.to_vec())),
            other => Err(PyValueError::new_err(format!(
                "returned {}, not an array with a value for each row",
                other.type_name()
            ))),
        }
    }
}

impl UserFunction for Function {
    fn arguments(&self) -> RangeInclusive<usize> {
        self.arguments.clone()
    }

    fn call(&self, arguments: &[Arc<Column>], rows: usize) -> Result<Column, QueryError> {
        let done = Python::try_attach(|py| {
            for column in arguments {
                if matches!(**column, Column::Vertices(_) | Column::Edges(_))
                    || (0..rows).any(|row| {
                        let value = column.get(row);
                        matches!(value, Value::Vertex(_) | Value::Edge(_) | Value::Path(_))
                    })
                {
                    let text = "takes no nodes, relationships or paths: give it their properties";
                    return Err(self.failed(py, &PyValueError::new_err(text)));
                }
            }
            let called = match self.takes {
                Takes::Values => self.of_values(py, arguments, rows),
                Takes::NumPy | Takes::Arrow if arguments.is_empty() => {
                    self.of_values(py, arguments, rows)
                }
                Takes::NumPy | Takes::Arrow => self.of_arrays(py, arguments),
            };
            called.map_err(|error| self.failed(py, &error))
        });
        done.unwrap_or_else(|| {
            let text = format!("{}(): Python has ended", self.name);
            Err(QueryError::runtime(ErrorKind::Terminated, "Terminated", text))
        })
    }
}
