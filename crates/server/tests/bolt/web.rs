//! Client of WebSocket: carries the bytes of `Client` in frames of any cut.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use telar_server::server::Server;

use crate::client::{Client, PATIENCE};

/// First bytes of frames.
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const PING: u8 = 0x89;
pub(crate) const CLOSE: u8 = 0x88;
const PONG: u8 = 0x8A;
const MASK: [u8; 4] = [0x12, 0x9A, 0xFE, 0x01];

/// Rule by which the bytes of a client are cut into frames.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cut {
    /// Bytes of a frame.
    pub(crate) frame_bytes: usize,
    /// Frames of a message.
    pub(crate) frames: usize,
    /// True if a ping follows each frame.
    pub(crate) pings: bool,
}

pub(crate) const WHOLE: Cut = Cut { frame_bytes: usize::MAX, frames: 1, pings: false };

/// A connection that is one of WebSocket.
pub(crate) struct Web<S = TcpStream> {
    pub(crate) stream: S,
    cut: Cut,
    /// Payload that has come and is not read.
    payload: Vec<u8>,
    /// Payloads of pongs.
    pub(crate) pongs: Vec<Vec<u8>>,
    /// Status and reason of the close frame of the server.
    pub(crate) closed: Option<(u16, String)>,
}

/// A frame of a client: its first byte and its payload.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        len @ ..126 => bytes.push(0x80 | len as u8),
        len @ ..0x1_0000 => bytes.extend([0xFE, (len >> 8) as u8, len as u8]),
        len => {
            bytes.push(0xFF);
            bytes.extend((0..8).rev().map(|at| ((len as u64) >> (8 * at)) as u8));
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.into_iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// A request to upgrade, with these headers instead of `Host: localhost`.
pub(crate) fn request(headers: &str) -> String {
    format!(
        "GET / HTTP/1.1\r\n{headers}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// Reads the head of an answer, byte by byte, as frames may follow.
pub(crate) fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8(head).unwrap())
}

impl<S: Read + Write> Web<S> {
    /// Upgrades a connection.
    pub(crate) fn over(mut stream: S, cut: Cut) -> Self {
        stream.write_all(request("Host: localhost").as_bytes()).unwrap();
        stream.flush().unwrap();
        let head = read_head(&mut stream).unwrap();
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        Self { stream, cut, payload: Vec::new(), pongs: Vec::new(), closed: None }
    }

    /// Sends bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
        self.stream.flush().unwrap();
    }

    /// Reads a frame of the server; false at the end.
    fn receive_frame(&mut self) -> io::Result<bool> {
        let mut head = [0; 2];
        if self.closed.is_some() || self.stream.read(&mut head[..1])? == 0 {
            return Ok(false);
        }
        self.stream.read_exact(&mut head[1..])?;
        let extended = match head[1] {
            126 => 2,
            127 => 8,
            _ => 0,
        };
        let mut length = vec![0; extended];
        self.stream.read_exact(&mut length)?;
        let length = match extended {
            0 => usize::from(head[1]),
            _ => length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
        };
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        match (head[0], &payload[..]) {
            (BINARY, _) => self.payload.extend(payload),
            (PONG, _) => self.pongs.push(payload),
            (CLOSE, []) => self.closed = Some((1005, String::new())),
            (CLOSE, [high, low, reason @ ..]) => {
                let status = u16::from(*high) << 8 | u16::from(*low);
                self.closed = Some((status, String::from_utf8(reason.to_vec()).unwrap()));
            }
            (first, _) => panic!("a frame that begins with {first:02X}"),
        }
        Ok(true)
    }

    /// Reads up to the next pong.
    pub(crate) fn pong(&mut self) -> Vec<u8> {
        while self.pongs.is_empty() {
            assert!(self.receive_frame().unwrap(), "the server hung up");
        }
        self.pongs.remove(0)
    }

    /// Reads to the end: the status of the close frame, behind which nothing comes.
    #[track_caller]
    pub(crate) fn status(&mut self) -> Option<u16> {
        while self.receive_frame().unwrap_or(false) {}
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest);
        assert!(rest.is_empty(), "behind the close frame: {rest:?}");
        self.closed.as_ref().map(|(status, _)| *status)
    }
}

impl<S: Read + Write> Read for Web<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.payload.is_empty() {
            if !self.receive_frame()? {
                return Ok(0);
            }
        }
        let taken = self.payload.len().min(into.len());
        into[..taken].copy_from_slice(&self.payload[..taken]);
        self.payload.drain(..taken);
        Ok(taken)
    }
}

impl<S: Read + Write> Write for Web<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Cut { frame_bytes, frames, pings } = self.cut;
        let pieces: Vec<_> = bytes.chunks(frame_bytes.min(bytes.len().max(1))).collect();
        let mut out = Vec::new();
        for (at, piece) in pieces.iter().enumerate() {
            let is_first = at % frames == 0;
            let is_last = at % frames == frames - 1 || at == pieces.len() - 1;
            let first = u8::from(is_last) << 7 | u8::from(is_first) << 1;
            out.extend(frame(first, piece));
            if pings {
                out.extend(frame(PING, &[at as u8]));
            }
        }
        self.stream.write_all(&out)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Client<Web> {
    /// Upgraded, and nothing said.
    pub(crate) fn silent_web(address: SocketAddr, cut: Cut) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: Web::over(stream, cut) }
    }

    /// Logged in with the newest version of 5.
    pub(crate) fn web(server: &Server) -> Self {
        Self::web_cut(server, WHOLE)
    }

    pub(crate) fn web_cut(server: &Server, cut: Cut) -> Self {
        let mut client = Self::silent_web(server.bolt_address(), cut);
        client.shake_hands([0, 0, 8, 5]);
        client.log_in(true);
        client
    }
}
