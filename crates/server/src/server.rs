//! A running server: the databases and the protocols through which they are reached.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::bolt;
use crate::dbms::Dbms;

/// What is served, and how.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Bolt, for drivers.
    pub bolt: bolt::Settings,
}

/// A running server. Dropping it ends it at once; [`shut_down`](Self::shut_down) is kinder.
#[derive(Debug)]
pub struct Server {
    dbms: Arc<Dbms>,
    bolt: bolt::Server,
}

impl Server {
    /// Serves `dbms` until it is shut down.
    ///
    /// # Errors
    /// If an address cannot be listened at.
    pub fn start(dbms: Arc<Dbms>, settings: &Settings) -> io::Result<Self> {
        let bolt = bolt::Server::start(Arc::clone(&dbms), settings.bolt.clone())?;
        Ok(Self { dbms, bolt })
    }

    /// What is served.
    #[must_use]
    pub fn dbms(&self) -> &Arc<Dbms> {
        &self.dbms
    }

    /// Where Bolt is spoken.
    #[must_use]
    pub fn bolt_address(&self) -> SocketAddr {
        self.bolt.address()
    }

    /// Connections at the moment.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.bolt.connections()
    }

    /// Takes no more clients, lets open transactions go on for `grace`, and undoes those that are
    /// then left. Whether nothing is left running.
    pub fn shut_down(self, grace: Duration) -> bool {
        self.bolt.shut_down(grace)
    }
}
