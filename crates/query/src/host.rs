//! The server around a database: what queries ask of it on behalf of one caller.

use std::sync::Arc;

use telar_cypher::Secret;
use telar_cypher::ast::Administration;
use telar_graph::CommitTs;

use crate::query::Prepared;
use crate::query_error::{ErrorKind, QueryError};
use crate::result::Counters;
use crate::running::Running;

/// A command for a server whose parameters are known.
pub type ServerCommand = Administration<Arc<str>, Secret>;

/// A server, as one caller may use it. Without one, a database is embedded in a program: whoever
/// has it may do anything, and there are no users.
pub trait Host: Send + Sync {
    /// Refuses a text of which it can be told without a plan that the caller may not run it, before
    /// anything is done for it.
    ///
    /// # Errors
    /// If it may not.
    fn admit(&self, text: &str) -> Result<(), QueryError>;

    /// Refuses a statement that the caller may not run, every time before it runs.
    ///
    /// # Errors
    /// If it may not.
    fn allow(&self, plan: &Prepared) -> Result<(), QueryError>;

    /// Refuses to go on with what was allowed, if the caller may not do it any more: asked before
    /// each commit of what it runs.
    ///
    /// # Errors
    /// If it may not.
    fn still_allows(&self) -> Result<(), QueryError>;

    /// Executes a command; `text` is what may be logged of it.
    ///
    /// # Errors
    /// If it cannot be: nothing was changed.
    fn administer(&self, command: &ServerCommand, text: &str) -> Result<Counters, QueryError>;

    /// The databases that the caller may see.
    fn databases(&self) -> Vec<ShownDatabase>;

    /// The servers of the cluster; this one, if it is in none.
    ///
    /// # Errors
    /// If the caller may not see them.
    fn servers(&self) -> Result<Vec<ShownServer>, QueryError>;

    /// The users; only the caller for `SHOW CURRENT USER`.
    ///
    /// # Errors
    /// If the caller may not see them.
    fn users(&self, only_current: bool) -> Result<Vec<ShownUser>, QueryError>;

    /// The names of all roles.
    fn roles(&self) -> &'static [&'static str];

    /// What a role allows, on every database or on the one it is granted on.
    fn privileges(&self, role: &str) -> Vec<ShownPrivilege>;

    /// The settings of the server.
    ///
    /// # Errors
    /// If the caller may not see them.
    fn settings(&self) -> Result<Vec<ShownSetting>, QueryError>;

    /// What runs, in every database.
    fn running(&self) -> Vec<(Arc<str>, Arc<Running>)>;

    /// The connections that the caller may see: for administrators all.
    fn connections(&self) -> Vec<ShownConnection>;

    /// Statements of late that were slow, the newest first: the caller's own, or for
    /// administrators all.
    fn slow(&self) -> Vec<ShownSlow>;

    /// Where drivers turn for a database, known by the name that it has, if the server speaks
    /// Bolt; `asked` is the address that the client used.
    fn routes(&self, database: &str, asked: Option<&str>) -> Option<Routes>;

    /// Ends a connection. Who had it, if there is one of this name that the caller may end.
    fn end_connection(&self, id: &str) -> Option<Arc<str>>;

    /// Whether the caller administers the server: may see and end what others run.
    fn is_admin(&self) -> bool;

    /// The caller's name.
    fn user(&self) -> Arc<str>;
}

/// A connection, as `dbms.listConnections` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownConnection {
    /// Its name: `bolt-17`.
    pub id: Arc<str>,
    /// Since when there is it, as a date and time.
    pub since: String,
    /// `bolt` or `http`.
    pub connector: &'static str,
    /// Who has logged in.
    pub user: Arc<str>,
    /// What the client says it is.
    pub agent: String,
    /// Where the server was reached.
    pub server: String,
    /// Where the client is.
    pub client: Arc<str>,
}

/// A statement that took long, as `telar.slowQueries` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSlow {
    /// When it began, as a date and time.
    pub started: String,
    /// Where it ran.
    pub database: Arc<str>,
    /// With whose rights.
    pub user: Arc<str>,
    /// What `SHOW TRANSACTIONS` called it.
    pub query: Option<String>,
    /// How long it took, sending its rows included.
    pub milliseconds: u64,
    /// Rows that it returned.
    pub rows: u64,
    /// The code of its error, if it failed.
    pub error: Option<&'static str>,
    /// Its text; passwords are masked.
    pub text: Arc<str>,
}

