//! Who asks: the `Authorization` header.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use base64ct::{Base64, Encoding};

use super::refusal::Refusal;
use crate::dbms::{Credentials, Peer};

const UNAUTHORIZED: &str = "Neo.ClientError.Security.Unauthorized";

/// What a request knows of its peer.
pub(crate) fn peer(protocol: &'static str, headers: &HeaderMap, address: SocketAddr) -> Peer {
    let agent = headers.get(USER_AGENT).and_then(|value| value.to_str().ok());
    Peer { address: Some(address), protocol, agent: agent.unwrap_or_default().to_owned() }
}

/// The credentials of a request; without a header the scheme is `none`, which only a server without
/// authentication accepts.
pub(crate) fn credentials(headers: &HeaderMap) -> Result<Credentials, Refusal> {
    let none = || Credentials {
        scheme: "none".to_owned(),
        principal: String::new(),
        credentials: String::new(),
    };
    let Some(value) = headers.get(AUTHORIZATION) else {
        return Ok(none());
    };
    let malformed = || {
        let code = "Neo.ClientError.Request.InvalidFormat";
        Refusal::new(StatusCode::UNAUTHORIZED, code, "invalid authentication header")
    };
    let (scheme, rest) =
        value.to_str().ok().and_then(|v| v.split_once(' ')).ok_or_else(malformed)?;
    if !scheme.eq_ignore_ascii_case("basic") {
        let message = "unsupported authentication scheme: this server takes Basic";
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, UNAUTHORIZED, message));
    }
    let bytes = Base64::decode_vec(rest.trim()).map_err(|_| malformed())?;
    let text = String::from_utf8(bytes).map_err(|_| malformed())?;
    let (principal, password) = text.split_once(':').ok_or_else(malformed)?;
    Ok(Credentials {
        scheme: "basic".to_owned(),
        principal: principal.to_owned(),
        credentials: password.to_owned(),
    })
}

/// The secret of a request that has one: of a node of a cluster, of a client of `telar mcp`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, secret) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str) -> Result<Credentials, Refusal> {
        credentials(&HeaderMap::from_iter([(AUTHORIZATION, value.parse().unwrap())]))
    }

    #[test]
    fn basic_is_taken_apart_at_the_first_colon() {
        let read = of("basic bmVvNGo6YTpi").unwrap();
        assert_eq!((read.principal.as_str(), read.credentials.as_str()), ("neo4j", "a:b"));
        assert_eq!(credentials(&HeaderMap::new()).unwrap().scheme, "none");
    }

    #[test]
    fn anything_else_is_not_authorized() {
        for value in ["Bearer abc", "Basic", "Basic !!!", "Basic bmVvNGo=", "Basic //79"] {
            assert_eq!(of(value).unwrap_err().status, StatusCode::UNAUTHORIZED, "{value}");
        }
    }
}
