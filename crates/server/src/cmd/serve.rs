//! `telar serve`: databases for clients, until it is told to stop.

mod files;
mod notify;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use telar_cli::allocator;
use telar_cluster::upkeep::Limits;
use telar_db::query::budget::Budget;
use telar_server::config::{Config, FollowerReads, Loaded, NodeRole};
use telar_server::dbms::{
    ClusterSettings, Dbms, DbmsSettings, FirstLogin, Security, StatementLimits,
};
use telar_server::logs::{self, Destination, Watch};
use telar_server::metrics::Metrics;
use telar_server::net::tls::Certificate;
use telar_server::replication::Credentials;
use telar_server::replication::client::{Asking, SourceUrl};
use telar_server::server::{Http, Server, Settings};
use telar_server::{bolt, http, mcp};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::config;
use crate::ui::Screen;

/// How long the end waits for threads that have been told to end.
const LAST_WAIT: Duration = Duration::from_secs(10);

/// How often what nobody uses any more is given back to the system.
const GIVE_BACK: Duration = Duration::from_secs(2);

/// Serve databases to Neo4j's drivers and tools, and over HTTP.
///
/// Runs until it gets SIGINT or SIGTERM: then it takes no more clients, lets open transactions
/// finish, and closes the databases. A second signal ends it at once. SIGHUP opens the log file and
/// reads the certificate again.
///
/// `telar config template` prints all settings; each can be set in a file, in the environment and
/// with --set. The flags here are short forms of some.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  telar serve graph.telar
  telar serve --memory --no-auth --bolt 127.0.0.1:0
  telar serve a.telar --cluster dir:/srv/store --node a
  telar serve copy.telar --follow http://db.example:7474 --set follow.user=neo4j
  telar serve --config telar.toml --set limits.statement_timeout=1m")]
pub(crate) struct Options {
    /// Directory of the databases, made if there is none [store.path]
    path: Option<PathBuf>,
    /// Keep the databases in memory: they are gone at the end [store.memory]
    #[arg(long, conflicts_with = "path")]
    memory: bool,
    /// Where to speak Bolt; port 0 takes any that is free [bolt.address: 127.0.0.1:7687]
    #[arg(long, value_name = "ADDRESS")]
    bolt: Option<SocketAddr>,
    /// The address that clients of neo4j:// are sent to, host:port [bolt.advertised]
    #[arg(long, value_name = "ADDRESS")]
    bolt_advertised: Option<String>,
    /// Where to serve HTTP; port 0 takes any that is free [http.address: 127.0.0.1:7474]
    #[arg(long, value_name = "ADDRESS", conflicts_with = "no_http")]
    http: Option<SocketAddr>,
    /// Serve no HTTP [http.enabled]
    #[arg(long)]
    no_http: bool,
    /// Let everybody in, as whoever they say they are [auth.enabled]
    #[arg(long)]
    no_auth: bool,
    /// Listen beyond this machine although everybody is let in [auth.allow_remote_without]
    #[arg(long)]
    allow_remote_without_auth: bool,
    /// PEM file with the certificate chain; with it, connections may be encrypted [tls.certificate]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// PEM file with the private key of the certificate [tls.key]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Refuse Bolt connections that are not encrypted [tls.required]
    #[arg(long, requires = "tls_cert")]
    tls_required: bool,
    /// Serve copies of the databases of a cluster, whose nodes share this store [cluster.store]
    #[arg(long, value_name = "URL", requires = "node", conflicts_with = "memory")]
    cluster: Option<String>,
    /// The store of users, members and leases, if it is another one [cluster.coordination]
    #[arg(long, value_name = "URL")]
    coordination: Option<String>,
    /// What this node is called in the cluster [cluster.node]
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// Keep copies of the databases of a server, for reads: its HTTP address [follow.address]
    #[arg(long, value_name = "URL", conflicts_with_all = ["memory", "cluster"])]
    follow: Option<SourceUrl>,
    /// Seconds that open transactions have to finish in when the server is told to stop
    /// [shutdown.grace: 10]
    #[arg(long, value_name = "SECONDS")]
    grace: Option<u64>,
    #[command(flatten)]
    sources: config::Sources,
}

