//! `telar mcp`: a database for programs with language models.

use std::io::{BufReader, IsTerminal, stdin, stdout};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use clap::Args;
use telar_db::{Retention, Settings};
use telar_server::bolt::client::{Address, Login};
use telar_server::http::{Allowed, Host, Origin};
use telar_server::mcp::stdio::{Connection, Ended};
use telar_server::mcp::{self, Graph, Server, http};
use telar_share::{Error, Opening, Shared};
use tokio::signal::unix::{SignalKind, signal};

use super::expect_database;
use super::shell::login::PASSWORD;
use crate::ui::Screen;

/// The variable that has the token of the HTTP transport.
const TOKEN: &str = "TELAR_MCP_TOKEN";

/// Serve a database to programs with language models, by the Model Context Protocol.
///
/// Without --http it speaks to the program that starts it, by standard input and output. The
/// database is a folder, which other processes may use at the same time (Python, Node.js, the
/// shell), or one of a server that runs. Tools read: schema, read_query, search, neighbourhood,
/// changes. With --allow-writes there is write_query, too.
///
/// It ends with its input, and with SIGINT or SIGTERM.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar mcp graph.telar
  telar mcp memory.telar --allow-writes --retain 10000
  telar mcp graph.telar --http 127.0.0.1:7475
  TELAR_PASSWORD=... telar mcp bolt://127.0.0.1:7687 --user neo4j

In a client: {\"mcpServers\": {\"telar\": {\"command\": \"telar\", \"args\": [\"mcp\", \"/path/graph.telar\"]}}}")]
pub(crate) struct Options {
    /// Directory of the database, or address of a server: bolt://host:port; bolt+s:// encrypts,
    /// bolt+ssc:// whatever the certificate is
    #[arg(value_name = "DB|ADDRESS")]
    db: PathBuf,
    /// Serve HTTP at this address, under /mcp; port 0 takes any that is free. Beyond this machine
    /// it needs a token in TELAR_MCP_TOKEN, which clients send as Authorization: Bearer
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,
    /// Let tools change the graph; a directory without a database becomes one
    #[arg(long)]
    allow_writes: bool,
    /// Rows, hits or nodes of one answer
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_rows: u32,
    /// Characters of one answer, in JSON
    #[arg(long, value_name = "N", default_value_t = 40_000,
          value_parser = clap::value_parser!(u32).range(i64::from(mcp::CHARS_MIN)..=100_000_000))]
    max_chars: u32,
    /// Seconds after which a call is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..=86_400))]
    timeout: u32,
    /// Keep what the last so many commits replaced, for reads of the past and for changes; stays
    /// set for this database
    #[arg(long, value_name = "COMMITS")]
    retain: Option<u64>,
    /// User of a server; TELAR_PASSWORD has the password
    #[arg(short, long, value_name = "NAME", env = "TELAR_USER")]
    user: Option<String>,
    /// The database of a server [default: the user's own]
    #[arg(short, long, value_name = "NAME")]
    database: Option<String>,
    /// Names, beside those of this machine, by which clients call the HTTP server: a,b
    #[arg(long, value_name = "HOSTS", requires = "http", value_parser = Allowed::hosts)]
    allow_host: Option<Allowed<Host>>,
    /// Origins of web pages that may use the HTTP server, with scheme: a,b
    #[arg(long, value_name = "ORIGINS", requires = "http", value_parser = Allowed::origins)]
    allow_origin: Option<Allowed<Origin>>,
}

impl Options {
    /// The graph, opened or connected to.
    fn graph(&self) -> anyhow::Result<Graph> {
        let named = self.db.to_str().filter(|db| Address::is_meant(db));
        let Some(address) = named else { return self.folder() };
        if self.retain.is_some() {
            bail!("--retain is for a directory: a server has its settings");
        }
        let address: Address = address.parse().map_err(anyhow::Error::msg)?;
        let login = match &self.user {
            None => Login::default(),
            Some(user) => {
                let password = std::env::var(PASSWORD);
                let password =
                    password.with_context(|| format!("{PASSWORD}: the password of {user}"))?;
                Login { user: user.clone(), password }
            }
        };
        Ok(Graph::of_server(address, login, self.database.clone())?)
    }

