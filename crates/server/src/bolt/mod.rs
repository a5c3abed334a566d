//! Bolt, the protocol of Neo4j's drivers: versions 4.3, 4.4, 5.0 to 5.8 and 6.0.
//!
//! ```text
//! net::Acceptor ─► net::admission: a slot? ─► thread:  version ─► connection ─► dbms::Client
//!                        │                                           │ │
//!                     watcher ─────────────► Wire ◄───── Link ◄──────┘ └► transaction ─► stream
//!                                         (the socket) (messages)                    (rows, kept)
//! ```
//!
//! - `upgrade`: requests of HTTP: Bolt over WebSocket, and what others are told.
//! - [`version`]: which version is spoken; `chunk`, `message`: messages, and what clients ask for.
//! - `packstream`, `structure`, `encode`: values, read and written.
//! - `connection`, `transaction`: the states; `stream`, `kept`: where rows go.
//! - `extra`: what requests say in their maps; `summary`, `status`: what is said of a statement.
//! - [`client`]: the other side, for the shell.
//! - `wire`, `link`, `connections`: who may touch a connection, and when.

mod chunk;
pub mod client;
mod connection;
mod connections;
mod encode;
mod extra;
#[doc(hidden)]
pub mod fuzzing;
mod kept;
mod link;
mod message;
mod packstream;
mod status;
mod stream;
mod structure;
mod summary;
#[cfg(test)]
mod tests;
mod transaction;
mod upgrade;
pub mod version;
mod wire;

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustls::ServerConfig;

use crate::dbms::{Dbms, Peer, USER_SHARE};
use crate::metrics::{Metrics, Protocol};
use crate::net::admission::{ConnectionLimits, Outcome};
use crate::net::origin::{Allowed, Host, Origin};
use crate::net::{Acceptor, Encryption, Socket, websocket};
use connections::{Admitted, Connections, drain, watch};
use link::Link;
use upgrade::HttpPort;
use wire::Wire;

/// Bytes that a message may have before its sender has logged in: names, and a token or ticket.
const LOGIN_BYTES_MAX: usize = 64 << 10;
/// Bytes of a connection's stack, of which some 40 KiB are ever touched. The deepest queries ask
/// for 32 MiB; what finds less than it asks for takes another stack from the system each time.
const STACK_BYTES: usize = 40 << 20;
/// How long shutting down waits for statements that were told to end.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// How Bolt is served.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where to listen.
    pub address: SocketAddr,
    /// What to encrypt with: [`crate::net::tls::load`].
    pub tls: Option<Arc<ServerConfig>>,
    /// Whether connections that are not encrypted are refused; without `tls` all are as they are.
    pub tls_required: bool,
    /// The address that clients are told to connect to, `host:port`; without, it is the one they
    /// said they connected to.
    pub advertised: Option<String>,
    /// Connections at a time that have logged in. Each has a thread while it lasts.
    pub connections_max: usize,
    /// Percent of these that one user may have.
    pub user_share: usize,
    /// Connections beside them that have not: when there are more, the oldest of these is closed.
    pub newcomers_max: usize,
    /// How long a client may take to log in.
    pub login_timeout: Duration,
    /// How long a client may be silent, and how long it may not read what it asked for; forever
    /// without.
    pub idle_timeout: Option<Duration>,
    /// Longest time that a message may take from its first byte to its last.
    pub message_timeout: Duration,
    /// Bytes of a message of a client that has logged in. Its values take up to 8 times as much
    /// memory.
    pub message_bytes_max: usize,
    /// Bytes that the results of one transaction take that wait to be read while others run.
    pub kept_bytes_max: usize,
    /// Gives memory that the calling thread has freed back to the system: called by the thread of a
    /// connection whose client is silent.
    pub give_back: fn(),
    /// Names by which clients of WebSocket may call the server beside those of this machine. None:
    /// any name, if there are users, and no other name otherwise.
    pub allowed_hosts: Allowed<Host>,
    /// Origins of pages that may connect over WebSocket, beside those of the server itself.
    pub allowed_origins: Allowed<Origin>,
    /// Where connections are counted.
    pub metrics: Arc<Metrics>,
}

impl Default for Settings {
    /// At port 7687 of this machine, without encryption, for up to 1,000 clients.
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([127, 0, 0, 1], 7687)),
            tls: None,
            tls_required: false,
            advertised: None,
            connections_max: 1000,
            user_share: USER_SHARE,
            newcomers_max: 500,
            login_timeout: Duration::from_secs(30),
            idle_timeout: None,
            message_timeout: Duration::from_secs(60),
            message_bytes_max: 64 << 20,
            kept_bytes_max: 256 << 20,
            give_back: || {},
            allowed_hosts: Allowed::default(),
            allowed_origins: Allowed::default(),
            metrics: Arc::default(),
        }
    }
}

/// What all connections have.
#[derive(Debug)]
pub(crate) struct Shared {
    dbms: Arc<Dbms>,
    settings: Settings,
    /// Where it really listens.
    address: SocketAddr,
    encryption: Encryption,
    /// Set once HTTP is served.
    http: Arc<OnceLock<HttpPort>>,
    stopping: Arc<AtomicBool>,
}

impl Shared {
    /// Whether there is nothing more to be begun.
    fn is_stopping(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.stopping.load(Ordering::Relaxed)
    }
}

