//! A store in PostgreSQL.
//!
//! ```text
//!  telar.slot   stream, first, last, body     a slot; last is its last timestamp
//!  telar.mark   stream, mark                  trim marks; there since the first put
//!  telar.part   stream, slot, name, body      parts
//!  telar.value  key, version, value           versions come from one sequence
//!  telar.image  name, piece, body             images, in pieces
//! ```
//!
//! A put is one statement: it inserts the slot if it is free, under a share lock on the mark, which
//! trimming locks alone. So a put sees the mark as it is when the slot is inserted. Statements run
//! in `READ COMMITTED`, and with `synchronous_commit = on` where less is set.
//!
//! Of several hosts the one that takes writes is asked. Whether a standby is synchronous is the
//! operator's choice; [`Log::concerns`](super::Log::concerns) says if none is. While it is away,
//! changes have an unknown outcome after some seconds (`client.rs`).
//!
//! There are no stale reads: a standby shows a commit before its primary does, which waits for the
//! standby's answer. Who had read it there would miss it here.

mod client;
mod coordination;
mod images;
mod log;
mod pool;

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio_postgres::config::{Config, SslMode, TargetSessionAttrs};
use tokio_postgres::error::Severity;
use tokio_postgres_rustls::MakeRustlsConnect;

use self::client::{Client, Error, said};
use self::pool::{Pool, READ, UPKEEP, WRITE, Wait};
use super::url::without_password;
use super::{Name, PostgresUrl, StoreError};
use crate::tls::trust;

/// Longest body of a slot, and of a part: 4 MiB. A row may have 1 GiB, and readers hold it.
const BODY_BYTES_MAX: usize = 4 << 20;
/// How long the network may leave bytes unacknowledged, and a connection without any.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(5);

