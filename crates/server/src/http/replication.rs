//! Databases for servers that follow this one, as [`crate::replication`] reads them: administrators
//! may ask; nodes of a cluster ask with its secret.

use std::io::{self, Write};
use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use serde_json::{Value, json};
use telar_db::Error;

use super::refusal::Refusal;
use super::reply::{Ends, Reply, reply};
use super::{App, input};
use crate::dbms::{Database, Failure, SYSTEM};
use crate::replication::image::Image;

/// Answers that are streams of frames.
const BYTES: &str = "application/octet-stream";

/// Reason why a database cannot be copied.
fn refusal(error: &Error) -> Refusal {
    match error {
        Error::Backup { .. } => Refusal::request(StatusCode::CONFLICT, error.to_string()),
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
pub(crate) async fn databases(
    State(app): State<App>,
    parts: Parts,
) -> Result<Json<Value>, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    client.check_admin()?;
    let default = &app.dbms.settings().default_database;
    let databases =
        app.dbms.databases().into_iter().filter(|database| **database.name() != *SYSTEM);
    let shown = databases.map(|database| {
        let engine = database.engine();
        json!({
            "name": &**database.name(),
            "default": database.name() == default,
            "identity": engine.identity().map(|identity| identity.to_string()),
            "commit": engine.published().get(),
        })
    });
    Ok(Json(json!({ "databases": shown.collect::<Vec<_>>() })))
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

/// `GET /db/{name}/image`
pub(crate) async fn image(
    State(app): State<App>,
    Path(name): Path<String>,
    parts: Parts,
) -> Result<Response, Refusal> {
    let (client, _) = input::authenticate(&app, &parts).await?;
    client.check_admin()?;
    let database = client.readable(&name)?;
    let place = app.place(&client)?;
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
        let (name, commit) = (database.name(), image.commit.get());
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
