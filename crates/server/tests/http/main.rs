//! The HTTP side of the server, as its clients meet it: on a port, byte by byte.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../../../fuzz/entry/http_request.rs"]
mod entry;
#[path = "../../../../fuzz/entry/random.rs"]
mod random;

mod changes;
mod common;
mod formats;
mod limits;
mod mcp;
mod newcomers;
mod page;
mod query;
mod security;
mod status;
mod transactions;
#[path = "../common/within.rs"]
mod within;

/// The fuzz target `http_request`, on random and on nearly valid bodies.
#[test]
fn no_body_makes_the_decoder_fail_otherwise_than_with_an_error() {
    let valid: Vec<Vec<u8>> = [
        r#"{"statement": "RETURN $x", "parameters": {"x": [1, 2.5, null, {"y": "z"}]}}"#,
        r#"{"statement": "", "accessMode": "READ", "maxExecutionTime": 1.5, "bookmarks": ["a"]}"#,
        r#"{"parameters": {"x": {"$type": "List", "_value": [{"$type": "Null", "_value": null}]}}}"#,
        r#"{"parameters": {"x": {"$type": "Point", "_value": "SRID=4979;POINT Z (1 2 3)"}}}"#,
        r#"{"parameters": {"x": {"$type": "ZonedDateTime", "_value": "2026-01-01T00:00[Europe/Oslo]"}}}"#,
        r#"{"parameters": {"x": {"$type": "Duration", "_value": "P1Y2M3DT4H5M6.7S"}}}"#,
        r#"{"parameters": {"x": {"$type": "Base64", "_value": "A2+/"}}, "txMetadata": {}}"#,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    random::run(3, 5_000, 80, &valid, entry::http_request);
}
