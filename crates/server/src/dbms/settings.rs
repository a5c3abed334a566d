//! What can be set of a server's databases and users.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use telar_db::query::ShownSetting;
use telar_db::query::budget::Budget;
use telar_db::query::cypher::Secret;

use super::{ClusterSettings, Isolations};
use crate::replication::client::Asking;

/// What can be set of a server's databases and users.
#[derive(Debug, Clone)]
pub struct DbmsSettings {
    /// What the database in the server's own folder is called.
    pub default_database: Arc<str>,
    /// How every database is opened.
    pub engine: telar_db::Settings,
    /// Who may log in.
    pub security: Security,
    /// What a statement may use.
    pub limits: StatementLimits,
    /// How transactions are isolated whose clients do not say.
    pub isolation: Isolations,
    /// The folder below which `LOAD` and `COPY FROM` may read files; without it, none.
    pub import_folder: Option<PathBuf>,
    /// The folder below which `COPY TO` may make files; without it, none.
    pub export_folder: Option<PathBuf>,
    /// The folder below which `CALL telar.backup` writes; without it, nowhere.
    pub backup_folder: Option<PathBuf>,
    /// The audit log; in the server's folder unless set.
    pub audit_log: Option<PathBuf>,
    /// From when on a statement is slow, and listed by `telar.slowQueries`.
    pub slow: Duration,
    /// The cluster that the server is a node of, if it is one.
    pub cluster: Option<ClusterSettings>,
    /// The server that this one follows, if it does.
    pub follow: Option<Asking>,
    /// Most bytes of log that are kept of a database for servers that follow this one.
    pub follow_keep: u64,
    /// All settings of the server, as `SHOW SETTINGS` lists them.
    pub shown: Arc<[ShownSetting]>,
}

/// Who may log in, and what an attempt may cost.
#[derive(Debug, Clone)]
pub struct Security {
    /// Whether anybody has to. If not, everybody may do everything.
    pub enabled: bool,
    /// The password of the user `neo4j` on the first start. Without it, it is `neo4j` and must be
    /// changed before anything else. Later starts ignore it.
    pub initial_password: Option<Secret>,
    /// KiB of memory that hashing one password takes.
    pub hash_memory_kib: u32,
    /// Passes over that memory.
    pub hash_passes: u32,
    /// Passwords that are hashed at once; more wait.
    pub hashes_at_once: usize,
    /// Wrong passwords in a row before a user is locked out for a while.
    pub failed_logins_max: u32,
    /// For how long.
    pub lockout: Duration,
}

/// What a statement may use.
#[derive(Debug, Clone)]
pub struct StatementLimits {
    /// How long it may take; clients can ask for less, not for more.
    pub timeout: Option<Duration>,
    /// How long it waits for an open transaction that has written what it writes; a second unless
    /// set.
    pub write_wait: Option<Duration>,
    /// Bytes that it may hold; rows beyond that go to temporary files.
    pub memory: Option<usize>,
    /// What all of them, and all else in the process, may hold together.
    pub budget: Option<&'static Budget>,
    /// Where these are, if not in the folder of the database.
    pub temporary_folder: Option<PathBuf>,
    /// Transactions and statements that run at once, in all databases.
    pub transactions: Option<usize>,
    /// Percent of these that one user may have at once.
    pub user_share: usize,
    /// Threads that may be at work for long queries, in all databases; as many as there are
    /// processors unless set.
    pub threads: Option<usize>,
}

/// Percent of places that one user may have, unless set.
pub const USER_SHARE: usize = 75;

impl Default for StatementLimits {
    /// None, but for the share of a user.
    fn default() -> Self {
        Self {
            timeout: None,
            write_wait: None,
            memory: None,
            budget: None,
            temporary_folder: None,
            transactions: None,
            user_share: USER_SHARE,
            threads: None,
        }
    }
}

impl Default for DbmsSettings {
    fn default() -> Self {
        Self {
            default_database: "telar".into(),
            engine: telar_db::Settings::default(),
            security: Security::default(),
            limits: StatementLimits::default(),
            isolation: Isolations::default(),
            import_folder: None,
            export_folder: None,
            backup_folder: None,
            audit_log: None,
            slow: Duration::from_secs(1),
            cluster: None,
            follow: None,
            follow_keep: 1 << 30,
            shown: Arc::default(),
        }
    }
}

impl Default for Security {
    /// Hashes as OWASP recommends for argon2id, lock-outs as Neo4j's.
    fn default() -> Self {
        Self {
            enabled: true,
            initial_password: None,
            hash_memory_kib: 19 * 1024,
            hash_passes: 2,
            hashes_at_once: std::thread::available_parallelism().map_or(2, usize::from),
            failed_logins_max: 3,
            lockout: Duration::from_secs(5),
        }
    }
}
