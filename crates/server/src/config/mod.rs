//! What can be set of a server, from a file, the environment and flags: the later wins.
//!
//! ```text
//!  defaults ◄ file (TOML) ◄ TELAR_BOLT_ADDRESS ◄ --set bolt.address=..., --bolt ...
//! ```
//!
//! `settings!` below is the one list of all settings: type, default and description of each. From
//! it come the struct, the documented template and what is read. Every value is written the same in
//! all three places. Unknown names are errors, with a place and the name that was probably meant.

mod kind;
mod load;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use telar_db::{Durability, Retention};

use crate::dbms::Isolations;
use crate::http::{self, Allowed};
use crate::mcp;
use crate::replication::SourceUrl;

pub use kind::{
    Bytes, FollowerReads, Kind, LogFormat, LogLevel, NodeRole, Password, QueryLog, StoreUrl,
};
pub use load::{Loaded, Origin, Problem, load};

/// Least `cluster.log_bytes`: groups of commits of this size are ordinary.
const CLUSTER_LOG_BYTES_MIN: u64 = 16 << 20;

/// A setting: how it is called, what it means, how it is read and shown.
pub struct Setting {
    /// `section.name`
    pub key: &'static str,
    /// What it means, for people.
    pub help: &'static str,
    /// What its values look like.
    pub form: &'static str,
    set: fn(&mut Config, &str) -> Result<(), String>,
    show: fn(&Config) -> String,
}

macro_rules! settings {
    ($($key:literal $field:ident: $type:ty = $default:expr, $help:literal;)*) => {
        /// All settings of a server.
        #[derive(Debug, Clone)]
        pub struct Config {
            $(#[doc = $help] pub $field: $type,)*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        /// All settings, section by section.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            key: $key,
            help: $help,
            form: <$type as Kind>::FORM,
            set: |config, text| <$type as Kind>::read(text).map(|value| config.$field = value),
            show: |config| config.$field.show(),
        },)*];
    };
}

const fn address(port: u16) -> SocketAddr {
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), port)
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

