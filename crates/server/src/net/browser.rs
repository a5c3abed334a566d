//! Access rules for requests that a browser may have sent, over HTTP and over WebSocket.
//!
//! A browser sends what any page wants sent, to servers on loopback and behind firewalls, too. No
//! page can forge the headers with which the browser describes the page:
//!
//! ```text
//!  Host            a host that is not this machine's        DNS rebinding: without users refused
//!  Origin          another site, null                       refused
//!  Sec-Fetch-Site  cross-site, same-site                    refused
//!                  ... except origins and hosts that the settings name
//!                  ... and, over HTTP, links to the page at /
//! ```
//!
//! Programs send neither `Origin` nor `Sec-Fetch-Site`. docs/security.md has the rule.

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Version};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::origin::{Allowed, Authority, Host, Origin};

pub(crate) const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Headers of MCP, which pages send and read, too.
const MCP_REQUEST: [HeaderName; 4] = [
    MCP_SESSION_ID,
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];
/// Header with the session of a client of MCP.
pub(crate) const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Time for which a browser may rely on what it was told of an address.
const PREFLIGHT_LASTS: Duration = Duration::from_secs(600);
/// Upper bound on the characters of a header that are repeated in a message.
const ECHO_CHARS_MAX: usize = 200;

/// Reason for the refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request is malformed.
    Invalid(String),
    /// The page or the name of the server is not allowed.
    Forbidden(String),
}

/// Access rules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access<'s> {
    /// Names of the server beside those of this machine.
    pub(crate) hosts: &'s Allowed<Host>,
    /// Origins of pages beside those of the server.
    pub(crate) origins: &'s Allowed<Origin>,
    /// True if clients have to log in.
    pub(crate) has_users: bool,
    pub(crate) named_by: NamedBy,
}

/// Names of the settings that list hosts and origins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NamedBy {
    hosts: &'static str,
    origins: &'static str,
    /// Reason why hosts have to be named where nobody logs in.
    without_users: &'static str,
}

impl NamedBy {
    /// Settings of `telar serve`.
    pub(crate) const SETTINGS: Self = Self {
        hosts: "http.allowed_hosts",
        origins: "http.allowed_origins",
        without_users: " (auth.enabled is false)",
    };
    /// Flags of `telar mcp`.
    pub(crate) const FLAGS: Self =
        Self { hosts: "--allow-host", origins: "--allow-origin", without_users: "" };
}

/// Headers of a request that the rules are about.
#[derive(Debug)]
pub(crate) struct Asked<'r> {
    /// Name by which the client calls the server; `None` in HTTP/1.0 without `Host`.
    pub(crate) called: Option<Authority>,
    /// Value of `Sec-Fetch-Site`.
    site: Option<&'r str>,
    /// Value of `Origin`.
    origin: Option<&'r str>,
    /// Address that the connection came in at.
    pub(crate) local: SocketAddr,
}

/// The only value of a header.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Denied> {
    let mut all = headers.get_all(name).iter();
    let first = all.next().map(HeaderValue::to_str).transpose();
    match (first, all.next()) {
        (Ok(first), None) => Ok(first),
        _ => Err(Denied::Invalid(format!("the header {name}: expected one, in ASCII"))),
    }
}

