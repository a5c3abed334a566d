//! The page: `GET /` for browsers, and what it consists of.
//!
//! Its files are built from the folder `page` and are in the binary, compressed. Their names hold a
//! hash of their content, so that a browser keeps them until there are others. The policy that goes
//! with the document lets it load and ask nothing but this server, and lets nobody frame it: texts
//! of a database that are shown cannot become scripts, whatever they say.

use std::io::Read as _;

use axum::extract::{Path, State};
use axum::http::header::{
    ACCEPT, ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY,
    CONTENT_TYPE, HeaderName, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::read::GzDecoder;

use super::refusal::Refusal;
use super::{App, status};

/// A file of the page.
#[derive(Debug)]
struct Asset {
    name: &'static str,
    gzip: &'static [u8],
}

/// All of them; none where the binary was built without the page.
const ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The one that a browser asks for first.
const DOCUMENT: &str = "index.html";

/// What is said in its place.
const NOT_BUILT: &str = "<!doctype html><meta charset=utf-8><title>Telar</title>\
    <p>This server was built without its page: <code>tools/page.sh</code> builds it, before \
    <code>cargo build</code>. Bolt and HTTP are served all the same.\n";

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' blob: data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
    form-action 'none'; frame-ancestors 'none'";

const CROSS_ORIGIN_OPENER_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-opener-policy");
const CROSS_ORIGIN_RESOURCE_POLICY: HeaderName =
    HeaderName::from_static("cross-origin-resource-policy");

/// `GET /`: the page for browsers, and for programs where things are.
pub(crate) async fn root(state: State<App>, headers: HeaderMap) -> Response {
    let mut response = if wants_html(&headers) {
        document(&headers)
    } else {
        status::discovery(state, headers).await.into_response()
    };
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept, accept-encoding"));
    response
}

/// `GET /page/{name}`: a file of the page.
pub(crate) async fn asset(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let found = ASSETS.iter().find(|asset| asset.name == name && name != DOCUMENT);
    let Some(asset) = found else {
        return Refusal::request(StatusCode::NOT_FOUND, "there is no such file of the page")
            .into_response();
    };
    let mut response = file(asset, &headers);
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    response.headers_mut().insert(CACHE_CONTROL, kept);
    response.headers_mut().insert(VARY, HeaderValue::from_static("accept-encoding"));
    response
}

/// Whether a browser asks, which names HTML first of all it takes; programs do not name it.
fn wants_html(headers: &HeaderMap) -> bool {
    let accepted = headers.get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let types = |accepted: &str| {
        let mut types = accepted.split(',').map(|range| range.split(';').next().unwrap_or(range));
        types.any(|name| name.trim().eq_ignore_ascii_case("text/html"))
    };
    accepted.is_some_and(types)
}

fn document(headers: &HeaderMap) -> Response {
    let mut response = match ASSETS.iter().find(|asset| asset.name == DOCUMENT) {
        Some(asset) => file(asset, headers),
        None => of_type("text/html; charset=utf-8", NOT_BUILT.as_bytes().into()),
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(CROSS_ORIGIN_OPENER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

/// A file, compressed where the client takes it so.
fn file(asset: &Asset, headers: &HeaderMap) -> Response {
    let kind = match asset.name.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("txt") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    };
    if takes_gzip(headers) {
        let mut response = of_type(kind, asset.gzip.into());
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return response;
    }
    let mut plain = Vec::new();
    match GzDecoder::new(asset.gzip).read_to_end(&mut plain) {
        Ok(_) => of_type(kind, plain.into()),
        Err(error) => {
            let message = format!("the page cannot be read: {error}");
            Refusal::request(StatusCode::INTERNAL_SERVER_ERROR, message).into_response()
        }
    }
}

fn takes_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get(ACCEPT_ENCODING).and_then(|said| said.to_str().ok()).unwrap_or_default();
    said.split(',').any(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case("gzip"));
        let refused = |weight: &str| weight.trim_start_matches("q=").parse() == Ok(0.0);
        named && !parts.any(refused)
    })
}

fn of_type(kind: &'static str, body: std::borrow::Cow<'static, [u8]>) -> Response {
    let mut response = body.into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, HeaderValue::from_static("same-origin"));
    response
}