settings! {
    "store.path" store_path: Option<PathBuf> = None,
        "Folder of the default database, and of everything else beside it; made if missing.";
    "store.memory" store_memory: bool = false,
        "Keep everything in memory instead: it is gone at the end.";
    "store.default_database" default_database: String = "telar".to_owned(),
        "What the default database is called. The name neo4j leads to it, too.";
    "store.durability" durability: Durability = Durability::Full,
        "When a commit returns: once it is on disk, or up to so many ms before.";
    "store.isolation" isolation: Isolations = Isolations::default(),
        "How transactions are isolated whose clients do not say, in all databases and in single ones.";
    "store.retention" retention: Retention = Retention::AsStored,
        "How far back the past can be read and changes be followed.";
    "store.memory_limit" memory_limit: Option<Bytes> = None,
        "Memory for a graph; what is above it is read from disk. Unset: half of limits.memory.";
    "store.huge_pages" huge_pages: bool = false,
        "Keep the heap on huge pages: up to 10% faster where queries visit much, 1.3 MiB more for \
         each connection.";
    "store.log_archive" log_archive: Bytes = Bytes(0),
        "Log kept after checkpoints, so that backups can be restored to any commit.";
    "store.once_window" once_window: Duration = seconds(600),
        "How long the id of a transaction that commits once (telar_once) is known; 131,072 at most.";
    "bolt.address" bolt_address: SocketAddr = address(7687),
        "Where drivers connect.";
    "bolt.advertised" bolt_advertised: Option<String> = None,
        "host:port that clients of neo4j:// are sent to. Unset: what they connected to.";
    "bolt.connections" bolt_connections: usize = 1000,
        "Connections at once that have logged in; each has a thread.";
    "bolt.newcomers" bolt_newcomers: usize = 500,
        "Connections beside them that have not: above it the oldest of these is closed.";
    "bolt.message_bytes" bolt_message_bytes: Bytes = Bytes(64 << 20),
        "Largest message of a client that has logged in.";
    "bolt.message_timeout" bolt_message_timeout: Duration = seconds(60),
        "How long a message may take from its first byte to its last.";
    "bolt.login_timeout" bolt_login_timeout: Duration = seconds(30),
        "How long a client may take to log in.";
    "bolt.idle_timeout" bolt_idle_timeout: Option<Duration> = None,
        "How long a client may be silent, or not read what it asked for. Unset: for ever.";
    "http.enabled" http_enabled: bool = true,
        "Whether HTTP is served at all.";
    "http.address" http_address: SocketAddr = address(7474),
        "Where HTTP is served; HTTPS, if there is a certificate.";
    "http.advertised" http_advertised: Option<String> = None,
        "Address under which other nodes of the cluster reach HTTP, host:port. Unset: the host of \
         bolt.advertised, unless HTTP listens on this machine only.";
    "http.connections" http_connections: usize = 1000,
        "Connections at once that have logged in.";
    "http.newcomers" http_newcomers: usize = 500,
        "Connections beside them that have not: above it the oldest of these is closed.";
    "http.statements" http_statements: usize = 256,
        "Statements and change streams at once; each has a thread.";
    "http.transactions" http_transactions: usize = 256,
        "Transactions open at once; one that waits for its next request has no thread.";
    "http.transaction_idle" http_transaction_idle: Duration = seconds(60),
        "How long an open transaction waits for its next request before it is rolled back.";
    "http.body_bytes" http_body_bytes: Bytes = Bytes(16 << 20),
        "Largest body of a request.";
    "http.header_timeout" http_header_timeout: Duration = seconds(30),
        "How long headers may take, and how long a connection may idle between two requests.";
    "http.body_timeout" http_body_timeout: Duration = seconds(60),
        "How long the body of a request may take.";
    "http.stall_timeout" http_stall_timeout: Duration = seconds(60),
        "How long a reader may take for the next 64 KiB of its answer.";
    "http.open_metrics" http_open_metrics: bool = false,
        "Whether /metrics can be read without logging in; names of databases are in it.";
    "http.allowed_hosts" http_allowed_hosts: Allowed<http::Host> = Allowed::default(),
        "What clients of HTTP, and of Bolt over WebSocket, may call the server, beside the names of \
         this machine. Unset: anything with auth.enabled, nothing without.";
    "http.allowed_origins" http_allowed_origins: Allowed<http::Origin> = Allowed::default(),
        "Origins of web pages that may use HTTP, and Bolt over WebSocket, from a browser. Unset: \
         those of the server itself.";
    "mcp.enabled" mcp_enabled: bool = true,
        "Whether the Model Context Protocol is served at /mcp and /db/{name}/mcp of HTTP.";
    "mcp.allow_writes" mcp_allow_writes: bool = false,
        "Whether its tools may change graphs, as far as the user may.";
    "mcp.answer_rows" mcp_answer_rows: usize = 100,
        "Rows, hits or nodes of one answer of a tool.";
    "mcp.answer_bytes" mcp_answer_bytes: Bytes = Bytes(40_000),
        "JSON of one answer of a tool.";
    "mcp.timeout" mcp_timeout: Duration = seconds(30),
        "How long a call of a tool may take; limits.statement_timeout may allow less.";
    "mcp.sessions" mcp_sessions: usize = 1000,
        "Sessions at once: above it one of the user who has most of them ends.";
    "mcp.session_idle" mcp_session_idle: Duration = seconds(3600),
        "How long a session without requests is kept.";
    "tls.certificate" tls_certificate: Option<PathBuf> = None,
        "PEM file with the chain of certificates, the server's own first.";
    "tls.key" tls_key: Option<PathBuf> = None,
        "PEM file with the private key of the certificate.";
    "tls.required" tls_required: bool = false,
        "Refuse Bolt connections that are not encrypted.";
    "auth.enabled" auth_enabled: bool = true,
        "Whether clients have to log in. If not, everybody may do everything.";
    "auth.allow_remote_without" auth_allow_remote_without: bool = false,
        "Listen beyond this machine although nobody has to log in.";
    "auth.initial_password" auth_initial_password: Option<Password> = None,
        "Password of the user neo4j at the first start. Unset: neo4j, to be changed at once.";
    "auth.failed_logins" auth_failed_logins: usize = 3,
        "Wrong passwords in a row before a user is locked out for a while.";
    "auth.lockout" auth_lockout: Duration = seconds(5),
        "For how long.";
    "limits.statement_timeout" statement_timeout: Option<Duration> = None,
        "How long a statement or transaction may take, waiting for its client included; clients \
         can ask for less.";
    "limits.statement_memory" statement_memory: Option<Bytes> = Some(Bytes(1 << 30)),
        "Memory that a statement may hold; rows beyond it go to temporary files.";
    "limits.memory" memory: Option<Bytes> = None,
        "Memory that the server as a whole may hold, graphs and statements together. Unset: four \
         fifths of the machine's or the control group's.";
    "limits.write_wait" write_wait: Duration = seconds(1),
        "How long a write waits for an open transaction that has written the same; 0s: not at all.";
    "limits.temporary_folder" temporary_folder: Option<PathBuf> = None,
        "Folder of these files. Unset: the database's own; in memory, none: such statements fail.";
    "limits.transactions" transactions: Option<usize> = None,
        "Transactions and statements at once, over Bolt and HTTP together.";
    "limits.user_share" user_share: usize = crate::dbms::USER_SHARE,
        "Percent of all connections, statements and transactions that one user may have at once; \
         administrators may have all, and some that are kept for them.";
    "limits.threads" threads: Option<usize> = None,
        "Threads that long queries share; with 1, none is helped. Unset: one for each processor.";
    "import.folder" import_folder: Option<PathBuf> = None,
        "Folder below which LOAD and COPY FROM may read. Unset: nowhere.";
    "export.folder" export_folder: Option<PathBuf> = None,
        "Folder below which COPY TO and apoc.export may make files. Unset: nowhere.";
    "backup.folder" backup_folder: Option<PathBuf> = None,
        "Folder below which CALL telar.backup writes. Unset: nowhere.";
    "log.level" log_level: LogLevel = LogLevel::Info,
        "What is worth a line.";
    "log.format" log_format: LogFormat = LogFormat::Text,
        "How lines are written.";
    "log.file" log_file: Option<PathBuf> = None,
        "Where lines go; SIGHUP opens it again. Unset: standard error.";
    "log.queries" log_queries: QueryLog = QueryLog::NOTABLE,
        "Which statements are logged when they end.";
    "log.slow" log_slow: Duration = seconds(1),
        "From when on a statement is slow: logged, and listed by telar.slowQueries.";
    "log.parameters" log_parameters: bool = false,
        "Whether parameters are logged with statements. Passwords in commands never are.";
    "log.audit" log_audit: Option<PathBuf> = None,
        "Where logins and commands for the server are recorded. Unset: dbms/audit.log below store.path.";
    "cluster.store" cluster_store: Option<StoreUrl> = None,
        "Store that the nodes of a cluster share: dir:PATH, etcd://... or postgres://... Unset: the \
         server is no node of a cluster.";
    "cluster.coordination" cluster_coordination: Option<StoreUrl> = None,
        "Store of users, databases, members and leases, if cluster.store is to have log and images \
         alone; the same on all nodes. Unset: cluster.store.";
    "cluster.name" cluster_name: String = "telar".to_owned(),
        "Name of the cluster: several may share a store.";
    "cluster.node" cluster_node: Option<String> = None,
        "Name of this node in the cluster, another one on each.";
    "cluster.role" cluster_role: NodeRole = NodeRole::Voter,
        "Whether this node may lead: a replica only follows.";
    "cluster.copies" cluster_copies: usize = 2,
        "Copies that have to have on disk what is trimmed from the log: nodes, and images in the store.";
    "cluster.keep" cluster_keep: Duration = seconds(600),
        "How long a node may be silent until the log is trimmed without it.";
    "cluster.log_bytes" cluster_log_bytes: Bytes = Bytes(1 << 30),
        "Most bytes of a log: from half of it on nodes that are behind are not waited for, and at the \
         limit no commits are taken.";
    "cluster.ca" cluster_ca: Option<PathBuf> = None,
        "PEM file of the authorities that vouch for nodes that encrypt HTTP. Unset: those that this \
         machine trusts.";
    "cluster.follower_reads" cluster_follower_reads: FollowerReads = FollowerReads::Bookmarks,
        "What reads of a follower see: what their bookmarks name at least, or, latest, everything \
         acknowledged before them: the store is asked for each.";
    "follow.address" follow_address: Option<SourceUrl> = None,
        "HTTP address of a server of which this one keeps copies, for reads; `telar promote` ends \
         that. Unset: it follows nobody.";
    "follow.user" follow_user: Option<String> = None,
        "User of that server, an administrator. Unset: nobody has to log in there.";
    "follow.password" follow_password: Option<Password> = None,
        "Password of that user.";
    "follow.ca" follow_ca: Option<PathBuf> = None,
        "PEM file of the authorities that vouch for that server's certificate. Unset: those that \
         this machine trusts.";
    "follow.keep" follow_keep: Bytes = Bytes(1 << 30),
        "Log of each database that is kept after checkpoints for servers that follow this one and \
         asked within a day.";
    "shutdown.grace" shutdown_grace: Duration = seconds(10),
        "How long open transactions may go on when the server is told to stop.";
}

