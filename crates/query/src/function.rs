//! The scalar functions of Cypher that need nothing but values.
//!
//! [`lookup`] finds a function by name when a query is bound; [`Function::call`] applies it. What a
//! function reads besides its arguments, such as the clock, is in a [`Context`].
//!
//! Functions that read the graph, such as `labels` and `degree`, are the executor's and not here.
//! `keys`, `size` and `length` are here for maps, lists, strings and paths.
//!
//! Every call checks the types and number of its arguments, and none builds more than
//! [`sizes`](crate::watch::sizes) allow: no input makes a call panic.

pub(crate) mod apoc;
pub(crate) mod area;
mod args;
mod context;
mod conversion;
pub mod gds;
mod list;
mod math;
mod misc;
mod number;
mod path;
mod spatial;
mod string;
pub mod temporal;
pub(crate) mod vector;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use telar_graph::{Column, Value};

pub use context::{Clock, Context, Moment, Random};
pub use list::Range;

use crate::error::{Detail, EvalError};

/// How a function is computed.
pub type Eval = fn(&[Value], &Context) -> Result<Value, EvalError>;

/// The computation of a function on whole columns of so many rows; `None` if it is to be computed
/// row by row.
pub type EvalColumn = fn(&[&Column], usize) -> Option<Result<Column, EvalError>>;

/// One function of Cypher.
#[derive(Debug, Clone, Copy)]
pub struct Function {
    /// Name as Cypher spells it, with its namespace: `date.truncate`.
    pub name: &'static str,
    /// What it deals with, as SHOW FUNCTIONS groups it.
    pub category: &'static str,
    /// Its arguments and result, as SHOW FUNCTIONS prints them.
    pub signature: &'static str,
    /// What it yields, in one sentence.
    pub description: &'static str,
    /// Fewest arguments.
    pub args_min: usize,
    /// Most arguments.
    pub args_max: usize,
    /// Whether two calls with the same arguments in one statement yield the same.
    pub deterministic: bool,
    /// Whether the result depends on the [`Context`], so that a plan kept for other statements must
    /// not contain it.
    pub reads_context: bool,
    /// Whether the result is null as soon as one argument is.
    pub null_in_null_out: bool,
    /// The computation. The number of arguments is in `args_min..=args_max`; with
    /// `null_in_null_out` none of them is null.
    pub eval: Eval,
    /// The same computation for columns that it can do faster.
    pub eval_column: Option<EvalColumn>,
}

impl Function {
    /// A deterministic function that yields null when an argument is null.
    const fn new(
        name: &'static str,
        category: &'static str,
        (args_min, args_max): (usize, usize),
        signature: &'static str,
        description: &'static str,
        eval: Eval,
    ) -> Self {
        Self {
            name,
            category,
            signature,
            description,
            args_min,
            args_max,
            deterministic: true,
            reads_context: false,
            null_in_null_out: true,
            eval,
            eval_column: None,
        }
    }

    /// The same, but computed of whole columns where they are of a kind that it knows.
    const fn by_column(self, eval_column: EvalColumn) -> Self {
        Self { eval_column: Some(eval_column), ..self }
    }

    /// The same, but called with nulls too.
    const fn takes_null(self) -> Self {
        Self { null_in_null_out: false, ..self }
    }

    /// The same, but with a result that depends on the context.
    const fn reads_context(self) -> Self {
        Self { reads_context: true, ..self }
    }

    /// The same, but with a result that differs from call to call.
    const fn volatile(self) -> Self {
        Self { deterministic: false, reads_context: true, ..self }
    }

    /// Whether the function can be called with so many arguments.
    ///
    /// # Errors
    ///
    /// `InvalidNumberOfArguments` when it cannot.
    pub fn check_arity(&self, arguments: usize) -> Result<(), EvalError> {
        if (self.args_min..=self.args_max).contains(&arguments) {
            return Ok(());
        }
        let expected = match (self.args_min, self.args_max) {
            (min, max) if min == max => min.to_string(),
            (min, usize::MAX) => format!("{min} or more"),
            (min, max) => format!("{min} to {max}"),
        };
        Err(EvalError::new(
            Detail::InvalidNumberOfArguments,
            format!("{}() takes {expected} arguments, not {arguments}", self.name),
        ))
    }

    /// What the function yields for these arguments.
    ///
    /// # Errors
    ///
    /// `InvalidNumberOfArguments`, `InvalidArgumentType`, `InvalidArgumentValue`,
    /// `NumberOutOfRange`, `IntegerOverflow` or `ResultTooLarge`.
    #[inline]
    pub fn call(&self, args: &[Value], context: &Context) -> Result<Value, EvalError> {
        self.check_arity(args.len())?;
        if self.null_in_null_out && args.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        (self.eval)(args, context)
    }
}

/// Functions by name, and where each name in lower case is found.
struct Table {
    functions: Vec<Function>,
    by_name: HashMap<String, usize>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let families: [&[Function]; 12] = [
        gds::FUNCTIONS,
        conversion::FUNCTIONS,
        list::FUNCTIONS,
        math::FUNCTIONS,
        misc::FUNCTIONS,
        path::FUNCTIONS,
        spatial::FUNCTIONS,
        string::FUNCTIONS,
        temporal::FUNCTIONS,
        temporal::DURATION_FUNCTIONS,
        temporal::CLOCK_FUNCTIONS,
        vector::FUNCTIONS,
    ];
    let mut functions: Vec<Function> = families.concat();
    functions.extend(apoc::all().concat());
    functions.sort_by_key(|function| function.name.to_ascii_lowercase());
    let names = functions.iter().map(|function| function.name.to_ascii_lowercase());
    let by_name = names.zip(0..).collect();
    Table { functions, by_name }
});

/// The function with this name, in any case; none when there is no such function here.
#[must_use]
pub fn lookup(name: &str) -> Option<&'static Function> {
    let at = *TABLE.by_name.get(&name.to_ascii_lowercase())?;
    TABLE.functions.get(at)
}

/// Every function, by name.
#[must_use]
pub fn all() -> &'static [Function] {
    &TABLE.functions
}
