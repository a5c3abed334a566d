//! Connections of one store, as many at a time as there are callers.
//!
//! A connection whose answer did not come in time is set aside, and not closed: the server would go
//! on with the statement, and keep its end of the connection as long. So there are never many of
//! them, however often something is tried again.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::config::{Config, TargetSessionAttrs};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::client::{Client, Error};
use crate::store::runtime::Runtime;

/// Connections that are kept.
const IDLE_MAX: usize = 8;
const SESSION: &str = "
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');";

/// Limits of a kind of statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Longest wait for an answer, and for each row of it.
    pub(super) patience: Duration,
    /// Connections that may be without an answer when another one is opened.
    pub(super) silent_max: usize,
}

/// Reads. They are answered while changes wait for a standby, so they get connections then.
pub(super) const READ: Wait = Wait { patience: Duration::from_secs(5), silent_max: 8 };
/// Changes.
pub(super) const WRITE: Wait = Wait { patience: Duration::from_secs(5), silent_max: 4 };
/// Trimming and images: they look at much, or change much.
pub(super) const UPKEEP: Wait = Wait { patience: Duration::from_mins(1), silent_max: 4 };

/// Connections to one of the servers.
pub(super) struct Pool {
    /// How each server is reached.
    servers: Vec<Config>,
    /// Means of encryption, if connections are encrypted.
    tls: Option<MakeRustlsConnect>,
    runtime: Arc<Runtime>,
    /// The server that was what is wanted, when it was asked last.
    current: AtomicUsize,
    connections: Mutex<Connections>,
}

#[derive(Default)]
struct Connections {
    idle: Vec<Client>,
    /// Those that have not answered in time, oldest first: each holds one of the server's.
    silent: Vec<Client>,
}

impl Pool {
    pub(super) fn new(
        servers: &[Config],
        tls: Option<&MakeRustlsConnect>,
        runtime: &Arc<Runtime>,
        wanted: TargetSessionAttrs,
    ) -> Self {
        let mut servers = servers.to_vec();
        for server in &mut servers {
            server.target_session_attrs(wanted);
        }
        Self {
            servers,
            tls: tls.cloned(),
            runtime: Arc::clone(runtime),
            current: AtomicUsize::new(0),
            connections: Mutex::default(),
        }
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the server that is what is wanted.
    pub(super) fn connect(&self) -> Result<Client, Error> {
        // ORDERING: relaxed here and below, as nothing else is read because of it.
        let (first, servers) = (self.current.load(Ordering::Relaxed), self.servers.len());
        let mut failure = None;
        for at in (0..servers).map(|more| (first + more) % servers) {
            match Client::connect(&self.runtime, &self.servers[at], self.tls.as_ref()) {
                Ok(mut client) => {
                    client.batch_execute(SESSION)?;
                    self.current.store(at, Ordering::Relaxed);
                    return Ok(client);
                }
                Err(cause) => failure = Some(cause),
            }
        }
        Err(failure.expect("INVARIANT: a URL names a server"))
    }

    pub(super) fn take(&self, limits: Wait) -> Result<Client, Error> {
        let silent = {
            let mut connections = self.connections();
            connections.idle.retain(|client| !client.is_closed());
            if let Some(client) = connections.idle.pop() {
                return Ok(client);
            }
            connections.silent.retain(|client| !client.is_closed());
            let too_many = connections.silent.len() >= limits.silent_max;
            too_many.then(|| connections.silent.remove(0))
        };
        // More of them would take all connections that the server has.
        if let Some(client) = silent {
            let settled = client.settle();
            if matches!(settled, Err(Error::NoAnswer(_))) {
                self.connections().silent.insert(0, client);
                settled?;
            }
            // So have the others by now, mostly. What they were in the middle of is rolled back.
            self.connections().silent.clear();
        }
        self.connect()
    }

    pub(super) fn keep(&self, client: Client) {
        let mut connections = self.connections();
        if connections.idle.len() < IDLE_MAX {
            connections.idle.push(client);
        }
    }

    pub(super) fn set_aside(&self, client: Client) {
        self.connections().silent.push(client);
    }
}