const TABLES: &str = "
    BEGIN;
    SELECT pg_advisory_xact_lock(8242601735);
    CREATE SCHEMA IF NOT EXISTS telar;
    CREATE SEQUENCE IF NOT EXISTS telar.version;
    CREATE TABLE IF NOT EXISTS telar.slot (
        stream text COLLATE \"C\", first bigint, last bigint NOT NULL, body bytea NOT NULL,
        PRIMARY KEY (stream, first));
    CREATE TABLE IF NOT EXISTS telar.mark (
        stream text COLLATE \"C\" PRIMARY KEY, mark bigint NOT NULL);
    CREATE TABLE IF NOT EXISTS telar.part (
        stream text COLLATE \"C\", slot bigint, name text COLLATE \"C\", body bytea NOT NULL,
        PRIMARY KEY (stream, name));
    CREATE TABLE IF NOT EXISTS telar.value (
        key text COLLATE \"C\" PRIMARY KEY, version bigint NOT NULL, value bytea NOT NULL);
    CREATE TABLE IF NOT EXISTS telar.image (
        name text COLLATE \"C\", piece bigint, body bytea NOT NULL, PRIMARY KEY (name, piece));
    COMMIT;";

/// Why there is no answer.
#[derive(Debug)]
enum Failure {
    /// The statement was not carried out, and will not be.
    NotDone(StoreError),
    /// It may have been, or will be.
    Unknown(StoreError),
}

impl Failure {
    fn cause(self) -> StoreError {
        match self {
            Self::NotDone(cause) | Self::Unknown(cause) => cause,
        }
    }
}

/// A store in PostgreSQL.
pub struct Postgres {
    pool: Pool,
    /// For messages.
    url: String,
    /// Streams that have a mark.
    marked: Mutex<HashSet<String>>,
    prefix: String,
    body_bytes_max: usize,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Postgres").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Postgres {
    /// Opens the store, and makes its tables where they are missing.
    ///
    /// # Errors
    /// [`StoreError::Url`] for parameters that are unknown; [`StoreError::Unavailable`] if no host
    /// answers, or none takes writes.
    pub fn open(url: &PostgresUrl) -> Result<Self, StoreError> {
        let wrong = |why: String| StoreError::url(&url.text, why);
        let mut servers = Vec::new();
        for text in url.one_by_one() {
            let server: Result<Config, tokio_postgres::Error> = text.parse();
            let mut server = server.map_err(|cause| wrong(said(&cause)))?;
            if server.get_hosts().len() != 1 || !server.get_hostaddrs().is_empty() {
                return Err(wrong("hosts stand before the database, not in parameters".into()));
            }
            server
                .target_session_attrs(TargetSessionAttrs::ReadWrite)
                .tcp_user_timeout(NETWORK_TIMEOUT)
                .keepalives_idle(NETWORK_TIMEOUT)
                .keepalives_interval(NETWORK_TIMEOUT)
                .application_name("telar");
            servers.push(server);
        }
        let tls = url.encrypted.as_ref().map(|ca| trust(ca.as_deref())).transpose();
        let tls = tls.map_err(wrong)?;
        let mode = if tls.is_some() { SslMode::Require } else { SslMode::Disable };
        for server in &mut servers {
            server.ssl_mode(mode);
        }
        let tls = tls.map(|tls| MakeRustlsConnect::new(Arc::unwrap_or_clone(tls)));
        let store = Self {
            pool: Pool::new(servers, tls)?,
            url: without_password(&url.text),
            marked: Mutex::default(),
            prefix: String::new(),
            body_bytes_max: BODY_BYTES_MAX,
        };
        store.change(|client| client.batch_execute(TABLES)).map_err(Failure::cause)?;
        Ok(store)
    }

    /// Returns the store with streams and keys of its own: several clusters may share a database.
    #[must_use]
    pub fn with_cluster(mut self, cluster: &Name) -> Self {
        self.prefix = format!("{}%", cluster.as_str().replace('/', "%"));
        self
    }

    /// Returns the store with another limit for bodies, in bytes: tests of parts.
    #[must_use]
    pub fn with_body_bytes_max(mut self, max: usize) -> Self {
        self.body_bytes_max = max;
        self
    }

    fn named(&self, name: &Name) -> String {
        format!("{}{name}", self.prefix)
    }

    fn unavailable(&self, cause: &Error) -> StoreError {
        StoreError::Unavailable { store: self.url.clone(), why: cause.to_string() }
    }

    /// Runs something that changes nothing, once more if it fails: a kept connection may be dead.
    fn ask<T>(&self, work: impl Fn(&mut Client) -> Result<T, Error>) -> Result<T, StoreError> {
        self.run_again(READ, work)
    }

    /// As [`ask`](Self::ask), of what may take long.
    fn ask_much<T>(&self, work: impl Fn(&mut Client) -> Result<T, Error>) -> Result<T, StoreError> {
        self.run_again(UPKEEP, work)
    }

    /// Runs a change that may be made twice, once more if it fails.
    fn repeat<T>(&self, work: impl Fn(&mut Client) -> Result<T, Error>) -> Result<T, StoreError> {
        self.run_again(WRITE, work)
    }

    /// Runs something that changes the store.
    fn change<T>(&self, work: impl FnOnce(&mut Client) -> Result<T, Error>) -> Result<T, Failure> {
        self.run(WRITE, work)
    }

    /// As [`change`](Self::change), of what may take long.
    fn change_much<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.run(UPKEEP, work).map_err(Failure::cause)
    }

    fn run_again<T>(
        &self,
        limits: Wait,
        work: impl Fn(&mut Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        self.run(limits, &work).or_else(|_| self.run(limits, &work)).map_err(Failure::cause)
    }

    fn run<T>(
        &self,
        limits: Wait,
        work: impl FnOnce(&mut Client) -> Result<T, Error>,
    ) -> Result<T, Failure> {
        let client = self.pool.take(limits);
        let mut client = client.map_err(|cause| Failure::NotDone(self.unavailable(&cause)))?;
        client.set_patience(limits.patience);
        let outcome = work(&mut client);
        if client.is_silent() {
            self.pool.set_aside(client, limits);
        } else if outcome.is_ok() {
            self.pool.keep(client);
        }
        let failure = match outcome {
            Ok(found) => return Ok(found),
            Err(cause) => cause,
        };
        let said = match &failure {
            Error::Said(cause) => cause.as_db_error(),
            Error::NoAnswer(_) | Error::Doubt(_) | Error::Busy(_) => None,
        };
        // A statement that the server refused is rolled back. One that ended with its session may
        // be committed: a backend that is told to stop stops waiting for its standby.
        let refused = said.is_some_and(|found| {
            let code = found.code().code();
            let lasting = !["08", "57", "58", "XX"].iter().any(|class| code.starts_with(class));
            lasting && found.parsed_severity() == Some(Severity::Error)
        });
        let cause = self.unavailable(&failure);
        Err(if refused { Failure::NotDone(cause) } else { Failure::Unknown(cause) })
    }
}

/// `number` as the database has it.
fn to_sql(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Range { first: number, next: number })
}

/// A number of the database.
fn from_sql(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::damaged("a row", "it has a negative number"))
}