/// Routes of a database: addresses of Bolt, `host:port`, by what a client wants to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Routes {
    /// Seconds for which clients may rely on them.
    pub seconds: i64,
    /// Nodes that take writes; none while no leader is known.
    pub write: Vec<String>,
    /// Nodes that take reads.
    pub read: Vec<String>,
    /// Nodes that tell routes.
    pub route: Vec<String>,
}

impl Routes {
    /// Each role that somebody has, in the words of drivers. Of a role without an address nothing
    /// is said: drivers ask again when they need it.
    pub fn roles(&self) -> impl Iterator<Item = (&'static str, &[String])> {
        let all = [("WRITE", &*self.write), ("READ", &*self.read), ("ROUTE", &*self.route)];
        all.into_iter().filter(|(_, addresses)| !addresses.is_empty())
    }
}

/// A database, as `SHOW DATABASES` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownDatabase {
    /// Its name.
    pub name: Arc<str>,
    /// `standard`, or `system`.
    pub kind: &'static str,
    /// Other names for it.
    pub aliases: Vec<Arc<str>>,
    /// Whether it is to be online.
    pub wanted: bool,
    /// Whether it is.
    pub online: bool,
    /// Why it is not what it is to be.
    pub message: String,
    /// Whether it is used by those who name none and have no home.
    pub default: bool,
    /// Whether the caller uses it, if none is named.
    pub home: bool,
    /// The timestamp of its last commit, if it is online.
    pub last_commit: Option<CommitTs>,
    /// The servers of a cluster that have it; of a server in none, nothing.
    pub places: Vec<ShownPlace>,
}

/// A server that has a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPlace {
    /// Its address of Bolt, if it is one of several.
    pub address: Option<String>,
    /// Whether it may lead.
    pub votes: bool,
    /// Whether it leads: the database is written there.
    pub writer: bool,
    /// Whether the database can be used there.
    pub online: bool,
    /// The timestamp of the last commit that it shows, if that is known.
    pub last_commit: Option<CommitTs>,
}

/// A server, as `SHOW SERVERS` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownServer {
    /// Its name in its cluster; in none, its address.
    pub name: String,
    /// Its address of Bolt.
    pub address: String,
    /// Its address of HTTP, if it serves that.
    pub http: Option<String>,
    /// Whether it is there.
    pub available: bool,
    /// The databases that it has.
    pub hosting: Vec<Arc<str>>,
    /// Number of the process.
    pub id: String,
    /// Whether it may lead.
    pub votes: bool,
    /// The version of its program.
    pub version: String,
    /// Trouble that somebody should look at.
    pub message: String,
}

/// A user, as `SHOW USERS` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownUser {
    /// The name.
    pub name: Arc<str>,
    /// Roles, each with the database where it holds; everywhere, if there is none.
    pub grants: Vec<(&'static str, Option<Arc<str>>)>,
    /// Whether the password must be changed before anything else.
    pub change_required: bool,
    /// Whether it cannot log in.
    pub suspended: bool,
    /// The database that is used if none is named.
    pub home: Option<Arc<str>>,
}

/// A setting, as `SHOW SETTINGS` shows it. All texts are as a file of settings has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownSetting {
    /// Its name, `section.name`.
    pub name: Arc<str>,
    /// What it is; secrets are masked.
    pub value: Arc<str>,
    /// What it is if nobody sets it.
    pub default: Arc<str>,
    /// What it means.
    pub description: Arc<str>,
    /// What its values look like.
    pub form: Arc<str>,
    /// Whether somebody set it.
    pub explicit: bool,
}

/// Something that a role allows, as `SHOW PRIVILEGES` shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownPrivilege {
    /// What may be done.
    pub action: &'static str,
    /// To what.
    pub resource: &'static str,
    /// Of which part of it.
    pub segment: &'static str,
}

/// The error of what only a server can do.
pub(crate) fn needs_server(what: &str) -> QueryError {
    let message = format!("{what}: there are users and several databases only on a server");
    QueryError::compile(ErrorKind::NotSupported, "NotSupported", message)
}
