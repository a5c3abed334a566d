//! Requests of HTTP on the port of Bolt: upgrades to WebSocket, and what everything else is told.
//!
//! ```text
//!  60 60 B0 17     Bolt
//!  GET, POST, …    a request: may the page connect, and does it ask for WebSocket?
//!                  yes ─► 101, then Bolt in frames      no ─► 4xx and the reason, the end
//!  anything else   the end
//! ```

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::StatusCode;

use super::Shared;
use super::version::{self, Version};
use crate::metrics::Protocol;
use crate::net::browser::{Access, Asked, Denied, NamedBy};
use crate::net::origin::{Authority, Host, Origin};
use crate::net::websocket::{self, Rejection};
use crate::net::{Shutter, Socket};

/// Where the server speaks HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HttpPort {
    pub(crate) address: SocketAddr,
    pub(crate) is_encrypted: bool,
}

/// Agrees with a client on a version, after an upgrade to WebSocket if it asks for one. `None` if
/// there is no version that both speak, or if the connection has been refused.
///
/// # Errors
/// Errors of the connection.
pub(super) fn negotiate(
    socket: &mut Socket,
    shared: &Shared,
    shutter: &Arc<Shutter>,
) -> io::Result<Option<Version>> {
    let mut first = [0; 4];
    socket.read_exact(&mut first)?;
    if websocket::is_request(first) {
        if !upgrade(socket, first, shared, shutter)? {
            return Ok(None);
        }
        socket.read_exact(&mut first)?;
    }
    if first != version::MAGIC || socket.must_encrypt() {
        return Ok(None);
    }
    version::agree(socket)
}

/// Answers a request of HTTP. Returns false if the answer is the end.
fn upgrade(
    socket: &mut Socket,
    first: [u8; 4],
    shared: &Shared,
    shutter: &Arc<Shutter>,
) -> io::Result<bool> {
    let local = socket.local_address()?;
    let rejection = if socket.must_encrypt() {
        // Nothing of the request is read: it was not meant for everybody on the way.
        let message = "this port refuses connections that are not encrypted (tls.required): \
                       use wss://, or bolt+s:// in a driver";
        Rejection::new(StatusCode::FORBIDDEN, message)
    } else {
        let request = websocket::read_request(socket, first)?;
        match request.and_then(|request| answer(&request, local, shared)) {
            Ok(answer) => return socket.upgrade(&answer, shutter).map(|()| true),
            Err(rejection) => rejection,
        }
    };
    tracing::debug!(message = rejection.message, "a request on the port of Bolt was refused");
    shared.settings.metrics.connection_refused(Protocol::Bolt);
    socket.write_all(&rejection.answer())?;
    socket.flush()?;
    socket.finish(websocket::NORMAL);
    socket.linger();
    Ok(false)
}

/// Answer to a request that asks for WebSocket, if it may.
fn answer(
    request: &axum::http::request::Parts,
    local: SocketAddr,
    shared: &Shared,
) -> Result<Vec<u8>, Rejection> {
    let denied = |denied| match denied {
        Denied::Invalid(message) => Rejection::new(StatusCode::BAD_REQUEST, message),
        Denied::Forbidden(message) => Rejection::new(StatusCode::FORBIDDEN, message),
    };
    let asked = Asked::read(request, local).map_err(denied)?;
    let access = Access {
        hosts: &shared.settings.allowed_hosts,
        origins: &shared.settings.allowed_origins,
        has_users: shared.dbms.settings().security.enabled,
        named_by: NamedBy::SETTINGS,
    };
    let http = shared.http.get();
    access.check(&asked, |origin| is_own(origin, &asked, http)).map_err(denied)?;
    websocket::accept(request, || port_says(asked.called.as_ref(), local, http))
}

