//! The way of a result from the thread that makes it to the connection that sends it.
//!
//! ```text
//!  thread of the statement                           tokio
//!  Reply: bytes ──► full? ──► channel of one chunk ──► Stream: body of the answer
//!             └──► ended before that: one whole answer, with a status and a length
//! ```
//!
//! - A chunk waits in the channel and one is being made: that is all a slow reader holds.
//! - Once the first chunk is gone the status is; errors from then on are part of the body.
//! - A client that goes away drops its side, which sets the flag that ends the statement, whatever
//!   it is at.
//! - A body that was not ended, because the thread died, is an error of the connection, so that
//!   nobody takes it for complete.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::{SendTimeoutError, TrySendError};
use tokio::sync::{mpsc, oneshot};

use super::refusal::add_headers;
use crate::net::TICK;

/// Bytes that are gathered before they are sent.
const CHUNK_BYTES: usize = 64 << 10;

/// Set when nobody wants the result any more.
pub(crate) type Cancelled = Arc<AtomicBool>;

/// What ends a statement or transaction from outside.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ends {
    pub(crate) cancelled: Cancelled,
    /// Set when a command has terminated it.
    pub(crate) terminated: Arc<AtomicBool>,
}

impl Ends {
    /// Whether a command has terminated it.
    pub(crate) fn is_terminated(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.terminated.load(Ordering::Relaxed)
    }
}

/// The side of the statement.
#[derive(Debug)]
pub(crate) struct Reply {
    head: Option<oneshot::Sender<Head>>,
    chunks: mpsc::Sender<Part>,
    buffer: Vec<u8>,
    media: &'static str,
    /// How long a reader may take for a chunk.
    stall: Duration,
    runtime: Handle,
    ends: Ends,
}

#[derive(Debug)]
enum Head {
    Whole(StatusCode, &'static str, Vec<u8>),
    Stream,
}

#[derive(Debug)]
enum Part {
    Chunk(Vec<u8>),
    End,
}

/// The reader has gone, or does not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gone;

/// The side of the connection, before anything has come.
#[derive(Debug)]
pub(crate) struct Pending {
    head: oneshot::Receiver<Head>,
    chunks: mpsc::Receiver<Part>,
    media: &'static str,
    streamed: StatusCode,
    guard: Guard,
}

/// Ends the statement when it is dropped before the statement has ended.
#[derive(Debug)]
struct Guard(Option<Cancelled>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(cancelled) = &self.0 {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            cancelled.store(true, Ordering::Relaxed);
        }
    }
}

/// Both sides of an answer in `media`; `ends` is what the statement looks at, and `streamed` the
/// status of an answer that is sent before its end is known.
pub(crate) fn reply(
    media: &'static str,
    streamed: StatusCode,
    stall: Duration,
    ends: Ends,
) -> (Reply, Pending) {
    let (head, head_of) = oneshot::channel();
    let (chunks, chunks_of) = mpsc::channel(1);
    let guard = Guard(Some(Arc::clone(&ends.cancelled)));
    let runtime = Handle::current();
    let (head, buffer) = (Some(head), Vec::new());
    let reply = Reply { head, chunks, buffer, media, stall, runtime, ends };
    (reply, Pending { head: head_of, chunks: chunks_of, media, streamed, guard })
}

impl Reply {
    /// Where to write.
    pub(crate) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.buffer
    }

    /// Whether nothing has been sent: the status can still be chosen.
    pub(crate) fn is_unsent(&self) -> bool {
        self.head.is_some()
    }

    /// Forgets what was written and not sent.
    pub(crate) fn clear(&mut self) {
        self.buffer.clear();
    }

    /// Says that the answer is in another format than was asked for; only of one that is unsent.
    #[cfg(feature = "arrow")]
    pub(crate) fn set_media(&mut self, media: &'static str) {
        self.media = media;
    }

    /// Sends what was written if it is enough for a chunk.
    pub(crate) fn send_full(&mut self) -> Result<(), Gone> {
        if self.buffer.len() < CHUNK_BYTES { Ok(()) } else { self.send() }
    }

    /// Sends what was written; waits for the reader.
    pub(crate) fn send(&mut self) -> Result<(), Gone> {
        if let Some(head) = self.head.take() {
            head.send(Head::Stream).map_err(|_| Gone)?;
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        let room = Vec::with_capacity(self.buffer.capacity());
        let chunk = Part::Chunk(std::mem::replace(&mut self.buffer, room));
        self.pass(chunk)
    }

    fn pass(&mut self, part: Part) -> Result<(), Gone> {
        let mut part = match self.chunks.try_send(part) {
            Ok(()) => return Ok(()),
            Err(TrySendError::Closed(_)) => return Err(Gone),
            Err(TrySendError::Full(part)) => part,
        };
        let begun = Instant::now();
        while !self.ends.is_terminated() && begun.elapsed() < self.stall {
            let tick = TICK.min(self.stall);
            match self.runtime.block_on(self.chunks.send_timeout(part, tick)) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Timeout(unsent)) => part = unsent,
                Err(SendTimeoutError::Closed(_)) => break,
            }
        }
        // ORDERING: relaxed, as nothing else is read because of the flag.
        self.ends.cancelled.store(true, Ordering::Relaxed);
        Err(Gone)
    }

    /// Ends the answer. `status` counts if nothing was sent yet.
    pub(crate) fn end(mut self, status: StatusCode) {
        match self.head.take() {
            // A reader that has gone needs no answer.
            Some(head) => {
                drop(head.send(Head::Whole(status, self.media, std::mem::take(&mut self.buffer))));
            }
            None => drop(self.send().and_then(|()| self.pass(Part::End))),
        }
    }
}

impl Pending {
    /// The answer, as soon as its status is known; none if the statement is given up without one.
    pub(crate) async fn response(self) -> Option<Response> {
        let Self { head, chunks, media, streamed, mut guard } = self;
        let head = head.await.ok()?;
        let (status, media, body) = match head {
            Head::Whole(status, media, bytes) => {
                guard.0 = None;
                (status, media, Body::from(bytes))
            }
            Head::Stream => (streamed, media, Body::new(Stream { chunks, ended: false, guard })),
        };
        let mut response = (status, body).into_response();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media));
        add_headers(&mut response);
        Some(response)
    }
}

/// A body as it comes.
struct Stream {
    chunks: mpsc::Receiver<Part>,
    ended: bool,
    guard: Guard,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.chunks.poll_recv(cx).map(|part| match part {
            Some(Part::Chunk(bytes)) => Some(Ok(Frame::data(Bytes::from(bytes)))),
            Some(Part::End) => {
                self.ended = true;
                self.guard.0 = None;
                None
            }
            None => {
                self.ended = true;
                Some(Err(io::Error::other("the statement ended without an end")))
            }
        })
    }
}
