//! A connection to PostgreSQL for callers that block, each statement for a limited time.
//!
//! A commit waits for the synchronous standby, and for ever where that is away; a server that
//! stands still answers nothing, while its kernel keeps the connection. So nobody waits without
//! end. The server must not be told to stop waiting (`statement_timeout`, a cancel request): it
//! would report a commit that no standby has.

use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::time::timeout;
use tokio_postgres::config::Config;
use tokio_postgres::types::ToSql;
use tokio_postgres::{NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::store::runtime::Runtime;

/// Longest wait for a connection that can be used.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Rate at which parameters are sent at least.
const BYTES_PER_SECOND: f64 = (256 << 10) as f64;

pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// Why a statement has no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// What the server says, or the connection.
    #[error("{}", said(.0))]
    Said(#[from] tokio_postgres::Error),
    /// Nothing came in time.
    #[error("no answer in {} s", .0.as_secs())]
    NoAnswer(Duration),
}

/// An error with what caused it: the outer one says little.
pub(super) fn said(cause: &tokio_postgres::Error) -> String {
    let inner = std::error::Error::source(cause);
    inner.map_or_else(|| cause.to_string(), |inner| format!("{cause}: {inner}"))
}

/// A connection.
pub(super) struct Client {
    inner: tokio_postgres::Client,
    runtime: Arc<Runtime>,
    /// Longest wait for an answer, and for each row of it.
    patience: Duration,
    /// Statements that are prepared in it.
    statements: HashMap<&'static str, Statement>,
}

fn wait<T>(
    runtime: &Runtime,
    limit: Duration,
    answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Error> {
    // The timer needs the runtime, so it is made in it.
    match runtime.block_on(async { timeout(limit, answer).await }) {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(Error::NoAnswer(limit)),
    }
}

impl Client {
    pub(super) fn connect(
        runtime: &Arc<Runtime>,
        config: &Config,
        tls: Option<&MakeRustlsConnect>,
    ) -> Result<Self, Error> {
        let inner = wait(runtime, CONNECT_TIMEOUT, async {
            // What is spawned ends with its client.
            match tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(connection);
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(connection);
                    Ok(client)
                }
            }
        })?;
        let (runtime, statements) = (Arc::clone(runtime), HashMap::new());
        Ok(Self { inner, runtime, patience: CONNECT_TIMEOUT, statements })
    }

    /// Sets the longest wait for an answer, and for each row of it.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        wait(&self.runtime, self.patience, answer)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// Waits until the server has answered what it was asked last.
    pub(super) fn settle(&self) -> Result<(), Error> {
        self.wait(self.inner.check_connection())
    }

    fn prepare(&mut self, statement: &'static str) -> Result<Statement, Error> {
        if let Some(prepared) = self.statements.get(statement) {
            return Ok(prepared.clone());
        }
        let prepared = self.wait(self.inner.prepare(statement))?;
        self.statements.insert(statement, prepared.clone());
        Ok(prepared)
    }

    /// Runs statements without parameters.
    pub(super) fn batch_execute(&mut self, statements: &str) -> Result<(), Error> {
        self.wait(self.inner.batch_execute(statements))
    }

    /// Runs a statement; returns how many rows it has changed.
    pub(super) fn execute(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Error> {
        self.send(0, statement, parameters)
    }

    /// As [`execute`](Self::execute), with so many bytes of parameters.
    pub(super) fn send(
        &mut self,
        bytes: usize,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Error> {
        let statement = self.prepare(statement)?;
        let limit = self.patience + Duration::from_secs_f64(bytes as f64 / BYTES_PER_SECOND);
        wait(&self.runtime, limit, self.inner.execute(&statement, parameters))
    }

    /// Runs a statement; returns its rows.
    pub(super) fn query(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(statement)?;
        let rows = self.inner.query_raw(&statement, parameters.iter().copied());
        let mut rows = pin!(self.wait(rows)?);
        let mut found = Vec::new();
        // Each may be long.
        while let Some(row) = self.wait(rows.try_next())? {
            found.push(row);
        }
        Ok(found)
    }

    /// As [`query`](Self::query), of one row at most.
    pub(super) fn query_opt(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Error> {
        let statement = self.prepare(statement)?;
        let row = self.inner.query_opt(&statement, parameters);
        self.wait(row)
    }

    /// As [`query`](Self::query), of exactly one row.
    pub(super) fn query_one(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, Error> {
        let statement = self.prepare(statement)?;
        let row = self.inner.query_one(&statement, parameters);
        self.wait(row)
    }

    /// Runs `work` in a transaction, which is rolled back if it fails.
    pub(super) fn transaction<T, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.batch_execute("BEGIN")?;
        match work(self) {
            Ok(done) => {
                self.batch_execute("COMMIT")?;
                Ok(done)
            }
            Err(cause) => {
                // Where it fails, the connection is not used any more.
                let _ = self.batch_execute("ROLLBACK");
                Err(cause)
            }
        }
    }
}
