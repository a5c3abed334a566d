//! `db.create.setNodeVectorProperty` and its sibling for relationships: a list of numbers or a
//! vector becomes a property: a list whose numbers have 32 bits, which storage packs.

use std::sync::Arc;

use telar_graph::Value;
use telar_graph::value::DIMENSION_MAX;

use super::show::Shown;
use super::{CallContext, Field, Mode, Procedures, Rows, known};
use crate::query_error::{ErrorKind, QueryError};
use crate::watch;

fn failed(name: &str, message: &str) -> QueryError {
    let message = format!("{name}(): {message}");
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message)
}

/// The list with numbers of 32 bits, each written as one of 64.
fn narrowed(name: &str, vector: &Value) -> Result<Value, QueryError> {
    let coordinates;
    let numbers = match vector {
        Value::List(numbers) => &**numbers,
        Value::Vector(vector) => {
            coordinates = vector.to_values();
            &coordinates
        }
        other => {
            let found = other.type_name();
            let message = format!("vector must be a LIST of numbers or a VECTOR, found {found}");
            return Err(failed(name, &message));
        }
    };
    if !(1..=DIMENSION_MAX).contains(&numbers.len()) {
        let message =
            format!("vector must have from 1 to {DIMENSION_MAX} numbers, found {}", numbers.len());
        return Err(failed(name, &message));
    }
    watch::work(numbers.len())?;
    let narrow = |(at, number): (usize, &Value)| {
        let narrow = match number {
            Value::Float(x) => *x as f32,
            Value::Int(x) => *x as f32,
            other => {
                let (at, found) = (at + 1, other.type_name());
                let message = format!("number {at} of vector must be one, found {found}");
                return Err(failed(name, &message));
            }
        };
        if !narrow.is_finite() {
            let message = format!("number {} of vector is not finite in 32 bits", at + 1);
            return Err(failed(name, &message));
        }
        Ok(Value::Float(narrow.into()))
    };
    numbers.iter().enumerate().map(narrow).collect::<Result<_, _>>().map(Value::List)
}

/// Sets the property of an object, which errors call `what`, to a vector.
fn set(
    call: &mut CallContext<'_>,
    (name, what): (&str, &str),
    arguments: &[Value],
) -> Result<(), QueryError> {
    let [object, key, vector] = arguments else {
        return Err(failed(name, "it has three arguments"));
    };
    let Value::String(key) = key else { return Err(failed(name, "key must not be null")) };
    if object.is_null() {
        return Err(failed(name, &format!("{what} must not be null")));
    }
    let vector = narrowed(name, vector)?;
    call.changes()?.set_property(object, key, vector)
}

/// Names, what is changed and its type, descriptions.
const PROCEDURES: [(&str, [&str; 2], &str); 2] = [
    (
        "db.create.setNodeVectorProperty",
        ["node", "NODE"],
        "Sets a property of a node to a vector, whose numbers are rounded to 32 bits.",
    ),
    (
        "db.create.setRelationshipVectorProperty",
        ["relationship", "RELATIONSHIP"],
        "Sets a property of a relationship to a vector, whose numbers are rounded to 32 bits.",
    ),
];

pub(super) fn add(procedures: &mut Procedures) {
    for (name, [what, ty], description) in PROCEDURES {
        let vector = Field::new("vector", "LIST<INTEGER | FLOAT> | VECTOR");
        let fields = vec![Field::new(what, ty), Field::new("key", "STRING"), vector];
        let run = move |call: &mut CallContext<'_>, arguments: &[Value]| {
            set(call, (name, what), arguments).map(|()| known(Rows::new()))
        };
        let procedure = Shown::of(Mode::Write, description, fields, Vec::new(), run);
        procedures.add(name, Arc::new(procedure));
    }
}
