//! Frames and handshakes, without a connection.
#![expect(clippy::big_endian_bytes, reason = "the protocol is big-endian")]

use proptest::prelude::*;

use super::frame::{BINARY, CLOSE, CONTINUATION, Decoder, End, PING, PONG, TEXT, encode};
use super::handshake::{self, Rejection};
use super::{Frames, GOING_AWAY, NORMAL, fuzz_frames};

const FIN: u8 = 0x80;

/// A frame of a client.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&mut bytes, 0, payload);
    bytes[0] = first;
    bytes[1] |= 0x80;
    let mask = [0x37, 0xFA, 0x21, 0x3D];
    let header = bytes.len() - payload.len();
    bytes.splice(header..header, mask);
    let masked = bytes[header + 4..].iter_mut().zip(mask.into_iter().cycle());
    masked.for_each(|(byte, mask)| *byte ^= mask);
    bytes
}

/// Payload and end of `bytes`, which come `step` at a time.
fn decoded(bytes: &[u8], step: usize) -> (Vec<u8>, Option<End>) {
    let (mut decoder, mut said) = (Decoder::new(), Vec::new());
    for piece in bytes.chunks(step) {
        let mut piece = piece.to_vec();
        let taken = decoder.decode(&mut piece);
        said.extend_from_slice(&piece[..taken]);
    }
    (said, decoder.end)
}

/// Status with which `bytes` are refused.
fn refused(bytes: &[u8]) -> Option<u16> {
    let status = |end: Option<End>| match end {
        Some(End::Violation { status, .. }) => Some(status),
        _ => None,
    };
    let whole = status(decoded(bytes, bytes.len()).1);
    assert_eq!(status(decoded(bytes, 1).1), whole, "{bytes:?}");
    whole
}

#[test]
fn a_decoder_keeps_no_payload() {
    assert!(size_of::<Decoder>() < 512, "{}", size_of::<Decoder>());
    assert!(size_of::<Frames>() < 768);
}

#[test]
fn messages_are_a_stream_of_bytes_however_they_are_cut() {
    let text: Vec<u8> = (0..70_000_u32).map(|i| (i % 251) as u8).collect();
    let bytes = [
        frame(FIN | BINARY, b""),
        frame(FIN | BINARY, &text[..125]),
        frame(BINARY, &text[125..251]),
        frame(FIN | PING, b"between"),
        frame(CONTINUATION, b""),
        frame(FIN | PONG, &[7; 125]),
        frame(FIN | CONTINUATION, &text[251..]),
        frame(FIN | CLOSE, &[0x03, 0xE9, b'b', b'y', b'e']),
        frame(FIN | BINARY, b"behind the end"),
    ]
    .concat();
    for step in [1, 2, 3, 5, 126, 65_536, bytes.len()] {
        let (said, end) = decoded(&bytes, step);
        assert!(said == text, "{step} at a time");
        assert_eq!(end, Some(End::Closed(Some(1001))));
    }
}

#[test]
fn frames_that_break_the_protocol_are_refused() {
    let start = [0x82, 0x80 | 127];
    let long = |len: u64| [&start[..], &len.to_be_bytes(), &[0; 4]].concat();
    for (status, bytes) in [
        (1002, vec![0x82, 3, 1, 2, 3]),
        (1002, frame(FIN | 0x40 | BINARY, b"x")),
        (1002, frame(FIN | 0x10 | BINARY, b"x")),
        (1003, frame(FIN | TEXT, b"text")),
        (1003, frame(TEXT, b"text")),
        (1002, frame(FIN | 3, b"x")),
        (1002, frame(FIN | 11, b"x")),
        (1002, frame(FIN | CONTINUATION, b"x")),
        (1002, [frame(BINARY, b"x"), frame(FIN | BINARY, b"y")].concat()),
        (1002, frame(PING, b"in parts")),
        (1002, frame(FIN | PING, &[0; 126])),
        (1002, frame(FIN | CLOSE, &[3])),
        (1002, frame(FIN | CLOSE, &1005_u16.to_be_bytes())),
        (1002, frame(FIN | CLOSE, &999_u16.to_be_bytes())),
        (1002, frame(FIN | CLOSE, &5000_u16.to_be_bytes())),
        (1007, frame(FIN | CLOSE, &[0x03, 0xE8, 0xFF])),
        (1002, vec![0x82, 0x80 | 126, 0, 125, 0, 0, 0, 0]),
        (1002, long(0xFFFF)),
        (1009, long((1 << 30) + 1)),
        (1009, long(1 << 63)),
        (1009, long(u64::MAX)),
    ] {
        assert_eq!(refused(&bytes), Some(status), "{bytes:?}");
    }
    for bytes in [
        long(1 << 30),
        frame(FIN | BINARY, &[0; 126]),
        frame(FIN | PING, &[0; 125]),
        frame(FIN | CLOSE, &[]),
        frame(FIN | CLOSE, &4999_u16.to_be_bytes()),
    ] {
        assert_eq!(refused(&bytes), None, "{bytes:?}");
    }
}

/// All that is due to be sent, `step` bytes at a time.
fn sent(frames: &mut Frames, step: usize) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let unsent = frames.unsent();
        if unsent.is_empty() {
            return all;
        }
        let taken = unsent.len().min(step);
        all.extend_from_slice(&unsent[..taken]);
        frames.sent(taken);
    }
}