impl Options {
    /// What the short forms say, as flag, key and value.
    fn flags(&self) -> Vec<(String, String, String)> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|p| p.display().to_string());
        let is = |set: bool, value: &str| set.then(|| value.to_owned());
        let all = [
            ("PATH", "store.path", path(&self.path)),
            ("--memory", "store.memory", is(self.memory, "true")),
            ("--bolt", "bolt.address", self.bolt.map(|a| a.to_string())),
            ("--bolt-advertised", "bolt.advertised", self.bolt_advertised.clone()),
            ("--http", "http.address", self.http.map(|a| a.to_string())),
            ("--no-http", "http.enabled", is(self.no_http, "false")),
            ("--no-auth", "auth.enabled", is(self.no_auth, "false")),
            (
                "--allow-remote-without-auth",
                "auth.allow_remote_without",
                is(self.allow_remote_without_auth, "true"),
            ),
            ("--tls-cert", "tls.certificate", path(&self.tls_cert)),
            ("--tls-key", "tls.key", path(&self.tls_key)),
            ("--tls-required", "tls.required", is(self.tls_required, "true")),
            ("--cluster", "cluster.store", self.cluster.clone()),
            ("--coordination", "cluster.coordination", self.coordination.clone()),
            ("--node", "cluster.node", self.node.clone()),
            ("--follow", "follow.address", self.follow.as_ref().map(SourceUrl::to_string)),
            ("--grace", "shutdown.grace", self.grace.map(|s| s.to_string())),
        ];
        let said = all
            .into_iter()
            .filter_map(|(flag, key, value)| Some((flag.to_owned(), key.to_owned(), value?)));
        said.collect()
    }
}

/// How the databases are opened.
fn dbms_settings(loaded: &Loaded) -> DbmsSettings {
    let config = &loaded.config;
    let mut engine = telar_db::Settings::default();
    engine.durability = config.durability;
    engine.retain = config.retention;
    let most = config.memory.map_or_else(share_of_machine, |bytes| bytes.0);
    // A graph leaves the other half to statements.
    let graph = config.memory_limit.map_or((most / 2).max(1 << 20), |bytes| bytes.0);
    engine.memory_limit_bytes = Some(graph);
    engine.log_archive_bytes_max = config.log_archive.0;
    engine.once_window = config.once_window;
    DbmsSettings {
        default_database: config.default_database.as_str().into(),
        engine,
        security: Security {
            enabled: config.auth_enabled,
            initial_password: config.auth_initial_password.clone().map(|password| password.0),
            failed_logins_max: u32::try_from(config.auth_failed_logins).unwrap_or(u32::MAX),
            lockout: config.auth_lockout,
            ..Security::default()
        },
        limits: StatementLimits {
            timeout: config.statement_timeout,
            write_wait: Some(config.write_wait),
            memory: config.statement_memory.map(|bytes| to_usize(bytes.0)),
            budget: Some(Box::leak(Box::new(Budget::new(most)))),
            temporary_folder: config.temporary_folder.clone(),
            transactions: config.transactions,
            user_share: config.user_share,
            threads: config.threads,
        },
        isolation: config.isolation.clone(),
        import_folder: config.import_folder.clone(),
        export_folder: config.export_folder.clone(),
        backup_folder: config.backup_folder.clone(),
        audit_log: config.log_audit.clone(),
        slow: config.log_slow,
        cluster: cluster_settings(config),
        follow: follow_settings(config),
        follow_keep: config.follow_keep.0,
        shown: loaded.shown().into(),
    }
}

/// The cluster that the server is a node of, if it is one.
fn cluster_settings(config: &Config) -> Option<ClusterSettings> {
    let (store, node) = config.cluster_store.as_ref().zip(config.cluster_node.as_ref())?;
    Some(ClusterSettings {
        store: store.0.clone(),
        coordination: config.cluster_coordination.as_ref().map(|url| url.0.clone()),
        name: config.cluster_name.clone(),
        node: node.clone(),
        votes: config.cluster_role == NodeRole::Voter,
        limits: Limits {
            copies: config.cluster_copies,
            patience: config.cluster_keep,
            bytes_max: config.cluster_log_bytes.0,
        },
        ca: config.cluster_ca.clone(),
        latest_reads: config.cluster_follower_reads == FollowerReads::Latest,
        ..ClusterSettings::default()
    })
}

