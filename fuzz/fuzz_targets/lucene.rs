//! Any bytes as a query of full-text search.

#![no_main]

#[path = "../entry/lucene.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::lucene(bytes));
