//! Any bytes as a value of the checkpoint store.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| telar_engine::fuzzing::checkpoint_value(bytes));