/// The server that this one follows, if it does.
fn follow_settings(config: &Config) -> Option<Asking> {
    let login = config.follow_user.clone().zip(config.follow_password.clone());
    let credentials =
        login.map(|(user, password)| Credentials::Basic { user, password: password.0 });
    Some(Asking {
        url: config.follow_address.clone()?,
        credentials: credentials.unwrap_or_default(),
        ca: config.follow_ca.clone(),
    })
}

/// What a server holds at most if nobody says: the system and its file cache need some, too.
fn share_of_machine() -> u64 {
    telar_db::machine_memory_bytes() / 5 * 4
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn settings(config: &Config, certificate: Option<&Arc<Certificate>>) -> anyhow::Result<Settings> {
    let tls = certificate.map(Certificate::config).transpose()?;
    let bolt = bolt::Settings {
        address: config.bolt_address,
        tls: tls.clone(),
        tls_required: config.tls_required,
        advertised: config.bolt_advertised.clone(),
        connections_max: config.bolt_connections,
        user_share: config.user_share,
        newcomers_max: config.bolt_newcomers,
        login_timeout: config.bolt_login_timeout,
        idle_timeout: config.bolt_idle_timeout,
        message_timeout: config.bolt_message_timeout,
        message_bytes_max: to_usize(config.bolt_message_bytes.0),
        give_back: allocator::give_back,
        allowed_hosts: config.http_allowed_hosts.clone(),
        allowed_origins: config.http_allowed_origins.clone(),
        ..bolt::Settings::default()
    };
    let limits = http::Settings {
        body_bytes_max: to_usize(config.http_body_bytes.0),
        connections_max: config.http_connections,
        user_share: config.user_share,
        newcomers_max: config.http_newcomers,
        statements_max: config.http_statements,
        transactions_max: config.http_transactions,
        transaction_idle: config.http_transaction_idle,
        header_timeout: config.http_header_timeout,
        body_timeout: config.http_body_timeout,
        stall_timeout: config.http_stall_timeout,
        open_metrics: config.http_open_metrics,
        advertised: config.http_advertised.clone(),
        allowed_hosts: config.http_allowed_hosts.clone(),
        allowed_origins: config.http_allowed_origins.clone(),
        mcp: config.mcp_enabled.then(|| mcp_settings(config)),
        ..http::Settings::default()
    };
    let http = Http { address: config.http_address, tls, settings: limits };
    Ok(Settings { bolt, http: config.http_enabled.then_some(http) })
}

/// Limits and rights of language models.
fn mcp_settings(config: &Config) -> mcp::Settings {
    mcp::Settings {
        allow_writes: config.mcp_allow_writes,
        rows_max: config.mcp_answer_rows,
        chars_max: to_usize(config.mcp_answer_bytes.0),
        timeout: config.mcp_timeout,
        sessions_max: config.mcp_sessions,
        session_idle: config.mcp_session_idle,
        ..mcp::Settings::default()
    }
}

/// Runs `telar serve`.
pub(crate) fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let loaded = options.sources.load(&options.flags())?;
    let config = &loaded.config;
    if !config.huge_pages {
        allocator::use_small_pages();
    }
    let log = logs::begin(config).with_context(|| match &config.log_file {
        Some(path) => format!("log.file: {}", path.display()),
        None => "the log".to_owned(),
    })?;
    let limit = files::raise_limit()?;
    let certificate = match (&config.tls_certificate, &config.tls_key) {
        (Some(certificate), Some(key)) => {
            let loaded = Certificate::load(certificate, key);
            Some(loaded.context("tls.certificate (--tls-cert), tls.key (--tls-key)")?)
        }
        _ => None,
    };
    let dbms = Arc::new(Dbms::open(config.store_path.as_deref(), dbms_settings(&loaded))?);
    let metrics = Arc::new(Metrics::new());
    dbms.observe(Arc::new(Watch::new(config, Arc::clone(&metrics))));
    // Before anybody can connect, so that no signal is lost.
    let signals = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let mut signal = signals.block_on(async { Signals::new() })?;
    let mut settings = settings(config, certificate.as_ref())?;
    let fitted = files::fit(limit, &mut settings);
    let server = Server::start(Arc::clone(&dbms), &settings, &metrics)?;
    announce(config, &server)?;
    files::report(limit, fitted, &settings);
    std::thread::Builder::new().name("memory".into()).spawn(|| {
        loop {
            std::thread::sleep(GIVE_BACK);
            allocator::give_back();
        }
    })?;
    notify::ready();
    while signals.block_on(signal.next()) == Told::Reload {
        reload(&log, certificate.as_deref());
    }
    tracing::info!("stopping; once more to stop at once");
    notify::stopping();
    dbms.hand_over();
    std::thread::spawn(move || {
        while signals.block_on(signal.next()) == Told::Reload {}
        std::process::exit(130);
    });
    if !server.shut_down(config.shutdown_grace) {
        bail!("statements went on that were told to end");
    }
    dbms.leave();
    last(dbms).context("a statement still uses the databases")?.close()?;
    tracing::info!("stopped");
    Ok(ExitCode::SUCCESS)
}

