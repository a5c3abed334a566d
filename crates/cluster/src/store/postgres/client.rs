//! A connection to PostgreSQL for callers that block, each statement for a limited time.
//!
//! A commit waits for the synchronous standby, and for ever where that is away; a server that
//! stands still answers nothing, while its kernel keeps the connection. So nobody waits without
//! end. The server must not be asked to stop waiting (by a cancel request): it reports the commit
//! as done then, though no standby has it, and gives a warning. Others may ask it to, so such a
//! warning is an error here.

use std::cell::Cell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::TryStreamExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::Config;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Connection, NoTls, Row, Statement};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::BODY_BYTES_MAX;
use crate::store::runtime::{Runtime, time_of};

/// Longest wait for a connection that can be used.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

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
    /// It is done, and no standby need have it.
    #[error("it is not known whether a standby has it: {0}")]
    Doubt(String),
    /// It was not sent: so many others are without an answer.
    #[error("{0} statements wait for an answer already")]
    Busy(usize),
}

/// An error with what caused it: the outer one says little.
pub(super) fn said(cause: &tokio_postgres::Error) -> String {
    let inner = std::error::Error::source(cause);
    inner.map_or_else(|| cause.to_string(), |inner| format!("{cause}: {inner}"))
}

/// What the server said of a wait that was ended, until somebody looks.
type Warning = Arc<Mutex<Option<String>>>;

/// A connection.
pub(super) struct Client {
    inner: tokio_postgres::Client,
    runtime: Arc<Runtime>,
    /// Which of the servers it is to.
    server: usize,
    /// Longest wait for an answer.
    patience: Duration,
    /// True once an answer has not come in time.
    silent: Cell<bool>,
    warning: Warning,
    /// Statements that are prepared in it.
    statements: HashMap<&'static str, Statement>,
}

/// The function of the server that waits for its standby, which names itself where it warns.
const STANDBY_WAIT: &str = "SyncRepWaitForLSN";

/// Carries a connection until its client is dropped, and notes when a commit has not been waited
/// for.
async fn carry<S, T>(mut connection: Connection<S, T>, warning: Warning)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        if let AsyncMessage::Notice(notice) = message
            && notice.routine() == Some(STANDBY_WAIT)
        {
            // Answers that come after it are handed on after this.
            let mut warning = warning.lock().unwrap_or_else(PoisonError::into_inner);
            *warning = Some(notice.message().to_owned());
        }
    }
}

impl Client {
    /// Connects to the server of this number.
    pub(super) fn connect(
        runtime: &Arc<Runtime>,
        server: usize,
        config: &Config,
        tls: Option<&MakeRustlsConnect>,
    ) -> Result<Self, Error> {
        let warning = Warning::default();
        let connecting = async {
            match tls {
                Some(tls) => {
                    let (client, connection) = config.connect(tls.clone()).await?;
                    tokio::spawn(carry(connection, Arc::clone(&warning)));
                    Ok(client)
                }
                None => {
                    let (client, connection) = config.connect(NoTls).await?;
                    tokio::spawn(carry(connection, Arc::clone(&warning)));
                    Ok(client)
                }
            }
        };
        // The timer needs the runtime, so it is made in it.
        let connected = runtime.block_on(async { timeout(CONNECT_TIMEOUT, connecting).await });
        let connected: Result<_, tokio_postgres::Error> =
            connected.map_err(|_| Error::NoAnswer(CONNECT_TIMEOUT))?;
        Ok(Self {
            inner: connected?,
            runtime: Arc::clone(runtime),
            server,
            patience: CONNECT_TIMEOUT,
            silent: Cell::new(false),
            warning,
            statements: HashMap::new(),
        })
    }

    /// Returns which of the servers it is to.
    pub(super) fn server(&self) -> usize {
        self.server
    }

    /// Sets the longest wait for an answer.
    pub(super) fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.inner.is_closed()
    }

    /// Returns true if an answer has not come in time: the server may be in the middle of anything.
    pub(super) fn is_silent(&self) -> bool {
        self.silent.get()
    }

    /// Waits, however long it takes, until the server has answered everything, and closes it.
    pub(super) fn settle(self) -> impl Future<Output = ()> + Send {
        let Self { inner, .. } = self;
        async move {
            // If it fails, there is nothing to wait for either.
            let _ = inner.check_connection().await;
        }
    }

    fn wait<T>(
        &self,
        limit: Duration,
        answer: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Error> {
        let answered = self.runtime.block_on(async { timeout(limit, answer).await });
        let Ok(answer) = answered else {
            self.silent.set(true);
            return Err(Error::NoAnswer(limit));
        };
        let warning = self.warning.lock().unwrap_or_else(PoisonError::into_inner).take();
        warning.map_or(Ok(answer?), |warning| Err(Error::Doubt(warning)))
    }

    fn prepare(&mut self, statement: &'static str) -> Result<Statement, Error> {
        if let Some(prepared) = self.statements.get(statement) {
            return Ok(prepared.clone());
        }
        let prepared = self.wait(self.patience, self.inner.prepare(statement))?;
        self.statements.insert(statement, prepared.clone());
        Ok(prepared)
    }

    /// Runs statements without parameters.
    pub(super) fn batch_execute(&mut self, statements: &str) -> Result<(), Error> {
        self.wait(self.patience, self.inner.batch_execute(statements))
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
        let limit = self.patience + time_of(bytes);
        self.wait(limit, self.inner.execute(&statement, parameters))
    }

    /// Runs a statement; returns its rows.
    pub(super) fn query(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Error> {
        let statement = self.prepare(statement)?;
        let rows = self.inner.query_raw(&statement, parameters.iter().copied());
        let mut rows = pin!(self.wait(self.patience, rows)?);
        let mut found = Vec::new();
        // Each may be a body.
        let limit = self.patience + time_of(BODY_BYTES_MAX);
        while let Some(row) = self.wait(limit, rows.try_next())? {
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
        Ok(self.query(statement, parameters)?.pop())
    }

    /// As [`query`](Self::query), of exactly one row, which is short.
    pub(super) fn query_one(
        &mut self,
        statement: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Row, Error> {
        let statement = self.prepare(statement)?;
        self.wait(self.patience, self.inner.query_one(&statement, parameters))
    }

    /// Runs `work` in a transaction, which is rolled back if it fails.
    pub(super) fn transaction<T, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        self.batch_execute("BEGIN")?;
        let done = work(self);
        match &done {
            Ok(_) => self.batch_execute("COMMIT")?,
            // The server rolls it back when the connection is closed.
            Err(_) if self.is_silent() => {}
            Err(_) => self.batch_execute("ROLLBACK")?,
        }
        done
    }
}
