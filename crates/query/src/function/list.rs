//! Functions on lists and maps.

use telar_graph::Value;

use super::{Eval, Function, args};
use crate::error::{Detail, EvalError};
use crate::ops::{self, pieces};
use crate::query_error::ErrorKind;
use crate::watch::sizes;

const LIST: &str = "List";
const SCALAR: &str = "Scalar";

const fn f(
    name: &'static str,
    category: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, category, arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "coalesce",
        SCALAR,
        (1, usize::MAX),
        "coalesce(input :: ANY...) :: ANY",
        "The first argument that is not null.",
        |args, _| Ok(args.iter().find(|arg| !arg.is_null()).cloned().unwrap_or_default()),
    )
    .takes_null(),
    f(
        "head",
        SCALAR,
        (1, 1),
        "head(list :: LIST<ANY>) :: ANY",
        "The first element; null if there is none.",
        |args, _| Ok(args::list("head()", &args[0])?.first().cloned().unwrap_or_default()),
    ),
    f(
        "isEmpty",
        "Predicate",
        (1, 1),
        "isEmpty(input :: STRING | MAP | LIST<ANY>) :: BOOLEAN",
        "Whether there are no elements, entries or characters.",
        |args, _| match &args[0] {
            Value::List(list) => Ok(Value::Bool(list.is_empty())),
            Value::Map(map) => Ok(Value::Bool(map.is_empty())),
            Value::String(text) => Ok(Value::Bool(text.is_empty())),
            other => Err(EvalError::argument_type("isEmpty()", "a LIST, MAP or STRING", other)),
        },
    ),
    f(
        "keys",
        LIST,
        (1, 1),
        "keys(input :: NODE | RELATIONSHIP | MAP) :: LIST<STRING>",
        "The keys of a map, a node or a relationship.",
        |args, _| {
            let keys = args::map("keys()", &args[0])?.keys();
            Ok(Value::List(keys.cloned().map(Value::String).collect()))
        },
    ),
    f(
        "last",
        SCALAR,
        (1, 1),
        "last(list :: LIST<ANY>) :: ANY",
        "The last element; null if there is none.",
        |args, _| Ok(args::list("last()", &args[0])?.last().cloned().unwrap_or_default()),
    ),
    f(
        "range",
        LIST,
        (2, 3),
        "range(start :: INTEGER, end :: INTEGER, step :: INTEGER) :: LIST<INTEGER>",
        "The integers from start to end, both included, step apart.",
        |args, _| Ok(Range::of_list(args)?.into_list()),
    )
    .takes_null(),
    f(
        "size",
        SCALAR,
        (1, 1),
        "size(input :: STRING | LIST<ANY>) :: INTEGER",
        "The number of elements of a list or vector, or of characters of a string.",
        |args, _| match &args[0] {
            Value::List(list) => Ok(Value::Int(list.len() as i64)),
            Value::String(text) => Ok(Value::Int(pieces::characters(text)? as i64)),
            Value::Bytes(bytes) => Ok(Value::Int(bytes.len() as i64)),
            Value::Vector(vector) => Ok(Value::Int(vector.dimension() as i64)),
            other => Err(EvalError::argument_type("size()", "a LIST, STRING or VECTOR", other)),
        },
    ),
    f(
        "tail",
        LIST,
        (1, 1),
        "tail(input :: LIST<ANY>) :: LIST<ANY>",
        "All elements but the first.",
        |args, _| ops::slice(&args[0], Some(&Value::Int(1)), None),
    ),
];

/// The integers of `range(start, end, step)`, one by one, so that a loop over them needs no list.
#[derive(Debug, Clone)]
pub struct Range {
    next: i128,
    step: i128,
    remaining: u128,
}

impl Range {
    /// The integers that these arguments of `range` stand for.
    ///
    /// # Errors
    ///
    /// `InvalidArgumentType` when an argument is not an integer, `NumberOutOfRange` when the step
    /// is 0.
    pub fn new(args: &[Value]) -> Result<Self, EvalError> {
        let int = |at: usize| match args.get(at) {
            Some(Value::Int(x)) => Ok(i128::from(*x)),
            None => Ok(1),
            // The TCK wants another kind of error than Neo4j has, but asks of no null.
            Some(Value::Null) => Err(EvalError::argument_type("range()", "INTEGERs", &Value::Null)),
            Some(other) => {
                Err(EvalError::argument_type("range()", "INTEGERs", other)
                    .of_kind(ErrorKind::Argument))
            }
        };
        let (next, end, step) = (int(0)?, int(1)?, int(2)?);
        if step == 0 {
            return Err(EvalError::new(
                Detail::NumberOutOfRange,
                "the step of range() cannot be zero",
            ));
        }
        // Division toward zero would count an end that lies less than a step behind.
        let behind = (end - next).signum() * step.signum() < 0;
        let remaining = if behind { 0 } else { ((end - next) / step).unsigned_abs() + 1 };
        Ok(Self { next, step, remaining })
    }

    /// How many integers are left.
    #[must_use]
    pub const fn remaining(&self) -> u128 {
        self.remaining
    }

    /// As [`new`](Self::new), of no more integers than a list may have.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new), and `ResultTooLarge`.
    pub(crate) fn of_list(args: &[Value]) -> Result<Self, EvalError> {
        let range = Self::new(args)?;
        sizes::check_list("the result of range()", range.len())?;
        Ok(range)
    }

    /// How many integers are left, as far as memory can be counted.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.remaining()).unwrap_or(usize::MAX)
    }

    /// One of the integers that are left.
    pub(crate) fn get(&self, at: usize) -> i64 {
        // Between two integers, both of 64 bits.
        (self.next + self.step * at as i128) as i64
    }

    fn into_list(self) -> Value {
        // PERF: the length of what is collected is known, so that the list is written once.
        Value::List((0..self.len()).map(|at| Value::Int(self.get(at))).collect())
    }
}

impl Iterator for Range {
    type Item = i64;

    fn next(&mut self) -> Option<i64> {
        self.remaining = self.remaining.checked_sub(1)?;
        let found = self.next;
        self.next += self.step;
        // Between two integers, both of 64 bits.
        i64::try_from(found).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let remaining = usize::try_from(self.remaining()).ok();
        (remaining.unwrap_or(usize::MAX), remaining)
    }
}
