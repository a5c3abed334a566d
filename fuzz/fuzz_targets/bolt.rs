//! Any bytes as what a Bolt client sends.

#![no_main]

#[path = "../entry/bolt.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::bolt(bytes));
