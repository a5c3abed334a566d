//! `apoc.convert.*`, `apoc.create.uuid`, `apoc.version`: conversions and names.

use std::sync::Arc;

use telar_graph::Value;

use super::{args, json, text_or};
use crate::error::EvalError;
use crate::function::{Eval, Function, lookup};

type Found = Result<Value, EvalError>;

const fn on(
    name: &'static str,
    arity: (usize, usize),
    signature: &'static str,
    description: &'static str,
    eval: Eval,
) -> Function {
    Function::new(name, "Scalar", arity, signature, description, eval)
}

pub(super) static FUNCTIONS: &[Function] = &[
    on(
        "apoc.convert.fromJsonMap",
        (1, 3),
        "apoc.convert.fromJsonMap(map :: STRING, path = '' :: STRING, pathOptions = [] :: \
         LIST<STRING>) :: MAP",
        "The map that a JSON text is.",
        |args, _| match from_json("apoc.convert.fromJsonMap()", args)? {
            value @ (Value::Map(_) | Value::Null) => Ok(value),
            other => Err(EvalError::argument_type("apoc.convert.fromJsonMap()", "a map", &other)),
        },
    ),
    on(
        "apoc.convert.fromJsonList",
        (1, 3),
        "apoc.convert.fromJsonList(list :: STRING, path = '' :: STRING, pathOptions = [] :: \
         LIST<STRING>) :: LIST<ANY>",
        "The list that a JSON text is.",
        |args, _| match from_json("apoc.convert.fromJsonList()", args)? {
            value @ (Value::List(_) | Value::Null) => Ok(value),
            other => Err(EvalError::argument_type("apoc.convert.fromJsonList()", "a list", &other)),
        },
    ),
    on(
        "apoc.convert.toList",
        (1, 1),
        "apoc.convert.toList(value :: ANY) :: LIST<ANY>",
        "A list as it is; anything else as a list of it.",
        |args, _| {
            Ok(match &args[0] {
                list @ Value::List(_) => list.clone(),
                value => Value::list([value.clone()]),
            })
        },
    ),
    on(
        "apoc.convert.toSet",
        (1, 1),
        "apoc.convert.toSet(list :: ANY) :: LIST<ANY>",
        "The different elements of a list.",
        |args, context| {
            let list = match &args[0] {
                list @ Value::List(_) => list.clone(),
                value => Value::list([value.clone()]),
            };
            lookup("apoc.coll.toSet").expect("INVARIANT: one of the table").call(&[list], context)
        },
    ),
    on(
        "apoc.convert.toMap",
        (1, 1),
        "apoc.convert.toMap(map :: MAP) :: MAP",
        "A map as it is.",
        |args, _| Ok(Value::Map(Arc::new(args::map("apoc.convert.toMap()", &args[0])?.clone()))),
    ),
    Function::new(
        "apoc.create.uuid",
        "Scalar",
        (0, 0),
        "apoc.create.uuid() :: STRING",
        "A random universally unique identifier, as randomUUID().",
        |args, context| {
            lookup("randomUUID").expect("INVARIANT: one of the table").call(args, context)
        },
    )
    .volatile(),
    on(
        "apoc.version",
        (0, 0),
        "apoc.version() :: STRING",
        "The version of APOC that names, arguments and columns are of.",
        |_, _| Ok("5.26.0".into()),
    ),
    on(
        "apoc.util.validatePredicate",
        (3, 3),
        "apoc.util.validatePredicate(predicate :: BOOLEAN, message :: STRING, params :: \
         LIST<ANY>) :: BOOLEAN",
        "True; an error with the message if the predicate is true.",
        |args, _| {
            if args[0] != Value::Bool(true) {
                return Ok(true.into());
            }
            let message = args::text("apoc.util.validatePredicate()", &args[1])?;
            let name = "apoc.util.validatePredicate()";
            Err(EvalError::argument_value(super::format::formatted(name, message, &args[2])?))
        },
    )
    .takes_null(),
];

fn from_json(function: &str, arguments: &[Value]) -> Found {
    let text = args::text(function, &arguments[0])?;
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    let path = text_or(function, arguments.get(1), "")?;
    json::at_path(json::read(text)?, path)
}
