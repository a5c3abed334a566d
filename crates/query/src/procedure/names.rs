//! `db.createLabel`, `db.createRelationshipType`, `db.createProperty`: names before anything has
//! them.

use std::sync::Arc;

use telar_graph::{Update, Value};

use super::{CallContext, Field, Mode, Procedure, Procedures, Rows};
use crate::query_error::{ErrorKind, QueryError};

/// Makes a name, unless it is there.
type Make = fn(&mut dyn Update, &str) -> Result<(), QueryError>;

struct CreateName {
    description: &'static str,
    arguments: Vec<Field>,
    make: Make,
}

pub(super) fn add(procedures: &mut Procedures) {
    let all: [(&str, &str, &str, Make); 3] = [
        ("db.createLabel", "newLabel", "Creates a label.", |graph, name| {
            graph.label(name)?;
            Ok(())
        }),
        (
            "db.createRelationshipType",
            "newRelationshipType",
            "Creates a relationship type.",
            |graph, name| {
                graph.edge_type(name)?;
                Ok(())
            },
        ),
        ("db.createProperty", "newProperty", "Creates a property key.", |graph, name| {
            graph.property_key(name)?;
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

    fn run(&self, _: &CallContext<'_>, _: &[Value]) -> Result<Rows, QueryError> {
        let message = "a name is made in a transaction that writes";
        Err(QueryError::runtime(ErrorKind::AccessMode, "ReadOnly", message))
    }

    fn change(&self, graph: &mut dyn Update, arguments: &[Value]) -> Result<Rows, QueryError> {
        match arguments {
            [Value::String(name)] if !name.is_empty() && !name.contains('\0') => {
                (self.make)(graph, name)?;
                Ok(Rows::new())
            }
            _ => {
                let message = "a name must be a STRING that is not empty and has no NUL in it";
                Err(QueryError::runtime(ErrorKind::TokenName, "InvalidName", message))
            }
        }
    }
}
