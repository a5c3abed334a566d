//! Databases for servers that follow this one, as [`crate::replication`] reads them: administrators
//! may ask; nodes of a cluster ask with its secret.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use telar_db::{CommitTs, Error};
use tokio::time::sleep;

use super::refusal::Refusal;
use super::reply::{Ends, Reply, reply};
use super::{App, input};
use crate::dbms::{Client, Database, Failure};
use crate::replication::image::Image;
use crate::replication::list::{List, Listed};
use crate::replication::log::{self, Answer};

/// Answers that are streams of frames.
const BYTES: &str = "application/octet-stream";

/// Shortest and longest pause between two looks for a commit.
const PAUSE_MIN: Duration = Duration::from_millis(1);
const PAUSE_MAX: Duration = Duration::from_millis(20);

/// Reason why a database cannot be copied.
fn refusal(error: &Error) -> Refusal {
    match error {
        Error::Backup { .. } => Refusal::request(StatusCode::CONFLICT, error.to_string()),
        // It has less commits than whoever asks.
        Error::NotRetained { asked, newest, .. } if asked > newest => {
            Refusal::request(StatusCode::CONFLICT, error.to_string())
        }
        Error::NotRetained { .. } => Refusal::request(StatusCode::GONE, error.to_string()),
        _ => {
            let code = "Neo.DatabaseError.General.UnknownError";
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, code, error.to_string())
        }
    }
}

fn lost() -> Refusal {
    Failure::new("Neo.DatabaseError.General.UnknownError", "the thread of the answer died").into()
}

/// `GET /databases`
pub(crate) async fn databases(State(app): State<App>, parts: Parts) -> Result<Json<List>, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    client.check_admin()?;
    let listed = app.dbms.listed().into_iter().enumerate().map(|(at, (name, database))| {
        let engine = database.as_ref().map(|database| database.engine());
        let identity = engine.and_then(|engine| engine.identity()).map(|id| id.to_string());
        Listed {
            name: name.to_string(),
            default: at == 0,
            online: engine.is_some(),
            identity,
            commit: engine.map(|engine| engine.published().get()),
        }
    });
    Ok(Json(List { databases: listed.collect() }))
}

/// A reply as a place to write to.
struct Out<'r>(&'r mut Reply);

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.buffer().extend_from_slice(bytes);
        let sent = self.0.send_full().map(|()| bytes.len());
        sent.map_err(|_| io::Error::other("the client has gone"))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Name that a follower has given itself.
#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "String")]
struct Follower(String);

impl TryFrom<String> for Follower {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        match (1..=64).contains(&name.len()) && name.bytes().all(plain) {
            true => Ok(Self(name)),
            false => Err("a follower has 1 to 64 letters, digits, dots, dashes and underscores"),
        }
    }
}

/// The query of the address of an image.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfImage {
    /// Name of the follower, if the log after the image is to be kept for it.
    follower: Option<Follower>,
}

/// `GET /db/{name}/image?follower=a1b2`
pub(crate) async fn image(
    State(app): State<App>,
    Path(name): Path<String>,
    query: Result<Query<OfImage>, QueryRejection>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    client.check_admin()?;
    let Query(query) = query.map_err(|e| Refusal::invalid(e.body_text()))?;
    let database = client.readable(&name)?;
    let place = app.place(&client)?;
    if let Some(Follower(follower)) = &query.follower {
        // Before it is made: what follows it is kept from here on.
        app.dbms.keep_log_for(follower, &database, database.engine().published());
    }
    client.audit_image(database.name());
    send(&app, database, place).await
}

/// `GET /cluster/images/{folder}`
pub(crate) async fn image_for_node(
    State(app): State<App>,
    Path(folder): Path<String>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let database = input::authenticate_node(&app, &parts)?.copy_in(&folder)?;
    send(&app, database, ()).await
}

