//! Access rules: requests to this machine, from programs and from allowed pages, with the token if
//! one is set.
//!
//! A browser sends what any page wants sent, to servers on loopback, too. `Host` shows DNS
//! rebinding, `Origin` and `Sec-Fetch-Site` show the page: no page can forge them.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, HOST, HeaderName, ORIGIN};
use axum::http::{HeaderMap, StatusCode};

use super::Settings;
use crate::http::{Authority, Origin};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Reason for the refusal of a request.
pub(super) type Refused = (StatusCode, &'static str);

/// The only value of a header.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, Refused> {
    let mut all = headers.get_all(name).iter();
    let wrong = (StatusCode::BAD_REQUEST, "a header comes twice, or is not in ASCII");
    match (all.next().map(|value| value.to_str()).transpose(), all.next()) {
        (Ok(first), None) => Ok(first),
        _ => Err(wrong),
    }
}

/// Checks a request that came in at the address `local`.
///
/// # Errors
/// The reason for its refusal.
pub(super) fn check(
    settings: &Settings,
    headers: &HeaderMap,
    local: SocketAddr,
) -> Result<(), Refused> {
    let host = one(headers, &HOST)?.and_then(Authority::parse);
    let Some(called) = host else {
        return Err((StatusCode::BAD_REQUEST, "Host: expected a host, with a port or without"));
    };
    if !called.host.is_this_machine(local) && !settings.allowed_hosts.contains(&called.host) {
        let why = "this server is not called what Host says: --allow-host can name it";
        return Err((StatusCode::FORBIDDEN, why));
    }
    let site = one(headers, &SEC_FETCH_SITE)?;
    let own_site = site.is_none_or(|site| ["same-origin", "none"].contains(&site));
    let may_ask = match one(headers, &ORIGIN)? {
        None => own_site,
        Some(said) => match Origin::parse(said) {
            Some(origin) => {
                settings.allowed_origins.contains(&origin) || own_site && origin.is_at(&called)
            }
            None => settings.allowed_origins.is_any(),
        },
    };
    if !may_ask {
        let why = "pages of this origin may not ask: --allow-origin can name it";
        return Err((StatusCode::FORBIDDEN, why));
    }
    let Some(token) = &settings.token else { return Ok(()) };
    let given = one(headers, &AUTHORIZATION)?.and_then(|given| given.split_once(' '));
    match given {
        Some((scheme, given)) if scheme.eq_ignore_ascii_case("bearer") && same(given, token) => {
            Ok(())
        }
        _ => Err((StatusCode::UNAUTHORIZED, "Authorization: expected Bearer and the token")),
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
    use axum::http::HeaderValue;

    use super::*;
    use crate::http::Allowed;

    fn status(settings: &Settings, headers: &[(&'static str, &'static str)]) -> u16 {
        let header = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        let headers: HeaderMap = headers.iter().map(header).collect();
        let local = "127.0.0.1:7475".parse().unwrap();
        check(settings, &headers, local).map_or_else(|(status, _)| status.as_u16(), |()| 200)
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
