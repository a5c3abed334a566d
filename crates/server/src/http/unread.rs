//! The rest of a request's body, when the request has its answer.
//!
//! A request is refused before its body is read. Many clients send the body by itself, so that it
//! may come later than the answer; a connection that is closed by then answers it with a reset, and
//! the client might never see why it was refused. So the answer waits for the rest of the body, as
//! far as it is short and comes soon, and the connection can be used on.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Error;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::header::EXPECT;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::time::timeout;

/// Time that an answer waits for the rest of a body.
const MOMENT: Duration = Duration::from_secs(1);
/// Most bytes that are read for that.
const BYTES_MAX: usize = 1 << 20;

/// A body that is read by who answers, and after that by nobody.
#[derive(Clone)]
struct Shared(Arc<Mutex<Body>>);

impl HttpBody for Shared {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut *self.0.lock()).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.0.lock().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.lock().size_hint()
    }
}

/// Answers a request when its body has come, if that is soon.
pub(crate) async fn wait(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    // Who asks first whether to send it learns from the answer that there is no need to.
    if body.is_end_stream() || parts.headers.contains_key(EXPECT) {
        return next.run(Request::from_parts(parts, body)).await;
    }
    let mut body = Shared(Arc::new(Mutex::new(body)));
    let response = next.run(Request::from_parts(parts, Body::new(body.clone()))).await;
    let rest = async {
        let mut read = 0;
        while read < BYTES_MAX
            && !body.is_end_stream()
            && let Some(Ok(frame)) = body.frame().await
        {
            read += frame.data_ref().map_or(0, Bytes::len);
        }
    };
    // Whatever has not come by then is not waited for.
    let _ = timeout(MOMENT, rest).await;
    response
}
