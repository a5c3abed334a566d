//! Connections of one store, as many at a time as there are callers.
//!
//! ```text
//!  idle ──▶ in use ──▶ idle                      answered
//!                 └──▶ silent ──▶ closed         no answer in time; closed once there is one
//! ```
//!
//! Closing a connection does not end what the server does for it: a commit waits for its standby
//! all the same, and keeps the server's end. So those that are silent are counted, for each server,
//! and from a number on no more statements of their kind are sent there: what is tried again would
//! take one connection after the other until none is left.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_postgres::config::Config;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::client::{Client, Error};
use crate::store::StoreError;
use crate::store::runtime::Runtime;

/// Connections that are kept.
const IDLE_MAX: usize = 8;
const SESSION: &str = "
    SET client_min_messages = 'warning';
    SET default_transaction_isolation = 'read committed';
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') NOT IN ('on', 'remote_apply');";

/// Limits of a kind of statements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Longest wait for an answer.
    pub(super) patience: Duration,
    kind: Kind,
}

/// What waits for a standby, and what does not: one must not keep the other from going on.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Read,
    Change,
}

/// Silent connections of a kind, from which on a server is not asked for more of it. Those that are
/// asked for at once may be more.
const SILENT_MAX: usize = 4;

/// Reads.
pub(super) const READ: Wait = Wait { patience: Duration::from_secs(5), kind: Kind::Read };
/// Changes.
pub(super) const WRITE: Wait = Wait { patience: Duration::from_secs(5), kind: Kind::Change };
/// Trimming and images: they look at much, or change much.
pub(super) const UPKEEP: Wait = Wait { patience: Duration::from_mins(1), kind: Kind::Change };

/// One of the servers.
struct Server {
    config: Config,
    /// Its connections that are silent, in reads and in changes.
    silent: [Arc<AtomicUsize>; 2],
}

impl Server {
    fn silent(&self, limits: Wait) -> &Arc<AtomicUsize> {
        &self.silent[limits.kind as usize]
    }

    // ORDERING: relaxed here and below, as nothing else is read because of it.
    fn check(&self, limits: Wait) -> Result<(), Error> {
        let silent = self.silent(limits).load(Ordering::Relaxed);
        if silent >= SILENT_MAX { Err(Error::Busy(silent)) } else { Ok(()) }
    }
}

pub(super) struct Pool {
    servers: Vec<Server>,
    /// Means of encryption, if connections are encrypted.
    tls: Option<MakeRustlsConnect>,
    runtime: Arc<Runtime>,
    /// The server that took writes when it was asked last.
    current: AtomicUsize,
    idle: Mutex<Vec<Client>>,
}

impl Pool {
    /// `servers`: how each is reached.
    pub(super) fn new(
        servers: Vec<Config>,
        tls: Option<MakeRustlsConnect>,
    ) -> Result<Self, StoreError> {
        let runtime = Arc::new(Runtime::new("postgres")?);
        let server = |config| Server { config, silent: Default::default() };
        let servers = servers.into_iter().map(server).collect();
        Ok(Self { servers, tls, runtime, current: AtomicUsize::new(0), idle: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Connects to the server that takes writes.
    pub(super) fn connect(&self, limits: Wait) -> Result<Client, Error> {
        let (first, servers) = (self.current.load(Ordering::Relaxed), self.servers.len());
        let mut failure: Option<Error> = None;
        for at in (0..servers).map(|more| (first + more) % servers) {
            let server = &self.servers[at];
            let connected = server.check(limits).and_then(|()| {
                let tls = self.tls.as_ref();
                let mut client = Client::connect(&self.runtime, at, &server.config, tls)?;
                match client.batch_execute(SESSION) {
                    Ok(()) => Ok(client),
                    Err(cause) => {
                        if client.is_silent() {
                            self.set_aside(client, limits);
                        }
                        Err(cause)
                    }
                }
            });
            match connected {
                Ok(client) => {
                    self.current.store(at, Ordering::Relaxed);
                    return Ok(client);
                }
                // That of the server that took writes says most.
                Err(cause) => drop(failure.get_or_insert(cause)),
            }
        }
        Err(failure.expect("INVARIANT: a URL names a server"))
    }

    pub(super) fn take(&self, limits: Wait) -> Result<Client, Error> {
        let kept = {
            let mut idle = self.idle();
            idle.retain(|client| !client.is_closed());
            let may = |client: &Client| self.servers[client.server()].check(limits).is_ok();
            idle.iter().rposition(may).map(|at| idle.swap_remove(at))
        };
        kept.map_or_else(|| self.connect(limits), Ok)
    }

    pub(super) fn keep(&self, client: Client) {
        let mut idle = self.idle();
        if idle.len() < IDLE_MAX {
            idle.push(client);
        }
    }

    /// Counts a connection as silent until the server has answered, or closes it.
    pub(super) fn set_aside(&self, client: Client, limits: Wait) {
        let silent = Arc::clone(self.servers[client.server()].silent(limits));
        silent.fetch_add(1, Ordering::Relaxed);
        self.runtime.spawn(async move {
            client.settle().await;
            silent.fetch_sub(1, Ordering::Relaxed);
        });
    }
}
