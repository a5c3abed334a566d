//! What is committed, as it comes: a JSON object per line.
//!
//! ```text
//!  {"commit":7,"time":"2026-08-21T10:00:00.123Z","changes":[{"event":"nodeCreated",..},..]}
//!  {"position":7}                                              nothing came for a while
//!  {"errors":[..]}                                             the last line, if it cannot go on
//! ```
//!
//! Each commit is one line, in commit order, once, after it is on disk and visible. A consumer that
//! keeps the last `commit` or `position` goes on with `?from=` after a crash of either side.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;
use telar_db::value::LocalDateTime;
use telar_db::{ChangeNames, ChangeStream, CommitChanges, CommitTs, Error, Value};

use super::json::{Notation, Writer};
use super::refusal::{Refusal, errors};
use super::reply::{Cancelled, Ends, Gone, Reply, reply};
use super::{App, input, media};
use crate::dbms::{Client, Database, Failure};

/// How long a look for commits may take before it looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(200);

/// The query of the address.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Parameters {
    /// The commit after which to begin; none: now.
    from: Option<u64>,
    /// Whether to wait for more where there is nothing more.
    #[serde(default = "yes")]
    follow: bool,
}

const fn yes() -> bool {
    true
}

/// Why a stream cannot begin or go on.
fn refusal(error: &Error) -> Refusal {
    let (status, code) = match error {
        Error::NotRetained { .. } => (StatusCode::GONE, "Neo.ClientError.Request.Invalid"),
        _ => (StatusCode::INTERNAL_SERVER_ERROR, "Neo.DatabaseError.General.UnknownError"),
    };
    Refusal::new(status, code, error.to_string())
}

/// When a commit was made, in UTC.
fn time(ms: u64) -> Option<String> {
    let (seconds, nanos) = (i64::try_from(ms / 1000).ok()?, (ms % 1000) as i64 * 1_000_000);
    let at = LocalDateTime::from_epoch(seconds, nanos).ok()?;
    Some(format!("{at}Z"))
}

/// A stream that is written.
struct Following<'d> {
    app: App,
    /// Who follows, for what: asked again and again.
    client: Client,
    database: &'d Arc<Database>,
    stream: ChangeStream<'d>,
    engine: &'d telar_db::Database,
    names: ChangeNames,
    notation: Notation,
    follow: bool,
    cancelled: Cancelled,
    reply: Reply,
}

impl Following<'_> {
    fn wanted(&self) -> bool {
        // ORDERING: relaxed, as nothing else is read because of the flag.
        !self.app.is_closing() && !self.cancelled.load(Ordering::Relaxed)
    }

    /// Whether whoever follows may still read this database, which may be another one by now.
    fn check_allowed(&self) -> Result<(), Failure> {
        let found = self.client.readable(self.database.name())?;
        if Arc::ptr_eq(&found, self.database) {
            return Ok(());
        }
        let message = format!("the database '{}' was dropped", self.database.name());
        Err(Failure::new("Neo.ClientError.Database.DatabaseNotFound", message))
    }

    fn say(&mut self, line: &serde_json::Value) -> Result<(), Gone> {
        self.reply.buffer().extend_from_slice(format!("{line}\n").as_bytes());
        self.reply.send()
    }

    /// A commit as a line.
    fn write(&mut self, commit: &CommitChanges, described: &[Value]) {
        let out = self.reply.buffer();
        out.extend_from_slice(format!("{{\"commit\":{}", commit.ts.get()).as_bytes());
        if let Some(time) = commit.time_ms.and_then(time) {
            out.extend_from_slice(format!(",\"time\":\"{time}\"").as_bytes());
        }
        out.extend_from_slice(b",\"changes\":[");
        let writer = Writer { notation: self.notation, rows: None, begin: out.len() };
        for (at, change) in described.iter().enumerate() {
            if at > 0 {
                out.push(b',');
            }
            // No statement runs that could be ended here.
            _ = writer.value(out, change);
        }
        out.extend_from_slice(b"]}\n");
    }

    /// Writes commits until nobody wants more.
    fn run(mut self) {
        if self.lines().is_ok() {
            self.reply.end(StatusCode::OK);
        }
    }

    fn lines(&mut self) -> Result<(), Gone> {
        let mut said = Instant::now();
        while self.wanted() {
            // What is there goes out before it waits for more.
            let next = match self.stream.next_within(Duration::ZERO) {
                Ok(None) => {
                    self.reply.send()?;
                    if !self.follow {
                        return Ok(());
                    }
                    self.stream.next_within(LOOK)
                }
                next => next,
            };
            // Asked after each wait, during which somebody may have been stopped.
            if let Err(failure) = self.check_allowed() {
                return self.say(&json!({ "errors": errors(&failure) }));
            }
            match next {
                Ok(Some(commit)) => match self.names.describe_all(&commit, self.engine) {
                    Ok(described) => {
                        self.write(&commit, &described);
                        self.reply.send_full()?;
                        said = Instant::now();
                    }
                    Err(unnamed) => {
                        let code = "Neo.DatabaseError.General.UnknownError";
                        let failure = Failure::new(code, unnamed.to_string());
                        return self.say(&json!({ "errors": errors(&failure) }));
                    }
                },
                Ok(None) if said.elapsed() >= self.app.settings.heartbeat => {
                    said = Instant::now();
                    self.say(&json!({ "position": self.stream.position().get() }))?;
                }
                Ok(None) => {}
                Err(error) => {
                    let failure = refusal(&error).failure;
                    return self.say(&json!({ "errors": errors(&failure) }));
                }
            }
        }
        Ok(())
    }
}

/// `GET /db/{name}/changes?from=7&follow=true`
pub(crate) async fn follow(
    State(app): State<App>,
    Path(name): Path<String>,
    query: Result<Query<Parameters>, QueryRejection>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    let Query(parameters) = query.map_err(|e| Refusal::invalid(e.body_text()))?;
    let (media, notation) = media::lines(&parts.headers).ok_or_else(|| {
        Refusal::request(StatusCode::NOT_ACCEPTABLE, "changes are application/jsonl")
    })?;
    let place = app.place(&client)?;
    let database = client.readable(&name)?;
    let ends = Ends::default();
    let (reply, pending) = reply(media, StatusCode::OK, app.settings.stall_timeout, ends.clone());
    let (begun, begun_of) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let engine = database.engine();
        let from = parameters.from.map_or_else(|| engine.published(), CommitTs::from_raw);
        let stream = match engine.changes_since(from) {
            Ok(stream) => stream,
            // Who asked may have gone.
            Err(error) => return drop(begun.send(Some(refusal(&error)))),
        };
        let _ = begun.send(None);
        let (names, follow) = (ChangeNames::of(engine), parameters.follow);
        let mut following = Following {
            app,
            client,
            database: &database,
            stream,
            engine,
            names,
            notation,
            follow,
            cancelled: ends.cancelled,
            reply,
        };
        // The client sees at once that it is connected, and where it is.
        if follow && following.say(&json!({ "position": from.get() })).is_err() {
            return;
        }
        following.run();
        drop(place);
    });
    let lost = || Refusal::from(Failure::new("Neo.DatabaseError.General.UnknownError", "lost"));
    match begun_of.await {
        Ok(None) => pending.response().await.ok_or_else(lost),
        Ok(Some(refusal)) => Err(refusal),
        Err(_) => Err(lost()),
    }
}
