//! Any bytes as an encoded value.

#![no_main]

#[path = "../entry/value_codec.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::value_codec(bytes));
