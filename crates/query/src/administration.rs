//! Commands for a server, as they are bound and described. The server executes them.

use std::sync::Arc;

use telar_cypher::Secret;
use telar_cypher::ast::{Administration, Name, NameOrParameter, Password};
use telar_graph::{Value, ValueMap};

use crate::description::PlanDescription;
use crate::host::ServerCommand;
use crate::query_error::{ErrorKind, QueryError};

/// Calls `parameter` with each parameter of a command.
pub(crate) fn parameters(command: &Administration, mut parameter: impl FnMut(&str)) {
    let mut names = Vec::new();
    let mut passwords = Vec::new();
    // Nothing fails: what it stands for does not matter.
    let _: Result<Administration<(), ()>, ()> = command.resolve(
        &mut |name| {
            if let NameOrParameter::Parameter(Name { text, .. }) = name {
                names.push(text.clone());
            }
            Ok(())
        },
        &mut |password| {
            if let Password::Parameter(Name { text, .. }) = password {
                passwords.push(text.clone());
            }
            Ok(())
        },
    );
    names.iter().chain(&passwords).for_each(|name| parameter(name));
}

/// The command with what its parameters stand for.
pub(crate) fn resolve(
    command: &Administration,
    parameters: &ValueMap,
) -> Result<ServerCommand, QueryError> {
    let text = |name: &Name| match parameters.get(&*name.text) {
        Some(Value::String(text)) => Ok(text.clone()),
        // The value is not repeated: it may be a password.
        _ => {
            let message = format!("the parameter ${} must be a STRING", name.text);
            Err(QueryError::compile(ErrorKind::ParameterMissing, "WrongParameter", message))
        }
    };
    command.resolve(
        &mut |name| match name {
            NameOrParameter::Name(name) => Ok(Arc::from(&*name.text)),
            NameOrParameter::Parameter(name) => text(name),
        },
        &mut |password| match password {
            Password::Text(secret) => Ok(secret.clone()),
            Password::Parameter(name) => Ok(Secret::new(&*text(name)?)),
        },
    )
}

/// What `EXPLAIN` shows; `text` is the command as printed.
pub(crate) fn describe(command: &Administration, text: &str) -> PlanDescription {
    use Administration as A;
    let operator = match command {
        A::CreateUser { .. } => "CreateUser",
        A::AlterUser { .. } => "AlterUser",
        A::SetOwnPassword { .. } => "AlterCurrentUserSetPassword",
        A::RenameUser { .. } => "RenameUser",
        A::DropUser { .. } => "DropUser",
        A::Grant(_) => "GrantRoleToUser",
        A::Revoke(_) => "RevokeRoleFromUser",
        A::CreateDatabase { .. } => "CreateDatabase",
        A::DropDatabase { .. } => "DropDatabase",
        A::StartDatabase { .. } => "StartDatabase",
        A::StopDatabase { .. } => "StopDatabase",
    };
    PlanDescription { operator, details: text.to_owned(), ..PlanDescription::default() }
}
