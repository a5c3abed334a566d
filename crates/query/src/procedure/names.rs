//! `db.createLabel`, `db.createRelationshipType`, `db.createProperty`: names before anything has
//! them.

use std::sync::Arc;

use telar_graph::Value;

use super::{CallContext, Changes, Field, Mode, Procedure, Procedures, RowSource, Rows, known};
use crate::query_error::{ErrorKind, QueryError};

/// Makes a name, unless it is there.
type Make = fn(&mut Changes<'_>, &str) -> Result<(), QueryError>;

struct CreateName {
    description: &'static str,
    arguments: Vec<Field>,
    make: Make,
}

pub(super) fn add(procedures: &mut Procedures) {
    let all: [(&str, &str, &str, Make); 3] = [
        ("db.createLabel", "newLabel", "Creates a label.", |changes, name| {
            changes.label(name)?;
            Ok(())
        }),
        (
            "db.createRelationshipType",
            "newRelationshipType",
            "Creates a relationship type.",
            |changes, name| {
                changes.relationship_type(name)?;
                Ok(())
            },
        ),
        ("db.createProperty", "newProperty", "Creates a property key.", |changes, name| {
            changes.property_key(name)?;
            Ok(())
        }),
    ];
    for (name, argument, description, make) in all {
        let arguments = vec![Field::new(argument, "STRING")];
        procedures.add(name, Arc::new(CreateName { description, arguments, make }));
    }
}

impl Procedure for CreateName {
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
        match arguments {
            [Value::String(name)] if !name.is_empty() && !name.contains('\0') => {
                (self.make)(&mut call.changes()?, name)?;
                Ok(known(Rows::new()))
            }
            _ => {
                let message = "a name must be a STRING that is not empty and has no NUL in it";
                Err(QueryError::runtime(ErrorKind::TokenName, "InvalidName", message))
            }
        }
    }
}
