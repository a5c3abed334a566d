//! What a Bolt client may send, before and after the handshake.

/// Takes any bytes.
pub(crate) fn bolt(bytes: &[u8]) {
    telar_server::bolt::fuzzing::message(bytes);
}
