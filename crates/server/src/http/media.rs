//! Which format an answer has: the `Accept` and `Content-Type` headers.

use axum::http::HeaderMap;
use axum::http::header::{ACCEPT, CONTENT_TYPE};

use super::json::Notation;

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// One JSON document.
    Document(Notation),
    /// A JSON object per line.
    Lines(Notation),
    /// An Arrow stream.
    #[cfg(feature = "arrow")]
    Arrow,
}

/// A format and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
}

const fn media(name: &'static str, format: Format) -> Media {
    Media { name, format }
}

/// What answers can be. Of equally wanted ones the first is given.
const ANSWERS: &[Media] = &[
    media("application/json", Format::Document(Notation::Plain)),
    media("application/vnd.neo4j.query", Format::Document(Notation::Typed)),
    media("application/vnd.neo4j.query.v1.0", Format::Document(Notation::Typed)),
    media("application/vnd.neo4j.query.v1.1", Format::Document(Notation::Typed)),
    media("application/jsonl", Format::Lines(Notation::Plain)),
    media("application/vnd.neo4j.query.v1.0+jsonl", Format::Lines(Notation::Typed)),
    media("application/vnd.neo4j.query.v1.1+jsonl", Format::Lines(Notation::Typed)),
    #[cfg(feature = "arrow")]
    media(ARROW, Format::Arrow),
];

/// The registered name of a stream of Arrow batches.
#[cfg(feature = "arrow")]
pub(crate) const ARROW: &str = "application/vnd.apache.arrow.stream";

/// What requests can be.
const REQUESTS: [(&str, Notation); 4] = [
    ("application/json", Notation::Plain),
    ("application/vnd.neo4j.query", Notation::Typed),
    ("application/vnd.neo4j.query.v1.0", Notation::Typed),
    ("application/vnd.neo4j.query.v1.1", Notation::Typed),
];

/// How much a range of the `Accept` header wants `name`: more for a closer match.
fn closeness(range: &str, name: &str) -> Option<u8> {
    if range.eq_ignore_ascii_case(name) {
        return Some(2);
    }
    let kind = range.strip_suffix("/*")?;
    match kind {
        "*" => Some(0),
        _ => name.split('/').next().filter(|k| kind.eq_ignore_ascii_case(k)).map(|_| 1),
    }
}

/// The range and weight of one element of `Accept`.
fn weighted(element: &str) -> (&str, f32) {
    let mut parts = element.split(';').map(str::trim);
    let range = parts.next().unwrap_or_default();
    let weight = parts.find_map(|p| p.strip_prefix("q=").or_else(|| p.strip_prefix("Q=")));
    (range, weight.map_or(1.0, |text| text.trim().parse().unwrap_or(0.0)))
}

/// The format that the client wants most; none if it wants none that there is.
pub(crate) fn answer(headers: &HeaderMap) -> Option<Media> {
    choose(headers, ANSWERS)
}

/// The same among those that have a line for each thing.
pub(crate) fn lines(headers: &HeaderMap) -> Option<(&'static str, Notation)> {
    let lines = |media: &Media| matches!(media.format, Format::Lines(_));
    let answers: Vec<Media> = ANSWERS.iter().copied().filter(lines).collect();
    match choose(headers, &answers)? {
        Media { name, format: Format::Lines(notation) } => Some((name, notation)),
        _ => None,
    }
}

fn choose(headers: &HeaderMap, answers: &[Media]) -> Option<Media> {
    let accept: Vec<&str> =
        headers.get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok()).collect();
    let accept = accept.join(",");
    if accept.trim().is_empty() {
        return answers.first().copied();
    }
    let ranges: Vec<(&str, f32)> = accept.split(',').map(|e| weighted(e.trim())).collect();
    let mut best: Option<(f32, Media)> = None;
    for media in answers {
        // The closest range decides, whatever its weight (RFC 9110, 12.5.1).
        let close =
            ranges.iter().filter_map(|(range, q)| Some((closeness(range, media.name)?, *q)));
        let Some((_, weight)) = close.max_by_key(|(close, _)| *close) else {
            continue;
        };
        if weight > 0.0 && best.is_none_or(|(most, _)| weight > most) {
            best = Some((weight, *media));
        }
    }
    best.map(|(_, media)| media)
}

/// How the request is written; none if it is in nothing that is understood. Only what has no body
/// need not say: a page of anybody can have a browser send a body of no type.
pub(crate) fn request(headers: &HeaderMap, has_body: bool) -> Option<Notation> {
    let mut values = headers.get_all(CONTENT_TYPE).iter();
    let Some(value) = values.next() else {
        return (!has_body).then_some(Notation::Plain);
    };
    if values.next().is_some() {
        return None;
    }
    let name = value.to_str().ok()?.split(';').next()?.trim();
    REQUESTS.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, n)| *n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(accept: &str) -> Option<&'static str> {
        let headers = HeaderMap::from_iter([(ACCEPT, accept.parse().unwrap())]);
        answer(&headers).map(|media| media.name)
    }

    #[test]
    fn the_most_wanted_format_is_given() {
        let typed = "application/vnd.neo4j.query";
        assert_eq!(asked("*/*"), Some("application/json"));
        assert_eq!(asked(""), Some("application/json"));
        assert_eq!(asked("application/*;q=0.5, application/jsonl"), Some("application/jsonl"));
        assert_eq!(asked("application/JSON; charset=utf-8"), Some("application/json"));
        let list = format!("application/vnd.neo4j.query.v9, {typed};q=0.8, text/html");
        assert_eq!(asked(&list), Some(typed));
        assert_eq!(asked("*/*, application/json;q=0"), Some(typed));
        assert_eq!(asked("text/html"), None);
        assert_eq!(asked("application/json;q=0"), None);
        assert_eq!(answer(&HeaderMap::new()).map(|m| m.name), Some("application/json"));
    }

    #[test]
    fn requests_say_that_they_are_json() {
        let of = |value: &str| {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, value.parse().unwrap())]);
            assert_eq!(request(&headers, true), request(&headers, false));
            request(&headers, true)
        };
        assert_eq!(of("application/json;charset=UTF-8"), Some(Notation::Plain));
        assert_eq!(of("application/vnd.neo4j.query.v1.1"), Some(Notation::Typed));
        for other in ["text/plain", "", "text/plain; application/json", "application/json, a/b"] {
            assert_eq!(of(other), None, "{other}");
        }
        let mut two = HeaderMap::new();
        two.append(CONTENT_TYPE, "application/json".parse().unwrap());
        two.append(CONTENT_TYPE, "text/plain".parse().unwrap());
        assert_eq!(request(&two, true), None);
        assert_eq!(request(&HeaderMap::new(), false), Some(Notation::Plain));
        assert_eq!(request(&HeaderMap::new(), true), None);
    }
}
