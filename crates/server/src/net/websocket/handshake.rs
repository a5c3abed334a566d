//! Opening handshake of WebSocket (RFC 6455, 4.2): the request of the client, and the answer.

use std::io::{self, Read};

use axum::http::header::{
    CONNECTION, CONTENT_LENGTH, HeaderName, HeaderValue, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION,
    TRANSFER_ENCODING, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, Request, StatusCode, Uri, Version};
use base64ct::{Base64, Encoding};
use ring::digest;

/// Bytes of the longest request.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Upper bound on the headers of a request.
const HEADERS_MAX: usize = 64;
/// Bytes of a key.
const KEY_BYTES: usize = 16;
/// Version of the protocol.
const VERSION: &str = "13";
/// Suffix of the key when it is hashed.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// First bytes of requests of HTTP.
const METHODS: [[u8; 4]; 7] =
    [*b"GET ", *b"HEAD", *b"POST", *b"PUT ", *b"DELE", *b"OPTI", *b"PATC"];

/// Refusal of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rejection {
    pub(crate) status: StatusCode,
    /// Header that the status asks for.
    header: Option<(HeaderName, &'static str)>,
    pub(crate) message: String,
}

impl Rejection {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, header: None, message: message.into() }
    }

    fn with(mut self, name: HeaderName, value: &'static str) -> Self {
        self.header = Some((name, value));
        self
    }

    fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    /// The answer, after which the connection ends.
    pub(crate) fn answer(&self) -> Vec<u8> {
        let Self { status, header, message } = self;
        let header = header.as_ref().map(|(name, value)| format!("{name}: {value}\r\n"));
        let reason = status.canonical_reason().unwrap_or_default();
        format!(
            "HTTP/1.1 {} {reason}\r\n{}Content-Type: text/plain; charset=utf-8\r\n\
             Content-Length: {}\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n\
             {message}\n",
            status.as_u16(),
            header.unwrap_or_default(),
            message.len() + 1
        )
        .into_bytes()
    }
}

/// True if a connection that begins like this is one of HTTP.
pub(crate) fn is_request(first: [u8; 4]) -> bool {
    METHODS.contains(&first)
}

/// Reads a request whose first bytes were read before.
///
/// # Errors
/// Errors of the connection. A rejection if the request is too long or malformed.
pub(crate) fn read_request(
    stream: &mut impl Read,
    first: [u8; 4],
) -> io::Result<Result<Parts, Rejection>> {
    let mut bytes = first.to_vec();
    let mut piece = [0; 1 << 10];
    loop {
        let read = match stream.read(&mut piece) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        // The end may have come in two pieces.
        let seen = bytes.len().saturating_sub(3);
        bytes.extend_from_slice(&piece[..read]);
        let end = bytes[seen..].windows(4).position(|end| end == b"\r\n\r\n");
        if end.is_some() || bytes.len() > REQUEST_BYTES_MAX {
            return Ok(parse(&bytes));
        }
    }
}

/// Reads the head of a request, which must be all of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Result<Parts, Rejection> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let too_large =
        |message: &str| Rejection::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, message);
    let end = match request.parse(bytes) {
        Ok(httparse::Status::Complete(end)) => end,
        Ok(httparse::Status::Partial) => {
            return Err(too_large("a request of more than 8 KiB is not read here"));
        }
        Err(httparse::Error::TooManyHeaders) => {
            return Err(too_large("a request of more than 64 headers is not read here"));
        }
        Err(error) => return Err(Rejection::invalid(format!("no request of HTTP: {error}"))),
    };
    let invalid = |what: &str| Rejection::invalid(format!("no request of HTTP: {what}"));
    let (mut parts, ()) = Request::new(()).into_parts();
    let method = request.method.unwrap_or_default().as_bytes();
    parts.method = Method::from_bytes(method).map_err(|_| invalid("its method"))?;
    parts.uri = request.path.unwrap_or_default().parse::<Uri>().map_err(|_| invalid("its path"))?;
    parts.version = match request.version {
        Some(1) => Version::HTTP_11,
        _ => Version::HTTP_10,
    };
    for header in request.headers.iter() {
        let name = HeaderName::from_bytes(header.name.as_bytes());
        let value = HeaderValue::from_bytes(header.value);
        let (Ok(name), Ok(value)) = (name, value) else { return Err(invalid("a header")) };
        parts.headers.append(name, value);
    }
    if parts.method != Method::GET {
        let message = "this port speaks Bolt, also over WebSocket; HTTP has a port of its own";
        let rejection = Rejection::new(StatusCode::METHOD_NOT_ALLOWED, message);
        return Err(rejection.with(axum::http::header::ALLOW, "GET"));
    }
    let has_body = parts.headers.contains_key(TRANSFER_ENCODING)
        || parts.headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0");
    if has_body || end < bytes.len() {
        let message = "a request to upgrade has no body, and frames follow its answer";
        return Err(Rejection::invalid(message));
    }
    Ok(parts)
}

/// True if one of a header's comma-separated tokens is `wanted`, in any case.
fn has_token(headers: &HeaderMap, name: &HeaderName, wanted: &str) -> bool {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let mut tokens = values.flat_map(|value| value.split(',')).map(str::trim);
    tokens.any(|token| token.eq_ignore_ascii_case(wanted))
}

/// The only value of a header.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let value = all.next()?.to_str().ok()?;
    all.next().is_none().then(|| value.trim())
}

/// The answer that makes the connection one of WebSocket. No extension and no subprotocol is
/// agreed on. `plain` is the message for requests that do not ask for WebSocket.
///
/// # Errors
/// If the request does not ask for WebSocket as RFC 6455 has it.
pub(crate) fn accept(parts: &Parts, plain: impl FnOnce() -> String) -> Result<Vec<u8>, Rejection> {
    let headers = &parts.headers;
    let upgrade_required = |message: String| Rejection::new(StatusCode::UPGRADE_REQUIRED, message);
    if !has_token(headers, &UPGRADE, "websocket") {
        return Err(upgrade_required(plain()).with(UPGRADE, "websocket"));
    }
    if !has_token(headers, &CONNECTION, "upgrade") {
        return Err(Rejection::invalid("Connection: expected Upgrade, as Upgrade is there"));
    }
    if parts.version < Version::HTTP_11 {
        return Err(Rejection::invalid("WebSocket needs HTTP/1.1"));
    }
    if only(headers, &SEC_WEBSOCKET_VERSION) != Some(VERSION) {
        let message = "Sec-WebSocket-Version: expected 13".to_owned();
        return Err(upgrade_required(message).with(SEC_WEBSOCKET_VERSION, VERSION));
    }
    let mut decoded = [0; KEY_BYTES + 2];
    let is_key = |key: &&str| Base64::decode(key, &mut decoded).is_ok_and(|k| k.len() == KEY_BYTES);
    let Some(key) = only(headers, &SEC_WEBSOCKET_KEY).filter(is_key) else {
        return Err(Rejection::invalid("Sec-WebSocket-Key: expected 16 bytes in Base64"));
    };
    Ok(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {}\r\n\r\n",
        accepted(key)
    )
    .into_bytes())
}

/// Proof that the key was read.
pub(super) fn accepted(key: &str) -> String {
    let hash = digest::digest(
        // The protocol wants SHA-1, which secures nothing here.
        &digest::SHA1_FOR_LEGACY_USE_ONLY,
        [key, GUID].concat().as_bytes(),
    );
    Base64::encode_string(hash.as_ref())
}