    fn folder(&self) -> anyhow::Result<Graph> {
        for (flag, given) in [
            ("--user", self.user.is_some() && !has_user_in_environment()),
            ("--database", self.database.is_some()),
        ] {
            if given {
                bail!("{flag} goes with the address of a server: telar mcp bolt://...");
            }
        }
        if !self.allow_writes {
            expect_database(&self.db)?;
        }
        let mut settings = Settings::default();
        if let Some(commits) = self.retain {
            settings.retain = Retention::commits(commits);
        }
        let opening = Opening {
            path: Some(self.db.clone()),
            settings,
            // For other processes: a call here is given no folder with files.
            #[cfg(feature = "files")]
            files: Some(telar_files::formats()),
            #[cfg(not(feature = "files"))]
            files: None,
            shared: true,
        };
        let shared = Shared::open(opening).map_err(|error| match error {
            Error::Database(telar_db::Error::Locked { .. }) => anyhow!(
                "{error}; one that a server has open is reached by its address: telar mcp bolt://..."
            ),
            error => error.into(),
        });
        Ok(Graph::of_folder(shared?))
    }

    fn settings(&self) -> mcp::Settings {
        mcp::Settings {
            allow_writes: self.allow_writes,
            rows_max: self.max_rows as usize,
            chars_max: self.max_chars as usize,
            timeout: Duration::from_secs(self.timeout.into()),
            ..mcp::Settings::default()
        }
    }

    /// Access rules of the HTTP transport.
    fn http_settings(&self, address: SocketAddr) -> anyhow::Result<http::Settings> {
        let token = std::env::var(TOKEN).ok().filter(|token| !token.is_empty());
        if token.is_none() && !address.ip().is_loopback() {
            bail!(
                "{address} can be reached from other machines: set {TOKEN}, which clients then send \
                 as Authorization: Bearer, or listen at 127.0.0.1"
            );
        }
        Ok(http::Settings {
            allowed_hosts: self.allow_host.clone().unwrap_or_default(),
            allowed_origins: self.allow_origin.clone().unwrap_or_default(),
            token,
        })
    }
}

/// True if the user is named in the environment, perhaps for other commands.
fn has_user_in_environment() -> bool {
    std::env::var_os("TELAR_USER").is_some()
}

/// Sends the end once a signal asks for it.
fn listen_to_signals(ended: Sender<Ended>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = runtime.block_on(async {
        Ok::<_, std::io::Error>((
            signal(SignalKind::interrupt())?,
            signal(SignalKind::terminate())?,
        ))
    })?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for time in 0.. {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            });
            if time > 0 {
                std::process::exit(130);
            }
            let _ = ended.send(Ended::Signal);
        }
    })?;
    Ok(())
}

/// Runs `telar mcp`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    // Standard output is for messages only.
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_max_level(tracing::Level::WARN)
        .init();
    let settings = options.http.map(|address| options.http_settings(address)).transpose()?;
    let (end, ended) = mpsc::channel();
    // Before anybody can connect, so that no signal is lost.
    listen_to_signals(end.clone())?;
    let graph = Arc::new(options.graph()?);
    let server = Server::new(options.settings());
    match options.http.zip(settings) {
        Some((address, settings)) => {
            let listening = http::Listening::start(&server, &graph, address, settings);
            serve(listening.with_context(|| format!("listening at {address}"))?, &ended)?;
        }
        None => speak(&server, &graph, end, &ended)?,
    }
    graph.close().with_context(|| shown(&options.db))?;
    Ok(ExitCode::SUCCESS)
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn speak(
    server: &Arc<Server>,
    graph: &Arc<Graph>,
    end: Sender<Ended>,
    ended: &Receiver<Ended>,
) -> anyhow::Result<()> {
    if stdin().is_terminal() {
        eprintln!(
            "This speaks to programs, line by line; --http serves a database at an address. The end \
             of the input (Ctrl-D) ends it."
        );
    }
    let connection = Connection::start(server, graph, BufReader::new(stdin()), stdout(), end)?;
    connection.finish(ended.recv()?);
    Ok(())
}

fn serve(listening: http::Listening, ended: &Receiver<Ended>) -> anyhow::Result<()> {
    Screen::new().line(format!("MCP at http://{}/mcp", listening.address()))?;
    ended.recv()?;
    listening.stop();
    Ok(())
}
