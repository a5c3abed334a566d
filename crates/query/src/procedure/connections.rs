//! `dbms.listConnections`, `dbms.killConnection`, `dbms.killConnections`: who is connected to the
//! server; `dbms.routing.getRoutingTable`: where drivers reach it.

use std::sync::Arc;

use telar_graph::Value;

use super::show::Shown;
use super::{CallContext, Field, Procedures, Rows};
use crate::host::{Host, ShownConnection, ShownDatabase, needs_server};
use crate::query_error::{ErrorKind, QueryError};

/// Columns that describe a connection that is to be ended.
const ENDED: [(&str, &str); 3] =
    [("connectionId", "STRING"), ("username", "STRING"), ("message", "STRING")];

pub(super) fn add(procedures: &mut Procedures) {
    let columns = [
        ("connectionId", "STRING"),
        ("connectTime", "STRING"),
        ("connector", "STRING"),
        ("username", "STRING"),
        ("userAgent", "STRING"),
        ("serverAddress", "STRING"),
        ("clientAddress", "STRING"),
    ];
    let list = Shown::new(
        "Connections to the server: the caller's own, or for administrators all.",
        Vec::new(),
        &columns,
        |call, _| {
            let host = host(call, "dbms.listConnections()")?;
            Ok(host.connections().into_iter().map(row).collect())
        },
    );
    procedures.add("dbms.listConnections", Arc::new(list.of_the_server()));
    let one = Shown::new(
        "Ends a connection, and what it runs.",
        vec![Field::new("id", "STRING")],
        &ENDED,
        |call, arguments| end(call, "dbms.killConnection()", arguments),
    );
    procedures.add("dbms.killConnection", Arc::new(one.of_the_server()));
    let several = Shown::new(
        "Ends connections, and what they run.",
        vec![Field::new("ids", "LIST<STRING>")],
        &ENDED,
        |call, arguments| match arguments.first() {
            Some(Value::List(ids)) => end(call, "dbms.killConnections()", ids),
            _ => Ok(Rows::new()),
        },
    );
    procedures.add("dbms.killConnections", Arc::new(several.of_the_server()));
    for name in ["dbms.routing.getRoutingTable", "dbms.cluster.routing.getRoutingTable"] {
        let table = Shown::new(
            "Where drivers reach a database: the one server, for everything.",
            vec![Field::new("context", "MAP"), Field::new("database", "STRING").or(Value::Null)],
            &[("ttl", "INTEGER"), ("servers", "LIST<MAP>")],
            routes,
        );
        procedures.add(name, Arc::new(table.of_the_server()));
    }
}

fn routes(call: &CallContext<'_>, arguments: &[Value]) -> Result<Rows, QueryError> {
    let host = host(call, "dbms.routing.getRoutingTable()")?;
    let databases = host.databases();
    let wanted = match arguments.get(1) {
        Some(Value::String(name)) => {
            let called = |other: &str| other.eq_ignore_ascii_case(name);
            let known = |shown: &&ShownDatabase| {
                called(&shown.name) || shown.aliases.iter().any(|alias| called(alias))
            };
            databases.iter().find(known).ok_or_else(|| {
                let message = format!("there is no database '{name}' to route to");
                let kind = ErrorKind::DatabaseNotFound;
                QueryError::runtime(kind, "DatabaseNotFound", message)
            })?
        }
        _ => match databases.iter().find(|shown| shown.home) {
            Some(shown) => shown,
            None => return Ok(Rows::new()),
        },
    };
    let asked = match arguments.first() {
        Some(Value::Map(context)) => context.get("address"),
        _ => None,
    };
    let asked = match asked {
        Some(Value::String(address)) => Some(&**address),
        _ => None,
    };
    let Some(routes) = host.routes(&wanted.name, asked) else { return Ok(Rows::new()) };
    let servers = routes.roles().map(|(role, addresses)| {
        let addresses = Value::list(addresses.iter().map(String::as_str));
        Value::map([("addresses", addresses), ("role", role.into())])
    });
    Ok(vec![vec![routes.seconds.into(), Value::list(servers)]])
}

fn host<'c>(call: &'c CallContext<'_>, what: &str) -> Result<&'c dyn Host, QueryError> {
    call.host().ok_or_else(|| needs_server(what))
}

fn row(shown: ShownConnection) -> Vec<Value> {
    let ShownConnection { id, since, connector, user, agent, server, client } = shown;
    vec![
        id.into(),
        since.into(),
        connector.into(),
        user.into(),
        agent.into(),
        server.into(),
        client.into(),
    ]
}

fn end(call: &CallContext<'_>, what: &str, ids: &[Value]) -> Result<Rows, QueryError> {
    let host = host(call, what)?;
    let ended = |id: &Value| {
        let user = match id {
            Value::String(id) => host.end_connection(id),
            _ => None,
        };
        let message = match user {
            Some(_) => "Connection found",
            None => "No connection found with this id",
        };
        vec![id.clone(), user.unwrap_or_else(|| "n/a".into()).into(), message.into()]
    };
    Ok(ids.iter().map(ended).collect())
}