/// The databases, as soon as no thread that has been told to end uses them.
fn last(dbms: Arc<Dbms>) -> Option<Dbms> {
    let until = Instant::now() + LAST_WAIT;
    while Arc::strong_count(&dbms) > 1 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    Arc::into_inner(dbms)
}

/// Says where the server is: to whoever started it, and to the log.
fn announce(config: &Config, server: &Server) -> anyhow::Result<()> {
    let screen = Screen::new();
    screen.line(format!("Bolt at bolt://{}", server.bolt_address()))?;
    let scheme = if config.tls_certificate.is_some() { "https" } else { "http" };
    if let Some(address) = server.http_address() {
        screen.line(format!("HTTP at {scheme}://{address}"))?;
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        bolt = %server.bolt_address(),
        http = server.http_address().map(|address| address.to_string()),
        store = config.store_path.as_ref().map(|path| path.display().to_string()),
        database = config.default_database,
        auth = config.auth_enabled,
        tls = config.tls_certificate.is_some(),
        "telar serves"
    );
    if !config.auth_enabled {
        tracing::warn!("nobody has to log in: everybody who reaches the server may do everything");
    }
    if let Some(hint) = first_login(config, server) {
        // Whoever has read the addresses may have closed the pipe: no reason to end.
        let _ = screen.line(&hint);
        tracing::info!("{hint}");
    }
    Ok(())
}

/// How to get in, as long as nobody has set a password.
fn first_login(config: &Config, server: &Server) -> Option<String> {
    let scheme = if config.tls_required { "bolt+s" } else { "bolt" };
    let shell = format!("telar shell {scheme}://{} -u neo4j", server.bolt_address());
    let change = format!(
        "has to be changed before anything else: `{shell}` asks for a new one, and so does \
         `telar admin set-password` while the server is stopped"
    );
    Some(match server.dbms().first_login()? {
        FirstLogin::Made => {
            format!("The user is neo4j, the password that of auth.initial_password: `{shell}`")
        }
        FirstLogin::Default => format!("The user is neo4j, the password neo4j, which {change}"),
        FirstLogin::Expired => format!("The password of the user neo4j {change}"),
    })
}

/// Opens the log and reads the certificate again; what fails stays as it was.
fn reload(log: &Destination, certificate: Option<&Certificate>) {
    if let Err(error) = log.reopen() {
        tracing::error!(%error, "cannot open the log again");
    }
    match certificate.map(Certificate::reload) {
        Some(Err(error)) => tracing::error!(%error, "the certificate stays as it was"),
        _ => tracing::info!("the log was opened and the certificate read again"),
    }
}

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Told {
    Stop,
    Reload,
}

/// The signals that mean something.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.interrupt.recv() => Told::Stop,
            _ = self.terminate.recv() => Told::Stop,
            _ = self.hangup.recv() => Told::Reload,
        }
    }
}
