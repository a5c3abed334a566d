//! Transactions of several requests.
//!
//! ```text
//!  begin ──► place, id ──► Turn: runs on a thread ──► Open: idle on the list, no thread
//!                           ▲                          │   │
//!                           └── a request with its id ─┘   └─ sweep: terminated, too late, unused
//! ```
//!
//! - Only who began it can use it, one request at a time; for others it is not there.
//! - It is off the list before the answer that ends it is sent.
//! - Of those that were ended from outside it is remembered why, for whoever asks for them next:
//!   the last so many (`ended`).
//! - A client that hangs up while a statement of it runs ends the statement and the transaction.
//!
//! `open` is the list and the states of an entry, `turn` what a request does with it.

mod ended;
mod open;
mod turn;

use std::sync::Arc;

use axum::extract::{Path, Request as HttpRequest, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use telar_db::heap;

use self::open::{Busy, Deadline, Open, end_if_over};
pub(crate) use self::open::{Transactions, sweep};
use self::turn::{Job, Turn};
use super::App;
use super::input::{self, Caller};
use super::output::Output;
use super::refusal::Refusal;
use super::reply::{Ends, Pending, reply};
use crate::dbms::Failure;

/// A name that cannot be guessed.
fn new_id() -> Result<String, Refusal> {
    let mut bytes = [0_u8; 12];
    getrandom::fill(&mut bytes).map_err(|_| Refusal::too_many("no randomness for a new id"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What a request asks of its transaction, with the answer to come.
fn job(
    app: &App,
    caller: &Caller,
    request: super::Request,
    ends: &Ends,
    commit: bool,
) -> (Job, Pending) {
    let (reply, pending) =
        reply(caller.media.name, StatusCode::ACCEPTED, app.settings.stall_timeout, ends.clone());
    let job = Job {
        text: request.text().map(str::to_owned),
        parameters: request.parameters,
        include_counters: request.include_counters,
        commit,
        output: Output::new(caller.media.format, reply),
    };
    (job, pending)
}

/// `POST /db/{name}/query/v2/tx`
pub(crate) async fn begin(
    State(app): State<App>,
    Path(name): Path<String>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    let mut request = input::read(&app, request).await?;
    if app.is_closing() {
        return Err(Refusal::closing());
    }
    let ends = Ends::default();
    let options = input::options(name.clone(), &mut request, &ends);
    input::await_bookmarks(&app, &caller.client, &options).await?;
    let place = app.transactions.place(caller.client.standing())?;
    let (job, pending) = job(&app, &caller, request, &ends, false);
    let id = new_id()?;
    let deadline = Deadline::of(app.dbms.time_limit(options.timeout));
    let Caller { client, owner, .. } = caller;
    let open =
        Arc::new(Open::new(id.clone(), (name, options.access), owner, ends, deadline, place));
    if !app.transactions.add(&open) {
        return Err(Refusal::closing());
    }
    let turn = Turn::first(app, open);
    tokio::task::spawn_blocking(move || {
        heap::mark();
        turn.begin(client, &options, job);
    });
    pending.response().await.ok_or_else(|| Refusal::no_transaction(&id))
}

/// Hands a request to an open transaction.
async fn ask(
    app: App,
    (name, id): (String, String),
    caller: Caller,
    request: HttpRequest,
    commit: bool,
) -> Result<Response, Refusal> {
    let request = input::read(&app, request).await?;
    let open = app.transactions.find(&name, &caller.owner, &id)?;
    end_if_over(&app, &open);
    let held = open.take().map_err(|busy| match busy {
        Busy::Running => {
            let message = "another request to this transaction is running".to_owned();
            let code = "Neo.ClientError.Transaction.TransactionAccessedConcurrently";
            Failure::new(code, message).into()
        }
        Busy::Gone => app.transactions.gone(&open),
    })?;
    let turn = Turn::next(app.clone(), Arc::clone(&open), held);
    let (job, pending) = job(&app, &caller, request, &open.ends, commit);
    tokio::task::spawn_blocking(move || {
        heap::mark();
        turn.run(job);
    });
    pending.response().await.ok_or_else(|| app.transactions.gone(&open))
}

/// `POST /db/{name}/query/v2/tx/{id}`
pub(crate) async fn go_on(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    ask(app, place, caller, request, false).await
}

/// `POST /db/{name}/query/v2/tx/{id}/commit`
pub(crate) async fn commit(
    State(app): State<App>,
    Path(place): Path<(String, String)>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Response, Refusal> {
    ask(app, place, caller, request, true).await
}

/// `DELETE /db/{name}/query/v2/tx/{id}`: ends a statement that runs, too.
pub(crate) async fn roll_back(
    State(app): State<App>,
    Path((name, id)): Path<(String, String)>,
    caller: Caller,
) -> Result<Response, Refusal> {
    let open = app.transactions.find(&name, &caller.owner, &id)?;
    match open.take() {
        Ok(held) => {
            let turn = Turn::next(app, Arc::clone(&open), held);
            // What it has written may take a while to be undone.
            tokio::task::spawn_blocking(move || turn.end(None));
        }
        Err(Busy::Running) => open.stop(),
        Err(Busy::Gone) => {}
    }
    open.ended().await;
    Ok(([(CONTENT_TYPE, "application/json")], "{}").into_response())
}
