//! A graph from a server that runs: Neo4j, or Telar, over Bolt.
//!
//! Nodes and relationships are read as two streams in one transaction, and come in as one commit;
//! then the constraints and indexes that the server shows. Of Neo4j such a transaction sees what
//! others commit meanwhile: a relationship to a node that was made later ends the import.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{anyhow, bail};
use telar_cli::process_cpu_s;
use telar_db::{Settings, Value, ValueMap};
use telar_exchange::Read;
use telar_exchange::gather::{Gathered, Properties};
use telar_server::bolt::client::{Address, Client};

use super::graph_file;
use crate::cmd::shell::login;
use crate::ui::number;

const NODES: &str = "MATCH (n) RETURN elementId(n), labels(n), properties(n)";
const RELATIONSHIPS: &str =
    "MATCH (a)-[r]->(b) RETURN type(r), elementId(a), elementId(b), properties(r)";
const CONSTRAINTS: &str = "SHOW CONSTRAINTS YIELD name, createStatement";
const INDEXES: &str = "SHOW INDEXES YIELD name, createStatement, type, owningConstraint";

/// User and server of an address: `bolt://user@host:7687`.
fn user_and_address(text: &str) -> anyhow::Result<(Option<String>, Address)> {
    let parse = |text: &str| text.parse::<Address>().map_err(|why| anyhow!("{why}"));
    let Some((scheme, rest)) = text.split_once("://") else { return Ok((None, parse(text)?)) };
    let Some((user, host)) = rest.rsplit_once('@') else { return Ok((None, parse(text)?)) };
    if user.contains(':') {
        bail!(
            "an address with a password could be seen by other users of this machine: leave it \
             out, it is asked for or taken from {}",
            login::PASSWORD
        );
    }
    Ok((Some(user.to_owned()), parse(&format!("{scheme}://{host}"))?))
}

/// Imports all that a server has in one of its databases.
pub(super) fn run(
    options: &super::Options,
    address: &str,
    settings: Settings,
) -> anyhow::Result<()> {
    graph_file::refuse(options)?;
    let before = process_cpu_s();
    let (user, address) = user_and_address(address)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let database = options.graph.database();
    let connected = login::connect(&address, user.as_deref(), database, &interrupted);
    let mut client = connected.map_err(|error| match user {
        None => anyhow!("{error} (in an address: bolt://USER@HOST)"),
        Some(_) => error,
    })?;
    let read = read(&mut client)?;
    drop(client);
    let db = telar_db::open_with(&options.db, settings)?;
    graph_file::take(options, db, read, before)
}

fn text(value: &Value) -> Result<&str, String> {
    match value {
        Value::String(text) => Ok(text),
        other => Err(format!("expected a text, not {}", other.type_name())),
    }
}

fn properties(value: Value) -> Result<Properties, String> {
    match value {
        Value::Map(map) => {
            Ok(map.iter().map(|(key, value)| (Arc::clone(key), value.clone())).collect())
        }
        other => Err(format!("expected a map, not {}", other.type_name())),
    }
}

fn read(client: &mut Client) -> anyhow::Result<Read> {
    let mut schema = statements(client, CONSTRAINTS, |_| true)?;
    let own = |row: &[Value]| {
        matches!(&row[2], Value::String(kind) if &**kind != "LOOKUP") && row[3].is_null()
    };
    schema.extend(statements(client, INDEXES, own)?);
    let mut graph = Gathered::new();
    client.begin()?;
    let mut count = 0u64;
    client.stream(NODES, &mut |rows| {
        for row in rows {
            let [id, labels, own] =
                <[Value; 3]>::try_from(row).map_err(|_| "a row of another length")?;
            let Value::List(labels) = &labels else {
                return Err("labels that are no list".to_owned());
            };
            let labels = labels.iter().map(|label| text(label).map(str::to_owned));
            let labels: Vec<String> = labels.collect::<Result<_, _>>()?;
            let _new = graph.node(text(&id)?, &labels, properties(own)?);
            count += 1;
        }
        said(count, "nodes");
        Ok(())
    })?;
    let mut count = 0u64;
    client.stream(RELATIONSHIPS, &mut |rows| {
        for row in rows {
            let [ty, from, to, own] =
                <[Value; 4]>::try_from(row).map_err(|_| "a row of another length")?;
            graph.relationship(text(&ty)?, [text(&from)?, text(&to)?], properties(own)?, count);
            count += 1;
        }
        said(count, "relationships");
        Ok(())
    })?;
    client.rollback()?;
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        eprintln!();
    }
    let import = graph.finish().map_err(|missing| {
        anyhow!(
            "a relationship leads to the node {}, which was made after the nodes were read: the \
             database changes meanwhile; stop writing to it, and import again",
            missing.id
        )
    })?;
    Ok(Read { import, schema, notes: Vec::new() })
}

/// Says how far it has come, to somebody who looks.
fn said(count: u64, of: &str) {
    if std::io::IsTerminal::is_terminal(&std::io::stderr()) {
        eprint!("\r   reading   {} {of}      ", number::count(count));
    }
}

/// The second column of rows, which has statements.
fn statements(
    client: &mut Client,
    query: &str,
    wanted: impl Fn(&[Value]) -> bool,
) -> anyhow::Result<Vec<String>> {
    let rows = client.run(query, &ValueMap::new())?.rows;
    let mut named: Vec<(String, String)> = Vec::new();
    for row in rows.iter().filter(|row| wanted(row)) {
        if let (Value::String(name), Value::String(statement)) = (&row[0], &row[1]) {
            named.push((name.to_string(), statement.to_string()));
        }
    }
    named.sort();
    Ok(named.into_iter().map(|(_, statement)| statement).collect())
}

#[test]
fn addresses_may_name_the_user_and_no_password() {
    let (user, address) = user_and_address("neo4j+ssc://ann@db.example:7688").unwrap();
    assert_eq!((user.as_deref(), address.port), (Some("ann"), 7688));
    assert_eq!(user_and_address("bolt://localhost").unwrap().0, None);
    let refused = user_and_address("bolt://ann:secret@x").unwrap_err().to_string();
    assert!(refused.contains("TELAR_PASSWORD") && !refused.contains("secret"), "{refused}");
}
