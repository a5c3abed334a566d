//! Any bytes as a log record.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| telar_engine::fuzzing::txn_record(bytes));
