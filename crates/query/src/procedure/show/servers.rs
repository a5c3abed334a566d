//! `SHOW DATABASES` and `SHOW SERVERS`: what is where.

use std::sync::Arc;

use telar_cypher::ast::DatabaseFilter;
use telar_graph::Value;

use super::{B, I, L, S, Shown};
use crate::host::{ShownDatabase, ShownPlace, ShownServer, needs_server};
use crate::procedure::{CallContext, Field};

/// `SHOW DATABASES`. Without a server there is one.
pub(crate) fn databases(filter: &DatabaseFilter) -> Shown {
    let columns = [
        ("name", S),
        ("type", S),
        ("aliases", L),
        ("access", S),
        ("address", S),
        ("role", S),
        ("writer", B),
        ("requestedStatus", S),
        ("currentStatus", S),
        ("statusMessage", S),
        ("default", B),
        ("home", B),
        ("constituents", L),
        ("lastCommittedTxn", I),
    ];
    let named = matches!(filter, DatabaseFilter::Named(_));
    let (default, home) = (*filter == DatabaseFilter::Default, *filter == DatabaseFilter::Home);
    let arguments = if named { vec![Field::new("name", S)] } else { Vec::new() };
    let run = move |call: &CallContext<'_>, arguments: &[Value]| {
        let mut found = match call.host() {
            Some(host) => host.databases(),
            None => vec![ShownDatabase {
                places: Vec::new(),
                name: call.procedures().database.clone(),
                kind: "standard",
                aliases: Vec::new(),
                wanted: true,
                online: true,
                message: String::new(),
                default: true,
                home: true,
                last_commit: Some(call.graph().read_ts()),
            }],
        };
        if let Some(Value::String(asked)) = arguments.first() {
            let called = |name: &Arc<str>| asked.eq_ignore_ascii_case(name);
            found.retain(|database| called(&database.name) || database.aliases.iter().any(called));
        }
        found.retain(|database| (!default || database.default) && (!home || database.home));
        Ok(found.into_iter().flat_map(database_rows).collect())
    };
    Shown::new("Databases.", arguments, &columns, run).shows_before("lastCommittedTxn")
}

/// Rows of a database: one for each server that has it.
fn database_rows(mut database: ShownDatabase) -> Vec<Vec<Value>> {
    let status = |online| Value::from(if online { "online" } else { "offline" });
    let mut places = std::mem::take(&mut database.places);
    if places.is_empty() {
        let (online, last_commit) = (database.online, database.last_commit);
        places.push(ShownPlace { address: None, votes: true, writer: true, online, last_commit });
    }
    let row = |place: ShownPlace| {
        vec![
            Value::from(&*database.name),
            database.kind.into(),
            Value::list(database.aliases.iter().map(|alias| &**alias)),
            "read-write".into(),
            place.address.map_or(Value::Null, Value::from),
            (if place.votes { "primary" } else { "secondary" }).into(),
            place.writer.into(),
            status(database.wanted),
            status(place.online),
            database.message.as_str().into(),
            database.default.into(),
            database.home.into(),
            Value::list::<&str>([]),
            place.last_commit.map(|ts| ts.get() as i64).into(),
        ]
    };
    places.into_iter().map(row).collect()
}

/// `SHOW SERVERS`
pub(crate) fn servers() -> Shown {
    let columns = [
        ("name", S),
        ("address", S),
        ("state", S),
        ("health", S),
        ("hosting", L),
        ("serverId", S),
        ("httpAddress", S),
        ("modeConstraint", S),
        ("version", S),
        ("message", S),
    ];
    let row = |server: ShownServer| {
        vec![
            server.name.into(),
            server.address.into(),
            "Enabled".into(),
            (if server.available { "Available" } else { "Unavailable" }).into(),
            Value::list(server.hosting),
            server.id.into(),
            server.http.map_or(Value::Null, Value::from),
            (if server.votes { "NONE" } else { "SECONDARY" }).into(),
            server.version.into(),
            server.message.into(),
        ]
    };
    let run = move |call: &CallContext<'_>, _: &[Value]| {
        let host = call.host().ok_or_else(|| needs_server("SHOW SERVERS"))?;
        Ok(host.servers()?.into_iter().map(row).collect())
    };
    Shown::new("Servers of the cluster.", Vec::new(), &columns, run).shows_before("serverId")
}
