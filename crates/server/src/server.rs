//! A running server: the databases and the protocols through which they are reached.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;

use crate::dbms::Dbms;
use crate::metrics::Metrics;
use crate::{bolt, http};

/// What is served, and how.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Bolt, for drivers.
    pub bolt: bolt::Settings,
    /// HTTP, if it is served.
    pub http: Option<Http>,
}

/// How HTTP is served.
#[derive(Debug, Clone)]
pub struct Http {
    /// Where to listen.
    pub address: SocketAddr,
    /// What to encrypt with; nothing is encrypted without.
    pub tls: Option<Arc<ServerConfig>>,
    /// Limits.
    pub settings: http::Settings,
}

/// A running server. Dropping it ends it at once; [`shut_down`](Self::shut_down) is kinder.
#[derive(Debug)]
pub struct Server {
    dbms: Arc<Dbms>,
    bolt: bolt::Server,
    http: Option<http::Server>,
}

impl Server {
    /// Serves `dbms` until it is shut down.
    ///
    /// # Errors
    /// If an address cannot be listened at: which, and why. If the cluster cannot be joined.
    pub fn start(dbms: Arc<Dbms>, settings: &Settings, metrics: &Arc<Metrics>) -> io::Result<Self> {
        let at = |setting: &'static str, address: SocketAddr| {
            move |e: io::Error| {
                io::Error::new(e.kind(), format!("{setting}: cannot listen at {address}: {e}"))
            }
        };
        let bolt = bolt::Settings { metrics: Arc::clone(metrics), ..settings.bolt.clone() };
        let started = bolt::Server::start(Arc::clone(&dbms), bolt);
        let bolt = started.map_err(at("bolt.address (--bolt)", settings.bolt.address))?;
        let http = settings.http.as_ref().map(|Http { address, tls, settings }| {
            let settings = http::Settings { bolt: Some(bolt.address()), ..settings.clone() };
            http::Server::start(*address, tls.clone(), dbms.clone(), settings, metrics.clone())
                .map_err(at("http.address (--http)", *address))
        });
        let http = http.transpose()?;
        let advertised = settings.bolt.advertised.clone();
        // HTTP is reached where Bolt is, at its own port.
        let host = advertised.as_deref().and_then(|address| address.rsplit_once(':'));
        let served = http.as_ref().map(|http| match host {
            Some((host, _)) => format!("{host}:{}", http.address().port()),
            None => http.address().to_string(),
        });
        let encrypted = settings.http.as_ref().is_some_and(|http| http.tls.is_some());
        let served = served.map(|address| (address, encrypted));
        let reached = advertised.unwrap_or_else(|| bolt.address().to_string());
        dbms.join(reached, served).map_err(|error| io::Error::other(error.message))?;
        Ok(Self { http, dbms, bolt })
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

    /// Where HTTP is served, if it is.
    #[must_use]
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http.as_ref().map(http::Server::address)
    }

    /// Connections over Bolt at the moment.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.bolt.connections()
    }

    /// Takes no more clients, lets what is open go on for `grace`, and undoes what is then left.
    /// Whether nothing is left running.
    pub fn shut_down(self, grace: Duration) -> bool {
        let Self { bolt, mut http, .. } = self;
        std::thread::scope(|scope| {
            scope.spawn(|| http.as_mut().map(|http| http.stop(grace)));
            bolt.shut_down(grace)
        })
    }
}
