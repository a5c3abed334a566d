//! Frames of WebSocket (RFC 6455, 5.2).
//!
//! ```text
//!   0: FIN RSV1 RSV2 RSV3 opcode(4)   1: MASK length(7)
//!   2: length(16), if the 7 bits say 126, or length(64), if they say 127
//!      mask(32), in frames of clients
//!      payload
//! ```
#![expect(clippy::big_endian_bytes, reason = "the protocol is big-endian")]

/// Opcodes.
pub(super) const CONTINUATION: u8 = 0;
pub(super) const TEXT: u8 = 1;
pub(super) const BINARY: u8 = 2;
pub(super) const CLOSE: u8 = 8;
pub(super) const PING: u8 = 9;
pub(super) const PONG: u8 = 10;

/// Status codes of close frames (RFC 6455, 7.4.1).
pub(crate) const NORMAL: u16 = 1000;
pub(crate) const GOING_AWAY: u16 = 1001;
pub(crate) const PROTOCOL_ERROR: u16 = 1002;
pub(super) const UNSUPPORTED_DATA: u16 = 1003;
pub(super) const INVALID_PAYLOAD: u16 = 1007;
pub(super) const TOO_LARGE: u16 = 1009;

const FIN: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0F;
const MASKED: u8 = 0x80;
/// Lengths of 7 bits that announce a longer length.
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;
/// Bytes of the longest header.
const HEADER_BYTES_MAX: usize = 14;
/// Bytes of the longest payload of a control frame.
pub(super) const CONTROL_BYTES_MAX: usize = 125;
/// Bytes of the longest payload of a data frame that is accepted. A frame takes no memory: this
/// bound is for clients that have lost the framing.
const DATA_BYTES_MAX: u64 = 1 << 30;

/// Reason why nothing more is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The client has sent a close frame, with this status if any.
    Closed(Option<u16>),
    /// The client has broken the protocol.
    Violation {
        /// Status of the close frame that tells it so.
        status: u16,
        /// Explanation for people.
        reason: &'static str,
    },
}

/// Violation of the protocol.
fn violation(status: u16, reason: &'static str) -> End {
    End::Violation { status, reason }
}

/// Payload of a control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Control {
    bytes: [u8; CONTROL_BYTES_MAX],
    len: usize,
}

impl Control {
    const EMPTY: Self = Self { bytes: [0; CONTROL_BYTES_MAX], len: 0 };

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes; a payload that would become too long is refused with its header.
    fn extend(&mut self, bytes: &[u8]) {
        self.bytes[self.len..self.len + bytes.len()].copy_from_slice(bytes);
        self.len += bytes.len();
    }
}

/// Decoder of the frames of a client, however they are cut. It keeps no payload of data frames.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Bytes of the current header.
    header: [u8; HEADER_BYTES_MAX],
    header_len: usize,
    /// True between a header and the end of its payload.
    in_payload: bool,
    opcode: u8,
    /// Mask of the next bytes of the payload.
    mask: [u8; 4],
    /// Bytes of the payload that are still to come.
    left: u64,
    /// True between the first and the last frame of a message.
    in_message: bool,
    /// Payload of the current control frame.
    control: Control,
    /// Payload of the last ping that is not answered yet.
    pub(super) ping: Option<Control>,
    pub(super) end: Option<End>,
}

impl Decoder {
    pub(super) fn new() -> Self {
        Self {
            header: [0; HEADER_BYTES_MAX],
            header_len: 0,
            in_payload: false,
            opcode: 0,
            mask: [0; 4],
            left: 0,
            in_message: false,
            control: Control::EMPTY,
            ping: None,
            end: None,
        }
    }

    /// Decodes the next bytes of the connection in place: moves the payload of data frames to the
    /// front of `bytes` and returns its length. Bytes behind the end are ignored.
    pub(super) fn decode(&mut self, bytes: &mut [u8]) -> usize {
        let (mut at, mut out) = (0, 0);
        while at < bytes.len() && self.end.is_none() {
            if !self.in_payload {
                self.header[self.header_len] = bytes[at];
                self.header_len += 1;
                at += 1;
                self.end = self.header_grew().err();
                continue;
            }
            let rest = bytes.len() - at;
            let taken = usize::try_from(self.left).map_or(rest, |left| left.min(rest));
            unmask(&mut bytes[at..at + taken], self.mask);
            self.mask.rotate_left(taken % 4);
            if self.opcode >= CLOSE {
                self.control.extend(&bytes[at..at + taken]);
            } else {
                bytes.copy_within(at..at + taken, out);
                out += taken;
            }
            at += taken;
            self.left -= taken as u64;
            if self.left == 0 {
                self.end = self.complete();
            }
        }
        out
    }

