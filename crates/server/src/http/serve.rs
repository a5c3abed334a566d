//! Connections: how many, how long, and how they end.
//!
//! - A peer that does not send its headers, or idles between two requests, is cut off after
//!   `header_timeout`; so is one that does not finish its TLS handshake.
//! - A connection above the limit is closed at once.
//! - HTTP/1.1 only: what one connection can hold is one request.
//! - At the end no connection is taken any more, change streams end, transactions that are open are
//!   rolled back, and what runs may run on for as long as it is given; then it is ended.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::input::PeerAddress;
use super::{App, Settings};
use crate::dbms::Dbms;
use crate::metrics::{Metrics, Protocol};

/// Pause after an error of `accept`, which is mostly a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Most bytes of the headers of a request.
const HEADER_BYTES_MAX: usize = 64 << 10;
/// What is left to a statement to notice that it has been ended.
const LAST_MOMENT: Duration = Duration::from_secs(2);

/// The HTTP side of a server. Dropping it ends it at once.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    app: App,
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
    places: Arc<Semaphore>,
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
            // Statements, and logins beside them, of which each connection makes one at most.
            .max_blocking_threads(settings.statements_max + settings.connections_max)
            .build()?;
        let places = Arc::new(Semaphore::new(settings.connections_max));
        let app = App::new(dbms, settings, metrics);
        let accepting = Accepting { app: app.clone(), router: app.clone().router(), tls, places };
        let (grace, grace_of) = oneshot::channel();
        let listener = {
            let _guard = runtime.enter();
            tokio::net::TcpListener::from_std(listener)?
        };
        let accepting = runtime.spawn(accepting.run(listener, grace_of));
        let (accepting, grace) = (Some(accepting), Some(grace));
        Ok(Self { address, app, runtime: Some(runtime), accepting, grace })
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
        if let Some(sender) = self.grace.take() {
            // It has ended by itself if nobody takes it.
            let _ = sender.send(grace);
        }
        if let (Some(runtime), Some(accepting)) = (self.runtime.take(), self.accepting.take()) {
            // A panic in there has been reported where it happened.
            let _ = runtime.block_on(accepting);
            runtime.shutdown_timeout(LAST_MOMENT);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

impl Accepting {
    async fn run(self, listener: tokio::net::TcpListener, grace: oneshot::Receiver<Duration>) {
        let mut connections = JoinSet::new();
        loop {
            let accepted = tokio::select! {
                () = self.app.closed() => break,
                Some(_) = connections.join_next() => continue,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.take(&mut connections, stream, peer),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        drop(listener);
        let grace = grace.await.unwrap_or_default();
        let all = async { while connections.join_next().await.is_some() {} };
        if timeout(grace, all).await.is_err() {
            // Dropping a connection ends its statement.
            connections.shutdown().await;
        }
    }

    fn take(&self, connections: &mut JoinSet<()>, stream: TcpStream, peer: SocketAddr) {
        let Ok(place) = Arc::clone(&self.places).try_acquire_owned() else {
            self.app.metrics.connection_refused(Protocol::Http);
            tracing::debug!(%peer, "refused: too many connections");
            return;
        };
        let this = self.clone();
        connections.spawn(async move {
            let _open = this.app.metrics.connection(Protocol::Http);
            this.serve(stream, peer).await;
            drop(place);
        });
    }

    async fn serve(&self, stream: TcpStream, peer: SocketAddr) {
        // Answers are written whole; waiting for more to send would only delay them.
        let _ = stream.set_nodelay(true);
        let router = self.router.clone().layer(Extension(PeerAddress(peer)));
        let Some(tls) = &self.tls else {
            return self.requests(stream, peer, router).await;
        };
        let handshake = TlsAcceptor::from(Arc::clone(tls)).accept(stream);
        match timeout(self.app.settings.header_timeout, handshake).await {
            Ok(Ok(stream)) => self.requests(stream, peer, router).await,
            Ok(Err(error)) => tracing::debug!(%peer, %error, "no TLS"),
            Err(_) => tracing::debug!(%peer, "the TLS handshake took too long"),
        }
    }

    async fn requests<S>(&self, stream: S, peer: SocketAddr, router: Router)
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder
            .http1()
            .timer(TokioTimer::new())
            .header_read_timeout(self.app.settings.header_timeout)
            .max_buf_size(HEADER_BYTES_MAX);
        let service = TowerToHyperService::new(router);
        let connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => Some(ended),
            () = self.app.closed() => None,
        };
        let ended = match ended {
            Some(ended) => ended,
            None => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%peer, %error, "the connection broke off");
        }
    }
}
