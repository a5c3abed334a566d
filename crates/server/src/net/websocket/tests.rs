//! Frames and handshakes.
