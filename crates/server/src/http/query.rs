//! A statement by itself.

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::response::Response;
use telar_db::{ValueMap, heap};

use super::App;
use super::input::{self, Caller};
use super::output::Output;
use super::refusal::Refusal;
use super::reply::{Ends, reply};
use super::summary::Ending;
use crate::dbms::{Client, Options};

/// A statement that is ready to run.
struct Statement {
    client: Client,
    options: Options,
    text: String,
    parameters: ValueMap,
    include_counters: bool,
}

impl Statement {
    fn run(self, mut output: Output) {
        let Self { client, options, text, parameters, include_counters } = self;
        match client.run(&options, &text, &parameters, &mut output) {
            Ok(done) => output.end(&Ending {
                summary: Some(&done.summary),
                include_counters,
                bookmark: done.bookmark.map(|bookmark| bookmark.to_string()),
                transaction: None,
            }),
            Err(failure) => output.fail(&failure),
        }
    }
}

/// `POST /db/{name}/query/v2`
pub(crate) async fn run(
    State(app): State<App>,
    Path(name): Path<String>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    let Caller { client, media, .. } = caller;
    let mut request = input::read(&app, request).await?;
    let missing = || Refusal::invalid("statement: expected a string, which says what to run");
    let text = request.text().ok_or_else(missing)?.to_owned();
    let ends = Ends::default();
    let options = input::options(name, &mut request, &ends);
    input::await_bookmarks(&app, &client, &options).await?;
    let place = app.place(&client)?;
    let (reply, pending) =
        reply(media.name, StatusCode::ACCEPTED, app.settings.stall_timeout, ends);
    let output = Output::new(media.format, reply);
    let (parameters, include_counters) = (request.parameters, request.include_counters);
    let statement = Statement { client, options, text, parameters, include_counters };
    tokio::task::spawn_blocking(move || {
        heap::mark();
        statement.run(output);
        drop(place);
    });
    pending.response().await.ok_or_else(|| {
        let code = "Neo.DatabaseError.General.UnknownError";
        let message = "the statement ended without an answer";
        Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, code, message)
    })
}
