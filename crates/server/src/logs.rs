//! What a server writes down: lines for people or for programs, and which statements.
//!
//! Statements are logged when they end, under the target `telar::query`: who, where, how long, how
//! many rows, how it went, and the text with passwords masked; as warnings, if they failed or were
//! slow. Parameters are data of users: they are logged only if that is asked for.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use telar_db::ValueMap;
use telar_db::query::cypher::without_secrets;
use telar_db::query::{query_id, transaction_id};
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::config::{Config, LogFormat, LogLevel, QueryLog};
use crate::dbms::{Failure, Observer, Peer, Ran, clipped};
use crate::metrics::{Ended, Metrics, Protocol};

/// Where lines go; a file can be opened again, after somebody has moved it away.
#[derive(Debug, Clone)]
pub struct Destination(Arc<Option<(PathBuf, RwLock<File>)>>);

fn append(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // Statements stand in it, and with them data of users.
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.create(true).append(true).open(path)
}

impl Destination {
    fn new(path: Option<&Path>) -> io::Result<Self> {
        let open = |path: &Path| Ok((path.to_owned(), RwLock::new(append(path)?)));
        path.map(open).transpose().map(|file: Option<_>| Self(Arc::new(file)))
    }

    /// Opens the file again.
    ///
    /// # Errors
    /// If it cannot be: lines go where they went.
    pub fn reopen(&self) -> io::Result<()> {
        if let Some((path, file)) = &*self.0 {
            *file.write() = append(path)?;
        }
        Ok(())
    }
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &*self.0 {
            Some((_, file)) => (&*file.read()).write(bytes),
            None => io::stderr().write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Destination {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// Begins to log as settings say; once in a process.
///
/// # Errors
/// If the file cannot be written, or somebody logs already.
pub fn begin(config: &Config) -> io::Result<Destination> {
    let destination = Destination::new(config.log_file.as_deref())?;
    let level = match config.log_level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_writer(destination.clone());
    let begun = match config.log_format {
        LogFormat::Text => lines.with_ansi(false).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    begun.map_err(io::Error::other)?;
    Ok(destination)
}

/// Writes down and counts what happens in databases.
#[derive(Debug)]
pub struct Watch {
    metrics: Arc<Metrics>,
    queries: QueryLog,
    slow: Duration,
    parameters: bool,
}

impl Watch {
    /// As settings say.
    #[must_use]
    pub fn new(config: &Config, metrics: Arc<Metrics>) -> Self {
        let (queries, slow) = (config.log_queries, config.log_slow);
        Self { metrics, queries, slow, parameters: config.log_parameters }
    }
}

/// Values as Cypher writes them.
fn shown(values: &ValueMap) -> String {
    let entry = |(key, value)| format!("{key}: {}", telar_db::query::literal(value));
    let entries: Vec<String> = values.iter().map(entry).collect();
    format!("{{{}}}", entries.join(", "))
}

/// Why a statement failed, for a log. Where its text holds passwords, a syntax error may name one:
/// it says what was expected, and not what was found.
fn reason(failure: &Failure, harmless: bool) -> String {
    let message = &*failure.message;
    let found = message.find(", found ").filter(|_| !harmless);
    clipped(found.map_or(message, |at| &message[..at]).into())
}

impl Observer for Watch {
    fn ran(&self, ran: &Ran<'_>) {
        let Ran { peer, took, rows, .. } = ran;
        let error = ran.error.map(|failure| failure.code);
        let failed = error.is_some();
        let counted = Ended { protocol: peer.base_protocol(), error, took: *took, rows: *rows };
        self.metrics.statement(&counted);
        let slow = *took >= self.slow;
        let queries = self.queries;
        if !(queries.all || queries.slow && slow || queries.failed && failed) {
            return;
        }
        let address = peer.address.map(|address| address.to_string());
        let text = without_secrets(ran.text);
        // Passwords may be parameters, too.
        let harmless = matches!(text, Cow::Borrowed(_));
        let reason = ran.error.map(|failure| reason(failure, harmless));
        let query_id = ran.number.map(query_id);
        let transaction = ran.number.map(|number| transaction_id(ran.database, number));
        let parameters = (self.parameters && harmless).then(|| shown(ran.parameters));
        let metadata = (!ran.metadata.is_empty()).then(|| shown(ran.metadata));
        let (user, database, agent) = (ran.user, ran.database, &peer.agent);
        let protocol = peer.protocol;
        let (took_ms, text) = (took.as_secs_f64() * 1e3, clipped(text));
        macro_rules! line {
            ($level:ident, $what:literal) => {
                tracing::$level!(
                    target: "telar::query",
                    user, database, protocol, address, agent, query_id, transaction, took_ms, rows,
                    error, reason, metadata, parameters, text, $what
                )
            };
        }
        match (failed, slow) {
            (true, _) => line!(warn, "statement failed"),
            (false, true) => line!(warn, "slow statement"),
            (false, false) => line!(info, "statement"),
        }
    }

    fn login_failed(&self, peer: &Peer) {
        let http = peer.base_protocol() == "http";
        self.metrics.login_failed(if http { Protocol::Http } else { Protocol::Bolt });
        let address = peer.address.map(|address| address.to_string());
        tracing::warn!(protocol = peer.protocol, address, "a login failed");
    }
}

#[test]
fn logged_reasons_hold_no_passwords() {
    assert_eq!(shown(&[("x".into(), 1.into())].into()), "{x: 1}");
    let message = "UnexpectedSyntax: expected a string, found 'hunter22'";
    let failure = Failure::new("Neo.ClientError.Statement.SyntaxError", message);
    assert_eq!(reason(&failure, true), message);
    assert_eq!(reason(&failure, false), "UnexpectedSyntax: expected a string");
}
