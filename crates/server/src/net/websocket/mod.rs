//! WebSocket (RFC 6455): the handshake, and the frames in which a connection's bytes lie.
//!
//! ```text
//!  Socket::read   <── Decoder: unmasks in place, keeps pings and the end ◄── bytes of the client
//!  Socket::write  ──► a binary message, up to 64 KiB ──► unsent ──► bytes to the client
//!                     pong, close: between two messages ──┘
//! ```
//!
//! The binary messages of both sides are streams of bytes: where a message ends means nothing to
//! Bolt. Nothing of a client's frame is kept but its header and the payload of a control frame.
//! docs/decisions/0096 says why this is no library.

mod frame;
mod handshake;
#[cfg(test)]
mod tests;

use frame::{BINARY, CLOSE, CONTROL_BYTES_MAX, Decoder, End, PONG, encode};

pub(crate) use frame::{GOING_AWAY, NORMAL, PROTOCOL_ERROR};
pub(crate) use handshake::{Rejection, accept, is_request, read_request};

/// Bytes of the longest message that is sent.
const MESSAGE_BYTES_MAX: usize = 64 << 10;
/// Bytes of room that is kept for messages to send.
const ROOM_BYTES_KEPT: usize = 4 << 10;

/// Frames of a connection, in both directions.
#[derive(Debug)]
pub(crate) struct Frames {
    decoder: Decoder,
    /// Whole frames; those up to `sent` are on their way.
    unsent: Vec<u8>,
    sent: usize,
    /// True once a close frame is sent or about to be.
    closing: bool,
}

impl Frames {
    pub(crate) fn new() -> Self {
        Self { decoder: Decoder::new(), unsent: Vec::new(), sent: 0, closing: false }
    }

    /// Decodes bytes of the client in place; returns the length of what they say.
    pub(crate) fn decode(&mut self, bytes: &mut [u8]) -> usize {
        self.decoder.decode(bytes)
    }

    /// True once the client has closed the connection or broken the protocol.
    pub(crate) fn has_ended(&self) -> bool {
        self.decoder.end.is_some()
    }

    /// True once the client has sent a close frame.
    pub(crate) fn is_closed_by_client(&self) -> bool {
        matches!(self.decoder.end, Some(End::Closed(_)))
    }

    /// True once nothing more can be sent.
    pub(crate) fn is_closing(&self) -> bool {
        self.closing
    }

    /// Makes a message of the first of `bytes`, and returns their number. Everything before must
    /// be [sent](Self::sent).
    pub(crate) fn pack(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(MESSAGE_BYTES_MAX);
        encode(&mut self.unsent, BINARY, &bytes[..taken]);
        taken
    }

    /// Bytes to send next: those of a frame that has begun, then the answer to a ping. Only the
    /// last of several pings is answered.
    pub(crate) fn unsent(&mut self) -> &[u8] {
        if self.sent == self.unsent.len() {
            self.unsent.clear();
            self.unsent.shrink_to(ROOM_BYTES_KEPT);
            self.sent = 0;
            if let Some(ping) = self.decoder.ping.take().filter(|_| !self.closing) {
                encode(&mut self.unsent, PONG, ping.bytes());
            }
        }
        &self.unsent[self.sent..]
    }

    /// Notes that some of the [unsent](Self::unsent) bytes are sent.
    pub(crate) fn sent(&mut self, bytes: usize) {
        self.sent += bytes;
    }

    /// Makes a close frame, the last frame of this side. Its status answers the client's close
    /// frame or names its error; otherwise it is `status`.
    pub(crate) fn close(&mut self, status: u16) {
        if self.closing {
            return;
        }
        self.closing = true;
        let (status, reason) = match self.decoder.end {
            Some(End::Closed(status)) => (status, ""),
            Some(End::Violation { status, reason }) => (Some(status), reason),
            None => (Some(status), ""),
        };
        let mut payload = Vec::with_capacity(CONTROL_BYTES_MAX);
        // The status is big-endian.
        payload.extend(status.into_iter().flat_map(|status| [(status >> 8) as u8, status as u8]));
        payload.extend_from_slice(reason.as_bytes());
        encode(&mut self.unsent, CLOSE, &payload);
    }
}

/// A door for the fuzzer in `fuzz/`. Takes any bytes as frames of a client, and panics unless they
/// say the same however they are cut.
#[doc(hidden)]
pub fn fuzz_frames(bytes: &[u8]) {
    let decode = |step: usize| {
        let (mut frames, mut said, mut pings) = (Frames::new(), Vec::new(), 0);
        for piece in bytes.chunks(step) {
            let mut piece = piece.to_vec();
            let taken = frames.decode(&mut piece);
            said.extend_from_slice(&piece[..taken]);
            pings += usize::from(frames.decoder.ping.take().is_some());
        }
        assert!(said.len() <= bytes.len() && pings <= bytes.len());
        (said, frames.decoder.end)
    };
    let whole = decode(bytes.len().max(1));
    for step in [1, 2, 3, 7, 64] {
        assert_eq!(decode(step), whole, "{step} bytes at a time");
    }
    // A header that is a request, too.
    let _ = handshake::parse(bytes);
}
