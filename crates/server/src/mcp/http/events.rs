//! Server-sent events: messages on their way to a client, as the body of an answer.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::Frame;
use serde_json::Value as Json;
use tokio::sync::mpsc;

use super::endpoint::HangUp;

/// Sender of messages. A client that has gone is not reported.
#[derive(Debug, Clone)]
pub(super) struct Events(mpsc::UnboundedSender<Bytes>);

/// Body of the messages: it ends when all [`Events`] are dropped.
struct Sent {
    messages: mpsc::UnboundedReceiver<Bytes>,
    _hang_up: Option<HangUp>,
}

/// A place for messages, and the body that they become, which drops `hang_up` at its end.
pub(super) fn events(hang_up: Option<HangUp>) -> (Events, Body) {
    let (sender, messages) = mpsc::unbounded_channel();
    (Events(sender), Body::new(Sent { messages, _hang_up: hang_up }))
}

impl Events {
    pub(super) fn send(&self, message: &Json) {
        // JSON in one line has no line breaks.
        let event = format!("event: message\ndata: {message}\n\n");
        let _ = self.0.send(event.into());
    }
}

impl http_body::Body for Sent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.messages.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
    }
}
