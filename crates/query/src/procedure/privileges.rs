//! The rows of `SHOW PRIVILEGES`, in the columns of Neo4j 5.

use std::sync::Arc;

use telar_cypher::ast::PrivilegeFilter;
use telar_graph::Value;

use super::show::Shown;
use super::{Field, Rows};
use crate::host::{Host, ShownUser, needs_server};
use crate::query_error::QueryError;

/// `SHOW PRIVILEGES` of all roles, of some, or of users; names are the arguments.
pub(crate) fn shown(filter: &PrivilegeFilter) -> Shown {
    let (names, of_users) = match filter {
        PrivilegeFilter::All => (0, false),
        PrivilegeFilter::Roles(names) => (names.len(), false),
        PrivilegeFilter::Users(names) => (names.len(), true),
    };
    let mut columns = vec![
        ("access", "STRING"),
        ("action", "STRING"),
        ("resource", "STRING"),
        ("graph", "STRING"),
        ("segment", "STRING"),
        ("role", "STRING"),
        ("immutable", "BOOLEAN"),
    ];
    if of_users {
        columns.push(("user", "STRING"));
    }
    let arguments = (0..names).map(|at| Field::new(&format!("name{at}"), "STRING")).collect();
    Shown::new("What roles allow.", arguments, &columns, move |call, arguments| {
        let host = call.host().ok_or_else(|| needs_server("SHOW PRIVILEGES"))?;
        if of_users { of_users_named(host, arguments) } else { of_roles(host, arguments) }
    })
}

/// The rows of a role that holds on one database, or everywhere.
fn rows_of(host: &dyn Host, role: &str, database: Option<&Arc<str>>) -> Rows {
    let graph = database.map_or("*", |name| &**name);
    let privileges = host.privileges(role).into_iter();
    let row = privileges.map(|privilege| {
        let texts =
            ["GRANTED", privilege.action, privilege.resource, graph, privilege.segment, role];
        texts.into_iter().map(Value::from).chain([Value::Bool(true)]).collect()
    });
    row.collect()
}

fn is_named(arguments: &[Value], name: &str) -> bool {
    arguments.iter().any(|argument| matches!(argument, Value::String(text) if **text == *name))
}

fn of_roles(host: &dyn Host, arguments: &[Value]) -> Result<Rows, QueryError> {
    // Who may see users may see this.
    host.users(false)?;
    let wanted = |role: &&&str| arguments.is_empty() || is_named(arguments, role);
    Ok(host.roles().iter().filter(wanted).flat_map(|role| rows_of(host, role, None)).collect())
}

fn of_users_named(host: &dyn Host, arguments: &[Value]) -> Result<Rows, QueryError> {
    let own = arguments.iter().all(|name| is_named(std::slice::from_ref(name), &host.user()));
    let mut users = host.users(own)?;
    users.retain(|user| arguments.is_empty() || is_named(arguments, &user.name));
    let of_user = |user: ShownUser| {
        let mut rows = Rows::new();
        for (role, database) in &user.grants {
            rows.extend(rows_of(host, role, database.as_ref()));
        }
        rows.iter_mut().for_each(|row| row.push(user.name.clone().into()));
        rows
    };
    Ok(users.into_iter().flat_map(of_user).collect())
}