/// A server that speaks Bolt. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    acceptor: Acceptor,
    connections: Arc<Connections>,
    http: Arc<OnceLock<HttpPort>>,
    stopping: Arc<AtomicBool>,
    watcher: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens, and serves whoever connects.
    ///
    /// # Errors
    /// If the address cannot be listened at.
    pub fn start(dbms: Arc<Dbms>, settings: Settings) -> io::Result<Self> {
        let limits = ConnectionLimits {
            authenticated: settings.connections_max,
            user_share: settings.user_share,
            unauthenticated: settings.newcomers_max,
        };
        let connections = Arc::new(Connections::new(limits));
        let stopping = Arc::new(AtomicBool::new(false));
        let encryption = match (settings.tls.clone(), settings.tls_required) {
            (None, _) => Encryption::Off,
            (Some(tls), false) => Encryption::Offered(tls),
            (Some(tls), true) => Encryption::Required(tls),
        };
        let listener = TcpListener::bind(settings.address)?;
        let address = listener.local_addr()?;
        dbms.reached_at(settings.advertised.clone(), address);
        let stop = Arc::clone(&stopping);
        let http = Arc::<OnceLock<HttpPort>>::default();
        let told = Arc::clone(&http);
        let shared = Shared { dbms, settings, address, encryption, http: told, stopping: stop };
        let shared = Arc::new(shared);
        let admitting = Arc::clone(&connections);
        let metrics = Arc::clone(&shared.settings.metrics);
        let refused = move || metrics.connection_refused(Protocol::Bolt);
        let take = move |tcp: TcpStream, peer: SocketAddr| {
            let tcp = Arc::new(tcp);
            let Outcome { admitted, evicted } = admitting.admit(Arc::new(Wire::new(&tcp)));
            if evicted || admitted.is_none() {
                shared.settings.metrics.connection_refused(Protocol::Bolt);
            }
            // A refused connection is closed; no thread could tell its peer why.
            let Some(admitted) = admitted else { return };
            let shared = Arc::clone(&shared);
            let thread = thread::Builder::new().name(format!("bolt-{}", admitted.number));
            let thread = thread.stack_size(STACK_BYTES);
            // If no thread can be had, the connection is closed by being dropped.
            let _ = thread.spawn(move || serve(tcp, peer, shared, admitted));
        };
        let acceptor = Acceptor::start("bolt-accept", listener, take, refused)?;
        let watched = Arc::clone(&connections);
        let watcher = thread::Builder::new().name("bolt-watch".into());
        let watcher = Some(watcher.spawn(move || watch(&watched))?);
        Ok(Self { address, acceptor, connections, http, stopping, watcher })
    }

    /// Tells the server that it also serves HTTP: pages from there may connect over WebSocket.
    pub fn serves_http(&self, address: SocketAddr, is_encrypted: bool) {
        // HTTP is started once.
        let _ = self.http.set(HttpPort { address, is_encrypted });
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Connections at the moment.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// Takes no more connections and closes those that do nothing; transactions that are open may
    /// go on for `grace`, and are then undone. Whether nothing is left running: what does not end
    /// within 10 seconds after it was told to goes on.
    pub fn shut_down(mut self, grace: Duration) -> bool {
        self.stop(grace)
    }

    fn stop(&mut self, grace: Duration) -> bool {
        self.acceptor.stop();
        // ORDERING: as in `Shared::is_stopping`.
        self.stopping.store(true, Ordering::Relaxed);
        let ended = drain(&self.connections, grace, LAST_WORDS);
        self.connections.close();
        if let Some(watcher) = self.watcher.take() {
            // It has nothing to say, even if it panicked.
            let _ = watcher.join();
        }
        ended
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.watcher.is_some() {
            self.stop(Duration::ZERO);
        }
    }
}

/// What the thread of a connection does.
fn serve(tcp: Arc<TcpStream>, peer: SocketAddr, shared: Arc<Shared>, admitted: Admitted) {
    let _open = shared.settings.metrics.connection(Protocol::Bolt);
    let deadline = Instant::now() + shared.settings.login_timeout;
    // Without it answers of more than one packet wait for the client's acknowledgement.
    let _ = tcp.set_nodelay(true);
    // So that peers that vanished are noticed some day.
    let _ = rustix::net::sockopt::set_socket_keepalive(&tcp, true);
    let shutter = admitted.connection.shutter();
    let open = Socket::open(tcp, &shared.encryption, deadline).and_then(|mut socket| {
        let version = upgrade::negotiate(&mut socket, &shared, shutter);
        match &version {
            Ok(Some(_)) => admitted.connection.open(socket),
            Ok(None) if shutter.is_websocket() => {
                socket.finish(websocket::PROTOCOL_ERROR);
                socket.linger();
            }
            Err(_) if shutter.is_websocket() => socket.finish(websocket::GOING_AWAY),
            _ => {}
        }
        version
    });
    // A client that hung up, took too long, or speaks something else hears no more.
    if let Ok(Some(version)) = open {
        let give_back = shared.settings.give_back;
        let budget = shared.dbms.settings().limits.budget;
        let (wire, timeout) = (Arc::clone(&admitted.connection), shared.settings.message_timeout);
        let link = Link::new(wire, version, give_back, budget, timeout);
        let protocol = if shutter.is_websocket() { "bolt+websocket" } else { "bolt" };
        let peer = Peer { address: Some(peer), protocol, agent: String::new() };
        connection::serve(link, &shared, peer, &admitted);
    }
    // Whoever waits until there are no connections may want to be the last to have the databases.
    drop(shared);
    drop(admitted);
}
