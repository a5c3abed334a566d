//! A running server: the databases and the protocols through which they are reached.

use std::io;
use std::net::{IpAddr, SocketAddr};
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

/// Address under which other nodes of a cluster reach HTTP, which listens at `listens`; `bolt` is
/// where they reach Bolt. None if it listens on this machine only, and others are elsewhere.
fn http_for_nodes(bolt: &str, listens: SocketAddr, advertised: Option<&str>) -> Option<String> {
    if let Some(advertised) = advertised {
        return Some(advertised.to_owned());
    }
    let host = bolt.rsplit_once(':').map_or(bolt, |(host, _)| host);
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let is_here =
        plain == "localhost" || plain.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match (listens.ip().is_loopback(), is_here) {
        (true, true) => Some(listens.to_string()),
        (true, false) => None,
        (false, _) => Some(format!("{host}:{}", listens.port())),
    }
}

#[test]
fn nodes_are_told_of_http_that_they_reach() {
    let told = |bolt: &str, listens: &str, advertised: Option<&str>| {
        http_for_nodes(bolt, listens.parse().unwrap(), advertised)
    };
    let here = Some("127.0.0.1:7474".to_owned());
    assert_eq!(told("127.0.0.1:7687", "127.0.0.1:7474", None), here);
    assert_eq!(told("localhost:7687", "127.0.0.1:7474", None), here);
    assert_eq!(told("[::1]:7687", "127.0.0.1:7474", None), here);
    for bolt in ["10.0.0.1:7687", "a.example:7687", "[fe80::1]:7687"] {
        assert_eq!(told(bolt, "127.0.0.1:7474", None), None, "{bolt}");
        assert_eq!(told(bolt, "127.0.0.1:7474", Some("b:1")), Some("b:1".to_owned()));
        let host = bolt.strip_suffix(":7687").unwrap();
        assert_eq!(told(bolt, "0.0.0.0:7474", None), Some(format!("{host}:7474")));
    }
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
        if let Some((http, of)) = http.as_ref().zip(settings.http.as_ref()) {
            bolt.serves_http(http.address(), of.tls.is_some());
        }
        let advertised = settings.bolt.advertised.clone();
        let reached = advertised.unwrap_or_else(|| bolt.address().to_string());
        let served = http.as_ref().zip(settings.http.as_ref()).and_then(|(http, of)| {
            let address =
                http_for_nodes(&reached, http.address(), of.settings.advertised.as_deref());
            Some((address?, of.tls.is_some()))
        });
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
