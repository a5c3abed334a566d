//! `telar serve`: a database for clients, until it is told to stop.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use telar_server::dbms::{Database, Dbms};
use telar_server::server::{Server, Settings};
use telar_server::{bolt, net};

use crate::ui::Screen;

/// What the database is called that is served.
const DATABASE: &str = "telar";

/// Serve a database to Neo4j's drivers and tools.
///
/// Runs until it gets SIGINT or SIGTERM: then it takes no more clients, lets open transactions
/// finish, and closes the database. A second signal ends it at once.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar serve graph.telar --no-auth
  telar serve --memory --no-auth --bolt 127.0.0.1:0")]
pub(crate) struct Options {
    /// Directory of the database, made if there is none
    #[arg(required_unless_present = "memory")]
    path: Option<PathBuf>,
    /// Keep the database in memory: it is gone at the end
    #[arg(long, conflicts_with = "path")]
    memory: bool,
    /// Where to speak Bolt; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7687")]
    bolt: SocketAddr,
    /// The address that clients of neo4j:// are sent to, host:port [default: what they connected to]
    #[arg(long, value_name = "ADDRESS")]
    bolt_advertised: Option<String>,
    /// Let everybody in, as whoever they say they are
    #[arg(long)]
    no_auth: bool,
    /// PEM file with the certificate chain; with it, connections may be encrypted
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Refuse connections that are not encrypted
    #[arg(long, requires = "tls_cert")]
    tls_required: bool,
    /// Seconds that open transactions have to finish in when the server is told to stop
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    grace: u64,
}

/// Runs `telar serve`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    if !options.no_auth {
        bail!("there are no users and passwords yet: --no-auth lets everybody in");
    }
    let engine = match &options.path {
        Some(path) => telar_db::open(path)?,
        None => telar_db::open_in_memory()?,
    };
    let tls = match (&options.tls_cert, &options.tls_key) {
        (Some(cert), Some(key)) => Some(net::tls::load(cert, key)?),
        _ => None,
    };
    let bolt = bolt::Settings {
        address: options.bolt,
        tls,
        tls_required: options.tls_required,
        advertised: options.bolt_advertised.clone(),
        ..bolt::Settings::default()
    };
    let dbms = Arc::new(Dbms::new(Database::new(DATABASE, engine)));
    let server = Server::start(Arc::clone(&dbms), &Settings { bolt })
        .with_context(|| options.bolt.to_string())?;
    Screen::new().line(format!("Bolt at bolt://{}", server.bolt_address()))?;
    let signals = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    signals.block_on(signal())?;
    eprintln!("   stopping; once more to stop at once");
    std::thread::spawn(move || {
        if signals.block_on(signal()).is_ok() {
            std::process::exit(130);
        }
    });
    if !server.shut_down(Duration::from_secs(options.grace)) {
        bail!("statements went on that were told to end");
    }
    let dbms = Arc::into_inner(dbms).context("a connection still uses the databases")?;
    dbms.close()?;
    Ok(ExitCode::SUCCESS)
}

/// Waits until the process is told to end.
async fn signal() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => interrupted,
    }
}