/// Sends a database; `place` is given back at the end.
async fn send(
    app: &App,
    database: Arc<Database>,
    place: impl Send + 'static,
) -> Result<Response, Refusal> {
    let (mut reply, pending) =
        reply(BYTES, StatusCode::OK, app.settings.stall_timeout, Ends::default());
    let (taken, taken_of) = tokio::sync::oneshot::channel();
    tokio::task::spawn_blocking(move || {
        let image = match Image::take(database.engine()) {
            Ok(image) => image,
            // Who asked may have gone.
            Err(error) => return drop(taken.send(Err(refusal(&error)))),
        };
        let (name, commit) = (Arc::clone(database.name()), image.commit.get());
        // Its files are open: nobody waits for the transfer who would open the database anew.
        drop(database);
        // Nobody needs it if that one has gone.
        if taken.send(Ok(())).is_err() {
            return;
        }
        match image.write(Out(&mut reply)) {
            Ok(()) => {
                reply.end(StatusCode::OK);
                tracing::info!(database = %name, commit, "an image was sent");
            }
            Err(error) => tracing::warn!(database = %name, %error, "an image was not sent"),
        }
        drop(place);
    });
    taken_of.await.map_err(|_| lost())??;
    pending.response().await.ok_or_else(lost)
}

/// The query of the address of a log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OfLog {
    /// The commit after which to begin.
    after: u64,
    /// Identity that the database must have.
    identity: Option<String>,
    /// Seconds to wait for a commit.
    #[serde(default)]
    wait: u64,
    /// Name of the follower, if the log is to be kept for it.
    follower: Option<Follower>,
}

/// Refuses a database of another identity than was asked for.
fn check_identity(database: &Database, wanted: Option<&str>) -> Result<(), Refusal> {
    let identity = database.engine().identity().map(|identity| identity.to_string());
    if wanted.is_none_or(|wanted| identity.as_deref() == Some(wanted)) {
        return Ok(());
    }
    let message = format!(
        "the database '{}' is another one than was asked for: it was made anew, or restored",
        database.name()
    );
    Err(Refusal::request(StatusCode::CONFLICT, message))
}

/// Reads records, on a thread of its own.
async fn read(
    app: &App,
    client: &Client,
    database: &Arc<Database>,
    (follower, after): (Option<String>, CommitTs),
) -> Result<Answer, Refusal> {
    let (place, database) = (app.place(client)?, Arc::clone(database));
    let read = tokio::task::spawn_blocking(move || {
        let from = (database.engine(), database.places());
        let answer = log::read(from, (follower.as_deref(), after));
        drop(place);
        answer
    });
    read.await.map_err(|_| lost())?.map_err(|error| refusal(&error))
}

/// `GET /db/{name}/log?after=7&wait=10`
///
/// While it waits it has no thread, and no place among statements.
pub(crate) async fn log(
    State(app): State<App>,
    Path(name): Path<String>,
    query: Result<Query<OfLog>, QueryRejection>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    client.check_admin()?;
    let Query(query) = query.map_err(|e| Refusal::invalid(e.body_text()))?;
    let after = CommitTs::from_raw(query.after);
    let follower = query.follower.map(|Follower(name)| name);
    let (begun, wait) = (Instant::now(), Duration::from_secs(query.wait));
    if wait > log::WAIT_MAX {
        let most = log::WAIT_MAX.as_secs();
        return Err(Refusal::invalid(format!("wait is {most} seconds at most")));
    }
    let (mut pause, mut first) = (PAUSE_MIN, true);
    loop {
        // Asked each time: it may be stopped, dropped or made anew, and so may be who asks.
        client.check_admin()?;
        let database = client.readable(&name)?;
        check_identity(&database, query.identity.as_deref())?;
        let newest = database.engine().published();
        if first && let Some(follower) = &follower {
            app.dbms.keep_log_for(follower, &database, after.min(newest));
        }
        let last = begun.elapsed() >= wait || app.is_closing();
        if last || newest != after {
            let answer = read(&app, &client, &database, (follower.clone(), after)).await?;
            if last || answer.records.is_some() {
                return Ok(([(CONTENT_TYPE, BYTES)], answer.encode()).into_response());
            }
        }
        drop(database);
        sleep(pause.min(wait)).await;
        (pause, first) = ((2 * pause).min(PAUSE_MAX), false);
    }
}