    /// Looks at the header after each of its bytes.
    fn header_grew(&mut self) -> Result<(), End> {
        if self.header_len < 2 {
            return Ok(());
        }
        let [first, second] = [self.header[0], self.header[1]];
        if self.header_len == 2 {
            self.check(first, second)?;
        }
        let length_bytes = match second & !MASKED {
            LENGTH_16 => 2,
            LENGTH_64 => 8,
            _ => 0,
        };
        let (length_end, end) = (2 + length_bytes, 2 + length_bytes + 4);
        if self.header_len < end {
            return Ok(());
        }
        self.left = match &self.header[2..length_end] {
            [] => u64::from(second & !MASKED),
            long => long.iter().fold(0, |length, byte| length << 8 | u64::from(*byte)),
        };
        let shortest = match length_bytes {
            0 => 0,
            2 => u64::from(LENGTH_16),
            _ => 1 << 16,
        };
        if self.left < shortest {
            return Err(violation(PROTOCOL_ERROR, "a length takes more bytes than it needs"));
        }
        if self.left > DATA_BYTES_MAX {
            return Err(violation(TOO_LARGE, "a frame of more than 1 GiB"));
        }
        self.mask.copy_from_slice(&self.header[length_end..end]);
        self.opcode = first & OPCODE;
        if self.opcode < CLOSE {
            self.in_message = first & FIN == 0;
        }
        (self.header_len, self.in_payload) = (0, true);
        if self.left == 0 { self.complete().map_or(Ok(()), Err) } else { Ok(()) }
    }

    /// Checks the first two bytes of a header.
    fn check(&self, first: u8, second: u8) -> Result<(), End> {
        let opcode = first & OPCODE;
        let is_final = first & FIN != 0;
        let wrong = |reason| Err(violation(PROTOCOL_ERROR, reason));
        if first & RESERVED != 0 {
            return wrong("reserved bits are set, and no extension is agreed on");
        }
        if second & MASKED == 0 {
            return wrong("a frame of the client is not masked");
        }
        match opcode {
            TEXT => Err(violation(UNSUPPORTED_DATA, "Bolt is sent in binary messages")),
            BINARY if self.in_message => wrong("a message begins inside of another one"),
            CONTINUATION if !self.in_message => wrong("a continuation without a beginning"),
            CLOSE | PING | PONG if !is_final => wrong("a control frame is fragmented"),
            CLOSE | PING | PONG if second & !MASKED >= LENGTH_16 => {
                wrong("a control frame of more than 125 bytes")
            }
            CONTINUATION | BINARY | CLOSE | PING | PONG => Ok(()),
            _ => wrong("an opcode that is not assigned"),
        }
    }

    /// Ends a frame.
    fn complete(&mut self) -> Option<End> {
        self.in_payload = false;
        if self.opcode < CLOSE {
            return None;
        }
        let payload = std::mem::replace(&mut self.control, Control::EMPTY);
        match self.opcode {
            PING => self.ping = Some(payload),
            CLOSE => return Some(closed(payload.bytes())),
            // An answer to a ping that nobody sent is allowed.
            _ => {}
        }
        None
    }
}

/// End by a close frame with this payload.
fn closed(payload: &[u8]) -> End {
    let (status, reason) = match payload {
        [] => return End::Closed(None),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
        _ => return violation(PROTOCOL_ERROR, "a close frame with half a status"),
    };
    if !matches!(status, 1000..=1003 | 1007..=1014 | 3000..=4999) {
        return violation(PROTOCOL_ERROR, "a close frame with a status that may not be sent");
    }
    if str::from_utf8(reason).is_err() {
        return violation(INVALID_PAYLOAD, "the reason in a close frame is not UTF-8");
    }
    End::Closed(Some(status))
}

/// Applies a mask, which begins with the first byte.
fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    let mut chunks = bytes.chunks_exact_mut(4);
    for chunk in &mut chunks {
        chunk.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
    chunks.into_remainder().iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
}

/// Appends a frame of the server, which is a whole message or a control frame.
pub(super) fn encode(out: &mut Vec<u8>, opcode: u8, payload: &[u8]) {
    out.push(FIN | opcode);
    match payload.len() {
        len @ ..=CONTROL_BYTES_MAX => out.push(len as u8),
        len @ ..=0xFFFF => {
            out.push(LENGTH_16);
            out.extend((len as u16).to_be_bytes());
        }
        len => {
            out.push(LENGTH_64);
            out.extend((len as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(payload);
}
