//! Any bytes as the body of a request over HTTP.

#![no_main]

#[path = "../entry/http_request.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::http_request(bytes));
