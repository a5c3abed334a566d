//! Functions on paths.

use telar_graph::Value;
use telar_graph::value::Path;

use super::{Eval, Function};
use crate::error::EvalError;

const fn f(
    name: &'static str,
    category: &'static str,
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, category, (1, 1), signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    f(
        "length",
        "Scalar",
        "length(input :: PATH) :: INTEGER",
        "The number of relationships.",
        |args, _| Ok(Value::Int(path("length()", &args[0])?.edges().len() as i64)),
    ),
    f(
        "nodes",
        "List",
        "nodes(input :: PATH) :: LIST<NODE>",
        "The nodes, from the first to the last.",
        |args, _| Ok(Value::list(path("nodes()", &args[0])?.vertices().iter().copied())),
    ),
    f(
        "relationships",
        "List",
        "relationships(input :: PATH) :: LIST<RELATIONSHIP>",
        "The relationships, in the order walked.",
        |args, _| Ok(Value::list(path("relationships()", &args[0])?.edges().iter().copied())),
    ),
];

fn path<'a>(function: &str, value: &'a Value) -> Result<&'a Path, EvalError> {
    match value {
        Value::Path(path) => Ok(path),
        other => Err(EvalError::argument_type(function, "a PATH", other)),
    }
}
