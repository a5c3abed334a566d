//! Any bytes as files of nodes and relationships.

#![no_main]

#[path = "../entry/csv_import.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::csv_import(bytes));