/// Name by which the client calls this server. A client of HTTP/1.0 need not send one.
fn called(parts: &Parts) -> Result<Option<Authority>, Denied> {
    let invalid = |message: &str| Denied::Invalid(message.to_owned());
    let read = |text: &str| {
        let unreadable = || invalid("Host: expected a host, with a port or without");
        Authority::parse(text).ok_or_else(unreadable)
    };
    let host = one(&parts.headers, &HOST)?.map(str::trim).filter(|host| !host.is_empty());
    let host = host.map(read).transpose()?;
    // The host in the address goes before the header (RFC 9112, 3.2.2).
    let address = parts.uri.authority().map(|authority| read(authority.as_str())).transpose()?;
    match (address, host) {
        (Some(address), Some(host)) if address != host => {
            Err(invalid("Host is another one than that of the address"))
        }
        (None, None) if parts.version >= Version::HTTP_11 => {
            Err(invalid("Host is missing: it is what the client calls this server"))
        }
        (address, host) => Ok(address.or(host)),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

impl<'r> Asked<'r> {
    /// Reads the headers of a request that came in at `local`.
    ///
    /// # Errors
    /// If a header is malformed or comes twice.
    pub(crate) fn read(parts: &'r Parts, local: SocketAddr) -> Result<Self, Denied> {
        let called = called(parts)?;
        let site = one(&parts.headers, &SEC_FETCH_SITE)?;
        let origin = one(&parts.headers, &ORIGIN)?;
        Ok(Self { called, site, origin, local })
    }

    /// The same request, wherever the browser says that it comes from.
    pub(crate) fn of_any_site(self) -> Self {
        Self { site: None, ..self }
    }

    /// False if the browser says that the page is of another site or origin.
    pub(crate) fn is_own_site(&self) -> bool {
        self.site.is_none_or(|site| ["same-origin", "none"].contains(&site))
    }

    /// True if `origin` is that of the host and port that the request asks, and the browser says
    /// nothing else.
    pub(crate) fn is_of_server(&self, origin: &Origin) -> bool {
        self.is_own_site() && self.is_at_server(origin)
    }

    /// True if a page of `origin` asks the host and port that it came from.
    pub(crate) fn is_at_server(&self, origin: &Origin) -> bool {
        self.called.as_ref().is_some_and(|called| origin.is_at(called))
    }
}

impl Access<'_> {
    /// Checks a request. `is_own` tells origins of this server's own pages.
    ///
    /// # Errors
    /// If its page, or the name by which it calls the server, is not allowed.
    pub(crate) fn check(
        &self,
        asked: &Asked<'_>,
        is_own: impl FnOnce(&Origin) -> bool,
    ) -> Result<(), Denied> {
        if let Some(Authority { host, .. }) = &asked.called
            && (!self.has_users || !self.hosts.is_empty())
            && !self.hosts.contains(host)
            && !host.is_this_machine(asked.local)
        {
            let host = clipped(&host.to_string());
            let why = if self.has_users { "" } else { self.named_by.without_users };
            let setting = self.named_by.hosts;
            return Err(Denied::Forbidden(format!(
                "this server is not called '{host}'{why}: {setting} can name it"
            )));
        }
        let Some(said) = asked.origin else {
            return asked.is_own_site().then_some(()).ok_or_else(|| {
                let message = "a page of another site asks, and does not say which it is";
                Denied::Forbidden(message.to_owned())
            });
        };
        if is_allowed(self.origins, said) || Origin::parse(said).is_some_and(|own| is_own(&own)) {
            return Ok(());
        }
        let said = clipped(said);
        let setting = self.named_by.origins;
        let message = format!("pages of '{said}' may not ask: {setting} can name it");
        Err(Denied::Forbidden(message))
    }
}

/// Answers to browsers about pages of other origins that may ask. Credentials that they remember
/// stay out of it: such pages say who asks.
pub(crate) fn cors(allowed: &Allowed<Origin>) -> CorsLayer {
    let allowed = allowed.clone();
    let origins = AllowOrigin::predicate(move |said, _| {
        said.to_str().is_ok_and(|said| is_allowed(&allowed, said))
    });
    let asked = [ACCEPT, AUTHORIZATION, CONTENT_TYPE].into_iter().chain(MCP_REQUEST);
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(asked.collect::<Vec<_>>())
        .expose_headers([RETRY_AFTER, WWW_AUTHENTICATE, MCP_SESSION_ID])
        .allow_private_network(true)
        .max_age(PREFLIGHT_LASTS)
}

/// True if the setting names the origin.
fn is_allowed(allowed: &Allowed<Origin>, said: &str) -> bool {
    allowed.is_any() || Origin::parse(said).is_some_and(|origin| allowed.contains(&origin))
}
