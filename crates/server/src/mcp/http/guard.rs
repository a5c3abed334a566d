//! Access rules of the listener of `telar mcp`: those of [`browser`](crate::net::browser), and the
//! token if one is set.

use std::net::SocketAddr;

use axum::http::request::Parts;
use axum::http::{Method, StatusCode};

use super::Settings;
use crate::http::bearer;
use crate::net::browser::{Access, Asked, Denied, NamedBy};

/// Reason for the refusal of a request.
pub(super) type Refused = (StatusCode, String);

fn refused(denied: Denied) -> Refused {
    match denied {
        Denied::Invalid(message) => (StatusCode::BAD_REQUEST, message),
        Denied::Forbidden(message) => (StatusCode::FORBIDDEN, message),
    }
}

/// Checks a request that came in at the address `local`. Preflights of browsers carry no token.
///
/// # Errors
/// The reason for its refusal.
pub(super) fn check(settings: &Settings, parts: &Parts, local: SocketAddr) -> Result<(), Refused> {
    let asked = Asked::read(parts, local).map_err(refused)?;
    let access = Access {
        hosts: &settings.allowed_hosts,
        origins: &settings.allowed_origins,
        has_users: false,
        named_by: NamedBy::FLAGS,
    };
    access.check(&asked, |origin| asked.is_of_server(origin)).map_err(refused)?;
    match &settings.token {
        Some(token) if parts.method != Method::OPTIONS => {
            let given = bearer(&parts.headers).is_some_and(|given| same(given, token));
            let message = "Authorization: expected Bearer and the token";
            given.then_some(()).ok_or_else(|| (StatusCode::UNAUTHORIZED, message.to_owned()))
        }
        _ => Ok(()),
    }
}

/// Compares secrets, in a time that depends on their length only.
fn same(given: &str, token: &str) -> bool {
    let differs = |(a, b): (u8, u8)| a ^ b;
    given.len() == token.len()
        && given.bytes().zip(token.bytes()).map(differs).fold(0, |all, next| all | next) == 0
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderName, HeaderValue};

    use super::*;
    use crate::http::Allowed;

    fn status(settings: &Settings, headers: &[(&'static str, &'static str)]) -> u16 {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let (mut parts, ()) = axum::http::Request::new(()).into_parts();
        parts.headers = headers.iter().map(header).collect();
        let local = "127.0.0.1:7475".parse().unwrap();
        check(settings, &parts, local).map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn pages_and_names_of_others_are_refused() {
        let settings = Settings::default();
        let host = ("host", "localhost:7475");
        for (headers, expected) in [
            (vec![host], 200),
            (vec![], 400),
            (vec![("host", "evil.example:7475")], 403),
            (vec![host, ("origin", "http://localhost:7475")], 200),
            (vec![host, ("origin", "http://localhost:3000")], 403),
            (vec![host, ("origin", "https://evil.example")], 403),
            (vec![host, ("origin", "null")], 403),
            (vec![host, ("sec-fetch-site", "cross-site")], 403),
            (vec![host, ("origin", "http://localhost:7475"), ("sec-fetch-site", "same-site")], 403),
        ] {
            assert_eq!(status(&settings, &headers), expected, "{headers:?}");
        }
        let allowed = Settings {
            allowed_hosts: Allowed::hosts("db.example").unwrap(),
            allowed_origins: Allowed::origins("https://app.example").unwrap(),
            token: Some("secret".to_owned()),
        };
        let asks = [("host", "db.example"), ("origin", "https://app.example")];
        assert_eq!(status(&allowed, &asks), 401);
        for (token, expected) in [("Bearer secret", 200), ("bearer secret", 200), ("Basic x", 401)]
        {
            let headers = [&asks[..], &[("authorization", token)]].concat();
            assert_eq!(status(&allowed, &headers), expected, "{token}");
        }
        assert!(!same("secre", "secret") && !same("secrex", "secret"));
    }
}
