//! Databases by name, and the clients that use them. Knows no protocol.
//!
//! ```text
//! Dbms ─┬─ Database "telar":  engine, plans, what runs
//!       └─ Database ...
//! Client (one per connection): who, from where ─► run / transaction ─► telar_db::Session
//! ```
//!
//! - `client`: what a protocol does on behalf of a peer.
//! - `bookmark`: names of commits.
//! - `failure`: what a client is told.

mod bookmark;
mod client;
mod failure;

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::RwLock;
use telar_db::{Runtime, Session};

pub use bookmark::Bookmark;
pub use client::{AccessMode, Client, Credentials, Done, Options, Peer, Work};
pub use failure::Failure;

/// A database that clients can use.
#[derive(Debug)]
pub struct Database {
    name: Arc<str>,
    engine: telar_db::Database,
    runtime: Arc<Runtime>,
}

impl Database {
    /// A database under a name.
    #[must_use]
    pub fn new(name: impl Into<Arc<str>>, engine: telar_db::Database) -> Self {
        Self { name: name.into(), engine, runtime: Arc::default() }
    }

    /// What clients call it.
    #[must_use]
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// The database itself.
    #[must_use]
    pub fn engine(&self) -> &telar_db::Database {
        &self.engine
    }

    /// A session that shares plans with all others.
    #[must_use]
    pub fn session(&self) -> Session<'_> {
        Session::with_runtime(&self.engine, Arc::clone(&self.runtime))
    }
}

/// Everything a server has.
#[derive(Debug)]
pub struct Dbms {
    databases: RwLock<BTreeMap<Arc<str>, Arc<Database>>>,
    default: Arc<str>,
}

impl Dbms {
    /// One database, which is the default one.
    #[must_use]
    pub fn new(database: Database) -> Self {
        let default = Arc::clone(&database.name);
        let databases = BTreeMap::from([(Arc::clone(&default), Arc::new(database))]);
        Self { databases: RwLock::new(databases), default }
    }

    /// Closes all databases: what was committed is written to their checkpoints, so that nothing
    /// needs to be replayed when they are opened again.
    ///
    /// # Errors
    /// Those of a database. Nothing committed is lost.
    pub fn close(self) -> Result<(), telar_db::Error> {
        for database in self.databases.into_inner().into_values() {
            // Whoever still uses one keeps it open.
            if let Some(database) = Arc::into_inner(database) {
                database.engine.close()?;
            }
        }
        Ok(())
    }

    /// The database of this name; the default one for none.
    ///
    /// # Errors
    /// If there is none.
    pub fn database(&self, name: Option<&str>) -> Result<Arc<Database>, Failure> {
        let name = name.unwrap_or(&self.default);
        let found = self.databases.read().get(name).cloned();
        found.ok_or_else(|| {
            let code = "Neo.ClientError.Database.DatabaseNotFound";
            Failure::new(code, format!("there is no database named '{name}'"))
        })
    }
}
