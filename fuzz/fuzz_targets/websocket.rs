//! Any bytes as frames of WebSocket, and as a request to upgrade.

#![no_main]

#[path = "../entry/websocket.rs"]
mod entry;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| entry::websocket(bytes));
