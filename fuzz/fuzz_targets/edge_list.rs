//! Any bytes as an edge list.

#![no_main]

#[path = "../entry/edge_list.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::edge_list(bytes));
