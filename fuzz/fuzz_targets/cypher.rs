//! Any bytes as a text of Cypher statements.

#![no_main]

#[path = "../entry/cypher.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::cypher(bytes));