#[test]
fn pongs_lie_between_messages() {
    let mut frames = Frames::new();
    assert_eq!(frames.pack(b"rows"), 4);
    assert_eq!(frames.unsent(), [0x82, 4, b'r', b'o', b'w', b's']);
    frames.sent(3);
    for payload in [b"1", b"2"] {
        assert_eq!(frames.decode(&mut frame(FIN | PING, payload)), 0);
    }
    // The message that has begun, then the answer to the last ping.
    assert_eq!(sent(&mut frames, 2), [b'o', b'w', b's', 0x8A, 1, b'2']);
    assert_eq!(frames.pack(&[0; 70_000]), 64 << 10);
    assert_eq!(frames.unsent()[..10], [0x82, 127, 0, 0, 0, 0, 0, 1, 0, 0]);
    sent(&mut frames, 1000);
    assert_eq!(frames.pack(&[0; 300]), 300);
    assert_eq!(sent(&mut frames, 1000)[..4], [0x82, 126, 1, 44]);
}

#[test]
fn a_close_frame_is_the_last_one() {
    let mut frames = Frames::new();
    frames.close(GOING_AWAY);
    frames.close(NORMAL);
    frames.decode(&mut frame(FIN | PING, b"late"));
    assert_eq!(sent(&mut frames, 1), [0x88, 2, 0x03, 0xE9]);
    // The status of the client comes back; so does none.
    for payload in [&[0x0F, 0xA0, b'x'][..], &[]] {
        let mut frames = Frames::new();
        frames.decode(&mut frame(FIN | CLOSE, payload));
        assert!(frames.has_ended() && frames.is_closed_by_client());
        frames.close(NORMAL);
        let status = &payload[..payload.len().min(2)];
        assert_eq!(sent(&mut frames, 9), [&[0x88, status.len() as u8], status].concat());
    }
    // An error is named.
    let mut frames = Frames::new();
    frames.decode(&mut frame(FIN | TEXT, b"hello"));
    frames.close(NORMAL);
    let close = sent(&mut frames, 9);
    assert_eq!(close[2..4], 1003_u16.to_be_bytes());
    assert!(str::from_utf8(&close[4..]).unwrap().contains("binary"));
}

const ASKS: &str = "GET /bolt HTTP/1.1\r\nHost: localhost:7687\r\nUpgrade: WebSocket\r\n\
                    Connection: keep-alive, UPGRADE\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

fn answer(request: &str) -> Result<String, Rejection> {
    let parts = handshake::parse(request.as_bytes())?;
    let answer = handshake::accept(&parts, || "no WebSocket".to_owned())?;
    Ok(String::from_utf8(answer).unwrap())
}

#[test]
fn requests_are_accepted_as_the_standard_has_it() {
    // The example of RFC 6455, 1.3.
    let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n";
    let answered = answer(ASKS).unwrap();
    assert!(answered.starts_with("HTTP/1.1 101 ") && answered.contains(accept), "{answered}");
    let offers = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\
                  Sec-WebSocket-Protocol: bolt";
    let answered = answer(&ASKS.replace("Sec-WebSocket-Version: 13", offers)).unwrap();
    assert!(!answered.contains("Extensions") && !answered.contains("-Protocol"), "{answered}");
    for (from, to, status) in [
        ("GET", "POST", 405),
        ("HTTP/1.1", "HTTP/1.0", 400),
        ("HTTP/1.1", "HTTP/2.0", 400),
        ("/bolt", "/a b", 400),
        ("Upgrade: WebSocket\r\n", "", 426),
        ("Upgrade: WebSocket", "Upgrade: h2c", 426),
        ("keep-alive, UPGRADE", "keep-alive", 400),
        ("Version: 13", "Version: 8", 426),
        ("Version: 13", "Version: 13, 8", 426),
        ("Version: 13\r\n", "Version: 13\r\nSec-WebSocket-Version: 13\r\n", 426),
        ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", "", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25j", 400),
        ("dGhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZTEyMzQ=", 400),
        ("Host", "Content-Length: 2\r\nHost", 400),
        ("Host", "Transfer-Encoding: chunked\r\nHost", 400),
        ("\r\n\r\n", "\r\n\r\n\u{1}", 400),
        ("Host", "no header\r\nHost", 400),
        ("Host", &format!("{}Host", "A: b\r\n".repeat(64)), 431),
    ] {
        let asks = ASKS.replacen(from, to, 1);
        let rejection = answer(&asks).unwrap_err();
        assert_eq!(rejection.status.as_u16(), status, "{asks}: {}", rejection.message);
    }
    let version = answer(&ASKS.replace("Version: 13", "Version: 8")).unwrap_err().answer();
    assert!(String::from_utf8(version).unwrap().contains("sec-websocket-version: 13\r\n"));
}

proptest! {
    #[test]
    fn payloads_come_out_as_they_went_in(
        messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..400), 0..8),
        parts in 1_usize..5,
        step in 1_usize..200,
        pings in any::<bool>(),
    ) {
        let mut bytes = Vec::new();
        for message in &messages {
            let size = message.len().div_ceil(parts).max(1);
            let mut pieces = message.chunks(size).peekable();
            let mut opcode = BINARY;
            while let Some(piece) = pieces.next() {
                let fin = if pieces.peek().is_none() { FIN } else { 0 };
                bytes.extend(frame(fin | opcode, piece));
                opcode = CONTINUATION;
                if pings {
                    bytes.extend(frame(FIN | PING, b"ping"));
                }
            }
        }
        let (said, end) = decoded(&bytes, step);
        prop_assert_eq!(end, None);
        prop_assert_eq!(said, messages.concat());
    }

    #[test]
    fn any_bytes_say_the_same_however_they_are_cut(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        fuzz_frames(&bytes);
        // Most random bytes end at once: these begin with frames that are right.
        fuzz_frames(&[frame(BINARY, &bytes), frame(FIN | PING, b"x"), bytes].concat());
    }
}