/// True if a page of `origin` comes from this server: from the host and port that it asks now, as
/// behind a proxy that serves both, or from the server's port of HTTP. That page and Bolt may be
/// at different names of this machine. `Sec-Fetch-Site` tells nothing more: another port is
/// another origin, and `localhost` and `127.0.0.1` are two sites.
fn is_own(origin: &Origin, asked: &Asked<'_>, http: Option<&HttpPort>) -> bool {
    if asked.is_at_server(origin) {
        return true;
    }
    let Some(http) = http.filter(|http| origin.port() == Some(http.address.port())) else {
        return false;
    };
    let host = origin.host();
    if asked.called.as_ref().is_some_and(|called| called.host == *host) {
        return true;
    }
    // Another service may have the same port at another address of this machine.
    let [listens, local] = [http.address.ip(), asked.local.ip()].map(|ip| ip.to_canonical());
    host.is_this_machine(asked.local)
        && (listens.is_unspecified() || listens.is_loopback() || listens == local)
}

/// Answer to a request that asks for a page.
fn port_says(called: Option<&Authority>, local: SocketAddr, http: Option<&HttpPort>) -> String {
    let host = called.map_or_else(|| Host::Ip(local.ip().to_canonical()), |c| c.host.clone());
    let bolt = local.port();
    let says = format!(
        "this port speaks Bolt, the protocol of Neo4j's drivers (bolt://{host}:{bolt}), also over \
         WebSocket; "
    );
    match http {
        Some(HttpPort { address, is_encrypted }) => {
            let scheme = if *is_encrypted { "https" } else { "http" };
            format!("{says}HTTP is at {scheme}://{host}:{}/", address.port())
        }
        None => format!("{says}this server speaks no HTTP (http.enabled)"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn own(origin: &str, host: &str, local: &str, http: Option<&str>) -> bool {
        let request = Request::builder().header("host", host).body(()).unwrap();
        let (parts, ()) = request.into_parts();
        let asked = Asked::read(&parts, local.parse().unwrap()).unwrap();
        let http = http.map(|at| HttpPort { address: at.parse().unwrap(), is_encrypted: false });
        is_own(&Origin::parse(origin).unwrap(), &asked, http.as_ref())
    }

    #[test]
    fn pages_of_the_own_http_port_are_own() {
        let everywhere = Some("0.0.0.0:7474");
        let here = Some("127.0.0.1:7474");
        for (origin, host, local, http, expected) in [
            ("http://localhost:7474", "localhost:7687", "127.0.0.1:7687", here, true),
            ("http://localhost:7474", "127.0.0.1:7687", "127.0.0.1:7687", here, true),
            ("https://[::1]:7474", "localhost:7687", "127.0.0.1:7687", here, true),
            ("http://192.168.1.5:7474", "192.168.1.5:7687", "192.168.1.5:7687", everywhere, true),
            ("http://localhost:7474", "192.168.1.5:7687", "192.168.1.5:7687", everywhere, true),
            ("http://db.example:7474", "db.example:7687", "10.0.0.1:7687", everywhere, true),
            // A proxy that serves both.
            ("https://db.example", "db.example", "10.0.0.1:7687", everywhere, true),
            ("https://db.example", "db.example", "10.0.0.1:7687", None, true),
            // Other services of the machine, other machines, other names.
            ("http://localhost:3000", "localhost:7687", "127.0.0.1:7687", here, false),
            ("http://localhost", "localhost:7687", "127.0.0.1:7687", here, false),
            ("http://localhost:7474", "localhost:7687", "127.0.0.1:7687", None, false),
            ("http://192.168.1.6:7474", "192.168.1.5:7687", "192.168.1.5:7687", everywhere, false),
            ("http://evil.example:7474", "localhost:7687", "127.0.0.1:7687", here, false),
            ("http://evil.example:7474", "db.example:7687", "10.0.0.1:7687", everywhere, false),
            (
                "http://localhost:7474",
                "10.0.0.1:7687",
                "10.0.0.1:7687",
                Some("10.0.0.2:7474"),
                false,
            ),
            ("ftp://localhost:7474", "localhost:7687", "127.0.0.1:7687", here, false),
        ] {
            let found = own(origin, host, local, http);
            assert_eq!(found, expected, "{origin} {host} {local} {http:?}");
        }
    }
}
