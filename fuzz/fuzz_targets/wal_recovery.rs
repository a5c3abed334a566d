//! Any bytes as log files.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| telar_engine::fuzzing::wal_recovery(bytes));
