//! Users, roles and databases, used through clients as a protocol would.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod apart;
mod cluster;
mod connections;
mod crash;
mod databases;
mod follow;
mod founding;
mod images;
mod login;
mod lost;
mod roles;
mod transactions;
mod upkeep;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telar_db::query::{QueryError, Rows, Sink, literal};
use telar_db::{Value, ValueMap};

use super::{Client, Credentials, Dbms, DbmsSettings, Failure, Options, Peer, Security, Work};

pub(super) use crash::crash_point;

const FORBIDDEN: &str = "Neo.ClientError.Security.Forbidden";
const UNAUTHORIZED: &str = "Neo.ClientError.Security.Unauthorized";
const EXPIRED: &str = "Neo.ClientError.Security.CredentialsExpired";
const INVALID: &str = "Neo.ClientError.General.InvalidArguments";
const NOT_FOUND: &str = "Neo.ClientError.Database.DatabaseNotFound";
const UNAVAILABLE: &str = "Neo.TransientError.General.DatabaseUnavailable";

/// The password of `neo4j` in these tests.
const PASSWORD: &str = "Neo4j's secret";

/// Longest wait for what has to come: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// The first thing that `found` returns, once it returns one.
#[track_caller]
fn eventually<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Closes a server of which no client is left.
#[track_caller]
fn close(dbms: Arc<Dbms>) {
    dbms.leave();
    // A thread of HTTP may have it a moment longer.
    eventually("its last user", || (Arc::strong_count(&dbms) == 1).then_some(()));
    Arc::into_inner(dbms).unwrap().close().unwrap();
}

/// Sets a flag when it is dropped, by a panic, too: threads that wait for the flag end.
struct SetOnDrop<'f>(&'f AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Cheap hashes.
fn settings() -> DbmsSettings {
    let security = Security {
        initial_password: Some(telar_db::query::cypher::Secret::new(PASSWORD)),
        hash_memory_kib: 64,
        hash_passes: 1,
        lockout: Duration::from_millis(300),
        ..Security::default()
    };
    DbmsSettings { security, ..DbmsSettings::default() }
}

/// Begins a transaction for `body`, which may commit it.
fn transaction<R>(
    client: &Client,
    options: &Options,
    body: impl FnOnce(Work) -> R,
) -> Result<R, Failure> {
    client.begin(options).map(body)
}

fn in_memory() -> Arc<Dbms> {
    Arc::new(Dbms::open(None, settings()).unwrap())
}

fn stored(path: &Path) -> Arc<Dbms> {
    Arc::new(Dbms::open(Some(path), settings()).unwrap())
}

fn stranger(dbms: &Arc<Dbms>) -> Client {
    let address = Some("127.0.0.1:4711".parse().unwrap());
    Client::new(Arc::clone(dbms), Peer { address, protocol: "bolt", agent: "test/1".into() })
}

fn basic(user: &str, password: &str) -> Credentials {
    let (scheme, principal) = ("basic".to_owned(), user.to_owned());
    Credentials { scheme, principal, credentials: password.to_owned() }
}

fn login(dbms: &Arc<Dbms>, user: &str, password: &str) -> Result<Client, Failure> {
    let client = stranger(dbms);
    client.login(&basic(user, password)).map(|()| client)
}

fn admin(dbms: &Arc<Dbms>) -> Client {
    login(dbms, "neo4j", PASSWORD).unwrap()
}

/// A user with a role everywhere, or with none.
fn user(dbms: &Arc<Dbms>, name: &str, role: &str) -> Client {
    let (admin, password) = (admin(dbms), format!("password of {name}"));
    let text = format!("CREATE USER {name} SET PASSWORD '{password}' CHANGE NOT REQUIRED");
    run(&admin, &text);
    if !role.is_empty() {
        run(&admin, &format!("GRANT ROLE {role} TO {name}"));
    }
    login(dbms, name, &password).unwrap()
}

/// Rows as text, a line each.
#[derive(Default)]
struct Kept(Vec<String>, usize);

impl Sink for Kept {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.1 = columns.len();
        Ok(())
    }

    fn rows(&mut self, rows: &Rows<'_>) -> Result<(), QueryError> {
        let text = |row, column| literal(&rows.get(row, column));
        let line = |row| (0..self.1).map(|column| text(row, column)).collect::<Vec<_>>().join(" ");
        let lines: Vec<_> = (0..rows.len()).map(line).collect();
        self.0.extend(lines);
        Ok(())
    }
}

fn on(database: &str) -> Options {
    Options { database: Some(database.to_owned()), ..Options::default() }
}

/// Rows as text, a line each.
fn try_on(client: &Client, options: &Options, text: &str) -> Result<Vec<String>, Failure> {
    try_with(client, options, text, &[])
}

fn try_with(
    client: &Client,
    options: &Options,
    text: &str,
    parameters: &[(&str, &str)],
) -> Result<Vec<String>, Failure> {
    let entry = |(key, value): &(&str, &str)| (Arc::from(*key), Value::from(*value));
    let parameters: ValueMap = parameters.iter().map(entry).collect();
    let mut kept = Kept::default();
    client.run(options, text, &parameters, &mut kept)?;
    Ok(kept.0)
}

fn attempt(client: &Client, text: &str) -> Result<Vec<String>, Failure> {
    try_on(client, &Options::default(), text)
}

#[track_caller]
fn run_on(client: &Client, database: &str, text: &str) -> Vec<String> {
    try_on(client, &on(database), text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

#[track_caller]
fn run(client: &Client, text: &str) -> Vec<String> {
    attempt(client, text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// The code of the error that a statement gives.
#[track_caller]
fn code(client: &Client, text: &str) -> &'static str {
    match attempt(client, text) {
        Err(failure) => failure.code,
        Ok(rows) => panic!("{text}\n{rows:?}"),
    }
}
