//! The clients there are, for `dbms.listConnections` and `dbms.killConnection`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use telar_db::maintenance::time;
use telar_db::query::ShownConnection;

use super::caller::Identity;
use super::client::Peer;

/// Ends a connection.
type Close = Box<dyn Fn() + Send + Sync>;

/// A client as others see it.
pub(super) struct Connected {
    /// `bolt-17`
    pub(super) connection: Arc<str>,
    pub(super) peer: Arc<Peer>,
    /// `bolt`, `bolt+websocket`, `http` or `http+mcp`
    pub(super) protocol: Arc<str>,
    pub(super) address: Arc<str>,
    /// Who has logged in.
    pub(super) identity: Mutex<Option<Identity>>,
    /// Milliseconds since 1970.
    since_ms: u64,
    /// Where the server was reached, and how the connection is ended, if it can be.
    reached: OnceLock<(String, Close)>,
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected").field("connection", &self.connection).finish_non_exhaustive()
    }
}

impl Connected {
    /// Says where the server was reached, and how the connection is ended.
    pub(super) fn reached(&self, server: String, close: Close) {
        // A connection is reached once: a second word changes nothing.
        let _ = self.reached.set((server, close));
    }

    fn user(&self) -> Arc<str> {
        self.identity.lock().as_ref().map(Identity::name).unwrap_or_default()
    }

    fn shown(&self) -> ShownConnection {
        ShownConnection {
            id: Arc::clone(&self.connection),
            since: time::show(self.since_ms),
            connector: self.peer.protocol,
            user: self.user(),
            agent: self.peer.agent.clone(),
            server: self.reached.get().map(|(server, _)| server.clone()).unwrap_or_default(),
            client: Arc::clone(&self.address),
        }
    }
}

/// The clients there are, by number.
#[derive(Debug, Default)]
pub(super) struct Clients {
    by_number: Mutex<BTreeMap<u64, Arc<Connected>>>,
}

impl Clients {
    /// Lists a new one.
    pub(super) fn add(&self, number: u64, peer: Arc<Peer>) -> Arc<Connected> {
        let connected = Arc::new(Connected {
            connection: format!("{}-{number}", peer.base_protocol()).into(),
            protocol: peer.protocol.into(),
            address: peer.address.map(|a| a.to_string()).unwrap_or_default().into(),
            peer,
            identity: Mutex::default(),
            since_ms: time::now_ms(),
            reached: OnceLock::new(),
        });
        self.by_number.lock().insert(number, Arc::clone(&connected));
        connected
    }

    /// One has gone.
    pub(super) fn remove(&self, number: u64) {
        self.by_number.lock().remove(&number);
    }

    /// Those that have logged in and whose user is wanted.
    pub(super) fn shown(&self, wanted: impl Fn(&str) -> bool) -> Vec<ShownConnection> {
        let all: Vec<Arc<Connected>> = self.by_number.lock().values().map(Arc::clone).collect();
        let known = |connected: &&Arc<Connected>| {
            connected.identity.lock().is_some() && wanted(&connected.user())
        };
        all.iter().filter(known).map(|connected| connected.shown()).collect()
    }

    /// Ends the connection of this name, if its user is wanted. Who had it, if there is one that
    /// can be ended.
    pub(super) fn end(&self, connection: &str, wanted: impl Fn(&str) -> bool) -> Option<Arc<str>> {
        let all: Vec<Arc<Connected>> = self.by_number.lock().values().map(Arc::clone).collect();
        let found = all.into_iter().find(|c| *c.connection == *connection)?;
        let user = found.user();
        let (_, close) = found.reached.get().filter(|_| wanted(&user))?;
        close();
        Some(user)
    }
}
