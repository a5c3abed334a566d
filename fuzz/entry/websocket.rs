//! What a client of Bolt over WebSocket may send: its request, and frames.

/// Takes any bytes.
pub(crate) fn websocket(bytes: &[u8]) {
    telar_server::net::websocket::fuzz_frames(bytes);
}
