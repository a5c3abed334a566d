//! `db.create.setNodeVectorProperty` and its sibling for relationships: a list of numbers becomes a
//! property whose numbers have 32 bits, which storage packs.

use std::sync::Arc;

use telar_graph::Value;

use super::{CallContext, Field, Mode, Procedure, Procedures, RowSource, known};
use crate::query_error::{ErrorKind, QueryError};
use crate::watch;

/// Greatest number of numbers of a vector, as in Neo4j.
const DIMENSIONS_MAX: usize = 4096;

/// Sets a property to a vector.
struct SetVector {
    name: &'static str,
    description: &'static str,
    arguments: [Field; 3],
}

impl SetVector {
    fn failed(&self, message: &str) -> QueryError {
        let message = format!("{}(): {message}", self.name);
        QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", message)
    }

    /// The list with numbers of 32 bits, each written as one of 64.
    fn narrowed(&self, vector: &Value) -> Result<Value, QueryError> {
        let Value::List(numbers) = vector else {
            let found = vector.type_name();
            return Err(self.failed(&format!("vector must be a LIST of numbers, found {found}")));
        };
        if !(1..=DIMENSIONS_MAX).contains(&numbers.len()) {
            let message = format!(
                "vector must have from 1 to {DIMENSIONS_MAX} numbers, found {}",
                numbers.len()
            );
            return Err(self.failed(&message));
        }
        watch::work(numbers.len())?;
        let narrow = |(at, number): (usize, &Value)| {
            let narrow = match number {
                Value::Float(x) => *x as f32,
                Value::Int(x) => *x as f32,
                other => {
                    let (at, found) = (at + 1, other.type_name());
                    let message = format!("number {at} of vector must be one, found {found}");
                    return Err(self.failed(&message));
                }
            };
            if !narrow.is_finite() {
                let message = format!("number {} of vector is not finite in 32 bits", at + 1);
                return Err(self.failed(&message));
            }
            Ok(Value::Float(narrow.into()))
        };
        numbers.iter().enumerate().map(narrow).collect::<Result<_, _>>().map(Value::List)
    }
}

impl Procedure for SetVector {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &[]
    }

    fn description(&self) -> &str {
        self.description
    }

    fn mode(&self) -> Mode {
        Mode::Write
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        let [object, key, vector] = arguments else {
            return Err(self.failed("it has three arguments"));
        };
        let Value::String(key) = key else { return Err(self.failed("key must not be null")) };
        if object.is_null() {
            return Err(self.failed(&format!("{} must not be null", self.arguments[0].name)));
        }
        let vector = self.narrowed(vector)?;
        call.changes()?.set_property(object, key, vector)?;
        Ok(known(Vec::new()))
    }
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
    for (name, [object, ty], description) in PROCEDURES {
        let vector = Field::new("vector", "LIST<INTEGER | FLOAT>");
        let arguments = [Field::new(object, ty), Field::new("key", "STRING"), vector];
        procedures.add(name, Arc::new(SetVector { name, description, arguments }));
    }
}
