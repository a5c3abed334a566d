//! What can be set of a server's databases and users.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use telar_db::query::cypher::Secret;

use super::passwords::PASSWORD_CHARS_MIN;

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
    /// The folder below which `LOAD CSV` may read files; without it, none.
    pub import_folder: Option<PathBuf>,
    /// The folder below which `CALL telar.backup` writes; without it, nowhere.
    pub backup_folder: Option<PathBuf>,
    /// The audit log; in the server's folder unless set.
    pub audit_log: Option<PathBuf>,
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
#[derive(Debug, Clone, Default)]
pub struct StatementLimits {
    /// How long it may take; clients can ask for less, not for more.
    pub timeout: Option<Duration>,
    /// Bytes that its rows may hold.
    pub memory: Option<usize>,
    /// Transactions and statements that run at once, in all databases.
    pub transactions: Option<usize>,
}

impl Default for DbmsSettings {
    fn default() -> Self {
        Self {
            default_database: "telar".into(),
            engine: telar_db::Settings::default(),
            security: Security::default(),
            limits: StatementLimits::default(),
            import_folder: None,
            backup_folder: None,
            audit_log: None,
        }
    }
}

impl Security {
    /// What `TELAR_AUTH` says: `none`, or `neo4j/` and the password of the first start.
    ///
    /// # Errors
    /// If it says something else.
    pub fn set_auth(&mut self, text: &str) -> Result<(), String> {
        match text.split_once('/') {
            None if text == "none" => self.enabled = false,
            Some(("neo4j", password)) if password.chars().count() >= PASSWORD_CHARS_MIN => {
                self.initial_password = Some(Secret::new(password));
            }
            // What was said is not repeated: it may be a password.
            _ => {
                let most = PASSWORD_CHARS_MIN;
                return Err(format!(
                    "expected none, or neo4j/ and a password of at least {most} characters"
                ));
            }
        }
        Ok(())
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

#[test]
fn authentication_is_set_as_for_neo4j() {
    let mut security = Security::default();
    for bad in ["", "None", "neo4j/short", "ann/long enough", "neo4j", "long enough"] {
        let error = security.set_auth(bad).expect_err(bad);
        assert!(bad.is_empty() || !error.contains("long enough"), "{error}");
    }
    assert_eq!(security.set_auth("neo4j/long/enough"), Ok(()));
    assert_eq!(security.initial_password.as_ref().map(Secret::reveal), Some("long/enough"));
    assert!(security.enabled);
    assert_eq!(security.set_auth("none"), Ok(()));
    assert!(!security.enabled);
}