impl Setting {
    /// The variable of the environment that sets it.
    #[must_use]
    pub fn variable(&self) -> String {
        format!("TELAR_{}", self.key.replace('.', "_").to_uppercase())
    }

    /// Its value, as it is written in a file; empty if it is unset.
    #[must_use]
    pub fn value(&self, config: &Config) -> String {
        (self.show)(config)
    }
}

impl Config {
    /// What makes no sense together.
    #[must_use]
    pub fn conflicts(&self) -> Vec<String> {
        let zero = |key| format!("{key} cannot be 0: that would let nothing through");
        self.zeros().into_iter().map(zero).chain(self.contradictions()).collect()
    }

    /// Limits of which 0 would let nothing through.
    fn zeros(&self) -> Vec<&'static str> {
        let none = |bytes: Option<Bytes>| bytes == Some(Bytes(0));
        let never = |time: Option<Duration>| time == Some(Duration::ZERO);
        let zeros = [
            ("bolt.connections", self.bolt_connections == 0),
            ("bolt.newcomers", self.bolt_newcomers == 0),
            ("bolt.message_bytes", self.bolt_message_bytes == Bytes(0)),
            ("bolt.message_timeout", self.bolt_message_timeout.is_zero()),
            ("bolt.login_timeout", self.bolt_login_timeout.is_zero()),
            ("bolt.idle_timeout", never(self.bolt_idle_timeout)),
            ("http.connections", self.http_connections == 0),
            ("http.newcomers", self.http_newcomers == 0),
            ("http.statements", self.http_statements == 0),
            ("http.body_bytes", self.http_body_bytes == Bytes(0)),
            ("http.header_timeout", self.http_header_timeout.is_zero()),
            ("http.body_timeout", self.http_body_timeout.is_zero()),
            ("http.stall_timeout", self.http_stall_timeout.is_zero()),
            ("mcp.timeout", self.mcp_timeout.is_zero()),
            ("mcp.session_idle", self.mcp_session_idle.is_zero()),
            ("limits.statement_timeout", never(self.statement_timeout)),
            ("limits.statement_memory", none(self.statement_memory)),
            ("limits.memory", none(self.memory)),
            ("limits.transactions", self.transactions == Some(0)),
            ("limits.user_share", self.user_share == 0),
            ("limits.threads", self.threads == Some(0)),
        ];
        zeros.into_iter().filter(|(_, zero)| *zero).map(|(key, _)| key).collect()
    }

    fn contradictions(&self) -> Vec<String> {
        let mut all = Vec::new();
        match (&self.store_path, self.store_memory) {
            (Some(_), true) => all.push("store.path and store.memory exclude each other"),
            (None, false) => all.push("say where the databases are: store.path, or store.memory"),
            _ => {}
        }
        if self.tls_certificate.is_some() != self.tls_key.is_some() {
            all.push("tls.certificate and tls.key need each other");
        }
        if self.tls_required && self.tls_certificate.is_none() {
            all.push("tls.required needs tls.certificate and tls.key");
        }
        let remote = |on: bool, address: SocketAddr| on && !address.ip().is_loopback();
        let remote =
            remote(true, self.bolt_address) || remote(self.http_enabled, self.http_address);
        if remote && !self.auth_enabled && !self.auth_allow_remote_without {
            all.push(
                "without auth.enabled everybody who reaches the server may do everything: it \
                 listens on this machine only, unless auth.allow_remote_without is true \
                 (--allow-remote-without-auth)",
            );
        }
        if !self.auth_enabled && self.http_allowed_origins.is_any() {
            all.push(
                "with http.allowed_origins = \"*\" and without auth.enabled every web page that \
                 somebody looks at could do everything: name the origins",
            );
        }
        if self.mcp_answer_bytes.0 < u64::from(mcp::CHARS_MIN) {
            all.push("mcp.answer_bytes cannot be less than 1000B: no answer would fit");
        }
        if self.cluster_store.is_some() != self.cluster_node.is_some() {
            all.push("cluster.store and cluster.node need each other");
        }
        if self.cluster_coordination.is_some() && self.cluster_store.is_none() {
            all.push("cluster.coordination (--coordination) needs cluster.store (--cluster)");
        }
        if self.cluster_store.is_some() && self.store_memory {
            all.push("a node of a cluster keeps its copies in a folder: name store.path");
        }
        if self.cluster_store.is_some() && self.durability != Durability::Full {
            all.push(
                "in a cluster a commit returns once the store has it: leave store.durability at \
                 full",
            );
        }
        if self.cluster_copies == 0 {
            all.push("cluster.copies cannot be 0: nothing would be kept for anybody");
        }
        if self.cluster_log_bytes.0 < CLUSTER_LOG_BYTES_MIN {
            all.push(
                "cluster.log_bytes cannot be less than 16MiB: a group of commits may be as long",
            );
        }
        if self.follow_user.is_some() != self.follow_password.is_some() {
            all.push("follow.user and follow.password need each other");
        }
        if self.follow_address.is_some() && self.store_memory {
            all.push(
                "a server with follow.address (--follow) keeps copies in a folder: name store.path",
            );
        }
        if self.follow_address.is_some() && self.cluster_store.is_some() {
            all.push("follow.address (--follow) and cluster.store (--cluster) exclude each other");
        }
        if self.user_share > 100 {
            all.push("limits.user_share is a percentage: 1 to 100");
        }
        all.into_iter().map(str::to_owned).collect()
    }
}

/// A file with all settings, their descriptions and defaults.
#[must_use]
pub fn template() -> String {
    let defaults = Config::default();
    let mut text = "# Settings of telar serve. Those that begin with # are at their defaults.\n\
                    # Environment and flags go before this file: TELAR_BOLT_ADDRESS, --set bolt.address=...\n"
        .to_owned();
    let mut section = "";
    for setting in SETTINGS {
        let (of, name) = setting.key.split_once('.').unwrap_or(("", setting.key));
        if of != section {
            section = of;
            text.push_str(&format!("\n[{section}]\n"));
        }
        let value = setting.value(&defaults);
        text.push_str(&format!("# {} {}.\n", setting.help, setting.form));
        text.push_str(&format!("# {name} = {}\n", toml::Value::String(value)));
    }
    text
}

#[cfg(test)]
mod tests;
