//! Which requests are looked at at all: those of programs, and of pages that are meant to ask.
//!
//! A browser sends what any page wants sent, to servers on loopback and behind firewalls, too, with
//! the credentials that it remembers. What it says of the page, and no page can forge, decides:
//!
//! ```text
//!  Host            a host that is not this machine's        DNS rebinding: without users refused
//!  Origin          another site, null                       refused
//!  Sec-Fetch-Site  cross-site, same-site                    refused
//!                  ... but for what the settings name ──► CORS
//!                  ... and links to the page at /
//! ```
//!
//! Programs say neither `Origin` nor `Sec-Fetch-Site`. Browsers that do not say the latter, old
//! ones or those that are not sure of the way, say the former with everything but plain GETs, which
//! change nothing here and whose answers pages of others cannot read. docs/security.md has the
//! rule.

use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HOST, HeaderName, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tower_http::cors::{AllowOrigin, CorsLayer};

use super::App;
use super::origin::{Allowed, Authority, Origin};
use super::refusal::Refusal;
use super::serve::Connected;

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// What a browser is told instead of `Basic`, at which it would ask for a password, remember it,
/// and send it with what any page wants sent.
const NO_PROMPT: HeaderValue = HeaderValue::from_static("xBasic realm=\"telar\"");
/// How long a browser may rely on what it was told of an address.
const PREFLIGHT_LASTS: Duration = Duration::from_secs(600);
/// Characters of what a client says that are said back to it.
const ECHO_CHARS_MAX: usize = 200;

/// The only value of a header.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let first = all.next().map(HeaderValue::to_str).transpose();
    match (first, all.next()) {
        (Ok(first), None) => Ok(first),
        _ => Err(Refusal::invalid(format!("the header {name}: expected one, in ASCII"))),
    }
}

/// What the client calls this server. Who speaks HTTP/1.0 need not call it anything.
fn called(parts: &Parts) -> Result<Option<Authority>, Refusal> {
    let read = |text: &str| {
        let unreadable = || Refusal::invalid("Host: expected a host, with a port or without");
        Authority::parse(text).ok_or_else(unreadable)
    };
    let host = one(&parts.headers, &HOST)?.map(str::trim).filter(|host| !host.is_empty());
    let host = host.map(read).transpose()?;
    // What stands in the address is what counts (RFC 9112, 3.2.2).
    let address = parts.uri.authority().map(|authority| read(authority.as_str())).transpose()?;
    match (address, host) {
        (Some(address), Some(host)) if address != host => {
            Err(Refusal::invalid("Host is another one than that of the address"))
        }
        (None, None) if parts.version >= Version::HTTP_11 => {
            Err(Refusal::invalid("Host is missing: it is what the client calls this server"))
        }
        (address, host) => Ok(address.or(host)),
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(ECHO_CHARS_MAX).collect()
}

fn forbidden(message: String) -> Refusal {
    let code = "Neo.ClientError.Security.Forbidden";
    Refusal::new(StatusCode::FORBIDDEN, code, message)
}

/// # Errors
/// Why the request is not to be looked at.
fn check(app: &App, parts: &Parts) -> Result<(), Refusal> {
    let settings = &app.settings;
    let called = called(parts)?;
    let connected = parts.extensions.get::<Connected>();
    let connected = connected.expect("INVARIANT: every request comes by a connection");
    let has_users = app.dbms.settings().security.enabled;
    if let Some(Authority { host, .. }) = &called
        && (!has_users || !settings.allowed_hosts.is_empty())
        && !settings.allowed_hosts.contains(host)
        && !host.is_this_machine(connected.local)
    {
        let host = clipped(&host.to_string());
        let why = if has_users { "" } else { " (auth.enabled is false)" };
        return Err(forbidden(format!(
            "this server is not called '{host}'{why}: http.allowed_hosts can name it"
        )));
    }
    let site = one(&parts.headers, &SEC_FETCH_SITE)?;
    let own_site = site.is_none_or(|site| ["same-origin", "none"].contains(&site));
    let Some(said) = one(&parts.headers, &ORIGIN)? else {
        return (own_site || opens_page(parts)).then_some(()).ok_or_else(|| {
            forbidden("a page of another site asks, and does not say which it is".to_owned())
        });
    };
    let origin = Origin::parse(said);
    let is_own =
        |origin: &Origin| own_site && called.as_ref().is_some_and(|called| origin.is_at(called));
    match &origin {
        Some(origin) if is_allowed(&settings.allowed_origins, said) || is_own(origin) => Ok(()),
        None if settings.allowed_origins.is_any() => Ok(()),
        _ => {
            let said = clipped(said);
            let message =
                format!("pages of '{said}' may not ask: http.allowed_origins can name it");
            Err(forbidden(message))
        }
    }
}

/// Whether a link was followed to the page: whose link it is does not matter, as the document is
/// the same for everybody, may not be framed, and runs nothing by itself.
fn opens_page(parts: &Parts) -> bool {
    let says = |name: HeaderName, value| {
        one(&parts.headers, &name).is_ok_and(|said| said == Some(value))
    };
    let navigates = says(SEC_FETCH_MODE, "navigate") && says(SEC_FETCH_DEST, "document");
    navigates && parts.method == Method::GET && parts.uri.path() == "/"
}

fn is_allowed(allowed: &Allowed<Origin>, said: &str) -> bool {
    allowed.is_any() || Origin::parse(said).is_some_and(|origin| allowed.contains(&origin))
}

/// Refuses requests that no program sends and no page is meant to.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    if let Err(refusal) = check(&app, &parts) {
        tracing::debug!(message = refusal.failure.message, "a request was refused");
        return refusal.into_response();
    }
    let of_browser = [ORIGIN, SEC_FETCH_SITE].iter().any(|name| parts.headers.contains_key(name));
    let mut response = next.run(Request::from_parts(parts, body)).await;
    if of_browser && let Some(value) = response.headers_mut().get_mut(WWW_AUTHENTICATE) {
        *value = NO_PROMPT;
    }
    response
}

/// What browsers are told for pages of other origins that may ask. Credentials that they remember
/// stay out of it: such pages say who asks.
pub(crate) fn cors(allowed: &Allowed<Origin>) -> CorsLayer {
    let allowed = allowed.clone();
    let origins = AllowOrigin::predicate(move |said, _| {
        said.to_str().is_ok_and(|said| is_allowed(&allowed, said))
    });
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers([ACCEPT, AUTHORIZATION, CONTENT_TYPE])
        .expose_headers([RETRY_AFTER, WWW_AUTHENTICATE])
        .allow_private_network(true)
        .max_age(PREFLIGHT_LASTS)
}
