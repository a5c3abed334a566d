//! Which requests are looked at at all: those of programs, and of pages that are meant to ask.
//!
//! The rules are those of [`browser`](crate::net::browser). Browsers that send no `Sec-Fetch-Site`,
//! old ones or those that are not sure of the way, send `Origin` with everything but plain GETs,
//! which change nothing here and whose answers pages of others cannot read.

use axum::extract::{Request, State};
use axum::http::header::{HeaderName, ORIGIN, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use super::refusal::Refusal;
use super::serve::Connected;
use crate::net::browser::{Access, Asked, Denied, NamedBy, SEC_FETCH_SITE};

const SEC_FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const SEC_FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");
/// What a browser is told instead of `Basic`, at which it would ask for a password, remember it,
/// and send it with what any page wants sent.
const NO_PROMPT: HeaderValue = HeaderValue::from_static("xBasic realm=\"telar\"");

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        match denied {
            Denied::Invalid(message) => Self::invalid(message),
            Denied::Forbidden(message) => {
                let code = "Neo.ClientError.Security.Forbidden";
                Self::new(StatusCode::FORBIDDEN, code, message)
            }
        }
    }
}

/// # Errors
/// Why the request is not to be looked at.
fn check(app: &App, parts: &Parts) -> Result<(), Refusal> {
    let settings = &app.settings;
    let connected = parts.extensions.get::<Connected>();
    let connected = connected.expect("INVARIANT: every request comes by a connection");
    let asked = Asked::read(parts, connected.local)?;
    let asked = if opens_page(parts) { asked.of_any_site() } else { asked };
    let access = Access {
        hosts: &settings.allowed_hosts,
        origins: &settings.allowed_origins,
        has_users: app.dbms.settings().security.enabled,
        named_by: NamedBy::SETTINGS,
    };
    Ok(access.check(&asked, |origin| asked.is_of_server(origin))?)
}

/// Whether a link was followed to the page: whose link it is does not matter, as the document is
/// the same for everybody, may not be framed, and runs nothing by itself.
fn opens_page(parts: &Parts) -> bool {
    let says = |name: HeaderName, value: &str| {
        let mut all = parts.headers.get_all(name).iter();
        all.next().is_some_and(|said| said == value) && all.next().is_none()
    };
    let navigates = says(SEC_FETCH_MODE, "navigate") && says(SEC_FETCH_DEST, "document");
    navigates && parts.method == Method::GET && parts.uri.path() == "/"
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
