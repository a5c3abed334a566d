//! `POST /db/{name}/check`: what is wrong with a text, for editors, which ask while it is typed.
//!
//! Nothing is run. Every statement of the text is parsed and planned as if it was to be run, by the
//! same code, with the rights of whoever asks; so what is found is what running it would say first.

use axum::Json;
use axum::extract::{Path, Request as HttpRequest, State};
use serde_json::{Value, json};
use telar_db::query::{QueryError, cypher};

use super::input::{self, Caller};
use super::refusal::Refusal;
use super::reply::Ends;
use super::{App, summary};
use crate::dbms::{Client, Failure, Options};

/// Most statements of a text that are looked at.
const STATEMENTS_MAX: usize = 200;

/// `POST /db/{name}/check`
pub(crate) async fn check(
    State(app): State<App>,
    Path(name): Path<String>,
    caller: Caller,
    request: HttpRequest,
) -> Result<Json<Value>, Refusal> {
    let Caller { client, .. } = caller;
    let mut request = input::read(&app, request).await?;
    let missing = || Refusal::invalid("statement: expected a string, which says what to look at");
    let text = request.text().ok_or_else(missing)?.to_owned();
    let ends = Ends::default();
    let options = input::options(name, &mut request, &ends);
    let place = app.place(&client)?;
    let checked = tokio::task::spawn_blocking(move || {
        let checked = statements(&client, &options, &text);
        drop(place);
        checked
    });
    let statements = checked.await.map_err(|_| Refusal::closing())??;
    Ok(Json(json!({ "statements": statements })))
}

fn statements(client: &Client, options: &Options, text: &str) -> Result<Vec<Value>, Failure> {
    let mut units = Units { text, bytes: 0, units: 0 };
    let mut found = Vec::new();
    for span in cypher::split(text).into_iter().take(STATEMENTS_MAX) {
        let checked = client.check(options, span.text(text))?;
        let range = span.range();
        let mut statement = json!({ "start": units.at(range.start) });
        match checked {
            Ok(kind) => statement["queryType"] = summary::kind(kind).into(),
            Err(error) => statement["error"] = described(&error, range.start, &mut units),
        }
        statement["end"] = units.at(range.end).into();
        found.push(statement);
    }
    Ok(found)
}

/// What is wrong, and where: without a place it is about the whole statement.
fn described(error: &QueryError, start: usize, units: &mut Units<'_>) -> Value {
    let mut described = json!({
        "code": error.code(),
        "title": error.detail,
        "message": error.message,
    });
    if let Some(place) = error.place(units.text, start) {
        described["start"] = units.clone().at(place.start).into();
        described["end"] = units.clone().at(place.end).into();
    }
    described
}

/// Offsets as JavaScript and editors count them, in units of UTF-16; asked in rising order.
#[derive(Debug, Clone)]
struct Units<'t> {
    text: &'t str,
    bytes: usize,
    units: usize,
}

impl Units<'_> {
    fn at(&mut self, bytes: usize) -> usize {
        let more = self.text.get(self.bytes..bytes).unwrap_or_default();
        self.units += more.encode_utf16().count();
        self.bytes = self.bytes.max(bytes);
        self.units
    }
}
