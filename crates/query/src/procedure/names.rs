//! `db.createLabel`, `db.createRelationshipType`, `db.createProperty`: names before anything has
//! them.

use std::sync::Arc;

use telar_graph::Value;

use super::show::Shown;
use super::{CallContext, Changes, Field, Mode, Procedures, Rows, known};
use crate::query_error::{ErrorKind, QueryError};

/// Makes a name, unless it is there.
type Make = fn(&mut Changes<'_>, &str) -> Result<(), QueryError>;

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
        let run = move |call: &mut CallContext<'_>, arguments: &[Value]| match arguments {
            [Value::String(name)] if !name.is_empty() && !name.contains('\0') => {
                make(&mut call.changes()?, name)?;
                Ok(known(Rows::new()))
            }
            _ => {
                let message = "a name must be a STRING that is not empty and has no NUL in it";
                Err(QueryError::runtime(ErrorKind::TokenName, "InvalidName", message))
            }
        };
        let procedure = Shown::of(Mode::Write, description, arguments, Vec::new(), run);
        procedures.add(name, Arc::new(procedure));
    }
}
