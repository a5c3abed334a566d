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
//! operator's choice, and not checked yet. There is no TLS yet.

mod coordination;
mod images;
mod log;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postgres::config::TargetSessionAttrs;
use postgres::error::Severity;
use postgres::{Client, Config, NoTls};

use super::url::without_password;
use super::{Name, PostgresUrl, StoreError};

/// Longest body of a slot, and of a part: 4 MiB. A row may have 1 GiB, and readers hold it.
const BODY_BYTES_MAX: usize = 4 << 20;
/// Connections that are kept.
const IDLE_MAX: usize = 8;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long the network may leave bytes unacknowledged.
const NETWORK_TIMEOUT: Duration = Duration::from_secs(5);

const SESSION: &str = "
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');";

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
    config: Config,
    /// For messages.
    url: String,
    idle: Mutex<Vec<Client>>,
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
        let mut config: Config = url
            .text
            .parse()
            .map_err(|cause: postgres::Error| StoreError::url(&url.text, why(&cause)))?;
        config
            .target_session_attrs(TargetSessionAttrs::ReadWrite)
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_user_timeout(NETWORK_TIMEOUT)
            .application_name("telar");
        let store = Self {
            config,
            url: without_password(&url.text),
            idle: Mutex::default(),
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

    fn unavailable(&self, cause: &postgres::Error) -> StoreError {
        StoreError::Unavailable { store: self.url.clone(), why: why(cause) }
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        let mut client = self.config.connect(NoTls)?;
        client.batch_execute(SESSION)?;
        Ok(client)
    }

    /// Runs something that changes nothing, once more if it fails: a kept connection may be dead.
    fn ask<T>(
        &self,
        work: impl Fn(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, StoreError> {
        self.change(&work).or_else(|_| self.change(&work)).map_err(Failure::cause)
    }

    /// Runs something that changes the store.
    fn change<T>(
        &self,
        work: impl FnOnce(&mut Client) -> Result<T, postgres::Error>,
    ) -> Result<T, Failure> {
        let kept = {
            let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.retain(|client| !client.is_closed());
            idle.pop()
        };
        let mut client = match kept {
            Some(client) => client,
            None => self.connect().map_err(|cause| Failure::NotDone(self.unavailable(&cause)))?,
        };
        let outcome = work(&mut client);
        let failure = match outcome {
            Ok(found) => {
                self.keep(client);
                return Ok(found);
            }
            Err(cause) => cause,
        };
        // A statement that the server refused is rolled back. One that ended with its session may
        // be committed: a backend that is told to stop stops waiting for its standby.
        let refused = failure.as_db_error().is_some_and(|found| {
            let code = found.code().code();
            let lasting = !["08", "57", "58", "XX"].iter().any(|class| code.starts_with(class));
            lasting && found.parsed_severity() == Some(Severity::Error)
        });
        let cause = self.unavailable(&failure);
        Err(if refused { Failure::NotDone(cause) } else { Failure::Unknown(cause) })
    }

    fn keep(&self, client: Client) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < IDLE_MAX {
            idle.push(client);
        }
    }
}

/// An error with what caused it: the outer one says little.
fn why(cause: &postgres::Error) -> String {
    let inner = std::error::Error::source(cause);
    inner.map_or_else(|| cause.to_string(), |inner| format!("{cause}: {inner}"))
}

/// `number` as the database has it.
fn to_sql(number: u64) -> Result<i64, StoreError> {
    i64::try_from(number).map_err(|_| StoreError::Range { first: number, next: number })
}

/// A number of the database.
fn from_sql(number: i64) -> Result<u64, StoreError> {
    u64::try_from(number).map_err(|_| StoreError::damaged("a row", "it has a negative number"))
}
