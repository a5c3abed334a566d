//! Connections: how many, how long, and how they end.
//!
//! - A peer that does not send its headers, or idles between two requests, is cut off after
//!   `header_timeout`; so is one that does not finish its TLS handshake.
//! - An unauthenticated connection takes no slot of authenticated ones
//!   ([`admission`](crate::net::admission)); above the limit of such, the oldest is evicted.
//! - HTTP/1.1 only: what one connection can hold is one request.
//! - At the end no connection is taken any more, change streams end, transactions that are open are
//!   rolled back, and what runs may run on for as long as it is given; then it is ended.

use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::Runtime;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::{App, Settings, transaction};
use crate::dbms::{Dbms, KEPT_PLACES};
use crate::metrics::{Metrics, Protocol};
use crate::net::Acceptor;
use crate::net::admission::{Admission, Admitted, Close, ConnectionLimits, Outcome};

/// Most bytes of the headers of a request.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// What is left to a statement to notice that it has been ended.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// The HTTP side of a server. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    app: App,
    acceptor: Acceptor,
    runtime: Option<Runtime>,
    accepting: Option<JoinHandle<()>>,
    /// How long what runs at the end may run on.
    grace: Option<oneshot::Sender<Duration>>,
}

/// What connections are made with.
#[derive(Clone)]
struct Accepting {
    app: App,
    router: Router,
    tls: Option<Arc<ServerConfig>>,
}

/// Handle that closes an evicted connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shutter(Arc<Notify>);

impl Close for Shutter {
    fn close(&self) {
        self.0.notify_one();
    }
}

/// A connection, as its requests know it.
#[derive(Debug, Clone)]
pub(crate) struct Connected {
    pub(crate) peer: SocketAddr,
    /// The address of this machine that the peer has found.
    pub(crate) local: SocketAddr,
    pub(crate) admitted: Arc<Admitted<Shutter>>,
}

/// Connection that was admitted.
struct Arrival {
    stream: TcpStream,
    connected: Connected,
}

impl Server {
    /// Listens at `address` and serves from then on.
    ///
    /// # Errors
    /// If the address cannot be listened at, or there are no threads.
    pub fn start(
        address: SocketAddr,
        tls: Option<Arc<ServerConfig>>,
        dbms: Arc<Dbms>,
        settings: Settings,
        metrics: Arc<Metrics>,
    ) -> io::Result<Self> {
        let settings = Settings { encrypted: tls.is_some(), ..settings };
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .thread_name("http")
            .enable_all()
            // Statements, by themselves and in transactions, and logins beside them, of which each
            // connection makes one at most.
            .max_blocking_threads(
                settings.statements_max
                    + settings.transactions_max
                    + settings.connections_max
                    + settings.newcomers_max
                    + 3 * KEPT_PLACES,
            )
            .build()?;
        let limits = ConnectionLimits {
            authenticated: settings.connections_max,
            user_share: settings.user_share,
            unauthenticated: settings.newcomers_max,
        };
        let app = App::new(dbms, settings, metrics);
        let (arrivals, arrivals_of) = mpsc::unbounded_channel();
        let acceptor = accept(listener, limits, Arc::clone(&app.metrics), arrivals)?;
        runtime.spawn(transaction::sweep(app.clone()));
        let accepting = Accepting { app: app.clone(), router: app.clone().router(), tls };
        let (grace, grace_of) = oneshot::channel();
        let accepting = runtime.spawn(accepting.run(arrivals_of, grace_of));
        let (accepting, grace) = (Some(accepting), Some(grace));
        Ok(Self { address, app, acceptor, runtime: Some(runtime), accepting, grace })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends it: what runs may run on for `grace`.
    pub fn stop(&mut self, grace: Duration) {
        self.app.closing.send_replace(true);
        self.app.transactions.close();
        self.acceptor.stop();
        if let Some(sender) = self.grace.take() {
            // It has ended by itself if nobody takes it.
            let _ = sender.send(grace);
        }
        if let (Some(runtime), Some(accepting)) = (self.runtime.take(), self.accepting.take()) {
            // A panic in there has been reported where it happened.
            let _ = runtime.block_on(accepting);
            if let Some(mcp) = &self.app.mcp {
                // Calls of a session outlive the connection that asked for them.
                mcp.cancel_all();
            }
            runtime.shutdown_timeout(LAST_MOMENT);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

/// Accepts connections up to the limits.
fn accept(
    listener: TcpListener,
    limits: ConnectionLimits,
    metrics: Arc<Metrics>,
    arrivals: mpsc::UnboundedSender<Arrival>,
) -> io::Result<Acceptor> {
    let admission = Arc::new(Admission::new(limits));
    let refusing = Arc::clone(&metrics);
    let take = move |stream: TcpStream, peer| {
        // Without an address the peer has gone again.
        let Ok(local) = stream.local_addr() else { return };
        let Outcome { admitted, evicted } = admission.admit(Shutter::default());
        if evicted || admitted.is_none() {
            metrics.connection_refused(Protocol::Http);
        }
        // A refused connection is closed by being dropped, as are all after the shutdown.
        let Some(admitted) = admitted else { return };
        let connected = Connected { peer, local, admitted: Arc::new(admitted) };
        let _ = arrivals.send(Arrival { stream, connected });
    };
    Acceptor::start("http-accept", listener, take, move || {
        refusing.connection_refused(Protocol::Http);
    })
}

impl Accepting {
    async fn run(
        self,
        mut arrivals: mpsc::UnboundedReceiver<Arrival>,
        grace: oneshot::Receiver<Duration>,
    ) {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = self.app.closed() => break,
                Some(_) = connections.join_next() => {}
                Some(arrival) = arrivals.recv() => self.take(&mut connections, arrival),
            }
        }
        drop(arrivals);
        let grace = grace.await.unwrap_or_default();
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(grace, all).await.is_err() {
            // Dropping a connection ends its statement.
            connections.shutdown().await;
        }
    }

    fn take(&self, connections: &mut JoinSet<()>, arrival: Arrival) {
        let Arrival { stream, connected } = arrival;
        let this = self.clone();
        connections.spawn(async move {
            let _open = this.app.metrics.connection(Protocol::Http);
            let (peer, shutter) = (connected.peer, connected.admitted.connection.clone());
            tokio::select! {
                served = this.serve(stream, connected) => {
                    if let Err(error) = served {
                        tracing::debug!(%peer, %error, "the connection broke off");
                    }
                }
                () = shutter.0.notified() => {
                    tracing::debug!(%peer, "closed: nobody had logged in, and others came");
                }
            }
        });
    }

    async fn serve(&self, stream: TcpStream, connected: Connected) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let stream = tokio::net::TcpStream::from_std(stream)?;
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let router = self.router.clone().layer(Extension(connected));
        let Some(tls) = &self.tls else {
            return self.requests(stream, router).await;
        };
        let handshake = TlsAcceptor::from(Arc::clone(tls)).accept(stream);
        match timeout(self.app.settings.header_timeout, handshake).await {
            Ok(stream) => self.requests(stream?, router).await,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        }
    }

    async fn requests<S>(&self, stream: S, router: Router) -> io::Result<()>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder
            .http1()
            .timer(TokioTimer::new())
            // Ours does without a limit of the year: see `date`.
            .auto_date_header(false)
            .header_read_timeout(self.app.settings.header_timeout)
            .max_buf_size(HEADER_BYTES_MAX);
        let service = TowerToHyperService::new(router);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = self.app.closed() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        ended.map_err(io::Error::other)
    }
}
